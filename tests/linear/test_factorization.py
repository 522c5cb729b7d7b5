"""Triangular factors of definite and semidefinite matrices."""

import numpy as np
import pytest

from daedal.linear import differentiate_factor, factor_semidefinite


def random_semidefinite(n, rank, seed):
    root = np.random.default_rng(seed).normal(size=(n, rank))
    return root @ root.T


@pytest.mark.parametrize("rank", [0, 1, 2, 4, 5])
@pytest.mark.parametrize("seed", range(5))
def test_factor_of_any_rank(rank, seed):
    Q = random_semidefinite(5, rank, seed)
    L = factor_semidefinite(Q)
    assert np.allclose(L @ L.T, Q, rtol=0, atol=1e-14 * max(np.trace(Q), 1))
    assert np.array_equal(L, np.tril(L))
    assert (np.diag(L) >= 0).all()
    assert np.count_nonzero(np.diag(L)) == rank


def test_definite_matrices_get_their_cholesky_factor():
    Q = random_semidefinite(4, 4, 9)
    assert np.allclose(factor_semidefinite(Q), np.linalg.cholesky(Q), rtol=1e-12)


def test_states_without_noise_of_their_own_get_zero_columns():
    Q = np.array([[0.0, 0, 0], [0, 4, 2], [0, 2, 1]])
    assert np.allclose(factor_semidefinite(Q), [[0, 0, 0], [0, 2, 0], [0, 1, 0]])


def test_factor_does_not_see_the_units():
    units = np.array([1e-20, 1.0, 1e15])
    Q = random_semidefinite(3, 3, 4)
    L = factor_semidefinite(units[:, None] * Q * units)
    assert np.allclose(L / units[:, None], np.linalg.cholesky(Q), rtol=1e-12)


def test_factor_is_continuous_where_the_rank_drops():
    Q = random_semidefinite(3, 2, 5)
    limit = factor_semidefinite(Q)
    for size in (1e-6, 1e-10, 1e-14):
        near = factor_semidefinite(Q + size * np.eye(3))
        assert np.abs(near - limit).max() < 20 * np.sqrt(size)


def test_stack_is_the_same_as_one_by_one():
    stack = np.array([random_semidefinite(3, 3, seed) for seed in range(4)])
    singular = np.concatenate([stack, [random_semidefinite(3, 1, 7)]])
    for matrices in (stack, singular):
        L = factor_semidefinite(matrices)
        assert np.allclose(L @ L.swapaxes(1, 2), matrices, atol=1e-13)


@pytest.mark.parametrize("rank", [0, 1, 3, 4])
def test_derivative_agrees_with_finite_differences(rank):
    generator = np.random.default_rng(rank)
    root, direction = generator.normal(size=(2, 4, rank))
    dQ = direction @ root.T + root @ direction.T
    slope = differentiate_factor(factor_semidefinite(root @ root.T), dQ)
    width = 1e-6
    above, below = root + width * direction, root - width * direction
    difference = (factor_semidefinite(above @ above.T) - factor_semidefinite(below @ below.T)) / (2 * width)
    assert np.allclose(slope, difference, rtol=1e-6, atol=1e-7)
