"""What known inputs do to a linear system over a step, exactly: inputs that are polynomials of time.

    ẋ = A x + B u,  u(t + s) = Σ_j c_j sʲ:   x(t + h) = e^{Ah} x(t) + Σ_j Γ_j c_j,   Γ_j = ∫₀ʰ e^{A(h−s)} B sʲ ds

The Γ_j are j! times blocks of one exponential (Van Loan 1978, theorem 1 repeated):

    exp(h [A B 0 …; 0 0 I …; 0 0 0 …]) = [e^{Ah}  Γ₀/0!  Γ₁/1!  …; …]

C. Van Loan, Computing integrals involving the matrix exponential, IEEE Trans. Automat. Control 23 (1978) 395–404.
"""

from math import factorial

import numpy as np

from daedal.linear.dual import Dual
from daedal.linear.exponential import exponential_slopes


def forced_response(A: Dual, B: Dual, degree: int, steps: np.ndarray) -> Dual:
    """Γ (step, power, n, inputs) for polynomials up to a degree, with derivatives.

    Examples
    --------
    >>> from daedal.linear.dual import constant
    >>> integrator = constant(np.zeros((1, 1)), 0)
    >>> forced_response(integrator, constant(np.ones((1, 1)), 0), 1, np.array([2.0])).value.ravel()
    array([2., 2.])
    """
    n, m = B.value.shape
    size = n + (degree + 1) * m
    M, dM = np.zeros((size, size)), np.zeros((len(A.slopes), size, size))
    M[:n, :n], M[:n, n : n + m] = A.value, B.value
    dM[:, :n, :n], dM[:, :n, n : n + m] = A.slopes, B.slopes
    for j in range(degree):
        M[n + j * m : n + (j + 1) * m, n + (j + 1) * m : n + (j + 2) * m] = np.eye(m)
    # Powers of the step are taken out of the blocks, which makes long and short steps alike.
    unit = np.concatenate([np.ones(n), *(np.full(m, float(j + 1)) for j in range(degree + 1))])
    unit[n:] -= 1.0
    lengths = steps[:, None, None]
    power = lengths ** (unit[None, :] - unit[:, None])
    scaled, slopes = lengths * M / power, lengths * dM[:, None] / power
    value, moved = exponential_slopes(scaled, slopes)
    return Dual(*(_blocks(each * power, n, m, degree) for each in (value, moved)))


def _blocks(whole: np.ndarray, n: int, m: int, degree: int) -> np.ndarray:
    """j! times the blocks (…, j, n, m) of the first rows."""
    parts = [factorial(j) * whole[..., :n, n + j * m : n + (j + 1) * m] for j in range(degree + 1)]
    return np.stack(parts, axis=-3)
