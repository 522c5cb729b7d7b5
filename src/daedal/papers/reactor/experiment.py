"""The stirred tank of the delay paper: equations (24)–(26), the samples of Figure 1, and the laws (27) and (28).

The paper does not print its samples, their spread, or the bounds of the search. Here samples are the reference output
plus normal noise of standard deviation 0.5 from a fixed seed; the paper's Table 2 implies 0.55 to 0.6.
"""

from math import comb

import numpy as np

from daedal.estimation import MeasurementMoments
from daedal.models import Model, Parameter
from daedal.simulation import Lanes, simulate
from daedal.symbolic import delay, der, symbols

NOMINAL = {"tau": 2.0, "z1": -2.0, "z2": -2.5}
FREE = tuple(NOMINAL)
TIMES = 0.5 * np.arange(1, 21)
PERTURBATION = 0.5  # standard deviation of the samples around the reference output
EPSILON = 0.2  # what (28) adds to the means of (27)
SHAPE = 10.0  # of the gamma laws
BETA = (2.0, 5.0)
SOLVER = Lanes(step=0.02)  # reproduces estimates of another program to five digits


def make_reactor() -> Model:
    """(24)–(26) with the bounds of this study."""
    x1, x2, tau, z1, z2 = symbols("x1 x2 tau z1 z2")
    rate = (1 - x1) * np.exp(20 * x2 / (x2 + 20))
    return Model(
        name="reactor",
        equations={
            "concentration": der(x1) == z1 * x1 + rate + delay(x1, tau),
            "temperature": der(x2) == z2 * x2 + rate + delay(x2, tau),
        },
        unknowns=[x1, x2],
        outputs={"y": 10 * x2},
        parameters={
            tau: Parameter(1.5, lower=0.2, upper=4.5),
            z1: Parameter(-1.5, lower=-5.0, upper=0.0),
            z2: Parameter(-2.0, lower=-5.0, upper=0.0),
        },
        history={x1: 1.0, x2: 1.0},
    )


def simulate_reference(times: np.ndarray = TIMES) -> np.ndarray:
    """The output at the nominal parameters."""
    return simulate(make_reactor(), times, t0=0.0, values=NOMINAL, variables=["y"])["y"]


def draw_samples(seed: int = 0) -> np.ndarray:
    """ȳ of Figure 1."""
    return simulate_reference() + PERTURBATION * np.random.default_rng(seed).standard_normal(TIMES.size)


def make_mixing(count: int = TIMES.size) -> np.ndarray:
    """(27): ŷ_k = α_k + Σ_{j ≤ k} β_j."""
    return np.hstack([np.eye(count), np.tril(np.ones((count, count)))])


def compute_gamma_moment(mean: np.ndarray, order: int) -> np.ndarray:
    """E αⁿ = meanⁿ Π (shape + i)/shape."""
    return mean**order * np.prod(1.0 + np.arange(order) / SHAPE)


def compute_beta_moment(order: int) -> float:
    """E (β̄ − E β̄)ⁿ of the beta law."""
    first, second = BETA
    raw = [float(np.prod((first + np.arange(k)) / (first + second + np.arange(k)))) for k in range(order + 1)]
    return sum(comb(order, k) * raw[k] * (-raw[1]) ** (order - k) for k in range(order + 1)) if order else 1.0


def compute_moments(mean: np.ndarray) -> MeasurementMoments:
    """Of (27), fourth moments included."""
    count = mean.size
    return MeasurementMoments.mixture(
        make_mixing(count),
        mean=np.r_[mean, np.zeros(count)],
        variance=np.r_[compute_gamma_moment(mean, 2) - mean**2, np.full(count, compute_beta_moment(2))],
        third_raw_moment=np.r_[compute_gamma_moment(mean, 3), np.full(count, compute_beta_moment(3))],
        fourth_raw_moment=np.r_[compute_gamma_moment(mean, 4), np.full(count, compute_beta_moment(4))],
    )


def draw_realizations(mean: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draws of (27), (realization, sample); of (28) where the mean is ȳ + ε."""
    alpha = rng.gamma(SHAPE, mean / SHAPE, (count, mean.size))
    beta = rng.beta(*BETA, (count, mean.size)) - BETA[0] / sum(BETA)
    return alpha + np.cumsum(beta, axis=1)
