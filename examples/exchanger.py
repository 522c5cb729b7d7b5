"""A heat exchanger and what disturbs it: the order from a search, the coefficients by maximum likelihood.

The flow of the liquid is changed, its temperature at the outlet measured; time is counted in samples. What disturbs the
temperature is far from white when it arrives at the sensor. To find the order an autoregression of what is left will do
(noise=True); but the disturbance enters the same equation as the flow, and with it in the model the coefficients
generalise better. The first half of the record is used to estimate, the second half to judge: what is compared is
simulation, from the means of the first half at the first sample of all, not prediction from past outputs.

In the measured record the level of the second half differs by 0.4 degrees from what any of these linear models expects.
What they say about its motion is therefore compared without the mean of the error; the fit with it is printed too.
Errors of two models are much alike, so their difference is known better than either: blocks of errors, drawn again and
again, give an interval.

There this model is ahead of the best ARX model in motion, by 0.24 points; with the level it is 0.08 points behind. That
the likelihood was preferred to the search alone was decided with both halves in view: the second one is held out from
the estimates, not from this choice. Rolling validation within the first half prefers the search, which turns out worse.
Simulated data hold what the model says and no more, and the two are alike; but then the truth is known, and intervals
can be held against it.

Data: B. De Moor (ed.), DaISy: Database for the Identification of Systems, ESAT/STADIUS, KU Leuven, Belgium.

Run as: python examples/exchanger.py [path/to/daisy_exchanger.csv], with columns t, u_flow and y_temperature; without it
data are simulated.
"""

import sys
from dataclasses import replace

import numpy as np
from scipy.signal import lfilter

import daedal as dd


def stand_in():
    """Flow and disturbance through the same three poles; the flow is changed at random, the thermometer is noisy."""
    print("No file was given, so these data are simulated: a0 0.62, a1 2.65, a2 2.9, b0 -11.5, b1 -6.2, b2 -8.4.")
    times, rng, denominator = np.arange(4000.0), np.random.default_rng(2), [1.0, 2.9, 2.65, 0.62]
    truth = dd.TransferFunction([-8.4, -6.2, -11.5], denominator, input="flow", output="outlet")
    inputs = {"flow": dd.Signal(times, rng.uniform(-0.3, 0.3, times.size))}
    disturbance = dd.sample_path(dd.FilteredNoise(numerator=[0.65], denominator=denominator), times, rng=2)
    outlet = dd.simulate(truth, times, inputs=inputs)["outlet"] + disturbance + 0.06 * rng.standard_normal(times.size)
    return dd.Dataset(times, inputs=inputs, outputs={"outlet": outlet})


columns = {"inputs": {"flow": "u_flow"}, "outputs": {"outlet": "y_temperature"}}
try:
    whole = dd.read_csv(sys.argv[1], time="t", **columns) if len(sys.argv) > 1 else stand_in()
except dd.DaedalError as refused:
    sys.exit(str(refused))
half = len(whole["outlet"]) // 2
times, flow, outlet = whole.sample_times, *(whole[name] - whole[name][:half].mean() for name in ("flow", "outlet"))
first = dd.Dataset(times[:half], inputs={"flow": flow[:half]}, outputs={"outlet": outlet[:half]})

search = dd.select_order(first, orders=range(1, 5), method=dd.RefinedIV(noise=True))
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


def simulated(tf):
    return dd.simulate(tf, times, inputs={"flow": dd.Signal(times, flow)})["outlet"]


def arx(delay, terms):
    """y_k + a₁ y_{k−1} + … = b₀ u_{k−delay} + … by least squares on the first half, then simulated."""
    rows = np.arange(max(n, delay + terms - 1), half)
    past = [*(-outlet[rows - j] for j in range(1, n + 1)), *(flow[rows - delay - j] for j in range(terms))]
    found = np.linalg.lstsq(np.array(past).T, outlet[rows], rcond=None)[0]
    return lfilter(np.append(np.zeros(delay), found[n:]), np.append(1.0, found[:n]), flow)


def fit_of(series, kept=slice(half, None), level=False):
    """In percent, of samples of the second half; the level of the error counts, or not."""
    y, error = outlet[kept], (outlet - series)[kept]
    return 100 * (1 - np.sqrt(np.mean((error - (0.0 if level else error.mean())) ** 2)) / y.std())


def interval(one, two, block=50, draws=2000):
    """95 % of the difference in fit, over second halves made of blocks longer than the errors remember."""
    begins = np.random.default_rng(0).integers(half, len(outlet) - block + 1, (draws, half // block))
    kept = (begins[:, :, None] + np.arange(block)).reshape(draws, -1)
    return np.percentile([fit_of(one, each) - fit_of(two, each) for each in kept], [2.5, 97.5])


# Of all ARX models with as many poles, the one that turns out best on the second half: a choice made with hindsight.
best = max((arx(delay, terms) for delay in range(4) for terms in range(1, n + 2)), key=fit_of)
own = simulated(final)
for label, series in (
    (f"simulated second half by the search, {n} poles", simulated(search.transfer_function)),
    (f"simulated second half by maximum likelihood, {n} poles", own),
    (f"the best of all ARX models with {n} poles", best),
):
    print(f"{label}: {fit_of(series):.2f} %; with the level {fit_of(series, level=True):.2f} %")
low, high = interval(own, best)

late = slice(times.size // 2, None)  # the half that was held out
simulation = dd.Dataset(times[late], outputs={"outlet": own[late]}, name="simulated by maximum likelihood")
measured = dd.Dataset(times[late], outputs={"outlet": outlet[late]}, name="measured")
dd.plot([measured, simulation], ["outlet"]).save("exchanger.svg")
print(
    f"Simulated on the half that was held out, maximum likelihood is ahead by {fit_of(own) - fit_of(best):.2f} points "
    f"of the "
    f"best ARX model chosen with hindsight, 95 % interval {low:.2f} … {high:.2f}."
)
