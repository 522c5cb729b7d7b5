"""Sliding: motion on a switching surface, the mode itself becoming an unknown.

Where both sides push a trajectory back onto g = 0 (dry friction that sticks), it stays there. Its mode m is then what
keeps it there, Filippov's equivalent control where the equations are linear in m, as forces times a sign are. One
unknown and one equation are added for every switch that may slide,

    s · (dg/dt − ε m) + (1 − s)(m − o) = 0,

with o = ±1 the side and s = 1 while sliding, both data of a trajectory. For g of states dg/dt contains the tops only,
so that offsets and index stay as they are, and solving, projecting and differentiating work as for any other system.

Where another change takes the effect of m on dg/dt away (a brake is released), m becomes dg/dt/ε, far beyond ±1, and
the trajectory leaves to the side to which g moves; ε is too small to be seen otherwise.

A switch may slide if its equations jump, if g contains no top, held or delayed value, and if m acts on dg/dt
(relative degree one); other switches only change sides.

References: A. F. Filippov, Differential Equations with Discontinuous Righthand Sides (1988); V. I. Utkin, Sliding Modes
in Control and Optimization (1992).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from daedal.analysis import Alias, Offsets
from daedal.symbolic import Delayed, differentiate, find_operator, intern_symbol, jet, list_symbols, stack_symbols
from daedal.systems.reduction import Reduction, prolong
from daedal.systems.regularity import find_rank
from daedal.systems.switching import Switch
from daedal.systems.system import System, sample_points

LOST = 1e-14  # of the effect of m on dg/dt: ε
DRAWS = 6  # of other modes, in which an effect is looked for
LEVELS = 12  # draws more where there are tables
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
    inside = {name for formula in plain.switching.formulas for name in list_symbols(formula)}
    modes = {switch.mode for switch in plain.switching.switches}
    candidates = [
        place
        for place, switch in enumerate(plain.switching.switches)
        if switch.jumps and switch.mode not in inside and _is_candidate(plain, switch, modes)
    ]
    if not candidates:
        return None
    points = sample_points(system.model, plain, vary_parameters=True)
    blended = _make_reduction(plain, dict.fromkeys(candidates, 0.0))
    effects = dict(zip(candidates, _find_effects(blended, len(candidates), points), strict=True))
    acting = [place for place, effect in effects.items() if effect > 0.0]
    if not acting:
        return None
    reduction = _make_reduction(plain, {place: LOST * effects[place] for place in acting})
    return Sliding(tuple(acting), reduction, _find_rivals(reduction, acting))


def _is_candidate(plain: Reduction, switch: Switch, modes: set[str]) -> bool:
    """Whether a function is one of states, whose rate the tops determine."""
    assert plain.switching is not None
    highest = dict(zip(plain.equations.unknowns, plain.offsets.unknowns.tolist(), strict=True))
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
    return states and modes.isdisjoint(list_symbols(switch.function))


def _make_reduction(plain: Reduction, lost: Mapping[int, float]) -> Reduction:
    """The plain system with a control and a row for each of some switches; `lost` gives ε of each."""
    places = list(lost)
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
        rate = differentiate(switch.function, constants) - lost[places[controls.index(control)]] * m
        rows.append(s * rate + (1 - s) * (m - o))
    extended = replace(
        equations,
        names=(*equations.names, *(switch.text for switch in switches)),
        residuals=ca.vertcat(residuals, *rows),
        unknowns=(*equations.unknowns, *controls),
        constants=constants,
        modes=(*equations.modes, *flags),
    )
    none = np.zeros(len(places), dtype=int)
    c, d = plain.offsets.equations, plain.offsets.unknowns
    offsets = Offsets(np.concatenate([c, none]), np.concatenate([d, none]))
    seen = dict(zip(plain.observed, ca.vertsplit(observed), strict=True))
    named = {
        f"side of {s.text} ({s.mode})": Alias(control, 0, 1) for s, control in zip(switches, controls, strict=True)
    }
    return prolong(extended, offsets, {**plain.aliases, **named}, seen, plain.repairs, switching)


def _find_effects(blended: Reduction, count: int, points: list[list[np.ndarray]]) -> list[float]:
    """How each control moves its function, the others being held: dg/dt by T · J⁻¹ top by m; 0 where not."""
    tops, rows = len(blended.tops) - count, blended.top.shape[0] - count
    function = ca.Function("effect", blended.arguments, [blended.J])
    rng, modes = np.random.default_rng(0), len(blended.equations.modes)
    draws = [np.ones(modes), -np.ones(modes), *rng.choice([-1.0, 1.0], (DRAWS, modes))]
    assert blended.switching is not None
    names = blended.equations.modes
    levels = [(names.index(table.level), table.borders.size) for table in blended.switching.tables]
    draws += [rng.choice([-1.0, 1.0], modes) for _ in range(LEVELS if levels else 0)]
    for sides in draws:
        for place, most in levels:
            sides[place] = rng.integers(0, most + 1)
    largest = [0.0] * count
    for time, states, top, parameters, _ in points:
        for sides in draws:
            others = rng.uniform(-1.0, 1.0, len(blended.exogenous) - modes)
            w = np.concatenate([others, sides[: modes - count], np.ones(count)])
            matrix = function(time, states, np.r_[top, np.zeros(count)], parameters, w).full()
            J = matrix[:rows, :tops]
            if not np.isfinite(matrix).all() or find_rank(J).rank < tops:
                continue
            for k in range(count):
                effect, rate = matrix[:rows, tops + k], matrix[rows + k, :tops]
                reaction = np.linalg.solve(J, effect)
                if abs(rate @ reaction) > ACTS * (np.abs(rate) @ np.abs(reaction)):
                    largest[k] = max(largest[k], float(abs(rate @ reaction)))
    return largest


def _find_rivals(reduction: Reduction, places: list[int]) -> frozenset[tuple[int, int]]:
    controls = stack_symbols(reduction.equations.unknowns[-len(places) :])
    rivals = set()
    for i, place in enumerate(places):
        slope = ca.jacobian(reduction.equations.residuals, controls[i])
        _, columns = ca.jacobian_sparsity(slope, controls).get_triplet()
        rivals.update((place, places[k]) for k in set(columns) if k > i)
    return frozenset(rivals)
