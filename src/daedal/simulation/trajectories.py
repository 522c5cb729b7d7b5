"""`simulate`: trajectories of a model, one with disturbances at zero or many with random ones."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from daedal import disturbances, simulation, systems
from daedal.data import FrozenMapping, frozen
from daedal.errors import SimulationError, interruptible, list_entries, nearest, show
from daedal.models import Model, evaluate_parameters
from daedal.simulation.request import check_memory, check_realizations, check_request, check_times, check_values
from daedal.simulation.solver import Job, Outcome, Solver
from daedal.simulation.trajectory import Trajectory
from daedal.systems import System

DELAYED = 1e-10  # tolerance of the steps of a single trajectory with delays
CLOSE = 3e-10, 3e-12  # of IDA, for each step: right to 3e-7 of the largest values over the catalogue of problems
PURPOSE = "simulate"
SINGLE = 60  # unknowns up to which compiling a single trajectory pays
SWITCHES = 16  # located ones up to which it does: each has code of its own for its crossings


@interruptible
def simulate(
    model: Any,
    times: Any,
    *,
    inputs: Mapping[Any, Any] | None = None,
    values: Mapping[Any, float] | None = None,
    realizations: int | None = None,
    measurement_noise: bool = False,
    rng: int | np.random.Generator | None = None,
    variables: Sequence[str] | None = None,
    solver: Solver | None = None,
    t0: float | None = None,
) -> Trajectory:
    """Solve a model from consistent initial values.

    Parameters
    ----------
    model
        A Model, a System from `build`, or a TransferFunction (exact, from rest).
    times
        Increasing times at which values are wanted, or a Dataset that gives inputs, start, and the times at which an
        output was sampled.
    inputs
        Name → Signal, or a number for a constant.
    values
        Parameter → number, in place of the model's.
    realizations
        How many trajectories with random disturbances; without it there is one, and disturbances are zero.
    measurement_noise
        Whether the outputs get the noise that the model declares for their measurement.
    rng
        Seed or Generator for both; a fresh seed when left out. The seed used is in the result.
    variables
        Names to keep; everything by default.
    solver
        `Lanes(...)`, the ensemble solver, or `IDA(rtol, atol)`, the reference solver for single trajectories. By
        default `Lanes` for realizations, delays and switches, and for other single trajectories the one of the two that
        takes less time, with what it compiles: IDA where samples are few or the model is stiff or large. What was
        compiled before does not count, so that results depend on no earlier call: for many calls with one model, and
        for an estimate of the error, ask for `Lanes()`.
    t0
        Where the model starts, if before the first time.

    Examples
    --------
    >>> from daedal import Model, der, symbols
    >>> x, k = symbols("x k")
    >>> rate = {"rate": der(x) == -k * x}
    >>> decay = Model(name="decay", equations=rate, unknowns=[x], parameters={k: 2.0}, initial={x: 1.0})
    >>> float(simulate(decay, [0.0, 1.0])["x"][-1])  # doctest: +ELLIPSIS
    0.135335...
    """
    typed = model.model if isinstance(model, System) else model
    if not isinstance(typed, Model):
        from daedal.lti import TransferFunction  # loaded for what is no model

        if isinstance(model, TransferFunction):
            _check_plain(values, realizations, measurement_noise, variables, solver)
            return simulation.simulate_transfer_function(model, times, inputs, t0)
    _check_solver(solver)
    if isinstance(typed, Model) and typed.delayed:
        simpler = systems.remove_zero_delays(typed, check_values(values))
        model = model if simpler is typed else simpler
    asked = check_request("simulate", model, times, inputs, t0)
    given = check_values(values)
    wanted = _check_variables(asked.system, variables)
    count = None if realizations is None else check_realizations(realizations)
    if not isinstance(measurement_noise, (bool, np.bool_)):
        raise SimulationError(
            f"measurement_noise must be True or False, got {show(measurement_noise)}.",
            "Declare its size in the model, and write measurement_noise=True to add it.",
        )
    remedy = "Keep fewer variables (variables=[...]), or take mean and variance only with ensemble(...)."
    check_times(asked.system, asked.times)
    check_memory(asked.system, 2 * (count or 1) * asked.times.size * len(wanted) * 8, remedy)
    seed = None
    if count is not None or measurement_noise or rng is not None:
        seed = disturbances.make_seed(np.random.default_rng() if rng is None else rng)
    job = Job(asked, given, wanted, count, seed or 0, PURPOSE)
    automatic = count is None and solver is None
    outcome = _simulate_single(job) if automatic else (solver or simulation.Lanes()).simulate(job)
    trajectory = _make_trajectory(job, outcome, None if count is None else seed)
    if measurement_noise and seed is not None:
        trajectory = simulation.add_measurement_noise(trajectory, asked.system.model, seed)
    return trajectory


def _check_plain(*unused: Any) -> None:
    """A transfer function has nothing to choose: numbers only, no noise, an exact solution."""
    if any(argument is not None and argument is not False for argument in unused):
        raise SimulationError(
            "A transfer function is simulated as it is, from its times and inputs alone.",
            "Use tf.to_model() for values, noise or a solver.",
        )


def _check_solver(solver: Any) -> None:
    if solver is not None and (isinstance(solver, type) or not isinstance(solver, Solver)):
        name = solver.__name__ if isinstance(solver, type) else show(solver)
        raise SimulationError(f"The solver of a simulation must be a solver, got {name}.", "Write solver=IDA(1e-8).")


def _check_variables(system: System, variables: Any) -> tuple[str, ...]:
    known = tuple(system.reduction.observed)
    if variables is None:
        return known
    if (entries := list_entries(variables)) is None:
        raise SimulationError(
            f"The variables to keep must be a list of names, got {show(variables)}.", "Write ['x', 'y']."
        )
    names = tuple(show(name, str) for name in entries)
    for name in names:
        if name not in known:
            raise SimulationError(
                f"Model '{system.model.name}' has no variable '{name}' to keep.", nearest(name, known)
            )
    return names


def _simulate_single(job: Job) -> Outcome:
    """One trajectory with disturbances at zero, by the solver that takes less time with all that it compiles."""
    system = job.asked.system
    if system.reduction.delays:
        return simulation.Lanes(tolerance=DELAYED).simulate(job)
    switching = system.reduction.switching
    if switching is not None:
        return _simulate_switching(job, len(switching.switches))
    reference = simulation.IDA(*CLOSE)
    if len(system.tops) > SINGLE:
        return reference.simulate(job)
    tried = reference.simulate_cheaply(job)
    if tried is not None and (tried.status.ok or tried.status.interrupted):
        return tried
    outcome, _ = simulation.try_lanes(job)
    return outcome or tried or reference.simulate(job)


def _simulate_switching(job: Job, switches: int) -> Outcome:
    """By Lanes, which find crossings in compiled code, unless there are many of them."""
    outcome, reason = None, f"it would compile more than {SWITCHES} switches." if switches > SWITCHES else ""
    if len(job.asked.system.tops) <= SINGLE and switches <= SWITCHES:
        outcome, reason = simulation.try_lanes(job)
    if outcome is not None:
        return outcome
    outcome = simulation.IDA(*CLOSE).simulate(job)
    return replace(outcome, notes=(*outcome.notes, f"by IDA, because Lanes could not: {reason}")) if reason else outcome


def _make_trajectory(job: Job, outcome: Outcome, seed: int | None) -> Trajectory:
    asked, wanted, model = job.asked, job.wanted, job.asked.system.model
    kept = outcome.values[0] if job.realizations is None else outcome.values
    columns = {name: kept[..., i, :] for i, name in enumerate(wanted)}
    columns |= {name: signal(asked.times) for name, signal in asked.forcing.signals.items() if name not in columns}
    zero = (
        [f"disturbances are zero: {', '.join(model.disturbance_names)}"]
        if model.disturbances and not job.realizations
        else []
    )
    return Trajectory(
        model=model.name,
        solver=outcome.text,
        t0=asked.forcing.start,
        times=asked.times,
        values=FrozenMapping({name: frozen(np.ascontiguousarray(column)) for name, column in columns.items()}),
        outputs=tuple(name for name in model.outputs if name in wanted),
        inputs=FrozenMapping(asked.forcing.signals),
        parameters=FrozenMapping(evaluate_parameters(model, job.values)),
        status=outcome.status,
        notes=(*asked.system.structure.repairs, *asked.notes, *zero, *outcome.start.notes, *outcome.notes),
        realizations=job.realizations,
        seed=seed,
        partial=len(wanted) < len(asked.system.reduction.observed),
        units=asked.units,
        origin=asked.origin,
    )
