"""Whether a model adds up its disturbances: outputs that then wander away from what it predicts without them.

Moved by a constant d, unknowns z leave every equation f(ż, z, u, w) = 0 as it is where ∂f/∂z d = 0 at all z; an output
h with ∂h/∂z d ≠ 0 then shows a sum. A disturbance goes into it where some l has lᵀ ∂f/∂z = 0 and lᵀ ∂f/∂w ≠ 0, as
lᵀ f contains rates and w alone. What drives such a sum, ∂f/∂z d₂ = ∂f/∂ż d, is one itself: the speed below a place. For
linear models these are the poles at zero that w excites. The equations are looked at as they were typed, at a few
points; models in which something is delayed, held or latched are not looked at.
"""

import casadi as ca
import numpy as np
from scipy.linalg import null_space, orth

from daedal.analysis import Equations
from daedal.models import Model, evaluate_parameters
from daedal.symbolic import expand, find_operator, jet, list_symbols, name_derivative, stack_symbols

POINTS = 3  # at which equations are looked at
NOTHING = 1e-9  # of the largest: what rounding leaves of a slope or a singular value


def list_accumulated(model: Model) -> list[str]:
    """Outputs that contain a sum of disturbances; none where the slopes are no numbers."""
    if not model.disturbances or not model.outputs:
        return []
    typed = Equations.of(model)
    shown = ca.vertcat(*(expand(value.sx, typed.constants) for value in model.outputs.values()))
    if _looks_back(typed.residuals) or _looks_back(shown):
        return []
    z, w = stack_symbols(typed.unknowns), stack_symbols(model.disturbance_names)
    rates = stack_symbols(name_derivative(name, 1) for name in typed.unknowns)
    leaves = list_symbols(ca.vertcat(typed.residuals, shown, z, rates, w))
    slopes = [*(ca.jacobian(typed.residuals, one) for one in (z, rates, w)), ca.jacobian(shown, z)]
    look = ca.Function("slopes", [stack_symbols(leaves)], [ca.densify(one) for one in slopes])
    numbers, random = evaluate_parameters(model), np.random.default_rng(1)
    looks = []
    for _ in range(POINTS):
        point = [numbers.get(name, random.uniform(0.5, 1.5)) for name in leaves]
        looks.append([np.array(one) for one in look(point)])
    if not all(np.isfinite(one).all() for matrices in looks for one in matrices):
        return []
    still, moving = (np.vstack([one[k] for one in looks]) for k in range(2))
    size = np.abs(np.hstack([still, moving])).max(axis=1, keepdims=True, initial=0.0)
    size[size == 0.0] = 1.0
    free = _find_sums(still / size, moving / size)
    if not free.size or not any(_reaches(equations, driven) for equations, _, driven, _ in looks):
        return []
    moved = np.max([_measure_rows(outputs @ free, outputs) for *_, outputs in looks], axis=0)
    return [name for name, size in zip(model.outputs, moved, strict=True) if size > NOTHING]


def _looks_back(functions: ca.SX) -> bool:
    return any(find_operator(name) is not None and not jet(name)[1] for name in list_symbols(functions))


def _find_sums(still: np.ndarray, moving: np.ndarray) -> np.ndarray:
    """A basis of d, d₂ and so on, in columns."""
    count = still.shape[1]
    free = null_space(still, rcond=NOTHING)
    while free.size:
        beyond = null_space(np.hstack([still, moving @ free]), rcond=NOTHING)[:count]
        wider = orth(np.hstack([free, beyond]), rcond=NOTHING)
        if wider.shape[1] == free.shape[1]:
            break
        free = wider
    return free


def _reaches(equations: np.ndarray, driven: np.ndarray) -> bool:
    """Whether some combination of the equations has disturbances in it, and unknowns by their rates alone."""
    size = np.abs(np.hstack([equations, driven])).max(axis=1, keepdims=True, initial=0.0)
    size[size == 0.0] = 1.0
    alone = null_space((equations / size).T, rcond=NOTHING)
    return bool(alone.size) and bool(np.abs(alone.T @ (driven / size)).max(initial=0.0) > NOTHING)


def _measure_rows(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    size = np.abs(whole).max(axis=1, initial=0.0)
    return np.divide(np.abs(part).max(axis=1, initial=0.0), size, out=np.zeros(len(size)), where=size > 0.0)
