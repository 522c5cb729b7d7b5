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
    """tau = tau_Coulomb tanh(w_rel / w_small) + tau_prop w_rel: a smooth `DryFriction`, which creeps and never sticks.

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
    """tau = tau_Coulomb sign(w_rel) + tau_prop w_rel, with sticking.

    Where w_rel = 0 it holds what it connects with whatever |tau| ≤ tau_Coulomb that takes, and lets go beyond.

    Parameters
    ----------
    tau_Coulomb
        Torque of dry friction in N.m.
    tau_prop
        Viscous part in N.m.s/rad.

    Examples
    --------
    >>> import daedal as dd
    >>> block = dd.assemble(
    ...     name="block",
    ...     parts={"block": Inertia(J=2.0), "plane": Fixed(), "contact": DryFriction(tau_Coulomb=1.0)},
    ...     connections=[("plane.flange", "contact.flange_a"), ("contact.flange_b", "block.flange_a")],
    ...     initial={"block.w": 1.0},
    ... )
    >>> print(dd.simulate(block, [0.0, 1.0, 2.5, 3.0])["block.w"].round(6))
    [1.  0.5 0.  0. ]
    """
    return mechanics.build_dry_friction(ROTATION, "tau", tau_Coulomb, tau_prop)


def StribeckFriction(
    tau_Coulomb: Value = 1.0, tau_prop: Value = 0.0, tau_Stribeck: Value = 0.5, w_Stribeck: Value = 1e-2
) -> Model:
    """tau = (tau_Coulomb + tau_Stribeck exp(−|w_rel|/w_Stribeck)) sign(w_rel) + tau_prop w_rel, with sticking.

    Where w_rel = 0 it holds what it connects until |tau| = tau_Coulomb + tau_Stribeck. The exponential is that of
    Tustin (1947), as in `MassWithStopAndFriction` of the Modelica Standard Library with fexp = 1/w_Stribeck.

    Parameters
    ----------
    tau_Coulomb
        Torque of dry friction in fast motion in N.m.
    tau_prop
        Viscous part in N.m.s/rad.
    tau_Stribeck
        What dry friction has more at rest, in N.m.
    w_Stribeck
        Speed in rad/s at which 37 % of that is left.

    Examples
    --------
    >>> print(StribeckFriction(tau_Coulomb=0.4, tau_Stribeck=0.6).equations["law"])
    tau == (tau_Coulomb + tau_Stribeck*exp(-(abs(w_rel)/w_Stribeck)))*sign(w_rel) + tau_prop*w_rel
    """
    return mechanics.build_stribeck_friction(ROTATION, "tau", tau_Coulomb, tau_prop, tau_Stribeck, w_Stribeck)


def ElastoBacklash(c: Value = 1.0, d: Value = 0.0, b: Value = 0.0, phi_rel0: Value = 0.0) -> Model:
    """A spring with a gap: tau = c z + d w_rel, where z is how far phi_rel − phi_rel0 is outside of −b/2 … b/2.

    In the gap tau = 0. The damping part is kept within ±c |z|: tau grows from zero when the sides touch, and never
    pulls them together. An elastic backlash, without impacts.

    Parameters
    ----------
    c
        Stiffness of the contact in N.m/rad.
    d
        Damping of the contact in N.m.s/rad.
    b
        Width of the gap in rad.
    phi_rel0
        Relative angle in rad in the middle of the gap.

    Examples
    --------
    >>> import daedal as dd
    >>> play = dd.assemble(
    ...     name="play",
    ...     parts={"body": Inertia(), "play": ElastoBacklash(c=100.0, b=0.2), "wall": Fixed()},
    ...     connections=[("wall.flange", "play.flange_a"), ("play.flange_b", "body.flange_a")],
    ...     initial={"body.w": 1.0},
    ... )
    >>> print(dd.simulate(play, [0.0, 0.1, 0.5, 0.6])["body.w"].round(4))
    [ 1.  1. -1. -1.]
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
