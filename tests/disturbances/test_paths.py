"""Paths on the grid: their law, their reproducibility, their sensitivities."""

import numpy as np
import pytest
from scipy.linalg import expm, toeplitz

from batteries.counting import count_calls
from daedal.disturbances import (
    FilteredNoise,
    StateSpaceNoise,
    advance,
    compute_output,
    discretize,
    draw_innovations,
    make_initial_state,
    realize,
)
from daedal.errors import ModelError
from daedal.linear import solve_lyapunov
from daedal.symbolic import symbols

b, zeta, omega = symbols("b zeta omega")
NUMBERS = {"b": 0.6, "zeta": 0.1, "omega": 4.0}
OSCILLATOR = FilteredNoise(numerator=[1.0], denominator=[1.0, 0.8, 16.0])
CORRELATED = StateSpaceNoise(
    A=[[-1.0, 0.5, 0.0], [0.0, -2.0, 1.0], [0.0, 0.0, -3.0]],
    B=[[1.0, 0.0], [0.3, 0.8], [0.5, -1.0]],
    C=[[1.0, 0.0, 1.0], [0.0, 1.0, 0.5]],
)


def generate(noise, numbers=None, *, step=0.05, steps=60, paths=range(400), orders=(0,), sensitivities=(), seed=1):
    """Values (points, rows, paths), the first point included."""
    discrete = discretize(noise, numbers, step, orders, sensitivities)
    normals = draw_innovations(seed, "test", 0, paths, range(steps + 1), discrete.states)
    state = make_initial_state(discrete, normals[0])
    first = advance(discrete, state, normals[:0])[0]
    assert first.shape[0] == 0
    values, _ = advance(discrete, state, normals[1:])
    return values


def covariance(noise, lag):
    space = realize(noise)
    P = solve_lyapunov(space.A, space.intensity)
    return space.C @ expm(space.A * lag) @ P @ space.C.T


@pytest.mark.parametrize("noise", [OSCILLATOR, CORRELATED], ids=["oscillator", "correlated"])
def test_covariance_over_paths(noise):
    paths = 4000
    values = generate(noise, paths=range(paths), steps=20)
    for here, there in [(3, 3), (3, 4), (2, 12), (0, 19)]:
        sample = values[there] @ values[here].T / paths
        exact = covariance(noise, 0.05 * (there - here))
        power = np.diag(covariance(noise, 0.0))
        band = 5 * np.sqrt((power[:, None] * power + exact**2) / paths)
        assert (np.abs(sample - exact) < band).all()


def test_spectrum():
    steps, paths, step = 256, 2000, 0.1
    values = generate(OSCILLATOR, paths=range(paths), steps=steps, step=step)[:, 0]
    window = np.hanning(steps)
    power = (np.abs(np.fft.rfft(window[:, None] * values, axis=0)) ** 2).mean(axis=1)
    lags = np.array([covariance(OSCILLATOR, step * lag).item() for lag in range(steps)])
    weighted = toeplitz(lags) * window[:, None] * window
    rows = np.fft.rfft(weighted, axis=0)
    expected = np.einsum(
        "fk,fk->f", rows, np.exp(2j * np.pi * np.outer(np.arange(len(rows)), np.arange(steps)) / steps)
    ).real
    inner = slice(2, -2)  # the ends have one degree of freedom in place of two
    assert (np.abs(power / expected - 1)[inner] < 5.5 / np.sqrt(paths)).all()


def test_rest_starts_at_zero_and_grows_to_the_stationary_law():
    noise = FilteredNoise(numerator=[1.0], denominator=[1.0, 0.8, 16.0], initial="rest")
    values = generate(noise, steps=400, paths=range(2000))[:, 0]
    discrete = discretize(noise, None, 0.05)
    assert not make_initial_state(discrete, np.ones((2, 3))).any()
    assert values[0].std() < 0.01
    assert values[-1].std() == pytest.approx(0.198, rel=0.08)


def test_derivative_rows_are_the_slope():
    noise = FilteredNoise(numerator=[1.0], denominator=[1.0, 3.0, 3.0, 1.0])
    values = generate(noise, step=1e-4, steps=50, paths=range(5), orders=(0, 1, 2))
    difference = (values[2:, 0] - values[:-2, 0]) / 2e-4
    assert np.allclose(difference, values[1:-1, 1], atol=1e-6)
    assert np.allclose((values[2:, 1] - values[:-2, 1]) / 2e-4, values[1:-1, 2], atol=2e-2)


@pytest.mark.parametrize("noise", [OSCILLATOR, CORRELATED], ids=["oscillator", "correlated"])
def test_path_is_the_same_in_every_block(noise):
    whole = generate(noise, paths=range(50))
    for paths in (range(7, 8), range(11, 42), range(2, 5)):
        assert np.array_equal(generate(noise, paths=paths), whole[:, :, paths.start : paths.stop])


def test_path_is_the_same_in_pieces_of_time():
    discrete = discretize(CORRELATED, None, 0.1)
    normals = draw_innovations(3, "test", 0, range(9), range(41), 3)
    state = make_initial_state(discrete, normals[0])
    whole, last = advance(discrete, state, normals[1:])
    pieces = []
    for piece in (normals[1:2], normals[2:2], normals[2:30], normals[30:]):
        values, state = advance(discrete, state, piece)
        pieces.append(values)
    assert np.array_equal(np.concatenate(pieces), whole)
    assert np.array_equal(state, last)


def test_values_of_a_state():
    noise = FilteredNoise(numerator=[b], denominator=[1.0, 2 * zeta * omega, omega**2])
    discrete = discretize(noise, NUMBERS, 0.1, (0, 1), ("b", "omega"))
    normals = draw_innovations(3, "test", 0, range(9), range(4), 2)
    values, state = advance(discrete, make_initial_state(discrete, normals[0]), normals[1:])
    assert np.allclose(compute_output(discrete, state), values[-1], rtol=1e-13, atol=1e-15)


def test_more_steps_of_more_paths_take_no_more_calls():
    """All of them are advanced in compiled code."""
    discrete = discretize(OSCILLATOR, None, 0.01)

    def calls(paths, steps):
        state = make_initial_state(discrete, np.zeros((2, paths)))
        return count_calls(
            lambda: advance(discrete, state, draw_innovations(1, "test", 0, range(paths), range(1, 1 + steps), 2))
        )

    calls(5, 10)  # compiles
    assert calls(500, 1000) < 2 * calls(5, 10)


@pytest.mark.parametrize("initial", ["stationary", "rest"])
def test_sensitivities_of_paths(initial):
    noise = FilteredNoise(numerator=[b], denominator=[1.0, 2 * zeta * omega, omega**2], initial=initial)
    names = ("b", "zeta", "omega", "absent")
    options = {"orders": (0, 1), "paths": range(6), "steps": 200}
    numbers = {**NUMBERS, "absent": 1.0}
    values = generate(noise, numbers, sensitivities=names, **options)
    assert values.shape == (200, 10, 6)
    assert np.array_equal(values[:, :2], generate(noise, numbers, **options))
    for i, name in enumerate(names):
        width = 1e-5 * numbers[name]
        above, below = (generate(noise, {**numbers, name: numbers[name] + d}, **options) for d in (width, -width))
        difference = (above - below) / (2 * width)
        assert np.abs(values[:, 2 + 2 * i : 4 + 2 * i] - difference).max() < 1e-7 * max(1, np.abs(difference).max())


def test_sensitivities_of_correlated_components():
    noise = StateSpaceNoise(A=[[-b, 0.2], [0.0, -omega]], B=[[1.0, zeta], [0.0, b]], C=[[1.0, 0.0], [zeta, 1.0]])
    options = {"paths": range(4), "steps": 50}
    values = generate(noise, NUMBERS, sensitivities=tuple(NUMBERS), **options)
    for i, (name, number) in enumerate(NUMBERS.items()):
        width = 1e-5
        above, below = (generate(noise, {**NUMBERS, name: number + d}, **options) for d in (width, -width))
        assert np.abs(values[:, 2 + 2 * i : 4 + 2 * i] - (above - below) / (2 * width)).max() < 1e-7


def test_states_that_share_their_noise():
    noise = StateSpaceNoise(A=[[-b, 0.0], [0.0, -b]], B=[[1.0], [2.0]], C=[[1.0, 0.0], [0.0, 1.0]])
    options = {"paths": range(4), "steps": 30}
    values = generate(noise, {"b": 0.7}, sensitivities=("b",), **options)
    assert np.allclose(values[:, 1], 2 * values[:, 0], rtol=1e-12)
    above, below = (generate(noise, {"b": 0.7 + d}, **options) for d in (1e-5, -1e-5))
    assert np.abs(values[:, 2:] - (above - below) / 2e-5).max() < 1e-7


@pytest.mark.parametrize("step", [1e-4, 0.01])
def test_long_chains_behind_one_input_on_a_fine_grid(step):
    noise = FilteredNoise(numerator=[1.0], denominator=np.poly([-1.0, -2.0, -3.0, -4.0, -5.0]).tolist())
    discrete = discretize(noise, None, step, orders=(0, 4))
    paths = 3000
    normals = draw_innovations(1, "test", 0, range(paths), range(1, 2), 5)
    values, _ = advance(discrete, np.zeros((5, paths)), normals)
    powers = np.array([4, 0])
    exact = np.sqrt(step ** (2 * powers + 1) / (2 * powers + 1)) / [24, 1]  # (n − 1)-fold integrals of white noise
    assert values[0].std(axis=1) == pytest.approx(exact, rel=6 / np.sqrt(2 * paths) + 5 * step)
    assert (np.diag(discrete.matrices.factor) > 0).all()


def test_derivatives_that_do_not_exist():
    with pytest.raises(ModelError, match=r"derivatives up to order 1, asked for were the orders \[0, 2\]"):
        discretize(OSCILLATOR, None, 0.1, orders=(0, 2))
    uneven = StateSpaceNoise(A=[[-1.0, 1.0], [0.0, -1.0]], B=[[0.0], [1.0]], C=[[1.0, 0.0], [0.0, 1.0]])
    values = generate(uneven, orders=(0, 1), paths=range(2))
    assert np.isnan(values[:, 3]).all()
    assert np.isfinite(values[:, :3]).all()


@pytest.mark.parametrize("step", [0.0, -0.1, float("inf")])
def test_step_must_be_positive(step):
    with pytest.raises(ModelError, match="step of a noise grid must be positive"):
        discretize(OSCILLATOR, None, step)
