"""Narrow features of time in equations, which steps between two samples would not see.

What follows from time, parameters and numbers alone is sampled between the stops. Where it leaves the straight line
through two stops and returns to it within a small part of their distance, such as exp(−((t − 5)/0.002)²), nothing at
the stops tells of it: its feet and its peak become stops themselves. What differs at the stops (ramps, decays) or
everywhere between them (waves) is seen by steps of any length, and stays as it is.
"""

from collections.abc import Sequence

import casadi as ca
import numpy as np

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
MOST_SETS = 8  # of parameter values that are looked at


def find_features(
    system: System, start: float, end: float, stops: np.ndarray, parameters: Sequence[np.ndarray]
) -> tuple[float, ...]:
    """Begins, peaks and ends of narrow features between stops, for some sets of parameters."""
    compiled = system.reduction.compiled
    if "features" not in compiled:
        compiled["features"] = _compile_formulas(system)
    function = compiled["features"]
    stops = np.unique(np.concatenate([[start], stops[(stops > start) & (stops < end)], [end]]))
    grid = np.linspace(start, end, SAMPLES + 1)
    if function is None or not end > start or np.diff(stops).max() < FEWEST * (grid[1] - grid[0]):
        return ()
    features = [one for numbers in parameters[:MOST_SETS] for one in _Search(function, numbers, stops).run(grid)]
    return tuple(sorted({time for feature in _drop_repeats(features) for time in feature}))


def _compile_formulas(system: System) -> ca.Function | None:
    """All that follows from time and parameters alone, and is no straight line, as a function of both."""
    reduction = system.reduction
    time, parameters = intern_symbol("time").sx, stack_symbols(reduction.parameters)
    nodes = _list_nodes(ca.vertcat(reduction.G, reduction.top), {"time", *reduction.parameters})
    if not nodes:
        return None
    bent = ca.which_depends(ca.vertcat(*nodes), time, 2, True)
    nodes = [node for node, bends in zip(nodes, bent, strict=True) if bends]
    return ca.Function("features", [time, parameters], [ca.vertcat(*nodes)]) if nodes else None


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

    def __init__(self, function: ca.Function, parameters: np.ndarray, stops: np.ndarray) -> None:
        self._function, self._parameters, self.stops = function, parameters, stops
        self._at_stops = self._evaluate(stops)

    def _evaluate(self, times: np.ndarray) -> np.ndarray:
        """The formulas (formula, time); zero where they are not finite."""
        columns = ca.repmat(ca.DM(self._parameters), 1, times.size)
        values = self._function.map(times.size)(times[None], columns).full()
        return np.where(np.isfinite(values), values, 0.0)

    def run(self, grid: np.ndarray) -> list[Feature]:
        """The features of all formulas."""
        before = np.clip(np.searchsorted(self.stops, grid, side="right") - 1, 0, self.stops.size - 2)
        firsts = np.flatnonzero(np.append(True, np.diff(before) > 0))  # samples of each interval that has any
        counts = np.diff(firsts, append=grid.size)
        owner = np.repeat(np.arange(firsts.size), counts)
        values = self._evaluate(grid)
        features: list[Feature] = []
        for formula, (at, at_stops) in enumerate(zip(values, self._at_stops, strict=True)):
            deviation = np.abs(at - np.interp(grid, self.stops, at_stops))
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
            stop = np.searchsorted(self.stops, grid[run[0]], side="right")
            room = self.stops[stop - 1 : stop + 1]
            around = run.size + BESIDE
            low, high = grid[max(run[0] - around, 0)], grid[min(run[-1] + around, grid.size - 1)]
            features.append(self._measure(formula, max(low, room[0]), min(high, room[1])))
        return features

    def _measure(self, formula: int, low: float, high: float) -> Feature:
        """The feature between two times."""
        times, peak, foot = np.array([low, high]), 0, np.array([0, 1])
        for _ in range(ZOOMS):
            times = np.linspace(low, high, CLOSER)
            chord = np.interp(times, self.stops, self._at_stops[formula])
            deviation = np.abs(self._evaluate(times)[formula] - chord)
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
