"""Choose method and steps of the lanes so that the error stays below a tolerance, measured by halving steps.

Steps are regular where not too many are needed, from the sample interval downwards until halving changes a few lanes by
less than the tolerance; with disturbances they are whole cells of their grid or fractions of one. Otherwise, without
disturbances, a single lane steps adaptively (the difference between one step and two halves controls the next length),
and all lanes follow the steps it took. Runge–Kutta is tried first; where it needs too many steps the system is stiff,
and Radau IIA takes over.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from daedal.errors import SimulationError
from daedal.simulation import steps
from daedal.simulation.lanes.adaptive import search_adaptively
from daedal.simulation.lanes.march import ON_GRID, march_lanes
from daedal.simulation.lanes.pilot import (
    Choice,
    Steps,
    Task,
    Trial,
    choose,
    judge,
    prepare_steps,
    run_pilots,
    shorten,
)
from daedal.simulation.steps import ALIGNED, RUNGE_KUTTA, Method, Schedule, Stops, find_stops, make_regular_steps
from daedal.symbolic import jet, list_symbols

RESTLESS_PARTS = 64  # of the sample interval: steps by which it is judged whether a switch comes to rest
HALVINGS = 12  # of the sample interval
FRACTIONS = 9  # halvings of a grid cell
MOST_CELLS = 8  # of the grid in one step; more never resolve a disturbance that the grid does
ROUGH = 1e-2  # relative error above which steps are too long to mean anything
FEW = 5000  # regular steps that are taken at once: to find others one by one takes longer
QUICK = 6e7  # operations of all steps that are a matter of milliseconds: then there may be more
MANY_STOPS = 100  # samples and jumps between which steps have little room to vary
MODERATE = 1e5  # regular steps that are few enough then
VERY_MANY_STOPS = 1000  # between which those of stiff systems have none either
DENSE_INPUT = 500  # pieces of an input beyond which steps are regular


def choose_steps(task: Task, method: Method | None, step: float | None, tolerance: float) -> Choice:
    """The method and steps that the options ask for, or the cheapest that meet the tolerance."""
    methods: tuple[Method, ...] = (method,) if method else ("rk4", "radau5")
    if step is not None:
        steps = make_regular(task, step)
        choices = [Choice(methods[0], steps, estimate_step_error(task, methods[0], steps))]
        if not choices[0].error < ROUGH:  # too long for this method; perhaps not for the other
            choices += [Choice(other, steps, estimate_step_error(task, other, steps)) for other in methods[1:]]
        return min(choices, key=lambda choice: choice.error)
    regular = task.grid > 0 or any(track and track[0].times.size > DENSE_INPUT for track in task.forcing.tracks)
    for search in (_search_regular,) if regular else SEARCHES:
        for candidate in methods:
            with np.errstate(all="ignore"):  # a trial step that is too long may overflow; it is then rejected
                choice = search(task, candidate, tolerance)
            if choice is not None:
                return choice
    _refuse_restless(task, methods[0])
    raise SimulationError(
        f"No step was found with which {' or '.join(methods)} simulates model '{task.system.model.name}' to "
        f"{tolerance:g}.",
        "Loosen the tolerance of Lanes, give its step, or use the reference solver IDA().",
    )


def _refuse_restless(task: Task, method: Method) -> None:
    """Say so where a switch that changes sides without end is why no step was found."""
    if task.system.reduction.switching is None:
        return
    reasons: list[tuple[float, str]] = []
    table = make_regular(task, (task.grid or task.interval) / RESTLESS_PARTS)
    compiled, tabulated = prepare_steps(task, method, table)

    def receive(samples: np.ndarray, out: np.ndarray) -> None:
        for row in range(len(samples)):
            for residual in out[row, -1]:
                reason = steps.explain_failure(task.system, float(residual))
                if reason:
                    reasons.append((float(task.times[samples[row]]), reason))

    with np.errstate(all="ignore"):
        state = task.begin_lanes(compiled)
        for _ in march_lanes(compiled, tabulated, task.paths(state.shape[1]), state, task.parameters, receive):
            if reasons:
                break
    if reasons:
        time, reason = min(reasons)
        raise SimulationError(
            f"Model '{task.system.model.name}' cannot be simulated until time {time:g}: {reason}.",
            "Give the switch a little hysteresis, or replace it by a smooth function such as tanh(x/width)."
            if "sides" in reason
            else "Look at one trajectory with simulate(..., solver=IDA()), which names the condition.",
        )


def _search_moderate(task: Task, method: Method, tolerance: float) -> Choice | None:
    """Regular steps, if there need not be very many."""
    stops = task.times.size + len(task.forcing.find_jumps())
    if stops <= VERY_MANY_STOPS and method not in RUNGE_KUTTA:  # stiff systems want short steps here and there
        return None
    many = stops > MANY_STOPS
    try:
        compiled, _ = prepare_steps(task, method, make_regular(task, _find_longest(task)))
    except (np.linalg.LinAlgError, SimulationError):
        return None
    most = min(task.effort.regular, max(MODERATE if many else FEW, QUICK / compiled.instructions))
    few = replace(task, effort=replace(task.effort, regular=most, strict=True))
    return _search_regular(few, method, tolerance, lasting=not many)


def make_regular(task: Task, step: float) -> Steps:
    """Steps of a given length and the grid cells each spans (0: inside one cell)."""
    start = task.forcing.start
    jumps, instants = np.array(task.forcing.find_jumps()), task.forcing.find_instants()
    near = ALIGNED * step
    if task.grid == 0:
        return _schedule_regular(task, find_stops(start, task.times, jumps, near, instants), step), 0
    cells = round(step / task.grid)
    whole = cells >= 1 and abs(cells * task.grid - step) < 1e-9 * step
    if whole and _are_multiples(np.concatenate([task.times, jumps]) - start, step):
        return _schedule_regular(task, find_stops(start, task.times, jumps, near), step), cells
    parts = round(task.grid / step)
    if not whole and (parts < 1 or abs(step * parts - task.grid) > 1e-9 * task.grid):
        raise SimulationError(
            f"The step {step:g} neither divides the grid {task.grid:g} of the disturbances nor is a multiple of it.",
            f"Choose for example {task.grid / max(parts, 1):g} or {task.grid * max(cells, 1):g}.",
        )
    count = (task.times[-1] - start) / task.grid + ALIGNED
    _refuse_too_many(task, count, step)
    breaks = np.concatenate([jumps, start + task.grid * np.arange(1, int(count) + 1)])
    return _schedule_regular(task, find_stops(start, task.times, breaks, near, instants), min(step, task.grid)), 0


def _schedule_regular(task: Task, at: Stops, step: float) -> Schedule:
    _refuse_too_many(task, float(np.sum(np.ceil(at.intervals / step))), step)
    parts = round((task.grid or _find_longest(task)) / step)  # so that halving the step halves them all
    return make_regular_steps(at, step, task.forcing.find_instants(), parts)


def _refuse_too_many(task: Task, count: float, step: float) -> None:
    if count > task.effort.regular:
        raise SimulationError(
            f"Model '{task.system.model.name}' would take {count:.2g} steps of {step:.2g}.",
            "Use longer steps or a coarser grid, or the reference solver IDA(), which chooses its steps freely.",
        )


def _are_multiples(times: np.ndarray, step: float) -> bool:
    """Whether all times since the start are whole numbers of steps, up to the rounding of large times."""
    counts = times / step
    return bool(np.all(np.abs(counts - np.round(counts)) < ON_GRID))


def estimate_step_error(task: Task, method: Method, steps: Steps, closely: bool = False) -> float:
    """What dividing these steps changes in the pilot lanes of a task; `closely` in eighths too."""
    compiled, _ = prepare_steps(task, method, steps)
    with np.errstate(all="ignore"):
        pilot = shorten(task, compiled, steps[0].lengths.size)
        short = (steps[0].take_until(pilot.times.size - 1), steps[1])
        coarse, fine = (run_pilots(pilot, prepare_steps(pilot, method, tried)) for tried in (short, _refine(short)))
        return judge(pilot, method, short, coarse, fine, closely=closely)


def _refine(steps: Steps) -> Steps:
    """Every step in two, or in as many as its grid cells can be divided into."""
    cells = steps[1]
    parts = next((n for n in range(2, cells + 1) if cells % n == 0), 2)
    return steps[0].divide(parts), cells // parts


def _search_regular(task: Task, method: Method, tolerance: float, *, lasting: bool = False) -> Choice | None:
    """From the sample interval downwards; with `lasting`, steps with which a lane escapes are not believed."""
    best = choose(_try_regular(task, method, tolerance, lasting), tolerance)
    if best is None:
        return None
    if best.error <= tolerance:
        return Choice(method, best.steps, best.error)
    if task.effort.strict or best.error > ROUGH:
        return None
    error = best.error  # not to the tolerance, but with its error stated
    if task.grid == 0:  # which may be small by chance, where both step over an oscillation
        error = max(error, estimate_step_error(task, method, best.shorter, closely=True))
    return Choice(method, best.shorter, error) if error <= ROUGH else None


def _try_regular(task: Task, method: Method, tolerance: float, lasting: bool) -> Iterator[Trial[Steps]]:
    """Each candidate compared with the next that really has shorter steps."""
    previous: tuple[Steps, np.ndarray] | None = None
    pilot = task
    for step in _list_candidates(task):
        try:
            steps = make_regular(task, step)
            if previous is not None and steps[0].lengths.size == previous[0][0].lengths.size:
                continue
            compiled, _ = prepare_steps(task, method, steps)
            if steps[0].lengths.size == 0:
                yield Trial(steps, steps, 0.0)
                return
            pilot = shorten(pilot, compiled, steps[0].lengths.size)
            short = (steps[0].take_until(pilot.times.size - 1), steps[1])
            results = run_pilots(pilot, prepare_steps(pilot, method, short))
        except (np.linalg.LinAlgError, SimulationError):
            return
        if previous is not None:
            coarse = previous[1][: len(results), :, : results.shape[2]]
            tried = (previous[0][0].take_until(pilot.times.size - 1), previous[0][1])
            believed = not lasting or bool(np.isfinite(coarse).all() and np.isfinite(results).all())
            closely = task.grid == 0  # what drives the system is not sampled more finely than the steps
            error = judge(pilot, method, tried, coarse, results, tolerance, closely) if believed else np.inf
            yield Trial(previous[0], steps, error)
        previous = (steps, results)


def _find_longest(task: Task) -> float:
    """The longest regular step: between two samples, of the data or of what is held."""
    return min([task.interval, *(clock.every for clock in task.forcing.clocks)])


def _switches_on_disturbances(task: Task) -> bool:
    """Whether a switch sees the disturbances themselves, which jump a little between steps of several cells."""
    switching = task.system.reduction.switching
    names = set(task.system.model.disturbance_names)
    tops = {task.system.reduction.name_jet(top) for top in task.system.reduction.tops}
    functions = [switch.function for switch in switching.switches] if switching else []
    return any(jet(name)[0] in names or name in tops for g in functions for name in list_symbols(g))


def _list_candidates(task: Task) -> list[float]:
    """Steps to try, longest first: the sample interval in whole cells of the grid, then halves."""
    if task.grid == 0:
        return [_find_longest(task) / 2**k for k in range(HALVINGS)]
    fixed = np.concatenate([task.times, task.forcing.find_jumps()]) - task.forcing.start
    cells = max(round(task.interval / task.grid), 1)
    longest = 1 if _switches_on_disturbances(task) else min(cells, MOST_CELLS)
    divisors = [n for n in range(longest, 0, -1) if cells % n == 0 and _are_multiples(fixed, n * task.grid)]
    if not divisors:
        return [task.grid / 2**k for k in range(FRACTIONS)]
    chosen = [divisors[0]]
    for n in divisors[1:]:
        if n <= chosen[-1] / 2 or n == 1:
            chosen.append(n)
    return [n * task.grid for n in chosen] + [task.grid / 2**k for k in range(1, FRACTIONS)]


SEARCHES: tuple[Callable[[Task, Method, float], Choice | None], ...] = (
    _search_moderate,
    search_adaptively,
    _search_regular,
)
