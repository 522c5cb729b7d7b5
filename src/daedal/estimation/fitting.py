"""`fit`: from a model and data to estimates with their uncertainty."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from time import process_time
from typing import Any

import numpy as np

from daedal.data import Dataset, FrozenMapping
from daedal.disturbances import make_seed
from daedal.errors import EstimationError, counted, interruptible
from daedal.estimation.agreement import list_disagreements
from daedal.estimation.arguments import Arguments, prepare_objective
from daedal.estimation.criteria import Criterion, Evaluation, Expected, Objective, count_samples, list_outputs
from daedal.estimation.doubts import list_doubts
from daedal.estimation.intervals import judge_by_intervals
from daedal.estimation.model_error import Examined, widen_errors
from daedal.estimation.problem import (
    Coordinates,
    Grid,
    LatinHypercube,
    add_delay_starts,
    follow_point,
    list_long_delays,
    list_starts,
)
from daedal.estimation.result import Attempt, Course, Estimate, Fit, LocalMinimum, Making
from daedal.estimation.search import (
    NoStartError,
    Outcome,
    Trial,
    Uncertainty,
    assess_information,
    assess_uncertainty,
    evaluate_raw,
    judge_estimate,
    list_priors,
    refuse_suspicious,
    search,
)
from daedal.estimation.vanished import Vanished, settle_vanished
from daedal.experiments import find_declared_outputs
from daedal.linear import one_thread
from daedal.models import Model
from daedal.priors import Prior
from daedal.progress import Progress
from daedal.records import list_versions
from daedal.simulation import Lanes, Status
from daedal.symbolic import Expression, read_expression
from daedal.systems import System

# Nothing is configured here: notes are warnings, which Python shows on standard error where a program sets up nothing.
LOGGER = logging.getLogger("daedal")
FAR_OFF = 3.0  # root mean square of residuals, in units of the declared accuracy, that is worth a word
SURPRISING = 3.0  # standard deviations from the centre of a prior that are worth a word


@interruptible
@one_thread
def fit(
    model: Model | System,
    data: Dataset | Sequence[Dataset],
    *,
    free: Sequence[Any] | Mapping[Any, Any] = (),
    local: Sequence[Any] | Mapping[Any, Any] = (),
    fixed: Mapping[Any, Any] | Sequence[Mapping[Any, Any]] | None = None,
    criterion: Criterion | None = None,
    starts: LatinHypercube | Grid | Sequence[Mapping[Any, float]] | Fit | None = None,
    rng: int | np.random.Generator | None = None,
    solver: Lanes | None = None,
) -> Fit:
    """Estimate parameters of a model from data.

    Notes, and a sentence where it will take long, go to the logger "daedal" before the work:
    `logging.getLogger("daedal").setLevel("ERROR")` silences them.

    Parameters
    ----------
    model
        A Model or a System.
    data
        A Dataset, or a list of them: experiments with the same parameters.
    free
        Parameters to estimate: names, or a mapping name → Parameter (or another start, which keeps bounds and prior).
    local
        Parameters that have a value of their own in each experiment.
    fixed
        Parameter → number in place of the model's, or a formula, which follows the free parameters in it; one mapping
        for all experiments, or a list with one for each.
    criterion
        `Likelihood(...)`, `OutputError(...)`, `SimulationPEM(...)`, or `MeanVariance(...)` for measurements known by
        their moments; without it, one that suits the model is chosen and the reason noted.
    starts
        Where to start: `LatinHypercube(count)`, `Grid(...)` or a list of mappings; by default from the model's values,
        from several values of free delays, and from more points if the estimate ends at a bound. A `Fit`, to go on
        where that one ended, also with other experiments, bounds or free parameters.
    rng
        Seed or Generator of the realizations; the seed used is in the result.
    solver
        `Lanes(...)`, to give steps, method or tolerance.

    Examples
    --------
    >>> from daedal import Dataset, Model, Parameter, der, symbols
    >>> x, k = symbols("x k")
    >>> rate, outputs = {"rate": der(x) == -k * x}, {"x": x}
    >>> decay = Model(
    ...     name="decay", equations=rate, unknowns=[x], outputs=outputs, parameters={k: 2.0}, initial={x: 1.0}
    ... )
    >>> data = Dataset([0.0, 0.5, 1.0, 1.5], outputs={"x": [1.0, 0.61, 0.36, 0.23]})
    >>> round(fit(decay, data, free=["k"])["k"].value, 2)
    1.0
    """
    began, seed = process_time(), make_seed(np.random.default_rng() if rng is None else rng)
    arguments = Arguments(model, data, free, local, fixed, criterion, solver)
    with Progress("fitting:") as progress:
        progress.stage("preparing model and data")
        objective, chosen, notes = prepare_objective("fit", arguments, seed)
    problem = objective.problem
    if isinstance(starts, Fit):
        points = [follow_point(problem.coordinates, starts.coordinates, starts.point)]
    else:
        points = list_starts(starts, problem.coordinates, problem.seed)
    if starts is None:
        points = add_delay_starts(problem, points)
    for note in (*notes, *objective.capabilities.notes):
        # Before the work, which may be long; marked, as whoever prints the table has them there too.
        LOGGER.warning("%s: %s", problem.system.model.name, note, extra={"in_table": True})
    try:
        outcome = search(objective, points, refuse_suspicious)
    except NoStartError as reason:
        raise _explain_failure(str(reason), len(points)) from None
    given = starts is not None and not isinstance(starts, (LatinHypercube, Grid))
    start = points[0] if given else problem.coordinates.start
    try:
        found = _make_fit(outcome, chosen, notes, start)
    except KeyboardInterrupt:
        if outcome.interrupted:  # it is the second
            raise
        found = _make_fit(replace(outcome, interrupted=True), chosen, notes, start)
    return replace(found, making=_tell_making(outcome.objective, process_time() - began))


def _tell_making(objective: Objective, seconds: float) -> Making:
    steps, error = objective.capabilities.steps
    date = datetime.now(UTC).isoformat(timespec="seconds")
    return Making(date, seconds, steps, error, FrozenMapping(list_versions()))


def _explain_failure(reason: str, starts: int) -> EstimationError:
    where = "any of the starts" if starts > 1 else "the start values"
    return EstimationError(
        f"The cost is infinite at {where}: {reason}",
        "Look at the model there with simulate(...), and start from other values or bounds.",
    )


def _make_fit(outcome: Outcome, criterion: Criterion, notes: tuple[str, ...], start: np.ndarray) -> Fit:
    settled = settle_vanished(outcome)
    outcome = replace(outcome, evaluation=settled.evaluation)
    objective, evaluation = outcome.objective, outcome.evaluation
    problem = objective.problem
    space = problem.coordinates
    scatter, interrupted = _find_scatter(outcome)
    said = objective.capabilities
    raw = evaluate_raw(objective, evaluation.point)
    expected, apart = (None, []) if interrupted else _expect(outcome, raw)
    concluded = evaluation if interrupted or said.conclude is None else said.conclude(evaluation)
    errors = assess_uncertainty(concluded, space, scatter, said.filters, raw, expected, settled.gone)
    if outcome.notes and evaluation.rough:  # random numbers that the next stage found too few do not tell errors
        errors = replace(errors, covariance=errors.covariance + np.diag(np.full(len(errors.covariance), np.inf)))
    notes = (*notes, *apart)
    if not interrupted:
        examined = Examined(criterion, objective, evaluation, np.flatnonzero(~errors.at_bound), said.filters, raw)
        errors, lacking = widen_errors(errors, examined)
        notes = (*notes, *lacking)
    rates = np.outer(space.rates(evaluation.point), space.rates(evaluation.point))
    with np.errstate(invalid="ignore"):
        covariances = errors.covariance * rates, errors.monte_carlo * rates
    estimates = _list_estimates(objective, settled, errors, start)
    information = assess_information(objective, evaluation)
    shared = {item.parameter: estimates[item.name].value for item in space.items if item.experiment is None}
    found = Fit(
        model=problem.system.model.with_parameters({**_find_fixed(space), **shared}),
        data=problem.data,
        criterion=criterion,
        estimates=FrozenMapping(estimates),
        coordinates=space,
        point=evaluation.point,
        curvature=concluded.curvature,
        cov=covariances[0],
        monte_carlo_cov=covariances[1],
        value=evaluation.value,
        samples=count_samples(evaluation.parts),
        fit_percent=FrozenMapping(compute_fit_percent(evaluation)),
        scales=FrozenMapping(said.scales),
        filters=FrozenMapping(said.filters),
        loglik=information.loglik,
        aic=information.aic,
        bic=information.bic,
        minima=tuple(_make_minimum(space, one, count) for one, count in outcome.minima),
        status=_describe_end(outcome, interrupted),
        notes=(),
        seed=problem.seed,
        evaluations=outcome.evaluations,
        solver=problem.solver,
        attempts=tuple(_make_attempt(space, trial) for trial in outcome.trials),
        course=_make_course(space, outcome),
        averaged=said.averaged,
    )
    judged = replace(found, estimates=FrozenMapping(judge_by_intervals(found)))
    return replace(judged, notes=(*notes, *said.notes, *_list_remarks(outcome, judged, explained=expected is not None)))


def _make_course(space: Coordinates, outcome: Outcome) -> Course:
    stages, values, points = zip(*outcome.course, strict=True) if outcome.course else ((), (), ())
    params = np.array([space.natural(point) for point in points], dtype=float).reshape(len(points), len(space.names))
    return Course(np.array(stages, dtype=int), np.array(values, dtype=float), params)


def _find_scatter(outcome: Outcome) -> tuple[np.ndarray | None, bool]:
    """Of the gradient over random numbers, None when interrupted; and whether anything was."""
    scatter = outcome.objective.capabilities.scatter
    if outcome.interrupted:
        return None, True
    try:
        size = outcome.evaluation.point.size
        return np.zeros((size, size)) if scatter is None else scatter(outcome.evaluation), False
    except KeyboardInterrupt:
        return None, True


def _expect(outcome: Outcome, raw: Evaluation | None) -> tuple[Expected | None, list[str]]:
    """What the ensemble expects of data, as long as these agree with it; where not, that in words."""
    expect = outcome.objective.capabilities.expect
    expected = None if expect is None else expect(outcome.evaluation)
    if expected is None:
        return None, []
    apart = list_disagreements(outcome.evaluation if raw is None else raw, expected)
    notes = [
        f"the residuals of {output} are {ratio:.2g} times as large as disturbances and measurement noise of the model "
        "make them: declare or free other sizes; errors are those that the residuals tell"
        for output, ratio in apart.items()
    ]
    return None if apart else expected, notes


def _find_fixed(space: Coordinates) -> dict[str, float | Expression]:
    """What was fixed at the same value, or by the same formula, in all experiments."""
    first, *others = space.list_fixed()
    alike = {name: value for name, value in first.items() if all(one.get(name) == value for one in others)}
    return {name: read_expression(value) if isinstance(value, str) else value for name, value in alike.items()}


def _note_far_off(outcome: Outcome) -> list[str]:
    """Residuals far beyond the accuracy that the model declares, where nothing else could explain them."""
    model, evaluation = outcome.objective.problem.system.model, outcome.evaluation
    declared = find_declared_outputs(model, outcome.objective.problem.data)
    undeclared = outcome.objective.capabilities.scales or not declared
    if model.disturbances or undeclared or evaluation.scores is not None:
        return []
    sizes = [part.residual[np.isfinite(part.residual)] for part in evaluation.parts]
    ratio = float(np.sqrt(np.mean(np.concatenate(sizes) ** 2)))
    if ratio <= FAR_OFF:
        return []
    return [
        f"the residuals are {ratio:.2g} times the declared measurement noise, and errors follow from them: declare "
        "another, or look for what the model lacks (resid)"
    ]


def _note_surprises(model: Model, space: Coordinates, point: np.ndarray) -> list[str]:
    """Estimates that their priors held to be improbable."""
    triples = zip(space.names, list_priors(model, space), space.natural(point).tolist(), strict=True)
    apart = {name: abs(prior.deviate(value)[0]) for name, prior, value in triples if prior is not None}
    return [
        f"the data contradict the prior of {name}: the estimate lies {count:.2g} of its standard deviations off"
        for name, count in apart.items()
        if count > SURPRISING
    ]


def _make_minimum(space: Coordinates, minimum: Evaluation, count: int) -> LocalMinimum:
    return LocalMinimum(minimum.value, _name_values(space, minimum.point), count)


def _make_attempt(space: Coordinates, trial: Trial) -> Attempt:
    start, end = _name_values(space, trial.start), trial.minimum
    if end is None:
        return Attempt(start, None, FrozenMapping({}), False, trial.evaluations, trial.failure)
    at = end.evaluation
    return Attempt(start, at.value, _name_values(space, at.point), end.converged, trial.evaluations)


def _name_values(space: Coordinates, point: np.ndarray) -> FrozenMapping[str, float]:
    return FrozenMapping(dict(zip(space.names, map(float, space.natural(point)), strict=True)))


def _list_estimates(
    objective: Objective, settled: Vanished, errors: Uncertainty, start: np.ndarray
) -> dict[str, Estimate]:
    space, evaluation = objective.problem.coordinates, settled.evaluation
    theta, rates, begun = space.natural(evaluation.point), space.rates(evaluation.point), space.natural(start)
    with np.errstate(invalid="ignore"):
        deviations = [np.sqrt(np.diag(matrix)) for matrix in (errors.covariance, errors.monte_carlo)]
        scaled = [deviation * rates for deviation in deviations]
    described = objective.problem.system.model.parameters
    priors, estimates = list_priors(objective.problem.system.model, space), {}
    for k, item in enumerate(space.items):
        value = float(theta[k])
        from_data = _compute_share(priors[k], value, float(scaled[0][k]))
        stuck = bool(errors.at_bound[k])
        estimates[item.name] = Estimate(
            name=item.name,
            value=value,
            std_error=float(scaled[0][k]),
            monte_carlo_error=float(scaled[1][k]),
            start=float(begun[k]),
            lower=item.lower,
            upper=item.upper,
            scale=item.scale,
            unit=item.unit,
            at_bound=stuck,
            verdict=judge_estimate(item, value, float(deviations[0][k]), stuck, from_data),
            from_data=from_data,
            freedom=float(errors.freedom[k]) if np.isfinite(errors.freedom[k]) else None,
            pull=float(evaluation.gradient[k]) if stuck else 0.0,
            power=settled.powers.get(k, 1.0),
            description=described[item.parameter].description,
        )
    return estimates


def _compute_share(prior: Prior | None, value: float, error: float) -> float | None:
    """How much of the variance of a prior the data have removed; None where there is none, or no error is known."""
    if prior is None or np.isnan(error):
        return None
    return max(1.0 - (error / prior.spread(value)) ** 2, 0.0)


def compute_fit_percent(evaluation: Evaluation) -> dict[str, float]:
    """Output → 100 (1 − |y − ŷ| / |y − mean y|) over the scored samples of all experiments."""
    percents = {}
    for output in list_outputs(evaluation.parts):
        parts = [part for part in evaluation.parts if part.series.output == output]
        scored = [np.isfinite(part.series.values) for part in parts]
        y = np.concatenate([part.series.values[known] for part, known in zip(parts, scored, strict=True)])
        predicted = np.concatenate([part.prediction[known] for part, known in zip(parts, scored, strict=True)])
        percents[output] = measure_fit(y, predicted)
    return percents


def measure_fit(y: np.ndarray, predicted: np.ndarray) -> float:
    """100 (1 − |y − ŷ| / |y − mean y|) over all samples; not a number where y is constant or there are none."""
    spread = float(np.linalg.norm(y - y.mean())) if y.size else 0.0
    return 100.0 * (1.0 - float(np.linalg.norm(y - predicted)) / spread) if spread > 0.0 else float("nan")


def _describe_end(outcome: Outcome, interrupted: bool) -> Status:
    count = counted(outcome.evaluations, "evaluation")
    if interrupted:
        why = "".join(f" {note[0].upper()}{note[1:]}" for note in outcome.notes)
        sentence = f"Interrupted after {count}: these are the best values so far.{why}"
        return Status(False, sentence, "Run it again to finish.", interrupted=True)
    if outcome.notes:
        return Status(
            False, f"Stopped after {count}: {outcome.notes[0]}", "The estimates are those of the stage before."
        )
    if outcome.converged:
        return Status(True, f"Converged after {count}.")
    if outcome.failures:
        return Status(
            False,
            f"Stopped after {count} without converging; at {outcome.failures} the model could not be simulated.",
            "Give bounds that keep the search where it can, other starts, or a model that goes further.",
        )
    if outcome.obstacle is not None:
        where, remedy = outcome.obstacle.value
        return Status(False, f"Stopped after {count} {where}.", remedy)
    return Status(
        False,
        f"Stopped after {count} without converging.",
        "Go on with starts=fit, give bounds or a log scale, or free fewer parameters.",
    )


def _list_remarks(outcome: Outcome, fit: Fit, *, explained: bool) -> list[str]:
    notes, estimates = [], fit.estimates
    stuck = [name for name, one in estimates.items() if one.at_bound]
    if stuck:
        tried = f"; {outcome.more_starts} more starts were tried" if outcome.more_starts else ""
        notes.append(f"at a bound: {', '.join(stuck)}; widen the bounds if they are not physical limits{tried}")
    notes += list_doubts(outcome, fit, explained=explained)
    poor = [name for name, percent in fit.fit_percent.items() if percent <= 0.0]
    if poor:
        notes.append(f"no better than a constant: {', '.join(poor)}; check units, initial values, transient and starts")
    notes += _note_far_off(outcome)
    problem = outcome.objective.problem
    beyond = list(list_long_delays(problem, outcome.evaluation.point))
    notes += beyond or [f"at the start {note}" for note in list_long_delays(problem, problem.coordinates.start)]
    remarks = outcome.objective.capabilities.remarks
    notes += () if remarks is None else remarks(outcome.evaluation)
    notes += _note_surprises(problem.system.model, problem.coordinates, outcome.evaluation.point)
    believed = [name for name, one in estimates.items() if one.verdict == "known from its prior"]
    if believed:
        notes.append(f"known from the prior rather than from these data: {', '.join(believed)}")
    lost = [name for name, one in estimates.items() if one.verdict == "not determined"]
    if lost:
        notes.append(f"not determined by these data: {', '.join(lost)}; identifiability shows the directions")
    if outcome.failures:
        notes.append(f"the model could not be simulated at {counted(outcome.failures, 'point')} on the way")
    return notes
