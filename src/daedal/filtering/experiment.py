"""One experiment through the filter at given values: innovations, their variances, and the open start.

With e(δ) = e₀ + E δ the innovations as a function of the open values δ at the start, and S their variances,

    −log L = ½ Σ (e²/s + log 2πs),      δ̂ = −(Eᵀ S⁻¹ E)⁻¹ Eᵀ S⁻¹ e₀,

"free" takes δ̂, the maximum of the likelihood; "diffuse" integrates over a flat prior of δ, which adds
½ log det Eᵀ S⁻¹ E (de Jong 1991). Values that no sample tells from the others are left out of both.

P. de Jong, The diffuse Kalman filter, Annals of Statistics 19 (1991) 1073–1083.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import casadi as ca
import numpy as np

from daedal.errors import EstimationError, nearest
from daedal.experiments import Experiment
from daedal.filtering.evolution import Evolution, StochasticModel, stochastic_model
from daedal.filtering.filter import Filtered, filtered
from daedal.filtering.formulas import Point
from daedal.filtering.open_values import OpenValues, open_values
from daedal.filtering.readings import Readings, make_readings, needed_orders
from daedal.filtering.start import Start, StartPlan, plan_start
from daedal.kernels import Events, Keep
from daedal.linear import Dual
from daedal.models import Model
from daedal.symbolic import Delayed, Expression, find_operator, intern_symbol, list_symbols

InitialState = Literal["free", "diffuse", "guess"]
ROUNDING = 1e-11  # of an effect on the samples, relative to the terms it is the sum of
SHOWN = 1e-11  # eigenvalue of Eᵀ S⁻¹ E, scaled to a unit diagonal, below which a direction is not shown


@final
@dataclass(frozen=True, eq=False)
class Innovated:
    """Of the measuring events: e (event,) and s (event,) with slopes, E (event, δ), and the open values at the start.

    `predicted` (sample time, output) is what the samples before that time say.
    """

    e: Dual
    s: Dual
    E: Dual
    opened: OpenValues
    predicted: np.ndarray


@dataclass(frozen=True, eq=False)
class LinearExperiment:
    """A model and the data of one experiment, lined up for the filter."""

    stochastic: StochasticModel
    readings: Readings
    plan: StartPlan

    @property
    def rows(self) -> list[int]:
        """Of the outputs that were measured."""
        return [self.stochastic.rows.index(name) for name in self.readings.outputs]

    def start(self, evolution: Evolution, point: Point) -> Start:
        """Where the state begins."""
        rows = [self.stochastic.rows.index(name) for name in (*self.plan.held, *self.plan.spare)]
        return self.plan.start(self.stochastic, evolution, point, self.readings.at_start(self._orders(evolution, rows)))

    def orders(self, evolution: Evolution) -> int:
        """Of the input and its derivatives, how many act on the outputs at once."""
        return self._orders(evolution, self.rows)

    def _orders(self, evolution: Evolution, rows: Sequence[int]) -> int:
        return needed_orders(self.stochastic, evolution, rows, self.readings.signals)

    def run(self, evolution: Evolution, point: Point, keep: Keep = Keep.MEANS) -> tuple[Filtered, Start]:
        """The filter over all events; its first column is driven by the data, the others by the open values."""
        start = self.start(evolution, point)
        columns = Dual(
            np.vstack([start.mean.value, start.open.value.T]),
            np.concatenate([start.mean.slopes[:, None], start.open.slopes.swapaxes(1, 2)], axis=1),
        )
        measured = self.readings.measured(evolution, point, self.rows, self.orders(evolution))
        return filtered(evolution, self.readings.line, columns, start.covariance, measured, keep), start

    def innovated(self, evolution: Evolution, point: Point) -> Innovated:
        """Innovations of all samples at a point."""
        found, _ = self.run(evolution, point)
        mine = self.readings.measuring
        e0, s = found.e[mine, 0], found.s[mine]
        E = self.shown(evolution, found)
        if not ((s.value > 0.0).all() and np.isfinite(s.value).all() and np.isfinite(e0.value).all()):
            raise EstimationError(
                "The variance of a predicted sample is not positive or not finite there.",
                "Bound the parameters of the noise.",
            )
        opened = open_values(e0.value, E.value, s.value)
        e = Dual(e0.value + E.value @ opened.best, e0.slopes + E.slopes @ opened.best) if opened.kept else e0
        return Innovated(e, s, E, opened, self._predicted(evolution, found, opened.best))

    def shown(self, evolution: Evolution, found: Filtered) -> Dual:
        """What the open values do to the innovations (event, δ); zero for those that do nothing but rounding.

        An absolute angle that nothing measures drops out of every product with a row of C, but for the last digits.
        """
        mine = self.readings.measuring
        E = found.e[mine, 1:]
        if not E.value.shape[1]:
            return E
        rows = (np.abs(self.readings.mixing) @ np.abs(evolution.C.value[self.rows]))[
            self.readings.line.events.row[mine]
        ]
        natural = np.einsum("kn,kcn->kc", rows, np.abs(found.x[mine, 1:]))
        kept = np.linalg.norm(E.value, axis=0) > ROUNDING * np.linalg.norm(natural, axis=0)
        return Dual(np.where(kept, E.value, 0.0), np.where(kept, E.slopes, 0.0))

    def _predicted(self, evolution: Evolution, found: Filtered, opened: np.ndarray) -> np.ndarray:
        """One step ahead, (sample time, output): before any sample of that time was used."""
        x = found.x[self.readings.first_events]
        state = x[:, 0] + np.einsum("kcn,c->kn", x[:, 1:], opened)
        direct = self.readings.direct(evolution, self.rows, self.orders(evolution))
        return state @ evolution.C.value[self.rows].T + direct.value

    def outlook(self, evolution: Evolution, point: Point) -> tuple["Outlook", "Outlook"]:
        """What the model says to the samples: one step ahead, from the samples before; and without any."""
        found, start = self.run(evolution, point, Keep.EVERYTHING)
        mine = self.readings.measuring
        E, s = self.shown(evolution, found).value, found.s.value[mine]
        opened = open_values(found.e.value[mine, 0], E, s)
        ahead = self._outlook(evolution, found, self.readings.first_events, opened)
        line = self.readings.line
        silent = replace(
            line, events=Events(line.events.transition, np.full_like(line.events.row, -1), line.events.steady)
        )
        columns = Dual(np.vstack([start.mean.value, start.open.value.T]), np.zeros((0, *found.x.shape[1:])))
        measured = self.readings.measured(evolution, point, self.rows, self.orders(evolution))
        free = filtered(evolution, silent, columns, start.covariance, measured, Keep.EVERYTHING)
        return ahead, self._outlook(evolution, free, self.readings.first_events, opened)

    def _outlook(self, evolution: Evolution, found: Filtered, events: np.ndarray, opened: OpenValues) -> "Outlook":
        """Mean and standard deviation of the outputs at some events."""
        C = evolution.C.value[self.rows]
        x, P = found.x[events], found.P[events]
        X = np.einsum("on,kcn->koc", C, x[:, 1:])
        direct = self.readings.direct(evolution, self.rows, self.orders(evolution)).value
        variance = np.einsum("on,knm,om->ko", C, P, C) + np.einsum("koc,cd,kod->ko", X, opened.covariance, X)
        return Outlook(x[:, 0] @ C.T + X @ opened.best + direct, np.sqrt(np.maximum(variance, 0.0)))


@final
@dataclass(frozen=True, eq=False)
class Outlook:
    """Of the outputs without their measurement noise, (sample time, output)."""

    mean: np.ndarray
    std: np.ndarray


def pseudo_inverse(information: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of a matrix of information, scaled to a unit diagonal first; and the directions (δ, …) that it does not have."""
    size = len(information)
    seen = np.diag(information) > 0.0
    scale = 1.0 / np.sqrt(np.diag(information)[seen])
    values, vectors = np.linalg.eigh(information[np.ix_(seen, seen)] * np.outer(scale, scale))
    shown = values > SHOWN
    inverse = np.zeros((size, size))
    inverse[np.ix_(seen, seen)] = (vectors[:, shown] / values[shown]) @ vectors[:, shown].T * np.outer(scale, scale)
    mixed = np.zeros((size, int((~shown).sum())))
    mixed[seen] = scale[:, None] * vectors[:, ~shown]
    return inverse, np.hstack([mixed / np.maximum(np.linalg.norm(mixed, axis=0), 1e-300), np.eye(size)[:, ~seen]])


def row_of(name: str) -> str:
    """The key of the row of a variable; an output may have the same name and be something else."""
    return f"'{name}'"


def linear_experiments(
    verb: str,
    experiments: Sequence[Experiment],
    values: Sequence[Mapping[str, float]],
    initial: "InitialCondition",
    wanted: Collection[str] = (),
    queries: Sequence[float] = (),
    before: bool = False,
) -> tuple[LinearExperiment, ...]:
    """Line up a linear model with each of its experiments; `values` are those of the parameters in each.

    `wanted` names variables that need rows of their own, `queries` are times at which the state is wanted.
    """
    system = experiments[0].system
    model = system.model
    held = initial.held(model)
    candidates = system.states
    named = dict.fromkeys((*initial.names(model), *candidates, *wanted))
    rows = {row_of(name): intern_symbol(name) for name in named} | _delay_starts(model)
    stochastic = stochastic_model(model, verb, rows)
    made = []
    for experiment, numbers in zip(experiments, values, strict=True):
        measured = make_readings(stochastic, experiment, queries, before)
        evolution = stochastic.at(Point(model, numbers, ()))
        plan = plan_start(stochastic, evolution, [row_of(name) for name in candidates], held, initial.deviations(model))
        if initial.open == "guess":
            plan = _at_guess(stochastic, evolution, plan, held, initial)
        lined = LinearExperiment(stochastic, measured, plan)
        lined.orders(evolution)  # refuses inputs that are too rough
        made.append(lined)
    return tuple(made)


def _delay_starts(model: Model) -> dict[str, Expression]:
    """Delayed values of outputs begin as what they delay."""
    leaves = ca.vertcat(*(value.sx for value in model.outputs.values())) if model.outputs else ca.SX(0, 1)
    found = {}
    for name in list_symbols(leaves):
        meaning = find_operator(name)
        if isinstance(meaning, Delayed):
            found[row_of(f"start of {name}")] = intern_symbol(name) - meaning.operand
    return found


def _at_guess(
    stochastic: StochasticModel,
    evolution: Evolution,
    plan: StartPlan,
    held: Mapping[str, Any],
    initial: "InitialCondition",
) -> StartPlan:
    """What is open held at its guess, zero where there is none."""
    model = stochastic.model
    guesses = {row_of(name): value for name, value in model.guess.items()}
    both = {**held, **{row: guesses.get(row, 0.0) for row in plan.open}}
    return plan_start(stochastic, evolution, (), both, initial.deviations(model))


@final
@dataclass(frozen=True)
class InitialCondition:
    """What is known of the start: values that the model holds, their standard deviations, and what is open."""

    open: InitialState = "free"
    std: Mapping[str, float] | None = None
    released: bool = False  # whether what the model holds is open too

    def names(self, model: Model) -> tuple[str, ...]:
        """The variables that are held."""
        return () if self.released else tuple(model.initial)

    def held(self, model: Model) -> dict[str, Expression | float]:
        """Row → value at the start."""
        own = {row_of(name): model.initial[name] for name in self.names(model)}
        return {**own, **dict.fromkeys(_delay_starts(model), 0.0)}

    def deviations(self, model: Model) -> dict[str, float]:
        """Row → standard deviation of the value at the start."""
        given = self.std or {}
        for name in given:
            if name not in model.initial:
                raise EstimationError(
                    f"initial_std gives a standard deviation for '{name}', which model '{model.name}' does not hold at "
                    "the start.",
                    nearest(name, model.initial) if model.initial else "Hold it with initial={...} in the model.",
                )
        return {row_of(name): float(value) for name, value in given.items()}
