"""An oscillator with unmeasured pushes, its samples, and the density of them without the package."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

import daedal as dd
from batteries.joint_gaussian import Gaussian, Reading, minus_log_density
from daedal import der

x, v, z, u, w, w2 = dd.symbols("x v z u w w2")
a, b, c, d, q, s, x0, tau = dd.symbols("a b c d q s x0 tau")

REGULAR = np.arange(8) * 0.25
IRREGULAR = np.array([0.0, 0.1, 0.35, 0.36, 0.9, 1.0, 1.7, 2.05])
KNOTS = np.array([-0.5, 0.2, 0.55, 0.8, 1.3, 1.9, 2.4])  # of the input: between the samples
PUSH = np.array([0.3, -0.8, 1.1, 0.4, -0.6, 0.9, 0.2])
NUMBERS = {"a": 0.8, "b": 1.3, "c": 2.1, "d": 0.4, "q": 0.6, "s": 0.15, "x0": 0.5, "tau": 0.7}
E1, E2 = np.eye(2)


def samples(seed: int, count: int = 8, missing: Sequence[int] = ()) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=count)
    values[list(missing)] = np.nan
    return values


def pushed(kind: str) -> Callable[[float], float]:
    """The input between its samples, made without the package."""
    if kind == "spline":
        return CubicSpline(KNOTS, PUSH)
    if kind == "foh":
        return lambda t: float(np.interp(t, KNOTS, PUSH))
    return lambda t: float(PUSH[np.searchsorted(KNOTS, t, side="right") - 1])


@dataclass(frozen=True)
class Case:
    """A model with data, what is free in it, and the density of the same samples by brute force."""

    model: dd.Model
    data: dd.Dataset | Sequence[dd.Dataset]
    free: Sequence[str]
    density: Callable[[Mapping[str, float]], float]
    at: Mapping[str, float] = field(default_factory=dict)
    criterion: dd.Likelihood = field(default_factory=dd.Likelihood)
    options: Mapping[str, Any] = field(default_factory=dict)

    def evaluate(self, **changes: float) -> dd.Cost:
        return dd.evaluate(
            self.model, self.data, free=self.free, criterion=self.criterion, values={**self.values, **changes},
            **self.options,
        )  # fmt: skip

    @property
    def values(self) -> dict[str, float]:
        return {**{name: NUMBERS[name] for name in self.free if name in NUMBERS}, **self.at}


def oscillator(**changes: Any) -> dd.Model:
    """x' = v, v' = −c x − a v + b u + w; y = x."""
    symbols = (a, b, c, d, q, s, x0, tau)
    fields: dict[str, Any] = {
        "name": "oscillator",
        "equations": {"rate": der(x) == v, "force": der(v) == -c * x - a * v + b * u + w},
        "unknowns": [x, v],
        "inputs": [u],
        "outputs": {"y": x},
        "parameters": {symbol: NUMBERS[str(symbol)] for symbol in symbols},
        "disturbances": {w: dd.WhiteNoise(intensity=q)},
        "measurement_noise": {"y": s},
        "initial": {x: x0, v: 0.0},
    }
    return dd.Model(**fields | changes)


def plant(p: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([[0.0, 1.0], [-p["c"], -p["a"]]]), np.array([[0.0], [p["b"]]])


def white(p: Mapping[str, float], kind: str = "foh", **changes: Any) -> Gaussian:
    A, B = plant(p)
    fields: dict[str, Any] = {
        "A": A, "B": B, "Q": np.diag([0.0, p["q"]]), "mean": np.array([p["x0"], 0.0]), "covariance": np.zeros((2, 2)),
        "u": pushed(kind), "breaks": KNOTS,
    }  # fmt: skip
    return Gaussian(**fields | changes)


def read(times: np.ndarray, values: np.ndarray, row: np.ndarray, known=lambda _: 0.0) -> list[Reading]:
    """Samples of one output, without those that are missing."""
    return [
        Reading(y, [(t, row)], known(t)) for t, y in zip(times.tolist(), values.tolist(), strict=True) if np.isfinite(y)
    ]


def signal(kind: str = "foh") -> dd.Signal:
    return dd.Signal(KNOTS, PUSH, kind)


def single(times: np.ndarray, seed: int, kind: str = "foh", missing: Sequence[int] = (), **options: Any) -> dd.Dataset:
    return dd.Dataset(times, inputs={"u": signal(kind)}, outputs={"y": samples(seed, times.size, missing)}, **options)


def white_density(
    system: Gaussian, data: dd.Dataset, deviation: float, treatment: str = "free", reference: Gaussian | None = None
) -> float:
    given = read(data.outputs["y"].times, data["y"], np.eye(len(system.A))[0])
    return minus_log_density(system, given, deviation**2 * np.eye(len(given)), treatment, reference)
