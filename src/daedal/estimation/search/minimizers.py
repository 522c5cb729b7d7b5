"""Minimizers: scipy's trust-region reflective least squares, for sums of squares and for everything else.

A `Minimizer` goes from a start to a minimum within bounds, on evaluations of any function with value, gradient and
curvature. `LeastSquares` hands residuals and Jacobian to scipy. `TrustRegion` needs neither: with value v, gradient g
and curvature C, the small problem

    f = (s, 0),   f' = (g/s; L),   s² = 2 (v − v₀),   LᵀL = C − g gᵀ/s²

has ½|f + f'p|² = v − v₀ + gᵀp + ½ pᵀC p, the quadratic model of a trust-region Newton method with that curvature, so
that the same solver, its bounds and its handling of failed steps serve there too; v₀ is a floor below all values.

A small step may be the end, or one of many along a valley. Residuals z tell which: at a minimum nothing of them lies in
the space of the columns of the Jacobian, so that the share |Qᵀz|² / |z|² must have vanished too, Q being a basis of it
(Bates and Watts). Where most slopes are zero, as those of one experiment by what another has for its own, residuals and
Jacobian are turned to a row for each column and one more, which leaves zᵀz, Jᵀz and JᵀJ as they are: the triangular
factor of (J, z), experiment by experiment and then of these factors (Golub and Plemmons). A search goes on for as long
as it gets lower at all, up to a limit that grows with the unknowns; from time to time it looks where its last steps
have led and goes on in that direction (Hooke and Jeeves).

References: M. A. Branch, T. F. Coleman, Y. Li, SIAM J. Sci. Comput. 21 (1999) 1–23, as in scipy; D. M. Bates, D. G.
Watts, A relative offset orthogonality convergence criterion for nonlinear least squares, Technometrics 23 (1981)
179–183; G. H. Golub, R. J. Plemmons, Large-scale geodetic least-squares adjustment by dissection and orthogonal
decomposition, Linear Algebra Appl. 34 (1980) 3–28; R. Hooke, T. A. Jeeves, "Direct search" solution of numerical and
statistical problems, J. ACM 8 (1961) 212–229.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, Protocol, final

import numpy as np

from daedal.estimation.criteria import Evaluation

Function = Callable[[np.ndarray], Evaluation]
Bounds = tuple[np.ndarray, np.ndarray]
Squares = tuple[np.ndarray, np.ndarray]  # residuals, Jacobian

XTOL, GTOL = 1e-10, 1e-12  # in the units of `_find_units`
SMALL_ANGLE = 1e-8  # between a step and what the curvature missed along it, below which it teaches nothing
NEAR = 1.0  # reduction of a negative log-likelihood by a step, below which its minimum is near
DEPTHS = (10.0, 1e2, 1e4, 1e8)  # floors below the start, in units of the reduction that the quadratic model promises
FAR = 10.0  # ratio of a floor's depth to that of one below the end, from which on the end is looked at again
SETTLED = 1e-6  # of a negative log-likelihood and an unknown, that a full step may promise at an end beyond doubt
SURE = 1e-2  # singular value, as in RANK, of directions that promises are believed in there: valleys have no end
TINY = 1e-300  # of a height: at the floor itself
ROUNDING = 1e-15  # of a value, which no step needs to reduce further
SHARE = 1e-4  # of the tolerance, that a full step may promise where a search ends
MUCH = 1e-3  # of the squares, that a full step would still remove where a kink or points that fail are in its way
RANK = 1e-10  # singular value of the Jacobian with unit columns, relative to the largest, that counts as zero
CLEAR = 1e-5  # the same, of a direction whose slope is more than rounding
LIMIT = 1000  # evaluations for each unknown and one more, at most
PATIENCE = 50  # evaluations for each unknown and one more, in which a search must get somewhere
LEG = 50  # evaluations for each unknown and one more, after which the way that they made is followed
DIGITS = 1e-12  # of a contribution that may be lost to rounding
SPARSE = 0.5  # share of the slopes that are not zero, up to which they are turned
LITTLE = 1e-5  # of a height, by which it must get lower in that time


class Obstacle(Enum):
    """What keeps a search from its minimum, and the remedy."""

    KINKS = (
        "where the criterion has kinks or ripples: its slopes promise what no step finds",
        "Try other starts, shorter steps (solver=Lanes(step=...)) or more realizations; errors may mean little.",
    )
    NOISE = (
        "where the slopes of the criterion are hardly more than Monte-Carlo error, so that nothing tells the way",
        "Take more particles, Likelihood(particles=...), or another method; these values are no estimate.",
    )
    STAGES = (
        "where the criterion is not settled: its steps, units, filters or references still changed at the last minimum",
        "Go on with starts=fit; give steps (solver=Lanes(step=...)) or measurement_noise, so that less is to settle.",
    )


@final
@dataclass(frozen=True, eq=False)
class Minimum:
    """Where a minimizer ended: the best evaluation of all that it saw.

    `obstacle` is why it ended before the minimum, where that is known.
    """

    evaluation: Evaluation
    converged: bool
    evaluations: int
    obstacle: Obstacle | None = None


class Minimizer(Protocol):
    """A way from a start to a minimum; `tests/batteries/minimizer.py` is what every one of them meets.

    It takes a function of φ, a start, and bounds (infinite where there are none), and evaluates the function only
    within the bounds. A start that cannot be evaluated ends the search at once; other points that cannot only shorten a
    step. An interrupt from inside the function comes out of it.
    """

    def __call__(self, function: Function, start: np.ndarray, bounds: Bounds, /) -> Minimum: ...


@final
@dataclass(frozen=True)
class LeastSquares:
    """On the residuals of a sum of squares and their Jacobian.

    It stops when a step reduces the value by less than the `tolerance`, relative, and the residuals promise next to
    nothing more; or after so many `evaluations`, by default a limit that grows with the number of unknowns.
    """

    evaluations: int | None = None
    tolerance: float = 1e-11

    def __call__(self, function: Function, start: np.ndarray, bounds: Bounds, /) -> Minimum:
        """Residuals where they are not known count as not a number, which scipy steps back from."""
        seen = _Seen(function)

        def residuals(point: np.ndarray) -> np.ndarray:
            evaluation = seen(point)
            return squares(evaluation)[0] if evaluation.residuals is not None else np.full(size, np.nan)

        def jacobian(point: np.ndarray) -> np.ndarray:
            evaluation, before = seen(point), passed[-1]
            passed.append(evaluation.value)
            small = before - evaluation.value < self.tolerance * before
            if small and _find_share(evaluation, squares(evaluation), bounds) < SHARE * self.tolerance:
                raise _SettledError
            return squares(evaluation)[1]

        first = seen(_move_inside(start, bounds))
        if first.residuals is None:
            return Minimum(first, False, seen.count)
        squares = lru_cache(maxsize=1)(_turn) if _is_sparse(first) else _read_squares
        size, passed = squares(first)[0].size, [np.inf]  # values, each lower than the one before

        def is_steep(evaluation: Evaluation) -> bool:
            left = _find_share(evaluation, squares(evaluation), bounds, CLEAR) * evaluation.value
            return left > max(MUCH * evaluation.value, self.tolerance * first.value, _estimate_rounding(evaluation))

        until = (self.evaluations, min(self.tolerance, ROUNDING))
        return _solve(_Slope(residuals, jacobian, is_steep), seen, start, bounds, until)


@final
@dataclass(frozen=True)
class TrustRegion:
    """On value, gradient and curvature alone.

    A `floor` that no value falls below (zero, of squares) may be given where one is known. It stops when a step reduces
    the value by less than the `tolerance`, relative to its height, or after as many `evaluations` as `LeastSquares`.
    """

    evaluations: int | None = None
    tolerance: float = 1e-11
    floor: float | None = None

    def __call__(self, function: Function, start: np.ndarray, bounds: Bounds, /) -> Minimum:
        """With a floor below the start, and another where the search came far: great heights hide what is left."""
        seen = _Seen(function)
        begin = seen(_move_inside(start, bounds))
        if not begin.ok:
            return Minimum(begin, False, seen.count)
        depths = iter(DEPTHS)
        depth = next(depths)
        while True:
            floor = begin.value - depth * _measure_height(begin) if self.floor is None else self.floor
            try:
                slope = _as_squares(seen, begin, floor, bounds, self.tolerance)
                left = None if self.evaluations is None else max(self.evaluations - seen.count + 1, 1)
                minimum = _solve(slope, seen, begin.point, bounds, (left, self.tolerance))
            except _BelowFloorError:
                begin, depth = seen.best or begin, next(depths, None)
                if depth is None:
                    return Minimum(begin, False, seen.count)
                continue
            here = minimum.evaluation
            settled = _promise(here, _find_inside(here, bounds), SURE) <= SETTLED * start.size
            came_far = begin.value - floor > FAR * depth * _measure_height(here)
            spent = self.evaluations is not None and seen.count >= self.evaluations
            if settled or spent or not came_far or self.floor is not None or not here.value < begin.value:
                return minimum
            begin = here


def choose_minimizer(evaluation: Evaluation) -> Minimizer:
    """The one that uses all that an evaluation offers."""
    return TrustRegion() if evaluation.residuals is None else LeastSquares()


def factor_quadratic(excess: float, gradient: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    """f' of the small problem, (p + 1, p), for a value that exceeds the floor by so much.

    Columns are scaled to a unit diagonal first: their units may differ by many powers of ten.
    """
    diagonal = np.diag(curvature)
    scale = np.where(diagonal > 0.0, np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)), 1.0)
    row = gradient / scale / max(np.sqrt(2.0 * excess), TINY)
    eigenvalues, vectors = np.linalg.eigh(curvature / np.outer(scale, scale) - np.outer(row, row))
    return np.vstack([row, np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * vectors.T]) * scale


def _promise(evaluation: Evaluation, inside: np.ndarray, rank: float = CLEAR) -> float:
    """The reduction that gradient and curvature promise by steps of some parameters."""
    diagonal = np.diag(evaluation.curvature)[inside]
    scale = np.where(diagonal > 0.0, np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)), 1.0)
    gradient = evaluation.gradient[inside] / scale
    curvature = evaluation.curvature[np.ix_(inside, inside)] / np.outer(scale, scale)
    return 0.5 * float(gradient @ np.linalg.pinv(curvature, rcond=rank**2, hermitian=True) @ gradient)


def _measure_height(evaluation: Evaluation) -> float:
    """What the quadratic model promises, at least one for each unknown: the unit of a floor's depth."""
    return _promise(evaluation, np.ones(evaluation.point.size, dtype=bool)) + evaluation.point.size


def _find_inside(evaluation: Evaluation, bounds: Bounds) -> np.ndarray:
    """Parameters that do not go against a bound."""
    diagonal = np.diag(evaluation.curvature)
    wanted = -evaluation.gradient / np.where(diagonal > 0.0, diagonal, np.inf)
    room = np.where(wanted > 0.0, bounds[1] - evaluation.point, evaluation.point - bounds[0])
    return (np.abs(wanted) <= room) & (diagonal > 0.0)


def _is_sparse(evaluation: Evaluation) -> bool:
    """Whether most slopes are zero, as those by local parameters of other experiments are."""
    residuals, jacobian = _read_squares(evaluation)
    several = len({part.series.experiment for part in evaluation.parts}) > 1
    if not several or residuals.size <= jacobian.shape[1]:
        return False
    return int(np.count_nonzero(jacobian)) <= SPARSE * jacobian.size


def _read_squares(evaluation: Evaluation) -> Squares:
    """Its residuals and Jacobian."""
    assert evaluation.residuals is not None
    assert evaluation.jacobian is not None  # they are asked for only where residuals are finite
    return evaluation.residuals, evaluation.jacobian


def _turn(evaluation: Evaluation) -> Squares:
    """The same in as few rows as there are columns, and one more."""
    residuals, jacobian = _read_squares(evaluation)
    size = jacobian.shape[1]
    last: dict[int, int] = {}
    for part in evaluation.parts:
        last[part.series.experiment] = last.get(part.series.experiment, 0) + int(np.isfinite(part.residual).sum())
    ends = np.cumsum(list(last.values()))  # what follows is of priors
    factors = [np.zeros((size + 1, size + 1))]
    for rows, own in zip(np.split(jacobian, ends), np.split(residuals, ends), strict=True):
        used = np.append(rows.any(axis=0), True)
        factor = np.linalg.qr(np.column_stack([rows[:, used[:-1]], own]), mode="r")
        factors.append(np.zeros((len(factor), size + 1)))
        factors[-1][:, used] = factor
    whole = np.asarray(np.linalg.qr(np.concatenate(factors), mode="r"))
    return whole[:, size], whole[:, :size]


def _find_share(evaluation: Evaluation, squares: Squares, bounds: Bounds, rank: float = RANK) -> float:
    """The share of the squares that a full step would remove; parameters that go against a bound stay."""
    residuals, jacobian = squares
    diagonal, inside = np.sum(jacobian**2, axis=0), _find_inside(evaluation, bounds)
    inside &= diagonal > 0.0
    total = float(residuals @ residuals)
    if not inside.any() or not total > 0.0:
        return 0.0
    basis, roots, _ = np.linalg.svd(jacobian[:, inside] / np.sqrt(diagonal[inside]), full_matrices=False)
    return float(np.sum((basis[:, roots > rank * roots[0]].T @ residuals) ** 2)) / total


class _SettledError(Exception):
    """The search has arrived."""


class _StandstillError(Exception):
    """The search goes on without getting anywhere."""


class _BelowFloorError(Exception):
    """A value at or below the floor: start again with a lower one."""


class _Secant:
    """The curvature of a likelihood near its maximum, corrected by how the gradient changed over the last steps.

    The information is an expectation: where the model is not quite the truth, steps along a valley stay short with it.
    Further away the correction (symmetric, of rank one) would only mislead, unless the curvature is stale anyway.
    """

    def __init__(self) -> None:
        self._correction: np.ndarray | None = None
        self._last: Evaluation | None = None

    def curvature(self, here: Evaluation) -> np.ndarray:
        """At the point that the search has moved to."""
        before, self._last = self._last, here
        far = before is not None and before.value - here.value > NEAR
        if before is None or not (here.stale or (here.loglik is not None and not far)):
            return here.curvature
        step, change = here.point - before.point, here.gradient - before.gradient
        correction = np.zeros_like(here.curvature) if self._correction is None else self._correction
        missed = change - (here.curvature + correction) @ step
        along = float(missed @ step)
        if abs(along) > SMALL_ANGLE * float(np.linalg.norm(missed) * np.linalg.norm(step)):
            correction = correction + np.outer(missed, missed) / along
        self._correction = correction
        return here.curvature + correction


@dataclass(frozen=True)
class _Slope:
    """What is descended: residuals and Jacobian at a point, and whether slopes promise much more at an evaluation."""

    residuals: Callable[[np.ndarray], np.ndarray]
    jacobian: Callable[[np.ndarray], np.ndarray]
    is_steep: Callable[[Evaluation], bool]


def _as_squares(seen: "_Seen", begin: Evaluation, floor: float, bounds: Bounds, tolerance: float) -> _Slope:
    secant, first = _Secant(), begin.value - floor

    def residuals(point: np.ndarray) -> np.ndarray:
        evaluation = seen(point)
        if not evaluation.ok:
            return np.full(point.size + 1, np.nan)
        if evaluation.value < floor:
            raise _BelowFloorError
        return np.append(np.sqrt(2.0 * (evaluation.value - floor)), np.zeros(point.size))

    def jacobian(point: np.ndarray) -> np.ndarray:
        evaluation = seen(point)
        return factor_quadratic(evaluation.value - floor, evaluation.gradient, secant.curvature(evaluation))

    def is_steep(evaluation: Evaluation) -> bool:
        height = evaluation.value - floor
        least = max(MUCH * height, tolerance * first, _estimate_rounding(evaluation))
        return _promise(evaluation, _find_inside(evaluation, bounds)) > least

    return _Slope(residuals, jacobian, is_steep)


def _estimate_rounding(evaluation: Evaluation) -> float:
    """Squares that rounding leaves of what the parameters contribute: a start at the minimum has nothing else."""
    return DIGITS**2 * float(evaluation.point @ evaluation.curvature @ evaluation.point)


class _Seen:
    """The function with its last evaluation, and the best so far."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._last: Evaluation | None = None
        self.best: Evaluation | None = None
        self.count = 0
        self.failures = 0

    def __call__(self, point: np.ndarray) -> Evaluation:
        if self._last is None or not np.array_equal(self._last.point, point):
            self._last = self._function(point.copy())
            self.count += 1
            self.failures += not self._last.ok
            if self._last.ok and (self.best is None or self._last.value < self.best.value):
                self.best = self._last
        return self._last


def _move_inside(start: np.ndarray, bounds: Bounds) -> np.ndarray:
    """A start on a bound would not move along it: a little inside, as scipy asks."""
    lower, upper = bounds
    size = np.where(np.isfinite(upper - lower), upper - lower, np.maximum(np.abs(start), 1.0))
    raised = np.where(start <= lower, lower + 1e-6 * size, start)
    return np.where(start >= upper, upper - 1e-6 * size, raised)


def _find_units(evaluation: Evaluation) -> np.ndarray:
    """A step in φ that changes the value by about one half: what makes the search free of the parameters' units."""
    diagonal = np.diag(evaluation.curvature)
    usable = np.isfinite(diagonal) & (diagonal > 0.0)
    return np.where(usable, 1.0 / np.sqrt(np.where(usable, diagonal, 1.0)), 1.0)


class _Heights:
    """The lowest height after each evaluation, half the sum of squares of what is minimised, and where it was."""

    def __init__(self, unknowns: int) -> None:
        self._patience = PATIENCE * (unknowns + 1)
        self._lowest: list[float] = []
        self._places: list[np.ndarray] = []

    def add(self, residuals: np.ndarray, point: np.ndarray) -> None:
        """One more; raises when the last ones were all alike."""
        height = 0.5 * float(residuals @ residuals)
        lowest = self._lowest[-1] if self._lowest else np.inf
        lower = height < lowest
        self._lowest.append(height if lower else lowest)
        self._places.append(point if lower or not self._places else self._places[-1])
        if len(self._lowest) > self._patience:
            before, now = self._lowest[-1 - self._patience], self._lowest[-1]
            if before - now < LITTLE * before:
                raise _StandstillError

    @property
    def count(self) -> int:
        return len(self._lowest)

    @property
    def lowest(self) -> float:
        return self._lowest[-1]

    def show_way(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The lowest place, and how far it has moved over the last evaluations."""
        here = self._places[-1]
        return here, here - self._places[max(-1 - count, -len(self._places))]


def _solve(slope: _Slope, seen: _Seen, start: np.ndarray, bounds: Bounds, until: tuple[int | None, float]) -> Minimum:
    """In legs of some evaluations; after one that did not arrive, the search goes on as far as it leads straight on.

    Where a valley has a kink at its bottom, steps by slopes turn to and fro between its sides and get shorter until
    none is left, while the way that many of them make together points along it (Hooke and Jeeves). A place whose slopes
    promise much is never the end.
    """
    limit = LIMIT * (start.size + 1) if until[0] is None else until[0]
    begin, heights, leg = start, _Heights(start.size), LEG * (start.size + 1)
    arrived, kinked, lowest = False, False, np.inf

    def measure(point: np.ndarray) -> np.ndarray:
        there = slope.residuals(point)
        heights.add(there, point)
        return there

    try:
        while heights.count < limit and not arrived:
            length = min(leg, limit - heights.count)
            arrived = _descend(measure, slope.jacobian, seen, begin, bounds, (length, until[1]))
            if arrived and seen.best is not None and slope.is_steep(seen.best):
                arrived, before, lowest = False, lowest, heights.lowest
                if seen.failures or before - lowest < LITTLE * lowest:  # in the way, or a second time
                    kinked = not seen.failures
                    break
            begin, way = heights.show_way(leg // 2)
            while not arrived and heights.count < limit and way.any():
                there = np.clip(begin + way, *bounds)
                measure(there)
                if np.array_equal(there, begin) or not np.array_equal(heights.show_way(0)[0], there):
                    break
                begin, way = there, 2.0 * way
    except _SettledError:
        arrived = True
    except _StandstillError:
        kinked = seen.best is not None and seen.failures == 0 and slope.is_steep(seen.best)
        arrived = False
    # Where most points cannot be evaluated, steps end for that reason, wherever the minimum is.
    converged = bool(arrived) and 2 * seen.failures <= seen.count
    return Minimum(seen.best or seen(begin), converged, seen.count, Obstacle.KINKS if kinked else None)


def _descend(
    measure: Callable, jacobian: Callable, seen: _Seen, begin: np.ndarray, bounds: Bounds, until: tuple[int, float]
) -> bool:
    """One leg by scipy, of so many evaluations and to a tolerance: whether it has arrived."""
    from scipy.optimize import least_squares

    begin = _move_inside(begin, bounds)
    unit = _find_units(seen(begin))
    first = begin / unit

    def point(scaled: np.ndarray) -> np.ndarray:
        return begin if np.array_equal(scaled, first) else np.clip(scaled * unit, *bounds)

    options: dict[str, Any] = {"ftol": until[1], "xtol": XTOL, "gtol": GTOL, "max_nfev": until[0]}
    options["jac"] = lambda scaled: jacobian(point(scaled)) * unit
    limits = (bounds[0] / unit, bounds[1] / unit)
    # Far away squares overflow, from where scipy steps back; where the cost is huge it divides by a step of zero.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        ended = least_squares(lambda scaled: measure(point(scaled)), first, bounds=limits, x_scale="jac", **options)
    return ended.status > 0
