"""Problems whose incidence promises more than the equations hold."""

import math

import numpy as np

import daedal as dd
from daedal import der

from .problem import Problem, constants


def gear_petzold() -> Problem:
    """x' + ηt y' + (1 + η) y = 0 and x + ηt y = e^(−t): no initial value may be chosen.

    Gear & Petzold, ODE methods for the solution of differential/algebraic systems, SIAM J. Numer. Anal. 21 (1984). The
    derivative of the second equation repeats the x' + ηt y' of the first, whence y = e^(−t), x = (1 − ηt) e^(−t).
    For η < −1/2 the implicit Euler method, applied as it stands, multiplies its error by |η/(1 + η)| > 1 per step.
    """

    def model() -> dd.Model:
        x, y, eta = dd.symbols("x y eta")
        return dd.Model(
            name="gear petzold",
            equations={
                "rate": der(x) + eta * dd.time * der(y) + (1 + eta) * y == 0,
                "sum": x + eta * dd.time * y == np.exp(-dd.time),
            },
            unknowns=[x, y],
            parameters={eta: -2.0},
            guess={x: 1.0, y: 1.0},
        )

    return Problem(
        name="gear petzold",
        model=model,
        end=2.0,
        reference={t: {"x": (1 + 2 * t) * math.exp(-t), "y": math.exp(-t)} for t in (0.0, 1.0, 2.0)},
        source="closed form",
        index=2,
        degrees_of_freedom=0,
    )


def rod_twice() -> Problem:
    """The pendulum with its rod given twice, and a push besides the rod's force: as many equations as unknowns.

    The incidence has a perfect matching, yet the second rod says nothing new and the push stays undetermined.
    """

    def model() -> dd.Model:
        x, y, vx, vy, tension, push = dd.symbols("x y vx vy tension push")
        p, parameters = constants(m=1.0, L=1.0, g=9.81)
        return dd.Model(
            name="rod twice",
            equations={
                "kinematics x": der(x) == vx,
                "kinematics y": der(y) == vy,
                "force x": p.m * der(vx) == -tension * x + push,
                "force y": p.m * der(vy) == -tension * y - p.m * p.g,
                "rod": x**2 + y**2 == p.L**2,
                "rod again": x**2 + y**2 == p.L**2,
            },
            unknowns=[x, y, vx, vy, tension, push],
            parameters=parameters,
            initial={x: 0.6, vx: 0.0},
            guess={y: -0.8, vy: 0.0},
        )

    return Problem(
        name="rod twice", model=model, end=1.0, reference={}, source="singular", index=None, degrees_of_freedom=None
    )
