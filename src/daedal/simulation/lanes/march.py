"""Advance blocks of lanes through a schedule, chunk by chunk, so that memory stays constant however long the run is."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from daedal import simulation
from daedal.simulation import lanes
from daedal.simulation.forcing import Forcing
from daedal.simulation.lanes.blocks import BLOCK, UNIT
from daedal.simulation.lanes.run import ESCAPED
from daedal.simulation.lanes.scenario import Paths
from daedal.simulation.steps import ACCEPTED, GAVE_UP, Point, Program, Schedule, reorder_pivots, tabulate_nodes
from daedal.systems import Sizes, System

if TYPE_CHECKING:
    from daedal.simulation.lanes.fan import Fan

CHUNK = 2048  # steps of a full block between two looks at the results, and at whether to stop
FULL = 64  # lanes; fewer may take more steps, but at least a vector of them is done at once
CHUNK_WORK = 2.6e8  # operations of all lanes that they may take
KEPT = 6.4e7  # bytes of what steps read that are kept between runs
PERHAPS_PIVOTS = 1e33  # residuals from here on tell of something undefined, which bad pivots may have made
ON_GRID = 1e-4  # of a cell: a step that begins this close before a grid point begins on it
REORDERINGS = 4  # of the pivots, for one block of lanes


@dataclass(frozen=True, eq=False)
class Table:
    """What all lanes read in each step; made once where it is small, else anew for the steps of each chunk.

    `grid` is the spacing of the disturbances (0 without any), `times` are those of the samples.
    """

    program: Program
    steps: Schedule
    forcing: Forcing
    grid: float
    times: np.ndarray

    @property
    def emit(self) -> np.ndarray:
        """The sample that follows each step, −1 for none."""
        return self.steps.emit

    def read(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Of some steps, the values that lanes share (step, value), and the first grid row (step,)."""
        if self._whole is not None:
            shared, row = self._whole
            return shared[first:last], row[first:last]
        steps = self.steps
        return self.tabulate(Schedule(steps.starts[first:last], steps.lengths[first:last], steps.emit[first:last]))

    @cached_property
    def _whole(self) -> tuple[np.ndarray, np.ndarray] | None:
        numbers = self.steps.starts.size * self.program.nodes.size * (len(self.forcing.tracks) + 1)
        # What clocks do is told from all steps together.
        return self.tabulate(self.steps) if 8.0 * numbers <= KEPT or self.forcing.clocks else None

    def tabulate(self, steps: Schedule) -> tuple[np.ndarray, np.ndarray]:
        """The same of any steps."""
        program, forcing = self.program, self.forcing
        columns = [steps.starts[:, None], steps.lengths[:, None]]
        if program.inputs:
            inputs = list(program.inputs)
            values = tabulate_nodes(forcing, steps, program.nodes)[:, :, inputs].transpose(0, 2, 1)
            sampled = np.where(steps.emit >= 0, self.times[steps.emit], steps.ends)
            read = np.ones(sampled.size, dtype=bool) if program.projects_inputs else steps.emit >= 0
            ends = np.zeros((sampled.size, len(inputs)))
            ends[read] = forcing.at_all(np.clip(sampled[read], forcing.start, forcing.end))[:, inputs]
            columns += [values.reshape(steps.starts.size, program.nodes.size * len(inputs)), ends]
        row = np.zeros(steps.starts.size, dtype=np.int64)
        if program.disturbances:
            row = np.floor((steps.starts - forcing.start) / self.grid + ON_GRID).astype(np.int64)
            if program.shape.cells == 0:
                nodes = steps.starts[:, None] + steps.lengths[:, None] * program.nodes
                columns.append((nodes - forcing.start) / self.grid - row[:, None])
        if forcing.clocks:
            columns.append(simulation.mark_times(forcing.clocks, forcing.start, steps.ends))
        return np.ascontiguousarray(np.concatenate(columns, axis=1)), row


class Reordering:
    """Other pivots where a lane's equations are not solved, a few times in a run."""

    def __init__(self, system: System, forcing: Forcing) -> None:
        self._system, self._forcing = system, forcing
        self._left = REORDERINGS
        self._left_for_escaped = 1  # a value that escapes is seldom the pivots' fault

    def __call__(
        self,
        program: Program,
        time: float,
        state: np.ndarray,
        parameters: np.ndarray,
        step: float,
        *,
        escaped: bool,
    ) -> Program | None:
        """The program with pivots chosen at this state of a lane; None when that does not help."""
        left = self._left_for_escaped if escaped else self._left
        if left == 0 or not np.isfinite(state).all():
            return None
        self._left -= not escaped
        self._left_for_escaped -= escaped
        states, values = len(self._system.states), len(self._system.reduction.parameters)
        exogenous = self._forcing.at(min(time, self._forcing.end))
        if program.slots is not None:
            exogenous = program.slots.fill_exogenous(self._system, state, exogenous)
        sizes = Sizes.read(parameters[parameters.size - states - program.size :], states)
        point = Point(time, state[:states], state[states : program.size], parameters[:values], exogenous, sizes)
        return reorder_pivots(self._system, program.shape, point, step)


def march_lanes(
    program: Program,
    tables: Table,
    paths: Paths | None,
    state: np.ndarray,
    parameters: np.ndarray,
    consume: Callable[[np.ndarray, np.ndarray], None],
    reorder: Reordering | None = None,
) -> Iterator[None]:
    """Advance `state` (value, lane) in place; `consume` gets sample numbers and (sample, output, lane) as they come.

    Iterate to go on: it stops after every chunk, so that several marches can share the paths of a chunk.
    Where a lane's equations are not solved, `reorder` may give a program with other pivots, chosen at the last good
    state of that lane; the rest is then done with it.
    """
    size = _count_steps(program, state.shape[1])
    for first in range(0, tables.emit.size, size):
        chunk = _Chunk(tables, first, min(first + size, tables.emit.size), paths, program, state.shape[1])
        position = 0
        while position < chunk.steps:
            before = state.copy()
            out = chunk.run(program, state, parameters, position)
            solved = find_solved(out)
            if not solved.all() and reorder is not None and (bad := _find_curable(out, solved)).size:
                after = state.copy()
                lane = int(bad[0])
                good = chunk.find_last_good(out, lane, position)
                state[:] = before
                head = chunk.run(program, state, parameters, position, good)
                row = np.abs(out[chunk.find_row(good, position), :, lane])
                escaped = not np.all(row < ESCAPED) or row[-1] >= PERHAPS_PIVOTS
                at = (chunk.find_time(good), state[:, lane], parameters[:, lane], chunk.length)
                other = reorder(program, *at, escaped=escaped)
                if other is not None:
                    consume(chunk.find_samples(position, good), head)
                    program, position = other, good
                    continue
                state[:] = after
            consume(chunk.find_samples(position), out)
            break
        yield


def _count_steps(program: Program, count: int) -> int:
    """Steps of so many lanes between two looks at the results; blocks of units have the same ones, however large.

    Sums over samples are taken look by look, and have the same bits for every number of cores.
    """
    fan = _find_fan(program, count)
    instructions = fan.instructions if fan else program.instructions
    count = BLOCK if count >= UNIT else count
    work = instructions * max(count, program.kernel.width)
    return max(min(CHUNK * max(FULL // max(count, 1), 1), int(CHUNK_WORK / work)), 16)


def _find_fan(program: Program, count: int) -> "Fan | None":
    """How few lanes with many directions fill a vector."""
    return lanes.Fan.of(program, count) if program.repeated is not None else None  # which is seldom loaded


def find_solved(out: np.ndarray) -> np.ndarray:
    """Which samples of which lanes are finite and satisfy the equations, (sample, lane)."""
    if out.size and max(out.max(), -out.min()) < ESCAPED:  # as usual, and looked at without a copy
        return out[:, -1] <= ACCEPTED
    finite = np.all(np.abs(out) < ESCAPED, axis=1)
    return finite & (np.nan_to_num(out[:, -1], nan=np.inf) <= ACCEPTED)


def _find_curable(out: np.ndarray, solved: np.ndarray) -> np.ndarray:
    """Lanes that are not solved and that other pivots may cure, as they do not if a lane changed sides without end."""
    residuals = np.nan_to_num(out[:, -1])
    endless = np.any((residuals >= GAVE_UP) & (residuals < PERHAPS_PIVOTS), axis=0)
    return np.flatnonzero(~np.all(solved, axis=0) & ~endless)


class _Chunk:
    """Some consecutive steps with what they read."""

    def __init__(self, tables: Table, first: int, last: int, paths: Paths | None, program: Program, count: int) -> None:
        self.steps = last - first
        (self._shared, row), self._emit = tables.read(first, last), tables.emit[first:last]
        low, high = int(row[0]), int(row[-1]) + program.grid_rows
        self._lane = paths.draw_rows(low, high) if paths is not None else np.zeros((1, 0, count))
        self._begin = (row - low) * self._lane.shape[1]

    def run(
        self, program: Program, state: np.ndarray, parameters: np.ndarray, start: int, stop: int | None = None
    ) -> np.ndarray:
        """Advance over the steps start … stop − 1; (sample, output, lane)."""
        part = slice(start, stop)
        emit = self._emit[part]
        local = np.where(emit >= 0, np.cumsum(emit >= 0) - 1, -1)
        out = np.empty((int(np.sum(emit >= 0)), program.outputs, state.shape[1]))
        kernel = _find_fan(program, state.shape[1]) or program.kernel
        kernel.run(state, parameters, self._shared[part], self._lane, local, out, begin=self._begin[part])
        return out

    def find_samples(self, start: int, stop: int | None = None) -> np.ndarray:
        """The samples that follow these steps."""
        emit = self._emit[start:stop]
        return emit[emit >= 0]

    def find_row(self, step: int, start: int) -> int:
        """The row of the first sample after a step, in what `run` gave from `start` on."""
        return int(np.sum(self._emit[start:step] >= 0))

    def find_last_good(self, out: np.ndarray, lane: int, start: int) -> int:
        """The step after the last sample at which the lane was still good."""
        row = int(np.argmin(find_solved(out)[:, lane])) - 1
        emitting = np.flatnonzero(self._emit[start:] >= 0)
        return start + int(emitting[row]) + 1 if row >= 0 else start

    @property
    def length(self) -> float:
        """A typical length of its steps."""
        return float(np.median(self._shared[:, 1]))

    def find_time(self, step: int) -> float:
        """When a step begins."""
        return float(self._shared[min(step, self.steps - 1), 0])
