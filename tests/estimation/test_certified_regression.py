"""Certified regression problems from both starts, in one call with the defaults; searches that have not arrived."""

import numpy as np
import pytest

import daedal as dd
from catalogue.regression import REGRESSIONS


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("problem", REGRESSIONS, ids=lambda problem: problem.name)
def test_certified_values_are_reached_in_one_call(problem, start):
    fit = dd.fit(problem.model(start), problem.data, free=problem.free)
    assert fit.status.ok
    assert problem.measure_error(fit.params) < 1e-6


def test_a_fit_goes_on_where_another_ended():
    problem = REGRESSIONS[-1]
    near = dd.fit(problem.model(1), problem.data, free=problem.free)
    again = dd.fit(problem.model(0), problem.data, free=problem.free, starts=near)
    assert again.attempts[0].evaluations < 5  # beside the looks for rival minima
    assert problem.measure_error(again.params) < 1e-6
    assert again["b1"].start == near["b1"].value


def test_a_search_against_points_that_fail_has_not_converged():
    """√(1 − k) is compared with −1: the best k is where it ends, and a full step always goes beyond."""
    z, k = dd.symbols("z k")
    law = {"law": z == np.sqrt(1 - k)}
    model = dd.Model(name="root", equations=law, unknowns=[z], outputs={"y": z}, parameters={k: 0.0})
    fit = dd.fit(model, dd.Dataset(np.arange(3.0), outputs={"y": [-1.0, -1.1, -0.9]}), free=["k"])
    assert not fit.status.ok
    assert "the model could not be simulated" in fit.status.sentence
    bounded = dd.fit(model, fit.data, free={"k": dd.Parameter(0.0, upper=0.9)})
    assert bounded.status.ok
    assert bounded["k"].at_bound
