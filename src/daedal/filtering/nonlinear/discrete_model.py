"""An experiment on a nonlinear model, lined up for likelihoods: the discrete system of `program` with its data.

    experiment = make_nonlinear_experiments(...)[0]     what does not depend on θ: program, grid, measurements
    discrete = experiment.at(Point(model, values, free))   the tables and the start at θ, with slopes in `free`

How to run M lanes with given normals (a particle filter, say), with ∂s/∂θ in the free directions:

    state = discrete.begin_lanes(ζ)                     ζ (discrete.start.normals, M); all lanes begin alike where ζ = 0
    kernel = experiment.program.scan(discrete.directions)
    kernel.run(state, discrete.repeat_parameters(M), discrete.table[a:b], z, emit, out)     z (b − a, normals, M)

advances all lanes over the steps a … b − 1, state (numbers, M) in place; after step k a lane is at grid point k + 1.
`out` (rows, numbers, M) holds outputs, the residual of the equations (above `ACCEPTED` or not finite: that lane has
failed), then ∂y/∂θ direction by direction, after each step for which `emit` names a row. s itself is in the first
`program.sizes.state` rows of `state`, ∂s/∂θ direction by direction in the last ones. A sample at the start is seen by
`discrete.see_start(state)`. Measurements, in the order of time: `experiment.measurements`, with the grid point of each,
their residuals of predicted outputs, and `discrete.variances` with slopes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from daedal.experiments import Experiment
from daedal.filtering.nonlinear.measurements import EventLine, Measurements, make_event_line, make_measurements
from daedal.filtering.nonlinear.noise_cells import CellNoise, NoiseMatrices
from daedal.filtering.nonlinear.program import InnovationProgram, compile_innovations
from daedal.filtering.nonlinear.start import Spread, StartLaw, StartPlan
from daedal.filtering.nonlinear.time_grid import TimeGrid, make_grid
from daedal.filtering.parameter_point import Point
from daedal.linear import Dual
from daedal.simulation import NODES, Directions, Method, find_disturbance_places
from daedal.simulation import Point as Pivots
from daedal.symbolic import jet
from daedal.systems import InitialValues, Sizes, System, find_initial_values, measure_sizes


@final
@dataclass(frozen=True, eq=False)
class NonlinearExperiment:
    """The discrete system of a model over one experiment; see the module."""

    system: System
    program: InnovationProgram
    noise: CellNoise
    grid: TimeGrid
    measurements: Measurements
    start: StartPlan
    sizes: Sizes  # of X and T
    name: str

    @cached_property
    def line(self) -> EventLine:
        """The measurements as events of a Kalman filter."""
        return make_event_line(self.measurements, self.grid.steps)

    @property
    def text(self) -> str:
        """Method and steps, for tables."""
        shortest, longest = float(self.grid.lengths.min()), float(self.grid.lengths.max())
        lengths = f"{longest:.3g}" if longest - shortest <= 1e-6 * longest else f"{shortest:.2g} … {longest:.2g}"
        return f"{self.program.method}, {self.grid.steps} steps of {lengths}"

    def at(self, point: Point) -> "DiscreteModel":
        """With numbers for the parameters, and slopes in the directions of `point`."""
        noise = self.noise.at(point, self.grid.lengths, self.program.nodes)
        return DiscreteModel(self, point, noise)


@final
@dataclass(frozen=True, eq=False)
class DiscreteModel:
    """The same at given values of the parameters."""

    experiment: NonlinearExperiment
    point: Point
    noise: NoiseMatrices

    @cached_property
    def numbers(self) -> np.ndarray:
        """p, as the functions of the system read it."""
        return self.experiment.system.parameter_vector(self.point.numbers)

    @cached_property
    def parameters(self) -> np.ndarray:
        """p and sizes, as the kernels read them."""
        return np.concatenate([self.numbers, self.experiment.sizes.vector])

    @cached_property
    def read_rates(self) -> np.ndarray:
        """How that moves, (number, direction)."""
        return np.vstack([self.rates, np.zeros((self.parameters.size - len(self.rates), self.rates.shape[1]))])

    @cached_property
    def rates(self) -> np.ndarray:
        """dp/dθ (parameter of the reduction, direction)."""
        order = list(self.point.numbers)
        return self.point.rates[[order.index(name) for name in self.experiment.system.reduction.parameters]]

    @cached_property
    def directions(self) -> Directions:
        """The structure of that."""
        return Directions.of(self.experiment.system, self.point.names)

    @cached_property
    def undirected(self) -> Directions:
        """No directions at all."""
        return Directions.of(self.experiment.system, ())

    @cached_property
    def plain_table(self) -> np.ndarray:
        """What each step reads, (step, numbers)."""
        grid = self.experiment.grid
        return np.ascontiguousarray(self.experiment.program.tabulate(grid.inputs, self.noise, grid.length_of))

    @cached_property
    def table_slopes(self) -> np.ndarray:
        """Derivatives of the noise in the table, (direction, step, numbers)."""
        return self.experiment.program.tabulate_slopes(self.noise, self.experiment.grid.length_of)

    @cached_property
    def table(self) -> np.ndarray:
        """What a scan with directions reads."""
        if not self.directions.moves_noise:
            return self.plain_table
        return np.ascontiguousarray(np.hstack([self.plain_table, *self.table_slopes]))

    @cached_property
    def first_row(self) -> np.ndarray:
        """The start as the end of a step of no length, for what is seen there."""
        row = np.zeros(self.experiment.program.sizes.table)
        row[: self.experiment.grid.first.size] = self.experiment.grid.first
        rows = self.noise.rows.value
        row[row.size - rows.size :] = rows.ravel()
        return row

    @cached_property
    def start(self) -> StartLaw:
        """Where the state begins."""
        return self.experiment.start.at(self.point, self.noise.rows, self.noise.start)

    @cached_property
    def variances(self) -> Dual:
        """Of the measurements."""
        return self.experiment.measurements.compute_variances(self.point)

    def cut(self, steps: int) -> "DiscreteModel":
        """Of the same data so many steps, the first ones, to look for paths."""
        whole = self.experiment
        early = replace(whole, grid=whole.grid.cut(steps), measurements=whole.measurements.cut(steps))
        return DiscreteModel(early, self.point, self.noise)

    def repeat_parameters(self, lanes: int) -> np.ndarray:
        """p and dp/dθ for a scan of so many lanes."""
        column = np.concatenate([self.parameters, self.directions.read(self.rates)])
        return np.repeat(column[:, None], lanes, axis=1)

    def begin_lanes(self, normals: np.ndarray) -> np.ndarray:
        """The state of lanes at the start, for normals ζ (number, lane)."""
        if not self.start.moves:
            return self._begin_alike(normals)
        columns = []
        for lane in normals.T:
            own = self.start.begin(lane)
            rates = own.by_parameters if self.directions.count else np.zeros((own.state.size, 0))
            columns.append(np.concatenate([own.state, own.tops, [0.0], rates.T.ravel()]))
        return np.ascontiguousarray(np.stack(columns, axis=1))

    def _begin_alike(self, normals: np.ndarray) -> np.ndarray:
        """Lanes whose filters alone differ."""
        own, S = self.start.begin(np.zeros(self.start.normals)), self.noise.start
        rates = own.by_parameters if self.directions.count else np.zeros((own.state.size, 0))
        column = np.concatenate([own.state, own.tops, [0.0], rates.T.ravel()])
        state = np.repeat(column[:, None], normals.shape[1], axis=1)
        size, filters = own.state.size, S.value.shape[0]
        state[size - filters : size] = S.value @ normals
        moved = state[size + own.tops.size + 1 :].reshape(self.directions.count, size, normals.shape[1])
        moved[:, size - filters :] = S.slopes[: self.directions.count] @ normals
        return state

    def see_start(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outputs (output, lane) and ∂y/∂s (output, n, lane) of lanes at the start."""
        sizes, lanes = self.experiment.program.sizes, state.shape[1]
        arrays = (
            state[: sizes.state],
            state[sizes.state : sizes.state + sizes.tops],
            np.repeat(self.parameters[:, None], lanes, axis=1),
            np.repeat(self.first_row[:, None], lanes, axis=1),
        )
        y, slopes, _ = self.experiment.program.sights(*(np.ascontiguousarray(array) for array in arrays))
        return y, slopes.reshape(len(y), sizes.state, lanes)


def make_nonlinear_experiment(
    experiment: Experiment,
    values: Mapping[str, float],
    method: Method,
    longest: float,
    spread: Spread | None = None,
    wanted: Sequence[str] = (),
    queries: np.ndarray | None = None,
) -> NonlinearExperiment:
    """Line up a model with one experiment, with steps of at most `longest`.

    `spread` says how far (X, T) may be from their values at the start; `wanted` names variables that are seen beside
    the outputs, `queries` times at which they are.
    """
    system, drive = experiment.system, experiment.drive
    point = Point(system.model, values, ())
    places = find_disturbance_places(system)
    noise = CellNoise(system.model, tuple(jet(system.reduction.exogenous[place]) for place in places))
    parameters = system.parameter_vector(point.numbers)
    known = [place for place in range(len(system.reduction.exogenous)) if place not in places]
    grid = make_grid(system, drive, NODES[method], known, longest, parameters, queries)
    at_start = grid.forcing.at(drive.start)
    start = find_initial_values(system, drive.start, point.numbers, at_start)
    sizes = (noise.count_states(point), noise.count_normals(point))
    sizes_of = _measure(system, noise, point, grid, start)
    pivots = Pivots(drive.start, start.states, start.tops, parameters, start.exogenous, sizes_of)
    program = compile_innovations(system, method, (*experiment.outputs, *wanted), sizes, pivots, longest)
    plan = StartPlan(system, drive.start, at_start, places, spread or Spread())
    return NonlinearExperiment(
        system, program, noise, grid, make_measurements(experiment, grid), plan, sizes_of, experiment.data.name
    )


def _measure(system: System, noise: CellNoise, point: Point, grid: TimeGrid, start: InitialValues) -> Sizes:
    """How large X and T become, with disturbances of three standard deviations."""
    largest = grid.forcing.find_largest(start.exogenous)
    places = list(find_disturbance_places(system))
    if places and grid.steps:
        largest[places] = 3.0 * noise.find_deviations(point, float(grid.lengths[0]))
    arguments = [grid.forcing.start, start.states, start.tops, system.parameter_vector(point.numbers), start.exogenous]
    return measure_sizes(system, arguments, grid.forcing.end - grid.forcing.start, largest)
