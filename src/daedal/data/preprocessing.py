"""What is done to samples before estimation: cutting in two, subtracting a trend, changing the sample interval."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from numbers import Integral
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from daedal.data.arrays import JITTER, Array, check_positive, check_real, short
from daedal.data.samples import Samples, select_samples
from daedal.data.signal import Signal
from daedal.errors import DataError, show
from daedal.memory import check_memory

Sampled = TypeVar("Sampled", Signal, Samples)
COPIES = 6  # of a grid, while signals are put on it
SAME = 1e-9  # of a step: times this close are the same time


def choose_split_time(times: Array, fraction: float | None, at: float | None) -> float:
    """Where the second part begins: at the sample after the first `fraction` of them, or at `at`."""
    if (fraction is None) == (at is None):
        given = "neither was" if at is None else "both were"
        raise DataError(f"split needs either fraction= or at= but {given} given.", "Write split(fraction=0.7), say.")
    if fraction is None:
        count = int(np.searchsorted(times, cut := check_real("at", at)))
    else:
        count = round(check_real("fraction", fraction) * times.size)
        cut = float(times[np.clip(count, 0, times.size - 1)])
    if not 0 < count < times.size:
        asked = f"at = {short(cut)}" if fraction is None else f"fraction = {short(fraction)}"
        raise DataError(
            f"{asked} leaves one part without samples: there are {times.size}, "
            f"from {short(times[0])} to {short(times[-1])}.",
            "Both parts need at least one sample.",
        )
    return cut


def split_samples(name: str, samples: Samples, cut: float) -> tuple[Samples, Samples]:
    """The samples of one output before the cut, and those from it on."""
    late = samples.times >= cut
    if late.all() or not late.any():
        raise DataError(
            f"output '{name}' has samples only on one side of {short(cut)}: "
            f"from {short(samples.times[0])} to {short(samples.times[-1])}.",
            "Split at a time that leaves each output samples in both parts.",
        )
    return select_samples(samples, ~late), select_samples(samples, late)


def remove_trends(signals: Mapping[str, Sampled], chosen: Collection[str], order: int) -> dict[str, Sampled]:
    """All signals, the chosen ones without their mean (order 0) or straight line of least squares (order 1)."""
    if not isinstance(order, Integral) or order not in (0, 1):
        raise DataError(f"order must be 0 or 1 but is {show(order)}.", "Subtract the mean (0) or a straight line (1).")
    return {name: _remove_trend(name, signal, order) if name in chosen else signal for name, signal in signals.items()}


def _remove_trend(name: str, sampled: Sampled, order: int) -> Sampled:
    known = ~np.isnan(sampled.values)
    if known.sum() <= order:
        raise DataError(
            f"'{name}' has {known.sum()} samples that are not missing but order = {order} needs {order + 1}.",
            "Leave it out with signals=[...].",
        )
    trend = _fit_trend(sampled.times - sampled.times[known].mean(), sampled.values, known, order)
    return replace(sampled, values=sampled.values - trend)


def _fit_trend(elapsed: Array, values: Array, known: NDArray[np.bool_], order: int) -> Array:
    """Mean plus slope times elapsed, which is counted from the mean time so that the two do not interact."""
    mean = values[known].mean()
    if order == 0:
        return np.full(values.size, mean)
    slope = elapsed[known] @ (values[known] - mean) / (elapsed[known] @ elapsed[known])
    return mean + slope * elapsed


def make_grid(start: float, end: float, step: float) -> Array:
    """Times from start, `step` apart, as far as end."""
    step = check_positive("step", step)
    if step > (end - start) * (1 + SAME):
        raise DataError(
            f"step = {short(step)} is longer than the data, which run from {short(start)} to {short(end)}.",
            "Give a shorter step.",
        )
    count = float(end - start) / step + SAME
    remedy = "Give a longer step."
    check_memory(COPIES * 8 * count, f"A grid of {count:.3g} samples, {short(step)} apart,", remedy)
    return start + step * np.arange(int(count) + 1, dtype=np.float64)


def resample(samples: Samples, grid: Array, step: float) -> Samples:
    """The samples on a regular grid: means over one step when it is longer than theirs, otherwise straight lines.

    Replicates count as their mean. Noise of each sample is independent, so that variances add up.
    """
    samples = _merge_replicates(samples)
    interval = float(np.median(np.diff(samples.times))) if samples.times.size > 1 else step
    coarser = step > interval * (1 + JITTER)
    return (_average if coarser else _interpolate)(samples, grid, step, interval)


def _merge_replicates(samples: Samples) -> Samples:
    """One sample for each time, the mean of those that are known."""
    return _average_windows(samples, np.unique(samples.times), 0.0) if samples.replicated else samples


def _average(samples: Samples, grid: Array, step: float, interval: float) -> Samples:
    """Means of the known samples within half a step of each grid time.

    Both ends of the window count, whatever the clock's jitter: leaving one out would shift the signal by half a sample.
    """
    return _average_windows(samples, grid, step * 0.5 + interval * JITTER)


def _average_windows(samples: Samples, grid: Array, reach: float) -> Samples:
    """Means of the known samples not farther than `reach` from each grid time."""
    known = select_samples(samples, ~np.isnan(samples.values))
    begin = np.searchsorted(known.times, grid - reach)
    end = np.searchsorted(known.times, grid + reach, side="right")
    count = end - begin

    def add_up(values: Array) -> Array:
        # A closing zero makes `end` a valid position; an empty window [begin, begin) is masked by its count.
        sums = np.add.reduceat(np.append(values, 0.0), np.stack([begin, end], axis=1).ravel())[::2]
        return np.where(count > 0, sums, np.nan)

    least = np.maximum(count, 1)
    noise = None if known.noise is None else np.sqrt(add_up(known.noise**2)) / least
    return Samples(grid, add_up(known.values) / least, noise)


def _interpolate(samples: Samples, grid: Array, step: float, interval: float) -> Samples:
    """Straight lines between neighbours; NaN beside a missing sample and outside the samples, but for jitter."""
    times, values = samples.times, samples.values
    after = np.clip(np.searchsorted(times, grid), 0, times.size - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(grid - times[before] < times[after] - grid, before, after)
    distance = np.abs(grid - times[nearest])
    between = np.interp(grid, times, values, left=np.nan, right=np.nan)
    same = (distance <= SAME * step) | (np.isnan(between) & (distance <= JITTER * interval))
    resampled = np.where(same, values[nearest], between)
    if samples.noise is None:
        return Samples(grid, resampled)
    share = np.clip((grid - times[before]) / np.where(after > before, times[after] - times[before], 1.0), 0.0, 1.0)
    blended = np.hypot((1.0 - share) * samples.noise[before], share * samples.noise[after])
    return Samples(grid, resampled, np.where(same, samples.noise[nearest], blended))
