"""Where steps are not exact: relay, belt and pendulum against truths from outside, and the order of the methods."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq

import daedal as dd
from batteries.switching import (
    GRAVITY,
    HALF_PERIOD,
    MASS,
    SLIPS,
    SPIN,
    STICKS,
    Mf,
    differentiate,
    find_slopes,
    follow_belt,
    follow_pendulum,
    lam,
    make_belt,
    make_pendulum,
    make_relay,
    mu,
)

PLANT = np.array([[-1.0, 0.0, 0.0], [1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])
RELAY_TIMES = np.linspace(0.0, 20.0, 28)
BELT_TIMES = np.linspace(0.0, 14.0, 29)
PENDULUM_TIMES = np.linspace(0.0, 8.0, 33)


def flow(state: np.ndarray, force: float, seconds: float) -> np.ndarray:
    """The plant under a constant force: deviations from (1, 1, 1) times the force decay."""
    return force + expm(PLANT * seconds) @ (state - force)


def follow_relay(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """States and their rates, by exponentials between switches that a root finder locates."""
    state, t, force = np.array([0.0, 0.0, 0.3]), 0.0, -1.0
    states, rates = [], []
    for time in times:
        while force * flow(state, force, time - t)[2] > 0:
            last = brentq(lambda s, x=state, u=force: flow(x, u, s)[2], 1e-6, time - t, xtol=1e-15, rtol=1e-15)
            state, t, force = flow(state, force, last), t + last, -force
        there = flow(state, force, time - t)
        states.append(there)
        rates.append(PLANT @ (there - force))
    return np.array(states).T, np.array(rates).T


def relay_truth():
    values, rates = follow_relay(RELAY_TIMES)
    return values, -RELAY_TIMES * rates  # by T = 1, which stretches time


def belt_truth():
    return follow_belt(1.0, BELT_TIMES), differentiate(lambda Fs: follow_belt(Fs, BELT_TIMES), 1.0, 1e-3)


def constant_torque(number):
    return follow_pendulum(lambda _angle, _speed: number, lambda _angle: number, PENDULUM_TIMES)


def torque_of_the_reaction(number):
    """μ |λ|: the rod carries the weight along it and turns the mass."""
    return follow_pendulum(
        lambda angle, speed: number * MASS * (GRAVITY * np.cos(angle) + speed**2),
        lambda angle: number * MASS * GRAVITY * np.cos(angle),
        PENDULUM_TIMES,
    )


def pendulum_truth():
    return constant_torque(0.25), differentiate(constant_torque, 0.25, 2e-4)


CASES = {
    "relay": (make_relay(), RELAY_TIMES, "T", relay_truth),
    "belt": (make_belt(), BELT_TIMES, "Fs", belt_truth),
    "pendulum": (make_pendulum(Mf * np.sign(SPIN)), PENDULUM_TIMES, "Mf", pendulum_truth),
}


@pytest.fixture(scope="module")
def truths():
    return {name: truth() for name, (*_, truth) in CASES.items()}


def find_errors(name, truths, method, step) -> np.ndarray:
    model, times, free, _ = CASES[name]
    values, slopes = find_slopes(model, times, [free], dd.Lanes(method=method, step=step))
    expected, moved = truths[name]
    return np.array([np.abs(values - expected).max(), np.abs(slopes[0] - moved).max()])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("method", "step", "gain"), [("rk4", 0.025, 12), ("radau5", 0.05, 20)], ids=["rk4", "radau5"])
def test_halving_the_steps_gains_what_the_order_promises(name, method, step, gain, truths):
    coarse, middle, fine = (find_errors(name, truths, method, step / 2**k) for k in range(3))
    assert (coarse > gain**2 * fine).all(), (coarse, middle, fine)
    assert (coarse > middle).all()
    assert (middle > fine).all()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("method", "step"), [("rk4", 0.0025), ("radau5", 0.01)], ids=["rk4", "radau5"])
def test_values_and_sensitivities(name, method, step, truths):
    assert (find_errors(name, truths, method, step) < [1e-9, 1e-8]).all()


def test_friction_that_depends_on_the_reaction():
    model = make_pendulum(mu * np.abs(lam) * np.sign(SPIN))
    values, slopes = find_slopes(model, PENDULUM_TIMES, ["mu"], dd.Lanes(method="rk4", step=0.0015))
    np.testing.assert_allclose(values, torque_of_the_reaction(0.08), rtol=0, atol=1e-9)
    moved = differentiate(torque_of_the_reaction, 0.08, 2e-4)
    np.testing.assert_allclose(slopes[0], moved, rtol=0, atol=1e-8)
    assert values[0, -1] == pytest.approx(-0.0362873284, abs=1e-9)
    assert slopes[0, 0, -1] == pytest.approx(9.921079, abs=1e-6)


def test_the_pendulum_turns_and_sticks_where_energy_says():
    """cos θ₁ − cos θ₀ = Mf/(m g L) |θ₁ − θ₀| at successive turns, then at rest."""
    turns, share = [1.0], 0.25 / (MASS * GRAVITY)
    while abs(np.sin(turns[-1])) > share:
        last = turns[-1]

        def gain(angle, last=last):
            return np.cos(angle) - np.cos(last) - share * abs(angle - last)

        turns.append(brentq(gain, 0.999 * last, -last, xtol=1e-15))
    known = [-0.80435323215, 0.61895748963, -0.44061095879, 0.26690200720, -0.09586376599, -0.07423921604]
    np.testing.assert_allclose(turns[1:], known, atol=1e-11)
    model, times, *_ = CASES["pendulum"]
    values, slopes = find_slopes(model, times, ["Mf"], dd.Lanes(method="radau5", step=0.01))
    assert values[0, -1] == pytest.approx(turns[-1], abs=1e-9)
    assert slopes[0, 0, -1] == pytest.approx(-4.0919826, abs=1e-7)


def test_the_limit_cycle_of_the_relay():
    """Its half period is proportional to T: a state of the cycle changes its sign after every half of it."""
    h = HALF_PERIOD
    start = np.linalg.solve(np.eye(3) + expm(PLANT * h), (expm(PLANT * h) - np.eye(3)) @ np.ones(3))
    assert abs(start[2]) < 1e-15
    model = make_relay(-start)  # just when y becomes positive
    times = h * np.arange(9)
    values, slopes = find_slopes(model, times, ["T"], dd.Lanes(method="radau5", step=0.01))
    np.testing.assert_allclose(values[:2, 1:], -start[:2, None] * (-1.0) ** np.arange(1, 9), atol=1e-9)
    np.testing.assert_allclose(values[2], 0.0, atol=1e-9)
    np.testing.assert_allclose(slopes[0, 1:], -times * (values[:2] - values[1:]), atol=1e-8)


def test_the_belt_takes_and_loses_its_load_at_the_known_instants():
    """Before it sticks the mass is slower than the belt, then as fast; once it slips, slower by 0.15 t²."""
    near, later = 1e-7, 1e-4
    sides = [(instant + side * near) for instant in (*STICKS, *SLIPS) for side in (-1, 1)]
    times = np.sort([0.0, *sides, *(instant + later for instant in SLIPS)])
    values, _ = find_slopes(make_belt(), times, ["Fs"], dd.Lanes(method="radau5", step=0.01))
    slower = dict(zip(times, 0.3 - values[1], strict=True))
    for instant in STICKS:
        assert slower[instant - near] > 1e-9
        assert abs(slower[instant + near]) < 1e-15
    for instant in SLIPS:
        assert abs(slower[instant - near]) < 1e-15
        assert np.sqrt(slower[instant + later] / 0.15) == pytest.approx(later, abs=1e-7)
