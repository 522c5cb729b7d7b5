"""How uncertain predictions are because estimates are, by the delta method.

With J the slopes of a prediction by the estimates, (estimate, time), and C their covariance, Monte-Carlo error
included, its standard deviation is √(Jᵀ C J). Local estimates λ are among them. On other data they were estimated
again: with H the curvature there, they follow the shared estimates σ and have errors of their own,

    dλ = D dσ + e,   D = −H_λλ⁻¹ H_λσ,   cov e = f H_λλ⁻¹,

f being how much such variances exceed those of white residuals of unit size in the fit. Criteria that simulate know J
from one evaluation; the exact filter of a linear model is run a tenth of a standard error to both sides of each
estimate, for a local one in all experiments at once.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from daedal.analysis import is_linear
from daedal.errors import EstimationError, counted, quoted
from daedal.estimation import (
    Fit,
    FittedProblem,
    Objective,
    compute_covariance,
    compute_variance_factors,
    free_estimates,
    restore_objective,
)
from daedal.experiments import Series
from daedal.validation.prediction import Predicted

STEP = 0.1  # of a standard error, to both sides
MOST = 20  # estimates for each of which a filter is run twice
SAME = 1e-2  # of the spread of the samples, by which predictions of two ways may differ


def compute_prediction_errors(fitted: FittedProblem, predicted: Sequence[Predicted]) -> list[np.ndarray]:
    """Standard deviation of each simulated prediction over what is open of the estimates, (time,).

    NaN where nothing is predicted. What cannot be told raises, with the reason.
    """
    free = fitted if fitted.own else free_estimates(fitted)
    covariance = _find_covariance(fitted, free)
    objective = fitted.fit.criterion.objective(free.problem)
    simulates = fitted.fit.criterion.condition is None
    series = [one.series for one in predicted]
    slopes = (
        _evaluate_slopes(objective, free.point, predicted)
        if simulates
        else _differ(objective, free.point, covariance, series)
    )
    return [np.sqrt(np.maximum(np.einsum("kt,kl,lt->t", J, covariance, J), 0.0)) for J in slopes]


def _find_covariance(fitted: FittedProblem, free: FittedProblem) -> np.ndarray:
    """Of φ, shared estimates before local ones on other data; zero at a bound."""
    fit = fitted.fit
    items = fit.coordinates.items
    if fit.status.interrupted:
        raise EstimationError("The search was interrupted, so no errors are known.", "Fit again.")
    if fitted.own:
        return _select(fit, range(len(items)))
    shared = [k for k, item in enumerate(items) if item.experiment is None]
    if not shared:
        raise EstimationError("All estimates are local.", "Share one among the experiments.")
    mine = fitted.problem.coordinates.items
    if fitted.continued:  # local values are those of the fit
        place = {(item.parameter, item.experiment): k for k, item in enumerate(items)}
        return _select(fit, [*shared, *(place[one.parameter, fitted.continued[one.experiment or 0]] for one in mine)])
    covariance = np.zeros((free.point.size, free.point.size))
    covariance[: len(shared), : len(shared)] = _select(fit, shared)
    return _add_local(covariance, fit, free) if mine else covariance


def _select(fit: Fit, places: Sequence[int]) -> np.ndarray:
    names = [fit.coordinates.names[k] for k in places]
    variances = np.diag(fit.total_cov)[list(places)]
    if lost := [name for name, variance in zip(names, variances, strict=True) if np.isinf(variance)]:
        raise EstimationError(f"{quoted(lost)} cannot be determined, so predictions have no bounds.", "Hold some.")
    rates = fit.coordinates.rates(fit.point)[list(places)]
    return np.nan_to_num(fit.total_cov[np.ix_(places, places)]) / np.outer(rates, rates)


def _add_local(covariance: np.ndarray, fit: Fit, free: FittedProblem) -> np.ndarray:
    """With those of local estimates that were made on these data; what is at a bound stays there."""
    space, H = free.problem.coordinates, restore_objective(free)(free.point).curvature
    lower, upper = space.bounds
    local = np.array([item.experiment is not None for item in space.items])
    moving = np.flatnonzero(local & (lower < free.point) & (free.point < upper))
    inverse = compute_covariance(H[np.ix_(moving, moving)])
    if not np.isfinite(inverse).all():
        raise EstimationError("Local estimates cannot be determined by these data.", "Give more data.")
    factors = dict(zip(fit.coordinates.names, compute_variance_factors(fit), strict=True))
    sizes = np.sqrt([_average_factor(fit, factors, space.items[k].parameter) for k in moving])
    follow = np.zeros((covariance.shape[0], covariance.shape[0]))
    follow[~local, ~local] = 1.0
    follow[np.ix_(moving, ~local)] = -inverse @ H[np.ix_(moving, ~local)]
    total = follow @ covariance @ follow.T
    total[np.ix_(moving, moving)] += inverse * np.outer(sizes, sizes)
    return total


def _average_factor(fit: Fit, factors: Mapping[str, float], parameter: str) -> float:
    return float(np.mean([factors[item.name] for item in fit.coordinates.items if item.parameter == parameter]))


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


def _differ(
    objective: Objective, point: np.ndarray, covariance: np.ndarray, series: Sequence[Series]
) -> list[np.ndarray]:
    model, predict = objective.problem.system.model, objective.capabilities.predict
    if predict is None or not is_linear(model, forced=True):
        raise EstimationError(
            "How far errors of estimates move a prediction is known of linear models and criteria that simulate alone.",
            "Leave it out.",
        )
    space = objective.problem.coordinates
    groups: dict[str, list[int]] = {}
    for k, item in enumerate(space.items):
        groups.setdefault(item.parameter, []).append(k)
    if len(groups) > MOST:
        raise EstimationError(
            f"What {counted(len(groups), 'estimate')} do to a prediction of a filter would take long.", "Leave it out."
        )
    errors, (lower, upper) = np.sqrt(np.diag(covariance)), space.bounds
    slopes = [np.zeros((point.size, one.times.size)) for one in series]
    for members in groups.values():
        step = STEP * errors * np.isin(np.arange(point.size), members)
        ends = [np.clip(point + sign * step, lower, upper) for sign in (-1, 1)]
        width = ends[1] - ends[0]
        if not width.any():
            continue
        means = [[one.simulated[0] if one.simulated else one.mean for one in predict(end)] for end in ends]
        for k in members:
            where = space.items[k].experiment
            for one, J, less, more in zip(series, slopes, *means, strict=True):
                if width[k] > 0.0 and where in (None, one.experiment):
                    J[k] = (more - less) / width[k]
    return slopes
