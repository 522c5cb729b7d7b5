"""Gradients of a function of the samples by one backward solution, however many parameters there are.

Let g_k = ∂H/∂y(t_k). With X' = f(X, w, p), w_j = q_j(t − τ_j) and y = h(X, p), the costate runs backward from zero,

    λ' = −f_Xᵀ λ − Σ_j q_{j,X}ᵀ f_{w_j}ᵀ(t + τ_j) λ(t + τ_j),      λ(t_k⁻) = λ(t_k⁺) + h_Xᵀ g_k,

looking ahead where the system looks back, and

    dH/dθ = λ(t₀)ᵀ ∂X(t₀)/∂θ + Σ_k g_kᵀ h_θ + ∫ λᵀ (f_θ + Σ_j f_{w_j} (∂q_j/∂θ − q_j' ∂τ_j/∂θ)) dt
            + Σ_b λ(b)ᵀ (f⁻ − f⁺) ∂b/∂θ

(seed 002, theorems 3 and 4; the last sum where the right side jumps at a moving break point b). ∂q_j/∂θ is that of the
history before the start, and of what q_j contains besides X after it. λ has break points of its own: the samples, and a
delay before each.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daedal.errors import SimulationError
from daedal.simulation.delay_history import on_pieces
from daedal.simulation.delay_lanes import DelayMarch, DelayRun, lags
from daedal.simulation.delay_mesh import DEGREE, LEVELS, Mesh, segments, through_points
from daedal.simulation.delay_program import DelayProgram, delay_program
from daedal.simulation.discretization import Point
from daedal.simulation.lineup import Values
from daedal.simulation.program import Directions
from daedal.simulation.projection import Projection
from daedal.systems import System, initial_sensitivities

NODES = np.array([0.0, 0.5, 1.0])
CLOSE = 1e-11  # of the span: times this close are the same


def adjoint_possible(run: Any) -> bool:
    """Whether outputs and delayed quantities follow from the states alone, and nothing constrains these."""
    if not isinstance(run, DelayRun):
        return False
    system, program = run.lineup.system, run.plan.program
    return program.continuous and not system.reduction.constraints


@dataclass(frozen=True, eq=False)
class Blocks:
    """Derivatives with T eliminated: f_X (…, n, n), f_w (…, n, symbol) and f_θ (…, n, direction)."""

    by_X: np.ndarray
    by_w: np.ndarray
    by_theta: np.ndarray


class Adjoint:
    """A prepared run, ready to be differentiated backward at any values."""

    def __init__(self, run: DelayRun) -> None:
        if not adjoint_possible(run):
            raise SimulationError(
                f"The backward gradient of model '{run.lineup.system.model.name}' is not available: an output or a "
                "delayed value contains what is solved for at each instant.",
                "Use gradient='forward'.",
            )
        self.run, self.lineup, self.system = run, run.lineup, run.lineup.system
        self.program = self._recording()

    def _recording(self) -> DelayProgram:
        """The program without sensitivities, that records X and T."""
        old = self.run.plan.program
        shape = replace(old.shape, directions=Directions.of(self.system, ()))
        first = self.run.values[0]
        point = Point(
            self.lineup.forcing.start,
            first.start.states,
            first.start.tops,
            self.system.parameter_vector(first.given),
            self.lineup.forcing.at(self.lineup.forcing.start),
        )
        return delay_program(self.system, shape, point, self.run.plan.step, old.operands, states=True)

    def samples(self, values: Mapping[str, float]) -> "Backward":
        """Run forward at these values; (output, sample) are in the result, its gradient for the asking."""
        whole = self.lineup.all_values([values])[0]
        still = replace(self.lineup, free=(), directions=Directions.of(self.system, ()))
        alone = still.all_values([values])[0]
        march = DelayMarch(still, self.program, alone, self.run.plan.step, range(1))
        out, good = march.samples(self.run.times)
        if not good.all():
            raise SimulationError(
                f"The simulation failed at time {float(self.run.times[int(np.argmin(good[:, 0]))]):g}.",
                "Choose other values.",
            )
        moving = DelayMarch(self.lineup, self.run.plan.program, whole, self.run.plan.step, range(1))
        return Backward(self.system, march, whole, self.run.times, out[:, :, 0].T, moving.mesh.rates)


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
        self.states, self.tops = len(system.states), len(system.tops)
        self.directions = values.rates.shape[1]
        self.break_rates = break_rates  # of the break points of the solution, (segment + 1, direction)
        self.lags = lags(system, values)  # with the rates of the delays

    def gradient(self, pull: np.ndarray) -> np.ndarray:
        """dH/dθ (direction,) for ∂H/∂y (output, sample)."""
        mesh = self._mesh()
        segment, _, begin, length = mesh.steps()
        nodes, middles = begin[:, None] + length[:, None] * NODES, begin + 0.5 * length
        now = self._blocks(nodes, middles)
        ahead = [self._ahead(amount, nodes, middles) for amount in self.lags.amounts]
        costate = self._costate(mesh, nodes, middles, now.by_X, ahead, pull)
        steps = np.arange(segment.size)
        number = steps - np.searchsorted(segment, segment)
        places = mesh.offsets[segment] + number
        first, weights, _ = through_points(mesh, middles, segment, mesh.counts[segment])
        half = np.einsum("sk,skn->sn", weights, costate[first[:, None] + np.arange(DEGREE + 1)])
        lam = np.stack([costate[places], half, costate[places + 1]], axis=1)  # (step, node, n)
        inner = now.by_theta + np.einsum("tanj,tajd->tand", now.by_w, self._turned(nodes, middles))
        integrand = np.einsum("tan,tand->tad", lam, inner)
        total = np.einsum("t,tad,a->d", length, integrand, np.array([1.0, 4.0, 1.0]) / 6.0)
        first = costate[0] + self._kick(float(mesh.breaks[0]), pull)
        return total + self._at_start(first) + self._directly(pull) + self._jumps(mesh, costate)

    def _mesh(self) -> Mesh:
        """Break points of the solution, the samples, and delays before them."""
        forward = self.march.mesh
        start, end = float(forward.breaks[0]), float(forward.breaks[-1])
        known = _apart(np.array([start, end]), np.concatenate([self.times, forward.breaks]), end - start)
        level = known
        for _ in range(LEVELS):
            earlier = (level[:, None] - self.lags.amounts).ravel()
            level = earlier[earlier > start]
            known = _apart(
                known, level, end - start
            )  # a sample keeps its place beside what only rounding tells from it
        return segments(known[:-1], end, float(forward.lengths.max()))

    def _values_at(self, times: np.ndarray, middles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """X, T and w at times (step, node)."""
        mesh, record = self.march.mesh, self.march.record
        segment = mesh.segment(middles)[:, None]
        first, weights, _ = through_points(mesh, times, segment, mesh.counts[segment])
        rows = slice(self.march.program.recorded - self.states - self.tops, self.march.program.recorded)
        points = record[first[..., None] + np.arange(DEGREE + 1)][..., rows, 0]
        z = np.einsum("snk,snkr->snr", weights, points)
        w = self._driving(times, middles)
        return z[..., : self.states], z[..., self.states :], w

    def _driving(self, times: np.ndarray, middles: np.ndarray) -> np.ndarray:
        """All that drives the system at times (step, node), on the side of break points that the middles lie on."""
        forcing, exogenous = self.march.lineup.forcing, self.system.reduction.exogenous
        parameters = self.system.parameter_vector(self.values.given)
        values = np.zeros((*times.shape, len(exogenous)))
        for place, (name, track) in enumerate(zip(exogenous, forcing.tracks, strict=True)):
            if name not in self.lags.names:
                if track is not None:
                    values[..., place] = on_pieces(*track, times, middles)[0]
                continue
            which = self.lags.names.index(name)
            back, when, past = (
                times - self.lags.amounts[which],
                middles - self.lags.amounts[which],
                self.lags.pasts[which],
            )
            if past.input is not None:
                values[..., place] = on_pieces(forcing.signals[past.input[0]], past.input[1], back, when)[0]
                continue
            early = when < forcing.start
            if early.any():
                values[early, :, place] = past.at(np.minimum(back[early], forcing.start), parameters)[0]
            if not early.all():
                values[~early, :, place] = self._recorded(self.march.program.row(name), back[~early], when[~early])
        return values

    def _recorded(self, row: int, times: np.ndarray, middles: np.ndarray) -> np.ndarray:
        """One recorded number at times (step, node)."""
        mesh = self.march.mesh
        segment = mesh.segment(middles)[:, None]
        first, weights, _ = through_points(mesh, times, segment, mesh.counts[segment])
        return np.einsum("snk,snk->sn", weights, self.march.record[first[..., None] + np.arange(DEGREE + 1), row, 0])

    def _blocks(self, times: np.ndarray, middles: np.ndarray) -> Blocks:
        x, top, w = self._values_at(times, middles)
        shape, count = times.shape, times.size
        parameters = np.repeat(self.system.parameter_vector(self.values.given)[:, None], count, axis=1)
        columns = [each.reshape(count, -1).T for each in (x, top, w)]
        found = self._jacobians.map(count)(times.reshape(1, -1), columns[0], columns[1], parameters, columns[2])
        sizes = [(self.tops, self.states), (self.tops, self.tops), (self.tops, w.shape[-1])]
        sizes.append((self.tops, parameters.shape[0]))
        by_X, J, by_w, by_p = (
            each.full().reshape(rows, count, columns_).transpose(1, 0, 2)
            for each, (rows, columns_) in zip(found, sizes, strict=True)
        )
        S_X, S_T = self._shift
        slope_X, slope_w, slope_p = (-S_T @ np.linalg.solve(J, each) for each in (by_X, by_w, by_p))
        return Blocks(
            (S_X + slope_X).reshape(*shape, self.states, self.states),
            slope_w.reshape(*shape, self.states, w.shape[-1]),
            (slope_p @ self.values.rates).reshape(*shape, self.states, self.directions),
        )

    @cached_property
    def _jacobians(self) -> ca.Function:
        """∂top/∂X, ∂top/∂T, ∂top/∂w, ∂top/∂p."""
        r = self.system.reduction
        if "adjoint" not in r.compiled:
            _, X, T, p, w = r.arguments
            blocks = [ca.densify(ca.jacobian(r.top, each)) for each in (X, T, w, p)]
            r.compiled["adjoint"] = ca.Function("adjoint", r.arguments, blocks)
        return r.compiled["adjoint"]

    @cached_property
    def _shift(self) -> tuple[np.ndarray, np.ndarray]:
        r = self.system.reduction
        return tuple(ca.evalf(ca.jacobian(r.shift, each)).full() for each in (r.X, r.T))  # type: ignore[return-value]

    def _ahead(self, amount: float, nodes: np.ndarray, middles: np.ndarray) -> np.ndarray:
        """f_w at t + τ (step, node, n, symbol); zero where that is beyond the end."""
        end = float(self.march.mesh.breaks[-1])
        inside = middles + amount < end
        result = np.zeros((*nodes.shape, self.states, len(self.system.reduction.exogenous)))
        if inside.any():
            result[inside] = self._blocks(np.minimum(nodes[inside] + amount, end), middles[inside] + amount).by_w
        return result

    @cached_property
    def _operands(self) -> ca.Function:
        """∂q/∂X and ∂q/∂p of all delayed quantities that are computed."""
        r = self.system.reduction
        names = self.march.program.operands
        column = ca.vertcat(*(r.delays[name].operand for name in names)) if names else ca.SX(0, 1)
        blocks = [ca.densify(ca.jacobian(column, each)) for each in (r.X, r.arguments[3])]
        return ca.Function("operands", r.arguments, blocks)

    def _costate(
        self,
        mesh: Mesh,
        nodes: np.ndarray,
        middles: np.ndarray,
        by_X: np.ndarray,
        ahead: list[np.ndarray],
        pull: np.ndarray,
    ) -> np.ndarray:
        """λ at all points (point, n), by classical Runge–Kutta steps backward."""
        record = np.full((mesh.points, self.states), np.nan)
        coupling = self._coupling(nodes, middles, ahead)
        lam = np.zeros(self.states)
        firsts = np.concatenate([[0], np.cumsum(mesh.counts)[:-1]])
        for segment in range(mesh.counts.size - 1, -1, -1):
            lam = lam + self._kick(float(mesh.breaks[segment + 1]), pull)
            count, h = int(mesh.counts[segment]), float(mesh.lengths[segment])
            record[mesh.offsets[segment] + count] = lam
            block = max(int(min(np.floor(self.lags.reach / h * (1.0 + 1e-9)), count)), 1)
            for high in range(count, 0, -block):
                low = max(high - block, 0)
                steps = slice(int(firsts[segment]) + low, int(firsts[segment]) + high)
                source = self._source(mesh, record, nodes[steps], middles[steps], coupling, steps, (segment, high))
                for k in range(high - 1, low - 1, -1):
                    step = int(firsts[segment]) + k
                    lam = _back(lam, by_X[step], source[k - low], h)
                    record[mesh.offsets[segment] + k] = lam
        return record

    def _coupling(
        self, nodes: np.ndarray, middles: np.ndarray, ahead: list[np.ndarray]
    ) -> list[tuple[float, np.ndarray]]:
        """For each computed delay: its length, and q_Xᵀ f_wᵀ(t + τ) at the nodes (step, node, n, n)."""
        names = self.march.program.operands
        if not names:
            return []
        x, top, w = self._values_at(nodes, middles)
        count = nodes.size
        parameters = np.repeat(self.system.parameter_vector(self.values.given)[:, None], count, axis=1)
        columns = [each.reshape(count, -1).T for each in (x, top, w)]
        found = self._operands.map(count)(nodes.reshape(1, -1), columns[0], columns[1], parameters, columns[2])
        q_X = found[0].full().reshape(len(names), count, self.states).transpose(1, 0, 2)
        q_X = q_X.reshape(*nodes.shape, len(names), self.states)
        result = []
        exogenous = self.system.reduction.exogenous
        for which, name in enumerate(self.lags.names):
            if name in names and name in exogenous:
                f_w = ahead[which][..., exogenous.index(name)]
                row = q_X[..., names.index(name), :]
                result.append((float(self.lags.amounts[which]), row[..., :, None] * f_w[..., None, :]))
        return result

    def _source(
        self,
        mesh: Mesh,
        record: np.ndarray,
        nodes: np.ndarray,
        middles: np.ndarray,
        coupling: list[tuple[float, np.ndarray]],
        steps: slice,
        present: tuple[int, int],
    ) -> np.ndarray:
        """Σ_j q_{j,X}ᵀ f_{w_j}ᵀ λ(t + τ_j) at the nodes (step, node, n)."""
        total = np.zeros((*nodes.shape, self.states))
        end = float(mesh.breaks[-1])
        for amount, matrix in coupling:
            inside = np.flatnonzero(middles + amount < end)
            if not inside.size:
                continue
            at, when = nodes[inside] + amount, middles[inside] + amount
            segment = mesh.segment(when)
            # Within the present segment only the points from `high` on are there: the quintic begins not before.
            least = np.where(segment == present[0], present[1], 0)
            first, weights, _ = through_points(
                mesh, at, segment[:, None], mesh.counts[segment][:, None], least[:, None]
            )
            lam = np.einsum("snk,snkr->snr", weights, record[first[..., None] + np.arange(DEGREE + 1)])
            total[inside] += np.einsum("snij,snj->sni", matrix[steps][inside], lam)
        return total

    def _kick(self, time: float, pull: np.ndarray) -> np.ndarray:
        """h_Xᵀ g of a sample at this time, if there is one."""
        place = np.flatnonzero(np.abs(self.times - time) <= CLOSE * (self.times[-1] - self.march.lineup.forcing.start))
        if not place.size:
            return np.zeros(self.states)
        return self._output_slopes[0][int(place[0])].T @ pull[:, int(place[0])]

    @cached_property
    def _output_slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """h_X (sample, output, n) and h_θ (sample, output, direction)."""
        r = self.system.reduction
        outputs = ca.vertcat(*(r.observed[name] for name in self.march.program.shape.wanted))
        function = ca.Function(
            "outputs", r.arguments, [ca.densify(ca.jacobian(outputs, each)) for each in (r.X, r.arguments[3])]
        )
        mesh = self.march.mesh
        middles = mesh.breaks[mesh.segment(self.times)] + 0.5 * mesh.lengths[mesh.segment(self.times)]
        x, top, w = self._values_at(self.times[:, None], middles)
        parameters = self.system.parameter_vector(self.values.given)
        found = [
            [part.full() for part in function(t, x[k, 0], top[k, 0], parameters, w[k, 0])]
            for k, t in enumerate(self.times)
        ]
        return np.array([each[0] for each in found]), np.array([each[1] @ self.values.rates for each in found])

    def _turned(self, nodes: np.ndarray, middles: np.ndarray) -> np.ndarray:
        """∂q/∂θ − q' ∂τ/∂θ of every exogenous symbol (step, node, symbol, direction)."""
        exogenous = self.system.reduction.exogenous
        result = np.zeros((*nodes.shape, len(exogenous), self.directions))
        start = self.march.lineup.forcing.start
        parameters = self.system.parameter_vector(self.values.given)
        for which, name in enumerate(self.lags.names):
            if name not in exogenous:
                continue
            amount, turned, past = self.lags.amounts[which], self.lags.rates[which], self.lags.pasts[which]
            back, when, place = nodes - amount, middles - amount, exogenous.index(name)
            if past.input is not None:
                _, slope = on_pieces(self.march.lineup.forcing.signals[past.input[0]], past.input[1], back, when)
                result[:, :, place] = -slope[..., None] * turned
                continue
            early = when < start
            if early.any():
                _, slope, gradient = past.at(np.minimum(back[early], start), parameters)
                moved = np.einsum("pkn,pd->knd", gradient, self.values.rates) - slope[..., None] * turned
                result[early, :, place] = moved
            late = ~early
            if late.any():
                result[late, :, place] = self._late(name, back[late], when[late], turned)
        return result

    def _late(self, name: str, back: np.ndarray, when: np.ndarray, turned: np.ndarray) -> np.ndarray:
        """The same where the delayed quantity was computed."""
        mesh = self.march.mesh
        segment = mesh.segment(when)[:, None]
        first, _, slopes = through_points(mesh, back, segment, mesh.counts[segment])
        names = self.march.program.operands
        row = len(self.march.program.shape.wanted) + names.index(name)
        points = self.march.record[first[..., None] + np.arange(DEGREE + 1)][..., row, 0]
        moved = -np.einsum("snk,snk->sn", slopes, points)[..., None] * turned
        x, top, w = self._values_at(back, when)
        count = back.size
        parameters = np.repeat(self.system.parameter_vector(self.values.given)[:, None], count, axis=1)
        columns = [each.reshape(count, -1).T for each in (x, top, w)]
        _, by_p = self._operands.map(count)(back.reshape(1, -1), columns[0], columns[1], parameters, columns[2])
        q_p = by_p.full().reshape(len(names), count, -1)[names.index(name)] @ self.values.rates
        return moved + q_p.reshape(*back.shape, self.directions)

    def _at_start(self, lam: np.ndarray) -> np.ndarray:
        """λ(t₀)ᵀ ∂X(t₀)/∂θ."""
        start = self.march.lineup.forcing.start
        middle = np.array([start + 0.5 * float(self.march.mesh.lengths[0])])
        w = self._driving(np.array([[start]]), middle)
        moved = self._turned(np.array([[start]]), middle)[0, 0]
        rates = initial_sensitivities(
            self.system, self.values.start, start, self.values.given, w[0, 0], self.values.rates, moved
        )
        return lam @ rates[: self.states]

    def _directly(self, pull: np.ndarray) -> np.ndarray:
        """Σ_k g_kᵀ h_θ."""
        return np.einsum("os,sod->d", pull, self._output_slopes[1])

    def _jumps(self, mesh: Mesh, costate: np.ndarray) -> np.ndarray:
        """Σ_b λ(b)ᵀ (f⁻ − f⁺) ∂b/∂θ over the moving break points of the solution.

        Only delayed values count: an input that jumps at the same time does not move.
        """
        forward, record = self.march.mesh, self.march.record
        first = self.march.program.recorded - self.states - self.tops
        solved = Projection(self.system, self.system.parameter_vector(self.values.given))
        late = [place for place, name in enumerate(self.system.reduction.exogenous) if name in self.lags.names]
        S_T = self._shift[1]
        total = np.zeros(self.directions)
        for segment in np.flatnonzero(self.break_rates[1:-1].any(axis=1)) + 1:
            at = float(forward.breaks[segment])
            halves = 0.5 * forward.lengths[[segment - 1, segment]] * np.array([-1.0, 1.0])
            driven = self._driving(np.full((2, 1), at), at + halves)
            before, after = driven[:, 0]
            mixed = after.copy()
            mixed[late] = before[late]
            z = record[forward.offsets[segment], first : first + self.states + self.tops, 0]
            tops = [solved(at, z[: self.states], z[self.states :], w)[1] for w in (mixed, after)]
            place = int(np.argmin(np.abs(mesh.breaks[:-1] - at)))
            total += (costate[mesh.offsets[place]] @ (S_T @ (tops[0] - tops[1]))) * self.break_rates[segment]
        return total


def _apart(known: np.ndarray, more: np.ndarray, span: float) -> np.ndarray:
    """Known times and those of some more, in order, that are not the same but for rounding."""
    found = np.sort(known)
    for time in np.sort(more):
        place = int(np.searchsorted(found, time))
        near = found[max(place - 1, 0) : place + 1]
        if found[0] < time < found[-1] and np.min(np.abs(near - time)) > CLOSE * span:
            found = np.insert(found, place, time)
    return found


def _back(lam: np.ndarray, by_X: np.ndarray, source: np.ndarray, h: float) -> np.ndarray:
    """One Runge–Kutta step of λ' = −f_Xᵀ λ − c from the end of a step to its beginning."""

    def rate(node: int, value: np.ndarray) -> np.ndarray:
        return by_X[node].T @ value + source[node]  # backward in time

    k1 = rate(2, lam)
    k2 = rate(1, lam + 0.5 * h * k1)
    k3 = rate(1, lam + 0.5 * h * k2)
    k4 = rate(0, lam + h * k3)
    return lam + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)
