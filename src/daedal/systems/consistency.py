"""The equations that values at one instant must satisfy: F(z) = (G, top) = 0 for z = (X, T)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from daedal.systems.system import System

ASIDE = 1e-4  # how far nearby is, relative to each value (or to one)


@dataclass(frozen=True, eq=False)
class Linearization:
    """F near a point z."""

    z: np.ndarray
    residual: np.ndarray  # F(z)
    sizes: np.ndarray  # what F(z) is a sum of, to first order: what a residual is compared with, in any units
    slopes: np.ndarray  # ∂F/∂z
    jacobian: np.ndarray  # the same, with zeros for infinite slopes in directions that are held


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

    def jacobian_nearby(self, z: np.ndarray) -> np.ndarray:
        """∂F/∂z a little aside, where a rank that is low only by accident (a rod that happens to be level) is full."""
        near = z + ASIDE * np.maximum(np.abs(z), 1.0) * np.random.default_rng(0).uniform(-1, 1, z.size)
        jacobian = self.jacobian(near)
        return jacobian if np.isfinite(jacobian).all() else self.jacobian(z)

    @cached_property
    def free(self) -> np.ndarray:
        return np.array([j for j in range(len(self.names)) if j not in self.held], dtype=int)

    @cached_property
    def equation_names(self) -> tuple[str, ...]:
        reduction = self.system.reduction
        return (*reduction.constraint_names, *reduction.equations.names)
