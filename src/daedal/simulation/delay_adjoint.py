"""Gradients of a function of the samples by one backward solution, however many parameters there are.

Let g_k = ∂H/∂y(t_k). With X' = f(X, w, θ), w_j = q_j(t − τ_j), q = q(X, w, θ) and y = h(X, w, θ), what is solved for at
each instant being eliminated, the costates λ of X and ν of w run backward from zero:

    λ' = −f_Xᵀ λ − Σ_i q_{i,X}ᵀ ν_i(t + τ_i),      λ(t_k⁻) = λ(t_k⁺) + h_Xᵀ g_k,
    ν_j = f_{w_j}ᵀ λ + Σ_i q_{i,w_j} ν_i(t + τ_i) + Σ_k δ(t − t_k) h_{w_j}ᵀ g_k,

looking ahead where the system looks back, and

    dH/dθ = λ(t₀)ᵀ ∂X(t₀)/∂θ + Σ_k g_kᵀ h_θ + ∫ λᵀ f_θ + Σ_j ν_j (∂q_j/∂θ − q_j' ∂τ_j/∂θ)(t − τ_j) dt
            + Σ_b λ(b)ᵀ (f⁻ − f⁺) ∂b/∂θ

(seed 002, theorems 3 and 4; the last sum where the right side jumps at a moving break point b). Before the start
∂q_j/∂θ and q_j' are those of the history. An impulse of ν_i at t, which an output with a delayed value makes, is one of
λ and of ν at t − τ_i. Costates have break points of their own: the samples, and delays before each.

Backward means forward in s = start + end − t: the same mesh and the same kernel serve.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daedal.errors import SimulationError
from daedal.kernels import MapKernel, RecallKernel, compile_map, compile_recall
from daedal.simulation.delay_history import on_pieces
from daedal.simulation.delay_interpolation import DEGREE, symbolic_weights
from daedal.simulation.delay_lanes import DelayRun
from daedal.simulation.delay_march import DelayMarch, course, kinks, lags, lane_mesh
from daedal.simulation.delay_mesh import LEVELS, Mesh, segments, through_points
from daedal.simulation.delay_program import DelayProgram, delay_program
from daedal.simulation.delay_tables import readings
from daedal.simulation.discretization import Point
from daedal.simulation.lineup import Values
from daedal.simulation.program import Directions
from daedal.simulation.projection import Projection
from daedal.simulation.runge_kutta import RUNGE_KUTTA, weighted
from daedal.systems import Reduction, System, initial_sensitivities

METHOD = RUNGE_KUTTA["rk6"]
NODES = np.array(METHOD.nodes)
BACK = DEGREE["rk6"]
QUADRATURE = np.array(  # what the method makes of an integral
    [sum(b for stage, b in enumerate(METHOD.step) if METHOD.node(stage) == node) for node in METHOD.nodes]
)
CLOSE = 1e-11  # of the span: times this close are the same


def adjoint_possible(run: Any) -> bool:
    """Whether a system has delays, and is not stiff: costates go back with an explicit method."""
    return isinstance(run, DelayRun) and run.plan.program.shape.method in RUNGE_KUTTA


@dataclass(frozen=True, eq=False)
class Slopes:
    """Derivatives of a vector with T eliminated: by X (…, row, n), by delayed values (…, row, j), by θ (…, row, d)."""

    by_X: np.ndarray
    by_w: np.ndarray
    by_theta: np.ndarray

    def __getitem__(self, rows: slice) -> "Slopes":
        return Slopes(self.by_X[..., rows, :], self.by_w[..., rows, :], self.by_theta[..., rows, :])


class Adjoint:
    """A prepared run, ready to be differentiated backward at any values."""

    def __init__(self, run: DelayRun) -> None:
        if not adjoint_possible(run):
            raise SimulationError(
                f"The backward gradient of model '{run.lineup.system.model.name}' is not available: it is stiff.",
                "Use gradient='forward'.",
            )
        self.run, self.lineup, self.system = run, run.lineup, run.lineup.system
        self.program = self._recording()

    def _recording(self) -> DelayProgram:
        """The program without sensitivities, that records X and T."""
        old = self.run.plan.program
        shape = replace(old.shape, directions=Directions.of(self.system, ()))
        first, forcing = self.run.values[0], self.lineup.forcing
        parameters = self.system.parameter_vector(first.given)
        point = Point(forcing.start, first.start.states, first.start.tops, parameters, forcing.at(forcing.start))
        return delay_program(self.system, shape, point, self.run.plan.step, old.operands, states=True)

    def samples(self, values: Mapping[str, float]) -> "Backward":
        """Run forward at these values; (output, sample) are in the result, its gradient for the asking."""
        whole = self.lineup.all_values([values])[0]
        still = Directions.of(self.system, ())
        alone = replace(whole, rates=whole.rates[:, :0], column=self.system.parameter_vector(values))
        lineup = replace(self.lineup, free=(), directions=still)
        march = DelayMarch(course(lineup, self.program, alone, self.run.plan.step), range(1))
        out, good = march.samples(self.run.times)
        if not good.all():
            raise SimulationError(
                f"The simulation failed at time {float(self.run.times[int(np.argmin(good[:, 0]))]):g}.",
                "Choose other values.",
            )
        moving = lane_mesh(self.lineup, lags(self.system, whole), self.run.plan.step, self.program.degree)
        return Backward(self.system, march, whole, self.run.times, out[:, :, 0].T, moving.rates)


class Backward:
    """A forward solution, and what follows from it going back."""

    def __init__(
        self,
        system: System,
        march: DelayMarch,
        values: Values,
        times: np.ndarray,
        outputs: np.ndarray,
        break_rates: np.ndarray,
    ) -> None:
        self.system, self.march, self.values, self.times, self.outputs = system, march, values, times, outputs
        self.course = march.course
        self.break_rates = break_rates  # of the break points of the solution, (segment + 1, direction)
        self.forcing = self.course.lineup.forcing
        self.states, self.tops = len(system.states), len(system.tops)
        self.parameters = system.parameter_vector(values.given)
        self.delayed = self.course.program.layout.delayed
        self.lags = lags(system, values)  # with the rates of the delays
        self.which = [self.lags.names.index(name) for name, _ in self.delayed]
        place = {name: j for j, (name, _) in enumerate(self.delayed)}
        self.together = tuple(tuple(place[name] for name in names) for names in self.course.program.layout.lags)
        self.computed = [j for group in self.together for j in group]

    def gradient(self, pull: np.ndarray) -> np.ndarray:
        """dH/dθ (direction,) for ∂H/∂y (output, sample)."""
        samples = self._slopes(self.times[:, None], self._inside(self.times), "outputs")
        g = pull.T[:, None, :, None]  # sample, node, output, one
        kicks = [(self.times, np.sum(samples.by_X * g, axis=(1, 2)))]
        total = np.sum(samples.by_theta * g, axis=(0, 1, 2))
        weights = np.sum(samples.by_w * g, axis=(1, 2))
        total += self._impulses(self.times, weights, kicks)
        mirror = self._mirror()
        costate = _Costate(self, mirror, kicks)
        return total + costate.integral() + self._at_start(costate.first) + self._jumps(costate)

    @property
    def _span(self) -> tuple[float, float]:
        return float(self.course.mesh.breaks[0]), float(self.course.mesh.breaks[-1])

    def _mirror(self) -> Mesh:
        """Break points of the solution, the samples, and delays before them, as seen from the end."""
        start, end = self._span
        breaks = self.course.mesh.breaks
        known = _apart(np.array([start, end]), np.concatenate([self.times, breaks]), end - start)
        level, lasting = known, kinks(self.system)[0]
        amounts = np.unique(self.lags.amounts)
        for number in range(int((end - start) / amounts.min()) + 1):
            earlier = (level[:, None] - amounts).ravel()
            level = np.unique(earlier[earlier > start])
            if not level.size or (number >= LEVELS and not lasting):
                break
            known = _apart(known, level, end - start)  # a sample keeps its place beside what rounding tells from it
        return segments((start + end - known)[:0:-1], end, float(self.course.mesh.lengths.max()), BACK)

    def _inside(self, times: np.ndarray) -> np.ndarray:
        """Middles of the steps of the solution that begin at, or go on at, these times."""
        mesh = self.course.mesh
        segment = mesh.segment(times)
        step = np.floor((times - mesh.breaks[segment]) / mesh.lengths[segment])
        return mesh.breaks[segment] + (np.minimum(step, mesh.counts[segment] - 1) + 0.5) * mesh.lengths[segment]

    def _recorded(self, rows: Any, times: np.ndarray, middles: np.ndarray, *, slope: bool = False) -> np.ndarray:
        """Recorded numbers, or how fast they change, at times (step, node)."""
        mesh = self.course.mesh
        segment = mesh.segment(middles)[:, None]
        first, weights, slopes = through_points(mesh, times, segment)
        points = self.march.record[..., 0][first[..., None] + np.arange(mesh.degree + 1)][..., rows]
        return np.einsum("snk,snk...->sn...", slopes if slope else weights, points)

    def _driving(self, times: np.ndarray, middles: np.ndarray) -> np.ndarray:
        """All that drives the system at times (step, node), on the side of break points that the middles lie on."""
        exogenous = self.system.reduction.exogenous
        values = np.zeros((*times.shape, len(exogenous)))
        for place, track in enumerate(self.forcing.tracks):
            if track is not None and exogenous[place] not in self.lags.names:
                values[..., place] = on_pieces(*track, times, middles)[0]
        for j, (name, place) in enumerate(self.delayed):
            amount, past = self.lags.amounts[self.which[j]], self.lags.pasts[self.which[j]]
            back, when = times - amount, middles - amount
            if past.input is not None:
                values[..., place] = on_pieces(self.forcing.signals[past.input[0]], past.input[1], back, when)[0]
                continue
            early = when < self.forcing.start
            if early.any():
                values[early, :, place] = past.at(np.minimum(back[early], self.forcing.start), self.parameters)[0]
            if not early.all():
                values[~early, :, place] = self._recorded(self.course.program.row(name), back[~early], when[~early])
        return values

    def _slopes(self, times: np.ndarray, middles: np.ndarray, what: str) -> Slopes:
        """Derivatives of the right side and the operands of delays ("inner"), or of the outputs, at (step, node)."""
        every = self.course.program.recorded
        z = self._recorded(slice(every - self.states - self.tops, every), times, middles)
        w = self._driving(times, middles)
        count = times.size
        columns = [times.reshape(1, -1), *(z.reshape(count, -1).T[part] for part in self._parts)]
        columns += [np.repeat(self.parameters[:, None], count, axis=1), w.reshape(count, -1).T]
        found = self._kernel(what)(*(np.ascontiguousarray(each) for each in columns))
        sizes = (self.states, self.tops, len(self.delayed), self.parameters.size)
        rows = len(self.course.program.shape.wanted) if what == "outputs" else self.states + len(self.computed)
        tops = [_matrices(each, self.tops, size) for each, size in zip(found[:4], sizes, strict=True)]
        direct = [_matrices(each, rows, size) for each, size in zip(found[4:], sizes, strict=True)]
        moved = [-np.linalg.solve(tops[1], each) for each in (tops[0], tops[2], tops[3] @ self.values.rates)]
        by_X, by_w, by_theta = (
            (one + direct[1] @ other).reshape(*times.shape, rows, -1)
            for one, other in zip((direct[0], direct[2], direct[3] @ self.values.rates), moved, strict=True)
        )
        return Slopes(by_X, by_w, by_theta)

    @cached_property
    def _parts(self) -> tuple[slice, slice]:
        return slice(0, self.states), slice(self.states, self.states + self.tops)

    def _kernel(self, what: str) -> MapKernel:
        """∂/∂X, ∂/∂T, ∂/∂w, ∂/∂p of top, then of what is asked for, at many points at once."""
        r, program = self.system.reduction, self.course.program
        key = f"adjoint {what} {program.shape.wanted if what == 'outputs' else program.operands}"
        if key not in r.compiled:
            operands = [r.delays[self.delayed[j][0]].operand for j in self.computed]
            shown = [r.observed[name] for name in program.shape.wanted] if what == "outputs" else [r.shift, *operands]
            _, X, T, p, w = r.arguments
            late = ca.vertcat(*(w[place] for _, place in self.delayed))
            blocks = [ca.jacobian(each, by) for each in (r.top, ca.vertcat(*shown)) for by in (X, T, late, p)]
            r.compiled[key] = compile_map(ca.Function("slopes", r.arguments, [ca.vec(ca.densify(b)) for b in blocks]))
        return r.compiled[key]

    def moved(self, times: np.ndarray, middles: np.ndarray) -> np.ndarray:
        """∂q_j/∂θ − q_j' ∂τ_j/∂θ at t − τ_j, X and w there held: (step, node, j, direction)."""
        result = np.zeros((*times.shape, len(self.delayed), self.values.rates.shape[1]))
        for j, which in enumerate(self.which):
            amount, turned, past = self.lags.amounts[which], self.lags.rates[which], self.lags.pasts[which]
            back, when = times - amount, middles - amount
            if past.input is not None:
                slope = on_pieces(self.forcing.signals[past.input[0]], past.input[1], back, when)[1]
                result[:, :, j] = -slope[..., None] * turned
                continue
            early = when < self.forcing.start
            if early.any():
                _, slope, gradient = past.at(np.minimum(back[early], self.forcing.start), self.parameters)
                result[early, :, j] = np.tensordot(gradient, self.values.rates, (0, 0)) - slope[..., None] * turned
            if not early.all():
                result[~early, :, j] = self._moved_late(j, back[~early], when[~early], turned)
        return result

    def _moved_late(self, j: int, back: np.ndarray, when: np.ndarray, turned: np.ndarray) -> np.ndarray:
        """The same where the delayed quantity was computed."""
        name = self.delayed[j][0]
        moved = -self._recorded(self.course.program.row(name), back, when, slope=True)[..., None] * turned
        r = self.system.reduction
        if not ca.depends_on(r.delays[name].operand, ca.vertcat(r.T, r.arguments[3])):
            return moved
        return moved + self._slopes(back, when, "inner").by_theta[..., self.states + self.computed.index(j), :]

    def _impulses(self, times: np.ndarray, weights: np.ndarray, kicks: list[tuple[np.ndarray, np.ndarray]]) -> Any:
        """What impulses of ν, (time, j), add to the gradient; the kicks of λ that they become are appended."""
        total = np.zeros(self.values.rates.shape[1])
        while np.any(weights):
            hit = np.any(weights, axis=1)
            times, weights = times[hit], weights[hit]
            middles = self._inside(times)
            total += np.einsum("tj,tjd->d", weights, self.moved(times[:, None], middles)[:, 0])
            later_times, later_weights = [np.zeros(0)], [np.zeros((0, len(self.delayed)))]
            for place, j in enumerate(self.computed):
                amount = self.lags.amounts[self.which[j]]
                late = (weights[:, j] != 0) & (middles - amount >= self.forcing.start)
                if not late.any():
                    continue
                back = times[late] - amount
                at = self._slopes(back[:, None], middles[late] - amount, "inner")
                own = weights[late, j, None]
                kicks.append((back, own * at.by_X[:, 0, self.states + place]))
                later_times.append(back)
                later_weights.append(own * at.by_w[:, 0, self.states + place])
            times, weights = np.concatenate(later_times), np.concatenate(later_weights)
        return total

    def _at_start(self, lam: np.ndarray) -> np.ndarray:
        """λ(t₀)ᵀ ∂X(t₀)/∂θ."""
        start = self.forcing.start
        at, middle = np.array([[start]]), self._inside(np.array([start]))
        moved = np.zeros((len(self.system.reduction.exogenous), self.values.rates.shape[1]))
        moved[[place for _, place in self.delayed]] = self.moved(at, middle)[0, 0]
        given, w = self.values.given, self._driving(at, middle)[0, 0]
        rates = initial_sensitivities(self.system, self.values.start, start, given, w, self.values.rates, moved)
        return lam @ rates[: self.states]

    def _jumps(self, costate: "_Costate") -> np.ndarray:
        """Σ_b λ(b)ᵀ (f⁻ − f⁺) ∂b/∂θ over the moving break points of the solution.

        Only delayed values count: an input that jumps at the same time does not move.
        """
        mesh, every = self.course.mesh, self.course.program.recorded
        solved = Projection(self.system, self.parameters)
        late = [place for _, place in self.delayed]
        total = np.zeros(self.values.rates.shape[1])
        for segment in np.flatnonzero(self.break_rates[1:-1].any(axis=1)) + 1:
            at = float(mesh.breaks[segment])
            halves = 0.5 * mesh.lengths[[segment - 1, segment]] * np.array([-1.0, 1.0])
            before, after = self._driving(np.full((2, 1), at), at + halves)[:, 0]
            mixed = after.copy()
            mixed[late] = before[late]
            z = self.march.record[mesh.offsets[segment], every - self.states - self.tops : every, 0]
            tops = [solved(at, z[: self.states], z[self.states :], w)[1] for w in (mixed, after)]
            slope = _shift(self.system.reduction)[1] @ (tops[0] - tops[1])
            total += (costate.after(at) @ slope) * self.break_rates[segment]
        return total


class _Costate:
    """λ and ν at all points of the mirrored mesh."""

    def __init__(self, backward: Backward, mesh: Mesh, kicks: list[tuple[np.ndarray, np.ndarray]]) -> None:
        self.backward, self.mesh, self.kicks = backward, mesh, kicks
        self.rows = mesh.rows
        self.size, self.delayed = backward.states, len(backward.delayed)
        sigma = self.rows.begin[:, None] + self.rows.length[:, None] * NODES
        self.sum = float(mesh.breaks[0] + mesh.breaks[-1])
        self.times, self.middles = self.sum - sigma, self.sum - self.rows.middle
        self.slopes = backward._slopes(self.times, self.middles, "inner")
        self.pushed = self._pushed()
        kernel = _costate_kernel(backward.system.reduction, self.size, self.delayed, backward.together)
        self.record = np.zeros((mesh.points, self.size + self.delayed, kernel.width))
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
        for lag, group in enumerate(self.backward.together):
            amount = float(self.backward.lags.amounts[self.backward.which[group[0]]])
            found = readings(self.mesh, sigma, amount, float(self.mesh.breaks[0]))
            columns += [np.repeat(~found.early[:, None], NODES.size, axis=1).astype(float), found.position]
            back[:, lag * NODES.size : (lag + 1) * NODES.size] = found.first
        return np.ascontiguousarray(np.concatenate(columns, axis=1)), back

    @property
    def first(self) -> np.ndarray:
        """λ at the start, a sample there included."""
        return self.record[-1, : self.size, 0] + self.pushed[-1]

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
        points = self.record[..., 0][first[..., None] + np.arange(BACK + 1)]
        costate = np.einsum("tak,takn->tan", weights, points)  # step, node, λ and ν
        inner = self.slopes[: self.size].by_theta[steps]
        moved = self.backward.moved(self.times[steps], self.middles[steps])
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
            weights.append(found[node] * symbolic_weights(position[node], BACK))
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
    reduction.compiled[key] = compile_recall(step, observe, weigh, sums, BACK + 1)
    return reduction.compiled[key]


def _shift(reduction: Reduction) -> list[np.ndarray]:
    """∂S/∂X and ∂S/∂T."""
    return [ca.evalf(ca.jacobian(reduction.shift, each)).full() for each in (reduction.X, reduction.T)]


def _matrices(flat: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """(point, row, column) from CasADi's columns below each other (row · column, point)."""
    return flat.reshape(columns, rows, -1).transpose(2, 1, 0)


def _apart(known: np.ndarray, more: np.ndarray, span: float) -> np.ndarray:
    """Known times and those of some more, in order; of those that only rounding tells apart a known one stays."""
    inside = more[(more > known.min()) & (more < known.max())]
    times, added = np.concatenate([known, inside]), np.repeat([0, 1], [known.size, inside.size])
    order = np.argsort(times)
    group = np.cumsum(np.append(False, np.diff(times[order]) > CLOSE * span))
    chosen = np.lexsort((added[order], group))
    _, first = np.unique(group[chosen], return_index=True)
    return times[order][chosen[first]]
