"""Disturbances on their grid: exact discretisation, driven by given innovations (Abdalmoaty et al. 2021, (5)).

    x_{k+1} = A_d x_k + L z_k,   L Lᵀ = Q_d(Δ),   z_k ~ N(0, I),   w⁽ʲ⁾(τ_k) = C Aʲ x_k

x₀ = S z₀ with S Sᵀ the stationary covariance, or zero. The innovations do not depend on the parameters, so a path
is a smooth function of them; its sensitivity obeys the differentiated recursion

    ∂x_{k+1} = A_d ∂x_k + ∂A_d x_k + ∂L z_k,   ∂w = C ∂x + ∂C x,

which runs beside it for the stacked state (x, ∂x₁, ∂x₂, …), in the compiled loop of `recur`.

Reference: M. R.-H. Abdalmoaty, O. Eriksson, R. Bereza, D. Broman, H. Hjalmarsson, Identification of Non-Linear
Differential-Algebraic Equation Models with Process Disturbances, IEEE Conf. on Decision and Control 2021.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.disturbances.noise import Noise
from daedal.disturbances.recursion import NoiseMatrices, recur
from daedal.disturbances.state_space import (
    NoiseStateSpace,
    count_derivatives,
    differentiate_realization,
    differentiate_stationary,
    realize,
    solve_stationary,
)
from daedal.errors import ModelError
from daedal.linear import (
    differentiate_factor,
    differentiate_output_rows,
    factor_semidefinite,
    list_output_rows,
    van_loan,
    van_loan_derivative,
)


@final
@dataclass(frozen=True, eq=False)
class DiscreteNoise:
    """A noise on a grid, with the sensitivities asked for.

    Attributes
    ----------
    step
        Seconds between grid points.
    orders, channels
        Rows are sorted by derivative order, then by channel; a derivative that a channel does not have is NaN.
    matrices
        A_d, L, rows and S.
    sensitivities
        Parameter name → the derivatives of these matrices.
    """

    space: NoiseStateSpace
    step: float
    orders: tuple[int, ...]
    channels: int
    matrices: NoiseMatrices
    sensitivities: Mapping[str, NoiseMatrices]

    @property
    def states(self) -> int:
        """n, the number of normals a step takes."""
        return len(self.space.A)

    @property
    def parts(self) -> tuple[NoiseMatrices, ...]:
        """The matrices, then their derivatives."""
        return (self.matrices, *self.sensitivities.values())


def discretize(
    noise: Noise,
    numbers: Mapping[str, float] | None,
    step: float,
    orders: Sequence[int] = (0,),
    sensitivities: Sequence[str] = (),
) -> DiscreteNoise:
    """The noise on a grid of `step` seconds, with the derivative orders of w and the sensitivities asked for.

    Examples
    --------
    >>> from daedal.disturbances import FilteredNoise
    >>> discrete = discretize(FilteredNoise.low_pass(std=2.0, time_constant=1.0), None, 0.1)
    >>> discrete.matrices.transition.round(6)
    array([[0.904837]])
    """
    if not (np.isfinite(step) and step > 0):
        raise ModelError(f"The step of a noise grid must be positive, got {step!r}.", "Give seconds.")
    space = realize(noise, numbers)
    exists = _find_existing(noise, numbers, orders)
    transition, covariance = van_loan(space.A, space.intensity, step)
    stationary = solve_stationary(noise, space.A, space.intensity)
    matrices = NoiseMatrices(
        transition,
        factor_semidefinite(covariance),
        np.where(exists[:, None], list_output_rows(space.A, space.C, orders), np.nan),
        factor_semidefinite(stationary) * (noise.initial == "stationary"),
    )
    slopes = {
        name: _differentiate(
            noise, space, differentiate_realization(noise, numbers or {}, name), step, orders, matrices, stationary
        )
        for name in sensitivities
    }
    return DiscreteNoise(space, step, tuple(orders), noise.channels, matrices, slopes)


def make_initial_state(discrete: DiscreteNoise, normals: np.ndarray) -> np.ndarray:
    """The state at the first grid point, (states·(1 + sensitivities), lanes), of normals (states, lanes)."""
    return np.concatenate([_multiply(part.start, normals) for part in discrete.parts])


def compute_output(discrete: DiscreteNoise, state: np.ndarray) -> np.ndarray:
    """The values that belong to a state, in the order of `advance`: (orders·channels·(1 + sensitivities), lanes)."""
    rows, (x, *slopes) = discrete.matrices.rows, np.split(state, len(discrete.parts))
    values = [_multiply(rows, x)]
    for part, slope in zip(discrete.parts[1:], slopes, strict=True):
        values.append(_multiply(rows, slope) + _multiply(part.rows, x))
    return np.concatenate(values)


def advance(
    discrete: DiscreteNoise, state: np.ndarray, normals: np.ndarray, values: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The values at the grid points after each step, and the state there.

    Parameters
    ----------
    state
        (states·(1 + sensitivities), lanes): from `make_initial_state` or an earlier call.
    normals
        (steps, states, lanes).
    values
        Where the values are to be written, if not into an array of their own.

    Returns
    -------
    values
        (steps, orders·channels·(1 + sensitivities), lanes): w and its derivatives, then their sensitivities.
    state
        After the last step.
    """
    return recur(discrete.parts, state, normals, values)


def _multiply(matrix: np.ndarray, values: np.ndarray) -> np.ndarray:
    """matrix @ values, summed in the same order in every lane."""
    result = np.zeros((len(matrix), values.shape[1]))
    for column, row in zip(matrix.T, values, strict=True):
        result += column[:, None] * row
    return result


def _find_existing(noise: Noise, numbers: Mapping[str, float] | None, orders: Sequence[int]) -> np.ndarray:
    """For each row, whether the channel has that derivative; an order that no channel has is refused."""
    available = np.array(count_derivatives(noise, numbers))
    if not len(orders) or min(orders) < 0 or max(orders) > available.max():
        raise ModelError(
            f"The noise has derivatives up to order {available.max()}, asked for were the orders {list(orders)}.",
            "Give it more poles.",
        )
    return np.concatenate([available >= order for order in orders])


def _differentiate(
    noise: Noise,
    space: NoiseStateSpace,
    slope: NoiseStateSpace,
    step: float,
    orders: Sequence[int],
    matrices: NoiseMatrices,
    stationary: np.ndarray,
) -> NoiseMatrices:
    change = slope.B @ space.B.T
    d_intensity = change + change.T
    d_transition, d_covariance = van_loan_derivative(space.A, space.intensity, step, slope.A, d_intensity)
    d_stationary = differentiate_stationary(noise, space.A, stationary, slope.A, d_intensity)
    d_rows = differentiate_output_rows(space.A, space.C, slope.A, slope.C, orders)
    return NoiseMatrices(
        d_transition,
        differentiate_factor(matrices.factor, d_covariance),
        np.where(np.isnan(matrices.rows), np.nan, d_rows),
        differentiate_factor(matrices.start, d_stationary),
    )
