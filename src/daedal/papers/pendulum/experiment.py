"""The pendulum of the paper's section V in its two readings.

    m x₁'' = x₃ x₁ − k |x₁'| x₁' + u + w²,   m x₂'' = x₃ x₂ − k |x₂'| x₂' − m g,   x₁² + x₂² = L²,
    y = arctan(−x₁/x₂) + v

with u and w the outputs of 1/(s² + 0.8 s + 16) driven by white noise, scaled, at rest at t = 0 and linear between
points 0.01 s apart; y is sampled every 0.1 s. The article and the program that its authors published differ:

|                        | as printed        | authors' program          |
|------------------------|-------------------|---------------------------|
| estimated              | L, truth 6.25 m   | k, truth 6.25 kg/m        |
| held                   | k = 0.05 kg/m     | L = 6.25 m                |
| scale of w, scale of u | 0.2, 0.6          | 0.6, 0.2                  |
| measurement noise      | variance 0.002    | standard deviation 0.002  |

Both count the 500 samples of the transient, which every method drops, in the number of samples N.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.data import Signal
from daedal.disturbances import FilteredNoise, sample_path
from daedal.models import Model
from daedal.simulation import Lanes
from daedal.symbolic import der, symbols

SEED = 1
TRUTH = 6.25
GRID = 3.85 + 0.08 * np.arange(81)
INTERVAL = 0.1  # seconds between samples
FINE = 0.01  # seconds between points of the disturbance and of the input
TRANSIENT = 500  # samples

# The steps that Lanes would choose (1e-6 of the largest angle) take 2.4 times as long; these change no estimate by more
# than 2e-4, against errors of 0.2 and more.
SOLVER = Lanes(step=0.05)


@final
@dataclass(frozen=True)
class Reading:
    """Which parameter is estimated, and the numbers in which article and program differ.

    Attributes
    ----------
    name
        For names of files.
    free
        The parameter that is estimated: "k" (drag, kg/m) or "L" (length, m).
    drag
        The true k; the true L is 6.25 m in both.
    wind, push
        Scales of w, inside the square, and of u.
    noise
        Standard deviation of the measurement, radian.
    """

    name: str
    title: str
    free: str
    quantity: str
    drag: float
    wind: float
    push: float
    noise: float


PROGRAM = Reading("program", "the authors' program", "k", "drag k (kg/m)", drag=6.25, wind=0.6, push=0.2, noise=0.002)
PRINTED = Reading(
    "printed", "the experiment as printed", "L", "length L (m)", drag=0.05, wind=0.2, push=0.6, noise=0.002**0.5
)


def make_pendulum(reading: Reading, *, windy: bool = True) -> Model:
    """The model at the true values; without wind it is what output error simulates."""
    x, y, vx, vy, tension, u, w = symbols("x y vx vy tension u w")
    m, g, k, L = symbols("m g k L")
    wind = w**2 if windy else 0.0
    return Model(
        name="pendulum",
        equations={
            "kinematics x": der(x) == vx,
            "kinematics y": der(y) == vy,
            "force x": m * der(vx) == tension * x - k * np.abs(vx) * vx + u + wind,
            "force y": m * der(vy) == tension * y - k * np.abs(vy) * vy - m * g,
            "rod": x**2 + y**2 == L**2,
        },
        unknowns=[x, y, vx, vy, tension],
        inputs=[u],
        outputs={"angle": np.arctan(x / -y)},
        parameters={m: 0.3, g: 9.81, L: 6.25, k: reading.drag},
        disturbances={w: _make_noise(reading.wind, grid=FINE)} if windy else {},
        measurement_noise={"angle": reading.noise},
        initial={x: 0.0, vx: 0.0},
        guess={y: -L},
    )


def make_push(reading: Reading, samples: int) -> Signal:
    """The known input, the same realization for all data sets and both readings, in its scale."""
    times = np.arange(round(samples * INTERVAL / FINE) + 1, dtype=np.float64) * FINE
    return Signal(times, sample_path(_make_noise(reading.push), times, rng=SEED))


def list_times(samples: int) -> np.ndarray:
    """t₁ … t_N; the pendulum starts at rest at t = 0."""
    return np.arange(1, samples + 1) * INTERVAL


def _make_noise(scale: float, grid: float | None = None) -> FilteredNoise:
    return FilteredNoise(numerator=(scale,), denominator=(1.0, 0.8, 16.0), grid=grid, initial="rest")
