"""More starts for unknown delays: the cost as a function of a delay has several minima."""

import numpy as np

from daedal.estimation.coordinates import finite_bounds
from daedal.estimation.criterion import Problem
from daedal.estimation.starts import hypercube
from daedal.models import parameter_followers
from daedal.symbolic import symbols_in

EACH = 5  # starts for one delay, and so many more for each further one


def delay_coordinates(problem: Problem) -> list[int]:
    """Which free numbers lengthen a delay."""
    system = problem.system
    inside = {name for each in system.reduction.delays.values() for name in symbols_in(each.amount.sx)}
    return [
        k
        for k, item in enumerate(problem.coordinates.items)
        if inside & {item.parameter, *parameter_followers(system.model, item.parameter)}
    ]


def with_delay_starts(problem: Problem, points: list[np.ndarray]) -> list[np.ndarray]:
    """The given starts, and others that differ in the delays, spread between their bounds."""
    space = problem.coordinates
    mine = [k for k in delay_coordinates(problem) if finite_bounds(space.items[k])]
    if not mine:
        return points
    lower, upper = space.bounds
    if len(mine) == 1:
        k = mine[0]
        places = lower[k] + (upper[k] - lower[k]) * (np.arange(EACH) + 0.5) / EACH
        spread = [np.where(np.arange(lower.size) == k, place, points[0]) for place in places]
    else:
        drawn = hypercube(space, EACH * len(mine), problem.seed)
        spread = [np.where(np.isin(np.arange(lower.size), mine), each, points[0]) for each in drawn]
    return [*points, *spread]
