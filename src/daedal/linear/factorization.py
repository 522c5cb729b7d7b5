"""Lower triangular L with L Lᵀ = Q for symmetric Q that may be semidefinite, and its derivative.

Where Q is definite this is the Cholesky factor. Where it is not, L is the limit of Cholesky factors in which every
state that adds no noise of its own has a column of zeros: with the pivot rows P (those with L_jj > 0) and the rest R,

    L_PP = cholesky(Q_PP),   L_RP = Q_RP L_PP⁻ᵀ,   all other columns zero.

It is found without deciding on differences of squares: Q = MᵀM from the eigenvalues of Q scaled to a unit diagonal,
and the columns of M are made orthogonal one after the other (Gram–Schmidt, twice: Björck 1994), dependent ones skipped.

The derivative in a direction dQ that keeps the pivot rows (Smith 1995, section 3), Φ taking the lower triangle with
half the diagonal:

    dL_PP = L_PP Φ(L_PP⁻¹ dQ_PP L_PP⁻ᵀ),   dL_RP = (dQ_RP − L_RP dL_PPᵀ) L_PP⁻ᵀ

Å. Björck, Numerics of Gram–Schmidt orthogonalization, Linear Algebra Appl. 197 (1994) 297–316.
S. P. Smith, Differentiation of the Cholesky algorithm, J. Comput. Graph. Statist. 4 (1995) 134–147.
"""

import numpy as np

EPSILON = float(np.finfo(float).eps)


def factor_semidefinite(Q: np.ndarray) -> np.ndarray:
    """Lower triangular L with non-negative diagonal and L Lᵀ = Q; Q may be a stack of matrices.

    Examples
    --------
    >>> factor_semidefinite(np.array([[4.0, 2.0], [2.0, 1.0]]))
    array([[2., 0.],
           [1., 0.]])
    """
    if not Q.size:
        return np.zeros_like(Q)
    if Q.ndim > 2:
        return _factor_stack(Q)
    deviation = np.sqrt(np.maximum(np.diag(Q), 0.0))
    unit = np.where(deviation > 0, deviation, 1.0)
    correlation = Q / unit[:, None] / unit
    values, vectors = np.linalg.eigh(correlation)
    noise_floor = 4 * len(Q) * EPSILON * max(float(values[-1]), 0.0)
    if values[0] > noise_floor:
        return unit[:, None] * np.linalg.cholesky(correlation)
    root = np.sqrt(np.where(values > noise_floor, values, 0.0))[:, None] * vectors.T
    return unit[:, None] * _triangularize(root)


def differentiate_factor(L: np.ndarray, dQ: np.ndarray) -> np.ndarray:
    """The derivative of L = factor_semidefinite(Q) in a direction dQ that does not change the rank."""
    result = np.zeros_like(L)
    pivots = np.flatnonzero(np.diag(L) > 0)
    rest = np.flatnonzero(np.diag(L) <= 0)
    if not len(pivots):
        return result
    square = L[np.ix_(pivots, pivots)]
    half = _solve_forward(square, dQ[np.ix_(pivots, pivots)])
    inner = np.tril(_solve_forward(square, half.T))
    d_square = square @ (inner - 0.5 * np.diag(np.diag(inner)))
    others = dQ[np.ix_(rest, pivots)] - L[np.ix_(rest, pivots)] @ d_square.T
    result[np.ix_(pivots, pivots)] = d_square
    result[np.ix_(rest, pivots)] = _solve_forward(square, others.T).T
    return np.tril(result)


def invert_semidefinite(matrix: np.ndarray, rank: float = 1e-15) -> np.ndarray:
    """An inverse of a symmetric matrix, without directions in which it vanishes, judged in units of its own diagonal.

    Judged in units of a user's, the number that is measured in the largest would be all that is left.

    Examples
    --------
    >>> invert_semidefinite(np.array([[4e30, 0.0], [0.0, 2e-30]]))
    array([[2.5e-31, 0.0e+00],
           [0.0e+00, 5.0e+29]])
    """
    diagonal = np.diag(matrix)
    size = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    return np.linalg.pinv(matrix / size[:, None] / size, rcond=rank, hermitian=True) / size[:, None] / size


def _factor_stack(Q: np.ndarray) -> np.ndarray:
    """Plain Cholesky of the scaled stack where all of it is clearly definite, else one by one."""
    deviation = np.sqrt(np.maximum(np.diagonal(Q, axis1=-2, axis2=-1), 0.0))
    if deviation.min() > 0:
        correlation = Q / deviation[..., :, None] / deviation[..., None, :]
        try:
            L = np.linalg.cholesky(correlation)
        except np.linalg.LinAlgError:
            L = np.zeros_like(Q)
        if np.diagonal(L, axis1=-2, axis2=-1).min() > 1e-6:
            return deviation[..., :, None] * L
    flat = Q.reshape(-1, *Q.shape[-2:])
    return np.array([factor_semidefinite(matrix) for matrix in flat]).reshape(Q.shape)


def _triangularize(root: np.ndarray) -> np.ndarray:
    """L with L Lᵀ = rootᵀ root, by orthogonalising the columns of root in order."""
    n = root.shape[1]
    L, basis = np.zeros((n, n)), np.zeros(root.shape)
    for j in range(n):
        column = root[:, j].copy()
        length = np.linalg.norm(column)
        for _ in range(2):
            part = basis.T @ column
            column -= basis @ part
            L[j] += part
        left = np.linalg.norm(column)
        if left > 16 * n * EPSILON * length:
            basis[:, j] = column / left
            L[j, j] = left
    return L


def _solve_forward(L: np.ndarray, right: np.ndarray) -> np.ndarray:
    """L⁻¹ right, row by row: for a few rows quicker than a call of LAPACK, which may start threads."""
    result = np.zeros_like(right)
    for i, row in enumerate(L):
        result[i] = (right[i] - row[:i] @ result[:i]) / row[i]
    return result
