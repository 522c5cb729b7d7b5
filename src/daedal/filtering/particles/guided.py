"""Particles that know what is coming: guided, and weighed ahead, by the linearised model around the most probable path.

Lanes that meet an accurate sample by chance are few. Around the most probable path (s*, z*) of the samples
(`filtering.nonlinear.path`) deviations obey δ⁺ = A δ + G (z − z*), and what all later samples say of a state is nearly

    log ψ(s) = −½ δᵀ Λ δ + λᵀ δ,   δ = s − s*.

With Λ', λ' those of the next point and its own samples added, Λ' = Λ⁺ + Σ h hᵀ/σ², λ' = λ⁺ + Σ h r/σ², and
W = I + Gᵀ Λ' G, the normals of a step given the state, and the same a step earlier, are

    z ~ N(z* + W⁻¹ (b − Gᵀ Λ' A δ), W⁻¹),   b = Gᵀ λ' − z*,
    Λ = Aᵀ (Λ' − Λ' G W⁻¹ Gᵀ Λ') A,   λ = Aᵀ (λ' − Λ' G W⁻¹ b);

no covariance of s is inverted, which constraints make singular. Lanes are drawn so and weighed by

    p(z)/q(z | s) · p(y | s⁺) · ψ⁺(s⁺)/ψ(s),

whose product over all steps is an unbiased estimate of L whatever ψ is, and constant for linear models, where it has no
error at all. Where a sample tells something on one side only, its law has longer tails than q: few lanes are there,
with large weights, and drawing somewhat wider loses less than they do. The score is Fisher's, as in `bootstrap`.
Weights that look ahead are those of the smoothed path: what the score gains by a sample is then no martingale
difference, and tells no information.

N. Whiteley, A. Lee, Twisted particle filters, Ann. Statist. 42 (2014) 115–141; P. Guarniero, A. M. Johansen, A. Lee,
The iterated auxiliary particle filter, J. Amer. Statist. Assoc. 112 (2017) 1636–1647.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.filtering.nonlinear import Linearized, StartLaw
from daedal.filtering.particles.lanes import LOG_2PI, WeighedLanes
from daedal.filtering.particles.streams import Stream

FEW = 0.5  # of the lanes that count, below which they are drawn anew


@final
@dataclass(frozen=True, eq=False)
class Guide:
    """ψ at the grid points, after their own samples, and how normals are drawn.

    Attributes
    ----------
    precision, slope
        Λ (point, n, n) and λ (point, n).
    mean, gain, factor
        Of the normals of a step (step, normal), their change with δ (step, normal, n), and a factor of W⁻¹.
    first_mean, first_factor
        The same for those of the start.
    """

    states: np.ndarray
    precision: np.ndarray
    slope: np.ndarray
    mean: np.ndarray
    gain: np.ndarray
    factor: np.ndarray
    first_mean: np.ndarray
    first_factor: np.ndarray

    def look_ahead(self, point: int, states: np.ndarray) -> np.ndarray:
        """log ψ of states (n, lane) at a grid point, (lane,)."""
        apart = states - self.states[point][:, None]
        bent = self.slope[point][:, None] - 0.5 * _mix(self.precision[point], apart)
        return np.sum(apart * bent, axis=0)


def make_guide(linear: Linearized, width: float = 1.0) -> Guide:
    """From the end of time to the start; normals are drawn so many times as far from their means."""
    path = linear.path
    A, G = path.jacobians
    variances, (steps, n, m) = path.discrete.variances.value, G.shape
    told = path.scatter(path.rows[:, :, None] * path.rows[:, None, :] / variances[:, None, None])
    pulled = path.scatter(path.rows * path.weighted[:, None])
    precision, slope = np.zeros((steps + 1, n, n)), np.zeros((steps + 1, n))
    mean, gain, factor = np.zeros((steps, m)), np.zeros((steps, m, n)), np.zeros((steps, m, m))
    for k in range(steps - 1, -1, -1):
        later, push = precision[k + 1] + told[k + 1], slope[k + 1] + pulled[k + 1]
        spread = later @ G[k]
        inverse = np.linalg.inv(np.eye(m) + G[k].T @ spread)
        b = G[k].T @ push - path.normals.steps[k]
        mean[k] = path.normals.steps[k] + inverse @ b
        gain[k] = -inverse @ spread.T @ A[k]
        factor[k] = width * np.linalg.cholesky(0.5 * (inverse + inverse.T))
        reduced = later - spread @ inverse @ spread.T
        precision[k] = A[k].T @ (0.5 * (reduced + reduced.T)) @ A[k]
        slope[k] = A[k].T @ (push - spread @ (inverse @ b))
    J, start = path.beginning.by_normals, path.discrete.start
    inverse = np.linalg.inv(np.diag(start.weights) + J.T @ (precision[0] + told[0]) @ J)
    b = J.T @ (slope[0] + pulled[0]) - start.weights * path.normals.start
    first = path.normals.start + inverse @ b
    first_factor = width * np.linalg.cholesky(0.5 * (inverse + inverse.T))
    return Guide(path.states, precision, slope, mean, gain, factor, first, first_factor)


@final
@dataclass(frozen=True, eq=False)
class GuidedRun:
    """log L and its variance over random numbers, the score (direction,), and how many lanes counted after each sample.

    The variance is that of means of weights, 1/ESS − 1/M whenever lanes are drawn anew and at the end, and log L has
    half of it added, which the logarithm of such a mean lacks.
    """

    loglik: float
    variance: float
    score: np.ndarray
    counting: np.ndarray


def run_guided(linear: Linearized, guide: Guide, particles: int, stream: Stream, runs: range) -> tuple[GuidedRun, ...]:
    """Passes over the samples of one experiment side by side, each the same as alone."""
    discrete, sizes = linear.path.discrete, linear.path.discrete.experiment.program.sizes
    draws, shape = stream.of(runs, particles, discrete), (len(runs), particles)
    drawn = draws.draw_start(discrete.start.normals)
    first = guide.first_mean[:, None] + _mix(guide.first_factor, drawn)
    lanes = WeighedLanes(discrete, discrete.begin_lanes(first), len(runs), 1)
    weighed = discrete.start.weights[:, None] * first
    ahead = _divide_densities(drawn, weighed, first, guide.first_factor) + _find_flat_density(discrete.start)
    before, counting, variance = np.zeros(shape), [], np.zeros(len(runs))
    points = discrete.experiment.measurements.points
    for mine in lanes.list_samples():
        point = int(points[mine[0]])
        for k in range(lanes.point, point):
            drawn = draws.draw_steps(k, k + 1, sizes.normals)[0]
            apart = lanes.state[: sizes.state] - guide.states[k][:, None]
            z = guide.mean[k][:, None] + _mix(guide.gain[k], apart) + _mix(guide.factor[k], drawn)
            ahead += _divide_densities(drawn, z, z, guide.factor[k])
            lanes.advance(k + 1, z[None])
        if point == 0:
            lanes.stay()
        here = guide.look_ahead(point, lanes.state[: sizes.state]).reshape(shape)
        lanes.multiply(sum((lanes.compute_density(one) for one in mine), ahead.reshape(shape) + here - before))
        for one in mine:
            lanes.add_score(one)
        before, ahead = here, np.zeros(len(runs) * particles)
        counting.append(lanes.effective)
        for run in np.flatnonzero(counting[-1] < FEW * particles).tolist():
            variance[run] += 1.0 / counting[-1][run] - 1.0 / particles
            before[run] = before[run][lanes.draw_anew(run, draws.draw_place(run))]
    variance += 1.0 / lanes.effective - 1.0 / particles
    logliks, scores, counted = lanes.loglik + 0.5 * variance, lanes.center(np.ones(1))[:, 0], np.array(counting)
    return tuple(
        GuidedRun(float(logliks[run]), float(variance[run]), scores[run], counted[:, run]) for run in range(len(runs))
    )


def _mix(matrix: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    """The product of a matrix with numbers (number, lane), term by term: a lane has the same bits whoever is beside."""
    product = np.zeros((len(matrix), lanes.shape[1]))
    for column, row in zip(matrix.T, lanes, strict=True):
        product += column[:, None] * row
    return product


def _divide_densities(drawn: np.ndarray, weighed: np.ndarray, z: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """log p(z)/q(z) of normals z = mean + factor · drawn, (lane,)."""
    squares = np.sum(drawn**2, axis=0) - np.sum(weighed * z, axis=0)
    return 0.5 * squares + np.log(np.diag(factor)).sum()


def _find_flat_density(start: StartLaw) -> float:
    """What values with a flat prior at the start have in place of the density of a normal."""
    spread = start.plan.spread
    return sum(float(np.log(spread.deviations[place])) + 0.5 * LOG_2PI for place in spread.flat)
