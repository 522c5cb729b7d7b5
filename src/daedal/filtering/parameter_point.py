"""Expressions of parameters as dual numbers: values, with derivatives with respect to some parameters."""

from collections.abc import Mapping, Sequence

import numpy as np

from daedal.linear import Dual
from daedal.models import Model, ParameterFormulas, differentiate_parameters, evaluate_parameters
from daedal.symbolic import Expression, as_expression


class DualFormulas:
    """A list of expressions of a model's parameters, compiled once."""

    def __init__(self, model: Model, expressions: Sequence[Expression | float]) -> None:
        named = {f"{place}": as_expression(expression, "A formula") for place, expression in enumerate(expressions)}
        self._formulas = ParameterFormulas(named, tuple(model.parameters))

    def at(self, point: "Point") -> Dual:
        """Numbers (expression,) with slopes (direction, expression)."""
        value = self._formulas.evaluate(point.vector)
        if not len(point.names):
            return Dual(value, np.zeros((0, value.size)))
        return Dual(value, (self._formulas.differentiate(point.vector) @ point.rates).T)


class Point:
    """Values of all parameters, and how they move with the named ones: made once for all that is evaluated."""

    def __init__(self, model: Model, values: Mapping[str, float] | None, names: Sequence[str]) -> None:
        self.numbers = evaluate_parameters(model, values)
        self.names = tuple(names)
        self.vector = np.array(list(self.numbers.values()))
        self.rates = differentiate_parameters(model, self.names, values) if names else np.zeros((len(self.vector), 0))
