"""What several runs tell together, against numbers that were put in."""

import numpy as np
import pytest

from daedal.filtering import PooledRuns, limit_gains


def make(logliks=None, gains=None, runs=6):
    gains = np.zeros((runs, 1, 1, 1)) if gains is None else gains
    return PooledRuns(np.zeros(len(gains)) if logliks is None else logliks, gains)


@pytest.mark.parametrize("variance", [0.1, 1.0])
def test_the_logarithm_of_an_unbiased_likelihood_is_put_right_and_its_error_told(variance):
    rng = np.random.default_rng(0)
    drawn = rng.normal(7.0 - variance / 2, np.sqrt(variance), (2000, 6))  # exp has the mean exp 7
    pooled = [make(one, runs=6) for one in drawn]
    values, errors = (np.array([getattr(one, kind) for one in pooled]) for kind in ("loglik", "loglik_error"))
    assert values.mean() == pytest.approx(7.0, abs=4.0 * values.std() / np.sqrt(2000))
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(values.std(), rel=0.2)


def test_information_is_free_of_the_noise_of_its_parts():
    rng = np.random.default_rng(1)
    d = rng.standard_normal((400, 2)) @ np.array([[1.0, 0.3], [0.0, 0.5]])
    noise = 1.5 * rng.standard_normal((200, 6, 1, 400, 2))  # more than what is to be found
    found, inflated = [], []
    for one in noise:
        pooled = make(gains=d + one)
        inflated.append(pooled.squares(0))
        found.append(pooled.squares(0) - pooled.noise(0))
    truth = d.T @ d
    np.testing.assert_allclose(np.mean(found, axis=0), truth, atol=0.03 * truth.max())
    assert np.mean(inflated, axis=0)[1, 1] > 1.5 * truth[1, 1]


def test_scatter_is_that_of_the_score():
    rng = np.random.default_rng(2)
    gains = rng.standard_normal((2000, 6, 1, 100, 1))
    pooled = [make(gains=one) for one in gains]
    variance = np.var([one.score(0)[0] for one in pooled])
    assert np.mean([one.scatter(0)[0, 0] for one in pooled]) == pytest.approx(variance, rel=0.1)


@pytest.mark.parametrize(("bias", "chosen"), [(0.0, 0), (40.0, 2)])
def test_a_longer_memory_is_taken_where_a_short_one_is_seen_to_be_off(bias, chosen):
    """Scores of three memories: the first off by a bias (of 20, the standard deviation over data), noise growing."""
    rng, picks = np.random.default_rng(3), []
    for _ in range(50):
        d = rng.standard_normal((400, 1))
        noise = rng.standard_normal((6, 3, 400, 1)) * np.array([0.02, 0.05, 0.2])[:, None, None]
        off = np.array([bias, 0.7 * bias, 0.0])[:, None, None] / 400
        picks.append(make(gains=d + off + noise).choose_memory())
    assert np.mean(np.array(picks) == chosen) > 0.9


@pytest.mark.parametrize("bias", [0.0, 15.0, 50.0])
def test_the_error_that_is_told_holds_a_bias_that_the_choice_of_a_memory_cannot_see(bias):
    """Scores of memories whose bias halves as the variance of their noise, 8² for the first, doubles."""
    rng, off, told = np.random.default_rng(4), [], []
    sizes, shifts = np.sqrt([1.0, 1.0, 2.0, 4.0]), bias * 0.5 ** np.arange(4)
    for _ in range(200):
        d = rng.standard_normal((400, 1))
        noise = np.cumsum(rng.standard_normal((6, 4, 400, 1)) * sizes[:, None, None], axis=1)
        pooled = make(gains=d + noise + shifts[:, None, None] / 400)
        chosen = pooled.choose_memory()
        off.append(pooled.score(chosen)[0] - d.sum())
        told.append(pooled.scatter(chosen)[0, 0])
    ratio = np.mean(np.square(off)) / np.mean(told)
    assert 0.3 < ratio < (4.0 / 3.0) ** 2  # the longest memory seen has a quarter of the bias


def test_the_first_of_equal_memories_without_directions_is_no_matter():
    assert make(gains=np.zeros((6, 3, 10, 0))).choose_memory() == 2


def test_gains_that_explode_in_some_runs_are_limited_and_large_ones_that_all_agree_about_are_not():
    rng = np.random.default_rng(5)
    gains = rng.standard_normal((6, 1, 400, 2))
    gains[:, 0, 7] += 500.0  # of a value at the start, say: all runs see it
    gains[2:4, 0, 100, 1] = 800.0
    limited = limit_gains(gains)
    changed = np.argwhere(limited != gains)
    assert changed.tolist() == [[2, 0, 100, 1], [3, 0, 100, 1]]
    assert np.all(limited[2:4, 0, 100, 1] < 10.0)
