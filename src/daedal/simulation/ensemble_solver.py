"""`Lanes`, the ensemble solver: many trajectories advance together, one per SIMD lane, with delays or without."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, final

import numpy as np

from daedal import simulation
from daedal.errors import SimulationError, as_float, is_one_of, is_real, quoted, show, warn_user
from daedal.models import evaluate_parameters
from daedal.simulation import lanes
from daedal.simulation.forcing import Forcing, see_features
from daedal.simulation.lanes import (
    BRIEF,
    MEANINGLESS,
    PATIENT,
    Effort,
    Failure,
    Run,
    RunInterrupted,
    Scenario,
    StepWish,
    blame_long_steps,
    find_sample_interval,
    prepare_lanes,
)
from daedal.simulation.solver import REACHED, Job, Outcome, Status, describe_interrupt
from daedal.simulation.steps import NODES, Directions, find_disturbance_places
from daedal.systems import System

PER_SAMPLE = 16  # regular steps that are not too many for a single trajectory
SINGLE = 1e-8  # tolerance of the steps of a single trajectory


@final
@dataclass(frozen=True)
class Lanes:
    """The ensemble solver: steps aligned with the disturbance grid, one trajectory per vector lane.

    Parameters
    ----------
    method
        "rk4" or, of order six, "rk6", both with projection; "radau3" or "radau5" (Radau IIA) for stiff systems; "auto"
        chooses, "rk6" only for smooth systems with delays.
    step
        Seconds; chosen by step halving when left out.
    tolerance
        What halving the steps may change, relative to the largest value of each variable.

    Examples
    --------
    >>> from daedal import Model, der, simulate, symbols
    >>> x, k = symbols("x k")
    >>> rate, outputs = {"rate": der(x) == -k * x}, {"x": x}
    >>> decay = Model(name="x", equations=rate, unknowns=[x], outputs=outputs, parameters={k: 2.0}, initial={x: 1.0})
    >>> run = simulate(decay, [0.0, 1.0], solver=Lanes(tolerance=1e-9))
    >>> float(run["x"][-1].round(7))
    0.1353353
    """

    method: Literal["auto", "rk4", "rk6", "radau3", "radau5"] = "auto"
    step: float | None = None
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if not is_one_of(self.method, ("auto", *NODES)):
            raise SimulationError(
                f"The method of Lanes must be 'auto', 'rk4', 'rk6', 'radau3' or 'radau5', got {show(self.method)}.",
                "Choose one.",
            )
        if self.step is not None and not (is_real(self.step) and 0 < as_float(self.step) < np.inf):
            raise SimulationError(
                f"The step of Lanes must be positive, got {show(self.step)}.", "Leave it out to have it chosen."
            )
        if not (is_real(self.tolerance) and 0 < as_float(self.tolerance) < 1):
            raise SimulationError(
                f"The tolerance of Lanes must lie between 0 and 1, got {show(self.tolerance)}.", "Write 1e-7."
            )

    def simulate(self, job: Job) -> Outcome:
        """All realizations side by side, as `Solver` says."""
        return simulate_lanes(self, job)


def simulate_lanes(solver: Lanes, job: Job, effort: Effort = PATIENT) -> Outcome:
    """Choose steps within this effort, and keep all values."""
    asked, count = job.asked, job.realizations or 1
    options = {"values": [job.values], "wanted": job.wanted, "free": (), "seed": job.seed, "purpose": job.purpose}
    noisy = job.realizations is not None
    run = prepare(asked.system, asked.times, asked.forcing, solver, noisy=noisy, effort=effort, **options)
    kept, status = _keep_values(run, len(job.wanted), count)
    notes = run.warnings
    if run.plan.lengths.size:
        notes = (f"estimated error of the steps: {run.plan.error:.0e} of the largest values", *notes)
    return Outcome(kept, run.values[0].start, run.text, status, notes)


def try_lanes(job: Job) -> tuple[Outcome | None, str]:
    """A single trajectory as far as moderate effort leads, or None and why it leads nowhere."""
    try:
        # Where samples are many, so are the restarts of IDA at jumps of inputs: steps may grow with their number.
        effort = replace(BRIEF, regular=max(BRIEF.regular, PER_SAMPLE * job.asked.times.size))
        outcome = simulate_lanes(Lanes(method="rk4", tolerance=SINGLE), job, effort)
    except SimulationError as refusal:
        return None, refusal.sentence
    kept = outcome.status.ok or outcome.status.interrupted
    return outcome if kept else None, outcome.status.sentence


def _keep_values(run: Run, variables: int, realizations: int) -> tuple[np.ndarray, Status]:
    """All values as (realization, variable, time); NaN from where a lane failed or an interrupt came.

    In memory those of a variable are together, as they are in a trajectory.
    """
    columns = np.empty((variables, realizations, run.times.size))
    kept = columns.transpose(1, 0, 2)
    ends = np.zeros(realizations, dtype=int)  # samples of each that were written

    def consume(_: int, block: range, samples: np.ndarray, out: np.ndarray) -> None:
        if samples.size == 0:
            return
        lanes, part = slice(block.start, block.stop), slice(int(ends[block.start]), int(samples[-1]) + 1)
        if samples.size == part.stop - part.start:  # they come in order
            columns[:, lanes, part] = out.transpose(1, 2, 0)
        else:
            columns[:, lanes, part] = np.nan
            columns[:, lanes, samples] = out.transpose(1, 2, 0)
        ends[lanes] = part.stop

    interrupted = False
    try:
        failures = run.run(realizations, consume)
    except RunInterrupted as interrupt:
        if not ends.any():
            raise
        failures, interrupted = interrupt.failures, True
    for lane in np.flatnonzero(ends < run.times.size):
        kept[lane, :, ends[lane] :] = np.nan
    for failure in failures:
        kept[failure.lane, :, run.times >= failure.time] = np.nan
    return kept, describe_interrupt(run.times, kept) if interrupted else _make_status(run, failures, realizations)


def _make_status(run: Run, failures: list[Failure], realizations: int) -> Status:
    if not failures and not run.plan.error < MEANINGLESS:
        return Status(False, *blame_long_steps(run.plan))
    if not failures:
        return REACHED
    first = min(failures, key=lambda failure: failure.time)
    which = "The simulation" if realizations == 1 else f"{len(failures)} of {realizations} realizations"
    return Status(
        False,
        f"{which} stopped, the first at time {first.time:g} (realization {first.lane}): {first.reason}.",
        "Values are NaN from there on; a smaller step (Lanes(step=...)) or tolerance may help"
        + ("." if run.scenario.system.reduction.delays else ", IDA() names the cause."),
    )


def prepare(
    system: System,
    times: np.ndarray,
    forcing: Forcing,
    solver: Lanes,
    *,
    values: Sequence[Mapping[Any, float] | None],
    wanted: Sequence[str],
    free: Sequence[str],
    seed: int,
    purpose: str,
    noisy: bool,
    effort: Effort = PATIENT,
) -> Run:
    """Choose method and steps, compile, and find initial values for each set of parameter values."""
    places = find_disturbance_places(system) if noisy else ()
    grid, warnings = 0.0, []
    if places:
        lanes.refuse_exact(system)
        interval = find_sample_interval(forcing.start, times)
        for given in values:
            numbers = evaluate_parameters(system.model, given)
            lanes.check_smoothness(system, numbers)
            step, coarse = lanes.choose_disturbance_grid(system, numbers, interval)
            grid = min(grid, step) if grid else step
            warnings += [warning for warning in coarse if warning not in warnings]
        for warning in warnings:
            warn_user(warning)
    _refuse_delayed_switches(system)
    before = simulation.find_pasts(system) if system.reduction.delays else None
    delayed = partial(simulation.look_back_from_start, system, forcing, before) if before else None
    forcing = see_features(system, forcing, times, [system.parameter_vector(given) for given in values])
    scenario = Scenario(system, forcing, grid, places, tuple(free), Directions.of(system, free), seed, purpose, delayed)
    method = None if solver.method == "auto" else solver.method
    sets, wish = scenario.resolve_values(values), StepWish(method, solver.step, solver.tolerance)
    scenario = scenario.measure(sets[0])
    if before:
        return simulation.prepare_delayed(scenario, before, times, tuple(wanted), sets, wish, tuple(warnings))
    return prepare_lanes(scenario, times, tuple(wanted), sets, wish, effort, tuple(warnings))


def _refuse_delayed_switches(system: System) -> None:
    """Steps of systems with delays do not divide at switches of their own."""
    switching = system.reduction.switching
    if system.reduction.delays and switching is not None and switching.located:
        names = [switch.text for switch in switching.switches] or list(switching.held)
        raise SimulationError(
            f"Model '{system.model.name}' looks back ({quoted(system.reduction.delays)}) and jumps at "
            f"{quoted(names)}; the two are not simulated together.",
            "Make the jump smooth, tanh(x/width) in place of sign(x), or replace the delay by a chain of lags.",
        )
