"""An optimiser and a sampler of one's own: `evaluate` gives value and gradient of what `fit` minimises.

The cooling of a cup has two unknown numbers. scipy's L-BFGS-B finds the minimum from values and gradients; a random
walk of Metropolis, ten lines of numpy, draws from the posterior. It believes the declared accuracy of the thermometer,
while intervals of a fit by `OutputError` come from the residuals, which happen to be smaller here.

Run as: python examples/own_optimizer.py
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import daedal as dd
from daedal import der

T, loss, outside = dd.symbols("T loss outside")
cup = dd.Model(
    name="cup",
    equations={"heat": der(T) == -loss * (T - outside)},
    unknowns=[T],
    outputs={"reading": T},
    parameters={
        loss: dd.Parameter(0.3, lower=0.01, upper=2.0, unit="1/min"),
        outside: dd.Parameter(10.0, lower=-30.0, upper=40.0, unit="°C"),
    },
    measurement_noise={"reading": 1.0},
    initial={T: 80.0},
)
truth = cup.with_parameters({loss: 0.12, outside: 18.0})
times = np.arange(0.0, 15.0, 1.0)
data = dd.simulate(truth, times, measurement_noise=True, rng=4).to_dataset()
criterion = dd.OutputError()


def cost(values):
    """Half the sum of squares in units of the sensor, and its gradient."""
    named = {"loss": values[0], "outside": values[1]}
    found = dd.evaluate(cup, data, free=["loss", "outside"], criterion=criterion, values=named)
    return found.value, found.gradient


fit = dd.fit(cup, data, free=["loss", "outside"], criterion=criterion)
own = minimize(cost, [0.3, 10.0], jac=True, method="L-BFGS-B", bounds=[(0.01, 2.0), (-30.0, 40.0)])
apart = np.abs(own.x - list(fit.params.values())) / list(fit.std_errors.values())
print(fit)
print(f"L-BFGS-B: {own.nfev} evaluations, {apart.max():.0e} standard errors from the fit")

rng = np.random.default_rng(1)
steps = np.linalg.cholesky(fit.cov) * 1.7
here, energy = own.x, own.fun
chain, accepted = [], 0
for _ in range(800):
    there = here + steps @ rng.standard_normal(2)
    if 0.01 < there[0] < 2.0 and -30.0 < there[1] < 40.0:
        tried, _slope = cost(there)
        if np.log(rng.random()) < energy - tried:
            here, energy, accepted = there, tried, accepted + 1
    chain.append(here)
chain = np.array(chain[100:])

figure, axes = plt.subplots(figsize=(4.8, 3.6))
axes.plot(*chain.T, ".", ms=3, alpha=0.4, label="drawn from the posterior")
axes.plot(*fit.params.values(), "o", color="C3", label="fit")
axes.plot(0.12, 18.0, "k*", ms=11, label="truth")
axes.set(xlabel="loss (1/min)", ylabel="outside (°C)")
axes.legend(frameon=False)
figure.savefig("own_optimizer.svg", bbox_inches="tight")
low, high = np.percentile(chain[:, 1], [2.5, 97.5])
straight = fit.conf_int()["outside"]
print(
    f"95 % of the draws have it {low:.1f} … {high:.1f} °C outside ({accepted / 8:.0f} % accepted), the fit says "
    f"{straight[0]:.1f} … {straight[1]:.1f} °C; the truth is 18."
)
