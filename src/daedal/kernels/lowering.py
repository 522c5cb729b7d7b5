"""A tape as LLVM text: each instruction becomes one vector operation or a call of a vector function.

Products are allowed to fuse with sums (`contract`); nothing else about rounding, NaN or infinity is relaxed.
Vector functions are inlined, so that a sine does not spill the state, until a tape holds too many of them.
"""

from collections.abc import Callable, Sequence

from daedal.kernels import math
from daedal.kernels.emitter import Emitter
from daedal.kernels.tape import Tape

MOST_INLINED = 24

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


def lower(emitter: Emitter, tape: Tape, inputs: Sequence[Sequence[str]]) -> tuple[list[list[str]], list[str]]:
    """Emits a tape on the named input vectors; gives the names of the outputs and the vector functions it calls."""
    values: list[str] = []
    called: list[str] = []
    pairs: dict[str, str] = {}
    for operation, operands, constant in tape.instructions:
        if operation == "input":
            values.append(inputs[operands[0]][operands[1]])
            continue
        if operation == "constant":
            values.append(emitter.constant(constant))
            continue
        arguments = [values[operand] for operand in operands]
        if operation in _DIRECT:
            values.append(_DIRECT[operation](emitter, *arguments))
        elif operation in ("sin", "cos"):
            if arguments[0] not in pairs:
                pairs[arguments[0]] = _call(emitter, "sincos", arguments)
                called.append("sincos")
            values.append(_extract(emitter, pairs[arguments[0]], operation == "cos"))
        elif operation in _LOGICAL:
            values.append(_logical(emitter, operation, arguments))
        else:
            values.append(_call(emitter, operation, arguments))
            called.append(operation)
    return [[values[position] for position in positions] for positions in tape.outputs], called


def functions(called: Sequence[str], width: int, fused: bool) -> str:
    """The definitions of the vector functions that were called."""
    attributes = "alwaysinline nounwind" if len(called) <= MOST_INLINED else "noinline nounwind willreturn memory(none)"
    return "\n".join(math.definition(name, width, fused, attributes) for name in sorted(set(called)))


def _call(emitter: Emitter, name: str, arguments: list[str]) -> str:
    text = ", ".join(f"{emitter.doubles} {argument}" for argument in arguments)
    return emitter.new(f"call {math.result_type(name, emitter.width)} @daedal.{name}({text})")


def _extract(emitter: Emitter, pair: str, index: int) -> str:
    return emitter.new(f"extractvalue {math.result_type('sincos', emitter.width)} {pair}, {int(index)}")


def _logical(e: Emitter, operation: str, arguments: list[str]) -> str:
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
