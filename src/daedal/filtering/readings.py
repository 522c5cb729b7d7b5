"""The samples of one experiment as measurements for the filter: which rows, which numbers, how accurate.

Outputs whose measurement noise is correlated are mixed by L⁻¹, LLᵀ their covariance, among those that are there at a
time, so that every measurement is one number with a variance of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from daedal.data import Dataset, Signal
from daedal.errors import EstimationError, counted, nearest, quoted
from daedal.filtering.evolution import Evolution, StochasticModel
from daedal.filtering.filter import Measured
from daedal.filtering.formulas import DualFormulas, Point
from daedal.filtering.timeline import Taken, Timeline, input_signals, timeline
from daedal.linear import Dual, constant
from daedal.models import Model
from daedal.symbolic import Expression


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
    """

    model: Model
    data: Dataset
    outputs: tuple[str, ...]
    signals: tuple[Signal, ...]
    line: Timeline
    values: np.ndarray
    places: np.ndarray
    mixing: np.ndarray
    owners: np.ndarray
    log_determinants: float
    unseen: tuple[str, ...]  # outputs with samples that cannot be used, and why

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

    @cached_property
    def _formulas(self) -> DualFormulas:
        """Standard deviations that are one number, by output; those given sample by sample are added later."""
        noise = self.model.measurement_noise
        return DualFormulas(self.model, [_one(noise.get(name)) for name in self.outputs])

    def variances(self, point: Point) -> Dual:
        """Of every event, (event,)."""
        deviation = self._formulas.at(point)
        events, count = self.line.events.row.size, len(point.names)
        value, slopes = np.ones(events), np.zeros((count, events))
        for output, name in enumerate(self.outputs):
            declared = self.model.measurement_noise.get(name)
            mine = self.measuring[self.event_outputs == output]
            if isinstance(declared, np.ndarray):
                value[mine] = declared[self.places[self.line.sample_of[mine], output]] ** 2
            elif declared is not None:
                sigma, rates = float(deviation.value[output]), deviation.slopes[:, output]
                _check_deviation(name, declared, sigma)
                value[mine] = sigma * sigma
                slopes[:, mine] = (2.0 * sigma * rates)[:, None]
        return Dual(value, slopes)

    def measured(self, evolution: Evolution, point: Point, rows: Sequence[int], orders: int) -> Measured:
        """What the filter measures; `rows` are those of the outputs, `orders` how many D_l act on them."""
        count = len(point.names)
        mixing = constant(self.mixing, count)
        C = evolution.C[list(rows)]
        direct = self.direct(evolution, rows, orders)
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
        return Measured(mixing @ C, Dual(value, slopes), self.variances(point))

    def direct(self, evolution: Evolution, rows: Sequence[int], orders: int) -> Dual:
        """Σ D_l u⁽ˡ⁾ at the sample times, (sample time, output)."""
        total = constant(np.zeros((self.line.sample_breaks.size, len(rows))), len(evolution.A.slopes))
        for order, D in enumerate(evolution.D[:orders]):
            chosen, u = D[list(rows)], self._inputs(order)
            total = total + Dual(u @ chosen.value.T, u @ chosen.slopes.swapaxes(-1, -2))
        return total

    def _inputs(self, order: int) -> np.ndarray:
        """A derivative of the inputs at the sample times, (sample time, input), made once."""
        if order not in self._made:
            self._made[order] = self.line.derivatives(self.signals, self.line.sample_breaks, order)
        return self._made[order]

    @cached_property
    def _made(self) -> dict[int, np.ndarray]:
        return {}

    def at_start(self, orders: int) -> list[np.ndarray]:
        """u, u', … at the start, as far as they are needed."""
        first = np.zeros(1, dtype=np.int64)
        return [self.line.derivatives(self.signals, first, order)[0] for order in range(orders)]


def forced_rows(
    evolution: Evolution,
    line: Timeline,
    signals: Sequence[Signal],
    rows: Sequence[int],
    places: np.ndarray,
    orders: int,
) -> Dual:
    """Σ_l D_l u⁽ˡ⁾ of some rows at break points, (place, row)."""
    total = constant(np.zeros((places.size, len(rows))), len(evolution.A.slopes))
    for order, D in enumerate(evolution.D[:orders]):
        u = line.derivatives(signals, places, order)
        chosen = D[list(rows)]
        total = total + Dual(u @ chosen.value.T, u @ chosen.slopes.swapaxes(-1, -2))
    return total


def _one(declared: Any) -> Expression | float:
    """A standard deviation that holds for all samples; one where there is none of that kind."""
    return declared if isinstance(declared, (Expression, float, int)) else 1.0


def _check_deviation(output: str, declared: Any, sigma: float) -> None:
    if not 0.0 < sigma < np.inf:
        shown = f", {declared}," if isinstance(declared, Expression) else ""
        raise EstimationError(
            f"The measurement noise of '{output}'{shown} is {sigma:g} but must be positive.",
            "Bound its parameters from below, or use scale='log'.",
        )


def readings(
    verb: str, stochastic: StochasticModel, data: Dataset, queries: Sequence[float] = (), before: bool = False
) -> Readings:
    """Line up the data of one experiment with a model."""
    model = stochastic.model
    outputs = tuple(name for name in model.outputs if name in data.outputs)
    if not outputs:
        raise EstimationError(
            f"The data '{data.name}' have no output of model '{model.name}'.",
            nearest(next(iter(data.outputs), ""), model.outputs),
        )
    _check_declared(model, outputs, data)
    signals = input_signals(verb, model, data)
    taken = _taken(stochastic, outputs)
    start = float(data.t0)
    times, values, places = _table(data, outputs)
    unseen = _drop_early(times, values, outputs, taken, start)
    if not np.isfinite(values).any():
        raise EstimationError(
            f"All samples of the data '{data.name}' that could be used are missing (NaN).",
            "Check how the file was read.",
        )
    there = np.isfinite(values).any(axis=1)
    times, values, places = times[there], values[there], places[there]
    mixing, owners, sampled, determinants = _rows(model, outputs, times, values)
    by_row = [
        Taken(tuple(int(k) for k in np.flatnonzero(mixing[:, list(each.outputs)].any(axis=1))), each.amount)
        for each in taken
    ]
    return Readings(
        model=model,
        data=data,
        outputs=outputs,
        signals=signals,
        line=timeline(signals, start, sampled, queries, by_row, before),
        values=values,
        places=places,
        mixing=mixing,
        owners=owners,
        log_determinants=determinants,
        unseen=unseen,
    )


def _check_declared(model: Model, outputs: Sequence[str], data: Dataset) -> None:
    grouped = {name for key in model.measurement_noise if isinstance(key, tuple) for name in key}
    silent = [name for name in outputs if name not in model.measurement_noise and name not in grouped]
    if silent:
        raise EstimationError(
            f"Model '{model.name}' does not say how accurately {quoted(silent)} {'is' if len(silent) == 1 else 'are'} "
            "measured.",
            f"Declare measurement_noise={{'{silent[0]}': ...}}: a number, or a parameter to estimate.",
        )
    for name in outputs:
        declared = model.measurement_noise.get(name)
        if isinstance(declared, np.ndarray) and declared.size != data.outputs[name].times.size:
            raise EstimationError(
                f"The measurement noise of '{name}' has {declared.size} values for "
                f"{counted(data.outputs[name].times.size, 'sample')} in the data '{data.name}'.",
                "Give one standard deviation per sample, or a single one.",
            )
        if isinstance(declared, np.ndarray) and not (declared > 0.0).all():
            raise EstimationError(
                f"The measurement noise of '{name}' must be positive, got {float(declared.min()):g}.",
                "Give positive standard deviations.",
            )


def _taken(stochastic: StochasticModel, outputs: Sequence[str]) -> list[Taken]:
    """The delayed values that outputs contain."""
    H = stochastic.form.matrices[-1]
    found = []
    for each in stochastic.form.delays:
        users = [k for k, name in enumerate(outputs) if _contains(H, stochastic.rows.index(name), each.variable)]
        found.append(Taken(tuple(users), each.amount))
    return found


def _contains(H: Any, row: int, column: int) -> bool:
    return bool(H.sparsity().has_nz(row, column))


def _table(data: Dataset, outputs: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times at which anything is sampled, the samples (time, output), and their places in the data."""
    times = np.unique(np.concatenate([data.outputs[name].times for name in outputs]))
    values = np.full((times.size, len(outputs)), np.nan)
    places = np.full((times.size, len(outputs)), -1, dtype=int)
    for k, name in enumerate(outputs):
        samples = data.outputs[name]
        rows = np.searchsorted(times, samples.times)
        values[rows, k], places[rows, k] = samples.values, np.arange(samples.times.size)
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
    for each in taken:
        for k in each.outputs:
            early = times - each.amount < start - 1e-9 * each.amount
            lost = early & np.isfinite(values[:, k])
            if lost.any():
                values[lost, k] = np.nan
                notes.append(f"{counted(int(lost.sum()), 'sample')} of '{outputs[k]}' average over a time before t0")
    return tuple(notes)


def _rows(
    model: Model, outputs: Sequence[str], times: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, dict[float, list[int]], float]:
    """Rows of measurements (row, output), their owners, which are measured at which time, and Σ log det L."""
    table = list(np.eye(len(outputs)))
    owners = list(range(len(outputs)))
    known = np.isfinite(values)
    groups: list[tuple[list[int], np.ndarray]] = []
    for key, matrix in model.measurement_noise.items():
        if isinstance(key, tuple):
            members = [name for name in key if name in outputs]
            order = [key.index(name) for name in members]
            if members:
                groups.append(([outputs.index(n) for n in members], np.asarray(matrix, float)[np.ix_(order, order)]))
    grouped = {k for members, _ in groups for k in members}
    patterns: dict[tuple[int, tuple[int, ...]], tuple[list[int], float]] = {}
    sampled: dict[float, list[int]] = {}
    determinants = 0.0
    for time, there in zip(times.tolist(), known, strict=True):
        rows = [k for k in np.flatnonzero(there).tolist() if k not in grouped]
        for number, (members, covariance) in enumerate(groups):
            present = tuple(k for k in members if there[k])
            if not present:
                continue
            if (number, present) not in patterns:
                patterns[number, present] = _mixed(table, members, present, covariance)
                owners += present
            made, determinant = patterns[number, present]
            rows += made
            determinants += determinant
        sampled[time] = rows
    return np.array(table), np.array(owners), sampled, determinants


def _mixed(
    table: list[np.ndarray], members: Sequence[int], present: Sequence[int], covariance: np.ndarray
) -> tuple[list[int], float]:
    """Add rows L⁻¹ for the members that are there; their numbers, and log det L."""
    places = [list(members).index(k) for k in present]
    factor = np.linalg.cholesky(covariance[np.ix_(places, places)])
    inverse = np.linalg.inv(factor)
    numbers = []
    for weights in inverse:
        row = np.zeros(len(table[0]))
        row[list(present)] = weights
        numbers.append(len(table))
        table.append(row)
    return numbers, float(np.sum(np.log(np.diag(factor))))


def needed_orders(
    stochastic: StochasticModel, evolution: Evolution, rows: Sequence[int], signals: Mapping[str, Signal]
) -> int:
    """How many of u, u', … act at once on some rows; refused where an input has no such derivative."""
    orders = 0
    for order, D in enumerate(evolution.D):
        for row in rows:
            for k, name in enumerate(stochastic.model.input_names):
                if D.value[row, k] != 0.0 and signals[name].derivatives < order:
                    raise _too_rough(stochastic, stochastic.rows[row], name, order, signals[name])
        if D.value[list(rows)].any() or D.slopes[:, list(rows)].any():  # zero here, and not beside
            orders = order + 1
    return orders


def _too_rough(stochastic: StochasticModel, row: str, name: str, order: int, signal: Signal) -> EstimationError:
    able = '"foh" or "spline"' if order == 1 else '"spline"'
    return EstimationError(
        f"'{row}' of model '{stochastic.model.name}' contains the {_ordinal(order)} derivative of input '{name}', "
        f'which with intersample="{signal.intersample}" has none.',
        f"Give the input as Signal(..., intersample={able}), or measure something smoother."
        if order <= 3
        else "Measure something smoother.",
    )


def _ordinal(order: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(order, f"{order}th")
