"""A CasADi function iterated over many lanes that reads what it observed at earlier steps: systems with delays.

    for each group of W lanes:  x ← state
        for i = 0 … steps−1:    w ← n_w rows of lane, from row begin[i] on
                                for each (g, numbers) of `sums`, with its weights v of weigh(shared[i]):
                                    r ← Σ_k v_k · out[back[i, g] + k, j] for each j of numbers
                                x ← step(x, parameters, shared[i], w, r)
                                out[i] ← observe(x, parameters, shared[i], w, r)
        state ← x

Lanes come last and fill whole vectors: the caller pads them. Otherwise as in `daedal.kernels.scan`.
"""

from collections.abc import Callable
from typing import final

import casadi as ca
import numpy as np

from daedal.errors import ExpressionError, SimulationError
from daedal.kernels import compiler, loops
from daedal.kernels.arguments import Array, check_array, check_disjoint, check_rows, divide_loop
from daedal.kernels.loops import Sums
from daedal.kernels.scan import check_room
from daedal.kernels.tape import Tape, read_tape
from daedal.kernels.target import find_host

ARGUMENTS = ("state", "parameters", "shared", "lane", "recalled")


@final
class RecallKernel:
    """Advances lanes over steps; see `run`."""

    def __init__(self, step: Tape, observe: Tape, weigh: Tape, sums: Sums, points: int) -> None:
        self.width = find_host().register
        self.sizes = step.input_sizes
        self.observed = observe.output_sizes[0]
        self.columns = loops.count_columns(sums)
        self._points = points
        self._operations = sum(len(tape.instructions) for tape in (step, observe, weigh))
        code = compiler.load(loops.write_recall(step, observe, weigh, sums, self.width, find_host().fused))
        self._call = code.function("daedal_recall", len(loops.RECALL_POINTERS), len(loops.STEPS))

    def pad(self, lanes: int) -> int:
        """The number of lanes that arrays for so many must have."""
        return -(-lanes // self.width) * self.width

    def run(
        self,
        state: Array,
        parameters: Array,
        shared: Array,
        lane: Array,
        begin: Array,
        back: Array,
        out: Array,
        *,
        pause: Callable[[], None] | None = None,
    ) -> None:
        """Advances all lanes over all steps, `state` in place, and fills `out`.

        Arrays are float64 and C-contiguous: state (n_x, lanes), parameters (n_p, lanes), shared (steps, n_s), lane
        (points, values, lanes), out (steps, n_y, lanes); begin (steps,) int64 says from which of the points · values
        rows of `lane` each step reads n_w, back (steps, columns) int64 from which rows of `out`. `out` may have more
        rows than there are steps, to be read only. A long run comes back now and then for a `pause`, which may raise.
        """
        n_x, n_p, n_s, n_w, n_r = self.sizes
        lanes, steps, rows = np.shape(state)[-1], np.shape(begin)[0], np.shape(out)[0]
        if lanes % self.width:
            raise SimulationError(f"Lanes must be a multiple of {self.width}, got {lanes}.", "Repeat the last one.")
        points, values = np.shape(lane)[:2]
        arrays = [
            check_array(state, (n_x, lanes), "state", written=True),
            check_array(parameters, (n_p, lanes), "parameters"),
            check_array(shared, (steps, n_s), "shared"),
            check_array(lane, (points, values, lanes), "lane"),
            check_rows(begin, (steps,), points * values - n_w, "begin", "Make 'lane' longer."),
            check_rows(back, (steps, self.columns), rows - self._points, "back", "Correct the rows."),
            check_array(out, (max(rows, steps), self.observed, lanes), "out", written=True),
        ]
        check_disjoint(state, out, *arrays[1:4])
        scratch = np.empty((n_r, self.width))
        for part in divide_loop(steps, self._operations * lanes):
            if pause is not None:
                pause()
            first = part.start  # rows are counted from here
            seen = [state, parameters, shared[part], lane, begin[part], back[part] - first, out[first:], scratch]
            self._call(*(array.ctypes.data for array in seen), part.stop - first, lanes, 0, lanes)


def compile_recall(
    step: ca.Function, observe: ca.Function, weigh: ca.Function, sums: Sums, points: int
) -> RecallKernel:
    """A kernel that iterates `step` in every lane, records `observe` after each and reads that record.

    Both take column vectors (state, parameters, shared, lane, recalled), any of them empty. What is recalled are sums
    over `points` consecutive steps, from the step on that a column of `back` names: `sums` lists (column, numbers) and
    `weigh`, a function of the shared values, gives the weights of each entry one after the other.

    Examples
    --------
    >>> x, none, past = ca.SX.sym("x"), ca.SX(0, 1), ca.SX.sym("past")
    >>> given = [x, none, none, none, past]
    >>> step, observe = ca.Function("step", given, [past]), ca.Function("observe", given, [x])
    >>> weigh = ca.Function("weigh", [none], [ca.DM([1, 1])])
    >>> kernel = compile_recall(step, observe, weigh, [(0, [0])], points=2)
    >>> width, steps = kernel.width, 7
    >>> back = np.arange(-2, steps - 2)[:, None].clip(0)
    >>> out, nothing, begin = np.ones((steps, 1, width)), np.zeros((1, 0, width)), np.zeros(steps, dtype=np.int64)
    >>> kernel.run(np.zeros((1, width)), nothing[0], np.zeros((steps, 0)), nothing, begin, back, out)
    >>> out[:, 0, 0]
    array([ 2.,  3.,  5.,  8., 13., 21., 34.])
    """
    tape, seen, weights = read_tape(step), read_tape(observe), read_tape(weigh)
    check_room(tape, seen)
    for called in (tape, seen):
        if len(called.input_sizes) != len(ARGUMENTS) or len(called.outputs) != 1:
            raise ExpressionError(
                f"Function '{called.name}' must have the arguments {', '.join(ARGUMENTS)} and one result.",
                "Give column vectors, empty ones where there is nothing.",
            )
    if tape.input_sizes != seen.input_sizes or tape.output_sizes[0] != tape.input_sizes[0]:
        raise ExpressionError(
            f"Functions '{tape.name}' and '{seen.name}' must take the same arguments and the first return a state.",
            "Return every state, in the order of the argument.",
        )
    observed = seen.output_sizes[0]
    if points < 1 or any(column < 0 or not numbers for column, numbers in sums):
        raise ExpressionError(
            f"Sums must have points, columns from 0 on and numbers, got {points} points and {list(sums)}.",
            "List (column, numbers) of what is observed.",
        )
    if any(not 0 <= number < observed for _, numbers in sums for number in numbers):
        raise ExpressionError(
            f"Numbers that are recalled must lie between 0 and {observed - 1}, got {list(sums)}.",
            f"Recall what '{seen.name}' gives.",
        )
    listed = sum(len(numbers) for _, numbers in sums)
    if listed != tape.input_sizes[4]:
        raise ExpressionError(
            f"Function '{tape.name}' recalls {tape.input_sizes[4]} numbers, but {listed} are listed.",
            "List (column, numbers) for all of them, in order.",
        )
    if weights.input_sizes != tape.input_sizes[2:3] or weights.output_sizes != (points * len(sums),):
        raise ExpressionError(
            f"Function '{weights.name}' must give {points * len(sums)} weights from the shared values.",
            "Return one for each point of each sum.",
        )
    return RecallKernel(tape, seen, weights, sums, points)
