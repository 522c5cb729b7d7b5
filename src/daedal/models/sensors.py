"""Sensors that smooth what they measure: a measured signal with an infinite variance cannot be sampled, its mean over a
short while can (Gerdin et al. 2006, section 4).

    presampling filter      T ẏ_f = h − y_f,  y = y_f           h: what the output was
    integrating sampling    Ẏ = h,            y(t) = (Y(t) − Y(t − window)) / window

M. Gerdin et al., On parameter and state estimation for linear differential-algebraic equations (2006).
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from daedal.errors import ModelError, is_real, nearest, show
from daedal.models.declarations import as_name
from daedal.models.model import Model
from daedal.symbolic import NAME, Equation, Expression, as_expression, delay, der, symbol


def add_presampling_filter(model: Model, time_constants: Mapping[str, Any]) -> Model:
    """The model with outputs seen through first-order low-pass sensors."""
    verb = "with_presampling_filter"
    for name, constant in _check_outputs(model, time_constants, verb, "time constant").items():
        lag = _check_positive(constant, f"The time constant of the presampling filter of '{name}'")
        filtered = symbol(_choose_name(model, name, "filtered"))
        shown = model.outputs[name]
        equation = Equation(lag * der(filtered), shown - filtered)
        model = replace(
            model,
            unknowns=(*model.unknowns, filtered),
            equations=_add_equation(model.equations, f"presampling filter of '{name}'", equation),
            outputs={**model.outputs, name: filtered},
        )
    return model


def add_integrating_sampling(model: Model, windows: Mapping[str, float]) -> Model:
    """The model with outputs averaged over the time before each sample."""
    for name, seconds in _check_outputs(model, windows, "with_integrating_sampling", "window").items():
        if not is_real(seconds) or isinstance(seconds, (bool, np.bool_)):
            raise ModelError(
                f"The window of the integrating sampling of '{name}' must be a positive number of seconds, "
                f"got {show(seconds)}.",
                "Give the time over which the sensor integrates.",
            )
        window = float(_check_positive(seconds, f"The window of the integrating sampling of '{name}'"))
        integral = symbol(_choose_name(model, name, "integral"))
        equation = Equation(der(integral), model.outputs[name])
        model = replace(
            model,
            unknowns=(*model.unknowns, integral),
            equations=_add_equation(model.equations, f"integral of '{name}'", equation),
            outputs={**model.outputs, name: (integral - delay(integral, window)) / window},
            initial={**model.initial, integral.sx.name(): 0.0},
        )
    return model


def _check_outputs(model: Model, changes: Any, verb: str, what: str) -> dict[str, Any]:
    """Output → number, for outputs that there are and that can be replaced."""
    if not isinstance(changes, Mapping) or not changes:
        raise ModelError(
            f"{verb} takes a mapping output → {what}, got {show(changes)}.", f"Write model.{verb}({{'y': 0.01}})."
        )
    chosen = {as_name(key): value for key, value in changes.items()}
    for name in chosen:
        if name not in model.outputs:
            raise ModelError(f"Model '{model.name}' has no output '{name}'.", nearest(str(name), model.outputs))
        if name in model.names:
            raise ModelError(
                f"Output '{name}' has the name of the {model.names[name]} '{name}', and a smoothed one is another "
                "quantity.",
                f"Rename the output first: model.with_outputs({{'{name}': None, '{name} measured': model['{name}']}}).",
            )
    return chosen


def _check_positive(value: Any, what: str) -> Expression:
    expression = as_expression(value, what)
    if expression.sx.is_constant() and not 0.0 < float(expression) < np.inf:
        raise ModelError(f"{what} must be positive, got {float(expression):g}.", "Give seconds.")
    return expression


def _choose_name(model: Model, output: str, ending: str) -> str:
    """A name for the new unknown, made of that of the output as far as a symbol may be called so."""
    stem = output if NAME.fullmatch(output) else re.sub(r"\W", "_", output)
    if not NAME.fullmatch(stem):
        stem = f"output_{stem}"
    taken = {*model.names, *model.outputs}
    return _find_free_name(lambda number: f"{stem}.{ending}{number}", taken)


def _add_equation(equations: Mapping[str, Equation], name: str, equation: Equation) -> dict[str, Equation]:
    return {**equations, _find_free_name(lambda number: f"{name} {number}".rstrip(), equations): equation}


def _find_free_name(named: Callable[[str], str], taken: Collection[str]) -> str:
    """The name, or the first number after it that is free: a sensor may be put behind a sensor."""
    number = 1
    while named("" if number == 1 else str(number)) in taken:
        number += 1
    return named("" if number == 1 else str(number))
