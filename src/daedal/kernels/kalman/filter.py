"""The Kalman filter as compiled loops over events, with directions of differentiation in vector lanes.

An event is a transition, then a measurement of one number, either of them optional:

    x ← A x + f,  P ← A P Aᵀ + Q;      g = P h,  s = hᵀg + r,  e = y − hᵀx,  x ← x + g e/s,  P ← P − g gᵀ/s.

Several outputs at one time are events without transition between them (Anderson and Moore 1979, section 6.4), so that
every s is a number and a missing sample is an event that is not there. x has several columns: the first is driven by
data, the others show what a change of the initial state does to e. Every array comes with its derivatives in a last
axis of directions. Where the gain no longer changes, `steady` says which g and s to take and P is left alone.

B. D. O. Anderson, J. B. Moore, Optimal Filtering, Prentice-Hall 1979.
"""

from functools import cache
from typing import Any, final

import numpy as np

from daedal.kernels import compiler
from daedal.kernels.arguments import check_array, divide_loop
from daedal.kernels.kalman.records import (
    Events,
    Innovations,
    Keep,
    Matrices,
    Packed,
    State,
    Steady,
    check_numbers,
    list_kept_shapes,
    pack,
)
from daedal.kernels.nested_loops import LoopFunction, Value, View
from daedal.kernels.target import find_host

POINTERS = (
    "transition", "row", "steady", "A", "dA", "Q", "dQ", "f", "df", "h", "dh", "y", "dy", "r", "dr", "G", "dG", "S",
    "dS", "x", "dx", "P", "dP", "T", "dT", "g", "dg", "e", "de", "s", "ds", "kept_x", "kept_P", "kept_g",
)  # fmt: skip
INTEGERS = ("events", "n", "columns", "vectors", "keep")


def run_filter(
    events: Events, matrices: Matrices, forcing: Packed, measured: Packed, variance: Packed, state: State,
    steady: Steady | None = None, keep: Keep = Keep.NOTHING, into: Innovations | None = None,
) -> Innovations:  # fmt: skip
    """Advance the state over all events; forcing is (event, n), measured and variance (event,)."""
    count, (columns, n), directions = len(events.row), state.x.value.shape, state.x.slope.shape[-1]
    gains = steady or Steady(pack(np.zeros((0, n)), None, directions), pack(np.zeros(0), None, directions))
    innovations = Innovations.empty(count, state, keep) if into is None else into
    work = [pack(np.zeros(shape), None, directions) for shape in ((n, n), (n,))]
    transitions, rows = matrices.A.value.shape[0], matrices.h.value.shape[0]
    check_numbers(events, transitions, rows, gains.s.value.shape[0], count)
    packs = [
        (matrices.A, (transitions, n, n)), (matrices.Q, (transitions, n, n)), (forcing, (count, n)),
        (matrices.h, (rows, n)), (measured, (count,)), (variance, (count,)), (gains.g, (len(gains.g.value), n)),
        (gains.s, (len(gains.g.value),)), (state.x, (columns, n)), (state.P, (n, n)), (work[0], (n, n)),
        (work[1], (n,)), (innovations.e, (count, columns)), (innovations.s, (count,)),
    ]  # fmt: skip
    arrays = [events.transition, events.row, events.steady]
    for packed, shape in packs:
        arrays += [check_array(packed.value, shape, "value"), check_array(packed.slope, (*shape, directions), "slope")]
    kept = (innovations.x, innovations.P, innovations.g)
    shapes = list_kept_shapes(count, columns, n, keep)
    arrays += [check_array(array, shape, "kept") for array, shape in zip(kept, shapes, strict=True)]
    moving = [
        array for one in (forcing, measured, variance, innovations.e, innovations.s) for array in (one.value, one.slope)
    ]
    of_events = {id(array) for array in (*arrays[:3], *moving, *kept)}
    sizes = (n, columns, directions // find_host().register, keep)
    for part in divide_loop(count, 2.0 * n**3 * (1 + directions)):
        seen = [array[part] if id(array) in of_events else array for array in arrays]
        _load()(*(array.ctypes.data for array in seen), part.stop - part.start, *sizes)
    return innovations


@cache
def _load() -> Any:
    return compiler.load(write_filter(find_host().register)).function("daedal_filter", len(POINTERS), len(INTEGERS))


@final
class _Pair:
    """Packed numbers inside a kernel: value and slopes as views."""

    def __init__(self, f: LoopFunction, name: str, lanes: Value, *sizes: Value) -> None:
        self.value: View = f.view(name, *sizes)
        self.slope: View = f.view(f"d{name}", *sizes, lanes, kind=f.vector)


def write_filter(width: int) -> str:
    """`daedal_filter(pointers…, events, n, columns, vectors, keep)`."""
    f = LoopFunction("daedal_filter", POINTERS, INTEGERS, width)
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
                _compute_gain(f, (P, h, r, g, s), (place, event), (n, vectors))
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
        x.value[0, i] = x.value[0, i] + forcing.value[event, i]
        with f.loop(vectors) as v:
            x.slope[0, i, v] = x.slope[0, i, v] + forcing.slope[event, i, v]


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


def _compute_gain(f: LoopFunction, arrays: Any, places: Any, sizes: Any) -> None:
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
    with f.loop(columns) as c:
        e.value[event, c] = f.number(0.0) - f.sum(n, lambda k: h.value[place, k] * x.value[c, k])
        with f.loop(vectors) as v:
            moved = f.sum(
                n, lambda k: h.slope[place, k, v] * x.value[c, k] + h.value[place, k] * x.slope[c, k, v], f.zeros()
            )
            e.slope[event, c, v] = f.zeros() - moved
    e.value[event, 0] = e.value[event, 0] + y.value[event]
    with f.loop(vectors) as v:
        e.slope[event, 0, v] = e.slope[event, 0, v] + y.slope[event, v]
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
