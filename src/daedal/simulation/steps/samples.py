"""Held values: samples taken and delivered at instants that all lanes share.

    q ← e,  dq ← de + ė dt_k/dθ          when a sample is taken at t_k
    z ← q,  dz ← dq                      when it arrives, at t_k + d, with S⁺ = S⁻ + (f⁻ − f⁺) d(t_k + d)/dθ

What arrives at an instant does so before anything is sampled there; a sample that arrives when it is taken, right after
it. Holds of holds are gone through as often as there may be one behind the other.
"""

from collections.abc import Callable

import casadi as ca

from daedal.simulation.steps.lane import Force, Lane, select
from daedal.simulation.steps.pieces import Pieces
from daedal.simulation.steps.sides import Side
from daedal.simulation.steps.tangents import Moving
from daedal.symbolic import Held, find_operator

COLUMNS = 4  # for each held value: whether a sample is taken, whether one arrives, and the numbers of both


class Samples:
    """What happens to the held values of lanes at one instant."""

    def __init__(self, pieces: Pieces, sides: tuple[Side, Side | None], t: ca.SX, force: Force, marks: ca.SX) -> None:
        self.pieces, self.t, self.force = pieces, t, force
        self.plain, self.sliding = sides
        self.count, self.directions = pieces.slots.held, pieces.slots.directions
        self._marks = ca.vertsplit(marks, [self.count * part for part in range(COLUMNS + 1)])

    def happen(self, lane: Lane) -> Lane:
        """A lane after what arrives and what is sampled."""
        taken, arrives, sampled, arrived = self._marks
        periods, delays = self._differentiate_clocks(lane)
        late = ca.repmat(sampled, 1, self.directions) * periods
        later = ca.repmat(arrived, 1, self.directions) * periods + delays  # how instants move in each direction
        prompt = taken * arrives * (arrived == sampled)
        for k in range(self.count):
            lane = self._deliver(lane, arrives[k] * (1 - prompt[k]), k, later[k, :])
        for _ in range(self._depth):
            lane = self._sample(lane, taken, late)
            for k in range(self.count):
                lane = self._deliver(lane, prompt[k], k, later[k, :])
        return lane

    def _differentiate_clocks(self, lane: Lane) -> tuple[ca.SX, ca.SX]:
        """How periods and delays move in the free directions, (held, direction)."""
        symbols = self.pieces.system.reduction.arguments[3]
        at = self.pieces.enter(self.plain, lane, self.t, self.force)

        def differentiate(amounts: list[ca.SX]) -> ca.SX:
            gradient = ca.jacobian(ca.vertcat(*amounts), symbols)
            return ca.mtimes(ca.substitute(gradient, symbols, at.p), at.dp)

        clocks = [meaning for meaning in map(find_operator, self._held) if isinstance(meaning, Held)]
        return differentiate([clock.every.sx for clock in clocks]), differentiate([clock.delay.sx for clock in clocks])

    @property
    def _held(self) -> dict[str, ca.SX]:
        switching = self.pieces.system.reduction.switching
        assert switching is not None
        return dict(switching.held)

    @property
    def _depth(self) -> int:
        """How many holds there may be one behind the other."""
        inside = {leaf.name() for operand in self._held.values() for leaf in ca.symvar(operand)}
        return len(self._held) if inside.intersection(self._held) or self.plain.reduction.T.shape[0] else 1

    def _deliver(self, lane: Lane, flag: ca.SX, k: int, moved: ca.SX) -> Lane:
        """A lane with what arrives at one of its held values; sensitivities jump where the instant moves."""
        held = ca.SX(lane["held"])
        held[k] = held[k] + flag * (lane["waiting"][k] - held[k])
        delivered = lane.put(held=held)
        if not self.directions:
            return delivered
        rates, waiting = (
            ca.reshape(ca.SX(lane[name]), self.count, self.directions) for name in ("held rates", "waiting rates")
        )
        rates[k, :] = rates[k, :] + flag * (waiting[k, :] - rates[k, :])
        delivered = delivered.put(held_rates=ca.vec(rates))
        if moved.is_zero():
            return delivered
        before, after = (
            self._evaluate(one, lambda side, v: side.evaluate("derivative", v)) for one in (lane, delivered)
        )
        moving = delivered.put(moved=lane["moved"] + flag * (moved.T - lane["moved"]))
        return moving.shift_rates(flag * ca.mtimes(before - after, moved))

    def _sample(self, lane: Lane, taken: ca.SX, moved: ca.SX) -> Lane:
        """A lane with the operands where samples are taken."""
        values = self._evaluate(lane, lambda side, v: side.evaluate("samples", v))
        sampled = lane.put(waiting=lane["waiting"] + taken * (values - lane["waiting"]))
        if not self.directions:
            return sampled
        rates = self._evaluate(lane, lambda side, v: side.discretization.functions.differentiate("samples", v))
        if not moved.is_zero():
            rise = self._evaluate(lane, lambda side, v: side.compute_rates("samples", v, self.force.wdot))
            rates = rates + ca.repmat(rise, 1, self.directions) * moved
        many, waiting = ca.repmat(taken, self.directions, 1), lane["waiting rates"]
        return sampled.put(waiting_rates=waiting + many * (ca.vec(rates) - waiting))

    def _evaluate(self, lane: Lane, evaluate: Callable[[Side, Moving], ca.SX]) -> ca.SX:
        """A function at the instant, of the system that a lane follows."""

        def solve(side: Side) -> ca.SX:
            return evaluate(side, side.solve(self.pieces.enter(side, lane, self.t, self.force)))

        if self.sliding is None:
            return solve(self.plain)
        return select(lane["stuck"] > 0, solve(self.sliding), solve(self.plain))
