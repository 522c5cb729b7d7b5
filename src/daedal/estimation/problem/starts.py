"""Where a fit starts from: given points, a Latin hypercube, or a grid between the bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, final

import numpy as np

from daedal.data import FrozenMapping
from daedal.errors import EstimationError, check_whole_number, is_real, nearest, quoted, show
from daedal.estimation.problem.coordinates import Coordinate, Coordinates, has_finite_bounds
from daedal.memory import check_memory
from daedal.models import as_name

ARRAY = 200  # bytes of an array beside its numbers


@final
@dataclass(frozen=True)
class LatinHypercube:
    """So many starts spread evenly between the bounds (evenly in the logarithm, on a log scale).

    Examples
    --------
    >>> LatinHypercube(10)
    LatinHypercube(count=10)
    """

    count: int

    def __post_init__(self) -> None:
        sentence = "A Latin hypercube must have a whole number of points from 1 on"
        check_whole_number(self.count, EstimationError, sentence, "Write LatinHypercube(10).", least=1)


@final
@dataclass(frozen=True)
class Grid:
    """All combinations of so many values of each parameter between its bounds; others keep their value.

    Examples
    --------
    >>> Grid({"tau": 5, "k": 3})
    Grid(points={'tau': 5, 'k': 3})
    """

    points: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.points, Mapping) or not self.points:
            raise EstimationError(
                f"A grid must be a mapping from parameter to a number of values, got {show(self.points)}.",
                "Write Grid({'tau': 5}).",
            )
        named = {as_name(key): count for key, count in self.points.items()}
        for name, count in named.items():
            sentence = f"The grid must have a whole number of values of '{name}' from 1 on"
            check_whole_number(count, EstimationError, sentence, "Write Grid({'tau': 5}).", least=1)
        object.__setattr__(self, "points", FrozenMapping(named))


def list_starts(starts: Any, space: Coordinates, seed: int) -> list[np.ndarray]:
    """All starts in φ; the values of the model come first, except where starts are given."""
    if starts is None:
        return [space.start]
    if isinstance(starts, LatinHypercube):
        _require_bounds(space.items)
        return [space.start, *draw_hypercube(space, starts.count, seed)]
    if isinstance(starts, Grid):
        return [space.start, *_list_grid(space, starts)]
    if isinstance(starts, Sequence) and not isinstance(starts, str) and starts:
        return [read_point(space, one, "a start") for one in starts]
    given = starts.__name__ if isinstance(starts, type) else show(starts)
    raise EstimationError(
        f"starts must be LatinHypercube(count), Grid(...), a Fit or a list of mappings, got {given}.",
        "Write for example starts=[{'k': 5.0}, {'k': 9.0}].",
    )


def follow_point(space: Coordinates, other: Coordinates, point: np.ndarray) -> np.ndarray:
    """φ where an earlier search of the same parameters ended, which may have had other experiments and bounds.

    A local parameter is that of the experiment of the same name, or of the same number where as many were made; else
    the mean over them.
    """
    theta = other.natural(point)
    by_name = dict(zip(other.names, theta, strict=True))
    alike = len(space.fixed) == len(other.fixed)
    by_place = {(item.parameter, item.experiment): value for item, value in zip(other.items, theta, strict=True)}
    found = []
    for item in space.items:
        values = [value for one, value in zip(other.items, theta, strict=True) if one.parameter == item.parameter]
        mean = float(np.mean(values)) if values else item.start
        near = by_place.get((item.parameter, item.experiment), mean) if alike else mean
        value = by_name.get(item.name, near)
        found.append(value if value > 0.0 or not item.logarithmic else item.start)
    if not set(space.free) & set(other.free):
        raise EstimationError(
            f"The fit to go on from has none of the free parameters {quoted(space.free)}.",
            f"It has {quoted(other.free)}: free one of these, or leave out starts.",
        )
    return np.clip(space.internal(found), *space.bounds)


def draw_hypercube(space: Coordinates, count: int, seed: int) -> list[np.ndarray]:
    """Points between the bounds; what has no bounds keeps its start."""
    from scipy.stats import qmc

    _check_size(count, space)
    bounded = np.array([has_finite_bounds(item) for item in space.items])
    lower, upper = space.bounds
    drawn = qmc.LatinHypercube(len(space.items), rng=np.random.default_rng(seed)).random(count)
    low, high = np.where(bounded, lower, 0.0), np.where(bounded, upper, 1.0)
    return [np.where(bounded, low + row * (high - low), space.start) for row in drawn]


def _require_bounds(items: Sequence[Coordinate]) -> None:
    open_items = [item.name for item in items if not has_finite_bounds(item)]
    if open_items:
        raise EstimationError(
            f"Starts are spread between bounds, but on one side there is none for {quoted(open_items)}.",
            "Give bounds, free={'k': Parameter(8.0, lower=1.0, upper=20.0)}, or give the starts themselves.",
        )


def _list_grid(space: Coordinates, grid: Grid) -> list[np.ndarray]:
    for name in grid.points:
        if name not in space.names and name not in space.free:
            raise EstimationError(f"The grid has '{name}', which is not free.", nearest(name, space.names))
    wanted = [item for item in space.items if item.name in grid.points or item.parameter in grid.points]
    _require_bounds(wanted)
    _check_size(prod(_count_values(grid, item) or 1 for item in space.items), space)
    lower, upper = space.bounds
    axes = []
    for place, item in enumerate(space.items):
        count = _count_values(grid, item)
        if count is None:
            axes.append(space.start[place : place + 1])
        else:  # the middles of equal cells: a start on a bound would stay there
            axes.append(lower[place] + (upper[place] - lower[place]) * (np.arange(count) + 0.5) / count)
    return [np.array(point) for point in np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))]


def _count_values(grid: Grid, item: Coordinate) -> int | None:
    return grid.points.get(item.name) or grid.points.get(item.parameter)


def _check_size(count: int, space: Coordinates) -> None:
    """Refuse more starts than memory can hold; to try them all would take longer still."""
    needed = count * (2 * 8 * len(space.items) + ARRAY)
    check_memory(needed, f"A list of {count:.3g} starts", "Take fewer: each is a fit of its own.")


def read_point(space: Coordinates, one: Any, what: str) -> np.ndarray:
    """φ of a mapping by parameter, or by coordinate where a parameter is local; what it leaves out keeps its start."""
    if not isinstance(one, Mapping):
        raise EstimationError(
            f"What {what} gives must be a mapping from parameter to number, got {show(one)}.",
            f"Write {{'{space.names[0]}': {space.items[0].start:g}}}.",
        )
    named = {as_name(key): value for key, value in one.items()}
    for name in named:
        if name not in space.names and name not in space.free:
            raise EstimationError(f"'{name}' is not free, so {what} cannot give it.", nearest(name, space.names))
    theta = []
    for item in space.items:
        value = named.get(item.name, named.get(item.parameter, item.start))
        number = float(value) if is_real(value) and not isinstance(value, bool) else np.nan
        if not item.lower <= number <= item.upper or (item.logarithmic and number <= 0.0):
            raise EstimationError(
                f"'{item.name}' must be a number between {item.lower:g} and {item.upper:g}, got {show(value)}.",
                "Move it inside, or widen the bounds.",
            )
        theta.append(number)
    return space.internal(theta)
