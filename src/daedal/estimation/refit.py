"""A finished fit met with data once more: its own, or others.

On its own data values, weights and random numbers are as they were, and steps are chosen at the estimate. On others the
shared estimates are held, local parameters are estimated again, and the random numbers are fresh; a criterion that
filters also estimates where the data begin.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from daedal.data import Dataset
from daedal.errors import EstimationError, SimulationError, quoted
from daedal.estimation.criteria import Forecast, Objective
from daedal.estimation.problem import Coordinate, Coordinates, Problem, label_experiments
from daedal.estimation.result import Fit
from daedal.estimation.search import add_priors, forgive_failures, search
from daedal.systems import build

BEGINS = "where these data begin is estimated from them; what the model holds at its start does not count here"


@dataclass(frozen=True, eq=False)
class FittedProblem:
    """A fit and data: the problem they make, and the point φ that the fit has for it."""

    fit: Fit
    problem: Problem
    point: np.ndarray
    notes: tuple[str, ...] = ()

    @property
    def own(self) -> bool:
        """Whether the data are those of the fit."""
        return not self.problem.elsewhere


def match_fit(fit: Fit, data: Sequence[Dataset] | None = None, seed: int | None = None) -> FittedProblem:
    """Line up a fit with data; without any, or with those it was made from, with its own."""
    system, numbers = build(fit.model), fit.seed if seed is None else seed
    if data is None or tuple(data) == fit.data:
        space = fit.coordinates.hold((), fit.point)
        return FittedProblem(fit, Problem(system, fit.data, space, numbers, fit.solver), fit.point)
    space = _free_locals(fit, data)
    problem = Problem(system, tuple(data), space, numbers, fit.solver, purpose="compare", elsewhere=True)
    fitted = FittedProblem(fit, problem, space.start)
    if space.items:
        fitted = _estimate_locals(fitted)
    return fitted if fit.criterion.condition is None else replace(fitted, notes=(*fitted.notes, BEGINS))


def restore_objective(fitted: FittedProblem) -> Objective:
    """The criterion in its last stage, with the weights and filters of the fit."""
    objective = _restore(fitted)
    return objective if objective(fitted.point).ok else forgive_failures(objective, fitted.point)


def _restore(fitted: FittedProblem) -> Objective:
    fit = fitted.fit
    objective = fit.criterion.objective(fitted.problem)
    restore = objective.capabilities.restore
    if restore is not None:
        return add_priors(restore(fit.scales, fit.filters), fitted.point)
    evaluation = objective(fitted.point)
    while evaluation.ok and (following := objective.refine(evaluation)) is not None:
        objective, evaluation = following, following(fitted.point)
    return add_priors(objective, fitted.point)


def predict_outputs(fitted: FittedProblem) -> tuple[Forecast, ...]:
    """What the criterion of the fit predicts for every series of the data, all parameters held."""
    space, nothing = fitted.problem.coordinates, np.zeros(0)
    held = replace(fitted.problem, coordinates=space.hold(space.names, fitted.point))
    objective = _restore(replace(fitted, problem=held, point=nothing))
    if (predict := objective.capabilities.predict) is not None:
        return predict(nothing)
    evaluation = objective(nothing)
    if not evaluation.ok:
        raise SimulationError(
            f"The fit cannot predict these data: {evaluation.failure}", "Look at the model there with simulate(...)."
        )
    return tuple(Forecast(part.series, part.prediction, part.residual) for part in evaluation.parts)


def _estimate_locals(fitted: FittedProblem) -> FittedProblem:
    problem, objective = fitted.problem, _restore(fitted)
    outcome = search(objective, [fitted.point])
    if outcome is None:
        raise EstimationError(
            f"The local parameters {quoted(problem.coordinates.parameters)} could not be estimated on these data: "
            f"{objective(fitted.point).failure}",
            "Look at the model there with simulate(...).",
        )
    note = f"estimated again on these data: {', '.join(problem.coordinates.names)}; the others are those of the fit"
    return replace(fitted, point=outcome.evaluation.point, notes=(note,))


def _free_locals(fit: Fit, data: Sequence[Dataset]) -> Coordinates:
    """Local parameters free in each of the data, which start from the mean over the experiments of the fit."""
    labels = label_experiments(data)
    own = fit.coordinates
    local = [item for item in own.items if item.experiment is not None]
    theta = dict(zip(own.names, own.natural(fit.point), strict=True))
    items = []
    for number, label in enumerate(labels):
        for parameter in dict.fromkeys(item.parameter for item in local):
            mine = [item for item in local if item.parameter == parameter]
            start = _average(mine[0], [theta[item.name] for item in mine])
            items.append(replace(mine[0], name=f"{parameter}[{label}]", experiment=number, start=start))
    return Coordinates(tuple(items), tuple(_find_fixed(fit, label) for label in labels))


def _average(item: Coordinate, values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))) if item.logarithmic else np.mean(values))


def _find_fixed(fit: Fit, label: str) -> Mapping[str, float]:
    """What was fixed in the experiment of this name, or in all alike."""
    by_label = dict(zip(label_experiments(fit.data), fit.coordinates.fixed, strict=True))
    if label in by_label:
        return by_label[label]
    first, *others = by_label.values()
    differing = [name for name in first if any(other.get(name) != first[name] for other in others)]
    if differing:
        raise EstimationError(
            f"The fit fixes {quoted(differing)} at another value in each experiment, and has none called '{label}'.",
            f"Name the data after one of {quoted(by_label)}, or compare fit.model.with_parameters({{...}}) instead.",
        )
    return first
