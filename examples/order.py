"""How many derivatives does a system have, and with which coefficients? Two methods of different kind on noisy data.

An input of ten slow sines drives a system with two poles; the output is measured with a signal-to-noise ratio of 8.
Refined instrumental variables filter the data until the noise no longer biases the coefficients; sparse splines smooth
them and switch derivatives off one by one. Orders up to five are tried with each. On measured data, with a delay to be
found too: `hair_dryer.py`.

Run as: python examples/order.py
"""

import numpy as np

import daedal as dd

truth = dd.TransferFunction(numerator=[1.0], denominator=[1.0, 2.8, 1.0])  # y'' + 2.8 y' + y = u
times = np.linspace(0.0, 60.0, 1201)
frequencies = np.linspace(0.1, 1.0, 10)
inputs = {"u": dd.Signal(times, np.sin(np.outer(times + 1.0, frequencies)).sum(axis=1))}
clean = dd.simulate(truth, times, inputs=inputs)["y"]
noise = np.random.default_rng(4).standard_normal(times.size)
noisy = clean + np.linalg.norm(clean) / np.linalg.norm(noise) / 8 * noise
data = dd.Dataset(times, inputs=inputs, outputs={"y": noisy})

for method in (dd.RefinedIV(), dd.SparseSplines()):
    search = dd.select_order(data, orders=range(1, 6), input_orders=[0], method=method)
    print(search)  # all candidates, the chosen one marked, and why it was chosen
    print(search.transfer_function)
    print(search.fit)  # a fit like any other: standard errors, intervals, resid, compare

off = np.max(np.abs(dd.simulate(search.transfer_function, data)["y"] - clean)) / clean.std()

dd.plot(search).save("order.svg")
print(
    f"Both methods find order {search.order}; simulated, the last one is at most {off:.1%} of the output's standard "
    f"deviation "
    f"away from the output without noise."
)
