"""atan, atan2, asin and acos.

With a = min(|y|, |x|)/max(|y|, |x|) the angle is atan a, π/2 − atan a, … by octant; a > tan(π/8) is replaced by
(a − 1)/(a + 1) and π/4 added. So one division, and atan t = t + t³ A(t²) with minimax A on |t| ≤ tan(π/8).
The angle is j π/4 ± atan t with π/4 in two parts whose first has 50 bits: j times it is exact.
"""

from daedal.kernels.emitter import Emitter
from daedal.kernels.math.coefficients import ATAN, EIGHTH_TURN_HIGH, EIGHTH_TURN_LOW

TAN_EIGHTH_PI = 0.41421356237309503


def angle(e: Emitter, y: str, x: str, left: str | None) -> str:
    """Angle in [0, π] of the point (±x, y), x ≥ 0, y ≥ 0, not both infinite or zero; `left` is the mask of −x."""
    steep = e.compare("ogt", y, x)
    small, large = e.select(steep, x, y), e.select(steep, y, x)
    middle = e.compare("ogt", small, e.multiply(large, e.constant(TAN_EIGHTH_PI)))
    numerator = e.select(middle, e.subtract(small, large), small)
    denominator = e.select(middle, e.add(small, large), large)
    t = e.divide(numerator, denominator)
    z = e.multiply(t, t)
    value = e.multiply_add(e.multiply(t, z), e.polynomial(z, ATAN), t)
    eighths = e.select(middle, e.constant(1.0), e.constant(0.0))
    eighths = e.select(steep, e.subtract(e.constant(2.0), eighths), eighths)
    value = e.select(steep, e.negate(value), value)
    if left is not None:
        eighths = e.select(left, e.subtract(e.constant(4.0), eighths), eighths)
        value = e.select(left, e.negate(value), value)
    low = e.multiply_add(eighths, e.constant(EIGHTH_TURN_LOW), value)
    return e.multiply_add(eighths, e.constant(EIGHTH_TURN_HIGH), low)


def arctangent(e: Emitter, x: str) -> str:
    size = e.absolute(x)
    held = e.select(e.compare("ogt", size, e.constant(1e300)), e.constant(1e300), size)
    return e.copy_sign(angle(e, held, e.constant(1.0), None), x)


def arctangent2(e: Emitter, y: str, x: str) -> str:
    zero, one, infinity = e.constant(0.0), e.constant(1.0), e.constant(float("inf"))
    height, width = e.absolute(y), e.absolute(x)
    large = e.maximum(height, width)
    scale = e.select(e.compare("ogt", large, e.constant(2.0**1000)), e.constant(2.0**-60), one)
    a, b = e.multiply(height, scale), e.multiply(width, scale)
    unbounded = e.compare("oeq", large, infinity)
    a = e.select(unbounded, e.select(e.compare("oeq", height, infinity), one, zero), a)
    b = e.select(unbounded, e.select(e.compare("oeq", width, infinity), one, zero), b)
    b = e.select(e.compare("oeq", large, zero), one, b)
    left = e.nonzero(e.bitwise("lshr", e.as_integer(x), e.integer(63)))
    value = e.copy_sign(angle(e, a, b, left), y)
    return e.select(e.compare("uno", x, y), e.constant(float("nan")), value)


def complement(e: Emitter, x: str) -> str:
    """√(1 − x²) as √((1 − x)(1 + x)), which keeps its digits beside ±1."""
    one = e.constant(1.0)
    return e.square_root(e.multiply(e.subtract(one, x), e.add(one, x)))


def arcsine(e: Emitter, x: str) -> str:
    return e.copy_sign(angle(e, e.absolute(x), complement(e, x), None), x)


def arccosine(e: Emitter, x: str) -> str:
    left = e.compare("olt", x, e.constant(0.0))
    return angle(e, complement(e, x), e.absolute(x), left)
