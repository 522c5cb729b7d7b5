"""Weighed lanes of a discrete model: moved by normals, compared with measurements, drawn anew; with α for the score."""

from copy import copy

import numpy as np

from daedal.errors import EstimationError
from daedal.filtering.nonlinear import DiscreteModel
from daedal.simulation import ACCEPTED

LOG_2PI = float(np.log(2.0 * np.pi))
ESCAPED = 1e100  # output of a lane that is no longer anywhere


class WeighedLanes:
    """All lanes of one pass; what they say of the last grid point is in `outputs` and `slopes`.

    Attributes
    ----------
    state, weights
        As the program has it (number, lane), and weights that add up to one (lane,).
    alpha
        (copy, direction, lane): slopes of log p(samples | path) by the free parameters, summed along each lane.
    point
        The grid point that they are at.
    loglik
        log L of what they were weighed by.
    outputs, slopes
        (output, lane) and (direction, output, lane).
    """

    def __init__(self, discrete: DiscreteModel, state: np.ndarray, copies: int) -> None:
        experiment, self.count = discrete.experiment, state.shape[1]
        self._discrete, self._data = discrete, experiment.measurements
        self._directions, self._measured = len(discrete.point.names), len(experiment.measurements.outputs)
        self._kernel = experiment.program.scan(discrete.directions)
        self._parameters = discrete.repeat_parameters(self.count)
        self._values = np.nan_to_num(experiment.measurements.values)
        self.state, self.weights = state, np.full(self.count, 1.0 / self.count)
        self.alpha = np.zeros((copies, self._directions, self.count))
        self.point, self.loglik = 0, -self._data.log_determinants
        self.outputs, self.slopes = np.zeros((0, 0)), np.zeros((0, 0, 0))

    @property
    def effective(self) -> float:
        """How many lanes count, 1/Σ W²."""
        return 1.0 / float(self.weights @ self.weights)

    def list_samples(self) -> list[np.ndarray]:
        """The measurements of each sample time."""
        ends = np.flatnonzero(np.diff(self._data.samples)) + 1
        return np.split(np.arange(self._data.samples.size), ends)

    def stay(self) -> None:
        """See the outputs where the lanes are, at the start: a step of no length, of a copy."""
        normals = np.zeros((1, self._discrete.experiment.program.sizes.normals, self.count))
        self._see(self._scan(self.state.copy(), _make_still_row(self._discrete), normals))

    def advance(self, point: int, normals: np.ndarray) -> None:
        """Move to a grid point by normals (step, number, lane), and see the outputs there."""
        out = self._scan(self.state, self._discrete.table[self.point : point], normals)
        self.point = point
        self._see(out)

    def _scan(self, state: np.ndarray, table: np.ndarray, normals: np.ndarray) -> np.ndarray:
        """Over some steps, state in place; what is seen after the last."""
        emit = np.full(len(table), -1, dtype=np.int64)
        emit[-1] = 0
        out = np.empty((1, self._kernel.observed, self.count))
        self._kernel.run(state, self._parameters, np.ascontiguousarray(table), normals, emit, out)
        return out[0]

    def _see(self, out: np.ndarray) -> None:
        """Read outputs and slopes; a lane that failed agrees with nothing that was measured."""
        wanted = len(self._discrete.experiment.program.outputs)
        slopes = out[wanted + 1 :].reshape(self._directions, wanted, self.count)[:, : self._measured]
        self.outputs, self.slopes = out[: self._measured], slopes
        failed = ~(out[wanted] <= ACCEPTED) | ~(np.abs(self.outputs).max(axis=0) < ESCAPED)  # or not a number
        if failed.any():
            self.outputs, self.slopes = np.where(failed, 0.0, self.outputs), np.where(failed, 0.0, slopes)
            self.multiply(np.where(failed, -np.inf, 0.0))

    def compare(self, one: int) -> tuple[np.ndarray, float]:
        """What a measurement says beyond the lanes, (lane,), and the variance of its noise."""
        data = self._data
        left = self._values[data.samples[one]][:, None] - self.outputs
        return data.mixing[data.rows[one]] @ left, float(self._discrete.variances.value[one])

    def compute_density(self, one: int) -> np.ndarray:
        """log p of a measurement, (lane,)."""
        e, v = self.compare(one)
        return -0.5 * (e * e / v + np.log(v) + LOG_2PI)

    def multiply(self, logarithms: np.ndarray) -> None:
        """The weights by factors, whose mean counts for L."""
        largest = float(np.max(logarithms[self.weights > 0.0]))
        relative = np.minimum(logarithms - largest, 0.0) if np.isfinite(largest) else np.full(self.count, -np.inf)
        weights = self.weights * np.exp(relative)
        whole = float(np.sum(weights))
        if not whole > 0.0:
            raise EstimationError(
                f"None of {self.count} particles agrees with the data at {self._time:g}, or could be simulated until "
                "then.",
                "Start from other values, or give bounds that keep the parameters where the model can be simulated.",
            )
        self.weights = weights / whole
        self.loglik += largest + float(np.log(whole))

    @property
    def _time(self) -> float:
        return float(self._discrete.experiment.grid.times[self.point])

    def add_score(self, one: int) -> None:
        """∂ log p of a measurement, to α of the lanes that count."""
        if not self._directions:
            return
        (e, v), row = self.compare(one), self._data.mixing[self._data.rows[one]]
        rates = self._discrete.variances.slopes[:, one]
        gain = np.tensordot(self.slopes, row, (1, 0)) * (e / v)
        if rates.any():
            gain += 0.5 * (e * e / v - 1.0) * (rates / v)[:, None]
        self.alpha += np.where(self.weights > 0.0, gain, 0.0)

    def branch(self) -> "WeighedLanes":
        """Lanes that go on from here on their own."""
        other = copy(self)
        other.state = self.state.copy()
        return other

    def draw_anew(self, rng: np.random.Generator) -> np.ndarray:
        """Systematic resampling; which lanes were drawn."""
        places = (np.arange(self.count) + rng.random()) / self.count
        chosen = np.minimum(np.searchsorted(np.cumsum(self.weights), places), self.count - 1)
        self.state = np.ascontiguousarray(self.state[:, chosen])
        self.alpha = self.alpha[:, :, chosen]
        self.weights = np.full(self.count, 1.0 / self.count)
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
