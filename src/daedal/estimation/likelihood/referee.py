"""Whether an approximation of log L can be trusted at its maximum: particles judge it.

Let ℓ be the approximation, C its information and L the likelihood itself, as particle filters know it. A gap log L − ℓ
that is the same everywhere is harmless; one that changes along a parameter moves the maximum, to first order by

    δ = C⁻¹ ∂(log L − ℓ),

which the score of the particles (Fisher's identity, exact but for its Monte-Carlo error) tells at one point, for all
parameters at once and without the noise of differences of log L. The approximation is biased where δ is more than a
share of a standard error and than chance; where chance is larger than that, more particles are asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.filtering import PooledRuns

BIASED = 0.3  # standard errors that an approximation may move an estimate by
CHANCE = 2.0  # standard deviations of the Monte-Carlo error
BLIND = 0.25  # Monte-Carlo error of δ, in standard errors, beyond which nothing can be said


@final
@dataclass(frozen=True, eq=False)
class Verdict:
    """How far each estimate would move, in its standard errors, the Monte-Carlo error of that, and the gap of log L."""

    names: tuple[str, ...]
    shifts: np.ndarray
    noise: np.ndarray
    gap: float
    gap_error: float

    @property
    def biased(self) -> bool:
        """Whether an estimate would move by more than it may, for certain."""
        return bool(np.any(np.abs(self.shifts) > BIASED + CHANCE * self.noise))

    @property
    def blind(self) -> bool:
        """Whether chance may hide a bias."""
        return not self.biased and bool(np.any(~(self.noise <= BLIND)))

    def describe(self) -> str:
        """In words, the parameter that moves farthest first."""
        if not self.names:
            return f"particles find a log likelihood that is {self.gap:+.2g} ± {self.gap_error:.1g} off"
        worst = int(np.argmax(np.abs(self.shifts) - CHANCE * self.noise))
        return (
            f"particles would move {self.names[worst]} by {self.shifts[worst]:+.2f} ± {self.noise[worst]:.2f} standard "
            f"errors, and find log likelihood {self.gap:+.2f} ± {self.gap_error:.2f} off"
        )


def judge(
    names: Sequence[str], loglik: float, gradient: np.ndarray, information: np.ndarray, pooled: PooledRuns
) -> Verdict:
    """Of an approximation with this value, gradient of its negative and information, by runs at the same point.

    Parameters that the approximation holds not to be determined are left out.
    """
    memory = pooled.choose_memory()
    diagonal = np.diag(information)
    known = np.flatnonzero(diagonal > 0.0)
    chosen = np.ix_(known, known)
    inverse = np.linalg.pinv(information[chosen], hermitian=True)
    errors = np.sqrt(np.maximum(np.diag(inverse), 1e-300))
    shift = inverse @ (pooled.score(memory) + gradient)[known]
    scatter = inverse @ pooled.scatter(memory)[chosen] @ inverse
    return Verdict(
        tuple(names[k] for k in known),
        shift / errors,
        np.sqrt(np.maximum(np.diag(scatter), 0.0)) / errors,
        pooled.loglik - loglik,
        pooled.loglik_error,
    )
