"""The likelihood and its estimates against published numbers."""

<<<<<<< HEAD
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any
=======
import json
from pathlib import Path
>>>>>>> w-tests

import numpy as np
import pytest

import daedal as dd
<<<<<<< HEAD
from catalogue import ornstein as published
from catalogue.drive import drive
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


def filtered(p: Mapping[str, float], rest: bool) -> Gaussian:
    """The oscillator pushed by q/(s² + a s + 3/tau) instead of white noise."""
    A, B = plant(p)
    shaping = np.array([[0.0, 1.0], [-3.0 / p["tau"], -p["a"]]])
    whole = block_diag(A, shaping)
    whole[1, 2] = p["q"]
    start = np.zeros((2, 2)) if rest else solve_continuous_lyapunov(shaping, -np.diag([0.0, 1.0]))
    return Gaussian(
        whole, np.diag([0.0, 0.0, 0.0, 1.0]), np.array([p["x0"], 0.0, 0.0, 0.0]), block_diag(np.zeros((2, 2)), start),
        np.vstack([B, 0 * B]), pushed("foh"), KNOTS,
    )  # fmt: skip


def read(times: np.ndarray, values: np.ndarray, row: np.ndarray, known=lambda _: 0.0) -> list[Reading]:
    """Samples of one output, without those that are missing."""
    return [
        Reading(y, [(t, row)], known(t)) for t, y in zip(times.tolist(), values.tolist(), strict=True) if np.isfinite(y)
    ]


def signal(kind: str = "foh") -> dd.Signal:
    return dd.Signal(KNOTS, PUSH, kind)


def single(times: np.ndarray, seed: int, kind: str = "foh", missing: Sequence[int] = (), **options: Any) -> dd.Dataset:
    return dd.Dataset(times, inputs={"u": signal(kind)}, outputs={"y": samples(seed, times.size, missing)}, **options)


def one_output(times: np.ndarray, kind: str, missing: Sequence[int] = ()) -> Case:
    data = single(times, 1, kind, missing)
    free = ["a", "b", "c", "q", "s", "x0"][len(missing) :]
    return Case(
        oscillator(), data, free, lambda p: _white_density(white(NUMBERS | p, kind), data, {**NUMBERS, **p}["s"])
    )


def _white_density(system: Gaussian, data: dd.Dataset, deviation: float, treatment: str = "free") -> float:
    given = read(data.outputs["y"].times, data["y"], np.eye(len(system.A))[0])
    return minus_log_density(system, given, deviation**2 * np.eye(len(given)), treatment)


def shaped(initial: str) -> Case:
    data = single(IRREGULAR, 2)
    model = oscillator(
        disturbances={w: dd.FilteredNoise(numerator=[q], denominator=[1.0, a, 3.0 / tau], initial=initial)}
    )
    return Case(
        model, data, ["a", "c", "q", "s", "tau"],
        lambda p: _white_density(filtered(NUMBERS | p, initial == "rest"), data, p["s"]),
    )  # fmt: skip


def low_pass() -> Case:
    """A first-order disturbance by its standard deviation and time constant, both free."""
    data = single(REGULAR, 3)
    model = oscillator(disturbances={w: dd.FilteredNoise.low_pass(std=q, time_constant=tau)})

    def density(p: Mapping[str, float]) -> float:
        A, B = plant(NUMBERS | p)
        whole = block_diag(A, -1.0 / p["tau"])
        whole[1, 2] = 1.0
        Q, P = np.diag([0.0, 0.0, 2.0 * p["q"] ** 2 / p["tau"]]), np.diag([0.0, 0.0, p["q"] ** 2])
        start = np.array([NUMBERS["x0"], 0.0, 0.0])
        system = Gaussian(whole, Q, start, P, np.vstack([B, [[0.0]]]), pushed("foh"), KNOTS)
        return _white_density(system, data, NUMBERS["s"])

    return Case(model, data, ["q", "tau", "c"], density)


def correlated_disturbances() -> Case:
    """Two disturbances from one filter of two channels, on both equations."""
    data = single(IRREGULAR, 4)
    noise = dd.StateSpaceNoise(A=[[-1.0 / tau, 0.3], [0.0, -2.0]], B=[[q, 0.0], [0.2, 0.5]], C=[[1.0, 0.5], [0.0, d]])
    model = oscillator(
        equations={"rate": der(x) == v + w2, "force": der(v) == -c * x - a * v + b * u + w},
        disturbances={(w, w2): noise},
    )

    def density(p: Mapping[str, float]) -> float:
        p = NUMBERS | p
        A, B = plant(p)
        shaping = np.array([[-1.0 / p["tau"], 0.3], [0.0, -2.0]])
        drive_ = np.array([[p["q"], 0.0], [0.2, 0.5]])
        whole = block_diag(A, shaping)
        whole[:2, 2:] = [[0.0, p["d"]], [1.0, 0.5]]
        start = solve_continuous_lyapunov(shaping, -drive_ @ drive_.T)
        system = Gaussian(
            whole, block_diag(np.zeros((2, 2)), drive_ @ drive_.T), np.array([p["x0"], 0.0, 0.0, 0.0]),
            block_diag(np.zeros((2, 2)), start), np.vstack([B, 0 * B]), pushed("foh"), KNOTS,
        )  # fmt: skip
        return _white_density(system, data, p["s"])

    return Case(model, data, ["tau", "q", "d", "c"], density)


def two_outputs(order: tuple[str, str], own_times: bool) -> Case:
    """Correlated measurement noise; feedthrough of the input in one; some samples missing, times shared or not."""
    covariance = np.array([[0.05, 0.02], [0.02, 0.03]])
    first, second = samples(5, 8, [2]), samples(6, 8, [0, 2, 5])
    late = IRREGULAR + 0.13 if own_times else IRREGULAR
    mixed = np.sort(np.concatenate([late[:4], IRREGULAR[4:]])) if own_times else late
    outputs = {"y": dd.Samples(IRREGULAR, first), "force": dd.Samples(mixed, second)}
    data = dd.Dataset(outputs=outputs, inputs={"u": signal("zoh")})
    model = oscillator(
        outputs={"y": x, "force": -c * x + d * u},
        measurement_noise={order: covariance if order == ("y", "force") else covariance[::-1, ::-1]},
    )

    def density(p: Mapping[str, float]) -> float:
        p = NUMBERS | p
        level, push = read(IRREGULAR, first, E1), pushed("zoh")
        force = read(mixed, second, -p["c"] * E1, lambda t: p["d"] * push(t))
        readings = [*level, *force]
        R = np.zeros((len(readings), len(readings)))
        for i, one in enumerate(readings):
            for j, other in enumerate(readings):
                if one.terms[0][0] == other.terms[0][0]:
                    R[i, j] = covariance[int(i >= len(level)), int(j >= len(level))]
        return minus_log_density(white(p, "zoh"), readings, R)

    return Case(model, data, ["a", "c", "d", "q"], density)


def per_sample_noise() -> Case:
    data, deviations = single(REGULAR, 7, missing=[3]), np.linspace(0.05, 0.4, 8)
    given = read(REGULAR, data["y"], E1)
    R = np.diag(np.delete(deviations, 3) ** 2)
    return Case(
        oscillator(measurement_noise={"y": deviations}), data, ["a", "c", "q", "x0"],
        lambda p: minus_log_density(white(NUMBERS | p), given, R),
    )  # fmt: skip


def differentiated_input(kind: str) -> Case:
    """Index 2 and 3: an algebraic variable is the input, the outputs contain its derivatives."""
    order = 1 if kind == "foh" else 2
    y1, y2, y3 = dd.symbols("y1 y2 y3")
    equations = {"copy": y1 == u, "speed": y2 == b * der(y1), "rate": der(x) == -a * x + y1 + w}
    unknowns, shown = [x, y1, y2], y2
    if order == 2:
        equations["acceleration"], unknowns, shown = y3 == der(y2), [*unknowns, y3], y3 + y2
    model = dd.Model(
        name="differentiator", equations=equations, unknowns=unknowns, inputs=[u], outputs={"y": x + d * shown},
        parameters={symbol: NUMBERS[str(symbol)] for symbol in (a, b, d, q, s)},
        disturbances={w: dd.WhiteNoise(intensity=q)}, measurement_noise={"y": s}, initial={x: 0.3},
    )  # fmt: skip
    data = single(IRREGULAR, 8, kind)
    spline = CubicSpline(KNOTS, PUSH)
    slopes = np.diff(PUSH) / np.diff(KNOTS)

    def forced(t: float) -> float:
        if order == 1:
            return slopes[np.searchsorted(KNOTS, t, side="right") - 1]
        return float(spline(t, 1) + spline(t, 2))

    def density(p: Mapping[str, float]) -> float:
        system = Gaussian(
            np.array([[-p["a"]]]), np.array([[p["q"]]]), np.array([0.3]), np.zeros((1, 1)), np.eye(1), pushed(kind),
            KNOTS,
        )  # fmt: skip
        given = read(IRREGULAR, data["y"], np.ones(1), lambda t: p["d"] * p["b"] * forced(t))
        return minus_log_density(system, given, p["s"] ** 2 * np.eye(8))

    return Case(model, data, ["a", "b", "d", "q", "s"], density)


def several_experiments() -> Case:
    """Initial value of its own in each, a fixed parameter that differs, a start before the first sample."""
    data = [single(REGULAR, 9, name="day"), single(IRREGULAR + 0.2, 10, "zoh", name="night", t0=0.0)]
    fixed = [{"b": 1.0}, {"b": -0.4}]

    def density(p: Mapping[str, float]) -> float:
        total = 0.0
        for one, held, kind in zip(data, fixed, ("foh", "zoh"), strict=True):
            mine = NUMBERS | held | {name: p[name] for name in ("a", "q")} | {"x0": p[f"x0[{one.name}]"]}
            total += _white_density(white(mine, kind), one, NUMBERS["s"])
        return total

    return Case(
        oscillator(), data, ["a", "q"], density, {"x0[day]": 0.2, "x0[night]": -0.7},
        options={"local": ["x0"], "fixed": fixed},
    )  # fmt: skip


def uncertain_start(**start: Any) -> Case:
    data = single(IRREGULAR + 0.3, 11, t0=0.3)
    P = np.diag([0.3**2, 1.2**2])
    return Case(
        oscillator(), data, ["a", "c", "x0", "q"],
        lambda p: _white_density(white(NUMBERS | p, covariance=P, start=0.3), data, NUMBERS["s"]),
        criterion=dd.Likelihood(initial_std={x: 0.3, "v": 1.2}),
    )  # fmt: skip


def open_start(treatment: str, initial: Mapping[Any, Any]) -> Case:
    data = single(IRREGULAR + 0.3, 12, "spline", t0=0.0)
    opened = np.eye(2)[:, len(initial) :]
    return Case(
        oscillator(initial=initial), data, ["a", "c", "q", "s"],
        lambda p: _white_density(
            white(NUMBERS | p | ({} if initial else {"x0": 0.0}), "spline", open=opened), data, p["s"], treatment
        ),
        criterion=dd.Likelihood(initial=treatment),
    )  # fmt: skip


def guessed_start() -> Case:
    data = single(IRREGULAR, 13)
    return Case(
        oscillator(initial={x: x0}, guess={v: 2.0 * d}), data, ["a", "d", "x0"],
        lambda p: _white_density(
            white(NUMBERS | p, mean=np.array([p["x0"], 2.0 * p["d"]])), data, NUMBERS["s"]
        ),
        criterion=dd.Likelihood(initial="guess"),
    )  # fmt: skip


def derived_parameters() -> Case:
    """Parameters whose values are expressions of others."""
    data = single(REGULAR, 14)
    m, k = dd.symbols("m k")
    declared = {symbol: NUMBERS[str(symbol)] for symbol in (b, s, x0)}
    model = oscillator(parameters={**declared, m: 2.0, k: 4.2, c: k / m, a: 1.6 / m, q: 1.2 * c / k})
    return Case(
        model, data, ["m", "k"],
        lambda p: _white_density(
            white(NUMBERS | {"c": p["k"] / p["m"], "a": 1.6 / p["m"], "q": 1.2 / p["m"]}), data, NUMBERS["s"]
        ),
        {"m": 1.7, "k": 4.0},
    )  # fmt: skip


def second_order() -> Case:
    """der(der(x)) instead of a speed of its own, which is held at the start all the same."""
    data = single(IRREGULAR, 15)
    model = oscillator(
        equations={"force": der(der(x)) == -c * x - a * der(x) + b * u + w}, unknowns=[x], initial={x: x0, der(x): 0.0}
    )
    return Case(model, data, ["a", "b", "x0"], lambda p: _white_density(white(NUMBERS | p), data, NUMBERS["s"]))


def integrating_sensor() -> Case:
    """Averages over 0.2 before each sample; the first, over a time before the start, is left out."""
    data = single(REGULAR, 16)
    model = oscillator(outputs={"y": v}).with_integrating_sampling({"y": 0.2})

    def density(p: Mapping[str, float]) -> float:
        given = [
            Reading(y, [(t, E1 / 0.2), (t - 0.2, -E1 / 0.2)])  # the mean of v is a difference of x
            for t, y in zip(REGULAR.tolist(), data["y"].tolist(), strict=True)
            if t >= 0.2
        ]
        return minus_log_density(white(NUMBERS | p), given, NUMBERS["s"] ** 2 * np.eye(len(given)))

    return Case(model, data, ["a", "c", "q", "b"], density)


def back_to_back_averages() -> Case:
    """Windows as long as the time between samples."""
    data = single(REGULAR, 17)
    model = oscillator(outputs={"y": v}).with_integrating_sampling({"y": 0.25})

    def density(p: Mapping[str, float]) -> float:
        given = [
            Reading(y, [(t, 4.0 * E1), (before, -4.0 * E1)])
            for before, t, y in zip(REGULAR[:-1].tolist(), REGULAR[1:].tolist(), data["y"][1:].tolist(), strict=True)
        ]
        return minus_log_density(white(NUMBERS | p), given, NUMBERS["s"] ** 2 * np.eye(len(given)))

    return Case(model, data, ["a", "c", "q"], density)


def motor_matrices(p: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """x = (twist, rotor speed, disc speed, load): four states without the absolute angle."""
    R, k, J, N, damping, bearing = 1.2, 0.05, 1e-3, 5.0, 0.01, 0.02
    A = np.zeros((4, 4))
    A[0] = [0.0, -1.0 / N, 1.0, 0.0]
    shaft = p["shaft.c"] * np.eye(4)[0] + damping * A[0]
    A[1], A[2] = shaft / N / J, -shaft / p["disc.J"]
    A[1, 1] -= k**2 / R / J
    A[2, 2] -= bearing / p["disc.J"]
    A[2, 3] = 0.3 / p["disc.J"]
    A[3, 3] = -2.0
    return A, np.array([[0.0], [k / R / J], [0.0], [0.0]])


MOTOR = {"shaft.c": 1.7, "disc.J": 0.06}


@cache
def motor_data() -> tuple[dd.Dataset, np.ndarray, np.ndarray]:
    times, volts = np.arange(4) * 0.05, np.array([6.0, 6.0, -6.0, -6.0])
    speed, current = samples(18, 4), samples(19, 4)
    held = dd.Signal(times, volts, "zoh")
    return dd.Dataset(times, inputs={"supply.v": held}, outputs={"speed": speed, "current": current}), times, volts


def motor_density(p: Mapping[str, float], treatment: str) -> float:
    data, times, volts = motor_data()
    A, B = motor_matrices(p)
    held = lambda t: volts[np.searchsorted(times, t, side="right") - 1]  # noqa: E731
    system = Gaussian(
        A, np.diag([0.0, 0.0, 0.0, 1.0]), np.zeros(4), np.diag([0.0, 0.0, 0.0, 0.25]), B, held, times, np.eye(4)[:, :3]
    )
    row = np.eye(4)[1]
    readings = [
        *read(times, data["speed"], row),
        *read(times, data["current"], -0.05 / 1.2 * row, lambda t: held(t) / 1.2),
    ]
    return minus_log_density(system, readings, np.diag([0.05**2] * 4 + [0.02**2] * 4), treatment)


def motor(treatment: str) -> Case:
    """Index 2, 59 variables, the absolute angle an unobservable integrator; eight samples."""
    return Case(
        drive(), motor_data()[0], list(MOTOR), lambda p: motor_density(p, treatment), MOTOR,
        criterion=dd.Likelihood(initial=treatment),
    )  # fmt: skip


CASES = {
    "regular, foh": lambda: one_output(REGULAR, "foh"),
    "regular, zoh": lambda: one_output(REGULAR, "zoh"),
    "regular, spline": lambda: one_output(REGULAR, "spline"),
    "irregular": lambda: one_output(IRREGULAR, "foh"),
    "missing": lambda: one_output(REGULAR, "foh", [0, 3, 4]),
    "shaped, stationary": lambda: shaped("stationary"),
    "shaped, at rest": lambda: shaped("rest"),
    "low pass": low_pass,
    "two channels": correlated_disturbances,
    "two outputs": lambda: two_outputs(("y", "force"), False),
    "two outputs, the other way round": lambda: two_outputs(("force", "y"), False),
    "two outputs with times of their own": lambda: two_outputs(("force", "y"), True),
    "noise sample by sample": per_sample_noise,
    "derivative of the input": lambda: differentiated_input("foh"),
    "two derivatives of the input": lambda: differentiated_input("spline"),
    "several experiments": several_experiments,
    "uncertain start": uncertain_start,
    "free start": lambda: open_start("free", {}),
    "half free start": lambda: open_start("free", {x: x0}),
    "diffuse start": lambda: open_start("diffuse", {}),
    "half diffuse start": lambda: open_start("diffuse", {x: x0}),
    "guessed start": guessed_start,
    "derived parameters": derived_parameters,
    "second order": second_order,
    "averages": integrating_sensor,
    "averages back to back": back_to_back_averages,
    "motor": lambda: motor("free"),
}


@cache
def evaluated(name: str) -> tuple[Case, dd.Cost]:
    case = CASES[name]()
    return case, case.evaluate()


@pytest.mark.parametrize("name", CASES)
def test_value_is_the_joint_density(name):
    case, found = evaluated(name)
    expected = case.density(case.values)
    assert not found.failure
    assert found.value == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_gradient_is_that_of_the_joint_density(name):
    case, found = evaluated(name)
    expected = [
        difference(lambda value, name=name: case.density({**case.values, name: value}), at, 1e-3 * abs(at))
        for name, at in ((name, case.values[name]) for name in found.names)
    ]
    scale = np.abs(expected) + 1e-3 * np.max(np.abs(expected))
    assert np.max(np.abs(found.gradient - expected) / scale) < 1e-6


def test_diffuse_start_of_the_motor_up_to_the_unit_of_its_angle():
    """A flat prior of what no sample shows has no size: differences between parameter values do not contain it."""
    case, other = motor("diffuse"), {"shaft.c": 2.3, "disc.J": 0.045}
    found = case.evaluate().value - case.evaluate(**other).value
    assert found == pytest.approx(case.density(MOTOR) - case.density(other), rel=1e-10)


@pytest.mark.parametrize("treatment", ["free", "diffuse"])
def test_open_values_that_samples_cannot_tell_apart(treatment):
    """Two equal lags of which only the sum is measured: one open value is enough."""
    model = dd.Model(
        name="pair", equations={"one": der(x) == -a * x + w, "two": der(v) == -a * v}, unknowns=[x, v],
        outputs={"y": x + b * v}, parameters={a: 0.8, b: 2.0, q: 0.6, s: 0.15},
        disturbances={w: dd.WhiteNoise(intensity=q)}, measurement_noise={"y": s},
    )  # fmt: skip
    data = dd.Dataset(IRREGULAR, outputs={"y": samples(20)})

    def density(p: Mapping[str, float]) -> float:
        system = Gaussian(
            np.array([[-p["a"]]]), np.array([[p["q"]]]), np.zeros(1), np.zeros((1, 1)), open=np.eye(1)
        )  # fmt: skip
        return _white_density(system, data, 0.15, treatment)

    case = Case(model, data, ["a", "b", "q"], density, criterion=dd.Likelihood(initial=treatment))
    found = case.evaluate()
    assert found.value == pytest.approx(density(case.values), rel=1e-12)
    for k, name in enumerate(("a", "b", "q")):
        expected = difference(lambda value, name=name: density({**case.values, name: value}), case.values[name], 1e-3)
        assert found.gradient[k] == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_feedthrough_that_starts_at_zero_counts_once_it_is_not():
    case = two_outputs(("y", "force"), False)
    silent = Case(case.model.with_parameters({"d": 0.0}), case.data, case.free, case.density)
    assert silent.evaluate().value == pytest.approx(case.density(case.values), rel=1e-10)
    at_zero = silent.evaluate(d=0.0)
    assert at_zero.value == pytest.approx(case.density({**case.values, "d": 0.0}), rel=1e-10)
    expected = difference(lambda d: case.density({**case.values, "d": d}), 0.0, 1e-3)
    assert at_zero.gradient[at_zero.names.index("d")] == pytest.approx(expected, rel=1e-6)


def test_an_unobservable_integrator_changes_nothing():
    equations = {"rate": der(x) == v, "force": der(v) == -c * x - a * v + b * u + w, "sum": der(z) == x + 5.0 * u}
    data = single(IRREGULAR, 21)
    plain = Case(oscillator(), data, ["a", "c", "q"], lambda _: 0.0).evaluate()
    for initial in ({x: x0, v: 0.0}, {x: x0, v: 0.0, z: 7.0}):
        for treatment in ("free", "diffuse", "guess"):
            model = oscillator(equations=equations, unknowns=[x, v, z], initial=initial)
            criterion = dd.Likelihood(initial=treatment)
            found = Case(model, data, ["a", "c", "q"], lambda _: 0.0, criterion=criterion).evaluate()
            assert found.value == pytest.approx(plain.value, rel=1e-12)
            assert found.gradient == pytest.approx(plain.gradient, rel=1e-9)


@pytest.mark.parametrize("origin", [-1e6, 1.6e9])
def test_the_origin_of_time_does_not_matter(origin):
    """Seconds since 1970; times that a double can hold there."""
    times = np.round(IRREGULAR * 1024) / 1024
    values = samples(22)
    model = oscillator(inputs=[], equations={"rate": der(x) == v, "force": der(v) == -c * x - a * v + w})
    near, far = (
        dd.evaluate(model, dd.Dataset(times + start, outputs={"y": values}), free=["a", "q"], criterion=dd.Likelihood())
        for start in (0.0, origin)
    )
    assert far.value == pytest.approx(near.value, rel=1e-9)
    assert far.gradient == pytest.approx(near.gradient, rel=1e-8)


@pytest.mark.parametrize("unit", [1e-9, 1e12])
@pytest.mark.parametrize("second", [1e-9, 1e6])
def test_units_do_not_matter(unit, second):
    """The level in another unit, the time in another: the density changes by the unit alone."""
    values = samples(23)

    def value(level: float, time: float) -> float:
        model = dd.Model(
            name="tank", equations={"rate": der(x) == -a * x / time + level * w, "sensor": z == 3.0 * x / level},
            unknowns=[x, z], outputs={"y": x}, parameters={a: 0.8, q: 0.6, s: 0.15},
            disturbances={w: dd.WhiteNoise(intensity=q / time)}, measurement_noise={"y": s * level},
        )  # fmt: skip
        data = dd.Dataset(IRREGULAR * time, outputs={"y": values * level})
        return dd.evaluate(model, data, free=["a", "q"], criterion=dd.Likelihood(initial="free")).value - 8 * np.log(
            level
        )

    assert value(unit, second) == pytest.approx(value(1.0, 1.0), rel=1e-9)


def test_a_model_without_states_is_plain_least_squares():
    values, push = samples(24), samples(25)
    model = dd.Model(
        name="line", equations={"law": x == b * u + d}, unknowns=[x], inputs=[u], outputs={"y": x},
        parameters={b: 1.3, d: 0.4, s: 0.5}, measurement_noise={"y": s},
    )  # fmt: skip
    data = dd.Dataset(REGULAR, inputs={"u": push}, outputs={"y": values})
    for treatment in ("free", "diffuse", "guess"):
        found = dd.evaluate(model, data, free=["b", "d", "s"], criterion=dd.Likelihood(initial=treatment))
        r = values - 1.3 * push - 0.4
        assert found.value == pytest.approx(np.sum(r**2) / 0.5 + 4 * np.log(2 * np.pi * 0.25), rel=1e-12)
        assert found.gradient == pytest.approx([-r @ push / 0.25, -r.sum() / 0.25, 16.0 - r @ r / 0.125], rel=1e-10)


def test_one_sample():
    model = oscillator()
    data = dd.Dataset([1.0], inputs={"u": signal()}, outputs={"y": [0.3]}, t0=0.0)
    found = dd.evaluate(model, data, free=["a"], criterion=dd.Likelihood())
    assert found.value == pytest.approx(_white_density(white(NUMBERS), data, NUMBERS["s"]), rel=1e-10)


def information(case: Case, moments: Callable[[Mapping[str, float]], tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Fisher's information of a joint Gaussian: ∂μᵀ S⁻¹ ∂μ + ½ tr S⁻¹ ∂S S⁻¹ ∂S."""
    _, S = moments(case.values)
    slopes = []
    for name in case.free:
        h = 1e-5 * case.values[name]
        ahead, behind = (moments({**case.values, name: case.values[name] + k * h}) for k in (1, -1))
        slopes.append([(up - down) / (2 * h) for up, down in zip(ahead, behind, strict=True)])
    solved = [(np.linalg.solve(S, m), np.linalg.solve(S, dS)) for m, dS in slopes]
    return np.array(
        [
            [m @ other[0] + 0.5 * np.trace(T @ other[1]) for other in solved]
            for (m, _), (_, T) in zip(slopes, solved, strict=True)
        ]
    )  # fmt: skip


def test_curvature_is_the_information_on_average():
    """Over simulated samples; both parts of it, that of the mean and that of the variances."""
    count, batches, rng = 320, 8, np.random.default_rng(26)
    case = one_output(IRREGULAR, "foh")
    p = case.values
    template = read(IRREGULAR, np.zeros(8), E1)

    def moments(q: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
        mean, _, S = white(NUMBERS | q).moments(template)
        return mean, S + {**NUMBERS, **q}["s"] ** 2 * np.eye(8)

    mean, S = moments(p)
    factor = np.linalg.cholesky(S)
    curvatures, gradients = [], []
    for _ in range(batches):
        drawn = [
            dd.Dataset(IRREGULAR, inputs={"u": signal()}, outputs={"y": mean + factor @ rng.normal(size=8)})
            for _ in range(count // batches)
        ]
        found = dd.evaluate(case.model, drawn, free=case.free, criterion=dd.Likelihood(), values=p)
        curvatures.append(found.curvature / len(drawn))
        gradients.append(found.gradient / len(drawn))
    expected = information(case, moments)
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    spread = np.std(curvatures, axis=0, ddof=1) / np.sqrt(batches)
    assert np.max(np.abs(np.mean(curvatures, axis=0) - expected) / (spread + 1e-6 * scale)) < 5.0
    assert np.max(np.abs(np.mean(curvatures, axis=0) - expected) / scale) < 0.15
    # The gradient has mean zero, and the information as its covariance.
    assert np.max(np.abs(np.mean(gradients, axis=0)) / np.sqrt(np.diag(expected) / count)) < 4.5
=======
from daedal import der

KALMAN = Path(__file__).parents[2].parent / "shared" / "problems" / "ornstein2d_kalman.json"
>>>>>>> w-tests


def ornstein() -> dd.Model:
    x1, x2, u, w1, w2, theta, mu, alpha = dd.symbols("x1 x2 u w1 w2 theta mu alpha")
    sx1, sx2, sy1, sy2 = dd.symbols("sx1 sx2 sy1 sy2")

    def positive(value: float) -> dd.Parameter:
        return dd.Parameter(value, lower=1e-8, upper=1e4, scale="log")

    return dd.Model(
        name="ornstein",
        equations={"a": der(x1) == theta * (mu + u - x1) + sx1 * w1, "b": der(x2) == alpha * (x1 - x2) + sx2 * w2},
        unknowns=[x1, x2], inputs=[u], outputs={"y1": x1, "y2": x2},
        parameters={
            theta: positive(5.0), mu: 3.0, alpha: positive(1.0), sx1: positive(1.0), sx2: positive(0.5),
            sy1: positive(0.1), sy2: positive(0.1),
        },
        disturbances={w1: dd.WhiteNoise(), w2: dd.WhiteNoise()},
        measurement_noise={"y1": sy1, "y2": sy2}, initial={x1: 3.0, x2: 3.0},
    )  # fmt: skip


@pytest.mark.parametrize("intersample", ["zoh", "foh"])
def test_published_likelihood_and_estimates(intersample):
    """Another program's linear Kalman filter on fifty samples of a two-dimensional Ornstein–Uhlenbeck process."""
    estimates = published.ESTIMATES[intersample]
    values = {name: value if name in published.LINEAR else np.exp(value) for name, value in estimates.items()}
    inputs = {"u": dd.Signal(published.TIMES, published.U, intersample)}
    data = dd.Dataset(published.TIMES, inputs=inputs, outputs={"y1": published.Y1, "y2": published.Y2})
    criterion = dd.Likelihood(initial_std={"x1": np.sqrt(0.1), "x2": np.sqrt(0.1)})
    found = dd.evaluate(ornstein(), data, free=list(values), criterion=criterion, values=values)
    assert found.value == pytest.approx(published.MINIMA[intersample], abs=1e-8)
    fit = dd.fit(ornstein(), data, free=list(values), criterion=criterion)
<<<<<<< HEAD
    assert fit["sy1"].verdict == "not determined"
    for name in values.keys() - {"sy1"}:
        found = fit.params[name] if name in published.LINEAR else np.log(fit.params[name])
        assert found == pytest.approx(estimates[name], rel=1e-4), name


def lag(**changes: Any) -> dd.Model:
    """x' = −a x + u + w with a low-pass disturbance of gain q, an accuracy s."""
    fields: dict[str, Any] = {
        "name": "lag",
        "equations": {"rate": der(x) == -a * x + u + w},
        "unknowns": [x], "inputs": [u], "outputs": {"y": x},
        "parameters": {k: dd.Parameter(NUMBERS[str(k)], lower=1e-4, upper=1e3, scale="log") for k in (a, q, s)},
        "disturbances": {w: dd.FilteredNoise(numerator=[q], denominator=[1.0, 0.5])},
        "measurement_noise": {"y": s}, "initial": {x: 0.0},
    }  # fmt: skip
    return dd.Model(**fields | changes)


def covered(sets: int, count: int) -> np.ndarray:
    """How often 95 % intervals hold the truth, (parameter,)."""
    names, truth = ["a", "q", "s"], np.array([0.8, 0.6, 0.15])
    times = np.arange(count) * 0.3
    push = dd.Signal(times, np.sign(np.sin(0.9 * times + 0.1)), "zoh")
    model = lag()
    run = dd.simulate(model, times, inputs={"u": push}, realizations=sets, measurement_noise=True, rng=11)
    hits = np.zeros(3)
    for values in run["y"]:
        data = dd.Dataset(times, inputs={"u": push}, outputs={"y": values})
        fit = dd.fit(model, data, free=names, criterion=dd.Likelihood())
        intervals = fit.conf_int()
        hits += [low <= value <= high for value, (low, high) in zip(truth, (intervals[n] for n in names), strict=True)]
    return hits / sets


@pytest.mark.slow
def test_intervals_cover():
    """Three parameters of three kinds: plant, disturbance, accuracy."""
    share = covered(200, 150)
    assert np.all((share >= 0.90) & (share <= 0.98)), share
=======
    for theirs, own in names.items():
        if own == "sy1":
            assert fit[own].verdict == "not determined"
        else:
            found = fit.params[own] if theirs == "mu" else np.log(fit.params[own])
            assert found == pytest.approx(reference["par"][theirs], rel=1e-4), own
>>>>>>> w-tests
