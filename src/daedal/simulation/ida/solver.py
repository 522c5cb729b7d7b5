"""`IDA`, the reference solver: SUNDIALS, one trajectory after the other."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from daedal.data import short
from daedal.errors import SimulationError, as_float, is_real, quoted, show, warn_user
from daedal.models import evaluate_parameters
from daedal.progress import Progress, watch
from daedal.simulation import ida, lanes, steps
from daedal.simulation.forcing import Forcing, see_features
from daedal.simulation.ida.cost import limit_calls
from daedal.simulation.ida.integration import Integration
from daedal.simulation.ida.silence import silence_sundials
from daedal.simulation.ida.stepping import Stepper
from daedal.simulation.solver import REACHED, Job, Outcome, Status, describe_interrupt
from daedal.systems import InitialValues, System, find_initial_values

SHORTEST = 1e-130  # of a simulation: squares of its steps, 1e-20 of it, are numbers


@dataclass(frozen=True)
class Reached:
    """What was reached at the samples, of which system, and why it ended early, if it did."""

    system: System
    states: np.ndarray
    tops: np.ndarray
    exogenous: np.ndarray
    stopped: str
    remedy: str
    interrupted: bool = False
    given_up: bool = False


@final
@dataclass(frozen=True)
class IDA:
    """Variable-order, variable-step BDF (SUNDIALS IDA): the reference solver.

    Parameters
    ----------
    rtol, atol
        Error that each step may make: rtol relative to the value, and atol, which counts near zero, relative to a
        hundredth of the largest value of each variable so far. So results do not depend on the units of the model.

    Examples
    --------
    >>> from daedal import Model, der, simulate, symbols
    >>> x, k = symbols("x k")
    >>> rate, outputs = {"rate": der(x) == -k * x}, {"x": x}
    >>> decay = Model(name="x", equations=rate, unknowns=[x], outputs=outputs, parameters={k: 2.0}, initial={x: 1.0})
    >>> run = simulate(decay, [0.0, 1.0], solver=IDA(rtol=1e-9, atol=1e-11))
    >>> float(run["x"][-1].round(7))
    0.1353353
    """

    rtol: float = 1e-8
    atol: float = 1e-10

    def __post_init__(self) -> None:
        for name, limit in (("rtol", 1.0), ("atol", np.inf)):
            value = getattr(self, name)
            if not (is_real(value) and 0 < as_float(value) < limit):
                wanted = "lie between 0 and 1" if name == "rtol" else "be a positive number"
                raise SimulationError(f"The {name} of IDA must {wanted}, got {show(value)}.", "Write for example 1e-8.")
            object.__setattr__(self, name, float(value))

    def solve(
        self,
        system: System,
        start: InitialValues,
        times: np.ndarray,
        forcing: Forcing,
        parameters: np.ndarray,
        most: float = np.inf,
    ) -> Reached:
        """Advance from forcing.start through all times; what was reached is returned whatever happens.

        After more than `most` calls of the residual it is given up.
        """
        for stops in (times, times[:0]):  # its steps go over samples
            forcing = see_features(system, forcing, stops, [parameters])
        title = f"simulating '{system.model.name}': time"
        remedy = "simulate less time, or loosen the tolerance"
        calm = np.errstate(all="ignore")  # trial values may be anything
        with silence_sundials(), calm, Progress(title, forcing.end, begin=forcing.start, remedy=remedy) as progress:
            switching = system.reduction.switching
            if switching is None or not (switching.switches or switching.held):
                work = Integration(Stepper(self.rtol, self.atol, system, forcing, parameters, progress))
            else:
                work = ida.SwitchedIntegration(self.rtol, self.atol, system, forcing, parameters, progress)
            stepper, interrupted = work.stepper, False
            stepper.most = most
            try:
                work.run(start, times)
            except KeyboardInterrupt:
                interrupted = True
                stepper.stopped = f"The simulation was interrupted at time {short(stepper.time)}."
                stepper.remedy = "What was computed until then is kept."
        states, tops, exogenous = (np.array(part) for part in (work.states, work.tops, work.exogenous))
        ends = stepper.stopped, stepper.remedy, interrupted, stepper.calls > most
        return Reached(stepper.system, states, tops, exogenous, *ends)

    def simulate(self, job: Job) -> Outcome:
        """Realizations one by one, on the paths that the lanes would see, as `Solver` says."""
        _refuse_delays(job.asked.system)
        _refuse_short(job)
        if job.realizations is not None:
            return self._sample(job, job.realizations)
        return self._conclude(job, *self._solve_job(job))

    def simulate_cheaply(self, job: Job) -> Outcome | None:
        """One trajectory without disturbances, or None where compiled steps are expected to take less time."""
        most = limit_calls(job.asked)
        if most == 0.0 or _is_short(job):
            return None
        start, solution = self._solve_job(job, most)
        if solution.given_up:
            return None
        note = f"each step errs by about {self.rtol:g} of the values; solver=Lanes() estimates what errors add up to"
        return replace(self._conclude(job, start, solution), notes=(note,))

    def _conclude(self, job: Job, start: InitialValues, solution: Reached) -> Outcome:
        if solution.interrupted and not len(solution.states):
            raise KeyboardInterrupt
        status = REACHED
        if solution.stopped:
            status = Status(False, solution.stopped, solution.remedy, solution.interrupted)
        return Outcome(_observe(job, solution)[None], start, repr(self), status)

    def _sample(self, job: Job, count: int) -> Outcome:
        system, forcing, times = job.asked.system, job.asked.forcing, job.asked.times
        numbers = evaluate_parameters(system.model, job.values)
        grid, warnings = 1.0, []
        if steps.find_disturbance_places(system):
            lanes.check_smoothness(system, numbers)
            interval = lanes.find_sample_interval(forcing.start, times)
            grid, warnings = lanes.choose_disturbance_grid(system, numbers, interval)
        start = find_initial_values(system, forcing.start, job.values, forcing.at(forcing.start))
        kept = np.full((count, len(job.wanted), times.size), np.nan)
        stopped: dict[int, Reached] = {}
        for warning in warnings:
            warn_user(warning)
        interrupted = False
        title = f"simulating '{system.model.name}': realization"
        try:
            for number in watch(range(count), title, "take fewer realizations, or solver=Lanes()"):
                duration = forcing.end - forcing.start
                path = ida.ContinuousPath(system, numbers, grid, duration, job.seed, job.purpose, number)
                disturbed = replace(job, asked=replace(job.asked, forcing=replace(forcing, path=path)))
                _, solution = self._solve_job(disturbed)
                kept[number] = _observe(disturbed, solution)
                interrupted = solution.interrupted
                if interrupted:
                    break
                if solution.stopped:
                    stopped[number] = solution
        except KeyboardInterrupt:
            interrupted = True
        if interrupted and np.isnan(kept).all():
            raise KeyboardInterrupt
        status = REACHED
        if interrupted:
            status = describe_interrupt(times, kept)
        elif stopped:
            number, solution = next(iter(stopped.items()))
            which = f"{len(stopped)} of {count} realizations stopped; realization {number}: "
            status = Status(False, which + solution.stopped, solution.remedy)
        return Outcome(kept, start, repr(self), status, tuple(warnings))

    def _solve_job(self, job: Job, most: float = np.inf) -> tuple[InitialValues, Reached]:
        system, forcing = job.asked.system, job.asked.forcing
        start = find_initial_values(system, forcing.start, job.values, forcing.at(forcing.start))
        return start, self.solve(system, start, job.asked.times, forcing, system.parameter_vector(job.values), most)


def _refuse_delays(system: System) -> None:
    if system.reduction.delays:
        raise SimulationError(
            f"IDA cannot look back, and model '{system.model.name}' contains {quoted(system.reduction.delays)}.",
            "Use Lanes(tolerance=1e-10), or leave the solver out.",
        )


def _is_short(job: Job) -> bool:
    return 0.0 < job.asked.forcing.end - job.asked.forcing.start < SHORTEST


def _refuse_short(job: Job) -> None:
    if _is_short(job):
        span = job.asked.forcing.end - job.asked.forcing.start
        raise SimulationError(
            f"The simulation of model '{job.asked.system.model.name}' would last {span:.2g}, of whose parts IDA takes "
            "squares, for which there are no numbers.",
            "Measure time in a smaller unit.",
        )


def _observe(job: Job, solution: Reached) -> np.ndarray:
    """The wanted variables at the samples reached, (variable, time)."""
    system, reached = solution.system, len(solution.states)
    observed = np.full((len(system.reduction.observed), job.asked.times.size), np.nan)
    if reached:
        parameters = np.repeat(system.parameter_vector(job.values)[:, None], reached, axis=1)
        times = job.asked.times[:reached]
        moving = (solution.states.T, solution.tops.T, parameters, solution.exogenous.T)
        observed[:, :reached] = system.function("observed")(times[None], *moving).full()
    names = list(system.reduction.observed)
    return observed[[names.index(name) for name in job.wanted]]
