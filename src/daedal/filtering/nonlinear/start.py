"""Where a nonlinear model starts: consistent values as a function of normals.

    s₀ = (X₀, x_w),   x_w = S ζ_w,   F(X₀, T₀, w(x_w)) = 0

with some of (X₀, T₀) held: at what the model declares, or at that plus a standard deviation times a normal ζ_x. What is
open has a flat prior: that is the limit of a large standard deviation, with its density divided out. Near the start
that the model declares, Newton's method solves F = 0 for what is not held.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import final

import casadi as ca
import numpy as np

from daedal.errors import EstimationError
from daedal.filtering.parameter_point import Point
from daedal.linear import Dual
from daedal.systems import InitialValues, System, differentiate_initial_values, find_initial_values, solve_in_any_units

ITERATIONS = 30
SOLVED = 1e-13  # of the terms of the equations: a step of Newton's method that ends it


@final
@dataclass(frozen=True, eq=False)
class Spread:
    """How far values of (X, T) may be at the start from what is held or guessed.

    Attributes
    ----------
    deviations
        Place → standard deviation.
    flat
        Those of them that stand for a flat prior.
    profiled
        Whether these are taken at their best, instead of being integrated over.
    """

    deviations: Mapping[int, float] = field(default_factory=dict)
    flat: tuple[int, ...] = ()
    profiled: bool = False


@dataclass(frozen=True, eq=False)
class StartPlan:
    """Which of (X, T) are held, and which of them with a spread.

    Attributes
    ----------
    known
        Exogenous values at the start, disturbances at zero.
    noisy
        Places of the disturbances among them.
    """

    system: System
    time: float
    known: np.ndarray
    noisy: tuple[int, ...]
    spread: Spread

    def at(self, point: Point, rows: Dual, factor: Dual) -> "StartLaw":
        """At values of the parameters; `rows` of the disturbances by x_w, and S."""
        start = find_initial_values(self.system, self.time, point.numbers, self.known)
        return StartLaw(self, point, rows, factor, start)

    @cached_property
    def moves_with_noise(self) -> bool:
        """Whether consistent values depend on the disturbances."""
        r = self.system.reduction
        symbols = ca.vertcat(ca.SX(0, 1), *(r.arguments[-1][i] for i in self.noisy))
        if not self.noisy or not symbols.shape[0]:
            return False
        states = len(self.system.states)
        held = [place for place, _ in self.system.held.places.values()]
        return any(place >= states for place in (*held, *self.spread.deviations)) or (
            bool(r.G.shape[0]) and ca.depends_on(r.G, symbols)
        )


@dataclass(frozen=True, eq=False)
class StartLaw:
    """s₀ as a function of normals ζ, those of the filters first, then those of held values."""

    plan: StartPlan
    point: Point
    rows: Dual
    factor: Dual
    nominal: InitialValues

    @property
    def normals(self) -> int:
        """How many ζ there are."""
        return self.factor.value.shape[0] + len(self.plan.spread.deviations)

    @cached_property
    def integrated(self) -> np.ndarray:
        """Which normals the likelihood is integrated over, (normal,)."""
        filters, plan = self.factor.value.shape[0], self.plan
        held = [not (plan.spread.profiled and place in plan.spread.flat) for place in plan.spread.deviations]
        return np.concatenate([np.ones(filters, dtype=bool), np.array(held, dtype=bool)])

    @cached_property
    def weights(self) -> np.ndarray:
        """One for normals that are such, zero for those that stand for a flat prior, (normal,)."""
        spread = self.plan.spread
        held = [float(place not in spread.flat) for place in spread.deviations]
        return np.concatenate([np.ones(self.factor.value.shape[0]), held])

    @property
    def moves(self) -> bool:
        """Whether consistent values depend on normals at all."""
        return bool(self.plan.spread.deviations) or self.plan.moves_with_noise

    def begin(self, normals: np.ndarray) -> "Beginning":
        """The start for some normals (ζ,)."""
        plan, filters = self.plan, self.factor.value.shape[0]
        x_w = self.factor.value @ normals[:filters]
        pairs = zip(plan.spread.deviations.items(), normals[filters:].tolist(), strict=True)
        shifts = {place: deviation * normal for (place, deviation), normal in pairs}
        start = self._solve(x_w, shifts) if self.moves else self.nominal
        return Beginning(self, start, x_w, normals)

    @cached_property
    def _fixed(self) -> np.ndarray:
        """Places of (X, T) that are held, or would be at their guess."""
        names = (*self.plan.system.states, *self.plan.system.tops)
        held = {place for place, _ in self.plan.system.held.places.values()}
        return np.array(sorted(held | {names.index(name) for name in self.nominal.open}), dtype=int)

    @cached_property
    def _free(self) -> np.ndarray:
        size = len(self.plan.system.states) + len(self.plan.system.tops)
        return np.setdiff1d(np.arange(size), self._fixed)

    def _solve(self, x_w: np.ndarray, shifts: Mapping[int, float]) -> InitialValues:
        system, count = self.plan.system, len(self.plan.system.states)
        w = self.nominal.exogenous.copy()
        w[list(self.plan.noisy)] = self.rows.value @ x_w
        z = np.concatenate([self.nominal.states, self.nominal.tops])
        for place, shift in shifts.items():
            z[place] += shift
        parameters = system.parameter_vector(self.point.numbers)
        free, moved = self._free, np.inf
        for _ in range(ITERATIONS):
            arguments = (self.plan.time, z[:count], z[count:], parameters, w)
            residual = system.matrix("consistency", *arguments).ravel()
            jacobian = system.matrix("consistency_jacobian", *arguments)
            if not (np.isfinite(residual).all() and np.isfinite(jacobian).all()):
                break
            step = solve_in_any_units(jacobian[:, free], -residual)
            z[free] += step
            inverse = solve_in_any_units(jacobian[:, free], np.eye(residual.size))
            reach = np.abs(inverse) @ (np.abs(jacobian) @ np.abs(z))  # of the terms: round-off is a share of it
            moved = float(np.max(np.abs(step) / np.where(reach > 0.0, reach, 1.0), initial=0.0))
            if moved <= SOLVED:
                return replace(self.nominal, states=z[:count], tops=z[count:], exogenous=w)
        if moved <= 1e3 * SOLVED:
            return replace(self.nominal, states=z[:count], tops=z[count:], exogenous=w)
        raise EstimationError(
            f"No consistent start of model '{system.model.name}' was found near the declared one.",
            "Hold other unknowns at the start, or give them smaller standard deviations.",
        )


@dataclass(frozen=True, eq=False)
class Beginning:
    """One start: s₀ and T₀, with derivatives by the normals and the free parameters."""

    law: StartLaw
    start: InitialValues
    x_w: np.ndarray
    normals: np.ndarray

    @property
    def state(self) -> np.ndarray:
        """s₀."""
        return np.concatenate([self.start.states, self.x_w])

    @property
    def tops(self) -> np.ndarray:
        """T₀."""
        return self.start.tops

    @cached_property
    def by_normals(self) -> np.ndarray:
        """∂s₀/∂ζ (n, ζ)."""
        law, plan = self.law, self.law.plan
        filters = law.factor.value.shape[0]
        rise = np.zeros((len(plan.system.states) + filters, law.normals))
        rise[len(plan.system.states) :, :filters] = law.factor.value
        if plan.moves_with_noise:
            rise[: len(plan.system.states), :filters] = self._move({}, law.rows.value @ law.factor.value)
        for column, (place, deviation) in enumerate(plan.spread.deviations.items(), start=filters):
            rise[: len(plan.system.states), [column]] = deviation * self._move({place: 1.0}, None)
        return rise

    @cached_property
    def by_parameters(self) -> np.ndarray:
        """∂s₀/∂θ (n, direction), normals held."""
        law, plan = self.law, self.law.plan
        point, filters = law.point, law.factor.value.shape[0]
        x_w = np.einsum("dij,j->id", law.factor.slopes, self.normals[:filters])
        moved = np.zeros((self.start.exogenous.size, len(point.names)))
        moved[list(plan.noisy)] = law.rows.value @ x_w + np.einsum("drj,j->rd", law.rows.slopes, self.x_w)
        rates = point.rates[_find_rows(plan.system, point)]
        dz = differentiate_initial_values(
            plan.system, self.start, plan.time, point.numbers, self.start.exogenous, rates, moved
        )
        return np.vstack([dz[: len(plan.system.states)], x_w])

    def _move(self, held: dict[int, float], exogenous: np.ndarray | None) -> np.ndarray:
        """dX (states, columns) when a held value, or the disturbances, move."""
        law, system, count = self.law, self.law.plan.system, len(self.law.plan.system.states)
        parameters = system.parameter_vector(law.point.numbers)
        gradient = system.matrix(
            "consistency_gradient", law.plan.time, self.start.states, self.start.tops, parameters, self.start.exogenous
        )
        size = self.start.states.size + self.start.tops.size
        by_z, by_w = gradient[:, :size], gradient[:, size + parameters.size :]
        columns = 1 if exogenous is None else exogenous.shape[1]
        dz = np.zeros((size, columns))
        for place, rate in held.items():
            dz[place] = rate
        right = -by_z @ dz
        if exogenous is not None:
            right -= by_w[:, list(law.plan.noisy)] @ exogenous
        free = law._free
        dz[free] += solve_in_any_units(by_z[:, free], right)
        return dz[:count]


def _find_rows(system: System, point: Point) -> list[int]:
    """Where the parameters of the reduction stand among those of the model."""
    order = list(point.numbers)
    return [order.index(name) for name in system.reduction.parameters]
