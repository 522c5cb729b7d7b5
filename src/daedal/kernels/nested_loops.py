"""Functions of nested loops over arrays: sums of products of matrices whose sizes are known at run time.

Written with ordinary operators: `total = f.sum(n, lambda k: A[i, k] * P[k, j])`. Entries are single doubles, or vectors
of W doubles (one direction of differentiation per lane); a double that meets a vector is repeated in all lanes.
Products may be fused into sums, nothing else is reordered.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

from daedal.kernels.emitter import DOUBLE, INTEGER, Emitter


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
        return Value(self.emitter, self.emitter.compare_integers("sge", self.name, str(other)), "i1")

    def __lt__(self, other: int) -> "Value":
        return Value(self.emitter, self.emitter.compare_integers("slt", self.name, str(other)), "i1")

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
        """The whole function."""
        return self._emitter.define_procedure(*self._heading) + "\n"

    def integer(self, name: str) -> Value:
        """An integer argument."""
        return Value(self._emitter, f"%{name}", INTEGER)

    def view(self, name: str, *sizes: Value, kind: str = DOUBLE) -> View:
        """A pointer argument as an array; `sizes` are those of all axes but the first."""
        return View(self._emitter, f"%{name}", sizes, kind)

    def number(self, value: float) -> Value:
        """A double that does not change."""
        return Value(self._emitter, str(float(value)), DOUBLE)

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

    def sum(self, count: Value, term: Callable[[Value], Value], start: Value | None = None) -> Value:
        """start + Σ term(k), k = 0 … count − 1; of vectors where the start is one."""
        e, first = self._emitter, start or self.number(0.0)
        with e.loop("0", count.name, kind=first.kind, carried=[first.name]) as loop:
            so_far = Value(e, loop.values[0], first.kind)
            loop.carry([(so_far + term(Value(e, loop.counter, INTEGER))).name])
        return Value(e, loop.values[0], first.kind)
