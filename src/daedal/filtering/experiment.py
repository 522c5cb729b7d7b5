"""One experiment through the filter at given values: innovations, their variances, and the open start.

With e(δ) = e₀ + E δ the innovations as a function of the open values δ at the start, and S their variances,

    −log L = ½ Σ (e²/s + log 2πs),      δ̂ = −(Eᵀ S⁻¹ E)⁻¹ Eᵀ S⁻¹ e₀,

"free" takes δ̂, the maximum of the likelihood; "diffuse" integrates over a flat prior of δ, which adds
½ log det Eᵀ S⁻¹ E (de Jong 1991). Values that no sample tells from the others are left out of both.

P. de Jong, The diffuse Kalman filter, Annals of Statistics 19 (1991) 1073–1083.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, final

import casadi as ca
import numpy as np

from daedal.errors import EstimationError, nearest
from daedal.experiments import Experiment
from daedal.filtering.evolution import Evolution, StochasticModel, make_stochastic_model
from daedal.filtering.filter import Filtered, filter_timeline, pass_columns
from daedal.filtering.open_values import OpenValues, find_open_values
from daedal.filtering.parameter_point import Point
from daedal.filtering.readings import Readings, count_orders, make_readings
from daedal.filtering.start import Start, StartPlan, plan_start
from daedal.kernels import Events, Innovations, Keep, pack, run_smoother
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

    def find_start(self, evolution: Evolution, point: Point) -> Start:
        """Where the state begins."""
        rows = [self.stochastic.rows.index(name) for name in (*self.plan.held, *self.plan.spare)]
        inputs = self.readings.list_start_inputs(self._count_orders(evolution, rows))
        return self.plan.find_start(self.stochastic, evolution, point, inputs)

    def count_orders(self, evolution: Evolution) -> int:
        """Of the input and its derivatives, how many act on the outputs at once."""
        return self._count_orders(evolution, self.rows)

    def _count_orders(self, evolution: Evolution, rows: Sequence[int]) -> int:
        return count_orders(self.stochastic, evolution, rows, self.readings.signals)

    def run(self, evolution: Evolution, point: Point, keep: Keep = Keep.MEANS) -> tuple[Filtered, Start]:
        """The filter over all events; its first column is driven by the data, the others by the open values."""
        start = self.find_start(evolution, point)
        columns = _stack_columns(start)
        measured = self.readings.measure(evolution, point, self.rows, self.count_orders(evolution))
        filtered = filter_timeline(evolution, self.readings.line, columns, start.spread, measured, keep)
        mine = self.readings.measuring
        e0, s = filtered.e.value[mine, 0], filtered.s.value[mine]
        if not ((s > 0.0).all() and np.isfinite(s).all() and np.isfinite(e0).all()):
            raise EstimationError(
                "The variance of a predicted sample is not positive or not finite there.",
                "Bound the parameters of the noise.",
            )
        return filtered, start

    def innovate(self, evolution: Evolution, point: Point) -> Innovated:
        """Innovations of all samples at a point."""
        filtered, _ = self.run(evolution, point)
        mine = self.readings.measuring
        e0, s = filtered.e[mine, 0], filtered.s[mine]
        E = self.find_shown(evolution, filtered)
        opened = find_open_values(e0.value, E.value, s.value)
        e = Dual(e0.value + E.value @ opened.best, e0.slopes + E.slopes @ opened.best) if opened.kept else e0
        return Innovated(e, s, E, opened, self._predict(evolution, filtered, opened.best))

    def is_sampled_as(self, other: "LinearExperiment") -> bool:
        """Whether the same happens at the same times, whatever the inputs and the numbers measured are."""
        mine, its = self.readings, other.readings
        if self is other or (self.plan.open, self.plan.held) != (other.plan.open, other.plan.held):
            return self is other
        pairs = (
            (mine.line.events.transition, its.line.events.transition),
            (mine.line.events.row, its.line.events.row),
            (mine.line.steps, its.line.steps),
            (mine.mixing, its.mixing),
        )
        return all(np.array_equal(one, another) for one, another in pairs)

    def show_open(self, evolution: Evolution, point: Point) -> Dual:
        """X (event, δ), what the open values do to the measurements themselves."""
        start = self.find_start(evolution, point)
        measured = self.readings.measure(evolution, point, self.rows, self.count_orders(evolution))
        return pass_columns(evolution, self.readings.line, _stack_columns(start), measured)[self.readings.measuring, 1:]

    def weigh_open(self, evolution: Evolution, point: Point) -> np.ndarray:
        """Ω⁻¹ X (event, δ), Ω the covariance of the measurements; by a smoother, going back from the last event."""
        filtered, _ = self.run(evolution, point, Keep.EVERYTHING)
        mine = self.readings.measuring
        q = smooth_innovations(self, evolution, filtered)[0]
        after = np.zeros_like(q[:, 1:])
        after[:-1] = q[1:, 1:]
        moved = np.append(filtered.transition[1:], -1) >= 0
        A = filtered.A[filtered.transition[np.flatnonzero(moved) + 1]]
        after[moved] = after[moved] @ A
        g, s = filtered.g[mine], filtered.s.value[mine]
        return -(filtered.e.value[mine, 1:] - np.einsum("kn,kcn->kc", g, after[mine])) / s[:, None]

    def find_shown(self, evolution: Evolution, filtered: Filtered) -> Dual:
        """What the open values do to the innovations (event, δ); zero for those that do nothing but rounding.

        An absolute angle that nothing measures drops out of every product with a row of C, but for the last digits.
        """
        mine = self.readings.measuring
        E = filtered.e[mine, 1:]
        if not E.value.shape[1]:
            return E
        rows = (np.abs(self.readings.mixing) @ np.abs(evolution.C.value[self.rows]))[
            self.readings.line.events.row[mine]
        ]
        natural = np.einsum("kn,kcn->kc", rows, np.abs(filtered.x[mine, 1:]))
        kept = np.linalg.norm(E.value, axis=0) > ROUNDING * np.linalg.norm(natural, axis=0)
        return Dual(np.where(kept, E.value, 0.0), np.where(kept, E.slopes, 0.0))

    def _predict(self, evolution: Evolution, filtered: Filtered, opened: np.ndarray) -> np.ndarray:
        """One step ahead, (sample time, output): before any sample of that time was used."""
        x = filtered.x[self.readings.first_events]
        state = x[:, 0] + np.einsum("kcn,c->kn", x[:, 1:], opened)
        direct = self.readings.compute_direct(evolution, self.rows, self.count_orders(evolution))
        return state @ evolution.C.value[self.rows].T + direct.value

    def look_ahead(
        self, evolution: Evolution, point: Point, steps: Sequence[int]
    ) -> tuple[dict[int, "Outlook"], "Outlook"]:
        """What the model says to the samples: so many sample times ahead, from those before; and without any."""
        filtered, start = self.run(evolution, point, Keep.EVERYTHING)
        mine = self.readings.measuring
        E, s = self.find_shown(evolution, filtered).value, filtered.s.value[mine]
        opened = find_open_values(filtered.e.value[mine, 0], E, s)
        ahead = {}
        for count, (x, P) in zip(steps, self._forget(filtered, steps), strict=True):
            ahead[count] = self._make_outlook(evolution, x, P, opened)
        line = self.readings.line
        silent = replace(
            line, events=Events(line.events.transition, np.full_like(line.events.row, -1), line.events.steady)
        )
        columns = Dual(np.vstack([start.mean.value, start.open.value.T]), np.zeros((0, *filtered.x.shape[1:])))
        measured = self.readings.measure(evolution, point, self.rows, self.count_orders(evolution))
        free = filter_timeline(evolution, silent, columns, start.spread, measured, Keep.EVERYTHING)
        events = self.readings.first_events
        return ahead, self._make_outlook(evolution, free.x[events], free.P[events], opened)

    def _forget(self, filtered: Filtered, steps: Sequence[int]) -> list[tuple[np.ndarray, np.ndarray]]:
        """x and P at the sample times, without the samples of the last k − 1 times before each.

        What the samples at one time changed, U in the mean and W in the covariance, moves on with Φ: forcing cancels,

            c_j(k) = U_j + Φ_j c_{j−1}(k − 1),   C_j(k) = W_j + Φ_j C_{j−1}(k − 1) Φ_jᵀ,   c(1) = 0,   C(1) = 0.
        """
        events = self.readings.first_events
        x, P = filtered.x[events], filtered.P[events]
        if max(steps, default=1) == 1:
            return [(x, P) for _ in steps]
        phi, U, W = self._sum_corrections(filtered)
        c, C, passed = np.zeros_like(x), np.zeros_like(P), {1: (x, P)}
        for k in range(2, max(steps) + 1):
            before, spread = (np.concatenate([np.zeros_like(one[:1]), one[:-1]]) for one in (c, C))
            c, C = U + before @ phi.swapaxes(1, 2), W + phi @ spread @ phi.swapaxes(1, 2)
            if k in steps:
                passed[k] = (x - c, P + C)
        return [passed[k] for k in steps]

    def _sum_corrections(self, filtered: Filtered) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Φ, U and W between each sample time and the one before it; U and W are zero at the first."""
        events, row = self.readings.first_events, self.readings.line.events.row
        _, columns, n = filtered.x.shape
        phi, U, W = np.zeros((events.size, n, n)), np.zeros((events.size, columns, n)), np.zeros((events.size, n, n))
        for j, (begin, end) in enumerate(pairwise(events.tolist()), start=1):
            move, change, spread = np.eye(n), np.zeros((columns, n)), np.zeros((n, n))
            for event in range(begin, end):
                if row[event] >= 0:
                    g, s = filtered.g[event], filtered.s.value[event]
                    change, spread = change + np.outer(filtered.e.value[event], g / s), spread + np.outer(g, g / s)
                if (number := filtered.transition[event + 1]) >= 0:
                    A = filtered.A[number]
                    move, change, spread = A @ move, change @ A.T, A @ spread @ A.T
            phi[j], U[j], W[j] = move, change, spread
        return phi, U, W

    def _make_outlook(self, evolution: Evolution, x: np.ndarray, P: np.ndarray, opened: OpenValues) -> "Outlook":
        """Mean and standard deviation of the outputs at the sample times, from those of the state."""
        C = evolution.C.value[self.rows]
        X = np.einsum("on,kcn->koc", C, x[:, 1:])
        direct = self.readings.compute_direct(evolution, self.rows, self.count_orders(evolution)).value
        variance = np.einsum("on,knm,om->ko", C, P, C) + np.einsum("koc,cd,kod->ko", X, opened.covariance, X)
        return Outlook(x[:, 0] @ C.T + X @ opened.best + direct, np.sqrt(np.maximum(variance, 0.0)))


def _stack_columns(start: Start) -> Dual:
    """Where the columns of the filter begin: (column, n), the mean and the open directions."""
    return Dual(
        np.vstack([start.mean.value, start.open.value.T]),
        np.concatenate([start.mean.slopes[:, None], start.open.slopes.swapaxes(1, 2)], axis=1),
    )


def smooth_innovations(
    experiment: LinearExperiment, evolution: Evolution, filtered: Filtered
) -> tuple[np.ndarray, np.ndarray]:
    """q (event, column, n) and M (event, n, n) of the smoother, after a filter that kept everything."""
    line = experiment.readings.line
    kept = Events(filtered.transition, line.events.row, line.events.steady)
    innovations = Innovations(pack(filtered.e.value), pack(filtered.s.value), filtered.x, filtered.P, filtered.g)
    h = experiment.readings.mixing @ evolution.C.value[experiment.rows]
    return run_smoother(kept, np.ascontiguousarray(filtered.A), np.ascontiguousarray(h), innovations)


@final
@dataclass(frozen=True, eq=False)
class Outlook:
    """Of the outputs without their measurement noise, (sample time, output)."""

    mean: np.ndarray
    std: np.ndarray


def compute_pseudo_inverse(information: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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


def name_row(name: str) -> str:
    """The key of the row of a variable; an output may have the same name and be something else."""
    return f"'{name}'"


def make_linear_experiments(
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
    held = initial.list_held(model)
    candidates = [name_row(name) for name in system.states]
    named = dict.fromkeys((*initial.list_names(model), *system.states, *wanted))
    rows = {name_row(name): intern_symbol(name) for name in named} | _find_delay_starts(model)
    stochastic = make_stochastic_model(model, verb, rows)
    lined_up = []
    for experiment, numbers in zip(experiments, values, strict=True):
        measured = make_readings(stochastic, experiment, queries, before)
        evolution = stochastic.at(Point(model, numbers, ()))
        plan = plan_start(stochastic, evolution, candidates, held, initial.list_deviations(model))
        if initial.open == "guess":
            plan = _hold_at_guess(stochastic, evolution, plan, held, initial)
        lined = LinearExperiment(stochastic, measured, plan)
        lined.count_orders(evolution)  # refuses inputs that are too rough
        lined_up.append(lined)
    return tuple(lined_up)


def _find_delay_starts(model: Model) -> dict[str, Expression]:
    """Delayed values of outputs begin as what they delay."""
    leaves = ca.vertcat(*(value.sx for value in model.outputs.values())) if model.outputs else ca.SX(0, 1)
    starts = {}
    for name in list_symbols(leaves):
        meaning = find_operator(name)
        if isinstance(meaning, Delayed):
            starts[name_row(f"start of {name}")] = intern_symbol(name) - meaning.operand
    return starts


def _hold_at_guess(
    stochastic: StochasticModel,
    evolution: Evolution,
    plan: StartPlan,
    held: Mapping[str, Any],
    initial: "InitialCondition",
) -> StartPlan:
    """What is open held at its guess, zero where there is none."""
    model = stochastic.model
    guesses = {name_row(name): value for name, value in model.guess.items()}
    both = {**held, **{row: guesses.get(row, 0.0) for row in plan.open}}
    return plan_start(stochastic, evolution, (), both, initial.list_deviations(model))


@final
@dataclass(frozen=True)
class InitialCondition:
    """What is known of the start: values that the model holds, their standard deviations, and what is open."""

    open: InitialState = "free"
    std: Mapping[str, float] | None = None
    released: bool = False  # whether what the model holds is open too

    def list_names(self, model: Model) -> tuple[str, ...]:
        """The variables that are held."""
        return () if self.released else tuple(model.initial)

    def list_held(self, model: Model) -> dict[str, Expression | float]:
        """Row → value at the start."""
        own = {name_row(name): model.initial[name] for name in self.list_names(model)}
        return {**own, **dict.fromkeys(_find_delay_starts(model), 0.0)}

    def list_deviations(self, model: Model) -> dict[str, float]:
        """Row → standard deviation of the value at the start."""
        given = self.std or {}
        for name in given:
            if name not in model.initial:
                raise EstimationError(
                    f"initial_std gives a standard deviation for '{name}', which model '{model.name}' does not hold at "
                    "the start.",
                    nearest(name, model.initial) if model.initial else "Hold it with initial={...} in the model.",
                )
        return {name_row(name): float(value) for name, value in given.items()}
