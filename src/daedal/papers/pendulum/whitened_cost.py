"""Least squares after whitening: data and prediction filtered by an autoregression of the residual.

A disturbance makes the residual r = y − ŷ(θ̂) of a mean predictor strongly correlated in time, and plain least squares
then weighs it wrongly. With the autoregression e(t) = Σᵢ aᵢ r(t − i), a₀ = 1, i ≤ p, of each data set's own residual
(`daedal.estimation.problem.autoregression`), the filtered cost

    Σ_{t ≥ p} (Σᵢ aᵢ (y(t − i) − ŷ(t − i; θ)))² = |A y|² − 2 ⟨AᵀA y, ŷ⟩ + Σᵢⱼ aᵢ aⱼ Φᵢⱼ(ŷ, ŷ)

is nearly that of generalised least squares. The lagged products of the predictions do not depend on the data, and

    Φᵢⱼ(v, v') = Σ_{t=p}^{n−1} v(t − i) v'(t − j),
    Φᵢ₊₁,ⱼ₊₁ = Φᵢⱼ + v(p − 1 − i) v'(p − 1 − j) − v(n − 1 − i) v'(n − 1 − j),

so that 2p + 1 sums over time give all of them, without the ends of the record being cut off or padded.
"""

from typing import Literal

import numpy as np

from daedal.estimation import fit_autoregression
from daedal.papers.pendulum.interpolated_cost import GridPredictor, InterpolatedCost, cut_cells
from daedal.progress import Progress

ORDER = 30
TOGETHER = 50  # data sets whose filtered copies are held at a time


def whiten_cost(
    predictor: GridPredictor, data: np.ndarray, estimates: np.ndarray, order: int = ORDER
) -> InterpolatedCost:
    """The cost of data (data set, time), each filtered by the autoregression of its residual at its own estimate."""
    lagged = _multiply_lagged(predictor, order)
    square, cross = np.empty(len(data)), np.empty((len(data), len(predictor.rows)))
    gram = np.empty((len(data), *lagged.shape[2:]))
    with Progress(f"whitening {data.shape[1]} samples: data set", end=len(data)) as progress:
        for first in range(0, len(data), TOGETHER):
            some = slice(first, first + TOGETHER)
            residuals = data[some] - predictor.at(estimates[some])
            filters = np.stack([fit_autoregression([residual], order).polynomial for residual in residuals])
            forward = _filter(data[some], filters, mode="valid")
            square[some] = np.einsum("et,et->e", forward, forward)
            cross[some] = _filter(forward, filters[:, ::-1], mode="full") @ predictor.rows.T
            gram[some] = np.tensordot(filters[:, :, None] * filters[:, None, :], lagged, axes=2)
            progress(first)
    return InterpolatedCost(predictor.grid, square, cross, gram)


def _filter(rows: np.ndarray, filters: np.ndarray, mode: Literal["valid", "full"]) -> np.ndarray:
    return np.stack([np.convolve(row, one, mode=mode) for row, one in zip(rows, filters, strict=True)])


def _multiply_lagged(predictor: GridPredictor, order: int) -> np.ndarray:
    """Φ between the four rows of each cell of the grid, (i, j, cell, 4, 4)."""
    rows, length = predictor.rows, predictor.rows.shape[1]
    products = np.empty((order + 1, order + 1, len(predictor.grid) - 1, 4, 4))
    for lag in range(order + 1):
        lagged = rows[:, order:] @ rows[:, order - lag : length - lag].T
        products[0, lag], products[lag, 0] = cut_cells(lagged), cut_cells(lagged.T)
    before, after = _cut_ends(rows, order)
    for i in range(order):
        for j in range(order):
            entering = np.outer(before[:, i], before[:, j]) - np.outer(after[:, i], after[:, j])
            products[i + 1, j + 1] = products[i, j] + cut_cells(entering)
    return products


def _cut_ends(rows: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """v(p − 1 − i) and v(n − 1 − i) for i = 0 … p − 1, (row, i)."""
    return rows[:, :order][:, ::-1], rows[:, -order:][:, ::-1]
