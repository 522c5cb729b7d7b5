"""Modelica's built-in functions, on scalars (`Expression`) and arrays of them (numpy arrays of objects)."""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import numpy as np

from daedal.symbolic import Expression, as_expression, box, delay, der, where

Value = Expression | np.ndarray


def make_constant(number: float) -> Expression:
    """A number as an expression."""
    return as_expression(number, "A number")


def unbox(value: Any) -> Value:
    """A scalar for an array without dimensions; numbers as expressions."""
    if isinstance(value, np.ndarray):
        return value if value.ndim else unbox(value.item())
    return value if isinstance(value, Expression) else make_constant(value)


def vectorize(function: Callable[..., Any]) -> Callable[..., Value]:
    """The function of scalars applied element by element."""

    def apply(*values: Value) -> Value:
        return unbox(np.frompyfunc(function, len(values), 1)(*map(box, values)))

    return apply


def stack(values: Iterable[Any]) -> np.ndarray:
    """An array whose first dimension runs over the values."""
    parts = [box(value) for value in values]
    return np.stack(parts) if parts else np.zeros(0, dtype=object)


def concatenate(values: Iterable[Value], axis: int) -> np.ndarray:
    """Modelica's [a, b] (axis 1) and [a; b] (axis 0): scalars and vectors count as columns."""
    return np.concatenate([_as_column(box(value)) for value in values], axis=axis)


def _as_column(value: np.ndarray) -> np.ndarray:
    return value.reshape(value.shape + (1,) * (2 - value.ndim))


def multiply(left: Value, right: Value) -> Value:
    """Modelica's `*`: matrix products where both sides are arrays."""
    if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray)):
        return left * right
    return unbox(left @ right) if left.shape[-1] else make_constant(0.0)


def raise_to(base: Value, exponent: Value) -> Value:
    """Modelica's `^`: for a matrix, repeated products."""
    if not isinstance(base, np.ndarray):
        return base**exponent
    count = int(float(unbox(exponent)))
    return reduce(multiply, [base] * count) if count else make_identity(len(base))


def make_identity(count: int) -> np.ndarray:
    """The unit matrix."""
    return stack(stack(make_constant(float(row == column)) for column in range(count)) for row in range(count))


def fill(value: Value, shape: Iterable[int]) -> Value:
    """An array of equal elements; without dimensions, the element."""
    return unbox(np.broadcast_to(box(value), tuple(shape)).copy())


def _add_up(value: Value) -> Value:
    return reduce(lambda a, b: a + b, box(value).ravel(), make_constant(0.0))


def _make_extreme(function: Callable[[Any, Any], Any]) -> Callable[..., Value]:
    """max or min: of two scalars, or of all elements of one array."""

    def find_extreme(*values: Value) -> Value:
        elements = box(values[0]).ravel() if len(values) == 1 else values
        return reduce(function, elements)

    return find_extreme


def _divide(a: Any, b: Any) -> Any:
    return where(a / b >= 0, np.floor(a / b), np.ceil(a / b))


def _make_skew(x: Value) -> Value:
    a, b, c = box(x)
    zero = make_constant(0.0)
    return stack([stack([zero, -c, b]), stack([c, zero, -a]), stack([-b, a, zero])])


def _make_diagonal(x: Value) -> Value:
    vector = box(x)
    return make_identity(len(vector)) * vector


def _make_symmetric(x: Value) -> Value:
    matrix = box(x)
    upper = np.arange(len(matrix))[:, None] <= np.arange(len(matrix))
    return np.where(upper, matrix, matrix.T)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    **{
        name: vectorize(function)
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
            "Rem": lambda a, b: a - _divide(a, b) * b,
            "Div": _divide,
            "SemiLinear": lambda x, above, below: where(x >= 0, above * x, below * x),
            "Der": der,
            "Delay": lambda value, amount, longest=None: delay(value, amount),  # noqa: ARG005
        }.items()
    },
    # What these say about events and about the way to a solution does not change the equations.
    "NoEvent": lambda value: value,
    "Smooth": lambda order, value: value,  # noqa: ARG005
    "Homotopy": lambda actual, simplified: actual,  # noqa: ARG005
    "Max": _make_extreme(np.maximum),
    "Min": _make_extreme(np.minimum),
    "Sum": _add_up,
    "Product": lambda value: reduce(lambda a, b: a * b, box(value).ravel(), make_constant(1.0)),
    "Transpose": lambda value: box(value).T,
    "Cross": lambda a, b: multiply(_make_skew(a), b),
    "Skew": _make_skew,
    "OuterProduct": lambda a, b: box(a)[:, None] * box(b)[None, :],
    "Diagonal": _make_diagonal,
    "Symmetric": _make_symmetric,
    "Vector": lambda value: box(value).ravel(),
    "Scalar": lambda value: unbox(box(value).ravel()[0]),
}
