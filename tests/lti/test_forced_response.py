"""What polynomial inputs do over a step, against quadrature and differences."""

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad_vec
from scipy.linalg import expm

from daedal.linear import van_loan_slopes
from daedal.linear.dual import Dual, lift
from daedal.linear.matrix_exponential import exponential
from daedal.lti.forced_response import compute_forced_response

GENERATOR = np.random.default_rng(4)
A, B = GENERATOR.normal(size=(3, 3)) - 2 * np.eye(3), GENERATOR.normal(size=(3, 2))
SLOPE_A, SLOPE_B = GENERATOR.normal(size=(2, 3, 3)), GENERATOR.normal(size=(2, 3, 2))
STEPS = np.array([1e-6, 0.02, 0.7, 4.0])


@pytest.mark.parametrize("degree", [0, 1, 3])
def test_agrees_with_quadrature(degree):
    found = compute_forced_response(lift(A, 0), lift(B, 0), degree, STEPS)
    assert found.value.shape == (4, degree + 1, 3, 2)
    assert found.slopes.shape == (0, 4, degree + 1, 3, 2)
    for k, step in enumerate(STEPS):
        for power in range(degree + 1):
            integral = quad_vec(
                lambda s, step=step, power=power: expm(A * (step - s)) @ B * s**power, 0, step, epsabs=0, epsrel=1e-13
            )[0]
            assert np.allclose(found.value[k, power], integral, rtol=1e-11, atol=1e-13 * np.abs(integral).max())


def test_slopes_are_derivatives():
    found = compute_forced_response(Dual(A, SLOPE_A), Dual(B, SLOPE_B), 2, STEPS)
    for direction, (along_a, along_b) in enumerate(zip(SLOPE_A, SLOPE_B, strict=True)):
        ahead, behind = (
            compute_forced_response(lift(A + h * along_a, 0), lift(B + h * along_b, 0), 2, STEPS).value
            for h in (1e-5, -1e-5)
        )
        for k in range(STEPS.size):
            expected = (ahead[k] - behind[k]) / 2e-5
            scale = np.abs(expected).max(axis=(1, 2), keepdims=True)
            assert np.max(np.abs(found.slopes[direction, k] - expected) / scale) < 1e-7


def test_stable_modes_that_are_fast_settle():
    """Over a step long against the mode, a constant input leads to its gain and a ramp lags by the time constant."""
    rate = 1e6
    found = compute_forced_response(lift(np.array([[-rate]]), 0), lift(np.array([[rate]]), 0), 1, np.array([2.0]))
    assert found.value[0, 0, 0, 0] == pytest.approx(1.0, rel=1e-9)
    assert found.value[0, 1, 0, 0] == pytest.approx(2.0 - 1.0 / rate, rel=1e-9)


def test_no_inputs_and_no_states():
    assert compute_forced_response(lift(A, 1), lift(np.zeros((3, 0)), 1), 1, STEPS).value.shape == (
        4,
        2,
        3,
        0,
    )
    empty = compute_forced_response(lift(np.zeros((0, 0)), 1), lift(np.zeros((0, 2)), 1), 1, STEPS)
    assert empty.slopes.shape == (1, 4, 2, 0, 2)


@pytest.mark.parametrize("rate", [1e3, 1e9, 1e13])
def test_slow_modes_keep_their_digits_beside_fast_ones(rate):
    """A slow state that drives a fast one and is driven by it; against fifty digits."""
    A, step = np.array([[-0.8, 1.0], [0.1 * rate, -rate]]), 0.7
    with mpmath.workdps(50):
        exact = np.array(mpmath.expm(mpmath.matrix(A.tolist()) * mpmath.mpf(step)).tolist(), dtype=float)
    slow = -0.7 * (1.0 - 0.1 / 0.7 / rate)  # of the eigenvalues −0.7 + O(1/rate) and −rate
    assert exact[0, 0] == pytest.approx(np.exp(slow * step), rel=1e-2)
    A_d, Q_d, dA_d, _ = van_loan_slopes(A, np.diag([0.3, 0.0]), step, np.eye(2)[None], np.zeros((1, 2, 2)))
    assert np.max(np.abs(exponential(A * step) / exact - 1.0)) < 1e-13
    assert np.max(np.abs(A_d / exact - 1.0)) < 1e-13
    assert np.max(np.abs(dA_d[0] / (step * exact) - 1.0)) < 1e-13  # A + t I only adds e^{th}
    assert Q_d[0, 0] == pytest.approx(0.3 * (1 - np.exp(-1.4 * step)) / 1.4, rel=1e-9 + 3.0 / rate)
