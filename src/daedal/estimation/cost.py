"""`evaluate`: the criterion at given values, for an optimiser or sampler of one's own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from daedal.data import Dataset
from daedal.disturbances import make_seed
from daedal.errors import interruptible
from daedal.estimation.arguments import Arguments, prepare_objective
from daedal.estimation.criteria import Criterion, Evaluation, Objective
from daedal.estimation.problem import read_point
from daedal.estimation.search import assess_information, choose_steps, forgive_failures, sum_log_densities
from daedal.linear import one_thread
from daedal.models import Model, as_name
from daedal.simulation import Lanes
from daedal.systems import System
from daedal.tables import align_columns, write_html

LOOSE_STEPS = 1e-4  # error of the steps, relative to the largest values, beyond which new ones are chosen
REMEMBERED = 4  # problems whose objectives are kept
NEIGHBOURHOOD = 0.1  # of a parameter, or of its logarithm: steps are looked at once there
PLACES = 8  # points whose steps are remembered, of each problem


@final
@dataclass(frozen=True, eq=False)
class Cost:
    """A criterion at one point, in the parameters themselves: value, gradient and Gauss–Newton curvature.

    Attributes
    ----------
    value
        What a fit minimises; priors of free parameters have their part in it. Where values at the start of a linear
        model are open, what takes out the pull of their flat prior refers to the values of the model: a fit lets it
        refer to the estimate. `loglik` and `log_posterior` contain none of it.
    residuals, jacobian
        There when the criterion is a sum of squares, value = ½ Σ residuals²; what priors add comes last.
    loglik
        The logarithm of the density of the scored samples given the parameters, constants and all; None where the
        criterion is not a likelihood. By `Likelihood` that of the samples beyond those that tell a diffuse start. By
        `OutputError`, on models without disturbances, that of white normal noise; where an accuracy is not declared,
        the largest over it; with `whiten`, given the filter and the samples that it begins with. By
        `Likelihood(method="moments")` a quasi-likelihood, of normal samples with the mean and covariance of the model.
    monte_carlo_error
        Standard deviation of `loglik` over the random numbers of a simulation, zero where nothing is drawn, NaN where
        the model could not be simulated.
    log_posterior
        `loglik` plus the logarithm of the prior densities of the free parameters, not divided by the probability of
        the data. Densities are those of the parameters themselves: a fit maximises that of log θ for a LogNormal prior.
    notes
        What to know of the criterion there: what a fit says before its search, and with `Likelihood()` of a nonlinear
        model that Laplace's approximation was taken without the judgement that ends a fit.
    failure
        Why the model could not be simulated; then the value is infinite, and the logarithms are −∞.

    Examples
    --------
    >>> from daedal import Dataset, Model, der, evaluate, symbols
    >>> x, k = symbols("x k")
    >>> rate, outputs = {"rate": der(x) == -k * x}, {"x": x}
    >>> decay = Model(name="x", equations=rate, unknowns=[x], outputs=outputs, parameters={k: 2.0}, initial={x: 1.0})
    >>> data = Dataset([0.0, 0.5, 1.0, 1.5], outputs={"x": [1.0, 0.61, 0.36, 0.23]})
    >>> cost = evaluate(decay, data, free=["k"], values={"k": 1.2})
    >>> bool(abs(cost.value - (cost.residuals**2).sum() / 2) < 1e-12)
    True
    """

    names: tuple[str, ...]
    value: float
    gradient: np.ndarray
    curvature: np.ndarray
    residuals: np.ndarray | None
    jacobian: np.ndarray | None
    failure: str
    loglik: float | None = None
    log_posterior: float | None = None
    monte_carlo_error: float = 0.0
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self._list_lines())

    def _list_lines(self) -> list[str]:
        """The value, what belongs to it, and the gradient."""
        if self.failure:
            return ["criterion: the model could not be simulated", f"  {self.failure}"]
        error = f" ± {self.monte_carlo_error:.2g}" if self.monte_carlo_error > 0.0 else ""
        told = [] if self.loglik is None else [f"log likelihood {self.loglik:.6g}{error}"]
        told += [] if self.residuals is None else [f"half the sum of {self.residuals.size} squares"]
        lines = [f"criterion {self.value:.6g}", *([f"  {', '.join(told)}"] if told else [])]
        if self.names:
            rows = [[name, f"{slope:.5g}"] for name, slope in zip(self.names, self.gradient, strict=True)]
            lines += align_columns([["", "gradient"], *rows])
        return [*lines, *(f"  {note}" for note in self.notes)]

    def _repr_html_(self) -> str:
        return write_html(self._list_lines())

    __repr__ = __str__


@interruptible
@one_thread
def evaluate(
    model: Model | System,
    data: Dataset | Sequence[Dataset],
    *,
    free: Sequence[Any] | Mapping[Any, Any] = (),
    values: Mapping[Any, float] | None = None,
    local: Sequence[Any] | Mapping[Any, Any] = (),
    fixed: Mapping[Any, Any] | Sequence[Mapping[Any, Any]] | None = None,
    criterion: Criterion | None = None,
    rng: int | np.random.Generator = 0,
    solver: Lanes | None = None,
) -> Cost:
    """The criterion at given values, for an optimiser or sampler of one's own.

    Takes the arguments of `fit`, and `values` (name → number; the model's where left out), also of parameters that are
    not free, which they then fix. With the same seed the cost is the same smooth function in every call. Steps and
    compiled code of the last problems are kept, so calls that differ in `values` of what is free are cheap; steps are
    looked at once in a neighbourhood of a tenth of the values, and where they would be too long others are chosen for
    it. With `whiten`, the filter is made from the residual
    at the model's values; so is the weight of priors in the value where the accuracy of the data is not declared.

    Examples
    --------
    >>> from daedal import Dataset, Model, der, symbols
    >>> x, k = symbols("x k")
    >>> rate, outputs = {"rate": der(x) == -k * x}, {"x": x}
    >>> decay = Model(name="x", equations=rate, unknowns=[x], outputs=outputs, parameters={k: 2.0}, initial={x: 1.0})
    >>> data = Dataset([0.0, 0.5, 1.0, 1.5], outputs={"x": [1.0, 0.61, 0.36, 0.23]})
    >>> cost = evaluate(decay, data, free=["k"], values={"k": 1.2})
    >>> round(cost.value, 4), cost.gradient.round(3)
    (0.0661, array([0.587]))
    """
    given, fixed = _hold_values(model, {} if values is None else values, (free, local), fixed)
    prepared, first = _recall(Arguments(model, data, free, local, fixed, criterion, solver), make_seed(rng))
    space = prepared.objective.problem.coordinates
    point = read_point(space, given, "values")
    begun = first if np.array_equal(point, space.start) else None
    return _convert(_evaluate(prepared, point, begun), prepared.objective)


def _hold_values(model: Any, values: Any, free: tuple[Any, Any], fixed: Any) -> tuple[Any, Any]:
    """Values of what is free, and with what is fixed those of parameters that are not."""
    known = model.model if isinstance(model, System) else model
    mappings = isinstance(values, Mapping) and (fixed is None or isinstance(fixed, Mapping))
    if not (mappings and isinstance(known, Model) and all(isinstance(part, (list, tuple, Mapping)) for part in free)):
        return values, fixed  # which are refused, or fixed for each experiment
    named = {as_name(key): value for key, value in values.items()}
    moving = {as_name(name) for part in free for name in part}
    held = {name: value for name, value in named.items() if name in known.parameters and name not in moving}
    left = {name: value for name, value in named.items() if name not in held}
    return left, {**(fixed or {}), **held} if held else fixed


@dataclass(eq=False)
class _Prepared:
    """A problem that was evaluated; points where its steps were looked at, each with the objective that serves there.

    Steps that suit a point suit its neighbourhood too.
    """

    arguments: Arguments
    seed: int
    objective: Objective
    places: tuple[tuple[np.ndarray, Objective], ...] = ()

    def find_near(self, point: np.ndarray) -> Objective | None:
        """The objective for the neighbourhood of a point, if steps were looked at there."""
        logarithmic = np.array([item.logarithmic for item in self.objective.problem.coordinates.items], dtype=bool)
        distances = [_measure_distance(point, centre, logarithmic) for centre, _ in self.places]
        if not distances or min(distances) > NEIGHBOURHOOD:
            return None
        return self.places[int(np.argmin(distances))][1]

    def keep(self, point: np.ndarray, objective: Objective) -> None:
        """Remember what serves at a point, instead of what was remembered first."""
        self.places = (*self.places, (point, objective))[-PLACES:]  # another thread may be looking at the old ones


def _measure_distance(point: np.ndarray, centre: np.ndarray, logarithmic: np.ndarray) -> float:
    """The largest difference relative to the smaller of both values: none is near another by being small."""
    sizes = np.where(logarithmic, 1.0, np.minimum(np.abs(point), np.abs(centre)))
    difference = np.abs(point - centre)
    return float(np.max(np.divide(difference, sizes, out=np.where(difference > 0.0, np.inf, 0.0), where=sizes > 0.0)))


_kept: list[_Prepared] = []  # the last problems that were evaluated


def _recall(arguments: Arguments, seed: int) -> tuple[_Prepared, Evaluation | None]:
    """This problem, prepared once; the first time with its evaluation at the start, if nothing followed from that."""
    for known in _kept:
        if known.seed == seed and known.arguments.is_same(arguments):
            return known, None
    objective, _, _ = prepare_objective("evaluate", arguments, seed)
    start = objective.problem.coordinates.start
    first = objective(start)
    if not first.ok:
        objective = forgive_failures(objective, start)
        first = objective(start)
    finish = objective.capabilities.finish
    begun: Evaluation | None = first
    if first.ok and finish is not None:
        objective, begun = finish(first), None
    prepared = _Prepared(arguments, seed, objective)
    _kept.append(prepared)
    del _kept[:-REMEMBERED]
    return prepared, begun


def _evaluate(prepared: _Prepared, point: np.ndarray, begun: Evaluation | None = None) -> Evaluation:
    """The criterion at a point that steps may not have been chosen for; `begun` is what its objective gives there."""
    known = prepared.find_near(point)
    objective = prepared.objective if known is None else known
    evaluation = objective(point) if begun is None or known is not None else begun
    if known is not None and evaluation.ok:
        return evaluation
    step_error = objective.capabilities.step_error
    if step_error is None:  # its failures have other reasons than steps that are too long
        return evaluation
    finer = objective
    if not evaluation.ok or not step_error(point) <= LOOSE_STEPS:
        finer = choose_steps(objective, point)
    if finer is not objective:
        evaluation = finer(point)
    if evaluation.ok:
        prepared.keep(point, finer)
    return evaluation


def _convert(evaluation: Evaluation, objective: Objective) -> Cost:
    """From φ to the parameters themselves."""
    space = objective.problem.coordinates
    by = 1.0 / space.rates(evaluation.point)
    model = objective.problem.system.model
    loglik = assess_information(objective, evaluation).loglik if evaluation.ok else -np.inf
    return Cost(
        names=space.names,
        value=evaluation.value,
        gradient=evaluation.gradient * by,
        curvature=evaluation.curvature * np.outer(by, by),
        residuals=evaluation.residuals,
        jacobian=None if evaluation.jacobian is None else evaluation.jacobian * by,
        failure=evaluation.failure,
        loglik=loglik,
        monte_carlo_error=evaluation.monte_carlo_error if evaluation.ok else np.nan,
        log_posterior=None if loglik is None else loglik + sum_log_densities(model, space, evaluation.point),
        notes=objective.capabilities.notes,
    )
