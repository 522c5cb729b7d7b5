"""The greedy sparse-simplex method: least squares with few numbers that are not zero.

    min |A x − b|²   subject to   ‖x‖₀ ≤ s

From x with fewer than s nonzero numbers, the best change of one number, x + t e_j, is made. From x with s of them, the
best exchange of one for another, x − x_i e_i + t e_j. Where neither makes the sum of squares smaller, x is a
coordinate-wise minimum. The sum is quadratic, so that the best t is (e_jᵀAᵀr)/|A e_j|² with r what is left without it,
and repeated changes on one support end in its least squares solution, which is therefore taken at once.

A. Beck, Y. C. Eldar, Sparsity constrained nonlinear optimization: optimality conditions and algorithms, SIAM J. Optim.
23 (2013) 1480–1509, algorithm 2.
"""

import numpy as np

STEPS = 200
BETTER = 1e-10  # relative: smaller gains are rounding


def greedy_sparse(A: np.ndarray, b: np.ndarray, most: int, start: np.ndarray | None = None) -> np.ndarray:
    """Numbers x, at most so many of them not zero, from a start that has no more.

    Examples
    --------
    >>> A = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    >>> greedy_sparse(A, np.array([3.0, 0.0, 0.1]), most=1)
    array([3., 0., 0.])
    """
    x = np.zeros(A.shape[1]) if start is None else start
    lengths = np.sum(A**2, axis=0)
    lengths[lengths == 0.0] = np.inf
    x = on_support(A, b, x != 0.0)
    for _ in range(STEPS):
        left = b - A @ x
        squares = float(left @ left)
        new = _added(A, left, lengths, x) if np.count_nonzero(x) < most else _exchanged(A, left, lengths, x)
        new = on_support(A, b, new != 0.0)
        rest = b - A @ new
        if float(rest @ rest) >= (1.0 - BETTER) * squares:
            break
        x = new
    return x


def on_support(A: np.ndarray, b: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Least squares in which only the numbers of the support may differ from zero."""
    x = np.zeros(A.shape[1])
    scale = np.linalg.norm(A[:, support], axis=0)
    scale[scale == 0.0] = 1.0
    x[support] = np.linalg.lstsq(A[:, support] / scale, b, rcond=None)[0] / scale
    return x


def _added(A: np.ndarray, left: np.ndarray, lengths: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The best x + t e_j."""
    slopes = A.T @ left
    j = int(np.argmax(slopes**2 / lengths))
    new = x.copy()
    new[j] += slopes[j] / lengths[j]
    return new


def _exchanged(A: np.ndarray, left: np.ndarray, lengths: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The best x − x_i e_i + t e_j."""
    support = np.flatnonzero(x)
    without = left[:, None] + A[:, support] * x[support]  # what is left without each number of the support
    slopes = A.T @ without  # (j, i)
    squares = np.sum(without**2, axis=0) - slopes**2 / lengths[:, None]
    j, i = np.unravel_index(int(np.argmin(squares)), squares.shape)
    new = x.copy()
    new[support[i]] = 0.0
    new[j] += slopes[j, i] / lengths[j]
    return new
