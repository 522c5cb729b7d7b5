"""Scoring on values, gradients and curvatures with noise."""

import numpy as np
import pytest

from daedal.estimation import Evaluation, fail_at
from daedal.estimation.search import NoisyScoring

TRUTH = np.array([1.0, -2.0])
INFORMATION = np.array([[4.0, 1.5], [1.5, 1.0]])
FREE = (np.full(2, -np.inf), np.full(2, np.inf))


class Bowl:
    """½ (φ − φ₀)ᵀ I (φ − φ₀) with noise of its own at every call; the curvature is as much too large as that adds."""

    def __init__(self, noise=0.0, seed=0, fails=lambda _: False):
        self.noise, self.rng, self.fails, self.asked = noise, np.random.default_rng(seed), fails, []

    def __call__(self, point):
        self.asked.append(point)
        if self.fails(point):
            return fail_at(point, "It fails here.")
        apart, added = point - TRUTH, self.noise**2 * INFORMATION
        value = 0.5 * apart @ INFORMATION @ apart + self.noise * self.rng.standard_normal()
        gradient = INFORMATION @ apart + np.linalg.cholesky(INFORMATION) @ self.rng.standard_normal(2) * self.noise
        return Evaluation(
            point, value, gradient, INFORMATION + added, noise=added, monte_carlo_error=self.noise, rough=True
        )


@pytest.mark.parametrize("start", [(1.5, -2.5), (30.0, 40.0)])
def test_without_noise_it_ends_within_a_tenth_of_a_standard_error(start):
    bowl = Bowl()
    minimum = NoisyScoring()(bowl, np.array(start), FREE)
    apart = minimum.evaluation.point - TRUTH
    assert minimum.converged
    assert apart @ INFORMATION @ apart <= 0.1**2 * 2
    assert minimum.evaluations == len(bowl.asked) <= 12


def test_with_noise_it_ends_where_noise_is_all_that_moves_it():
    ends = [NoisyScoring()(Bowl(0.5, seed), np.array([3.0, 3.0]), FREE) for seed in range(200)]
    assert np.mean([end.converged for end in ends]) > 0.95
    assert np.mean([end.evaluations for end in ends]) < 10
    apart = np.array([end.evaluation.point for end in ends]) - TRUTH
    lengths = np.einsum("ri,ij,rj->r", apart, INFORMATION, apart)
    assert np.mean(lengths) < 3.0 * 0.5**2 * 2  # the noise of one gradient makes 0.5² for each direction
    assert np.abs(apart.mean(axis=0)).max() < 4.0 * apart.std(axis=0).max() / np.sqrt(200)


def test_bounds_hold_and_a_coordinate_stays_at_its_bound():
    bowl, bounds = Bowl(), (np.array([2.0, -9.0]), np.array([9.0, 9.0]))
    minimum = NoisyScoring()(bowl, np.array([5.0, 5.0]), bounds)
    assert minimum.converged
    assert minimum.evaluation.point == pytest.approx([2.0, -2.0 - 1.5], abs=0.2)  # the best with the first at 2
    assert all(np.all((point >= bounds[0]) & (point <= bounds[1])) for point in bowl.asked)


def test_points_that_fail_shorten_a_step_and_a_start_that_fails_ends_it():
    bowl = Bowl(fails=lambda point: point[0] < 0.5)
    minimum = NoisyScoring()(bowl, np.array([20.0, -30.0]), FREE)
    assert minimum.converged
    assert not NoisyScoring()(Bowl(fails=lambda _: True), np.zeros(2), FREE).converged


def test_where_noise_is_nearly_all_that_slopes_tell_an_end_is_none():
    ends = [NoisyScoring()(Bowl(5.0, seed), np.array([300.0, 300.0]), FREE) for seed in range(20)]
    assert not any(end.converged for end in ends)
    assert all(
        end.obstacle is not None and "Monte-Carlo" in end.obstacle.value[0] for end in ends if end.evaluations < 30
    )


class Blurred:
    """A valley whose slopes are nothing but noise beyond a distance, where they make the curvature far too large."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def __call__(self, point):
        value = 50.0 * float((point[0] - 1.0) ** 2)
        added = 1e4 if abs(point[0] - 1.0) > 0.3 else 1.0
        gradient = 100.0 * (point - 1.0) + np.sqrt(added) * self.rng.standard_normal(1)
        known, noise = np.array([[100.0 + added]]), np.array([[added]])
        return Evaluation(point, value, gradient, known, noise=noise, monte_carlo_error=0.3, rough=True)


def test_values_lead_on_where_slopes_are_nothing_but_noise():
    ends = [NoisyScoring()(Blurred(seed), np.array([2.0]), (np.zeros(1), np.full(1, 9.0))) for seed in range(20)]
    assert all(end.converged for end in ends)
    assert all(abs(end.evaluation.point[0] - 1.0) < 0.3 for end in ends)


def test_an_end_that_is_worse_than_a_point_passed_before_is_none():
    def mislead(point):  # a little worse at every step that its slopes ask for
        value, gradient = 2.0 * abs(float(point[0])), 4.0 * (point - 8.0)
        return Evaluation(point, value, gradient, np.array([[4.0]]), monte_carlo_error=1.0, rough=True)

    minimum = NoisyScoring()(mislead, np.zeros(1), (np.full(1, -9.0), np.full(1, 9.0)))
    assert not minimum.converged
    assert minimum.evaluation.value < 5.0
