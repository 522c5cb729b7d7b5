"""What the steps of a system with delays share, tabulated before any of them runs.

Where a step looks back to depends on the mesh and the delays alone. Each step reads what lies on its own side of a
break point, and of its own segment only what was computed before it.
"""

from dataclasses import dataclass

import numpy as np

from daedal.simulation.delays.history import evaluate_delayed_input, read_pieces
from daedal.simulation.delays.interpolation import find_first_point
from daedal.simulation.delays.lags import Lags
from daedal.simulation.delays.mesh import Mesh, Rows
from daedal.simulation.delays.program import DelayProgram, Layout
from daedal.simulation.forcing import Forcing
from daedal.simulation.lanes import Values


@dataclass(frozen=True, eq=False)
class Tables:
    """For each step of a march its shared values, its cell of the disturbances, and the points it looks back at."""

    shared: np.ndarray
    cell: np.ndarray
    back: np.ndarray


def tabulate(program: DelayProgram, mesh: Mesh, lags: Lags, forcing: Forcing, values: Values, grid: float) -> Tables:
    """Tabulate a mesh; `grid` is the spacing of the disturbances (0 without any)."""
    rows, layout = mesh.rows, program.layout
    times = rows.begin[:, None] + rows.length[:, None] * program.nodes
    shared = np.zeros((rows.segment.size, layout.columns))
    shared[:, 0], shared[:, 1] = rows.begin, rows.length
    _fill_inputs(shared, program, forcing, times, rows)
    cell = np.zeros(rows.segment.size, dtype=np.int64)
    if program.shape.noisy:
        cell = np.floor((rows.middle - forcing.start) / grid).astype(np.int64)
        shared[:, layout.first - layout.nodes : layout.first] = (times - forcing.start) / grid - cell[:, None]
    opening = np.flatnonzero(rows.number == 0)
    shared[opening[1:], layout.moving] = mesh.rates[1:-1].reshape(opening.size - 1, mesh.rates[0].size)
    back = np.zeros((rows.segment.size, program.kernel.columns), dtype=np.int64)
    early: dict[str, np.ndarray] = {}
    for lag, names in enumerate(layout.lags):
        readings = find_readings(mesh, times, float(lags.amounts[lags.find_group(names[0])]), forcing.start)
        _look_back(shared, back, layout, lag, readings, opening[1:])
        early |= dict.fromkeys(names, readings.early)
    for value, (name, _) in enumerate(layout.delayed):
        known = _find_given(times, rows.middle, name, lags, forcing, values, early.get(name))
        _fill_given(shared, layout, value, *known, early.get(name), opening[1:])
    return Tables(shared, cell, back)


def _fill_inputs(shared: np.ndarray, program: DelayProgram, forcing: Forcing, times: np.ndarray, rows: Rows) -> None:
    """Known inputs at the nodes, and at the end of the step."""
    nodes = program.layout.nodes
    for column, symbol in enumerate(program.known):
        track = forcing.tracks[symbol]
        if track is not None:
            value, _ = read_pieces(track[0], track[1], times, rows.middle)
            shared[:, 2 + column * nodes : 2 + (column + 1) * nodes] = value
            shared[:, 2 + len(program.known) * nodes + column] = value[:, -1]


@dataclass(frozen=True, eq=False)
class Readings:
    """Where what is delayed by one amount was recorded, for steps and their nodes.

    Attributes
    ----------
    early
        Steps that look before the start (step,).
    first, position
        The first of the points around, and where among them the delayed time lies (step, node).
    density
        Points per unit of time (step,).
    """

    early: np.ndarray
    first: np.ndarray
    position: np.ndarray
    density: np.ndarray


def find_readings(mesh: Mesh, times: np.ndarray, amount: float, start: float) -> Readings:
    """For the steps of a mesh, whose nodes are at `times`."""
    rows = mesh.rows
    when = rows.middle - amount
    segment = mesh.find_segment(when)
    done = np.where(segment == rows.segment, rows.number - 1, mesh.counts[segment])
    density, early = 1.0 / mesh.lengths[segment], when < start
    position = (times - (amount + mesh.breaks[segment])[:, None]) * density[:, None]
    position[early] = 0.0
    base = np.clip(find_first_point(position, mesh.degree), 0, (done - mesh.degree)[:, None])
    first = mesh.offsets[segment][:, None] + base
    position -= base
    first[early], position[early] = mesh.points, 0.0  # rows of zeros stand after all points
    return Readings(early, first, position, density)


def _look_back(
    shared: np.ndarray, back: np.ndarray, layout: Layout, lag: int, readings: Readings, opening: np.ndarray
) -> None:
    """Enter where the steps find what is delayed by one amount."""
    late, nodes = (~readings.early).astype(float), layout.nodes
    first, last = layout.find_reading(lag, 0), layout.find_reading(lag, nodes)
    shared[:, first:last:3], shared[:, first + 2 : last : 3] = late[:, None], readings.density[:, None]
    shared[:, first + 1 : last : 3] = readings.position
    group = lag * layout.slots
    back[:, group : group + nodes] = readings.first
    if layout.directions:  # before a segment opens: the end of the step before
        before = shared[:, last : last + 3]
        before[:] = shared[:, first : first + 3]
        before[opening] = shared[opening - 1, last - 3 : last]
        back[:, group + nodes] = back[:, group]
        back[opening, group + nodes] = back[opening - 1, group + nodes - 1]


def _find_given(
    times: np.ndarray,
    middle: np.ndarray,
    name: str,
    lags: Lags,
    forcing: Forcing,
    values: Values,
    early: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """A delayed value where it is not computed, (step, node), and its derivatives (direction, step, node).

    `early` are the steps at which the history holds; None for an input, which is known always.
    """
    group, past = lags.find_group(name), lags.pasts[name]
    amount, turned = lags.amounts[group], lags.rates[group]
    parameters = values.column[: values.rates.shape[0]]
    if early is None:
        assert past.input is not None
        signal = forcing.signals[past.input[0]]
        value, slope, gradient = evaluate_delayed_input(past, signal, times - amount, middle - amount, parameters)
        return value, np.tensordot(values.rates.T, gradient, 1) - slope * turned[:, None, None]
    at = np.minimum(times[early] - amount, forcing.start)
    value, slope, gradient = past.at(at, parameters)
    if not turned.size:
        return value, np.zeros((0, *value.shape))
    return value, np.tensordot(values.rates.T, gradient, 1) - slope * turned[:, None, None]


def _fill_given(
    shared: np.ndarray,
    layout: Layout,
    value: int,
    given: np.ndarray,
    rates: np.ndarray,
    early: np.ndarray | None,
    opening: np.ndarray,
) -> None:
    """Enter what a delayed value is where it is not computed."""
    chosen = slice(None) if early is None else early
    first, nodes = layout.find_given(value), layout.nodes
    for way, row in enumerate([given, *rates]):
        shared[chosen, first + way * nodes : first + (way + 1) * nodes] = row
    if layout.directions:
        column = layout.find_given(value + 1) - 1
        shared[:, column] = shared[:, first]
        shared[opening, column] = shared[opening - 1, first + nodes - 1]
