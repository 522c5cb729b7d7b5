"""How long does the air of a hair dryer travel? Two lags and a transport delay, estimated together with intervals.

A fan blows air through a tube: the voltage of the heater is held from sample to sample, the temperature of the air is
measured at the outlet, in volts too. The heater warms up, the warm air travels to the outlet, the sensor follows. The
delay is a parameter like any other; the fit tries several starts for it, because its cost may have several minima.
`hair_dryer.py` finds order and delay of the same record without a model.

Data: B. De Moor (ed.), DaISy: Database for the Identification of Systems, ESAT/STADIUS, KU Leuven, Belgium.

Run as: python examples/hair_dryer_delay.py [path/to/daisy_hairdryer.csv], with columns u and y; without it data are
simulated.
"""

import sys

import numpy as np

import daedal as dd
from daedal import delay, der

heater, sensor, u = dd.symbols("heater sensor u")
gain, warming, following, travel, rest = dd.symbols("gain warming following travel rest")
heater_0, sensor_0 = dd.symbols("heater_0 sensor_0")
seconds = {"scale": "log", "unit": "s"}

dryer = dd.Model(
    name="hair dryer",
    equations={
        "heater": warming * der(heater) == gain * (delay(u, travel) - 5.0) + rest - heater,
        "sensor": following * der(sensor) == heater - sensor,
    },
    unknowns=[heater, sensor],
    inputs=[u],
    outputs={"air": sensor},
    parameters={
        gain: dd.Parameter(1.0, lower=0.0, upper=10.0),
        warming: dd.Parameter(0.5, lower=0.01, upper=10.0, **seconds),
        following: dd.Parameter(0.1, lower=0.01, upper=10.0, **seconds),
        travel: dd.Parameter(0.3, lower=0.02, upper=1.0, unit="s"),
        rest: dd.Parameter(5.0, lower=0.0, upper=10.0),
        heater_0: dd.Parameter(4.8, lower=0.0, upper=10.0),
        sensor_0: dd.Parameter(4.8, lower=0.0, upper=10.0),
    },
    initial={heater: heater_0, sensor: sensor_0},
)


def stand_in():
    """The model above with a heater that is switched at random and a noisy thermometer."""
    print("No file was given, so these data are simulated: the air travels 0.157 s.")
    times, rng = np.arange(1000) * 0.08, np.random.default_rng(1)
    inputs = {"u": dd.Signal(times, np.repeat(rng.choice([3.41, 6.41], 200), 5), intersample="zoh")}
    truth = dryer.with_parameters({gain: 0.935, warming: 0.253, following: 0.136, travel: 0.157, rest: 4.9})
    air = dd.simulate(truth, times, inputs=inputs)["air"] + 0.09 * rng.standard_normal(times.size)
    return dd.Dataset(times, inputs=inputs, outputs={"air": air})


try:
    data = (
        dd.read_csv(sys.argv[1], step=0.08, inputs={"u": "u"}, outputs={"air": "y"}, intersample="zoh")
        if len(sys.argv) > 1
        else stand_in()
    )
except dd.DaedalError as refused:
    sys.exit(str(refused))
fit = dd.fit(dryer, data, free=list(dryer.parameters), criterion=dd.OutputError())
print(fit)
low, high = fit.conf_int()["travel"]
print(f"the air travels {fit['travel'].value:.3f} s, 95 % interval {low:.3f} … {high:.3f} s")

dd.plot(fit).save("hair_dryer_delay.svg")
print(
    f"A delay between samples of 0.08 s is known to {fit['travel'].std_error * 1000:.1f} ms; fit of the whole record: "
    f"{fit.fit_percent['air']:.1f} %."
)
