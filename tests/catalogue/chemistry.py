"""Reaction kinetics: stiff, index 0 and 1."""

import numpy as np

import daedal as dd
from daedal import der

from .problem import Problem, constants

TEST_SET = "Mazzia & Magherini, Test Set for Initial Value Problem Solvers, release 2.4"


def akzo_nobel() -> Problem:
    """Two species react under continuous inflow of carbon dioxide; y6 follows from an equilibrium.

    Test Set, problem CHEMAKZO; the sixth equation is the equilibrium Ks·y1·y4 = y6.
    """

    def model() -> dd.Model:
        y1, y2, y3, y4, y5, y6 = dd.symbols("y1 y2 y3 y4 y5 y6")
        p, parameters = constants(k1=18.7, k2=0.58, k3=0.09, k4=0.42, K=34.4, klA=3.3, Ks=115.83, pCO2=0.9, H=737.0)
        r1 = p.k1 * y1**4 * np.sqrt(y2)
        r2 = p.k2 * y3 * y4
        r3 = p.k2 / p.K * y1 * y5
        r4 = p.k3 * y1 * y4**2
        r5 = p.k4 * y6**2 * np.sqrt(y2)
        inflow = p.klA * (p.pCO2 / p.H - y2)
        return dd.Model(
            name="akzo nobel",
            equations={
                "species 1": der(y1) == -2 * r1 + r2 - r3 - r4,
                "species 2": der(y2) == -r1 / 2 - r4 - r5 / 2 + inflow,
                "species 3": der(y3) == r1 - r2 + r3,
                "species 4": der(y4) == -r2 + r3 - 2 * r4,
                "species 5": der(y5) == r2 - r3 + r5,
                "equilibrium": p.Ks * y1 * y4 == y6,
            },
            unknowns=[y1, y2, y3, y4, y5, y6],
            parameters=parameters,
            initial={y1: 0.444, y2: 0.00123, y3: 0.0, y4: 0.007, y5: 0.0},
            guess={y6: 0.36},
        )

    return Problem(
        name="akzo nobel",
        model=model,
        end=180.0,
        reference={
            "y1": 0.1150794920661702,
            "y2": 0.1203831471567715e-2,
            "y3": 0.1611562887407974,
            "y4": 0.3656156421249283e-3,
            "y5": 0.1708010885264404e-1,
            "y6": 0.4873531310307455e-2,
        },
        source=f"{TEST_SET}, CHEMAKZO",
        index=1,
        degrees_of_freedom=5,
    )


def robertson() -> Problem:
    """Three species whose rates differ by nine orders of magnitude, over eleven decades of time.

    Test Set, problem ROBER, with the conservation of mass in place of the third rate equation. The values at t = 40 are
    our own: an explicit and an implicit Runge–Kutta method agree in twelve digits.
    """

    def model() -> dd.Model:
        y1, y2, y3 = dd.symbols("y1 y2 y3")
        p, parameters = constants(k1=0.04, k2=3e7, k3=1e4)
        return dd.Model(
            name="robertson",
            equations={
                "species 1": der(y1) == -p.k1 * y1 + p.k3 * y2 * y3,
                "species 2": der(y2) == p.k1 * y1 - p.k3 * y2 * y3 - p.k2 * y2**2,
                "mass": y1 + y2 + y3 == 1,
            },
            unknowns=[y1, y2, y3],
            parameters=parameters,
            initial={y1: 1.0, y2: 0.0},
            guess={y3: 0.0},
        )

    return Problem(
        name="robertson",
        model=model,
        end=1e11,
        reference={
            40.0: {"y1": 0.71582706872, "y2": 9.18553476456e-6, "y3": 0.28416374574583},
            1e11: {"y1": 0.2083340149701255e-7, "y2": 0.8333360770334713e-13, "y3": 0.9999999791665050},
        },
        source=f"{TEST_SET}, ROBER",
        index=1,
        degrees_of_freedom=2,
    )


def hires() -> Problem:
    """High irradiance response of photomorphogenesis: a stiff ordinary differential equation. Test Set, HIRES."""

    def model() -> dd.Model:
        y = dd.symbols("y1 y2 y3 y4 y5 y6 y7 y8")
        y1, y2, y3, y4, y5, y6, y7, y8 = y
        p, parameters = constants(
            k1=1.71, k2=0.43, k3=8.32, k4=0.69, k5=0.035, k6=8.32, k7=280.0, k8=0.69, k9=0.69, oks=0.0007
        )
        return dd.Model(
            name="hires",
            equations={
                "species 1": der(y1) == -p.k1 * y1 + p.k2 * y2 + p.k6 * y3 + p.oks,
                "species 2": der(y2) == p.k1 * y1 - (p.k2 + p.k3) * y2,
                "species 3": der(y3) == -(p.k6 + p.k1) * y3 + p.k2 * y4 + p.k5 * y5,
                "species 4": der(y4) == p.k3 * y2 + p.k1 * y3 - (p.k4 + p.k2) * y4,
                "species 5": der(y5) == -(p.k5 + p.k1) * y5 + p.k2 * (y6 + y7),
                "species 6": der(y6) == -p.k7 * y6 * y8 + p.k8 * y4 + p.k1 * y5 - p.k2 * y6 + p.k8 * y7,
                "species 7": der(y7) == p.k7 * y6 * y8 - (p.k2 + p.k8 + p.k9) * y7,
                "species 8": der(y8) == -p.k7 * y6 * y8 + (p.k2 + p.k8 + p.k9) * y7,
            },
            unknowns=list(y),
            parameters=parameters,
            initial=dict(zip(y, (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0057), strict=True)),
        )

    return Problem(
        name="hires",
        model=model,
        end=321.8122,
        reference={
            "y1": 0.7371312573325668e-3,
            "y2": 0.1442485726316185e-3,
            "y3": 0.5888729740967575e-4,
            "y4": 0.1175651343283149e-2,
            "y5": 0.2386356198831331e-2,
            "y6": 0.6238968252742796e-2,
            "y7": 0.2849998395185769e-2,
            "y8": 0.2850001604814231e-2,
        },
        source=f"{TEST_SET}, HIRES",
        index=0,
        degrees_of_freedom=8,
    )
