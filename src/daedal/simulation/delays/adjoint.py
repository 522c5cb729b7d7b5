"""Gradients of a function of the samples by one backward solution, however many parameters there are.

Let g_k = ∂H/∂y(t_k). With X' = f(X, w, θ), w_j = q_j(t − τ_j), q = q(X, w, θ) and y = h(X, w, θ), what is solved for at
each instant being eliminated, the costates λ of X and ν of w run backward from zero:

    λ' = −f_Xᵀ λ − Σ_i q_{i,X}ᵀ ν_i(t + τ_i),      λ(t_k⁻) = λ(t_k⁺) + h_Xᵀ g_k,
    ν_j = f_{w_j}ᵀ λ + Σ_i q_{i,w_j} ν_i(t + τ_i) + Σ_k δ(t − t_k) h_{w_j}ᵀ g_k,

looking ahead where the system looks back, and

    dH/dθ = λ(t₀)ᵀ ∂X(t₀)/∂θ + Σ_k g_kᵀ h_θ + ∫ λᵀ f_θ + Σ_j ν_j (∂q_j/∂θ − q_j' ∂τ_j/∂θ)(t − τ_j) dt
            + Σ_b λ(b)ᵀ (f⁻ − f⁺) ∂b/∂θ

(Lin et al. 2015, theorems 3 and 4; the last sum where the right side jumps at a moving break point b). Before the start
∂q_j/∂θ and q_j' are those of the history. An impulse of ν_i at t, which an output with a delayed value makes, is one of
λ and of ν at t − τ_i. Costates have break points of their own: the samples, and delays before each.

Reference: Q. Lin, R. Loxton, C. Xu, K. L. Teo, Parameter estimation for nonlinear time-delay systems with noisy output
measurements, Automatica 60 (2015) 48–56.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import casadi as ca
import numpy as np

from daedal.errors import SimulationError
from daedal.simulation.delays.costate import CLOSE, COSTATE_DEGREE, Costate, Kicks
from daedal.simulation.delays.history import find_pasts
from daedal.simulation.delays.lags import classify_kinks, find_lags_at, group_delays
from daedal.simulation.delays.march import DelayMarch, make_course, make_lane_mesh
from daedal.simulation.delays.mesh import LEVELS, Mesh, make_fixed_mesh
from daedal.simulation.delays.program import DelayProgram, compile_delay_program
from daedal.simulation.delays.solution import Solution
from daedal.simulation.ida import Projection
from daedal.simulation.lanes import Run
from daedal.simulation.steps import RUNGE_KUTTA, Directions
from daedal.systems import Reduction, differentiate_initial_values

ENOUGH = 1e-9  # relative change of a gradient by halved steps that is let pass
HALVINGS = 5


class Adjoint:
    """A prepared run of a system with delays, ready to be differentiated backward at any values.

    Costates go back with an explicit method: not for stiff systems.
    """

    def __init__(self, run: Run) -> None:
        if run.plan.shape.method not in RUNGE_KUTTA:
            raise SimulationError(
                f"The backward gradient of model '{run.scenario.system.model.name}' is not available with the method "
                f"'{run.plan.shape.method}', which is for stiff systems.",
                "Use gradient='forward'.",
            )
        self.run, self.scenario, self.system = run, run.scenario, run.scenario.system
        self.still = replace(self.scenario, free=(), directions=Directions.of(self.system, ()))
        self.pasts = find_pasts(self.system)
        self.program = self._compile_recording()
        self.refinement = self._choose_refinement()

    def _compile_recording(self) -> DelayProgram:
        """The program without sensitivities, that records X and T."""
        shape = replace(self.run.plan.shape, directions=self.still.directions)
        groups = group_delays(self.system, self.pasts)
        point = self.scenario.make_point(self.run.values[0])
        return compile_delay_program(self.system, shape, point, self.run.plan.step, groups, states=True)

    def _choose_refinement(self) -> int:
        """Into how many parts steps must be divided on the way back: costates are fast after every sample."""
        values = dict(self.run.values[0].given or {})
        pull = np.resize([1.0, -0.5, 0.7], (len(self.program.shape.wanted), self.run.times.size))
        enough = max(10.0 * self.run.plan.error, ENOUGH)
        gradient = self._run_refined(values, 1).compute_gradient(pull)
        for halvings in range(HALVINGS):
            finer = self._run_refined(values, 2 ** (halvings + 1)).compute_gradient(pull)
            if np.max(np.abs(finer - gradient), initial=0.0) <= enough * np.max(np.abs(finer), initial=0.0):
                return 2**halvings
            gradient = finer
        return 2**HALVINGS

    def run_forward(self, values: Mapping[str, float]) -> "Backward":
        """Run forward at these values; (output, sample) are in the result, its gradient for the asking."""
        return self._run_refined(values, self.refinement)

    def _run_refined(self, values: Mapping[str, float], refinement: int) -> "Backward":
        (moving,), (still,) = self.scenario.resolve_values([values]), self.still.resolve_values([values])
        lags, step = find_lags_at(self.system, self.pasts, moving), self.run.plan.step
        course = make_course(self.still, self.program, still, find_lags_at(self.system, self.pasts, still), step)
        march = DelayMarch(course, range(1))
        out, good = march.sample(self.run.times)
        if not good.all():
            raise SimulationError(
                f"The simulation failed at time {float(self.run.times[int(np.argmin(good[:, 0]))]):g}.",
                "Choose other values.",
            )
        break_rates = make_lane_mesh(self.scenario, lags, step, self.program.degree).rates
        solution = Solution(self.system, march, moving, lags)
        return Backward(solution, self.run.times, out[:, :, 0].T, break_rates, refinement)


@dataclass(frozen=True, eq=False)
class Backward:
    """A forward solution with its samples (output, sample), and what follows from it going back.

    `break_rates` says how the jumps at the break points of the solution move, (segment + 1, group, direction), and
    `refinement` into how many parts its steps are divided on the way back.
    """

    solution: Solution
    times: np.ndarray
    outputs: np.ndarray
    break_rates: np.ndarray
    refinement: int

    def compute_gradient(self, pull: np.ndarray) -> np.ndarray:
        """dH/dθ (direction,) for ∂H/∂y (output, sample)."""
        samples = self.solution.compute_slopes(self.times[:, None], self.solution.find_middles(self.times), "outputs")
        g = pull.T[:, None, :, None]  # sample, node, output, one
        kicks = [(self.times, np.sum(samples.by_X * g, axis=(1, 2)))]
        total = np.sum(samples.by_theta * g, axis=(0, 1, 2))
        total += self._sum_impulses(self.times, np.sum(samples.by_w * g, axis=(1, 2)), kicks)
        costate = Costate(self.solution, self._mirror_mesh(), kicks)
        return total + costate.integrate() + self._compute_start_share(costate.first) + self._sum_jumps(costate)

    @property
    def _directions(self) -> int:
        return self.solution.values.rates.shape[1]

    def _mirror_mesh(self) -> Mesh:
        """Break points of the solution, the samples, and delays before them, as seen from the end."""
        mesh, lags = self.solution.course.mesh, self.solution.lags
        start, end = float(mesh.breaks[0]), float(mesh.breaks[-1])
        known = _add_apart(np.array([start, end]), np.concatenate([self.times, mesh.breaks]), end - start)
        level, lasting = known, classify_kinks(self.solution.system)[0]
        amounts = np.unique(lags.amounts)
        for number in range(int((end - start) / amounts.min()) + 1):
            earlier = (level[:, None] - amounts).ravel()
            level = np.unique(earlier[earlier > start])
            if not level.size or (number >= LEVELS and not lasting):
                break
            known = _add_apart(known, level, end - start)  # a sample keeps its place beside what rounding tells from it
        step = min(float(mesh.lengths.max()), lags.reach / (COSTATE_DEGREE + 1))
        return make_fixed_mesh((start + end - known)[:0:-1], end, step, COSTATE_DEGREE, self.refinement)

    def _sum_impulses(self, times: np.ndarray, weights: np.ndarray, kicks: Kicks) -> np.ndarray:
        """What impulses of ν, (time, j), add to the gradient; the kicks of λ that they become are appended."""
        along, total = self.solution, np.zeros(self._directions)
        while np.any(weights):
            hit = np.any(weights, axis=1)
            times, weights = times[hit], weights[hit]
            middles = along.find_middles(times)
            total += np.einsum("tj,tjd->d", weights, along.differentiate_delayed(times[:, None], middles)[:, 0])
            later_times, later_weights = [np.zeros(0)], [np.zeros((0, weights.shape[1]))]
            for place, j in enumerate(along.computed):
                amount = along.lags.amounts[along.which[j]]
                late = (weights[:, j] != 0) & (middles - amount >= along.forcing.start)
                if not late.any():
                    continue
                back = times[late] - amount
                at = along.compute_slopes(back[:, None], middles[late] - amount, "inner")
                own = weights[late, j, None]
                kicks.append((back, own * at.by_X[:, 0, along.states + place]))
                later_times.append(back)
                later_weights.append(own * at.by_w[:, 0, along.states + place])
            times, weights = np.concatenate(later_times), np.concatenate(later_weights)
        return total

    def _compute_start_share(self, lam: np.ndarray) -> np.ndarray:
        """λ(t₀)ᵀ ∂X(t₀)/∂θ."""
        along, values = self.solution, self.solution.values
        start = along.forcing.start
        at, middle = np.array([[start]]), along.find_middles(np.array([start]))
        moved = np.zeros((len(along.system.reduction.exogenous), self._directions))
        moved[[place for _, place in along.delayed]] = along.differentiate_delayed(at, middle)[0, 0]
        w = along.find_driving(at, middle)[0, 0]
        rates = differentiate_initial_values(along.system, values.start, start, values.given, w, values.rates, moved)
        return lam @ rates[: along.states]

    def _sum_jumps(self, costate: Costate) -> np.ndarray:
        """Σ_b λ(b)ᵀ (f⁻ − f⁺) ∂b/∂θ over the moving break points of the solution.

        Only delayed values count, one group after the other: an input that jumps at the same time does not move.
        """
        along, total = self.solution, np.zeros(self._directions)
        mesh = along.course.mesh
        for segment in np.flatnonzero(self.break_rates[1:-1].any(axis=(1, 2))) + 1:
            at = float(mesh.breaks[segment])
            slopes = self._find_slopes_between(int(segment), at)
            change = np.array([before - after for before, after in pairwise(slopes)])
            total += (change @ costate.read_after(at)) @ self.break_rates[segment]
        return total

    def _find_slopes_between(self, segment: int, at: float) -> list[np.ndarray]:
        """dX/dt before a break point, and after the jump of each group of delayed values."""
        along = self.solution
        mesh, program = along.course.mesh, along.course.program
        halves = 0.5 * mesh.lengths[[segment - 1, segment]] * np.array([-1.0, 1.0])
        before, after = along.find_driving(np.full((2, 1), at), at + halves)[:, 0]
        w = after.copy()
        places = [place for _, place in along.delayed]
        w[places] = before[places]
        every = program.recorded
        z = along.march.record[mesh.offsets[segment], every - along.states - along.tops : every, 0]
        project, S_T = Projection(along.system, along.parameters), _differentiate_by_tops(along.system.reduction)
        slopes = [S_T @ project(at, z[: along.states], z[along.states :], w)[1]]
        for values in program.layout.jumps:
            own = [places[value] for value in values]
            w[own] = after[own]
            slopes.append(S_T @ project(at, z[: along.states], z[along.states :], w)[1])
        return slopes


def _differentiate_by_tops(reduction: Reduction) -> np.ndarray:
    """∂S/∂T; the rest of S does not jump."""
    return ca.evalf(ca.jacobian(reduction.shift, reduction.T)).full()


def _add_apart(known: np.ndarray, more: np.ndarray, span: float) -> np.ndarray:
    """Known times and those of some more, in order; of those that only rounding tells apart a known one stays."""
    inside = more[(more > known.min()) & (more < known.max())]
    times, added = np.concatenate([known, inside]), np.repeat([0, 1], [known.size, inside.size])
    order = np.argsort(times)
    group = np.cumsum(np.append(False, np.diff(times[order]) > CLOSE * span))
    chosen = np.lexsort((added[order], group))
    _, first = np.unique(group[chosen], return_index=True)
    return times[order][chosen[first]]
