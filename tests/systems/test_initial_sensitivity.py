"""Derivatives of consistent initial values against finite differences of `find_initial_values`."""

import numpy as np
import pytest

import catalogue
import daedal as dd
from daedal import der
from daedal.models import differentiate_parameters
from daedal.systems import differentiate_initial_values, find_initial_values

x, y, z, lam, vx, vy, tension = dd.symbols("x y z lam vx vy tension")
u, w = dd.symbols("u w")
a, b, c, m, g, k, L = dd.symbols("a b c m g k L")


def pendulum(**changes):
    fields = {
        "name": "pendulum",
        "equations": {
            "kinematics x": der(x) == vx,
            "kinematics y": der(y) == vy,
            "force x": m * der(vx) == tension * x - k * vx + u,
            "force y": m * der(vy) == tension * y - k * vy - m * g,
            "rod": x**2 + y**2 == L**2,
        },
        "unknowns": [x, y, vx, vy, tension],
        "inputs": [u],
        "parameters": {m: 0.3, g: 9.81, L: 2.0, k: 0.5, a: 1.2, b: a * L / 4},
        "initial": {x: b, vx: a - 2},
        "guess": {y: -L},
    }
    return dd.Model(**fields | changes)


def directions(system, names, values=None):
    order = list(system.model.parameters)
    rows = [order.index(name) for name in system.reduction.parameters]
    return differentiate_parameters(system.model, names, values)[rows]


def both(model, names, exogenous, values=None, time=0.0):
    """The derivatives, and central differences of order four."""
    system = dd.build(model)
    start = find_initial_values(system, time, values, exogenous)
    none = np.zeros((exogenous.size, len(names)))
    found = differentiate_initial_values(
        system, start, time, values, exogenous, directions(system, names, values), none
    )
    base = dict(values or {})

    def at(name, shift):
        number = base.get(name)
        number = model.parameters[name].value if number is None else number
        moved = find_initial_values(system, time, {**base, name: number + shift}, exogenous)
        return np.r_[moved.states, moved.tops]

    h = 1e-3
    wanted = [(8 * (at(n, h) - at(n, -h)) - (at(n, 2 * h) - at(n, -2 * h))) / (12 * h) for n in names]
    return found, np.array(wanted).T


def test_initial_values_that_are_expressions_of_parameters():
    found, wanted = both(pendulum(), ["m", "g", "L", "k", "a"], np.array([0.4]))
    np.testing.assert_allclose(found, wanted, atol=1e-8)


def test_at_other_values():
    found, wanted = both(pendulum(), ["L", "a"], np.array([-1.0]), values={"L": 3.0, "m": 0.7})
    np.testing.assert_allclose(found, wanted, atol=1e-8)


def test_freedom_held_at_a_guess_that_is_an_expression():
    model = pendulum(initial={vx: 0.1 * a}, guess={x: b / 2, y: -L})
    found, wanted = both(model, ["L", "a", "m"], np.zeros(1))
    np.testing.assert_allclose(found, wanted, atol=1e-8)


def test_an_algebraic_equation_that_is_not_linear():
    model = dd.Model(
        name="cube",
        equations={"rate": der(x) == -y, "cube": y + c * y**3 == a * x * dd.time + u},
        unknowns=[x, y],
        inputs=[u],
        parameters={a: 0.9, c: 1.1},
        initial={x: a**2},
    )
    found, wanted = both(model, ["a", "c"], np.array([0.3]), time=2.0)
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_a_held_derivative():
    model = dd.Model(
        name="held rate",
        equations={"rate": der(x) == -k * x**3 + u},
        unknowns=[x],
        inputs=[u],
        parameters={k: 0.8, a: 0.5},
        initial={der(x): -a},
        guess={x: 1.0},
    )
    found, wanted = both(model, ["k", "a"], np.array([0.2]))
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_an_alias_with_a_sign():
    model = dd.Model(
        name="alias",
        equations={"mirror": y == -x, "rate": der(x) == -k * x},
        unknowns=[x, y],
        parameters={k: 2.0, a: 0.5},
        initial={y: a * k},
    )
    found, wanted = both(model, ["k", "a"], np.zeros(0))
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    assert np.abs(found).max() > 0.4


def test_exogenous_values_move_the_start_too():
    """x + z = a + w: z and the multiplier follow w and w'."""
    model = dd.Model(
        name="level",
        equations={"x": der(x) == -k * x + lam, "z": der(z) == -c * z * lam + x, "level": x + z == a + w},
        unknowns=[x, z, lam],
        inputs=[w],
        parameters={k: 0.8, c: 0.3, a: 1.5},
        initial={x: 0.5},
    )
    system = dd.build(model)
    count = len(system.reduction.exogenous)
    assert count == 2  # w and its derivative
    at = np.array([0.2, -0.4])
    start = find_initial_values(system, 0.0, None, at)
    still = np.zeros((len(system.reduction.parameters), count))
    found = differentiate_initial_values(system, start, 0.0, None, at, still, np.eye(count))
    for i in range(count):
        moved = [find_initial_values(system, 0.0, None, at + s * 1e-4 * np.eye(count)[i]) for s in (-1, 1)]
        low, high = (np.r_[one.states, one.tops] for one in moved)
        np.testing.assert_allclose(found[:, i], (high - low) / 2e-4, atol=1e-7)


@pytest.mark.parametrize(
    "problem", [catalogue.pendulum(), catalogue.slider_crank(), catalogue.akzo_nobel()], ids=lambda p: p.name
)
def test_the_catalogue(problem):
    model = problem.model()
    names = [name for name in model.parameters if abs(model.parameters[name].value) > 0.2][:3]
    found, wanted = both(model, names, np.zeros(0))
    np.testing.assert_allclose(found, wanted, atol=1e-7 * (1 + np.abs(wanted).max()))


def test_directions_through_formulas_of_formulas():
    model = dd.Model(
        name="chain",
        equations={"rate": der(x) == -c * x},
        unknowns=[x],
        parameters={k: 0.5, a: k**2, b: a * k, c: 3 * b + a},
        initial={x: 1.0},
    )
    found = differentiate_parameters(model, ["k"], None)[:, 0]
    np.testing.assert_allclose(found, [1, 1.0, 0.75, 3 * 0.75 + 1.0], rtol=1e-14)
    # An override cuts the formula: a no longer follows k.
    found = differentiate_parameters(model, ["k"], {"a": 2.0})[:, 0]
    np.testing.assert_allclose(found, [1, 0, 2.0, 6.0], rtol=1e-14)
    # So does naming it.
    found = differentiate_parameters(model, ["k", "a"], None)
    np.testing.assert_allclose(found, [[1, 0], [0, 1], [0.25, 0.5], [0.75, 2.5]], rtol=1e-14)
