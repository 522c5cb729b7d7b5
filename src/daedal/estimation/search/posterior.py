"""The criterion together with the priors of the parameters: the estimate is then the maximum of the posterior.

With v the criterion, H its curvature, S the covariance of its gradient over the samples (`uncertainty`, beside this
file) and u_j the standard deviations that parameter j lies from the centre of its prior (`daedal.priors`),

    value = v + ½ λ Σ u_j²,   curvature = H + λ P,   covariance of the gradient = S + λ² P,   P = diag(∂u_j/∂φ_j)²,

so that cov = (H + λP)⁻¹ (S + λ²P) (H + λP)⁻¹ is the mean square of the error over truths drawn from the priors and the
samples alike, whatever λ is. λ is the unit of v in which it is a negative log-likelihood, and its curvature what the
samples tell:

- 1, where the criterion is a likelihood, or sums the squares of white residuals of declared accuracy;
- the mean square of the residuals of outputs whose accuracy is not declared. Estimate and λ are found in turn, which
  leads to the maximum over θ and σ of L(θ, σ) p(θ); with σ integrated out (prior 1/σ) the posterior of θ is the same.
  Each turn raises it: the tangent of log Σz² lies above it. Turns are shortened by secants of the change of log λ;
- for others, whose residuals are not what a likelihood assumes, the mean of S by H over the directions that the data
  determine, tr(H⁻¹S)/p.

Of a parameter with a prior the share that is from the data is 1 − (variance of the estimate)/(variance of the prior).

Reference: A. Gelman et al., Bayesian Data Analysis, 3rd ed. (2013), chapters 4 and 14.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from daedal.errors import EstimationError, quoted
from daedal.estimation.criteria import Capabilities, Evaluation, Objective, PriorPart, fail_at
from daedal.estimation.problem import Autoregression, Coordinates, Problem
from daedal.estimation.search.uncertainty import compare_scores
from daedal.models import Model
from daedal.priors import Prior

SETTLED = 1e-6  # relative change of λ that is not worth another stage
TURNS = 10  # in which estimate and λ are found
LONGEST = 20.0  # step of log λ by the secant, relative to that of a plain turn
UNSETTLED = 0.01  # relative change of λ, when turns have run out, that is worth a word
SMALLEST = 1e-24  # λ of data without noise


def list_priors(model: Model, space: Coordinates) -> tuple[Prior | None, ...]:
    """Of each coordinate; a local parameter has its own in each experiment."""
    return tuple(model.parameters[item.parameter].prior for item in space.items)


def sum_log_densities(model: Model, space: Coordinates, point: np.ndarray) -> float:
    """The logarithm of the prior density of the parameters themselves; zero without priors."""
    pairs = zip(list_priors(model, space), space.natural(point).tolist(), strict=True)
    return sum((prior.log_density(value) for prior, value in pairs if prior is not None), 0.0)


def add_priors(objective: Objective, point: np.ndarray) -> Objective:
    """With the priors of what is free, λ being that of a point; as it is where none says more than bounds do."""
    problem = objective.problem
    priors = list_priors(problem.system.model, problem.coordinates)
    _, slopes = _deviate(problem, priors, point)
    return _weigh(objective, priors, point) if slopes.any() else objective


def _weigh(data: Objective, priors: tuple[Prior | None, ...], point: np.ndarray) -> "PosteriorObjective":
    evaluation = data(point)
    return PosteriorObjective(data, priors, _find_weight(data, evaluation) if evaluation.ok else 1.0)


def _deviate(problem: Problem, priors: Sequence[Prior | None], point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """u and du/dφ of all coordinates, (coordinate,); zero without a prior."""
    values = problem.coordinates.natural(point).tolist()
    pairs = [(0.0, 0.0) if prior is None else prior.deviate(v) for prior, v in zip(priors, values, strict=True)]
    u, slopes = np.array(pairs).reshape(-1, 2).T
    return u, slopes * problem.coordinates.rates(point)


def _find_weight(data: Objective, evaluation: Evaluation) -> float:
    """λ."""
    if evaluation.loglik is not None or evaluation.stale:  # of another point's curvature nothing can be told
        return 1.0
    said = data.capabilities
    if not said.white:
        weight = compare_scores(data, evaluation)
    elif said.scales:
        residuals = np.concatenate([part.residual for part in evaluation.parts if part.series.output in said.scales])
        weight = float(np.nanmean(residuals**2))
    else:
        return 1.0
    if np.isnan(weight):
        names = data.problem.coordinates.names
        raise EstimationError(
            f"The criterion does not tell how the samples scatter, so priors of {quoted(names)} have no weight in it.",
            "Give more samples, or use OutputError() or Likelihood() with measurement_noise={...} in the model.",
        )
    return max(weight, SMALLEST)


@dataclass(frozen=True, eq=False)
class PosteriorObjective:
    """A criterion with priors, as a function of φ."""

    data: Objective  # the criterion alone
    priors: tuple[Prior | None, ...]
    weight: float  # λ
    turns: int = 0
    last: tuple[float, float] | None = None  # log λ of the turn before, and its change by a plain turn

    @property
    def problem(self) -> Problem:
        """That of the criterion."""
        return self.data.problem

    @property
    def capabilities(self) -> Capabilities:
        """Those of the criterion, whose further stages get the priors too."""
        said = self.data.capabilities
        return replace(
            said,
            restore=None if said.restore is None else self._restore,
            finish=_chain(said.finish, lambda finish, e: self._follow(finish(_strip(e)), e.point)),
            choose_steps=_chain(said.choose_steps, lambda choose, point: self._exchange(choose(point))),
            forgive=_chain(said.forgive, lambda forgive, point: self._follow(forgive(point), point)),
            conclude=_chain(said.conclude, lambda conclude, e: self._add(conclude(_strip(e)))),
            scatter=_chain(said.scatter, lambda scatter, e: scatter(_strip(e))),
            expect=_chain(said.expect, lambda expect, e: expect(_strip(e))),
            remarks=lambda e: (*(() if said.remarks is None else said.remarks(e)), *self._note_unsettled(e)),
        )

    def _restore(self, scales: Mapping[str, float], filters: Mapping[str, Autoregression]) -> "PosteriorObjective":
        restore = self.data.capabilities.restore
        return self if restore is None else self._exchange(restore(scales, filters))

    def _note_unsettled(self, evaluation: Evaluation) -> tuple[str, ...]:
        settled = abs(_find_weight(self.data, _strip(evaluation)) / self.weight - 1.0) < UNSETTLED
        return () if settled else ("how priors and data are weighed has not settled: fit again from these values",)

    def __call__(self, point: np.ndarray) -> Evaluation:
        own = self.data(point)
        return self._add(own) if own.ok else own

    def _add(self, own: Evaluation) -> Evaluation:
        """The priors, to what the criterion says."""
        u, slopes = _deviate(self.problem, self.priors, own.point)
        if not np.isfinite(u).all():
            return fail_at(own.point, "The priors leave it no probability there.")
        curvature = self.weight * np.diag(slopes**2)
        residuals, jacobian = own.residuals, own.jacobian
        if residuals is not None and jacobian is not None:
            root = np.sqrt(self.weight)
            residuals, jacobian = np.append(residuals, root * u), np.vstack([jacobian, root * np.diag(slopes)])
        return replace(
            own,
            value=own.value + 0.5 * self.weight * float(u @ u),
            gradient=own.gradient + self.weight * u * slopes,
            curvature=own.curvature + curvature,
            residuals=residuals,
            jacobian=jacobian,
            prior=PriorPart(own, self.weight, curvature),
        )

    def refine(self, evaluation: Evaluation, /) -> "PosteriorObjective | None":
        """The next stage of the criterion; after its last one, λ of the minimum until it stays."""
        own = _strip(evaluation)
        following = self.data.refine(own)
        if following is not None:
            return self._follow(following, evaluation.point)
        here = float(np.log(self.weight)), float(np.log(_find_weight(self.data, own) / self.weight))
        if self.turns >= TURNS or abs(here[1]) < SETTLED:
            return None
        weight = float(np.exp(here[0] + _choose_step(self.last, here)))
        return replace(self, weight=weight, turns=self.turns + 1, last=here)

    def _follow(self, data: Objective, point: np.ndarray) -> "PosteriorObjective":
        """Another stage of the criterion, which may have other units."""
        return self if data is self.data else replace(_weigh(data, self.priors, point), turns=self.turns)

    def _exchange(self, data: Objective) -> "PosteriorObjective":
        """The same criterion with other steps."""
        return self if data is self.data else replace(self, data=data)


def _choose_step(before: tuple[float, float] | None, here: tuple[float, float]) -> float:
    """The change of log λ: that of a plain turn or, where two turns tell, to where the secant has none."""
    plain = here[1]
    if before is None or before[1] == plain:
        return plain
    secant = -plain * (here[0] - before[0]) / (plain - before[1])
    return secant if 0.0 < secant / plain < LONGEST else plain


def _strip(evaluation: Evaluation) -> Evaluation:
    """What the criterion alone says."""
    return evaluation if evaluation.prior is None else evaluation.prior.data


def _chain(ability: Callable | None, use: Callable) -> Callable[[Any], Any] | None:
    """An ability of the criterion as one of the posterior, where the criterion has it."""
    return None if ability is None else lambda at: use(ability, at)
