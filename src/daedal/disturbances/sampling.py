"""One path of a noise at given times, exactly: no interpolation, whatever the spacing.

    x(t_{i+1}) = A_i x(t_i) + L_i z_i,   A_i = e^{A (t_{i+1} − t_i)},   L_i L_iᵀ = Q_d(t_{i+1} − t_i)

Intervals that differ only by the rounding of the times are one: a regular grid is discretised once.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from daedal.data import increasing
from daedal.disturbances.noise import Noise
from daedal.disturbances.paths import discretize
from daedal.disturbances.streams import draw_innovations, make_seed
from daedal.errors import ModelError, show
from daedal.kernels import ScanKernel, compile_scan
from daedal.linear import factor_semidefinite, van_loan
from daedal.memory import check_memory

PURPOSE = "sample_path"


def sample_path(
    noise: Noise,
    times: Any,
    *,
    rng: int | np.random.Generator,
    values: Mapping[str, float] | None = None,
) -> np.ndarray:
    """One path of a noise at increasing times, which may be irregular.

    Parameters
    ----------
    noise
        FilteredNoise or StateSpaceNoise; `initial` holds at the first time.
    times
        Seconds, strictly increasing.
    rng
        A seed or a numpy Generator.
    values
        Numbers for the parameters in the coefficients of the noise.

    Returns
    -------
    numpy.ndarray
        (time,) for one channel, (time, channel) for several.

    Examples
    --------
    >>> from daedal.disturbances import FilteredNoise
    >>> wind = sample_path(FilteredNoise.low_pass(std=2.0, time_constant=1.0), np.arange(1000) * 0.1, rng=2)
    >>> wind.shape
    (1000,)
    """
    if not isinstance(noise, Noise):
        raise ModelError(
            f"sample_path takes a noise, got {type(noise).__name__}.",
            "Write FilteredNoise(...) or StateSpaceNoise(...).",
        )
    if values is not None and not isinstance(values, Mapping):
        raise ModelError(
            f"The values of sample_path must be a mapping, got {show(values)}.", "Write values={'k': 2.0}."
        )
    times = increasing(times)
    discrete = discretize(noise, values, 1.0)
    _check_size(len(times), discrete.states)
    normals = draw_innovations(make_seed(rng), PURPOSE, 0, range(len(times)), range(1), discrete.states)[0].T
    intervals, which = _find_distinct(times)
    transitions, covariances = van_loan(discrete.space.A, discrete.space.intensity, intervals)
    added = np.einsum("tij,tj->ti", factor_semidefinite(covariances)[which], normals[1:])
    state = (discrete.matrices.start @ normals[0])[:, None]
    states = np.concatenate([state[None], np.empty((len(which), *state.shape))])
    flat = transitions[which].reshape(len(which), discrete.states**2)
    _compile_kernel(discrete.states).run(
        state, np.empty((0, 1)), flat, np.ascontiguousarray(added[:, :, None]), np.arange(len(which)), states[1:]
    )
    path = np.einsum("tn,cn->tc", states[:, :, 0], discrete.matrices.rows)
    return path[:, 0] if noise.channels == 1 else path


def _check_size(times: int, states: int) -> None:
    """Factors and transitions of all steps are at hand at once."""
    needed = 8.0 * times * (2 * states**2 + 4 * states + 4)
    check_memory(needed, f"A path of {times:.3g} times", "Take fewer times, or one piece after the other.")


@lru_cache(maxsize=64)
def _compile_kernel(n: int) -> ScanKernel:
    """x ← A x + e with A of each step, flattened by rows, and e given."""
    x, A, e = ca.SX.sym("x", n), ca.SX.sym("A", n, n), ca.SX.sym("e", n)
    arguments = [x, ca.SX(0, 1), ca.vec(A.T), e]
    return compile_scan(ca.Function("step", arguments, [A @ x + e]), ca.Function("observe", arguments, [x]))


def _find_distinct(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different intervals and which of them each step is; rounding of the times does not make a difference."""
    steps = np.diff(times)
    if not len(steps):
        return steps, np.zeros(0, dtype=int)
    rounding = 8 * np.finfo(float).eps * np.abs(times).max()
    order = np.argsort(steps, kind="stable")
    first = np.concatenate([[True], np.diff(steps[order]) > rounding])
    which = np.empty(len(steps), dtype=int)
    which[order] = np.cumsum(first) - 1
    middle = np.bincount(which, weights=steps) / np.bincount(which)
    return middle, which
