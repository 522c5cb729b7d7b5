"""Expressions of parameters as numbers, with their derivatives with respect to some parameters."""

from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np

from daedal.linear.dual import Dual
from daedal.models import Model, parameter_directions, parameter_values
from daedal.symbolic import Expression, interned


class Formulas:
    """A list of expressions of a model's parameters, compiled once."""

    def __init__(self, model: Model, expressions: Sequence[Expression | float]) -> None:
        names = list(model.parameters)
        p = ca.vertcat(*(interned(name).sx for name in names)) if names else ca.SX(0, 1)
        listed = [each.sx if isinstance(each, Expression) else ca.SX(float(each)) for each in expressions]
        column = ca.vertcat(*listed) if listed else ca.SX(0, 1)
        self._values = ca.Function("values", [p], [ca.densify(column)])
        self._slopes = ca.Function("slopes", [p], [ca.densify(ca.jacobian(column, p))])

    def at(self, point: "Point") -> Dual:
        """Numbers (expression,) with slopes (direction, expression)."""
        value = self._values(point.vector).full().ravel()
        if not len(point.names):
            return Dual(value, np.zeros((0, value.size)))
        return Dual(value, (self._slopes(point.vector).full() @ point.rates).T)


class Point:
    """Values of all parameters, and how they move with the named ones: made once for all that is evaluated."""

    def __init__(self, model: Model, values: Mapping[str, float] | None, names: Sequence[str]) -> None:
        self.numbers = parameter_values(model, values)
        self.names = tuple(names)
        self.vector = np.array(list(self.numbers.values()))
        self.rates = parameter_directions(model, self.names, values) if names else np.zeros((len(self.vector), 0))
