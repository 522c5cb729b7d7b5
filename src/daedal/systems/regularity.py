"""Rank of a Jacobian, judged after its rows and columns are scaled, and what depends on what where it is not full;
and how large unknowns are, which only their equations can tell."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from daedal import linear
from daedal.symbolic import BufferedFunction
from daedal.systems.reduction import Reduction

SINGULAR = 1e-11  # relative to the largest singular value of the scaled matrix
REGULAR = 1e-9  # a reciprocal condition number above this needs no closer look
PLAIN = 1e-3  # the same without scaling, which it then cannot spoil: entries of rows and columns differ too little
SHARE = 1e-6  # of the largest in a null vector: what takes part in it
SPARSE = 1e-9  # of the largest in a combined null vector: what is smaller is round-off
LEAST_SHARE = 1e-12  # of the largest singular value of the scaled matrix, in a solution
CLOSE = 2.0**-44  # of each argument: how far the points are at which round-off shows
COUNT = 8  # of such points
CHAINED = 16  # equations through which sizes are followed at most
LOST = 0.5  # of an entry: what changes by more between such points is what is left of terms that cancel


@dataclass(frozen=True)
class Rank:
    """Numerical rank of M with null spaces of the scaled matrix R M C (columns span them): they say which names take
    part. The vectors of `left` times `rows`, the diagonal of R, annihilate M itself."""

    rank: int
    left: np.ndarray
    right: np.ndarray
    rows: np.ndarray


def equilibrate(matrix: np.ndarray) -> np.ndarray:
    """R M C with diagonal R, C such that the largest entries of rows and columns are of comparable size."""
    scaled = np.array(matrix, dtype=float)
    for _ in range(3):
        for axis in (1, 0):
            size = np.max(np.abs(scaled), axis=axis, initial=0.0, keepdims=True)
            scaled = scaled / np.sqrt(np.where(size > 0, size, 1.0))
    return scaled


def balance_entries(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R M C with the largest and smallest entries of each row and column around one, and the diagonal of R.

    It sees through units that differ by many decades, where a small entry may be the only one that fixes an unknown:
    it begins with units that follow those of the user exactly.
    """
    size = np.abs(matrix)
    kept = size > 0.0
    rows, columns, _ = linear.find_natural_units(np.zeros_like(size), size)
    scales = [rows[:, None], columns[None, :]]
    for _ in range(8):
        for axis in (1, 0):
            inside = size * scales[0] * scales[1]
            high = np.max(inside, axis=axis, initial=0.0, where=kept, keepdims=True)
            low = np.min(inside, axis=axis, initial=np.inf, where=kept, keepdims=True)
            scales[1 - axis] = scales[1 - axis] / np.sqrt(np.where(high > 0, high * np.minimum(low, high), 1.0))
    scaled = matrix * scales[0] * scales[1]
    last = np.max(np.abs(scaled), axis=1, initial=0.0, keepdims=True)
    last[last == 0] = 1.0
    return scaled / last, (scales[0] / last).ravel()


def find_rank(matrix: np.ndarray, nearby: Callable[[], Sequence[np.ndarray]] = tuple) -> Rank:
    """Rank and null spaces; a cheap condition estimate decides the regular case.

    `nearby` gives the same matrix at points that differ from its own by a little more than round-off: entries that are
    nothing but round-off show there.
    """
    square = matrix.shape[0] == matrix.shape[1]
    if square and (_estimate_rcond(matrix) > PLAIN or _estimate_rcond(equilibrate(matrix)) > REGULAR):
        return _make_regular(matrix.shape[0])
    scaled, rows = balance_entries(_drop_rounding(matrix, nearby()))
    if square and _estimate_rcond(scaled) > REGULAR:
        return _make_regular(matrix.shape[0])
    u, s, vt = np.linalg.svd(scaled)
    rank = int(np.sum(s > SINGULAR * max(s.max(initial=0.0), 1e-300)))
    return Rank(rank, u[:, rank:], vt[rank:].T, rows)


def solve_shortest(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The shortest least-squares solution; a plain solve where the matrix is square and regular."""
    if not np.isfinite(matrix).all():
        return np.zeros((matrix.shape[1], *right.shape[1:]))
    if matrix.shape[0] == matrix.shape[1] and find_rank(matrix).rank == matrix.shape[0]:
        return np.linalg.solve(matrix, right)
    from scipy.linalg import lstsq

    solution = lstsq(matrix, right, cond=LEAST_SHARE, lapack_driver="gelsy")
    return solution[0]  # pyright: ignore[reportOptionalSubscript]


def solve_in_any_units(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The same for a column or several, in units that balance the matrix.

    In those of a user, numbers that are measured in large ones would be rounding beside the others.
    """
    if not (matrix.size and right.size and np.isfinite(matrix).all()):
        return np.zeros((matrix.shape[1], *right.shape[1:]))
    rows, columns = (scale.reshape(-1, 1) for scale in linear.equilibrate(matrix))
    solution = columns * solve_shortest(rows * matrix * columns.T, rows * right.reshape(len(matrix), -1))
    return solution.reshape(matrix.shape[1], *right.shape[1:])


def scatter(point: Sequence[Any]) -> list[list[np.ndarray]]:
    """Arguments that differ from some by a little more than round-off."""
    rng = np.random.default_rng(0)
    return [
        [np.asarray(part) * (1.0 + CLOSE * rng.uniform(-1, 1, np.shape(part))) for part in point] for _ in range(COUNT)
    ]


def _drop_rounding(matrix: np.ndarray, nearby: Sequence[np.ndarray]) -> np.ndarray:
    """Zeros for entries that are nothing but round-off: in any units, they are small beside the terms they sum up."""
    if not nearby:
        return matrix
    with np.errstate(invalid="ignore"):
        spread = np.max([np.abs(matrix - other) for other in nearby], axis=0)
    return np.where(spread > LOST * np.abs(matrix), 0.0, matrix)


def _make_regular(count: int) -> Rank:
    return Rank(count, np.zeros((count, 0)), np.zeros((count, 0)), np.ones(count))


def _estimate_rcond(matrix: np.ndarray) -> float:
    from scipy.linalg import lapack

    if matrix.size == 0:
        return 1.0
    routines: Any = lapack
    factors, _, info = routines.dgetrf(matrix)
    if info != 0:
        return 0.0
    return float(routines.dgecon(factors, np.abs(matrix).sum(axis=0).max())[0])


def list_participants(vector: np.ndarray, names: tuple[str, ...]) -> list[str]:
    """The names that take part in a null vector, largest share first."""
    size = np.abs(vector)
    order = np.argsort(-size, kind="stable")
    return list(dict.fromkeys(names[i] for i in order if size[i] > SHARE * size.max(initial=0.0)))


def reduce_to_echelon(space: np.ndarray) -> np.ndarray:
    """The same space spanned by vectors with few entries: each has a one where the others have zeros."""
    if space.shape[1] == 0:
        return space
    chosen = choose_independent_columns(space.T)
    sparse = space @ np.linalg.inv(space[chosen])
    sparse[np.abs(sparse) < SPARSE * np.max(np.abs(sparse), axis=0)] = 0.0
    return sparse


def choose_independent_columns(matrix: np.ndarray) -> list[int]:
    """As many columns as there are rows, chosen by pivoting to be as independent as possible."""
    from scipy.linalg import qr

    factors: Any = qr(matrix, mode="r", pivoting=True)
    return [int(j) for j in factors[-1][: matrix.shape[0]]]


def find_reach(jacobian: np.ndarray, terms: np.ndarray, values: np.ndarray) -> np.ndarray:
    """How large unknowns are, in any units: themselves, or what would change some equation as much as its terms do.

    What is zero shows its size in equations with terms; then it is a term of others. One where nothing tells.
    """
    slopes, sizes = np.abs(np.nan_to_num(jacobian, posinf=0.0, neginf=0.0)), np.abs(values)
    rest = find_rest(terms, slopes, sizes)
    allowed = find_allowed(slopes, slopes @ sizes + rest)
    for _ in range(CHAINED):
        told = (sizes == 0.0) & np.isfinite(allowed)
        if not told.any():
            break
        sizes = np.where(told, allowed, sizes)
        allowed = find_allowed(slopes, slopes @ sizes + rest)
    return np.where(np.isfinite(allowed), np.maximum(sizes, allowed), np.where(sizes > 0.0, sizes, 1.0))


def find_rest(terms: np.ndarray, slopes: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """What terms of time, parameters and inputs add to those of the unknowns."""
    return np.maximum(np.nan_to_num(terms, posinf=0.0) - slopes @ sizes, 0.0)


def find_allowed(slopes: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """What of each unknown would change some equation by as much as its terms do; infinite where none has terms."""
    with np.errstate(all="ignore"):
        limits = np.where((slopes > 0.0) & (terms > 0.0)[:, None], terms[:, None] / slopes, np.inf)
    return np.min(limits, axis=0, initial=np.inf)


@dataclass(frozen=True)
class Defect:
    """Rows of J that depend on each other at every point tried, and the columns that stay undetermined."""

    rows: tuple[int, ...]
    columns: tuple[str, ...]


def find_defect(reduction: Reduction, points: list[list[np.ndarray]]) -> Defect | None:
    """A smallest set of dependent rows of J, or None when J is regular somewhere."""
    defect = None
    evaluate = BufferedFunction(reduction.top_jacobian).matrix

    for point in points:
        rank = find_rank(evaluate(*point), lambda point=point: [evaluate(*near) for near in scatter(point)])
        if rank.left.shape[1] == 0:
            return None
        if defect is None:
            vectors = reduce_to_echelon(rank.left)
            sparsest = vectors[:, np.argmin(np.count_nonzero(vectors, axis=0))]
            rows = tuple(int(i) for i in np.flatnonzero(sparsest))
            columns = list_participants(np.max(np.abs(rank.right), axis=1), reduction.top_names)
            defect = Defect(rows, tuple(columns))
    return defect
