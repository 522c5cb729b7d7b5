"""Elastic backlash against closed forms of free flight and contact, and against scipy with its events."""

import numpy as np
import pytest
from batteries.slopes import check_against, predict
from scipy.integrate import solve_ivp

import daedal as dd
from daedal.library import rotational as rot
from daedal.library import translational as tra


def bounce(c, d, b, times, v=1.0, periods=6):
    """A unit mass that starts in the middle of the gap: position, speed, force of the contact.

    In contact x = v/ω e^(−d t/2) sin ω t with ω² = c − d²/4, until c x + d x' = 0; from there it flies freely.
    """
    omega = np.sqrt(c - d**2 / 4)
    last = (np.pi - np.arctan2(d * omega, c - d**2 / 2)) / omega if d else np.pi / omega

    def touch(t, speed):
        x = speed / omega * np.exp(-d * t / 2) * np.sin(omega * t)
        return x, speed * np.exp(-d * t / 2) * np.cos(omega * t) - d / 2 * x

    rows = np.zeros((3, times.size))
    instant, x, speed, side = 0.0, 0.0, v, 1.0
    for _ in range(periods):
        contact = instant + (b / 2 - x) / speed
        release = contact + last
        flying, touching = (times >= instant) & (times <= contact), (times > contact) & (times <= release)
        rows[0, flying], rows[1, flying] = side * (x + speed * (times[flying] - instant)), side * speed
        depth, rate = touch(times[touching] - contact, speed)
        rows[:, touching] = side * np.array([b / 2 + depth, rate, c * depth + d * rate])
        depth, rate = touch(last, speed)
        instant, side, x, speed = release, -side, -(b / 2 + depth), -rate
    return rows


@pytest.mark.parametrize("damping", [0.0, 2.0])
@pytest.mark.parametrize("turning", [True, False], ids=["rotational", "translational"])
def test_a_body_bounces_between_both_sides(turning, damping):
    library, body = (rot, rot.Inertia(1.0)) if turning else (tra, tra.Mass(1.0))
    v, s, f = ("w", "phi", "tau") if turning else ("v", "s", "f")
    times = np.linspace(0.0, 2.0, 81)
    model = dd.assemble(
        name="play",
        parts={"body": body, "play": library.ElastoBacklash(c=100.0, d=damping, b=0.37), "wall": library.Fixed()},
        connections=[("wall.flange", "play.flange_a"), ("play.flange_b", "body.flange_a")],
        initial={f"body.{v}": 1.0, f"body.{s}": 0.0},
        outputs={"s": f"body.{s}", "v": f"body.{v}", "f": f"play.{f}"},
    )
    free = ["play.c", "play.b", *(["play.d"] if damping else [])]

    def truth(c, b, d=0.0):
        return bounce(c, d, b, times)

    check_against(predict(model, times, free), truth, [100.0, 0.37, damping][: len(free)])


def test_a_drive_with_play_against_scipy():
    """A motor that swings moves a load with viscous friction through a gap; contact damping jumps when they touch."""
    c, d, b = 400.0, 3.0, 0.1
    times = np.linspace(0.0, 3.0, 61)
    model = dd.assemble(
        name="drive",
        parts={
            "motor": rot.Inertia(0.5),
            "load": rot.Inertia(1.0),
            "play": rot.ElastoBacklash(c=c, d=d, b=b, phi_rel0=0.2),
            "spring": rot.Spring(3.0),
            "bearing": rot.Damper(0.4),
            "housing": rot.Fixed(),
        },
        connections=[
            ("housing.flange", "spring.flange_a", "bearing.flange_a"),
            ("spring.flange_b", "motor.flange_a"),
            ("motor.flange_b", "play.flange_a"),
            ("play.flange_b", "load.flange_a", "bearing.flange_b"),
        ],
        initial={"motor.phi": 1.0, "motor.w": 0.0, "load.phi": 1.2, "load.w": 0.0},
        outputs={"motor": "motor.phi", "load": "load.phi", "speed": "load.w"},
    )
    expected = drive_with_play(c, d, b, times)
    prediction = predict(model, times, ["play.c", "play.d", "play.b"])
    np.testing.assert_allclose(prediction.mean, expected, rtol=0, atol=1e-8)
    check_against(prediction, lambda *point: drive_with_play(*point, times), [c, d, b])


def drive_with_play(c, d, b, times):
    """The same in pieces of one law: free, and in contact on either side."""

    def push(y, side):
        return c * (y[2] - y[0] - 0.2 - side * b / 2) + d * (y[3] - y[1])

    def rates(t, y, side):
        torque = push(y, side) if side else 0.0
        return [y[1], (-3.0 * y[0] + torque) / 0.5, y[3], -0.4 * y[3] - torque]

    def reach(edge):
        def event(t, y, side):
            return y[2] - y[0] - 0.2 - edge * b / 2

        event.terminal, event.direction = True, edge
        return event

    def release(t, y, side):
        return push(y, side) * side

    release.terminal, release.direction = True, -1
    begin, y, side, states = 0.0, [1.0, 0.0, 1.2, 0.0], 0, np.empty((4, times.size))
    while begin < times[-1]:
        path = solve_ivp(
            rates,
            (begin, times[-1] + 0.1),
            y,
            method="DOP853",
            rtol=1e-12,
            atol=1e-14,
            args=(side,),
            dense_output=True,
            events=[release] if side else [reach(1), reach(-1)],
        )
        here = (times >= begin) & (times <= path.t[-1])
        states[:, here] = path.sol(times[here])
        begin, y = path.t[-1], path.y[:, -1]
        side = 0 if side or path.status == 0 else (1 if path.t_events[0].size else -1)
    return states[[0, 2, 3]]
