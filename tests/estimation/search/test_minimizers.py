"""Every minimizer: known minima, bounds, failures, a start at the minimum, interrupts, limits."""

from dataclasses import replace

import numpy as np
import pytest

from batteries.minimizer import ROSENBROCK, VALLEYS
from daedal.estimation import Evaluation, LeastSquares, TrustRegion, choose_minimizer, factor_quadratic

MINIMIZERS = [LeastSquares(), TrustRegion(), TrustRegion(floor=0.0)]
every = pytest.mark.parametrize("minimize", MINIMIZERS, ids=repr)


def run(minimize, valley):
    return minimize(valley, np.array(valley.start), valley.bounds)


@every
@pytest.mark.parametrize("valley", VALLEYS, ids=lambda valley: valley.name)
def test_known_minima_within_bounds(minimize, valley):
    valley = valley.changed()
    end = run(minimize, valley)
    assert end.converged
    assert end.evaluation.value == pytest.approx(valley.value, rel=1e-5, abs=1e-9)
    if valley.minimum is not None:
        np.testing.assert_allclose(end.evaluation.point, valley.minimum, rtol=2e-3)
    lower, upper = valley.bounds
    assert all(np.all(lower <= point) and np.all(point <= upper) for point in valley.asked)
    assert end.evaluations == len(valley.asked)


@every
def test_a_start_at_the_minimum_is_left_as_it_is(minimize):
    valley = VALLEYS[-1].changed(start=VALLEYS[-1].minimum)
    end = run(minimize, valley)
    assert end.converged
    assert end.evaluations <= 5
    np.testing.assert_allclose(end.evaluation.point, valley.minimum, rtol=1e-6)


@every
def test_a_start_that_fails_ends_the_search(minimize):
    valley = ROSENBROCK.changed(fails=lambda _: True)
    end = run(minimize, valley)
    assert not end.converged
    assert end.evaluation.failure == "It fails here."
    assert end.evaluations == len(valley.asked) == 1


@every
def test_points_that_fail_on_the_way_only_shorten_steps(minimize):
    valley = ROSENBROCK.changed(fails=lambda point: point[0] > 1.1 or point[1] < -0.5)
    end = run(minimize, valley)
    assert any(valley.fails(point) for point in valley.asked)
    np.testing.assert_allclose(end.evaluation.point, [1.0, 1.0], rtol=1e-3)


@every
def test_an_interrupt_comes_out(minimize):
    valley = ROSENBROCK.changed()

    def interrupted(point):
        if len(valley.asked) == 4:
            raise KeyboardInterrupt
        return valley(point)

    with pytest.raises(KeyboardInterrupt):
        minimize(interrupted, np.array(valley.start), valley.bounds)
    assert len(valley.asked) == 4


@every
def test_the_number_of_evaluations_is_limited(minimize):
    valley = ROSENBROCK.changed()
    end = run(replace(minimize, evaluations=5), valley)
    assert not end.converged
    assert len(valley.asked) <= 6
    assert end.evaluation.value == min(valley(point).value for point in valley.asked[:])


@every
def test_a_loose_tolerance_ends_sooner(minimize):
    exact, rough = (run(replace(minimize, tolerance=one), VALLEYS[4].changed()) for one in (1e-11, 1e-2))
    assert rough.converged
    assert rough.evaluations < exact.evaluations


def test_values_below_every_floor_do_not_stop_the_search():
    """x − log x without squares, shifted far below zero, and falling much deeper than curvature promises."""

    def function(point):
        x = float(point[0])
        value = 1e6 * (x - np.log(x) - 1.0) - 1e9
        return Evaluation(point, value, np.array([1e6 * (1.0 - 1.0 / x)]), np.array([[1e6 / x**2]]))

    end = TrustRegion()(function, np.array([1e-6]), (np.array([1e-12]), np.array([np.inf])))
    assert end.evaluation.point[0] == pytest.approx(1.0, rel=1e-4)


def test_the_minimizer_is_chosen_by_what_an_evaluation_offers():
    whole = ROSENBROCK.changed()(np.array([0.0, 0.0]))
    assert choose_minimizer(whole) == LeastSquares()
    assert choose_minimizer(replace(whole, residuals=None, jacobian=None)) == TrustRegion()


def test_any_quadratic_as_few_residuals():
    """½|f + f'p|² is v + gᵀp + ½ pᵀCp, whatever the units."""
    random = np.random.default_rng(1)
    root, units = random.standard_normal((4, 3)), np.array([1e-6, 1.0, 1e8])
    curvature, gradient = root.T @ root * np.outer(units, units), root.T @ random.standard_normal(4) * units
    jacobian = factor_quadratic(7.0, gradient, curvature)
    np.testing.assert_allclose(jacobian.T @ jacobian, curvature, rtol=1e-9)
    np.testing.assert_allclose(jacobian[0] * np.sqrt(14.0), gradient, rtol=1e-12)


def test_a_search_that_stands_still_ends_without_converging():
    """Every step lowers the value by 1e-9 of it, as promised, for ever."""
    calls = []

    def function(point):
        calls.append(point)
        r, J = np.array([np.sqrt(1.0 - 2e-9 * len(calls)), 4e-5]), np.array([[0.0], [1.0]])
        return Evaluation(point, 0.5 * float(r @ r), J.T @ r, J.T @ J, r, J)

    end = LeastSquares()(function, np.array([1.0]), (np.array([-np.inf]), np.array([np.inf])))
    assert not end.converged
    assert 50 < len(calls) < 200


@every
def test_a_search_whose_points_mostly_fail_does_not_converge(minimize):
    valley = ROSENBROCK.changed(fails=lambda point: not np.array_equal(point, ROSENBROCK.start))
    assert not run(minimize, valley).converged


def test_a_small_step_along_a_valley_is_not_the_end():
    """Kowalik and Osborne from afar: the certified minimum to seven digits (StRD, MGH09)."""
    valley = next(one for one in VALLEYS if one.name.startswith("Kowalik"))
    end = run(LeastSquares(), valley.changed(start=(25.0, 39.0, 41.5, 39.0)))
    assert end.converged
    certified = [1.9280693458e-01, 1.9128232873e-01, 1.2305650693e-01, 1.3606233068e-01]
    np.testing.assert_allclose(end.evaluation.point, certified, rtol=1e-7)


@every
def test_a_kink_at_the_bottom_of_a_valley_is_no_minimum(minimize):
    """(100 + 10 |x − y|)² + (x + y − 2)²: steps across end on the kink, with next to no way made along the valley."""

    def kinked(point):
        x, y = point
        residuals = np.array([100.0 + 10.0 * abs(x - y), x + y - 2.0])
        side = 10.0 * np.sign(x - y)
        jacobian = np.array([[side, -side], [1.0, 1.0]])
        slopes = {"gradient": jacobian.T @ residuals, "curvature": jacobian.T @ jacobian}
        value = 0.5 * float(residuals @ residuals)
        return Evaluation(point, value, **slopes, residuals=residuals, jacobian=jacobian)

    far = np.full(2, 1e3)
    end = minimize(kinked, np.array([40.0, 39.0]), (-far, far))
    assert not end.converged
    assert end.obstacle is not None
    assert "kinks" in end.obstacle.value[0]


@pytest.mark.parametrize("shift", [0.0, -(2.0**20), -3e6])
def test_what_counts_as_progress_is_free_of_what_a_value_is_counted_from(shift):
    """7 + 2.5 |x| + 15 |x − round(x)|: kinks at all integers, of which the last is the lowest."""

    def rippled(point):
        off = point - np.round(point)
        value = 7.0 + 2.5 * abs(point[0]) + 15.0 * abs(off[0])
        return Evaluation(point, value + shift, 2.5 * np.sign(point) + 15.0 * np.sign(off), np.array([[5.0]]))

    far = np.full(1, 1e3)
    end = TrustRegion(floor=shift)(rippled, np.array([91.1]), (-far, far))
    assert end.evaluation.value - shift == pytest.approx(7.0, abs=1e-3)


@pytest.mark.parametrize("minimize", MINIMIZERS[1:], ids=repr)
def test_a_search_goes_on_where_its_steps_lead(minimize):
    """A curvature that is a thousand times too large along a valley leaves steps of a thousandth of the way."""
    asked, along = [], np.ones((2, 2))

    def narrow(point):
        asked.append(point)
        curvature = 1e4 * np.array([[1.0, -1.0], [-1.0, 1.0]]) + along
        off = point - 1.0
        return Evaluation(point, 0.5 * float(off @ curvature @ off), curvature @ off, curvature + 1e3 * along)

    far = np.full(2, 1e3)
    end = minimize(narrow, np.array([40.0, 39.0]), (-far, far))
    np.testing.assert_allclose(end.evaluation.point, 1.0, atol=1.0)
    assert np.abs(asked[min(600, len(asked) - 1)] - 1.0).max() < 1.0


@pytest.mark.parametrize("start", [(3.0, 0.5), (1e4, 0.0), (-1e6, -3.0), (1e7, -12.0), (5.0, 15.0)])
def test_a_likelihood_from_far_away_ends_at_its_maximum(start):
    """Mean and log standard deviation of normal values, from heights up to 1e24 down to the closed form."""
    values = np.random.default_rng(1).normal(5.0, 2.0, 50)

    def density(point):
        mean, size = point
        ratios = (values - mean) * np.exp(-size)
        gradient = np.array([-np.exp(-size) * ratios.sum(), values.size - ratios @ ratios])
        information = values.size * np.diag([np.exp(-2.0 * size), 2.0])
        return Evaluation(point, values.size * size + 0.5 * ratios @ ratios, gradient, information, loglik=0.0)

    far = np.array([1e8, 20.0])
    end = TrustRegion()(density, np.array(start), (-far, far))
    assert end.converged
    deviation = values.std() / np.sqrt(values.size)
    np.testing.assert_allclose(end.evaluation.point[0], values.mean(), atol=1e-2 * deviation)
    np.testing.assert_allclose(end.evaluation.point[1], np.log(values.std()), atol=1e-2 / np.sqrt(2.0 * values.size))
