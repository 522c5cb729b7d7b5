"""The criterion along one parameter, all others following: outward from the estimate until it has grown enough.

The others are minimised on the function of the fit itself, its steps and random numbers unchanged, starting where the
curvature says that they move. The root ρ = √(2 (v − v̂)/λ) grows nearly in proportion to the distance from the estimate,
so that steps are chosen by its slope and the end ρ = q is found by regula falsi.
"""

from dataclasses import dataclass, replace

import numpy as np

from daedal.errors import EstimationError
from daedal.estimation import (
    Coordinate,
    Evaluation,
    Fit,
    Objective,
    choose_minimizer,
    match_fit,
    restore_objective,
)
from daedal.progress import Progress
from daedal.validation.inflation import compute_variance_factors, compute_variances

MOST = 60  # values on one side
GROWTH = 3.0  # of a step over the one before
PRECISION = 1e-4  # of an end, relative to its distance from the estimate
FAR = 1e4  # times the size of a parameter without bounds: as good as infinite
FAR_LOGARITHM = 14.0  # six orders of magnitude
SMALLEST = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class Ground:
    """What all profiles of a fit share: the objective, its minimum, λ and deviation of each φ, the level and its q."""

    fit: Fit
    objective: Objective
    minimum: Evaluation
    factors: np.ndarray
    deviations: np.ndarray
    level: float
    quantile: float
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
    return Ground(
        fit=fit,
        objective=objective,
        minimum=minimum,
        factors=compute_variance_factors(fit),
        deviations=np.sqrt(compute_variances(fit)),
        level=level,
        quantile=fit.quantile(level),
        progress=progress,
    )


def trace(on: Ground, place: int, direction: float, points: int) -> Trace:
    """From the estimate upward (1) or downward (−1), to the threshold, the bound, or what is as good as infinity."""
    passed: list[tuple[float, Evaluation]] = []
    try:
        end, interrupted = _find_end(on, place, direction, points, passed), False
    except KeyboardInterrupt:
        end, interrupted = None, True
    return Trace(_sort_by_distance(passed), end, interrupted)


def _find_end(
    on: Ground, place: int, direction: float, points: int, passed: list[tuple[float, Evaluation]]
) -> float | None:
    """The φ at which one side ends; what is evaluated on the way is listed in `passed`."""
    begin = float(on.minimum.point[place])
    room, step = _find_room(on, place, direction), _choose_step(on, place) / points
    inner, distance, near = (0.0, 0.0), 0.0, on.minimum
    while distance < room and len(passed) < MOST:
        distance = min(distance + step, room)
        here = minimize_others(on, place, begin + direction * distance, near)
        if here.ok:
            passed.append((distance, here))
            near = here
        outer = (distance, on.root(place, here))
        if outer[1] >= on.quantile:
            return begin + direction * _find_crossing(on, place, (begin, direction), (inner, outer), passed)
        rise = outer[1] - inner[1]
        step *= float(np.clip(on.quantile / points / max(rise, SMALLEST), 1.0 / GROWTH, GROWTH))
        inner = outer
    return None


def _sort_by_distance(passed: list[tuple[float, Evaluation]]) -> tuple[Evaluation, ...]:
    return tuple(evaluation for _, evaluation in sorted(passed, key=lambda pair: pair[0]))


def _find_room(on: Ground, place: int, direction: float) -> float:
    """How far φ can go."""
    item, begin = on.fit.coordinates.items[place], float(on.minimum.point[place])
    bound = float(on.fit.coordinates.bounds[0 if direction < 0 else 1][place])
    far = FAR_LOGARITHM if item.logarithmic else FAR * _find_size(item, begin)
    known = float(on.deviations[place])
    return min(abs(bound - begin), max(far, 100.0 * known if np.isfinite(known) else 0.0))


def _choose_step(on: Ground, place: int) -> float:
    """The width of the interval from the curvature, or a tenth of the parameter's size."""
    width = on.quantile * float(on.deviations[place])
    item = on.fit.coordinates.items[place]
    return width if 0.0 < width < np.inf else 0.1 * _find_size(item, float(on.minimum.point[place]))


def _find_size(item: Coordinate, point: float) -> float:
    return 1.0 if item.logarithmic else max(abs(point), abs(item.start)) or 1.0


def _find_crossing(
    on: Ground,
    place: int,
    line: tuple[float, float],
    bracket: tuple[tuple[float, float], tuple[float, float]],
    passed: list[tuple[float, Evaluation]],
) -> float:
    """The distance at which ρ = q, between one where it is less and one where it is more (or cannot be simulated)."""
    (a, low), (b, high) = bracket
    begin, direction = line
    while True:
        finite = np.isfinite(high)
        c = a + (b - a) * (on.quantile - low) / (high - low) if finite else 0.5 * (a + b)
        if min(c - a, b - c) <= PRECISION * b:
            return c if finite else a
        nearest = min(passed, key=lambda pair: abs(pair[0] - c), default=(0.0, on.minimum))[1]
        here = minimize_others(on, place, begin + direction * c, nearest)
        if here.ok:
            passed.append((c, here))
        height = on.root(place, here)
        (a, low), (b, high) = ((c, height), (b, high)) if height < on.quantile else ((a, low), (c, height))


def minimize_others(on: Ground, place: int, value: float, near: Evaluation) -> Evaluation:
    """The minimum over all other parameters when φ at `place` has this value, starting near a known minimum."""
    rest = np.delete(np.arange(near.point.size), place)
    base = near.point.copy()
    base[place] = value
    on.progress.say(f"{on.fit.coordinates.names[place]} = {on.fit.coordinates.natural(base)[place]:.5g}")
    if not rest.size:
        return on.objective(base)
    best: list[Evaluation] = []

    def function(others: np.ndarray) -> Evaluation:
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

    lower, upper = (bound[rest] for bound in on.fit.coordinates.bounds)
    slope = np.linalg.pinv(near.curvature[np.ix_(rest, rest)], hermitian=True) @ near.curvature[rest, place]
    along = np.clip(base[rest] - slope * (value - near.point[place]), lower, upper)
    for start in (along, base[rest]):
        first = function(start)
        if first.ok:
            choose_minimizer(first)(function, start, (lower, upper))
            return best[0]
    return replace(first, point=base)
