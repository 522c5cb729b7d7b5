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

from daedal.errors import give_up_if_stopped
from daedal.simulation.delays.lags import Group, Lags, classify_kinks
from daedal.simulation.delays.mesh import Mesh, Returns, make_mesh, weigh_points
from daedal.simulation.delays.program import DelayProgram
from daedal.simulation.delays.tables import Tables, tabulate
from daedal.simulation.forcing import Forcing
from daedal.simulation.lanes import ESCAPED, Paths, Scenario, Values
from daedal.simulation.steps import ACCEPTED

INSTANT = 1e-6  # of the shortest delay: how long it is simulated where only the start is asked for


@dataclass(frozen=True, eq=False)
class Course:
    """What all lanes with one set of values have in common: break points and steps, and where these look back to."""

    scenario: Scenario
    program: DelayProgram
    values: Values
    mesh: Mesh
    tables: Tables


def make_course(
    scenario: Scenario, program: DelayProgram, values: Values, lags: Lags, step: float, refinement: int = 1
) -> Course:
    """With steps of this length at most, each divided into `refinement`."""
    steps = make_lane_mesh(scenario, lags, step, program.degree, refinement)
    return Course(
        scenario, program, values, steps, tabulate(program, steps, lags, scenario.forcing, values, scenario.grid)
    )


class DelayMarch:
    """A block of lanes that has run; `record` is what was observed at each point of the mesh, (point, number, lane)."""

    def __init__(self, course: Course, lanes: range) -> None:
        self.course, self.count = course, len(lanes)
        kernel, rows = course.program.kernel, course.mesh.points + course.mesh.degree + 1  # the last ones stay zero
        self.record = np.zeros((rows, kernel.observed, kernel.pad(len(lanes))))
        self._advance(course.scenario.make_paths(course.values, lanes))

    def _advance(self, paths: Paths | None) -> None:
        """Fill the record."""
        lanes = self.record.shape[2]
        drawn = np.zeros((1, 0, self.count))
        if paths is not None:
            drawn = paths.draw_rows(0, int(self.course.tables.cell.max()) + 2)
        state = self._make_start(None if paths is None else drawn[0])
        parameters = np.repeat(self.course.scenario.make_parameters(self.course.values)[:, None], lanes, axis=1)
        drawn, state = (_pad(array, lanes) for array in (drawn, state))
        begin = self.course.tables.cell * drawn.shape[1]
        table = self.course.tables
        kernel = self.course.program.kernel
        kernel.run(state, parameters, table.shared, drawn, begin, table.back, self.record, pause=give_up_if_stopped)

    def _make_start(self, first_row: np.ndarray | None) -> np.ndarray:
        """(X, T), sensitivities and a zero, (value, lane): consistent at the start, delayed values from the history."""
        layout, first = self.course.program.layout, self.course.tables.shared[0]
        ways = layout.nodes * np.arange(1 + layout.directions)
        delayed = [(symbol, first[layout.find_given(value) + ways]) for value, (_, symbol) in enumerate(layout.delayed)]
        return self.course.scenario.initialize(self.course.values, first_row, self.count, delayed)

    def sample(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Wanted variables and their sensitivities (sample, output, lane), and where they are good (sample, lane)."""
        mesh, program = self.course.mesh, self.course.program
        segment = mesh.find_segment(times)
        first, weights = weigh_points(mesh, times, segment)
        ways, wanted = np.arange(1 + program.layout.directions), np.arange(len(program.shape.wanted))
        rows = (ways[:, None] * program.recorded + wanted).ravel()
        points = self.record[first[:, None] + np.arange(mesh.degree + 1), :, : self.count]  # sample, point, row, lane
        terms = weights[:, :, None, None] * points[:, :, rows]
        out = terms[:, 0].copy()
        for k in range(1, mesh.degree + 1):  # in this order, so that a lane is the same whatever its neighbours
            out += terms[:, k]
        residual = np.max(points[:, :, -1], axis=1)
        good = (residual <= ACCEPTED) & np.all(np.abs(out) < ESCAPED, axis=1)
        return out, good


def make_lane_mesh(scenario: Scenario, now: Lags, step: float, degree: int, refinement: int = 1) -> Mesh:
    """Break points of the inputs, of the disturbances and of the delays."""
    forcing = scenario.forcing
    start, end = forcing.start, forcing.end
    if end == start:  # a look at the start alone
        end = start + max(INSTANT * float(now.amounts.min()), 4.0 * np.spacing(abs(start)))
    fixed = [
        np.array(forcing.features),
        np.array(forcing.bends),
        *(track[0].times for track in forcing.tracks if track is not None),
    ]
    if scenario.disturbances:
        fixed.append(start + scenario.grid * np.arange(int((end - start) / scenario.grid) + 2))
    sources = tuple(_find_sources(group, now, forcing) for group in now.groups)
    returns = Returns(now.amounts, now.rates, sources, *classify_kinks(scenario.system))
    # A polynomial must find all its points within the shortest delay.
    longest = min(step, now.reach / (degree + 1))
    return make_mesh(start, end, np.concatenate([np.zeros(0), *fixed]), returns, longest, degree, refinement)


def _find_sources(group: Group, now: Lags, forcing: Forcing) -> np.ndarray | None:
    """Times at which delayed inputs are not smooth; None for what is computed, where kinks come back."""
    if not group.of_input:
        return None
    inputs = [now.pasts[name].input for name in group.names]
    return np.unique(np.concatenate([forcing.signals[source[0]].times for source in inputs if source is not None]))


def _pad(array: np.ndarray, lanes: int) -> np.ndarray:
    """The last axis filled up by repeating its last entry."""
    missing = lanes - array.shape[-1]
    return np.ascontiguousarray(np.concatenate([array, np.repeat(array[..., -1:], missing, axis=-1)], axis=-1))
