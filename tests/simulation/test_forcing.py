"""Inputs: what is refused, and the fast evaluation against the signals themselves."""

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.errors import SimulationError
from daedal.simulation.forcing import Segment

x, y, u, k, w = dd.symbols("x y u k w")
UNMEASURED = {"parameters": {k: 1.0}, "disturbances": {w: dd.FilteredNoise([1.0], [1.0, 1.0])}}
RAMP = dd.Signal([0.0, 1.0], [0.0, 1.0])
STEP = dd.Signal([0.0, 0.5, 1.0], [0.0, 1.0, 1.0], "zoh")


def lag(**more):
    return dd.Model(name="lag", equations={"lag": der(x) == -x + u}, unknowns=[x], inputs=[u], initial={x: 0.0}, **more)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (None, r"'lag' needs the input 'u'.*Give inputs=\{'u': Signal"),
        ({}, "needs the input 'u'"),
        ({"u": 1.0, "uu": 1.0}, r"'lag' has no input 'uu'. Did you mean 'u'\?"),
        ({"x": 1.0, "u": 1.0}, "has no input 'x': 'x' is an unknown. The equations determine it"),
        (
            {"w": 0.0, "u": 1.0},
            "has no input 'w': 'w' is a disturbance. Leave it out: it is zero without",
        ),
        ({"k": 1.0, "u": 1.0}, r"has no input 'k': 'k' is a parameter. Give its number with values=\{'k': \.\.\.\}"),
        ({"u": [1.0, 2.0]}, "Input 'u' must be a Signal or a number, got list.*Write Signal"),
        ({"u": np.ones(3)}, r"got ndarray. Write Signal\(times, values, intersample='zoh' or 'foh'\)"),
        ({"u": np.sin(dd.time)}, "got Expression. Write the expression in the equations in place of 'u'; .* dd.time"),
        ({"u": np.sin}, r"got ufunc. Sample the function: Signal\(times, \[function\(t\) for t in times\]"),
        ({"u": lambda t: t}, "got function. Sample the function"),
        ({"u": "1"}, "got str"),
        ({"u": True}, "got bool"),
        ({"u": np.nan}, "Input 'u' must be finite, got nan"),
        (RAMP, "must be a mapping, got Signal.*Write inputs="),
        ([RAMP], "must be a mapping, got list"),
        ({"u": dd.Signal([0.0, 0.5], [0.0, 1.0])}, "'u' is known from 0 to 0.5, but is needed from 0 to 1"),
        ({"u": dd.Signal([0.5, 1.0], [0.0, 1.0])}, "'u' is known from 0.5 to 1"),
    ],
)
def test_inputs_that_cannot_be_used(inputs, message):
    with pytest.raises(SimulationError, match=message):
        dd.simulate(lag(**UNMEASURED), [0.0, 1.0], inputs=inputs)


@pytest.mark.parametrize(
    ("held", "message"),
    [({"uu": RAMP}, "'lag' needs the input 'u'; the data have 'uu'. Give inputs"), ({}, "the data have no inputs")],
)
def test_a_missing_input_is_told_with_what_the_data_have(held, message):
    with pytest.raises(SimulationError, match=message):
        dd.simulate(lag(), dd.Dataset([0.0, 1.0], inputs=held, outputs={"x": [0.0, 1.0]}))


def test_a_message_about_times_shows_the_digits_that_differ():
    with pytest.raises(SimulationError, match=r"to 1000000\.5, but is needed from 0 to 1000001"):
        dd.simulate(lag(), [0.0, 1_000_001.0], inputs={"u": dd.Signal([0.0, 1_000_000.5], [0.0, 1.0])})


def test_a_signal_that_is_short_by_rounding_will_do():
    assert dd.simulate(lag(), [0.0, 0.1 * 3], inputs={"u": dd.Signal([0.0, 0.3], [0.0, 1.0])}).status.ok


def test_t0_before_the_input():
    with pytest.raises(SimulationError, match="needed from -1 to 1"):
        dd.simulate(lag(), [0.0, 1.0], inputs={"u": RAMP}, t0=-1)


def model(equations, **more):
    return dd.Model(name="m", equations=equations, unknowns=[x, y], inputs=[u], **more)


@pytest.mark.parametrize(
    ("equations", "outputs", "signal", "message"),
    [
        (
            {"source": x == u, "current": y == der(x)},
            {},
            STEP,
            "first derivative of input 'u' is needed, because equation 'source' is differentiated, but a signal with "
            "intersample='zoh' has none. Use intersample='foh' or 'spline' for 'u'",
        ),
        (
            {"track": x == u, "force": y == der(der(x))},
            {},
            RAMP,
            "second derivative of input 'u' .* equation 'track' is differentiated.*'foh' has none. .*'spline'",
        ),
        ({"a": x == der(u), "b": y == x}, {}, STEP, "because equation 'a' contains it"),
        ({"a": x == u, "b": y == x**3}, {"rate": der(u)}, STEP, "because output 'rate' contains it"),
        ({"a": der(x) == u, "b": y == 1}, {"jerk": der(der(x))}, STEP, "because equation 'a' is differentiated"),
        (
            {"a": x == der(der(der(der(u)))), "b": y == 1},
            {},
            dd.Signal([0.0, 0.3, 0.6, 1.0], [0.0, 1.0, 0.0, 0.0], "spline"),
            "The 4th derivative .* filter in the model",
        ),
    ],
)
def test_a_derivative_that_the_input_does_not_have(equations, outputs, signal, message):
    with pytest.raises(SimulationError, match=message):
        dd.simulate(model(equations, outputs=outputs), [0.0, 1.0], inputs={"u": signal})


@pytest.mark.parametrize("kind", ["zoh", "foh", "spline"])
def test_a_segment_is_the_signal_between_its_ends(kind):
    rng = np.random.default_rng(0)
    signal = dd.Signal(np.r_[0.0, np.sort(rng.uniform(0, 5, 10)), 5.0], rng.normal(size=12), kind)
    tracks = tuple((signal, order) for order in range(signal.derivatives + 1))
    first, last = signal.times[3], signal.times[9]
    segment = Segment((None, *tracks), first, last)
    values, slopes = np.full((2, len(tracks) + 1), -7.0)
    for elapsed in [0.0, *rng.uniform(0, last - first, 50)]:
        segment.write_values(elapsed, values)
        np.testing.assert_allclose(values[1:], [s(first + elapsed, order) for s, order in tracks], atol=1e-9)
        assert values[0] == -7.0
    segment.write_slopes(0.1, slopes)
    for order in range(signal.derivatives):
        np.testing.assert_allclose(slopes[order + 1], signal(first + 0.1, order + 1), atol=1e-9)
    assert slopes[-1] == 0.0  # of the highest derivative, which is constant within each piece


def test_the_end_of_a_segment_is_the_limit_from_the_left():
    held = dd.Signal([0.0, 1.0, 2.0], [5.0, 7.0, 9.0], "zoh")
    value = np.zeros(1)
    Segment(((held, 0),), 0.0, 1.0).write_values(1.0, value)
    assert value[0] == 5.0
    Segment(((held, 0),), 1.0, 2.0).write_values(0.0, value)
    assert value[0] == 7.0
