"""A tape as LLVM text: each instruction becomes one vector operation or a call of a vector function.

Products are allowed to fuse with sums (`contract`); nothing else about rounding, NaN or infinity is relaxed.
Vector functions are inlined, so that a sine does not spill the state, until a tape holds too many of them. A tape that
is called becomes a function of its own, which reads its arguments from memory and leaves its results there.
"""

from collections.abc import Callable, Sequence

from daedal.kernels import math
from daedal.kernels.emitter import PART, Emitter
from daedal.kernels.tape import Tape

MOST_INLINED = 24
OUTLINED = "noinline nounwind willreturn memory(none)"

_COMPARISONS = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}
_LOGICAL = {*_COMPARISONS, "and", "or", "not", "if_else_zero"}
_DIRECT: dict[str, Callable[..., str]] = {
    "add": Emitter.add,
    "sub": Emitter.subtract,
    "mul": Emitter.multiply,
    "div": Emitter.divide,
    "neg": Emitter.negate,
    "sqrt": Emitter.square_root,
    "fabs": Emitter.absolute,
    "copysign": Emitter.copy_sign,
    "fmin": Emitter.minimum,
    "fmax": Emitter.maximum,
    "sign": lambda emitter, x: math.sign(emitter, x),
}


def lower(emitter: Emitter, tape: Tape, inputs: Sequence[Sequence[str]]) -> list[list[str]]:
    """Write a tape on the named input vectors; the names of the outputs."""
    values: list[str] = []
    pairs: dict[str, list[str]] = {}
    results: dict[int, list[str]] = {}
    for operation, operands, constant in tape.instructions:
        if operation == "input":
            values.append(inputs[operands[0]][operands[1]])
            continue
        if operation == "constant":
            values.append(emitter.constant(constant))
            continue
        if operation == "result":
            values.append(results[operands[0]][int(constant)])
            continue
        arguments = [values[operand] for operand in operands]
        if operation in _DIRECT:
            values.append(_DIRECT[operation](emitter, *arguments))
        elif operation in ("sin", "cos"):
            if arguments[0] not in pairs:
                pairs[arguments[0]] = emitter.call("sincos", arguments, results=2)
            values.append(pairs[arguments[0]][operation == "cos"])
        elif operation == "call":
            results[len(values)] = _call(emitter, tape.called[int(constant)], arguments)
            values.append("")
        elif operation in _LOGICAL:
            values.append(_write_logic(emitter, operation, arguments))
        else:
            values += emitter.call(operation, arguments)
    return [[values[position] for position in positions] for positions in tape.outputs]


def _call(emitter: Emitter, called: Tape, arguments: Sequence[str]) -> list[str]:
    """Write a call, and the function that is called unless it is known; the names of all results."""
    name = emitter.parts.find(called) or emitter.parts.add(called, _write_part(emitter, called))
    return emitter.call_part(name, arguments, sum(called.output_sizes))


def _write_part(emitter: Emitter, tape: Tape) -> str:
    """`part(arguments, results)`, vectors one after the other."""
    e = emitter.open_part()
    places = iter(range(sum(tape.input_sizes)))
    given = [[e.read_part("%arguments", next(places)) for _ in range(size)] for size in tape.input_sizes]
    for place, value in enumerate(value for values in lower(e, tape, given) for value in values):
        e.write_part("%results", place, value)
    return e.define_procedure(PART, ("arguments", "results"), (), "noinline")


def define_called(emitter: Emitter) -> str:
    """The definitions of the functions that were called: of vectors, and parts of tapes."""
    inlined = len(emitter.called) <= MOST_INLINED
    attributes = "alwaysinline nounwind" if inlined else OUTLINED
    names = sorted(set(emitter.called))
    texts = [math.define_function(name, emitter.width, emitter.fused, attributes) for name in names]
    for name in sorted(emitter.called_aside):
        text = math.define_function(name, emitter.width, emitter.fused, OUTLINED)
        texts.append(text.replace(f"@daedal.{name}(", f"@daedal.aside.{name}(", 1))
    return "\n".join([*texts, *emitter.parts.list_texts()])


def _write_logic(e: Emitter, operation: str, arguments: list[str]) -> str:
    """Comparisons and logic: 1 for true and 0 for false; any number but 0 is true."""
    zero, one = e.constant(0.0), e.constant(1.0)
    if operation in _COMPARISONS:
        return e.select(e.compare(_COMPARISONS[operation], *arguments), one, zero)
    truth = [e.compare("une", argument, zero) for argument in arguments[:2]]
    if operation == "if_else_zero":
        return e.select(truth[0], arguments[1], zero)
    if operation == "not":
        return e.select(truth[0], zero, one)
    return e.select(e.mask(operation, *truth), one, zero)
