"""Delayed values before the start: laws of time and parameters with exact derivatives, and inputs on their pieces."""

from dataclasses import replace

import numpy as np
import pytest
from delay_cases import NESTED, STARTS, a, b, c, make_reactor, single, tau, u, x

import daedal as dd
from daedal import delay, der
from daedal.errors import SimulationError
from daedal.simulation.delays.history import find_pasts, read_pieces
from daedal.systems import build, start_from_history


def law(model, name):
    system = build(model)
    return find_pasts(system)[name], list(system.reduction.parameters), system.parameter_vector()


def test_a_history_has_value_rate_and_gradient():
    past, names, numbers = law(STARTS, "delay(x, tau)")
    times = np.array([[-1.0, -0.5], [-0.2, 0.0]])
    value, rate, gradient = past.at(times, numbers)
    np.testing.assert_allclose(value, 0.3 + 1.1 * times)
    np.testing.assert_allclose(rate, np.full((2, 2), 1.1))
    np.testing.assert_allclose(gradient[names.index("b")], np.ones((2, 2)))
    np.testing.assert_allclose(gradient[names.index("c")], times)


def test_a_delayed_derivative_is_the_derivative_of_the_history():
    model = single(-x + b * delay(der(x), tau), history={x: np.sin(c * dd.time)})
    past, _, numbers = law(model, "delay(der(x), tau)")
    times = np.linspace(-2.0, 0.0, 5)
    np.testing.assert_allclose(past.at(times, numbers)[0], 1.1 * np.cos(1.1 * times))


def test_a_delay_of_a_delay_reaches_further_back():
    model = replace(NESTED, history={x: dd.time**2})
    outer = next(name for name in build(model).reduction.delays if name.startswith("delay(delay("))
    past, names, numbers = law(model, outer)
    times = np.array([-1.0, -0.1])
    value, rate, gradient = past.at(times, numbers)
    np.testing.assert_allclose(value, (times - 0.6) ** 2)
    np.testing.assert_allclose(rate, 2 * (times - 0.6))
    np.testing.assert_allclose(gradient[names.index("tau")], -2 * (times - 0.6))


def test_two_histories_of_one_structure_are_told_apart():
    first, second = (law(single(-delay(x, tau), history={x: each}), "delay(x, tau)")[0] for each in (1.0, 2.0))
    numbers = np.array([0.8, 0.3, 1.1, 0.6])
    assert first.at(np.zeros(1), numbers)[0] == 1.0
    assert second.at(np.zeros(1), numbers)[0] == 2.0


@pytest.mark.parametrize("kind", ["zoh", "foh", "spline"])
def test_inputs_are_read_on_the_piece_of_the_middle(kind):
    times = np.arange(5.0)
    signal = dd.Signal(times, np.array([0.0, 1.0, -1.0, 2.0, 0.5]), kind)
    middles = np.array([0.5, 1.5, 2.5])
    nodes = np.stack([middles - 0.5, middles, middles + 0.5 - 1e-9], axis=1)  # the ends belong to the middle's piece
    value, rate = read_pieces(signal, 0, nodes, middles)
    np.testing.assert_allclose(value[:, :2], signal(nodes[:, :2]), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(value[:, 2], signal(nodes[:, 2]), atol=1e-7)
    near = 1e-6 * np.array([-1.0, 1.0])
    slopes = np.diff(signal(nodes[:, 1, None] + near), axis=1)[:, 0] / 2e-6
    np.testing.assert_allclose(rate[:, 1], slopes, rtol=1e-6, atol=1e-8)
    early, still = read_pieces(signal, 0, np.array([[-2.0, -1.0]]), np.array([-1.5]))
    np.testing.assert_array_equal(early, 0.0)
    np.testing.assert_array_equal(still, 0.0)


def test_the_start_is_where_the_history_ends_unless_initial_says_otherwise():
    held = start_from_history(build(make_reactor()), 0.0).model.initial
    assert {name: float(value) for name, value in held.items()} == {"x1": 1.0, "x2": 1.0}
    moving = start_from_history(build(single(-delay(x, tau), history={x: 1.0 + dd.time})), 3.0).model.initial
    assert float(moving["x"]) == 4.0
    assert str(start_from_history(build(STARTS), 0.0).model.initial["x"]) == str(STARTS.initial["x"])


@pytest.mark.parametrize("times", [[0.0], [0.0, 0.4]])
def test_delayed_values_at_the_start_come_from_the_history_and_the_input(times):
    """A state that is tied to delayed values, also where nothing but the start is asked for."""
    z, v = dd.symbols("z v")
    model = dd.Model(
        name="tied",
        equations={"tie": z == delay(u, tau) + delay(x, b), "speed": v == der(z), "rate": der(x) == -x},
        unknowns=[x, z, v],
        inputs=[u],
        parameters={tau: 0.5, b: 2.0},
        history={x: 0.3 + 1.1 * dd.time},
    )
    signal = dd.Signal(np.array([-1.0, 0.0, 1.0]), np.array([2.0, 4.0, 5.0]), "foh")
    found = dd.simulate(model, times, inputs={"u": signal}, t0=0.0)
    assert found["z"][0] == pytest.approx(3.0 + 0.3 - 2.0 * 1.1)
    assert found["v"][0] == pytest.approx(2.0 + 1.1)
    assert found["x"][0] == pytest.approx(0.3)


def test_a_formula_of_an_input_is_not_delayed():
    model = single(-a * x + delay(u**2, tau), inputs=[u])
    with pytest.raises(SimulationError, match="delays a formula of the input 'u'"):
        find_pasts(build(model))


def test_an_input_is_delayed_once():
    model = single(-a * x + delay(delay(u, tau), b), inputs=[u])
    with pytest.raises(SimulationError, match="by the sum of the delays"):
        find_pasts(build(model))


def test_a_model_without_delays_is_left_alone():
    system = build(single(-a * x, initial={x: 1.0}, history={}))
    assert start_from_history(system, 0.0) is system


def test_an_input_before_its_first_sample():
    """Its first value, which is said, or what its history declares: a step of 1 at the start, 2 s late."""
    times = np.array([0.0, 1.0, 2.0, 3.0])
    step = dd.Signal([0.0, 2.0, 3.0], [1.0, 1.0, 2.0], "zoh")
    model = single(-x + delay(u, 2.0), inputs=[u], history={}, initial={x: 0.0}, parameters={})
    held = dd.simulate(model, times, inputs={"u": step}, variables=["x"])
    np.testing.assert_allclose(held["x"], 1.0 - np.exp(-times), atol=1e-9)
    assert "before its first sample 'u' is taken to be 1" in str(held)
    quiet = dd.simulate(replace(model, history={u: 0.0}), times, inputs={"u": step}, variables=["x"])
    np.testing.assert_allclose(quiet["x"], np.where(times > 2.0, 1.0 - np.exp(2.0 - times), 0.0), atol=1e-9)
    assert "before its first sample" not in str(quiet)
    tf = dd.TransferFunction([1.0], [1.0, 1.0], delay=2.0, output="y")
    for one in (tf, tf.to_model()):
        np.testing.assert_allclose(dd.simulate(one, times, inputs={"u": step})["y"], quiet["x"], atol=1e-9)
