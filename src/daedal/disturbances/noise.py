"""Declarations of what drives a system unmeasured: continuous-time noise with a rational spectrum.

Coefficients are numbers or expressions of parameters, so that a disturbance's gain or poles can be estimated.
White noise has E v(t) v(s) = q δ(t − s); filtered noise is white noise of unit intensity through a linear filter.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import islice
from typing import Any, Literal, Protocol, final, runtime_checkable

import numpy as np

from daedal.errors import ModelError, as_float, is_one_of, is_real, list_entries, show
from daedal.linear import make_controllable_form
from daedal.symbolic import Expression, as_expression, rename_symbols

MOST_POLES = 50  # of a filter by coefficients: powers of s lose all digits beyond about 60
Coefficient = float | Expression
Initial = Literal["stationary", "rest"]
Between = Literal["linear", "hermite", "exact"]


@runtime_checkable
class Noise(Protocol):
    """What a disturbance can be declared as: an extension point.

    A frozen value with equality and hash, which the constructor makes from `entries` alone. All else follows from these
    members: the parameters that occur, matrices and their derivatives, laws, paths, other names, text.
    """

    @property
    def channels(self) -> int:
        """How many disturbance symbols it drives."""
        ...

    @property
    def intensity(self) -> Coefficient | None:
        """q where it is white noise itself, without values in time; None for what has a state space."""
        ...

    @property
    def initial(self) -> Initial:
        """Whether it starts with its stationary law, or at zero."""
        ...

    @property
    def grid(self) -> float | None:
        """Seconds between the points at which it is generated; None to have them chosen."""
        ...

    @property
    def between(self) -> Between:
        """What a solver sees between these points."""
        ...

    @property
    def derivatives(self) -> tuple[int, ...] | None:
        """How many derivatives each channel has, −1 for white noise; None where that depends on numbers."""
        ...

    def matrices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A, B, C of dx = A x dt + B dv, w = C x, v white of unit intensity; entries are numbers or expressions."""
        ...

    def entries(self) -> dict[str, Any]:
        """What it is made of by the name of the argument: numbers, expressions, texts, or tuples of them."""
        ...


def is_noise(value: Any) -> bool:
    """Whether a value can be declared for a disturbance; a class cannot, though it has the members of its values."""
    return isinstance(value, Noise) and not isinstance(value, type)


def list_formulas(noise: Noise) -> tuple[Expression, ...]:
    """The coefficients that contain parameters, in the order of the declaration."""

    def within(value: Any) -> tuple[Expression, ...]:
        if isinstance(value, tuple):
            return tuple(formula for entry in value for formula in within(entry))
        return (value,) if isinstance(value, Expression) else ()

    return within(tuple(noise.entries().values()))


def rename_parameters(noise: Noise, names: Mapping[str, str]) -> Noise:
    """The same noise with other names of parameters."""

    def rename(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(rename, value))
        return rename_symbols(value, names) if isinstance(value, Expression) else value

    return type(noise)(**{name: rename(value) for name, value in noise.entries().items()})


def scale_noise(noise: Noise, factor: Coefficient) -> Noise:
    """The same noise, so many times as large.

    Examples
    --------
    >>> scale_noise(WhiteNoise(2.0), 3.0)
    WhiteNoise(intensity=18.0)
    """
    if noise.intensity is not None:
        return WhiteNoise(noise.intensity * factor * factor)
    A, B, C = (tuple(map(tuple, matrix)) for matrix in noise.matrices())
    larger = tuple(tuple(entry * factor for entry in row) for row in C)
    return StateSpaceNoise(A, B, larger, noise.grid, noise.initial, noise.between)


def stretch_noise(noise: Noise, factor: Coefficient) -> Noise:
    """The same noise, as large, with a memory so many times as long; white noise has none.

    Examples
    --------
    >>> stretch_noise(StateSpaceNoise([[-1.0]], [[1.0]], [[2.0]]), 4.0)
    StateSpaceNoise(A=((-0.25,),), B=((0.5,),), C=((2.0,),), grid=None, initial='stationary', between='linear')
    """
    if noise.intensity is not None:
        return noise
    A, B, C = (tuple(map(tuple, matrix)) for matrix in noise.matrices())
    slower = tuple(tuple(entry / factor for entry in row) for row in A)
    driven = tuple(tuple(entry / factor**0.5 for entry in row) for row in B)
    return StateSpaceNoise(slower, driven, C, noise.grid, noise.initial, noise.between)


class _Declaration:
    """What all declarations here share: they are values, equal when they read the same."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Declaration) and type(self) is type(other) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    @cached_property
    def _text(self) -> str:
        return repr(self)

    def entries(self) -> dict[str, Any]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}  # pyright: ignore[reportArgumentType]


@final
@dataclass(frozen=True, eq=False)
class WhiteNoise(_Declaration):
    """White noise of intensity q, E v(t) v(s) = q δ(t − s); for linear models.

    Examples
    --------
    >>> WhiteNoise(intensity=0.1)
    WhiteNoise(intensity=0.1)
    """

    intensity: Coefficient = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "intensity", _as_coefficient(self.intensity, "The intensity of WhiteNoise"))
        if isinstance(self.intensity, float) and not self.intensity >= 0:
            raise ModelError(
                f"The intensity of WhiteNoise must not be negative, got {self.intensity:g}.",
                "Give a variance per second.",
            )

    @property
    def channels(self) -> int:
        return 1

    @property
    def initial(self) -> Initial:
        return "stationary"

    @property
    def grid(self) -> None:
        return None

    @property
    def between(self) -> Between:
        return "linear"

    @property
    def derivatives(self) -> tuple[int, ...]:
        return (-1,)

    def matrices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.zeros((0, 0)), np.zeros((0, 1)), np.zeros((1, 0))


@final
@dataclass(frozen=True, eq=False)
class FilteredNoise(_Declaration):
    """White noise of unit intensity through numerator(s)/denominator(s), highest power first.

    Parameters
    ----------
    numerator, denominator
        Coefficients, numbers or expressions of parameters.
    grid
        Seconds between the points at which the noise is generated; chosen from the poles when left out.
    initial
        "stationary", or "rest" (starts at zero).
    between
        What a solver sees between grid points: "linear"; "hermite", cubics from value and slope; or "exact", the law
        of the process itself, drawn at whatever times the reference solver asks for.

    Examples
    --------
    >>> FilteredNoise(numerator=[0.6], denominator=[1, 0.8, 16], initial="rest")
    FilteredNoise(numerator=(0.6,), denominator=(1.0, 0.8, 16.0), grid=None, initial='rest', between='linear')
    """

    numerator: tuple[Coefficient, ...]
    denominator: tuple[Coefficient, ...]
    grid: float | None = None
    initial: Initial = "stationary"
    between: Between = "linear"

    def __post_init__(self) -> None:
        for side in ("numerator", "denominator"):
            object.__setattr__(self, side, _as_polynomial(getattr(self, side), f"The {side} of FilteredNoise"))
        object.__setattr__(self, "grid", _check_sampling(self.grid, self.initial, self.between, "FilteredNoise"))
        if self.pole_excess < 1:
            raise ModelError(
                f"FilteredNoise needs a denominator of higher degree than its numerator, got degrees "
                f"{len(self.denominator) - 1} and {len(self.numerator) - 1}.",
                "Add a pole, or declare WhiteNoise.",
            )
        numbers = [c for c in self.denominator if isinstance(c, float)]
        if len(numbers) == len(self.denominator):
            with np.errstate(over="ignore"):
                monic = np.array(numbers) / numbers[0]
            if not np.isfinite(monic).all():
                raise ModelError(
                    f"FilteredNoise has a pole beyond all numbers: its denominator begins with {numbers[0]:g}.",
                    "Leave that coefficient out, or use other units.",
                )
            _check_stable(np.roots(monic), "FilteredNoise")

    @classmethod
    def low_pass(
        cls,
        *,
        std: Coefficient,
        time_constant: Coefficient,
        grid: float | None = None,
        initial: Initial = "stationary",
    ) -> "FilteredNoise":
        """First-order noise std·√(2T) / (T s + 1), E w(t) w(s) = std² exp(−|t − s|/T).

        Examples
        --------
        >>> FilteredNoise.low_pass(std=3.0, time_constant=0.5)
        FilteredNoise(numerator=(3.0,), denominator=(0.5, 1.0), grid=None, initial='stationary', between='linear')
        """
        std = _as_positive(std, "The std of low_pass")
        lag = _as_positive(time_constant, "The time_constant of low_pass")
        with np.errstate(over="ignore"):  # what is not finite is refused by name
            return cls((std * np.sqrt(2 * lag),), (lag, 1.0), grid, initial)

    @classmethod
    def resonant(
        cls,
        *,
        std: Coefficient,
        frequency: Coefficient,
        damping: Coefficient,
        grid: float | None = None,
        initial: Initial = "stationary",
    ) -> "FilteredNoise":
        """Second-order noise 2·std·√(ζω³) / (s² + 2ζω s + ω²), ω the natural frequency in rad/s, ζ the damping ratio.

        Its standard deviation is std, that of its derivative std·ω.

        Examples
        --------
        >>> FilteredNoise.resonant(std=0.5, frequency=4.0, damping=0.25)
        FilteredNoise(numerator=(4.0,), denominator=(1.0, 2.0, 16.0), grid=None, initial='stationary', between='linear')
        """
        std, omega = _as_positive(std, "The std of resonant"), _as_positive(frequency, "The frequency of resonant")
        zeta = _as_positive(damping, "The damping of resonant")
        # As products: a power of a number that is too large raises an error of its own.
        numerator, denominator = 2 * std * np.sqrt(zeta * omega * omega * omega), (1.0, 2 * zeta * omega, omega * omega)
        return cls((numerator,), denominator, grid, initial)

    @property
    def pole_excess(self) -> int:
        """Poles minus zeros: the noise has pole_excess − 1 derivatives."""
        return len(self.denominator) - len(self.numerator)

    @property
    def channels(self) -> int:
        return 1

    @property
    def intensity(self) -> None:
        return None

    @property
    def derivatives(self) -> tuple[int, ...]:
        return (self.pole_excess - 1,)

    def matrices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return make_controllable_form(self.numerator, self.denominator)


@final
@dataclass(frozen=True, eq=False)
class StateSpaceNoise(_Declaration):
    """Correlated disturbances w = C x, dx = A x dt + B dv, v white of unit intensity; one symbol per row of C.

    Examples
    --------
    >>> noise = StateSpaceNoise(A=[[-1.0, 0.0], [0.0, -2.0]], B=[[1.0], [0.5]], C=[[1.0, 0.0], [1.0, 1.0]])
    >>> noise.channels
    2
    """

    A: tuple[tuple[Coefficient, ...], ...]
    B: tuple[tuple[Coefficient, ...], ...]
    C: tuple[tuple[Coefficient, ...], ...]
    grid: float | None = None
    initial: Initial = "stationary"
    between: Between = "linear"

    def __post_init__(self) -> None:
        for letter in "ABC":
            object.__setattr__(
                self, letter, _as_matrix(getattr(self, letter), f"The matrix {letter} of StateSpaceNoise")
            )
        states = len(self.A)
        if any(len(row) != states for row in (*self.A, *self.C)) or len(self.B) != states:
            raise ModelError(
                f"The matrices A {_show_shape(self.A)}, B {_show_shape(self.B)}, C {_show_shape(self.C)} do not fit.",
                "A must be square, B have as many rows, C as many columns.",
            )
        object.__setattr__(self, "grid", _check_sampling(self.grid, self.initial, self.between, "StateSpaceNoise"))
        if all(isinstance(entry, float) for row in self.A for entry in row):
            _check_stable(np.linalg.eigvals(np.array(self.A, dtype=float)), "StateSpaceNoise")

    @property
    def channels(self) -> int:
        return len(self.C)

    @property
    def intensity(self) -> None:
        return None

    @property
    def derivatives(self) -> None:
        return None

    def matrices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        A, B, C = (np.array(matrix, dtype=object) for matrix in (self.A, self.B, self.C))
        return A, B, C


def _as_coefficient(value: Any, what: str) -> Coefficient:
    expression = as_expression(value, what)
    if not expression.sx.is_constant():
        return expression
    if not np.isfinite(float(expression)):
        raise ModelError(
            f"{what} must be finite, got {float(expression)}.", "Give a number, or an expression of parameters."
        )
    return float(expression)


def _as_positive(value: Any, what: str) -> Coefficient:
    coefficient = _as_coefficient(value, what)
    if isinstance(coefficient, float) and not coefficient > 0:
        raise ModelError(f"{what} must be positive, got {coefficient:g}.", "Leave the disturbance out to have none.")
    return coefficient


def _as_polynomial(values: Any, what: str) -> tuple[Coefficient, ...]:
    if isinstance(values, (str, Expression)) or not np.iterable(values):
        raise ModelError(
            f"{what} must be a list of coefficients, got {show(values)}.",
            "Write [1.0, 0.8, 16.0], highest power first.",
        )
    coefficients = tuple(_as_coefficient(value, what) for value in islice(values, MOST_POLES + 2))
    if len(coefficients) > MOST_POLES + 1:
        raise ModelError(
            f"{what} may have {MOST_POLES + 1} coefficients, for {MOST_POLES} poles, but has more.",
            "Give StateSpaceNoise, which does not need powers of s.",
        )
    if not coefficients or (isinstance(coefficients[0], float) and coefficients[0] == 0.0):
        raise ModelError(
            f"{what} must begin with a coefficient that is not zero, got {show(values)}.", "Leave leading zeros out."
        )
    return coefficients


def _as_matrix(rows: Any, what: str) -> tuple[tuple[Coefficient, ...], ...]:
    listed = None if isinstance(rows, Expression) else list_entries(rows)
    entries = None if listed is None else [list_entries(row) for row in listed]
    if entries is None or any(row is None for row in entries):
        raise ModelError(f"{what} must be a list of rows, got {show(rows)}.", "Write [[-1.0, 0.0], [0.5, -2.0]].")
    matrix = tuple(tuple(_as_coefficient(value, what) for value in row or ()) for row in entries)
    if not matrix or len({len(row) for row in matrix}) != 1:
        raise ModelError(f"{what} must have rows of equal length, got {show(rows)}.", "Fill missing entries with 0.")
    return matrix


def _show_shape(matrix: tuple[tuple[Coefficient, ...], ...]) -> str:
    return f"{len(matrix)}×{len(matrix[0])}"


def _check_sampling(grid: Any, initial: str, between: str, what: str) -> float | None:
    """The grid as a float, if it and the start can be used."""
    if grid is not None and not (is_real(grid) and 0 < as_float(grid) < np.inf):
        raise ModelError(
            f"The grid of {what} must be a positive number of seconds, got {show(grid)}.",
            "Leave it out to have it chosen.",
        )
    if not is_one_of(between, ("linear", "hermite", "exact")):
        raise ModelError(
            f"The between of {what} must be 'linear', 'hermite' or 'exact', got {show(between)}.", "Choose one of them."
        )
    if not is_one_of(initial, ("stationary", "rest")):
        raise ModelError(
            f"The initial state of {what} must be 'stationary' or 'rest', got {show(initial)}.", "Choose one of them."
        )
    return None if grid is None else float(grid)


def _check_stable(poles: np.ndarray, what: str) -> None:
    rightmost = max(map(complex, poles), key=lambda pole: pole.real, default=-1.0 + 0.0j)
    if rightmost.real >= 0:
        raise ModelError(
            f"{what} has a pole at {rightmost if rightmost.imag else rightmost.real:.4g}, which is not stable.",
            "Give it poles with negative real parts; put an integrator into the model's equations instead.",
        )
