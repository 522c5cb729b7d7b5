"""Likelihood of nonlinear models on measured records: innovations nearer to white than what output error leaves, and
one-step predictions of a record that was not used that are not worse.

Three public benchmarks: the cascaded tanks of Schoukens and others (2016), the positioning axis of Janot and others
(EMPS, 2019), and the coupled electric drives of Wigren and Schoukens (CE8, 2017).
"""

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
    between, spilled = k1 * np.sqrt(corner(x1 + head, 0.1)), 0.25 * corner(x1 - 10, 0.1)  # gone within a sample
    out = k3 * np.sqrt(corner(x2 + head, 0.1)) + 0.25 * corner(x2 - 10, 0.1)
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
    """Two motors with a lag, and a pulley on the belt between them whose speed is seen without its sign."""
    motors, speed, rate, u, k, alpha, w0, xi = dd.symbols("motors speed rate u k alpha w0 xi")
    return dd.Model(
        name="drives",
        equations={
            "motors": der(motors) == alpha * (k * u - motors),
            "speed": der(speed) == rate,
            "belt": der(rate) == w0**2 * (motors - speed + w) - 2 * xi * w0 * rate,
        },
        unknowns=[motors, speed, rate],
        inputs=[u],
        outputs={"y": np.sqrt(speed**2 + 0.03**2)},  # |speed|, rounded
        parameters={
            k: positive(1.0, 0.1, 10.0),
            alpha: positive(3.0, 0.3, 30.0),
            w0: positive(20.0, 2.0, 60.0),
            xi: positive(0.3, 0.02, 3.0),
            sigma: positive(0.05, 1e-3, 1.0),
            strength: positive(0.1, 1e-3, 3.0),
        },
        disturbances={w: dd.FilteredNoise.low_pass(std=strength, time_constant=0.1)},
        measurement_noise={"y": sigma},
        initial={motors: 0.0, speed: 0.0, rate: 0.0},
    )


def read_drives(measured) -> list[dd.Dataset]:
    """Two records with uniformly distributed voltages."""
    path = measured("ce8_uniform.csv")
    return [
        dd.read_csv(path, step=0.02, inputs={"u": f"u{name}"}, outputs={"y": f"z{name}"}, intersample="zoh")
        for name in ("11", "12")
    ]


def read_tanks(measured) -> list[dd.Dataset]:
    path = measured("cascaded_tanks.csv")
    return [
        dd.read_csv(path, step=4.0, inputs={"u": f"u{name}"}, outputs={"y": f"y{name}"}, intersample="zoh")
        for name in ("Est", "Val")
    ]


def read_axis(measured) -> list[dd.Dataset]:
    """Every tenth millisecond of the first five seconds, and of the first ten; the voltage as it was, held."""
    data = dd.read_csv(
        measured("emps_est.csv.gz"), time="t", outputs={"y": "q_meas"}, inputs={"u": "vir"}, intersample="zoh"
    )
    times, y = data.outputs["y"].times, data.outputs["y"].values
    parts = [slice(0, 5000, 10), slice(0, 10_000, 10)]
    return [
        dd.Dataset(times[one], inputs={"u": data.inputs["u"]}, outputs={"y": y[one]}, t0=float(times[0]))
        for one in parts
    ]


def correlate(residual: np.ndarray) -> float:
    """Root mean square of the first ten autocorrelations."""
    e = residual[np.isfinite(residual)]
    e = e - e.mean()
    return float(np.sqrt(np.mean([(e[k:] @ e[:-k] / (e @ e)) ** 2 for k in range(1, 11)])))


# Model, data, and what the likelihood estimates beside the sizes of noise; the rest stays where output error found it.
CASES = {
    "tanks": (make_tanks, read_tanks, ("k1", "k3", "k4")),
    "axis": (make_axis, read_axis, ("M", "Fv", "Fc", "offset")),
    "drives": (make_drives, read_drives, ("k", "alpha", "w0", "xi")),
}


@pytest.mark.parametrize("name", CASES)
def test_innovations_are_whiter_and_predictions_of_held_out_samples_better(name, measured):
    make, read, physical = CASES[name]
    model, (first, second) = make(), read(measured)
    plain = [name for name in model.parameters if name not in ("sigma", "strength")]
    calm = dd.fit(model, first, free=plain, criterion=dd.OutputError())
    criterion = dd.Likelihood(method="laplace")
    fit = dd.fit(calm.model, first, free=[*physical, "sigma", "strength"], criterion=criterion)
    white, coloured = (correlate(next(iter(dd.resid(one)["y"].values.values()))) for one in (fit, calm))
    assert white < 0.5 * coloured
    ahead = dd.compare(fit, second)["y"].ahead
    assert ahead is not None
    missed = np.sqrt(np.nanmean((ahead.measured - ahead.predicted)[ahead.scored] ** 2))
    assert missed < 0.5 * dd.compare(calm, second).rmse["y"]
