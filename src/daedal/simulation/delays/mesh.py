"""Break points of a system with delays, and steps between them.

A kink of the solution at b comes back at b + τ for every delay τ, one derivative smoother each time; after a few times
it no longer matters to a method of order six. Where a delayed value contains what is solved for at each instant
(algebraic unknowns, or the highest derivative: neutral systems), kinks do not become smoother and return for good.
Break points move with the delays: db/dθ = Σ ∂τ/∂θ over the delays on the way.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import final

import numpy as np

from daedal.errors import SimulationError, counted
from daedal.simulation.delays.interpolation import compute_weights, find_first_point

LEVELS = 6  # times that a kink comes back before it is smooth enough
MOST = 1_000_000  # steps
SAME = 1e-12  # of the span: break points this close are one


@final
@dataclass(frozen=True, eq=False)
class Mesh:
    """Segments between break points, each with equal steps.

    Attributes
    ----------
    breaks, rates
        Break points (segment + 1,), the end included, and how fast each group of delayed values moves its jump there
        (segment + 1, group, direction), where the right side may jump. A kink that comes back for the second time is
        only one of the solution's slope.
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

    def find_segment(self, times: np.ndarray) -> np.ndarray:
        """The segment that each time lies in."""
        return np.clip(np.searchsorted(self.breaks, times, side="right") - 1, 0, self.counts.size - 1)

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


@final
@dataclass(frozen=True, eq=False)
class Returns:
    """How kinks come back through the delays.

    Attributes
    ----------
    amounts, rates
        Lengths (group,) of the delays and how they move (group, direction).
    sources
        For each group the times at which delayed inputs are not smooth; None where what is computed is delayed.
    lasting
        Whether kinks never become smooth.
    rough
        How often a kink comes back before it no longer makes the right side jump.
    """

    amounts: np.ndarray
    rates: np.ndarray
    sources: tuple[np.ndarray | None, ...]
    lasting: bool
    rough: int

    @cached_property
    def ways(self) -> np.ndarray:
        """Groups through which kinks come back."""
        return np.array([group for group, source in enumerate(self.sources) if source is None], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class _Breaks:
    """Times at which something is not smooth, how they move, and through which group of delays they came (−1: none)."""

    times: np.ndarray
    rates: np.ndarray
    group: np.ndarray

    def select(self, which: np.ndarray) -> "_Breaks":
        return _Breaks(self.times[which], self.rates[which], self.group[which])

    def propagate(self, returns: Returns) -> "_Breaks":
        """When they come back."""
        ways = returns.ways
        times = (self.times[:, None] + returns.amounts[ways]).ravel()
        rates = (self.rates[:, None] + returns.rates[ways]).reshape(times.size, self.rates.shape[1])
        return _Breaks(times, rates, np.broadcast_to(ways, (self.times.size, ways.size)).ravel())

    def drop_repeats(self, same: float) -> "_Breaks":
        """Those of one group that more than rounding tells apart, the first of each."""
        return self.select(self.find_firsts(same)) if self.times.size > 1 else self

    def find_firsts(self, same: float) -> np.ndarray:
        """The places of these."""
        order = np.lexsort((np.arange(self.times.size), self.times, self.group))
        ranked = self.select(order)
        apart = np.diff(ranked.times) > same + 4.0 * np.spacing(np.abs(ranked.times[1:]))
        block = np.cumsum(np.append(True, apart | (np.diff(ranked.group) > 0))) - 1
        firsts = np.full(block[-1] + 1, self.times.size)
        np.minimum.at(firsts, block, order)
        return np.sort(firsts)


def _join(parts: list[_Breaks]) -> _Breaks:
    times, rates, group = (
        np.concatenate(arrays) for arrays in zip(*((p.times, p.rates, p.group) for p in parts), strict=True)
    )
    return _Breaks(times, rates, group)


def make_mesh(
    start: float, end: float, fixed: np.ndarray, returns: Returns, step: float, degree: int, refinement: int = 1
) -> Mesh:
    """Break points and steps from start to end.

    `fixed` are times at which a known input is not smooth. Every step that `step` leads to is divided into
    `refinement`, also those that are short only because they lie between close break points.
    """
    same = SAME * (end - start)
    lasting = returns.amounts[returns.ways] if returns.lasting else np.zeros(0)
    for amount in lasting[lasting > same]:  # before they are made one after the other
        _refuse_endless(int((end - start) / amount), degree, start, end)
    times = np.append(start, fixed[(start < fixed) & (fixed < end)])
    level = _Breaks(times, np.zeros((times.size, returns.rates.shape[1])), np.full(times.size, -1))
    levels, size, enough = [level], times.size, 2 * times.size + 1000
    for number in count(1):
        level = level.propagate(returns)
        if number == 1:
            level = _join([level, *_find_input_breaks(returns, start)])
        level = level.select(level.times < end - same).drop_repeats(same)
        if not returns.lasting and number > returns.rough:
            level = replace(level, rates=np.zeros_like(level.rates))
        levels.append(level)
        size += level.times.size
        if size > enough:  # many ways may lead to the same time: those known already go no further
            level, levels = _keep_new(levels, same)
            size = levels[0].times.size
            enough = 2 * size + 1000
            _refuse_endless(size, degree, start, end)
        if not level.times.size or (number == LEVELS and not returns.lasting):
            break
    known = _join(levels).drop_repeats(same)
    _refuse_endless(known.times.size, degree, start, end)
    return _divide(known, len(returns.amounts), end, step, degree, refinement)


def _keep_new(levels: list[_Breaks], same: float) -> tuple[_Breaks, list[_Breaks]]:
    """What is new in the last part, and all that is distinct."""
    whole = _join(levels)
    kept = whole.find_firsts(same)
    return whole.select(kept[kept >= whole.times.size - levels[-1].times.size]), [whole.select(kept)]


def _refuse_endless(size: int, degree: int, start: float, end: float) -> None:
    if size * degree > MOST:
        raise SimulationError(
            f"The delays make {counted(size, 'break point')} and more between {start:g} and {end:g}.",
            "Give longer delays, or simulate a shorter time.",
        )


def _find_input_breaks(returns: Returns, start: float) -> list[_Breaks]:
    """Where delayed inputs are not smooth: they come back by their own samples."""
    breaks = []
    for group, (amount, rate, source) in enumerate(zip(returns.amounts, returns.rates, returns.sources, strict=True)):
        if source is not None:
            times = source[source + amount > start] + amount
            breaks.append(_Breaks(times, np.tile(rate, (times.size, 1)), np.full(times.size, group)))
    return breaks


def _divide(known: _Breaks, groups: int, end: float, step: float, degree: int, refinement: int = 1) -> Mesh:
    """Segments between the break points, the first of which is the start."""
    order = np.argsort(known.times, kind="stable")
    known = known.select(order)
    start = known.times[0]
    same = SAME * (end - start)
    new = np.append(True, np.diff(known.times) > same + 4.0 * np.spacing(np.abs(known.times[1:])))
    segment = np.cumsum(new) - 1
    breaks, rates = known.times[new], np.zeros((segment[-1] + 2, groups, known.rates.shape[1]))
    moving = (segment > 0) & (known.group >= 0)  # the start stays where it is
    rates[segment[moving], known.group[moving]] = known.rates[moving]
    if end - breaks[-1] <= same and breaks.size > 1:
        breaks, rates = breaks[:-1], np.concatenate([rates[:-2], np.zeros_like(rates[:1])])
    spans = np.diff(breaks, append=end)
    steps = max(breaks.size * degree, (end - start) / step)
    if steps > MOST:
        raise SimulationError(
            f"The simulation would take {steps:.0f} steps, because {_name_cause(breaks.size * degree, steps)}.",
            "Give longer delays, simulate a shorter time, or give Lanes a larger step or tolerance.",
        )
    counts = np.maximum(np.ceil(spans / step - 1e-9).astype(np.int64), degree) * refinement
    offsets = np.cumsum(counts + 1) - counts - 1
    return Mesh(np.append(breaks, end), rates, counts, spans / counts, offsets, degree)


def _name_cause(least: int, steps: float) -> str:
    return "there are so many break points" if steps <= least else "a delay, or the tolerance, makes them so short"


def make_fixed_mesh(begins: np.ndarray, end: float, step: float, degree: int, refinement: int = 1) -> Mesh:
    """A mesh of given break points that do not move."""
    still = _Breaks(begins, np.zeros((begins.size, 0)), np.full(begins.size, -1))
    return _divide(still, 0, end, step, degree, refinement)


def weigh_points(
    mesh: Mesh, times: np.ndarray, segment: np.ndarray, *, slope: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """First point (…,) and weights (…, degree + 1) of values, or of rates, at times inside given segments."""
    position = (times - mesh.breaks[segment]) / mesh.lengths[segment]
    base = np.clip(find_first_point(position, mesh.degree), 0, mesh.counts[segment] - mesh.degree)
    weights = compute_weights(position - base, mesh.degree, slope=slope)
    return mesh.offsets[segment] + base, weights / mesh.lengths[segment][..., None] if slope else weights
