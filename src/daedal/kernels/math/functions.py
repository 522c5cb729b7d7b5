"""The functions that a tape may call, with the range on which each is within 4 units in the last place.

Outside its range a function gives NaN, never a wrong number. Each is written once as LLVM text for any vector width,
with or without fused multiply-add, calls no scalar library, and treats ±0, ±∞ and NaN as C99 does.
"""

from collections.abc import Callable
from typing import NamedTuple

from daedal.kernels.emitter import Emitter
from daedal.kernels.math import arctangent, error_function, exponential, logarithmic, power, rounding, trigonometric


class VectorFunction(NamedTuple):
    """How to emit a function of `arity` vectors, and where its accuracy holds."""

    arity: int
    emit: Callable[..., str | tuple[str, str]]
    range: str


FUNCTIONS: dict[str, VectorFunction] = {
    "exp": VectorFunction(1, exponential.exponential, "all x, subnormal results too"),
    "expm1": VectorFunction(1, exponential.exponential_minus_one, "all x"),
    "sinh": VectorFunction(1, exponential.hyperbolic_sine, "all x"),
    "cosh": VectorFunction(1, exponential.hyperbolic_cosine, "all x"),
    "tanh": VectorFunction(1, exponential.hyperbolic_tangent, "all x"),
    "log": VectorFunction(1, logarithmic.logarithm, "all x, subnormal too"),
    "log1p": VectorFunction(1, logarithmic.logarithm_plus_one, "all x"),
    "asinh": VectorFunction(1, logarithmic.inverse_hyperbolic_sine, "all x"),
    "acosh": VectorFunction(1, logarithmic.inverse_hyperbolic_cosine, "all x"),
    "atanh": VectorFunction(1, logarithmic.inverse_hyperbolic_tangent, "all x"),
    "pow": VectorFunction(2, power.power, "all x, y; subnormal results to 4 times the smallest number"),
    "sincos": VectorFunction(1, trigonometric.sine_and_cosine, "|x| ≤ 2^30"),
    "tan": VectorFunction(1, trigonometric.tangent, "|x| ≤ 2^30"),
    "atan": VectorFunction(1, arctangent.arctangent, "all x"),
    "atan2": VectorFunction(2, arctangent.arctangent2, "all y, x"),
    "asin": VectorFunction(1, arctangent.arcsine, "all x"),
    "acos": VectorFunction(1, arctangent.arccosine, "all x"),
    "erf": VectorFunction(1, error_function.error_function, "all x"),
    "hypot": VectorFunction(2, rounding.hypotenuse, "all x, y"),
    "fmod": VectorFunction(2, rounding.remainder, "exact for |x/y| < 2^52"),
    "floor": VectorFunction(1, rounding.round_toward_minus, "exact"),
    "ceil": VectorFunction(1, rounding.round_toward_plus, "exact"),
}


def define_function(name: str, width: int, fused: bool, attributes: str) -> str:
    """The text of the internal LLVM function `@daedal.<name>` on vectors of `width` doubles."""
    function, emitter = FUNCTIONS[name], Emitter(width, fused)
    arguments = [f"%a{i}" for i in range(function.arity)]
    values = function.emit(emitter, *arguments)
    return emitter.define_function(name, arguments, values if isinstance(values, tuple) else (values,), attributes)
