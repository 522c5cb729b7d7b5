"""Functions of nested loops over arrays: sums of products of matrices whose sizes are known at run time.

Written with ordinary operators: `total = f.sum(n, lambda k: A[i, k] * P[k, j])`. Entries are single doubles, or vectors
of W doubles (one direction of differentiation per lane); a double that meets a vector is repeated in all lanes.
Products may be fused into sums, nothing else is reordered.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

from daedal.kernels.emitter import DOUBLE, INTEGER, Emitter, read_bits, write_module
from daedal.kernels.lowering import define_called

CONDITION = "i1"


@final
@dataclass(frozen=True, eq=False)
class Value:
    """The name of an LLVM value; `kind` is that of an integer, a double, a vector of doubles or a condition."""

    emitter: Emitter
    name: str
    kind: str

    def __add__(self, other: "Value | int") -> "Value":
        return self._combine("add", other)

    def __sub__(self, other: "Value | int") -> "Value":
        return self._combine("sub", other)

    def __mul__(self, other: "Value | int") -> "Value":
        return self._combine("mul", other)

    def __truediv__(self, other: "Value") -> "Value":
        return self._combine("div", other)

    def __ge__(self, other: int) -> "Value":
        return Value(self.emitter, self.emitter.compare_integers("sge", self.name, str(other)), CONDITION)

    def __lt__(self, other: int) -> "Value":
        return Value(self.emitter, self.emitter.compare_integers("slt", self.name, str(other)), CONDITION)

    def exceeds(self, other: "Value") -> "Value":
        """Whether one double is larger than another; a NaN is not."""
        return self._compare("ogt", other)

    def within(self, other: "Value") -> "Value":
        """Whether one double is at most as large as another; a NaN is not."""
        return self._compare("ole", other)

    def equals(self, other: "Value") -> "Value":
        """Whether two doubles are the same number."""
        return self._compare("oeq", other)

    def __and__(self, other: "Value") -> "Value":
        return Value(self.emitter, self.emitter.conditions("and", self.name, other.name), CONDITION)

    def __or__(self, other: "Value") -> "Value":
        return Value(self.emitter, self.emitter.conditions("or", self.name, other.name), CONDITION)

    def __invert__(self) -> "Value":
        return Value(self.emitter, self.emitter.conditions("xor", self.name, "true"), CONDITION)

    def _compare(self, predicate: str, other: "Value") -> "Value":
        return Value(self.emitter, self.emitter.compare_doubles(predicate, self.name, other.name), CONDITION)

    def _combine(self, operation: str, other: "Value | int") -> "Value":
        e = self.emitter
        if self.kind == INTEGER:
            return Value(e, e.index(operation, self.name, _name(other)), INTEGER)
        assert isinstance(other, Value)
        kind = e.doubles if e.doubles in (self.kind, other.kind) else DOUBLE
        left, right = (x.name if x.kind == kind else e.spread(DOUBLE, x.name) for x in (self, other))
        return Value(e, e.arithmetic(f"f{operation}", kind, left, right), kind)


def _name(number: Value | int) -> str:
    return number.name if isinstance(number, Value) else str(number)


@final
@dataclass(frozen=True, eq=False)
class View:
    """An array of doubles or integers in memory, its last axes included: sizes of all axes but the first."""

    emitter: Emitter
    pointer: str
    sizes: tuple[Value, ...]
    kind: str

    def __getitem__(self, place: Any) -> Value:
        return Value(self.emitter, self.emitter.load(self.kind, self._address(place)), self.kind)

    def __setitem__(self, place: Any, value: Value) -> None:
        self.emitter.store(self.kind, value.name, self._address(place))

    def find(self, *place: Any) -> str:
        """The pointer to an entry."""
        return self._address(place)

    def _address(self, place: Any) -> str:
        first, *others = place if isinstance(place, tuple) else (place,)
        offset = Value(self.emitter, _name(first), INTEGER)
        for size, index in zip(self.sizes, others, strict=True):
            offset = offset * size + index
        return self.emitter.address(self.kind, self.pointer, offset.name)


@final
class LoopFunction:
    """A function without result of pointers and integers."""

    def __init__(self, name: str, pointers: Sequence[str], integers: Sequence[str], width: int) -> None:
        self._emitter = Emitter(width, fused=False, contract=True)
        self._heading = name, pointers, integers
        self.vector = self._emitter.doubles

    def text(self) -> str:
        """The whole function, with those of vectors that it calls."""
        e = self._emitter
        procedure = e.define_procedure(*self._heading)
        return write_module(e.width, define_called(e), procedure) if e.called else procedure + "\n"

    def integer(self, name: str) -> Value:
        """An integer argument."""
        return Value(self._emitter, f"%{name}", INTEGER)

    def view(self, name: str, *sizes: Value, kind: str = DOUBLE) -> View:
        """A pointer argument as an array; `sizes` are those of all axes but the first."""
        return View(self._emitter, f"%{name}", sizes, kind)

    def number(self, value: float) -> Value:
        """A double that does not change."""
        return Value(self._emitter, f"0x{read_bits(value):016X}", DOUBLE)

    def whole(self, value: int) -> Value:
        """An integer that does not change."""
        return Value(self._emitter, str(value), INTEGER)

    def pointer(self, name: str) -> str:
        """A pointer argument."""
        return f"%{name}"

    def call(self, name: str, pointers: Sequence[str], integers: Sequence[Value]) -> None:
        """Call the function that a pointer argument points to."""
        self._emitter.call_procedure(self.pointer(name), pointers, [integer.name for integer in integers])

    def zeros(self) -> Value:
        """A vector of zeros."""
        return Value(self._emitter, "zeroinitializer", self.vector)

    @contextmanager
    def loop(self, stop: Value, backwards: bool = False) -> Iterator[Value]:
        """Repeat what follows for 0, 1, …, stop − 1, or the other way."""
        with self._emitter.loop("0", stop.name) as loop:
            i = Value(self._emitter, loop.counter, INTEGER)
            yield stop - 1 - i if backwards else i

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """What follows, only where the condition holds."""
        with self._emitter.when(condition.name):
            yield

    def choose(self, condition: Value, yes: Value, no: Value) -> Value:
        """One of two doubles."""
        return Value(self._emitter, self._emitter.choose(condition.name, DOUBLE, yes.name, no.name), DOUBLE)

    def larger(self, a: Value, b: Value) -> Value:
        """The larger of two doubles; the second where one is a NaN."""
        return self.choose(a.exceeds(b), a, b)

    def smaller(self, a: Value, b: Value) -> Value:
        """The smaller of two doubles; the first where one is a NaN."""
        return self.choose(a.exceeds(b), b, a)

    def absolute(self, a: Value) -> Value:
        """|a| of a double."""
        e = self._emitter
        return self._read_double(e.index("and", self._read_bits(a), str(2**63 - 1)))

    def spacing(self, a: Value) -> Value:
        """The distance from a positive double to the next larger one."""
        return self._read_double(self._emitter.index("add", self._read_bits(a), "1")) - a

    def power(self, a: Value, b: Value) -> Value:
        """aᵇ of doubles."""
        e = self._emitter
        (result,) = e.call("pow", [e.spread(DOUBLE, a.name), e.spread(DOUBLE, b.name)])
        return Value(e, e.first(result), DOUBLE)

    def _read_bits(self, a: Value) -> str:
        return self._emitter.convert_bits(DOUBLE, a.name, INTEGER)

    def _read_double(self, bits: str) -> Value:
        return Value(self._emitter, self._emitter.convert_bits(INTEGER, bits, DOUBLE), DOUBLE)

    def largest(self, count: Value, term: Callable[[Value], Value]) -> Value:
        """The largest of term(k), k = 0 … count − 1, all of them positive; 0 without any."""
        e = self._emitter
        with e.loop("0", count.name, kind=DOUBLE, carried=[self.number(0.0).name]) as loop:
            so_far = Value(e, loop.values[0], DOUBLE)
            loop.carry([self.larger(so_far, term(Value(e, loop.counter, INTEGER))).name])
        return Value(e, loop.values[0], DOUBLE)

    def sum(self, count: Value, term: Callable[[Value], Value], start: Value | None = None) -> Value:
        """start + Σ term(k), k = 0 … count − 1; of vectors where the start is one."""
        e, first = self._emitter, start or self.number(0.0)
        with e.loop("0", count.name, kind=first.kind, carried=[first.name]) as loop:
            so_far = Value(e, loop.values[0], first.kind)
            loop.carry([(so_far + term(Value(e, loop.counter, INTEGER))).name])
        return Value(e, loop.values[0], first.kind)
