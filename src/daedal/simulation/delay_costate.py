"""Costates of a system with delays: λ of X and ν of the delayed values, backward by Butcher's method of order six.

    λ' = −f_Xᵀ λ − Σ_i q_{i,X}ᵀ ν_i(t + τ_i),      ν_j = f_{w_j}ᵀ λ + Σ_i q_{i,w_j} ν_i(t + τ_i),

with kicks of λ at given times (`daedal.simulation.delay_adjoint` says which). Backward means forward in
s = start + end − t: the same mesh and the same kernel serve.
"""

import casadi as ca
import numpy as np

from daedal.kernels import RecallKernel, compile_recall
from daedal.simulation.delay_interpolation import DEGREE, symbolic_weights
from daedal.simulation.delay_mesh import Mesh, through_points
from daedal.simulation.delay_solution import Solution
from daedal.simulation.delay_tables import readings
from daedal.simulation.runge_kutta import RUNGE_KUTTA, weighted
from daedal.systems import Reduction

METHOD = RUNGE_KUTTA["rk6"]
NODES = np.array(METHOD.nodes)
COSTATE_DEGREE = DEGREE["rk6"]
QUADRATURE = np.array(  # what the method makes of an integral
    [sum(b for stage, b in enumerate(METHOD.step) if METHOD.node(stage) == node) for node in METHOD.nodes]
)
CLOSE = 1e-11  # of the span: times this close are the same
Kicks = list[tuple[np.ndarray, np.ndarray]]  # times, and what is added to λ there (time, n)


class Costate:
    """λ and ν at all points of the mirrored mesh."""

    def __init__(self, solution: Solution, mesh: Mesh, kicks: Kicks) -> None:
        self.solution, self.mesh, self.kicks = solution, mesh, kicks
        self.rows = mesh.rows
        self.size, self.delayed = solution.states, len(solution.delayed)
        sigma = self.rows.begin[:, None] + self.rows.length[:, None] * NODES
        self.sum = float(mesh.breaks[0] + mesh.breaks[-1])
        self.times, self.middles = self.sum - sigma, self.sum - self.rows.middle
        self.slopes = solution.slopes(self.times, self.middles, "inner")
        self.pushed = self._pushed()
        kernel = _costate_kernel(solution.system.reduction, self.size, self.delayed, solution.together)
        rows = mesh.points + mesh.degree + 1  # the last ones stay zero, as in `DelayMarch`
        self.record = np.zeros((rows, self.size + self.delayed, kernel.width))
        shared, back = self._tables(sigma, kernel)
        state, nothing = np.zeros((self.size, kernel.width)), np.zeros((1, 0, kernel.width))
        begin = np.zeros(mesh.points, dtype=np.int64)
        kernel.run(state, nothing[0], shared, nothing, begin, back, self.record)

    def _pushed(self) -> np.ndarray:
        """The sum of all kicks at each break point, (break, n)."""
        result = np.zeros((self.mesh.breaks.size, self.size))
        for times, kick in self.kicks:
            places = np.abs(self.mesh.breaks[:, None] - (self.sum - times)).argmin(axis=0)
            np.add.at(result, places, kick)
        return result

    def _tables(self, sigma: np.ndarray, kernel: RecallKernel) -> tuple[np.ndarray, np.ndarray]:
        count = self.rows.segment.size
        kick = np.where((self.rows.number == 0)[:, None], self.pushed[self.rows.segment], 0.0)
        by_X, by_w = self.slopes.by_X.reshape(count, -1), self.slopes.by_w[:, -1].reshape(count, -1)
        columns, back = [self.rows.length[:, None], kick, by_X, by_w], np.zeros((count, kernel.columns), dtype=np.int64)
        for lag, group in enumerate(self.solution.together):
            amount = float(self.solution.lags.amounts[self.solution.which[group[0]]])
            found = readings(self.mesh, sigma, amount, float(self.mesh.breaks[0]))
            columns += [np.repeat(~found.early[:, None], NODES.size, axis=1).astype(float), found.position]
            back[:, lag * NODES.size : (lag + 1) * NODES.size] = found.first
        return np.ascontiguousarray(np.concatenate(columns, axis=1)), back

    @property
    def first(self) -> np.ndarray:
        """λ at the start, a sample there included."""
        return self.record[self.mesh.points - 1, : self.size, 0] + self.pushed[-1]

    def after(self, time: float) -> np.ndarray:
        """λ at a break point, with samples at that very time: they see the sensitivities after their jump."""
        place = int(np.abs(self.mesh.breaks[1:] - (self.sum - time)).argmin())
        after = self.record[self.mesh.offsets[place] + self.mesh.counts[place], : self.size, 0]
        close = CLOSE * float(self.mesh.breaks[-1] - self.mesh.breaks[0])
        return after + sum(kick[(times >= time) & (times < time + close)].sum(axis=0) for times, kick in self.kicks)

    def integral(self) -> np.ndarray:
        """∫ λᵀ f_θ + Σ_j ν_j (∂q_j/∂θ − q_j' ∂τ_j/∂θ) dt."""
        steps = np.flatnonzero(self.rows.number > 0)
        segment = self.rows.segment[steps][:, None]
        first, weights, _ = through_points(self.mesh, self.sum - self.times[steps], segment)
        points = self.record[..., 0][first[..., None] + np.arange(COSTATE_DEGREE + 1)]
        costate = np.einsum("tak,takn->tan", weights, points)  # step, node, λ and ν
        inner = self.slopes[: self.size].by_theta[steps]
        moved = self.solution.moved(self.times[steps], self.middles[steps])
        density = np.concatenate([inner, moved], axis=2)
        return np.einsum("t,tan,tand,a->d", self.rows.length[steps], costate, density, QUADRATURE, optimize=True)


def _costate_kernel(reduction: Reduction, n: int, delayed: int, together: tuple[tuple[int, ...], ...]) -> RecallKernel:
    """A Runge–Kutta step of λ backward, and ν at its end; the columns of the shared table are those of `_tables`."""
    key = f"costate {n} {delayed} {together}"
    if key in reduction.compiled:
        return reduction.compiled[key]
    lam, none, count = ca.SX.sym("costate", n), ca.SX(0, 1), sum(len(group) for group in together)
    h, kick = ca.SX.sym("h"), ca.SX.sym("kick", n)
    rows = [ca.SX.sym("by_X", n, n + count) for _ in NODES]  # a row of numpy is a column here
    by_w = ca.SX.sym("by_w", delayed, n + count)
    ahead = [ca.SX.sym("ahead", count) for _ in NODES]
    table, sums, weights = [h, kick, *(ca.vec(each) for each in rows), ca.vec(by_w)], [], []
    looks = [(ca.SX.sym("found", NODES.size), ca.SX.sym("position", NODES.size)) for _ in together]
    for found, position in looks:
        table += [found, position]
    for node in range(NODES.size):
        for lag, (found, position) in enumerate(looks):
            weights.append(found[node] * symbolic_weights(position[node], COSTATE_DEGREE))
            sums.append((lag * NODES.size + node, [n + j for j in together[lag]]))

    def rate(node: int, value: ca.SX) -> ca.SX:
        return ca.mtimes(rows[node], ca.vertcat(value, ahead[node]))

    begun, rates = lam + kick, []
    for number, before in enumerate(METHOD.stages):
        node = METHOD.nodes.index(METHOD.node(number))
        rates.append(rate(node, begun + h * weighted(before, rates)))
    ended = begun + h * weighted(METHOD.step, rates)
    arguments = [lam, none, ca.vertcat(*table), none, ca.vertcat(*ahead)]
    weigh = ca.Function("weigh", [ca.vertcat(*table)], [ca.vertcat(none, *weights)])
    step = ca.Function("step", arguments, [ended])
    observe = ca.Function("observe", arguments, [ca.vertcat(lam, ca.mtimes(by_w, ca.vertcat(lam, ahead[-1])))])
    reduction.compiled[key] = compile_recall(step, observe, weigh, sums, COSTATE_DEGREE + 1)
    return reduction.compiled[key]
