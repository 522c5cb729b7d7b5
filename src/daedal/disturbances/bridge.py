"""The law of a disturbance in the middle of an interval, given its ends; halved again and again.

The state is Markov. Over an interval [l, l + 2h] let Φ = e^{Ah}, P = Q_d(h), and e = x(l + 2h) − Φ² x(l) the noise that
was added. What was added over the first half, e₁ = x(l + h) − Φ x(l), and over the second, e₂ = e − Φ e₁, obey

    e₁ | e ~ N(G e, P − G Φ P),   G = P Φᵀ (Φ P Φᵀ + P)⁻¹

so (x(l), e) of an interval gives those of its halves: a tree, with one draw for every node. Working with e in place of
x(l + 2h) avoids the difference of two nearly equal states, and the map e → e₁, e₂ contracts rounding errors.

For a short h, P has entries h, h², h³, … and no inverse in floating point. In staircase coordinates scaled by their own
standard deviation, x = T D ξ, it tends to the covariance of a chain of integrators, which has one: all levels are
computed there. The covariance is formed as (I − GΦ) P (I − GΦ)ᵀ + G P Gᵀ, which cannot lose its sign.

R. G. Brown, P. Y. C. Hwang, Introduction to Random Signals and Applied Kalman Filtering, Wiley 1997, sections 5.3, 6.1.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import final

import numpy as np

from daedal.disturbances.state_space import NoiseStateSpace
from daedal.errors import ModelError
from daedal.linear import compute_noise_scale, factor_semidefinite, reduce_to_staircase, scaled_van_loan, van_loan

DEPTH = 50
LONGEST_CHAIN = 8  # the covariance of more integrators has a condition number that leaves too few digits


@final
@dataclass(frozen=True, eq=False)
class Bridge:
    """Matrices of every level of the tree; ξ are scaled staircase coordinates of added noise.

    Attributes
    ----------
    entrance
        (r, n): noise added over a whole cell → ξ.
    half
        (levels, n, n): Φ of half an interval, for the state.
    spread
        (levels, n, r): ξ of the first half → noise added to the state.
    zoom
        (levels, r): from the scale of the interval to that of its half.
    gain, factor, flow
        (levels, r, r): G, the Cholesky factor of the conditional covariance, and Φ, for ξ.
    """

    entrance: np.ndarray
    half: np.ndarray
    spread: np.ndarray
    zoom: np.ndarray
    gain: np.ndarray
    factor: np.ndarray
    flow: np.ndarray

    def descend(self, state: np.ndarray, added: np.ndarray, place: int, draws: np.ndarray) -> np.ndarray:
        """The state at `place`/2⁵⁰ of the cell, 0 < place < 2⁵⁰.

        `state` is that at the left end, `added` the noise added over the cell, `draws` (levels, r) the normals of the
        nodes on the way.
        """
        n, known = len(state), len(state) + draws.shape[1]
        now = np.concatenate([state, self.entrance @ added, draws[0]])
        for level, draw in enumerate(draws):
            now[known:] = draw
            now[:known] = self.halving[level, place >> (DEPTH - 1 - level) & 1] @ now
        return now[:n]

    @cached_property
    def halving(self) -> np.ndarray:
        """(levels, 2, n + r, n + 2r): (left state, ξ, draw) of an interval → (left state, ξ) of its halves."""
        levels, n, r = self.spread.shape
        xi, draw = slice(n, n + r), slice(n + r, None)
        first = np.zeros((levels, r, n + 2 * r))
        first[:, :, xi], first[:, :, draw] = self.gain * self.zoom[:, None, :], self.factor
        result = np.zeros((levels, 2, n + r, n + 2 * r))
        result[:, 0, :n, :n] = np.eye(n)
        result[:, 0, n:] = first
        result[:, 1, :n] = self.spread @ first
        result[:, 1, :n, :n] = self.half
        result[:, 1, n:] = -self.flow @ first
        result[:, 1, n:, xi] += self.zoom[:, :, None] * np.eye(r)
        return result


def list_nodes(place: int) -> list[int]:
    """The nodes from the root of the tree to the one at `place`/2⁵⁰; the root is 1, the halves of i are 2i, 2i + 1."""
    depth = DEPTH - ((place & -place).bit_length() - 1)
    return [(1 << level) | (place >> (DEPTH - level)) for level in range(depth)]


@lru_cache(maxsize=16)
def make_bridge(space: NoiseStateSpace, step: float) -> Bridge:
    """The tree of a cell of `step` seconds."""
    form = reduce_to_staircase(space.A, space.B)
    if form.stairs > LONGEST_CHAIN:
        raise ModelError(
            f"Exact sampling inside a cell takes noise of up to {LONGEST_CHAIN} poles in a row, got {form.stairs}.",
            "Interpolate such smooth noise with hermite.",
        )
    T, A, Q = form.T, form.A, form.B @ form.B.T
    halves = step * 0.5 ** np.arange(1, DEPTH + 1)
    flow, covariance, scale = scaled_van_loan(A, Q, halves)
    coarser = np.concatenate([compute_noise_scale(A, Q, step)[None], scale[:-1]])
    gain, factor = _condition_middle(flow, covariance)
    return Bridge(
        entrance=T.T / coarser[0][:, None],
        half=van_loan(space.A, space.intensity, halves)[0],
        spread=T * scale[:, None, :],
        zoom=coarser / scale,
        gain=gain,
        factor=factor,
        flow=flow,
    )


def _condition_middle(flow: np.ndarray, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """G, and the factor of the conditional covariance of what is added over the first half."""
    forward = flow @ P
    whole = forward @ flow.swapaxes(-1, -2) + P
    gain = np.linalg.solve(whole, forward).swapaxes(-1, -2)
    left = np.eye(P.shape[-1]) - gain @ flow
    covariance = left @ P @ left.swapaxes(-1, -2) + gain @ P @ gain.swapaxes(-1, -2)
    return gain, factor_semidefinite(0.5 * (covariance + covariance.swapaxes(-1, -2)))
