"""Mean and variance of the least-squares error, when the samples are random with known moments.

With y the predictions of all samples and J(θ) = Σ (y − ŷ)² the error, random because ŷ is,

    H = γ E J + (1 − γ) Var J,   E J = |y − m|² + tr Ξ,   Var J = 4 yᵀ Ξ y − 4 yᵀ υ + Var ŷᵀŷ   ((7)–(13))

is quadratic in y, so that gradient and curvature follow from the slopes ψ = ∂y/∂φ of the predictions:

    ∂H/∂y = 2γ (y − m) + (1 − γ)(8 Ξ y − 4 υ),     curvature ψᵀ (2γ I + 8 (1 − γ) Ξ) ψ.

γ < 1 lowers the variance of the error, not of the estimate: where the noise is skewed, t = υ − 2 Ξ m ≠ 0 pulls the
estimate away by about 4 (1 − γ) curvature⁻¹ ψᵀ t, which is said with the result.

Reference: Q. Lin, R. Loxton, C. Xu, K. L. Teo, Parameter estimation for nonlinear time-delay systems with noisy output
measurements, Automatica 60 (2015) 48–56.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, final

import numpy as np

from daedal.errors import EstimationError, RefusalError, as_float, counted, is_one_of, is_real, show
from daedal.estimation.criteria.criterion import Capabilities, Evaluation, Objective, Part, fail_at
from daedal.estimation.criteria.mean_objective import make_mean_objective
from daedal.estimation.criteria.measurement_moments import AGREES, MeasurementMoments
from daedal.estimation.criteria.simulations import tell_steps
from daedal.estimation.problem import Problem, check_visible
from daedal.experiments import Experiment, check_enough, match_experiments
from daedal.linear import invert_semidefinite
from daedal.simulation import Adjoint, Lanes, Predictor, make_predictor, make_request

TOLERANCE = 1e-9  # of the steps


@final
@dataclass(frozen=True)
class MeanVariance:
    """γ times the mean plus (1 − γ) times the variance of the squared error of measurements that are random.

    Parameters
    ----------
    gamma
        Weight of the mean, from 0 to 1; 1 is least squares.
    measurements
        Moments of the samples, whose mean is the data.
    gradient
        "forward": one sensitivity per parameter; "adjoint": one backward solution for all. By default forward: its
        sensitivities run beside the solution in the same compiled step, and were cheaper for up to 41 parameters.

    Examples
    --------
    >>> moments = MeasurementMoments.independent(mean=[1.0], variance=[0.1], third_raw_moment=[1.3])
    >>> MeanVariance(gamma=0.9, measurements=moments).gamma
    0.9
    """

    holds_data: ClassVar[bool] = True

    gamma: float
    measurements: MeasurementMoments
    gradient: Literal["forward", "adjoint"] | None = None

    def __post_init__(self) -> None:
        if not is_real(self.gamma) or isinstance(self.gamma, bool) or not 0.0 <= as_float(self.gamma) <= 1.0:
            raise EstimationError(f"gamma must lie between 0 and 1, got {show(self.gamma)}.", "Write gamma=0.9.")
        if not isinstance(self.measurements, MeasurementMoments):
            raise EstimationError(
                f"The measurements must be MeasurementMoments, got {type(self.measurements).__name__}.",
                "Write MeasurementMoments.independent(mean=..., variance=..., third_raw_moment=...).",
            )
        if self.gradient is not None and not is_one_of(self.gradient, ("forward", "adjoint")):
            raise EstimationError(
                f"The gradient must be 'forward' or 'adjoint', got {show(self.gradient)}.",
                "Leave it out to have it chosen.",
            )
        object.__setattr__(self, "gamma", float(self.gamma))

    @property
    def condition(self) -> None:
        """It simulates."""

    def objective(self, problem: Problem) -> Objective:
        """Line up data, moments and simulation; where nothing is free, moments do not matter."""
        if not problem.coordinates.items:
            return make_mean_objective(problem, 0.0, None, debias=False, whiten=False, notes=())
        check_visible(problem, (), accuracies=False, criterion="MeanVariance")
        if len(problem.data) != 1:
            raise EstimationError(
                f"MeanVariance takes one experiment, got {counted(len(problem.data), 'Dataset')}.",
                "Give the moments of all samples with one Dataset.",
            )
        experiments = match_experiments(problem.system, problem.data)
        check_enough(experiments, len(problem.coordinates.items))
        first, space = experiments[0], problem.coordinates
        order = _order_samples(first, self.measurements)
        solver = problem.solver or Lanes(tolerance=TOLERANCE)
        values = space.values(space.start, 0)
        request = make_request(first.system, first.drive)
        simulation = make_predictor(
            request, first.outputs, space.parameters, values, solver, None, problem.seed, problem.purpose
        )
        objective = MeanVarianceObjective(problem, experiments, simulation, self, order)
        return _turn_backward(objective) if self.gradient == "adjoint" else objective


def _turn_backward(objective: "MeanVarianceObjective") -> "MeanVarianceObjective":
    """With gradients by one backward solution; the curvature is then that of the start, until the last stage."""
    if not objective.problem.system.reduction.delays:
        raise EstimationError(
            f"Model '{objective.problem.system.model.name}' has no delays, which the backward gradient is made for.",
            "Use gradient='forward'.",
        )
    first = objective(objective.problem.coordinates.start)
    if not first.ok:
        return objective
    return replace(objective, adjoint=Adjoint(objective.predictor.run), curvature=first.curvature)


def _order_samples(experiment: Experiment, moments: MeasurementMoments) -> tuple[np.ndarray, np.ndarray]:
    """Row of the output and place in time of each sample, time by time; the data must be the mean of the moments."""
    listed = sorted(
        (float(time), series.row, int(place), float(value))
        for series in experiment.series
        for time, place, value in zip(series.times, series.places, series.values, strict=True)
    )
    values = np.array([value for *_, value in listed])
    if moments.mean.size != values.size:
        raise EstimationError(
            f"The moments are of {counted(moments.mean.size, 'sample')}, but the data have {values.size}.",
            "Give one for each sample, time by time.",
        )
    if np.isnan(values).any():
        raise EstimationError(
            "The data have missing samples, which moments cannot describe.", "Leave them out of both."
        )
    size = np.max(np.abs(values), initial=1e-300)
    wrong = np.flatnonzero(np.abs(values - moments.mean) > AGREES * size)
    if wrong.size:
        raise EstimationError(
            f"Sample {int(wrong[0])} of the data is {values[wrong[0]]:g}, but its moments have the mean "
            f"{moments.mean[wrong[0]]:g}.",
            "Give the means as data: Dataset(times, outputs={'y': mean}).",
        )
    return np.array([row for _, row, *_ in listed]), np.array([place for *_, place, _ in listed])


@dataclass(frozen=True, eq=False)
class MeanVarianceObjective:
    """H as a function of φ."""

    problem: Problem
    experiments: tuple[Experiment, ...]
    predictor: Predictor
    criterion: MeanVariance
    order: tuple[np.ndarray, np.ndarray]
    replans: int = 0
    adjoint: Adjoint | None = None  # gradients by a backward solution
    curvature: np.ndarray | None = None  # to go with these

    @property
    def capabilities(self) -> Capabilities:
        """Errors are weighed as they are, and nothing is random in the simulation."""
        return Capabilities(
            notes=self.notes,
            remarks=self.remarks,
            step_error=self.step_error,
            choose_steps=self.choose_steps,
            steps=tell_steps([self.predictor]),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What is left out."""
        ignored = self.problem.system.model.disturbance_names
        return (f"disturbances are ignored: {', '.join(ignored)}",) if ignored else ()

    def __call__(self, point: np.ndarray) -> Evaluation:
        if self.adjoint is not None:
            return self._evaluate_backward(self.adjoint, point)
        space, moments, gamma = self.problem.coordinates, self.criterion.measurements, self.criterion.gamma
        try:
            prediction = self.predictor(space.values(point, 0))
        except RefusalError as error:
            return fail_at(point, error.sentence)
        rows, places = self.order
        y = prediction.mean[rows, places]
        slopes = space.convert_slopes(prediction.slopes[:, rows, places], point, 0)  # (coordinate, sample)
        expectation, variance = moments.error(y)
        pull = self.pull(y)
        weighed = slopes @ self.weight
        if not (np.isfinite(y).all() and np.isfinite(slopes).all()):
            return fail_at(point, "The predictions or their slopes are not finite there.")
        return Evaluation(
            point,
            gamma * expectation + (1.0 - gamma) * variance,
            slopes @ pull,
            weighed @ slopes.T,
            parts=self._parts(prediction.mean, slopes),
            scores=self._scores(slopes),
        )

    def _evaluate_backward(self, adjoint: Adjoint, point: np.ndarray) -> Evaluation:
        """Value and gradient by one solution forward and one backward."""
        space, moments, gamma = self.problem.coordinates, self.criterion.measurements, self.criterion.gamma
        rows, places = self.order
        try:
            solution = adjoint.run_forward(space.values(point, 0))
            y = solution.outputs[rows, places]
            pull = np.zeros_like(solution.outputs)
            pull[rows, places] = self.pull(y)
            gradient = space.convert_slopes(solution.compute_gradient(pull), point, 0)
        except RefusalError as error:
            return fail_at(point, error.sentence)
        if not np.isfinite(gradient).all() or self.curvature is None:
            return fail_at(point, "The gradient is not finite there.")
        expectation, variance = moments.error(y)
        slopes = np.zeros((point.size, y.size))
        return Evaluation(
            point,
            gamma * expectation + (1.0 - gamma) * variance,
            gradient,
            self.curvature,
            parts=self._parts(solution.outputs, slopes),
            scores=np.full(self.curvature.shape, np.nan),
            stale=True,
        )

    def _scores(self, slopes: np.ndarray) -> np.ndarray:
        """Covariance of the gradient over the samples; without a weight on the mean they do not enter it."""
        moments, gamma = self.criterion.measurements, self.criterion.gamma
        if gamma == 0.0:
            return np.full((len(slopes), len(slopes)), np.nan)
        return 4.0 * gamma**2 / moments.repetitions * slopes @ moments.covariance @ slopes.T

    def pull(self, y: np.ndarray) -> np.ndarray:
        """∂H/∂y."""
        moments, gamma = self.criterion.measurements, self.criterion.gamma
        spread = 8.0 * moments.covariance @ y - 4.0 * moments.square_covariance
        return 2.0 * gamma * (y - moments.mean) + (1.0 - gamma) * spread

    @property
    def weight(self) -> np.ndarray:
        """∂²H/∂y²."""
        moments, gamma = self.criterion.measurements, self.criterion.gamma
        return 2.0 * gamma * np.eye(moments.mean.size) + 8.0 * (1.0 - gamma) * moments.covariance

    def _parts(self, mean: np.ndarray, slopes: np.ndarray) -> tuple[Part, ...]:
        rows, _ = self.order
        parts = []
        for series in self.experiments[0].series:
            predicted = mean[series.row, series.places]
            mine = slopes[:, rows == series.row]
            zero = np.zeros(slopes.shape[0])
            parts.append(Part(series, series.values - predicted, mine, zero, 1.0, predicted))
        return tuple(parts)

    def remarks(self, evaluation: Evaluation) -> tuple[str, ...]:
        """Mean and variance of the error, and what the skewness of the noise does to the estimates."""
        moments, gamma = self.criterion.measurements, self.criterion.gamma
        rows, places = self.order
        values = self.problem.coordinates.values(evaluation.point, 0)
        y = self.predictor(values).mean[rows, places]
        expectation, variance = moments.error(y)
        constant = "" if moments.variance_of_squares is not None else " (up to a constant, which needs fourth moments)"
        notes = [f"mean of the squared error {expectation:.6g}, variance {variance:.6g}{constant}"]
        skewed = moments.square_covariance - 2.0 * moments.covariance @ moments.mean
        if gamma < 1.0 and np.any(np.abs(skewed) > AGREES * np.abs(moments.square_covariance)):
            slopes = np.concatenate([part.slopes for part in evaluation.parts], axis=1)
            if len(evaluation.parts) > 1:
                order = np.concatenate([np.flatnonzero(rows == part.series.row) for part in evaluation.parts])
                slopes = slopes[:, np.argsort(order)]
            bias = 4.0 * (1.0 - gamma) * invert_semidefinite(evaluation.curvature) @ (slopes @ skewed)
            space = self.problem.coordinates
            shown = ", ".join(
                f"{name} by about {change:+.2g}"
                for name, change in zip(space.names, bias * space.rates(evaluation.point), strict=True)
            )
            notes.append(f"gamma < 1 with skewed noise moves the estimates: {shown}")
        return tuple(notes)

    def refine(self, evaluation: Evaluation, /) -> "MeanVarianceObjective | None":
        """Slopes of all samples for the last steps and the standard errors; steps chosen at the minimum."""
        if self.adjoint is not None:
            return replace(self, adjoint=None, curvature=None)
        if self.replans >= 2:
            return None
        planned = self.choose_steps(evaluation.point)
        return None if planned is self else replace(planned, replans=self.replans + 1)

    def choose_steps(self, point: np.ndarray, /) -> "MeanVarianceObjective":
        """With steps that suit this point; itself where the present ones do."""
        if self.adjoint is not None:
            return self
        try:
            fresh = self.predictor.replan(self.problem.coordinates.values(point, 0))
        except RefusalError:
            return self
        return self if fresh is None else replace(self, predictor=fresh)

    def step_error(self, point: np.ndarray, /) -> float:
        """What finer steps would change."""
        return self.predictor.estimate_step_error(self.problem.coordinates.values(point, 0))
