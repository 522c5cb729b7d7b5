"""The figures of maximum likelihood for linear models: time against statsmodels, irregular samples, coverage.

    python benchmarks/likelihood.py [time] [irregular] [wall] [coverage] [--sets 200]

time       one evaluation, N = 10 000 regular samples, 6 states: value, value and gradient of 3 parameters, statsmodels
irregular  N = 5000, 10 000, 20 000 samples, all intervals different; and N = 10 000 at one of three intervals
wall       many parameters and states: a wall of 30 layers, 20 free heat capacities
coverage   share of 95 % intervals that contain the truth: plant, disturbance and accuracy estimated together

Without a word all are run. Seconds are the best of several; the machine is shared, so read ratios. statsmodels is not
among the dependencies: python -m pip install statsmodels.
"""

import argparse
import os
from collections.abc import Callable
from functools import cache
from time import perf_counter

import numpy as np

import daedal as dd
from daedal import der
from daedal.estimation.arguments import Arguments, prepare_objective
from daedal.estimation.criteria.likelihood import LikelihoodObjective
from daedal.filtering.formulas import Point
from daedal.linear import van_loan
from daedal.linear.threads import one_thread
from daedal.lti.forced_response import compute_forced_response

STEP = 0.1


@one_thread  # as fit and evaluate do
def fastest(*calls: Callable[[], object], attempts: int = 40) -> list[float]:
    """Seconds of the fastest of several calls of each, taken in turns because the machine has other things to do."""
    taken = np.full((len(calls), attempts), np.inf)
    for attempt in range(-1, attempts):  # the first one warms up
        for k, call in enumerate(calls):
            begin = perf_counter()
            call()
            taken[k, attempt] = perf_counter() - begin
    return taken.min(axis=1).tolist()


@cache
def chain() -> dd.Model:
    """Three masses between springs, the first pushed by an input and by white noise, the last one's place measured."""
    places, speeds = dd.symbols("x", 3), dd.symbols("v", 3)
    u, w, k, d, q, s = dd.symbols("u w k d q s")
    equations = {}
    for i in range(3):
        force = -k * places[i] - d * speeds[i] + (u + w if i == 0 else 0.0)
        for neighbour in (j for j in (i - 1, i + 1) if 0 <= j < 3):
            force = force + k * (places[neighbour] - places[i])
        equations |= {f"rate {i}": der(places[i]) == speeds[i], f"force {i}": der(speeds[i]) == force}
    numbers = {k: 2.0, d: 0.3, q: 0.5, s: 0.1}
    return dd.Model(
        name="chain", equations=equations, unknowns=[*places, *speeds], inputs=[u], outputs={"y": places[-1]},
        parameters={symbol: dd.Parameter(value, scale="log") for symbol, value in numbers.items()},
        disturbances={w: dd.WhiteNoise(intensity=q)}, measurement_noise={"y": s},
        initial=dict.fromkeys((*places, *speeds), 0.0),
    )  # fmt: skip


def samples(times: np.ndarray) -> dd.Dataset:
    push = dd.Signal(times, np.sin(times), "zoh")
    return dd.Dataset(times, inputs={"u": push}, outputs={"y": np.random.default_rng(0).normal(size=times.size)})


def objective(model: dd.Model, data: dd.Dataset, free: list[str]) -> LikelihoodObjective:
    made, _, _ = prepare_objective("benchmark", Arguments(model, data, free, (), None, dd.Likelihood(), None), 0)
    assert isinstance(made, LikelihoodObjective)
    return made


def timing() -> None:
    model, times = chain(), np.arange(10_000) * STEP
    data = samples(times)
    made = objective(model, data, ["k", "d", "q"])
    point, one = made.problem.coordinates.start, made.linear[0]

    def value() -> object:
        at = Point(model, {}, ())
        return one.innovated(one.stochastic.at(at), at)

    def everything() -> object:
        return made(point)

    try:
        other = reference(made, data)
    except ImportError:
        alone, both = fastest(value, everything)
        print(_times(alone, both) + "; statsmodels is not installed: python -m pip install statsmodels")
        return
    alone, both, theirs = fastest(value, everything, other.loglike)
    print(f"{_times(alone, both)}; statsmodels {1e3 * theirs:.1f} ms: ratios {alone / theirs:.2f}, {both / theirs:.2f}")
    difference = abs(other.loglike() + made(point).value)
    print(f"the two log-likelihoods differ by {difference:.1e} of {made(point).value:.0f}")


def _times(alone: float, both: float) -> str:
    return f"10 000 regular samples, 6 states: value {1e3 * alone:.1f} ms, with gradient of 3 {1e3 * both:.1f} ms"


def reference(made: LikelihoodObjective, data: dd.Dataset):
    """The same filter in statsmodels."""
    from statsmodels.tsa.statespace.kalman_filter import KalmanFilter

    evolution = made.linear[0].stochastic.at(Point(chain(), {}, ()))
    A, Q = van_loan(evolution.A.value, evolution.Q.value, STEP)
    n = len(A)
    gain = compute_forced_response(evolution.A, evolution.B, 0, np.array([STEP])).value[0, 0]
    other = KalmanFilter(k_endog=1, k_states=n)
    other.bind(data["y"][:, None].copy())
    other["design"], other["transition"] = evolution.C.value[made.linear[0].rows], A
    other["selection"], other["state_cov"], other["obs_cov"] = np.eye(n), Q, np.array([[0.01]])
    other["state_intercept"] = gain[:, :1] @ data["u"][None]
    other.initialize_known(np.zeros(n), np.zeros((n, n)))
    return other


def irregular() -> None:
    model, generator = chain(), np.random.default_rng(1)
    before = 0.0
    for count in (5000, 10_000, 20_000):
        times = np.cumsum(generator.uniform(0.05, 0.15, count))
        made = objective(model, samples(times), ["k", "d", "q"])
        (taken,) = fastest(lambda made=made: made(made.problem.coordinates.start), attempts=4)
        more = f", {taken / before:.2f} times that of half as many" if before else ""
        print(f"{count} samples, all intervals different: {1e3 * taken:.0f} ms with gradient of 3{more}")
        before = taken
    times = np.cumsum(generator.choice([0.1, 0.15, 0.2], 10_000))
    made = objective(model, samples(times), ["k", "d", "q"])
    (taken,) = fastest(lambda: made(made.problem.coordinates.start), attempts=6)
    matrices = made.linear[0].readings.line.steps.size
    print(f"10 000 samples at one of three intervals: {1e3 * taken:.0f} ms, {matrices} exponentials")


def wall() -> None:
    layers, free, count = 30, 20, 1000
    T, C = dd.symbols("T", layers), dd.symbols("C", layers)
    outside, w = dd.symbols("outside w")
    equations = {}
    for i in range(layers):
        flow = w if i == 0 else 2.0 * (T[i - 1] - T[i])
        flow = flow + 2.0 * ((T[i + 1] if i + 1 < layers else outside) - T[i])
        equations[f"layer {i}"] = C[i] * der(T[i]) == flow
    model = dd.Model(
        name="wall", equations=equations, unknowns=list(T), inputs=[outside], outputs={"in": T[0], "middle": T[15]},
        parameters={each: dd.Parameter(1.0 + 0.01 * i, scale="log") for i, each in enumerate(C)},
        disturbances={w: dd.WhiteNoise()}, measurement_noise={"in": 0.1, "middle": 0.1},
        initial=dict.fromkeys(T, 0.0),
    )  # fmt: skip
    times, generator = np.arange(count) * STEP, np.random.default_rng(2)
    outputs = {name: generator.normal(size=count) for name in ("in", "middle")}
    data = dd.Dataset(times, inputs={"outside": np.sin(times)}, outputs=outputs)
    made = objective(model, data, [str(each) for each in C[:free]])
    (taken,) = fastest(lambda: made(made.problem.coordinates.start), attempts=4)
    print(f"{layers} states, {count} samples of 2 outputs: {1e3 * taken:.0f} ms with gradient of {free}")


def coverage(sets: int) -> None:
    """x' = −a x + u + w with a low-pass w of gain q, an accuracy s: all three free."""
    x, u, w, a, q, s = dd.symbols("x u w a q s")
    truth = {"a": 0.8, "q": 0.6, "s": 0.15}
    model = dd.Model(
        name="lag", equations={"rate": der(x) == -a * x + u + w}, unknowns=[x], inputs=[u], outputs={"y": x},
        parameters={each: dd.Parameter(truth[str(each)], lower=1e-4, upper=1e3, scale="log") for each in (a, q, s)},
        disturbances={w: dd.FilteredNoise(numerator=[q], denominator=[1.0, 0.5])}, measurement_noise={"y": s},
        initial={x: 0.0},
    )  # fmt: skip
    times = np.arange(1000) * 0.3
    push = dd.Signal(times, np.sign(np.sin(0.9 * times + 0.1)), "zoh")
    run = dd.simulate(model, times, inputs={"u": push}, realizations=sets, measurement_noise=True, rng=5)
    hits = dict.fromkeys(truth, 0)
    for values in run["y"]:
        data = dd.Dataset(times, inputs={"u": push}, outputs={"y": values})
        intervals = dd.fit(model, data, free=list(truth), criterion=dd.Likelihood()).conf_int()
        for name, value in truth.items():
            hits[name] += intervals[name][0] <= value <= intervals[name][1]
    shares = ", ".join(f"{name} {100.0 * count / sets:.1f} %" for name, count in hits.items())
    print(f"95 % intervals over {sets} data sets of {times.size} samples hold the truth: {shares}")


def main() -> None:
    reader = argparse.ArgumentParser()
    reader.add_argument("what", nargs="*", choices=["time", "irregular", "wall", "coverage", []], default=[])
    reader.add_argument("--sets", type=int, default=200)
    asked = reader.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for name, call in {
        "time": timing,
        "irregular": irregular,
        "wall": wall,
        "coverage": lambda: coverage(asked.sets),
    }.items():
        if name in (asked.what or [name]):
            call()


if __name__ == "__main__":
    main()
