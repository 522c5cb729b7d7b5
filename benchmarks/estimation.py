"""The figures of estimation on the pendulum pushed by an unmeasured wind: time, coverage, bias, a joint fit.

    python benchmarks/estimation.py [time] [joint] [coverage] [bias] [--sets 200]

time      one fit, N = 10 000 samples, M = 400 realizations, start to finish
joint     drag and disturbance gain together on one data set of N = 50 000: distance from the truth in standard errors
coverage  share of 95 % intervals that contain the truth, N = 5000, with and without whitening
bias      mean error of the drag at N = 50 000, M = 60, fresh innovations for each data set, with and without debiasing

Without a word all are run. The truth is a drag of 6.25 kg/m and a gain of 0.6; the first 500 samples are not scored.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from time import perf_counter

import numpy as np

import daedal as dd
from daedal import der

SAMPLE, GRID, TRANSIENT = 0.1, 0.01, 50.0
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


def criterion(realizations: int, debias: bool = True, whiten: bool = False) -> dd.SimulationPEM:
    return dd.SimulationPEM(realizations=realizations, transient=TRANSIENT, debias=debias, whiten=whiten)


def timing() -> None:
    data = data_set(10_000, 1)
    for whiten in (False, True):
        begin = perf_counter()
        found = dd.fit(pendulum(), data, free={"k": 8.0}, criterion=criterion(400, whiten=whiten), rng=7)
        elapsed = perf_counter() - begin
        label = "whitened fit" if whiten else "fit"
        print(f"one {label}, N = 10 000, M = 400: {elapsed:.1f} s, {found.evaluations} evaluations")


def joint() -> None:
    begin = perf_counter()
    found = dd.fit(
        pendulum(), data_set(50_000, 1), free={"k": 8.0, "gain": 0.9}, criterion=criterion(200, whiten=True), rng=7
    )
    print(found)
    for name, truth in (("k", DRAG), ("gain", GAIN)):
        error = np.hypot(found[name].std_error, found[name].monte_carlo_error)
        print(f"{name} is {(found[name].value - truth) / error:+.1f} standard errors from the truth")
    print(f"joint fit, N = 50 000, M = 200: {perf_counter() - begin:.1f} s")


def _interval(task: tuple[int, bool]) -> tuple[float, float, float]:
    seed, whiten = task
    found = dd.fit(pendulum(), data_set(5000, seed), free={"k": 8.0}, criterion=criterion(100, whiten=whiten), rng=seed)
    return found["k"].value, *found.conf_int()["k"]


def coverage(sets: int) -> None:
    for whiten in (False, True):
        with ProcessPoolExecutor(2) as pool:
            found = np.array(list(pool.map(_interval, [(1000 + e, whiten) for e in range(sets)])))
        covered = np.mean((found[:, 1] <= DRAG) & (found[:, 2] >= DRAG))
        rmse = np.sqrt(np.mean((found[:, 0] - DRAG) ** 2))
        label = "whitened" if whiten else "plain"
        print(f"coverage of 95 % intervals, {label}, N = 5000: {covered:.1%} of {sets}; RMSE {rmse:.3f}")


NODES = np.linspace(5.2, 7.6, 9)


def _costs(task: tuple[int, np.ndarray]) -> tuple[float, float]:
    """Estimates with and without debiasing: the minima of polynomials through costs on shared innovations."""
    seed, measured = task
    times = np.arange(measured.size) * SAMPLE
    values = [{"k": drag} for drag in NODES]
    solver = dd.Lanes(method="rk4", step=0.05)
    inputs = {"u": push(measured.size)}
    found = dd.ensemble(pendulum(), times, inputs=inputs, values=values, realizations=60, rng=seed, solver=solver)
    scored = slice(round(TRANSIENT / SAMPLE), None)
    plain = np.sum((measured - found.mean["angle"])[:, scored] ** 2, axis=1)
    debiased = plain - np.sum(found.variance["angle"][:, scored], axis=1) / 60
    return _lowest(debiased), _lowest(plain)


def _lowest(costs: np.ndarray) -> float:
    """Where the polynomial through the costs is smallest."""
    curve = np.polynomial.Polynomial.fit(NODES, costs, 6)
    fine = np.linspace(NODES[0], NODES[-1], 24_001)
    return float(fine[np.argmin(curve(fine))])


def bias(sets: int) -> None:
    """By the definition of the estimators, which `fit` minimises with other steps and optimisers."""
    samples = 50_000
    times = np.arange(samples) * SAMPLE
    options = {"inputs": {"u": push(samples)}, "measurement_noise": True, "variables": ["angle"], "rng": 5}
    measured = dd.simulate(pendulum(), times, realizations=sets, **options)["angle"]
    tasks = [(2000 + number, row) for number, row in enumerate(measured)]
    with ProcessPoolExecutor(2) as pool:
        found = np.array(list(pool.map(_costs, tasks)))
    for label, column in zip(("debiased", "not debiased"), found.T, strict=True):
        error = column.mean() - DRAG
        deviation = column.std(ddof=1) / np.sqrt(sets)
        print(f"bias at N = 50 000, M = 60, {label}: {error:+.3f} ± {deviation:.3f} over {sets} data sets")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", choices=["time", "joint", "coverage", "bias", []])
    parser.add_argument("--sets", type=int, default=200)
    arguments = parser.parse_args()
    wanted = arguments.figures or ["time", "joint", "coverage", "bias"]
    if "time" in wanted:
        timing()
    if "joint" in wanted:
        joint()
    if "coverage" in wanted:
        coverage(arguments.sets)
    if "bias" in wanted:
        bias(arguments.sets)


if __name__ == "__main__":
    main()
