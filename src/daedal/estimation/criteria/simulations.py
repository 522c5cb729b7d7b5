"""The simulations of all experiments of a problem, with steps and random numbers that stay while φ moves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar, final

import numpy as np

from daedal import jobs
from daedal.errors import RefusalError, counted
from daedal.estimation.problem import Coordinates, Problem
from daedal.experiments import Experiment
from daedal.simulation import Lanes, Predictor, make_predictor, make_request

REALIZATIONS = "realizations"  # what is averaged over
AVERAGED, SINGLE = 1e-5, 1e-9  # tolerance of the steps; averages over realizations are never as exact
FEW = 3  # different steps that are told
MUCH = 100_000  # numbers to advance in an experiment, on average, from which on a second thread pays
Answer = TypeVar("Answer")


@final
@dataclass(frozen=True, eq=False)
class Simulations:
    """A predictor for each experiment."""

    coordinates: Coordinates
    predictors: tuple[Predictor, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of where they start, and of their steps."""
        first = self.predictors[0].run
        return (*first.values[0].start.notes, *first.warnings)

    @property
    def averaged(self) -> tuple[str, int] | None:
        """Realizations, and how many of them; None without disturbances."""
        count = self.predictors[0].realizations
        return None if count is None else (REALIZATIONS, count)

    @cached_property
    def steps(self) -> tuple[str, float | None]:
        """Method and steps in words, and their estimated error where they were chosen."""
        return tell_steps(self.predictors)

    def list_values(self, point: np.ndarray) -> list[tuple[Predictor, dict[str, float]]]:
        """The predictor of each experiment, and the values of its parameters."""
        return [(one, self.coordinates.values(point, k)) for k, one in enumerate(self.predictors)]

    def map(self, work: Callable[[int], Answer]) -> list[Answer]:
        """What a work gives for the number of each experiment; side by side where that is faster."""
        count = len(self.predictors)
        if count > 1 and sum(one.work for one in self.predictors) >= MUCH * count:
            return jobs.map_jobs(work, count)
        return [work(number) for number in range(count)]

    def forgive(self, point: np.ndarray) -> tuple["Simulations", str]:
        """Without the realizations that fail at this point, and a note of how many; raises where too many do."""
        predictors = tuple(one.leave_out_failures(values) for one, values in self.list_values(point))
        count = sum(len(one.left_out) for one in predictors)
        note = f"left out: {counted(count, 'realization')} that cannot be simulated at the start"
        return (replace(self, predictors=predictors), note) if count else (self, "")

    def choose_steps(self, point: np.ndarray) -> "Simulations":
        """With steps that suit this point; itself where the present ones do."""
        try:
            fresh = [one.replan(values) for one, values in self.list_values(point)]
        except RefusalError:
            return self
        if not any(fresh):
            return self
        return replace(self, predictors=tuple(new or old for new, old in zip(fresh, self.predictors, strict=True)))

    def estimate_step_error(self, point: np.ndarray) -> float:
        """What halving the steps would change at this point, relative to the largest values."""
        return max(one.estimate_step_error(values) for one, values in self.list_values(point))


def tell_steps(predictors: Sequence[Predictor]) -> tuple[str, float | None]:
    """Method and steps of all experiments in words, and the largest of their estimated errors."""
    texts = list(dict.fromkeys(one.run.text for one in predictors))
    errors = [float(one.run.plan.error) for one in predictors]
    shown = "; ".join(texts[:FEW]) + (f" and {len(texts) - FEW} more" if len(texts) > FEW else "")
    return shown, max(errors) if np.isfinite(errors).all() else None


def make_simulations(problem: Problem, experiments: Sequence[Experiment], realizations: int | None) -> Simulations:
    """Choose steps at the start, and compile; None: with disturbances at zero."""
    space = problem.coordinates
    solver = problem.solver or Lanes(tolerance=AVERAGED if realizations else SINGLE)
    predictors = tuple(
        make_predictor(
            make_request(one.system, one.drive), one.outputs, space.parameters, space.values(space.start, number),
            solver, realizations, problem.seed, f"{problem.purpose}, experiment {number}",
        )
        for number, one in enumerate(experiments)
    )  # fmt: skip
    return Simulations(space, predictors)
