"""Pieces of a step: a lane advances over a share of it, with the sides it has.

Known inputs and disturbances within a step are the polynomial through their values at its nodes, which is exact where
they are constant or linear over it.
"""

import casadi as ca

from daedal.simulation.steps.lane import Drive, Force, Lane, Slots
from daedal.simulation.steps.program import StepBuilder
from daedal.simulation.steps.sides import Side
from daedal.simulation.steps.tableau import RUNGE_KUTTA
from daedal.simulation.steps.tangents import Moving
from daedal.systems import System

ROUGH = 0.05  # of the way of a state: how much a piece may differ from its two halves
ROUNDED = 1e-7  # of its largest value: a difference that does not matter
DONE, CROSS, GO_ON, SLIDE_ON, CROSS_SLIDING = range(5)  # what a lane has to do


class Pieces:
    """How lanes advance within the step that a builder describes."""

    def __init__(self, system: System, builder: StepBuilder, slots: Slots) -> None:
        self.system, self.slots, self._builder = system, slots, builder
        ways = range(1 + builder.count)
        tables, ends = ([read(way) for way in ways] for read in (builder.read_forcing, builder.read_end_forcing))
        known = system.reduction.switching.known if system.reduction.switching else ()
        stages = tuple(system.reduction.exogenous.index(stage.name) for stage in known)
        self.drive = Drive(tables, ends, builder.nodes, builder.shared[0], builder.shared[1], stages)

    def enter(self, side: Side, lane: Lane, t: ca.SX, force: Force) -> Moving:
        """A lane under a force, tops as guessed."""
        none = ca.SX(self._builder.symbols, 1 + self._builder.count)
        return side.enter(lane, self._builder.make_moving(t, none[:, 0], none[:, 1:], lane.state), force)

    def solve_at(self, side: Side, lane: Lane, position: ca.SX, v: Moving | None = None) -> Moving:
        """A lane at a place within the step, with its tops; in another state than its own where one is given."""
        t, force = self.drive.find_time(position), self.drive.at(position)
        if v is None:
            return side.solve(self.enter(side, lane, t, force))
        tops = len(self.system.tops)
        return side.solve(side.enter(lane, v.at(t=t, top=v.top[:tops], dtop=v.dtop[:tops, :]), force))

    def advance(
        self, side: Side, lane: Lane, share: ca.SX, end: Force | None = None
    ) -> tuple[Moving, ca.SX, list[Moving]]:
        """A share of the step from where a lane is: where it comes, what iterations left to do, and inner stages."""
        position = lane["position"]
        forces = [self.drive.at(position + share * float(node)) for node in self.drive.nodes]
        start = self.enter(side, lane, self.drive.find_time(position), self.drive.at(position))
        finished, increment = self._step(side, lane, start, share * self.drive.h, forces, end or forces[-1])
        inner = self.list_inner_stages(side)
        return side.remove_drift(lane, finished, self.drive.h) if side.slides else finished, increment, inner

    def advance_halves(self, side: Side, lane: Lane) -> tuple[Moving, ca.SX, list[Moving], Lane]:
        """The rest of the step in two pieces, and in one to see whether that is about the same.

        Behind a border everything may be faster, and the lengths of steps were chosen before it.
        """
        rest, end = 1 - lane["position"], self.drive.at_end()
        whole, _, _ = self.advance(side, lane, rest, end)
        middle, before, first = self.advance(side, lane, rest / 2)
        half = self.leave(lane, middle, before).put(position=lane["position"] + rest / 2)
        finished, after, second = self.advance(side, half, rest / 2, end)
        begin = lane.state[: len(self.system.states), 0]
        moved = sum((ca.fabs(v.x - begin) for v in (whole, middle, finished)), ca.SX(0))
        largest = ca.fmax(lane["largest"], ca.fabs(finished.x))
        rough = ca.fabs(whole.x - finished.x) > ROUGH * moved + ROUNDED * largest
        judged = rough.shape[0] and not side.slides  # what slides may stand still, but for rounding
        unsure = ca.if_else(ca.sum1(rough) > 0, 1, 0) if judged else ca.SX(0)
        increment = ca.fmax(ca.fmax(before, after), unsure)
        return finished, increment, [*first, *second, middle], lane.put(largest=largest)

    def advance_whole(self, side: Side, lane: Lane) -> tuple[Moving, ca.SX, Moving]:
        """The whole step: where a lane comes, what iterations left to do, and where it began."""
        forces = [self.drive.at_node(node) for node in range(self.drive.nodes.size)]
        start = self.enter(side, lane, self.drive.t, forces[0])
        finished, increment = self._step(side, lane, start, self.drive.h, forces, self.drive.at_end())
        return finished, increment, start

    def _step(
        self, side: Side, lane: Lane, start: Moving, length: ca.SX, forces: list[Force], end: Force
    ) -> tuple[Moving, ca.SX]:
        pairs = [side.fill_both(lane, force) for force in forces]
        w, dw = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        return side.discretization.step(start, length, w, dw, *side.fill_both(lane, end))

    def list_inner_stages(self, side: Side) -> list[Moving]:
        """Of the last step, those between its ends: the last at each place, which knows it best."""
        method = self._builder.shape.method
        where = RUNGE_KUTTA[method].list_nodes() if method in RUNGE_KUTTA else self.drive.nodes.tolist()
        inner = {node: stage for node, stage in zip(where, side.discretization.stages, strict=True) if 0 < node < 1}
        return list(inner.values())

    def find_first(self, side: Side, start: Moving) -> Moving:
        """Where the last step began, with its tops: as the first stage has them, or as they were left."""
        if self._builder.shape.method in RUNGE_KUTTA:
            return side.discretization.stages[0]
        return start if side.instant else side.solve(start)

    def find_last(self, side: Side, lane: Lane, finished: Moving) -> Moving:
        """The end of a step as it is reached, before inputs jump there."""
        w, dw = side.fill_both(lane, self.drive.at(ca.SX(1)))
        last = finished.at(w=w, dw=dw)
        return last if side.instant else side.solve(last)

    def leave(self, lane: Lane, v: Moving, increment: ca.SX) -> Lane:
        """A lane that has come to a state."""
        tops = len(self.system.tops)
        state = ca.horzcat(ca.vertcat(v.x, v.top[:tops]), ca.vertcat(v.dx, v.dtop[:tops, :]))
        left = lane.move(state, ca.fmax(lane.worst, increment))
        return left.put(controls=v.top[tops:]) if v.top.shape[0] > tops else left
