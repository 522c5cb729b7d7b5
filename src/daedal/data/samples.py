"""Measured values of one output, at the times of its own sensor."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.data.arrays import Array, ascending, check_column, check_sizes, find_first, short
from daedal.errors import DataError


@dataclass(frozen=True, eq=False, repr=False)
class Samples:
    """Measured values of one output at its own times; NaN is a missing sample. Times may repeat: replicates.

    Parameters
    ----------
    times : array (time,)
        In the order of time, in the time unit of the model; several samples may have the same time.
    values : array (time,)
        Finite, or NaN where the sample is missing.
    noise : array (time,), optional
        The standard deviation of the measurement of each sample, which counts before what a model declares.

    Examples
    --------
    >>> from daedal.data import Samples
    >>> Samples([0.0, 1.0, 2.5], [20.1, float("nan"), 20.4])
    Samples(3 from 0 to 2.5, 1 missing)
    >>> Samples([0.0, 0.0, 1.0], [20.1, 20.3, 20.4], noise=[0.1, 0.1, 0.2])
    Samples(3 from 0 to 1, replicates, noise of each)
    """

    times: Array
    values: Array
    noise: Array | None = None

    def __post_init__(self) -> None:
        times = ascending(self.times)
        values = check_column("values", self.values)
        if values.size != times.size:
            raise DataError(f"there are {values.size} values but {times.size} times.", "Give one value for each time.")
        if (wrong := find_first(np.isinf(values))) is not None:
            raise DataError(
                f"values must be finite but values[{wrong}] (time {short(times[wrong])}) is {values[wrong]}.",
                "Write NaN where a sample is missing.",
            )
        check_sizes(times, values)
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)
        if self.noise is not None:
            object.__setattr__(self, "noise", _check_noise(self.noise, times, values))

    @property
    def replicated(self) -> bool:
        """Whether several samples have the same time."""
        return bool((np.diff(self.times) == 0).any())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Samples):
            return NotImplemented
        same = np.array_equal(self.times, other.times) and np.array_equal(self.values, other.values, equal_nan=True)
        if self.noise is None or other.noise is None:
            return same and self.noise is other.noise
        return same and np.array_equal(self.noise, other.noise, equal_nan=True)

    def __hash__(self) -> int:
        return hash((self.times.size, self.times[0], self.times[-1]))

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor: unpickled arrays alone would be writeable.
        return Samples, (self.times, self.values, self.noise)

    def _repr_html_(self) -> str:
        from daedal.tables import write_html

        return write_html(str(self).split("\n"))

    def __repr__(self) -> str:
        missing = int(np.isnan(self.values).sum())
        ends = f"from {short(self.times[0])} to {short(self.times[-1])}"
        told = [f"{self.times.size} {ends}", *([f"{missing} missing"] if missing else [])]
        told += ["replicates"] * self.replicated + ["noise of each"] * (self.noise is not None)
        return f"Samples({', '.join(told)})"


def select_samples(samples: Samples, chosen: NDArray[np.bool_]) -> Samples:
    """Some of the samples."""
    noise = None if samples.noise is None else samples.noise[chosen]
    return Samples(samples.times[chosen], samples.values[chosen], noise)


def _check_noise(given: Any, times: Array, values: Array) -> Array:
    """A positive standard deviation for each sample that is there."""
    noise = check_column("noise", given)
    if noise.size != values.size:
        raise DataError(
            f"there are {noise.size} standard deviations but {values.size} values.", "Give one for each value."
        )
    wrong = find_first(~((noise > 0.0) & np.isfinite(noise)) & np.isfinite(values))
    if wrong is not None:
        raise DataError(
            f"the noise of a sample must be a positive standard deviation but noise[{wrong}] (time "
            f"{short(times[wrong])}) is {noise[wrong]}.",
            "Write NaN as the value where a sample does not count.",
        )
    return noise
