"""Why Laplace's approximation would fail for certain: what disturbances do is not what derivatives at rest tell."""

from collections.abc import Sequence

import numpy as np

from daedal.estimation.problem import Problem
from daedal.filtering import NonlinearExperiment, Point, compare_with_rest

SQUARED = 0.05  # share of what disturbances do that derivatives at rest tell, below which they act through squares
UNSTABLE = 2.0  # times what they do, that these derivatives are wrong by


def find_danger(problem: Problem, experiments: Sequence[NonlinearExperiment], point: np.ndarray) -> str:
    """The reason at a point φ, of any experiment; empty where the approximation may do."""
    for number, one in enumerate(experiments):
        values = problem.coordinates.values(point, number)
        told, left = compare_with_rest(one.at(Point(problem.system.model, values, ())))
        if told < SQUARED:
            return "disturbances act through their squares (the outputs have no slope by them at rest)"
        if left > UNSTABLE:
            return "disturbances carry the model far from where it would rest, as between several wells"
    return ""
