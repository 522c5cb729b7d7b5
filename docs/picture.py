"""Draw docs/double_pendulum.svg, the picture of the README (matplotlib, a development dependency)."""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("svg")
import matplotlib.pyplot as plt

import daedal as dd
from daedal import der

x1, y1, x2, y2, f1, f2 = dd.symbols("x1 y1 x2 y2 f1 f2")
m, g, L = dd.symbols("m g L")
model = dd.Model(
    name="double pendulum",
    equations={
        "force x1": m * der(der(x1)) == f2 * (x2 - x1) - f1 * x1,
        "force y1": m * der(der(y1)) == f2 * (y2 - y1) - f1 * y1 - m * g,
        "force x2": m * der(der(x2)) == f2 * (x1 - x2),
        "force y2": m * der(der(y2)) == f2 * (y1 - y2) - m * g,
        "rod 1": x1**2 + y1**2 == L**2,
        "rod 2": (x2 - x1) ** 2 + (y2 - y1) ** 2 == L**2,
    },
    unknowns=[x1, y1, x2, y2, f1, f2],
    outputs={"energy": m * (der(x1) ** 2 + der(y1) ** 2 + der(x2) ** 2 + der(y2) ** 2) / 2 + m * g * (y1 + y2)},
    parameters={m: 1.0, g: 9.81, L: 1.0},
    initial={x1: 0.6, x2: 1.2, der(x1): 0.0, der(x2): 0.0},
    guess={y1: 0.8, y2: 1.6},
)
run = dd.simulate(model, np.linspace(0, 8, 1601), solver=dd.IDA(rtol=1e-10, atol=1e-12))

plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "daedal"})
figure, (text, path, force) = plt.subplots(1, 3, figsize=(9.6, 3), width_ratios=[1.75, 1, 1.3])
text.axis("off")
text.set_title("equations as they stand in a book", loc="left")
for row, equation in enumerate(model.equations.values()):
    text.text(0.0, 0.86 - 0.12 * row, str(equation), family="monospace", fontsize=7.5, transform=text.transAxes)
structure = dd.analyze(model)
found = f"→ index {structure.index}, {structure.degrees_of_freedom} degrees of freedom"
text.text(0.0, 0.08, found, fontsize=9, color="C3", transform=text.transAxes)
path.plot(run["x2"], run["y2"], color="C0", lw=0.7)
path.plot([0, run["x1"][0], run["x2"][0]], [0, run["y1"][0], run["y2"][0]], "o-", color="C3", ms=4, lw=1.5)
path.set(aspect="equal", xlabel="x", ylabel="y")
path.set_title("simulated", loc="left")
drift = np.abs(run["x1"] ** 2 + run["y1"] ** 2 - 1.0)
force.plot(run.times, run["f1"], color="C0", lw=0.9, label="rod 1")
force.plot(run.times, run["f2"], color="C1", lw=0.9, label="rod 2")
force.legend(frameon=False, fontsize=8)
force.set(xlabel="time (s)", ylabel="force per length (N/m)")
force.set_title(f"rods kept to {max(drift.max(), 1e-16):.0e} m", loc="left")
figure.tight_layout()
figure.savefig(Path(__file__).with_name("double_pendulum.svg"), metadata={"Date": None})
print("energy kept to", np.max(np.abs(run["energy"] / run["energy"][0] - 1)))
