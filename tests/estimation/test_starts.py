"""Where a search begins, and what it does at points without a solution."""

import threading
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

import daedal as dd
from batteries.fits import DATA, SINE, SINE_TIMES, TIMES, b, decay, escape, k, levels, line, noisy, sine, x, y0
from daedal import der, jobs
from daedal.estimation import match_fit
from daedal.estimation.criteria.mean_objective import MeanObjective
from daedal.estimation.problem.singular_zeros import list_singular_zeros


def local_minima():
    """Of Σ (y − sin ω t)² on a fine grid."""
    grid = np.linspace(0.5, 8.0, 3001)
    cost = np.sum((SINE["y"] - np.sin(np.outer(grid, SINE_TIMES))) ** 2, axis=1)
    inner = (cost[1:-1] < cost[:-2]) & (cost[1:-1] < cost[2:])
    return grid[1:-1][inner]


@pytest.mark.parametrize("starts", [dd.LatinHypercube(12), dd.Grid({"omega": 12}), [{"omega": w} for w in range(1, 8)]])
def test_starts_find_the_best_of_several_minima(starts):
    found = dd.fit(sine(1.2), SINE, free=["omega"], starts=starts, rng=3)
    assert found["omega"].value == pytest.approx(4.0, abs=0.05)
    assert len(found.minima) > 1
    count = len(starts) if isinstance(starts, list) else 13
    assert sum(one.count for one in found.minima) == count
    values = [one.value for one in found.minima]
    assert values == sorted(values)
    assert found.minima[0].value == pytest.approx(found.value)
    known = np.append(local_minima(), [0.5, 8.0])
    for one in found.minima:
        assert np.min(np.abs(known - one.params["omega"])) < 0.01
    assert "minima were found" in str(found)


def test_what_is_listed_as_a_minimum_is_one():
    """Starts whose criterion is up to ten powers of ten higher."""
    spread = {k: dd.Parameter(0.3, lower=1e-3, upper=1e3, scale="log"), b: dd.Parameter(3.0, lower=-1e5, upper=1e5)}
    model = decay(parameters=spread, initial={x: b}, measurement_noise={"level": 0.01})
    options = {"free": ["k", "b"], "criterion": dd.Likelihood()}
    found = dd.fit(model, DATA, **options, starts=dd.LatinHypercube(8), rng=2)
    assert sum(one.count for one in found.minima) > 2
    assert found.minima[0].value == pytest.approx(found.value)
    for one in found.minima:
        again = dd.fit(model, DATA, **options, starts=[one.params])
        assert again.value == pytest.approx(one.value, abs=1e-5)


def test_a_single_bad_start_ends_in_another_minimum():
    found = dd.fit(sine(1.2), SINE, free=["omega"], rng=3)
    assert abs(found["omega"].value - 4.0) > 0.5


def test_a_start_at_the_minimum_converges():
    found = dd.fit(line(0.5, 2.0), dd.Dataset(TIMES, outputs={"y": 0.5 * TIMES + 2.0}), free=["b", "c"])
    assert found.status.ok
    assert found["b"].value == pytest.approx(0.5, abs=1e-9)


def test_points_without_solution_cost_a_step_not_the_run():
    data = levels(noisy(1 / (1 - 0.32 * TIMES), 0.05))
    found = dd.fit(escape(0.0), data, free=["k"])
    assert found["k"].value == pytest.approx(0.32, abs=0.002)
    assert found.status.ok
    assert any("could not be simulated" in note for note in found.notes)


def test_a_failed_start_is_counted_once():
    data = levels(noisy(1 / (1 - 0.2 * TIMES), 0.05))
    found = dd.fit(escape(0.1), data, free=["k"], starts=[{"k": 0.5}, {"k": 0.19}])
    assert found["k"].value == pytest.approx(0.2, abs=0.01)
    assert [note for note in found.notes if "could not be simulated" in note] == [
        "the model could not be simulated at 1 point on the way"
    ]


def test_square_root_of_a_negative_number_costs_a_step():
    model = decay(equations={"rate": der(x) == -k * x}, outputs={"y": np.sqrt(b - x)}, parameters={k: 1.0, b: 3.0})
    data = dd.Dataset(TIMES, outputs={"y": noisy(np.sqrt(1.05 - np.exp(-TIMES)), 0.01)})
    found = dd.fit(model, data, free=["b"])
    assert found["b"].value == pytest.approx(1.05, abs=0.01)


def test_no_start_with_a_solution_is_an_error_that_says_why():
    with pytest.raises(dd.DaedalError, match="cost is infinite at the start values") as caught:
        dd.fit(escape(0.5), DATA, free=["k"])
    assert "not finite" in str(caught.value)
    with pytest.raises(dd.DaedalError, match="any of the starts"):
        dd.fit(escape(0.1), DATA, free=["k"], starts=[{"k": 0.5}, {"k": 0.6}])


def tell_all(found):
    """Every number of a fit that could differ by a bit."""
    minima = [(one.value, dict(one.params), one.count) for one in found.minima]
    attempts = [(one.value, dict(one.params), one.converged, one.evaluations) for one in found.attempts]
    return found.point.tobytes(), found.value, found.cov.tobytes(), found.evaluations, minima, attempts, str(found)


def test_starts_in_threads_give_the_bits_of_one_after_the_other(monkeypatch):
    starts = dd.LatinHypercube(6)
    monkeypatch.setattr(jobs, "count_workers", lambda: 1)
    serial = dd.fit(sine(1.2), SINE, free=["omega"], starts=starts, rng=3)
    monkeypatch.setattr(jobs, "count_workers", lambda: 3)
    parallel = dd.fit(sine(1.2), SINE, free=["omega"], starts=starts, rng=3)
    assert tell_all(parallel) == tell_all(serial)


def test_starts_run_side_by_side(monkeypatch):
    """Each start goes on only when the other is there too."""
    together, original = threading.Barrier(2), MeanObjective.__call__

    def meet(self, point):
        if threading.current_thread() is not threading.main_thread():
            with suppress(threading.BrokenBarrierError):
                together.wait(60.0)
                together.abort()  # once is enough
                met.append(point)
        return original(self, point)

    met = []
    monkeypatch.setattr(jobs, "count_workers", lambda: 2)
    monkeypatch.setattr(MeanObjective, "__call__", meet)
    dd.fit(sine(4.1), SINE, free=["omega"], starts=[{"omega": 4.1}, {"omega": 7.0}])
    assert met


def test_a_fit_tells_what_every_start_led_to():
    data = levels(noisy(1 / (1 - 0.2 * TIMES), 0.05))
    found = dd.fit(escape(0.1), data, free=["k"], starts=[{"k": 0.5}, {"k": 0.19}, {"k": 0.6}, {"k": 0.1}])
    assert [one.start["k"] for one in found.attempts] == pytest.approx([0.5, 0.19, 0.6, 0.1])
    assert [one.value is None for one in found.attempts] == [True, False, True, False]
    assert [bool(one.failure) for one in found.attempts] == [True, False, True, False]
    assert all(one.converged and one.params["k"] == pytest.approx(0.2, abs=0.01) for one in found.attempts[1::2])
    assert sum(one.evaluations for one in found.attempts) <= found.evaluations
    lines = str(found).splitlines()
    assert "  4 starts: 2 converged, 2 failed" in lines
    assert any(line.startswith("    failed at k = 0.5") and "not finite" in line for line in lines)


def test_a_failure_in_a_thread_comes_out(monkeypatch):
    original = MeanObjective.__call__

    def fail(self, point):
        if abs(point[0] - 7.0) < 1e-9:
            raise RuntimeError("a fault of the program")
        return original(self, point)

    monkeypatch.setattr(MeanObjective, "__call__", fail)
    with pytest.raises(RuntimeError, match="a fault of the program"):
        dd.fit(sine(4.1), SINE, free=["omega"], starts=[{"omega": 4.1}, {"omega": 7.0}, {"omega": 2.0}])


def test_a_fit_goes_on_from_another_with_other_experiments_bounds_and_free_parameters():
    """A local value is that of the experiment of this name, or number, or the mean over them."""
    times, sets = np.arange(41) * 0.05, []
    for number, name in enumerate(("first", "second", "third")):
        values = noisy((number + 1.0) * np.exp(-1.5 * times), 0.02, number)
        sets.append(levels(values, times, name=name))
    model = decay(parameters={k: 2.0, y0: 1.0}, initial={x: y0})
    before = dd.fit(model, sets[:2], free=["k"], local=["y0"])
    rate, first, second = before.params.values()
    mean = 0.5 * (first + second)

    def start(given, **changes):
        options = {"free": ["k"], "local": ["y0"]} | changes
        return [one.start for one in dd.fit(model, given, starts=before, **options).estimates.values()]

    assert start(sets[1::-1]) == pytest.approx([rate, second, first])
    assert start(sets) == pytest.approx([rate, first, second, mean])
    assert start(sets[:1]) == pytest.approx([rate, first])
    assert start([replace(one, name="data") for one in sets[:2]]) == pytest.approx([rate, first, second])
    assert start(sets[:2], free=["k", "y0"], local=[]) == pytest.approx([rate, mean])
    assert start(sets[:2], free={"k": dd.Parameter(2.0, lower=1.7, upper=3.0)}) == pytest.approx([1.7, first, second])
    other = decay(parameters={k: 2.0, b: 0.1}, outputs={"level": x + b})
    with pytest.raises(dd.DaedalError, match=r"none of the free parameters 'b'"):
        dd.fit(other, sets[0], free=["b"], starts=before)


T, c, m, s, u, w, z = dd.symbols("T c m s u w z")


def make_kettle(start: float) -> dd.Model:
    """A lag that is pushed by the square of its input, by the time of the day and by what nobody knows."""
    return dd.Model(
        name="kettle",
        equations={"heat": T * der(x) == -x + b * u**2 + c * np.sin(dd.time) + w},
        unknowns=[x],
        inputs=[u],
        outputs={"y": x},
        parameters={T: start, b: 1.0, c: 0.5, s: dd.Parameter(0.1, lower=1e-3, upper=3.0, scale="log")},
        initial={x: 0.0},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.1, time_constant=0.5)},
        measurement_noise={"y": s},
    )


@pytest.fixture(scope="module")
def kettle() -> dd.Dataset:
    times = np.arange(100) * 0.1
    pushed = np.repeat(np.random.default_rng(0).choice([-1.0, 1.0], 10), 10) * np.linspace(0.5, 1.5, 100)
    values = {"T": 0.7, "b": 2.0, "s": 0.05}
    inputs = {"u": dd.Signal(times, pushed, "zoh")}
    run = dd.simulate(
        make_kettle(1.0), times, inputs=inputs, values=values, realizations=1, measurement_noise=True, rng=1
    )
    return run.to_dataset()


def test_a_search_that_steps_over_the_zero_of_a_time_constant_is_made_again_on_its_side(kettle):
    """A first step goes from 1 to −0.5: an unstable lag, which disturbances hold to the data, has a minimum too."""
    free = ["T", "b", "c", "s"]
    found = dd.fit(make_kettle(1.0), kettle, free=free)
    bounded = dd.fit(make_kettle(1.0), kettle, free={"T": dd.Parameter(1.0, lower=0.0), "b": 1.0, "c": 0.5, "s": 0.1})
    assert found["T"].value > 0.0
    for name in free:
        assert found[name].value == pytest.approx(bounded[name].value, abs=0.01 * bounded[name].std_error)
    assert not any("over its zero" in note for note in found.notes)
    assert "2 starts: 2 converged" in str(found)


def test_a_sign_that_has_changed_is_told_where_it_makes_another_model(kettle):
    """Where the start has the wrong sign, its side has no better minimum."""
    found = dd.fit(make_kettle(-0.6), kettle, free=["T", "b"], fixed={"c": 0.5, "s": 0.05})
    assert found["T"].value > 0.0
    (said,) = [note for note in found.notes if "over its zero" in note]
    assert said.startswith("the search has led T over its zero, where the model is another one")


def test_which_zeros_divide_a_model():
    """A mass, what is divided by and under a logarithm; a gain, a level, and what is added to one do not."""
    equations = {
        "motion": m * der(der(x)) == -k * x - b * der(x) * x + c * u,
        "lag": (1 + w * u**2) * der(z) == (u - z) / T + np.log(s * s) + y0,
    }
    names = [str(one) for one in (m, k, b, c, T, s, y0, w)]
    parameters = dict.fromkeys((m, k, b, c, T, s, y0, w), 1.0)
    model = dd.Model(
        name="m", equations=equations, unknowns=[x, z], inputs=[u], outputs={"y": x + z}, parameters=parameters,
        initial={x: 0.0, der(x): 0.0, z: 0.0},
    )  # fmt: skip
    times = np.arange(30) * 0.1
    data = dd.simulate(model, times, inputs={"u": dd.Signal(times, np.ones(30))}).to_dataset()
    problem = match_fit(dd.fit(model, data, free=["c"])).problem
    assert list_singular_zeros(problem, names) == ["m", "T", "s"]
