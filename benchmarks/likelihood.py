"""The figures of maximum likelihood for linear models: time against statsmodels, irregular samples, coverage.

    python benchmarks/likelihood.py [time] [irregular] [wall] [coverage] [--sets 200] [--tiny]

time       one evaluation, N = 10 000 regular samples, 6 states: value, value and gradient of 3 parameters, statsmodels
irregular  N = 5000, 10 000, 20 000 samples, all intervals different; and N = 10 000 at one of three intervals
wall       many parameters and states: a wall of 30 layers, 20 free heat capacities
coverage   share of 95 % intervals that contain the truth: plant, disturbance and accuracy estimated together

Without a word all are run. Seconds are the best of several; the machine is shared, so read ratios. statsmodels is not
among the dependencies: python -m pip install statsmodels.
"""

import os
from argparse import Namespace
from collections.abc import Callable
from functools import cache, partial

import numpy as np
from scipy.linalg import expm
from shared import command_line, fastest

import daedal as dd
from daedal import der
from daedal.experiments import match_experiments
from daedal.filtering import InitialCondition, Point, make_linear_experiments

STEP = 0.1


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


def evaluation(model: dd.Model, data: dd.Dataset, free: list[str]) -> Callable[[], dd.Cost]:
    """Value and gradient at the values of the model; what is prepared by the first call serves all."""
    return partial(dd.evaluate, model, data, free=free, criterion=dd.Likelihood())


def value_alone(model: dd.Model, data: dd.Dataset) -> Callable[[], object]:
    """One run of the filter, without slopes."""
    initial = InitialCondition("free")
    (experiment,) = make_linear_experiments("benchmark", match_experiments(dd.build(model), [data]), [{}], initial)
    point = Point(model, {}, ())
    return lambda: experiment.innovate(experiment.stochastic.at(point), point)


def timing(asked: Namespace) -> None:
    count, attempts = (100, 1) if asked.tiny else (10_000, 40)
    model, data = chain(), samples(np.arange(count) * STEP)
    value, both = value_alone(model, data), evaluation(model, data, ["k", "d", "q"])
    try:
        other = reference(data)
    except ImportError:
        alone, slopes = fastest(value, both, attempts=attempts)
        print(_times(count, alone, slopes) + "; statsmodels is not installed: python -m pip install statsmodels")
        return
    alone, slopes, theirs = fastest(value, both, other.loglike, attempts=attempts)
    print(f"{_times(count, alone, slopes)}; statsmodels {1e3 * theirs:.1f} ms: ", end="")
    print(f"ratios {alone / theirs:.2f}, {slopes / theirs:.2f}")
    difference = abs(other.loglike() + both().value)
    print(f"the two log-likelihoods differ by {difference:.1e} of {both().value:.0f}")


def _times(count: int, alone: float, both: float) -> str:
    label = f"{count} regular samples, 6 states"
    return f"{label}: value {1e3 * alone:.1f} ms, with gradient of 3 {1e3 * both:.1f} ms, ratio {both / alone:.1f}"


def reference(data: dd.Dataset):
    """The same filter in statsmodels, its matrices by hand: x' = A x + (u + w) b with x = (places, speeds)."""
    from statsmodels.tsa.statespace.kalman_filter import KalmanFilter

    k, d, q, s = (parameter.value for parameter in chain().parameters.values())
    springs = k * (np.diag([-2.0, -3.0, -2.0]) + np.eye(3, k=1) + np.eye(3, k=-1))
    A = np.block([[np.zeros((3, 3)), np.eye(3)], [springs, -d * np.eye(3)]])
    b = np.eye(6)[:, 3:4]
    held = expm(STEP * np.block([[A, b], [np.zeros((1, 7))]]))
    both = expm(STEP * np.block([[-A, q * b @ b.T], [np.zeros((6, 6)), A.T]]))  # Van Loan (1978)
    other = KalmanFilter(k_endog=1, k_states=6)
    other.bind(data["y"][:, None].copy())
    other["design"], other["transition"] = np.eye(6)[2:3], held[:6, :6]
    other["selection"], other["state_cov"] = np.eye(6), both[6:, 6:].T @ both[:6, 6:]
    other["obs_cov"], other["state_intercept"] = np.array([[s**2]]), held[:6, 6:] @ data["u"][None]
    other.initialize_known(np.zeros(6), np.zeros((6, 6)))
    return other


def irregular(asked: Namespace) -> None:
    model, generator, free = chain(), np.random.default_rng(1), ["k", "d", "q"]
    before = 0.0
    for count in (50, 100) if asked.tiny else (5000, 10_000, 20_000):
        times = np.cumsum(generator.uniform(0.05, 0.15, count))
        (taken,) = fastest(evaluation(model, samples(times), free), attempts=4)
        more = f", {taken / before:.2f} times that of half as many" if before else ""
        print(f"{count} samples, all intervals different: {1e3 * taken:.0f} ms with gradient of 3{more}")
        before = taken
    count = 100 if asked.tiny else 10_000
    drawn = generator.choice([0.1, 0.15, 0.2], count)
    works = [evaluation(model, samples(np.cumsum(steps)), free) for steps in (drawn, np.full(count, 0.1))]
    taken, regular = fastest(*works, attempts=6)
    print(f"{count} samples at one of three intervals: {1e3 * taken:.0f} ms, {taken / regular:.2f} of regular ones")


def wall(asked: Namespace) -> None:
    layers, free, count = (4, 3, 20) if asked.tiny else (30, 20, 1000)
    T, C = dd.symbols("T", layers), dd.symbols("C", layers)
    outside, w = dd.symbols("outside w")
    equations = {}
    for i in range(layers):
        flow = w if i == 0 else 2.0 * (T[i - 1] - T[i])
        flow = flow + 2.0 * ((T[i + 1] if i + 1 < layers else outside) - T[i])
        equations[f"layer {i}"] = C[i] * der(T[i]) == flow
    model = dd.Model(
        name="wall", equations=equations, unknowns=list(T), inputs=[outside],
        outputs={"in": T[0], "middle": T[layers // 2]},
        parameters={each: dd.Parameter(1.0 + 0.01 * i, scale="log") for i, each in enumerate(C)},
        disturbances={w: dd.WhiteNoise()}, measurement_noise={"in": 0.1, "middle": 0.1},
        initial=dict.fromkeys(T, 0.0),
    )  # fmt: skip
    times, generator = np.arange(count) * STEP, np.random.default_rng(2)
    outputs = {name: generator.normal(size=count) for name in ("in", "middle")}
    data = dd.Dataset(times, inputs={"outside": np.sin(times)}, outputs=outputs)
    works = [evaluation(model, data, [str(capacity) for capacity in C[:number]]) for number in (1, free)]
    one, taken = fastest(*works, attempts=4)
    print(f"{layers} states, {count} samples of 2 outputs: {1e3 * taken:.0f} ms with gradient of {free}, ", end="")
    print(f"{taken / one:.2f} times that with gradient of 1")


def coverage(asked: Namespace) -> None:
    """x' = −a x + u + w with a low-pass w of gain q, an accuracy s: all three free."""
    x, u, w, a, q, s = dd.symbols("x u w a q s")
    truth = {"a": 0.8, "q": 0.6, "s": 0.15}
    model = dd.Model(
        name="lag", equations={"rate": der(x) == -a * x + u + w}, unknowns=[x], inputs=[u], outputs={"y": x},
        parameters={each: dd.Parameter(truth[str(each)], lower=1e-4, upper=1e3, scale="log") for each in (a, q, s)},
        disturbances={w: dd.FilteredNoise(numerator=[q], denominator=[1.0, 0.5])}, measurement_noise={"y": s},
        initial={x: 0.0},
    )  # fmt: skip
    times, sets = np.arange(50 if asked.tiny else 1000) * 0.3, asked.sets
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


FIGURES = {"time": timing, "irregular": irregular, "wall": wall, "coverage": coverage}

if __name__ == "__main__":
    reader = command_line(__doc__, FIGURES)
    reader.add_argument("--sets", type=int, default=200)
    asked = reader.parse_args()
    asked.sets = 2 if asked.tiny else asked.sets
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for name in asked.figures or FIGURES:
        FIGURES[name](asked)
