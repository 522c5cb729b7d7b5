"""Intervals from runs against closed forms and published values."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import bootstrap, chi2, norm

from daedal.studies.intervals import compute_skewness, find_bca, find_percentiles, find_quantile


def test_bca_of_a_variance_is_the_exact_interval():
    """θ̂ ~ θ χ²₁₉/19, the example of Efron (1987): exact 90 % interval 0.631 … 1.88, percentiles 0.53 … 1.59."""
    draws = chi2.rvs(19, size=400_000, random_state=np.random.default_rng(1)) / 19.0
    low, high = find_bca(draws, draws - 1.0, 1.0, 0.9, logarithmic=False)
    exact = 19.0 / chi2.ppf([0.95, 0.05], 19)
    assert exact == pytest.approx([0.631, 1.88], abs=3e-3)
    assert [low, high] == pytest.approx(exact, abs=0.015)
    plain = find_percentiles(draws, 0.9, logarithmic=False)
    assert plain == pytest.approx([0.53, 1.59], abs=0.01)


@pytest.mark.parametrize("name", ["mean", "variance"])
def test_bca_is_that_of_scipy_on_the_same_runs(name):
    """Its acceleration is from a jackknife of the data; here it is from the linearised estimate of each run."""
    rng = np.random.default_rng(4)
    data = rng.exponential(size=25)
    places = rng.integers(25, size=(20_000, 25))
    estimate, influence = {
        "mean": (np.mean, data - data.mean()),
        "variance": (np.var, (data - data.mean()) ** 2 - data.var()),
    }[name]
    values, steps = estimate(data[places], axis=1), influence[places].mean(axis=1)
    known = SimpleNamespace(bootstrap_distribution=values)
    theirs = bootstrap((data,), estimate, n_resamples=0, bootstrap_result=known, method="BCa").confidence_interval
    plain = find_percentiles(values, 0.95, False)
    ours = find_bca(values, steps, float(estimate(data)), 0.95, False)
    moved = np.abs(np.array(theirs) - plain)
    assert np.all(np.abs(np.array(ours) - theirs) < 0.06 * moved)  # a skewness of 20 000 runs, and the jackknife of 25


def test_bca_of_what_is_symmetric_is_the_percentiles():
    draws = norm.ppf((np.arange(999) + 0.5) / 999)
    assert find_bca(draws, draws, 0.0, 0.95, False) == pytest.approx(find_percentiles(draws, 0.95, False), abs=1e-9)
    assert find_percentiles(draws, 0.95, False) == pytest.approx([-1.96, 1.96], abs=0.01)


def test_few_runs_tell_the_ends_of_bca_less_surely():
    """Of normal runs, 2 z₀ moves both ends; z₀ is counted from them, with the standard error 1.25/√n."""
    rng, shifts = np.random.default_rng(5), []
    for _ in range(800):
        draws = rng.standard_normal(100)
        moved = 2.0 * norm.ppf(np.mean(draws < 0.0))
        low, _ = find_bca(draws, norm.ppf((np.arange(100) + 0.5) / 100), 0.0, 0.95, False)
        assert low == pytest.approx(find_quantile(draws, norm.cdf(moved - 1.96), False), abs=1e-3)
        shifts.append(moved)
    assert np.std(shifts) == pytest.approx(2.5 / np.sqrt(100), rel=0.1)  # four standard errors


def test_percentiles_are_order_statistics():
    draws = np.random.default_rng(0).permutation(np.arange(1.0, 40.0))  # 1 … 39
    assert find_percentiles(draws, 0.95, False) == pytest.approx((1.0, 39.0))


def test_few_runs_give_wider_intervals_that_cover_the_next_run():
    """Of n normal runs, the interval of 95 % holds another one in 95 % of all cases."""
    rng, held = np.random.default_rng(2), []
    for _ in range(1200):
        *draws, another = rng.standard_normal(9)
        low, high = find_percentiles(np.array(draws), 0.95, False)
        held.append(low < another < high)
    assert abs(np.mean(held) - 0.95) < 0.025  # four standard deviations


def test_an_interval_on_a_log_scale_stays_positive():
    draws = np.exp(2.0 * np.random.default_rng(3).standard_normal(6))
    assert find_percentiles(draws, 0.95, True)[0] > 0.0
    assert find_percentiles(draws, 0.95, False)[0] < 0.0


def test_what_cannot_be_told_is_not_a_number():
    assert np.isnan(find_quantile(np.array([1.0]), 0.5, False))
    assert np.isnan(compute_skewness(np.ones(5)))
    draws = np.arange(50.0)
    assert np.isnan(find_bca(draws, draws, -1.0, 0.95, False)).all()  # all on one side
    assert np.isnan(find_bca(draws, np.full(50, np.nan), 20.0, 0.95, False)).all()
    assert np.isnan(find_bca(draws[:38], draws[:38], 20.0, 0.95, False)).all()  # too few for percentiles
