"""Elastic backlash against closed forms of free flight and contact, and against scipy with its events."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import daedal as dd
from batteries.slopes import check_against, predict
from daedal.library import rotational as rot
from daedal.library import translational as tra
from sizes import choose


def bounce(c, d, b, times):
    """A unit mass that starts in the middle of the gap with unit speed: position, speed, force of the contact.

    In contact x'' = −2 c x while d x' > c x, then x'' = −c x − d x' until it vanishes; the rest is free flight.
    """
    rows = np.full((3, times.size), np.nan)
    stiff, omega = np.sqrt(2 * c), np.sqrt(c - d**2 / 4)
    begin, x, v, side = 0.0, -b / 2, 1.0, 1.0  # x is counted from the edge ahead

    def fill(motion, length):
        """One piece of the motion, and its end."""
        nonlocal begin, x, v
        here = (times >= begin) & (times <= begin + length)
        depth, rate, force = motion(times[here] - begin)
        rows[:, here] = side * np.array([b / 2 + depth, rate, force])
        x, v, _ = motion(length)
        begin += length

    def touch(t, v):
        x = v / stiff * np.sin(stiff * t)
        return x, v * np.cos(stiff * t), 2 * c * x

    def swing(t, x, k, cosine, sine):
        decay, C, S = np.exp(-d * t / 2), np.cos(omega * t), np.sin(omega * t)
        rate = decay * (omega * (k * C - x * S) - d / 2 * (x * C + k * S))
        return decay * (x * C + k * S), rate, decay * (cosine * C + sine * S)

    while begin < times[-1]:
        fill(lambda t, x=x, v=v: (x + v * t, v + 0 * t, 0 * t), -x / v)
        fill(lambda t, v=v: touch(t, v), np.arctan(d * stiff / c) / stiff)
        k = (v + d * x / 2) / omega
        cosine, sine = c * x + d * v, c * k - d * (d / 2 * k + omega * x)  # of the force, up to its decay
        fill(lambda t, x=x, k=k, force=(cosine, sine): swing(t, x, k, *force), np.arctan2(cosine, -sine) / omega)
        side, x, v = -side, -(b + x), -v
    return rows


@pytest.mark.parametrize(("turning", "damping"), [(True, 2.0), (False, 0.0), *choose([], [(True, 0.0), (False, 2.0)])])
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
    """A motor that swings moves a load with viscous friction through a gap."""
    c, d, b = 400.0, 3.0, 0.1
    times = np.linspace(0.0, 1.5, 31)
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
    prediction = predict(model, times, ["play.c", "play.d", "play.b"])
    check_against(prediction, lambda *point: drive_with_play(*point, times), [c, d, b], change=1e-4)


def drive_with_play(c, d, b, times):
    """The same in pieces: what is compared keeps its order until scipy finds where it changes."""

    def compare(y):
        offset, damping = y[2] - y[0] - 0.2, d * (y[3] - y[1])
        above, below = c * (offset - b / 2), c * (offset + b / 2)
        return np.array([above, -below, damping - above, -damping - above, -damping + below, damping + below])

    def push(y, order):
        """c z + d w in contact, the damping within ±c z."""
        spring = (y[2] - y[0] - 0.2 - np.sign(order[0] - order[1]) * b / 2) * c
        if not (order[0] > 0 or order[1] > 0):
            return 0.0
        pressed, released = order[2:4] > 0 if order[0] > 0 else order[4:6] > 0
        return 2 * spring if pressed else 0.0 if released else spring + d * (y[3] - y[1])

    def rates(t, y, order):
        torque = push(y, order)
        return [y[1], (-3.0 * y[0] + torque) / 0.5, y[3], -0.4 * y[3] - torque]

    def make_event(place):
        def event(t, y, order):
            return order[place] * compare(y)[place]

        event.terminal, event.direction = True, -1
        return event

    begin, y, states = 0.0, np.array([1.0, 0.0, 1.2, 0.0]), np.empty((4, times.size))
    order = np.sign(compare(y - np.array([0.0, 1e-9, 0.0, 0.0])))  # the motor is pulled back at first
    while begin < times[-1]:
        path = solve_ivp(
            rates,
            (begin, times[-1] + 0.1),
            y,
            method="DOP853",
            rtol=1e-12,
            atol=1e-14,
            max_step=5e-3,  # not to step over two changes
            args=(order,),
            dense_output=True,
            events=[make_event(place) for place in range(order.size)],
        )
        here = (times >= begin) & (times <= path.t[-1])
        if here.any():
            states[:, here] = path.sol(times[here])
        begin, y = path.t[-1], path.y[:, -1]
        order = np.array(
            [-side if instants.size else side for side, instants in zip(order, path.t_events, strict=True)]
        )
    return states[[0, 2, 3]]
