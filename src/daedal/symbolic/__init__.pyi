from .evaluation import BufferedFunction
from .expression import NAME, Equation, Expression, as_expression, box, where
from .functions import CHOOSING
from .jacobian import write_jacobian
from .operators import (
    Delayed, Derivative, Held, Latched, delay, der, differentiate, expand, find_operator, hold, hysteresis, jet,
    list_plain_symbols, list_symbols, name_derivative, rename_symbols, stack_symbols,
)
from .parsing import read_equation, read_expression
from .symbol_table import RESERVED, intern_symbol, symbol, symbols, time
from .typesetting import write_latex, write_mathml
from .writing import write_number

__all__ = [
    "BufferedFunction", "CHOOSING", "Delayed", "Derivative", "Equation", "Expression", "Held", "Latched", "NAME",
    "RESERVED", "as_expression", "box", "delay", "der", "differentiate", "expand", "find_operator", "hold",
    "hysteresis", "intern_symbol", "jet", "list_plain_symbols", "list_symbols", "name_derivative", "read_equation",
    "read_expression", "rename_symbols", "stack_symbols", "symbol", "symbols", "time", "where",
    "write_jacobian", "write_latex", "write_mathml", "write_number",
]
