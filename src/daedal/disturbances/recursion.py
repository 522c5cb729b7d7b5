"""The recursion x ← A x + L z, w = R x and its sensitivities, compiled for many paths at once.

    x ← A x + L z            ∂x ← A ∂x + ∂A x + ∂L z
    w = R x                  ∂w = R ∂x + ∂R x

One path per lane. The matrices are arguments of the compiled loop, so one kernel serves all noises of the same size and
all parameter values; a lane has the same bits whatever its neighbours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import casadi as ca
import numpy as np

from daedal.kernels import ScanKernel, compile_scan


@final
@dataclass(frozen=True, eq=False)
class NoiseMatrices:
    """A_d (n, n), L (n, n), output rows (orders·channels, n) and S (n, n), or derivatives of them."""

    transition: np.ndarray
    factor: np.ndarray
    rows: np.ndarray
    start: np.ndarray


def recur(
    parts: Sequence[NoiseMatrices], state: np.ndarray, normals: np.ndarray, values: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Values (steps, rows·parts, lanes) after each step, and the state (states·parts, lanes) after the last.

    The first of `parts` holds the matrices, each further one their derivatives with respect to one parameter. The
    values are written into an array of their shape, if there is one.
    """
    rows, n = parts[0].rows.shape
    steps, _, lanes = normals.shape
    numbers = np.concatenate([matrix.ravel() for part in parts for matrix in _list_moving(part)])
    state = np.array(state, order="C")
    values = np.empty((steps, rows * len(parts), lanes)) if values is None else values
    _compile_kernel(n, rows, len(parts)).run(
        state,
        np.ascontiguousarray(np.broadcast_to(numbers[:, None], (len(numbers), lanes))),
        np.empty((steps, 0)),
        np.ascontiguousarray(normals),
        np.arange(steps),
        values,
    )
    return values, state


def _list_moving(part: NoiseMatrices) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return part.transition, part.factor, part.rows


@lru_cache(maxsize=64)
def _compile_kernel(n: int, rows: int, count: int) -> ScanKernel:
    x = [ca.SX.sym(f"x{i}", n) for i in range(count)]
    z = ca.SX.sym("z", n)
    matrices = [[ca.SX.sym(f"{m}{i}", k, n) for m, k in (("A", n), ("L", n), ("R", rows))] for i in range(count)]
    A, L, R = matrices[0]
    moved, seen = [A @ x[0] + ca.tril(L) @ z], [R @ x[0]]
    for state, (dA, dL, dR) in zip(x[1:], matrices[1:], strict=True):
        moved.append(A @ state + (dA @ x[0] + ca.tril(dL) @ z))
        seen.append(R @ state + dR @ x[0])
    numbers = ca.vertcat(*(ca.vec(matrix.T) for part in matrices for matrix in part))
    arguments = [ca.vertcat(*x), numbers, ca.SX(0, 1), z]
    return compile_scan(
        ca.Function("step", arguments, [ca.vertcat(*moved)]), ca.Function("observe", arguments, [ca.vertcat(*seen)])
    )
