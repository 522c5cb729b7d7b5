"""Simulation of systems with delays in many lanes: choice of the steps, and a run with the interface of the others.

The method of steps is in `daedal.simulation.delays.march`, its compiled step in `daedal.simulation.delays.program`.
"""

from dataclasses import dataclass, replace
from functools import partial
from threading import Event

import casadi as ca
import numpy as np

from daedal.errors import SimulationError
from daedal.simulation.delays.lags import Lags
from daedal.simulation.delays.march import Course, DelayMarch, course, lane_mesh
from daedal.simulation.delays.program import DelayProgram, delay_program
from daedal.simulation.lanes import ESCAPED, Consume, Failure, Lineup, Values, grid_row, in_blocks
from daedal.simulation.steps import Method, Point, Shape

# Over the whole time, to begin the search with; odd, so that a delay of a simple ratio does not stand just where its
# number of steps changes.
FIRST_STEPS = 41.3
HALVINGS = 12
JUMP = 1e-7  # relative, that is taken for rounding
MEMORY = 2e8  # bytes of one record
SMALL = 48  # states and their sensitivities: code of seven stages is compiled within half a second


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


@dataclass(frozen=True, eq=False)
class DelayRun:
    """A prepared run of many lanes, with the interface of `daedal.simulation.lanes.solver.LaneRun`."""

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
        title = f"simulating '{self.lineup.system.model.name}': block"
        failures: list[Failure] = []
        for number, values in enumerate(self.values):
            made = course(self.lineup, self.plan.program, values, self.plan.step)
            work = partial(self._block, number, made, consume)
            failures += in_blocks(realizations, work, title)
        return failures

    def _block(self, number: int, made: Course, consume: Consume, lanes: range, stop: Event) -> list[Failure]:
        if stop.is_set():
            raise InterruptedError
        failures: list[Failure] = []
        out, good = _samples(made, lanes, self.times)
        for lane in np.flatnonzero(~good.all(axis=0)).tolist():
            row = int(np.argmin(good[:, lane]))
            finite = np.all(np.abs(out[row, :, lane]) < ESCAPED)
            reason = "its equations could not be solved" if finite else "a value was not finite"
            failures.append(Failure(lanes[lane], float(self.times[row]), reason, number))
        consume(number, lanes, np.arange(self.times.size), out)
        return failures


def _samples(made: Course, lanes: range, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What `DelayMarch.samples` gives, with as many lanes at a time as their records fit into memory."""
    width, each = made.program.kernel.width, 8 * made.mesh.points * made.program.kernel.observed
    size = max(int(MEMORY / each) // width, 1) * width
    parts = [DelayMarch(made, lanes[first : first + size]).samples(times) for first in range(0, len(lanes), size)]
    out, good = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
    return out, good


def _step_error(lineup: Lineup, times: np.ndarray, program: DelayProgram, values: Values, step: float) -> float:
    """The largest change that halving the steps makes, relative to each variable's size, on one lane."""
    rough, fine = (
        DelayMarch(course(lineup, program, values, step, parts), range(1)).samples(times) for parts in (1, 2)
    )
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
    first, now = values[0], values[0].lags
    assert now is not None
    curves = grid_row(system).curves if lineup.disturbances else ()
    shape = Shape(method or _usual(lineup), 0, lineup.directions, wanted, lineup.grid, curves)
    begin = first.start
    point = Point(
        forcing.start, begin.states, begin.tops, system.parameter_vector(first.given), forcing.at(forcing.start)
    )
    span = forcing.end - forcing.start
    longest = step or (span or 1.0) / FIRST_STEPS
    program = delay_program(system, shape, point, longest, now.groups)
    _refuse_jumps(lineup, program, first, longest)
    error = _step_error(lineup, times, program, first, longest)
    if step is None:
        present = float(lane_mesh(lineup, now, longest, program.degree).lengths.max())
        while 0.5 * longest > present:  # between close break points steps are shorter than asked for
            longest *= 0.5
        begun = longest
        longest, error = _shortened(lineup, times, program, first, longest, error, tolerance)
        if not error <= 100.0 * tolerance and method is None:
            stiff = delay_program(system, replace(shape, method="radau5"), point, longest, now.groups)
            other = _shortened(lineup, times, stiff, first, begun, np.inf, tolerance)
            if other[1] < error:
                program, (longest, error) = stiff, other
    made = lane_mesh(lineup, now, longest, program.degree)
    lengths = np.repeat(made.lengths, made.counts)
    plan = DelayPlan(program, longest, DelaySteps(lengths), error)
    return DelayRun(lineup, times, plan, values, (*warnings, *_inputs_before(lineup, now)))


def _inputs_before(lineup: Lineup, now: Lags) -> list[str]:
    """What is taken for inputs before they are known."""
    notes = []
    for group, amount in zip(now.groups, now.amounts, strict=True):
        for name in group.names if group.of_input else ():
            past, forcing = now.pasts[name], lineup.forcing
            assert past.input is not None
            base, signal = past.input[0], forcing.signals[past.input[0]]
            if past.law is None and forcing.start - amount < signal.start and np.ptp(signal.values) > 0.0:
                notes.append(
                    f"before its first sample '{base}' is taken to be {signal.values[0]:.4g}, as it is there; "
                    f"otherwise declare history={{{base}: ...}}, or begin its samples earlier"
                )
    return list(dict.fromkeys(notes))


def _refuse_jumps(lineup: Lineup, program: DelayProgram, values: Values, step: float) -> None:
    """A constraint with a delayed value that jumps would make variables jump that no equation lets jump."""
    r, now = lineup.system.reduction, values.lags
    assert now is not None
    tied = [
        name
        for name, place in program.layout.delayed
        if name in program.rows and ca.depends_on(r.G, r.arguments[-1][place])
    ]
    if not tied:
        return
    march = DelayMarch(course(lineup, program, values, step), range(1))
    parameters = values.column[: values.rates.shape[0]]
    for name in tied:
        before = float(now.pasts[name].at(np.array([lineup.forcing.start]), parameters)[0][0])
        after = float(march.record[0, program.rows[name], 0])
        if not abs(after - before) <= JUMP * max(abs(before), abs(after), 1.0):
            raise SimulationError(
                f"What '{name}' of model '{lineup.system.model.name}' delays ends at {before:.4g} in its history and "
                f"starts at {after:.4g}; that jump would come back in a constraint, which has no solution then.",
                "Let it start where its history ends: leave it out of `initial`, or change the history.",
            )


def _usual(lineup: Lineup) -> Method:
    """Of high order where everything is smooth, as long as the code of its many stages stays short."""
    size = len(lineup.system.states) * (1 + lineup.directions.count)
    return "rk4" if lineup.disturbances or size > SMALL else "rk6"


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
