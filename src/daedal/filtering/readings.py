"""The samples of one experiment as measurements for the filter: which rows, which numbers, how accurate.

Outputs whose measurement noise is correlated are mixed by L⁻¹, LLᵀ their covariance, among those that are there at a
time, so that every measurement is one number with a variance of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from daedal.errors import EstimationError, counted, quoted
from daedal.experiments import (
    Accuracies,
    Experiment,
    check_count,
    check_covered,
    check_smooth,
    check_told,
    factor_covariance,
    find_correlated,
    find_declared_outputs,
    refuse_relative,
)
from daedal.filtering.evolution import Evolution, StochasticModel
from daedal.filtering.filter import Measured
from daedal.filtering.forcing import make_forcings
from daedal.filtering.parameter_point import Point
from daedal.filtering.timeline import Taken, Timeline, make_timeline
from daedal.linear import Dual, lift
from daedal.lti import Course
from daedal.models import Model


@dataclass(frozen=True, eq=False)
class Readings:
    """One experiment, lined up.

    Attributes
    ----------
    outputs
        Measured outputs of the model, in its order.
    values
        Samples (sample time, output), NaN where there is none.
    places
        Where each of them is among the samples of its output in the data, −1 where it is not.
    mixing
        Rows of measurements (row, output).
    owners
        The output that each row is a measurement of, given those that are mixed in, (row,).
    log_determinants
        Σ log det L over all sample times.
    noise
        The standard deviations of the samples of some outputs, by their place among `outputs`, as the data tell them.
    """

    accuracies: Accuracies
    outputs: tuple[str, ...]
    signals: tuple[Course, ...]
    line: Timeline
    values: np.ndarray
    places: np.ndarray
    mixing: np.ndarray
    owners: np.ndarray
    log_determinants: float
    unseen: tuple[str, ...]  # outputs with samples that cannot be used, and why
    noise: Mapping[int, np.ndarray]

    @cached_property
    def measuring(self) -> np.ndarray:
        """The events with a measurement."""
        return np.flatnonzero(self.line.events.row >= 0)

    @cached_property
    def first_events(self) -> np.ndarray:
        """The first event with a measurement of each sample time."""
        _, firsts = np.unique(self.line.sample_of[self.measuring], return_index=True)
        return self.measuring[firsts]

    @cached_property
    def event_outputs(self) -> np.ndarray:
        """Which output each measuring event belongs to."""
        return self.owners[self.line.events.row[self.measuring]]

    def compute_variances(self, point: Point) -> Dual:
        """Of every event, (event,)."""
        events, count = self.line.events.row.size, len(point.names)
        value, slopes = np.ones(events), np.zeros((count, events))
        for output, name in enumerate(self.outputs):
            mine = self.measuring[self.event_outputs == output]
            deviation = (
                self.noise[output] if output in self.noise else self.accuracies.at(name, point.vector, np.zeros(0))
            )
            if isinstance(deviation, np.ndarray):
                deviation = deviation[self.places[self.line.sample_of[mine], output]]
            variance = self.accuracies.square(name, point.vector, np.broadcast_to(deviation, mine.size))
            value[mine], slopes[:, mine] = variance[0], point.rates.T @ variance[1]
        return Dual(value, slopes)

    def measure(self, evolution: Evolution, point: Point, rows: Sequence[int], orders: int) -> Measured:
        """What the filter measures; `rows` are those of the outputs, `orders` how many D_l act on them."""
        count = len(point.names)
        mixing = lift(self.mixing, count)
        C = evolution.C[list(rows)]
        direct = self.compute_direct(evolution, rows, orders)
        known = np.isfinite(self.values)
        left = np.where(known, np.nan_to_num(self.values) - direct.value, 0.0)
        events = self.line.events.row.size
        value, slopes = np.zeros(events), np.zeros((count, events))
        measuring = self.measuring
        weights = self.mixing[self.line.events.row[measuring]]
        samples = self.line.sample_of[measuring]
        value[measuring] = np.sum(weights * left[samples], axis=1)
        if orders and count:
            slopes[:, measuring] = -np.sum(weights * (direct.slopes * known)[:, samples], axis=2)
        return Measured(mixing @ C, Dual(value, slopes), self.compute_variances(point))

    def compute_direct(
        self, evolution: Evolution, rows: Sequence[int], orders: int, places: np.ndarray | None = None
    ) -> Dual:
        """Σ D_l u⁽ˡ⁾ of some rows at break points, those of the samples by default, (place, row)."""
        size = self.line.sample_breaks.size if places is None else places.size
        total = lift(np.zeros((size, len(rows))), len(evolution.A.slopes))
        for order, D in enumerate(evolution.D[:orders]):
            u = self._recall_inputs(order) if places is None else self.line.read_inputs(self.signals, places, order)
            chosen = D[list(rows)]
            total = total + Dual(u @ chosen.value.T, u @ chosen.slopes.swapaxes(-1, -2))
        return total

    def _recall_inputs(self, order: int) -> np.ndarray:
        """A derivative of the inputs at the sample times, (sample time, input), made once."""
        if order not in self._inputs_by_order:
            self._inputs_by_order[order] = self.line.read_inputs(self.signals, self.line.sample_breaks, order)
        return self._inputs_by_order[order]

    @cached_property
    def _inputs_by_order(self) -> dict[int, np.ndarray]:
        return {}

    def list_start_inputs(self, orders: int) -> list[np.ndarray]:
        """u, u', … at the start, as far as they are needed."""
        first = np.zeros(1, dtype=np.int64)
        return [self.line.read_inputs(self.signals, first, order)[0] for order in range(orders)]


def make_readings(
    stochastic: StochasticModel, experiment: Experiment, queries: Sequence[float] = (), before: bool = False
) -> Readings:
    """The series of one experiment as measurements of a linear model."""
    model, drive, outputs = stochastic.model, experiment.drive, experiment.outputs
    check_declared(model, experiment)
    check_covered(drive.signals, drive.start, max(queries, default=drive.start), EstimationError)
    forcing = stochastic.form.forcing
    reached = np.append(drive.times, [time for time in queries if time > drive.end])
    signals = (
        *(drive.signals[name] for name in model.input_names),
        *make_forcings(forcing, drive.signals, drive.start, np.sort(reached), experiment.data.name),
    )
    taken = _find_taken(stochastic, outputs)
    times, values, places = tabulate_samples(experiment)
    unseen = _drop_early(times, values, outputs, taken, drive.start)
    there = np.isfinite(values).any(axis=1)
    if not there.any():
        raise EstimationError(
            f"All samples of the data '{experiment.data.name}' average over a time before t0.",
            "Give the data an earlier start t0, with the inputs from there on.",
        )
    times, values, places = times[there], values[there], places[there]
    mixing, owners, sampled, determinants = mix_rows(experiment, times, values)
    by_row = [
        Taken(tuple(int(k) for k in np.flatnonzero(mixing[:, list(delayed.outputs)].any(axis=1))), delayed.amount)
        for delayed in taken
    ]
    return Readings(
        accuracies=Accuracies(model, factors=experiment.factors),
        outputs=outputs,
        signals=signals,
        line=make_timeline(signals, drive.start, sampled, queries, by_row, before),
        values=values,
        places=places,
        mixing=mixing,
        owners=owners,
        log_determinants=determinants,
        unseen=unseen,
        noise={series.row: series.noise for series in experiment.series if series.noise is not None},
    )


def check_declared(model: Model, experiment: Experiment) -> None:
    refuse_relative(model, "a filter", "weighs samples before it knows what they should be")
    check_told(model, [experiment])
    declared = find_declared_outputs(model, [experiment.data])
    silent = [name for name in experiment.outputs if name not in declared]
    if silent:
        raise EstimationError(
            f"Model '{model.name}' does not say how accurately {quoted(silent)} {'is' if len(silent) == 1 else 'are'} "
            "measured.",
            f"Declare measurement_noise={{'{silent[0]}': ...}}: a number, or a parameter to estimate.",
        )
    for series in experiment.series:
        where = f" in the data '{experiment.data.name}'"
        if series.noise is None:
            check_count(model, series.output, series.times.size, EstimationError, where)


def _find_taken(stochastic: StochasticModel, outputs: Sequence[str]) -> list[Taken]:
    """The delayed values that outputs contain."""
    H = stochastic.form.matrices[-1]
    taken = []
    for delay in stochastic.form.delays:
        users = [k for k, name in enumerate(outputs) if _contains(H, stochastic.rows.index(name), delay.variable)]
        taken.append(Taken(tuple(users), delay.amount))
    return taken


def _contains(H: Any, row: int, column: int) -> bool:
    return bool(H.sparsity().has_nz(row, column))


def tabulate_samples(experiment: Experiment) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The sample times, the samples (time, output), and their places among those of their output.

    A time is there as often as the output that was read most often then.
    """
    distinct = experiment.drive.times
    nth = [np.arange(one.places.size) - np.searchsorted(one.places, one.places) for one in experiment.series]
    often = np.ones(distinct.size, dtype=int)
    for series, count in zip(experiment.series, nth, strict=True):
        np.maximum.at(often, series.places, count + 1)
    times, first = np.repeat(distinct, often), np.cumsum(often) - often
    values = np.full((times.size, len(experiment.outputs)), np.nan)
    places = np.full((times.size, len(experiment.outputs)), -1, dtype=int)
    for series, count in zip(experiment.series, nth, strict=True):
        values[first[series.places] + count, series.row] = series.values
        places[first[series.places] + count, series.row] = np.arange(series.times.size)
    return times, values, places


def _drop_early(
    times: np.ndarray,
    values: np.ndarray,
    outputs: Sequence[str],
    taken: Sequence[Taken],
    start: float,
) -> tuple[str, ...]:
    """Leave out averages over a time that begins before the start."""
    notes = []
    for delayed in taken:
        for k in delayed.outputs:
            early = times - delayed.amount < start - 1e-9 * delayed.amount
            lost = early & np.isfinite(values[:, k])
            if lost.any():
                values[lost, k] = np.nan
                notes.append(f"{counted(int(lost.sum()), 'sample')} of '{outputs[k]}' average over a time before t0")
    return tuple(notes)


def mix_rows(
    experiment: Experiment, times: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[tuple[float, list[int]]], float]:
    """Rows of measurements (row, output), their owners, which are measured at which time, and Σ log det L."""
    count = values.shape[1]
    groups = [
        ([series.row for series in group], covariance)
        for group, covariance in find_correlated(experiment.system.model, experiment)
    ]
    known = np.isfinite(values)
    alone = known.copy()
    alone[:, [row for members, _ in groups for row in members]] = False
    sampled = [np.flatnonzero(there).tolist() for there in alone]
    table, owners, determinants = np.eye(count), list(range(count)), 0.0
    for members, covariance in groups:
        for present, when, factor in factor_covariance(covariance, known[:, members].T):
            outputs = [members[k] for k in present]
            mixed = np.zeros((len(outputs), count))
            mixed[:, outputs] = np.linalg.inv(factor)
            for k in when:
                sampled[k] += range(len(table), len(table) + len(outputs))
            table, owners = np.concatenate([table, mixed]), owners + outputs
            determinants += when.size * float(np.sum(np.log(np.diag(factor))))
    return table, np.array(owners), list(zip(times.tolist(), sampled, strict=True)), determinants


def count_orders(
    stochastic: StochasticModel, evolution: Evolution, rows: Sequence[int], signals: Sequence[Course]
) -> int:
    """How many of u, u', … act at once on some rows; refused where an input has no such derivative."""
    orders = 0
    for order, D in enumerate(evolution.D):
        for row in rows:
            for k, name in enumerate(stochastic.form.inputs):
                if D.value[row, k] != 0.0:
                    reason = f"'{stochastic.rows[row]}' of model '{stochastic.model.name}' contains it"
                    check_smooth(name, signals[k], order, reason, EstimationError)
        if D.value[list(rows)].any() or D.slopes[:, list(rows)].any():  # zero here, and not beside
            orders = order + 1
    return orders
