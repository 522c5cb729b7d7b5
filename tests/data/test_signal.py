"""A signal against closed forms, another spline implementation, and itself."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import make_interp_spline

from daedal.data import Signal
from daedal.errors import DataError

KINDS = ["zoh", "foh", "spline"]
steps = st.floats(0.01, 10)
levels = st.floats(-100, 100)


@st.composite
def signals(draw):
    kind = draw(st.sampled_from(KINDS))
    gaps = draw(st.lists(steps, min_size=3, max_size=20))
    times = draw(levels) + np.concatenate([[0.0], np.cumsum(gaps)])
    return Signal(times, draw(st.lists(levels, min_size=times.size, max_size=times.size)), kind)


def test_foh_is_linear_between_samples():
    ramp = Signal([0, 1, 3], [0, 2, -2])
    np.testing.assert_array_equal(ramp([0, 0.25, 1, 2, 3]), [0, 0.5, 2, 0, -2])
    np.testing.assert_array_equal(ramp([0, 0.5, 1, 3], derivative=1), [2, 2, -2, -2])


def test_zoh_holds_until_the_next_sample_and_takes_the_last_value_at_the_end():
    held = Signal([0, 1, 3], [5, 7, 9], "zoh")
    np.testing.assert_array_equal(held([0, 0.999, 1, 2.999, 3]), [5, 5, 7, 7, 9])


def test_spline_reproduces_a_cubic_and_its_derivatives():
    times = np.array([0, 0.7, 1, 2, 2.5, 4])
    cubic = np.polynomial.Polynomial([1, -2, 0.5, 3])
    smooth = Signal(times, cubic(times), "spline")
    t = np.linspace(0, 4, 57)
    for order in range(4):
        expected = cubic.deriv(order)(t) if order else cubic(t)
        np.testing.assert_allclose(smooth(t, derivative=order), expected, rtol=1e-10, atol=1e-9)
    assert smooth.jumps(3).size == 0


def test_spline_is_the_not_a_knot_interpolant_of_scipy():
    rng = np.random.default_rng(3)
    times = np.cumsum(rng.uniform(0.1, 1, 30))
    values = rng.normal(size=30)
    t = np.linspace(times[0], times[-1], 500)
    other = make_interp_spline(times, values, k=3)
    for order in range(3):
        np.testing.assert_allclose(Signal(times, values, "spline")(t, order), other(t, order), rtol=1e-8, atol=1e-8)


@given(signals())
def test_values_at_the_samples_are_the_samples(signal):
    np.testing.assert_array_equal(signal(signal.times), signal.values)


@given(signals(), st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_pieces_evaluate_to_the_same_as_calling(signal, fractions):
    breaks, coefficients = signal.pieces()
    assert coefficients.shape == ({"zoh": 1, "foh": 2, "spline": 4}[signal.intersample], signal.times.size - 1)
    t = signal.start + np.array(fractions) * (signal.end - signal.start)
    t = t[t < signal.end]
    for time, value in zip(t, signal(t), strict=True):
        i = max(k for k in range(breaks.size - 1) if breaks[k] <= time)
        expected = sum(c * (time - breaks[i]) ** k for k, c in enumerate(coefficients[:, i]))
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(signal.values).max())


@given(signals())
def test_scalar_in_scalar_out_and_any_shape(signal):
    value = signal(signal.start)
    assert isinstance(value, float)
    assert signal(np.full((2, 3), signal.end)).shape == (2, 3)
    assert signal(np.zeros(0)).shape == (0,)


@pytest.mark.parametrize(("kind", "highest"), [("zoh", 0), ("foh", 1), ("spline", 3)])
def test_the_highest_derivative_exists_and_the_next_does_not(kind, highest):
    signal = Signal(range(5), [0, 1, 0, 2, 1], kind)
    assert signal.derivatives == highest
    assert np.isfinite(signal(1.5, derivative=highest))
    with pytest.raises(DataError, match=f'intersample="{kind}" has no derivative of order {highest + 1}'):
        signal(1.5, derivative=highest + 1)


@pytest.mark.parametrize(
    ("kind", "order", "remedy"),
    [
        ("zoh", 1, 'Use intersample="foh" or "spline"'),
        ("foh", 2, 'Use intersample="spline"'),
        ("foh", 4, "highest is 3"),
    ],
)
def test_a_derivative_that_does_not_exist_names_what_has_it(kind, order, remedy):
    for ask in (Signal(range(5), range(5), kind), Signal(range(5), range(5), kind).jumps):
        with pytest.raises(DataError, match=remedy):
            ask(1, order) if isinstance(ask, Signal) else ask(order)


@pytest.mark.parametrize("order", [-1, 0.5, "1"])
def test_derivative_must_be_an_order(order):
    with pytest.raises(DataError, match="derivative must be 0, 1, 2 or 3 but is"):
        Signal([0, 1], [0, 1])(0.5, derivative=order)


@pytest.mark.parametrize("t", [-0.1, 10.1, np.nan, [1, 11]])
def test_outside_names_both_ends(t):
    with pytest.raises(DataError, match="known from 0 to 10 but was asked for at"):
        Signal([0, 10], [1, 2])(t)


def test_rounding_outside_counts_as_the_ends():
    signal = Signal([0, 10], [1, 2])
    np.testing.assert_array_equal(signal([-9e-9, 10 + 9e-9]), [1, 2])
    with pytest.raises(DataError, match="known from 0 to 10"):
        signal(10 + 2e-8)


def test_jumps_of_a_held_signal_are_where_its_value_changes():
    held = Signal([0, 1, 2, 3, 4], [1, 1, 2, 2, 5], "zoh")
    np.testing.assert_array_equal(held.jumps(), [2])


def test_jumps_of_a_linear_signal_are_its_corners():
    corners = Signal([0, 1, 2, 3, 5], [0, 1, 2, 0, 0])
    assert corners.jumps().size == 0
    np.testing.assert_array_equal(corners.jumps(1), [2, 3])


@pytest.mark.parametrize("count", [10, 1000, 100_000])
def test_rounding_makes_no_corner(count):
    times = np.linspace(0, 1, count) + 3
    assert Signal(times, 20 + 0.1 * times).jumps(1).size == 0


def test_jumps_of_a_spline_are_in_its_third_derivative_and_not_next_to_the_ends():
    spline = Signal(range(7), [0, 1, 0, 1, 0, 1, 0], "spline")
    assert all(spline.jumps(order).size == 0 for order in range(3))
    np.testing.assert_array_equal(spline.jumps(3), [2, 3, 4])


@given(signals())
def test_equal_signals_pickle_hash_and_cannot_be_changed(signal):
    signal(signal.start)
    copy = pickle.loads(pickle.dumps(signal))
    assert copy == signal
    assert hash(copy) == hash(signal)
    for array in (copy.times, copy.values, *copy.pieces()):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_signals_that_differ_are_not_equal():
    signal = Signal([0, 1], [0, 1])
    assert signal != Signal([0, 1], [0, 1], "zoh")
    assert signal != Signal([0, 1], [0, 2])
    assert signal != Signal([0, 2], [0, 1])
    assert signal != "signal"


def test_arrays_are_copied():
    values = np.array([1.0, 2.0])
    signal = Signal([0, 1], values)
    values[0] = 5
    assert signal(0) == 1


@pytest.mark.parametrize(
    ("times", "values", "kind", "message"),
    [
        ([0, 1, 2], [1, np.nan, 2], "foh", r"values\[1\] \(time 1\) is nan. Fill the gap"),
        ([0, 1, 2], [1, 2, np.inf], "foh", r"values\[2\] \(time 2\) is inf"),
        ([0, 1, 1], [1, 2, 3], "foh", r"strictly increasing but times\[2\] = 1 follows times\[1\] = 1. Sort"),
        ([0, np.nan, 1], [1, 2, 3], "foh", r"times must be finite but times\[1\] is nan"),
        ([0, 1], [1, 2, 3], "foh", "there are 3 values but 2 times"),
        ([0], [1], "foh", 'intersample="foh" needs at least 2 samples but has 1'),
        ([0, 1, 2], [1, 2, 3], "spline", 'intersample="spline" needs at least 4 samples but has 3'),
        ([], [], "foh", "times are empty"),
        ([0, 1], [[1, 2]], "foh", r"values must be one-dimensional but the shape is \(1, 2\)"),
        ([0, 1], [1, 2], "linear", '"foh", "zoh" or "spline" but is \'linear\''),
        ([0, 1], [1, 2], ["foh"], "intersample must be"),
        ([0, 1], ["a", "b"], "foh", "values must be real numbers but the type is <U1. Convert"),
        ([0, 1], [1, None], "foh", "values must be real numbers but the type is object"),
        ([0, 1], [1, 2j], "foh", "values must be real numbers but the type is complex128"),
        ([0, 1], [[1, 2], [3]], "foh", "values must be an array but its rows differ in length"),
        (np.array(["2024-01-01", "2024-01-02"], "datetime64[s]"), [1, 2], "foh", "dates to seconds"),
        ([0, 1], np.ma.array([1, 2], mask=[False, True]), "foh", r"values\[1\] \(time 1\) is nan"),
    ],
)
def test_what_is_refused_and_why(times, values, kind, message):
    with pytest.raises(DataError, match=message):
        Signal(times, values, kind)
