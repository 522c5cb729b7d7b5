"""How large tests are that could be larger: `LARGE=1 make test` runs them at the size that takes minutes."""

import os

from scipy.stats import binom, chi2

LARGE = bool(os.environ.get("LARGE"))
RARE = 1e-3  # how often a right program may fall outside a band


def choose(small, large):
    """The size of a test: what is shown is the same, bands are computed from it."""
    return large if LARGE else small


def bound_hits(count: int, share: float = 0.95) -> tuple[int, int]:
    """How often at least and at most, of so many trials, what has this probability happens."""
    return int(binom.ppf(RARE / 2, count, share)), int(binom.isf(RARE / 2, count, share))


def bound_scatter(count: int) -> tuple[float, float]:
    """Between what a standard deviation over its estimate from so many values lies, of normal values."""
    freedom = count - 1
    return tuple((freedom / chi2.isf(tail, freedom)) ** 0.5 for tail in (RARE / 2, 1 - RARE / 2))
