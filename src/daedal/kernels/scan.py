"""CasADi functions over many lanes: once (`compile_map`), or step after step (`compile_scan`).

A lane is one trajectory, and the last axis of every array. The kernel takes W lanes at a time into vector registers; a
rest of fewer lanes goes through a padded copy, and every lane gets the same bits whatever its neighbours. Calls release
the interpreter lock, so threads may work on different blocks of lanes of the same arrays.

    for each group of W lanes:  x ← state
        for i = 0 … steps−1:    w ← n_w rows of lane, from row begin[i] on
                                x ← step(x, parameters, shared[i], w)
                                if emit[i] ≥ 0: out[emit[i]] ← observe(x, parameters, shared[i], w)
        state ← x
"""

from collections.abc import Callable, Iterable
from typing import Any, final

import casadi as ca
import numpy as np

from daedal import memory
from daedal.errors import ExpressionError
from daedal.kernels import compiler, loops
from daedal.kernels.arguments import Array, check_array, check_block, check_disjoint, check_emit, check_rows
from daedal.kernels.tape import Instruction, Tape, read_tape
from daedal.kernels.target import find_host

QUICK = frozenset({"add", "sub", "mul", "neg", "fabs", "sign", "copysign", "fmin", "fmax", "input", "constant"})
SLOW_SHARE = 0.02  # of divisions, roots and functions: from here on two registers per value were faster
NARROWEST = 2  # lanes of a vector: one alone is no faster
BYTES = 4000.0  # that compiling takes for an operation that is written out, about
ROOMY = 20_000  # written operations for which there is room on every machine
TAIL_STEPS = 4096  # steps of the padded copy made at once
NAMES = ("state", "parameters", "shared", "lane")


def choose_width(tape: Tape, lanes: int | None = None) -> int:
    """Lanes advanced together: one register, or two where waiting for divisions and functions leaves time for more.

    Where there are never more than so many `lanes`, a shorter vector that holds them.
    """
    counts = tape.count_operations()
    slow = sum(count for operation, count in counts.items() if operation not in QUICK)
    width = find_host().register * (2 if slow >= SLOW_SHARE * counts.total() else 1)
    return width if lanes is None else min(width, max(NARROWEST, 1 << (lanes - 1).bit_length()))


@final
class MapKernel:
    """`kernel(*inputs)`: arrays (nᵢ, lanes) → a tuple of arrays (nₒ, lanes)."""

    def __init__(self, tape: Tape, width: int) -> None:
        self.tape, self.width = tape, width
        code = compiler.load(loops.write_map(tape, width, find_host().fused))
        self._call = code.function("daedal_map", len(tape.input_sizes) + len(tape.outputs), len(loops.LANES))

    def __call__(self, *inputs: Array) -> tuple[Array, ...]:
        lanes = self._lanes(inputs)
        arrays = [
            check_array(array, (size, lanes), f"argument {i}")
            for i, (array, size) in enumerate(zip(inputs, self.tape.input_sizes, strict=True))
        ]
        outputs = [np.empty((size, lanes)) for size in self.tape.output_sizes]
        whole = lanes - lanes % self.width
        self._evaluate(arrays, outputs, lanes, whole)
        if whole < lanes:
            padded = [_pad(array[:, whole:], self.width) for array in arrays]
            results = [np.empty((size, self.width)) for size in self.tape.output_sizes]
            self._evaluate(padded, results, self.width, self.width)
            for output, result in zip(outputs, results, strict=True):
                output[:, whole:] = result[:, : lanes - whole]
        return tuple(outputs)

    def _lanes(self, inputs: tuple[Array, ...]) -> int:
        expected = len(self.tape.input_sizes)
        if len(inputs) != expected or not all(isinstance(a, np.ndarray) and a.ndim == 2 for a in inputs):
            raise ExpressionError(
                f"Function '{self.tape.name}' must be given {expected} arrays of shape (numbers, lanes).",
                "Pass one two-dimensional numpy array per argument.",
            )
        return inputs[0].shape[1] if inputs else 1

    def _evaluate(self, inputs: list[Array], outputs: list[Array], stride: int, stop: int) -> None:
        self._call(*(array.ctypes.data for array in [*inputs, *outputs]), stride, 0, stop)


@final
class ScanKernel:
    """Advances lanes over steps; see `run`."""

    def __init__(
        self,
        call: Any,
        width: int,
        sizes: tuple[int, ...],
        observed: int,
        long: bool = False,
        instructions: int = 0,
    ) -> None:
        self.width, self.sizes, self.observed = width, sizes, observed
        self.instructions = instructions  # of a step
        self.long = long  # whether quick code of it is another one
        self._call = call  # of addresses of arrays, and of steps and lanes

    def run(
        self,
        state: Array,
        parameters: Array,
        shared: Array,
        lane: Array,
        emit: Array,
        out: Array,
        *,
        begin: Array | None = None,
        first: int = 0,
        count: int | None = None,
    ) -> None:
        """Advances `count` lanes from `first` over all steps, `state` in place.

        Arrays are float64 and C-contiguous: state (n_x, lanes), parameters (n_p, lanes), shared (steps, n_s), lane
        (steps, n_w, lanes), out (rows, n_y, lanes); emit (steps,) int64 is the row of `out` to write after each step,
        or −1. With `begin` (steps,) int64, `lane` is any (points, values, lanes), and step i reads n_w consecutive rows
        of its (points·values, lanes) from begin[i] on, so that steps may share rows.
        """
        n_x, n_p, n_s, n_w = self.sizes
        lanes, steps = np.shape(state)[-1], np.shape(emit)[0]
        shape = (steps, n_w, lanes) if begin is None else (*np.shape(lane)[:2], lanes)
        rows = np.arange(steps, dtype=np.int64) * n_w if begin is None else begin
        arrays = [
            check_array(state, (n_x, lanes), "state", written=True),
            check_array(parameters, (n_p, lanes), "parameters"),
            check_array(shared, (steps, n_s), "shared"),
            check_array(lane, shape, "lane"),
            check_rows(rows, (steps,), shape[0] * shape[1] - n_w, "begin", "Make 'lane' longer."),
            check_emit(emit, np.shape(out)[0]),
            check_array(out, (np.shape(out)[0], self.observed, lanes), "out", written=True),
        ]
        check_disjoint(state, out, *arrays[1:4])
        stop = check_block(first, count, lanes)
        whole = stop - (stop - first) % self.width
        if steps and first < whole:
            self._advance(arrays, steps, lanes, first, whole)
        if steps and whole < stop:
            self._advance_rest(arrays, whole, stop)

    def share(self, call: Callable[..., None]) -> tuple[int, Callable[..., None]]:
        """The address of these steps for other compiled code, and that with the stack that both need."""
        return self._call.address, self._call.code.give_room(call)

    def _advance(self, arrays: list[Array], steps: int, stride: int, first: int, stop: int) -> None:
        self._call(*(array.ctypes.data for array in arrays), steps, stride, first, stop)

    def _advance_rest(self, arrays: list[Array], first: int, stop: int) -> None:
        """The lanes that do not fill a vector, in a padded copy, some steps at a time."""
        state, parameters, shared, lane, begin, emit, out = arrays
        count, n_w = stop - first, self.sizes[3]
        rows_of_lane = lane.reshape(-1, lane.shape[-1])
        x, p = _pad(state[:, first:stop], self.width), _pad(parameters[:, first:stop], self.width)
        for start in range(0, len(emit), TAIL_STEPS):
            part = slice(start, start + TAIL_STEPS)
            rows = np.flatnonzero(emit[part] >= 0)
            local = np.full(len(emit[part]), -1, dtype=np.int64)
            local[rows] = np.arange(len(rows))
            result = np.empty((len(rows), self.observed, self.width))
            low, high = int(begin[part].min()), int(begin[part].max()) + n_w
            w = _pad(rows_of_lane[low:high, first:stop], self.width)
            self._advance(
                [x, p, shared[part], w, begin[part] - low, local, result], len(local), self.width, 0, self.width
            )
            out[emit[part][rows], :, first:stop] = result[:, :, :count]  # a row named twice keeps the last
        state[:, first:stop] = x[:, :count]


def _pad(array: Array, width: int) -> Array:
    """A contiguous copy with the last axis filled up to `width` by repeating its last entry."""
    missing = width - array.shape[-1]
    filled = np.concatenate([array, np.repeat(array[..., -1:], missing, axis=-1)], axis=-1)
    return np.ascontiguousarray(filled)


def compile_map(function: ca.Function, *, width: int | None = None) -> MapKernel:
    """A kernel that evaluates a function in every lane.

    Examples
    --------
    >>> x = ca.SX.sym("x", 2)
    >>> kernel = compile_map(ca.Function("length", [x], [ca.sqrt(x[0] ** 2 + x[1] ** 2)]))
    >>> kernel(np.array([[3.0, 5.0], [4.0, 12.0]]))[0]
    array([[ 5., 13.]])
    """
    tape = read_tape(function)
    check_room(tape)
    return MapKernel(tape, width or choose_width(tape))


def compile_scan(
    step: ca.Function,
    observe: ca.Function | None = None,
    *,
    width: int | None = None,
    lanes: int | None = None,
    detours: loops.Detours | None = None,
    quick: bool = False,
) -> ScanKernel:
    """A kernel that iterates `step` in every lane and records `observe` after the steps asked for.

    Both take column vectors (state, parameters, shared, lane), any of them empty, and return one: the new state, or the
    observed numbers, computed from the new state. `detours` are what single lanes do before a step is finished; `quick`
    code is made faster and runs longer. Code for a few `lanes` is as right for more, but slower.

    Examples
    --------
    >>> x, rate, none, push = ca.SX.sym("x"), ca.SX.sym("rate"), ca.SX.sym("none", 0), ca.SX.sym("push")
    >>> kernel = compile_scan(ca.Function("decay", [x, rate, none, push], [rate * x + push]))
    >>> state, parameters = np.ones((1, 2)), np.array([[0.5, 2.0]])
    >>> kernel.run(state, parameters, np.zeros((3, 0)), np.zeros((3, 1, 2)), np.full(3, -1), np.zeros((0, 0, 2)))
    >>> state
    array([[0.125, 8.   ]])
    """
    tape = read_tape(step)
    seen = read_tape(observe) if observe is not None else None
    _check_step(tape, seen)
    check_room(*(one for one in (tape, seen) if one), *(turn.function for turn in (detours.turns if detours else ())))
    width = width or choose_width(tape, lanes)
    text = loops.write_scan(tape, seen, width, find_host().fused, detours)
    code = compiler.load(text, quick)
    call = code.function("daedal_scan", len(loops.SCAN_POINTERS), len(loops.STEPS))
    return ScanKernel(
        call,
        width,
        tape.input_sizes,
        seen.output_sizes[0] if seen else 0,
        compiler.is_long(text),
        tape.count_operations().total(),
    )


def check_room(*tapes: Tape) -> None:
    """Refuse what is too large to compile, before it is begun; functions are written once however often they run."""
    written = sum(len(tape.instructions) for tape in _list_tapes(tapes))
    if written > ROOMY:
        operations = sum(tape.count_operations().total() for tape in tapes)
        remedy = "Divide the model, free fewer parameters, or simulate with solver=IDA(), which compiles nothing."
        memory.check_memory(BYTES * written, f"Compiling a step of {operations:.2g} operations", remedy)


def _list_tapes(tapes: Iterable[Tape]) -> list[Tape]:
    """They and all that they call; those that do the same are one function."""
    found: dict[tuple[Instruction, ...], Tape] = {}
    waiting = list(tapes)
    while waiting:
        tape = waiting.pop()
        if tape.instructions not in found:
            found[tape.instructions] = tape
            waiting += tape.called
    return list(found.values())


def _check_step(step: Tape, observe: Tape | None) -> None:
    for tape in (step, observe) if observe else (step,):
        if len(tape.input_sizes) != len(NAMES) or len(tape.outputs) != 1:
            raise ExpressionError(
                f"Function '{tape.name}' must have the arguments {', '.join(NAMES)} and one result, "
                f"got {len(tape.input_sizes)} arguments and {len(tape.outputs)} results.",
                "Give column vectors, empty ones where there is nothing.",
            )
    if step.output_sizes[0] != step.input_sizes[0]:
        raise ExpressionError(
            f"Function '{step.name}' must return a state of {step.input_sizes[0]} numbers, got {step.output_sizes[0]}.",
            "Return every state, in the order of the argument.",
        )
    if observe and observe.input_sizes != step.input_sizes:
        raise ExpressionError(
            f"Function '{observe.name}' must take arguments of sizes {step.input_sizes}, got {observe.input_sizes}.",
            f"Give it the arguments of '{step.name}'.",
        )
