"""A CasADi function as a straight-line tape in static single assignment form.

Every instruction computes one number from earlier ones. Equal instructions are merged, dead ones removed, and what
CasADi abbreviates is written out: x² = x·x, 2x = x + x, 1/x, and powers with constant integer exponents as products.

A function that CasADi shall not inline (`never_inline`) stays a call: it has a tape of its own, its code is written
once however often it is called, and nothing is merged across its border.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, final

import casadi as ca

from daedal.errors import ExpressionError, refuse_shortage

UNARY = (
    "neg", "sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
    "atanh", "expm1", "log1p", "fabs", "sign", "floor", "ceil", "erf", "not",
)  # fmt: skip
BINARY = (
    "add", "sub", "mul", "div", "pow", "atan2", "hypot", "copysign", "fmin", "fmax", "fmod",
    "lt", "le", "eq", "ne", "and", "or", "if_else_zero",
)  # fmt: skip
COMMUTATIVE = frozenset({"add", "mul", "eq", "ne", "and", "or", "hypot"})
VALUED = frozenset({"constant", "call", "result"})
LARGEST_PRODUCT_EXPONENT = 32  # beyond, repeated squaring loses more digits than `pow`

_NAMES = {getattr(ca, f"OP_{name.upper()}"): name for name in UNARY + BINARY}
_KNOWN_AS = {getattr(ca, name): name[3:].lower() for name in dir(ca) if name.startswith("OP_")}


class Instruction(NamedTuple):
    """`operation` on earlier instructions; an "input" has (argument, row) as operands, a "constant" its value.

    A "call" has the arguments of a function, whose number is its value; each "result" of it that is used has its place
    among all results as value.
    """

    operation: str
    operands: tuple[int, ...]
    value: float = 0.0


@final
class Tape(NamedTuple):
    """Instructions in order, the positions of the outputs among them, the sizes of arguments, and what is called."""

    name: str
    instructions: tuple[Instruction, ...]
    outputs: tuple[tuple[int, ...], ...]
    input_sizes: tuple[int, ...]
    called: tuple["Tape", ...] = ()

    @property
    def output_sizes(self) -> tuple[int, ...]:
        """Numbers in each result."""
        return tuple(len(positions) for positions in self.outputs)

    def count_operations(self) -> Counter[str]:
        """How often each operation is done, those of called functions at every call."""
        counts = Counter(instruction.operation for instruction in self.instructions)
        of_called = [called.count_operations() for called in self.called]
        for instruction in self.instructions if self.called else ():
            if instruction.operation == "call":
                counts.update(of_called[int(instruction.value)])
        del counts["call"], counts["result"]
        return counts


@final
class Writer:
    """Appends instructions, giving an equal one its earlier position."""

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self.called: list[Tape] = []
        self._positions: dict[object, int] = {}

    def put(self, operation: str, *operands: int, value: float = 0.0) -> int:
        if operation in COMMUTATIVE and operands[0] > operands[1]:
            operands = operands[::-1]
        # repr tells −0 from 0 and lets NaN equal itself
        key = (operation, operands, repr(value)) if operation in VALUED else (operation, operands)
        position = self._positions.get(key)
        if position is None:
            position = self._positions[key] = len(self.instructions)
            self.instructions.append(Instruction(operation, operands, value))
        return position

    def constant(self, value: float) -> int:
        return self.put("constant", value=value)

    def call(self, called: Tape, operands: Sequence[int]) -> int:
        """A call of a function; `result` tells where each of its results stands."""
        number = next((k for k, known in enumerate(self.called) if known is called), len(self.called))
        if number == len(self.called):
            self.called.append(called)
        return self.put("call", *operands, value=number)

    def result(self, call: int, place: int) -> int:
        return self.put("result", call, value=place)

    def power(self, base: int, exponent: int) -> int:
        """Products for small constant integer exponents, else `pow`."""
        kind = self.instructions[exponent]
        if kind.operation != "constant":
            return self.put("pow", base, exponent)
        if not kind.value.is_integer() or abs(kind.value) > LARGEST_PRODUCT_EXPONENT:
            return self.put("pow", base, exponent)
        if kind.value == 0.0:
            return self.constant(1.0)
        product = self._whole_power(base, int(abs(kind.value)))
        return product if kind.value > 0 else self.put("div", self.constant(1.0), product)

    def _whole_power(self, base: int, exponent: int) -> int:
        if exponent == 1:
            return base
        half = self._whole_power(base, exponent // 2)
        square = self.put("mul", half, half)
        return self.put("mul", square, base) if exponent % 2 else square


def read_tape(function: ca.Function) -> Tape:
    """The tape of a function; one of matrix operations (MX) is expanded first."""
    return _read(function, {})


def _read(function: ca.Function, known: dict[int, Tape]) -> Tape:
    """The tape of a function; `known` are those of the functions that were called so far."""
    function = _expand(function)
    writer = Writer()
    work: dict[int, int] = {}
    inputs = [_locate_nonzeros(function.sparsity_in(i)) for i in range(function.n_in())]
    results: list[dict[int, int]] = [{} for _ in range(function.n_out())]
    for k in range(function.n_instructions()):
        code, sources, targets = (
            function.instruction_id(k),
            function.instruction_input(k),
            function.instruction_output(k),
        )
        if code == ca.OP_INPUT:
            work[targets[0]] = writer.put("input", sources[0], inputs[sources[0]][sources[1]])
        elif code == ca.OP_OUTPUT:
            results[targets[0]][targets[1]] = work[sources[0]]
        elif code == ca.OP_CONST:
            work[targets[0]] = writer.constant(function.instruction_constant(k))
        elif code == ca.OP_CALL and (called := function.instructions_sx()[k].which_function()).is_a("SXFunction"):
            if called.__hash__() not in known:
                known[called.__hash__()] = _read(called, known)
            found = _put_call(writer, called, known[called.__hash__()], [work[source] for source in sources])
            work |= {target: position for target, position in zip(targets, found, strict=True) if target >= 0}
        else:
            work[targets[0]] = _put_operation(writer, function, code, [work[s] for s in sources])
    outputs = [_fill_zeros(writer, function.sparsity_out(i), results[i]) for i in range(function.n_out())]
    sizes = tuple(function.numel_in(i) for i in range(function.n_in()))
    return remove_dead(function.name(), writer, outputs, sizes)


def _put_call(writer: Writer, called: ca.Function, tape: Tape, operands: list[int]) -> list[int]:
    """A call with these nonzeros of its arguments; where the nonzeros of its results stand."""
    given, filled, first, found = iter(operands), [], 0, []
    for i in range(called.n_in()):
        nonzeros = {place: next(given) for place in _locate_nonzeros(called.sparsity_in(i))}
        filled += [nonzeros.get(place, -1) for place in range(called.numel_in(i))]
    zero = writer.constant(0.0) if -1 in filled else -1
    call = writer.call(tape, [zero if place < 0 else place for place in filled])
    for i in range(called.n_out()):
        found += [writer.result(call, first + place) for place in _locate_nonzeros(called.sparsity_out(i))]
        first += called.numel_out(i)
    return found


def _expand(function: ca.Function) -> ca.Function:
    if function.is_a("SXFunction"):
        return function
    try:
        return function.expand()
    except RuntimeError as cause:
        refuse_shortage(cause, f"Function '{function.name()}'")
        raise ExpressionError(
            f"Function '{function.name()}' cannot be written as a sequence of scalar operations.",
            "Use a function of SX symbols without calls of solvers, splines or external functions.",
        ) from cause


def _locate_nonzeros(sparsity: ca.Sparsity) -> list[int]:
    """Place of each nonzero in the dense matrix read column by column."""
    rows, columns = sparsity.get_triplet()
    return [row + column * sparsity.size1() for row, column in zip(rows, columns, strict=True)]


def _fill_zeros(writer: Writer, sparsity: ca.Sparsity, nonzeros: dict[int, int]) -> tuple[int, ...]:
    values = {place: nonzeros[k] for k, place in enumerate(_locate_nonzeros(sparsity)) if k in nonzeros}
    zero = writer.constant(0.0) if len(values) < sparsity.numel() else -1
    return tuple(values.get(place, zero) for place in range(sparsity.numel()))


def _put_operation(writer: Writer, function: ca.Function, code: int, operands: list[int]) -> int:
    if code in (ca.OP_POW, ca.OP_CONSTPOW):
        return writer.power(*operands)
    if code in _NAMES:
        return writer.put(_NAMES[code], *operands)
    if code == ca.OP_SQ:
        return writer.put("mul", operands[0], operands[0])
    if code == ca.OP_TWICE:
        return writer.put("add", operands[0], operands[0])
    if code == ca.OP_INV:
        return writer.put("div", writer.constant(1.0), operands[0])
    if code in (ca.OP_ASSIGN, ca.OP_LIFT):
        return operands[0]
    raise ExpressionError(
        f"Function '{function.name()}' uses the operation '{_KNOWN_AS.get(code, code)}', which has no vector form.",
        f"Write it with +, -, *, /, powers and {', '.join(sorted(n for n in UNARY if n != 'neg'))}, …",
    )


def remove_dead(name: str, written: Writer | Tape, outputs: Sequence[tuple[int, ...]], sizes: tuple[int, ...]) -> Tape:
    """The tape of what these outputs need."""
    instructions = written.instructions
    needed = {position for positions in outputs for position in positions}
    for position in range(len(instructions) - 1, -1, -1):
        if position in needed and instructions[position].operation != "input":
            needed.update(instructions[position].operands)
    moved: dict[int, int] = {}
    kept: list[Instruction] = []
    for position in sorted(needed):
        operation, operands, value = instructions[position]
        moved[position] = len(kept)
        operands = operands if operation == "input" else tuple(moved[o] for o in operands)
        kept.append(Instruction(operation, operands, value))
    moved_outputs = tuple(tuple(moved[p] for p in positions) for positions in outputs)
    return Tape(name, tuple(kept), moved_outputs, sizes, tuple(written.called))
