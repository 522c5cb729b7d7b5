"""The Kalman filter and smoother as compiled loops over events, with directions of differentiation in vector lanes.

An event is a transition, then a measurement of one number, either of them optional:

    x ← A x + f,  P ← A P Aᵀ + Q;      g = P h,  s = hᵀg + r,  e = y − hᵀx,  x ← x + g e/s,  P ← P − g gᵀ/s.

Several outputs at one time are events without transition between them (Anderson and Moore 1979, section 6.4), so that
every s is a number and a missing sample is an event that is not there. x has several columns: the first is driven by
data, the others show what a change of the initial state does to e. Every array comes with its derivatives in a last
axis of directions. Where the gain no longer changes, `steady` says which g and s to take and P is left alone.

Backwards (de Jong 1989), with L = I − g hᵀ/s, everything that later data say about the predicted state:

    q ← h e/s + Lᵀq,  M ← h hᵀ/s + LᵀM L;  then q ← Aᵀq, M ← AᵀM A;      smoothed: x + P q, P − P M P.

B. D. O. Anderson, J. B. Moore, Optimal Filtering, Prentice-Hall 1979. P. de Jong, Smoothing and interpolation with the
state-space model, J. Amer. Statist. Assoc. 84 (1989) 1085–1088.
"""

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import Any, final

import numpy as np

from daedal.kernels import compiler
from daedal.kernels.arguments import checked
from daedal.kernels.nested_loops import LoopFunction, Value, View
from daedal.kernels.target import host

POINTER, INTEGER = ctypes.c_void_p, ctypes.c_int64

NOTHING, MEANS, EVERYTHING = 0, 1, 2  # of the predicted states, to keep event by event

FILTER_POINTERS = (
    "transition", "row", "steady", "A", "dA", "Q", "dQ", "f", "df", "h", "dh", "y", "dy", "r", "dr", "G", "dG", "S",
    "dS", "x", "dx", "P", "dP", "T", "dT", "g", "dg", "e", "de", "s", "ds", "kept_x", "kept_P", "kept_g",
)  # fmt: skip
SMOOTHER_POINTERS = ("transition", "row", "A", "h", "kept_g", "e", "s", "q", "M", "T", "v", "kept_q", "kept_M")


@final
@dataclass(frozen=True, eq=False)
class Packed:
    """Numbers and their derivatives in a last axis of directions, padded to whole vectors."""

    value: np.ndarray
    slope: np.ndarray


def padded(directions: int) -> int:
    """The directions that whole vectors hold."""
    width = host().register
    return -(-directions // width) * width


def pack(value: np.ndarray, slopes: np.ndarray | None = None, directions: int = 0) -> Packed:
    """Packed from slopes (direction, …), or with slopes of zero."""
    value = np.array(value, dtype=float, order="C")  # a copy: states are advanced in place
    slope = np.zeros((*value.shape, padded(directions)))
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

    def part(self, events: slice) -> "Innovations":
        """Some of the events, in the same memory."""
        e, s = (Packed(each.value[events], each.slope[events]) for each in (self.e, self.s))
        return Innovations(e, s, self.x[events], self.P[events], self.g[events])


def room(count: int, state: State, keep: int = NOTHING) -> Innovations:
    """Room for what the filter finds in so many events."""
    (columns, n), directions = state.x.value.shape, state.x.slope.shape[-1]
    e, s = (Packed(np.zeros(shape), np.zeros((*shape, directions))) for shape in ((count, columns), (count,)))
    means, all_of_it = (count if keep >= level else 0 for level in (MEANS, EVERYTHING))
    return Innovations(e, s, np.zeros((means, columns, n)), np.zeros((all_of_it, n, n)), np.zeros((all_of_it, n)))


def run_filter(
    events: Events, matrices: Matrices, forcing: Packed, measured: Packed, variance: Packed, state: State,
    steady: Steady | None = None, keep: int = NOTHING, into: Innovations | None = None,
) -> Innovations:  # fmt: skip
    """Advance the state over all events; forcing is (event, n), measured and variance (event,)."""
    count, (columns, n), directions = len(events.row), state.x.value.shape, state.x.slope.shape[-1]
    gains = steady or Steady(pack(np.zeros((0, n)), None, directions), pack(np.zeros(0), None, directions))
    found = room(count, state, keep) if into is None else into
    work = [pack(np.zeros(shape), None, directions) for shape in ((n, n), (n,))]
    transitions, rows = matrices.A.value.shape[0], matrices.h.value.shape[0]
    _check_numbers(events, transitions, rows, gains.s.value.shape[0], count)
    packs = [
        (matrices.A, (transitions, n, n)), (matrices.Q, (transitions, n, n)), (forcing, (count, n)),
        (matrices.h, (rows, n)), (measured, (count,)), (variance, (count,)), (gains.g, (len(gains.g.value), n)),
        (gains.s, (len(gains.g.value),)), (state.x, (columns, n)), (state.P, (n, n)), (work[0], (n, n)),
        (work[1], (n,)), (found.e, (count, columns)), (found.s, (count,)),
    ]  # fmt: skip
    arrays = [events.transition, events.row, events.steady]
    for each, shape in packs:
        arrays += [checked(each.value, shape, "value"), checked(each.slope, (*shape, directions), "slope")]
    means, all_of_it = (count if keep >= level else 0 for level in (MEANS, EVERYTHING))
    shapes = ((means, columns, n), (all_of_it, n, n), (all_of_it, n))
    arrays += [checked(each, shape, "kept") for each, shape in zip((found.x, found.P, found.g), shapes, strict=True)]
    call = _code().function("daedal_filter", [POINTER] * len(FILTER_POINTERS) + [INTEGER] * 5)
    sizes = (count, n, columns, directions // host().register, keep)
    call(*(array.ctypes.data for array in arrays), *sizes)
    return found


def run_smoother(events: Events, A: np.ndarray, h: np.ndarray, found: Innovations) -> tuple[np.ndarray, np.ndarray]:
    """q (event, column, n) and M (event, n, n) of a filter that was kept."""
    count, columns, n = found.x.shape
    q, M, T, v = np.zeros((columns, n)), np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
    kept_q, kept_M = np.zeros((count, columns, n)), np.zeros((count, n, n))
    _check_numbers(events, len(A), len(h), 0, count)
    arrays = [events.transition, events.row, checked(A, (len(A), n, n), "A"), checked(h, (len(h), n), "h"), found.g]
    arrays += [found.e.value, found.s.value, q, M, T, v, kept_q, kept_M]
    call = _code().function("daedal_smoother", [POINTER] * len(SMOOTHER_POINTERS) + [INTEGER] * 3)
    call(*(array.ctypes.data for array in arrays), count, n, columns)
    return kept_q, kept_M


def _check_numbers(events: Events, transitions: int, rows: int, gains: int, count: int) -> None:
    """Numbers of transitions, rows and gains are addresses: they must exist."""
    for array, most in ((events.transition, transitions), (events.row, rows), (events.steady, gains)):
        assert array.dtype == np.int64
        assert array.flags.c_contiguous
        assert array.shape == (count,)
        assert not array.size or (array.min() >= -1 and array.max() < most)


@cache
def _code() -> Any:
    return compiler.load(filter_text(host().register) + smoother_text(host().register))


@final
class _Pair:
    """Packed numbers inside a kernel: value and slopes as views."""

    def __init__(self, f: LoopFunction, name: str, lanes: Value, *sizes: Value) -> None:
        self.value: View = f.view(name, *sizes)
        self.slope: View = f.view(f"d{name}", *sizes, lanes, kind=f.vector)


def filter_text(width: int) -> str:
    """`daedal_filter(pointers…, events, n, columns, vectors, keep)`."""
    f = LoopFunction("daedal_filter", FILTER_POINTERS, ("events", "n", "columns", "vectors", "keep"), width)
    n, columns, vectors = f.integer("n"), f.integer("columns"), f.integer("vectors")
    transition, row, steady = (f.view(name, kind="i64") for name in ("transition", "row", "steady"))
    A, Q = _Pair(f, "A", vectors, n, n), _Pair(f, "Q", vectors, n, n)
    forcing, h = _Pair(f, "f", vectors, n), _Pair(f, "h", vectors, n)
    y, r, S, s = (_Pair(f, name, vectors) for name in ("y", "r", "S", "s"))
    G, x, P, T = (_Pair(f, name, vectors, n) for name in ("G", "x", "P", "T"))
    g, e = _Pair(f, "g", vectors), _Pair(f, "e", vectors, columns)
    kept_x, kept_P, kept_g = f.view("kept_x", columns, n), f.view("kept_P", n, n), f.view("kept_g", n)
    keep = f.integer("keep")
    with f.loop(f.integer("events")) as event:
        number, gain = transition[event], steady[event]
        with f.when(number >= 0):
            _move_mean(f, (A, forcing, x, g), (number, event), (n, columns, vectors))
            with f.when(gain < 0):
                _move_covariance(f, (A, Q, P, T), number, (n, vectors))
        with f.when(keep >= 1), f.loop(columns) as c, f.loop(n) as i:
            kept_x[event, c, i] = x.value[c, i]
        with f.when(keep >= 2), f.loop(n) as i, f.loop(n) as j:
            kept_P[event, i, j] = P.value[i, j]
        place = row[event]
        with f.when(place >= 0):
            with f.when(gain < 0):
                _gain(f, (P, h, r, g, s), (place, event), (n, vectors))
            with f.when(gain >= 0):
                _take_gain(f, (G, S, g, s), (gain, event), (n, vectors))
            with f.when(keep >= 2), f.loop(n) as i:
                kept_g[event, i] = g.value[i]
            _correct_mean(f, (h, y, g, s, x, e), (place, event), (n, columns, vectors))
            with f.when(gain < 0):
                _correct_covariance(f, (g, s, P), event, (n, vectors))
    return f.text()


def _move_mean(f: LoopFunction, arrays: Any, places: Any, sizes: Any) -> None:
    """x ← A x, + f in the first column; g is room for one column."""
    A, forcing, x, room = arrays
    number, event = places
    n, columns, vectors = sizes
    with f.loop(columns) as c:
        with f.loop(n) as i:
            room.value[i] = f.sum(n, lambda k, i=i, c=c: A.value[number, i, k] * x.value[c, k])
            with f.loop(vectors) as v:
                room.slope[i, v] = f.sum(
                    n,
                    lambda k, i=i, c=c, v=v: (
                        A.slope[number, i, k, v] * x.value[c, k] + A.value[number, i, k] * x.slope[c, k, v]
                    ),
                    f.zeros(),
                )
        with f.loop(n) as i:
            x.value[c, i] = room.value[i]
            with f.loop(vectors) as v:
                x.slope[c, i, v] = room.slope[i, v]
    with f.loop(n) as i:
        first = _zero(f)
        x.value[first, i] = x.value[first, i] + forcing.value[event, i]
        with f.loop(vectors) as v:
            x.slope[first, i, v] = x.slope[first, i, v] + forcing.slope[event, i, v]


def _zero(f: LoopFunction) -> Value:
    return Value(f, "0", "i64")


def _move_covariance(f: LoopFunction, arrays: Any, number: Value, sizes: Any) -> None:
    """P ← A P Aᵀ + Q, symmetric to the last bit."""
    A, Q, P, T = arrays
    n, vectors = sizes
    with f.loop(n) as i, f.loop(n) as j:
        T.value[i, j] = f.sum(n, lambda k: A.value[number, i, k] * P.value[k, j])
        with f.loop(vectors) as v:
            T.slope[i, j, v] = f.sum(
                n,
                lambda k: A.slope[number, i, k, v] * P.value[k, j] + A.value[number, i, k] * P.slope[k, j, v],
                f.zeros(),
            )
    with f.loop(n) as i, f.loop(i + 1) as j:
        value = f.sum(n, lambda k: T.value[i, k] * A.value[number, j, k], Q.value[number, i, j])
        P.value[i, j] = value
        P.value[j, i] = value
        with f.loop(vectors) as v:
            slope = f.sum(
                n,
                lambda k: T.slope[i, k, v] * A.value[number, j, k] + T.value[i, k] * A.slope[number, j, k, v],
                Q.slope[number, i, j, v],
            )
            P.slope[i, j, v] = slope
            P.slope[j, i, v] = slope


def _gain(f: LoopFunction, arrays: Any, places: Any, sizes: Any) -> None:
    """g = P h, s = hᵀg + r."""
    P, h, r, g, s = arrays
    place, event = places
    n, vectors = sizes
    with f.loop(n) as i:
        g.value[i] = f.sum(n, lambda k: P.value[i, k] * h.value[place, k])
        with f.loop(vectors) as v:
            g.slope[i, v] = f.sum(
                n, lambda k: P.slope[i, k, v] * h.value[place, k] + P.value[i, k] * h.slope[place, k, v], f.zeros()
            )
    s.value[event] = f.sum(n, lambda k: h.value[place, k] * g.value[k], r.value[event])
    with f.loop(vectors) as v:
        s.slope[event, v] = f.sum(
            n,
            lambda k: h.slope[place, k, v] * g.value[k] + h.value[place, k] * g.slope[k, v],
            r.slope[event, v],
        )


def _take_gain(f: LoopFunction, arrays: Any, places: Any, sizes: Any) -> None:
    """g and s that no longer change."""
    G, S, g, s = arrays
    gain, event = places
    n, vectors = sizes
    with f.loop(n) as i:
        g.value[i] = G.value[gain, i]
        with f.loop(vectors) as v:
            g.slope[i, v] = G.slope[gain, i, v]
    s.value[event] = S.value[gain]
    with f.loop(vectors) as v:
        s.slope[event, v] = S.slope[gain, v]


def _correct_mean(f: LoopFunction, arrays: Any, places: Any, sizes: Any) -> None:
    """e = y − hᵀx (no y but in the first column), x ← x + g e/s."""
    h, y, g, s, x, e = arrays
    place, event = places
    n, columns, vectors = sizes
    first = _zero(f)
    with f.loop(columns) as c:
        e.value[event, c] = Value(f, "0.0", "double") - f.sum(n, lambda k: h.value[place, k] * x.value[c, k])
        with f.loop(vectors) as v:
            moved = f.sum(
                n, lambda k: h.slope[place, k, v] * x.value[c, k] + h.value[place, k] * x.slope[c, k, v], f.zeros()
            )
            e.slope[event, c, v] = f.zeros() - moved
    e.value[event, first] = e.value[event, first] + y.value[event]
    with f.loop(vectors) as v:
        e.slope[event, first, v] = e.slope[event, first, v] + y.slope[event, v]
    with f.loop(columns) as c:
        ratio = e.value[event, c] / s.value[event]
        with f.loop(vectors) as v:
            slope = (e.slope[event, c, v] - s.slope[event, v] * ratio) / s.value[event]
            with f.loop(n) as i:
                x.slope[c, i, v] = x.slope[c, i, v] + (g.slope[i, v] * ratio + g.value[i] * slope)
        with f.loop(n) as i:
            x.value[c, i] = x.value[c, i] + g.value[i] * ratio


def _correct_covariance(f: LoopFunction, arrays: Any, event: Value, sizes: Any) -> None:
    """P ← P − g gᵀ/s."""
    g, s, P = arrays
    n, vectors = sizes
    with f.loop(n) as i, f.loop(i + 1) as j:
        product = g.value[i] * g.value[j] / s.value[event]
        with f.loop(vectors) as v:
            moved = g.slope[i, v] * g.value[j] + g.slope[j, v] * g.value[i] - s.slope[event, v] * product
            slope = P.slope[i, j, v] - moved / s.value[event]
            P.slope[i, j, v] = slope
            P.slope[j, i, v] = slope
        value = P.value[i, j] - product
        P.value[i, j] = value
        P.value[j, i] = value


def smoother_text(width: int) -> str:
    """`daedal_smoother(pointers…, events, n, columns)`."""
    f = LoopFunction("daedal_smoother", SMOOTHER_POINTERS, ("events", "n", "columns"), width)
    n, columns = f.integer("n"), f.integer("columns")
    transition, row = (f.view(name, kind="i64") for name in ("transition", "row"))
    A, h, g = f.view("A", n, n), f.view("h", n), f.view("kept_g", n)
    e, s = f.view("e", columns), f.view("s")
    q, M, T, room = f.view("q", n), f.view("M", n), f.view("T", n), f.view("v")
    kept_q, kept_M = f.view("kept_q", columns, n), f.view("kept_M", n, n)
    with f.loop(f.integer("events"), backwards=True) as event:
        place, number = row[event], transition[event]
        with f.when(place >= 0):
            _absorb(f, (h, g, e, s, q, M, room), (place, event), (n, columns))
        with f.loop(columns) as c, f.loop(n) as i:
            kept_q[event, c, i] = q[c, i]
        with f.loop(n) as i, f.loop(n) as j:
            kept_M[event, i, j] = M[i, j]
        with f.when(number >= 0):
            _move_back(f, (A, q, M, T, room), number, (n, columns))
    return f.text()


def _absorb(f: LoopFunction, arrays: Any, places: Any, sizes: Any) -> None:
    """q ← h e/s + Lᵀq, M ← h hᵀ/s + LᵀM L with L = I − g hᵀ/s: M − (h mᵀ + m hᵀ)/s + h hᵀ (1 + gᵀm/s)/s, m = M g."""
    h, g, e, s, q, M, room = arrays
    place, event = places
    n, columns = sizes
    variance = s[event]
    with f.loop(columns) as c:
        along = f.sum(n, lambda k: g[event, k] * q[c, k])
        factor = (e[event, c] - along) / variance
        with f.loop(n) as i:
            q[c, i] = q[c, i] + h[place, i] * factor
    with f.loop(n) as i:
        room[i] = f.sum(n, lambda k: M[i, k] * g[event, k])
    inner = f.sum(n, lambda k: g[event, k] * room[k])
    factor = (Value(f, "1.0", "double") + inner / variance) / variance
    with f.loop(n) as i, f.loop(n) as j:
        crossed = (h[place, i] * room[j] + room[i] * h[place, j]) / variance
        M[i, j] = M[i, j] - crossed + h[place, i] * h[place, j] * factor


def _move_back(f: LoopFunction, arrays: Any, number: Value, sizes: Any) -> None:
    """q ← Aᵀq, M ← AᵀM A."""
    A, q, M, T, room = arrays
    n, columns = sizes
    with f.loop(columns) as c:
        with f.loop(n) as i:
            room[i] = f.sum(n, lambda k: A[number, k, i] * q[c, k])
        with f.loop(n) as i:
            q[c, i] = room[i]
    with f.loop(n) as i, f.loop(n) as j:
        T[i, j] = f.sum(n, lambda k: M[i, k] * A[number, k, j])
    with f.loop(n) as i, f.loop(n) as j:
        M[i, j] = f.sum(n, lambda k: A[number, k, i] * T[k, j])
