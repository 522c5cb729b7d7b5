"""What comes of the samples: the sweep over γ, the error over many realizations, parameters, and sample times.

The cost has several minima in the delay, so the first γ is started from many; along γ each search starts where the last
two minima point to, and at some values of γ all are tried again, because the best delay can jump.
"""

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from daedal.data import Dataset
from daedal.estimation import (
    Arguments,
    Evaluation,
    MeanVariance,
    MeanVarianceObjective,
    MeasurementMoments,
    TrustRegion,
    prepare_objective,
)
from daedal.linear import one_thread
from daedal.papers.kept_pieces import MakeAll, make_all_anew
from daedal.papers.reactor.experiment import (
    EPSILON,
    FREE,
    NOMINAL,
    PERTURBATION,
    SOLVER,
    TIMES,
    compute_moments,
    draw_realizations,
    draw_samples,
    make_reactor,
    simulate_reference,
)
from daedal.simulation import check_request, make_predictor

DELAYS = (0.6, 1.5, 2.4, 3.3, 4.2)  # where searches start
AGAIN = (0.5, 0.0)  # weights at which all are tried again
SAME = 1e-3  # delays of one minimum
DRAWN_AT_ONCE = 10_000
SEED = 2015
COMPARED = (1.0, 0.99, 0.9)


@final
@dataclass(frozen=True)
class Size:
    """Steps of γ from 0 to 1, realizations of the noise, and data sets for the accuracy of parameters."""

    weights: int
    realizations: int
    data_sets: int


@final
@dataclass(frozen=True, eq=False)
class Sweep:
    """For each γ, rising: estimates (γ, parameter), predictions (γ, sample), exact mean and variance of the error.

    `minima` are delay and cost of all that was found at γ = 1.
    """

    mean: np.ndarray
    gammas: np.ndarray
    estimates: np.ndarray
    predictions: np.ndarray
    expectation: np.ndarray
    variance: np.ndarray
    minima: tuple[tuple[float, float], ...]

    def at(self, gamma: float) -> int:
        """The place of a weight."""
        return int(np.argmin(np.abs(self.gammas - gamma)))


@final
@dataclass(frozen=True, eq=False)
class Drawn:
    """Mean and variance of the error over realizations, for each γ, and the standard errors of both."""

    count: int
    mean: np.ndarray
    variance: np.ndarray
    mean_error: np.ndarray
    variance_error: np.ndarray


@final
@dataclass(frozen=True, eq=False)
class Accuracy:
    """Estimates from data sets with different perturbations, γ → (data set, parameter)."""

    estimates: dict[float, np.ndarray]

    def bias(self, gamma: float) -> np.ndarray:
        """Mean error of each parameter."""
        return self._errors(gamma).mean(axis=0)

    def rmse(self, gamma: float) -> np.ndarray:
        """Root mean square error of each parameter."""
        return np.sqrt(np.mean(self._errors(gamma) ** 2, axis=0))

    def _errors(self, gamma: float) -> np.ndarray:
        return self.estimates[gamma] - np.array(list(NOMINAL.values()))


@final
@dataclass(frozen=True, eq=False)
class Design:
    """A choice of sample times, and the standard errors of least squares with it: under (27), under equal noise."""

    name: str
    times: np.ndarray
    by_law: np.ndarray
    by_equal: np.ndarray


def make_objective(mean: np.ndarray, law: MeasurementMoments) -> MeanVarianceObjective:
    """The criterion with γ = 1; other weights share its simulation."""
    data = Dataset(TIMES, outputs={"y": mean}, t0=0.0)
    asked = Arguments(make_reactor(), data, FREE, (), None, MeanVariance(1.0, law, gradient="forward"), SOLVER)
    objective, _, _ = prepare_objective("reactor", asked, 0)
    assert isinstance(objective, MeanVarianceObjective)
    return objective


def weigh(objective: MeanVarianceObjective, gamma: float) -> MeanVarianceObjective:
    """The same with another γ."""
    return replace(objective, criterion=replace(objective.criterion, gamma=float(gamma)))


def find_minima(objective: MeanVarianceObjective) -> list[Evaluation]:
    """All that searches from different delays end in, the best first."""
    space = objective.problem.coordinates
    starts = [np.r_[delay, space.start[1:]] for delay in DELAYS]
    ends = [TrustRegion()(objective, start, space.bounds).evaluation for start in starts]
    distinct: list[Evaluation] = []
    for one in sorted((end for end in ends if end.ok), key=lambda end: end.value):
        if all(abs(one.point[0] - other.point[0]) > SAME for other in distinct):
            distinct.append(one)
    return distinct


@one_thread
def sweep_weights(size: Size) -> Sweep:
    """From γ = 1 down to 0."""
    mean = draw_samples()
    law = compute_moments(mean)
    objective = make_objective(mean, law)
    first = find_minima(objective)
    path: list[Evaluation] = []
    gammas = np.linspace(1.0, 0.0, size.weights)
    start, bounds = first[0].point, objective.problem.coordinates.bounds
    for gamma in gammas:
        at = weigh(objective, gamma)
        last = TrustRegion()(at, np.clip(start, *bounds), bounds).evaluation
        if np.any(np.isclose(gamma, AGAIN)):
            last = min([last, *find_minima(at)], key=lambda evaluation: evaluation.value)
        start = 2.0 * last.point - path[-1].point if path else last.point
        path.append(last)
    estimates = np.stack([evaluation.point for evaluation in path])[::-1]
    predictions = np.stack([evaluation.parts[0].prediction for evaluation in path])[::-1]
    exact = np.array([law.error(y) for y in predictions])
    listed = tuple((float(evaluation.point[0]), evaluation.value) for evaluation in first)
    return Sweep(mean, gammas[::-1], estimates, predictions, exact[:, 0], exact[:, 1], listed)


def draw_errors(sweep: Sweep, count: int, *, misspecified: bool = False) -> Drawn:
    """The error of every estimate over realizations of (27), or of (28)."""
    rng = np.random.default_rng([SEED, int(misspecified)])
    mean = sweep.mean + (EPSILON if misspecified else 0.0)
    errors = np.concatenate(
        [
            _compute_errors(sweep.predictions, draw_realizations(mean, min(DRAWN_AT_ONCE, count - first), rng))
            for first in range(0, count, DRAWN_AT_ONCE)
        ]
    )
    center = errors.mean(axis=0)
    squares = (errors - center) ** 2
    spread = np.stack([errors.std(axis=0), squares.std(axis=0)]) / np.sqrt(count)
    return Drawn(count, center, squares.mean(axis=0), *spread)


def _compute_errors(predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Σ (y − ŷ)² as (realization, γ)."""
    own, theirs = np.sum(predictions**2, axis=1), np.sum(y**2, axis=1)
    return theirs[:, None] - 2.0 * y @ predictions.T + own


def assess_accuracy(size: Size, make_all: MakeAll = make_all_anew) -> Accuracy:
    """Parameters from data sets whose mean is the reference output."""
    points = np.array(make_all("accuracy", f"{__name__}:estimate_each", [[seed] for seed in range(size.data_sets)]))
    return Accuracy({gamma: points[:, k] for k, gamma in enumerate(COMPARED)})


@one_thread
def estimate_each(seed: int) -> list[list[float]]:
    """Estimates from one data set for every γ that is compared, (γ, parameter)."""
    mean = draw_samples(seed)
    objective = make_objective(mean, compute_moments(mean))
    starts, bounds = find_minima(objective), objective.problem.coordinates.bounds
    points = []
    for gamma in COMPARED:
        at = weigh(objective, gamma)
        ends = [TrustRegion()(at, one.point, bounds).evaluation for one in starts]
        points.append(min(ends, key=lambda end: end.value).point.tolist())
    return points


def list_sample_times() -> dict[str, np.ndarray]:
    """Choices of twenty times (but for two), all in the ten seconds of the paper."""
    return {
        "every 0.5 to 10 (paper)": TIMES,
        "every 0.25 to 5": 0.5 * TIMES,
        "every 0.125 to 2.5": 0.25 * TIMES,
        "every 0.25 from 5.25": 5.0 + 0.5 * TIMES,
        "geometric, 0.1 to 10": np.geomspace(0.1, 10.0, 20),
        "ten before 1, ten around 2.5": np.r_[0.1 * np.arange(1, 11), 2.0 + 0.1 * np.arange(1, 11)],
        "every 1 to 10": np.arange(1.0, 11.0),
        "every 0.25 to 10": 0.25 * np.arange(1, 41),
    }


def assess_designs() -> list[Design]:
    """Standard errors of least squares at the nominal parameters."""
    designs = []
    for name, times in list_sample_times().items():
        run = make_predictor(
            check_request("reactor", make_reactor(), times, None, 0.0), ("y",), FREE, NOMINAL, SOLVER, None, 0, ""
        )
        pseudo = np.linalg.pinv(run(NOMINAL).slopes[:, 0].T)
        law, equal = compute_moments(simulate_reference(times)).covariance, PERTURBATION**2 * np.eye(times.size)
        by_law, by_equal = (np.sqrt(np.diag(pseudo @ covariance @ pseudo.T)) for covariance in (law, equal))
        designs.append(Design(name, times, by_law, by_equal))
    return designs
