"""Signals through 1/a(s)ʳ with their derivatives, against scipy and closed forms."""

import numpy as np
import pytest
from scipy import signal

import daedal as dd
from daedal.lti.filtered_signals import make_signal_filter

TIMES = np.arange(150) * 0.1
VALUES = np.random.default_rng(5).normal(size=150)
DENOMINATOR = np.array([1.0, 0.7, 4.0])


def with_lsim(denominator, values, interpolate):
    """All derivatives below the order, from the companion form."""
    n = len(denominator) - 1
    A = np.diag(np.ones(n - 1), 1)
    A[-1] = -np.asarray(denominator)[:0:-1]
    B = np.zeros((n, 1))
    B[-1] = 1.0
    return signal.lsim((A, B, np.eye(n), np.zeros((n, 1))), values, TIMES, interp=interpolate)[1]


@pytest.mark.parametrize(("kind", "interpolate"), [("zoh", False), ("foh", True)])
@pytest.mark.parametrize("repeat", [1, 2])
def test_states_are_derivatives(kind, interpolate, repeat):
    made = make_signal_filter([dd.Signal(TIMES, VALUES, kind)], 0.0, TIMES)(DENOMINATOR, repeat)
    polynomial = DENOMINATOR if repeat == 1 else np.convolve(DENOMINATOR, DENOMINATOR)
    expected = with_lsim(polynomial, VALUES, interpolate)
    assert made.signals.shape == (1, 150, 2 * repeat)
    assert np.allclose(made.signals[0], expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())


def test_several_signals_of_different_kinds():
    signals = [dd.Signal(TIMES, VALUES, "zoh"), dd.Signal(TIMES, VALUES, "foh")]
    made = make_signal_filter(signals, 0.0, TIMES)(DENOMINATOR)
    for k, interpolate in enumerate((False, True)):
        assert np.allclose(made.signals[k], with_lsim(DENOMINATOR, VALUES, interpolate), atol=1e-11)


def test_the_impulse():
    made = make_signal_filter([dd.Signal(TIMES, VALUES, "zoh")], 0.0, TIMES)(np.array([1.0, 3.0, 2.0]))
    assert np.allclose(made.impulse[:, 0], np.exp(-TIMES) - np.exp(-2 * TIMES), atol=1e-14)
    assert np.allclose(made.impulse[:, 1], 2 * np.exp(-2 * TIMES) - np.exp(-TIMES), atol=1e-14)


def test_a_leading_coefficient_is_divided_out():
    filtered = make_signal_filter([dd.Signal(TIMES, VALUES, "foh")], 0.0, TIMES)
    assert np.allclose(filtered(3 * DENOMINATOR).signals, filtered(DENOMINATOR).signals, rtol=1e-13)


@pytest.mark.parametrize("kind", ["zoh", "foh", "spline"])
def test_irregular_samples_see_the_same_as_a_fine_grid(kind):
    drive = dd.Signal(TIMES[::10], VALUES[::10], kind)
    end = drive.end
    some = np.sort(np.random.default_rng(1).uniform(0.0, end, 400))
    fine = np.union1d(np.linspace(0.0, end, 5000), some)
    expected = make_signal_filter([drive], 0.0, fine)(DENOMINATOR, 2).signals[0][np.searchsorted(fine, some)]
    found = make_signal_filter([drive], 0.0, some)(DENOMINATOR, 2).signals[0]
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("unit", [1e-3, 1.0, 3e7])
def test_units_of_time_only_scale(unit):
    """ψ in a unit of time that is `unit` long: a derivative more is a power of it more."""
    slow = make_signal_filter([dd.Signal(TIMES, VALUES, "foh")], 0.0, TIMES)(DENOMINATOR, 2).signals[0]
    other = DENOMINATOR * unit ** -np.arange(3.0)
    fast = make_signal_filter([dd.Signal(TIMES * unit, VALUES, "foh")], 0.0, TIMES * unit)(other, 2).signals[0]
    powers = unit ** (4 - np.arange(4.0))
    assert np.allclose(fast / powers, slow, rtol=1e-9, atol=1e-12 * np.abs(slow).max())


def test_seconds_since_1970():
    shifted = TIMES + 1.75e9  # the sum is rounded to 2e-7 s
    found = make_signal_filter([dd.Signal(shifted, VALUES, "foh")], shifted[0], shifted)(DENOMINATOR).signals
    expected = make_signal_filter([dd.Signal(TIMES, VALUES, "foh")], 0.0, TIMES)(DENOMINATOR).signals
    assert np.allclose(found, expected, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("poles", [[-1e-3, -1.0, -1e3], [-0.01, -0.1, -1.0, -10.0, -100.0]])
def test_stiff_filters_keep_their_digits(poles):
    """Against partial fractions: each pole alone is a recursion of one number."""
    found = make_signal_filter([dd.Signal(TIMES, VALUES, "zoh")], 0.0, TIMES)(np.poly(poles)).signals[0, :, 0]
    expected = np.zeros(TIMES.size)
    for k, pole in enumerate(poles):
        residue = 1.0 / np.prod([pole - other for j, other in enumerate(poles) if j != k])
        gain, state = np.expm1(0.1 * pole) / pole, 0.0
        for step in range(1, TIMES.size):
            state = np.exp(0.1 * pole) * state + gain * VALUES[step - 1]
            expected[step] += residue * state
    assert np.allclose(found, expected, atol=1e-10 * np.abs(expected).max())
