"""Heat flow between lumps: temperature T in kelvin, heat flow Q_flow in watts, positive into the part.

A part between two ports has the difference dT = T_a − T_b and the heat flow Q_flow from a to b.
"""

from daedal.library.quantities import ROOM_TEMPERATURE, Value, declare, declare_positive
from daedal.models import Model, Port, make_port
from daedal.symbolic import Equation, der, symbol, symbols

DOMAIN = "thermal"
STEFAN_BOLTZMANN = 5.670374419e-8  # W/(m2.K4)


def heat_port() -> Port:
    """A place where heat enters: temperature `T` in K, heat flow `Q_flow` in W."""
    return make_port(DOMAIN, "T", "Q_flow")


def HeatCapacitor(C: Value = 1.0) -> Model:
    """C dT/dt = Q_flow; starts at 293.15 K unless told otherwise.

    Parameters
    ----------
    C
        Heat capacity in J/K.
    """
    port = heat_port()
    T, capacity = symbols("T C")
    return Model(
        name="heat capacitor",
        ports={"port": port},
        unknowns=[T],
        equations={"temperature": port.potential == T, "balance": capacity * der(T) == port.flow},
        parameters=declare_positive("C", C, "J/K"),
        guess={T: ROOM_TEMPERATURE},
    )


def _build_between(
    name: str, law: dict[str, Equation], parameters: dict, ports: tuple[str, str] = ("port_a", "port_b"), inputs=()
) -> Model:
    """Temperature difference `dT` and heat flow `Q_flow` from the first port to the second."""
    a, b = heat_port(), heat_port()
    dT, Q_flow = symbols("dT Q_flow")
    return Model(
        name=name,
        ports=dict(zip(ports, (a, b), strict=True)),
        unknowns=[dT, Q_flow],
        inputs=inputs,
        equations={
            "difference": dT == a.potential - b.potential,
            **law,
            "into": a.flow == Q_flow,
            "out of": b.flow == -Q_flow,
        },
        parameters=parameters,
    )


def ThermalConductor(G: Value = 1.0) -> Model:
    """Q_flow = G dT.

    Parameters
    ----------
    G
        Thermal conductance in W/K.
    """
    dT, Q_flow, conductance = symbols("dT Q_flow G")
    return _build_between("thermal conductor", {"law": Q_flow == conductance * dT}, declare_positive("G", G, "W/K"))


def ThermalResistor(R: Value = 1.0) -> Model:
    """dT = R Q_flow.

    Parameters
    ----------
    R
        Thermal resistance in K/W.
    """
    dT, Q_flow, resistance = symbols("dT Q_flow R")
    return _build_between("thermal resistor", {"law": dT == resistance * Q_flow}, declare_positive("R", R, "K/W"))


def Convection() -> Model:
    """Q_flow = Gc dT from `solid` to `fluid`; the conductance `Gc` in W/K is an input, as it changes with the flow."""
    dT, Q_flow, conductance = symbols("dT Q_flow Gc")
    return _build_between("convection", {"law": Q_flow == conductance * dT}, {}, ("solid", "fluid"), (conductance,))


def BodyRadiation(Gr: Value = 1.0) -> Model:
    """Q_flow = Gr σ (T_a⁴ − T_b⁴).

    Parameters
    ----------
    Gr
        Net radiation conductance in m2.
    """
    a, b = heat_port(), heat_port()
    Q_flow, conductance = symbols("Q_flow Gr")
    law = Q_flow == conductance * STEFAN_BOLTZMANN * (a.potential**4 - b.potential**4)  # pyright: ignore[reportOperatorIssue]
    return Model(
        name="body radiation",
        ports={"port_a": a, "port_b": b},
        unknowns=[Q_flow],
        equations={"law": law, "into": a.flow == Q_flow, "out of": b.flow == -Q_flow},
        parameters=declare_positive("Gr", Gr, "m2"),
    )


def FixedTemperature(T: Value = ROOM_TEMPERATURE) -> Model:
    """A port that keeps its temperature whatever flows.

    Parameters
    ----------
    T
        Temperature in K.
    """
    port = heat_port()
    return Model(
        name="fixed temperature",
        ports={"port": port},
        unknowns=[],
        equations={"temperature": port.potential == symbol("T")},
        parameters=declare("T", T, "K"),
    )


def PrescribedTemperature() -> Model:
    """A port with the temperature of the input `T` in K, whatever flows."""
    port = heat_port()
    T = symbol("T")
    return Model(
        name="prescribed temperature",
        ports={"port": port},
        unknowns=[],
        inputs=[T],
        equations={"temperature": port.potential == T},
    )


def HeatFlowSource() -> Model:
    """The input `Q_flow` in W heats what is connected."""
    port = heat_port()
    Q_flow = symbol("Q_flow")
    return Model(
        name="heat flow source",
        ports={"port": port},
        unknowns=[],
        inputs=[Q_flow],
        equations={"heat": port.flow == -Q_flow},
    )


def FixedHeatFlow(Q_flow: Value = 1.0) -> Model:
    """A constant heat flow into what is connected.

    Parameters
    ----------
    Q_flow
        Heat flow in W.
    """
    port = heat_port()
    return Model(
        name="fixed heat flow",
        ports={"port": port},
        unknowns=[],
        equations={"heat": port.flow == -symbol("Q_flow")},
        parameters=declare("Q_flow", Q_flow, "W"),
    )


def TemperatureSensor() -> Model:
    """The temperature `T` in K of its port, without heat flow."""
    port = heat_port()
    T = symbol("T")
    return Model(
        name="temperature sensor",
        ports={"port": port},
        unknowns=[T],
        equations={"temperature": port.potential == T, "heat": port.flow == 0.0},
    )


def HeatFlowSensor() -> Model:
    """The heat flow `Q_flow` in W from port_a to port_b, which have the same temperature."""
    return _build_between("heat flow sensor", {"law": symbol("dT") == 0.0}, {})
