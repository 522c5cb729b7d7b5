"""The equations that values at one instant must satisfy: F(z) = (G, top) = 0 for z = (X, T)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from daedal.systems.regularity import Rank, find_rank, scatter
from daedal.systems.system import System

ASIDE = 1e-4  # how far nearby is, relative to the reach of each value
ALIKE = 10  # powers of two: sizes that differ by less count as the same


def make_units(sizes: np.ndarray, typical: float | None = None) -> np.ndarray:
    """Units in which what is shortest is so for variables of all sizes; one about a typical, or the largest, size."""
    largest = np.max(sizes, initial=0.0) if typical is None else typical
    with np.errstate(all="ignore"):
        apart = np.nan_to_num(np.round(np.log2(sizes / largest)), posinf=0.0, neginf=0.0)
    return np.exp2(np.where(np.abs(apart) <= ALIKE, 0.0, apart))


@dataclass(frozen=True, eq=False)
class Linearization:
    """F near a point z."""

    z: np.ndarray
    residual: np.ndarray  # F(z)
    sizes: np.ndarray  # what F(z) is a sum of, to first order: what a residual is compared with, in any units
    slopes: np.ndarray  # ∂F/∂z
    jacobian: np.ndarray  # the same, with zeros for infinite slopes in directions that are held

    @cached_property
    def reach(self) -> np.ndarray:
        """How large each of z is, in any units: itself, or what would change some equation as much as its terms do."""
        with np.errstate(all="ignore"):
            possible = np.min(self.sizes[:, None] / np.abs(self.jacobian), axis=0, initial=np.inf)
        return np.maximum(np.abs(self.z), np.where(np.isfinite(possible) & (possible > 0.0), possible, 1.0))


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
        residual, sizes, slopes = table[:, 0], table[:, 1], table[:, 2:]
        jacobian = self._drop_infinite(slopes)
        sizes = np.where(np.isfinite(sizes), sizes, np.abs(residual))  # a slope may be infinite
        steepest = np.max(np.abs(jacobian), axis=1, initial=0.0)  # where all terms are zero any size will do
        sizes = np.where(sizes > 0.0, sizes, np.where(np.isfinite(steepest) & (steepest > 0.0), steepest, 1.0))
        return Linearization(z, residual, sizes, slopes, jacobian)

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
