"""The compiled step of a system with delays: it reads delayed values from its own record, by polynomials.

Beside what every step reads (`daedal.simulation.steps.program`), all lanes share for each step

    for each group of delays and direction, how fast its jump at the beginning of the step moves
    for each delay and node, whether the delayed time is one that was computed, and where it lies among recorded points
    for each delayed value and node, what it is where it was not: from the history, or an input that is known
    where break points move, both once more as they are before the break point

and the points themselves come from the record, which the step writes after the wanted variables and the operands of
all delays have been observed. For a value delayed by τ(θ)

    d/dθ q(t − τ; θ) = Λ(t − τ) − q'(t − τ) ∂τ/∂θ,

Λ being the recorded derivative (Lin et al. 2015, theorems 1 and 2); where a break point b(θ) moves, sensitivities jump
before the step by (f⁻ − f⁺) ∂b/∂θ. A step of length zero at the beginning of every segment makes that jump visible in
the record.

Reference: Q. Lin, R. Loxton, C. Xu, K. L. Teo, Parameter estimation for nonlinear time-delay systems with noisy output
measurements, Automatica 60 (2015) 48–56.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedal.errors import SimulationError
from daedal.kernels import compile_recall
from daedal.simulation.delays.interpolation import DEGREE, make_symbolic_weights
from daedal.simulation.delays.lags import Group
from daedal.simulation.steps import Discretization, GridRow, Moving, Point, Shape, StepBuilder, make_grid_row
from daedal.symbolic import jet
from daedal.systems import System

PROGRAMS = 16


@dataclass(frozen=True)
class Layout:
    """Where a step finds what belongs to the delays, in the columns of its shared table and of `back`.

    Attributes
    ----------
    delayed
        All delayed values that the equations contain, by their places among the exogenous symbols.
    jumps
        For each group of delays, which of these jump together.
    lags
        Delayed values that are computed, those with the same delay together.
    nodes, directions
        How many there are.
    first
        The first column that belongs to the delays.
    """

    delayed: tuple[tuple[str, int], ...]
    jumps: tuple[tuple[int, ...], ...]
    lags: tuple[tuple[str, ...], ...]
    nodes: int
    directions: int
    first: int

    @property
    def slots(self) -> int:
        """Times at which a step wants delayed values: its nodes, and the end of the step before it."""
        return self.nodes + bool(self.directions)

    @property
    def moving(self) -> slice:
        """How fast the jump of each group moves in each direction."""
        return slice(self.first, self.first + self.directions * len(self.jumps))

    def find_reading(self, lag: int, slot: int) -> int:
        """The first of three columns: whether the time was computed, its position, points per unit of time."""
        return self.moving.stop + 3 * (lag * self.slots + slot)

    def find_given(self, value: int) -> int:
        """The first column of what a delayed value is otherwise: (way, node), and before the break point."""
        columns = (1 + self.directions) * self.nodes + bool(self.directions)
        return self.find_reading(len(self.lags), 0) + value * columns

    @property
    def columns(self) -> int:
        """Of the whole table."""
        return self.find_given(len(self.delayed))


@dataclass(frozen=True, eq=False)
class DelayProgram:
    """A kernel and the layout of its arguments."""

    shape: Shape
    kernel: Any
    size: int  # of (X, T)
    known: tuple[int, ...]  # exogenous symbols that are the same for all lanes, delayed ones excepted
    rows: Mapping[str, int]  # where a point of the record holds the operands of delayed values
    recorded: int  # values at each point, without their derivatives: wanted ones, operands, X and T if asked for
    layout: Layout
    nodes: np.ndarray

    @property
    def degree(self) -> int:
        """Of the polynomials that delayed values are read off by."""
        return DEGREE[self.shape.method]


def compile_delay_program(
    system: System, shape: Shape, point: Point, step: float, groups: tuple[Group, ...], states: bool = False
) -> DelayProgram:
    """Compile, or find again, the program of this shape."""
    known = system.reduction.compiled
    key = f"delays {shape} {groups} {states}"
    if key not in known:
        try:
            known[key] = _DelayBuilder(system, shape, point, step, groups, states).compile()
        except np.linalg.LinAlgError:
            raise SimulationError(
                f"Model '{system.model.name}' is singular at its initial values.", "Start from another position."
            ) from None
        for oldest in [name for name in known if name.startswith("delays ")][:-PROGRAMS]:
            del known[oldest]
    return known[key]


class _DelayBuilder(StepBuilder):
    """A step whose exogenous values are partly its own past."""

    def __init__(
        self, system: System, shape: Shape, point: Point, step: float, groups: tuple[Group, ...], states: bool
    ) -> None:
        r = system.reduction
        operands = tuple(name for group in groups if not group.of_input for name in group.names)
        disturbances = set(system.model.disturbance_names) if shape.noisy else set()
        delayed = tuple((name, i) for i, name in enumerate(r.exogenous) if name in r.delays)
        noisy = tuple(i for i, name in enumerate(r.exogenous) if jet(name)[0] in disturbances)
        known = tuple(i for i, name in enumerate(r.exogenous) if i not in noisy and name not in r.delays)
        discretization = Discretization(r, shape.method, point, step)
        super().__init__(discretization, shape, known, noisy, make_grid_row(system) if noisy else GridRow((), ()))
        self.delays = r.delays
        self.degree = DEGREE[shape.method]
        place = {name: value for value, (name, _) in enumerate(delayed)}
        jumps = tuple(tuple(place[name] for name in group.names if name in place) for group in groups)
        inside = [tuple(name for name in group.names if name in place) for group in groups if not group.of_input]
        lags = tuple(names for names in inside if names)
        self.layout = Layout(delayed, jumps, lags, self.nodes.size, self.count, self.shared.shape[0])
        self.table = ca.vertcat(self.shared, ca.SX.sym("delays", self.layout.columns - self.layout.first))
        shown = [*(r.observed[name] for name in shape.wanted), *(r.delays[name].operand for name in operands)]
        self.wanted = ca.vertcat(*shown, r.X, r.T) if states else ca.vertcat(*shown)
        self.rows, self.every = {name: len(shape.wanted) + k for k, name in enumerate(operands)}, self.wanted.shape[0]
        self.sums: list[tuple[int, list[int]]] = []
        self.weights: list[ca.SX] = []
        self.past: list[ca.SX] = []
        self.late = [self._recall_late(lag, slot) for lag in range(len(lags)) for slot in range(self.layout.slots)]

    def compile(self) -> DelayProgram:
        weigh = ca.Function("weigh", [self.table], [ca.vertcat(ca.SX(0, 1), *self.weights)])
        kernel = compile_recall(self.step(), self.observe(self.wanted), weigh, self.sums, self.degree + 1)
        size = self.discretization.size
        return DelayProgram(self.shape, kernel, size, self.known, self.rows, self.every, self.layout, self.nodes)

    def _recall_late(self, lag: int, slot: int) -> dict[str, list[ca.SX]]:
        """Delayed values at one slot and, at nodes, their derivatives in all directions, where they were computed."""
        names, group = self.layout.lags[lag], lag * self.layout.slots + slot
        first = self.layout.find_reading(lag, slot)
        computed, position, density = (self.table[first + k] for k in range(3))
        weights = make_symbolic_weights(position, self.degree)
        rows = [self.rows[name] for name in names]
        ways = 1 + self.count * (slot < self.layout.nodes)
        values = self._recall(
            group, computed * weights, [row + way * self.every for row in rows for way in range(ways)]
        )
        late = {name: list(values[k * ways : (k + 1) * ways]) for k, name in enumerate(names)}
        if ways > 1:
            slopes = self._recall(group, computed * density * ca.jacobian(weights, position), rows)
            for name, slope in zip(names, slopes, strict=True):
                turned = self._differentiate_delay(name)
                late[name][1:] = [rate - slope * turned[k] for k, rate in enumerate(late[name][1:])]
        return late

    def _recall(self, group: int, weights: ca.SX, rows: list[int]) -> list[ca.SX]:
        """Weighted sums of recorded numbers over the points around a delayed time."""
        self.weights.append(weights)
        self.sums.append((group, rows))
        self.past.append(ca.SX.sym(f"past{len(self.past)}", len(rows)))
        return ca.vertsplit(self.past[-1])

    def _differentiate_delay(self, name: str) -> ca.SX:
        """∂τ/∂θ in all directions."""
        names = self.discretization.reduction.arguments[3]
        at = self.make_moving(self.shared[0], ca.SX(self.symbols, 1), ca.SX(self.symbols, self.count))
        gradient = ca.jacobian(self.delays[name].amount.sx, names)
        return ca.mtimes(ca.substitute(gradient, names, at.p), at.dp)

    def _read_delayed(self, value: int, way: int, slot: int) -> ca.SX:
        name, _ = self.layout.delayed[value]
        at = self.layout.find_given(value) + (way * self.layout.nodes + slot)
        if slot == self.layout.nodes:  # before the break point
            at = self.layout.find_given(value + 1) - 1
        known = self.table[at]
        for lag, names in enumerate(self.layout.lags):
            if name in names:
                return known + self.late[lag * self.layout.slots + slot][name][way]
        return known

    def read_forcing(self, way: int) -> ca.SX:
        table = super().read_forcing(way)
        for value, (_, symbol) in enumerate(self.layout.delayed):
            table[symbol, :] = ca.horzcat(*(self._read_delayed(value, way, node) for node in range(self.layout.nodes)))
        return table

    def read_end_forcing(self, way: int) -> ca.SX:
        values = super().read_end_forcing(way)
        for value, (_, symbol) in enumerate(self.layout.delayed):
            values[symbol] = self._read_delayed(value, way, self.layout.nodes - 1)
        return values

    def _begin(self, start: Moving) -> Moving:
        """Sensitivities after the jump at a break point that moves; only delayed values jump there."""
        if not self.count:
            return start
        w = ca.SX(start.w)
        for value, (_, symbol) in enumerate(self.layout.delayed):
            w[symbol] = self._read_delayed(value, 0, self.layout.nodes)
        before, dx = self.discretization.compute_slope(start.at(w=w)), start.dx
        for group, values in enumerate(self.layout.jumps):  # one after the other: each moves at its own rate
            if not values:
                continue
            for value in values:
                symbol = self.layout.delayed[value][1]
                w[symbol] = start.w[symbol]
            after = self.discretization.compute_slope(start.at(w=ca.SX(w)))
            first = self.layout.moving.start + group * self.count
            dx = dx + ca.mtimes(before - after, self.table[first : first + self.count].T)
            before = after
        return start.at(dx=dx)

    def _make_function(self, name: str, result: ca.SX) -> ca.Function:
        state = ca.vertcat(ca.vec(self.state), self.worst)
        past = ca.vertcat(ca.SX(0, 1), *self.past)
        return ca.Function(name, [state, self.parameters, self.table, self.lane, past], [result])
