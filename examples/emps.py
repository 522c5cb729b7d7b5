"""An electro-mechanical positioning system (EMPS): mass, viscous and dry friction from voltage and position.

Friction is `np.sign`, as in a book: where the axis rests, it sticks until the force exceeds Fc, and each instant at
which it comes to rest or breaks away is located. The voltage is held from sample to sample; nothing else drives the
axis, so that an error of its force would add up for the whole record.

Data: A. Janot, M. Gautier, M. Brunot, Data set and reference models of EMPS, Workshop on Nonlinear System
Identification Benchmarks (2019); published there: M 95.1089 kg, Fv 203.5034 N s/m, Fc 20.3935 N, offset -3.1648 N.

Run as: python examples/emps.py [path/to/emps_est.csv.gz], with columns t, q_meas and vir; without it data are
simulated.
"""

import sys

import numpy as np

import daedal as dd
from daedal import der

q, v, volts, M, Fv, Fc, offset = dd.symbols("q v volts M Fv Fc offset")
FORCE = 35.1506  # N/V, of the drive, as published
axis = dd.Model(
    name="axis",
    equations={
        "speed": der(q) == v,
        "motion": M * der(v) == FORCE * volts - Fv * v - Fc * np.sign(v) - offset,
    },
    unknowns=[q, v],
    inputs=[volts],
    outputs={"position": q},
    parameters={
        M: dd.Parameter(80.0, lower=20.0, upper=300.0, unit="kg"),
        Fv: dd.Parameter(150.0, lower=1.0, upper=800.0, unit="N s/m"),
        Fc: dd.Parameter(15.0, lower=1.0, upper=80.0, unit="N"),
        offset: dd.Parameter(0.0, lower=-20.0, upper=20.0, unit="N"),
    },
    initial={q: 0.0, v: 0.0},
    units={"position": "m"},
)


def stand_in():
    """Voltages that would lead the axis to and fro with rests between, and the position within 0.02 mm."""
    print("No file was given, so these data are simulated: M 95.1 kg, Fv 203.5 N s/m, Fc 20.4 N, offset -3.2 N.")
    times = np.arange(1201) * 0.005
    speed = 0.12 * np.sin(2.0 * times) * (np.sin(0.7 * times) > 0.0)
    force = 95.1 * np.gradient(speed, times) + 203.5 * speed + 20.4 * np.sign(speed) - 3.2
    truth = axis.with_parameters({M: 95.1, Fv: 203.5, Fc: 20.4, offset: -3.2})
    inputs = {"volts": dd.Signal(times, force / FORCE, intersample="zoh")}
    clean = dd.simulate(truth, times, inputs=inputs)["position"]
    noise = 2e-5 * np.random.default_rng(1).standard_normal(times.size)
    return dd.Dataset(times, inputs=inputs, outputs={"position": clean + noise})


columns = {"inputs": {"volts": "vir"}, "outputs": {"position": "q_meas"}, "intersample": "zoh"}
try:
    data = dd.read_csv(sys.argv[1], time="t", **columns) if len(sys.argv) > 1 else stand_in()
except dd.DaedalError as refused:
    sys.exit(str(refused))

fit = dd.fit(axis, data, free=[M, Fv, Fc, offset], criterion=dd.OutputError())
print(fit)
simulated = dd.simulate(fit.model, data)
still = np.mean(np.abs(simulated["v"]) < 1e-6)
print(f"the axis rests for {100 * still:.0f} % of the time")
miss = np.sqrt(np.mean((simulated["position"] - data["position"]) ** 2))

dd.plot([simulated, data], ["position"]).save("emps.svg")
print(
    f"Dry friction is {fit['Fc'].value:.2f} ± {fit['Fc'].std_error:.2g} N, the mass {fit['M'].value:.1f} ± "
    f"{fit['M'].std_error:.2g} kg; driven by the voltage alone, the position is followed to {1e3 * miss:.2f} mm."
)
