"""Numbers for a model's parameters: overrides applied, values that are expressions of others resolved."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca

from daedal.errors import ModelError, nearest, quoted
from daedal.models.declarations import key_name
from daedal.models.parameter import as_parameter
from daedal.symbolic import Expression, interned, symbols_in

if TYPE_CHECKING:
    from daedal.models.model import Model


def parameter_values(model: "Model", values: Mapping[Any, float] | None = None) -> dict[str, float]:
    """The number of every parameter by name; `values` override those of the model, and bounds are kept."""
    overrides = {key_name(key): value for key, value in (values or {}).items()}
    for name in overrides:
        if name not in model.parameters:
            raise ModelError(f"Model '{model.name}' has no parameter '{name}'.", nearest(name, model.parameters))
    open_values: dict[str, Expression] = {}
    numbers: dict[str, float] = {}
    for name, parameter in model.parameters.items():
        value = as_parameter(overrides[name], name).value if name in overrides else parameter.value
        if isinstance(value, Expression):
            open_values[name] = value
        else:
            numbers[name] = value
    numbers |= _resolved(open_values, numbers)
    for name, parameter in model.parameters.items():
        parameter.check(name, numbers[name])
    return {name: numbers[name] for name in model.parameters}


def evaluate(expressions: Mapping[str, Expression], numbers: Mapping[str, float]) -> dict[str, float]:
    """Numbers of expressions of parameters."""
    if not expressions:
        return {}
    names = list(numbers)
    function = ca.Function("values", [_vector(names)], [ca.vertcat(*(e.sx for e in expressions.values()))])
    result = function(ca.DM([numbers[name] for name in names])).full().ravel()
    return dict(zip(expressions, map(float, result), strict=True))


def _vector(names: list[str]) -> ca.SX:
    return ca.vertcat(*(interned(name).sx for name in names)) if names else ca.SX(0, 1)


def _resolved(open_values: Mapping[str, Expression], numbers: Mapping[str, float]) -> dict[str, float]:
    """Evaluate the rest in rounds: each round those whose symbols all have numbers."""
    done: dict[str, float] = {}
    left = dict(open_values)
    while left:
        known = {**numbers, **done}
        ready = {name: value for name, value in left.items() if all(leaf in known for leaf in symbols_in(value.sx))}
        if not ready:
            raise ModelError(
                f"The values of the parameters {quoted(left)} are defined by each other.", "Give one of them a number."
            )
        done |= evaluate(ready, known)
        left = {name: value for name, value in left.items() if name not in ready}
    return done
