"""`simulate`: trajectories of a model, one with disturbances at zero or many with random ones."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from daedal.data import FrozenMapping, frozen
from daedal.disturbances import seed_number
from daedal.errors import SimulationError, nearest, quoted
from daedal.lti import TransferFunction
from daedal.models import Model, evaluate_parameters
from daedal.simulation.ida import IDA, RealizedPath, Run
from daedal.simulation.initial_notes import start_notes
from daedal.simulation.lanes import (
    AnyRun,
    Failure,
    LaneRun,
    Lanes,
    check_smoothness,
    disturbance_grid,
    disturbance_places,
    prepare,
)
from daedal.simulation.measurement import with_measurement_noise
from daedal.simulation.request import Request, check_memory, check_request, checked_realizations, checked_values
from daedal.simulation.steps import BRIEF, MEANINGLESS, PATIENT, Effort, sample_interval
from daedal.simulation.trajectory import Status, Trajectory
from daedal.simulation.transfer_response import simulate_transfer_function
from daedal.symbolic import Expression
from daedal.systems import InitialValues, System, find_initial_values, remove_zero_delays

DELAYED = 1e-10  # tolerance of the steps of a single trajectory with delays
PURPOSE = "simulate"
SINGLE = 60  # unknowns up to which compiling a single trajectory pays


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
    solver: Lanes | IDA | None = None,
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
        default `Lanes`, or IDA for a single trajectory of a stiff or large model.
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
    if isinstance(model, TransferFunction):
        _check_plain(values, realizations, measurement_noise, variables, solver)
        return simulate_transfer_function(model, times, inputs, t0)
    _check_solver(solver)
    typed = model.model if isinstance(model, System) else model
    if isinstance(typed, Model):
        simpler = remove_zero_delays(typed, checked_values(values))
        model = model if simpler is typed else simpler
    asked = check_request("simulate", model, times, inputs, t0)
    given = checked_values(values)
    wanted = _checked_variables(asked.system, variables)
    needs_seed = realizations is not None or measurement_noise
    seed = seed_number(np.random.default_rng() if rng is None else rng) if needs_seed or rng is not None else None
    if realizations is not None:
        count = checked_realizations(realizations)
        if isinstance(solver, IDA):
            result = _references(asked, given, wanted, count, seed or 0, solver)
        else:
            result = _ensemble(asked, given, wanted, count, seed or 0, solver or Lanes())
    else:
        result = _single(asked, given, wanted, solver)
    if measurement_noise and seed is not None:
        result = with_measurement_noise(result, asked.system.model, seed)
    return result


def _check_plain(*unused: Any) -> None:
    """A transfer function has nothing to choose: numbers only, no noise, an exact solution."""
    if any(each is not None and each is not False for each in unused):
        raise SimulationError(
            "A transfer function is simulated as it is, from its times and inputs alone.",
            "Use tf.to_model() for values, noise or a solver.",
        )


def _check_solver(solver: Any) -> None:
    if not (solver is None or isinstance(solver, (IDA, Lanes))):
        name = solver.__name__ if isinstance(solver, type) else repr(solver)
        raise SimulationError(f"The solver of a simulation must be a solver, got {name}.", "Write solver=IDA(1e-8).")


def _checked_variables(system: System, variables: Any) -> tuple[str, ...]:
    known = tuple(system.reduction.observed)
    if variables is None:
        return known
    if isinstance(variables, (str, Expression)) or not isinstance(variables, Sequence):
        raise SimulationError(f"The variables to keep must be a list of names, got {variables!r}.", "Write ['x', 'y'].")
    names = tuple(str(name) for name in variables)
    for name in names:
        if name not in known:
            raise SimulationError(
                f"Model '{system.model.name}' has no variable '{name}' to keep.", nearest(name, known)
            )
    return names


def _single(
    asked: Request, values: Mapping[Any, float] | None, wanted: tuple[str, ...], solver: Lanes | IDA | None
) -> Trajectory:
    """One trajectory with disturbances at zero; without a given solver, Lanes where it suits, otherwise IDA."""
    if asked.system.reduction.delays and solver is None:
        solver = Lanes(tolerance=DELAYED)
    if isinstance(solver, Lanes):
        return _lanes(asked, values, wanted, solver)
    _refuse_delays(asked.system)
    if solver is None and len(asked.system.tops) <= SINGLE:
        try:
            found = _lanes(asked, values, wanted, Lanes(method="rk4", tolerance=1e-8), BRIEF)
        except SimulationError:
            found = None
        if found is not None and found.status.ok:
            return found
    return _reference(asked, values, wanted, solver or IDA())


def _refuse_delays(system: System) -> None:
    if system.reduction.delays:
        raise SimulationError(
            f"IDA cannot look back, and model '{system.model.name}' contains {quoted(system.reduction.delays)}.",
            "Use Lanes(tolerance=1e-10), or leave the solver out.",
        )


def _lanes(
    asked: Request, values: Mapping[Any, float] | None, wanted: tuple[str, ...], solver: Lanes, effort: Effort = PATIENT
) -> Trajectory:
    options = {"values": [values], "wanted": wanted, "free": (), "seed": 0, "purpose": PURPOSE}
    run = prepare(asked.system, asked.times, asked.forcing, solver, noisy=False, effort=effort, **options)
    kept, status = _kept(run, len(wanted), 1)
    return _trajectory(
        asked, wanted, kept[0], run.text, status, values, run.values[0].start, [*_step_notes(run), *run.warnings]
    )


def _ensemble(
    asked: Request,
    values: Mapping[Any, float] | None,
    wanted: tuple[str, ...],
    realizations: int,
    seed: int,
    solver: Lanes,
) -> Trajectory:
    remedy = "Keep fewer variables (variables=[...]), or take mean and variance only with ensemble(...)."
    check_memory(2 * realizations * asked.times.size * len(wanted) * 8, remedy)
    options = {"values": [values], "wanted": wanted, "free": (), "seed": seed, "purpose": PURPOSE}
    run = prepare(asked.system, asked.times, asked.forcing, solver, noisy=True, **options)
    kept, status = _kept(run, len(wanted), realizations)
    notes = [*_step_notes(run), *run.warnings]
    return _trajectory(asked, wanted, kept, run.text, status, values, run.values[0].start, notes, realizations, seed)


def _kept(run: AnyRun, variables: int, realizations: int) -> tuple[np.ndarray, Status]:
    """All values as (realization, variable, time); NaN from where a lane failed or an interrupt came."""
    kept = np.full((realizations, variables, run.times.size), np.nan)

    def consume(_: int, lanes: range, samples: np.ndarray, out: np.ndarray) -> None:
        kept[lanes.start : lanes.stop, :, samples] = out.transpose(2, 1, 0)

    try:
        failures = run.run(realizations, consume)
    except KeyboardInterrupt:
        return kept, Status(
            False, "The simulation was interrupted.", "What was computed until then is kept, the rest is NaN."
        )
    for failure in failures:
        kept[failure.lane, :, run.times >= failure.time] = np.nan
    return kept, _status(run, failures, realizations)


def _status(run: AnyRun, failures: list[Failure], realizations: int) -> Status:
    if not failures and not run.plan.error < MEANINGLESS:
        return Status(
            False,
            f"The steps are too long: dividing them changes the results by {run.plan.error:.1g} of the largest values.",
            "Give Lanes a smaller step, or leave the step to it.",
        )
    if not failures:
        return Status(True, "The simulation reached its end.")
    first = min(failures, key=lambda failure: failure.time)
    which = "The simulation" if realizations == 1 else f"{len(failures)} of {realizations} realizations"
    return Status(
        False,
        f"{which} stopped, the first at time {first.time:g} (realization {first.lane}): {first.reason}.",
        "Values are NaN from there on; a smaller step (Lanes(step=...)) or tolerance may help"
        + (", IDA() names the cause." if isinstance(run, LaneRun) else "."),
    )


def _step_notes(run: AnyRun) -> list[str]:
    return (
        [f"estimated error of the steps: {run.plan.error:.0e} of the largest values"]
        if run.plan.steps.lengths.size
        else []
    )


def _reference(asked: Request, values: Mapping[Any, float] | None, wanted: tuple[str, ...], solver: IDA) -> Trajectory:
    start, run = _reference_run(asked, values, solver)
    status = Status(not run.stopped, run.stopped or "The simulation reached its end.", run.remedy)
    return _trajectory(asked, wanted, _observed(asked, values, wanted, run), repr(solver), status, values, start, [])


def _reference_run(asked: Request, values: Mapping[Any, float] | None, solver: IDA) -> tuple[InitialValues, Run]:
    system, forcing = asked.system, asked.forcing
    start = find_initial_values(system, forcing.start, values, forcing.at(forcing.start))
    return start, solver.solve(system, start, asked.times, forcing, system.parameter_vector(values))


def _references(
    asked: Request,
    values: Mapping[Any, float] | None,
    wanted: tuple[str, ...],
    realizations: int,
    seed: int,
    solver: IDA,
) -> Trajectory:
    """Realizations one by one through the reference solver, on the paths that the lanes would see."""
    system, forcing = asked.system, asked.forcing
    numbers = evaluate_parameters(system.model, values)
    grid, warnings = 1.0, []
    if disturbance_places(system):
        check_smoothness(system, numbers)
        grid, warnings = disturbance_grid(system, numbers, sample_interval(forcing.start, asked.times))
    kept = np.full((realizations, len(wanted), asked.times.size), np.nan)
    stopped: dict[int, Run] = {}
    start = find_initial_values(system, forcing.start, values, forcing.at(forcing.start))
    for number in range(realizations):
        path = RealizedPath(system, numbers, grid, forcing.end - forcing.start, seed, PURPOSE, number)
        disturbed = replace(asked, forcing=replace(forcing, path=path))
        _, run = _reference_run(disturbed, values, solver)
        kept[number] = _observed(disturbed, values, wanted, run)
        if run.stopped:
            stopped[number] = run
        if run.interrupted:
            break
    status = Status(True, "The simulation reached its end.")
    if stopped:
        number, run = next(iter(stopped.items()))
        count = f"{len(stopped)} of {realizations} realizations stopped; realization {number}: "
        status = Status(False, count + run.stopped, run.remedy)
    return _trajectory(asked, wanted, kept, repr(solver), status, values, start, warnings, realizations, seed)


def _observed(asked: Request, values: Mapping[Any, float] | None, wanted: tuple[str, ...], run: Run) -> np.ndarray:
    """The wanted variables at the samples reached, (variable, time)."""
    system, reached = asked.system, len(run.states)
    observed = np.full((len(system.reduction.observed), asked.times.size), np.nan)
    if reached:
        parameters = np.repeat(system.parameter_vector(values)[:, None], reached, axis=1)
        times = asked.times[:reached]
        exogenous = asked.forcing.at_all(times).T
        result = system.function("observed")(times[None], run.states.T, run.tops.T, parameters, exogenous)
        observed[:, :reached] = result.full()
    names = list(system.reduction.observed)
    return observed[[names.index(name) for name in wanted]]


def _trajectory(
    asked: Request,
    wanted: tuple[str, ...],
    kept: np.ndarray,
    solver: str,
    status: Status,
    values: Mapping[Any, float] | None,
    start: InitialValues,
    notes: Sequence[str],
    realizations: int | None = None,
    seed: int | None = None,
) -> Trajectory:
    """`kept` is (variable, time), or (realization, variable, time)."""
    model = asked.system.model
    columns = {name: kept[..., i, :] for i, name in enumerate(wanted)}
    columns |= {name: signal(asked.times) for name, signal in asked.forcing.signals.items() if name not in columns}
    zero = (
        [f"disturbances are zero: {', '.join(model.disturbance_names)}"]
        if model.disturbances and not realizations
        else []
    )
    return Trajectory(
        model=model.name,
        solver=solver,
        t0=asked.forcing.start,
        times=asked.times,
        values=FrozenMapping({name: frozen(np.ascontiguousarray(column)) for name, column in columns.items()}),
        outputs=tuple(name for name in model.outputs if name in wanted),
        inputs=FrozenMapping(asked.forcing.signals),
        parameters=FrozenMapping(evaluate_parameters(model, values)),
        status=status,
        notes=(*asked.system.structure.repairs, *zero, *start_notes(start), *notes),
        realizations=realizations,
        seed=seed,
        partial=len(wanted) < len(asked.system.reduction.observed),
    )
