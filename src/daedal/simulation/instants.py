"""Stages of known conditions: when numbers that follow from time and inputs alone change, and what they are between.

A stage is a function of time, of inputs and of earlier stages that is constant between instants: those at which its
argument g crosses zero, or a whole number where it rounds. Between two knots (samples of the inputs inside g, instants
of the stages inside it) g is smooth; where it bends there it is sampled. An instant is the first number t that stands
on the new side of g = n: for time − 5.03 it is 5.03, to the last bit.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property

import casadi as ca
import numpy as np

from daedal.data import Signal
from daedal.errors import SimulationError, counted
from daedal.progress import watch
from daedal.simulation.forcing import Forcing
from daedal.simulation.locating import (
    SAME,
    Bends,
    Joined,
    Reader,
    Side,
    bisect,
    divide,
    drop_near,
    evaluate,
    find_ladders,
    find_lowest,
    step_beyond,
)
from daedal.symbolic import intern_symbol, list_symbols, stack_symbols
from daedal.systems import Known, System

MOST = 1_000_000  # instants of one stage


def track_stages(system: System, signals: Mapping[str, Signal], start: float, end: float) -> dict[str, Signal]:
    """Each known stage of a system from start to end, by its symbol, with those that only others are made of."""
    switching, compiled = system.reduction.switching, system.reduction.compiled
    assert switching is not None
    if "straight stages" not in compiled:
        compiled["straight stages"] = _Lines(switching.tracked)
        compiled["ladders"] = find_ladders(switching.tracked)
    tracks = {**signals, **compiled["straight stages"].track(start, end)}
    for ladder in compiled["ladders"] if end > start else ():
        tracks |= ladder.track(signals, start, end)
    title, remedy = f"finding when inputs of '{system.model.name}' switch:", "nest fewer functions that switch"
    for known in watch(switching.tracked, title, remedy):
        if known.name not in tracks:
            if known.name not in compiled:
                compiled[known.name] = Joined(known) if known.joined else _Formula(known)
            tracks[known.name] = compiled[known.name].track(tracks, start, end)
    return {known.name: tracks[known.name] for known in switching.tracked}


def find_bends(system: System, tracks: Mapping[str, Signal], start: float, end: float) -> tuple[float, ...]:
    """When kinks of inputs change that stay as they were typed; `tracks` are signals and stages."""
    switching, compiled = system.reduction.switching, system.reduction.compiled
    if switching is None or not switching.bends:
        return ()
    if "bends" not in compiled:
        compiled["bends"] = Bends(switching.bends)
    return tuple(compiled["bends"].find_times(tracks, start, end).tolist())


def find_switch_times(system: System, forcing: Forcing, parameters: np.ndarray) -> set[float]:
    """When switches change that follow from time, stages and parameters alone, at given values of these.

    They are located wherever the parameters move them; but what comes and goes within a step has to be seen first. A
    straight line of time crosses once, and needs no help.
    """
    switching, exogenous = system.reduction.switching, system.reduction.exogenous
    assert switching is not None
    tracks = {name: track[0] for name, track in zip(exogenous, forcing.tracks, strict=True) if track}
    tracks = {known.name: tracks[known.name] for known in switching.known}
    old = stack_symbols(system.reduction.parameters)
    times: dict[str, np.ndarray] = {}
    helping: set[str] = set()
    for switch in switching.switches:
        g = ca.substitute(switch.function, old, ca.SX(parameters)) if old.shape[0] else switch.function
        inside = set(list_symbols(g))
        if "time" not in inside or not inside <= {"time", *tracks}:
            continue
        formula = _Formula(Known(switch.mode, ca.sign(g), g, False, switch.text))
        signal = formula.track(tracks, forcing.start, forcing.end)
        times[switch.mode], tracks[switch.mode] = signal.times, signal
        others = inside.difference({"time"})
        if others or any(ca.which_depends(g, intern_symbol("time").sx, 2, False)):
            helping |= {switch.mode, *others.intersection(times)}
    joined = np.concatenate([np.zeros(0), *(times[mode] for mode in helping)])
    return {float(time) for time in joined if forcing.start < time < forcing.end}


class _Lines:
    """Stages whose arguments are straight lines of time alone, all at once: a table may have thousands of them."""

    def __init__(self, stages: Sequence[Known]) -> None:
        time = intern_symbol("time").sx
        alone = [known for known in stages if not known.rounds and list_symbols(known.argument) == ["time"]]
        arguments = ca.vertcat(ca.SX(0, 1), *(known.argument for known in alone))
        bent = ca.which_depends(arguments, time, 2, True) if alone else []
        straight = [place for place, bends in enumerate(bent) if not bends]
        own = ca.SX.sym("own", len(straight))  # each has a time of its own
        self.names = [alone[place].name for place in straight]
        formulas = [
            ca.substitute(ca.vertcat(alone[place].argument, alone[place].value), time, own[number])
            for number, place in enumerate(straight)
        ]
        columns = ca.horzcat(ca.SX(2, 0), *formulas)
        self._argument = ca.Function("arguments", [own], [columns[0, :].T])
        self._value = ca.Function("values", [own], [columns[1, :].T])

    def track(self, start: float, end: float) -> dict[str, Signal]:
        """Those that change once between start and end, at an instant that is found at once, or not at all."""
        if not self.names or not end > start:
            return {}
        count = len(self.names)
        bounds = np.tile([start, end], (count, 1))
        low, high = self._argument(bounds).full().T
        side = np.sign(high - low)
        with np.errstate(all="ignore"):
            guess = start - (end - start) * low / (high - low)
        crosses = (guess > start) & (guess < end)
        guess = np.where(crosses, guess, (start + end) / 2)

        near = _list_neighbours(guess)
        beyond = side[:, None] * self._argument(near).full() >= 0
        first = np.argmax(beyond, axis=1)
        root = near[np.arange(count), first]
        apart = SAME * np.spacing(max(abs(start), abs(end)))
        inside = beyond[:, -1] & (first > 0) & (root - start > apart) & (end - root > apart) & crosses
        never = ~crosses & (low * high > 0)
        middles = np.stack([(start + root) / 2, (root + end) / 2, np.full(count, step_beyond(end))], 1)
        values = self._value(middles).full()
        return {
            name: Signal(np.array([start, root[k], end]), values[k], "zoh")
            if inside[k]
            else Signal(bounds[k], values[k, 1:], "zoh")
            for k, name in enumerate(self.names)
            if (inside[k] or never[k]) and np.isfinite(values[k]).all()
        }


def _list_neighbours(times: np.ndarray) -> np.ndarray:
    """Numbers around each time (time, neighbour), rising."""
    return times[:, None] + np.arange(-SAME, SAME + 1) * np.spacing(np.abs(times))[:, None]


class _Formula:
    """A stage as a function of numbers."""

    def __init__(self, known: Known) -> None:
        self.known, self.rounds = known, known.rounds
        self.symbols = [name for name in list_symbols(ca.vertcat(known.argument, known.value)) if name != "time"]
        vector = stack_symbols(["time", *self.symbols])
        self._argument = ca.Function("argument", [vector], [known.argument])
        self._value = ca.Function("value", [vector], [known.value])

    @cached_property
    def bends(self) -> bool:
        """Whether the argument is no straight line where inputs are straight lines."""
        moving = [name for name in list_symbols(self.known.argument) if not name.startswith("stage ")]
        return any(ca.which_depends(self.known.argument, stack_symbols(moving), 2, False))

    def compute_argument(self, times: np.ndarray, others: np.ndarray) -> np.ndarray:
        """The argument at times, with the numbers of all other symbols (symbol, time)."""
        return evaluate(self._argument, times, others)[0]

    def compute_value(self, times: np.ndarray, others: np.ndarray) -> np.ndarray:
        """The stage itself."""
        return evaluate(self._value, times, others)[0]

    def track(self, tracks: Mapping[str, Signal], start: float, end: float) -> Signal:
        """It as a signal that is held between its instants."""
        return _track(self, tracks, start, end)


def _track(formula: _Formula, tracks: Mapping[str, Signal], start: float, end: float) -> Signal:
    """A stage as a signal that is held between its instants."""
    reader = Reader(tuple(tracks[name] for name in formula.symbols))
    after = np.array([step_beyond(end)])  # at the end it is what it becomes there
    last = formula.compute_value(after, np.array([[float(signal(end))] for signal in reader.signals]).reshape(-1, 1))
    times = np.array([start])
    if end > start:
        times = _find_candidates(formula, reader, start, end)
    middles = times + np.diff(times, append=end) / 2
    values = formula.compute_value(middles, reader.read(middles, middles)) if end > start else last
    if not (np.isfinite(values).all() and np.isfinite(last).all()):
        wrong = np.append(middles, end)[~np.isfinite(np.append(values, last))][0]
        raise SimulationError(
            f"The condition '{formula.known.text}' is not a number at time {wrong:g}.",
            "Correct the inputs, or the formula, so that it is one at all times.",
        )
    new = np.append(True, np.diff(values) != 0.0)
    beyond = end if end > start else start + 1.0
    return Signal(np.append(times[new], beyond), np.append(values[new], last), "zoh")


def _find_candidates(formula: _Formula, reader: Reader, start: float, end: float) -> np.ndarray:
    """The start and all times after it at which the stage may change."""
    knots = edges = reader.find_knots(start, end)
    bends = formula.bends or reader.bends
    if bends:
        edges = _add_turns(formula, reader, divide(knots))
    roots = _find_crossings(formula, reader, edges, bends)
    return np.unique(np.concatenate([knots[:-1], drop_near(roots, knots)]))


def _add_turns(formula: _Formula, reader: Reader, edges: np.ndarray) -> np.ndarray:
    """Edges, and where a parabola through three of them turns: what crosses and comes back between two is found."""
    g = formula.compute_argument(edges, reader.read(edges, edges))
    left, right = np.diff(g)[:-1], np.diff(g)[1:]
    before, after = np.diff(edges)[:-1], np.diff(edges)[1:]
    with np.errstate(all="ignore"):
        turns = np.flatnonzero(left * right < 0)
        rise, fall = left[turns] / before[turns], right[turns] / after[turns]
        vertex = edges[turns] + before[turns] / 2 + rise / (rise - fall) * (before + after)[turns] / 2
    inside = (vertex > edges[turns]) & (vertex < edges[turns + 2])
    sides = np.sign(g[turns + 1])
    towards = (sides != 0) & (np.sign(left[turns]) == -sides)  # zero, and away again

    def compute(times: np.ndarray) -> np.ndarray:
        return sides[towards] * formula.compute_argument(times, reader.read(times, times))

    sharp = find_lowest(compute, edges[turns][towards], edges[turns + 2][towards])
    return np.unique(np.concatenate([edges, vertex[inside], sharp]))


def _find_crossings(formula: _Formula, reader: Reader, edges: np.ndarray, bends: bool) -> np.ndarray:
    """The first numbers on the new side of whole numbers, or of zero, between each two edges."""
    left, right = edges[:-1], edges[1:]
    middles = left + (right - left) / 2
    ends = np.concatenate([left, right])
    both = formula.compute_argument(ends, reader.read(ends, np.tile(middles, 2)))
    low, high = both[: left.size], both[left.size :]
    if not np.isfinite(both).all():
        raise SimulationError(
            f"The condition '{formula.known.text}' cannot be told from time {ends[~np.isfinite(both)].min():g} on: "
            "what it compares is not a finite number.",
            "Correct the inputs, or the formula, so that it is one at all times.",
        )
    rising = high > low
    if formula.rounds:
        first = np.where(rising, np.floor(low) + 1, np.ceil(low) - 1)  # the first whole number on the way, and the last
        final = np.where(rising, np.floor(high), np.ceil(high))
        many = np.where(np.isfinite(both).reshape(2, -1).all(axis=0), np.abs(final - first) + 1, 0)
        many = np.where(np.where(rising, final >= first, final <= first) & (low != high), many, 0)
        if many.sum() > MOST:
            raise SimulationError(
                f"'{formula.known.text}' jumps {counted(int(many.sum()), 'time')} between {edges[0]:g} and "
                f"{edges[-1]:g}.",
                "Simulate a shorter time, or leave the rounding out.",
            )
        many = many.astype(np.int64)
        cell = np.repeat(np.arange(left.size), many)
        number = np.arange(cell.size) - np.repeat(np.cumsum(many) - many, many)
        target = first[cell] + np.where(rising[cell], number, -number)
    else:
        cell = np.flatnonzero(np.where(rising, (low < 0) & (high >= 0), (low > 0) & (high <= 0)))
        target = np.zeros(cell.size)
    if not cell.size:
        return np.zeros(0)
    side = np.where(rising[cell], 1.0, -1.0)

    def is_beyond(times: np.ndarray, which: np.ndarray) -> np.ndarray:
        g = formula.compute_argument(times, reader.read(times, middles[cell[which]]))
        return side[which] * (g - target[which]) >= 0

    lower, upper = left[cell], right[cell]
    if not bends:
        guess = lower + (upper - lower) * (target - low[cell]) / (high - low)[cell]
        lower, upper = _narrow(is_beyond, lower, upper, guess)
    return bisect(is_beyond, lower, upper)


def _narrow(is_beyond: Side, lower: np.ndarray, upper: np.ndarray, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Brackets between neighbours of a guess, where these are on different sides."""
    near = np.clip(_list_neighbours(guess), lower[:, None], upper[:, None])
    which = np.repeat(np.arange(guess.size), near.shape[1])
    beyond = is_beyond(near.ravel(), which).reshape(near.shape)
    first = np.argmax(beyond, axis=1)
    brackets = beyond[:, -1] & (first > 0)
    rows = np.arange(guess.size)
    return np.where(brackets, near[rows, first - 1], lower), np.where(brackets, near[rows, first], upper)
