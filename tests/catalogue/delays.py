"""Scalar and small systems with constant delays, and their solutions at a few times.

The problems are those of the literature. Their values come from the method of steps: exact where the solution is a
polynomial between break points and fractions are typed, otherwise by scipy's DOP853 from one break point to the next,
whose results at tolerances of 1e-10 and 1e-13 agree to nine digits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import daedal as dd
from daedal import Expression, delay, der

x = dd.symbol("x")
Y = dd.symbols("y1 y2 y3")
COMPUTED = "solution by DOP853"
LIBRARY = "DDEProblemLibrary of DiffEqProblemLibrary.jl (SciML)"


@dataclass(frozen=True)
class DelayProblem:
    """Equations x' = right-hand side with the values of the unknowns at some times."""

    name: str
    rates: Mapping[Expression, Any]
    reference: Mapping[float, Sequence[float]]
    source: str
    history: float
    initial: Mapping[Expression, float] | None = None

    def model(self) -> dd.Model:
        return dd.Model(
            name=self.name,
            equations={f"rate of {unknown}": der(unknown) == rate for unknown, rate in self.rates.items()},
            unknowns=list(self.rates),
            outputs={f"output {unknown}": unknown for unknown in self.rates},
            history=dict.fromkeys(self.rates, self.history),
            initial=self.initial or {},
        )


PROBLEMS = (
    DelayProblem(
        "one delay, a jump at the start",
        {x: -delay(x, 1.0)},
        {
            **{0.5: [1.0], 1.0: [1.0], 1.5: [0.5], 2.0: [0.0], 3.0: [-1 / 2], 4.0: [-1 / 6], 5.0: [5 / 24]},
            **{7.5: [-0.107879154266], 10.0: [0.0529734347443]},
        },
        source=f"{LIBRARY}; exact solution",
        history=0.0,
        initial={x: 1.0},
    ),
    DelayProblem(
        "two delays, a jump at the start",
        {x: -delay(x, 1 / 3) - delay(x, 1 / 5)},
        {0.25: [0.95], 0.5: [0.538333333333], 0.75: [0.144435185185], 1.0: [-0.034596707819]},
        source=f"{LIBRARY}; {COMPUTED}",
        history=0.0,
        initial={x: 1.0},
    ),
    DelayProblem(
        "one short delay, a long time",
        {x: x - delay(x, 0.2)},
        {10.0: [1.25], 100.0: [1.25]},
        source=f"{LIBRARY}; {COMPUTED}",
        history=0.0,
        initial={x: 1.0},
    ),
    DelayProblem(
        "Mackey and Glass",
        {x: 0.2 * delay(x, 14.0) / (1 + delay(x, 14.0) ** 10) - 0.1 * x},
        {
            **{14.0: [0.875966490677], 50.0: [0.512203045755], 100.0: [0.828187747810]},
            **{200.0: [1.26273316516], 500.0: [1.01044311171]},
        },
        source=f"M. C. Mackey, L. Glass (1977), problem A1 of W. H. Enright, H. Hayashi (1997); {COMPUTED}",
        history=0.5,
    ),
    DelayProblem(
        "logistic equation of Hutchinson",
        {x: 1.8 * x * (1 - delay(x, 1.0))},
        {
            **{1.0: [1.22980155558], 5.0: [1.27325144446]},
            **{10.0: [2.10606141079], 20.0: [0.205300615457]},
        },
        source=f"G. E. Hutchinson (1948); {COMPUTED}",
        history=0.5,
    ),
    DelayProblem(
        "Willé and Baker",
        {Y[0]: delay(Y[0], 1.0), Y[1]: delay(Y[0], 1.0) + delay(Y[1], 0.2), Y[2]: Y[1]},
        {
            1.0: [2.0, 3.71413866667, 3.18163751111],
            2.5: [4.64583333333, 17.3123177450, 16.6115756382],
            5.0: [19.175, 176.422578447, 190.344201936],
        },
        source=f"D. R. Willé, C. T. H. Baker, (1992), example ddex1 of MATLAB; {COMPUTED}",
        history=1.0,
    ),
)
