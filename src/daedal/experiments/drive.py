"""What drives a system: times at which values are wanted, and the known inputs from the start to the last of them."""

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from daedal import data
from daedal.data import FrozenMapping, Signal, increasing, short
from daedal.errors import (
    DaedalError,
    DataError,
    EstimationError,
    SimulationError,
    as_float,
    is_real,
    nearest,
    quoted,
    show,
    with_article,
)
from daedal.models import Model, as_name
from daedal.symbolic import Expression

REACH = 1e-9  # of its length: by how much a signal may miss the ends of the time it is needed for, which is rounding
SECONDS = ("s", "sec", "second", "seconds")  # as people write them


@dataclass(frozen=True, eq=False)
class Drive:
    """Times at which values are wanted, and the inputs by name, which cover the time from the start to the last."""

    times: np.ndarray
    start: float
    signals: Mapping[str, Signal]
    assumed: tuple[str, ...] = ()  # those that are the model's defaults

    @property
    def end(self) -> float:
        """The last of the times."""
        return float(self.times[-1])


NONE: Mapping[str, float] = {}


def match_drive(
    owner: str, roles: Mapping[str, str], times: Any, inputs: Any, t0: Any, defaults: Mapping[str, float] = NONE
) -> Drive:
    """Check times, inputs and start against what their owner needs; a Dataset stands for all three.

    `roles` are those of all names of the owner, `defaults` the inputs that need not be given.
    """
    needed = [name for name, role in roles.items() if role == "input"]
    if not (inputs is None or isinstance(inputs, Mapping)):
        raise SimulationError(
            f"The inputs of a simulation must be a mapping, got {type(inputs).__name__}.",
            "Write inputs={'u': Signal(times, values)}.",
        )
    given = {as_name(key): value for key, value in (inputs or {}).items()}
    measured = find_measured(times)
    if measured is not None:
        given = {name: signal for name, signal in measured.inputs.items() if name in needed} | given
        t0 = measured.t0 if t0 is None else t0
        times = measured.sample_times
    grid = _check_times(times)
    start = _check_start(t0, grid)
    for name in given:
        if name not in needed:
            raise _explain_no_input(owner, roles, needed, name)
    assumed = {name: value for name, value in defaults.items() if name not in given}
    given |= assumed
    _check_given(owner, needed, given, measured)
    end = float(grid[-1])
    signals = {name: _make_signal(name, value, start, end) for name, value in given.items()}
    check_covered(signals, start, end, SimulationError)
    return Drive(grid, start, signals, tuple(assumed))


def find_measured(times: Any) -> "data.Dataset | None":
    """The data that stand for times; of a list or an array nothing more needs to be asked, or loaded."""
    return times if not isinstance(times, (np.ndarray, Sequence)) and isinstance(times, data.Dataset) else None


def match_data(model: Model, measured: "data.Dataset") -> Drive:
    """What drove a model in data that hold all of its inputs, but for those with defaults."""
    absent = [name for name in model.input_names if name not in measured.inputs]
    missing = [name for name in absent if name not in model.defaults]
    if missing:
        held = f", only {quoted(measured.inputs)}" if measured.inputs else ""
        raise EstimationError(
            f"The data '{measured.name}' lack the input{'s' * (len(missing) > 1)} {quoted(missing)} of model "
            f"'{model.name}'{held}.",
            f"Give them with the data: Dataset(times, inputs={{'{missing[0]}': ...}}, outputs=...); what is the same "
            f"number throughout may be declared in the model: defaults={{'{missing[0]}': ...}}.",
        )
    check_units(model, measured)
    times, start = measured.sample_times, float(measured.t0)
    signals = dict(measured.inputs) | {
        name: _make_signal(name, model.defaults[name], start, float(times[-1])) for name in absent
    }
    drive = Drive(times, start, {name: signals[name] for name in model.input_names}, tuple(absent))
    check_covered(drive.signals, drive.start, drive.end, EstimationError)
    return drive


def check_units(model: Model, measured: "data.Dataset") -> None:
    """Refuse units of data that are not those of the model, where both tell them; timestamps tell seconds."""
    for name, unit in measured.units.items():
        own = model.units.get(name, unit)
        if own != unit:
            what = "Time" if name == "time" else f"'{name}'"
            raise EstimationError(
                f"{what} has the unit '{own}' in model '{model.name}' and '{unit}' in the data '{measured.name}'.",
                "Convert the data, or correct the unit with with_units(...); nothing is converted.",
            )
    own = model.units.get("time", SECONDS[0])
    if measured.origin is not None and "time" not in measured.units and own not in SECONDS:
        raise EstimationError(
            f"Timestamps become seconds, as those of the data '{measured.name}', but time has the unit '{own}' in "
            f"model '{model.name}'.",
            f"Write the model in seconds, or give times in '{own}': Dataset(times, ..., units={{'time': '{own}'}}).",
        )


def unite_units(model: Model, measured: "Sequence[data.Dataset]") -> Mapping[str, str]:
    """Name → unit of the model, or else of the first data that tell it."""
    told = {name: unit for one in reversed(measured) for name, unit in one.units.items()}
    return FrozenMapping({**told, **model.units})


def describe_defaults(model: Model, assumed: Iterable[str]) -> tuple[str, ...]:
    """What was taken for inputs that were not given."""
    shown = [f"{name} = {short(model.defaults[name])}" for name in dict.fromkeys(assumed)]
    return (f"not given, and taken as the model declares: {', '.join(shown)}",) if shown else ()


def describe_absent(model: Model, sets: "Iterable[data.Dataset]") -> tuple[str, ...]:
    """The same, for inputs that some data lack."""
    lacking = [name for one in sets for name in model.defaults if name not in one.inputs]
    return describe_defaults(model, lacking)


def check_covered(signals: Mapping[str, Signal], start: float, end: float, refusal: type[DaedalError]) -> None:
    """Refuse inputs that are not known from the start to the end."""
    for name, signal in signals.items():
        reach = REACH * (signal.end - signal.start)
        if signal.start - reach > start or signal.end + reach < end:
            raise refusal(
                f"Input '{name}' is known from {short(signal.start)} to {short(signal.end)}, but is needed from "
                f"{short(start)} to {short(end)}.",
                "Give a longer signal, or cut the times to what it covers.",
            )


class _Rough(Protocol):
    """What is asked of a signal here, and of functions of signals."""

    @property
    def derivatives(self) -> int: ...
    @property
    def intersample(self) -> str: ...


def check_smooth(name: str, signal: _Rough, order: int, reason: str, refusal: type[DaedalError]) -> None:
    """Refuse an input that lacks a derivative, which is needed for a reason."""
    if order > signal.derivatives:
        which = {1: "first", 2: "second", 3: "third"}.get(order, f"{order}th")
        able = "'foh' or 'spline'" if order == 1 else "'spline'"
        raise refusal(
            f"The {which} derivative of input '{name}' is needed, because {reason}, but a signal with "
            f"intersample='{signal.intersample}' has none.",
            f"Use intersample={able} for '{name}'." if order <= 3 else "Give the input through a filter in the model.",
        )


def _check_times(times: Any) -> np.ndarray:
    if isinstance(times, str) or not issubclass(type(times), Sized):
        raise SimulationError(
            f"The times of a simulation must be a list of numbers or a Dataset, got {type(times).__name__}.",
            "Write for example np.arange(101) * 0.1.",
        )
    try:
        return increasing(times)
    except DataError as error:
        raise SimulationError(f"The simulation cannot run: its {error.sentence}", error.remedy) from None


def _check_start(t0: Any, grid: np.ndarray) -> float:
    if t0 is None:
        return float(grid[0])
    if not (is_real(t0) and np.isfinite(as_float(t0))):
        raise SimulationError(f"The start t0 must be a finite number, got {show(t0)}.", "Write for example t0=0.0.")
    if t0 > grid[0]:
        raise SimulationError(
            f"The start t0 = {short(float(t0))} lies after the first time {short(grid[0])}.", "Move it before."
        )
    return float(t0)


def _check_given(owner: str, needed: Sequence[str], given: Mapping[str, Any], measured: Any) -> None:
    missing = [name for name in needed if name not in given]
    if missing:
        held = f"; the data have {quoted(measured.inputs) or 'no inputs'}" if measured else ""
        raise SimulationError(
            f"{owner} needs the input{'s' * (len(missing) > 1)} {quoted(missing)}{held}.",
            f"Give inputs={{'{missing[0]}': Signal(times, values)}}, or a number if it is constant"
            f"{', or name the input of the data so' if measured else ''}.",
        )


def _explain_no_input(owner: str, roles: Mapping[str, str], needed: Sequence[str], name: str) -> SimulationError:
    role = roles.get(name)
    if role is None:
        return SimulationError(f"{owner} has no input '{name}'.", nearest(name, needed))
    return SimulationError(
        f"{owner} has no input '{name}': '{name}' is {with_article(role)}.", _INSTEAD[role].format(name)
    )


_INSTEAD = {
    "disturbance": "Leave it out: it is zero without realizations=, and drawn at random with it.",
    "parameter": "Give its number with values={{'{}': ...}}.",
    "unknown": "The equations determine it; give its start in the model's initial.",
}


def _make_signal(name: str, value: Any, start: float, end: float) -> Signal:
    if isinstance(value, Signal):
        return value
    if not is_real(value) or isinstance(value, bool):
        raise SimulationError(
            f"Input '{name}' must be a Signal or a number, got {type(value).__name__}.", _suggest_signal(name, value)
        )
    if not np.isfinite(float(value)):
        raise SimulationError(f"Input '{name}' must be finite, got {value}.", "Give a number or a Signal.")
    last = end if end > start else start + 1.0 + abs(start)
    return Signal(np.array([start, last]), np.full(2, float(value)))


def _suggest_signal(name: str, value: Any) -> str:
    if isinstance(value, Expression):
        return f"Write the expression in the equations in place of '{name}'; the time is dd.time there."
    if callable(value):
        return "Sample the function: Signal(times, [function(t) for t in times], intersample='foh')."
    return "Write Signal(times, values, intersample='zoh' or 'foh'), which says what happens between the samples."
