"""Fits with priors: closed forms of Bayesian regression, brute force, calibration, and every criterion alike."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import lognorm, multivariate_normal, norm
from test_own_criterion import LeastAbsolute

import daedal as dd
from batteries.criterion import cases, differences, simulated
from batteries.fits import b, c, decay, k, levels, line, noisy, sigma
from daedal import der
from daedal.errors import EstimationError
from sizes import bound_hits, choose

x, u, w, y = dd.symbols("x u w y")
TIMES = np.linspace(0.0, 1.0, 12)
X = np.stack([TIMES, np.ones(TIMES.size)], axis=1)
STD = 0.7
MEANS, STDS = np.array([2.0, 1.0]), np.array([0.6, 0.4])
VALUES = X @ [2.6, 0.5] + STD * np.random.default_rng(4).standard_normal(TIMES.size)
DATA = dd.Dataset(TIMES, outputs={"y": VALUES})


def regression(**changes):
    """The straight line with a Normal prior on slope and offset."""
    parameters = {s: dd.Parameter(0.0, prior=dd.Normal(*pair)) for s, *pair in zip((b, c), MEANS, STDS, strict=True)}
    return line(**{"measurement_noise": {"y": STD}, "parameters": parameters} | changes)


def solve(values=VALUES, variance=STD**2):
    """Mean and covariance of the posterior of the straight line, noise known."""
    covariance = np.linalg.inv(X.T @ X / variance + np.diag(STDS**-2))
    return covariance @ (X.T @ values / variance + MEANS / STDS**2), covariance


def informed(model, **priors):
    """The model with priors on some parameters."""
    return model.with_parameters({name: replace(model.parameters[name], prior=one) for name, one in priors.items()})


def test_the_estimate_is_that_of_bayesian_regression_with_known_noise():
    mean, covariance = solve()
    found = dd.fit(regression(), DATA, free=["b", "c"], criterion=dd.Likelihood(initial="guess"))
    np.testing.assert_allclose(list(found.params.values()), mean, rtol=1e-6)
    np.testing.assert_allclose(found.cov, covariance, rtol=1e-6)
    shares = 1.0 - np.diag(covariance) / STDS**2
    np.testing.assert_allclose([found[name].from_data for name in ("b", "c")], shares, rtol=1e-5)
    output_error = dd.fit(regression(), DATA, free=["b", "c"])
    np.testing.assert_allclose(list(output_error.params.values()), mean, rtol=1e-6)


def test_errors_of_squares_respect_the_size_of_the_residuals():
    """cov = B⁻¹ (σ̂² XᵀX/σ⁴ + P) B⁻¹, σ̂² from as many residuals as are left by what the data determine."""
    mean, covariance = solve()
    information = X.T @ X / STD**2
    left = TIMES.size - np.trace(covariance @ information)
    size = np.sum((VALUES - X @ mean) ** 2) / left / STD**2
    expected = covariance @ (size * information + np.diag(STDS**-2)) @ covariance
    np.testing.assert_allclose(dd.fit(regression(), DATA, free=["b", "c"]).cov, expected, rtol=1e-5)


def test_intervals_of_profiles_are_those_of_the_quadratic():
    found = dd.fit(regression(), DATA, free=["b", "c"])
    curves = dd.profile(found)
    for name, interval in found.conf_int().items():
        np.testing.assert_allclose(curves.intervals[name], interval, rtol=1e-3)


def test_the_largest_posterior_over_an_unknown_noise_too():
    def cost(theta):
        return -norm(X @ theta[:2], np.exp(theta[2])).logpdf(VALUES).sum() - norm(MEANS, STDS).logpdf(theta[:2]).sum()

    best = minimize(cost, [2.0, 1.0, -0.5], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    found = dd.fit(regression(measurement_noise={}), DATA, free=["b", "c"])
    np.testing.assert_allclose(list(found.params.values()), best.x[:2], rtol=1e-6)
    assert found.log_posterior == pytest.approx(-best.fun, abs=1e-8)
    assert found.loglik == pytest.approx(norm(X @ best.x[:2], np.exp(best.x[2])).logpdf(VALUES).sum(), abs=1e-5)
    assert (found.aic, found.bic) == (None, None)
    assert "log posterior" in str(found)


@pytest.mark.parametrize(("off", "size"), [(1.0, 0.1), (1.8, 0.1), (4.0, 1.0), (0.5, 0.1)])
def test_data_that_contradict_a_prior(off, size):
    prior = norm(2.6 + off, 0.3)
    values = (1.0 - size) * X @ [2.6, 0.5] + size * VALUES

    def cost(theta):
        return -norm(X @ theta[:2], np.exp(theta[2])).logpdf(values).sum() - prior.logpdf(theta[0])

    data = dd.Dataset(TIMES, outputs={"y": values})
    found = dd.fit(informed(line(), b=dd.Normal(2.6 + off, 0.3)), data, free=["b", "c"])
    if "how priors and data are weighed has not settled: fit again from these values" in found.notes:
        assert off == 1.8
        found = dd.fit(found.model, data, free=["b", "c"])
    best = minimize(cost, [*found.params.values(), -0.3], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    assert found.params["b"] == pytest.approx(best.x[0], rel=1e-6)
    far = abs(best.x[0] - 2.6 - off) / 0.3 > 3.0
    assert (
        far == (off in (1.0, 1.8)) == any(note.startswith("the data contradict the prior of b") for note in found.notes)
    )


def test_it_is_also_the_largest_with_the_noise_integrated_out():
    """On a grid of the slope and of σ, with the prior 1/σ; the offset is held."""
    model = regression(measurement_noise={})
    found = dd.fit(model, DATA, free=["b"], fixed={"c": 0.5})
    slopes, sigmas = np.linspace(1.5, 4.0, 2501), np.exp(np.linspace(-3.0, 3.0, 1201))
    squares = np.sum((VALUES[:, None] - 0.5 - np.outer(TIMES, slopes)) ** 2, axis=0)
    densities = sigmas[:, None] ** -12 * np.exp(-0.5 * squares / sigmas[:, None] ** 2)  # dσ/σ is the step of the grid
    posterior = densities.sum(axis=0) * norm(2.0, 0.6).pdf(slopes)
    assert found.params["b"] == pytest.approx(slopes[np.argmax(posterior)], abs=1e-3)
    mean = np.sum(slopes * posterior) / posterior.sum()
    spread = np.sqrt(np.sum((slopes - mean) ** 2 * posterior) / posterior.sum())
    assert found["b"].std_error == pytest.approx(spread, rel=0.06)


def test_noise_that_is_estimated_may_have_a_prior_itself():
    model = informed(
        regression(
            parameters={**regression().parameters, sigma: dd.Parameter(1.0, scale="log")},
            measurement_noise={"y": sigma},
        ),
        sigma=dd.LogNormal(0.5, 1.3),
    )

    def cost(theta):
        deviation = (theta[2] - np.log(0.5)) / np.log(1.3)
        fit = norm(X @ theta[:2], np.exp(theta[2])).logpdf(VALUES).sum()
        return 0.5 * deviation**2 - fit - norm(MEANS, STDS).logpdf(theta[:2]).sum()

    best = minimize(cost, [2.0, 1.0, -0.5], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    for criterion in (dd.OutputError(), dd.Likelihood(initial="guess")):
        found = dd.fit(model, DATA, free=["b", "c", "sigma"], criterion=criterion)
        np.testing.assert_allclose(list(found.params.values()), [*best.x[:2], np.exp(best.x[2])], rtol=1e-5)


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("prior", [dd.LogNormal(1.3, 1.05), dd.Normal(1.3, 0.05)])
def test_a_nonlinear_model_has_its_largest_posterior_by_brute_force(prior, scale):
    times = np.linspace(0.0, 3.0, 31)
    values = noisy(np.exp(-times), 0.1)
    model = decay(measurement_noise={"level": 0.1}, parameters={k: dd.Parameter(1.0, scale=scale, prior=prior)})
    grid = np.linspace(0.8, 1.6, 80001)
    squares = 0.5 * np.sum((values[:, None] - np.exp(-np.outer(times, grid))) ** 2, axis=0) / 0.01
    best = grid[np.argmin(squares + 0.5 * np.array([prior.deviate(value)[0] ** 2 for value in grid]))]
    found = dd.fit(model, levels(values, times), free=["k"])
    assert found.params["k"] == pytest.approx(best, abs=1e-5)
    assert 0.1 < found["k"].from_data < 0.9


def test_without_data_the_estimate_is_the_centre_of_the_prior():
    model = line(
        parameters={
            b: dd.Parameter(1.0, prior=dd.LogNormal(3.0, 2.0)),
            c: dd.Parameter(0.0, prior=dd.Normal(1.0, 0.1)),
        },
        measurement_noise={"y": 1e6},
    )
    found = dd.fit(model, DATA, free=["b", "c"], criterion=dd.Likelihood(initial="guess"))
    assert found.params == pytest.approx({"b": 3.0, "c": 1.0}, rel=1e-6)
    assert found.std_errors == pytest.approx({"b": 3.0 * np.log(2.0), "c": 0.1}, rel=1e-6)
    assert [one.verdict for one in found.estimates.values()] == ["known from its prior"] * 2
    assert "known from the prior rather than from these data: b, c" in found.notes
    assert "FROM ITS PRIOR" in str(found)
    assert dd.identifiability(found)["c"].endswith("0 % from the data")


def test_the_table_shows_what_is_from_the_data():
    found = dd.fit(informed(line(measurement_noise={"y": STD}), b=dd.Normal(2.0, 0.6)), DATA, free=["b", "c"])
    rows = str(found).splitlines()
    share = 1.0 - (found["b"].std_error / 0.6) ** 2
    assert "from the data" in rows[2]
    assert f"{100 * share:.0f} %" in rows[3]
    assert found["c"].from_data is None
    assert "—" in rows[4]
    assert "from the data" not in str(dd.fit(line(), DATA, free=["b", "c"]))


def test_a_uniform_prior_bounds_and_adds_nothing_else():
    bounded = line(parameters={b: dd.Parameter(1.0, lower=0.0, upper=4.0), c: 0.0})
    uniform = line(parameters={b: dd.Parameter(1.0, prior=dd.Uniform(0.0, 4.0)), c: 0.0})
    one, other = (dd.fit(model, DATA, free=["b", "c"]) for model in (bounded, uniform))
    assert one.params == other.params
    assert (other["b"].lower, other["b"].upper) == (0.0, 4.0)
    assert np.array_equal(one.cov, other.cov)
    assert one.aic == other.aic
    assert other.log_posterior == pytest.approx(one.loglik - np.log(4.0))
    tight = dd.fit(informed(line(), b=dd.Uniform(-1.0, 0.5)), DATA, free=["b", "c"])
    assert tight["b"].at_bound
    assert tight.params["b"] == pytest.approx(0.5)


def test_a_prior_makes_known_what_data_cannot_tell_apart():
    model = decay(
        equations={"rate": der(x) == -k * b * x}, parameters={k: 1.0, b: 1.0}, measurement_noise={"level": 0.01}
    )
    data = levels(noisy(np.exp(-2.0 * np.linspace(0.0, 3.0, 31))), np.linspace(0.0, 3.0, 31))
    lost = dd.identifiability(dd.fit(model, data, free=["k", "b"]))
    assert lost.not_determined == ("k", "b")
    found = dd.fit(informed(model, b=dd.Normal(2.0, 0.1)), data, free=["k", "b"])
    assert dd.identifiability(found).not_determined == ("b",)  # by the data
    assert found.params == pytest.approx({"k": 1.0, "b": 2.0}, rel=0.02)
    assert found["b"].verdict == "known from its prior"
    assert found.std_errors == pytest.approx({"k": 0.05, "b": 0.1}, rel=0.05)
    assert dd.profile(found, ["b"])["b"].interval == pytest.approx(found.conf_int()["b"], rel=0.02)


def test_intervals_cover_truths_drawn_from_the_prior():
    """Of the mean of few samples whose noise is known, declared wrongly by a factor of two, or unknown."""
    random, count, held = np.random.default_rng(8), choose(30, 100), {"known": 0, "wrong": 0, "unknown": 0}
    models = {
        name: informed(line(**noise), c=dd.Normal(1.0, 0.4))
        for name, noise in (
            ("known", {"measurement_noise": {"y": 1.0}}),
            ("wrong", {"measurement_noise": {"y": 2.0}}),
            ("unknown", {}),
        )
    }
    for _ in range(count):
        truth = 1.0 + 0.4 * random.standard_normal()
        data = dd.Dataset(TIMES[:8], outputs={"y": truth + random.standard_normal(8)})
        for name, model in models.items():
            low, high = dd.fit(model, data, free=["c"], criterion=dd.OutputError()).conf_int()["c"]
            held[name] += low <= truth <= high
    least, most = choose(bound_hits(count), (91, 98))
    for name, number in held.items():
        assert least <= number <= most, name


def expect_combination(model, data, criterion, name, unit=None):
    """A prior as sharp as the data, one such error away, moves the estimate half of the way and halves the variance.

    With a `unit`, λ, the data are as sharp as the curvature says in it, though the error may be larger.
    """
    found = dd.fit(model, data, free=[name], criterion=criterion, rng=5)
    value, variance = found.params[name], found.cov[0, 0]
    own = variance if unit is None else unit(found) / found.curvature[0, 0]
    prior = dd.Normal(value + np.sqrt(own), np.sqrt(own))
    both = dd.fit(informed(found.model, **{name: prior}), data, free=[name], criterion=criterion, rng=5)
    tolerance = 0.1 if unit is None else 0.01  # the scatter is estimated anew, from residuals at another point
    assert (both.params[name] - value) / np.sqrt(own) == pytest.approx(0.5, abs=tolerance)
    assert both.cov[0, 0] == pytest.approx(0.25 * (variance + own), rel=0.05 + 2 * tolerance)
    assert both[name].from_data == pytest.approx(max(1.0 - both.cov[0, 0] / own, 0.0), rel=1e-9)


def measure_squares(found):
    return 2.0 * found.value / found.samples


UNITS = {
    "output error": lambda _: 1.0,
    "output error, gaps": lambda _: 1.0,
    "output error, correlated noise": lambda _: 1.0,
    "output error, no noise declared": measure_squares,
    "output error, experiments": None,  # disturbances are ignored
    "mean": None,
    "mean, whitened": None,
}


@pytest.mark.parametrize("case", UNITS)
def test_priors_count_as_much_as_data_of_the_same_accuracy(case):
    chosen = cases()[case]
    expect_combination(chosen.model.with_parameters(chosen.true), chosen.data, chosen.criterion, "a", UNITS[case])


def test_priors_in_a_criterion_of_ones_own():
    expect_combination(line(), dd.Dataset(TIMES, outputs={"y": VALUES}), LeastAbsolute(width=1.0), "b")


def test_priors_in_multiple_shooting():
    chosen = cases()["output error"]
    model = chosen.model.with_parameters(chosen.true)
    expect_combination(model, chosen.data, dd.OutputError(segments=3), "a", lambda _: 1.0)
    model = model.with_measurement_noise({"level": None})
    expect_combination(model, chosen.data, dd.OutputError(segments=3), "a", measure_squares)


@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_priors_in_mean_and_variance(gamma):
    times = np.linspace(0.2, 3.0, 15)
    values = noisy(np.exp(-times), 0.05)
    moments = dd.MeasurementMoments.independent(
        mean=values, variance=np.full(15, 0.0025), third_raw_moment=values**3 + 3 * values * 0.0025
    )
    data = dd.Dataset(times, outputs={"level": values}, t0=0.0)
    expect_combination(decay(start=1.0), data, dd.MeanVariance(gamma=gamma, measurements=moments), "k")


def test_a_criterion_that_does_not_know_its_scatter_cannot_weigh_priors():
    times = np.linspace(0.2, 3.0, 15)
    values = noisy(np.exp(-times), 0.05)
    moments = dd.MeasurementMoments.independent(
        mean=values, variance=np.full(15, 0.0025), third_raw_moment=values**3 + 3 * values * 0.0025
    )
    data = dd.Dataset(times, outputs={"level": values}, t0=0.0)
    model = informed(decay(start=1.0), k=dd.Normal(1.0, 0.1))
    with pytest.raises(EstimationError, match="does not tell how the samples scatter, so priors of 'k' have no weight"):
        dd.fit(model, data, free=["k"], criterion=dd.MeanVariance(gamma=0.0, measurements=moments))


@pytest.mark.parametrize(
    "case", ["output error, no noise declared", "output error, free accuracy", "mean, experiments"]
)
def test_the_gradient_is_that_of_the_value(case):
    case = cases()[case]
    local = {name: dd.Normal(0.1, 0.2) for name in case.local}
    case = case.changed(model=informed(case.model, a=dd.LogNormal(1.0, 1.1), **local))
    found, sizes = case.evaluate(), np.array([max(abs(case.at[name]), 0.1) for name in case.evaluate().names])
    scale = np.max(np.abs(found.gradient * sizes))
    assert np.max(np.abs(found.gradient - differences(case)) * sizes) < 1e-6 * scale


def test_the_log_likelihood_of_evaluate_is_absolute():
    values = {"b": 2.3, "c": 0.7}
    error = VALUES - X @ list(values.values())
    given = {"data": DATA, "free": ["b", "c"], "values": values}
    prior = norm(MEANS, STDS).logpdf(list(values.values())).sum()
    for criterion in (dd.OutputError(), dd.Likelihood(initial="guess")):
        found = dd.evaluate(regression(), criterion=criterion, **given)
        assert found.loglik == pytest.approx(norm(0.0, STD).logpdf(error).sum(), rel=1e-10)
        assert found.log_posterior == pytest.approx(found.loglik + prior, rel=1e-10)
    largest = dd.evaluate(regression(measurement_noise={}), **given).loglik
    assert largest == pytest.approx(norm(0.0, np.sqrt(np.mean(error**2))).logpdf(error).sum(), rel=1e-10)
    plain = dd.evaluate(line(measurement_noise={"y": STD}), **given)
    assert plain.loglik == plain.log_posterior == pytest.approx(norm(0.0, STD).logpdf(error).sum(), rel=1e-10)


def test_the_density_of_a_log_normal_prior_is_that_of_the_parameter():
    model = informed(line(slope=1.0, measurement_noise={"y": STD}), b=dd.LogNormal(2.0, 1.5))
    found = dd.evaluate(model, DATA, free=["b"], values={"b": 2.6})
    assert found.log_posterior - found.loglik == pytest.approx(lognorm(s=np.log(1.5), scale=2.0).logpdf(2.6))


def test_the_log_likelihood_of_correlated_outputs_with_gaps():
    case = cases()["output error, correlated noise and gaps"]
    simulated = dd.simulate(case.model.with_parameters(case.at), case.data)
    covariance = np.array([[0.0025, 0.006], [0.006, 0.04]])
    expected = 0.0
    for one, other in zip(*(case.data[name] - simulated[name] for name in ("level", "inflow")), strict=True):
        pair = np.array([one, other])
        known = np.isfinite(pair)
        if known.any():
            expected += multivariate_normal(cov=covariance[np.ix_(known, known)]).logpdf(pair[known])
    assert case.evaluate().loglik == pytest.approx(expected, rel=1e-7)


def test_the_log_likelihood_with_disturbances_is_that_of_all_samples_together():
    """x' = −k x + w with w of time constant 1 and standard deviation 1: covariances by hand, x(0) = w(0) = 0."""
    times = np.linspace(0.0, 2.0, 9)
    model = decay(
        equations={"rate": der(x) == -k * x + w},
        disturbances={w: dd.FilteredNoise.low_pass(std=1.0, time_constant=1.0, initial="rest")},
        measurement_noise={"level": 0.2},
        initial={x: 1.0},
        parameters={k: dd.Parameter(2.0, prior=dd.Normal(1.5, 0.5))},
    )
    step = 1e-3
    fine = np.arange(0.0, 2.0 + step / 2, step)
    weights = np.exp(-fine) - np.exp(-2.0 * fine)  # the response of x to an impulse in w'
    responses = np.array([np.where(fine <= t, np.interp(t - fine, fine, weights), 0.0) for t in times])
    trapezoid = np.full(fine.size, step)
    trapezoid[[0, -1]] *= 0.5
    covariance = 2.0 * (responses * trapezoid) @ responses.T + 0.04 * np.eye(times.size)
    values = np.exp(-times) + 0.3 * np.sin(times)
    expected = multivariate_normal(np.exp(-2.0 * times), covariance).logpdf(values)
    found = dd.evaluate(model, levels(values, times), free=["k"], criterion=dd.Likelihood())
    assert found.loglik == pytest.approx(expected, abs=1e-4)
    assert found.log_posterior == pytest.approx(found.loglik + norm(1.5, 0.5).logpdf(2.0), abs=1e-10)


def test_what_is_no_likelihood_has_none():
    found = cases()["mean"].evaluate()
    assert found.loglik is None
    assert found.log_posterior is None
    failing = decay(equations={"rate": der(x) == k * x**2}, parameters={k: 0.1}, measurement_noise={"level": 0.1})
    beyond = dd.evaluate(failing, levels(np.ones(5), np.linspace(0.0, 1.0, 5)), free=["k"], values={"k": 3.0})
    assert beyond.failure
    assert beyond.loglik == beyond.log_posterior == -np.inf


def test_a_local_parameter_has_its_prior_in_each_experiment():
    case = cases()["mean, experiments"]
    model = informed(case.model, x0=dd.Normal(0.3, 0.01))
    found = dd.fit(model, case.data, free=["a"], local=["x0"], criterion=dd.OutputError())
    for name in ("x0[day]", "x0[night]"):
        assert found.params[name] == pytest.approx(0.3, abs=0.02)
        assert found[name].from_data < 0.5
    assert found["a"].from_data is None


def test_a_saved_fit_keeps_its_priors(tmp_path):
    found = dd.fit(regression(measurement_noise={}), DATA, free=["b", "c"])
    found.save(tmp_path / "line.nc")
    loaded = dd.load(tmp_path / "line.nc")
    assert str(loaded) == str(found)
    assert loaded.model.parameters["b"].prior == dd.Normal(2.0, 0.6)
    assert loaded.log_posterior == found.log_posterior
    assert dd.profile(loaded, ["b"]).intervals == dd.profile(found, ["b"]).intervals
    again = dd.fit(found.model, DATA, free=["b", "c"])
    assert again.params == pytest.approx(found.params, rel=1e-6)


def test_free_replaces_a_prior_with_the_declaration_and_keeps_it_with_a_start():
    kept = dd.fit(regression(), DATA, free={"b": 1.0, "c": 0.5})
    np.testing.assert_allclose(list(kept.params.values()), solve()[0], rtol=1e-6)
    dropped = dd.fit(regression(), DATA, free={"b": dd.Parameter(1.0), "c": dd.Parameter(0.5)})
    np.testing.assert_allclose(list(dropped.params.values()), np.linalg.lstsq(X, VALUES)[0], rtol=1e-6)
    given = {"b": dd.Parameter(1.0, prior=dd.Normal(2.0, 0.6)), "c": dd.Parameter(1.0, prior=dd.Normal(1.0, 0.4))}
    anew = dd.fit(line(measurement_noise={"y": STD}), DATA, free=given)
    assert anew.params == pytest.approx(kept.params, rel=1e-6)


def test_a_prior_of_what_is_held_does_not_matter():
    held = dd.fit(regression(), DATA, free=["b"], fixed={"c": 0.5})
    plain = dd.fit(
        informed(line(measurement_noise={"y": STD}), b=dd.Normal(2.0, 0.6)), DATA, free=["b"], fixed={"c": 0.5}
    )
    assert held.params == plain.params


def test_a_prior_of_a_formula_that_follows_a_free_parameter_is_refused():
    model = line(parameters={b: 1.0, c: dd.Parameter(2 * b, prior=dd.Normal(1.0, 0.1))})
    with pytest.raises(
        EstimationError, match=r"'c' has the prior .* but it is not free: its value is the formula 2\*b"
    ):
        dd.fit(model, DATA, free=["b"])
    assert dd.fit(model, DATA, free=["b", "c"])["c"].from_data is not None
    assert dd.fit(model, DATA, free=["b"], fixed={"c": 0.5}).status.ok


def test_held_out_data_are_compared_with_what_the_fit_found():
    case = cases()["output error"]
    found = dd.fit(informed(case.model, a=dd.Normal(1.0, 0.05)), case.data, free=["a", "b"])
    other = simulated(case.model, case.true, rng=9, name="other")
    assert dd.compare(found, other).fit_percent["level"] > 50.0
