"""Steps of systems with switches: sides are held within a step, crossings located, and sensitivities jump there.

A lane takes its step with the sides it has. Where a switching function γ (o g; or 1 − |m| for a switch that slides with
control m) is negative at the end or at a stage, the lane alone goes back, to the crossing; there it changes its side or
begins or ends to slide, and goes on to the end of the step, together with whoever else is not finished. At the crossing

    δ = −γ/γ̇        X ← X + δ f,  S ← S + δ df,  t ← t + δ          (one Newton step on the function itself)
    dt*/dθ = −(γ_X S + γ_θ)/γ̇⁻
    S⁺ = S⁻ + (f⁻ − f⁺) dt*/dθ                                       (saltation)

with f⁻, f⁺ before and after, both at the point so reached. After a change of side the rate on the new side decides: away
from the border it was crossed; back to it, the lane slides where the switch may (`daedal.systems.sliding`). What jumps
at an instant may carry another function over its border there; it then changes without a crossing of its own, and moves
as that instant does.

A held value changes at instants that all lanes share: q ← e, dq ← de at a sample; z ← q, dz ← dq when it is delivered.

References: E. Hairer, S. P. Nørsett, G. Wanner, Solving ODEs I (1993), II.6; S. Galán, W. F. Feehery, P. I. Barton,
Parametric sensitivity functions for hybrid discrete/continuous systems, Applied Numerical Mathematics 31 (1999) 17–47;
R. I. Leine, H. Nijmeijer, Dynamics and Bifurcations of Non-Smooth Mechanical Systems (2004).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from daedal.kernels import Detours, Turn, compile_scan, read_tape
from daedal.linear import factorize
from daedal.simulation.steps.curves import GridRow
from daedal.simulation.steps.discretization import Discretization, Point
from daedal.simulation.steps.lane_modes import RESTLESS, RIVALS, ROUNDS, UNDEFINED, Slots
from daedal.simulation.steps.location import find_crossing
from daedal.simulation.steps.program import ACCEPTED, UNFINISHED, Program, Shape, StepBuilder, stack_observed
from daedal.simulation.steps.tableau import RUNGE_KUTTA
from daedal.simulation.steps.tangents import Moving
from daedal.symbolic import Held, find_operator, jet
from daedal.systems import Reduction, Sliding, System, find_sliding

ROUNDING = 1e-13  # of its terms: what a function may be beyond its border without having crossed it
JUMPED = 1e-11  # of its terms: a function as far beyond its border at the start of a piece has jumped there
FRESH = 1e-3  # of its change over a piece: how far from its border a function may be that has just crossed it
GRAZING = 1e-6  # of its size: the change of a function over a piece below which its slope tells nothing
SHORTER = 0.25  # of a piece after which a lane looks again when its end is not finite

DONE, CROSS, GO_ON, SLIDE_ON, CROSS_SLIDING = range(5)  # what a lane has to do


@dataclass(frozen=True, eq=False)
class Lane:
    """The state of a lane as symbols: what every lane has, and what switches add."""

    state: ca.SX  # (X, T) and their sensitivities, as columns
    worst: ca.SX
    extra: ca.SX
    slots: Slots

    def __getitem__(self, name: str) -> ca.SX:
        return self.extra[self.slots.find(name)]

    def put(self, **changes: Any) -> "Lane":
        """The same with other numbers in some places."""
        extra = ca.SX(self.extra)
        for name, value in changes.items():
            extra[self.slots.find(name.replace("_", " "))] = value
        return replace(self, extra=extra)

    @property
    def vector(self) -> ca.SX:
        return ca.vertcat(ca.vec(self.state), self.worst, self.extra)

    def choose(self, condition: ca.SX, other: "Lane") -> "Lane":
        """This one where a condition holds, the other elsewhere."""
        pairs = ((self.state, other.state), (self.worst, other.worst), (self.extra, other.extra))
        return Lane(*(select(condition, *pair) for pair in pairs), self.slots)


def select(condition: ca.SX, yes: ca.SX, no: ca.SX) -> ca.SX:
    """One matrix or the other, entry by entry: what is not chosen may be anything."""
    entries = [
        ca.if_else(condition, a, b) for a, b in zip(ca.vertsplit(ca.vec(yes)), ca.vertsplit(ca.vec(no)), strict=True)
    ]
    return ca.reshape(ca.vertcat(*entries), *yes.shape) if entries else yes


def pick(chosen: ca.SX, values: ca.SX) -> ca.SX:
    """The row of a matrix that is chosen by a vector of zeros and a one."""
    rows = [select(chosen[i], values[i, :], ca.SX.zeros(1, values.shape[1])) for i in range(chosen.shape[0])]
    return sum(rows[1:], rows[0])


class Side:
    """A system with its switching functions: the plain one, or the one in which some switches may slide."""

    def __init__(self, system: System, reduction: Reduction, discretization: Discretization, slides: tuple[int, ...]):
        self.system, self.reduction, self.discretization, self.slides = system, reduction, discretization, slides
        switching = system.reduction.switching
        assert switching is not None
        self.switches = switching.switches
        functions = discretization.functions
        g = ca.vertcat(ca.SX(0, 1), *(switch.function for switch in self.switches))
        sides = ca.vertcat(ca.SX(0, 1), *(self._find_symbol(switch.mode) for switch in self.switches))
        margin = ca.SX(sides * g)
        for k, place in enumerate(slides):
            control, flag = reduction.T[-len(slides) + k], reduction.arguments[-1][-len(slides) + k]
            margin[place] = flag * (1 - ca.fabs(control)) + (1 - flag) * margin[place]
        functions.define("g", g)
        functions.define("margin", margin)
        functions.define("size", _estimate_sizes(g, reduction))
        functions.define("samples", ca.vertcat(ca.SX(0, 1), *switching.held.values()))
        self._wdot = ca.SX.sym("wdot", reduction.arguments[-1].shape[0])
        self._rates = {name: self._differentiate(name) for name in ("g", "margin", "samples", "top")}
        self.instant = not ca.depends_on(margin, reduction.T)  # known from the states, without solving for tops

    def _find_symbol(self, name: str) -> ca.SX:
        return self.reduction.arguments[-1][self.reduction.exogenous.index(name)]

    def _differentiate(self, name: str) -> ca.Function:
        """Along the flow, with T' given."""
        r = self.reduction
        time, x, top, _, w = r.arguments
        rise = ca.SX.sym("rise", top.shape[0])
        expression = self.discretization.functions.expressions[name]
        rate = ca.jtimes(expression, ca.vertcat(time, x, top, w), ca.vertcat(1, r.shift, rise, self._wdot))
        return ca.Function(f"{name}_rate", [*r.arguments, rise, self._wdot], [rate])

    def fill(self, w: ca.SX, wdot: ca.SX, lane: Lane) -> ca.SX:
        """Exogenous values of this system, from those of the plain one in the order of its symbols, and a lane."""
        plain = list(self.system.reduction.exogenous)
        switching = self.system.reduction.switching
        assert switching is not None
        known: dict[str, ca.SX] = {}
        known |= {switch.mode: lane["sides"][i] for i, switch in enumerate(self.switches)}
        known |= {name: lane["held"][i] for i, name in enumerate(switching.held)}
        flags = self.reduction.equations.modes[len(plain) and len(self.system.reduction.equations.modes) :]
        known |= {name: lane["sliding"][i] for i, name in enumerate(flags)}
        values = []
        for name in self.reduction.exogenous:
            base, order = jet(name)
            if name in known:
                values.append(known[name])
            elif name in plain:
                values.append(w[plain.index(name)])
            else:
                values.append(wdot[plain.index(base)] if order == 1 and base in plain else ca.SX(0))
        return ca.vertcat(ca.SX(0, 1), *values)

    def fill_rates(self, dw: ca.SX, lane: Lane) -> ca.SX:
        """The same for derivatives in the free directions, one column each."""
        plain = list(self.system.reduction.exogenous)
        switching = self.system.reduction.switching
        assert switching is not None
        count = dw.shape[1]
        rates = ca.reshape(lane["held rates"], len(switching.held), count)
        rows = []
        for name in self.reduction.exogenous:
            if name in switching.held:
                rows.append(rates[list(switching.held).index(name), :])
            elif name in plain and name not in self.system.reduction.equations.modes:
                rows.append(dw[plain.index(name), :])
            else:
                rows.append(ca.SX.zeros(1, count))
        return ca.vertcat(ca.SX(0, count), *rows)

    def enter(self, lane: Lane, moving: Moving, force: "Force") -> Moving:
        """A lane at a place where its forcing is known: values of this system, T as guessed."""
        controls = lane["controls"] if self.slides else ca.SX(0, 1)
        size = len(self.slides)
        return moving.at(
            top=ca.vertcat(moving.top, controls),
            dtop=ca.vertcat(moving.dtop, ca.SX.zeros(size, moving.directions)),
            w=self.fill(force.w, force.wdot, lane),
            dw=self.fill_rates(force.dw, lane),
        )

    def solve(self, v: Moving) -> Moving:
        return self.discretization.solve_tops(v, extra=2)

    def evaluate(self, name: str, v: Moving) -> ca.SX:
        return self.discretization.functions.evaluate(name, v)

    def compute_rates(self, name: str, v: Moving, wdot: ca.SX) -> ca.SX:
        """Time derivatives of functions along the flow; T moves as the equations say where they contain it."""
        filled = self._fill_rise(wdot)
        rise = ca.SX.zeros(v.top.shape[0])
        arguments = (v.t, v.x, v.top, v.p, v.w)
        if ca.depends_on(self.discretization.functions.expressions[name], self.reduction.T):
            still = self._rates["top"](*arguments, rise, filled)
            rise = -self.discretization.factorize_top(v).solve(still)
        return self._rates[name](*arguments, rise, filled)

    def _fill_rise(self, wdot: ca.SX) -> ca.SX:
        plain, modes = list(self.system.reduction.exogenous), self.system.reduction.equations.modes
        values = [
            wdot[plain.index(name)] if name in plain and name not in modes else ca.SX(0)
            for name in self.reduction.exogenous
        ]
        return ca.vertcat(ca.SX(0, 1), *values)


def _estimate_sizes(g: ca.SX, reduction: Reduction) -> ca.SX:
    """What functions are sums of, to first order."""
    symbols = ca.vertcat(*reduction.arguments)
    return ca.mtimes(ca.fabs(ca.jacobian(g, symbols)), ca.fabs(symbols)) + ca.fabs(g) + 1e-290


@dataclass(frozen=True, eq=False)
class Force:
    """What drives the plain system at one place: values, their derivatives in the free directions, and in time."""

    w: ca.SX
    dw: ca.SX
    wdot: ca.SX


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
        reduction = system.reduction
        plain = Discretization(reduction, shape.method, point, step)
        super().__init__(plain, shape, known, noisy, row)
        self.system, self.slots = system, Slots.of(system, shape.directions)
        self.plain = Side(system, reduction, plain, ())
        sliding = find_sliding(system) if self.slots.slides else None
        self.sliding = _make_sliding_side(system, sliding, shape, point, step) if sliding else None
        self.rivals = sliding.rivals if sliding else frozenset()
        self.start = Lane(self.state, self.worst, ca.SX.sym("extra", self.slots.size), self.slots)
        self.reached = Lane(
            ca.SX.sym("reached", *self.state.shape), ca.SX.sym("least"), ca.SX.sym("more", self.slots.size), self.slots
        )
        if self.slots.held:
            self.marked = self.shared.shape[0]
            self.shared = ca.vertcat(self.shared, ca.SX.sym("marks", 1 + 4 * self.slots.held))

    # ---- what the kernel is made of

    def step(self) -> ca.Function:
        """A whole step with the sides that lanes have."""
        lane, side = self.start, self.plain
        forces = [self._read_force(node) for node in range(self.nodes.size)]
        end = self._read_end()
        moving = self._enter_moving(lane, self.shared[0])
        start = side.enter(lane, moving, forces[0])
        w, dw = (
            [part for part in parts] for parts in zip(*(self._fill(side, lane, force) for force in forces), strict=True)
        )
        finished, increment = side.discretization.step(start, self.shared[1], w, dw, *self._fill(side, lane, end))
        stages = self._list_inner_stages(side)
        last = finished.at(w=w[-1], dw=dw[-1])
        crossed = self._find_crossed(side, [last if side.instant else side.solve(last), *stages])
        if self._may_jump:
            begin = start if side.instant else side.solve(start)
            crossed = ca.logic_or(crossed, self._find_crossed(side, [begin], self._jumping))
        code = ca.if_else(crossed, CROSS, DONE)
        if self.slots.slides:
            code = ca.if_else(lane["stuck"] > 0, SLIDE_ON, code)
        failed = lane["code"] * RESTLESS  # zero but for a lane that has not finished the step before
        return self._make_function(
            "step", self._leave(lane, finished, ca.fmax(increment, failed)).put(code=code).vector
        )

    def make_detours(self) -> Detours:
        """What lanes do that have not finished their step."""
        turns = []
        if self.slots.switches:
            turns = [(CROSS, self._cross(self.plain)), (GO_ON, self._go_on(self.plain))]
        if self.sliding is not None:
            turns += [(CROSS_SLIDING, self._cross(self.sliding)), (SLIDE_ON, self._go_on(self.sliding))]
        crossings = (CROSS, CROSS_SLIDING)
        written = [self._write_turn(code, lane, code in crossings) for code, lane in turns]
        written.sort(key=lambda turn: not turn.restarts)
        detours = Detours(self.slots.locate("code"), tuple(written), ROUNDS)
        if self.slots.held:
            detours = detours._replace(marked=self.marked, prelude=read_tape(self.prelude))
        return detours

    def observe_sliding(self, wanted: ca.SX) -> ca.Function:
        """Observation of lanes that slide."""
        assert self.sliding is not None
        return self._make_function("observe_sliding", self._observe_end(self.sliding, wanted))

    def observe(self, wanted: ca.SX) -> ca.Function:
        return self._make_function("observe", self._observe_end(self.plain, wanted))

    def _observe_end(self, side: Side, wanted: ca.SX) -> ca.SX:
        return self._observe_force(side, wanted, self.shared[0] + self.shared[1], self._read_end())

    def observe_first(self, wanted: ca.SX, sliding: ca.SX | None = None) -> ca.Function:
        """Before any step, for values of the exogenous symbols given outright, one column per way."""
        t, forcing = ca.SX.sym("t"), ca.SX.sym("w", self.symbols, 1 + self.count)
        force = Force(forcing[:, 0], forcing[:, 1:], ca.SX.zeros(self.symbols))
        result = self._observe_force(self.plain, wanted, t, force)
        if self.sliding is not None and sliding is not None:
            other = self._observe_force(self.sliding, sliding, t, force)
            result = select(self.start["stuck"] > 0, other, result)
        return ca.Function("first", [self.start.vector, ca.vec(self.parameters), t, ca.vec(forcing)], [result])

    def _observe_force(self, side: Side, wanted: ca.SX, t: ca.SX, force: Force) -> ca.SX:
        lane = self.start
        v = side.enter(lane, self._enter_moving(lane, t), force)
        values, rates, residual = side.discretization.observe(v, wanted)
        failed = ca.fmax(lane.worst, lane["code"] * RESTLESS)
        kind = ca.if_else(failed < RIVALS, RESTLESS, ca.if_else(failed < UNDEFINED, RIVALS, UNDEFINED))
        worst = ca.if_else(failed < RESTLESS, failed, kind * (1 + lane["last"]))
        return ca.vertcat(values, ca.vec(rates), ca.fmax(residual, worst * (ACCEPTED / UNFINISHED)))

    @cached_property
    def prelude(self) -> ca.Function:
        """Samples taken and delivered before a marked step."""
        count = self.slots.held
        taken, delivered, sampled, arrived = ca.vertsplit(
            self.shared[self.marked + 1 :], [count * part for part in range(5)]
        )
        periods, delays = self._differentiate_clocks()
        numbers = [ca.repmat(part, 1, self.count) for part in (sampled, arrived)]
        late = numbers[0] * periods, numbers[1] * periods + delays  # how the instants move in each direction
        lane = self.start
        for k in range(count):
            lane = self._deliver(lane, delivered[k], k, late[1])
        for _ in range(self._depth):
            lane = self._sample(lane, taken, late[0])
            for k in [k for k, prompt in enumerate(self._prompt) if prompt]:
                lane = self._deliver(lane, taken[k], k, late[1])
        return self._make_function("prelude", lane.vector)

    def _differentiate_clocks(self) -> tuple[ca.SX, ca.SX]:
        """How periods and delays move in the free directions, (held, direction)."""
        symbols = self.system.reduction.arguments[3]
        at = self._enter_moving(self.start, self.shared[0])
        rates = []
        for amount in ("every", "delay"):
            formulas = ca.vertcat(*(getattr(meaning, amount).sx for meaning in self._clocks))
            gradient = ca.substitute(ca.jacobian(formulas, symbols), symbols, at.p)
            rates.append(ca.mtimes(gradient, at.dp))
        return rates[0], rates[1]

    @cached_property
    def _clocks(self) -> list[Held]:
        """What is held, in order."""
        switching = self.system.reduction.switching
        assert switching is not None
        meanings = [find_operator(name) for name in switching.held]
        return [meaning for meaning in meanings if isinstance(meaning, Held)]

    # ---- pieces of steps

    def _go_on(self, side: Side) -> Lane:
        """From where a lane is within the step to the end of it."""
        lane = self.start
        finished, increment, stages = self._advance(side, lane, 1 - lane["position"], self._read_end())
        last = self._make_last(side, lane, finished)
        crossed = self._find_crossed(side, [last, *stages])
        if not side.instant or self._may_jump:
            crossed = ca.logic_or(crossed, self._find_jumped(side, lane))
        return self._finish(
            lane, finished, increment, ca.if_else(crossed, CROSS_SLIDING if side.slides else CROSS, DONE)
        )

    def _make_last(self, side: Side, lane: Lane, finished: Moving) -> Moving:
        force = self._interpolate(ca.SX(1))
        last = finished.at(w=side.fill(force.w, force.wdot, lane), dw=side.fill_rates(force.dw, lane))
        return last if side.instant else side.solve(last)

    def _advance(self, side: Side, lane: Lane, share: ca.SX, end: Force | None) -> tuple[Moving, ca.SX, list[Moving]]:
        """A share of the whole step, from where the lane is."""
        position, h = lane["position"], self.shared[1]
        forces = [self._interpolate(position + share * float(node)) for node in self.nodes]
        first = self._interpolate(position)
        start = side.enter(lane, self._enter_moving(lane, self.shared[0] + position * h), first)
        pairs = [self._fill(side, lane, force) for force in forces]
        last = self._fill(side, lane, end or forces[-1])
        w, dw = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        finished, increment = side.discretization.step(start, share * h, w, dw, *last)
        stages = self._list_inner_stages(side)
        return self._remove_drift(side, lane, finished) if side.slides else finished, increment, stages

    def _remove_drift(self, side: Side, lane: Lane, v: Moving) -> Moving:
        """X back on the surfaces on which the lane slides, along what their controls act on: X −= g/(g_X S_m) S_m."""
        r, size = side.reduction, len(side.slides)
        count = len(r.tops) - size
        J = side.evaluate("J", v)
        numbers = side.discretization.functions["J"](*side.discretization.point.arguments).full()
        factors = factorize(J[:count, :count], numbers[:count, :count])
        shift = ca.jacobian(r.shift, r.T)[:, :count]
        functions = side.discretization.functions
        functions.define("g_X", ca.jacobian(functions.expressions["g"], r.X))
        slopes = side.evaluate("g_X", v)
        for k, place in enumerate(side.slides):
            effect = ca.mtimes(shift, -factors.solve(ca.densify(J[:count, count + k])))
            acted, flag = ca.mtimes(slopes[place, :], effect), lane["sliding"][k]
            factor = ca.if_else(flag > 0, 1 / ca.if_else(acted == 0, 1, acted), 0)
            g, dg = side.evaluate("g", v)[place], functions.differentiate("g", v)[place, :]
            v = v.at(x=v.x - factor * g * effect, dx=v.dx - factor * ca.mtimes(effect, dg))
        return v

    def _list_inner_stages(self, side: Side) -> list[Moving]:
        """Of the last step, those between its ends: the last at each place, which knows it best."""
        method = self.shape.method
        where = RUNGE_KUTTA[method].list_nodes() if method in RUNGE_KUTTA else self.nodes.tolist()
        inner = {node: stage for node, stage in zip(where, side.discretization.stages, strict=True) if 0 < node < 1}
        return list(inner.values())

    def _find_crossed(self, side: Side, places: list[Moving], among: list[bool] | None = None) -> ca.SX:
        """Whether some function is beyond its border at some place; where that is rounding, the crossing tells."""
        margins = [
            entry
            for v in places
            for i, entry in enumerate(ca.vertsplit(side.evaluate("margin", v)))
            if among is None or among[i]
        ]
        inside = ca.SX(1)
        for margin in margins:
            inside = ca.logic_and(inside, margin >= 0)  # which nothing undefined is
        return ca.logic_not(inside)

    def _measure(self, side: Side, v: Moving) -> ca.SX:
        """The size of margins: of the terms of g, or one for a control."""
        size = ca.SX(side.evaluate("size", v))
        for k, place in enumerate(side.slides):
            flag = v.w[v.w.shape[0] - len(side.slides) + k]
            size[place] = flag + (1 - flag) * size[place]
        return size

    @cached_property
    def _jumping(self) -> list[bool]:
        """Which functions may jump at an instant: those of tops, inputs, samples or other modes.

        Those of disturbances may be on another side at the start, where sides are found without them.
        """
        r = self.system.reduction
        smooth = {*(r.name_jet(state) for state in r.states), *r.parameters, "time"}
        functions = [switch.function for switch in self.plain.switches]
        return [not smooth.issuperset(leaf.name() for leaf in ca.symvar(function)) for function in functions]

    @property
    def _may_jump(self) -> bool:
        return any(self._jumping)

    def _find_jumped(self, side: Side, lane: Lane) -> ca.SX:
        """Whether some function is beyond its border where a lane begins."""
        force = self._interpolate(lane["position"])
        v = side.solve(side.enter(lane, self._enter_moving(lane, self.shared[0]), force))
        wrong = self._list_jumped(
            side, lane, side.evaluate("margin", v), self._measure(side, v), ca.SX.zeros(self.slots.switches)
        )
        return ca.sum1(wrong) > 0

    def _list_jumped(self, side: Side, lane: Lane, margin: ca.SX, size: ca.SX, slope: ca.SX) -> ca.SX:
        """Functions that are beyond their border at the start of a piece, and cannot have come there continuously."""
        entries = []
        for i, jumping in enumerate(self._jumping):
            allowed = JUMPED * size[i] + lane["fresh"][i] * FRESH * ca.fabs(slope[i])
            able: Any = 1.0 if jumping else 0.0
            if i in side.slides and not jumping:
                able = lane["sliding"][side.slides.index(i)]
            entries.append(able * (margin[i] < -allowed))
        return ca.vertcat(*entries)

    # ---- crossings

    def _cross(self, side: Side) -> Lane:
        """From where a piece began, with where it ended, to just behind its first crossing."""
        lane, trial, h = self.start, self.reached, self.shared[1]
        rest = (1 - lane["position"]) * h
        left, right = self._interpolate(lane["position"]), self._interpolate(ca.SX(1))
        begin = side.solve(side.enter(lane, self._enter_moving(lane, self.shared[0] + lane["position"] * h), left))
        end = side.solve(
            side.enter(lane.put(controls=trial["controls"]), self._enter_moving(trial, self.shared[0] + h), right)
        )
        margins = [side.evaluate("margin", v) for v in (begin, end)]
        slopes = [side.compute_rates("margin", v, f.wdot) * rest for v, f in ((begin, left), (end, right))]
        sizes = self._measure(side, begin)
        jumped = self._list_jumped(side, lane, margins[0], sizes, slopes[0])
        tolerances = ROUNDING * self._measure(side, end)
        margins[1] = ca.if_else(ca.fabs(margins[1]) < tolerances, ca.fabs(margins[1]), margins[1])
        where = [
            self._locate(lane, i, margins, slopes, jumped[i], JUMPED * sizes[i]) for i in range(self.slots.switches)
        ]
        first = where[0]
        for position in where[1:]:
            first = ca.fmin(first, position)
        chosen, taken = [], ca.SX(0)
        for position in where:
            one = ca.logic_and(position <= first, ca.logic_not(taken))
            chosen.append(one)
            taken = ca.logic_or(taken, one)
        finite = ca.fabs(ca.sum1(trial.state[:, 0]) + ca.sum1(margins[1])) < 1e100
        undefined = ca.logic_not(ca.fabs(ca.sum1(margins[0])) < 1e100)
        event = ca.logic_and(first < 1.5, finite)
        share = ca.if_else(finite, ca.if_else(event, first, 1), SHORTER) * (1 - lane["position"])
        reached, increment, _ = self._advance(side, lane, share, None)
        changed = self._change(
            side, lane, reached, share, ca.vertcat(*chosen), pick(ca.vertcat(*chosen), jumped), margins, slopes
        )
        changed = replace(changed, worst=ca.fmax(changed.worst, increment))
        shorter = self._leave(lane, reached, increment).put(
            position=lane["position"] + share, code=SLIDE_ON if side.slides else GO_ON
        )
        shorter = replace(shorter, worst=ca.fmax(shorter.worst, ca.if_else(undefined, UNDEFINED, 0)))
        idle = replace(trial, extra=self._clear(trial).extra)
        return changed.choose(event, idle.choose(finite, shorter))

    def _locate(
        self, lane: Lane, i: int, margins: list[ca.SX], slopes: list[ca.SX], jumped: ca.SX, tiny: ca.SX
    ) -> ca.SX:
        """Where in the piece a function crosses; at its beginning where it has jumped, or is leaving there."""
        slope = slopes[0][i]
        # Just behind its own crossing a function is zero, and rises, whatever rounding says.
        fresh = ca.logic_and(lane["fresh"][i], margins[0][i] < FRESH * ca.fabs(slope) + tiny)
        left = ca.if_else(fresh, 0, ca.fmax(margins[0][i], 0))
        slope = ca.if_else(fresh, ca.fmax(slope, 0), slope)
        leaving = ca.logic_and(ca.logic_and(margins[0][i] <= 0, slope < 0), ca.logic_not(fresh))
        inside = find_crossing(left, slope, margins[1][i], slopes[1][i])
        return ca.if_else(ca.logic_or(jumped, leaving), 0, inside)

    def _change(
        self,
        side: Side,
        lane: Lane,
        reached: Moving,
        share: ca.SX,
        chosen: ca.SX,
        jumped: ca.SX,
        margins: Any,
        slopes: Any,
    ) -> Lane:
        """The lane behind a crossing."""
        h = self.shared[1]
        position = lane["position"] + share
        before = side.solve(self._at(side, lane, reached, position))
        margin, rate = (
            pick(chosen, side.evaluate("margin", before)),
            pick(chosen, side.compute_rates("margin", before, self._interpolate(position).wdot)),
        )
        delta = ca.if_else(ca.logic_or(jumped, rate == 0), 0, -margin / ca.if_else(rate == 0, 1, rate))
        delta = ca.fmin(ca.fmax(delta, -position * h), (1 - position) * h)
        functions = side.discretization.functions
        x = before.x + delta * side.evaluate("derivative", before)
        dx = before.dx + delta * functions.differentiate("derivative", before)
        position = position + delta / h
        wdot = self._interpolate(position).wdot
        before = side.solve(self._at(side, lane, before.at(x=x, dx=dx), position))
        rate = pick(chosen, side.compute_rates("margin", before, wdot))
        moved = -pick(chosen, functions.differentiate("margin", before)) / ca.if_else(rate == 0, 1, rate)
        moved = ca.if_else(jumped, lane["moved"].T, ca.if_else(rate == 0, 0, moved)) if self.count else ca.SX(1, 0)
        behind, after = self._change_side(side, lane, before, position, chosen, jumped)
        dx = before.dx + ca.mtimes(side.evaluate("derivative", before) - after.rates, moved)
        size = len(self.system.tops)
        state = ca.horzcat(ca.vertcat(before.x, after.top[:size]), ca.vertcat(dx, before.dtop[:size, :]))
        span = ca.fmax(pick(chosen, ca.fabs(margins[0])), pick(chosen, ca.fabs(margins[1])))
        grazing = ca.logic_and(ca.fabs(rate) * h < GRAZING * span, ca.logic_not(jumped))
        behind = behind.put(
            position=position,
            fresh=ca.fmax(lane["fresh"], chosen),
            moved=moved.T,
            grazed=lane["grazed"] + grazing,
            last=sum((i * chosen[i] for i in range(self.slots.switches)), ca.SX(0)),
            stuck=ca.sum1(behind["sliding"]) if self.slots.slides else 0,
            code=ca.if_else(ca.sum1(behind["sliding"]) > 0, SLIDE_ON, GO_ON) if self.slots.slides else GO_ON,
        )
        return replace(behind, state=state)

    def _change_side(
        self, side: Side, lane: Lane, before: Moving, position: ca.SX, chosen: ca.SX, jumped: ca.SX
    ) -> tuple[Lane, "_After"]:
        """The modes behind a crossing, with tops and rates that belong to them."""
        force = self._interpolate(position)
        was = sum((chosen[place] * lane["sliding"][k] for k, place in enumerate(side.slides)), ca.SX(0))
        sides, sliding, controls = ca.SX(lane["sides"]), ca.SX(lane["sliding"]), ca.SX(lane["controls"])
        for i in range(self.slots.switches):
            leaving = ca.SX(0)
            sign = ca.SX(1)
            if i in side.slides:
                k = side.slides.index(i)
                leaving = chosen[i] * sliding[k]
                control = before.top[before.top.shape[0] - len(side.slides) + k]
                sign = ca.if_else(control < 0, -1, 1)
            sides[i] = ca.if_else(leaving, sign, ca.if_else(chosen[i], -sides[i], sides[i]))
        for k, place in enumerate(self.sliding.slides if self.sliding else ()):
            sliding[k] = ca.if_else(chosen[place], 0, sliding[k])
            controls[k] = ca.if_else(chosen[place], sides[place], controls[k])
        crossed = lane.put(sides=sides, sliding=sliding, controls=controls)
        v = side.solve(self._at(side, crossed, before, position))
        after = _After(v.top, side.evaluate("derivative", v))
        if self.sliding is None:
            return crossed, after
        rate = pick(chosen, side.compute_rates("g", v, force.wdot)) * pick(chosen, sides)
        able = sum((chosen[place] for place in self.sliding.slides), ca.SX(0))
        sticks = ca.logic_and(ca.logic_and(rate <= 0, able), ca.logic_not(ca.logic_or(was, jumped)))
        stuck_flags, stuck_controls = ca.SX(sliding), ca.SX(controls)
        for k, place in enumerate(self.sliding.slides):
            stuck_flags[k] = ca.if_else(chosen[place], 1, sliding[k])
            stuck_controls[k] = ca.if_else(chosen[place], 0, controls[k])
        stuck = crossed.put(sliding=stuck_flags, controls=stuck_controls)
        plain = before.at(top=before.top[: len(self.system.tops)], dtop=before.dtop[: len(self.system.tops), :])
        w = self.sliding.solve(self._at(self.sliding, stuck, plain, position))
        stuck = stuck.put(controls=w.top[len(self.system.tops) :])
        for a, b in self.rivals:
            both = ca.SX(1)
            for place in (a, b):
                both = both * stuck_flags[self.sliding.slides.index(place)]
            stuck = replace(stuck, worst=ca.fmax(stuck.worst, both * RIVALS))
        size = len(self.system.tops)
        top = select(sticks, w.top[:size], after.top[:size])
        rates = select(sticks, self.sliding.evaluate("derivative", w), after.rates)
        return stuck.choose(sticks, crossed), _After(top, rates)

    # ---- reading and writing

    def _at(self, side: Side, lane: Lane, v: Moving, position: ca.SX) -> Moving:
        """The same states elsewhere in the step, with the modes of a lane."""
        force, size = self._interpolate(position), len(self.system.tops)
        plain = v.at(t=self.shared[0] + position * self.shared[1], top=v.top[:size], dtop=v.dtop[:size, :])
        return side.enter(lane, plain, force)

    def _finish(self, lane: Lane, finished: Moving, increment: ca.SX, code: ca.SX) -> Lane:
        """A lane at the end of its step, if nothing is left to do; otherwise with what that is."""
        reached = self._leave(lane, finished, increment)
        done = code == DONE
        cleared = self._clear(reached)
        return replace(reached, extra=select(done, cleared.extra, reached.extra)).put(code=code)

    def _clear(self, lane: Lane) -> Lane:
        return lane.put(fresh=0, position=0, code=DONE, moved=0)

    def _leave(self, lane: Lane, v: Moving, increment: ca.SX) -> Lane:
        size = len(self.system.tops)
        state = ca.horzcat(ca.vertcat(v.x, v.top[:size]), ca.vertcat(v.dx, v.dtop[:size, :]))
        left = replace(lane, state=state, worst=ca.fmax(lane.worst, increment))
        return left.put(controls=v.top[size:]) if v.top.shape[0] > size else left

    def _deliver(self, lane: Lane, flag: ca.SX, k: int, moved: ca.SX) -> Lane:
        """A lane with what arrives at one of its held values; sensitivities jump where the instant moves."""
        held = ca.SX(lane["held"])
        held[k] = held[k] + flag * (lane["waiting"][k] - held[k])
        delivered = lane.put(held=held)
        if not self.count:
            return delivered
        rates = ca.reshape(ca.SX(lane["held rates"]), self.slots.held, self.count)
        waiting = ca.reshape(lane["waiting rates"], self.slots.held, self.count)
        rates[k, :] = rates[k, :] + flag * (waiting[k, :] - rates[k, :])
        delivered = delivered.put(held_rates=ca.vec(rates))
        if moved[k, :].is_zero():
            return delivered
        before, after = (self._find_slope(one) for one in (lane, delivered))
        jump = flag * ca.mtimes(before - after, moved[k, :])
        state = ca.SX(delivered.state)
        states = len(self.system.states)
        state[:states, 1:] = state[:states, 1:] + jump
        return replace(delivered, state=state)

    def _find_slope(self, lane: Lane) -> ca.SX:
        """dX/dt where a step begins."""
        return self._evaluate_start(lane, lambda side, v: side.evaluate("derivative", v))

    def _evaluate_start(self, lane: Lane, evaluate: Callable[[Side, Moving], ca.SX]) -> ca.SX:
        """A function where a step begins, of the system that a lane follows."""
        force, results = self._interpolate(ca.SX(0)), []
        for side in (self.plain, self.sliding) if self.sliding else (self.plain,):
            v = side.solve(side.enter(lane, self._enter_moving(lane, self.shared[0]), force))
            results.append(evaluate(side, v))
        return select(lane["stuck"] > 0, results[1], results[0]) if self.sliding else results[0]

    def _sample(self, lane: Lane, taken: ca.SX, moved: ca.SX) -> Lane:
        """A lane with the operands where samples are taken."""
        values = self._evaluate_start(lane, lambda side, v: side.evaluate("samples", v))
        sampled = lane.put(waiting=lane["waiting"] + taken * (values - lane["waiting"]))
        if not self.count:
            return sampled
        rates = self._evaluate_start(lane, lambda side, v: side.discretization.functions.differentiate("samples", v))
        if not moved.is_zero():
            wdot = self._interpolate(ca.SX(0)).wdot
            rise = self._evaluate_start(lane, lambda side, v: side.compute_rates("samples", v, wdot))
            rates = rates + ca.repmat(rise, 1, self.count) * moved
        many, waiting = ca.repmat(taken, self.count, 1), lane["waiting rates"]
        return sampled.put(waiting_rates=waiting + many * (ca.vec(rates) - waiting))

    @property
    def _prompt(self) -> list[bool]:
        """Which held values arrive as soon as they are sampled."""
        return [meaning.delay.sx.is_zero() for meaning in self._clocks]

    @cached_property
    def _depth(self) -> int:
        """How many holds feed one another at most."""
        switching = self.system.reduction.switching
        assert switching is not None
        return (
            len(switching.held)
            if any(
                name in [leaf.name() for leaf in ca.symvar(operand)]
                for name in switching.held
                for operand in switching.held.values()
            )
            else 1
        )

    def _enter_moving(self, lane: Lane, t: ca.SX) -> Moving:
        none = ca.SX(self.symbols, 1)
        return self._make_moving(t, none, ca.SX(self.symbols, self.count), lane.state)

    def _fill(self, side: Side, lane: Lane, force: Force) -> tuple[ca.SX, ca.SX]:
        return side.fill(force.w, force.wdot, lane), side.fill_rates(force.dw, lane)

    @cached_property
    def _tables(self) -> list[ca.SX]:
        return [self._read_forcing(way) for way in range(1 + self.count)]

    def _read_force(self, node: int) -> Force:
        """What drives the system at a node of the whole step."""
        columns = [table[:, node] for table in self._tables]
        return Force(
            columns[0], self._join_columns(columns[1:]), self._interpolate(ca.SX(float(self.nodes[node]))).wdot
        )

    def _read_end(self) -> Force:
        ends = [self._read_end_forcing(way) for way in range(1 + self.count)]
        return Force(ends[0], self._join_columns(ends[1:]), self._interpolate(ca.SX(1)).wdot)

    def _interpolate(self, position: ca.SX) -> Force:
        """Between the nodes of the whole step, by the polynomial through them."""
        weights, slopes = make_lagrange(self.nodes, position)
        columns = [ca.mtimes(table, weights) for table in self._tables]
        return Force(columns[0], self._join_columns(columns[1:]), ca.mtimes(self._tables[0], slopes) / self.shared[1])

    def _make_function(self, name: str, result: ca.SX) -> ca.Function:
        return ca.Function(name, [self.start.vector, self.parameters, self.shared, self.lane], [result])

    def _write_turn(self, code: int, result: Lane, restarts: bool) -> Turn:
        arguments = [self.start.vector, self.reached.vector, self.parameters, self.shared, self.lane]
        return Turn(code, read_tape(ca.Function("turn", arguments, [result.vector])), restarts)


@dataclass(frozen=True, eq=False)
class _After:
    """Tops and rates behind a crossing."""

    top: ca.SX
    rates: ca.SX


def make_lagrange(nodes: np.ndarray, position: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Weights of the values at the nodes that give a polynomial, and its slope, at a position."""
    symbol = ca.SX.sym("position")
    weights = []
    for i, node in enumerate(nodes):
        factors = [(symbol - float(other)) / float(node - other) for j, other in enumerate(nodes) if j != i]
        product = ca.SX(1)
        for factor in factors:
            product = product * factor
        weights.append(product)
    both = [ca.vertcat(*weights), ca.jacobian(ca.vertcat(*weights), symbol)]
    values, slopes = ca.Function("lagrange", [symbol], both)(position)
    return values, slopes


def _make_sliding_side(system: System, sliding: Sliding, shape: Shape, point: Point, step: float) -> Side:
    plain = dict(zip(system.reduction.exogenous, point.exogenous.tolist(), strict=True))
    w = np.array([plain.get(name, 0.0) for name in sliding.reduction.exogenous])
    w[-len(sliding.places) :] = 1.0
    there = replace(point, tops=np.r_[point.tops, np.zeros(len(sliding.places))], exogenous=w)
    discretization = Discretization(sliding.reduction, shape.method, there, step, len(sliding.places))
    return Side(system, sliding.reduction, discretization, sliding.places)


def compile_switching(
    system: System,
    shape: Shape,
    point: Point,
    step: float,
    known: tuple[int, ...],
    noisy: tuple[int, ...],
    row: GridRow,
) -> Program:
    """The program of a system with switches or held values."""
    builder = SwitchingBuilder(system, shape, point, step, known, noisy, row)
    wanted = stack_observed(system.reduction, shape.wanted)
    advance, observation, detours = builder.step(), builder.observe(wanted), builder.make_detours()
    sliding = find_sliding(system) if builder.slots.slides else None
    while_sliding = stack_observed(sliding.reduction, shape.wanted) if sliding else None
    if while_sliding is not None:
        seen = builder.observe_sliding(while_sliding)
        detours = detours._replace(apart=builder.slots.locate("stuck"), observe=read_tape(seen))
    kernel = compile_scan(advance, observation, detours=detours)
    first = builder.observe_first(wanted, while_sliding)
    size = builder.discretization.size
    prelude = builder.prelude if builder.slots.held else None
    instructions = advance.n_instructions()
    return Program(shape, kernel, first, instructions, size, known, noisy, builder.slots, prelude)
