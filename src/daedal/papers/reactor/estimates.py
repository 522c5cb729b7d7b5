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
from daedal.papers.reactor.experiment import (
    EPSILON,
    FREE,
    NOMINAL,
    PERTURBATION,
    SOLVER,
    TIMES,
    moments,
    reactor,
    realizations,
    reference,
    samples,
)
from daedal.simulation import check_request, predictor

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


def objective(mean: np.ndarray, law: MeasurementMoments) -> MeanVarianceObjective:
    """The criterion with γ = 1; other weights share its simulation."""
    data = Dataset(TIMES, outputs={"y": mean}, t0=0.0)
    asked = Arguments(reactor(), data, FREE, (), None, MeanVariance(1.0, law, gradient="forward"), SOLVER)
    made, _, _ = prepare_objective("reactor", asked, 0)
    assert isinstance(made, MeanVarianceObjective)
    return made


def weighed(made: MeanVarianceObjective, gamma: float) -> MeanVarianceObjective:
    """The same with another γ."""
    return replace(made, criterion=replace(made.criterion, gamma=float(gamma)))


def minima(made: MeanVarianceObjective) -> list[Evaluation]:
    """All that searches from different delays end in, the best first."""
    space = made.problem.coordinates
    starts = [np.r_[each, space.start[1:]] for each in DELAYS]
    found = [TrustRegion()(made, start, space.bounds).evaluation for start in starts]
    distinct: list[Evaluation] = []
    for one in sorted((each for each in found if each.ok), key=lambda each: each.value):
        if all(abs(one.point[0] - other.point[0]) > SAME for other in distinct):
            distinct.append(one)
    return distinct


@one_thread
def sweep(size: Size) -> Sweep:
    """From γ = 1 down to 0."""
    mean = samples()
    law = moments(mean)
    made = objective(mean, law)
    first = minima(made)
    found: list[Evaluation] = []
    gammas = np.linspace(1.0, 0.0, size.weights)
    start, bounds = first[0].point, made.problem.coordinates.bounds
    for gamma in gammas:
        at = weighed(made, gamma)
        last = TrustRegion()(at, np.clip(start, *bounds), bounds).evaluation
        if np.any(np.isclose(gamma, AGAIN)):
            last = min([last, *minima(at)], key=lambda each: each.value)
        start = 2.0 * last.point - found[-1].point if found else last.point
        found.append(last)
    estimates = np.stack([each.point for each in found])[::-1]
    predictions = np.stack([each.parts[0].prediction for each in found])[::-1]
    exact = np.array([law.error(y) for y in predictions])
    listed = tuple((float(each.point[0]), each.value) for each in first)
    return Sweep(mean, gammas[::-1], estimates, predictions, exact[:, 0], exact[:, 1], listed)


def drawn(made: Sweep, count: int, *, misspecified: bool = False) -> Drawn:
    """The error of every estimate over realizations of (27), or of (28)."""
    rng = np.random.default_rng([SEED, int(misspecified)])
    mean = made.mean + (EPSILON if misspecified else 0.0)
    errors = np.concatenate(
        [
            _errors(made.predictions, realizations(mean, min(DRAWN_AT_ONCE, count - first), rng))
            for first in range(0, count, DRAWN_AT_ONCE)
        ]
    )
    center = errors.mean(axis=0)
    squares = (errors - center) ** 2
    spread = np.stack([errors.std(axis=0), squares.std(axis=0)]) / np.sqrt(count)
    return Drawn(count, center, squares.mean(axis=0), *spread)


def _errors(predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Σ (y − ŷ)² as (realization, γ)."""
    own, theirs = np.sum(predictions**2, axis=1), np.sum(y**2, axis=1)
    return theirs[:, None] - 2.0 * y @ predictions.T + own


@one_thread
def accuracy(size: Size) -> Accuracy:
    """Parameters from data sets whose mean is the reference output."""
    found: dict[float, list[np.ndarray]] = {gamma: [] for gamma in COMPARED}
    for seed in range(size.data_sets):
        mean = samples(seed)
        made = objective(mean, moments(mean))
        starts = minima(made)
        for gamma in COMPARED:
            at = weighed(made, gamma)
            ends = [TrustRegion()(at, one.point, made.problem.coordinates.bounds).evaluation for one in starts]
            found[gamma].append(min(ends, key=lambda each: each.value).point)
    return Accuracy({gamma: np.stack(each) for gamma, each in found.items()})


def sample_times() -> dict[str, np.ndarray]:
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


def designs() -> list[Design]:
    """Standard errors of least squares at the nominal parameters."""
    found = []
    for name, times in sample_times().items():
        run = predictor(
            check_request("reactor", reactor(), times, None, 0.0), ("y",), FREE, NOMINAL, SOLVER, None, 0, ""
        )
        pseudo = np.linalg.pinv(run(NOMINAL).slopes[:, 0].T)
        law, equal = moments(reference(times)).covariance, PERTURBATION**2 * np.eye(times.size)
        by_law, by_equal = (np.sqrt(np.diag(pseudo @ each @ pseudo.T)) for each in (law, equal))
        found.append(Design(name, times, by_law, by_equal))
    return found
