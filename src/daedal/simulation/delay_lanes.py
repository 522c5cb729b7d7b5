"""Simulation of systems with delays by the method of steps: many lanes, sensitivities, disturbances.

What a step looks back at was computed before, because steps are never longer than the shortest delay. Blocks of steps
that only look back beyond their own beginning run in the compiled kernel at once; at every point the delayed quantities
q are recorded with their derivatives Λ in the free directions θ, and read off again by quintics that never reach across
a break point. For a value delayed by τ(θ)

    d/dθ q(t − τ; θ) = Λ(t − τ) − q'(t − τ) ∂τ/∂θ              (seed 002, theorems 1 and 2)

and where the right side jumps at a break point b(θ), from f⁻ to f⁺, the sensitivity of the state jumps by
(f⁻ − f⁺) ∂b/∂θ: that is how a delay acts through a history that does not meet the initial value, or a held input.

Reference: Q. Lin, R. Loxton, C. Xu, K. L. Teo, Parameter estimation for nonlinear time-delay systems with noisy output
measurements, Automatica 60 (2015) 48–56; A. Bellen, M. Zennaro, Numerical Methods for Delay Differential Equations,
Oxford 2003.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from daedal.errors import SimulationError
from daedal.simulation.collocation import Method
from daedal.simulation.delay_history import Past, delay_amounts, on_pieces, pasts
from daedal.simulation.delay_mesh import FEWEST, Mesh, mesh, through_points
from daedal.simulation.delay_program import DelayProgram, DelayShape, delay_program
from daedal.simulation.discretization import Point
from daedal.simulation.lane_failure import Failure
from daedal.simulation.lane_paths import LanePaths, grid_row
from daedal.simulation.lineup import Lineup, Values
from daedal.simulation.marching import CASADI, ESCAPED
from daedal.simulation.program import ACCEPTED
from daedal.symbolic import symbols_in
from daedal.systems import System, initial_sensitivities, initial_values

LOOKS_BACK = 1e-9  # of a delay: rounding that a block may look into itself by
# Over the whole time, to begin the search with; odd, so that a delay of a simple ratio does not stand just where its
# number of steps changes.
FIRST_STEPS = 41.3
HALVINGS = 12


@dataclass(frozen=True, eq=False)
class Lags:
    """The delays of a system at one set of values: lengths (delay,), their rates (delay, direction), and kinds."""

    names: tuple[str, ...]
    amounts: np.ndarray
    rates: np.ndarray
    pasts: tuple[Past, ...]


@dataclass(frozen=True, eq=False)
class DelaySteps:
    """Lengths of the steps, as tables want them."""

    lengths: np.ndarray


@dataclass(frozen=True, eq=False)
class DelayPlan:
    """A program, the length that steps have at most, and the estimated error."""

    program: DelayProgram
    step: float
    steps: DelaySteps
    error: float


Consume = Callable[[int, range, np.ndarray, np.ndarray], None]
BLOCK = 64  # lanes that advance together
AT_ONCE = 1000  # steps, at most


@dataclass(frozen=True, eq=False)
class DelayRun:
    """A prepared run of many lanes, with the interface of `daedal.simulation.lanes.LaneRun`."""

    lineup: Lineup
    times: np.ndarray
    plan: DelayPlan
    values: tuple[Values, ...]
    warnings: tuple[str, ...]

    @property
    def text(self) -> str:
        """Method and steps, for tables."""
        lengths = self.plan.steps.lengths
        span = f"{lengths.min():.2g} … {lengths.max():.2g}" if lengths.size else ""
        return f"Lanes({self.plan.program.shape.method}, {lengths.size} steps of {span} s, with delays)"

    def step_error(self, values: Values) -> float:
        """What halving the steps changes at these values, relative to the largest values."""
        return _step_error(self.lineup, self.times, self.plan.program, values, self.plan.step)

    def run(self, realizations: int, consume: Consume) -> list[Failure]:
        """As `LaneRun.run`: `consume(value, lanes, samples, out)` gets (sample, output, lane)."""
        failures: list[Failure] = []
        samples = np.arange(self.times.size)
        for first in range(0, realizations, BLOCK):
            lanes = range(first, min(first + BLOCK, realizations))
            for number, values in enumerate(self.values):
                out, good = DelayMarch(self.lineup, self.plan.program, values, self.plan.step, lanes).samples(
                    self.times
                )
                for lane in np.flatnonzero(~good.all(axis=0)).tolist():
                    row = int(np.argmin(good[:, lane]))
                    finite = np.all(np.abs(out[row, :, lane]) < ESCAPED)
                    reason = "its equations could not be solved" if finite else "a value was not finite"
                    failures.append(Failure(lanes[lane], float(self.times[row]), reason, number))
                consume(number, lanes, samples, out)
        return failures


def lags(system: System, values: Values) -> Lags:
    """Lengths of all delays at a set of values; negative ones are refused."""
    names = tuple(system.reduction.delays)
    amounts, gradient = (each.full() for each in delay_amounts(system)(system.parameter_vector(values.given)))
    for name, amount in zip(names, amounts.ravel(), strict=True):
        if not amount > 0.0:
            raise SimulationError(
                f"The delay in '{name}' of model '{system.model.name}' is {amount:g}, but must be positive.",
                "Bound it from below; without any delay, write the undelayed value in the equations.",
            )
    found = pasts(system)
    return Lags(names, amounts.ravel(), gradient @ values.rates, tuple(found[name] for name in names))


def lasting(system: System) -> bool:
    """Whether a delayed value contains what is solved for at each instant, so that kinks never become smooth."""
    tops = {system.reduction.jet_name(each) for each in system.reduction.tops}
    operands = [each.operand for each in system.reduction.delays.values()]
    return any(set(symbols_in(operand)) & tops for operand in operands)


def nesting(system: System, name: str) -> int:
    """How many delays a delayed value passes: 2 for a delay of a delay."""
    delays = system.reduction.delays
    return 1 + max((nesting(system, each) for each in symbols_in(delays[name].operand) if each in delays), default=0)


class DelayMarch:
    """One block of lanes from the start to the end."""

    def __init__(
        self, lineup: Lineup, program: DelayProgram, values: Values, step: float, lanes: range, refinement: int = 1
    ) -> None:
        self.lineup, self.program, self.values, self.count = lineup, program, values, len(lanes)
        self.system, self.forcing = lineup.system, lineup.forcing
        self.directions = len(lineup.free)
        self.lags = lags(self.system, values)
        self.paths: LanePaths | None = lineup.paths(values, lanes)
        self.mesh = self._mesh(step, refinement)
        rows = program.recorded * (1 + self.directions) + 1
        self.record = np.full((self.mesh.points, rows, self.count), np.nan)
        self.segment, self.number, self.begin, self.length = self.mesh.steps()
        self.parameters = np.repeat(values.column[:, None], self.count, axis=1)
        self._noise: tuple[int, np.ndarray] | None = None

    @cached_property
    def _reach(self) -> float:
        """The shortest delay of something that is computed."""
        computed = [a for a, past in zip(self.lags.amounts, self.lags.pasts, strict=True) if past.input is None]
        return min(computed, default=np.inf)

    def _mesh(self, step: float, refinement: int) -> Mesh:
        start, end = self.forcing.start, self.forcing.end
        fixed: list[np.ndarray] = [track[0].times for track in self.forcing.tracks if track is not None]
        if self.paths is not None:
            fixed.append(start + self.lineup.grid * np.arange(1, int((end - start) / self.lineup.grid) + 1))
        none, signals = np.zeros(0), self.forcing.signals
        sources = tuple(none if each.input is None else signals[each.input[0]].times for each in self.lags.pasts)
        known = np.unique(np.concatenate(fixed)) if fixed else none
        # A quintic must find all its points within the shortest delay.
        longest = min(step, self._reach / (FEWEST + 1))
        lags, never_smooth = self.lags, lasting(self.system)
        deepest = max(nesting(self.system, name) for name in lags.names)
        return mesh(
            start, end, known, lags.amounts, lags.rates, sources, never_smooth, longest, refinement, rough=deepest
        )

    @cached_property
    def _in_block(self) -> np.ndarray:
        """How many steps of each segment only look back beyond their own beginning."""
        with np.errstate(invalid="ignore"):
            fitting = np.floor(self._reach / self.mesh.lengths * (1.0 + LOOKS_BACK))
        return np.clip(fitting, 1, self.mesh.counts).astype(np.int64)

    @cached_property
    def _opened(self) -> np.ndarray:
        """Steps before which something may jump: what is recorded, or the sensitivities at a moving break point."""
        jumps = np.full(self.mesh.counts.size, not self.program.continuous)
        if self.directions:
            jumps |= self.mesh.rates[:-1].any(axis=1)
        jumps[0] = True
        return (self.number == 0) & jumps[self.segment]

    @cached_property
    def _blocks(self) -> list[tuple[int, int]]:
        """Stretches of steps that can run at once: segments within the shortest delay, or parts of longer ones."""
        total = self.segment.size
        if not self.program.operands:
            return list(pairwise([*range(0, total, AT_ONCE), total]))
        stops = np.append(np.flatnonzero(self.number == 0), total)  # where segments begin
        times = np.append(self.begin[stops[:-1]], self.mesh.breaks[-1])
        found, step = [], 0
        while step < total:
            end = int(min(step + self._in_block[self.segment[step]], stops[np.searchsorted(stops, step, "right")]))
            if self.number[step] == 0:
                reach = self.begin[step] + self._reach * (1.0 + LOOKS_BACK)
                whole = int(stops[max(int(np.searchsorted(times, reach, "right")) - 1, 0)])
                few = int(stops[np.searchsorted(stops, step + AT_ONCE, "right") - 1])
                end = max(end, min(whole, few))
            found.append((step, end))
            step = end
        return found

    def samples(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Wanted variables and their sensitivities (sample, output, lane), and where they are good (sample, lane)."""
        self.advance()
        segment = self.mesh.segment(times)
        first, weights, _ = through_points(self.mesh, times, segment, self.mesh.counts[segment])
        wanted, every = len(self.program.shape.wanted), self.program.recorded
        rows = np.concatenate([way * every + np.arange(wanted) for way in range(1 + self.directions)])
        points = self.record[first[:, None] + np.arange(FEWEST + 1)]  # sample, point, row, lane
        out = np.einsum("sk,skrl->srl", weights, points[:, :, rows])
        residual = np.max(points[:, :, -1], axis=1)
        good = (residual <= ACCEPTED) & np.all(np.abs(out) < ESCAPED, axis=1)
        return out, good

    def advance(self) -> None:
        """Fill the record, block by block."""
        state = self._start()
        for begin, end in self._blocks:
            if self.number[begin] == 0 and not self._opened[begin]:
                self._carry_on(begin)
            self._run(begin, end, state)

    def _start(self) -> np.ndarray:
        """(X, T), sensitivities and a zero, (value, lane): consistent at the start, delayed values from the history."""
        values, rates = self._exogenous(np.zeros(1, dtype=np.int64), np.zeros(1))
        columns = []
        with CASADI:
            for lane in range(1 if self.paths is None else self.count):
                at = values[0, 0, :, lane]
                begin = self.values.start
                if self.paths is not None:
                    begin = initial_values(self.system, self.forcing.start, self.values.given, at)
                z = np.r_[begin.states, begin.tops]
                if self.directions:
                    given = (self.values.given, at, self.values.rates, rates[:, 0, 0, :, lane].T)
                    moved = initial_sensitivities(self.system, begin, self.forcing.start, *given)
                    z = np.r_[z, moved.T.ravel()]
                columns.append(np.r_[z, 0.0])
        state = np.stack(columns, axis=1)
        return np.ascontiguousarray(np.repeat(state, self.count, axis=1) if len(columns) < self.count else state)

    def _carry_on(self, step: int) -> None:
        """Nothing jumps: the first point of a segment is the last of the one before."""
        point = self.mesh.offsets[self.segment[step]]
        self.record[point] = self.record[point - 1]

    def _run(self, begin: int, end: int, state: np.ndarray) -> None:
        """A block of steps; where a segment is opened, a step of length zero goes before its first one."""
        nodes, own, known = self.program.nodes.size, list(self.program.own), list(self.program.known)
        opened = self._opened[begin:end]
        which = np.repeat(np.arange(begin, end), 1 + opened)
        opening = np.diff(which, append=-1) == 0
        values, rates = self._exogenous(which[~opening], self.program.nodes)
        before, moving = np.zeros((which.size, len(own), self.count)), np.zeros((which.size, self.directions))
        if opened.any():
            first = which[opening]
            values, rates = (
                _merged(opening, np.repeat(at_break, nodes, axis=-3), each, axis)
                for at_break, each, axis in zip(
                    self._exogenous(first, np.zeros(1)), (values, rates), (0, 1), strict=True
                )
            )
            if self.directions:
                last = np.maximum(first - 1, 0)
                before[opening] = self._exogenous(last, np.ones(1))[0][:, 0, own]
                moving[opening] = self.mesh.rates[self.segment[first]] * (first > 0)[:, None]
        steps = which.size
        shared = values[:, :, known, 0].transpose(0, 2, 1).reshape(steps, nodes * len(known))
        ways = np.concatenate([values[None, :, :, own], rates[:, :, :, own]])
        lane = ways.transpose(1, 0, 3, 2, 4).reshape(steps, (1 + self.directions) * len(own) * nodes, self.count)
        if self.directions:
            lane = np.concatenate([lane, before], axis=1)
        length = np.where(opening, 0.0, self.length[which])
        table = np.concatenate([self.begin[which, None], length[:, None], shared, moving], axis=1)
        out = np.empty((steps, self.record.shape[1], self.count))
        self.program.kernel.run(
            state, self.parameters, np.ascontiguousarray(table), np.ascontiguousarray(lane), np.arange(steps), out
        )
        self.record[self.mesh.offsets[self.segment[which]] + self.number[which] + ~opening] = out
        for inside in np.flatnonzero((self.number[begin + 1 : end] == 0) & ~opened[1:]) + begin + 1:
            self._carry_on(int(inside))

    def _exogenous(self, steps: np.ndarray, fractions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values (step, node, symbol, lane) and derivatives (direction, step, node, symbol, lane) of all that drives.

        Each step looks at what lies on its own side of a break point.
        """
        starts, lengths, segment = self.begin[steps], self.length[steps], self.segment[steps]
        times, middles = starts[:, None] + lengths[:, None] * fractions, starts + 0.5 * lengths
        block = self._in_block[segment]
        return self.driving(times, middles, (segment, self.number[steps] // block * block))

    def driving(
        self, times: np.ndarray, middles: np.ndarray, done: tuple[np.ndarray, np.ndarray] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same at any times (step, node); `done` are the present segments and how much of them is there."""
        if done is None:
            done = np.full(middles.size, -1), np.zeros(middles.size, dtype=np.int64)
        names = self.system.reduction.exogenous
        values = np.zeros((*times.shape, len(names), self.count))
        rates = np.zeros((self.directions, *values.shape))
        for place, (name, track) in enumerate(zip(names, self.forcing.tracks, strict=True)):
            if name not in self.lags.names and track is not None:
                values[:, :, place] = on_pieces(track[0], track[1], times, middles)[0][..., None]
        for amount in dict.fromkeys(self.lags.amounts.tolist()):
            self._look_back(amount, times, middles, done, values, rates)
        if self.paths is not None:
            self._disturb(values, rates, times, middles)
        return values, rates

    def _look_back(
        self,
        amount: float,
        times: np.ndarray,
        middles: np.ndarray,
        done: tuple[np.ndarray, np.ndarray],
        values: np.ndarray,
        rates: np.ndarray,
    ) -> None:
        """All values that are delayed by one amount."""
        back, when = times - amount, middles - amount
        early = when < self.forcing.start
        late = ~early
        stencil = None
        for name, own, past, turned in zip(
            self.lags.names, self.lags.amounts, self.lags.pasts, self.lags.rates, strict=True
        ):
            if own != amount or name not in self._places:
                continue
            place = self._places[name]
            value_there, rate_there = values[:, :, place], rates[:, :, :, place]  # views, to be filled
            if past.input is not None:
                value, slope = on_pieces(self.forcing.signals[past.input[0]], past.input[1], back, when)
                value_there[...] = value[..., None]
                rate_there[...] = -slope[None, :, :, None] * turned[:, None, None, None]
                continue
            if early.any():
                parameters = self.values.column[: len(self.system.reduction.parameters)]
                value, slope, gradient = past.at(np.minimum(back[early], self.forcing.start), parameters)
                value_there[early] = value[..., None]
                if self.directions:
                    moved = np.einsum("pkn,pd->dkn", gradient, self.values.rates) - slope * turned[:, None, None]
                    rate_there[:, early] = moved[..., None]
            if late.any():
                if stencil is None:
                    stencil = self._stencil(back[late], when[late], (done[0][late], done[1][late]))
                found, moved = self._recorded(name, stencil, turned)
                value_there[late] = found
                if self.directions:
                    rate_there[:, late] = moved

    @cached_property
    def _places(self) -> dict[str, int]:
        """Where each delayed value stands among the exogenous symbols."""
        return {name: place for place, name in enumerate(self.system.reduction.exogenous) if name in self.lags.names}

    def _stencil(
        self, times: np.ndarray, middles: np.ndarray, done: tuple[np.ndarray, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points and weights for times on the segments that the middles lie in, as far as they are computed."""
        segment = self.mesh.segment(middles)
        present, available = done
        points = np.where(segment == present, available, self.mesh.counts[segment])
        return through_points(self.mesh, times, segment[:, None], points[:, None])

    def _recorded(
        self, name: str, stencil: tuple[np.ndarray, np.ndarray, np.ndarray], turned: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """What was computed earlier (step, node, lane), and its derivatives (direction, step, node, lane)."""
        first, weights, slopes = stencil
        row = len(self.program.shape.wanted) + self.program.operands.index(name)
        places = first[..., None] + np.arange(FEWEST + 1)
        points = self.record[places, row]  # step, node, point, lane
        value = np.einsum("snk,snkl->snl", weights, points)
        if not self.directions:
            return value, np.zeros((0, *value.shape))
        rate = np.einsum("snk,snkl->snl", slopes, points)
        rows = row + self.program.recorded * np.arange(1, 1 + self.directions)
        moved = np.stack([np.einsum("snk,snkl->snl", weights, self.record[places, each]) for each in rows])
        return value, moved - rate * turned[:, None, None, None]

    def _disturb(self, values: np.ndarray, rates: np.ndarray, times: np.ndarray, middles: np.ndarray) -> None:
        """Disturbances at the nodes, from their values at the grid points around each step."""
        grid, start = self.lineup.grid, self.forcing.start
        cell = np.floor((middles - start) / grid).astype(np.int64)
        rows, low = self._grid_rows(int(cell.min()), int(cell.max()) + 2)
        row = grid_row(self.system)
        jets, ways = len(row.jets), self.lineup.directions.ways
        position = (times - start) / grid - cell[:, None]
        for column, (place, curve) in enumerate(zip(self.lineup.disturbances, row.curves, strict=True)):
            own, companion = curve.weights(position)
            for way in range(ways):
                total = np.zeros(values.shape[:2] + values.shape[3:])
                for side in (0, 1):
                    at = rows[cell - low + side]
                    total += own[side][..., None] * at[:, None, way * jets + column]
                    if curve.kind != "line":
                        other = curve.scale(grid) * at[:, None, way * jets + curve.companion]
                        total += companion[side][..., None] * other
                if way == 0:
                    values[:, :, place] = total
                else:
                    rates[way - 1, :, :, place] = total

    def _grid_rows(self, first: int, last: int) -> tuple[np.ndarray, int]:
        """Grid points first … last − 1, and some before them that were drawn already."""
        assert self.paths is not None
        if self._noise is None or last > self._noise[0] + len(self._noise[1]):
            self._noise = (max(first - 1, 0), self.paths.rows(max(first - 1, 0), last))
        low, rows = self._noise
        return rows, low


def _merged(chosen: np.ndarray, these: np.ndarray, others: np.ndarray, axis: int) -> np.ndarray:
    """Along one axis, entries of the first array where chosen and of the second elsewhere."""
    shape = (*these.shape[:axis], chosen.size, *these.shape[axis + 1 :])
    result = np.empty(shape)
    place = (slice(None),) * axis
    result[(*place, chosen)], result[(*place, ~chosen)] = these, others
    return result


def _step_error(lineup: Lineup, times: np.ndarray, program: DelayProgram, values: Values, step: float) -> float:
    """The largest change that halving the steps makes, relative to each variable's size, on one lane."""
    rough, fine = (DelayMarch(lineup, program, values, step, range(1), each).samples(times) for each in (1, 2))
    if not (rough[1].all() and fine[1].all()):
        return np.inf
    wanted = len(program.shape.wanted)
    size = np.max(np.abs(fine[0][:, :wanted]), axis=(0, 2))
    floor = 1e-9 * max(float(size.max(initial=0.0)), 1e-300)
    change = np.max(np.abs(rough[0] - fine[0])[:, :wanted], axis=(0, 2))
    return float(np.max(change / np.maximum(size, floor), initial=0.0))


def prepare_delayed(
    lineup: Lineup,
    times: np.ndarray,
    wanted: tuple[str, ...],
    values: tuple[Values, ...],
    method: Method | None,
    step: float | None,
    tolerance: float,
    warnings: tuple[str, ...],
) -> DelayRun:
    """Choose the steps at the first set of values, and compile."""
    system, forcing = lineup.system, lineup.forcing
    first = values[0]
    now = lags(system, first)
    operands = tuple(name for name, past in zip(now.names, now.pasts, strict=True) if past.input is None)
    shape = DelayShape(method or "rk4", lineup.directions, wanted, bool(lineup.disturbances))
    begin = first.start
    point = Point(
        forcing.start, begin.states, begin.tops, system.parameter_vector(first.given), forcing.at(forcing.start)
    )
    span = forcing.end - forcing.start
    longest = step or span / FIRST_STEPS
    program = delay_program(system, shape, point, longest, operands)
    error = _step_error(lineup, times, program, first, longest)
    if step is None:
        present = float(DelayMarch(lineup, program, first, longest, range(1)).length.max())
        while 0.5 * longest > present:  # between close break points steps are shorter than asked for
            longest *= 0.5
        begun = longest
        longest, error = _shortened(lineup, times, program, first, longest, error, tolerance)
        if not error <= 100.0 * tolerance and method is None:
            stiff = delay_program(system, replace(shape, method="radau5"), point, longest, operands)
            other = _shortened(lineup, times, stiff, first, begun, np.inf, tolerance)
            if other[1] < error:
                program, (longest, error) = stiff, other
    lengths = DelayMarch(lineup, program, first, longest, range(1)).length
    return DelayRun(lineup, times, DelayPlan(program, longest, DelaySteps(lengths), error), values, warnings)


def _shortened(
    lineup: Lineup,
    times: np.ndarray,
    program: DelayProgram,
    values: Values,
    step: float,
    error: float,
    tolerance: float,
) -> tuple[float, float]:
    """Halve the steps until their error meets the tolerance, or no longer falls."""
    for _ in range(HALVINGS):
        if error <= tolerance:
            break
        finer = 0.5 * step
        try:
            found = _step_error(lineup, times, program, values, finer)
        except SimulationError:
            break
        if np.isfinite(error) and not found < 0.9 * error:
            break
        step, error = finer, found
    return step, error
