"""A regular pencil λE − F split into what evolves and what follows at once, and how the split moves with E and F.

    P E Q = [I 0; 0 N],   P F Q = [A 0; 0 I],   N nilpotent: Nᵐ = 0, m the index

(Gerdin et al., appendix C.) Rows, columns and time are first scaled by powers of two. Then the null space of E is
deflated until none is left (Van Dooren 1979), which puts the infinite eigenvalues into the leading block with exact
zeros: an ordered Schur form alone turns their chains into merely large eigenvalues, by rounding. A generalised
Sylvester equation decouples the two parts, and as N is nilpotent its solution is a finite sum:

    [E₃ E₂; 0 E₁], [F₃ F₂; 0 F₁],   E₃R + L E₁ = −E₂,  F₃R + L F₁ = −F₂,   A = E₁⁻¹F₁,  N = F₃⁻¹E₃:
    R − N R A = F₃⁻¹(E₂A − F₂),   L = −(E₂ + E₃R) E₁⁻¹.

When E and F move by dE and dF, bases can be kept that move only between the two parts. With Ê = P dE Q, F̂ = P dF Q
and P + dP = (I + X) P, Q + dQ = Q (I + Y):

    X₁₁ = −Ê₁₁, Y₁₁ = 0, dA = F̂₁₁ − Ê₁₁A;        Y₁₂ − A Y₁₂ N = F̂₁₂N − Ê₁₂, X₁₂ = −F̂₁₂ − A Y₁₂;
    X₂₂ = −F̂₂₂, Y₂₂ = 0, dN = Ê₂₂ − F̂₂₂N;        Y₂₁ − N Y₂₁ A = Ê₂₁A − F̂₂₁, X₂₁ = −Ê₂₁ − N Y₂₁,

where N being nilpotent makes the solutions of the two linear equations finite sums.

P. Van Dooren, The computation of Kronecker's canonical form of a singular pencil, Linear Algebra Appl. 27 (1979)
103–140. M. Gerdin et al., On parameter and state estimation for linear differential-algebraic equations (2006).
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.linalg import lapack

from daedal.linear.units import equilibrate, find_natural_units

RANK = 1e-11  # singular value, relative to the largest of a balanced matrix, that counts as zero
ROUNDING = 4.0 * np.finfo(float).eps  # of an entry of P and Q for each equation, beside others in natural units
CLEARLY = 100.0  # times that, which needs no closer look


class SingularPencilError(ValueError):
    """λE − F is singular for every λ; `rows` and `columns` are shares of equations and variables in that, (n,)."""

    def __init__(self, rows: np.ndarray, columns: np.ndarray) -> None:
        super().__init__("singular pencil")
        self.rows, self.columns = rows, columns


@final
@dataclass(frozen=True, eq=False)
class StandardForm:
    """A (evolving, evolving), N (rest, rest), P and Q; `evolving` of the rows of Q⁻¹z are states.

    `units` are those in which the entries of E and F are near one: factors of the rows and of the columns. `filled`
    tells the entries of which one is not zero.
    """

    A: np.ndarray
    N: np.ndarray
    P: np.ndarray
    Q: np.ndarray
    index: int
    units: tuple[np.ndarray, np.ndarray]
    filled: np.ndarray

    @property
    def evolving(self) -> int:
        """How many states there are."""
        return len(self.A)


@final
@dataclass(frozen=True, eq=False)
class StandardMotion:
    """The derivatives of a StandardForm in one direction."""

    A: np.ndarray
    N: np.ndarray
    P: np.ndarray
    Q: np.ndarray


def reduce_to_standard_form(E: np.ndarray, F: np.ndarray) -> StandardForm:
    """Split a pencil; a singular one raises `SingularPencilError`.

    Examples
    --------
    >>> form = reduce_to_standard_form(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[-2.0, 1.0], [1.0, -1.0]]))
    >>> form.A.round(12), form.index
    (array([[-1.]]), 1)
    """
    units = find_natural_units(E, F)
    rows, columns, rate = (_round_to_power(np.asarray(factor)) for factor in units)
    e, f = rate * (rows[:, None] * E * columns), rows[:, None] * F * columns
    refuse_singular(e, f)
    deflated = deflate(e, f)
    k = deflated.infinite
    (e3, e2, e1), (f3, f2, f1) = (
        (matrix[:k, :k], matrix[:k, k:], matrix[k:, k:]) for matrix in (deflated.E, deflated.F)
    )
    n, left, right = len(e1), deflated.left.T, deflated.right
    solved = np.linalg.solve(e1, np.hstack([f1, left[k:]]))
    A, upper = solved[:, :n], solved[:, n:]
    N = np.linalg.solve(f3, e3)
    R = _sum_finite(N, np.linalg.solve(f3, e2 @ A - f2), A, deflated.index)
    # The evolving part first, and time as it was before it was stretched.
    P = np.vstack([rate * upper, np.linalg.solve(f3, left[:k] - (e2 + e3 @ R) @ upper)])
    Q = np.hstack([right[:, k:] + right[:, :k] @ R, right[:, :k]])
    P, Q = _round_to_zero(P, axis=1), _round_to_zero(Q, axis=0)
    return StandardForm(
        rate * A, N / rate, P * rows, columns[:, None] * Q, deflated.index, units[:2], (E != 0.0) | (F != 0.0)
    )


def differentiate_standard_form(form: StandardForm, dE: np.ndarray, dF: np.ndarray) -> StandardMotion:
    """How the form moves with E and F, as long as the index stays what it is."""
    n, k = form.evolving, len(form.P)
    A, N = form.A, form.N
    e, f = form.P @ dE @ form.Q, form.P @ dF @ form.Q
    X, Y = np.zeros((k, k)), np.zeros((k, k))
    X[:n, :n], X[n:, n:] = -e[:n, :n], -f[n:, n:]
    Y[:n, n:] = _sum_finite(A, f[:n, n:] @ N - e[:n, n:], N, form.index)
    X[:n, n:] = -f[:n, n:] - A @ Y[:n, n:]
    Y[n:, :n] = _sum_finite(N, e[n:, :n] @ A - f[n:, :n], A, form.index)
    X[n:, :n] = -e[n:, :n] - N @ Y[n:, :n]
    return StandardMotion(f[:n, :n] - e[:n, :n] @ A, e[n:, n:] - f[n:, n:] @ N, X @ form.P, form.Q @ Y)


def _round_to_zero(matrix: np.ndarray, axis: int) -> np.ndarray:
    """Without what is nothing but rounding beside the rest of its row (axis 1) or column (0): in units of the user it
    may be large, where an equation that another does not see has much larger units."""
    size = np.abs(matrix).max(axis=axis, keepdims=True, initial=0.0)
    return np.where(np.abs(matrix) <= ROUNDING * len(matrix) * size, 0.0, matrix)


def _sum_finite(left: np.ndarray, middle: np.ndarray, right: np.ndarray, terms: int) -> np.ndarray:
    """Σ_j leftʲ middle rightʲ, of which `terms` are not zero: X − left X right = middle."""
    total = term = middle
    for _ in range(terms - 1):
        term = left @ term @ right
        total = total + term
    return total


def balance(E: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Factors of rows, columns and time, powers of two, that bring the entries of E and F near one."""
    rows, columns, rate = find_natural_units(E, F)
    return _round_to_power(rows), _round_to_power(columns), float(_round_to_power(np.array(rate)))


def _round_to_power(factor: np.ndarray) -> np.ndarray:
    return 2.0 ** np.round(np.log2(factor))


def refuse_singular(E: np.ndarray, F: np.ndarray) -> None:
    """Raise when λE − F is singular wherever it is tried."""
    decomposition = None
    for turn in (0.7, -1.3, 2.9):
        matrix = turn * E - F
        if _is_regular(matrix, RANK):
            return
        rows, columns = equilibrate(matrix)  # entries that are needed at other rates may be far from one at this one
        left, values, right = np.linalg.svd(rows[:, None] * matrix * columns)
        if len(matrix) == 0 or values[-1] > RANK * values[0]:
            return
        decomposition = decomposition or (left, values, right)
    left, values, right = decomposition or (np.zeros((0, 0)),) * 3
    gone = values <= RANK * values[0]
    raise SingularPencilError(np.abs(left[:, gone]).max(axis=1), np.abs(right[gone]).max(axis=0))


def _is_regular(matrix: np.ndarray, least: float) -> bool:
    """Whether all singular values are clearly above a share of the largest, as a factorisation tells; False in doubt.

    σ_n/σ_1 ≥ 1/(n κ₁), and κ₁ is estimated to a factor of a few, for a tenth of the time that singular values take.
    """
    if not len(matrix):
        return True
    factors, info = lapack.dgetrf(matrix)[0::2]  # type: ignore[attr-defined]
    if info:
        return False
    share = lapack.dgecon(factors, np.abs(matrix).sum(axis=0).max())[0]  # type: ignore[attr-defined]
    return bool(share > CLEARLY * len(matrix) * least)


@dataclass(frozen=True, eq=False)
class Deflated:
    """leftᵀ E right and leftᵀ F right, orthogonal, with the infinite eigenvalues in the leading block."""

    E: np.ndarray
    F: np.ndarray
    left: np.ndarray
    right: np.ndarray
    infinite: int
    index: int


def deflate(E: np.ndarray, F: np.ndarray) -> Deflated:
    """Move the infinite eigenvalues of a regular, balanced pencil to the front, one null space after the other."""
    n, done, index = len(E), 0, 0
    e, f, left, right = E.copy(), F.copy(), np.eye(n), np.eye(n)
    size = float(np.abs(E).max(initial=0.0)) * max(n, 1)
    # With n max|E| ≥ σ_1 the share of it is at least that of max|E|; most models have no such eigenvalues.
    while done < n and not (done == 0 and _is_regular(E, RANK * n)):
        _, values, v = np.linalg.svd(e[done:, done:])
        defect = int(np.sum(values <= RANK * size))
        if not defect:
            break
        index += 1
        v = np.vstack([v[n - done - defect :], v[: n - done - defect]]).T  # the null space first
        e[:, done:], f[:, done:], right[:, done:] = e[:, done:] @ v, f[:, done:] @ v, right[:, done:] @ v
        e[done:, done : done + defect] = 0.0
        w = np.linalg.qr(f[done:, done : done + defect], mode="complete")[0]
        e[done:], f[done:], left[:, done:] = w.T @ e[done:], w.T @ f[done:], left[:, done:] @ w
        f[done + defect :, done : done + defect] = 0.0
        done += defect
    return Deflated(e, f, left, right, done, index)
