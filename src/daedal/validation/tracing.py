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
    LeastSquares,
    Objective,
    again,
    objective_again,
    trust_region,
)
from daedal.simulation import Progress
from daedal.validation.inflation import variance_factors, variances

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

    def root(self, place: int, found: Evaluation) -> float:
        """ρ; infinite where the model could not be simulated."""
        rise = max(found.value - self.minimum.value, 0.0)
        return float(np.sqrt(2.0 * rise / max(float(self.factors[place]), SMALLEST)))


@dataclass(frozen=True, eq=False)
class Trace:
    """One side of a profile: evaluations from the estimate outward, and the φ at which it ends (None: open)."""

    found: tuple[Evaluation, ...]
    end: float | None


def ground(fit: Fit, level: float, progress: Progress) -> Ground:
    """Line up the fit with its data once more."""
    found = again(fit)
    objective = objective_again(found)
    minimum = objective(found.point)
    if not minimum.ok:
        raise EstimationError(f"The criterion cannot be evaluated at the estimate: {minimum.failure}", "Fit again.")
    return Ground(
        fit=fit,
        objective=objective,
        minimum=minimum,
        factors=variance_factors(fit),
        deviations=np.sqrt(variances(fit)),
        level=level,
        quantile=fit.quantile(level),
        progress=progress,
    )


def trace(on: Ground, place: int, direction: float, points: int) -> Trace:
    """From the estimate upward (1) or downward (−1), to the threshold, the bound, or what is as good as infinity."""
    begin = float(on.minimum.point[place])
    room, step = _room(on, place, direction), _first_step(on, place) / points
    found: list[tuple[float, Evaluation]] = []
    inner, distance, near = (0.0, 0.0), 0.0, on.minimum
    while distance < room and len(found) < MOST:
        distance = min(distance + step, room)
        here = minimized(on, place, begin + direction * distance, near)
        if here.ok:
            found.append((distance, here))
            near = here
        outer = (distance, on.root(place, here))
        if outer[1] >= on.quantile:
            end = _crossing(on, place, (begin, direction), (inner, outer), found)
            return Trace(_ordered(found), begin + direction * end)
        rise = outer[1] - inner[1]
        step *= float(np.clip(on.quantile / points / max(rise, SMALLEST), 1.0 / GROWTH, GROWTH))
        inner = outer
    return Trace(_ordered(found), None)


def _ordered(found: list[tuple[float, Evaluation]]) -> tuple[Evaluation, ...]:
    return tuple(each for _, each in sorted(found, key=lambda pair: pair[0]))


def _room(on: Ground, place: int, direction: float) -> float:
    """How far φ can go."""
    item, begin = on.fit.coordinates.items[place], float(on.minimum.point[place])
    bound = float(on.fit.coordinates.bounds[0 if direction < 0 else 1][place])
    far = FAR_LOGARITHM if item.logarithmic else FAR * _size(item, begin)
    known = float(on.deviations[place])
    return min(abs(bound - begin), max(far, 100.0 * known if np.isfinite(known) else 0.0))


def _first_step(on: Ground, place: int) -> float:
    """The width of the interval from the curvature, or a tenth of the parameter's size."""
    width = on.quantile * float(on.deviations[place])
    item = on.fit.coordinates.items[place]
    return width if 0.0 < width < np.inf else 0.1 * _size(item, float(on.minimum.point[place]))


def _size(item: Coordinate, point: float) -> float:
    return 1.0 if item.logarithmic else max(abs(point), abs(item.start)) or 1.0


def _crossing(
    on: Ground,
    place: int,
    line: tuple[float, float],
    bracket: tuple[tuple[float, float], tuple[float, float]],
    found: list[tuple[float, Evaluation]],
) -> float:
    """The distance at which ρ = q, between one where it is less and one where it is more (or cannot be simulated)."""
    (a, low), (b, high) = bracket
    begin, direction = line
    while True:
        finite = np.isfinite(high)
        c = a + (b - a) * (on.quantile - low) / (high - low) if finite else 0.5 * (a + b)
        if min(c - a, b - c) <= PRECISION * b:
            return c if finite else a
        nearest = min(found, key=lambda pair: abs(pair[0] - c), default=(0.0, on.minimum))[1]
        here = minimized(on, place, begin + direction * c, nearest)
        if here.ok:
            found.append((c, here))
        height = on.root(place, here)
        (a, low), (b, high) = ((c, height), (b, high)) if height < on.quantile else ((a, low), (c, height))


def minimized(on: Ground, place: int, value: float, near: Evaluation) -> Evaluation:
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
        found = on.objective(point)
        if found.ok and (not best or found.value < best[0].value):
            best[:] = [found]
        jacobian = None if found.jacobian is None else found.jacobian[:, rest]
        return replace(
            found,
            point=others,
            gradient=found.gradient[rest],
            curvature=found.curvature[np.ix_(rest, rest)],
            jacobian=jacobian,
        )

    lower, upper = (each[rest] for each in on.fit.coordinates.bounds)
    slope = np.linalg.pinv(near.curvature[np.ix_(rest, rest)], hermitian=True) @ near.curvature[rest, place]
    along = np.clip(base[rest] - slope * (value - near.point[place]), lower, upper)
    method = LeastSquares() if on.objective.sum_of_squares else trust_region
    for start in (along, base[rest]):
        first = function(start)
        if first.ok:
            method(function, start, (lower, upper))
            return best[0]
    return replace(first, point=base)
