"""Slopes of log L by differences: right where the log likelihood is a parabola, and taken where they are better."""

import numpy as np
import pytest

from daedal.estimation.criteria import Evaluation, fail_at
from daedal.estimation.likelihood.slopes import (
    bend_curvature,
    curve_slopes,
    prefer_differences,
    take_differences,
    take_score,
)
from daedal.filtering import PooledRuns

INFORMATION = np.array([[40.0, -30.0], [-30.0, 35.0]])
BEST = np.array([0.3, -0.2])
EVERYWHERE = np.full(2, -9.0), np.full(2, 9.0)


def make_runs(noise=0.02, value=0.1, runs=6, seed=0):
    """Gains whose squares are about the information, with noise of their own, and values that scatter."""
    rng = np.random.default_rng(seed)
    gains = np.linalg.cholesky(INFORMATION) @ rng.standard_normal((2, 400)) / 20.0
    each = gains.T + noise * rng.standard_normal((runs, 1, 400, 2))
    return PooledRuns(value * rng.standard_normal(runs), each)


def measure(point):
    """log L as it is, with the noise that common random numbers leave, and that they do not."""
    shared = 0.3 * np.random.default_rng(1).standard_normal(6)
    apart = point - BEST
    own = 0.03 * np.random.default_rng(round(1e6 * abs(point.sum()))).standard_normal(6)
    return PooledRuns(-0.5 * apart @ INFORMATION @ apart + shared + own, np.zeros((6, 1, 1, 0)))


def test_differences_have_the_slope_of_a_parabola_whatever_the_score_of_particles_says():
    point = np.array([0.4, 0.1])
    slopes = take_differences(make_runs(), 0, point, EVERYWHERE, measure)
    truth = -INFORMATION @ (point - BEST)
    error = np.linalg.solve(np.linalg.cholesky(INFORMATION), slopes.score - truth)  # in standard errors
    assert np.abs(error).max() < 0.1
    assert np.abs(take_score(make_runs(), 0).score - truth).max() > 1.0
    told = np.sqrt(np.diag(np.linalg.solve(INFORMATION, slopes.scatter)))
    assert np.all((told > 0.005) & (told < 0.1))


def test_a_direction_that_leaves_the_bounds_keeps_its_score():
    runs, nowhere = make_runs(), (np.zeros(2), np.zeros(2))
    slopes = take_differences(runs, 0, np.zeros(2), nowhere, measure)
    np.testing.assert_allclose(slopes.score, take_score(runs, 0).score, rtol=1e-10)
    np.testing.assert_allclose(slopes.scatter, take_score(runs, 0).scatter, rtol=1e-10)


def test_a_bound_of_one_leaves_differences_to_the_other():
    """With the first held where it is, the slope of the second is that of the parabola."""
    runs, point = make_runs(), np.array([0.4, 0.1])
    bounds = np.array([0.4 - 1e-3, -9.0]), np.full(2, 9.0)
    slopes = take_differences(runs, 0, point, bounds, measure)
    truth = -INFORMATION @ (point - BEST)
    plain = take_score(runs, 0)
    assert slopes.score[0] == pytest.approx(plain.score[0])
    assert slopes.scatter[0, 0] == pytest.approx(plain.scatter[0, 0])
    assert abs(slopes.score[1] - truth[1]) < 0.1 * np.sqrt(INFORMATION[1, 1])
    assert 0.0 < slopes.scatter[1, 1] < 0.01 * INFORMATION[1, 1]
    assert slopes.scatter[0, 1] == 0.0


@pytest.mark.parametrize(
    ("noise", "value", "better"),
    # the third: nothing but noise, which tells no direction; the last: values as of a long record
    [(0.02, 1.0, False), (0.4, 0.1, True), (40.0, 0.1, False), (1.0, 3.0, False)],
)
def test_differences_are_taken_where_they_have_the_smaller_error(noise, value, better):
    assert prefer_differences(make_runs(noise, value), 0) is better


def score(point):
    return Evaluation(point, 0.0, INFORMATION @ (point - BEST), np.eye(2))


def test_the_curvature_is_that_of_the_parabola_whatever_the_squares_of_gains_say():
    rng = np.random.default_rng(3)
    gains = np.linalg.cholesky(INFORMATION) @ rng.standard_normal((2, 400)) / 20.0
    gains[:, 7] += 5.0  # one sample with most of the squares
    runs = PooledRuns(np.zeros(6), np.tile(gains.T, (6, 1, 1, 1)))
    assert runs.squares(0)[0, 0] > 1.4 * INFORMATION[0, 0]
    found = curve_slopes(runs, 0, BEST, EVERYWHERE, score)
    np.testing.assert_allclose(found, INFORMATION, rtol=1e-6)


def test_the_curvature_is_left_where_noise_hides_it_or_a_score_fails():
    assert curve_slopes(make_runs(noise=40.0), 0, BEST, EVERYWHERE, score) is None
    assert curve_slopes(make_runs(), 0, BEST, EVERYWHERE, lambda point: fail_at(point, "lost")) is None
    nowhere = np.zeros(2), np.zeros(2)
    squares = curve_slopes(make_runs(noise=0.0), 0, np.zeros(2), nowhere, score)
    np.testing.assert_allclose(squares, make_runs(noise=0.0).squares(0), rtol=1e-6)


def test_a_bound_of_one_leaves_the_curvature_of_the_other_to_differences():
    bounds = np.array([BEST[0] - 1e-3, -9.0]), np.full(2, 9.0)
    runs = make_runs(noise=0.0)
    curved, squares = curve_slopes(runs, 0, BEST, bounds, score), runs.squares(0)
    assert curved[1, 1] == pytest.approx(INFORMATION[1, 1], rel=1e-6)
    assert curved[0, 0] == pytest.approx(squares[0, 0], rel=1e-6)
    assert np.linalg.eigvalsh(curved).min() > 0.0


def test_second_differences_of_a_gap_tell_what_an_approximation_lacks():
    """log L = ℓ + g with two parabolas; runs share what they are off by, and have a little noise of their own."""
    bend = np.array([[12.0, -10.0], [-10.0, 2.0]])
    shared = 0.5 * np.random.default_rng(2).standard_normal(8)

    def make_gap(noise):
        rng = np.random.default_rng(3)
        return lambda point: 0.5 * point @ bend @ point + point @ np.array([3.0, 1.0]) + shared + noise * rng.random(8)

    curvature = bend_curvature(INFORMATION, BEST, EVERYWHERE, make_gap(0.0))
    np.testing.assert_allclose(curvature, INFORMATION - bend, rtol=1e-8)
    curvature = bend_curvature(INFORMATION, BEST, EVERYWHERE, make_gap(0.05))
    np.testing.assert_allclose(curvature, INFORMATION - bend, atol=0.25 * INFORMATION.max())
    assert bend_curvature(INFORMATION, BEST, EVERYWHERE, make_gap(5.0)) is INFORMATION
    assert bend_curvature(INFORMATION, BEST, (BEST - 0.01, EVERYWHERE[1]), make_gap(0.0)) is INFORMATION
