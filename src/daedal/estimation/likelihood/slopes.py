"""Slopes of log L by differences of its values, where those of particles are worse.

Fisher's identity along the paths of particles (`daedal.filtering.particles.bootstrap`) needs a short memory where paths
pass an unstable rest, as between two wells: ∂s/∂θ of single lanes explodes there. What samples after the memory tell of
the past is then missing, a bias that more particles do not cure (two wells, 400 samples: the strength of the noise
−0.35 ± 0.09 standard errors off the exact estimates of 54 data sets, by quadrature). Values of log L have neither
trouble. With H the information and Q such that Qᵀ H Q = I, a column q of Q is about a standard error,

    D_q = (log L(φ + q) − log L(φ − q))/2,   ∂ log L = H Q D,

with the same random numbers on both sides. The error of D is about that of log L over √2, in the same units as that of
Qᵀ times the score: the smaller one decides. Over long records log L has too much noise, and differences are not asked.

Curvature. Σ d̄ d̄ᵀ is the information on average, but a few samples may have most of it (y = x + e, x' = −a x³ + w², 80
samples: a = 0.83 ± 0.05 for 1, and ± 0.08 by the curvature). Where a search has ended, differences of the score g = ∂
log L along the columns of Q tell the curvature of log L itself,

    T = −Qᵀ (g(φ + q) − g(φ − q))/2 column by column,   H' = H Q T Qᵀ H,

with the noise of the scores, in units of the columns, over √2. Where log L is an approximation with curvature C and a
gap g whose values have little noise (`guided`), second differences of these are enough,

    H' = C Q (I − B) Qᵀ C,   B_ii = g(φ + q_i) + g(φ − q_i) − 2 g(φ),

with B_ij from φ ± (q_i + q_j). (tanh(b (u + w)) through a lag, 200 samples: errors by C are up to 1.3 times too large.)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.estimation.criteria import Evaluation
from daedal.filtering import PooledRuns, find_units

LARGEST_SHARE = 0.9  # of noise in Σ d̄ d̄ᵀ along a direction that still counts as known
WORTH = 0.4  # standard errors that differences may be wrong by
NOISIEST = 0.3  # standard deviation of T by noise
FLATTEST, STEEPEST = 0.1, 2.0  # T beyond which it is noise, or there is no maximum
MANY = 6  # directions, in which each pair has two differences of its own
STEEPEST_GAP = 4.0  # the same of I − B, which has less noise


@final
@dataclass(frozen=True, eq=False)
class Slopes:
    """∂ log L and its covariance over random numbers; the metric of steps, and what noise adds to that."""

    score: np.ndarray
    scatter: np.ndarray
    metric: np.ndarray
    noise: np.ndarray


def take_score(pooled: PooledRuns, memory: int) -> Slopes:
    """By Fisher's identity."""
    score, metric = pooled.score(memory), pooled.squares(memory)
    return Slopes(score, pooled.scatter(memory), metric, pooled.noise(memory))


def prefer_differences(pooled: PooledRuns, memory: int) -> bool:
    """Whether differences of log L would have the smaller error, in directions that particles tell."""
    units = find_units(pooled.squares(memory))
    if np.linalg.eigvalsh(units.T @ pooled.noise(memory) @ units).max(initial=0.0) > LARGEST_SHARE:
        return False
    error = float(np.trace(units.T @ pooled.scatter(memory) @ units)) / max(units.shape[1], 1)
    return 0.5 * pooled.loglik_error**2 < min(error, WORTH**2)


def take_differences(
    pooled: PooledRuns,
    memory: int,
    point: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray],
    measure: Callable[[np.ndarray], PooledRuns],
) -> Slopes:
    """Around a point that `pooled` is of; what is within a standard error of a bound keeps the score of particles."""
    metric, score, scatter = _find_information(pooled, memory), pooled.score(memory), pooled.scatter(memory)
    free = _find_free(point, bounds, metric)
    block = np.ix_(free, free)
    units = find_units(metric[block])
    slopes, errors = units.T @ score[free], units.T @ scatter[block] @ units
    for place, unit in enumerate(units.T):
        step = np.zeros(point.size)
        step[free] = unit
        slopes[place], variance = _compare(measure(point + step), measure(point - step))
        errors[place] = errors[:, place] = 0.0
        errors[place, place] = variance
    back = metric[block] @ units
    score[free] = back @ slopes
    scatter[free] = 0.0
    scatter[:, free] = 0.0
    scatter[block] = back @ errors @ back.T
    return Slopes(score, scatter, metric, np.zeros_like(metric))


def _find_free(point: np.ndarray, bounds: tuple[np.ndarray, np.ndarray], metric: np.ndarray) -> np.ndarray:
    """Places of the coordinates that may go a standard error to either side."""
    errors = np.linalg.norm(find_units(metric), axis=1)
    return np.flatnonzero((point - errors >= bounds[0]) & (point + errors <= bounds[1]))


def curve_slopes(
    pooled: PooledRuns,
    memory: int,
    point: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray],
    evaluate: Callable[[np.ndarray], Evaluation],
) -> np.ndarray | None:
    """H'; None where noise is too much of it, or a score fails. What is within a standard error of a bound is kept.

    With shares S of the curvature in the directions Q of the free coordinates, H' = G H Gᵀ with G = H Q √S Qᵀ among
    these, which leaves it positive.
    """
    metric = _find_information(pooled, memory)
    everywhere, free = find_units(metric), _find_free(point, bounds, metric)
    noise = np.diag(everywhere.T @ pooled.scatter(memory) @ everywhere)
    if not everywhere.size or not np.all(noise <= 2.0 * NOISIEST**2):
        return None
    block = np.ix_(free, free)
    units = find_units(metric[block])
    turned = np.eye(units.shape[1])
    for place, unit in enumerate(units.T):
        step = np.zeros(point.size)
        step[free] = unit
        scores = [evaluate(end) for end in (point + step, point - step)]
        if not all(one.ok for one in scores):
            return None
        turned[:, place] = 0.5 * units.T @ (scores[0].gradient - scores[1].gradient)[free]
    shares, axes = np.linalg.eigh(0.5 * (turned + turned.T))
    turn = np.eye(point.size)
    turn[block] = metric[block] @ units @ (axes * np.sqrt(np.clip(shares, FLATTEST, STEEPEST))) @ axes.T @ units.T
    return turn @ metric @ turn.T


def bend_curvature(
    curvature: np.ndarray,
    point: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray],
    measure: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """H' of an approximation with a gap, of which `measure` has runs (run,); C where noise is much, or bounds near."""
    units, lower, upper = find_units(curvature), *bounds
    count = units.shape[1]
    pairs = [(i, j) for i in range(count) for j in range(i + 1)]
    steps = [units[:, i] + units[:, j] * (i != j) for i, j in pairs]
    inside = all(np.all((point + one >= lower) & (point + one <= upper)) for step in steps for one in (step, -step))
    if count > MANY or not inside:
        return curvature
    middle = measure(point)
    second = {
        pair: measure(point + s) + measure(point - s) - 2.0 * middle for pair, s in zip(pairs, steps, strict=True)
    }
    bends = np.array(
        [
            [0.5 * (second[max(i, j), min(i, j)] - (i != j) * (second[i, i] + second[j, j])) for j in range(count)]
            for i in range(count)
        ]
    )
    bends[range(count), range(count)] *= 2.0
    error = bends.std(axis=2, ddof=1) / np.sqrt(middle.size)
    if not np.all(error <= NOISIEST):
        return curvature
    shares, axes = np.linalg.eigh(np.eye(count) - bends.mean(axis=2))
    back = curvature @ units @ axes
    return (back * np.clip(shares, FLATTEST, STEEPEST_GAP)) @ back.T


def _find_information(pooled: PooledRuns, memory: int) -> np.ndarray:
    """Σ d̄ d̄ᵀ without its noise."""
    metric = pooled.squares(memory)
    units = find_units(metric)
    shares, axes = np.linalg.eigh(units.T @ pooled.noise(memory) @ units)
    back = metric @ units @ axes
    return (back * np.maximum(1.0 - shares, 1.0 - LARGEST_SHARE)) @ back.T


def _compare(above: PooledRuns, below: PooledRuns) -> tuple[float, float]:
    """Half the difference of log L, and its variance: of paired runs, and of what puts their logarithms right."""
    apart = 0.5 * (above.logliks - below.logliks)
    variances = above.logliks.var(ddof=1), below.logliks.var(ddof=1)
    own = apart.var(ddof=1) / apart.size
    return 0.5 * (above.loglik - below.loglik), float(own + sum(v * v for v in variances) / (8.0 * (apart.size - 1)))
