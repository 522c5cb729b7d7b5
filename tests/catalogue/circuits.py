"""Electrical circuits: index 1 and 2, a mass matrix that deceives the structure, and a thousand equations."""

import math

import numpy as np

import daedal as dd
from daedal import der

from .chemistry import TEST_SET
from .problem import Problem, constants, numbered


def transistor_amplifier() -> Problem:
    """Two-stage transistor amplifier: M U' = f(t, U) with a singular M of rank 5.

    Test Set, problem TRANSAMP; Hairer & Wanner II, section VII.1. Every capacitor ties two nodes, so the equations of
    each pair contain the same combination of derivatives: the incidence alone takes M for regular.
    """

    def model() -> dd.Model:
        u = dd.symbols("u1 u2 u3 u4 u5 u6 u7 u8")
        u1, u2, u3, u4, u5, u6, u7, u8 = u
        resistors = {"R0": 1000.0} | {f"R{i}": 9000.0 for i in range(1, 10)}
        capacitors = {f"C{i}": i * 1e-6 for i in range(1, 6)}
        p, parameters = constants(Ub=6.0, UF=0.026, alpha=0.99, beta=1e-6, **resistors, **capacitors)
        source = 0.1 * np.sin(200 * np.pi * dd.time)
        g23 = p.beta * (np.exp((u2 - u3) / p.UF) - 1)
        g56 = p.beta * (np.exp((u5 - u6) / p.UF) - 1)
        return dd.Model(
            name="transistor amplifier",
            equations={
                "node 1": p.C1 * (der(u2) - der(u1)) == (u1 - source) / p.R0,
                "node 2": p.C1 * (der(u1) - der(u2)) == u2 / p.R1 + (u2 - p.Ub) / p.R2 + (1 - p.alpha) * g23,
                "node 3": -p.C2 * der(u3) == u3 / p.R3 - g23,
                "node 4": p.C3 * (der(u5) - der(u4)) == (u4 - p.Ub) / p.R4 + p.alpha * g23,
                "node 5": p.C3 * (der(u4) - der(u5)) == u5 / p.R5 + (u5 - p.Ub) / p.R6 + (1 - p.alpha) * g56,
                "node 6": -p.C4 * der(u6) == u6 / p.R7 - g56,
                "node 7": p.C5 * (der(u8) - der(u7)) == (u7 - p.Ub) / p.R8 + p.alpha * g56,
                "node 8": p.C5 * (der(u7) - der(u8)) == u8 / p.R9,
            },
            unknowns=list(u),
            parameters=parameters,
            initial={u2: 3.0, u3: 3.0, u5: 3.0, u6: 3.0, u8: 0.0},
            guess={u1: 0.0, u4: 6.0, u7: 6.0},
        )

    return Problem(
        name="transistor amplifier",
        model=model,
        end=0.2,
        reference={
            "u1": -0.5562145012262709e-2,
            "u2": 0.3006522471903042e1,
            "u3": 0.2849958788608128e1,
            "u4": 0.2926422536206241e1,
            "u5": 0.2704617865010554e1,
            "u6": 0.2761837778393145e1,
            "u7": 0.4770927631616772e1,
            "u8": 0.1236995868091548e1,
        },
        source=f"{TEST_SET}, TRANSAMP",
        index=1,
        degrees_of_freedom=5,
    )


def capacitor_loop() -> Problem:
    """A voltage source sin(time) across a capacitor, and in parallel a resistor with a second capacitor.

    The source fixes the voltage v1, so the current through the first capacitor is i1 = C1·u': index 2. With τ = R·C2,
    v2 = (sin t − τ cos t + τ e^(−t/τ)) / (1 + τ²) for v2(0) = 0.
    """
    return Problem(
        name="capacitor loop",
        model=lambda: _loop_model("capacitor loop", np.sin(dd.time), inputs=[]),
        end=5.0,
        reference={t: _loop_solution(t) for t in (1.0, 5.0)},
        source="closed form",
        index=2,
        degrees_of_freedom=1,
    )


def capacitor_loop_with_input() -> Problem:
    """The capacitor loop with its source given by samples: the derivative of an input is needed.

    A cubic spline through 4001 samples of one period of the sine errs by 2e-14, its slope by 3e-11.
    """
    u = dd.symbol("u")
    times = np.linspace(0.0, 2 * np.pi, 4001)
    return Problem(
        name="capacitor loop with input",
        model=lambda: _loop_model("capacitor loop with input", u, inputs=[u]),
        end=5.0,
        reference={t: _loop_solution(t) for t in (1.0, 5.0)},
        source="closed form",
        index=2,
        degrees_of_freedom=1,
        inputs=lambda: {"u": dd.Signal(times, np.sin(times), intersample="spline")},
    )


LOOP = {"R": 1.5, "C1": 0.5, "C2": 0.4}


def _loop_model(name: str, source: dd.Expression, inputs: list[dd.Expression]) -> dd.Model:
    v1, v2, i1, i2, i = dd.symbols("v1 v2 i1 i2 i")
    p, parameters = constants(**LOOP)
    return dd.Model(
        name=name,
        equations={
            "source": v1 == source,
            "capacitor 1": p.C1 * der(v1) == i1,
            "capacitor 2": p.C2 * der(v2) == i2,
            "resistor": p.R * i2 == v1 - v2,
            "node": i == i1 + i2,
        },
        unknowns=[v1, v2, i1, i2, i],
        inputs=inputs,
        parameters=parameters,
        initial={v2: 0.0},
        guess={v1: 0.0},
    )


def _loop_solution(t: float) -> dict[str, float]:
    R, C1, C2 = LOOP["R"], LOOP["C1"], LOOP["C2"]
    tau = R * C2
    v1 = math.sin(t)
    v2 = (math.sin(t) - tau * math.cos(t) + tau * math.exp(-t / tau)) / (1 + tau**2)
    i1, i2 = C1 * math.cos(t), (v1 - v2) / R
    return {"v1": v1, "v2": v2, "i1": i1, "i2": i2, "i": i1 + i2}


def rlc_ladder(stages: int = 200) -> Problem:
    """A ladder of resistor and inductor in series and capacitor to ground, fed by sin(time), closed by a load.

    Every part and every node has its own equation: 5·stages + 3 in all, 1003 for 200 stages. mid[k] is the potential
    between resistor and inductor, v[k] that of the capacitor. Reference for five stages: the matrix exponential of the
    system in (iL, v, sin, cos) in 40-digit arithmetic.
    """

    def model() -> dd.Model:
        mid, v, iR, iL, iC = (dd.symbols(name, stages) for name in ("mid", "v", "iR", "iL", "iC"))
        v_source, i_source, i_load = dd.symbols("v_source i_source i_load")
        p, parameters = constants(R=0.1, L=1.0, C=1.0, load=1.0)
        equations = {"source": v_source == np.sin(dd.time), "source node": i_source == iR[0]}
        for k in range(stages):
            before = v[k - 1] if k else v_source
            after = iR[k + 1] if k + 1 < stages else i_load
            equations[f"resistor {k}"] = p.R * iR[k] == before - mid[k]
            equations[f"inductor {k}"] = p.L * der(iL[k]) == mid[k] - v[k]
            equations[f"capacitor {k}"] = p.C * der(v[k]) == iC[k]
            equations[f"inner node {k}"] = iR[k] == iL[k]
            equations[f"node {k}"] = iL[k] == iC[k] + after
        equations["load"] = p.load * i_load == v[-1]
        return dd.Model(
            name=f"rlc ladder of {stages}",
            equations=equations,
            unknowns=[*mid, *v, *iR, *iL, *iC, v_source, i_source, i_load],
            parameters=parameters,
            initial=dict.fromkeys((*v, *iL), 0.0),
        )

    currents = "0.38686086880652431 -0.3167578413797014 -0.65310772928859958 -0.30158208492197898 0.28228608828358633"
    five = numbered(
        mid="0.87425916384697522 0.22848654851745008 -0.53781920507452973 -0.77733816488264206 -0.26665344686891928",
        v="0.19681076437947994 -0.60312997800338969 -0.80749637337483995 -0.23842483804056065 0.54974220439800997",
        iR=currents,
        iL=currents,
        iC="0.70361871018622571 0.33634988790889818 -0.3515256443666206 -0.58386817320556531 -0.26745611611442364",
    ) | {"i_source": 0.38686086880652431, "i_load": 0.54974220439800997, "v_source": math.sin(20.0)}
    return Problem(
        name=f"rlc ladder of {stages}",
        model=model,
        end=20.0,
        reference=five if stages == 5 else {},
        source="matrix exponential in 40-digit arithmetic",
        index=1,
        degrees_of_freedom=2 * stages,
    )
