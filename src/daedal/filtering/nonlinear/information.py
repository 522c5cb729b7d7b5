"""What the samples tell about the parameters of a nonlinear model: innovations, and how they move.

Around the most probable path the model is linear in its deviations; its innovations e with variances S move with θ
through A, G, h, the path at fixed normals, and the noise. Then, as for linear models,

    information ≈ Σ (∂e ∂eᵀ/S + ½ ∂S ∂Sᵀ/S²),

which is what scoring needs; the gradient itself is that of `laplace`. Derivatives of A, G and h are differences along
the sensitivities of the path, which are those of the compiled step.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from daedal.filtering.nonlinear.laplace import Laplace
from daedal.filtering.nonlinear.path import NO_SIZE, Path, find_parameter_unit
from daedal.kernels import Keep, Matrices, State, pack, run_filter
from daedal.linear import Dual

STEP = 1e-6  # of differences, relative to the unit of a parameter


@final
@dataclass(frozen=True, eq=False)
class Information:
    """Innovations of the measurements, with slopes, and the information about θ."""

    laplace: Laplace

    @cached_property
    def innovations(self) -> tuple[Dual, Dual]:
        """e and S of the measurements (measurement,)."""
        path, line = self.laplace.path, self.laplace.path.discrete.experiment.line
        discrete, count = path.discrete, len(path.discrete.point.names)
        A, G = path.jacobians
        dA, dG, dy, dh = self._slopes
        Q = G @ G.swapaxes(1, 2)
        dQ = dG @ G.swapaxes(1, 2)
        matrices = Matrices(pack(A, dA, count), pack(Q, dQ + dQ.swapaxes(-1, -2), count), pack(path.rows, dh, count))
        J, dJ = path.beginning.by_normals, self.laplace.start_slopes
        spread = dJ @ J.T
        mean = self.laplace.at.mean.start
        state = State(
            pack((J @ mean)[None], (dJ @ mean)[:, None], count),
            pack(J @ J.T, spread + spread.swapaxes(-1, -2), count),
        )
        events = line.events.row.size
        forcing, d_forcing = np.zeros((events, len(J))), np.zeros((count, events, len(J)))
        forcing[line.transitions] = -np.einsum("kni,ki->kn", G, path.normals.steps)
        d_forcing[:, line.transitions] = -np.einsum("dkni,ki->dkn", dG, path.normals.steps)
        y, dy_events = np.zeros(events), np.zeros((count, events))
        y[line.measuring], dy_events[:, line.measuring] = path.residuals, -dy
        r, dr = np.ones(events), np.zeros((count, events))
        r[line.measuring], dr[:, line.measuring] = discrete.variances.value, discrete.variances.slopes
        packed = (pack(forcing, d_forcing, count), pack(y, dy_events, count), pack(r, dr, count))
        kept = run_filter(line.events, matrices, *packed, state, keep=Keep.NOTHING)
        mine = line.measuring
        e = Dual(kept.e.value[mine, 0], np.moveaxis(kept.e.slope[mine, 0, :count], -1, 0))
        return e, Dual(kept.s.value[mine], np.moveaxis(kept.s.slope[mine, :count], -1, 0))

    @cached_property
    def matrix(self) -> np.ndarray:
        """Of θ (direction, direction)."""
        e, S = self.innovations
        weighed, rates = e.slopes / np.sqrt(S.value), S.slopes / S.value
        return weighed @ weighed.T + 0.5 * rates @ rates.T

    @cached_property
    def _slopes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """dA (direction, step, n, n), dG, dŷ (direction, measurement) and dh (direction, measurement, n)."""
        path, names = self.laplace.path, self.laplace.path.discrete.point.names
        moved = move_states(path)
        found = [self._differ(moved[k], k) for k in range(len(names))]
        A, G = path.jacobians
        shapes = A.shape, G.shape, path.residuals.shape, path.rows.shape
        return tuple(  # pyright: ignore[reportReturnType]
            np.array([one[kind] for one in found]).reshape(len(names), *shape) for kind, shape in enumerate(shapes)
        )

    def _differ(self, moved: np.ndarray, direction: int) -> list[np.ndarray]:
        path, discrete = self.laplace.path, self.laplace.path.discrete
        program, measurements = discrete.experiment.program, discrete.experiment.measurements
        sizes, inputs = program.sizes, program.sizes.inputs
        step = STEP * self._find_unit(moved, direction)
        shift = step * np.ascontiguousarray(moved.T)  # sums with transposed arrays need not be contiguous
        s, top, p, table, z = path.step_arguments
        p = p + step * discrete.read_rates[:, [direction]]
        table = table.copy()
        table[inputs:] += step * discrete.table_slopes[direction].T
        A, G = program.jacobians(s + shift[:, :-1], top, p, table, z)
        s, top, p, table = path.point_arguments
        p, table = p + step * discrete.read_rates[:, [direction]], table.copy()
        table[inputs:, 1:] += step * discrete.table_slopes[direction].T
        table[table.shape[0] - discrete.noise.rows.value.size :, 0] += (
            step * discrete.noise.rows.slopes[direction].ravel()
        )
        y, slopes, _ = program.sights(s + shift, top, p, table)
        steps, points = len(path.normals.steps), len(path.states)
        h = measurements.mix(np.ascontiguousarray(slopes.T).reshape(points, -1, sizes.state))
        return [
            (A.T.reshape(steps, sizes.state, sizes.state) - path.jacobians[0]) / step,
            (G.T.reshape(steps, sizes.state, sizes.normals) - path.jacobians[1]) / step,
            (path.residuals - measurements.compute_residuals(np.ascontiguousarray(y.T))) / step,
            (h - path.rows) / step,
        ]

    def _find_unit(self, moved: np.ndarray, direction: int) -> float:
        """By what it does to states; by what it does to outputs, where they alone move with it."""
        path, discrete = self.laplace.path, self.laplace.path.discrete
        value = discrete.point.numbers[discrete.point.names[direction]]
        if moved.any():
            return find_parameter_unit(value, path.states, moved)
        tried = max(abs(value), NO_SIZE)
        s, top, p, table = path.point_arguments
        ends = [
            discrete.experiment.program.sights(s, top, p + size * discrete.read_rates[:, [direction]], table)[0].T
            for size in (0.0, tried)
        ]
        return tried * find_parameter_unit(0.0, ends[0], ends[1] - ends[0])


def move_states(path: Path) -> np.ndarray:
    """∂s/∂θ at fixed normals, (direction, point, n)."""
    discrete, program = path.discrete, path.discrete.experiment.program
    n, steps, count = program.sizes.state, len(path.normals.steps), discrete.directions.count
    first = path.beginning.by_parameters if count else np.zeros((n, 0))
    state = np.concatenate([path.states[0], path.tops[0], [0.0], first.T.ravel()])
    out = np.empty((steps, state.size, 1))
    program.scan(discrete.directions, states=True).run(
        state[:, None].copy(),
        discrete.repeat_parameters(1),
        discrete.table,
        np.ascontiguousarray(path.normals.steps)[:, :, None],
        np.arange(steps),
        out,
    )
    whole = np.concatenate([first.T.reshape(1, count, n), out[:, state.size - n * count :, 0].reshape(steps, count, n)])
    return whole.swapaxes(0, 1)
