"""A known function of time given by samples.

Between the samples tᵢ the signal is a polynomial of degree 0 ("zoh"), 1 ("foh") or 3 ("spline"),

    u(t) = Σₖ cₖᵢ (t − tᵢ)ᵏ,    tᵢ ≤ t < tᵢ₊₁,

and every question asked of it (values, derivatives, jumps) is answered from these coefficients.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import factorial, perm
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from daedal.data.arrays import Array, check_column, check_numbers, check_sizes, find_first, frozen, increasing, short
from daedal.errors import DataError, is_one_of, show

Intersample: TypeAlias = Literal["foh", "zoh", "spline"]
IntersampleChoice: TypeAlias = Intersample | Mapping[str, Intersample]  # of several inputs: one for all, or by name
HIGHEST_DERIVATIVE = {"zoh": 0, "foh": 1, "spline": 3}
FEWEST_SAMPLES = {"zoh": 2, "foh": 2, "spline": 4}
REACH = 1e-9  # of the length: times this far outside are rounding, and count as the ends


@dataclass(frozen=True, eq=False, repr=False)
class Signal:
    """A known function of time given by samples, and by what happens between them.

    Parameters
    ----------
    times : array (time,)
        Strictly increasing; in the time unit of the model.
    values : array (time,)
        Finite. Two samples at least, four for a spline.
    intersample : {"foh", "zoh", "spline"}
        Straight lines between the samples; each value held until the next sample (and the last one at the last time);
        or the twice continuously differentiable cubic spline through the samples, with not-a-knot ends.

    Examples
    --------
    >>> from daedal.data import Signal
    >>> ramp = Signal([0.0, 1.0, 3.0], [0.0, 2.0, 2.0])
    >>> ramp
    Signal(3 samples from 0 to 3, foh)
    >>> ramp([0.5, 1.0, 2.0])
    array([1., 2., 2.])
    >>> ramp([0.5, 1.0, 2.0], derivative=1)
    array([2., 0., 0.])
    """

    times: Array
    values: Array
    intersample: Intersample = "foh"

    def __post_init__(self) -> None:
        values = check_column("values", self.values)
        try:
            times = increasing(self.times)
        except DataError as error:
            if not error.sentence.startswith("times must be strictly increasing") or not _could_be_times(values):
                raise
            raise DataError(
                error.sentence, f"{error.remedy} If the two are exchanged, write Signal(times, values)."
            ) from None
        _check(times, values, self.intersample)
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "values", values)

    @property
    def start(self) -> float:
        """The first time at which the signal is known."""
        return float(self.times[0])

    @property
    def end(self) -> float:
        """The last time at which the signal is known."""
        return float(self.times[-1])

    @property
    def derivatives(self) -> int:
        """The highest order of derivative that exists as a function: 0 for zoh, 1 for foh, 3 for spline."""
        return HIGHEST_DERIVATIVE[self.intersample]

    @overload
    def __call__(self, t: float, derivative: int = 0) -> float: ...
    @overload
    def __call__(self, t: NDArray[Any] | Sequence[Any], derivative: int = 0) -> Array: ...
    def __call__(self, t: ArrayLike, derivative: int = 0) -> Array | float:
        """The signal, or a derivative of it (right-continuous where it jumps), at times of any shape."""
        self._check_derivative(derivative)
        t = self._within(check_numbers("t", t))
        piece = np.minimum(np.searchsorted(self.times, t, side="right"), self.times.size - 1) - 1
        elapsed = t - self.times[piece]
        value = np.zeros(t.shape)
        for power in range(len(self._coefficients) - 1, derivative - 1, -1):
            value = value * elapsed + perm(power, derivative) * self._coefficients[power, piece]
        if derivative == 0 and t.size and t.max() == self.end:  # a held signal takes its last value at the last time
            value = np.where(t == self.end, self.values[-1], value)
        return value[()]

    def pieces(self) -> tuple[Array, Array]:
        """The signal as a piecewise polynomial.

        Returns
        -------
        breaks : array (time,)
            The sample times; between two of them the signal is one polynomial.
        coefficients : array (degree + 1, time − 1)
            ``coefficients[k, i]`` multiplies ``(t - breaks[i])**k``.
        """
        return self.times, self._coefficients

    def jumps(self, derivative: int = 0) -> Array:
        """The times between the ends at which that derivative of the signal jumps by more than rounding."""
        self._check_derivative(derivative)
        if derivative < len(self._coefficients) - 1:
            return np.zeros(0)
        change = np.abs(np.diff(factorial(derivative) * self._coefficients[-1]))
        jumps = change > self._rounding(derivative)
        if self.intersample == "spline":  # not-a-knot: the third derivative runs on through the sample next to each end
            jumps[[0, -1]] = False
        return self.times[1:-1][jumps]

    @cached_property
    def _coefficients(self) -> Array:
        if self.intersample == "zoh":
            return frozen(self.values[np.newaxis, :-1].copy())
        if self.intersample == "foh":
            return frozen(np.stack([self.values[:-1], np.diff(self.values) / np.diff(self.times)]))
        from scipy.interpolate import CubicSpline

        return frozen(np.ascontiguousarray(CubicSpline(self.times, self.values, bc_type="not-a-knot").c[::-1]))

    def _rounding(self, derivative: int) -> Array | float:
        """How much the highest derivative may change because times and values are rounded to double precision."""
        if derivative == 0:
            return 0.0
        steps = np.diff(self.times)
        slope = np.abs(np.diff(self.values) / steps).max()
        rounded = 16 * np.finfo(float).eps * (np.abs(self.values).max() + slope * np.abs(self.times).max())
        largest = factorial(derivative) * np.abs(self._coefficients[-1]).max()
        return 1e-12 * largest + rounded / np.minimum(steps[1:], steps[:-1]) ** derivative

    def _within(self, t: Array) -> Array:
        reach = REACH * (self.end - self.start)
        if t.size and not (t.min() >= self.start - reach and t.max() <= self.end + reach):
            outside = ~((t >= self.start - reach) & (t <= self.end + reach))
            raise DataError(
                f"the signal is known from {short(self.start)} to {short(self.end)} "
                f"but was asked for at {short(t[outside][0])}.",
                "Give samples that cover that time, or stay between the two ends.",
            )
        return np.clip(t, self.start, self.end)

    def _check_derivative(self, derivative: int) -> None:
        if not isinstance(derivative, int | np.integer) or derivative < 0:
            raise DataError(
                f"derivative must be 0, 1, 2 or 3 but is {show(derivative)}.", "Give the order of the derivative."
            )
        if derivative <= self.derivatives:
            return
        able = [f'"{kind}"' for kind, highest in HIGHEST_DERIVATIVE.items() if highest >= derivative]
        raise DataError(
            f'a signal with intersample="{self.intersample}" has no derivative of order {show(derivative)}.',
            f"Use intersample={' or '.join(able)}." if able else 'The highest is 3, with intersample="spline".',
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Signal):
            return NotImplemented
        same = np.array_equal(self.times, other.times) and np.array_equal(self.values, other.values)
        return same and self.intersample == other.intersample

    def __hash__(self) -> int:
        return hash((self.times.size, self.start, self.end, self.intersample))

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor: unpickled arrays alone would be writeable.
        return Signal, (self.times, self.values, self.intersample)

    def _repr_html_(self) -> str:
        from daedal.tables import write_html

        return write_html(str(self).split("\n"))

    def __repr__(self) -> str:
        return f"Signal({self.times.size} samples from {short(self.start)} to {short(self.end)}, {self.intersample})"


def _could_be_times(values: Array) -> bool:
    return bool(values.size > 1 and np.isfinite(values).all() and (np.diff(values) > 0).all())


def _check(times: Array, values: Array, intersample: object) -> None:
    if not is_one_of(intersample, HIGHEST_DERIVATIVE):
        raise DataError(
            f'intersample must be "foh", "zoh" or "spline" but is {show(intersample)}.',
            "Say what the signal does between its samples: straight lines, held, or smooth.",
        )
    if values.size != times.size:
        raise DataError(f"there are {values.size} values but {times.size} times.", "Give one value for each time.")
    if times.size < (fewest := FEWEST_SAMPLES[intersample]):
        raise DataError(
            f'a signal with intersample="{intersample}" needs at least {fewest} samples but has {times.size}.',
            'Give more samples; two suffice for "foh" and "zoh".',
        )
    if (wrong := find_first(~np.isfinite(values))) is not None:
        raise DataError(
            f"values must be finite but values[{wrong}] (time {short(times[wrong])}) is {values[wrong]}.",
            "Fill the gap or leave that sample out: only a measured output may have missing samples.",
        )
    check_sizes(times, values)
