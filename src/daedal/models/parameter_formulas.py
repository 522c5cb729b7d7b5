"""Expressions of parameters, compiled once; those that are values of parameters, in an order of evaluation."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from daedal.errors import ModelError, nearest, quoted
from daedal.symbolic import BufferedFunction, Expression, list_symbols, stack_symbols


@dataclass(frozen=True, eq=False)
class ParameterFormulas:
    """Expressions of parameters by name, compiled once for all values of the parameters."""

    expressions: Mapping[str, Expression]
    parameters: tuple[str, ...]  # the order of the vectors

    def evaluate(self, vector: np.ndarray) -> np.ndarray:
        """The expressions as numbers."""
        return self._values.matrix(vector).ravel() if self._constant is None else self._constant.copy()

    def differentiate(self, vector: np.ndarray) -> np.ndarray:
        """Their derivatives as (expression, parameter)."""
        return self._slopes.matrix(vector) if self._constant is None else np.zeros((len(self.expressions), vector.size))

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each stands among the parameters, when they are values of parameters."""
        return {name: self.parameters.index(name) for name in self.expressions}

    @cached_property
    def _constant(self) -> np.ndarray | None:
        """The numbers where nothing depends on a parameter, as in most declarations."""
        plain = all(expression.sx.is_constant() for expression in self.expressions.values())
        return np.array([float(expression) for expression in self.expressions.values()]) if plain else None

    @cached_property
    def _values(self) -> BufferedFunction:
        return BufferedFunction(ca.Function("values", [stack_symbols(self.parameters)], [self._column]))

    @cached_property
    def _slopes(self) -> BufferedFunction:
        p = stack_symbols(self.parameters)
        return BufferedFunction(ca.Function("slopes", [p], [ca.jacobian(self._column, p)]))

    @property
    def _column(self) -> ca.SX:
        entries = [expression.sx for expression in self.expressions.values()]
        return ca.vertcat(*entries) if entries else ca.SX(0, 1)


def sort_in_rounds(values: Mapping[str, float | Expression]) -> tuple[ParameterFormulas, ...]:
    """The formulas among the values of all parameters, in rounds: each needs only numbers and the rounds before."""
    left = {name: value for name, value in values.items() if isinstance(value, Expression)}
    leaves = {name: list_symbols(value.sx) for name, value in left.items()}
    known = values.keys() - left.keys()
    rounds = []
    while left:
        ready = {name: value for name, value in left.items() if known.issuperset(leaves[name])}
        if not ready:
            check_numbers_given(left, values)
            several = "The values of the parameters {} are defined by each other."
            single = "The value of parameter {} is defined by itself."
            raise ModelError((several if len(left) > 1 else single).format(quoted(left)), "Give one of them a number.")
        rounds.append(ParameterFormulas(ready, tuple(values)))
        known |= ready.keys()
        left = {name: value for name, value in left.items() if name not in ready}
    return tuple(rounds)


def check_numbers_given(expressions: Mapping[str, Expression], names: Collection[str]) -> None:
    """Refuse an expression of something that has no number."""
    for name, expression in expressions.items():
        for leaf in list_symbols(expression.sx):
            if leaf not in names:
                raise ModelError(
                    f"The value of '{name}', {expression}, needs a number for '{leaf}'.", nearest(leaf, names)
                )
