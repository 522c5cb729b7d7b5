"""Moments over the lanes of a run, without keeping the trajectories.

The mean ȳ_g and the sum of squares S_g of each group of lanes are taken as they come and merged in order (Chan, Golub
and LeVeque's formula), so that one pair of them is held per group, and the result does not depend on threads.

Reference: T. F. Chan, G. H. Golub, R. J. LeVeque, Algorithms for computing the sample variance, Am. Stat. 37 (1983).
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from daedal.errors import SimulationError
from daedal.simulation.lanes.blocks import UNIT
from daedal.simulation.lanes.run import Failure, Run, RunInterrupted


@dataclass(frozen=True, eq=False)
class Moments:
    """Arrays (values, row, time); the rows are the outputs, then their sensitivities direction by direction.

    The variance has the outputs only. NaN for a set of values of which every lane failed.
    """

    mean: np.ndarray
    variance: np.ndarray
    group_means: np.ndarray  # (group, values, row, time)
    group_counts: np.ndarray  # (group, values): lanes that did not fail
    kept: np.ndarray  # (values, output, realization, time)
    failures: tuple[Failure, ...]
    cut: "Cut | None" = None  # by an interrupt


@dataclass(frozen=True)
class Cut:
    """What an interrupt leaves of moments: blocks of lanes that are missing, and the number of samples of the others.

    Those are whole lanes if any block was finished; otherwise all that were begun, as far as all of them came.
    """

    missing: tuple[range, ...]
    samples: int


def collect_moments(
    run: Run,
    realizations: int,
    keep: int = 0,
    group: int = UNIT,
    without: Collection[int] = (),
    *,
    partly: bool = False,
) -> Moments:
    """Simulate all lanes and take moments over groups of lanes (a divisor of UNIT).

    Lanes that fail are left out, and those `without` which it is wanted. With `partly`, an interrupt gives what is
    there (`Cut`), if there is anything.
    """
    unwanted = {(value, lane) for value in range(len(run.values)) for lane in without}
    failures: list[Failure] = []
    parts = _Parts(run, realizations, keep, group)
    while True:
        left_out = unwanted | {(failure.value, failure.lane) for failure in failures}
        parts.begin(left_out)
        try:
            failed = run.run(realizations, parts)
        except RunInterrupted as interrupt:
            cut = parts.find_cut(interrupt.failures)
            if not partly or cut is None:
                raise
            return parts.merge(failures, cut)
        new = [failure for failure in failed if (failure.value, failure.lane) not in left_out]
        if not new:
            return parts.merge(failures)
        parts.mark_unfinished(new)
        failures += new
        if len(failures) == (realizations - len(without)) * len(run.values):
            raise _make_error(run, failures, realizations)


def simulate_single_lane(run: Run) -> np.ndarray:
    """The rows of the only lane there is where disturbances are zero, (values, row, time)."""
    rows = np.empty((len(run.values), run.plan.shape.rows, run.times.size))

    def consume(value: int, _: range, samples: np.ndarray, out: np.ndarray) -> None:
        rows[value][:, samples] = out[:, :, 0].T

    failures = run.run(1, consume)
    if failures:
        raise _make_error(run, failures, 1)
    return rows


def _make_error(run: Run, failures: list[Failure], realizations: int) -> SimulationError:
    first = min(failures, key=lambda failure: failure.time)
    many, delays = realizations > 1, run.scenario.system.reduction.delays  # which IDA does not take
    which = f"All {realizations} realizations" if many else "The simulation"
    return SimulationError(
        f"{which} failed, {'the first ' if many else ''}at time {first.time:g}: {first.reason}.",
        "Choose a smaller step with Lanes(step=...)"
        + (" or other values." if delays else ", or look at one with simulate(..., solver=IDA())."),
    )


def project_lanes(run: Run, realizations: int, weights: np.ndarray) -> np.ndarray:
    """Σ over rows and times of weights · out, as (functional, lane); weights are (functional, row, time)."""
    result = np.zeros((weights.shape[0], realizations))

    def consume(_: int, lanes: range, samples: np.ndarray, out: np.ndarray) -> None:
        part = weights[:, :, samples].transpose(0, 2, 1).reshape(len(weights), -1)
        for first in range(0, len(lanes), UNIT):  # so that the last bits do not depend on the blocks
            unit = slice(first, first + UNIT)
            rows = np.ascontiguousarray(out[:, :, unit]).reshape(part.shape[1], -1)
            result[:, lanes.start : lanes.stop][:, unit] += part @ rows

    run.run(realizations, consume)
    return result


def keep_lanes(run: Run, realizations: int) -> tuple[np.ndarray, list[Failure]]:
    """Every row of the first set of values at every time in every lane, (row, time, lane), and lanes that failed."""
    kept = np.empty((run.plan.shape.rows, run.times.size, realizations))

    def consume(value: int, lanes: range, samples: np.ndarray, out: np.ndarray) -> None:
        if value == 0:
            kept[:, samples, lanes.start : lanes.stop] = out.transpose(1, 0, 2)

    return kept, run.run(realizations, consume)


class _Parts:
    """Mean and sum of squares of each group, filled from several threads, merged in order at the end."""

    def __init__(self, run: Run, realizations: int, keep: int, group: int) -> None:
        self._times, self._realizations = run.times, realizations
        rows, outputs = run.plan.shape.rows, len(run.plan.shape.wanted)
        shape = (-(-realizations // group), len(run.values), rows, run.times.size)
        self._mean, self._squares = np.zeros(shape), np.zeros((*shape[:2], outputs, shape[3]))
        self._counts = np.zeros(shape[:2])
        self.kept = np.full((len(run.values), outputs, keep, run.times.size), np.nan)
        self._left_out: set[tuple[int, int]] = set()
        self._group = group
        self._finished: set[range] = set()  # blocks
        self._received: dict[range, list[int]] = {}  # by the same: samples of each value, which come in order

    def begin(self, left_out: set[tuple[int, int]]) -> None:
        """Go through all lanes (once more): what is finished comes out the same, whatever lanes of others are out."""
        self._left_out, self._received = left_out, {}

    def mark_unfinished(self, failures: list[Failure]) -> None:
        """Blocks whose moments contain lanes that turned out to fail."""
        bad = {failure.lane for failure in failures if (failure.value, failure.lane) not in self._left_out}
        for block in {block for block in [*self._finished, *self._received] for lane in bad if lane in block}:
            self._finished.discard(block)
            self._received.pop(block, None)

    def find_cut(self, failures: list[Failure]) -> Cut | None:
        """What is there, if anything; lanes that failed so far may spoil some."""
        self.mark_unfinished(failures)
        begun = {block: min(counts) for block, counts in self._received.items() if min(counts)}
        usable = dict.fromkeys(self._finished, self._times.size) or begun
        ends, firsts = [0], []
        for block in sorted(usable, key=lambda block: block.start):
            firsts.append(block.start)
            ends.append(block.stop)
        gaps = zip(ends, [*firsts, self._realizations], strict=True)
        missing = tuple(range(*gap) for gap in gaps if gap[0] < gap[1])
        return Cut(missing, min(usable.values())) if usable else None

    def __call__(self, value: int, lanes: range, samples: np.ndarray, out: np.ndarray) -> None:
        kept = self.kept[value][:, lanes.start : lanes.stop]
        kept[:, :, samples] = out[:, : kept.shape[0], : kept.shape[1]].transpose(1, 2, 0)
        for first in range(0, len(lanes), self._group):
            self._add(value, lanes[first : first + self._group], samples, out[:, :, first : first + self._group])
        received = self._received.setdefault(lanes, [0] * len(self.kept))
        received[value] += samples.size
        if min(received) == self._times.size:
            self._finished.add(lanes)

    def _add(self, value: int, lanes: range, samples: np.ndarray, out: np.ndarray) -> None:
        group = lanes.start // self._group
        good = np.array([(value, lane) not in self._left_out for lane in lanes])
        good_out = out if good.all() else out[:, :, good]
        self._counts[group, value] = good.sum()
        outputs = self._squares.shape[2]
        if good_out.shape[2] == 0:
            self._mean[group, value][:, samples], self._squares[group, value][:, samples] = 0.0, 0.0
            return
        with np.errstate(all="ignore"):  # a lane that is about to be found failed may hold anything
            mean = good_out.mean(axis=2)
            squares = ((good_out[:, :outputs] - mean[:, :outputs, None]) ** 2).sum(axis=2)
        self._mean[group, value][:, samples] = mean.T
        self._squares[group, value][:, samples] = squares.T

    def merge(self, failures: list[Failure], cut: Cut | None = None) -> Moments:
        """Of all lanes and samples, or of those that are there."""
        missing = () if cut is None else cut.missing
        for lanes in missing:
            self._counts[lanes.start // self._group : -(-lanes.stop // self._group)] = 0.0
            self.kept[:, :, lanes.start : lanes.stop] = np.nan
        failures = [failure for failure in failures if not any(failure.lane in lanes for lanes in missing)]
        for failure in failures:
            kept = self.kept[failure.value][:, failure.lane : failure.lane + 1]
            kept[:, :, self._times >= failure.time] = np.nan
        mean, squares = np.zeros(self._mean.shape[1:]), np.zeros(self._squares.shape[1:])
        total = np.zeros((mean.shape[0], 1, 1))
        outputs = squares.shape[1]
        for counts, group_mean, group_squares in zip(self._counts, self._mean, self._squares, strict=True):
            count = counts[:, None, None]
            joined = np.maximum(total + count, 1.0)
            difference = np.where(count > 0, group_mean - mean, 0.0)
            squares += np.where(count > 0, group_squares, 0.0) + difference[:, :outputs] ** 2 * (total * count / joined)
            mean += difference * (count / joined)
            total = total + count
        dead = total == 0
        variance = np.where(dead, np.nan, squares / np.maximum(total - 1.0, 1.0))
        mean = np.where(dead, np.nan, mean)
        if cut is not None:
            for table in (mean, variance, self.kept):
                table[..., cut.samples :] = np.nan
        return Moments(mean, variance, self._mean, self._counts, self.kept, tuple(failures), cut)
