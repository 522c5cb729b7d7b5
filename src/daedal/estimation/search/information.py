"""Log-likelihood and information criteria, where they mean something.

When nothing but white measurement noise stands between model and data, half the sum of squares is a likelihood:

    log L = −½ Σ z² − Σ log σ − ½ n log 2π,   AIC = 2p − 2 log L,   BIC = p log n − 2 log L,

p counting the free numbers and the accuracies that were not declared, which are then those of the residuals. A filter
that whitens the residuals has coefficients, which count too, and the variance of what it leaves in place of σ². With
disturbances the residuals are correlated and none of this holds, unless the criterion is a likelihood itself: then p
also counts what it estimated of the start. At the maximum of a posterior log L is what it is, but AIC and BIC, which
are about the maximum of L, mean nothing; nor do they of a quasi-likelihood.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.estimation.criteria import Evaluation, Objective, Part, count_samples, list_outputs
from daedal.estimation.problem import Autoregression
from daedal.experiments import find_declared_outputs, sum_log_determinants

EXACT = 1e-20  # mean square of residuals by that of the samples which is rounding, and the error of the steps


@final
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
    """Of a minimum of a likelihood, or of squares where nothing but white measurement noise is in the residuals."""
    information = _assess_data(objective, evaluation)
    return information if evaluation.prior is None else Information(information.loglik)


def _assess_data(objective: Objective, evaluation: Evaluation) -> Information:
    model, white = objective.problem.system.model, objective.capabilities.white
    if evaluation.loglik is not None and evaluation.scores is not None:
        return Information(evaluation.loglik)  # a quasi-likelihood: its curvature is not its information
    if evaluation.loglik is not None:
        parameters = evaluation.point.size + evaluation.inner
        return compute_information(evaluation.loglik, parameters, count_samples(evaluation.parts))
    if not white:
        return Information()
    declared = find_declared_outputs(model, objective.problem.data)
    total, numbers = -sum(sum_log_determinants(model, experiment) for experiment in white), evaluation.point.size
    for output in list_outputs(evaluation.parts):
        parts = [part for part in evaluation.parts if part.series.output == output]
        residuals = np.concatenate([part.residual[np.isfinite(part.residual)] for part in parts])
        whitening = objective.capabilities.filters.get(output)
        if _is_exact(parts, residuals, whitening, declared=output in declared):
            return Information()  # exact data have no likelihood
        if output in declared:
            logarithms = sum(float(np.sum(np.log(_list_deviations(part)))) for part in parts)
            total -= 0.5 * float(residuals @ residuals) + logarithms
        else:
            square = float(np.mean(residuals**2)) * float(np.asarray(parts[0].deviation)) ** 2
            total -= 0.5 * residuals.size * (1.0 + np.log(square))
            numbers += 1
        if whitening:
            total -= 0.5 * residuals.size * np.log(whitening.variance)
            numbers += whitening.order + (output in declared)
    count = count_samples(evaluation.parts)
    return compute_information(float(total - 0.5 * count * np.log(2.0 * np.pi)), numbers, count)


def _is_exact(parts: Sequence[Part], residuals: np.ndarray, filters: Autoregression | None, *, declared: bool) -> bool:
    """Whether what is left of an output, and says how accurate it is, is rounding."""
    if declared and not filters:
        return False
    unit = np.mean(np.concatenate([_list_deviations(part) for part in parts]) ** 2)
    left = float(np.mean(residuals**2) * unit) * (filters.variance if filters else 1.0)
    samples = np.concatenate([part.series.values for part in parts])
    return left <= EXACT * float(np.nanmean(samples**2))


def _list_deviations(part: Part) -> np.ndarray:
    """The deviation of each scored sample."""
    return np.broadcast_to(part.deviation, part.residual.shape)[np.isfinite(part.residual)]
