"""Minimizers: scipy's trust-region reflective least squares, for sums of squares and for everything else.

`LeastSquares` hands residuals and Jacobian to that of scipy. `trust_region` takes any criterion with
value v, gradient g and curvature C: the small problem

    f = (s, 0),   f' = (g/s; L),   s² = 2 (v − v₀),   LᵀL = C − g gᵀ/s²

has ½|f + f'p|² = v − v₀ + gᵀp + ½ pᵀC p, the quadratic model of a trust-region Newton method with that curvature, so
that the same solver, its bounds and its handling of failed steps serve there too; v₀ is a floor below all values.

Reference: M. A. Branch, T. F. Coleman, Y. Li, SIAM J. Sci. Comput. 21 (1999) 1–23, as in scipy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from daedal.estimation.criteria import Evaluation

Function = Callable[[np.ndarray], Evaluation]
Bounds = tuple[np.ndarray, np.ndarray]

MOST = 200  # evaluations
FTOL, XTOL, GTOL = 1e-11, 1e-10, 1e-12  # in the units of `_units`
SMALL_ANGLE = 1e-8  # between a step and what the curvature missed along it, below which it teaches nothing
NEAR = 1.0  # reduction of a negative log-likelihood by a step, below which its minimum is near
DEPTHS = (10.0, 1e2, 1e4, 1e8)  # floors below the start, in units of the reduction that the quadratic model promises


@final
@dataclass(frozen=True, eq=False)
class Minimum:
    """Where a minimizer ended."""

    evaluation: Evaluation
    converged: bool
    evaluations: int


@final
@dataclass(frozen=True)
class LeastSquares:
    """On the residuals of a sum of squares and their Jacobian.

    It stops after so many `evaluations`, or when a step reduces the value by less than the `tolerance`, relative.
    """

    evaluations: int = MOST
    tolerance: float = FTOL

    def __call__(self, function: Function, start: np.ndarray, bounds: Bounds, /) -> Minimum:
        """Residuals where they are not known count as not a number, which scipy steps back from."""
        seen = _Remembered(function)

        def residuals(point: np.ndarray) -> np.ndarray:
            evaluation = seen(point)
            return evaluation.residuals if evaluation.residuals is not None else np.full(seen.size, np.nan)

        def jacobian(point: np.ndarray) -> np.ndarray:
            evaluation = seen(point)
            assert evaluation.jacobian is not None  # scipy asks only where the residuals were finite
            return evaluation.jacobian

        first = seen(_inside(start, bounds))
        if first.residuals is None:
            return Minimum(first, False, seen.count)
        seen.size = first.residuals.size
        return _solved(residuals, jacobian, seen, start, bounds, self.evaluations, self.tolerance)


def trust_region(function: Function, start: np.ndarray, bounds: Bounds) -> Minimum:
    """Minimise any criterion on its gradient and curvature."""
    seen = _Remembered(function)
    begin = seen(_inside(start, bounds))
    if not begin.ok:
        return Minimum(begin, False, seen.count)
    for depth in DEPTHS:
        floor = begin.value - depth * (_promised(begin) + start.size)
        try:
            return _solved(*_as_squares(seen, floor), seen, begin.point, bounds)
        except _BelowFloorError:
            begin = seen.best or begin
    return Minimum(begin, False, seen.count)


def _promised(found: Evaluation) -> float:
    """The reduction that gradient and curvature promise."""
    return 0.5 * float(found.gradient @ np.linalg.pinv(found.curvature, hermitian=True) @ found.gradient)


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

    def curvature(self, found: Evaluation) -> np.ndarray:
        """At the point that the search has moved to."""
        before, self._last = self._last, found
        far = before is not None and before.value - found.value > NEAR
        if before is None or not (found.stale or (found.loglik is not None and not far)):
            return found.curvature
        step, change = found.point - before.point, found.gradient - before.gradient
        correction = np.zeros_like(found.curvature) if self._correction is None else self._correction
        missed = change - (found.curvature + correction) @ step
        along = float(missed @ step)
        if abs(along) > SMALL_ANGLE * float(np.linalg.norm(missed) * np.linalg.norm(step)):
            correction = correction + np.outer(missed, missed) / along
        self._correction = correction
        return found.curvature + correction


def _as_squares(seen: "_Remembered", floor: float) -> tuple[Callable, Callable]:
    secant = _Secant()

    def residuals(point: np.ndarray) -> np.ndarray:
        found = seen(point)
        result = np.zeros(point.size + 1)
        if not found.ok:
            return np.full(point.size + 1, np.nan)
        if found.value <= floor:
            raise _BelowFloorError
        result[0] = np.sqrt(2.0 * (found.value - floor))
        return result

    def jacobian(point: np.ndarray) -> np.ndarray:
        found = seen(point)
        height = np.sqrt(2.0 * (found.value - floor))
        row = found.gradient / height
        rest = secant.curvature(found) - np.outer(row, row)
        eigenvalues, vectors = np.linalg.eigh(rest)
        return np.vstack([row, np.sqrt(np.maximum(eigenvalues, 0.0))[:, None] * vectors.T])

    return residuals, jacobian


class _Remembered:
    """The function with its last evaluation, and the best so far."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._last: Evaluation | None = None
        self.best: Evaluation | None = None
        self.count = 0
        self.size = 0

    def __call__(self, point: np.ndarray) -> Evaluation:
        if self._last is None or not np.array_equal(self._last.point, point):
            self._last = self._function(point.copy())
            self.count += 1
            if self._last.ok and (self.best is None or self._last.value < self.best.value):
                self.best = self._last
        return self._last


def _inside(start: np.ndarray, bounds: Bounds) -> np.ndarray:
    """A start on a bound would not move along it: a little inside, as scipy asks."""
    lower, upper = bounds
    size = np.where(np.isfinite(upper - lower), upper - lower, np.maximum(np.abs(start), 1.0))
    raised = np.where(start <= lower, lower + 1e-6 * size, start)
    return np.where(start >= upper, upper - 1e-6 * size, raised)


def _units(evaluation: Evaluation) -> np.ndarray:
    """A step in φ that changes the value by about one half: what makes the search free of the parameters' units."""
    diagonal = np.diag(evaluation.curvature)
    usable = np.isfinite(diagonal) & (diagonal > 0.0)
    return np.where(usable, 1.0 / np.sqrt(np.where(usable, diagonal, 1.0)), 1.0)


def _solved(
    residuals: Callable,
    jacobian: Callable,
    seen: _Remembered,
    start: np.ndarray,
    bounds: Bounds,
    evaluations: int = MOST,
    tolerance: float = FTOL,
) -> Minimum:
    from scipy.optimize import least_squares as solve

    begin = _inside(start, bounds)
    unit = _units(seen(begin))
    first = begin / unit

    def point(scaled: np.ndarray) -> np.ndarray:
        return begin if np.array_equal(scaled, first) else np.clip(scaled * unit, *bounds)

    options: dict[str, Any] = {"ftol": tolerance, "xtol": XTOL, "gtol": GTOL, "max_nfev": evaluations, "x_scale": "jac"}
    options["jac"] = lambda scaled: jacobian(point(scaled)) * unit
    limits = (bounds[0] / unit, bounds[1] / unit)
    found = solve(lambda scaled: residuals(point(scaled)), first, bounds=limits, **options)
    best = seen.best or seen(point(found.x))
    return Minimum(best, bool(found.status > 0), seen.count)
