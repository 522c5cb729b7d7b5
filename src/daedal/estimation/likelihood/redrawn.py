"""Laplace's approximation judged, and put right, by records that the model itself makes.

Over records y of the model at φ a likelihood has scores of mean zero. That of Laplace's approximation,
g(φ; y) = ∂ℓ(φ; y), need not: with the mean ḡ(φ) over R records y_r(φ) and C the curvature of −ℓ,

    δ = C⁻¹ ḡ,   with the error C⁻¹ (cov g/R) C⁻¹,

is how far its estimates lie beside the truth, to first order. No particles are needed, so that accurate sensors, of
which these lose sight, do not matter. Where δ is too large, its zero is looked for in place of that of g:

    g(φ; y) − ḡ(φ) = 0

is an equation without bias, whatever ℓ is (indirect inference, with ℓ in the place of an auxiliary model). All y_r(φ)
keep their random numbers while φ moves, which makes ḡ smooth. With B the
derivative of the mean of g(φ; y_r(φ')) by φ' at φ, the estimate has the errors B⁻¹ cov g B⁻¹, and R⁻¹ times that from
the records, which is told apart as Monte-Carlo error. (y = w + 0.3 w² + e, 100 samples: the standard deviation of w is
1.041 by ℓ, 1.099 so, 1.104 by quadrature; at 1.1 the error is 0.134 ± 0.004 by 640 records, and 0.1354 ± 0.0006 is that
of maximum likelihood, by quadrature. Sets of 40 records told 0.119, 0.132, 0.145 and 0.140, their union 0.134: so many
tell errors. B of the data themselves would not do: by chance it may be a third larger, and cov g is not.)

C. Gouriéroux, A. Monfort, E. Renault, Indirect inference, J. Appl. Econometrics 8 (1993) S85–S118.
"""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from daedal.errors import EstimationError, RefusalError
from daedal.estimation.criteria import Capabilities, Evaluation, fail_at, refuse_singular
from daedal.estimation.likelihood.laplace import LaplaceObjective, measure_curvature
from daedal.estimation.problem import Problem
from daedal.filtering import DiscreteModel, Laplace, Normals, Point, find_path, simulate_path

RECORDS = 40  # at a point
SURE_RECORDS = 160  # that tell cov g where the search ended: 40 leave 11 % of chance in an error, these 6 %
RECORDED = "records"  # what is averaged over
LOST = 0.1  # share of the records, that may have no path
TILTED = "here Laplace's approximation has the slope that puts it right at the estimate added to it"
LEAST_ERROR = 1.0  # of log L: its maximum is not where the equation has its zero


@refuse_singular()
def draw_scores(
    laplace: LaplaceObjective, point: np.ndarray, records: range, source: np.ndarray | None = None
) -> np.ndarray:
    """g at a point φ of records that the model makes there, or at another point, (record, coordinate)."""
    problem, scores = laplace.problem, []
    space = problem.coordinates
    slopes = [space.convert_slopes(np.eye(len(space.parameters)), point, n) for n in range(len(laplace.lined))]
    makers, models = (
        [_place(laplace, one, number) for number in range(len(laplace.lined))]
        for one in (point if source is None else source, point)
    )
    for record in records:
        with suppress(EstimationError):
            pairs = zip(makers, models, strict=True)
            gradients = [_redraw(*pair, [record, number]).gradient for number, pair in enumerate(pairs)]
            scores.append(-np.sum([own @ one for own, one in zip(slopes, gradients, strict=True)], axis=0))
    if len(scores) < (1.0 - LOST) * len(records):
        raise EstimationError(
            f"Of {len(records)} records that model '{problem.system.model.name}' makes, {len(records) - len(scores)} "
            "have no most probable path.",
            "Use Likelihood(method='moments').",
        )
    return np.array(scores)


def _place(laplace: LaplaceObjective, point: np.ndarray, number: int) -> DiscreteModel:
    problem = laplace.problem
    values = problem.coordinates.values(point, number)
    return laplace.lined[number].experiment.at(Point(problem.system.model, values, problem.coordinates.parameters))


def _redraw(maker: DiscreteModel, model: DiscreteModel, seed: list[int]) -> Laplace:
    """The approximation with a record in place of the data; what has a flat prior at the start is as guessed."""
    rng, experiment = np.random.default_rng(seed), model.experiment
    first = rng.standard_normal(maker.start.normals) * maker.start.weights
    normals = Normals(first, rng.standard_normal((experiment.grid.steps, experiment.program.sizes.normals)))
    path = simulate_path(maker, normals)
    if path is None:
        raise EstimationError("A record cannot be simulated.", "Start elsewhere.")
    noise = np.sqrt(maker.variances.value) * rng.standard_normal(experiment.measurements.count)
    other = replace(experiment, measurements=experiment.measurements.redraw(path.outputs, noise)).at(model.point)
    try:  # from rest, as data are looked at; where that is no way in, from what it was made of
        return Laplace(find_path(other, Normals(0.0 * first, 0.0 * normals.steps)))
    except EstimationError:
        return Laplace(find_path(other, normals))


@final
@dataclass(frozen=True, eq=False)
class CorrectedObjective:
    """The equation without bias as a function of φ; `reason` says why Laplace's approximation alone would not do."""

    laplace: LaplaceObjective
    reason: str
    _kept: dict[bytes, np.ndarray] = field(default_factory=dict)  # scores at the last point

    @property
    def problem(self) -> Problem:
        """That of Laplace's objective."""
        return self.laplace.problem

    @property
    def capabilities(self) -> Capabilities:
        """It predicts as Laplace's objective does, and knows its noise."""
        return replace(
            self.laplace.capabilities,
            notes=(self.reason, *self.laplace.notes),
            scatter=self.scatter,
            conclude=self.conclude,
            choose_steps=lambda point: replace(self, laplace=self.laplace.choose_steps(point), _kept={}),
            averaged=(RECORDED, RECORDS),
        )

    def __call__(self, point: np.ndarray) -> Evaluation:
        approximate = self.laplace(point)
        if not approximate.ok:
            return approximate
        try:
            scores = self.draw(point)
        except RefusalError as error:
            return fail_at(point, error.sentence)
        gradient, spread = approximate.gradient + scores.mean(axis=0), _measure_spread(scores)
        if not np.isfinite(gradient).all():
            return fail_at(point, "The likelihood or its gradient is not finite there.")
        return replace(
            approximate,
            gradient=gradient,
            scores=spread,
            scatter=spread / len(scores),
            monte_carlo_error=LEAST_ERROR,
            rough=True,
        )

    def refine(self, evaluation: Evaluation, /) -> "CorrectedObjective | None":
        """With shorter steps where they are too long."""
        finer = self.laplace.refine(evaluation)
        return None if finer is None else replace(self, laplace=finer, _kept={})

    def conclude(self, evaluation: Evaluation) -> Evaluation:
        """With B, and cov g of more records than the search needs."""
        scores, bounds = self.draw(evaluation.point), self.problem.coordinates.bounds
        with suppress(RefusalError):
            more = draw_scores(self.laplace, evaluation.point, range(RECORDS, SURE_RECORDS))
            scores = np.concatenate([scores, more])

        def measure(source: np.ndarray) -> np.ndarray:
            return draw_scores(self.laplace, evaluation.point, range(RECORDS), source).mean(axis=0)

        curvature = measure_curvature(evaluation, measure, bounds)
        return replace(evaluation, curvature=curvature, scores=_measure_spread(scores))

    def scatter(self, evaluation: Evaluation) -> np.ndarray:
        """Covariance of the gradient over the random numbers of the records."""
        scores = self.draw(evaluation.point)
        return _measure_spread(scores) / len(scores)

    def draw(self, point: np.ndarray) -> np.ndarray:
        """Scores of all records, or those of the last point again."""
        key = point.tobytes()
        scores = self._kept.get(key)
        if scores is None:
            scores = draw_scores(self.laplace, point, range(RECORDS))
            self._kept.clear()
            self._kept[key] = scores
        return scores


@final
@dataclass(frozen=True, eq=False)
class TiltedObjective:
    """−ℓ(φ) + ḡ(φ̂)ᵀ(φ − φ̂), with the mean of the scores at an estimate φ̂: a function that has its minimum there.

    The equation has no function of its own, so this is what is compared with other values of φ after a fit.
    """

    laplace: LaplaceObjective
    estimate: np.ndarray
    slope: np.ndarray

    @property
    def problem(self) -> Problem:
        """That of Laplace's objective."""
        return self.laplace.problem

    @property
    def capabilities(self) -> Capabilities:
        """Those of Laplace's objective; steps are those of the estimate."""
        return replace(self.laplace.capabilities, notes=(TILTED, *self.laplace.notes), conclude=None, choose_steps=None)

    def __call__(self, point: np.ndarray) -> Evaluation:
        approximate = self.laplace(point)
        if not approximate.ok:
            return approximate
        value = approximate.value + float(self.slope @ (point - self.estimate))
        return replace(approximate, value=value, gradient=approximate.gradient + self.slope)

    def refine(self, _evaluation: Evaluation, /) -> None:
        """It was made where a search had ended."""


def tilt(laplace: LaplaceObjective, estimate: np.ndarray) -> TiltedObjective:
    """With steps that suit the estimate of a fit."""
    evaluation = laplace(estimate)
    while evaluation.ok and (finer := laplace.refine(evaluation)) is not None:
        laplace, evaluation = finer, finer(estimate)
    return TiltedObjective(laplace, estimate, draw_scores(laplace, estimate, range(RECORDS)).mean(axis=0))


def _measure_spread(scores: np.ndarray) -> np.ndarray:
    """Their covariance."""
    return np.atleast_2d(np.cov(scores, rowvar=False))
