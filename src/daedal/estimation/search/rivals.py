"""Where another minimum may be nearly as low as the best: few points, each looked at once before a search is worth it.

A model whose parts are alike, two lags in series say, has a minimum for each way to tell them apart, and data that
hardly tell them apart make these nearly as low as the best. So the points are

- the best one with two parameters of one unit exchanged, those called alike (k1 and k2) first, then those of the most
  similar size;
- both ends of the direction that the data tell least about, `REACH` standard deviations away: a valley that bends or
  forks there has left the quadratic model. Where that moves every parameter by a small part of itself, it has not.

A look is one evaluation. With its value v, gradient g and curvature H a full step leads to v − ½ gᵀH⁻¹g, which is exact
for what the residuals are linear in, such as gains. Where that is low enough, and elsewhere than the best, the next
look is taken there; what is still low and elsewhere after some of them is where a search begins. All of it takes a part
of the evaluations that the search took, unless there is something to be found.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, islice

import numpy as np

from daedal.estimation.criteria import Evaluation, count_samples
from daedal.estimation.problem import Coordinate, Coordinates
from daedal.estimation.search.curvature import find_directions

SHARE = 1 / 3  # of the evaluations so far, that looks may take
HOPE = 20.0  # of a log-likelihood above the best, within which a search is worth it: residuals may be correlated
APART = 2.0  # standard deviations from the best, within which it is the same minimum
FAR = np.log(1e3)  # from the best, on a log scale
EXACT = 1e-20  # squared residuals in units of their accuracy: rounding
FEWEST = 2  # looks, however short the search was
LOOSE = 0.3  # change of a parameter by its own size, or of its logarithm, from which on a model need not be quadratic
REACH = 3.0  # standard deviations, to the ends of the least known direction


def list_looks(best: Evaluation, space: Coordinates, spent: int) -> list[np.ndarray]:
    """The points to look at, after so many evaluations; none where the data are met exactly, so that nothing rivals."""
    if find_unit(best) <= EXACT:
        return []
    points = chain(_list_exchanges(best, space), _list_ends(best, space))
    return list(islice(points, max(int(SHARE * spent), FEWEST)))


def find_foot(look: Evaluation, best: Evaluation, space: Coordinates) -> np.ndarray | None:
    """Where a full step from a look leads, if that promises another minimum."""
    if not look.ok:
        return None
    directions = find_directions(look.curvature)
    slopes = directions.T @ look.gradient
    foot = _limit(look.point - directions @ slopes, best, space)
    promised = look.value - 0.5 * float(slopes @ slopes)
    return foot if _is_low(promised, best) and measure_distance(foot, best) > APART else None


def is_low(look: Evaluation, best: Evaluation) -> bool:
    """Whether the criterion is low enough to go on from here."""
    return look.ok and _is_low(look.value, best)


def find_unit(best: Evaluation) -> float:
    """What of the criterion is one of log L, as far as its value tells: innovations of a likelihood have unit size."""
    return 2.0 * abs(best.value) / max(count_samples(best.parts), 1) if best.loglik is None else 1.0


def measure_distance(point: np.ndarray, best: Evaluation) -> float:
    """In standard deviations, by the curvature at the best."""
    apart = point - best.point
    return float(np.sqrt(max(apart @ best.curvature @ apart, 0.0) / max(find_unit(best), np.finfo(float).tiny)))


def are_near(one: np.ndarray, other: np.ndarray, best: Evaluation) -> bool:
    """Whether two points are the same minimum, by the curvature at the best."""
    return measure_distance(best.point + one - other, best) <= APART


def _limit(point: np.ndarray, best: Evaluation, space: Coordinates) -> np.ndarray:
    """Inside the bounds, and on a log scale not beyond all sizes."""
    far = np.where(space.logarithmic, FAR, np.inf)
    return np.clip(np.clip(point, best.point - far, best.point + far), *space.bounds)


def _is_low(value: float, best: Evaluation) -> bool:
    return value <= best.value + HOPE * find_unit(best)


def _list_exchanges(best: Evaluation, space: Coordinates) -> Iterator[np.ndarray]:
    """One after the other, as most are never looked at where parameters are many."""
    theta = space.natural(best.point)
    pairs = [
        (i, j)
        for i, j in combinations(range(theta.size), 2)
        if _are_alike(space.items[i], space.items[j]) and _fit(space.items, theta, i, j)
    ]
    stems = [name.rstrip("0123456789").rstrip("_") for name in space.names]
    with np.errstate(divide="ignore"):
        sizes = np.log(np.abs(theta))
    pairs.sort(key=lambda pair: (stems[pair[0]] != stems[pair[1]], abs(sizes[pair[0]] - sizes[pair[1]])))
    for i, j in pairs:
        exchanged = theta.copy()
        exchanged[[i, j]] = theta[[j, i]]
        point = space.internal(exchanged)
        if measure_distance(point, best) > APART:
            yield point


def _are_alike(one: Coordinate, other: Coordinate) -> bool:
    return one.unit == other.unit and one.scale == other.scale and one.experiment == other.experiment


def _fit(items: Sequence[Coordinate], theta: np.ndarray, i: int, j: int) -> bool:
    """Whether each may have the value of the other: inside its bounds, and of its sign."""
    inside = items[i].lower <= theta[j] <= items[i].upper and items[j].lower <= theta[i] <= items[j].upper
    return bool(inside and theta[i] * theta[j] > 0.0)


def _list_ends(best: Evaluation, space: Coordinates) -> Iterator[np.ndarray]:
    directions = find_directions(best.curvature)
    if not directions.size:
        return
    step = REACH * np.sqrt(find_unit(best)) * directions[:, 0]  # of the smallest eigenvalue
    size = np.where(space.logarithmic, 1.0, np.abs(best.point))
    if not np.all(np.abs(step) < LOOSE * size):
        yield from (_limit(best.point + sign * step, best, space) for sign in (1.0, -1.0))
