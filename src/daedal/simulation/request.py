"""What a simulation was asked for, checked: the system, the times, and the known inputs."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from daedal import data, memory, systems
from daedal.errors import SimulationError, check_whole_number
from daedal.experiments import Drive, describe_defaults, find_measured, match_drive, unite_units
from daedal.models import Model
from daedal.simulation.forcing import Forcing, make_forcing
from daedal.systems import System, build

if TYPE_CHECKING:
    from datetime import datetime

SHORTEST = 1e-280  # of a simulation: its steps and rates must still be numbers
PER_TIME = 400.0, 4e-6  # bytes and seconds for each time at which values are wanted, to find and keep steps: at least


@dataclass(frozen=True, eq=False)
class Request:
    """A system, the times at which values are wanted, and its inputs from the start to the last of them."""

    system: System
    times: np.ndarray
    forcing: Forcing
    notes: tuple[str, ...] = ()  # what was taken for inputs that were not given
    origin: "datetime | None" = None  # the date at time 0, where data tell it
    units: Mapping[str, str] = field(default_factory=dict)  # of the model, and of data


def check_request(verb: str, model: Any, times: Any, inputs: Any, t0: Any) -> Request:
    """Check the arguments that every simulating verb takes; a Dataset stands for its times, inputs and start."""
    known = isinstance(model, (Model, System))
    if isinstance(times, (Model, System)) or (not known and isinstance(model, data.Dataset)):
        raise SimulationError(
            f"{verb} takes the model first and the times or data second.", "Exchange the two arguments."
        )
    if not known:
        raise SimulationError(
            f"{verb} takes a Model or a System, got {type(model).__name__}.", "Build one with Model(...)."
        )
    system = model if isinstance(model, System) else build(model)
    owner, roles = f"Model '{system.model.name}'", system.model.names
    request = make_request(system, match_drive(owner, roles, times, inputs, t0, system.model.defaults))
    measured = find_measured(times)
    units = unite_units(system.model, [measured] if measured else [])
    return replace(request, origin=measured.origin if measured else None, units=units)


def make_request(system: System, drive: Drive) -> Request:
    """The simulation of a system under what drives it."""
    span = drive.end - drive.start
    if 0.0 < span < SHORTEST:
        raise SimulationError(
            f"The simulation of model '{system.model.name}' would last {span:.2g}, for parts of which there are no "
            "numbers.",
            "Measure time in a smaller unit.",
        )
    system = systems.start_from_history(system, drive.start) if system.model.history else system
    notes = describe_defaults(system.model, drive.assumed)
    return Request(system, drive.times, make_forcing(system, drive.signals, drive.start, drive.end), notes)


def check_values(values: Any) -> Mapping[Any, float] | None:
    """Parameter values as a mapping, or None."""
    if not (values is None or isinstance(values, Mapping)):
        raise SimulationError(
            f"The values of a simulation must be a mapping, got {type(values).__name__}.", "Write values={'k': 6.25}."
        )
    return values


def check_realizations(realizations: Any) -> int:
    """A whole number of at least one."""
    sentence = "The realizations must be a whole number from 1 on"
    return check_whole_number(realizations, SimulationError, sentence, "Write realizations=100.", least=1)


def check_memory(system: System, needed: float, remedy: str) -> None:
    """Refuse a simulation whose results cannot be held, before it starts."""
    if needed > memory.SMALL:
        memory.check_memory(needed, f"The simulation of model '{system.model.name}'", remedy)


def check_times(system: System, times: np.ndarray) -> None:
    """Refuse more times than steps can be held for, and say it where there are so many that they take long."""
    size, seconds = PER_TIME
    check_memory(system, size * times.size, "Ask for fewer times.")
    if size * times.size > memory.SMALL:
        from daedal.progress import announce

        work = f"Simulating '{system.model.name}' at {times.size:.3g} times"
        announce(work, seconds * times.size, "to make it shorter, ask for fewer times")
