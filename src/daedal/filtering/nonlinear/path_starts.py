"""Where the search for the most probable path begins: at rest, or where that is no way in, from several paths.

Where disturbances enter by their square, a path at rest is a saddle: nothing has a slope there, and either sign would
do. Whether paths at rest tell what disturbances do is tried on a few random ones: if half of what they do to the
outputs is not what the derivatives at rest say, the search begins from several, and the lowest end is taken.
"""

from collections.abc import Sequence

import numpy as np

from daedal.errors import EstimationError
from daedal.filtering.nonlinear.discrete_model import DiscreteModel
from daedal.filtering.nonlinear.path import Linearized, Normals, find_path, simulate_path

TRIED = 4  # random paths
CURVED = 0.5  # share of what they do that derivatives at rest do not tell
SAME = 1e-3  # difference of 𝒥 of two ends that are the same


def rest(discrete: DiscreteModel) -> Normals:
    """All normals zero."""
    sizes, steps = discrete.experiment.program.sizes, discrete.experiment.grid.steps
    return Normals(np.zeros(discrete.start.normals), np.zeros((steps, sizes.normals)))


def find_paths(discrete: DiscreteModel) -> list[Linearized]:
    """The ends of searches from all starts, best first."""
    ends, reason = [], None
    for start in [rest(discrete), *_list_others(discrete)]:
        try:
            ends.append(find_path(discrete, start))
        except EstimationError as error:
            reason = reason or error
    if not ends and reason is not None:
        raise reason
    return sorted(ends, key=lambda end: end.path.value)


def are_same(ends: Sequence[Linearized]) -> bool:
    """Whether all of them are one path, or mirrored ones."""
    values = [end.path.value for end in ends]
    return max(values) - min(values) <= SAME


def is_curved(discrete: DiscreteModel) -> bool:
    """Whether derivatives at rest tell too little of what disturbances do."""
    _, left = compare_with_rest(discrete)
    return left > CURVED


def compare_with_rest(discrete: DiscreteModel) -> tuple[float, float]:
    """Of the squares of what disturbances do to the outputs: what derivatives at rest say, and what they leave.

    The first is zero where disturbances act through their squares alone; the second is large where rest is unstable.
    """
    path = simulate_path(discrete, rest(discrete))
    if path is None:
        return 0.0, np.inf
    linear, told, left_over, all_of_it = Linearized(path), 0.0, 0.0, 0.0
    for start in _draw(discrete):
        other = simulate_path(discrete, start)
        if other is None:
            return 0.0, np.inf
        scale = discrete.experiment.measurements
        first = np.einsum("kon,kn->ko", path.slopes, linear.move(start))
        whole = scale.compute_residuals(path.outputs) - scale.compute_residuals(other.outputs)
        left = scale.compute_residuals(path.outputs + first) - scale.compute_residuals(other.outputs)
        told += float(np.sum((whole - left) ** 2 / discrete.variances.value))
        left_over += float(np.sum(left**2 / discrete.variances.value))
        all_of_it += float(np.sum(whole**2 / discrete.variances.value))
    return (told / all_of_it, left_over / all_of_it) if all_of_it > 0.0 else (1.0, 0.0)


def _list_others(discrete: DiscreteModel) -> list[Normals]:
    """A path on which every filter stays where it is one standard deviation off, and random ones."""
    if not is_curved(discrete):
        return []
    return [*_hold_off(discrete), *_draw(discrete)]


def _hold_off(discrete: DiscreteModel) -> list[Normals]:
    """Filters that stay one standard deviation off, where their start is random."""
    zero, S = rest(discrete), discrete.noise.start.value
    filters = len(S)
    if not S.any():
        return []
    first = zero.start.copy()
    first[:filters] = 1.0
    x = S @ first[:filters]
    A, L = discrete.noise.transition.value, discrete.noise.factor.value
    hold = [np.linalg.lstsq(gain, x - move @ x, rcond=None)[0] for move, gain in zip(A, L, strict=True)]
    return [Normals(first, np.array(hold)[discrete.experiment.grid.length_of])]


def _draw(discrete: DiscreteModel) -> list[Normals]:
    rng, zero = np.random.default_rng(0), rest(discrete)
    filters = len(discrete.noise.start.value)
    paths = []
    for _ in range(TRIED):
        first = zero.start.copy()  # what is open at the start may have any size
        first[:filters] = rng.standard_normal(filters)
        paths.append(Normals(first, rng.standard_normal(zero.steps.shape)))
    return paths
