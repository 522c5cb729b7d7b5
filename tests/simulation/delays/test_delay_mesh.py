"""Break points, how they move, and polynomials through recorded points."""

import numpy as np
import pytest

from daedal.errors import SimulationError
from daedal.simulation.delays.mesh import LEVELS, Returns, make_mesh, weigh_points
from daedal.simulation.delays.tables import find_readings

NONE = np.zeros(0)
DEGREE = 5


def made(delays, end=10.0, *, fixed=NONE, sources=None, lasting=False, rough=1, step=0.1, **more):
    delays = np.asarray(delays, dtype=float)
    returns = Returns(delays, np.eye(delays.size), sources or (None,) * delays.size, lasting, rough)
    return make_mesh(0.0, end, fixed, returns, step, DEGREE, **more)


def test_a_kink_comes_back_until_it_is_smooth():
    found = made([1.0])
    np.testing.assert_allclose(found.breaks, [*range(LEVELS + 1), 10.0])
    np.testing.assert_allclose(found.rates[:-1, 0, 0], [0, 1, *[0] * (LEVELS - 1)])  # from then on nothing jumps
    np.testing.assert_allclose(made([1.0], rough=2).rates[:4, 0, 0], [0, 1, 2, 0])
    lasting = made([1.0], lasting=True)
    np.testing.assert_allclose(lasting.breaks, np.arange(11.0))
    np.testing.assert_allclose(lasting.rates[:-1, 0, 0], np.arange(10))


def test_two_delays_make_all_sums():
    found = made([1.0, 0.3], 2.0, rough=LEVELS)
    sums = {round(i * 1.0 + j * 0.3, 9): (i, j) for i in range(3) for j in range(LEVELS + 1) if i + j <= LEVELS}
    inside = {time: moves for time, moves in sums.items() if time < 2.0}
    np.testing.assert_allclose(found.breaks[:-1], sorted(inside))
    for group in (0, 1):  # each moves those break points whose way ends with it
        ways = [inside[time] if inside[time][group] else (0, 0) for time in sorted(inside)]
        np.testing.assert_allclose(found.rates[:-1, group], ways)


def test_coinciding_break_points_are_one():
    found = made([0.1, 0.2, 0.3], 1.0)
    assert np.diff(found.breaks).min() > 0.05
    np.testing.assert_allclose(found.rates[2], [[0, 0, 0], [0, 1, 0], [0, 0, 0]])  # only the second comes back at 0.2
    assert made([0.5, 0.25], 8.0, lasting=True).counts.size == 32  # the ways to them are millions


def test_coinciding_break_points_move_with_each_delay():
    found = made([0.5, 0.5], 1.0)
    np.testing.assert_allclose(found.breaks, [0.0, 0.5, 1.0])
    np.testing.assert_allclose(found.rates[1], np.eye(2))
    held = (np.arange(4.0), np.arange(4.0))
    found = made([0.25, 1.25], 3.0, sources=held)
    np.testing.assert_allclose(found.breaks, [0.0, 0.25, 1.25, 2.25, 3.0])
    np.testing.assert_allclose(found.rates[2], np.eye(2))


def test_delayed_samples_of_an_input_move_with_the_delay_and_do_not_come_back():
    found = made([0.25], 3.0, fixed=np.arange(4.0), sources=(np.arange(4.0),))
    np.testing.assert_allclose(found.breaks, [0.0, 0.25, 1.0, 1.25, 2.0, 2.25, 3.0])
    np.testing.assert_allclose(found.rates[:-1, 0, 0], [0, 1, 0, 1, 0, 1])


def test_steps_fill_each_segment():
    found = made([0.7], 2.0, step=0.09, refinement=2)
    rows = found.rows
    assert found.points == rows.segment.size == found.counts.sum() + found.counts.size
    assert found.counts.min() >= 2 * DEGREE
    assert rows.length.max() <= 0.09 / 2 + 1e-12
    np.testing.assert_array_equal(rows.length == 0.0, rows.number == 0)  # what opens a segment
    np.testing.assert_allclose(rows.begin[1:], (rows.begin + rows.length)[:-1], rtol=1e-12)
    np.testing.assert_allclose((rows.begin + rows.length)[-1], 2.0)
    assert np.all((found.breaks[rows.segment] < rows.middle) & (rows.middle < found.breaks[rows.segment + 1]))


def test_a_quintic_is_read_off_exactly_with_its_slope_and_never_across_a_break():
    found = made([0.7], 2.0, step=0.09)
    times = np.concatenate([np.linspace(found.breaks[s], found.breaks[s + 1], n + 1)
                            for s, n in enumerate(found.counts)])  # fmt: skip
    owner = np.repeat(np.arange(found.counts.size), found.counts + 1)
    values = times**5 - times**2 + 100.0 * owner  # a jump at every break point
    asked = np.random.default_rng(0).uniform(0.0, 2.0, 200)
    segment = found.find_segment(asked)
    (first, weights), (_, slopes) = (weigh_points(found, asked, segment, slope=slope) for slope in (False, True))
    points = values[first[:, None] + np.arange(DEGREE + 1)]
    np.testing.assert_allclose((weights * points).sum(axis=1), asked**5 - asked**2 + 100.0 * segment, rtol=1e-10)
    np.testing.assert_allclose((slopes * points).sum(axis=1), 5 * asked**4 - 2 * asked, atol=1e-6)


@pytest.mark.parametrize("amount", [0.7, 0.31, 1.9])
def test_steps_look_back_only_at_what_is_computed(amount):
    found = made([0.7, 0.31], 2.0, step=0.31 / (DEGREE + 1))
    rows = found.rows
    nodes = rows.begin[:, None] + rows.length[:, None] * np.array([0.0, 0.5, 1.0])
    read = find_readings(found, nodes, amount, 0.0)
    late = ~read.early
    np.testing.assert_array_equal(late, rows.middle >= amount)
    assert np.all(read.first[read.early] == found.points)  # rows of zeros
    first, last = read.first[late], read.first[late] + DEGREE
    assert np.all(last < np.arange(found.points)[late, None])
    np.testing.assert_array_equal(rows.segment[first], rows.segment[last])  # never across a break
    at = found.breaks[rows.segment[first]] + (rows.number[first] + read.position[late]) / read.density[late, None]
    np.testing.assert_allclose(at, nodes[late] - amount, atol=1e-12)


def test_endless_break_points_are_refused():
    with pytest.raises(SimulationError, match="break points"):
        made([1e-5], 100.0, lasting=True)
    with pytest.raises(SimulationError, match="steps"):
        made([1.0], step=1e-6)
