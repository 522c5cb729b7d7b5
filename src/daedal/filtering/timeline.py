"""When things happen in one experiment: inputs change their course, outputs are sampled, delayed values are taken.

Between two break points every input is one polynomial, so that the state moves exactly by a transition matrix and what
the polynomial adds. Intervals of equal length share their matrices, up to the rounding of the times.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.data import short
from daedal.errors import EstimationError
from daedal.kernels import Events
from daedal.lti import ROUNDING, Course, cut_polynomials, find_distinct


@final
@dataclass(frozen=True, eq=False)
class Timeline:
    """Break points, intervals and events of one experiment.

    Attributes
    ----------
    times
        Break points (break,), the start first.
    steps, step_of
        Lengths of the distinct intervals (step,), and which each interval has (break − 1,).
    inputs
        Coefficients (interval, power, input) of the polynomials, a constant one as the last input.
    events
        Transitions, measurements and delayed values taken, in order; transitions beyond `steps` are the latter.
    break_of
        The break point of each event.
    sample_of
        For events with a measurement, which of the sample times (sample,) it belongs to; −1 otherwise.
    cycles
        Stretches of repeated events (first event, events in a cycle, cycles), where a gain may settle.
    """

    times: np.ndarray
    steps: np.ndarray
    step_of: np.ndarray
    inputs: np.ndarray
    events: Events
    break_of: np.ndarray
    sample_of: np.ndarray
    sample_breaks: np.ndarray
    cycles: tuple[tuple[int, int, int], ...]

    @property
    def degree(self) -> int:
        """The highest power of time in the inputs."""
        return self.inputs.shape[1] - 1

    def read_inputs(self, signals: Sequence[Course], places: np.ndarray, order: int) -> np.ndarray:
        """The order-th derivative of the inputs at break points (place, input), of the constant one too.

        Zero for inputs without such a derivative: nothing may contain it.
        """
        values = [
            signal(self.times[places], order) if order <= signal.derivatives else np.zeros(places.size)
            for signal in signals
        ]
        return np.stack([*values, np.full(places.size, float(order == 0))], axis=-1)


@dataclass(frozen=True)
class Taken:
    """A delayed value: which outputs need it, and how long before their samples it is taken."""

    outputs: tuple[int, ...]
    amount: float


def make_timeline(
    signals: Sequence[Course],
    start: float,
    sampled: Sequence[tuple[float, Sequence[int]]],
    queries: Collection[float] = (),
    taken: Sequence[Taken] = (),
    before: bool = False,
) -> Timeline:
    """Line up everything from the start on, a time that all signals cover.

    `sampled` says which rows are measured at which time, in the order of time, which may repeat. Queries are events
    without a measurement, after the measurements of their time or `before` them.
    """
    samples = np.array([time for time, _ in sampled], dtype=float)
    wanted = np.array(sorted(set(queries)), dtype=float)
    end = max(float(samples[-1]) if samples.size else start, float(wanted[-1]) if wanted.size else start)
    pieces = [signal.times[(signal.times > start) & (signal.times < end)] for signal in signals]
    moments = [_find_moments(sampled, delayed, start) for delayed in taken]
    times = np.unique(np.concatenate([[start], samples, wanted, *pieces, *moments]))
    steps, step_of = find_distinct(np.diff(times), times)
    events = _Events(times, step_of, len(steps), sampled, set(wanted.tolist()), moments, before)
    return Timeline(
        times=times,
        steps=steps,
        step_of=step_of,
        inputs=_make_polynomials(signals, times),
        events=events.make_arrays(),
        break_of=np.array(events.breaks, dtype=np.int64),
        sample_of=np.array(events.samples, dtype=np.int64),
        sample_breaks=np.searchsorted(times, samples),
        cycles=events.find_cycles(),
    )


class _Events:
    """The events as lists, break point by break point."""

    def __init__(self, times, step_of, steps, sampled, wanted, moments, before) -> None:
        self.transitions: list[int] = []
        self.rows: list[int] = []
        self.breaks: list[int] = []
        self.samples: list[int] = []
        self._pending = -1  # the transition that the next event carries out
        self._key: list[int] = []
        self._groups: list[tuple[int, tuple]] = []  # first event, and what happens until the next sample time
        readings: dict[float, list[tuple[int, Sequence[int]]]] = {}
        for k, (time, rows) in enumerate(sampled):
            readings.setdefault(time, []).append((k, rows))
        marks = [set(taken.tolist()) for taken in moments]
        for place, time in enumerate(times.tolist()):
            if place:
                self._pending = int(step_of[place - 1])
            if before and time in wanted:
                self._add(place, -1, -1)
            first = len(self.rows)
            for k, rows in readings.get(time, ()):
                for row in rows:
                    self._add(place, row, k)
            if (not before and time in wanted) or (self._pending >= 0 and len(self.rows) == first):
                self._add(place, -1, -1)
            for delay, mark in enumerate(marks):
                if time in mark:
                    self._pending = steps + delay
                    self._add(place, -1, -1)
            if time in readings:
                self._groups.append((len(self.rows), tuple(self._key)))
                self._key = []

    def _add(self, place: int, row: int, sample: int) -> None:
        self.transitions.append(self._pending)
        self.rows.append(row)
        self.breaks.append(place)
        self.samples.append(sample)
        self._key += [self._pending, row]
        self._pending = -1

    def make_arrays(self) -> Events:
        """The arrays that the filter reads."""
        transition, row = (np.array(numbers, dtype=np.int64) for numbers in (self.transitions, self.rows))
        return Events(transition, row, np.full(row.size, -1, dtype=np.int64))

    def find_cycles(self) -> tuple[tuple[int, int, int], ...]:
        """Maximal stretches of sample times at which the same happens."""
        cycles, begin = [], 0
        for k in range(1, len(self._groups) + 1):
            if k == len(self._groups) or self._groups[k][1] != self._groups[begin][1]:
                first = self._groups[begin - 1][0] if begin else 0
                size = self._groups[begin][0] - first
                cycles.append((first, size, k - begin))
                begin = k
        return tuple(cycles)


def _make_polynomials(signals: Sequence[Course], times: np.ndarray) -> np.ndarray:
    """Coefficients (interval, power, input) over the intervals between break points, a constant one as the last."""
    begins = times[:-1]
    given = cut_polynomials(signals, begins)
    one = np.zeros((begins.size, given.shape[1], 1))
    one[:, 0] = 1.0
    return np.concatenate([given, one], axis=2)


def _find_moments(sampled: Sequence[tuple[float, Sequence[int]]], taken: Taken, start: float) -> np.ndarray:
    """When a delayed value is taken; sample times that are meant, but for rounding, are hit exactly."""
    mine = np.unique([time for time, rows in sampled if set(rows) & set(taken.outputs)])
    times = mine - taken.amount
    known = np.unique([start, *(time for time, _ in sampled)])
    reach = ROUNDING * float(np.max(np.abs(known))) + 1e-9 * taken.amount
    later = np.clip(np.searchsorted(known, times), 1, known.size - 1) if known.size > 1 else np.zeros(times.size, int)
    earlier = np.maximum(later - 1, 0)
    nearest_known = np.where(times - known[earlier] < known[later] - times, known[earlier], known[later])
    snapped = np.where(np.abs(nearest_known - times) <= reach, nearest_known, times)
    gaps = np.diff(mine)
    if gaps.size and gaps.min() < taken.amount - reach:
        raise EstimationError(
            f"An output averages over {short(taken.amount)}, but its samples are {short(float(gaps.min()))} apart.",
            "Give a window that is not longer than the time between samples.",
        )
    return snapped
