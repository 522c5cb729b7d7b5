"""Explicit Runge–Kutta methods: their order on a nonlinear, time-dependent problem."""

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.simulation.steps.radau import ORDER
from daedal.simulation.steps.tableau import RUNGE_KUTTA, weigh


def advanced(method: str, steps: int) -> np.ndarray:
    """y₁' = y₂ cos t − 0.3 y₁², y₂' = −y₁ + 0.2 sin(y₂ t), from 0 to 2."""
    tableau, h, y = RUNGE_KUTTA[method], 2.0 / steps, np.array([1.0, 0.3])
    for k in range(steps):
        slopes = []
        for number, weights in enumerate(tableau.stages):
            t, z = (k + tableau.find_node(number)) * h, y + h * weigh(weights, slopes)
            slopes.append(np.array([z[1] * np.cos(t) - 0.3 * z[0] ** 2, -z[0] + 0.2 * np.sin(z[1] * t)]))
        y = y + h * weigh(tableau.step, slopes)
    return y


@pytest.mark.parametrize("method", RUNGE_KUTTA)
def test_order(method):
    exact = advanced("rk6", 400)
    errors = [np.abs(advanced(method, steps) - exact).max() for steps in (10, 20, 40)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, ORDER[method], atol=0.7)


@pytest.mark.parametrize("method", RUNGE_KUTTA)
def test_without_delays(method):
    """x'' = −x, one turn."""
    x, v = dd.symbols("x v")
    model = dd.Model(
        name="turn", equations={"x": der(x) == v, "v": der(v) == -x}, unknowns=[x, v], initial={x: 1.0, v: 0.0}
    )
    times = np.linspace(0.0, 2.0 * np.pi, 9)
    found = dd.simulate(model, times, solver=dd.Lanes(method, tolerance=1e-10))["x"]
    np.testing.assert_allclose(found, np.cos(times), atol=2e-9)
