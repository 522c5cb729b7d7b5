"""Each fluid component against a closed form."""

import numpy as np
from assembled import run
from scipy.integrate import solve_ivp

import daedal as dd
from daedal.library import fluid as fl

G, WATER, AIR = 9.80665, 998.2, 101325.0
TIMES = np.linspace(0.0, 50.0, 26)


def near(found, expected, tolerance=1e-7, least=1e-9):
    np.testing.assert_allclose(found, np.broadcast_to(expected, np.shape(found)), rtol=tolerance, atol=least)


def test_a_tank_empties_by_torricelli():
    """√level falls linearly while the root is not regularised."""
    parts = {
        "tank": fl.Tank(crossArea=0.5),
        "hole": fl.Orifice(A=2e-3, zeta=1.0, dp_small=1e-3),
        "air": fl.Atmosphere(),
    }
    connections = [("tank.port", "hole.port_a"), ("hole.port_b", "air.port")]
    found = run(parts, connections, TIMES, initial={"tank.level": 1.0})
    near(found["tank.level"], (1.0 - 2e-3 / 0.5 * np.sqrt(2 * G) * TIMES / 2) ** 2)
    near(found["hole.m_flow"], 2e-3 * WATER * np.sqrt(2 * G * found["tank.level"]))


def test_the_root_of_an_orifice_is_smooth_through_zero():
    parts = {"push": fl.PressureSource(), "hole": fl.Orifice(A=1e-3, zeta=2.0, dp_small=50.0), "air": fl.Atmosphere()}
    times = np.linspace(0.0, 1.0, 11)
    pressure = dd.Signal(times, AIR + 1000.0 * (times - 0.5))
    found = run(parts, [("push.port", "hole.port_a"), ("hole.port_b", "air.port")], times, inputs={"push.p": pressure})
    drop = 1000.0 * (times - 0.5)
    near(found["hole.m_flow"], 1e-3 * np.sqrt(WATER) * drop / (drop**2 + 50.0**2) ** 0.25, 1e-6)


def test_a_valve_lets_through_what_its_opening_allows():
    parts = {"push": fl.PressureSource(), "valve": fl.Valve(Av=2e-4, dp_small=1e-3), "air": fl.Atmosphere(p=1e5)}
    times = np.linspace(0.0, 1.0, 11)
    found = run(
        parts,
        [("push.port", "valve.port_a"), ("valve.port_b", "air.port")],
        times,
        inputs={"push.p": 1.4e5, "valve.opening": dd.Signal(times, times)},
    )
    near(found["valve.m_flow"], times * 2e-4 * np.sqrt(WATER * 4e4))


def test_two_tanks_with_a_pipe_level_out_and_keep_the_water():
    parts = {"a": fl.Tank(crossArea=0.3), "b": fl.Tank(crossArea=0.6), "pipe": fl.PipeResistance(R=1000.0)}
    connections = [("a.port", "pipe.port_a"), ("pipe.port_b", "b.port")]
    found = run(parts, connections, TIMES, initial={"a.level": 1.0, "b.level": 0.1})
    rate = G / 1000.0 * (1 / 0.3 + 1 / 0.6)
    near(found["a.level"] - found["b.level"], 0.9 * np.exp(-rate * TIMES))
    near(found["a.m"] + found["b.m"], WATER * (0.3 + 0.06))


def test_a_pump_moves_water_between_tanks_and_a_source_brings_more():
    parts = {
        "a": fl.Tank(crossArea=0.5),
        "b": fl.Tank(crossArea=0.25),
        "meter": fl.MassFlowSensor(),
        "pump": fl.Pump(),
        "rain": fl.FlowSource(),
        "gauge": fl.PressureSensor(),
    }
    connections = [
        ("a.port", "meter.port_a"),
        ("meter.port_b", "pump.port_a"),
        ("pump.port_b", "b.top"),
        ("rain.port", "a.top"),
        ("gauge.port", "b.port"),
    ]
    found = run(parts, connections, TIMES, inputs={"pump.m_flow": 2.0, "rain.m_flow": 0.5}, initial={"a.level": 1.0})
    near(found["a.level"], 1.0 - 1.5 * TIMES / (0.5 * WATER))
    near(found["b.level"], 2.0 * TIMES / (0.25 * WATER))
    near(found["gauge.p"], AIR + G * 2.0 * TIMES / 0.25)
    near(found["meter.m_flow"], 2.0)


def test_cascaded_tanks_where_one_falls_into_the_other():
    parts = {
        "upper": fl.Tank(crossArea=0.02),
        "hole": fl.Orifice(A=1e-4, dp_small=10.0),
        "lower": fl.Tank(crossArea=0.02),
        "drain": fl.Orifice(A=1e-4, dp_small=10.0),
        "air": fl.Atmosphere(),
    }
    connections = [
        ("upper.port", "hole.port_a"),
        ("hole.port_b", "lower.top"),
        ("lower.port", "drain.port_a"),
        ("drain.port_b", "air.port"),
    ]
    found = run(parts, connections, TIMES, initial={"upper.level": 0.4, "lower.level": 0.1})

    def flow(level):
        drop = WATER * G * level
        return 1e-4 * np.sqrt(2 / 2.7 / WATER) * drop / (drop**2 + 10.0**2) ** 0.25 / 0.02

    reference = solve_ivp(
        lambda _, h: [-flow(h[0]), flow(h[0]) - flow(h[1])], (0, 50), [0.4, 0.1], "LSODA", TIMES, rtol=1e-11, atol=1e-13
    )
    near(found["lower.level"], reference.y[1], 1e-6)
