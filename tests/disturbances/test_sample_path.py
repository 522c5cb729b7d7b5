"""sample_path: one path at any times."""

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import expm

from batteries.counting import count_calls
from daedal.disturbances import FilteredNoise, StateSpaceNoise, WhiteNoise, realize, sample_path
from daedal.errors import DataError, ModelError
from daedal.linear import solve_lyapunov
from daedal.symbolic import symbol

OSCILLATOR = FilteredNoise(numerator=[0.2], denominator=[1.0, 0.8, 16.0])
PAIR = StateSpaceNoise(A=[[-1.0, 0.5], [0.0, -2.0]], B=[[1.0, 0.2], [0.0, 1.0]], C=[[1.0, 0.0], [1.0, 1.0]])


def joint_covariance(noise, times):
    space = realize(noise)
    P = solve_lyapunov(space.A, space.intensity)
    rows = [
        [
            space.C @ (expm(space.A * (t - s)) @ P if t >= s else P @ expm(space.A * (s - t)).T) @ space.C.T
            for s in times
        ]
        for t in times
    ]
    return np.block(rows)


@pytest.mark.parametrize("noise", [OSCILLATOR, PAIR], ids=["one channel", "two channels"])
def test_joint_law_at_irregular_times(noise):
    times = np.array([0.0, 0.3, 0.35, 1.1, 6.0])
    exact = joint_covariance(noise, times)
    repeated = np.arange(20_000)[:, None] * 1000.0 + times  # a thousand seconds later all is forgotten
    paths = sample_path(noise, repeated.ravel(), rng=1).reshape(len(repeated), -1)
    distance = np.einsum("pi,ij,pj->", paths, np.linalg.inv(exact), paths)
    low, high = stats.chi2.ppf([1e-4, 1 - 1e-4], paths.size)
    assert low < distance < high
    variance = np.diag(exact)
    band = 5 * np.sqrt((variance[:, None] * variance + exact**2) / len(paths))
    assert (np.abs(paths.T @ paths / len(paths) - exact) < band).all()


def test_regular_times_agree_with_the_recursion():
    times = 3.0 + np.arange(300) * 0.1
    regular = sample_path(OSCILLATOR, times, rng=2)
    moved = times.copy()
    moved[-1] += 1e-3  # now the general recursion runs
    assert np.allclose(sample_path(OSCILLATOR, moved, rng=2)[:-1], regular[:-1], rtol=0, atol=1e-12)


def test_long_path_is_stationary():
    times = np.arange(200_001) * 0.01
    path = sample_path(OSCILLATOR, times, rng=2)
    assert path.shape == (200_001,)
    # Correlation time 2.5 s: 2000 s hold about 800 independent squares.
    assert path.std() == pytest.approx(0.2 * 0.198, rel=0.1)


def test_no_sample_of_a_long_path_costs_a_call():
    times = np.arange(200_001) * 0.01
    sample_path(OSCILLATOR, times[:10], rng=2)  # compiles
    assert count_calls(lambda: sample_path(OSCILLATOR, times, rng=2)) < times.size / 10


def test_channels_and_start():
    times = np.arange(50) * 0.1
    assert sample_path(PAIR, times, rng=1).shape == (50, 2)
    at_rest = sample_path(FilteredNoise(numerator=[1.0], denominator=[1.0, 1.0], initial="rest"), times, rng=1)
    assert at_rest[0] == 0.0
    assert sample_path(OSCILLATOR, [2.0], rng=1).shape == (1,)


def test_seeds():
    times = np.arange(50) * 0.1
    assert np.array_equal(sample_path(OSCILLATOR, times, rng=5), sample_path(OSCILLATOR, times, rng=5))
    generator = np.random.default_rng(5)
    first, second = (sample_path(OSCILLATOR, times, rng=generator) for _ in range(2))
    assert not np.array_equal(first, second)
    assert np.array_equal(first, sample_path(OSCILLATOR, times, rng=np.random.default_rng(5)))


def test_values_of_parameters():
    times = np.arange(50) * 0.1
    noise = FilteredNoise(numerator=[symbol("gain")], denominator=[1.0, 0.8, 16.0])
    path = sample_path(noise, times, rng=2, values={"gain": 0.2})
    assert np.array_equal(path, sample_path(OSCILLATOR, times, rng=2))
    with pytest.raises(ModelError, match="'gain', which has no number"):
        sample_path(noise, times, rng=2)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([0.0, 1.0, 1.0], r"strictly increasing but times\[2\] = 1 follows times\[1\] = 1"),
        ([0.0, np.nan], r"times must be finite but times\[1\] is nan"),
        ([], "times are empty"),
        ([[0.0, 1.0]], r"times must be one-dimensional but the shape is \(1, 2\)"),
    ],
)
def test_wrong_times(times, message):
    with pytest.raises(DataError, match=message):
        sample_path(OSCILLATOR, times, rng=1)


def test_white_noise_is_refused():
    with pytest.raises(ModelError, match=r"cannot be sampled.*FilteredNoise.low_pass"):
        sample_path(WhiteNoise(), [0.0, 1.0], rng=1)
