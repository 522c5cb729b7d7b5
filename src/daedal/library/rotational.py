"""Rotating mechanics: angle phi in radians, torque tau in newton metres, positive into the part.

A part between flange_a and flange_b has the relative angle phi_rel = flange_b.phi − flange_a.phi and its rate w_rel.
"""

from daedal.library.quantities import Value, positive, quantity, smooth_sign
from daedal.models import Model, Port, make_port
from daedal.symbolic import Equation, der, symbol, symbols

DOMAIN = "rotational"


def flange() -> Port:
    """The end of a shaft: angle `phi` in rad, torque `tau` in N.m."""
    return make_port(DOMAIN, "phi", "tau")


def Fixed(phi0: Value = 0.0) -> Model:
    """A flange that never turns.

    Parameters
    ----------
    phi0
        Its angle in rad.
    """
    a = flange()
    return Model(
        name="fixed",
        ports={"flange": a},
        unknowns=[],
        equations={"angle": a.potential == symbol("phi0")},
        parameters=quantity("phi0", phi0, "rad"),
    )


def Inertia(J: Value = 1.0) -> Model:
    """J a = tau_a + tau_b; angle `phi`, speed `w`, acceleration `a`; starts at rest unless told otherwise.

    Parameters
    ----------
    J
        Moment of inertia in kg.m2.
    """
    left, right = flange(), flange()
    phi, w, a, moment = symbols("phi w a J")
    return Model(
        name="inertia",
        ports={"flange_a": left, "flange_b": right},
        unknowns=[phi, w, a],
        equations={
            "angle a": left.potential == phi,
            "angle b": right.potential == phi,
            "speed": w == der(phi),
            "acceleration": a == der(w),
            "newton": moment * a == left.flow + right.flow,
        },
        parameters=positive("J", J, "kg.m2"),
        guess={phi: 0.0, w: 0.0},
    )


def _between(name: str, law: dict[str, Equation], parameters: dict | None = None, rate: bool = True) -> Model:
    """Relative angle `phi_rel` from a to b, its rate `w_rel` where it matters, and the torque `tau` of the law."""
    a, b = flange(), flange()
    phi_rel, w_rel, tau = symbols("phi_rel w_rel tau")
    return Model(
        name=name,
        ports={"flange_a": a, "flange_b": b},
        unknowns=[phi_rel, w_rel, tau] if rate else [phi_rel, tau],
        equations={
            "twist": phi_rel == b.potential - a.potential,
            **({"rate": w_rel == der(phi_rel)} if rate else {}),
            **law,
            "torque a": a.flow == -tau,
            "torque b": b.flow == tau,
        },
        parameters=parameters or {},
    )


def Spring(c: Value = 1.0, phi_rel0: Value = 0.0) -> Model:
    """tau = c (phi_rel − phi_rel0).

    Parameters
    ----------
    c
        Stiffness in N.m/rad.
    phi_rel0
        Relative angle in rad at which the spring is relaxed.
    """
    phi_rel, tau, stiffness, relaxed = symbols("phi_rel tau c phi_rel0")
    parameters = {**positive("c", c, "N.m/rad"), **quantity("phi_rel0", phi_rel0, "rad")}
    return _between("spring", {"law": tau == stiffness * (phi_rel - relaxed)}, parameters, rate=False)


def Damper(d: Value = 1.0) -> Model:
    """tau = d w_rel.

    Parameters
    ----------
    d
        Damping in N.m.s/rad.
    """
    w_rel, tau, damping = symbols("w_rel tau d")
    return _between("damper", {"law": tau == damping * w_rel}, positive("d", d, "N.m.s/rad"))


def SpringDamper(c: Value = 1.0, d: Value = 0.0, phi_rel0: Value = 0.0) -> Model:
    """tau = c (phi_rel − phi_rel0) + d w_rel.

    Parameters
    ----------
    c
        Stiffness in N.m/rad.
    d
        Damping in N.m.s/rad.
    phi_rel0
        Relative angle in rad at which the spring is relaxed.
    """
    phi_rel, w_rel, tau, stiffness, damping, relaxed = symbols("phi_rel w_rel tau c d phi_rel0")
    parameters = {
        **positive("c", c, "N.m/rad"),
        **positive("d", d, "N.m.s/rad"),
        **quantity("phi_rel0", phi_rel0, "rad"),
    }
    return _between("spring damper", {"law": tau == stiffness * (phi_rel - relaxed) + damping * w_rel}, parameters)


def Friction(tau_Coulomb: Value = 1.0, tau_prop: Value = 0.0, w_small: Value = 1e-3) -> Model:
    """tau = tau_Coulomb tanh(w_rel / w_small) + tau_prop w_rel: dry friction that creeps instead of sticking.

    Parameters
    ----------
    tau_Coulomb
        Torque of dry friction in N.m.
    tau_prop
        Viscous part in N.m.s/rad.
    w_small
        Speed in rad/s at which dry friction has three quarters of its full torque.
    """
    w_rel, tau, dry, viscous, small = symbols("w_rel tau tau_Coulomb tau_prop w_small")
    parameters = {
        **positive("tau_Coulomb", tau_Coulomb, "N.m"),
        **positive("tau_prop", tau_prop, "N.m.s/rad"),
        **quantity("w_small", w_small, "rad/s"),
    }
    return _between("friction", {"law": tau == dry * smooth_sign(w_rel, small) + viscous * w_rel}, parameters)


def IdealGear(ratio: Value = 1.0) -> Model:
    """phi_a = ratio phi_b, without loss: 0 = ratio tau_a + tau_b.

    Parameters
    ----------
    ratio
        Turns of flange_a for each turn of flange_b, without unit.
    """
    a, b = flange(), flange()
    gearing = symbol("ratio")
    return Model(
        name="ideal gear",
        ports={"flange_a": a, "flange_b": b},
        unknowns=[],
        equations={
            "ratio": a.potential == gearing * b.potential,
            "balance": gearing * a.flow + b.flow == 0.0,
        },
        parameters=quantity("ratio", ratio, ""),
    )


def TorqueSource() -> Model:
    """The input `tau` in N.m turns the flange."""
    a = flange()
    tau = symbol("tau")
    return Model(
        name="torque source", ports={"flange": a}, unknowns=[], inputs=[tau], equations={"torque": a.flow == -tau}
    )


def SpeedSource() -> Model:
    """The flange turns with the speed of the input `w` in rad/s; it starts at phi = 0 unless told otherwise."""
    a = flange()
    w = symbol("w")
    return Model(
        name="speed source",
        ports={"flange": a},
        unknowns=[],
        inputs=[w],
        equations={"speed": der(a.potential) == w},
        guess={a.potential: 0.0},
    )


def AngleSensor() -> Model:
    """The angle `phi` in rad of its flange, without torque."""
    a = flange()
    phi = symbol("phi")
    return Model(
        name="angle sensor",
        ports={"flange": a},
        unknowns=[phi],
        equations={"angle": phi == a.potential, "torque": a.flow == 0.0},
    )


def SpeedSensor() -> Model:
    """The speed `w` in rad/s of its flange, without torque."""
    a = flange()
    w = symbol("w")
    return Model(
        name="speed sensor",
        ports={"flange": a},
        unknowns=[w],
        equations={"speed": w == der(a.potential), "torque": a.flow == 0.0},
    )


def TorqueSensor() -> Model:
    """The torque `tau` in N.m that goes from flange_a to flange_b, which turn together."""
    a, b = flange(), flange()
    tau = symbol("tau")
    return Model(
        name="torque sensor",
        ports={"flange_a": a, "flange_b": b},
        unknowns=[tau],
        equations={"angle": a.potential == b.potential, "torque a": a.flow == tau, "torque b": b.flow == -tau},
    )
