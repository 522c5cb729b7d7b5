"""Choose method and steps of the lanes so that the error stays below a tolerance, measured by halving steps.

Without disturbances a single lane steps adaptively (the difference between one step and two halves controls the next
length); all lanes then follow the steps it took. With disturbances, or inputs of many samples, steps are regular: whole
cells of the disturbance grid or fractions of one, from the sample interval downwards until halving changes a few lanes
by less than the tolerance. Runge–Kutta is tried first; where it needs too many steps the system is stiff, and Radau IIA
takes over.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from daedal.errors import SimulationError
from daedal.simulation.collocation import ORDER, Method
from daedal.simulation.discretization import Point
from daedal.simulation.forcing import Forcing
from daedal.simulation.marching import ESCAPED, ON_GRID, Paths, Reordering, Table, march, solved, table
from daedal.simulation.program import UNFINISHED, Directions, Program, Shape, program
from daedal.simulation.schedule import ALIGNED, Curve, Schedule, Stops, regular_steps, steps_between, stops
from daedal.systems import System

HALVINGS = 12  # of the sample interval
FRACTIONS = 9  # halvings of a grid cell
PILOT_WORK = 1e9  # operations that a pilot run may take
NEGLIGIBLE = 1e-9  # of the largest variable: what is smaller is round-off
ABSOLUTE = 1e-13  # error of a step that is always allowed
ROUGH = 1e-2  # relative error above which steps are too long to mean anything
DENSE_INPUT = 500  # pieces of an input beyond which steps are regular


@dataclass(frozen=True, eq=False)
class Plan:
    """A program, its steps, and the estimated error of the results (largest, relative to each variable's size)."""

    program: Program
    steps: Schedule
    table: Table
    error: float


@dataclass(frozen=True)
class Effort:
    """How far the search for steps goes before it gives up."""

    adaptive: int = 4000  # steps of one lane under error control
    regular: float = 1e7  # regular steps in one run


PATIENT = Effort()
BRIEF = Effort(adaptive=600, regular=4e6)  # for a single trajectory, which another solver can do as well


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
    effort: Effort = PATIENT

    @property
    def interval(self) -> float:
        """The time between two samples; the shortest, where they are not regular."""
        return sample_interval(self.forcing.start, self.times)


def sample_interval(start: float, times: np.ndarray) -> float:
    """The time between two samples, free of rounding where they are regular; the shortest, where they are not."""
    gaps = np.diff(np.unique(np.concatenate([[start], times])))
    if gaps.size == 0:
        return 1.0
    mean = float(gaps.sum()) / gaps.size
    return mean if np.all(np.abs(gaps - mean) <= 1e-6 * mean) else float(gaps.min())


def plan(task: Task, method: Method | None, step: float | None, tolerance: float) -> Plan:
    """The plan that the options ask for, or the cheapest that meets the tolerance."""
    methods: tuple[Method, ...] = (method,) if method else ("rk4", "radau5")
    if step is not None:
        plans = [_with_error(task, candidate, _regular(task, step)) for candidate in methods[:1]]
        if not plans[0].error < ROUGH:  # too long for this method; perhaps not for the other
            plans += [_with_error(task, candidate, _regular(task, step)) for candidate in methods[1:]]
        return min(plans, key=lambda found: found.error if np.isfinite(found.error) else np.inf)
    regular = task.grid > 0 or any(track and track[0].times.size > DENSE_INPUT for track in task.forcing.tracks)
    for search in (_regular_search,) if regular else (_adaptive_search, _regular_search):
        for candidate in methods:
            with np.errstate(all="ignore"):  # a trial step that is too long may overflow; it is then rejected
                found = search(task, candidate, tolerance)
            if found is not None:
                return found
    raise SimulationError(
        f"No step was found with which {' or '.join(methods)} simulates model '{task.system.model.name}' to "
        f"{tolerance:g}.",
        "Loosen the tolerance of Lanes, give its step, or use the reference solver IDA().",
    )


def _regular(task: Task, step: float) -> tuple[Schedule, int]:
    """Steps of a given length and the grid cells each spans (0: inside one cell)."""
    start = task.forcing.start
    jumps = np.array(task.forcing.jumps())
    near = ALIGNED * step
    if task.grid == 0:
        return _counted(task, stops(start, task.times, jumps, near), step), 0
    cells = round(step / task.grid)
    whole = cells >= 1 and abs(cells * task.grid - step) < 1e-9 * step
    if whole and _multiples(np.concatenate([task.times, jumps]) - start, step):
        return _counted(task, stops(start, task.times, jumps, near), step), cells
    parts = round(task.grid / step)
    if not whole and (parts < 1 or abs(step * parts - task.grid) > 1e-9 * task.grid):
        raise SimulationError(
            f"The step {step:g} neither divides the grid {task.grid:g} of the disturbances nor is a multiple of it.",
            f"Choose for example {task.grid / max(parts, 1):g} or {task.grid * max(cells, 1):g}.",
        )
    count = (task.times[-1] - start) / task.grid + ALIGNED
    _refuse_too_many(task, count, step)
    points = start + task.grid * np.arange(1, int(count) + 1)
    return _counted(task, stops(start, task.times, np.concatenate([jumps, points]), near), min(step, task.grid)), 0


def _counted(task: Task, at: Stops, step: float) -> Schedule:
    _refuse_too_many(task, float(np.sum(np.ceil(at.intervals / step))), step)
    return regular_steps(at, step)


def _refuse_too_many(task: Task, count: float, step: float) -> None:
    if count > task.effort.regular:
        raise SimulationError(
            f"Model '{task.system.model.name}' would take {count:.2g} steps of {step:.2g} s.",
            "Use longer steps or a coarser grid, or the reference solver IDA(), which chooses its steps freely.",
        )


def _multiples(times: np.ndarray, step: float) -> bool:
    """Whether all times since the start are whole numbers of steps, up to the rounding of large times."""
    counts = times / step
    return bool(np.all(np.abs(counts - np.round(counts)) < ON_GRID))


def _prepared(task: Task, method: Method, steps: tuple[Schedule, int]) -> tuple[Program, Table]:
    shape = Shape(method, steps[1], task.directions, task.wanted, task.grid, task.curves)
    length = float(np.median(steps[0].lengths)) if steps[0].lengths.size else 1.0
    made = program(task.system, shape, task.point, length)
    return made, table(made, steps[0], task.forcing, task.grid, task.times)


def _results(task: Task, prepared: tuple[Program, Table]) -> np.ndarray:
    """Wanted values of the pilot lanes, (sample, value, lane), sensitivities left out.

    NaN where a lane has escaped; everything is NaN when equations were not solved, which shorter steps may cure.
    """
    made, tables = prepared
    found: list[np.ndarray] = []
    unsolved = False
    state = task.state.copy()

    def received(_: np.ndarray, out: np.ndarray) -> None:
        nonlocal unsolved
        good, finite = solved(out), np.all(np.abs(out[:, :-1]) < ESCAPED, axis=1)
        unsolved = unsolved or bool(np.any(finite & ~good))
        found.append(np.where(good[:, None], out[:, : len(task.wanted)], np.nan))

    march(
        made,
        tables,
        task.paths(state.shape[1]),
        state,
        task.parameters,
        received,
        Reordering(task.system, task.forcing),
    )
    results = np.concatenate(found) if found else np.zeros((0, len(task.wanted), state.shape[1]))
    return np.full(results.shape, np.nan) if unsolved else results


def difference(coarse: np.ndarray, fine: np.ndarray) -> float:
    """Largest difference relative to the size of each variable; infinite where something is not finite."""
    if coarse.size == 0:
        return 0.0
    failing = [_first_failure(run) for run in (coarse, fine)]
    end = len(fine)
    if np.any((failing[0] < end) & (failing[1] == end)):
        return float("inf")
    lasting = failing[1] == end
    if not failing[1].any():
        return float("inf")
    if lasting.any():  # lanes that end by themselves say nothing about the steps, as long as others last
        coarse, fine = coarse[:, :, lasting], fine[:, :, lasting]
    else:
        before = max(int(min(failing[0].min(), failing[1].min())) - 1, 1)
        coarse, fine = coarse[:before], fine[:before]
    if not (np.isfinite(coarse).all() and np.isfinite(fine).all()):
        return float("inf")
    size = np.max(np.abs(fine), axis=(0, 2), keepdims=True)
    counts = size > NEGLIGIBLE * size.max(initial=0.0)  # what is round-off beside the others has no digits to compare
    return float(np.max(np.where(counts, np.abs(coarse - fine) / np.where(counts, size, 1.0), 0.0)))


def _first_failure(run: np.ndarray) -> np.ndarray:
    """The first sample of each lane that is not finite; the number of samples where all are."""
    finite = np.all(np.isfinite(run), axis=1)
    return np.where(np.all(finite, axis=0), len(run), np.argmin(finite, axis=0))


def _with_error(task: Task, method: Method, steps: tuple[Schedule, int]) -> Plan:
    """The plan with these steps, its error estimated on the pilot lanes."""
    made, tables = _prepared(task, method, steps)
    with np.errstate(all="ignore"):
        pilot = _shortened(task, made, steps[0].lengths.size)
        short = (steps[0].until(pilot.times.size - 1), steps[1])
        coarse, fine = (_results(pilot, _prepared(pilot, method, candidate)) for candidate in (short, _finer(short)))
    return Plan(made, steps[0], tables, difference(coarse, fine))


def _shortened(task: Task, made: Program, steps: int) -> Task:
    """The task with as many lanes, and if need be samples, as a pilot run can afford."""
    work = max(steps * made.instructions, 1)
    lanes = min(max(int(PILOT_WORK / work), 2), task.state.shape[1])
    share = PILOT_WORK / (work * lanes)
    times = task.times[: max(int(share * task.times.size), 2)] if share < 1 else task.times
    if lanes == task.state.shape[1] and times.size == task.times.size:
        return task
    state, parameters = (np.ascontiguousarray(part[:, :lanes]) for part in (task.state, task.parameters))
    return replace(task, times=times, state=state, parameters=parameters)


def _finer(steps: tuple[Schedule, int]) -> tuple[Schedule, int]:
    """Every step in two, or in as many as its grid cells can be divided into."""
    cells = steps[1]
    parts = next((n for n in range(2, cells + 1) if cells % n == 0), 2)
    return steps[0].divided(parts), cells // parts


def _regular_search(task: Task, method: Method, tolerance: float) -> Plan | None:
    """From the sample interval downwards; each candidate is compared with the next that really has shorter steps."""
    previous: tuple[tuple[Schedule, int], np.ndarray] | None = None
    best: tuple[float, tuple[Schedule, int]] | None = None
    pilot = task
    for step in _candidates(task):
        try:
            steps = _regular(task, step)
            if previous is not None and steps[0].lengths.size == previous[0][0].lengths.size:
                continue
            made, tables = _prepared(task, method, steps)
            if steps[0].lengths.size == 0:
                return Plan(made, steps[0], tables, 0.0)
            pilot = _shortened(pilot, made, steps[0].lengths.size)
            short = (steps[0].until(pilot.times.size - 1), steps[1])
            results = _results(pilot, _prepared(pilot, method, short))
        except (np.linalg.LinAlgError, SimulationError):
            break
        if previous is not None:
            error = difference(previous[1][: len(results), :, : results.shape[2]], results)
            if error <= tolerance:
                return Plan(*_ordered(task, method, previous[0]), error)
            best = (error, steps) if best is None or error < best[0] else best
        previous = (steps, results)
    if best is None or task.effort is BRIEF or best[0] > ROUGH:
        return None
    return Plan(*_ordered(task, method, best[1]), best[0])  # not to the tolerance, but with its error stated


def _ordered(task: Task, method: Method, steps: tuple[Schedule, int]) -> tuple[Program, Schedule, Table]:
    made, tables = _prepared(task, method, steps)
    return made, steps[0], tables


def _candidates(task: Task) -> list[float]:
    """Steps to try, longest first: the sample interval in whole cells of the grid, then halves."""
    if task.grid == 0:
        return [task.interval / 2**k for k in range(HALVINGS)]
    fixed = np.concatenate([task.times, task.forcing.jumps()]) - task.forcing.start
    cells = max(round(task.interval / task.grid), 1)
    divisors = [n for n in range(cells, 0, -1) if cells % n == 0 and _multiples(fixed, n * task.grid)]
    if not divisors:
        return [task.grid / 2**k for k in range(FRACTIONS)]
    chosen = [divisors[0]]
    for n in divisors[1:]:
        if n <= chosen[-1] / 2 or n == 1:
            chosen.append(n)
    return [n * task.grid for n in chosen] + [task.grid / 2**k for k in range(1, FRACTIONS)]


def _adaptive_search(task: Task, method: Method, tolerance: float) -> Plan | None:
    """Steps that one lane takes under error control, then halved until the samples agree to the tolerance."""
    at = stops(task.forcing.start, task.times, np.array(task.forcing.jumps()), ALIGNED * task.interval)
    lengths = _adaptive_lengths(task, at, method, tolerance / 10)
    if lengths is None:
        return None
    steps = steps_between(at, lengths)
    coarse = _results(task, _prepared(task, method, (steps, 0)))
    for _ in range(6):
        finer = steps.divided(2)
        fine = _results(task, _prepared(task, method, (finer, 0)))
        error = difference(coarse, fine)
        if error <= tolerance:
            return Plan(*_ordered(task, method, (steps, 0)), error)
        steps, coarse = finer, fine
    return None


def _adaptive_lengths(task: Task, at: Stops, method: Method, tolerance: float) -> list[np.ndarray] | None:
    """Lengths of the steps of the first lane between each two stops; None when there would be too many."""
    lane = _AdaptiveLane(task, method, tolerance)
    found = []
    for begin, interval in zip(at.times - at.intervals, at.intervals, strict=True):
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
    made, tables = _prepared(task, method, (steps, 0))
    trial = state.copy()
    march(made, tables, None, trial, parameters, lambda _, __: None)
    return trial
