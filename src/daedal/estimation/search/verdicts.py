"""How far the data determine a parameter, in words."""

from typing import Literal

import numpy as np

from daedal.estimation.problem import Coordinate, has_finite_bounds

Verdict = Literal["determined", "loosely determined", "not determined", "at its bound", "known from its prior"]

LOOSE = 0.5  # standard error relative to the value
ORDERS = 2.3  # standard error of a logarithm: a factor of ten
FEW = 0.1  # share from the data below which an estimate is its prior
LOST = 10.0  # standard error of a parameter without bounds, relative to its value


def judge_estimate(
    item: Coordinate, value: float, deviation: float, at_bound: bool, from_data: float | None = None
) -> Verdict:
    """The verdict on an estimate whose φ has this standard deviation, and of which this share is from the data.

    Not determined: the data leave it more open than its bounds do (a standard error beyond that of a uniform
    distribution between them), or open by orders of magnitude.
    """
    if at_bound:
        return "at its bound"
    # A linear parameter that starts at zero, such as an offset, has no size of its own to compare with.
    size = 1.0 if item.logarithmic else max(abs(value), abs(item.start)) if item.start else np.inf
    if not np.isfinite(deviation) or deviation > _find_limit(item, size):
        return "not determined"
    if from_data is not None and from_data < FEW:
        return "known from its prior"
    return "loosely determined" if deviation > LOOSE * size else "determined"


def judge_interval(
    verdict: Verdict, item: Coordinate, value: float, reach: float, *, open_between_bounds: bool, ambiguous: bool
) -> Verdict:
    """The verdict on an estimate in the light of its interval, which others at bounds and other minima have widened.

    `reach` is the longer part of the interval of φ as standard deviations of a normal distribution;
    `open_between_bounds` where it goes from bound to bound, which determines nothing; `ambiguous` where another minimum
    has a clearly different value.
    """
    if verdict in ("not determined", "known from its prior"):
        return verdict
    if open_between_bounds:
        return "not determined"
    if verdict == "at its bound":
        return verdict
    widened = judge_estimate(item, value, reach, at_bound=False)
    return "loosely determined" if widened == "determined" and ambiguous else widened


def _find_limit(item: Coordinate, size: float) -> float:
    """The standard deviation that means no knowledge."""
    limit = ORDERS if item.logarithmic else LOST * size
    if not has_finite_bounds(item):
        return limit
    lower, upper = np.log([item.lower, item.upper]) if item.logarithmic else (item.lower, item.upper)
    return min(limit, float(upper - lower) / np.sqrt(12.0))
