"""Draw docs/static/estimate.svg, the picture of the README: a drag from eight rides, the gusts ignored and not.

The ride is that of the README; every estimate is a `fit`. Half a minute (matplotlib, a development dependency).
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np

from readme import read_script

mpl.use("svg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[2]
RECORDS, TRUTH = 8, 0.2

names: dict = {}
exec(read_script().partition("data = ")[0], names)
dd, ride = names["dd"], names["ride"]
criteria = (dd.OutputError(), dd.Likelihood(method="laplace"))

found = []
for seed in range(1, RECORDS + 1):
    data = dd.simulate(ride, np.arange(1201.0), realizations=1, measurement_noise=True, rng=seed).to_dataset()
    pair = [dd.fit(ride, data, free={"k": 0.3}, criterion=one) for one in criteria]
    found.append([(fit["k"].value, *fit.conf_int()["k"]) for fit in pair])
    print(seed, found[-1], flush=True)
found = np.array(found)  # (record, method, value and interval)

plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "daedal"})
figure, (record, estimates) = plt.subplots(1, 2, figsize=(9.6, 3.1), width_ratios=[1, 1.25])
record.plot(data.sample_times, data["speed"], ".", ms=1.5, color="#0072B2")
record.set(xlabel="time (s)", ylabel="speed (m/s)")
record.set_title("one ride, in gusts that nobody measured", loc="left")
for place, (label, color) in enumerate((("gusts ignored (output error)", "#D55E00"), ("likelihood", "#0072B2"))):
    value, low, high = found[:, place].T
    at = np.arange(RECORDS) + 0.28 * place - 0.14
    marker = "os"[place]
    estimates.errorbar(at, value, [value - low, high - value], fmt=marker, ms=4, lw=1, color=color, label=label)
estimates.axhline(TRUTH, color="black", lw=1, ls="--", label="truth")
estimates.set(xlabel="ride", ylabel="drag (kg/m)", xticks=range(RECORDS), xticklabels=range(1, RECORDS + 1))
estimates.legend(frameon=False, fontsize=8, ncols=3, loc="upper left", bbox_to_anchor=(0.0, 1.02))
estimates.set_ylim(top=estimates.get_ylim()[1] + 0.006)
estimates.set_title("the drag from eight rides, intervals of 95 %", loc="left", y=1.06)
figure.tight_layout()
figure.savefig(ROOT / "docs" / "static" / "estimate.svg", metadata={"Date": None})
for label, column in (("ignored", 0), ("likelihood", 1)):
    error = np.sqrt(np.mean((found[:, column, 0] - TRUTH) ** 2))
    print(f"{label}: mean {found[:, column, 0].mean():.4f}, root mean square error {error:.4f}")
