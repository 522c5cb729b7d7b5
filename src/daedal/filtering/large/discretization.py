"""Exact discretisation of a large model over one step, with the covariance of what few sources of noise add in factors.

    dx = (A x + B u) dt + F dv,  E dv dvᵀ = K dt:     Q(t) = ∫₀ᵗ e^{As} F K Fᵀ e^{Aᵀs} ds = Z(t) K_Z Z(t)ᵀ

Over t₀ = h/2ˢ, short against the fastest mode, the integral is a sum over Gauss points s_i with weights w_i,

    Z(t₀) = [√w₁ e^{As₁}F  √w₂ e^{As₂}F  …],   K_Z = I ⊗ K,   e^{As}F = Σ_k sᵏ AᵏF/k!,

exact to rounding with ten points; then Z(2t) = [Z(t)  e^{At} Z(t)], turned so that columns that say nothing new can be
left out: as they come with I in the core, an orthogonal turn V of the points, the same for all sources, changes neither
Q nor its derivatives, and Z V' of rounding is rounding in both. n² numbers of Q and their derivatives are never made; a
covariance that the noise of few sources builds up over a step has few directions whatever n is.

Numbers come with their derivatives in the second axis, the number itself first: (n, 1 + direction, column).
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.linear import Dual, LowRank
from daedal.lti import trace_forced_response

POINTS = 10  # of Gauss's rule over the shortest step
NEGLIGIBLE = 1e-16  # singular value, relative to the largest
TERMS = 18  # of the exponential there, in which A t₀ has a norm of at most ½


@final
@dataclass(frozen=True, eq=False)
class Step:
    """x ← A x + Γ u with noise Z K Zᵀ: A (n, n), its slopes (n · direction, n), Γ (n, 1 + direction, coefficient)."""

    A: np.ndarray
    slopes: np.ndarray
    response: np.ndarray
    Z: np.ndarray  # (n, 1 + direction, column)
    core: np.ndarray  # (1 + direction, column, column)

    def move(self, columns: np.ndarray) -> np.ndarray:
        """A times some columns (n, 1 + direction, column), with derivatives."""
        n, lanes, width = columns.shape
        moved = (self.A @ columns.reshape(n, lanes * width)).reshape(columns.shape)
        if lanes > 1:
            moved[:, 1:] += (self.slopes @ columns[:, 0]).reshape(n, lanes - 1, width)
        return moved


def interleave(dual: Dual) -> np.ndarray:
    """(n, 1 + direction, column) from a matrix (n, column)."""
    return np.concatenate([dual.value[:, None], dual.slopes.swapaxes(0, 1)], axis=1)


def put_first(dual: Dual) -> np.ndarray:
    """(1 + direction, …)."""
    return np.concatenate([dual.value[None], dual.slopes])


def discretize(A: Dual, B: Dual, noise: LowRank, degree: int, length: float) -> Step:
    """One step, with inputs that are polynomials up to a degree."""
    trace = trace_forced_response(A, B, degree, length)
    time, states, response = next(trace)
    Z = _integrate(A, noise.factor, time)
    for _, following, twice in trace:
        Z, states, response = _double(states, Z), following, twice
    n, count = len(A.value), len(A.slopes)
    effect = Dual(
        np.moveaxis(response.value, 0, 1).reshape(n, -1), np.moveaxis(response.slopes, 1, 2).reshape(count, n, -1)
    )
    points = Z.shape[3]
    core = np.array([np.kron(one, np.eye(points)) for one in put_first(noise.core)])
    Z = Z.reshape(n, 1 + count, Z.shape[2] * points)
    return Step(states.value, _arrange(states.slopes), interleave(effect), Z, core)


def make_reset(reset: Dual, coefficients: int) -> Step:
    """What happens at once, without noise and inputs."""
    n, lanes = len(reset.value), 1 + len(reset.slopes)
    nothing = np.zeros((n, lanes, 0)), np.zeros((lanes, 0, 0))
    return Step(reset.value, _arrange(reset.slopes), np.zeros((n, lanes, coefficients)), *nothing)


def _arrange(slopes: np.ndarray) -> np.ndarray:
    count, n, _ = slopes.shape
    return np.ascontiguousarray(slopes.swapaxes(0, 1)).reshape(n * count, n)


def _integrate(A: Dual, factor: Dual, length: float) -> np.ndarray:
    """Z over a short step, (n, 1 + direction, source, point)."""
    places, weights = np.polynomial.legendre.leggauss(POINTS)
    places, weights = 0.5 * (places + 1.0), 0.5 * length * weights
    table = places ** np.arange(TERMS)[:, None] * np.sqrt(weights)
    term = factor
    terms = [interleave(term)]
    for k in range(1, TERMS):
        value = length / k * (A.value @ term.value)
        term = Dual(value, length / k * (A.slopes @ term.value + A.value @ term.slopes))
        terms.append(interleave(term))
    return _turn(np.stack(terms, axis=-1) @ table)


def _double(states: Dual, Z: np.ndarray) -> np.ndarray:
    """Over twice the time."""
    n, lanes, sources, points = Z.shape
    columns = Z.reshape(n, lanes, sources * points)
    moved = Step(states.value, _arrange(states.slopes), columns, columns, columns).move(columns)
    return _turn(np.concatenate([Z, moved.reshape(Z.shape)], axis=3))


def _turn(Z: np.ndarray) -> np.ndarray:
    """As few points as say something."""
    n, _, sources, points = Z.shape
    rows = Z[:, 0].reshape(n * sources, points)
    units = np.linalg.norm(rows, axis=1)
    _, values, turned = np.linalg.svd(rows / np.where(units > 0.0, units, 1.0)[:, None], full_matrices=False)
    return Z @ turned[values > NEGLIGIBLE * values.max(initial=0.0)].T
