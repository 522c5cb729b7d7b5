"""When things happen: break points, equal intervals up to rounding, cycles, delayed values."""

import numpy as np
import pytest

import daedal as dd
from daedal.filtering.timeline import Taken, find_distinct, make_timeline


def sampled(times, rows=(0,)) -> list[tuple[float, list[int]]]:
    return [(float(time), list(rows)) for time in times]


@pytest.mark.parametrize("start", [0.0, 1.6e9, -3e5])
@pytest.mark.parametrize("make", [lambda n, h: np.arange(n) * h, lambda n, h: np.cumsum(np.full(n, h))])
def test_regular_times_have_one_interval_whatever_their_origin(start, make):
    times = start + make(5000, 0.1)
    steps, step_of = find_distinct(np.diff(times), times)
    assert steps.size == 1
    assert steps[0] == pytest.approx(0.1, rel=1e-12 + 1e-15 * abs(start))
    assert not step_of.any()


@pytest.mark.parametrize("start", [0.0, 1.6e9])
def test_no_interval_is_replaced_by_one_that_differs_by_more_than_rounding(start):
    """Many intervals close to each other must not be chained together."""
    gaps = 1.0 + np.random.default_rng(0).uniform(-1e-3, 1e-3, 3000)
    times = start + np.cumsum(gaps)
    lengths = np.diff(times)
    steps, step_of = find_distinct(lengths, times)
    rounding = 8.0 * np.finfo(float).eps * np.max(np.abs(times))
    assert np.max(np.abs(steps[step_of] - lengths)) <= rounding


def test_breaks_are_those_of_inputs_samples_and_start():
    signal = dd.Signal([-1.0, 0.25, 0.5, 9.0], [1.0, 2.0, -1.0, 0.0], "foh")
    line = make_timeline([signal], 0.1, sampled([0.3, 0.5, 1.0]))
    assert line.times.tolist() == [0.1, 0.25, 0.3, 0.5, 1.0]
    assert line.events.row.tolist() == [-1, 0, 0, 0]
    assert line.sample_of.tolist() == [-1, 0, 1, 2]
    assert line.times[line.sample_breaks].tolist() == [0.3, 0.5, 1.0]
    middle = 0.5 * (line.times[:-1] + line.times[1:])
    found = line.inputs[:, 0, 0] + line.inputs[:, 1, 0] * (middle - line.times[:-1])
    assert np.allclose(found, np.interp(middle, signal.times, signal.values), rtol=1e-14)
    assert np.array_equal(line.inputs[:, 0, 1], np.ones(4))
    assert line.steps[line.step_of] == pytest.approx(np.diff(line.times))


def test_cycles_end_where_something_else_happens():
    rows = {k * 0.5: [0] if k % 4 else [0, 1] for k in range(40)}
    del rows[10.0]
    line = make_timeline([], 0.0, list(rows.items()))
    events = [(line.events.transition[k], line.events.row[k]) for k in range(line.events.row.size)]
    covered = 0
    for first, size, count in line.cycles:
        assert first == covered
        for cycle in range(count):
            assert events[first + cycle * size : first + (cycle + 1) * size] == events[first : first + size]
        covered += size * count
    assert covered == len(events)
    assert max(count for _, _, count in make_timeline([], 0.0, sampled(np.arange(100) * 0.1)).cycles) == 99


def test_delayed_values_are_taken_at_their_moment_and_after_samples_of_that_time():
    line = make_timeline([], 0.0, sampled(np.array([0.3, 0.6, 0.9])), taken=[Taken((0,), 0.3)])
    reset = line.steps.size
    kinds = list(zip(line.events.transition.tolist(), line.events.row.tolist(), line.break_of.tolist(), strict=True))
    assert kinds == [(reset, -1, 0), (0, 0, 1), (reset, -1, 1), (0, 0, 2), (reset, -1, 2), (0, 0, 3)]


def test_many_delayed_values_do_not_need_all_pairs():
    line = make_timeline([], 0.0, sampled(0.1 * np.arange(1, 40_001)), taken=[Taken((0,), 0.05)])
    assert line.steps.size <= 4
    assert line.events.row.size == 120_000  # move, take, move and measure


def test_windows_that_overlap_are_refused():
    with pytest.raises(dd.DaedalError, match=r"0\.5.*apart|apart.*0\.2"):
        make_timeline([], 0.0, sampled([0.5, 0.7]), taken=[Taken((0,), 0.5)])


def test_derivatives_that_an_input_has_not_are_zero():
    line = make_timeline(
        [dd.Signal([0.0, 1.0], [0.0, 3.0], "zoh"), dd.Signal([0.0, 1.0], [0.0, 3.0])], 0.0, sampled([0.5])
    )
    assert line.read_inputs([dd.Signal([0.0, 1.0], [0.0, 3.0], "zoh"), dd.Signal([0.0, 1.0], [0.0, 3.0])],
                            line.sample_breaks, 1).tolist() == [[0.0, 3.0, 0.0]]  # fmt: skip
