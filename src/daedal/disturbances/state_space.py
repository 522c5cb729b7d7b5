"""A noise declaration with numbers in place of its parameters: dx = A x dt + B dv, w = C x.

That is equation (4) of Abdalmoaty et al. (2021). A transfer function becomes its controllable canonical form, whose
states are the derivatives of one signal. The matrices are built with expressions as entries, so that their derivatives
with respect to a parameter come from CasADi, exactly.

Reference: M. R.-H. Abdalmoaty, O. Eriksson, R. Bereza, D. Broman, H. Hjalmarsson, Identification of Non-Linear
Differential-Algebraic Equation Models with Process Disturbances, IEEE Conf. on Decision and Control 2021.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import casadi as ca
import numpy as np

from daedal.disturbances.noise import Noise, list_formulas
from daedal.errors import ModelError, nearest, quoted
from daedal.linear import count_output_derivatives, differentiate_lyapunov, solve_lyapunov
from daedal.symbolic import as_expression, intern_symbol, list_symbols, write_number

LARGEST = 1e150  # coefficient of a noise: its square is a variance


@final
@dataclass(frozen=True, eq=False)
class NoiseStateSpace:
    """A (n, n), B (n, inputs) and C (channels, n), or their derivatives with respect to a parameter."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray

    @property
    def intensity(self) -> np.ndarray:
        """B Bᵀ, the covariance per second that drives the state."""
        return self.B @ self.B.T

    @property
    def fastest_pole(self) -> float:
        """The largest |eigenvalue| of A, in rad/s."""
        return float(np.abs(np.linalg.eigvals(self.A)).max())


@dataclass(frozen=True, eq=False)
class _Symbolic:
    """Entries of A, B, C one after the other, and their Jacobian, as functions of the parameters."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    entries: ca.Function
    jacobian: ca.Function


def list_parameters(noise: Noise) -> tuple[str, ...]:
    """The parameters that the coefficients contain, in order of appearance."""
    return tuple(dict.fromkeys(name for formula in list_formulas(noise) for name in list_symbols(formula.sx)))


def solve_stationary(noise: Noise, A: np.ndarray, intensity: np.ndarray) -> np.ndarray:
    """The covariance of the state of a noise in the long run, or a sentence about why there is none."""
    try:
        return solve_lyapunov(A, intensity)
    except np.linalg.LinAlgError:  # poles on the imaginary axis, or variances beyond all numbers
        raise ModelError(
            f"{noise!r} has no stationary state at these values.", "Bound its parameters so that its poles are stable."
        ) from None


def differentiate_stationary(noise: Noise, A: np.ndarray, P: np.ndarray, dA: np.ndarray, dQ: np.ndarray) -> np.ndarray:
    """The derivative of that covariance P in the direction (dA, dQ), or a sentence."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return differentiate_lyapunov(A, P, dA, dQ)
    except np.linalg.LinAlgError:
        raise ModelError(
            f"{noise!r} has a stationary state whose derivatives are not finite at these values.",
            f"Bound {quoted(list_parameters(noise))} away from there.",
        ) from None


def realize(noise: Noise, numbers: Mapping[str, float] | None = None) -> NoiseStateSpace:
    """The state space of a noise at given numbers of its parameters.

    Examples
    --------
    >>> from daedal.disturbances import FilteredNoise
    >>> realize(FilteredNoise(numerator=[0.6], denominator=[1.0, 0.8, 16.0])).C
    array([[0.6, 0. ]])
    """
    symbolic = _make_symbolic(noise)
    point = _make_point(noise, symbolic, numbers or {})
    space = _make_matrices(symbolic, symbolic.entries(point).full().ravel())
    at = _describe_point(symbolic.names, point)
    if not all(np.isfinite(matrix).all() for matrix in (space.A, space.B, space.C)):
        raise ModelError(
            f"{noise!r} has coefficients that are not finite{at}.",
            "The denominator must not begin with zero, nor a formula divide by zero; bound the parameters.",
        )
    if max(np.abs(space.B).max(initial=0.0), np.abs(space.C).max(initial=0.0)) > LARGEST:
        raise ModelError(
            f"{noise!r} has coefficients beyond {LARGEST:g}{at}, whose squares are no numbers.",
            "Give what it drives in a larger unit.",
        )
    rightmost = max(map(complex, np.linalg.eigvals(space.A)), key=lambda pole: pole.real)
    if rightmost.real >= 0:
        raise ModelError(
            f"{noise!r} has a pole at {rightmost if rightmost.imag else rightmost.real:.4g}{at}, which is not stable.",
            "Bound the parameters so that all poles have negative real parts.",
        )
    return space


def differentiate_realization(noise: Noise, numbers: Mapping[str, float], name: str) -> NoiseStateSpace:
    """The derivatives dA, dB, dC with respect to the parameter `name`; zero when it does not occur."""
    symbolic = _make_symbolic(noise)
    point = _make_point(noise, symbolic, numbers)
    if name not in symbolic.names:
        return _make_matrices(symbolic, np.zeros(symbolic.entries.size1_out(0)))
    return _make_matrices(symbolic, symbolic.jacobian(point).full()[:, symbolic.names.index(name)])


def count_derivatives(noise: Noise, numbers: Mapping[str, float] | None = None) -> tuple[int, ...]:
    """How many derivatives each channel has: poles minus zeros minus one for a transfer function."""
    if noise.derivatives is not None:
        return noise.derivatives
    space = realize(noise, numbers)
    return count_output_derivatives(space.A, space.B, space.C)


@lru_cache(maxsize=128)
def _make_symbolic(noise: Noise) -> _Symbolic:
    if noise.intensity is not None:
        raise explain_white_noise(noise, "The noise")
    matrices, names = noise.matrices(), list_parameters(noise)
    symbols = ca.vertcat(*(intern_symbol(name).sx for name in names)) if names else ca.SX(0, 1)
    entries = ca.vertcat(*(as_expression(entry, "An entry").sx for matrix in matrices for entry in matrix.ravel()))
    return _Symbolic(
        names,
        tuple(matrix.shape for matrix in matrices),
        ca.Function("entries", [symbols], [ca.densify(entries)]),
        ca.Function("jacobian", [symbols], [ca.densify(ca.jacobian(entries, symbols))]),
    )


def explain_white_noise(noise: Noise, what: str) -> ModelError:
    """What to say when white noise is asked for values in time."""
    return ModelError(
        f"{what} is {noise!r}: white noise has no values in time and cannot be sampled.",
        "Declare FilteredNoise.low_pass(std=..., time_constant=...) with a short time constant; "
        "WhiteNoise can be declared, but not simulated; Likelihood and estimate_states take it as it is.",
    )


def _make_point(noise: Noise, symbolic: _Symbolic, numbers: Mapping[str, float]) -> ca.DM:
    missing = [name for name in symbolic.names if name not in numbers]
    if missing:
        raise ModelError(
            f"{noise!r} contains {quoted(missing)}, which has no number.",
            nearest(missing[0], numbers) if numbers else f"Give values={{'{missing[0]}': ...}}.",
        )
    return ca.DM([float(numbers[name]) for name in symbolic.names]) if symbolic.names else ca.DM(0, 1)


def _make_matrices(symbolic: _Symbolic, values: np.ndarray) -> NoiseStateSpace:
    ends = np.cumsum([rows * columns for rows, columns in symbolic.shapes])[:-1]
    parts = (part.reshape(shape) for part, shape in zip(np.split(values, ends), symbolic.shapes, strict=True))
    return NoiseStateSpace(*parts)


def _describe_point(names: tuple[str, ...], point: ca.DM) -> str:
    values = point.full().ravel()
    return (
        " at " + ", ".join(f"{n} = {write_number(float(v))}" for n, v in zip(names, values, strict=True))
        if names
        else ""
    )
