"""Log-likelihood and information criteria, where they mean something.

When nothing but white measurement noise stands between model and data, half the sum of squares is a likelihood:

    log L = −½ Σ z² − Σ log σ − ½ n log 2π,   AIC = 2p − 2 log L,   BIC = p log n − 2 log L,

p counting the free numbers and the accuracies that were not declared, which are then those of the residuals. With
disturbances the residuals are correlated and none of this holds, unless the criterion is a likelihood itself: then p
also counts what it estimated of the start.
"""

from dataclasses import dataclass

import numpy as np

from daedal.estimation.criteria import Evaluation, Objective
from daedal.experiments import declared_outputs, log_determinant


@dataclass(frozen=True)
class Information:
    """All None where the criterion is not a likelihood."""

    loglik: float | None = None
    aic: float | None = None
    bic: float | None = None


def compute_information(objective: Objective, evaluation: Evaluation) -> Information:
    """Of a minimum of a likelihood, or of output error for a model without disturbances."""
    model = objective.problem.system.model
    if evaluation.scores is not None:
        return Information()
    if evaluation.loglik is not None:
        count = sum(int(np.isfinite(part.residual).sum()) for part in evaluation.parts)
        return _criteria(evaluation.loglik, evaluation.point.size + evaluation.inner, count)
    if model.disturbances:
        return Information()
    declared = declared_outputs(model)
    outputs = dict.fromkeys(part.series.output for part in evaluation.parts)
    total = -sum(log_determinant(model, experiment) for experiment in objective.experiments)
    count, numbers = 0, evaluation.point.size
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
    loglik = float(total - 0.5 * count * np.log(2.0 * np.pi))
    return _criteria(loglik, numbers, count)


def _criteria(loglik: float, numbers: int, count: int) -> Information:
    return Information(loglik, 2.0 * numbers - 2.0 * loglik, numbers * float(np.log(count)) - 2.0 * loglik)


def _each(part) -> np.ndarray:
    """The deviation of each scored sample."""
    return np.broadcast_to(part.deviation, part.residual.shape)[np.isfinite(part.residual)]
