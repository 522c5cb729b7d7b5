"""Numbers for a model's parameters: overrides applied, values that are expressions of others resolved."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from daedal.errors import ModelError, is_real, nearest, quoted, show
from daedal.models.declarations import as_name
from daedal.models.parameter import as_parameter
from daedal.models.parameter_formulas import ParameterFormulas, check_numbers_given, sort_in_rounds
from daedal.symbolic import Expression, list_symbols, stack_symbols

if TYPE_CHECKING:
    from daedal.models.model import Model


def evaluate_parameters(model: "Model", values: Mapping[Any, float] | None = None) -> dict[str, float]:
    """The number of every parameter by name; `values` override those of the model, and bounds are kept."""
    given = _apply_overrides(model, values)
    formulas = _select_formulas(given)
    numbers: dict[str, float] = {n: value for n, value in given.items() if not isinstance(value, Expression)}
    for name, number in numbers.items():  # before the formulas, which would be blamed for a NaN they were given
        model.parameters[name].check(name, number)
    if not formulas:
        return numbers
    resolved = _resolve(model, given, formulas)
    numbers |= resolved
    for name, number in resolved.items():
        _check_finite(name, number, formulas[name], numbers)
        model.parameters[name].check(name, number)
    return {name: numbers[name] for name in given}


def _select_formulas(given: Mapping[str, float | Expression]) -> dict[str, Expression]:
    return {name: value for name, value in given.items() if isinstance(value, Expression)}


def _resolve(
    model: "Model", given: Mapping[str, float | Expression], formulas: Mapping[str, Expression]
) -> dict[str, float]:
    """The formulas among given values as numbers, round by round."""
    vector = np.array([0.0 if isinstance(value, Expression) else value for value in given.values()])
    resolved: dict[str, float] = {}
    for stage in _choose_rounds(model, given, formulas):
        for (name, place), number in zip(stage.places.items(), stage.evaluate(vector).tolist(), strict=True):
            if name in formulas:
                vector[place] = resolved[name] = number
    return resolved


def _choose_rounds(
    model: "Model", given: Mapping[str, float | Expression], formulas: Mapping[str, Expression]
) -> tuple[ParameterFormulas, ...]:
    """The formulas in the order of their evaluation; the model's own, compiled before, where there are no others.

    Then some may be among them that `given` replaces by numbers.
    """
    own = all(formula is model.parameters[name].value for name, formula in formulas.items())
    return model.formulas if own else sort_in_rounds(given)


def _check_finite(name: str, number: float, formula: Expression, numbers: Mapping[str, float]) -> None:
    """Refuse a formula that gives no number, showing what it was made of."""
    if not isfinite(number):
        leaves = list_symbols(formula.sx)
        values = ", ".join(f"{leaf} = {numbers[leaf]:g}" for leaf in leaves)
        raise ModelError(
            f"The value of parameter '{name}', {formula} with {values}, is not finite but {number}.",
            f"Give {'another value' if len(leaves) == 1 else 'other values'} for {quoted(leaves)}.",
        )


def find_followers(model: "Model", name: str) -> set[str]:
    """The parameters whose formulas contain this one, directly or through others."""
    followers: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        for other, parameter in model.parameters.items():
            if (
                other not in followers
                and isinstance(parameter.value, Expression)
                and current in list_symbols(parameter.value.sx)
            ):
                followers.add(other)
                waiting.append(other)
    return followers - {name}


def differentiate_parameters(
    model: "Model", names: Sequence[str], values: Mapping[Any, float] | None = None
) -> np.ndarray:
    """d(all parameters)/d(named ones), as (parameter, name): one on itself, the chain rule through formulas."""
    numbers = evaluate_parameters(model, values)
    order = list(numbers)
    rates = np.zeros((len(order), len(names)))
    for column, name in enumerate(names):
        rates[order.index(name), column] = 1.0
    given = _apply_overrides(model, values)
    if formulas := _select_formulas(given):
        vector = np.array(list(numbers.values()))
        for stage in _choose_rounds(model, given, formulas):
            rows = [row for row, name in enumerate(stage.places) if name in formulas and name not in names]
            places = [*stage.places.values()]
            rates[[places[row] for row in rows]] = stage.differentiate(vector)[rows] @ rates
    return rates


def _apply_overrides(model: "Model", values: Mapping[Any, Any] | None) -> dict[str, float | Expression]:
    """The number or formula of every parameter: from `values` where it is there, else from the model."""
    if values is not None and not isinstance(values, Mapping):
        raise ModelError(
            f"Values of parameters must be a mapping name → number, got {show(values)}.", "Write {'k': 6.25}."
        )
    overrides = {as_name(key): value for key, value in (values or {}).items()}
    for name in overrides:
        if name not in model.parameters:
            raise ModelError(f"Model '{model.name}' has no parameter '{name}'.", nearest(str(name), model.parameters))
    given = {name: parameter.value for name, parameter in model.parameters.items()}
    return given | {name: _as_number_or_formula(name, value) for name, value in overrides.items()}


def _as_number_or_formula(name: str, value: Any) -> float | Expression:
    """The number or formula that a parameter is given."""
    return float(value) if is_real(value) else as_parameter(value, name).value


def evaluate_expressions(expressions: Mapping[str, Expression], numbers: Mapping[str, float]) -> dict[str, float]:
    """Numbers of expressions of parameters."""
    if not expressions:
        return {}
    names = list(numbers)
    check_numbers_given(expressions, numbers)
    function = ca.Function("values", [stack_symbols(names)], [ca.vertcat(*(e.sx for e in expressions.values()))])
    column = function(ca.DM([numbers[name] for name in names])).full().ravel()
    return dict(zip(expressions, map(float, column), strict=True))
