"""`estimate_states`: what the samples say about any variable of a linear model, measured or not.

Filtered: from the samples up to that time; predicted: from those up to a horizon before it; smoothed: from all of them.
Mean and covariance of the state come from the filter and the smoother (`daedal.kernels.kalman`), variables are rows of
the standard form (Gerdin et al. 2006, theorem 5 and equation (19)), algebraic ones too. Open values δ at the start are
estimated from the same samples, and what is unknown of them is part of every standard deviation:

    x = x₀ + X δ,   δ̂ = −A⁺ Eᵀ S⁻¹ e₀,   Cov x = V + X A⁺ Xᵀ,   A = Eᵀ S⁻¹ E.

What depends on a direction of δ that no sample shows has an infinite standard deviation.

Reference: M. Gerdin, T. B. Schön, T. Glad, F. Gustafsson, L. Ljung, On parameter and state estimation for linear
differential-algebraic equations, 2006.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, Protocol, final, runtime_checkable

import numpy as np

from daedal.analysis import check_noise
from daedal.data import Dataset, FrozenMapping, frozen, increasing, short
from daedal.errors import DataError, EstimationError, as_float, counted, interruptible, is_one_of, look_up, nearest
from daedal.experiments import describe_absent, match_experiments
from daedal.filtering.evolution import Evolution
from daedal.filtering.experiment import (
    InitialCondition,
    compute_pseudo_inverse,
    make_linear_experiments,
    name_row,
)
from daedal.filtering.filter import Filtered, Measured, filter_timeline
from daedal.filtering.parameter_point import Point
from daedal.filtering.readings import count_orders
from daedal.filtering.timeline import make_timeline
from daedal.kernels import Events, Innovations, Keep, pack, run_smoother
from daedal.linear import lift, one_thread, van_loan
from daedal.models import Model, as_name
from daedal.symbolic import Expression, jet
from daedal.systems import System, build
from daedal.tables import align_columns

Kind = Literal["filtered", "smoothed", "predicted"]
HIDDEN = 1e-9  # of what a hidden direction does to a variable, relative to what it does to the state: rounding


@runtime_checkable
class Estimated(Protocol):
    """What is taken of a fit."""

    @property
    def model(self) -> Model: ...
    @property
    def data(self) -> tuple[Dataset, ...]: ...
    @property
    def criterion(self) -> Any: ...
    def values(self, experiment: int = 0) -> Mapping[str, float]: ...


@final
@dataclass(frozen=True, eq=False)
class StateEstimate:
    """Mean and standard deviation of variables over time; `estimate["x"]` is the mean of one.

    Attributes
    ----------
    times
        When, (time,).
    mean, std
        Variable → (time,); an infinite standard deviation where the samples say nothing.
    kind, horizon
        From which samples: "smoothed" from all, "filtered" from those up to each time, "predicted" from those up to a
        horizon before it (None: up to the sample before).
    """

    model: str
    kind: Kind
    horizon: float | None
    times: np.ndarray
    mean: Mapping[str, np.ndarray]
    std: Mapping[str, np.ndarray]
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> np.ndarray:
        return look_up(self.mean, name, EstimationError, f"The states of '{self.model}' have nothing called")

    def __iter__(self) -> Iterator[str]:
        return iter(self.mean)

    @property
    def variables(self) -> tuple[str, ...]:
        """What was estimated."""
        return tuple(self.mean)

    def __str__(self) -> str:
        ahead = f" {short(self.horizon)} ahead" if self.horizon else ""
        lines = [
            f"states of '{self.model}', {self.kind}{ahead}: {counted(self.times.size, 'time')} from "
            f"{short(float(self.times[0]))} to {short(float(self.times[-1]))}"
        ]
        rows = [["", "from", "to", "std median", "largest"]]
        for name, mean in self.mean.items():
            std = self.std[name]
            numbers = (mean.min(), mean.max(), np.median(std), std.max())
            rows.append([name, *(f"{number:.5g}" for number in numbers)])
        return "\n".join([*lines, *align_columns(rows), *(f"  {note}" for note in self.notes)])

    __repr__ = __str__


@interruptible
@one_thread
def estimate_states(
    model: Model | System | Estimated,
    data: Dataset,
    *,
    variables: Sequence[Any] | None = None,
    kind: Kind = "smoothed",
    horizon: float | None = None,
    times: Any = None,
) -> StateEstimate:
    """Estimate variables of a linear model from data: unknowns, algebraic ones too, outputs and disturbances, by name.

    Parameters count as known: what is uncertain of a fit is not part of the standard deviations.

    Parameters
    ----------
    model
        A Model or System, or a Fit, whose estimates are used.
    data
        A Dataset: one experiment.
    variables
        Names, or symbols; all unknowns by default.
    kind
        "smoothed" uses all samples, "filtered" those up to each time, "predicted" those before it.
    horizon
        With "predicted": how long before each time the last sample lies that is used, in the time unit of the data;
        by default the samples before that time.
    times
        When; by default at the samples.

    Examples
    --------
    >>> from daedal import Dataset, Model, WhiteNoise, der, symbols
    >>> x, v, w = symbols("x v w")
    >>> walk = Model(
    ...     name="walk", equations={"speed": der(x) == v, "push": der(v) == w}, unknowns=[x, v], outputs={"x": x},
    ...     disturbances={w: WhiteNoise(intensity=0.1)}, measurement_noise={"x": 0.1},
    ... )
    >>> data = Dataset([0.0, 1.0, 2.0, 3.0], outputs={"x": [0.0, 1.1, 1.9, 3.0]})
    >>> states = estimate_states(walk, data, variables=["v"])
    >>> states.mean["v"].round(1)
    array([1.1, 1. , 1. , 1.1])
    """
    system, values, condition = _read_subject(model, data)
    _check_arguments(data, kind, horizon)
    wanted, notes = _choose_rows(system.model, variables)
    notes = (*notes, *describe_absent(system.model, [data]))
    queries = _choose_times(data, times)
    point = Point(system.model, values, ())
    if kind == "predicted" and horizon:
        origins = np.maximum(queries - float(horizon), data.t0)
        run = _Run(system, data, point, condition, wanted, np.union1d(queries, origins), before=False)
        law = _move_ahead(run, point, origins, queries, float(horizon))
        return run.estimate(kind, float(horizon), queries, law, notes)
    before = kind == "predicted"
    run = _Run(system, data, point, condition, wanted, queries, before)
    law = run.smooth(queries) if kind == "smoothed" else run.filter(queries)
    return run.estimate(kind, None, queries, law, notes)


def _read_subject(model: Any, data: Any) -> tuple[System, Mapping[str, float], InitialCondition]:
    """The system, the values of its parameters, and what is known of the start."""
    if isinstance(model, Dataset) or isinstance(data, (Model, System)):
        raise EstimationError(
            "estimate_states takes the model or fit first and the data second.", "Exchange the two arguments."
        )
    if isinstance(model, (Model, System)):
        return (model if isinstance(model, System) else build(model)), {}, InitialCondition()
    # Asked for its attributes, an array of dates raises an error of its own.
    if isinstance(model, np.ndarray) or not isinstance(model, Estimated):
        raise EstimationError(
            f"estimate_states takes a Model or a Fit first, got {type(model).__name__}.", "Give what fit(...) returns."
        )
    system = build(model.model)
    for number, own in enumerate(model.data):
        if own is data or own == data:
            return system, model.values(number), model.criterion.condition or InitialCondition()
    # Other data begin elsewhere: what the model holds at its start says nothing about them.
    return system, {}, InitialCondition(released=True)


def _check_arguments(data: Any, kind: Any, horizon: Any) -> None:
    if not isinstance(data, Dataset):
        raise EstimationError(
            f"estimate_states takes one Dataset, got {type(data).__name__}.", "Call it for each experiment."
        )
    if not is_one_of(kind, ("filtered", "smoothed", "predicted")):
        raise EstimationError(
            f"The kind of a state estimate must be 'filtered', 'smoothed' or 'predicted', got {kind!r}.",
            "Write kind='smoothed'.",
        )
    if horizon is None:
        return
    if not isinstance(horizon, Real) or isinstance(horizon, bool) or not 0.0 < as_float(horizon) < np.inf:
        raise EstimationError(f"The horizon must be a positive time, got {horizon!r}.", "Write horizon=1.0.")
    if kind != "predicted":
        raise EstimationError(f"A horizon belongs to kind='predicted', got kind={kind!r}.", "Leave one of them out.")


def _choose_rows(model: Model, variables: Any) -> tuple[dict[str, str], tuple[str, ...]]:
    """Variable → key of its row, and what was left out: what has no finite variance, unless it was asked for."""
    if variables is None:
        verdict = check_noise(model, variables=list(model.unknown_names))
        rough = {finding.variable for finding in verdict.findings if finding.role != "output"}
        left = [name for name in model.unknown_names if name not in rough]
        note = (f"without finite variance, and left out: {', '.join(sorted(rough))}",) if rough else ()
        _refuse_ill_posed(model, [finding for finding in verdict.findings if finding.role == "output"])
        return {name: name_row(name) for name in left}, note
    if isinstance(variables, (str, Expression)) or not np.iterable(variables):
        example = str(variables) if isinstance(variables, (str, Expression)) else "x"
        raise EstimationError(
            f"The variables of estimate_states must be a list, got {variables!r}.", f"Write variables=['{example}']."
        )
    names = list(dict.fromkeys(str(as_name(variable)) for variable in variables))
    if not names:
        raise EstimationError("The list of variables is empty.", "Leave it out for all unknowns.")
    known = {**model.names, **dict.fromkeys(model.outputs, "output")}
    rows = {}
    for name in names:
        role = known.get(name, known.get(jet(name)[0]))
        if role is None or role == "parameter":
            what = "is a parameter" if role else "is nothing"
            raise EstimationError(
                f"'{name}' {what} of model '{model.name}' and has no course in time.",
                nearest(name, [other for other, role in known.items() if role != "parameter"]),
            )
        rows[name] = name if name in model.outputs else name_row(name)
    _refuse_ill_posed(model, check_noise(model, variables=_list_checkable(model, names)).findings)
    return rows, ()


def _list_checkable(model: Model, names: Sequence[str]) -> list[str] | None:
    """Those that are not outputs, which are checked in any case."""
    return [name for name in names if name not in model.outputs] or None


def _refuse_ill_posed(model: Model, findings: Sequence[Any]) -> None:
    if findings:
        first = findings[0]
        raise EstimationError(f"States of model '{model.name}' cannot be estimated: {first.sentence}", first.remedy)


def _choose_times(data: Dataset, times: Any) -> np.ndarray:
    if times is None:
        return data.sample_times
    try:
        asked = increasing(times)
    except DataError as error:
        raise EstimationError(f"The states cannot be estimated: {error.sentence}", error.remedy) from None
    if asked[0] < data.t0:
        raise EstimationError(
            f"States are asked for at {short(float(asked[0]))}, before the data begin at {short(data.t0)}.",
            "Ask for later times, or give the data an earlier start t0.",
        )
    return asked


@dataclass(frozen=True, eq=False)
class _Law:
    """Of x at some times: mean (time, n), covariance (time, n, n); open directions X (time, n, δ), with A⁺ and which
    directions no sample shows, (time, δ, δ) or alike for all."""

    mean: np.ndarray
    covariance: np.ndarray
    opened: np.ndarray
    inverse: np.ndarray
    hidden: np.ndarray


class _Run:
    """One pass of the filter over an experiment, with everything kept."""

    def __init__(
        self,
        system: System,
        data: Dataset,
        point: Point,
        condition: InitialCondition,
        wanted: Mapping[str, str],
        queries: np.ndarray,
        before: bool,
    ) -> None:
        numbers = {name: point.numbers[name] for name in system.model.parameters}
        extra = [name for name, row in wanted.items() if row != name]
        (self.experiment,) = make_linear_experiments(
            "estimate_states", match_experiments(system, [data]), [numbers], condition, extra, queries.tolist(), before
        )
        self.wanted = wanted
        self.evolution: Evolution = self.experiment.stochastic.at(point)
        self.filtered: Filtered = self.experiment.run(self.evolution, point, Keep.EVERYTHING)[0]
        readings = self.experiment.readings
        self.line, self.signals, self.measuring = readings.line, readings.signals, readings.measuring
        self.s, self.e0 = self.filtered.s.value[self.measuring], self.filtered.e.value[self.measuring, 0]
        self.E = self.experiment.find_shown(self.evolution, self.filtered).value
        self.before = before

    def find_events(self, queries: np.ndarray) -> np.ndarray:
        """The event at which each time is looked at: the last of that time without a measurement, or the first."""
        places = np.searchsorted(self.line.times, queries)
        silent = np.flatnonzero(self.line.events.row < 0)
        if self.before:
            return silent[np.searchsorted(self.line.break_of[silent], places)]
        return silent[np.searchsorted(self.line.break_of[silent], places, side="right") - 1]

    def filter(self, queries: np.ndarray) -> _Law:
        """From the samples up to each time."""
        events = self.find_events(queries)
        used = np.searchsorted(self.measuring, events)
        weighed = self.E / self.s[:, None]
        information = np.cumsum(np.einsum("ki,kj->kij", weighed, self.E), axis=0)
        scores = np.cumsum(-weighed * self.e0[:, None], axis=0)
        size = self.E.shape[1]
        information = np.concatenate([np.zeros((1, size, size)), information])[used]
        scores = np.concatenate([np.zeros((1, size)), scores])[used]
        inverse, hidden = _compute_inverses(information)
        return self._make_law(self.filtered.x[events], self.filtered.P[events], inverse, hidden, scores)

    def smooth(self, queries: np.ndarray) -> _Law:
        """From all samples."""
        events = self.find_events(queries)
        kept = Events(self.filtered.transition, self.line.events.row, self.line.events.steady)
        innovations = Innovations(
            pack(self.filtered.e.value), pack(self.filtered.s.value), self.filtered.x, self.filtered.P, self.filtered.g
        )
        h = self.experiment.readings.mixing @ self.evolution.C.value[self.experiment.rows]
        q, M = run_smoother(kept, np.ascontiguousarray(self.filtered.A), np.ascontiguousarray(h), innovations)
        P = self.filtered.P[events]
        x = self.filtered.x[events] + np.einsum("kij,kcj->kci", P, q[events])
        covariance = P - P @ M[events] @ P
        weighed = self.E / self.s[:, None]
        inverse, hidden = _compute_inverses((self.E.T @ weighed)[None])
        return self._make_law(x, covariance, inverse, hidden, -(weighed.T @ self.e0)[None])

    def _make_law(
        self, x: np.ndarray, covariance: np.ndarray, inverse: np.ndarray, hidden: np.ndarray, scores: np.ndarray
    ) -> _Law:
        opened = np.einsum("kij,kj->ki", inverse, scores)
        X = x[:, 1:].swapaxes(1, 2)
        mean = x[:, 0] + np.einsum("kni,ki->kn", X, np.broadcast_to(opened, (len(x), opened.shape[1])))
        return _Law(mean, covariance, X, inverse, hidden)

    def estimate(
        self, kind: Kind, horizon: float | None, queries: np.ndarray, law: _Law, notes: tuple[str, ...]
    ) -> StateEstimate:
        """Rows of the wanted variables."""
        stochastic = self.experiment.stochastic
        rows = [stochastic.rows.index(row) for row in self.wanted.values()]
        orders = count_orders(stochastic, self.evolution, rows, self.signals)
        places = np.searchsorted(self.line.times, queries)
        forced = self.experiment.readings.compute_direct(self.evolution, rows, orders, places).value
        C = self.evolution.C.value[rows]
        mean = law.mean @ C.T + forced
        turned = np.einsum("vn,kni->kvi", C, law.opened)
        variance = np.einsum("vn,knm,vm->kv", C, law.covariance, C)
        variance = variance + np.einsum("kvi,kij,kvj->kv", turned, law.inverse * np.ones((len(turned), 1, 1)), turned)
        std = np.where(_find_undetermined(C, law), np.inf, np.sqrt(np.maximum(variance, 0.0)))
        names = list(self.wanted)
        opened = self.experiment.plan.open
        said = (f"at the start {', '.join(opened)} {'is' if len(opened) == 1 else 'are'} estimated too",)
        return StateEstimate(
            model=stochastic.model.name,
            kind=kind,
            horizon=horizon,
            times=frozen(queries.copy()),
            mean=FrozenMapping({name: frozen(mean[:, k].copy()) for k, name in enumerate(names)}),
            std=FrozenMapping({name: frozen(std[:, k].copy()) for k, name in enumerate(names)}),
            notes=(*notes, *self.experiment.readings.unseen, *(said if opened else ())),
        )


def _find_undetermined(C: np.ndarray, law: _Law) -> np.ndarray:
    """Which rows move with a direction of the open values that no sample shows, by more than rounding, (time, row)."""
    if not law.hidden.any():
        return np.zeros((len(law.mean), len(C)), dtype=bool)
    X = law.opened @ law.hidden
    natural = np.linalg.norm(C, axis=1)[:, None] * np.linalg.norm(X, axis=1)[:, None]
    return (np.abs(C @ X) > HIDDEN * natural).any(axis=2)


def _compute_inverses(information: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pseudo-inverses (…, δ, δ), and the directions that no sample shows as columns, the rest of them zero."""
    inverse, hidden = np.zeros_like(information), np.zeros_like(information)
    for k, matrix in enumerate(information):
        inverse[k], directions = compute_pseudo_inverse(matrix)
        hidden[k, :, : directions.shape[1]] = directions
    return inverse, hidden


def _move_ahead(run: _Run, point: Point, origins: np.ndarray, queries: np.ndarray, horizon: float) -> _Law:
    """From the samples up to a horizon before each time: filtered there, and moved on without samples.

    With ξ the response to the inputs alone, x(t) = ξ(t) + e^{A(t − τ)} (x(τ) − ξ(τ)) + noise.
    """
    law = run.filter(origins)
    early = queries - horizon < origins - 1e-12 * np.maximum(1.0, np.abs(origins))
    law = _forget_samples(run, point, law, early)
    A, Q = van_loan(run.evolution.A.value, run.evolution.Q.value, queries - origins)
    response = _make_response(run, np.union1d(queries, origins))
    return _Law(
        mean=np.einsum("kij,kj->ki", A, law.mean - response(origins)) + response(queries),
        covariance=A @ law.covariance @ A.swapaxes(1, 2) + Q,
        opened=A @ law.opened,
        inverse=law.inverse,
        hidden=law.hidden,
    )


def _forget_samples(run: _Run, point: Point, law: _Law, early: np.ndarray) -> _Law:
    """Times less than a horizon after the start: nothing but what is known of the start."""
    if not early.any():
        return law
    start = run.experiment.find_start(run.evolution, point)
    size = start.open.value.shape[1]
    chosen = early[:, None, None]
    return _Law(
        mean=np.where(early[:, None], start.mean.value, law.mean),
        covariance=np.where(chosen, start.covariance.value, law.covariance),
        opened=np.where(chosen, start.open.value, law.opened),
        inverse=np.where(chosen, 0.0, law.inverse),
        hidden=np.where(chosen, np.eye(size), law.hidden),
    )


def _make_response(run: _Run, times: np.ndarray) -> Any:
    """The response of the state to the inputs from rest, as a function of the given times."""
    n = run.evolution.A.value.shape[0]
    line = make_timeline(run.signals, float(run.line.times[0]), (), times.tolist())
    events = line.events.row.size
    nothing = Measured(lift(np.zeros((0, n)), 0), lift(np.zeros(events), 0), lift(np.zeros(events), 0))
    still = lift(np.zeros((1, n)), 0), lift(np.zeros((n, n)), 0)
    filtered = filter_timeline(run.evolution, line, *still, nothing, Keep.MEANS)

    def response(asked: np.ndarray) -> np.ndarray:
        places = np.searchsorted(line.times, asked)
        last = np.searchsorted(line.break_of, places, side="right") - 1
        return filtered.x[last, 0]

    return response
