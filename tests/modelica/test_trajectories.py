"""The examples in Modelica move as the same models built in Python do, to 1e-8."""

from pathlib import Path

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.library import electrical as el
from daedal.library import rotational as rot

EXAMPLES = Path(__file__).parents[2] / "examples" / "modelica"


def largest_difference(read, built, names, times, step, read_inputs=None, built_inputs=None):
    solver = dd.Lanes(method="rk4", step=step)
    first = dd.simulate(read, times, inputs=read_inputs or {}, solver=solver)
    second = dd.simulate(built, times, inputs=built_inputs or {}, solver=solver)
    assert all(np.ptp(second[name]) > 0 for name in names.values())
    return max(np.max(np.abs(first[mine] - second[theirs])) for mine, theirs in names.items())


def test_every_file_is_tested_here():
    assert {path.name for path in EXAMPLES.glob("*.mo")} == {"pendulum.mo", "drive.mo", "arrays.mo", "switching.mo"}


def test_pendulum_with_connectors():
    x, y, vx, vy, tension, m, L = dd.symbols("x y vx vy tension m L")
    built = dd.Model(
        name="pendulum",
        equations={
            "kinematics x": der(x) == vx,
            "kinematics y": der(y) == vy,
            "force x": m * der(vx) == -tension * x,
            "force y": m * der(vy) == -tension * y - m * 9.81,
            "rod": x**2 + y**2 == L**2,
        },
        unknowns=[x, y, vx, vy, tension],
        outputs={"angle": np.arctan2(x, -y)},
        parameters={m: 0.3, L: 1.0},
        initial={x: 0.0, vx: 3.0},
        guess={y: -1.0},
    )
    read = dd.read_modelica(EXAMPLES / "pendulum.mo", model="Plane.Pendulum")
    assert dd.analyze(read).index == 3
    assert dd.analyze(read).degrees_of_freedom == 2
    names = {"mass.point.x": "x", "mass.vy": "vy", "rod.tension": "tension", "angle": "angle"}
    assert largest_difference(read, built, names, np.linspace(0, 5, 101), 0.001) < 1e-8


def test_motor_with_gearbox_and_spring():
    built = dd.assemble(
        name="drive",
        parts={
            "supply": el.VoltageSource(),
            "ground": el.Ground(),
            "winding": el.Resistor(R=1.2),
            "motor": el.RotationalEMF(k=0.05),
            "rotor": rot.Inertia(J=1e-3),
            "gear": rot.IdealGear(ratio=5.0),
            "shaft": rot.SpringDamper(c=2.0, d=0.01),
            "disc": rot.Inertia(J=0.05),
            "bearing": rot.Damper(d=0.02),
            "frame": rot.Fixed(),
        },
        connections=[
            ("supply.p", "winding.p"),
            ("winding.n", "motor.p"),
            ("motor.n", "supply.n", "ground.p"),
            ("motor.flange", "rotor.flange_a"),
            ("rotor.flange_b", "gear.flange_a"),
            ("gear.flange_b", "shaft.flange_a"),
            ("shaft.flange_b", "disc.flange_a"),
            ("disc.flange_b", "bearing.flange_a"),
            ("bearing.flange_b", "frame.flange"),
        ],
        inputs=["supply.v"],
        outputs={"speed": "rotor.w", "current": "winding.i"},
        initial=dict.fromkeys(("rotor.phi", "rotor.w", "disc.phi", "disc.w"), 0.0),
    )
    read = dd.read_modelica(EXAMPLES / "drive.mo", model="Drives.Drive")
    assert read.parameters["shaft.c"] == dd.Parameter(2.0, lower=0.0, unit="N.m/rad")
    times = np.linspace(0, 5, 101)
    volts = dd.Signal(times, 6 * np.sin(2 * times), intersample="foh")
    names = {"speed": "speed", "current": "current", "shaft.tau": "shaft.tau", "disc.phi": "disc.phi"}
    difference = largest_difference(read, built, names, times, 0.0025, {"u": volts}, {"supply.v": volts})
    assert difference < 1e-8


def test_rod_of_arrays():
    n = 8
    T, a, dx, h = dd.symbols("T", n), dd.symbol("a"), dd.symbol("dx"), dd.symbols("h", n)
    heating = dd.symbol("heating")
    flows = [0, *(a * (T[k] - T[k + 1]) / dx for k in range(n - 1)), 0]
    built = dd.Model(
        name="rod",
        equations={
            f"slice {k}": der(T[k]) == (flows[k] - flows[k + 1]) / dx - h[k] * (T[k] - 293) + (heating if k == 0 else 0)
            for k in range(n)
        },
        unknowns=T,
        inputs=[heating],
        outputs={
            "left": T[0],
            "right": T[-1],
            "mean": np.sum(np.array(T)) / n,
            "lean": np.sum([(k + 1 - (n + 1) / 2) / n * T[k] for k in range(n)]),
        },
        parameters={a: 1e-3, dx: 0.5 / n, **dict(zip(h, np.linspace(0.01, 0.03, n), strict=True))},
        initial={T[k]: 305.0 + 5 * k for k in range(n)},
    )
    read = dd.read_modelica(EXAMPLES / "arrays.mo")
    assert read.parameters["h[8]"] == dd.Parameter(0.03, lower=0.0, unit="1/s", description="cooling of each slice")
    assert "n" not in read.parameters
    times = np.linspace(0, 30, 61)
    signal = dd.Signal(times, 2 + np.sin(times), intersample="foh")
    names = {"ends[1]": "left", "ends[2]": "right", "moments[1]": "mean", "moments[2]": "lean"}
    difference = largest_difference(read, built, names, times, 0.05, {"heating": signal}, {"heating": signal})
    assert difference < 1e-8


def test_rod_follows_another_length():
    read = dd.read_modelica(EXAMPLES / "arrays.mo").with_parameters({"L": 1.0})
    zero = {"heating": dd.Signal([0.0, 1.0], [0.0, 0.0])}
    run = dd.simulate(read, [0.0, 1.0], inputs=zero)
    assert run["heat_flow[2]"][0] == pytest.approx(1e-3 * -5 / (1.0 / 8))


def test_thermostat_of_if_equations():
    T, P, C, G = dd.symbols("T P C G")
    opening = np.where(T > 21, np.minimum(1, (T - 21) / 2), 0)
    losses = G * (1 + 2 * opening) * (T - 5 * np.sin(dd.time / 20))
    wanted = np.where(T < 18, 150, np.where(T < 24, 150 * (24 - T) / 6, 0))
    built = dd.Model(
        name="thermostat",
        equations={
            "room": C * der(T) == P - losses,
            "heater": der(P) == np.where(T < 24, 0.2 * (wanted - P), -P),
        },
        unknowns=[T, P],
        outputs={"losses": losses, "wanted": wanted, "opening": opening},
        parameters={C: 200.0, G: 4.0},
        initial={T: 10.0, P: 1200.0},
    )
    read = dd.read_modelica(EXAMPLES / "switching.mo")
    names = {name: name for name in ("T", "P", "losses", "wanted", "opening")}
    assert largest_difference(read, built, names, np.linspace(0, 100, 201), 0.05) < 1e-8
