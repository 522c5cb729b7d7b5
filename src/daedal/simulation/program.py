"""The compiled program of the lanes: step and observation of a system, with forcing and sensitivities, as one kernel.

A lane carries state = (X, T) and, for each free direction θ, its sensitivity (dX/dθ, dT/dθ); the sensitivities are the
exact derivative of the discrete step, through its linear solves and its projection. Every step reads

    parameters  p, and for each direction dp/dθ                              one value per lane
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
from daedal.simulation.discretization import NODES, Discretization, Method, Point
from daedal.simulation.schedule import cell_weights
from daedal.symbolic import jet
from daedal.systems import System


@dataclass(frozen=True)
class Shape:
    """What distinguishes one program of a system from another."""

    method: Method
    cells: int
    directions: int
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
        return len(self.shape.wanted) * (1 + self.shape.directions) + 1


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
    return Program(shape, kernel, first, steps.n_instructions(), discretization.layout.size, known, noisy)


class _Builder:
    """Kernel arguments as symbols, taken apart into what a Discretization asks for."""

    def __init__(
        self, discretization: Discretization, shape: Shape, known: tuple[int, ...], noisy: tuple[int, ...]
    ) -> None:
        self.discretization, self.shape, self.known, self.noisy = discretization, shape, known, noisy
        self.nodes = NODES[shape.method]
        ways, size = 1 + shape.directions, discretization.layout.size
        self.state = ca.SX.sym("state", size, ways)
        self.parameters = ca.SX.sym("p", len(discretization.reduction.parameters), ways)
        inside = self.nodes.size if shape.cells == 0 and noisy else 0
        self.shared = ca.SX.sym("shared", 2 + len(known) * (self.nodes.size + 1) + inside)
        self.lane = ca.SX.sym("lane", len(noisy) * ways * ((shape.cells or 1) + 1))

    def step(self) -> ca.Function:
        forcing = self._forcing(0)
        t, h = self.shared[0], self.shared[1]
        step = self.discretization.step()
        result = step(self.state[:, 0], self.parameters[:, 0], t, h, forcing)
        columns = [result] + [
            self._derivative(step, way, t, h, forcing, self._forcing(way))
            for way in range(1, 1 + self.shape.directions)
        ]
        return self._function("step", ca.vertcat(*columns))

    def observe(self, wanted: ca.SX) -> ca.Function:
        forcing = ca.horzcat(*(self._end_forcing(way) for way in range(1 + self.shape.directions)))
        return self._function("observe", self._observed(wanted, self.shared[0] + self.shared[1], forcing))

    def observe_first(self, wanted: ca.SX) -> ca.Function:
        """The same for values of the exogenous symbols given outright, one column per way."""
        t = ca.SX.sym("t")
        forcing = ca.SX.sym("w", len(self.known) + len(self.noisy), 1 + self.shape.directions)
        result = self._observed(wanted, t, forcing)
        return ca.Function("first", [ca.vec(self.state), ca.vec(self.parameters), t, ca.vec(forcing)], [result])

    def _observed(self, wanted: ca.SX, t: ca.SX, forcing: ca.SX) -> ca.SX:
        observe = self.discretization.observe(wanted)
        result = observe(self.state[:, 0], self.parameters[:, 0], t, forcing[:, 0])
        rows = [
            self._derivative(observe, way, t, None, forcing[:, 0], forcing[:, way])[:-1]
            for way in range(1, 1 + self.shape.directions)
        ]
        return ca.vertcat(result[:-1], *rows, result[-1])

    def _derivative(
        self, function: ca.Function, way: int, t: ca.SX, h: ca.SX | None, forcing: ca.SX, change: ca.SX
    ) -> ca.SX:
        """Directional derivative of a step or observation along one column of state, parameters and forcing."""
        arguments = [ca.SX.sym(f"a{i}", function.sparsity_in(i)) for i in range(function.n_in())]
        moving = [0, 1, function.n_in() - 1]
        along = [ca.SX.sym(f"d{i}", function.sparsity_in(i)) for i in moving]
        expression = function(*arguments)
        seeds = ca.vertcat(*(ca.vec(arguments[i]) for i in moving))
        tangent = ca.jtimes(expression, seeds, ca.vertcat(*(ca.vec(d) for d in along)))
        directional = ca.Function("directional", [*arguments, *along], [tangent])
        values = [self.state[:, 0], self.parameters[:, 0], t, *([] if h is None else [h]), forcing]
        return directional(*values, self.state[:, way], self.parameters[:, way], change)

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
        for column, symbol in enumerate(self.noisy):
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
        for column, symbol in enumerate(self.noisy):
            path = self._path(way, column)
            values[symbol] = (
                path[-1] if self.shape.cells else sum(a * b for a, b in zip(self._weights()[-1], path, strict=True))
            )
        return values

    def _path(self, way: int, column: int) -> list[ca.SX]:
        """One disturbance at the grid points of the step."""
        per_point = len(self.noisy) * (1 + self.shape.directions)
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
