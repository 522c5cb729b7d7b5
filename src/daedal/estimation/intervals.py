"""Intervals of a fit, from its curvature, its errors, its bounds, and the other minima that were found.

An estimate has the interval φ̂ ± q σ, q being Student's quantile. It is widened, never narrowed, by

- a parameter a at its bound. It is not known to be there: when it leaves the bound by t, the criterion grows by
  |g| t + ½ s t², with g its slope there and s = H_aa − H_aI H_II⁻¹ H_Ia, the others move by −H_II⁻¹ H_Ia t, and of the
  threshold ½ q² λ a part is left for their own. The interval is the hull over all t ≥ 0 that are within it. From the
  lower bound of a log scale it leaves by t = θ^p − a^p, as slopes by the logarithm fade towards zero, with a power p
  other than one where it went to zero (`vanished`, beside this file);
- other minima within the threshold: with Δ the difference of their criterion, each has φ ± √(q² − 2Δ/λ) σ.

λ = cov / H⁻¹ is how much the variance of an estimate exceeds that of white residuals of unit size. What lies beyond a
bound is cut off. `profile` follows the criterion itself, where the curvature does not tell enough.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from daedal.estimation.search import compute_covariance, judge_interval

if TYPE_CHECKING:
    from daedal.estimation.result import Estimate, Fit, LocalMinimum

LEVEL = 0.95  # of intervals that verdicts follow
NORMAL = 1.959963984540054  # standard deviations of a normal distribution that half of one is
POINTS = 41  # t on the way from a bound
LARGEST_LOGARITHM = 700.0


def compute_variances(fit: "Fit") -> np.ndarray:
    """Of φ, data and Monte-Carlo error together; infinite where not determined, NaN at a bound."""
    rates = fit.coordinates.rates(fit.point)
    return np.diag(fit.total_cov) / rates**2


def compute_variance_factors(fit: "Fit") -> np.ndarray:
    """λ_j = cov_jj / (H⁻¹)_jj, (parameter,); what has no variance takes the median of the others.

    One for white residuals of unit size. A parameter at a bound counts as known in cov, so in H too.
    """
    variance = compute_variances(fit)
    inside = np.flatnonzero(~np.isnan(variance))
    alone = np.full(variance.size, np.nan)
    H = fit.curvature[np.ix_(inside, inside)]
    alone[inside] = np.diag(compute_covariance(H))
    usable = np.isfinite(variance) & np.isfinite(alone) & (alone > 0.0) & (variance > 0.0)
    factors = np.divide(variance, alone, out=np.ones(variance.size), where=usable)
    freedom = max(fit.samples - variance.size, 1)
    size = 2.0 * fit.value / freedom  # of the squared residuals, where nothing else tells
    instead = float(np.median(factors[usable])) if usable.any() else size if size > 0.0 else 1.0
    return np.where(usable, factors, instead)


def compute_intervals(fit: "Fit", level: float) -> dict[str, tuple[float, float]]:
    """Name → interval; of an interrupted fit none is known."""
    ends = _find_ends(fit, _list_quantiles(fit, level))
    if fit.status.interrupted:
        return dict.fromkeys(fit.estimates, (np.nan, np.nan))
    return {name: _convert(fit, k, (ends[0][k], ends[1][k])) for k, name in enumerate(fit.estimates)}


def judge_by_intervals(fit: "Fit") -> dict[str, "Estimate"]:
    """The estimates with verdicts that follow their intervals of 95 %."""
    if fit.status.interrupted:
        return dict(fit.estimates)
    quantiles = _list_quantiles(fit, LEVEL)
    low, high = _find_ends(fit, quantiles)
    lower, upper = fit.coordinates.bounds
    ambiguous = {name for _, names in list_ambiguous(fit) for name in names}
    judged = {}
    for k, (name, one) in enumerate(fit.estimates.items()):
        verdict = judge_interval(
            one.verdict,
            fit.coordinates.items[k],
            one.value,
            float(max(high[k] - fit.point[k], fit.point[k] - low[k]) / NORMAL),
            open_between_bounds=bool(low[k] <= lower[k] and upper[k] <= high[k]),
            ambiguous=name in ambiguous,
        )
        judged[name] = replace(one, verdict=verdict)
    return judged


def _list_quantiles(fit: "Fit", level: float) -> np.ndarray:
    return np.array([fit.quantile(level, name) for name in fit.estimates])


def _find_deviations(fit: "Fit") -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.sqrt(compute_variances(fit))


def _find_ends(fit: "Fit", quantiles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the intervals of φ, (parameter,)."""
    low, high = _find_own_ends(fit, quantiles)
    if len(fit.minima) > 1:
        low, high = _add_minima(fit, (low, high), quantiles)
    lower, upper = fit.coordinates.bounds
    return np.where(np.isnan(low), np.nan, np.maximum(low, lower)), np.minimum(high, upper)


def _find_own_ends(fit: "Fit", quantiles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for the best minimum alone, and not cut."""
    deviations = _find_deviations(fit)
    low, high = fit.point - quantiles * deviations, fit.point + quantiles * deviations
    stuck = [k for k, one in enumerate(fit.estimates.values()) if one.at_bound]
    factors = compute_variance_factors(fit) if stuck else np.zeros(0)
    for place in stuck:
        low, high = _leave_bound(fit, _find_bound(fit, place), stuck, (low, high), quantiles, factors)
    return low, high


def _convert(fit: "Fit", place: int, ends: Sequence[float]) -> tuple[float, float]:
    """Ends of φ as those of the parameter itself, which are its bounds where φ ends there."""
    item = fit.coordinates.items[place]
    if not item.logarithmic:
        return float(ends[0]), float(ends[1])
    low, high = (float(np.exp(min(end, LARGEST_LOGARITHM))) for end in ends)
    lower, upper = (bound[place] for bound in fit.coordinates.bounds)
    return item.lower if ends[0] <= lower else max(low, item.lower), item.upper if ends[1] >= upper else high


@dataclass(frozen=True)
class _Bound:
    """The bound that a parameter is at, in s: φ itself, or θ^p at the lower end of a log scale.

    `rate` is ds/dφ, `room` how far the other bound is, `sign` where it would leave to, `pull` the slope of the
    criterion by s.
    """

    place: int
    rate: float
    room: float
    sign: float
    pull: float
    ends: tuple[float, float]  # of φ
    power: float | None = None  # p, at the lower end of a log scale

    def reach(self, distance: float) -> tuple[float, float]:
        """φ from the bound to where it has left it by this much."""
        if self.power is not None:
            with np.errstate(divide="ignore"):
                return self.ends[0], float(np.log(np.exp(self.power * self.ends[0]) + distance)) / self.power
        lower, upper = self.ends
        return (lower, lower + distance) if self.sign > 0.0 else (upper - distance, upper)


def _find_bound(fit: "Fit", place: int) -> _Bound:
    one, item = list(fit.estimates.values())[place], fit.coordinates.items[place]
    lower, upper = (float(bound[place]) for bound in fit.coordinates.bounds)
    sign = 1.0 if abs(fit.point[place] - lower) <= abs(upper - fit.point[place]) else -1.0
    if item.logarithmic and one.pull > 0.0 and (sign > 0.0 or np.isinf(lower)):
        rate, room = one.power * one.value**one.power, item.upper**one.power - item.lower**one.power
        return _Bound(place, rate, room, 1.0, one.pull / rate, (lower, upper), one.power)
    return _Bound(place, 1.0, abs(upper - lower), sign, abs(one.pull), (lower, upper))


def _leave_bound(
    fit: "Fit",
    bound: _Bound,
    stuck: Sequence[int],
    ends: tuple[np.ndarray, np.ndarray],
    quantiles: np.ndarray,
    factors: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The hull over all distances from the bound of one parameter, the others at theirs staying there."""
    low, high = (end.copy() for end in ends)
    place, inside = bound.place, [k for k in range(fit.point.size) if k not in stuck]
    H = fit.curvature
    across = H[inside, place] / bound.rate
    inverse = compute_covariance(H[np.ix_(inside, inside)]) if inside else np.zeros((0, 0))
    known = np.nan_to_num(np.where(np.isfinite(inverse), inverse, 0.0))
    shift = -known @ across
    growth = max(float(H[place, place] / bound.rate**2 + across @ shift), 0.0)
    for k in [place, *inside]:
        room = 0.5 * quantiles[k] ** 2 * factors[k]
        farthest = min(_solve(growth, bound.pull, room), bound.room)
        if k == place:
            own = bound.reach(farthest)
            low[k], high[k] = np.fmin(low[k], own[0]), np.fmax(high[k], own[1])
            continue
        moved = shift[inside.index(k)] * bound.sign
        if not moved:  # nothing that one does shows in the other
            continue
        if not np.isfinite(farthest):
            low[k], high[k] = -np.inf, np.inf
            continue
        t = np.linspace(0.0, farthest, POINTS)
        left = np.sqrt(np.maximum(room - bound.pull * t - 0.5 * growth * t**2, 0.0) / room)
        middle = fit.point[k] + moved * t
        width = 0.5 * (ends[1][k] - ends[0][k]) * left
        low[k], high[k] = np.fmin(low[k], np.min(middle - width)), np.fmax(high[k], np.max(middle + width))
    return low, high


def _solve(growth: float, pull: float, room: float) -> float:
    """t > 0 with pull t + ½ growth t² = room."""
    root = np.sqrt(pull**2 + 2.0 * growth * room)
    return 2.0 * room / (pull + root) if pull + root > 0.0 else np.inf


def list_rivals(fit: "Fit", level: float = LEVEL) -> list["LocalMinimum"]:
    """Other minima that the data allow as well: those that intervals at this level hold."""
    quantiles, factors = _list_quantiles(fit, level), compute_variance_factors(fit)
    return [one for one in fit.minima[1:] if np.any(_find_room(fit, one, quantiles, factors) > 0.0)]


def list_ambiguous(fit: "Fit") -> list[tuple["LocalMinimum", list[str]]]:
    """Other minima that intervals of 95 % hold, each with the parameters that are there clearly elsewhere."""
    if fit.status.interrupted or len(fit.minima) < 2:
        return []
    quantiles, factors = _list_quantiles(fit, LEVEL), compute_variance_factors(fit)
    low, high = _find_own_ends(fit, quantiles)
    told = []
    for one in list_rivals(fit):
        there = fit.coordinates.internal([one.params[name] for name in fit.estimates])
        far = (_find_room(fit, one, quantiles, factors) > 0.0) & ((there < low) | (high < there))
        if far.any():
            told.append((one, [name for name, yes in zip(fit.estimates, far, strict=True) if yes]))
    return told


def _find_room(fit: "Fit", one: "LocalMinimum", quantiles: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """q² − 2Δ/λ of each parameter: what another minimum leaves of the threshold; negative where it is beyond."""
    return quantiles**2 - 2.0 * max(one.value - fit.value, 0.0) / factors


def _add_minima(
    fit: "Fit", ends: tuple[np.ndarray, np.ndarray], quantiles: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    (low, high), factors, deviations = ends, compute_variance_factors(fit), _find_deviations(fit)
    for one in fit.minima:
        point = fit.coordinates.internal([one.params[name] for name in fit.estimates])
        left = _find_room(fit, one, quantiles, factors)
        width = np.sqrt(np.maximum(left, 0.0)) * np.where(np.isfinite(deviations), deviations, 0.0)
        near = (left > 0.0) & np.isfinite(point)
        low = np.where(near, np.fmin(low, point - width), low)
        high = np.where(near, np.fmax(high, point + width), high)
    return low, high
