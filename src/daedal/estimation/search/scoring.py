"""Fisher's scoring for likelihoods whose values jump from point to point by their Monte-Carlo error.

    φ ← φ − min(1, r/|p|) p,   p = C⁻¹ g,   |p|² = pᵀ C p,

with g the gradient and C = Σ d dᵀ the products of its increments, which noise only makes larger: steps come out too
short rather than too long (with the unbiased information several searches ran away). In this metric |p| = 1 is about
one standard error of the estimate in each direction. The radius r doubles when a step that it cut is followed by one in
the same direction, and is halved when a step turns back. A line search on single values would follow their noise, so
that a value counts only where it is worse by more than chance allows: then the step is halved and tried again.

The search ends when a step is short, or hardly longer than the Monte-Carlo error of the gradient makes it,
√tr(C⁻¹ N) with N what that error adds to C: then noise is all that moves it. Where N is much of C in some direction,
steps are short whatever the distance to the maximum: then values decide, two standard errors to either side along each
parameter and, where nothing changes for certain, four and sixteen times as far; what is better for certain is gone to,
and scoring goes on from there. An end that is worse for certain than a point passed before, or with nearly nothing but
noise in some direction, is none.

J. Olsson, O. Cappé, R. Douc, É. Moulines, Sequential Monte Carlo smoothing with application to parameter estimation in
nonlinear state space models, Bernoulli 14 (2008) 155–179.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.estimation.criteria import Evaluation
from daedal.estimation.search.curvature import find_directions, remove_noise
from daedal.estimation.search.minimizers import Bounds, Function, Minimum, Obstacle

RADIUS = 2.0  # of the first step, in standard errors for each unknown
SHORT = 0.07  # step, in the same units, that ends a search
NOISY, TURNED = 0.5, 1.0  # share of the length that noise makes, that ends it too; the same for one that turns back
SURE = 4.0  # standard deviations of its Monte-Carlo error by which a value is worse for certain
HALVINGS = 6  # of one step, at most
HIDING = 0.25  # largest share of noise in C along a direction that steps are believed with
AROUND = (2.0, 8.0, 32.0)  # standard errors of a parameter alone, at which values are compared
LOOKS = 3  # around ends, in one search
CERTAIN = 2.5  # standard deviations of its Monte-Carlo error by which a value is better, when many are compared


@final
@dataclass(frozen=True)
class NoisyScoring:
    """On gradient and curvature, values only as a warning; ends after so many steps at the latest."""

    steps: int = 30

    def __call__(self, function: Function, start: np.ndarray, bounds: Bounds, /) -> Minimum:
        """The evaluation where the search ended, not the one with the lowest value."""
        here, count = function(np.clip(start, *bounds)), 1
        if not here.ok:
            return Minimum(here, False, count)
        unit, best, returned, looks = np.sqrt(max(start.size, 1)), here, False, 0
        radius, before, cut, arrived = RADIUS * unit, None, False, False
        for _ in range(self.steps):
            best = min(best, here, key=lambda one: one.value)
            step, length = _propose(here, bounds)
            if arrived or length <= SHORT * unit:
                looking = looks < LOOKS and _is_hidden(here)
                better, tried = _look_around(function, here, bounds) if looking else (None, 0)
                count, looks = count + tried, looks + looking
                if better is None and not _is_better(best, here):
                    return _end(here, count)
                if better is None and returned:
                    return Minimum(best, False, count, Obstacle.NOISE)
                here, returned = better or best, better is None
                radius, before, cut, arrived = RADIUS * unit, None, False, False
                continue
            turns = before is not None and float(before @ here.curvature @ step) < 0.0
            arrived = length <= SHORT * unit + (TURNED if turns else NOISY) * _measure_noise(here)
            if before is not None:
                radius *= 0.5 if turns else 2.0 if cut else 1.0
            cut = length > radius
            there, tried = _try(function, here, step * min(1.0, radius / length), bounds)
            count += tried
            if there is None:
                return Minimum(here, False, count)
            radius *= 0.5 ** (tried - 1)
            # A last step that has no more than noise in it is still taken: it is as often right.
            before, here = there.point - here.point, there
        if arrived and not _is_better(best, here):
            return _end(here, count)
        return Minimum(min(best, here, key=lambda one: one.value), False, count)


def _end(here: Evaluation, count: int) -> Minimum:
    """Converged, unless noise hides some direction of what slopes tell."""
    before, after = (
        find_directions(one).shape[1] for one in (here.curvature, remove_noise(here.curvature, here.noise))
    )
    return Minimum(here, after == before, count, Obstacle.NOISE if after < before else None)


def _is_better(one: Evaluation, here: Evaluation) -> bool:
    """For certain, though the best of many was looked for."""
    return one.value < here.value - CERTAIN * np.hypot(one.monte_carlo_error, here.monte_carlo_error)


def _is_hidden(here: Evaluation) -> bool:
    """Whether noise is so much of the curvature that the length of a step tells little."""
    if here.noise is None:
        return False
    directions = find_directions(here.curvature)
    return bool(np.linalg.eigvalsh(directions.T @ here.noise @ directions).max(initial=0.0) > HIDING)


def _look_around(function: Function, here: Evaluation, bounds: Bounds) -> tuple[Evaluation | None, int]:
    """The best value along one parameter after the other, if it is better than here for certain; and how many tries."""
    begin, tried = here, 0
    widths = 1.0 / np.sqrt(np.maximum(np.diag(here.curvature), np.finfo(float).tiny))
    for place, width in enumerate(widths):
        for sign in (1.0, -1.0):
            for far in AROUND:
                point = here.point.copy()
                point[place] += sign * far * width
                point = np.clip(point, *bounds)
                if not np.isfinite(width) or np.array_equal(point, here.point):
                    break
                there, tried = function(point), tried + 1
                if there.ok and _is_better(there, here):
                    here = there
                elif not there.ok or _is_better(here, there):
                    break
    return (None if here is begin else here), tried


def _propose(here: Evaluation, bounds: Bounds) -> tuple[np.ndarray, float]:
    """The step of scoring and its length; coordinates that would leave their bounds stay."""
    lower, upper = bounds
    pressed = (here.point <= lower) & (here.gradient > 0.0) | (here.point >= upper) & (here.gradient < 0.0)
    inside = np.flatnonzero(~pressed)
    step = np.zeros_like(here.point)
    if inside.size:
        directions = find_directions(here.curvature[np.ix_(inside, inside)])
        step[inside] = -directions @ (directions.T @ here.gradient[inside])
    return step, float(np.sqrt(step @ here.curvature @ step))


def _measure_noise(here: Evaluation) -> float:
    """The length of a step that is nothing but noise."""
    noise = here.noise if here.scatter is None else here.scatter
    if noise is None:
        return 0.0
    directions = find_directions(here.curvature)
    return float(np.sqrt(max(np.trace(directions.T @ noise @ directions), 0.0)))


def _try(function: Function, here: Evaluation, step: np.ndarray, bounds: Bounds) -> tuple[Evaluation | None, int]:
    """Where a step leads, halved while it fails or is worse for certain; and how many were tried."""
    for tried in range(1, HALVINGS + 1):
        there = function(np.clip(here.point + step, *bounds))
        chance = SURE * np.hypot(here.monte_carlo_error, there.monte_carlo_error)
        if there.ok and there.value <= here.value + chance:
            return there, tried
        step = 0.5 * step
    return None, HALVINGS
