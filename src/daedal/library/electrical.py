"""Electrical components: potential v in volts, current i in amperes, positive into the part."""

from daedal.library.quantities import Value, quantity
from daedal.models import Model, Port, new_port
from daedal.symbolic import der, symbol, symbols

DOMAIN = "electrical"


def pin() -> Port:
    """A place to connect a wire: voltage `v`, current `i`."""
    return new_port(DOMAIN, "v", "i")


def _two_pins(name: str, law: dict, parameters: dict | None = None, inputs: tuple = ()) -> Model:
    """Voltage v from p to n and current i through it; the law relates them."""
    p, n = pin(), pin()
    v, i = symbols("v i")
    unknowns = [symbol_ for symbol_ in (v, i) if str(symbol_) not in map(str, inputs)]
    return Model(
        name=name,
        ports={"p": p, "n": n},
        unknowns=unknowns,
        inputs=inputs,
        equations={"voltage": v == p.potential - n.potential, "current": p.flow == i, "through": n.flow == -i, **law},
        parameters=parameters or {},
    )


def Ground() -> Model:
    """Potential zero at `p`."""
    p = pin()
    return Model(name="ground", ports={"p": p}, unknowns=[], equations={"potential": p.potential == 0.0})


def Resistor(R: Value = 1.0) -> Model:
    """v = R i."""
    v, i, resistance = symbols("v i R")
    return _two_pins("resistor", {"law": v == resistance * i}, quantity("R", R, "Ohm"))


def VoltageSource() -> Model:
    """The input `v` between p and n."""
    return _two_pins("voltage source", {}, inputs=(symbol("v"),))


def RotationalEMF(k: Value = 1.0) -> Model:
    """An ideal motor: v = k w, tau = k i, the torque `tau` turning the flange with speed `w`."""
    from daedal.library.rotational import flange

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
        parameters=quantity("k", k, "N.m/A"),
    )
