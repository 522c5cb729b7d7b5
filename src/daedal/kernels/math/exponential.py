"""exp, expm1 and the hyperbolic functions.

x = n ln 2 + r with |r| ≤ ln(2)/2, ln 2 in two parts whose first has 42 bits, so that n times it is exact; then
expm1(r) = r + r² q(r) with a minimax q, and exp(x) = 2ⁿ (1 + expm1(r)), expm1(x) = 2ⁿ (expm1(r) + (1 − 2⁻ⁿ)).
The factor 2ⁿ is applied in two halves, so that results beyond 2^1023 or below 2^-1022 are rounded once, correctly.
"""

from daedal.kernels.emitter import ROUNDING_BITS, Emitter
from daedal.kernels.math.coefficients import EXP, LN2_HIGH, LN2_LOW

LOG2_E = 1.4426950408889634
LARGEST = 710.0  # exp of it overflows; so does half of exp(711)
SMALLEST = -746.0  # exp of it underflows to 0


def clamp(e: Emitter, x: str, low: float, high: float) -> str:
    """x held within [low, high]; NaN stays."""
    lifted = e.select(e.compare("olt", x, e.constant(low)), e.constant(low), x)
    return e.select(e.compare("ogt", lifted, e.constant(high)), e.constant(high), lifted)


def reduce_argument(e: Emitter, x: str) -> tuple[str, str]:
    """expm1(r), and n + ROUNDING_BITS, for x = n ln 2 + r."""
    n, count = e.round(x, LOG2_E)
    minus_n = e.negate(n)
    start = e.multiply_add(minus_n, e.constant(LN2_HIGH), x)
    r = e.multiply_add(minus_n, e.constant(LN2_LOW), start)
    lost = e.multiply_add(minus_n, e.constant(LN2_LOW), e.subtract(start, r))
    tail = e.multiply_add(e.multiply(r, r), e.polynomial(r, EXP), lost)
    return e.add(r, tail), count


def scale_by_power(e: Emitter, value: str, count: str, shift: int = 0) -> str:
    """value · 2^(n + shift), in two halves; `count` is n + ROUNDING_BITS."""
    exponent = e.bitwise("sub", count, e.integer(ROUNDING_BITS - 2048 - shift))
    first = e.bitwise("lshr", exponent, e.integer(1))
    second = e.bitwise("sub", exponent, first)
    return e.multiply(e.multiply(value, power_of_two(e, first)), power_of_two(e, second))


def power_of_two(e: Emitter, exponent: str) -> str:
    """2^(exponent − 1024) for integers from 2 to 2047."""
    return e.as_double(e.bitwise("shl", e.bitwise("sub", exponent, e.integer(1)), e.integer(52)))


def exponential(e: Emitter, x: str) -> str:
    part, count = reduce_argument(e, clamp(e, x, SMALLEST, LARGEST))
    return scale_by_power(e, e.add(part, e.constant(1.0)), count)


def half_exponential(e: Emitter, x: str) -> str:
    """exp(x)/2, finite up to x = 710.47."""
    part, count = reduce_argument(e, clamp(e, x, SMALLEST, LARGEST + 1.0))
    return scale_by_power(e, e.add(part, e.constant(1.0)), count, -1)


def exponential_minus_one(e: Emitter, x: str, shift: int = 0) -> str:
    """2^shift · expm1(x)."""
    part, count = reduce_argument(e, clamp(e, x, -40.0, LARGEST + 1.0))
    opposite = e.bitwise("sub", e.integer(2 * ROUNDING_BITS), count)
    rest = e.subtract(e.constant(1.0), scale_by_power(e, e.constant(1.0), opposite))
    value = scale_by_power(e, e.add(part, rest), count, shift)
    return e.select(e.compare("oeq", x, e.constant(0.0)), x, value)


def hyperbolic_sine(e: Emitter, x: str) -> str:
    """h + h/(2h + 1) with h = expm1(|x|)/2."""
    h = exponential_minus_one(e, e.absolute(x), -1)
    other = e.divide(h, e.multiply_add(h, e.constant(2.0), e.constant(1.0)))
    infinite = e.compare("oeq", h, e.constant(float("inf")))
    return e.copy_sign(e.add(h, e.select(infinite, e.constant(0.0), other)), x)


def hyperbolic_cosine(e: Emitter, x: str) -> str:
    """g + 1/(4g) with g = exp(|x|)/2."""
    g = half_exponential(e, e.absolute(x))
    return e.add(g, e.divide(e.constant(0.25), g))


def hyperbolic_tangent(e: Emitter, x: str) -> str:
    """m/(m + 2) with m = expm1(2|x|); 1 to double precision from |x| = 22."""
    twice = clamp(e, e.multiply(e.absolute(x), e.constant(2.0)), 0.0, 44.0)
    m = exponential_minus_one(e, twice)
    return e.copy_sign(e.divide(m, e.add(m, e.constant(2.0))), x)
