"""The cost of predicting each output by its mean: residuals of all series, their sensitivities, and their sum.

With W the weighing of `daedal.estimation.problem.weights`, y the samples and ȳ the prediction at φ,

    z = W(φ) (y − ȳ(φ)),   value = ½ Σ z² + Σ log(σ(φ)/σ(φ₀)) − ½ Σ V,   curvature = Σ ψψᵀ + 2 Σ (∂ log σ)(∂ log σ)ᵀ,

where ψ = W ∂ȳ/∂φ, the logarithms are there when an accuracy σ is estimated or depends on ȳ (then log σ itself), and V,
present when debiasing, is what averaging over M realizations instead of all adds to the expectation of z²: the variance
of W ȳ, which means ȳ_g of G groups of n_g realizations tell without bias, whatever W is (it is limited where it exceeds
half of Σ z²):

    V = Σ_g n_g (W ȳ_g − W ȳ)² / ((G − 1) M).

Without disturbances there is one trajectory and V = 0. A loss for outliers (`losses`, beside this file) replaces z by
bent residuals in the value, and by scores in the parts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from daedal.errors import EstimationError, RefusalError, SimulationError, quoted
from daedal.estimation.criteria.criterion import (
    Capabilities,
    Evaluation,
    Expected,
    Forecast,
    Part,
    fail_at,
    list_outputs,
)
from daedal.estimation.criteria.excess import Excess, compute_excess, limit_excess
from daedal.estimation.criteria.losses import Loss, measure_robustly
from daedal.estimation.criteria.realized import Realized
from daedal.estimation.criteria.simulations import Simulations, make_simulations
from daedal.estimation.problem import (
    Autoregression,
    Coordinates,
    Problem,
    Weighing,
    find_contiguous,
    fit_autoregression,
)
from daedal.experiments import (
    Accuracies,
    Experiment,
    Series,
    check_accuracies,
    check_enough,
    find_correlated,
    guess_scales,
    match_experiments,
    refuse_relative,
)
from daedal.simulation import Prediction

RESCALED = 0.01  # relative change of the units of outputs that is worth another stage
SMALLEST = 1e-6  # unit of an output's residuals, relative to its spread: data without noise are fitted exactly
JITTER = 1e-3  # relative difference of sample intervals that is the jitter of a clock
FAR_OFF = 3.0  # size of the better half of residuals, in units of the declared accuracy, that is worth a word
OUTLYING = 4.0  # standard deviations that one of 16 000 normal numbers exceeds
REPLANS = 3  # times that the steps of the simulation may be chosen anew


@dataclass(frozen=True, eq=False)
class MeanObjective:
    """Half the sum of squared residuals of the mean, as a function of φ."""

    problem: Problem
    experiments: tuple[Experiment, ...]
    simulations: Simulations
    weighing: Weighing
    debias: bool
    whiten: bool | int | None  # None: once the minimum is known, where samples are regular
    notes: tuple[str, ...] = ()
    replans: int = 0
    reference: Mapping[str, float] = field(default_factory=dict)  # φ₀ of the accuracies
    loss: Loss | None = None  # None: squares

    @property
    def capabilities(self) -> Capabilities:
        """All of them."""
        return Capabilities(
            notes=self.notes,
            scales=self.weighing.accuracies.scales,
            filters=self.weighing.filters,
            restore=self.restore,
            finish=self.finish,
            averaged=self.simulations.averaged,
            steps=self.simulations.steps,
            step_error=self.simulations.estimate_step_error,
            choose_steps=self.choose_steps,
            forgive=self.forgive,
            scatter=self.scatter,
            expect=self.expect,
            predict=self.predict,
            white=() if self.problem.system.model.disturbances or self.loss else self.experiments,
            remarks=self._remark,
        )

    @property
    def _corrected(self) -> bool:
        return self.debias and any(simulation.realizations is not None for simulation in self.simulations.predictors)

    def __call__(self, point: np.ndarray) -> Evaluation:
        try:
            scored = self.simulations.map(lambda number: self._score(number, point))
        except RefusalError as error:
            return fail_at(point, error.sentence)
        parts = tuple(part for own, _ in scored for part in own)
        if self.loss is not None:
            return _evaluate_loss(point, parts, self.problem.coordinates, self.loss)
        excess = sum(own.value for _, own in scored)
        excess_gradient = np.sum([own.gradient for _, own in scored], axis=0)
        noise = np.zeros((point.size, point.size))
        if self._corrected:
            noise = np.sum([own.curvature for _, own in scored], axis=0)
        residuals, jacobian = _stack(parts, self.problem.coordinates)
        excess, excess_gradient = limit_excess(excess, excess_gradient, residuals, jacobian)
        counts = [int(np.isfinite(part.residual).sum()) for part in parts]
        squares = [float(np.nansum(part.residual**2)) for part in parts]
        logarithms = sum(self._logarithm(part) for part in parts)
        value = float(0.5 * residuals @ residuals + logarithms - 0.5 * excess)
        gradient = jacobian.T @ residuals - 0.5 * excess_gradient
        curvature = _square(parts, self.problem.coordinates, jacobian)
        for part, count, square in zip(parts, counts, squares, strict=True):
            if not part.rates.any():
                continue
            if part.rates.ndim == 1:
                gradient += part.rates * (count - square)
                curvature += 2.0 * count * np.outer(part.rates, part.rates)
            else:
                known = np.isfinite(part.residual)
                by_sample = part.rates[:, known]
                gradient += by_sample @ (1.0 - part.residual[known] ** 2)
                curvature += 2.0 * by_sample @ by_sample.T
        if not (np.isfinite(value) and np.isfinite(gradient).all() and np.isfinite(curvature).all()):
            return fail_at(point, "The cost or its gradient is not finite there.")
        if self._corrected or self.weighing.accuracies.free:  # more than squares is added up
            return Evaluation(point, value, gradient, curvature, parts=parts, noise=noise)
        return Evaluation(point, value, gradient, curvature, residuals, jacobian, parts)

    def _logarithm(self, part: Part) -> float:
        """Σ log(σ/σ₀) over the scored samples, where σ is estimated; σ₀ = 1 where it moves with the prediction."""
        if part.rates.ndim == 1 and not part.rates.any():
            return 0.0
        accuracies = self.weighing.accuracies
        first = 1.0 if part.rates.ndim > 1 else accuracies.deviation(part.series, self.reference, part.prediction)
        logarithms = np.broadcast_to(np.log(part.deviation / first), part.residual.shape)
        return float(logarithms[np.isfinite(part.residual)].sum())

    def _score(self, number: int, point: np.ndarray) -> tuple[list[Part], Excess]:
        """The parts of one experiment, and what averaging over few realizations adds."""
        coordinates = self.problem.coordinates
        experiment, values = self.experiments[number], coordinates.values(point, number)
        prediction = self.simulations.predictors[number](values)
        size = point.size

        def convert(slopes: np.ndarray) -> np.ndarray:
            return coordinates.convert_slopes(slopes, point, number)

        raw = [self._rows(series, prediction, convert) for series in experiment.series]
        means = [prediction.mean[series.row, series.places] for series in experiment.series]
        weighed = self.weighing.apply(experiment, values, raw, means)
        accuracies = self.weighing.accuracies
        parts, excess = [], Excess(0.0, np.zeros(size), np.zeros((size, size)))
        for series, rows, mean, plain in zip(experiment.series, weighed, means, raw, strict=True):
            if series.noise is None and series.output in accuracies.relative:
                by_parameter, by_output = accuracies.relative_rates(series, values, mean)
                by_coordinate = convert(by_parameter) + by_output * plain[1 : 1 + size]
            else:
                by_coordinate = convert(accuracies.rates(series, values))
            deviation = accuracies.deviation(series, values, mean)
            parts.append(Part(series, rows[0], rows[1 : 1 + size], by_coordinate, deviation, mean))
            if self._corrected and len(prediction.counts) > 1:
                excess = excess.add(compute_excess(rows[1 + size :], prediction.counts, size), by_coordinate)
        return parts, excess

    def _rows(self, series: Series, prediction: Prediction, convert: Callable) -> np.ndarray:
        """Residual, slopes, and (when debiasing) what the groups differ by, (row, time); NaN where not scored."""
        places, scored = series.places, np.where(np.isfinite(series.values), 1.0, np.nan)
        residual = series.values - prediction.mean[series.row, places]
        slopes = convert(prediction.slopes[:, series.row, places])
        rows = [residual[None], slopes]
        if self._corrected and len(prediction.counts) > 1:
            groups = prediction.groups[:, :, series.row, places]
            center = np.concatenate([prediction.mean[None], prediction.slopes])[:, series.row, places]
            apart = (groups - center) * np.sqrt(prediction.counts)[:, None, None]
            rows += [apart[:, 0], *(convert(group) for group in apart[:, 1:])]
        return np.concatenate(rows) * scored

    def predict(self, point: np.ndarray) -> tuple[Forecast, ...]:
        """Mean and spread of all series; the few realizations that cannot be simulated are left out, as in a fit."""
        forecasts: list[Forecast] = []
        for number, experiment in enumerate(self.experiments):
            values, simulation = self.problem.coordinates.values(point, number), self.simulations.predictors[number]
            try:
                prediction = simulation(values)
            except SimulationError:
                prediction = simulation.leave_out_failures(values)(values)
            means = [prediction.mean[series.row, series.places] for series in experiment.series]
            raw = [(series.values - mean)[None] for series, mean in zip(experiment.series, means, strict=True)]
            residuals = self.weighing.apply(experiment, values, raw, means)
            for series, mean, residual in zip(experiment.series, means, residuals, strict=True):
                count = simulation.realizations
                spread = None if count is None else np.sqrt(prediction.variance[series.row, series.places])
                forecasts.append(Forecast(series, mean, residual[0], spread, count))
        return tuple(forecasts)

    def restore(self, scales: Mapping[str, float], filters: Mapping[str, Autoregression]) -> "MeanObjective":
        """As a finished fit weighs residuals in the end."""
        return replace(self, weighing=Weighing(replace(self.weighing.accuracies, scales=scales), filters))

    def forgive(self, point: np.ndarray) -> "MeanObjective":
        """Without the realizations that fail at this point; raises where too many do."""
        simulations, note = self.simulations.forgive(point)
        return replace(self, simulations=simulations, notes=(*self.notes, note)) if note else self

    def finish(self, evaluation: Evaluation) -> "MeanObjective":
        """With the filters that the residuals at this point ask for, if whitening was asked for."""
        return self if self.whiten is None else self._whiten(evaluation) or self

    def refine(self, evaluation: Evaluation) -> "MeanObjective | None":
        """Steps chosen at the minimum, units from its residuals, filters from their autocorrelation: one at a time."""
        return self._replan(evaluation) or self._rescale(evaluation) or self._whiten(evaluation)

    def _replan(self, evaluation: Evaluation) -> "MeanObjective | None":
        if self.replans >= REPLANS:
            return None
        planned = self.choose_steps(evaluation.point)
        return None if planned is self else replace(planned, replans=self.replans + 1)

    def choose_steps(self, point: np.ndarray) -> "MeanObjective":
        """With steps that suit this point; itself where the present ones do."""
        simulations = self.simulations.choose_steps(point)
        return self if simulations is self.simulations else replace(self, simulations=simulations)

    def _rescale(self, evaluation: Evaluation) -> "MeanObjective | None":
        """Only where several outputs compete, or a loss asks what is far off, does the unit of one matter."""
        scales = self.weighing.accuracies.scales
        alone = len({part.series.output for part in evaluation.parts}) == 1 and self.loss is None
        if self.weighing.filters or not scales or alone:
            return None
        first = guess_scales(self.problem.system.model, self.experiments)
        measure = _compute_rmse if self.loss is None else _measure_errors
        new = {name: max(measure(evaluation, name), SMALLEST * first[name]) for name in scales}
        if all(abs(new[name] / scales[name] - 1.0) < RESCALED for name in scales):
            return None
        accuracies = replace(self.weighing.accuracies, scales=new)
        return replace(self, weighing=replace(self.weighing, accuracies=accuracies))

    def _whiten(self, evaluation: Evaluation) -> "MeanObjective | None":
        if self.whiten is False or self.whiten == 0 or self.weighing.filters:
            return None
        order = None if self.whiten is None or self.whiten is True else int(self.whiten)
        filters = {name: _model_residual(evaluation, name, order) for name in list_outputs(evaluation.parts)}
        return replace(self, weighing=replace(self.weighing, filters=filters))

    def _remark(self, evaluation: Evaluation) -> tuple[str, ...]:
        orders = ", ".join(f"{name} {model.order}" for name, model in self.weighing.filters.items() if model.order)
        chosen = self.whiten is None and orders
        said = (f"residuals are whitened, by autoregressions of order: {orders}; whiten=False does without",)
        return said if chosen else self._count_outliers(evaluation) if self.loss is not None else ()

    def _count_outliers(self, evaluation: Evaluation) -> tuple[str, ...]:
        """How many samples are far off, or that most are."""
        said = []
        for output in list_outputs(evaluation.parts):
            parts = [part for part in evaluation.parts if part.series.output == output]
            errors = np.abs(np.concatenate([_find_error(part) / part.deviation for part in parts]))
            errors = errors[np.isfinite(errors)]
            size, count = measure_robustly([errors]), int(np.sum(errors > OUTLYING))
            if size > FAR_OFF:
                said.append(f"most residuals of {output} are about {size:.2g} times the declared measurement noise")
            elif count:
                said.append(f"{count} of {errors.size} samples of {output} are more than {OUTLYING:g} deviations off")
        return tuple(said)

    def scatter(self, evaluation: Evaluation) -> np.ndarray:
        """Covariance of the gradient over the realizations."""
        return self._realize(evaluation).scatter()

    def expect(self, evaluation: Evaluation) -> Expected | None:
        """Covariance of the gradient over data that the model would make."""
        return self._realize(evaluation).expect()

    def _realize(self, evaluation: Evaluation) -> Realized:
        return Realized(self.experiments, self.simulations, self.weighing, evaluation)


def _evaluate_loss(point: np.ndarray, parts: tuple[Part, ...], space: Coordinates, loss: Loss) -> Evaluation:
    """The sum of what residuals cost by a loss; parts have the scores in their place."""
    curvature = np.zeros((point.size, point.size))
    for output in list_outputs(parts):
        own = [part for part in parts if part.series.output == output]
        slopes = np.concatenate([part.slopes[:, np.isfinite(part.residual)] for part in own], axis=1)
        curvature += loss.measure_curvature(np.concatenate([part.residual for part in own])) * (slopes @ slopes.T)
    residuals, jacobian = _stack(parts, space)
    bent, rates = loss.square(residuals)
    jacobian = jacobian * rates[:, None]
    value, gradient = 0.5 * float(bent @ bent), jacobian.T @ bent
    if not (np.isfinite(value) and np.isfinite(gradient).all() and np.isfinite(curvature).all()):
        return fail_at(point, "The cost or its gradient is not finite there.")
    scored = tuple(replace(part, residual=loss.score(part.residual)) for part in parts)
    return Evaluation(point, value, gradient, curvature, bent, jacobian, scored)


def _stack(parts: tuple[Part, ...], space: Coordinates) -> tuple[np.ndarray, np.ndarray]:
    """All residuals, and their derivatives as predictions move; those by what other experiments have are zero."""
    scored = [np.flatnonzero(np.isfinite(part.residual)) for part in parts]
    residuals = np.concatenate([part.residual[known] for part, known in zip(parts, scored, strict=True)])
    jacobian = np.zeros((residuals.size, len(space.items)))
    for part, known, rows in zip(parts, scored, _cut(scored), strict=True):
        own = space.find_own(part.series.experiment)
        slopes = part.slopes[np.array(own, dtype=int)[:, None], known]
        jacobian[rows, own] = np.negative(slopes, out=slopes).T
    return residuals, jacobian


def _square(parts: tuple[Part, ...], space: Coordinates, jacobian: np.ndarray) -> np.ndarray:
    """JᵀJ, of each experiment by itself where parameters are local."""
    if all(item.experiment is None for item in space.items):
        return jacobian.T @ jacobian
    product = np.zeros((len(space.items),) * 2)
    scored = [np.flatnonzero(np.isfinite(part.residual)) for part in parts]
    for part, rows in zip(parts, _cut(scored), strict=True):
        own = space.find_own(part.series.experiment)
        slopes = jacobian[rows, own]
        product[np.ix_(own, own)] += slopes.T @ slopes
    return product


def _cut(scored: list[np.ndarray]) -> list[slice]:
    """The rows of each part."""
    ends = np.cumsum([known.size for known in scored]).tolist()
    return [slice(first, end) for first, end in pairwise([0, *ends])]


def _compute_rmse(evaluation: Evaluation, output: str) -> float:
    """Of the residuals of one output, in its own units."""
    squares = [(part.residual * part.deviation) ** 2 for part in evaluation.parts if part.series.output == output]
    return float(np.sqrt(np.nanmean(np.concatenate(squares))))


def _find_error(part: Part) -> np.ndarray:
    """Samples less what is predicted, in the units of the output; NaN where not scored."""
    return part.series.values - part.prediction


def _measure_errors(evaluation: Evaluation, output: str) -> float:
    """The unit of the residuals of one output that its outliers do not change."""
    return measure_robustly(_find_error(part) for part in evaluation.parts if part.series.output == output)


def _guess_robustly(scales: Mapping[str, float], experiments: Sequence[Experiment]) -> dict[str, float]:
    """The spread of the better half of the samples of each output; as it was where more than half are alike."""
    guessed = {}
    for name, scale in scales.items():
        values = [series.values for one in experiments for series in one.series if series.output == name]
        known = np.concatenate(values)[np.isfinite(np.concatenate(values))]
        spread = measure_robustly([known - np.median(known)]) if known.size else 0.0
        guessed[name] = spread if spread > SMALLEST * scale else scale
    return guessed


def _model_residual(evaluation: Evaluation, output: str, order: int | None) -> Autoregression:
    """A model of the residual of one output in all experiments."""
    parts = [part for part in evaluation.parts if part.series.output == output]
    stretches = [part.residual[stretch] for part in parts for stretch in find_contiguous(part.residual)]
    return fit_autoregression(stretches, order)


def _find_obstacle(experiments: Sequence[Experiment], order: int | None) -> EstimationError | None:
    """Why a filter of equal steps, of this order if one is given, does not suit the samples."""
    everything = [series for experiment in experiments for series in experiment.series]
    for output in dict.fromkeys(series.output for series in everything):
        listed = [series for series in everything if series.output == output]
        if not all(series.regular for series in listed):
            return EstimationError(
                f"whiten needs regular samples, but those of '{output}' are not.",
                "Use whiten=False, or data.resample(step) first.",
            )
        gaps = [float(np.mean(np.diff(series.times))) for series in listed if series.times.size > 1]
        if gaps and np.ptp(gaps) > JITTER * max(gaps):
            return EstimationError(
                f"whiten needs the same sample interval of '{output}' in all experiments.",
                "Use data.resample(step) first.",
            )
        longest = max(known.stop - known.start for series in listed for known in find_contiguous(series.values))
        if order is not None and order >= longest:
            return EstimationError(
                f"whiten={order} is too high for '{output}', whose longest stretch without gaps has {longest} samples.",
                f"Give a lower order, whiten={max(longest // 10, 1)}, or whiten=True to have it chosen.",
            )
    return None


def _check_accuracies_of_loss(accuracies: Accuracies, experiments: Sequence[Experiment], loss: Loss) -> None:
    """A loss is a matter of single samples whose accuracy is known, or found from the better half of them."""
    remedy = "Declare numbers, or leave the accuracy out: the better half of the residuals then tells it."
    if accuracies.free:
        raise EstimationError(
            f"loss='{loss.name}' cannot be combined with measurement noise that is estimated or depends on its output.",
            remedy,
        )
    for experiment in experiments:
        for group, _ in find_correlated(accuracies.model, experiment):
            if len(group) > 1:
                raise EstimationError(
                    f"loss='{loss.name}' judges each sample alone, but the measurement noise of "
                    f"{quoted(series.output for series in group)} is correlated.",
                    remedy,
                )


def make_mean_objective(
    problem: Problem,
    transient: float,
    realizations: int | None,
    *,
    debias: bool,
    whiten: bool | int | None,
    notes: tuple[str, ...],
    loss: Loss | None = None,
) -> MeanObjective:
    """Line up data, simulations and weights; the first point, at which steps are chosen, is the start."""
    system, coordinates = problem.system, problem.coordinates
    experiments = match_experiments(system, problem.data, transient)
    check_enough(experiments, len(coordinates.items))
    check_accuracies(system.model, experiments)
    if realizations:
        refuse_relative(system.model, "SimulationPEM", "compares with a mean in which disturbances scatter too")
    if whiten:
        refuse_relative(system.model, "whiten", "filters residuals of one size")
    obstacle = _find_obstacle(experiments, None if isinstance(whiten, bool) else whiten)
    if whiten and obstacle and coordinates.items:  # where nothing is free, filters are those of a fit
        raise obstacle
    if whiten is None and obstacle:
        whiten, notes = False, (*notes, f"residuals are not whitened: {obstacle.sentence}")
    simulations = make_simulations(problem, experiments, realizations)
    scales = guess_scales(system.model, experiments)
    accuracies = Accuracies(system.model, coordinates.parameters, scales)
    if loss is not None:
        _check_accuracies_of_loss(accuracies, experiments, loss)
        accuracies = replace(accuracies, scales=_guess_robustly(scales, experiments))
    reference = coordinates.values(coordinates.start, 0)
    weighing = Weighing(accuracies)
    said = (*notes, *simulations.notes)
    return MeanObjective(problem, experiments, simulations, weighing, debias, whiten, said, 0, reference, loss)
