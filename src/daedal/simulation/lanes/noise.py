"""Disturbances of a block of lanes on the grid, with their derivatives along free directions, in constant memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from threading import RLock
from weakref import finalize

import numpy as np

from daedal.disturbances import (
    DiscreteNoise,
    advance,
    choose_grid,
    compute_output,
    count_derivatives,
    discretize,
    draw_innovations,
    find_needed_orders,
    list_parameters,
    make_initial_state,
)
from daedal.errors import ModelError, SimulationError
from daedal.models import as_tuple
from daedal.simulation.steps import make_grid_row, walk_disturbances
from daedal.symbolic import jet, list_symbols
from daedal.systems import System

LARGEST = 2**29  # bytes that a process keeps of disturbances which do not change from one evaluation to the next


def refuse_exact(system: System) -> None:
    """Lanes step on polynomials between grid points."""
    for key, noise in system.model.disturbances.items():
        if noise.between == "exact":
            raise SimulationError(
                f"Disturbance '{key}' is exact between grid points, which Lanes cannot ask for.",
                "Use the reference solver IDA(), or between='hermite' or 'linear' on a finer grid.",
            )


def choose_disturbance_grid(system: System, numbers: Mapping[str, float], interval: float) -> tuple[float, list[str]]:
    """The finest grid that any disturbance asks for, and what to tell the user about it."""
    grids = [choose_grid(noise, numbers, interval) for noise in system.model.disturbances.values()]
    return min(grid.step for grid in grids), [grid.warning for grid in grids if grid.warning]


def check_smoothness(system: System, numbers: Mapping[str, float]) -> None:
    """Refuse a disturbance that lacks derivatives the reduced system, or a Hermite cubic, contains."""
    row = make_grid_row(system)
    needed: dict[str, int] = {}
    for name, order in row.jets[: row.wanted]:
        needed[name] = max(order, needed.get(name, 0))
    blamed = {name: _find_equation(system, name) for name in needed}
    find_needed_orders(system.model.disturbances, needed, blamed, numbers)
    for key, noise in system.model.disturbances.items():
        available = count_derivatives(noise, numbers)
        for name, has in zip(as_tuple(key), available, strict=True):
            if any(jet_name == name and order > has for jet_name, order in row.jets):
                raise ModelError(
                    f"Disturbance '{name}' has no slope for between='hermite'.", "Use between='linear', or add a pole."
                )


def _find_equation(system: System, name: str) -> str:
    """An equation that contains the disturbance, differentiated if there is one."""
    r = system.reduction
    inside = [
        i for i in range(len(r.equations.names)) if name in {jet(s)[0] for s in list_symbols(r.equations.residuals[i])}
    ]
    return r.equations.names[max(inside, key=lambda i: int(r.offsets.equations[i]), default=0)]


@dataclass(frozen=True, eq=False)
class Source:
    """One discretised disturbance: which of its values go where in a grid row, and how they combine per direction."""

    noise: DiscreteNoise
    kept: np.ndarray  # rows of its values that the system contains
    places: np.ndarray  # their places among the system's disturbances
    chain: np.ndarray  # (direction, own parameter): dp/dθ of the parameters it depends on


@dataclass(frozen=True, eq=False)
class Sources:
    """All disturbances of a system at one set of parameter values; a grid row is (way, disturbance)."""

    sources: tuple[Source, ...]
    disturbances: int
    ways: int
    drawn: "Drawn" = field(default_factory=lambda: Drawn())

    @cached_property
    def alone(self) -> Source | None:
        """The only one, if its values are the grid row as they are."""
        source = self.sources[0]
        count = len(source.noise.matrices.rows)
        whole = len(self.sources) == 1 and self.ways == 1 and not source.chain.size and count == self.disturbances
        same = whole and np.array_equal(source.kept, np.arange(count)) and np.array_equal(source.places, source.kept)
        return source if same else None


def make_sources(system: System, numbers: Mapping[str, float], grid: float, rates: np.ndarray, ways: int) -> Sources:
    """Discretise every disturbance on the grid; `rates` is dp/dθ as (parameter of the reduction, direction)."""
    wanted = make_grid_row(system).jets
    row_of = {name: i for i, name in enumerate(system.reduction.parameters)}
    parts = []
    for noise, orders, kept, places in walk_disturbances(system, wanted):
        moving = [name for name in list_parameters(noise) if np.any(rates[row_of[name]])]
        chain = rates[[row_of[name] for name in moving]].T
        discrete = discretize(noise, numbers, grid, orders, moving)
        parts.append(Source(discrete, np.array(kept), np.array(places), chain))
    return Sources(tuple(parts), len(wanted), ways)


class Drawn:
    """Rows that were drawn and are kept for the next evaluation, as long as all that are kept fit in memory."""

    _lock, _bytes = RLock(), 0  # of all rows that are kept in this process; rows may be let go while one is held

    def __init__(self) -> None:
        self._rows: dict[tuple[object, ...], np.ndarray] = {}

    def get(self, *key: object) -> np.ndarray | None:
        return self._rows.get(key)

    def keep(self, rows: np.ndarray, *key: object) -> None:
        """If there is room."""
        with Drawn._lock:
            if key not in self._rows and Drawn._bytes + rows.nbytes <= LARGEST:
                kept = self._rows[key] = rows.copy()
                Drawn._bytes += kept.nbytes
                finalize(kept, Drawn._release, kept.nbytes)

    @staticmethod
    def _release(count: int) -> None:
        with Drawn._lock:
            Drawn._bytes -= count


class KeptPaths:
    """Rows as of `LanePaths`, found again where they were drawn before."""

    def __init__(self, sources: Sources, seed: int, purpose: str, paths: range) -> None:
        self._sources, self._seed, self._purpose, self._paths = sources, seed, purpose, paths
        self._live: LanePaths | None = None
        self._found: list[tuple[int, int]] = []  # rows that the live path has not drawn

    def draw_rows(self, first: int, last: int) -> np.ndarray:
        """Grid points first … last − 1 as (point, value, lane)."""
        key = (self._seed, self._purpose, self._paths, first, last)
        rows = self._sources.drawn.get(*key)
        if rows is not None:
            self._found.append((first, last))
            return rows
        self._live = self._live or LanePaths(self._sources, self._seed, self._purpose, self._paths)
        for found in self._found:  # piece by piece, so that memory stays constant
            self._live.draw_rows(*found)
        self._found = []
        rows = self._live.draw_rows(first, last)
        self._sources.drawn.keep(rows, *key)
        return rows


class LanePaths:
    """Rows of grid values for the paths of one block; sequential, keeping only what the next rows overlap."""

    def __init__(self, sources: Sources, seed: int, purpose: str, paths: range) -> None:
        self._sources, self._seed, self._purpose, self._paths = sources, seed, purpose, paths
        self._first = 0
        self._states = [make_initial_state(s.noise, self._draw(k, range(1))[0]) for k, s in enumerate(sources.sources)]
        first = [compute_output(s.noise, x)[None] for s, x in zip(sources.sources, self._states, strict=True)]
        self._kept = self._combine(first, 1)

    def draw_rows(self, first: int, last: int) -> np.ndarray:
        """Grid points first … last − 1 as (point, value, lane)."""
        have = self._first + self._kept.shape[0]
        if last > have:
            kept = self._kept[max(first - self._first, 0) :]
            self._first = have - kept.shape[0]
            rows = np.empty((last - self._first, *kept.shape[1:]))
            rows[: kept.shape[0]] = kept
            self._advance(range(have, last), rows[kept.shape[0] :])
            self._kept = rows
        return self._kept[first - self._first : last - self._first]

    def _draw(self, number: int, steps: range) -> np.ndarray:
        components = self._sources.sources[number].noise.states
        return draw_innovations(self._seed, self._purpose, number, self._paths, steps, components)

    def _advance(self, points: range, rows: np.ndarray) -> None:
        """Fill the rows; grid point k is reached by innovation k."""
        values, alone = [], self._sources.alone
        for number, source in enumerate(self._sources.sources):
            drawn, target = self._draw(number, points), rows if alone is source else None
            own, self._states[number] = advance(source.noise, self._states[number], drawn, target)
            values.append(own)
        if alone is None:
            rows[:] = self._combine(values, len(points))

    def _combine(self, values: list[np.ndarray], points: int) -> np.ndarray:
        """Put the values of all disturbances into rows, with the chain rule from their parameters to the directions."""
        sources = self._sources
        rows = np.zeros((points, sources.ways, sources.disturbances, len(self._paths)))
        for source, drawn in zip(sources.sources, values, strict=True):
            parts = drawn.reshape(points, 1 + source.chain.shape[1], -1, len(self._paths))[:, :, source.kept]
            rows[:, 0, source.places] = parts[:, 0]
            if source.chain.size:
                rows[:, 1:, source.places] = np.einsum("wd,pdkl->pwkl", source.chain, parts[:, 1:])
        return rows.reshape(points, -1, len(self._paths))
