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

    Rows and columns that are to come `last` are eliminated after all others, along their diagonal.
    """
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
