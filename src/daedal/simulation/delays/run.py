"""Runs of systems with delays: choice of the steps, and all lanes of a block by the method of steps.

The method of steps is in `daedal.simulation.delays.march`, its compiled step in `daedal.simulation.delays.program`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

import casadi as ca
import numpy as np

from daedal.errors import SimulationError, give_up_if_stopped
from daedal.simulation.delays.history import Past
from daedal.simulation.delays.lags import Lags, find_lags_at
from daedal.simulation.delays.march import Course, DelayMarch, make_course, make_lane_mesh
from daedal.simulation.delays.program import DelayProgram, compile_delay_program
from daedal.simulation.lanes import (
    Consume,
    Failure,
    Plan,
    RunInterrupted,
    Scenario,
    StepWish,
    Trial,
    Values,
    choose,
    compare,
    describe_steps,
    find_failures,
    run_blocks,
)
from daedal.simulation.steps import Method, Shape, make_grid_row

# Over the whole time, to begin the search with; odd, so that a delay of a simple ratio does not stand just where its
# number of steps changes.
FIRST_STEPS = 41.3
HALVINGS = 12
FALLS = 0.9  # factor by which the error must fall for another halving
STIFF = 100.0  # tolerances by which an explicit method misses where an implicit one is tried
JUMP = 1e-7  # relative, that is taken for rounding
MEMORY = 2e8  # bytes of one record
SMALL = 48  # states and their sensitivities: code of seven stages is compiled within half a second


@final
@dataclass(frozen=True, eq=False)
class DelayRun:
    """A `Run` of many lanes that look back, with its compiled program and what delayed values are before the start."""

    scenario: Scenario
    pasts: Mapping[str, Past]
    times: np.ndarray
    program: DelayProgram
    plan: Plan
    values: tuple[Values, ...]
    warnings: tuple[str, ...]

    @property
    def text(self) -> str:
        """Method and steps, and that it looks back, for tables."""
        return describe_steps(self.plan, ", with delays")

    def at(self, values: Sequence[Mapping[Any, float] | None]) -> "DelayRun":
        """The same steps and program at other parameter values."""
        return replace(self, values=self.scenario.resolve_values(values))

    def estimate_step_error(self, values: Values) -> float:
        """What halving the steps changes at these values, relative to the largest values."""
        lags = find_lags_at(self.scenario.system, self.pasts, values)
        return _Pilot(self.scenario, self.times, self.program, values, lags).estimate_error(self.plan.step)

    def run(self, realizations: int, consume: Consume) -> list[Failure]:
        """Simulate all lanes for all values, as `Run` says; samples come all at once."""
        title = f"simulating '{self.scenario.system.model.name}': block"
        failures: list[Failure] = []
        for number, values in enumerate(self.values):
            lags = find_lags_at(self.scenario.system, self.pasts, values)
            course = make_course(self.scenario, self.program, values, lags, self.plan.step)
            block = partial(self._run_block, number, course, consume)
            try:
                failures += run_blocks(realizations, block, title)
            except RunInterrupted as interrupt:
                raise RunInterrupted(failures + interrupt.failures) from interrupt
        return failures

    def _run_block(self, number: int, course: Course, consume: Consume, lanes: range, failures: list[Failure]) -> None:
        out, good = _sample_lanes(course, lanes, self.times)
        failures += find_failures(number, lanes, self.times, out, good, self.scenario.system)
        give_up_if_stopped()
        consume(number, lanes, np.arange(self.times.size), out)


def _sample_lanes(course: Course, lanes: range, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What `DelayMarch.sample` gives, with as many lanes at a time as their records fit into memory."""
    width, per_lane = course.program.kernel.width, 8 * course.mesh.points * course.program.kernel.observed
    size = max(int(MEMORY / per_lane) // width, 1) * width
    pieces = [lanes[first : first + size] for first in range(0, len(lanes), size)]
    parts = [DelayMarch(course, piece).sample(times) for piece in pieces]
    out, good = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
    return out, good


@dataclass(frozen=True, eq=False)
class _Pilot:
    """One lane with one set of values, on which steps are tried."""

    scenario: Scenario
    times: np.ndarray
    program: DelayProgram
    values: Values
    lags: Lags

    def march(self, step: float, refinement: int = 1) -> DelayMarch:
        course = make_course(self.scenario, self.program, self.values, self.lags, step, refinement)
        return DelayMarch(course, range(1))

    def estimate_error(self, step: float) -> float:
        """What halving the steps changes."""
        rough, fine = (self.march(step, refinement).sample(self.times) for refinement in (1, 2))
        if not (rough[1].all() and fine[1].all()):
            return np.inf
        wanted = len(self.program.shape.wanted)
        return compare(rough[0][:, :wanted], fine[0][:, :wanted], wanted, False, self.find_sizes)

    def find_sizes(self) -> np.ndarray:
        """Of what is wanted, and of its derivatives."""
        return self.scenario.measure_rows(self.values, self.program.shape.wanted)

    def estimate_rate_error(self, step: float) -> float:
        """The same of derivatives, where equations have kinks: one that is stepped over is seen there first."""
        switching, shape = self.scenario.system.reduction.switching, self.program.shape
        wanted, rows = len(shape.wanted), shape.rows
        if switching is None or not switching.bent or rows == wanted:
            return 0.0
        rough, fine = (self.march(step, refinement).sample(self.times)[0] for refinement in (1, 2))
        turned = slice(wanted, rows)
        return compare(rough[:, turned], fine[:, turned], rows - wanted, False, lambda: self.find_sizes()[turned])

    def try_halves(self, step: float, error: float) -> Iterator[Trial[float]]:
        """Steps with a known error, then halved as long as the error falls."""
        yield Trial(step, 0.5 * step, error)
        for _ in range(HALVINGS):
            step *= 0.5
            try:
                less = self.estimate_error(step)
            except SimulationError:
                return
            if np.isfinite(error) and not less < FALLS * error:
                return
            error = less
            yield Trial(step, 0.5 * step, error)

    def halve(self, step: float, error: float, tolerance: float) -> Trial[float]:
        """The longest steps that meet the tolerance, or the best that halving leads to."""
        return choose(self.try_halves(step, error), tolerance) or Trial(step, 0.5 * step, error)


def prepare_delayed(
    scenario: Scenario,
    before: Mapping[str, Past],
    times: np.ndarray,
    wanted: tuple[str, ...],
    values: tuple[Values, ...],
    wish: StepWish,
    warnings: tuple[str, ...],
) -> DelayRun:
    """Choose the steps at the first set of values, and compile."""
    method, step, tolerance = wish
    system, forcing, first = scenario.system, scenario.forcing, values[0]
    lags = find_lags_at(system, before, first)
    curves = make_grid_row(system).curves if scenario.disturbances else ()
    shape = Shape(method or _choose_method(scenario), 0, scenario.directions, wanted, scenario.grid, curves)
    point = scenario.make_point(first)
    longest = step or ((forcing.end - forcing.start) or 1.0) / FIRST_STEPS
    pilot = _Pilot(scenario, times, compile_delay_program(system, shape, point, longest, lags.groups), first, lags)
    _refuse_jumps(pilot, longest)
    chosen = Trial(longest, 0.5 * longest, pilot.estimate_error(longest))
    if step is None:
        present = float(make_lane_mesh(scenario, lags, longest, pilot.program.degree).lengths.max())
        while 0.5 * longest > present:  # between close break points steps are shorter than asked for
            longest *= 0.5
        chosen = pilot.halve(longest, chosen.error, tolerance)
        if not chosen.error <= STIFF * tolerance and method is None:
            program = compile_delay_program(system, replace(shape, method="radau5"), point, chosen.steps, lags.groups)
            stiff = replace(pilot, program=program)
            other = stiff.halve(longest, np.inf, tolerance)
            if other.error < chosen.error:
                pilot, chosen = stiff, other
    mesh = make_lane_mesh(scenario, lags, chosen.steps, pilot.program.degree)
    error = max(chosen.error, pilot.estimate_rate_error(chosen.steps))
    plan = Plan(pilot.program.shape, chosen.steps, np.repeat(mesh.lengths, mesh.counts), error)
    notes = (*warnings, *_note_early_inputs(scenario, lags))
    return DelayRun(scenario, before, times, pilot.program, plan, values, notes)


def _note_early_inputs(scenario: Scenario, lags: Lags) -> list[str]:
    """What is taken for inputs before they are known."""
    notes = []
    for group, amount in zip(lags.groups, lags.amounts, strict=True):
        for name in group.names if group.of_input else ():
            past, forcing = lags.pasts[name], scenario.forcing
            assert past.input is not None
            base, signal = past.input[0], forcing.signals[past.input[0]]
            if past.law is None and forcing.start - amount < signal.start and np.ptp(signal.values) > 0.0:
                notes.append(
                    f"before its first sample '{base}' is taken to be {signal.values[0]:.4g}, as it is there; "
                    f"otherwise declare history={{{base}: ...}}, or begin its samples earlier"
                )
    return list(dict.fromkeys(notes))


def _refuse_jumps(pilot: _Pilot, step: float) -> None:
    """A constraint with a delayed value that jumps would make variables jump that no equation lets jump."""
    scenario, program, values = pilot.scenario, pilot.program, pilot.values
    r = scenario.system.reduction
    tied = [
        name
        for name, place in program.layout.delayed
        if name in program.rows and ca.depends_on(r.G, r.arguments[-1][place])
    ]
    if not tied:
        return
    march = pilot.march(step)
    parameters = values.column[: values.rates.shape[0]]
    for name in tied:
        before = float(pilot.lags.pasts[name].at(np.array([scenario.forcing.start]), parameters)[0][0])
        course = march.record[:, program.rows[name], 0]
        after, largest = float(course[0]), float(np.nanmax(np.abs(course)))
        if not abs(after - before) <= JUMP * max(abs(before), largest):
            raise SimulationError(
                f"What '{name}' of model '{scenario.system.model.name}' delays ends at {before:.4g} in its history and "
                f"starts at {after:.4g}; that jump would come back in a constraint, which has no solution then.",
                "Let it start where its history ends: leave it out of `initial`, or change the history.",
            )


def _choose_method(scenario: Scenario) -> Method:
    """Of high order where everything is smooth, as long as the code of its many stages stays short."""
    size = len(scenario.system.states) * (1 + scenario.directions.count)
    return "rk4" if scenario.disturbances or size > SMALL else "rk6"
