"""Steps under error control: one lane chooses them, all lanes follow."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from daedal import simulation
from daedal.kernels import Control, Crossing, Stretches
from daedal.simulation.lanes.pilot import Choice, Steps, Task, Trial, choose, judge, prepare_steps, run_pilots
from daedal.simulation.steps import (
    ALIGNED,
    ORDER,
    UNFINISHED,
    Method,
    Program,
    Schedule,
    Stops,
    expand_inputs,
    find_stops,
    join_steps,
)

HALVINGS = 6
LEAST = 1e-10  # of its size: what counts as the largest value of a state so far, at least


def search_adaptively(task: Task, method: Method, tolerance: float) -> Choice | None:
    """Steps that one lane takes under error control, then halved until the samples agree to the tolerance."""
    forcing, instants = task.forcing, task.forcing.find_instants()
    breaks = np.concatenate([np.array(forcing.find_jumps()), forcing.find_kinks()])
    at = find_stops(forcing.start, task.times, breaks, ALIGNED * task.interval, instants)
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
    task = _drop_directions(task)
    none = np.zeros(0)
    program, _ = prepare_steps(task, method, (Schedule(none, none, none.astype(np.int64)), 0))
    state, sizes = task.begin_lanes(program)[:, :1], task.point.sizes.states
    control = Control(
        tolerance=tolerance,
        order=ORDER[method],
        sizes=sizes,
        recent=np.maximum(np.abs(state[: sizes.size, 0]), LEAST * sizes),
        start=task.forcing.start,
        end=float(task.times[-1]),
        most=task.effort.adaptive,
        worst=-1 if program.slots is None else program.slots.first - 1,
        unfinished=UNFINISHED,
    )
    lane = Crossing(program.kernel, state.copy(), task.parameters[:, :1].copy(), program.nodes, control)
    return lane.cross(_make_stretches(task, program, at))


def _drop_directions(task: Task) -> Task:
    """The same without sensitivities, which have no say in the steps; where equations switch, they are left."""
    if task.directions.count == 0 or task.begin is not None:
        return task
    parameters, states = len(task.system.reduction.parameters), len(task.system.states)
    size = states + len(task.system.tops)
    columns = [np.concatenate([task.parameters[:parameters], task.parameters[-states - size :]])]
    columns.append(np.concatenate([task.state[:size], task.state[-1:]]))
    return replace(task, directions=task.directions.none, parameters=columns[0], state=columns[1])


def _make_stretches(task: Task, program: Program, at: Stops) -> Stretches:
    """What the steps between each two stops read."""
    forcing, inputs = task.forcing, list(program.inputs)
    after = forcing.at_all(np.clip(at.times, forcing.start, forcing.end))[:, inputs]
    marks = np.zeros((at.times.size, 0))
    if forcing.clocks:
        marks = simulation.mark_times(forcing.clocks, forcing.start, at.times)
    expanded = expand_inputs(forcing, at, inputs)
    return Stretches(at.begins.copy(), at.intervals, expanded, np.ascontiguousarray(after), np.ascontiguousarray(marks))
