"""Parameters on a log scale that went to zero: log 0 is never reached, and slopes by the logarithm fade on the way.

Such a parameter θ is at its bound: zero, or one so far below its start that slopes have faded there too. By s = θ^p the
criterion has a slope there that is not zero: p = 1 for most, p = 2 for the size of a noise, which acts by its square.
With φ = log θ the slope is ∂V/∂φ = p s ∂V/∂s, so that two points near zero tell p.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from daedal.estimation.criteria import Evaluation, count_samples
from daedal.estimation.search import Outcome

SHRUNK = 1e-3  # share of its start, at most
GONE = 100.0  # standard errors of its logarithm, by the curvature alone, at least
SMALLEST = 1e-9  # share of its start that it is evaluated at: slopes are still numbers
UNCHANGED = 1e-3  # of the variance of a residual, by which the criterion may differ there


@dataclass(frozen=True, eq=False)
class Vanished:
    """The minimum with what went to zero at a small share of its start, or at its bound, and the place of each → p."""

    evaluation: Evaluation
    powers: Mapping[int, float]

    @property
    def gone(self) -> np.ndarray:
        """Which coordinates they are."""
        return np.isin(np.arange(self.evaluation.point.size), list(self.powers))


def settle_vanished(outcome: Outcome) -> Vanished:
    """Find what went to zero where a search ended."""
    evaluation, items = outcome.evaluation, outcome.objective.problem.coordinates.items
    unit = _measure_unit(evaluation)
    flat = np.diag(evaluation.curvature) * GONE**2 < unit
    logarithms = np.array([np.log(item.start) if item.logarithmic else -np.inf for item in items])
    small = flat & (evaluation.point < logarithms + np.log(SHRUNK))
    if outcome.interrupted or evaluation.rough or not small.any():
        return Vanished(evaluation, {})
    lower = outcome.objective.problem.coordinates.bounds[0]
    floor = np.where(small, np.maximum(logarithms + np.log(SMALLEST), lower), -np.inf)
    lifted = np.where(small & np.isfinite(lower), floor, np.maximum(evaluation.point, floor))
    if not np.array_equal(lifted, evaluation.point):
        moved = outcome.objective(lifted)
        if not moved.ok or moved.value - evaluation.value > UNCHANGED * unit:
            return Vanished(evaluation, {})
        evaluation = moved
    powers = {k: _find_power(replace(outcome, evaluation=evaluation), k) for k in np.flatnonzero(small).tolist()}
    return Vanished(evaluation, {k: power for k, power in powers.items() if power > 0.0})


def _measure_unit(evaluation: Evaluation) -> float:
    """The variance of a residual, as far as the value tells; innovations of a likelihood have theirs."""
    if evaluation.loglik is not None:
        return 1.0
    return 2.0 * abs(evaluation.value) / max(count_samples(evaluation.parts), 1)


def _find_power(outcome: Outcome, place: int) -> float:
    """One or two; zero where the criterion does not grow away from zero."""
    evaluation = outcome.evaluation
    farther = outcome.objective(evaluation.point + np.log(10.0) * (np.arange(evaluation.point.size) == place))
    slopes = evaluation.gradient[place], farther.gradient[place] if farther.ok else np.nan
    if not slopes[0] > 0.0:
        return 0.0
    return 2.0 if slopes[1] > 10.0**1.5 * slopes[0] else 1.0
