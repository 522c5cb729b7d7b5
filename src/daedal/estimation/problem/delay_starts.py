"""More starts for unknown delays: the cost as a function of a delay has several minima."""

import numpy as np

from daedal.estimation.problem.coordinates import has_finite_bounds
from daedal.estimation.problem.problem import Problem
from daedal.estimation.problem.starts import draw_hypercube
from daedal.models import find_followers
from daedal.symbolic import list_symbols

EACH = 5  # starts for one delay, and so many more for each further one


def find_delay_coordinates(problem: Problem) -> list[int]:
    """Which free numbers lengthen a delay."""
    system = problem.system
    inside = {name for delay in system.reduction.delays.values() for name in list_symbols(delay.amount.sx)}
    return [
        k
        for k, item in enumerate(problem.coordinates.items)
        if inside & {item.parameter, *find_followers(system.model, item.parameter)}
    ]


def add_delay_starts(problem: Problem, points: list[np.ndarray]) -> list[np.ndarray]:
    """The given starts, and others that differ in the delays, spread between their bounds as far as the data reach."""
    space = problem.coordinates
    mine = [k for k in find_delay_coordinates(problem) if has_finite_bounds(space.items[k])]
    if not mine:
        return points
    lower, upper = space.bounds[0], _limit_to_data(problem)
    if len(mine) == 1:
        k = mine[0]
        places = lower[k] + (upper[k] - lower[k]) * (np.arange(EACH) + 0.5) / EACH
        spread = [np.where(np.arange(lower.size) == k, place, points[0]) for place in places]
    else:
        drawn = [_shrink(point, space.bounds, upper) for point in draw_hypercube(space, EACH * len(mine), problem.seed)]
        spread = [np.where(np.isin(np.arange(lower.size), mine), point, points[0]) for point in drawn]
    return [*points, *spread]


def _limit_to_data(problem: Problem) -> np.ndarray:
    """Upper bounds, those of delays not longer than the data: beyond, nothing changes any more."""
    upper = problem.coordinates.bounds[1].copy()
    longest = max(float(one.sample_times[-1] - min(one.t0, one.sample_times[0])) for one in problem.data)
    delays = {str(delay.amount) for delay in problem.system.reduction.delays.values()}
    for k, item in enumerate(problem.coordinates.items):
        if item.parameter in delays and item.lower < longest:
            upper[k] = min(upper[k], np.log(longest) if item.logarithmic else longest)
    return upper


def _shrink(point: np.ndarray, bounds: tuple[np.ndarray, np.ndarray], upper: np.ndarray) -> np.ndarray:
    """A point between bounds, at the same place between narrower ones."""
    lower, widest = bounds
    with np.errstate(invalid="ignore"):
        factor = np.where(upper < widest, (upper - lower) / (widest - lower), 1.0)
        return np.where(factor < 1.0, lower + (point - lower) * factor, point)
