"""Exponential of stacks of small matrices.

    e^M = (e^{M/2ˢ})^{2ˢ},   ‖M/2ˢ‖₁ ≤ ½,   e^X ≈ Σ_{k ≤ 16} Xᵏ/k!   (remainder below 10⁻¹⁹)

Scaling and squaring with a Taylor polynomial (Moler and Van Loan 2003, methods 1 and 3). For matrices of a few rows it
needs only products, which run over a whole stack at once, keep structural zeros and start no threads; LAPACK's solver,
which Padé approximants need, may wait for threads a hundred times longer than it works on a 4×4 matrix.

C. Moler, C. Van Loan, Nineteen dubious ways to compute the exponential of a matrix, SIAM Review 45 (2003) 3–49.
"""

import numpy as np

DEGREE = 16


def exponential(M: np.ndarray) -> np.ndarray:
    """e^M of a matrix or a stack of matrices, with as many squarings as each needs.

    Examples
    --------
    >>> exponential(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[1., 1.],
           [0., 1.]])
    """
    squarings = _squarings(M)
    X = M / 2.0 ** squarings[..., None, None]
    eye = np.eye(M.shape[-1])
    result = eye + X / DEGREE
    for k in range(DEGREE - 1, 0, -1):
        result = eye + (X @ result) / k
    for squaring in range(int(squarings.max(initial=0.0))):
        result = np.where((squarings > squaring)[..., None, None], result @ result, result)
    return result


def exponential_slopes(M: np.ndarray, dM: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """e^M of a stack (…, n, n), and its derivatives along dM (direction, …, n, n): the same sums, derived."""
    squarings = _squarings(M)
    X, dX = M / 2.0 ** squarings[..., None, None], dM / 2.0 ** squarings[..., None, None]
    eye = np.eye(M.shape[-1])
    result, slopes = eye + X / DEGREE, dX / DEGREE
    for k in range(DEGREE - 1, 0, -1):
        slopes = (dX @ result + X @ slopes) / k
        result = eye + (X @ result) / k
    for squaring in range(int(squarings.max(initial=0.0))):
        again = (squarings > squaring)[..., None, None]
        slopes = np.where(again, slopes @ result + result @ slopes, slopes)
        result = np.where(again, result @ result, result)
    return result, slopes


def _squarings(M: np.ndarray) -> np.ndarray:
    """How often each matrix is halved to have a norm of at most ½."""
    size = np.abs(M).sum(axis=-2).max(axis=-1, initial=0.0)
    return np.ceil(np.log2(np.maximum(2.0 * size, 1.0)))
