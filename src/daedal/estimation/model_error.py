"""Whether a fit shows that the model lacks something, and what that makes of its intervals.

No formula covers an error of the model: it moves estimates, and where to depends on how residuals are weighed. Two
signs of it are looked for: residuals that depend on an input (`search/correlation`, at a level of one in a thousand),
and estimates that move farther than chance allows when residuals are weighed otherwise, whitened in place of plain or
the other way round (Hausman's test). The other estimate is one Newton step away, δ = −H⁻¹g of the other weighing. Where
there is a sign, δ δᵀ is added to the covariance, so that intervals reach beyond both estimates. The innovations of a
likelihood have their accuracy from the model: whether that is right is asked first (`noise_levels`, beside this file).
Where they are not white even so, its curvature is no information any more, and the covariance grows by what the scores
of the innovations (`search/scores`) exceed theirs by.

Reference: J. A. Hausman, Specification tests in econometrics, Econometrica 46 (1978) 1251–1271.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from daedal.errors import quoted
from daedal.estimation.criteria import Criterion, Evaluation, Objective, Part, count_samples, list_outputs
from daedal.estimation.noise_levels import allow_bias, find_contradiction
from daedal.estimation.problem import Autoregression
from daedal.estimation.search import (
    Spent,
    Uncertainty,
    compute_covariance,
    estimate_scores,
    independence,
    model_residual,
    whiteness,
)

SURE = 1e-3  # probability of a dependence by chance that is worth a word
FAR = 4.0  # standard errors that another weighing may move an estimate
FEWEST, MOST = 50, 50_000  # samples that are tested
LAGS = 25
SAMPLES_PER_LAG = 10


@dataclass(frozen=True, eq=False)
class Examined:
    """A minimum, the coordinates that are not at a bound, and the filters that whiten; `raw` is without them."""

    criterion: Criterion
    objective: Objective
    evaluation: Evaluation
    inside: np.ndarray
    filters: Mapping[str, Autoregression]
    raw: Evaluation | None


def widen_errors(errors: Uncertainty, examined: Examined) -> tuple[Uncertainty, list[str]]:
    """The errors with what the signs of model error ask for, and these in words."""
    if examined.evaluation.loglik is not None:
        return _widen_likelihood(errors, examined)
    parts = _list_regular(examined.evaluation)
    if not parts or not examined.inside.size:
        return errors, []
    notes = _list_dependences(examined, parts)
    shift, moved = _weigh_otherwise(examined, suspected=bool(notes))
    if not notes and not moved:
        return errors, []
    chosen = np.ix_(examined.inside, examined.inside)
    covariance = errors.covariance.copy()
    covariance[chosen] += np.outer(shift, shift)
    if moved:
        names = [examined.objective.problem.coordinates.names[examined.inside[k]] for k in moved]
        how = "without whitening" if examined.raw is not None else "whitened"
        notes.append(
            f"{quoted(names)} would be elsewhere by more than {FAR:g} standard errors {how}: the model lacks something"
        )
    if shift.any():
        notes.append("intervals are widened by how far estimates move when residuals are weighed otherwise")
    return replace(errors, covariance=covariance), notes


def _list_regular(evaluation: Evaluation) -> list[Part]:
    """Parts whose residuals have lags, if together they are enough to be tested and not too many."""
    parts = [part for part in evaluation.parts if part.series.regular]
    return parts if FEWEST <= count_samples(parts) <= MOST else []


def _list_dependences(examined: Examined, parts: Sequence[Part]) -> list[str]:
    """Outputs whose residual depends on inputs, whether the model has them or not."""
    notes = []
    for output in list_outputs(parts):
        mine = [part for part in parts if part.series.output == output]
        whitened = examined.filters.get(output)
        tests = {
            name: independence(
                [part.residual for part in mine], values, _count_lags(mine), _spend(examined, mine), whitened
            )
            for name, values in _list_inputs(examined, mine).items()
        }
        depends = [name for name, test in tests.items() if test.p_value < SURE]
        if depends:
            notes.append(
                f"the residual of '{output}' depends on {quoted(depends)}: the model lacks something, and errors cover "
                "that in part only; the residuals show it (resid)"
            )
    return notes


def _count_lags(parts: Sequence[Part]) -> int:
    longest = max(part.residual.size for part in parts)
    return max(min(LAGS, count_samples(parts) // SAMPLES_PER_LAG, longest - 1), 1)


def _spend(examined: Examined, parts: Sequence[Part]) -> Spent:
    inside = examined.inside
    curvature = examined.evaluation.curvature[np.ix_(inside, inside)]
    slopes = [np.nan_to_num(part.slopes[inside]) for part in parts]
    return Spent(slopes, curvature, [part.opened for part in parts])


def _list_inputs(examined: Examined, parts: Sequence[Part]) -> dict[str, list[np.ndarray]]:
    """Every measured input at the samples of these parts."""
    data = [examined.objective.problem.data[part.series.experiment] for part in parts]
    listed: dict[str, list[np.ndarray]] = {}
    for name in data[0].inputs:
        signals = [one.inputs.get(name) for one in data]
        pairs = [(signal, part.series.times) for signal, part in zip(signals, parts, strict=True) if signal is not None]
        if len(pairs) == len(parts) and all(one.start <= t[0] and t[-1] <= one.end for one, t in pairs):
            listed[name] = [signal(times) for signal, times in pairs]
    return listed


def _weigh_otherwise(examined: Examined, *, suspected: bool) -> tuple[np.ndarray, list[int]]:
    """δ of the coordinates inside, and those among them that it moves farther than chance would."""
    inside, nothing = examined.inside, np.zeros(examined.inside.size)
    if examined.evaluation.prior is not None:  # priors would weigh otherwise too
        return nothing, []
    other = examined.raw
    if other is None and suspected:
        other = _whiten(examined)
    if other is None or not other.ok:
        return nothing, []
    chosen = np.ix_(inside, inside)
    inverse = compute_covariance(other.curvature[chosen])
    if not np.isfinite(inverse).all():
        return nothing, []
    shift = -inverse @ other.gradient[inside]
    plain = examined.evaluation if examined.raw is None else examined.raw  # whose errors are the larger ones
    variance = np.diag(compute_covariance(plain.curvature[chosen], estimate_scores(plain)[chosen]))
    far = np.abs(shift) > FAR * np.sqrt(np.where(np.isfinite(variance), variance, np.inf))
    return shift, np.flatnonzero(far).tolist()


def _whiten(examined: Examined) -> Evaluation | None:
    """At the same point, with filters that the residuals ask for."""
    evaluation, said = examined.evaluation, examined.objective.capabilities
    filters = {output: model_residual(evaluation, output) for output in list_outputs(evaluation.parts)}
    asked = any(one.order for one in filters.values()) and all(part.series.regular for part in evaluation.parts)
    return said.restore(said.scales, filters)(evaluation.point) if asked and said.restore is not None else None


def _widen_likelihood(errors: Uncertainty, examined: Examined) -> tuple[Uncertainty, list[str]]:
    """By noise that the data contradict, and by what is left of the innovations then."""
    notes: list[str] = []
    point = examined.evaluation.point
    if not FEWEST <= count_samples(examined.evaluation.parts) <= MOST:
        return errors, []
    # A test of scores needs a curvature that is their covariance, and slopes without noise.
    told = examined.evaluation.scores is None and not examined.evaluation.rough
    found = find_contradiction(examined.criterion, examined.objective.problem, point, examined.inside) if told else None
    if found is not None:
        errors, notes = allow_bias(errors, found, point), [*found.notes]
        inside = np.flatnonzero(~found.errors.at_bound[: point.size])
        examined = replace(examined, evaluation=found.evaluation, inside=inside)
    parts = _list_regular(examined.evaluation)
    if not parts:
        return errors, notes
    coloured, left = [], _list_dependences(examined, parts)
    for output in list_outputs(parts):
        mine = [part for part in parts if part.series.output == output]
        test = whiteness([part.residual for part in mine], _count_lags(mine), _spend(examined, mine))
        if test.p_value < SURE:
            coloured.append(output)
    if coloured:
        left.append(
            f"the innovations of {quoted(coloured)} are autocorrelated: dynamics or noise of the model are wrong, and "
            "errors cover that in part only; the residuals show it (resid)"
        )
    inside = examined.inside
    if not left or not inside.size:
        return errors, [*notes, *left]
    plain = replace(examined.evaluation, loglik=None, scores=None, prior=None)
    scores = estimate_scores(plain)[np.ix_(inside, inside)]
    own = np.sum([S @ S.T for S in (np.nan_to_num(part.slopes[inside]) for part in parts)], axis=0)
    known = np.diag(own) > 0.0
    ratio = np.max(np.diag(scores)[known] / np.diag(own)[known], initial=1.0)
    return replace(errors, covariance=errors.covariance * ratio), [*notes, *left]
