"""Parameters of components: a number or expression with the unit of its quantity, or whatever the user declares."""

from typing import Any

from daedal.models import Parameter, as_parameter
from daedal.symbolic import Expression, symbol

Value = float | Expression | Parameter


def quantity(name: str, value: Any, unit: str) -> dict[Expression, Parameter]:
    """An entry of a component's parameters; a `Parameter` keeps what it says, a plain value gets the unit."""
    made = as_parameter(value, name)
    return {symbol(name): made if isinstance(value, Parameter) else Parameter(made.value, unit=unit)}
