"""Radau IIA: published coefficients, collocated states, stability functions and orders of convergence."""

from math import sqrt

import casadi as ca
import numpy as np
import pytest

import catalogue
import daedal as dd
from daedal import der
from daedal.simulation.steps.radau import NODES, collocate, compute_radau_matrix, compute_stage_weights

x, y, v, z, k = dd.symbols("x y v z k")
METHODS = ("rk4", "radau3", "radau5")


def test_published_matrices():
    """Hairer and Wanner, Solving ODEs II, tables IV.5.5 and IV.5.6."""
    np.testing.assert_allclose(compute_radau_matrix("radau3"), [[5 / 12, -1 / 12], [3 / 4, 1 / 4]], rtol=1e-14)
    r = sqrt(6)
    published = [
        [(88 - 7 * r) / 360, (296 - 169 * r) / 1800, (-2 + 3 * r) / 225],
        [(296 + 169 * r) / 1800, (88 + 7 * r) / 360, (-2 - 3 * r) / 225],
        [(16 - r) / 36, (16 + r) / 36, 1 / 9],
    ]
    np.testing.assert_allclose(compute_radau_matrix("radau5"), published, rtol=1e-13)


@pytest.mark.parametrize("method", ["radau3", "radau5"])
def test_states_at_the_nodes_of_a_polynomial(method):
    """x'' = p(t), p of degree s − 2: x and x' at every node are its exact integrals."""
    model = dd.Model(name="p", equations={"speed": der(x) == v, "force": der(v) == -x}, unknowns=[x, v])
    reduction = dd.build(model).reduction
    h, x0, v0 = 0.7, 0.3, -1.2
    p = np.polynomial.Polynomial([2.0, -3.0][: NODES[method].size - 1])
    speed = p.integ(k=v0)
    position = speed.integ(k=x0)
    names = [reduction.name_jet(state) for state in reduction.states]
    start = {"x": x0, names[1 - names.index("x")]: v0}
    stages = [ca.SX(p(c * h)) for c in NODES[method]]
    for node, c in enumerate(NODES[method]):
        at = collocate(reduction, method, ca.SX([start[n] for n in names]), stages, ca.SX(h), node)
        found = dict(zip(names, ca.evalf(at).full().ravel(), strict=True))
        assert found.pop("x") == pytest.approx(position(c * h), rel=1e-13)
        assert found.popitem()[1] == pytest.approx(speed(c * h), rel=1e-13)


@pytest.mark.parametrize("method", ["radau3", "radau5"])
def test_stage_weights_are_the_derivative_of_the_states(method):
    reduction = dd.build(catalogue.pendulum().model()).reduction
    count, tops = NODES[method].size, len(reduction.tops)
    stages = [ca.SX.sym(f"T{i}", tops) for i in range(count)]
    states, h = ca.SX.sym("X", len(reduction.states)), ca.SX.sym("h")
    for node in range(count):
        at = collocate(reduction, method, states, stages, h, node)
        for stage, weight in zip(stages, compute_stage_weights(reduction, method, h, node), strict=True):
            both = ca.Function("both", [h], [ca.jacobian(at, stage), weight])(0.3)
            np.testing.assert_allclose(both[1].full(), both[0].full(), rtol=1e-14)


STABILITY = {
    "rk4": lambda z: 1 + z + z**2 / 2 + z**3 / 6 + z**4 / 24,
    "radau3": lambda z: (1 + z / 3) / (1 - 2 * z / 3 + z**2 / 6),
    "radau5": lambda z: (1 + 2 * z / 5 + z**2 / 20) / (1 - 3 * z / 5 + 3 * z**2 / 20 - z**3 / 60),
}


@pytest.mark.parametrize("rate", [0.5, 2.0, -3.0])
@pytest.mark.parametrize("method", METHODS)
def test_stability_function(method, rate):
    """One step of x' = −k x multiplies x by R(−kh), the Padé approximation of the method."""
    model = dd.Model(
        name="decay", equations={"rate": der(x) == -k * x}, unknowns=[x], parameters={k: rate}, initial={x: 1.0}
    )
    found = dd.simulate(model, [0.0, 0.4], solver=dd.Lanes(method=method, step=0.4))["x"][1]
    assert found == pytest.approx(STABILITY[method](-0.4 * rate), rel=1e-13)


def stiff_decay(rate):
    """x' = −rate (x − cos t) − sin t, x = cos t (Prothero and Robinson)."""
    return dd.Model(
        name="stiff",
        equations={"rate": der(x) == -k * (x - np.cos(dd.time)) - np.sin(dd.time)},
        unknowns=[x],
        parameters={k: rate},
        initial={x: 1.0},
    )


@pytest.mark.parametrize("method", ["radau3", "radau5"])
def test_strongly_damped(method):
    """R(∞) = 0: with a rate of a million the solution is followed at steps of a tenth."""
    found = dd.simulate(stiff_decay(1e6), np.linspace(0, 2, 21), solver=dd.Lanes(method=method, step=0.1))
    np.testing.assert_allclose(found["x"], np.cos(found.times), atol=1e-8)


def index_one():
    """x' = −y, y³ + y = x + x³ (y = x): x = exp(−t), with y solved from an equation that is not linear in it."""
    return dd.Model(
        name="index 1",
        equations={"rate": der(x) == -y, "cube": y**3 + y == x**3 + x},
        unknowns=[x, y],
        initial={x: 1.0},
        guess={y: 1.0},
    )


def convergence(model, method, end, truth, steps, name="x"):
    """Observed orders from errors at the end with n, 2n, … steps."""
    errors = []
    for n in steps:
        found = dd.simulate(model, [0.0, end], solver=dd.Lanes(method=method, step=end / n))
        assert found.status.ok
        errors.append(abs(found[name][-1] - truth))
    return np.log2(np.array(errors[:-1]) / np.array(errors[1:]))


ORDERS = {"rk4": 4, "radau3": 3, "radau5": 5}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("variable", ["x", "y"])
def test_order_at_index_one(method, variable):
    steps = (4, 8, 16) if method == "radau5" else (16, 32, 64)
    orders = convergence(index_one(), method, 2.0, np.exp(-2.0), steps, variable)
    assert np.all(orders > ORDERS[method] - 0.35), orders


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("variable", ["x", "v", "lam"])
def test_order_at_index_three(method, variable):
    problem = catalogue.pendulum()
    steps = (16, 32, 64) if method == "radau5" else (64, 128, 256)
    orders = convergence(problem.model(), method, 1.0, problem.references[1.0][variable], steps, variable)
    assert np.all(orders > ORDERS[method] - 0.4), orders


@pytest.mark.parametrize("method", ["radau3", "radau5"])
def test_order_at_a_stiff_problem(method):
    """Where hλ is large, the order of Radau IIA with s stages on this problem is s (Hairer and Wanner, IV.15)."""
    orders = convergence(stiff_decay(1e4), method, 2.0, np.cos(2.0), (16, 32, 64))
    assert np.all(np.abs(orders - NODES[method].size) < 0.3), orders
