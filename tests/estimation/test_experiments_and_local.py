"""Several experiments, shared and local parameters, missing samples, accuracies: against least squares by hand.

x' = −k x + b has the solution x = b/k + (x0 − b/k) exp(−k (t − t0)), so that every number of a fit can be computed from
formulas and scipy alone.
"""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.optimize
from scipy.linalg import block_diag
from scipy.optimize import approx_fprime, least_squares
from scipy.stats import t as student

import daedal as dd
from daedal import der

x, k, b, x0, c, s = dd.symbols("x k b x0 c s")
NAN = float("nan")
MISSING = [3, 4, 11]  # samples that were lost
TIMES = np.array([0.3, 0.5, 0.9, 1.0, 1.3, 1.7, 2.0, 2.6, 2.7, 3.1, 3.6, 4.0, 4.4, 5.1, 5.5, 6.0, 6.6, 7.3, 8.0, 8.1])


def solution(times, t0, k, b, x0):
    return b / k + (x0 - b / k) * np.exp(-k * (times - t0))


def tank(**more):
    return dd.Model(
        name="tank",
        equations={"balance": der(x) == -k * x + b},
        unknowns=[x],
        **{"outputs": {"level": x}, "parameters": {k: 1.0, b: 1.0, x0: 1.0}, "initial": {x: x0}, **more},
    )


@dataclass(frozen=True)
class Brute:
    """Least squares of residuals that already are in units of their standard deviations."""

    value: float
    estimate: np.ndarray
    jacobian: np.ndarray
    residuals: np.ndarray

    @property
    def count(self):
        return self.residuals.size

    @property
    def covariance(self):
        """(JᵀJ)⁻¹ σ², with σ² from the residuals and the degrees of freedom that are left."""
        variance = self.residuals @ self.residuals / (self.count - self.estimate.size)
        return np.linalg.inv(self.jacobian.T @ self.jacobian) * variance


def brute(residuals, start):
    tolerances = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}
    found = least_squares(residuals, start, "3-point", x_scale="jac", **tolerances)
    jacobian = np.array([_central(residuals, found.x, i) for i in range(found.x.size)]).T
    return Brute(found.cost, found.x, jacobian, found.fun)


def _central(function, point, i):
    step = 1e-5 * max(abs(point[i]), 0.1)
    ahead, behind = point.copy(), point.copy()
    ahead[i] += step
    behind[i] -= step
    return (function(ahead) - function(behind)) / (2.0 * step)


def agrees(fit, found, names, rtol=1e-6):
    """Estimates, minimum and curvature are those of brute force."""
    assert fit.status.ok
    assert list(fit.params) == names
    np.testing.assert_allclose(list(fit.params.values()), found.estimate, rtol=rtol)
    assert fit.value == pytest.approx(found.value, rel=1e-7)
    assert fit.samples == found.count
    np.testing.assert_allclose(fit.curvature, found.jacobian.T @ found.jacobian, rtol=1e-4)


def noisy(seed, truth, times=TIMES, t0=0.0, deviation=0.05):
    return solution(times, t0, *truth) + deviation * np.random.default_rng(seed).standard_normal(len(times))


# Three experiments with one k and b, and initial values of their own, known in none of them. The seed is one whose
# residuals also look white: in about one of ten the autoregression of so few samples has an order above zero by chance.
STARTS, VALUES = (0.0, -0.5, 0.3), (3.0, 0.6, 1.6)
MEASURED = [
    noisy(21 + i, (0.7, 1.2, value), t0=start) for i, (start, value) in enumerate(zip(STARTS, VALUES, strict=True))
]
for each in MEASURED:
    each[MISSING] = NAN
EXPERIMENTS = [
    dd.Dataset(TIMES, outputs={"level": values}, t0=start, name=name)
    for values, start, name in zip(MEASURED, STARTS, ("hot", "cold", "mild"), strict=True)
]


def three(p):
    """Residuals for k, b and the three initial values, in units of 0.05."""
    parts = [
        (values - solution(TIMES, start, p[0], p[1], value)) / 0.05
        for values, start, value in zip(MEASURED, STARTS, p[2:], strict=True)
    ]
    together = np.concatenate(parts)
    return together[np.isfinite(together)]


@pytest.fixture(scope="module")
def shared_and_local():
    model = tank(measurement_noise={"level": 0.05})
    return dd.fit(model, EXPERIMENTS, free=["k", "b"], local=["x0"]), brute(three, np.ones(5))


def test_shared_and_local_parameters_of_three_experiments(shared_and_local):
    fit, found = shared_and_local
    agrees(fit, found, ["k", "b", "x0[hot]", "x0[cold]", "x0[mild]"])
    assert fit.values(1)["x0"] == fit["x0[cold]"].value
    assert fit.model.parameters["k"].value == fit["k"].value
    assert fit.model.parameters["x0"].value == 1.0  # a local parameter has no value that holds for all


def test_standard_errors_are_the_classical_ones_when_residuals_are_white(shared_and_local):
    fit, found = shared_and_local
    np.testing.assert_allclose(fit.cov, found.covariance, rtol=1e-4)
    errors = np.sqrt(np.diag(found.covariance))
    np.testing.assert_allclose(list(fit.std_errors.values()), errors, rtol=1e-4)
    np.testing.assert_allclose(fit.correlation, found.covariance / np.outer(errors, errors), rtol=1e-4, atol=1e-6)
    assert not np.any(fit.monte_carlo_cov)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_intervals_take_the_quantile_of_student(shared_and_local, level):
    fit, found = shared_and_local
    quantile = student.ppf(0.5 + level / 2, found.count - 5)
    width = quantile * np.sqrt(np.diag(found.covariance))
    intervals = np.array(list(fit.conf_int(level).values()))
    np.testing.assert_allclose(intervals, np.stack([found.estimate - width, found.estimate + width], axis=1), rtol=1e-4)


def test_likelihood_and_information_with_declared_accuracy(shared_and_local):
    fit, found = shared_and_local
    n = found.count
    loglik = -found.value - n * np.log(0.05) - 0.5 * n * np.log(2 * np.pi)
    assert fit.loglik == pytest.approx(loglik, rel=1e-7)
    assert fit.aic == pytest.approx(2 * 5 - 2 * loglik, rel=1e-7)
    assert fit.bic == pytest.approx(5 * np.log(n) - 2 * loglik, rel=1e-7)


def test_likelihood_and_information_without_it_count_the_accuracy_too(shared_and_local):
    fit = dd.fit(tank(), EXPERIMENTS, free=["k", "b"], local=["x0"])
    declared, found = shared_and_local
    np.testing.assert_allclose(list(fit.params.values()), found.estimate, rtol=1e-6)
    np.testing.assert_allclose(fit.cov, declared.cov, rtol=1e-5)
    n, variance = found.count, np.mean((0.05 * found.residuals) ** 2)
    loglik = -0.5 * n * (np.log(2 * np.pi * variance) + 1)
    assert fit.loglik == pytest.approx(loglik, rel=1e-7)
    assert fit.aic == pytest.approx(2 * 6 - 2 * loglik, rel=1e-7)
    assert fit.bic == pytest.approx(6 * np.log(n) - 2 * loglik, rel=1e-7)


def test_the_order_of_experiments_does_not_matter(shared_and_local):
    fit, _ = shared_and_local
    again = dd.fit(tank(measurement_noise={"level": 0.05}), EXPERIMENTS[::-1], free=["k", "b"], local=["x0"])
    assert again.value == pytest.approx(fit.value, rel=1e-9)
    for name, value in fit.params.items():
        assert again[name].value == pytest.approx(value, rel=1e-6)


def test_what_is_fixed_differs_between_experiments():
    inflows = (1.2, 0.4, 2.0)
    measured = [noisy(31 + i, (0.7, inflow, 1.5)) for i, inflow in enumerate(inflows)]
    data = [dd.Dataset(TIMES, outputs={"level": values}, t0=0.0) for values in measured]
    model = tank(measurement_noise={"level": 0.05})
    fit = dd.fit(model, data, free=["k", "x0"], fixed=[{"b": inflow} for inflow in inflows])

    def residuals(p):
        pairs = zip(measured, inflows, strict=True)
        return np.concatenate([(y - solution(TIMES, 0.0, p[0], inflow, p[1])) / 0.05 for y, inflow in pairs])

    found = brute(residuals, np.ones(2))
    agrees(fit, found, ["k", "x0"])
    np.testing.assert_allclose(fit.cov, found.covariance, rtol=1e-4)
    assert [fit.values(number)["b"] for number in range(3)] == list(inflows)


def test_one_mapping_fixes_the_same_for_all():
    measured = noisy(41, (0.7, 1.3, 2.0))
    data = dd.Dataset(TIMES, outputs={"level": measured}, t0=0.0)
    fit = dd.fit(tank(measurement_noise={"level": 0.05}), [data, data], free=["k"], fixed={"b": 1.3, "x0": 2.0})
    found = brute(lambda p: np.tile((measured - solution(TIMES, 0.0, p[0], 1.3, 2.0)) / 0.05, 2), np.ones(1))
    agrees(fit, found, ["k"])


def test_local_names_follow_the_number_where_experiments_share_a_name():
    data = [dd.Dataset(TIMES, outputs={"level": noisy(51 + i, (0.7, 1.2, 2.0))}, t0=0.0) for i in range(2)]
    fit = dd.fit(tank(), data, free=["k"], local=["x0"])
    assert list(fit.params) == ["k", "x0[1]", "x0[2]"]


def test_outputs_have_times_of_their_own():
    # Levels at all times, their squares rarely and elsewhere, long before and after.
    rare = np.array([0.1, 2.2, 4.4, 9.0, 11.0])
    y1 = noisy(61, (0.7, 1.2, 3.0))
    y1[MISSING] = NAN
    y2 = solution(rare, 0.0, 0.7, 1.2, 3.0) ** 2 + 0.2 * np.random.default_rng(62).standard_normal(rare.size)
    outputs = {"level": dd.Samples(TIMES, y1), "square": dd.Samples(rare, y2)}
    model = tank(outputs={"level": x, "square": x**2}, measurement_noise={"level": 0.05, "square": 0.2})
    fit = dd.fit(model, dd.Dataset(outputs=outputs, t0=0.0), free=["k", "b", "x0"])

    def residuals(p):
        first = (y1 - solution(TIMES, 0.0, *p)) / 0.05
        return np.concatenate([first[np.isfinite(first)], (y2 - solution(rare, 0.0, *p) ** 2) / 0.2])

    found = brute(residuals, np.ones(3))
    agrees(fit, found, ["k", "b", "x0"])
    # Each output is as accurate as its own residuals say: (JᵀJ)⁻¹ (Σ s² JᵀJ) (JᵀJ)⁻¹, n/(n − p) in all.
    n, many = found.count, len(TIMES) - len(MISSING)
    halves = [slice(0, many), slice(many, n)]
    scores = sum(
        np.mean(found.residuals[half] ** 2) * found.jacobian[half].T @ found.jacobian[half] for half in halves
    ) * (n / (n - 3))
    inverse = np.linalg.inv(found.jacobian.T @ found.jacobian)
    np.testing.assert_allclose(fit.cov, inverse @ scores @ inverse, rtol=1e-4)


def test_each_sample_has_its_own_accuracy():
    deviations = 0.02 + 0.1 * (TIMES / TIMES[-1])
    y = solution(TIMES, 0.0, 0.7, 1.2, 3.0) + deviations * np.random.default_rng(71).standard_normal(TIMES.size)
    y[MISSING] = NAN
    model = tank(measurement_noise={"level": deviations})
    fit = dd.fit(model, dd.Dataset(TIMES, outputs={"level": y}, t0=0.0), free=["k", "b", "x0"])
    known = np.isfinite(y)
    found = brute(lambda p: ((y - solution(TIMES, 0.0, *p)) / deviations)[known], np.ones(3))
    agrees(fit, found, ["k", "b", "x0"])
    np.testing.assert_allclose(fit.cov, found.covariance, rtol=1e-4)
    loglik = -found.value - np.sum(np.log(deviations[known])) - 0.5 * found.count * np.log(2 * np.pi)
    assert fit.loglik == pytest.approx(loglik, rel=1e-7)


def test_correlated_outputs_are_generalised_least_squares():
    covariance = np.array([[0.01, 0.012, 0.0], [0.012, 0.04, -0.01], [0.0, -0.01, 0.0225]])
    noise = np.random.default_rng(81).multivariate_normal(np.zeros(3), covariance, TIMES.size).T

    def predicted(p):
        level = solution(TIMES, 0.0, *p[:3])
        return np.stack([level, 2 * level + p[3], level**2])

    y = predicted([0.7, 1.2, 3.0, 0.5]) + noise
    y[0, MISSING] = NAN
    y[1, [4, 5]] = NAN
    y[2, [4, 9]] = NAN  # at one time nothing is left
    names = ("level", "twice", "square")
    model = tank(
        outputs={"level": x, "twice": 2 * x + c, "square": x**2},
        parameters={k: 1.0, b: 1.0, x0: 1.0, c: 0.0},
        measurement_noise={("square", "level", "twice"): covariance[np.ix_([2, 0, 1], [2, 0, 1])]},
    )
    data = dd.Dataset(TIMES, outputs=dict(zip(names, y, strict=True)), t0=0.0)
    fit = dd.fit(model, data, free=["k", "b", "x0", "c"])

    # The covariance matrix of everything that was measured, time by time.
    known = np.isfinite(y)
    together = block_diag(*(covariance[np.ix_(one, one)] for one in known.T if one.any()))
    factor = np.linalg.inv(np.linalg.cholesky(together))
    found = brute(lambda p: factor @ (y - predicted(p)).T[known.T], np.array([1.0, 1.0, 1.0, 0.0]))
    agrees(fit, found, ["k", "b", "x0", "c"])
    loglik = -found.value - 0.5 * np.linalg.slogdet(2 * np.pi * together)[1]
    assert fit.loglik == pytest.approx(loglik, rel=1e-7)
    assert fit.aic == pytest.approx(2 * 4 - 2 * loglik, rel=1e-7)


def test_a_free_accuracy_is_that_of_maximum_likelihood():
    y = noisy(91, (0.7, 1.2, 3.0), deviation=0.07)
    y[MISSING] = NAN
    model = tank(
        parameters={k: 1.0, b: 1.0, x0: 1.0, s: dd.Parameter(1.0, lower=1e-4, scale="log")},
        measurement_noise={"level": s},
    )
    fit = dd.fit(model, dd.Dataset(TIMES, outputs={"level": y}, t0=0.0), free=["k", "b", "x0", "s"])
    known = np.isfinite(y)
    found = brute(lambda p: (y - solution(TIMES, 0.0, *p))[known], np.ones(3))
    n, deviation = found.count, np.sqrt(np.mean(found.residuals**2))
    expected = [*found.estimate, deviation]  # the mean does not depend on s, so both are found one after the other
    np.testing.assert_allclose(list(fit.params.values()), expected, rtol=1e-5)
    loglik = -0.5 * n * (np.log(2 * np.pi * deviation**2) + 1)
    assert fit.loglik == pytest.approx(loglik, rel=1e-7)
    assert fit.aic == pytest.approx(2 * 4 - 2 * loglik, rel=1e-7)
    # The sandwich of log s has the scatter of z² in the middle; for normal noise it tends to 1/(2n).
    spread = np.sqrt(np.sum(((found.residuals / deviation) ** 2 - 1) ** 2)) / (2 * n)
    assert fit["s"].std_error == pytest.approx(deviation * spread, rel=1e-3)
    assert spread == pytest.approx(1 / np.sqrt(2 * n), rel=0.5)
    classical = found.covariance * (n - 3) / (n - 4)  # s is the fourth free number
    np.testing.assert_allclose(fit.cov[:3, :3], classical, rtol=1e-3)


def test_intervals_on_a_log_scale_are_factors():
    y = noisy(101, (0.7, 1.2, 3.0))
    data = dd.Dataset(TIMES, outputs={"level": y}, t0=0.0)
    free = {"k": dd.Parameter(1.0, lower=0.01, upper=100.0, scale="log"), "b": 1.0, "x0": 1.0}
    fit = dd.fit(tank(measurement_noise={"level": 0.05}), data, free=free)
    found = brute(lambda p: (y - solution(TIMES, 0.0, *p)) / 0.05, np.ones(3))
    np.testing.assert_allclose(list(fit.params.values()), found.estimate, rtol=1e-6)
    np.testing.assert_allclose(fit.cov, found.covariance, rtol=1e-4)
    estimate, error = found.estimate[0], np.sqrt(found.covariance[0, 0])
    factor = np.exp(student.ppf(0.975, found.count - 3) * error / estimate)
    assert fit.conf_int()["k"] == pytest.approx((estimate / factor, estimate * factor), rel=1e-4)


def test_evaluate_gives_what_an_optimiser_of_ones_own_needs():
    # Steps are chosen at the model's values, which must not be an equilibrium as 1, 1, 1 are.
    model = tank(measurement_noise={"level": 0.05}, parameters={k: 1.0, b: 1.0, x0: 2.0})
    point = np.array([0.9, 1.1, 2.0, 0.7, 1.2])
    names = ["k", "b", "x0[hot]", "x0[cold]", "x0[mild]"]
    asked = {"free": ["k", "b"], "local": ["x0"]}
    cost = dd.evaluate(model, EXPERIMENTS, **asked, values=dict(zip(names, point, strict=True)))
    residuals = three(point)
    assert list(cost.names) == names
    assert cost.value == pytest.approx(0.5 * residuals @ residuals, rel=1e-7)
    np.testing.assert_allclose(cost.residuals, residuals, atol=1e-5)
    gradient = approx_fprime(point, lambda p: 0.5 * three(p) @ three(p), 1e-7)
    np.testing.assert_allclose(cost.gradient, gradient, rtol=1e-4)


# In the second experiment k is a multiple of a free parameter that no equation contains, in the third its square.
HOT, COLD, MILD = EXPERIMENTS
FOLLOWING = [{k: 0.7, x0: 3.0}, {k: 2 * s, x0: 0.6}, {k: s**2 + c, x0: 1.6}]


def follow(p):
    """Residuals for b and s, in units of 0.05; c is 0.5."""
    rates = (0.7, 2 * p[1], p[1] ** 2 + 0.5)
    parts = [
        (values - solution(TIMES, start, rate, p[0], value)) / 0.05
        for values, start, value, rate in zip(MEASURED, STARTS, VALUES, rates, strict=True)
    ]
    together = np.concatenate(parts)
    return together[np.isfinite(together)]


def follower(**more):
    parameters = {k: 1.0, b: 1.0, x0: 1.0, s: dd.Parameter(0.5, scale="log"), c: 0.5}
    return tank(parameters=parameters, measurement_noise={"level": 0.05}, **more)


@pytest.fixture(scope="module")
def following():
    return dd.fit(follower(), EXPERIMENTS, free=["b", "s"], fixed=FOLLOWING)


def test_formulas_that_are_fixed_follow_free_parameters(following):
    found = brute(follow, np.array([1.0, 0.5]))
    np.testing.assert_allclose(list(following.params.values()), found.estimate, rtol=1e-6)
    assert following.value == pytest.approx(found.value, rel=1e-7)
    scale = np.array([1.0, found.estimate[1]])  # the search moves the logarithm of s
    np.testing.assert_allclose(
        following.curvature, found.jacobian.T @ found.jacobian * np.outer(scale, scale), rtol=1e-4
    )
    assert following.values(0)["k"] == 0.7
    assert following.values(1)["k"] == pytest.approx(2 * following["s"].value)
    assert following.values(2)["k"] == pytest.approx(following["s"].value ** 2 + 0.5)


def test_formulas_are_followed_by_files_profiles_and_comparisons(following, tmp_path):
    following.save(tmp_path / "following.nc")
    again = dd.load(tmp_path / "following.nc")
    assert again.values(2) == following.values(2)
    truth = solution(TIMES, STARTS[1], 2 * following["s"].value, following["b"].value, 0.6)
    compared = dd.compare(again, COLD)["level"]
    np.testing.assert_allclose(compared.predicted, truth, rtol=1e-6)
    traced = dd.profile(following, ["b"])["b"]
    for value, cost in zip(traced.values, traced.cost, strict=True):
        least = least_squares(lambda p, value=value: follow(np.array([value, p[0]])), [following["s"].value], "3-point")
        assert cost == pytest.approx(least.cost - following.value, abs=1e-3)


def test_the_likelihood_follows_formulas_too():
    """Without disturbances and with a known start it is the output error."""
    fit = dd.fit(follower(), EXPERIMENTS, free=["b", "s"], fixed=FOLLOWING, criterion=dd.Likelihood())
    np.testing.assert_allclose(list(fit.params.values()), brute(follow, np.array([1.0, 0.5])).estimate, rtol=1e-5)


def test_a_formula_for_all_experiments_stays_in_the_model():
    fit = dd.fit(follower(), [COLD], free=["b", "s"], fixed={k: 2 * s, x0: 0.6})
    assert str(fit.model.parameters["k"].value) == "2*s"
    moved = fit.model.with_parameters({"s": 3.0})
    assert dd.simulate(moved, TIMES, t0=STARTS[1])["level"][-1] == pytest.approx(
        solution(TIMES, STARTS[1], 6.0, fit["b"].value, 0.6)[-1], rel=1e-6
    )


def each_its_own(p, levels):
    """Residuals for k, and for b and the initial value of each experiment, and those of a prior of b."""
    parts = [
        (values - solution(TIMES, start, p[0], p[1 + 2 * i], p[2 + 2 * i])) / 0.05
        for i, (values, start) in enumerate(zip(MEASURED, STARTS, strict=True))
    ]
    together = np.concatenate(parts)
    return np.append(together[np.isfinite(together)], (p[1::2] - 1.0) / np.array(levels))


@pytest.mark.parametrize("width", [0.5, None], ids=["prior", "data alone"])
def test_samples_are_gathered_in_a_row_for_each_parameter_before_they_are_solved(monkeypatch, width):
    """With most parameters local, work for each of them is not also in proportion to the samples of all experiments."""
    rows, solve = [], scipy.optimize.least_squares

    def count(residuals, start, **options):
        rows.extend([residuals(start).shape, options["jac"](start).shape])
        return solve(residuals, start, **options)

    monkeypatch.setattr(scipy.optimize, "least_squares", count)
    own = 1.0 if width is None else dd.Parameter(1.0, prior=dd.Normal(1.0, width))
    model = tank(measurement_noise={"level": 0.05}, parameters={k: 1.0, b: own, x0: 1.0})
    fit = dd.fit(model, EXPERIMENTS, free=["k"], local=["b", "x0"], criterion=dd.OutputError())
    levels = [width or np.inf] * 3
    found = brute(lambda p: each_its_own(p, levels), np.ones(7))
    names = ["k", *(f"{name}[{label}]" for label in ("hot", "cold", "mild") for name in ("b", "x0"))]
    assert fit.status.ok
    assert list(fit.params) == names
    np.testing.assert_allclose(list(fit.params.values()), found.estimate, rtol=1e-6)
    assert fit.value == pytest.approx(found.value, rel=1e-7)
    np.testing.assert_allclose(fit.curvature, found.jacobian.T @ found.jacobian, rtol=1e-4, atol=1e-4)
    assert set(rows) == {(8,), (8, 7)}
