"""Matrices that carry their derivatives along several directions through products and sums."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np


@final
@dataclass(frozen=True, eq=False)
class Dual:
    """A matrix or vector (…), and its derivatives (direction, …).

    Examples
    --------
    >>> x = Dual(np.array([[3.0]]), np.array([[[1.0]]]))
    >>> (x @ x).slopes
    array([[[6.]]])
    """

    value: np.ndarray
    slopes: np.ndarray

    def __add__(self, other: "Dual") -> "Dual":
        return Dual(self.value + other.value, self.slopes + other.slopes)

    def __sub__(self, other: "Dual") -> "Dual":
        return Dual(self.value - other.value, self.slopes - other.slopes)

    def __neg__(self) -> "Dual":
        return Dual(-self.value, -self.slopes)

    def __matmul__(self, other: "Dual") -> "Dual":
        return Dual(self.value @ other.value, self.slopes @ other.value + self.value @ other.slopes)

    def __mul__(self, other: "Dual") -> "Dual":
        return Dual(self.value * other.value, self.slopes * other.value + self.value * other.slopes)

    def __getitem__(self, place: Any) -> "Dual":
        return Dual(self.value[place], self.slopes[:, *(place if isinstance(place, tuple) else (place,))])

    @property
    def T(self) -> "Dual":
        """The transpose of a matrix."""
        return Dual(self.value.T, self.slopes.swapaxes(-1, -2))

    @property
    def symmetric(self) -> "Dual":
        """Half the sum of the matrix and its transpose."""
        return Dual(0.5 * (self.value + self.value.T), 0.5 * (self.slopes + self.slopes.swapaxes(-1, -2)))

    def solve(self, right: "Dual") -> "Dual":
        """The inverse of this matrix times `right`."""
        solution = np.linalg.solve(self.value, right.value)
        moved = right.slopes - self.slopes @ solution
        slopes = np.linalg.solve(self.value, moved) if len(self.slopes) else right.slopes
        return Dual(solution, slopes.reshape(len(self.slopes), *solution.shape))


def lift(value: np.ndarray, directions: int) -> Dual:
    """A matrix that does not move."""
    value = np.asarray(value, dtype=float)
    return Dual(value, np.zeros((directions, *value.shape)))


def stack(parts: Sequence[Dual], axis: int = 0) -> Dual:
    """Matrices below each other, or (axis 1) beside each other."""
    return Dual(
        np.concatenate([part.value for part in parts], axis), np.concatenate([part.slopes for part in parts], axis + 1)
    )


def stack_diagonally(parts: Sequence[Dual], directions: int) -> Dual:
    """Matrices along the diagonal of one that is zero elsewhere."""
    rows, columns = (sum(part.value.shape[axis] for part in parts) for axis in (0, 1))
    value, slopes = np.zeros((rows, columns)), np.zeros((directions, rows, columns))
    row = column = 0
    for part in parts:
        below, beside = row + part.value.shape[0], column + part.value.shape[1]
        value[row:below, column:beside], slopes[:, row:below, column:beside] = part.value, part.slopes
        row, column = below, beside
    return Dual(value, slopes)
