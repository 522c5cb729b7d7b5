"""Disturbances of a system at the points of their grid, and how they run between them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.polynomial import legendre

from daedal.models import as_tuple
from daedal.simulation.steps.schedule import DEGREE
from daedal.symbolic import jet
from daedal.systems import System

if TYPE_CHECKING:
    from daedal.disturbances import Noise


@dataclass(frozen=True)
class Curve:
    """How a disturbance runs between grid points.

    "line" through its values; "cubic" from its values and slopes, which stand at `companion` in a grid row; or the
    "slope" of the cubic through the values that stand at `companion`.
    """

    kind: Literal["line", "cubic", "slope"]
    companion: int

    def scale(self, grid: float) -> float:
        """What the companion is multiplied by, for cells of this length."""
        return {"line": 0.0, "cubic": grid, "slope": 1.0 / grid}[self.kind]

    def compute_weights(self, position: Any) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Weights of its own values at both ends of a cell, and of its companion's, at a position from 0 to 1."""
        rise = position * (1 - position)
        if self.kind == "line":
            return (1 - position, position), (0 * position, 0 * position)
        if self.kind == "cubic":
            blend = position**2 * (3 - 2 * position)
            return (1 - blend, blend), (rise * (1 - position), -rise * position)
        return (1 - position - 3 * rise, position - 3 * rise), (-6 * rise, 6 * rise)


def find_disturbance_places(system: System) -> tuple[int, ...]:
    """Which exogenous symbols of a system are disturbances, or derivatives of them."""
    names = set(system.model.disturbance_names)
    return tuple(i for i, name in enumerate(system.reduction.exogenous) if jet(name)[0] in names)


@dataclass(frozen=True)
class GridRow:
    """What is kept of the disturbances at each grid point: those the system contains, then what their curves need."""

    jets: tuple[tuple[str, int], ...]
    curves: tuple[Curve, ...]  # for each disturbance that the system contains

    @property
    def wanted(self) -> int:
        return len(self.curves)


def walk_disturbances(
    system: System, wanted: Sequence[tuple[str, int]]
) -> Iterator[tuple["Noise", list[int], list[int], list[int]]]:
    """Of every noise that is wanted: the orders of its derivatives, which of its rows are wanted, and where they stand.

    Rows go order by order, symbol by symbol; the order of the noises numbers their random streams.
    """
    for key, noise in system.model.disturbances.items():
        symbols = as_tuple(key)
        orders = sorted({order for name, order in wanted if name in symbols})
        listed = [(name, order) for order in orders for name in symbols]
        kept = [i for i, row in enumerate(listed) if row in wanted]
        if orders:
            yield noise, orders, kept, [wanted.index(listed[i]) for i in kept]


def make_grid_row(system: System) -> GridRow:
    """The row of a system.

    A disturbance that occurs with its derivative is a cubic from both, and its highest derivative the slope of that
    cubic, so that one belongs to the other between grid points too; otherwise `between` decides.
    """
    wanted = [jet(system.reduction.exogenous[place]) for place in find_disturbance_places(system)]
    highest: dict[str, int] = {}
    for name, order in wanted:
        highest[name] = max(order, highest.get(name, 0))
    jets = list(wanted)
    curves = []
    for name, order in wanted:
        if 0 < order == highest[name]:
            kind, companion = "slope", order - 1
        elif order < highest[name] or _find_between(system, name) == "hermite":
            kind, companion = "cubic", order + 1
        else:
            curves.append(Curve("line", 0))
            continue
        if (name, companion) not in jets:
            jets.append((name, companion))
        curves.append(Curve(kind, jets.index((name, companion))))
    return GridRow(tuple(jets), tuple(curves))


def _find_between(system: System, name: str) -> str:
    for key, noise in system.model.disturbances.items():
        if name in as_tuple(key):
            return noise.between
    return "linear"


def compute_cell_weights(cells: int, nodes: np.ndarray, curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    """Weights (node, cells + 1) of its own grid values and of its companion's that give a curve at the nodes of a step.

    Over one cell the curve is taken as it is; over several it is projected on polynomials of degree two.
    """
    if cells == 1:
        own, companion = curve.compute_weights(nodes)
        return np.stack(own, axis=1), np.stack(companion, axis=1)
    points, weights = legendre.leggauss(4)
    result = np.zeros((2, nodes.size, cells + 1))
    for k in range(DEGREE + 1):
        shape = np.eye(DEGREE + 1)[k]
        at_nodes = (2 * k + 1) * legendre.legval(2 * nodes - 1, shape)
        for cell in range(cells):
            within = (points + 1) / 2
            share = weights / (2 * cells) * legendre.legval(2 * (cell + within) / cells - 1, shape)
            for kind, pair in enumerate(curve.compute_weights(within)):
                for side in (0, 1):
                    result[kind, :, cell + side] += at_nodes * np.sum(share * pair[side])
    return result[0], result[1]
