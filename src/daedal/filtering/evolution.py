"""A linear model with its disturbances as a state space, at given values of its parameters.

As in appendix B of Gerdin et al. (2006), disturbances become states of the filters that shape them; the pencil of
everything is brought to standard form, and

    dx = (A x + B u) dt + dv,  E dv dvᵀ = Q dt,      row = C x + Σ_l D_l u⁽ˡ⁾,   D_l = −H Q₂ Nˡ P₂ G

with a constant 1 as the last input. All matrices come with their derivatives with respect to the free parameters.

Reference: M. Gerdin, T. B. Schön, T. Glad, F. Gustafsson, L. Ljung, On parameter and state estimation for linear
differential-algebraic equations, 2006.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from daedal.analysis import MATRICES, ZERO, LinearForm, extract_linear_form, find_polynomial_part
from daedal.errors import EstimationError, StructureError, counted, quoted
from daedal.filtering.parameter_point import Point
from daedal.filtering.shaping import Shaping, ShapingFilters
from daedal.linear import (
    Dual,
    LowRank,
    SingularPencilError,
    differentiate_standard_form,
    lift,
    reduce_to_standard_form,
    stack,
    stack_diagonally,
)
from daedal.memory import check_memory
from daedal.models import Model
from daedal.progress import announce
from daedal.symbolic import Expression, list_symbols

MATRICES_HELD, MATRICES_MOVED = 25, 15  # of the size of the pencil held at once, and more for each free parameter
PRODUCTS = 60  # of such matrices
SECONDS = 1e-10  # that an operation of them takes, about
LEADING = 0.1  # share of a null vector, relative to its largest, from which a name takes part
NEGLIGIBLE = 1e-12  # of the natural size of an entry, in balanced units: rounding


@final
@dataclass(frozen=True, eq=False)
class Evolution:
    """The state space; rows of C and D are those of the StochasticModel.

    `shaping` (filters, n) picks the states of the disturbances' filters, which start with `shaping_covariance`;
    `resets` (delay, n, n) are what happens to x when a delayed variable takes its value.
    """

    A: Dual
    B: Dual
    noise: LowRank
    C: Dual
    D: tuple[Dual, ...]
    shaping: Dual
    shaping_covariance: Dual
    resets: tuple[Dual, ...]

    @cached_property
    def Q(self) -> Dual:
        """Intensity of the noise, (n, n)."""
        return self.noise.full


@dataclass(frozen=True, eq=False)
class StochasticModel:
    """A linear model, and the rows that are wanted of it: outputs first, then others by name."""

    model: Model
    form: LinearForm
    rows: tuple[str, ...]

    def at(self, point: Point) -> Evolution:
        """The state space at a point."""
        count = len(point.names)
        self._check_size(count)
        value = self.form.at(self.model, point.numbers)
        slopes = self.form.along(self.model, point.numbers, point.rates) if count else {}
        m = {key: Dual(matrix, slopes.get(key, np.zeros((0, *matrix.shape)))) for key, matrix in value.items()}
        self._check_finite(m, point)
        noise = self._filters.at(point)
        filters = noise.A.value.shape[0]
        E = stack_diagonally([m["E"], lift(np.eye(filters), count)], count)
        F = stack(
            [
                stack([m["F"], m["J"] @ noise.C], axis=1),
                stack([lift(np.zeros((filters, m["F"].value.shape[1])), count), noise.A], axis=1),
            ]
        )
        inputs = stack([m["G"], m["f"]], axis=1)
        G = stack([inputs, lift(np.zeros((filters, inputs.value.shape[1])), count)])
        V = stack_diagonally([m["J"] @ noise.direct, noise.B], count)
        H = stack([m["H"], lift(np.zeros((m["H"].value.shape[0], filters)), count)], axis=1)
        return self._make_standard(E, F, G, V, H, noise)

    def _make_standard(self, E: Dual, F: Dual, G: Dual, V: Dual, H: Dual, noise: Shaping) -> Evolution:
        try:
            form = reduce_to_standard_form(E.value, F.value)
        except SingularPencilError as error:
            raise self._explain_singular(error, np.abs(E.value) + np.abs(F.value)) from None
        moves = [differentiate_standard_form(form, dE, dF) for dE, dF in zip(E.slopes, F.slopes, strict=True)]

        def dual(name: str) -> Dual:
            value = getattr(form, name)
            return Dual(value, np.array([getattr(move, name) for move in moves]).reshape(len(moves), *value.shape))

        n = form.evolving
        A, N, P, Q = (dual(name) for name in ("A", "N", "P", "Q"))
        upper, lower, left, right = P[:n], P[n:], Q[:, :n], Q[:, n:]
        spread = upper @ V
        sizes = find_polynomial_part(G.value, H.value, form).sizes
        direct, chain = [], lower @ G
        for size in sizes:
            direct.append(_clean(-(H @ right @ chain), size <= ZERO))
            chain = N @ chain
        seen = H @ left
        units = form.units[1]
        natural = np.linalg.norm(H.value * units, axis=1)[:, None] * np.linalg.norm(left.value / units[:, None], axis=0)
        seen = _clean(seen, np.abs(seen.value) <= NEGLIGIBLE * natural)
        filters = noise.A.value.shape[0]
        resets = []
        for delay in self.form.delays:
            jump = upper @ E[:, [delay.variable]]
            resets.append(lift(np.eye(n), len(moves)) + jump @ (left[[delay.source]] - left[[delay.variable]]))
        return Evolution(
            A,
            upper @ G,
            LowRank(spread, noise.intensity),
            seen,
            tuple(direct),
            left[len(E.value) - filters :],
            noise.start,
            tuple(resets),
        )

    def _check_size(self, directions: int) -> None:
        """Refuse what cannot be held, before any of it is made."""
        size = len(self.form.variables)
        needed = 8.0 * size**2 * (MATRICES_HELD + MATRICES_MOVED * directions)
        operations = PRODUCTS * float(size) ** 3 * (1 + directions)
        subject = (
            f"The state space of model '{self.model.name}' with {counted(size, 'variable')} and "
            f"{counted(directions, 'free parameter')}, about {operations:.1g} operations,"
        )
        remedy = "Free fewer parameters, divide the model into fewer cells, or take OutputError() or SimulationPEM()."
        check_memory(needed, subject, remedy)
        work = f"One evaluation of model '{self.model.name}' with {counted(size, 'variable')}"
        announce(work, SECONDS * operations, "fewer cells, or fewer free parameters, take less")

    def _check_finite(self, matrices: Mapping[str, Dual], point: Point) -> None:
        """A root of a negative number, or a division by zero, is said before it spoils a decomposition."""
        for key, matrix in matrices.items():
            wrong = ~(np.isfinite(matrix.value) & np.isfinite(matrix.slopes).all(axis=0)).all(axis=1)
            if not wrong.any():
                continue
            row = int(np.argmax(wrong))
            where = f"output '{self.rows[row]}'" if key == "H" else f"equation '{self.form.equations[row]}'"
            names = list_symbols(self.form.matrices[MATRICES.index(key)][row, :])
            at = ", ".join(f"{name} = {point.numbers[name]:g}" for name in names)
            kind = "has a derivative that is" if np.isfinite(matrix.value).all() else "is"
            raise EstimationError(
                f"A coefficient of {where} of model '{self.model.name}' {kind} not finite at {at}.",
                f"Give other values, or bounds that keep {quoted(names)} away from there.",
            )

    def _explain_singular(self, error: SingularPencilError, size: np.ndarray) -> StructureError:
        """Names variables that are open and the equations they are in; filters of disturbances are never the reason."""
        count = len(self.form.variables)
        columns = np.flatnonzero(_find_leading(error.columns[:count]))
        rows = np.flatnonzero(_find_leading(error.rows[:count]) & (size[:count][:, columns] > 0.0).any(axis=1))
        added = {f"output '{name}'" for name in self.rows}
        equations = [name for name in (self.form.equations[k] for k in rows) if name not in added]
        variables = [name for name in (self.form.variables[k] for k in columns) if name not in added]
        return StructureError(
            f"At these values the equations {quoted(equations)} of model '{self.model.name}' do not determine "
            f"{quoted(variables)}.",
            "Give other values or bounds, or add the equation that is missing.",
        )

    @cached_property
    def _filters(self) -> ShapingFilters:
        return ShapingFilters(self.model)


def make_stochastic_model(model: Model, verb: str, wanted: Mapping[str, Expression]) -> StochasticModel:
    """The matrices of a linear model with rows for its outputs and for what is wanted by name."""
    form = extract_linear_form(model, verb, wanted, reduced=True, forced=True)
    return StochasticModel(model, form, form.outputs)


def _clean(matrix: Dual, zero: np.ndarray) -> Dual:
    """With true zeros where an entry is nothing but rounding."""
    return Dual(np.where(zero, 0.0, matrix.value), matrix.slopes)


def _find_leading(shares: np.ndarray) -> np.ndarray:
    return shares > LEADING * shares.max()
