"""A lane whose equations switch: what it carries beside its state, as numbers and as symbols, and what drives it.

Beside (X, T), their sensitivities and what Newton iterations left, it has the sides of its switches, what it holds, and
how far it is within a step; `Slots` says where, `Lane` reads and writes it. Within a step the known inputs and the
disturbances are a polynomial through their values at the nodes (`Drive`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

from daedal.simulation.steps.program import ACCEPTED, GAVE_UP, UNFINISHED, Directions
from daedal.systems import InitialValues, System, Table, find_sliding

ROUNDS = 8  # changes of side that a lane may make within one step,
CLIMBS = 64  # and with tables, whose borders may lie as close as a user likes
RESTLESS = 1e30  # times one plus the number of a switch: what a lane leaves behind that changed side too often
RIVALS = 1e34  # the same where two switches would have to slide that must not together
UNDEFINED = 1e38  # the same where a switching function is not a finite number


@dataclass(frozen=True)
class Slots:
    """Places behind (X, T), their sensitivities and what Newton iterations left; counted from `first` on."""

    first: int
    switches: int
    slides: int
    held: int
    directions: int
    states: int
    tables: tuple[Table, ...] = ()

    @staticmethod
    def of(system: System, directions: Directions) -> "Slots":
        """The places for a system with switches."""
        switching = system.reduction.switching
        assert switching is not None
        sliding = find_sliding(system) if switching.switches else None
        size = len(system.states) + len(system.tops)
        return Slots(
            size * (1 + directions.count) + 1,
            len(switching.switches),
            len(sliding.places) if sliding else 0,
            len(switching.held),
            directions.count,
            len(system.states),
            switching.tables,
        )

    @property
    def rounds(self) -> int:
        """Changes of side that a lane may make within one step."""
        return CLIMBS if self.tables else ROUNDS

    @property
    def sizes(self) -> dict[str, int]:
        rates = self.held * self.directions
        return {
            "sides": self.switches,
            "sliding": self.slides,
            "stuck": 1,  # how many of them slide
            "fresh": self.switches,  # changed within this step
            "controls": self.slides,
            "position": 1,  # within the step, from 0 to 1
            "code": 1,  # what is left to do in the step
            "moved": self.directions,  # how the last change moves with the free directions
            "levels": sum(len(table.symbols) for table in self.tables),  # with borders and entries of each
            "held": self.held,
            "held rates": rates,
            "waiting": self.held,  # sampled, but not yet delivered
            "waiting rates": rates,
            "grazed": 1,  # changes with hardly any slope
            "last": 1,  # the switch that changed last
            "largest": self.states,  # of each state, where the lane was at a border
        }

    @property
    def size(self) -> int:
        return sum(self.sizes.values())

    def find(self, name: str) -> slice:
        """The places of some of them, from the first on."""
        sizes = self.sizes
        before = list(sizes)[: list(sizes).index(name)]
        begin = sum(sizes[other] for other in before)
        return slice(begin, begin + sizes[name])

    def locate(self, name: str) -> int:
        """The place of a single one in the state of a lane."""
        return self.first + self.find(name).start

    def make_column(self, system: System, start: InitialValues) -> np.ndarray:
        """What a lane carries at the start."""
        switching, names = system.reduction.switching, list(system.reduction.exogenous)
        assert switching is not None
        column = np.zeros(self.size)
        column[self.find("largest")] = np.abs(start.states)
        column[self.find("sides")] = [start.exogenous[names.index(switch.mode)] for switch in switching.switches]
        column[self.find("held")] = [start.exogenous[names.index(name)] for name in switching.held]
        column[self.find("levels")] = [start.exogenous[names.index(name)] for name in switching.levels]
        if start.sliding.size:
            column[self.find("sliding")], column[self.find("controls")] = start.sliding, start.controls
            column[self.find("stuck")] = start.sliding.sum()
        return column

    def settle(self, system: System, state: np.ndarray, look: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Lanes on the sides that their own disturbances put them on; `look` gives margins, tolerances and controls."""
        sliding = find_sliding(system) if self.slides else None
        state, carried = state.copy(), slice(self.first, self.first + self.size)
        for _ in range(self.switches + 1 + sum(table.borders.size for table in self.tables)):
            margins, allowed, controls = np.split(look(state), [self.switches, 2 * self.switches])
            wrong = margins < -allowed
            if not wrong.any():
                break
            extra = state[carried]
            sides, stuck, modes = (extra[self.find(name)] for name in ("sides", "sliding", "controls"))
            for k, place in enumerate(sliding.places if sliding else ()):
                leaving = wrong[place] & (stuck[k] > 0)
                sides[place] = np.where(leaving, np.sign(controls[k]), sides[place])
                modes[k] = np.where(leaving, sides[place], modes[k])
                stuck[k] = np.where(leaving, 0.0, stuck[k])
                wrong[place] &= ~leaving
            sides[:] = np.where(wrong, -sides, sides)
            extra[self.find("stuck")] = stuck.sum(axis=0)
            held = np.zeros(sides.shape, dtype=bool)
            held[list(sliding.places) if sliding else []] = stuck > 0
            self._climb(sides, held, extra[self.find("levels")])
        return state

    def list_rows(self) -> list[slice]:
        """Of each table among all levels."""
        ends = np.cumsum([0, *(len(table.symbols) for table in self.tables)]).tolist()
        return [slice(begin, end) for begin, end in pairwise(ends)]

    def _climb(self, sides: np.ndarray, held: np.ndarray, levels: np.ndarray) -> None:
        """Write the next level of tables in lanes that are beyond one of their borders, and sides as usual."""
        for table, rows in zip(self.tables, self.list_rows(), strict=True):
            low, high = table.places
            beyond = ((sides[low] < 0.0) | (sides[high] > 0.0)) & ~(held[low] | held[high])
            for lane in np.flatnonzero(beyond):
                level = levels[rows.start, lane] + (sides[high, lane] > 0.0) - (sides[low, lane] < 0.0)
                levels[rows, lane] = table.describe(level)
                sides[low, lane], sides[high, lane] = 1.0, -1.0

    def fill_exogenous(self, system: System, column: np.ndarray, exogenous: np.ndarray) -> np.ndarray:
        """Exogenous values with the modes of a lane, whose state is given."""
        switching, names = system.reduction.switching, list(system.reduction.exogenous)
        assert switching is not None
        filled, carried = exogenous.copy(), column[self.first :]
        filled[[names.index(switch.mode) for switch in switching.switches]] = carried[self.find("sides")]
        filled[[names.index(name) for name in switching.held]] = carried[self.find("held")]
        filled[[names.index(name) for name in switching.levels]] = carried[self.find("levels")]
        return filled


def explain_failure(system: System, residual: float) -> str:
    """Why a lane gave up whose last observed number is this; empty where switches are not the reason."""
    scale = ACCEPTED / UNFINISHED
    switching = system.reduction.switching
    if switching is None or not np.isfinite(residual) or residual < GAVE_UP:
        return ""
    kind = max(kind for kind in (RESTLESS, RIVALS, UNDEFINED) if residual > 0.5 * kind * scale)
    number = round(residual / (kind * scale)) - 1
    text = switching.switches[min(max(number, 0), len(switching.switches) - 1)].text
    if kind == UNDEFINED:
        return "what a condition compares is not a finite number"
    if kind == RIVALS:
        return f"'{text}' and another condition that multiplies it would have to hold their borders at once"
    most = CLIMBS if switching.tables else ROUNDS
    return f"'{text}' changes sides more than {most} times within one step"


@dataclass(frozen=True, eq=False)
class Lane:
    """The state of a lane as symbols: what every lane has, and what switches add."""

    state: ca.SX  # (X, T) and their sensitivities, as columns
    worst: ca.SX
    extra: ca.SX
    slots: Slots

    def __getitem__(self, name: str) -> ca.SX:
        return self.extra[self.slots.find(name)]

    def put(self, **changes: Any) -> "Lane":
        """The same with other numbers in some places."""
        extra = ca.SX(self.extra)
        for name, value in changes.items():
            extra[self.slots.find(name.replace("_", " "))] = value
        return replace(self, extra=extra)

    @property
    def vector(self) -> ca.SX:
        return ca.vertcat(ca.vec(self.state), self.worst, self.extra)

    def move(self, state: ca.SX, worst: ca.SX) -> "Lane":
        """The same in another state."""
        return replace(self, state=state, worst=worst)

    def shift_rates(self, jump: ca.SX) -> "Lane":
        """The same with sensitivities of X that have jumped."""
        state = ca.SX(self.state)
        state[: jump.shape[0], 1:] = state[: jump.shape[0], 1:] + jump
        return replace(self, state=state)

    def clear(self) -> "Lane":
        """The same with its step finished."""
        return self.put(fresh=0, position=0, code=0, moved=0)

    def choose(self, condition: ca.SX, other: "Lane") -> "Lane":
        """This one where a condition holds, the other elsewhere."""
        pairs = ((self.state, other.state), (self.worst, other.worst), (self.extra, other.extra))
        state, worst, extra = (select(condition, *pair) for pair in pairs)
        return Lane(state, worst, extra, self.slots)


def select(condition: ca.SX, yes: ca.SX, no: ca.SX) -> ca.SX:
    """One matrix or the other, entry by entry: what is not chosen may be anything."""
    entries = [
        ca.if_else(condition, a, b) for a, b in zip(ca.vertsplit(ca.vec(yes)), ca.vertsplit(ca.vec(no)), strict=True)
    ]
    return ca.reshape(ca.vertcat(*entries), *yes.shape) if entries else yes


def pick(chosen: ca.SX, values: ca.SX) -> ca.SX:
    """The row of a matrix that is chosen by a vector of zeros and a one."""
    rows = [select(chosen[i], values[i, :], ca.SX.zeros(1, values.shape[1])) for i in range(chosen.shape[0])]
    return sum(rows[1:], rows[0])


@dataclass(frozen=True, eq=False)
class Force:
    """What drives the plain system at one place: values, their derivatives in the free directions, and in time."""

    w: ca.SX
    dw: ca.SX
    wdot: ca.SX


@dataclass(frozen=True, eq=False)
class Drive:
    """What drives a step: exogenous values at its nodes and at its end, and between the nodes a polynomial."""

    tables: list[ca.SX]  # (symbol, node), of the values and of their derivatives in each direction
    ends: list[ca.SX]
    nodes: np.ndarray
    t: ca.SX
    h: ca.SX
    stages: tuple[int, ...] = ()  # symbols that are constant over the step, to the last bit

    def at(self, position: ca.SX) -> Force:
        """At a position from 0 to 1."""
        weights, slopes = make_lagrange(self.nodes, position)
        columns = [ca.mtimes(table, weights) for table in self.tables]
        for symbol in self.stages:
            columns[0][symbol] = self.tables[0][symbol, 0]
        return Force(columns[0], self._join(columns[1:]), ca.mtimes(self.tables[0], slopes) / self.h)

    def at_node(self, node: int) -> Force:
        columns = [table[:, node] for table in self.tables]
        return Force(columns[0], self._join(columns[1:]), self.at(ca.SX(float(self.nodes[node]))).wdot)

    def at_end(self) -> Force:
        """Behind the step, where inputs may have jumped."""
        return Force(self.ends[0], self._join(self.ends[1:]), self.at(ca.SX(1)).wdot)

    def find_time(self, position: ca.SX) -> ca.SX:
        return self.t + position * self.h

    def _join(self, columns: list[ca.SX]) -> ca.SX:
        return ca.horzcat(*columns) if columns else ca.SX(self.tables[0].shape[0], 0)


def make_lagrange(nodes: np.ndarray, position: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Weights of the values at the nodes that give a polynomial, and its slope, at a position."""
    symbol = ca.SX.sym("position")
    weights = []
    for i, node in enumerate(nodes):
        factors = [(symbol - float(other)) / float(node - other) for j, other in enumerate(nodes) if j != i]
        product = ca.SX(1)
        for factor in factors:
            product = product * factor
        weights.append(product)
    both = [ca.vertcat(*weights), ca.jacobian(ca.vertcat(*weights), symbol)]
    values, slopes = ca.Function("lagrange", [symbol], both)(position)
    return values, slopes
