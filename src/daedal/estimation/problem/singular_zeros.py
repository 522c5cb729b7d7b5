"""Parameters whose zero divides a model in two: masses, time constants, and whatever it divides by.

A search that steps over such a zero has left the model that it began with, a stable one for an unstable one say.
"""

import casadi as ca
import numpy as np

from daedal.analysis import Equations
from daedal.estimation.problem.problem import Problem
from daedal.models import evaluate_parameters
from daedal.symbolic import jet, list_symbols, stack_symbols

NOTHING = 1e-9  # of the largest: what rounding leaves of a singular value


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
    """Free parameters at whose zero highest derivatives are lost, or equations are no numbers."""
    model = problem.system.model
    residuals = Equations.of(model).residuals
    leaves = list_symbols(residuals)
    highest: dict[str, str] = {}
    for name in sorted(leaves, key=lambda leaf: jet(leaf)[1]):
        highest[jet(name)[0]] = name
    derivatives = [name for name in highest.values() if jet(name)[1]]
    coefficients = ca.densify(ca.jacobian(residuals, stack_symbols(derivatives)))
    look = ca.Function("residuals", [stack_symbols(leaves)], [residuals, coefficients])
    numbers, random = evaluate_parameters(model), np.random.default_rng(1)
    point = {name: numbers.get(name, random.uniform(0.5, 1.5)) for name in leaves}
    usual = np.array(look(list(point.values()))[1])
    size = np.abs(usual).max(axis=1, keepdims=True, initial=0.0)
    size[size == 0.0] = 1.0

    def count_determined(matrix: np.ndarray) -> int:
        return int(np.linalg.matrix_rank(matrix / size, tol=NOTHING))

    def is_singular(name: str) -> bool:
        at_zero, matrix = (np.array(one) for one in look([point[leaf] * (leaf != name) for leaf in leaves]))
        if not (np.isfinite(at_zero).all() and np.isfinite(matrix).all()):
            return True
        return bool(np.isfinite(usual).all()) and count_determined(matrix) < count_determined(usual)

    return [name for name in names if name in point and is_singular(name)]
