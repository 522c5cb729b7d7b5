"""A model driven by a measured input from a CSV file: a halogen lamp heats a plate, which radiates.

Data: B. De Moor (ed.), DaISy: Database for the Identification of Systems, ESAT/STADIUS, KU Leuven, Belgium.

Run as: python examples/heating_from_csv.py [path/to/daisy_heating_system.csv], with columns t, u_voltage and
y_temperature; without it data are simulated.
"""

import sys

import numpy as np

import daedal as dd
from daedal import der

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
    parameters={
        C: 200.0,  # the unit of all others: temperatures alone do not tell the size of heat flows
        gain: dd.Parameter(4.8, lower=0.5, upper=50.0, scale="log"),
        loss: dd.Parameter(0.01, lower=0.0, upper=10.0),
        radiation: dd.Parameter(1.0e-8, lower=1e-10, upper=1e-6, scale="log"),
        T_air: 22.0,
    },
    initial={T: 129.3},
)


def stand_in():
    """The model above, its lamp switched as in the laboratory, and a thermometer that errs by 1 °C."""
    print("No file was given, so these data are simulated: the thermometer errs by 1 °C.")
    times = np.arange(801) * 2.0
    volts = np.repeat([9.0, 4.0, 8.0, 3.0, 7.0, 6.0], [200, 200, 100, 100, 100, 101])
    inputs = {"u": dd.Signal(times, volts, intersample="zoh")}
    errors = np.random.default_rng(1).standard_normal(times.size)
    temperature = dd.simulate(plate, times, inputs=inputs)["temperature"] + errors
    return dd.Dataset(times, inputs=inputs, outputs={"temperature": temperature}, name="simulated")


columns = {"inputs": {"u": "u_voltage"}, "outputs": {"temperature": "y_temperature"}}
try:
    data = dd.read_csv(sys.argv[1], time="t", **columns, intersample="zoh") if len(sys.argv) > 1 else stand_in()
except dd.DaedalError as refused:
    sys.exit(str(refused))
print(data)

run = dd.simulate(plate, data)  # times, start and input come with the data
error = run["temperature"] - data["temperature"]
print(run)
print(f"root mean square error with these hand-picked values: {np.sqrt(np.nanmean(error**2)):.1f} °C")

fit = dd.fit(plate, data, free=["gain", "loss", "radiation"], criterion=dd.OutputError(whiten=True))
print(fit)

dd.plot(fit).save("heating_from_csv.svg")
print(
    f"Radiation is {fit['radiation'].value:.2e} ± {fit['radiation'].std_error:.1e}, all other losses together are "
    f"{fit['loss'].value:.3f} ± {fit['loss'].std_error:.3f}; the fit of the temperature is "
    f"{fit.fit_percent['temperature']:.1f} %."
)
