"""The same models in other units: of variables, parameters and time, from 1e-15 to 1e15.

Truth are the same equations in plain units, and closed forms. Units that are powers of two must not change a bit.
"""

import numpy as np
import pytest

import daedal as dd
from daedal import der

UNITS = [1e-15, 1e-9, 1e-3, 1e6, 1e15]
POWERS = [2.0**-49, 2.0**-30, 2.0**30, 2.0**49]
x, v, y, u, w, F = dd.symbols("x v y u w F")
a, b, c = dd.symbols("a b c")
IDA = dd.IDA()


def van_der_pol(size, second, solver=IDA):
    """Stiff oscillations, (x in sizes) at times in seconds."""
    damping = 100.0 * (1 - (x / size) ** 2) * v / second
    model = dd.Model(
        name="van der pol",
        equations={"speed": der(x) == v, "force": der(v) == damping - x / second**2},
        unknowns=[x, v],
        initial={x: 2 * size, v: 0.0},
    )
    return dd.simulate(model, np.array([0.0, 50.0, 100.0, 200.0]) * second, solver=solver)["x"] / size


def robertson(size, second, solver=IDA):
    A, B, C = a / size, b / size, c / size
    rates = {
        "a": der(a) / size * second == -0.04 * A + 1e4 * B * C,
        "b": der(b) / size * second == 0.04 * A - 1e4 * B * C - 3e7 * B**2,
        "sum": a + b + c == size,
    }
    model = dd.Model(name="robertson", equations=rates, unknowns=[a, b, c], initial={a: size, b: 0.0})
    trajectory = dd.simulate(model, np.array([0.0, 0.4, 40.0, 4000.0, 4e5]) * second, solver=solver)
    return np.array([trajectory[name][1:] / size for name in "abc"])


def pendulum(size, second, solver=IDA):
    """Index 3, its mass in units of 1/size."""
    mass = 1.0 / size
    equations = {
        "x": der(x) == u,
        "y": der(y) == w,
        "along": mass * der(u) == -F * x,
        "down": mass * der(w) == -F * y - mass * 9.81 * size / second**2,
        "rod": x**2 + y**2 == size**2,
    }
    model = dd.Model(
        name="pendulum", equations=equations, unknowns=[x, y, u, w, F], initial={x: size, u: 0.0}, guess={y: 0.0}
    )
    trajectory = dd.simulate(model, np.linspace(0.0, 5.0, 6) * second, solver=solver)
    return np.array([trajectory["x"], trajectory["y"]]) / size


MODELS = [van_der_pol, robertson, pendulum]


@pytest.mark.parametrize("simulate", MODELS)
@pytest.mark.parametrize(("size", "second"), [*((unit, 1.0) for unit in UNITS), *((1e-6, unit) for unit in UNITS)])
def test_the_same_digits_in_every_unit(simulate, size, second):
    plain = simulate(1.0, 1.0)
    allowed = 3e-6 * np.abs(plain).max(axis=-1, keepdims=True)  # what errors of the steps grow to in these models
    assert np.all(np.abs(simulate(size, second) - plain) <= allowed)


def charge(size, second, solver=IDA):
    """A picofarad through a gigaohm: 1 ms."""
    i = dd.symbol("i")
    R, C = 1e9 * second, 1e-12
    equations = {"C": C * der(v) == i, "R": size - v == R * i}
    model = dd.Model(name="rc", equations=equations, unknowns=[v, i], initial={v: 0.0})
    trajectory = dd.simulate(model, np.linspace(0.0, 5e-3, 6) * second, solver=solver)
    return np.array([trajectory["v"], R * trajectory["i"]]) / size


@pytest.mark.parametrize("simulate", [*MODELS, charge])
@pytest.mark.parametrize(("solver", "digits"), [(None, 7), (dd.Lanes(), 8)], ids=["chosen", "lanes"])
@pytest.mark.parametrize(("size", "second"), [(1e-9, 1.0), (1e15, 1e-12), (1e-15, 1e15)])
def test_the_same_digits_by_what_is_chosen_and_by_lanes(simulate, solver, digits, size, second):
    """Lanes differ by their rounding and by steps that are chosen anew; IDA, which is chosen, by its errors."""
    plain = simulate(1.0, 1.0, solver)
    allowed = 10.0**-digits * np.abs(plain).max(axis=-1, keepdims=True)
    assert np.all(np.abs(simulate(size, second, solver) - plain) <= allowed)


def test_charging_by_all_solvers_is_the_closed_form():
    times = np.arange(6.0)
    for solver, allowed in ((None, 1e-8), (IDA, 1e-7), (dd.Lanes(), 1e-6)):
        truth = np.array([1.0 - np.exp(-times), np.exp(-times)])
        np.testing.assert_allclose(charge(1e-9, 1e-6, solver), truth, rtol=0, atol=allowed)


@pytest.mark.parametrize("simulate", MODELS)
@pytest.mark.parametrize("unit", POWERS)
def test_powers_of_two_change_no_bit(simulate, unit):
    np.testing.assert_array_equal(simulate(unit, 1.0), simulate(1.0, 1.0))


@pytest.mark.parametrize("unit", POWERS)
def test_powers_of_two_as_the_unit_of_time_change_no_bit(unit):
    np.testing.assert_array_equal(van_der_pol(1.0, unit), van_der_pol(1.0, 1.0))


@pytest.mark.parametrize(("R", "C"), [(1.0, 1.0), (1e9, 1e-12), (1e-6, 1e-9), (1e12, 1e3), (1e15, 1e-15)])
def test_charging_a_capacitor(R, C):
    i = dd.symbol("i")
    model = dd.Model(
        name="rc", equations={"C": C * der(v) == i, "R": 1.0 - v == R * i}, unknowns=[v, i], initial={v: 0.0}
    )
    times = np.linspace(0.0, 3.0, 7) * R * C
    trajectory = dd.simulate(model, times, solver=dd.IDA())
    np.testing.assert_allclose(trajectory["v"], 1 - np.exp(-times / (R * C)), rtol=0, atol=1e-7)
    np.testing.assert_allclose(R * trajectory["i"], np.exp(-times / (R * C)), rtol=0, atol=1e-7)


@pytest.mark.parametrize("unit", [1e-15, 1.0, 1e15])
def test_what_starts_from_rest_has_a_size(unit):
    """x'' = t³ from rest: position, speed and acceleration are all zero at the start."""
    model = dd.Model(
        name="jolt",
        equations={"x": der(x) == v, "v": der(v) == unit * dd.time**3},
        unknowns=[x, v],
        initial={x: 0, v: 0},
    )
    times = np.linspace(0.0, 2.0, 5)
    trajectory = dd.simulate(model, times, solver=dd.IDA())
    np.testing.assert_allclose(trajectory["x"], unit * times**5 / 20, rtol=0, atol=1e-6 * unit * 1.6)


def test_what_is_round_off_does_not_hold_up_the_solver():
    """The difference of two equal decays is nothing but round-off, beside values of a thousand."""
    difference = dd.symbol("difference")
    equations = {
        "a": der(a) == -0.3 * a,
        "b": der(b) == -0.3 * b,
        "difference": difference == 1e3 * (a - b) - 0.1 * (a - b),
        "c": der(c) == difference,
    }
    model = dd.Model(
        name="twins", equations=equations, unknowns=[a, b, c, difference], initial={a: 1e3, b: 1e3, c: 0.0}
    )
    trajectory = dd.simulate(model, [0.0, 10.0], solver=dd.IDA())
    assert trajectory.status.ok
    assert trajectory["a"][-1] == pytest.approx(1e3 * np.exp(-3.0), rel=1e-6)
    assert abs(trajectory["c"][-1]) < 1e-6
