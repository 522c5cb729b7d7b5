"""What estimates do to residuals: those from the same samples, and the errors of those from others.

An estimate from the samples themselves takes its part out of their residual. One from other data brings its error δ in,
of covariance C: e = v − ψᵀδ for the noise v of these samples, here of variance one. Counted as a number with the
precision C⁻¹ that the samples tell more of, its most probable value is taken out,

    e' = e − ψᵀ H⁻¹ ψ e,   H = ψψᵀ + C⁻¹,   cov e' = I − ψᵀ H⁻¹ ψ   where v is white,

which has the form that an estimate from the samples leaves, C⁻¹ being a part of H that other samples have added. The
variance of v is that of e', found in turns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from daedal.estimation import Fit, FittedProblem, Spent, free_estimates, restore_objective, spend_nothing
from daedal.experiments import Series

TURNS = 4


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

    def select(self, output: str) -> list[np.ndarray]:
        """The residuals of one output."""
        return [e for e, one in zip(self.residuals, self.series, strict=True) if one.output == output]

    def spend(self, output: str) -> Spent:
        """What was spent of the residuals of one output."""
        told = [S for S, one in zip(self.slopes, self.series, strict=True) if one.output == output and S is not None]
        residuals = self.select(output)
        return Spent(told, self.curvature) if len(told) == len(residuals) else spend_nothing(residuals)


def find_influence(fitted: FittedProblem, series: Sequence[Series], residuals: Sequence[np.ndarray]) -> Influence:
    """Of the estimates of a fit on its own data, or on others."""
    everything = fitted if fitted.own else free_estimates(fitted)
    names, ones = everything.problem.coordinates.names, dict.fromkeys((one.output for one in series), 1.0)
    if not names:
        return Influence(series, residuals, [None] * len(series), np.zeros((0, 0)), fitted.own, ones)
    evaluation = restore_objective(everything)(everything.point)
    stuck = {name for name, one in fitted.fit.estimates.items() if one.at_bound}
    free = [k for k, name in enumerate(names) if name not in stuck]
    parts = {(part.series.output, part.series.experiment): part.slopes[free] for part in evaluation.parts}
    known = [parts.get((one.output, one.experiment)) for one in series]
    slopes = [
        np.nan_to_num(S) if S is not None and S.shape[1] == e.size else None
        for S, e in zip(known, residuals, strict=True)
    ]
    chosen = np.ix_(free, free)
    found = Influence(series, residuals, slopes, evaluation.curvature[chosen], fitted.own, ones)
    if fitted.own or any(S is None for S in slopes):
        return found
    precision = _find_precision(fitted.fit, names)[chosen]
    if evaluation.loglik is not None:  # innovations have their variance from the model
        beside = evaluation.curvature if evaluation.prior is None else evaluation.prior.data.curvature
        return _remove_errors(replace(found, curvature=beside[chosen] + precision))
    return _find_units(found, precision)


def _find_units(found: Influence, precision: np.ndarray) -> Influence:
    """In units in which the noise of every output has variance one."""
    left = found
    for _ in range(TURNS):
        units = {output: _measure(left.select(output)) * left.units[output] for output in found.units}
        sizes = [units[one.output] for one in found.series]
        residuals = [e / size for e, size in zip(found.residuals, sizes, strict=True)]
        slopes = [S / size for S, size in zip(found.slopes, sizes, strict=True) if S is not None]
        curvature = np.sum([S @ S.T for S in slopes], axis=0) + precision
        left = _remove_errors(Influence(found.series, residuals, slopes, curvature, False, units))
    return left


def _measure(residuals: Sequence[np.ndarray]) -> float:
    size = float(np.sqrt(np.nanmean(np.concatenate(residuals) ** 2)))
    return size if size > 0.0 else 1.0


def _remove_errors(found: Influence) -> Influence:
    slopes = [S for S in found.slopes if S is not None]
    return replace(found, residuals=Spent(slopes, found.curvature).remove(found.residuals))


def _find_precision(fit: Fit, names: Sequence[str]) -> np.ndarray:
    """C⁻¹ of these numbers, zero for those that the fit does not know."""
    rates = fit.coordinates.rates(fit.point)
    covariance = (fit.cov + np.nan_to_num(fit.monte_carlo_cov)) / np.outer(rates, rates)
    places = {name: k for k, name in enumerate(fit.estimates)}
    known = [
        k for k, name in enumerate(names) if name in places and np.isfinite(covariance[places[name], places[name]])
    ]
    own = [places[names[k]] for k in known]
    size = np.sqrt(np.diag(covariance)[own])
    precision = np.zeros((len(names), len(names)))
    if known and np.all(size > 0.0):
        scaled = covariance[np.ix_(own, own)] / np.outer(size, size)
        precision[np.ix_(known, known)] = np.linalg.pinv(scaled, hermitian=True) / np.outer(size, size)
    return precision
