"""Sliding: motion on a switching surface, the mode itself becoming an unknown.

Where both sides push a trajectory back onto g = 0 (dry friction that sticks), it stays there. Its mode m is then what
keeps it there, Filippov's equivalent control where the equations are linear in m, as forces times a sign are. One
unknown and one equation are added for every switch that may slide,

    s · dg/dt + (1 − s)(m − o) = 0,

with o = ±1 the side and s = 1 while sliding, both data of a trajectory. For g of states dg/dt contains the tops only,
so that offsets and index stay as they are, and solving, projecting and differentiating work as for any other system.

A switch may slide if its equations jump, if g contains no top, held or delayed value, and if m acts on dg/dt
(relative degree one); other switches only change sides.

References: A. F. Filippov, Differential Equations with Discontinuous Righthand Sides (1988); V. I. Utkin, Sliding Modes
in Control and Optimization (1992).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daedal.analysis import Alias, Offsets
from daedal.symbolic import Delayed, differentiate, find_operator, intern_symbol, jet, list_symbols, stack_symbols
from daedal.systems.reduction import Reduction, prolong
from daedal.systems.system import System, sample_points

ACTS = 1e-9  # of its terms: an effect of m on dg/dt below this is none


@dataclass(frozen=True, eq=False)
class Sliding:
    """The system in which some switches may slide.

    Attributes
    ----------
    places
        Which switches may.
    reduction
        Its tops are those of the plain system and then the controls m; its modes those of the plain system and then s.
    rivals
        Pairs of places that must not slide together, because their modes multiply each other.
    """

    places: tuple[int, ...]
    reduction: Reduction
    rivals: frozenset[tuple[int, int]]

    @property
    def flags(self) -> tuple[str, ...]:
        """Symbols of s."""
        return self.reduction.equations.modes[-len(self.places) :]


def find_sliding(system: System) -> Sliding | None:
    """What may slide in a system; None where nothing can. Made once for all values."""
    compiled = system.reduction.compiled
    if "sliding" not in compiled:
        compiled["sliding"] = _find_sliding(system)
    return compiled["sliding"]


def _find_sliding(system: System) -> Sliding | None:
    plain = system.reduction
    assert plain.switching is not None
    candidates = [place for place in range(len(plain.switching.switches)) if _is_candidate(system, place)]
    if not candidates:
        return None
    points = sample_points(system.model, plain, vary_parameters=True)
    blended = _make_reduction(plain, candidates)
    acting = [place for k, place in enumerate(candidates) if _acts(blended, len(candidates), k, points)]
    if not acting:
        return None
    reduction = blended if acting == candidates else _make_reduction(plain, acting)
    return Sliding(tuple(acting), reduction, _find_rivals(reduction, acting))


def _is_candidate(system: System, place: int) -> bool:
    """Whether a function is one of states, whose rate the tops determine."""
    plain = system.reduction
    assert plain.switching is not None
    switch, modes = plain.switching.switches[place], {other.mode for other in plain.switching.switches}
    highest = dict(zip(plain.equations.unknowns, plain.offsets.unknowns.tolist(), strict=True))
    if not switch.jumps or any(switch.mode in list_symbols(g) for g in plain.switching.formulas):
        return False
    unwanted = set(plain.switching.held)
    states = False
    for name in list_symbols(switch.function):
        base, order = jet(name)
        if base in unwanted or isinstance(find_operator(base), Delayed):
            return False
        if base in highest:
            states = True
            if order >= highest[base]:
                return False
    return states and not modes.intersection(list_symbols(switch.function)).difference({switch.mode})


def _make_reduction(plain: Reduction, places: Sequence[int]) -> Reduction:
    """The plain system with a control and a row for each of some switches."""
    switching, equations = plain.switching, plain.equations
    assert switching is not None
    switches = [switching.switches[place] for place in places]
    controls = [f"control {place + 1}" for place in places]
    flags = tuple(f"sliding {place + 1}" for place in places)
    residuals, observed = switching.blend(places)
    old = stack_symbols(switch.mode for switch in switches)
    residuals, observed = ca.substitute([residuals, observed], [old], [stack_symbols(controls)])
    constants = equations.constants.union(flags)
    rows = []
    for switch, control, flag in zip(switches, controls, flags, strict=True):
        m, o, s = (intern_symbol(name).sx for name in (control, switch.mode, flag))
        rows.append(s * differentiate(switch.function, constants) + (1 - s) * (m - o))
    extended = replace(
        equations,
        names=(*equations.names, *(f"sliding on {switch.text}" for switch in switches)),
        residuals=ca.vertcat(residuals, *rows),
        unknowns=(*equations.unknowns, *controls),
        constants=constants,
        modes=(*equations.modes, *flags),
    )
    none = np.zeros(len(places), dtype=int)
    c, d = plain.offsets.equations, plain.offsets.unknowns
    offsets = Offsets(np.concatenate([c, none]), np.concatenate([d, none]))
    seen = dict(zip(plain.observed, ca.vertsplit(observed), strict=True))
    named = {f"side of {s.text}": Alias(control, 0, 1) for s, control in zip(switches, controls, strict=True)}
    return prolong(extended, offsets, {**plain.aliases, **named}, seen, plain.repairs, switching)


def _acts(blended: Reduction, count: int, k: int, points: list[list[np.ndarray]]) -> bool:
    """Whether control k moves its function, the other controls being held: dg/dt by T · J⁻¹ top by m."""
    tops, rows = len(blended.tops) - count, blended.top.shape[0] - count
    function = ca.Function("effect", blended.arguments, [blended.J])
    exogenous = blended.exogenous
    for time, states, top, parameters, w in points:
        filled = np.ones(len(exogenous))
        filled[: w.size - count] = 0.0
        filled[-len(blended.equations.modes) :] = np.sign(
            np.random.default_rng(k).normal(size=len(blended.equations.modes))
        )
        filled[-count:] = 1.0
        matrix = function(time, states, np.r_[top, np.zeros(count)], parameters, filled).full()
        J, effect, rate = matrix[:rows, :tops], matrix[:rows, tops + k], matrix[rows + k, :tops]
        if not np.isfinite(matrix).all() or np.linalg.matrix_rank(J) < tops:
            continue
        reaction = np.linalg.solve(J, effect)
        if abs(rate @ reaction) > ACTS * (np.abs(rate) @ np.abs(reaction)) and abs(rate @ reaction) > 0.0:
            return True
    return False


def _find_rivals(reduction: Reduction, places: list[int]) -> frozenset[tuple[int, int]]:
    controls = stack_symbols(reduction.equations.unknowns[-len(places) :])
    rivals = set()
    for i, place in enumerate(places):
        slope = ca.jacobian(reduction.equations.residuals, controls[i])
        for k in range(i + 1, len(places)):
            if ca.depends_on(slope, controls[k]):
                rivals.add((place, places[k]))
    return frozenset(rivals)
