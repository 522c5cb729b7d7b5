"""Linear and Hermite interpolation between grid points."""

import numpy as np
import pytest

from daedal.disturbances import ExactPath, FilteredNoise, discretize, interpolate_hermite, interpolate_linear
from daedal.errors import ModelError, SimulationError
from daedal.symbolic import symbol

OSCILLATOR = FilteredNoise(numerator=[symbol("b")], denominator=[1.0, 0.8, 16.0])
VERY_SMOOTH = FilteredNoise(numerator=[1.0], denominator=np.poly([-1.0, -2.0, -3.0, -4.0]).tolist())


def grid(function, slope, step, points):
    times = np.arange(points) * step
    return np.stack([function(times), slope(times)], axis=1)[:, :, None]


def test_hermite_is_exact_for_cubics():
    discrete = discretize(OSCILLATOR, {"b": 1.0}, 0.5, orders=(0, 1))
    values = grid(lambda t: t**3 - t, lambda t: 3 * t**2 - 1, 0.5, 5)
    times = np.linspace(0, 2, 23)
    assert np.allclose(interpolate_hermite(discrete, values, times)[:, 0, 0], times**3 - times, atol=1e-14)


def test_linear_is_exact_for_lines_and_at_grid_points():
    discrete = discretize(OSCILLATOR, {"b": 1.0}, 0.1)
    values = np.random.default_rng(0).normal(size=(11, 1, 3))
    assert np.array_equal(interpolate_linear(discrete, values, np.arange(11) * 0.1), values)
    assert np.allclose(interpolate_linear(discrete, values, [0.25]), values[2:4].mean(axis=0))


def test_sensitivities_are_interpolated_too():
    discrete = discretize(OSCILLATOR, {"b": 1.0}, 0.5, orders=(0, 1), sensitivities=("b",))
    values = np.random.default_rng(0).normal(size=(4, 4, 2))
    both = interpolate_hermite(discrete, values, [0.7])
    plain = discretize(OSCILLATOR, {"b": 1.0}, 0.5, orders=(0, 1))
    assert np.array_equal(both[:, :1], interpolate_hermite(plain, values[:, :2], [0.7]))
    assert np.array_equal(both[:, 1:], interpolate_hermite(plain, values[:, 2:], [0.7]))


def test_order_of_the_error_on_a_smooth_process():
    errors = {}
    for step in (0.1, 0.05):
        discrete = discretize(VERY_SMOOTH, None, step, orders=(0, 1))
        found = {"linear": [], "hermite": []}
        for path in range(40):
            exact = ExactPath(discrete, 3, "test", 0, path)
            values = exact.at(np.arange(9) * step)[:, :, None]
            times = (np.arange(8) + 0.5) * step
            truth = exact.at(times)[:, 0]
            found["linear"] += list(interpolate_linear(discrete, values, times)[:, 0, 0] - truth)
            found["hermite"] += list(interpolate_hermite(discrete, values, times)[:, 0, 0] - truth)
        errors[step] = {name: np.std(values) for name, values in found.items()}
    assert errors[0.1]["hermite"] < 0.05 * errors[0.1]["linear"]
    assert 3 < errors[0.1]["linear"] / errors[0.05]["linear"] < 5  # Δ²
    assert 8 < errors[0.1]["hermite"] / errors[0.05]["hermite"] < 16  # Δ^{7/2}: the third derivative is the last


def test_hermite_needs_a_slope():
    discrete = discretize(FilteredNoise.low_pass(std=1.0, time_constant=1.0), None, 0.1)
    with pytest.raises(
        ModelError, match=r"value and the slope .* orders \[0\].*two more poles than zeros.*linear or exact"
    ):
        interpolate_hermite(discrete, np.zeros((3, 1, 1)), [0.1])


@pytest.mark.parametrize("time", [-0.1, 0.41, float("nan")])
def test_times_outside_are_refused(time):
    discrete = discretize(OSCILLATOR, {"b": 1.0}, 0.1)
    with pytest.raises(SimulationError, match=r"must lie in the 4 cells of 0\.1 s"):
        interpolate_linear(discrete, np.zeros((5, 1, 1)), [time])
