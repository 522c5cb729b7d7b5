"""Where functions of time and known signals cross numbers: what is shared, and very many of them at once.

A table of inputs compares one formula e with many numbers c_i: e is sampled once, and all its crossings are located
together. Kinks that stay as they were typed (`Bend`) are continuous: their instants need not be exact to the last bit,
and what crosses and comes back between two samples is not felt.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import casadi as ca
import numpy as np

from daedal.data import Signal
from daedal.symbolic import list_symbols, stack_symbols
from daedal.systems import Bend, Known, split_line

SAMPLES = 2**14  # over the whole time, where an argument bends
PARTS = 8  # of each piece of an input then
SAME = 8  # neighbouring numbers that are one instant
LEAST = 16  # conditions on one formula that are worth being located together
AT_ONCE = 4_000_000  # numbers that are computed
POLISH = 12  # steps of the secant method, in a bracket


def step_beyond(time: float) -> float:
    """A number after a time that rounding tells from it."""
    return time + SAME * float(np.spacing(abs(time)))


@dataclass(frozen=True, eq=False)
class Reader:
    """What stands beside time in an argument."""

    signals: tuple[Signal, ...]

    def read(self, times: np.ndarray, middles: np.ndarray) -> np.ndarray:
        """Their values (symbol, time), on the sides of jumps that the middles lie on."""
        return np.array([_read_piece(signal, times, middles) for signal in self.signals]).reshape(-1, times.size)

    def find_knots(self, start: float, end: float) -> np.ndarray:
        """Start, end, and all samples between."""
        inner = [signal.times[(signal.times > start) & (signal.times < end)] for signal in self.signals]
        return np.unique(np.concatenate([[start, end], *inner]))

    @property
    def bends(self) -> bool:
        """Whether a signal is no straight line between samples."""
        return any(signal.intersample == "spline" for signal in self.signals)


def _read_piece(signal: Signal, times: np.ndarray, middles: np.ndarray) -> np.ndarray:
    breaks, coefficients = signal.pieces()
    piece = breaks[1:-1].searchsorted(middles, side="right")
    if len(coefficients) == 1:  # held
        return coefficients[0][piece]
    value, elapsed = np.zeros(times.size), times - breaks[piece]
    for row in coefficients[::-1]:
        value = value * elapsed + row[piece]
    return value


def evaluate(function: ca.Function, times: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Numbers (result, time) of a function of time and other symbols (symbol, time)."""
    points = np.concatenate([times[None], others])
    return (function(points) if times.size < PARTS else function.map(times.size)(points)).full()


def divide(knots: np.ndarray, parts: int = PARTS) -> np.ndarray:
    """Knots, parts of the pieces between them, and regular samples."""
    inner = (knots[:-1] + np.diff(knots) * np.arange(parts)[:, None] / parts).ravel()
    return np.unique(np.concatenate([knots, inner, np.linspace(knots[0], knots[-1], SAMPLES + 1)]))


Side = Callable[[np.ndarray, np.ndarray], np.ndarray]  # whether crossings lie before times; which ones


def bisect(is_beyond: Side, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
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


class Ladder:
    """Conditions on one formula: where it crosses each of many numbers."""

    def __init__(self, argument: ca.SX, members: Sequence[tuple[Known, float]]) -> None:
        members = sorted(members, key=lambda member: member[1])
        self.names, self._borders = [known.name for known, _ in members], np.array([border for _, border in members])
        values = ca.vertcat(*(known.value for known, _ in members))
        self.symbols = [name for name in list_symbols(ca.vertcat(argument, values)) if name != "time"]
        vector = stack_symbols(["time", *self.symbols])
        self._argument = ca.Function("argument", [vector], [argument])
        self._values = ca.Function("values", [vector], [values])
        moving = [name for name in list_symbols(argument) if not name.startswith("stage ")]
        self._bends = any(ca.which_depends(argument, stack_symbols(moving), 2, False))

    def track(self, tracks: Mapping[str, Signal], start: float, end: float) -> dict[str, Signal]:
        """Each condition as a signal that is held between its instants; none where a number is not finite."""
        reader = Reader(tuple(tracks[name] for name in self.symbols))
        after, at_end = np.array([step_beyond(end)]), [[float(signal(end))] for signal in reader.signals]
        last = evaluate(self._values, after, np.array(at_end).reshape(-1, 1))[:, 0]
        times = self._find_times(reader, start, end)
        if times is None or not np.isfinite(last).all():
            return {}
        middles = times[:-1] + np.diff(times) / 2
        changes: list[list[np.ndarray]] = [[] for _ in self.names]
        values: list[list[np.ndarray]] = [[] for _ in self.names]
        before = np.full((len(self.names), 1), np.nan)
        for part in _cut(middles.size, len(self.names)):
            numbers = evaluate(self._values, middles[part], reader.read(middles[part], middles[part]))
            if not np.isfinite(numbers).all():
                return {}
            rows, columns = np.nonzero(np.diff(numbers, axis=1, prepend=before) != 0.0)
            bounds = np.searchsorted(rows, np.arange(len(self.names) + 1))
            for row, (first, beyond) in enumerate(pairwise(bounds)):
                changes[row].append(times[part][columns[first:beyond]])
                values[row].append(numbers[row, columns[first:beyond]])
            before = numbers[:, -1:]
        return {
            name: Signal(np.append(np.concatenate(at), end), np.append(np.concatenate(held), final), "zoh")
            for name, at, held, final in zip(self.names, changes, values, last, strict=True)
        }

    def _find_times(self, reader: Reader, start: float, end: float) -> np.ndarray | None:
        """Knots and crossings, rising."""
        knots = edges = reader.find_knots(start, end)
        if self._bends or reader.bends:
            edges = self._add_turns(reader, divide(knots))
        left, right = edges[:-1], edges[1:]
        middles = left + (right - left) / 2
        low, high = (evaluate(self._argument, ends, reader.read(ends, middles))[0] for ends in (left, right))
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            return None
        first, beyond = (self._borders.searchsorted(side(low, high), side="right") for side in (np.minimum, np.maximum))
        count = beyond - first
        cell = np.repeat(np.arange(left.size), count)
        border = self._borders[
            np.repeat(first, count) + np.arange(cell.size) - np.repeat(np.cumsum(count) - count, count)
        ]
        side = np.where(high > low, 1.0, -1.0)[cell]

        def is_beyond(times: np.ndarray, which: np.ndarray) -> np.ndarray:
            e = evaluate(self._argument, times, reader.read(times, middles[cell[which]]))[0]
            return side[which] * (e - border[which]) >= 0

        roots = bisect(is_beyond, left[cell], right[cell])
        return np.unique(np.concatenate([knots, drop_near(roots, knots)]))

    def _add_turns(self, reader: Reader, edges: np.ndarray) -> np.ndarray:
        """Edges, and the extrema between them."""
        e = evaluate(self._argument, edges, reader.read(edges, edges))[0]
        turns = np.flatnonzero(np.diff(e)[:-1] * np.diff(e)[1:] < 0)
        sides = np.where(np.diff(e)[turns] < 0, 1.0, -1.0)  # a minimum, or a maximum

        def compute(times: np.ndarray) -> np.ndarray:
            return sides * evaluate(self._argument, times, reader.read(times, times))[0]

        return np.unique(np.append(edges, find_lowest(compute, edges[turns], edges[turns + 2])))


GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
NEAREST = 80  # steps of the golden section


def find_lowest(compute: Callable[[np.ndarray], np.ndarray], left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Where between two times each of some functions is lowest, by the golden section."""
    left, right = left.copy(), right.copy()
    for _ in range(NEAREST if left.size else 0):
        inner = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
        first, second = compute(inner[0]), compute(inner[1])
        lower = first < second
        left, right = np.where(lower, left, inner[0]), np.where(lower, inner[1], right)
    return (left + right) / 2


def drop_near(roots: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Those that rounding tells from all knots."""
    near = SAME * np.spacing(np.max(np.abs(knots[[0, -1]])))
    place = np.clip(np.searchsorted(knots, roots), 1, knots.size - 1)
    return roots[np.minimum(np.abs(roots - knots[place - 1]), np.abs(knots[place] - roots)) > near]


def find_ladders(stages: Sequence[Known]) -> list[Ladder]:
    """Which conditions compare one formula with many numbers."""
    rungs: dict[str, list[tuple[Known, float]]] = {}
    arguments: dict[str, ca.SX] = {}
    for known in stages:
        argument, factor, shift = split_line(known.argument)
        inside = list_symbols(argument)
        straight = inside == ["time"]  # which others do, to the last bit of what was typed
        if known.rounds or straight or not inside or not (np.isfinite(shift) and np.isfinite(factor) and factor):
            continue
        if any(name.startswith("stage ") for name in inside):
            continue
        key = argument.serialize()
        arguments.setdefault(key, argument)
        rungs.setdefault(key, []).append((known, -shift / factor))
    return [Ladder(arguments[key], members) for key, members in rungs.items() if len(members) >= LEAST]


class Joined:
    """A stage that follows from others alone."""

    def __init__(self, known: Known) -> None:
        self._names = list_symbols(known.value)
        self._value = ca.Function("joined", [stack_symbols(self._names)], [known.value])

    def track(self, tracks: Mapping[str, Signal], *_: float) -> Signal:
        """It as a signal that is held between the instants of the others."""
        parts = [tracks[name] for name in self._names]
        times = np.unique(np.concatenate([part.times for part in parts]))
        values = np.empty(times.size)
        for cut in _cut(times.size, len(parts)):
            rows = [part.values[np.searchsorted(part.times, times[cut], side="right") - 1] for part in parts]
            values[cut] = self._value.map(rows[0].size)(np.array(rows)).full()[0]
        new = np.append(np.append(True, np.diff(values[:-1]) != 0.0), True)
        return Signal(times[new], values[new], "zoh")


class Bends:
    """Kinks that stay as they were typed."""

    def __init__(self, bends: Sequence[Bend]) -> None:
        arguments = ca.vertcat(*(bend.argument for bend in bends))
        self.symbols = [name for name in list_symbols(arguments) if name != "time"]
        self._count = len(bends)
        self._function = ca.Function("kinks", [stack_symbols(["time", *self.symbols])], [ca.densify(arguments)])

    def find_times(self, tracks: Mapping[str, Signal], start: float, end: float) -> np.ndarray:
        """All times between start and end at which an argument crosses zero."""
        if not end > start:
            return np.zeros(0)
        reader = Reader(tuple(tracks[name] for name in self.symbols))
        knots = reader.find_knots(start, end)
        edges = divide(knots, parts=int(np.clip(SAMPLES // knots.size, 2, PARTS)))
        left, right = edges[:-1], edges[1:]
        middles = left + (right - left) / 2
        found = [np.zeros(0)]
        for part in _cut(left.size, 2 * self._count):
            ends = np.stack([left[part], right[part]])
            low, high = (self._compute(reader, times, middles[part]) for times in ends)
            kink, cell = np.nonzero(np.where(high > low, (low < 0) & (high >= 0), (low > 0) & (high <= 0)))
            for some in _cut(kink.size, self._count):
                which, where = kink[some], cell[some]
                values = np.stack([low[which, where], high[which, where]])
                found.append(self._polish(reader, which, middles[part][where], ends[:, where], values))
        return np.unique(drop_near(np.concatenate(found), knots))

    def _compute(self, reader: Reader, times: np.ndarray, middles: np.ndarray) -> np.ndarray:
        return np.nan_to_num(evaluate(self._function, times, reader.read(times, middles)))

    def _polish(
        self, reader: Reader, which: np.ndarray, middles: np.ndarray, ends: np.ndarray, values: np.ndarray
    ) -> np.ndarray:
        """Zeros between ends with values of other signs, by false position; a side that stays counts half each time."""
        (left, right), (low, high) = ends.copy(), values.copy()
        near = SAME * np.spacing(np.maximum(np.abs(left), np.abs(right)))
        root = right
        for _ in range(POLISH):
            root = np.where(high != low, right - high * (right - left) / np.where(high != low, high - low, 1.0), right)
            g = self._compute(reader, root, middles)[which, np.arange(which.size)]
            beyond = np.sign(g) == np.sign(high)
            low, high = np.where(beyond, low / 2, g), np.where(beyond, g, high / 2)
            left, right = np.where(beyond, left, root), np.where(beyond, root, right)
            if np.all((g == 0.0) | (right - left <= near)):
                break
        return root


def _cut(count: int, rows: int) -> Iterator[slice]:
    size = max(AT_ONCE // max(rows, 1), 1)
    return (slice(first, first + size) for first in range(0, count, size))
