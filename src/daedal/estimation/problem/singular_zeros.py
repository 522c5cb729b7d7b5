"""Parameters whose zero divides a model in two: masses, time constants, and whatever it divides by.

A search that steps over such a zero has left the model that it began with, a stable one for an unstable one say.
"""

import casadi as ca
import numpy as np

from daedal.analysis import Equations
from daedal.estimation.problem.problem import Problem
from daedal.models import evaluate_parameters
from daedal.symbolic import jet, list_symbols, stack_symbols


def find_crossed_zeros(problem: Problem, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Which coordinates have such a zero between two points, (coordinate,)."""
    space = problem.coordinates
    crossed = ~np.asarray(space.logarithmic) & (start * end < 0.0)
    if crossed.any():
        names = [item.parameter for item in space.items]
        singular = set(list_singular_zeros(problem, [name for name, yes in zip(names, crossed, strict=True) if yes]))
        crossed &= np.array([name in singular for name in names])
    return crossed


def list_singular_zeros(problem: Problem, names: list[str]) -> list[str]:
    """Free parameters that are coefficients of highest derivatives, or at whose zero equations are no numbers."""
    model = problem.system.model
    residuals = Equations.of(model).residuals
    leaves = list_symbols(residuals)
    highest: dict[str, str] = {}
    for name in sorted(leaves, key=lambda leaf: jet(leaf)[1]):
        highest[jet(name)[0]] = name
    derivatives = [name for name in highest.values() if jet(name)[1]]
    coefficients = ca.jacobian(residuals, stack_symbols(derivatives))
    leading = set(list_symbols(coefficients))
    look = ca.Function("residuals", [stack_symbols(leaves)], [residuals])
    numbers, random = evaluate_parameters(model), np.random.default_rng(1)
    point = {name: numbers.get(name, random.uniform(0.5, 1.5)) for name in leaves}

    def is_singular(name: str) -> bool:
        at_zero = look([point[leaf] if leaf != name else 0.0 for leaf in leaves])
        return name in leading or not np.isfinite(np.array(at_zero)).all()

    return [name for name in names if name in point and is_singular(name)]
