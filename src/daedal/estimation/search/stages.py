"""The search for the minimum: every start, then stage after stage from the best; an interrupt keeps what was found."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock

import numpy as np

from daedal.errors import DaedalError, OutOfMemoryError, RefusalError
from daedal.estimation.criteria import Evaluation, Objective, count_samples, fail_at
from daedal.estimation.problem import draw_hypercube, find_crossed_zeros, has_finite_bounds
from daedal.estimation.search.minimizers import Minimum, Obstacle
from daedal.estimation.search.rivals import are_near, find_foot, find_unit, is_low, list_looks
from daedal.estimation.search.trials import Trial, minimize_from, prepare_trials, run_trials
from daedal.estimation.search.uncertainty import find_stuck
from daedal.progress import Progress

Check = Callable[[Objective, Evaluation], None]

EVALUATIONS = 12  # that a search from one start takes, about: of published problems 7 to 27
STAGES = 12  # at most
MORE_STARTS = 5  # when the best estimate lies at a bound
MOST_LOOKING = 0.5  # of the simulations before, that looks take; far away an objective that searches itself takes many
AT_ZERO = 1e-3  # of its start: a parameter that is kept on one side of zero, and wants to go to the other
LOOKS = 2  # further ones, each a full step on, before a search is begun
CLEARLY = 0.01  # of a log-likelihood, by which another minimum must be lower: exchanged names alone change nothing
CLOSE = 0.1  # distance in standard errors within which two points are the same minimum


@dataclass(frozen=True, eq=False)
class Outcome:
    """Where the search ended: the objective of the last stage, its best evaluation, and the minima on the way."""

    objective: Objective
    evaluation: Evaluation
    minima: tuple[tuple[Evaluation, int], ...]
    trials: tuple[Trial, ...]
    course: tuple[tuple[int, float, np.ndarray], ...]  # stage, value and point of the evaluations that led there
    converged: bool
    obstacle: Obstacle | None
    interrupted: bool
    evaluations: int
    more_starts: int
    failures: int
    notes: tuple[str, ...]


@dataclass
class _Search:
    """What is known so far; kept up to date so that an interrupt loses nothing."""

    objective: Objective
    progress: Progress
    best: Evaluation | None = None
    minima: list[list] = field(default_factory=list)  # evaluation and count
    trials: list[Trial] = field(default_factory=list)
    leader: Trial | None = None  # whose end was the best
    stage: int = 0
    later: list[tuple[int, float, np.ndarray]] = field(default_factory=list)  # evaluations in stages after it
    converged: bool = False
    obstacle: Obstacle | None = None
    evaluations: int = 0
    work: int = 0  # simulations that these took
    failures: int = 0
    starts: int = 1
    more_starts: int = 0
    last: tuple[Objective, Evaluation] | None = None
    check: Check | None = None
    notes: list[str] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def evaluate(self, point: np.ndarray) -> Evaluation:
        if self.last and self.last[0] is self.objective and np.array_equal(self.last[1].point, point):
            evaluation = self.last[1]
        else:
            evaluation = self.objective(point)
            self.last = (self.objective, evaluation)
            self.record(evaluation)
            self.count(evaluation)
        if evaluation.ok and (self.best is None or evaluation.value < self.best.value):
            self.best = evaluation
        return evaluation

    def record(self, evaluation: Evaluation) -> None:
        """One more step of the way, in stages that follow the starts; what is tried beside it is no part of it."""
        if self.stage:
            self.later.append((self.stage, evaluation.value, evaluation.point))

    def count(self, evaluation: Evaluation) -> None:
        """One more evaluation, in whatever thread."""
        with self.lock:
            self.evaluations += 1
            self.work += evaluation.work
            self.failures += not evaluation.ok
            self.progress.expect(self.evaluations / (EVALUATIONS * max(self.starts, 1)))
            self.progress.say(self._describe(evaluation))

    def _describe(self, evaluation: Evaluation) -> str:
        space = self.objective.problem.coordinates
        shown = [f"{n} = {v:.5g}" for n, v in zip(space.names[:4], space.natural(evaluation.point), strict=False)]
        return f"evaluation {self.evaluations}, cost {evaluation.value:.6g} at {', '.join(shown)}"

    def minimize(self, start: Evaluation) -> Minimum:
        """From a point that was evaluated before."""
        minimum = minimize_from(start, self.evaluate, self.objective.problem.coordinates.bounds)
        if start.rough:
            self.best = minimum.evaluation  # not the luckiest
        return minimum

    def add(self, minimum: Evaluation, count: int) -> None:
        """Add a minimum to the list, or count it with the same one."""
        for known in self.minima:
            if _is_same(minimum, known[0]):
                known[0] = min(minimum, known[0], key=lambda one: one.value)
                known[1] += count
                return
        self.minima.append([minimum, count])

    def run(self, starts: Sequence[np.ndarray]) -> None:
        self.starts = len(starts)
        first = self.begin(np.asarray(starts[0], dtype=float))
        self.try_all([first, *prepare_trials(self.objective, starts[1:])])
        if len(starts) == 1:
            self.more_if_stuck()
            self.more_if_crossed()
        begin = self.best
        self.stages()
        if len(starts) == 1 and not self.more_starts:
            settled = self.best
            self.more_if_stuck()
            if self.best is not settled:
                begin = self.best
                self.stages()
        end = self.best
        same = all(trial.objective is self.objective for trial in self.trials)
        if begin is not None and end is not None and not same:
            self.compare_again(begin, end)
        self.look_for_rivals()

    def begin(self, start: np.ndarray) -> Trial:
        """Leave out for good what fails at the first start, if anything does."""
        try:
            first = self.evaluate(start)
        except OutOfMemoryError as error:  # another start may need less
            return Trial(self.objective, start, fail_at(start, error.sentence), shortage=error)
        if self.check:
            self.check(self.objective, first)
        if not first.ok:
            forgiving = forgive_failures(self.objective, start)
            if forgiving is not self.objective:
                self.objective = forgiving
                first = self.evaluate(start)
        return Trial(self.objective, start, first)

    def more_if_stuck(self) -> None:
        """Try starts elsewhere when the best estimate lies at a bound."""
        space = self.objective.problem.coordinates
        stuck = self.best is not None and find_stuck(self.best, space)
        if np.any(stuck) and any(map(has_finite_bounds, space.items)):
            more = draw_hypercube(space, MORE_STARTS, self.objective.problem.seed)
            self.more_starts = len(more)
            self.try_all(prepare_trials(self.objective, more))

    def more_if_crossed(self) -> None:
        """Search on the side of zero where the search began too, where it has stepped over one that divides a model."""
        if self.best is None or self.leader is None:
            return
        problem, start = self.objective.problem, self.leader.start
        crossed = find_crossed_zeros(problem, start, self.best.point)
        if not crossed.any():
            return
        lower, upper = problem.coordinates.bounds
        closer = np.where(crossed & (start > 0.0), 0.0, lower), np.where(crossed & (start < 0.0), 0.0, upper)
        trial = Trial(self.leader.objective, start, self.leader.first, bounds=closer)
        run_trials([trial], self.count)
        end = trial.minimum
        if end is not None and np.all(np.abs(end.evaluation.point) > AT_ZERO * np.abs(start), where=crossed):
            self.trials.append(trial)
            self._take(trial)

    def try_all(self, trials: Sequence[Trial]) -> None:
        """Search from all starts; the best of them goes on."""
        self.trials += trials
        self.progress.begin()
        try:
            run_trials(trials, self.count)
        finally:  # in the order of the starts, whichever ended first
            for trial in trials:
                self._take(trial)

    def _end(self, minimum: Minimum) -> None:
        self.converged, self.obstacle = minimum.converged, minimum.obstacle

    def _take(self, trial: Trial) -> None:
        if trial.minimum is not None and trial.minimum.converged:
            self.add(trial.minimum.evaluation, 1)
        mine, known = trial.best, self.best
        if mine is None or (known is not None and known.value < mine.value):
            return
        self.best, self.objective, self.leader, self.later = mine, trial.objective, trial, []
        if trial.minimum is None:
            self.converged, self.obstacle = False, None
        else:
            self._end(trial.minimum)

    def stages(self) -> None:
        for stage in range(1, STAGES + 2):
            if self.best is None:
                return
            try:
                following = self.objective.refine(self.best)
            except DaedalError as error:  # what was found until here is kept
                self.notes.append(f"a refinement of the criterion was given up. {error.sentence}")
                return
            if following is None:
                return
            if stage > STAGES:
                self.converged, self.obstacle = False, Obstacle.STAGES
                return
            self.stage = stage
            settled = self.settle(following)
            self.stage = 0
            if not settled:
                return

    def settle(self, following: Objective) -> bool:
        """Go on from the best point with another objective, whose values cannot be compared with those before."""
        if self.best is None:
            return False
        reached = following(self.best.point)
        self.evaluations += 1
        self.work += reached.work
        if not reached.ok:
            self.notes.append(f"a refinement of the criterion was given up. {reached.failure}")
            return False
        self.objective, self.best, self.last = following, reached, (following, reached)
        self.record(reached)
        self._end(self.minimize(reached))
        return True

    def compare_again(self, begin: Evaluation, end: Evaluation) -> None:
        """Go on from the other minima in the last stage too, whose values alone can be compared with the best.

        The stages led from `begin` to `end`.
        """
        known, self.minima = sorted(self.minima, key=lambda pair: pair[0].value), []
        ended = self.converged
        for other, count in known:  # an interrupt keeps those that can be compared
            if _is_same(other, begin):
                if ended:
                    self.add(end, count)
                continue
            evaluation = self.evaluate(other.point)
            if evaluation.rough and evaluation.ok:  # a search would only follow chance
                self.add(evaluation, count)
            elif evaluation.ok:
                minimum = self.minimize(evaluation)
                if minimum.evaluation is self.best:
                    self._end(minimum)
                if minimum.converged:
                    self.add(minimum.evaluation, count)

    def look_for_rivals(self) -> None:
        """Search where another minimum may be nearly as low; the best stays the best unless one is clearly lower."""
        if self.best is None or self.best.rough or not self.converged:
            return
        best = self.best
        trials = prepare_trials(self.objective, self._list_hopeful(best))
        run_trials(trials, self.count)
        ends = [(trial, end) for trial in trials if (end := self._compare(trial)) is not None]
        for _, end in ends:
            self.add(end, 0)  # no start ended there
        trial, lowest = min(ends, key=lambda pair: pair[1].value, default=(None, best))
        if trial is not None and best.value - lowest.value > CLEARLY * find_unit(best):
            self._change_over(trial, lowest)

    def _list_hopeful(self, best: Evaluation) -> list[np.ndarray]:
        """Where searches are worth it: none that leads to a known minimum, or where another of them leads."""
        space = self.objective.problem.coordinates
        points = list_looks(best, space, self.evaluations)
        most = self.work + max(MOST_LOOKING * self.work, (1 + LOOKS) * len(points))
        looks = self.look_at(points, most)
        for _ in range(LOOKS):
            feet = [foot for look in looks if (foot := find_foot(look, best, space)) is not None]
            looks = [look for look in self.look_at(feet, most) if is_low(look, best)]
        known, hopeful = [minimum.point for minimum, _ in self.minima], []
        for look in looks:
            foot = find_foot(look, best, space)
            if foot is not None and not any(are_near(foot, point, best) for point in known):
                known.append(foot)
                hopeful.append(look.point)
        return hopeful

    def _compare(self, trial: Trial) -> Evaluation | None:
        """Where a search ended, by the objective of the best: values that other steps give cannot be compared."""
        if trial.minimum is None or not trial.minimum.converged:
            return None
        end = trial.minimum.evaluation
        if trial.objective is not self.objective:
            end = self.objective(end.point)
            self.count(end)
        return end if end.ok else None

    def _change_over(self, trial: Trial, end: Evaluation) -> None:
        """Go on from another best, with the steps and the stages that suit it."""
        assert trial.minimum is not None
        before = self.objective
        self.best, self.objective, self.leader, self.later = trial.minimum.evaluation, trial.objective, trial, []
        self.stages()
        if self.objective is not before:
            self.compare_again(end, self.best)

    def look_at(self, points: Sequence[np.ndarray], most: float) -> list[Evaluation]:
        """One evaluation of each, in their order, as what an objective remembers decides where it begins.

        One after which there were more simulations than `most` is the last.
        """
        looks: list[Evaluation] = []
        for point in points:
            if self.work <= most:
                looks.append(self.objective(point))
                self.evaluations += 1
                self.work += looks[-1].work
        return looks


def forgive_failures(objective: Objective, point: np.ndarray) -> Objective:
    """Without the random numbers that fail at this point, where there are any and they are few."""
    forgive = objective.capabilities.forgive
    if forgive is not None:
        with suppress(RefusalError):
            return forgive(point)
    return objective


def _is_same(one: Evaluation, other: Evaluation) -> bool:
    """Whether two ends of a search are the same minimum, for all that the data can tell."""
    count = count_samples(other.parts)
    # The variance of a residual, as far as the value tells; innovations of a likelihood have their variance.
    unit = 2.0 * abs(other.value) / max(count, 1) if other.loglik is None else 1.0
    apart = one.point - other.point
    limit = CLOSE**2 * unit * apart.size + 1e-12
    return float(apart @ other.curvature @ apart) <= limit and 2.0 * abs(one.value - other.value) <= limit


class NoStartError(Exception):
    """The model could not be simulated at any of the starts, and why at the first of them."""


def search(objective: Objective, starts: Sequence[np.ndarray], check: Check | None = None) -> Outcome:
    """Run all starts and stages; `check` may refuse to go on, given the first evaluation.

    What is found is kept where an interrupt, or memory that is gone, ends it.
    """
    interrupted = False
    name, remedy = objective.problem.system.model.name, "take fewer samples, realizations, starts or free parameters"
    with Progress(f"fitting '{name}':", remedy=remedy) as progress:
        progress.stage("compiling, then the first evaluation")
        running = _Search(objective, progress, check=check)
        try:
            running.run(starts)
        except KeyboardInterrupt:
            if running.best is None:
                raise
            interrupted = True
        except MemoryError as error:
            if running.best is None:
                raise
            running.notes.append(f"the search was given up, as there was no memory left. {error}".rstrip())
            interrupted = True
    best = running.best
    if best is None:
        raise running.trials[0].shortage or NoStartError(running.trials[0].failure)
    if not any(_is_same(best, minimum) for minimum, _ in running.minima):
        running.minima.append([best, 1])
    ranked = sorted(
        ((minimum, count) for minimum, count in running.minima),
        key=lambda pair: (not _is_same(best, pair[0]), pair[0].value),
    )
    return Outcome(
        objective=running.objective,
        evaluation=best,
        minima=tuple(ranked),
        trials=tuple(running.trials),
        course=(*((0, *one) for one in (running.leader.course if running.leader else ())), *running.later),
        converged=running.converged,
        obstacle=running.obstacle,
        interrupted=interrupted,
        evaluations=running.evaluations,
        more_starts=running.more_starts,
        failures=running.failures,
        notes=tuple(running.notes),
    )
