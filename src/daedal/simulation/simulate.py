"""`simulate`: the solution of a model over time."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from daedal.data import Dataset
from daedal.errors import SimulationError
from daedal.models import Model, parameter_values
from daedal.simulation.forcing import Forcing, forcing
from daedal.simulation.ida import IDA, Run
from daedal.simulation.trajectory import Status, Trajectory
from daedal.systems import InitialValues, System, build, initial_values


def simulate(
    model: Model | System,
    times: Any,
    *,
    inputs: Mapping[Any, Any] | None = None,
    values: Mapping[Any, float] | None = None,
    solver: IDA | None = None,
    t0: float | None = None,
) -> Trajectory:
    """Solve a model from consistent initial values; disturbances are zero.

    Parameters
    ----------
    model
        A Model, or a System from `build`.
    times
        Increasing times at which values are wanted, or a Dataset that gives times, inputs and start.
    inputs
        Name → Signal, or a number for a constant.
    values
        Parameter → number, in place of the model's.
    solver
        `IDA(rtol, atol)`.
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
    if isinstance(model, Dataset) or isinstance(times, (Model, System)):
        raise SimulationError(
            "simulate takes the model first and the times or data second.", "Exchange the two arguments."
        )
    if not isinstance(model, (Model, System)):
        raise SimulationError(
            f"simulate takes a Model or a System, got {type(model).__name__}.", "Build one with Model(...)."
        )
    if isinstance(times, Dataset):
        inputs = {**times.inputs, **(inputs or {})}
        t0 = times.t0 if t0 is None else t0
        times = times.times
    grid = _checked_times(times)
    start = _checked_start(t0, grid)
    system = model if isinstance(model, System) else build(model)
    drive = forcing(system, inputs or {}, start, float(grid[-1]))
    at_start = initial_values(system, start, values, drive.at(start))
    solver = solver or IDA()
    run = solver.solve(system, at_start, grid, drive, system.parameter_vector(values))
    return _trajectory(system, solver, grid, drive, at_start, run, values)


def _checked_times(times: Any) -> np.ndarray:
    try:
        grid = np.array(times, dtype=float)
    except (TypeError, ValueError):
        raise SimulationError(
            f"The times of a simulation must be numbers, got {times!r}.", "Write np.arange(101) * 0.1."
        ) from None
    if grid.ndim != 1 or grid.size == 0:
        what = "are empty" if grid.size == 0 else f"have the shape {grid.shape}"
        raise SimulationError(
            f"The times of a simulation must be a list of numbers, but they {what}.", "Write np.arange(101) * 0.1."
        )
    if not np.isfinite(grid).all():
        place = int(np.flatnonzero(~np.isfinite(grid))[0])
        raise SimulationError(
            f"The times of a simulation must be finite, but times[{place}] is {grid[place]}.", "Remove it."
        )
    if np.any(np.diff(grid) <= 0):
        place = int(np.flatnonzero(np.diff(grid) <= 0)[0])
        raise SimulationError(
            f"The times of a simulation must increase, but times[{place + 1}] = {grid[place + 1]:g} "
            f"follows {grid[place]:g}.",
            "Sort them, and remove repeated ones.",
        )
    return grid


def _checked_start(t0: float | None, grid: np.ndarray) -> float:
    start = float(grid[0]) if t0 is None else float(t0)
    if not start <= grid[0]:
        raise SimulationError(f"The start t0 = {start:g} lies after the first time {grid[0]:g}.", "Move it before.")
    return start


def _trajectory(
    system: System,
    solver: IDA,
    grid: np.ndarray,
    drive: Forcing,
    start: InitialValues,
    run: Run,
    values: Mapping[Any, float] | None,
) -> Trajectory:
    model = system.model
    reached = len(run.states)
    observed = np.full((grid.size, len(system.reduction.observed)), np.nan)
    if reached:
        parameters = np.repeat(system.parameter_vector(values)[:, None], reached, axis=1)
        exogenous = drive.at_all(grid[:reached]).T
        result = system.function("observed")(grid[None, :reached], run.states.T, run.tops.T, parameters, exogenous)
        observed[:reached] = result.full().T
    columns = {name: observed[:, i] for i, name in enumerate(system.reduction.observed)}
    columns |= {name: signal(grid) for name, signal in drive.signals.items() if name not in columns}
    for column in columns.values():
        column.flags.writeable = False
    grid.flags.writeable = False
    status = Status(not run.stopped, run.stopped or "The simulation reached its end.", run.remedy)
    return Trajectory(
        model=model.name,
        solver=repr(solver),
        t0=drive.start,
        times=grid,
        values=columns,
        outputs=tuple(model.outputs),
        inputs=drive.signals,
        parameters=parameter_values(model, values),
        status=status,
        notes=_notes(system, start),
    )


def _notes(system: System, start: InitialValues) -> tuple[str, ...]:
    notes = list(system.structure.repairs)
    if system.model.disturbances:
        notes.append(f"disturbances are zero: {', '.join(system.model.disturbance_names)}")
    if start.open:
        shown = [f"{name} = {value:g}" for name, value in start.open.items()]
        more = f" and {len(shown) - 8} more" if len(shown) > 8 else ""
        notes.append(f"left open by initial, held at the guess: {', '.join(shown[:8])}{more}")
    if start.redundant:
        notes.append(
            f"held at the start although the equations already imply one of them: {', '.join(start.redundant)}"
        )
    return tuple(notes)
