"""Checks of the arrays that machine code will read and write: it cannot check them itself."""

from typing import Any

import numpy as np

from daedal.errors import SimulationError

Array = np.ndarray[Any, np.dtype[Any]]


def checked(array: Array, shape: tuple[int, ...], name: str, *, written: bool = False) -> Array:
    """`array`, a contiguous array of doubles of the given shape."""
    if not isinstance(array, np.ndarray) or array.dtype != np.float64:
        raise SimulationError(f"Array '{name}' must be a numpy array of float64, got {_kind(array)}.", "Convert it.")
    if array.shape != shape:
        raise SimulationError(f"Array '{name}' must have the shape {shape}, got {array.shape}.", "Lanes come last.")
    if not array.flags.c_contiguous:
        raise SimulationError(f"Array '{name}' must be C-contiguous.", "Use numpy.ascontiguousarray.")
    if written and not array.flags.writeable:
        raise SimulationError(f"Array '{name}' must be writeable.", "Pass a copy.")
    return array


def checked_emit(emit: Array, rows: int) -> Array:
    """`emit`, contiguous int64, each entry a row of the output or −1."""
    if not isinstance(emit, np.ndarray) or emit.dtype != np.int64 or emit.ndim != 1 or not emit.flags.c_contiguous:
        raise SimulationError(f"Array 'emit' must be one-dimensional int64, got {_kind(emit)}.", "Convert it.")
    if emit.size and (emit.min() < -1 or emit.max() >= rows):
        raise SimulationError(
            f"Array 'emit' must name rows from 0 to {rows - 1} or -1, got {emit.min()} to {emit.max()}.",
            "Make 'out' longer or correct the rows.",
        )
    return emit


def checked_begin(begin: Array, steps: int, last: int) -> Array:
    """`begin`, contiguous int64, where the rows of each step begin."""
    if not isinstance(begin, np.ndarray) or begin.dtype != np.int64 or not begin.flags.c_contiguous:
        raise SimulationError(f"Array 'begin' must be contiguous int64, got {_kind(begin)}.", "Convert it.")
    if begin.shape != (steps,):
        raise SimulationError(f"Array 'begin' must have the shape {(steps,)}, got {begin.shape}.", "Give one per step.")
    if begin.size and (begin.min() < 0 or begin.max() > last):
        raise SimulationError(
            f"Array 'begin' must lie between 0 and {last}, got {begin.min()} to {begin.max()}.", "Make 'lane' longer."
        )
    return begin


def checked_back(back: Array, shape: tuple[int, int], last: int) -> Array:
    """`back`, contiguous int64, from which recorded rows each step reads."""
    if not isinstance(back, np.ndarray) or back.dtype != np.int64 or not back.flags.c_contiguous:
        raise SimulationError(f"Array 'back' must be contiguous int64, got {_kind(back)}.", "Convert it.")
    if back.shape != shape:
        raise SimulationError(f"Array 'back' must have the shape {shape}, got {back.shape}.", "Give one per step.")
    if back.size and (back.min() < 0 or back.max() > last):
        raise SimulationError(
            f"Array 'back' must lie between 0 and {last}, got {back.min()} to {back.max()}.", "Correct the rows."
        )
    return back


def checked_block(first: int, count: int | None, lanes: int) -> int:
    """The lane after the last of a block."""
    stop = lanes if count is None else first + count
    if not 0 <= first <= stop <= lanes:
        raise SimulationError(f"Lanes {first} to {stop - 1} must lie within 0 to {lanes - 1}.", "Choose another block.")
    return stop


def disjoint(state: Array, out: Array, *others: Array) -> None:
    """What is written must not overlap what is read."""
    for written, read in [(state, other) for other in (*others, out)] + [(out, other) for other in others]:
        if np.may_share_memory(written, read):
            raise SimulationError("Arrays 'state' and 'out' must not overlap the others.", "Pass copies.")


def _kind(array: Any) -> str:
    return f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
