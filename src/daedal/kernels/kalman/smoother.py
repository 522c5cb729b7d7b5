"""The smoother as compiled loops backwards over the events of a filter whose innovations were kept.

De Jong (1989), with L = I − g hᵀ/s, everything that later data say about the predicted state:

    q ← h e/s + Lᵀq,  M ← h hᵀ/s + LᵀM L;  then q ← Aᵀq, M ← AᵀM A;      smoothed: x + P q, P − P M P.

P. de Jong, Smoothing and interpolation with the state-space model, J. Amer. Statist. Assoc. 84 (1989) 1085–1088.
"""

from functools import cache
from typing import Any

import numpy as np

from daedal.kernels import compiler
from daedal.kernels.arguments import check_array, divide_loop
from daedal.kernels.kalman.records import Events, Innovations, check_numbers
from daedal.kernels.nested_loops import LoopFunction, Value
from daedal.kernels.target import find_host

POINTERS = ("transition", "row", "A", "h", "kept_g", "e", "s", "q", "M", "T", "v", "kept_q", "kept_M")
INTEGERS = ("events", "n", "columns")


def run_smoother(
    events: Events, A: np.ndarray, h: np.ndarray, innovations: Innovations
) -> tuple[np.ndarray, np.ndarray]:
    """q (event, column, n) and M (event, n, n) of a filter that was kept."""
    count, columns, n = innovations.x.shape
    q, M, T, v = np.zeros((columns, n)), np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
    kept_q, kept_M = np.zeros((count, columns, n)), np.zeros((count, n, n))
    check_numbers(events, len(A), len(h), 0, count)
    A, h = check_array(A, (len(A), n, n), "A"), check_array(h, (len(h), n), "h")
    for part in reversed(list(divide_loop(count, 2.0 * n**3))):
        measured = [array[part] for array in (innovations.g, innovations.e.value, innovations.s.value)]
        arrays = [events.transition[part], events.row[part], A, h, *measured, q, M, T, v, kept_q[part], kept_M[part]]
        _load()(*(array.ctypes.data for array in arrays), part.stop - part.start, n, columns)
    return kept_q, kept_M


@cache
def _load() -> Any:
    return compiler.load(write_smoother(find_host().register)).function("daedal_smoother", len(POINTERS), len(INTEGERS))


def write_smoother(width: int) -> str:
    """`daedal_smoother(pointers…, events, n, columns)`."""
    f = LoopFunction("daedal_smoother", POINTERS, INTEGERS, width)
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
    factor = (f.number(1.0) + inner / variance) / variance
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
