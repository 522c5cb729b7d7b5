"""From a fitted model to python-control: a Bode diagram with the band that the data leave, and a controller's margin.

A motor, estimated from its speed, is linear: `descriptor` gives matrices with names, `to_control` hands them over.
Estimates are uncertain, so what is designed on them is, too: the same lines for values drawn from the covariance of the
fit show how much.

Run as: python examples/to_control.py (it needs `pip install control matplotlib`)
"""

import control
import matplotlib.pyplot as plt
import numpy as np

import daedal as dd
from daedal import der

i, w, u, load = dd.symbols("i w u load")
R, L, k, J, d = dd.symbols("R L k J d")
motor = dd.Model(
    name="motor",
    equations={
        "winding": L * der(i) + R * i + k * w == u,
        "rotor": J * der(w) == k * i - d * w + load,
    },
    unknowns=[i, w],
    inputs=[u],
    outputs={"speed": w},
    parameters={
        R: 1.2,
        L: 0.01,
        k: dd.Parameter(0.08, lower=0.01, upper=1.0, scale="log"),
        J: dd.Parameter(2e-3, lower=1e-5, upper=1.0, scale="log"),
        d: dd.Parameter(1e-3, lower=1e-6, upper=1.0, scale="log"),
    },
    disturbances={load: dd.FilteredNoise.low_pass(std=0.01, time_constant=0.3)},
    measurement_noise={"speed": 0.2},
    initial={i: 0.0, w: 0.0},
)
times = np.arange(600) * 0.01
volts = dd.Signal(times, np.repeat(np.random.default_rng(1).choice([-6.0, 6.0], 20), 30), intersample="zoh")
truth = motor.with_parameters({k: 0.05, J: 1e-3, d: 2e-3})
data = dd.simulate(truth, times, inputs={"u": volts}, realizations=1, measurement_noise=True, rng=3).to_dataset()
fit = dd.fit(motor, data, free=[k, J, d])
print(fit)

frequencies = np.logspace(-1, 3, 200)


def loop(model):
    """Volts to speed, as python-control knows it, behind a controller with integral action."""
    plant = dd.descriptor(model).to_control()
    return control.ss2tf(plant)[0, 0] * control.tf([0.5, 2.0], [1.0, 0.0])


def crossing(open_loop):
    """Phase margin in degrees."""
    return control.margin(open_loop)[1]


nominal = loop(fit.model)
drawn = np.random.default_rng(0).multivariate_normal([fit[name].value for name in fit.params], fit.cov, size=60)
loops = [loop(fit.model.with_parameters(dict(zip(fit.params, values, strict=True)))) for values in drawn]
gains = np.abs([one(1j * frequencies) for one in loops])
margins = [crossing(one) for one in loops]

figure, axes = plt.subplots(figsize=(5.5, 3.5))
axes.fill_between(frequencies, *np.percentile(gains, [2.5, 97.5], axis=0), alpha=0.35, label="95 % of the estimates")
axes.loglog(frequencies, np.abs(nominal(1j * frequencies)), label="estimated")
axes.loglog(frequencies, np.abs(loop(truth)(1j * frequencies)), "k:", label="truth")
axes.set(xlabel="frequency (rad/s)", ylabel="gain of the open loop")
axes.legend(frameon=False)
figure.savefig("to_control.svg", bbox_inches="tight")
low, high = np.percentile(margins, [2.5, 97.5])
print(
    f"The phase margin is {crossing(nominal):.1f}°, and what the data leave open moves it between {low:.1f}° and "
    f"{high:.1f}°; "
    f"the true motor has {crossing(loop(truth)):.1f}°."
)
