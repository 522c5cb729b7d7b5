"""A heat exchanger and what disturbs it: the order from a search, the coefficients by maximum likelihood.

The flow of the liquid is changed, its temperature at the outlet measured; time is counted in samples. What disturbs the
temperature is far from white when it arrives at the sensor. To find the order an autoregression of what is left will do
(noise=True); but the disturbance enters the same equation as the flow, and with it in the model the coefficients
generalise better. The first half of the record is used to estimate, the second half to judge: what is compared is
simulation, from rest at the first sample of all, not prediction from past outputs.

Both halves were looked at when this way was chosen, so the second one is held out from the estimates, not from the
choice. The halves differ in level more than a linear model explains, and the lead over ARX is within what that does:
with the means of the first half alone subtracted, it is 50.4 % against 50.5 %.

Data: B. De Moor (ed.), DaISy: Database for the Identification of Systems, ESAT/STADIUS, KU Leuven, Belgium.

Run as: python examples/exchanger.py path/to/daisy_exchanger.csv
"""

import sys
from dataclasses import replace

import numpy as np
from scipy.signal import lfilter

import daedal as dd

if len(sys.argv) != 2:
    sys.exit("Give the data file: python examples/exchanger.py path/to/daisy_exchanger.csv")

whole = dd.read_csv(sys.argv[1], time="t", inputs={"flow": "u_flow"}, outputs={"outlet": "y_temperature"}).detrend()
first, second = whole.split(0.5)
measured, half = whole["outlet"], len(first["outlet"])

search = dd.select_order(first, orders=[1, 2, 3], method=dd.RefinedIV(noise=True))
print(search)
n, m = search.order, search.input_order

# a(d/dt) y = b(d/dt) flow + w: unit white noise times `noise` goes through the same poles.
w, noise, accuracy = dd.symbols("w noise accuracy")
quiet = search.transfer_function.to_model("free")
coefficients = [dd.symbol(f"a{k}") for k in reversed(range(n))]
disturbed = replace(
    quiet.with_parameters(
        {noise: search.chosen.coefficients["a0"], accuracy: dd.Parameter(0.1, lower=1e-4, upper=10.0, scale="log")}
    ),
    outputs={"outlet": quiet.outputs["outlet"] + w},
    disturbances={w: dd.FilteredNoise(numerator=[noise], denominator=[1.0, *coefficients])},
    measurement_noise={"outlet": accuracy},
)
fit = dd.fit(disturbed, first, free=list(disturbed.parameters), criterion=dd.Likelihood())
print(fit)
numerator, denominator = (
    [fit[f"{letter}{k}"].value for k in reversed(range(size))] for letter, size in (("b", m + 1), ("a", n))
)
final = dd.TransferFunction(numerator, [1.0, *denominator], input="flow", output="outlet")


def held_out_fit(simulated):
    """Of the second half, in percent."""
    y = measured[half:]
    return 100 * (1 - np.linalg.norm(y - simulated[half:]) / np.linalg.norm(y - y.mean()))


def arx(order, delay, terms):
    """y_k + a₁ y_{k−1} + … = b₀ u_{k−delay} + … by least squares on the first half, then simulated."""
    u, y = whole["flow"], measured
    rows = range(max(order, delay + terms - 1), half)
    past = [[*(-y[k - j] for j in range(1, order + 1)), *(u[k - delay - j] for j in range(terms))] for k in rows]
    found = np.linalg.lstsq(np.array(past), y[list(rows)], rcond=None)[0]
    return lfilter(np.append(np.zeros(delay), found[order:]), np.append(1.0, found[:order]), u)


# Of all ARX models with as many poles, the one that turns out best on the second half: a choice made with hindsight.
best = max(held_out_fit(arx(n, delay, terms)) for delay in range(4) for terms in range(1, n + 2))
for label, tf in (("the search", search.transfer_function), ("maximum likelihood", final)):
    print(f"simulated second half by {label}, {n} poles: {held_out_fit(dd.simulate(tf, whole)['outlet']):.2f} %")
print(f"the best of all ARX models with {n} poles: {best:.2f} %")
