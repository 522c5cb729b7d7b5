"""Expressions and equations: what a user types."""

from daedal.symbolic.expression import (
    NAME,
    RESERVED,
    Equation,
    Expression,
    as_expression,
    interned,
    symbol,
    symbols,
    time,
    where,
)
from daedal.symbolic.operators import (
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
from daedal.symbolic.reading import read_equation, read_expression
from daedal.symbolic.writing import number_text

__all__ = [
    "NAME",
    "RESERVED",
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
