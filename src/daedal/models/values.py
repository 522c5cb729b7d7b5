"""Numbers for a model's parameters: overrides applied, values that are expressions of others resolved."""

from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from daedal.errors import ModelError, nearest, quoted
from daedal.models.declarations import key_name
from daedal.models.parameter import as_parameter
from daedal.symbolic import Expression, interned, symbols_in

if TYPE_CHECKING:
    from daedal.models.model import Model


def parameter_values(model: "Model", values: Mapping[Any, float] | None = None) -> dict[str, float]:
    """The number of every parameter by name; `values` override those of the model, and bounds are kept."""
    given = _given(model, values)
    open_values = {name: value for name, value in given.items() if isinstance(value, Expression)}
    numbers = {name: value for name, value in given.items() if not isinstance(value, Expression)}
    for name, number in numbers.items():  # before the formulas, which would be blamed for a NaN they were given
        model.parameters[name].check(name, number)
    formulas = _resolved(open_values, numbers)
    numbers |= formulas
    for name, number in formulas.items():
        _check_finite(name, number, open_values[name], numbers)
        model.parameters[name].check(name, number)
    return {name: numbers[name] for name in model.parameters}


def _check_finite(name: str, number: float, formula: Expression, numbers: Mapping[str, float]) -> None:
    """Refuse a formula that gives no number, showing what it was made of."""
    if not isfinite(number):
        leaves = symbols_in(formula.sx)
        values = ", ".join(f"{leaf} = {numbers[leaf]:g}" for leaf in leaves)
        raise ModelError(
            f"The value of parameter '{name}', {formula} with {values}, is not finite but {number}.",
            f"Give {'another value' if len(leaves) == 1 else 'other values'} for {quoted(leaves)}.",
        )


def parameter_followers(model: "Model", name: str) -> set[str]:
    """The parameters whose formulas contain this one, directly or through others."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        for other, parameter in model.parameters.items():
            if (
                other not in found
                and isinstance(parameter.value, Expression)
                and current in symbols_in(parameter.value.sx)
            ):
                found.add(other)
                waiting.append(other)
    return found - {name}


def parameter_directions(model: "Model", names: Sequence[str], values: Mapping[Any, float] | None = None) -> np.ndarray:
    """d(all parameters)/d(named ones), as (parameter, name): one on itself, the chain rule through formulas."""
    numbers = parameter_values(model, values)
    order = list(model.parameters)
    formulas = {name: value for name, value in _given(model, values).items() if isinstance(value, Expression)}
    rates = np.zeros((len(order), len(names)))
    for column, name in enumerate(names):
        rates[order.index(name), column] = 1.0
    p = _vector(order)
    left = {name: value for name, value in formulas.items() if name not in names}
    while left:
        ready = {n: v for n, v in left.items() if not any(leaf in left for leaf in symbols_in(v.sx))}
        gradient = ca.Function("gradient", [p], [ca.jacobian(ca.vertcat(*(v.sx for v in ready.values())), p)])
        rates[[order.index(n) for n in ready]] = gradient([numbers[n] for n in order]).full() @ rates
        left = {n: v for n, v in left.items() if n not in ready}
    return rates


def _given(model: "Model", values: Mapping[Any, Any] | None) -> dict[str, float | Expression]:
    """The number or formula of every parameter: from `values` where it is there, else from the model."""
    if values is not None and not isinstance(values, Mapping):
        raise ModelError(f"Values of parameters must be a mapping name → number, got {values!r}.", "Write {'k': 6.25}.")
    overrides = {key_name(key): value for key, value in (values or {}).items()}
    for name in overrides:
        if name not in model.parameters:
            raise ModelError(f"Model '{model.name}' has no parameter '{name}'.", nearest(str(name), model.parameters))
    given = {name: parameter.value for name, parameter in model.parameters.items()}
    return given | {name: as_parameter(value, name).value for name, value in overrides.items()}


def evaluate(expressions: Mapping[str, Expression], numbers: Mapping[str, float]) -> dict[str, float]:
    """Numbers of expressions of parameters."""
    if not expressions:
        return {}
    names = list(numbers)
    _check_given(expressions, numbers)
    function = ca.Function("values", [_vector(names)], [ca.vertcat(*(e.sx for e in expressions.values()))])
    result = function(ca.DM([numbers[name] for name in names])).full().ravel()
    return dict(zip(expressions, map(float, result), strict=True))


def _check_given(expressions: Mapping[str, Expression], names: Collection[str]) -> None:
    """Refuse an expression of something that has no number."""
    for name, expression in expressions.items():
        for leaf in symbols_in(expression.sx):
            if leaf not in names:
                raise ModelError(
                    f"The value of '{name}', {expression}, needs a number for '{leaf}'.", nearest(leaf, names)
                )


def _vector(names: list[str]) -> ca.SX:
    return ca.vertcat(*(interned(name).sx for name in names)) if names else ca.SX(0, 1)


def _resolved(open_values: Mapping[str, Expression], numbers: Mapping[str, float]) -> dict[str, float]:
    """Evaluate the rest in rounds: each round those whose symbols all have numbers."""
    done: dict[str, float] = {}
    left = dict(open_values)
    leaves = {name: symbols_in(value.sx) for name, value in left.items()}
    while left:
        known = {**numbers, **done}
        ready = {name: value for name, value in left.items() if all(leaf in known for leaf in leaves[name])}
        if not ready:
            _check_given(left, {*known, *left})
            several = "The values of the parameters {} are defined by each other."
            one = "The value of parameter {} is defined by itself."
            raise ModelError((several if len(left) > 1 else one).format(quoted(left)), "Give one of them a number.")
        done |= evaluate(ready, {leaf: known[leaf] for name in ready for leaf in leaves[name]})
        left = {name: value for name, value in left.items() if name not in ready}
    return done
