"""Draw docs/static/estimate.svg, the picture of the README: a drag from eight records, the wind ignored and not.

The pendulum is that of the README; every estimate is a `fit`. About a minute (matplotlib, a development
dependency).
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np

from readme import read_script

mpl.use("svg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[2]
RECORDS, TRUTH = 8, 6.25

names: dict = {}
exec(read_script().partition("data = ")[0], names)
dd, pendulum = names["dd"], names["pendulum"]
times = np.arange(501) * 0.1

found = []
for seed in range(RECORDS):
    data = dd.simulate(pendulum, times, realizations=1, measurement_noise=True, rng=seed).to_dataset()
    pair = [
        dd.fit(pendulum, data, free={"k": 8.0}, criterion=each, rng=7) for each in (dd.OutputError(), dd.Likelihood())
    ]
    found.append([(fit["k"].value, *fit.conf_int()["k"]) for fit in pair])
    print(seed, found[-1], flush=True)
found = np.array(found)  # (record, method, value and interval)

plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "daedal"})
figure, (record, estimates) = plt.subplots(1, 2, figsize=(9.6, 3.1), width_ratios=[1, 1.25])
record.plot(data.sample_times, data["angle"], ".", ms=1.5, color="#0072B2")
record.set(xlabel="time (s)", ylabel="angle (rad)")
record.set_title("one record, in an unmeasured wind", loc="left")
for place, (label, color) in enumerate((("wind ignored (output error)", "#D55E00"), ("likelihood", "#0072B2"))):
    value, low, high = found[:, place].T
    at = np.arange(RECORDS) + 0.28 * place - 0.14
    marker = "os"[place]
    estimates.errorbar(at, value, [value - low, high - value], fmt=marker, ms=4, lw=1, color=color, label=label)
estimates.axhline(TRUTH, color="black", lw=1, ls="--", label="truth")
estimates.set(xlabel="record", ylabel="drag (kg/m)", xticks=range(RECORDS), xticklabels=range(1, RECORDS + 1))
estimates.legend(frameon=False, fontsize=8, ncols=3, loc="upper left", bbox_to_anchor=(0.0, 1.02))
estimates.set_ylim(top=estimates.get_ylim()[1] + 0.4)
estimates.set_title("the drag from eight records, intervals of 95 %", loc="left", y=1.06)
figure.tight_layout()
figure.savefig(ROOT / "docs" / "static" / "estimate.svg", metadata={"Date": None})
for label, column in (("ignored", 0), ("likelihood", 1)):
    error = np.sqrt(np.mean((found[:, column, 0] - TRUTH) ** 2))
    print(f"{label}: mean {found[:, column, 0].mean():.2f}, root mean square error {error:.2f}")
