"""When the lanes step, and what known inputs they see: tables shared by all lanes.

A step of length h either spans whole cells of the disturbance grid, or lies inside one cell. Inputs are tabulated at
the nodes of the method; where an input has a kink inside a step it is first projected, in the mean square over the
step, on polynomials of degree two (moment matching: what a step can see of its forcing are its low moments).
"""

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import legendre

from daedal.data import Signal
from daedal.simulation.forcing import Forcing

DEGREE = 2  # of the polynomials on which forcing is projected
ALIGNED = 1e-9  # of a step: times closer than this are the same


@dataclass(frozen=True, eq=False)
class Schedule:
    """Steps of all lanes: where they start, how long they are, and which sample follows each (−1 for none)."""

    starts: np.ndarray
    lengths: np.ndarray
    emit: np.ndarray

    @property
    def ends(self) -> np.ndarray:
        return self.starts + self.lengths

    def divided(self, parts: int) -> "Schedule":
        """Every step in so many equal ones."""
        lengths = np.repeat(self.lengths / parts, parts)
        starts = np.repeat(self.starts, parts) + lengths * np.tile(np.arange(parts), self.starts.size)
        emit = np.full(lengths.size, -1, dtype=np.int64)
        emit[parts - 1 :: parts] = self.emit
        return Schedule(starts, lengths, emit)

    def until(self, time: float) -> "Schedule":
        """The steps that end by this time."""
        count = int(np.sum(self.ends <= time + ALIGNED * self.lengths))
        return Schedule(self.starts[:count], self.lengths[:count], self.emit[:count])


def schedule(start: float, times: np.ndarray, breaks: np.ndarray, longest: float) -> Schedule:
    """Steps of at most `longest` from start through all times, none of which contains a break or a sample inside."""
    stops = np.unique(np.concatenate([times[times > start], breaks[(breaks > start) & (breaks < times[-1])]]))
    if stops.size == 0:
        empty = np.zeros(0)
        return Schedule(empty, empty, np.zeros(0, dtype=np.int64))
    stops = stops[np.concatenate([np.diff(stops) > ALIGNED * longest, [True]])]
    intervals = np.diff(np.concatenate([[start], stops]))
    counts = np.maximum(np.ceil(intervals / longest - 1e-6), 1).astype(int)
    lengths = np.repeat(intervals / counts, counts)
    first = np.repeat(np.concatenate([[start], stops[:-1]]), counts)
    within = np.arange(lengths.size) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = first + within * lengths
    return Schedule(starts, lengths, _emitted(starts + lengths, times, start, longest))


def from_steps(start: float, lengths: np.ndarray, times: np.ndarray) -> Schedule:
    """A schedule with the given steps, which end on every sample."""
    if lengths.size == 0:
        return Schedule(lengths, lengths, np.zeros(0, dtype=np.int64))
    starts = start + np.concatenate([[0.0], np.cumsum(lengths)[:-1]])
    return Schedule(starts, lengths, _emitted(starts + lengths, times, start, float(lengths.min())))


def _emitted(ends: np.ndarray, times: np.ndarray, start: float, step: float) -> np.ndarray:
    """The sample that coincides with the end of each step."""
    emit = np.full(ends.size, -1, dtype=np.int64)
    later = np.flatnonzero(times > start)
    if later.size:
        place = np.clip(np.searchsorted(ends, times[later] - 1e-6 * step), 0, ends.size - 1)
        emit[place] = later
    return emit


def node_values(forcing: Forcing, steps: Schedule, nodes: np.ndarray) -> np.ndarray:
    """Values of the tracks of `forcing` at the nodes of every step, as (step, node, track); disturbances are zero."""
    table = np.zeros((steps.starts.size, nodes.size, len(forcing.tracks)))
    for column, track in enumerate(forcing.tracks):
        if track is not None:
            table[:, :, column] = _signal_at_nodes(*track, steps, nodes)
    return table


def _signal_at_nodes(signal: Signal, order: int, steps: Schedule, nodes: np.ndarray) -> np.ndarray:
    """Exact values (limits from inside) where the step meets one piece, projected ones where it meets several."""
    breaks, _ = signal.pieces()
    reach = ALIGNED * steps.lengths
    first = np.clip(np.searchsorted(breaks, steps.starts + reach, side="right") - 1, 0, breaks.size - 2)
    last = np.clip(np.searchsorted(breaks, steps.ends - reach, side="left") - 1, first, breaks.size - 2)
    times = steps.starts[:, None] + steps.lengths[:, None] * nodes
    values = _piece_value(signal, order, np.broadcast_to(first[:, None], times.shape), times)
    several = np.flatnonzero(last > first)
    if several.size:
        moments = _moments(signal, order, steps, several, first, last)
        basis = np.stack([legendre.legval(2 * nodes - 1, np.eye(DEGREE + 1)[k]) for k in range(DEGREE + 1)])
        values[several] = moments @ basis
    return values


def _piece_value(signal: Signal, order: int, piece: np.ndarray, times: np.ndarray) -> np.ndarray:
    breaks, coefficients = signal.pieces()
    elapsed = times - breaks[piece]
    value = np.zeros(times.shape)
    for power in range(len(coefficients) - 1, order - 1, -1):
        factor = np.prod(np.arange(power - order + 1, power + 1)) if order else 1.0
        value = value * elapsed + factor * coefficients[power][piece]
    return value


def _moments(
    signal: Signal, order: int, steps: Schedule, which: np.ndarray, first: np.ndarray, last: np.ndarray
) -> np.ndarray:
    """Legendre coefficients over each step: (2k + 1) ∫₀¹ u P_k, by Gauss quadrature on every piece it meets."""
    points, weights = legendre.leggauss(4)
    counts = last[which] - first[which] + 1
    owner = np.repeat(np.arange(which.size), counts)
    piece = first[which][owner] + np.arange(owner.size) - np.repeat(np.cumsum(counts) - counts, counts)
    breaks, _ = signal.pieces()
    start, length = steps.starts[which][owner], steps.lengths[which][owner]
    left = np.clip((breaks[piece] - start) / length, 0.0, 1.0)
    right = np.clip((breaks[piece + 1] - start) / length, 0.0, 1.0)
    position = left[:, None] + (right - left)[:, None] * (points + 1) / 2
    value = _piece_value(
        signal, order, np.broadcast_to(piece[:, None], position.shape), start[:, None] + length[:, None] * position
    )
    weighted = value * weights / 2 * (right - left)[:, None]
    moments = np.zeros((which.size, DEGREE + 1))
    for k in range(DEGREE + 1):
        share = (2 * k + 1) * np.sum(weighted * legendre.legval(2 * position - 1, np.eye(DEGREE + 1)[k]), axis=1)
        np.add.at(moments[:, k], owner, share)
    return moments


def cell_weights(cells: int, nodes: np.ndarray) -> np.ndarray:
    """Weights (node, cells + 1) that give a piecewise-linear path, projected over the cells, at the nodes."""
    degree = min(DEGREE, cells)
    grid = np.arange(cells + 1) / cells
    points, weights = legendre.leggauss(3)
    result = np.zeros((nodes.size, cells + 1))
    for i in range(cells):
        position = grid[i] + (points + 1) / (2 * cells)
        for k in range(degree + 1):
            shape = np.eye(degree + 1)[k]
            share = (2 * k + 1) * weights / (2 * cells) * legendre.legval(2 * position - 1, shape)
            right = (position - grid[i]) * cells
            at_nodes = legendre.legval(2 * nodes - 1, shape)
            result[:, i] += at_nodes * np.sum(share * (1 - right))
            result[:, i + 1] += at_nodes * np.sum(share * right)
    return result
