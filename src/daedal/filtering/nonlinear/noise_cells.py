"""Disturbances on a cell of the time grid, from a few independent normals: white noise projected on polynomials.

All disturbances are filters dx = A x dt + B dv driven by white noise, or white noise itself. On a cell of length h the
white noise is replaced by its projection on polynomials of degree two,

    v̇(τh) ≈ h^(−½) Σ_j ζ_j √(2j + 1) P_j(2τ − 1),   ζ_j ~ N(0, I),  j = 0, 1, 2,   0 ≤ τ ≤ 1,

P_j the Legendre polynomials. What is left out, orthogonal to it, moves the state at the end of the cell by O(h³) of
what is kept and independently of it, so that all covariances have errors of O(h⁶) and nothing is drawn twice (Foster,
Lyons and Oberhauser 2020: the polynomial nearest to a Brownian path that keeps its integrals against polynomials).

Everything is then linear in (x(0), ζ): with x' = hAx + √h B u, u'' constant, and the repeated integrals
y_q = ∫ (1 − τ)^q/q! R x dτ of the wanted rows R = C Aʲ (disturbances and their derivatives), one exponential of

    d/dτ (y₂, y₁, y₀, x, u, u', u'') = (y₁, y₀, R x, hA x + √h B u, u', u'', 0)

gives x(h) = A_d x + L ζ and the moments of R x, from which the values of its projection on polynomials of degree two
follow at the nodes of a step: a step sees of its forcing the low moments alone, and these are kept.

J. Foster, T. Lyons, H. Oberhauser, An optimal polynomial approximation of Brownian motion, SIAM J. Numer. Anal. 58
(2020) 1393–1421.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.polynomial import legendre
from scipy.linalg import matrix_balance

from daedal.filtering.parameter_point import Point
from daedal.filtering.shaping import Shaping, ShapingFilters
from daedal.linear import Dual, differentiate_factor, exponential_slopes, factor_semidefinite, lift, stack_diagonally
from daedal.lti import evaluate_at_steps
from daedal.models import Model, as_tuple

NORMALS = 3  # of each white noise and cell: the coefficients of P₀, P₁ and P₂
DOUBLINGS = 40  # of a time that begins with one cell
# Of u = Σ_j ζ_j √(2j + 1) P_j(2τ − 1) at τ = 0: (u, u', u'') from (ζ₀, ζ₁, ζ₂).
SEEDS = np.array([[1.0, -1.0, 1.0], [0.0, 2.0, -6.0], [0.0, 0.0, 12.0]]) * np.sqrt([1.0, 3.0, 5.0])
# ∫ P_k(2τ − 1) f dτ from (y₂, y₁, y₀).
MOMENTS = np.array([[0.0, 0.0, 1.0], [0.0, -2.0, 1.0], [12.0, -6.0, 1.0]])


@final
@dataclass(frozen=True, eq=False)
class NoiseMatrices:
    """Of all disturbances together, with derivatives (direction, …); a cell has one of the distinct lengths.

    Attributes
    ----------
    transition, factor
        A_d (length, states, states) and L (length, states, normals).
    by_state, by_normals
        Wanted rows at the nodes of a step, (length, node, row, states) and (length, node, row, normals).
    rows
        The same at a grid point, (row, states); zero for white noise, which has no value there.
    start
        S (states, states), zero for noise that begins at rest.
    """

    transition: Dual
    factor: Dual
    by_state: Dual
    by_normals: Dual
    rows: Dual
    start: Dual


@dataclass(frozen=True, eq=False)
class CellNoise:
    """The disturbances of a model; `jets` are the rows that are wanted of them: symbol and order of the derivative."""

    model: Model
    jets: tuple[tuple[str, int], ...]

    @cached_property
    def filters(self) -> ShapingFilters:
        return ShapingFilters(self.model)

    def at(self, point: Point, lengths: np.ndarray, nodes: np.ndarray) -> NoiseMatrices:
        """The matrices at values of the parameters, for distinct lengths of cells and the nodes of a step."""
        count = len(point.names)
        projection = _make_projection(nodes)
        parts, places = [], []
        for key, shaping in self.filters.list_parts(point).items():
            symbols = as_tuple(key)
            mine = [i for i, (name, _) in enumerate(self.jets) if name in symbols]
            wanted = [(symbols.index(self.jets[i][0]), self.jets[i][1]) for i in mine]
            make = _make_white_part if shaping.direct.value.shape[1] else _make_shaped_part
            parts.append(make(shaping, wanted, lengths, projection))
            places += mine
        order = np.argsort(np.array(places, dtype=int))
        joined = {}
        for name in ("transition", "factor", "by_state", "by_normals", "rows", "start"):
            blocks = [getattr(part, name) for part in parts]
            joined[name] = _stack_blocks(blocks) if name not in ("rows", "start") else stack_diagonally(blocks, count)
        for name in ("by_state", "by_normals", "rows"):
            joined[name] = _reorder_rows(joined[name], order)
        return NoiseMatrices(**joined)

    def count_states(self, point: Point) -> int:
        """Of all filters."""
        return sum(part.A.value.shape[0] for part in self.filters.list_parts(point).values())

    def count_normals(self, point: Point) -> int:
        """Of each cell."""
        parts = self.filters.list_parts(point).values()
        return NORMALS * sum(max(part.B.value.shape[1], part.direct.value.shape[1]) for part in parts)

    def find_deviations(self, point: Point, length: float) -> np.ndarray:
        """Standard deviations of the wanted rows in the long run; of white noise that in a cell of this length."""
        matrices = self.at(Point(self.model, point.numbers, ()), np.array([length]), np.array([0.5]))
        A, L, white = matrices.transition.value[0], matrices.factor.value[0], matrices.by_normals.value[0, 0]
        P = L @ L.T
        for _ in range(DOUBLINGS):
            P, A = P + A @ P @ A.T, A @ A
        rows = matrices.rows.value
        shaped = np.einsum("ri,ij,rj->r", rows, P, rows)
        return np.sqrt(np.where(np.any(rows != 0.0, axis=1), shaped, np.sum(white**2, axis=1)))

    def find_fastest_pole(self, point: Point) -> float:
        """The largest |eigenvalue| of all filters; zero where all noise is white."""
        sizes = [np.abs(np.linalg.eigvals(part.A.value)) for part in self.filters.list_parts(point).values()]
        return float(np.concatenate([np.zeros(1), *sizes]).max())


def _make_projection(nodes: np.ndarray) -> np.ndarray:
    """Σ_k (2k + 1) P_k at the nodes from the moments with P_k, (node, k)."""
    return np.stack(
        [(2 * k + 1) * legendre.legval(2.0 * nodes - 1.0, np.eye(NORMALS)[k]) for k in range(NORMALS)], axis=1
    )


def _make_white_part(
    shaping: Shaping, wanted: Sequence[tuple[int, int]], lengths: np.ndarray, projection: np.ndarray
) -> NoiseMatrices:
    """White noise itself: √(q/h) Σ_j ζ_j √(2j + 1) P_j."""
    count, rows, nodes = len(shaping.A.slopes), len(wanted), len(projection)
    root = np.sqrt(shaping.intensity.value.item())
    rate = 0.5 * shaping.intensity.slopes.reshape(count) / root if root > 0.0 else np.zeros(count)
    shape = projection / np.sqrt(2.0 * np.arange(NORMALS) + 1.0)
    unit = shape[None, :, None, :] / np.sqrt(lengths)[:, None, None, None] * np.ones((1, 1, rows, 1))
    nothing = lift(np.zeros((lengths.size, 0, 0)), count)
    return NoiseMatrices(
        nothing,
        lift(np.zeros((lengths.size, 0, NORMALS)), count),
        lift(np.zeros((lengths.size, nodes, rows, 0)), count),
        Dual(root * unit, rate[:, None, None, None, None] * unit),
        lift(np.zeros((rows, 0)), count),
        lift(np.zeros((0, 0)), count),
    )


def _make_shaped_part(
    shaping: Shaping, wanted: Sequence[tuple[int, int]], lengths: np.ndarray, projection: np.ndarray
) -> NoiseMatrices:
    """A filter and what is wanted of it."""
    A, B, count = shaping.A, shaping.B, len(shaping.A.slopes)
    n, inputs = B.value.shape
    rows = lift(np.zeros((len(wanted), n)), count)
    for place, (channel, order) in enumerate(wanted):
        row = shaping.C[[channel]]
        for _ in range(order):
            row = row @ A
        rows.value[place], rows.slopes[:, place] = row.value[0], row.slopes[:, 0]
    scale = _find_scale(A.value)

    def evaluate(steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return _exponentiate(A, B, rows, scale, steps)

    speed = float(np.abs(np.linalg.eigvals(A.value)).max(initial=0.0))
    value, slopes = evaluate_at_steps(evaluate, lengths, speed)
    r = len(wanted)
    pieces = []
    for whole in (value, slopes):
        seeded = whole[..., 3 * r + n :] @ np.kron(SEEDS, np.eye(inputs)) @ _sort_normals(inputs)
        below, beside = whole[..., 3 * r : 3 * r + n], slice(3 * r, 3 * r + n)
        moments = [np.einsum("kq,...qri->...kri", MOMENTS, _split(part, r)) for part in (below, seeded)]
        at_nodes = [np.einsum("ik,...krj->...irj", projection, part) for part in moments]
        pieces.append((below[..., beside, :], seeded[..., beside, :], *at_nodes))
    transition, spread, by_state, by_normals = (Dual(one, moved) for one, moved in zip(*pieces, strict=True))
    factor = factor_semidefinite(shaping.start.value)
    moved = [differentiate_factor(factor, dP) for dP in shaping.start.slopes]
    start = Dual(factor, np.array(moved).reshape(count, n, n))
    return NoiseMatrices(transition, spread, by_state, by_normals, rows, start)


def _find_scale(A: np.ndarray) -> np.ndarray:
    """Units of the states in which the entries of A are of like size."""
    return matrix_balance(A, permute=False, separate=True)[1][0] if A.size else np.ones(0)


def _exponentiate(A: Dual, B: Dual, rows: Dual, scale: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The exponential over cells of these lengths, (length, …), and its derivatives (direction, length, …)."""
    (n, inputs), r = B.value.shape, len(rows.value)
    size = 3 * r + n + 3 * inputs

    def fill(a: np.ndarray, b: np.ndarray, c: np.ndarray, along: float) -> np.ndarray:
        h = steps[:, None, None]
        M = np.zeros((*a.shape[:-2], steps.size, size, size))
        M[..., : 2 * r, r : 3 * r] = along * np.eye(2 * r)
        M[..., 2 * r : 3 * r, 3 * r : 3 * r + n] = (c * scale)[..., None, :, :]
        M[..., 3 * r : 3 * r + n, 3 * r : 3 * r + n] = h * (a / scale[:, None] * scale)[..., None, :, :]
        u = 3 * r + n
        M[..., 3 * r : u, u : u + inputs] = np.sqrt(h) * (b / scale[:, None])[..., None, :, :]
        M[..., u : u + 2 * inputs, u + inputs :] = along * np.eye(2 * inputs)
        return M

    whole, moved = exponential_slopes(
        fill(A.value, B.value, rows.value, 1.0), fill(A.slopes, B.slopes, rows.slopes, 0.0)
    )
    unit = np.concatenate([np.ones(3 * r), scale, np.ones(3 * inputs)])
    return whole * unit[:, None] / unit, moved * unit[:, None] / unit


def _sort_normals(inputs: int) -> np.ndarray:
    """From normals sorted by input to those sorted by degree, which the exponential has."""
    order = np.arange(NORMALS * inputs).reshape(inputs, NORMALS).T.ravel()
    return np.eye(NORMALS * inputs)[order]


def _split(whole: np.ndarray, r: int) -> np.ndarray:
    """The rows of y₂, y₁ and y₀ along an axis of their own."""
    return whole[..., : 3 * r, :].reshape(*whole.shape[:-2], 3, r, whole.shape[-1])


def _stack_blocks(parts: Sequence[Dual]) -> Dual:
    """Blocks along the last two axes, whatever stands before them."""

    def stack(arrays: list[np.ndarray]) -> np.ndarray:
        rows, columns = (sum(array.shape[axis] for array in arrays) for axis in (-2, -1))
        result = np.zeros((*arrays[0].shape[:-2], rows, columns))
        row = column = 0
        for array in arrays:
            below, beside = row + array.shape[-2], column + array.shape[-1]
            result[..., row:below, column:beside] = array
            row, column = below, beside
        return result

    return Dual(stack([part.value for part in parts]), stack([part.slopes for part in parts]))


def _reorder_rows(dual: Dual, order: np.ndarray) -> Dual:
    return Dual(dual.value[..., order, :], dual.slopes[..., order, :])
