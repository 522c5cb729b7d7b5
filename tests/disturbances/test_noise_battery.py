"""Each kind of noise meets the battery; a noise written elsewhere does what the built-in one of the same law does."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import daedal as dd
from batteries.noise import NoiseBattery, NoiseCase
from daedal import der

q, s, T, omega, zeta, k, a, b, c = dd.symbols("q s T omega zeta k a b c")


def white() -> NoiseCase:
    return NoiseCase(dd.WhiteNoise(intensity=q**2), {"q": 0.7}, lambda _: np.array([[0.49]]))


def low_pass() -> NoiseCase:
    std, lag = 1.3, 0.6
    return NoiseCase(
        dd.FilteredNoise.low_pass(std=s, time_constant=T),
        {"s": std, "T": lag},
        lambda w: np.array([[2.0 * lag * std**2 / (1.0 + (w * lag) ** 2)]]),
        lambda tau: np.array([[std**2 * np.exp(-tau / lag)]]),
    )


def resonant() -> NoiseCase:
    std, w0, z = 0.5, 4.0, 0.25
    damped = w0 * np.sqrt(1.0 - z**2)

    def covariance(tau: float) -> np.ndarray:
        swing = np.cos(damped * tau) + z * w0 / damped * np.sin(damped * tau)
        return np.array([[std**2 * np.exp(-z * w0 * tau) * swing]])

    return NoiseCase(
        dd.FilteredNoise.resonant(std=s, frequency=omega, damping=zeta, grid=0.01),
        {"s": std, "omega": w0, "zeta": z},
        lambda w: np.array([[4.0 * std**2 * z * w0**3 / ((w0**2 - w**2) ** 2 + (2.0 * z * w0 * w) ** 2)]]),
        covariance,
    )


def with_a_zero() -> NoiseCase:
    """H(s) = (k s + 1)/((s + 1)(s + q)) = Σ r/(s + p), so that R(τ) = Σ r H(p) e^{−pτ}."""
    gain, poles = 0.8, np.array([1.0, 3.0])
    residues = (1.0 - gain * poles) / (poles[::-1] - poles)
    mirrored = (1.0 + gain * poles) / ((1.0 + poles) * (3.0 + poles))

    def spectrum(w: float) -> np.ndarray:
        return np.array([[(1.0 + (gain * w) ** 2) / ((1.0 + w**2) * (9.0 + w**2))]])

    return NoiseCase(
        dd.FilteredNoise([k, 1.0], [1.0, 1.0 + q, q]),
        {"k": gain, "q": 3.0},
        spectrum,
        lambda tau: np.array([[float(np.sum(residues * mirrored * np.exp(-poles * tau)))]]),
    )


def correlated() -> NoiseCase:
    """Two lags driven by correlated noise, and their sum."""
    rates, B, C = np.array([0.9, 2.5]), np.array([[1.0, 0.0], [0.4, 1.0]]), np.array([[1.0, 0.0], [1.0, 1.0]])
    P = B @ B.T / (rates[:, None] + rates)

    def spectrum(w: float) -> np.ndarray:
        response = C @ np.diag(1.0 / (1j * w + rates)) @ B
        return response @ response.conj().T

    return NoiseCase(
        dd.StateSpaceNoise(A=[[-a, 0.0], [0.0, -b]], B=[[1.0, 0.0], [c, 1.0]], C=[[1.0, 0.0], [1.0, 1.0]]),
        {"a": 0.9, "b": 2.5, "c": 0.4},
        spectrum,
        lambda tau: C @ np.diag(np.exp(-rates * tau)) @ P @ C.T,
    )


class TestEveryNoise(NoiseBattery):
    @pytest.fixture(params=[white, low_pass, resonant, with_a_zero, correlated], ids=lambda make: make.__name__)
    def case(self, request) -> NoiseCase:
        return request.param()


@dataclass(frozen=True)
class Twice:
    """A low-pass process of standard deviation `std` and time constant 1 on two symbols: the whole contract."""

    std: float
    channels: int = 2
    intensity: None = None
    initial: str = "stationary"
    grid: float | None = None
    between: str = "linear"
    derivatives: tuple[int, ...] = (0, 0)

    def matrices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.array([[-1.0]]), np.array([[self.std * np.sqrt(2.0)]]), np.ones((2, 1))

    def entries(self) -> dict[str, Any]:
        return {"std": self.std}


def test_a_noise_of_ones_own_is_simulated_and_filtered():
    x, u, v, r = dd.symbols("x u v r")
    times = np.arange(40) * 0.25
    built_in = dd.StateSpaceNoise([[-1.0]], [[0.3 * np.sqrt(2.0)]], [[1.0], [1.0]])
    runs, costs = [], []
    for noise in (Twice(0.3), built_in):
        model = dd.Model(
            name="pair",
            equations={"rate": der(x) == -r * x + u + v},
            unknowns=[x],
            outputs={"x": x},
            parameters={r: 1.0},
            disturbances={(u, v): noise},  # pyright: ignore[reportArgumentType]
            measurement_noise={"x": 0.1},
            initial={x: 0.0},
        )
        runs.append(dd.simulate(model, times, realizations=3, rng=4)["x"])
        data = dd.Dataset(times, outputs={"x": runs[0][0]})
        costs.append(dd.evaluate(model, data, free=["r"], criterion=dd.Likelihood(), values={"r": 0.9}))
    np.testing.assert_array_equal(runs[0], runs[1])
    assert costs[0].value == pytest.approx(costs[1].value, rel=1e-12)
