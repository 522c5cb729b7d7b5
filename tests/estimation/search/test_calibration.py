"""Errors of estimates from few samples of slow noise, counted over many data sets."""

import numpy as np
import pytest

import daedal as dd
from batteries.fits import line

TIMES = np.arange(100) * 0.1


def draw_noise(sets: int, pole: float) -> np.ndarray:
    """Autoregressions of first order with unit variance, (set, time)."""
    random = np.random.default_rng(2)
    noise = random.standard_normal((sets, TIMES.size))
    for k in range(1, TIMES.size):
        noise[:, k] = pole * noise[:, k - 1] + np.sqrt(1.0 - pole**2) * noise[:, k]
    return noise


def cover(criterion: dd.OutputError, pole: float, sets: int = 60) -> float:
    """The share of intervals of a slope and an offset that hold the truth."""
    fits = [
        dd.fit(line(), dd.Dataset(TIMES, outputs={"y": 0.5 * TIMES + 2.0 + e}), free=["b", "c"], criterion=criterion)
        for e in draw_noise(sets, pole)
    ]
    intervals = [one.conf_int() for one in fits]
    return float(np.mean([[i[n][0] <= v <= i[n][1] for n, v in (("b", 0.5), ("c", 2.0))] for i in intervals]))


@pytest.mark.parametrize("whiten", [False, True])
def test_intervals_hold_the_truth_when_few_samples_are_independent(whiten):
    """A pole of 0.8 leaves eleven of a hundred; without the correction 84 % of the intervals hold it, 88 % whitened."""
    assert cover(dd.OutputError(whiten=whiten), 0.8) > 0.9


def test_white_noise_needs_no_correction():
    found = dd.fit(line(), dd.Dataset(TIMES, outputs={"y": 0.5 * TIMES + draw_noise(1, 0.0)[0]}), free=["b", "c"])
    assert found["b"].freedom is None
    X = np.stack([TIMES, np.ones(TIMES.size)], axis=1)
    residual = X @ np.array([found["b"].value, found["c"].value]) - (0.5 * TIMES + draw_noise(1, 0.0)[0])
    expected = residual @ residual / (TIMES.size - 2) * np.linalg.inv(X.T @ X)
    np.testing.assert_allclose(found.cov, expected, rtol=1e-6)


def test_slow_noise_leaves_few_degrees_of_freedom():
    slow = dd.fit(line(), dd.Dataset(TIMES, outputs={"y": 0.5 * TIMES + draw_noise(1, 0.9)[0]}), free=["b", "c"])
    assert 1.0 <= slow["b"].freedom < 20.0
    low, high = slow.conf_int()["b"]
    assert high - low > 2.0 * 2.0 * slow["b"].std_error
