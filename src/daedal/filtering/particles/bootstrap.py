"""The bootstrap particle filter: likelihood of a nonlinear model by many lanes that the samples select, and its slopes.

All randomness of the discrete system (`filtering.nonlinear.program`) is in normals z that do not depend on θ. M lanes
are moved with fresh normals and weighed by how probable each makes the samples,

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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.filtering.nonlinear import DiscreteModel
from daedal.filtering.particles.lanes import LOG_2PI, WeighedLanes
from daedal.filtering.particles.streams import Stream

FEW = 0.5  # of the lanes that count, below which they are drawn anew
COLLAPSED = 2.0  # lanes that count after a sample, below which the filter has lost the data
LOG_MANY = float(np.log(1e12))  # of lanes: more than anyone has
ENOUGH = 20.0  # lanes that should count after every sample
MEMORIES = (4.0, 8.0, 16.0, 32.0, 64.0, 128.0, np.inf)  # of the score, in sample intervals


@final
@dataclass(frozen=True, eq=False)
class Collapse:
    """The first sample time with which nearly no lane agreed: its number, how many counted, about how many would do."""

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


def run_particles(
    discrete: DiscreteModel, particles: int, stream: Stream, runs: range, memories: Sequence[float] = MEMORIES
) -> tuple[ParticleRun, ...]:
    """Runs of the filter with so many lanes each, side by side, each the same as alone.

    The slopes are in the directions of the point that `discrete` was made at.
    """
    data, grid = discrete.experiment.measurements, discrete.experiment.grid
    draws = stream.of(runs, particles, discrete)
    lanes = WeighedLanes(discrete, draws.begin(discrete), len(runs), len(memories))
    listed = lanes.list_samples()
    times = grid.times[data.points[[mine[0] for mine in listed]]]
    intervals = _count_intervals(times, grid.times[0])
    gains = np.zeros((len(runs), len(memories), len(listed), len(discrete.point.names)))
    counting = np.zeros((len(runs), len(listed)))
    (e, s), shape = np.zeros((2, data.count, len(runs))), (len(listed), len(data.outputs), len(runs))
    mean, deviation = np.zeros((2, *shape))
    lost: list[Collapse | None] = [None] * len(runs)
    for number, mine in enumerate(listed):
        draws.move(lanes, int(data.points[mine[0]]))
        before, y = lanes.weights, lanes.outputs
        mean[number], deviation[number] = lanes.summarize(y)
        for one in mine:
            left, v = lanes.compare(one)
            e[one], spread = lanes.summarize(left)
            s[one] = spread**2 + v
            lanes.multiply(lanes.compute_density(one))
            lanes.add_score(one)
        score = lanes.score
        gains[:, :, number] = lanes.center(np.exp(-intervals[number] / np.array(memories))) - score
        counting[:, number] = lanes.effective
        for run in np.flatnonzero(counting[:, number] < FEW * particles).tolist():
            here = counting[run, number]
            if here < COLLAPSED and lost[run] is None:  # what follows is of lanes that are nowhere near
                needed = _estimate_need(discrete, mine, y[:, run], before[run])
                lost[run] = Collapse(number, float(times[number]), float(here), needed)
            lanes.draw_anew(run, draws.draw_place(run))
    rows = [(e[:, run], s[:, run], mean[..., run], deviation[..., run]) for run in range(len(runs))]
    return tuple(
        ParticleRun(float(lanes.loglik[run]), gains[run], counting[run], *row, lost[run])
        for run, row in enumerate(rows)
    )


def _count_intervals(times: np.ndarray, start: float) -> np.ndarray:
    """Time since the sample before, in units of the typical one."""
    gaps = np.diff(times, prepend=start)
    positive = gaps[gaps > 0.0]
    return gaps / np.median(positive) if positive.size else gaps


def _estimate_need(discrete: DiscreteModel, mine: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """How many lanes would do at a sample time, from the weights before it; see the module."""
    data = discrete.experiment.measurements
    rows, V = data.mixing[data.rows[mine]], np.diag(discrete.variances.value[mine])
    apart = rows @ (y - (y @ weights)[:, None])
    S = (apart * weights) @ apart.T
    e = rows @ (np.nan_to_num(data.values[data.samples[mine[0]]]) - y @ weights)
    log_share = 2.0 * _log_normal(e, S + V) - _log_normal(e, S + 0.5 * V) - _log_normal(0.0 * e, 2.0 * V)
    return ENOUGH * float(np.exp(min(-log_share, LOG_MANY)))


def _log_normal(e: np.ndarray, covariance: np.ndarray) -> float:
    """The logarithm of the density of N(0, covariance) at e."""
    _, determinant = np.linalg.slogdet(covariance)
    return -0.5 * float(e @ np.linalg.solve(covariance, e) + determinant + e.size * LOG_2PI)
