"""State space of a transfer function, and the derivatives of its output.

    b(s)/a(s) = (b₀ sᵐ + … + b_m) / (a₀ sⁿ + … + a_n),  m < n:
    ẋ = A x + B v,  w = C x,  x = (p, p', …, p⁽ⁿ⁻¹⁾),  a(d/dt) p = a₀ v,  w = b(d/dt) p / a₀

the controllable canonical form (Kailath 1980, section 2.1), states in order of rising derivative. As long as
C Aʲ B = 0 for j < k, the output is k times differentiable and its derivative is a function of the state alone:

    w⁽ᵏ⁾ = C Aᵏ x,   k ≤ relative degree − 1  (= poles − zeros − 1 for a transfer function)

T. Kailath, Linear Systems, Prentice-Hall 1980.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np


def make_controllable_form(
    numerator: Sequence[Any], denominator: Sequence[Any]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A (n, n), B (n, 1), C (1, n) of numerator/denominator, highest power first; entries may be expressions.

    Examples
    --------
    >>> A, B, C = make_controllable_form([3.0], [1.0, 0.8, 16.0])
    >>> A.tolist(), B.tolist(), C.tolist()
    ([[0.0, 1.0], [-16.0, -0.8]], [[0.0], [1.0]], [[3.0, 0.0]])
    """
    n = len(denominator) - 1
    kind = float if all(isinstance(value, (int, float)) for value in (*numerator, *denominator)) else object
    A, B, C = np.zeros((n, n), kind), np.zeros((n, 1), kind), np.zeros((1, n), kind)
    leading = denominator[0]
    for i in range(n):
        A[n - 1, n - 1 - i] = -denominator[i + 1] / leading
        if i < n - 1:
            A[i, i + 1] = 1.0
    for i, value in enumerate(reversed(numerator)):
        C[0, i] = value / leading
    B[n - 1, 0] = 1.0
    return A, B, C


def list_output_rows(A: np.ndarray, C: np.ndarray, orders: Sequence[int]) -> np.ndarray:
    """The rows C Aᵏ for each order k, one order after the other."""
    return np.concatenate([C @ np.linalg.matrix_power(A, k) for k in orders])


def differentiate_output_rows(
    A: np.ndarray, C: np.ndarray, dA: np.ndarray, dC: np.ndarray, orders: Sequence[int]
) -> np.ndarray:
    """The derivative of `list_output_rows` in the direction (dA, dC)."""
    powers = [np.linalg.matrix_power(A, k) for k in range(max(orders) + 1)]
    return np.concatenate(
        [dC @ powers[k] + sum((C @ powers[i] @ dA @ powers[k - 1 - i] for i in range(k)), 0 * C) for k in orders]
    )


def count_output_derivatives(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> tuple[int, ...]:
    """How many derivatives each output has; an output that no noise reaches counts as many as there are states.

    C Aʲ B counts as zero when it is below 10⁻¹² of the same product of absolute values.
    """
    counts = np.full(len(C), len(A))
    row, bound = C, np.abs(C)
    for k in range(len(A)):
        reached = (np.abs(row @ B) > 1e-12 * (bound @ np.abs(B))).any(axis=1)
        counts = np.where(reached, np.minimum(counts, k), counts)
        row, bound = row @ A, bound @ np.abs(A)
    return tuple(int(count) for count in counts)
