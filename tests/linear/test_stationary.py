"""Lyapunov equation against the Kronecker form and closed forms."""

import numpy as np
import pytest

from daedal.linear import (
    differentiate_lyapunov,
    make_controllable_form,
    solve_lyapunov,
    van_loan,
)


def kronecker(A, Q):
    eye = np.eye(len(A))
    return np.linalg.solve(np.kron(A, eye) + np.kron(eye, A), -Q.ravel()).reshape(A.shape)


def stable(n, seed):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A - (np.linalg.eigvals(A).real.max() + 0.5) * np.eye(n)


def test_agrees_with_the_kronecker_form():
    A, B = stable(5, 1), np.random.default_rng(2).normal(size=(5, 2))
    assert np.allclose(solve_lyapunov(A, B @ B.T), kronecker(A, B @ B.T), rtol=1e-11)


def test_is_kept_by_a_step():
    A, B = stable(4, 3), np.random.default_rng(4).normal(size=(4, 1))
    P = solve_lyapunov(A, B @ B.T)
    A_d, Q_d = van_loan(A, B @ B.T, 0.37)
    assert np.allclose(A_d @ P @ A_d.T + Q_d, P, rtol=1e-11)


def test_standard_deviation_of_the_pendulum_disturbance():
    A, B, C = make_controllable_form([1.0], [1.0, 0.8, 16.0])
    assert round(float(np.sqrt(C @ solve_lyapunov(A, B @ B.T) @ C.T).item()), 3) == 0.198


def test_fast_poles_of_a_canonical_form():
    rate = 1e4
    A, B, C = make_controllable_form([1.0], np.poly([-rate] * 4).tolist())
    # ∫ |1/(iω + a)⁴|² dω/2π = (6 choose 3)/(2a)⁷
    exact = 20 / (2 * rate) ** 7
    assert np.isclose((C @ solve_lyapunov(A, B @ B.T) @ C.T).item(), exact, rtol=1e-10)


def test_derivative_agrees_with_finite_differences():
    A, B = stable(4, 5), np.random.default_rng(6).normal(size=(4, 2))
    dA, dQ = np.random.default_rng(7).normal(size=(4, 4)), np.eye(4)
    Q, width = B @ B.T, 1e-6
    slope = differentiate_lyapunov(A, solve_lyapunov(A, Q), dA, dQ)
    ahead = solve_lyapunov(A + width * dA, Q + width * dQ)
    behind = solve_lyapunov(A - width * dA, Q - width * dQ)
    assert np.allclose(slope, (ahead - behind) / (2 * width), rtol=1e-7, atol=1e-8 * np.abs(slope).max())


@pytest.mark.parametrize(
    ("A", "Q"),
    [
        pytest.param(np.diag([-1e-300, -1.0]), np.eye(2), id="a pole that is zero beside the other"),
        pytest.param(np.array([[-1e-200]]), np.array([[1e200]]), id="a variance of 5e399"),
        pytest.param(-np.eye(2), np.full((2, 2), np.inf), id="an intensity that is not finite"),
    ],
)
def test_what_no_number_can_hold_is_an_error_of_its_own(A, Q):
    with pytest.raises(np.linalg.LinAlgError):
        solve_lyapunov(A, Q)
