"""Which samples count as regular."""

import numpy as np

import daedal as dd
from daedal.data import Dataset
from daedal.experiments import match_experiments
from daedal.symbolic import der, symbols


def lag() -> dd.Model:
    x, a = symbols("x a")
    return dd.Model(
        name="lag", equations={"x": der(x) == -a * x}, unknowns=[x], outputs={"y": x}, parameters={a: 2.0},
        initial={x: 1.0},
    )  # fmt: skip


def is_regular(times: np.ndarray) -> bool:
    data = Dataset(times, outputs={"y": np.ones(times.size)})
    return match_experiments(dd.build(lag()), [data])[0].series[0].regular


def test_the_jitter_of_a_clock_is_no_irregularity():
    times = np.arange(2001) * 1e-3
    times[1:] += np.random.default_rng(1).uniform(0, 3e-8, 2000)
    assert is_regular(times)
    assert is_regular(times + 1.7e9)  # seconds since 1970 have few digits left
    assert not is_regular(np.array([0.0, 1.0, 2.0, 3.01, 4.0]))


def test_a_jittering_clock_can_be_whitened():
    rng = np.random.default_rng(2)
    times = np.arange(201) * 1e-2
    times[1:] += rng.uniform(0, 3e-7, 200)
    data = Dataset(times, outputs={"y": np.exp(-3.0 * times) + 0.01 * rng.normal(size=201)})
    fit = dd.fit(lag(), [data, Dataset(times + 1e-7, outputs={"y": data["y"]})], free=["a"],
                 criterion=dd.OutputError(whiten=1))  # fmt: skip
    assert abs(fit.params["a"] - 3.0) < 4.0 * fit.std_errors["a"]
