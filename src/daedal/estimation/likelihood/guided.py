"""`Likelihood(method="particle")` where sensors are accurate: particles that the most probable path guides.

Plain particles meet an accurate sample by chance, and lose the data where few do. Guided ones
(`daedal.filtering.particles.guided`) are drawn where Laplace's approximation expects them and weighed by what that is
wrong by: value and gradient (Fisher's identity) are those of the likelihood itself, with a Monte-Carlo error that
vanishes where the approximation is right. Their weights look ahead and tell no information: the curvature is that of
Laplace's objective, as are innovations and predictions. Independent runs tell the Monte-Carlo error.
"""

from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from daedal.errors import DaedalError, EstimationError
from daedal.estimation.criteria import Capabilities, Evaluation, fail_at
from daedal.estimation.likelihood.laplace import LaplaceObjective
from daedal.estimation.problem import Problem
from daedal.filtering import PooledRuns, make_guide, run_guided

FIRST_RUNS, RUNS = 2, 6  # independent ones at a point, in the first and in the second stage
LARGEST_VARIANCE = 3.0  # of log L between runs, beyond which the score of particles is no longer right


@final
@dataclass(frozen=True, eq=False)
class GuidedObjective:
    """−log L as a function of φ, with Monte-Carlo noise; `reason` says why plain particles would not do."""

    laplace: LaplaceObjective
    particles: int
    reason: str
    notes: tuple[str, ...] = ()
    final: bool = False
    _kept: dict[bytes, PooledRuns] = field(default_factory=dict)  # the runs of the last point

    @property
    def problem(self) -> Problem:
        """That of Laplace's objective."""
        return self.laplace.problem

    @property
    def capabilities(self) -> Capabilities:
        """It predicts as Laplace's objective does, and knows its noise."""
        return Capabilities(
            notes=(*self.notes, *self.laplace.notes),
            remarks=self._list_remarks,
            choose_steps=lambda point: replace(self, laplace=self.laplace.choose_steps(point), _kept={}),
            finish=lambda _: self.finish(),
            scatter=self.scatter,
            predict=self.laplace.predict,
            foresee=self.laplace.foresee,
            simulates=True,
        )

    def __call__(self, point: np.ndarray) -> Evaluation:
        approximate = self.laplace(point)
        if not approximate.ok:
            return approximate
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                pooled = self.run(point)
        except DaedalError as error:
            return fail_at(point, error.sentence)
        except np.linalg.LinAlgError:
            return fail_at(point, "The matrices of the model are singular there.")
        if self.final and (scattered := describe_scatter(pooled, self.particles)):
            return fail_at(point, scattered)
        gradient = -pooled.score(0)
        if not (np.isfinite(pooled.loglik) and np.isfinite(gradient).all()):
            return fail_at(point, "The likelihood or its gradient is not finite there.")
        return replace(
            approximate,
            value=-pooled.loglik,
            gradient=gradient,
            monte_carlo_error=pooled.loglik_error,
            rough=True,
            loglik=pooled.loglik,
        )

    def refine(self, evaluation: Evaluation, /) -> "GuidedObjective | None":
        """With shorter steps where they are too long; from the first stage to the second."""
        finer = self.laplace.refine(evaluation)
        if finer is not None:
            return replace(self, laplace=finer, _kept={})
        return None if self.final else self.finish()

    def finish(self) -> "GuidedObjective":
        """The second stage, with more runs."""
        return replace(self, final=True, _kept={})

    def scatter(self, evaluation: Evaluation) -> np.ndarray:
        """Covariance of the gradient over the random numbers of the particles."""
        return self.run(evaluation.point).scatter(0)

    def run(self, point: np.ndarray) -> PooledRuns:
        """All runs, or those of the last point again."""
        key = point.tobytes()
        pooled = self._kept.get(key)
        if pooled is None:
            pooled = self._make_runs(point)
            self._kept.clear()
            self._kept[key] = pooled
        return pooled

    def _make_runs(self, point: np.ndarray) -> PooledRuns:
        space, count = self.problem.coordinates, RUNS if self.final else FIRST_RUNS
        particles = self.particles if self.final else max(self.particles // 2, 2)
        logliks, gains = np.zeros(count), []
        for number in range(len(self.laplace.lined)):
            linear = self.laplace.find(point, number).at
            guide = make_guide(linear)
            seeds = ([self.problem.seed, 4 + self.final, number, run] for run in range(count))
            runs = [run_guided(linear, guide, particles, np.random.default_rng(seed)) for seed in seeds]
            slopes = space.convert_slopes(np.eye(len(space.parameters)), point, number)  # (coordinate, parameter)
            logliks += [run.loglik for run in runs]
            gains.append(np.array([run.score for run in runs]) @ slopes.T)
        return PooledRuns(logliks, np.stack(gains, axis=1)[:, None])  # an experiment as one sample time

    def _list_remarks(self, _evaluation: Evaluation, /) -> tuple[str, ...]:
        lined = self.laplace.lined[0]
        how = f"the likelihood is that of particles guided by the most probable path ({lined.method}, steps of "
        return (f"{how}{lined.longest:.3g}): {self.reason}", *self.laplace.list_doubts())


def describe_scatter(pooled: PooledRuns, particles: int) -> str:
    """That runs differ by more than their slopes can bear, if they do."""
    variance = float(pooled.logliks.var(ddof=1))
    if variance <= LARGEST_VARIANCE:
        return ""
    return (
        f"The particles are too few: the log likelihood of single runs scatters by {np.sqrt(variance):.2g}; about "
        f"{round_up(particles * variance):,} would do: Likelihood(particles=...)."
    )


def round_up(number: float) -> int:
    """To one digit."""
    unit = 10.0 ** np.floor(np.log10(number))
    return int(np.ceil(number / unit) * unit)


def make_guided_objective(laplace: LaplaceObjective, particles: int, reason: str) -> GuidedObjective:
    """Refuse what guided particles cannot integrate over."""
    if any(lined.experiment.start.spread.profiled for lined in laplace.lined):
        raise EstimationError(
            "Guided particles integrate over what is open at the start, but it is estimated here.",
            "Write Likelihood(initial='diffuse').",
        )
    return GuidedObjective(laplace, particles, reason)
