"""A pendulum pushed by a wind that nobody measures: does ignoring the wind average out?

The wind enters as w², so it pushes to one side on average. Three hundred realizations show what a method that ignores
the disturbance gets wrong. Three estimates of the drag from one record show what to do about it: the mean over
simulated winds, or the likelihood, which also learns from what the wind did in this very record.

Run as: python examples/wind.py
"""

import numpy as np

import daedal as dd
from daedal import der

x, y, vx, vy, tension = dd.symbols("x y vx vy tension")
u, w = dd.symbols("u w")
m, g, k, L = dd.symbols("m g k L")

pendulum = dd.Model(
    name="pendulum in the wind",
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
    parameters={m: 0.3, g: 9.81, L: 6.25, k: 6.25},
    disturbances={w: dd.FilteredNoise(numerator=[0.6], denominator=[1.0, 0.8, 16.0], initial="rest")},
    measurement_noise={"angle": 0.002},
    initial={x: 0.0, vx: 0.0},
    guess={y: -L},
)

times = np.arange(1001) * 0.1
push = dd.Signal(times, 0.1 * np.sin(0.9 * times) + 0.1 * np.sin(0.37 * times))

calm = dd.simulate(pendulum, times, inputs={"u": push})  # no realizations: disturbances are zero
windy = dd.ensemble(pendulum, times, inputs={"u": push}, realizations=300, keep=3, rng=1)
print(windy)

shift = np.mean(windy.mean["angle"][100:] - calm["angle"][100:])
spread = np.sqrt(np.mean(windy.variance["angle"]) / 300)
print(
    f"the wind shifts the mean angle by {shift:.4f} rad, {shift / spread:.0f} standard errors: it does not average out"
)

# Solvers of two kinds agree on the calm pendulum: the compiled engine above, SUNDIALS IDA here.
reference = dd.simulate(pendulum, times, inputs={"u": push}, solver=dd.IDA(rtol=1e-10, atol=1e-12))
print(f"largest difference of the two solvers: {np.max(np.abs(calm['angle'] - reference['angle'])):.1e} rad")

# The drag from one windy record: ignoring the wind, taking the mean over winds that are drawn once and kept, and by the
# likelihood, which `fit` takes when it is told nothing: here, where the wind acts through its square, by particles.
shaken = dd.FilteredNoise(numerator=[0.2], denominator=[1.0, 0.8, 16.0])
inputs = {"u": dd.Signal(times, dd.sample_path(shaken, times, rng=2))}
data = dd.simulate(pendulum, times, inputs=inputs, realizations=1, measurement_noise=True, rng=2).to_dataset()
unknown = {"k": dd.Parameter(8.0, lower=2.0, upper=20.0, unit="kg/m")}
for label, criterion in (
    ("wind ignored", dd.OutputError()),
    ("mean over winds, whitened", dd.SimulationPEM(realizations=200, whiten=True)),
    ("likelihood", None),
):
    drag = dd.fit(pendulum, data, free=unknown, criterion=criterion, rng=7)["k"]
    print(f"drag, {label}: {drag.value:.2f} ± {drag.std_error:.2f}; the truth is 6.25")

dd.plot(windy, ["angle"]).save("wind.svg")
print(
    f"The wind moves the mean angle by {shift:.4f} rad; the likelihood finds a drag of {drag.value:.2f} ± "
    f"{drag.std_error:.2f}."
)
