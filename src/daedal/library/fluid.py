"""A liquid of constant density in tanks and pipes: pressure p in pascals, mass flow m_flow in kg/s, into the part.

Pressures are absolute. A part between port_a and port_b has the drop dp = port_a.p − port_b.p and the mass flow m_flow
from a to b. Roots are regularised: sign(dp) √|dp| is replaced by dp / (dp² + dp_small²)^¼, which has a finite slope.
"""

import numpy as np

from daedal.library.quantities import ATMOSPHERIC_PRESSURE, GRAVITY, Value, declare, declare_positive, regularized_root
from daedal.models import Model, Port, make_port
from daedal.symbolic import Equation, der, symbol, symbols

DOMAIN = "fluid"
WATER = 998.2  # kg/m3 at 20 °C


def fluid_port() -> Port:
    """The end of a pipe: pressure `p` in Pa, mass flow `m_flow` in kg/s."""
    return make_port(DOMAIN, "p", "m_flow")


def Tank(
    crossArea: Value = 1.0, rho: Value = WATER, p_ambient: Value = ATMOSPHERIC_PRESSURE, g: Value = GRAVITY
) -> Model:
    """An open tank: rho crossArea d(level)/dt = inflow; `port` at the bottom, `top` where liquid falls in from above.

    port.p = p_ambient + rho g level and top.p = p_ambient; starts empty unless told otherwise.

    Parameters
    ----------
    crossArea
        Area of the surface in m2.
    rho
        Density in kg/m3.
    p_ambient
        Pressure at the surface in Pa.
    g
        Gravity in m/s2.
    """
    bottom, top = fluid_port(), fluid_port()
    level, m, area, density, ambient, gravity = symbols("level m crossArea rho p_ambient g")
    return Model(
        name="tank",
        ports={"port": bottom, "top": top},
        unknowns=[level, m],
        equations={
            "content": m == density * area * level,
            "balance": der(m) == bottom.flow + top.flow,
            "pressure": bottom.potential == ambient + density * gravity * level,
            "surface": top.potential == ambient,
        },
        parameters={
            **declare_positive("crossArea", crossArea, "m2"),
            **declare_positive("rho", rho, "kg/m3"),
            **declare("p_ambient", p_ambient, "Pa"),
            **declare("g", g, "m/s2"),
        },
        guess={level: 0.0},
    )


def _build_between(name: str, law: dict[str, Equation], parameters: dict | None = None, inputs: tuple = ()) -> Model:
    """Pressure drop `dp` and mass flow `m_flow` from port_a to port_b."""
    a, b = fluid_port(), fluid_port()
    dp, m_flow = symbols("dp m_flow")
    driven = {str(given) for given in inputs}
    return Model(
        name=name,
        ports={"port_a": a, "port_b": b},
        unknowns=[unknown for unknown in (dp, m_flow) if str(unknown) not in driven],
        inputs=inputs,
        equations={
            "drop": dp == a.potential - b.potential,
            **law,
            "into": a.flow == m_flow,
            "out of": b.flow == -m_flow,
        },
        parameters=parameters or {},
    )


def Valve(Av: Value = 1e-4, rho: Value = WATER, dp_small: Value = 10.0) -> Model:
    """m_flow = opening Av √(rho dp), the root regularised; the input `opening` goes from 0 to 1.

    Parameters
    ----------
    Av
        Flow coefficient in m2.
    rho
        Density in kg/m3.
    dp_small
        Pressure drop in Pa below which the root is regularised.
    """
    dp, m_flow, opening, coefficient, density, small = symbols("dp m_flow opening Av rho dp_small")
    law = m_flow == opening * coefficient * np.sqrt(density) * regularized_root(dp, small)
    parameters = {
        **declare_positive("Av", Av, "m2"),
        **declare_positive("rho", rho, "kg/m3"),
        **declare("dp_small", dp_small, "Pa"),
    }
    return _build_between("valve", {"law": law}, parameters, (opening,))


def Orifice(A: Value = 1e-4, zeta: Value = 2.7, rho: Value = WATER, dp_small: Value = 10.0) -> Model:
    """m_flow = A √(2 rho dp / zeta), the root regularised.

    Parameters
    ----------
    A
        Area of the hole in m2.
    zeta
        Loss factor, without unit: dp = zeta rho/2 velocity²; about 2.7 for a sharp edge, 1 without loss.
    rho
        Density in kg/m3.
    dp_small
        Pressure drop in Pa below which the root is regularised.
    """
    dp, m_flow, area, loss, density, small = symbols("dp m_flow A zeta rho dp_small")
    law = m_flow == area * np.sqrt(2 * density / loss) * regularized_root(dp, small)
    parameters = {
        **declare_positive("A", A, "m2"),
        **declare_positive("zeta", zeta, ""),
        **declare_positive("rho", rho, "kg/m3"),
        **declare("dp_small", dp_small, "Pa"),
    }
    return _build_between("orifice", {"law": law}, parameters)


def PipeResistance(R: Value = 1000.0) -> Model:
    """dp = R m_flow: a pipe with laminar flow; R = 128 μ length / (π rho diameter⁴) for a round one.

    Parameters
    ----------
    R
        Pressure drop per mass flow in Pa.s/kg.
    """
    dp, m_flow, resistance = symbols("dp m_flow R")
    return _build_between("pipe resistance", {"law": dp == resistance * m_flow}, declare_positive("R", R, "Pa.s/kg"))


def Pump() -> Model:
    """The input `m_flow` in kg/s goes from port_a to port_b, whatever the pressures."""
    return _build_between("pump", {}, inputs=(symbol("m_flow"),))


def FlowSource() -> Model:
    """The input `m_flow` in kg/s goes into what is connected, from outside."""
    port = fluid_port()
    m_flow = symbol("m_flow")
    return Model(
        name="flow source",
        ports={"port": port},
        unknowns=[],
        inputs=[m_flow],
        equations={"flow": port.flow == -m_flow},
    )


def Atmosphere(p: Value = ATMOSPHERIC_PRESSURE) -> Model:
    """A port that keeps its pressure whatever flows.

    Parameters
    ----------
    p
        Pressure in Pa.
    """
    port = fluid_port()
    return Model(
        name="atmosphere",
        ports={"port": port},
        unknowns=[],
        equations={"pressure": port.potential == symbol("p")},
        parameters=declare("p", p, "Pa"),
    )


def PressureSource() -> Model:
    """A port with the pressure of the input `p` in Pa, whatever flows."""
    port = fluid_port()
    p = symbol("p")
    return Model(
        name="pressure source",
        ports={"port": port},
        unknowns=[],
        inputs=[p],
        equations={"pressure": port.potential == p},
    )


def PressureSensor() -> Model:
    """The pressure `p` in Pa of its port, without flow."""
    port = fluid_port()
    p = symbol("p")
    return Model(
        name="pressure sensor",
        ports={"port": port},
        unknowns=[p],
        equations={"pressure": p == port.potential, "flow": port.flow == 0.0},
    )


def MassFlowSensor() -> Model:
    """The mass flow `m_flow` in kg/s from port_a to port_b, which have the same pressure."""
    return _build_between("mass flow sensor", {"law": symbol("dp") == 0.0})
