"""A small fit for studies, and studies that are killed: `studying.py JOURNAL RUNS WORKERS` runs one to its end."""

import sys
from functools import cache

import numpy as np

import daedal as dd

x, k, a = dd.symbols("x k a")
TRUTH = {"k": 1.3, "a": 2.0}
TIMES = np.arange(20) * 0.15


@cache
def make_model() -> dd.Model:
    return dd.Model(
        name="decay",
        equations={"rate": dd.der(x) == -k * x},
        unknowns=[x],
        outputs={"y": x},
        parameters={
            k: dd.Parameter(1.0, lower=0.1, upper=10.0, scale="log"),
            a: dd.Parameter(1.5, lower=0.1, upper=9.0),
        },
        measurement_noise={"y": 0.05},
        initial={x: a},
    )


@cache
def make_data(seed: int = 1, name: str = "decay", times: tuple[float, ...] = tuple(TIMES)) -> dd.Dataset:
    noise = 0.05 * np.random.default_rng(seed).standard_normal(len(times))
    return dd.Dataset(times, outputs={"y": TRUTH["a"] * np.exp(-TRUTH["k"] * np.array(times)) + noise}, name=name)


@cache
def make_fit() -> dd.Fit:
    options = {"free": ["k", "a"], "criterion": dd.OutputError(), "solver": dd.Lanes(step=0.15)}
    return dd.fit(make_model(), make_data(), rng=1, **options)


if __name__ == "__main__":
    path, runs, workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) or None
    dd.study(make_fit(), dd.ParametricBootstrap(), runs=runs, journal=path, workers=workers, rng=7)
