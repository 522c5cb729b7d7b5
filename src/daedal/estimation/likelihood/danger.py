"""Why Laplace's approximation would fail: what disturbances do is not what derivatives at rest tell."""

from collections.abc import Sequence
from enum import Enum

import numpy as np

from daedal.estimation.criteria import refuse_singular
from daedal.estimation.problem import Problem
from daedal.filtering import NonlinearExperiment, Point, compare_with_rest

SQUARED = 0.05  # share of what disturbances do that derivatives at rest tell, below which they act through squares
UNSTABLE = 2.0  # times what they do, that these derivatives are wrong by


class Danger(Enum):
    """Squares leave no slope to go by; far from rest there may be several paths, unless the samples tell which."""

    SQUARES = "disturbances act through their squares (the outputs have no slope by them at rest)"
    FAR = "disturbances carry the model far from where it would rest, as between several wells"


@refuse_singular()
def find_danger(problem: Problem, experiments: Sequence[NonlinearExperiment], point: np.ndarray) -> Danger | None:
    """At a point φ, in any experiment, squares before all else; None where the approximation may do."""
    found = None
    for number, one in enumerate(experiments):
        values = problem.coordinates.values(point, number)
        told, left = compare_with_rest(one.at(Point(problem.system.model, values, ())))
        if told < SQUARED:
            return Danger.SQUARES
        if left > UNSTABLE:
            found = Danger.FAR
    return found
