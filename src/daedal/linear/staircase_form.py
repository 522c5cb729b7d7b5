"""Orthogonal coordinates in which noise enters from the top and trickles down: the controllability staircase.

    Tᵀ A T = [A₁₁ *   *   *;      Tᵀ B = [B₁;
              A₂₁ A₂₂ *   *;              0;
              0   A₃₂ A₃₃ *;              0;
              0   0   0   A_u]            0]

with B₁, A₂₁, A₃₂, … of full row rank; A_u belongs to the states that no input reaches (Van Dooren 1981, section III).
After a short time h the i-th stair has a standard deviation of h^{i−½}: scaled by it, the law of the state tends to
that of a chain of integrators, and nothing degenerates however short h is.

Each stair is found by making the columns of what the last one drives orthogonal, one after the other and to all before,
dependent ones skipped. So T has no free signs or turns, and moves smoothly with A and B.

P. Van Dooren, The generalized eigenstructure problem in linear system theory, IEEE Trans. Automat. Control 26 (1981)
111–129.
"""

from dataclasses import dataclass
from typing import final

import numpy as np


@final
@dataclass(frozen=True, eq=False)
class Staircase:
    """T (n, reached), A and B in its coordinates, with true zeros where the form has them, and how many stairs."""

    T: np.ndarray
    A: np.ndarray
    B: np.ndarray
    stairs: int


def reduce_to_staircase(A: np.ndarray, B: np.ndarray, tolerance: float = 1e-12) -> Staircase:
    """The coordinates that inputs reach, stair by stair.

    Examples
    --------
    >>> reduce_to_staircase(np.array([[0.0, 1.0], [-16.0, -0.8]]), np.array([[0.0], [1.0]])).T
    array([[0., 1.],
           [1., 0.]])
    """
    basis: list[np.ndarray] = []
    heights: list[int] = []
    front, size = list(B.T), float(np.linalg.norm(B))
    height = 0
    while front:
        stair: list[np.ndarray] = []
        for column in front:
            left = _orthogonalize(column, [*basis, *stair])
            length = float(np.linalg.norm(left))
            if length > tolerance * size:
                stair.append(left / length)
        basis += stair
        heights += [height] * len(stair)
        front, size, height = [A @ column for column in stair], float(np.linalg.norm(A)), height + 1
    T, level = np.array(basis).reshape(-1, len(A)).T, np.array(heights)
    inside = np.where(level[:, None] > level + 1, 0.0, T.T @ A @ T)
    return Staircase(T, inside, np.where(level[:, None] > 0, 0.0, T.T @ B), len(set(heights)))


def _orthogonalize(column: np.ndarray, basis: list[np.ndarray]) -> np.ndarray:
    for _ in range(2):
        for direction in basis:
            column = column - (direction @ column) * direction
    return column
