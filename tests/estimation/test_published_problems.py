"""Published estimation problems: the stated optimum from the stated start, from poor ones, and by another code."""

import numpy as np
import pytest
from scipy.optimize import least_squares

import daedal as dd
from catalogue.estimation import (
    ESTIMATION_PROBLEMS,
    ROONEY_BIEGLER_COVARIANCE,
    EstimationProblem,
    barnes,
    methanol,
    rooney_biegler,
)
from sizes import choose

OSCILLATING = "Barnes"  # other starts have other periods, and each is a minimum of its own


def named(problem: EstimationProblem) -> str:
    return problem.name


def by_scipy(problem: EstimationProblem) -> tuple[float, np.ndarray]:
    """Sum of squares and estimate by scipy alone, differences for derivatives, in units of the start."""
    model, data = problem.model(), problem.data()
    measured = np.stack([data[name] for name in model.outputs], axis=1)
    unit = np.abs(problem.nearby)
    bounds = np.array([(one.lower, one.upper) for one in model.parameters.values()]).T / unit

    def residuals(scaled: np.ndarray) -> np.ndarray:
        return (measured - problem.predicted(scaled * unit)).ravel()

    start = np.asarray(problem.nearby) / unit
    found = least_squares(
        residuals, start, "3-point", bounds, x_scale="jac", ftol=1e-12, xtol=1e-9, gtol=1e-12, max_nfev=100
    )
    return 2.0 * found.cost, found.x * unit


@pytest.mark.parametrize("problem", ESTIMATION_PROBLEMS, ids=named)
def test_the_stated_start_leads_to_the_optimum(problem):
    fit = dd.fit(problem.model(), problem.data(), free=problem.free)
    assert fit.status.ok
    if problem.squares is not None:
        assert 2.0 * fit.value == pytest.approx(problem.squares, rel=problem.relative)
    if problem.optimum is not None:
        assert dict(fit.params) == pytest.approx(problem.optimum, rel=1e-5)
    squares, estimate = by_scipy(problem)
    assert 2.0 * fit.value == pytest.approx(squares, rel=1e-7, abs=1e-11)
    found = np.array([fit[name].value for name in problem.free])
    np.testing.assert_allclose(found / problem.nearby, estimate / problem.nearby, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("factor", [0.1, 10.0])
@pytest.mark.parametrize("problem", [one for one in ESTIMATION_PROBLEMS if OSCILLATING not in one.name], ids=named)
def test_a_start_ten_times_off_leads_there_too(problem, factor):
    model, data = problem.model(), problem.data()
    first = dd.fit(model, data, free=problem.free)
    far = {name: min(factor * value, model.parameters[name].upper) for name, value in first.params.items()}
    again = dd.fit(model, data, free=problem.free, starts=[far])
    assert again.status.ok
    assert again.value == pytest.approx(first.value, rel=1e-6)


@pytest.mark.parametrize("problem", [barnes(free_initial=True), *choose([], [barnes()])], ids=named)
def test_oscillations_are_found_from_a_hypercube_and_other_minima_are_told(problem):
    # A factor of ten to both sides; one start alone may end in a minimum with the wrong period.
    free = {
        name: dd.Parameter(1.0, lower=0.1 * value, upper=10.0 * max(value, 0.1), scale="log")
        for name, value in problem.optimum.items()
    }
    solver = dd.Lanes(tolerance=1e-11)  # as exact as the squares are compared
    fit = dd.fit(problem.model(), problem.data(), free=free, starts=dd.LatinHypercube(8), rng=1, solver=solver)
    assert 2.0 * fit.value == pytest.approx(problem.squares, rel=1e-8)
    assert dict(fit.params) == pytest.approx(problem.optimum, rel=1e-5)
    assert fit.minima[0].count >= 2
    assert fit.minima[0].value == fit.value
    assert sum(one.count for one in fit.minima) == 9  # the model's start and eight more
    assert all(one.value > 2.0 * fit.value for one in fit.minima[1:])


def test_rooney_and_biegler_have_the_gauss_newton_covariance():
    problem = rooney_biegler()
    fit = dd.fit(problem.model(), problem.data(), free=problem.free)
    np.testing.assert_allclose(fit.cov, ROONEY_BIEGLER_COVARIANCE, rtol=1e-6)
    np.testing.assert_allclose(list(fit.std_errors.values()), np.sqrt(np.diag(ROONEY_BIEGLER_COVARIANCE)), rtol=1e-6)


def test_an_estimate_at_its_bound_is_said_to_be_there():
    problem = methanol()
    fit = dd.fit(problem.model(), problem.data(), free=problem.free)
    assert [name for name in problem.free if fit[name].at_bound] == ["theta5"]
    assert fit["theta5"].value == pytest.approx(0.0, abs=1e-6)
    assert any(note.startswith("at a bound: theta5") for note in fit.notes)
