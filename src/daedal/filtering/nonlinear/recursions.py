"""Linear recursions over all steps as compiled loops: x_{k+1} = A_k x_k + b_k, and the adjoint of it backwards."""

from functools import lru_cache

import casadi as ca
import numpy as np

from daedal.kernels import ScanKernel, compile_scan


def run_forward(A: np.ndarray, start: np.ndarray, push: np.ndarray) -> np.ndarray:
    """x₀ … x_K (point, n) of x_{k+1} = A_k x_k + push_k, for A (step, n, n), a start (n,) and pushes (step, n)."""
    return np.concatenate([start[None], _run(A, start, push)])


def run_backward(A: np.ndarray, push: np.ndarray) -> np.ndarray:
    """y₀ … y_K (point, n) of y_k = A_kᵀ y_{k+1} + push_k, y_K = push_K, for pushes (point, n)."""
    following = _run(A[::-1].swapaxes(1, 2), push[-1], push[-2::-1])
    return np.concatenate([following[::-1], push[-1:]])


def _run(A: np.ndarray, start: np.ndarray, push: np.ndarray) -> np.ndarray:
    steps, n = push.shape
    state, out = np.array(start, dtype=float).reshape(n, 1), np.empty((steps, n, 1))
    table, lane = np.ascontiguousarray(A).reshape(steps, n * n), np.ascontiguousarray(push).reshape(steps, n, 1)
    _compile(n).run(state, np.zeros((0, 1)), table, lane, np.arange(steps), out)
    return out[:, :, 0]


@lru_cache(maxsize=32)
def _compile(n: int) -> ScanKernel:
    x, A, push, none = ca.SX.sym("x", n), ca.SX.sym("A", n * n), ca.SX.sym("push", n), ca.SX(0, 1)
    moved = ca.mtimes(ca.reshape(A, n, n).T, x) + push
    return compile_scan(ca.Function("move", [x, none, A, push], [moved]), ca.Function("see", [x, none, A, push], [x]))
