"""Problems that every criterion meets: a model, its data, what is free, and a point to look at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

import daedal as dd
from daedal import der

x, v, u, w, a, b, s, tau, x0, noise = dd.symbols("x v u w a b s tau x0 noise")
px, py, vx, vy, tension, k, L = dd.symbols("px py vx vy tension k L")
STEP, COUNT = 0.1, 61
TIMES = np.arange(COUNT) * STEP


@dataclass(frozen=True, eq=False)
class Case:
    """One problem; `at` is the point at which the criterion is looked at, `true` what the data were made with."""

    name: str
    model: dd.Model
    data: dd.Dataset | Sequence[dd.Dataset]
    free: Sequence[str]
    criterion: Any
    at: Mapping[str, float]
    local: Sequence[str] = ()
    true: Mapping[str, float] = field(default_factory=dict)

    def evaluate(self, values: Mapping[str, float] | None = None, rng: int = 5) -> dd.Cost:
        """The criterion at these values, or at `at`."""
        return dd.evaluate(
            self.model, self.data, free=self.free, local=self.local, criterion=self.criterion,
            values=self.at if values is None else values, rng=rng,
        )  # fmt: skip

    def fit(self, **options: Any) -> dd.Fit:
        """The fit of this problem."""
        options = {"free": self.free, "local": self.local, "criterion": self.criterion, "rng": 5} | options
        return dd.fit(self.model, self.data, **options)

    def changed(self, **fields: Any) -> "Case":
        """Another problem that differs in these."""
        return replace(self, **fields)


def first_order(**changes: Any) -> dd.Model:
    """x' = −a x + b u."""
    fields: dict[str, Any] = {
        "name": "first order",
        "equations": {"rate": der(x) == -a * x + b * u},
        "unknowns": [x],
        "inputs": [u],
        "outputs": {"level": x},
        "parameters": {a: 0.7, b: 1.5},
        "measurement_noise": {"level": 0.05},
        "initial": {x: 0.3},
    }
    return dd.Model(**fields | changes)


def square(**changes: Any) -> dd.Model:
    """x' = −a x + u + w², w a low-pass process of standard deviation s and time constant tau."""
    fields: dict[str, Any] = {
        "name": "square",
        "equations": {"rate": der(x) == -a * x + u + w**2},
        "unknowns": [x],
        "inputs": [u],
        "outputs": {"level": x},
        "parameters": {
            a: dd.Parameter(0.8, lower=0.05, upper=9.0),
            s: dd.Parameter(0.9, scale="log"),
            tau: dd.Parameter(0.5, scale="log"),
        },
        "disturbances": {w: dd.FilteredNoise.low_pass(std=s, time_constant=tau, grid=0.05)},
        "measurement_noise": {"level": 0.05},
        "initial": {x: 0.3},
    }
    return dd.Model(**fields | changes)


def pendulum(**changes: Any) -> dd.Model:
    """The index-3 pendulum of the paper, pushed by w²."""
    fields: dict[str, Any] = {
        "name": "pendulum",
        "equations": {
            "kinematics x": der(px) == vx,
            "kinematics y": der(py) == vy,
            "force x": 0.3 * der(vx) == tension * px - k * np.abs(vx) * vx + u + w**2,
            "force y": 0.3 * der(vy) == tension * py - k * np.abs(vy) * vy - 0.3 * 9.81,
            "rod": px**2 + py**2 == L**2,
        },
        "unknowns": [px, py, vx, vy, tension],
        "inputs": [u],
        "outputs": {"angle": np.arctan2(px, -py)},
        "parameters": {k: dd.Parameter(6.0, lower=1.0, upper=20.0), L: 6.25, s: dd.Parameter(0.6, scale="log")},
        "disturbances": {w: dd.FilteredNoise([s], [1.0, 0.8, 16.0], grid=0.05, initial="rest")},
        "measurement_noise": {"angle": 0.002},
        "initial": {px: 0.5, vx: 0.0},
        "guess": {py: -L},
    }
    return dd.Model(**fields | changes)


def push(times: np.ndarray = TIMES, size: float = 1.0) -> dd.Signal:
    """A known input with several frequencies."""
    return dd.Signal(times, size * (1.0 + np.sin(1.3 * (times - times[0])) + 0.5 * np.cos(3.1 * (times - times[0]))))


def simulated(model: dd.Model, true: Mapping[str, float], rng: int = 1, name: str = "data", **options: Any):
    """One experiment with disturbances and measurement noise."""
    size = options.pop("size", 1.0)
    options = {"inputs": {"u": push(size=size)}} | options
    truth = model.with_parameters(true)
    found = dd.simulate(truth, TIMES, realizations=1, measurement_noise=True, rng=rng, **options).to_dataset()
    return dd.Dataset(TIMES, inputs=found.inputs, outputs=found.outputs, name=name)


def with_gaps(data: dd.Dataset, places: Sequence[int]) -> dd.Dataset:
    """The same with missing samples."""
    outputs = {}
    for number, (name, samples) in enumerate(data.outputs.items()):
        values = samples.values.copy()
        values[np.asarray(places) + number] = np.nan
        outputs[name] = dd.Samples(samples.times, values)
    return dd.Dataset(data.times, inputs=data.inputs, outputs=outputs, name=data.name)


def shifted(data: dd.Dataset, by: float) -> dd.Dataset:
    """Data and inputs later by so many seconds."""
    moved = {name: dd.Signal(one.times + by, one.values) for name, one in data.inputs.items()}
    outputs = {name: dd.Samples(one.times + by, one.values) for name, one in data.outputs.items()}
    return dd.Dataset(data.times + by, inputs=moved, outputs=outputs, name=data.name)


def scaled(data: dd.Dataset, factors: Mapping[str, float]) -> dd.Dataset:
    """Some outputs in other units."""
    outputs = {name: dd.Samples(one.times, one.values * factors.get(name, 1.0)) for name, one in data.outputs.items()}
    return dd.Dataset(data.times, inputs=data.inputs, outputs=outputs, name=data.name)


TWO = {"level": x, "inflow": b * u - a * x}
TRUE = {"a": 1.0, "b": 1.2}
SQUARE = {"a": 1.0, "s": 0.8, "tau": 0.4}


@cache
def cases() -> dict[str, Case]:
    """Name → problem."""
    OE, PEM = dd.OutputError, dd.SimulationPEM
    plain, noisy = first_order(), square()
    one = simulated(plain, TRUE)
    two_outputs = first_order(outputs=TWO, measurement_noise={"level": 0.05, "inflow": 0.2})
    two = simulated(two_outputs, TRUE)
    undeclared = first_order(outputs=TWO, measurement_noise={})
    together = first_order(
        outputs=TWO, measurement_noise={("level", "inflow"): np.array([[0.0025, 0.006], [0.006, 0.04]])}
    )
    each = first_order(measurement_noise={"level": 0.03 + 0.05 * (np.arange(COUNT) % 3)})
    sensor = first_order(
        outputs=TWO,
        parameters={a: 0.7, b: 1.5, noise: dd.Parameter(0.1, scale="log")},
        measurement_noise={"level": noise, "inflow": 3 * noise},
    )
    start = first_order(parameters={a: 0.7, b: 1.5, x0: 0.0}, initial={x: x0})
    wet = simulated(noisy, SQUARE)
    pair = [simulated(noisy, SQUARE, rng=3, name="day"), simulated(noisy, SQUARE, rng=4, name="night", size=0.3)]
    own_start = square(
        parameters={**{name: noisy.parameters[name] for name in ("a", "s", "tau")}, "x0": 0.0}, initial={x: x0}
    )
    both = square(outputs={"level": x, "quarter": x**2 / 4}, measurement_noise={"level": 0.05, "quarter": 0.1})
    both_free = square(outputs={"level": x, "quarter": x**2 / 4}, measurement_noise={})
    wet_both = simulated(both, SQUARE)
    swing = pendulum()
    swung = simulated(swing, {"k": 8.0, "s": 1.5}, size=0.5)
    own_times = dd.Dataset(
        inputs=two.inputs,
        outputs={
            "level": two.outputs["level"],
            "inflow": dd.Samples(TIMES[:-1:3] + 0.03, two.outputs["inflow"].values[:-1:3]),
        },
    )
    ab, near = ("a", "b"), {"a": 0.85, "b": 1.4}
    square_free, square_at = ("a", "s", "tau"), {"a": 0.9, "s": 0.85, "tau": 0.45}
    listed = [
        Case("output error", plain, one, ab, OE(), near, true=TRUE),
        Case("output error, transient", plain, one, ab, OE(transient=1.0), near, true=TRUE),
        Case("output error, gaps", plain, with_gaps(one, [0, 7, 8, 30]), ab, OE(), near, true=TRUE),
        Case("output error, two outputs", two_outputs, two, ab, OE(), near, true=TRUE),
        Case("output error, no noise declared", undeclared, two, ab, OE(), near, true=TRUE),
        Case("output error, correlated noise", together, two, ab, OE(), near, true=TRUE),
        Case(
            "output error, correlated noise and gaps", together, with_gaps(two, [3, 4, 20]), ab, OE(), near, true=TRUE
        ),
        Case("output error, accuracy of each sample", each, one, ab, OE(), near, true=TRUE),
        Case("output error, own times", two_outputs, own_times, ab, OE(), near, true=TRUE),
        Case("output error, free accuracy", sensor, two, (*ab, "noise"), OE(), {**near, "noise": 0.08}, true=TRUE),
        Case("output error, free start", start, one, (*ab, "x0"), OE(), {**near, "x0": 0.2}, true=TRUE),
        Case(
            "output error, experiments", own_start, pair, ("a",), OE(),
            {"a": 0.9, "x0[day]": 0.2, "x0[night]": 0.4}, local=("x0",), true=SQUARE,
        ),
        Case("output error, huber", plain, with_gaps(one, [7, 8]), ab, OE(loss="huber"), near, true=TRUE),
        Case("output error, soft_l1", two_outputs, two, ab, OE(loss="soft_l1"), near, true=TRUE),
        Case("output error, cauchy", undeclared, two, ab, OE(loss="cauchy"), near, true=TRUE),
        Case("output error, pendulum", swing, swung, ("k", "L"), OE(), {"k": 7.0, "L": 6.2}, true={"k": 8.0}),
        Case("mean", noisy, wet, square_free, PEM(12), square_at, true=SQUARE),
        Case("mean, not debiased", noisy, wet, square_free, PEM(12, debias=False), square_at, true=SQUARE),
        Case("mean, transient", noisy, wet, ("a", "s"), PEM(9, transient=1.0), {"a": 0.9, "s": 0.85}, true=SQUARE),
        Case("mean, whitened", noisy, wet, ("a", "s"), PEM(12, whiten=True), {"a": 0.9, "s": 0.85}, true=SQUARE),
        Case(
            "mean, whitened by order", noisy, with_gaps(wet, [11, 12, 40]), ("a", "s"), PEM(12, whiten=2),
            {"a": 0.9, "s": 0.85}, true=SQUARE,
        ),
        Case(
            "mean, whitened, not debiased", noisy, wet, ("a", "s"), PEM(12, whiten=2, debias=False),
            {"a": 0.9, "s": 0.85}, true=SQUARE,
        ),
        Case("mean, two realizations", noisy, wet, ("a",), PEM(2), {"a": 0.9}, true=SQUARE),
        Case("mean, two outputs", both, wet_both, ("a", "s"), PEM(10), {"a": 0.9, "s": 0.85}, true=SQUARE),
        Case("mean, no noise declared", both_free, wet_both, ("a", "s"), PEM(10), {"a": 0.9, "s": 0.85}, true=SQUARE),
        Case(
            "mean, two outputs whitened", both, wet_both, ("a", "s"), PEM(10, whiten=1),
            {"a": 0.9, "s": 0.85}, true=SQUARE,
        ),
        Case(
            "mean, experiments", own_start, pair, ("a", "s"), PEM(10),
            {"a": 0.9, "s": 0.85, "x0[day]": 0.2, "x0[night]": 0.4}, local=("x0",), true=SQUARE,
        ),
        Case("mean, pendulum", swing, swung, ("k", "s"), PEM(8), {"k": 7.0, "s": 0.8}, true={"k": 8.0, "s": 1.5}),
    ]  # fmt: skip
    return {case.name: case for case in listed}


# Written out, so that collecting the tests simulates nothing.
NAMES = (
    "output error",
    "output error, transient",
    "output error, gaps",
    "output error, two outputs",
    "output error, no noise declared",
    "output error, correlated noise",
    "output error, correlated noise and gaps",
    "output error, accuracy of each sample",
    "output error, own times",
    "output error, free accuracy",
    "output error, free start",
    "output error, experiments",
    "output error, huber",
    "output error, soft_l1",
    "output error, cauchy",
    "output error, pendulum",
    "mean",
    "mean, not debiased",
    "mean, transient",
    "mean, whitened",
    "mean, whitened by order",
    "mean, whitened, not debiased",
    "mean, two realizations",
    "mean, two outputs",
    "mean, no noise declared",
    "mean, two outputs whitened",
    "mean, experiments",
    "mean, pendulum",
)


def differences(case: Case, relative: float = 2e-4) -> np.ndarray:
    """The gradient by central differences, extrapolated from two steps (Richardson)."""
    names = case.evaluate().names
    point = np.array([case.at[name] for name in names])

    def value(theta: np.ndarray) -> float:
        return case.evaluate(dict(zip(names, map(float, theta), strict=True))).value

    result = []
    for number in range(point.size):
        step = np.zeros(point.size)
        step[number] = relative * max(abs(point[number]), 0.1)
        wide, narrow = (
            (value(point + h * step) - value(point - h * step)) / (2 * h * step[number]) for h in (1.0, 0.5)
        )
        result.append((4 * narrow - wide) / 3)
    return np.array(result)
