"""How many poles has a hair dryer, and how long does its air travel? Order, delay and coefficients straight from data.

A fan blows air through a tube: the voltage of the heater is held from sample to sample, the temperature of the air is
measured at the outlet. Nothing but the sampling time is told. The first half of the record is used to estimate, the
second half to judge.

Data: B. De Moor (ed.), DaISy: Database for the Identification of Systems, ESAT/STADIUS, KU Leuven, Belgium.

Run as: python examples/hair_dryer.py [path/to/daisy_hairdryer.csv], with columns u and y; without it data are
simulated.
"""

import sys

import numpy as np

import daedal as dd


def stand_in():
    """A dryer with two poles, at rest at first, then switched at random; its thermometer is noisy."""
    print("No file was given, so these data are simulated: two poles, and the air travels 0.157 s.")
    times, rng = np.arange(1000) * 0.08, np.random.default_rng(2)
    volts = np.repeat(np.append(0.0, rng.choice([-1.5, 1.5], 199)), 5)
    inputs = {"heater": dd.Signal(times, volts, intersample="zoh")}
    truth = dd.TransferFunction([27.0], [1.0, 11.3, 29.0], delay=0.157, input="heater", output="air")
    air = dd.simulate(truth, times, inputs=inputs)["air"] + 0.09 * rng.standard_normal(times.size)
    return dd.Dataset(times, inputs=inputs, outputs={"air": air})


try:
    whole = (
        dd.read_csv(sys.argv[1], step=0.08, inputs={"heater": "u"}, outputs={"air": "y"}, intersample="zoh")
        if len(sys.argv) > 1
        else stand_in()
    )
except dd.DaedalError as refused:
    sys.exit(str(refused))
whole = whole.detrend()  # both signals from their means: a transfer function has no offset
first, second = whole.split(0.5)

search = dd.select_order(first, orders=[1, 2, 3], method=dd.RefinedIV(delay="estimated"))
print(search)
print(search.transfer_function)
delay, error = search.transfer_function.delay["heater"], search.chosen.delay_errors["heater"]
print(f"the air travels {delay:.3f} s, 95 % interval {delay - 1.96 * error:.3f} … {delay + 1.96 * error:.3f} s")

# Simulated from rest at the first sample of all; half a minute later nothing is left of how it started.
simulated = dd.simulate(search.transfer_function, whole)["air"]
judged = whole.sample_times >= second.t0
measured = whole["air"][judged]
miss = np.linalg.norm(measured - simulated[judged]) / np.linalg.norm(measured - measured.mean())

dd.plot(search).save("hair_dryer.svg")
print(
    f"{search.order} poles and a delay of {delay:.3f} s, found from half of the record, simulate the other half: fit "
    f"of the "
    f"second half: {100 * (1 - miss):.1f} %."
)
