"""Each thermal component against a closed form."""

import numpy as np
from assembled import run
from scipy.optimize import brentq

import daedal as dd
from daedal.library import thermal as th

TIMES = np.linspace(0.0, 100.0, 21)


def near(found, expected, tolerance=1e-8):
    np.testing.assert_allclose(found, np.broadcast_to(expected, np.shape(found)), rtol=tolerance, atol=1e-7)


def test_a_body_cools_exponentially_from_room_temperature():
    parts = {
        "body": th.HeatCapacitor(C=500.0),
        "wall": th.ThermalConductor(G=10.0),
        "outside": th.FixedTemperature(T=263.15),
    }
    found = run(parts, [("body.port", "wall.port_a"), ("wall.port_b", "outside.port")], TIMES)
    near(found["body.T"], 263.15 + 30.0 * np.exp(-TIMES / 50.0))
    near(found["wall.Q_flow"], 300.0 * np.exp(-TIMES / 50.0), 1e-7)
    near(found["outside.port.Q_flow"], found["wall.Q_flow"])


def test_resistor_is_the_inverse_of_a_conductor_and_a_sensor_changes_nothing():
    parts = {
        "body": th.HeatCapacitor(C=500.0),
        "watts": th.HeatFlowSensor(),
        "wall": th.ThermalResistor(R=0.1),
        "outside": th.PrescribedTemperature(),
        "kelvin": th.TemperatureSensor(),
    }
    connections = [
        ("body.port", "watts.port_a", "kelvin.port"),
        ("watts.port_b", "wall.port_a"),
        ("wall.port_b", "outside.port"),
    ]
    found = run(parts, connections, TIMES, inputs={"outside.T": 263.15}, initial={"body.T": 283.15})
    near(found["kelvin.T"], 263.15 + 20.0 * np.exp(-TIMES / 50.0))
    near(found["watts.Q_flow"], 200.0 * np.exp(-TIMES / 50.0), 1e-7)


def test_heat_sources_and_the_balance_of_heat():
    parts = {
        "body": th.HeatCapacitor(C=200.0),
        "heater": th.HeatFlowSource(),
        "lamp": th.FixedHeatFlow(Q_flow=5.0),
    }
    found = run(parts, [("heater.port", "lamp.port", "body.port")], TIMES, inputs={"heater.Q_flow": 15.0})
    near(found["body.T"], 293.15 + 0.1 * TIMES)


def test_convection_follows_the_wind():
    """C dT/dt = −Gc(t) (T − T∞) with Gc = 2 + t/10: T − T∞ = exp(−∫Gc/C)."""
    wind = dd.Signal(TIMES, 2.0 + TIMES / 10.0)
    parts = {"body": th.HeatCapacitor(C=400.0), "air": th.Convection(), "outside": th.FixedTemperature(T=273.15)}
    found = run(parts, [("body.port", "air.solid"), ("air.fluid", "outside.port")], TIMES, inputs={"air.Gc": wind})
    near(found["body.T"], 273.15 + 20.0 * np.exp(-(2.0 * TIMES + TIMES**2 / 20.0) / 400.0))


def test_radiation_balances_a_heater():
    parts = {
        "heater": th.FixedHeatFlow(Q_flow=1000.0),
        "plate": th.HeatCapacitor(C=1.0),
        "surface": th.BodyRadiation(Gr=0.8),
        "room": th.FixedTemperature(T=300.0),
    }
    connections = [("heater.port", "plate.port", "surface.port_a"), ("surface.port_b", "room.port")]
    found = run(parts, connections, TIMES)
    balance = brentq(lambda T: 0.8 * 5.670374419e-8 * (T**4 - 300.0**4) - 1000.0, 300.0, 1000.0, xtol=1e-12)
    near(found["plate.T"][-1], balance)
