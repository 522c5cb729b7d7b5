"""Which derivatives of each disturbance a system needs, and whether they exist.

Reducing the index of a DAE differentiates equations, and with them the disturbances in them. A process with p more
poles than zeros has p − 1 derivatives of finite variance (Abdalmoaty et al. 2021, section III-B); one more would be
white noise.

Reference: M. R.-H. Abdalmoaty, O. Eriksson, R. Bereza, D. Broman, H. Hjalmarsson, Identification of Non-Linear
Differential-Algebraic Equation Models with Process Disturbances, IEEE Conf. on Decision and Control 2021.
"""

from collections.abc import Mapping

from daedal.disturbances.noise import Noise
from daedal.disturbances.state_space import count_derivatives, explain_white_noise
from daedal.errors import ModelError, counted, often


def find_needed_orders(
    disturbances: Mapping[str | tuple[str, ...], Noise],
    orders: Mapping[str, int],
    equations: Mapping[str, str] | None = None,
    numbers: Mapping[str, float] | None = None,
) -> dict[str | tuple[str, ...], tuple[int, ...]]:
    """The derivative orders 0, 1, …, k to sample of each disturbance; refused where a derivative does not exist.

    Parameters
    ----------
    disturbances
        Symbol, or tuple of symbols, → noise, as a model holds them.
    orders
        Symbol → how often it is differentiated; 0 for symbols left out.
    equations
        Symbol → name of the equation that is to blame, for the message.
    numbers
        Parameter values, for noise that has parameters.
    """
    result = {}
    for key, noise in disturbances.items():
        names = key if isinstance(key, tuple) else (key,)
        if noise.intensity is not None:
            raise explain_white_noise(noise, f"Disturbance '{names[0]}'")
        available = count_derivatives(noise, numbers)
        for name, has in zip(names, available, strict=True):
            if orders.get(name, 0) > has:
                raise _explain_roughness(name, orders[name], has, (equations or {}).get(name))
        result[key] = tuple(range(1 + max(orders.get(name, 0) for name in names)))
    return result


def _explain_roughness(name: str, needed: int, has: int, equation: str | None) -> ModelError:
    where = f" in equation '{equation}'" if equation else ""
    poles = needed - has
    return ModelError(
        f"Disturbance '{name}'{where} is differentiated {often(needed)}, but its noise has "
        f"{_write_derivatives(has)}: it needs at least {needed + 1} more poles than zeros.",
        f"Give the noise {counted(poles, 'more pole')}, fast enough not to matter otherwise, "
        "or let the disturbance enter elsewhere.",
    )


def _write_derivatives(count: int) -> str:
    return "no derivative" if count == 0 else counted(count, "derivative")
