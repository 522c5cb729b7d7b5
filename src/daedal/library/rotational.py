"""Rotating mechanics: angle phi in radians, torque tau in newton metres, positive into the part."""

from daedal.library.quantities import Value, quantity
from daedal.models import Model, Port, new_port
from daedal.symbolic import der, symbol, symbols

DOMAIN = "rotational"


def flange() -> Port:
    """The end of a shaft: angle `phi`, torque `tau`."""
    return new_port(DOMAIN, "phi", "tau")


def Fixed(phi0: Value = 0.0) -> Model:
    """A flange that never turns."""
    a = flange()
    return Model(
        name="fixed",
        ports={"flange": a},
        unknowns=[],
        equations={"angle": a.potential == symbol("phi0")},
        parameters=quantity("phi0", phi0, "rad"),
    )


def Inertia(J: Value = 1.0) -> Model:
    """J a = tau_a + tau_b; angle `phi`, speed `w`, acceleration `a`."""
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
        parameters=quantity("J", J, "kg.m2"),
        guess={phi: 0.0, w: 0.0},
    )


def _between(name: str, law: dict, parameters: dict) -> Model:
    """Relative angle `phi_rel` from a to b, its rate `w_rel`, and the torque `tau` that the law gives."""
    a, b = flange(), flange()
    phi_rel, w_rel, tau = symbols("phi_rel w_rel tau")
    return Model(
        name=name,
        ports={"flange_a": a, "flange_b": b},
        unknowns=[phi_rel, w_rel, tau],
        equations={
            "twist": phi_rel == b.potential - a.potential,
            "rate": w_rel == der(phi_rel),
            **law,
            "torque a": a.flow == -tau,
            "torque b": b.flow == tau,
        },
        parameters=parameters,
    )


def SpringDamper(c: Value = 1.0, d: Value = 0.0) -> Model:
    """tau = c phi_rel + d w_rel."""
    phi_rel, w_rel, tau, stiffness, damping = symbols("phi_rel w_rel tau c d")
    law = {"law": tau == stiffness * phi_rel + damping * w_rel}
    return _between("spring damper", law, {**quantity("c", c, "N.m/rad"), **quantity("d", d, "N.m.s/rad")})


def Damper(d: Value = 1.0) -> Model:
    """tau = d w_rel."""
    w_rel, tau, damping = symbols("w_rel tau d")
    return _between("damper", {"law": tau == damping * w_rel}, quantity("d", d, "N.m.s/rad"))


def IdealGear(ratio: Value = 1.0) -> Model:
    """phi_a = ratio phi_b, without loss: 0 = ratio tau_a + tau_b."""
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
    """The input `tau` turns the flange."""
    a = flange()
    tau = symbol("tau")
    return Model(
        name="torque source", ports={"flange": a}, unknowns=[], inputs=[tau], equations={"torque": a.flow == -tau}
    )
