"""The linear map W from raw residuals to those whose squares are summed, and its transpose.

W divides by standard deviations, makes correlated outputs independent, and filters each series by an autoregression of
its residual where that is asked for. It acts on rows (row, time) of each series of an experiment alike: residuals,
sensitivities, means of groups of realizations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np

from daedal.errors import EstimationError, is_real, show
from daedal.estimation.problem.autoregression import Autoregression
from daedal.experiments import Accuracies, Experiment, Series, find_correlated, separate_outputs

SMALLEST = 1e-24  # variance of residuals, in squared units of their accuracy, that data without noise leave
Rows = list[np.ndarray]  # one (row, time) for each series of an experiment


@dataclass(frozen=True, eq=False)
class Weighing:
    """Accuracies of all series, and filters by output name (none: not whitened)."""

    accuracies: Accuracies
    filters: Mapping[str, Autoregression] = field(default_factory=dict)

    def apply(
        self,
        experiment: Experiment,
        values: Mapping[str, float],
        rows: Sequence[np.ndarray],
        means: Sequence[np.ndarray],
    ) -> Rows:
        """W rows; NaN where a sample is not scored. `means` are what is predicted, which W may depend on."""
        scaled = self._scale(experiment, values, rows, means)
        mixed = self._mix(experiment, scaled, transposed=False)
        return [
            self._filter(series).whiten(row) / self._find_size(series) if series.output in self.filters else row
            for series, row in zip(experiment.series, mixed, strict=True)
        ]

    def transpose(
        self,
        experiment: Experiment,
        values: Mapping[str, float],
        rows: Sequence[np.ndarray],
        means: Sequence[np.ndarray],
    ) -> Rows:
        """Wᵀ rows; what is not scored counts as zero on both sides."""
        known = [np.nan_to_num(row) for row in rows]
        back = [self.unfilter(series, row) for series, row in zip(experiment.series, known, strict=True)]
        mixed = self._mix(experiment, back, transposed=True)
        return [np.nan_to_num(row) for row in self._scale(experiment, values, mixed, means)]

    def unfilter(self, series: Series, row: np.ndarray) -> np.ndarray:
        """The transpose of the filter alone: as weights of residuals in units of their accuracy."""
        if series.output not in self.filters:
            return row
        return self._filter(series).adjoint(row / self._find_size(series), np.isfinite(series.values))

    def _filter(self, series: Series) -> Autoregression:
        return self.filters[series.output]

    def _find_size(self, series: Series) -> float:
        """The standard deviation of what the filter leaves: outputs count by that, once they are whitened."""
        return float(np.sqrt(max(self._filter(series).variance, SMALLEST)))

    def _scale(
        self,
        experiment: Experiment,
        values: Mapping[str, float],
        rows: Sequence[np.ndarray],
        means: Sequence[np.ndarray],
    ) -> Rows:
        triples = zip(experiment.series, rows, means, strict=True)
        return [row / self.accuracies.deviation(series, values, mean) for series, row, mean in triples]

    def _mix(self, experiment: Experiment, rows: Rows, *, transposed: bool) -> Rows:
        result = list(rows)
        for group, covariance in find_correlated(self.accuracies.model, experiment):
            places = [experiment.series.index(series) for series in group]
            known = np.stack([np.isfinite(series.values) for series in group])
            solved = separate_outputs(covariance, np.stack([result[place] for place in places]), known, transposed)
            for place, row in zip(places, solved, strict=True):
                result[place] = row
        return result


def check_whiten(whiten: Any) -> bool | int:
    """True, False, or the order of the filter."""
    if not isinstance(whiten, Integral) or not is_real(whiten) or whiten < 0:
        raise EstimationError(
            f"whiten must be True, False or the order of the filter, got {show(whiten)}.", "Write whiten=True."
        )
    return whiten if isinstance(whiten, bool) else int(whiten)
