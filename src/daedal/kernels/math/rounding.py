"""floor, ceil, remainder, sign, length: what rounds or selects, and needs no polynomial.

Rounding adds and subtracts 2^52, which works on targets without a rounding instruction too.
"""

from daedal.kernels.emitter import Emitter

WHOLE = 2.0**52  # doubles from here on are integers


def nearest(e: Emitter, x: str) -> str:
    """x rounded to the nearest integer, ties to even, with the sign of x."""
    size = e.absolute(x)
    rounded = e.subtract(e.add(size, e.constant(WHOLE)), e.constant(WHOLE))
    return e.select(e.compare("olt", size, e.constant(WHOLE)), e.copy_sign(rounded, x), x)


def round_toward_minus(e: Emitter, x: str) -> str:
    """⌊x⌋."""
    rounded = nearest(e, x)
    lower = e.subtract(rounded, e.constant(1.0))
    return e.copy_sign(e.select(e.compare("ogt", rounded, x), lower, rounded), x)


def round_toward_plus(e: Emitter, x: str) -> str:
    """⌈x⌉ = −⌊−x⌋."""
    return e.negate(round_toward_minus(e, e.negate(x)))


def odd_integer(e: Emitter, y: str) -> str:
    """A mask: y is an odd integer."""
    half = e.multiply(y, e.constant(0.5))
    whole = e.compare("oeq", round_toward_minus(e, y), y)
    return e.mask("and", whole, e.compare("une", round_toward_minus(e, half), half))


def sign(e: Emitter, x: str) -> str:
    """−1, 1, and x itself at 0 and NaN."""
    return e.select(e.compare("one", x, e.constant(0.0)), e.copy_sign(e.constant(1.0), x), x)


def remainder(e: Emitter, x: str, y: str) -> str:
    """x − y·trunc(x/y), exact; NaN where |x/y| ≥ 2^52.

    The rounded quotient is at most one too large; x − q y is a multiple of the last digit and at most y, so exact.
    """
    a, b = e.absolute(x), e.absolute(y)
    quotient = e.divide(a, b)
    quotient = e.select(e.compare("olt", quotient, e.constant(WHOLE)), quotient, e.constant(float("nan")))
    count = round_toward_minus(e, quotient)
    high, low = e.two_product(count, b)
    rest = e.subtract(e.subtract(a, high), low)
    rest = e.select(e.compare("olt", rest, e.constant(0.0)), e.add(rest, b), rest)
    rest = e.select(e.compare("oge", rest, b), e.subtract(rest, b), rest)
    endless = e.mask("and", e.compare("oeq", b, e.constant(float("inf"))), e.compare("olt", a, b))
    return e.copy_sign(e.select(endless, a, rest), x)


def hypotenuse(e: Emitter, x: str, y: str) -> str:
    """√(x² + y²), scaled by a power of two where the squares would overflow or underflow."""
    a, b = e.absolute(x), e.absolute(y)
    large = e.maximum(a, b)
    up = e.select(e.compare("olt", large, e.constant(2.0**-450)), e.constant(2.0**600), e.constant(1.0))
    scale = e.select(e.compare("ogt", large, e.constant(2.0**450)), e.constant(2.0**-600), up)
    down = e.select(e.compare("olt", large, e.constant(2.0**-450)), e.constant(2.0**-600), e.constant(1.0))
    unscale = e.select(e.compare("ogt", large, e.constant(2.0**450)), e.constant(2.0**600), down)
    a, b = e.multiply(a, scale), e.multiply(b, scale)
    value = e.multiply(e.square_root(e.multiply_add(a, a, e.multiply(b, b))), unscale)
    return e.select(e.compare("oeq", large, e.constant(float("inf"))), large, value)
