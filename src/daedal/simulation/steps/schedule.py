"""When the lanes step, and what known inputs they see: tables shared by all lanes.

A step of length h either spans whole cells of the disturbance grid, or lies inside one cell. Inputs are tabulated at
the nodes of the method; where an input has a kink inside a step it is first projected, in the mean square over the
step, on polynomials of degree two (moment matching: what a step can see of its forcing are its low moments).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, perm

import numpy as np
from numpy.polynomial import legendre

from daedal.data import Signal
from daedal.simulation.forcing import Forcing

HIGHEST = 3  # power of the time in an input, between two of its samples
DEGREE = 2  # of the polynomials on which forcing is projected
ALIGNED = 1e-6  # of a step: a break closer than this to a sample or to another break is the same instant
ROUNDED = 8  # neighbouring numbers that are the same instant in any case


@dataclass(frozen=True, eq=False)
class Schedule:
    """Steps of all lanes: when they start, how long they are, and which sample follows each (−1 for none)."""

    starts: np.ndarray
    lengths: np.ndarray
    emit: np.ndarray

    @property
    def ends(self) -> np.ndarray:
        return self.starts + self.lengths

    def divide(self, parts: int) -> "Schedule":
        """Every step in so many equal ones."""
        lengths = np.repeat(self.lengths / parts, parts)
        starts = (self.starts[:, None] + (self.lengths / parts)[:, None] * np.arange(parts)).ravel()
        emit = np.full(lengths.size, -1, dtype=np.int64)
        emit[parts - 1 :: parts] = self.emit
        return Schedule(starts, lengths, emit)

    def take_until(self, sample: int) -> "Schedule":
        """The steps up to the one that this sample follows."""
        places = np.flatnonzero(self.emit == sample)
        count = int(places[0]) + 1 if places.size else 0
        return Schedule(self.starts[:count], self.lengths[:count], self.emit[:count])


@dataclass(frozen=True, eq=False)
class Stops:
    """Instants at which steps must end, and the sample at each (−1 for a break that is none)."""

    start: float
    times: np.ndarray
    samples: np.ndarray

    @property
    def begins(self) -> np.ndarray:
        """Where the interval before each stop begins."""
        return np.concatenate([[self.start], self.times[:-1]]) if self.times.size else self.times

    @property
    def intervals(self) -> np.ndarray:
        return np.diff(np.concatenate([[self.start], self.times]))


def find_stops(
    start: float, times: np.ndarray, breaks: np.ndarray, near: float, instants: np.ndarray | None = None
) -> Stops:
    """All samples after the start, and the breaks between them that are not `near` one of them or each other.

    Of the instants among them only those are left out that rounding alone tells from another stop.
    """
    later = np.flatnonzero(times > start)
    fixed = np.concatenate([[start], times[later]])
    inside = np.zeros(0)
    if instants is not None and instants.size:
        inside = _select_apart(fixed, instants, ROUNDED * np.spacing(np.abs(fixed).max()))
        fixed = np.sort(np.concatenate([fixed, inside]))
    inside = np.concatenate([inside, _select_apart(fixed, breaks, near)])
    joined = np.concatenate([times[later], inside])
    numbers = np.concatenate([later, np.full(inside.size, -1)]).astype(np.int64)
    order = np.argsort(joined, kind="stable")
    return Stops(start, joined[order], numbers[order])


def _select_apart(fixed: np.ndarray, breaks: np.ndarray, near: float) -> np.ndarray:
    inside = np.unique(breaks[(breaks > fixed[0]) & (breaks < fixed[-1])])
    if inside.size:
        right = np.searchsorted(fixed, inside)
        apart = np.minimum(inside - fixed[right - 1], fixed[np.minimum(right, fixed.size - 1)] - inside) > near
        inside = inside[apart]
        inside = inside[np.concatenate([[True], np.diff(inside) > near])] if inside.size else inside
    return inside


def make_regular_steps(at: Stops, longest: float, instants: np.ndarray | None = None, parts: int = 1) -> Schedule:
    """Between two stops, equal steps of at most `longest`; at least so many parts beside instants."""
    counts = np.maximum(np.ceil(at.intervals / longest - ALIGNED), 1).astype(int)
    if instants is not None and instants.size:
        beside = np.isin(at.times, instants) | np.isin(at.begins, instants)
        counts[beside] = np.maximum(counts[beside], parts)
    lengths = np.repeat(at.intervals / counts, counts)
    starts = np.arange(lengths.size, dtype=float)  # in place: of a long record these are the largest arrays there are
    starts -= np.repeat((np.cumsum(counts) - counts).astype(float), counts)
    starts *= lengths
    starts += np.repeat(at.begins, counts)
    emit = np.full(lengths.size, -1, dtype=np.int64)
    emit[np.cumsum(counts) - 1] = at.samples
    return Schedule(starts, lengths, emit)


def join_steps(at: Stops, lengths: list[np.ndarray]) -> Schedule:
    """The given steps between each two stops."""
    if not lengths:
        empty = np.zeros(0)
        return Schedule(empty, empty, np.zeros(0, dtype=np.int64))
    starts = [
        first + np.concatenate([[0.0], np.cumsum(part)[:-1]]) for first, part in zip(at.begins, lengths, strict=True)
    ]
    emit = np.full(sum(part.size for part in lengths), -1, dtype=np.int64)
    emit[np.cumsum([part.size for part in lengths]) - 1] = at.samples
    return Schedule(np.concatenate(starts), np.concatenate(lengths), emit)


def tabulate_nodes(forcing: Forcing, steps: Schedule, nodes: np.ndarray) -> np.ndarray:
    """Values of the tracks of `forcing` at the nodes of every step, as (step, node, track); disturbances are zero."""
    table = np.zeros((steps.starts.size, nodes.size, len(forcing.tracks)))
    for column, track in enumerate(forcing.tracks):
        if track is not None and column not in forcing.stages:
            table[:, :, column] = _evaluate_at_nodes(*track, steps, nodes)
    forcing.write_stages((steps.starts + steps.lengths / 2)[:, None], table)
    return table


def expand_inputs(forcing: Forcing, at: Stops, inputs: Sequence[int]) -> np.ndarray:
    """Coefficients of the time since the beginning of each interval between stops, as (interval, input, power).

    Between two of them every input is one polynomial: kinks are among the stops.
    """
    middle = at.begins + at.intervals / 2
    held = np.zeros((middle.size, len(forcing.tracks)))
    forcing.write_stages(middle, held)
    table = np.zeros((middle.size, len(inputs), HIGHEST + 1))
    for column, place in enumerate(inputs):
        track = forcing.tracks[place]
        if place in forcing.stages:
            table[:, column, 0] = held[:, place]
        elif track is not None:
            signal, order = track
            breaks, coefficients = signal.pieces()
            piece = np.clip(np.searchsorted(breaks, middle, side="right") - 1, 0, breaks.size - 2)
            since = at.begins - breaks[piece]
            for power in range(order, len(coefficients)):  # (s + τ)ᵏ by powers of τ
                factor = perm(power, order) * coefficients[power][piece]
                for k in range(power - order + 1):
                    table[:, column, k] += comb(power - order, k) * factor * since ** (power - order - k)
    return table


def _evaluate_at_nodes(signal: Signal, order: int, steps: Schedule, nodes: np.ndarray) -> np.ndarray:
    """Exact values (limits from inside) where the step meets one piece, projected ones where it meets several."""
    breaks, _ = signal.pieces()
    reach = 1e-9 * steps.lengths
    first = np.clip(np.searchsorted(breaks, steps.starts + reach, side="right") - 1, 0, breaks.size - 2)
    last = np.clip(np.searchsorted(breaks, steps.ends - reach, side="left") - 1, first, breaks.size - 2)
    values = _evaluate_piece(signal, order, first, steps.starts, steps.lengths[:, None] * nodes)
    several = np.flatnonzero(last > first)
    if several.size:
        moments = _compute_moments(signal, order, steps, several, first, last)
        values[several] = moments @ legendre.legvander(2 * nodes - 1, DEGREE).T
    return values


def _evaluate_piece(
    signal: Signal, order: int, piece: np.ndarray, starts: np.ndarray, inside: np.ndarray
) -> np.ndarray:
    """At instants inside steps, each in one piece, as (step, instant).

    The sum of a large time, such as seconds since 1970, and a short one would lose digits of that.
    """
    breaks, coefficients = signal.pieces()
    elapsed = (starts - breaks[piece])[:, None] + inside
    value = np.zeros(elapsed.shape)
    for power in range(len(coefficients) - 1, order - 1, -1):
        value *= elapsed
        value += (perm(power, order) * coefficients[power][piece])[:, None]
    return value


def _compute_moments(
    signal: Signal, order: int, steps: Schedule, which: np.ndarray, first: np.ndarray, last: np.ndarray
) -> np.ndarray:
    """Legendre coefficients over each step: (2k + 1) ∫₀¹ u P_k, by Gauss quadrature on every piece it meets."""
    breaks, coefficients = signal.pieces()
    points, weights = legendre.leggauss((len(coefficients) - 1 + DEGREE) // 2 + 1)  # exact for u P_k
    counts = last[which] - first[which] + 1
    begins = np.cumsum(counts) - counts
    owner = np.repeat(which, counts)
    piece = np.arange(owner.size) + np.repeat(first[which] - begins, counts)
    start, length = steps.starts[owner], steps.lengths[owner]
    left = np.maximum((breaks[piece] - start) / length, 0.0)
    width = np.minimum((breaks[piece + 1] - start) / length, 1.0) - left
    moments = np.zeros((which.size, DEGREE + 1))
    for point, weight in zip((points + 1) / 2, weights / 2, strict=True):
        position = left + width * point
        weighted = _evaluate_piece(signal, order, piece, start, (length * position)[:, None])[:, 0] * (weight * width)
        for k, polynomial in enumerate(legendre.legvander(2 * position - 1, DEGREE).T):
            moments[:, k] += (2 * k + 1) * np.add.reduceat(weighted * polynomial, begins)
    return moments
