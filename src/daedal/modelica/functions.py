"""Modelica's built-in functions, on scalars (`Expression`) and arrays of them (numpy arrays of objects)."""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import numpy as np

from daedal.symbolic import Expression, as_expression, delay, der, where

Value = Expression | np.ndarray


def constant(number: float) -> Expression:
    """A number as an expression."""
    return as_expression(number, "A number")


def boxed(value: Any) -> np.ndarray:
    """An array of objects; a scalar becomes one without dimensions."""
    return np.asarray(value, dtype=object)


def plain(value: Any) -> Value:
    """A scalar for an array without dimensions; numbers as expressions."""
    if isinstance(value, np.ndarray):
        return value if value.ndim else plain(value.item())
    return value if isinstance(value, Expression) else constant(value)


def each(function: Callable[..., Any]) -> Callable[..., Value]:
    """The function of scalars applied element by element."""

    def applied(*values: Value) -> Value:
        return plain(np.frompyfunc(function, len(values), 1)(*map(boxed, values)))

    return applied


def stacked(values: Iterable[Any]) -> np.ndarray:
    """An array whose first dimension runs over the values."""
    parts = [boxed(value) for value in values]
    return np.stack(parts) if parts else np.zeros(0, dtype=object)


def joined(values: Iterable[Value], axis: int) -> np.ndarray:
    """Modelica's [a, b] (axis 1) and [a; b] (axis 0): scalars and vectors count as columns."""
    return np.concatenate([_column(boxed(value)) for value in values], axis=axis)


def _column(value: np.ndarray) -> np.ndarray:
    return value.reshape(value.shape + (1,) * (2 - value.ndim))


def product(left: Value, right: Value) -> Value:
    """Modelica's `*`: matrix products where both sides are arrays."""
    if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray)):
        return left * right
    return plain(left @ right) if left.shape[-1] else constant(0.0)


def power(base: Value, exponent: Value) -> Value:
    """Modelica's `^`: for a matrix, repeated products."""
    if not isinstance(base, np.ndarray):
        return base**exponent
    count = int(float(plain(exponent)))
    return reduce(product, [base] * count) if count else identity(len(base))


def identity(count: int) -> np.ndarray:
    """The unit matrix."""
    return stacked(stacked(constant(float(row == column)) for column in range(count)) for row in range(count))


def filled(value: Value, shape: Iterable[int]) -> Value:
    """An array of equal elements; without dimensions, the element."""
    return plain(np.broadcast_to(boxed(value), tuple(shape)).copy())


def _total(value: Value) -> Value:
    return reduce(lambda a, b: a + b, boxed(value).ravel(), constant(0.0))


def _extreme(function: Callable[[Any, Any], Any]) -> Callable[..., Value]:
    """max or min: of two scalars, or of all elements of one array."""

    def found(*values: Value) -> Value:
        elements = boxed(values[0]).ravel() if len(values) == 1 else values
        return reduce(function, elements)

    return found


def _quotient(a: Any, b: Any) -> Any:
    return where(a / b >= 0, np.floor(a / b), np.ceil(a / b))


def _skew(x: Value) -> Value:
    a, b, c = boxed(x)
    zero = constant(0.0)
    return stacked([stacked([zero, -c, b]), stacked([c, zero, -a]), stacked([-b, a, zero])])


def _spread(x: Value) -> Value:
    vector = boxed(x)
    return identity(len(vector)) * vector


def _symmetric(x: Value) -> Value:
    matrix = boxed(x)
    upper = np.arange(len(matrix))[:, None] <= np.arange(len(matrix))
    return np.where(upper, matrix, matrix.T)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{
        name: each(function)
        for name, function in {
            "Sin": np.sin,
            "Cos": np.cos,
            "Tan": np.tan,
            "Asin": np.arcsin,
            "Acos": np.arccos,
            "Atan": np.arctan,
            "Atan2": np.arctan2,
            "Sinh": np.sinh,
            "Cosh": np.cosh,
            "Tanh": np.tanh,
            "Exp": np.exp,
            "Log": np.log,
            "Log10": np.log10,
            "Sqrt": np.sqrt,
            "Abs": np.abs,
            "Sign": np.sign,
            "Floor": np.floor,
            "Integer": np.floor,
            "Ceil": np.ceil,
            "Mod": lambda a, b: a - np.floor(a / b) * b,
            "Rem": lambda a, b: a - _quotient(a, b) * b,
            "Div": _quotient,
            "SemiLinear": lambda x, above, below: where(x >= 0, above * x, below * x),
            "Der": der,
            "Delay": lambda value, amount, longest=None: delay(value, amount),  # noqa: ARG005
        }.items()
    },
    # What these say about events and about the way to a solution does not change the equations.
    "NoEvent": lambda value: value,
    "Smooth": lambda order, value: value,  # noqa: ARG005
    "Homotopy": lambda actual, simplified: actual,  # noqa: ARG005
    "Max": _extreme(np.maximum),
    "Min": _extreme(np.minimum),
    "Sum": _total,
    "Product": lambda value: reduce(lambda a, b: a * b, boxed(value).ravel(), constant(1.0)),
    "Transpose": lambda value: boxed(value).T,
    "Cross": lambda a, b: product(_skew(a), b),
    "Skew": _skew,
    "OuterProduct": lambda a, b: boxed(a)[:, None] * boxed(b)[None, :],
    "Diagonal": _spread,
    "Symmetric": _symmetric,
    "Vector": lambda value: boxed(value).ravel(),
    "Scalar": lambda value: plain(boxed(value).ravel()[0]),
}
