"""A transfer function: what it says about itself, its Model, and its exact simulation."""

import numpy as np
import pytest
from scipy import signal

import daedal as dd

TIMES = np.arange(200) * 0.05
GENERATOR = np.random.default_rng(8)
VALUES = np.repeat(GENERATOR.normal(size=40), 5)


def test_numbers_of_a_second_order_system():
    tf = dd.TransferFunction([4.0, 2.0], [2.0, 6.0, 4.0], delay=0.5)
    assert (tf.order, tf.input_order, tf.inputs) == (2, 1, ("u",))
    assert np.allclose(np.sort(tf.poles), [-2.0, -1.0])
    assert np.allclose(tf.zeros(), [-0.5])
    assert tf.gain() == 0.5
    assert tf.stable
    assert np.allclose(tf.monic.numerator["u"], [2.0, 1.0])
    assert np.allclose(tf.monic.denominator, [1.0, 3.0, 2.0])
    s = 2.0j
    assert np.isclose(tf.response(s), (4 * s + 2) / (2 * s**2 + 6 * s + 4) * np.exp(-0.5 * s))


def test_growing_and_integrating_systems():
    assert not dd.TransferFunction([1.0], [1.0, -0.1]).stable
    integrator = dd.TransferFunction([1.0], [1.0, 0.0])
    assert not integrator.stable
    assert integrator.gain() == np.inf


def test_text_and_equality():
    tf = dd.TransferFunction({"heat": [1.0], "sun": [-2.0, 0.5]}, [1.0, 2.0], delay={"sun": 3.0}, output="room")
    assert str(tf) == "room = 1 / (s + 2) heat + (−2 s + 0.5) / (s + 2) exp(-3 s) sun"
    again = dd.TransferFunction({"heat": [1], "sun": [-2, 0.5]}, [1, 2], delay={"sun": 3}, output="room")
    assert tf == again
    assert hash(tf) == hash(again)
    assert tf != dd.TransferFunction({"heat": [1.0], "sun": [-2.0, 0.5]}, [1.0, 2.0], output="room")


@pytest.mark.parametrize(("kind", "interpolate"), [("zoh", False), ("foh", True)])
@pytest.mark.parametrize(
    ("numerator", "denominator"),
    [
        ([1.0], [1.0, 2.0]),
        ([3.0, 1.0], [1.0, 0.2, 9.0]),  # rings
        ([1.0, 0.5, 2.0], [1.0, 0.3, 2.0]),  # a direct term
        ([1.0], [1.0, 0.0]),  # integrates
        ([1.0], [1.0, 1.0, 0.0, 0.0]),
        ([50.0], [1.0, 500.5, 250.0]),  # stiff
    ],
)
def test_simulation_agrees_with_scipy(kind, interpolate, numerator, denominator):
    tf = dd.TransferFunction(numerator, denominator)
    found = dd.simulate(tf, TIMES, inputs={"u": dd.Signal(TIMES, VALUES, kind)})["y"]
    expected = signal.lsim((numerator, denominator), VALUES, TIMES, interp=interpolate)[1]
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())


def test_an_input_between_samples_is_seen_when_it_changes():
    changes = np.array([0.0, 1 / 3, 2.0])
    drive = dd.Signal(changes, [0.0, 1.0, 1.0], "zoh")
    times = np.linspace(0.0, 2.0, 11)
    found = dd.simulate(dd.TransferFunction([2.0], [1.0, 2.0]), times, inputs={"u": drive})["y"]
    assert np.allclose(found, np.where(times > 1 / 3, 1 - np.exp(-2 * (times - 1 / 3)), 0.0), atol=1e-14)


def test_two_inputs_and_their_delays_add_up():
    step = dd.Signal([0.0, 10.0], [1.0, 1.0], "zoh")
    tf = dd.TransferFunction({"u": [1.0], "v": [2.0]}, [1.0, 1.0], delay={"v": 1.5})
    times = np.linspace(0.0, 10.0, 41)
    found = dd.simulate(tf, times, inputs={"u": step, "v": step})["y"]
    late = np.maximum(times - 1.5, 0.0)
    assert np.allclose(found, 1 - np.exp(-times) + 2 * (1 - np.exp(-late)), atol=1e-13)


@pytest.mark.parametrize("kind", ["zoh", "foh"])
@pytest.mark.parametrize("delay", [0.05, 0.3, 0.45, 0.777])
def test_a_delay_is_a_signal_that_comes_later(kind, delay):
    """Also where times and delay do not add up to the last digit."""
    values = np.where(TIMES < 1.0, 0.0, VALUES)
    drive = dd.Signal(TIMES, values, kind)
    late = dd.Signal(np.append(0.0, TIMES + delay), np.append(0.0, values), kind)
    found = dd.simulate(dd.TransferFunction([2.0], [1.0, 1.4, 2.0], delay), TIMES, inputs={"u": drive})["y"]
    expected = dd.simulate(dd.TransferFunction([2.0], [1.0, 1.4, 2.0]), TIMES, inputs={"u": late})["y"]
    assert np.allclose(found, expected, atol=1e-12)


def test_its_model_does_the_same():
    tf = dd.TransferFunction({"u": [3.0, 1.0], "v": [2.0]}, [2.0, 0.4, 9.0])
    drives = {
        "u": dd.Signal(TIMES, np.sin(2 * TIMES), "spline"),
        "v": dd.Signal(TIMES, np.cos(TIMES) - 1, "spline"),
    }
    exact = dd.simulate(tf, TIMES, inputs=drives)["y"]
    found = dd.simulate(tf.to_model(), TIMES, inputs=drives)["y"]
    assert np.allclose(found, exact, atol=1e-6 * np.abs(exact).max())


def test_a_free_start_is_a_parameter_of_its_model():
    model = dd.TransferFunction([1.0], [1.0, 3.0, 2.0]).to_model("free")
    assert {"a0", "a1", "b0", "x0_start", "x1_start"} == set(model.parameters)
    quiet = dd.Signal([0.0, 10.0], [0.0, 0.0], "foh")
    moved = model.with_parameters({"x0_start": 1.0, "x1_start": 0.5})
    found = dd.simulate(moved, TIMES, inputs={"u": quiet})["y"]
    assert np.allclose(found, 2.5 * np.exp(-TIMES) - 1.5 * np.exp(-2 * TIMES), atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([1.0, 2.0, 3.0], [1.0, 2.0]), "improper"),
        (([], [1.0]), "must be a list of numbers"),
        (("1", [1.0]), "must be a list of numbers"),
        ((3.0, [1.0, 2.0]), "must be a list of numbers"),
        (([np.nan], [1.0, 2.0]), "must be finite numbers"),
        (([1.0], [0.0, 2.0]), "must not begin with zero"),
        (([0.0, 1.0], [1.0, 2.0]), "must not begin with zero"),
        (({}, [1.0, 2.0]), "needs an input"),
        (({"two words": [1.0]}, [1.0, 2.0]), "must have a name"),
        (([1.0], [1.0, 2.0], -1.0), "must be a time from zero on"),
        (([1.0], [1.0, 2.0], {"v": 1.0}), "no input 'v' to delay"),
    ],
)
def test_refused(arguments, said):
    with pytest.raises(dd.DaedalError, match=said):
        dd.TransferFunction(*arguments)


def test_unknown_inputs_are_named():
    tf = dd.TransferFunction([1.0], [1.0, 2.0])
    with pytest.raises(dd.DaedalError, match="no input 'v'"):
        tf.gain("v")
    with pytest.raises(dd.DaedalError, match="'zero' or 'free'"):
        tf.to_model("rest")
    with pytest.raises(dd.DaedalError, match="transfer function needs the input 'u'"):
        dd.simulate(tf, TIMES)
