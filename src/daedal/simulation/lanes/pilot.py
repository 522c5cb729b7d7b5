"""Pilot runs: a few lanes tell how much the results depend on the steps."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from daedal.simulation.forcing import Forcing
from daedal.simulation.lanes.march import Reordering, Table, find_solved, march_lanes
from daedal.simulation.lanes.run import ESCAPED
from daedal.simulation.lanes.scenario import Paths
from daedal.simulation.request import check_memory
from daedal.simulation.steps import Curve, Directions, Method, Point, Program, Schedule, Shape, compile_program
from daedal.systems import System

PILOT_WORK = 1e9  # operations that a pilot run may take
SENSITIVITIES = 0.01  # weight of a difference of sensitivities against one of values
COPIES = 6  # numbers of a step while steps are made
STUCK = 1e-18  # of what it may become: what is smaller stands still
EIGHTHS = 8  # parts of a step
NEGLIGIBLE = 1e-9  # of what it may become: a size that may be round-off
ERRATIC = 0.01  # of its size: what is that small and changes by more with the steps is round-off indeed

Steps = tuple[Schedule, int]  # and the grid cells each step spans; 0 where steps lie inside one cell


Candidate = TypeVar("Candidate")


@dataclass(frozen=True, eq=False)
class Choice:
    """The method and the steps of all lanes, and the estimated error of the results."""

    method: Method
    steps: Steps
    error: float


@dataclass(frozen=True, eq=False)
class Trial(Generic[Candidate]):
    """Steps, shorter ones, and how much the results differ (largest, relative to each variable's size)."""

    steps: Candidate
    shorter: Candidate
    error: float


def choose(trials: Iterable[Trial[Candidate]], tolerance: float) -> Trial[Candidate] | None:
    """The first trial that meets the tolerance, otherwise the last; trials go on as long as they are asked for.

    What agrees with the next by chance, as an oscillation that both step over, is not the best because of that.
    """
    last = None
    for last in trials:
        if last.error <= tolerance:
            break
    return last


@dataclass(frozen=True)
class Effort:
    """How far the search for steps goes before it gives up."""

    adaptive: int = 4000  # steps of one lane under error control
    regular: float = 1e7  # regular steps in one run
    once: bool = False  # whether what is compiled is run once, so that it need not be fast
    strict: bool = False  # whether steps that miss the tolerance are given up, instead of stating their error


PATIENT = Effort()
BRIEF = Effort(
    adaptive=600, regular=4e6, once=True, strict=True
)  # for a single trajectory, which another solver can do as well


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be simulated: everything a pilot run needs."""

    system: System
    times: np.ndarray
    forcing: Forcing
    grid: float  # of the disturbances; 0 without any
    wanted: tuple[str, ...]
    directions: Directions
    curves: tuple[Curve, ...]  # of the disturbances between grid points
    point: Point
    state: np.ndarray  # (value, lane) of a few pilot lanes
    parameters: np.ndarray
    paths: Callable[[int], Paths | None]  # of so many lanes
    find_sizes: Callable[[], np.ndarray]  # of the wanted variables, and of their derivatives direction by direction
    effort: Effort = PATIENT
    begin: Callable[[Program, np.ndarray], np.ndarray] | None = None  # the state after what happens at the start
    moved: bool = False  # whether sensitivities are looked at as closely as values

    @property
    def rows(self) -> int:
        """Of a sample, whose errors are to stay below the tolerance."""
        return len(self.wanted) * (1 + self.directions.count * self.moved)

    def begin_lanes(self, compiled: Program) -> np.ndarray:
        """The state of the pilot lanes after what switches and samples do at the start."""
        return self.state.copy() if self.begin is None else self.begin(compiled, self.state.copy())

    @property
    def interval(self) -> float:
        """The time between two samples; a typical one, where they are not regular."""
        return find_sample_interval(self.forcing.start, self.times)


def find_sample_interval(start: float, times: np.ndarray) -> float:
    """The time between two samples: free of rounding where they are regular, typical where they are not."""
    gaps = np.diff(np.unique(np.concatenate([[start], times])))
    if gaps.size == 0:
        return 1.0
    mean = float(gaps.sum()) / gaps.size
    return mean if np.all(np.abs(gaps - mean) <= 1e-6 * mean) else float(np.median(gaps))


def prepare_steps(task: Task, method: Method, steps: Steps, *, quick: bool = True) -> tuple[Program, Table]:
    """Compile the program of these steps, and tabulate what it reads; pilots are run a few times only."""
    shape = Shape(method, steps[1], task.directions, task.wanted, task.grid, task.curves)
    length = float(np.median(steps[0].lengths)) if steps[0].lengths.size else 1.0
    compiled = compile_program(task.system, shape, task.point, length, quick)
    check_memory(task.system, 8.0 * COPIES * steps[0].starts.size, "Use longer steps, or simulate a shorter time.")
    return compiled, Table(compiled, steps[0], task.forcing, task.grid, task.times)


def run_pilots(task: Task, prepared: tuple[Program, Table]) -> np.ndarray:
    """Wanted values of the pilot lanes, (sample, value, lane); where equations switch, their sensitivities too.

    NaN where a lane has escaped; everything is NaN when equations were not solved, which shorter steps may cure.
    """
    return _run_pilots(task, prepared)[0]


def count_grazing(task: Task, prepared: tuple[Program, Table]) -> int:
    """How many pilot lanes touch the border of a switch so flatly that its slope there tells nothing."""
    slots = prepared[0].slots
    if slots is None or slots.switches == 0:
        return 0
    return int(np.sum(_run_pilots(task, prepared)[1][slots.locate("grazed")] > 0))


def _run_pilots(task: Task, prepared: tuple[Program, Table]) -> tuple[np.ndarray, np.ndarray]:
    """Their values, and their last state."""
    compiled, table = prepared
    samples: list[np.ndarray] = []
    rows = compiled.outputs - 1 if compiled.slots else task.rows
    unsolved = False
    state = task.begin_lanes(compiled)

    def receive(_: np.ndarray, out: np.ndarray) -> None:
        nonlocal unsolved
        good = find_solved(out)
        if good.all():
            samples.append(out[:, :rows])
            return
        finite = np.all(np.abs(out[:, :-1]) < ESCAPED, axis=1)
        unsolved = unsolved or bool(np.any(finite & ~good))
        samples.append(np.where(good[:, None], out[:, :rows], np.nan))

    reorder = Reordering(task.system, task.forcing)
    for _ in march_lanes(compiled, table, task.paths(state.shape[1]), state, task.parameters, receive, reorder):
        pass
    results = np.concatenate(samples) if samples else np.zeros((0, rows, state.shape[1]))
    return np.full(results.shape, np.nan) if unsolved else results, state


def compare(
    coarse: np.ndarray,
    fine: np.ndarray,
    wanted: int,
    switches: bool,
    find_sizes: Callable[[], np.ndarray],
) -> float:
    """Largest difference relative to the size of each variable; infinite where something is not finite.

    Where equations switch, rows after the wanted ones are sensitivities, and the last one tells the sides of switches.
    Sensitivities may differ more, and it is the lane in the middle that counts: a lane that grazes a switch has some
    that no step can settle. A sample on which a jump falls, within the error, has either side. What stays far below the
    size it may have, because it is stuck or round-off, has no digits.
    """
    if coarse.size == 0:
        return 0.0
    failing = [_find_first_failure(run) for run in (coarse, fine)]
    end = len(fine)
    if np.any((failing[0] < end) & (failing[1] == end)):
        return float("inf")
    lasting = failing[1] == end
    if not failing[1].any():
        return float("inf")
    if not lasting.any():
        before = max(int(min(failing[0].min(), failing[1].min())) - 1, 1)
        coarse, fine = coarse[:before], fine[:before]
    elif not lasting.all():  # lanes that end by themselves say nothing about the steps, as long as others last
        coarse, fine = coarse[:, :, lasting], fine[:, :, lasting]
    if not lasting.all() and not (np.isfinite(coarse).all() and np.isfinite(fine).all()):
        return float("inf")
    values = slice(0, wanted)
    change, size = _relate(coarse[:, values], fine[:, values], STUCK * switches, find_sizes)
    if not switches:
        return float(np.max(_find_largest(change) / size))
    alone = _find_alone(coarse[:, -1] != fine[:, -1])[:, None]
    error = float(np.max(np.where(alone, 0.0, np.abs(change) / size[:, None])))
    if fine.shape[1] == wanted + 1:
        return error
    turned = slice(wanted, fine.shape[1] - 1)
    change, size = _relate(coarse[:, turned], fine[:, turned], 0.0, lambda: find_sizes()[wanted:])
    rates = np.where(alone, 0.0, np.abs(change) / size[:, None])
    return max(error, SENSITIVITIES * float(np.median(rates.max(axis=(0, 1)))))


def judge(
    task: Task,
    method: Method,
    steps: Steps,
    coarse: np.ndarray,
    fine: np.ndarray,
    tolerance: float = np.inf,
    closely: bool = False,
) -> float:
    """The error of steps, from what they give and what shorter ones do.

    Before some steps are believed, they are compared with eighths too: where a switch divides a step, what is left of
    it may be divided by halving the steps no further; and steps that were chosen one by one (`closely`) may go over
    oscillations too small to count in each, which halves see no better.
    """
    switches = task.system.reduction.switching is not None and bool(task.system.reduction.switching.located)
    error = compare(coarse, fine, task.rows, switches, task.find_sizes)
    if not (switches or closely) or steps[1] or not error <= tolerance:
        return error
    compiled, _ = prepare_steps(task, method, steps)
    shorter = shorten(task, compiled, EIGHTHS * steps[0].lengths.size)  # of a long record eighths are too many
    first = (steps[0].take_until(shorter.times.size - 1).divide(EIGHTHS), 0)
    eighths = run_pilots(shorter, prepare_steps(shorter, method, first))
    coarse = coarse[: len(eighths), :, : eighths.shape[2]]
    return max(error, compare(coarse, eighths, task.rows, switches, task.find_sizes))


def _find_alone(different: np.ndarray) -> np.ndarray:
    """Where something differs at one sample of a lane but not at those beside it, (sample, lane)."""
    padded = np.pad(different, ((1, 1), (0, 0)))
    return different & ~padded[:-2] & ~padded[2:]


def _relate(
    coarse: np.ndarray, fine: np.ndarray, stuck: float, find_sizes: Callable[[], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """The differences, and the size of each row by which they are judged.

    Round-off has no digits to compare and counts as infinitely large, whereas a small unit keeps all of its digits.
    """
    change, size = coarse - fine, _find_largest(fine)
    divisor = np.where(size > 0.0, size, np.inf)
    erratic = _find_largest(change) > ERRATIC * divisor
    if not erratic.any():
        return change, divisor
    possible = find_sizes()[: size.size]
    size = np.maximum(size, _find_largest(coarse))  # what only one has is no round-off
    negligible = (size <= stuck * possible) | ((size <= NEGLIGIBLE * possible) & erratic)
    return change, np.where(negligible, np.inf, divisor)


def _find_largest(values: np.ndarray) -> np.ndarray:
    """The largest absolute value of each row."""
    return np.maximum(values.max(axis=0), -values.min(axis=0)).max(axis=-1)


def _find_first_failure(run: np.ndarray) -> np.ndarray:
    """The first sample of each lane that is not finite; the number of samples where all are."""
    if np.isfinite(run.max() - run.min()):  # as usual, and looked at without a copy
        return np.full(run.shape[2], len(run))
    finite = np.all(np.isfinite(run), axis=1)
    return np.where(np.all(finite, axis=0), len(run), np.argmin(finite, axis=0))


def shorten(task: Task, compiled: Program, steps: int) -> Task:
    """The task with as many lanes, and if need be samples, as a pilot run can afford."""
    work = max(steps * compiled.instructions, 1)
    lanes = min(max(int(PILOT_WORK / work), 2), task.state.shape[1])
    share = PILOT_WORK / (work * lanes)
    times = task.times[: max(int(share * task.times.size), 2)] if share < 1 else task.times
    if lanes == task.state.shape[1] and times.size == task.times.size:
        return task
    state, parameters = (np.ascontiguousarray(part[:, :lanes]) for part in (task.state, task.parameters))
    return replace(task, times=times, state=state, parameters=parameters)
