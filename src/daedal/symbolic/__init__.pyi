from .evaluation import BufferedFunction
from .expression import NAME, RESERVED, Equation, Expression, as_expression, interned, symbol, symbols, time, where
from .operators import (
    Delayed,
    Derivative,
    delay,
    der,
    derivative_name,
    differentiate,
    expand,
    jet,
    operator,
    renamed,
    symbols_in,
)
from .reading import read_equation, read_expression
from .writing import number_text

__all__ = [
    "NAME",
    "RESERVED",
    "BufferedFunction",
    "Delayed",
    "Derivative",
    "Equation",
    "Expression",
    "as_expression",
    "delay",
    "der",
    "derivative_name",
    "differentiate",
    "expand",
    "interned",
    "jet",
    "number_text",
    "operator",
    "read_equation",
    "read_expression",
    "renamed",
    "symbol",
    "symbols",
    "symbols_in",
    "time",
    "where",
]
