"""Simulation of systems with delays by the method of steps: many lanes, sensitivities, disturbances.

What a step looks back at was computed before, because steps are never longer than the shortest delay. Blocks of steps
that only look back beyond their own beginning run in the compiled kernel at once; at every point the delayed quantities
q are recorded with their derivatives Λ in the free directions θ, and read off again by quintics that never reach across
a break point. For a value delayed by τ(θ)

    d/dθ q(t − τ; θ) = Λ(t − τ) − q'(t − τ) ∂τ/∂θ              (seed 002, theorems 1 and 2)

and where the right side jumps at a break point b(θ), from f⁻ to f⁺, the sensitivity of the state jumps by
(f⁻ − f⁺) ∂b/∂θ: that is how a delay acts through a history that does not meet the initial value, or a held input.

Reference: Q. Lin, R. Loxton, C. Xu, K. L. Teo, Parameter estimation for nonlinear time-delay systems with noisy output
measurements, Automatica 60 (2015) 48–56; A. Bellen, M. Zennaro, Numerical Methods for Delay Differential Equations,
Oxford 2003.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from daedal.errors import SimulationError
from daedal.simulation.collocation import Method
from daedal.simulation.delay_history import delay_amounts, pasts
from daedal.simulation.delay_mesh import DEGREE, Mesh, mesh, through_points
from daedal.simulation.delay_program import DelayProgram, delay_program
from daedal.simulation.delay_tables import Lags, tables
from daedal.simulation.discretization import Point
from daedal.simulation.lane_failure import Failure
from daedal.simulation.lane_paths import LanePaths, grid_row
from daedal.simulation.lineup import Lineup, Values
from daedal.simulation.marching import CASADI, ESCAPED
from daedal.simulation.program import ACCEPTED, Shape
from daedal.symbolic import symbols_in
from daedal.systems import System, initial_sensitivities, initial_values

# Over the whole time, to begin the search with; odd, so that a delay of a simple ratio does not stand just where its
# number of steps changes.
FIRST_STEPS = 41.3
HALVINGS = 12


@dataclass(frozen=True, eq=False)
class DelaySteps:
    """Lengths of the steps, as tables want them."""

    lengths: np.ndarray


@dataclass(frozen=True, eq=False)
class DelayPlan:
    """A program, the length that steps have at most, and the estimated error."""

    program: DelayProgram
    step: float
    steps: DelaySteps
    error: float


Consume = Callable[[int, range, np.ndarray, np.ndarray], None]
BLOCK = 64  # lanes that advance together


@dataclass(frozen=True, eq=False)
class DelayRun:
    """A prepared run of many lanes, with the interface of `daedal.simulation.lanes.LaneRun`."""

    lineup: Lineup
    times: np.ndarray
    plan: DelayPlan
    values: tuple[Values, ...]
    warnings: tuple[str, ...]

    @property
    def text(self) -> str:
        """Method and steps, for tables."""
        lengths = self.plan.steps.lengths
        span = f"{lengths.min():.2g} … {lengths.max():.2g}" if lengths.size else ""
        return f"Lanes({self.plan.program.shape.method}, {lengths.size} steps of {span} s, with delays)"

    def step_error(self, values: Values) -> float:
        """What halving the steps changes at these values, relative to the largest values."""
        return _step_error(self.lineup, self.times, self.plan.program, values, self.plan.step)

    def run(self, realizations: int, consume: Consume) -> list[Failure]:
        """As `LaneRun.run`: `consume(value, lanes, samples, out)` gets (sample, output, lane)."""
        failures: list[Failure] = []
        samples = np.arange(self.times.size)
        for first in range(0, realizations, BLOCK):
            lanes = range(first, min(first + BLOCK, realizations))
            for number, values in enumerate(self.values):
                march = DelayMarch(self.lineup, self.plan.program, values, self.plan.step, lanes)
                out, good = march.samples(self.times)
                for lane in np.flatnonzero(~good.all(axis=0)).tolist():
                    row = int(np.argmin(good[:, lane]))
                    finite = np.all(np.abs(out[row, :, lane]) < ESCAPED)
                    reason = "its equations could not be solved" if finite else "a value was not finite"
                    failures.append(Failure(lanes[lane], float(self.times[row]), reason, number))
                consume(number, lanes, samples, out)
        return failures


def lags(system: System, values: Values) -> Lags:
    """Lengths of all delays at a set of values; negative ones are refused."""
    names = tuple(system.reduction.delays)
    amounts, gradient = (each.full() for each in delay_amounts(system)(system.parameter_vector(values.given)))
    for name, amount in zip(names, amounts.ravel(), strict=True):
        if not amount > 0.0:
            raise SimulationError(
                f"The delay in '{name}' of model '{system.model.name}' is {amount:g}, but must be positive.",
                "Bound it from below; without any delay, write the undelayed value in the equations.",
            )
    found = pasts(system)
    return Lags(names, amounts.ravel(), gradient @ values.rates, tuple(found[name] for name in names))


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


class DelayMarch:
    """One block of lanes from the start to the end.

    Attributes
    ----------
    mesh
        Break points and steps.
    record
        What was observed at each point of the mesh, (point, number, lane); lanes are padded to whole vectors.
    """

    def __init__(
        self, lineup: Lineup, program: DelayProgram, values: Values, step: float, lanes: range, refinement: int = 1
    ) -> None:
        self.lineup, self.program, self.values, self.count = lineup, program, values, len(lanes)
        self.lags = lags(lineup.system, values)
        self.mesh = _mesh(lineup, self.lags, step, refinement)
        self.tables = tables(program, self.mesh, self.lags, lineup.forcing, values, lineup.grid)
        self.record = np.zeros((self.mesh.points, program.kernel.observed, program.kernel.padded(len(lanes))))
        self._advance(lineup.paths(values, lanes))

    def _advance(self, paths: LanePaths | None) -> None:
        """Fill the record."""
        lanes = self.record.shape[2]
        drawn = np.zeros((1, 0, self.count))
        if paths is not None:
            drawn = paths.rows(0, int(self.tables.cell.max()) + 2)
        state = self._start(None if paths is None else drawn[0])
        parameters = np.repeat(self.values.column[:, None], lanes, axis=1)
        drawn, state = (_padded(each, lanes) for each in (drawn, state))
        begin = self.tables.cell * drawn.shape[1]
        self.program.kernel.run(state, parameters, self.tables.shared, drawn, begin, self.tables.back, self.record)

    def _start(self, first_row: np.ndarray | None) -> np.ndarray:
        """(X, T), sensitivities and a zero, (value, lane): consistent at the start, delayed values from the history."""
        lineup, layout = self.lineup, self.program.layout
        lanes = 1 if first_row is None else self.count
        exogenous = lineup.exogenous(first_row, lanes)
        for value, (_, symbol) in enumerate(layout.delayed):
            for way in range(1 + layout.directions):
                exogenous[way, symbol] = self.tables.shared[0, layout.given(value) + way * layout.nodes]
        columns = []
        with CASADI:
            for lane in range(lanes):
                at = exogenous[:, :, lane]
                begin = self.values.start
                if first_row is not None:
                    begin = initial_values(lineup.system, lineup.forcing.start, self.values.given, at[0])
                z = np.r_[begin.states, begin.tops]
                if layout.directions:
                    given = (self.values.given, at[0], self.values.rates, at[1:].T)
                    moved = initial_sensitivities(lineup.system, begin, lineup.forcing.start, *given)
                    z = np.r_[z, moved.T.ravel()]
                columns.append(np.r_[z, 0.0])
        return np.stack(columns, axis=1)

    def samples(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Wanted variables and their sensitivities (sample, output, lane), and where they are good (sample, lane)."""
        segment = self.mesh.segment(times)
        first, weights, _ = through_points(self.mesh, times, segment, self.mesh.counts[segment])
        wanted, every = len(self.program.shape.wanted), self.program.recorded
        rows = np.concatenate([way * every + np.arange(wanted) for way in range(1 + self.program.layout.directions)])
        points = self.record[first[:, None] + np.arange(DEGREE + 1), :, : self.count]  # sample, point, row, lane
        out = np.einsum("sk,skrl->srl", weights, points[:, :, rows])
        residual = np.max(points[:, :, -1], axis=1)
        good = (residual <= ACCEPTED) & np.all(np.abs(out) < ESCAPED, axis=1)
        return out, good


def _mesh(lineup: Lineup, now: Lags, step: float, refinement: int) -> Mesh:
    """Break points of the inputs, of the disturbances and of the delays."""
    start, end = lineup.forcing.start, lineup.forcing.end
    fixed: list[np.ndarray] = [track[0].times for track in lineup.forcing.tracks if track is not None]
    if lineup.disturbances:
        fixed.append(start + lineup.grid * np.arange(int((end - start) / lineup.grid) + 2))
    signals, none = lineup.forcing.signals, np.zeros(0)
    sources = tuple(none if each.input is None else signals[each.input[0]].times for each in now.pasts)
    known = np.unique(np.concatenate(fixed)) if fixed else none
    # A polynomial must find all its points within the shortest delay.
    longest = min(step, now.reach / (DEGREE + 1))
    lasting, deepest = kinks(lineup.system)
    return mesh(start, end, known, now.amounts, now.rates, sources, lasting, longest, refinement, rough=deepest)


def _padded(array: np.ndarray, lanes: int) -> np.ndarray:
    """The last axis filled up by repeating its last entry."""
    missing = lanes - array.shape[-1]
    return np.ascontiguousarray(np.concatenate([array, np.repeat(array[..., -1:], missing, axis=-1)], axis=-1))


def _step_error(lineup: Lineup, times: np.ndarray, program: DelayProgram, values: Values, step: float) -> float:
    """The largest change that halving the steps makes, relative to each variable's size, on one lane."""
    rough, fine = (DelayMarch(lineup, program, values, step, range(1), each).samples(times) for each in (1, 2))
    if not (rough[1].all() and fine[1].all()):
        return np.inf
    wanted = len(program.shape.wanted)
    size = np.max(np.abs(fine[0][:, :wanted]), axis=(0, 2))
    floor = 1e-9 * max(float(size.max(initial=0.0)), 1e-300)
    change = np.max(np.abs(rough[0] - fine[0])[:, :wanted], axis=(0, 2))
    return float(np.max(change / np.maximum(size, floor), initial=0.0))


def prepare_delayed(
    lineup: Lineup,
    times: np.ndarray,
    wanted: tuple[str, ...],
    values: tuple[Values, ...],
    method: Method | None,
    step: float | None,
    tolerance: float,
    warnings: tuple[str, ...],
) -> DelayRun:
    """Choose the steps at the first set of values, and compile."""
    system, forcing = lineup.system, lineup.forcing
    first = values[0]
    now = lags(system, first)
    operands = tuple(name for name, past in zip(now.names, now.pasts, strict=True) if past.input is None)
    curves = grid_row(system).curves if lineup.disturbances else ()
    shape = Shape(method or "rk4", 0, lineup.directions, wanted, lineup.grid, curves)
    begin = first.start
    point = Point(
        forcing.start, begin.states, begin.tops, system.parameter_vector(first.given), forcing.at(forcing.start)
    )
    span = forcing.end - forcing.start
    longest = step or span / FIRST_STEPS
    program = delay_program(system, shape, point, longest, operands)
    error = _step_error(lineup, times, program, first, longest)
    if step is None:
        present = float(_mesh(lineup, now, longest, 1).lengths.max())
        while 0.5 * longest > present:  # between close break points steps are shorter than asked for
            longest *= 0.5
        begun = longest
        longest, error = _shortened(lineup, times, program, first, longest, error, tolerance)
        if not error <= 100.0 * tolerance and method is None:
            stiff = delay_program(system, replace(shape, method="radau5"), point, longest, operands)
            other = _shortened(lineup, times, stiff, first, begun, np.inf, tolerance)
            if other[1] < error:
                program, (longest, error) = stiff, other
    lengths = _mesh(lineup, now, longest, 1).steps()[3]
    return DelayRun(lineup, times, DelayPlan(program, longest, DelaySteps(lengths), error), values, warnings)


def _shortened(
    lineup: Lineup,
    times: np.ndarray,
    program: DelayProgram,
    values: Values,
    step: float,
    error: float,
    tolerance: float,
) -> tuple[float, float]:
    """Halve the steps until their error meets the tolerance, or no longer falls."""
    for _ in range(HALVINGS):
        if error <= tolerance:
            break
        finer = 0.5 * step
        try:
            found = _step_error(lineup, times, program, values, finer)
        except SimulationError:
            break
        if np.isfinite(error) and not found < 0.9 * error:
            break
        step, error = finer, found
    return step, error
