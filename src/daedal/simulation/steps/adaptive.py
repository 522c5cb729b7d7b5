"""Steps under error control: one lane chooses them, all lanes follow.

One step is compared with two halves of it; the difference, relative to what is allowed, sets the next length.
"""

import numpy as np

from daedal.simulation.lanes import march_lanes
from daedal.simulation.steps.pilot import Plan, Task, difference, pilot_results, planned, prepared_for
from daedal.simulation.steps.program import UNFINISHED
from daedal.simulation.steps.radau import ORDER, Method
from daedal.simulation.steps.schedule import ALIGNED, Schedule, Stops, steps_between, stops

ABSOLUTE = 1e-13  # error of a step that is always allowed


def adaptive_search(task: Task, method: Method, tolerance: float) -> Plan | None:
    """Steps that one lane takes under error control, then halved until the samples agree to the tolerance."""
    at = stops(task.forcing.start, task.times, np.array(task.forcing.jumps()), ALIGNED * task.interval)
    lengths = _adaptive_lengths(task, at, method, tolerance / 10)
    if lengths is None:
        return None
    steps = steps_between(at, lengths)
    coarse = pilot_results(task, prepared_for(task, method, (steps, 0)))
    for _ in range(6):
        finer = steps.divided(2)
        fine = pilot_results(task, prepared_for(task, method, (finer, 0)))
        error = difference(coarse, fine)
        if error <= tolerance:
            return Plan(*planned(task, method, (steps, 0)), error)
        steps, coarse = finer, fine
    return None


def _adaptive_lengths(task: Task, at: Stops, method: Method, tolerance: float) -> list[np.ndarray] | None:
    """Lengths of the steps of the first lane between each two stops; None when there would be too many."""
    lane = _AdaptiveLane(task, method, tolerance)
    found = []
    for begin, interval in zip(at.begins, at.intervals, strict=True):
        lengths = lane.cross(float(begin), float(interval))
        if lengths is None:
            return None
        found.append(lengths)
    return found


class _AdaptiveLane:
    """One lane under error control: one step is compared with two halves, which are kept."""

    def __init__(self, task: Task, method: Method, tolerance: float) -> None:
        self.method: Method = method
        self.task, self.tolerance = task, tolerance
        self.state, self.parameters = task.state[:, :1].copy(), np.ascontiguousarray(task.parameters[:, :1])
        self.largest = np.maximum(np.abs(self._x(self.state)), 1e-10)
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
            if self.steps > self.task.effort.adaptive or done + taken == done:
                return None
            halves, error = self._tried(begin + done, taken)
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

    def _tried(self, time: float, length: float) -> tuple[np.ndarray, float]:
        """The state after two halves of a step, and how much it differs, relative to what is allowed."""
        whole, halves = (_trial(self.task, self.method, self.state, self.parameters, time, length, n) for n in (1, 2))
        if not np.max(np.abs([whole[-1], halves[-1]])) <= UNFINISHED:  # Newton iterations did not finish
            return halves, np.inf
        x = self._x(halves)
        allowed = self.tolerance * (np.abs(x) + 1e-6 * self.largest) + ABSOLUTE
        return halves, float(np.max(np.abs(self._x(whole) - x) / allowed, initial=0.0))


def _trial(
    task: Task, method: Method, state: np.ndarray, parameters: np.ndarray, time: float, length: float, parts: int
) -> np.ndarray:
    """The state after one step, or after the same time in two."""
    steps = Schedule(
        time + length / parts * np.arange(parts), np.full(parts, length / parts), np.full(parts, -1, dtype=np.int64)
    )
    made, tables = prepared_for(task, method, (steps, 0))
    trial = state.copy()
    for _ in march_lanes(made, tables, None, trial, parameters, lambda _, __: None):
        pass
    return trial
