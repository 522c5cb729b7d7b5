"""The samples of one experiment as measurements of single numbers at grid points, each with a variance of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from daedal.experiments import Accuracies, Experiment
from daedal.filtering.nonlinear.time_grid import TimeGrid
from daedal.filtering.parameter_point import Point
from daedal.filtering.readings import check_declared, mix_rows, tabulate_samples
from daedal.kernels import Events
from daedal.linear import Dual


@final
@dataclass(frozen=True, eq=False)
class Measurements:
    """What was measured, in the order of time; outputs with correlated noise are mixed (`filtering.readings`).

    Attributes
    ----------
    outputs
        Measured outputs of the model, in its order.
    values, places
        Samples (sample time, output), NaN where there is none, and their places among the samples of their output.
    mixing, owners
        Rows of measurements (row, output), and the output that each row is a measurement of.
    points, rows, samples
        Of each measurement its grid point, its row, and its sample time.
    log_determinants
        Σ log det L over all sample times, for mixed outputs.
    noise
        Standard deviations of the samples of some outputs, as the data tell them.
    """

    accuracies: Accuracies
    outputs: tuple[str, ...]
    values: np.ndarray
    places: np.ndarray
    mixing: np.ndarray
    owners: np.ndarray
    points: np.ndarray
    rows: np.ndarray
    samples: np.ndarray
    log_determinants: float
    noise: Mapping[int, np.ndarray]

    @property
    def count(self) -> int:
        """Of the measurements."""
        return self.rows.size

    def compute_variances(self, point: Point) -> Dual:
        """Of every measurement, with slopes."""
        value, slopes = np.ones(self.count), np.zeros((len(point.names), self.count))
        for output, name in enumerate(self.outputs):
            mine = np.flatnonzero(self.owners[self.rows] == output)
            if not mine.size:
                continue
            told = output in self.noise
            deviation = self.noise[output] if told else self.accuracies.at(name, point.vector, np.zeros(0))
            if isinstance(deviation, np.ndarray):
                deviation = deviation[self.places[self.samples[mine], output]]
            variance = self.accuracies.square(name, point.vector, np.broadcast_to(deviation, mine.size))
            value[mine], slopes[:, mine] = variance[0], point.rates.T @ variance[1]
        return Dual(value, slopes)

    def compute_residuals(self, predicted: np.ndarray) -> np.ndarray:
        """What is measured beyond what is predicted (…, grid point, variable), outputs first: (…, measurement)."""
        left = np.nan_to_num(self.values[self.samples]) - predicted[..., self.points, : len(self.outputs)]
        return np.sum(self.mixing[self.rows] * left, axis=-1)

    def redraw(self, outputs: np.ndarray, noise: np.ndarray) -> "Measurements":
        """The same of another path, outputs (grid point, output), with this noise of every measurement."""
        values, count = self.values.copy(), len(self.outputs)
        taken, errors = np.zeros((2, len(values), len(self.mixing)))
        taken[self.samples, self.rows], errors[self.samples, self.rows] = 1.0, noise
        values[self.samples] = outputs[self.points, :count]
        patterns, alike = np.unique(taken > 0.0, axis=0, return_inverse=True)
        for number, rows in enumerate(patterns):
            mine = np.flatnonzero(alike.ravel() == number)
            values[mine] += errors[np.ix_(mine, np.flatnonzero(rows))] @ np.linalg.pinv(self.mixing[rows]).T
        return replace(self, values=np.where(np.isnan(self.values), np.nan, values))

    def cut(self, steps: int) -> "Measurements":
        """Those at the grid points that so many steps reach; Σ log det L remains that of all."""
        early = self.points <= steps
        return replace(self, points=self.points[early], rows=self.rows[early], samples=self.samples[early])

    def mix(self, slopes: np.ndarray) -> np.ndarray:
        """Derivatives (grid point, variable, …), outputs first, as those of the measurements (measurement, …)."""
        return np.einsum("mo,mo...->m...", self.mixing[self.rows], slopes[self.points, : len(self.outputs)])


@final
@dataclass(frozen=True, eq=False)
class EventLine:
    """What the Kalman filter does, event by event: step k is transition k, measurement m has row m.

    `transitions` (step,) is the event with each step, `measuring` (measurement,) that with each measurement; the first
    event is at the start.
    """

    events: Events
    transitions: np.ndarray
    measuring: np.ndarray


def make_event_line(measurements: Measurements, steps: int) -> EventLine:
    """Of every grid point its step, then its measurements one after the other."""
    often = np.bincount(measurements.points, minlength=steps + 1)
    counts = np.maximum(often, 1)
    first = np.cumsum(counts) - counts
    transition, row = (np.full(int(counts.sum()), -1, dtype=np.int64) for _ in range(2))
    transition[first[1:]] = np.arange(steps)
    begin = np.cumsum(often) - often
    measuring = first[measurements.points] + np.arange(measurements.count) - begin[measurements.points]
    row[measuring] = np.arange(measurements.count)
    return EventLine(Events(transition, row, np.full(row.size, -1, dtype=np.int64)), first[1:], measuring)


def make_measurements(experiment: Experiment, grid: TimeGrid) -> Measurements:
    """Line up the samples with the grid; undeclared accuracies are refused."""
    model = experiment.system.model
    check_declared(model, experiment)
    times, values, places = tabulate_samples(experiment)
    there = np.isfinite(values).any(axis=1)
    times, values, places = times[there], values[there], places[there]
    mixing, owners, sampled, determinants = mix_rows(experiment, times, values)
    listed = [(sample, row) for sample, (_, rows) in enumerate(sampled) for row in rows]
    samples, rows = np.array(listed, dtype=np.int64).reshape(-1, 2).T
    return Measurements(
        accuracies=Accuracies(model, factors=experiment.factors),
        outputs=experiment.outputs,
        values=values,
        places=places,
        mixing=mixing,
        owners=owners,
        points=grid.find_points(times)[samples],
        rows=np.ascontiguousarray(rows),
        samples=samples,
        log_determinants=determinants,
        noise={series.row: series.noise for series in experiment.series if series.noise is not None},
    )
