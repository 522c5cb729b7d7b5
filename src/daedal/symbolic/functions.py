"""The functions an expression may contain, under their numpy names, as functions of CasADi SX.

One table serves three readers: numpy dispatch (`np.sin(x)`), the text form (`sin(x)`), and its reader.
"""

from collections.abc import Callable

import casadi as ca
import numpy as np

UNARY: dict[str, Callable[[ca.SX], ca.SX]] = {
    "sin": ca.sin,
    "cos": ca.cos,
    "tan": ca.tan,
    "arcsin": ca.asin,
    "arccos": ca.acos,
    "arctan": ca.atan,
    "sinh": ca.sinh,
    "cosh": ca.cosh,
    "tanh": ca.tanh,
    "arcsinh": ca.asinh,
    "arccosh": ca.acosh,
    "arctanh": ca.atanh,
    "exp": ca.exp,
    "expm1": ca.expm1,
    "log": ca.log,
    "log1p": ca.log1p,
    "log10": ca.log10,
    "log2": lambda x: ca.log(x) / np.log(2.0),
    "sqrt": ca.sqrt,
    "abs": ca.fabs,
    "sign": ca.sign,
    "floor": ca.floor,
    "ceil": ca.ceil,
    "round": lambda x: ca.floor(x + 0.5),  # not to even half-way between integers, where nothing ever is
    "trunc": lambda x: ca.sign(x) * ca.floor(ca.fabs(x)),
    "square": lambda x: x**2,
    "reciprocal": lambda x: 1 / x,
    "deg2rad": lambda x: x * (np.pi / 180.0),
    "rad2deg": lambda x: x * (180.0 / np.pi),
    "erf": ca.erf,
    "logical_not": ca.logic_not,
}

BINARY: dict[str, Callable[[ca.SX, ca.SX], ca.SX]] = {
    "arctan2": ca.atan2,
    "hypot": ca.hypot,
    "maximum": ca.fmax,
    "minimum": ca.fmin,
    "fmod": ca.fmod,
    "copysign": ca.copysign,
    "heaviside": lambda x, middle: ca.if_else(x > 0, 1.0, ca.if_else(x < 0, 0.0, middle)),
    "logical_and": ca.logic_and,
    "logical_or": ca.logic_or,
}

ARITHMETIC: dict[str, Callable[[ca.SX, ca.SX], ca.SX]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "power": lambda a, b: a**b,
    "float_power": lambda a, b: a**b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "not_equal": lambda a, b: a != b,
}

# Names numpy gives to functions that stand above under another name.
SYNONYMS = {
    "absolute": "abs",
    "fabs": "abs",
    "fmax": "maximum",
    "fmin": "minimum",
    "radians": "deg2rad",
    "degrees": "rad2deg",
    "rint": "round",
}

# Functions that decide between values, for which there is no answer with NaN.
DECIDING = frozenset(
    {"less", "less_equal", "greater", "greater_equal", "not_equal"}
    | {"logical_and", "logical_or", "logical_not", "maximum", "minimum", "sign"}
)

# Operations of CasADi that jump or have a kink.
CHOOSING = frozenset(
    getattr(ca, f"OP_{name}")
    for name in ("SIGN", "FABS", "FMIN", "FMAX", "COPYSIGN", "LT", "LE", "EQ", "NE", "FLOOR", "CEIL", "FMOD")
) | {ca.OP_IF_ELSE_ZERO}


def where(condition: ca.SX, yes: ca.SX, no: ca.SX) -> ca.SX:
    """The value of one branch; the other may be non-finite."""
    return ca.if_else(condition, yes, no)
