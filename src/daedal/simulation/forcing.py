"""Inputs and disturbances as the functions of time that a solver asks for, derivatives included."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, perm
from typing import NamedTuple, Protocol

import casadi as ca
import numpy as np

from daedal import simulation
from daedal.data import Signal
from daedal.errors import SimulationError, quoted
from daedal.experiments import check_smooth
from daedal.symbolic import Delayed, find_operator, jet, list_symbols
from daedal.systems import System

LOOKS = 8  # at everything between start and end, to see how large it becomes
SOUNDING = 0.4  # of a piece of an input
MOST_SETS = 8  # of parameters, at whose values features of time are looked for


class DisturbancePath(Protocol):
    """One realization of the disturbances as a function of the time since the start."""

    places: tuple[int, ...]

    def __call__(self, elapsed: float) -> np.ndarray: ...
    def differentiate(self, elapsed: float) -> np.ndarray: ...


class Clock(NamedTuple):
    """Seconds between samples, and from a sample to its arrival."""

    every: float
    delay: float

    def list_instants(self, start: float, end: float) -> np.ndarray:
        """All between start and end at which a sample is taken or arrives."""
        taken = start + self.every * np.arange(int((end - start) / self.every) + 2)
        instants = np.concatenate([taken, taken + self.delay]) if self.delay else taken
        return instants[(instants > start) & (instants < end)]


@dataclass(frozen=True, eq=False)
class Forcing:
    """Values of all exogenous symbols of a system at any time between start and end."""

    signals: Mapping[str, Signal]
    tracks: tuple[tuple[Signal, int] | None, ...]  # signal and order of derivative; None for what is zero
    start: float
    end: float
    path: "DisturbancePath | None" = None  # a realization of the disturbances; they are zero without
    stages: frozenset[int] = frozenset()  # places of what is constant between instants
    bends: tuple[float, ...] = ()  # where kinks of inputs are that stay as they were typed
    features: tuple[float, ...] = ()  # where something that follows from time alone would be stepped over
    clocks: tuple[Clock, ...] = ()  # of the values that are held

    def find_jumps(self) -> list[float]:
        """Times strictly between start and end at which a value that enters the equations jumps, and features."""
        times = {float(t) for track in self.tracks if track for t in track[0].jumps(track[1])}
        for clock in self.clocks:
            times.update(clock.list_instants(self.start, self.end).tolist())
        return sorted(t for t in times.union(self.features, self.bends) if self.start < t < self.end)

    def find_kinks(self) -> np.ndarray:
        """Times strictly between start and end at which an input goes over from one polynomial to another."""
        times = [track[0].jumps(track[0].derivatives) for track in self.tracks if track]
        joined = np.unique(np.concatenate([np.zeros(0), *times]))
        return joined[(joined > self.start) & (joined < self.end)]

    @cached_property
    def soundings(self) -> np.ndarray:
        """A time within every piece of an input that moves, beside its middle, where it may pass zero."""
        times = [np.zeros(0)]
        for signal in {id(track[0]): track[0] for track in self.tracks if track}.values():
            breaks, coefficients = signal.pieces()
            moving = np.any(coefficients[1:] != 0.0, axis=0)
            times.append((breaks[:-1] + SOUNDING * np.diff(breaks))[moving])
        joined = np.unique(np.concatenate(times))
        return joined[(joined > self.start) & (joined < self.end)]

    @cached_property
    def _held(self) -> tuple[list[int], np.ndarray, np.ndarray]:
        """All stages at once: their places, instants, and values from each instant on as (instant, stage)."""
        places = sorted(self.stages)
        signals = [track[0] for place in places if (track := self.tracks[place])]
        instants = np.unique(np.concatenate([signal.times for signal in signals]))
        rows = [np.searchsorted(signal.times, instants, side="right") - 1 for signal in signals]
        return places, instants, np.stack([signal.values[row] for signal, row in zip(signals, rows, strict=True)], 1)

    def write_stages(self, times: np.ndarray | float, result: np.ndarray) -> None:
        """Write all stages at times into their places on the last axis, right-continuous at their instants."""
        if self.stages:
            places, instants, values = self._held
            result[..., places] = values[np.maximum(np.searchsorted(instants, times, side="right") - 1, 0)]

    @cached_property
    def _moving(self) -> tuple[tuple[Signal, int] | None, ...]:
        """The tracks without the stages."""
        if not self.stages:
            return self.tracks
        return tuple(None if place in self.stages else track for place, track in enumerate(self.tracks))

    def find_instants(self) -> np.ndarray:
        """Those at which a step must end whatever is near: between two of them everything may happen."""
        tracks = [self.tracks[place] for place in self.stages]
        jumps = [track[0].jumps() for track in tracks if track]
        jumps += [clock.list_instants(self.start, self.end) for clock in self.clocks]
        times = np.unique(np.concatenate([np.array(self.features), np.array(self.bends), *jumps]))
        return times[(times > self.start) & (times < self.end)]

    def at(self, time: float) -> np.ndarray:
        """The values at one time, right-continuous at jumps."""
        values = np.array([0.0 if track is None else float(track[0](time, track[1])) for track in self._moving])
        self.write_stages(time, values)
        if self.path is not None:
            values[list(self.path.places)] = self.path(time - self.start)
        return values

    def find_largest(self, values: np.ndarray) -> np.ndarray:
        """Of given values and those at a few times, the largest of each symbol; what is no signal keeps its value."""
        looks = np.concatenate([values[None], self.at_all(np.linspace(self.start, self.end, LOOKS))])
        known = [place for place, track in enumerate(self.tracks) if track is not None]
        known += list(self.path.places) if self.path is not None else []
        largest = values.copy()
        largest[known] = looks[np.argmax(np.abs(np.nan_to_num(looks[:, known])), axis=0), known]
        return largest

    def at_all(self, times: np.ndarray) -> np.ndarray:
        """The values at many times, as (time, symbol)."""
        columns = [np.zeros(times.size) if track is None else track[0](times, track[1]) for track in self._moving]
        if self.path is not None and times.size:
            drawn = np.array([self.path(time - self.start) for time in times])
            for column, place in enumerate(self.path.places):
                columns[place] = drawn[:, column]
        values = np.stack(columns, axis=1) if columns else np.zeros((times.size, 0))
        self.write_stages(times, values)
        return values

    def make_segment(self, first: float, last: float) -> "Segment":
        """The values on one stretch without jumps, fast; at its last time they are the limits from the left."""
        held = np.zeros(len(self.tracks))
        self.write_stages(first + (last - first) / 2, held)
        stages = sorted(self.stages)
        return Segment(self._moving, first, last, self.path, first - self.start, (stages, held[stages]))


Part = tuple[int, list[float], list[list[float]]]  # place, breaks, coefficients of each piece (highest power first)


class Segment:
    """Piecewise polynomials on one stretch, as functions of the time since its start, never looking beyond its ends.

    Counting from the start of the stretch keeps every digit when times are large, such as seconds since 1970.
    """

    def __init__(
        self,
        tracks: tuple[tuple[Signal, int] | None, ...],
        first: float,
        last: float,
        path: "DisturbancePath | None" = None,
        since: float = 0.0,
        held: tuple[list[int], np.ndarray] | None = None,
    ) -> None:
        self._path, self._since = path, since
        self._held = held if held and held[0] else None
        self._places = [] if path is None else list(path.places)
        known = [(place, *track) for place, track in enumerate(tracks) if track]
        self._values = [_make_part(place, signal, order, first, last) for place, signal, order in known]
        self._slopes = [_make_part(place, signal, order + 1, first, last) for place, signal, order in known]

    def write_values(self, elapsed: float, result: np.ndarray) -> None:
        """Write all values into the result; disturbances without a path stay as they are."""
        _evaluate(self._values, elapsed, result)
        if self._held is not None:
            result[self._held[0]] = self._held[1]
        if self._path is not None:
            result[self._places] = self._path(self._since + elapsed)

    def write_slopes(self, elapsed: float, result: np.ndarray) -> None:
        """Write the derivatives of all values, which exist within a piece whatever happens at its ends."""
        _evaluate(self._slopes, elapsed, result)
        if self._path is not None:
            result[self._places] = self._path.differentiate(self._since + elapsed)


def _make_part(place: int, signal: Signal, order: int, first: float, last: float) -> Part:
    """A signal's derivative on the pieces between first and last."""
    breaks, coefficients = signal.pieces()
    low = max(int(np.searchsorted(breaks, first, side="right")) - 1, 0)
    high = min(max(int(np.searchsorted(breaks, last, side="left")), low + 1), breaks.size - 1)
    powers = range(len(coefficients) - 1, order - 1, -1)
    scaled = np.array([perm(k, order) * coefficients[k, low:high] for k in powers]).reshape(len(powers), high - low)
    return place, (breaks[low:high] - first).tolist(), scaled.T.tolist()


def _evaluate(parts: list[Part], elapsed: float, result: np.ndarray) -> None:
    for place, breaks, coefficients in parts:
        piece = bisect_right(breaks, elapsed, 1) - 1
        within = elapsed - breaks[piece]
        value = 0.0
        for coefficient in coefficients[piece]:
            value = value * within + coefficient
        result[place] = value


def make_forcing(system: System, signals: Mapping[str, Signal], start: float, end: float) -> Forcing:
    """Line up the inputs, which cover that time, with what the system contains of them."""
    exogenous, switching = system.reduction.exogenous, system.reduction.switching
    if switching is None or not (switching.known or switching.bends):
        return Forcing(signals, tuple(_get_track(system, signals, name) for name in exogenous), start, end)
    held = simulation.track_stages(system, signals, start, end)
    bends = simulation.find_bends(system, {**signals, **held}, start, end)
    tracks = [(held[name], 0) if name in held else _get_track(system, signals, name) for name in exogenous]
    places = frozenset(place for place, name in enumerate(exogenous) if name in held)
    return Forcing(signals, tuple(tracks), start, end, stages=places, bends=bends)


def see_features(system: System, forcing: Forcing, times: np.ndarray, parameters: Sequence[np.ndarray]) -> Forcing:
    """The same, with break points where steps between samples would miss what the equations contain of time."""
    switching = system.reduction.switching
    if switching is not None and any("time" in list_symbols(switch.function) for switch in switching.switches):
        moments = set(forcing.features)
        for numbers in parameters[:MOST_SETS]:
            moments |= simulation.find_switch_times(system, forcing, numbers)
        forcing = replace(forcing, features=tuple(sorted(moments)))
    if not contains_time(system):
        return forcing
    stops = np.concatenate([times, forcing.find_jumps()])
    features = simulation.find_features(system, forcing, stops, parameters[:MOST_SETS])
    return replace(forcing, features=(*forcing.features, *features))


def contains_time(system: System) -> bool:
    """Whether equations contain the time itself."""
    reduction = system.reduction
    if "has time" not in reduction.compiled:
        reduction.compiled["has time"] = "time" in list_symbols(ca.vertcat(reduction.G, reduction.top))
    return reduction.compiled["has time"]


def _get_track(system: System, signals: Mapping[str, Signal], symbol: str) -> tuple[Signal, int] | None:
    base, order = jet(symbol)
    if base not in signals:
        return None
    signal = signals[base]
    if order > signal.derivatives:
        if np.ptp(signal.values) == 0.0:  # a constant has every derivative
            return None
        check_smooth(base, signal, order, _explain_need(system, base, order), SimulationError)
    return signal, order


def _explain_need(system: System, base: str, order: int) -> str:
    """Why that derivative occurs: equations that contain the input and are differentiated, or where it is typed."""
    reduction = system.reduction
    equations = {name: reduction.equations.residuals[i] for i, name in enumerate(reduction.equations.names)}
    highest = {name: _find_order(sx, base) for name, sx in equations.items()}
    again = dict(zip(equations, reduction.offsets.equations.tolist(), strict=True))
    differentiated = [name for name in equations if again[name] and highest[name] + again[name] >= order]
    if differentiated:
        many = len(differentiated) > 1
        return f"equation{'s' * many} {quoted(differentiated)} {'are' if many else 'is'} differentiated"
    typed = [f"equation '{name}'" for name in equations if highest[name] >= order]
    typed += [f"output '{name}'" for name, sx in reduction.observed.items() if _find_order(sx, base) >= order]
    return f"{' and '.join(typed)} contain{'s' * (len(typed) == 1)} it"


def _find_order(sx: ca.SX, base: str) -> float:
    """The highest derivative of a symbol in an expression, delayed or not."""
    leaves = list_symbols(sx)
    inside = [
        _find_order(meaning.operand.sx, base) for leaf in leaves if isinstance(meaning := find_operator(leaf), Delayed)
    ]
    return max([-inf, *inside, *(order for name, order in map(jet, leaves) if name == base)])
