"""Functions of nested loops over arrays as LLVM text: sums of products of matrices whose sizes are known at run time.

Written with ordinary operators: `total = f.sum(n, lambda k: A[i, k] * P[k, j])`. Entries are single doubles, or vectors
of W doubles (one direction of differentiation per lane); a double that meets a vector is repeated in all lanes.
Products may be fused into sums, nothing else is reordered.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final


@dataclass(frozen=True, eq=False)
class Value:
    """The name of an LLVM value; `kind` is i64, i1, double or a vector of doubles."""

    function: "LoopFunction"
    name: str
    kind: str

    def _with(self, other: "Value | int", operation: str) -> "Value":
        return self.function.combined(operation, self, other)

    def __add__(self, other: "Value | int") -> "Value":
        return self._with(other, "add")

    def __sub__(self, other: "Value | int") -> "Value":
        return self._with(other, "sub")

    def __mul__(self, other: "Value | int") -> "Value":
        return self._with(other, "mul")

    def __truediv__(self, other: "Value") -> "Value":
        return self._with(other, "div")

    def __ge__(self, other: int) -> "Value":
        return self.function.new(f"icmp sge i64 {self.name}, {other}", "i1")

    def __lt__(self, other: int) -> "Value":
        return self.function.new(f"icmp slt i64 {self.name}, {other}", "i1")


@dataclass(frozen=True, eq=False)
class View:
    """An array of doubles or integers in memory, its last axes included: sizes of all axes but the first."""

    function: "LoopFunction"
    pointer: str
    sizes: tuple[Value, ...]
    kind: str

    def __getitem__(self, place: Any) -> Value:
        return self.function.new(f"load {self.kind}, ptr {self._address(place)}, align 8", self.kind)

    def __setitem__(self, place: Any, value: Value) -> None:
        self.function.lines.append(f"  store {self.kind} {value.name}, ptr {self._address(place)}, align 8")

    def _address(self, place: Any) -> str:
        indices = place if isinstance(place, tuple) else (place,)
        offset = indices[0]
        for size, index in zip(self.sizes, indices[1:], strict=True):
            offset = offset * size + index
        name = offset.name if isinstance(offset, Value) else str(offset)
        return self.function.new(f"getelementptr inbounds {self.kind}, ptr {self.pointer}, i64 {name}", "ptr").name


@final
class LoopFunction:
    """Collects the lines of one function without result."""

    def __init__(self, name: str, pointers: Sequence[str], integers: Sequence[str], width: int) -> None:
        arguments = [f"ptr noalias %{each}" for each in pointers] + [f"i64 %{each}" for each in integers]
        self._heading = f"define void @{name}({', '.join(arguments)}) nounwind {{"
        self.vector = f"<{width} x double>"
        self.width = width
        self.lines: list[str] = []
        self._places: list[str] = []  # of loop counters and sums, which the optimiser turns into registers
        self._count = 0

    def text(self) -> str:
        """The whole function."""
        return "\n".join([self._heading, "entry:", *self._places, *self.lines, "  ret void", "}", ""])

    def integer(self, name: str) -> Value:
        """An integer argument."""
        return Value(self, f"%{name}", "i64")

    def view(self, name: str, *sizes: Value, kind: str = "double") -> View:
        """A pointer argument as an array; `sizes` are those of all axes but the first."""
        return View(self, f"%{name}", sizes, kind)

    def new(self, instruction: str, kind: str) -> Value:
        """Append an instruction."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"  {name} = {instruction}")
        return Value(self, name, kind)

    def combined(self, operation: str, left: Value, right: "Value | int") -> Value:
        """One arithmetic operation; a double that meets a vector is repeated."""
        if left.kind == "i64":
            return self.new(
                f"{operation} nsw i64 {left.name}, {right.name if isinstance(right, Value) else right}", "i64"
            )
        assert isinstance(right, Value)
        kind = self.vector if self.vector in (left.kind, right.kind) else "double"
        names = [self._repeated(each).name if each.kind != kind else each.name for each in (left, right)]
        return self.new(f"f{operation} contract {kind} {names[0]}, {names[1]}", kind)

    def _repeated(self, number: Value) -> Value:
        first = self.new(f"insertelement {self.vector} poison, double {number.name}, i64 0", self.vector)
        mask = f"<{self.width} x i32> zeroinitializer"
        return self.new(f"shufflevector {self.vector} {first.name}, {self.vector} poison, {mask}", self.vector)

    def _place(self, kind: str) -> str:
        self._count += 1
        self._places.append(f"  %p{self._count} = alloca {kind}")
        return f"%p{self._count}"

    def _label(self) -> str:
        self._count += 1
        return f"b{self._count}"

    @contextmanager
    def loop(self, stop: Value, backwards: bool = False) -> Iterator[Value]:
        """Repeat what follows for 0, 1, …, stop − 1, or the other way."""
        counter, head, body, end = self._place("i64"), self._label(), self._label(), self._label()
        self.lines += [f"  store i64 0, ptr {counter}", f"  br label %{head}", f"{head}:"]
        i = self.new(f"load i64, ptr {counter}", "i64")
        more = self.new(f"icmp slt i64 {i.name}, {stop.name}", "i1")
        self.lines += [f"  br i1 {more.name}, label %{body}, label %{end}", f"{body}:"]
        yield stop - 1 - i if backwards else i
        self.lines += [f"  store i64 {(i + 1).name}, ptr {counter}", f"  br label %{head}", f"{end}:"]

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """What follows, only where the condition holds."""
        body, end = self._label(), self._label()
        self.lines += [f"  br i1 {condition.name}, label %{body}, label %{end}", f"{body}:"]
        yield
        self.lines += [f"  br label %{end}", f"{end}:"]

    def sum(self, count: Value, term: Callable[[Value], Value], start: Value | None = None) -> Value:
        """start + Σ term(k), k = 0 … count − 1; without a start it must be known from the first term what is added."""
        kind = start.kind if start is not None else "double"
        place = self._place(kind)
        first = start.name if start is not None else "0.0"
        self.lines.append(f"  store {kind} {first}, ptr {place}")
        with self.loop(count) as k:
            so_far = self.new(f"load {kind}, ptr {place}", kind)
            self.lines.append(f"  store {kind} {(so_far + term(k)).name}, ptr {place}")
        return self.new(f"load {kind}, ptr {place}", kind)

    def zeros(self) -> Value:
        """A vector of zeros."""
        return Value(self, "zeroinitializer", self.vector)
