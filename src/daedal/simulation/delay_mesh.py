"""Break points of a system with delays, and steps between them.

A kink of the solution at b comes back at b + τ for every delay τ, one derivative smoother each time; after a few times
it no longer matters to a method of order five. Where a delayed value contains what is solved for at each instant
(algebraic unknowns, or the highest derivative: neutral systems), kinks do not become smoother and return for good.
Break points move with the delays: db/dθ = Σ ∂τ/∂θ over the delays on the way.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from daedal.errors import SimulationError, counted

LEVELS = 6  # times that a kink comes back before it is smooth enough
MOST = 200_000  # steps
SAME = 1e-12  # of the span: break points this close are one
DEGREE = 5  # of the polynomials that values are read off by; so many steps lie between break points at least
MIDDLE = 0.5 * DEGREE  # of the points 0, 1, …, DEGREE: powers are counted from there, which keeps digits
FROM_POWERS = np.linalg.inv(np.vander(np.arange(DEGREE + 1.0) - MIDDLE, increasing=True))


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
    """

    breaks: np.ndarray
    rates: np.ndarray
    counts: np.ndarray
    lengths: np.ndarray
    offsets: np.ndarray

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
    directions = delay_rates.shape[1]
    still = np.zeros(directions)
    found: list[tuple[float, np.ndarray, int]] = [(start, still, 0)]
    found += [(float(each), still, 0) for each in fixed if start < each < end]
    for delay, rate, mine in zip(delays, delay_rates, sources, strict=True):
        found += [(float(each) + delay, rate, 1) for each in mine if start < each + delay < end]
    waiting = list(found)
    while waiting:
        time, rate, level = waiting.pop()
        if level >= LEVELS and not lasting:
            continue
        for delay, more, mine in zip(delays, delay_rates, sources, strict=True):
            if mine.size:  # an input comes back only through its own samples
                continue
            later = (time + delay, rate + more, level + 1)
            if later[0] < end - SAME * (end - start):
                found.append(later)
                waiting.append(later)
        if len(found) * DEGREE > MOST:
            raise SimulationError(
                f"The delays make {counted(len(found), 'break point')} and more between {start:g} and {end:g}.",
                "Give longer delays, or simulate a shorter time.",
            )
    moving = found if lasting else [(time, still if level > rough else rate, level) for time, rate, level in found]
    return _steps(moving, start, end, step, directions, refinement)


def _steps(
    found: list[tuple[float, np.ndarray, int]], start: float, end: float, step: float, directions: int, refinement: int
) -> Mesh:
    ranked = sorted(found, key=lambda each: (each[0], each[2]))
    breaks, rates = [start], [np.zeros(directions)]
    for time, rate, _ in ranked:
        if time - breaks[-1] > SAME * (end - start) + 4.0 * np.spacing(abs(time)):
            breaks.append(time)
            rates.append(rate)
        elif rate.any() and not rates[-1].any() and len(breaks) > 1:
            rates[-1] = rate
    if end - breaks[-1] <= SAME * (end - start) and len(breaks) > 1:
        breaks.pop()
        rates.pop()
    edges = np.append(breaks, end)
    spans = np.diff(edges)
    counts = np.maximum(np.ceil(spans / step - 1e-9).astype(np.int64), DEGREE) * refinement
    if counts.sum() > MOST:
        raise SimulationError(
            f"The simulation would take {counted(int(counts.sum()), 'step')}.", "Give Lanes a larger step or tolerance."
        )
    offsets = np.concatenate([[0], np.cumsum(counts + 1)[:-1]])
    return Mesh(edges, np.vstack([*rates, np.zeros(directions)]), counts, spans / counts, offsets)


def segments(begins: np.ndarray, end: float, step: float) -> Mesh:
    """A mesh of given break points that do not move."""
    return _steps([(float(each), np.zeros(0), 0) for each in begins], float(begins[0]), end, step, 0, 1)


def through_points(
    mesh: Mesh, times: np.ndarray, segment: np.ndarray, done: np.ndarray, least: np.ndarray | int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First point (…,) and weights (…, 6) of values and of rates at times inside given segments: a quintic.

    `done` says how many steps of the segment are there to go through, `least` from which point on.
    """
    position = (times - mesh.breaks[segment]) / mesh.lengths[segment]
    base = np.clip(np.floor(position).astype(np.int64) - 2, least, done - DEGREE)
    local = position - base - MIDDLE
    powers = np.ones((*local.shape, DEGREE + 1))
    slopes = np.zeros_like(powers)
    for k in range(1, DEGREE + 1):
        powers[..., k] = powers[..., k - 1] * local
        slopes[..., k] = k * powers[..., k - 1]
    first = mesh.offsets[segment] + base
    return first, powers @ FROM_POWERS, slopes @ FROM_POWERS / mesh.lengths[segment][..., None]
