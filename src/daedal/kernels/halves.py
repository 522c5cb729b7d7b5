"""A tape of which some inputs move, in two: what none of them moves, and the rest.

A function that is called with something that moves is divided in the same way: what does not move stays a call, which
also gives the numbers that the rest needs, and the rest is written out where it was called.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from daedal.kernels.tape import Tape, Writer, remove_dead

Moving = Sequence[frozenset[int]]  # the rows of each argument that move


class Halves(NamedTuple):
    """A tape in two: the `common` one gives its outputs and what to keep; the `own` one reads that and own inputs."""

    common: Tape
    own: Tape

    @property
    def kept(self) -> int:
        return len(self.common.outputs[1])


def split_tape(tape: Tape, rows: Moving, own_results: Collection[int] = ()) -> tuple[Halves, list[bool]]:
    """Part a function into what depends on moving rows and what does not; and which of its results are in the rest.

    Those are the ones that move, and `own_results` in any case, by their places among all results.
    """
    tape = _divide_calls(tape, rows)
    moves = _find_moving(tape, rows)
    results = [position for positions in tape.outputs for position in positions]
    apart = [moves[position] or place in own_results for place, position in enumerate(results)]
    common = tuple(position for position, aside in zip(results, apart, strict=True) if not aside)
    own = tuple(position for position, aside in zip(results, apart, strict=True) if aside)
    used = {o for k, one in enumerate(tape.instructions) if moves[k] and one.operation != "input" for o in one.operands}
    kept = tuple(
        sorted(
            position
            for position in used | set(own)
            if not moves[position] and tape.instructions[position].operation != "constant"
        )
    )
    first = remove_dead(tape.name, tape, [common, kept], tape.input_sizes)
    return Halves(first, _write_own(tape, rows, moves, kept, own)), apart


def _find_moving(tape: Tape, rows: Moving) -> list[bool]:
    moves: list[bool] = []
    for operation, operands, _ in tape.instructions:
        if operation == "input":
            moves.append(operands[1] in rows[operands[0]])
        else:
            moves.append(any(moves[operand] for operand in operands))
    return moves


def _write_own(tape: Tape, rows: Moving, moves: list[bool], kept: Sequence[int], own: tuple[int, ...]) -> Tape:
    """Its inputs: what is kept, then moving rows of every argument."""
    places = [{row: k for k, row in enumerate(sorted(part))} for part in rows]
    writer, moved = Writer(), {}
    for number, position in enumerate(kept):
        moved[position] = writer.put("input", 0, number)
    for position, (operation, operands, value) in enumerate(tape.instructions):
        if operation == "constant":
            moved[position] = writer.constant(value)
        elif moves[position] and operation == "input":
            moved[position] = writer.put("input", 1 + operands[0], places[operands[0]][operands[1]])
        elif moves[position]:
            moved[position] = writer.put(operation, *(moved[operand] for operand in operands), value=value)
    sizes = (len(kept), *(len(part) for part in rows))
    return remove_dead(f"{tape.name}_own", writer, [tuple(moved[position] for position in own)], sizes)


def _divide_calls(tape: Tape, rows: Moving) -> Tape:
    """The same function, in which only what does not move is called."""
    if not tape.called:
        return tape
    writer, places = Writer(), list[int]()
    moves: list[bool] = []
    of_calls: dict[int, list[tuple[int, bool]]] = {}  # of each call: where its results stand, and whether they move
    divided: dict[object, tuple[Halves, list[bool]]] = {}
    for position, (operation, operands, value) in enumerate(tape.instructions):
        if operation == "input":
            place, moving = writer.put(operation, *operands), operands[1] in rows[operands[0]]
        elif operation == "result":
            place, moving = of_calls[operands[0]][int(value)]
        elif operation == "call":
            called, given = tape.called[int(value)], [(places[operand], moves[operand]) for operand in operands]
            pattern = (int(value), tuple(moving for _, moving in given))
            if pattern not in divided:
                divided[pattern] = split_tape(called, _list_rows(called, pattern[1]))
            of_calls[position] = _write_call(writer, called, given, *divided[pattern])
            place, moving = -1, False
        else:
            place = writer.put(operation, *(places[operand] for operand in operands), value=value)
            moving = any(moves[operand] for operand in operands)
        places.append(place)
        moves.append(moving)
    outputs = [tuple(places[position] for position in positions) for positions in tape.outputs]
    return remove_dead(tape.name, writer, outputs, tape.input_sizes)


def _list_rows(called: Tape, moving: Sequence[bool]) -> list[frozenset[int]]:
    """The rows of each argument that move, of arguments one after the other."""
    rows, first = [], 0
    for size in called.input_sizes:
        rows.append(frozenset(row for row in range(size) if moving[first + row]))
        first += size
    return rows


def _write_call(
    writer: Writer, called: Tape, given: Sequence[tuple[int, bool]], halves: Halves, moves: Sequence[bool]
) -> list[tuple[int, bool]]:
    """Call what does not move and write out the rest; where each result stands, and whether it moves."""
    if not any(moves):
        call = writer.call(called, [place for place, _ in given])
        return [(writer.result(call, number), False) for number in range(len(moves))]
    still = [writer.constant(0.0) if moving else place for place, moving in given]
    call = writer.call(halves.common, still)
    common, kept = (len(part) for part in halves.common.outputs)
    results = [writer.result(call, number) for number in range(common + kept)]
    inputs, first = [results[common:]], 0
    for size in called.input_sizes:
        inputs.append([place for place, moving in given[first : first + size] if moving])
        first += size
    written: list[int] = []
    for operation, operands, value in halves.own.instructions:
        if operation == "input":
            written.append(inputs[operands[0]][operands[1]])
        else:
            written.append(writer.put(operation, *(written[operand] for operand in operands), value=value))
    own = iter([written[position] for position in halves.own.outputs[0]])
    still_results = iter(results[:common])
    return [(next(own) if moving else next(still_results), moving) for moving in moves]
