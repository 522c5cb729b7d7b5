"""Σ V: what averaging over few realizations adds to a sum of squares, from how means of groups of them differ.

The formulas are at the top of `mean_objective`, beside this file.
"""

from dataclasses import dataclass

import numpy as np

LARGE, LARGEST = 0.5, 0.75  # share of V in the sum of squares from which it is limited, and below which it stays


def limit_excess(
    excess: float, gradient: np.ndarray, residuals: np.ndarray, jacobian: np.ndarray
) -> tuple[float, np.ndarray]:
    """Σ V as it is up to half of Σ z², beyond that less and less: few realizations that scatter wildly must not pay.

    With r = ΣV/Σz², ΣV becomes s(r) Σz², where s(r) = r up to 0.5 and then bends smoothly towards 0.75.
    """
    total = float(residuals @ residuals)
    if excess <= LARGE * total:
        return excess, gradient
    ratio, width = excess / total if total > 0.0 else np.inf, LARGEST - LARGE
    bent = np.tanh((ratio - LARGE) / width)
    share, slope = LARGE + width * bent, 1.0 - bent**2
    moved = (share - ratio * slope if slope > 0.0 else share) * 2.0 * (jacobian.T @ residuals)
    return share * total, moved + (slope * gradient if slope > 0.0 else 0.0)


@dataclass(frozen=True, eq=False)
class Excess:
    """Σ V, its gradient, and what the Monte-Carlo error of the slopes adds to Σ ψψᵀ."""

    value: float
    gradient: np.ndarray
    curvature: np.ndarray

    def add(self, other: "Excess", rates: np.ndarray) -> "Excess":
        """With that of another series, whose standard deviation moves by these rates."""
        gradient = self.gradient + other.gradient - 2.0 * other.value * rates
        return Excess(self.value + other.value, gradient, self.curvature + other.curvature)


def compute_excess(rows: np.ndarray, counts: np.ndarray, size: int) -> Excess:
    """Of one series; rows are √n_g times the groups' W(ȳ_g − ȳ), then their slopes."""
    groups = len(counts)
    factor = 1.0 / ((groups - 1) * counts.sum())
    apart = np.nan_to_num(rows[:groups])
    slopes = np.nan_to_num(rows[groups:]).reshape(groups, size, rows.shape[1])
    gradient = 2.0 * factor * np.einsum("gt,gct->c", apart, slopes)
    return Excess(factor * float(np.sum(apart**2)), gradient, factor * np.einsum("gct,gdt->cd", slopes, slopes))
