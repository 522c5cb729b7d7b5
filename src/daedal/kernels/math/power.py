"""x^y = exp(y log x) with the logarithm as an unevaluated sum of two doubles (Dekker 1971).

|y log x| reaches 745, so log x is needed to 2^-65: log m = 2s + s z (2/3 + z P(z)), s = f/(2 + f), z = s², where s,
z and the bracket are carried as two doubles and only z P, smaller than 2/3 by 2^-6, as one.
A negative x needs an integer y; infinities, zeros, 0⁰ = 1 and 1^NaN = 1 follow C99, annex F.9.4.4.
"""

from daedal.kernels.emitter import Emitter
from daedal.kernels.math.coefficients import LN2_HIGH, LN2_LOW, LOG_TAIL, TWO_THIRDS_LOW
from daedal.kernels.math.exponential import LARGEST, SMALLEST, clamp, reduce_argument, scale_by_power
from daedal.kernels.math.logarithmic import split_any
from daedal.kernels.math.rounding import odd_integer, round_toward_minus

Pair = tuple[str, str]
HUGE_EXPONENT = 2.0**70  # even, and large enough for every x but ±1 to overflow or vanish


def product(e: Emitter, a: Pair, b: Pair) -> Pair:
    """a·b of sums of two doubles."""
    high, low = e.two_product(a[0], b[0])
    cross = e.multiply_add(a[0], b[1], e.multiply(a[1], b[0]))
    return high, e.add(low, cross)


def quotient(e: Emitter, m: str) -> Pair:
    """s = (m − 1)/(m + 1) as two doubles."""
    one = e.constant(1.0)
    f, g = e.subtract(m, one), e.add(m, one)
    g_low = e.subtract(m, e.subtract(g, one))
    inverse = e.divide(one, g)
    high = e.multiply(f, inverse)
    back, back_low = e.two_product(high, g)
    rest = e.subtract(e.subtract(f, back), back_low)
    rest = e.subtract(rest, e.multiply(high, g_low))
    return high, e.multiply(rest, inverse)


def pair_logarithm(e: Emitter, x: str) -> Pair:
    """log x of positive finite x as two doubles, to 2^-65."""
    k, m = split_any(e, x)
    s = quotient(e, m)
    z = product(e, s, s)
    bracket, low = e.fast_two_sum(e.constant(2.0 / 3.0), e.multiply(z[0], e.polynomial(z[0], LOG_TAIL)))
    cubic = product(e, s, product(e, z, (bracket, e.add(low, e.constant(TWO_THIRDS_LOW)))))
    high, low = e.fast_two_sum(e.add(s[0], s[0]), cubic[0])
    low = e.add(low, e.add(e.add(s[1], s[1]), cubic[1]))
    total, rest = e.fast_two_sum(e.multiply(k, e.constant(LN2_HIGH)), high)
    rest = e.add(rest, e.multiply_add(k, e.constant(LN2_LOW), low))
    return e.fast_two_sum(total, rest)


def magnitude(e: Emitter, x: str, y: str) -> str:
    """exp(y log x) of positive finite x and |y| ≤ HUGE_EXPONENT."""
    high, low = pair_logarithm(e, x)
    exponent, rest = e.two_product(y, high)
    rest = e.multiply_add(y, low, rest)
    inside = clamp(e, exponent, SMALLEST, LARGEST)
    rest = e.select(e.compare("une", inside, exponent), e.constant(0.0), rest)
    part, count = reduce_argument(e, inside)
    value = e.add(part, e.constant(1.0))
    return scale_by_power(e, e.multiply_add(value, rest, value), count)


def power(e: Emitter, x: str, y: str) -> str:
    zero, one, infinity = e.constant(0.0), e.constant(1.0), e.constant(float("inf"))
    size = e.absolute(x)
    limited = clamp(e, y, -HUGE_EXPONENT, HUGE_EXPONENT)
    extreme = e.mask("or", e.compare("oeq", size, zero), e.compare("oeq", size, infinity))
    value = magnitude(e, e.select(extreme, one, size), limited)
    grows = e.mask("xor", e.compare("oeq", size, infinity), e.compare("olt", y, zero))
    value = e.select(extreme, e.select(grows, infinity, zero), value)
    value = e.select(e.compare("uno", x, y), e.constant(float("nan")), value)
    odd = odd_integer(e, limited)
    value = e.select(odd, e.copy_sign(value, x), value)
    whole = e.compare("oeq", round_toward_minus(e, limited), limited)
    root = e.mask("and", e.compare("olt", x, zero), e.compare("one", size, infinity))
    root = e.mask("and", root, e.invert(whole))
    value = e.select(root, e.constant(float("nan")), value)
    trivial = e.mask("or", e.compare("oeq", x, one), e.compare("oeq", y, zero))
    return e.select(trivial, one, value)
