"""Measurement noise that depends on the output, against maximum likelihood by brute force."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

import daedal as dd
from daedal.errors import EstimationError, ModelError
from daedal.symbolic import der, symbol, symbols

x, a, b, r, s, w = symbols("x a b r s w")
y = symbol("y")
TIMES = np.linspace(0.0, 4.0, 161)
TRUTH = {"a": 1.0, "b": 3.0, "r": 0.2, "s": 0.1}
FREE = ["a", "b", "r", "s"]


def decay(**changes) -> dd.Model:
    start = {name: dd.Parameter(value, lower=1e-6) for name, value in {"a": 0.8, "b": 2.5, "r": 0.1, "s": 0.05}.items()}
    fields = {
        "name": "decay", "equations": {"x": der(x) == -a * x}, "unknowns": [x], "outputs": {"y": 2 * x},
        "parameters": {symbol(name): one for name, one in start.items()}, "initial": {x: b},
        "measurement_noise": {"y": np.hypot(r * y, s)},
    }  # fmt: skip
    return dd.Model(**fields | changes)


def predict(point) -> tuple[np.ndarray, np.ndarray]:
    mean = 2.0 * point[1] * np.exp(-point[0] * TIMES)
    return mean, np.hypot(point[2] * mean, point[3])


def record(seed: int = 4) -> dd.Dataset:
    mean, deviation = predict(list(TRUTH.values()))
    values = mean + deviation * np.random.default_rng(seed).normal(size=TIMES.size)
    values[[7, 40]] = np.nan
    return dd.Dataset(TIMES, outputs={"y": values})


def compute_density(data: dd.Dataset, point) -> float:
    mean, deviation = predict(point)
    return float(np.nansum(norm.logpdf(data["y"], mean, deviation)))


def test_output_error_is_the_maximum_of_the_likelihood():
    data = record()
    fit = dd.fit(decay(), data, free=FREE)
    start = minimize(lambda p: -compute_density(data, np.exp(p)), np.log(list(TRUTH.values())), method="Nelder-Mead",
                     options={"maxiter": 4000, "maxfev": 4000, "xatol": 1e-10, "fatol": 1e-12})  # fmt: skip
    assert [fit.params[name] for name in FREE] == pytest.approx(np.exp(start.x), rel=2e-4)
    assert fit.loglik == pytest.approx(-start.fun, abs=1e-6)
    assert fit.loglik == pytest.approx(compute_density(data, [fit.params[name] for name in FREE]), rel=1e-8)
    for name in FREE:
        assert abs(fit.params[name] - TRUTH[name]) < 4.0 * fit.std_errors[name]


def test_gradient_and_information():
    data, point = record(), [0.9, 2.8, 0.15, 0.03]
    found = dd.evaluate(decay(), data, free=FREE, values=dict(zip(FREE, point, strict=True)))
    steps = 1e-6 * np.eye(4)
    slopes = [(compute_density(data, point - h) - compute_density(data, point + h)) / 2e-6 for h in steps]
    assert found.gradient == pytest.approx(slopes, rel=1e-5)
    known = np.isfinite(data["y"])
    deviation = predict(point)[1]
    moved = [predict(np.array(point) + sign * h) for h in steps for sign in (1.0, -1.0)]
    by_mean = np.array([(moved[2 * k][0] - moved[2 * k + 1][0]) / 2e-6 for k in range(4)])[:, known]
    by_deviation = np.array([(moved[2 * k][1] - moved[2 * k + 1][1]) / 2e-6 for k in range(4)])[:, known]
    scaled = by_mean / deviation[known], by_deviation / deviation[known]
    assert found.curvature == pytest.approx(scaled[0] @ scaled[0].T + 2.0 * scaled[1] @ scaled[1].T, rel=1e-5)


def test_a_relative_error_that_is_known():
    """Nothing of the noise is free, and yet it moves with the prediction."""
    model, data = decay(measurement_noise={"y": 0.2 * y}), record()
    fit = dd.fit(model, data, free=["a", "b"], criterion=dd.OutputError())

    def cost(p):
        mean = 2.0 * np.exp(p[1]) * np.exp(-np.exp(p[0]) * TIMES)
        return -float(np.nansum(norm.logpdf(data["y"], mean, 0.2 * mean)))

    best = minimize(cost, np.log([1.0, 3.0]), method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12})
    assert [fit.params["a"], fit.params["b"]] == pytest.approx(np.exp(best.x), rel=1e-4)


def test_standard_errors_cover():
    """Of 24 data sets: |error| beyond two standard errors in 4.6 % of 96, by the binomial law in fewer than 13."""
    beyond = 0
    for seed in range(24):
        fit = dd.fit(decay(), record(seed), free=FREE)
        beyond += sum(abs(fit.params[name] - TRUTH[name]) > 2.0 * fit.std_errors[name] for name in FREE)
    assert beyond < 13


def test_simulated_noise_has_that_size_and_verdicts_take_it(tmp_path):
    model = decay(parameters={a: 1.0, b: 3.0, r: 0.2, s: 0.02})
    noisy = dd.simulate(model, TIMES, realizations=400, measurement_noise=True, rng=1)["y"]
    mean, deviation = predict([1.0, 3.0, 0.2, 0.02])
    assert noisy.std(axis=0) == pytest.approx(deviation, rel=0.2)
    assert noisy.mean(axis=0) == pytest.approx(mean, abs=1e-3 + 5 * deviation.max() / 20)
    single = dd.simulate(model, TIMES, measurement_noise=True, rng=1)["y"]
    assert single.shape == TIMES.shape
    fit = dd.fit(decay(), record(), free=FREE)
    assert "y" in dd.resid(fit).outputs
    assert dd.compare(fit, record(5)).series
    assert dd.Model.from_text(model.to_text()) == model
    fit.save(tmp_path / "fit.nc")
    assert dd.load(tmp_path / "fit.nc").model == fit.model


def test_what_is_refused():
    data = record()
    with pytest.raises(
        EstimationError, match=r"depends on 'y', but a filter weighs samples before.*Use OutputError\(\)"
    ):
        dd.fit(decay(), data, free=["a"], criterion=dd.Likelihood())
    with pytest.raises(EstimationError, match=r"depends on 'y', but whiten filters residuals of one size"):
        dd.fit(decay(), data, free=["a"], criterion=dd.OutputError(whiten=True))
    with pytest.raises(EstimationError, match=r"depends on 'y', but segments are tied"):
        dd.fit(decay(), data, free=["a"], criterion=dd.OutputError(segments=3))
    shaken = decay(
        equations={"x": der(x) == -a * x * (1 + w)},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.1, time_constant=1.0)},
    )
    with pytest.raises(EstimationError, match=r"depends on 'y', but SimulationPEM compares with a mean"):
        dd.fit(shaken, data, free=["a"], criterion=dd.SimulationPEM(realizations=4))
    with pytest.raises(ModelError, match=r"The measurement noise of 'y' contains the unknown 'x'.*symbol\('y'\)"):
        decay(measurement_noise={"y": r * x})
    with pytest.raises(ModelError, match=r"The measurement noise of 'y' contains 'z', which is not declared"):
        decay(measurement_noise={"y": r * symbol("z")})
    with pytest.raises(
        ModelError, match=r"The measurement noise of 'y', -y, is -6 where 'y' is 6, but must be positive"
    ):
        dd.simulate(decay(measurement_noise={"y": -y}, initial={x: 3.0}), TIMES, measurement_noise=True, rng=1)
