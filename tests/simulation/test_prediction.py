"""Predictors: the same function of the parameters in every call, with the slopes that it has."""

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.errors import DaedalError, SimulationError
from daedal.simulation.ensemble_solver import Lanes
from daedal.simulation.prediction import Predictor, make_predictor
from daedal.simulation.request import check_request

x, v, u, w, k, c, q, s, x0 = dd.symbols("x v u w k c q s x0")
TIMES = np.arange(21) * 0.2
INPUT = dd.Signal(TIMES, np.sin(TIMES))
VALUES = {"k": 4.3, "c": 0.5, "s": 0.7, "x0": 0.2}
FREE = ("k", "c", "s", "x0")


def duffing(**changes):
    fields = {
        "name": "duffing",
        "equations": {"speed": der(x) == v, "force": der(v) == -k * x - x**3 - c * v + u + w**2},
        "unknowns": [x, v],
        "inputs": [u],
        "outputs": {"o": x, "energy": v**2 / 2 + k * x**2 / 2},
        "parameters": {k: 4.0, c: 0.4, s: 0.6, x0: 0.3},
        "disturbances": {w: dd.FilteredNoise.low_pass(std=s, time_constant=0.5, grid=0.05)},
        "initial": {x: x0, v: 0.0},
    }
    return dd.Model(**fields | changes)


def made(model=None, realizations=20, free=FREE, solver=None, values=None, seed=3) -> Predictor:
    model = duffing() if model is None else model
    inputs = {"u": INPUT} if model.inputs else None
    asked = check_request("test", model, TIMES, inputs, None)
    given = {name: VALUES[name] for name in free} if values is None else values
    return make_predictor(asked, tuple(model.outputs), free, given, solver or Lanes(), realizations, seed, "test")


@pytest.fixture(scope="module")
def random():
    return made()


def test_shapes_and_groups(random):
    found = random(VALUES)
    assert found.mean.shape == found.variance.shape == (2, TIMES.size)
    assert found.slopes.shape == (4, 2, TIMES.size)
    assert found.groups.shape == (len(found.counts), 5, 2, TIMES.size)
    assert found.counts.sum() == 20
    weights = found.counts[:, None, None] / 20
    np.testing.assert_allclose((found.groups[:, 0] * weights).sum(axis=0), found.mean, rtol=1e-11, atol=1e-14)
    slopes = (found.groups[:, 1:] * weights[..., None]).sum(axis=0)
    np.testing.assert_allclose(slopes, found.slopes, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("realizations", "least"), [(2, 2), (3, 3), (4, 4), (7, 4), (20, 4), (64, 4), (200, 4)])
def test_there_are_enough_groups_to_tell_their_spread(realizations, least):
    counts = made(realizations=realizations, solver=Lanes(step=0.1), free=("k",))(VALUES).counts
    assert len(counts) >= least
    assert counts.sum() == realizations


def test_prediction_repeats_to_the_last_bit(random):
    first = random(VALUES)
    random({**VALUES, "k": 9.0})
    for again in (random(VALUES), made()(VALUES)):
        for name in ("mean", "slopes", "variance", "groups", "counts"):
            assert np.array_equal(getattr(again, name), getattr(first, name))


def test_moments_are_those_of_another_draw(random):
    """The mean of 2000 other realizations, within its scatter."""
    found = made(realizations=2000, free=("k",), solver=Lanes(step=0.05))(VALUES)
    model = duffing().with_parameters(VALUES)
    other = dd.ensemble(model, TIMES, realizations=2000, inputs={"u": INPUT}, rng=8, solver=Lanes(step=0.05))
    for row, name in enumerate(("o", "energy")):
        scatter = np.sqrt(2 * other.variance[name] / 2000)
        assert np.all(np.abs(found.mean[row] - other.mean[name]) <= 5 * scatter + 1e-12)
    np.testing.assert_allclose(found.variance[0][5:], other.variance["o"][5:], rtol=0.4)


@pytest.mark.parametrize("realizations", [None, 20])
@pytest.mark.parametrize("free", [FREE, ("x0", "k")])
def test_slopes_are_finite_differences(realizations, free):
    run = made(realizations=realizations, free=free)
    found = run(VALUES)
    for place, name in enumerate(free):
        step = 1e-4 * VALUES[name]
        near, far = (
            (run({**VALUES, name: VALUES[name] + h}).mean - run({**VALUES, name: VALUES[name] - h}).mean) / (2 * h)
            for h in (step, 2 * step)
        )
        expected = (4 * near - far) / 3
        scale = max(np.abs(expected).max(), 1e-6)
        assert np.max(np.abs(found.slopes[place] - expected)) < 1e-7 * scale
    if realizations is None and "s" in free:
        assert np.array_equal(found.slopes[free.index("s")], np.zeros((2, TIMES.size)))


def test_without_realizations_there_is_one_trajectory():
    found = made(realizations=None, solver=Lanes(tolerance=1e-8))(VALUES)
    expected = dd.simulate(duffing().with_parameters(VALUES), TIMES, inputs={"u": INPUT}, solver=dd.IDA(rtol=1e-10))
    np.testing.assert_allclose(found.mean[0], expected["o"], atol=1e-6)
    np.testing.assert_allclose(found.mean[1], expected["energy"], atol=1e-5)
    assert found.counts.size == 0
    assert found.groups.shape[0] == 0
    assert np.array_equal(found.variance, np.zeros_like(found.variance))


def test_a_model_without_disturbances_has_no_realizations():
    model = duffing(equations={"speed": der(x) == v, "force": der(v) == -k * x - c * v + u}, disturbances={})
    run = made(model, realizations=20, free=("k", "c"))
    assert run.realizations is None
    assert run(VALUES | {"k": 4.0}).counts.size == 0


def test_projections_sum_up_to_mean_and_slopes(random):
    found = random(VALUES)
    rows = np.concatenate([found.mean[None], found.slopes]).reshape(-1, TIMES.size)
    weights = np.random.default_rng(1).normal(size=(3, *rows.shape))
    shares = random.project(VALUES, weights)
    assert shares.shape == (3, 20)
    np.testing.assert_allclose(shares.mean(axis=1), np.einsum("frt,rt->f", weights, rows), rtol=1e-10)


def fragile(limit=2.6):
    return duffing(
        equations={"speed": der(x) == v, "force": der(v) == -k * x - c * v + np.sqrt(q - w)},
        inputs=[],
        parameters={k: 4.0, c: 0.4, q: limit},
        disturbances={w: dd.FilteredNoise.low_pass(std=1.0, time_constant=0.5, grid=0.05)},
        initial={x: 0.3, v: 0.0},
    )


def test_failed_realizations_are_an_error_until_they_are_left_out():
    at = {"k": 4.0}
    run = made(fragile(), realizations=60, free=("k",), values=at)
    with pytest.raises(SimulationError, match=r"failed at these values, the first at time"):
        run(at)
    patient = run.leave_out_failures(at)
    assert 1 <= len(patient.left_out) <= 6
    found = patient(at)
    assert found.counts.sum() == 60 - len(patient.left_out)
    assert np.isfinite(found.mean).all()
    shares = patient.project(at, np.ones((1, 4, TIMES.size)))
    assert shares.shape == (1, 60 - len(patient.left_out))
    np.testing.assert_allclose(shares.mean(), found.mean.sum() + found.slopes.sum(), rtol=1e-9)


def test_a_realization_that_is_left_out_stays_out_where_it_would_not_fail():
    """Otherwise the cost would jump between two points."""
    bad, good = {"q": 2.6}, {"q": 9.0}
    run = made(fragile(), realizations=60, free=("q",), values=bad)
    patient = run.leave_out_failures(bad)
    assert patient.left_out
    assert patient(good).counts.sum() == 60 - len(patient.left_out)
    everyone = run(good)
    kept = np.setdiff1d(np.arange(60), sorted(patient.left_out))
    weights = np.zeros((1, 4, TIMES.size))
    weights[0, 0, -1] = 1.0
    last = run.project(good, weights)[0]
    assert everyone.mean[0, -1] == pytest.approx(last.mean(), rel=1e-12)
    assert patient(good).mean[0, -1] == pytest.approx(last[kept].mean(), rel=1e-12)


def test_too_many_failures_are_refused():
    run = made(fragile(), realizations=60, free=("q",), values={"q": 2.6})
    with pytest.raises(SimulationError, match=r"of 60 realizations fail at the start values"):
        run.leave_out_failures({"q": 1.0})


def oscillator():
    return duffing(
        equations={"speed": der(x) == v, "force": der(v) == -(k**2) * x - c * v + np.sqrt(q - w)},
        inputs=[],
        parameters={k: 1.0, c: 0.1, q: 2.6},
        disturbances={w: dd.FilteredNoise.low_pass(std=1.0, time_constant=0.5, grid=0.05)},
        initial={x: 0.3, v: 0.0},
    )


def test_replanning_takes_finer_steps_where_they_are_needed():
    slow, fast = {"k": 1.0}, {"k": 30.0}
    run = made(oscillator(), realizations=None, free=("k",), values=slow)
    assert run.replan(slow) is None
    fresh = run.replan(fast)
    assert fresh is not None
    assert fresh.run.plan.lengths.size > 2 * run.run.plan.lengths.size
    assert fresh.replan(fast) is None
    exact = dd.simulate(oscillator().with_parameters(fast), TIMES, solver=dd.IDA(rtol=1e-11, atol=1e-13))
    errors = [np.max(np.abs(each(fast).mean[0] - exact["o"])) for each in (run, fresh)]
    assert errors[1] < 1e-4 < errors[0]


def test_replanning_keeps_random_numbers_and_what_was_left_out():
    slow, fast = {"k": 1.0}, {"k": 30.0}
    run = made(oscillator(), realizations=60, free=("k",), values=slow).leave_out_failures(slow)
    assert run.left_out
    fresh = run.replan(fast)
    assert fresh is not None
    assert fresh.run.scenario.seed == run.run.scenario.seed
    assert fresh.left_out == run.left_out
    assert np.isfinite(fresh(fast).mean).all()


def test_values_that_cannot_be_simulated_raise_an_error_of_daedal():
    run = made()
    for values in ({**VALUES, "k": np.nan}, {**VALUES, "k": np.inf}, {**VALUES, "k": -1e9}):
        with pytest.raises(DaedalError):
            run(values)
