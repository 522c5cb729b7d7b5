"""`Likelihood(method="particle")` where sensors are accurate: particles that the most probable path guides.

Plain particles meet an accurate sample by chance, and lose the data where few do. Guided ones
(`daedal.filtering.particles.guided`) are drawn where Laplace's approximation ℓ expects them and weighed by what that is
wrong by: log L is that of the likelihood itself, and its Monte-Carlo error vanishes where ℓ is right. Fisher's identity
would not do for its slopes: the score of a path has a variance of |∂ŷ|²/σ², however well the path is known. The gap
g = log L − ℓ is nearly the same everywhere, and differences of it with the same random numbers on both sides have
hardly any noise: with ∂ℓ exact,

    ∂ log L = ∂ℓ + ∂g,   ∂g by differences half a standard error (1/√C_jj of ℓ, the others held) to either side.

Weights that look ahead tell no information: C is the curvature of −ℓ, and innovations and predictions are those of ℓ;
errors follow from the curvatures of ℓ and of the gap at the end (`slopes`, beside this file). The search begins with ℓ
itself; the second stage, begun at its maximum, has the gap. Independent runs tell its noise.
"""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import final

import numpy as np

from daedal.errors import EstimationError, RefusalError
from daedal.estimation.criteria import Capabilities, Evaluation, fail_at, refuse_singular
from daedal.estimation.likelihood.laplace import LaplaceObjective
from daedal.estimation.likelihood.referee import list_sides
from daedal.estimation.likelihood.slopes import bend_curvature
from daedal.estimation.problem import Problem
from daedal.filtering import (
    GuidedRun,
    Laplace,
    Point,
    PooledRuns,
    Stream,
    find_path,
    find_paths,
    find_units,
    make_guide,
    run_guided,
    run_in_groups,
)

GUIDED = "guided particles"  # what is averaged over
RUNS = 6  # independent ones at a point, which share the particles and tell their error
APART = 0.5  # standard errors to either side, at which the gap is compared
WIDER = 1.05  # standard deviations of the linearised model that normals are drawn by, where this is found wrong
NOISY, MORE = 0.1, 4  # standard errors that an estimate may scatter by, and how many times the particles where it does
LARGEST_VARIANCE = 3.0  # of log L between runs, beyond which the score of particles is no longer right


@refuse_singular()
def measure_gaps(
    laplace: LaplaceObjective, point: np.ndarray, particles: int, count: int, width: float = 1.0
) -> tuple[list[GuidedRun], np.ndarray, float]:
    """So many guided runs at a point φ of one experiment after the other, log L of each, and ℓ.

    The path is looked for from the best known one.
    """
    problem, approximate, runs = laplace.problem, 0.0, []
    logliks = np.zeros(count)
    for number, lined in enumerate(laplace.lined):
        values = problem.coordinates.values(point, number)
        discrete = lined.experiment.at(Point(problem.system.model, values, ()))
        known = laplace.memory.normals.get(number)
        linear = find_paths(discrete)[0] if known is None else find_path(discrete, known)
        guide = make_guide(linear, width)
        stream = Stream(problem.seed, "guided particles", number)
        own = run_in_groups(partial(run_guided, linear, guide, particles, stream), particles, count)
        logliks += [run.loglik for run in own]
        approximate -= Laplace(linear).value
        runs += own
    return runs, logliks, approximate


@final
@dataclass(frozen=True, eq=False)
class GuidedObjective:
    """−log L as a function of φ, with Monte-Carlo noise; `reason` says why plain particles would not do."""

    laplace: LaplaceObjective
    particles: int  # of all runs together
    reason: str = ""
    notes: tuple[str, ...] = ()
    runs: int = RUNS
    width: float = 1.0
    most: int = 0  # particles, if noise asks for more
    final: bool = False
    _kept: dict[bytes, tuple[PooledRuns, np.ndarray]] = field(default_factory=dict)  # runs and gaps of the last point

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
            conclude=self.conclude,
            scatter=self.scatter,
            predict=self.laplace.predict,
            foresee=self.laplace.foresee,
            simulates=True,
            averaged=(GUIDED, self.particles),
            steps=self.laplace.capabilities.steps,
        )

    def __call__(self, point: np.ndarray) -> Evaluation:
        approximate = self.laplace(point)
        if not (approximate.ok and self.final):
            return approximate
        try:
            with refuse_singular():
                approximate = self.laplace.conclude(approximate)
                pooled = self.run(approximate)
        except RefusalError as error:
            return fail_at(point, error.sentence)
        if scattered := describe_scatter(pooled, self.particles):
            return fail_at(point, scattered)
        gradient = approximate.gradient - pooled.score(0)
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
        if not self.final:
            return self.finish()
        more = min(MORE * self.particles, self.most)
        return replace(self, particles=more, _kept={}) if more > self.particles and self._is_noisy(evaluation) else None

    def _is_noisy(self, evaluation: Evaluation) -> bool:
        """Whether particles would move some estimate by much of its error."""
        units = find_units(evaluation.curvature)
        return bool(np.linalg.eigvalsh(units.T @ self.scatter(evaluation) @ units).max(initial=0.0) > NOISY**2)

    def finish(self) -> "GuidedObjective":
        """The second stage, with more runs."""
        return replace(self, final=True, _kept={})

    def scatter(self, evaluation: Evaluation) -> np.ndarray:
        """Covariance of the gradient over the random numbers of the particles."""
        return self.run(evaluation).scatter(0)

    def conclude(self, evaluation: Evaluation) -> Evaluation:
        """With the curvature of −ℓ and that of the gap, if its noise allows."""
        if not self.final:
            return self.laplace.conclude(evaluation)
        with suppress(RefusalError), refuse_singular():
            around = evaluation.point, self.problem.coordinates.bounds
            curvature = bend_curvature(evaluation.curvature, *around, self._measure_gaps)
            return replace(evaluation, curvature=curvature)
        return evaluation

    def run(self, evaluation: Evaluation) -> PooledRuns:
        """log L and ∂g of all runs, or those of the last point again."""
        key = evaluation.point.tobytes()
        kept = self._kept.get(key)
        if kept is None:
            logliks, gaps = self._measure(evaluation.point)
            kept = PooledRuns(logliks, self._differentiate(evaluation)[:, None, None]), gaps
            self._kept.clear()
            self._kept[key] = kept
        return kept[0]

    def measure(self, point: np.ndarray) -> PooledRuns:
        """log L alone."""
        return PooledRuns(self._measure(point)[0], np.zeros((self.runs, 1, 1, 0)))

    def _measure(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log L and gaps (run,)."""
        each = max(self.particles // self.runs, 2)
        _, logliks, approximate = measure_gaps(self.laplace, point, each, self.runs, self.width)
        return logliks, logliks - approximate

    def _measure_gaps(self, point: np.ndarray) -> np.ndarray:
        """Those of the last point again."""
        kept = self._kept.get(point.tobytes())
        return self._measure(point)[1] if kept is None else kept[1]

    def _differentiate(self, evaluation: Evaluation) -> np.ndarray:
        """∂g (run, coordinate); zero along what is not determined."""
        point, bounds = evaluation.point, self.problem.coordinates.bounds
        slopes = np.zeros((self.runs, point.size))
        for j, step in enumerate(np.diag(APART * list_sides(evaluation.curvature))):
            ends = [np.clip(point + sign * step, *bounds) for sign in (1.0, -1.0)]
            apart = ends[0][j] - ends[1][j]
            if apart > 0.0:
                slopes[:, j] = (self._measure(ends[0])[1] - self._measure(ends[1])[1]) / apart
        return slopes

    def _list_remarks(self, _evaluation: Evaluation, /) -> tuple[str, ...]:
        lined = self.laplace.lined[0]
        how = f"the likelihood is that of particles guided by the most probable path ({lined.method}, steps of "
        return (f"{how}{lined.longest:.3g}){self.reason and f': {self.reason}'}", *self.laplace.list_doubts())


def describe_scatter(pooled: PooledRuns, particles: int, share: float = 1.0) -> str:
    """That runs differ by more than their slopes can bear, which rest on a share of the record, if they do."""
    variance = float(pooled.logliks.var(ddof=1))
    if share * variance <= LARGEST_VARIANCE:
        return ""
    return (
        f"The particles are too few: the log likelihood of single runs scatters by {np.sqrt(variance):.2g}; about "
        f"{round_up(particles * share * variance):,} would do: Likelihood(particles=...)."
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
