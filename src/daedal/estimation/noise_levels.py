"""Whether the data contradict the noise that a model declares, and what that does to a maximum of likelihood.

Where measurement noise or a disturbance is declared larger or smaller, slower or faster than it is, the filter trusts
the wrong samples: estimates are biased however many there are, and their curvature is no information. Each declared
size, and the memory of each disturbance, gets a factor κ that could be free. With g and H the gradient and curvature by
θ and log κ, at the estimate and κ = 1,

    cᵀ K⁻¹ c ~ χ²,   c = g_κ − H_κθ H_θθ⁻¹ g_θ,   K = H_κκ − H_κθ H_θθ⁻¹ H_θκ

is Rao's score test of κ = 1. Factors that free parameters act like, or of which the data say nothing, have no K and are
left out. Where the test rejects, the fit goes on with κ free. The estimates that this leads to have errors σ that hold
whatever the κ are, and declared ones lead by δ away from them. The interval around the estimate is then that of
one with the known bias δ, of half width h with P(|σz + δ| < h) = 95 %, z normal; its standard error becomes h/1.96.
Where the fit with κ free ends in several minima that the data allow, δ reaches to the farthest of them.

Noise that is given for each sample of an output, or as a covariance of several, has one factor for all of it.

Reference: C. R. Rao, Large sample tests of statistical hypotheses, Proc. Cambridge Philos. Soc. 44 (1948) 50–57.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from daedal.data import Dataset
from daedal.disturbances import scale_noise, stretch_noise
from daedal.errors import quoted
from daedal.estimation.criteria import Criterion, Evaluation
from daedal.estimation.problem import Coordinate, Coordinates, Problem
from daedal.estimation.search import NoStartError, Uncertainty, add_priors, assess_uncertainty, find_directions, search
from daedal.experiments import list_relative
from daedal.models import Model, Parameter, as_tuple
from daedal.symbolic import Expression, symbol
from daedal.systems import build

SURE = 1e-3  # probability of a contradiction by chance that is worth a word
TELLING = 1e-4  # K from which the data say something of a factor; little is enough, as it grows with a size
SHARE = 1e-6  # of the curvature by a factor that must be its own
WIDEST = 1e3  # κ
LEVEL = 0.95  # of the interval whose probability is kept
THRESHOLD = 3.84  # of twice the criterion, of χ² at this level
TOLD, MOVED = 6, 1.0  # estimates that are told, and by how many of their standard errors they then move
APART = 2.0  # standard errors of log κ that tell which of several is wrong

Kind = Literal["accuracy", "given", "size", "memory"]


@dataclass(frozen=True)
class Source:
    """What a factor κ is of: the accuracy of outputs, declared or given, or the size or memory of a disturbance."""

    names: tuple[str, ...]
    kind: Kind


@dataclass(frozen=True, eq=False)
class Contradiction:
    """The fit with κ free: its evaluation and errors, first of the coordinates of the fit itself.

    `notes` tell the noise that the data speak for, `minima` are all points where the search ended that they allow.
    """

    evaluation: Evaluation
    errors: Uncertainty
    minima: tuple[np.ndarray, ...]
    notes: tuple[str, ...]


def find_contradiction(
    criterion: Criterion, problem: Problem, point: np.ndarray, inside: np.ndarray
) -> Contradiction | None:
    """None where the samples agree with the declared noise, or cannot tell; `inside` are coordinates at no bound."""
    enlarged, sources = _add_factors(problem)
    if not sources:
        return None
    start = np.concatenate([point, np.zeros(len(sources))])
    telling = _test(add_priors(criterion.objective(enlarged), start)(start), inside, point.size)
    if not telling:
        return None
    # All that tell are freed together: a size alone can hide a wrong memory from the test, and not from the estimates.
    names = [list(sources)[k] for k in telling]
    others = [name for name in sources if name not in names]
    smaller = replace(enlarged, coordinates=enlarged.coordinates.hold(others, start))
    start = smaller.coordinates.start
    first = np.concatenate([problem.coordinates.start, start[point.size :]])  # wrong noise may have led far away
    try:
        outcome = search(add_priors(criterion.objective(smaller), start), [start, first])
    except NoStartError:
        return None
    evaluation, nothing = outcome.evaluation, np.zeros((start.size, start.size))
    errors = assess_uncertainty(evaluation, smaller.coordinates, nothing, {}, None)
    deviations = np.sqrt(np.diag(errors.covariance))[point.size :]
    logarithms = dict(zip(names, evaluation.point[point.size :], strict=True))
    wrong = _choose_wrong(logarithms, deviations)
    notes = [_describe(problem, sources[name], float(np.exp(logarithms[name]))) for name in wrong]
    near = [end.point for end, _ in outcome.minima if end.value - evaluation.value < 0.5 * THRESHOLD]
    notes += _tell_estimates(problem.coordinates, point, evaluation.point, np.sqrt(np.diag(errors.covariance)))
    return Contradiction(evaluation, errors, (evaluation.point, *near), tuple(notes))


def allow_bias(errors: Uncertainty, contradiction: Contradiction, point: np.ndarray) -> Uncertainty:
    """Errors of the estimate at the point, which wrong noise has led astray."""
    from scipy.special import chdtri, chndtrix

    size = point.size
    free = contradiction.errors.covariance[:size, :size]
    with np.errstate(invalid="ignore"):
        deviations = np.sqrt(np.diag(free))
        away = np.max([np.abs(point - end[:size]) for end in contradiction.minima], axis=0)
        shift = away / deviations
    known = np.isfinite(shift)  # at a bound, too: it may be the wrong noise that has led there
    factors = np.sqrt(chndtrix(LEVEL, 1, shift[known] ** 2) / chdtri(1, 1.0 - LEVEL))
    covariance, chosen = errors.covariance.copy(), np.ix_(known, known)
    covariance[chosen] = free[chosen] * np.outer(factors, factors)
    return replace(errors, covariance=covariance)


def _add_factors(problem: Problem) -> tuple[Problem, dict[str, Source]]:
    """The problem with each κ among its coordinates; their names, and what they belong to."""
    model, sources = problem.system.model, {}

    def add(names: tuple[str, ...], kind: Kind) -> Expression:
        factor = _name_factor(model, len(sources))
        sources[str(factor)] = Source(names, kind)
        return factor

    sizes, disturbances = dict(model.measurement_noise), {}
    for output in _list_sizes(model, problem.data):
        sizes[output] = add((output,), "accuracy") * model.measurement_noise[output]
    for key, noise in model.disturbances.items():
        disturbances[key] = scale_noise(noise, add(as_tuple(key), "size"))
        if noise.intensity is None:
            disturbances[key] = stretch_noise(disturbances[key], add(as_tuple(key), "memory"))
    factors = {}
    for group in _list_given(model, problem.data):
        factors |= dict.fromkeys(group, str(add(group, "given")))
    if not sources:
        return problem, sources
    parameters = {name: Parameter(1.0, lower=1.0 / WIDEST, upper=WIDEST, scale="log") for name in sources}
    everything = {**model.parameters, **parameters}
    new = replace(model, parameters=everything, measurement_noise=sizes, disturbances=disturbances)
    items = [Coordinate(name, name, None, 1.0, 1.0 / WIDEST, WIDEST, "log", "") for name in sources]
    space = replace(problem.coordinates, items=(*problem.coordinates.items, *items))
    return replace(problem, system=build(new), coordinates=space, factors=factors), sources


def _list_sizes(model: Model, data: Sequence[Dataset]) -> list[str]:
    """Outputs whose measurement noise is a number, or a formula that does not look at the output."""
    measured = {name for one in data for name in one.outputs} - _list_told(data) - set(list_relative(model))
    return [
        key for key, one in model.measurement_noise.items() if key in measured and isinstance(one, (float, Expression))
    ]


def _list_given(model: Model, data: Sequence[Dataset]) -> list[tuple[str, ...]]:
    """Outputs whose noise the data tell, or the model sample by sample or as a covariance: those of one together."""
    told = _list_told(data)
    arrays = [as_tuple(key) for key, one in model.measurement_noise.items() if isinstance(one, np.ndarray)]
    return [*((name,) for name in model.outputs if name in told), *(one for one in arrays if not told & set(one))]


def _list_told(data: Sequence[Dataset]) -> set[str]:
    return {name for one in data for name, samples in one.outputs.items() if samples.noise is not None}


def _name_factor(model: Model, number: int) -> Expression:
    """A symbol that neither the model nor its outputs have."""
    name = f"factor{number}"
    while name in model.names or name in model.outputs:
        name += "_"
    return symbol(name)


def _test(evaluation: Evaluation, inside: np.ndarray, size: int) -> list[int]:
    """Factors that the data tell something of, where they contradict one of these; none where they do not."""
    from scipy.special import chdtrc

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
    return telling.tolist() if chdtrc(telling.size, statistic) < SURE else []


def _choose_wrong(logarithms: Mapping[str, float], deviations: np.ndarray) -> list[str]:
    """Factors that are clearly not one; the farthest where none is alone."""
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = np.nan_to_num(np.abs(list(logarithms.values())) / deviations, nan=np.inf)
    clear = [name for name, count in zip(logarithms, apart, strict=True) if count > APART]
    return clear or [list(logarithms)[int(np.argmax(apart))]]


def _tell_estimates(space: Coordinates, point: np.ndarray, other: np.ndarray, deviations: np.ndarray) -> list[str]:
    """Where estimates would be, if that is elsewhere; those that move farthest."""
    size = point.size
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = np.nan_to_num(np.abs(other[:size] - point) / deviations[:size], nan=0.0, posinf=0.0)
        errors = deviations[:size] * space.rates(other[:size])
    farthest = [k for k in np.argsort(-moved)[:TOLD] if moved[k] > MOVED]
    if not farthest:
        return []
    values = space.natural(other[:size])
    shown = ", ".join(f"{space.names[k]} = {values[k]:.3g} ± {errors[k]:.2g}" for k in sorted(farthest))
    return [f"with the noise that the data speak for, {shown}"]


def _describe(problem: Problem, source: Source, factor: float) -> str:
    """Which noise the data speak for, and how to let them tell it."""
    widened, names = "intervals are widened by how far that moves estimates", ", ".join(source.names)
    if source.kind == "size":
        return (
            f"the data speak for {factor:.2g} times the declared size of the disturbance {names}, and {widened}: make "
            "its size a parameter and free it"
        )
    if source.kind == "memory":
        return (
            f"the data speak for {factor:.2g} times the declared memory of the disturbance {names}, and {widened}: "
            "make its time constants parameters and free them"
        )
    if source.kind == "given":
        return (
            f"the data speak for {factor:.2g} times the measurement noise that is given for {quoted(source.names)}, "
            f"and {widened}: correct it, or declare a parameter for it and free that"
        )
    declared = problem.system.model.measurement_noise[names]
    said = f"{factor * declared:.2g} where {declared:g}" if isinstance(declared, float) else f"{factor:.2g} times what"
    return (
        f"the data speak for a measurement noise of {names} of {said} is declared, and {widened}: free it with "
        f"measurement_noise={{'{names}': s}}, s a parameter"
    )
