"""`Parameter`: a constant of a model, with what is known about it."""

from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, Literal, final

from daedal.errors import ModelError, as_float, is_one_of, is_real, show
from daedal.symbolic import Expression, as_expression

if TYPE_CHECKING:
    from daedal.priors import Prior


@final
@dataclass(frozen=True, eq=False)
class Parameter:
    """Value, bounds, scale, unit and prior of a parameter, and what it is.

    Parameters
    ----------
    value
        A number, or an expression of other parameters.
    lower, upper
        Bounds that an estimate must keep.
    scale
        "linear", or "log" for a positive quantity whose order of magnitude is uncertain.
    unit
        For tables and plots.
    prior
        What is known of it before the data, where it is estimated: `Normal(mean, std)`, `LogNormal(median, factor)` or
        `Uniform(a, b)`. A fit that holds it does not ask.
    description
        What it is, in words: for tables and reports.

    Examples
    --------
    >>> Parameter(8.0, lower=3.85, upper=10.25, unit="kg/m")
    Parameter(8.0, lower=3.85, upper=10.25, unit='kg/m')
    """

    value: float | Expression
    lower: float = -inf
    upper: float = inf
    scale: Literal["linear", "log"] = "linear"
    unit: str = ""
    prior: "Prior | None" = None
    description: str = ""

    def __post_init__(self) -> None:
        expression = as_expression(self.value, "The value of a parameter")
        object.__setattr__(self, "value", float(expression) if expression.sx.is_constant() else expression)
        for side in ("lower", "upper"):
            bound = getattr(self, side)
            if not is_real(bound):
                raise ModelError(
                    f"The {side} bound of a parameter must be a number, got {show(bound)}.", "Leave it out for none."
                )
            object.__setattr__(self, side, as_float(bound))
        if not self.lower < self.upper:
            raise ModelError(
                f"The lower bound of a parameter must lie below the upper one, got {self.lower:g} and {self.upper:g}.",
                "Exchange them, or leave one out.",
            )
        if not is_one_of(self.scale, ("linear", "log")):
            raise ModelError(
                f"The scale of a parameter must be 'linear' or 'log', got {show(self.scale)}.", "Choose one of them."
            )
        if self.scale == "log" and self.upper <= 0:
            raise ModelError(
                f"A parameter on a log scale must be positive, but its upper bound is {self.upper:g}.", "Raise it."
            )
        for word, example in (("unit", "kg/m"), ("description", "mass of the rod")):
            if not isinstance(getattr(self, word), str):
                raise ModelError(
                    f"The {word} of a parameter must be a text, got {show(getattr(self, word))}.",
                    f"Write for example {word}={example!r}.",
                )
        if self.prior is not None:
            from daedal.priors import check_prior

            check_prior(self.prior).check_bounds(self.lower, self.upper)

    def _repr_html_(self) -> str:
        from daedal.tables import write_html

        return write_html(str(self).split("\n"))

    def __repr__(self) -> str:
        parts = [repr(self.value)]
        parts += [f"{key}={value!r}" for key, value in self.details().items()]
        return f"Parameter({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parameter) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def details(self) -> dict[str, Any]:
        """What differs from the defaults, value apart."""
        defaults = {"lower": -inf, "upper": inf, "scale": "linear", "unit": "", "prior": None, "description": ""}
        return {key: getattr(self, key) for key, default in defaults.items() if getattr(self, key) != default}

    def with_value(self, value: float | Expression) -> "Parameter":
        """The same parameter with another value; bounds and prior stay."""
        return replace(self, value=value)

    def check(self, name: str, value: float) -> None:
        """Refuse a value that is not finite, or outside bounds or prior, in the name of the user's parameter."""
        if not isfinite(value):
            raise ModelError(f"The value of parameter '{name}' must be finite, got {value}.", "Give a number.")
        if not self.lower <= value <= self.upper:
            raise ModelError(
                f"The value {value:g} of parameter '{name}' lies outside its bounds {self.lower:g} … {self.upper:g}.",
                "Move the value inside, or widen the bounds.",
            )
        if self.scale == "log" and value <= 0:
            raise ModelError(
                f"The value {value:g} of parameter '{name}' is not positive, as its log scale asks.",
                "Use scale='linear'.",
            )
        if self.prior is not None and self.prior.log_density(value) == -inf:
            raise ModelError(
                f"The value {value:g} of parameter '{name}' is impossible by its prior {self.prior}.",
                "Move the value, or give another prior.",
            )


def as_parameter(value: Any, name: str) -> Parameter:
    """A number, an expression or a Parameter as a Parameter."""
    if isinstance(value, Parameter):
        return value
    return Parameter(as_expression(value, f"The value of parameter '{name}'"))
