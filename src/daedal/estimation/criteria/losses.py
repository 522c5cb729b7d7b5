"""What a residual costs, where some samples are far off: losses that grow less than squares.

With z a residual in units of its accuracy and C the cutoff of the loss, as in scipy's `least_squares`,

    value = ½ Σ C² ρ(z²/C²),   score = ρ'(z²/C²) z,   so that   gradient = −Σ ψ · score   for slopes ψ of predictions.

C is such that with normal noise estimates scatter by 1/√0.95 of those by least squares. As squares of bent residuals,

    z̃ = sign(z) C √ρ(z²/C²),   dz̃/dz = score / z̃,

a value is ½ Σ z̃². At a minimum the error of the estimate is H⁻¹ Σ ψ · score with H = mean(d score/dz) Σ ψψᵀ to first
order, the noise being as likely to be large at one sample as at another: the sandwich formula holds with scores in
place of residuals.

The unit of the residuals of an output, where no accuracy is declared, is that of the better half of them:
median |r| / 0.6745, which is the standard deviation where they are normal, and bears up to a half of outliers.

Reference: P. J. Huber, E. M. Ronchetti, Robust Statistics, 2nd ed. (2009), chapters 3, 6 and 7.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from daedal.errors import EstimationError, nearest, show

HALF = 0.6744897501960817  # of the samples of a normal distribution lie within so many standard deviations
LEAST = 0.01  # of the curvature of the squares of bent residuals: where all are far off, H still has a size

Function = Callable[[np.ndarray], np.ndarray]


@final
@dataclass(frozen=True, eq=False)
class Loss:
    """A loss by functions of u = z/C: ρ(u²), its score ρ'(u²) u, and the derivative of that."""

    name: str
    cutoff: float
    height: Function
    slope: Function
    bend: Function

    def score(self, residuals: np.ndarray) -> np.ndarray:
        """What residuals count as; NaN stays."""
        return self.cutoff * self.slope(residuals / self.cutoff)

    def square(self, residuals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """z̃ and dz̃/dz."""
        u = residuals / self.cutoff
        bent = np.sign(u) * np.sqrt(self.height(u))
        return self.cutoff * bent, np.divide(self.slope(u), bent, out=np.ones_like(u), where=bent != 0.0)

    def measure_curvature(self, residuals: np.ndarray) -> float:
        """The mean of d score/dz over the residuals of an output."""
        known = residuals[np.isfinite(residuals)]
        if not known.size:
            return 0.0
        _, rates = self.square(known)
        return max(float(np.mean(self.bend(known / self.cutoff))), LEAST * float(np.mean(rates**2)))


LOSSES = {
    one.name: one
    for one in (
        Loss(
            "huber",
            1.344998,
            lambda u: np.where(np.abs(u) <= 1.0, u**2, 2.0 * np.abs(u) - 1.0),
            lambda u: np.clip(u, -1.0, 1.0),
            lambda u: np.where(np.abs(u) <= 1.0, 1.0, 0.0),
        ),
        Loss(
            "soft_l1",
            1.287099,
            lambda u: 2.0 * u**2 / (np.sqrt(1.0 + u**2) + 1.0),
            lambda u: u / np.sqrt(1.0 + u**2),
            lambda u: (1.0 + u**2) ** -1.5,
        ),
        Loss(
            "cauchy",
            2.384947,
            lambda u: np.log1p(u**2),
            lambda u: u / (1.0 + u**2),
            lambda u: (1.0 - u**2) / (1.0 + u**2) ** 2,
        ),
    )
}


def check_loss(given: Any) -> str:
    """A loss that there is."""
    known = ["linear", *LOSSES]
    if isinstance(given, str) and given in known:
        return given
    raise EstimationError(
        f"The loss must be one of 'linear', 'huber', 'soft_l1' and 'cauchy', got {show(given)}.",
        nearest(given, known) if isinstance(given, str) else "Write loss='huber' where some samples are far off.",
    )


def measure_robustly(residuals: Iterable[np.ndarray]) -> float:
    """The standard deviation of the better half of residuals; NaN do not count, and it is zero of none."""
    pooled = np.concatenate(list(residuals))
    known = pooled[np.isfinite(pooled)]
    return float(np.median(np.abs(known))) / HALF if known.size else 0.0
