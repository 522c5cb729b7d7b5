"""Narrow features of time in equations, which steps between two samples would not see.

What follows from time, parameters, known stages and numbers alone is sampled between the stops. Where it leaves the
straight line through two stops and returns to it within a small part of their distance, such as exp(−((t − 5)/0.002)²),
nothing at the stops tells of it: its feet and its peak become stops themselves. What differs at the stops (ramps,
decays) or everywhere between them (waves) is seen by steps of any length, and stays as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from daedal.simulation.forcing import Forcing
from daedal.symbolic import intern_symbol, list_symbols, stack_symbols
from daedal.systems import System

SAMPLES = 2**15  # over the whole time
FEWEST = 8  # of them between two stops, for a feature to fit between
NARROW = 1 / 4  # of the distance between two stops
HIGH = 0.05  # of the largest deviation: what belongs to the feature
LEAST = 1e-3  # deviation, of the range
FEET = (1e-9, 1e-3)  # of the peak: where a feature begins to be felt and to rise, and ends
ROUNDING = 1e-12  # of the largest value
BESIDE = 3  # samples on either side of those that met a feature, which contain its feet
CLOSER = 257  # samples of a feature that few samples met
ENOUGH = 16  # samples that show its shape
ZOOMS = 6
MOST_NODES = 64  # of formulas that are looked at one by one


def find_features(
    system: System, forcing: Forcing, stops: np.ndarray, parameters: Sequence[np.ndarray]
) -> tuple[float, ...]:
    """Begins, peaks and ends of narrow features between stops, for some sets of parameters."""
    compiled, start, end = system.reduction.compiled, forcing.start, forcing.end
    if "features" not in compiled:
        compiled["features"] = _compile_formulas(system)
    formulas = compiled["features"]
    stops = np.unique(np.concatenate([[start], stops[(stops > start) & (stops < end)], [end]]))
    grid = np.linspace(start, end, SAMPLES + 1)
    if formulas is None or not end > start or np.diff(stops).max() < FEWEST * (grid[1] - grid[0]):
        return ()
    searches = [_Search(formulas, forcing, numbers, stops) for numbers in parameters]
    features = [feature for search in searches for feature in search.run(grid)]
    return tuple(sorted({time for feature in _drop_repeats(features) for time in feature}))


@dataclass(frozen=True, eq=False)
class _Formulas:
    """What follows from time, stages and parameters alone, and the places of these stages and parameters."""

    function: ca.Function
    stages: list[int]
    parameters: list[int]


def _compile_formulas(system: System) -> _Formulas | None:
    """All such formulas that are no straight lines."""
    reduction = system.reduction
    stages = {known.name for known in reduction.switching.known} if reduction.switching else set()
    nodes = _list_nodes(ca.vertcat(reduction.G, reduction.top), {"time", *reduction.parameters, *stages})
    if not nodes:
        return None
    bent = ca.which_depends(ca.vertcat(*nodes), intern_symbol("time").sx, 2, True)
    nodes = [node for node, bends in zip(nodes, bent, strict=True) if bends]
    if not nodes:
        return None
    vector = ca.vertcat(*nodes)
    inside = set(list_symbols(vector))
    held, numbers = (
        [place for place, name in enumerate(names) if name in inside]
        for names in (reduction.exogenous, reduction.parameters)
    )
    names = [*(reduction.exogenous[place] for place in held), *(reduction.parameters[place] for place in numbers)]
    return _Formulas(ca.Function("features", [stack_symbols(["time", *names])], [vector]), held, numbers)


def _list_nodes(formulas: ca.SX, known: set[str]) -> list[ca.SX]:
    """Subexpressions of time and known symbols alone: all of them, or the largest where they are many."""
    symbols = ca.symvar(formulas)
    function = ca.Function("formulas", [ca.vertcat(*symbols)], [formulas])
    work: dict[int, ca.SX | None] = {}  # None where something else is inside
    every: dict[int, ca.SX] = {}
    largest: dict[int, ca.SX] = {}
    origin: dict[int, int] = {}  # the instruction that wrote a place
    for k in range(function.n_instructions()):
        code = function.instruction_id(k)
        sources, targets = function.instruction_input(k), function.instruction_output(k)
        if code == ca.OP_OUTPUT:
            largest |= {origin[sources[0]]: every[origin[sources[0]]]} if origin.get(sources[0]) in every else {}
            continue
        if code == ca.OP_INPUT:
            node = symbols[sources[1]] if symbols[sources[1]].name() in known else None
        elif code == ca.OP_CONST:
            node = ca.SX(function.instruction_constant(k))
        else:
            operands = [work[source] for source in sources]
            inside = [operand for operand in operands if operand is not None]
            node = None
            if len(inside) == len(operands):
                node = (ca.SX.binary if len(inside) == 2 else ca.SX.unary)(code, *inside)
            else:
                largest |= {origin[place]: every[origin[place]] for place in sources if origin.get(place) in every}
        for target in targets:
            work[target], origin[target] = node, k
        if node is not None and "time" in list_symbols(node):
            every[k] = node
    return list((every if len(every) <= MOST_NODES else largest).values())


Feature = tuple[float, float, float, float, float]  # begin, rise, peak, fall, end


def _drop_repeats(features: Sequence[Feature]) -> list[Feature]:
    """Those whose peaks lie apart from each other's middle parts, the widest first: formulas contain each other."""
    kept: list[Feature] = []
    for feature in sorted(features, key=lambda feature: feature[0] - feature[-1]):
        if all(abs(feature[2] - other[2]) > (feature[-1] - feature[0]) / 8 for other in kept):
            kept.append(feature)
    return kept


class _Search:
    """Formulas at one set of parameters, and their straight lines between stops."""

    def __init__(self, formulas: _Formulas, forcing: Forcing, parameters: np.ndarray, stops: np.ndarray) -> None:
        self._function, self._parameters, self.stops = formulas.function, parameters[formulas.parameters], stops
        self._stages = [track[0] for place in formulas.stages if (track := forcing.tracks[place])]
        self._left, self._right = (self._evaluate(ends, np.arange(ends.size)) for ends in (stops[:-1], stops[1:]))

    def _find_interval(self, times: np.ndarray) -> np.ndarray:
        return np.clip(np.searchsorted(self.stops, times, side="right") - 1, 0, self.stops.size - 2)

    def _evaluate(self, times: np.ndarray, interval: np.ndarray) -> np.ndarray:
        """The formulas (formula, time) inside given intervals between stops; zero where they are not finite."""
        middles = (self.stops[interval] + self.stops[interval + 1]) / 2  # stages change at stops only
        rows = [times, *(signal(middles) for signal in self._stages)]
        rows += [np.full(times.size, number) for number in self._parameters]
        values = self._function.map(times.size)(np.array(rows)).full()
        return np.where(np.isfinite(values), values, 0.0)

    def _deviate(self, times: np.ndarray, interval: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The formulas (formula, time), and how far they are from their straight lines."""
        values = self._evaluate(times, interval)
        share = (times - self.stops[interval]) / np.diff(self.stops)[interval]
        left, right = self._left[:, interval], self._right[:, interval]
        return values, np.abs(values - left - (right - left) * share)

    def run(self, grid: np.ndarray) -> list[Feature]:
        """The features of all formulas."""
        interval = self._find_interval(grid)
        firsts = np.flatnonzero(np.append(True, np.diff(interval) > 0))  # samples of each interval that has any
        counts = np.diff(firsts, append=grid.size)
        owner = np.repeat(np.arange(firsts.size), counts)
        features: list[Feature] = []
        for formula, (at, deviation) in enumerate(zip(*self._deviate(grid, interval), strict=True)):
            peaks = np.maximum.reduceat(deviation, firsts)
            size = np.ptp(at)
            worth = (peaks > LEAST * size) & (peaks > ROUNDING * np.abs(at).max()) & (counts >= FEWEST)
            if not worth.any():
                continue
            high = deviation > HIGH * peaks[owner]
            shares = np.add.reduceat(high.astype(np.int64), firsts) / counts
            for piece in np.flatnonzero(worth & (shares < NARROW)):
                inside = slice(firsts[piece], firsts[piece] + counts[piece])
                features += self._look_closer(formula, grid, np.flatnonzero(high[inside]) + firsts[piece])
        return features

    def _look_closer(self, formula: int, grid: np.ndarray, places: np.ndarray) -> list[Feature]:
        """What every run of neighbouring samples belongs to."""
        features: list[Feature] = []
        for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1):
            interval = int(self._find_interval(grid[run[0]]))
            room = self.stops[interval : interval + 2]
            around = run.size + BESIDE
            low, high = grid[max(run[0] - around, 0)], grid[min(run[-1] + around, grid.size - 1)]
            features.append(self._measure(formula, interval, max(low, room[0]), min(high, room[1])))
        return features

    def _measure(self, formula: int, interval: int, low: float, high: float) -> Feature:
        """The feature between two times."""
        times, peak, foot = np.array([low, high]), 0, np.array([0, 1])
        for _ in range(ZOOMS):
            times = np.linspace(low, high, CLOSER)
            deviation = self._deviate(times, np.full(CLOSER, interval))[1][formula]
            peak = int(np.argmax(deviation))
            outer, foot = (_find_ends(deviation > share * deviation[peak]) for share in FEET)
            low, high = times[outer]
            if foot[1] - foot[0] >= ENOUGH:
                break
        rise, fall = times[foot]
        return float(low), float(rise), float(times[peak]), float(fall), float(high)


def _find_ends(inside: np.ndarray) -> np.ndarray:
    """The places just before and just after what is inside."""
    places = np.flatnonzero(inside)
    return np.clip([places[0] - 1, places[-1] + 1], 0, inside.size - 1)
