"""Minimizers: scipy's trust-region reflective least squares, for sums of squares and for everything else.

A `Minimizer` goes from a start to a minimum within bounds, on evaluations of any function with value, gradient and
curvature. `LeastSquares` hands residuals and Jacobian to scipy. `TrustRegion` needs neither: with value v, gradient g
and curvature C, the small problem

    f = (s, 0),   f' = (g/s; L),   s² = 2 (v − v₀),   LᵀL = C − g gᵀ/s²

has ½|f + f'p|² = v − v₀ + gᵀp + ½ pᵀC p, the quadratic model of a trust-region Newton method with that curvature, so
that the same solver, its bounds and its handling of failed steps serve there too; v₀ is a floor below all values.

Reference: M. A. Branch, T. F. Coleman, Y. Li, SIAM J. Sci. Comput. 21 (1999) 1–23, as in scipy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np

from daedal.estimation.criteria import Evaluation

Function = Callable[[np.ndarray], Evaluation]
Bounds = tuple[np.ndarray, np.ndarray]

XTOL, GTOL = 1e-10, 1e-12  # in the units of `_find_units`
SMALL_ANGLE = 1e-8  # between a step and what the curvature missed along it, below which it teaches nothing
NEAR = 1.0  # reduction of a negative log-likelihood by a step, below which its minimum is near
DEPTHS = (10.0, 1e2, 1e4, 1e8)  # floors below the start, in units of the reduction that the quadratic model promises
TINY = 1e-300  # of a height: at the floor itself


@final
@dataclass(frozen=True, eq=False)
class Minimum:
    """Where a minimizer ended: the best evaluation of all that it saw."""

    evaluation: Evaluation
    converged: bool
    evaluations: int


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

    It stops after so many `evaluations`, or when a step reduces the value by less than the `tolerance`, relative.
    """

    evaluations: int = 200
    tolerance: float = 1e-11

    def __call__(self, function: Function, start: np.ndarray, bounds: Bounds, /) -> Minimum:
        """Residuals where they are not known count as not a number, which scipy steps back from."""
        seen = _Seen(function)

        def residuals(point: np.ndarray) -> np.ndarray:
            evaluation = seen(point)
            return evaluation.residuals if evaluation.residuals is not None else np.full(size, np.nan)

        def jacobian(point: np.ndarray) -> np.ndarray:
            evaluation = seen(point)
            assert evaluation.jacobian is not None  # scipy asks only where the residuals were finite
            return evaluation.jacobian

        first = seen(_move_inside(start, bounds))
        if first.residuals is None:
            return Minimum(first, False, seen.count)
        size = first.residuals.size
        return _solve(residuals, jacobian, seen, start, bounds, self.evaluations, self.tolerance)


@final
@dataclass(frozen=True)
class TrustRegion:
    """On value, gradient and curvature alone.

    A `floor` that no value falls below (zero, of squares) may be given where one is known. It stops as `LeastSquares`.
    """

    evaluations: int = 200
    tolerance: float = 1e-11
    floor: float | None = None

    def __call__(self, function: Function, start: np.ndarray, bounds: Bounds, /) -> Minimum:
        """With a floor below the start, and a lower one whenever a value falls below it."""
        seen = _Seen(function)
        begin = seen(_move_inside(start, bounds))
        if not begin.ok:
            return Minimum(begin, False, seen.count)
        for depth in DEPTHS:
            floor = begin.value - depth * (_promise(begin) + start.size) if self.floor is None else self.floor
            try:
                pair = _as_squares(seen, floor)
                return _solve(*pair, seen, begin.point, bounds, self.evaluations, self.tolerance)
            except _BelowFloorError:
                begin = seen.best or begin
        return Minimum(begin, False, seen.count)


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


def _promise(evaluation: Evaluation) -> float:
    """The reduction that gradient and curvature promise."""
    return 0.5 * float(evaluation.gradient @ np.linalg.pinv(evaluation.curvature, hermitian=True) @ evaluation.gradient)


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


def _as_squares(seen: "_Seen", floor: float) -> tuple[Callable, Callable]:
    secant = _Secant()

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

    return residuals, jacobian


class _Seen:
    """The function with its last evaluation, and the best so far."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._last: Evaluation | None = None
        self.best: Evaluation | None = None
        self.count = 0

    def __call__(self, point: np.ndarray) -> Evaluation:
        if self._last is None or not np.array_equal(self._last.point, point):
            self._last = self._function(point.copy())
            self.count += 1
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


def _solve(
    residuals: Callable,
    jacobian: Callable,
    seen: _Seen,
    start: np.ndarray,
    bounds: Bounds,
    evaluations: int,
    tolerance: float,
) -> Minimum:
    from scipy.optimize import least_squares

    begin = _move_inside(start, bounds)
    unit = _find_units(seen(begin))
    first = begin / unit

    def point(scaled: np.ndarray) -> np.ndarray:
        return begin if np.array_equal(scaled, first) else np.clip(scaled * unit, *bounds)

    options: dict[str, Any] = {"ftol": tolerance, "xtol": XTOL, "gtol": GTOL, "max_nfev": evaluations}
    options["jac"] = lambda scaled: jacobian(point(scaled)) * unit
    limits = (bounds[0] / unit, bounds[1] / unit)
    # Far away squares overflow, from where scipy steps back; where the cost is huge it divides by a step of zero.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        solution = least_squares(
            lambda scaled: residuals(point(scaled)), first, bounds=limits, x_scale="jac", **options
        )
    best = seen.best or seen(point(solution.x))
    return Minimum(best, bool(solution.status > 0), seen.count)
