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
from numbers import Integral
from typing import Any, Literal, final

import numpy as np

from daedal.data import short
from daedal.errors import EstimationError, as_float, is_one_of, is_real, show
from daedal.lti import FilteredSignals
from daedal.order.output_error import Polished, polish_best, sum_squares
from daedal.order.record import Record
from daedal.order.response import EDGE, FASTEST, Shape, bring_back, is_usable, make_monic

CUTOFFS = 4
ROUNDS = 7
SCANNING = 4  # rounds for each delay of a grid
VALLEYS = 2  # of the sum of squares over the delays, to look into
STRIDE = 3  # of a first look at the delays of a grid
CLOSE = 1.5  # sample intervals: delays that begin nearer to each other end alike
SETTLED = 1e-3  # relative change of the coefficients; output error does the rest
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
        if not is_one_of(self.delay, ("estimated",)) and not _is_time(self.delay):
            raise EstimationError(
                f"The delay must be a time from zero on, or 'estimated', got {show(self.delay)}.", "Write delay=0.1."
            )
        if self.largest_delay is not None and not (_is_time(self.largest_delay) and self.largest_delay > 0.0):
            raise EstimationError(
                f"The largest delay must be a positive time, got {show(self.largest_delay)}.",
                "Write largest_delay=1.0.",
            )
        if not isinstance(self.noise, Integral) or self.noise < 0:
            raise EstimationError(
                f"The noise must be True, False or an order, got {show(self.noise)}.", "Write noise=True."
            )

    def narrow(self, shapes: Sequence[Shape], record: Record) -> tuple[list[Shape], list[str]]:  # noqa: ARG002
        """All of them."""
        return list(shapes), []

    def estimate(self, shape: Shape, record: Record, known: Sequence[Polished] = ()) -> Polished | None:
        """Coefficients of one shape; results `known` for smaller ones help to begin."""
        if self.delay != "estimated":
            given = _estimate_with_delay(record, self.delay)
            return polish_best(shape, [(theta, given) for theta in find_starts(shape, given, known)], self.noise)
        largest = 20.0 * record.interval if self.largest_delay is None else self.largest_delay
        count = int(min(largest, 0.5 * record.span) / record.interval * (1.0 + 1e-9)) + 1
        promising = _find_promising(shape, record, record.interval * np.arange(count), known)
        starts = [(theta, late) for late in promising for theta in find_starts(shape, late, known, cutoffs=3)]
        return polish_best(shape, starts, self.noise, free_delays=True)


def _estimate_with_delay(record: Record, delay: float) -> Record:
    late = record.delay([delay] * len(record.inputs))
    if late.idle:
        raise EstimationError(
            f"Delayed by {short(float(delay))}, the input '{late.idle[0]}' does not vary during the record, which "
            f"lasts {short(record.span)}.",
            "Give a shorter delay, or more data.",
        )
    return late


def _is_time(value: Any) -> bool:
    return is_real(value) and not isinstance(value, bool) and 0.0 <= as_float(value) < np.inf


def _find_promising(shape: Shape, record: Record, grid: np.ndarray, known: Sequence[Polished]) -> list[Record]:
    """Delays to begin with, no two of them close together: those of smaller models, and the best of a grid.

    All inputs first move together. Where a model with the same poles is known, a coarse look is enough.
    """
    count = len(record.inputs)
    coarse = any(polished.shape.order == shape.order for polished in known)
    squares = _scan_coarsely(shape, [record.delay([delay] * count) for delay in grid], finish=not coarse)
    there = np.flatnonzero(np.isfinite(squares))
    padded = np.concatenate([[np.inf], squares[there], [np.inf]])
    lowest = there[(padded[1:-1] <= padded[:-2]) & (padded[1:-1] <= padded[2:])]
    ranked = lowest[np.argsort(squares[lowest], kind="stable")]
    promising = [record.delay([grid[k]] * count) for k in ranked[:VALLEYS]]
    for place in range(count if promising and count > 1 and not coarse else 0):
        own = [promising[0].delay(np.where(np.arange(count) == place, delay, promising[0].delays)) for delay in grid]
        promising[0] = own[int(np.argmin(_scan_coarsely(shape, own, finish=True)))]
    distinct: list[Record] = []
    for late in [*(record.delay(polished.record.delays) for polished in known), *promising]:
        apart = [np.max(np.abs(np.subtract(late.delays, other.delays))) for other in distinct]
        if min(apart, default=np.inf) > CLOSE * record.interval:
            distinct.append(late)
    return distinct


def _scan_coarsely(shape: Shape, records: Sequence[Record], finish: bool) -> np.ndarray:
    """Sums of squares for every few of the records, and to `finish` around the lowest too; the others are infinite."""
    squares = np.full(len(records), np.inf)
    every = range(0, len(records), STRIDE)
    squares[every] = _scan(shape, [records[k] for k in every])
    if finish:
        lowest = sorted(every, key=squares.__getitem__)[:VALLEYS]
        around = {k + step for k in lowest for step in range(1 - STRIDE, STRIDE)} - set(every)
        near = sorted(k for k in around if 0 <= k < len(records))
        squares[near] = _scan(shape, [records[k] for k in near])
    return squares


def _scan(shape: Shape, records: Sequence[Record]) -> np.ndarray:
    """Sums of squares after a few rounds for each record, from the one before it and from a new start."""
    squares, last = [], None
    for late in records:
        begin = [] if late.idle else [_make_lags(shape, late, 0.5), last]
        rounds = [refine(shape, late, a, SCANNING) for a in begin if a is not None]
        pairs = [(sum_squares(shape, theta, late), theta) for theta in rounds if theta is not None]
        best = min(pairs, key=lambda pair: pair[0], default=(np.inf, None))
        squares.append(best[0])
        last = None if best[1] is None or not np.isfinite(best[0]) else best[1][: shape.order]
    return np.array(squares)


def _make_lags(shape: Shape, record: Record, place: float) -> np.ndarray:
    """(s + λ)ⁿ, λ between what the record and what its samples can show; rising powers, without the leading one."""
    slow, fast = 4.0 * np.pi / record.span, 0.5 * np.pi / record.interval
    cutoff = min(slow, fast) ** (1.0 - place) * fast**place
    return np.poly(np.full(shape.order, -cutoff))[:0:-1]


def find_starts(
    shape: Shape, record: Record, known: Sequence[Polished] = (), cutoffs: int = CUTOFFS
) -> list[np.ndarray]:
    """Coefficients to begin output error with: instrumental variables from several cut-offs, and smaller models."""
    starts = [start for polished in known if (start := _extend(polished, shape)) is not None]
    if any(polished.shape.order == shape.order for polished in known):
        cutoffs = min(cutoffs, 2)  # with the same poles the search is not far from where it will end
    for place in np.linspace(0.0, 1.0, cutoffs):
        estimate = refine(shape, record, _make_lags(shape, record, place))
        if estimate is not None:
            starts.append(estimate)
    return starts


def refine(shape: Shape, record: Record, a: np.ndarray, rounds: int = ROUNDS) -> np.ndarray | None:
    """Instrumental variables from a first denominator (rising powers, without the leading one); None if they fail."""
    theta, n = None, shape.order
    for _ in range(rounds):
        new = _solve_round(shape, record, a, theta)
        if new is None:
            return theta
        new[:n] = bring_back(new[:n], record)
        settled = theta is not None and np.max(np.abs(new - theta)) <= SETTLED * np.max(np.abs(new))
        theta, a = new, new[:n]
        if settled or not is_usable(a, record):
            break
    return theta


def _solve_round(shape: Shape, record: Record, a: np.ndarray, theta: np.ndarray | None) -> np.ndarray | None:
    """One round of instrumental variables; of least squares where there is no model yet."""
    n = shape.order
    with np.errstate(all="ignore"):
        twice = record.input_filter(make_monic(a), 2)
        output = record.output_filter(make_monic(a)).signals[0]
        top = record.output_now - output @ a
        own = _stack_own_columns(shape, record, a, _undo_filter(twice.signals, a), _undo_filter(twice.impulse, a))
        phi = np.concatenate([-output[:, :n], own], axis=1)
        instruments = phi
        if theta is not None:
            instruments = np.concatenate([-_respond_without_noise(shape, twice, theta), own], axis=1)
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


def _stack_own_columns(
    shape: Shape, record: Record, a: np.ndarray, signals: np.ndarray, impulse: np.ndarray
) -> np.ndarray:
    """Filtered derivatives of the inputs, and of the impulse where the start is free, (time, column)."""
    m = shape.input_order
    columns = []
    for signal, now in zip(signals, record.inputs_now, strict=True):
        full = signal if m < shape.order else np.column_stack([signal, now - signal @ a])
        columns.append(full[:, : m + 1])
    if shape.start:
        columns.append(impulse)
    return np.concatenate(columns, axis=1)


def _undo_filter(states: np.ndarray, a: np.ndarray) -> np.ndarray:
    """What went twice through 1/a as if it had gone once: a(d/dt) of it."""
    n = a.size
    return sum((states[..., k : k + n] * value for k, value in enumerate(a)), states[..., n:])


def _respond_without_noise(shape: Shape, filtered: FilteredSignals, theta: np.ndarray) -> np.ndarray:
    """The response of the present model through 1/a, and its derivatives, (time, n)."""
    _, b, c = shape.split(theta)
    n = shape.order
    columns = np.zeros((filtered.impulse.shape[0], n))
    for k in range(n):
        for signal, row in zip(filtered.signals, b, strict=True):
            reach = min(row.size, signal.shape[1] - k)
            columns[:, k] += signal[:, k : k + reach] @ row[:reach]
        if c.size:
            columns[:, k] += filtered.impulse[:, k : k + c.size] @ c
    return columns


def _extend(smaller: Polished, shape: Shape) -> np.ndarray | None:
    """A smaller model as one of this shape: a fast pole more, numerators with zeros; None if it is not smaller."""
    a, b, c = smaller.shape.split(smaller.theta)
    more = shape.order - smaller.shape.order
    if more not in (0, 1) or smaller.shape.input_order > shape.input_order:
        return None
    factor = np.ones(1)
    if more:
        fastest = float(np.max(np.abs(np.roots(make_monic(a))), initial=1e-300))
        factor = np.array([min(FASTER * fastest, EDGE * FASTEST / smaller.record.interval), 1.0])
    denominator = np.convolve(np.append(a, 1.0), factor)[:-1]
    # With a zero more too, it goes where the pole is: the response stays the same to the last digit.
    beside = factor if more and smaller.shape.input_order < shape.input_order else factor[:1]
    rows = np.zeros((shape.inputs, shape.input_order + 1))
    rows[:, : b.shape[1] + beside.size - 1] = [np.convolve(row, beside) for row in b]
    start = np.zeros(shape.order if shape.start else 0)
    if c.size:
        start[: c.size + beside.size - 1] = np.convolve(c, beside)
    return np.concatenate([denominator, rows.ravel(), start])
