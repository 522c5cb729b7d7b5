"""What a criterion is: the extension point of estimation.

A `Criterion` is a choice, a small frozen dataclass such as `SimulationPEM(realizations=400)`. Given a `Problem` (model,
data and free parameters) it makes an `Objective`: value, gradient and curvature at a point φ. An objective may have a
next stage: once minimised, what was found there refines it (units of outputs, filters, steps of the simulation). What
else it can do, it declares in one record, its `Capabilities`, so that nobody asks what class it is.

One that has something of its data in itself, such as their moments, says so by `holds_data = True`: studies that make
other data then refuse it before any work.

A criterion of one's own needs no more than that: `tests/estimation/test_own_criterion.py` has one in 40 lines, which
`fit`, `evaluate`, `compare`, `resid`, `profile`, `identifiability`, `save` and `load` take like any other.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from typing import Any, Protocol, final, runtime_checkable

import numpy as np

from daedal.errors import EstimationError, show
from daedal.estimation.problem import Autoregression, Problem
from daedal.experiments import Experiment, Series
from daedal.filtering import InitialCondition


@final
@dataclass(frozen=True, eq=False)
class Part:
    """One series in units of its accuracy, (time,); NaN where nothing is scored.

    The residual moves by −slopes, (coordinate, time), when predictions move, and by −residual · rates when its standard
    deviation does; `rates` are d log(deviation)/dφ, (coordinate,), or (coordinate, time) where that depends on what is
    predicted. What the criterion estimated itself in this experiment, such as its start, has taken the directions
    `opened`, (number, time), out of the residuals: their projection on these is zero.
    """

    series: Series
    residual: np.ndarray
    slopes: np.ndarray
    rates: np.ndarray
    deviation: float | np.ndarray
    prediction: np.ndarray  # in the units of the output
    opened: np.ndarray | None = None


@final
@dataclass(frozen=True, eq=False)
class Forecast:
    """What an objective predicts for one series, (time,) at its samples; `residual` as in its `Part`.

    `spread` is the standard deviation of what disturbances add to the mean, over `realizations` of them where the mean
    is one; None where disturbances are ignored. With `simulated`, mean and spread from the start on, `mean` and
    `spread` look one step ahead from the samples before; `further` has those of other numbers of steps.
    """

    series: Series
    mean: np.ndarray
    residual: np.ndarray
    spread: np.ndarray | None = None
    realizations: int | None = None
    simulated: tuple[np.ndarray, np.ndarray] | None = None
    further: Mapping[int, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)


@final
@dataclass(frozen=True, eq=False)
class Evaluation:
    """Value, gradient and Gauss–Newton curvature at one point φ; a value that is not finite carries the reason.

    `residuals` and `jacobian` belong to criteria that are sums of squares: value = ½ Σ residuals².
    """

    point: np.ndarray
    value: float
    gradient: np.ndarray
    curvature: np.ndarray
    residuals: np.ndarray | None = None
    jacobian: np.ndarray | None = None
    parts: tuple[Part, ...] = ()
    failure: str = ""
    noise: np.ndarray | None = None  # what the Monte-Carlo error of the slopes adds to the curvature
    scatter: np.ndarray | None = None  # covariance of the gradient by that error, where noise does not tell it
    monte_carlo_error: float = 0.0  # standard deviation of the value over the random numbers of a simulation
    rough: bool = False  # whether values jump by that error from point to point: the lowest is only the luckiest
    loglik: float | None = None  # where the criterion is a likelihood: its curvature is then the information
    scores: np.ndarray | None = None  # covariance of the gradient, where the criterion knows it
    stale: bool = False  # whether the curvature is that of another point: only the gradient is exact
    inner: int = 0  # numbers that were estimated inside the criterion, beside φ
    work: int = 1  # simulations that it took, where it searches itself
    prior: "PriorPart | None" = None  # what priors have added to all of this

    def __post_init__(self) -> None:
        if not (self.failure or np.isfinite(self.value)):  # a criterion of a user's own need not say it
            object.__setattr__(self, "failure", "The cost is not finite there.")

    @property
    def ok(self) -> bool:
        """Whether the model could be simulated at this point."""
        return not self.failure


@final
@dataclass(frozen=True, eq=False)
class PriorPart:
    """What priors have added to an evaluation: that of the criterion alone, their weight λ, and λ P, the curvature."""

    data: Evaluation
    weight: float
    curvature: np.ndarray


@final
@dataclass(frozen=True, eq=False)
class Expected:
    """What a model with disturbances makes of data, if it is right.

    The covariance of the gradient over such data, from so many realizations; output → mean square of its residuals by
    the one that is expected.
    """

    scores: np.ndarray
    realizations: int
    ratios: Mapping[str, float]


def fail_at(point: np.ndarray, reason: str) -> Evaluation:
    """The evaluation of a point at which the model cannot be simulated."""
    size = point.size
    return Evaluation(point, np.inf, np.full(size, np.nan), np.full((size, size), np.nan), failure=reason)


@final
@dataclass(frozen=True, eq=False)
class Capabilities:
    """What an objective can do or say beyond its four members; what is left out it cannot, or there is none.

    Attributes
    ----------
    notes
        What to know before the search.
    remarks
        What to know of its minimum.
    scales, filters
        Output → unit of its residuals where no accuracy is declared; output → autoregression of its residual that
        whitens it. Kept in the `Fit`.
    restore
        The last stage, given the scales and filters of a finished fit; otherwise all stages are gone through again.
    resume
        The objective that a finished fit ended with, given what it averaged over, and how many, and its estimate, where
        the criterion chooses among several; otherwise all stages are gone through again.
    finish
        The last stage, as far as one evaluation shows it, for `evaluate`; otherwise the first one serves.
    step_error
        What finer steps of the simulation would change at a point, relative to the largest values.
    choose_steps
        With steps that suit a point; itself where the present ones do.
    forgive
        Without those random numbers for which the model cannot be simulated at a point; raises where that are many.
    conclude
        The evaluation where the search ended with the curvature that errors follow from, where the search goes by
        another.
    scatter
        Covariance of the gradient over the random numbers of the simulation.
    expect
        Covariance of the gradient over data that the model would make, and how large their residuals would be; None
        where it cannot be told.
    predict
        Forecasts of all series at a point; otherwise the predictions of its evaluation are taken, disturbances ignored.
    foresee
        The same, and as many samples ahead as are given, from the samples before.
    simulates
        Whether it simulates from the start on although its criterion has a `condition`.
    averaged
        What it averages over, such as "particles", and how many of them; the Monte-Carlo error falls with their root.
    steps
        How it advances in time, in words, and what shorter steps would change where these were chosen, relative to the
        largest values; None where that is not estimated.
    white
        The experiments, where the residuals are white noise of the declared accuracies: half the sum of their squares
        is then a likelihood.
    """

    notes: tuple[str, ...] = ()
    remarks: Callable[[Evaluation], tuple[str, ...]] | None = None
    scales: Mapping[str, float] = field(default_factory=dict)
    filters: Mapping[str, Autoregression] = field(default_factory=dict)
    restore: Callable[[Mapping[str, float], Mapping[str, Autoregression]], "Objective"] | None = None
    resume: Callable[[tuple[str, int] | None, np.ndarray], "Objective"] | None = None
    finish: Callable[[Evaluation], "Objective"] | None = None
    step_error: Callable[[np.ndarray], float] | None = None
    choose_steps: Callable[[np.ndarray], "Objective"] | None = None
    forgive: Callable[[np.ndarray], "Objective"] | None = None
    conclude: Callable[[Evaluation], Evaluation] | None = None
    scatter: Callable[[Evaluation], np.ndarray] | None = None
    expect: Callable[[Evaluation], Expected | None] | None = None
    predict: Callable[[np.ndarray], tuple[Forecast, ...]] | None = None
    foresee: Callable[[np.ndarray, Sequence[int]], tuple[Forecast, ...]] | None = None
    simulates: bool = False
    averaged: tuple[str, int] | None = None
    steps: tuple[str, float | None] = ("", None)
    white: tuple[Experiment, ...] = ()


class Objective(Protocol):
    """A function to minimise, which may be refined where it has been.

    A problem may have no coordinates at all: `compare` and `resid` hold every parameter, and ask for predictions alone.
    """

    @property
    def problem(self) -> Problem: ...

    @property
    def capabilities(self) -> Capabilities: ...

    def __call__(self, point: np.ndarray, /) -> Evaluation:
        """Value, gradient and curvature, with the parts that they are made of; or `fail_at(point, reason)`."""
        ...

    def refine(self, evaluation: Evaluation, /) -> "Objective | None":
        """The next stage, given the minimum of this one; None when this was the last."""
        ...


@runtime_checkable
class Criterion(Protocol):
    """A choice of what to minimise: a frozen dataclass, which is saved by its fields."""

    @property
    def condition(self) -> InitialCondition | None:
        """What is known of the start, by criteria that filter the samples from it on; None where they simulate."""
        ...

    def objective(self, problem: Problem, /) -> Objective:
        """Line up data and model; what cannot work is said here, before any work."""
        ...


def check_criterion(given: Any) -> Criterion:
    """A criterion as it was given, or a sentence about what it lacks."""
    if isinstance(given, Criterion) and not isinstance(given, type):
        return given
    name = given.__name__ if isinstance(given, type) else show(given)
    raise EstimationError(
        f"The criterion must be one such as Likelihood(...), OutputError(...) or SimulationPEM(...), got {name}.",
        f"Write criterion={name}()."
        if isinstance(given, type)
        else "Write criterion=OutputError(); one of your own has `objective(problem)` and `condition`.",
    )


def list_outputs(parts: Iterable[Part]) -> list[str]:
    """The outputs that the parts belong to, each once."""
    return list(dict.fromkeys(part.series.output for part in parts))


def count_samples(parts: Iterable[Part]) -> int:
    """How many samples the parts score."""
    return sum(int(np.isfinite(part.residual).sum()) for part in parts)


def describe(choice: Any) -> str:
    """A criterion, or another frozen dataclass, as it would be typed, without what is left at its default."""
    return _describe(choice, lambda value, default: value != default)


def describe_for_reading(choice: Any) -> str:
    """The same without what is left to the fit (None), as nobody typed it: notes say what the fit made of it."""
    return _describe(choice, lambda value, default: value is not None and value != default)


def _describe(choice: Any, is_shown: Callable[[Any, Any], bool]) -> str:
    if not is_dataclass(choice):
        return repr(choice)
    fields = type(choice).__dataclass_fields__
    values = {name: getattr(choice, name) for name in fields}
    shown = {name: value for name, value in values.items() if is_shown(value, fields[name].default)}
    return f"{type(choice).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"
