"""Which estimates count as at a bound."""

import numpy as np
import pytest

from daedal.estimation import Coordinate, Coordinates, Evaluation
from daedal.estimation.search.uncertainty import find_stuck


@pytest.mark.parametrize(("slope", "stuck"), [(2e-5, False), (2e-3, True)])
@pytest.mark.parametrize("unit", [1e-15, 1.0, 1e15])
@pytest.mark.parametrize("scale", ["log", "linear"])
def test_a_likelihood_that_is_flat_is_so_in_any_unit(scale, unit, slope, stuck):
    """The slope is that by log θ, or by θ in units of its size, at the lower bound."""
    item = Coordinate("k", "k", None, unit, unit, 1.5 * unit, scale, "")
    space = Coordinates((item,), ({},))
    by = 1.0 if scale == "log" else 1.0 / unit
    gradient, curvature = np.array([slope * by]), np.array([[1e-6 * by**2]])
    evaluation = Evaluation(space.start, 1.0, gradient, curvature, loglik=-1.0)
    assert find_stuck(evaluation, space).tolist() == [stuck]
