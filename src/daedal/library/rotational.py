"""Rotating mechanics: angle phi in radians, torque tau in newton metres, positive into the part.

A part between flange_a and flange_b has the relative angle phi_rel = flange_b.phi − flange_a.phi and its rate w_rel.
"""

from daedal.library import mechanics
from daedal.library.quantities import Value, declare, declare_positive
from daedal.models import Model, Port

ROTATION = mechanics.Motion(
    domain="rotational",
    position="phi",
    speed="w",
    load="tau",
    position_word="angle",
    relative_word="twist",
    load_word="torque",
    position_unit="rad",
    load_unit="N.m",
)


def flange() -> Port:
    """The end of a shaft: angle `phi` in rad, torque `tau` in N.m."""
    return ROTATION.flange()


def Fixed(phi0: Value = 0.0) -> Model:
    """A flange that never turns.

    Parameters
    ----------
    phi0
        Its angle in rad.
    """
    return mechanics.build_fixed(ROTATION, phi0)


def Inertia(J: Value = 1.0) -> Model:
    """J a = tau_a + tau_b; angle `phi`, speed `w`, acceleration `a`; starts at rest unless told otherwise.

    Parameters
    ----------
    J
        Moment of inertia in kg.m2.
    """
    return mechanics.build_body(ROTATION, "inertia", declare_positive("J", J, "kg.m2"))


def Spring(c: Value = 1.0, phi_rel0: Value = 0.0) -> Model:
    """tau = c (phi_rel − phi_rel0).

    Parameters
    ----------
    c
        Stiffness in N.m/rad.
    phi_rel0
        Relative angle in rad at which the spring is relaxed.
    """
    return mechanics.build_spring(ROTATION, c, phi_rel0)


def Damper(d: Value = 1.0) -> Model:
    """tau = d w_rel.

    Parameters
    ----------
    d
        Damping in N.m.s/rad.
    """
    return mechanics.build_damper(ROTATION, d)


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
    return mechanics.build_spring_damper(ROTATION, c, d, phi_rel0)


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
    return mechanics.build_friction(ROTATION, "tau", tau_Coulomb, tau_prop, w_small)


def DryFriction(tau_Coulomb: Value = 1.0, tau_prop: Value = 0.0) -> Model:
    """tau = tau_Coulomb sign(w_rel) + tau_prop w_rel; where w_rel = 0 it sticks while |tau| < tau_Coulomb holds it there.

    Parameters
    ----------
    tau_Coulomb
        Torque of dry friction in N.m, sliding and at rest.
    tau_prop
        Viscous part in N.m.s/rad.
    """
    return mechanics.build_dry_friction(ROTATION, "tau", tau_Coulomb, tau_prop)


def StribeckFriction(
    tau_Coulomb: Value = 1.0, tau_prop: Value = 0.0, tau_Stribeck: Value = 0.5, w_Stribeck: Value = 1e-2
) -> Model:
    """tau = (tau_Coulomb + tau_Stribeck exp(−|w_rel|/w_Stribeck)) sign(w_rel) + tau_prop w_rel, with sticking.

    Parameters
    ----------
    tau_Coulomb
        Torque of dry friction in N.m in fast motion.
    tau_prop
        Viscous part in N.m.s/rad.
    tau_Stribeck
        What is added at rest in N.m.
    w_Stribeck
        Speed in rad/s.
    """
    return mechanics.build_stribeck_friction(ROTATION, "tau", tau_Coulomb, tau_prop, tau_Stribeck, w_Stribeck)


def ElastoBacklash(c: Value = 1.0, d: Value = 0.0, b: Value = 0.0, phi_rel0: Value = 0.0) -> Model:
    """A spring with a gap.

    Parameters
    ----------
    c
        Stiffness in N.m/rad in contact.
    d
        Damping in N.m.s/rad in contact.
    b
        Width of the gap in rad.
    phi_rel0
        Relative angle in rad in the middle of the gap.
    """
    return mechanics.build_backlash(ROTATION, c, d, b, phi_rel0)


def IdealGear(ratio: Value = 1.0) -> Model:
    """phi_a = ratio phi_b, without loss: 0 = ratio tau_a + tau_b.

    Parameters
    ----------
    ratio
        Turns of flange_a for each turn of flange_b, without unit.
    """
    return mechanics.build_gear("ideal gear", {"flange_a": flange(), "flange_b": flange()}, declare("ratio", ratio, ""))


def TorqueSource() -> Model:
    """The input `tau` in N.m turns the flange."""
    return mechanics.build_load_source(ROTATION)


def SpeedSource() -> Model:
    """The flange turns with the speed of the input `w` in rad/s; it starts at phi = 0 unless told otherwise."""
    return mechanics.build_speed_source(ROTATION)


def AngleSensor() -> Model:
    """The angle `phi` in rad of its flange, without torque."""
    return mechanics.build_position_sensor(ROTATION)


def SpeedSensor() -> Model:
    """The speed `w` in rad/s of its flange, without torque."""
    return mechanics.build_speed_sensor(ROTATION)


def TorqueSensor() -> Model:
    """The torque `tau` in N.m that goes from flange_a to flange_b, which turn together."""
    return mechanics.build_load_sensor(ROTATION)
