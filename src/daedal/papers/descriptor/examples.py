"""Examples of the paper: equation (10), its two remedies, and a chain that differentiates.

    (10)   ż₁ = −2 z₁ + v₁,   0 = −z₂ + v₁,   y = z₁ + z₂ + v₂

with white v₁ and v₂: z₂ is white noise, so that a sample of y has an infinite variance. Section 4 offers a low-pass
sensor, z₃ = (z₁ + z₂)/(0.01 p + 1), and a sensor that integrates. For unit v₁ their variances are, by hand,

    z₃ = 100 (p + 3)/((p + 100)(p + 2)) v₁:    Var z₃ = (100² · 200 + 300²)/(2 · 200 · 102) = 5225/102,
    mean of y over T:    Var = (9/4 T − 5/8 (1 − e^{−2T}))/T²,  since  ∫y = 3/2 ∫v₁ − ½ (z₁(t) − z₁(t − T)).

In the chain ż₂ = z₁, ż₃ = z₂, z₃ = w the noise w must have 3, 2 or 1 more poles than zeros for z₁, z₂ or z₃ to have
a finite variance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.analysis import WellPosedness, check_noise, descriptor
from daedal.disturbances import FilteredNoise, Noise, WhiteNoise
from daedal.linear import solve_lyapunov, van_loan
from daedal.models import Model

TIME_CONSTANT = 0.01  # seconds, of the sensor
WINDOW = 0.01  # seconds that the other sensor integrates over
FILTERED_VARIANCE = 5225 / 102
INTEGRATED_VARIANCE = (9 / 4 * WINDOW - 5 / 8 * -np.expm1(-2 * WINDOW)) / WINDOW**2
CHAIN = {"z1": 3, "z2": 2, "z3": 1}  # variable → poles that it needs


@final
@dataclass(frozen=True, eq=False)
class Examples:
    """Verdicts on equation (10) and what came of its remedies.

    Attributes
    ----------
    plain, filtered, integrated
        The verdicts on what is measured: as it stands, through the low-pass sensor, integrated.
    wanted
        The verdict when z₂ is wanted besides, behind the low-pass sensor.
    filtered_variance, integrated_variance
        Of what the two sensors show, from the standard form.
    chain
        Variable → the fewest poles with which the verdict on the chain is good.
    """

    plain: WellPosedness
    filtered: WellPosedness
    wanted: WellPosedness
    integrated: WellPosedness
    filtered_variance: float
    integrated_variance: float
    chain: Mapping[str, int]


def judge_examples() -> Examples:
    """Judge the examples, and work out the variances."""
    plain = make_equation_10()
    filtered = plain.with_presampling_filter({"y": TIME_CONSTANT})
    integrated = plain.with_integrating_sampling({"y": WINDOW})
    return Examples(
        plain=check_noise(plain),
        filtered=check_noise(filtered),
        wanted=check_noise(filtered, variables=["z2"]),
        integrated=check_noise(integrated),
        filtered_variance=_compute_filtered_variance(filtered),
        integrated_variance=_compute_integrated_variance(integrated),
        chain={variable: _count_poles(variable) for variable in CHAIN},
    )


def make_equation_10() -> Model:
    """Equation (10) from its matrices, v₁ of unit intensity."""
    return Model.from_descriptor(
        name="equation (10)",
        E=[[1.0, 0.0], [0.0, 0.0]],
        F=[[-2.0, 0.0], [0.0, -1.0]],
        J=[[1.0], [1.0]],
        H=[[1.0, 1.0]],
        variables=["z1", "z2"],
        disturbances={"v1": WhiteNoise(intensity=1.0)},
        outputs=["y"],
        measurement_noise={"y": 0.1},
    )


def make_chain(noise: Noise) -> Model:
    """Three variables, each the derivative of the next; the last is the noise."""
    return Model.from_descriptor(
        name="chain",
        E=[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]],
        F=np.eye(3),
        J=[[0.0], [0.0], [-1.0]],
        variables=list(CHAIN),
        disturbances={"w": noise},
    )


def _count_poles(variable: str) -> int:
    """The fewest poles that suffice; one more than the chain is long would always do."""
    return next(
        count
        for count in range(len(CHAIN) + 2)
        if check_noise(make_chain(_make_noise(count)), variables=[variable]).well_posed
    )


def _make_noise(count: int) -> Noise:
    if not count:
        return WhiteNoise(intensity=1.0)
    return FilteredNoise(numerator=(1.0,), denominator=tuple(np.poly(-np.ones(count)).tolist()))


def _compute_filtered_variance(model: Model) -> float:
    A, Q = _find_drift(model, ["z1", "y.filtered"])
    return float(solve_lyapunov(A, Q)[1, 1])


def _compute_integrated_variance(model: Model) -> float:
    """Var of the integral over the window, which starts at zero while z₁ is stationary."""
    bare = model.with_measurement_noise({"y": None}).with_outputs({"y": None})  # delays have no descriptor form
    A, Q = _find_drift(bare, ["z1", "y.integral"])
    start = np.zeros((2, 2))
    start[:1, :1] = solve_lyapunov(A[:1, :1], Q[:1, :1])
    transition, added = van_loan(A, Q, WINDOW)
    return float((transition @ start @ transition.T + added)[1, 1]) / WINDOW**2


def _find_drift(model: Model, states: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """A and Q of dx = A x dt + dv, E dv dvᵀ = Q dt, through the standard form; the variables named are x."""
    matrices = descriptor(model)
    form = matrices.standard_form()
    evolving = slice(form.evolving)
    to_states = form.Q[[matrices.variables.index(name) for name in states], evolving]
    spread = to_states @ (form.P @ matrices.J)[evolving]
    return np.linalg.solve(to_states.T, (to_states @ form.A).T).T, spread @ spread.T
