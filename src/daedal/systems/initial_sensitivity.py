"""How consistent initial values move with the parameters: the derivative of the solution of F(z, p, w) = 0.

    ∂F/∂z_free dz_free = −(∂F/∂p dp + ∂F/∂w dw + ∂F/∂z_held dz_held),

where dz_held follows from the expressions given in `initial`, and in `guess` for freedom that was left open.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from daedal.systems.initialization import InitialValues
from daedal.systems.reduction import DeclaredStart
from daedal.systems.regularity import solve_in_any_units
from daedal.systems.system import System


def differentiate_initial_values(
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
    gradient = system.matrix("consistency_gradient", time, start.states, start.tops, parameters, exogenous)
    size = start.states.size + start.tops.size
    last = size + parameters.size
    by_z, by_p, by_w = gradient[:, :size], gradient[:, size:last], gradient[:, last:]
    dz = np.zeros((size, directions.shape[1]))
    held = _find_held_rates(system, start, parameters, directions)
    for place, rates in held.items():
        dz[place] = rates
    fixed = np.array(sorted(held), dtype=int)
    free = np.array([j for j in range(size) if j not in held], dtype=int)
    right = -(by_p @ directions + by_w @ exogenous_directions + by_z[:, fixed] @ dz[fixed])
    dz[free] = solve_in_any_units(by_z[:, free], right) if free.size else dz[free]
    return dz


def _find_held_rates(
    system: System, start: InitialValues, parameters: np.ndarray, directions: np.ndarray
) -> dict[int, np.ndarray]:
    """Derivatives of what is held: by `initial`, and by `guess` where freedom was open."""
    names = (*system.states, *system.tops)
    opened = {names.index(name) for name in start.open}
    rates: dict[int, np.ndarray] = {place: np.zeros(directions.shape[1]) for place in opened}
    held, guessed = system.held, system.guessed
    rates |= _find_declared_rates(guessed, opened, parameters, directions)
    return rates | _find_declared_rates(held, {place for place, _ in held.places.values()}, parameters, directions)


def _find_declared_rates(
    declared: DeclaredStart, places: Collection[int], parameters: np.ndarray, directions: np.ndarray
) -> dict[int, np.ndarray]:
    """Derivatives of declared values, for some of their places."""
    wanted = {name: at for name, at in declared.places.items() if at[0] in places}
    if not wanted:
        return {}
    order = list(declared.formulas.expressions)
    slopes = declared.formulas.differentiate(parameters)[[order.index(name) for name in wanted]] @ directions
    return {place: sign * row for (place, sign), row in zip(wanted.values(), slopes, strict=True)}
