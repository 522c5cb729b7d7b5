"""Costates of a system with delays: λ of X and ν of the delayed values, backward by Butcher's method of order six.

    λ' = −f_Xᵀ λ − Σ_i q_{i,X}ᵀ ν_i(t + τ_i),      ν_j = f_{w_j}ᵀ λ + Σ_i q_{i,w_j} ν_i(t + τ_i),

with kicks of λ at given times (`daedal.simulation.delays.adjoint` says which). Backward means forward in
s = start + end − t: the same mesh and the same kernel serve.
"""

import numpy as np

from daedal.kernels import CostateMethod, CostateTable, run_costate
from daedal.simulation.delays.interpolation import DEGREE, compute_weights
from daedal.simulation.delays.mesh import Mesh, weigh_points
from daedal.simulation.delays.solution import Solution
from daedal.simulation.delays.tables import find_readings
from daedal.simulation.steps import RUNGE_KUTTA

TABLEAU = RUNGE_KUTTA["rk6"]
NODES = np.array(TABLEAU.nodes)
STAGES = np.array([TABLEAU.nodes.index(TABLEAU.find_node(stage)) for stage in range(len(TABLEAU.stages))])
METHOD = CostateMethod(
    np.array([(*stage, *[0.0] * (len(TABLEAU.stages) - len(stage))) for stage in TABLEAU.stages], dtype=float),
    np.array(TABLEAU.step, dtype=float),
    STAGES,
)
QUADRATURE = np.bincount(STAGES, weights=TABLEAU.step)  # what the method makes of an integral, node by node
COSTATE_DEGREE = DEGREE["rk6"]
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
        self.slopes = solution.compute_slopes(self.times, self.middles, "inner")
        self.pushed = self._sum_kicks()
        self.record = np.zeros((mesh.points + mesh.degree + 1, self.size + self.delayed))  # the last rows stay zero
        run_costate(METHOD, self._make_table(sigma), self.record)

    def _sum_kicks(self) -> np.ndarray:
        """The sum of all kicks at each break point, (break, n)."""
        result = np.zeros((self.mesh.breaks.size, self.size))
        for times, kick in self.kicks:
            places = np.abs(self.mesh.breaks[:, None] - (self.sum - times)).argmin(axis=0)
            np.add.at(result, places, kick)
        return result

    def _make_table(self, sigma: np.ndarray) -> CostateTable:
        kick = np.where((self.rows.number == 0)[:, None], self.pushed[self.rows.segment], 0.0)
        shape, points = (self.rows.segment.size, NODES.size, len(self.solution.computed)), self.mesh.degree + 1
        shares, back = np.zeros((*shape, points)), np.zeros(shape, dtype=np.int64)
        place = 0
        for group in self.solution.together:
            amount = float(self.solution.lags.amounts[self.solution.which[group[0]]])
            readings = find_readings(self.mesh, sigma, amount, float(self.mesh.breaks[0]))
            own = slice(place, place + len(group))
            shares[:, :, own] = compute_weights(readings.position, self.mesh.degree)[:, :, None]
            back[:, :, own] = readings.first[:, :, None]
            place += len(group)
        return CostateTable(
            h=self.rows.length,
            kick=kick,
            M=np.ascontiguousarray(self.slopes.by_X),
            W=np.ascontiguousarray(self.slopes.by_w[:, -1]),
            weights=shares,
            back=back,
            columns=self.size + np.array(self.solution.computed, dtype=np.int64),
        )

    @property
    def first(self) -> np.ndarray:
        """λ at the start, a sample there included."""
        return self.record[self.mesh.points - 1, : self.size] + self.pushed[-1]

    def read_after(self, time: float) -> np.ndarray:
        """λ at a break point, with samples at that very time: they see the sensitivities after their jump."""
        place = int(np.abs(self.mesh.breaks[1:] - (self.sum - time)).argmin())
        after = self.record[self.mesh.offsets[place] + self.mesh.counts[place], : self.size]
        close = CLOSE * float(self.mesh.breaks[-1] - self.mesh.breaks[0])
        return after + sum(kick[(times >= time) & (times < time + close)].sum(axis=0) for times, kick in self.kicks)

    def integrate(self) -> np.ndarray:
        """∫ λᵀ f_θ + Σ_j ν_j (∂q_j/∂θ − q_j' ∂τ_j/∂θ) dt."""
        steps = np.flatnonzero(self.rows.number > 0)
        segment = self.rows.segment[steps][:, None]
        first, shares = weigh_points(self.mesh, self.sum - self.times[steps], segment)
        points = self.record[first[..., None] + np.arange(COSTATE_DEGREE + 1)]
        costate = np.einsum("tak,takn->tan", shares, points)  # step, node, λ and ν
        inner = self.slopes[: self.size].by_theta[steps]
        moved = self.solution.differentiate_delayed(self.times[steps], self.middles[steps])
        density = np.concatenate([inner, moved], axis=2)
        return np.einsum("t,tan,tand,a->d", self.rows.length[steps], costate, density, QUADRATURE, optimize=True)
