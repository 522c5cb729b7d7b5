"""How consistent initial values move with the parameters: the derivative of the solution of F(z, p, w) = 0.

    ∂F/∂z_free dz_free = −(∂F/∂p dp + ∂F/∂w dw + ∂F/∂z_held dz_held),

where dz_held follows from the expressions given in `initial`, and in `guess` for freedom that was left open.
"""

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from daedal.models import parameter_values
from daedal.symbolic import Expression, interned
from daedal.systems.initialization import InitialValues, places
from daedal.systems.system import System


def initial_sensitivities(
    system: System,
    start: InitialValues,
    time: float,
    values: Mapping[Any, float] | None,
    exogenous: np.ndarray,
    directions: np.ndarray,
    exogenous_directions: np.ndarray,
) -> np.ndarray:
    """dz for each column of `directions` (parameters × directions) and `exogenous_directions`, as (z, directions)."""
    parameters = system.parameter_vector(values)
    arguments = [time, start.states, start.tops, parameters, exogenous]
    by_z = system.function("consistency_jacobian")(*arguments).full()
    rest = _other_jacobians(system)
    by_p, by_w = (block.full() for block in rest(*arguments))
    result = np.zeros((by_z.shape[1], directions.shape[1]))
    held = _held_rates(system, start, values, directions)
    for place, rates in held.items():
        result[place] = rates
    fixed = np.array(sorted(held), dtype=int)
    free = np.setdiff1d(np.arange(by_z.shape[1]), fixed)
    right = -(by_p @ directions + by_w @ exogenous_directions + by_z[:, fixed] @ result[fixed])
    result[free] = np.linalg.lstsq(by_z[:, free], right, rcond=1e-12)[0] if free.size else result[free]
    return result


def _other_jacobians(system: System) -> ca.Function:
    compiled = system.reduction.compiled
    if "consistency by parameters" not in compiled:
        _, _, _, p, w = system.reduction.arguments
        equations = ca.vertcat(system.reduction.G, system.reduction.top)
        blocks = [ca.jacobian(equations, p), ca.jacobian(equations, w)]
        compiled["consistency by parameters"] = ca.Function("by_parameters", system.reduction.arguments, blocks)
    return compiled["consistency by parameters"]


def _held_rates(
    system: System, start: InitialValues, values: Mapping[Any, float] | None, directions: np.ndarray
) -> dict[int, np.ndarray]:
    """Derivatives of what is held: by `initial`, and by `guess` where freedom was open."""
    model = system.model
    where = places(system, {**model.guess, **model.initial})
    names = (*system.states, *system.tops)
    opened = {names.index(name) for name in start.open}
    rates: dict[int, np.ndarray] = {place: np.zeros(directions.shape[1]) for place in opened}
    for name, (place, sign) in where.items():
        if name in model.initial:
            rates[place] = sign * _rate(system, model.initial[name], values, directions)
        elif place in opened:
            rates[place] = sign * _rate(system, model.guess[name], values, directions)
    return rates


def _rate(system: System, value: Expression, values: Mapping[Any, float] | None, directions: np.ndarray) -> np.ndarray:
    names = system.reduction.parameters
    if value.sx.is_constant():
        return np.zeros(directions.shape[1])
    p = ca.vertcat(*(interned(name).sx for name in names))
    numbers = parameter_values(system.model, values)
    gradient = ca.Function("gradient", [p], [ca.jacobian(value.sx, p)])([numbers[name] for name in names])
    return (gradient.full() @ directions).ravel()
