"""The bootstrap particle filter: likelihood of a nonlinear model by many lanes that the samples select, and its slopes.

All randomness of the discrete system (`filtering.nonlinear.program`) is in normals z that do not depend on θ. M lanes are
moved with fresh normals and weighed by how probable each makes the samples,

    w_i = Π N(e_i; 0, σ²),   e_i = y − ŷ_i,   log L = Σ_t log Σ_i W_i w_i,   W_i ← W_i w_i / Σ,

and drawn anew (systematically) in proportion to W when fewer than half of them count, ESS = 1/Σ W² < M/2 (Gordon,
Salmond and Smith 1993). exp(log L) has no bias, whatever M is.

Score. As z does not depend on θ, only y given the path does: Fisher's identity is ∂ log L = E[α | y],

    α_i ← α_i + Σ (e ∂ŷ_i/σ² + ½ (e²/σ² − 1) ∂σ²/σ²),   ∂ log L ≈ Σ W_i α_i,

with ∂ŷ from ∂s/∂θ, which the lanes carry; no second derivatives, and singular densities of the transition never appear.
Lanes of long ago have few ancestors, so that α of the distant past is noise: after each sample α is drawn towards its
mean, α_i ← ᾱ + γ (α_i − ᾱ), γ = exp(−Δt/memory) (Nemeth, Fearnhead and Mihaylova 2016), with variance linear in time in
place of quadratic and a bias as far as samples later than the memory still tell of the past. Several memories are
carried side by side, so that independent runs tell which is long enough (`pooling`, beside this file).

Information. d_t, by which the score grows at sample time t, are martingale differences: Σ d dᵀ is the information,
plus what the noise of d adds. Means over runs have less of it, and what their differences show can be taken out: with
d̄ the mean over R runs and C_t their covariance, Σ d̄ d̄ᵀ − Σ C_t/R has no such bias (products of independent runs).

Collapse. With ŷ of covariance S before a sample, the share of the lanes that count after it is

    ρ ≈ N(e; 0, S + V)² / (N(e; 0, S + V/2) N(0; 0, 2V)),   V the variance of the noise,

for normal ŷ, which tells how many lanes would do where nearly none agree with a sample.

N. J. Gordon, D. J. Salmond, A. F. M. Smith, IEE Proc. F 140 (1993) 107–113; C. Nemeth, P. Fearnhead, L. Mihaylova,
J. Comput. Graph. Stat. 25 (2016) 1138–1157.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.errors import EstimationError
from daedal.filtering.nonlinear import DiscreteModel
from daedal.simulation import ACCEPTED

LOG_2PI = float(np.log(2.0 * np.pi))
FEW = 0.5  # of the lanes that count, below which they are drawn anew
COLLAPSED = 2.0  # lanes that count after a sample, below which the filter has lost the data
LOG_MANY = float(np.log(1e12))  # of lanes: more than anyone has
ESCAPED = 1e100  # output of a lane that is no longer anywhere
ENOUGH = 20.0  # lanes that should count after every sample
MEMORIES = (4.0, 8.0, 16.0, 32.0, 64.0, 128.0, np.inf)  # of the score, in sample intervals


@final
@dataclass(frozen=True, eq=False)
class Collapse:
    """A sample time with which nearly no lane agreed: its number, how many counted, and about how many would do."""

    sample: int
    time: float
    counting: float
    needed: float


@final
@dataclass(frozen=True, eq=False)
class ParticleRun:
    """One pass over the samples of one experiment.

    Attributes
    ----------
    loglik
        log L, constants and all.
    gains
        d_t (memory, sample time, direction): what each sample time adds to the score.
    counting
        Effective number of lanes after each sample time, (sample time,).
    e, s
        Of each measurement what the measurements before did not foresee, and its variance, (measurement,).
    mean, deviation
        Of the outputs, from the samples before (sample time, output); the deviation has no measurement noise in it.
    collapse
        Where the filter lost the data, if it did.
    """

    loglik: float
    gains: np.ndarray
    counting: np.ndarray
    e: np.ndarray
    s: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    collapse: Collapse | None


def run_particles(discrete: DiscreteModel, particles: int, rng: np.random.Generator) -> ParticleRun:
    """The filter with so many lanes; the slopes are in the directions of the point that `discrete` was made at."""
    return _Cloud(discrete, particles, rng).run()


class _Cloud:
    """The lanes of one pass; `state` and `alpha` move along the samples."""

    def __init__(self, discrete: DiscreteModel, particles: int, rng: np.random.Generator) -> None:
        experiment = discrete.experiment
        self._discrete, self._rng, self._lanes = discrete, rng, particles
        self._measurements, self._grid = experiment.measurements, experiment.grid
        self._directions, self._outputs = len(discrete.point.names), len(experiment.measurements.outputs)
        self._kernel = experiment.program.scan(discrete.directions)
        self._parameters = discrete.repeat_parameters(particles)
        self._state = discrete.begin_lanes(rng.standard_normal((discrete.start.normals, particles)))
        self._weights = np.full(particles, 1.0 / particles)
        self._alpha = np.zeros((len(MEMORIES), self._directions, particles))
        self._e, self._s = np.zeros((2, self._measurements.count))
        self._point = 0

    def run(self) -> ParticleRun:
        """Over all samples."""
        listed = _group_by_sample(self._measurements.samples)
        times = self._grid.times[self._measurements.points[[mine[0] for mine in listed]]]
        gaps = np.diff(times, prepend=self._grid.times[0])
        positive = gaps[gaps > 0.0]
        interval = float(np.median(positive)) if positive.size else 1.0
        gains = np.zeros((len(MEMORIES), len(listed), self._directions))
        counting, total = np.zeros(len(listed)), -self._measurements.log_determinants
        mean, deviation = np.zeros((2, len(listed), self._outputs))
        collapse, score = None, np.zeros((len(MEMORIES), self._directions))
        for number, mine in enumerate(listed):
            y, slopes = self._advance(int(self._measurements.points[mine[0]]))
            mean[number], deviation[number] = self._foresee(y)
            before = self._weights
            total += self._weigh(mine, y, slopes)
            here = self._alpha @ self._weights
            gains[:, number], score = here - score, here
            counting[number] = 1.0 / float(self._weights @ self._weights)
            if counting[number] < COLLAPSED and (collapse is None or counting[number] < collapse.counting):
                needed = self._estimate_need(mine, y, before)
                collapse = Collapse(number, float(times[number]), float(counting[number]), needed)
            self._forget(here, gaps[number] / interval)
            if counting[number] < FEW * self._lanes:
                self._draw_anew()
        return ParticleRun(total, gains, counting, self._e, self._s, mean, deviation, collapse)

    def _advance(self, point: int) -> tuple[np.ndarray, np.ndarray]:
        """Move the lanes to a grid point: outputs (output, lane) there and their slopes (direction, output, lane)."""
        steps, program = point - self._point, self._discrete.experiment.program
        normals = self._rng.standard_normal((max(steps, 1), program.sizes.normals, self._lanes))
        if steps:
            out = self._scan(self._state, self._discrete.table[self._point : point], normals)
        else:
            out = self._scan(self._state.copy(), _make_still_row(self._discrete), normals)
        self._point, wanted = point, len(program.outputs)
        slopes = out[wanted + 1 :].reshape(self._directions, wanted, self._lanes)[:, : self._outputs]
        failed = ~(out[wanted] <= ACCEPTED) | ~(np.abs(out[: self._outputs]).max(axis=0) < ESCAPED)  # or not a number
        if not failed.any():
            return out[: self._outputs], slopes
        weights = np.where(failed, 0.0, self._weights)
        whole = float(weights.sum())
        if not whole > 0.0:
            raise EstimationError(
                f"None of {self._lanes} particles could be simulated until {self._grid.times[point]:g}.",
                "Give bounds that keep the parameters where the model can be simulated, or shorter steps.",
            )
        self._weights = weights / whole
        return np.where(failed, 0.0, out[: self._outputs]), np.where(failed, 0.0, slopes)

    def _scan(self, state: np.ndarray, table: np.ndarray, normals: np.ndarray) -> np.ndarray:
        """Lanes over some steps, state in place; what is seen after the last."""
        emit = np.full(len(table), -1, dtype=np.int64)
        emit[-1] = 0
        out = np.empty((1, self._kernel.observed, self._lanes))
        self._kernel.run(state, self._parameters, np.ascontiguousarray(table), normals, emit, out)
        return out[0]

    def _foresee(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of the outputs."""
        mean = y @ self._weights
        return mean, np.sqrt((y - mean[:, None]) ** 2 @ self._weights)

    def _weigh(self, mine: np.ndarray, y: np.ndarray, slopes: np.ndarray) -> float:
        """Weigh the lanes by the measurements of one sample time, and add to α; what that adds to log L."""
        data, variances, added = self._measurements, self._discrete.variances, 0.0
        left = np.nan_to_num(data.values[data.samples[mine[0]]])[:, None] - y
        for one in mine:
            row, v, rates = data.mixing[data.rows[one]], variances.value[one], variances.slopes[:, one]
            e = row @ left
            self._e[one] = e @ self._weights
            self._s[one] = (e - self._e[one]) ** 2 @ self._weights + v
            added += self._multiply(-0.5 * (e * e / v + np.log(v) + LOG_2PI))
            if self._directions:
                gain = np.tensordot(slopes, row, (1, 0)) * (e / v)
                if rates.any():
                    gain += 0.5 * (e * e / v - 1.0) * (rates / v)[:, None]
                self._alpha += np.where(self._weights > 0.0, gain, 0.0)
        return added

    def _multiply(self, logarithms: np.ndarray) -> float:
        """The weights by factors; the logarithm of their mean."""
        largest = float(logarithms[self._weights > 0.0].max())
        weights = self._weights * np.exp(np.minimum(logarithms - largest, 0.0))
        whole = float(weights.sum())
        if not (np.isfinite(largest) and whole > 0.0):
            raise EstimationError(
                f"No particle agrees with the sample at {self._grid.times[self._point]:g} at all.",
                "Look at that sample, and start from other values.",
            )
        self._weights = weights / whole
        return largest + float(np.log(whole))

    def _estimate_need(self, mine: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
        """How many lanes would do at a sample time, from the weights before it; see the module."""
        data = self._measurements
        rows, V = data.mixing[data.rows[mine]], np.diag(self._discrete.variances.value[mine])
        apart = rows @ (y - (y @ weights)[:, None])
        S = (apart * weights) @ apart.T
        e = rows @ (np.nan_to_num(data.values[data.samples[mine[0]]]) - y @ weights)
        log_share = 2.0 * _log_normal(e, S + V) - _log_normal(e, S + 0.5 * V) - _log_normal(0.0 * e, 2.0 * V)
        return ENOUGH * float(np.exp(min(-log_share, LOG_MANY)))

    def _forget(self, mean: np.ndarray, intervals: float) -> None:
        """Draw α towards its mean (memory, direction) over so many sample intervals."""
        factors = np.exp(-intervals / np.array(MEMORIES))[:, None, None]
        self._alpha = mean[:, :, None] + factors * (self._alpha - mean[:, :, None])

    def _draw_anew(self) -> None:
        """Systematic resampling."""
        places = (np.arange(self._lanes) + self._rng.random()) / self._lanes
        chosen = np.minimum(np.searchsorted(np.cumsum(self._weights), places), self._lanes - 1)
        self._state = np.ascontiguousarray(self._state[:, chosen])
        self._alpha = self._alpha[:, :, chosen]
        self._weights = np.full(self._lanes, 1.0 / self._lanes)


def _log_normal(e: np.ndarray, covariance: np.ndarray) -> float:
    """The logarithm of the density of N(0, covariance) at e."""
    _, determinant = np.linalg.slogdet(covariance)
    return -0.5 * float(e @ np.linalg.solve(covariance, e) + determinant + e.size * LOG_2PI)


def _make_still_row(discrete: DiscreteModel) -> np.ndarray:
    """A table of one step without length, which moves nothing and sees the outputs at the start."""
    sizes, rows = discrete.experiment.program.sizes, discrete.noise.rows
    tables = []
    for matrix, first, unit in [
        (rows.value, discrete.first_row[: sizes.inputs], np.eye(sizes.filters)),
        *((slope, np.zeros(0), np.zeros((sizes.filters,) * 2)) for slope in rows.slopes),
    ]:
        at_nodes = np.tile(matrix, (sizes.nodes, 1))
        blocks = (unit, np.zeros(sizes.noise_shapes[1]), at_nodes, np.zeros(sizes.noise_shapes[3]), matrix)
        tables.append(np.concatenate([first, *(block.ravel() for block in blocks)]))
    return np.concatenate(tables if discrete.directions.moves_noise else tables[:1])[None]


def _group_by_sample(samples: np.ndarray) -> list[np.ndarray]:
    """The measurements of each sample time."""
    ends = np.flatnonzero(np.diff(samples)) + 1
    return np.split(np.arange(samples.size), ends)
