"""Likelihood by moments: closed forms, the exact filter, brute force, and what it does in every verb."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import daedal as dd
from batteries.criterion import SQUARE, TIMES, Case, differences, simulated, square, with_gaps
from daedal import der
from daedal.estimation.arguments import Arguments, prepare_objective
from daedal.estimation.likelihood.lane_moments import Block, Measured, measure_lanes, plan_blocks, score_block
from daedal.estimation.likelihood.moments import make_moments_objective

x, z, u, w, a, s, tau, noise, x0, T = dd.symbols("x z u w a s tau noise x0 T")


def moments(realizations=2000):
    return dd.Likelihood(method="moments", realizations=realizations)


def list_cases():
    near = {"a": 0.9, "s": 0.85, "tau": 0.45}
    plain = square()
    two = {"level": x, "quarter": x**2 / 4}
    together = square(outputs=two, measurement_noise={("level", "quarter"): np.array([[0.0025, 0.002], [0.002, 0.01]])})
    own = {name: plain.parameters[name] for name in ("a", "s", "tau")}
    sensor = square(
        outputs=two, parameters={**own, noise: 0.1}, measurement_noise={"level": noise, "quarter": 2 * noise}
    )
    both = simulated(square(outputs=two, measurement_noise={"level": 0.05, "quarter": 0.1}), SQUARE)
    own_times = dd.Dataset(
        inputs=both.inputs,
        outputs={
            "level": both.outputs["level"],
            "quarter": dd.Samples(TIMES[:-1:3] + 0.03, both.outputs["quarter"].values[:-1:3]),
        },
    )
    start = square(parameters={**own, "x0": 0.0}, initial={x: x0})
    pair = [simulated(plain, SQUARE, rng=3, name="day"), simulated(plain, SQUARE, rng=4, name="night", size=0.3)]
    late = square(
        equations={"rate": der(x) == -a * dd.delay(x, T) + u + w**2},
        parameters={**own, T: dd.Parameter(0.2, lower=0.02, upper=1.0)},
        history={x: 0.3},
    )
    return {
        "plain": Case("plain", plain, simulated(plain, SQUARE), ("a", "s", "tau"), moments(130), near),
        "correlated": Case("correlated", together, with_gaps(both, [3, 4, 20]), ("a", "s"), moments(250), near),
        "own times": Case("own times", sensor, own_times, ("a", "noise"), moments(220), {**near, "noise": 0.08}),
        "experiments": Case(
            "experiments", start, pair, ("a", "s"), moments(130), {**near, "x0[day]": 0.2, "x0[night]": 0.4},
            local=("x0",),
        ),
        "delay": Case("delay", late, simulated(late, SQUARE), ("a", "T"), moments(130), {"a": 0.9, "T": 0.17}),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["plain", "correlated", "own times", "experiments", "delay"])
def test_gradient_is_that_of_the_value(name):
    case = list_cases()[name]
    case = case.changed(at={key: case.at[key] for key in case.evaluate({}).names})
    found = case.evaluate()
    sizes = np.array([case.at[key] for key in found.names])
    assert np.max(np.abs(found.gradient - differences(case)) * sizes) < 2e-6 * np.max(np.abs(found.gradient * sizes))
    assert np.linalg.eigvalsh(found.curvature).min() > 0.0
    again = case.changed(model=case.model.with_parameters({})).evaluate()  # another object: prepared anew
    assert again.value == found.value
    assert found.monte_carlo_error > 0.0


def draw_lanes(samples, lanes, seed=0):
    """Correlated lanes with slopes along two parameters, the second of which scales them."""
    random = np.random.default_rng(seed)
    values = np.cumsum(random.standard_normal((samples, lanes)), axis=0)
    return np.stack([values, random.standard_normal((samples, lanes)), values])


def test_value_is_that_of_normal_densities():
    """By another program, from the sample covariance of all lanes and of halves."""
    lanes, y = draw_lanes(12, 60), np.sin(np.arange(12.0))
    block = Block(0, 5, 12)
    R = np.diag(0.1 + 0.01 * np.arange(12))
    measured = Measured(y, R, np.zeros((2, 12, 12)))
    score = score_block(block, (measure_lanes(lanes[..., :25]), measure_lanes(lanes[..., 25:])), measured)

    def density(which):
        mean, S = which.mean(axis=1), np.cov(which) + R
        return multivariate_normal(mean, S).logpdf(y) - multivariate_normal(mean[:5], S[:5, :5]).logpdf(y[:5])

    whole, first, second = (density(lanes[0][:, part]) for part in (slice(None), slice(25), slice(25, None)))
    assert -score.value == pytest.approx(2 * whole - 0.5 * (first + second), rel=1e-12)
    assert np.sum(score.z[5:] ** 2) / 2 + np.sum(np.log(np.diag(score.L)[5:])) == pytest.approx(
        -whole - 3.5 * np.log(2 * np.pi), rel=1e-12
    )


@pytest.mark.parametrize(
    ("count", "window", "expected"),
    [
        (2, 3, [(0, 0, 2)]),
        (6, 3, [(0, 0, 6)]),
        (7, 3, [(0, 0, 6), (3, 6, 7)]),
        (12, 3, [(0, 0, 6), (3, 6, 9), (6, 9, 12)]),
    ],
)
def test_every_sample_is_scored_once_given_a_window(count, window, expected):
    blocks = plan_blocks(np.arange(count), window)
    assert [(one.first, one.scored, one.last) for one in blocks] == expected
    twice = plan_blocks(np.repeat(np.arange(count), 2), window)  # samples of one time stay together
    assert [(one.first, one.scored, one.last) for one in twice] == [tuple(2 * k for k in one) for one in expected]


def make_linear():
    return dd.Model(
        name="decay",
        equations={"rate": der(x) == -a * x + w},
        unknowns=[x],
        outputs={"x": x},
        parameters={a: 0.7, s: 9.0, noise: 0.05},
        disturbances={w: dd.FilteredNoise([s], [1.0, 6.0, 18.0])},
        measurement_noise={"x": noise},
        initial={x: 0.0},
    )


def line_up(model, data, free, realizations, seed, window=50):
    """Objective by moments, also of a linear model, and its exact one."""
    arguments = Arguments(model, data, free, (), None, dd.Likelihood(), None)
    exact, _, _ = prepare_objective("fit", arguments, 0)
    problem = replace(exact.problem, seed=seed)
    return exact, make_moments_objective(problem, moments(realizations), window)


def compute_bias(L, z, noise, lanes):
    """Of the value, from a finite number of normal lanes: its second-order expansion in the errors of mean and C."""
    inverse = np.linalg.inv(L @ L.T)
    C, alpha = L @ L.T - noise**2 * np.eye(len(L)), np.linalg.solve(L.T, z)
    P = inverse @ C
    d = np.trace(P)
    quadratic = d * (alpha @ C @ alpha) + alpha @ C @ P @ alpha
    return (0.5 * quadratic - 0.25 * (d**2 + np.trace(P @ P)) + 0.5 * d) / lanes


def test_linear_models_have_the_exact_value_without_bias():
    """Over seeds the mean error is within the Monte-Carlo error, which is told; halves take a bias away."""
    times = np.arange(60) * 0.25
    data = dd.simulate(make_linear(), times, realizations=1, measurement_noise=True, rng=3).to_dataset()
    errors, told, taken, expected = [], [], [], []
    for seed in range(9):
        exact, found = line_up(make_linear(), data, ("a", "s", "noise"), 600, seed)
        point = exact.problem.coordinates.start
        truth, here = exact(point), found(point)
        errors.append([here.value - truth.value, *(here.gradient - truth.gradient)])
        told.append([here.monte_carlo_error, *np.sqrt(np.diag(found.scatter(here)))])
        scored = found._score(0, point).scores[0]
        plain = 0.5 * scored.z @ scored.z + np.sum(np.log(np.diag(scored.L))) + 30 * np.log(2 * np.pi)
        taken.append(plain - here.value)
        expected.append(compute_bias(scored.L, scored.z, 0.05, 600))
    errors, told = np.array(errors), np.array(told)
    spread = errors.std(axis=0, ddof=1)
    assert np.all(np.abs(errors.mean(axis=0)) < 4 * spread / 3.0)
    assert np.mean(taken) == pytest.approx(np.mean(expected), rel=0.3)
    assert np.all(np.abs(np.log(told.mean(axis=0) / spread)) < np.log(2.5))  # of nine numbers


def make_squared(**changes):
    """y = w², w a stationary Ornstein–Uhlenbeck process: mean s², covariance 2 s⁴ exp(−2 |Δt|/tau)."""
    fields = {
        "name": "power",
        "equations": {"square": z == w**2},
        "unknowns": [z],
        "outputs": {"z": z},
        "parameters": {s: dd.Parameter(1.0, scale="log"), tau: dd.Parameter(1.0, scale="log")},
        "disturbances": {w: dd.FilteredNoise.low_pass(std=s, time_constant=tau)},
        "measurement_noise": {"z": 0.5},
    }
    return dd.Model(**fields | changes)


def test_the_square_of_a_process_has_its_closed_form():
    times = np.arange(60) * 0.3
    data = dd.simulate(make_squared(), times, realizations=1, measurement_noise=True, rng=1).to_dataset()

    def density(size, memory):
        C = 2 * size**4 * np.exp(-2 * np.abs(np.subtract.outer(times, times)) / memory)
        return multivariate_normal(np.full(60, size**2), C + 0.25 * np.eye(60)).logpdf(data.outputs["z"].values)

    at = {"s": 1.1, "tau": 0.8}
    found = dd.evaluate(make_squared(), data, free=["s", "tau"], values=at, criterion=moments(8000), rng=2)
    assert found.loglik == pytest.approx(density(1.1, 0.8), abs=4 * found.monte_carlo_error)
    assert found.monte_carlo_error < 1.0
    h = 1e-4
    slopes = [(density(1.1 + h, 0.8) - density(1.1 - h, 0.8)), (density(1.1, 0.8 + h) - density(1.1, 0.8 - h))]
    arguments = Arguments(make_squared().with_parameters(at), data, ("s", "tau"), (), None, moments(8000), None)
    objective, _, _ = prepare_objective("fit", arguments, 2)
    point = objective.problem.coordinates.start
    here = objective(point)
    errors = np.sqrt(np.diag(objective.capabilities.scatter(here)))  # along log s, log tau
    wanted = -np.array(slopes) / (2 * h) * np.array([1.1, 0.8])
    assert np.all(np.abs(here.gradient - wanted) < 4 * errors)


def test_scores_have_the_covariance_of_gradients_over_data():
    """Of fresh data the gradient scatters as the lanes say: far more than the curvature, as w² is far from normal."""
    times = np.arange(60) * 0.3
    runs = dd.simulate(make_squared(), times, realizations=300, measurement_noise=True, rng=5)
    model, values = make_squared(), np.asarray(runs["z"])
    data = dd.Dataset(times, outputs={"z": values[0]})
    objective, _, _ = prepare_objective("fit", Arguments(model, data, ("s", "tau"), (), None, moments(4000), None), 1)
    point = objective.problem.coordinates.start
    here, scored = objective(point), objective._score(0, point)
    lanes = scored.lanes
    halves = measure_lanes(lanes[..., :2000]), measure_lanes(lanes[..., 2000:])
    score = scored.scores[0]
    gradients = [score_block(score.block, halves, replace(scored.measured[0], y=y)).gradient for y in values]
    covariance = np.cov(np.array(gradients).T)
    ratio = np.diag(here.scores) / np.diag(covariance)
    assert np.all(np.abs(np.log(ratio)) < np.log(1.6))
    assert np.all(np.diag(here.scores) > 1.3 * np.diag(here.curvature))


@pytest.fixture(scope="module")
def fitted():
    """Of data with a gap, and a second output of its own; the gain of the disturbance acts through w² alone."""
    model = square(
        parameters={a: dd.Parameter(0.8, lower=0.05, upper=9.0), s: dd.Parameter(0.9, scale="log"), tau: 0.4}
    )
    data = with_gaps(simulated(model, SQUARE, rng=8), [5, 6])
    return dd.fit(model, data, free=["a", "s"], criterion=moments(200), rng=1), model


def test_a_fit_tells_its_errors_and_what_it_is(fitted, tmp_path):
    found, _ = fitted
    for name in ("a", "s"):
        assert abs(found[name].value - SQUARE[name]) < 4 * found[name].std_error < 2.0
        assert 0.0 < found[name].monte_carlo_error < 0.5 * found[name].std_error
    assert found.status.ok
    assert found.loglik == -found.value
    assert found.aic is None
    assert found.bic is None
    assert any("quasi-likelihood" in note for note in found.notes)
    assert "log likelihood" in str(found)
    assert "log posterior" not in str(found)
    found.save(tmp_path / "fit.nc")
    again = dd.load(tmp_path / "fit.nc")
    assert again.criterion == found.criterion
    assert again.loglik == found.loglik


def test_fits_by_moments_are_validated_like_others(fitted):
    found, model = fitted
    same = dd.evaluate(model, found.data, free=["a", "s"], values=dict(found.params), criterion=moments(200), rng=1)
    assert same.loglik == pytest.approx(found.loglik, rel=1e-9)
    assert np.abs(same.gradient @ np.array([found[name].std_error for name in ("a", "s")])) < 0.05
    compared = dd.compare(found, found.data, horizon=[1, 5])
    assert "level" in str(compared)
    assert dd.plot(compared)
    residuals = dd.resid(found)
    assert "level" in str(residuals)
    assert dd.plot(residuals)
    traced = dd.profile(found, ["a"], level=0.9, points=2)
    low, high = traced["a"].interval
    assert low < found["a"].value < high
    assert "a" in str(dd.identifiability(found))


def test_other_data_are_simulated_from_the_start_that_the_model_has(fitted):
    found, model = fitted
    other = simulated(model, SQUARE, rng=9, name="other", size=0.5)
    compared = dd.compare(found, other)
    assert not any("where these data begin is estimated" in note for note in compared.notes)
    assert "level" in str(compared)


def test_predictions_ahead_are_those_of_the_joint_normal_density():
    """Given the samples so many times before, by the formulas for conditional densities."""
    case = list_cases()["plain"]
    objective, _, _ = prepare_objective(
        "fit", Arguments(case.model, case.data, ("a",), (), None, moments(1300), None), 1
    )
    point = objective.problem.coordinates.start
    (forecast,) = objective.capabilities.foresee(point, [1, 4])
    lanes, y = objective._score(0, point).lanes[0], forecast.series.values
    mean, S = lanes.mean(axis=1), np.cov(lanes) + 0.05**2 * np.eye(61)
    for steps in (1, 4):
        for k in (2, 30, 60):
            known = slice(0, max(k - steps + 1, 0))
            gain = np.linalg.solve(S[known, known], S[known, k]) if known.stop else np.zeros(0)
            expected = mean[k] + gain @ (y - mean)[known]
            variance = S[k, k] - gain @ S[known, k] - 0.05**2
            assert forecast.further[steps][0][k] == pytest.approx(expected, rel=1e-9)
            assert forecast.further[steps][1][k] == pytest.approx(np.sqrt(variance), rel=1e-6)
    assert forecast.simulated is not None
    np.testing.assert_allclose(forecast.simulated[0], mean)


def test_a_missing_sample_is_one_of_no_accuracy():
    case = list_cases()["plain"]
    level = case.data.outputs["level"]
    deviations = np.full(61, 0.05)
    deviations[[7, 30]] = 1e6
    blind = dd.Dataset(
        TIMES, inputs=case.data.inputs, outputs={"level": dd.Samples(level.times, level.values, noise=deviations)}
    )
    gaps = with_gaps(case.data, [7, 30])
    one, other = (case.changed(data=data, criterion=moments(1300)).evaluate() for data in (blind, gaps))
    assert one.value == pytest.approx(other.value + 2 * (np.log(1e6) + 0.5 * np.log(2 * np.pi)), abs=1e-6)
    np.testing.assert_allclose(one.gradient, other.gradient, rtol=1e-6)


REFUSED = {
    "no noise declared": (
        {"measurement_noise": {}}, moments(),
        "Model 'square' does not say how accurately 'level' is measured. Declare measurement_noise={'level': ...}",
    ),
    "no disturbances": (
        {"disturbances": {}, "equations": {"rate": der(x) == -a * x**3 + u * x}}, moments(),
        "Model 'square' declares no disturbances, so its outputs do not scatter. Use OutputError()",
    ),
    "too few realizations": (
        {}, moments(40),
        "40 realizations do not tell how samples scatter together: the covariance of 10 samples takes 100. Write "
        "Likelihood(method='moments', realizations=2000)",
    ),
    "relative noise": (
        {"measurement_noise": {"level": 0.1 * dd.symbol("level")}}, moments(),
        "The measurement noise of 'level', 0.1*level, depends on 'level', but Likelihood(method='moments') adds",
    ),
    "free start": (
        {}, dd.Likelihood(method="moments", initial="free"),
        "Likelihood(method='moments') simulates from the start that the model declares, so initial='free' means "
        "nothing to it. Hold the value at a parameter",
    ),
    "scattered start": (
        {}, dd.Likelihood(method="moments", initial_std={"x": 0.1}),
        "Likelihood(method='moments') starts all realizations alike, but initial_std lets 'x' scatter.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_work_is_said_before_work_starts(name):
    changes, criterion, sentence = REFUSED[name]
    data = simulated(square(), SQUARE)
    with pytest.raises(dd.DaedalError) as refusal:
        dd.fit(square(**changes), data, free=["a"], criterion=criterion)
    assert sentence in str(refusal.value)
