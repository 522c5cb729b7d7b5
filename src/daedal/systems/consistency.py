"""The equations that values at one instant must satisfy: F(z) = (G, top) = 0 for z = (X, T)."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from daedal.systems.system import System

ASIDE = 1e-4  # how far nearby is, relative to each value (or to one)
SMALLEST = 1e-3  # what an unknown counts as at least when residuals are judged: a guess of zero has no size
FLOOR = 1e-12  # below this a residual is zero whatever it is a sum of


@dataclass(frozen=True, eq=False)
class Consistency:
    """F(z) = 0 at fixed time, parameters and inputs, with some z held."""

    system: System
    time: float
    parameters: np.ndarray
    exogenous: np.ndarray
    held: Mapping[int, float]
    names: tuple[str, ...]

    def arguments(self, z: np.ndarray) -> list[Any]:
        """What the system's functions take: t, X, T, parameters, exogenous."""
        count = len(self.system.states)
        return [self.time, z[:count], z[count:], self.parameters, self.exogenous]

    def residual(self, z: np.ndarray) -> np.ndarray:
        """F(z)."""
        return self.system.function("consistency")(*self.arguments(z)).full().ravel()

    def jacobian(self, z: np.ndarray) -> np.ndarray:
        """∂F/∂z; an infinite slope in a held direction (a square root at zero) does no harm."""
        matrix = self.system.function("consistency_jacobian")(*self.arguments(z)).full()
        held = np.array(sorted(self.held), dtype=int)
        matrix[:, held] = np.where(np.isfinite(matrix[:, held]), matrix[:, held], 0.0)
        return matrix

    def jacobian_nearby(self, z: np.ndarray) -> np.ndarray:
        """∂F/∂z a little aside, where a rank that is low only by accident (a rod that happens to be level) is full."""
        near = z + ASIDE * np.maximum(np.abs(z), 1.0) * np.random.default_rng(0).uniform(-1, 1, z.size)
        jacobian = self.jacobian(near)
        return jacobian if np.isfinite(jacobian).all() else self.jacobian(z)

    @cached_property
    def free(self) -> np.ndarray:
        return np.array([j for j in range(len(self.names)) if j not in self.held], dtype=int)

    def size(self, z: np.ndarray, jacobian: np.ndarray) -> np.ndarray:
        """What a residual is compared with: the terms it is a sum of, to first order."""
        return np.maximum(np.abs(jacobian) @ np.maximum(np.abs(z), SMALLEST), FLOOR)

    @cached_property
    def equation_names(self) -> tuple[str, ...]:
        reduction = self.system.reduction
        return (*reduction.constraint_names, *reduction.equations.names)
