"""Rate constants and activation energies of a semibatch reactor from several experiments (example of pyomo's parmest).

A feed brings the reactant A, which reacts to B and further to C; jacket and coil heat or cool. The feed Fa and the
temperature Tc of the coolant are switched once. The experiments share k1, E1, k2, E2, but neither inputs nor initial
concentrations.

Data: github.com/Pyomo/pyomo, pyomo/contrib/parmest/examples/semibatch, exp1.out to exp14.out, gathered in one file:
{"experiments": [{"experiment": 1, "inputs": {"Fa1": 0.003, ...}, "t": [...], "Ca_meas": [...], ...}, ...]}.

Run as: python examples/semibatch.py [path/to/semibatch.json]; without it data are simulated.
"""

import json
import sys
from pathlib import Path

import numpy as np

import daedal as dd
from daedal import der

Ca, Cb, Cc, Vr, Tr, Fa, Tc = dd.symbols("Ca Cb Cc Vr Tr Fa Tc")
k1, E1, k2, E2, Ca0, Cb0, Cc0 = dd.symbols("k1 E1 k2 E2 Ca0 Cb0 Cc0")
R, Mwa, rho, cp, Tf, heat1, heat2, Vr0 = 8.314, 50.0, 1000.0, 3.9, 300.0, -40_000.0, -50_000.0, 1.0
heating = (0.8 * 5.0 + 0.7 * 3.0) / Vr0  # jacket and coil, which have the same temperature
r1 = k1 * np.exp(-E1 / (R * Tr)) * Ca
r2 = k2 * np.exp(-E2 / (R * Tr)) * Cb

weights = {"Ca": 1.0, "Cb": 1.0, "Cc": 1.0, "Tr": 10.0}  # a kelvin counts a tenth of a mol/m³

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
    measurement_noise=weights,
    initial={Ca: Ca0, Cb: Cb0, Cc: Cc0, Vr: Vr0, Tr: 300.0},
)


def switched(set_to):
    """Feed and temperature of the coolant, each with one value until half-time and another after it."""
    return {
        name: dd.Signal([0.0, 10_800.0, 21_600.0], [set_to[f"{name}{k}"] for k in (1, 2, 2)], intersample="zoh")
        for name in ("Fa", "Tc")
    }


def started(set_to):
    return {name: set_to[name] for name in ("Ca0", "Cb0", "Cc0")}


def stand_in():
    """The model above in the six settings of the published experiments; sensors err by 0.15 mol/m³ and 1.5 K."""
    print("No file was given, so these data are simulated: k1 20 1/s, E1 30750 J/mol, k2 66 1/s, E2 39300 J/mol.")
    truth = reactor.with_parameters({k1: 20.0, E1: 30_750.0, k2: 66.0, E2: 39_300.0})
    times, rng = np.linspace(0.0, 21_600.0, 21), np.random.default_rng(1)
    usual = {"Fa1": 0.003, "Fa2": 0.0, "Tc1": 320.0, "Tc2": 320.0, "Ca0": 0.0, "Cb0": 0.0, "Cc0": 0.0}
    warmed = {"Tc1": 310.0, "Tc2": 340.0}
    others = [{}, warmed | {"Fa1": 0.001, "Fa2": 0.001}, warmed, {"Cb0": 2.0}, {"Cc0": 2.0}, {"Ca0": 2.0}]
    for number, other in enumerate(others, start=1):
        inputs = usual | other
        run = dd.simulate(truth.with_parameters(started(inputs)), times, inputs=switched(inputs))
        noise = {name: 0.15 * weight * rng.standard_normal(times.size) for name, weight in weights.items()}
        measured = {f"{name}_meas": run[name] + noise[name] for name in weights}
        yield {"experiment": number, "inputs": inputs, "t": times, **measured}


try:
    experiments = (
        json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["experiments"]
        if len(sys.argv) > 1
        else list(stand_in())
    )
except (OSError, ValueError, KeyError) as refused:
    sys.exit(f"'{sys.argv[1]}' does not hold the experiments ({refused}). Check the path, or give none.")
data = [
    dd.Dataset(
        one["t"],
        inputs=switched(one["inputs"]),
        outputs={name: one[f"{name}_meas"] for name in weights},
        name=f"experiment {one['experiment']}",
    )
    for one in experiments
]
fixed = [started(one["inputs"]) for one in experiments]

fit = dd.fit(
    reactor, data, free=[k1, E1, k2, E2], fixed=fixed, criterion=dd.OutputError(), starts=dd.LatinHypercube(2), rng=1
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

dd.plot(fit, ["Ca", "Cb"]).save("semibatch.svg")
print(
    f"{len(data)} experiments give k1 = {fit['k1'].value:.1f} ± {fit['k1'].std_error:.1f} 1/s and E1 = "
    f"{fit['E1'].value / 1000:.2f} ± {fit['E1'].std_error / 1000:.2f} kJ/mol, which are known together far better "
    f"than apart."
)
