"""Likelihood of nonlinear models on measured records: innovations nearer to white than what output error leaves, and
one-step predictions of a record that was not used that are not worse.

Two public benchmarks of 2016 to 2019 (cascaded tanks, EMPS) and the coupled electric drives of Wigren and Schoukens
(2017), whose sensor of speed does not see the direction.
"""

from dataclasses import replace

import numpy as np
import pytest

import daedal as dd
from daedal import der

w, sigma, strength = dd.symbols("w sigma strength")


def positive(value: float, lower: float, upper: float) -> dd.Parameter:
    return dd.Parameter(value, lower=lower, upper=upper, scale="log")


def corner(x, width):
    """max(x, 0), rounded."""
    return (x + np.sqrt(x**2 + width**2)) / 2


def make_tanks() -> dd.Model:
    x1, x2, u, k1, k3, k4, head, x1_0, x2_0 = dd.symbols("x1 x2 u k1 k3 k4 head x1_0 x2_0")
    between, spilled = k1 * np.sqrt(corner(x1 + head, 0.1)), corner(x1 - 10, 0.1)
    out = k3 * np.sqrt(corner(x2 + head, 0.1)) + corner(x2 - 10, 0.1)
    return dd.Model(
        name="cascaded tanks",
        equations={
            "upper tank": der(x1) == k4 * u - between - spilled + w,
            "lower tank": der(x2) == between + spilled - out,
        },
        unknowns=[x1, x2],
        inputs=[u],
        outputs={"y": x2},
        parameters={
            **dict.fromkeys((k1, k3, k4), positive(0.05, 0.001, 1.0)),
            head: dd.Parameter(2.0, lower=0.0, upper=10.0),
            **dict.fromkeys((x1_0, x2_0), dd.Parameter(5.0, lower=0.0, upper=10.0)),
            sigma: positive(0.05, 1e-3, 1.0),
            strength: positive(0.01, 1e-4, 1.0),
        },
        disturbances={w: dd.FilteredNoise.low_pass(std=strength, time_constant=40.0)},
        measurement_noise={"y": sigma},
        initial={x1: x1_0, x2: x2_0},
    )


def make_axis() -> dd.Model:
    q, v, u, M, Fv, Fc, offset = dd.symbols("q v u M Fv Fc offset")
    friction = Fv * v + Fc * np.tanh(v / 3e-3) + offset
    return dd.Model(
        name="axis",
        equations={"speed": der(q) == v, "motion": M * der(v) == 35.1506 * u - friction + w},
        unknowns=[q, v],
        inputs=[u],
        outputs={"y": q},
        parameters={
            M: positive(95.0, 20.0, 300.0),
            Fv: positive(203.0, 1.0, 800.0),
            Fc: positive(20.0, 1.0, 80.0),
            offset: dd.Parameter(-3.0, lower=-20.0, upper=20.0),
            sigma: positive(1e-4, 1e-7, 1e-2),
            strength: positive(3.0, 1e-2, 100.0),
        },
        disturbances={w: dd.FilteredNoise.low_pass(std=strength, time_constant=0.1)},
        measurement_noise={"y": sigma},
        initial={q: 0.0, v: 0.0},
    )


def make_drives() -> dd.Model:
    m, v, a, u, gain, slow, pole, damping = dd.symbols("m v a u gain slow pole damping")
    return dd.Model(
        name="drives",
        equations={
            "motors": der(m) == slow * (gain * u - m) + w,
            "speed": der(v) == a,
            "belt": der(a) == pole**2 * (m - v) - 2 * damping * pole * a,
        },
        unknowns=[m, v, a],
        inputs=[u],
        outputs={"y": np.sqrt(v**2 + 0.02**2)},  # a counter of pulses, blind for the direction
        parameters={
            gain: dd.Parameter(4.0, lower=0.1, upper=20.0),
            slow: positive(0.5, 0.01, 10.0),
            pole: positive(12.0, 1.0, 50.0),
            damping: positive(0.3, 0.01, 2.0),
            sigma: positive(0.05, 1e-3, 1.0),
            strength: positive(0.2, 1e-3, 5.0),
        },
        disturbances={w: dd.FilteredNoise.low_pass(std=strength, time_constant=0.1)},
        measurement_noise={"y": sigma},
        initial={a: 0.0, m: 0.0, v: 0.0},
    )


def read_tanks(measured) -> list[dd.Dataset]:
    path = measured("cascaded_tanks.csv")
    return [
        dd.read_csv(path, step=4.0, inputs={"u": f"u{name}"}, outputs={"y": f"y{name}"}, intersample="zoh")
        for name in ("Est", "Val")
    ]


def read_axis(measured) -> list[dd.Dataset]:
    """Every tenth millisecond of the first five seconds; the voltage as it was, held."""
    data = dd.read_csv(measured("emps_est.csv.gz"), time="t", outputs={"y": "q_meas"}, inputs={"u": "vir"}, intersample="zoh")
    times, y = data.outputs["y"].times, data.outputs["y"].values
    parts = [slice(0, 5000, 10), slice(0, 10_000, 10)]
    return [dd.Dataset(times[one], inputs={"u": data.inputs["u"]}, outputs={"y": y[one]}, t0=float(times[0])) for one in parts]


def read_drives(measured) -> list[dd.Dataset]:
    path = measured("ce8_prbs.csv")
    return [
        dd.read_csv(path, step=0.02, inputs={"u": f"u{k}"}, outputs={"y": f"z{k}"}, intersample="zoh") for k in (1, 2)
    ]


def correlate(residual: np.ndarray) -> float:
    """Root mean square of the first ten autocorrelations."""
    e = residual[np.isfinite(residual)]
    e = e - e.mean()
    return float(np.sqrt(np.mean([(e[k:] @ e[:-k] / (e @ e)) ** 2 for k in range(1, 11)])))


CASES = {"tanks": (make_tanks, read_tanks), "axis": (make_axis, read_axis), "drives": (make_drives, read_drives)}
