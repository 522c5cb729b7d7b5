"""Models that are linear in their state whatever they do to inputs and time: the same with functions made by hand."""

import numpy as np
import pytest

import daedal as dd
from daedal.errors import ModelError
from daedal.filtering.forcing import make_forcings

x, a, b, c, u, v, w, p, q = dd.symbols("x a b c u v w p q")
TIMES = np.linspace(0.0, 10.0, 81)
RANDOM = np.random.default_rng(3)
STEPS = np.repeat(RANDOM.standard_normal(21), 4)[:81]
Y = 0.1 * np.cumsum(RANDOM.standard_normal(81))


def tank(rate, inputs, outputs=None, more=None, initial=None) -> dd.Model:
    return dd.Model(
        name="tank",
        equations={"level": dd.der(x) == rate + w, **(more or {})},
        unknowns=[x, *(initial or {})],
        inputs=inputs,
        outputs=outputs or {"y": x},
        parameters={a: 1.0, b: 2.0, c: 0.5},
        initial={x: 0.0, **(initial or {})},
        disturbances={w: dd.WhiteNoise(intensity=0.05)},
        measurement_noise={"y": 0.05},
    )


def cost(model, inputs, free=("a", "b"), times=TIMES, intersample="zoh"):
    data = dd.Dataset(
        inputs={name: dd.Signal(times, values, intersample) for name, values in inputs.items()},
        outputs={"y": dd.Samples(TIMES, Y)},
    )
    return dd.evaluate(model, data, free=list(free), criterion=dd.Likelihood())


def agree(one, other, rtol):
    np.testing.assert_allclose(one.value, other.value, rtol=rtol)
    np.testing.assert_allclose(one.gradient, other.gradient, rtol=rtol, atol=rtol * np.abs(other.gradient).max())
    np.testing.assert_allclose(one.curvature, other.curvature, rtol=rtol, atol=rtol * np.abs(other.curvature).max())


def test_function_of_a_held_input_is_a_held_input():
    agree(cost(tank(-a * x + b * u**2, [u]), {"u": STEPS}), cost(tank(-a * x + b * v, [v]), {"v": STEPS**2}), 1e-12)


def test_parameters_are_multiplied_out_and_kinks_of_held_inputs_are_exact():
    model = tank(-a * x + b * (np.maximum(u, 0.2) + c * u - x) / c + (b * np.exp(u)) ** 2, [u])
    by_hand = tank(-a * x + b / c * v + b * u - b * x / c + b**2 * p, [u, v, p])
    inputs = {"u": STEPS, "v": np.maximum(STEPS, 0.2), "p": np.exp(STEPS) ** 2}
    agree(cost(model, {"u": STEPS}, "abc"), cost(by_hand, inputs, "abc"), 1e-10)


def test_outputs_may_contain_them_too():
    model = tank(-a * x + b * u, [u], {"y": x + c * u**2 * np.sign(u)})
    by_hand = tank(-a * x + b * u, [u, v], {"y": x + c * v})
    inputs = {"u": STEPS, "v": STEPS**2 * np.sign(STEPS)}
    agree(cost(model, {"u": STEPS}, "abc"), cost(by_hand, inputs, "abc"), 1e-12)


def test_time_is_what_an_oscillator_shows():
    model = tank(-a * x + b * np.sin(dd.time) + c * dd.time, [])
    swing = {"sine": dd.der(p) == q, "cosine": dd.der(q) == -p, "clock": dd.der(v) == 1.0}
    by_hand = tank(-a * x + b * p + c * v, [], more=swing, initial={p: 0.0, q: 1.0, v: 0.0})
    agree(cost(model, {}, "abc"), cost(by_hand, {}, "abc"), 1e-6)


def test_square_of_straight_lines_is_where_finer_lines_lead():
    knots, values = TIMES[::8], STEPS[::8]
    ours = cost(tank(-a * x + b * u**2, [u]), {"u": values}, times=knots, intersample="foh").value
    errors = []
    for count in (10, 20):
        fine = np.linspace(0.0, 10.0, 10 * count + 1)
        squares = np.interp(fine, knots, values) ** 2
        errors.append(cost(tank(-a * x + b * v, [v]), {"v": squares}, times=fine, intersample="foh").value - ours)
    assert abs(errors[0]) > 1e-6 * abs(ours)
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.02)  # lines have errors of order two, ours are exact


def test_functions_are_followed_within_their_tolerance():
    signal = dd.Signal(TIMES, np.cos(TIMES), "spline")
    function = np.exp(u) * np.sin(3 * dd.time)
    (forcing,) = make_forcings([function.sx], {"u": signal}, 0.0, TIMES, "data")
    at = np.linspace(0.0, 10.0, 3001)
    truth = np.exp(signal(at)) * np.sin(3 * at)
    assert np.max(np.abs(forcing(at) - truth)) < 5e-8 * np.max(np.abs(truth))


def test_states_are_estimated_and_predicted():
    model, by_hand = tank(-a * x + b * u**2 + np.cos(dd.time), [u]), tank(-a * x + b * v + p, [v, p])
    fine = np.linspace(0.0, 10.0, 4001)
    held = dd.Signal(TIMES, STEPS, "zoh")
    data = dd.Dataset(inputs={"u": held}, outputs={"y": dd.Samples(TIMES, Y)})
    inputs = {"v": dd.Signal(TIMES, STEPS**2, "zoh"), "p": dd.Signal(fine, np.cos(fine), "spline")}
    other = dd.Dataset(inputs=inputs, outputs={"y": dd.Samples(TIMES, Y)})
    for options in ({}, {"kind": "predicted", "horizon": 0.5}):
        one, two = (dd.estimate_states(m, d, **options)["x"] for m, d in ((model, data), (by_hand, other)))
        np.testing.assert_allclose(one, two, atol=1e-6)


def test_the_criterion_is_chosen_by_itself():
    model = tank(-a * x + b * u**2 + c * np.sin(dd.time), [u])
    data = dd.Dataset(inputs={"u": dd.Signal(TIMES, STEPS, "zoh")}, outputs={"y": dd.Samples(TIMES, Y)})
    assert isinstance(dd.fit(model, data, free=["a"]).criterion, dd.Likelihood)
    assert dd.check_noise(model).well_posed


def test_steps_of_inputs_that_are_not_held_are_refused():
    with pytest.raises(dd.DaedalError, match="changes too fast between the samples"):
        cost(tank(-a * x + b * np.sign(u), [u]), {"u": STEPS}, intersample="foh")
    with pytest.raises(dd.DaedalError, match="changes too fast between the samples"):
        cost(tank(-a * x + b * np.sin(1e8 * dd.time), [u]), {"u": STEPS})
    with pytest.raises(dd.DaedalError, match="is not finite at"):
        cost(tank(-a * x + b * np.log(u), [u]), {"u": STEPS})


def test_matrices_alone_have_no_such_inputs():
    for verb in (dd.descriptor, dd.transfer_function):
        with pytest.raises(ModelError, match="not linear"):
            verb(tank(-a * x + b * u**2, [u]))
