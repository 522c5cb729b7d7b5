"""Moments of random samples: closed forms, brute force, and moments that nothing can have."""

from math import comb

import numpy as np
import pytest

import daedal as dd
from daedal.errors import EstimationError

Moments = dd.MeasurementMoments
MEAN = np.array([6.0, 5.0, 4.0])
SHAPE = 10.0  # of gamma laws with variance mean²/10


def gamma_raw(mean, order):
    """E αⁿ = meanⁿ Π (shape + i)/shape."""
    return np.asarray(mean) ** order * np.prod((SHAPE + np.arange(order)) / SHAPE)


def beta_raw(order):
    """E β̄ⁿ of a beta(2, 5) law."""
    steps = np.arange(order)
    return float(np.prod((2.0 + steps) / (7.0 + steps)))


def beta_central(order):
    """E (β̄ − 2/7)ⁿ."""
    return sum(comb(order, k) * beta_raw(k) * (-2.0 / 7.0) ** (order - k) for k in range(order + 1))


def sources(mean):
    """Raw moments of gamma sources, one for each sample, and of as many centred beta ones."""
    count = len(mean)
    return {
        "mean": np.r_[mean, np.zeros(count)],
        "variance": np.r_[gamma_raw(mean, 2) - np.square(mean), np.full(count, beta_central(2))],
        "third_raw_moment": np.r_[gamma_raw(mean, 3), np.full(count, beta_central(3))],
        "fourth_raw_moment": np.r_[gamma_raw(mean, 4), np.full(count, beta_central(4))],
    }


def mixing(count):
    return np.hstack([np.eye(count), np.tril(np.ones((count, count)))])


def drawn(mean, count, rng):
    """ŷ_k = α_k + Σ_{j ≤ k} β_j."""
    generator = np.random.default_rng(rng)
    alpha = generator.gamma(SHAPE, np.asarray(mean) / SHAPE, (count, len(mean)))
    beta = generator.beta(2.0, 5.0, (count, len(mean))) - 2.0 / 7.0
    return alpha + np.cumsum(beta, axis=1)


def test_the_laws_are_those_of_the_paper():
    np.testing.assert_allclose(gamma_raw(MEAN, 2) - MEAN**2, MEAN**2 / 10)
    np.testing.assert_allclose(gamma_raw(MEAN, 3), 33 / 25 * MEAN**3)
    assert beta_central(2) == pytest.approx(5 / 196, rel=1e-12)
    assert beta_central(3) == pytest.approx(5 / 2058, rel=1e-12)
    assert beta_central(4) == pytest.approx(2.88 * (5 / 196) ** 2, rel=1e-11)  # kurtosis of beta(2, 5)


def test_a_mixture_agrees_with_brute_force():
    moments = Moments.mixture(mixing(3), **sources(MEAN))
    samples = drawn(MEAN, 100_000, 0)
    count = len(samples)
    apart, squares = samples - samples.mean(axis=0), np.sum(samples**2, axis=1)
    np.testing.assert_allclose(moments.mean, samples.mean(axis=0), atol=5 * samples.std() / np.sqrt(count))
    for expected, products in (
        (moments.covariance, apart[:, :, None] * apart[:, None, :]),
        (moments.square_covariance, (squares - squares.mean())[:, None] * apart),
        (np.array(moments.variance_of_squares), (squares - squares.mean()) ** 2),
    ):
        band = 5.0 * products.std(axis=0) / np.sqrt(count)
        assert np.all(np.abs(expected - products.mean(axis=0)) < band)
        assert np.all(band < 0.2 * np.abs(expected).max())


@pytest.mark.parametrize("y", [[6.5, 4.0, 4.2], [0.0, 0.0, 0.0], [5.0, 5.0, 5.0]])
def test_mean_and_variance_of_the_error_agree_with_brute_force(y):
    moments = Moments.mixture(mixing(3), **sources(MEAN))
    errors = np.sum((np.asarray(y) - drawn(MEAN, 100_000, 1)) ** 2, axis=1)
    expectation, variance = moments.error(np.asarray(y))
    assert abs(expectation - errors.mean()) < 5.0 * errors.std() / np.sqrt(errors.size)
    spread = np.std((errors - errors.mean()) ** 2) / np.sqrt(errors.size)
    assert abs(variance - errors.var()) < 5.0 * spread


def test_independent_normal_samples_have_a_textbook_variance():
    """(y − ŷ)² / σ² is noncentral χ²: variance σ⁴ (2 + 4 λ)."""
    sd, y = np.array([0.5, 2.0]), np.array([1.5, 1.0])
    m = np.array([1.0, -1.0])
    moments = Moments.independent(
        mean=m,
        variance=sd**2,
        third_raw_moment=m**3 + 3 * m * sd**2,
        fourth_raw_moment=m**4 + 6 * m**2 * sd**2 + 3 * sd**4,
    )
    expectation, variance = moments.error(y)
    noncentral = ((y - m) / sd) ** 2
    assert expectation == pytest.approx(float(np.sum(sd**2 * (1 + noncentral))))
    assert variance == pytest.approx(float(np.sum(sd**4 * (2 + 4 * noncentral))))


def test_without_fourth_moments_only_a_constant_is_missing():
    given = sources(MEAN)
    known = Moments.mixture(mixing(3), **given)
    del given["fourth_raw_moment"]
    unknown = Moments.mixture(mixing(3), **given)
    assert unknown.variance_of_squares is None
    gaps = [known.error(y)[1] - unknown.error(y)[1] for y in (MEAN, np.zeros(3), np.array([1.0, 9.0, -2.0]))]
    np.testing.assert_allclose(gaps, known.variance_of_squares)


def test_repeated_experiments_give_the_moments_that_the_samples_have():
    samples = drawn(MEAN, 50, 2)
    moments = Moments.from_samples(samples)
    np.testing.assert_allclose(moments.covariance, np.cov(samples.T))
    errors = np.sum((np.array([5.0, 4.0, 3.0]) - samples) ** 2, axis=1)
    expectation, variance = moments.error(np.array([5.0, 4.0, 3.0]))
    assert variance == pytest.approx(errors.var(ddof=1))
    shrunk = 49 / 50 * np.trace(moments.covariance) + np.sum((np.array([5.0, 4.0, 3.0]) - moments.mean) ** 2)
    assert shrunk == pytest.approx(errors.mean())
    assert expectation == pytest.approx(errors.mean() + np.trace(moments.covariance) / 50)


def test_moments_cannot_be_changed():
    moments = Moments.independent(mean=MEAN, variance=np.ones(3), third_raw_moment=MEAN**3 + 3 * MEAN)
    with pytest.raises(ValueError, match="read-only"):
        moments.mean[0] = 2.0


def independent(**changes):
    fields = {"mean": MEAN, "variance": np.ones(3), "third_raw_moment": MEAN**3 + 3 * MEAN}
    return lambda: Moments.independent(**fields | changes)


def mixed(matrix, **changes):
    return lambda: Moments.mixture(matrix, **{**sources(MEAN), **changes})


CASES = {
    "negative variance": (independent(variance=[1.0, -0.5, 1.0]), ("source 1", "negative", "-0.5")),
    "variance of another length": (independent(variance=[1.0, 1.0]), ("variance", "(3,)", "(2,)", "source")),
    "mean as a column": (mixed(mixing(3), mean=np.zeros((6, 1))), ("mean", "(6, 1)", "source")),
    "third moments missing": (independent(third_raw_moment=[1.0]), ("third_raw_moment", "(1,)")),
    "mixing the wrong way round": (mixed(mixing(3).T), ("mean", "(3,), one for each source", "(6,)")),
    "mixing as a vector": (mixed(np.ones(6)), ("mixing", "(sample, source)", "(6,)")),
    "mixing not finite": (mixed(np.where(mixing(3) > 0, np.nan, 0.0)), ("mixing", "finite")),
    "still source with a third moment": (
        independent(variance=[1.0, 0.0, 1.0], third_raw_moment=[234.0, 130.0, 76.0]),
        ("Source 1", "125", "130"),
    ),
    "fourth moment too small": (independent(fourth_raw_moment=MEAN**4), ("source 0", "fourth", "raw")),
    "third moment too large for the fourth": (
        independent(
            third_raw_moment=MEAN**3 + 3 * MEAN + 5.0, fourth_raw_moment=MEAN**4 + 6 * MEAN**2 + 20.0 * MEAN + 3.0
        ),
        ("source 0", "third", "raw"),
    ),
    "not finite": (independent(mean=[1.0, np.nan, 2.0]), ("mean", "finite")),
    "text": (independent(mean=["a", "b", "c"]), ("mean", "numbers")),
    "covariance of another shape": (lambda: Moments(MEAN, np.eye(2), MEAN), ("(3, 3)", "(2, 2)")),
    "covariance not semidefinite": (
        lambda: Moments(MEAN, np.array([[1, 2, 0], [2, 1, 0], [0, 0, 1.0]]), MEAN),
        ("No random vector", "-1"),
    ),
    "covariance not symmetric": (
        lambda: Moments(MEAN, np.array([[1, 0.5, 0], [0, 1, 0], [0, 0, 1.0]]), MEAN),
        ("covariance", "symmetric"),
    ),
    "covariance not finite": (lambda: Moments(MEAN, np.full((3, 3), np.nan), MEAN), ("covariance", "finite")),
    "square covariance of another shape": (lambda: Moments(MEAN, np.eye(3), MEAN[:2]), ("square_covariance", "(3,)")),
    "still sample that moves with the squares": (
        lambda: Moments(MEAN, np.diag([1.0, 0.0, 1.0]), np.array([1.0, 2.0, 1.0])),
        ("sample 1", "square_covariance"),
    ),
    "squares that vary too little": (lambda: Moments(MEAN, np.eye(3), MEAN, 10.0), ("10", "77")),
    "one repetition": (lambda: Moments.from_samples(np.ones((1, 4))), ("(repetition, sample)", "(1, 4)")),
    "repetitions in one row": (lambda: Moments.from_samples(np.ones(4)), ("(repetition, sample)", "(4,)")),
    "repetitions with gaps": (lambda: Moments.from_samples([[1.0, np.nan], [1.0, 2.0]]), ("finite",)),
}


@pytest.mark.parametrize("name", CASES)
def test_impossible_moments_are_refused(name):
    call, words = CASES[name]
    with pytest.raises(EstimationError) as refused:
        call()
    assert all(word in str(refused.value) for word in words), str(refused.value)
    assert refused.value.remedy
