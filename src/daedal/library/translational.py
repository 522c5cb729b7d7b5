"""Mechanics along a line: position s in metres, force f in newtons, positive into the part.

A part between flange_a and flange_b has the distance s_rel = flange_b.s − flange_a.s and its rate v_rel.
"""

from daedal.library import mechanics, rotational
from daedal.library.quantities import Value, declare, declare_positive
from daedal.models import Model, Port

TRANSLATION = mechanics.Motion(
    domain="translational",
    position="s",
    speed="v",
    load="f",
    position_word="position",
    relative_word="distance",
    load_word="force",
    position_unit="m",
    load_unit="N",
)


def flange() -> Port:
    """The end of a rod: position `s` in m, force `f` in N."""
    return TRANSLATION.flange()


def Fixed(s0: Value = 0.0) -> Model:
    """A flange that never moves.

    Parameters
    ----------
    s0
        Its position in m.
    """
    return mechanics.build_fixed(TRANSLATION, s0)


def Mass(m: Value = 1.0) -> Model:
    """m a = f_a + f_b; position `s`, speed `v`, acceleration `a`; starts at rest unless told otherwise.

    Parameters
    ----------
    m
        Mass in kg.
    """
    return mechanics.build_body(TRANSLATION, "mass", declare_positive("m", m, "kg"))


def Spring(c: Value = 1.0, s_rel0: Value = 0.0) -> Model:
    """f = c (s_rel − s_rel0).

    Parameters
    ----------
    c
        Stiffness in N/m.
    s_rel0
        Distance in m at which the spring is relaxed.
    """
    return mechanics.build_spring(TRANSLATION, c, s_rel0)


def Damper(d: Value = 1.0) -> Model:
    """f = d v_rel.

    Parameters
    ----------
    d
        Damping in N.s/m.
    """
    return mechanics.build_damper(TRANSLATION, d)


def SpringDamper(c: Value = 1.0, d: Value = 0.0, s_rel0: Value = 0.0) -> Model:
    """f = c (s_rel − s_rel0) + d v_rel.

    Parameters
    ----------
    c
        Stiffness in N/m.
    d
        Damping in N.s/m.
    s_rel0
        Distance in m at which the spring is relaxed.
    """
    return mechanics.build_spring_damper(TRANSLATION, c, d, s_rel0)


def Friction(F_Coulomb: Value = 1.0, F_prop: Value = 0.0, v_small: Value = 1e-3) -> Model:
    """f = F_Coulomb tanh(v_rel / v_small) + F_prop v_rel: a smooth `DryFriction`, which creeps and never sticks.

    Parameters
    ----------
    F_Coulomb
        Force of dry friction in N.
    F_prop
        Viscous part in N.s/m.
    v_small
        Speed in m/s at which dry friction has three quarters of its full force.
    """
    return mechanics.build_friction(TRANSLATION, "F", F_Coulomb, F_prop, v_small)


def DryFriction(F_Coulomb: Value = 1.0, F_prop: Value = 0.0) -> Model:
    """f = F_Coulomb sign(v_rel) + F_prop v_rel, with sticking.

    Where v_rel = 0 it holds what it connects with whatever |f| ≤ F_Coulomb that takes, and lets go beyond.

    Parameters
    ----------
    F_Coulomb
        Force of dry friction in N.
    F_prop
        Viscous part in N.s/m.

    Examples
    --------
    >>> import daedal as dd
    >>> block = dd.assemble(
    ...     name="block",
    ...     parts={"block": Mass(m=2.0), "plane": Fixed(), "contact": DryFriction(F_Coulomb=1.0)},
    ...     connections=[("plane.flange", "contact.flange_a"), ("contact.flange_b", "block.flange_a")],
    ...     initial={"block.v": 1.0},
    ... )
    >>> print(dd.simulate(block, [0.0, 1.0, 2.5, 3.0])["block.v"].round(6))
    [1.  0.5 0.  0. ]
    """
    return mechanics.build_dry_friction(TRANSLATION, "F", F_Coulomb, F_prop)


def StribeckFriction(
    F_Coulomb: Value = 1.0, F_prop: Value = 0.0, F_Stribeck: Value = 0.5, v_Stribeck: Value = 1e-2
) -> Model:
    """f = (F_Coulomb + F_Stribeck exp(−|v_rel|/v_Stribeck)) sign(v_rel) + F_prop v_rel, with sticking.

    Where v_rel = 0 it holds what it connects until |f| = F_Coulomb + F_Stribeck. The exponential is that of
    Tustin (1947), as in `MassWithStopAndFriction` of the Modelica Standard Library with fexp = 1/v_Stribeck.

    Parameters
    ----------
    F_Coulomb
        Force of dry friction in fast motion in N.
    F_prop
        Viscous part in N.s/m.
    F_Stribeck
        What dry friction has more at rest, in N.
    v_Stribeck
        Speed in m/s at which 37 % of that is left.

    Examples
    --------
    >>> print(StribeckFriction(F_Coulomb=0.4, F_Stribeck=0.6).equations["law"])
    f == (F_Coulomb + F_Stribeck*exp(-(abs(v_rel)/v_Stribeck)))*sign(v_rel) + F_prop*v_rel
    """
    return mechanics.build_stribeck_friction(TRANSLATION, "F", F_Coulomb, F_prop, F_Stribeck, v_Stribeck)


def ElastoBacklash(c: Value = 1.0, d: Value = 0.0, b: Value = 0.0, s_rel0: Value = 0.0) -> Model:
    """A spring with a gap: f = c z + d v_rel, where z is how far s_rel − s_rel0 is outside of −b/2 … b/2.

    In the gap f = 0. The damping part is kept within ±c |z|: f grows from zero when the sides touch, and never
    pulls them together. An elastic backlash, without impacts.

    Parameters
    ----------
    c
        Stiffness of the contact in N/m.
    d
        Damping of the contact in N.s/m.
    b
        Width of the gap in m.
    s_rel0
        Distance in m in the middle of the gap.

    Examples
    --------
    >>> import daedal as dd
    >>> play = dd.assemble(
    ...     name="play",
    ...     parts={"body": Mass(), "play": ElastoBacklash(c=100.0, b=0.2), "wall": Fixed()},
    ...     connections=[("wall.flange", "play.flange_a"), ("play.flange_b", "body.flange_a")],
    ...     initial={"body.v": 1.0},
    ... )
    >>> print(dd.simulate(play, [0.0, 0.1, 0.5, 0.6])["body.v"].round(4))
    [ 1.  1. -1. -1.]
    """
    return mechanics.build_backlash(TRANSLATION, c, d, b, s_rel0)


def IdealGearR2T(ratio: Value = 1.0) -> Model:
    """A wheel on a rack: phi = ratio s, without loss: 0 = ratio tau + f; flangeR rotates, flangeT moves.

    Parameters
    ----------
    ratio
        Angle per length in rad/m.
    """
    return mechanics.build_gear(
        "ideal gear to a rack", {"flangeR": rotational.flange(), "flangeT": flange()}, declare("ratio", ratio, "rad/m")
    )


def ForceSource() -> Model:
    """The input `f` in N pushes the flange."""
    return mechanics.build_load_source(TRANSLATION)


def SpeedSource() -> Model:
    """The flange moves with the speed of the input `v` in m/s; it starts at s = 0 unless told otherwise."""
    return mechanics.build_speed_source(TRANSLATION)


def PositionSensor() -> Model:
    """The position `s` in m of its flange, without force."""
    return mechanics.build_position_sensor(TRANSLATION)


def SpeedSensor() -> Model:
    """The speed `v` in m/s of its flange, without force."""
    return mechanics.build_speed_sensor(TRANSLATION)


def ForceSensor() -> Model:
    """The force `f` in N that goes from flange_a to flange_b, which move together."""
    return mechanics.build_load_sensor(TRANSLATION)
