"""What a criterion is: the extension point of estimation.

A `Criterion` is a choice, a small frozen value such as `SimulationPEM(realizations=400)`. Given a `Problem` (model,
data and free parameters) it makes an `Objective`: value, gradient and curvature at a point φ. An objective may have a
next stage: once minimised, what was found there sharpens it (units of outputs, filters, steps of the simulation).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any, Protocol, final

import numpy as np

from daedal.estimation.problem import Autoregression, Problem
from daedal.experiments import Experiment, Series


@final
@dataclass(frozen=True, eq=False)
class Part:
    """One series in units of its accuracy, (time,); NaN where nothing is scored.

    The residual moves by −slopes, (coordinate, time), when predictions move, and by −residual · rates when its standard
    deviation does; `rates` are d log(deviation)/dφ.
    """

    series: Series
    residual: np.ndarray
    slopes: np.ndarray
    rates: np.ndarray
    deviation: float | np.ndarray
    prediction: np.ndarray  # in the units of the output


@final
@dataclass(frozen=True, eq=False)
class Evaluation:
    """Value, gradient and Gauss–Newton curvature at one point φ; an infinite value carries the reason.

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
    loglik: float | None = None  # where the criterion is a likelihood: its curvature is then the information
    scores: np.ndarray | None = None  # covariance of the gradient, where the criterion knows it
    stale: bool = False  # whether the curvature is that of another point: only the gradient is exact
    inner: int = 0  # numbers that were estimated inside the criterion, beside φ

    @property
    def ok(self) -> bool:
        """Whether the model could be simulated at this point."""
        return not self.failure


def failed(point: np.ndarray, reason: str) -> Evaluation:
    """The evaluation of a point at which the model cannot be simulated."""
    size = point.size
    return Evaluation(point, np.inf, np.full(size, np.nan), np.full((size, size), np.nan), failure=reason)


class Objective(Protocol):
    """A function to minimise, which may be refined where it has been."""

    @property
    def problem(self) -> Problem: ...

    @property
    def experiments(self) -> tuple[Experiment, ...]: ...

    @property
    def sum_of_squares(self) -> bool: ...

    @property
    def notes(self) -> tuple[str, ...]: ...

    @property
    def scales(self) -> Mapping[str, float]:
        """Output without declared accuracy → the unit of its residuals."""
        ...

    @property
    def filters(self) -> Mapping[str, Autoregression]:
        """Output → the autoregression of its residual that whitens it, if any."""
        ...

    def __call__(self, point: np.ndarray, /) -> Evaluation: ...

    def refined(self, evaluation: Evaluation, /) -> "Objective | None":
        """The next stage, given the minimum of this one; None when this was the last."""
        ...

    def planned(self, point: np.ndarray, /) -> "Objective":
        """With steps of the simulation that suit this point; itself where the present ones do."""
        ...

    def step_error(self, point: np.ndarray, /) -> float:
        """What finer steps would change at this point, relative to the largest values."""
        ...

    def forgiving(self, point: np.ndarray, /) -> "Objective":
        """Without those random numbers for which the model cannot be simulated at this point."""
        ...

    def sharpened(self, evaluation: Evaluation, /) -> "Objective":
        """The last stage, made from what this point shows; itself when there is none."""
        ...

    def scatter(self, evaluation: Evaluation, /) -> np.ndarray:
        """Covariance of the gradient over the random numbers of the simulation; zeros without any."""
        ...


class Criterion(Protocol):
    """A choice of what to minimise."""

    @property
    def transient(self) -> float: ...

    def objective(self, problem: Problem) -> Objective: ...


def outputs_of(parts: Iterable[Part]) -> list[str]:
    """The outputs that the parts belong to, each once."""
    return list(dict.fromkeys(part.series.output for part in parts))


def describe(criterion: Any) -> str:
    """The criterion as it would be typed, without what is left at its default."""
    if not is_dataclass(criterion):
        return repr(criterion)
    fields = type(criterion).__dataclass_fields__
    shown = [
        f"{name}={getattr(criterion, name)!r}"
        for name, each in fields.items()
        if getattr(criterion, name) != each.default
    ]
    return f"{type(criterion).__name__}({', '.join(shown)})"
