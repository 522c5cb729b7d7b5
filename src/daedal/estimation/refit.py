"""A finished fit once more: lined up with its own data, or with others.

On its own data values, weights and random numbers are as they were, and steps are chosen at the estimate. On others the
shared estimates are held, local parameters are estimated again, and the random numbers are fresh; a likelihood also
estimates where the data begin.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from daedal.data import Dataset
from daedal.errors import EstimationError, quoted
from daedal.estimation.criteria import Likelihood, MeanObjective, Objective
from daedal.estimation.problem import Coordinate, Coordinates, Problem, Weighing, experiment_labels
from daedal.estimation.result import Fit
from daedal.estimation.search import search
from daedal.experiments import Accuracies
from daedal.systems import build


@dataclass(frozen=True, eq=False)
class Again:
    """A fit and data: the problem they make, and the point φ that the fit has for it."""

    fit: Fit
    problem: Problem
    point: np.ndarray
    own: bool  # whether the data are those of the fit
    notes: tuple[str, ...] = ()

    def values(self, experiment: int) -> dict[str, float]:
        """Parameter → number in one experiment."""
        return self.problem.coordinates.values(self.point, experiment)


def again(fit: Fit, data: Sequence[Dataset] | None = None, seed: int | None = None) -> Again:
    """Line up a fit with data; without any, or with those it was made from, with its own."""
    system = build(fit.model)
    if data is None or tuple(data) == fit.data:
        space = fit.coordinates.holding((), fit.point)
        problem = Problem(system, fit.data, space, fit.seed if seed is None else seed, fit.solver)
        return Again(fit, problem, fit.point, own=True)
    space = _on_others(fit, data)
    numbers = fit.seed if seed is None else seed
    problem = Problem(system, tuple(data), space, numbers, fit.solver, purpose="compare")
    found = _with_local_estimates(fit, problem) if space.items else Again(fit, problem, np.zeros(0), own=False)
    if isinstance(fit.criterion, Likelihood):
        note = "where these data begin is estimated from them; what the model holds at its start does not count here"
        return replace(found, notes=(*found.notes, note))
    return found


def objective_again(found: Again) -> Objective:
    """The criterion in its last stage, with the weights and filters of the fit."""
    criterion = found.fit.criterion
    if isinstance(criterion, Likelihood) and not found.own:
        return criterion.elsewhere(found.problem)
    objective = criterion.objective(found.problem)
    if isinstance(objective, MeanObjective):
        weighed = replace(objective, weighing=weighing_again(found))
        return weighed if weighed(found.point).ok else weighed.forgiving(found.point)
    evaluation = objective(found.point)
    while evaluation.ok and (following := objective.refined(evaluation)) is not None:
        objective, evaluation = following, following(found.point)
    return objective


def weighing_again(found: Again) -> Weighing:
    """How the fit weighs residuals in the end."""
    accuracies = Accuracies(found.fit.model, found.problem.coordinates.parameters, found.fit.scales)
    return Weighing(accuracies, found.fit.filters)


def _with_local_estimates(fit: Fit, problem: Problem) -> Again:
    start = Again(fit, problem, problem.coordinates.start, own=False)
    objective = objective_again(start)
    outcome = search(objective, [start.point])
    if outcome is None:
        raise EstimationError(
            f"The local parameters {quoted(problem.coordinates.parameters)} could not be estimated on these data: "
            f"{objective(start.point).failure}",
            "Look at the model there with simulate(...).",
        )
    note = f"estimated again on these data: {', '.join(problem.coordinates.names)}; the others are those of the fit"
    return replace(start, point=outcome.evaluation.point, notes=(note,))


def _on_others(fit: Fit, data: Sequence[Dataset]) -> Coordinates:
    """Local parameters free in each of the data, which start from the mean over the experiments of the fit."""
    labels = experiment_labels(data)
    own = fit.coordinates
    local = [item for item in own.items if item.experiment is not None]
    theta = dict(zip(own.names, own.natural(fit.point), strict=True))
    items = []
    for number, label in enumerate(labels):
        for parameter in dict.fromkeys(item.parameter for item in local):
            mine = [item for item in local if item.parameter == parameter]
            start = _mean(mine[0], [theta[item.name] for item in mine])
            items.append(replace(mine[0], name=f"{parameter}[{label}]", experiment=number, start=start))
    return Coordinates(tuple(items), tuple(_fixed(fit, label) for label in labels))


def _mean(item: Coordinate, values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))) if item.logarithmic else np.mean(values))


def _fixed(fit: Fit, label: str) -> Mapping[str, float]:
    """What was fixed in the experiment of this name, or in all alike."""
    by_label = dict(zip(experiment_labels(fit.data), fit.coordinates.fixed, strict=True))
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
