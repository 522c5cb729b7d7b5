"""A model with its disturbances as one discrete system driven by independent normals, as compiled programs.

The state s = (X, x_w) joins what the past determines of the reduced system and the states of all shaping filters; a
step of the time grid is one cell of `noise_cells`,

    s⁺ = F(s, z, u; θ),   z ~ N(0, I),      y = g(s, u; θ) + e,

with X⁺ from a Runge–Kutta or Radau step that ends on the constraints (`daedal.simulation.steps`), for any index. All
randomness is in z, whose law does not depend on θ; noise coefficients come in with the table of what each step reads,
so that nothing is compiled again when they move. T, what is solved for at each instant, is not part of s: it is carried
along as the first guess of the next solution.

Kernels, made when they are first asked for:

    scan        many lanes over many steps, with ∂s/∂θ in given directions where wanted; lanes have their own z
    jacobians   ∂F/∂s and ∂F/∂z of all steps at once, with the *steps as lanes*
    sights      g and ∂g/∂s of all grid points at once
    pull        ∂/∂(s, z, p, table) of qᵀF + ⟨Ā, ∂F/∂s⟩ + ⟨Ḡ, ∂F/∂z⟩ for given q, Ā, Ḡ of each step: adjoints
    pull_sights the same of ȳᵀg + ⟨h̄, ∂g/∂s⟩

What they read as p are the parameters, and sizes of X and T by which residuals are judged and steps projected.
Layout of a row of the table: t, h, known inputs at the nodes (input by input) and at the end, then what `noise_cells`
says of the cell: A_d, L, rows at the nodes by state and by normals (node by node), rows at the end, all row by row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import casadi as ca
import numpy as np

from daedal import symbolic
from daedal.errors import EstimationError, SimulationError
from daedal.filtering.nonlinear.noise_cells import NoiseMatrices
from daedal.kernels import MapKernel, ScanKernel, compile_map, compile_scan
from daedal.linear import Dual
from daedal.simulation import (
    ACCEPTED,
    NODES,
    UNFINISHED,
    Directions,
    Discretization,
    Method,
    Moving,
    Point,
    find_disturbance_places,
)
from daedal.systems import System

PROGRAMS = 16  # kept for one structure, the last ones made


@dataclass(frozen=True)
class Layout:
    """How many numbers of each kind a program has."""

    states: int  # of X
    tops: int  # of T
    filters: int  # of x_w
    normals: int  # of z
    parameters: int
    known: tuple[int, ...]  # exogenous symbols that are inputs, by position
    noisy: tuple[int, ...]  # and those that are disturbances or their derivatives
    symbols: int
    nodes: int

    @property
    def state(self) -> int:
        """Of s."""
        return self.states + self.filters

    @property
    def inputs(self) -> int:
        """Of t, h and what is known of the inputs in a row of the table."""
        return 2 + len(self.known) * (self.nodes + 1)

    @property
    def noise_shapes(self) -> tuple[tuple[int, int], ...]:
        """A_d, L, rows at the nodes by state and by normals, rows at the end."""
        n, rows = self.filters, len(self.noisy)
        by_state, by_normals = (self.nodes * rows, n), (self.nodes * rows, self.normals)
        return (n, n), (n, self.normals), by_state, by_normals, (rows, n)

    @property
    def noise(self) -> int:
        """Of the disturbances in a row of the table."""
        return sum(rows * columns for rows, columns in self.noise_shapes)

    @property
    def table(self) -> int:
        """Of a row of the table."""
        return self.inputs + self.noise


@dataclass(frozen=True, eq=False)
class _Seeds:
    """Columns of derivatives of what a step reads; None for a table that does not move."""

    x: ca.SX
    filters: ca.SX
    z: ca.SX
    p: ca.SX
    noise: Sequence[ca.SX] | None = None  # of each direction

    @property
    def count(self) -> int:
        return self.p.shape[1]


class InnovationProgram:
    """The discrete system of a model for one method of steps and one choice of outputs; see the module."""

    def __init__(
        self,
        system: System,
        method: Method,
        outputs: tuple[str, ...],
        sizes: tuple[int, int],
        point: Point,
        step: float,
    ) -> None:
        """`sizes`: states of the filters and normals of a cell; pivots are chosen at a point, for a step."""
        r = system.reduction
        self.system, self.method, self.outputs = system, method, outputs
        self.nodes = NODES[method]
        noisy = find_disturbance_places(system)
        known = tuple(i for i in range(len(r.exogenous)) if i not in noisy)
        self.sizes = Layout(
            len(r.states), len(r.tops), *sizes, len(r.parameters), known, noisy, len(r.exogenous), self.nodes.size
        )
        try:
            self._discretization = Discretization(r, method, point, step)
            _ = self._discretization.numbers  # chooses pivots
        except np.linalg.LinAlgError:
            raise SimulationError(
                f"Model '{system.model.name}' is singular at its initial values.", "Start from another position."
            ) from None
        self._wanted = ca.vertcat(ca.SX(0, 1), *(find_expression(system, name) for name in outputs))
        s, n = self.sizes, self.sizes.state
        self._s, self._top = ca.SX.sym("s", n), ca.SX.sym("top", s.tops)
        self._p, self._table = ca.SX.sym("p", s.parameters), ca.SX.sym("table", s.table)
        self._read = ca.vertcat(self._p, self._discretization.sizes)
        self._z = ca.SX.sym("z", s.normals)
        self._kernels: dict[Any, Any] = {}
        self._lock = Lock()

    # ---- what runs ---------------------------------------------------------------------------------------------------

    def scan(self, directions: Directions, states: bool = False) -> ScanKernel:
        """Lanes over steps: s⁺ = F(s, z), with derivatives in the directions of free parameters.

        `kernel.run(state, parameters, table, z, emit, out)`, lanes last in all but the table, which all lanes share:

            state       s, T, the largest unfinished Newton increment so far (zero at the start), then ∂s/∂θ direction
                        by direction; advanced in place. `count_state(directions)` tells how many numbers.
            parameters  p in the order of `system.reduction.parameters`, sizes of X and T (`daedal.systems.Sizes`), then
                        `directions.read(dp/dθ)`
            table       (steps, table + noise · moving directions): `tabulate`, with `tabulate_slopes` beside it where
                        `directions.moves_noise`
            z           (steps, normals, lanes)
            out         after the steps that `emit` names: outputs, residual of the equations relative to their terms,
                        then ∂y/∂θ direction by direction; with `states` the whole state instead
        """
        key = ("scan", directions, states)
        return self._remember(key, lambda: self._compile_scan(directions, states))

    def count_state(self, directions: Directions) -> int:
        """Numbers that a lane carries."""
        return self.sizes.state * (1 + directions.count) + self.sizes.tops + 1

    @cached_property
    def jacobians(self) -> MapKernel:
        """(s, T, p, row of the table, z) → ∂F/∂s (n·n, lanes) and ∂F/∂z (n·normals, lanes), row by row."""
        return self._remember("jacobians", lambda: compile_map(self._make_jacobians()))

    @cached_property
    def sights(self) -> MapKernel:
        """(s, T, p, row of the table), s at the end of that step → y, ∂y/∂s row by row, residual of the equations."""
        return self._remember("sights", lambda: compile_map(self._make_sights()))

    @cached_property
    def pull(self) -> MapKernel:
        """(s, T, p, row, z, q, Ā, Ḡ) → ∂/∂s, ∂/∂z, ∂/∂p, ∂/∂(noise in the row) of qᵀF + ⟨Ā, ∂F/∂s⟩ + ⟨Ḡ, ∂F/∂z⟩."""
        return self._remember("pull", lambda: compile_map(self._make_pull()))

    @cached_property
    def pull_sights(self) -> MapKernel:
        """(s, T, p, row, ȳ, h̄) → ∂/∂s, ∂/∂p, ∂/∂(noise in the row) of ȳᵀy + ⟨h̄, ∂y/∂s⟩."""
        return self._remember("pull sights", lambda: compile_map(self._make_pull_sights()))

    def tabulate(self, inputs: np.ndarray, noise: NoiseMatrices, length_of: np.ndarray) -> np.ndarray:
        """The table (step, numbers): t, h and inputs of each step, and the noise of its length."""
        blocks = [matrix.value for matrix in _list_blocks(noise)]
        return np.hstack([inputs, _flatten(blocks)[length_of]])

    def tabulate_slopes(self, noise: NoiseMatrices, length_of: np.ndarray) -> np.ndarray:
        """Derivatives of the noise in the table, (direction, step, numbers)."""
        slopes = zip(*(matrix.slopes for matrix in _list_blocks(noise)), strict=True)
        return np.array([_flatten(list(one))[length_of] for one in slopes]).reshape(
            -1, length_of.size, self.sizes.noise
        )

    def _remember(self, key: Any, make: Callable[[], Any]) -> Any:
        """A kernel, made once whichever thread asks first: formulas are written with the same discretisation."""
        with self._lock:
            if key not in self._kernels:
                self._kernels[key] = make()
            return self._kernels[key]

    # ---- how it is written -------------------------------------------------------------------------------------------

    def _compile_scan(self, directions: Directions, states: bool) -> ScanKernel:
        s, count = self.sizes, directions.count
        rates = ca.SX.sym("rates", s.state, count)
        worst, read = ca.SX.sym("worst"), sum(not one for column in directions.entries for _, one in column)
        extra, moved = ca.SX.sym("extra", read), ca.SX.sym("moved", s.noise * count * directions.moves_noise)
        seeds = _Seeds(
            rates[: s.states, :],
            rates[s.states :, :],
            ca.SX(s.normals, count),
            _fill_rates(directions, s.parameters, extra),
            [moved[s.noise * i : s.noise * (i + 1)] for i in range(count)] if directions.moves_noise else None,
        )
        state = ca.vertcat(self._s, self._top, worst, ca.vec(rates))
        arguments = [state, ca.vertcat(self._read, extra), ca.vertcat(self._table, moved), self._z]
        after, slopes, top, increment = self._advance(seeds)
        step = ca.Function("step", arguments, [ca.vertcat(after, top, ca.fmax(worst, increment), ca.vec(slopes))])
        if states:
            return compile_scan(step, ca.Function("observe", arguments, [state]))
        y, dy, residual = self._see(seeds)
        left = ca.fmax(residual, worst * (ACCEPTED / UNFINISHED))
        return compile_scan(step, ca.Function("observe", arguments, [ca.vertcat(y, left, ca.vec(dy))]))

    def _make_jacobians(self) -> ca.Function:
        by_s, by_z = self._differentiate()
        arguments = [self._s, self._top, self._read, self._table, self._z]
        return ca.Function("jacobians", arguments, [_flatten_rows(by_s), _flatten_rows(by_z)])

    def _make_sights(self) -> ca.Function:
        y, by_s, residual = self._see(self._make_seeds(0))
        return ca.Function("sights", [self._s, self._top, self._read, self._table], [y, _flatten_rows(by_s), residual])

    def _make_pull(self) -> ca.Function:
        s, n = self.sizes, self.sizes.state
        q, A, G = ca.SX.sym("q", n), ca.SX.sym("A", n * n), ca.SX.sym("G", n * s.normals)
        after, slopes, _, _ = self._advance(self._make_seeds(s.normals))
        total = ca.dot(q, after) + ca.dot(_read_rows(A, n, n), slopes[:, :n])
        total += ca.dot(_read_rows(G, n, s.normals), slopes[:, n:])
        pulled = [ca.densify(ca.gradient(total, by)) for by in (self._s, self._z, self._p, self._table)]
        return ca.Function(
            "pull",
            [self._s, self._top, self._read, self._table, self._z, q, A, G],
            [*pulled[:3], pulled[3][s.inputs :]],
        )

    def _make_pull_sights(self) -> ca.Function:
        s, n, m = self.sizes, self.sizes.state, len(self.outputs)
        y_bar, h_bar = ca.SX.sym("y", m), ca.SX.sym("h", m * n)
        y, by_s, _ = self._see(self._make_seeds(0))
        total = ca.dot(y_bar, y) + ca.dot(_read_rows(h_bar, m, n), by_s)
        pulled = [ca.densify(ca.gradient(total, by)) for by in (self._s, self._p, self._table)]
        return ca.Function(
            "pull_sights",
            [self._s, self._top, self._read, self._table, y_bar, h_bar],
            [*pulled[:2], pulled[2][s.inputs :]],
        )

    def _differentiate(self) -> tuple[ca.SX, ca.SX]:
        n = self.sizes.state
        _, slopes, _, _ = self._advance(self._make_seeds(self.sizes.normals))
        return slopes[:, :n], slopes[:, n:]

    def _make_seeds(self, normals: int) -> _Seeds:
        """All directions of s, and of z where wanted."""
        s, count = self.sizes, self.sizes.state + normals
        eye = ca.SX(ca.DM.eye(count))
        z = eye[s.state :, :] if normals else ca.SX(s.normals, count)
        return _Seeds(eye[: s.states, :], eye[s.states : s.state, :], z, ca.SX(s.parameters, count))

    def _advance(self, seeds: _Seeds) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """s⁺, its derivatives, T⁺, and what Newton iterations left to do."""
        s, d = self.sizes, self._discretization
        A, L, by_state, by_normals, end = self._split_noise(self._table[s.inputs :])
        x, w = ca.vertsplit(self._s, [0, s.states, s.state])
        after = ca.mtimes(A, w) + ca.mtimes(L, self._z)
        slopes = ca.mtimes(A, seeds.filters) + ca.mtimes(L, seeds.z)
        path = ca.mtimes(by_state, w) + ca.mtimes(by_normals, self._z)
        changes = ca.mtimes(by_state, seeds.filters) + ca.mtimes(by_normals, seeds.z)
        last, last_change = ca.mtimes(end, after), None
        if seeds.noise is not None:
            moved = [self._split_noise(one) for one in seeds.noise]
            slopes += _join([ca.mtimes(dA, w) + ca.mtimes(dL, self._z) for dA, dL, _, _, _ in moved])
            changes += _join([ca.mtimes(by_w, w) + ca.mtimes(by_z, self._z) for _, _, by_w, by_z, _ in moved])
            last_change = ca.mtimes(end, slopes) + _join([ca.mtimes(d_end, after) for *_, d_end in moved])
        last_change = ca.mtimes(end, slopes) if last_change is None else last_change
        if not s.states:  # nothing but shaping filters moves
            return after, slopes, self._top, ca.SX(0)
        rows, count = len(s.noisy), s.nodes
        forcing = [self._place(self._read_known(i), path[rows * i : rows * (i + 1), :]) for i in range(count)]
        rates = [self._place(None, changes[rows * i : rows * (i + 1), :]) for i in range(count)]
        ends = self._place(self._read_known(count), last), self._place(None, last_change)
        zero = ca.SX(s.tops, seeds.count)
        start = Moving(self._table[0], x, self._top, self._p, forcing[0], seeds.x, zero, seeds.p, rates[0])
        moved, increment = d.step(start, self._table[1], forcing, rates, *ends)
        return ca.vertcat(moved.x, after), ca.vertcat(moved.dx, slopes), moved.top, increment

    def _see(self, seeds: _Seeds) -> tuple[ca.SX, ca.SX, ca.SX]:
        """g at the end of a step, its derivatives, and the residual of the equations."""
        s = self.sizes
        *_, end = self._split_noise(self._table[s.inputs :])
        x, w = ca.vertsplit(self._s, [0, s.states, s.state])
        change = ca.mtimes(end, seeds.filters)
        if seeds.noise is not None:
            change += _join([ca.mtimes(self._split_noise(one)[-1], w) for one in seeds.noise])
        forcing = self._place(self._read_known(s.nodes), ca.mtimes(end, w))
        t, zero = self._table[0] + self._table[1], ca.SX(s.tops, seeds.count)
        at = Moving(t, x, self._top, self._p, forcing, seeds.x, zero, seeds.p, self._place(None, change))
        return self._discretization.observe(at, self._wanted)

    def _split_noise(self, flat: ca.SX) -> list[ca.SX]:
        blocks, place = [], 0
        for rows, columns in self.sizes.noise_shapes:
            blocks.append(_read_rows(flat[place : place + rows * columns], rows, columns))
            place += rows * columns
        return blocks

    def _read_known(self, node: int) -> ca.SX:
        """Known inputs at a node, or after the last at the end."""
        s = self.sizes
        if node == s.nodes:
            return self._table[2 + len(s.known) * s.nodes : s.inputs]
        return ca.vertcat(ca.SX(0, 1), *(self._table[2 + i * s.nodes + node] for i in range(len(s.known))))

    def _place(self, known: ca.SX | None, noisy: ca.SX) -> ca.SX:
        """Values of all exogenous symbols, or their derivatives, from those of inputs and of disturbances."""
        s = self.sizes
        result = ca.SX(s.symbols, noisy.shape[1])
        for row, place in enumerate(s.noisy):
            result[place, :] = noisy[row, :]
        for row, place in enumerate(s.known if known is not None else ()):
            result[place, 0] = known[row]  # pyright: ignore[reportOptionalSubscript]
        return result


def compile_innovations(
    system: System, method: Method, outputs: Sequence[str], sizes: tuple[int, int], point: Point, step: float
) -> InnovationProgram:
    """The program of a system, made or found again; `sizes` are those of the filters' states and of the normals."""
    known = system.reduction.compiled
    key = f"innovations {method} {tuple(outputs)} {sizes}"
    if key not in known:
        known[key] = InnovationProgram(system, method, tuple(outputs), sizes, point, step)
        for oldest in [name for name in known if name.startswith("innovations ")][:-PROGRAMS]:
            del known[oldest]
    return known[key]


def find_expression(system: System, name: str) -> ca.SX:
    """A variable by its name: an output or unknown, a disturbance, or a derivative, in what the equations contain."""
    r = system.reduction
    if name in r.observed:
        return r.observed[name]
    if name in r.exogenous:
        return r.arguments[-1][r.exogenous.index(name)]
    place = r.find_place(name) if symbolic.jet(name)[0] in r.aliases else None
    if place is None:
        raise EstimationError(
            f"The equations of model '{system.model.name}' do not contain '{name}', which therefore has no estimate.",
            f"Name it in an equation of its own, such as own == {name}.",
        )
    return place[1] * ca.vertcat(r.X, r.T)[place[0]]


def _list_blocks(noise: NoiseMatrices) -> tuple[Dual, ...]:
    """In the order of the table."""
    lengths = noise.transition.value.shape[0]
    rows = Dual(
        np.broadcast_to(noise.rows.value, (lengths, *noise.rows.value.shape)),
        np.broadcast_to(noise.rows.slopes[:, None], (len(noise.rows.slopes), lengths, *noise.rows.value.shape)),
    )
    return noise.transition, noise.factor, noise.by_state, noise.by_normals, rows


def _flatten(blocks: Sequence[np.ndarray]) -> np.ndarray:
    """Blocks (length, …) as rows (length, numbers)."""
    return np.hstack([block.reshape(len(block), int(np.prod(block.shape[1:]))) for block in blocks])


def _fill_rates(directions: Directions, parameters: int, read: ca.SX) -> ca.SX:
    """dp/dθ: zeros, ones, and what is read."""
    rates, place = ca.SX(parameters, directions.count), 0
    for column, entries in enumerate(directions.entries):
        for row, one in entries:
            rates[row, column] = 1 if one else read[place]
            place += not one
    return rates


def _flatten_rows(matrix: ca.SX) -> ca.SX:
    return ca.densify(ca.vec(matrix.T))


def _read_rows(flat: ca.SX, rows: int, columns: int) -> ca.SX:
    """A matrix from its entries row by row."""
    return ca.reshape(flat, columns, rows).T


def _join(columns: Sequence[ca.SX]) -> ca.SX:
    return ca.horzcat(*columns)
