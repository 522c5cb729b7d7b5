"""Records that the model makes: they judge Laplace's approximation, and put right what it gets wrong."""

import numpy as np
import pytest

import daedal as dd
from batteries.quadrature import SEEN, draw_seen, make_seen
from daedal import der
from daedal.estimation import match_fit, restore_objective
from daedal.estimation.likelihood.auto import AutoObjective
from daedal.estimation.likelihood.laplace import make_laplace_objective
from daedal.estimation.likelihood.redrawn import draw_scores
from daedal.estimation.likelihood.referee import judge_records
from daedal.estimation.problem import Problem, make_coordinates
from daedal.experiments import match_experiments
from daedal.filtering import InitialCondition, make_nonlinear_experiment
from daedal.systems import build

x, v, w = dd.symbols("x v w")
a, b = dd.symbols("a b")
RECORDS = range(60)


def make(**changes):
    given = {
        "name": "lag",
        "equations": {"rate": der(x) == -a * x + w},
        "unknowns": [x],
        "outputs": {"x": x, "twice": 2.0 * x},
        "parameters": {a: 0.5},
        "disturbances": {w: dd.FilteredNoise.low_pass(std=0.5, time_constant=1.0)},
        "measurement_noise": {("x", "twice"): np.array([[0.04, 0.02], [0.02, 0.09]])},
        "initial": {x: 0.0},
    }
    return dd.Model(**(given | changes))


def make_objective(model, data, free):
    system = build(model)
    problem = Problem(system, (data,), make_coordinates(model, (data,), free, None, None), 0, None)
    return make_laplace_objective(problem, InitialCondition("diffuse"))


def test_redrawn_measurements_leave_the_noise_whatever_is_correlated_or_missing():
    times, values = np.arange(1, 8) * 0.5, np.zeros((2, 7))
    values[0, 2] = values[1, 4] = np.nan
    data = dd.Dataset(times, outputs={"x": values[0], "twice": values[1]}, t0=0.0)
    experiment = make_nonlinear_experiment(match_experiments(build(make()), [data])[0], {"a": 0.5}, "rk4", 0.5)
    measurements, rng = experiment.measurements, np.random.default_rng(0)
    outputs = rng.standard_normal((experiment.grid.times.size, 2))
    noise = rng.standard_normal(measurements.count)
    redrawn = measurements.redraw(outputs, noise)
    np.testing.assert_allclose(redrawn.compute_residuals(outputs), noise, atol=1e-12)
    np.testing.assert_array_equal(np.isnan(redrawn.values), np.isnan(measurements.values))


def test_scores_of_a_linear_model_have_no_mean_and_the_information_as_covariance():
    model = make(outputs={"x": x}, measurement_noise={"x": 0.2})
    data = dd.simulate(
        model, np.arange(1, 61) * 0.5, t0=0.0, realizations=1, measurement_noise=True, rng=0
    ).to_dataset()
    objective = make_objective(model, data, ["a"])
    point = objective.problem.coordinates.start
    scores, information = draw_scores(objective, point, RECORDS), objective(point).curvature
    assert abs(scores.mean()) < 4.0 * np.sqrt(information[0, 0] / len(scores))
    assert np.var(scores, ddof=1) == pytest.approx(information[0, 0], rel=4.0 * np.sqrt(2.0 / len(scores)))
    assert not judge_records(("a",), information, scores).biased
    # Drawn elsewhere: the mean of scores moves by the information.
    away = point + 0.5 / np.sqrt(np.diag(information))
    moved = draw_scores(objective, point, RECORDS, away).mean() - scores.mean()
    assert moved / (away - point)[0] == pytest.approx(information[0, 0], rel=0.3)


@pytest.fixture
def only_records(monkeypatch):
    """Particles tell nothing, as beside accurate sensors."""
    monkeypatch.setattr(AutoObjective, "_ask_guided", lambda *_: None)
    monkeypatch.setattr(AutoObjective, "_ask_plain", lambda *_: None)
    monkeypatch.setattr("daedal.estimation.likelihood.auto.MOST_RECORDS", 40)


@pytest.mark.slow
def test_records_put_right_what_the_approximation_gets_wrong(only_records):
    model, data = make_seen(SEEN["w + 0.3 w²"]), draw_seen(SEEN["w + 0.3 w²"])
    free = {"std": dd.Parameter(1.1, lower=0.05, upper=20.0, scale="log")}
    laplace, auto = (
        dd.fit(model, data, free=free, criterion=dd.Likelihood(method=method), rng=1) for method in ("laplace", "auto")
    )
    best = 1.1035  # the maximum of the likelihood by quadrature
    assert abs(laplace["std"].value - best) > 0.05
    assert abs(auto["std"].value - best) < 2.0 * auto["std"].monte_carlo_error
    # 0.1354 by quadrature, the mean curvature of 2000 records; 160 of these and B leave 8 % of chance, three times.
    assert auto["std"].std_error == pytest.approx(0.1354, rel=0.24)
    assert any("put right by method='auto'" in note and "records" in note for note in auto.notes)
    assert auto.aic is None  # no maximum of a likelihood
    # What follows stays with the equation that was put right.
    restored = restore_objective(match_fit(auto))
    there = restored(auto.point)
    assert there.value == auto.value
    assert abs(there.gradient[0]) < 0.1 * np.sqrt(auto.curvature[0, 0])  # a tenth of a standard error
    profile = dd.profile(auto, points=2)
    assert any("the slope that puts it right" in note for note in profile.notes)
    assert not any("goes below the minimum" in note for note in profile.notes)
    np.testing.assert_allclose(profile.intervals["std"], auto.conf_int()["std"], rtol=0.15)
    cost = dd.evaluate(model, data, free=free, values=dict(auto.params), criterion=auto.criterion)
    assert cost.gradient[0] > 1.0  # that of Laplace's approximation, which is said
    assert any("which only a fit judges" in note for note in cost.notes)
    assert "which only a fit judges" in str(cost)


def test_the_approximation_stays_where_records_find_nothing(only_records):
    model = make(
        equations={"rate": der(x) == -a * x - 0.05 * x**3 + w}, outputs={"x": x}, measurement_noise={"x": 0.02}
    )
    data = dd.simulate(
        model, np.arange(1, 41) * 0.5, t0=0.0, realizations=1, measurement_noise=True, rng=0
    ).to_dataset()
    laplace, auto = (
        dd.fit(model, data, free=["a"], criterion=dd.Likelihood(method=method), rng=1) for method in ("laplace", "auto")
    )
    assert auto["a"].value == laplace["a"].value
    assert auto["a"].std_error == laplace["a"].std_error
    assert any("judged at the estimate: records that the model makes would move" in note for note in auto.notes)


def test_errors_follow_from_the_curvature_and_not_from_normal_innovations():
    """A disturbance that multiplies the state: records tell the scatter of scores, which the curvature is then."""
    model = make(
        equations={"rate": der(x) == -(a + 0.3 * w) * x + 1.0},
        outputs={"x": x},
        parameters={a: dd.Parameter(0.8, lower=0.01, upper=10.0, scale="log")},
        disturbances={w: dd.FilteredNoise.low_pass(std=1.0, time_constant=1.0)},
        measurement_noise={"x": 0.05},
        initial={x: 1.0},
    )
    data = dd.simulate(model, np.arange(1, 301) * 0.2, t0=0.0, realizations=1, measurement_noise=True, rng=3)
    objective = make_objective(model, data.to_dataset(), ["a"])
    at = objective(objective.problem.coordinates.start)
    spread = float(np.var(draw_scores(objective, at.point, RECORDS), ddof=1))
    curvature = float(objective.conclude(at).curvature[0, 0])
    assert curvature == pytest.approx(spread, rel=4.0 * np.sqrt(2.0 / len(RECORDS)))
    assert float(at.curvature[0, 0]) > 1.3 * curvature
    fit = dd.fit(model, data.to_dataset(), free=["a"], criterion=dd.Likelihood(method="laplace"), rng=0)
    assert fit["a"].std_error == pytest.approx(fit["a"].value / np.sqrt(fit.curvature[0, 0]), rel=1e-6)
