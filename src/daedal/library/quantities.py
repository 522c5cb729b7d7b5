"""Parameters of components: a number or expression with the unit of its quantity, or whatever the user declares."""

from typing import Any

import numpy as np

from daedal.models import Parameter, as_parameter
from daedal.symbolic import Expression, symbol

Value = float | Expression | Parameter

ROOM_TEMPERATURE = 293.15  # K, 20 °C
ATMOSPHERIC_PRESSURE = 101325.0  # Pa
GRAVITY = 9.80665  # m/s2


def declare(name: str, value: Any, unit: str) -> dict[Expression, Parameter]:
    """An entry of a component's parameters; a `Parameter` keeps what it says, a plain value gets the unit."""
    declared = as_parameter(value, name)
    return {symbol(name): declared if isinstance(value, Parameter) else Parameter(declared.value, unit=unit)}


def declare_positive(name: str, value: Any, unit: str) -> dict[Expression, Parameter]:
    """The same for what cannot be negative, so that an estimate cannot either."""
    declared = as_parameter(value, name)
    return {symbol(name): declared if isinstance(value, Parameter) else Parameter(declared.value, lower=0.0, unit=unit)}


def smooth_sign(x: Expression, width: Expression) -> Expression:
    """−1 … 1, with a steep but finite slope at zero: tanh(x / width)."""
    return np.tanh(x / width)  # pyright: ignore[reportReturnType]


def regularized_root(x: Expression, width: Expression) -> Expression:
    """sign(x) √|x| with a finite slope at zero: x / (x² + width²)^¼, as `regRoot` of the Modelica Standard Library."""
    return x / (x**2 + width**2) ** 0.25
