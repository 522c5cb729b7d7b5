"""The greedy sparse-simplex method: least squares with few numbers that are not zero.

    min |A x − b|²   subject to   ‖x‖₀ ≤ s

From x with fewer than s nonzero numbers the best change of one number is made, x + t e_j. From x with s of them the
best exchange of one for another, x − x_i e_i + t e_j. Where neither makes the sum of squares smaller, x is a
coordinate-wise minimum. The best t is (A e_j)ᵀr / |A e_j|², with r what is left without it. Changes that keep the
support end in its least squares solution, which is therefore taken at once.

A. Beck, Y. C. Eldar, Sparsity constrained nonlinear optimization: optimality conditions and algorithms, SIAM J. Optim.
23 (2013) 1480–1509, section 3.2.
"""

import numpy as np

STEPS = 200
BETTER = 1e-10  # relative: a smaller gain is rounding


def select_greedily(A: np.ndarray, b: np.ndarray, most: int, start: np.ndarray | None = None) -> np.ndarray:
    """Numbers x, at most so many of them not zero, from a start that has no more.

    Examples
    --------
    >>> A = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    >>> select_greedily(A, np.array([3.0, 0.0, 0.1]), most=1)
    array([3., 0., 0.])
    """
    A, b = shorten(A, b)
    lengths = np.sum(A**2, axis=0)
    lengths[lengths == 0.0] = np.inf
    x = np.zeros(A.shape[1]) if start is None else solve_on_support(A, b, start != 0.0)
    for _ in range(STEPS):
        left = b - A @ x
        moved = _add_best(A, left, lengths, x) if np.count_nonzero(x) < most else _exchange_worst(A, left, lengths, x)
        new = solve_on_support(A, b, moved != 0.0)
        if np.linalg.norm(b - A @ new) >= (1.0 - BETTER) * np.linalg.norm(left):
            break
        x = new
    return x


def solve_on_support(A: np.ndarray, b: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Least squares in which only the numbers of the support may differ from zero."""
    x = np.zeros(A.shape[1])
    scale = np.linalg.norm(A[:, support], axis=0)
    scale[scale == 0.0] = 1.0
    x[support] = np.linalg.lstsq(A[:, support] / scale, b, rcond=None)[0] / scale
    return x


def shorten(A: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same sums of squares with as few rows as there are numbers, and one."""
    triangle = np.asarray(np.linalg.qr(np.column_stack([A, b]), mode="r"))
    return triangle[:, :-1], triangle[:, -1]


def _add_best(A: np.ndarray, left: np.ndarray, lengths: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The best x + t e_j."""
    slopes = A.T @ left
    j = int(np.argmax(slopes**2 / lengths))
    return _set_place(x, j, x[j] + slopes[j] / lengths[j])


def _exchange_worst(A: np.ndarray, left: np.ndarray, lengths: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The best x − x_i e_i + t e_j."""
    support = np.flatnonzero(x)
    without = left[:, None] + A[:, support] * x[support]  # a column for each i
    slopes = A.T @ without
    squares = np.sum(without**2, axis=0) - slopes**2 / lengths[:, None]
    j, i = np.unravel_index(int(np.argmin(squares)), squares.shape)
    fewer = _set_place(x, int(support[i]), 0.0)
    return _set_place(fewer, int(j), fewer[j] + slopes[j, i] / lengths[j])


def _set_place(x: np.ndarray, place: int, value: float) -> np.ndarray:
    changed = x.copy()
    changed[place] = value
    return changed
