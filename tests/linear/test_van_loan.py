"""Exact discretisation against quadrature, closed forms, extended precision and finite differences."""

import numpy as np
import pytest
from scipy.integrate import quad_vec
from scipy.linalg import expm

from daedal.linear import compute_noise_scale, make_controllable_form, van_loan, van_loan_derivative

GENERATOR = np.random.default_rng(3)
CASES = {
    "oscillator": (np.array([[0.0, 1.0], [-16.0, -0.8]]), np.array([[0.0], [1.0]])),
    "rotated": (GENERATOR.normal(size=(4, 4)) - 4 * np.eye(4), GENERATOR.normal(size=(4, 2))),
    "unreached state": (np.array([[-1.0, 0.3], [0.0, -2.0]]), np.array([[1.0], [0.0]])),
    "unstable": (np.array([[0.5, 1.0], [0.0, 0.2]]), np.array([[0.0], [1.0]])),
}


@pytest.mark.parametrize("step", [1e-3, 0.1, 3.0])
@pytest.mark.parametrize("case", CASES)
def test_agrees_with_quadrature(case, step):
    A, B = CASES[case]
    A_d, Q_d = van_loan(A, B @ B.T, step)
    integral = quad_vec(lambda s: expm(A * s) @ B @ B.T @ expm(A * s).T, 0, step, epsrel=1e-13)[0]
    assert np.allclose(A_d, expm(A * step), rtol=1e-12, atol=1e-14)
    assert np.allclose(Q_d, integral, rtol=1e-10, atol=1e-13 * np.abs(integral).max())


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("step", [1.0, 1e-2, 1e-9])
def test_chain_of_integrators_keeps_every_digit(n, step):
    A, B = np.diag(np.ones(n - 1), 1), np.eye(n)[:, -1:]
    _, Q_d = van_loan(A, B @ B.T, step)
    powers = np.arange(n)[::-1]
    factorials = np.array([np.prod(np.arange(1, k + 1)) for k in powers], dtype=float)
    total = powers[:, None] + powers + 1
    exact = step**total / total / factorials[:, None] / factorials
    assert np.allclose(Q_d, exact, rtol=1e-12, atol=0.0)


def test_long_steps_reach_the_stationary_law():
    A, B = CASES["oscillator"]
    A_d, Q_d = van_loan(1000 * A, 1000 * B @ B.T, 1e4)
    assert np.abs(A_d).max() < 1e-300
    assert np.allclose(Q_d, np.diag([1 / (2 * 16 * 0.8), 1 / (2 * 0.8)]), rtol=1e-12, atol=1e-15)


def test_stack_of_steps_is_the_same_as_one_by_one():
    A, B = CASES["rotated"]
    steps = np.array([1e-6, 0.01, 0.3, 50.0])
    A_d, Q_d = van_loan(A, B @ B.T, steps)
    for i, step in enumerate(steps):
        single = van_loan(A, B @ B.T, step)
        assert np.allclose(A_d[i], single[0], rtol=1e-13, atol=0)
        assert np.allclose(Q_d[i], single[1], rtol=1e-13, atol=0)


@pytest.mark.parametrize("step", [0.01, 0.3, 5.0])
@pytest.mark.parametrize("case", CASES)
def test_derivative_agrees_with_finite_differences(case, step):
    A, B = CASES[case]
    Q = B @ B.T
    dA, dB = np.random.default_rng(1).normal(size=A.shape), np.random.default_rng(2).normal(size=B.shape)
    dQ = dB @ B.T + B @ dB.T
    slopes = van_loan_derivative(A, Q, step, dA, dQ)
    width = 1e-5
    ahead, behind = (van_loan(A + move * dA, (B + move * dB) @ (B + move * dB).T, step) for move in (width, -width))
    for slope, above, below in zip(slopes, ahead, behind, strict=True):
        assert np.allclose(slope, (above - below) / (2 * width), rtol=1e-7, atol=1e-8 * np.abs(slope).max())


def test_derivative_of_the_first_order_law():
    rate, step = 2.0, 0.4
    dA_d, dQ_d = van_loan_derivative(*map(np.array, ([[-rate]], [[1.0]])), step, np.array([[-1.0]]), np.array([[0.0]]))
    decay = np.exp(-2 * rate * step)
    assert dA_d[0, 0] == pytest.approx(-step * np.exp(-rate * step), rel=1e-13)
    assert dQ_d[0, 0] == pytest.approx(step * decay / rate - (1 - decay) / (2 * rate**2), rel=1e-13)


def test_scale_is_about_the_standard_deviation():
    A, B, _ = make_controllable_form([1.0], [1.0, 3.0, 3.0, 1.0])
    for step in (1e-12, 1e-2):
        deviation = np.sqrt(np.diag(van_loan(A, B @ B.T, step)[1]))
        ratio = compute_noise_scale(A, B @ B.T, step) / deviation
        assert ratio.min() > 0.5
        assert ratio.max() < 5.0
