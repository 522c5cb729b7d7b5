"""Exponential of stacks of small matrices.

    e^M = (e^{M/2ˢ})^{2ˢ},   ‖M/2ˢ‖₁ ≤ ½,   e^X ≈ Σ_{k ≤ 16} Xᵏ/k!   (remainder below 10⁻¹⁹)

Scaling and squaring with a Taylor polynomial (Moler and Van Loan 2003, methods 1 and 3). For matrices of a few rows it
needs only products, which run over a whole stack at once, keep structural zeros and start no threads; LAPACK's solver,
which Padé approximants need, may wait for threads a hundred times longer than it works on a 4×4 matrix.

With fast and slow modes, s is large and what the slow ones do to e^X is lost in 1 + small. So all but the last
squarings are done on D = e^X − I, which becomes 2D + D².

Of large matrices every product counts: their polynomial is evaluated in powers of X⁴ (Paterson and Stockmeyer 1973), in
6 products instead of 16, and 12 instead of 31 for a derivative.

C. Moler, C. Van Loan, Nineteen dubious ways to compute the exponential of a matrix, SIAM Review 45 (2003) 3–49.
M. S. Paterson, L. J. Stockmeyer, On the number of nonscalar multiplications necessary to evaluate polynomials, SIAM J.
Comput. 2 (1973) 60–66.
"""

from collections.abc import Iterator
from math import factorial

import numpy as np

DEGREE = 16
LAST = 6  # squarings of e^X itself, in which modes that have died out vanish


def exponential(M: np.ndarray) -> np.ndarray:
    """e^M of a matrix or a stack of matrices, with as many squarings as each needs.

    Examples
    --------
    >>> exponential(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[1., 1.],
           [0., 1.]])
    """
    return exponential_slopes(M, np.zeros((0, *M.shape)))[0]


def exponential_slopes(M: np.ndarray, dM: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """e^M of a stack (…, n, n), and its derivatives along dM (direction, …, n, n): the same sums, derived."""
    squarings = _count_squarings(M)
    D, dD = _expand_without_one(M / 2.0 ** squarings[..., None, None], dM / 2.0 ** squarings[..., None, None])
    return square_growth(D, dD, squarings)


def exponential_growth(M: np.ndarray, dM: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """e^M − I of a stack of matrices with a norm of a few, and its derivatives, with all digits of small entries."""
    squarings = _count_squarings(M)
    D, dD = _expand_without_one(M / 2.0 ** squarings[..., None, None], dM / 2.0 ** squarings[..., None, None])
    for left in range(int(squarings.max(initial=0.0)), 0, -1):
        D, dD = double_growth(D, dD, (squarings >= left)[..., None, None])
    return D, dD


def trace_squarings(M: np.ndarray, dM: np.ndarray) -> Iterator[tuple[float, np.ndarray, np.ndarray]]:
    """½ˢ, …, ½, 1 with e^M to that power, of one large matrix, and its derivatives (direction, n, n).

    Examples
    --------
    >>> [(share, round(value.item(), 3)) for share, value, _ in trace_squarings(np.eye(1), np.zeros((0, 1, 1)))]
    [(0.5, 1.649), (1.0, 2.718)]
    """
    squarings = int(_count_squarings(M))
    D, dD = _expand_in_blocks(M / 2.0**squarings, dM / 2.0**squarings)
    eye = np.eye(len(M))
    result, slopes = eye + D, dD
    yield 0.5**squarings, result, slopes
    for left in range(squarings, 0, -1):
        if left > LAST:
            D, slopes = 2.0 * D + D @ D, 2.0 * slopes + D @ slopes + slopes @ D
            result = eye + D
        else:
            result, slopes = result @ result, slopes @ result + result @ slopes
        yield 0.5 ** (left - 1), result, slopes


def square_growth(D: np.ndarray, dD: np.ndarray, squarings: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(I + D)^{2ˢ} and its derivatives, for each of a stack with its own s."""
    most = int(squarings.max(initial=0.0))
    for left in range(most, LAST, -1):
        D, dD = double_growth(D, dD, (squarings >= left)[..., None, None])
    result, slopes = np.eye(D.shape[-1]) + D, dD
    for left in range(min(most, LAST), 0, -1):
        again = (squarings >= left)[..., None, None]
        slopes = np.where(again, slopes @ result + result @ slopes, slopes)
        result = np.where(again, result @ result, result)
    return result, slopes


def double_growth(D: np.ndarray, dD: np.ndarray, again: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(I + D)² − I where asked for."""
    return np.where(again, 2.0 * D + D @ D, D), np.where(again, 2.0 * dD + D @ dD + dD @ D, dD)


def _expand_without_one(X: np.ndarray, dX: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ_{1 ≤ k ≤ 16} Xᵏ/k! and its derivatives."""
    eye = np.eye(X.shape[-1])
    result, slopes = eye + X / DEGREE, dX / DEGREE
    for k in range(DEGREE - 1, 1, -1):
        slopes = (dX @ result + X @ slopes) / k if len(dX) else slopes
        result = eye + (X @ result) / k
    return X @ result, dX @ result + X @ slopes


def _expand_in_blocks(X: np.ndarray, dX: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same of one large matrix: Σ_j (X⁴)ʲ Σ_{i<4} Xⁱ/(4j + i)!."""
    square, cube, fourth = (power := X @ X), power @ X, power @ power
    slopes = [dX, dX @ X + X @ dX]
    slopes += [slopes[1] @ X + square @ dX, slopes[1] @ square + square @ slopes[1]]
    powers = [X, square, cube, fourth]

    def add(place: int, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
        weights = [1.0 / factorial(place + i) for i in range(low, high)]
        parts = list(zip(weights, powers[low - 1 :], slopes[low - 1 :], strict=False))
        return sum(w * p for w, p, _ in parts), sum(w * d for w, _, d in parts)  # type: ignore[return-value]

    result, moved = add(12, 1, 5)
    result[np.diag_indices(len(X))] += 1.0 / factorial(12)
    for place in (8, 4, 0):
        value, slope = add(place, 1, 4)
        moved = slopes[3] @ result + fourth @ moved + slope
        result = fourth @ result + value
        if place:
            result[np.diag_indices(len(X))] += 1.0 / factorial(place)
    return result, moved


def _count_squarings(M: np.ndarray) -> np.ndarray:
    """How often each matrix is halved to have a norm of at most ½."""
    size = np.abs(M).sum(axis=-2).max(axis=-1, initial=0.0)
    return np.ceil(np.log2(np.maximum(2.0 * size, 1.0)))
