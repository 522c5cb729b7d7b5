"""Simplified refined instrumental variables for continuous time (SRIVC).

Given a denominator a(s), inputs and output are filtered by 1/a(s), which turns the equation into a regression between
samples, y_f⁽ⁿ⁾ = φᵀθ with φ = (−y_f⁽ᵏ⁾, u_f⁽ᵏ⁾, δ_f⁽ᵏ⁾). The noise in φ would bias least squares; instruments are the
same regressors φ̂ made of the noise-free response of the present model,

    θ = (Σ φ̂ φᵀ)⁻¹ Σ φ̂ y_f⁽ⁿ⁾,

and the new a(s) filters the next round. At convergence θ solves the equations of output error to first order (Young and
Jakeman 1980; Pan et al. 2020). The first filter is (s + λ)ⁿ: as no cut-off λ suits every system, a range of them from
slow to fast against the record is tried.

P. C. Young, A. J. Jakeman, Refined instrumental variable methods of recursive time-series analysis, part III,
Int. J. Control 31 (1980) 741–764. S. Pan et al., Consistency analysis of the simplified refined instrumental variable
method for continuous-time systems, Automatica 113 (2020) 108767.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, final

import numpy as np

from daedal.errors import EstimationError
from daedal.order.polishing import Polished, best_of
from daedal.order.record import Record
from daedal.order.response import Shape, monic, usable
from daedal.simulation.filtered_signals import FilteredSignals

CUTOFFS = 4
ROUNDS = 10
SETTLED = 1e-5  # relative change of the coefficients
FASTER = 10.0  # a pole that is added to a model of lower order, relative to its fastest


@final
@dataclass(frozen=True)
class RefinedIV:
    """Refined instrumental variables, then output error with exact slopes.

    Parameters
    ----------
    delay
        Of all inputs: a time, or "estimated".
    largest_delay
        How far to look for an estimated delay; by default 20 sample intervals.
    noise
        False: white; True or an order: an autoregression of the residual, which least squares then respects.

    Examples
    --------
    >>> RefinedIV(delay=0.1)
    RefinedIV(delay=0.1, largest_delay=None, noise=False)
    """

    delay: float | Literal["estimated"] = 0.0
    largest_delay: float | None = None
    noise: bool | int = False

    def __post_init__(self) -> None:
        if self.delay != "estimated" and not _is_time(self.delay):
            raise EstimationError(
                f"The delay must be a time from zero on, or 'estimated', got {self.delay!r}.", "Write delay=0.1."
            )
        if self.largest_delay is not None and not (_is_time(self.largest_delay) and self.largest_delay > 0.0):
            raise EstimationError(
                f"The largest delay must be a positive time, got {self.largest_delay!r}.", "Write largest_delay=1.0."
            )
        if not isinstance(self.noise, Integral) or self.noise < 0:
            raise EstimationError(
                f"The noise must be True, False or an order, got {self.noise!r}.", "Write noise=True."
            )

    def estimate(self, shape: Shape, record: Record, known: Sequence[Polished] = ()) -> Polished | None:
        """Coefficients of one shape; results `known` for smaller ones help to begin."""
        if self.delay != "estimated":
            given = record.delayed([self.delay] * len(record.inputs))
            return best_of(shape, starts(shape, given, known), given, self.noise)
        found = _delay_searched(shape, record, self.largest_delay or 20.0 * record.interval)
        return None if found is None else best_of(shape, [found.theta], found.record, self.noise, free_delays=True)


def _is_time(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0.0 <= float(value) < np.inf


def _delay_searched(shape: Shape, record: Record, largest: float) -> Polished | None:
    """The best of a grid of delays, the same for all inputs: whole sample intervals."""
    best: Polished | None = None
    for count in range(int(largest / record.interval) + 1):
        late = record.delayed([count * record.interval] * len(record.inputs))
        found = best_of(shape, starts(shape, late, (), cutoffs=3), late)
        if found is not None and (best is None or found.squares < best.squares):
            best = found
    return best


def starts(shape: Shape, record: Record, known: Sequence[Polished] = (), cutoffs: int = CUTOFFS) -> list[np.ndarray]:
    """Coefficients to begin output error with: instrumental variables from several cut-offs, and smaller models."""
    slow, fast = 2.0 * np.pi / record.span, 0.5 * np.pi / record.interval
    found = [start for each in known if (start := _extended(each, shape)) is not None]
    if any(each.shape.order == shape.order for each in known):
        cutoffs = min(cutoffs, 2)  # with the same poles the search is not far from where it will end
    for cutoff in np.geomspace(min(2.0 * slow, fast), fast, cutoffs):
        a = np.poly(np.full(shape.order, -cutoff))[:0:-1]
        estimate = refined(shape, record, a)
        if estimate is not None:
            found.append(estimate)
    return found


def refined(shape: Shape, record: Record, a: np.ndarray) -> np.ndarray | None:
    """Instrumental variables from a first denominator (rising powers, without the leading one); None if they fail."""
    theta, n = None, shape.order
    for _ in range(ROUNDS):
        new = _round(shape, record, a, theta)
        if new is None:
            return theta
        new[:n] = _reflected(new[:n])
        settled = theta is not None and np.max(np.abs(new - theta)) <= SETTLED * np.max(np.abs(new))
        theta, a = new, new[:n]
        if settled or not usable(a, record):
            break
    return theta


def _round(shape: Shape, record: Record, a: np.ndarray, theta: np.ndarray | None) -> np.ndarray | None:
    """One round of instrumental variables; of least squares where there is no model yet."""
    n = shape.order
    with np.errstate(all="ignore"):
        twice = record.input_filter(monic(a), 2)
        output = record.output_filter(monic(a)).signals[0]
        top = record.output_now - output @ a
        own = _own_columns(shape, record, a, _once(twice.signals, a), _once(twice.impulse, a))
        phi = np.concatenate([-output[:, :n], own], axis=1)
        instruments = phi
        if theta is not None:
            instruments = np.concatenate([-_noise_free(shape, twice, theta), own], axis=1)
        known = record.known
        if not (np.isfinite(phi).all() and np.isfinite(instruments).all()):
            return None
        scale = np.linalg.norm(phi[known], axis=0)
        scale[scale == 0.0] = 1.0
        left = (instruments[known] / scale).T
        try:
            solved = np.linalg.lstsq(left @ (phi[known] / scale), left @ top[known], rcond=1e-13)[0] / scale
        except np.linalg.LinAlgError:
            return None
    return solved if np.isfinite(solved).all() else None


def _own_columns(shape: Shape, record: Record, a: np.ndarray, signals: np.ndarray, impulse: np.ndarray) -> np.ndarray:
    """Filtered derivatives of the inputs, and of the impulse where the start is free, (time, column)."""
    m = shape.input_order
    columns = []
    for each, now in zip(signals, record.inputs_now, strict=True):
        full = each if m < shape.order else np.column_stack([each, now - each @ a])
        columns.append(full[:, : m + 1])
    if shape.start:
        columns.append(impulse)
    return np.concatenate(columns, axis=1)


def _once(states: np.ndarray, a: np.ndarray) -> np.ndarray:
    """What went twice through 1/a as if it had gone once: a(d/dt) of it."""
    n = a.size
    return sum((states[..., k : k + n] * value for k, value in enumerate(a)), states[..., n:])


def _noise_free(shape: Shape, made: FilteredSignals, theta: np.ndarray) -> np.ndarray:
    """The response of the present model through 1/a, and its derivatives, (time, n)."""
    _, b, c = shape.split(theta)
    n = shape.order
    columns = np.zeros((made.impulse.shape[0], n))
    for k in range(n):
        for each, row in zip(made.signals, b, strict=True):
            reach = min(row.size, each.shape[1] - k)
            columns[:, k] += each[:, k : k + reach] @ row[:reach]
        if c.size:
            columns[:, k] += made.impulse[:, k : k + c.size] @ c
    return columns


def _reflected(a: np.ndarray) -> np.ndarray:
    """Poles with positive real parts mirrored: as filters they must be stable."""
    poles = np.roots(monic(a))
    if np.all(poles.real <= 0.0):
        return a
    return np.real(np.poly(np.where(poles.real > 0.0, -poles.conj(), poles)))[:0:-1]


def _extended(smaller: Polished, shape: Shape) -> np.ndarray | None:
    """A smaller model as one of this shape: a fast pole more, or a numerator with zeros; None if it is not smaller."""
    a, b, c = smaller.shape.split(smaller.theta)
    more = shape.order - smaller.shape.order
    if more not in (0, 1) or smaller.shape.input_order > shape.input_order:
        return None
    factor = np.ones(1)
    if more:
        fastest = float(np.max(np.abs(np.roots(monic(a))), initial=1e-300))
        factor = np.array([FASTER * fastest, 1.0])
    denominator = np.convolve(np.append(a, 1.0), factor)[:-1]
    rows = np.zeros((shape.inputs, shape.input_order + 1))
    rows[:, : b.shape[1]] = factor[0] * b
    start = np.zeros(shape.order if shape.start else 0)
    start[: c.size] = factor[0] * c
    return np.concatenate([denominator, rows.ravel(), start])
