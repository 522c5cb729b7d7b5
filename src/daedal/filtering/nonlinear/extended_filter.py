"""The extended Kalman filter on the discrete system: what the samples up to each time say.

    predicted   m⁻ = F(m, 0),  P⁻ = A P Aᵀ + G Gᵀ   at A = ∂F/∂s, G = ∂F/∂z along the filtered means
    filtered    one measurement after the other: g = P h, S = hᵀg + σ², m += g e/S, P −= g gᵀ/S

A mean that was moved leaves the constraints G = 0 of the model to second order and is put back, X −= Bᵀ(A Bᵀ)⁻¹ G, the
covariance with it. Values at the start with a flat prior begin where all samples put them, so that derivatives are
taken there, and as uncertain as if nothing was known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from daedal.filtering.nonlinear.discrete_model import DiscreteModel
from daedal.filtering.nonlinear.path import Linearized, Normals, rest
from daedal.filtering.parameter_point import Point
from daedal.linear import invert_semidefinite

BLOCK = 256  # steps at once, for which normals are drawn
PROJECTIONS = 3  # onto the constraints; each squares what is left


@final
@dataclass(frozen=True, eq=False)
class Law:
    """Mean (point, n) and covariance (point, n, n) of s at grid points, with T (point, top) there."""

    mean: np.ndarray
    tops: np.ndarray
    covariance: np.ndarray


@final
@dataclass(frozen=True, eq=False)
class ExtendedFilter:
    """Before and after the samples of each grid point, and innovations e with variances S of the measurements."""

    discrete: DiscreteModel
    predicted: Law
    filtered: Law
    e: np.ndarray
    S: np.ndarray

    def see(self, law: Law, points: np.ndarray | slice = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of all outputs of the program at grid points, (point, output)."""
        return see_law(self.discrete, law, points)

    def look_ahead(self, origins: np.ndarray, points: np.ndarray) -> Law:
        """At grid points, from what was known at earlier ones (of the same number); −1 for before all samples.

        All that are on the way over a step take it together.
        """
        origins, points = np.asarray(origins), np.asarray(points)
        begins, known = np.maximum(origins, 0), (origins >= 0)[:, None]
        m = np.where(known, self.filtered.mean[begins], self.predicted.mean[0])
        tops = np.where(known, self.filtered.tops[begins], self.predicted.tops[0])
        P = np.where(known[:, :, None], self.filtered.covariance[begins], self.predicted.covariance[0])
        for step in range(int(begins.min(initial=0)), int(points.max(initial=0))):
            on = np.flatnonzero((begins <= step) & (step < points))
            if on.size:
                m[on], tops[on], P[on] = _advance(self.discrete, step, m[on], tops[on], P[on])
        return Law(m, tops, P)


def see_law(
    discrete: DiscreteModel, law: Law, points: np.ndarray | slice = slice(None)
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of all outputs of the program, (point, output), of a law at these grid points."""
    table = np.vstack([discrete.first_row, discrete.plain_table])[points]
    p = np.repeat(discrete.parameters[:, None], len(table), axis=1)
    arrays = (law.mean.T, law.tops.T, p, table.T)
    y, slopes, _ = discrete.experiment.program.sights(*(np.ascontiguousarray(array) for array in arrays))
    rows = slopes.T.reshape(len(table), len(y), -1)
    variance = np.einsum("kon,knm,kom->ko", rows, law.covariance, rows)
    return y.T, np.sqrt(np.maximum(variance, 0.0))


def run_extended_filter(discrete: DiscreteModel, smoothed: Linearized | None = None) -> ExtendedFilter:
    """From the start to the last grid point; `smoothed` is needed where values at the start have a flat prior."""
    measurements, steps = discrete.experiment.measurements, discrete.experiment.grid.steps
    at = [np.flatnonzero(measurements.points == point) for point in range(steps + 1)]
    m, top, P = _begin(discrete, smoothed)
    before, after = [], []
    e, S = np.zeros(measurements.count), np.ones(measurements.count)
    for point in range(steps + 1):
        if point:
            m, top, P = (one[0] for one in _advance(discrete, point - 1, m[None], top[None], P[None]))
        before.append((m, top, P))
        if at[point].size:
            m, P = _correct(discrete, point, at[point], (m, top, P), (e, S))
        after.append((m, top, P))
    laws = [Law(*(np.array(part) for part in zip(*states, strict=True))) for states in (before, after)]
    return ExtendedFilter(discrete, laws[0], laws[1], e, S)


def _begin(discrete: DiscreteModel, smoothed: Linearized | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    start = discrete.start
    normals, flat = rest(discrete).start, start.weights == 0.0
    if smoothed is not None:
        normals[flat] = smoothed.path.normals.start[flat]
    beginning = start.begin(normals)
    return beginning.state, beginning.tops, beginning.by_normals @ beginning.by_normals.T


def _advance(
    discrete: DiscreteModel, step: int, m: np.ndarray, top: np.ndarray, P: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One step with normals of zero, of means (lane, n), T (lane, top) and covariances (lane, n, n)."""
    program, lanes = discrete.experiment.program, len(m)
    n, normals, row = program.sizes.state, program.sizes.normals, discrete.plain_table[step]
    state = np.ascontiguousarray(np.concatenate([m, top, np.zeros((lanes, 1))], axis=1).T)
    z, column = np.zeros((normals, lanes)), np.repeat(discrete.parameters[:, None], lanes, axis=1)
    table = np.repeat(row[:, None], lanes, axis=1)
    A, G = program.jacobians(state[:n].copy(), state[n:-1].copy(), column, table, z)
    A, G = A.T.reshape(lanes, n, n), G.T.reshape(lanes, n, normals)
    kernel, nothing = program.scan(discrete.undirected, states=True), np.empty((0, len(state), lanes))
    kernel.run(state, column, row[None].copy(), z[None], np.full(1, -1, dtype=np.int64), nothing)
    return state[:n].T, state[n:-1].T, A @ P @ A.swapaxes(1, 2) + G @ G.swapaxes(1, 2)


def _correct(
    discrete: DiscreteModel,
    point: int,
    mine: np.ndarray,
    law: tuple[np.ndarray, np.ndarray, np.ndarray],
    into: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance after the measurements of a grid point, whose innovations are written."""
    (m, top, P), (e, S) = law, into
    measurements, program = discrete.experiment.measurements, discrete.experiment.program
    row = discrete.plain_table[point - 1] if point else discrete.first_row
    y, slopes, _ = program.sights(*(np.array(part)[:, None] for part in (m, top, discrete.parameters, row)))
    rows = slopes.reshape(len(y), -1)
    shift = np.zeros_like(m)
    for number in mine:
        weights = np.zeros(len(y))
        weights[: measurements.mixing.shape[1]] = measurements.mixing[measurements.rows[number]]
        value = np.zeros(len(y))
        value[: measurements.mixing.shape[1]] = np.nan_to_num(measurements.values[measurements.samples[number]])
        h = weights @ rows
        g = P @ h
        S[number] = h @ g + discrete.variances.value[number]
        e[number] = weights @ (value - y[:, 0]) - h @ shift
        shift = shift + g * (e[number] / S[number])
        P = P - np.outer(g, g) / S[number]
    return _project(discrete, point, m + shift, top, P)


def _project(
    discrete: DiscreteModel, point: int, m: np.ndarray, top: np.ndarray, P: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Back onto the constraints."""
    system, grid = discrete.experiment.system, discrete.experiment.grid
    states, time = len(system.states), float(grid.times[point])
    if not system.reduction.constraints:
        return m, P
    m = m.copy()
    w = grid.forcing.at(min(max(time, grid.forcing.start), grid.forcing.end))
    w[list(discrete.experiment.program.sizes.noisy)] = discrete.noise.rows.value @ m[states:]
    A = lift = np.zeros((0, 0))
    for _ in range(PROJECTIONS):
        arguments = (time, m[:states], top, discrete.numbers, w)
        A, B = (system.matrix(name, *arguments) for name in ("constraints_jacobian", "directions"))
        ways = discrete.experiment.sizes.metric[:, None] ** 2 * B.T
        lift = ways @ np.linalg.inv(A @ ways)
        m[:states] -= lift @ system.matrix("constraints", *arguments).ravel()
    # The constraints move with the disturbances too: of these P knows already.
    Pi = np.eye(m.size)
    Pi[:states, :states] -= lift @ A
    gradient = system.matrix("consistency_gradient", time, m[:states], top, discrete.numbers, w)[: len(A)]
    size = states + top.size + discrete.numbers.size
    by_w = gradient[:, size:][:, list(discrete.experiment.program.sizes.noisy)] @ discrete.noise.rows.value
    Pi[:states, states:] -= lift @ by_w
    return m, Pi @ P @ Pi.T


@final
@dataclass(frozen=True, eq=False)
class Smoothed:
    """The law of s given all samples, around the most probable path."""

    at: Linearized

    @cached_property
    def law(self) -> Law:
        """At every grid point: P − P M P around the path, and what flat priors add.

        These are left out of P, which they would fill with numbers too large to subtract; with X how the smoothed state
        moves with such a value δ, and I what the samples tell about them, they add X I⁻¹ Xᵀ.
        """
        path, line = self.at.path, self.at.path.discrete.experiment.line
        first = np.concatenate([[0], line.transitions])
        J, flat = path.beginning.by_normals, path.discrete.start.weights == 0.0
        nothing, zero = np.zeros(path.residuals.size), self.at.mean.times(0.0)
        known = self.at.filter(zero, nothing, J * ~flat)
        P, M = known.innovations.P[first], known.M[first]
        covariance = P - P @ M @ P
        if flat.any():
            columns = []
            for unit in np.eye(flat.size)[flat]:
                moved = self.at.filter(Normals(unit, zero.steps), nothing, J * ~flat)
                columns.append(moved.innovations.x[first, 0] + np.einsum("knm,km->kn", P, moved.q[first]))
            X = np.stack(columns, axis=-1)
            told = J[:, flat].T @ known.M[0] @ J[:, flat]
            covariance = covariance + X @ invert_semidefinite(told) @ X.swapaxes(1, 2)
        return Law(path.states, path.tops, covariance)


def simulate_outputs(
    discrete: DiscreteModel, points: Sequence[int] | np.ndarray, lanes: int, smoothed: Linearized | None = None
) -> np.ndarray:
    """Outputs of random paths at grid points, (point, output, lane), from the law of the start on.

    Values at the start with a flat prior are those of a smoothed path.
    """
    program, steps = discrete.experiment.program, discrete.experiment.grid.steps
    rng, count = np.random.default_rng(0), len(program.outputs)
    first = rng.standard_normal((discrete.start.normals, lanes))
    flat = discrete.start.weights == 0.0
    first[flat] = 0.0 if smoothed is None else smoothed.path.normals.start[flat, None]
    bare = discrete.experiment.at(Point(discrete.experiment.system.model, discrete.point.numbers, ()))
    state = bare.begin_lanes(first)
    seen = np.empty((steps + 1, count, lanes))
    seen[0] = bare.see_start(state)[0]
    kernel, p = program.scan(bare.directions), bare.repeat_parameters(lanes)
    for begin in range(0, steps, BLOCK):
        end = min(begin + BLOCK, steps)
        out = np.empty((end - begin, kernel.observed, lanes))
        z = rng.standard_normal((end - begin, program.sizes.normals, lanes))
        kernel.run(state, p, np.ascontiguousarray(bare.table[begin:end]), z, np.arange(end - begin), out)
        seen[1 + begin : 1 + end] = out[:, :count]
    return seen[np.asarray(points)]
