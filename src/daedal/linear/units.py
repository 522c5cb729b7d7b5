"""Units in which the entries of a pencil λE − F are all near one.

Factors r of the rows, c of the columns and τ of time minimise, over the entries that are not zero,

    Σ (log r_i + log c_j + log τ + log |E_ij|)² + Σ (log r_i + log c_j + log |F_ij|)²

(Curtis and Reid 1972, with a unit of time besides). The solution follows every change of units of equations, variables
and time exactly, so that whatever is judged in these units does not depend on those of the user.

A. R. Curtis, J. K. Reid, On the automatic scaling of matrices for Gaussian elimination, J. Inst. Math. Appl. 10 (1972)
118–124.
"""

import numpy as np


def find_natural_units(E: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """r, c and τ: τ r E c and r F c have entries near one.

    Examples
    --------
    >>> rows, columns, time = find_natural_units(np.array([[1e6]]), np.array([[-3.0]]))
    >>> round(float((time * rows * 1e6 * columns)[0]), 6), round(float((rows * 3.0 * columns)[0]), 6)
    (1.0, 1.0)
    """
    m, end = len(E), sum(E.shape)
    filled = [matrix != 0.0 for matrix in (E, F)]
    logs = [np.log2(np.abs(np.where(there, matrix, 1.0))) for there, matrix in zip(filled, (E, F), strict=True)]
    normal, right = np.zeros((end + 1, end + 1)), np.zeros(end + 1)
    both = filled[0].astype(float) + filled[1]
    timed = filled[0].astype(float)
    normal[:m, m:end], normal[:m, end], normal[m:end, end] = both, timed.sum(axis=1), timed.sum(axis=0)
    normal += normal.T
    normal[np.diag_indices(end + 1)] = [*both.sum(axis=1), *both.sum(axis=0), timed.sum()]
    right[:m] = -(logs[0] + logs[1]).sum(axis=1)
    right[m:end] = -(logs[0] + logs[1]).sum(axis=0)
    right[end] = -logs[0].sum()
    # Parts that are not connected have a free factor each; a little weight on the factors themselves settles it.
    factors = np.linalg.solve(normal + 1e-9 * np.eye(end + 1), right)
    return 2.0 ** factors[:m], 2.0 ** factors[m:end], float(2.0 ** factors[end])
