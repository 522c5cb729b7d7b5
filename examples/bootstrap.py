"""How sure are two numbers? A cup cools on a windy balcony; a bootstrap says it, and is stopped and resumed on the way.

The fitted model makes 39 records like the one that was measured, and each is fitted again. Every finished run is in the
journal "cooling.study" before the next counts: kill this script whenever you like and start it again.

Run as: python examples/bootstrap.py
"""

import numpy as np

import daedal as dd
from daedal import der

T, wind, loss, outside = dd.symbols("T wind loss outside")
cooling = dd.Model(
    name="cooling",
    equations={"heat": der(T) == -loss * (T - outside) + wind},
    unknowns=[T],
    outputs={"reading": T},
    parameters={
        loss: dd.Parameter(0.3, lower=0.01, upper=5.0, scale="log", unit="1/min"),
        outside: dd.Parameter(10.0, lower=-30.0, upper=30.0, unit="°C"),
    },
    disturbances={wind: dd.FilteredNoise.low_pass(std=0.3, time_constant=2.0)},  # gusts that nobody measured
    measurement_noise={"reading": 0.2},
    initial={T: 80.0},
    units={"T": "°C", "reading": "°C", "time": "min"},
)
truth = cooling.with_parameters({"loss": 0.12, "outside": 4.0})
times = np.arange(0.0, 30.0, 0.5)
data = dd.simulate(truth, times, realizations=1, measurement_noise=True, rng=2).to_dataset()
fit = dd.fit(cooling, data, free=["loss", "outside"])  # linear: the likelihood is exact
print(fit)

# Fifteen runs now, the others later: the same call goes on where it stopped, whatever stopped it. workers=4 would share
# them among processes, and a Client of dask.distributed among machines (docs/clusters.md), without changing a digit.
first = dd.study(fit, dd.ParametricBootstrap(), runs=15, journal="cooling.study", rng=5)
print(first)
study = dd.study(fit, dd.ParametricBootstrap(), runs=39, journal="cooling.study", rng=5)
print(study)
kept = study.to_pandas().iloc[:15].equals(first.to_pandas())
print(
    f"the 15 runs of before are still there: {kept}; the file says the same: "
    f"{dd.load('cooling.study').to_pandas().equals(study.to_pandas())}"
)

# Does the record determine these numbers from every start? And how often would intervals of such a record be right?
print(dd.study(fit, dd.Starts(4), rng=1))
print(dd.study(fit, dd.MonteCarlo(truth=truth), runs=8, rng=1))

dd.plot(study).save("bootstrap.svg")
percentiles, formula = study.conf_int()["loss"], fit.conf_int()["loss"]
print(
    f"39 bootstrap runs put the loss between {percentiles[0]:.3f} and {percentiles[1]:.3f} 1/min, the formula of the "
    f"fit "
    f"between {formula[0]:.3f} and {formula[1]:.3f}; the truth is 0.120."
)
