"""A system with its switching functions: the plain one, or the one in which some switches may slide.

The margin of a switch is what must not become negative: o g on the side o of its function g, and 1 − |m| while it
slides with the control m. Along the flow X' = f and T' = −J⁻¹ (top_t + top_X f + top_w w').
"""

import casadi as ca

from daedal.linear import factorize
from daedal.simulation.steps.discretization import Discretization
from daedal.simulation.steps.lane import Force, Lane
from daedal.simulation.steps.tangents import Moving
from daedal.symbolic import jet
from daedal.systems import SYSTEM_FUNCTIONS, Reduction, System

LOST = 1e-6  # of a step: the time a control would need to bring back what has left its border before it
DRIFT = 0.1  # of a step: the same for what has drifted away within it


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
        functions.define("g_X", ca.jacobian(g, reduction.X))
        functions.define("margin", margin)
        functions.define("size", SYSTEM_FUNCTIONS["switch_sizes"](reduction))
        functions.define("table_arguments", SYSTEM_FUNCTIONS["table_arguments"](system.reduction))
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
        known |= {name: lane["levels"][i] for i, name in enumerate(switching.levels)}
        flags = self.reduction.equations.modes[len(self.system.reduction.equations.modes) :]
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

    def enter(self, lane: Lane, moving: Moving, force: Force) -> Moving:
        """A lane at a place where its forcing is known: values of this system, T as guessed."""
        controls = lane["controls"] if self.slides else ca.SX(0, 1)
        size = len(self.slides)
        return moving.at(
            top=ca.vertcat(moving.top, controls),
            dtop=ca.vertcat(moving.dtop, ca.SX.zeros(size, moving.directions)),
            w=self.fill(force.w, force.wdot, lane),
            dw=self.fill_rates(force.dw, lane),
        )

    def fill_both(self, lane: Lane, force: Force) -> tuple[ca.SX, ca.SX]:
        """Exogenous values, and their derivatives in the free directions."""
        return self.fill(force.w, force.wdot, lane), self.fill_rates(force.dw, lane)

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

    def measure(self, v: Moving) -> ca.SX:
        """The size of margins: of the terms of g, or one for a control."""
        size = ca.SX(self.evaluate("size", v))
        for k, place in enumerate(self.slides):
            flag = v.w[v.w.shape[0] - len(self.slides) + k]
            size[place] = flag + (1 - flag) * size[place]
        return size

    def find_lost(self, v: Moving, length: ca.SX, jumping: list[bool]) -> ca.SX:
        """Which switches slide although their function has left its border, because something in it has jumped.

        That is told by the time in which their control would bring it back.
        """
        lost = ca.SX.zeros(len(self.switches))
        if not any(jumping[place] for place in self.slides):
            return lost
        g = self.evaluate("g", v)
        for k, (place, _, acted) in enumerate(self._find_effects(v)):
            flag = v.w[v.w.shape[0] - len(self.slides) + k]
            away = ca.fabs(g[place]) > LOST * length * ca.fabs(acted)
            lost[place] = ca.logic_and(flag, away) if jumping[place] else 0
        return lost

    def remove_drift(self, lane: Lane, v: Moving, length: ca.SX) -> Moving:
        """X back on the surfaces on which the lane slides, along what their controls act on: X −= S_m/(g_X S_m) g.

        In this order a g that is one state becomes exactly zero: its share of S_m/(g_X S_m) is exactly one.
        """
        functions = self.discretization.functions
        for k, (place, effect, acted) in enumerate(self._find_effects(v)):
            g, dg = self.evaluate("g", v)[place], functions.differentiate("g", v)[place, :]
            drifted = ca.logic_and(lane["sliding"][k], ca.fabs(g) < DRIFT * length * ca.fabs(acted))
            shares = ca.if_else(drifted, effect / ca.if_else(acted == 0, 1, acted), 0)
            v = v.at(x=v.x - shares * g, dx=v.dx - ca.mtimes(shares, dg))
        return v

    def _find_effects(self, v: Moving) -> list[tuple[int, ca.SX, ca.SX]]:
        """For each switch that may slide its place, the effect S_m of its control on X', and g_X S_m."""
        r = self.reduction
        count = len(r.tops) - len(self.slides)
        J = self.evaluate("J", v)
        numbers = self.discretization.numbers["J"]
        factors = factorize(J[:count, :count], numbers[..., :count, :count])
        shift = ca.jacobian(r.shift, r.T)[:, :count]
        slopes = self.evaluate("g_X", v)
        effects = [ca.mtimes(shift, -factors.solve(ca.densify(J[:count, count + k]))) for k in range(len(self.slides))]
        return [
            (place, effect, ca.mtimes(slopes[place, :], effect))
            for place, effect in zip(self.slides, effects, strict=True)
        ]
