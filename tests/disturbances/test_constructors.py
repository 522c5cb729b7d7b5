"""low_pass and resonant have the standard deviation they were asked for."""

import numpy as np
import pytest

from daedal.disturbances import FilteredNoise, choose_grid, realize
from daedal.errors import ModelError
from daedal.linear import list_output_rows, solve_lyapunov
from daedal.symbolic import symbols


def deviations(noise, numbers=None, orders=(0,)):
    space = realize(noise, numbers)
    rows = list_output_rows(space.A, space.C, orders)
    return np.sqrt(np.diag(rows @ solve_lyapunov(space.A, space.intensity) @ rows.T))


def test_filter_of_the_pendulum_has_the_stated_standard_deviation():
    assert deviations(FilteredNoise(numerator=[1.0], denominator=[1.0, 0.8, 16.0]))[0] == pytest.approx(0.198, abs=5e-4)


@pytest.mark.parametrize(("std", "time_constant"), [(3.0, 0.5), (1e-3, 100.0)])
def test_low_pass(std, time_constant):
    noise = FilteredNoise.low_pass(std=std, time_constant=time_constant, grid=0.1, initial="rest")
    assert deviations(noise)[0] == pytest.approx(std, rel=1e-12)
    assert realize(noise).fastest_pole == pytest.approx(1 / time_constant)
    assert (noise.grid, noise.initial) == (0.1, "rest")


@pytest.mark.parametrize(("std", "frequency", "damping"), [(2.0, 4.0, 0.1), (0.1, 300.0, 1.5)])
def test_resonant(std, frequency, damping):
    noise = FilteredNoise.resonant(std=std, frequency=frequency, damping=damping)
    assert deviations(noise, orders=(0, 1)) == pytest.approx([std, std * frequency], rel=1e-11)


def test_arguments_may_be_expressions():
    size, lag = symbols("size lag")
    assert deviations(FilteredNoise.low_pass(std=size, time_constant=lag / 2), {"size": 3.0, "lag": 7.0})[
        0
    ] == pytest.approx(3.0)
    noise = FilteredNoise.resonant(std=size, frequency=2 * lag, damping=0.3)
    assert deviations(noise, {"size": 0.2, "lag": 7.0})[0] == pytest.approx(0.2)


def test_arguments_must_be_positive():
    with pytest.raises(ModelError, match="The std of low_pass must be positive, got -1"):
        FilteredNoise.low_pass(std=-1.0, time_constant=1.0)
    with pytest.raises(ModelError, match="The damping of resonant must be positive, got 0"):
        FilteredNoise.resonant(std=1.0, frequency=1.0, damping=0)
    with pytest.raises(ModelError, match="The time_constant of low_pass must be finite, got nan"):
        FilteredNoise.low_pass(std=1.0, time_constant=float("nan"))


def test_grid_is_the_sample_interval_halved_until_the_poles_are_resolved():
    noise = FilteredNoise.low_pass(std=1.0, time_constant=0.01)
    chosen = choose_grid(noise, None, 0.1)
    assert chosen.warning is None
    assert 0.1 / chosen.step == 256
    assert chosen.step <= 0.05 * 0.01 < 2 * chosen.step
    assert choose_grid(noise, None, 1e-5).step == 1e-5


def test_given_grid_is_kept_with_a_warning_when_coarse():
    fine = FilteredNoise.low_pass(std=1.0, time_constant=1.0, grid=0.1)
    coarse = FilteredNoise.low_pass(std=1.0, time_constant=1.0, grid=0.5)
    assert (choose_grid(fine, None, 1.0).step, choose_grid(fine, None, 1.0).warning) == (0.1, None)
    chosen = choose_grid(coarse, None, 1.0)
    assert chosen.step == 0.5
    assert chosen.warning is not None
    assert "0.5 s is coarse" in chosen.warning
    assert "at 1 rad/s: 0.05 s or less" in chosen.warning


@pytest.mark.parametrize("interval", [0.0, -1.0, float("nan")])
def test_sample_interval_must_be_positive(interval):
    with pytest.raises(ModelError, match="sample interval must be a positive number"):
        choose_grid(FilteredNoise.low_pass(std=1.0, time_constant=1.0), None, interval)
