"""The time grid of one experiment: steps between samples and jumps of inputs, each a cell of the noise."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from daedal.experiments import Drive
from daedal.lti import find_distinct
from daedal.memory import check_memory
from daedal.simulation import (
    ALIGNED,
    Forcing,
    find_stops,
    make_forcing,
    make_regular_steps,
    see_features,
    tabulate_nodes,
)
from daedal.systems import System

COPIES = 4  # of what is known at each step, that there are at the same time


@final
@dataclass(frozen=True, eq=False)
class TimeGrid:
    """Grid points and what is known of each step; the start is point 0, and step k ends at point k + 1.

    Attributes
    ----------
    times
        Of the grid points (step + 1,).
    lengths, length_of
        Distinct lengths of steps (length,), and which each step has (step,).
    inputs
        What a row of the program's table says of time and inputs, (step, numbers).
    first
        The same for the start as the end of a step of no length, (numbers,).
    wanted, point_of
        Times of samples and queries (time,), and the grid point at which each is.
    """

    times: np.ndarray
    lengths: np.ndarray
    length_of: np.ndarray
    inputs: np.ndarray
    first: np.ndarray
    wanted: np.ndarray
    point_of: np.ndarray
    forcing: Forcing

    @property
    def steps(self) -> int:
        """How many there are."""
        return self.length_of.size

    def find_points(self, times: np.ndarray) -> np.ndarray:
        """The grid points of some of the wanted times."""
        return self.point_of[np.searchsorted(self.wanted, times)]

    def cut(self, steps: int) -> "TimeGrid":
        """So many steps of it, the first ones."""
        early = self.point_of <= steps
        return replace(
            self,
            times=self.times[: steps + 1],
            length_of=self.length_of[:steps],
            inputs=self.inputs[:steps],
            wanted=self.wanted[early],
            point_of=self.point_of[early],
        )


def make_grid(
    system: System,
    drive: Drive,
    nodes: np.ndarray,
    known: Sequence[int],
    longest: float,
    parameters: np.ndarray,
    queries: np.ndarray | None = None,
) -> TimeGrid:
    """Equal steps of at most `longest` between stops; `queries` are times at which the state is wanted besides."""
    wanted = drive.times if queries is None else np.union1d(drive.times, queries)
    forcing = make_forcing(system, drive.signals, drive.start, float(wanted[-1]))
    forcing = see_features(system, forcing, wanted, [parameters])
    stops = find_stops(drive.start, wanted, np.array(forcing.find_jumps()), ALIGNED * longest, forcing.find_instants())
    _refuse_too_many(system, float(np.sum(np.ceil(stops.intervals / longest))), len(known) * (nodes.size + 1))
    schedule = make_regular_steps(stops, longest)
    ends = schedule.ends
    later = schedule.emit >= 0
    ends[later] = wanted[schedule.emit[later]]  # to the last bit
    times = np.concatenate([[drive.start], ends])
    lengths, length_of = find_distinct(schedule.lengths, times)
    columns = list(known)
    at_nodes = tabulate_nodes(forcing, schedule, nodes)[:, :, columns]
    at_ends = forcing.at_all(ends)[:, columns]
    spans = np.stack([schedule.starts, lengths[length_of]], axis=1) if ends.size else np.zeros((0, 2))
    rows = at_nodes.transpose(0, 2, 1).reshape(ends.size, len(columns) * nodes.size)
    start = forcing.at(drive.start)[columns]
    point_of = np.zeros(wanted.size, dtype=np.int64)
    point_of[schedule.emit[later]] = np.flatnonzero(later) + 1
    return TimeGrid(
        times=times,
        lengths=lengths,
        length_of=length_of,
        inputs=np.hstack([spans, rows, at_ends]),
        first=np.concatenate([[drive.start, 0.0], np.repeat(start, nodes.size), start]),
        wanted=wanted,
        point_of=point_of,
        forcing=forcing,
    )


def _refuse_too_many(system: System, steps: float, width: int) -> None:
    """Steps of which what is known and what is computed do not fit into memory."""
    numbers = COPIES * (width + 3) + len(system.states) ** 2
    subject = f"The filter of model '{system.model.name}', in {steps:.3g} steps,"
    check_memory(8.0 * steps * numbers, subject, "Use longer steps, or fewer samples.")
