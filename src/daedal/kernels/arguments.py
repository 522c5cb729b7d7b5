"""Checks of the arrays that machine code will read and write: it cannot check them itself; long loops in pieces."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from daedal.errors import SimulationError, give_up_if_stopped

Array = np.ndarray[Any, np.dtype[Any]]

PIECE = 1e8  # operations, some tenths of a second


def divide_loop(count: int, operations: float) -> Iterator[slice]:
    """A loop of so many passes in pieces: Ctrl-C waits until compiled code returns."""
    size = max(int(PIECE / max(operations, 1.0)), 1)
    for first in range(0, count, size):
        give_up_if_stopped()
        yield slice(first, min(first + size, count))


def check_array(array: Array, shape: tuple[int, ...], name: str, *, written: bool = False) -> Array:
    """`array`, a contiguous array of doubles of the given shape."""
    if not isinstance(array, np.ndarray) or array.dtype != np.float64:
        raise SimulationError(
            f"Array '{name}' must be a numpy array of float64, got {_name_kind(array)}.", "Convert it."
        )
    if array.shape != shape:
        raise SimulationError(f"Array '{name}' must have the shape {shape}, got {array.shape}.", "Lanes come last.")
    if not array.flags.c_contiguous:
        raise SimulationError(f"Array '{name}' must be C-contiguous.", "Use numpy.ascontiguousarray.")
    if written and not array.flags.writeable:
        raise SimulationError(f"Array '{name}' must be writeable.", "Pass a copy.")
    return array


def check_emit(emit: Array, rows: int) -> Array:
    """`emit`, contiguous int64, each entry a row of the output or −1."""
    if not isinstance(emit, np.ndarray) or emit.dtype != np.int64 or emit.ndim != 1 or not emit.flags.c_contiguous:
        raise SimulationError(f"Array 'emit' must be one-dimensional int64, got {_name_kind(emit)}.", "Convert it.")
    if emit.size and (emit.min() < -1 or emit.max() >= rows):
        raise SimulationError(
            f"Array 'emit' must name rows from 0 to {rows - 1} or -1, got {emit.min()} to {emit.max()}.",
            "Make 'out' longer or correct the rows.",
        )
    return emit


def check_rows(array: Array, shape: tuple[int, ...], last: int, name: str, remedy: str) -> Array:
    """A contiguous int64 array of the given shape that names rows from 0 to `last`."""
    if not isinstance(array, np.ndarray) or array.dtype != np.int64 or not array.flags.c_contiguous:
        raise SimulationError(f"Array '{name}' must be contiguous int64, got {_name_kind(array)}.", "Convert it.")
    if array.shape != shape:
        raise SimulationError(f"Array '{name}' must have the shape {shape}, got {array.shape}.", "Give one per step.")
    if array.size and (array.min() < 0 or array.max() > last):
        raise SimulationError(
            f"Array '{name}' must lie between 0 and {last}, got {array.min()} to {array.max()}.", remedy
        )
    return array


def check_block(first: int, count: int | None, lanes: int) -> int:
    """The lane after the last of a block."""
    stop = lanes if count is None else first + count
    if not 0 <= first <= stop <= lanes:
        raise SimulationError(f"Lanes {first} to {stop - 1} must lie within 0 to {lanes - 1}.", "Choose another block.")
    return stop


def check_disjoint(state: Array, out: Array, *others: Array) -> None:
    """What is written must not overlap what is read."""
    for written, read in [(state, other) for other in (*others, out)] + [(out, other) for other in others]:
        if np.may_share_memory(written, read):
            raise SimulationError("Arrays 'state' and 'out' must not overlap the others.", "Pass copies.")


def _name_kind(array: Any) -> str:
    return f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
