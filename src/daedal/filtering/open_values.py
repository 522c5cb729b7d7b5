"""The open values at the start that samples determine, by orthogonalising what they do to the innovations.

With e(δ) = e₀ + E δ and variances S, S^{−½} E = U R column by column, in the order of the values:

    δ̂ = −R⁻¹ Uᵀ S^{−½} e₀,   cov δ̂ = R⁻¹ R⁻ᵀ,   ½ log det Eᵀ S⁻¹ E = Σ log R_kk, which moves by tr R⁻¹ Uᵀ d(S^{−½} E).

A value whose column the columns before it explain is left at zero: the samples cannot tell it from the others. The rest
are then the minimum of a smooth function, whose slope is exact; squaring E first would lose half of the digits.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.linalg import solve_triangular

from daedal.linear.dual import Dual

TOLD = 1e-8  # of a column, once those before it are taken out, relative to its length


@final
@dataclass(frozen=True, eq=False)
class OpenValues:
    """δ̂ (δ,), zero where not kept; `kept` are those that the samples tell apart, with U (event, kept) and R⁻¹."""

    best: np.ndarray
    kept: tuple[int, ...]
    basis: np.ndarray
    inverse: np.ndarray

    @property
    def covariance(self) -> np.ndarray:
        """Of δ̂ (δ, δ), zero where not kept."""
        result = np.zeros((self.best.size, self.best.size))
        result[np.ix_(self.kept, self.kept)] = self.inverse @ self.inverse.T
        return result

    @property
    def half_log_determinant(self) -> float:
        """½ log det Eᵀ S⁻¹ E."""
        return -float(np.sum(np.log(np.diag(self.inverse))))

    def half_log_determinant_slopes(self, E: Dual, s: Dual) -> np.ndarray:
        """Its derivatives (direction,)."""
        kept = list(self.kept)
        columns, root = E.value[:, kept], np.sqrt(s.value)
        white = E.slopes[:, :, kept] / root[:, None] - 0.5 * columns * (s.slopes / (s.value * root))[..., None]
        return np.einsum("ik,dik->d", self.basis @ self.inverse.T, white)


def open_values(e: np.ndarray, E: np.ndarray, s: np.ndarray) -> OpenValues:
    """The best open values for innovations e (event,), E (event, δ) with variances s (event,)."""
    size, root = E.shape[1], np.sqrt(s)
    white = E / root[:, None]
    basis, R, kept = np.zeros((len(e), 0)), np.zeros((0, 0)), []
    for k in range(size):
        column, length = white[:, k], float(np.linalg.norm(white[:, k]))
        shares = np.zeros(len(kept))
        for _ in range(2):
            share = basis.T @ column
            column, shares = column - basis @ share, shares + share
        left = float(np.linalg.norm(column))
        if left > TOLD * length:
            basis = np.column_stack([basis, column / left])
            R = np.block([[R, shares[:, None]], [np.zeros((1, len(kept))), np.array([[left]])]])
            kept.append(k)
    inverse = solve_triangular(R, np.eye(len(kept))) if kept else R
    best = np.zeros(size)
    best[kept] = -inverse @ (basis.T @ (e / root))
    return OpenValues(best, tuple(kept), basis, inverse)
