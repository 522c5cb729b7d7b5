"""The log likelihood of a whitened fit, against the dense Gaussian density of the same noise."""

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import multivariate_normal

import daedal as dd
from daedal import der

PHI, INNOVATION, COUNT = 0.8, 0.05, 400


def line(**declared):
    x, b, c = dd.symbols("x b c")
    return dd.Model(
        name="line",
        equations={"slope": der(x) == b},
        unknowns=[x],
        outputs={"y": x + c},
        parameters={b: 0.1, c: 0.5},
        initial={x: 0.0},
        **declared,
    )


@pytest.mark.parametrize(("declared", "numbers"), [({}, 4), ({"measurement_noise": {"y": 0.3}}, 4)])
def test_log_likelihood_and_what_it_counts(declared, numbers):
    times, rng = np.arange(COUNT) * 0.1, np.random.default_rng(5)
    noise = lfilter([INNOVATION], [1.0, -PHI], rng.standard_normal(COUNT + 200))[200:]
    data = dd.Dataset(times, outputs={"y": 0.3 * times + 1.0 + noise}, t0=0.0)
    fit = dd.fit(line(**declared), data, free=["b", "c"], criterion=dd.OutputError(whiten=1))
    residual = data["y"] - fit.params["b"] * times - fit.params["c"]
    lags = np.abs(np.subtract.outer(np.arange(COUNT), np.arange(COUNT)))
    phi = -fit.filters["y"].coefficients[0]
    shape = phi**lags / (1 - phi**2)
    variance = residual @ np.linalg.solve(shape, residual) / COUNT
    assert fit.loglik == pytest.approx(multivariate_normal(cov=variance * shape).logpdf(residual), abs=1.5)
    assert fit.bic == pytest.approx(numbers * np.log(COUNT) - 2 * fit.loglik)
    assert fit.aic == pytest.approx(2 * numbers - 2 * fit.loglik)
