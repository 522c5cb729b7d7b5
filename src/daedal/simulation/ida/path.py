"""One realization of all disturbances as a function of time, for a solver that chooses its own steps.

On the grid it is the path of the same number that the lanes see. Between grid points each disturbance is what its
declaration asks for: a straight line, a Hermite cubic, or exact: drawn from the law of the process given the path on
the grid, at whatever time is asked for, in any order (`daedal.disturbances.exact`).
"""

from collections.abc import Mapping

import numpy as np

from daedal.disturbances import ExactPath, discretize
from daedal.simulation.lanes import LanePaths, make_sources
from daedal.simulation.steps import find_disturbance_places, make_grid_row, walk_disturbances
from daedal.symbolic import jet
from daedal.systems import System


class ContinuousPath:
    """Values of the disturbances of a system, in the order of their places among its exogenous symbols."""

    def __init__(
        self,
        system: System,
        numbers: Mapping[str, float],
        grid: float,
        duration: float,
        seed: int,
        purpose: str,
        path: int,
    ) -> None:
        self.places = find_disturbance_places(system)
        self._grid = grid
        self._row = make_grid_row(system)
        sources = make_sources(system, numbers, grid, np.zeros((len(system.reduction.parameters), 0)), 1)
        points = int(np.ceil(duration / grid - 1e-9)) + 2
        self._values = LanePaths(sources, seed, purpose, range(path, path + 1)).draw_rows(0, points)[:, :, 0]
        self._exact = _make_exact_paths(system, numbers, grid, seed, purpose, path)

    def __call__(self, elapsed: float) -> np.ndarray:
        """The values `elapsed` seconds after the start."""
        position = max(elapsed / self._grid, 0.0)
        cell = min(int(position), len(self._values) - 2)
        left, right = self._values[cell], self._values[cell + 1]
        values = np.empty(len(self.places))
        for i, curve in enumerate(self._row.curves):
            (a, b), (c, d) = curve.compute_weights(position - cell)
            other = curve.companion
            values[i] = a * left[i] + b * right[i] + curve.scale(self._grid) * (c * left[other] + d * right[other])
        for exact, kept, targets in self._exact:
            values[targets] = exact(max(elapsed, 0.0))[kept]
        return values

    def differentiate(self, elapsed: float) -> np.ndarray:
        """How fast the values change, as seen over a hundredth of a grid cell."""
        step = 0.01 * self._grid
        return (self(elapsed + step) - self(elapsed)) / step


def _make_exact_paths(
    system: System, numbers: Mapping[str, float], grid: float, seed: int, purpose: str, path: int
) -> list[tuple[ExactPath, list[int], list[int]]]:
    """The disturbances declared exact: the path, which of its rows are wanted, and their places."""
    wanted = [jet(system.reduction.exogenous[place]) for place in find_disturbance_places(system)]
    return [
        (ExactPath(discretize(noise, numbers, grid, orders), seed, purpose, number, path), kept, places)
        for number, (noise, orders, kept, places) in enumerate(walk_disturbances(system, wanted))
        if noise.between == "exact"
    ]
