"""A finished fit met with data once more: its own, or others.

On its own data values, weights and random numbers are as they were, and steps are chosen at the estimate. On others the
shared estimates are held, local parameters are estimated again, and the random numbers are fresh; a criterion that
filters also estimates where the data begin, one that simulates goes on from the fit where the data do
(`daedal.estimation.continuation`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from daedal.data import Dataset
from daedal.errors import EstimationError, SimulationError, quoted
from daedal.estimation.continuation import (
    continue_data,
    describe_continued,
    describe_reused,
    find_continued,
    list_local_starts,
)
from daedal.estimation.criteria import Forecast, Objective, describe
from daedal.estimation.problem import Coordinate, Coordinates, Problem, label_experiments
from daedal.estimation.result import Fit
from daedal.estimation.search import NoStartError, add_priors, forgive_failures, search
from daedal.systems import build

HELD = "local values are those of the fit there, which predict better than any estimated on these data"
BEGINS = "where these data begin is estimated from them; what the model holds at its start does not count here"


@dataclass(frozen=True, eq=False)
class FittedProblem:
    """A fit and data: the problem they make, and the point φ that the fit has for it.

    Local values are those of the experiments `continued` of the fit, one for each of the data; without, estimated.
    """

    fit: Fit
    problem: Problem
    point: np.ndarray
    notes: tuple[str, ...] = ()
    continued: tuple[int, ...] = ()

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
    if fit.criterion.condition is not None and not fit.criterion.objective(problem).capabilities.simulates:
        fitted = FittedProblem(fit, problem, space.start)
        fitted = _hold_unseen(fitted) if space.items else fitted
        fitted = _estimate_locals(fitted) if fitted.problem.coordinates.items else fitted
        return replace(fitted, notes=(*fitted.notes, BEGINS))
    continued = replace(problem, data=continue_data(fit, data))
    if not space.items:
        return FittedProblem(fit, continued, space.start, tuple(_describe_beginning(fit, data)))
    return _choose_beginning(FittedProblem(fit, problem, space.start), continued)


def _hold_unseen(fitted: FittedProblem) -> FittedProblem:
    """Without local parameters that say where data begin, which a filter estimates in their place."""
    space = fitted.problem.coordinates
    evaluation = _restore(fitted)(fitted.point)
    unseen = (np.diag(evaluation.curvature) == 0.0) & (evaluation.gradient == 0.0)
    if not evaluation.ok or not unseen.any():
        return fitted
    held = space.hold([name for name, one in zip(space.names, unseen, strict=True) if one], fitted.point)
    return replace(fitted, problem=replace(fitted.problem, coordinates=held), point=fitted.point[~unseen])


def _describe_beginning(fit: Fit, data: Sequence[Dataset]) -> list[str]:
    anew = [one for one in data if find_continued(fit, one) is None]
    return [*describe_continued(fit, data), *describe_reused(fit, anew)]


def _choose_beginning(fitted: FittedProblem, continued: Problem) -> FittedProblem:
    """Local values as estimated on these data, or, if that is better, as they were in the experiments continued."""
    fit, data, space = fitted.fit, fitted.problem.data, fitted.problem.coordinates
    estimated = _estimate_locals(fitted)
    notes = (*estimated.notes, *describe_reused(fit, data, space.parameters))
    places = [find_continued(fit, one) for one in data]
    if any(place is None for place in places):
        return replace(estimated, notes=notes)
    places = [place for place in places if place is not None]
    held = [fit.coordinates.values(fit.point, place) for place in places]
    point = space.internal([held[item.experiment or 0][item.parameter] for item in space.items])
    going_on = FittedProblem(fit, continued, point, (*describe_continued(fit, data), HELD), tuple(places))
    costs = [_restore(one)(one.point).value for one in (estimated, going_on)]
    return going_on if costs[1] < costs[0] else replace(estimated, notes=notes)


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
    resume = objective.capabilities.resume
    if resume is not None:
        objective = resume(fit.averaged, fitted.point)
    evaluation = objective(fitted.point)
    while evaluation.ok and (following := objective.refine(evaluation)) is not None:
        objective, evaluation = following, following(fitted.point)
    return add_priors(objective, fitted.point)


def predict_outputs(fitted: FittedProblem, steps: Sequence[int] = ()) -> tuple[Forecast, ...]:
    """What the criterion of the fit predicts for every series of the data, all parameters held; so many steps ahead."""
    space, nothing = fitted.problem.coordinates, np.zeros(0)
    held = replace(fitted.problem, coordinates=space.hold(space.names, fitted.point))
    objective = _restore(replace(fitted, problem=held, point=nothing))
    if steps and (foresee := objective.capabilities.foresee) is not None:
        return foresee(nothing, steps)
    if steps:
        raise EstimationError(
            f"{describe(fitted.fit.criterion)} simulates and takes nothing from the samples before, so it predicts no "
            f"{steps[0]} {'step' if steps[0] == 1 else 'steps'} ahead.",
            "Leave out horizon, or fit with Likelihood().",
        )
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
    starts = list_local_starts(fitted.fit, problem.coordinates, problem.data, problem.seed)
    try:
        outcome = search(objective, starts)
    except NoStartError as reason:
        raise EstimationError(
            f"The local parameters {quoted(problem.coordinates.parameters)} could not be estimated on these data: "
            f"{reason}",
            "Look at the model there with simulate(...).",
        ) from None
    note = f"estimated again on these data: {', '.join(problem.coordinates.names)}; the others are those of the fit"
    best = f"the best of {len(outcome.minima)} minima that {len(starts)} starts ended in"
    notes = (note, best) if len(outcome.minima) > 1 else (note,)
    return replace(fitted, point=outcome.evaluation.point, notes=notes)


def free_estimates(fitted: FittedProblem) -> FittedProblem:
    """Other data than those of the fit, with its shared estimates free there beside local ones; shared ones come first.

    For slopes: how the errors of the estimates show in these data.
    """
    fit, own = fitted.fit, fitted.fit.coordinates
    theta = own.natural(fit.point)
    shared = [
        replace(item, start=float(value))
        for item, value in zip(own.items, theta, strict=True)
        if item.experiment is None
    ]
    places = [_find_alike(fit, label) for label in label_experiments(fitted.problem.data)]
    following = tuple(own.following[place] for place in places) if own.following else ()
    freed = {item.parameter for item in shared} | {name for one in following for name in one}
    here = fitted.problem.coordinates
    fixed = tuple({name: value for name, value in one.items() if name not in freed} for one in here.fixed)
    space = Coordinates((*shared, *here.items), fixed, following)
    point = np.concatenate([space.start[: len(shared)], fitted.point])
    return replace(fitted, problem=replace(fitted.problem, coordinates=space), point=point)


def _free_locals(fit: Fit, data: Sequence[Dataset]) -> Coordinates:
    """Local parameters free in each of the data, which start from the mean over the experiments of the fit."""
    labels = label_experiments(data)
    own = fit.coordinates
    places = [_find_alike(fit, label) for label in labels]
    held = own.hold([item.name for item in own.items if item.experiment is None], fit.point) if own.following else own
    local = [item for item in own.items if item.experiment is not None]
    theta = dict(zip(own.names, own.natural(fit.point), strict=True))
    items = []
    for number, label in enumerate(labels):
        for parameter in dict.fromkeys(item.parameter for item in local):
            mine = [item for item in local if item.parameter == parameter]
            start = _average(mine[0], [theta[item.name] for item in mine])
            items.append(replace(mine[0], name=f"{parameter}[{label}]", experiment=number, start=start))
    following = tuple(held.following[place] for place in places) if held.following else ()
    return Coordinates(tuple(items), tuple(held.fixed[place] for place in places), following)


def _average(item: Coordinate, values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))) if item.logarithmic else np.mean(values))


def _find_alike(fit: Fit, label: str) -> int:
    """The experiment of this name, or the first where the same is fixed in all."""
    by_label = dict(zip(label_experiments(fit.data), fit.coordinates.list_fixed(), strict=True))
    if label in by_label:
        return list(by_label).index(label)
    first, *others = by_label.values()
    differing = [name for name in first if any(other.get(name) != first[name] for other in others)]
    if differing:
        raise EstimationError(
            f"The fit fixes {quoted(differing)} at another value in each experiment, and has none called '{label}'.",
            f"Name the data after one of {quoted(by_label)}, or compare fit.model.with_parameters({{...}}) instead.",
        )
    return 0
