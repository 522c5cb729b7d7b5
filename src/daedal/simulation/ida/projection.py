"""Bring a point back onto the constraints, and solve for what is determined at the instant.

X moves along the rows of B until G(X, t) = 0: X ← X − U² Bᵀ (A U² Bᵀ)⁻¹ G, with U the units of X, so that none moves by
more than is little for it; then T ← T − J⁻¹ top. Both are Newton iterations that begin at the solver's values and end
at round-off, where steps no longer become shorter.
"""

import numpy as np

from daedal.symbolic import BufferedFunction
from daedal.systems import System, make_units

ITERATIONS = 8
DENSE = 80  # larger systems are solved sparse
ROUNDING = 1e-15  # of a value: shorter steps change nothing


class Projection:
    """The functions of one system, ready to project many points."""

    def __init__(self, system: System, parameters: np.ndarray, units: np.ndarray | None = None) -> None:
        """`units` may change between calls; without any, they are chosen for each point."""
        self.parameters, self.units = parameters, units
        names = ("constraints", "constraints_jacobian", "directions", "top", "top_jacobian")
        self.G, self.A, self.B, self.top, self.J = (BufferedFunction(system.function(name)) for name in names)

    def __call__(
        self, time: float, x: np.ndarray, top: np.ndarray, exogenous: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """X on the constraints and T that belongs to it; the given values where the equations are singular."""
        try:
            projected = self._project_states(time, x, top, exogenous)
            return projected, self._solve_tops(time, projected, top, exogenous)
        except np.linalg.LinAlgError:
            return x, top

    def _project_states(self, time: float, x: np.ndarray, top: np.ndarray, w: np.ndarray) -> np.ndarray:
        if self.G.result.size == 0:
            return x
        previous, largest = np.inf, np.abs(x)
        units = make_units(np.where(x == 0.0, np.max(largest) or 1.0, largest)) if self.units is None else self.units
        for _ in range(ITERATIONS):
            arguments = (time, x, top, self.parameters, w)
            residual = self.G(*arguments)
            A, B = _evaluate_matrix(self.A, arguments), _evaluate_matrix(self.B, arguments)
            A, B = _scale(A, units), _scale(B, units)
            rows = make_units(_find_largest(B))
            A, B = _scale(A.T, 1.0 / rows), _scale(B.T, 1.0 / rows)
            step = units * (B @ _solve_matrix(A.T @ B, residual / rows))
            largest = np.maximum(largest, np.abs(step))
            size = _compare(step, largest)
            if not size < previous:
                break
            x, previous = x - step, size
            if size <= ROUNDING:
                break
        return x

    def _solve_tops(self, time: float, x: np.ndarray, top: np.ndarray, w: np.ndarray) -> np.ndarray:
        previous, largest = np.inf, np.abs(top)
        for _ in range(ITERATIONS):
            arguments = (time, x, top, self.parameters, w)
            step = solve(self.J, arguments, self.top(*arguments))
            largest = np.maximum(largest, np.abs(step))
            size = _compare(step, largest)
            if not size < previous:
                break
            top, previous = top - step, size
            if size <= ROUNDING:
                break
        return top


def _scale(matrix, columns: np.ndarray):
    """M C with diagonal C."""
    return matrix * columns if isinstance(matrix, np.ndarray) else matrix.multiply(columns).tocsc()


def _find_largest(matrix) -> np.ndarray:
    """Of each row; one where all are zero."""
    largest = abs(matrix).max(axis=1)
    largest = largest if isinstance(largest, np.ndarray) else largest.toarray().ravel()
    return np.where(largest > 0.0, largest, 1.0)


def _compare(step: np.ndarray, largest: np.ndarray) -> float:
    """The longest step, relative to the largest value or step of each variable so far."""
    return float(np.max(np.abs(step) / np.where(largest > 0.0, largest, 1.0)))


def solve(function: BufferedFunction, arguments: tuple, right: np.ndarray) -> np.ndarray:
    """Solve with the square matrix a function gives at these arguments."""
    return _solve_matrix(_evaluate_matrix(function, arguments), right)


def _evaluate_matrix(function: BufferedFunction, arguments: tuple):
    if max(function.shape) <= DENSE:
        return function.matrix(*arguments)
    from scipy.sparse import csc_matrix

    indices, pointers = function.sparsity.row(), function.sparsity.colind()
    return csc_matrix((function(*arguments).copy(), indices, pointers), shape=function.shape)


def _solve_matrix(matrix, right: np.ndarray) -> np.ndarray:
    if isinstance(matrix, np.ndarray):
        return np.linalg.solve(matrix, right)
    from scipy.sparse.linalg import splu

    try:
        return splu(matrix.tocsc()).solve(right)
    except RuntimeError as error:
        raise np.linalg.LinAlgError(str(error)) from None
