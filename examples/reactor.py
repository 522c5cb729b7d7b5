"""A stirred tank that recycles its outflow: how late does it return, when outputs are known by their moments alone?

Concentration x1 and temperature x2 react, and feel what they were a time tau ago; tau is a parameter like any other.
Each output is random: a gamma variable, plus beta variables that add up from sample to sample. Nothing but means,
variances and third moments are needed. `MeanVariance` minimises gamma E J + (1 − gamma) Var J, J being the sum of
squared errors: with gamma a little below one, J varies less at hardly any cost in its mean. `daedal reproduce reactor`
has the paper's tables.

Problem: Q. Lin, R. Loxton, C. Xu, K. L. Teo, Parameter estimation for nonlinear time-delay systems with noisy output
measurements, Automatica 60 (2015) 48–56, section 6.

Run as: python examples/reactor.py
"""

import numpy as np

import daedal as dd
from daedal import delay, der

x1, x2, tau, z1, z2 = dd.symbols("x1 x2 tau z1 z2")
reaction = (1 - x1) * np.exp(20 * x2 / (x2 + 20))

reactor = dd.Model(
    name="reactor",
    equations={
        "concentration": der(x1) == z1 * x1 + reaction + delay(x1, tau),
        "temperature": der(x2) == z2 * x2 + reaction + delay(x2, tau),
    },
    unknowns=[x1, x2],
    outputs={"y": 10 * x2},
    parameters={
        tau: dd.Parameter(1.5, lower=0.2, upper=4.5),
        **{z: dd.Parameter(start, lower=-5.0, upper=0.0) for z, start in ((z1, -1.5), (z2, -2.0))},
    },
    history={x1: 1.0, x2: 1.0},  # until the start; expressions in dd.time and parameters are possible too
)

# Means of twenty outputs: those of a reactor with known values, and half a unit of error.
times = np.linspace(0.5, 10.0, 20)
truth = reactor.with_parameters({tau: 2.0, z1: -2.0, z2: -2.5})
mean = dd.simulate(truth, times, t0=0.0)["y"] + 0.5 * np.random.default_rng(0).standard_normal(times.size)
data = dd.Dataset(times, outputs={"y": mean}, t0=0.0)

# Output k is the k-th gamma variable plus the first k centred beta variables: forty sources, and how they mix.
once, none = np.ones(times.size), np.zeros(times.size)
moments = dd.MeasurementMoments.mixture(
    np.hstack([np.diag(once), np.tri(times.size)]),
    mean=np.append(mean, none),
    variance=np.append(mean**2 / 10, 5 / 196 * once),
    third_raw_moment=np.append(33 / 25 * mean**3, 5 / 2058 * once),
)


def estimated(weight, gradient):
    criterion = dd.MeanVariance(gamma=weight, measurements=moments, gradient=gradient)
    return dd.fit(reactor, data, free=[tau, z1, z2], criterion=criterion)


fit = estimated(0.9, "forward")
print(fit)
backward = estimated(0.9, "adjoint")  # one backward solution, however many parameters there are
apart = max(abs(fit[name].value - backward[name].value) for name in fit)

dd.plot(fit).save("reactor.svg")
print(
    f"The recycle returns after {fit['tau'].value:.3f} (truth 2) from twenty means with half a unit of error; forward "
    f"and "
    f"adjoint gradients lead to the same minimum: {apart:.0e} apart."
)
