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

from daedal.linear import Dual, stack

REGULAR = 1e-6  # smallest eigenvalue of A, scaled to a unit diagonal, with which it counts as regular
LEARNED = 2000  # samples after which the start is as good as known
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


def measure_shown(X: Dual, weights: np.ndarray) -> Dual:
    """½ log det Xᵀ W X of columns X (event, δ) and weights W (event,)."""
    root = np.sqrt(weights)[:, None]
    basis, R = np.linalg.qr(X.value * root)
    turned = basis @ solve_triangular(R, np.eye(len(R))).T
    value = np.array(np.sum(np.log(np.abs(np.diag(R)))))
    return Dual(value, np.einsum("ik,dik->d", turned, X.slopes * root))


def forget_start(e: Dual, E: Dual, s: Dual) -> tuple[Dual, Dual]:
    """e and s of samples that know of the open values only what the samples before them tell, with a flat prior.

    With A = Σ Eᵀ E/s and b = −Σ Eᵀ e/s over the samples before, e + E A⁻¹ b with variance s + E A⁻¹ Eᵀ. The first
    samples, which A needs to become regular, are left out; much later ones have nothing left to learn about the start,
    which is then taken as known.
    """
    near = slice(0, LEARNED)
    columns, weighed = E.value[near], E.value[near] / s.value[near, None]
    A = _sum_before(np.einsum("ki,kj->kij", weighed, columns))
    first = _find_first_regular(A)
    if first is None:
        return e[:0], s[:0]
    now = slice(first, min(LEARNED, e.value.size))
    moved = E.slopes[:, near] / s.value[near, None] - weighed * (s.slopes[:, near] / s.value[near])[..., None]
    dA = _sum_before(
        np.einsum("dki,kj->dkij", moved, columns) + np.einsum("ki,dkj->dkij", weighed, E.slopes[:, near]), axis=1
    )[:, now]
    b = _sum_before(-weighed * e.value[near, None])[now]
    db = _sum_before(-moved * e.value[near, None] - weighed * e.slopes[:, near, None], axis=1)[:, now]
    inverse = np.linalg.inv(A[now])
    known = np.einsum("kij,kj->ki", inverse, b)
    change = np.einsum("kij,dkj->dki", inverse, db - np.einsum("dkij,kj->dki", dA, known))
    row, slopes = E.value[now], E.slopes[:, now]
    spread = np.einsum("kij,kj->ki", inverse, row)
    early_e = Dual(
        e.value[now] + np.sum(row * known, axis=1),
        e.slopes[:, now] + np.einsum("dki,ki->dk", slopes, known) + np.einsum("ki,dki->dk", row, change),
    )
    early_s = Dual(
        s.value[now] + np.sum(row * spread, axis=1),
        s.slopes[:, now]
        + 2.0 * np.einsum("dki,ki->dk", slopes, spread)
        - np.einsum("ki,dkij,kj->dk", spread, dA, spread),
    )
    best = find_open_values(e.value, E.value, s.value).best
    late = slice(LEARNED, e.value.size)
    late_e = Dual(e.value[late] + E.value[late] @ best, e.slopes[:, late] + E.slopes[:, late] @ best)
    return stack([early_e, late_e]), stack([early_s, Dual(s.value[late], s.slopes[:, late])])


def _sum_before(terms: np.ndarray, axis: int = 0) -> np.ndarray:
    """Sums over all events before each."""
    return np.cumsum(terms, axis=axis) - terms


def _find_first_regular(A: np.ndarray) -> int | None:
    """The first event before which the samples determine all open values."""
    scale = np.sqrt(np.maximum(np.einsum("kii->ki", A), 1e-300))
    smallest = np.linalg.eigvalsh(A / (scale[:, :, None] * scale[:, None]))[:, 0]
    regular = np.flatnonzero(smallest > REGULAR)
    return int(regular[0]) if regular.size else None


def find_open_values(e: np.ndarray, E: np.ndarray, s: np.ndarray) -> OpenValues:
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
