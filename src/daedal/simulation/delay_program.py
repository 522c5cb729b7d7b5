"""The compiled step of a system with delays: delayed values and disturbances come to it lane by lane, node by node.

    parameters  p, and dp/dθ where it is neither zero nor one           one value per lane
    shared      t, h, known inputs at the nodes, and for each
                direction how fast a break point at t moves             one value for all lanes
    lane        each delayed value and disturbance at the nodes, and
                for each direction its derivative; each once more as
                it is before that break point                           one value per lane

Where a break point moves, sensitivities jump before the step by (f⁻ − f⁺) ∂b/∂θ. A step of length zero makes that jump
visible in the record.

The state is that of `daedal.simulation.program`; after every step the wanted variables and the operands of all delays
are recorded with their derivatives, which is what later steps look back at.
"""

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedal.errors import SimulationError
from daedal.kernels import compile_scan
from daedal.simulation.collocation import NODES, Method
from daedal.simulation.discretization import Discretization, Point
from daedal.simulation.program import ACCEPTED, UNFINISHED, Directions
from daedal.simulation.tangents import Moving
from daedal.symbolic import jet
from daedal.systems import System

PROGRAMS = 16


@dataclass(frozen=True)
class DelayShape:
    """What distinguishes one program of a system from another."""

    method: Method
    directions: Directions
    wanted: tuple[str, ...]
    noisy: bool
    states: bool = False  # whether X and T are recorded too


@dataclass(frozen=True, eq=False)
class DelayProgram:
    """A kernel and the layout of its arguments."""

    shape: DelayShape
    kernel: Any
    size: int  # of (X, T)
    known: tuple[int, ...]  # exogenous symbols that are the same for all lanes
    own: tuple[int, ...]  # and those that are not
    operands: tuple[str, ...]  # delayed values whose operands are recorded, after the wanted variables
    continuous: bool  # whether all that is recorded follows from X, which never jumps

    @property
    def nodes(self) -> np.ndarray:
        return NODES[self.shape.method]

    @property
    def outputs(self) -> int:
        """Rows of a sample as ensembles count them: wanted values, their sensitivities, and a residual."""
        return len(self.shape.wanted) * (1 + self.shape.directions.count) + 1

    @property
    def recorded(self) -> int:
        """Values recorded at each point, without their derivatives."""
        return len(self.shape.wanted) + len(self.operands) + (self.size if self.shape.states else 0)


def delay_program(
    system: System, shape: DelayShape, point: Point, step: float, operands: tuple[str, ...]
) -> DelayProgram:
    """Compile, or find again, the program of this shape."""
    known = system.reduction.compiled
    key = f"delays {shape} {operands}"
    if key not in known:
        try:
            known[key] = _Builder(system, shape, point, step, operands).made()
        except np.linalg.LinAlgError:
            raise SimulationError(
                f"Model '{system.model.name}' is singular at its initial values.", "Start from another position."
            ) from None
        for oldest in [name for name in known if name.startswith("delays ")][:-PROGRAMS]:
            del known[oldest]
    return known[key]


class _Builder:
    def __init__(self, system: System, shape: DelayShape, point: Point, step: float, operands: tuple[str, ...]) -> None:
        r = system.reduction
        self.shape, self.reduction, self.operands = shape, r, operands
        self.discretization = Discretization(r, shape.method, point, step)
        noise = set(system.model.disturbance_names) if shape.noisy else set()
        self.own = tuple(i for i, name in enumerate(r.exogenous) if name in r.delays or jet(name)[0] in noise)
        self.known = tuple(i for i in range(len(r.exogenous)) if i not in self.own)
        self.count = shape.directions.count
        self.nodes = NODES[shape.method].size
        read = sum(not one for column in shape.directions.entries for _, one in column)
        self.state = ca.SX.sym("state", self.discretization.size, 1 + self.count)
        self.worst = ca.SX.sym("worst")
        self.parameters = ca.SX.sym("p", len(r.parameters) + read)
        self.shared = ca.SX.sym("shared", 2 + len(self.known) * self.nodes + self.count)
        self.lane = ca.SX.sym("lane", len(self.own) * ((1 + self.count) * self.nodes + bool(self.count)))
        shown = [*(r.observed[name] for name in shape.wanted), *(r.delays[name].operand for name in operands)]
        self.wanted = ca.vertcat(*shown, r.X, r.T) if shape.states else ca.vertcat(*shown)

    def made(self) -> DelayProgram:
        kernel = compile_scan(self._step(), self._observe())
        size = self.discretization.size
        r = self.reduction
        jumping = ca.vertcat(r.T, r.arguments[-1])
        continuous = not (jumping.shape[0] and ca.depends_on(self.wanted, jumping))
        return DelayProgram(self.shape, kernel, size, self.known, self.own, self.operands, continuous)

    def _step(self) -> ca.Function:
        ways = [self._forcing(way) for way in range(1 + self.count)]
        forcing = [ways[0][:, node] for node in range(self.nodes)]
        changes = [self._columns([way[:, node] for way in ways[1:]]) for node in range(self.nodes)]
        start = self._jumped(self._moving(self.shared[0], forcing[0], changes[0]))
        end, left = self.discretization.step(start, self.shared[1], forcing, changes, forcing[-1], changes[-1])
        values, rates = ca.vertcat(end.x, end.top), ca.vertcat(end.dx, end.dtop)
        return self._function("step", ca.vertcat(values, ca.vec(rates), ca.fmax(self.worst, left)))

    def _jumped(self, start: Moving) -> Moving:
        """Sensitivities after the jump at a break point that moves."""
        if not self.count:
            return start
        before = ca.SX(start.w)
        for symbol, value in zip(self.own, ca.vertsplit(self.lane)[-len(self.own) :], strict=True):
            before[symbol] = value
        change = self.discretization.slope(start.at(w=before)) - self.discretization.slope(start)
        return start.at(dx=start.dx + ca.mtimes(change, self.shared[-self.count :].T))

    def _observe(self) -> ca.Function:
        ends = ca.horzcat(*(self._forcing(way)[:, -1] for way in range(1 + self.count)))
        return self._function("observe", self._observed(self.shared[0] + self.shared[1], ends))

    def _observed(self, t: ca.SX, forcing: ca.SX) -> ca.SX:
        at = self._moving(t, forcing[:, 0], self._columns([forcing[:, 1 + i] for i in range(self.count)]))
        values, rates, residual = self.discretization.observe(at, self.wanted)
        return ca.vertcat(values, ca.vec(rates), ca.fmax(residual, self.worst * (ACCEPTED / UNFINISHED)))

    def _moving(self, t: ca.SX, w: ca.SX, dw: ca.SX) -> Moving:
        r = self.reduction
        x, top = ca.vertsplit(self.state, [0, len(r.states), self.discretization.size])
        (x, dx), (top, dtop) = (ca.horzsplit(part, [0, 1, 1 + self.count]) for part in (x, top))
        count = len(r.parameters)
        p, read = ca.vertsplit(self.parameters, [0, count, self.parameters.shape[0]])
        rates = iter(ca.vertsplit(read)) if read.shape[0] else iter(())
        dp = ca.SX(count, self.count)
        for k, column in enumerate(self.shape.directions.entries):
            for i, one in column:
                dp[i, k] = 1 if one else next(rates)
        return Moving(t, x, top, p, w, dx, dtop, dp, dw)

    def _forcing(self, way: int) -> ca.SX:
        """Exogenous values at the nodes (symbol, node); way 0 is the value, the others are derivatives."""
        table = ca.SX.zeros(len(self.reduction.exogenous), self.nodes)
        if way == 0:
            for column, symbol in enumerate(self.known):
                first = 2 + column * self.nodes
                table[symbol, :] = self.shared[first : first + self.nodes].T
        for column, symbol in enumerate(self.own):
            first = (way * len(self.own) + column) * self.nodes
            table[symbol, :] = self.lane[first : first + self.nodes].T
        return table

    def _columns(self, columns: list[ca.SX]) -> ca.SX:
        return ca.horzcat(*columns) if columns else ca.SX(len(self.reduction.exogenous), 0)

    def _function(self, name: str, result: ca.SX) -> ca.Function:
        state = ca.vertcat(ca.vec(self.state), self.worst)
        return ca.Function(name, [state, self.parameters, self.shared, self.lane], [result])
