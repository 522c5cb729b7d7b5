"""The compiled program of lanes whose equations switch, slide or hold samples.

All lanes take their step together, with the sides they have (`pieces`). A lane in which a margin is negative at the end
or at a stage goes back alone to its crossing (`crossings`), and from there to the end of the step; a lane that slides
takes its steps in the system in which it may (`sides`). At the end of a step that is marked, samples are taken and
delivered (`samples`). Lanes that are finished wait, and are not touched: what a lane computes does not depend on its
neighbours.
"""

from dataclasses import replace

import casadi as ca
import numpy as np

from daedal.kernels import Detours, Lookup, Turn, compile_scan, read_tape
from daedal.simulation.steps.crossings import JUMPED, Crossings
from daedal.simulation.steps.curves import GridRow
from daedal.simulation.steps.discretization import Discretization, Point
from daedal.simulation.steps.lane import RESTLESS, RIVALS, UNDEFINED, Force, Lane, Slots, select
from daedal.simulation.steps.pieces import CROSS, CROSS_SLIDING, DONE, GO_ON, SLIDE_ON, Pieces
from daedal.simulation.steps.program import ACCEPTED, UNFINISHED, Program, Shape, StepBuilder, stack_observed
from daedal.simulation.steps.samples import COLUMNS, Samples
from daedal.simulation.steps.sides import Side
from daedal.simulation.steps.tangents import Moving
from daedal.systems import Reduction, Sliding, System, find_sliding

MOST_VARIANTS = 12  # sides of switches for which pivots are chosen
MARKED = 30  # switches that a number tells apart


def compile_switching(
    system: System,
    shape: Shape,
    point: Point,
    step: float,
    known: tuple[int, ...],
    noisy: tuple[int, ...],
    row: GridRow,
    quick: bool,
) -> Program:
    """The program of a system with switches or held values."""
    builder = SwitchingBuilder(system, shape, point, step, known, noisy, row)
    wanted = stack_observed(system.reduction, shape.wanted)
    advance, observation, detours = builder.step(), builder.observe(wanted), builder.make_detours()
    while_sliding = None
    if builder.sliding is not None:
        while_sliding = stack_observed(builder.sliding.reduction, shape.wanted)
        observe = read_tape(builder.observe_sliding(while_sliding))
        detours = detours._replace(apart=builder.slots.locate("stuck"), observe=observe)
    sample = None
    if builder.slots.held:
        sample = builder.sample_first()
        detours = detours._replace(marked=builder.marked, sequel=read_tape(builder.sample()))
    kernel = compile_scan(advance, observation, detours=detours, quick=quick)
    first = builder.observe_first(wanted, while_sliding)
    size, instructions = builder.discretization.size, advance.n_instructions()
    look = builder.look_first() if noisy and builder.slots.switches else None
    return Program(shape, kernel, first, instructions, size, known, noisy, builder.slots, sample, look)


class SwitchingBuilder(StepBuilder):
    """A step that single lanes may divide at their own crossings."""

    def __init__(
        self,
        system: System,
        shape: Shape,
        point: Point,
        step: float,
        known: tuple[int, ...],
        noisy: tuple[int, ...],
        row: GridRow,
    ) -> None:
        plain = Discretization(system.reduction, shape.method, point, step, 0, _list_variants(system.reduction, point))
        super().__init__(plain, shape, known, noisy, row)
        self.slots = Slots.of(system, shape.directions)
        self.marked, marks = self.shared.shape[0], self.slots.held and 1 + COLUMNS * self.slots.held
        self.shared = ca.vertcat(self.shared, ca.SX.sym("marks", marks))
        self.start, self.reached = (self._make_lane(name) for name in ("start", "reached"))
        self.pieces = Pieces(system, self, self.slots)
        self.plain = Side(system, system.reduction, plain, ())
        sliding = find_sliding(system) if self.slots.slides else None
        self.sliding = _make_sliding_side(system, sliding, shape, point, step, plain.sizes) if sliding else None
        self.crossings = Crossings(self.pieces, self.sliding, sliding.rivals if sliding else frozenset())

    def _make_lane(self, name: str) -> Lane:
        parts = (self.state.shape, (1, 1), (self.slots.size, 1))
        state, worst, extra = (ca.SX.sym(f"{name} {k}", *size) for k, size in enumerate(parts))
        return Lane(state, worst, extra, self.slots)

    def step(self) -> ca.Function:
        """A whole step with the sides that lanes have."""
        lane, side = self.start, self.plain
        finished, increment, start = self.pieces.advance_whole(side, lane)
        inner = self.pieces.list_inner_stages(side)
        last = self.pieces.find_last(side, lane, finished)
        crossed = _find_crossed(side, [last, *inner])
        begin = self.pieces.find_first(side, start)
        crossed = ca.logic_or(crossed, self._find_dip(side, begin, last))
        if any(self.crossings.jumping):
            crossed = ca.logic_or(crossed, _find_crossed(side, [begin], self.crossings.jumping))
        code = ca.if_else(crossed, CROSS, DONE)
        if self.slots.slides:
            code = ca.if_else(lane["stuck"] > 0, SLIDE_ON, code)
        failed = lane["code"] * RESTLESS  # zero but for a lane that has not finished the step before
        reached = self.pieces.leave(lane, finished, ca.fmax(increment, failed)).put(code=code)
        if self.slots.held:
            reached = reached.put(moved=ca.if_else(code == DONE, 0, lane["moved"]))
        return self._make_function("step", reached.vector)

    def _find_dip(self, side: Side, begin: Moving, end: Moving) -> ca.SX:
        """Whether the parabola through a margin at both ends, with its slope at the first, is negative between them."""
        left, right = (side.evaluate("margin", v) for v in (begin, end))
        rise = side.compute_rates("margin", begin, self.pieces.drive.at(ca.SX(0)).wdot) * self.pieces.drive.h
        bend = right - left - rise
        dipping = ca.SX(0)
        for i in range(self.slots.switches):
            inside = ca.logic_and(rise[i] < 0, rise[i] > -2 * bend[i])
            dipping = ca.logic_or(dipping, ca.logic_and(inside, rise[i] ** 2 > 4 * bend[i] * left[i]))
        return dipping

    def make_detours(self) -> Detours:
        """What lanes do that have not finished their step: crossings first, then the rest of it."""
        if not self.slots.switches:
            return Detours(self.slots.locate("code"), (), self.slots.rounds)
        sides = [(self.plain, CROSS, GO_ON)]
        if self.sliding is not None:
            sides.append((self.sliding, CROSS_SLIDING, SLIDE_ON))
        turns = [
            self._write_turn(code, self.crossings.cross(side, self.start, self.reached), True)
            for side, code, _ in sides
        ]
        turns += [self._write_turn(code, self._go_on(side, cross), False) for side, cross, code in sides]
        first, places = self.slots.locate("levels"), self.slots.list_rows()
        rows = [
            zip(*(column.tolist() for column in table.columns.values()), strict=True) for table in self.slots.tables
        ]
        lookups = tuple(Lookup(first + place.start, tuple(row)) for place, row in zip(places, rows, strict=True))
        return Detours(self.slots.locate("code"), tuple(turns), self.slots.rounds, lookups=lookups)

    def _write_turn(self, code: int, result: Lane, restarts: bool) -> Turn:
        arguments = [self.start.vector, self.reached.vector, self.parameters, self.shared, self.lane]
        return Turn(code, read_tape(ca.Function("turn", arguments, [result.vector])), restarts)

    def _go_on(self, side: Side, cross: int) -> Lane:
        """From where a lane is within the step to the end of it."""
        lane = self.start
        finished, increment, inner, lane = self.pieces.advance_halves(side, lane)
        crossed = _find_crossed(side, [self.pieces.find_last(side, lane, finished), *inner])
        if side.slides or any(self.crossings.jumping):
            crossed = ca.logic_or(crossed, self.crossings.find_jumped(side, lane))
        reached = self.pieces.leave(lane, finished, increment)
        return reached.put(code=cross).choose(crossed, reached.clear())

    def sample(self) -> ca.Function:
        """What is sampled and delivered at the end of a marked step."""
        drive = self.pieces.drive
        result = self._sample_force(drive.t + drive.h, drive.at_end(), self.shared[self.marked + 1 :])
        return self._make_function("sample", result)

    def sample_first(self) -> ca.Function:
        """The same before any step, for values of the exogenous symbols given outright, one column per way."""
        t, forcing, force = self._read_outright()
        marks = ca.SX.sym("marks", COLUMNS * self.slots.held)
        arguments = [self.start.vector, ca.vec(self.parameters), t, ca.vec(forcing), marks]
        return ca.Function("sample_first", arguments, [self._sample_force(t, force, marks)])

    def look_first(self) -> ca.Function:
        """Margins before any step, what they may be below zero, and controls; exogenous values given outright."""
        t, forcing, force = self._read_outright()
        lane, parts = self.start, []
        for side in (self.plain, self.sliding) if self.sliding else (self.plain,):
            v = side.solve(self.pieces.enter(side, lane, t, force))
            controls = v.top[len(self.discretization.reduction.tops) :] if side.slides else lane["controls"]
            parts.append(ca.vertcat(side.evaluate("margin", v), JUMPED * side.measure(v), controls))
        result = select(lane["stuck"] > 0, parts[1], parts[0]) if self.sliding else parts[0]
        return ca.Function("look", [lane.vector, ca.vec(self.parameters), t, ca.vec(forcing)], [result])

    def _sample_force(self, t: ca.SX, force: Force, marks: ca.SX) -> ca.SX:
        return Samples(self.pieces, (self.plain, self.sliding), t, force, marks).happen(self.start).vector

    def _read_outright(self) -> tuple[ca.SX, ca.SX, Force]:
        """A time, exogenous values at it, and the same as a force."""
        forcing = ca.SX.sym("w", self.symbols, 1 + self.count)
        return ca.SX.sym("t"), forcing, Force(forcing[:, 0], forcing[:, 1:], ca.SX.zeros(self.symbols))

    def observe(self, wanted: ca.SX) -> ca.Function:
        return self._make_function("observe", self._observe_end(self.plain, wanted))

    def observe_sliding(self, wanted: ca.SX) -> ca.Function:
        """The same for lanes that slide."""
        assert self.sliding is not None
        return self._make_function("observe_sliding", self._observe_end(self.sliding, wanted))

    def _observe_end(self, side: Side, wanted: ca.SX) -> ca.SX:
        t, force = self.pieces.drive.t + self.pieces.drive.h, self.pieces.drive.at_end()
        lane = self.crossings.settle(side, self.start, t, force) if self.slots.switches else self.start
        return self._observe_force(side, lane, wanted, t, force)

    def observe_first(self, wanted: ca.SX, while_sliding: ca.SX | None = None) -> ca.Function:
        """Before any step, for values of the exogenous symbols given outright, one column per way."""
        t, forcing, force = self._read_outright()
        result = self._observe_force(self.plain, self.start, wanted, t, force)
        if self.sliding is not None and while_sliding is not None:
            other = self._observe_force(self.sliding, self.start, while_sliding, t, force)
            result = select(self.start["stuck"] > 0, other, result)
        return ca.Function("first", [self.start.vector, ca.vec(self.parameters), t, ca.vec(forcing)], [result])

    def _observe_force(self, side: Side, lane: Lane, wanted: ca.SX, t: ca.SX, force: Force) -> ca.SX:
        values, rates, residual = side.discretization.observe(self.pieces.enter(side, lane, t, force), wanted)
        failed = ca.fmax(lane.worst, lane["code"] * RESTLESS)
        kind = ca.if_else(failed < RIVALS, RESTLESS, ca.if_else(failed < UNDEFINED, RIVALS, UNDEFINED))
        worst = ca.if_else(failed < RESTLESS, failed, kind * (1 + lane["last"]))
        sides = ca.vertcat(
            lane["sides"], lane["sliding"], *(lane["levels"][rows.start] for rows in self.slots.list_rows())
        )
        signature = sum((sides[i] * 3.0 ** (i % MARKED) for i in range(sides.shape[0])), ca.SX(0))
        return ca.vertcat(values, ca.vec(rates), signature, ca.fmax(residual, worst * (ACCEPTED / UNFINISHED)))

    def _make_function(self, name: str, result: ca.SX) -> ca.Function:
        return ca.Function(name, [self.start.vector, self.parameters, self.shared, self.lane], [result])


def _find_crossed(side: Side, places: list[Moving], among: list[bool] | None = None) -> ca.SX:
    """Whether some margin is negative at some place; where that is rounding alone, the crossing tells."""
    inside = ca.SX(1)
    for v in places:
        for i, margin in enumerate(ca.vertsplit(side.evaluate("margin", v))):
            if among is None or among[i]:
                inside = ca.logic_and(inside, margin >= 0)  # which nothing undefined is
    return ca.logic_not(inside)


def _make_sliding_side(system: System, sliding: Sliding, shape: Shape, point: Point, step: float, sizes: ca.SX) -> Side:
    plain = dict(zip(system.reduction.exogenous, point.exogenous.tolist(), strict=True))
    w = np.array([plain.get(name, 0.0) for name in sliding.reduction.exogenous])
    w[-len(sliding.places) :] = 1.0
    count = len(sliding.places)  # of controls, which are of size one
    larger = replace(point.sizes, tops=np.r_[point.sizes.tops, np.ones(count)])
    there = replace(point, tops=np.r_[point.tops, np.zeros(count)], exogenous=w, sizes=larger)
    variants = _list_variants(sliding.reduction, there)
    sizes = ca.vertcat(sizes, ca.SX.ones(count))
    discretization = Discretization(sliding.reduction, shape.method, there, step, count, variants, sizes)
    return Side(system, sliding.reduction, discretization, sliding.places)


def _list_variants(reduction: Reduction, point: Point) -> list[Point]:
    """The same point on other sides of the switches: all of them, and each alone; and on other levels of tables."""
    switching = reduction.switching
    assert switching is not None
    names = [*(switch.mode for switch in switching.switches), *(known.name for known in switching.known)]
    places = [reduction.exogenous.index(name) for name in names]
    levels = [(reduction.exogenous.index(table.level), table.borders.size) for table in switching.tables]
    flips = [places, *([place] for place in places)][: MOST_VARIANTS if places else 0]
    variants = []
    for flipped in flips:
        exogenous = point.exogenous.copy()
        exogenous[flipped] = np.where(exogenous[flipped] == 0.0, 1.0, -exogenous[flipped])
        variants.append(replace(point, exogenous=exogenous))
    for share in (0.0, 0.5, 1.0) if levels else ():
        exogenous = point.exogenous.copy()
        for place, most in levels:
            exogenous[place] = round(share * most)
        variants.append(replace(point, exogenous=exogenous))
    return variants
