"""The equations that values at one instant must satisfy, F(z) = (G, top) = 0 for z = (X, T), and what they tell of
sizes.

Nobody says how large a variable becomes. A start tells an interval, in any units: it is at least what it is there and a
short while δ later, and at most what would change some equation by as much as all its terms do then,

    low = max(|z(0)|, |z(δ)|),    high_j = min_i s_i / |∂F_i/∂z_j|,    s_i the sum of the terms of F_i.

What only round-off makes differ from zero, and what shows nothing yet, is taken to be as large as its terms allow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daedal.systems.regularity import Rank, find_allowed, find_rank, find_reach, find_rest, scatter
from daedal.systems.system import System

ASIDE = 1e-4  # how far nearby is, relative to the reach of each value
ALIKE = 10  # powers of two: sizes that differ by less count as the same
WHILE = 0.25  # of the time in which half of the variables change by their own size: how long δ is
ROUNDED = 1e-12  # of what its terms allow: a value as small as this is zero but for round-off
UNSEEN = 2.0**-28  # of what its terms allow: how small something may be that shows nothing yet
ROUNDS = 3  # in which what is known of some variables tells of others


def make_units(sizes: np.ndarray, typical: float | None = None) -> np.ndarray:
    """Units in which what is shortest is so for variables of all sizes; one about a typical, or the largest, size."""
    largest = np.max(sizes, initial=0.0) if typical is None else typical
    with np.errstate(all="ignore"):
        apart = np.nan_to_num(np.round(np.log2(sizes / largest)), posinf=0.0, neginf=0.0)
    return np.exp2(np.where(np.abs(apart) <= ALIKE, 0.0, apart))


def round_to_power(sizes: np.ndarray) -> np.ndarray:
    """The powers of two up to some sizes; one for zero."""
    return np.where(sizes > 0.0, np.ldexp(1.0, np.frexp(sizes)[1] - 1), 1.0)


@dataclass(frozen=True, eq=False)
class Sizes:
    """How large X and T become, as far as a start tells: powers of two.

    `metric` are units of X in which the step onto the constraints is shortest; they differ where those of the user do,
    by very much, and are one otherwise.
    """

    metric: np.ndarray
    states: np.ndarray
    tops: np.ndarray

    @property
    def vector(self) -> np.ndarray:
        """All of them, as compiled steps read them."""
        return np.concatenate([self.metric, self.states, self.tops])

    @staticmethod
    def read(vector: np.ndarray, states: int) -> "Sizes":
        """What a vector tells, for so many states."""
        return Sizes(*np.split(vector, [states, 2 * states]))


@dataclass(frozen=True, eq=False)
class Linearization:
    """F near a point z."""

    z: np.ndarray
    residual: np.ndarray  # F(z)
    sizes: np.ndarray  # what F(z) is a sum of, to first order: what a residual is compared with, in any units
    terms: np.ndarray  # the same, zero where all terms are
    slopes: np.ndarray  # ∂F/∂z
    jacobian: np.ndarray  # the same, with zeros for infinite slopes in directions that are held

    @cached_property
    def reach(self) -> np.ndarray:
        """How large each of z is, in any units: itself, or what would change some equation as much as its terms do."""
        return find_reach(self.jacobian, self.terms, self.z)


@dataclass(frozen=True, eq=False)
class Consistency:
    """F(z) = 0 at fixed time, parameters and inputs, with some z held."""

    system: System
    time: float
    parameters: np.ndarray
    exogenous: np.ndarray
    held: Mapping[int, float]
    names: tuple[str, ...]

    def make_arguments(self, z: np.ndarray) -> list[Any]:
        """What the system's functions take: t, X, T, parameters, exogenous."""
        count = len(self.system.states)
        return [self.time, z[:count], z[count:], self.parameters, self.exogenous]

    def at(self, z: np.ndarray) -> Linearization:
        """F and its slopes at a point, which must not change afterwards."""
        table = self.system.matrix("consistency_linearized", *self.make_arguments(z))
        residual, terms, slopes = table[:, 0], table[:, 1], table[:, 2:]
        jacobian = self._drop_infinite(slopes)
        terms = np.where(np.isfinite(terms), terms, np.abs(residual))  # a slope may be infinite
        steepest = np.max(np.abs(jacobian), axis=1, initial=0.0)  # where all terms are zero any size will do
        sizes = np.where(terms > 0.0, terms, np.where(np.isfinite(steepest) & (steepest > 0.0), steepest, 1.0))
        return Linearization(z, residual, sizes, terms, slopes, jacobian)

    def _drop_infinite(self, slopes: np.ndarray) -> np.ndarray:
        """An infinite slope in a held direction (a square root at zero) does no harm."""
        if np.isfinite(slopes).all():
            return slopes
        harmless = ~np.isfinite(slopes)
        harmless[:, self.free] = False
        return np.where(harmless, 0.0, slopes)

    def residual(self, z: np.ndarray) -> np.ndarray:
        """F(z)."""
        return self.at(z).residual

    def jacobian(self, z: np.ndarray) -> np.ndarray:
        """∂F/∂z."""
        return self.at(z).jacobian

    def find_rank(self, z: np.ndarray) -> Rank:
        """Rank of ∂F/∂z on the columns that are free."""
        return find_rank(
            self.jacobian(z)[:, self.free], lambda: [self.jacobian(near)[:, self.free] for (near,) in scatter([z])]
        )

    def step_aside(self, z: np.ndarray) -> np.ndarray:
        """A point nearby, where a rank that is low only by accident (a rod that happens to be level) is full."""
        near = z + ASIDE * self.at(z).reach * np.random.default_rng(0).uniform(-1, 1, z.size)
        return near if np.isfinite(self.jacobian(near)).all() else z

    @cached_property
    def free(self) -> np.ndarray:
        return np.array([j for j in range(len(self.names)) if j not in self.held], dtype=int)

    @cached_property
    def equation_names(self) -> tuple[str, ...]:
        reduction = self.system.reduction
        return (*reduction.constraint_names, *reduction.equations.names)


def measure_sizes(system: System, point: Sequence[Any], span: float, largest: np.ndarray) -> Sizes:
    """Sizes as a start tells them; `point` are the arguments of the system's functions there.

    `span` is the time to simulate, and `largest` what exogenous values become in it.
    """
    time, states, tops, parameters, exogenous = point
    rates = np.nan_to_num(system.matrix("derivative", *point).ravel())
    short = _find_short_while(states, rates, span)
    later = (time + short, states + short * rates, tops, parameters)
    with np.errstate(all="ignore"):
        for arguments in ([*later, largest], [*later, exogenous], point):
            table = system.matrix("consistency_linearized", *arguments)
            if np.isfinite(table).all():
                break
        start, moved = np.concatenate([states, tops]), np.concatenate(arguments[1:3])
        low, high, sizes = _find_intervals(system, np.nan_to_num(table), start, moved, short)
    count = states.size
    return Sizes(_make_metric(system, low[:count], high[:count]), sizes[:count], sizes[count:])


def _find_short_while(states: np.ndarray, rates: np.ndarray, span: float) -> float:
    moving = (states != 0.0) & (rates != 0.0)
    usual = float(np.median(np.abs(states[moving] / rates[moving]))) if moving.any() else span
    return WHILE * min(usual, span)


def _find_intervals(
    system: System, table: np.ndarray, start: np.ndarray, moved: np.ndarray, short: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Between what each of z lies, and a likely size; `table` holds F, its terms and ∂F/∂z at the values `moved`."""
    reduction, slopes = system.reduction, np.abs(table[:, 2:])
    places = {jet: place for place, jet in enumerate((*reduction.states, *reduction.tops))}
    following = [places[j, k + 1] for j, k in reduction.states]  # where the derivatives of the states stand
    states = slice(len(following))
    rest = find_rest(table[:, 1], slopes, np.abs(moved))
    low = high = sizes = np.maximum(np.abs(start), np.abs(moved))
    hidden = low == 0.0
    for _ in range(ROUNDS):
        high = np.maximum(find_allowed(slopes, slopes @ sizes + rest), low)
        hidden = low <= ROUNDED * high
        sizes = np.where(hidden, np.where(np.isfinite(high), high, 0.0), low)
        sizes[states] = np.where(sizes[states] > 0.0, sizes[states], short * sizes[following])
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    low = np.where(hidden, UNSEEN * sizes, low)
    high = np.where(np.isfinite(high), np.maximum(high, sizes), sizes / UNSEEN)
    likely = np.where(hidden, sizes, np.sqrt(low) * np.sqrt(high))
    return low, high, round_to_power(likely)


def _make_metric(system: System, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Units of X in which it moves onto the constraints.

    Of those that constraints move together, the one whose size is known best is typical; what may be as large has the
    same unit, what cannot be has its own.
    """
    metric, middle = np.ones(low.size), np.sqrt(low) * np.sqrt(high)
    for group in find_groups(system.reduction.B.sparsity()):
        sure = group[high[group] < 2.0**ALIKE * low[group]]
        typical = np.max(middle[sure if sure.size else group])
        metric[group] = make_units(np.clip(np.full(group.size, typical), low[group], high[group]), typical)
        apart = metric[group] != 1.0
        metric[group[apart]] = make_units(middle[group[apart]], typical)
    return metric


def find_groups(pattern: ca.Sparsity) -> list[np.ndarray]:
    """Columns that rows connect with each other."""
    if pattern.nnz() == 0:
        return []
    from scipy.sparse import csc_matrix
    from scipy.sparse.csgraph import connected_components

    matrix = csc_matrix((np.ones(pattern.nnz()), pattern.row(), pattern.colind()), shape=pattern.shape)
    _, labels = connected_components(matrix.T @ matrix, directed=False)
    used = np.unique(pattern.get_triplet()[1])
    return [used[labels[used] == label] for label in np.unique(labels[used])]
