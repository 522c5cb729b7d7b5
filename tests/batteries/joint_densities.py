"""Linear models of many kinds, each with the joint Gaussian density of its samples by brute force."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.linalg import block_diag, solve_continuous_lyapunov

import daedal as dd
from batteries.joint_gaussian import Gaussian, Reading, minus_log_density
from batteries.oscillator import (
    E1,
    IRREGULAR,
    KNOTS,
    NUMBERS,
    PUSH,
    REGULAR,
    Case,
    a,
    b,
    c,
    d,
    oscillator,
    plant,
    pushed,
    q,
    read,
    s,
    samples,
    signal,
    single,
    tau,
    u,
    v,
    w,
    w2,
    white,
    white_density,
    x,
    x0,
)
from catalogue.drive import drive
from daedal import der


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


def one_output(times: np.ndarray, kind: str, missing: Sequence[int] = ()) -> Case:
    data = single(times, 1, kind, missing)
    free = ["a", "b", "c", "q", "s", "x0"][len(missing) :]
    return Case(
        oscillator(), data, free, lambda p: white_density(white(NUMBERS | p, kind), data, {**NUMBERS, **p}["s"])
    )


def shaped(initial: str) -> Case:
    data = single(IRREGULAR, 2)
    model = oscillator(
        disturbances={w: dd.FilteredNoise(numerator=[q], denominator=[1.0, a, 3.0 / tau], initial=initial)}
    )
    return Case(
        model, data, ["a", "c", "q", "s", "tau"],
        lambda p: white_density(filtered(NUMBERS | p, initial == "rest"), data, p["s"]),
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
        return white_density(system, data, NUMBERS["s"])

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
        return white_density(system, data, p["s"])

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
            total += white_density(white(mine, kind), one, NUMBERS["s"])
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
        lambda p: white_density(white(NUMBERS | p, covariance=P, start=0.3), data, NUMBERS["s"]),
        criterion=dd.Likelihood(initial_std={x: 0.3, "v": 1.2}),
    )  # fmt: skip


def open_start(treatment: str, initial: Mapping[Any, Any]) -> Case:
    data = single(IRREGULAR + 0.3, 12, "spline", t0=0.0)
    opened, origin = np.eye(2)[:, len(initial) :], {} if initial else {"x0": 0.0}
    reference = white(NUMBERS | origin, "spline", open=opened)
    return Case(
        oscillator(initial=initial), data, ["a", "c", "q", "s"],
        lambda p: white_density(
            white(NUMBERS | p | origin, "spline", open=opened), data, p["s"], treatment, reference
        ),
        criterion=dd.Likelihood(initial=treatment),
    )  # fmt: skip


def guessed_start() -> Case:
    data = single(IRREGULAR, 13)
    return Case(
        oscillator(initial={x: x0}, guess={v: 2.0 * d}), data, ["a", "d", "x0"],
        lambda p: white_density(
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
        lambda p: white_density(
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
    return Case(model, data, ["a", "b", "x0"], lambda p: white_density(white(NUMBERS | p), data, NUMBERS["s"]))


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
