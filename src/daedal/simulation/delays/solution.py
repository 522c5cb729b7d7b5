"""A solution of a system with delays, and how everything in it depends on X, on delayed values and on parameters."""

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedal.kernels import MapKernel, compile_map
from daedal.simulation.delays.history import evaluate_delayed_input, read_pieces
from daedal.simulation.delays.lags import Lags
from daedal.simulation.delays.march import DelayMarch
from daedal.simulation.delays.mesh import weigh_points
from daedal.simulation.lanes import Values
from daedal.systems import System


@dataclass(frozen=True, eq=False)
class Slopes:
    """Derivatives of a vector with T eliminated: by X (…, row, n), by delayed values (…, row, j), by θ (…, row, d)."""

    by_X: np.ndarray
    by_w: np.ndarray
    by_theta: np.ndarray

    def __getitem__(self, rows: slice) -> "Slopes":
        return Slopes(self.by_X[..., rows, :], self.by_w[..., rows, :], self.by_theta[..., rows, :])


class Solution:
    """What a march recorded, with X and T, and derivatives along it.

    Times come as (step, node), with a middle of each step (step,) that says on which side of a break point it lies.

    Attributes
    ----------
    delayed
        Delayed values (j) by their names and places among the exogenous symbols.
    which
        The group of delays that each belongs to.
    together, computed
        Those that are computed, with the same delay together, and all one after the other.
    """

    def __init__(self, system: System, march: DelayMarch, values: Values, lags: Lags) -> None:
        self.system, self.march, self.course, self.values = system, march, march.course, values
        self.forcing, self.lags = self.course.scenario.forcing, lags  # with the rates of the delays
        self.states, self.tops = len(system.states), len(system.tops)
        self.parameters = system.parameter_vector(values.given)
        self.delayed = self.course.program.layout.delayed
        self.which = [self.lags.find_group(name) for name, _ in self.delayed]
        place = {name: j for j, (name, _) in enumerate(self.delayed)}
        self.together = tuple(tuple(place[name] for name in names) for names in self.course.program.layout.lags)
        self.computed = [j for group in self.together for j in group]

    def find_middles(self, times: np.ndarray) -> np.ndarray:
        """Middles of the steps of the solution that begin at, or go on at, these times."""
        mesh = self.course.mesh
        segment = mesh.find_segment(times)
        step = np.floor((times - mesh.breaks[segment]) / mesh.lengths[segment])
        return mesh.breaks[segment] + (np.minimum(step, mesh.counts[segment] - 1) + 0.5) * mesh.lengths[segment]

    def read_record(self, rows: Any, times: np.ndarray, middles: np.ndarray, *, slope: bool = False) -> np.ndarray:
        """Recorded numbers, or how fast they change, at times (step, node)."""
        mesh = self.course.mesh
        segment = mesh.find_segment(middles)[:, None]
        first, weights = weigh_points(mesh, times, segment, slope=slope)
        points = self.march.record[..., 0][first[..., None] + np.arange(mesh.degree + 1)][..., rows]
        return np.einsum("snk,snk...->sn...", weights, points)

    def find_driving(self, times: np.ndarray, middles: np.ndarray) -> np.ndarray:
        """All that drives the system at times (step, node), on the side of break points that the middles lie on."""
        exogenous = self.system.reduction.exogenous
        values = np.zeros((*times.shape, len(exogenous)))
        for place, track in enumerate(self.forcing.tracks):
            if track is not None and exogenous[place] not in self.lags.pasts:
                values[..., place] = read_pieces(*track, times, middles)[0]
        for j, (name, place) in enumerate(self.delayed):
            amount, past = self.lags.amounts[self.which[j]], self.lags.pasts[name]
            back, when = times - amount, middles - amount
            if past.input is not None:
                signal = self.forcing.signals[past.input[0]]
                values[..., place] = evaluate_delayed_input(past, signal, back, when, self.parameters)[0]
                continue
            early = when < self.forcing.start
            if early.any():
                values[early, :, place] = past.at(np.minimum(back[early], self.forcing.start), self.parameters)[0]
            if not early.all():
                values[~early, :, place] = self.read_record(self.course.program.rows[name], back[~early], when[~early])
        return values

    def compute_slopes(self, times: np.ndarray, middles: np.ndarray, what: str) -> Slopes:
        """Derivatives of the right side and the operands of delays ("inner"), or of the outputs, at (step, node)."""
        every = self.course.program.recorded
        z = self.read_record(slice(every - self.states - self.tops, every), times, middles)
        w = self.find_driving(times, middles)
        count, parts = times.size, (slice(0, self.states), slice(self.states, self.states + self.tops))
        columns = [times.reshape(1, -1), *(z.reshape(count, -1).T[part] for part in parts)]
        columns += [np.repeat(self.parameters[:, None], count, axis=1), w.reshape(count, -1).T]
        blocks = self._compile_kernel(what)(*(np.ascontiguousarray(column) for column in columns))
        sizes = (self.states, self.tops, len(self.delayed), self.parameters.size)
        rows = len(self.course.program.shape.wanted) if what == "outputs" else self.states + len(self.computed)
        tops = [_unstack_matrices(block, self.tops, size) for block, size in zip(blocks[:4], sizes, strict=True)]
        direct = [_unstack_matrices(block, rows, size) for block, size in zip(blocks[4:], sizes, strict=True)]
        moved = [-np.linalg.solve(tops[1], right) for right in (tops[0], tops[2], tops[3] @ self.values.rates)]
        by_X, by_w, by_theta = (
            (one + direct[1] @ other).reshape(*times.shape, rows, -1)
            for one, other in zip((direct[0], direct[2], direct[3] @ self.values.rates), moved, strict=True)
        )
        return Slopes(by_X, by_w, by_theta)

    def _compile_kernel(self, what: str) -> MapKernel:
        """∂/∂X, ∂/∂T, ∂/∂w, ∂/∂p of top, then of what is asked for, at many points at once."""
        r, program = self.system.reduction, self.course.program
        key = f"adjoint {what} {program.shape.wanted if what == 'outputs' else tuple(program.rows)}"
        if key not in r.compiled:
            operands = [r.delays[self.delayed[j][0]].operand for j in self.computed]
            shown = [r.observed[name] for name in program.shape.wanted] if what == "outputs" else [r.shift, *operands]
            _, X, T, p, w = r.arguments
            late = ca.vertcat(*(w[place] for _, place in self.delayed))
            blocks = [ca.jacobian(vector, by) for vector in (r.top, ca.vertcat(*shown)) for by in (X, T, late, p)]
            r.compiled[key] = compile_map(ca.Function("slopes", r.arguments, [ca.vec(ca.densify(b)) for b in blocks]))
        return r.compiled[key]

    def differentiate_delayed(self, times: np.ndarray, middles: np.ndarray) -> np.ndarray:
        """∂q_j/∂θ − q_j' ∂τ_j/∂θ at t − τ_j, X and w there held: (step, node, j, direction)."""
        result = np.zeros((*times.shape, len(self.delayed), self.values.rates.shape[1]))
        for j, (name, _) in enumerate(self.delayed):
            amount, turned, past = (
                self.lags.amounts[self.which[j]],
                self.lags.rates[self.which[j]],
                self.lags.pasts[name],
            )
            back, when = times - amount, middles - amount
            if past.input is not None:
                signal = self.forcing.signals[past.input[0]]
                _, slope, gradient = evaluate_delayed_input(past, signal, back, when, self.parameters)
                result[:, :, j] = np.tensordot(gradient, self.values.rates, (0, 0)) - slope[..., None] * turned
                continue
            early = when < self.forcing.start
            if early.any():
                _, slope, gradient = past.at(np.minimum(back[early], self.forcing.start), self.parameters)
                result[early, :, j] = np.tensordot(gradient, self.values.rates, (0, 0)) - slope[..., None] * turned
            if not early.all():
                result[~early, :, j] = self._differentiate_late(j, back[~early], when[~early], turned)
        return result

    def _differentiate_late(self, j: int, back: np.ndarray, when: np.ndarray, turned: np.ndarray) -> np.ndarray:
        """The same where the delayed quantity was computed."""
        name = self.delayed[j][0]
        moved = -self.read_record(self.course.program.rows[name], back, when, slope=True)[..., None] * turned
        r = self.system.reduction
        if not ca.depends_on(r.delays[name].operand, ca.vertcat(r.T, r.arguments[3])):
            return moved
        return moved + self.compute_slopes(back, when, "inner").by_theta[..., self.states + self.computed.index(j), :]


def _unstack_matrices(flat: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """(point, row, column) from CasADi's columns below each other (row · column, point)."""
    return flat.reshape(columns, rows, -1).transpose(2, 1, 0)
