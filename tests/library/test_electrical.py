"""Each electrical component in a small circuit, against the closed form of its behaviour."""

from itertools import pairwise

import numpy as np
import pytest
from assembled import run
from scipy.optimize import brentq

import daedal as dd
from daedal.library import electrical as el
from daedal.library import rotational as rot

TIMES = np.linspace(0.0, 2.0, 21)


def near(found, expected, tolerance=1e-7):
    np.testing.assert_allclose(found, np.broadcast_to(expected, np.shape(found)), rtol=tolerance, atol=tolerance)


def across(source, parts, order=("load",)):
    """A source with two-pin parts in series between its pins, grounded at n."""
    chain = [("source.p", f"{order[0]}.p"), *((f"{a}.n", f"{b}.p") for a, b in pairwise(order))]
    return {"source": source, "ground": el.Ground(), **parts}, [*chain, (f"{order[-1]}.n", "source.n", "ground.p")]


def test_resistor_and_voltage_source_with_a_changing_input():
    parts, connections = across(el.VoltageSource(), {"load": el.Resistor(R=4.0)})
    volts = dd.Signal(TIMES, np.sin(TIMES))
    found = run(parts, connections, TIMES, inputs={"source.v": volts})
    near(found["load.i"], np.sin(TIMES) / 4.0)
    near(found["source.i"], -np.sin(TIMES) / 4.0)
    near(found["ground.p.i"], 0.0)


def test_capacitor_charges_exponentially():
    parts, connections = across(
        el.ConstantVoltage(V=3.0), {"r": el.Resistor(R=2.0), "c": el.Capacitor(C=0.25)}, ("r", "c")
    )
    found = run(parts, connections, TIMES)
    near(found["c.v"], 3.0 * (1 - np.exp(-TIMES / 0.5)))


def test_inductor_with_capacitor_oscillates_and_keeps_the_energy():
    parts = {"c": el.Capacitor(C=0.1), "l": el.Inductor(L=0.4), "ground": el.Ground()}
    found = run(parts, [("c.p", "l.p"), ("c.n", "l.n", "ground.p")], TIMES, initial={"c.v": 2.0, "l.i": 0.0})
    near(found["c.v"], 2.0 * np.cos(5.0 * TIMES))
    near(found["l.i"], 2.0 * np.sqrt(0.1 / 0.4) * np.sin(5.0 * TIMES))
    near(0.05 * found["c.v"] ** 2 + 0.2 * found["l.i"] ** 2, 0.2)


@pytest.mark.parametrize("source", [el.ConstantCurrent(I=1.5), el.CurrentSource()])
def test_a_current_source_delivers_at_n(source):
    parts = {"source": source, "c": el.Capacitor(C=0.5), "ground": el.Ground()}
    inputs = {"source.i": 1.5} if source.inputs else {}
    found = run(parts, [("source.n", "c.p"), ("source.p", "c.n", "ground.p")], TIMES, inputs=inputs)
    near(found["c.v"], 1.5 / 0.5 * TIMES)


def test_ideal_transformer_changes_a_resistance_by_the_square_of_its_turns():
    parts = {
        "source": el.ConstantVoltage(V=12.0),
        "coils": el.IdealTransformer(n=3.0),
        "load": el.Resistor(R=2.0),
        "left": el.Ground(),
        "right": el.Ground(),
    }
    connections = [
        ("source.p", "coils.p1"),
        ("source.n", "coils.n1", "left.p"),
        ("coils.p2", "load.p"),
        ("coils.n2", "load.n", "right.p"),
    ]
    found = run(parts, connections, TIMES[:2])
    near(found["load.v"], 4.0)
    near(found["coils.i1"], 12.0 / (9.0 * 2.0))
    near(found["coils.v1"] * found["coils.i1"] + found["coils.v2"] * found["coils.i2"], 0.0)


@pytest.mark.parametrize("volts", [-5.0, 0.3, 0.7, 40.0])
def test_diode_in_series_with_a_resistor(volts):
    def current(v):
        grown = np.exp(v / 0.04) if v < 0.6 else np.exp(15.0) * (1 + v / 0.04 - 15.0)
        return 1e-6 * (grown - 1) + v / 1e8

    expected = brentq(lambda v: volts - v - 10.0 * current(v), -abs(volts), abs(volts), xtol=1e-15)
    parts, connections = across(
        el.ConstantVoltage(V=volts), {"r": el.Resistor(R=10.0), "diode": el.Diode()}, ("r", "diode")
    )
    found = run(parts, connections, TIMES[:2])
    near(found["diode.v"], expected)
    near(found["diode.i"], current(expected))


def test_rectifier_holds_the_peak():
    times = np.linspace(0.0, 2.0, 401)
    volts = dd.Signal(times, 10.0 * np.sin(2 * np.pi * times))
    parts, connections = across(el.VoltageSource(), {"diode": el.Diode(), "c": el.Capacitor(C=1e-3)}, ("diode", "c"))
    held = run(parts, connections, times, inputs={"source.v": volts})["c.v"][150:]
    assert np.all((held > 9.0) & (held < 10.0))


def amplifier(amplify, source=0.5):
    """Inverting, gain −10, with the load that `out` feeds."""
    parts = {
        "source": el.ConstantVoltage(V=source),
        "r1": el.Resistor(R=1e3),
        "r2": el.Resistor(R=1e4),
        "amplifier": amplify,
        "load": el.Resistor(R=100.0),
        "ground": el.Ground(),
    }
    connections = [
        ("source.p", "r1.p"),
        ("r1.n", "amplifier.in_n", "r2.p"),
        ("r2.n", "amplifier.out", "load.p"),
        ("source.n", "amplifier.in_p", "load.n", "ground.p"),
    ]
    return run(parts, connections, TIMES[:2])


def test_ideal_amplifier_inverts():
    found = amplifier(el.IdealOpAmp3Pin())
    near(found["load.v"], -5.0)
    near(found["amplifier.in_n.i"], 0.0)


def test_amplifier_is_nearly_ideal_until_it_saturates():
    assert abs(amplifier(el.OpAmp(Slope=1e6))["load.v"][0] + 5.0) < 1e-3
    v = amplifier(el.OpAmp(VMax=12.0, VMin=-12.0), source=50.0)["load.v"][0]
    assert -12.0 < v < -11.9


def test_sensors_see_without_touching():
    parts, connections = across(
        el.ConstantVoltage(V=6.0), {"amperes": el.CurrentSensor(), "load": el.Resistor(R=3.0)}, ("amperes", "load")
    )
    found = run(
        {**parts, "volts": el.VoltageSensor()},
        [*connections, ("volts.p", "load.p"), ("volts.n", "load.n")],
        TIMES[:2],
    )
    near(found["volts.v"], 6.0)
    near(found["amperes.i"], 2.0)
    near(found["volts.i"], 0.0)
    near(found["amperes.v"], 0.0)


def test_motor_runs_up_to_the_speed_at_which_its_voltage_balances_the_source():
    parts, connections = across(
        el.ConstantVoltage(V=6.0),
        {"r": el.Resistor(R=2.0), "motor": el.RotationalEMF(k=0.5), "rotor": rot.Inertia(J=0.25)},
        ("r", "motor"),
    )
    found = run(parts, [*connections, ("motor.flange", "rotor.flange_a")], TIMES)
    rate = 0.5**2 / (2.0 * 0.25)
    near(found["rotor.w"], 6.0 / 0.5 * (1 - np.exp(-rate * TIMES)))
    near(found["motor.v"] * found["motor.i"], found["motor.tau"] * found["motor.w"])
