"""What a simulation was asked for, checked: the system, the times, and the known inputs."""

from collections.abc import Mapping, Sized
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from daedal.data import Dataset, increasing, short
from daedal.errors import DataError, SimulationError, check_whole_number
from daedal.models import Model
from daedal.simulation.delays import started
from daedal.simulation.forcing import Forcing, make_forcing
from daedal.systems import System, build

MEMORY = 0.8  # share of the machine's memory that results may take


@dataclass(frozen=True, eq=False)
class Request:
    """A system, the times at which values are wanted, and its inputs from the start to the last of them."""

    system: System
    times: np.ndarray
    forcing: Forcing


def check_request(verb: str, model: Any, times: Any, inputs: Any, t0: Any) -> Request:
    """Check the arguments that every simulating verb takes; a Dataset stands for its times, inputs and start."""
    if isinstance(model, Dataset) or isinstance(times, (Model, System)):
        raise SimulationError(
            f"{verb} takes the model first and the times or data second.", "Exchange the two arguments."
        )
    if not isinstance(model, (Model, System)):
        raise SimulationError(
            f"{verb} takes a Model or a System, got {type(model).__name__}.", "Build one with Model(...)."
        )
    system = model if isinstance(model, System) else build(model)
    given = inputs or {}
    data = times if isinstance(times, Dataset) else None
    if isinstance(times, Dataset):
        known = {name: signal for name, signal in times.inputs.items() if name in system.model.input_names}
        given = {**known, **given}
        t0 = times.t0 if t0 is None else t0
        times = times.sample_times
    grid = _checked_times(times)
    start = _checked_start(t0, grid)
    return Request(started(system, start), grid, make_forcing(system, given, start, float(grid[-1]), data))


def checked_values(values: Any) -> Mapping[Any, float] | None:
    """Parameter values as a mapping, or None."""
    if not (values is None or isinstance(values, Mapping)):
        raise SimulationError(
            f"The values of a simulation must be a mapping, got {type(values).__name__}.", "Write values={'k': 6.25}."
        )
    return values


def checked_realizations(realizations: Any) -> int:
    """A whole number of at least one."""
    sentence = "The realizations must be a whole number from 1 on"
    return check_whole_number(realizations, SimulationError, sentence, "Write realizations=100.", least=1)


def check_memory(needed: float, remedy: str) -> None:
    """Say how much is needed before starting what cannot end well."""
    try:
        from os import sysconf

        available = MEMORY * sysconf("SC_PHYS_PAGES") * sysconf("SC_PAGE_SIZE")
    except (ImportError, ValueError, OSError):
        return
    if needed > available:
        raise SimulationError(
            f"The values of this simulation take {needed / 1e9:.1f} GB, more than this machine has.", remedy
        )


def _checked_times(times: Any) -> np.ndarray:
    if isinstance(times, str) or not issubclass(type(times), Sized):
        raise SimulationError(
            f"The times of a simulation must be a list of numbers or a Dataset, got {type(times).__name__}.",
            "Write for example np.arange(101) * 0.1.",
        )
    try:
        return increasing(times)
    except DataError as error:
        raise SimulationError(f"The simulation cannot run: its {error.sentence}", error.remedy) from None


def _checked_start(t0: Any, grid: np.ndarray) -> float:
    if t0 is None:
        return float(grid[0])
    if not (isinstance(t0, Real) and np.isfinite(float(t0))):
        raise SimulationError(f"The start t0 must be a finite number, got {t0!r}.", "Write for example t0=0.0.")
    if t0 > grid[0]:
        raise SimulationError(
            f"The start t0 = {short(float(t0))} lies after the first time {short(grid[0])}.", "Move it before."
        )
    return float(t0)
