"""Whether the data contradict the sizes of noise that a model declares, and what that does to a maximum of likelihood.

Where measurement noise or a disturbance is declared larger or smaller than it is, the filter trusts the wrong samples:
estimates are biased however many there are, and their curvature is no information. Each declared size gets a factor κ
that could be free. With g and H the gradient and curvature by θ and log κ, at the estimate and κ = 1,

    cᵀ K⁻¹ c ~ χ²,   c = g_κ − H_κθ H_θθ⁻¹ g_θ,   K = H_κκ − H_κθ H_θθ⁻¹ H_θκ

is Rao's score test of κ = 1. Factors that free parameters act like, or of which the data say nothing, have no K and are
left out. Where the test rejects, the fit goes on with κ free. The estimates that this leads to have errors σ that hold
whatever the sizes are, and declared sizes lead by δ away from them. The interval around the estimate is then that of
one with the known bias δ, of half width h with P(|σz + δ| < h) = 95 %, z normal; its standard error becomes h/1.96.

Reference: C. R. Rao, Large sample tests of statistical hypotheses, Proc. Cambridge Philos. Soc. 44 (1948) 50–57.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from daedal.data import Dataset
from daedal.disturbances import scale_noise
from daedal.estimation.criteria import Criterion, Evaluation
from daedal.estimation.problem import Coordinate, Problem
from daedal.estimation.search import Uncertainty, add_priors, assess_uncertainty, find_directions, search
from daedal.experiments import list_relative
from daedal.models import Model, Parameter, as_tuple
from daedal.symbolic import Expression, symbol
from daedal.systems import build

SURE = 1e-3  # probability of a contradiction by chance that is worth a word
TELLING = 1e-4  # K from which the data say something of a size; little is enough, as it grows with the size
SHARE = 1e-6  # of the curvature by a size that must be its own
WIDEST = 1e3  # κ
LEVEL = 0.95  # of the interval whose probability is kept
APART = 2.0  # standard errors of log κ that tell which of several sizes is wrong


@dataclass(frozen=True, eq=False)
class Contradiction:
    """The fit with sizes of noise free: its evaluation and errors, first of the coordinates of the fit itself.

    `notes` tell the sizes that the data speak for.
    """

    evaluation: Evaluation
    errors: Uncertainty
    notes: tuple[str, ...]


def find_contradiction(
    criterion: Criterion, problem: Problem, point: np.ndarray, inside: np.ndarray
) -> Contradiction | None:
    """None where the samples agree with the declared sizes, or cannot tell; `inside` are coordinates at no bound."""
    enlarged, sources = _free_sizes(problem)
    if not sources:
        return None
    start = np.concatenate([point, np.zeros(len(sources))])
    telling = _test(add_priors(criterion.objective(enlarged), start)(start), inside, point.size)
    if not telling:
        return None
    names = [list(sources)[k] for k in telling]
    others = [name for name in sources if name not in names]
    smaller = replace(enlarged, coordinates=enlarged.coordinates.hold(others, start))
    start = smaller.coordinates.start
    first = np.concatenate([problem.coordinates.start, start[point.size :]])  # wrong sizes may have led far away
    outcome = search(add_priors(criterion.objective(smaller), start), [start, first])
    if outcome is None:
        return None
    evaluation, nothing = outcome.evaluation, np.zeros((start.size, start.size))
    errors = assess_uncertainty(evaluation, smaller.coordinates.bounds, nothing, {}, None)
    deviations = np.sqrt(np.diag(errors.covariance))[point.size :]
    logarithms = dict(zip(names, evaluation.point[point.size :], strict=True))
    wrong = _choose_wrong(logarithms, deviations)
    notes = tuple(_describe(problem, sources[name], float(np.exp(logarithms[name]))) for name in wrong)
    return Contradiction(evaluation, errors, notes)


def allow_bias(errors: Uncertainty, contradiction: Contradiction, point: np.ndarray) -> Uncertainty:
    """Errors of the estimate at the point, which wrong sizes of noise have led astray."""
    from scipy.stats import chi2, ncx2

    size = point.size
    free = contradiction.errors.covariance[:size, :size]
    with np.errstate(invalid="ignore"):
        deviations = np.sqrt(np.diag(free))
        shift = np.abs(point - contradiction.evaluation.point[:size]) / deviations
    known = np.isfinite(shift)  # at a bound, too: it may be the wrong sizes that have led there
    factors = np.sqrt(ncx2.ppf(LEVEL, 1, shift[known] ** 2) / chi2.ppf(LEVEL, 1))
    covariance, chosen = errors.covariance.copy(), np.ix_(known, known)
    covariance[chosen] = free[chosen] * np.outer(factors, factors)
    return replace(errors, covariance=covariance)


def _free_sizes(problem: Problem) -> tuple[Problem, dict[str, str]]:
    """The problem with a factor of each declared size among its coordinates; these, and what they belong to."""
    model, sources = problem.system.model, {}
    changes: dict[str, dict] = {"measurement_noise": dict(model.measurement_noise), "disturbances": {}}
    for output in _list_sizes(model, problem.data):
        factor = _name_factor(model, sources)
        sources[str(factor)] = output
        changes["measurement_noise"][output] = factor * model.measurement_noise[output]
    for key, noise in model.disturbances.items():
        factor = _name_factor(model, sources)
        sources[str(factor)] = ", ".join(as_tuple(key))
        changes["disturbances"][key] = scale_noise(noise, factor)
    if not sources:
        return problem, sources
    parameters = {name: Parameter(1.0, lower=1.0 / WIDEST, upper=WIDEST, scale="log") for name in sources}
    new = replace(model, parameters={**model.parameters, **parameters}, **changes)
    items = [Coordinate(name, name, None, 1.0, 1.0 / WIDEST, WIDEST, "log", "") for name in sources]
    space = replace(problem.coordinates, items=(*problem.coordinates.items, *items))
    return replace(problem, system=build(new), coordinates=space), sources


def _list_sizes(model: Model, data: Sequence[Dataset]) -> list[str]:
    """Outputs whose measurement noise is a number, or a formula that does not look at the output."""
    told = {name for one in data for name, samples in one.outputs.items() if samples.noise is not None}
    measured = {name for one in data for name in one.outputs} - told - set(list_relative(model))
    return [
        key for key, one in model.measurement_noise.items() if key in measured and isinstance(one, (float, Expression))
    ]


def _name_factor(model: Model, known: Mapping[str, str]) -> Expression:
    """A symbol that neither the model nor its outputs have."""
    name = f"size{len(known)}"
    while name in model.names or name in model.outputs:
        name += "_"
    return symbol(name)


def _test(evaluation: Evaluation, inside: np.ndarray, size: int) -> list[int]:
    """Factors that the data tell something of, where they contradict one of these; none where they do not."""
    from scipy.stats import chi2

    if not evaluation.ok:
        return []
    H, g = evaluation.curvature, evaluation.gradient
    factors = np.arange(size, g.size)
    directions = find_directions(H[np.ix_(inside, inside)]) if inside.size else np.zeros((0, 0))
    inverse = directions @ directions.T
    across = H[np.ix_(factors, inside)] @ inverse
    c, K = g[factors] - across @ g[inside], H[np.ix_(factors, factors)] - across @ H[np.ix_(inside, factors)]
    telling = np.flatnonzero((np.diag(K) > TELLING) & (np.diag(K) > SHARE * np.diag(H)[factors]))
    if not telling.size:
        return []
    statistic = float(c[telling] @ np.linalg.pinv(K[np.ix_(telling, telling)], hermitian=True) @ c[telling])
    return telling.tolist() if chi2.sf(statistic, telling.size) < SURE else []


def _choose_wrong(logarithms: Mapping[str, float], deviations: np.ndarray) -> list[str]:
    """Sizes that are clearly not as declared; the farthest where none is alone."""
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.nan_to_num(np.abs(list(logarithms.values())) / deviations, nan=np.inf)
    clear = [name for name, count in zip(logarithms, apart, strict=True) if count > APART]
    return clear or [list(logarithms)[int(np.argmax(apart))]]


def _describe(problem: Problem, source: str, factor: float) -> str:
    """Which size the data speak for, and how to let them tell it."""
    declared = problem.system.model.measurement_noise.get(source)
    if declared is None:
        return (
            f"the data speak for {factor:.2g} times the declared size of the disturbance {source}, and intervals are "
            "widened by how far that moves estimates: make its size a parameter and free it"
        )
    said = f"{factor * declared:.2g} where {declared:g}" if isinstance(declared, float) else f"{factor:.2g} times what"
    return (
        f"the data speak for a measurement noise of {source} of {said} is declared, and intervals are widened by how "
        f"far that moves estimates: free it with measurement_noise={{'{source}': s}}, s a parameter"
    )
