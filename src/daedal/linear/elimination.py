"""Gaussian elimination on symbols: straight-line code for small sparse systems, with pivots chosen on numbers.

    P A Q = L U,    A x = b   by forward and back substitution on CasADi SX entries.

The pivot order is fixed by the values at one nominal point (Markowitz: fewest fill-ins among entries of at least a
tenth of the largest in their row); whoever uses the code elsewhere has to watch the residual.

Reference: I. S. Duff, A. M. Erisman, J. K. Reid, Direct Methods for Sparse Matrices, 2nd ed., Oxford 2017, ch. 7.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

THRESHOLD = 0.1  # of the largest entry in a row: what a pivot must have
POOR = 1e-6  # the same for one that shall suit several values of a matrix where no better one is left
VANISHING = 1e-9  # of the largest entry of its row: what is no pivot
ROUNDING = 1e-13  # of the terms that were added up: a sum as small as this is zero and no pivot


@dataclass(frozen=True, eq=False)
class SymbolicFactors:
    """The factors of one matrix; `solve` may be used for any number of right-hand sides."""

    pivots: tuple[tuple[int, int], ...]  # row and column of each pivot, in order
    inverse: tuple[ca.SX, ...]  # 1 / pivot
    lower: tuple[tuple[tuple[int, ca.SX], ...], ...]  # for each pivot: rows below and their multipliers
    upper: tuple[tuple[tuple[int, ca.SX], ...], ...]  # for each pivot: columns to the right and their entries

    def solve(self, right: ca.SX) -> ca.SX:
        """x with A x = right, for a column vector."""
        rest = ca.vertsplit(right) if right.shape[0] else []
        for (row, _), multipliers in zip(self.pivots, self.lower, strict=True):
            for below, multiplier in multipliers:
                rest[below] = rest[below] - multiplier * rest[row]
        solution: dict[int, ca.SX] = {}
        for (row, column), inverse, entries in reversed(list(zip(self.pivots, self.inverse, self.upper, strict=True))):
            value = rest[row]
            for other, entry in entries:
                value = value - entry * solution[other]
            solution[column] = value * inverse
        return ca.vertcat(*(solution[j] for j in range(len(solution)))) if solution else ca.SX(0, 1)


def factorize(matrix: ca.SX, numbers: np.ndarray, last: Sequence[int] = ()) -> SymbolicFactors:
    """Factors of a square sparse SX matrix, with the pivot order that suits `numbers`, its value at a nominal point.

    Of several values, (value, row, column), it suits all where it can, the first in any case. Rows and columns that are
    to come `last` are eliminated after all others, along their diagonal.
    """
    if numbers.ndim == 2:
        return _factorize(matrix, numbers, last)
    usual = _factorize(matrix, numbers[0], last)
    if _suits(usual.pivots, numbers):
        return usual
    return _factorize(matrix, numbers[0], last, _choose_order(numbers, last))


def _factorize(
    matrix: ca.SX, numbers: np.ndarray, last: Sequence[int], order: Sequence[tuple[int, int]] | None = None
) -> SymbolicFactors:
    """Factors with pivots in a given order, or in one that suits the numbers."""
    size = matrix.shape[0]
    symbols: list[dict[int, ca.SX]] = [{} for _ in range(size)]
    values: list[dict[int, float]] = [{} for _ in range(size)]
    terms: list[dict[int, float]] = [{} for _ in range(size)]  # the largest that was added up in each value
    for i, j in zip(*matrix.sparsity().get_triplet(), strict=True):
        symbols[i][j] = matrix[i, j]
        values[i][j] = float(numbers[i, j])
        terms[i][j] = abs(values[i][j])
    pivots, inverses, lower, upper = [], [], [], []
    open_rows = set(range(size))
    for count in range(size):
        left = count - (size - len(last))
        if order is not None:
            row, column = order[count]
        else:
            row, column = (last[left], last[left]) if left >= 0 else _choose_pivot(values, open_rows, last)
        open_rows.discard(row)
        inverse = 1 / symbols[row].pop(column)
        number = values[row].pop(column) or 1.0
        multipliers = []
        for below in sorted(i for i in open_rows if column in values[i]):
            multiplier = symbols[below].pop(column) * inverse
            ratio = values[below].pop(column) / number
            multipliers.append((below, multiplier))
            for j, entry in symbols[row].items():
                known = symbols[below].get(j)
                symbols[below][j] = -multiplier * entry if known is None else known - multiplier * entry
                values[below][j] = values[below].get(j, 0.0) - ratio * values[row][j]
                terms[below][j] = max(terms[below].get(j, 0.0), abs(ratio) * terms[row][j])
                if abs(values[below][j]) <= ROUNDING * terms[below][j]:
                    values[below][j] = 0.0
        pivots.append((row, column))
        inverses.append(inverse)
        lower.append(tuple(multipliers))
        upper.append(tuple(symbols[row].items()))
    return SymbolicFactors(tuple(pivots), tuple(inverses), tuple(lower), tuple(upper))


def _suits(order: Sequence[tuple[int, int]], numbers: np.ndarray) -> bool:
    """Whether no pivot of an order vanishes for any value of a matrix."""
    for values in numbers.copy():
        size, open_rows = np.abs(values).max(axis=1), [row for row, _ in order]
        for row, column in order:
            open_rows.remove(row)
            pivot = values[row, column]
            if not abs(pivot) > VANISHING * size[row]:
                return False
            values[open_rows] -= np.outer(values[open_rows, column] / pivot, values[row])
    return True


def _choose_order(numbers: np.ndarray, last: Sequence[int]) -> list[tuple[int, int]]:
    """Pivots that are large enough in their rows for all values of a matrix, or at least for the first of them."""
    work, order = numbers.copy(), []
    rows = columns = [place for place in range(numbers.shape[1]) if place not in last]
    while rows:
        part = np.abs(work[np.ix_(range(len(work)), rows, columns)])
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.nan_to_num(part / part.max(axis=2, keepdims=True))
        least = share.min(axis=0)
        suitable = least if least.max(initial=0.0) > POOR else share[0]
        if not suitable.max(initial=0.0) > 0.0:
            raise np.linalg.LinAlgError("the matrix is singular at the nominal point")
        present = (part > 0.0).any(axis=0)
        fill = (present.sum(axis=1, keepdims=True) - 1) * (present.sum(axis=0, keepdims=True) - 1)
        cost = np.where(suitable >= min(THRESHOLD, suitable.max()), fill - suitable, np.inf)
        i, j = np.unravel_index(int(np.argmin(cost)), cost.shape)
        row, column = rows[i], columns[j]
        order.append((row, column))
        for values in work:
            if values[row, column] != 0.0:
                below = [other for other in range(len(values)) if other != row and (other in rows or other in last)]
                ratio = values[below, column] / values[row, column]
                values[below] -= ratio[:, None] * values[row]
                values[below, column] = 0.0
        rows, columns = [r for r in rows if r != row], [c for c in columns if c != column]
    return [*order, *((place, place) for place in last)]


def _choose_pivot(values: list[dict[int, float]], open_rows: set[int], last: Sequence[int]) -> tuple[int, int]:
    """The entry with the fewest fill-ins among those large enough in their row."""
    in_column: dict[int, int] = {}
    for i in open_rows:
        for j in values[i]:
            in_column[j] = in_column.get(j, 0) + 1
    best: tuple[float, float, int, int] | None = None
    for i in sorted(open_rows.difference(last)):
        largest = max((abs(value) for j, value in values[i].items() if j not in last), default=0.0)
        for j, value in values[i].items():
            if abs(value) >= THRESHOLD * largest and value != 0.0 and j not in last:
                candidate = ((len(values[i]) - 1) * (in_column[j] - 1), -abs(value) / largest, i, j)
                best = candidate if best is None else min(best, candidate)
    if best is None:
        raise np.linalg.LinAlgError("the matrix is singular at the nominal point")
    return best[2], best[3]
