"""Compiled costates against the same recursion in numpy."""

from dataclasses import replace

import numpy as np
import pytest

from daedal.errors import SimulationError
from daedal.kernels import CostateMethod, CostateTable, arguments, run_costate

ROWS, NODES, SIZE, COUNT, POINTS, DELAYED = 30, 2, 3, 2, 4, 3
METHOD = CostateMethod(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([0.5, 0.5]), np.array([0, 1]))  # Heun's


def made() -> CostateTable:
    rng = np.random.default_rng(0)
    back = np.maximum(np.arange(ROWS)[:, None, None] - 9 + rng.integers(0, 3, (ROWS, NODES, COUNT)), 0)
    return CostateTable(
        h=rng.uniform(0.0, 0.2, ROWS),
        kick=rng.standard_normal((ROWS, SIZE)) * (rng.uniform(size=(ROWS, 1)) < 0.3),
        M=0.5 * rng.standard_normal((ROWS, NODES, SIZE + COUNT, SIZE)),
        W=rng.standard_normal((ROWS, SIZE + COUNT, DELAYED)),
        weights=0.3 * rng.standard_normal((ROWS, NODES, COUNT, POINTS)),
        back=back,
        columns=np.array([SIZE + 2, SIZE]),
    )


@pytest.mark.parametrize("piece", [arguments.PIECE, 1.0, 400.0])
def test_against_the_recursion_in_numpy(monkeypatch, piece):
    """Whole, and coming back to Python after every row or after some."""
    monkeypatch.setattr(arguments, "PIECE", piece)
    table, record = made(), np.zeros((ROWS + POINTS, SIZE + DELAYED))
    run_costate(METHOD, table, record)
    expected, lam = np.zeros_like(record), np.zeros(SIZE)
    for r in range(ROWS):
        lam = lam + table.kick[r]
        eta = np.zeros((NODES, COUNT))
        for at in range(NODES):
            for c in range(COUNT):
                first = table.back[r, at, c]
                eta[at, c] = table.weights[r, at, c] @ expected[first : first + POINTS, table.columns[c]]
        first = table.M[r, 0].T @ np.r_[lam, eta[0]]
        second = table.M[r, 1].T @ np.r_[lam + table.h[r] * first, eta[1]]
        lam = lam + 0.5 * table.h[r] * (first + second)
        expected[r] = np.r_[lam, table.W[r].T @ np.r_[lam, eta[1]]]
    np.testing.assert_allclose(record, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"back": np.full((ROWS, NODES, COUNT), ROWS + 1)}, "back"),
        ({"columns": np.array([0, SIZE + DELAYED])}, "columns"),
        ({"kick": np.zeros((ROWS, SIZE + 1))}, "kick"),
    ],
)
def test_tables_that_lead_outside_are_refused(change, word):
    with pytest.raises(SimulationError, match=word):
        run_costate(METHOD, replace(made(), **change), np.zeros((ROWS + POINTS, SIZE + DELAYED)))
