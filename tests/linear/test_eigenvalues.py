"""Eigenvalues that are many powers of ten apart, against closed forms."""

import numpy as np
import pytest

from daedal.linear import find_eigenvalues


@pytest.mark.parametrize("r", [1e3, 1e6, 1e9, 1e12, 1e15])
def test_three_rates(r):
    """λ² + (1 + r) λ + 0.9 r = 0, its roots without cancellation, and −1/r."""
    A = np.array([[-1.0, 1.0, 0.0], [0.1 * r, -r, 0.0], [1.0 / r, 0.0, -1.0 / r]])
    fast = -(1.0 + r + np.sqrt((1.0 + r) ** 2 - 3.6 * r)) / 2.0
    found = np.sort(find_eigenvalues(A).real)
    np.testing.assert_allclose(found, [fast, 0.9 * r / fast, -1.0 / r], rtol=1e-12)


def test_a_slow_oscillation_beside_a_fast_decay():
    A = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 1.0], [0.0, 0.0, -1e14]])
    found = find_eigenvalues(A)
    np.testing.assert_allclose(found[np.argsort(found.imag)], [-1j, -1e14, 1j], rtol=1e-12, atol=1e-12)


def test_integrators_stay_at_zero():
    A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1e9]])
    np.testing.assert_allclose(np.sort(find_eigenvalues(A)), [-1e9, 0.0, 0.0], rtol=1e-12)
    assert find_eigenvalues(np.zeros((0, 0))).size == 0
    np.testing.assert_array_equal(find_eigenvalues(np.zeros((2, 2))), 0.0)


@pytest.mark.parametrize("rate", np.linspace(0.5, 5.0, 91))
def test_six_equal_rates_beside_a_fast_one_stay_six(rate):
    """(λ + rate)⁶ (λ + 10⁶): equal ones are known to a few digits, and none of them may become an integrator."""
    chain = np.diag(np.ones(5), 1)
    chain[-1] = -np.poly(-rate * np.ones(6))[:0:-1]
    A = np.zeros((7, 7))
    A[:6, :6], A[6, 0], A[6, 6] = chain, 1e6, -1e6
    found = find_eigenvalues(A)
    found = found[np.argsort(-np.abs(found))]
    assert found[0] == pytest.approx(-1e6)
    assert np.abs(found[1:] + rate).max() < 0.05 * rate
    assert np.prod(found[1:]).real == pytest.approx(rate**6, rel=1e-6)
