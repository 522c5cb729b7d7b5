"""Standard normal numbers from a counter: any number by itself, in any order, always the same bits.

The counter of the generator (`philox`) is (⌊step/2⌋, component, path, stream); the two numbers it yields belong to an
even step and the next. Lanes are paths.
"""

from functools import cache
from typing import Any

import numpy as np

from daedal.errors import SimulationError
from daedal.kernels import compiler
from daedal.kernels.arguments import Array
from daedal.kernels.emitter import DOUBLE, INTEGER, Emitter, write_module
from daedal.kernels.noise.philox import WORD, write_normal_pair, write_philox, write_round_keys
from daedal.kernels.target import find_host

INTEGERS = ("key0", "key1", "stream", "step", "end", "components", "path", "stride", "first", "stop")


def draw_normals(
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
    >>> block = draw_normals((1, 2), paths=(0, 8), steps=(0, 4), components=2)
    >>> bool((draw_normals((1, 2), paths=(5, 1), steps=(3, 1), components=2) == block[3:, :, 5:6]).all())
    True
    """
    first_path, count = _unpack_range(paths)
    first_step, number = steps
    _check(key, (first_path, count), (first_step, number), components, stream)
    call, width = _load()
    out = np.empty((number, components, count))
    whole = count - count % width
    fixed = (key[0], key[1], stream, first_step, first_step + number, components)
    call(out.ctypes.data, *fixed, first_path, count, 0, whole)
    if whole < count:
        rest = np.empty((number, components, width))
        call(rest.ctypes.data, *fixed, first_path + whole, width, 0, width)
        out[:, :, whole:] = rest[:, :, : count - whole]
    return out


def _unpack_range(paths: range | tuple[int, int]) -> tuple[int, int]:
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


def write_normals(width: int, fused: bool) -> str:
    """`daedal_normals(out, key0, key1, stream, step, end, components, path, stride, first, stop)`."""
    e = Emitter(width, fused)
    keys, stream = write_round_keys(e), e.spread(INTEGER, "%stream")
    after_last = e.index("lshr", e.index("add", "%end", "1"), "1")
    with e.loop(e.index("lshr", "%step", "1"), after_last) as pairs:
        even = e.index("shl", pairs.counter, "1")
        odd = e.index("or", even, "1")
        has_even, has_odd = e.compare_integers("sge", even, "%step"), e.compare_integers("slt", odd, "%end")
        with e.loop("0", "%components") as components, e.loop("%first", "%stop", width) as lanes:
            path = e.spread(INTEGER, e.index("add", "%path", lanes.counter))
            counter = [e.spread(INTEGER, pairs.counter), e.spread(INTEGER, components.counter)]
            counter += [e.bitwise("add", path, e.lane_numbers()), stream]
            numbers = write_normal_pair(e, write_philox(e, counter, keys))
            for step, wanted, number in zip((even, odd), (has_even, has_odd), numbers, strict=True):
                with e.when(wanted):
                    row = e.index("mul", e.index("sub", step, "%step"), "%components")
                    start = e.index("mul", e.index("add", row, components.counter), "%stride")
                    place = e.address(DOUBLE, "%out", e.index("add", start, lanes.counter))
                    e.store(e.doubles, number, place)
    return write_module(width, e.define_procedure("daedal_normals", ("out",), INTEGERS))


@cache
def _load() -> tuple[Any, int]:
    """The compiled function, and its width: two registers, which hide the latency of the multiplications."""
    width = 2 * find_host().register
    code = compiler.load(write_normals(width, find_host().fused))
    return code.function("daedal_normals", 1, len(INTEGERS)), width
