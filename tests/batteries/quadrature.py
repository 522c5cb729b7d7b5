"""y = see(w) + e with w the first-order noise of a low-pass: data, models, and log L by quadrature over w."""

from collections.abc import Callable

import numpy as np

import daedal as dd

SEEN: dict[str, Callable] = {
    "w": lambda w: w,
    "w + 0.3 w²": lambda w: w + 0.3 * w**2,
    "w²": lambda w: w**2,
    "exp w": lambda w: np.exp(w),
}
TIMES = np.arange(100) * 0.3
TRUTH = {"std": 1.0, "tau": 1.0, "sigma": 0.5}


def make_seen(see: Callable, **changes) -> dd.Model:
    """With the noise's own numbers, and that of the measurement, as parameters."""
    x, w, std, tau, sigma = dd.symbols("x w std tau sigma")
    given = {
        "name": "seen",
        "equations": {"see": x == see(w)},
        "unknowns": [x],
        "outputs": {"x": x},
        "parameters": {std: 1.0, tau: 1.0, sigma: 0.5},
        "disturbances": {w: dd.FilteredNoise.low_pass(std=std, time_constant=tau)},
        "measurement_noise": {"x": sigma},
    }
    return dd.Model(**(given | changes))


def draw_seen(see: Callable) -> dd.Dataset:
    """A record; w first, then the noise."""
    rng, a = np.random.default_rng(0), np.exp(-0.3)
    z, w = rng.standard_normal(TIMES.size), np.zeros(TIMES.size)
    w[0] = z[0]
    for k in range(1, w.size):
        w[k] = a * w[k - 1] + np.sqrt(1.0 - a * a) * z[k]
    return dd.Dataset(TIMES, outputs={"x": see(w) + 0.5 * rng.standard_normal(w.size)})


def integrate(see: Callable, y: np.ndarray, std: float = 1.0, tau: float = 1.0, sigma: float = 0.5) -> float:
    """log L, sample by sample; NaN in y is no sample."""
    a, grid = np.exp(-0.3 / tau), np.linspace(-6.5, 6.5, 1001)  # in units of std
    move = np.exp(-((grid[:, None] - a * grid) ** 2) / 2 / (1 - a**2)) / np.sqrt(2 * np.pi * (1 - a**2))
    density, total, width = np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi), 0.0, grid[1] - grid[0]
    for n, value in enumerate(y):
        density = move @ density * width if n else density
        if np.isfinite(value):
            density = density * np.exp(-0.5 * ((value - see(std * grid)) / sigma) ** 2) / np.sqrt(2 * np.pi) / sigma
            share = density.sum() * width
            total, density = total + np.log(share), density / share
    return total


def differentiate(see: Callable, y: np.ndarray) -> np.ndarray:
    """∂ log L by std, tau and sigma, by differences."""
    slopes = []
    for name, value in TRUTH.items():
        up, down = (integrate(see, y, **{name: value + e}) for e in (1e-4, -1e-4))
        slopes.append((up - down) / 2e-4)
    return np.array(slopes)
