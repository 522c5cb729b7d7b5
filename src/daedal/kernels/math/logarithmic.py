"""log, log1p and the inverse hyperbolic functions.

x = 2ᵏ m with √½ ≤ m < √2, f = m − 1 (exact), s = f/(2 + f); then log m = log((1+s)/(1−s)) = 2s + s R(s²), R minimax,
arranged as f − (f²/2 − s (f²/2 + R)) so that the leading term f carries no rounding. k ln 2 is added in two parts.
"""

from daedal.kernels.emitter import Emitter, read_bits
from daedal.kernels.math.coefficients import LN2_HIGH, LN2_LOW, LOG

ROOT_HALF_BITS = 0x3FE6A09E667F3BCD
MANTISSA = (1 << 52) - 1
LN2 = 0.6931471805599453
LARGE = 2.0**60  # beyond, √(a² ± 1) = a and log1p a = log a to double precision


def split(e: Emitter, x: str) -> tuple[str, str]:
    """k and m of a positive normal x = 2ᵏ m, √½ ≤ m < √2."""
    shifted = e.bitwise("add", e.as_integer(x), e.integer((1024 << 52) - ROOT_HALF_BITS))
    exponent = e.bitwise("or", e.bitwise("lshr", shifted, e.integer(52)), e.integer(read_bits(2.0**52)))
    k = e.subtract(e.as_double(exponent), e.constant(2.0**52 + 1024.0))
    fraction = e.bitwise("and", shifted, e.integer(MANTISSA))
    return k, e.as_double(e.bitwise("add", fraction, e.integer(ROOT_HALF_BITS)))


def split_any(e: Emitter, x: str) -> tuple[str, str]:
    """k and m of a positive x, subnormal too."""
    small = e.compare("olt", x, e.constant(2.0**-1022))
    k, m = split(e, e.select(small, e.multiply(x, e.constant(2.0**54)), x))
    return e.subtract(k, e.select(small, e.constant(54.0), e.constant(0.0))), m


def combine_logarithm(e: Emitter, k: str, m: str) -> str:
    """k ln 2 + log m."""
    f = e.subtract(m, e.constant(1.0))
    s = e.divide(f, e.add(f, e.constant(2.0)))
    z = e.multiply(s, s)
    rest = e.multiply(z, e.polynomial(z, LOG))
    half_square = e.multiply(e.multiply(f, f), e.constant(0.5))
    inner = e.multiply_add(s, e.add(half_square, rest), e.multiply(k, e.constant(LN2_LOW)))
    low = e.subtract(e.subtract(half_square, inner), f)
    return e.subtract(e.multiply(k, e.constant(LN2_HIGH)), low)


def normal_logarithm(e: Emitter, x: str) -> str:
    """log x of positive normal numbers, nothing else checked."""
    return combine_logarithm(e, *split(e, x))


def logarithm(e: Emitter, x: str) -> str:
    value = combine_logarithm(e, *split_any(e, x))
    value = e.select(e.compare("oeq", x, e.constant(float("inf"))), x, value)
    value = e.select(e.compare("oeq", x, e.constant(0.0)), e.constant(float("-inf")), value)
    invalid = e.mask("or", e.compare("olt", x, e.constant(0.0)), e.compare("uno", x, x))
    return e.select(invalid, e.constant(float("nan")), value)


def logarithm_plus_one(e: Emitter, x: str) -> str:
    """log u + (x − (u − 1))/u with u = 1 + x rounded: the second term restores what the rounding of u lost."""
    u = e.add(x, e.constant(1.0))
    value = logarithm(e, u)
    lost = e.subtract(x, e.subtract(u, e.constant(1.0)))
    wide = e.compare("olt", e.absolute(value), e.constant(100.0))  # false for ±∞ and where nothing is lost
    corrected = e.add(value, e.select(wide, e.divide(lost, u), e.constant(0.0)))
    return e.select(e.compare("oeq", x, e.constant(0.0)), x, corrected)


def inverse_hyperbolic_sine(e: Emitter, x: str) -> str:
    """log1p(a + a²/(1 + √(a² + 1))), a = |x|."""
    a = e.absolute(x)
    large = e.compare("ogt", a, e.constant(LARGE))
    held = e.select(large, e.constant(1.0), a)
    square = e.multiply(held, held)
    root = e.square_root(e.add(square, e.constant(1.0)))
    inside = e.add(held, e.divide(square, e.add(root, e.constant(1.0))))
    return e.copy_sign(_log_or_log_of_twice(e, a, large, inside), x)


def inverse_hyperbolic_cosine(e: Emitter, x: str) -> str:
    """log1p(t + √(2t + t²)), t = x − 1."""
    large = e.compare("ogt", x, e.constant(LARGE))
    t = e.subtract(e.select(large, e.constant(2.0), x), e.constant(1.0))
    root = e.square_root(e.multiply(t, e.add(t, e.constant(2.0))))
    below = e.compare("olt", t, e.constant(0.0))
    inside = e.select(below, e.constant(float("nan")), e.add(t, root))
    return _log_or_log_of_twice(e, x, large, inside)


def _log_or_log_of_twice(e: Emitter, a: str, large: str, inside: str) -> str:
    """log a + ln 2 where `large`, else log1p(inside): one logarithm for both."""
    argument = e.select(large, a, inside)
    value = logarithm_plus_one(e, argument)
    return e.select(large, e.add(value, e.constant(LN2)), value)


def inverse_hyperbolic_tangent(e: Emitter, x: str) -> str:
    """log1p(2a + 2a·a/(1 − a))/2, a = |x|."""
    a = e.absolute(x)
    twice = e.add(a, a)
    inside = e.multiply_add(twice, e.divide(a, e.subtract(e.constant(1.0), a)), twice)
    one = e.compare("oeq", a, e.constant(1.0))
    inside = e.select(one, e.constant(float("inf")), inside)
    inside = e.select(e.compare("ogt", a, e.constant(1.0)), e.constant(float("nan")), inside)
    return e.copy_sign(e.multiply(logarithm_plus_one(e, inside), e.constant(0.5)), x)
