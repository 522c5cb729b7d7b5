"""Signals: the input `u` gives the output `y`, both of any unit; connect them by path, ("tank.h", "controller.u")."""

import numpy as np

from daedal.library.quantities import Value, declare
from daedal.models import Model
from daedal.symbolic import Expression, hysteresis, symbol, symbols


def _build_block(name: str, y: Expression, parameters: dict) -> Model:
    """The output is an expression of the input."""
    return Model(
        name=name,
        unknowns=[symbol("y")],
        inputs=[symbol("u")],
        equations={"law": symbol("y") == y},
        parameters=parameters,
    )


def Limiter(uMax: Value = 1.0, uMin: Value = -1.0) -> Model:
    """Saturation: y = u between uMin and uMax, and the nearer of the two outside.

    In a formula of your own it is `np.clip(u, uMin, uMax)`.

    Parameters
    ----------
    uMax, uMin
        Limits, in the unit of the signal.

    Examples
    --------
    >>> print(Limiter(uMax=24.0, uMin=-24.0).equations["law"])
    y == minimum(maximum(u, uMin), uMax)
    """
    u, highest, lowest = symbols("u uMax uMin")
    limited = np.clip(u, lowest, highest)  # pyright: ignore[reportCallIssue, reportArgumentType]
    return _build_block("limiter", limited, {**declare("uMax", uMax, ""), **declare("uMin", uMin, "")})


def Hysteresis(uLow: Value = -0.5, uHigh: Value = 0.5, yLow: Value = 0.0, yHigh: Value = 1.0) -> Model:
    """A relay: y = yHigh from when u rises above uHigh until it falls below uLow, y = yLow otherwise and at first.

    In a formula of your own it is `dd.hysteresis(u, uLow, uHigh)`, which is −1 or +1.

    Parameters
    ----------
    uLow, uHigh
        Thresholds, in the unit of the input.
    yLow, yHigh
        What it gives on either side, in the unit of the output; a thermostat has its heating at yLow.

    Examples
    --------
    >>> thermostat = Hysteresis(uLow=292.0, uHigh=294.0, yLow=1500.0, yHigh=0.0)
    >>> print(thermostat.equations["law"])
    y == (yHigh + yLow)/2 + (yHigh - yLow)/2*hysteresis(u, uLow, uHigh)
    """
    u, low, high, below, above = symbols("u uLow uHigh yLow yHigh")
    switched = (above + below) / 2 + (above - below) / 2 * hysteresis(u, low, high)
    names = {"uLow": uLow, "uHigh": uHigh, "yLow": yLow, "yHigh": yHigh}
    parameters = {key: value for name, given in names.items() for key, value in declare(name, given, "").items()}
    return _build_block("hysteresis", switched, parameters)
