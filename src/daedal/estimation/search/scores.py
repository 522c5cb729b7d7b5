"""S, the covariance of the gradient over the samples, from residuals that are correlated in time.

    S = Σ_k Σ_l ψ_k E[z_k z_l] ψ_lᵀ

E[z_k z_l] comes from an autoregression of the residuals of each output, of an order that they choose (none: the
classical formula), and from the correlation of its innovations between outputs.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np

from daedal.estimation.criteria import Evaluation, Part, count_samples, list_outputs
from daedal.estimation.problem import Autoregression, find_contiguous, fit_autoregressions
from daedal.estimation.search.curvature import find_directions, remove_noise
from daedal.linear import invert_semidefinite

AKAIKE = 2.0  # for each coefficient of the autoregression: too short a memory makes errors too small
EVIDENCE = 10.0  # of autocorrelation, as a difference of BIC, before it is believed


def estimate_scores(evaluation: Evaluation) -> np.ndarray:
    """S, and what priors add to it."""
    size = evaluation.point.size
    if evaluation.prior is None:
        return _estimate_data_scores(evaluation, size)
    own, weight, curvature = evaluation.prior.data, evaluation.prior.weight, evaluation.prior.curvature
    directions = find_directions(evaluation.curvature)
    fitted = float(np.trace(directions.T @ own.curvature @ directions))
    return _estimate_data_scores(own, fitted) + weight * curvature


def settle(evaluation: Evaluation) -> Evaluation:
    """As its residuals would be, to first order, at the minimum that the data alone have: priors hold it elsewhere."""
    step = -invert_semidefinite(evaluation.curvature) @ evaluation.gradient
    moved = tuple(replace(part, residual=part.residual - step @ part.slopes) for part in evaluation.parts)
    return replace(evaluation, parts=moved)


def _estimate_data_scores(evaluation: Evaluation, fitted: float) -> np.ndarray:
    """From autoregressions of the residuals; what fitting p numbers took from n residuals is given back.

    Of a likelihood it is the curvature. Numbers that priors hold count as far as the data move them.
    """
    size = evaluation.point.size
    if evaluation.scores is not None:
        return evaluation.scores
    if evaluation.loglik is not None:
        return remove_noise(evaluation.curvature, evaluation.noise)
    models = {output: model_residual(evaluation, output) for output in list_outputs(evaluation.parts)}
    correlate = cache(partial(_correlate, evaluation.parts, models))
    total = np.zeros((size, size))
    for number in {part.series.experiment for part in evaluation.parts}:
        parts = [part for part in evaluation.parts if part.series.experiment == number]
        filtered = [models[part.series.output].long_run(np.nan_to_num(part.slopes)) for part in parts]
        for i, part in enumerate(parts):
            total += filtered[i] @ filtered[i].T
            for j in range(i):
                total += _add_cross(correlate, (part, parts[j]), (filtered[i], filtered[j]))
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


def model_residual(evaluation: Evaluation, output: str) -> Autoregression:
    """The autoregression of the residuals of an output."""
    parts = [part for part in evaluation.parts if part.series.output == output]
    return choose_models(parts, [part.residual[None] for part in parts], evaluation.curvature)[0]


def choose_models(
    parts: Sequence[Part], residuals: Sequence[np.ndarray], curvature: np.ndarray
) -> list[Autoregression]:
    """For each row of residuals (row, time) of these parts; what makes errors smaller needs strong evidence.

    Few residuals look correlated by chance.
    """
    stretches = [
        rows[:, stretch]
        for part, rows in zip(parts, residuals, strict=True)
        for stretch in find_contiguous(part.residual)
    ]
    count = sum(stretch.shape[-1] for stretch in stretches)
    pairs = zip(fit_autoregressions(stretches, 0), fit_autoregressions(stretches, penalty=AKAIKE), strict=True)
    return [_weigh_evidence(white, chosen, count, parts, curvature) for white, chosen in pairs]


def _weigh_evidence(
    white: Autoregression, chosen: Autoregression, count: int, parts: Sequence[Part], curvature: np.ndarray
) -> Autoregression:
    if chosen.order == 0 or not white.variance > 0.0:
        return white
    gained = count * np.log(white.variance / max(chosen.variance, 1e-300)) - chosen.order * np.log(count)
    believed = gained > EVIDENCE or _add_variances(chosen, parts, curvature) >= _add_variances(white, parts, curvature)
    return chosen if believed else white


def _add_variances(model: Autoregression, parts: Sequence[Part], curvature: np.ndarray) -> float:
    """Variance of the scores under this model of the residuals, over all coordinates in units of their curvature."""
    diagonal = np.diag(curvature)
    unit = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)), 0.0)[:, None]
    return sum(float(np.sum(model.long_run(np.nan_to_num(part.slopes) * unit) ** 2)) for part in parts)


def _add_cross(
    correlate: Callable[[str, str], float],
    pair: tuple[Part, Part],
    filtered: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """What two outputs that were sampled together add, their innovations being correlated."""
    first, second = pair
    if not np.array_equal(first.series.times, second.series.times):
        return np.zeros((first.slopes.shape[0],) * 2)
    correlation = correlate(first.series.output, second.series.output)
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
