"""How finely a disturbance is generated: the sample interval halved until the fastest pole is resolved.

Between grid points a solver sees a polynomial. With Δ ≤ 0.05/|p|, p the fastest pole, what that leaves out is small
against the disturbance (for a second-order process linear interpolation errs by about (|p|Δ)²/8 of it); from 0.2/|p|
on it is not, and a given grid as coarse as that is used, but with a warning.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.disturbances.noise import Noise
from daedal.disturbances.state_space import realize
from daedal.errors import ModelError, show

FINE = 0.05
COARSE = 0.2
ROUNDING = 1e-9  # of a halving: poles and intervals in other units come to the same grid


@final
@dataclass(frozen=True)
class Grid:
    """Seconds between grid points, and what to tell the user about it (None when there is nothing)."""

    step: float
    warning: str | None = None


def choose_grid(noise: Noise, numbers: Mapping[str, float] | None, sample_interval: float) -> Grid:
    """The grid given with the noise, or the sample interval divided by 2ᵏ until ≤ 0.05/|fastest pole|.

    Examples
    --------
    >>> from daedal.disturbances import FilteredNoise
    >>> choose_grid(FilteredNoise(numerator=[1.0], denominator=[1.0, 0.8, 16.0]), None, 0.1)
    Grid(step=0.0125, warning=None)
    """
    if not (np.isfinite(sample_interval) and sample_interval > 0):
        raise ModelError(
            f"The sample interval must be a positive number of seconds, got {show(sample_interval)}.",
            "Give the time between samples, or a grid with the noise.",
        )
    pole = realize(noise, numbers).fastest_pole
    if noise.grid is not None:
        return Grid(noise.grid, _write_warning(noise.grid, pole))
    halvings = max(0, int(np.ceil(np.log2(sample_interval * pole / FINE) - ROUNDING)))
    return Grid(sample_interval / 2.0**halvings)


def _write_warning(step: float, pole: float) -> str | None:
    if step <= COARSE / pole:
        return None
    return (
        f"The grid of {step:g} s is coarse for a disturbance whose fastest pole is at {pole:.3g} rad/s: "
        f"{FINE / pole:.2g} s or less resolves it."
    )
