"""Functions of inputs and time along an experiment, as polynomials between break points.

A function of held inputs is held. Of others, the inputs being polynomials between their samples, it is the cubic
through four points of an interval: exact for squares and cubes of straight lines, and elsewhere on intervals that are
halved until it is within 1e-8 of the function's largest value between these points.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import perm
from typing import final

import casadi as ca
import numpy as np

from daedal.data import Signal, short
from daedal.errors import EstimationError, quoted
from daedal.lti import cut_polynomials
from daedal.symbolic import BufferedFunction, Expression, list_symbols, stack_symbols

CLOSE = 1e-8  # error of the cubics, relative to the largest value
REACH = 1e-9  # of the length: rounding of times
HALVINGS = 12  # of an interval, at most
MOST, FOLD = 100_000, 10  # intervals, or so many times what there were: as many steps of the filter
NODES = np.array([0.0, 1.0, 2.0, 3.0]) / 3.0
CHECKED = np.array([1.0, 3.0, 5.0]) / 6.0
ROUGHEST = ("zoh", "foh")  # by the highest derivative that is relied upon


@final
@dataclass(frozen=True, eq=False)
class Forcing:
    """A known function of time: polynomials (power, interval) from each break point (break,) on, as a `Signal` has."""

    times: np.ndarray
    coefficients: np.ndarray
    derivatives: int

    @property
    def start(self) -> float:
        """The first break point."""
        return float(self.times[0])

    @property
    def intersample(self) -> str:
        """What kind of signal is as rough."""
        return ROUGHEST[self.derivatives]

    def pieces(self) -> tuple[np.ndarray, np.ndarray]:
        """Break points and coefficients."""
        return self.times, self.coefficients

    def __call__(self, t: np.ndarray, derivative: int = 0) -> np.ndarray:
        """The function, or a derivative of it, at times (time,)."""
        reach = REACH * (self.times[-1] - self.times[0])
        if t.size and np.max(t) > self.times[-1] + reach:
            raise EstimationError(
                f"Functions of inputs or time were followed to {short(float(self.times[-1]))}, but are needed at "
                f"{short(float(np.max(t)))}.",
                "Ask for earlier times, or give longer inputs.",
            )
        t = np.clip(t, self.times[0], self.times[-1])
        piece = np.minimum(np.searchsorted(self.times, t, side="right"), self.times.size - 1) - 1
        elapsed, value = t - self.times[piece], np.zeros(t.shape)
        for power in range(len(self.coefficients) - 1, derivative - 1, -1):
            value = value * elapsed + perm(power, derivative) * self.coefficients[power, piece]
        return value


def make_forcings(
    functions: Sequence[ca.SX], signals: Mapping[str, Signal], start: float, times: np.ndarray, data: str
) -> tuple[Forcing, ...]:
    """Functions of some inputs and time from the start to the last of the sample times of some data, and beyond."""
    return tuple(_make_forcing(function, signals, start, times, data) for function in functions)


def _make_forcing(
    function: ca.SX, signals: Mapping[str, Signal], start: float, times: np.ndarray, data: str
) -> Forcing:
    names = list_symbols(function)
    used = [signals[name] for name in names if name != "time"]
    course = _Course(function, tuple(names), signals, data)
    last = float(times[-1])
    # States may be wanted beyond the samples: as far as inputs are known, or once more as long as the data.
    end = max(last, min(one.end for one in used)) if used else 2.0 * last - start
    end = end if end > start else start + 1.0
    knots = np.unique(np.concatenate([[start, end], times, *(one.times for one in used)]))
    knots = knots[(knots >= start) & (knots <= end)]
    if "time" not in names and all(one.intersample == "zoh" for one in used):
        # The last sample of a held input holds from its time on, though no interval follows.
        held = course.evaluate(knots, np.zeros((knots.size, 1)))[:, 0]
        return Forcing(np.append(knots, knots[-1] + 1.0), held[None], 0)
    knots, coefficients = _interpolate(course, knots)
    return Forcing(knots, coefficients, min([1, *(one.derivatives for one in used)]))


@dataclass(frozen=True, eq=False)
class _Course:
    """A function along the inputs of some data."""

    sx: ca.SX
    names: tuple[str, ...]
    signals: Mapping[str, Signal]
    data: str

    def evaluate(self, begins: np.ndarray, elapsed: np.ndarray) -> np.ndarray:
        """At times elapsed since the beginnings of intervals, (interval, point), inputs going on as they began."""
        rows = []
        for name in self.names:
            if name == "time":
                rows.append((begins[:, None] + elapsed).ravel())
                continue
            polynomials = cut_polynomials([self.signals[name]], begins)[:, :, 0]
            powers = elapsed[:, :, None] ** np.arange(polynomials.shape[1])
            rows.append(np.einsum("ijk,ik->ij", powers, polynomials).ravel())
        mapped = BufferedFunction(self._function.map(elapsed.size))  # without conversions, which would take most time
        values = mapped(np.array(rows).T.ravel()).reshape(elapsed.shape)
        if not np.isfinite(values).all():
            where = begins[np.argmin(np.isfinite(values).all(axis=1))]
            raise EstimationError(
                f"{Expression(self.sx)} is not finite at {short(float(where))} in the data '{self.data}'.",
                f"Check the values of {quoted(self.names)} there.",
            )
        return values

    @cached_property
    def _function(self) -> ca.Function:
        return ca.Function("forcing", [stack_symbols(self.names)], [ca.densify(self.sx)])


def _interpolate(course: _Course, knots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Break points, and the cubic that begins at each."""
    inverse = np.linalg.inv(NODES[:, None] ** np.arange(4))
    worst, limit = float(knots[0]), max(MOST, FOLD * knots.size)
    for _ in range(HALVINGS):
        begins, lengths = knots[:-1], np.diff(knots)
        values = course.evaluate(begins, lengths[:, None] * NODES)
        scaled = values @ inverse.T  # in units of the interval
        wanted = course.evaluate(begins, lengths[:, None] * CHECKED)
        errors = np.abs(scaled @ (CHECKED[:, None] ** np.arange(4)).T - wanted).max(axis=1)
        rough = errors > CLOSE * np.abs(values).max()
        if not rough.any():
            return knots, (scaled / lengths[:, None] ** np.arange(4)).T
        worst = float(begins[rough][0])
        if knots.size > limit:
            break
        knots = np.sort(np.append(knots, begins[rough] + 0.5 * lengths[rough]))
    raise EstimationError(
        f"{Expression(course.sx)} changes too fast between the samples of the data '{course.data}', at "
        f"{short(worst)}, to be followed by polynomials.",
        "Make it an input and give its values with the data, or hold its inputs: intersample='zoh'.",
    )
