"""Log-likelihood and information criteria, where they mean something.

When nothing but white measurement noise stands between model and data, half the sum of squares is a likelihood:

    log L = −½ Σ z² − Σ log σ − ½ n log 2π,   AIC = 2p − 2 log L,   BIC = p log n − 2 log L,

p counting the free numbers and the accuracies that were not declared, which are then those of the residuals. A filter
that whitens the residuals has coefficients, which count too, and the variance of what it leaves in place of σ². With
disturbances the residuals are correlated and none of this holds, unless the criterion is a likelihood itself: then p
also counts what it estimated of the start.
"""

from dataclasses import dataclass

import numpy as np

from daedal.estimation.criteria import Evaluation, Objective
from daedal.estimation.problem import correlated
from daedal.models import Model


@dataclass(frozen=True)
class Information:
    """All None where the criterion is not a likelihood."""

    loglik: float | None = None
    aic: float | None = None
    bic: float | None = None


def compute_information(loglik: float, parameters: float, samples: int) -> Information:
    """AIC and BIC of a log-likelihood with so many free numbers.

    Examples
    --------
    >>> compute_information(-10.0, parameters=2, samples=100).aic
    24.0
    """
    bic = parameters * float(np.log(samples)) - 2.0 * loglik
    return Information(loglik, 2.0 * parameters - 2.0 * loglik, bic)


def assess_information(objective: Objective, evaluation: Evaluation) -> Information:
    """Of a minimum of a likelihood, or of output error for a model without disturbances."""
    model = objective.problem.system.model
    if evaluation.scores is not None:
        return Information()
    if evaluation.loglik is not None:
        count = sum(int(np.isfinite(part.residual).sum()) for part in evaluation.parts)
        return compute_information(evaluation.loglik, evaluation.point.size + evaluation.inner, count)
    if model.disturbances:
        return Information()
    declared = {name for key in model.measurement_noise for name in ((key,) if isinstance(key, str) else key)}
    outputs = dict.fromkeys(part.series.output for part in evaluation.parts)
    total, count, numbers = -_log_determinants(objective, model), 0, evaluation.point.size
    for output in outputs:
        parts = [part for part in evaluation.parts if part.series.output == output]
        residuals = np.concatenate([part.residual[np.isfinite(part.residual)] for part in parts])
        count += residuals.size
        if output in declared:
            logarithms = sum(float(np.sum(np.log(_each(part)))) for part in parts)
            total -= 0.5 * float(residuals @ residuals) + logarithms
        else:
            square = float(np.mean(residuals**2)) * float(np.asarray(parts[0].deviation)) ** 2
            if square == 0.0:
                return Information()  # exact data have no likelihood
            total -= 0.5 * residuals.size * (1.0 + np.log(square))
            numbers += 1
        if output in objective.filters:
            whitening = objective.filters[output]
            total -= 0.5 * residuals.size * np.log(whitening.variance)
            numbers += whitening.order + (output in declared)
    loglik = float(total - 0.5 * count * np.log(2.0 * np.pi))
    return compute_information(loglik, numbers, count)


def _each(part) -> np.ndarray:
    """The deviation of each scored sample."""
    return np.broadcast_to(part.deviation, part.residual.shape)[np.isfinite(part.residual)]


def _log_determinants(objective: Objective, model: Model) -> float:
    """½ log det of the covariances of outputs that are measured together."""
    total = 0.0
    for experiment in objective.experiments:
        for group, covariance in correlated(model, experiment):
            known = np.stack([np.isfinite(series.values) for series in group])
            patterns, counts = np.unique(known, axis=1, return_counts=True)
            for pattern, times in zip(patterns.T, counts, strict=True):
                if pattern.any():
                    total += 0.5 * times * float(np.linalg.slogdet(covariance[np.ix_(pattern, pattern)])[1])
    return total
