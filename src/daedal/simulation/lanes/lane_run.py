"""Runs of systems without delays: all lanes of a block march through one schedule.

Lanes of one block share their steps, their known inputs and the compiled program; each has its own disturbance path and
may have its own parameters. Blocks are independent and run in threads; results do not depend on how many.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any, final

import numpy as np

from daedal import simulation
from daedal.errors import give_up_if_stopped
from daedal.simulation.forcing import see_features
from daedal.simulation.lanes.blocks import BLOCK, run_blocks
from daedal.simulation.lanes.march import KEPT, Reordering, Table, find_solved, march_lanes
from daedal.simulation.lanes.pilot import PATIENT, Effort, Task, count_grazing, prepare_steps
from daedal.simulation.lanes.run import Consume, Failure, Plan, StepWish, describe_steps, find_failures
from daedal.simulation.lanes.scenario import Paths, Scenario, Values
from daedal.simulation.lanes.search import choose_steps, estimate_step_error, make_regular
from daedal.simulation.steps import Program, Schedule, make_grid_row

PILOT = 8  # lanes on which steps are chosen


@final
@dataclass(frozen=True, eq=False)
class LaneRun:
    """A `Run` of many lanes, with its compiled program, its schedule, and the table of what each step reads."""

    scenario: Scenario
    times: np.ndarray
    plan: Plan
    values: tuple[Values, ...]
    warnings: tuple[str, ...]
    program: Program
    schedule: Schedule
    table: Table

    @property
    def text(self) -> str:
        """Method and steps, for tables."""
        return describe_steps(self.plan)

    def at(self, values: Sequence[Mapping[Any, float] | None]) -> "LaneRun":
        """The same steps and program at other parameter values."""
        resolved, scenario = self.scenario.resolve_values(values), self.scenario
        if scenario.forcing.features:
            parameters = [scenario.system.parameter_vector(given) for given in values]
            plain = replace(scenario.forcing, features=())
            scenario = replace(scenario, forcing=see_features(scenario.system, plain, self.times, parameters))
        same = scenario.forcing.features == self.scenario.forcing.features
        moved = replace(self, scenario=scenario, values=resolved)
        if same and resolved[0].clocks == self.values[0].clocks:
            return moved
        schedule, table = moved._divide_time(resolved[0])
        return replace(moved, schedule=schedule, table=table)

    def estimate_step_error(self, values: Values) -> float:
        """What halving the steps changes at these values, on a few lanes, relative to the largest values."""
        shape = self.plan.shape
        scenario, watched = self.scenario.watch([values])
        task = _make_task(scenario, self.times, shape.wanted, watched, PATIENT)
        return estimate_step_error(task, shape.method, (self.schedule, shape.cells))

    def run(self, realizations: int, consume: Consume) -> list[Failure]:
        """Simulate all lanes for all values, as `Run` says."""
        title = f"simulating '{self.scenario.system.model.name}': block"
        total = realizations * len(self.values) * self.times.size
        done: dict[int, int] = {}  # samples of each block, counted by the thread that does it

        def count(value: int, lanes: range, samples: np.ndarray, out: np.ndarray) -> None:
            done[lanes.start] = done.get(lanes.start, 0) + len(lanes) * samples.size
            consume(value, lanes, samples, out)

        return run_blocks(
            realizations,
            partial(self._run_block, count),
            title,
            operations=float(self.table.emit.size) * self.program.instructions * min(realizations, BLOCK),
            find_share=lambda: sum(list(done.values())) / total,
        )

    def _run_block(self, consume: Consume, lanes: range, failures: list[Failure]) -> None:
        """All sets of values side by side, chunk by chunk: sets that have the same disturbances share their paths."""
        failed: set[tuple[int, int]] = set()
        system = self.scenario.system
        shared: dict[int, Paths | None] = {}
        marches = []
        for number, values in enumerate(self.values):

            def receive(samples: np.ndarray, out: np.ndarray, number: int = number) -> None:
                give_up_if_stopped()
                for failure in find_failures(number, lanes, self.times[samples], out, find_solved(out), system):
                    if (number, failure.lane) not in failed:
                        failed.add((number, failure.lane))
                        failures.append(failure)
                consume(number, lanes, samples, out[:, : self.plan.shape.rows])

            if id(values.sources) not in shared:
                shared[id(values.sources)] = self.scenario.make_paths(values, lanes)
            marches.append(self._march(values, lanes, shared[id(values.sources)], receive))
        for _ in zip(*marches, strict=True):
            give_up_if_stopped()

    def _march(
        self,
        values: Values,
        lanes: range,
        paths: Paths | None,
        receive: Callable[[np.ndarray, np.ndarray], None],
    ) -> Iterator[None]:
        """One block with one set of values, from the first sample to the last."""
        program, count, table = self.program, len(lanes), self._find_table(values)
        first_row = None if paths is None else paths.draw_rows(0, 1)[0]
        parameters = np.repeat(self.scenario.make_parameters(values)[:, None], count, axis=1)
        start = self.scenario.forcing.start
        state = self.scenario.initialize(values, first_row, count)
        exogenous = self.scenario.find_exogenous(first_row, count).reshape(-1, count)
        state = _settle_first(program, self.scenario, state, parameters, exogenous)
        state = _sample_first(program, values, state, parameters, start, exogenous)
        if self.times[0] <= start:
            out = program.first(state, parameters, np.full((1, count), start), exogenous).full()
            receive(np.zeros(1, dtype=np.int64), out[None])
        yield
        reorder = Reordering(self.scenario.system, self.scenario.forcing)
        yield from march_lanes(program, table, paths, state, parameters, receive, reorder)

    def _find_table(self, values: Values) -> Table:
        """What each step reads; clocks that depend on the values divide time in another way."""
        return self.table if values.clocks == self.values[0].clocks else self._divide_time(values)[1]

    def _divide_time(self, values: Values) -> tuple[Schedule, Table]:
        """Steps of the planned length between the stops that these values make."""
        task = _make_task(self.scenario, self.times, self.plan.shape.wanted, [values], PATIENT)
        schedule, _ = make_regular(task, self.plan.step)
        return schedule, Table(self.program, schedule, task.forcing, task.grid, self.times)


def _settle_first(
    program: Program, scenario: Scenario, state: np.ndarray, parameters: np.ndarray, exogenous: np.ndarray
) -> np.ndarray:
    """The state of lanes on the sides of switches that their own disturbances put them on."""
    look, slots = program.look, program.slots
    if look is None or slots is None:
        return state
    times = np.full((1, state.shape[1]), scenario.forcing.start)
    return slots.settle(scenario.system, state, lambda state: look(state, parameters, times, exogenous).full())


def _sample_first(
    program: Program, values: Values, state: np.ndarray, parameters: np.ndarray, start: float, exogenous: np.ndarray
) -> np.ndarray:
    """The state of lanes after what is sampled at the start."""
    if program.sample is None:
        return state
    count = state.shape[1]
    marks = np.repeat(simulation.mark_times(values.clocks, start, np.array([start]))[:, 1:].T, count, axis=1)
    return program.sample(state, parameters, np.full((1, count), start), exogenous, marks).full()


class _PilotPaths:
    """Paths of pilot lanes, each with its own set of values; those beside each other with the same one are a block."""

    def __init__(self, scenario: Scenario, pilots: Sequence[Values]) -> None:
        alike = groupby(enumerate(pilots), key=lambda pilot: id(pilot[1].sources))
        groups = [list(group) for _, group in alike]
        blocks = (scenario.make_paths(one[0][1], range(one[0][0], one[-1][0] + 1)) for one in groups)
        self._blocks = [paths for paths in blocks if paths is not None]

    def draw_rows(self, first: int, last: int) -> np.ndarray:
        rows = [paths.draw_rows(first, last) for paths in self._blocks]
        return rows[0] if len(rows) == 1 else np.concatenate(rows, axis=2)


class _TrialPaths:
    """Rows that one trial after another asks for, drawn once."""

    def __init__(self, paths: Paths, first: np.ndarray, points: int) -> None:
        self._paths, self._drawn = paths, 1
        self._rows = np.empty((points, *first.shape))
        self._rows[0] = first

    def draw_rows(self, first: int, last: int) -> np.ndarray:
        if last > self._drawn:
            self._rows[self._drawn : last] = self._paths.draw_rows(self._drawn, last)
            self._drawn = last
        return self._rows[first:last]


def _share_paths(scenario: Scenario, pilots: Sequence[Values]) -> Callable[[int], Paths]:
    """The paths of so many pilot lanes, for one trial after another; of a long record each draws its own."""
    points = int((scenario.forcing.end - scenario.forcing.start) / scenario.grid) + 3  # one cell begun, and one beyond
    shared: dict[int, _TrialPaths] = {}

    def get(count: int) -> Paths:
        if count in shared:
            return shared[count]
        paths = _PilotPaths(scenario, pilots[:count])
        first = paths.draw_rows(0, 1)[0]
        if points * first.nbytes > KEPT:
            return paths
        return shared.setdefault(count, _TrialPaths(paths, first, points))

    return get


def prepare_lanes(
    scenario: Scenario,
    times: np.ndarray,
    wanted: tuple[str, ...],
    values: tuple[Values, ...],
    wish: StepWish,
    effort: Effort,
    warnings: tuple[str, ...],
) -> LaneRun:
    """Choose method and steps on a few lanes spread over the sets of values, and compile."""
    alike = [one for one in values if one.clocks == values[0].clocks]  # lanes share their steps
    chosen = [alike[i] for i in np.unique(np.linspace(0, len(alike) - 1, PILOT).astype(int))]
    plain, watched = scenario.watch(chosen)
    task = _make_task(plain, times, wanted, watched, effort)
    choice = choose_steps(task, *wish)
    if plain is not scenario:
        task = _make_task(scenario, times, wanted, chosen, effort)
    if choice.error == 0.0 and scenario.free and scenario.slots is None:  # at rest, values tell nothing about steps
        choice = choose_steps(replace(task, moved=True), *wish)
    program, table = prepare_steps(task, choice.method, choice.steps, quick=effort.once)
    schedule = choice.steps[0]
    grazing = count_grazing(task, (program, table))
    if grazing:
        share = f" in {grazing} of {task.state.shape[1]} realizations tried" if task.state.shape[1] > 1 else ""
        warnings = (*warnings, f"a switch is only just reached{share}: derivatives there are those of one side")
    plan = Plan(program.shape, float(schedule.lengths.max(initial=0.0)), schedule.lengths, choice.error)
    return LaneRun(scenario, times, plan, values, warnings, program, schedule, table)


def _make_task(
    scenario: Scenario, times: np.ndarray, wanted: tuple[str, ...], chosen: Sequence[Values], effort: Effort
) -> Task:
    """What pilot lanes with these sets of values have to do."""
    system, noisy = scenario.system, bool(scenario.disturbances)
    forcing = replace(scenario.forcing, clocks=chosen[0].clocks) if chosen[0].clocks else scenario.forcing
    lanes = range(max(PILOT if noisy else 1, len(chosen)))
    pilots = [chosen[lane % len(chosen)] for lane in lanes]
    share_paths = _share_paths(scenario, pilots) if noisy else None
    first_row = share_paths(len(lanes)).draw_rows(0, 1)[0] if share_paths else None
    exogenous = scenario.find_exogenous(first_row, len(lanes)).reshape(-1, len(lanes))
    parameters = np.stack([scenario.make_parameters(one) for one in pilots], axis=1)
    starts = [scenario.initialize(one, first_row, len(lanes)) for one in chosen]

    def begin(program: Program, state: np.ndarray) -> np.ndarray:
        given, own = parameters[:, : state.shape[1]], exogenous[:, : state.shape[1]]
        state = _settle_first(program, scenario, state, given, own)
        return _sample_first(program, pilots[0], state, given, forcing.start, own)

    return Task(
        system=system,
        times=times,
        forcing=forcing,
        grid=scenario.grid,
        wanted=wanted,
        directions=scenario.directions,
        curves=make_grid_row(system).curves if noisy else (),
        point=scenario.make_point(chosen[0]),
        state=np.stack([starts[lane % len(chosen)][:, lane] for lane in lanes], axis=1),
        parameters=parameters,
        paths=share_paths or (lambda _: None),
        find_sizes=partial(scenario.measure_rows, chosen[0], wanted),
        effort=effort,
        begin=begin if scenario.slots else None,
    )
