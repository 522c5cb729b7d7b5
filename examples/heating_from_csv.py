"""A model driven by a measured input from a CSV file (a halogen lamp heating a plate; DaISy, KU Leuven).

Run as: python examples/heating_from_csv.py path/to/daisy_heating_system.csv
"""

import sys

import numpy as np

import daedal as dd
from daedal import der

if len(sys.argv) != 2:
    sys.exit("Give the data file: python examples/heating_from_csv.py path/to/daisy_heating_system.csv")

T, u = dd.symbols("T u")
C, gain, loss, radiation, T_air = dd.symbols("C gain loss radiation T_air")

plate = dd.Model(
    name="plate",
    equations={
        "heat": C * der(T)
        == gain * u**2 - loss * (T - T_air) - radiation * ((T + 273.15) ** 4 - (T_air + 273.15) ** 4),
    },
    unknowns=[T],
    inputs=[u],
    outputs={"temperature": T},
    parameters={C: 200.0, gain: 4.8, loss: 0.01, radiation: 1.0e-8, T_air: 22.0},
    initial={T: 129.3},
)

data = dd.read_csv(
    sys.argv[1],
    time="t",
    inputs={"u": "u_voltage"},
    outputs={"temperature": "y_temperature"},
    intersample="zoh",
)
print(data)

run = dd.simulate(plate, data)  # times, start and input come with the data
error = run["temperature"] - data["temperature"]
print(run)
print(f"root mean square error with these hand-picked values: {np.sqrt(np.nanmean(error**2)):.1f} °C")
