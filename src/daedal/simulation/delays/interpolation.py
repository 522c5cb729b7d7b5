"""Values between recorded points: the polynomial through the points 0, 1, …, d around a position.

Its degree d is above the order of the method, because what a delay does to the solution is the slope of it.
"""

from functools import lru_cache

import casadi as ca
import numpy as np

from daedal.simulation.steps import Method

DEGREE: dict[Method, int] = {"rk4": 5, "rk6": 7, "radau3": 5, "radau5": 5}


@lru_cache(maxsize=16)
def _compute_coefficients(degree: int) -> np.ndarray:
    """From powers of the position, counted from the middle, which keeps digits, to weights of the points."""
    return np.linalg.inv(np.vander(np.arange(degree + 1.0) - 0.5 * degree, increasing=True))


def find_first_point(position: np.ndarray, degree: int) -> np.ndarray:
    """The first of the points that lie evenly around a position."""
    return np.floor(position).astype(np.int64) - degree // 2


def compute_weights(position: np.ndarray, degree: int, *, slope: bool = False) -> np.ndarray:
    """Weights (…, degree + 1) of the points that give the value at each position, or the slope there."""
    powers, middle = np.ones((*position.shape, degree + 1)), position - 0.5 * degree
    for k in range(1, degree + 1):
        powers[..., k] = powers[..., k - 1] * middle
    if slope:
        powers[..., 1:] = powers[..., :-1] * np.arange(1.0, degree + 1.0)
        powers[..., 0] = 0.0
    return powers @ _compute_coefficients(degree)


def make_symbolic_weights(position: ca.SX, degree: int) -> ca.SX:
    """Weights of the points that give the value at a position."""
    powers = ca.vertcat(*((position - 0.5 * degree) ** k for k in range(degree + 1)))
    return ca.mtimes(_compute_coefficients(degree).T, powers)
