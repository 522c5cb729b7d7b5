"""One step of a reduced system as a single straight-line function, ready for the kernels.

With X' = S(X, T), top(X, T, t, w) = 0 and constraints G(X, t, w) = 0 (`daedal.systems.reduction`), a step of length h
maps the state of a lane onto the next. Two families:

*RK4 with projection*, for systems that are not stiff: T is found at every stage from top (one linear solve, or two
Newton iterations where top is not linear in T), and after the step X moves onto the constraints, X −= Bᵀ(A Bᵀ)⁻¹ G.

*Radau IIA* (2 or 3 stages, order 3 or 5), for stiff systems: because X' is a shift, the stage values of X are

    v_j^(k)(t + c_i h) = Σ_{q < d_j − k} (c_i h)^q / q! · v_j^(k+q) + h^(d_j − k) Σ_l (𝒜^(d_j − k))_il T_jl,

so that only the stage values of T are unknown. Newton iterations share one factorisation per step, taken at its start.

References: E. Hairer, S. P. Nørsett, G. Wanner, Solving ODEs I (1993), II.1; E. Hairer, G. Wanner, Solving ODEs II
(1996), IV.8 and VII.2 (projection).
"""

from dataclasses import dataclass
from math import factorial, sqrt
from typing import Literal

import casadi as ca
import numpy as np

from daedal.linear.elimination import factorize
from daedal.systems import Reduction

Method = Literal["rk4", "radau3", "radau5"]

NODES: dict[Method, np.ndarray] = {
    "rk4": np.array([0.0, 0.5, 1.0]),
    "radau3": np.array([1 / 3, 1.0]),
    "radau5": np.array([(4 - sqrt(6)) / 10, (4 + sqrt(6)) / 10, 1.0]),
}
ORDER: dict[Method, int] = {"rk4": 4, "radau3": 3, "radau5": 5}
NEWTON = {"rk4": 2, "radau3": 4, "radau5": 5}


def radau_matrix(method: Method) -> np.ndarray:
    """𝒜 of Radau IIA: collocation at its nodes, ∫₀^{c_i} ℓ_j."""
    c = NODES[method]
    powers = np.vander(c, increasing=True)
    integrals = np.stack([c ** (k + 1) / (k + 1) for k in range(c.size)], axis=1)
    return integrals @ np.linalg.inv(powers)


@dataclass(frozen=True)
class Layout:
    """Where a lane keeps what: X, then T (kept as the first guess of the next Newton iteration)."""

    states: int
    tops: int

    @property
    def size(self) -> int:
        return self.states + self.tops


@dataclass(frozen=True, eq=False)
class Point:
    """Numbers at which pivots are chosen: arguments of the system's functions."""

    time: float
    states: np.ndarray
    tops: np.ndarray
    parameters: np.ndarray
    exogenous: np.ndarray

    @property
    def arguments(self) -> list:
        return [self.time, self.states, self.tops, self.parameters, self.exogenous]


class Discretization:
    """Step and observation of one system as CasADi functions of (state, parameters, time, h, forcing at the nodes)."""

    def __init__(self, reduction: Reduction, method: Method, point: Point, step: float) -> None:
        self.method: Method = method
        self.reduction, self.point, self.nominal_step = reduction, point, step
        self.layout = Layout(len(reduction.states), len(reduction.tops))
        time, x, top, p, w = reduction.arguments
        self.functions = {
            name: ca.Function(name, [time, x, top, p, w], [sx])
            for name, sx in (
                ("top", reduction.top),
                ("J", reduction.J),
                ("G", reduction.G),
                ("A", reduction.A),
                ("B", reduction.B),
            )
        }
        self.linear_top = not ca.depends_on(reduction.J, top)
        self.derivative = ca.Function("derivative", [x, top], [reduction.shift])

    def step(self) -> ca.Function:
        """(state, parameters, t, h, forcing (w, nodes)) → state after the step."""
        state, p, t, h, forcing = self._arguments()
        x, top = self._parts(state)
        advance = self._runge_kutta if self.method == "rk4" else self._radau
        x, top = advance(x, top, p, t, h, forcing)
        x = self._projected(x, top, p, t + h, forcing[:, -1])
        return ca.Function("step", [state, p, t, h, forcing], [ca.vertcat(x, top)])

    def observe(self, wanted: ca.SX) -> ca.Function:
        """(state, parameters, t, w) → wanted expressions of X, T, …, and last the relative residual of top."""
        r = self.reduction
        state, p, t, _, forcing = self._arguments()
        w = forcing[:, -1]
        x, top = self._parts(state)
        top = self._solved_tops(x, top, p, t, w, extra=2)
        values = ca.Function("wanted", r.arguments, [wanted])(t, x, top, p, w)
        return ca.Function("observe", [state, p, t, w], [ca.vertcat(values, self._residual(x, top, p, t, w))])

    def _parts(self, state: ca.SX) -> list[ca.SX]:
        return ca.vertsplit(state, [0, self.layout.states, self.layout.size])

    def _arguments(self) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX, ca.SX]:
        r = self.reduction
        nodes = NODES[self.method].size
        names = (
            ("state", self.layout.size, 1),
            ("p", len(r.parameters), 1),
            ("t", 1, 1),
            ("h", 1, 1),
            ("w", len(r.exogenous), nodes),
        )
        return tuple(ca.SX.sym(name, rows, columns) for name, rows, columns in names)  # pyright: ignore[reportReturnType]

    def _runge_kutta(self, x, top, p, t, h, forcing) -> tuple[ca.SX, ca.SX]:
        middle = forcing[:, 1]
        top1 = self._solved_tops(x, top, p, t, forcing[:, 0])
        k1 = self.derivative(x, top1)
        x2 = x + h / 2 * k1
        top2 = self._solved_tops(x2, top1, p, t + h / 2, middle)
        k2 = self.derivative(x2, top2)
        x3 = x + h / 2 * k2
        top3 = self._solved_tops(x3, top2, p, t + h / 2, middle)
        k3 = self.derivative(x3, top3)
        x4 = x + h * k3
        top4 = self._solved_tops(x4, top3, p, t + h, forcing[:, 2])
        k4 = self.derivative(x4, top4)
        return x + h / 6 * (k1 + 2 * (k2 + k3) + k4), top4

    def _solved_tops(self, x, top, p, t, w, extra: int = 0) -> ca.SX:
        """T from top(X, T) = 0: one solve where it is linear, warm-started Newton iterations where it is not."""
        numbers = self.functions["J"](*self.point.arguments).full()
        if self.linear_top:
            zero = ca.SX.zeros(self.layout.tops)
            factors = factorize(self.functions["J"](t, x, zero, p, w), numbers)
            return -factors.solve(self.functions["top"](t, x, zero, p, w))
        for _ in range(NEWTON["rk4"] + extra):
            factors = factorize(self.functions["J"](t, x, top, p, w), numbers)
            top = top - factors.solve(self.functions["top"](t, x, top, p, w))
        return top

    def _radau(self, x, top, p, t, h, forcing) -> tuple[ca.SX, ca.SX]:
        nodes = NODES[self.method]
        unknown = ca.SX.sym("stages", self.layout.tops, nodes.size)
        size = ca.SX.sym("h")
        start = ca.SX.sym("x", self.layout.states)
        parts = [
            self.functions["top"](t + c * h, self._collocated(start, unknown, size, i), unknown[:, i], p, forcing[:, i])
            for i, c in enumerate(nodes)
        ]
        residual = ca.vertcat(*parts)
        jacobian = ca.jacobian(residual, ca.vec(unknown))
        inputs = [start, ca.vec(unknown), size, t, h, p, forcing]
        equations = ca.Function("equations", inputs, [residual, jacobian])
        guess = ca.repmat(top, nodes.size, 1)
        first, matrix = equations(x, guess, h, t, h, p, forcing)
        numbers = self._stage_numbers(equations)
        factors = factorize(matrix, numbers)
        stages = guess - factors.solve(first)
        for _ in range(NEWTON[self.method] - 1):
            stages = stages - factors.solve(equations(x, stages, h, t, h, p, forcing)[0])
        grid = ca.reshape(stages, self.layout.tops, nodes.size)
        return self._collocated(x, grid, h, nodes.size - 1), grid[:, -1]

    def _stage_numbers(self, equations: ca.Function) -> np.ndarray:
        """The stage Jacobian at the nominal point and step."""
        nodes = NODES[self.method].size
        q = self.point
        forcing = np.repeat(q.exogenous[:, None], nodes, axis=1)
        tops = np.tile(q.tops, nodes)
        return equations(q.states, tops, self.nominal_step, q.time, self.nominal_step, q.parameters, forcing)[1].full()

    def _collocated(self, x: ca.SX, stages: ca.SX, h: ca.SX, node: int) -> ca.SX:
        """X at a collocation node: Taylor part of the known derivatives, and integrals of the stage values of T."""
        r = self.reduction
        c = NODES[self.method]
        matrix = radau_matrix(self.method)
        place = {v: i for i, v in enumerate(r.states)}
        d = r.offsets.unknowns
        rows = []
        for j, k in r.states:
            depth = int(d[j]) - k
            value = x[place[j, k]]
            for q in range(1, depth):
                value = value + (c[node] * h) ** q / factorial(q) * x[place[j, k + q]]
            weights = np.linalg.matrix_power(matrix, depth)[node]
            rows.append(value + h**depth * sum(float(weight) * stages[j, i] for i, weight in enumerate(weights)))
        return ca.vertcat(*rows) if rows else ca.SX(0, 1)

    def _projected(self, x, top, p, t, w) -> ca.SX:
        """X on the constraints, by one step along the rows of B."""
        if not self.reduction.constraints:
            return x
        A, B, G = (self.functions[name](t, x, top, p, w) for name in ("A", "B", "G"))
        at = self.point.arguments
        numbers = self.functions["A"](*at).full() @ self.functions["B"](*at).full().T
        return x - ca.mtimes(B.T, factorize(ca.mtimes(A, B.T), numbers).solve(G))

    def _residual(self, x, top, p, t, w) -> ca.SX:
        """max |top| relative to the terms it is a sum of: tells a bad pivot or an unfinished Newton iteration."""
        residual = ca.fabs(self.functions["top"](t, x, top, p, w))
        size = ca.mtimes(ca.fabs(self.functions["J"](t, x, top, p, w)), ca.fabs(top)) + 1e-8
        return ca.mmax(residual / size)
