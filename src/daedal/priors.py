"""Priors: what is known of a parameter before the data are seen.

Each counts how many standard deviations u a value lies from its centre,

    Normal: u = (θ − mean)/std,   LogNormal: u = log(θ/median)/log(factor),   Uniform: u = 0 from a to b,

and an estimate has the largest posterior density per unit of u: without data it is the mean or the median. Densities
are those of θ itself, as `scipy.stats` has them (a LogNormal one thus has its maximum below the median); bounds leave
them as they are. How priors meet data is told in `daedal.estimation.search.posterior`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import inf, isfinite, log, nan, pi, sqrt
from typing import Any, Protocol, final

from daedal.errors import ModelError, is_real, quoted, show

HALF_LOG_2PI = 0.5 * log(2.0 * pi)


class Prior(Protocol):
    """A distribution of one parameter."""

    @property
    def support(self) -> tuple[float, float]:
        """Between which values it has any probability."""
        ...

    def deviate(self, value: float, /) -> tuple[float, float]:
        """u at a value, and its slope du/dθ there."""
        ...

    def spread(self, value: float, /) -> float:
        """The standard deviation of the parameter, to first order around a value."""
        ...

    def log_density(self, value: float, /) -> float:
        """The logarithm of the density of the parameter, constants and all; −∞ where it has none."""
        ...

    def check_bounds(self, lower: float, upper: float, /) -> None:
        """Refuse bounds that contradict it."""
        ...


@final
@dataclass(frozen=True)
class Normal:
    """Normally distributed around a mean: 68 % lie within one standard deviation.

    Examples
    --------
    >>> Normal(90.0, 20.0)
    Normal(mean=90.0, std=20.0)
    """

    mean: float
    std: float

    def __post_init__(self) -> None:
        _convert(self, "Normal(90.0, 20.0)")
        if not self.std > 0.0:
            raise ModelError(
                f"The std of a Normal prior must be positive, got {self.std:g}.",
                "Give the standard deviation; a parameter that is known is not freed.",
            )

    @property
    def support(self) -> tuple[float, float]:
        """Every number."""
        return -inf, inf

    def deviate(self, value: float, /) -> tuple[float, float]:
        """(θ − mean)/std and its slope."""
        return (value - self.mean) / self.std, 1.0 / self.std

    def spread(self, _value: float, /) -> float:
        """The same everywhere."""
        return self.std

    def log_density(self, value: float, /) -> float:
        """As `scipy.stats.norm`."""
        return -0.5 * self.deviate(value)[0] ** 2 - log(self.std) - HALF_LOG_2PI

    def check_bounds(self, lower: float, upper: float, /) -> None:
        """The mean lies between them."""
        _check_center(self, "mean", self.mean, lower, upper)


@final
@dataclass(frozen=True)
class LogNormal:
    """A positive quantity known up to a factor: 68 % lie between median/factor and median·factor.

    Examples
    --------
    >>> LogNormal(median=5.0, factor=2.0)
    LogNormal(median=5.0, factor=2.0)
    """

    median: float
    factor: float

    def __post_init__(self) -> None:
        _convert(self, "LogNormal(5.0, 2.0)")
        if not self.median > 0.0:
            raise ModelError(
                f"The median of a LogNormal prior must be positive, got {self.median:g}.", "Use Normal(mean, std)."
            )
        if not self.factor > 1.0:
            raise ModelError(
                f"The factor of a LogNormal prior must be larger than 1, got {self.factor:g}.",
                "Give 2.0 for what is known up to a factor of two.",
            )

    @property
    def support(self) -> tuple[float, float]:
        """Positive numbers."""
        return 0.0, inf

    def deviate(self, value: float, /) -> tuple[float, float]:
        """log(θ/median)/log(factor) and its slope."""
        width = log(self.factor)
        return (log(value / self.median) / width, 1.0 / (value * width)) if value > 0.0 else (-inf, inf)

    def spread(self, value: float, /) -> float:
        """In proportion to the value."""
        return value * log(self.factor)

    def log_density(self, value: float, /) -> float:
        """As `scipy.stats.lognorm(s=log(factor), scale=median)`."""
        if not value > 0.0:
            return -inf
        return -0.5 * self.deviate(value)[0] ** 2 - log(self.spread(value)) - HALF_LOG_2PI

    def check_bounds(self, lower: float, upper: float, /) -> None:
        """The median lies between them, and none is negative."""
        if -inf < lower < 0.0:
            raise ModelError(
                f"The prior {self} is of a positive quantity, but the lower bound is {lower:g}.",
                "Raise the bound to 0 or leave it out, or use Normal(mean, std).",
            )
        _check_center(self, "median", self.median, lower, upper)


@final
@dataclass(frozen=True)
class Uniform:
    """Anything from a to b, which bound the estimate.

    Examples
    --------
    >>> Uniform(0.0, 1.0)
    Uniform(a=0.0, b=1.0)
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        _convert(self, "Uniform(0.0, 1.0)")
        if not self.a < self.b:
            raise ModelError(
                f"A Uniform prior must begin below its end, got {self.a:g} and {self.b:g}.", "Exchange them."
            )

    @property
    def support(self) -> tuple[float, float]:
        """From a to b."""
        return self.a, self.b

    def deviate(self, _value: float, /) -> tuple[float, float]:
        """No value is nearer to the centre than another."""
        return 0.0, 0.0

    def spread(self, _value: float, /) -> float:
        """(b − a)/√12."""
        return (self.b - self.a) / sqrt(12.0)

    def log_density(self, value: float, /) -> float:
        """As `scipy.stats.uniform`."""
        return -log(self.b - self.a) if self.a <= value <= self.b else -inf

    def check_bounds(self, lower: float, upper: float, /) -> None:
        """It does not reach beyond them."""
        if self.a < lower or self.b > upper:
            raise ModelError(
                f"The prior {self} reaches beyond the bounds {lower:g} … {upper:g}.",
                "Leave out the bounds: those of a Uniform prior hold for the estimate.",
            )


KINDS = {kind.__name__: kind for kind in (LogNormal, Normal, Uniform)}


def check_prior(given: Any) -> Prior:
    """A prior as it was given, or a sentence about what it must be."""
    if isinstance(given, tuple(KINDS.values())):
        return given
    name = given.__name__ if isinstance(given, type) else show(given)
    raise ModelError(
        f"The prior of a parameter must be a Normal, LogNormal or Uniform one, got {name}.",
        "Write prior=Normal(90.0, 20.0).",
    )


def list_entries(prior: Any) -> dict[str, Any]:
    """What a prior is made of, its kind first, as `read_prior` takes it."""
    return {"kind": type(prior).__name__, **asdict(prior)}


def read_prior(entries: Any) -> Prior:
    """The prior with these entries."""
    kind = KINDS.get(str(entries.get("kind"))) if isinstance(entries, Mapping) else None
    if kind is None:
        raise ModelError(f"A prior must be a table with a kind, got {entries!r}.", f"Known are {quoted(KINDS)}.")
    numbers = {name: value for name, value in entries.items() if name != "kind"}
    wanted = kind.__dataclass_fields__
    if numbers.keys() != wanted.keys():
        raise ModelError(f"A {kind.__name__} prior is not made of {quoted(numbers)}.", f"Give {quoted(wanted)}.")
    return kind(**numbers)


def _convert(prior: Any, example: str) -> None:
    """All fields as finite numbers."""
    for name in prior.__dataclass_fields__:
        value = getattr(prior, name)
        number = _as_number(value)
        if not isfinite(number):
            raise ModelError(
                f"The {name} of a {type(prior).__name__} prior must be a number, got {show(value)}.",
                f"Write {example}.",
            )
        object.__setattr__(prior, name, number)


def _as_number(value: Any) -> float:
    """Not a number where it is none, nor fits one."""
    try:
        return float(value) if is_real(value) and not isinstance(value, bool) else nan
    except OverflowError:
        return nan


def _check_center(prior: Prior, what: str, center: float, lower: float, upper: float) -> None:
    if not lower <= center <= upper:
        raise ModelError(
            f"The prior {prior} has its {what} outside the bounds {lower:g} … {upper:g}.",
            f"Move the {what} inside, or widen the bounds.",
        )
