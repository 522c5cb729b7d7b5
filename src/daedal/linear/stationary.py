"""Stationary covariance of dx = A x dt + dv, E dv dvᵀ = Q dt, with A stable, and its derivative.

    A P + P Aᵀ + Q = 0                                          (Lyapunov)
    A dP + dP Aᵀ + (dA P + P dAᵀ + dQ) = 0

Solved by Schur decomposition (Bartels and Stewart 1972) after scaling the states so that A is balanced: in a
canonical form the states are derivatives of each other and their variances lie many powers of ten apart.

R. H. Bartels, G. W. Stewart, Solution of the matrix equation AX + XB = C, Comm. ACM 15 (1972) 820–826.
"""

import numpy as np
from scipy.linalg import get_lapack_funcs, matrix_balance, schur


def solve_lyapunov(A: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """P with A P + P Aᵀ + Q = 0; a `LinAlgError` where there is none, or none that numbers can hold.

    Examples
    --------
    >>> solve_lyapunov(np.array([[-2.0]]), np.array([[4.0]]))
    array([[1.]])
    """
    balanced, (scale, _) = matrix_balance(A, permute=False, separate=True)
    with np.errstate(over="ignore", invalid="ignore"):
        outer = scale[:, None] * scale
        scaled = -Q / outer
        if not np.isfinite(scaled).all():
            raise np.linalg.LinAlgError("the intensity is not finite")
        # As in scipy's solve_continuous_lyapunov, which warns and goes on where poles sum up to zero.
        T, U = schur(balanced, output="real")  # pyright: ignore[reportAssignmentType]
        (solve_triangular,) = get_lapack_funcs(("trsyl",), (T,))
        Y, shrunk, perturbed = solve_triangular(T, T, U.T.dot(scaled.dot(U)), tranb="T")
        P = U.dot(Y).dot(U.T) * outer
    if perturbed or shrunk != 1.0 or not np.isfinite(P).all():
        raise np.linalg.LinAlgError("there is no stationary covariance")
    return 0.5 * (P + P.T)


def differentiate_lyapunov(A: np.ndarray, P: np.ndarray, dA: np.ndarray, dQ: np.ndarray) -> np.ndarray:
    """The derivative of P in the direction (dA, dQ)."""
    change = dA @ P
    return solve_lyapunov(A, change + change.T + dQ)
