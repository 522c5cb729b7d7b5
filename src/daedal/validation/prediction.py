"""What a fit, or a model as it is, predicts for the outputs of data."""

from dataclasses import dataclass, replace

import numpy as np

from daedal.data import Dataset
from daedal.errors import EstimationError, SimulationError
from daedal.estimation import (
    AVERAGED,
    SINGLE,
    Again,
    Coordinates,
    Likelihood,
    LikelihoodObjective,
    objective_again,
    weighing_again,
)
from daedal.experiments import Accuracies, Experiment, Series, check_accuracies, match_experiments
from daedal.filtering import Point
from daedal.simulation import Lanes, Prediction, make_request, predictor
from daedal.systems import System


@dataclass(frozen=True, eq=False)
class Predicted:
    """One output of one experiment, (time,) at its samples.

    `spread` is the standard deviation over realizations of the disturbances (zero without), `noise` that of the
    measurement (NaN where the model declares none), `residual` what the criterion of a fit squares: in units of the
    accuracy, whitened where it whitens, NaN where nothing is scored.
    """

    experiment: Experiment
    series: Series
    mean: np.ndarray
    spread: np.ndarray
    noise: np.ndarray
    residual: np.ndarray
    simulated: np.ndarray | None = None  # without looking at samples, where `mean` looks at those before
    simulated_spread: np.ndarray | None = None


def fit_predictions(found: Again) -> list[Predicted]:
    """Of all outputs that the data of a fit, or others, have."""
    criterion, problem = found.fit.criterion, found.problem
    made = match_experiments(problem.system, problem.data, criterion.transient)
    check_accuracies(problem.system.model, made)
    if getattr(criterion, "segments", 1) > 1:
        return _through_objective(found, made)
    if isinstance(criterion, Likelihood):
        return _through_filter(found, made)
    realizations = getattr(criterion, "realizations", None)
    solver = problem.solver or Lanes(tolerance=AVERAGED if realizations else SINGLE)
    predicted = []
    for number, experiment in enumerate(made):
        values = found.values(number)
        purpose = f"{problem.purpose}, experiment {number}"
        prediction = _predict(experiment, values, solver, realizations, problem.seed, purpose)
        predicted += _weighed(found, experiment, values, prediction)
    return predicted


def model_predictions(system: System, data: tuple[Dataset, ...]) -> list[Predicted]:
    """Of a model with its own values, disturbances at zero."""
    made = match_experiments(system, data)
    check_accuracies(system.model, made)
    predicted = []
    for experiment in made:
        prediction = _predict(experiment, {}, Lanes(tolerance=SINGLE), None, 0, "compare")
        for series in experiment.series:
            mean = prediction.mean[series.row, series.places]
            noise = Accuracies(system.model).declared(series, {})
            predicted.append(Predicted(experiment, series, mean, np.zeros(mean.size), noise, series.values - mean))
    return predicted


def _predict(
    experiment: Experiment, values: dict[str, float], solver: Lanes, realizations: int | None, seed: int, purpose: str
) -> Prediction:
    request = make_request(experiment.system, experiment.drive)
    made = predictor(request, experiment.outputs, (), values, solver, realizations, seed, purpose)
    try:
        return made(values)
    except SimulationError:
        return made.without_failures(values)(values)  # as the fit leaves out the few that cannot be simulated


def _weighed(found: Again, experiment: Experiment, values: dict[str, float], prediction: Prediction) -> list[Predicted]:
    system = found.problem.system
    means = [prediction.mean[series.row, series.places] for series in experiment.series]
    rows = [(series.values - mean)[None] for series, mean in zip(experiment.series, means, strict=True)]
    residuals = weighing_again(found).apply(experiment, values, rows)
    return [
        Predicted(
            experiment=experiment,
            series=series,
            mean=mean,
            spread=np.sqrt(prediction.variance[series.row, series.places]),
            noise=Accuracies(system.model).declared(series, values),
            residual=residual[0],
        )
        for series, mean, residual in zip(experiment.series, means, residuals, strict=True)
    ]


def _through_objective(found: Again, made: tuple[Experiment, ...]) -> list[Predicted]:
    """Where one simulation would not keep its digits: the pieces that the criterion ties together."""
    complete = found if found.own else _all_free(found)
    evaluation = objective_again(complete)(complete.point)
    if not evaluation.ok:
        raise SimulationError(f"The fit cannot predict these data: {evaluation.failure}", "Take more segments.")
    return [
        Predicted(
            experiment=made[part.series.experiment],
            series=part.series,
            mean=part.prediction,
            spread=np.zeros(part.prediction.size),
            noise=Accuracies(found.problem.system.model).declared(part.series, found.values(part.series.experiment)),
            residual=part.residual,
        )
        for part in evaluation.parts
    ]


def _through_filter(found: Again, made: tuple[Experiment, ...]) -> list[Predicted]:
    """One step ahead, and simulated from the start."""
    objective = objective_again(found)
    assert isinstance(objective, LikelihoodObjective)
    evaluation = objective(found.point)
    if not evaluation.ok:
        raise EstimationError(f"The fit cannot predict these data: {evaluation.failure}", "Compare it with others.")
    predicted = []
    for part in evaluation.parts:
        number = part.series.experiment
        linear, values = objective.linear[number], found.values(number)
        point = Point(found.problem.system.model, values, ())
        ahead, simulated = linear.outlook(linear.stochastic.at(point), point)
        readings = linear.readings
        output = readings.outputs.index(part.series.output)
        there = readings.places[:, output] >= 0
        columns = [np.full(part.residual.size, np.nan) for _ in range(4)]
        for column, source in zip(columns, (ahead.mean, ahead.std, simulated.mean, simulated.std), strict=True):
            column[readings.places[there, output]] = source[there, output]
        noise = Accuracies(found.problem.system.model).declared(part.series, values)
        predicted.append(
            Predicted(made[number], part.series, columns[0], columns[1], noise, part.residual, columns[2], columns[3])
        )
    return predicted


def _all_free(found: Again) -> Again:
    """The shared estimates free beside the local ones, because an objective must have something to move."""
    fit, space = found.fit, found.problem.coordinates
    shared = [k for k, item in enumerate(fit.coordinates.items) if item.experiment is None]
    items = [fit.coordinates.holding((), fit.point).items[k] for k in shared]
    everything = Coordinates((*items, *space.items), space.fixed)
    point = np.concatenate([fit.point[shared], found.point])
    return replace(found, problem=replace(found.problem, coordinates=everything), point=point)
