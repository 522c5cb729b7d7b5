"""Basis pursuit against the optimality conditions of the LASSO, a solver of nonlinear programs, and closed forms."""

import numpy as np
import pytest
from scipy.optimize import minimize

from daedal.errors import EstimationError
from daedal.order.basis_pursuit import pursue_basis


def problem(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 8))
    A = rng.standard_normal((12, n)) * 10.0 ** rng.uniform(-1.0, 1.0, n)
    if seed % 2:
        A[:, 1] = A[:, 0] + 0.3 * A[:, 1]  # numbers leave the support again on such paths
    b = A @ (rng.standard_normal(n) * (rng.random(n) < 0.6)) + 0.1 * rng.standard_normal(12)
    least = np.linalg.norm(b - A @ np.linalg.lstsq(A, b, rcond=None)[0])
    return A, b, least + rng.uniform(0.0, 1.0) * (np.linalg.norm(b) - least)


@pytest.mark.parametrize("seed", range(60))
def test_solutions_meet_the_conditions_of_the_lasso(seed):
    A, b, error = problem(seed)
    x = pursue_basis(A, b, error)
    assert np.linalg.norm(A @ x - b) == pytest.approx(error, rel=1e-9)
    slopes = A.T @ (b - A @ x)
    level = np.abs(slopes).max()
    on = x != 0.0
    np.testing.assert_allclose(slopes[on], level * np.sign(x[on]), rtol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_no_smaller_sum_is_found_by_a_nonlinear_program(seed):
    A, b, error = problem(seed)
    x = pursue_basis(A, b, error)
    n = x.size
    constraint = {"type": "ineq", "fun": lambda z: error**2 - np.sum((A @ (z[:n] - z[n:]) - b) ** 2)}
    start = np.concatenate([np.maximum(x, 0.0), np.maximum(-x, 0.0)]) + 0.01
    found = minimize(np.sum, start, bounds=[(0.0, None)] * (2 * n), constraints=constraint, method="SLSQP")
    assert np.abs(x).sum() <= found.fun * (1 + 1e-6)


def test_orthonormal_columns_are_soft_thresholded():
    b = np.array([3.0, -2.0, 0.5])
    x = pursue_basis(np.eye(3), b, error=np.sqrt(0.5**2 + 2 * 1.0**2))
    np.testing.assert_allclose(x, [2.0, -1.0, 0.0], atol=1e-12)


def test_the_smallest_error_gives_least_squares_and_a_large_one_zeros():
    A, b, _ = problem(2)
    best = np.linalg.lstsq(A, b, rcond=None)[0]
    least = np.linalg.norm(A @ best - b)
    np.testing.assert_allclose(pursue_basis(A, b, least * (1 + 1e-12)), best, atol=1e-4 * np.abs(best).max())
    np.testing.assert_array_equal(pursue_basis(A, b, 1.001 * np.linalg.norm(b)), 0.0)


def test_an_error_below_that_of_least_squares_is_refused():
    A, b, _ = problem(2)
    with pytest.raises(EstimationError, match="No numbers come nearer"):
        pursue_basis(A, b, 0.0)
