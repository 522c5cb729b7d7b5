"""Small models whose estimates are known, and their data, for tests of `fit` and `evaluate`."""

import numpy as np

import daedal as dd
from daedal import der

x, v, u, w, k, b, c, y0, omega, sigma = dd.symbols("x v u w k b c y0 omega sigma")

TIMES = np.linspace(0.0, 3.0, 31)


def noisy(values, size=0.01, seed=0):
    return values + size * np.random.default_rng(seed).normal(size=values.size)


def make_lag(**changes):
    """x' = −k x + w from 1, with a disturbance w."""
    fields = {
        "name": "lag",
        "equations": {"lag": der(x) == -k * x + w},
        "unknowns": [x],
        "outputs": {"x": x},
        "parameters": {k: 2.0},
        "initial": {x: 1.0},
        "disturbances": {w: dd.FilteredNoise.low_pass(std=0.1, time_constant=1.0)},
    }
    return dd.Model(**fields | changes)


def decay(start=2.0, **changes):
    """x' = −k x from 1."""
    fields = {
        "name": "decay",
        "equations": {"rate": der(x) == -k * x},
        "unknowns": [x],
        "outputs": {"level": x},
        "parameters": {k: start},
        "initial": {x: 1.0},
    }
    return dd.Model(**fields | changes)


def line(slope=0.0, offset=0.0, **changes):
    """x' = b, y = x + c: linear regression."""
    fields = {
        "name": "line",
        "equations": {"rate": der(x) == b},
        "unknowns": [x],
        "outputs": {"y": x + c},
        "parameters": {b: slope, c: offset},
        "initial": {x: 0.0},
    }
    return dd.Model(**fields | changes)


def escape(start):
    """x' = k x² from 1 has x = 1/(1 − k t): no solution at t = 1/k."""
    return decay(start, equations={"rate": der(x) == k * x**2})


def sine(start):
    return dd.Model(
        name="sine",
        equations={"p": der(x) == v, "f": der(v) == -(omega**2) * x},
        unknowns=[x, v],
        outputs={"y": x},
        parameters={omega: dd.Parameter(start, lower=0.5, upper=8.0)},
        initial={x: 0.0, v: omega},
    )


def levels(values, times=TIMES, **options):
    return dd.Dataset(times, outputs={"level": values}, **options)


def textbook():
    """Estimates, covariance and residual of the straight line by the normal equations."""
    X = np.stack([TIMES, np.ones(TIMES.size)], axis=1)
    theta = np.linalg.lstsq(X, LINE["y"], rcond=None)[0]
    residual = LINE["y"] - X @ theta
    return theta, residual @ residual / (TIMES.size - 2) * np.linalg.inv(X.T @ X), residual


DATA = levels(noisy(np.exp(-TIMES)))
LINE = dd.Dataset(TIMES, outputs={"y": noisy(0.5 * TIMES + 2.0, 0.1, seed=3)})
SINE_TIMES = np.arange(61) * 0.1
SINE = dd.Dataset(SINE_TIMES, outputs={"y": noisy(np.sin(4.0 * SINE_TIMES), 0.05)})
