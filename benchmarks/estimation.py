"""The figures of estimation on the pendulum pushed by an unmeasured wind: time, coverage, bias, a joint fit.

    python benchmarks/estimation.py [time] [joint] [coverage] [bias] [--sets 200] [--tiny]

time      one fit, N = 10 000 samples, M = 400 realizations, start to finish, against one simulation of as many
joint     drag and disturbance gain together on one data set of N = 50 000: distance from the truth in standard errors
coverage  share of 95 % intervals that contain the truth, N = 5000, with and without whitening
bias      mean error of the drag at N = 50 000, M = 60, fresh innovations for each data set, with and without debiasing

Without a word all are run. The truth is a drag of 6.25 kg/m and a gain of 0.6; the first 500 samples are not scored.
"""

from argparse import Namespace
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from time import perf_counter

import numpy as np
from shared import command_line, seconds

import daedal as dd
from daedal import der

SAMPLE, GRID = 0.1, 0.01
DRAG, GAIN = 6.25, 0.6


@cache
def pendulum() -> dd.Model:
    x, y, vx, vy, tension = dd.symbols("x y vx vy tension")
    u, w = dd.symbols("u w")
    m, g, k, L, gain = dd.symbols("m g k L gain")
    return dd.Model(
        name="pendulum",
        equations={
            "kinematics x": der(x) == vx,
            "kinematics y": der(y) == vy,
            "force x": m * der(vx) == tension * x - k * np.abs(vx) * vx + u + w**2,
            "force y": m * der(vy) == tension * y - k * np.abs(vy) * vy - m * g,
            "rod": x**2 + y**2 == L**2,
        },
        unknowns=[x, y, vx, vy, tension],
        inputs=[u],
        outputs={"angle": np.arctan2(x, -y)},
        parameters={
            m: 0.3,
            g: 9.81,
            L: 6.25,
            k: dd.Parameter(DRAG, lower=3.85, upper=10.25, unit="kg/m"),
            gain: dd.Parameter(GAIN, lower=0.1, upper=2.0),
        },
        disturbances={w: dd.FilteredNoise(numerator=[gain], denominator=[1.0, 0.8, 16.0], grid=GRID, initial="rest")},
        measurement_noise={"angle": 0.002},
        initial={x: 0.0, vx: 0.0},
        guess={y: -L},
    )


@cache
def push(samples: int) -> dd.Signal:
    fine = np.arange(round(samples * SAMPLE / GRID) + 1) * GRID
    noise = dd.FilteredNoise(numerator=[0.2], denominator=[1.0, 0.8, 16.0], initial="rest")
    return dd.Signal(fine, dd.sample_path(noise, fine, rng=2))


def data_set(samples: int, seed: int) -> dd.Dataset:
    times = np.arange(samples) * SAMPLE
    inputs = {"u": push(samples)}
    run = dd.simulate(
        pendulum(), times, inputs=inputs, realizations=1, measurement_noise=True, variables=["angle"], rng=seed
    )
    return run.to_dataset()


def criterion(samples: int, realizations: int, whiten: bool = False) -> dd.SimulationPEM:
    return dd.SimulationPEM(realizations=realizations, transient=transient(samples), whiten=whiten)


def transient(samples: int) -> float:
    """Seconds that are not scored: 500 samples, or the first half of a short record."""
    return SAMPLE * min(500, samples // 2)


def timing(asked: Namespace) -> None:
    samples, realizations = (100, 8) if asked.tiny else (10_000, 400)
    data = data_set(samples, 1)
    options = {"inputs": {"u": push(samples)}, "realizations": realizations, "rng": 7}
    once, _ = seconds(partial(dd.ensemble, pendulum(), data.times, **options), perf_counter)
    for whiten in (False, True):
        options = {"free": {"k": 8.0}, "criterion": criterion(samples, realizations, whiten), "rng": 7}
        elapsed, result = seconds(partial(dd.fit, pendulum(), data, **options), perf_counter)
        print(
            f"one {'whitened ' * whiten}fit, N = {samples}, M = {realizations}: {elapsed:.1f} s, {result.evaluations} "
            f"evaluations, {elapsed / once:.1f} simulations"
        )


def joint(asked: Namespace) -> None:
    samples, realizations = (200, 8) if asked.tiny else (50_000, 200)
    options = {"free": {"k": 8.0, "gain": 0.9}, "criterion": criterion(samples, realizations, whiten=True), "rng": 7}
    elapsed, result = seconds(partial(dd.fit, pendulum(), data_set(samples, 1), **options), perf_counter)
    print(result)
    for name, truth in (("k", DRAG), ("gain", GAIN)):
        error = np.hypot(result[name].std_error, result[name].monte_carlo_error)
        print(f"{name} is {(result[name].value - truth) / error:+.1f} standard errors from the truth")
    print(f"joint fit, N = {samples}, M = {realizations}: {elapsed:.1f} s")


def _interval(seed: int, whiten: bool, samples: int, realizations: int) -> tuple[float, float, float]:
    options = {"free": {"k": 8.0}, "criterion": criterion(samples, realizations, whiten), "rng": seed}
    result = dd.fit(pendulum(), data_set(samples, seed), **options)
    return result["k"].value, *result.conf_int()["k"]


def coverage(asked: Namespace) -> None:
    samples, realizations = (100, 8) if asked.tiny else (5000, 100)
    for whiten in (False, True):
        interval = partial(_interval, whiten=whiten, samples=samples, realizations=realizations)
        with ProcessPoolExecutor(2) as pool:
            rows = np.array(list(pool.map(interval, range(1000, 1000 + asked.sets))))
        covered = np.mean((rows[:, 1] <= DRAG) & (rows[:, 2] >= DRAG))
        rmse = np.sqrt(np.mean((rows[:, 0] - DRAG) ** 2))
        label = "whitened" if whiten else "plain"
        print(f"coverage of 95 % intervals, {label}, N = {samples}: {covered:.1%} of {asked.sets}; RMSE {rmse:.3f}")


NODES = np.linspace(5.2, 7.6, 9)


def _costs(task: tuple[int, np.ndarray], realizations: int) -> tuple[float, float]:
    """Estimates with and without debiasing: the minima of polynomials through costs on shared innovations."""
    seed, measured = task
    times = np.arange(measured.size) * SAMPLE
    options = {"inputs": {"u": push(measured.size)}, "solver": dd.Lanes(method="rk4", step=0.05), "rng": seed}
    values = [{"k": drag} for drag in NODES]
    moments = dd.ensemble(pendulum(), times, values=values, realizations=realizations, **options)
    scored = slice(round(transient(measured.size) / SAMPLE), None)
    plain = np.sum((measured - moments.mean["angle"])[:, scored] ** 2, axis=1)
    debiased = plain - np.sum(moments.variance["angle"][:, scored], axis=1) / realizations
    return _lowest(debiased), _lowest(plain)


def _lowest(costs: np.ndarray) -> float:
    """Where the polynomial through the costs is smallest."""
    curve = np.polynomial.Polynomial.fit(NODES, costs, 6)
    fine = np.linspace(NODES[0], NODES[-1], 24_001)
    return float(fine[np.argmin(curve(fine))])


def bias(asked: Namespace) -> None:
    """By the definition of the estimators, which `fit` minimises with other steps and optimisers."""
    samples, realizations = (200, 8) if asked.tiny else (50_000, 60)
    times = np.arange(samples) * SAMPLE
    options = {"inputs": {"u": push(samples)}, "measurement_noise": True, "variables": ["angle"], "rng": 5}
    measured = dd.simulate(pendulum(), times, realizations=asked.sets, **options)["angle"]
    tasks = [(2000 + number, row) for number, row in enumerate(measured)]
    with ProcessPoolExecutor(2) as pool:
        estimates = np.array(list(pool.map(partial(_costs, realizations=realizations), tasks)))
    for label, column in zip(("debiased", "not debiased"), estimates.T, strict=True):
        error, deviation = column.mean() - DRAG, column.std(ddof=1) / np.sqrt(asked.sets)
        print(f"bias at N = {samples}, M = {realizations}, {label}: {error:+.3f} ± {deviation:.3f}, {asked.sets} sets")


FIGURES = {"time": timing, "joint": joint, "coverage": coverage, "bias": bias}

if __name__ == "__main__":
    reader = command_line(__doc__, FIGURES)
    reader.add_argument("--sets", type=int, default=200)
    asked = reader.parse_args()
    asked.sets = 2 if asked.tiny else asked.sets
    for name in asked.figures or FIGURES:
        FIGURES[name](asked)
