"""sin, cos and tan.

x = q π/2 + r with |r| ≤ π/4, π/2 as a sum of three doubles (159 bits) and r of two, so that sin keeps its relative
accuracy beside every multiple of π (Cody and Waite 1980). Then sin r = r + r³ S(r²), cos r = 1 − r²/2 + r⁴ C(r²) with
minimax S and C; the two lowest bits of q choose between them and give the signs. Sine and cosine of one argument are
made together.
"""

from daedal.kernels.emitter import Emitter
from daedal.kernels.math.coefficients import COS, HALF_PI, SIN

LIMIT = 2.0**30
TWO_OVER_PI = 0.6366197723675814


def remainder_of_half_pi(e: Emitter, x: str) -> tuple[str, str, str]:
    """r as two doubles, and q in the low bits of integers."""
    q, count = e.round(x, TWO_OVER_PI)
    first, second, third = (e.constant(part) for part in HALF_PI)
    minus_q = e.negate(q)
    if e.fused:
        start, low = e.multiply_add(minus_q, first, x), e.constant(0.0)  # exact: a multiple of 2^-52 smaller than 1
    else:
        high, rest = e.two_product(q, first)
        start, low = e.two_sum(e.subtract(x, high), e.negate(rest))
    high, rest = e.two_product(minus_q, second)
    r, lost = e.two_sum(start, high)
    tail = e.multiply_add(minus_q, third, e.add(lost, rest))
    return r, tail if e.fused else e.add(low, tail), count


def in_quadrant(e: Emitter, r: str, low: str | None, count: str) -> tuple[str, str]:
    """sin and cos of r + low + count·π/2, |r| ≤ π/4."""
    z = e.multiply(r, r)
    half = e.multiply(z, e.constant(0.5))
    near = e.subtract(e.constant(1.0), half)
    sine = e.multiply(e.multiply(z, r), e.polynomial(z, SIN))
    cosine = e.multiply(e.multiply(z, z), e.polynomial(z, COS))
    if low is not None:
        sine = e.multiply_add(low, near, sine)
        cosine = e.subtract(cosine, e.multiply(r, low))
    sine = e.add(r, sine)
    cosine = e.add(near, e.add(e.subtract(e.subtract(e.constant(1.0), near), half), cosine))
    swap = e.nonzero(e.bitwise("and", count, e.integer(1)))
    next_count = e.bitwise("add", count, e.integer(1))
    return (
        e.flip_sign(e.select(swap, cosine, sine), e.bitwise("shl", count, e.integer(62))),
        e.flip_sign(e.select(swap, sine, cosine), e.bitwise("shl", next_count, e.integer(62))),
    )


def sine_and_cosine(e: Emitter, x: str) -> tuple[str, str]:
    known = e.compare("ole", e.absolute(x), e.constant(LIMIT))
    held = e.select(known, x, e.constant(float("nan")))
    sine, cosine = in_quadrant(e, *remainder_of_half_pi(e, held))
    return e.select(e.compare("oeq", x, e.constant(0.0)), x, sine), cosine


def tangent(e: Emitter, x: str) -> str:
    return e.divide(*sine_and_cosine(e, x))


def sine_and_cosine_of_turns(e: Emitter, turns: str) -> tuple[str, str]:
    """sin and cos of 2π·turns for 0 ≤ turns < 1: the reduction is exact."""
    quarters = e.multiply(turns, e.constant(4.0))
    q, count = e.round(turns, 4.0)
    return in_quadrant(e, e.multiply(e.subtract(quarters, q), e.constant(HALF_PI[0])), None, count)
