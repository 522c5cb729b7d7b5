"""Maximum likelihood for linear models: how probable the samples are, given disturbances and measurement noise.

With e_k the innovation of a sample, what the Kalman filter did not foresee of it, and s_k its variance,

    value = −log L = ½ Σ (e²/s + log 2πs),
    gradient = Σ (e ∂e/s + ½ (1 − e²/s) ∂s/s),   curvature = Σ (∂e ∂eᵀ/s + ½ ∂s ∂sᵀ/s²),

the curvature being the information of the samples (with expectations of e² and e), so that the search is Fisher's
scoring. Open values at the start have a flat prior, so that the first samples only tell where the start was, and what
that prior would pull is taken out (`open_starts`); or they are taken at their best for each φ, and what that costs is
taken out of the curvature.

Reference: M. Gerdin, T. B. Schön, T. Glad, F. Gustafsson, L. Ljung, On parameter and state estimation for linear
differential-algebraic equations (2006); the ½ of its equation (12) also belongs to log det.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from daedal import jobs
from daedal.analysis import check_noise
from daedal.errors import EstimationError, RefusalError
from daedal.estimation.criteria import Capabilities, Evaluation, Forecast, Part, fail_at, refuse_singular
from daedal.estimation.likelihood.open_starts import (
    ESTIMATED,
    FLAT,
    OpenColumns,
    Reference,
    has_many_open,
    make_reference,
    tell_open,
)
from daedal.estimation.problem import Problem, check_visible
from daedal.experiments import Accuracies, Experiment, check_enough, match_experiments
from daedal.filtering import (
    Evolution,
    InitialCondition,
    Innovated,
    LinearExperiment,
    Outlook,
    Point,
    forget_start,
    make_linear_experiments,
)
from daedal.linear import Dual
from daedal.models import as_tuple

EXACT = "none: linear equations are exact from sample to sample"

UNSETTLED = (
    "what is taken out for starts that are open did not settle, so that estimates may be off by standard errors: "
    "declare starts (initial), or compare Likelihood(initial='free')"
)
NEAR = 0.01  # standard errors by which the minimum may move with the reference
HIDDEN = 1e-16  # share of information that is rounding once open starts have taken theirs
MUCH = 2000  # samples of an experiment, times free parameters, from which on a second thread pays
LOG_2PI = float(np.log(2.0 * np.pi))


def make_exact_objective(problem: Problem, condition: InitialCondition) -> "LikelihoodObjective":
    """Check the problem, and line it up."""
    model, space = problem.system.model, problem.coordinates
    values = [space.values(space.start, number) for number in range(len(problem.data))]
    experiments = match_experiments(problem.system, problem.data, factors=problem.factors)
    linear = make_linear_experiments("Likelihood", experiments, values, condition)
    everything = [" ".join(as_tuple(key)) for key in model.disturbances]
    check_visible(problem, everything, accuracies=True, criterion="Likelihood")
    check_enough(experiments, len(space.items))
    verdict = check_noise(model)
    if not verdict.well_posed:
        first = verdict.findings[0]
        raise EstimationError(f"The samples of model '{model.name}' have no likelihood: {first.sentence}", first.remedy)
    objective = LikelihoodObjective(problem, experiments, linear, condition.open == "diffuse")
    return objective.refer_to(space.start, tilted=False) if objective.adjusted else objective


@dataclass(frozen=True, eq=False)
class LikelihoodObjective:
    """−log L as a function of φ."""

    problem: Problem
    experiments: tuple[Experiment, ...]
    linear: tuple[LinearExperiment, ...]
    diffuse: bool
    reference: np.ndarray | None = None
    references: tuple[Reference | None, ...] = ()  # of open starts in each experiment
    tilted: bool = False  # whether these have their b

    @property
    def adjusted(self) -> bool:
        """Whether starts with a flat prior could pull what is estimated."""
        return self.diffuse and bool(self.problem.coordinates.items) and any(one.plan.open for one in self.linear)

    @property
    def capabilities(self) -> Capabilities:
        """Nothing is simulated: the filter is exact."""
        finish = self.refer_again if self.adjusted else None
        return Capabilities(
            notes=self.notes,
            remarks=self.list_remarks,
            finish=finish,
            conclude=self.conclude if has_many_open([one.plan.open for one in self.linear], self.experiments) else None,
            predict=self.predict,
            foresee=self.foresee,
            steps=(EXACT, None),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What is open at the start, and samples that cannot be used."""
        notes = [note for experiment in self.linear for note in experiment.readings.unseen]
        opened = tell_open([one.plan.open for one in self.linear], FLAT if self.diffuse else ESTIMATED)
        free = Accuracies(self.problem.system.model, self.problem.coordinates.parameters).free
        if opened and free and not self.diffuse:
            opened.append(
                "a free start can fit the first samples exactly and lets a free measurement noise vanish: "
                "Likelihood(initial='diffuse') does not"
            )
        return (*notes, *opened)

    def list_remarks(self, evaluation: Evaluation, /) -> tuple[str, ...]:
        """Where stages ended before the minimum stayed where it was."""
        return (UNSETTLED,) if any(self.references) and not self._is_near(evaluation) else ()

    def conclude(self, evaluation: Evaluation) -> Evaluation:
        """With the slopes of the gradient for the curvature, and for its covariance the information.

        Starts that few samples tell are found too large in the mean, and with them the information of what moves the
        samples by them: H⁻¹ is too small then, H⁻¹ S H⁻¹ is not.
        """
        from daedal.estimation.likelihood.laplace import measure_curvature  # linear models have no use for the rest

        curvature = measure_curvature(evaluation, self.measure_gradient, self.problem.coordinates.bounds)
        return replace(evaluation, curvature=curvature, scores=evaluation.curvature)

    def measure_gradient(self, point: np.ndarray) -> np.ndarray:
        """With open starts as they are seen there."""
        objective = self.refer_to(point, tilted=True) if self.adjusted else self
        return objective(point).gradient

    def refine(self, evaluation: Evaluation, /) -> "LikelihoodObjective | None":
        """Refers to the minimum, until it does not move; there is one stage where no start is open, or none is seen."""
        if not self.adjusted or self._is_near(evaluation):
            return None
        following = self.refer_again(evaluation)
        return following if any((*following.references, *self.references)) and following is not self else None

    def refer_again(self, evaluation: Evaluation, /) -> "LikelihoodObjective":
        """With open starts as they are seen at this point."""
        return self.refer_to(evaluation.point, tilted=True)

    def refer_to(self, point: np.ndarray, *, tilted: bool) -> "LikelihoodObjective":
        """The same; as it is where there is no likelihood."""
        try:
            with refuse_singular():
                seen = OpenColumns(self.linear)
                references = tuple(
                    make_reference(seen, number, *told, self._turn(point, number), point, tilted=tilted)
                    for number, told in enumerate(self.innovate(point))
                )
        except RefusalError:
            return self
        return replace(self, reference=point, references=references, tilted=tilted)

    def _turn(self, point: np.ndarray, number: int) -> np.ndarray:
        """∂θ/∂φ in one experiment, (coordinate, parameter)."""
        space = self.problem.coordinates
        return space.convert_slopes(np.eye(len(space.parameters)), point, number)

    def _is_near(self, evaluation: Evaluation) -> bool:
        if self.reference is None or not self.tilted:
            return False
        moved = evaluation.point - self.reference
        return bool(moved @ evaluation.curvature @ moved <= NEAR**2 * moved.size)

    def __call__(self, point: np.ndarray) -> Evaluation:
        size = point.size
        value, shifted, gradient, curvature, inner = 0.0, 0.0, np.zeros(size), np.zeros((size, size)), 0
        parts: list[Part] = []
        natural = np.zeros(size)  # information if every start were known
        seen = OpenColumns(self.linear)
        try:
            with refuse_singular():
                for number, (innovated, at, evolution) in enumerate(self.innovate(point)):
                    terms = _compute_terms(innovated, self.linear[number], self.diffuse)
                    own = self._turn(point, number)
                    value += terms.value
                    gradient += own @ terms.gradient
                    if self.references and (reference := self.references[number]) is not None:
                        shift = reference.correct(seen.at(number, evolution, at), innovated, own, point)
                        shifted += float(shift.value)
                        gradient += shift.slopes
                    curvature += own @ terms.curvature @ own.T
                    natural += np.sum((own @ innovated.e.slopes) ** 2 / innovated.s.value, axis=1)
                    inner += 0 if self.diffuse else len(innovated.opened.kept)
                    parts += self._parts(number, innovated, own)
        except RefusalError as error:
            return fail_at(point, error.sentence)
        if not (np.isfinite(value + shifted) and np.isfinite(gradient).all() and np.isfinite(curvature).all()):
            return fail_at(point, "The likelihood or its gradient is not finite there.")
        hidden = np.diag(curvature) <= HIDDEN * natural
        gradient[hidden], curvature[hidden], curvature[:, hidden] = 0.0, 0.0, 0.0
        cost = value + shifted
        return Evaluation(point, cost, gradient, curvature, parts=tuple(parts), loglik=-value, inner=inner)

    def innovate(self, point: np.ndarray) -> list[tuple[Innovated, Point, Evolution]]:
        """The innovations of each experiment; matrices are made once for experiments with the same values.

        Long experiments are filtered side by side.
        """
        space, model = self.problem.coordinates, self.problem.system.model
        known: dict[tuple, tuple[Point, Evolution]] = {}
        seen = []
        for number, experiment in enumerate(self.linear):
            values = space.values(point, number)
            key = tuple(values.items())
            if key not in known:
                at = Point(model, values, space.parameters)
                known[key] = (at, experiment.stochastic.at(at))
            seen.append(known[key])

        def innovate(number: int) -> tuple[Innovated, Point, Evolution]:
            at, evolution = seen[number]
            return self.linear[number].innovate(evolution, at), at, evolution

        samples = sum(len(one.readings.measuring) for one in self.linear)
        if len(seen) > 1 and samples * (1 + len(space.parameters)) >= MUCH * len(seen):
            return jobs.map_jobs(innovate, len(seen))
        return [innovate(number) for number in range(len(seen))]

    def predict(self, point: np.ndarray) -> tuple[Forecast, ...]:
        """One step ahead, and simulated from the start."""
        return self.foresee(point, ())

    def foresee(self, point: np.ndarray, steps: Sequence[int]) -> tuple[Forecast, ...]:
        """The same, and further steps ahead."""
        evaluation = self(point)
        if not evaluation.ok:
            raise EstimationError(f"The fit cannot predict these data: {evaluation.failure}", "Compare it with others.")
        outlooks = [self._look_ahead(point, number, steps) for number in range(len(self.linear))]
        forecasts = []
        for part in evaluation.parts:
            ahead, simulated = outlooks[part.series.experiment]
            near, far = self._read_outlook(part, ahead[1]), self._read_outlook(part, simulated)
            further = {count: self._read_outlook(part, ahead[count]) for count in steps}
            forecasts.append(Forecast(part.series, near[0], part.residual, near[1], simulated=far, further=further))
        return tuple(forecasts)

    def _look_ahead(self, point: np.ndarray, number: int, steps: Sequence[int]) -> tuple[dict[int, Outlook], Outlook]:
        at = Point(self.problem.system.model, self.problem.coordinates.values(point, number), ())
        linear = self.linear[number]
        return linear.look_ahead(linear.stochastic.at(at), at, sorted({1, *steps}))

    def _read_outlook(self, part: Part, outlook: Outlook) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation at the samples of one series."""
        readings = self.linear[part.series.experiment].readings
        output = readings.outputs.index(part.series.output)
        there = readings.places[:, output] >= 0
        mean, spread = np.full((2, part.residual.size), np.nan)
        mean[readings.places[there, output]] = outlook.mean[there, output]
        spread[readings.places[there, output]] = outlook.std[there, output]
        return mean, spread

    def _parts(self, number: int, innovated: Innovated, own: np.ndarray) -> list[Part]:
        """Innovations in units of their standard deviation, output by output."""
        readings = self.linear[number].readings
        deviation = np.sqrt(innovated.s.value)
        samples = readings.line.sample_of[readings.measuring]
        U = innovated.opened.basis
        moved = -own @ innovated.e.slopes / deviation
        moved = moved - (moved @ U) @ U.T  # as the open values follow
        parts = []
        for series in self.experiments[number].series:
            output = readings.outputs.index(series.output)
            mine = readings.event_outputs == output
            places = readings.places[samples[mine], output]
            residual, spread = np.full(series.times.size, np.nan), np.full(series.times.size, np.nan)
            predicted = np.full(series.times.size, np.nan)
            residual[places] = innovated.e.value[mine] / deviation[mine]
            spread[places] = deviation[mine]
            predicted[places] = innovated.predicted[samples[mine], output]
            scored = replace(series, values=np.where(np.isfinite(residual), series.values, np.nan))
            slopes, opened = np.zeros((len(own), series.times.size)), np.zeros((U.shape[1], series.times.size))
            slopes[:, places], opened[:, places] = moved[:, mine], U[mine].T
            parts.append(Part(scored, residual, slopes, np.zeros(len(own)), spread, predicted, opened))
        return parts


@dataclass(frozen=True, eq=False)
class _Terms:
    """Of one experiment, in the parameters."""

    value: float
    gradient: np.ndarray
    curvature: np.ndarray


def _compute_terms(innovated: Innovated, experiment: LinearExperiment, diffuse: bool) -> _Terms:
    e, s, E = innovated.e, innovated.s, innovated.E
    value = 0.5 * float(np.sum(e.value**2 / s.value) + np.sum(np.log(s.value)) + e.value.size * LOG_2PI)
    value += experiment.readings.log_determinants
    weighed, rates = e.slopes / np.sqrt(s.value), s.slopes / s.value
    gradient = e.slopes @ (e.value / s.value) + 0.5 * rates @ (1.0 - e.value**2 / s.value)
    U = innovated.opened.basis
    weighed = weighed - (weighed @ U) @ U.T  # as the open values follow
    curvature = weighed @ weighed.T + 0.5 * rates @ rates.T
    if diffuse and innovated.opened.kept:
        curvature = _compute_information_without_start(innovated)
        value += innovated.opened.half_log_determinant - 0.5 * len(innovated.opened.kept) * LOG_2PI
        gradient += innovated.opened.half_log_determinant_slopes(E, s)
    return _Terms(value, gradient, curvature)


def _compute_information_without_start(innovated: Innovated) -> np.ndarray:
    """The information of samples of which the first only tell where the start was."""
    E = innovated.E[:, list(innovated.opened.kept)]
    best = innovated.opened.best
    e = Dual(innovated.e.value - innovated.E.value @ best, innovated.e.slopes - innovated.E.slopes @ best)
    e, s = forget_start(e, E, innovated.s)
    weighed, rates = e.slopes / np.sqrt(s.value), s.slopes / s.value
    return weighed @ weighed.T + 0.5 * rates @ rates.T
