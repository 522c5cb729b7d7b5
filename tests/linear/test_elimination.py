"""Symbolic elimination against numpy, on random sparse systems."""

import casadi as ca
import numpy as np
import pytest

from daedal import memory
from daedal.errors import OutOfMemoryError
from daedal.linear import elimination
from daedal.linear.elimination import factorize


def sparse(rng, size, density):
    """A regular random sparse matrix whose pattern has a full transversal."""
    while True:
        matrix = np.where(rng.random((size, size)) < density, rng.normal(size=(size, size)), 0.0)
        matrix[np.arange(size), rng.permutation(size)] = rng.uniform(0.5, 2.0, size) * rng.choice([-1, 1], size)
        if np.linalg.cond(matrix) < 1e6:
            return matrix


def on_symbols(matrix):
    """The same pattern with symbols for entries, and the numbers that belong to them."""
    pattern = ca.DM(matrix).sparsity() if np.all(matrix) else ca.sparsify(ca.DM(matrix)).sparsity()
    symbols = ca.SX.sym("a", pattern)
    return symbols, ca.DM(pattern, matrix.T[matrix.T != 0])


@pytest.mark.parametrize("density", [0.0, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("size", [1, 2, 5, 12, 25])
def test_random_systems(size, density):
    rng = np.random.default_rng([size, int(10 * density)])
    for _ in range(3):
        matrix, right = sparse(rng, size, density), rng.normal(size=(size, 3))
        symbols, numbers = on_symbols(matrix)
        factors = factorize(symbols, matrix)
        b = ca.SX.sym("b", size)
        solve = ca.Function("solve", [symbols, b], [factors.solve(b)])
        found = np.column_stack([solve(numbers, column).full() for column in right.T])  # several right-hand sides
        np.testing.assert_allclose(found, np.linalg.solve(matrix, right), rtol=1e-9, atol=1e-9)


def test_the_factors_serve_at_other_numbers_of_the_same_pattern():
    rng = np.random.default_rng(4)
    matrix = sparse(rng, 10, 0.2)
    symbols, numbers = on_symbols(matrix)
    b = ca.SX.sym("b", 10)
    solve = ca.Function("solve", [symbols, b], [factorize(symbols, matrix).solve(b)])
    moved = matrix * rng.uniform(0.9, 1.1, matrix.shape)
    right = rng.normal(size=10)
    found = solve(ca.DM(numbers.sparsity(), moved.T[matrix.T != 0]), right).full().ravel()
    np.testing.assert_allclose(found, np.linalg.solve(moved, right), rtol=1e-8)


def test_pivots_are_taken_where_the_numbers_are_large():
    """[[ε, 1], [1, 1]]: eliminating with ε would lose all digits."""
    matrix = np.array([[1e-18, 1.0], [1.0, 1.0]])
    symbols = ca.SX.sym("a", 2, 2)
    b = ca.SX.sym("b", 2)
    solve = ca.Function("solve", [symbols, b], [factorize(symbols, matrix).solve(b)])
    np.testing.assert_allclose(solve(matrix, [1.0, 2.0]).full().ravel(), [1.0, 1.0], rtol=1e-15)


def test_an_entry_that_is_zero_at_the_nominal_point_is_not_a_pivot():
    matrix = np.array([[0.0, 2.0], [3.0, 0.0]])
    symbols = ca.SX.sym("a", 2, 2)
    b = ca.SX.sym("b", 2)
    solve = ca.Function("solve", [symbols, b], [factorize(symbols, matrix).solve(b)])
    np.testing.assert_allclose(solve(matrix, [4.0, 6.0]).full().ravel(), [2.0, 2.0])


def test_a_tridiagonal_matrix_fills_nothing_in():
    size = 30
    matrix = 2 * np.eye(size) - np.eye(size, k=1) - np.eye(size, k=-1)
    symbols, _ = on_symbols(matrix)
    factors = factorize(symbols, matrix)
    assert sum(map(len, factors.lower)) == size - 1
    assert sum(map(len, factors.upper)) == size - 1


@pytest.mark.parametrize(
    "matrix",
    [np.zeros((1, 1)), np.array([[1.0, 2.0], [2.0, 4.0]]), np.array([[0.0, 1.0], [0.0, 2.0]]), np.ones((3, 3))],
    ids=["zero", "proportional", "empty column", "ones"],
)
def test_a_singular_matrix_is_refused(matrix):
    with pytest.raises(np.linalg.LinAlgError, match="singular at the nominal point"):
        factorize(ca.SX.sym("a", *matrix.shape), matrix)


def test_a_matrix_that_is_singular_up_to_rounding_is_refused():
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(6, 5)) @ rng.normal(size=(5, 6))
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        factorize(ca.SX.sym("a", 6, 6), matrix)


def test_a_small_entry_that_no_cancellation_made_is_a_pivot():
    matrix = np.array([[1.0, 0.0], [1e15, 1e-3]])
    symbols, numbers = on_symbols(matrix)
    b = ca.SX.sym("b", 2)
    solve = ca.Function("solve", [symbols, b], [factorize(symbols, matrix).solve(b)])
    np.testing.assert_allclose(solve(numbers, [0.0, 1.0]).full().ravel(), [0.0, 1000.0])


@pytest.mark.parametrize("unit", [1.0, 5e-4, 1e-5])
def test_pivots_suit_several_values_whatever_the_unit_of_a_column(unit):
    """An ideal diode: on each side another row holds the last unknown."""
    sides = np.array(
        [
            [[-1.0, -unit, 0.0], [1.0, 0.0, -1.0], [0.0, unit, 0.0]],
            [[-1.0, -unit, 0.0], [1.0, 0.0, 0.0], [0.0, unit, -1.0]],
        ]
    )
    symbols = ca.SX.sym("a", ca.Sparsity(ca.DM(np.abs(sides).sum(axis=0)).sparsity()))
    b = ca.SX.sym("b", 3)
    solve = ca.Function("solve", [symbols, b], [factorize(symbols, sides).solve(b)])
    rows, columns = symbols.sparsity().get_triplet()
    for side in sides:
        found = solve(ca.DM(symbols.sparsity(), side[rows, columns]), [1.0, 2.0, 4.0]).full().ravel()
        np.testing.assert_allclose(found, np.linalg.solve(side, [1.0, 2.0, 4.0]), rtol=1e-9)


def test_nothing_to_solve():
    assert factorize(ca.SX(0, 0), np.zeros((0, 0))).solve(ca.SX(0, 1)).shape == (0, 1)


def choose_by_looking_at_all(matrix):
    """Markowitz: each time, of all entries that are left and large enough, the one with the fewest fill-ins."""
    rest, rows, columns, order = matrix.copy(), set(range(len(matrix))), set(range(len(matrix))), []
    filled = matrix != 0.0
    while rows:
        candidates = []
        for i in rows:
            largest = max(abs(rest[i, j]) for j in columns)
            for j in columns:
                if filled[i, j] and abs(rest[i, j]) >= 0.1 * largest and rest[i, j] != 0.0:
                    fill = (sum(filled[i, k] for k in columns) - 1) * (sum(filled[k, j] for k in rows) - 1)
                    candidates.append((fill, -abs(rest[i, j]) / largest, i, j))
        _, _, row, column = min(candidates)
        order.append((row, column))
        rows.remove(row)
        columns.remove(column)
        for i in rows:
            if filled[i, column]:
                rest[i] -= rest[i, column] / rest[row, column] * rest[row]
                filled[i] |= filled[row]
    return order


@pytest.mark.parametrize("density", [0.1, 0.3, 1.0])
def test_pivots_are_those_with_the_fewest_fill_ins_of_all(density):
    for seed in range(5):
        matrix = sparse(np.random.default_rng([seed, int(10 * density)]), 12, density)
        symbols, _ = on_symbols(matrix)
        assert list(factorize(symbols, matrix).pivots) == choose_by_looking_at_all(matrix)


@pytest.mark.parametrize("density", [0.1, 1.0])
def test_products_are_counted_before_code_is_written(monkeypatch, density):
    """Those that are written afterwards; a full matrix of n unknowns has (n − 1) n (2n − 1) / 6."""
    matrix = sparse(np.random.default_rng(3), 20, density)
    symbols, _ = on_symbols(matrix)
    counted = []
    monkeypatch.setattr(elimination, "_check_room", lambda size, products: counted.append((size, products)))
    factors = factorize(symbols, matrix)
    products = sum(len(below) * len(right) for below, right in zip(factors.lower, factors.upper, strict=True))
    assert counted == [(20, products)]
    if density == 1.0:
        assert products == 19 * 20 * 39 // 6


def test_too_many_products_are_refused_before_code_is_written(monkeypatch):
    monkeypatch.setattr(memory, "find_available", lambda: float(1 << 30))
    matrix = np.random.default_rng(0).normal(size=(150, 150)) + 20.0 * np.eye(150)
    with pytest.raises(OutOfMemoryError, match=r"eliminates 150 unknowns, 1.1e\+06 products, needs about .* GiB"):
        factorize(ca.SX.sym("a", 150, 150), matrix)
