"""Where the state begins: what is held, what is known up to a standard deviation, and what is left open.

The disturbances' filters begin with their own law; rows of the model that `initial` holds begin with their values (or
about them); as many more rows as are needed to fix the state are open. With M the rows of all of these, in this order,

    M x(t₀) = (z_w, values − Σ D_l u⁽ˡ⁾(t₀), δ),     z_w ~ N(0, P_w),  δ unknown,

so that x(t₀) = mean + open · δ with a covariance. What an algebraic equation determines is not part of the state, and
holding it would be a contradiction or say nothing (Gerdin et al. 2006, remark 4).

Reference: M. Gerdin, T. B. Schön, T. Glad, F. Gustafsson, L. Ljung, On parameter and state estimation for linear
differential-algebraic equations, 2006.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from daedal.errors import InitialValueError
from daedal.filtering.evolution import Evolution, StochasticModel
from daedal.filtering.parameter_point import DualFormulas, Point
from daedal.linear import Dual, LowRank, lift, stack, stack_diagonally
from daedal.models import Model

INDEPENDENT = 1e-8  # of a row, once those before it are taken out, relative to its length
AGREES = 1e-6  # of a value that is held twice, relative to its size


@final
@dataclass(frozen=True, eq=False)
class Start:
    """x(t₀) = mean (n,) + open (n, δ) δ, with a covariance of few directions."""

    mean: Dual
    open: Dual
    spread: LowRank

    @cached_property
    def covariance(self) -> Dual:
        """Of the state, (n, n)."""
        return self.spread.full


@dataclass(frozen=True, eq=False)
class StartPlan:
    """Which rows are held with which formulas, which are open, and which say what others do."""

    held: tuple[str, ...]
    values: DualFormulas
    deviations: tuple[float, ...]
    open: tuple[str, ...]
    spare: tuple[str, ...]
    spare_values: DualFormulas

    def find_start(
        self, stochastic: StochasticModel, evolution: Evolution, point: Point, inputs: Sequence[np.ndarray]
    ) -> Start:
        """The start at a point; `inputs` are u, u', … at t₀, the constant one included."""
        count, n = len(point.names), evolution.A.value.shape[0]
        rows = [stochastic.rows.index(name) for name in (*self.held, *self.open)]
        M = stack([evolution.shaping, evolution.C[rows]])
        filters, held = evolution.shaping.value.shape[0], len(self.held)
        try:
            inverse = M.solve(lift(np.eye(n), count))
        except np.linalg.LinAlgError:
            raise InitialValueError(
                f"The values held at the start of model '{stochastic.model.name}' no longer determine its state.",
                "Give bounds that keep the parameters away from there.",
            ) from None
        known = self.values.at(point) - _compute_forced(evolution, rows[:held], inputs)
        columns = inverse[:, filters : filters + held]
        mean = Dual(columns.value @ known.value, columns.slopes @ known.value + known.slopes @ columns.value.T)
        random = inverse[:, :filters]
        uncertain = [k for k, deviation in enumerate(self.deviations) if deviation]
        about = lift(np.diag(np.square([self.deviations[k] for k in uncertain])), count)
        spread = LowRank(
            stack([random, columns[:, uncertain]], axis=1),
            stack_diagonally([evolution.shaping_covariance, about], count),
        )
        self._check_spare(stochastic, evolution, point, inputs, mean.value)
        return Start(mean, inverse[:, filters + held :], spread)

    def _check_spare(self, stochastic, evolution, point, inputs, mean: np.ndarray) -> None:
        """What is held needlessly must agree with the rest."""
        if not self.spare:
            return
        rows = [stochastic.rows.index(name) for name in self.spare]
        given = self.spare_values.at(point).value
        implied = evolution.C.value[rows] @ mean + _compute_forced(evolution, rows, inputs).value
        size = np.abs(evolution.C.value[rows]) @ np.abs(mean) + np.abs(given) + 1e-300
        wrong = np.flatnonzero(np.abs(implied - given) > AGREES * size)
        if wrong.size:
            name = self.spare[wrong[0]]
            raise InitialValueError(
                f"The value {given[wrong[0]]:g} held for {name} contradicts the others: they make it "
                f"{implied[wrong[0]]:g}.",
                "Leave one of them open.",
            )


def _compute_forced(evolution: Evolution, rows: Sequence[int], inputs: Sequence[np.ndarray]) -> Dual:
    """Σ D_l u⁽ˡ⁾ of some rows."""
    total = lift(np.zeros(len(rows)), len(evolution.A.slopes))
    for D, u in zip(evolution.D, inputs, strict=False):
        chosen = D[list(rows)]
        total = total + Dual(chosen.value @ u, chosen.slopes @ u)
    return total


def plan_start(
    stochastic: StochasticModel,
    evolution: Evolution,
    candidates: Sequence[str],
    held: Mapping[str, object],
    deviations: Mapping[str, float],
) -> StartPlan:
    """Choose the rows that fix the state: all that are held and say something new, then candidates."""
    model: Model = stochastic.model
    C, filters = evolution.C.value, evolution.shaping.value
    basis = _Basis(evolution.A.value.shape[0])
    basis.add_all(list(filters))
    kept, spare = [], []
    rows = [C[stochastic.rows.index(name)] for name in held]
    for name, row, new in zip(held, rows, basis.add_all(rows), strict=True):
        if new:
            kept.append(name)
        elif basis.needs_first(row, len(filters)):
            raise InitialValueError(
                f"{name} cannot be held at the start: it depends on a disturbance there.",
                "Leave it open, or let the disturbance begin at rest.",
            )
        else:
            spare.append(name)
    added = basis.add_all([C[stochastic.rows.index(name)] for name in candidates])
    opened = [name for name, new in zip(candidates, added, strict=True) if new]
    if not basis.full:
        raise InitialValueError(
            f"The start of model '{model.name}' cannot be described by {', '.join(candidates)}.",
            "Hold values of other variables with initial={...}.",
        )
    return StartPlan(
        held=tuple(kept),
        values=DualFormulas(model, [held[name] for name in kept]),  # type: ignore[arg-type]
        deviations=tuple(float(deviations.get(name, 0.0)) for name in kept),
        open=tuple(opened),
        spare=tuple(spare),
        spare_values=DualFormulas(model, [held[name] for name in spare]),  # type: ignore[arg-type]
    )


class _Basis:
    """Rows made orthogonal one after the other."""

    def __init__(self, size: int) -> None:
        self._rows, self._count = np.zeros((size, size)), 0

    @property
    def full(self) -> bool:
        return self._count == len(self._rows)

    def add_all(self, rows: Sequence[np.ndarray]) -> list[bool]:
        """Add rows unless those before them determine them, and say of each whether it was added."""
        if len(rows) and self._extend(np.array(rows)):
            return [True] * len(rows)
        return [self._add(row) for row in rows]

    def needs_first(self, row: np.ndarray, first: int) -> bool:
        """Whether a dependent row needs one of the first rows."""
        return bool(np.linalg.norm(self._rows[:first] @ row) > INDEPENDENT * np.linalg.norm(row))

    def _extend(self, rows: np.ndarray) -> bool:
        """Many rows at once, if none of them depends on others."""
        lengths, end = np.linalg.norm(rows, axis=1), self._count + len(rows)
        if end > len(self._rows) or not lengths.all():
            return False
        axes, left = self._rows[: self._count], rows / lengths[:, None]
        for _ in range(2):
            left = left - (left @ axes.T) @ axes
        turned, triangle = np.linalg.qr(left.T)
        if np.abs(np.diag(triangle)).min() <= INDEPENDENT:
            return False
        self._rows[self._count : end], self._count = turned.T, end
        return True

    def _add(self, row: np.ndarray) -> bool:
        length = float(np.linalg.norm(row))
        if length == 0.0 or self.full:
            return False
        axes = self._rows[: self._count]
        left = row
        for _ in range(2):
            left = left - (axes @ left) @ axes
        if float(np.linalg.norm(left)) <= INDEPENDENT * length:
            return False
        self._rows[self._count] = left / np.linalg.norm(left)
        self._count += 1
        return True
