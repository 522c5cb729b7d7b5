"""The LLVM functions around tapes: a loop over lanes, and within it one over steps.

Rows of an array are `stride` doubles apart. Pointers do not alias, so that loads of parameters, and whatever depends on
them alone, leave the loop over steps; the state lives in registers.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import NamedTuple, final

from daedal.kernels.emitter import DOUBLE, INTEGER, Emitter, Loop, write_module, write_table
from daedal.kernels.lowering import define_called, lower
from daedal.kernels.tape import Tape

LANES = ("stride", "first", "stop")
STEPS = ("steps", *LANES)
SCAN_POINTERS = ("state", "parameters", "shared", "lane", "begin", "emit", "out")
RECALL_POINTERS = ("state", "parameters", "shared", "lane", "begin", "back", "out", "scratch")

Sums = Sequence[tuple[int, Sequence[int]]]


@final
class _Group:
    """The W lanes that are advanced together, from `first` on: rows of arrays as vectors."""

    def __init__(self, e: Emitter, first: str) -> None:
        self._e, self._first = e, first

    def load(self, pointer: str, begin: str, rows: int) -> list[str]:
        return [self._e.load(self._e.doubles, self._address(pointer, begin, row)) for row in range(rows)]

    def store(self, pointer: str, begin: str, values: Sequence[str]) -> None:
        for row, value in enumerate(values):
            self._e.store(self._e.doubles, value, self._address(pointer, begin, row))

    def _address(self, pointer: str, begin: str, row: int) -> str:
        start = self._e.index("mul", "%stride", self._e.index("add", begin, str(row)))
        return self._e.address(DOUBLE, pointer, self._e.index("add", start, self._first))


def count_columns(sums: Sums) -> int:
    """Columns of `back` that sums read."""
    return 1 + max((column for column, _ in sums), default=-1)


def write_map(tape: Tape, width: int, fused: bool) -> str:
    """`daedal_map(inputs…, outputs…, stride, first, stop)`: a function over the lanes from first to stop."""
    e = Emitter(width, fused, contract=True)
    with e.loop("%first", "%stop", width) as lanes:
        group = _Group(e, lanes.counter)
        inputs = [group.load(f"%in{i}", "0", size) for i, size in enumerate(tape.input_sizes)]
        outputs = lower(e, tape, inputs)
        for k, values in enumerate(outputs):
            group.store(f"%out{k}", "0", values)
    pointers = [f"in{i}" for i in range(len(inputs))] + [f"out{k}" for k in range(len(outputs))]
    return write_module(width, define_called(e), e.define_procedure("daedal_map", pointers, LANES))


class Turn(NamedTuple):
    """What a lane does whose step is not finished: a function of the state it set out from and the one it reached.

    It is applied to the lanes that hold `code` in the place that says what they have to do; where it `restarts`, its
    result is also what they set out from next.
    """

    code: int
    function: Tape
    restarts: bool


class Lookup(NamedTuple):
    """A table of numbers: the place of a row number in the state, and what stands in the places behind it, by rows."""

    place: int
    rows: tuple[tuple[float, ...], ...]


class Detours(NamedTuple):
    """What single lanes do apart from the others.

    Attributes
    ----------
    place
        Of the code in the state, 0 for a lane that has finished its step.
    turns
        Taken in this order, again and again, until all lanes have finished, at most `rounds` times.
    marked, sequel
        A function of the state that is applied after the step, where a column of `shared` is not zero.
    apart, observe
        The place of a number, and how lanes that hold a positive one there are observed.
    lookups
        Done after every turn that restarts.
    """

    place: int
    turns: tuple[Turn, ...]
    rounds: int
    marked: int = -1
    sequel: Tape | None = None
    apart: int = -1
    observe: Tape | None = None
    lookups: tuple[Lookup, ...] = ()


def write_scan(step: Tape, observe: Tape | None, width: int, fused: bool, detours: Detours | None = None) -> str:
    """`daedal_scan(state, parameters, shared, lane, begin, emit, out, steps, stride, first, stop)`, for some steps."""
    n_x, n_p, n_s, n_w = step.input_sizes
    e = Emitter(width, fused, contract=True)
    with _advance(e, n_x, n_p) as (group, parameters, steps):
        i = steps.counter
        others = [parameters, spread_shared(e, i, n_s), _load_lane(e, group, i, n_w)]
        (new,) = lower(e, step, [steps.values, *others])
        if detours:
            new = _take_detours(e, steps.values, new, others, detours)
            new = _end_step(e, new, others, detours)
        if observe is not None:
            row = load_integer(e, "%emit", i)
            with e.when(e.compare_integers("sge", row, "0")):
                (observed,) = lower(e, observe, [new, *others])
                if detours:
                    observed = _observe_apart(e, observed, new, others, detours)
                group.store("%out", e.index("mul", row, str(len(observed))), observed)
        steps.carry(new)
    lookups = detours.lookups if detours else ()
    tables = [write_table(f"table{k}", [x for row in one.rows for x in row]) for k, one in enumerate(lookups)]
    return write_module(width, define_called(e), *tables, e.define_procedure("daedal_scan", SCAN_POINTERS, STEPS))


def _end_step(e: Emitter, state: list[str], others: list[list[str]], detours: Detours) -> list[str]:
    """The state after what is done at the end of a marked step."""
    if detours.sequel is None:
        return state
    with e.branch(e.any(e.compare("one", others[1][detours.marked], e.constant(0.0))), e.doubles, state) as marked:
        marked.carry(*lower(e, detours.sequel, [state, *others]))
    return marked.values


def _take_detours(e: Emitter, start: list[str], new: list[str], others: list[list[str]], detours: Detours) -> list[str]:
    """The state when all lanes of the group have finished the step; those that had are not touched."""
    if not detours.turns:
        return new
    unfinished = e.any(e.compare("ogt", new[detours.place], e.constant(0.0)))
    with e.branch(unfinished, e.doubles, new) as aside:
        with e.loop("0", str(detours.rounds), kind=e.doubles, carried=[*start, *new]) as rounds:
            reached = rounds.values
            for turn in detours.turns:
                reached = _take_turn(e, turn, reached, others, detours)
            rounds.carry(reached)
        aside.carry(rounds.values[len(new) :])
    return aside.values


def _take_turn(e: Emitter, turn: Turn, reached: list[str], others: list[list[str]], detours: Detours) -> list[str]:
    size = len(reached) // 2
    start, new = reached[:size], reached[size:]
    mask = e.compare("oeq", new[detours.place], e.constant(float(turn.code)))
    with e.branch(e.any(mask), e.doubles, reached) as branch:
        (result,) = lower(e, turn.function, [start, new, *others])
        if turn.restarts:
            result = _look_up(e, result, detours.lookups)
        chosen = [e.select(mask, one, other) for one, other in zip(result, new, strict=True)]
        origin = [e.select(mask, one, other) for one, other in zip(result, start, strict=True)]
        branch.carry([*(origin if turn.restarts else start), *chosen])
    return branch.values


def _look_up(e: Emitter, state: list[str], lookups: tuple[Lookup, ...]) -> list[str]:
    """The state with what stands in tables at its row numbers."""
    state = list(state)
    for number, (place, rows) in enumerate(lookups):
        row = e.minimum(e.maximum(state[place], e.constant(0.0)), e.constant(float(len(rows) - 1)))
        columns = len(rows[0])
        state[place + 1 : place + 1 + columns] = e.gather(f"@table{number}", row, columns)
    return state


def _observe_apart(
    e: Emitter, observed: list[str], state: list[str], others: list[list[str]], detours: Detours
) -> list[str]:
    """What is observed, of lanes apart in their own way."""
    if detours.observe is None:
        return observed
    mask = e.compare("ogt", state[detours.apart], e.constant(0.0))
    with e.branch(e.any(mask), e.doubles, observed) as branch:
        (result,) = lower(e, detours.observe, [state, *others])
        branch.carry([e.select(mask, one, other) for one, other in zip(result, observed, strict=True)])
    return branch.values


def write_recall(step: Tape, observe: Tape, weigh: Tape, sums: Sums, width: int, fused: bool) -> str:
    """`daedal_recall(state, parameters, shared, lane, begin, back, out, scratch, steps, stride, first, stop)`.

    Every step writes its own row of `out` and reads earlier ones: `sums` lists columns of `back` and observed numbers,
    of each of which the sum over consecutive rows is taken, weighted by what `weigh` gives for that entry of the list.
    """
    n_x, n_p, n_s, n_w, n_r = step.input_sizes
    (n_y,) = observe.output_sizes
    e = Emitter(width, fused, contract=True)
    with _advance(e, n_x, n_p) as (group, parameters, steps):
        i = steps.counter
        shared = spread_shared(e, i, n_s)
        (weights,) = lower(e, weigh, [shared])
        _write_sums(e, group, sums, weights, i, n_y)
        past = [e.load(e.doubles, e.address(e.doubles, "%scratch", str(place))) for place in range(n_r)]
        others = [parameters, shared, _load_lane(e, group, i, n_w), past]
        (new,) = lower(e, step, [steps.values, *others])
        (observed,) = lower(e, observe, [new, *others])
        group.store("%out", e.index("mul", i, str(n_y)), observed)
        steps.carry(new)
    tables = [write_table(f"rows{number}", rows) for number, (_, rows) in enumerate(sums)]
    recall = e.define_procedure("daedal_recall", RECALL_POINTERS, STEPS)
    return write_module(width, define_called(e), *tables, recall)


@contextmanager
def _advance(e: Emitter, n_x: int, n_p: int) -> Iterator[tuple[_Group, list[str], Loop]]:
    """What follows for every group of lanes and every step: the group, its parameters, and a loop that carries x."""
    with e.loop("%first", "%stop", e.width) as lanes:
        group = _Group(e, lanes.counter)
        initial, parameters = group.load("%state", "0", n_x), group.load("%parameters", "0", n_p)
        with e.loop("0", "%steps", kind=e.doubles, carried=initial) as steps:
            yield group, parameters, steps
        group.store("%state", "0", steps.values)


def _write_sums(e: Emitter, group: _Group, sums: Sums, weights: Sequence[str], step: str, n_y: int) -> None:
    """Σ_k weights[k] · out[begin + k] of the listed numbers to `scratch`; loops over them keep the code short."""
    columns, points, offset = count_columns(sums), len(weights) // max(len(sums), 1), 0
    backs = e.index("mul", step, str(columns))
    firsts = [load_integer(e, "%back", e.index("add", backs, str(column))) for column in range(columns)]
    for number, (column, rows) in enumerate(sums):
        begin = e.index("mul", firsts[column], str(n_y))
        with e.loop("0", str(len(rows))) as places:
            base = e.index("add", begin, load_integer(e, f"@rows{number}", places.counter))
            products = []
            for k, weight in enumerate(weights[number * points : (number + 1) * points]):
                products.append(e.multiply(weight, *group.load("%out", e.index("add", base, str(k * n_y)), 1)))
            place = e.index("add", places.counter, str(offset))
            e.store(e.doubles, reduce(e.add, products), e.address(e.doubles, "%scratch", place))
        offset += len(rows)


def load_integer(e: Emitter, pointer: str, place: str) -> str:
    return e.load(INTEGER, e.address(INTEGER, pointer, place))


def _load_lane(e: Emitter, group: _Group, step: str, count: int) -> list[str]:
    """The rows of `lane` that belong to a step; steps may share rows, so where they begin is a table."""
    return group.load("%lane", load_integer(e, "%begin", step), count) if count else []


def spread_shared(e: Emitter, step: str, count: int) -> list[str]:
    """The numbers of a step that all lanes share."""
    begin = e.index("mul", step, str(count))
    places = [e.address(DOUBLE, "%shared", e.index("add", begin, str(number))) for number in range(count)]
    return [e.spread(DOUBLE, e.load(DOUBLE, place)) for place in places]
