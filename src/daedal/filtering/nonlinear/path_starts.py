"""Where the search for the most probable path begins: at rest, or where that is no way in, from several paths.

Where disturbances enter by their square, a path at rest is a saddle: nothing has a slope there, and either sign would
do. Where a model has several wells, a path at rest stays in one of them. Whether paths at rest tell what disturbances
do is tried on a few random ones: if half of what they do to the outputs is not what the derivatives at rest say, the
search begins from several, and the lowest end is taken. One of them follows the samples: with m the means of the
extended filter, deviations from them are smoothed as those from a path are, jumps F(m_k, 0) − m_{k+1} being forcing.

Where the start is open, what is guessed of it may be far from the samples, and rest with it. A path is then followed
through the first two sample times, the first four, and so on: few samples leave one minimum near, and each search goes
on from the end of the one before.
"""

from collections.abc import Sequence

import numpy as np
from numpy.polynomial import legendre

from daedal.errors import EstimationError
from daedal.filtering.nonlinear.discrete_model import DiscreteModel
from daedal.filtering.nonlinear.extended_filter import run_extended_filter
from daedal.filtering.nonlinear.noise_cells import NORMALS
from daedal.filtering.nonlinear.path import Linearized, Normals, find_path, rest, simulate_path
from daedal.filtering.nonlinear.time_grid import TimeGrid
from daedal.kernels import Keep, Matrices, State, pack, run_filter, run_smoother

TRIED = 4  # random paths
CURVED = 0.5  # share of what they do that derivatives at rest do not tell
POINTS = 6  # of a quadrature over a cell
UNKNOWN = 1.0, np.inf  # of what cannot be simulated nothing is known but that it goes far
SAME = 1e-3  # difference of 𝒥 of two ends that are the same,
FIRST = 2  # sample times, of those that a path is followed through
PLAUSIBLE = 1.0  # 𝒥 by measurement: it is a half where all is as declared
IMPROBABLE = 10.0  # and of one that explains the data so much worse that it has no share in their likelihood


def find_paths(discrete: DiscreteModel) -> list[Linearized]:
    """The ends of searches from all starts, best first."""
    ends, reason = _search(discrete, [rest(discrete)])
    if not discrete.start.weights.all() and not _is_explained(discrete, ends):
        ends = [*ends, *_search(discrete, [follow_growing(discrete)])[0]]
        if _is_explained(discrete, ends):
            return sorted(ends, key=lambda end: end.path.value)
    if not ends or is_curved(discrete):
        others, later = _search(discrete, _list_others(discrete))
        ends, reason = [*ends, *others], reason or later
    if not ends and reason is not None:
        raise reason
    return sorted(ends, key=lambda end: end.path.value)


def _search(discrete: DiscreteModel, starts: Sequence[Normals]) -> tuple[list[Linearized], EstimationError | None]:
    """Where searches from these starts end, and why the first that failed did."""
    ends, reason = [], None
    for start in starts:
        try:
            ends.append(find_path(discrete, start))
        except EstimationError as error:
            reason = reason or error
    return ends, reason


def _is_explained(discrete: DiscreteModel, ends: Sequence[Linearized]) -> bool:
    """Whether one of these paths leaves of the data what noise would leave."""
    expected = PLAUSIBLE * discrete.experiment.measurements.count
    return any(end.path.value <= expected for end in ends)


def follow_growing(discrete: DiscreteModel) -> Normals:
    """Normals of a path through ever more of the samples; a stretch through which none is found is passed over."""
    normals, points = rest(discrete), np.unique(discrete.experiment.measurements.points)
    count = FIRST
    while count < points.size:
        steps = int(points[count - 1])
        cut, count = discrete.cut(steps), 2 * count
        ends, _ = _search(cut, [Normals(normals.start, normals.steps[:steps])])
        if not _is_explained(cut, ends):
            ends, _ = _search(cut, follow_samples(cut))
        if _is_explained(cut, ends):
            later = np.zeros_like(normals.steps[steps:])
            normals = Normals(ends[0].path.normals.start, np.concatenate([ends[0].path.normals.steps, later]))
    return normals


def regrid(normals: Normals, coarse: TimeGrid, fine: TimeGrid) -> Normals:
    """The same path on another grid, to start from: white noise is projected on the polynomials of its cells."""
    points, weights = legendre.leggauss(POINTS)
    within = (points + 1.0) / 2.0
    spans = np.diff(fine.times)
    times = fine.times[:-1, None] + spans[:, None] * within
    cell = np.clip(np.searchsorted(coarse.times, times, side="right") - 1, 0, coarse.steps - 1)
    length = np.diff(coarse.times)[cell]
    place = np.clip((times - coarse.times[cell]) / length, 0.0, 1.0)
    old = normals.steps.reshape(coarse.steps, -1, NORMALS)[cell]  # (step, point, white noise, degree)
    noise = np.einsum("kpij,kpj->kpi", old, _evaluate(place)) / np.sqrt(length)[..., None]
    moments = np.einsum("kpi,pj,p->kij", noise, _evaluate(within), weights / 2.0)
    return Normals(normals.start, (np.sqrt(spans)[:, None, None] * moments).reshape(fine.steps, -1))


def _evaluate(place: np.ndarray) -> np.ndarray:
    """√(2j + 1) P_j(2τ − 1), with the degree as last axis."""
    unit = np.eye(NORMALS)
    values = [np.sqrt(2.0 * j + 1.0) * legendre.legval(2.0 * place - 1.0, unit[j]) for j in range(NORMALS)]
    return np.stack(values, axis=-1)


def are_same(ends: Sequence[Linearized]) -> bool:
    """Whether all of them are one path, or mirrored ones, but for those that are too improbable to count."""
    values = np.array([end.path.value for end in ends])
    values = values[values - values.min() <= IMPROBABLE]
    return bool(np.ptp(values) <= SAME)


def is_curved(discrete: DiscreteModel) -> bool:
    """Whether derivatives at rest tell too little of what disturbances do."""
    _, left = compare_with_rest(discrete)
    return left > CURVED


def compare_with_rest(discrete: DiscreteModel) -> tuple[float, float]:
    """Of the squares of what disturbances do to the outputs: what derivatives at rest say, and what they leave.

    The first is zero where disturbances act through their squares alone; the second is large where rest is unstable,
    or cannot be simulated.
    """
    path = simulate_path(discrete, rest(discrete))
    if path is None:
        return UNKNOWN
    linear, (told, left_over, all_of_it) = Linearized(path), np.zeros(3)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # far from rest nothing bounds them
        for start in draw_paths(discrete):
            other = simulate_path(discrete, start)
            if other is None:
                return UNKNOWN
            scale = discrete.experiment.measurements
            first = np.einsum("kon,kn->ko", path.slopes, linear.move(start))
            whole = scale.compute_residuals(path.outputs) - scale.compute_residuals(other.outputs)
            left = scale.compute_residuals(path.outputs + first) - scale.compute_residuals(other.outputs)
            told += float(np.sum((whole - left) ** 2 / discrete.variances.value))
            left_over += float(np.sum(left**2 / discrete.variances.value))
            all_of_it += float(np.sum(whole**2 / discrete.variances.value))
    if not np.isfinite([told, left_over, all_of_it]).all():
        return UNKNOWN
    return (told / all_of_it, left_over / all_of_it) if all_of_it > 0.0 else (1.0, 0.0)


def _list_others(discrete: DiscreteModel) -> list[Normals]:
    """A path that follows the samples, one on which filters stay a standard deviation off, and random ones."""
    return [*follow_samples(discrete), *_hold_off(discrete), *draw_paths(discrete)]


def follow_samples(discrete: DiscreteModel) -> list[Normals]:
    """Normals of the smoothed deviations from the means of the extended filter, where it gets through."""
    try:
        with np.errstate(all="ignore"):  # it may lose the model on the way
            extended = run_extended_filter(discrete)
    except np.linalg.LinAlgError:
        return []
    m, top = extended.filtered.mean, extended.filtered.tops
    if not (np.isfinite(m).all() and np.isfinite(extended.filtered.covariance).all()):
        return []
    program, line, steps = discrete.experiment.program, discrete.experiment.line, discrete.experiment.grid.steps
    n, normals = program.sizes.state, program.sizes.normals
    p = np.repeat(discrete.parameters[:, None], steps + 1, axis=1)
    arrays = (m[:-1].T, top[:-1].T, p[:, 1:], discrete.plain_table.T, np.zeros((normals, steps)))
    A, G = (part.T.reshape(steps, n, -1) for part in program.jacobians(*map(np.ascontiguousarray, arrays)))
    table = np.vstack([discrete.first_row, discrete.plain_table]).T
    y, slopes, _ = program.sights(*map(np.ascontiguousarray, (m.T, top.T, p, table)))
    measurements, events = discrete.experiment.measurements, line.events.row.size
    rows = measurements.mix(slopes.T.reshape(steps + 1, -1, n))
    if not (np.isfinite(A).all() and np.isfinite(rows).all()):
        return []
    J = discrete.start.begin(np.zeros(discrete.start.normals)).by_normals
    forcing, measured, variance = np.zeros((events, n)), np.zeros(events), np.ones(events)
    forcing[line.transitions] = extended.predicted.mean[1:] - m[1:]
    measured[line.measuring], variance[line.measuring] = (
        measurements.compute_residuals(np.ascontiguousarray(y.T)),
        discrete.variances.value,
    )
    matrices = Matrices(pack(A), pack(G @ G.swapaxes(1, 2)), pack(rows))
    state = State(pack((extended.predicted.mean[0] - m[0])[None]), pack(J @ J.T))
    packed = (pack(forcing), pack(measured), pack(variance))
    kept = run_filter(line.events, matrices, *packed, state, keep=Keep.EVERYTHING)
    q, _ = run_smoother(line.events, matrices.A.value, matrices.h.value, kept)
    return [Normals(J.T @ q[0, 0], np.einsum("kni,kn->ki", G, q[line.transitions, 0]))]


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


def draw_paths(discrete: DiscreteModel) -> list[Normals]:
    """A few that the model makes, the same ones each time; what is open at the start is as guessed."""
    rng, zero = np.random.default_rng(0), rest(discrete)
    filters = len(discrete.noise.start.value)
    paths = []
    for _ in range(TRIED):
        first = zero.start.copy()  # what is open at the start may have any size
        first[:filters] = rng.standard_normal(filters)
        paths.append(Normals(first, rng.standard_normal(zero.steps.shape)))
    return paths
