"""Steps under error control: one lane chooses them, all lanes follow.

One step is compared with two halves of it; the difference, relative to what is allowed, sets the next length.
"""

from collections.abc import Iterator

import numpy as np

from daedal.simulation.lanes.march import march_lanes
from daedal.simulation.lanes.pilot import Choice, Steps, Task, Trial, choose, judge, prepare_steps, run_pilots
from daedal.simulation.steps import ALIGNED, ORDER, UNFINISHED, Method, Schedule, Stops, find_stops, join_steps

HALVINGS = 6
ABSOLUTE = 1e-13  # of its size: error of a step that is always allowed
LEAST = 1e-10  # of its size: what counts as the largest value of a state so far, at least


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
    """One lane under error control: one step is compared with two halves, which are kept."""

    def __init__(self, task: Task, method: Method, tolerance: float) -> None:
        self.method: Method = method
        self.task, self.tolerance = task, tolerance
        self.state, self.parameters = self._begin(), np.ascontiguousarray(task.parameters[:, :1])
        self.sizes = task.point.sizes.states
        self.largest = np.maximum(np.abs(self._x(self.state)), LEAST * self.sizes)
        self.length = 1e-4 * float(task.times[-1] - task.forcing.start)
        self.steps = 0

    def _begin(self) -> np.ndarray:
        """The state of the first lane at the start."""
        none = np.zeros(0)
        compiled, _ = prepare_steps(self.task, self.method, (Schedule(none, none, none.astype(np.int64)), 0))
        return np.ascontiguousarray(self.task.begin_lanes(compiled)[:, :1])

    def _x(self, state: np.ndarray) -> np.ndarray:
        return state[: len(self.task.system.states), 0]

    def cross(self, begin: float, interval: float) -> np.ndarray | None:
        """The steps over one interval between stops."""
        done, lengths = 0.0, []
        while done < interval:
            left = interval - done
            taken = left if self.length > 0.9 * left else min(self.length, left / 2)
            if self.steps > self.task.effort.adaptive or done + taken == done:
                return None
            halves, error = self._try_step(begin + done, taken)
            power = 1.0 / (ORDER[self.method] + 1)
            if not error <= 1.0:
                self.length = taken * (max(0.1, 0.9 * error**-power) if np.isfinite(error) else 0.1)
                continue
            self.state, self.steps = halves, self.steps + 1
            self.largest = np.maximum(self.largest, np.abs(self._x(halves)))
            self.length = taken * min(4.0, 0.9 * max(error, 1e-12) ** -power)
            lengths.append(taken)
            done = interval if taken == left else done + taken
        return np.array(lengths)

    def _try_step(self, time: float, length: float) -> tuple[np.ndarray, float]:
        """The state after two halves of a step, and how much it differs, relative to what is allowed."""
        whole, halves = (_advance(self.task, self.method, self.state, self.parameters, time, length, n) for n in (1, 2))
        if not np.max(np.abs([whole[-1], halves[-1]])) <= UNFINISHED:  # Newton iterations did not finish
            return halves, np.inf
        x = self._x(halves)
        allowed = self.tolerance * (np.abs(x) + 1e-6 * self.largest) + ABSOLUTE * self.sizes
        allowed += np.spacing(abs(time)) / length * np.abs(x - self._x(self.state))  # for the time is rounded as well
        return halves, float(np.max(np.abs(self._x(whole) - x) / allowed, initial=0.0))


def _advance(
    task: Task, method: Method, state: np.ndarray, parameters: np.ndarray, time: float, length: float, parts: int
) -> np.ndarray:
    """The state after one step, or after the same time in two."""
    steps = Schedule(
        time + length / parts * np.arange(parts), np.full(parts, length / parts), np.full(parts, -1, dtype=np.int64)
    )
    compiled, table = prepare_steps(task, method, (steps, 0))
    trial = state.copy()
    for _ in march_lanes(compiled, table, None, trial, parameters, lambda _, __: None):
        pass
    return trial
