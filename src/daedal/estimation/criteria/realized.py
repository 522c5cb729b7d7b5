"""What single realizations tell of the gradient of a sum of squares: its Monte-Carlo error, and that of the data.

With ψ = W ∂ȳ the slopes, z the residuals and y_m one of M realizations, the gradient has from each of them the share
Σ z W ∂y_m − Σ ψ W y_m over M: their covariance, by M, is that of its Monte-Carlo error.

Data are one more realization with measurement noise, so if the model is right, the gradient varies over data by

    S = Cov_m(Σ ψ W y_m) + Σ (Wᵀψ)² σ²,

whatever disturbances do to an output, at some times more than at others, and however few samples are independent: which
residuals of one record can hardly tell. Whether they agree is seen by their mean square, for which the realizations and
σ expect a number, too. Where σ is not declared, it is what the mean square of the residuals leaves for it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from daedal.estimation.criteria.criterion import Evaluation, Expected, Part
from daedal.estimation.criteria.simulations import Simulations
from daedal.estimation.problem import Weighing
from daedal.experiments import Experiment
from daedal.simulation import Predictor

FEWEST = 20  # realizations that tell a covariance


@dataclass(frozen=True, eq=False)
class Realized:
    """The simulations of all experiments at one point, and how their residuals are weighed there."""

    experiments: tuple[Experiment, ...]
    simulations: Simulations
    weighing: Weighing
    evaluation: Evaluation

    def scatter(self) -> np.ndarray:
        """Covariance of the gradient over the random numbers; NaN where a single realization does not show it."""
        size = self.evaluation.point.size
        total = np.zeros((size, size))
        for number, simulation, values in self._list_random():
            shares = simulation.project(values, self._weigh(number, values, moving=True))
            if shares.shape[1] < 2:
                return np.full((size, size), np.nan)
            total += np.atleast_2d(np.cov(shares)) / shares.shape[1]
        return total

    def expect(self) -> Expected | None:
        """Covariance of the gradient over data that the model would make; None where too few realizations tell it."""
        size = self.evaluation.point.size
        total, count = np.zeros((size, size)), np.inf
        for number, simulation, values in self._list_random():
            shares = simulation.project(values, self._weigh(number, values, moving=False))
            count = min(count, shares.shape[1])
            if count < FEWEST:
                return None
            total += np.atleast_2d(np.cov(shares))
        if not np.isfinite(count):
            return None
        powers = self._compare_powers()
        for part in self.evaluation.parts:
            filtered = self.weighing.unfilter(part.series, np.nan_to_num(part.slopes))
            total += powers[part.series.output].noise * filtered @ filtered.T
        return Expected(total, int(count), {name: one.ratio for name, one in powers.items()})

    def _list_random(self) -> Iterator[tuple[int, Predictor, dict[str, float]]]:
        """Experiments that are simulated with random disturbances."""
        for number, (simulation, values) in enumerate(self.simulations.list_values(self.evaluation.point)):
            if simulation.realizations is not None:
                yield number, simulation, values

    def _weigh(self, number: int, values: Mapping[str, float], *, moving: bool) -> np.ndarray:
        """Weights of outputs and slopes in shares, (coordinate, row of the simulation, time); slopes only if moving."""
        experiment, coordinates = self.experiments[number], self.simulations.coordinates
        count, outputs = len(coordinates.parameters), len(experiment.outputs)
        rates = coordinates.convert_slopes(np.eye(count), self.evaluation.point, number)  # (coordinate, parameter)
        parts = [part for part in self.evaluation.parts if part.series.experiment == number]
        rows = [np.concatenate([part.residual[None], part.slopes]) for part in parts]
        back = self.weighing.transpose(experiment, values, rows, [part.prediction for part in parts])
        weights = np.zeros((len(rates), (1 + count) * outputs, experiment.drive.times.size))
        for part, weighed in zip(parts, back, strict=True):
            np.add.at(weights[:, part.series.row].T, part.series.places, weighed[1:].T)
            for k, parameter in zip(*np.nonzero(rates), strict=True) if moving else ():
                row = (1 + parameter) * outputs + part.series.row
                np.subtract.at(weights[k, row], part.series.places, weighed[0] * rates[k, parameter])
        return weights

    def _compare_powers(self) -> "dict[str, _Powers]":
        """Of each output: mean squares as measured and as expected, in units of the accuracy, before any filter."""
        gathered: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        for number, (simulation, values) in enumerate(self.simulations.list_values(self.evaluation.point)):
            prediction = simulation(values)
            for part in self.evaluation.parts:
                if part.series.experiment == number:
                    spread = prediction.variance[part.series.row, part.series.places]
                    gathered.setdefault(part.series.output, []).append(_square(part, spread))
        means = {
            name: np.mean(np.concatenate([np.stack(pair) for pair in pairs], axis=1), axis=1)
            for name, pairs in gathered.items()
        }
        scales = self.weighing.accuracies.scales
        return {
            name: _Powers(measured, spread, max(measured - spread, 0.0) if name in scales else 1.0)
            for name, (measured, spread) in means.items()
        }


@dataclass(frozen=True)
class _Powers:
    """Mean squares: of the residuals, of what disturbances add to an output, of its measurement noise."""

    measured: float
    spread: float
    noise: float

    @property
    def ratio(self) -> float:
        expected = self.spread + self.noise
        return self.measured / expected if expected > 0.0 else np.inf


def _square(part: Part, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    known = np.isfinite(part.residual)
    deviation = np.broadcast_to(part.deviation, known.shape)[known]
    errors = (part.series.values - part.prediction)[known] / deviation
    return errors**2, spread[known] / deviation**2
