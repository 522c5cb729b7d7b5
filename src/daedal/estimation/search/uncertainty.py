"""How far an estimate may be off: the sandwich formula, with residuals that are correlated in time.

At the minimum of Σ z², with ψ the slopes of the predictions and H = Σ ψψᵀ the curvature, the error of the estimate is
H⁻¹ Σ ψ_k z_k to first order, so that

    cov = H⁻¹ S H⁻¹,   S = Σ_k Σ_l ψ_k E[z_k z_l] ψ_lᵀ.

E[z_k z_l] comes from an autoregression of the residuals of each output, of an order that they choose (none: the
classical formula), and from the correlation of its innovations between outputs. The Monte-Carlo error has the same
form with the covariance of the gradient over realizations for S: more realizations make it shrink, not more data.

Reference: L. Ljung, System Identification, 2nd ed. (1999), chapter 9; H. White, Econometrica 50 (1982) 1–25.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daedal.estimation.criteria import Evaluation, Part, count_samples, list_outputs
from daedal.estimation.problem import Autoregression, find_contiguous, fit_autoregression

RANK = 1e-12  # eigenvalue of the curvature, scaled to a unit diagonal, that counts as zero
FACTOR_RANK = 1e-10  # singular value of slopes, scaled to unit columns, relative to the largest, that counts as zero
PARTICIPATES = 1e-3  # squared share of a parameter in a direction that is not determined
NO_EFFECT = 1e-4  # of one unit of φ on a log-likelihood
NEAR = 0.02  # of the distance of the bounds: what is farther inside is not at one
BEYOND = 100.0  # distances from a bound that an estimate would go beyond it, to be called at it
LARGEST_SHARE = 0.9  # of Monte-Carlo error in the curvature along a direction that still counts as known
AKAIKE = 2.0  # for each coefficient of the autoregression: too short a memory makes errors too small
EVIDENCE = 10.0  # of autocorrelation, as a difference of BIC, before it is believed


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Covariances in φ, (coordinate, coordinate); infinite where the data say nothing, NaN for what is at a bound."""

    covariance: np.ndarray
    monte_carlo: np.ndarray
    at_bound: np.ndarray


def assess_uncertainty(
    evaluation: Evaluation, bounds: tuple[np.ndarray, np.ndarray], scatter: np.ndarray | None
) -> Uncertainty:
    """Covariances of the estimate that this evaluation belongs to; parameters at a bound count as known."""
    stuck = find_stuck(evaluation, bounds)
    inside = np.flatnonzero(~stuck)
    size = stuck.size
    covariance, monte_carlo = np.full((size, size), np.nan), np.full((size, size), np.nan)
    chosen = np.ix_(inside, inside)
    H, S = _remove_noise(evaluation)[chosen], _estimate_scores(evaluation)[chosen]
    covariance[chosen] = compute_covariance(H, S)
    if scatter is not None and not scatter.any():
        monte_carlo = np.zeros((size, size))  # nothing is random, whatever the data say
    elif scatter is not None:
        monte_carlo[chosen] = compute_covariance(H, scatter[chosen])
    return Uncertainty(covariance, monte_carlo, stuck)


def compare_scores(evaluation: Evaluation) -> float:
    """tr(H⁻¹S)/p over the p directions that the data determine; one where there are none."""
    directions = _find_directions(_remove_noise(evaluation))
    count = directions.shape[1]
    return float(np.trace(directions.T @ _estimate_scores(evaluation) @ directions)) / count if count else 1.0


def _remove_noise(evaluation: Evaluation) -> np.ndarray:
    """The curvature without what the Monte-Carlo error of the slopes adds to it, which is no knowledge.

    A direction in which little else is left counts as not determined.
    """
    H = evaluation.curvature
    if evaluation.noise is None or not evaluation.noise.any():
        return H
    scale, eigenvalues, vectors, usable = _decompose(H)
    roots = np.sqrt(np.where(usable, eigenvalues, 1.0))
    whitened = (vectors / roots).T @ (evaluation.noise * np.outer(scale, scale)) @ (vectors / roots)
    shares, turned = np.linalg.eigh(np.where(np.outer(usable, usable), whitened, 0.0))
    left = np.where(shares < LARGEST_SHARE, 1.0 - shares, 0.0)
    back = (vectors * np.where(usable, roots, 0.0)) @ turned
    return (back * left) @ back.T / np.outer(scale, scale)


def find_stuck(evaluation: Evaluation, bounds: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Which coordinates lie at a bound and would go far beyond it, if they could."""
    lower, upper = bounds
    diagonal = np.diag(evaluation.curvature)
    wanted = -evaluation.gradient / np.where(diagonal > 0.0, diagonal, np.inf)  # a Newton step in each alone
    low, high = evaluation.point - lower, upper - evaluation.point
    # Where the slope means nothing, such as for a cost with steps, Newton would go far from anywhere.
    near = np.minimum(low, high) <= np.where(np.isfinite(upper - lower), NEAR * (upper - lower), np.inf)
    beyond = (low * BEYOND <= -wanted) & (wanted < 0.0) | (high * BEYOND <= wanted) & (wanted > 0.0)
    return beyond & near & ~_find_flat(evaluation)


def _find_flat(evaluation: Evaluation) -> np.ndarray:
    """Coordinates that a likelihood does not depend on where it ended: not at a bound, but not determined."""
    if evaluation.loglik is None:
        return np.zeros(evaluation.point.size, dtype=bool)
    return np.maximum(np.abs(evaluation.gradient), np.diag(evaluation.curvature)) < NO_EFFECT


def compute_covariance(curvature: np.ndarray, scores: np.ndarray | None = None) -> np.ndarray:
    """H⁻¹ S H⁻¹, or H⁻¹ without scores; infinite variance for what takes part in a direction along which H vanishes.

    Examples
    --------
    >>> compute_covariance(np.array([[4.0, 0.0], [0.0, 0.0]]))
    array([[0.25,  nan],
           [ nan,  inf]])
    """
    if not curvature.size:
        return curvature
    scale, eigenvalues, vectors, kept = _decompose(curvature)
    inverse = (vectors[:, kept] / eigenvalues[kept]) @ vectors[:, kept].T * np.outer(scale, scale)
    return _open(inverse if scores is None else inverse @ scores @ inverse, vectors[:, ~kept])


def invert_squares(jacobian: np.ndarray) -> np.ndarray:
    """(JᵀJ)⁻¹ for the slopes of residuals (residual, number); infinite where they do not depend on a number.

    J itself tells directions apart that JᵀJ has lost to rounding.
    """
    norms = np.linalg.norm(jacobian, axis=0)
    scale = np.where(norms > 0.0, 1.0 / np.where(norms > 0.0, norms, 1.0), 1.0)
    _, roots, vectors = np.linalg.svd(jacobian * scale, full_matrices=False)
    kept = roots > FACTOR_RANK * roots.max(initial=0.0)
    inverse = (vectors[kept].T / roots[kept] ** 2) @ vectors[kept] * np.outer(scale, scale)
    return _open(inverse, vectors[~kept].T)


def _open(covariance: np.ndarray, lost_directions: np.ndarray) -> np.ndarray:
    """Infinite variances for what takes part in directions (number, direction) that nothing is known about."""
    lost = np.sum(lost_directions**2, axis=1) > PARTICIPATES
    covariance[lost, :] = np.nan
    covariance[:, lost] = np.nan
    covariance[lost, lost] = np.inf
    return covariance


def _decompose(curvature: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Units that give a unit diagonal, eigenvalues and vectors in these, and which are more than rounding."""
    diagonal = np.diag(curvature)
    scale = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)), 1.0)
    eigenvalues, vectors = np.linalg.eigh(curvature * np.outer(scale, scale))
    return scale, eigenvalues, vectors, eigenvalues > RANK * len(eigenvalues)


def _find_directions(curvature: np.ndarray) -> np.ndarray:
    """D, (coordinate, direction), with Dᵀ H D = I and D Dᵀ = H⁻¹ where H does not vanish."""
    scale, eigenvalues, vectors, kept = _decompose(curvature)
    return vectors[:, kept] / np.sqrt(eigenvalues[kept]) * scale[:, None]


def _estimate_scores(evaluation: Evaluation) -> np.ndarray:
    """S, and what priors add to it."""
    size = evaluation.point.size
    if evaluation.prior is None:
        return _estimate_data_scores(evaluation, size)
    own, weight, curvature = evaluation.prior.data, evaluation.prior.weight, evaluation.prior.curvature
    directions = _find_directions(evaluation.curvature)
    fitted = float(np.trace(directions.T @ own.curvature @ directions))
    return _estimate_data_scores(own, fitted) + weight * curvature


def _estimate_data_scores(evaluation: Evaluation, fitted: float) -> np.ndarray:
    """From autoregressions of the residuals; what fitting p numbers took from n residuals is given back.

    Of a likelihood it is the curvature. Numbers that priors hold count as far as the data move them.
    """
    size = evaluation.point.size
    if evaluation.scores is not None:
        return evaluation.scores
    if evaluation.loglik is not None:
        return evaluation.curvature
    models = {output: _model_residual(evaluation, output) for output in list_outputs(evaluation.parts)}
    total = np.zeros((size, size))
    for number in {part.series.experiment for part in evaluation.parts}:
        parts = [part for part in evaluation.parts if part.series.experiment == number]
        filtered = [models[part.series.output].long_run(np.nan_to_num(part.slopes)) for part in parts]
        for i, part in enumerate(parts):
            total += filtered[i] @ filtered[i].T
            for j in range(i):
                total += _add_cross(evaluation.parts, models, (part, parts[j]), (filtered[i], filtered[j]))
    count = count_samples(evaluation.parts)
    total *= count / (count - fitted) if count > fitted else np.nan  # nothing is left to tell errors by
    for part in evaluation.parts:
        if part.rates.ndim > 1:
            turned = np.nan_to_num(part.rates * (part.residual**2 - 1.0))
            total += turned @ turned.T
        elif part.rates.any():
            fourth = float(np.nansum((part.residual**2 - 1.0) ** 2))
            total += fourth * np.outer(part.rates, part.rates)
    return total


def _model_residual(evaluation: Evaluation, output: str) -> Autoregression:
    """The autoregression of the residuals of an output; what makes errors smaller needs strong evidence.

    Few residuals look correlated by chance.
    """
    parts = [part for part in evaluation.parts if part.series.output == output]
    stretches = [part.residual[stretch] for part in parts for stretch in find_contiguous(part.residual)]
    white, chosen = fit_autoregression(stretches, 0), fit_autoregression(stretches, penalty=AKAIKE)
    if chosen.order == 0 or not white.variance > 0.0:
        return white
    count = sum(stretch.size for stretch in stretches)
    gained = count * np.log(white.variance / max(chosen.variance, 1e-300)) - chosen.order * np.log(count)
    larger = _add_variances(chosen, parts, evaluation) >= _add_variances(white, parts, evaluation)
    return chosen if larger or gained > EVIDENCE else white


def _add_variances(model: Autoregression, parts: Sequence[Part], evaluation: Evaluation) -> float:
    """Variance of the scores under this model of the residuals, over all coordinates in units of their curvature."""
    diagonal = np.diag(evaluation.curvature)
    unit = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)), 0.0)[:, None]
    return sum(float(np.sum(model.long_run(np.nan_to_num(part.slopes) * unit) ** 2)) for part in parts)


def _add_cross(
    parts: Sequence[Part],
    models: dict[str, Autoregression],
    pair: tuple[Part, Part],
    filtered: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """What two outputs that were sampled together add, their innovations being correlated."""
    first, second = pair
    if not np.array_equal(first.series.times, second.series.times):
        return np.zeros((first.slopes.shape[0],) * 2)
    correlation = _correlate(parts, models, first.series.output, second.series.output)
    product = filtered[0] @ filtered[1].T
    return correlation * (product + product.T)


def _correlate(parts: Sequence[Part], models: dict[str, Autoregression], first: str, second: str) -> float:
    """Of the innovations of two outputs, over the experiments that sample them together."""
    pairs = []
    for one in parts:
        for other in parts:
            wanted = (one.series.output, other.series.output) == (first, second)
            together = one.series.experiment == other.series.experiment
            if wanted and together and np.array_equal(one.series.times, other.series.times):
                pairs.append([models[p.series.output].whiten(p.residual) for p in (one, other)])
    if not pairs:
        return 0.0
    joined = np.concatenate([np.stack(pair) for pair in pairs], axis=1)
    joined = joined[:, np.isfinite(joined).all(axis=0)]
    norms = np.sqrt(np.sum(joined**2, axis=1))
    return float(joined[0] @ joined[1] / (norms[0] * norms[1])) if joined.shape[1] and norms.all() else 0.0
