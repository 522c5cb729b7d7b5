"""Measurement noise that depends on what is measured: its standard deviation σ(θ, y) at the predicted output y."""

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from daedal.data import short
from daedal.errors import ModelError
from daedal.symbolic import Expression, intern_symbol, stack_symbols


@dataclass(frozen=True, eq=False)
class RelativeNoise:
    """σ(θ, y) of one output, compiled once for all parameters and all outputs."""

    output: str
    expression: Expression
    parameters: tuple[str, ...]  # the order of the vectors

    def evaluate(self, vector: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """σ in the shape of the predicted output; it must be positive."""
        deviation = self._call(vector, predicted)[0].reshape(predicted.shape)
        wrong = ~((deviation > 0.0) & (deviation < np.inf))
        if wrong.any():
            raise ModelError(
                f"The measurement noise of '{self.output}', {self.expression}, is {deviation[wrong][0]:g} where "
                f"'{self.output}' is {short(predicted[wrong][0])}, but must be positive.",
                f"Add what is there at zero: np.hypot(0.05*{self.output}, 0.01), say; np.abs(...) where signs change.",
            )
        return deviation

    def differentiate(self, vector: np.ndarray, predicted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """∂ log σ/∂θ as (parameter, time), and ∂ log σ/∂y as (time,)."""
        deviation, *slopes = self._call(vector, predicted)
        return np.stack(slopes[:-1]) / deviation if slopes[:-1] else np.zeros((0, predicted.size)), slopes[
            -1
        ] / deviation

    def _call(self, vector: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """σ and its derivatives by all parameters and by y, (number, sample)."""
        points = np.vstack([np.repeat(vector[:, None], predicted.size, axis=1), predicted.reshape(1, -1)])
        return np.array(self._function(points))

    @cached_property
    def _function(self) -> ca.Function:
        y = intern_symbol(self.output).sx
        arguments = ca.vertcat(stack_symbols(self.parameters), y)
        return ca.Function(
            "noise", [arguments], [ca.vertcat(self.expression.sx, ca.gradient(self.expression.sx, arguments))]
        )
