"""Mechanics along a line: position s in metres, force f in newtons, positive into the part.

A part between flange_a and flange_b has the distance s_rel = flange_b.s − flange_a.s and its rate v_rel.
"""

from daedal.library import rotational
from daedal.library.quantities import Value, positive, quantity, smooth_sign
from daedal.models import Model, Port, make_port
from daedal.symbolic import Equation, der, symbol, symbols

DOMAIN = "translational"


def flange() -> Port:
    """The end of a rod: position `s` in m, force `f` in N."""
    return make_port(DOMAIN, "s", "f")


def Fixed(s0: Value = 0.0) -> Model:
    """A flange that never moves.

    Parameters
    ----------
    s0
        Its position in m.
    """
    a = flange()
    return Model(
        name="fixed",
        ports={"flange": a},
        unknowns=[],
        equations={"position": a.potential == symbol("s0")},
        parameters=quantity("s0", s0, "m"),
    )


def Mass(m: Value = 1.0) -> Model:
    """m a = f_a + f_b; position `s`, speed `v`, acceleration `a`; starts at rest unless told otherwise.

    Parameters
    ----------
    m
        Mass in kg.
    """
    left, right = flange(), flange()
    s, v, a, mass = symbols("s v a m")
    return Model(
        name="mass",
        ports={"flange_a": left, "flange_b": right},
        unknowns=[s, v, a],
        equations={
            "position a": left.potential == s,
            "position b": right.potential == s,
            "speed": v == der(s),
            "acceleration": a == der(v),
            "newton": mass * a == left.flow + right.flow,
        },
        parameters=positive("m", m, "kg"),
        guess={s: 0.0, v: 0.0},
    )


def _between(name: str, law: dict[str, Equation], parameters: dict | None = None, rate: bool = True) -> Model:
    """Distance `s_rel` from a to b, its rate `v_rel` where it matters, and the force `f` that the law gives."""
    a, b = flange(), flange()
    s_rel, v_rel, f = symbols("s_rel v_rel f")
    return Model(
        name=name,
        ports={"flange_a": a, "flange_b": b},
        unknowns=[s_rel, v_rel, f] if rate else [s_rel, f],
        equations={
            "distance": s_rel == b.potential - a.potential,
            **({"rate": v_rel == der(s_rel)} if rate else {}),
            **law,
            "force a": a.flow == -f,
            "force b": b.flow == f,
        },
        parameters=parameters or {},
    )


def Spring(c: Value = 1.0, s_rel0: Value = 0.0) -> Model:
    """f = c (s_rel − s_rel0).

    Parameters
    ----------
    c
        Stiffness in N/m.
    s_rel0
        Distance in m at which the spring is relaxed.
    """
    s_rel, f, stiffness, relaxed = symbols("s_rel f c s_rel0")
    parameters = {**positive("c", c, "N/m"), **quantity("s_rel0", s_rel0, "m")}
    return _between("spring", {"law": f == stiffness * (s_rel - relaxed)}, parameters, rate=False)


def Damper(d: Value = 1.0) -> Model:
    """f = d v_rel.

    Parameters
    ----------
    d
        Damping in N.s/m.
    """
    v_rel, f, damping = symbols("v_rel f d")
    return _between("damper", {"law": f == damping * v_rel}, positive("d", d, "N.s/m"))


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
    s_rel, v_rel, f, stiffness, damping, relaxed = symbols("s_rel v_rel f c d s_rel0")
    parameters = {**positive("c", c, "N/m"), **positive("d", d, "N.s/m"), **quantity("s_rel0", s_rel0, "m")}
    return _between("spring damper", {"law": f == stiffness * (s_rel - relaxed) + damping * v_rel}, parameters)


def Friction(F_Coulomb: Value = 1.0, F_prop: Value = 0.0, v_small: Value = 1e-3) -> Model:
    """f = F_Coulomb tanh(v_rel / v_small) + F_prop v_rel: dry friction that creeps instead of sticking.

    Parameters
    ----------
    F_Coulomb
        Force of dry friction in N.
    F_prop
        Viscous part in N.s/m.
    v_small
        Speed in m/s at which dry friction has three quarters of its full force.
    """
    v_rel, f, dry, viscous, small = symbols("v_rel f F_Coulomb F_prop v_small")
    parameters = {
        **positive("F_Coulomb", F_Coulomb, "N"),
        **positive("F_prop", F_prop, "N.s/m"),
        **quantity("v_small", v_small, "m/s"),
    }
    return _between("friction", {"law": f == dry * smooth_sign(v_rel, small) + viscous * v_rel}, parameters)


def IdealGearR2T(ratio: Value = 1.0) -> Model:
    """A wheel on a rack: phi = ratio s, without loss: 0 = ratio tau + f; flangeR rotates, flangeT moves.

    Parameters
    ----------
    ratio
        Angle per length in rad/m.
    """
    turning, moving = rotational.flange(), flange()
    gearing = symbol("ratio")
    return Model(
        name="ideal gear to a rack",
        ports={"flangeR": turning, "flangeT": moving},
        unknowns=[],
        equations={
            "ratio": turning.potential == gearing * moving.potential,
            "balance": gearing * turning.flow + moving.flow == 0.0,
        },
        parameters=quantity("ratio", ratio, "rad/m"),
    )


def ForceSource() -> Model:
    """The input `f` in N pushes the flange."""
    a = flange()
    f = symbol("f")
    return Model(name="force source", ports={"flange": a}, unknowns=[], inputs=[f], equations={"force": a.flow == -f})


def SpeedSource() -> Model:
    """The flange moves with the speed of the input `v` in m/s; it starts at s = 0 unless told otherwise."""
    a = flange()
    v = symbol("v")
    return Model(
        name="speed source",
        ports={"flange": a},
        unknowns=[],
        inputs=[v],
        equations={"speed": der(a.potential) == v},
        guess={a.potential: 0.0},
    )


def PositionSensor() -> Model:
    """The position `s` in m of its flange, without force."""
    a = flange()
    s = symbol("s")
    return Model(
        name="position sensor",
        ports={"flange": a},
        unknowns=[s],
        equations={"position": s == a.potential, "force": a.flow == 0.0},
    )


def SpeedSensor() -> Model:
    """The speed `v` in m/s of its flange, without force."""
    a = flange()
    v = symbol("v")
    return Model(
        name="speed sensor",
        ports={"flange": a},
        unknowns=[v],
        equations={"speed": v == der(a.potential), "force": a.flow == 0.0},
    )


def ForceSensor() -> Model:
    """The force `f` in N that goes from flange_a to flange_b, which move together."""
    a, b = flange(), flange()
    f = symbol("f")
    return Model(
        name="force sensor",
        ports={"flange_a": a, "flange_b": b},
        unknowns=[f],
        equations={"position": a.potential == b.potential, "force a": a.flow == f, "force b": b.flow == -f},
    )
