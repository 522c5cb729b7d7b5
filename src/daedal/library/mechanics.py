"""Mechanics in one direction, turning or along a line: the same components in other letters, words and units.

A part has a position, a speed and a load (a torque or a force), positive into the part at its flanges. A part between
flange_a and flange_b has the relative position flange_b − flange_a, its rate, and the load of a law.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.library.quantities import Value, declare, declare_positive, smooth_sign
from daedal.models import Model, Parameter, Port, make_port
from daedal.symbolic import Equation, Expression, der, symbol, symbols, where


@final
@dataclass(frozen=True)
class Motion:
    """How one kind of motion names its quantities: letters of symbols, words of equations, units."""

    domain: str
    position: str
    speed: str
    load: str
    position_word: str
    relative_word: str
    load_word: str
    position_unit: str
    load_unit: str

    @property
    def speed_unit(self) -> str:
        return f"{self.position_unit}/s"

    @property
    def stiffness_unit(self) -> str:
        return f"{self.load_unit}/{self.position_unit}"

    @property
    def damping_unit(self) -> str:
        return f"{self.load_unit}.s/{self.position_unit}"

    def flange(self) -> Port:
        return make_port(self.domain, self.position, self.load)

    def relative(self) -> tuple[Expression, Expression, Expression]:
        """Relative position, its rate and the load of a part between two flanges."""
        position, rate, load = symbols(f"{self.position}_rel {self.speed}_rel {self.load}")
        return position, rate, load


def build_fixed(motion: Motion, position: Value) -> Model:
    """A flange that stays where it is."""
    flange, name = motion.flange(), f"{motion.position}0"
    return Model(
        name="fixed",
        ports={"flange": flange},
        unknowns=[],
        equations={motion.position_word: flange.potential == symbol(name)},
        parameters=declare(name, position, motion.position_unit),
    )


def build_body(motion: Motion, name: str, inertia: dict[Expression, Parameter]) -> Model:
    """inertia · acceleration = load_a + load_b; starts at rest unless told otherwise."""
    left, right = motion.flange(), motion.flange()
    position, speed, a = symbols(f"{motion.position} {motion.speed} a")
    (mass,) = inertia
    return Model(
        name=name,
        ports={"flange_a": left, "flange_b": right},
        unknowns=[position, speed, a],
        equations={
            f"{motion.position_word} a": left.potential == position,
            f"{motion.position_word} b": right.potential == position,
            "speed": speed == der(position),
            "acceleration": a == der(speed),
            "newton": mass * a == left.flow + right.flow,
        },
        parameters=inertia,
        guess={position: 0.0, speed: 0.0},
    )


def connect_flanges(
    motion: Motion, name: str, law: Equation, parameters: dict[Expression, Parameter], rate: bool = True
) -> Model:
    """A part between two flanges whose law gives the load from `motion.relative()`; `rate`: where it has a speed."""
    a, b = motion.flange(), motion.flange()
    position_rel, speed_rel, load = motion.relative()
    return Model(
        name=name,
        ports={"flange_a": a, "flange_b": b},
        unknowns=[position_rel, speed_rel, load] if rate else [position_rel, load],
        equations={
            motion.relative_word: position_rel == b.potential - a.potential,
            **({"rate": speed_rel == der(position_rel)} if rate else {}),
            "law": law,
            f"{motion.load_word} a": a.flow == -load,
            f"{motion.load_word} b": b.flow == load,
        },
        parameters=parameters,
    )


def build_spring(motion: Motion, c: Value, relaxed: Value) -> Model:
    position_rel, _, load = motion.relative()
    stiffness, position_rel0 = symbols(f"c {position_rel}0")
    parameters = {
        **declare_positive("c", c, motion.stiffness_unit),
        **declare(f"{position_rel}0", relaxed, motion.position_unit),
    }
    return connect_flanges(motion, "spring", load == stiffness * (position_rel - position_rel0), parameters, rate=False)


def build_damper(motion: Motion, d: Value) -> Model:
    _, speed_rel, load = motion.relative()
    return connect_flanges(
        motion, "damper", load == symbol("d") * speed_rel, declare_positive("d", d, motion.damping_unit)
    )


def build_spring_damper(motion: Motion, c: Value, d: Value, relaxed: Value) -> Model:
    position_rel, speed_rel, load = motion.relative()
    stiffness, damping, position_rel0 = symbols(f"c d {position_rel}0")
    parameters = {
        **declare_positive("c", c, motion.stiffness_unit),
        **declare_positive("d", d, motion.damping_unit),
        **declare(f"{position_rel}0", relaxed, motion.position_unit),
    }
    law = load == stiffness * (position_rel - position_rel0) + damping * speed_rel
    return connect_flanges(motion, "spring damper", law, parameters)


def build_friction(motion: Motion, letter: str, coulomb: Value, proportional: Value, small: Value) -> Model:
    """Dry friction that creeps instead of sticking, and viscous friction; their parameters begin with a letter."""
    _, speed_rel, load = motion.relative()
    names = f"{letter}_Coulomb", f"{letter}_prop", f"{motion.speed}_small"
    dry, viscous, width = (symbol(name) for name in names)
    parameters = {
        **declare_positive(names[0], coulomb, motion.load_unit),
        **declare_positive(names[1], proportional, motion.damping_unit),
        **declare(names[2], small, motion.speed_unit),
    }
    law = load == dry * smooth_sign(speed_rel, width) + viscous * speed_rel
    return connect_flanges(motion, "friction", law, parameters)


def build_dry_friction(motion: Motion, letter: str, coulomb: Value, proportional: Value) -> Model:
    """Dry friction that sticks, and viscous friction."""
    _, speed_rel, load = motion.relative()
    names = f"{letter}_Coulomb", f"{letter}_prop"
    dry, viscous = (symbol(name) for name in names)
    parameters = {
        **declare_positive(names[0], coulomb, motion.load_unit),
        **declare_positive(names[1], proportional, motion.damping_unit),
    }
    law = load == dry * np.sign(speed_rel) + viscous * speed_rel
    return connect_flanges(motion, "dry friction", law, parameters)


def build_stribeck_friction(
    motion: Motion, letter: str, coulomb: Value, proportional: Value, excess: Value, decay: Value
) -> Model:
    """Dry friction that sticks, larger by an excess at rest than in fast motion, and viscous friction.

    Tustin, J. IEE 94 (1947) 143–151: the excess decays as exp(−|speed|/decay). Others put the square of the ratio there
    (Armstrong-Hélouvry, Dupont, Canudas de Wit, Automatica 30 (1994) 1083–1138).
    """
    _, speed_rel, load = motion.relative()
    names = f"{letter}_Coulomb", f"{letter}_prop", f"{letter}_Stribeck", f"{motion.speed}_Stribeck"
    dry, viscous, extra, width = (symbol(name) for name in names)
    parameters = {
        **declare_positive(names[0], coulomb, motion.load_unit),
        **declare_positive(names[1], proportional, motion.damping_unit),
        **declare_positive(names[2], excess, motion.load_unit),
        **declare_positive(names[3], decay, motion.speed_unit),
    }
    magnitude = dry + extra * np.exp(-np.abs(speed_rel) / width)
    law = load == magnitude * np.sign(speed_rel) + viscous * speed_rel
    return connect_flanges(motion, "Stribeck friction", law, parameters)


def build_backlash(motion: Motion, c: Value, d: Value, b: Value, relaxed: Value) -> Model:
    """A spring damper behind a gap of width b that never pulls: its damping is at most what the spring pushes with."""
    position_rel, speed_rel, load = motion.relative()
    stiffness, damping, width, position_rel0 = symbols(f"c d b {position_rel}0")
    offset = position_rel - position_rel0
    parameters = {
        **declare_positive("c", c, motion.stiffness_unit),
        **declare_positive("d", d, motion.damping_unit),
        **declare_positive("b", b, motion.position_unit),
        **declare(f"{position_rel}0", relaxed, motion.position_unit),
    }
    above, below = stiffness * (offset - width / 2), stiffness * (offset + width / 2)
    upper = where(offset > width / 2, above + np.clip(damping * speed_rel, -above, above), 0.0)
    lower = where(offset < -width / 2, below + np.clip(damping * speed_rel, below, -below), 0.0)
    return connect_flanges(motion, "elastic backlash", load == upper + lower, parameters)


def build_gear(name: str, ports: dict[str, Port], ratio: dict[Expression, Parameter]) -> Model:
    """position of the first flange = ratio · position of the second, without loss."""
    first, second = ports.values()
    (gearing,) = ratio
    return Model(
        name=name,
        ports=ports,
        unknowns=[],
        equations={
            "ratio": first.potential == gearing * second.potential,
            "balance": gearing * first.flow + second.flow == 0.0,
        },
        parameters=ratio,
    )


def build_load_source(motion: Motion) -> Model:
    flange, load = motion.flange(), symbol(motion.load)
    return Model(
        name=f"{motion.load_word} source",
        ports={"flange": flange},
        unknowns=[],
        inputs=[load],
        equations={motion.load_word: flange.flow == -load},
    )


def build_speed_source(motion: Motion) -> Model:
    flange, speed = motion.flange(), symbol(motion.speed)
    return Model(
        name="speed source",
        ports={"flange": flange},
        unknowns=[],
        inputs=[speed],
        equations={"speed": der(flange.potential) == speed},
        guess={flange.potential: 0.0},
    )


def build_position_sensor(motion: Motion) -> Model:
    flange, position = motion.flange(), symbol(motion.position)
    law = {motion.position_word: position == flange.potential}
    return _build_sensor(motion, f"{motion.position_word} sensor", flange, position, law)


def build_speed_sensor(motion: Motion) -> Model:
    flange, speed = motion.flange(), symbol(motion.speed)
    return _build_sensor(motion, "speed sensor", flange, speed, {"speed": speed == der(flange.potential)})


def _build_sensor(motion: Motion, name: str, flange: Port, value: Expression, law: dict[str, Equation]) -> Model:
    """What a law says of a flange on which no load acts."""
    return Model(
        name=name,
        ports={"flange": flange},
        unknowns=[value],
        equations={**law, motion.load_word: flange.flow == 0.0},
    )


def build_load_sensor(motion: Motion) -> Model:
    a, b = motion.flange(), motion.flange()
    load = symbol(motion.load)
    return Model(
        name=f"{motion.load_word} sensor",
        ports={"flange_a": a, "flange_b": b},
        unknowns=[load],
        equations={
            motion.position_word: a.potential == b.potential,
            f"{motion.load_word} a": a.flow == load,
            f"{motion.load_word} b": b.flow == -load,
        },
    )
