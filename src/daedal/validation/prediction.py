"""What a fit, or a model as it is, predicts for the outputs of data, beside how accurately these are measured."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daedal.data import Dataset
from daedal.estimation import Coordinates, FittedProblem, Forecast, Likelihood, OutputError, Problem, predict_outputs
from daedal.experiments import Accuracies, Series
from daedal.systems import System


@dataclass(frozen=True, eq=False)
class Predicted:
    """A forecast of one output of one experiment, and the data it is about.

    `noise` is the standard deviation of the measurement, (time,), NaN where the model declares none.
    """

    forecast: Forecast
    data: Dataset
    noise: np.ndarray

    @property
    def series(self) -> Series:
        """The samples."""
        return self.forecast.series


def predict_fit(fitted: FittedProblem, steps: Sequence[int] = ()) -> list[Predicted]:
    """Of all outputs that the data of a fit, or others, have; so many steps ahead, too."""
    return _list_predicted(fitted.problem, fitted.point, predict_outputs(fitted, steps))


def predict_model(system: System, data: tuple[Dataset, ...], steps: Sequence[int] = ()) -> list[Predicted]:
    """Of a model with its own values, disturbances at zero; with steps, as its likelihood predicts."""
    nothing = np.zeros(0)
    problem = Problem(system, data, Coordinates((), ({},) * len(data)), 0, None, purpose="compare", elsewhere=True)
    foresee = Likelihood().objective(problem).capabilities.foresee if steps else None
    if foresee is not None:
        return _list_predicted(problem, nothing, foresee(nothing, steps))
    predict = OutputError().objective(problem).capabilities.predict
    assert predict is not None  # output error simulates
    return _list_predicted(problem, nothing, predict(nothing))


def _list_predicted(problem: Problem, point: np.ndarray, forecasts: tuple[Forecast, ...]) -> list[Predicted]:
    accuracies, predicted = Accuracies(problem.system.model), []
    for forecast in forecasts:
        number = forecast.series.experiment
        noise = accuracies.find_declared(forecast.series, problem.coordinates.values(point, number), forecast.mean)
        predicted.append(Predicted(forecast, problem.data[number], noise))
    return predicted
