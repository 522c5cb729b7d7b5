"""`Likelihood(method="particle")`: log L of a nonlinear model by particle filters, with its slopes and their noise.

The filter, its score and its information stand in `daedal.filtering.nonlinear`, `particles` and `particle_runs`. Here
runs are put together over experiments and coordinates φ. Two stages: the first looks for the maximum with fewer
particles; the second, begun where that ended, has several runs with all of them, chooses the memory of the score, and
tells errors of the data (products of independent runs, Σ d̄ d̄ᵀ less what noise adds) and of the particles apart. Values
jump from point to point by their Monte-Carlo error: scoring (`estimation.search.scoring`) looks for the maximum. All
runs have random numbers of their own, which are the same at every φ: the same seed gives the same estimate. Where the
score would have a larger error than differences of log L, a third stage takes these (`slopes`, beside this file).

Where plain particles lose the data, or their log L would scatter too far, particles guided by the most probable path
(`guided`, beside this file) take their place, if Laplace's approximation has one that they can follow and plain ones
find no larger likelihood. That is decided at every start, and once more where the first stage ended.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, final

import numpy as np

from daedal.analysis import check_noise
from daedal.errors import EstimationError, RefusalError, quoted
from daedal.estimation.criteria import Capabilities, Evaluation, Forecast, Objective, Part, fail_at, refuse_singular
from daedal.estimation.likelihood.danger import Danger, find_danger
from daedal.estimation.likelihood.guided import (
    LARGEST_VARIANCE,
    GuidedObjective,
    describe_scatter,
    make_guided_objective,
    round_up,
)
from daedal.estimation.likelihood.laplace import make_laplace_objective, tell_grids
from daedal.estimation.likelihood.moments import recommend_moments
from daedal.estimation.likelihood.slopes import Slopes, curve_slopes, prefer_differences, take_differences, take_score
from daedal.estimation.problem import Problem, check_visible
from daedal.experiments import Experiment, Series, check_enough, match_experiments
from daedal.filtering import (
    MEMORIES,
    NonlinearExperiment,
    ParticleRun,
    Point,
    PooledRuns,
    Stream,
    leave_kinks,
    limit_gains,
    line_up_lanes,
    look_ahead,
    measure_runs,
    refuse_unsuitable,
    run_in_groups,
    run_particles,
)
from daedal.memory import check_memory
from daedal.models import as_tuple

if TYPE_CHECKING:
    from daedal.estimation.likelihood.likelihood import Likelihood

PARTICLES = "particles"  # what is averaged over
FIRST_RUNS, RUNS = 2, 6  # independent ones at a point, in the first and in the second stage
FIRST_SHARE = 0.5  # of the particles, that each run of the first stage has
FIRST_MEMORY = 32.0  # of the score, in sample intervals
FEW = 0.5  # of the particles that count, below which they are drawn anew (`bootstrap`)
HOPELESS = 1e7  # particles that nobody has
IMPROBABLE = 100.0  # times L that plain particles find once in as many runs at most, as their mean is L (Markov)


@final
@dataclass(frozen=True, eq=False)
class Pass:
    """All runs at a point: pooled, and run by run of each experiment."""

    pooled: PooledRuns
    runs: tuple[tuple[ParticleRun, ...], ...]  # (experiment, run)


@dataclass(frozen=True, eq=False)
class ParticleObjective:
    """−log L as a function of φ, with Monte-Carlo noise."""

    problem: Problem
    experiments: tuple[Experiment, ...]
    nonlinear: tuple[NonlinearExperiment, ...]
    particles: int
    final: bool = False
    differing: bool = False  # the third stage: slopes are differences of log L
    memory: int = 0  # the place of that of the score among all that a run carries
    memories: tuple[float, ...] = (FIRST_MEMORY,)
    notes: tuple[str, ...] = ()
    guide: Callable[[str], GuidedObjective] | None = None  # makes particles that are guided, for a reason
    instead: Callable[[str], Objective] | None = None  # what takes over where particles have lost the data
    _kept: dict[bytes, Pass] = field(default_factory=dict)  # the runs of the last point
    _slopes: dict[bytes, Slopes] = field(default_factory=dict)  # and slopes there, where they are differences

    @property
    def capabilities(self) -> Capabilities:
        """It predicts one step ahead, and knows its noise."""
        return Capabilities(
            notes=self.notes,
            simulates=True,
            averaged=(PARTICLES, self.particles),
            steps=tell_grids(self.nonlinear),
            choose_steps=self.choose_steps,
            finish=self.finish,
            conclude=self.conclude,
            scatter=self.scatter,
            predict=self.predict,
            foresee=self.foresee,
        )

    def __call__(self, point: np.ndarray) -> Evaluation:
        try:
            passed = self.run(point)
        except RefusalError as error:
            return fail_at(point, error.sentence)
        pooled = passed.pooled
        if self.final and (lost := self.describe_loss(passed)):
            return fail_at(point, lost)
        try:
            slopes = self._find_slopes(point, pooled)
        except RefusalError as error:
            return fail_at(point, error.sentence)
        gradient, curvature = -slopes.score, slopes.metric
        if not (np.isfinite(pooled.loglik) and np.isfinite(gradient).all() and np.isfinite(curvature).all()):
            return fail_at(point, "The likelihood or its gradient is not finite there.")
        return Evaluation(
            point,
            -pooled.loglik,
            gradient,
            curvature,
            parts=tuple(self._list_parts(passed, point.size)),
            noise=slopes.noise,
            scatter=slopes.scatter if self.differing else None,
            monte_carlo_error=pooled.loglik_error,
            rough=True,
            loglik=pooled.loglik,
        )

    def refine(self, evaluation: Evaluation, /) -> Objective | None:
        """From the first stage to the second, and to differences where they are better."""
        if not self.final:
            return self.finish(evaluation)
        if self.differing or not prefer_differences(self.run(evaluation.point).pooled, self.memory):
            return None
        return replace(self, differing=True, _kept={}, _slopes={})

    def choose_steps(self, point: np.ndarray) -> Objective:
        """Guided, where plain particles would lose the data on the way from this point."""
        with suppress(RefusalError), refuse_singular():
            passed = self.run(point)
            reason = self.describe_collapse(passed) or self._foresee_scatter(passed)
            return (reason and self._seek_guide(point, reason, passed.pooled)) or self
        return self

    def finish(self, evaluation: Evaluation) -> Objective:
        """The second stage, begun at this point; guided or by other means, where plain particles have lost the data."""
        sharp = self.sharpen(evaluation)
        passed = sharp.run(evaluation.point)
        reason = self.describe_collapse(passed) or describe_scatter(passed.pooled, self.particles)
        guided = self._seek_guide(evaluation.point, reason, passed.pooled) if reason else None
        if guided is not None:
            return guided.finish()
        if self.instead is not None and (lost := sharp.describe_loss(passed)):
            with suppress(RefusalError):
                return self.instead(lost)
        return sharp

    @refuse_singular()
    def sharpen(self, evaluation: Evaluation) -> "ParticleObjective":
        """The second stage of plain particles, with the memory of the score that its runs choose at this point."""
        following = replace(self, final=True, memories=MEMORIES, _kept={})
        return replace(following, memory=following.run(evaluation.point).pooled.choose_memory())

    def _seek_guide(self, point: np.ndarray, reason: str, plain: PooledRuns) -> GuidedObjective | None:
        """Particles that are guided, where they do what plain ones cannot, and miss nothing that these find."""
        if self.guide is None or find_danger(self.problem, self.nonlinear, point) is Danger.SQUARES:
            return None
        with suppress(RefusalError), refuse_singular():
            guided = replace(self.guide(reason), notes=self.notes)
            there = guided.measure(point)
            missed = plain.logliks.max() - there.loglik > np.log(IMPROBABLE)
            return None if missed or describe_scatter(there, self.particles) else guided
        return None

    def conclude(self, evaluation: Evaluation) -> Evaluation:
        """With the curvature that differences of the score tell, where these have little noise."""
        if not self.final:
            return evaluation
        bounds, there = self.problem.coordinates.bounds, replace(self, differing=False, _kept={}, _slopes={})
        curvature = curve_slopes(self.run(evaluation.point).pooled, self.memory, evaluation.point, bounds, there)
        return evaluation if curvature is None else replace(evaluation, curvature=curvature, noise=None)

    def scatter(self, evaluation: Evaluation) -> np.ndarray:
        """Covariance of the gradient over the random numbers of the particles."""
        return self._find_slopes(evaluation.point, self.run(evaluation.point).pooled).scatter

    def _find_slopes(self, point: np.ndarray, pooled: PooledRuns) -> Slopes:
        """By Fisher's identity or by differences; those of the last point again."""
        if not self.differing:
            return take_score(pooled, self.memory)
        key = point.tobytes()
        slopes = self._slopes.get(key)
        if slopes is None:
            bounds, measure = self.problem.coordinates.bounds, partial(self.measure, runs=RUNS, share=1.0)
            slopes = take_differences(pooled, self.memory, point, bounds, measure)
            self._slopes.clear()
            self._slopes[key] = slopes
        return slopes

    def predict(self, point: np.ndarray) -> tuple[Forecast, ...]:
        """One step ahead, and simulated from the start."""
        return self.foresee(point, ())

    def foresee(self, point: np.ndarray, steps: Sequence[int]) -> tuple[Forecast, ...]:
        """The same, and further steps ahead."""
        passed, forecasts = self.run(point), []
        ahead = [self._look_ahead(point, number, steps) for number in range(len(self.nonlinear))]
        for part in self._list_parts(passed, point.size):
            series, number = part.series, part.series.experiment
            _, deviation = _average(passed.runs[number])
            simulated, further = ahead[number]
            forecasts.append(
                Forecast(
                    series,
                    part.prediction,
                    part.residual,
                    self._place(series, deviation),
                    simulated=(self._place(series, simulated[0]), self._place(series, simulated[1])),
                    further={
                        one: (self._place(series, mean), self._place(series, spread))
                        for one, (mean, spread) in further.items()
                    },
                )
            )
        return tuple(forecasts)

    def _look_ahead(
        self, point: np.ndarray, number: int, steps: Sequence[int]
    ) -> tuple[tuple[np.ndarray, np.ndarray], dict[int, tuple[np.ndarray, np.ndarray]]]:
        values = self.problem.coordinates.values(point, number)
        discrete = self.nonlinear[number].at(Point(self.problem.system.model, values, ()))
        return look_ahead(discrete, self.particles, Stream(self.problem.seed, "particles ahead", number), steps)

    def run(self, point: np.ndarray) -> Pass:
        """All runs, or those of the last point again."""
        key = point.tobytes()
        passed = self._kept.get(key)  # once: searches from other starts, in other threads, keep theirs here too
        if passed is None:
            passed = self._make_runs(point)
            self._kept.clear()
            self._kept[key] = passed
        return passed

    @refuse_singular()
    def measure(self, point: np.ndarray, runs: int = FIRST_RUNS, share: float = FIRST_SHARE) -> PooledRuns:
        """log L alone, by as many runs with a share of the particles; a few of the first stage's size, if not said."""
        logliks, particles = np.zeros(runs), max(round(share * self.particles), 2)
        for number, experiment in enumerate(self.nonlinear):
            values = self.problem.coordinates.values(point, number)
            discrete = experiment.at(Point(experiment.system.model, values, ()))
            stream = Stream(self.problem.seed, "particles of a measurement", number)
            run = partial(run_particles, discrete, particles, stream)
            logliks += [one.loglik for one in run_in_groups(run, particles, runs)]
        return PooledRuns(logliks, np.zeros((runs, 1, 1, 0)))

    @refuse_singular()
    def _make_runs(self, point: np.ndarray) -> Pass:
        space, count = self.problem.coordinates, RUNS if self.final else FIRST_RUNS
        runs, gains = [], []
        for number, experiment in enumerate(self.nonlinear):
            values = space.values(point, number)
            discrete = experiment.at(Point(experiment.system.model, values, space.parameters))
            share = 1.0 if self.final else FIRST_SHARE
            particles = max(round(share * self.particles), 2)
            stream = Stream(self.problem.seed, f"particles of stage {2 if self.final else 1}", number)
            run = partial(run_particles, discrete, particles, stream, memories=self.memories)
            own = run_in_groups(run, particles, count)
            slopes = space.convert_slopes(np.eye(len(space.parameters)), point, number)  # (coordinate, parameter)
            runs.append(own)
            gains.append(limit_gains(np.array([run.gains for run in own]) @ slopes.T))
        logliks = np.sum([[run.loglik for run in own] for own in runs], axis=0)
        return Pass(PooledRuns(logliks, np.concatenate(gains, axis=2)), tuple(runs))

    def describe_collapse(self, passed: Pass) -> str:
        """Where the filter lost the data, if it did in any run; empty where not."""
        lost = [
            (run.collapse, number) for number, own in enumerate(passed.runs) for run in own if run.collapse is not None
        ]
        if not lost:
            return ""
        collapse, number = min(lost, key=lambda pair: pair[0].counting)
        needed = float(np.max([one.needed for one, _ in lost]))
        cure = (
            f"about {round_up(max(needed, 2.0 * self.particles)):,} would do: Likelihood(particles=...)"
            if needed < HOPELESS
            else "no number of particles would do: look at that sample, and at how accurate it is said to be"
        )
        return (
            f"The particle filter loses the data at sample {collapse.sample + 1} (time {collapse.time:g}) of "
            f"'{self.nonlinear[number].name}': {collapse.counting:.2g} of {self.particles} particles agree with it, "
            f"and {cure}."
        )

    def describe_loss(self, passed: Pass) -> str:
        """That a filter lost the data, or that log L scatters too far for what a gain of the score rests on."""
        share = self._find_share(passed.pooled)
        return self.describe_collapse(passed) or describe_scatter(passed.pooled, self.particles, share)

    def _find_share(self, pooled: PooledRuns) -> float:
        """Of the record, that a gain of the score rests on: four times its memory, by which its error is told."""
        return min(1.0, 4.0 * self.memories[self.memory] / max(pooled.gains.shape[2], 1))

    def _foresee_scatter(self, passed: Pass) -> str:
        """That log L of runs with all particles would scatter too far, as the lanes that count tell; a run or two do.

        Each time lanes are drawn anew adds 1/ESS − 1/M to the variance, as for means of weights.
        """
        share = 1.0 if self.final else FIRST_SHARE
        drawn = [run.counting[run.counting < FEW * share * self.particles] for own in passed.runs for run in own]
        variance = share * sum(float(np.sum(1.0 / one)) for one in drawn) / len(passed.runs[0])
        if variance <= LARGEST_VARIANCE:
            return ""
        return f"The log likelihood of {self.particles} plain particles would scatter by about {np.sqrt(variance):.2g}."

    def _list_parts(self, passed: Pass, size: int) -> list[Part]:
        """Innovations in units of their standard deviation, output by output, over all runs."""
        parts = []
        for number, experiment in enumerate(self.experiments):
            data, own = self.nonlinear[number].measurements, passed.runs[number]
            e, s = np.mean([run.e for run in own], axis=0), np.mean([run.s for run in own], axis=0)
            mean, _ = _average(own)
            for series in experiment.series:
                output = data.outputs.index(series.output)
                mine = data.owners[data.rows] == output
                places = data.places[data.samples[mine], output]
                residual, deviation = np.full((2, series.times.size), np.nan)
                residual[places], deviation[places] = e[mine] / np.sqrt(s[mine]), np.sqrt(s[mine])
                predicted = self._place(series, mean)
                slopes, rates = np.zeros((size, series.times.size)), np.zeros(size)
                scored = replace(series, values=np.where(np.isfinite(residual), series.values, np.nan))
                parts.append(Part(scored, residual, slopes, rates, deviation, predicted))
        return parts

    def _place(self, series: Series, values: np.ndarray) -> np.ndarray:
        """Values (sample time, output) at the samples of one series."""
        data = self.nonlinear[series.experiment].measurements
        output = data.outputs.index(series.output)
        there = data.places[:, output] >= 0
        placed = np.full(series.times.size, np.nan)
        placed[data.places[there, output]] = values[there, output]
        return placed


def _average(runs: tuple[ParticleRun, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the outputs over all runs, (sample time, output)."""
    means = np.array([run.mean for run in runs])
    mean = means.mean(axis=0)
    squares = np.mean([run.deviation**2 for run in runs], axis=0) + np.mean((means - mean) ** 2, axis=0)
    return mean, np.sqrt(squares)


def make_particle_objective(problem: Problem, chosen: "Likelihood") -> Objective:
    """Plain particles, or guided ones where these would lose the data at the start of the search."""
    plain = make_plain_objective(problem, chosen)
    refuse_too_many(plain)
    return plain.choose_steps(problem.coordinates.start)


def make_plain_objective(problem: Problem, chosen: "Likelihood") -> ParticleObjective:
    """Check the problem, and line it up; formulas with kinks, whose values do not jump, are left as they are typed."""
    problem = replace(problem, system=leave_kinks(problem.system))
    model, space = problem.system.model, problem.coordinates
    refuse_unsuitable(problem.system, "Likelihood(method='particle')", recommend_moments(model))
    experiments = match_experiments(problem.system, problem.data)
    everything = [" ".join(as_tuple(key)) for key in model.disturbances]
    check_visible(problem, everything, accuracies=True, criterion="Likelihood")
    check_enough(experiments, len(space.items))
    verdict = check_noise(model)
    if not verdict.well_posed:
        first = verdict.findings[0]
        raise EstimationError(f"The samples of model '{model.name}' have no likelihood: {first.sentence}", first.remedy)
    lined = tuple(
        line_up_lanes(one, space.values(space.start, number), chosen.condition, problem.solver)
        for number, one in enumerate(experiments)
    )
    _refuse_open(problem, lined, chosen)

    def guide(reason: str) -> GuidedObjective:
        return make_guided_objective(make_laplace_objective(problem, chosen.condition), chosen.particles, reason)

    return ParticleObjective(problem, experiments, lined, chosen.particles, guide=guide)


def refuse_too_many(objective: ParticleObjective) -> None:
    """Particles that do not fit into memory, all runs of the second stage as they go side by side."""
    space, needed = objective.problem.coordinates, 0.0
    for number, one in enumerate(objective.nonlinear):
        discrete = one.at(Point(one.system.model, space.values(space.start, number), space.parameters))
        needed = max(needed, measure_runs(discrete, objective.particles, RUNS, len(MEMORIES)))
    subject = f"Likelihood(particles={objective.particles:,}), of which each value takes {RUNS} runs,"
    check_memory(needed, subject, "Lower particles, or free fewer parameters.")


def _refuse_open(problem: Problem, lined: tuple[NonlinearExperiment, ...], chosen: "Likelihood") -> None:
    """Particles need a law to be drawn from."""
    space, model = problem.coordinates, problem.system.model
    if chosen.initial == "guess":
        return
    for number, one in enumerate(lined):
        opened = list(one.at(Point(model, space.values(space.start, number), ())).start.nominal.open)
        if opened:
            raise EstimationError(
                f"Model '{model.name}' leaves {quoted(opened)} open at the start, but particles must be drawn there.",
                f"Hold it, initial={{'{opened[0]}': ...}} in the model, at a number (with "
                f"Likelihood(initial_std={{...}}) where it is not quite known) or at a parameter to estimate; or write "
                "Likelihood(initial='guess').",
            )
