"""How accurate a sample is: the standard deviation of its measurement, and how that moves with the parameters.

The data may tell the accuracy of each sample, which counts before a number of the model.

Declared accuracies may be numbers, expressions of parameters (free ones too) and of the output itself (which is taken
as predicted: relative errors), one number per sample, or a covariance matrix for several outputs, which counts among
those that are there at a time. An output without one is measured in units of its own: first of its spread in the data,
in a later stage of the fit of its residuals, so that estimates do not depend on the units of the outputs.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from daedal.data import Dataset
from daedal.errors import DaedalError, EstimationError, ModelError, counted, quoted
from daedal.experiments.experiment import Experiment, Series
from daedal.experiments.relative_noise import RelativeNoise
from daedal.models import Model, ParameterFormulas, as_tuple, differentiate_parameters, evaluate_parameters
from daedal.symbolic import Expression, list_symbols


@dataclass(frozen=True, eq=False)
class Accuracies:
    """Standard deviations of the samples of a model: as it declares them, or scales of outputs that declare none.

    An output that is correlated with others has one here: it is made independent of them first, with unit variance.
    """

    model: Model
    parameters: tuple[str, ...] = ()  # those that are estimated
    scales: Mapping[str, float] = field(default_factory=dict)  # output without declaration → unit of its residuals
    factors: Mapping[str, str] = field(default_factory=dict)  # output → parameter that multiplies what is given for it

    def at(self, output: str, vector: np.ndarray, predicted: np.ndarray) -> float | np.ndarray:
        """The standard deviation of an output at all parameters and at what is predicted, one for all or one each."""
        if output in self.relative:
            return self.relative[output].evaluate(vector, predicted)
        declared = self.model.measurement_noise.get(output, self.scales.get(output, 1.0))
        if not isinstance(declared, Expression):
            return declared
        number = float(self._formulas[output].evaluate(vector)[0])
        if not 0.0 < number < np.inf:
            raise ModelError(
                f"The measurement noise of '{output}', {declared}, is {number:g} but must be positive.",
                "Give its parameters other values, a lower bound, or scale='log'.",
            )
        return number

    def slopes(self, output: str, vector: np.ndarray) -> np.ndarray:
        """The derivatives of that with respect to all parameters, (parameter,)."""
        return self._formulas[output].differentiate(vector)[0] if output in self._formulas else np.zeros(vector.size)

    def square(self, output: str, vector: np.ndarray, deviation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Variances of deviations that were given, or are `at`, with their factor; slopes (parameter, sample)."""
        rates = np.multiply.outer(self.slopes(output, vector), np.ones(deviation.size))
        if output in self.factors:
            place = tuple(self.model.parameters).index(self.factors[output])
            rates = vector[place] * rates
            rates[place] += deviation
            deviation = vector[place] * deviation
        return deviation * deviation, 2.0 * deviation * rates

    def deviation(self, series: Series, values: Mapping[str, float], predicted: np.ndarray) -> float | np.ndarray:
        """The standard deviation of the samples of a series, one for all or one each."""
        if series.noise is not None:
            return series.noise
        expressed = series.output in self._formulas or series.output in self.relative
        vector = self._vector(values) if expressed else np.zeros(0)  # which nothing looks at
        return self.at(series.output, vector, predicted)

    def rates(self, series: Series, values: Mapping[str, float]) -> np.ndarray:
        """d log(deviation)/dθ for each free parameter while the prediction stays."""
        if series.output not in self._moving:
            return np.zeros(len(self.parameters))
        vector = self._vector(values)
        directions = differentiate_parameters(self.model, self.parameters, values)
        return self.slopes(series.output, vector) @ directions / self.at(series.output, vector, np.zeros(0))

    def relative_rates(
        self, series: Series, values: Mapping[str, float], predicted: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """d log(deviation)/dθ (parameter, time) while the prediction stays, and by the prediction, (time,)."""
        by_all, by_output = self.relative[series.output].differentiate(self._vector(values), predicted)
        return differentiate_parameters(self.model, self.parameters, values).T @ by_all, by_output

    def find_declared(self, series: Series, values: Mapping[str, float], predicted: np.ndarray) -> np.ndarray:
        """The declared standard deviation of each sample, whatever else is measured; NaN where there is none."""
        if series.noise is not None:
            return series.noise
        for key, matrix in self.model.measurement_noise.items():
            if isinstance(key, tuple) and series.output in key:
                place = key.index(series.output)
                return np.full(series.times.shape, np.sqrt(np.asarray(matrix)[place, place]))
        known = series.output in self.model.measurement_noise
        return np.broadcast_to(self.deviation(series, values, predicted) if known else np.nan, series.times.shape)

    @property
    def free(self) -> bool:
        """Whether an accuracy is estimated, or moves with what is."""
        return bool(self._moving or self.relative)

    @cached_property
    def relative(self) -> dict[str, RelativeNoise]:
        """Accuracies that depend on the output itself, by output."""
        names = tuple(self.model.parameters)
        return {key: RelativeNoise(key, self.model.measurement_noise[key], names) for key in list_relative(self.model)}

    @cached_property
    def _formulas(self) -> dict[str, ParameterFormulas]:
        """Accuracies that are expressions, ready for all values."""
        names = tuple(self.model.parameters)
        declared = self.model.measurement_noise.items()
        return {
            key: ParameterFormulas({key: one}, names)
            for key, one in declared
            if isinstance(one, Expression) and key not in self.relative
        }

    @cached_property
    def _moving(self) -> set[str]:
        """Outputs whose accuracy contains a free parameter, or one that follows it."""
        numbers = evaluate_parameters(self.model)
        rates = differentiate_parameters(self.model, self.parameters, {name: numbers[name] for name in self.parameters})
        moving = {name for name, row in zip(self.model.parameters, rates, strict=True) if row.any()}
        moving |= set(self.parameters)
        noise = self.model.measurement_noise
        return {output for output in self._formulas if moving & set(list_symbols(noise[output].sx))}

    def _vector(self, values: Mapping[str, float]) -> np.ndarray:
        return np.array(list(evaluate_parameters(self.model, values).values()))


def list_relative(model: Model) -> list[str]:
    """Outputs whose measurement noise depends on their own value."""
    expressed = {key: one for key, one in model.measurement_noise.items() if isinstance(one, Expression)}
    return [key for key, one in expressed.items() if key not in model.parameters and key in list_symbols(one.sx)]


def refuse_relative(model: Model, criterion: str, reason: str) -> None:
    """Refuse measurement noise that depends on its output, for a reason."""
    for name in list_relative(model):
        raise EstimationError(
            f"The measurement noise of '{name}', {model.measurement_noise[name]}, depends on '{name}', but {criterion} "
            f"{reason}.",
            f"Use OutputError(), or a number that suits most samples: measurement_noise={{'{name}': ...}}.",
        )


def find_declared_outputs(model: Model, sets: Iterable[Dataset]) -> set[str]:
    """Outputs whose accuracy the model declares, or data tell sample by sample."""
    told = {name for one in sets for name, samples in one.outputs.items() if samples.noise is not None}
    return told | {name for key in model.measurement_noise for name in as_tuple(key)}


def guess_scales(model: Model, experiments: Sequence[Experiment]) -> dict[str, float]:
    """For each output without declared accuracy, the spread of its samples in all experiments."""
    declared = find_declared_outputs(model, [one.data for one in experiments])
    pooled: dict[str, list[np.ndarray]] = {}
    for experiment in experiments:
        for series in experiment.series:
            if series.output not in declared:
                pooled.setdefault(series.output, []).append(series.values[np.isfinite(series.values)])
    return {name: _measure_spread(np.concatenate(parts)) for name, parts in pooled.items()}


def _measure_spread(values: np.ndarray) -> float:
    spread = float(np.std(values)) if values.size else 0.0
    size = float(np.max(np.abs(values), initial=0.0))
    return spread if spread > 1e-12 * size else size or 1.0


def check_accuracies(model: Model, experiments: Sequence[Experiment]) -> None:
    """Refuse declarations that do not fit the data."""
    check_told(model, experiments)
    for experiment in experiments:
        where = f" in the data '{experiment.data.name}'"
        for series in experiment.series:
            if series.noise is None:
                check_count(model, series.output, series.times.size, EstimationError, where)
        for group, _ in find_correlated(model, experiment):
            times = [series.times for series in group]
            if any(not np.array_equal(times[0], other) for other in times[1:]):
                raise EstimationError(
                    f"The outputs {quoted(s.output for s in group)} have correlated measurement noise, but{where} "
                    "times of their own.",
                    "Give them common times (NaN where one is missing), or declare separate accuracies.",
                )


def check_told(model: Model, experiments: Sequence[Experiment]) -> None:
    """Refuse accuracies of samples that contradict what the model declares, or that some data lack."""
    alone = {key for key, value in model.measurement_noise.items() if not isinstance(value, Expression)}
    for experiment in experiments:
        for series in experiment.series:
            if series.noise is not None and series.output in find_declared_outputs(model, ()) - alone:
                raise EstimationError(
                    f"The data '{experiment.data.name}' tell the noise of each sample of '{series.output}', for which "
                    "the model declares an expression or a covariance.",
                    f"Keep one of the two: model.with_measurement_noise({{'{series.output}': None}}) removes the "
                    "latter.",
                )
    known = find_declared_outputs(model, ())
    everything = [(series, experiment) for experiment in experiments for series in experiment.series]
    told = {series.output for series, _ in everything if series.noise is not None} - known
    for series, experiment in everything:
        if series.output in told and series.noise is None:
            raise EstimationError(
                f"The data '{experiment.data.name}' do not tell how accurate '{series.output}' is; other data do.",
                f"Give all of them measurement_noise, or the model measurement_noise={{'{series.output}': ...}} for "
                "the rest.",
            )


def check_count(model: Model, output: str, count: int, refusal: type[DaedalError], where: str = "") -> None:
    """Refuse accuracies that were declared sample by sample for another number of samples."""
    declared = model.measurement_noise.get(output)
    if isinstance(declared, np.ndarray) and declared.size != count:
        raise refusal(
            f"The measurement noise of '{output}' has {declared.size} values for {counted(count, 'sample')}{where}.",
            "Give one standard deviation per sample, or a single one.",
        )


def find_correlated(model: Model, experiment: Experiment) -> list[tuple[list[Series], np.ndarray]]:
    """The series of each declared covariance that this experiment has, with their part of the matrix."""
    by_output = {series.output: series for series in experiment.series}
    return [([by_output[name] for name in names], part) for names, part in _find_covariances(model, by_output)]


def _find_covariances(model: Model, outputs: Collection[str]) -> list[tuple[list[str], np.ndarray]]:
    groups = []
    for key, matrix in model.measurement_noise.items():
        names = [name for name in outputs if isinstance(key, tuple) and name in key]
        if names:
            order = [key.index(name) for name in names]
            groups.append((names, np.asarray(matrix)[np.ix_(order, order)]))
    return groups


def factor_covariance(covariance: np.ndarray, known: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For each set of outputs that are `known`, (output, time), together: which, when, and L with LLᵀ = covariance."""
    patterns, which = np.unique(known, axis=1, return_inverse=True)
    for number, pattern in enumerate(patterns.T):
        if pattern.any():
            factor = np.linalg.cholesky(covariance[np.ix_(pattern, pattern)])
            yield np.flatnonzero(pattern), np.flatnonzero(which.ravel() == number), factor


def separate_outputs(
    covariance: np.ndarray, rows: np.ndarray, known: np.ndarray, transposed: bool = False
) -> np.ndarray:
    """Correlated rows as independent ones of unit variance: L⁻¹ (or its transpose) at each time.

    `rows` is (output, row, time); L belongs to the outputs that are `known`, (output, time), at that time.
    """
    result = np.full(rows.shape, np.nan)
    for outputs, times, factor in factor_covariance(covariance, known):
        chosen = np.ix_(outputs, np.arange(rows.shape[1]), times)
        right = rows[chosen].reshape(len(factor), -1)
        solved = solve_triangular(factor, right, lower=True, trans=int(transposed))
        result[chosen] = solved.reshape(rows[chosen].shape)
    return result


def sum_log_determinants(model: Model, experiment: Experiment) -> float:
    """Σ log det L over all sample times, for outputs whose measurement noise is correlated."""
    total = 0.0
    for group, covariance in find_correlated(model, experiment):
        known = np.stack([np.isfinite(series.values) for series in group])
        for _, times, factor in factor_covariance(covariance, known):
            total += times.size * float(np.sum(np.log(np.diag(factor))))
    return total
