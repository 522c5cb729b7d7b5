"""`fit`: from a model and data to estimates; `evaluate`: the criterion for an optimiser or sampler of one's own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from daedal.data import Dataset, FrozenMapping
from daedal.disturbances import seed_number
from daedal.errors import EstimationError, SimulationError, counted, nearest, quoted
from daedal.estimation.choice import chosen_criterion
from daedal.estimation.coordinates import coordinates, freed
from daedal.estimation.criterion import Criterion, Evaluation, Objective, Problem
from daedal.estimation.experiments import datasets
from daedal.estimation.growth import refuse_growth, refuse_suspicious
from daedal.estimation.information import information
from daedal.estimation.result import Estimate, Fit, LocalMinimum
from daedal.estimation.search import Outcome, search
from daedal.estimation.starts import Grid, LatinHypercube, start_points
from daedal.estimation.uncertainty import Uncertainty, uncertainty
from daedal.estimation.verdicts import verdict
from daedal.models import Model, key_name
from daedal.simulation import Lanes
from daedal.simulation.trajectory import Status
from daedal.systems import System, build

REMEMBERED = 4  # problems whose objectives `evaluate` keeps


def fit(
    model: Model | System,
    data: Dataset | Sequence[Dataset],
    *,
    free: Sequence[Any] | Mapping[Any, Any] = (),
    local: Sequence[Any] | Mapping[Any, Any] = (),
    fixed: Mapping[Any, float] | Sequence[Mapping[Any, float]] | None = None,
    criterion: Criterion | None = None,
    starts: LatinHypercube | Grid | Sequence[Mapping[Any, float]] | None = None,
    rng: int | np.random.Generator | None = None,
    solver: Lanes | None = None,
) -> Fit:
    """Estimate parameters of a model from data.

    Parameters
    ----------
    model
        A Model or a System.
    data
        A Dataset, or a list of them: experiments with the same parameters.
    free
        Parameters to estimate: names, or a mapping name → Parameter (or another start).
    local
        Parameters that have a value of their own in each experiment.
    fixed
        Parameter → number in place of the model's; one mapping for all experiments, or a list with one for each.
    criterion
        `OutputError(...)` or `SimulationPEM(...)`; without it, one that suits the model is chosen and the reason noted.
    starts
        Where to start: `LatinHypercube(count)`, `Grid(...)` or a list of mappings; by default from the model's values,
        and from more points if the estimate ends at a bound.
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
    seed = seed_number(np.random.default_rng() if rng is None else rng)
    asked = _Asked(model, data, free, local, fixed, criterion, solver)
    objective, made, notes = _prepared("fit", asked, seed)
    problem = objective.problem
    points = start_points(starts, problem.coordinates, problem.seed)
    outcome = search(objective, points, refuse_suspicious)
    if outcome is None:
        raise _no_start(objective, points)
    return _result(outcome, made, notes)


@final
@dataclass(frozen=True, eq=False)
class Cost:
    """A criterion at one point, in the parameters themselves: value, gradient and Gauss–Newton curvature.

    `residuals` and `jacobian` are there when the criterion is a sum of squares: value = ½ Σ residuals². Where the model
    could not be simulated the value is infinite and `failure` says why.
    """

    names: tuple[str, ...]
    value: float
    gradient: np.ndarray
    curvature: np.ndarray
    residuals: np.ndarray | None
    jacobian: np.ndarray | None
    failure: str


def evaluate(
    model: Model | System,
    data: Dataset | Sequence[Dataset],
    *,
    free: Sequence[Any] | Mapping[Any, Any] = (),
    local: Sequence[Any] | Mapping[Any, Any] = (),
    fixed: Mapping[Any, float] | Sequence[Mapping[Any, float]] | None = None,
    criterion: Criterion | None = None,
    values: Mapping[Any, float] | None = None,
    rng: int | np.random.Generator = 0,
    solver: Lanes | None = None,
) -> Cost:
    """The criterion at given values, for an optimiser or sampler of one's own.

    Takes the arguments of `fit`, and `values` (name → number; the model's where left out). With the same seed the cost
    is the same smooth function in every call. Steps and compiled code of the last problems are kept, so calls that
    differ in `values` alone are cheap. With `whiten`, the filter is made from the residual at the model's values.
    """
    objective = _remembered(_Asked(model, data, free, local, fixed, criterion, solver), seed_number(rng))
    space = objective.problem.coordinates
    given = {key_name(key): value for key, value in (values or {}).items()}
    for name in given:
        if name not in space.names:
            raise EstimationError(
                f"'{name}' is not free, so it has no value to evaluate at.", nearest(name, space.names)
            )
    point = space.internal([float(given.get(item.name, item.start)) for item in space.items])
    return _natural(objective(point), objective)


def _natural(found: Evaluation, objective: Objective) -> Cost:
    """From φ to the parameters themselves."""
    space = objective.problem.coordinates
    by = 1.0 / space.rates(found.point)
    jacobian = None if found.jacobian is None else found.jacobian * by
    return Cost(
        space.names, found.value, found.gradient * by, found.curvature * np.outer(by, by), found.residuals, jacobian,
        found.failure,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Asked:
    """The arguments that `fit` and `evaluate` share, as they were given."""

    model: Any
    data: Any
    free: Any
    local: Any
    fixed: Any
    criterion: Any
    solver: Any

    def same(self, other: "_Asked") -> bool:
        """Whether both ask for the same; models and data are the same if they are the same objects."""
        mine, others = self._objects(), other._objects()
        choices = [repr((a.free, a.local, a.fixed, a.criterion, a.solver)) for a in (self, other)]
        alike = len(mine) == len(others) and all(a is b for a, b in zip(mine, others, strict=True))
        return alike and choices[0] == choices[1]

    def _objects(self) -> tuple[Any, ...]:
        return (self.model, *(self.data if isinstance(self.data, Sequence) else (self.data,)))


_kept: list[tuple[_Asked, int, Objective]] = []  # the last problems that were evaluated


def _remembered(asked: _Asked, seed: int) -> Objective:
    """The objective of this problem, prepared once."""
    for known, known_seed, objective in _kept:
        if known_seed == seed and known.same(asked):
            return objective
    objective, _, _ = _prepared("evaluate", asked, seed)
    first = objective(objective.problem.coordinates.start)
    objective = objective.sharpened(first) if first.ok else objective
    _kept.append((asked, seed, objective))
    del _kept[:-REMEMBERED]
    return objective


def _prepared(verb: str, asked: _Asked, seed: int) -> tuple[Objective, Criterion, tuple[str, ...]]:
    """Check everything and line it up; also the criterion, and the reason if it was chosen here."""
    sets = datasets(verb, asked.model, asked.data)
    model = asked.model.model if isinstance(asked.model, System) else asked.model
    if not isinstance(model, Model):
        raise EstimationError(
            f"{verb} takes a Model or a System, got {type(model).__name__}.", "Build one with Model(...)."
        )
    if not (asked.solver is None or isinstance(asked.solver, Lanes)):
        raise EstimationError(
            f"The solver of a fit must be Lanes, got {asked.solver!r}.", "Write solver=Lanes(step=0.01)."
        )
    declared = freed(model, asked.free, asked.local)
    space = coordinates(declared, sets, asked.free, asked.local, asked.fixed)
    problem = Problem(build(declared), sets, space, seed, asked.solver)
    criterion, reason = (asked.criterion, "") if asked.criterion is not None else chosen_criterion(problem)
    if not hasattr(criterion, "objective") or isinstance(criterion, type):
        raise EstimationError(
            f"The criterion must be OutputError(...) or SimulationPEM(...), got {criterion!r}.",
            "Write criterion=SimulationPEM(realizations=200).",
        )
    notes = (reason,) if reason else ()
    try:
        objective = criterion.objective(problem)
    except SimulationError:
        refuse_growth(problem)  # a better reason, where it is one
        raise
    return objective, criterion, (*notes, *_unused(declared, sets))


def _unused(model: Model, sets: Sequence[Dataset]) -> tuple[str, ...]:
    """What is measured or modelled but not compared."""
    notes = []
    extra = {name for one in sets for name in one.outputs} - set(model.outputs)
    if extra:
        notes.append(f"the data's {quoted(sorted(extra))} is no output of the model and was not used")
    missing = [name for name in model.outputs if not any(name in one.outputs for one in sets)]
    if missing:
        notes.append(f"the model's output {quoted(missing)} was not measured")
    return tuple(notes)


def _no_start(objective: Objective, points: Sequence[np.ndarray]) -> EstimationError:
    reason = objective(points[0]).failure
    where = "any of the starts" if len(points) > 1 else "the start values"
    return EstimationError(
        f"The cost is infinite at {where}: {reason}",
        "Look at the model there with simulate(...), and start from other values or bounds.",
    )


def _result(outcome: Outcome, criterion: Any, notes: tuple[str, ...]) -> Fit:
    objective, evaluation = outcome.objective, outcome.evaluation
    problem = objective.problem
    space = problem.coordinates
    interrupted, scatter = outcome.interrupted, None
    if not interrupted:
        try:
            scatter = objective.scatter(evaluation)
        except KeyboardInterrupt:
            interrupted = True
    errors = uncertainty(evaluation, space.bounds, scatter)
    rates = np.outer(space.rates(evaluation.point), space.rates(evaluation.point))
    estimates = _estimates(objective, evaluation, errors)
    found = information(objective, evaluation)
    shared = {item.parameter: estimates[item.name].value for item in space.items if item.experiment is None}
    return Fit(
        model=problem.system.model.with_parameters(shared),
        data=problem.data,
        criterion=criterion,
        estimates=FrozenMapping(estimates),
        coordinates=space,
        point=evaluation.point,
        curvature=evaluation.curvature,
        cov=errors.covariance * rates,
        monte_carlo_cov=errors.monte_carlo * rates,
        value=evaluation.value,
        samples=sum(int(np.isfinite(part.residual).sum()) for part in evaluation.parts),
        fit_percent=FrozenMapping(fit_percent(evaluation)),
        scales=FrozenMapping(objective.scales),
        filters=FrozenMapping(objective.filters),
        loglik=found.loglik,
        aic=found.aic,
        bic=found.bic,
        minima=tuple(_minimum(space, one, count) for one, count in outcome.minima),
        status=_status(outcome, interrupted),
        notes=(*notes, *objective.notes, *_remarks(outcome, estimates)),
        seed=problem.seed,
        evaluations=outcome.evaluations,
        solver=problem.solver,
    )


def _minimum(space: Any, found: Evaluation, count: int) -> LocalMinimum:
    values = map(float, space.natural(found.point))
    return LocalMinimum(found.value, FrozenMapping(dict(zip(space.names, values, strict=True))), count)


def _estimates(objective: Objective, evaluation: Evaluation, errors: Uncertainty) -> dict[str, Estimate]:
    space = objective.problem.coordinates
    theta, rates = space.natural(evaluation.point), space.rates(evaluation.point)
    with np.errstate(invalid="ignore"):
        deviations = [np.sqrt(np.diag(each)) for each in (errors.covariance, errors.monte_carlo)]
    estimates = {}
    for k, item in enumerate(space.items):
        stuck = bool(errors.at_bound[k])
        value = float(theta[k])
        estimates[item.name] = Estimate(
            name=item.name,
            value=value,
            std_error=float(deviations[0][k] * rates[k]),
            monte_carlo_error=float(deviations[1][k] * rates[k]),
            start=item.start,
            lower=item.lower,
            upper=item.upper,
            scale=item.scale,
            unit=item.unit,
            at_bound=stuck,
            verdict=verdict(item, value, float(deviations[0][k]), stuck),
        )
    return estimates


def fit_percent(evaluation: Evaluation) -> dict[str, float]:
    """Output → 100 (1 − |y − ŷ| / |y − mean y|) over the scored samples of all experiments."""
    result = {}
    for output in dict.fromkeys(part.series.output for part in evaluation.parts):
        parts = [part for part in evaluation.parts if part.series.output == output]
        scored = [np.isfinite(part.series.values) for part in parts]
        y = np.concatenate([part.series.values[known] for part, known in zip(parts, scored, strict=True)])
        predicted = np.concatenate([part.prediction[known] for part, known in zip(parts, scored, strict=True)])
        spread = float(np.linalg.norm(y - y.mean()))
        missed = float(np.linalg.norm(y - predicted))
        result[output] = 100.0 * (1.0 - missed / spread) if spread > 0.0 else float("nan")
    return result


def _status(outcome: Outcome, interrupted: bool) -> Status:
    count = counted(outcome.evaluations, "evaluation")
    if interrupted:
        return Status(False, f"Interrupted after {count}: these are the best values so far.", "Run it again to finish.")
    if outcome.converged:
        return Status(True, f"Converged after {count}.")
    return Status(
        False,
        f"Stopped after {count} without converging.",
        "Start from these values again, give bounds or a log scale, or free fewer parameters.",
    )


def _remarks(outcome: Outcome, estimates: Mapping[str, Estimate]) -> list[str]:
    notes = []
    stuck = [name for name, one in estimates.items() if one.at_bound]
    if stuck:
        tried = f"; {outcome.more_starts} more starts were tried" if outcome.more_starts else ""
        notes.append(f"at a bound: {', '.join(stuck)}; widen the bounds if they are not physical limits{tried}")
    lost = [name for name, one in estimates.items() if one.verdict == "not determined"]
    if lost:
        notes.append(f"not determined by these data: {', '.join(lost)}; identifiability(fit) shows the directions")
    if outcome.failures:
        notes.append(f"the model could not be simulated at {counted(outcome.failures, 'point')} on the way")
    return notes
