"""What known inputs do to a linear system over a step, exactly: inputs that are polynomials of time.

    ẋ = A x + B u,  u(t + s) = Σ_j c_j sʲ:   x(t + h) = e^{Ah} x(t) + Σ_j Γ_j c_j,   Γ_j = ∫₀ʰ e^{A(h−s)} B sʲ ds

The Γ_j are j! times blocks of one exponential (Van Loan 1978, theorem 1 repeated):

    exp(h [A B 0 …; 0 0 I …; 0 0 0 …]) = [e^{Ah}  Γ₀/0!  Γ₁/1!  …; …]

C. Van Loan, Computing integrals involving the matrix exponential, IEEE Trans. Automat. Control 23 (1978) 395–404.
"""

from collections.abc import Iterator
from math import factorial

import numpy as np

from daedal.linear import Dual, exponential, exponential_slopes, trace_squarings


def compute_forced_response(A: Dual, B: Dual, degree: int, steps: np.ndarray) -> Dual:
    """Γ (step, power, n, inputs) for polynomials up to a degree, with derivatives.

    Examples
    --------
    >>> from daedal.linear import lift
    >>> integrator = lift(np.zeros((1, 1)), 0)
    >>> compute_forced_response(integrator, lift(np.ones((1, 1)), 0), 1, np.array([2.0])).value.ravel()
    array([2., 2.])
    """
    n, m = B.value.shape
    M, dM = _extend(A.value, B.value, degree), _extend(A.slopes, B.slopes, degree, along=0.0)
    lengths, power = _choose_scaling(n, m, degree, steps)
    value, moved = exponential_slopes(lengths * M / power, lengths * dM[:, None] / power)
    return Dual(*(_extract_blocks(whole * power, n, m, degree) for whole in (value, moved)))


def trace_forced_response(A: Dual, B: Dual, degree: int, step: float) -> Iterator[tuple[float, Dual, Dual]]:
    """t = step/2ˢ, …, step/2, step with e^{At} and Γ (power, n, inputs), which means something at the last alone.

    Examples
    --------
    >>> from daedal.linear import lift
    >>> *_, (_, A, gamma) = trace_forced_response(lift(np.zeros((1, 1)), 0), lift(np.ones((1, 1)), 0), 1, 2.0)
    >>> A.value, gamma.value.ravel()
    (array([[1.]]), array([2., 2.]))
    """
    n, m = B.value.shape
    M, dM = _extend(A.value, B.value, degree), _extend(A.slopes, B.slopes, degree, along=0.0)
    lengths, power = (one[0] for one in _choose_scaling(n, m, degree, np.array([step])))
    for share, value, moved in trace_squarings(lengths * M / power, lengths * dM / power):
        yield (
            share * step,
            Dual(value[:n, :n], moved[:, :n, :n]),
            Dual(*(_extract_blocks(whole * power, n, m, degree) for whole in (value, moved))),
        )


def find_step_matrices(A: np.ndarray, B: np.ndarray, degree: int, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """e^{Ah} (step, n, n) and Γ (step, power, n, inputs) of matrices that do not move, from one exponential.

    Examples
    --------
    >>> find_step_matrices(np.zeros((1, 1)), np.ones((1, 1)), 1, np.array([2.0]))[0]
    array([[[1.]]])
    """
    n, m = B.shape
    lengths, power = _choose_scaling(n, m, degree, steps)
    whole = exponential(lengths * _extend(A, B, degree) / power) * power
    return whole[:, :n, :n], _extract_blocks(whole, n, m, degree)


def _extend(A: np.ndarray, B: np.ndarray, degree: int, along: float = 1.0) -> np.ndarray:
    """[A B 0 …; 0 0 I …; 0 0 0 …], or with `along` = 0 how it moves with A and B."""
    n, m = B.shape[-2:]
    size = n + (degree + 1) * m
    M = np.zeros((*A.shape[:-2], size, size))
    M[..., :n, :n], M[..., :n, n : n + m] = A, B
    for j in range(degree):
        M[..., n + j * m : n + (j + 1) * m, n + (j + 1) * m : n + (j + 2) * m] = along * np.eye(m)
    return M


def _choose_scaling(n: int, m: int, degree: int, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Steps, and the powers of them that are taken out of the blocks, which makes long and short steps alike."""
    unit = np.concatenate([np.zeros(n), np.repeat(np.arange(degree + 1.0), m)])
    lengths = steps[:, None, None]
    return lengths, lengths ** (unit[None, :] - unit[:, None])


def _extract_blocks(whole: np.ndarray, n: int, m: int, degree: int) -> np.ndarray:
    """j! times the blocks (…, j, n, m) of the first rows."""
    parts = [factorial(j) * whole[..., :n, n + j * m : n + (j + 1) * m] for j in range(degree + 1)]
    return np.stack(parts, axis=-3)
