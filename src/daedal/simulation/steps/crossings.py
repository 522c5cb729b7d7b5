"""Crossings: where a lane meets the border of a switch, and what it does there.

A lane takes its step with the sides it has. Where a switching function γ (o g; or 1 − |m| for a switch that slides with
control m) is negative at the end or at a stage, the lane alone goes back, to the crossing; there it changes its side or
begins or ends to slide, and goes on to the end of the step, together with whoever else is not finished. At the crossing

    δ = −γ/γ̇        X ← X + δ f,  S ← S + δ df,  t ← t + δ          (one Newton step on the function itself)
    dt*/dθ = −(γ_X S + γ_θ)/γ̇⁻
    S⁺ = S⁻ + (f⁻ − f⁺) dt*/dθ                                       (saltation)

with f⁻, f⁺ before and after, both at the point so reached. After a change of side the rate on the new side decides:
away from the border it was crossed; back to it, the lane slides where the switch may (`daedal.systems.sliding`). What
jumps at an instant may carry another function over its border there; it then changes without a crossing of its own, and
moves as that instant does.

References: E. Hairer, S. P. Nørsett, G. Wanner, Solving ODEs I (1993), II.6; S. Galán, W. F. Feehery, P. I. Barton,
Parametric sensitivity functions for hybrid discrete/continuous systems, Applied Numerical Mathematics 31 (1999) 17–47;
R. I. Leine, H. Nijmeijer, Dynamics and Bifurcations of Non-Smooth Mechanical Systems (2004).
"""

from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca

from daedal.simulation.steps.lane import RESTLESS, RIVALS, UNDEFINED, Force, Lane, pick, select
from daedal.simulation.steps.location import NOWHERE, find_crossing
from daedal.simulation.steps.pieces import GO_ON, SLIDE_ON, Pieces
from daedal.simulation.steps.program import ACCEPTED, UNFINISHED
from daedal.simulation.steps.sides import Side
from daedal.simulation.steps.tangents import Moving

ROUNDING = 1e-13  # of its terms: what a margin may be below zero without having crossed it
JUMPED = 1e-11  # of its terms: a margin as far below zero at the start of a piece has jumped there
FRESH = 1e-3  # of its change over a piece: how far from its border a function may be that has just crossed it
NEARLY = 1e-9  # of its change over a piece: how far beyond its border a function may be by rounding
GRAZING = 1e-6  # of its size: the change of a margin over a piece below which its slope tells nothing
SETTLED = 2  # times that sides are looked at behind an instant
SHORTER = 0.25  # of a piece after which a lane looks again when its end is not finite


@dataclass(frozen=True, eq=False)
class Piece:
    """What is known of a piece: margins and their changes over it, as seen from both ends; and what jumped before."""

    margins: tuple[ca.SX, ca.SX]
    slopes: tuple[ca.SX, ca.SX]
    tiny: ca.SX
    jumped: ca.SX


@dataclass(frozen=True, eq=False)
class Meeting:
    """A lane at a border: which switch it is, by zeros and a one, whether that jumped, and where in the step it is."""

    chosen: ca.SX
    jumped: ca.SX
    before: Moving
    position: ca.SX


class Crossings:
    """Crossings of the switches of a system, whose lanes may slide on some of them."""

    def __init__(self, pieces: Pieces, sliding: Side | None, rivals: frozenset[tuple[int, int]]) -> None:
        self.pieces, self.sliding, self.rivals = pieces, sliding, rivals
        self.slots = pieces.slots

    def cross(self, side: Side, lane: Lane, trial: Lane) -> Lane:
        """From where a piece began, with where it ended on trial, to just behind its first crossing."""
        piece = self._look(side, lane, trial)
        where = [self._locate(lane, piece, i) for i in range(self.slots.switches)]
        first = where[0]
        for position in where[1:]:
            first = ca.fmin(first, position)
        chosen = _choose_first(where, first)
        finite = ca.fabs(ca.sum1(trial.state[:, 0]) + ca.sum1(piece.margins[1])) < 1e100
        meets = ca.logic_and(first < NOWHERE, finite)
        share = ca.if_else(finite, ca.if_else(meets, first, 1), SHORTER) * (1 - lane["position"])
        reached, increment, _ = self.pieces.advance(side, lane, share)
        shorter = self._end_early(side, lane, piece, self.pieces.leave(lane, reached, increment), share)
        meeting = self._polish(side, lane, reached, share, chosen, pick(chosen, piece.jumped))
        changed = self._climb(self._change(side, lane, meeting, piece))
        residual = side.discretization.find_residual(meeting.before) * (UNFINISHED / ACCEPTED)
        solved = ca.fmax(increment, ca.if_else(residual < RESTLESS, residual, 1))  # a pivot may vanish on a border
        changed = replace(changed, worst=ca.fmax(changed.worst, solved))
        return changed.choose(meets, trial.clear().choose(finite, shorter))

    def find_jumped(self, side: Side, lane: Lane) -> ca.SX:
        """Whether some margin is negative where a lane begins."""
        position, drive = lane["position"], self.pieces.drive
        v = self.pieces.solve_at(side, lane, position)
        slopes = side.compute_rates("margin", v, drive.at(position).wdot) * (1 - position) * drive.h
        return ca.sum1(self._list_jumped(side, lane, v, slopes)) > 0

    def settle(self, side: Side, lane: Lane, t: ca.SX, force: Force) -> Lane:
        """A lane on the sides that it has behind an instant, where inputs and samples have jumped under it."""
        still = ca.SX.zeros(self.slots.switches)
        for _ in range(SETTLED if any(self.jumping) or side.slides else 0):
            v = self.pieces.enter(side, lane, t, force)
            v = v if side.instant else side.solve(v)
            jumped = self._list_jumped(side, lane, v, still)
            lane = self._flip(side, lane, Meeting(jumped, jumped, v, ca.SX(1)))
        return lane

    def _look(self, side: Side, lane: Lane, trial: Lane) -> Piece:
        """Margins at both ends of a piece."""
        drive, positions = self.pieces.drive, (lane["position"], ca.SX(1))
        ends = (lane, replace(trial, extra=lane.extra).put(controls=trial["controls"]))
        at = [self.pieces.solve_at(side, one, position) for one, position in zip(ends, positions, strict=True)]
        length = (1 - lane["position"]) * drive.h
        slopes = [
            side.compute_rates("margin", v, drive.at(position).wdot) * length
            for v, position in zip(at, positions, strict=True)
        ]
        left, right = (side.evaluate("margin", v) for v in at)
        sizes = side.measure(at[0])
        rounded = ca.fabs(right) < ROUNDING * side.measure(at[1])
        right = ca.if_else(rounded, ca.fabs(right), right)
        jumped = self._list_jumped(side, lane, at[0], slopes[0])
        return Piece((left, right), (slopes[0], slopes[1]), JUMPED * sizes, jumped)

    @cached_property
    def jumping(self) -> list[bool]:
        """Which functions may jump at an instant: those of tops, inputs, samples or other modes.

        Those of disturbances may be on another side at the start, where sides are found without them.
        """
        r = self.pieces.system.reduction
        assert r.switching is not None
        smooth = {*(r.name_jet(state) for state in r.states), *r.parameters, *r.switching.levels, "time"}
        leaves = [{leaf.name() for leaf in ca.symvar(switch.function)} for switch in r.switching.switches]
        return [not smooth.issuperset(names) for names in leaves]

    def _list_jumped(self, side: Side, lane: Lane, v: Moving, slope: ca.SX) -> ca.SX:
        """Switches whose margin is negative at the start of a piece, and cannot have come there continuously."""
        margin, size, lost = side.evaluate("margin", v), side.measure(v), self._find_lost(side, v)
        entries = []
        for i, jumping in enumerate(self.jumping):
            able = ca.SX(float(jumping))
            if i in side.slides and not jumping:
                able = lane["sliding"][side.slides.index(i)]  # controls jump as tops do
            allowed = JUMPED * size[i] + (NEARLY + lane["fresh"][i] * FRESH) * ca.fabs(slope[i])
            entries.append(ca.logic_or(able * (margin[i] < -allowed), lost[i]))
        return ca.vertcat(*entries)

    def _find_lost(self, side: Side, v: Moving) -> ca.SX:
        return side.find_lost(v, self.pieces.drive.h, self.jumping)

    def _locate(self, lane: Lane, piece: Piece, i: int) -> ca.SX:
        """Where in a piece a margin crosses zero; at its beginning where it has jumped, or is leaving there."""
        margin, slope = piece.margins[0][i], piece.slopes[0][i]
        # Just behind its own crossing a margin is zero, and rises, whatever rounding says.
        fresh = ca.logic_and(lane["fresh"][i], margin < FRESH * ca.fabs(slope) + piece.tiny[i])
        left = ca.if_else(fresh, 0, ca.fmax(margin, 0))
        rise = ca.if_else(fresh, ca.fmax(slope, 0), slope)
        leaving = ca.logic_and(ca.logic_and(margin <= 0, rise < 0), ca.logic_not(fresh))
        inside = find_crossing(left, rise, piece.margins[1][i], piece.slopes[1][i])
        return ca.if_else(ca.logic_or(piece.jumped[i], leaving), 0, inside)

    def _end_early(self, side: Side, lane: Lane, piece: Piece, reached: Lane, share: ca.SX) -> Lane:
        """A lane after part of a piece whose end is not finite: perhaps it crosses a border before."""
        alive = ca.fabs(ca.sum1(lane.state[:, 0])) < 1e30
        undefined = ca.logic_and(alive, ca.logic_not(ca.fabs(ca.sum1(piece.margins[0])) < 1e100))
        reached = replace(reached, worst=ca.fmax(reached.worst, ca.if_else(undefined, UNDEFINED, 0)))
        return reached.put(position=lane["position"] + share, code=SLIDE_ON if side.slides else GO_ON)

    def _polish(self, side: Side, lane: Lane, reached: Moving, share: ca.SX, chosen: ca.SX, jumped: ca.SX) -> Meeting:
        """One Newton step on the margin itself, from where the cubic crosses."""
        drive, functions = self.pieces.drive, side.discretization.functions
        position = lane["position"] + share
        v = self.pieces.solve_at(side, lane, position, reached)
        margin = pick(chosen, side.evaluate("margin", v))
        rate = pick(chosen, side.compute_rates("margin", v, drive.at(position).wdot))
        delta = ca.if_else(ca.logic_or(jumped, rate == 0), 0, -margin / ca.if_else(rate == 0, 1, rate))
        delta = ca.fmin(ca.fmax(delta, -position * drive.h), (1 - position) * drive.h)
        x = v.x + delta * side.evaluate("derivative", v)
        dx = v.dx + delta * functions.differentiate("derivative", v)
        position = position + delta / drive.h
        return Meeting(chosen, jumped, self.pieces.solve_at(side, lane, position, v.at(x=x, dx=dx)), position)

    def _change(self, side: Side, lane: Lane, meeting: Meeting, piece: Piece) -> Lane:
        """The lane behind a border, with the jump of its sensitivities."""
        drive, before, chosen = self.pieces.drive, meeting.before, meeting.chosen
        rate = pick(chosen, side.compute_rates("margin", before, drive.at(meeting.position).wdot))
        moved = ca.SX(1, 0)
        if before.directions:
            change = pick(chosen, side.discretization.functions.differentiate("margin", before))
            own = ca.if_else(rate == 0, 0, -change / ca.if_else(rate == 0, 1, rate))
            moved = ca.if_else(meeting.jumped, lane["moved"].T, own)
        behind, top, slope = self._change_side(side, lane, meeting)
        dx = before.dx + ca.mtimes(side.evaluate("derivative", before) - slope, moved)
        span = ca.fmax(*(pick(chosen, ca.fabs(margin)) for margin in piece.margins))
        grazing = ca.logic_and(ca.fabs(rate) * drive.h < GRAZING * span, ca.logic_not(meeting.jumped))
        stuck = ca.sum1(behind["sliding"]) if self.slots.slides else ca.SX(0)
        tops = top.shape[0]
        return replace(behind, state=ca.horzcat(ca.vertcat(before.x, top), ca.vertcat(dx, before.dtop[:tops, :]))).put(
            position=meeting.position,
            fresh=ca.fmax(lane["fresh"], chosen),
            moved=moved.T,
            grazed=lane["grazed"] + grazing,
            last=sum((i * chosen[i] for i in range(self.slots.switches)), ca.SX(0)),
            stuck=stuck,
            code=ca.if_else(stuck > 0, SLIDE_ON, GO_ON),
        )

    def _change_side(self, side: Side, lane: Lane, meeting: Meeting) -> tuple[Lane, ca.SX, ca.SX]:
        """The lane with the modes it has behind a border, with the tops and the slope that belong to them."""
        crossed = self._flip(side, lane, meeting)
        v = self.pieces.solve_at(side, crossed, meeting.position, meeting.before)
        tops = len(self.pieces.system.tops)
        top, slope = v.top[:tops], side.evaluate("derivative", v)
        if self.sliding is None:
            return crossed, top, slope
        stuck = self._stick(crossed, meeting.chosen)
        u = self.pieces.solve_at(self.sliding, stuck, meeting.position, meeting.before)
        stuck = self._refuse_rivals(stuck.put(controls=u.top[tops:]))
        wdot = self.pieces.drive.at(meeting.position).wdot
        rate = pick(meeting.chosen, side.compute_rates("g", v, wdot)) * pick(meeting.chosen, crossed["sides"])
        able = sum((meeting.chosen[place] for place in self.sliding.slides), ca.SX(0))
        left = sum((meeting.chosen[place] * lane["sliding"][k] for k, place in enumerate(side.slides)), ca.SX(0))
        sticks = ca.logic_and(ca.logic_and(rate <= 0, able), ca.logic_not(ca.logic_or(left, meeting.jumped)))
        for k, _ in enumerate(side.slides):  # what slides no longer leaves its border first
            beyond = ca.logic_and(crossed["sliding"][k], ca.fabs(v.top[tops + k]) > 1 + ROUNDING)
            sticks = ca.logic_and(sticks, ca.logic_not(beyond))
        top = select(sticks, u.top[:tops], top)
        slope = select(sticks, self.sliding.evaluate("derivative", u), slope)
        return stuck.choose(sticks, crossed), top, slope

    def _flip(self, side: Side, lane: Lane, meeting: Meeting) -> Lane:
        """On the other side; what slid, on the side of its control."""
        sides, sliding, controls = (ca.SX(lane[name]) for name in ("sides", "sliding", "controls"))
        chosen, top = meeting.chosen, meeting.before.top
        lost, g = self._find_lost(side, meeting.before), side.evaluate("g", meeting.before)
        for i in range(self.slots.switches):
            sides[i] = ca.if_else(chosen[i], -sides[i], sides[i])
        for k, place in enumerate(side.slides):
            control = top[top.shape[0] - len(side.slides) + k]
            leaving = chosen[place] * sliding[k]
            towards = ca.if_else(lost[place], g[place], control)
            sides[place] = ca.if_else(leaving, ca.if_else(towards < 0, -1, 1), sides[place])
        for k, place in enumerate(self.sliding.slides if self.sliding else ()):
            sliding[k] = ca.if_else(chosen[place], 0, sliding[k])
            controls[k] = ca.if_else(chosen[place], sides[place], controls[k])
        return self._jump(side, lane, meeting).put(sides=sides, sliding=sliding, controls=controls)

    def _jump(self, side: Side, lane: Lane, meeting: Meeting) -> Lane:
        """Tables whose argument has jumped, perhaps over many borders, next to the level where it is."""
        levels = ca.SX(lane["levels"])
        for number, (table, rows) in enumerate(zip(self.slots.tables, self.slots.list_rows(), strict=True)):
            low, high = table.places
            if not (self.jumping[low] or self.jumping[high]):
                continue
            level = table.write_level(side.evaluate("table_arguments", meeting.before)[number])
            for place, before in ((low, level + 1), (high, level - 1)):  # where the change of its side leads there
                jumped = ca.logic_and(meeting.chosen[place], meeting.jumped if meeting.jumped.is_scalar() else 1)
                levels[rows] = select(jumped, table.look_up(before), levels[rows])
        return lane.put(levels=levels)

    def _climb(self, lane: Lane) -> Lane:
        """The next level of tables on whose border a lane has changed its side; that is then their other border.

        What stands there the kernel looks up.
        """
        sides, levels, fresh = (ca.SX(lane[name]) for name in ("sides", "levels", "fresh"))
        slides = self.sliding.slides if self.sliding else ()
        for table, rows in zip(self.slots.tables, self.slots.list_rows(), strict=True):
            low, high = table.places
            free = [1 - lane["sliding"][slides.index(place)] if place in slides else ca.SX(1) for place in (low, high)]
            down, up = ca.logic_and(sides[low] < 0, free[0]), ca.logic_and(sides[high] > 0, free[1])
            levels[rows.start] = levels[rows.start] + up - down
            moved = ca.logic_or(down, up)
            sides[low], sides[high] = ca.if_else(moved, 1, sides[low]), ca.if_else(moved, -1, sides[high])
            fresh[low], fresh[high] = (
                ca.if_else(up, fresh[high], ca.if_else(down, 0, fresh[low])),
                ca.if_else(down, fresh[low], ca.if_else(up, 0, fresh[high])),
            )
        return lane.put(sides=sides, levels=levels, fresh=fresh)

    def _stick(self, lane: Lane, chosen: ca.SX) -> Lane:
        """On the border."""
        assert self.sliding is not None
        flags, controls = ca.SX(lane["sliding"]), ca.SX(lane["controls"])
        for k, place in enumerate(self.sliding.slides):
            flags[k] = ca.if_else(chosen[place], 1, flags[k])
            controls[k] = ca.if_else(chosen[place], 0, controls[k])
        return lane.put(sliding=flags, controls=controls)

    def _refuse_rivals(self, lane: Lane) -> Lane:
        """A lane fails that would slide on two borders whose modes multiply each other."""
        assert self.sliding is not None
        for pair in self.rivals:
            flags = [lane["sliding"][self.sliding.slides.index(place)] for place in pair]
            lane = replace(lane, worst=ca.fmax(lane.worst, flags[0] * flags[1] * RIVALS))
        return lane


def _choose_first(where: list[ca.SX], first: ca.SX) -> ca.SX:
    """Zeros, and a one for the first of those that are nearest."""
    chosen, taken = [], ca.SX(0)
    for position in where:
        chosen.append(ca.logic_and(position <= first, ca.logic_not(taken)))
        taken = ca.logic_or(taken, chosen[-1])
    return ca.vertcat(*chosen)
