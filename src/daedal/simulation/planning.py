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

from daedal.errors import SimulationError, quoted
from daedal.simulation.collocation import ORDER, Method
from daedal.simulation.discretization import Point
from daedal.simulation.forcing import Forcing
from daedal.simulation.marching import Paths, Table, march, table
from daedal.simulation.program import Directions, Program, Shape, program
from daedal.simulation.schedule import Schedule, from_steps, schedule
from daedal.systems import System

MOST_ADAPTIVE = 4000  # steps before a method counts as unsuitable
HALVINGS = 12  # of the sample interval
PILOT_SAMPLES = 200  # at most, for a pilot run with disturbances
DENSE_INPUT = 500  # pieces of an input beyond which steps are regular


@dataclass(frozen=True, eq=False)
class Plan:
    """A program, its steps, and the estimated error of the results (largest, relative to each variable's size)."""

    program: Program
    steps: Schedule
    table: Table
    error: float


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be simulated: everything a pilot run needs."""

    system: System
    times: np.ndarray
    forcing: Forcing
    grid: float  # of the disturbances; 0 without any
    wanted: tuple[str, ...]
    directions: Directions
    point: Point
    state: np.ndarray  # (value, lane) of a few pilot lanes
    parameters: np.ndarray
    paths: Callable[[], Paths | None]

    @property
    def interval(self) -> float:
        """The shortest time between two samples."""
        stops = np.unique(np.concatenate([[self.forcing.start], self.times]))
        return float(np.min(np.diff(stops))) if stops.size > 1 else 1.0


def plan(task: Task, method: Method | None, step: float | None, tolerance: float) -> Plan:
    """The plan that the options ask for, or the cheapest that meets the tolerance."""
    methods: tuple[Method, ...] = (method,) if method else ("rk4", "radau5")
    if step is not None:
        return _with_error(task, methods[0], _regular(task, step))
    regular = task.grid > 0 or any(track and track[0].times.size > DENSE_INPUT for track in task.forcing.tracks)
    for search in (_regular_search,) if regular else (_adaptive_search, _regular_search):
        for candidate in methods:
            with np.errstate(all="ignore"):  # a trial step that is too long may overflow; it is then rejected
                found = search(task, candidate, tolerance)
            if found is not None:
                return found
    raise SimulationError(
        f"No step was found with which {quoted(methods)} simulates model '{task.system.model.name}' to {tolerance:g}.",
        "Loosen the tolerance of Lanes, give its step, or use the reference solver IDA().",
    )


def _regular(task: Task, step: float) -> tuple[Schedule, int]:
    """Steps of a given length and the grid cells each spans (0: inside one cell)."""
    start = task.forcing.start
    jumps = np.array(task.forcing.jumps())
    if task.grid == 0:
        return schedule(start, task.times, jumps, step), 0
    cells = round(step / task.grid)
    whole = cells >= 1 and abs(cells * task.grid - step) < 1e-9 * step
    if whole and _multiples(np.concatenate([task.times, jumps]) - start, step):
        return schedule(start, task.times, jumps, step), cells
    parts = round(task.grid / step)
    if not whole and (parts < 1 or abs(step * parts - task.grid) > 1e-9 * task.grid):
        raise SimulationError(
            f"The step {step:g} neither divides the grid {task.grid:g} of the disturbances nor is a multiple of it.",
            f"Choose for example {task.grid / max(parts, 1):g} or {task.grid * max(cells, 1):g}.",
        )
    points = start + task.grid * np.arange(1, int((task.times[-1] - start) / task.grid + 1e-9) + 1)
    return schedule(start, task.times, np.concatenate([jumps, points]), min(step, task.grid)), 0


def _multiples(times: np.ndarray, step: float) -> bool:
    counts = times / step
    return bool(np.all(np.abs(counts - np.round(counts)) < 1e-6))


def _prepared(task: Task, method: Method, steps: tuple[Schedule, int]) -> tuple[Program, Table]:
    shape = Shape(method, steps[1], task.directions, task.wanted, task.grid > 0)
    length = float(np.median(steps[0].lengths)) if steps[0].lengths.size else 1.0
    made = program(task.system, shape, task.point, length)
    return made, table(made, steps[0], task.forcing, task.grid)


def _results(task: Task, prepared: tuple[Program, Table]) -> np.ndarray:
    """Wanted values of the pilot lanes, (sample, value, lane), sensitivities left out."""
    made, tables = prepared
    found: list[np.ndarray] = []
    state = task.state.copy()
    march(
        made,
        tables,
        task.paths(),
        state,
        task.parameters,
        lambda _, out: found.append(out[:, : len(task.wanted)].copy()),
    )
    return np.concatenate(found) if found else np.zeros((0, len(task.wanted), state.shape[1]))


def difference(coarse: np.ndarray, fine: np.ndarray) -> float:
    """Largest difference relative to the size of each variable; infinite where something is not finite."""
    if coarse.size == 0:
        return 0.0
    if not (np.isfinite(coarse).all() and np.isfinite(fine).all()):
        return float("inf")
    size = np.max(np.abs(fine), axis=(0, 2), keepdims=True)
    return float(np.max(np.abs(coarse - fine) / np.where(size > 0, size, 1.0)))


def _with_error(task: Task, method: Method, steps: tuple[Schedule, int]) -> Plan:
    """The plan with these steps, its error estimated on the pilot lanes."""
    made, tables = _prepared(task, method, steps)
    pilot = replace(task, times=task.times[: PILOT_SAMPLES + 1])
    short = (steps[0].until(float(pilot.times[-1])), steps[1])
    coarse, fine = (_results(pilot, _prepared(pilot, method, candidate)) for candidate in (short, _finer(short)))
    error = difference(coarse, fine)
    return Plan(made, steps[0], tables, error)


def _finer(steps: tuple[Schedule, int]) -> tuple[Schedule, int]:
    """Every step in two, or in as many as its grid cells can be divided into."""
    cells = steps[1]
    parts = next((n for n in range(2, cells + 1) if cells % n == 0), 2)
    return steps[0].divided(parts), cells // parts


def _regular_search(task: Task, method: Method, tolerance: float) -> Plan | None:
    """From the sample interval downwards; each candidate is compared with the next, finer one."""
    pilot = replace(task, times=task.times[: PILOT_SAMPLES + 1])
    previous: tuple[float, np.ndarray] | None = None
    for step in _candidates(task):
        try:
            results = _results(pilot, _prepared(pilot, method, _regular(pilot, step)))
        except np.linalg.LinAlgError:
            return None
        if previous is not None:
            error = difference(previous[1], results)
            if error <= tolerance:
                steps = _regular(task, previous[0])
                return Plan(*_ordered(task, method, steps), error)
        previous = (step, results)
    return None


def _ordered(task: Task, method: Method, steps: tuple[Schedule, int]) -> tuple[Program, Schedule, Table]:
    made, tables = _prepared(task, method, steps)
    return made, steps[0], tables


def _candidates(task: Task) -> list[float]:
    """Steps to try, longest first: the sample interval in whole cells of the grid, then halves."""
    if task.grid == 0:
        return [task.interval / 2**k for k in range(HALVINGS)]
    cells = round(task.interval / task.grid)
    if cells < 1 or abs(cells * task.grid - task.interval) > 1e-6 * task.grid:
        return [task.grid / 2**k for k in range(6)]
    divisors = [n for n in range(cells, 0, -1) if cells % n == 0]
    chosen = [divisors[0]]
    for n in divisors[1:]:
        if n <= chosen[-1] / 2 or n == 1:
            chosen.append(n)
    return [n * task.grid for n in chosen] + [task.grid / 2**k for k in range(1, 6)]


def _adaptive_search(task: Task, method: Method, tolerance: float) -> Plan | None:
    """Steps that one lane takes under error control, then halved until the samples agree to the tolerance."""
    lengths = _adaptive_lengths(task, method, tolerance / 10)
    if lengths is None:
        return None
    steps = from_steps(task.forcing.start, lengths, task.times)
    coarse = _results(task, _prepared(task, method, (steps, 0)))
    for _ in range(6):
        finer = steps.divided(2)
        fine = _results(task, _prepared(task, method, (finer, 0)))
        error = difference(coarse, fine)
        if error <= tolerance:
            return Plan(*_ordered(task, method, (steps, 0)), error)
        steps, coarse = finer, fine
    return None


def _adaptive_lengths(task: Task, method: Method, tolerance: float) -> np.ndarray | None:
    """Lengths of the steps of the first lane from start to end, ending on every sample and jump."""
    start, end = task.forcing.start, float(task.times[-1])
    stops = np.unique(np.concatenate([task.times[task.times > start], task.forcing.jumps()]))
    state, parameters = task.state[:, :1].copy(), np.ascontiguousarray(task.parameters[:, :1])
    states = len(task.system.states)
    largest = np.maximum(np.abs(state[:states, 0]), 1e-10)
    time, length = start, min((end - start) * 1e-4, float(stops[0]) - start) if stops.size else 0.0
    lengths: list[float] = []
    factor_power = 1.0 / (ORDER[method] + 1)
    for stop in stops:
        while time < stop - 1e-12 * max(abs(stop), end - start):
            if len(lengths) > MOST_ADAPTIVE:
                return None
            left = stop - time
            taken = left if length > 0.9 * left else min(length, left / 2)
            whole, halves = (_trial(task, method, state, parameters, time, taken, parts) for parts in (1, 2))
            size = np.abs(halves[:states, 0]) + 1e-6 * largest + 1e-12
            error = float(np.max(np.abs(whole[:states, 0] - halves[:states, 0]) / size, initial=0.0))
            if not np.isfinite(error) or error > tolerance:
                shrink = 0.1 if not np.isfinite(error) else max(0.1, 0.9 * (tolerance / error) ** factor_power)
                length = taken * shrink
                if time + length == time or length < 1e-100:
                    return None
                continue
            state, time = halves, time + taken
            lengths.append(taken)
            largest = np.maximum(largest, np.abs(state[:states, 0]))
            length = taken * min(4.0, 0.9 * (tolerance / max(error, 1e-300)) ** factor_power)
        time = float(stop)
    return np.array(lengths)


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
