"""Values between grid points as polynomials: linear (the paper) and Hermite.

    linear:   w(τ_k + sΔ) = (1 − s) w_k + s w_{k+1}
    hermite:  the cubic with the values w_k, w_{k+1} and the slopes w'_k, w'_{k+1}

Both are approximations of the process, whose spectrum they cut near the grid frequency; Hermite needs a process with a
derivative, pole excess ≥ 2. `ExactPath` has the law of the process itself.
"""

from typing import Any

import numpy as np

from daedal.disturbances.paths import DiscreteNoise
from daedal.errors import ModelError, SimulationError

EPSILON = float(np.finfo(float).eps)


def interpolate_linear(discrete: DiscreteNoise, values: np.ndarray, times: Any) -> np.ndarray:
    """Rows of `values` (points, rows, lanes) at times counted from the first grid point: (time, rows, lanes)."""
    cell, fraction = _locate_times(times, discrete.step, len(values))
    s = fraction[:, None, None]
    return (1 - s) * values[cell] + s * values[cell + 1]


def interpolate_hermite(discrete: DiscreteNoise, values: np.ndarray, times: Any) -> np.ndarray:
    """w, and its sensitivities, by cubics from w and w': (time, channels·(1 + sensitivities), lanes).

    `discrete` must hold the orders 0 and 1.
    """
    w, slope = _select_order(discrete, values, 0), _select_order(discrete, values, 1)
    cell, fraction = _locate_times(times, discrete.step, len(values))
    s = fraction[:, None, None]
    rise = discrete.step * s * (1 - s)
    blend = s * s * (3 - 2 * s)
    return (1 - blend) * w[cell] + blend * w[cell + 1] + rise * ((1 - s) * slope[cell] - s * slope[cell + 1])


def locate_time(time: float, step: float) -> tuple[int, float]:
    """The cell and the fraction of it; times within rounding of a grid point are on it."""
    position = time / step
    near = round(position)
    if abs(position - near) <= 4 * EPSILON * max(abs(position), 1.0):
        return near, 0.0
    cell = int(np.floor(position))
    return cell, position - cell


def _locate_times(times: Any, step: float, points: int) -> tuple[np.ndarray, np.ndarray]:
    position = np.atleast_1d(np.asarray(times, dtype=float)) / step
    near = np.round(position)
    position = np.where(np.abs(position - near) <= 4 * EPSILON * np.maximum(near, 1.0), near, position)
    if not ((position >= 0) & (position <= points - 1)).all() or points < 2:
        raise SimulationError(
            f"The times asked for must lie in the {max(points - 1, 0)} cells of {step:g} s that were generated.",
            "Generate the disturbance for longer.",
        )
    cell = np.minimum(position.astype(int), points - 2)
    return cell, position - cell


def _select_order(discrete: DiscreteNoise, values: np.ndarray, order: int) -> np.ndarray:
    """The rows of one derivative order, sensitivities included."""
    if order not in discrete.orders:
        raise ModelError(
            f"Hermite interpolation takes the value and the slope at the grid points, got the orders "
            f"{list(discrete.orders)}.",
            "Call discretize(..., orders=(0, 1)); the noise needs two more poles than zeros for that. "
            "Otherwise use linear or exact.",
        )
    blocks = values.reshape(len(values), -1, len(discrete.orders), discrete.channels, values.shape[-1])
    rows = blocks[:, :, discrete.orders.index(order)].reshape(len(values), -1, values.shape[-1])
    if np.isnan(rows).any():
        raise ModelError(
            "Hermite interpolation needs a slope, and a channel of the noise has no derivative.",
            "Give the noise two more poles than zeros, or use linear or exact.",
        )
    return rows
