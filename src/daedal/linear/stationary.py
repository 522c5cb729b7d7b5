"""Stationary covariance of dx = A x dt + dv, E dv dvᵀ = Q dt, with A stable, and its derivative.

    A P + P Aᵀ + Q = 0                                          (Lyapunov)
    A dP + dP Aᵀ + (dA P + P dAᵀ + dQ) = 0

Solved by Schur decomposition (Bartels and Stewart 1972) after scaling the states so that A is balanced: in a
canonical form the states are derivatives of each other and their variances lie many powers of ten apart.

R. H. Bartels, G. W. Stewart, Solution of the matrix equation AX + XB = C, Comm. ACM 15 (1972) 820–826.
"""

import numpy as np
from scipy.linalg import matrix_balance, solve_continuous_lyapunov


def solve_lyapunov(A: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """P with A P + P Aᵀ + Q = 0.

    Examples
    --------
    >>> solve_lyapunov(np.array([[-2.0]]), np.array([[4.0]]))
    array([[1.]])
    """
    balanced, (scale, _) = matrix_balance(A, permute=False, separate=True)
    outer = scale[:, None] * scale
    P = solve_continuous_lyapunov(balanced, -Q / outer) * outer
    return 0.5 * (P + P.T)


def differentiate_lyapunov(A: np.ndarray, P: np.ndarray, dA: np.ndarray, dQ: np.ndarray) -> np.ndarray:
    """The derivative of P in the direction (dA, dQ)."""
    change = dA @ P
    return solve_lyapunov(A, change + change.T + dQ)
