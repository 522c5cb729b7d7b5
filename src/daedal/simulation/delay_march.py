"""One block of lanes of a system with delays, from the start to the end, by the method of steps.

What a step looks back at was computed before, because steps are never longer than the shortest delay: `Course` lists
for every step where it finds that, and one call of the compiled kernel does them all. Every point of the mesh is
recorded with its derivatives Λ in the free directions θ, and read off again by polynomials that never reach across
a break point.

References: Q. Lin, R. Loxton, C. Xu, K. L. Teo, Parameter estimation for nonlinear time-delay systems with noisy output
measurements, Automatica 60 (2015) 48–56; A. Bellen, M. Zennaro, Numerical Methods for Delay Differential Equations,
Oxford 2003.
"""

from dataclasses import dataclass

import numpy as np

from daedal.errors import SimulationError
from daedal.simulation.delay_history import delay_amounts, pasts
from daedal.simulation.delay_mesh import Mesh, mesh, through_points
from daedal.simulation.delay_program import DelayProgram
from daedal.simulation.delay_tables import Lags, Tables, tables
from daedal.simulation.lane_paths import LanePaths
from daedal.simulation.lineup import Lineup, Values
from daedal.simulation.marching import CASADI, ESCAPED
from daedal.simulation.program import ACCEPTED
from daedal.symbolic import symbols_in
from daedal.systems import System


def lags(system: System, values: Values) -> Lags:
    """Lengths of all delays at a set of values; negative ones are refused."""
    names = tuple(system.reduction.delays)
    found = delay_amounts(system).matrix(values.column[: values.rates.shape[0]])
    amounts, gradient = found[:, 0], found[:, 1:]
    for name, amount in zip(names, amounts, strict=True):
        if not amount > 0.0:
            raise SimulationError(
                f"The delay in '{name}' of model '{system.model.name}' is {amount:g}, but must be positive.",
                "Bound it from below; without any delay, write the undelayed value in the equations.",
            )
    kinds = pasts(system)
    return Lags(names, amounts, gradient @ values.rates, tuple(kinds[name] for name in names))


def kinks(system: System) -> tuple[bool, int]:
    """Whether kinks never become smooth, and how often they come back before the right side no longer jumps.

    They stay where a delayed value contains what is solved for at each instant; a delay of a delay brings one back once
    more.
    """
    known = system.reduction.compiled
    if "kinks" not in known:
        delays = system.reduction.delays
        tops = {system.reduction.jet_name(each) for each in system.reduction.tops}
        lasting = any(set(symbols_in(each.operand)) & tops for each in delays.values())
        known["kinks"] = lasting, max(_nesting(system, name) for name in delays)
    return known["kinks"]


def _nesting(system: System, name: str) -> int:
    """How many delays a delayed value passes: 2 for a delay of a delay."""
    delays = system.reduction.delays
    return 1 + max((_nesting(system, each) for each in symbols_in(delays[name].operand) if each in delays), default=0)


@dataclass(frozen=True, eq=False)
class Course:
    """What all lanes with one set of values have in common: break points and steps, and where these look back to."""

    lineup: Lineup
    program: DelayProgram
    values: Values
    lags: Lags
    mesh: Mesh
    tables: Tables


def course(lineup: Lineup, program: DelayProgram, values: Values, step: float, refinement: int = 1) -> Course:
    """With steps of this length at most, each divided into `refinement`."""
    now = lags(lineup.system, values)
    made = lane_mesh(lineup, now, step, program.degree, refinement)
    return Course(lineup, program, values, now, made, tables(program, made, now, lineup.forcing, values, lineup.grid))


class DelayMarch:
    """A block of lanes that has run; `record` is what was observed at each point of the mesh, (point, number, lane)."""

    def __init__(self, made: Course, lanes: range) -> None:
        self.course, self.count = made, len(lanes)
        kernel = made.program.kernel
        self.record = np.zeros((made.mesh.points, kernel.observed, kernel.padded(len(lanes))))
        self._advance(made.lineup.paths(made.values, lanes))

    def _advance(self, paths: LanePaths | None) -> None:
        """Fill the record."""
        lanes = self.record.shape[2]
        drawn = np.zeros((1, 0, self.count))
        if paths is not None:
            drawn = paths.rows(0, int(self.course.tables.cell.max()) + 2)
        state = self._start(None if paths is None else drawn[0])
        parameters = np.repeat(self.course.values.column[:, None], lanes, axis=1)
        drawn, state = (_padded(each, lanes) for each in (drawn, state))
        begin = self.course.tables.cell * drawn.shape[1]
        table = self.course.tables
        self.course.program.kernel.run(state, parameters, table.shared, drawn, begin, table.back, self.record)

    def _start(self, first_row: np.ndarray | None) -> np.ndarray:
        """(X, T), sensitivities and a zero, (value, lane): consistent at the start, delayed values from the history."""
        layout, first = self.course.program.layout, self.course.tables.shared[0]
        ways = layout.nodes * np.arange(1 + layout.directions)
        delayed = [(symbol, first[layout.given(value) + ways]) for value, (_, symbol) in enumerate(layout.delayed)]
        with CASADI:
            return self.course.lineup.states(self.course.values, first_row, self.count, delayed)

    def samples(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Wanted variables and their sensitivities (sample, output, lane), and where they are good (sample, lane)."""
        mesh, program = self.course.mesh, self.course.program
        segment = mesh.segment(times)
        first, weights, _ = through_points(mesh, times, segment)
        ways, wanted = np.arange(1 + program.layout.directions), np.arange(len(program.shape.wanted))
        rows = (ways[:, None] * program.recorded + wanted).ravel()
        points = self.record[first[:, None] + np.arange(mesh.degree + 1), :, : self.count]  # sample, point, row, lane
        out = np.einsum("sk,skrl->srl", weights, points[:, :, rows])
        residual = np.max(points[:, :, -1], axis=1)
        good = (residual <= ACCEPTED) & np.all(np.abs(out) < ESCAPED, axis=1)
        return out, good


def lane_mesh(lineup: Lineup, now: Lags, step: float, degree: int, refinement: int = 1) -> Mesh:
    """Break points of the inputs, of the disturbances and of the delays."""
    start, end = lineup.forcing.start, lineup.forcing.end
    fixed: list[np.ndarray] = [track[0].times for track in lineup.forcing.tracks if track is not None]
    if lineup.disturbances:
        fixed.append(start + lineup.grid * np.arange(int((end - start) / lineup.grid) + 2))
    signals, none = lineup.forcing.signals, np.zeros(0)
    sources = tuple(none if each.input is None else signals[each.input[0]].times for each in now.pasts)
    known = np.unique(np.concatenate(fixed)) if fixed else none
    # A polynomial must find all its points within the shortest delay.
    longest = min(step, now.reach / (degree + 1))
    lasting, deepest = kinks(lineup.system)
    return mesh(start, end, known, now.amounts, now.rates, sources, lasting, longest, degree, refinement, rough=deepest)


def _padded(array: np.ndarray, lanes: int) -> np.ndarray:
    """The last axis filled up by repeating its last entry."""
    missing = lanes - array.shape[-1]
    return np.ascontiguousarray(np.concatenate([array, np.repeat(array[..., -1:], missing, axis=-1)], axis=-1))
