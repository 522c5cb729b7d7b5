"""Rate constants and activation energies of a semibatch reactor from 14 experiments (example of pyomo's parmest).

A feed brings the reactant A, which reacts to B and further to C; jacket and coil heat or cool. The feed Fa and the
temperature Tc of the coolant are switched once. The experiments share k1, E1, k2, E2, but neither inputs nor initial
concentrations.

Run as: python examples/semibatch.py path/to/semibatch.json
"""

import json
import sys
from pathlib import Path

import numpy as np

import daedal as dd
from daedal import der

if len(sys.argv) != 2:
    sys.exit("Give the data file: python examples/semibatch.py path/to/semibatch.json")

Ca, Cb, Cc, Vr, Tr, Fa, Tc = dd.symbols("Ca Cb Cc Vr Tr Fa Tc")
k1, E1, k2, E2, Ca0, Cb0, Cc0 = dd.symbols("k1 E1 k2 E2 Ca0 Cb0 Cc0")
R, Mwa, rho, cp, Tf, heat1, heat2, Vr0 = 8.314, 50.0, 1000.0, 3.9, 300.0, -40_000.0, -50_000.0, 1.0
heating = (0.8 * 5.0 + 0.7 * 3.0) / Vr0  # jacket and coil, which have the same temperature
r1 = k1 * np.exp(-E1 / (R * Tr)) * Ca
r2 = k2 * np.exp(-E2 / (R * Tr)) * Cb

reactor = dd.Model(
    name="semibatch reactor",
    equations={
        "A": der(Ca) == Fa / Vr - r1,
        "B": der(Cb) == r1 - r2,
        "C": der(Cc) == r2,
        "volume": der(Vr) == Fa * Mwa / rho,
        "heat": rho * cp * der(Tr) == Fa * Mwa * cp / Vr * (Tf - Tr) - r1 * heat1 - r2 * heat2 + heating * (Tc - Tr),
    },
    unknowns=[Ca, Cb, Cc, Vr, Tr],
    inputs=[Fa, Tc],
    outputs={"Ca": Ca, "Cb": Cb, "Cc": Cc, "Tr": Tr},
    parameters={
        k1: dd.Parameter(15.0, lower=2.0, upper=100.0, scale="log", unit="1/s"),
        k2: dd.Parameter(85.0, lower=2.0, upper=150.0, scale="log", unit="1/s"),
        E1: dd.Parameter(30_000.0, lower=25_000.0, upper=40_000.0, unit="J/mol"),
        E2: dd.Parameter(40_000.0, lower=35_000.0, upper=50_000.0, unit="J/mol"),
        **dict.fromkeys((Ca0, Cb0, Cc0), 0.0),
    },
    measurement_noise={"Ca": 1.0, "Cb": 1.0, "Cc": 1.0, "Tr": 10.0},  # a kelvin counts a tenth of a mol/m³
    initial={Ca: Ca0, Cb: Cb0, Cc: Cc0, Vr: Vr0, Tr: 300.0},
)

half, end = 10_800.0, 21_600.0
experiments = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["experiments"]
data = [
    dd.Dataset(
        one["t"],
        inputs={
            name: dd.Signal([0.0, half, end], [set_to[f"{name}1"], set_to[f"{name}2"], set_to[f"{name}2"]], "zoh")
            for name in ("Fa", "Tc")
        },
        outputs={name: one[f"{name}_meas"] for name in reactor.outputs},
        name=f"experiment {one['experiment']}",
    )
    for one in experiments
    for set_to in [one["inputs"]]
]
fixed = [{name: one["inputs"][name] for name in ("Ca0", "Cb0", "Cc0")} for one in experiments]

fit = dd.fit(
    reactor, data, free=[k1, E1, k2, E2], fixed=fixed, criterion=dd.OutputError(), starts=dd.LatinHypercube(4), rng=1
)
print(fit)
print(f"sum of squares: {2 * fit.value:.4f}")
reached = ", ".join(f"{one.count} at {2 * one.value:.4f}" for one in fit.minima)
print(f"minima that the {sum(one.count for one in fit.minima)} starts ended in: {reached}")

# At one temperature the data show k exp(−E/(R T)) alone, and the temperatures hardly vary: a flat valley in (k, E).
for k, E in (("k1", "E1"), ("k2", "E2")):
    pair = [list(fit.params).index(name) for name in (k, E)]
    slope = np.array([1.0 / fit[k].value, -1.0 / (R * 325.0)])  # of log k − E/(R T)
    error = np.sqrt(slope @ fit.cov[np.ix_(pair, pair)] @ slope)
    print(
        f"{k} is known to {fit[k].std_error / fit[k].value:.1%} only, but its reaction rate at 325 K to {error:.1%} "
        f"(correlation of {k} and {E}: {fit.correlation[*pair]:.4f})"
    )
