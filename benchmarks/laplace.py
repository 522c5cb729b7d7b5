"""Laplace's likelihood of nonlinear models: how exact it is by length of the steps, and a filter of 60 lines beside it.

    python benchmarks/laplace.py [steps] [peer] [--tiny]

steps  log L of a linear model against the exact filter, by length of the steps and by method
peer   log-likelihood and time of an extended Kalman filter of 60 lines (Euler steps) on the same model and data

Without a word both are run. Bias, coverage and time of fits, method by method, are in `nonlinear.py`. Seconds are
processor time; the machine is shared, so read ratios.
"""

import os
from argparse import Namespace
from functools import cache

import numpy as np
from scipy.linalg import expm
from shared import command_line, fastest

import daedal as dd
from daedal import der
from daedal.experiments import match_experiments
from daedal.filtering import Laplace, Point, find_paths, make_nonlinear_experiment
from daedal.systems import build

TRUTH = {"d": 0.5, "k": 1.0, "k3": 2.0, "std": 0.6, "tau": 0.7}
START = {"d": 0.8, "k": 1.5, "k3": 1.0, "std": 0.4, "tau": 1.0}
LAPLACE = dd.Likelihood(method="laplace")


@cache
def spring(hardening: bool = True) -> dd.Model:
    x, v, u, w = dd.symbols("x v u w")
    d, k, k3, std, tau = dd.symbols("d k k3 std tau")
    restoring = k * x + (k3 * x**3 if hardening else 0.0)
    positive = {"lower": 1e-3, "upper": 50.0, "scale": "log"}
    return dd.Model(
        name="spring", equations={"speed": der(x) == v, "force": der(v) == -d * v - restoring + u + w},
        unknowns=[x, v], inputs=[u], outputs={"position": x},
        parameters={s: dd.Parameter(START[str(s)], **positive) for s in (d, k, k3, std, tau)},
        disturbances={w: dd.FilteredNoise.low_pass(std=std, time_constant=tau)},
        measurement_noise={"position": 0.02}, initial={x: 0.0, v: 0.0},
    )  # fmt: skip


def sample(model: dd.Model, count: int, seed: int) -> dd.Dataset:
    times = np.arange(count) * 0.2
    push = dd.Signal(times, np.sign(np.sin(0.23 * times + 0.1)), "zoh")
    run = dd.simulate(
        model.with_parameters(TRUTH), times, inputs={"u": push}, realizations=1, measurement_noise=True, rng=seed
    )
    return run.to_dataset()


def steps(asked: Namespace) -> None:
    model = spring(hardening=False)
    data = sample(model, 30 if asked.tiny else 201, 0)
    exact = dd.evaluate(model, data, free=["d"], values=TRUTH, criterion=dd.Likelihood()).loglik
    for method in ("rk4", "rk6", "radau5"):
        errors = []
        for step in (0.2, 0.1, 0.05):
            lined = make_nonlinear_experiment(match_experiments(build(model), [data])[0], TRUTH, method, step)
            errors.append(-Laplace(find_paths(lined.at(Point(model, TRUTH, ())))[0]).value - exact)
        print(f"log L with steps of 0.2, 0.1, 0.05 by {method}: off by", *(f"{error:.1e}" for error in errors))


def extended_filter(data: dd.Dataset, values: dict[str, float], parts: int = 20) -> float:
    """log L by an extended Kalman filter with Euler steps of a twentieth of the sample interval."""
    d, k, k3, std, tau = (values[name] for name in TRUTH)
    times, y = data.sample_times, data.outputs["position"].values
    push = data.inputs["u"](times)
    m, P, total, h = np.zeros(3), np.diag([0.0, 0.0, std**2]), 0.0, 0.2 / parts
    fade = np.exp(-h / tau)
    Q, C = np.diag([0.0, 0.0, std**2 * (1.0 - fade**2)]), np.array([1.0, 0.0, 0.0])
    for n in range(times.size):
        if n:
            for _ in range(parts):
                F = np.array([[0.0, 1.0, 0.0], [-k - 3.0 * k3 * m[0] ** 2, -d, 1.0], [0.0, 0.0, 0.0]])
                A = expm(h * F)
                A[2, 2] = fade
                m = m + h * np.array([m[1], -d * m[1] - k * m[0] - k3 * m[0] ** 3 + push[n - 1] + m[2], 0.0])
                m[2] *= fade
                P = A @ P @ A.T + Q
        g = P @ C
        s, e = C @ g + 0.02**2, y[n] - m[0]
        total -= 0.5 * (e**2 / s + np.log(2.0 * np.pi * s))
        m, P = m + g * e / s, P - np.outer(g, g) / s
    return total


def peer(asked: Namespace) -> None:
    model, values = spring(), dict(TRUTH)
    data = sample(model, 30 if asked.tiny else 401, 0)
    ours = dd.evaluate(model, data, free=list(TRUTH), values=values, criterion=LAPLACE).loglik
    moved = {**values, "d": 1.1 * values["d"]}

    def evaluate() -> None:
        for point in (values, moved):
            dd.evaluate(model, data, free=list(TRUTH), values=point, criterion=LAPLACE)

    both, other = fastest(evaluate, lambda: extended_filter(data, values), attempts=1 if asked.tiny else 5)
    print(f"log L {ours:.3f} with gradient and information in {1e3 * both / 2:.0f} ms; ", end="")
    print(f"extended Kalman filter {extended_filter(data, values):.3f}, value alone in {1e3 * other:.0f} ms")


FIGURES = {"steps": steps, "peer": peer}

if __name__ == "__main__":
    reader = command_line(__doc__, FIGURES)
    asked = reader.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for name in asked.figures or FIGURES:
        FIGURES[name](asked)
