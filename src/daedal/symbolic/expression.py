"""`Expression`: a thin value around a scalar CasADi SX, with numpy dispatch of its own; and `Equation`.

`==` gives an `Equation`; everything else behaves as numbers do.
"""

import numbers
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import Any, NoReturn, final

import casadi as ca
import numpy as np

from daedal.errors import ExpressionError, is_real, show
from daedal.symbolic import functions
from daedal.symbolic.writing import write_expression

NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*|\[\d+(?:,\d+)*\])*")


@final
@dataclass(frozen=True, eq=False, repr=False)
class Expression:
    """A scalar formula in symbols, their derivatives, and numbers.

    Made by `symbol`, `der`, `delay`, `hold` and `hysteresis`, and by arithmetic and numpy functions on those.
    `expression.sx` is the CasADi SX inside.

    Examples
    --------
    >>> from daedal.symbolic import symbols
    >>> x, k = symbols("x k")
    >>> k * np.sin(x) ** 2
    k*sin(x)**2
    """

    sx: ca.SX

    def __post_init__(self) -> None:
        if not isinstance(self.sx, ca.SX) or not self.sx.is_scalar():
            raise ExpressionError(
                f"An Expression holds one scalar CasADi SX, got {show(self.sx)}.", "Build it from symbols and numbers."
            )

    def __repr__(self) -> str:
        return write_expression(self.sx)

    def _repr_html_(self) -> str:
        from daedal.symbolic.typesetting import write_mathml

        return write_mathml(self)

    def __hash__(self) -> int:
        return hash(self.sx.element_hash())

    def __reduce__(self) -> tuple[Callable[[str], "Expression"], tuple[str]]:
        from daedal.symbolic.parsing import read_expression

        return read_expression, (repr(self),)

    @property
    def is_symbol(self) -> bool:
        """Whether this is a plain symbol, a derivative, a delayed value or the like, rather than a formula."""
        return self.sx.is_symbolic()

    def __add__(self, other: Any) -> Any:
        return _apply_binary("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _apply_binary("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _apply_binary("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _apply_binary("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return _apply_binary("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _apply_binary("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _apply_binary("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _apply_binary("divide", other, self)

    def __pow__(self, other: Any) -> Any:
        return _apply_binary("power", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _apply_binary("power", other, self)

    def __floordiv__(self, other: Any) -> NoReturn:
        raise ExpressionError("'//' is not defined for expressions.", "Write np.floor(a / b).")

    def __mod__(self, other: Any) -> NoReturn:
        raise ExpressionError("'%' is not defined for expressions.", "Write np.fmod(a, b), with the sign of a.")

    def __xor__(self, other: Any) -> NoReturn:
        raise ExpressionError("'^' is not defined for expressions.", "Write powers with **: x**2.")

    __rfloordiv__, __rmod__, __rxor__ = __floordiv__, __mod__, __xor__

    def __lt__(self, other: Any) -> Any:
        return _apply_binary("less", self, other)

    def __le__(self, other: Any) -> Any:
        return _apply_binary("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return _apply_binary("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return _apply_binary("greater_equal", self, other)

    def __ne__(self, other: object) -> Any:
        return _apply_binary("not_equal", self, other)

    def __eq__(self, other: object) -> Any:
        if isinstance(other, np.ndarray) and other.ndim:
            return self.__array_ufunc__(np.equal, "__call__", self, other)  # NotImplemented would exchange the sides
        return Equation(self, as_expression(other, "The right side of '=='"))

    def __and__(self, other: Any) -> Any:
        return _apply_binary("logical_and", self, other)

    def __rand__(self, other: Any) -> Any:
        return _apply_binary("logical_and", other, self)

    def __or__(self, other: Any) -> Any:
        return _apply_binary("logical_or", self, other)

    def __ror__(self, other: Any) -> Any:
        return _apply_binary("logical_or", other, self)

    def __invert__(self) -> "Expression":
        return apply_function("logical_not", self)

    def __neg__(self) -> "Expression":
        return Expression(-self.sx)

    def __pos__(self) -> "Expression":
        return self

    def __abs__(self) -> "Expression":
        return Expression(ca.fabs(self.sx))

    def __floor__(self) -> "Expression":
        return Expression(ca.floor(self.sx))

    def __ceil__(self) -> "Expression":
        return Expression(ca.ceil(self.sx))

    def __trunc__(self) -> "Expression":
        return apply_function("trunc", self)

    def __round__(self, digits: int | None = None) -> "Expression":
        if digits is not None and not (isinstance(digits, int) and digits == 0):
            raise ExpressionError(
                f"Expressions are rounded to whole numbers, not to {show(digits)} digits.",
                "Write np.round(x / step) * step.",
            )
        return apply_function("round", self)

    def __bool__(self) -> bool:
        raise ExpressionError(
            f"Whether '{self}' holds is not known before the simulation.",
            "Choose between two values with np.where(condition, a, b); join conditions with & and |, each in brackets: "
            "(x > 0) & (v > 0); write np.maximum and np.minimum for max and min; take arrays of expressions element by "
            "element.",
        )

    def __float__(self) -> float:
        if self.sx.is_constant():
            return float(self.sx)
        raise ExpressionError(
            f"'{self}' is an expression, not a number.",
            "Use numpy's functions (np.sin, np.exp, ...) in place of math's.",
        )

    def __int__(self) -> int:
        return int(float(self))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        name = functions.SYNONYMS.get(ufunc.__name__, ufunc.__name__)
        if method != "__call__" or options:
            way = f"np.{ufunc.__name__}" + (f" with {', '.join(options)}" if options else f".{method}")
            raise ExpressionError(f"{way} cannot take expressions.", "Write the operation out.")
        if any(isinstance(value, np.ndarray) and value.ndim for value in inputs):
            return apply_to_entries(lambda *values: apply_function(name, *values), f"np.{ufunc.__name__}", inputs)
        return apply_function(name, *inputs)

    def __array_function__(self, function: Callable, types: Any, inputs: tuple, options: dict) -> Any:
        if function is np.where and len(inputs) == 3:
            return where(*inputs)
        if function is np.clip:
            return _clip(*inputs, **options)
        if function in (np.round, np.around):
            value, decimals, *_ = *inputs, options.get("decimals", 0)
            return round(value, decimals)
        if function is np.select:
            return _select(*inputs, **options)
        if function is np.piecewise:
            raise ExpressionError("np.piecewise cannot take expressions.", "Write np.where(condition, a, b).")
        raise ExpressionError(
            f"np.{function.__name__} cannot take expressions.",
            "Put the expressions in np.array([...], dtype=object) first, or write the operation out.",
        )


# On arrays of objects numpy calls the method of that name of every element.
for _called in (*functions.UNARY, *functions.BINARY, *functions.SYNONYMS):
    _name = functions.SYNONYMS.get(_called, _called)
    setattr(Expression, _called, lambda *values, _name=_name: apply_function(_name, *values))


@final
@dataclass(frozen=True, eq=False, repr=False)
class Equation:
    """lhs == rhs, made by `==` between expressions.

    Examples
    --------
    >>> from daedal.symbolic import symbols
    >>> x, v = symbols("x v")
    >>> 2 * x == v
    2*x == v
    """

    lhs: Expression
    rhs: Expression

    def __post_init__(self) -> None:
        for side, what in (("lhs", "The left side of an equation"), ("rhs", "The right side of an equation")):
            object.__setattr__(self, side, as_expression(getattr(self, side), what))

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        from daedal.symbolic.typesetting import write_mathml

        return write_mathml(self)

    @cached_property
    def _text(self) -> str:
        return f"{self.lhs} == {self.rhs}"

    @property
    def residual(self) -> Expression:
        """lhs − rhs."""
        return self.lhs - self.rhs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equation) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __bool__(self) -> bool:
        # Looking up a key may ask whether a symbol is itself; every other answer would let `a == b == c` lose `a == b`.
        if self.lhs.is_symbol and self.rhs.is_symbol and self.lhs.sx.name() == self.rhs.sx.name():
            return True
        raise ExpressionError(
            f"The equation '{self}' is neither true nor false.",
            "Write a == b == c as two equations; compare expressions by their text, str(a) == str(b), also to find one "
            "in a list; for arrays of equations, np.equal(a, b, dtype=object); in a condition, ~(a != b).",
        )


def where(condition: Any, yes: Any, no: Any) -> Any:
    """`yes` where the condition holds, else `no`; the same as `np.where`.

    Examples
    --------
    >>> from daedal.symbolic import symbol
    >>> x = symbol("x")
    >>> where(x > 0, x**2, 0)
    where(0 < x, x**2, 0)
    """
    if any(isinstance(value, np.ndarray) and value.ndim for value in (condition, yes, no)):
        return apply_to_entries(where, "where", (condition, yes, no))
    if isinstance(condition, Equation):
        raise ExpressionError(
            f"The condition of where is the equation '{condition}'.",
            f"Write np.where({condition.lhs} != {condition.rhs}, b, a), or a range, as few values are met exactly.",
        )
    parts = [as_expression(value, "A part of where") for value in (condition, yes, no)]
    refuse_nan(parts[0], "The condition of where")
    return Expression(functions.where(*(part.sx for part in parts)))


def _select(conditions: Sequence[Any], values: Sequence[Any], default: Any = 0.0) -> Any:
    """np.select: the value of the first condition that holds."""
    if len(conditions) != len(values):
        raise ExpressionError(
            f"np.select was given {len(conditions)} conditions and {len(values)} values.", "Give one value for each."
        )
    for condition, value in zip(reversed(conditions), reversed(values), strict=True):
        default = where(condition, value, default)
    return default


def _clip(value: Any, a_min: Any = None, a_max: Any = None, **bounds: Any) -> Any:
    """np.clip: None leaves a side open; numpy also calls the bounds min and max."""
    for name, bound in (("maximum", bounds.get("min", a_min)), ("minimum", bounds.get("max", a_max))):
        value = value if bound is None else apply_function(name, value, bound)
    return value


def as_expression(value: object, what: str) -> Expression:
    """The value as an expression; numbers become constants, anything else is refused in the name of `what`."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if is_real(value) or isinstance(value, np.bool_):
        try:
            return Expression(ca.SX(float(value)))
        except OverflowError:
            raise ExpressionError(
                f"{what} must be a number that fits into 64 bits, got one beyond 1.8e308.", "Use other units."
            ) from None
    if isinstance(value, str):
        remedy = f"Make it a symbol first: symbol({show(value)})." if NAME.fullmatch(value) else "Leave the quotes out."
        raise ExpressionError(f"{what} must be an expression, got the text {show(value)}.", remedy)
    if isinstance(value, Equation):
        raise ExpressionError(f"{what} must be an expression, got the equation '{value}'.", "Give one side of it.")
    is_complex = isinstance(value, numbers.Complex)
    raise ExpressionError(
        f"{what} must be an expression or a number, got {show(value)}.",
        "Write its real and imaginary parts apart." if is_complex else "Build it from symbols and numbers.",
    )


def _apply_binary(name: str, left: Any, right: Any) -> Any:
    if any(isinstance(value, np.ndarray) and value.ndim for value in (left, right)):
        return NotImplemented  # numpy then calls back element by element
    return apply_function(name, left, right)


def apply_function(name: str, *inputs: Any) -> Any:
    """The function of that numpy name, of expressions and numbers."""
    values = tuple(as_expression(value, "A term") for value in inputs)
    if name in functions.DECIDING:
        for value in values:
            refuse_nan(value, f"A term of {name}")
    if name == "equal":
        return Equation(*values)
    if name == "negative":
        return -values[0]
    if name == "positive":
        return values[0]
    function: Callable | None = (
        functions.UNARY.get(name) or functions.BINARY.get(name) or functions.ARITHMETIC.get(name)
    )
    if function is None:
        raise ExpressionError(
            f"np.{name} has no symbolic form.",
            "Known are " + ", ".join([*functions.UNARY, *functions.BINARY, "where", "clip"]) + ".",
        )
    return Expression(function(*(value.sx for value in values)))


def refuse_nan(value: Expression, what: str) -> None:
    """Refuse a constant that no condition can decide on."""
    if value.sx.is_constant() and isnan(float(value)):
        raise ExpressionError(
            f"{what} is NaN, which is neither above nor below anything.",
            "Give a number; inf where there is no limit.",
        )


def apply_to_entries(function: Callable[..., Any], name: str, values: Sequence[Any]) -> Any:
    """A function of every entry of arrays that go together, called `name` in sentences."""
    parts = [box(value) for value in values]
    try:
        np.broadcast_shapes(*(part.shape for part in parts))
    except (ValueError, RuntimeError):  # the second of more than 32 dimensions, as of a list that holds itself
        shapes = ", ".join(show(part.shape) if part.ndim <= 8 else f"of {part.ndim} dimensions" for part in parts)
        raise ExpressionError(f"The parts of {name} have the shapes {shapes}.", "Give all one shape.") from None
    with np.errstate(all="ignore"):  # numbers that are too large are judged one by one
        return np.frompyfunc(function, len(parts), 1)(*parts)


def box(value: Any) -> np.ndarray:
    """An array of objects; an expression inside one no longer takes part in numpy's dispatch."""
    try:
        return np.asarray(value, dtype=object)
    except Exception:  # whatever the method of a stranger raises
        raise ExpressionError(
            f"A term must be an expression, a number or an array of them, got {show(value)}.",
            "Build it from symbols and numbers.",
        ) from None
