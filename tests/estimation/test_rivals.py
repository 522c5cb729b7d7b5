"""Minima that the data allow as well are looked for, told, and held by the intervals."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.estimation import Evaluation, Objective
from daedal.estimation.problem import Coordinate, Coordinates
from daedal.estimation.search import rivals

x1, x2, u, T1, T2, k, x20 = dd.symbols("x1 x2 u T1 T2 k x20")
times = np.arange(200) * 0.5
push = dd.Signal(times, np.repeat(np.random.default_rng(3).choice([-1.0, 1.0], 20), 10), "zoh")


def make_tanks(start, noise):
    return dd.Model(
        name="tanks",
        equations={"first": T1 * der(x1) == k * u - x1, "second": T2 * der(x2) == x1 - x2},
        unknowns=[x1, x2],
        inputs=[u],
        outputs={"y": x2},
        parameters={T1: 2.0, T2: 4.0, k: 1.0, x20: 0.5},
        initial={x1: 0.0, x2: start},
        measurement_noise={"y": noise},
    )


def measure(model, noise, seed):
    clean = dd.simulate(model, times, inputs={"u": push})["y"]
    values = clean + noise * np.random.default_rng(seed).standard_normal(times.size)
    return dd.Dataset(times, inputs={"u": push}, outputs={"y": values})


def test_lags_that_may_be_exchanged_are_told_and_the_start_decides():
    model = make_tanks(0.0, 0.05)  # from rest, y is the same for both orders of the lags, whatever the data
    fit = dd.fit(model, measure(model, 0.05, 1), free={"T1": 2.5, "T2": 3.5, "k": 1.2})
    assert fit["T1"].value < fit["T2"].value
    assert fit.minima[0].params["T1"] == fit["T1"].value
    rival = fit.minima[1]
    np.testing.assert_allclose(rival.value, fit.value, rtol=1e-9)
    np.testing.assert_allclose([rival.params["T1"], rival.params["T2"]], [fit["T2"].value, fit["T1"].value], rtol=1e-4)
    assert any("another minimum fits as well" in note for note in fit.notes)
    low, high = fit.conf_int()["T1"]
    assert low < fit["T1"].value < fit["T2"].value < high


def test_a_rival_that_the_data_hardly_tell_apart_is_the_one_that_a_start_there_finds():
    model = make_tanks(x20, 0.3)  # where the second tank starts tells them apart, a little
    data = measure(model, 0.3, 1)
    free = {"T1": 3.0, "T2": 3.5, "k": 1.2, "x20": 0.2}
    fit = dd.fit(model, data, free=free)
    there = dd.fit(model, data, free={**free, "T1": 4.5, "T2": 1.7})
    assert len(fit.minima) == len(there.minima) == 2
    np.testing.assert_allclose([one.value for one in fit.minima], [one.value for one in there.minima], rtol=1e-6)
    assert 0.0 < fit.minima[1].value - fit.value < 1.92
    assert fit.conf_int()["T1"][1] > fit.minima[1].params["T1"]


def test_bounds_that_tell_them_apart_leave_no_rival():
    model = make_tanks(0.0, 0.05)
    free = {"T1": dd.Parameter(2.5, lower=0.1, upper=3.0), "T2": dd.Parameter(3.5, lower=3.0, upper=9.0), "k": 1.2}
    fit = dd.fit(model, measure(model, 0.05, 1), free=free)
    assert len(fit.minima) == 1
    assert fit.conf_int()["T1"][1] < 3.0


def test_where_nothing_can_be_exchanged_and_all_is_told_nothing_is_looked_at():
    """One parameter on a log scale, one not; neither may move by more than a few per cent."""
    model = make_tanks(0.0, 0.05)
    free = {"T1": dd.Parameter(2.5, lower=0.1, upper=9.0, scale="log"), "k": 1.2}
    fit = dd.fit(model, measure(model, 0.05, 1), free=free)
    assert fit.evaluations == len(fit.course.values)


def test_looks_that_find_nothing_take_half_of_a_search_at_most():
    model = make_tanks(x20, 0.05)
    fit = dd.fit(model, measure(model, 0.05, 1), free={"T1": 2.5, "k": 1.2, "x20": 0.3}, fixed={"T2": 4.0})
    assert len(fit.minima) == 1
    assert fit.evaluations <= 1.5 * len(fit.course.values)


@dataclass(eq=False)
class Laborious:
    """Output error that takes very many simulations for each evaluation after the first ones."""

    inner: Objective
    easy: int
    calls: int = 0

    @property
    def problem(self):
        return self.inner.problem

    @property
    def capabilities(self):
        return replace(self.inner.capabilities, choose_steps=None)

    def __call__(self, point):
        self.calls += 1
        return replace(self.inner(point), work=1 if self.calls <= self.easy else 10**6)

    def refine(self, evaluation):
        following = self.inner.refine(evaluation)
        return None if following is None else Laborious(following, self.easy - self.calls)


@dataclass(frozen=True)
class LaboriousError:
    easy: int
    condition = None

    def objective(self, problem):
        return Laborious(dd.OutputError().objective(problem), self.easy)


def test_looks_end_where_they_take_far_more_than_the_search():
    """Pieces of multiple shooting are joined by searches of their own, which take long far from the minimum."""
    model = make_tanks(0.0, 0.05)
    data, free = measure(model, 0.05, 1), {"T1": 2.5, "T2": 3.5, "k": 1.2}
    plain = dd.fit(model, data, free=free, criterion=LaboriousError(10**9))
    searched = len(plain.course.values)
    assert plain.evaluations > searched + 1
    assert dd.fit(model, data, free=free, criterion=LaboriousError(searched)).evaluations == searched + 1


def test_the_header_shows_what_was_typed():
    criterion = dd.SimulationPEM(whiten=None)
    from daedal.estimation import describe, describe_for_reading

    assert describe_for_reading(criterion) == "SimulationPEM()"
    assert describe(criterion) == "SimulationPEM(whiten=None)"  # as code that gives the same


def test_what_was_looked_for_is_no_start():
    model = make_tanks(0.0, 0.05)
    data = measure(model, 0.05, 1)
    one = dd.fit(model, data, free={"T1": 2.5, "T2": 3.5, "k": 1.2}, starts=[{"T1": 2.5, "T2": 3.5}])
    assert [minimum.count for minimum in one.minima] == [1, 0]
    assert len(one.attempts) == 1
    both = dd.fit(
        model, data, free={"T1": 2.5, "T2": 3.5, "k": 1.2}, starts=[{"T1": 2.5, "T2": 3.5}, {"T1": 3.5, "T2": 2.5}]
    )
    assert [minimum.count for minimum in both.minima] == [1, 1]
    assert len(both.attempts) == 2
    assert both.evaluations - sum(one.evaluations for one in both.attempts) < 20  # known minima are not searched anew


def test_a_rival_that_is_clearly_lower_becomes_the_best():
    """A start near the wrong order of the lags ends there; the look for rivals leads to the better one."""
    model = make_tanks(x20, 0.3)
    data = measure(model, 0.3, 1)
    free = {"T1": 3.0, "T2": 3.5, "k": 1.2, "x20": 0.2}
    fit, there = dd.fit(model, data, free=free), dd.fit(model, data, free={**free, "T1": 4.5, "T2": 1.7})
    assert there.attempts[0].value > there.value + 0.1
    assert [one.count for one in there.minima] == [0, 1]
    assert there.value == pytest.approx(fit.value, rel=1e-7)
    np.testing.assert_allclose(list(there.params.values()), list(fit.params.values()), rtol=1e-4)
    assert there.status.ok


def test_only_exchanges_that_are_looked_at_are_compared(monkeypatch):
    """Of forty parameters there are 780 pairs."""
    items = tuple(Coordinate(f"p{i}", f"p{i}", None, 1.0 + i, 0.0, 1e3, "linear", "") for i in range(40))
    space = Coordinates(items, ({},))
    best = Evaluation(space.start, -1.0, np.zeros(40), 1e4 * np.eye(40), loglik=1.0)
    compared = []
    measure = rivals.measure_distance
    monkeypatch.setattr(rivals, "measure_distance", lambda *ends: compared.append(ends) or measure(*ends))
    assert len(rivals.list_looks(best, space, spent=15)) == len(compared) == 5
