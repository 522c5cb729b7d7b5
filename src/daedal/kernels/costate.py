"""Costates of systems with delays as compiled loops: linear equations backward that look at their own record.

Row by row, with the stages of an explicit Runge–Kutta method (weights a and b, stage s at node c_s),

    λ ← λ + kick;   η_ai = Σ_k weights[a, i, k] · record[back[a, i] + k, columns[i]]          at every node a
    k_s = M[c_s]ᵀ (λ + h Σ_j a_sj k_j, η[c_s]);   λ ← λ + h Σ_s b_s k_s;   record ← (λ, Wᵀ (λ, η[last node])).

Sizes are known at run time only, so that the code is made once for all systems.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, final

import numpy as np

from daedal.kernels import compiler
from daedal.kernels.arguments import check_array, check_rows, divide_loop
from daedal.kernels.nested_loops import LoopFunction
from daedal.kernels.target import find_host

POINTERS = (
    "a", "b", "node", "h", "kick", "M", "W", "weights", "back", "columns", "record", "lam", "eta", "z", "k",
)  # fmt: skip
INTEGERS = ("rows", "stages", "nodes", "n", "count", "points", "delayed")


@final
@dataclass(frozen=True, eq=False)
class CostateMethod:
    """Weights a (stage, stage) and b (stage,) of an explicit method, and the node at which each stage stands."""

    a: np.ndarray
    b: np.ndarray
    node: np.ndarray


@final
@dataclass(frozen=True, eq=False)
class CostateTable:
    """What each row reads: h (row,), kick (row, n), M (row, node, n + count, n), W (row, n + count, delayed).

    Of earlier rows: weights (row, node, count, point), back (row, node, count) and which column of the record each of
    the `count` numbers is.
    """

    h: np.ndarray
    kick: np.ndarray
    M: np.ndarray
    W: np.ndarray
    weights: np.ndarray
    back: np.ndarray
    columns: np.ndarray


def run_costate(method: CostateMethod, table: CostateTable, record: np.ndarray) -> None:
    """Fill the first rows of a record (row, n + delayed); the rest of it is only read."""
    (rows, nodes, _, n), (count, points) = table.M.shape, table.weights.shape[2:]
    stages, delayed = method.b.size, table.W.shape[2]
    shared = [
        check_array(method.a, (stages, stages), "a"),
        check_array(method.b, (stages,), "b"),
        check_rows(method.node, (stages,), nodes - 1, "node", "Name a node."),
    ]
    of_rows = [
        check_array(table.h, (rows,), "h"),
        check_array(table.kick, (rows, n), "kick"),
        check_array(table.M, (rows, nodes, n + count, n), "M"),
        check_array(table.W, (rows, n + count, delayed), "W"),
        check_array(table.weights, (rows, nodes, count, points), "weights"),
    ]
    back = check_rows(table.back, (rows, nodes, count), len(record) - points, "back", "Correct the rows.")
    columns = check_rows(table.columns, (count,), n + delayed - 1, "columns", "Name what is recorded.")
    check_array(record, (max(len(record), rows), n + delayed), "record", written=True)
    scratch = [np.zeros(shape) for shape in (n, (nodes, count), n, (stages, n))]  # λ, which goes on, comes first
    for part in divide_loop(rows, nodes * count * points + stages * n * (n + count + stages)):
        first = part.start  # rows are counted from here
        seen = [*shared, *(array[part] for array in of_rows), back[part] - first, columns, record[first:], *scratch]
        sizes = (part.stop - first, stages, nodes, n, count, points, delayed)
        _load()(*(array.ctypes.data for array in seen), *sizes)


@cache
def _load() -> Any:
    return compiler.load(write_costate(find_host().register)).function("daedal_costate", len(POINTERS), len(INTEGERS))


def write_costate(width: int) -> str:
    """`daedal_costate(pointers…, integers…)`."""
    f = LoopFunction("daedal_costate", POINTERS, INTEGERS, width)
    rows, stages, nodes, n, count, points, delayed = (f.integer(name) for name in INTEGERS)
    both, recorded = n + count, n + delayed
    a, b, h, lam, z = f.view("a", stages), f.view("b"), f.view("h"), f.view("lam"), f.view("z")
    kick, k, eta = f.view("kick", n), f.view("k", n), f.view("eta", count)
    M, W = f.view("M", nodes, both, n), f.view("W", both, delayed)
    weights, record = f.view("weights", nodes, count, points), f.view("record", recorded)
    node, columns = f.view("node", kind="i64"), f.view("columns", kind="i64")
    back = f.view("back", nodes, count, kind="i64")
    with f.loop(rows) as row:
        with f.loop(n) as i:
            lam[i] = lam[i] + kick[row, i]
        with f.loop(nodes) as at, f.loop(count) as c:
            eta[at, c] = f.sum(points, lambda p: weights[row, at, c, p] * record[back[row, at, c] + p, columns[c]])
        with f.loop(stages) as stage:
            at = node[stage]
            with f.loop(n) as i:
                z[i] = lam[i] + h[row] * f.sum(stage, lambda j: a[stage, j] * k[j, i])
            with f.loop(n) as i:
                own = f.sum(n, lambda m: M[row, at, m, i] * z[m])
                k[stage, i] = f.sum(count, lambda c: M[row, at, n + c, i] * eta[at, c], own)
        with f.loop(n) as i:
            lam[i] = lam[i] + h[row] * f.sum(stages, lambda stage: b[stage] * k[stage, i])
            record[row, i] = lam[i]
        with f.loop(delayed) as j:
            own = f.sum(n, lambda m: W[row, m, j] * lam[m])
            record[row, n + j] = f.sum(count, lambda c: W[row, n + c, j] * eta[nodes - 1, c], own)
    return f.text()
