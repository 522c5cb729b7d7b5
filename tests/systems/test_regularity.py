"""Numerical rank that does not depend on units."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.systems.regularity import (
    PLAIN,
    REGULAR,
    choose_independent_columns,
    equilibrate,
    find_rank,
    list_participants,
    reduce_to_echelon,
)


@settings(max_examples=60)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 6), st.integers(0, 2**31))
def test_rank_of_products_in_any_units(rows, columns, rank, seed):
    rank = min(rank, rows, columns)
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, columns))
    units = 10.0 ** rng.integers(-9, 9, rows), 10.0 ** rng.integers(-9, 9, columns)
    scaled = units[0][:, None] * matrix * units[1]
    found = find_rank(scaled)
    assert found.rank == rank
    assert found.left.shape == (rows, rows - rank)
    assert found.right.shape == (columns, columns - rank)
    annihilated = (found.left * found.rows[:, None]).T @ scaled
    size = np.abs(found.left * found.rows[:, None]).T @ np.abs(scaled)
    assert np.all(np.abs(annihilated) <= 1e-9 * size.max(axis=0, initial=1e-300))


def test_a_small_entry_may_be_the_only_one_that_counts():
    # p appears with 1e-12 in one equation and with 1 in another, which has an unknown of its own besides.
    matrix = np.array([[1e-12, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    assert find_rank(matrix).rank == 3


def test_what_is_left_of_cancelled_terms_does_not_count():
    matrix = np.array([[1.0, 1.0], [1.0, 1.0 + 2e-16]])
    assert find_rank(matrix).rank == 1


@pytest.mark.parametrize("shape", [(0, 0), (2, 0), (0, 3)])
def test_empty(shape):
    assert find_rank(np.zeros(shape)).rank == 0


def test_zero_matrix():
    found = find_rank(np.zeros((2, 3)))
    assert found.rank == 0
    assert found.left.shape == (2, 2)


def test_echelon_separates_what_is_separate():
    space = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    vectors = reduce_to_echelon(space)
    assert sorted(np.count_nonzero(vectors, axis=0).tolist()) == [1, 2]


def test_independent_columns_are_independent():
    rng = np.random.default_rng(0)
    matrix = np.column_stack([np.zeros(3), rng.normal(size=(3, 2)), np.ones(3), np.ones(3)])
    assert np.linalg.matrix_rank(matrix[:, choose_independent_columns(matrix)]) == 3


def test_participants_largest_first_and_once():
    assert list_participants(np.array([0.1, -2.0, 1e-12, 0.5]), ("a", "b", "c", "a")) == ["b", "a"]


@pytest.mark.parametrize("seed", range(5))
def test_matrices_that_pass_without_scaling_pass_with_it(seed):
    rng = np.random.default_rng(seed)
    for _ in range(200):
        matrix = rng.standard_normal((4, 4)) * 10 ** rng.uniform(-1.5, 1.5, (4, 1)) * 10 ** rng.uniform(-1.5, 1.5, 4)
        if 1 / np.linalg.cond(matrix, 1) > PLAIN:
            assert 1 / np.linalg.cond(equilibrate(matrix), 1) > 1e3 * REGULAR
