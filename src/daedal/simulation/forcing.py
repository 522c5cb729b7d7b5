"""Inputs and disturbances as the functions of time that a solver asks for, derivatives included."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from math import perm
from typing import Any

import numpy as np

from daedal.data import Signal
from daedal.errors import DaedalError, DataError, SimulationError, nearest, quoted
from daedal.models.declarations import key_name
from daedal.symbolic import jet
from daedal.systems import System


@dataclass(frozen=True, eq=False)
class Forcing:
    """Values of all exogenous symbols of a system at any time between start and end."""

    signals: Mapping[str, Signal]
    tracks: tuple[
        tuple[Signal, int] | None, ...
    ]  # signal and order of derivative; None for a disturbance, which is zero
    start: float
    end: float

    def jumps(self) -> list[float]:
        """Times strictly between start and end at which a value that enters the equations jumps."""
        times = {float(t) for track in self.tracks if track for t in track[0].jumps(track[1])}
        return sorted(t for t in times if self.start < t < self.end)

    def at(self, time: float) -> np.ndarray:
        """The values at one time, right-continuous at jumps."""
        return np.array([0.0 if track is None else float(track[0](time, track[1])) for track in self.tracks])

    def at_all(self, times: np.ndarray) -> np.ndarray:
        """The values at many times, as (time, symbol)."""
        columns = [np.zeros(times.size) if track is None else track[0](times, track[1]) for track in self.tracks]
        return np.stack(columns, axis=1) if columns else np.zeros((times.size, 0))

    def between(self, first: float, last: float) -> "Segment":
        """A fast evaluator for one stretch without jumps; at its last time it gives the limit from the left."""
        return Segment(self.tracks, first, last)


class Segment:
    """Evaluate piecewise polynomials at one time after another, never looking beyond the ends of the stretch."""

    def __init__(self, tracks: tuple[tuple[Signal, int] | None, ...], first: float, last: float) -> None:
        self._parts = [_part(*track, first, last) if track else None for track in tracks]
        self._slopes = [_part(track[0], track[1] + 1, first, last) if track else None for track in tracks]

    def __call__(self, time: float) -> list[float]:
        return [0.0 if part is None else _evaluated(part, time) for part in self._parts]

    def slope(self, time: float) -> list[float]:
        """The derivatives of all values, which exist within a piece whatever happens at its ends."""
        return [0.0 if part is None else _evaluated(part, time) for part in self._slopes]


def _part(signal: Signal, order: int, first: float, last: float) -> tuple[list[float], list[list[float]]]:
    """Breaks and coefficients (highest power first) of a signal's derivative on the pieces between first and last."""
    breaks, coefficients = signal.pieces()
    low = max(int(np.searchsorted(breaks, first, side="right")) - 1, 0)
    high = min(max(int(np.searchsorted(breaks, last, side="left")), low + 1), breaks.size - 1)
    powers = range(len(coefficients) - 1, order - 1, -1)
    scaled = np.array([perm(k, order) * coefficients[k, low:high] for k in powers]).reshape(len(powers), high - low)
    return breaks[low:high].tolist(), scaled.T.tolist()


def _evaluated(part: tuple[list[float], list[list[float]]], time: float) -> float:
    breaks, coefficients = part
    piece = max(bisect_right(breaks, time) - 1, 0)
    elapsed = time - breaks[piece]
    value = 0.0
    for coefficient in coefficients[piece]:
        value = value * elapsed + coefficient
    return value


def forcing(system: System, inputs: Mapping[Any, Any], start: float, end: float) -> Forcing:
    """Check the given inputs against what the system needs from start to end, and line them up."""
    model = system.model
    given = {key_name(key): value for key, value in inputs.items()}
    for name in given:
        if name not in model.input_names:
            raise SimulationError(f"Model '{model.name}' has no input '{name}'.", nearest(name, model.input_names))
    missing = [name for name in model.input_names if name not in given]
    if missing:
        raise SimulationError(
            f"Model '{model.name}' needs the input{'s' * (len(missing) > 1)} {quoted(missing)}.",
            f"Give inputs={{'{missing[0]}': Signal(times, values)}}, or a number if it is constant.",
        )
    signals = {name: _signal(name, value, start, end) for name, value in given.items()}
    return Forcing(signals, tuple(_track(system, signals, name) for name in system.reduction.exogenous), start, end)


def _signal(name: str, value: Any, start: float, end: float) -> Signal:
    if isinstance(value, Signal):
        reach = 1e-9 * (value.end - value.start)
        if value.start - reach > start or value.end + reach < end:
            raise SimulationError(
                f"Input '{name}' is known from {value.start:g} to {value.end:g}, "
                f"but the simulation runs from {start:g} to {end:g}.",
                "Give a longer signal, or simulate the time it covers.",
            )
        return value
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        try:
            return Signal(np.array([start, max(end, start + 1.0)]), np.full(2, float(value)))
        except DaedalError as error:
            raise DataError(f"Input '{name}': {error.args[0]}", "Give a finite number.") from None
    raise SimulationError(
        f"Input '{name}' must be a Signal or a number, got {type(value).__name__}.",
        "Write Signal(times, values, intersample='foh'), so that nothing about the time between samples is guessed.",
    )


def _track(system: System, signals: Mapping[str, Signal], symbol: str) -> tuple[Signal, int] | None:
    base, order = jet(symbol)
    if base not in signals:
        return None
    signal = signals[base]
    if order > signal.derivatives:
        times = {1: "first", 2: "second", 3: "third"}.get(order, f"{order}-th")
        able = "'foh' or 'spline'" if order == 1 else "'spline'"
        equations = _differentiated_with(system, symbol)
        raise SimulationError(
            f"The {times} derivative of input '{base}' is needed, because {equations}, but a signal with "
            f"intersample='{signal.intersample}' has none.",
            f"Use intersample={able} for '{base}'." if order <= 3 else "Give the input through a filter in the model.",
        )
    return signal, order


def _differentiated_with(system: System, symbol: str) -> str:
    """Why the derivative occurs: equations that contain the input and are differentiated, or are typed so."""
    from daedal.symbolic import symbols_in

    base = jet(symbol)[0]
    names = [
        name
        for i, name in enumerate(system.reduction.equations.names)
        if system.reduction.offsets.equations[i]
        and base in {jet(s)[0] for s in symbols_in(system.reduction.equations.residuals[i])}
    ]
    return (
        f"the equations {quoted(names)} are differentiated"
        if len(names) > 1
        else f"equation {quoted(names)} is differentiated"
        if names
        else "an equation or output contains it"
    )
