"""Jacobians of many functions of many symbols."""

import casadi as ca
import numpy as np

WIDE = 50  # entries of a row: fewer cost less all at once


def write_jacobian(functions: ca.SX, symbols: ca.SX) -> ca.SX:
    """∂f/∂x of columns f and x.

    CasADi goes through all functions once for each column that shares rows with others, n³ operations where n functions
    of n terms each depend on all symbols. Backward, each function gives its row at the cost of its own terms: n² then.
    """
    if functions.shape[0] == 0:
        return ca.jacobian(functions, symbols)
    sparsity = ca.jacobian_sparsity(functions, symbols)
    widest = int(np.bincount(sparsity.row()).max(initial=0)) if sparsity.nnz() else 0
    if widest <= WIDE:
        return ca.jacobian(functions, symbols)
    rows = ca.vertsplit(functions)
    if 3 * sum(map(_count_operations, rows)) > widest * _count_operations(functions):  # what rows share is done again
        return ca.jacobian(functions, symbols)
    return ca.vertcat(*(ca.jacobian(row, symbols) for row in rows))


def _count_operations(functions: ca.SX) -> int:
    return ca.Function("functions", [ca.vertcat(*ca.symvar(functions))], [functions]).n_instructions()
