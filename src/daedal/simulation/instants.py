"""Stages of known conditions: when numbers that follow from time and inputs alone change, and what they are between.

A stage is a function of time, of inputs and of earlier stages that is constant between instants: those at which its
argument g crosses zero, or a whole number where it rounds. Between two knots (samples of the inputs inside g, instants
of the stages inside it) g is smooth; where it bends there it is sampled. An instant is the first number t that stands
on the new side of g = n: for time − 5.03 it is 5.03, to the last bit.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from daedal.data import Signal
from daedal.errors import SimulationError, counted
from daedal.progress import watch
from daedal.simulation.forcing import Forcing
from daedal.symbolic import intern_symbol, list_symbols, stack_symbols
from daedal.systems import Known, System

SAMPLES = 2**14  # over the whole time, where an argument bends
PARTS = 8  # of each piece of an input then
NEAREST = 80  # steps of the golden section
SAME = 8  # neighbouring numbers that are one instant
MOST = 1_000_000  # instants of one stage


def track_stages(system: System, signals: Mapping[str, Signal], start: float, end: float) -> dict[str, Signal]:
    """Each known stage of a system from start to end, by its symbol."""
    switching, compiled = system.reduction.switching, system.reduction.compiled
    assert switching is not None
    if "straight stages" not in compiled:
        compiled["straight stages"] = _Lines(switching.known)
    tracks = {**signals, **compiled["straight stages"].track(start, end)}
    title, remedy = f"finding when inputs of '{system.model.name}' switch:", "nest fewer functions that switch"
    for known in watch(switching.known, title, remedy):
        if known.name not in tracks:
            if known.name not in compiled:
                compiled[known.name] = _Formula(known)
            tracks[known.name] = _track(compiled[known.name], tracks, start, end)
    return {known.name: tracks[known.name] for known in switching.known}


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
        signal = _track(
            _Formula(Known(switch.mode, ca.sign(g), g, False, switch.text)), tracks, forcing.start, forcing.end
        )
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
        middles = np.stack([(start + root) / 2, (root + end) / 2, np.full(count, _step_beyond(end))], 1)
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


def _step_beyond(time: float) -> float:
    """A number after a time that rounding tells from it."""
    return time + SAME * float(np.spacing(abs(time)))


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
        return _map(self._argument, times, others)

    def compute_value(self, times: np.ndarray, others: np.ndarray) -> np.ndarray:
        """The stage itself."""
        return _map(self._value, times, others)


def _map(function: ca.Function, times: np.ndarray, others: np.ndarray) -> np.ndarray:
    points = np.concatenate([times[None], others])
    return (function(points) if times.size < PARTS else function.map(times.size)(points)).full().ravel()


@dataclass(frozen=True, eq=False)
class _Reader:
    """What stands beside time in an argument."""

    signals: tuple[Signal, ...]

    def read(self, times: np.ndarray, middles: np.ndarray) -> np.ndarray:
        """Their values (symbol, time), on the sides of jumps that the middles lie on."""
        return np.array([_read_piece(signal, times, middles) for signal in self.signals]).reshape(-1, times.size)


def _read_piece(signal: Signal, times: np.ndarray, middles: np.ndarray) -> np.ndarray:
    breaks, coefficients = signal.pieces()
    piece = breaks[1:-1].searchsorted(middles, side="right")
    if len(coefficients) == 1:  # held
        return coefficients[0][piece]
    value, elapsed = np.zeros(times.size), times - breaks[piece]
    for row in coefficients[::-1]:
        value = value * elapsed + row[piece]
    return value


def _track(formula: _Formula, tracks: Mapping[str, Signal], start: float, end: float) -> Signal:
    """A stage as a signal that is held between its instants."""
    reader = _Reader(tuple(tracks[name] for name in formula.symbols))
    after = np.array([_step_beyond(end)])  # at the end it is what it becomes there
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


def _find_candidates(formula: _Formula, reader: _Reader, start: float, end: float) -> np.ndarray:
    """The start and all times after it at which the stage may change."""
    inner = [signal.times[(signal.times > start) & (signal.times < end)] for signal in reader.signals]
    knots = np.unique(np.concatenate([[start, end], *inner]))
    edges = knots
    bends = formula.bends or any(signal.intersample == "spline" for signal in reader.signals)
    if bends:
        parts = (knots[:-1] + np.diff(knots) * np.arange(PARTS)[:, None] / PARTS).ravel()
        edges = np.unique(np.concatenate([knots, parts, np.linspace(start, end, SAMPLES + 1)]))
        edges = _add_turns(formula, reader, edges)
    roots = _find_crossings(formula, reader, edges, bends)
    if not roots.size:
        return knots[:-1]
    near = SAME * np.spacing(max(abs(start), abs(end)))
    place = np.clip(np.searchsorted(knots, roots), 1, knots.size - 1)
    apart = np.minimum(np.abs(roots - knots[place - 1]), np.abs(knots[place] - roots)) > near
    return np.unique(np.concatenate([knots[:-1], roots[apart]]))


def _add_turns(formula: _Formula, reader: _Reader, edges: np.ndarray) -> np.ndarray:
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
    sharp = _find_nearest(formula, reader, edges[turns][towards], edges[turns + 2][towards], sides[towards])
    return np.unique(np.concatenate([edges, vertex[inside], sharp]))


def _find_nearest(
    formula: _Formula, reader: _Reader, left: np.ndarray, right: np.ndarray, sides: np.ndarray
) -> np.ndarray:
    """Where between two times an argument comes nearest to zero from its side, by the golden section."""
    ratio = (np.sqrt(5.0) - 1.0) / 2.0
    left, right = left.copy(), right.copy()
    for _ in range(NEAREST if left.size else 0):
        inner = right - ratio * (right - left), left + ratio * (right - left)
        first, second = (sides * formula.compute_argument(place, reader.read(place, place)) for place in inner)
        lower = first < second
        left, right = np.where(lower, left, inner[0]), np.where(lower, inner[1], right)
    return (left + right) / 2


def _find_crossings(formula: _Formula, reader: _Reader, edges: np.ndarray, bends: bool) -> np.ndarray:
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
    return _bisect(is_beyond, lower, upper)


Side = Callable[[np.ndarray, np.ndarray], np.ndarray]  # whether crossings lie before times; which ones


def _narrow(is_beyond: Side, lower: np.ndarray, upper: np.ndarray, guess: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Brackets between neighbours of a guess, where these are on different sides."""
    near = np.clip(_list_neighbours(guess), lower[:, None], upper[:, None])
    which = np.repeat(np.arange(guess.size), near.shape[1])
    beyond = is_beyond(near.ravel(), which).reshape(near.shape)
    first = np.argmax(beyond, axis=1)
    brackets = beyond[:, -1] & (first > 0)
    rows = np.arange(guess.size)
    return np.where(brackets, near[rows, first - 1], lower), np.where(brackets, near[rows, first], upper)


def _bisect(is_beyond: Side, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The upper ends of brackets between two neighbouring numbers."""
    lower, upper = lower.copy(), upper.copy()
    while True:
        middle = lower + (upper - lower) / 2
        which = np.flatnonzero((middle > lower) & (middle < upper))
        if not which.size:
            return upper
        beyond = is_beyond(middle[which], which)
        upper[which[beyond]] = middle[which[beyond]]
        lower[which[~beyond]] = middle[which[~beyond]]
