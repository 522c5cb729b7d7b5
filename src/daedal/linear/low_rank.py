"""Symmetric matrices of few directions: factor · core · factorᵀ, with derivatives, and fewer columns where they do.

Where columns of L depend on others, L = L' W with fewer of them, and with K' = W K Wᵀ

    L K Lᵀ = L' K' L'ᵀ,     L' = L G,   G = K Wᵀ K'⁻¹   (W G = I).

G is held still, and derivatives go the same way: dL' K' L'ᵀ = dL K Wᵀ L'ᵀ = dL K Lᵀ. Any other choice of columns gives
the same matrix but not the same derivatives, as K ties the columns that are left out to those that are kept. W is made
of the right singular vectors of L, in the units of its rows and of K, whose singular values are more than rounding.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.linear.dual import Dual

NEGLIGIBLE = 1e-16  # singular value, relative to the largest
SMALLEST = 1e-8  # weight of a column, relative to the largest
REGULAR = 1e8  # condition of K' up to which its inverse keeps the digits that derivatives need


@final
@dataclass(frozen=True, eq=False)
class LowRank:
    """factor (n, k) and core (k, k).

    Examples
    --------
    >>> from daedal.linear.dual import lift
    >>> LowRank(lift(np.array([[1.0], [2.0]]), 0), lift(np.array([[3.0]]), 0)).full.value
    array([[ 3.,  6.],
           [ 6., 12.]])
    """

    factor: Dual
    core: Dual

    @property
    def full(self) -> Dual:
        """The matrix itself."""
        return (self.factor @ self.core @ self.factor.T).symmetric


def find_columns(factor: np.ndarray, core: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """G (k, r) and W (r, k); both the identity where K' has no inverse worth the name.

    Examples
    --------
    >>> G, W = find_columns(np.array([[1.0, 1.0], [2.0, 2.0]]), np.eye(2))
    >>> G.shape, W.shape
    ((2, 1), (1, 2))
    """
    units = np.linalg.norm(factor, axis=1)
    weights = np.sqrt(np.abs(np.diag(core)))
    weights = np.maximum(weights, SMALLEST * weights.max(initial=0.0))
    weights = np.where(weights > 0.0, weights, 1.0)
    _, values, turned = np.linalg.svd(
        factor / np.where(units > 0.0, units, 1.0)[:, None] * weights, full_matrices=False
    )
    W = turned[values > NEGLIGIBLE * values.max(initial=0.0)] / weights
    inner = W @ core @ W.T
    if len(W) == len(core) or not len(W) or np.linalg.cond(inner) > REGULAR:
        return np.eye(len(core)), np.eye(len(core))
    return np.linalg.solve(inner, W @ core).T, W
