"""One step of a reduced system as a single straight-line function, ready for the kernels.

With X' = S(X, T), top(X, T, t, w) = 0 and constraints G(X, t, w) = 0 (`daedal.systems.reduction`), a step of length h
maps the state (X, T) of a lane onto the next, and its derivatives in free directions with it. Two families:

*Runge–Kutta with projection* (`daedal.simulation.steps.tableau`), for systems that are not stiff: T is found at every
stage from top (one linear solve, or three Newton iterations where top is not linear in T).

*Radau IIA* (2 or 3 stages, order 3 or 5), for stiff systems: `daedal.simulation.steps.radau`.

After a step X moves onto the constraints, X −= U² Bᵀ μ with (A U² Bᵀ) μ = G, U being the units of X. Derivatives follow
the discrete step: those of solutions of linear and nonlinear equations by the implicit function theorem, with the
factors already at hand. What is small is judged by the sizes of X and T (`daedal.systems.measure_sizes`).

Reference: E. Hairer, G. Wanner, Solving ODEs II (1996), VII.2 (projection).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from daedal.linear import SymbolicFactors, factorize
from daedal.simulation.steps.radau import FACTORISATIONS, NEWTON, NODES, Method, collocate, compute_stage_weights
from daedal.simulation.steps.tableau import RUNGE_KUTTA, weigh
from daedal.simulation.steps.tangents import Calls, Moving, SystemFunctions
from daedal.symbolic import write_jacobian
from daedal.systems import Reduction, Sizes, make_units

NEWTON_EXPLICIT = 3  # iterations per stage where top is not linear in T; warm-started from the stage before
ROUNDING = 1e-12  # of its size: what a variable counts for at least where residuals are judged
NEAR_ZERO = 1e-8  # the same where increments of iterations are
LARGE = 200  # operations of top and J, from which on stages and iterations call functions
IMPLICIT = 8  # times as many operations in a step that is implicit


@dataclass(frozen=True, eq=False)
class Point:
    """Numbers at which pivots are chosen: arguments of the system's functions, and sizes."""

    time: float
    states: np.ndarray
    tops: np.ndarray
    parameters: np.ndarray
    exogenous: np.ndarray
    sizes: Sizes

    @property
    def arguments(self) -> list:
        return [self.time, self.states, self.tops, self.parameters, self.exogenous]


class Discretization:
    """Step and observation of one system, on symbols; pivots are chosen at a point and for a length of step."""

    def __init__(
        self,
        reduction: Reduction,
        method: Method,
        point: Point,
        step: float,
        last: int = 0,
        variants: Sequence[Point] = (),
        sizes: ca.SX | None = None,
        compact: bool = False,
    ) -> None:
        """`last`: so many tops, the last ones, are eliminated after all others; pivots shall suit `variants` too.

        `sizes` stand as in `Sizes.vector`; without them they are symbols of its own. Where `compact`, what stages and
        iterations of a large system have in common is a function that they call: code is shorter, and bits may differ.
        """
        states, count = len(reduction.states), len(reduction.tops)
        self.sizes = ca.SX.sym("sizes", 2 * states + count) if sizes is None else sizes
        self._metric, self._sizes_x, self._sizes_t = ca.vertsplit(
            self.sizes, [0, states, 2 * states, 2 * states + count]
        )
        self._variants = variants
        self.method: Method = method
        self._last = last
        self.stages: list[Moving] = []  # of the last step
        self.reduction, self.point, self.nominal_step = reduction, point, step
        self.functions = SystemFunctions(reduction)
        self.functions.define("by_X", write_jacobian(reduction.top, reduction.X))
        self.functions.define("by_w", ca.jacobian(reduction.top, reduction.arguments[-1]))
        self._increments: list[ca.SX] = []
        self._scale = ca.SX(0)
        self.linear_top = not ca.depends_on(reduction.J, reduction.T)
        operations = sum(self.functions[name].n_instructions() for name in ("top", "J"))
        large = LARGE if method in RUNGE_KUTTA else LARGE // IMPLICIT
        self._calls = Calls() if compact and operations > large else None

    @property
    def size(self) -> int:
        """Of the state (X, T)."""
        return len(self.reduction.states) + len(self.reduction.tops)

    def step(
        self, start: Moving, h: ca.SX, forcing: list[ca.SX], changes: list[ca.SX], end: ca.SX, end_change: ca.SX
    ) -> tuple[Moving, ca.SX]:
        """The state after a step, and what its Newton iterations have left to do, relative to T.

        `forcing` holds w at each node of the method and `changes` its derivatives (columns); `end` is w after the step,
        which the constraints must satisfy (forcing that was projected on a polynomial ends elsewhere).
        """
        self.stages = []
        self._increments, self._scale = [], self._find_scale(start, h)
        advance = self._step_runge_kutta if self.method in RUNGE_KUTTA else self._step_radau
        moved = advance(start, h, forcing, changes)
        largest = ca.SX(0)
        for increment in self._increments:
            largest = ca.fmax(largest, increment)
        return self._project(moved.at(t=start.t + h, w=end, dw=end_change)), largest

    def _find_scale(self, start: Moving, h: ca.SX) -> ca.SX:
        """Of the highest derivatives, in units of their sizes: what would move X by its own size in one step."""
        scale, count = ca.SX(0), self.reduction.offsets.unknowns
        for place, (j, k) in enumerate(self.reduction.states):
            if k + 1 == count[j]:
                scale = ca.fmax(scale, ca.fabs(start.x[place]) / self._sizes_t[j])
        return scale / (h + 1e-300)

    def observe(self, v: Moving, wanted: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Wanted expressions, their derivatives (columns), and the relative residual of top."""
        self.functions.define("wanted", wanted)
        v = self.solve_tops(v, extra=2)
        return (
            self.functions.evaluate("wanted", v),
            self.functions.differentiate("wanted", v),
            self.find_residual(v) + 1e-300 * ca.sum1(v.x),
        )

    def find_residual(self, v: Moving) -> ca.SX:
        """The residual of top, relative to the terms it is a sum of, which tells a bad pivot from a good one."""
        residual = ca.fabs(self.functions.evaluate("top", v))
        parts = (("J", v.top, self._sizes_t), ("by_X", v.x, self._sizes_x), ("by_w", v.w, ca.SX(0)))
        size = sum(
            ca.mtimes(ca.fabs(self.functions.evaluate(name, v)), ca.fabs(part) + ROUNDING * least)
            for name, part, least in parts
        )
        return ca.mmax((residual / (size + 1e-300))[: residual.shape[0] - self._last])

    def compute_slope(self, v: Moving) -> ca.SX:
        """dX/dt at a point, T solved for."""
        return self.functions.evaluate("derivative", self.solve_tops(v, extra=2))

    def _step_runge_kutta(self, v: Moving, h: ca.SX, forcing: list[ca.SX], changes: list[ca.SX]) -> Moving:
        tableau, rates, slopes = RUNGE_KUTTA[self.method], [], []
        stage = v
        for number, weights in enumerate(tableau.stages):
            if rates:
                stage = stage.at(x=v.x + h * weigh(weights, rates), dx=v.dx + h * weigh(weights, slopes))
            at = tableau.find_node(number)
            node = tableau.nodes.index(at)
            stage = self.solve_tops(stage.at(t=v.t + at * h, w=forcing[node], dw=changes[node]))
            self.stages.append(stage)
            rates.append(self.functions.evaluate("derivative", stage))
            slopes.append(self.functions.differentiate("derivative", stage))
        return stage.at(x=v.x + h * weigh(tableau.step, rates), dx=v.dx + h * weigh(tableau.step, slopes))

    def solve_tops(self, v: Moving, extra: int = 0) -> Moving:
        """T from top(X, T) = 0: one solve where it is linear, warm-started Newton iterations where it is not."""
        if self.linear_top:
            top, dtop = self._call("solve", self._solve_linear, *v.fields)
            return v.at(top=top, dtop=dtop)

        def solve(scale: ca.SX, sizes: ca.SX, *fields: ca.SX) -> list[ca.SX]:
            return self._solve_by_newton(Moving(*fields), NEWTON_EXPLICIT + extra, scale, sizes)

        top, dtop, left = self._call(f"iterate{extra}", solve, self._scale, self._sizes_t, *v.fields)
        self._increments.append(left)
        return v.at(top=top, dtop=dtop)

    def _solve_linear(self, *fields: ca.SX) -> list[ca.SX]:
        """T, and its derivatives."""
        v = Moving(*fields)
        at_zero = v.at(top=ca.SX.zeros(v.top.shape[0]))
        factors = self.factorize_top(at_zero)
        v = v.at(top=-factors.solve(self.functions.evaluate("top", at_zero)))
        return [v.top, self._solve_for_rates(v, factors)]

    def _solve_by_newton(self, v: Moving, iterations: int, scale: ca.SX, sizes: ca.SX) -> list[ca.SX]:
        """T, its derivatives, and what is left to do."""
        change = before = v.top
        for _ in range(iterations):
            before = change
            (change,) = self._call("newton", self._find_change, *v.fields)
            v = v.at(top=v.top - change)
        left = _estimate_left_over((change, before, v.top), scale, sizes, power=2)
        return [v.top, self._solve_for_rates(v, self.factorize_top(v)) if v.directions else v.dtop, left]

    def _find_change(self, *fields: ca.SX) -> list[ca.SX]:
        """Of T in a Newton iteration."""
        v = Moving(*fields)
        return [self.factorize_top(v).solve(self.functions.evaluate("top", v))]

    def _solve_for_rates(self, v: Moving, factors: SymbolicFactors) -> ca.SX:
        """Derivatives of T by the implicit function theorem."""
        if v.directions == 0:
            return v.dtop
        return -_solve_columns(factors, self.functions.differentiate("top", v, hold_top=True))

    def _call(self, name: str, make: Callable[..., list[ca.SX]], *arguments: ca.SX) -> list[ca.SX]:
        """What `make` gives: of a large system as the results of a call."""
        return make(*arguments) if self._calls is None else self._calls.call(name, make, arguments)

    def factorize_top(self, v: Moving) -> SymbolicFactors:
        tops = len(self.reduction.tops)
        return factorize(self.functions.evaluate("J", v), self.numbers["J"], range(tops - self._last, tops))

    @cached_property
    def numbers(self) -> dict[str, np.ndarray]:
        """J and A U² Bᵀ at the nominal point, in units in which pivots can be told from what is small."""
        metric = self.point.sizes.metric
        A, B = (self.functions[name](*self.point.arguments).full() * metric for name in ("A", "B"))
        A, B = (matrix / make_units(np.max(np.abs(matrix), axis=1, initial=0.0))[:, None] for matrix in (A, B))
        return {
            "J": self._stack(lambda point: self.functions["J"](*point.arguments).full() * self._columns),
            "AB": A @ B.T,
        }

    @property
    def _columns(self) -> np.ndarray:
        """Units of T, in which pivots are chosen."""
        return make_units(self.point.sizes.tops)

    def _stack(self, evaluate: Callable[[Point], np.ndarray]) -> np.ndarray:
        """A matrix at the nominal point; where there are variants of it, at all of them where it is finite."""
        nominal = evaluate(self.point)
        if not self._variants:
            return nominal
        others = [matrix for matrix in map(evaluate, self._variants) if np.isfinite(matrix).all()]
        return np.stack([nominal, *others])

    def _step_radau(self, v: Moving, h: ca.SX, forcing: list[ca.SX], changes: list[ca.SX]) -> Moving:
        """Simplified Newton iterations on the stage values of T, factorised at the first guess and once nearer."""
        count = NODES[self.method].size

        def sweep(h: ca.SX, *given: ca.SX) -> list[ca.SX]:
            fields, forcing, stages = (given[: -2 * count], given[-2 * count : -count], given[-count:])
            return self._sweep(Moving(*fields), h, list(forcing), list(stages))

        stages = [v.top] * count
        change = before = ca.vertcat(*stages)
        for _ in range(FACTORISATIONS):
            change, before, *stages = self._call("sweep", sweep, h, *v.fields, *forcing, *stages)
        sizes = ca.repmat(self._sizes_t, count, 1)
        self._increments.append(_estimate_left_over((change, before, ca.vertcat(*stages)), self._scale, sizes, power=1))
        rates = [ca.SX.zeros(v.top.shape[0], v.directions)] * count
        if v.directions:
            factors = self._factorize_stages(v, h, forcing, stages)
            moved = ca.vertcat(*(self._differentiate_stage(v, h, forcing, changes, stages, i) for i in range(count)))
            solved = -_solve_columns(factors, moved)
            rates = ca.vertsplit(solved, [len(self.reduction.tops) * i for i in range(count + 1)])
        last = count - 1
        x = collocate(self.reduction, self.method, v.x, stages, h, last)
        dx = [
            collocate(self.reduction, self.method, v.dx[:, i], [r[:, i] for r in rates], h, last)
            for i in range(v.directions)
        ]
        return v.at(x=x, top=stages[-1], dx=ca.horzcat(*dx) if dx else v.dx, dtop=rates[-1])

    def _sweep(self, v: Moving, h: ca.SX, forcing: list[ca.SX], stages: list[ca.SX]) -> list[ca.SX]:
        """The last two changes of T at all stages in iterations with one factorisation, and T itself."""
        count = len(stages)
        factors = self._factorize_stages(v, h, forcing, stages)
        change = before = ca.vertcat(*stages)
        for _ in range(NEWTON):
            before = change
            self.stages = [self._enter_stage(v, h, forcing, stages, i) for i in range(count)]
            change = factors.solve(ca.vertcat(*(self.functions.evaluate("top", stage) for stage in self.stages)))
            parts = ca.vertsplit(change, [len(self.reduction.tops) * i for i in range(count + 1)])
            stages = [stage - part for stage, part in zip(stages, parts, strict=True)]
        return [change, before, *stages]

    def _enter_stage(self, v: Moving, h: ca.SX, forcing: list[ca.SX], stages: list[ca.SX], i: int) -> Moving:
        x = collocate(self.reduction, self.method, v.x, stages, h, i)
        return v.at(t=v.t + NODES[self.method][i] * h, x=x, top=stages[i], w=forcing[i])

    def _differentiate_stage(self, v, h, forcing, changes, stages, i) -> ca.SX:
        """How top moves at a stage while the stage values of T stand still."""
        zero = [ca.SX.zeros(v.top.shape[0])] * len(stages)
        columns = [collocate(self.reduction, self.method, v.dx[:, k], zero, h, i) for k in range(v.directions)]
        at = self._enter_stage(v, h, forcing, stages, i).at(dx=ca.horzcat(*columns), dw=changes[i])
        return self.functions.differentiate("top", at, hold_top=True)

    def _factorize_stages(self, v: Moving, h: ca.SX, forcing: list[ca.SX], stages: list[ca.SX]) -> SymbolicFactors:
        """Factors of the Jacobian of all stage equations with respect to all stage values of T."""
        blocks = self._make_stage_blocks([self._enter_stage(v, h, forcing, stages, i) for i in range(len(stages))], h)
        tops, count = len(self.reduction.tops), len(stages)
        last = [tops * i + k for i in range(count) for k in range(tops - self._last, tops)]
        return factorize(ca.vertcat(*(ca.horzcat(*row) for row in blocks)), self._evaluate_stage_blocks(), last)

    def _make_stage_blocks(self, at: list[Moving], h: ca.SX) -> list[list[ca.SX]]:
        """∂top_i/∂T_l = δ_il J_i + (∂top/∂X)_i ∂X_i/∂T_l."""
        rows = []
        for i, v in enumerate(at):
            J, by_x = self.functions.evaluate("J", v), self.functions.evaluate("by_X", v)
            weights = compute_stage_weights(self.reduction, self.method, h, i)
            rows.append([ca.mtimes(by_x, weight) + (J if i == k else 0 * J) for k, weight in enumerate(weights)])
        return rows

    def _evaluate_stage_blocks(self) -> np.ndarray:
        """The stage Jacobian at the nominal point and step."""
        count, h = NODES[self.method].size, ca.SX(self.nominal_step)
        weights = [
            [ca.evalf(weight).full() for weight in compute_stage_weights(self.reduction, self.method, h, i)]
            for i in range(count)
        ]

        def evaluate(point: Point) -> np.ndarray:
            J, by_x = (self.functions[name](*point.arguments).full() for name in ("J", "by_X"))
            rows = [[by_x @ weights[i][k] + (J if i == k else 0.0) for k in range(count)] for i in range(count)]
            return np.block([[block * self._columns for block in row] for row in rows])

        return self._stack(evaluate)

    def _project(self, v: Moving) -> Moving:
        """X on the constraints, by one step along the rows of B."""
        if not self.reduction.constraints:
            return v
        A, B, G = (self.functions.evaluate(name, v) for name in ("A", "B", "G"))
        directions = ca.mtimes(ca.diag(self._metric**2), B.T)
        factors = factorize(ca.mtimes(A, directions), self.numbers["AB"])
        multipliers = factors.solve(G)
        moved = v.at(x=v.x - ca.mtimes(directions, multipliers))
        return moved.at(dx=self._project_rates(v, factors, directions, multipliers)) if v.directions else moved

    def _project_rates(self, v: Moving, factors: SymbolicFactors, directions: ca.SX, multipliers: ca.SX) -> ca.SX:
        """d(X − D μ), D = U² Bᵀ: d(D μ) = dD μ + D dμ and (A D) dμ = dG − d(A D) μ, μ being held in the derivatives."""
        tangent = self._make_along_function()
        changes = self.functions.differentiate("G", v)
        columns = []
        for i in range(v.directions):
            direction = (v.dx[:, i], v.dtop[:, i], v.dp[:, i], v.dw[:, i])
            along_b, along_ab = tangent(v.t, v.x, v.top, v.p, v.w, multipliers, self._metric, *direction)
            rate = factors.solve(changes[:, i] - along_ab)
            columns.append(v.dx[:, i] - along_b - ca.mtimes(directions, rate))
        return ca.horzcat(*columns)

    def _make_along_function(self) -> ca.Function:
        """dD μ and d(A D) μ along a direction, D = U² Bᵀ, for a given μ."""
        r = self.reduction
        held = ca.SX.sym("mu", len(r.constraints))
        moving = r.arguments[1:]
        along = [ca.SX.sym(f"d{i}", part.shape[0]) for i, part in enumerate(moving)]
        metric = ca.SX.sym("metric", len(r.states))
        back = metric**2 * ca.mtimes(r.B.T, held)
        tangents = [ca.jtimes(sx, ca.vertcat(*moving), ca.vertcat(*along)) for sx in (back, ca.mtimes(r.A, back))]
        return ca.Function("along", [*r.arguments, held, metric, *along], tangents)


def _estimate_left_over(parts: tuple[ca.SX, ca.SX, ca.SX], scale: ca.SX, sizes: ca.SX, power: int) -> ca.SX:
    """What iterations have left to do, relative to the value or to what would move X by its own size in one step.

    `parts` are the last change, the one before, and the value. The ratio of the changes is the rate of convergence; it
    stays so for simplified Newton iterations (power 1) and is squared by the next full one (power 2).
    """
    last, before, value = (ca.mmax(ca.fabs(part) / sizes) for part in parts)
    return last / (value + scale + NEAR_ZERO) * ca.fmin(last / (before + 1e-300), 1) ** power


def _solve_columns(factors: SymbolicFactors, right: ca.SX) -> ca.SX:
    return ca.horzcat(*(factors.solve(right[:, i]) for i in range(right.shape[1])))
