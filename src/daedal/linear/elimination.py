"""Gaussian elimination on symbols: straight-line code for small sparse systems, with pivots chosen on numbers.

    P A Q = L U,    A x = b   by forward and back substitution on CasADi SX entries.

The pivot order is fixed by the values at one nominal point (Markowitz: fewest fill-ins among entries of at least a
tenth of the largest in their row); whoever uses the code elsewhere has to watch the residual.

Reference: I. S. Duff, A. M. Erisman, J. K. Reid, Direct Methods for Sparse Matrices, 2nd ed., Oxford 2017, ch. 7.
"""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedal.memory import check_memory
from daedal.progress import announce

THRESHOLD = 0.1  # of the largest entry in a row: what a pivot must have
POOR = 1e-6  # the same for one that shall suit several values of a matrix where no better one is left
VANISHING = 1e-9  # of the largest entry of its row: what is no pivot
ROUNDING = 1e-13  # of the terms that were added up: a sum as small as this is zero and no pivot
ROOMY = 50_000  # products for which there is room on every machine
BYTES = 2000.0  # that a product takes until it is compiled, about: it is subtracted from something
SECONDS = 4e-4  # the same in time

_Candidate = tuple[int, float, int, int]  # fill-ins, minus the share of the largest in its row, row and column


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
    symbols: list[dict[int, ca.SX]] = [{} for _ in numbers]
    for i, j in zip(*matrix.sparsity().get_triplet(), strict=True):
        symbols[i][j] = matrix[i, j]
    pivots, inverses, lower, upper = [], [], [], []
    for row, column, changed in _eliminate(_Rest.begin(matrix.sparsity(), numbers, last), last, order):
        inverse = 1 / symbols[row].pop(column)
        multipliers = []
        for below in changed:
            multiplier = symbols[below].pop(column) * inverse
            multipliers.append((below, multiplier))
            for j, entry in symbols[row].items():
                known = symbols[below].get(j)
                symbols[below][j] = -multiplier * entry if known is None else known - multiplier * entry
        pivots.append((row, column))
        inverses.append(inverse)
        lower.append(tuple(multipliers))
        upper.append(tuple(symbols[row].items()))
    return SymbolicFactors(tuple(pivots), tuple(inverses), tuple(lower), tuple(upper))


def _eliminate(
    rest: "_Rest", last: Sequence[int], order: Sequence[tuple[int, int]] | None
) -> list[tuple[int, int, list[int]]]:
    """Rows and columns of pivots, and the rows that each changes: on numbers alone, before code is written for any.

    Code that is too large is refused here, at the latest as soon as what is left is full.
    """
    size, products, steps, checked = len(rest.rows), 0, [], False
    for count in range(size):
        if not checked and rest.is_full(size - count):
            _check_room(size, products + sum(left * left for left in range(size - count)))
            checked = True
        left = count - (size - len(last))
        if order is not None:
            row, column = order[count]
        else:
            row, column = (last[left], last[left]) if left >= 0 else rest.choose_pivot()
        changed = rest.eliminate(row, column)
        products += len(changed) * len(rest.rows[row])
        steps.append((row, column, changed))
    return steps


def _check_room(size: int, products: int) -> None:
    """Refuse what has no room, and tell what takes long."""
    if products > ROOMY:
        subject = f"Writing code that eliminates {size} unknowns, {products:.1e} products,"
        check_memory(
            BYTES * products, subject, "Divide the model, or simulate with solver=IDA(), which eliminates numbers."
        )
        remedy = "solver=IDA() needs none of it"
        announce(f"Writing and compiling code that eliminates {size} unknowns", SECONDS * products, remedy)


@dataclass(eq=False)
class _Rest:
    """Numbers of what is not eliminated yet, and the best pivot of each row in a queue.

    Of the queue, the first entry that is still the best of its row is the best of all.
    """

    rows: list[dict[int, float]]
    terms: list[dict[int, float]]  # the largest that was added up in each number
    columns: list[set[int]]  # rows that are open in each column
    last: frozenset[int]
    best: dict[int, _Candidate]
    queue: list[_Candidate]
    count: int  # of entries

    @classmethod
    def begin(cls, pattern: ca.Sparsity, numbers: np.ndarray, last: Sequence[int]) -> "_Rest":
        rows: list[dict[int, float]] = [{} for _ in numbers]
        columns: list[set[int]] = [set() for _ in numbers]
        for i, j in zip(*pattern.get_triplet(), strict=True):
            rows[i][j] = float(numbers[i, j])
            columns[j].add(i)
        terms = [{j: abs(value) for j, value in row.items()} for row in rows]
        rest = cls(rows, terms, columns, frozenset(last), {}, [], pattern.nnz())
        rest._rate(range(len(rows)))
        return rest

    def is_full(self, left: int) -> bool:
        """Whether every open row has an entry in every column that is left."""
        return self.count == left * left

    def choose_pivot(self) -> tuple[int, int]:
        """The entry with the fewest fill-ins among those large enough in their row."""
        while self.queue:
            candidate = self.queue[0]
            if self.best.get(candidate[2]) is candidate:
                return candidate[2], candidate[3]
            heapq.heappop(self.queue)
        raise np.linalg.LinAlgError("the matrix is singular at the nominal point")

    def eliminate(self, row: int, column: int) -> list[int]:
        """Take a pivot's row and column out; the rows below that have it changed."""
        pivot_row, pivot_terms = self.rows[row], self.terms[row]
        self.best.pop(row, None)
        for j in pivot_row:
            self.columns[j].discard(row)
        self.count -= len(pivot_row)
        number = pivot_row.pop(column) or 1.0
        changed = sorted(self.columns[column])
        for below in changed:
            values, terms = self.rows[below], self.terms[below]
            self.count -= len(values)
            ratio = values.pop(column) / number
            for j, entry in pivot_row.items():
                values[j] = values.get(j, 0.0) - ratio * entry
                terms[j] = max(terms.get(j, 0.0), abs(ratio) * pivot_terms[j])
                if abs(values[j]) <= ROUNDING * terms[j]:
                    values[j] = 0.0
                self.columns[j].add(below)
            self.count += len(values)
        self._rate(set(changed).union(*(self.columns[j] for j in pivot_row)))
        return changed

    def _rate(self, rows: Iterable[int]) -> None:
        """Find the best pivots of rows again."""
        for i in rows:
            if i not in self.last:
                self._rate_row(i)

    def _rate_row(self, i: int) -> None:
        candidates = {j: abs(value) for j, value in self.rows[i].items() if j not in self.last}
        largest = max(candidates.values(), default=0.0)
        others = len(self.rows[i]) - 1
        best = min(
            (
                (others * (len(self.columns[j]) - 1), -size / largest, i, j)
                for j, size in candidates.items()
                if size >= THRESHOLD * largest and size != 0.0
            ),
            default=None,
        )
        if best is None:
            self.best.pop(i, None)
        elif best != self.best.get(i):
            self.best[i] = best
            heapq.heappush(self.queue, best)


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
