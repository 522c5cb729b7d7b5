"""Basis pursuit denoising: numbers with the smallest sum of magnitudes that explain data up to a given error.

    min ‖x‖₁   subject to   |A x − b| ≤ σ

The solutions for all σ are those of the LASSO, min ½|A x − b|² + μ‖x‖₁, for all μ. With the signs of its nonzero
numbers known, x is a straight line of μ, along which a number reaches zero or the slope of another reaches μ; following
these lines from μ = max |Aᵀb|, where x = 0, gives every solution exactly (homotopy). |A x − b| falls along the way, and
the place where it is σ is the root of a quadratic polynomial.

S. S. Chen, D. L. Donoho, M. A. Saunders, Atomic decomposition by basis pursuit, SIAM J. Sci. Comput. 20 (1998) 33–61.
M. R. Osborne, B. Presnell, B. A. Turlach, A new approach to variable selection in least squares problems, IMA J.
Numer. Anal. 20 (2000) 389–403.
"""

import numpy as np

from daedal.errors import EstimationError
from daedal.order.greedy_sparsity import shorten

EVENTS = 1000  # changes of the support, of which there are about as many as numbers
ROUNDING = 1e-12


def pursue_basis(A: np.ndarray, b: np.ndarray, error: float) -> np.ndarray:
    """Numbers x with the smallest ‖x‖₁ among those with |A x − b| ≤ error; A has independent columns.

    Examples
    --------
    >>> pursue_basis(np.eye(2), np.array([3.0, 1.0]), error=1.0).round(3)
    array([2.293, 0.293])
    """
    A, b = shorten(A, b)
    least = float(np.linalg.norm(b - A @ np.linalg.lstsq(A, b, rcond=None)[0]))
    if error < least:
        raise EstimationError(
            f"No numbers come nearer to the data than {least:.5g}, but the error is to be {error:.5g}.",
            "Allow a larger error.",
        )
    x = np.zeros(A.shape[1])
    if np.linalg.norm(b) <= error:
        return x
    level = float(np.max(np.abs(A.T @ b)))
    active = np.abs(A.T @ b) >= (1.0 - ROUNDING) * level
    dropped = -1
    for _ in range(EVENTS):
        step = _find_direction(A, b, x, active)
        fall, event = _find_next_event(A, b, x, step, active, level, dropped)
        reached = _find_crossing(A, b, x, step, fall, error)
        if reached is not None:
            return x + reached * step
        x, level = x + fall * step, level - fall
        if event < 0:
            return x
        dropped = event if active[event] else -1
        active[event] = not active[event]
        x[~active] = 0.0
    raise EstimationError("The path of solutions does not end.", "Scale the columns to a similar size.")


def _find_direction(A: np.ndarray, b: np.ndarray, x: np.ndarray, active: np.ndarray) -> np.ndarray:
    """dx/d(−μ): the slopes of all active numbers keep the size μ."""
    signs = np.sign(A.T @ (b - A @ x))[active]
    used = A[:, active]
    step = np.zeros(x.size)
    step[active] = np.linalg.solve(used.T @ used, signs)
    return step


def _find_next_event(
    A: np.ndarray, b: np.ndarray, x: np.ndarray, step: np.ndarray, active: np.ndarray, level: float, dropped: int
) -> tuple[float, int]:
    """By how much μ falls until a number becomes zero or another joins, and which; −1 at μ = 0."""
    slopes, rates = A.T @ (b - A @ x), A.T @ (A @ step)
    fall, event = level, -1
    for k in range(x.size):
        if active[k]:
            falls = [-x[k] / step[k]] if x[k] * step[k] < 0.0 else []
        else:  # ±slope = μ: slope − f rate = ±(μ − f)
            sides = [(level - sign * slopes[k], 1.0 - sign * rates[k]) for sign in (1.0, -1.0)]
            falls = [
                gap / speed for gap, speed in sides if speed > 0.0 and not (k == dropped and gap <= ROUNDING * level)
            ]
        for candidate in falls:
            if candidate < fall:
                fall, event = max(candidate, 0.0), k
    return fall, event


def _find_crossing(
    A: np.ndarray, b: np.ndarray, x: np.ndarray, step: np.ndarray, fall: float, error: float
) -> float | None:
    """Where along a step |A x − b| becomes the error, None if it does not."""
    left, change = b - A @ x, A @ step
    if np.linalg.norm(left - fall * change) > error * (1.0 + ROUNDING):
        return None
    # |left|² − 2 t leftᵀchange + t² |change|² = error², the smaller root.
    half, square = float(left @ change), float(change @ change)
    gap = float(left @ left) - error**2
    return gap / (half + np.sqrt(max(half**2 - square * gap, 0.0)))
