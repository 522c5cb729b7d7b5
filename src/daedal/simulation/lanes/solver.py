"""The ensemble solver: many trajectories advance together, one per SIMD lane.

Lanes of one block share their steps, their known inputs and the compiled program; each has its own disturbance path and
may have its own parameters. Blocks are independent and run in threads; results do not depend on how many.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from threading import Event
from typing import Any, Literal, final

import numpy as np

from daedal.errors import SimulationError
from daedal.models import evaluate_parameters
from daedal.simulation.delays import DelayRun, prepare_delayed
from daedal.simulation.forcing import Forcing
from daedal.simulation.lanes.blocks import Consume, in_blocks
from daedal.simulation.lanes.failure import Failure
from daedal.simulation.lanes.march import CASADI, ESCAPED, Reordering, march_lanes, solved
from daedal.simulation.lanes.noise import (
    LanePaths,
    check_smoothness,
    disturbance_grid,
    disturbance_places,
    grid_row,
    refuse_exact,
)
from daedal.simulation.lanes.start import Lineup, Values
from daedal.simulation.steps import (
    NODES,
    PATIENT,
    Directions,
    Effort,
    Plan,
    Point,
    Task,
    plan,
    sample_interval,
    step_error,
)
from daedal.systems import System

PILOT = 8  # lanes on which steps are chosen


@final
@dataclass(frozen=True)
class Lanes:
    """The ensemble solver: steps aligned with the disturbance grid, one trajectory per vector lane.

    Parameters
    ----------
    method
        "rk4" or, of order six, "rk6", both with projection; "radau3" or "radau5" (Radau IIA) for stiff systems; "auto"
        chooses, "rk6" only for smooth systems with delays.
    step
        Seconds; chosen by step halving when left out.
    tolerance
        What halving the steps may change, relative to the largest value of each variable.
    """

    method: Literal["auto", "rk4", "rk6", "radau3", "radau5"] = "auto"
    step: float | None = None
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if self.method not in ("auto", *NODES):
            raise SimulationError(
                f"The method of Lanes must be 'auto', 'rk4', 'rk6', 'radau3' or 'radau5', got {self.method!r}.",
                "Choose one.",
            )
        if self.step is not None and not (isinstance(self.step, Real) and 0 < float(self.step) < np.inf):
            raise SimulationError(
                f"The step of Lanes must be positive, got {self.step!r}.", "Leave it out to have it chosen."
            )
        if not (isinstance(self.tolerance, Real) and 0 < float(self.tolerance) < 1):
            raise SimulationError(
                f"The tolerance of Lanes must lie between 0 and 1, got {self.tolerance!r}.", "Write 1e-7."
            )


@dataclass(frozen=True, eq=False)
class LaneRun:
    """A prepared run of many lanes; every set of values sees the same disturbance paths."""

    lineup: Lineup
    times: np.ndarray
    plan: Plan
    values: tuple[Values, ...]
    warnings: tuple[str, ...]

    @property
    def text(self) -> str:
        """Method and steps, for tables."""
        lengths = self.plan.steps.lengths
        if not lengths.size:
            return "Lanes"
        regular = np.ptp(lengths) <= 1e-6 * lengths.max()
        step = f"{lengths.max():.3g}" if regular else f"{lengths.min():.2g} … {lengths.max():.2g}"
        return f"Lanes({self.plan.program.shape.method}, {lengths.size} steps of {step} s)"

    def step_error(self, values: Values) -> float:
        """What halving the steps changes at these values, on a few lanes, relative to the largest values."""
        return step_error(_task(self.lineup, self.times, self.plan.program.shape.wanted, [values], PATIENT), self.plan)

    def run(self, realizations: int, consume: Consume) -> list[Failure]:
        """Simulate all lanes for all values; `consume(value, lanes, samples, out)` may come from several threads.

        `out` is (sample, output, lane), the outputs being the wanted values, then their sensitivities direction by
        direction. Failed lanes are returned; what `consume` was given for them is not to be used.
        """
        title = f"simulating '{self.lineup.system.model.name}': block"
        return in_blocks(realizations, lambda lanes, stop: self._block(lanes, consume, stop), title)

    def _block(self, lanes: range, consume: Consume, stop: Event) -> list[Failure]:
        """All sets of values side by side, chunk by chunk: sets that have the same disturbances share their paths."""
        failures: dict[tuple[int, int], Failure] = {}
        shared: dict[int, LanePaths | None] = {}
        marches = []
        for number, values in enumerate(self.values):

            def received(samples: np.ndarray, out: np.ndarray, number: int = number) -> None:
                if stop.is_set():
                    raise InterruptedError
                self._note(failures, number, lanes, samples, out)
                consume(number, lanes, samples, out[:, :-1])

            if id(values.sources) not in shared:
                shared[id(values.sources)] = self.lineup.paths(values, lanes)
            marches.append(self._lanes(values, lanes, shared[id(values.sources)], received))
        for _ in zip(*marches, strict=True):
            pass
        return list(failures.values())

    def _lanes(
        self,
        values: Values,
        lanes: range,
        paths: LanePaths | None,
        received: Callable[[np.ndarray, np.ndarray], None],
    ) -> Iterator[None]:
        """One block with one set of values, from the first sample to the last."""
        program, count = self.plan.program, len(lanes)
        first_row = None if paths is None else paths.rows(0, 1)[0]
        parameters = np.repeat(values.column[:, None], count, axis=1)
        start, out = self.lineup.forcing.start, None
        with CASADI:
            state = self.lineup.states(values, first_row, count)
            if self.times[0] <= start:
                exogenous = self.lineup.exogenous(first_row, count).reshape(-1, count)
                out = program.first(state, parameters, np.full((1, count), start), exogenous).full()
        if out is not None:
            received(np.zeros(1, dtype=np.int64), out[None])
        yield
        reorder = Reordering(self.lineup.system, self.lineup.forcing)
        yield from march_lanes(program, self.plan.table, paths, state, parameters, received, reorder)

    def _note(
        self,
        failures: dict[tuple[int, int], Failure],
        value: int,
        lanes: range,
        samples: np.ndarray,
        out: np.ndarray,
    ) -> None:
        finite, good = np.all(np.abs(out) < ESCAPED, axis=1), solved(out)
        for lane in np.flatnonzero(~good.all(axis=0)).tolist():
            row = int(np.argmin(good[:, lane]))
            reason = "its equations could not be solved" if finite[row, lane] else "a value was not finite"
            failure = Failure(lanes[lane], float(self.times[samples[row]]), reason, value)
            failures.setdefault((value, lanes[lane]), failure)


AnyRun = LaneRun | DelayRun


class _PilotPaths:
    """Paths of pilot lanes, each with its own set of values."""

    def __init__(self, lineup: Lineup, pilots: Sequence[Values]) -> None:
        made = (lineup.paths(values, range(lane, lane + 1)) for lane, values in enumerate(pilots))
        self._lanes = [paths for paths in made if paths is not None]

    def rows(self, first: int, last: int) -> np.ndarray:
        return np.concatenate([paths.rows(first, last) for paths in self._lanes], axis=2)


def prepare(
    system: System,
    times: np.ndarray,
    forcing: Forcing,
    solver: Lanes,
    *,
    values: Sequence[Mapping[Any, float] | None],
    wanted: Sequence[str],
    free: Sequence[str],
    seed: int,
    purpose: str,
    noisy: bool,
    effort: Effort = PATIENT,
) -> AnyRun:
    """Choose method and steps, compile, and find initial values for each set of parameter values."""
    places = disturbance_places(system) if noisy else ()
    grid, warnings = 0.0, []
    if places:
        refuse_exact(system)
        interval = sample_interval(forcing.start, times)
        for given in values:
            numbers = evaluate_parameters(system.model, given)
            check_smoothness(system, numbers)
            step, found = disturbance_grid(system, numbers, interval)
            grid = min(grid, step) if grid else step
            warnings += [warning for warning in found if warning not in warnings]
    directions = Directions.of(system, free)
    lineup = Lineup(system, forcing, grid, places, tuple(free), directions, seed, purpose)
    sets = lineup.all_values(values)
    method = None if solver.method == "auto" else solver.method
    if system.reduction.delays:
        return prepare_delayed(
            lineup, times, tuple(wanted), sets, method, solver.step, solver.tolerance, tuple(warnings)
        )
    chosen = [sets[i] for i in np.unique(np.linspace(0, len(sets) - 1, PILOT).astype(int))]
    task = _task(lineup, times, tuple(wanted), chosen, effort)
    return LaneRun(lineup, times, plan(task, method, solver.step, solver.tolerance), sets, tuple(warnings))


def _task(lineup: Lineup, times: np.ndarray, wanted: tuple[str, ...], chosen: Sequence[Values], effort: Effort) -> Task:
    """What pilot lanes with these sets of values have to do."""
    system, forcing, noisy = lineup.system, lineup.forcing, bool(lineup.disturbances)
    lanes = range(max(PILOT if noisy else 1, len(chosen)))
    pilots = [chosen[lane % len(chosen)] for lane in lanes]
    first_row = _PilotPaths(lineup, pilots).rows(0, 1)[0] if noisy else None
    start, parameters = chosen[0].start, system.parameter_vector(chosen[0].given)
    return Task(
        system=system,
        times=times,
        forcing=forcing,
        grid=lineup.grid,
        wanted=wanted,
        directions=lineup.directions,
        curves=grid_row(system).curves if noisy else (),
        point=Point(forcing.start, start.states, start.tops, parameters, forcing.at(forcing.start)),
        state=np.stack([lineup.states(one, first_row, len(lanes))[:, i] for i, one in enumerate(pilots)], axis=1),
        parameters=np.stack([one.column for one in pilots], axis=1),
        paths=lambda count: _PilotPaths(lineup, pilots[:count]) if noisy else None,
        effort=effort,
    )
