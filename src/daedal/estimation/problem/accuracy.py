"""How much each sample weighs: residuals in units of the standard deviation of their measurement.

Declared accuracies may be numbers, expressions of parameters (free ones too), one number per sample, or a covariance
matrix for several outputs. An output without one is measured in units of its own: first of its spread in the data, in a
later stage of the fit of its residuals, so that estimates do not depend on the units of the outputs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from daedal.errors import EstimationError, quoted
from daedal.estimation.problem.coordinates import Coordinates
from daedal.estimation.problem.experiments import Experiment, Series
from daedal.models import Model, ParameterFormulas, differentiate_parameters, evaluate_parameters
from daedal.symbolic import Expression, list_symbols


@dataclass(frozen=True, eq=False)
class Accuracies:
    """Standard deviations of all series: declared by the model, or scales of outputs that declare none."""

    model: Model
    coordinates: Coordinates
    scales: Mapping[str, float]  # output without declaration → unit of its residuals

    def deviation(self, series: Series, values: Mapping[str, float]) -> float | np.ndarray:
        """The standard deviation of the samples of a series, one for all or one each."""
        declared = self.model.measurement_noise.get(series.output)
        if series.output in self.scales:
            return self.scales[series.output]
        if declared is None:
            return 1.0  # correlated with others: mixed with them instead
        if isinstance(declared, np.ndarray):
            return declared
        if isinstance(declared, Expression):
            return self._number(series.output, declared, values)
        return float(declared)

    def rates(self, series: Series, values: Mapping[str, float], own: np.ndarray) -> np.ndarray:
        """d log(deviation)/dθ for each coordinate; `own` tells their positions among the free parameters."""
        expression = self.model.measurement_noise.get(series.output)
        if not isinstance(expression, Expression) or not self._moves(expression):
            return np.zeros(len(own))
        formulas, vector = self._formulas[series.output], self._vector(values)
        directions = differentiate_parameters(self.model, self.coordinates.parameters, values)
        by_parameter = (formulas.differentiate(vector) @ directions).ravel() / formulas.evaluate(vector)
        return np.where(own >= 0, by_parameter[own], 0.0)

    @cached_property
    def _formulas(self) -> dict[str, ParameterFormulas]:
        """Accuracies that are expressions, ready for all values."""
        names = tuple(self.model.parameters)
        declared = self.model.measurement_noise.items()
        return {key: ParameterFormulas({key: one}, names) for key, one in declared if isinstance(one, Expression)}

    def _vector(self, values: Mapping[str, float]) -> np.ndarray:
        return np.array(list(evaluate_parameters(self.model, values).values()))

    @cached_property
    def free(self) -> bool:
        """Whether an accuracy is estimated."""
        noise = self.model.measurement_noise.values()
        return any(isinstance(one, Expression) and self._moves(one) for one in noise)

    @cached_property
    def _free_values(self) -> dict[str, float]:
        return {name: evaluate_parameters(self.model)[name] for name in self.coordinates.parameters}

    def _moves(self, expression: Expression) -> bool:
        rates = differentiate_parameters(self.model, self.coordinates.parameters, self._free_values)
        moving = {name for name, row in zip(self.model.parameters, rates, strict=True) if row.any()}
        moving |= set(self.coordinates.parameters)
        return bool(moving & set(list_symbols(expression.sx)))

    def _number(self, output: str, expression: Expression, values: Mapping[str, float]) -> float:
        number = float(self._formulas[output].evaluate(self._vector(values))[0])
        if not 0.0 < number < np.inf:
            raise EstimationError(
                f"The measurement noise of '{output}', {expression}, is {number:g} but must be positive.",
                "Bound its parameters from below, or use scale='log'.",
            )
        return number


def first_scales(model: Model, made: Sequence[Experiment]) -> dict[str, float]:
    """For each output without declared accuracy, the spread of its samples in all experiments."""
    declared = {name for key in model.measurement_noise for name in ((key,) if isinstance(key, str) else key)}
    pooled: dict[str, list[np.ndarray]] = {}
    for experiment in made:
        for series in experiment.series:
            if series.output not in declared:
                pooled.setdefault(series.output, []).append(series.values[np.isfinite(series.values)])
    return {name: _spread(np.concatenate(parts)) for name, parts in pooled.items()}


def _spread(values: np.ndarray) -> float:
    spread = float(np.std(values)) if values.size else 0.0
    size = float(np.max(np.abs(values), initial=0.0))
    return spread if spread > 1e-12 * size else size or 1.0


def check_accuracies(model: Model, made: Sequence[Experiment]) -> None:
    """Refuse declarations that do not fit the data."""
    for experiment in made:
        for series in experiment.series:
            declared = model.measurement_noise.get(series.output)
            if isinstance(declared, np.ndarray) and declared.size != series.times.size:
                raise EstimationError(
                    f"The measurement noise of '{series.output}' has {declared.size} values for {series.times.size} "
                    f"samples in the data '{experiment.data.name}'.",
                    "Give one standard deviation per sample, or a single one.",
                )
        for group in correlated(model, experiment):
            times = [series.times for series in group[0]]
            if any(not np.array_equal(times[0], other) for other in times[1:]):
                raise EstimationError(
                    f"The outputs {quoted(s.output for s in group[0])} have correlated measurement noise, but in the "
                    f"data '{experiment.data.name}' times of their own.",
                    "Give them common times (NaN where one is missing), or declare separate accuracies.",
                )


def correlated(model: Model, experiment: Experiment) -> list[tuple[list[Series], np.ndarray]]:
    """The series of each declared covariance that this experiment has, with their part of the matrix."""
    groups = []
    for key, matrix in model.measurement_noise.items():
        if isinstance(key, tuple):
            found = [series for series in experiment.series if series.output in key]
            order = [key.index(series.output) for series in found]
            if found:
                groups.append((found, np.asarray(matrix)[np.ix_(order, order)]))
    return groups


def unmixed(covariance: np.ndarray, rows: np.ndarray, known: np.ndarray, transposed: bool = False) -> np.ndarray:
    """Correlated rows as independent ones of unit variance: L⁻¹ (or its transpose) at each time, LLᵀ = covariance.

    `rows` is (output, row, time); L belongs to the outputs that are `known`, (output, time), at that time.
    """
    result = np.full(rows.shape, np.nan)
    patterns, which = np.unique(known, axis=1, return_inverse=True)
    for number, pattern in enumerate(patterns.T):
        if pattern.any():
            chosen = np.ix_(pattern, np.arange(rows.shape[1]), np.flatnonzero(which.ravel() == number))
            factor = np.linalg.cholesky(covariance[np.ix_(pattern, pattern)])
            right = rows[chosen].reshape(len(factor), -1)
            solved = solve_triangular(factor, right, lower=True, trans=int(transposed))
            result[chosen] = solved.reshape(rows[chosen].shape)
    return result
