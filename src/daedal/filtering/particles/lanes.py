"""Weighed lanes of a discrete model: moved by normals, compared with measurements, drawn anew; with α for the score.

Independent runs go side by side, each with as many lanes: what is done in Python for each sample is done once for all.
Nothing goes from one run to another, and sums are over the lanes of one run: each has the same bits as alone.
"""

from collections.abc import Sequence

import numpy as np

from daedal.errors import EstimationError
from daedal.filtering.nonlinear import DiscreteModel
from daedal.simulation import ACCEPTED

LOG_2PI = float(np.log(2.0 * np.pi))
ESCAPED = 1e100  # output of a lane that is no longer anywhere


class WeighedLanes:
    """All lanes of some runs; what they say of the last grid point is in `outputs` and `slopes`.

    Attributes
    ----------
    state, weights
        As the program has it (number, lane of all runs), and weights that add up to one in each run (run, lane).
    score, apart
        Slopes of log p(samples | path) by the free parameters, summed along each lane: α = score + apart, with
        (run, copy, direction) and (run, copy, direction, lane); `center` moves the mean from one to the other.
    point
        The grid point that they are at.
    loglik
        log L of what they were weighed by (run,).
    outputs, slopes
        (output, run, lane) and (direction, output, run, lane).
    """

    def __init__(self, discrete: DiscreteModel, state: np.ndarray, runs: int, copies: int) -> None:
        experiment, self.runs, self.count = discrete.experiment, runs, state.shape[1] // runs
        self._discrete, self._data = discrete, experiment.measurements
        self._directions, self._measured = len(discrete.point.names), len(experiment.measurements.outputs)
        self._kernel = experiment.program.scan(discrete.directions)
        self._parameters = discrete.repeat_parameters(state.shape[1])
        self._values = np.nan_to_num(experiment.measurements.values)
        self.state, self.weights = state, np.full((runs, self.count), 1.0 / self.count)
        self.score = np.zeros((runs, copies, self._directions))
        self.apart = np.zeros((runs, copies, self._directions, self.count))
        self.point, self.loglik = 0, np.full(runs, -self._data.log_determinants)
        self.outputs, self.slopes = np.zeros((0, runs, self.count)), np.zeros((0, 0, runs, self.count))

    @property
    def effective(self) -> np.ndarray:
        """How many lanes count, 1/Σ W², (run,)."""
        return 1.0 / np.sum(self.weights * self.weights, axis=1)

    @property
    def normals(self) -> int:
        """How many move a lane in a step."""
        return self._discrete.experiment.program.sizes.normals

    def list_samples(self) -> list[np.ndarray]:
        """The measurements of each sample time."""
        ends = np.flatnonzero(np.diff(self._data.samples)) + 1
        return np.split(np.arange(self._data.samples.size), ends)

    def stay(self) -> None:
        """See the outputs where the lanes are, at the start: a step of no length, of a copy."""
        normals = np.zeros((1, self.normals, self.state.shape[1]))
        self._see(self._scan(self.state.copy(), _make_still_row(self._discrete), normals, [0])[0])

    def advance(self, point: int, normals: np.ndarray) -> None:
        """Move to a grid point by normals (step, number, lane of all runs), and see the outputs there."""
        out = self._scan(self.state, self._discrete.table[self.point : point], normals, [point - self.point - 1])
        self.point = point
        self._see(out[0])

    def foresee(self, points: Sequence[int], normals: np.ndarray) -> np.ndarray:
        """Outputs at later grid points (point, output, run, lane), as normals would move lanes there, which stay.

        Those of a lane that fails on the way are not numbers from there on.
        """
        table = self._discrete.table[self.point : points[-1]]
        out = self._scan(self.state.copy(), table, normals, [point - self.point - 1 for point in points])
        wanted = len(self._discrete.experiment.program.outputs)
        y = np.where(out[:, [wanted]] <= ACCEPTED, out[:, : self._measured], np.nan)
        return y.reshape(len(points), self._measured, self.runs, self.count)

    def _scan(self, state: np.ndarray, table: np.ndarray, normals: np.ndarray, seen: Sequence[int]) -> np.ndarray:
        """Over some steps, state in place; what is seen after some of them, (number, observed, lane of all runs)."""
        emit = np.full(len(table), -1, dtype=np.int64)
        emit[list(seen)] = np.arange(len(seen))
        out = np.empty((len(seen), self._kernel.observed, state.shape[1]))
        self._kernel.run(state, self._parameters, np.ascontiguousarray(table), normals, emit, out)
        return out

    def _see(self, out: np.ndarray) -> None:
        """Read outputs and slopes; a lane that failed agrees with nothing that was measured."""
        wanted, lanes = len(self._discrete.experiment.program.outputs), (self.runs, self.count)
        slopes = out[wanted + 1 :].reshape(self._directions, wanted, *lanes)[:, : self._measured]
        self.outputs, self.slopes = out[: self._measured].reshape(self._measured, *lanes), slopes
        failed = ~(out[wanted] <= ACCEPTED) | ~(np.abs(out[: self._measured]).max(axis=0) < ESCAPED)  # or not a number
        if failed.any():
            failed = failed.reshape(lanes)
            self.outputs, self.slopes = np.where(failed, 0.0, self.outputs), np.where(failed, 0.0, slopes)
            self.multiply(np.where(failed, -np.inf, 0.0))

    def summarize(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of values (…, run, lane), (…, run)."""
        mean = np.sum(values * self.weights, axis=-1)
        return mean, np.sqrt(np.sum((values - mean[..., None]) ** 2 * self.weights, axis=-1))

    def compare(self, one: int) -> tuple[np.ndarray, float]:
        """What a measurement says beyond the lanes, (run, lane), and the variance of its noise."""
        data = self._data
        values, row = self._values[data.samples[one]], data.mixing[data.rows[one]]
        left = sum(row[output] * (values[output] - self.outputs[output]) for output in np.flatnonzero(row))
        return np.asarray(left), float(self._discrete.variances.value[one])

    def compute_density(self, one: int) -> np.ndarray:
        """log p of a measurement, (run, lane)."""
        e, v = self.compare(one)
        return (-0.5 / v) * (e * e) - 0.5 * (np.log(v) + LOG_2PI)

    def multiply(self, logarithms: np.ndarray) -> None:
        """The weights by factors (run, lane), whose mean counts for L."""
        largest = np.max(np.where(self.weights > 0.0, logarithms, -np.inf), axis=1, keepdims=True)
        finite = np.isfinite(largest)
        relative = np.minimum(logarithms - np.where(finite, largest, 0.0), 0.0)
        weights = self.weights * np.where(finite, np.exp(relative), 0.0)
        whole = np.sum(weights, axis=1)
        if not np.all(whole > 0.0):
            raise EstimationError(
                f"None of {self.count} particles agrees with the data at {self._time:g}, or could be simulated until "
                "then.",
                "Start from other values, or give bounds that keep the parameters where the model can be simulated.",
            )
        self.weights = weights / whole[:, None]
        self.loglik = self.loglik + largest[:, 0] + np.log(whole)

    @property
    def _time(self) -> float:
        return float(self._discrete.experiment.grid.times[self.point])

    def add_score(self, one: int) -> None:
        """∂ log p of a measurement, to α of the lanes that count."""
        if not self._directions:
            return
        (e, v), row = self.compare(one), self._data.mixing[self._data.rows[one]]
        rates = self._discrete.variances.slopes[:, one]
        gain = np.asarray(sum(row[output] * self.slopes[:, output] for output in np.flatnonzero(row))) * (e / v)
        if rates.any():
            gain += 0.5 * (e * e / v - 1.0) * (rates / v)[:, None, None]
        self.apart += np.where(self.weights > 0.0, gain, 0.0).swapaxes(0, 1)[:, None]

    def center(self, factors: np.ndarray) -> np.ndarray:
        """The mean of α (run, copy, direction), which becomes `score`; what lanes have apart shrinks by factors."""
        if not self._directions:
            return self.score
        runs, copies, directions, count = self.apart.shape
        rows = self.apart.reshape(runs, copies * directions, count)
        mean = (rows @ self.weights[:, :, None]).reshape(runs, copies, directions)
        self.score = self.score + mean
        self.apart -= mean[:, :, :, None]
        self.apart *= factors[:, None, None]
        return self.score

    def draw_anew(self, run: int, place: float) -> np.ndarray:
        """Systematic resampling of one run, the grid beginning at a uniform number; which lanes were drawn."""
        places = (np.arange(self.count) + place) / self.count
        chosen = np.minimum(np.searchsorted(np.cumsum(self.weights[run]), places), self.count - 1)
        mine = slice(run * self.count, (run + 1) * self.count)
        self.state[:, mine] = self.state[:, mine][:, chosen]
        self.apart[run] = self.apart[run][:, :, chosen]
        self.weights[run] = 1.0 / self.count
        return chosen


def _make_still_row(discrete: DiscreteModel) -> np.ndarray:
    """A table of one step without length, which moves nothing and sees the outputs at the start."""
    sizes, rows = discrete.experiment.program.sizes, discrete.noise.rows
    tables = []
    for matrix, first, unit in [
        (rows.value, discrete.first_row[: sizes.inputs], np.eye(sizes.filters)),
        *((slope, np.zeros(0), np.zeros((sizes.filters,) * 2)) for slope in rows.slopes),
    ]:
        at_nodes = np.tile(matrix, (sizes.nodes, 1))
        blocks = (unit, np.zeros(sizes.noise_shapes[1]), at_nodes, np.zeros(sizes.noise_shapes[3]), matrix)
        tables.append(np.concatenate([first, *(block.ravel() for block in blocks)]))
    return np.concatenate(tables if discrete.directions.moves_noise else tables[:1])[None]
