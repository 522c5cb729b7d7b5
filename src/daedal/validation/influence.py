"""What estimates do to residuals: those from the same samples, and the errors of those from others.

An estimate from the samples themselves takes its part out of their residual. One from other data brings its error δ in,
of covariance C: e = v − ψᵀδ for the noise v of these samples, here of variance one. Counted as a number with the
precision C⁻¹ that the samples tell more of, its most probable value is taken out,

    e' = e − ψᵀ H⁻¹ ψ e,   H = ψψᵀ + C⁻¹,   cov e' = I − ψᵀ H⁻¹ ψ   where v is white,

which has the form that an estimate from the samples leaves, C⁻¹ being a part of H that other samples have added. The
variance of v is that of e', found in turns, and slopes are taken where that value leads to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from daedal.estimation import (
    Evaluation,
    Fit,
    FittedProblem,
    Objective,
    Spent,
    free_estimates,
    restore_objective,
    spend_nothing,
)
from daedal.experiments import Series
from daedal.linear import invert_semidefinite

TURNS = 3  # at most so many slopes are taken, each where the last ones lead to
UNIT_TURNS = 4


@dataclass(frozen=True, eq=False)
class Influence:
    """Series and residuals as they are tested, slopes ψ of each (number, time), and H.

    `units` are the sizes of the noise of each residual; one on the data of the fit, of which `own` is true.
    """

    series: Sequence[Series]
    residuals: Sequence[np.ndarray]
    slopes: Sequence[np.ndarray | None]
    curvature: np.ndarray
    own: bool
    units: Mapping[str, float]
    step: np.ndarray = field(default_factory=lambda: np.zeros(0))  # the most probable errors that were taken out
    opened: Mapping[tuple[str, int], np.ndarray | None] = field(default_factory=dict)  # output and experiment → U

    def select(self, output: str) -> list[np.ndarray]:
        """The residuals of one output."""
        return [e for e, one in zip(self.residuals, self.series, strict=True) if one.output == output]

    def select_whole(self, output: str) -> list[np.ndarray]:
        """Those with the errors that were taken out."""
        if not self.step.size:
            return self.select(output)
        triples = zip(self.residuals, self.slopes, self.series, strict=True)
        return [e + self.step @ S for e, S, one in triples if one.output == output and S is not None]

    def spend(self, output: str) -> Spent:
        """What was spent of the residuals of one output."""
        told = [S for S, one in zip(self.slopes, self.series, strict=True) if one.output == output and S is not None]
        residuals = self.select(output)
        opened = [self.opened.get((output, one.experiment)) for one in self.series if one.output == output]
        spent = Spent(told, self.curvature) if len(told) == len(residuals) else spend_nothing(residuals)
        return replace(spent, opened=opened)


def find_influence(fitted: FittedProblem, series: Sequence[Series], residuals: Sequence[np.ndarray]) -> Influence:
    """Of the estimates of a fit on its own data, or on others."""
    everything = fitted if fitted.own else free_estimates(fitted)
    names, ones = everything.problem.coordinates.names, dict.fromkeys((one.output for one in series), 1.0)
    found = Influence(series, residuals, [None] * len(series), np.zeros((0, 0)), fitted.own, ones)
    if not names and everything.fit.criterion.condition is None:
        return found
    stuck = {name for name, one in fitted.fit.estimates.items() if one.at_bound}
    free = [k for k, name in enumerate(names) if name not in stuck]
    objective = restore_objective(everything)
    evaluation = objective(everything.point)
    opened = {(part.series.output, part.series.experiment): part.opened for part in evaluation.parts}
    found = replace(found, opened=opened)
    slopes = _list_slopes(evaluation, found, free)
    if slopes is None or not names:
        return found
    if fitted.own:
        return replace(found, slopes=slopes, curvature=evaluation.curvature[np.ix_(free, free)])
    return _remove_errors(found, everything, objective, evaluation, free)


def _list_slopes(evaluation: Evaluation, found: Influence, free: Sequence[int]) -> list[np.ndarray] | None:
    """Of each series, where all are known."""
    parts = {(part.series.output, part.series.experiment): part.slopes[free] for part in evaluation.parts}
    known = [parts.get((one.output, one.experiment)) for one in found.series]
    told = [
        np.nan_to_num(S) for S, e in zip(known, found.residuals, strict=True) if S is not None and S.shape[1] == e.size
    ]
    return told if len(told) == len(known) else None


def _remove_errors(
    found: Influence, everything: FittedProblem, objective: Objective, evaluation: Evaluation, free: Sequence[int]
) -> Influence:
    """e' of other data, with slopes where the most probable errors lead to."""
    space, begin = everything.problem.coordinates, everything.point
    precision = _find_precision(everything.fit, space.names)[np.ix_(free, free)]
    left = found
    for turn in range(TURNS):
        step = (evaluation.point - begin)[free]
        slopes = _list_slopes(evaluation, found, free) if evaluation.ok else None
        if slopes is None:
            break
        parts = {(part.series.output, part.series.experiment): part.residual for part in evaluation.parts}
        there = [parts[one.output, one.experiment] for one in found.series]
        residuals = [e + step @ S for e, S in zip(there, slopes, strict=True)]  # at the estimate, if all were linear
        left = _weigh_errors(replace(found, residuals=residuals, slopes=slopes), evaluation, precision, free)
        if turn < TURNS - 1:
            moved = begin.copy()
            moved[free] += left.step
            evaluation = objective(np.clip(moved, *space.bounds))
    return left


def _weigh_errors(found: Influence, evaluation: Evaluation, precision: np.ndarray, free: Sequence[int]) -> Influence:
    if evaluation.loglik is None:
        return _find_units(found, precision)
    # Innovations have their variance from the model.
    curvature = evaluation.curvature if evaluation.prior is None else evaluation.prior.data.curvature
    return _correct(replace(found, curvature=curvature[np.ix_(free, free)] + precision))


def _find_units(found: Influence, precision: np.ndarray) -> Influence:
    """In units in which the noise of every output has variance one."""
    left = found
    for _ in range(UNIT_TURNS):
        units = {output: _measure(left.select(output)) * left.units[output] for output in found.units}
        sizes = [units[one.output] for one in found.series]
        residuals = [e / size for e, size in zip(found.residuals, sizes, strict=True)]
        slopes = [S / size for S, size in zip(found.slopes, sizes, strict=True) if S is not None]
        curvature = np.sum([S @ S.T for S in slopes], axis=0) + precision
        left = _correct(replace(found, residuals=residuals, slopes=slopes, curvature=curvature, units=units))
    return left


def _measure(residuals: Sequence[np.ndarray]) -> float:
    size = float(np.sqrt(np.nanmean(np.concatenate(residuals) ** 2)))
    return size if size > 0.0 else 1.0


def _correct(found: Influence) -> Influence:
    spent = Spent([S for S in found.slopes if S is not None], found.curvature)
    return replace(found, residuals=spent.remove(found.residuals), step=spent.find_step(found.residuals))


def _find_precision(fit: Fit, names: Sequence[str]) -> np.ndarray:
    """C⁻¹ of these numbers, zero for those that the fit does not know."""
    rates = fit.coordinates.rates(fit.point)
    covariance = fit.total_cov / np.outer(rates, rates)
    places = {name: k for k, name in enumerate(fit.estimates)}
    known = [
        k for k, name in enumerate(names) if name in places and np.isfinite(covariance[places[name], places[name]])
    ]
    own = [places[names[k]] for k in known]
    precision = np.zeros((len(names), len(names)))
    if known and np.all(np.diag(covariance)[own] > 0.0):
        precision[np.ix_(known, known)] = invert_semidefinite(covariance[np.ix_(own, own)])
    return precision
