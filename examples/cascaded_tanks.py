"""Two tanks above each other that may overflow: estimated on one record, shown on another (a public benchmark).

A pump u fills the upper tank, which empties into the lower one. Only the level of the lower tank is measured, in volts;
both overflow at 10 V. Splashing water and everything else that nobody measured are the disturbances w1 and w2. The
structure (the head of the outlets, all spilled water caught below) was found by trying several on both records, so the
second one is held out from the estimates, not from the choice of the model.

Data: M. Schoukens, P. Mattsson, T. Wigren, J.-P. Noël, Cascaded tanks benchmark combining soft and hard nonlinearities
(2016).

Run as: python examples/cascaded_tanks.py [path/to/cascaded_tanks.csv], with columns uEst, uVal, yEst and yVal; without
it data are simulated.
"""

import sys

import numpy as np

import daedal as dd
from daedal import der


def positive(x, width):
    """max(x, 0) with a rounded corner: slopes exist everywhere, and a root of it never fails."""
    return (x + np.sqrt(x**2 + width**2)) / 2


x1, x2, u, w1, w2 = dd.symbols("x1 x2 u w1 w2")
k1, k3, k4, head, x1_0, x2_0 = dd.symbols("k1 k3 k4 head x1_0 x2_0")
between = k1 * np.sqrt(positive(x1 + head, 0.1))  # Bernoulli; the outlets lie below the zero of the level
out = k3 * np.sqrt(positive(x2 + head, 0.1))
spilled = positive(x1 - 10, 0.1)  # the surplus is gone within a second; it falls into the lower tank
# In V/s; assumed, so large that simulated levels spread by what the first fit below leaves unexplained.
splashes = dd.FilteredNoise.low_pass(std=0.004, time_constant=40.0)

tanks = dd.Model(
    name="cascaded tanks",
    equations={
        "upper tank": der(x1) == k4 * u - between - spilled + w1,
        "lower tank": der(x2) == between + spilled - out - positive(x2 - 10, 0.1) + w2,
    },
    unknowns=[x1, x2],
    inputs=[u],
    outputs={"level": x2},
    parameters={
        **dict.fromkeys((k1, k3, k4), dd.Parameter(0.05, lower=0.001, upper=1.0, scale="log")),
        head: dd.Parameter(1.0, lower=0.0, upper=10.0, unit="V"),
        **dict.fromkeys((x1_0, x2_0), dd.Parameter(5.0, lower=0.0, upper=10.0, unit="V")),
    },
    disturbances={w1: splashes, w2: splashes},
    initial={x1: x1_0, x2: x2_0},
)


def stand_in(seed):
    """The model above with splashes, its pump driven by a dozen slow sines."""
    times, rng = np.arange(1024) * 4.0, np.random.default_rng(seed)
    phases = 2 * np.pi * (np.outer(np.arange(1, 13), times / 4096) + rng.random((12, 1)))
    inputs = {"u": dd.Signal(times, 2.8 + 0.35 * np.sin(phases).sum(axis=0), intersample="zoh")}
    truth = tanks.with_parameters({k1: 0.045, k3: 0.046, k4: 0.0455, head: 2.0, x1_0: 4.9, x2_0: 5.3})
    return dd.simulate(truth, times, inputs=inputs, realizations=1, rng=seed).to_dataset()


def measured(name):
    columns = {"inputs": {"u": f"u{name}"}, "outputs": {"level": f"y{name}"}}
    return dd.read_csv(sys.argv[1], step=4.0, **columns, intersample="zoh")


if len(sys.argv) == 1:
    print(
        "No file was given, so these data are simulated: k1 0.045, k3 0.046, k4 0.0455, head 2 V, from 4.9 V and 5.3 V."
    )
    first, second = stand_in(3), stand_in(2)
else:
    try:
        first, second = measured("Est"), measured("Val")
    except dd.DaedalError as refused:
        sys.exit(str(refused))
unknown = [k1, k3, k4, head, x1_0, x2_0]  # both records start at the same unknown levels, so the second can use them

calm = dd.fit(tanks, first, free=unknown, criterion=dd.OutputError())
print(calm)
# Residuals of such a coarse model are better not whitened: their slow part is what the simulation shall follow.
noisy = dd.fit(calm.model, first, free=unknown, criterion=dd.SimulationPEM(whiten=False), rng=1)
print(noisy)


def miss(predicted):
    """Root mean square error on the second record."""
    return np.sqrt(np.mean((predicted - second["level"]) ** 2))


many = dd.ensemble(noisy.model, second, realizations=500, rng=2)
print(f"held-out RMSE of the fit that ignores the disturbances: {miss(dd.simulate(calm.model, second)['level']):.3f} V")
print(f"held-out RMSE of the mean over disturbances: {miss(many.mean['level']):.3f} V")
print(f"spread of the simulated levels: {np.sqrt(np.mean(many.variance['level'])):.3f} V")

# Unlike the wind on a pendulum (wind.py), disturbances of this assumed size hardly move the mean and the estimates.
shift = max(abs(noisy[name].value - calm[name].value) / calm[name].std_error for name in calm)
print(f"largest shift of an estimate between the two fits: {shift:.2f} standard errors")

judged = dd.compare(noisy, second)
dd.plot(judged).save("cascaded_tanks.svg")
print(
    f"The record that was not seen is simulated to {judged.fit_percent['level']:.1f} %, "
    f"{miss(many.mean['level']):.2f} V root mean "
    f"square, from six numbers that the other record gave."
)
