"""Break points of a system with delays, and steps between them.

A kink of the solution at b comes back at b + τ for every delay τ, one derivative smoother each time; after a few times
it no longer matters to a method of order six. Where a delayed value contains what is solved for at each instant
(algebraic unknowns, or the highest derivative: neutral systems), kinks do not become smoother and return for good.
Break points move with the delays: db/dθ = Σ ∂τ/∂θ over the delays on the way.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import final

import numpy as np

from daedal.errors import SimulationError, counted
from daedal.simulation.delay_interpolation import first_point, weights

LEVELS = 6  # times that a kink comes back before it is smooth enough
MOST = 200_000  # steps
SAME = 1e-12  # of the span: break points this close are one


@final
@dataclass(frozen=True, eq=False)
class Mesh:
    """Segments between break points, each with equal steps.

    Attributes
    ----------
    breaks, rates
        Break points (segment + 1,), the end included, and how they move (segment + 1, direction) where it matters:
        where the right side may jump. A kink that comes back for the second time is only one of the solution's slope.
    counts, lengths
        How many steps each segment has, and how long they are.
    offsets
        The place of each segment's first point among all points (every segment has its own two ends).
    degree
        Of the polynomials that values are read off by: every segment has at least so many steps.
    """

    breaks: np.ndarray
    rates: np.ndarray
    counts: np.ndarray
    lengths: np.ndarray
    offsets: np.ndarray
    degree: int

    @property
    def points(self) -> int:
        """Of all segments."""
        return int(self.counts.sum()) + self.counts.size

    def segment(self, times: np.ndarray) -> np.ndarray:
        """The segment that each time lies in."""
        return np.clip(np.searchsorted(self.breaks, times, side="right") - 1, 0, self.counts.size - 1)

    def steps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Of every step: its segment, its number in it, its start and its length."""
        segment = np.repeat(np.arange(self.counts.size), self.counts)
        first = np.concatenate([[0], np.cumsum(self.counts)[:-1]])
        number = np.arange(segment.size) - first[segment]
        length = self.lengths[segment]
        return segment, number, self.breaks[segment] + number * length, length

    @cached_property
    def rows(self) -> "Rows":
        """The steps that lead to all points."""
        segment = np.repeat(np.arange(self.counts.size), self.counts + 1)
        number = np.arange(segment.size) - self.offsets[segment]
        length = self.lengths[segment]
        begin = self.breaks[segment] + np.maximum(number - 1, 0) * length
        return Rows(segment, number, begin, np.where(number > 0, length, 0.0), begin + 0.5 * length)


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """For each point of a mesh the step that leads to it; to the first of a segment one of length zero does.

    `middle` lies inside the segment also for those.
    """

    segment: np.ndarray
    number: np.ndarray
    begin: np.ndarray
    length: np.ndarray
    middle: np.ndarray


def mesh(
    start: float,
    end: float,
    fixed: np.ndarray,
    delays: np.ndarray,
    delay_rates: np.ndarray,
    sources: tuple[np.ndarray, ...],
    lasting: bool,
    step: float,
    degree: int,
    refinement: int = 1,
    rough: int = 1,
) -> Mesh:
    """Break points and steps from start to end.

    `fixed` are times at which a known input is not smooth; `delays` (delay,) with `delay_rates` (delay, direction);
    `sources` are for each delay the times at which what it delays is not smooth besides (inputs). `lasting` says that
    kinks never become smooth. Every step that `step` leads to is divided into `refinement`, also those that are short
    only because they lie between close break points. After coming back `rough` times a kink no longer makes the right
    side jump.
    """
    limit = end - SAME * (end - start)
    ways = _distinct(delays, delay_rates, sources)
    times = np.append(start, fixed[(start < fixed) & (fixed < end)])
    rates = np.zeros((times.size, delay_rates.shape[1]))
    found, size = [(times, rates)], times.size
    for level in count(1):
        times = (times[:, None] + ways[:, 0]).ravel()
        rates = (rates[:, None] + ways[:, 1:]).reshape(times.size, rates.shape[1])
        if level == 1:
            times, rates = _with_sources(times, rates, delays, delay_rates, sources, start)
        before = times < limit
        times, rates = times[before], rates[before]
        if not times.size:
            break
        size += times.size
        if size * degree > MOST:
            raise SimulationError(
                f"The delays make {counted(size, 'break point')} and more between {start:g} and {end:g}.",
                "Give longer delays, or simulate a shorter time.",
            )
        found.append((times, rates if lasting or level <= rough else np.zeros_like(rates)))
        if level == LEVELS and not lasting:
            break
    level = np.repeat(np.arange(len(found)), [each[0].size for each in found])
    times, rates = (np.concatenate(part) for part in zip(*found, strict=True))
    return _steps(times, rates, level, end, step, degree, refinement)


def _distinct(delays: np.ndarray, rates: np.ndarray, sources: tuple[np.ndarray, ...]) -> np.ndarray:
    """The delays of what is computed with their rates, (delay, 1 + direction); several values may share one."""
    computed = [(a, *rate) for a, rate, mine in zip(delays, rates.tolist(), sources, strict=True) if not mine.size]
    return np.array(list(dict.fromkeys(computed))).reshape(-1, 1 + rates.shape[1])


def _with_sources(
    times: np.ndarray,
    rates: np.ndarray,
    delays: np.ndarray,
    delay_rates: np.ndarray,
    sources: tuple[np.ndarray, ...],
    start: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Break points with those of delayed inputs, which come back by their own samples."""
    for delay, rate, mine in zip(delays, delay_rates, sources, strict=True):
        later = mine[mine + delay > start] + delay
        if later.size:
            times = np.concatenate([times, later])
            rates = np.concatenate([rates, np.tile(rate, (later.size, 1))])
    return times, rates


def _steps(
    times: np.ndarray, rates: np.ndarray, level: np.ndarray, end: float, step: float, degree: int, refinement: int = 1
) -> Mesh:
    """Segments between these times, the first of which is the start; those that only rounding tells apart are one."""
    order = np.lexsort((level, times))
    times, rates = times[order], rates[order]
    same = SAME * (end - times[0])
    new = np.append(True, np.diff(times) > same + 4.0 * np.spacing(np.abs(times[1:])))
    group = np.cumsum(new) - 1
    breaks, kept = times[new], np.zeros((group[-1] + 1, rates.shape[1]))
    moving = np.flatnonzero(rates.any(axis=1) & (group > 0))  # the start stays where it is
    which, first = np.unique(group[moving], return_index=True)
    kept[which] = rates[moving[first]]
    if end - breaks[-1] <= same and breaks.size > 1:
        breaks, kept = breaks[:-1], kept[:-1]
    spans = np.diff(breaks, append=end)
    counts = np.maximum(np.ceil(spans / step - 1e-9).astype(np.int64), degree) * refinement
    if counts.sum() > MOST:
        raise SimulationError(
            f"The simulation would take {counted(int(counts.sum()), 'step')}.", "Give Lanes a larger step or tolerance."
        )
    offsets = np.cumsum(counts + 1) - counts - 1
    edges, last = np.append(breaks, end), np.zeros((1, rates.shape[1]))
    return Mesh(edges, np.concatenate([kept, last]), counts, spans / counts, offsets, degree)


def segments(begins: np.ndarray, end: float, step: float, degree: int) -> Mesh:
    """A mesh of given break points that do not move."""
    return _steps(begins, np.zeros((begins.size, 0)), np.zeros(begins.size), end, step, degree)


def through_points(mesh: Mesh, times: np.ndarray, segment: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First point (…,) and weights (…, degree + 1) of values and of rates at times inside given segments."""
    position = (times - mesh.breaks[segment]) / mesh.lengths[segment]
    base = np.clip(first_point(position, mesh.degree), 0, mesh.counts[segment] - mesh.degree)
    values, slopes = weights(position - base, mesh.degree)
    return mesh.offsets[segment] + base, values, slopes / mesh.lengths[segment][..., None]
