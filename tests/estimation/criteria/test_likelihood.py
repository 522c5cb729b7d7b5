"""The likelihood and its estimates against published numbers."""

import numpy as np
import pytest

import daedal as dd
from catalogue import ornstein as published
from daedal import der


def ornstein() -> dd.Model:
    x1, x2, u, w1, w2, theta, mu, alpha = dd.symbols("x1 x2 u w1 w2 theta mu alpha")
    sx1, sx2, sy1, sy2 = dd.symbols("sx1 sx2 sy1 sy2")

    def positive(value: float) -> dd.Parameter:
        return dd.Parameter(value, lower=1e-8, upper=1e4, scale="log")

    return dd.Model(
        name="ornstein",
        equations={"a": der(x1) == theta * (mu + u - x1) + sx1 * w1, "b": der(x2) == alpha * (x1 - x2) + sx2 * w2},
        unknowns=[x1, x2], inputs=[u], outputs={"y1": x1, "y2": x2},
        parameters={
            theta: positive(5.0), mu: 3.0, alpha: positive(1.0), sx1: positive(1.0), sx2: positive(0.5),
            sy1: positive(0.1), sy2: positive(0.1),
        },
        disturbances={w1: dd.WhiteNoise(), w2: dd.WhiteNoise()},
        measurement_noise={"y1": sy1, "y2": sy2}, initial={x1: 3.0, x2: 3.0},
    )  # fmt: skip


@pytest.mark.parametrize("intersample", ["zoh", "foh"])
def test_published_likelihood_and_estimates(intersample):
    """Another program's linear Kalman filter on fifty samples of a two-dimensional Ornstein–Uhlenbeck process."""
    estimates = published.ESTIMATES[intersample]
    values = {name: value if name in published.LINEAR else np.exp(value) for name, value in estimates.items()}
    inputs = {"u": dd.Signal(published.TIMES, published.U, intersample)}
    data = dd.Dataset(published.TIMES, inputs=inputs, outputs={"y1": published.Y1, "y2": published.Y2})
    criterion = dd.Likelihood(initial_std={"x1": np.sqrt(0.1), "x2": np.sqrt(0.1)})
    found = dd.evaluate(ornstein(), data, free=list(values), criterion=criterion, values=values)
    assert found.value == pytest.approx(published.MINIMA[intersample], abs=1e-8)
    fit = dd.fit(ornstein(), data, free=list(values), criterion=criterion)
    assert fit["sy1"].verdict == "at its bound"  # as far as the likelihood tells it is zero, and at most 0.2
    assert fit["sy1"].value == pytest.approx(1e-8)
    assert fit.conf_int()["sy1"] == (1e-8, pytest.approx(0.2, rel=0.25))
    for name in values.keys() - {"sy1"}:
        found = fit.params[name] if name in published.LINEAR else np.log(fit.params[name])
        assert found == pytest.approx(estimates[name], rel=1e-4), name
