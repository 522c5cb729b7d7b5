"""erf: x + x E(x²) for |x| < 1, else 1 − exp(−x²) G(1/(|x| + 2)) with minimax E and G.

exp(−x²) ≤ 0.37 there, so its error of an ulp and the rounding of x² count less than one ulp of the result.
"""

from daedal.kernels.emitter import Emitter
from daedal.kernels.math.coefficients import ERF, ERFC
from daedal.kernels.math.exponential import exponential

ONE_FROM = 6.0  # erf is 1 to double precision


def error_function(e: Emitter, x: str) -> str:
    one = e.constant(1.0)
    size = e.absolute(x)
    held = e.select(e.compare("ogt", size, e.constant(ONE_FROM)), e.constant(ONE_FROM), size)
    square = e.multiply(held, held)
    inner = e.compare("olt", size, one)
    near = e.select(inner, square, one)
    small = e.multiply_add(held, e.polynomial(near, ERF), held)
    ratio = e.divide(one, e.add(held, e.constant(2.0)))
    tail = e.multiply(exponential(e, e.negate(square)), e.polynomial(ratio, ERFC))
    return e.copy_sign(e.select(inner, small, e.subtract(one, tail)), x)
