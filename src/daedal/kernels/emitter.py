"""The one writer of LLVM text: single integers and doubles, vectors of W doubles with one trajectory per lane, loops.

An `Emitter` collects the lines of one function; a method appends an instruction and returns the name of its value. Text
is written directly because building it with objects takes longer than compiling it. Rounding is never relaxed: no
instruction may be reassociated, and products are fused into sums only where `contract` or `fma` says so.

What a loop carries from one turn to the next is written as phi nodes, so that it lives in registers.

Error-free transformations (Dekker 1971, Knuth 1969) carry what double precision alone would lose:
a + b = s + e and a·b = p + e exactly, with s, p the rounded results.
"""

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import final

ROUNDING = 1.5 * 2.0**52  # adding it to |x| < 2^51 leaves round(x) in the low bits
ROUNDING_BITS = 0x4338000000000000
SPLIT = 2.0**27 + 1.0

INTEGER, DOUBLE = "i64", "double"
PART = "daedal_part"  # how the names of parts begin
INTRINSICS = {"sqrt": 1, "fabs": 1, "copysign": 2, "minnum": 2, "maxnum": 2, "fma": 3}  # name: arity
NO_WRAP = frozenset({"add", "sub", "mul"})  # of indices, which never overflow


def read_bits(value: float) -> int:
    """The 64 bits of a double."""
    return struct.unpack("<Q", struct.pack("<d", value))[0]


@final
class Loop:
    """Inside and after a loop: its `counter`, and the `values` carried into the present turn, or out of the last."""

    def __init__(self, counter: str, values: list[str]) -> None:
        self.counter = counter
        self.values = values
        self.next = values

    def carry(self, values: Sequence[str]) -> None:
        """What the next turn starts from."""
        self.next = list(values)


@final
class Branch:
    """Inside and after a part that is only done where a condition holds: the `values` it starts from and leaves."""

    def __init__(self, values: list[str]) -> None:
        self.values = values
        self.next = values

    def carry(self, values: Sequence[str]) -> None:
        """What the values are after it."""
        self.next = list(values)


@final
class Parts:
    """Functions of a module that are called from several places; those with the same text are one."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}  # of each text
        self._known: dict[int, tuple[object, str]] = {}  # what a function was written for, and its name

    def find(self, source: object) -> str | None:
        """The name of the function that was written for this object."""
        known = self._known.get(id(source))
        return known[1] if known else None

    def add(self, source: object, text: str) -> str:
        """Keep a function, called `PART` in its text; its name."""
        name = self._names.setdefault(text, f"{PART}{len(self._names)}")
        self._known[id(source)] = (source, name)
        return name

    def list_texts(self) -> list[str]:
        return [text.replace(f"@{PART}(", f"@{name}(", 1) for text, name in self._names.items()]


@final
class Emitter:
    """Lines of a function on vectors of `width` doubles; `fused`: the target multiplies and adds in one operation."""

    def __init__(self, width: int, fused: bool, contract: bool = False) -> None:
        self.width = width
        self.fused = fused
        self.doubles = f"<{width} x double>"
        self.integers = f"<{width} x i64>"
        self.masks = f"<{width} x i1>"
        self.called: list[str] = []  # vector functions, once for every call
        self.called_aside: set[str] = set()  # those called where little time is spent, which are never inlined
        self.parts = Parts()
        self._frames: dict[str, int] = {}  # vectors on the stack, in which parts find arguments and leave results
        self._aside = False
        self._lines: list[str] = []
        self._count = 0
        self._block = "entry"
        self._flags = "contract " if contract else ""

    def define_procedure(
        self,
        name: str,
        pointers: Sequence[str],
        integers: Sequence[str],
        attributes: str = "",
        aliased: Sequence[str] = (),
    ) -> str:
        """The text of a function without result; pointers do not alias, but for some."""
        arguments = [f"ptr {'' if pointer in aliased else 'noalias '}%{pointer}" for pointer in pointers]
        arguments += [f"i64 %{integer}" for integer in integers]
        return self._text(f"void @{name}({', '.join(arguments)}) nounwind {attributes}".rstrip(), "void")

    def call_procedure(self, name: str, pointers: Sequence[str], integers: Sequence[str]) -> None:
        """Call a function without result: one of the same module by its name, or what a pointer (%move) points to."""
        arguments = [f"ptr {pointer}" for pointer in pointers] + [f"i64 {integer}" for integer in integers]
        self._lines.append(f"  call void {name if name.startswith('%') else '@' + name}({', '.join(arguments)})")

    def define_function(self, name: str, arguments: Sequence[str], values: Sequence[str], attributes: str) -> str:
        """The text of a function of vectors that `call` calls; of several `values` it makes a structure."""
        kind, result = self._result(len(values)), values[0]
        if len(values) > 1:
            result = "undef"
            for place, value in enumerate(values):
                result = self._new(f"insertvalue {kind} {result}, {self.doubles} {value}, {place}")
        listed = ", ".join(f"{self.doubles} {argument}" for argument in arguments)
        return self._text(f"internal {kind} @daedal.{name}({listed}) {attributes}", f"{kind} {result}")

    def _text(self, heading: str, result: str) -> str:
        frames = [f"  {name} = alloca {self.doubles}, i64 {size}, align 64" for name, size in self._frames.items()]
        return "\n".join([f"define {heading} {{", "entry:", *frames, *self._lines, f"  ret {result}", "}"])

    def open_part(self) -> "Emitter":
        """An emitter for another function of the same module, which calls the same functions."""
        part = Emitter(self.width, self.fused)
        part.called, part.called_aside, part.parts = self.called, self.called_aside, self.parts
        part._flags = self._flags
        return part

    def call_part(self, name: str, arguments: Sequence[str], results: int) -> list[str]:
        """Call a part; its results. All calls use the same places on the stack."""
        for frame, size in (("%arguments_of_part", len(arguments)), ("%results_of_part", results)):
            self._frames[frame] = max(self._frames.get(frame, 1), size)
        for place, argument in enumerate(arguments):
            self.write_part("%arguments_of_part", place, argument)
        self.call_procedure(name, ["%arguments_of_part", "%results_of_part"], [])
        return [self.read_part("%results_of_part", place) for place in range(results)]

    def read_part(self, pointer: str, place: int) -> str:
        """One of the vectors that a part was given or has left."""
        return self.load(self.doubles, self.address(self.doubles, pointer, str(place)))

    def write_part(self, pointer: str, place: int, value: str) -> None:
        self.store(self.doubles, value, self.address(self.doubles, pointer, str(place)))

    def _result(self, count: int) -> str:
        return self.doubles if count == 1 else f"{{{', '.join([self.doubles] * count)}}}"

    def call(self, name: str, arguments: Sequence[str], results: int = 1) -> list[str]:
        """The values of a vector function."""
        listed = ", ".join(f"{self.doubles} {argument}" for argument in arguments)
        kind = self._result(results)
        if self._aside:
            self.called_aside.add(name)
        else:
            self.called.append(name)
        value = self._new(f"call {kind} @daedal.{'aside.' if self._aside else ''}{name}({listed})")
        return [value] if results == 1 else [self._new(f"extractvalue {kind} {value}, {k}") for k in range(results)]

    def _new(self, instruction: str) -> str:
        """Append an instruction and name its value."""
        name = self._name("v")
        self._lines.append(f"  {name} = {instruction}")
        return name

    def _name(self, letter: str) -> str:
        self._count += 1
        return f"%{letter}{self._count}"

    def _begin(self, block: str) -> None:
        self._lines.append(f"{block[1:]}:")
        self._block = block[1:]

    @contextmanager
    def loop(
        self, start: str, stop: str, step: int = 1, kind: str = DOUBLE, carried: Sequence[str] = ()
    ) -> Iterator[Loop]:
        """Repeat what follows for start, start + step, … < stop; `carried`: values of one kind for the first turn."""
        head, body, end = self._name("b"), self._name("b"), self._name("b")
        counter, further, before = self._name("v"), self._name("v"), self._block
        loop = Loop(counter, [self._name("v") for _ in carried])
        self._lines.append(f"  br label {head}")
        self._begin(head)
        place = len(self._lines)
        more = self.compare_integers("slt", counter, stop)
        self._lines.append(f"  br i1 {more}, label {body}, label {end}")
        self._begin(body)
        yield loop
        self._lines += [f"  {further} = add nsw i64 {counter}, {step}", f"  br label {head}"]
        phis = [(INTEGER, counter, start, further)]
        phis += [(kind, *names) for names in zip(loop.values, carried, loop.next, strict=True)]
        self._lines[place:place] = [
            f"  {name} = phi {kind} [ {first}, %{before} ], [ {later}, %{self._block} ]"
            for kind, name, first, later in phis
        ]
        self._begin(end)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """What follows, only where a condition holds."""
        body, end = self._name("b"), self._name("b")
        self._lines.append(f"  br i1 {condition}, label {body}, label {end}")
        self._begin(body)
        yield
        self._lines.append(f"  br label {end}")
        self._begin(end)

    @contextmanager
    def branch(self, condition: str, kind: str, carried: Sequence[str]) -> Iterator[Branch]:
        """What follows, only where a condition holds; it may change the carried values. Done seldom, so kept short."""
        body, end, before = self._name("b"), self._name("b"), self._block
        branch = Branch(list(carried))
        self._lines.append(f"  br i1 {condition}, label {body}, label {end}")
        self._begin(body)
        outer, self._aside = self._aside, True
        yield branch
        self._aside = outer
        self._lines.append(f"  br label {end}")
        after = self._block
        self._begin(end)
        branch.values = []
        for value, changed in zip(carried, branch.next, strict=True):
            if value == changed:
                branch.values.append(value)
            else:
                branch.values.append(self._new(f"phi {kind} [ {value}, %{before} ], [ {changed}, %{after} ]"))

    def any(self, mask: str) -> str:
        """Whether a mask holds in some lane."""
        return self._new(f"call i1 @llvm.vector.reduce.or.v{self.width}i1({self.masks} {mask})")

    def load(self, kind: str, address: str) -> str:
        return self._new(f"load {kind}, ptr {address}, align 8")

    def store(self, kind: str, value: str, address: str) -> None:
        self._lines.append(f"  store {kind} {value}, ptr {address}, align 8")

    def address(self, kind: str, pointer: str, index: str) -> str:
        """Where an entry of an array stands."""
        return self._new(f"getelementptr inbounds {kind}, ptr {pointer}, i64 {index}")

    def index(self, operation: str, a: str, b: str) -> str:
        """`add`, `sub`, `mul`, `and`, `or`, `shl`, `lshr` of single integers, without overflow."""
        return self._new(f"{operation}{' nsw' if operation in NO_WRAP else ''} i64 {a}, {b}")

    def compare_integers(self, predicate: str, a: str, b: str) -> str:
        """A condition on single integers; `predicate` is LLVM's: slt, sge, …"""
        return self._new(f"icmp {predicate} i64 {a}, {b}")

    def compare_doubles(self, predicate: str, a: str, b: str) -> str:
        """A condition on single doubles; `predicate` is LLVM's: oeq, olt, ole, ogt, oge, one, une, uno."""
        return self._new(f"fcmp {predicate} {DOUBLE} {a}, {b}")

    def conditions(self, operation: str, a: str, b: str) -> str:
        """`and`, `or`, `xor` of two conditions."""
        return self._new(f"{operation} i1 {a}, {b}")

    def choose(self, condition: str, kind: str, yes: str, no: str) -> str:
        """One of two single numbers."""
        return self._new(f"select i1 {condition}, {kind} {yes}, {kind} {no}")

    def convert_bits(self, kind: str, a: str, other: str) -> str:
        """The bits of a single double as an integer, or the other way."""
        return self._new(f"bitcast {kind} {a} to {other}")

    def arithmetic(self, operation: str, kind: str, a: str, b: str) -> str:
        """`fadd`, `fsub`, `fmul`, `fdiv` of single doubles or vectors of them."""
        return self._new(f"{operation} {self._flags}{kind} {a}, {b}")

    def spread(self, kind: str, number: str) -> str:
        """A single double or integer in all lanes."""
        vector = f"<{self.width} x {kind}>"
        first = self._new(f"insertelement {vector} poison, {kind} {number}, i64 0")
        return self._new(f"shufflevector {vector} {first}, {vector} poison, <{self.width} x i32> zeroinitializer")

    def first(self, vector: str) -> str:
        """The number in the first lane."""
        return self._new(f"extractelement {self.doubles} {vector}, i64 0")

    def gather(self, table: str, rows: str, columns: int) -> list[str]:
        """A row of a table of doubles for every lane, column by column; `rows` are whole numbers."""
        numbers = self._new(f"fptosi {self.doubles} {rows} to {self.integers}")
        vectors = ["poison"] * columns
        for lane in range(self.width):
            row = self._new(f"extractelement {self.integers} {numbers}, i64 {lane}")
            begin = self.index("mul", row, str(columns))
            for column in range(columns):
                number = self.load(DOUBLE, self.address(DOUBLE, table, self.index("add", begin, str(column))))
                vectors[column] = self._new(
                    f"insertelement {self.doubles} {vectors[column]}, {DOUBLE} {number}, i64 {lane}"
                )
        return vectors

    def lane_numbers(self) -> str:
        """0, 1, …, W − 1."""
        return f"<{', '.join(f'i64 {lane}' for lane in range(self.width))}>"

    def constant(self, value: float) -> str:
        """The same double in all lanes."""
        return f"splat (double 0x{read_bits(value):016X})"

    def integer(self, value: int) -> str:
        """The same 64-bit integer in all lanes."""
        return f"splat (i64 {value & (2**64 - 1)})"

    def _intrinsic(self, name: str, *values: str) -> str:
        arguments = ", ".join(f"{self.doubles} {value}" for value in values)
        return self._new(f"call {self.doubles} @llvm.{name}.v{self.width}f64({arguments})")

    def add(self, a: str, b: str) -> str:
        return self.arithmetic("fadd", self.doubles, a, b)

    def subtract(self, a: str, b: str) -> str:
        return self.arithmetic("fsub", self.doubles, a, b)

    def multiply(self, a: str, b: str) -> str:
        return self.arithmetic("fmul", self.doubles, a, b)

    def divide(self, a: str, b: str) -> str:
        return self.arithmetic("fdiv", self.doubles, a, b)

    def negate(self, a: str) -> str:
        return self._new(f"fneg {self.doubles} {a}")

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
        return self._new(f"fcmp {predicate} {self.doubles} {a}, {b}")

    def select(self, mask: str, yes: str, no: str) -> str:
        return self._new(f"select {self.masks} {mask}, {self.doubles} {yes}, {self.doubles} {no}")

    def mask(self, operation: str, a: str, b: str) -> str:
        """`and`, `or`, `xor` of two masks."""
        return self._new(f"{operation} {self.masks} {a}, {b}")

    def invert(self, mask: str) -> str:
        """Where a mask is not."""
        return self._new(f"xor {self.masks} {mask}, splat (i1 true)")

    def as_integer(self, a: str) -> str:
        """The bits of doubles."""
        return self._new(f"bitcast {self.doubles} {a} to {self.integers}")

    def as_double(self, a: str) -> str:
        """Doubles from their bits."""
        return self._new(f"bitcast {self.integers} {a} to {self.doubles}")

    def bitwise(self, operation: str, a: str, b: str) -> str:
        """`add`, `sub`, `mul`, `and`, `or`, `xor`, `shl`, `lshr` of 64-bit integers."""
        return self._new(f"{operation} {self.integers} {a}, {b}")

    def nonzero(self, a: str) -> str:
        """A mask of the integers that are not 0."""
        return self._new(f"icmp ne {self.integers} {a}, zeroinitializer")

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


def write_module(width: int, *parts: str) -> str:
    """The text of a module: the intrinsics that its functions may call, tables and functions."""
    vector = f"<{width} x double>"
    intrinsics = [
        f"declare {vector} @llvm.{name}.v{width}f64({', '.join([vector] * count)})"
        for name, count in INTRINSICS.items()
    ]
    reduction = f"declare i1 @llvm.vector.reduce.or.v{width}i1(<{width} x i1>)"
    intrinsics += [reduction] if any("@llvm.vector.reduce" in part for part in parts) else []
    return "\n".join([*intrinsics, *parts, ""])


def write_table(name: str, numbers: Sequence[int] | Sequence[float]) -> str:
    """The text of an array of integers, or of doubles, that functions of the same module read as @name."""
    whole = all(isinstance(number, int) for number in numbers)
    kind = INTEGER if whole else DOUBLE
    listed = ", ".join(f"{kind} {number if whole else f'0x{read_bits(number):016X}'}" for number in numbers)
    return f"@{name} = private unnamed_addr constant [{len(numbers)} x {kind}] [{listed}]"
