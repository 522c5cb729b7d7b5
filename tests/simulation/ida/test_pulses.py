"""Inputs of straight lines and splines while the model rests: no pulse is stepped over, whichever solver is chosen."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import CubicSpline

import daedal as dd
from daedal import der

x, v, u, z = dd.symbols("x v u z")


def make_lag(equations=(), unknowns=()):
    named = {"lag": der(x) == u - x, **dict(equations)}
    initial = dict.fromkeys([x, *unknowns], 0.0)
    return dd.Model(name="lag", equations=named, unknowns=[x, *unknowns], inputs=[u], initial=initial)


def respond(time, knots, values):
    """∫ exp(s − t) u(s) ds of straight lines from rest, piece by piece."""
    total = 0.0
    for a, b, at_a, at_b in zip(knots[:-1], knots[1:], values[:-1], values[1:], strict=True):
        end, slope = min(b, time), (at_b - at_a) / (b - a)
        if a < time:
            weighted = [np.exp(s - time) * (at_a + slope * (s - a) - slope) for s in (a, end)]
            total += weighted[1] - weighted[0]
    return total


@pytest.mark.parametrize("solver", [None, dd.IDA(3e-10, 3e-12)])
@pytest.mark.parametrize("half", [5e-4, 0.05, 0.5])
def test_a_triangle_between_samples(half, solver):
    times = np.linspace(0.0, 10.0, 11)
    knots, values = [0.0, 5.3 - half, 5.3, 5.3 + half, 10.0], [0.0, 0.0, 1.0 / half, 0.0, 0.0]
    run = dd.simulate(make_lag(), times, inputs={"u": dd.Signal(knots, values, "foh")}, solver=solver)
    exact = np.array([respond(time, knots, values) for time in times])
    np.testing.assert_allclose(run["x"], exact, atol=1e-6 * exact.max())


def test_a_triangle_in_a_model_with_switches():
    """The other equation switches within the triangle, whose knots are samples as well."""
    model = make_lag({"clock": der(z) == np.where(z < 5.35, 1.0, 0.5)}, [z])
    times = np.linspace(0.0, 10.0, 101)
    knots, values = [0.0, 5.2, 5.3, 5.4, 10.0], [0.0, 0.0, 10.0, 0.0, 0.0]
    run = dd.simulate(model, times, inputs={"u": dd.Signal(knots, values, "foh")}, solver=dd.IDA(3e-10, 3e-12))
    exact = np.array([respond(time, knots, values) for time in times])
    np.testing.assert_allclose(run["x"], exact, atol=1e-6 * exact.max())


def test_one_odd_sample_of_a_held_level():
    """A mass in a spring, and samples of the output at every knot of the input."""
    equations = {"speed": der(x) == v, "force": der(v) == u - 0.5 * v - 4 * x}
    model = dd.Model(name="mass", equations=equations, unknowns=[x, v], inputs=[u], initial={x: 0.0, v: 0.0})
    times = np.linspace(0.0, 20.0, 41)
    values = np.where(np.arange(41) == 10, 5.0, 0.0)
    run = dd.simulate(model, times, inputs={"u": dd.Signal(times, values, "foh")})
    root = -0.25 + 1j * np.sqrt(4 - 0.25**2)

    def swing(time):
        """The response to a ramp of slope one: a particular solution, and what brings it to rest at the start."""
        a, b = 0.25, -0.5 / 16  # of a t + b
        free = (b * root.conjugate() - a) / (root - root.conjugate()) * np.exp(root * time)
        return np.where(time > 0, a * time + b + 2 * free.real, 0.0)

    exact = 10.0 * (swing(times - 4.5) - 2 * swing(times - 5.0) + swing(times - 5.5))
    np.testing.assert_allclose(run["x"], exact, atol=1e-6)


def test_a_spline_with_a_pulse():
    knots, values = np.linspace(0.0, 20.0, 41), np.where(np.arange(41) == 20, 1.0, 0.0)
    curve, times = CubicSpline(knots, values), np.array([0.0, 9.9, 10.4, 14.0])
    run = dd.simulate(make_lag(), times, inputs={"u": dd.Signal(knots, values, "spline")})
    exact = [
        quad(lambda s, t=t: np.exp(s - t) * curve(s), 0.0, t, points=knots[knots < t], limit=200)[0] for t in times
    ]
    np.testing.assert_allclose(run["x"], exact, atol=1e-6)


@pytest.mark.parametrize("samples", [90, 110, 200])
def test_digits_do_not_depend_on_the_number_of_samples(samples):
    model = dd.Model(
        name="oscillator", equations={"speed": der(x) == v, "force": der(v) == -x}, unknowns=[x, v],
        initial={x: 1.0, v: 0.0},
    )  # fmt: skip
    times = np.linspace(0.0, 600.0 * np.pi, samples)
    np.testing.assert_allclose(dd.simulate(model, times)["x"], np.cos(times), atol=1e-5)
