"""Nonlinear regression with certified answers: formulas of all 27 problems, and data of those that are short.

From the Statistical Reference Datasets of the National Institute of Standards and Technology (StRD, nonlinear
regression): data, two starts each, the nearer second, and certified values. The logarithm of `Nelson` is fitted.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np

import daedal as dd


def bennett5(b, x):
    return b[0] * (b[1] + x) ** (-1 / b[2])


def boxbod(b, x):
    return b[0] * (1 - np.exp(-b[1] * x))


def chwirut(b, x):
    return np.exp(-b[0] * x) / (b[1] + b[2] * x)


def danwood(b, x):
    return b[0] * x ** b[1]


def eckerle4(b, x):
    return b[0] / b[1] * np.exp(-0.5 * ((x - b[2]) / b[1]) ** 2)


def enso(b, x):
    year = b[1] * np.cos(2 * pi * x / 12) + b[2] * np.sin(2 * pi * x / 12)
    first = b[4] * np.cos(2 * pi * x / b[3]) + b[5] * np.sin(2 * pi * x / b[3])
    return b[0] + year + first + b[7] * np.cos(2 * pi * x / b[6]) + b[8] * np.sin(2 * pi * x / b[6])


def gauss(b, x):
    peaks = b[2] * np.exp(-(((x - b[3]) / b[4]) ** 2)) + b[5] * np.exp(-(((x - b[6]) / b[7]) ** 2))
    return b[0] * np.exp(-b[1] * x) + peaks


def cubics(b, x):
    return (b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3) / (1 + b[4] * x + b[5] * x**2 + b[6] * x**3)


def kirby2(b, x):
    return (b[0] + b[1] * x + b[2] * x**2) / (1 + b[3] * x + b[4] * x**2)


def lanczos(b, x):
    return b[0] * np.exp(-b[1] * x) + b[2] * np.exp(-b[3] * x) + b[4] * np.exp(-b[5] * x)


def mgh09(b, x):
    return b[0] * (x**2 + b[1] * x) / (x**2 + b[2] * x + b[3])


def mgh10(b, x):
    return b[0] * np.exp(b[1] / (x + b[2]))


def mgh17(b, x):
    return b[0] + b[1] * np.exp(-x * b[3]) + b[2] * np.exp(-x * b[4])


def misra1b(b, x):
    return b[0] * (1 - (1 + b[1] * x / 2) ** -2)


def misra1c(b, x):
    return b[0] * (1 - (1 + 2 * b[1] * x) ** -0.5)


def misra1d(b, x):
    return b[0] * b[1] * x / (1 + b[1] * x)


def nelson(b, x, temperature):
    return b[0] - b[1] * x * np.exp(-b[2] * temperature)


def rat42(b, x):
    return b[0] / (1 + np.exp(b[1] - b[2] * x))


def rat43(b, x):
    return b[0] / (1 + np.exp(b[1] - b[2] * x)) ** (1 / b[3])


def roszman1(b, x):
    return b[0] - b[1] * x - np.arctan(b[2] / (x - b[3])) / pi


FORMULAS: dict[str, Callable[..., Any]] = {
    "Bennett5": bennett5,
    "BoxBOD": boxbod,
    "Chwirut1": chwirut,
    "Chwirut2": chwirut,
    "DanWood": danwood,
    "ENSO": enso,
    "Eckerle4": eckerle4,
    "Gauss1": gauss,
    "Gauss2": gauss,
    "Gauss3": gauss,
    "Hahn1": cubics,
    "Kirby2": kirby2,
    "Lanczos1": lanczos,
    "Lanczos2": lanczos,
    "Lanczos3": lanczos,
    "MGH09": mgh09,
    "MGH10": mgh10,
    "MGH17": mgh17,
    "Misra1a": boxbod,
    "Misra1b": misra1b,
    "Misra1c": misra1c,
    "Misra1d": misra1d,
    "Nelson": nelson,
    "Rat42": rat42,
    "Rat43": rat43,
    "Roszman1": roszman1,
    "Thurber": cubics,
}


@dataclass(frozen=True, eq=False)
class Regression:
    """Data, starts and certified values of one problem."""

    name: str
    predictors: Sequence[Sequence[float]]
    y: Sequence[float]
    starts: Sequence[Sequence[float]]
    certified: Sequence[float]

    @property
    def free(self) -> list[str]:
        return [f"b{k + 1}" for k in range(len(self.certified))]

    def model(self, start: int) -> dd.Model:
        """An algebraic equation whose inputs are the predictors; time only counts the samples."""
        z, inputs = dd.symbol("z"), [dd.symbol(f"x{k + 1}") for k in range(len(self.predictors))]
        b = [dd.symbol(name) for name in self.free]
        return dd.Model(
            name=self.name,
            equations={"law": z == FORMULAS[self.name](b, *inputs)},
            unknowns=[z],
            inputs=inputs,
            outputs={"y": z},
            parameters=dict(zip(b, self.starts[start], strict=True)),
        )

    @property
    def data(self) -> dd.Dataset:
        y = np.log(self.y) if self.name == "Nelson" else np.array(self.y)
        inputs = {f"x{k + 1}": np.array(values) for k, values in enumerate(self.predictors)}
        return dd.Dataset(np.arange(float(y.size)), inputs=inputs, outputs={"y": y})

    def measure_error(self, params: Mapping[str, float]) -> float:
        """The largest relative distance from the certified values."""
        values, certified = np.array([params[name] for name in self.free]), np.array(self.certified)
        return float(np.max(np.abs(values / certified - 1.0)))


REGRESSIONS = (
    Regression(
        "BoxBOD",
        [[1, 2, 3, 5, 7, 10]],
        [109, 149, 149, 191, 213, 224],
        [[1, 1], [100, 0.75]],
        [2.1380940889e02, 5.4723748542e-01],
    ),
    Regression(
        "MGH09",
        [[4, 2, 1, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625]],
        [0.1957, 0.1947, 0.1735, 0.16, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246],
        [[25, 39, 41.5, 39], [0.25, 0.39, 0.415, 0.39]],
        [1.9280693458e-01, 1.9128232873e-01, 1.2305650693e-01, 1.3606233068e-01],
    ),
    Regression(
        "MGH10",
        [range(50, 130, 5)],
        [34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147, 4427, 3820, 3307, 2872],
        [[2, 400000, 25000], [0.02, 4000, 250]],
        [5.6096364710e-03, 6.1813463463e03, 3.4522363462e02],
    ),
    Regression(
        "MGH17",
        [range(0, 330, 10)],
        [
            *(0.844, 0.908, 0.932, 0.936, 0.925, 0.908, 0.881, 0.850, 0.818, 0.784, 0.751, 0.718, 0.685, 0.658, 0.628),
            *(0.603, 0.580, 0.558, 0.538, 0.522, 0.506, 0.490, 0.478, 0.467, 0.457, 0.448, 0.438, 0.431, 0.424, 0.420),
            *(0.414, 0.411, 0.406),
        ],
        [[50, 150, -100, 1, 2], [0.5, 1.5, -1, 0.01, 0.02]],
        [3.7541005211e-01, 1.9358469127e00, -1.4646871366e00, 1.2867534640e-02, 2.2122699662e-02],
    ),
)
