"""`Likelihood(method="auto")` of a nonlinear model: Laplace's approximation, judged by particles, with a way out.

No approximation is good on all models, so none is trusted silently:

1. where disturbances act through their squares alone, or jumps, kinks or delays are in the way, Laplace's approximation
   has no path to go by: particles, or for what these cannot follow or where paths cross kinks moments, do the work from
   the beginning (a guard as √max(x, ε) is no kink in the way of paths that never come near it);
2. else Laplace looks for the maximum, and particles judge it there (`referee`, beside this file);
3. where they cannot tell, as beside accurate sensors, records that the model makes judge it (`redrawn`);
4. what is biased is not kept: particles go on from its estimate or, if records have judged, the equation that these
   put right; what could not be judged is said;
5. where particles are too few to follow the data, moments look for the maximum in their place, and particles go on from
   there if they can.

What was decided, and why, is in the notes of the fit.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from daedal.errors import DaedalError, EstimationError, RefusalError, quoted
from daedal.estimation.criteria import REALIZATIONS, Capabilities, Evaluation, Objective
from daedal.estimation.likelihood.danger import find_danger
from daedal.estimation.likelihood.guided import GUIDED, WIDER, GuidedObjective, measure_gaps
from daedal.estimation.likelihood.laplace import LaplaceObjective, make_laplace_objective
from daedal.estimation.likelihood.moments import MomentsObjective, list_white, make_moments_objective
from daedal.estimation.likelihood.particle import PARTICLES, ParticleObjective, make_plain_objective, refuse_too_many
from daedal.estimation.likelihood.redrawn import RECORDED, RECORDS, CorrectedObjective, draw_scores, tilt
from daedal.estimation.likelihood.referee import Gap, Verdict, judge_gaps, judge_records, judge_score, list_sides
from daedal.estimation.problem import Problem
from daedal.experiments import match_experiments
from daedal.filtering import InitialCondition, PooledRuns, leave_kinks, list_borders_met

if TYPE_CHECKING:
    from daedal.estimation.likelihood.likelihood import Likelihood

LANES, RUNS = 400, 8  # particles of each run of the guided referee, and runs, which tell the error of differences
MOST = 8  # times as many, where these do not tell
FAR = 1.0  # standard errors, beyond which a path does not guide to all that counts: plain particles go on, if they can
SURE = 4.0  # standard deviations of the Monte-Carlo error, as so many runs tell it
JUDGE = 0  # seed of the referee
MOST_RECORDS = 160  # that judge
ROUNDED = 1e-9  # relative difference of points that are the same
LONG = 10_000  # steps of one, beyond which they would take minutes
UNJUDGED = "this is Laplace's approximation, which only a fit judges, and replaces where it is biased"
CHECKED = "a study of data as the model makes them does, ParametricBootstrap"
LED = "particles went on from where moments led, and follow the data there"


def make_auto_objective(problem: Problem, chosen: "Likelihood") -> Objective:
    """The objective to begin with, and the way back to what another fit ended with."""
    condition = InitialCondition("free", released=True) if problem.elsewhere else chosen.condition
    return BegunObjective(_begin(problem, chosen, condition), partial(_resume, problem, chosen, condition))


def _begin(problem: Problem, chosen: "Likelihood", condition: InitialCondition) -> Objective:
    """With the reason where it is not Laplace's."""
    if (met := _list_borders_met(problem, condition)) and not list_white(problem.system.model):
        return _take_moments(make_moments_objective(problem, chosen), f"paths cross the kink of {quoted(met)}")
    try:
        particles = make_plain_objective(problem, chosen)
    except EstimationError as error:
        return _begin_without_particles(problem, chosen, condition, error)
    refuse_too_many(particles)
    particles = replace(particles, instead=partial(_begin_with_moments, problem, particles, chosen))
    if danger := find_danger(problem, particles.nonlinear, problem.coordinates.start):
        reason = f"{danger.value}, where Laplace's approximation is not safe"
        return _fall_back(particles, reason).choose_steps(problem.coordinates.start)
    try:
        laplace = make_laplace_objective(problem, condition)
    except RefusalError as error:
        return _fall_back(particles, f"Laplace's approximation cannot be used: {_quote(error)}")
    return AutoObjective(laplace, particles)


def _list_borders_met(problem: Problem, condition: InitialCondition) -> list[str]:
    """Formulas whose kinks paths cross at the start values of the parameters."""
    system, coordinates = leave_kinks(problem.system), problem.coordinates
    met: dict[str, None] = {}
    for number, experiment in enumerate(match_experiments(system, problem.data)):
        values = coordinates.values(coordinates.start, number)
        met |= dict.fromkeys(list_borders_met(experiment, values, condition))
    return list(met)


def _begin_without_particles(
    problem: Problem, chosen: "Likelihood", condition: InitialCondition, reason: EstimationError
) -> Objective:
    """Laplace without a referee, or moments; what is wrong with the problem itself is said by one of them."""
    try:
        laplace = make_laplace_objective(problem, condition)
    except RefusalError:
        if list_white(problem.system.model):  # which moments cannot simulate
            raise
        moments = make_moments_objective(problem, chosen)
        return _take_moments(moments, _quote(reason))
    return AutoObjective(laplace, None, unjudged=_quote(reason))


def _begin_with_moments(problem: Problem, particles: ParticleObjective, chosen: "Likelihood", reason: str) -> Objective:
    """Where particles have lost the data; raises where moments cannot be had."""
    moments = make_moments_objective(problem, chosen)
    return RelayObjective(_take_moments(moments, reason.rstrip(".")), particles)


def _take_moments(moments: MomentsObjective, reason: str) -> MomentsObjective:
    return replace(moments, notes=(f"moments were taken by method='auto': {reason}", *moments.notes))


def _fall_back(particles: ParticleObjective, reason: str) -> ParticleObjective:
    return replace(particles, notes=(_tell_taken(reason), *particles.notes))


def _tell_taken(reason: str) -> str:
    return f"particles were taken by method='auto': {reason}"


def _quote(error: DaedalError) -> str:
    """A sentence inside another."""
    return error.sentence.rstrip(".")


def _resume(
    problem: Problem,
    chosen: "Likelihood",
    condition: InitialCondition,
    averaged: tuple[str, int] | None,
    point: np.ndarray,
) -> Objective:
    """What a fit ended with, which nothing judges again.

    Where data begin elsewhere, Laplace's approximation alone estimates that. It predicts as what records, or particles
    that it guides, put right.
    """
    what, count = averaged or ("", 0)
    if what == REALIZATIONS:
        return make_moments_objective(problem, chosen)
    if what == PARTICLES and not problem.elsewhere:
        return make_plain_objective(problem, chosen)
    laplace = make_laplace_objective(problem, condition)
    if what == RECORDED and point.size and not problem.elsewhere:
        return tilt(laplace, point)
    if what == GUIDED and point.size and not problem.elsewhere:
        return _guide(laplace, count)
    return laplace


def _guide(laplace: LaplaceObjective, particles: int) -> GuidedObjective:
    return GuidedObjective(laplace, particles, runs=RUNS, width=WIDER).finish()


@dataclass(frozen=True, eq=False)
class BegunObjective:
    """Where a fit by method='auto' begins; what follows its first stage is that of other objectives."""

    first: Objective
    resume: Callable[[tuple[str, int] | None, np.ndarray], Objective]

    @property
    def problem(self) -> Problem:
        """That of the first objective."""
        return self.first.problem

    @property
    def capabilities(self) -> Capabilities:
        """Those of the first objective, and going on with what another fit ended with."""
        return replace(self.first.capabilities, resume=self.resume)

    def __call__(self, point: np.ndarray) -> Evaluation:
        return self.first(point)

    def refine(self, evaluation: Evaluation, /) -> Objective | None:
        """The next stage of the first objective."""
        return self.first.refine(evaluation)


@dataclass(frozen=True, eq=False)
class RelayObjective:
    """Moments in place of particles that lost the data; these go on where moments end, if they can follow there."""

    moments: MomentsObjective
    particles: ParticleObjective

    @property
    def problem(self) -> Problem:
        """That of both."""
        return self.moments.problem

    @property
    def capabilities(self) -> Capabilities:
        """Those of moments."""
        return replace(self.moments.capabilities, choose_steps=self.choose_steps, forgive=self.forgive)

    def __call__(self, point: np.ndarray) -> Evaluation:
        return self.moments(point)

    def choose_steps(self, point: np.ndarray) -> "RelayObjective":
        """With steps that suit a point."""
        return replace(self, moments=self.moments.choose_steps(point))

    def forgive(self, point: np.ndarray) -> "RelayObjective":
        """Without realizations that fail there."""
        return replace(self, moments=self.moments.forgive(point))

    def refine(self, evaluation: Evaluation, /) -> Objective | None:
        """The stages of moments; then particles, where they follow the data."""
        following = self.moments.refine(evaluation)
        if following is not None:
            return replace(self, moments=following)
        with suppress(RefusalError):
            sharp = self.particles.sharpen(evaluation)
            if not sharp.describe_loss(sharp.run(evaluation.point)):
                return replace(sharp, notes=(LED, *self.moments.notes[:1]))
        return None


@dataclass(eq=False)
class _Memory:
    """What the referee said, and of which point."""

    verdicts: list[tuple[np.ndarray, tuple[str, ...]]] = field(default_factory=list)

    def find(self, point: np.ndarray) -> tuple[str, ...]:
        """What was said last of a point, or of one that rounding at a bound has moved from it."""
        said = [words for known, words in self.verdicts if np.allclose(known, point, rtol=ROUNDED, atol=0.0)]
        return said[-1] if said else ()


@dataclass(frozen=True, eq=False)
class AutoObjective:
    """Laplace's −log L as a function of φ, with a referee at its minimum."""

    laplace: LaplaceObjective
    particles: ParticleObjective | None
    unjudged: str = ""  # why there is no referee
    memory: _Memory = field(default_factory=_Memory)

    @property
    def problem(self) -> Problem:
        """That of Laplace's objective."""
        return self.laplace.problem

    @property
    def capabilities(self) -> Capabilities:
        """Those of Laplace's objective, and what the referee says."""
        return replace(
            self.laplace.capabilities,
            remarks=self._list_remarks,
            choose_steps=self.choose_steps,
            finish=self.finish,
        )

    def __call__(self, point: np.ndarray) -> Evaluation:
        return self.laplace(point)

    def choose_steps(self, point: np.ndarray) -> "AutoObjective":
        """With steps that suit a point; the referee stays."""
        return replace(self, laplace=self.laplace.choose_steps(point), memory=_Memory())

    def refine(self, evaluation: Evaluation, /) -> Objective | None:
        """Laplace's own stages; then particles or moments, if the referee finds it biased."""
        following = self.laplace.refine(evaluation)
        if following is not None:
            return replace(self, laplace=following)
        verdict, said, take = self._judge(evaluation)
        doubts = self.laplace.doubt_kinks(evaluation.point) if verdict is None else ()
        self.memory.verdicts.append((evaluation.point, (said, *doubts)))
        if verdict is None or not verdict.biased:
            return None
        far = self.particles is not None and bool(np.any(np.abs(verdict.shifts) > FAR))
        take = self._take_plain if far and take == self._take_guided else take
        return take(f"Laplace's approximation is biased here: {verdict.describe()}", evaluation)

    def _take_guided(self, reason: str, _evaluation: Evaluation) -> Objective:
        guided = _guide(self.laplace, RUNS * LANES)
        return replace(guided, notes=(_tell_taken(reason),), most=MOST * guided.particles)

    def _take_plain(self, reason: str, evaluation: Evaluation) -> Objective:
        assert self.particles is not None  # they have judged
        return _fall_back(self.particles, reason).finish(evaluation)

    def _take_records(self, reason: str, _evaluation: Evaluation) -> Objective:
        return CorrectedObjective(self.laplace, f"put right by method='auto': {reason}")

    def finish(self, _evaluation: Evaluation, /) -> LaplaceObjective:
        """Nothing is judged where nothing is minimised."""
        return replace(self.laplace, said=(UNJUDGED,))

    @property
    def _judged(self) -> Problem:
        """With random numbers of the referee's own: it says the same of the same data, whatever the seed of the fit."""
        return replace(self.problem, seed=JUDGE)

    def _judge(self, evaluation: Evaluation) -> tuple[Verdict | None, str, Callable[[str, Evaluation], Objective]]:
        """The verdict, what to say of it, and what to take instead: by guided particles, or the others in turn."""
        verdict, said = None, self.unjudged
        for ask, take in (
            (self._ask_guided, self._take_guided),
            (self._ask_plain, self._take_plain),
            (self._ask_records, self._take_records),
        ):
            try:
                verdict = ask(evaluation)
            except RefusalError as error:
                said = said or error.sentence
                continue
            if verdict is not None and not verdict.blind:
                return verdict, f"judged at the estimate: {verdict.describe()}", take
            if verdict is not None:
                said = verdict.describe_noise()
        return None, f"it could not be judged: {said} ({CHECKED})", self._take_records

    def _ask_records(self, evaluation: Evaluation) -> Verdict:
        """By records that the model makes, as many as it takes to tell."""
        names, scores, tried = self.problem.coordinates.names, np.zeros((0, evaluation.point.size)), 0
        if sum(lined.experiment.grid.steps for lined in self.laplace.lined) > LONG:
            raise EstimationError("The data are too long to be made again.", "Take more particles.")
        curvature = self.laplace.conclude(evaluation).curvature
        while True:
            more = range(tried, max(2 * tried, RECORDS))
            tried = more.stop
            scores = np.concatenate([scores, draw_scores(self.laplace, evaluation.point, more)])
            verdict = judge_records(names, curvature, scores)
            if not verdict.blind:
                return verdict
            if tried >= MOST_RECORDS:  # putting right what needs it not costs next to nothing
                return replace(verdict, settled=True)

    def _ask_guided(self, evaluation: Evaluation) -> Verdict | None:
        """By log L one standard error to either side; None where plain particles find paths that guided ones miss."""
        if any(lined.experiment.start.spread.profiled for lined in self.laplace.lined):
            return None  # what is taken at its best is not integrated over
        evaluation = self.laplace.conclude(evaluation)  # which information may promise too much of
        plain = self._measure_plain(evaluation.point)
        verdict = self._compare_around(evaluation, LANES, 1.0, plain)
        if verdict is None or verdict.harmless or verdict.certain:
            return verdict
        verdict = self._compare_around(evaluation, LANES, WIDER, plain)
        more = verdict is not None and verdict.vague
        return self._compare_around(evaluation, MOST * LANES, WIDER, plain) if more else verdict

    def _compare_around(
        self, evaluation: Evaluation, particles: int, width: float, plain: PooledRuns | None
    ) -> Verdict | None:
        point, names = evaluation.point, self.problem.coordinates.names
        middle, approximate = self._measure_gap(point, particles, width)
        if plain is not None and _is_missing_some(plain, middle.value + approximate, middle.error):
            return None
        above = self._measure_sides(evaluation, 1.0, particles, width)
        near = [None if one is None else (one, middle) for one in above]
        verdict = judge_gaps(names, evaluation.curvature, middle, near, apart=1.0)
        if verdict.harmless:
            return verdict
        below = self._measure_sides(evaluation, -1.0, particles, width)
        sides = [None if up is None or down is None else (up, down) for up, down in zip(above, below, strict=True)]
        return judge_gaps(names, evaluation.curvature, middle, sides)

    def _measure_sides(self, evaluation: Evaluation, sign: float, particles: int, width: float) -> list[Gap | None]:
        """One standard error along each parameter; None where it is not determined, or that leaves the bounds."""
        lower, upper = self.problem.coordinates.bounds
        sides: list[Gap | None] = []
        for step in np.diag(sign * list_sides(evaluation.curvature)):
            end = evaluation.point + step
            inside = step.any() and np.all((end >= lower) & (end <= upper))
            sides.append(self._measure_gap(end, particles, width)[0] if inside else None)
        return sides

    def _measure_gap(self, point: np.ndarray, particles: int, width: float) -> tuple[Gap, float]:
        """log L by guided particles less that of Laplace, with common random numbers; and that of Laplace."""
        judged = replace(self.laplace, problem=self._judged)
        _, logliks, approximate = measure_gaps(judged, point, particles, RUNS, width)
        return Gap(logliks - approximate), approximate

    def _measure_plain(self, point: np.ndarray) -> PooledRuns | None:
        """log L by plain particles, if there are any."""
        if self.particles is None:
            return None
        return replace(self.particles, problem=self._judged).measure(point, runs=RUNS)

    def _ask_plain(self, evaluation: Evaluation) -> Verdict | None:
        """By the score of plain particles."""
        if self.particles is None:
            return None
        final = replace(self.particles, problem=self._judged, _kept={}).sharpen(evaluation)
        if not (there := final(evaluation.point)).ok:
            raise EstimationError(there.failure, "Take more particles.")
        loglik, pooled = evaluation.loglik, final.run(evaluation.point).pooled
        assert loglik is not None  # of a likelihood
        names, curvature = self.problem.coordinates.names, self.laplace.conclude(evaluation).curvature
        return judge_score(names, curvature, loglik, evaluation.gradient, pooled)

    def _list_remarks(self, evaluation: Evaluation, /) -> tuple[str, ...]:
        return (*self.laplace.list_remarks(evaluation), *filter(None, self.memory.find(evaluation.point)))


def _is_missing_some(plain: PooledRuns, loglik: float, error: float) -> bool:
    """Whether plain particles, which are never too probable, find a larger L for certain."""
    return bool(plain.loglik - loglik > SURE * np.hypot(plain.loglik_error, error))
