"""Saturation and a relay, as parts of a loop, against closed forms."""

import numpy as np

import daedal as dd
from batteries.slopes import check_against, predict
from daedal.library import blocks
from daedal.library import thermal as th


def test_a_thermostat_switches_between_its_thresholds():
    times = np.linspace(0.0, 40.0, 101)
    model = dd.assemble(
        name="room",
        parts={
            "room": th.HeatCapacitor(C=100.0),
            "wall": th.ThermalConductor(G=10.0),
            "outside": th.FixedTemperature(T=273.0),
            "heater": th.HeatFlowSource(),
            "thermostat": blocks.Hysteresis(uLow=292.0, uHigh=294.0, yLow=500.0, yHigh=20.0),
        },
        connections=[
            ("room.port", "wall.port_a", "heater.port"),
            ("wall.port_b", "outside.port"),
            ("room.T", "thermostat.u"),
            ("thermostat.y", "heater.Q_flow"),
        ],
        initial={"room.T": 290.0},
        outputs={"above": dd.symbol("room.T") - 292.0, "heat": "heater.Q_flow"},
    )

    def truth(warm, cold, low, high):
        """T goes to 273 + Q/10 with a time constant of 10 s, from one threshold to the other."""
        begin, T, heating, rows = 0.0, 290.0, True, np.empty((2, times.size))
        while begin < times[-1]:
            Q, goal = (warm, high) if heating else (cold, low)
            steady = 273.0 + Q / 10
            end = begin + 10.0 * np.log((T - steady) / (goal - steady))
            here = (times >= begin) & (times < end)
            rows[:, here] = [steady + (T - steady) * np.exp(-(times[here] - begin) / 10.0) - 292.0, 0 * times[here] + Q]
            begin, T, heating = end, goal, not heating
        return rows

    free = [f"thermostat.{name}" for name in ("yLow", "yHigh", "uLow", "uHigh")]
    check_against(predict(model, times, free), truth, [500.0, 20.0, 292.0, 294.0], change=1e-6)
    period = 10.0 * (np.log(31.0 / 29.0) + np.log(19.0 / 17.0))
    repeated = predict(model, np.r_[0.0, 5.0 + period * np.arange(10)], []).mean[0, 1:]
    np.testing.assert_allclose(repeated, repeated[0], rtol=0, atol=1e-7)


def test_a_saturated_heater_gives_all_it_can_until_it_is_near():
    """C T' = clip(K (T_set − T), 0, Q): a straight line to T_set − Q/K, an exponential from there."""
    times = np.linspace(0.0, 20.0, 41)
    T, r, y, K = dd.symbols("T r y K")
    controller = dd.Model(
        name="controller", equations={"law": y == K * (r - T)}, unknowns=[y], inputs=[T], parameters={K: 5.0, r: 20.0}
    )
    model = dd.assemble(
        name="tank",
        parts={
            "tank": th.HeatCapacitor(C=10.0),
            "controller": controller,
            "limiter": blocks.Limiter(uMax=13.0, uMin=0.0),
            "heater": th.HeatFlowSource(),
        },
        connections=[
            ("tank.T", "controller.T"),
            ("controller.y", "limiter.u"),
            ("limiter.y", "heater.Q_flow"),
            ("heater.port", "tank.port"),
        ],
        initial={"tank.T": 10.0},
        outputs={"T": "tank.T", "Q": "heater.Q_flow"},
    )

    def truth(Q, K):
        reach = (20.0 - Q / K - 10.0) * 10.0 / Q
        near = 20.0 - Q / K * np.exp(-K / 10.0 * (times - reach))
        return np.where(times < reach, [10.0 + Q / 10.0 * times, Q + 0 * times], [near, K * (20.0 - near)])

    check_against(predict(model, times, ["limiter.uMax", "controller.K"]), truth, [13.0, 5.0])
