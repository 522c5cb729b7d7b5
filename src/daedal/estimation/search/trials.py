"""Searches from several starts side by side: each is alone with its objective, so that threads change no bit of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from daedal.errors import OutOfMemoryError, give_up_if_stopped
from daedal.estimation.criteria import Evaluation, Objective, fail_at
from daedal.estimation.search.minimizers import Bounds, Function, Minimum, choose_minimizer
from daedal.estimation.search.scoring import NoisyScoring
from daedal.jobs import run_jobs


@dataclass(eq=False)
class Trial:
    """The search from one start; what it has found is kept up to date, so that an interrupt loses nothing."""

    objective: Objective
    start: np.ndarray
    first: Evaluation | None = None  # at the start
    best: Evaluation | None = None
    minimum: Minimum | None = None  # where the search ended, if it did
    shortage: OutOfMemoryError | None = None  # what was missing at the start, where that alone failed it
    evaluations: int = 0
    bounds: Bounds | None = None  # closer ones than those of the problem
    course: list[tuple[float, np.ndarray]] = field(default_factory=list)  # value and point, one by one

    @property
    def failure(self) -> str:
        """Why the start could not be evaluated, if it could not."""
        return "" if self.first is None else self.first.failure

    def run(self, count: Callable[[Evaluation], None]) -> None:
        """From the start to a minimum; every evaluation is counted."""
        if self.first is None:
            try:
                self.first = self.evaluate(count, self.start)
            except OutOfMemoryError as error:
                self.first, self.shortage = fail_at(self.start, error.sentence), error
        else:
            self.course.append((self.first.value, self.first.point))
        if self.first.ok:
            self.best = self.best or self.first
            bounds = self.bounds or self.objective.problem.coordinates.bounds
            self.minimum = minimize_from(self.first, partial(self.evaluate, count), bounds)
            if self.first.rough:
                self.best = self.minimum.evaluation  # not the luckiest

    def evaluate(self, count: Callable[[Evaluation], None], point: np.ndarray) -> Evaluation:
        """One evaluation; the start is not evaluated twice."""
        give_up_if_stopped()
        if self.first is not None and np.array_equal(self.first.point, point):
            return self.first
        evaluation = self.objective(point)
        self.evaluations += 1
        self.course.append((evaluation.value, evaluation.point))
        count(evaluation)
        if evaluation.ok and (self.best is None or evaluation.value < self.best.value):
            self.best = evaluation
        return evaluation


def minimize_from(first: Evaluation, evaluate: Function, bounds: Bounds) -> Minimum:
    """From a first evaluation to a minimum; values that jump by chance are for scoring alone."""
    minimizer = NoisyScoring() if first.rough else choose_minimizer(first)
    return minimizer(evaluate, first.point, bounds)


def choose_steps(objective: Objective, point: np.ndarray) -> Objective:
    """With steps of the simulation that suit this point, where there are any to choose."""
    choose = objective.capabilities.choose_steps
    return objective if choose is None else choose(point)


def prepare_trials(objective: Objective, starts: Sequence[np.ndarray]) -> list[Trial]:
    """One for each start, with the steps of the one before where they serve: those chosen elsewhere may be too long.

    A start whose steps do not fit into memory is one that failed: the others may need few.
    """
    trials = []
    for start in starts:
        try:
            objective = choose_steps(objective, start)
        except OutOfMemoryError as error:
            trials.append(Trial(objective, start, fail_at(start, error.sentence), shortage=error))
        else:
            trials.append(Trial(objective, start))
    return trials


def run_trials(trials: Sequence[Trial], count: Callable[[Evaluation], None]) -> None:
    """All of them, several in threads; an interrupt comes out when all have stopped."""
    if len(trials) == 1:  # nobody is to wait for a thread
        trials[0].run(count)
    else:
        run_jobs([partial(trial.run, count) for trial in trials], lambda _: None)
