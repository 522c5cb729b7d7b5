"""Least squares for many data sets that share one predictor, from inner products alone.

The mean ȳ(θ) of an ensemble and its sensitivity ȳ'(θ) do not depend on the data. Known on a grid θ₀ < … < θ_K of
spacing Δ, they give a cubic Hermite interpolant in s = (θ − θᵢ)/Δ, with an error of O(Δ⁴),

    ŷ(θ) = Σⱼ hⱼ(s) vⱼ,   v = (ȳᵢ, Δ ȳ'ᵢ, ȳᵢ₊₁, Δ ȳ'ᵢ₊₁),
    h(s) = (1 − 3s² + 2s³,  s − 2s² + s³,  3s² − 2s³,  s³ − s²),

so that the cost of data y at any θ, with a filter F applied to data and prediction alike or with none, is

    |F(y − ŷ)|² = |F y|² − 2 hᵀ b + hᵀ G h,   b = ⟨F v, F y⟩,   G = ⟨F v, F v⟩.

Once b and G are known, a step of Gauss–Newton, s ← s + h'ᵀ(b − G h) / h'ᵀ G h', costs the same however long the data
are. The search starts at the best value of the grid, so that no local minimum wider than Δ can catch it.

Reference: C. de Boor, A Practical Guide to Splines, Springer 2001, ch. IV (Hermite interpolation).
"""

from dataclasses import dataclass
from typing import final

import numpy as np

ITERATIONS = 100
HALVINGS = 20
SETTLED = 1e-7  # of the spacing: when no step is longer, the search ends


@final
@dataclass(frozen=True, eq=False)
class GridPredictor:
    """Predictions on an even grid of parameter values, and what interpolates them.

    Attributes
    ----------
    grid
        (value,)
    rows
        (2 value, time): prediction, then spacing × sensitivity, of each value in turn.
    """

    grid: np.ndarray
    rows: np.ndarray

    @staticmethod
    def of(grid: np.ndarray, mean: np.ndarray, sensitivity: np.ndarray) -> "GridPredictor":
        """From arrays (value, time)."""
        rows = np.empty((2 * len(grid), mean.shape[1]))
        rows[0::2], rows[1::2] = mean, (grid[1] - grid[0]) * sensitivity
        return GridPredictor(grid, rows)

    def between(self, first: int, last: int) -> "GridPredictor":
        """The samples from `first` up to, not including, `last`."""
        return GridPredictor(self.grid, self.rows[:, first:last])

    def at(self, values: np.ndarray) -> np.ndarray:
        """Predictions (value, time) at any values within the grid."""
        cell, part = _locate(self.grid, values)
        return np.stack([h @ self.rows[2 * i : 2 * i + 4] for h, i in zip(_evaluate_hermite(part), cell, strict=True)])


def _locate(grid: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cell of the grid that each value lies in, and how far, 0 … 1."""
    place = (np.asarray(values, dtype=float) - grid[0]) / (grid[1] - grid[0])
    cell = np.clip(np.floor(place).astype(int), 0, len(grid) - 2)
    return cell, place - cell


def _evaluate_hermite(s: np.ndarray) -> np.ndarray:
    """h(s), (value, 4)."""
    return np.stack([1 - 3 * s**2 + 2 * s**3, s - 2 * s**2 + s**3, 3 * s**2 - 2 * s**3, s**3 - s**2], axis=-1)


def _differentiate_hermite(s: np.ndarray) -> np.ndarray:
    """h'(s), (value, 4)."""
    return np.stack([6 * s**2 - 6 * s, 1 - 4 * s + 3 * s**2, 6 * s - 6 * s**2, 3 * s**2 - 2 * s], axis=-1)


def cut_cells(table: np.ndarray) -> np.ndarray:
    """The 4 × 4 blocks along the diagonal of a (2K, 2K) table that belong to the K − 1 cells of the grid."""
    return np.stack([table[i : i + 4, i : i + 4] for i in range(0, len(table) - 2, 2)])


@final
@dataclass(frozen=True, eq=False)
class InterpolatedCost:
    """The sum of squares of each of E data sets as a function of θ.

    Attributes
    ----------
    square
        |F y|², (data set,).
    cross
        b for all values of the grid, (data set, 2 value).
    gram
        G in each cell, (data set, cell, 4, 4); (1, cell, 4, 4) when all data sets share it.
    """

    grid: np.ndarray
    square: np.ndarray
    cross: np.ndarray
    gram: np.ndarray

    @staticmethod
    def of(predictor: GridPredictor, data: np.ndarray) -> "InterpolatedCost":
        """Without a filter; data are (data set, time)."""
        square = np.einsum("et,et->e", data, data)
        gram = cut_cells(predictor.rows @ predictor.rows.T)[None]
        return InterpolatedCost(predictor.grid, square, data @ predictor.rows.T, gram)

    def on_grid(self) -> np.ndarray:
        """Cost (data set, value) at the values of the grid."""
        own = np.concatenate([self.gram[:, :, 0, 0], self.gram[:, -1:, 2, 2]], axis=1)
        return self.square[:, None] - 2 * self.cross[:, 0::2] + own

    def at(self, values: np.ndarray) -> np.ndarray:
        """Cost of each data set at its own value."""
        part, b, G = self._local(values)
        h = _evaluate_hermite(part)
        return self.square - 2 * np.einsum("ej,ej->e", h, b) + np.einsum("ej,ejk,ek->e", h, G, h)

    def step(self, values: np.ndarray) -> np.ndarray:
        """The step of Gauss–Newton of each data set at its own value."""
        part, b, G = self._local(values)
        slope = _differentiate_hermite(part)
        descent = np.einsum("ej,ej->e", slope, b - np.einsum("ejk,ek->ej", G, _evaluate_hermite(part)))
        return (self.grid[1] - self.grid[0]) * descent / np.einsum("ej,ejk,ek->e", slope, G, slope)

    def _local(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where in its cell each value lies, and b and G there."""
        cell, part = _locate(self.grid, values)
        places = np.arange(len(self.square))
        b = self.cross[places[:, None], 2 * cell[:, None] + np.arange(4)]
        return part, b, self.gram[places if len(self.gram) > 1 else 0, cell]


def search_grid(cost: InterpolatedCost) -> np.ndarray:
    """The grid value of least cost, of each data set."""
    return cost.grid[np.argmin(cost.on_grid(), axis=1)]


def minimize_cost(cost: InterpolatedCost, start: np.ndarray) -> np.ndarray:
    """Minimise the cost of each data set within the grid; a step that does not descend is halved."""
    values = np.array(start, dtype=float)
    reached = cost.at(values)
    for _ in range(ITERATIONS):
        step = np.clip(values + cost.step(values), cost.grid[0], cost.grid[-1]) - values
        for _ in range(HALVINGS):
            risen = cost.at(values + step) > reached
            if not risen.any():
                break
            step[risen] /= 2
        step[cost.at(values + step) > reached] = 0.0  # at the minimum, but for rounding
        values += step
        reached = cost.at(values)
        if np.max(np.abs(step)) < SETTLED * (cost.grid[1] - cost.grid[0]):
            break
    return values
