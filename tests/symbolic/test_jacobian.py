"""Jacobians against those of CasADi, whichever way they are written."""

import casadi as ca
import numpy as np
import pytest

from daedal.symbolic import write_jacobian


def couple(count):
    """Functions of all symbols, without common parts."""
    x, weights = ca.SX.sym("x", count), np.random.default_rng(0).normal(size=(count, count))
    return ca.vertcat(*(ca.dot(ca.DM(row), ca.sin(k + x)) for k, row in enumerate(weights))), x


def share(count):
    """Functions of one sum of all symbols."""
    x = ca.SX.sym("x", count)
    return ca.vertcat(*(ca.sin(ca.sum1(x**2)) * x[k] for k in range(count))), x


@pytest.mark.parametrize("functions", [couple, share])
@pytest.mark.parametrize("count", [3, 60])
def test_entries_are_those_of_casadi(functions, count):
    f, x = functions(count)
    both = ca.Function("both", [x], [write_jacobian(f, x), ca.jacobian(f, x)])
    ours, theirs = both(np.linspace(-1.0, 1.0, count))
    np.testing.assert_allclose(ours.full(), theirs.full(), rtol=1e-12, atol=1e-13)


def test_nothing_has_no_rows():
    assert write_jacobian(ca.SX(0, 1), ca.SX.sym("x", 3)).shape == (0, 3)


def test_operations_grow_with_the_terms_alone():
    """Forward through all functions, 60 directions go through 60 × 60 terms each."""
    f, x = couple(60)
    jacobian = ca.Function("jacobian", [x], [write_jacobian(f, x)])
    assert jacobian.n_instructions() < 10 * 60**2
