"""The Kalman filter of a large model over a stretch of equal cycles: differences of covariances in factors.

Over a cycle of transitions and measurements that repeats, what one more cycle changes in the covariance keeps its rank.
With D = P' − P = L M Lᵀ before the measurements H of one time, G = P Hᵀ and S = H G + R those of the cycle before, and
Λ = H L,

    measurement:  G' = G + L M Λᵀ,   S' = S + Λ M Λᵀ;     L ← L − G S⁻¹ Λ,   M ← M − M Λᵀ S'⁻¹ Λ M;
    transition:   L ← A L          (what noise adds is the same in every cycle and drops out)

(Morf, Sidhu and Kailath 1974, after Chandrasekhar). A cycle costs n² k operations instead of n³, k the columns of L,
and so does each derivative. It begins with a covariance of few directions: states that are held at the start, the noise
that has come in since. Up to the end of the first cycle P itself is kept in factors,

    measurement:  G = L M Λᵀ,  S = Λ M Λᵀ + R,  M ← M − M Λᵀ S⁻¹ Λ M;      transition:  L ← [A L  Z],  M ← diag(M, K)

and D is the difference of the two ends. As G and S are sums over cycles, digits are lost where a variance falls far
below what it was: then nothing is returned, and the covariance must be followed as a matrix. L is never dropped because
the gain stands still: noise that enters far from a sensor may still be on its way.

The samples of one time are then taken one after the other, as in the filter of small models: with S = U D Uᵀ, U lower
triangular with a unit diagonal, their innovations are U⁻¹e with variances D.

Numbers come with their derivatives in an axis of their own, the number itself first (`discretization`, beside this).

M. Morf, G. S. Sidhu, T. Kailath, Some new algorithms for recursive estimation in constant, linear, discrete-time
systems, IEEE Trans. Automat. Control 19 (1974) 315–323.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np

from daedal.errors import give_up_if_stopped
from daedal.filtering.large.discretization import Step, interleave, put_first
from daedal.linear import Dual, LowRank, find_columns

LOST = 1e-4  # of the largest variance of an innovation in a stretch: below it digits are lost
LOOK = 16  # cycles after which columns that say nothing new are left out
ROOM = 1024  # cycles whose innovations are kept as blocks


@final
@dataclass(frozen=True, eq=False)
class Stretch:
    """First event of the first cycle, events in a cycle, number of cycles."""

    first: int
    size: int
    cycles: int

    @property
    def end(self) -> int:
        """The event after the last."""
        return self.first + self.size * self.cycles


@final
@dataclass(frozen=True, eq=False)
class Measurements:
    """Of each event: transition and row (−1 for none), coefficients of the inputs (event, coefficient), y and r; h."""

    transition: np.ndarray
    row: np.ndarray
    inputs: np.ndarray
    h: Dual
    y: Dual
    r: Dual


@final
@dataclass(frozen=True, eq=False)
class Swept:
    """e (1 + direction, event, column), s (1 + direction, event), x (event, column, n) before a time is sampled."""

    e: np.ndarray
    s: np.ndarray
    x: np.ndarray


def run_low_rank_filter(
    steps: Mapping[int, Step], measured: Measurements, columns: Dual, start: LowRank, stretch: Stretch
) -> Swept | None:
    """Over all events up to the end of the stretch, from x (column, n) on; None where digits are lost."""
    with suppress(np.linalg.LinAlgError):  # variances that are singular
        return _sweep(_Sweep(steps, measured, columns, start), measured, stretch)
    return None


def _sweep(sweep: "_Sweep", measured: Measurements, stretch: Stretch) -> Swept | None:
    for group in _list_groups(measured, 0, stretch.first):
        sweep.begin(group)
    groups, before = _list_groups(measured, stretch.first, stretch.size), sweep.get_covariance()
    gains = [sweep.begin(group) for group in groups]
    sweep.subtract(before)
    largest = _list_variances(gains)
    for cycle in range(1, stretch.cycles):
        give_up_if_stopped()
        following = [sweep.follow(group, cycle * stretch.size, gain) for group, gain in zip(groups, gains, strict=True)]
        variances = _list_variances(following)
        largest = np.maximum(largest, variances)
        if not np.all(variances > LOST * largest):
            return None
        if cycle % LOOK == 0:
            sweep.shorten()
        if cycle % ROOM == 0:
            sweep.tell_apart()
        gains = following
    sweep.tell_apart()
    return Swept(sweep.e, sweep.s, sweep.kept)


@dataclass(frozen=True, eq=False)
class _Group:
    """A transition (−1 for none), the events up to the next or to a silent one, those that measure, and their rows."""

    transition: int
    events: np.ndarray
    measuring: np.ndarray
    rows: np.ndarray


def _list_groups(measured: Measurements, first: int, size: int) -> list[_Group]:
    """What happens in some events, the measurements of one time together."""
    cuts = []
    for event in range(first, first + size):
        silent = measured.row[event] < 0
        if not cuts or measured.transition[event] >= 0 or silent:
            cuts.append(event)
    groups = []
    for begin, end in pairwise([*cuts, first + size]):
        events = np.arange(begin, end)
        measuring = events[measured.row[events] >= 0]
        groups.append(_Group(int(measured.transition[begin]), events, measuring, measured.row[measuring]))
    return groups


@dataclass(frozen=True, eq=False)
class _Gain:
    """G = P Hᵀ (n, 1 + direction, row), S (1 + direction, row, row), and the inverse of its value."""

    G: np.ndarray
    S: np.ndarray
    inverse: np.ndarray

    def solve(self, right: np.ndarray) -> np.ndarray:
        """S⁻¹ times some columns (1 + direction, row, column)."""
        solution = self.inverse @ right
        solution[1:] -= self.inverse @ (self.S[1:] @ solution[0])
        return solution


class _Sweep:
    """The mean and a factor of a covariance side by side, (n, 1 + direction, column), and what is measured."""

    def __init__(self, steps: Mapping[int, Step], measured: Measurements, columns: Dual, start: LowRank) -> None:
        self.steps, self.inputs = steps, measured.inputs
        self.columns = np.concatenate([interleave(start.factor), interleave(columns.T)], axis=2)
        self.core = put_first(start.core)
        self.h, self.moving = put_first(measured.h), bool(measured.h.slopes.any())
        self.y, self.r = put_first(measured.y), put_first(measured.r)
        n, lanes, events, means = *self.columns.shape[:2], len(measured.row), len(columns.value)
        self.e, self.s = np.zeros((lanes, events, means)), np.ones((lanes, events))
        self.kept = np.zeros((events, means, n))
        self.blocks: dict[_Group, list[tuple[int, np.ndarray, np.ndarray]]] = {}

    @property
    def rank(self) -> int:
        """The columns of the factor, which come first."""
        return self.core.shape[1]

    def get_covariance(self) -> tuple[np.ndarray, np.ndarray]:
        """Factor and core."""
        return self.columns[:, :, : self.rank], self.core

    def begin(self, group: _Group) -> _Gain | None:
        """A group of events with P in factors."""
        self._move(group, 0)
        if group.transition >= 0:
            step, k = self.steps[group.transition], self.rank
            self.columns = np.concatenate([self.columns[:, :, :k], step.Z, self.columns[:, :, k:]], axis=2)
            self.core = _join(self.core, step.core)
        if not group.rows.size:
            return None
        seen = self._see(group)
        weighed = self._weigh(seen)
        S = _multiply(seen[:, :, : self.rank], weighed)
        S[:, range(group.rows.size), range(group.rows.size)] += self.r[:, group.measuring]
        gain = _Gain(_combine(self.columns, weighed), S, np.linalg.inv(S[0]))
        self.core = self.core - _square(weighed, gain)
        self._correct(group, 0, seen, gain)
        return gain

    def follow(self, group: _Group, offset: int, before: _Gain | None) -> _Gain | None:
        """A group of events with D in factors, from the gain of the last cycle."""
        self._move(group, offset)
        if before is None:
            return None
        seen, gain = self._see(group), before
        if k := self.rank:
            weighed = self._weigh(seen)
            S = before.S + _multiply(seen[:, :, :k], weighed)
            gain = _Gain(before.G + _combine(self.columns, weighed), S, np.linalg.inv(S[0]))
            self.columns[:, :, :k] -= _combine(before.G, before.solve(seen[:, :, :k]))
            self.core = self.core - _square(weighed, gain)
        self._correct(group, offset, seen, gain)
        return gain

    def subtract(self, before: tuple[np.ndarray, np.ndarray]) -> None:
        """From P to the difference from P as it was before."""
        k = self.rank
        factor, core = np.concatenate([self.columns[:, :, :k], before[0]], axis=2), _join(self.core, -before[1])
        self._replace(*_compress(factor, core))

    def shorten(self) -> None:
        """Leave out columns that say nothing new."""
        self._replace(*_compress(*self.get_covariance()))

    def tell_apart(self) -> None:
        """Innovations of single samples from those of the samples of one time."""
        for group, blocks in self.blocks.items():
            events = np.add.outer([offset for offset, _, _ in blocks], group.measuring)
            S, e = (np.stack([block[place] for block in blocks], axis=1) for place in (1, 2))
            for i in range(group.rows.size):
                s, row = S[:, :, i, i], S[:, :, i, i + 1 :]
                self.s[:, events[:, i]], self.e[:, events[:, i]] = s, e[:, :, i]
                share = _divide_each(row, s)
                e[:, :, i + 1 :] -= _outer_each(share, e[:, :, i])
                S[:, :, i + 1 :, i + 1 :] -= _outer_each(share, row)
        self.blocks.clear()

    def _move(self, group: _Group, offset: int) -> None:
        if group.transition >= 0:
            step = self.steps[group.transition]
            self.columns = step.move(self.columns)
            self.columns[:, :, self.rank] += step.response @ self.inputs[group.events[0] + offset]
        self.kept[group.events + offset] = self.columns[:, 0, self.rank :].T

    def _see(self, group: _Group) -> np.ndarray:
        """H times all columns, (1 + direction, row, column)."""
        h, (n, lanes, width) = self.h[:, group.rows], self.columns.shape
        seen = (h[0] @ self.columns.reshape(n, lanes * width)).reshape(-1, lanes, width).swapaxes(0, 1)
        if self.moving:
            seen[1:] += h[1:] @ self.columns[:, 0]
        return seen

    def _weigh(self, seen: np.ndarray) -> np.ndarray:
        """M Λᵀ, (1 + direction, column, row)."""
        return _multiply(self.core, seen[:, :, : self.rank].swapaxes(1, 2))

    def _correct(self, group: _Group, offset: int, seen: np.ndarray, gain: _Gain) -> None:
        e = -seen[:, :, self.rank :]
        e[:, :, 0] += self.y[:, group.measuring + offset]
        self.blocks.setdefault(group, []).append((offset, gain.S, e))
        self.columns[:, :, self.rank :] += _combine(gain.G, gain.solve(e))

    def _replace(self, factor: np.ndarray, core: np.ndarray) -> None:
        self.columns, self.core = np.concatenate([factor, self.columns[:, :, self.rank :]], axis=2), core


def _list_variances(gains: Sequence[_Gain | None]) -> np.ndarray:
    return np.concatenate([np.zeros(0), *(np.diag(gain.S[0]) for gain in gains if gain is not None)])


def _multiply(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """A product of matrices (1 + direction, …)."""
    product = first @ second[0]
    product[1:] += first[0] @ second[1:]
    return product


def _combine(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The first k columns (n, 1 + direction, column) times weights (1 + direction, k, m)."""
    (n, lanes, width), (_, k, m) = columns.shape, weights.shape
    first = np.zeros((width, m))  # zero for the other columns: so none of them need to be copied
    first[:k] = weights[0]
    product = (columns.reshape(n * lanes, width) @ first).reshape(n, lanes, m)
    if lanes > 1:
        moved = weights[1:].swapaxes(0, 1).reshape(k, (lanes - 1) * m)
        product[:, 1:] += (columns[:, 0, :k] @ moved).reshape(n, lanes - 1, m)
    return product


def _square(weighed: np.ndarray, gain: _Gain) -> np.ndarray:
    """M Λᵀ S⁻¹ Λ M."""
    return _multiply(weighed, gain.solve(weighed.swapaxes(1, 2)))


def _join(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Cores along the diagonal of one."""
    lanes, k, m = len(first), first.shape[1], second.shape[1]
    both = np.zeros((lanes, k + m, k + m))
    both[:, :k, :k], both[:, k:, k:] = first, second
    return both


def _compress(factor: np.ndarray, core: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A factor and its core with no more columns than say something."""
    G, W = find_columns(factor[:, 0], core[0])
    return factor @ G, W @ core @ W.T


def _divide_each(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Rows (1 + direction, block, column) over numbers (1 + direction, block)."""
    ratio = above / below[0][:, None]
    ratio[1:] -= ratio[0] * (below[1:] / below[0])[..., None]
    return ratio


def _outer_each(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Outer products of rows, (1 + direction, block, i, j)."""
    product = left[..., None] * right[0][:, None]
    product[1:] += left[0][..., None] * right[1:, :, None]
    return product
