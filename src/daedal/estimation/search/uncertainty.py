"""How far an estimate may be off: the sandwich formula, with residuals that are correlated in time.

At the minimum of Σ z², with ψ the slopes of the predictions and H = Σ ψψᵀ the curvature, the error of the estimate is
H⁻¹ Σ ψ_k z_k to first order, so that

    cov = H⁻¹ S H⁻¹,   S = Σ_k Σ_l ψ_k E[z_k z_l] ψ_lᵀ.

S is what a simulated ensemble expects, as long as the residuals agree with it (`estimation/agreement.py`); else it
comes from autoregressions of the residuals (`scores`): that these were estimated too makes errors larger and less
certain (`calibration`). The Monte-Carlo error has the same form with the covariance of the gradient
over realizations for S: more realizations make it shrink, not more data.

Reference: L. Ljung, System Identification, 2nd ed. (1999), chapter 9; H. White, Econometrica 50 (1982) 1–25.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from daedal.estimation.criteria import Evaluation, Expected, Objective
from daedal.estimation.problem import Autoregression, Coordinates
from daedal.estimation.search.calibration import calibrate
from daedal.estimation.search.curvature import compute_covariance, find_directions, remove_noise
from daedal.estimation.search.scores import estimate_scores, settle

NO_EFFECT = 1e-4  # on a log-likelihood, of a change of θ by its own size or the distance of its bounds
NEAR = 0.02  # of the distance of the bounds: what is farther inside is not at one
BEYOND = 100.0  # distances from a bound that an estimate would go beyond it, to be called at it


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Covariances in φ, (coordinate, coordinate); infinite where the data say nothing, NaN for what is at a bound.

    `freedom` is that of Student's distribution, (coordinate,), as far as the estimate of the noise limits it.
    """

    covariance: np.ndarray
    monte_carlo: np.ndarray
    at_bound: np.ndarray
    freedom: np.ndarray


def assess_uncertainty(
    evaluation: Evaluation,
    space: Coordinates,
    scatter: np.ndarray | None,
    filters: Mapping[str, Autoregression],
    raw: Evaluation | None,
    expected: Expected | None = None,
    gone: np.ndarray | None = None,
) -> Uncertainty:
    """Covariances of the estimate that this evaluation belongs to; parameters at a bound count as known.

    Where residuals are whitened by filters, `raw` is the evaluation without them. What the model expects of its data,
    if the residuals agree, is `expected`. Which coordinates are at a bound whatever the slopes say, is `gone`.
    """
    stuck = find_stuck(evaluation, space) | (False if gone is None else gone)
    inside = np.flatnonzero(~stuck)
    size = stuck.size
    covariance, monte_carlo = np.full((size, size), np.nan), np.full((size, size), np.nan)
    chosen = np.ix_(inside, inside)
    if expected is None:
        S, freedom = _assess_scores(evaluation, inside, filters, raw)
    else:
        beside = 0.0 if evaluation.prior is None else evaluation.prior.weight * evaluation.prior.curvature
        S, freedom = expected.scores + beside, np.full(size, expected.realizations - 1.0)
    H = remove_noise(evaluation.curvature, evaluation.noise)[chosen]
    covariance[chosen] = compute_covariance(H, S[chosen])
    if scatter is not None and not scatter.any():
        monte_carlo = np.zeros((size, size))  # nothing is random, whatever the data say
    elif scatter is not None:
        monte_carlo[chosen] = compute_covariance(H, scatter[chosen])
    return Uncertainty(covariance, monte_carlo, stuck, freedom)


def _assess_scores(
    evaluation: Evaluation, inside: np.ndarray, filters: Mapping[str, Autoregression], raw: Evaluation | None
) -> tuple[np.ndarray, np.ndarray]:
    """S, with what it costs that the noise was estimated, and the degrees of freedom that this leaves.

    That cost, by which standard errors from the data alone are too small, is the data's: priors know their accuracy.
    """
    prior, freedom = evaluation.prior, np.full(evaluation.point.size, np.inf)
    own = evaluation if prior is None else prior.data
    noise = calibrate(own, inside, filters, raw if raw is None or raw.prior is None else raw.prior.data)
    freedom[inside] = noise.freedom
    if np.all(noise.factors == 1.0):
        return estimate_scores(evaluation), freedom
    settled = evaluation if prior is None else replace(evaluation, prior=replace(prior, data=settle(own)))
    beside = 0.0 if prior is None else prior.weight * prior.curvature
    S, chosen = estimate_scores(settled) - beside, np.ix_(inside, inside)
    H = remove_noise(own.curvature, own.noise)[chosen]
    M = H @ np.diag(noise.factors) @ np.nan_to_num(compute_covariance(H), posinf=0.0)
    S[chosen] = M @ S[chosen] @ M.T
    return S + beside, freedom


def evaluate_raw(objective: Objective, point: np.ndarray) -> Evaluation | None:
    """Without the filters that whiten residuals; None where there are none."""
    said = objective.capabilities
    return said.restore(said.scales, {})(point) if said.filters and said.restore is not None else None


def compare_scores(objective: Objective, evaluation: Evaluation) -> float:
    """tr(H⁻¹S)/p over the p directions that the data determine; one where there are none."""
    everything = np.arange(evaluation.point.size)
    raw = evaluate_raw(objective, evaluation.point)
    S, _ = _assess_scores(settle(evaluation), everything, objective.capabilities.filters, raw)
    directions = find_directions(remove_noise(evaluation.curvature, evaluation.noise))
    count = directions.shape[1]
    return float(np.trace(directions.T @ S @ directions)) / count if count else 1.0


def find_stuck(evaluation: Evaluation, space: Coordinates) -> np.ndarray:
    """Which coordinates lie at a bound and would go far beyond it, if they could."""
    lower, upper = space.bounds
    diagonal = np.diag(evaluation.curvature)
    wanted = -evaluation.gradient / np.where(diagonal > 0.0, diagonal, np.inf)  # a Newton step in each alone
    low, high = evaluation.point - lower, upper - evaluation.point
    # Where the slope means nothing, such as for a cost with steps, Newton would go far from anywhere.
    near = np.minimum(low, high) <= np.where(np.isfinite(upper - lower), NEAR * (upper - lower), np.inf)
    beyond = (low * BEYOND <= -wanted) & (wanted < 0.0) | (high * BEYOND <= wanted) & (wanted > 0.0)
    return beyond & near & ~_find_flat(evaluation, space)


def _find_flat(evaluation: Evaluation, space: Coordinates) -> np.ndarray:
    """Coordinates that a likelihood does not depend on where it ended: not at a bound, but not determined."""
    if evaluation.loglik is None:
        return np.zeros(evaluation.point.size, dtype=bool)
    lower, upper = space.bounds
    width = upper - lower
    size = np.fmax(np.abs(evaluation.point), np.where(np.isfinite(width), width, 0.0))  # whatever its unit
    size = np.where((size > 0.0) & ~space.logarithmic, size, 1.0)  # a unit of θ only shifts log θ
    return np.maximum(size * np.abs(evaluation.gradient), size**2 * np.diag(evaluation.curvature)) < NO_EFFECT
