"""Steps under error control: one lane chooses them, all lanes follow.

One step is compared with two halves of it; the difference, relative to what is allowed, sets the next length.
"""

from collections.abc import Iterator

import numpy as np

from daedal.simulation.lanes.pilot import Choice, Steps, Task, Trial, choose, judge, prepare_steps, run_pilots
from daedal.simulation.steps import ALIGNED, ORDER, UNFINISHED, Method, Schedule, Stops, find_stops, join_steps

HALVINGS = 6
ABSOLUTE = 1e-13  # of its size: error of a step that is always allowed
LEAST = 1e-10  # of its size: what counts as the largest value of a state so far, at least
FEW, HOPELESS = 200, 3  # steps that tell nothing about how many there will be; times too many not to go on
FADING = 0.5  # of the largest value of a state so far: what is left of it after a step
NOT_SAMPLED = np.full(3, -1, dtype=np.int64)


def search_adaptively(task: Task, method: Method, tolerance: float) -> Choice | None:
    """Steps that one lane takes under error control, then halved until the samples agree to the tolerance."""
    jumps, instants = np.array(task.forcing.find_jumps()), task.forcing.find_instants()
    at = find_stops(task.forcing.start, task.times, jumps, ALIGNED * task.interval, instants)
    lengths = _find_lengths(task, at, method, tolerance / 10)
    if lengths is None:
        return None
    best = choose(_try_halves(task, method, join_steps(at, lengths), tolerance), tolerance)
    return Choice(method, best.steps, best.error) if best is not None and best.error <= tolerance else None


def _try_halves(task: Task, method: Method, schedule: Schedule, tolerance: float) -> Iterator[Trial[Steps]]:
    steps: Steps = (schedule, 0)
    coarse = run_pilots(task, prepare_steps(task, method, steps))
    for _ in range(HALVINGS):
        halves: Steps = (steps[0].divide(2), 0)
        fine = run_pilots(task, prepare_steps(task, method, halves))
        yield Trial(steps, halves, judge(task, method, steps, coarse, fine, tolerance, closely=True))
        steps, coarse = halves, fine


def _find_lengths(task: Task, at: Stops, method: Method, tolerance: float) -> list[np.ndarray] | None:
    """Lengths of the steps of the first lane between each two stops; None when there would be too many."""
    lane = _AdaptiveLane(task, method, tolerance)
    crossings = []
    for begin, interval in zip(at.begins, at.intervals, strict=True):
        lengths = lane.cross(float(begin), float(interval))
        if lengths is None:
            return None
        crossings.append(lengths)
    return crossings


class _AdaptiveLane:
    """One lane under error control: one step is compared with two halves, which are kept.

    Errors are judged by the size of each state, which follows it down by `FADING` in a step at most: what changes sign
    is not small.
    """

    def __init__(self, task: Task, method: Method, tolerance: float) -> None:
        self.method: Method = method
        self.task, self.tolerance = task, tolerance
        none = np.zeros(0)
        self.program, self.table = prepare_steps(task, method, (Schedule(none, none, none.astype(np.int64)), 0))
        width = self.program.kernel.width  # of equal lanes, so that none need to be filled up in every step
        self.state = np.repeat(task.begin_lanes(self.program)[:, :1], width, axis=1)
        parameters = np.repeat(task.parameters[:, :1], width, axis=1)
        self.shared = np.zeros((3, self.program.kernel.sizes[2]))  # of a whole step and its halves
        self.trials = [self.state.copy() for _ in range(2)]
        self.advances = [self.program.kernel.bind(trial, parameters, self.shared) for trial in self.trials]
        self.plain = not (self.program.inputs or task.forcing.clocks)  # whether steps read the time alone
        self.sizes = task.point.sizes.states
        self.recent = np.maximum(np.abs(self._x(self.state)), LEAST * self.sizes)
        self.length = 1e-4 * float(task.times[-1] - task.forcing.start)
        self.steps = 0

    def _x(self, state: np.ndarray) -> np.ndarray:
        return state[: len(self.task.system.states), 0]

    def cross(self, begin: float, interval: float) -> np.ndarray | None:
        """The steps over one interval between stops."""
        done, lengths = 0.0, []
        while done < interval:
            left = interval - done
            taken = left if self.length > 0.9 * left else min(self.length, left / 2)
            if self._has_too_many(begin + done) or done + taken == done:
                return None
            halves, error = self._try_step(begin + done, taken)
            power = 1.0 / (ORDER[self.method] + 1)
            if not error <= 1.0:
                self.length = taken * (max(0.1, 0.9 * error**-power) if np.isfinite(error) else 0.1)
                continue
            self.state[:], self.steps = halves, self.steps + 1
            self.recent = np.maximum(np.abs(self._x(halves)), FADING * self.recent)
            self.length = taken * min(4.0, 0.9 * max(error, 1e-12) ** -power)
            lengths.append(taken)
            done = interval if taken == left else done + taken
        return np.array(lengths)

    def _has_too_many(self, time: float) -> bool:
        """Whether there are too many steps, or will be: as long as those so far on average, and as the next one."""
        most, passed = self.task.effort.adaptive, time - self.task.forcing.start
        if self.steps <= FEW:
            return False
        length = max(self.length, passed / self.steps)
        return self.steps > most or (float(self.task.times[-1]) - time) / length > HOPELESS * most

    def _try_step(self, time: float, length: float) -> tuple[np.ndarray, float]:
        """The state after two halves of a step, and how much it differs, relative to what is allowed."""
        self._tabulate(time, length)
        for trial, advance, part in zip(self.trials, self.advances, ((0, 1), (1, 3)), strict=True):
            trial[:] = self.state
            advance(*part)
        whole, halves = self.trials
        if not max(abs(whole[-1, 0]), abs(halves[-1, 0])) <= UNFINISHED:  # Newton iterations did not finish
            return halves, np.inf
        x = self._x(halves)
        allowed = self.tolerance * np.maximum(np.abs(x), self.recent) + ABSOLUTE * self.sizes
        allowed += np.spacing(abs(time)) / length * np.abs(x - self._x(self.state))  # for the time is rounded as well
        return halves, float((np.abs(self._x(whole) - x) / allowed).max(initial=0.0))

    def _tabulate(self, time: float, length: float) -> None:
        """What a step and its halves read."""
        half = length / 2
        starts, lengths = (time, time, time + half), (length, half, half)
        if self.plain:
            self.shared[:, 0], self.shared[:, 1] = starts, lengths
        else:
            self.shared[:], _ = self.table.tabulate(Schedule(np.array(starts), np.array(lengths), NOT_SAMPLED))
