"""Advance blocks of lanes through a schedule, chunk by chunk, so that memory stays constant however long the run is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from daedal.simulation.forcing import Forcing
from daedal.simulation.program import Program
from daedal.simulation.schedule import Schedule, node_values

CHUNK = 2048  # steps between two looks at the results


class Paths(Protocol):
    """Disturbances of a block of lanes on their grid, drawn in order."""

    def rows(self, first: int, last: int) -> np.ndarray:
        """Grid points first … last − 1 as (point, value, lane); each call goes on at or before the last row drawn."""
        ...


@dataclass(frozen=True, eq=False)
class Table:
    """What all lanes share: for each step its shared values, its first grid row, and the sample that follows it."""

    shared: np.ndarray
    grid_row: np.ndarray
    emit: np.ndarray


def table(program: Program, steps: Schedule, forcing: Forcing, grid: float) -> Table:
    """Tabulate a schedule for a program; `grid` is the spacing of the disturbances (0 without any)."""
    inputs = list(program.inputs)
    values = node_values(forcing, steps, program.nodes)[:, :, inputs].transpose(0, 2, 1)
    values = values.reshape(steps.starts.size, program.nodes.size * len(inputs))
    ends = forcing.at_all(np.minimum(steps.ends, forcing.end))[:, inputs]
    columns = [steps.starts[:, None], steps.lengths[:, None], values, ends]
    row = np.zeros(steps.starts.size, dtype=np.int64)
    if program.disturbances:
        row = np.floor((steps.starts - forcing.start) / grid + 1e-6).astype(np.int64)
        if program.shape.cells == 0:
            nodes = steps.starts[:, None] + steps.lengths[:, None] * program.nodes
            columns.append((nodes - forcing.start) / grid - row[:, None])
    return Table(np.ascontiguousarray(np.concatenate(columns, axis=1)), row, steps.emit)


def march(
    program: Program,
    tables: Table,
    paths: Paths | None,
    state: np.ndarray,
    parameters: np.ndarray,
    consume: Callable[[np.ndarray, np.ndarray], None],
) -> None:
    """Advance `state` (value, lane) in place; `consume` gets sample numbers and (sample, output, lane) as they come."""
    lanes = state.shape[1]
    for first in range(0, tables.emit.size, CHUNK):
        last = min(first + CHUNK, tables.emit.size)
        emit = tables.emit[first:last]
        samples = emit[emit >= 0]
        local = np.where(emit >= 0, np.cumsum(emit >= 0) - 1, -1)
        out = np.empty((samples.size, program.outputs, lanes))
        low, high = int(tables.grid_row[first]), int(tables.grid_row[last - 1]) + program.grid_rows
        lane = paths.rows(low, high) if paths is not None else np.zeros((1, 0, lanes))
        begin = (tables.grid_row[first:last] - low) * lane.shape[1]
        program.kernel.run(state, parameters, tables.shared[first:last], lane, local, out, begin=begin)
        consume(samples, out)
