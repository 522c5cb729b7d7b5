"""The delays of a system: which delayed values belong together, how long they are, and how kinks come back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from daedal.errors import SimulationError
from daedal.simulation.delays.history import Past, evaluate_delayed_input
from daedal.simulation.forcing import Forcing
from daedal.simulation.lanes import Values
from daedal.symbolic import BufferedFunction, list_symbols
from daedal.systems import Reduction, System

DEPTH = 1000  # to which two formulas are compared


@dataclass(frozen=True)
class Group:
    """Delayed values with the same delay, all of inputs or all of what is computed."""

    names: tuple[str, ...]
    of_input: bool


@dataclass(frozen=True, eq=False)
class Lags:
    """The delays at one set of values: lengths (group,), their rates (group, direction), and what was before."""

    groups: tuple[Group, ...]
    amounts: np.ndarray
    rates: np.ndarray
    pasts: Mapping[str, Past]

    @property
    def reach(self) -> float:
        """The shortest delay of something that is computed."""
        return min(
            (a for a, group in zip(self.amounts, self.groups, strict=True) if not group.of_input), default=np.inf
        )

    def find_group(self, name: str) -> int:
        """The group that a delayed value belongs to."""
        return next(k for k, group in enumerate(self.groups) if name in group.names)


def find_lags(system: System, pasts: Mapping[str, Past], parameters: np.ndarray, rates: np.ndarray) -> Lags:
    """Lengths of all delays; negative ones are refused. `rates` is dp/dθ as (parameter, direction)."""
    groups = group_delays(system, pasts)
    lengths = _compile_amounts(system.reduction, groups).matrix(parameters)
    for group, amount in zip(groups, lengths[:, 0], strict=True):
        if not amount > 0.0:
            raise SimulationError(
                f"The delay in '{group.names[0]}' of model '{system.model.name}' is {amount:g}, but must be positive.",
                "Bound it from below; without any delay, write the undelayed value in the equations.",
            )
    return Lags(groups, lengths[:, 0], lengths[:, 1:] @ rates, pasts)


def find_lags_at(system: System, pasts: Mapping[str, Past], values: Values) -> Lags:
    """The delays at one set of values, with their rates in the free directions."""
    return find_lags(system, pasts, values.column[: values.rates.shape[0]], values.rates)


def look_back_from_start(
    system: System, forcing: Forcing, pasts: Mapping[str, Past], parameters: np.ndarray
) -> dict[int, float]:
    """Delayed values at the start, by their places: from the history, or of an input that is known earlier."""
    lags = find_lags(system, pasts, parameters, np.zeros((parameters.size, 0)))
    known = {}
    for place, name in enumerate(system.reduction.exogenous):
        if name not in pasts:
            continue
        past, when = pasts[name], np.array([[forcing.start - lags.amounts[lags.find_group(name)]]])
        if past.input is None:
            value = past.at(when, parameters)[0]
        else:
            value, _, _ = evaluate_delayed_input(past, forcing.signals[past.input[0]], when, when[0], parameters)
        known[place] = float(value[0, 0])
    return known


def group_delays(system: System, pasts: Mapping[str, Past]) -> tuple[Group, ...]:
    """Delayed values whose delays are the same formula."""
    known, delays = system.reduction.compiled, system.reduction.delays
    if "groups of delays" not in known:
        groups: list[tuple[Any, bool, list[str]]] = []
        for name, delayed in delays.items():
            of_input = pasts[name].input is not None
            for amount, other, names in groups:
                if other == of_input and ca.is_equal(amount, delayed.amount.sx, DEPTH):
                    names.append(name)
                    break
            else:
                groups.append((delayed.amount.sx, of_input, [name]))
        known["groups of delays"] = tuple(Group(tuple(names), of_input) for _, of_input, names in groups)
    return known["groups of delays"]


def _compile_amounts(reduction: Reduction, groups: tuple[Group, ...]) -> BufferedFunction:
    """Parameters → lengths of the delays of all groups, and beside them their gradients."""
    known, p = reduction.compiled, reduction.arguments[3]
    if "lengths of delays" not in known:
        column = ca.vertcat(*(reduction.delays[group.names[0]].amount.sx for group in groups))
        function = ca.Function("lengths", [p], [ca.horzcat(column, ca.jacobian(column, p))])
        known["lengths of delays"] = BufferedFunction(function)
    return known["lengths of delays"]


def classify_kinks(system: System) -> tuple[bool, int]:
    """Whether kinks never become smooth, and how often they come back before the right side no longer jumps.

    They stay where a delayed value contains what is solved for at each instant; a delay of a delay brings one back once
    more.
    """
    known = system.reduction.compiled
    if "kinks" not in known:
        delays = system.reduction.delays
        tops = {system.reduction.name_jet(top) for top in system.reduction.tops}
        lasting = any(set(list_symbols(delayed.operand)) & tops for delayed in delays.values())
        known["kinks"] = lasting, max(_count_nesting(system, name) for name in delays)
    return known["kinks"]


def _count_nesting(system: System, name: str) -> int:
    """How many delays a delayed value passes: 2 for a delay of a delay."""
    delays = system.reduction.delays
    inner = [symbol for symbol in list_symbols(delays[name].operand) if symbol in delays]
    return 1 + max((_count_nesting(system, symbol) for symbol in inner), default=0)
