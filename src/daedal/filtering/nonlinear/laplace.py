"""Laplace's approximation of the likelihood of a nonlinear model, with its exact gradient.

Around the most probable path z* (`path`), with r, s, A, G, h as there and S the variances of the innovations of the
Kalman filter of the deviations (their product is that of σ² times det(I + JᵀJ/σ²), J = ∂r/∂z),

    V(θ) = −log L ≈ 𝒥(z*, θ) + D(z*, θ) + ½ N log 2π,      D = ½ Σ log S.

It is exact for linear models, and for others the Gauss–Newton curvature was found better than the full one. Gradient:
𝒥 is at its minimum, so that it counts at fixed z; D moves with the path too, z*' = −𝒥''⁻¹ 𝒥'_θ, which is taken to the
other side: with 𝒥'' λ = ∂D/∂z,

    dV/dθ = ∂𝒥/∂θ + ∂D/∂θ − λᵀ ∂²𝒥/∂z∂θ.

D is differentiated by hand. Let P be the predicted covariance, P⁺ that after the samples of a grid point, and M what
later samples say (`kernels.kalman.smoother`), which is 2 ∂D/∂P. Then, with M⁺ of the events after one,

    ∂D/∂A_k = M_{k+1} A_k P⁺_k,   ∂D/∂G_k = M_{k+1} G_k,   ∂D/∂h = (g − P M⁺ g + (gᵀM⁺g) g/S)/S,
    ∂D/∂σ² = ½ (1 + gᵀM⁺g/S)/S,   ∂D/∂J₀ = M₀ J₀  for s₀ with covariance J₀ J₀ᵀ.

What A, G and h do when s, z and θ move is pulled back by compiled adjoints (`program`): the cost of the gradient does
not depend on the number of parameters.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from daedal.errors import EstimationError
from daedal.filtering.nonlinear.path import (
    DERIVED,
    Filtered,
    Linearized,
    Normals,
    Path,
    Product,
    find_parameter_unit,
)
from daedal.filtering.nonlinear.recursions import run_backward
from daedal.filtering.parameter_point import Point
from daedal.kernels import Events

LOG_2PI = float(np.log(2.0 * np.pi))


@final
@dataclass(frozen=True, eq=False)
class _Determinant:
    """∂D by the matrices of the filter."""

    value: float
    A: np.ndarray
    G: np.ndarray
    h: np.ndarray
    variance: np.ndarray
    start: np.ndarray


@dataclass(frozen=True, eq=False)
class Laplace:
    """V and its gradient at one θ, given the most probable path there."""

    at: Linearized

    @property
    def path(self) -> Path:
        """The most probable one."""
        return self.at.path

    @cached_property
    def value(self) -> float:
        """V = −log L."""
        measurements = self.path.discrete.experiment.measurements
        constant = 0.5 * measurements.count * LOG_2PI + measurements.log_determinants
        return self.path.value + self._determinant.value + constant - self._flat_density

    @property
    def _flat_density(self) -> float:
        """What divides out the densities that stand for flat priors: Σ log κ + ½ log 2π."""
        spread = self.path.discrete.experiment.start.spread
        if spread.profiled:
            return 0.0
        return sum(float(np.log(spread.deviations[place])) + 0.5 * LOG_2PI for place in spread.flat)

    @cached_property
    def _filtered(self) -> Filtered:
        """The filter whose innovations have the determinant: without start values that are not integrated over."""
        integrated = self.path.discrete.start.integrated
        if integrated.all():
            return self.at.filtered
        return self.at.filter(self.at.mean, self.path.residuals, self.path.beginning.by_normals * integrated)

    @cached_property
    def _determinant(self) -> _Determinant:
        path, line = self.path, self.path.discrete.experiment.line
        filtered, (A, G) = self._filtered, path.jacobians
        kept, mine = filtered.innovations, line.measuring
        S, g, P = kept.s.value[mine], kept.g[mine], kept.P
        later = _look_later(line.events, A, filtered.M)[mine]
        corrected = P.copy()
        corrected[mine] -= g[:, :, None] * g[:, None, :] / S[:, None, None]
        last = np.append(line.transitions, line.events.row.size)[1:] - 1  # event of each grid point but the first
        first = line.transitions[0] - 1 if line.transitions.size else line.events.row.size - 1
        after = corrected[np.append(first, last)[:-1]]
        M = filtered.M[line.transitions]
        told = np.einsum("mij,mj->mi", later, g)
        inner = np.einsum("mi,mi->m", g, told) / S
        rows = (g - np.einsum("mij,mj->mi", P[mine], told) + inner[:, None] * g) / S[:, None]
        return _Determinant(
            value=0.5 * float(np.sum(np.log(S))),
            A=M @ A @ after,
            G=M @ G,
            h=rows,
            variance=0.5 * (1.0 + inner) / S,
            start=filtered.M[0] @ (path.beginning.by_normals * path.discrete.start.integrated),
        )

    @cached_property
    def gradient(self) -> np.ndarray:
        """dV/dθ in the directions of the point."""
        path, at, D = self.path, self.at, self._determinant
        program, (A, G) = path.discrete.experiment.program, path.jacobians
        zero = np.zeros_like(path.step_arguments[0])
        by_s, by_z, _, _ = program.pull(*path.step_arguments, zero, _as_lanes(D.A), _as_lanes(D.G))
        push = at.pull_sights(np.zeros(path.residuals.size), D.h)[0].copy()
        push[:-1] += by_s.T
        costates = run_backward(A, push)
        slope = Normals(
            path.beginning.by_normals.T @ costates[0] + self._bend_start(D.start),
            by_z.T + np.einsum("kni,kn->ki", G, costates[1:]),
        )
        answer = at.solve_fully(slope)
        if answer is None:
            raise EstimationError(
                "The path found is no minimum.", "Use Likelihood(method='moments'), or start from other values."
            )
        return self._collect(costates, at.multiply(answer), answer)

    def _collect(self, costates: np.ndarray, product: Product, answer: Normals) -> np.ndarray:
        """All that moves with θ, pulled back at once."""
        path, D, discrete = self.path, self._determinant, self.path.discrete
        p, moved = path.costates, product.moved
        total = p + costates - product.costates
        bars_A = D.A - p[1:, :, None] * moved[:-1, None, :]
        bars_G = D.G - p[1:, :, None] * answer.steps[:, None, :]
        lanes = (total[1:].T, bars_A, bars_G)
        _, _, by_p, by_noise = discrete.experiment.program.pull(
            *path.step_arguments, np.ascontiguousarray(lanes[0]), _as_lanes(bars_A), _as_lanes(bars_G)
        )
        variance, r = discrete.variances.value, path.residuals
        seen = moved[discrete.experiment.measurements.points]
        change = np.einsum("mn,mn->m", path.rows, seen)  # of what is predicted, along λ
        bars = -path.weighted - change / variance
        _, seen_p, seen_noise = self.at.pull_sights(bars, D.h + path.weighted[:, None] * seen)
        gradient = (by_p.sum(axis=1) + seen_p) @ discrete.rates  # of p: sizes stand still
        gradient = gradient + np.einsum("dkn,nk->d", discrete.table_slopes, by_noise)
        gradient = gradient + np.einsum("dkn,kn->d", discrete.table_slopes, seen_noise[1:])
        rows = discrete.noise.rows
        first = seen_noise[0][seen_noise.shape[1] - rows.value.size :].reshape(rows.value.shape)
        gradient = gradient + np.einsum("dij,ij->d", rows.slopes, first)
        by_variance = D.variance - 0.5 * path.weighted**2 - r * change / variance**2
        gradient = gradient + discrete.variances.slopes @ by_variance
        gradient = gradient + path.beginning.by_parameters.T @ total[0]
        return gradient + self._move_start(answer)

    def _bend_start(self, weights: np.ndarray) -> np.ndarray:
        """∂/∂ζ of ⟨weights, ∂s₀/∂ζ⟩, by differences."""
        start, normals = self.path.discrete.start, self.path.normals.start
        result = np.zeros(normals.size)
        if start.moves:
            for place, unit in enumerate(np.eye(normals.size)):
                up, down = (start.begin(normals + sign * DERIVED * unit).by_normals for sign in (1.0, -1.0))
                result[place] = np.sum(weights * (up - down)) / (2.0 * DERIVED)
        return result

    def _move_start(self, answer: Normals) -> np.ndarray:
        """∂/∂θ of ⟨∂D/∂J₀, J₀⟩ − p₀ᵀ J₀ λ₀ at fixed normals."""
        weights = self._determinant.start - np.outer(self.path.costates[0], answer.start)
        return np.einsum("dij,ij->d", self.start_slopes, weights)

    @cached_property
    def start_slopes(self) -> np.ndarray:
        """∂J₀/∂θ (direction, n, normals) at fixed normals; by differences where consistent values depend on them."""
        path, discrete = self.path, self.path.discrete
        start, point, states = discrete.start, discrete.point, len(path.beginning.start.states)
        slopes = np.zeros((len(point.names), *path.beginning.by_normals.shape))
        if not start.moves:
            slopes[:, states:, : start.factor.value.shape[0]] = start.factor.slopes
            return slopes
        for direction, name in enumerate(point.names):
            value = point.numbers[name]
            step = DERIVED * find_parameter_unit(value, path.states[:1], path.beginning.by_parameters.T[[direction]])
            ends = []
            for sign in (1.0, -1.0):
                values = {other: point.numbers[other] for other in point.names} | {name: value + sign * step}
                moved = discrete.experiment.at(Point(discrete.experiment.system.model, values, ()))
                ends.append(moved.start.begin(path.normals.start).by_normals)
            slopes[direction] = (ends[0] - ends[1]) / (2.0 * step)
        return slopes


def _look_later(events: Events, A: np.ndarray, M: np.ndarray) -> np.ndarray:
    """M⁺ of each event: what the events after it say about the state behind its measurement."""
    later = np.concatenate([M[1:], np.zeros_like(M[:1])])
    moving = np.flatnonzero(events.transition[1:] >= 0)
    step = A[events.transition[1:][moving]]
    later[moving] = step.swapaxes(1, 2) @ later[moving] @ step
    return later


def _as_lanes(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array.reshape(len(array), -1).T)
