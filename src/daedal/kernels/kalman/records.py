"""What the filter and the smoother read and write: events, matrices, states, innovations.

Every array comes with its derivatives in a last axis of directions, padded to whole vectors.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import final

import numpy as np

from daedal.kernels.target import find_host


class Keep(IntEnum):
    """What to keep of the predicted states, event by event."""

    NOTHING = 0
    MEANS = 1
    EVERYTHING = 2


@final
@dataclass(frozen=True, eq=False)
class Packed:
    """Numbers and their derivatives in a last axis of directions, padded to whole vectors."""

    value: np.ndarray
    slope: np.ndarray


def pack(value: np.ndarray, slopes: np.ndarray | None = None, directions: int = 0) -> Packed:
    """Packed from slopes (direction, …), or with slopes of zero."""
    value = np.array(value, dtype=float, order="C")  # a copy: states are advanced in place
    width = find_host().register
    slope = np.zeros((*value.shape, -(-directions // width) * width))
    if slopes is not None and len(slopes):
        slope[..., : len(slopes)] = np.moveaxis(slopes, 0, -1)
    return Packed(value, slope)


@final
@dataclass(frozen=True, eq=False)
class Events:
    """What happens, event by event: the number of a transition, of a row h, of a steady gain; −1 for none."""

    transition: np.ndarray
    row: np.ndarray
    steady: np.ndarray


@final
@dataclass(frozen=True, eq=False)
class Matrices:
    """A and Q (transition, n, n) and h (row, n)."""

    A: Packed
    Q: Packed
    h: Packed


@final
@dataclass(frozen=True, eq=False)
class Steady:
    """Gains g (gain, n) and variances s (gain,)."""

    g: Packed
    s: Packed


@final
@dataclass(frozen=True, eq=False)
class State:
    """x (column, n) and P (n, n), advanced in place."""

    x: Packed
    P: Packed


@final
@dataclass(frozen=True, eq=False)
class Innovations:
    """e (event, column) and s (event,); what events without a measurement have there means nothing.

    `x` (event, column, n), `P` (event, n, n) and `g` (event, n) are those before the measurement, where kept.
    """

    e: Packed
    s: Packed
    x: np.ndarray
    P: np.ndarray
    g: np.ndarray

    @staticmethod
    def empty(count: int, state: State, keep: Keep) -> "Innovations":
        """Room for what the filter finds in so many events."""
        (columns, n), directions = state.x.value.shape, state.x.slope.shape[-1]
        e, s = (Packed(np.zeros(shape), np.zeros((*shape, directions))) for shape in ((count, columns), (count,)))
        return Innovations(e, s, *(np.zeros(shape) for shape in list_kept_shapes(count, columns, n, keep)))

    def part(self, events: slice) -> "Innovations":
        """Some of the events, in the same memory."""
        e, s = (Packed(packed.value[events], packed.slope[events]) for packed in (self.e, self.s))
        return Innovations(e, s, self.x[events], self.P[events], self.g[events])


def list_kept_shapes(count: int, columns: int, n: int, keep: Keep) -> tuple[tuple[int, ...], ...]:
    """Shapes of the x, P and g that are kept."""
    means, everything = (count if keep >= level else 0 for level in (Keep.MEANS, Keep.EVERYTHING))
    return (means, columns, n), (everything, n, n), (everything, n)


def check_numbers(events: Events, transitions: int, rows: int, gains: int, count: int) -> None:
    """Numbers of transitions, rows and gains are addresses: they must exist."""
    for array, most in ((events.transition, transitions), (events.row, rows), (events.steady, gains)):
        assert array.dtype == np.int64
        assert array.flags.c_contiguous
        assert array.shape == (count,)
        assert not array.size or (array.min() >= -1 and array.max() < most)
