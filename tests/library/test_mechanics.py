"""Each rotational and translational component against a closed form; the same tests serve both."""

import numpy as np
import pytest
from assembled import run

import daedal as dd
from daedal.library import rotational as rot
from daedal.library import translational as tra

TIMES = np.linspace(0.0, 2.0, 21)


class Kind:
    """The names of one of the two mechanics."""

    def __init__(self, library, body, source, position, speed, effort, sensor, effort_sensor):
        self.library, self.body, self.source = library, body, source
        self.x, self.v, self.f = position, speed, effort
        self.sensor, self.effort_sensor = sensor, effort_sensor
        self.Coulomb, self.prop, self.small, self.relaxed = {
            "phi": ("tau_Coulomb", "tau_prop", "w_small", "phi_rel0"),
            "s": ("F_Coulomb", "F_prop", "v_small", "s_rel0"),
        }[position]


ROTATION = Kind(rot, rot.Inertia, rot.TorqueSource, "phi", "w", "tau", rot.AngleSensor, rot.TorqueSensor)
TRANSLATION = Kind(tra, tra.Mass, tra.ForceSource, "s", "v", "f", tra.PositionSensor, tra.ForceSensor)
both = pytest.mark.parametrize("kind", [ROTATION, TRANSLATION], ids=["rotational", "translational"])


def near(found, expected, tolerance=1e-7):
    np.testing.assert_allclose(found, np.broadcast_to(expected, np.shape(found)), rtol=tolerance, atol=tolerance)


@both
def test_a_constant_effort_accelerates_a_body(kind):
    parts = {"body": kind.body(4.0), "push": kind.source()}
    found = run(parts, [("push.flange", "body.flange_a")], TIMES, inputs={f"push.{kind.f}": 2.0})
    near(found["body.a"], 0.5)
    near(found[f"body.{kind.v}"], 0.5 * TIMES)
    near(found[f"body.{kind.x}"], 0.25 * TIMES**2)


@both
def test_a_body_on_a_spring_swings_and_keeps_the_energy(kind):
    parts = {"body": kind.body(0.5), "spring": kind.library.Spring(8.0, 0.3), "wall": kind.library.Fixed(0.1)}
    found = run(
        parts,
        [("wall.flange", "spring.flange_a"), ("spring.flange_b", "body.flange_a")],
        TIMES,
        initial={f"body.{kind.x}": 0.9, f"body.{kind.v}": 0.0},
    )
    near(found[f"body.{kind.x}"], 0.4 + 0.5 * np.cos(4.0 * TIMES))
    near(found[f"spring.{kind.f}"], 4.0 * np.cos(4.0 * TIMES))
    energy = 4.0 * (found[f"spring.{kind.x}_rel"] - 0.3) ** 2 + 0.25 * found[f"body.{kind.v}"] ** 2
    near(energy, 1.0)


@both
def test_a_damper_brakes_exponentially(kind):
    parts = {"body": kind.body(2.0), "damper": kind.library.Damper(3.0), "wall": kind.library.Fixed()}
    found = run(
        parts,
        [("wall.flange", "damper.flange_a"), ("damper.flange_b", "body.flange_a")],
        TIMES,
        initial={f"body.{kind.v}": 5.0},
    )
    near(found[f"body.{kind.v}"], 5.0 * np.exp(-1.5 * TIMES))
    near(found[f"damper.{kind.v}_rel"], 5.0 * np.exp(-1.5 * TIMES))


@both
def test_two_bodies_with_a_spring_damper_meet_in_their_common_centre(kind):
    parts = {"a": kind.body(1.0), "b": kind.body(3.0), "link": kind.library.SpringDamper(6.0, 1.2, 0.2)}
    found = run(
        parts,
        [("a.flange_b", "link.flange_a"), ("link.flange_b", "b.flange_a")],
        TIMES,
        initial={f"a.{kind.x}": 0.0, f"b.{kind.x}": 1.2, f"a.{kind.v}": 0.0, f"b.{kind.v}": 0.0},
    )
    decay, frequency = 1.2 / (2 * 0.75), np.sqrt(6.0 / 0.75 - (1.2 / 1.5) ** 2)  # 0.75: the reduced mass
    swing = np.cos(frequency * TIMES) + decay / frequency * np.sin(frequency * TIMES)
    near(found[f"link.{kind.x}_rel"], 0.2 + np.exp(-decay * TIMES) * swing)
    near((found[f"a.{kind.x}"] + 3.0 * found[f"b.{kind.x}"]) / 4.0, 0.9)


@both
def test_dry_friction_takes_a_constant_deceleration(kind):
    """tanh(v / small): sinh(v/small) decays exponentially, which is a constant deceleration while v ≫ small."""
    friction = kind.library.Friction(**{kind.Coulomb: 1.5, kind.small: 0.05})
    parts = {"body": kind.body(3.0), "friction": friction, "wall": kind.library.Fixed()}
    found = run(
        parts,
        [("wall.flange", "friction.flange_a"), ("friction.flange_b", "body.flange_a")],
        TIMES,
        initial={f"body.{kind.v}": 0.8},
    )
    near(found[f"body.{kind.v}"], 0.05 * np.arcsinh(np.sinh(16.0) * np.exp(-10.0 * TIMES)))


@both
def test_friction_has_a_viscous_part(kind):
    friction = kind.library.Friction(**{kind.Coulomb: 0.0, kind.prop: 2.0})
    parts = {"body": kind.body(4.0), "friction": friction, "wall": kind.library.Fixed()}
    connections = [("wall.flange", "friction.flange_b"), ("friction.flange_a", "body.flange_a")]
    found = run(parts, connections, TIMES, initial={f"body.{kind.v}": -1.0})
    near(found[f"body.{kind.v}"], -np.exp(-0.5 * TIMES))


@both
def test_a_speed_source_moves_a_body_with_the_force_it_needs(kind):
    times = np.linspace(0.0, 2.0, 21)
    speed = dd.Signal(times, 0.5 * times)
    parts = {"drive": kind.library.SpeedSource(), "body": kind.body(4.0), "sensor": kind.effort_sensor()}
    found = run(
        parts,
        [("drive.flange", "sensor.flange_a"), ("sensor.flange_b", "body.flange_a")],
        times,
        inputs={f"drive.{kind.v}": speed},
    )
    near(found[f"body.{kind.x}"], 0.25 * times**2)
    near(found[f"sensor.{kind.f}"], 2.0)


@both
def test_sensors_see_without_touching(kind):
    parts = {"body": kind.body(1.0), "x": kind.sensor(), "v": kind.library.SpeedSensor()}
    found = run(
        parts,
        [("body.flange_b", "x.flange", "v.flange")],
        TIMES,
        initial={f"body.{kind.v}": 3.0, f"body.{kind.x}": 1.0},
    )
    near(found[f"x.{kind.x}"], 1.0 + 3.0 * TIMES)
    near(found[f"v.{kind.v}"], 3.0)
    near(found[f"x.flange.{kind.f}"], 0.0)


def test_a_gear_multiplies_inertia_by_the_square_of_its_ratio():
    parts = {
        "push": rot.TorqueSource(),
        "fast": rot.Inertia(J=0.1),
        "gear": rot.IdealGear(ratio=5.0),
        "slow": rot.Inertia(J=10.0),
    }
    connections = [
        ("push.flange", "fast.flange_a"),
        ("fast.flange_b", "gear.flange_a"),
        ("gear.flange_b", "slow.flange_a"),
    ]
    found = run(parts, connections, TIMES, inputs={"push.tau": 2.0})
    near(found["fast.a"], 2.0 / (0.1 + 10.0 / 25.0))
    near(found["fast.phi"], 5.0 * found["slow.phi"])
    near(found["gear.flange_a.tau"] * found["fast.w"] + found["gear.flange_b.tau"] * found["slow.w"], 0.0)


def test_a_wheel_on_a_rack_pulls_a_mass():
    parts = {
        "push": rot.TorqueSource(),
        "wheel": rot.Inertia(J=0.2),
        "rack": tra.IdealGearR2T(ratio=4.0),
        "cart": tra.Mass(m=8.0),
    }
    connections = [
        ("push.flange", "wheel.flange_a"),
        ("wheel.flange_b", "rack.flangeR"),
        ("rack.flangeT", "cart.flange_a"),
    ]
    found = run(parts, connections, TIMES, inputs={"push.tau": 1.4})
    near(found["wheel.a"], 1.4 / (0.2 + 8.0 / 16.0))
    near(found["cart.s"], 2.0 / 4.0 * TIMES**2 / 2)
