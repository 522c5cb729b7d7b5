"""Offsets of the signature method against assignment and linear programming on random signatures."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, linprog

from daedal.analysis import Incidence, find_offsets

NONE = -1  # the unknown does not occur


@st.composite
def signatures(draw):
    n = draw(st.integers(1, 5))
    entries = st.lists(st.sampled_from([NONE, NONE, 0, 0, 1, 2, 3]), min_size=n, max_size=n)
    return np.array(draw(st.lists(entries, min_size=n, max_size=n)))


def sparse(signature: np.ndarray, least: np.ndarray | None = None) -> Incidence:
    rows, columns = np.nonzero(signature != NONE)
    n, m = signature.shape
    least = np.zeros(m, dtype=int) if least is None else least
    return Incidence(rows, columns, signature[rows, columns], least=least, equations=n, unknowns=m)


def transversal(signature: np.ndarray) -> np.ndarray | None:
    """A transversal of largest sum, or None."""
    weights = np.where(signature == NONE, -1000.0, signature)
    columns = linear_sum_assignment(weights, maximize=True)[1]
    return None if weights[np.arange(len(weights)), columns].min() < 0 else columns


def smallest(signature: np.ndarray, match: np.ndarray, least: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """min Σc + Σd subject to d_j − c_i ≥ s_ij, with equality on the transversal."""
    n = len(signature)
    rows, columns = np.nonzero(signature != NONE)
    matrix = np.zeros((rows.size, 2 * n))
    matrix[np.arange(rows.size), rows] = 1.0
    matrix[np.arange(rows.size), n + columns] = -1.0
    bound = -signature[rows, columns].astype(float)
    tight = match[rows] == columns
    limits = [(0, None)] * n + [(int(low), None) for low in least]
    solution = linprog(np.ones(2 * n), matrix, bound, matrix[tight], bound[tight], bounds=limits)
    assert solution.status == 0
    return solution.x[:n], solution.x[n:]


@settings(max_examples=150)
@given(signatures(), st.data())
def test_offsets_are_the_smallest_of_the_linear_programme(signature, data):
    n = len(signature)
    least = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    match = transversal(signature)
    found = find_offsets(sparse(signature, least))
    if match is None:
        assert found is None
        return
    assert found is not None
    c, d = smallest(signature, match, least)
    np.testing.assert_allclose(found.equations, c, atol=1e-7)
    np.testing.assert_allclose(found.unknowns, d, atol=1e-7)


@settings(max_examples=100)
@given(signatures())
def test_degrees_of_freedom_are_the_value_of_the_assignment(signature):
    match = transversal(signature)
    found = find_offsets(sparse(signature))
    if match is not None:
        assert found is not None
        assert found.degrees_of_freedom == signature[np.arange(len(signature)), match].sum()


@pytest.mark.parametrize("shape", [(1, 2), (2, 1)])
def test_as_many_equations_as_unknowns_are_needed(shape):
    assert find_offsets(sparse(np.zeros(shape, dtype=int))) is None
