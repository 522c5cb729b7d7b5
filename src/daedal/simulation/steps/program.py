"""The compiled program of the lanes: step and observation of a system, with forcing and sensitivities, as one kernel.

A lane carries state = (X, T), for each free direction θ its sensitivity (dX/dθ, dT/dθ), and the largest increment with
which a Newton iteration was left so far; the sensitivities are the exact derivative of the discrete step, through its
linear solves and its projection. Every step reads

    parameters  p, and dp/dθ where it is neither zero nor one; sizes         one value per lane
    shared      t, h, inputs at the nodes, inputs at the end                 one value for all lanes
    lane        disturbances at the grid points of its cells, and for each
                direction their derivatives                                  one value per lane

A step spans `cells` whole cells of the disturbance grid (the path through them is moment-matched), or lies inside one
cell (`cells` = 0), at positions that are then read from `shared`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from daedal import disturbances, kernels, systems
from daedal.errors import SimulationError
from daedal.kernels import compile_scan
from daedal.models import find_followers
from daedal.simulation import steps
from daedal.simulation.steps.curves import Curve, GridRow, compute_cell_weights, make_grid_row
from daedal.simulation.steps.discretization import Discretization, Point
from daedal.simulation.steps.radau import NODES, Method
from daedal.simulation.steps.tableau import RUNGE_KUTTA
from daedal.simulation.steps.tangents import Moving
from daedal.symbolic import jet
from daedal.systems import Reduction, System

if TYPE_CHECKING:
    from daedal.kernels import RepeatedScan
    from daedal.simulation.steps.lane import Slots

REPEATED = 64  # numbers that move: where there are more, code is written for one direction and repeated for others
PROGRAMS = 32  # kept for one structure, the last ones made
ACCEPTED = 1e-6  # relative residual of the equations at a sample above which a lane has failed
GAVE_UP = 1e20  # the same for a lane that changed the sides of its switches without end
UNFINISHED = 1e-3  # the same for what Newton iterations left to do in a step; the error of the steps judges the rest


@dataclass(frozen=True)
class Directions:
    """The structure of dp/dθ: what is zero costs nothing, a free parameter itself moves by one, formulas are read."""

    entries: tuple[tuple[tuple[int, bool], ...], ...]  # for each direction: parameters that move, and whether by one
    moves_noise: bool  # whether the disturbances depend on a direction
    repeated: bool = False  # whether all are alike, so that code for one does for the others

    @staticmethod
    def of(system: System, free: Sequence[str]) -> "Directions":
        """The structure for these free parameters, whatever the values."""
        model, parameters = system.model, system.reduction.parameters
        columns = []
        moving: set[str] = set()
        for name in free:
            followers = find_followers(model, name)
            moving |= {name, *followers}
            listed = [(i, p == name) for i, p in enumerate(parameters) if p == name or p in followers]
            columns.append(tuple(listed))
        used = {name for noise in model.disturbances.values() for name in disturbances.list_parameters(noise)}
        large = len(free) > 1 and len(free) * (len(system.states) + len(system.tops)) > REPEATED
        repeated = large and not system.reduction.delays and not _switches(system.reduction)
        if repeated:
            columns = [tuple((i, False) for i, name in enumerate(parameters) if name in moving)] * len(free)
        return Directions(tuple(columns), bool(used & moving), repeated)

    @property
    def one(self) -> "Directions":
        """The structure of any of them, where all are alike."""
        return Directions(self.entries[:1], self.moves_noise)

    @property
    def none(self) -> "Directions":
        """That of values alone."""
        return Directions((), False)

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
    grid: float  # of the disturbances; 0 where they are inputs that are zero
    curves: tuple[Curve, ...]  # how each disturbance runs between grid points

    @property
    def noisy(self) -> bool:
        """Whether disturbances come lane by lane."""
        return self.grid > 0

    @property
    def one(self) -> "Shape":
        """The same with one direction, where all are alike."""
        return replace(self, directions=self.directions.one)

    @property
    def rows(self) -> int:
        """Of a sample: wanted values, and their sensitivities direction by direction."""
        return len(self.wanted) * (1 + self.directions.count)


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
    slots: "Slots | None" = None  # what lanes carry where equations switch
    sample: ca.Function | None = None  # (state, parameters, t, exogenous, marks) → the state, where anything is held
    look: ca.Function | None = None  # (state, parameters, t, exogenous) → margins of switches, tolerances and controls
    repeated: "RepeatedScan | None" = None  # the kernel for any number of directions, where they are alike
    projects_inputs: bool = True  # whether inputs at the end of a step are read where no sample follows

    @property
    def nodes(self) -> np.ndarray:
        return NODES[self.shape.method]

    @property
    def grid_rows(self) -> int:
        """Grid points a step reads."""
        return (self.shape.cells or 1) + 1

    @property
    def outputs(self) -> int:
        """Rows written per sample: those of its shape, the sides of switches in one number, and last the residual."""
        return self.shape.rows + 1 + (self.slots is not None)


def compile_program(system: System, shape: Shape, point: Point, step: float, quick: bool = False) -> Program:
    """Compile, or find again, the program of this shape; `point` and `step` say where pivots are chosen.

    What is run only a few times may be `quick` code; it is another program, as its last digits may differ.
    """
    known = system.reduction.compiled
    key = plain = f"lanes {shape}"
    if quick and (plain not in known or known[plain].kernel.long):
        key += " quick"
    program = known.get(key)
    if program is None:
        try:
            program = known[key] = _compile(system, shape, point, step, quick)
        except np.linalg.LinAlgError:
            raise SimulationError(
                f"Model '{system.model.name}' is singular at its initial values.", "Start from another position."
            ) from None
        if not program.kernel.long:
            known[plain] = program
        programs = [name for name in list(known) if name.startswith("lanes ")]
        for oldest in programs[:-PROGRAMS]:
            known.pop(oldest, None)
    return program


def reorder_pivots(system: System, shape: Shape, point: Point, step: float) -> Program | None:
    """The same program with pivots chosen at another point; None where that is singular, or they would be the same."""
    if _has_one_order(system, shape):
        return None
    try:
        return _compile(system, shape, point, step)
    except np.linalg.LinAlgError:
        return None


def _has_one_order(system: System, shape: Shape) -> bool:
    """Whether pivots are the same everywhere: explicit steps, without constraints, of a system whose J is constant."""
    r = system.reduction
    slides = r.switching is not None and systems.find_sliding(system) is not None
    return shape.method in RUNGE_KUTTA and not r.constraints and r.J.is_constant() and not slides


def _compile(system: System, shape: Shape, point: Point, step: float, quick: bool = False) -> Program:
    r = system.reduction
    disturbances = set(system.model.disturbance_names) if shape.noisy else set()
    noisy = tuple(i for i, name in enumerate(r.exogenous) if jet(name)[0] in disturbances)
    own = r.switching.located if r.switching else ()
    known = tuple(i for i, name in enumerate(r.exogenous) if i not in noisy and name not in own)
    row = make_grid_row(system) if noisy else GridRow((), ())
    if own:
        return steps.compile_switching(system, shape, point, step, known, noisy, row, quick)
    discretization = Discretization(r, shape.method, point, step, compact=True)
    wanted = stack_observed(r, shape.wanted)
    builder = StepBuilder(discretization, shape, known, noisy, row)
    first, size = builder.observe_first(wanted), discretization.size
    if shape.directions.repeated:
        program = _compile_repeated(StepBuilder(discretization, shape.one, known, noisy, row), shape, first)
    else:
        advance, observation = builder.step(), builder.observe(wanted)
        kernel = compile_scan(advance, observation, lanes=None if shape.noisy else 1, quick=quick)
        program = Program(shape, kernel, first, kernel.instructions, size, known, noisy)
    return replace(program, projects_inputs=_constrains_inputs(r, known))


def _constrains_inputs(reduction: Reduction, inputs: Sequence[int]) -> bool:
    """Whether the constraints, onto which a step is projected, contain known inputs."""
    symbols = reduction.arguments[-1]
    constraints = ca.vertcat(reduction.G, ca.vec(reduction.A), ca.vec(reduction.B))
    return bool(reduction.constraints and inputs) and ca.depends_on(
        constraints, ca.vertcat(*(symbols[i] for i in inputs))
    )


def _compile_repeated(builder: "StepBuilder", shape: Shape, first: ca.Function) -> Program:
    """The program whose kernel was written for one direction."""
    size, jets, directions = builder.discretization.size, len(builder.row.jets), shape.directions
    wanted = stack_observed(builder.discretization.reduction, shape.wanted)
    parameters, read = len(builder.discretization.reduction.parameters), len(directions.entries[0])
    layouts = [
        kernels.Layout(size, size, 1),
        kernels.Layout(parameters, read, builder.discretization.sizes.shape[0]),
        kernels.Layout(builder.shared.shape[0]),
        kernels.Layout(jets, jets * directions.moves_noise, groups=(shape.cells or 1) + 1),
    ]
    output = kernels.Layout(len(shape.wanted), len(shape.wanted), 1)
    few = None if shape.noisy else directions.count
    repeated = kernels.compile_repeated(builder.step(), builder.observe(wanted), layouts, output, few)
    common, own = repeated.instructions
    instructions = common + directions.count * own
    kernel = repeated.at(directions.count)
    return Program(shape, kernel, first, instructions, size, builder.known, builder.noisy, repeated=repeated)


def _switches(reduction: Reduction) -> bool:
    """Whether lanes have switches or held values of their own."""
    return reduction.switching is not None and bool(reduction.switching.located)


def stack_observed(reduction: Reduction, names: Sequence[str]) -> ca.SX:
    """The wanted variables as a column."""
    return ca.vertcat(ca.SX(0, 1), *(reduction.observed[name] for name in names))


class StepBuilder:
    """Kernel arguments as symbols, taken apart into what a Discretization asks for.

    `daedal.simulation.delays.program` adds delayed values to it.
    """

    def __init__(
        self,
        discretization: Discretization,
        shape: Shape,
        known: tuple[int, ...],
        noisy: tuple[int, ...],
        row: GridRow,
    ) -> None:
        self.discretization, self.shape, self.known, self.noisy, self.row = discretization, shape, known, noisy, row
        self.nodes = NODES[shape.method]
        self.symbols = len(discretization.reduction.exogenous)
        self.count = shape.directions.count
        self.state = ca.SX.sym("state", discretization.size, 1 + self.count)
        self.worst = ca.SX.sym("worst")  # increment of an unfinished Newton iteration so far
        read = sum(not one for column in shape.directions.entries for _, one in column)
        values = ca.SX.sym("p", len(discretization.reduction.parameters) + read)
        self.parameters = ca.vertcat(values, discretization.sizes)
        inside = self.nodes.size if shape.cells == 0 and noisy else 0
        self.shared = ca.SX.sym("shared", 2 + len(known) * (self.nodes.size + 1) + inside)
        self.lane = ca.SX.sym("lane", len(row.jets) * shape.directions.ways * ((shape.cells or 1) + 1))

    def step(self) -> ca.Function:
        t, h = self.shared[0], self.shared[1]
        ways = [self.read_forcing(way) for way in range(1 + self.count)]
        forcing = [ways[0][:, node] for node in range(self.nodes.size)]
        changes = [self._join_columns([way[:, node] for way in ways[1:]]) for node in range(self.nodes.size)]
        ends = [self.read_end_forcing(way) for way in range(1 + self.count)]
        start = self._begin(self.make_moving(t, forcing[0], changes[0]))
        end, increment = self.discretization.step(start, h, forcing, changes, ends[0], self._join_columns(ends[1:]))
        values, rates = ca.vertcat(end.x, end.top), ca.vertcat(end.dx, end.dtop)
        return self._make_function("step", ca.vertcat(values, ca.vec(rates), ca.fmax(self.worst, increment)))

    def observe(self, wanted: ca.SX) -> ca.Function:
        forcing = ca.horzcat(*(self.read_end_forcing(way) for way in range(1 + self.count)))
        return self._make_function("observe", self._observe_at(wanted, self.shared[0] + self.shared[1], forcing))

    def observe_first(self, wanted: ca.SX) -> ca.Function:
        """The same for values of the exogenous symbols given outright, one column per way."""
        t = ca.SX.sym("t")
        forcing = ca.SX.sym("w", self.symbols, 1 + self.count)
        result = self._observe_at(wanted, t, forcing)
        state = ca.vertcat(ca.vec(self.state), self.worst)
        return ca.Function("first", [state, ca.vec(self.parameters), t, ca.vec(forcing)], [result])

    def _observe_at(self, wanted: ca.SX, t: ca.SX, forcing: ca.SX) -> ca.SX:
        at = self.make_moving(t, forcing[:, 0], self._join_columns([forcing[:, 1 + i] for i in range(self.count)]))
        values, rates, residual = self.discretization.observe(at, wanted)
        return ca.vertcat(values, ca.vec(rates), ca.fmax(residual, self.worst * (ACCEPTED / UNFINISHED)))

    def _begin(self, start: Moving) -> Moving:
        """Where a step sets out from; systems whose sensitivities jump change it."""
        return start

    def make_moving(self, t: ca.SX, w: ca.SX, dw: ca.SX, state: ca.SX | None = None) -> Moving:
        reduction = self.discretization.reduction
        x, top = ca.vertsplit(
            self.state if state is None else state, [0, len(reduction.states), self.discretization.size]
        )
        (x, dx), (top, dtop) = (ca.horzsplit(part, [0, 1, 1 + self.count]) for part in (x, top))
        count = len(reduction.parameters)
        last = self.parameters.shape[0]
        p, read, _ = ca.vertsplit(self.parameters, [0, count, last - self.discretization.sizes.shape[0], last])
        rates = iter(ca.vertsplit(read)) if read.shape[0] else iter(())
        dp = ca.SX(count, self.count)
        for k, column in enumerate(self.shape.directions.entries):
            for i, one in column:
                dp[i, k] = 1 if one else next(rates)
        return Moving(t, x, top, p, w, dx, dtop, dp, dw)

    def _join_columns(self, columns: list[ca.SX]) -> ca.SX:
        return ca.horzcat(*columns) if columns else ca.SX(self.symbols, 0)

    def _make_function(self, name: str, result: ca.SX) -> ca.Function:
        return ca.Function(
            name, [ca.vertcat(ca.vec(self.state), self.worst), self.parameters, self.shared, self.lane], [result]
        )

    def read_forcing(self, way: int) -> ca.SX:
        """Exogenous values at the nodes (symbol, node); way 0 is the value, the others are derivatives."""
        count = self.nodes.size
        table = ca.SX.zeros(self.symbols, count)
        for column, symbol in enumerate(self.known):
            if way == 0:
                first = 2 + column * count
                table[symbol, :] = self.shared[first : first + count].T
        for column, symbol in enumerate(self.noisy if way < self.shape.directions.ways else ()):
            table[symbol, :] = ca.horzcat(*self._evaluate_path(way, column))
        return table

    def read_end_forcing(self, way: int) -> ca.SX:
        """Exogenous values at the end of the step."""
        values = ca.SX.zeros(self.symbols)
        first = 2 + len(self.known) * self.nodes.size
        for column, symbol in enumerate(self.known):
            if way == 0:
                values[symbol] = self.shared[first + column]
        for column, symbol in enumerate(self.noisy if way < self.shape.directions.ways else ()):
            whole = self.shape.cells > 0
            values[symbol] = self._read_path(way, column)[-1] if whole else self._evaluate_path(way, column)[-1]
        return values

    def _evaluate_path(self, way: int, column: int) -> list[ca.SX]:
        """One disturbance at the nodes of the step, from the values at the grid points."""
        curve = self.row.curves[column]
        own, companion = self._find_weights(curve)
        values = self._read_path(way, column)
        nodes: list[Any] = [sum(a * b for a, b in zip(node, values, strict=True)) for node in own]
        if curve.kind == "line":
            return nodes
        others = [curve.scale(self.shape.grid) * value for value in self._read_path(way, curve.companion)]
        return [
            f + sum(a * b for a, b in zip(node, others, strict=True)) for f, node in zip(nodes, companion, strict=True)
        ]

    def _read_path(self, way: int, column: int) -> list[ca.SX]:
        """One value of the grid row at the grid points of the step."""
        per_point = len(self.row.jets) * self.shape.directions.ways
        offset = way * len(self.row.jets) + column
        return [self.lane[i * per_point + offset] for i in range((self.shape.cells or 1) + 1)]

    def _find_weights(self, curve: Curve) -> tuple[Any, Any]:
        """How node values follow from grid values: fixed for whole cells, by position inside one cell."""
        if self.shape.cells:
            own, companion = compute_cell_weights(self.shape.cells, self.nodes, curve)
            return own.tolist(), companion.tolist()
        first = 2 + len(self.known) * (self.nodes.size + 1)
        positions = ca.vertsplit(self.shared[first : first + self.nodes.size])
        pairs = [curve.compute_weights(position) for position in positions]
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
