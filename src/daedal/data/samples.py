"""Measured values of one output, at the times of its own sensor."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from daedal.data.arrays import Array, check_column, check_sizes, find_first, increasing, short
from daedal.errors import DataError


@dataclass(frozen=True, eq=False, repr=False)
class Samples:
    """Measured values of one output at its own times; NaN is a missing sample.

    Parameters
    ----------
    times : array (time,)
        Strictly increasing; in the time unit of the model.
    values : array (time,)
        Finite, or NaN where the sample is missing.

    Examples
    --------
    >>> from daedal.data import Samples
    >>> Samples([0.0, 1.0, 2.5], [20.1, float("nan"), 20.4])
    Samples(3 from 0 to 2.5, 1 missing)
    """

    times: Array
    values: Array

    def __post_init__(self) -> None:
        times = increasing(self.times)
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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Samples):
            return NotImplemented
        return np.array_equal(self.times, other.times) and np.array_equal(self.values, other.values, equal_nan=True)

    def __hash__(self) -> int:
        return hash((self.times.size, self.times[0], self.times[-1]))

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor: unpickled arrays alone would be writeable.
        return Samples, (self.times, self.values)

    def __repr__(self) -> str:
        missing = int(np.isnan(self.values).sum())
        ends = f"from {short(self.times[0])} to {short(self.times[-1])}"
        return f"Samples({self.times.size} {ends}{f', {missing} missing' if missing else ''})"
