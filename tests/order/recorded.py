"""Records of known systems for the tests of the order search."""

import numpy as np

import daedal as dd
from daedal.order.record import Record, make_record

RINGING = dd.TransferFunction([2.0], [1.0, 1.4, 2.0])


def switching(count: int, clock: int = 10, seed: int = 0) -> np.ndarray:
    """±1, changed at random every so many samples."""
    signs = np.sign(np.random.default_rng(seed).standard_normal(count // clock + 1))
    return np.repeat(signs, clock)[:count]


def driven(tf: dd.TransferFunction, times: np.ndarray, drives: dict[str, dd.Signal], noise=0.0) -> dd.Dataset:
    """The response of a system, with noise (time,) or none."""
    clean = dd.simulate(tf, times, inputs=drives)[tf.output]
    return dd.Dataset(times, inputs=drives, outputs={tf.output: clean + noise})


def ringing(count: int = 400, deviation: float = 0.05, seed: int = 0, step: float = 0.1, kind="zoh") -> dd.Dataset:
    """A second-order system with a held input and white noise."""
    times = np.arange(count) * step
    noise = deviation * np.random.default_rng(100 + seed).standard_normal(count)
    return driven(RINGING, times, {"u": dd.Signal(times, switching(count, seed=seed), kind)}, noise)


def recorded(data: dd.Dataset) -> Record:
    return make_record("test", data, None, None)
