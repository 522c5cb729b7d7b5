"""Estimates, errors and likelihoods against regression in closed form."""

import numpy as np
import pytest
from scipy.stats import t as student

import daedal as dd
from batteries.criterion import first_order
from batteries.fits import LINE, TIMES, b, c, levels, line, noisy, sigma, textbook, x
from daedal import der


def test_a_straight_line_is_linear_regression(regression):
    theta, cov, residual = textbook()
    np.testing.assert_allclose(list(regression.params.values()), theta, rtol=1e-6)
    np.testing.assert_allclose(regression.cov, cov, rtol=1e-4)
    np.testing.assert_allclose(list(regression.std_errors.values()), np.sqrt(np.diag(cov)), rtol=1e-4)
    np.testing.assert_allclose(regression.correlation[0, 1], cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]), rtol=1e-4)
    spread = LINE["y"] - LINE["y"].mean()
    percent = 100 * (1 - np.linalg.norm(residual) / np.linalg.norm(spread))
    assert regression.fit_percent["y"] == pytest.approx(percent, rel=1e-6)
    assert regression.samples == TIMES.size


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_intervals_are_those_of_student(regression, level):
    theta, cov, _ = textbook()
    quantile = student.ppf(0.5 + level / 2, TIMES.size - 2)
    for place, (low, high) in enumerate(regression.conf_int(level).values()):
        half = quantile * np.sqrt(cov[place, place])
        assert low == pytest.approx(theta[place] - half, rel=1e-4)
        assert high == pytest.approx(theta[place] + half, rel=1e-4)


def test_likelihood_and_information_are_those_of_gaussian_regression(regression):
    _, _, residual = textbook()
    n, square_ = residual.size, np.mean(residual**2)
    loglik = -0.5 * n * (1 + np.log(2 * np.pi * square_))
    assert regression.loglik == pytest.approx(loglik, rel=1e-8)
    assert regression.aic == pytest.approx(2 * 3 - 2 * loglik, rel=1e-8)
    assert regression.bic == pytest.approx(3 * np.log(n) - 2 * loglik, rel=1e-8)


def test_declared_accuracy_makes_another_likelihood():
    found = dd.fit(line(measurement_noise={"y": 0.15}), LINE, free=["b", "c"])
    _, _, residual = textbook()
    loglik = -0.5 * np.sum((residual / 0.15) ** 2) - residual.size * (np.log(0.15) + 0.5 * np.log(2 * np.pi))
    assert found.loglik == pytest.approx(loglik, rel=1e-8)
    assert found.aic == pytest.approx(2 * 2 - 2 * loglik, rel=1e-8)


def test_estimated_accuracy_is_the_root_mean_square():
    model = line(parameters={b: 0.0, c: 0.0, sigma: dd.Parameter(1.0, scale="log")}, measurement_noise={"y": sigma})
    found = dd.fit(model, LINE, free=["b", "c", "sigma"])
    _, _, residual = textbook()
    assert found["sigma"].value == pytest.approx(np.sqrt(np.mean(residual**2)), rel=1e-6)
    spread = np.mean((residual**2 - np.mean(residual**2)) ** 2) / residual.size  # of the mean square, any distribution
    assert found["sigma"].std_error == pytest.approx(np.sqrt(spread) / (2 * found["sigma"].value), rel=0.05)
    low, high = found.conf_int()["sigma"]
    assert 0 < low < found["sigma"].value < high
    assert low * high == pytest.approx(found["sigma"].value ** 2, rel=1e-9)


def test_weights_are_those_of_the_accuracies():
    """Weighted regression, one standard deviation for each sample."""
    deviations = 0.05 + 0.2 * (np.arange(TIMES.size) % 4 == 0)
    found = dd.fit(line(measurement_noise={"y": deviations}), LINE, free=["b", "c"])
    X = np.stack([TIMES, np.ones(TIMES.size)], axis=1) / deviations[:, None]
    theta = np.linalg.lstsq(X, LINE["y"] / deviations, rcond=None)[0]
    np.testing.assert_allclose(list(found.params.values()), theta, rtol=1e-6)


def test_two_outputs_without_declared_noise_are_weighed_by_their_residuals():
    """Iterated weighted regression by hand: one slope seen by a good and a bad sensor in other units."""
    good, bad = noisy(0.5 * TIMES, 0.01, 1), 1000 * noisy(0.5 * TIMES, 0.5, 2)
    model = line(outputs={"good": x, "bad": 1000 * x}, parameters={b: 0.1, c: 0.0})
    found = dd.fit(model, dd.Dataset(TIMES, outputs={"good": good, "bad": bad}), free=["b"])
    slope = 0.1
    for _ in range(50):
        first, second = np.mean((good - slope * TIMES) ** 2), np.mean((bad - 1000 * slope * TIMES) ** 2)
        weights = np.array([1 / first, 1000**2 / second])
        products = np.array([TIMES @ good, TIMES @ bad / 1000])
        slope = weights @ products / (weights.sum() * (TIMES @ TIMES))
    assert found["b"].value == pytest.approx(slope, abs=0.02 * found["b"].std_error)


def test_models_without_inputs_and_static_outputs():
    model = first_order(
        equations={"rate": der(x) == 0 * x}, inputs=[], outputs={"level": b + 0 * x}, parameters={b: 0.0}
    )
    found = dd.fit(model, levels(noisy(np.full(TIMES.size, 3.0), 0.1)), free=["b"])
    assert found["b"].value == pytest.approx(np.mean(noisy(np.full(TIMES.size, 3.0), 0.1)), rel=1e-6)


def test_whitened_output_error_is_generalized_least_squares(tmp_path):
    """x' = b, y = x + c with noise n_k = 0.8 n_(k−1) + e_k: against the weighted regression with that noise."""
    times, rng = np.arange(400) * 0.1, np.random.default_rng(5)
    phi, innovation = 0.8, 0.05
    noise = np.zeros(times.size)
    noise[0] = rng.normal() * innovation / np.sqrt(1 - phi**2)
    for k in range(1, times.size):
        noise[k] = phi * noise[k - 1] + innovation * rng.normal()
    y = 0.3 * times + 1.0 + noise
    data = dd.Dataset(times, outputs={"y": y}, t0=0.0)
    found = dd.fit(line(), data, free=["b", "c"], criterion=dd.OutputError(whiten=1))
    X = np.column_stack([times, np.ones(times.size)])
    lags = np.abs(np.subtract.outer(np.arange(times.size), np.arange(times.size)))
    weights = np.linalg.inv(innovation**2 / (1 - phi**2) * phi**lags)
    information = X.T @ weights @ X
    expected, errors = np.linalg.solve(information, X.T @ weights @ y), np.sqrt(np.diag(np.linalg.inv(information)))
    for name, value, error in zip("bc", expected, errors, strict=True):
        assert abs(found[name].value - value) < 0.1 * error  # the filter is estimated
        assert 0.75 * error < found[name].std_error < 1.3 * error
    assert "OutputError(whiten=1)" in str(found)
    found.save(tmp_path / "white.nc")
    again = dd.load(tmp_path / "white.nc")
    assert again.std_errors == found.std_errors
