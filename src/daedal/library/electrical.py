"""Electrical components: potential v in volts, current i in amperes, positive into the part.

A part with the pins p and n has the voltage v = p.v − n.v and the current i that goes in at p and out at n.
"""

import numpy as np

from daedal.library.quantities import Value, declare, declare_positive
from daedal.library.rotational import flange
from daedal.models import Model, Port, make_port
from daedal.symbolic import Equation, der, symbol, symbols

DOMAIN = "electrical"


def pin() -> Port:
    """A place to connect a wire: voltage `v` in V, current `i` in A."""
    return make_port(DOMAIN, "v", "i")


def _build_dipole(
    name: str, law: dict[str, Equation], parameters: dict | None = None, inputs: tuple = (), guess: dict | None = None
) -> Model:
    """Voltage v from p to n and current i through it; the law relates them."""
    p, n = pin(), pin()
    v, i = symbols("v i")
    driven = {str(given) for given in inputs}
    return Model(
        name=name,
        ports={"p": p, "n": n},
        unknowns=[unknown for unknown in (v, i) if str(unknown) not in driven],
        inputs=inputs,
        equations={"voltage": v == p.potential - n.potential, "current": p.flow == i, "through": n.flow == -i, **law},
        parameters=parameters or {},
        guess=guess or {},
    )


def Ground() -> Model:
    """Potential zero at `p`; every circuit needs one."""
    p = pin()
    return Model(name="ground", ports={"p": p}, unknowns=[], equations={"potential": p.potential == 0.0})


def Resistor(R: Value = 1.0) -> Model:
    """v = R i.

    Parameters
    ----------
    R
        Resistance in Ohm.
    """
    v, i, resistance = symbols("v i R")
    return _build_dipole("resistor", {"law": v == resistance * i}, declare_positive("R", R, "Ohm"))


def Capacitor(C: Value = 1.0) -> Model:
    """i = C dv/dt; starts uncharged, v = 0, unless told otherwise.

    Parameters
    ----------
    C
        Capacitance in F.
    """
    v, i, capacitance = symbols("v i C")
    return _build_dipole("capacitor", {"law": i == capacitance * der(v)}, declare_positive("C", C, "F"), guess={v: 0.0})


def Inductor(L: Value = 1.0) -> Model:
    """v = L di/dt; starts without current, i = 0, unless told otherwise.

    Parameters
    ----------
    L
        Inductance in H.
    """
    v, i, inductance = symbols("v i L")
    return _build_dipole("inductor", {"law": v == inductance * der(i)}, declare_positive("L", L, "H"), guess={i: 0.0})


def VoltageSource() -> Model:
    """The input `v` in V between p and n."""
    return _build_dipole("voltage source", {}, inputs=(symbol("v"),))


def ConstantVoltage(V: Value = 1.0) -> Model:
    """v = V between p and n.

    Parameters
    ----------
    V
        Voltage in V.
    """
    return _build_dipole("constant voltage", {"law": symbol("v") == symbol("V")}, declare("V", V, "V"))


def CurrentSource() -> Model:
    """The input `i` in A, through the source from p to n: the circuit receives it at n."""
    return _build_dipole("current source", {}, inputs=(symbol("i"),))


def ConstantCurrent(I: Value = 1.0) -> Model:  # noqa: E741
    """i = I through the source from p to n: the circuit receives it at n.

    Parameters
    ----------
    I
        Current in A.
    """
    return _build_dipole("constant current", {"law": symbol("i") == symbol("I")}, declare("I", I, "A"))


def Diode(Ids: Value = 1e-6, Vt: Value = 0.04, Maxexp: Value = 15.0, R: Value = 1e8) -> Model:
    """i = Ids (exp(v/Vt) − 1) + v/R; above v/Vt = Maxexp the exponential goes on along its tangent.

    Parameters
    ----------
    Ids
        Saturation current in A.
    Vt
        Voltage equivalent of temperature in V, times the emission coefficient.
    Maxexp
        Largest argument of the exponential, without unit.
    R
        Parallel resistance in Ohm.
    """
    v, i, saturation, thermal, largest, resistance = symbols("v i Ids Vt Maxexp R")
    argument = v / thermal
    bounded = np.minimum(argument, largest)  # pyright: ignore[reportCallIssue, reportArgumentType]
    current = saturation * (np.exp(bounded) * (1 + argument - bounded) - 1) + v / resistance
    parameters = {
        **declare_positive("Ids", Ids, "A"),
        **declare("Vt", Vt, "V"),
        **declare("Maxexp", Maxexp, ""),
        **declare_positive("R", R, "Ohm"),
    }
    return _build_dipole("diode", {"law": i == current}, parameters)


def IdealTransformer(n: Value = 1.0) -> Model:
    """v1 = n v2 and i2 = −n i1; pins p1, n1 on one side, p2, n2 on the other.

    Parameters
    ----------
    n
        Turns of side 1 for each turn of side 2, without unit.
    """
    p1, n1, p2, n2 = pin(), pin(), pin(), pin()
    v1, i1, v2, i2, ratio = symbols("v1 i1 v2 i2 n")
    return Model(
        name="ideal transformer",
        ports={"p1": p1, "n1": n1, "p2": p2, "n2": n2},
        unknowns=[v1, i1, v2, i2],
        equations={
            "voltage 1": v1 == p1.potential - n1.potential,
            "voltage 2": v2 == p2.potential - n2.potential,
            "current 1": p1.flow == i1,
            "through 1": n1.flow == -i1,
            "current 2": p2.flow == i2,
            "through 2": n2.flow == -i2,
            "voltages": v1 == ratio * v2,
            "currents": i2 == -ratio * i1,
        },
        parameters=declare("n", n, ""),
    )


def _build_opamp(name: str, law: dict[str, Equation], pins: dict[str, Port], parameters: dict | None = None) -> Model:
    """No current goes in at in_p and in_n; what `out` gives comes from a supply that is not shown."""
    into = {"current in_p": pins["in_p"].flow == 0.0, "current in_n": pins["in_n"].flow == 0.0}
    return Model(name=name, ports=pins, unknowns=[], equations={**into, **law}, parameters=parameters or {})


def IdealOpAmp3Pin() -> Model:
    """An operational amplifier without limits: in_p.v = in_n.v by whatever current `out` must give."""
    pins = {"in_p": pin(), "in_n": pin(), "out": pin()}
    return _build_opamp("ideal op-amp", {"law": pins["in_p"].potential == pins["in_n"].potential}, pins)


def OpAmp(Slope: Value = 1e4, VMax: Value = 15.0, VMin: Value = -15.0) -> Model:
    """An operational amplifier that saturates: out.v goes from VMin to VMax, with `Slope` in between.

    out.v = (VMax + VMin)/2 + Slope u / (1 + Slope |u| 2/(VMax − VMin)) with u = in_p.v − in_n.v.

    Parameters
    ----------
    Slope
        Amplification around u = 0, without unit.
    VMax, VMin
        Limits of the output in V.
    """
    pins = {"in_p": pin(), "in_n": pin(), "out": pin()}
    slope, highest, lowest = symbols("Slope VMax VMin")
    amplified = slope * (pins["in_p"].potential - pins["in_n"].potential)
    limited = (highest + lowest) / 2 + amplified / (1 + np.abs(amplified) * 2 / (highest - lowest))
    parameters = {**declare("Slope", Slope, ""), **declare("VMax", VMax, "V"), **declare("VMin", VMin, "V")}
    return _build_opamp("op-amp", {"law": pins["out"].potential == limited}, pins, parameters)


def VoltageSensor() -> Model:
    """The voltage `v` in V from p to n, without current."""
    return _build_dipole("voltage sensor", {"law": symbol("i") == 0.0})


def CurrentSensor() -> Model:
    """The current `i` in A from p to n, without voltage."""
    return _build_dipole("current sensor", {"law": symbol("v") == 0.0})


def RotationalEMF(k: Value = 1.0) -> Model:
    """An ideal motor: v = k w, tau = k i, the torque `tau` in N.m turning the flange with speed `w` in rad/s.

    Parameters
    ----------
    k
        Torque per current in N.m/A.
    """
    p, n, shaft = pin(), pin(), flange()
    v, i, w, tau, constant = symbols("v i w tau k")
    return Model(
        name="rotational emf",
        ports={"p": p, "n": n, "flange": shaft},
        unknowns=[v, i, w, tau],
        equations={
            "voltage": v == p.potential - n.potential,
            "current": p.flow == i,
            "through": n.flow == -i,
            "speed": w == der(shaft.potential),
            "induction": v == constant * w,
            "torque": tau == constant * i,
            "flange": shaft.flow == -tau,
        },
        parameters=declare("k", k, "N.m/A"),
    )
