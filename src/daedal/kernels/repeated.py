"""A scan whose state moves in many directions: what they have in common is computed once, the rest in a loop over them.

A function is typed for one direction. What of it depends on that direction is found on the tape and becomes a function
of its own, which is called for each direction in turn; it finds in `scratch` what it needs of the rest. So the code,
and the time to compile it, do not grow with the number of directions, which is only known when the kernel runs.

    for each group of W lanes:  x ← state (common part)
        for i = 0 … steps−1:    x, scratch ← step(x, parameters, shared[i], lane[i])
                                for each direction: its part of the state ← moved by scratch
                                if emit[i] ≥ 0: the same for what is observed
        state ← x
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

import casadi as ca
import numpy as np

from daedal.kernels import compiler, loops
from daedal.kernels.emitter import DOUBLE, Emitter, write_module
from daedal.kernels.halves import Halves, split_tape
from daedal.kernels.lowering import define_called, lower
from daedal.kernels.scan import ScanKernel, check_room, choose_width
from daedal.kernels.tape import Tape, read_tape
from daedal.kernels.target import find_host

POINTERS = (*loops.SCAN_POINTERS, "scratch")
INTEGERS = (*loops.STEPS, "directions")
STATE, PARAMETERS, SHARED, LANE = range(4)
FIXED = 5  # lanes: what an operation takes whatever the width, measured with vectors of 2 to 16


class Layout(NamedTuple):
    """Rows of an array: `groups` times a head, rows of their `own` for each direction, and a tail."""

    head: int
    own: int = 0
    tail: int = 0
    groups: int = 1

    def count(self, directions: int) -> int:
        return self.groups * self.span(directions)

    def span(self, directions: int) -> int:
        """Rows of a group."""
        return self.head + directions * self.own + self.tail

    def locate_common(self) -> list[tuple[int, int, bool]]:
        """Of a function of one direction: common rows, where each stands in its group, and whether in the tail."""
        places = [(row, False) for row in range(self.head)] + [(self.head + row, True) for row in range(self.tail)]
        return [(group, place, late) for group in range(self.groups) for place, late in places]

    def list_rows(self, own: bool) -> list[int]:
        """Rows of a function of one direction that are the direction's own, or common."""
        return [row for row in range(self.count(1)) if self._is_own(row) == own]

    def _is_own(self, row: int) -> bool:
        return self.head <= row % self.span(1) < self.head + self.own if self.span(1) else False


def split_directions(tape: Tape, inputs: Sequence[Layout], output: Layout) -> Halves:
    """Part a function of one direction into what depends on it and what does not."""
    own = frozenset(output.list_rows(own=True))
    halves, apart = split_tape(tape, [frozenset(layout.list_rows(own=True)) for layout in inputs], own)
    assert sum(apart) == len(own), "common results depend on a direction"
    return halves


@final
class RepeatedScan:
    """A compiled scan for any number of directions; `at` gives the kernel for one number."""

    def __init__(self, step: Halves, observe: Halves, inputs: Sequence[Layout], output: Layout, width: int) -> None:
        self.width, self.inputs, self.output = width, tuple(inputs), output
        self.instructions = step.common.count_operations().total(), step.own.count_operations().total()
        self._kept = max(step.kept, observe.kept, 1)
        code = compiler.load(write_repeated(step, observe, inputs, output, width, find_host().fused))
        self._call = code.function("daedal_repeated", len(POINTERS), len(INTEGERS))

    def at(self, directions: int) -> ScanKernel:
        """The kernel of lanes that have so many directions."""
        sizes = tuple(layout.count(directions) for layout in self.inputs)
        return ScanKernel(self._bind(directions), self.width, sizes, self.output.count(directions))

    def _bind(self, directions: int) -> Callable[..., None]:
        pointers = len(loops.SCAN_POINTERS)

        def call(*arguments: Any) -> None:
            scratch = np.empty((self._kept, self.width))  # of this call: others may run at the same time
            self._call(*arguments[:pointers], scratch.ctypes.data, *arguments[pointers:], directions)

        return call


def compile_repeated(
    step: ca.Function, observe: ca.Function, inputs: Sequence[Layout], output: Layout, directions: int | None = None
) -> RepeatedScan:
    """A scan of functions of (state, parameters, shared, lane) for one direction; layouts tell which rows are its own.

    With a number of `directions` it is for one trajectory, copies of which share them.

    Examples
    --------
    The solution of x′ = −r x by Euler's method, and how it moves with r and with its start:

    >>> x, dx, r, dr, h, none = (ca.SX.sym(name) for name in ("x", "dx", "r", "dr", "h", "none"))
    >>> given = [ca.vertcat(x, dx), ca.vertcat(r, dr), h, ca.SX(0, 1)]
    >>> move = ca.Function("move", given, [ca.vertcat(x - h * r * x, dx - h * (dr * x + r * dx))])
    >>> layouts = [Layout(1, 1), Layout(1, 1), Layout(1), Layout(0)]
    >>> kernel = compile_repeated(move, ca.Function("see", given, [given[0]]), layouts, Layout(1, 1)).at(2)
    >>> state, parameters = np.array([[1.0], [0.0], [1.0]]), np.array([[0.5], [1.0], [0.0]])
    >>> out = np.zeros((1, 3, 1))
    >>> kernel.run(state, parameters, np.full((2, 1), 1.0), np.zeros((2, 0, 1)), np.array([-1, 0]), out)
    >>> out[0, :, 0]
    array([ 0.25, -1.  ,  0.25])
    """
    tapes = read_tape(step), read_tape(observe)
    check_room(*tapes)
    halves = [
        split_directions(tape, inputs, layout) for tape, layout in zip(tapes, (inputs[STATE], output), strict=True)
    ]
    width = choose_width(tapes[0])
    if directions is not None:
        width = _choose_narrower(width, halves[0], directions)
    return RepeatedScan(halves[0], halves[1], inputs, output, width)


def _choose_narrower(widest: int, step: Halves, directions: int) -> int:
    """Lanes among which directions of one trajectory are divided: a wider vector takes longer for what they share."""
    common, own = (tape.count_operations().total() for tape in step)
    widths = [width for width in (2, 4, 8, 16) if width <= widest]
    return min(widths, key=lambda width: (FIXED + width) * (common + -(-directions // width) * own))


def write_repeated(
    step: Halves, observe: Halves, inputs: Sequence[Layout], output: Layout, width: int, fused: bool
) -> str:
    """`daedal_repeated(state, parameters, shared, lane, begin, emit, out, scratch, steps, …, directions)`."""
    e = Emitter(width, fused, contract=True)
    parts = [
        _write_own_function("daedal_move", step.own, inputs, e),
        _write_own_function("daedal_see", observe.own, inputs, e),
    ]
    with e.loop("%first", "%stop", width) as lanes:
        rows = _Rows(e, lanes.counter, inputs)
        parameters = rows.load(PARAMETERS, "%parameters", "0")
        with e.loop("0", "%steps", kind=e.doubles, carried=rows.pick(STATE, rows.load(STATE, "%state", "0"))) as steps:
            i = steps.counter
            begin = loops.load_integer(e, "%begin", i) if inputs[LANE].count(1) else "0"
            others = [parameters, loops.spread_shared(e, i, inputs[SHARED].head), rows.load(LANE, "%lane", begin)]
            new = rows.move("daedal_move", step, steps.values, others, begin)
            row = loops.load_integer(e, "%emit", i)
            with e.when(e.compare_integers("sge", row, "0")):
                rows.see("daedal_see", observe, new, others, begin, row, output)
            steps.carry(new)
        rows.store(inputs[STATE], "%state", "0", steps.values)
    parts.append(e.define_procedure("daedal_repeated", POINTERS, INTEGERS))
    return write_module(width, define_called(e), *parts)


@final
class _Rows:
    """The rows of W lanes, common ones as vectors."""

    def __init__(self, e: Emitter, first: str, inputs: Sequence[Layout]) -> None:
        self._e, self._first, self._inputs = e, first, inputs

    def load(self, argument: int, pointer: str, begin: str) -> list[str]:
        """All rows of a function of one direction; those of its own are left out."""
        layout, e = self._inputs[argument], self._e
        rows = [""] * layout.count(1)
        common = layout.list_rows(own=False)
        for row, place in zip(common, self._locate(layout, begin), strict=True):
            rows[row] = e.load(e.doubles, self._address(pointer, place))
        return rows

    def pick(self, argument: int, rows: list[str]) -> list[str]:
        """Common rows."""
        return [rows[row] for row in self._inputs[argument].list_rows(own=False)]

    def store(self, layout: Layout, pointer: str, begin: str, values: Sequence[str]) -> None:
        for place, value in zip(self._locate(layout, begin), values, strict=True):
            self._e.store(self._e.doubles, value, self._address(pointer, place))

    def move(self, name: str, halves: Halves, state: list[str], others: list[list[str]], begin: str) -> list[str]:
        """The common state after a step, while every direction is moved in place."""
        new, kept = lower(self._e, halves.common, [self._spread(state), *others])
        self._repeat(name, kept, begin, "%state", self._inputs[STATE], "0")
        return new

    def see(
        self, name: str, halves: Halves, state: list[str], others: list[list[str]], begin: str, row: str, output: Layout
    ) -> None:
        """Write a row of `out`."""
        seen, kept = lower(self._e, halves.common, [self._spread(state), *others])
        first = self._e.index("mul", row, self._span(output))
        self.store(output, "%out", first, seen)
        self._repeat(name, kept, begin, "%out", output, first)

    def _spread(self, state: list[str]) -> list[str]:
        """A common state as rows of a function of one direction."""
        layout = self._inputs[STATE]
        rows = [""] * layout.count(1)
        for row, value in zip(layout.list_rows(own=False), state, strict=True):
            rows[row] = value
        return rows

    def _repeat(self, name: str, kept: list[str], begin: str, target: str, layout: Layout, first: str) -> None:
        """Call the function of one direction for each of them."""
        e = self._e
        for number, value in enumerate(kept):
            e.store(e.doubles, value, e.address(e.doubles, "%scratch", str(number)))
        with e.loop("0", "%directions") as directions:
            k = directions.counter
            pointers = [
                self._find_own("%state", self._inputs[STATE], "0", k),
                self._find_own("%parameters", self._inputs[PARAMETERS], "0", k),
                self._find_own("%lane", self._inputs[LANE], begin, k),
                self._find_own(target, layout, first, k),
            ]
            e.call_procedure(name, ["%scratch", *pointers], ["%stride", self._span(self._inputs[LANE])])

    def _find_own(self, pointer: str, layout: Layout, begin: str, direction: str) -> str:
        """Where the rows of a direction begin."""
        place = self._e.index("add", begin, str(layout.head))
        return self._address(pointer, self._e.index("add", place, self._e.index("mul", direction, str(layout.own))))

    def _locate(self, layout: Layout, begin: str) -> list[str]:
        """Places of common rows in an array with all directions."""
        e = self._e
        places = []
        for group, place, late in layout.locate_common():
            at = e.index("add", begin, str(place))
            if late and layout.own:
                at = e.index("add", at, e.index("mul", "%directions", str(layout.own)))
            if group:
                at = e.index("add", at, e.index("mul", self._span(layout), str(group)))
            places.append(at)
        return places

    def _span(self, layout: Layout) -> str:
        own = self._e.index("mul", "%directions", str(layout.own))
        return self._e.index("add", own, str(layout.head + layout.tail))

    def _address(self, pointer: str, row: str) -> str:
        start = self._e.index("mul", "%stride", row)
        return self._e.address(DOUBLE, pointer, self._e.index("add", start, self._first))


def _write_own_function(name: str, tape: Tape, inputs: Sequence[Layout], outer: Emitter) -> str:
    """`name(scratch, state, parameters, lane, target, stride, span)`: pointers stand at the rows of one direction."""
    e = Emitter(outer.width, outer.fused, contract=True)
    kept = [e.load(e.doubles, e.address(e.doubles, "%scratch", str(k))) for k in range(tape.input_sizes[0])]

    def load(pointer: str, layout: Layout) -> list[str]:
        places = [(group, row) for group in range(layout.groups) for row in range(layout.own)]
        return [e.load(e.doubles, _find_row(e, pointer, group, row)) for group, row in places]

    given = [
        kept,
        load("%state", inputs[STATE]),
        load("%parameters", inputs[PARAMETERS]),
        [],
        load("%lane", inputs[LANE]),
    ]
    (results,) = lower(e, tape, given)
    for row, value in enumerate(results):
        e.store(e.doubles, value, _find_row(e, "%target", 0, row))
    outer.called += e.called
    pointers = ("scratch", "state", "parameters", "lane", "target")
    return e.define_procedure(name, pointers, ("stride", "span"), "noinline", aliased=("state", "target"))


def _find_row(e: Emitter, pointer: str, group: int, row: int) -> str:
    place = e.index("add", e.index("mul", "%span", str(group)), str(row))
    return e.address(DOUBLE, pointer, e.index("mul", "%stride", place))
