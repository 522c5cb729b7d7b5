"""How uncertain predictions are because estimates are, by the delta method.

With J the slopes of a prediction by the estimates, (estimate, time), and C their covariance, Monte-Carlo error
included, its standard deviation is √(Jᵀ C J). Criteria that simulate know J from one evaluation; the exact filter of a
linear model is run a tenth of a standard error to both sides of each estimate.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from daedal.analysis import is_linear
from daedal.errors import EstimationError, counted, quoted
from daedal.estimation import FittedProblem, Objective, free_estimates
from daedal.validation.prediction import Predicted

STEP = 0.1  # of a standard error, to both sides
MOST = 20  # estimates for each of which a filter is run twice
SAME = 1e-2  # of the spread of the samples, by which predictions of two ways may differ


def compute_prediction_errors(fitted: FittedProblem, predicted: Sequence[Predicted]) -> list[np.ndarray]:
    """Standard deviation of each simulated prediction over what is open of the shared estimates, (time,).

    NaN where nothing is predicted. What cannot be told raises, with the reason.
    """
    covariance = _find_covariance(fitted)
    free = fitted if fitted.own else free_estimates(fitted)
    space = free.problem.coordinates
    shared = np.array([item.experiment is None for item in space.items])
    local = [name for name, one in zip(space.names, shared, strict=True) if not one]
    problem, point = replace(free.problem, coordinates=space.hold(local, free.point)), free.point[shared]
    objective = fitted.fit.criterion.objective(problem)
    simulates = fitted.fit.criterion.condition is None
    slopes = _evaluate_slopes(objective, point, predicted) if simulates else _differ(objective, point, covariance)
    return [np.sqrt(np.maximum(np.einsum("kt,kl,lt->t", J, covariance, J), 0.0)) for J in slopes]


def _find_covariance(fitted: FittedProblem) -> np.ndarray:
    """Of φ of the shared estimates; zero at a bound."""
    fit = fitted.fit
    shared = [k for k, item in enumerate(fit.coordinates.items) if item.experiment is None]
    names = [fit.coordinates.names[k] for k in shared]
    variances = np.diag(fit.total_cov)[shared]
    if fit.status.interrupted:
        raise EstimationError("The search was interrupted, so no errors are known.", "Fit again.")
    if lost := [name for name, variance in zip(names, variances, strict=True) if np.isinf(variance)]:
        raise EstimationError(f"{quoted(lost)} cannot be determined, so predictions have no bounds.", "Hold some.")
    if not shared:
        raise EstimationError("All estimates are local.", "Share one among the experiments.")
    rates = fit.coordinates.rates(fit.point)[shared]
    return np.nan_to_num(fit.total_cov[np.ix_(shared, shared)]) / np.outer(rates, rates)


def _evaluate_slopes(objective: Objective, point: np.ndarray, predicted: Sequence[Predicted]) -> list[np.ndarray]:
    """Of the first stage, which does not filter the residuals; it must predict what is to be drawn."""
    evaluation = objective(point)
    parts = {(part.series.output, part.series.experiment): part for part in evaluation.parts}
    slopes = []
    for one in predicted:
        part = parts.get((one.series.output, one.series.experiment))
        if part is None or not _agree(part.prediction, one.forecast.mean):
            raise EstimationError("This criterion does not tell the slopes of what it predicts.", "Leave it out.")
        slopes.append(_fill_gaps(part.slopes * part.deviation, one.series.times))
    return slopes


def _agree(one: np.ndarray, other: np.ndarray) -> bool:
    known = np.isfinite(one) & np.isfinite(other)
    apart = np.abs(one - other)[known]
    return (
        one.size == other.size
        and bool(known.any())
        and float(apart.max()) <= SAME * (float(np.ptp(other[known])) or 1.0)
    )


def _fill_gaps(slopes: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Slopes where samples are missing, from those beside them."""
    known = np.isfinite(slopes).all(axis=0)
    if known.all() or not known.any():
        return slopes
    return np.array([np.interp(times, times[known], row[known], np.nan, np.nan) for row in slopes])


def _differ(objective: Objective, point: np.ndarray, covariance: np.ndarray) -> list[np.ndarray]:
    model, predict = objective.problem.system.model, objective.capabilities.predict
    if predict is None or not is_linear(model, forced=True):
        raise EstimationError(
            "How far errors of estimates move a prediction is known of linear models and criteria that simulate alone.",
            "Leave it out.",
        )
    if point.size > MOST:
        raise EstimationError(
            f"What {counted(point.size, 'estimate')} do to a prediction of a filter would take long.", "Leave it out."
        )
    lower, upper = objective.problem.coordinates.bounds
    slopes = []
    for k, error in enumerate(np.sqrt(np.diag(covariance))):
        ends = [np.clip(point + sign * STEP * error * (np.arange(point.size) == k), lower, upper) for sign in (-1, 1)]
        width = ends[1][k] - ends[0][k]
        if not width > 0.0:
            slopes.append(None)
            continue
        means = [[one.simulated[0] if one.simulated else one.mean for one in predict(end)] for end in ends]
        slopes.append([(more - less) / width for less, more in zip(*means, strict=True)])
    return _stack(slopes)


def _stack(by_estimate: list[list[np.ndarray] | None]) -> list[np.ndarray]:
    """(estimate, time) of each series; zero for what cannot move."""
    known = next((one for one in by_estimate if one is not None), None)
    if known is None:
        raise EstimationError("All estimates are at their bounds.", "Widen these.")
    still = [np.zeros(one.size) for one in known]
    return [np.array([(one or still)[k] for one in by_estimate]) for k in range(len(known))]
