"""Text of LLVM instructions on vectors of W doubles, one trajectory per lane.

An `Emitter` collects the lines of one function body; every method appends an instruction and returns the name of its
value. Text is written directly because building it with objects takes longer than compiling it. Rounding is never
relaxed: no instruction may be reassociated, and products are fused into sums only where `contract` or `fma` says so.

Error-free transformations (Dekker 1971, Knuth 1969) carry what double precision alone would lose:
a + b = s + e and a·b = p + e exactly, with s, p the rounded results.
"""

import struct
from collections.abc import Sequence
from typing import final

ROUNDING = 1.5 * 2.0**52  # adding it to |x| < 2^51 leaves round(x) in the low bits
ROUNDING_BITS = 0x4338000000000000
SPLIT = 2.0**27 + 1.0


def bits_of(value: float) -> int:
    """The 64 bits of a double."""
    return struct.unpack("<Q", struct.pack("<d", value))[0]


@final
class Emitter:
    """Lines of a function on vectors of `width` doubles; `fused`: the target multiplies and adds in one operation."""

    def __init__(self, width: int, fused: bool, contract: bool = False) -> None:
        self.width = width
        self.fused = fused
        self.doubles = f"<{width} x double>"
        self.integers = f"<{width} x i64>"
        self.masks = f"<{width} x i1>"
        self.lines: list[str] = []
        self._count = 0
        self._flags = "contract " if contract else ""

    def new(self, instruction: str) -> str:
        """Appends an instruction and names its value."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def take(self) -> list[str]:
        """The lines so far, which are then no longer held; names go on counting."""
        lines, self.lines = self.lines, []
        return lines

    def constant(self, value: float) -> str:
        """The same double in all lanes."""
        return f"splat (double 0x{bits_of(value):016X})"

    def integer(self, value: int) -> str:
        """The same 64-bit integer in all lanes."""
        return f"splat (i64 {value & (2**64 - 1)})"

    def _binary(self, operation: str, a: str, b: str) -> str:
        return self.new(f"{operation} {self._flags}{self.doubles} {a}, {b}")

    def _intrinsic(self, name: str, *values: str) -> str:
        arguments = ", ".join(f"{self.doubles} {value}" for value in values)
        return self.new(f"call {self.doubles} @llvm.{name}.v{self.width}f64({arguments})")

    def add(self, a: str, b: str) -> str:
        return self._binary("fadd", a, b)

    def subtract(self, a: str, b: str) -> str:
        return self._binary("fsub", a, b)

    def multiply(self, a: str, b: str) -> str:
        return self._binary("fmul", a, b)

    def divide(self, a: str, b: str) -> str:
        return self._binary("fdiv", a, b)

    def negate(self, a: str) -> str:
        return self.new(f"fneg {self.doubles} {a}")

    def square_root(self, a: str) -> str:
        return self._intrinsic("sqrt", a)

    def absolute(self, a: str) -> str:
        return self._intrinsic("fabs", a)

    def copy_sign(self, magnitude: str, sign: str) -> str:
        return self._intrinsic("copysign", magnitude, sign)

    def minimum(self, a: str, b: str) -> str:
        """The smaller; a NaN loses against a number, as in C."""
        return self._intrinsic("minnum", a, b)

    def maximum(self, a: str, b: str) -> str:
        """The larger; a NaN loses against a number, as in C."""
        return self._intrinsic("maxnum", a, b)

    def multiply_add(self, a: str, b: str, c: str) -> str:
        """a·b + c, with one rounding where the target can."""
        return self._intrinsic("fma", a, b, c) if self.fused else self.add(self.multiply(a, b), c)

    def compare(self, predicate: str, a: str, b: str) -> str:
        """A mask; `predicate` is LLVM's: oeq, olt, ole, ogt, oge, one, une, uno."""
        return self.new(f"fcmp {predicate} {self.doubles} {a}, {b}")

    def select(self, mask: str, yes: str, no: str) -> str:
        return self.new(f"select {self.masks} {mask}, {self.doubles} {yes}, {self.doubles} {no}")

    def mask(self, operation: str, a: str, b: str) -> str:
        """`and`, `or`, `xor` of two masks."""
        return self.new(f"{operation} {self.masks} {a}, {b}")

    def invert(self, mask: str) -> str:
        """Where a mask is not."""
        return self.new(f"xor {self.masks} {mask}, splat (i1 true)")

    def as_integer(self, a: str) -> str:
        """The bits of doubles."""
        return self.new(f"bitcast {self.doubles} {a} to {self.integers}")

    def as_double(self, a: str) -> str:
        """Doubles from their bits."""
        return self.new(f"bitcast {self.integers} {a} to {self.doubles}")

    def bitwise(self, operation: str, a: str, b: str) -> str:
        """`add`, `sub`, `mul`, `and`, `or`, `xor`, `shl`, `lshr` of 64-bit integers."""
        return self.new(f"{operation} {self.integers} {a}, {b}")

    def nonzero(self, a: str) -> str:
        """A mask of the integers that are not 0."""
        return self.new(f"icmp ne {self.integers} {a}, zeroinitializer")

    def flip_sign(self, value: str, sign: str) -> str:
        """`value` with its sign bit changed where that of the integers `sign` is set."""
        top = self.bitwise("and", sign, self.integer(1 << 63))
        return self.as_double(self.bitwise("xor", self.as_integer(value), top))

    def polynomial(self, z: str, coefficients: Sequence[float]) -> str:
        """Σ cₖ zᵏ by Horner's rule, in two interleaved halves when long: half the latency for one product more."""
        if len(coefficients) < 6:
            return self._horner(z, coefficients)
        square = self.multiply(z, z)
        odd = self._horner(square, coefficients[1::2])
        return self.multiply_add(odd, z, self._horner(square, coefficients[0::2]))

    def _horner(self, z: str, coefficients: Sequence[float]) -> str:
        total = self.constant(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = self.multiply_add(total, z, self.constant(coefficient))
        return total

    def round(self, a: str, scale: float) -> tuple[str, str]:
        """round(a·scale), |a·scale| < 2^51, as doubles, and as integers plus `ROUNDING_BITS`."""
        shifted = self.multiply_add(a, self.constant(scale), self.constant(ROUNDING))
        return self.subtract(shifted, self.constant(ROUNDING)), self.as_integer(shifted)

    def fast_two_sum(self, a: str, b: str) -> tuple[str, str]:
        """a + b = s + e for |a| ≥ |b| or a = 0."""
        total = self.add(a, b)
        return total, self.subtract(b, self.subtract(total, a))

    def two_sum(self, a: str, b: str) -> tuple[str, str]:
        """a + b = s + e."""
        total = self.add(a, b)
        part = self.subtract(total, a)
        rest = self.subtract(a, self.subtract(total, part))
        return total, self.add(rest, self.subtract(b, part))

    def two_product(self, a: str, b: str) -> tuple[str, str]:
        """a·b = p + e; without fused operations for |a|, |b| < 2^995."""
        product = self.multiply(a, b)
        if self.fused:
            return product, self.multiply_add(a, b, self.negate(product))
        (a1, a2), (b1, b2) = self._halves(a), self._halves(b)
        rest = self.subtract(self.multiply(a1, b1), product)
        rest = self.add(rest, self.add(self.multiply(a1, b2), self.multiply(a2, b1)))
        return product, self.add(rest, self.multiply(a2, b2))

    def _halves(self, a: str) -> tuple[str, str]:
        """a = h + l with 26 significant bits in each (Veltkamp)."""
        scaled = self.multiply(a, self.constant(SPLIT))
        high = self.subtract(scaled, self.subtract(scaled, a))
        return high, self.subtract(a, high)


INTRINSICS = ("sqrt", "fabs", "copysign", "minnum", "maxnum", "fma")
_ARITY = {"sqrt": 1, "fabs": 1, "fma": 3}


def declarations(width: int) -> str:
    """The intrinsics that emitted code may call."""
    vector = f"<{width} x double>"
    lines = []
    for name in INTRINSICS:
        arguments = ", ".join([vector] * _ARITY.get(name, 2))
        lines.append(f"declare {vector} @llvm.{name}.v{width}f64({arguments})")
    return "\n".join(lines)
