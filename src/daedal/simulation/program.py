"""The compiled program of the lanes: step and observation of a system, with forcing and sensitivities, as one kernel.

A lane carries state = (X, T) and, for each free direction θ, its sensitivity (dX/dθ, dT/dθ); the sensitivities are the
exact derivative of the discrete step, through its linear solves and its projection. Every step reads

    parameters  p, and dp/dθ where it is neither zero nor one                one value per lane
    shared      t, h, inputs at the nodes, inputs at the end                 one value for all lanes
    lane        disturbances at the grid points of its cells, and for each
                direction their derivatives                                  one value per lane

A step spans `cells` whole cells of the disturbance grid (the path through them is moment-matched), or lies inside one
cell (`cells` = 0), at positions that are then read from `shared`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedal.kernels import compile_scan
from daedal.simulation.collocation import NODES, Method
from daedal.simulation.discretization import Discretization, Point
from daedal.simulation.schedule import cell_weights
from daedal.simulation.tangents import Moving
from daedal.symbolic import jet
from daedal.systems import System


@dataclass(frozen=True)
class Directions:
    """The structure of dp/dθ: what is zero costs nothing, a free parameter itself moves by one, formulas are read."""

    entries: tuple[tuple[tuple[int, bool], ...], ...]  # for each direction: parameters that move, and whether by one
    moves_noise: bool  # whether the disturbances depend on a direction

    @staticmethod
    def of(rates: np.ndarray, moves_noise: bool) -> "Directions":
        """The structure of dp/dθ given as (parameter, direction)."""
        columns = [
            [(int(i), bool(rates[i, k] == 1.0)) for i in np.flatnonzero(rates[:, k])] for k in range(rates.shape[1])
        ]
        return Directions(tuple(map(tuple, columns)), moves_noise and rates.shape[1] > 0)

    @property
    def count(self) -> int:
        return len(self.entries)

    @property
    def ways(self) -> int:
        """Values of each disturbance in a grid row: itself, and its derivative in each direction if it has any."""
        return 1 + self.count * self.moves_noise

    def read(self, rates: np.ndarray) -> np.ndarray:
        """The entries that a program reads with the parameters."""
        return np.array([rates[i, k] for k, column in enumerate(self.entries) for i, one in column if not one])


@dataclass(frozen=True)
class Shape:
    """What distinguishes one program of a system from another."""

    method: Method
    cells: int
    directions: Directions
    wanted: tuple[str, ...]
    noisy: bool  # whether disturbances come lane by lane, rather than as inputs that are zero


@dataclass(frozen=True, eq=False)
class Program:
    """A kernel and the layout of its arguments."""

    shape: Shape
    kernel: Any
    first: ca.Function  # (state, parameters, t, exogenous) → the outputs before any step
    instructions: int
    size: int  # of (X, T)
    inputs: tuple[int, ...]  # exogenous symbols that are inputs, by position
    disturbances: tuple[int, ...]  # and those that are disturbances or their derivatives

    @property
    def nodes(self) -> np.ndarray:
        return NODES[self.shape.method]

    @property
    def grid_rows(self) -> int:
        """Grid points a step reads."""
        return (self.shape.cells or 1) + 1

    @property
    def outputs(self) -> int:
        """Rows written per sample: wanted values, their sensitivities, and last the residual."""
        return len(self.shape.wanted) * (1 + self.shape.directions.count) + 1


def program(system: System, shape: Shape, point: Point, step: float) -> Program:
    """Compile, or find again, the program of this shape; `point` and `step` say where pivots are chosen."""
    known = system.reduction.compiled
    key = f"lanes {shape}"
    if key not in known:
        known[key] = _compiled(system, shape, point, step)
    return known[key]


def _compiled(system: System, shape: Shape, point: Point, step: float) -> Program:
    r = system.reduction
    disturbances = set(system.model.disturbance_names) if shape.noisy else set()
    noisy = tuple(i for i, name in enumerate(r.exogenous) if jet(name)[0] in disturbances)
    known = tuple(i for i in range(len(r.exogenous)) if i not in noisy)
    discretization = Discretization(r, shape.method, point, step)
    builder = _Builder(discretization, shape, known, noisy)
    wanted = ca.vertcat(*(r.observed[name] for name in shape.wanted)) if shape.wanted else ca.SX(0, 1)
    steps, observation = builder.step(), builder.observe(wanted)
    kernel = compile_scan(steps, observation)
    first = builder.observe_first(wanted)
    return Program(shape, kernel, first, steps.n_instructions(), discretization.size, known, noisy)


class _Builder:
    """Kernel arguments as symbols, taken apart into what a Discretization asks for."""

    def __init__(
        self, discretization: Discretization, shape: Shape, known: tuple[int, ...], noisy: tuple[int, ...]
    ) -> None:
        self.discretization, self.shape, self.known, self.noisy = discretization, shape, known, noisy
        self.nodes = NODES[shape.method]
        self.count = shape.directions.count
        self.state = ca.SX.sym("state", discretization.size, 1 + self.count)
        read = sum(not one for column in shape.directions.entries for _, one in column)
        self.parameters = ca.SX.sym("p", len(discretization.reduction.parameters) + read)
        inside = self.nodes.size if shape.cells == 0 and noisy else 0
        self.shared = ca.SX.sym("shared", 2 + len(known) * (self.nodes.size + 1) + inside)
        self.lane = ca.SX.sym("lane", len(noisy) * shape.directions.ways * ((shape.cells or 1) + 1))

    def step(self) -> ca.Function:
        t, h = self.shared[0], self.shared[1]
        ways = [self._forcing(way) for way in range(1 + self.count)]
        forcing = [ways[0][:, node] for node in range(self.nodes.size)]
        changes = [self._columns([way[:, node] for way in ways[1:]]) for node in range(self.nodes.size)]
        end = self.discretization.step(self._moving(t, forcing[0], changes[0]), h, forcing, changes)
        values = ca.vertcat(end.x, end.top)
        rates = ca.vertcat(end.dx, end.dtop)
        return self._function("step", ca.vertcat(values, ca.vec(rates)))

    def observe(self, wanted: ca.SX) -> ca.Function:
        forcing = ca.horzcat(*(self._end_forcing(way) for way in range(1 + self.count)))
        return self._function("observe", self._observed(wanted, self.shared[0] + self.shared[1], forcing))

    def observe_first(self, wanted: ca.SX) -> ca.Function:
        """The same for values of the exogenous symbols given outright, one column per way."""
        t = ca.SX.sym("t")
        forcing = ca.SX.sym("w", len(self.known) + len(self.noisy), 1 + self.count)
        result = self._observed(wanted, t, forcing)
        return ca.Function("first", [ca.vec(self.state), ca.vec(self.parameters), t, ca.vec(forcing)], [result])

    def _observed(self, wanted: ca.SX, t: ca.SX, forcing: ca.SX) -> ca.SX:
        at = self._moving(t, forcing[:, 0], self._columns([forcing[:, 1 + i] for i in range(self.count)]))
        values, rates, residual = self.discretization.observe(at, wanted)
        return ca.vertcat(values, ca.vec(rates), residual)

    def _moving(self, t: ca.SX, w: ca.SX, dw: ca.SX) -> Moving:
        reduction = self.discretization.reduction
        x, top = ca.vertsplit(self.state, [0, len(reduction.states), self.discretization.size])
        (x, dx), (top, dtop) = (ca.horzsplit(part, [0, 1, 1 + self.count]) for part in (x, top))
        count = len(reduction.parameters)
        p, read = ca.vertsplit(self.parameters, [0, count, self.parameters.shape[0]])
        rates = iter(ca.vertsplit(read)) if read.shape[0] else iter(())
        dp = ca.SX(count, self.count)
        for k, column in enumerate(self.shape.directions.entries):
            for i, one in column:
                dp[i, k] = 1 if one else next(rates)
        return Moving(t, x, top, p, w, dx, dtop, dp, dw)

    def _columns(self, columns: list[ca.SX]) -> ca.SX:
        return ca.horzcat(*columns) if columns else ca.SX(len(self.known) + len(self.noisy), 0)

    def _function(self, name: str, result: ca.SX) -> ca.Function:
        return ca.Function(name, [ca.vec(self.state), ca.vec(self.parameters), self.shared, self.lane], [result])

    def _forcing(self, way: int) -> ca.SX:
        """Exogenous values at the nodes (symbol, node); way 0 is the value, the others are derivatives."""
        count = self.nodes.size
        table = ca.SX.zeros(len(self.known) + len(self.noisy), count)
        for column, symbol in enumerate(self.known):
            if way == 0:
                first = 2 + column * count
                table[symbol, :] = self.shared[first : first + count].T
        weights = self._weights()
        for column, symbol in enumerate(self.noisy if way < self.shape.directions.ways else ()):
            path = self._path(way, column)
            for node in range(count):
                table[symbol, node] = sum(weights[node][i] * path[i] for i in range(len(path)))
        return table

    def _end_forcing(self, way: int) -> ca.SX:
        """Exogenous values at the end of the step."""
        values = ca.SX.zeros(len(self.known) + len(self.noisy))
        first = 2 + len(self.known) * self.nodes.size
        for column, symbol in enumerate(self.known):
            if way == 0:
                values[symbol] = self.shared[first + column]
        for column, symbol in enumerate(self.noisy if way < self.shape.directions.ways else ()):
            path = self._path(way, column)
            values[symbol] = (
                path[-1] if self.shape.cells else sum(a * b for a, b in zip(self._weights()[-1], path, strict=True))
            )
        return values

    def _path(self, way: int, column: int) -> list[ca.SX]:
        """One disturbance at the grid points of the step."""
        per_point = len(self.noisy) * self.shape.directions.ways
        offset = way * len(self.noisy) + column
        return [self.lane[i * per_point + offset] for i in range((self.shape.cells or 1) + 1)]

    def _weights(self) -> Sequence[Sequence[Any]]:
        """How node values follow from grid values: fixed for whole cells, by position inside one cell."""
        if self.shape.cells:
            return cell_weights(self.shape.cells, self.nodes).tolist()
        if not self.noisy:
            return []
        positions = ca.vertsplit(self.shared[self.shared.shape[0] - self.nodes.size :])
        return [[1 - a, a] for a in positions]
