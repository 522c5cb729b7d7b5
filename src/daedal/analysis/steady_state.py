"""A steady state of a model: f(ż, z, u, w, θ) = 0 with given rates and inputs, w = 0.

Found by least squares from the model's guesses. Where the equations leave directions open (an angle that may be
anything), as many unknowns as there are such directions stay where they started, rather those with a guess.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedal.analysis.equations import Equations
from daedal.errors import InitialValueError
from daedal.linear import find_natural_units
from daedal.models import Model, evaluate_expressions, evaluate_parameters
from daedal.symbolic import Delayed, expand, find_operator, intern_symbol, list_symbols, stack_symbols

SOLVED = 1e-8  # of the size of its terms: residual of an equation that counts as fulfilled
ROUNDING = 1e-13  # of its slopes, where the terms themselves vanish
OPEN = 1e-10  # singular value, relative to the largest, of a direction that the equations leave open
Units = tuple[np.ndarray, np.ndarray]  # factors of equations and unknowns
SHARE = 1e-6  # of the largest: an unknown with less does not move along an open direction


def find_steady_state(model: Model, given: Mapping[str, float]) -> dict[str, float]:
    """Unknowns that were not given, such that all equations hold with derivatives and disturbances at rest."""
    names = [name for name in model.unknown_names if name not in given]
    if not names:
        return {}
    problem = _SteadyState.of(model, names, given)
    numbers = evaluate_expressions({**model.guess, **model.initial}, evaluate_parameters(model))
    guessed = np.array([name in numbers for name in names])
    best: tuple[float, np.ndarray] | None = None
    for other in (0.0, 1.0):  # a square root has no slope at zero
        start = np.array([numbers.get(name, other) for name in names])
        units = problem.find_units(start)
        if units is None:
            continue
        solution = problem.solve(start, np.ones(len(names), dtype=bool), units)
        if solution is None:
            continue
        worst = float(problem.weigh_residuals(solution, units).max())
        if worst <= SOLVED:
            return dict(zip(names, map(float, problem.hold_open(solution, start, guessed, units)), strict=True))
        best = (worst, problem.weigh_residuals(solution, units)) if best is None or worst < best[0] else best
    raise InitialValueError(_explain_failure(model, best), _REMEDY)


_REMEDY = (
    "Give a guess near it, other inputs, or values of unknowns and derivatives at a point that is no steady state, "
    "at={'x': 1.0, 'der(x)': 0.5}."
)


def _explain_failure(model: Model, best: tuple[float, np.ndarray] | None) -> str:
    if best is None:
        return f"Equations of model '{model.name}' cannot be evaluated at the guess, so no steady state was found."
    worst = list(model.equations)[int(np.argmax(best[1]))]
    return f"No steady state of model '{model.name}' was found: equation '{worst}' cannot be fulfilled."


@dataclass(frozen=True, eq=False)
class _SteadyState:
    """Residuals and their slopes as functions of the unknowns, and the size of the terms in each."""

    residual: ca.Function
    slopes: ca.Function
    fixed: np.ndarray  # the part of the size that does not depend on the unknowns

    @staticmethod
    def of(model: Model, names: list[str], given: Mapping[str, float]) -> "_SteadyState":
        typed = Equations.of(model)
        sx = typed.residuals
        while delayed := [(n, m) for n in list_symbols(sx) if isinstance(m := find_operator(n), Delayed)]:
            old, new = zip(*((intern_symbol(name).sx, meaning.operand.sx) for name, meaning in delayed), strict=True)
            sx = expand(ca.substitute(sx, ca.vertcat(*old), ca.vertcat(*new)), typed.constants)
        parameters = evaluate_parameters(model)
        leaves = list_symbols(sx)
        known = [name for name in leaves if name not in names]
        numbers = [parameters.get(name, given.get(name, 0.0)) for name in known]
        if known:
            sx = ca.substitute(sx, stack_symbols(known), ca.DM(numbers))
        free = stack_symbols(names)
        residual = ca.Function("residual", [free], [ca.densify(sx)])
        slopes = ca.Function("slopes", [free], [ca.densify(ca.jacobian(sx, free))])
        return _SteadyState(residual, slopes, np.abs(residual(np.zeros(len(names))).full().ravel()))

    def at(self, x: np.ndarray) -> np.ndarray:
        return self.residual(x).full().ravel()

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        return self.slopes(x).full()

    def find_units(self, start: np.ndarray) -> Units | None:
        """Factors of equations and unknowns in which slopes are about one; None where they cannot be evaluated.

        How large all of them are is settled by the values themselves, where these are not zero.
        """
        slopes = self.jacobian(start)
        if not (np.isfinite(self.at(start)).all() and np.isfinite(slopes).all()):
            return None
        _, columns, _ = find_natural_units(np.zeros_like(slopes), slopes)
        told = start != 0.0
        if told.any():  # the others are as large, beside them, as the slopes say
            others = columns * np.exp(np.mean(np.log(np.abs(start[told]) / columns[told])))
            columns = np.where(told, np.abs(start), others)
        else:  # all are as large as the first step is long
            columns = columns * (np.abs(np.linalg.lstsq(slopes * columns, self.at(start))[0]).max() or 1.0)
        largest = np.abs(slopes * columns).max(axis=1)
        return 1.0 / np.where(largest > 0.0, largest, 1.0), columns

    def weigh_residuals(self, x: np.ndarray, units: Units) -> np.ndarray:
        """Residuals relative to the terms they are the sum of."""
        slopes, left = np.abs(self.jacobian(x)), np.abs(self.at(x))
        terms = slopes @ np.abs(x) + np.where(np.isfinite(self.fixed), self.fixed, 0.0)
        size = np.maximum(terms, ROUNDING / SOLVED * (slopes @ np.maximum(np.abs(x), units[1])))
        return np.divide(left, size, out=np.where(left > 0.0, np.inf, 0.0), where=size > 0.0)

    def hold_open(self, solution: np.ndarray, start: np.ndarray, guessed: np.ndarray, units: Units) -> np.ndarray:
        """A solution in which what the equations leave open is where it started, rather what has a guess."""
        slopes = self.jacobian(solution)
        slopes = slopes / np.maximum(np.abs(slopes).max(axis=1, keepdims=True), np.finfo(float).tiny)
        columns = np.maximum(np.abs(slopes).max(axis=0), np.finfo(float).tiny)
        _, values, right = np.linalg.svd(slopes / columns)
        rank = int(np.sum(values > OPEN * values[0]))
        free = np.ones(len(solution), dtype=bool)
        open_directions = right[rank:].T.copy()
        for _ in range(len(solution) - rank):
            share = np.linalg.norm(open_directions, axis=1)
            kept = int(np.argmax(np.where(guessed & (share > SHARE * share.max()), share + 1.0, share)))
            free[kept] = False
            along = open_directions[kept] / np.linalg.norm(open_directions[kept])
            open_directions -= np.outer(open_directions @ along, along)
        if free.all():
            return solution
        held = self.solve(np.where(free, solution, start), free, units)
        return held if held is not None and self.weigh_residuals(held, units).max() <= SOLVED else solution

    def solve(self, start: np.ndarray, free: np.ndarray, units: Units) -> np.ndarray | None:
        """The nearest least-squares solution in the free unknowns; None where the equations cannot be evaluated."""
        from scipy.optimize import least_squares

        rows, columns = units

        def complete(part: np.ndarray) -> np.ndarray:
            x = start.copy()
            x[free] = columns[free] * part
            return x

        def differentiate(part: np.ndarray) -> np.ndarray:
            return (rows[:, None] * self.jacobian(complete(part)) * columns)[:, free]

        options: dict[str, Any] = {"x_scale": "jac", "ftol": 1e-14, "xtol": 1e-14, "gtol": 1e-14, "max_nfev": 500}
        options["jac"] = differentiate
        begin = (start / columns)[free]
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # far away squares overflow; scipy steps back from there
                nearest = least_squares(lambda part: rows * self.at(complete(part)), begin, **options).x
            return self._polish(complete(nearest), free, units)
        except (ValueError, np.linalg.LinAlgError):  # slopes became infinite on the way
            return None

    def _polish(self, x: np.ndarray, free: np.ndarray, units: Units) -> np.ndarray:
        """The last digits, by steps of least length."""
        rows, columns = units
        for _ in range(3):
            left = rows * self.at(x)
            nearer = x.copy()
            slopes = (rows[:, None] * self.jacobian(x) * columns)[:, free]
            nearer[free] -= columns[free] * np.linalg.lstsq(slopes, left, rcond=1e-10)[0]
            if not np.abs(rows * self.at(nearer)).max() < np.abs(left).max():
                break
            x = nearer
        return x
