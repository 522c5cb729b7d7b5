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
from daedal.models import Model, evaluate_expressions, evaluate_parameters
from daedal.symbolic import Delayed, expand, find_operator, intern_symbol, list_symbols, stack_symbols

SOLVED = 1e-8  # of the size of its terms: residual of an equation that counts as fulfilled
ROUNDING = 1e-13  # of its slopes, where the terms themselves vanish
OPEN = 1e-10  # singular value, relative to the largest, of a direction that the equations leave open
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
        solution = problem.solve(start, np.ones(len(names), dtype=bool))
        if solution is None:
            continue
        worst = float(problem.weigh_residuals(solution).max())
        if worst <= SOLVED:
            return dict(zip(names, map(float, problem.hold_open(solution, start, guessed)), strict=True))
        best = (worst, solution) if best is None or worst < best[0] else best
    raise InitialValueError(_explain_failure(model, problem, best), _REMEDY)


_REMEDY = (
    "Give a guess near it, other inputs, or values of unknowns and derivatives at a point that is no steady state, "
    "at={'x': 1.0, 'der(x)': 0.5}."
)


def _explain_failure(model: Model, problem: "_SteadyState", best: tuple[float, np.ndarray] | None) -> str:
    if best is None:
        return f"Equations of model '{model.name}' cannot be evaluated at the guess, so no steady state was found."
    worst = list(model.equations)[int(np.argmax(problem.weigh_residuals(best[1])))]
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

    def weigh_residuals(self, x: np.ndarray) -> np.ndarray:
        """Residuals relative to the terms they are the sum of."""
        slopes, left = np.abs(self.jacobian(x)), np.abs(self.at(x))
        terms = slopes @ np.abs(x) + np.where(np.isfinite(self.fixed), self.fixed, 0.0)
        size = np.maximum(terms, ROUNDING / SOLVED * (slopes @ np.maximum(np.abs(x), 1.0)))
        return np.divide(left, size, out=np.where(left > 0.0, np.inf, 0.0), where=size > 0.0)

    def hold_open(self, solution: np.ndarray, start: np.ndarray, guessed: np.ndarray) -> np.ndarray:
        """A solution in which what the equations leave open is where it started, rather what has a guess."""
        slopes = self.jacobian(solution)
        slopes = slopes / np.maximum(np.abs(slopes).max(axis=1, keepdims=True), np.finfo(float).tiny)
        units = np.maximum(np.abs(slopes).max(axis=0), np.finfo(float).tiny)
        _, values, right = np.linalg.svd(slopes / units)
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
        held = self.solve(np.where(free, solution, start), free)
        return held if held is not None and self.weigh_residuals(held).max() <= SOLVED else solution

    def solve(self, start: np.ndarray, free: np.ndarray) -> np.ndarray | None:
        """The nearest least-squares solution in the free unknowns; None where the equations cannot be evaluated."""
        from scipy.optimize import least_squares

        slopes = self.jacobian(start)
        if not (np.isfinite(self.at(start)).all() and np.isfinite(slopes).all()):
            return None
        largest = np.abs(slopes).max(axis=1)
        weights = 1.0 / np.where(largest > 0.0, largest, 1.0)  # equations in different units count alike

        def complete(part: np.ndarray) -> np.ndarray:
            x = start.copy()
            x[free] = part
            return x

        options: dict[str, Any] = {"x_scale": "jac", "ftol": 1e-14, "xtol": 1e-14, "gtol": 1e-14, "max_nfev": 500}
        options["jac"] = lambda part: weights[:, None] * self.jacobian(complete(part))[:, free]
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # far away squares overflow; scipy steps back from there
                nearest = least_squares(lambda part: weights * self.at(complete(part)), start[free], **options).x
            return self._polish(complete(nearest), free, weights)
        except (ValueError, np.linalg.LinAlgError):  # slopes became infinite on the way
            return None

    def _polish(self, x: np.ndarray, free: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The last digits, by steps of least length."""
        for _ in range(3):
            left = weights * self.at(x)
            nearer = x.copy()
            nearer[free] -= np.linalg.lstsq(weights[:, None] * self.jacobian(x)[:, free], left, rcond=1e-10)[0]
            if not np.abs(weights * self.at(nearer)).max() < np.abs(left).max():
                break
            x = nearer
        return x
