"""Steps under error control as a compiled loop: one step is compared with two halves of it, which are kept.

With e the largest difference of a state, relative to what is allowed, the next step has the length

    h ← h · min(4, max(1/10, 0.9 · e^(−1/(p + 1)))),     p the order of the method; it is taken again where e > 1.

What is allowed follows the size of a state down by `FADING` in a step at most: what changes sign is not small. Between
two stops every known input is a cubic at most, so that steps tabulate what they read themselves. Sizes are known at run
time only, so that the code is made once for all systems, whose step it is given as a pointer.

E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, Springer 1993, section II.4.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, final

import numpy as np

from daedal.errors import SimulationError, give_up_if_stopped
from daedal.kernels import compiler
from daedal.kernels.arguments import PIECE, check_array, check_disjoint
from daedal.kernels.nested_loops import LoopFunction, Value, View
from daedal.kernels.scan import NARROWEST, ScanKernel

ABSOLUTE = 1e-13  # of its size: error of a step that is always allowed
FEW, HOPELESS = 200, 3  # steps that tell nothing about how many there will be; times too many not to go on
FADING = 0.5  # of the largest value of a state so far: what is left of it after a step
NEARLY = 0.9  # of what is left of an interval: steps that are longer take it whole
LEAST_FACTOR, MOST_FACTOR, SAFETY = 0.1, 4.0, 0.9  # of the length of the next step
EXACT = 1e-12  # of what is allowed: smaller errors tell nothing about the next step
POWERS = 4  # coefficients of an input between two stops
OPEN, CROSSED, GIVEN_UP = range(3)
ROWS = 3  # that a trial reads: of a whole step and of its halves

NUMBERS = ("begin", "interval", "done", "length", "steps", "start", "end", "tolerance", "power", "most", "unfinished")
COUNTS = ("taken", "trials", "outcome")
POINTERS = (
    "move", "numbers", "counts", "lengths", "state", "whole", "halves", "parameters", "shared", "lane", "begins",
    "emit", "out", "recent", "sizes", "nodes", "inputs", "after", "marks",
)  # fmt: skip
INTEGERS = ("trials", "states", "rows", "width", "worst", "known", "points", "marked", "columns")


@final
@dataclass(frozen=True, eq=False)
class Control:
    """What errors are judged by: the tolerance of one step, the sizes of the states, how large they have been.

    `start` and `end` are those of the whole way, of which `most` steps are too many; `order` is that of the method.
    The row `worst` of the state is above `unfinished` where equations were not solved.
    """

    tolerance: float
    order: int
    sizes: np.ndarray
    recent: np.ndarray
    start: float
    end: float
    most: int
    worst: int
    unfinished: float


@final
@dataclass(frozen=True, eq=False)
class Stretches:
    """Intervals between stops: (interval,) when they begin and how long they are.

    inputs (interval, input, power) are coefficients of the time since their beginnings, after (interval, input) the
    values behind their ends, marks (interval, column) what steps that end there read in the last columns.
    """

    begins: np.ndarray
    lengths: np.ndarray
    inputs: np.ndarray
    after: np.ndarray
    marks: np.ndarray


@final
class Crossing:
    """One lane that crosses an interval between stops after another; `trials` counts the steps that were tried."""

    def __init__(
        self, kernel: ScanKernel, state: np.ndarray, parameters: np.ndarray, nodes: np.ndarray, control: Control
    ) -> None:
        n_x, n_p, n_s, n_w = kernel.sizes
        states, width = control.sizes.size, kernel.width
        if n_w:
            raise SimulationError("Only lanes without values of their own choose their steps.", "Give the steps.")
        self._columns, self._kernel = n_s, kernel  # whose code lives as long as it is called by its address
        self._state = np.repeat(check_array(state, (n_x, 1), "state"), width, axis=1)  # equal lanes: none is filled up
        self._given = np.repeat(check_array(parameters, (n_p, 1), "parameters"), width, axis=1)
        self._numbers, self._counts = np.zeros(len(NUMBERS)), np.zeros(len(COUNTS), dtype=np.int64)
        self._lengths = np.zeros(max(control.most, FEW) + 2)
        one = (control.start, control.end, control.tolerance, -1.0 / (control.order + 1), control.most)
        self._numbers[NUMBERS.index("start") :] = (*one, control.unfinished)
        self._numbers[NUMBERS.index("length")] = 1e-4 * (control.end - control.start)
        none, begins, emit = np.zeros(0), np.zeros(ROWS, dtype=np.int64), np.full(ROWS, -1, dtype=np.int64)
        trials = [self._state.copy() for _ in range(2)]
        recent = check_array(control.recent.copy(), (states,), "recent")
        sizes = check_array(control.sizes, (states,), "sizes")
        check_disjoint(self._state, recent, sizes, nodes)
        self._arrays = [
            self._numbers, self._counts, self._lengths, self._state, *trials, self._given, np.zeros((ROWS, n_s)), none,
            begins, emit, none, recent, sizes, check_array(nodes, nodes.shape, "nodes"),
        ]  # fmt: skip
        self._sizes = (states, n_x, width, range(n_x)[control.worst])
        self._move, self._call = kernel.share(_load())
        self._at_once = max(int(PIECE / max(ROWS * width * kernel.instructions, 1)), 1)

    @property
    def trials(self) -> int:
        """Steps that were tried so far."""
        return int(self._counts[COUNTS.index("trials")])

    @property
    def state(self) -> np.ndarray:
        """Where the lane is."""
        return self._state[:, 0]

    def cross(self, stretches: Stretches) -> list[np.ndarray] | None:
        """The lengths of the steps over each interval; None when there would be too many."""
        count, known = len(stretches.begins), stretches.after.shape[1]
        points, marked = self._arrays[-1].size, stretches.marks.shape[1]
        if 2 + known * (points + 1) + marked != self._columns:
            raise SimulationError("The inputs are not those of the steps.", "Tabulate those that the steps read.")
        inputs = check_array(stretches.inputs, (count, known, POWERS), "inputs")
        after = check_array(stretches.after, (count, known), "after")
        marks = check_array(stretches.marks, (count, marked), "marks")
        fixed = [self._move, *(array.ctypes.data for array in self._arrays)]
        outcome, crossings = COUNTS.index("outcome"), []
        for k, (begin, length) in enumerate(zip(stretches.begins.tolist(), stretches.lengths.tolist(), strict=True)):
            self._numbers[:3] = begin, length, 0.0
            self._counts[outcome], before = OPEN, self._counts[0]
            moving = [array.ctypes.data + k * array.strides[0] for array in (inputs, after, marks)]
            while self._counts[outcome] == OPEN:
                give_up_if_stopped()
                self._call(*fixed, *moving, self._at_once, *self._sizes, known, points, marked, self._columns)
            if self._counts[outcome] == GIVEN_UP:
                return None
            crossings.append(self._lengths[before : self._counts[0]].copy())
        return crossings


@cache
def _load() -> Any:
    return compiler.load(write_crossing()).function("daedal_cross", len(POINTERS), len(INTEGERS))


def write_crossing() -> str:
    """`daedal_cross(pointers…, integers…)`: so many trials, unless the interval is crossed or given up before."""
    f = LoopFunction("daedal_cross", POINTERS, INTEGERS, NARROWEST)
    counts = f.view("counts", kind="i64")
    with f.loop(f.integer("trials")), f.when(counts[COUNTS.index("outcome")] < 1):
        _try_step(f, counts)
    return f.text()


def _try_step(f: LoopFunction, counts: View) -> None:
    """Choose a length, and go on with the halves of a step that is good enough."""
    numbers, lengths = f.view("numbers"), f.view("lengths")
    begin, interval, done, length, steps, start, end, tolerance, power, most, unfinished = (
        numbers[place] for place in range(len(NUMBERS))
    )
    left = interval - done
    last = length.exceeds(left * f.number(NEARLY))
    taken = f.choose(last, left, f.smaller(length, left * f.number(0.5)))
    time = begin + done
    typical = f.larger(length, (time - start) / steps)
    hopeless = ((end - time) / typical).exceeds(most * f.number(HOPELESS)) | steps.exceeds(most)
    endless = (steps.exceeds(f.number(FEW)) & hopeless) | (done + taken).equals(done)
    with f.when(endless):
        counts[COUNTS.index("outcome")] = f.whole(GIVEN_UP)
    with f.when(~endless):
        _tabulate(f, (done, taken, time), last)
        error = _compare(f, (tolerance, taken, time, unfinished))
        factor = f.number(SAFETY) * f.power(f.larger(error, f.number(EXACT)), power)
        factor = f.smaller(f.larger(factor, f.number(LEAST_FACTOR)), f.number(MOST_FACTOR))
        numbers[NUMBERS.index("length")] = taken * factor
        counts[COUNTS.index("trials")] = counts[COUNTS.index("trials")] + 1
        with f.when(~error.exceeds(f.number(1.0))):
            _go_on(f)
            count = counts[COUNTS.index("taken")]
            lengths[count] = taken
            counts[COUNTS.index("taken")] = count + 1
            numbers[NUMBERS.index("steps")] = steps + f.number(1.0)
            numbers[NUMBERS.index("done")] = f.choose(last, interval, done + taken)
            with f.when(last):
                counts[COUNTS.index("outcome")] = f.whole(CROSSED)


def _tabulate(f: LoopFunction, at: tuple[Value, ...], last: Value) -> None:
    """What a step and its halves read: when and how long they are, inputs at nodes and behind them, marks."""
    done, taken, time = at
    known, points, marked = (f.integer(name) for name in ("known", "points", "marked"))
    shared, inputs = f.view("shared", f.integer("columns")), f.view("inputs", f.whole(POWERS))
    nodes, after, marks = f.view("nodes"), f.view("after"), f.view("marks")
    half = taken * f.number(0.5)

    def evaluate(j: Value, elapsed: Value) -> Value:
        value = inputs[j, POWERS - 1]
        for power in reversed(range(POWERS - 1)):
            value = value * elapsed + inputs[j, power]
        return value

    for row, (since, moment, span) in enumerate(
        ((done, time, taken), (done, time, half), (done + half, time + half, half))
    ):
        shared[row, 0], shared[row, 1] = moment, span
        with f.loop(known) as j:
            with f.loop(points) as k:
                shared[row, j * points + k + 2] = evaluate(j, since + span * nodes[k])
            behind = evaluate(j, since + span)
            shared[row, known * points + j + 2] = behind if row == 1 else f.choose(last, after[j], behind)
        with f.loop(marked) as m:
            none = f.number(0.0)
            place = known * (points + 1) + m + 2
            shared[row, place] = none if row == 1 else f.choose(last, marks[m], none)


def _compare(f: LoopFunction, given: tuple[Value, ...]) -> Value:
    """Take the step and its halves; how much they differ, relative to what is allowed."""
    tolerance, taken, time, unfinished = given
    width, worst, states = (f.integer(name) for name in ("width", "worst", "states"))
    state, whole, halves = (f.view(name, width) for name in ("state", "whole", "halves"))
    recent, sizes = f.view("recent"), f.view("sizes")
    with f.loop(f.integer("rows")) as i, f.loop(width) as lane:
        whole[i, lane] = state[i, lane]
        halves[i, lane] = state[i, lane]
    shared = f.view("shared", f.integer("columns"))
    for trial, row, steps in (("whole", 0, 1), ("halves", 1, 2)):
        pointers = [f.pointer(trial), f.pointer("parameters"), shared.find(row, 0)]
        pointers += [f.pointer(name) for name in ("lane", "begins", "emit", "out")]
        f.call("move", pointers, [f.whole(steps), width, f.whole(0), width])
    rounding = f.spacing(f.absolute(time)) / taken

    def relate(i: Value) -> Value:
        x = halves[i, 0]
        allowed = tolerance * f.larger(f.absolute(x), recent[i]) + f.number(ABSOLUTE) * sizes[i]
        allowed = allowed + rounding * f.absolute(x - state[i, 0])  # for the time is rounded as well
        ratio = f.absolute(whole[i, 0] - x) / allowed
        return f.choose(ratio.within(f.number(np.finfo(float).max)), ratio, f.number(np.inf))  # as a NaN is none

    error = f.largest(states, relate)
    solved = f.absolute(whole[worst, 0]).within(unfinished) & f.absolute(halves[worst, 0]).within(unfinished)
    return f.choose(solved, error, f.number(np.inf))


def _go_on(f: LoopFunction) -> None:
    """With the state after the halves, and what has become largest."""
    width = f.integer("width")
    state, halves, recent = f.view("state", width), f.view("halves", width), f.view("recent")
    with f.loop(f.integer("rows")) as i, f.loop(width) as lane:
        state[i, lane] = halves[i, lane]
    with f.loop(f.integer("states")) as i:
        recent[i] = f.larger(f.absolute(halves[i, 0]), f.number(FADING) * recent[i])
