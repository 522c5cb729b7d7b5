"""Exact discretisation of dx = A x dt + dv, E dv dvᵀ = Q dt, over a step h, and its derivative.

    x(t + h) = A_d x(t) + e,   A_d = e^{Ah},   Cov e = Q_d = ∫₀ʰ e^{As} Q e^{Aᵀs} ds

One exponential gives both (Van Loan 1978, theorem 1; equations (5)–(6) of Abdalmoaty et al.):

    exp(h [−A  Q; 0  Aᵀ]) = [A_d⁻¹  A_d⁻¹ Q_d; 0  A_dᵀ]

Derivatives in directions (dA, dQ) go through the same sums and products.

Two measures keep the entries accurate. States further from the noise have a variance of h³, h⁵, …, which an
exponential of the plain matrix loses to rounding: the states are first scaled by about their standard deviation
after h. And A_d⁻¹ overflows when h is long against the fastest mode: then a shorter step is discretised and doubled,
A_d(2h) = A_d(h)², Q_d(2h) = A_d Q_d A_dᵀ + Q_d, a sum of semidefinite terms. All but the last of these doublings are
done on A_d − I, as in the exponential: slow modes beside fast ones keep their digits.

C. Van Loan, Computing integrals involving the matrix exponential, IEEE Trans. Automat. Control 23 (1978) 395–404.
"""

import math

import numpy as np
from scipy.linalg import matrix_balance

from daedal.linear.matrix_exponential import LAST, double_growth, exponential_growth

MOST_TERMS = 150  # a step is so short that the k-th term is below 1/k!, and 171! is no float any more


def van_loan(A: np.ndarray, Q: np.ndarray, step: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A_d and Q_d; for an array of steps, stacks of matrices.

    Examples
    --------
    >>> A_d, Q_d = van_loan(np.array([[-2.0]]), np.array([[4.0]]), 0.5)
    >>> bool(np.isclose(A_d[0, 0], np.exp(-1.0))), bool(np.isclose(Q_d[0, 0], 1 - np.exp(-2.0)))
    (True, True)
    """
    transition, covariance, scale = scaled_van_loan(A, Q, step)
    return _unscale(transition, covariance, scale)


def scaled_van_loan(
    A: np.ndarray, Q: np.ndarray, step: float | np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """D⁻¹ A_d D, D⁻¹ Q_d D⁻¹ and the scale D (…, n) of the states, about their standard deviation after the step."""
    nothing = np.zeros((0, len(A), len(A)))
    A_d, Q_d, _, _, scale = _discretize(A, Q, step, nothing, nothing)
    return A_d, Q_d, scale


def van_loan_derivative(
    A: np.ndarray, Q: np.ndarray, step: float, dA: np.ndarray, dQ: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The derivatives of A_d and Q_d in the direction (dA, dQ), with the step fixed."""
    _, _, slopes, covariance_slopes = van_loan_slopes(A, Q, step, dA[None], dQ[None])
    return slopes[0], covariance_slopes[0]


def van_loan_slopes(
    A: np.ndarray, Q: np.ndarray, step: float | np.ndarray, dA: np.ndarray, dQ: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A_d, Q_d and their derivatives (direction, …) along dA and dQ (direction, n, n); stacks for an array of steps."""
    A_d, Q_d, dA_d, dQ_d, scale = _discretize(A, Q, step, dA, dQ)
    A_d, Q_d = _unscale(A_d, Q_d, scale)
    dA_d, dQ_d = _unscale(dA_d, dQ_d, scale)
    return A_d, Q_d, dA_d, dQ_d


def _discretize(
    A: np.ndarray, Q: np.ndarray, step: float | np.ndarray, dA: np.ndarray, dQ: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A_d, Q_d and their derivatives in scaled states, and the scale."""
    short, halvings, scale = _prepare(A, Q, step)
    n, eye = len(A), np.eye(len(A))
    along_A, along_Q = (slope.reshape(len(dA), *[1] * short.ndim, n, n) for slope in (dA, dQ))
    value, slopes = exponential_growth(
        _join(*_scale(A, Q, short, scale)), _join(*_scale(along_A, along_Q, short, scale))
    )
    D, dA_d = (block[..., n:, n:].swapaxes(-1, -2) for block in (value, slopes))
    A_d = eye + D
    Q_d = _symmetrize(A_d @ value[..., :n, n:])
    dQ_d = _symmetrize(dA_d @ value[..., :n, n:] + A_d @ slopes[..., :n, n:])
    for left in range(int(halvings.max(initial=0)), 0, -1):
        go_on = (halvings >= left)[..., None, None]
        turned = A_d.swapaxes(-1, -2)
        change = dA_d @ Q_d @ turned
        moved = A_d @ dQ_d @ turned + change + change.swapaxes(-1, -2)
        dQ_d = np.where(go_on, _symmetrize(moved) + dQ_d, dQ_d)
        Q_d = np.where(go_on, _symmetrize(A_d @ Q_d @ turned) + Q_d, Q_d)
        if left > LAST:
            D, dA_d = double_growth(D, dA_d, go_on)
            A_d = eye + D
        else:
            dA_d = np.where(go_on, dA_d @ A_d + A_d @ dA_d, dA_d)
            A_d = np.where(go_on, A_d @ A_d, A_d)
    return A_d, Q_d, dA_d, dQ_d, scale


def compute_noise_scale(A: np.ndarray, Q: np.ndarray, step: float | np.ndarray) -> np.ndarray:
    """About the standard deviation of each state a step after it was zero: Σ_k √(|A|ᵏ |Q| |A|ᵏᵀ)ᵢᵢ h^{k+½} / k!.

    States that no noise reaches, or only beyond the terms that count, get the smallest of the others: nothing small
    then acts on something smaller.
    """
    steps = np.asarray(step, dtype=float)
    scale, reach = np.zeros((*steps.shape, len(A))), np.abs(Q)
    for k in range(min(len(A), MOST_TERMS)):
        if not np.isfinite(reach).all():
            break
        scale += np.sqrt(np.diag(reach)) * (steps[..., None] ** (k + 0.5)) / math.factorial(k)
        with np.errstate(over="ignore"):
            reach = np.abs(A) @ reach @ np.abs(A).T
    reached = scale > 0
    smallest = np.where(reached, scale, np.inf).min(axis=-1, keepdims=True, initial=np.inf)
    return np.where(reached, scale, np.where(np.isfinite(smallest), smallest, 1.0))


def _prepare(A: np.ndarray, Q: np.ndarray, step: float | np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Steps short against the fastest mode, how often each was halved, and the scale of the states."""
    steps = np.asarray(step, dtype=float)
    speed = float(np.linalg.norm(matrix_balance(A)[0], 1))
    halvings = np.ceil(np.log2(np.maximum(speed * steps, 1.0)))
    short = steps / 2.0**halvings
    return short, halvings, compute_noise_scale(A, Q, short)


def _scale(A: np.ndarray, Q: np.ndarray, steps: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows, columns = scale[..., :, None], scale[..., None, :]
    return steps[..., None, None] * A * columns / rows, steps[..., None, None] * Q / rows / columns


def _unscale(A_d: np.ndarray, Q_d: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows, columns = scale[..., :, None], scale[..., None, :]
    return A_d * rows / columns, Q_d * rows * columns


def _join(A: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """[−A  Q; 0  Aᵀ]."""
    upper = np.concatenate([-A, Q], axis=-1)
    lower = np.concatenate([np.zeros_like(A), A.swapaxes(-1, -2)], axis=-1)
    return np.concatenate([upper, lower], axis=-2)


def _symmetrize(matrix: np.ndarray) -> np.ndarray:
    return 0.5 * (matrix + matrix.swapaxes(-1, -2))
