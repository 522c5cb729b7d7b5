"""The law of the state at some times, given samples: from one pass of the filter over an experiment.

With δ the open values at the start, estimated from the same samples,

    x = x₀ + X δ,   δ̂ = −A⁺ Eᵀ S⁻¹ e₀,   Cov x = V + X A⁺ Xᵀ,   A = Eᵀ S⁻¹ E.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from daedal.data import Dataset
from daedal.experiments import match_experiments
from daedal.filtering.evolution import Evolution
from daedal.filtering.experiment import (
    InitialCondition,
    compute_pseudo_inverse,
    make_linear_experiments,
    smooth_innovations,
)
from daedal.filtering.filter import Filtered
from daedal.filtering.parameter_point import Point
from daedal.kernels import Keep
from daedal.systems import System


@dataclass(frozen=True, eq=False)
class Law:
    """Of x at some times: mean (time, n), covariance (time, n, n); open directions X (time, n, δ), with A⁺ and which
    directions no sample shows, (time, δ, δ) or alike for all."""

    mean: np.ndarray
    covariance: np.ndarray
    opened: np.ndarray
    inverse: np.ndarray
    hidden: np.ndarray


class FilterPass:
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

    def filter(self, queries: np.ndarray) -> Law:
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

    def smooth(self, queries: np.ndarray) -> Law:
        """From all samples."""
        events = self.find_events(queries)
        q, M = smooth_innovations(self.experiment, self.evolution, self.filtered)
        P = self.filtered.P[events]
        x = self.filtered.x[events] + np.einsum("kij,kcj->kci", P, q[events])
        covariance = P - P @ M[events] @ P
        weighed = self.E / self.s[:, None]
        inverse, hidden = _compute_inverses((self.E.T @ weighed)[None])
        return self._make_law(x, covariance, inverse, hidden, -(weighed.T @ self.e0)[None])

    def _make_law(
        self, x: np.ndarray, covariance: np.ndarray, inverse: np.ndarray, hidden: np.ndarray, scores: np.ndarray
    ) -> Law:
        opened = np.einsum("kij,kj->ki", inverse, scores)
        X = x[:, 1:].swapaxes(1, 2)
        mean = x[:, 0] + np.einsum("kni,ki->kn", X, np.broadcast_to(opened, (len(x), opened.shape[1])))
        return Law(mean, covariance, X, inverse, hidden)


def _compute_inverses(information: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pseudo-inverses (…, δ, δ), and the directions that no sample shows as columns, the rest of them zero."""
    inverse, hidden = np.zeros_like(information), np.zeros_like(information)
    for k, matrix in enumerate(information):
        inverse[k], directions = compute_pseudo_inverse(matrix)
        hidden[k, :, : directions.shape[1]] = directions
    return inverse, hidden
