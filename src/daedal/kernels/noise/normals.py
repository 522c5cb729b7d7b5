"""Standard normal numbers from a counter: any number by itself, in any order, always the same bits.

The counter of the generator (`philox`) is (⌊step/2⌋, component, path, stream); the two numbers it yields belong to an
even step and the next. Lanes are paths.
"""

import ctypes
from functools import cache
from typing import Any

import numpy as np

from daedal.errors import SimulationError
from daedal.kernels import compiler
from daedal.kernels.arguments import Array
from daedal.kernels.emitter import Emitter
from daedal.kernels.loops import module
from daedal.kernels.noise.philox import WORD, normal_pair, philox, round_keys, spread
from daedal.kernels.target import host


def normals(
    key: tuple[int, int],
    paths: range | tuple[int, int],
    steps: tuple[int, int],
    components: int,
    stream: int = 0,
) -> Array:
    """Independent standard normal numbers, shape (steps, components, paths).

    `paths` is a range or (first, count), `steps` (first, count); `key` two numbers below 2³². A number depends on key,
    stream, path, step and component alone: blocks of any size and order, in any thread, have the same bits.

    Examples
    --------
    >>> block = normals((1, 2), paths=(0, 8), steps=(0, 4), components=2)
    >>> bool((normals((1, 2), paths=(5, 1), steps=(3, 1), components=2) == block[3:, :, 5:6]).all())
    True
    """
    first_path, count = _consecutive(paths)
    first_step, number = steps
    _check(key, (first_path, count), (first_step, number), components, stream)
    call, width = _kernel()
    out = np.empty((number, components, count))
    whole = count - count % width
    fixed = (key[0], key[1], stream, first_step, first_step + number, components)
    call(out.ctypes.data, *fixed, first_path, count, 0, whole)
    if whole < count:
        rest = np.empty((number, components, width))
        call(rest.ctypes.data, *fixed, first_path + whole, width, 0, width)
        out[:, :, whole:] = rest[:, :, : count - whole]
    return out


def _consecutive(paths: range | tuple[int, int]) -> tuple[int, int]:
    if isinstance(paths, range):
        if paths.step != 1:
            raise SimulationError(f"Paths must be consecutive, got {paths}.", "Use a range with step 1.")
        return paths.start, len(paths)
    return paths


def _check(key: tuple[int, int], paths: tuple[int, int], steps: tuple[int, int], components: int, stream: int) -> None:
    limits = {
        "key": (min(key), max(key) + 1, WORD),
        "stream": (stream, stream + 1, WORD),
        "components": (components, components, WORD),
        "paths": (min(paths), sum(paths), WORD),
        "steps": (min(steps), sum(steps), 2 * WORD),
    }
    for name, (smallest, end, limit) in limits.items():
        if smallest < 0 or end > limit:
            raise SimulationError(
                f"Random numbers need '{name}' of 0 to {limit - 1}, got {smallest} to {end - 1}.",
                "Choose smaller, non-negative numbers.",
            )


def normals_text(width: int, fused: bool) -> str:
    """`daedal_normals(out, key0, key1, stream, step, end, components, path, stride, first, stop)`."""
    e = Emitter(width, fused)
    keys = round_keys(e)
    before = e.take()
    path = e.new("add i64 %path, %lane")
    lanes = ", ".join(f"i64 {i}" for i in range(width))
    words = [spread(e, "%pair"), spread(e, "%component")]
    words += [e.bitwise("add", spread(e, path), f"<{lanes}>"), spread(e, "%stream")]
    even, odd = normal_pair(e, philox(e, words, keys))
    return module(width, "", _loops(e, before, e.take(), even, odd))


def _loops(e: Emitter, before: list[str], body: list[str], even: str, odd: str) -> list[str]:
    """Loops over pairs of steps, components and lanes around `body`."""
    return [
        "define void @daedal_normals(ptr noalias %out, i64 %key0, i64 %key1, i64 %stream, i64 %step, i64 %end, "
        "i64 %components, i64 %path, i64 %stride, i64 %first, i64 %stop) nounwind {",
        "entry:",
        *before,
        "  %pair0 = lshr i64 %step, 1",
        "  %last = add i64 %end, 1",
        "  %pairs = lshr i64 %last, 1",
        "  %rows = icmp slt i64 %step, %end",
        "  %columns = icmp sgt i64 %components, 0",
        "  %vectors = icmp slt i64 %first, %stop",
        "  %some = and i1 %rows, %columns",
        "  %all = and i1 %some, %vectors",
        "  br i1 %all, label %steps, label %done",
        "steps:",
        "  %pair = phi i64 [ %pair0, %entry ], [ %pair_next, %steps_end ]",
        "  %even_step = shl i64 %pair, 1",
        "  %odd_step = or i64 %even_step, 1",
        "  %has_even = icmp sge i64 %even_step, %step",
        "  %has_odd = icmp slt i64 %odd_step, %end",
        "  %even_row = sub i64 %even_step, %step",
        "  br label %parts",
        "parts:",
        "  %component = phi i64 [ 0, %steps ], [ %component_next, %parts_end ]",
        "  %base = mul i64 %even_row, %components",
        "  %even_place = add i64 %base, %component",
        "  %odd_place = add i64 %even_place, %components",
        "  %even_offset = mul i64 %even_place, %stride",
        "  %odd_offset = mul i64 %odd_place, %stride",
        "  br label %lanes",
        "lanes:",
        "  %lane = phi i64 [ %first, %parts ], [ %lane_next, %lanes_end ]",
        *body,
        "  br i1 %has_even, label %store_even, label %after_even",
        "store_even:",
        *_store(e, "even", even),
        "  br label %after_even",
        "after_even:",
        "  br i1 %has_odd, label %store_odd, label %lanes_end",
        "store_odd:",
        *_store(e, "odd", odd),
        "  br label %lanes_end",
        "lanes_end:",
        *_again("lane", e.width, "stop", "lanes", "parts_end"),
        "parts_end:",
        *_again("component", 1, "components", "parts", "steps_end"),
        "steps_end:",
        *_again("pair", 1, "pairs", "steps", "done"),
        "done:",
        "  ret void",
        "}",
    ]


def _store(e: Emitter, name: str, value: str) -> list[str]:
    return [
        f"  %{name}_index = add i64 %{name}_offset, %lane",
        f"  %{name}_address = getelementptr double, ptr %out, i64 %{name}_index",
        f"  store {e.doubles} {value}, ptr %{name}_address, align 8",
    ]


def _again(counter: str, increment: int, stop: str, begin: str, after: str) -> list[str]:
    return [
        f"  %{counter}_next = add i64 %{counter}, {increment}",
        f"  %{counter}_more = icmp slt i64 %{counter}_next, %{stop}",
        f"  br i1 %{counter}_more, label %{begin}, label %{after}",
    ]


@cache
def _kernel() -> tuple[Any, int]:
    """The compiled function, and its width: two registers, which hide the latency of the multiplications."""
    width = 2 * host().register
    code = compiler.load(normals_text(width, host().fused))
    call = code.function("daedal_normals", [ctypes.c_void_p] + [ctypes.c_int64] * 10)
    call.code = code  # keeps the machine code alive
    return call, width
