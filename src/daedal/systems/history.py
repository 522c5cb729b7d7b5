"""Where histories end: the start of unknowns for which `initial` says nothing else."""

from dataclasses import replace
from itertools import count

import casadi as ca
import numpy as np

from daedal.symbolic import Expression, intern_symbol, name_derivative
from daedal.systems.initialization import find_places
from daedal.systems.system import System


def start_from_history(system: System, start: float) -> System:
    """The system with its unknowns at the start as their history ends, where `initial` says nothing else.

    Unknowns that the equations determine at each instant, or that constraints tie, are only hinted at.
    """
    ends = _ends(system, start)
    if not ends:
        return system
    where = find_places(system, ends)
    free = not system.reduction.constraints
    held = {
        name: value for name, value in ends.items() if free and where.get(name, (np.inf, 1))[0] < len(system.states)
    }
    hints = {name: value for name, value in ends.items() if name not in held}
    return replace(system, model=system.model.with_guess(hints).with_initial(held))


def _ends(system: System, start: float) -> dict[str, Expression]:
    """Where histories end, with the derivatives that are states, but for what `initial` says."""
    model, time = system.model, intern_symbol("time").sx
    laws = {name: value.sx for name, value in model.history.items() if name in model.unknown_names}
    ends = {name: sx for name, sx in laws.items() if name not in model.initial}
    states = {system.reduction.name_jet(state) for state in system.reduction.states}
    for name, law in laws.items():
        sx = law
        for order in count(1):
            own = name_derivative(name, order)
            if own not in states:
                break
            sx = ca.densify(ca.jacobian(sx, time))
            # Under another name it may have a history of its own.
            known = {place for place, _ in find_places(system, [*model.initial, *ends]).values()}
            if find_places(system, [own])[own][0] not in known:
                ends[own] = sx
    return {name: Expression(ca.substitute(sx, time, ca.SX(start))) for name, sx in ends.items()}
