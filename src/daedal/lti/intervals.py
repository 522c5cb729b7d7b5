"""Time cut into intervals in which every input is one polynomial; those of equal length share what is made."""

from collections.abc import Sequence
from math import factorial
from typing import Protocol

import numpy as np

ROUNDING = 4.0 * np.finfo(float).eps  # of times, relative to the largest of them
LONGEST_DIFFERENCE = 1e-12  # relative, of intervals that count as equal


class Course(Protocol):
    """A known function of time in pieces of polynomials, such as a `Signal`."""

    @property
    def times(self) -> np.ndarray: ...
    @property
    def start(self) -> float: ...
    @property
    def intersample(self) -> str: ...
    @property
    def derivatives(self) -> int: ...
    def pieces(self) -> tuple[np.ndarray, np.ndarray]: ...
    def __call__(self, t: np.ndarray, derivative: int = 0, /) -> np.ndarray: ...


def find_distinct(lengths: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different lengths of intervals, and which each one has; what rounding of the times explains is equal."""
    if not lengths.size:
        return np.zeros(0), np.zeros(0, dtype=np.int64)
    order = np.argsort(lengths, kind="stable")
    ranked = lengths[order]
    reach = ROUNDING * float(np.max(np.abs(times))) + LONGEST_DIFFERENCE * ranked
    label = np.cumsum(_find_firsts(np.searchsorted(ranked, ranked + reach, side="right"))) - 1
    mean = np.bincount(label, ranked) / np.bincount(label)
    step_of = np.empty(lengths.size, dtype=np.int64)
    step_of[order] = label
    return mean, step_of


def _find_firsts(ends: np.ndarray) -> np.ndarray:
    """Whether each ranked length begins a group, which reaches from its first to the end that this one has."""
    firsts = np.zeros(ends.size, dtype=bool)
    begin, following = 0, ends.tolist()
    while begin < ends.size:
        firsts[begin] = True
        begin = following[begin]
    return firsts


def cut_polynomials(signals: Sequence[Course], begins: np.ndarray, delays: Sequence[float] | None = None) -> np.ndarray:
    """Coefficients (interval, power, signal) of the signals in intervals that begin at these times.

    A delayed signal is zero until its delay has passed since its first sample.
    """
    degree = max([0, *(len(signal.pieces()[1]) - 1 for signal in signals)])
    result = np.zeros((begins.size, degree + 1, len(signals)))
    for k, signal in enumerate(signals):
        late = 0.0 if delays is None else delays[k]
        reach = ROUNDING * float(np.max(np.abs(begins), initial=0.0))  # a break that is meant is hit but for rounding
        there = begins - late >= signal.start - reach
        at = np.maximum(begins[there] - late, signal.start)
        if late:  # what ends at a sample of the signal must not be taken for what begins there
            sample = signal.times[np.searchsorted(signal.times, at + reach, side="right") - 1]
            at = np.maximum(at, sample)
        for power in range(len(signal.pieces()[1])):
            result[there, power, k] = signal(at, power) / factorial(power)
    return result
