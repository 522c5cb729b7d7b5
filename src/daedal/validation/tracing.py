"""The criterion along one parameter, all others following: outward from the estimate until it has grown enough.

The others are minimised on the function of the fit itself, its steps and random numbers unchanged, starting where the
curvature says that they move. The root ρ = √(2 (v − v̂)/λ) grows nearly in proportion to the distance from the estimate,
so that steps are chosen by its slope and the end ρ = q is found by regula falsi, to 1e-4 of its distance.

The profile is the lower envelope of what was found, which is continuous. So the others start from both neighbours;
where the threshold is reached, or ρ is far above what its slope foretells, they are searched for again from the other
minima of the fit and from points between the bounds; one value beyond the end is looked at; and where the others of a
neighbour, moved here, cost less than what was found here, the search is repeated from them. If that takes an end away,
the way goes on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from daedal.errors import EstimationError, give_up_if_stopped
from daedal.estimation import (
    Coordinate,
    Evaluation,
    Fit,
    Objective,
    choose_minimizer,
    compute_variance_factors,
    compute_variances,
    draw_hypercube,
    match_fit,
    restore_objective,
)
from daedal.linear import invert_semidefinite
from daedal.progress import Progress

MOST = 60  # values on one side
LARGEST_CHANCE = 1.0  # Monte-Carlo error of log L; an equation that is put right says as much
GROWTH = 3.0  # of a step over the one before
PRECISION = 1e-4  # of an end, relative to its distance from the estimate
FAR = 1e4  # times the size of a parameter without bounds: as good as infinite
FAR_LOGARITHM = 14.0  # six orders of magnitude
MORE_STARTS = 4  # between the bounds, where a branch may be a wrong one
SURPRISE = 2.0  # times the rise of ρ that its slope foretells
NOTICED = 1e-3  # of the threshold, twice: a smaller difference between branches does not matter
SMALLEST = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class Ground:
    """What all profiles of a fit share: the objective, its minimum, λ, deviation and q of each φ, the level."""

    fit: Fit
    objective: Objective
    minimum: Evaluation
    factors: np.ndarray
    deviations: np.ndarray
    level: float
    quantiles: np.ndarray
    progress: Progress

    def root(self, place: int, evaluation: Evaluation) -> float:
        """ρ; infinite where the model could not be simulated."""
        rise = max(evaluation.value - self.minimum.value, 0.0)
        return float(np.sqrt(2.0 * rise / max(float(self.factors[place]), SMALLEST)))


@dataclass(frozen=True, eq=False)
class Trace:
    """One side of a profile: evaluations from the estimate outward, and the φ at which it ends (None: open).

    An interrupt leaves it open, with the evaluations that were finished.
    """

    passed: tuple[Evaluation, ...]
    end: float | None
    interrupted: bool = False


def prepare_ground(fit: Fit, level: float, progress: Progress) -> Ground:
    """Line up the fit with its data once more."""
    fitted = match_fit(fit)
    objective = restore_objective(fitted)
    minimum = objective(fitted.point)
    if not minimum.ok:
        raise EstimationError(f"The criterion cannot be evaluated at the estimate: {minimum.failure}", "Fit again.")
    if minimum.rough and minimum.monte_carlo_error >= LARGEST_CHANCE:
        raise EstimationError(
            f"The criterion is known to ± {minimum.monte_carlo_error:.2g} only, or has no minimum at the estimate, so "
            "that its values tell no profile.",
            "Use fit.conf_int(), or a bootstrap.",
        )
    return Ground(
        fit=fit,
        objective=objective,
        minimum=minimum,
        factors=compute_variance_factors(fit),
        deviations=np.sqrt(compute_variances(fit)),
        level=level,
        quantiles=np.array([fit.quantile(level, name) for name in fit.estimates]),
        progress=progress,
    )


def trace(on: Ground, place: int, direction: float, points: int) -> Trace:
    """From the estimate upward (1) or downward (−1), to the threshold, the bound, or what is as good as infinity."""
    way = _Way(on, place, direction)
    try:
        end, interrupted = _follow(way, points), False
    except KeyboardInterrupt:
        end, interrupted = None, True
    return Trace(way.list_evaluations(), end, interrupted)


def _follow(way: "_Way", points: int) -> float | None:
    """The φ at which one side ends; what is evaluated on the way is kept in it."""
    on = way.on
    room, step = _find_room(on, way.place, way.direction), _choose_step(on, way.place) / points
    while way.distance < room and len(way.passed) < MOST and np.isfinite(way.height):
        inner = (way.distance, way.height)
        height = way.visit(min(way.distance + step, room), min(way.foretell(step), way.quantile))
        if height >= way.quantile:
            outer = (way.distance, height)
            end = _find_crossing(way, inner, outer)
            if way.distance < room:
                way.visit(min(way.distance + step, room), np.inf)  # beyond the end, for a lower branch
            way.mend()
            if not way.is_open(outer[0]):
                return way.begin + way.direction * end
            end = way.find_later_crossing(outer[0])
            if end is not None:
                return way.begin + way.direction * _find_crossing(way, *end)
            continue
        rise = height - inner[1]
        step *= float(np.clip(way.quantile / points / max(rise, SMALLEST), 1.0 / GROWTH, GROWTH))
    way.mend()
    return None


class _Way:
    """The values passed on one side, by their distance from the estimate."""

    def __init__(self, on: Ground, place: int, direction: float) -> None:
        self.on, self.place, self.direction = on, place, direction
        self.begin = float(on.minimum.point[place])
        self.passed: dict[float, Evaluation] = {}
        self.distance, self.height = 0.0, 0.0  # of the last value outward, and its ρ
        self.slope = 0.0
        self.quantile = float(on.quantiles[place])

    def visit(self, distance: float, expected: float) -> float:
        """ρ at a distance, the others following from both neighbours; searched for anew if it is not as expected."""
        known = {0.0: self.on.minimum, **self.passed}
        inner = max((one for one in known if one <= distance), default=0.0)
        outer = min((one for one in known if one > distance), default=inner)
        value = self.begin + self.direction * distance
        here = minimize_others(self.on, self.place, value, [known[inner], known[outer]])
        if self.on.root(self.place, here) > expected:
            here = self._search_anew(value, here)
        if here.ok:
            self.passed[distance] = here
        height = self.on.root(self.place, here)
        if distance > self.distance:
            self.slope = (height - self.height) / (distance - self.distance)
            self.distance, self.height = distance, height
        return height

    def foretell(self, step: float) -> float:
        """The largest ρ that is no surprise one step further."""
        if not self.passed:
            return np.inf
        return self.height + SURPRISE * (max(self.slope, 0.0) * step + self.quantile / 10.0)

    def _search_anew(self, value: float, here: Evaluation) -> Evaluation:
        """From the values passed, the other minima of the fit, and a few points between the bounds."""
        space, minimum = self.on.fit.coordinates, self.on.minimum
        points = [space.internal([one.params[name] for name in space.names]) for one in self.on.fit.minima[1:]]
        if any(np.isfinite([item.lower, item.upper]).all() for item in space.items):
            points += draw_hypercube(space, MORE_STARTS, self.on.fit.seed)
        starts = [*list(self.passed.values())[:1], *(replace(minimum, point=point) for point in points)]
        tries = [minimize_others(self.on, self.place, value, [start]) for start in starts]
        return min([here, *tries], key=lambda one: one.value if one.ok else np.inf)

    def mend(self) -> None:
        """Search again wherever the others of a neighbour cost less, inward and outward."""
        for order in (sorted(self.passed, reverse=True), sorted(self.passed)):
            for near, here in pairwise(order):
                value = self.begin + self.direction * here
                moved = self.passed[near].point.copy()
                moved[self.place] = value
                lower = self.on.objective(moved)
                if lower.ok and lower.value < self.passed[here].value - self._tolerance:
                    again = minimize_others(self.on, self.place, value, [self.passed[near]])
                    self.passed[here] = min(self.passed[here], again, lower, key=lambda one: one.value)
        self.height = self.on.root(self.place, self.passed[self.distance]) if self.distance in self.passed else np.inf

    @property
    def _tolerance(self) -> float:
        return NOTICED * self.quantile**2 * float(self.on.factors[self.place])

    def is_open(self, distance: float) -> bool:
        """Whether a value that had reached the threshold has not, after all."""
        return distance in self.passed and self.on.root(self.place, self.passed[distance]) < self.quantile

    def find_later_crossing(self, distance: float) -> tuple[tuple[float, float], tuple[float, float]] | None:
        """The first values beyond, one below and one above the threshold, if they have been passed."""
        heights = [(one, self.on.root(self.place, self.passed[one])) for one in sorted(self.passed) if one >= distance]
        return next((pair for pair in pairwise(heights) if pair[0][1] < self.quantile <= pair[1][1]), None)

    def list_evaluations(self) -> tuple[Evaluation, ...]:
        """From the estimate outward."""
        return tuple(self.passed[one] for one in sorted(self.passed))


def _find_room(on: Ground, place: int, direction: float) -> float:
    """How far φ can go."""
    item, begin = on.fit.coordinates.items[place], float(on.minimum.point[place])
    bound = float(on.fit.coordinates.bounds[0 if direction < 0 else 1][place])
    far = FAR_LOGARITHM if item.logarithmic else FAR * _find_size(item, begin)
    known = float(on.deviations[place])
    return min(abs(bound - begin), max(far, 100.0 * known if np.isfinite(known) else 0.0))


def _choose_step(on: Ground, place: int) -> float:
    """The width of the interval from the curvature, or a tenth of the parameter's size."""
    width = float(on.quantiles[place]) * float(on.deviations[place])
    item = on.fit.coordinates.items[place]
    return width if 0.0 < width < np.inf else 0.1 * _find_size(item, float(on.minimum.point[place]))


def _find_size(item: Coordinate, point: float) -> float:
    return 1.0 if item.logarithmic else max(abs(point), abs(item.start)) or 1.0


def _find_crossing(way: _Way, inner: tuple[float, float], outer: tuple[float, float]) -> float:
    """The distance at which ρ = q, between one where it is less and one where it is more (or cannot be simulated)."""
    (a, low), (b, high), quantile = inner, outer, way.quantile
    while True:
        finite = np.isfinite(high)
        c = a + (b - a) * (quantile - low) / (high - low) if finite else 0.5 * (a + b)
        if min(c - a, b - c) <= PRECISION * b:
            return c if finite else a
        height = way.visit(c, np.inf)
        (a, low), (b, high) = ((c, height), (b, high)) if height < quantile else ((a, low), (c, height))


def minimize_others(on: Ground, place: int, value: float, near: Sequence[Evaluation]) -> Evaluation:
    """The minimum over all other parameters when φ at `place` has this value, starting near known minima."""
    rest = np.delete(np.arange(near[0].point.size), place)
    base = near[0].point.copy()
    base[place] = value
    on.progress.say(f"{on.fit.coordinates.names[place]} = {on.fit.coordinates.natural(base)[place]:.5g}")
    if not rest.size:
        return on.objective(base)
    best: list[Evaluation] = []

    def function(others: np.ndarray) -> Evaluation:
        give_up_if_stopped()
        point = base.copy()
        point[rest] = others
        evaluation = on.objective(point)
        if evaluation.ok and (not best or evaluation.value < best[0].value):
            best[:] = [evaluation]
        jacobian = None if evaluation.jacobian is None else evaluation.jacobian[:, rest]
        return replace(
            evaluation,
            point=others,
            gradient=evaluation.gradient[rest],
            curvature=evaluation.curvature[np.ix_(rest, rest)],
            jacobian=jacobian,
        )

    bounds = (on.fit.coordinates.bounds[0][rest], on.fit.coordinates.bounds[1][rest])
    starts = [start for one in near for start in _list_others(one, place, value, rest)]
    begun = [function(np.clip(start, *bounds)) for start in starts]
    first = min(begun, key=lambda one: one.value if one.ok else np.inf)
    if not first.ok:
        return replace(first, point=base)
    choose_minimizer(first)(function, first.point, bounds)
    return best[0]


def _list_others(near: Evaluation, place: int, value: float, rest: np.ndarray) -> list[np.ndarray]:
    """The other parameters of a known minimum, moved as its curvature says, and as they are."""
    slope = invert_semidefinite(near.curvature[np.ix_(rest, rest)]) @ near.curvature[rest, place]
    return [near.point[rest] - slope * (value - near.point[place]), near.point[rest]]
