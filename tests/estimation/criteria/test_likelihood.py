"""The likelihood and its estimates against published numbers."""

import json
from pathlib import Path

import numpy as np
import pytest

import daedal as dd
from daedal import der

KALMAN = Path(__file__).parents[2].parent / "shared" / "problems" / "ornstein2d_kalman.json"


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


@pytest.mark.skipif(not KALMAN.exists(), reason="needs the published numbers")
@pytest.mark.parametrize(("name", "intersample"), [("lkf", "zoh"), ("lkf_foh", "foh")])
def test_published_likelihood_and_estimates(name, intersample):
    """Another program's linear Kalman filter on fifty samples of a two-dimensional Ornstein–Uhlenbeck process."""
    published = json.loads(KALMAN.read_text())
    rows = np.array(published["rows"])[:50]
    reference = published["reference_estimates"][name]
    names = {"logtheta": "theta", "mu": "mu", "logalpha": "alpha", "logsigma_x1": "sx1", "logsigma_x2": "sx2",
             "logsigma_y1": "sy1", "logsigma_y2": "sy2"}  # fmt: skip
    values = {
        own: float(np.exp(reference["par"][theirs]) if theirs != "mu" else reference["par"][theirs])
        for theirs, own in names.items()
    }
    times = rows[:, 0]
    inputs = {"u": dd.Signal(times, rows[:, 1], intersample)}
    data = dd.Dataset(times, inputs=inputs, outputs={"y1": rows[:, 2], "y2": rows[:, 3]})
    criterion = dd.Likelihood(initial_std={"x1": np.sqrt(0.1), "x2": np.sqrt(0.1)})
    found = dd.evaluate(ornstein(), data, free=list(values), criterion=criterion, values=values)
    assert found.value == pytest.approx(reference["nll"], abs=1e-8)
    fit = dd.fit(ornstein(), data, free=list(values), criterion=criterion)
    for theirs, own in names.items():
        if own == "sy1":
            assert fit[own].verdict == "not determined"
        else:
            found = fit.params[own] if theirs == "mu" else np.log(fit.params[own])
            assert found == pytest.approx(reference["par"][theirs], rel=1e-4), own
