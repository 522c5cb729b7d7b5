"""Switches in the reference solver against closed forms: crossing, sliding, release, several at once, and refusals."""

import numpy as np
import pytest

import daedal as dd
from daedal import der

SOLVER = dd.IDA(rtol=1e-10, atol=1e-12)
x, v, y, k, a, u, w, n = dd.symbols("x v y k a u w n")
v1, v2, lam = dd.symbols("v1 v2 lam")


def run(equations, initial, times, inputs=None, signals=None, solver=SOLVER, **declared):
    model = dd.Model(
        name="m", equations=equations, unknowns=list(initial), inputs=inputs or [], initial=initial, **declared
    )
    trajectory = dd.simulate(model, times, inputs=signals or {}, solver=solver)
    assert trajectory.status.ok, trajectory.status
    return trajectory


def test_a_slider_crosses_zero():
    trajectory = run({"force": der(v) == 1 - 0.5 * np.sign(v)}, {v: -1.0}, [0.0, 0.3, 1.0, 2.0])
    np.testing.assert_allclose(trajectory["v"], [-1.0, -0.55, 1 / 6, 2 / 3], atol=1e-12)


def test_a_condition_on_a_state():
    trajectory = run(
        {"rate": der(x) == np.where(x < 1, 2 * k, 0.5)}, {x: 0.0}, [0.0, 0.3, 1.0, 2.0], parameters={k: 1.0}
    )
    np.testing.assert_allclose(trajectory["x"], [0.0, 0.6, 1.25, 1.75], atol=1e-12)


def test_a_switching_time_that_is_a_parameter():
    trajectory = run({"rate": der(x) == np.where(dd.time < a, 1, 0)}, {x: 0.0}, [0.0, 0.3, 2.0], parameters={a: 0.77})
    np.testing.assert_allclose(trajectory["x"], [0.0, 0.3, 0.77], atol=1e-12)


def test_a_kink():
    trajectory = run({"growth": der(x) == 1 + abs(x)}, {x: -1.0}, [0.0, 0.5, 1.0])
    np.testing.assert_allclose(trajectory["x"], [-1.0, 1 - 2 * np.exp(-0.5), np.e / 2 - 1], atol=1e-9)


def test_the_limit_cycle_of_a_relay():
    p, q, r = dd.symbols("p q r")
    equations = {"p": der(p) == -np.sign(r) - p, "q": der(q) == p - q, "r": der(r) == q - r}
    half = 1.8398753354324258
    times = np.r_[0.0, 60 + half * np.arange(8)]
    trajectory = run(equations, {p: 1.0, q: 0.5, r: 0.3}, times)
    for name in "pqr":
        np.testing.assert_allclose(trajectory[name][1:] * (-1.0) ** np.arange(8), trajectory[name][1], atol=1e-8)


def test_a_pendulum_with_dry_friction_swings_until_it_sticks():
    px, py, vx, vy = dd.symbols("px py vx vy")
    spin = px * vy - py * vx
    mass, gravity, friction = 0.3, 9.81, 0.25
    equations = {
        "px": der(px) == vx,
        "py": der(py) == vy,
        "x": mass * der(vx) == -lam * px + friction * np.sign(spin) * py,
        "y": mass * der(vy) == -lam * py - mass * gravity - friction * np.sign(spin) * px,
        "rod": px**2 + py**2 == 1,
    }
    model = dd.Model(
        name="pendulum",
        equations=equations,
        unknowns=[px, py, vx, vy, lam],
        initial={px: np.sin(1.0), vx: 0.0},
        guess={py: -1.0},
        outputs={"spin": spin, "torque": friction * np.sign(spin)},
    )
    times = np.linspace(0, 8, 4001)
    trajectory = dd.simulate(model, times, solver=SOLVER)
    angle, rate = np.arctan2(trajectory["px"], -trajectory["py"]), trajectory["spin"]
    turning = []
    moving = np.abs(rate) > 1e-9
    for i in np.flatnonzero(moving[:-1] & ((rate[:-1] * rate[1:] < 0) | ~moving[1:])):
        pull = -gravity * np.sin(angle[i]) - friction / mass * np.sign(rate[i])
        jerk = -gravity * np.cos(angle[i]) * rate[i]
        left = -rate[i] / pull - jerk / 2 * rate[i] ** 2 / pull**3
        turning.append(angle[i] + rate[i] * left + pull * left**2 / 2 + jerk * left**3 / 6)
    truth = [-0.80435323215, 0.61895748963, -0.44061095879, 0.26690200720, -0.09586376599, -0.07423921604]
    np.testing.assert_allclose(turning, truth, atol=1e-8)
    np.testing.assert_allclose(angle[-1], truth[-1], atol=2e-9)
    np.testing.assert_allclose(trajectory["torque"][-1], -mass * gravity * np.sin(truth[-1]), atol=1e-8)
    assert np.abs(trajectory["px"] ** 2 + trajectory["py"] ** 2 - 1).max() < 1e-15


def test_stick_and_slip_on_a_belt():
    slip = 0.3 - v
    force = np.sign(slip) * (0.4 + 0.6 * np.exp(-abs(slip) / 0.2))
    stick, release = np.array([0.4516672405, 7.9592012652]), np.array([3.5289223557, 12.1313758073])
    before = 1e-4
    times = np.unique(np.r_[0.0, stick - before, release - before, 15.0])
    outputs = {"side": np.sign(slip), "pull": -x - 0.05 * v + 0.4 + 0.6 * np.exp(-slip / 0.2)}
    trajectory = run({"x": der(x) == v, "v": der(v) == -x - 0.05 * v + force}, {x: 0.0, v: 0.0}, times, outputs=outputs)
    for instant in stick:
        i = int(np.searchsorted(times, instant - before - 1e-9))
        left, pull = 0.3 - trajectory["v"][i], trajectory["pull"][i]
        change = -0.3 + 3.0 * pull  # of the pull, near the belt's speed
        np.testing.assert_allclose(times[i] + left / pull - change / 2 * left**2 / pull**3, instant, atol=1e-8)
    for instant in release:
        i = int(np.searchsorted(times, instant - before - 1e-9))
        assert trajectory["v"][i] == pytest.approx(0.3, abs=1e-14)
        np.testing.assert_allclose(times[i] + (1 - trajectory["side"][i]) / 0.3, instant, atol=1e-8)


def test_a_gear_with_a_constraint_on_speeds():
    equations = {"first": der(v1) == 1 - 0.5 * np.sign(v1) + lam, "second": der(v2) == -2 * lam, "gear": v1 == 2 * v2}
    model = dd.Model(name="gear", equations=equations, unknowns=[v1, v2, lam], initial={v1: -1.0})
    times = np.array([0.0, 0.5, 1.0, 2.0])
    trajectory = dd.simulate(model, times, solver=SOLVER)
    np.testing.assert_allclose(trajectory["v1"], np.where(times < 5 / 6, 1.2, 0.4) * (times - 5 / 6), atol=1e-11)
    np.testing.assert_allclose(trajectory["lam"], [-0.3, -0.3, -0.1, -0.1], atol=1e-11)


def test_friction_on_both_sides_of_a_gear_acts_as_one():
    """Which of the two carries the load is not determined; the motion is."""
    drive = 1.5 * np.cos(dd.time)
    equations = {
        "first": der(v1) == drive - 0.5 * np.sign(v1) + lam,
        "second": der(v2) == -2 * lam - 0.3 * np.sign(v2),
        "gear": v1 == 2 * v2,
    }
    times = np.linspace(0, 10, 21)
    model = dd.Model(name="gear", equations=equations, unknowns=[v1, v2, lam], initial={v1: -1.0})
    both = dd.simulate(model, times, solver=SOLVER)
    one = run({"joined": 1.25 * der(v1) == drive - 0.65 * np.sign(v1)}, {v1: -1.0}, times)
    np.testing.assert_allclose(both["v1"], one["v1"], atol=2e-8)


def test_friction_on_both_sides_of_a_gear_at_rest():
    equations = {
        "first": der(v1) == dd.time - 0.5 * np.sign(v1) + lam,
        "second": der(v2) == -2 * lam - 0.3 * np.sign(v2),
        "gear": v1 == 2 * v2,
    }
    model = dd.Model(name="gear", equations=equations, unknowns=[v1, v2, lam], initial={v1: 0.0})
    times = np.array([0.0, 0.5, 0.64, 0.75, 1.0])
    trajectory = dd.simulate(model, times, solver=SOLVER)
    np.testing.assert_allclose(trajectory["v1"], np.maximum(times - 0.65, 0) ** 2 / 2.5, atol=1e-10)


def test_a_stack_of_two_blocks():
    equations = {
        "lower": der(v1) == dd.time - 0.3 * np.sign(v1) - 0.2 * np.sign(v1 - v2),
        "upper": der(v2) == 0.2 * np.sign(v1 - v2),
    }
    t = np.array([0.0, 0.1, 0.5, 0.8, 1.5])
    trajectory = run(equations, {v1: 0.0, v2: 0.0}, t, outputs={"floor": np.sign(v1), "between": np.sign(v1 - v2)})
    together = np.where(t < 0.3, 0.0, (t - 0.3) ** 2 / 4)
    np.testing.assert_allclose(
        trajectory["v1"], np.where(t < 0.7, together, 0.04 + ((t - 0.5) ** 2 - 0.04) / 2), atol=1e-10
    )
    np.testing.assert_allclose(trajectory["v2"], np.where(t < 0.7, together, 0.04 + 0.2 * (t - 0.7)), atol=1e-10)
    np.testing.assert_allclose(trajectory["floor"], [0.0, 1 / 3, 1.0, 1.0, 1.0], atol=1e-10)
    np.testing.assert_allclose(trajectory["between"], [0.0, 0.0, 0.5, 1.0, 1.0], atol=1e-10)


def test_a_relay_with_hysteresis():
    times = np.linspace(0, 10, 41)
    trajectory = run({"rate": der(x) == -dd.hysteresis(x, -0.2, 0.3) - x}, {x: 0.0}, times)
    exact, instant, value, target = [], 0.0, 0.0, 1.0
    for time in times:
        while instant + np.log((target - value) / (target - (border := 0.3 if target > 0 else -0.2))) <= time:
            instant += np.log((target - value) / (target - border))
            value, target = border, -target
        exact.append(target + (value - target) * np.exp(instant - time))
    np.testing.assert_allclose(trajectory["x"], exact, atol=5e-9)


def test_a_stuck_body_under_a_stepwise_force():
    force = dd.Signal(np.arange(8.0), np.array([0.2, 1.0, 0.3, -0.4, 0.0, -2.0, 0.1, 0.1]), "zoh")
    trajectory = run(
        {"force": der(v) == u - 0.5 * np.sign(v)},
        {v: 0.0},
        np.arange(8.0),
        inputs=[u],
        signals={u: force},
        outputs={"side": np.sign(v)},
    )
    np.testing.assert_allclose(trajectory["v"], [0, 0, 0.5, 0.3, 0, 0, -1.5, -0.9], atol=1e-11)
    np.testing.assert_allclose(trajectory["side"], [0.4, 1, 1, 1, 0, -1, -1, -1], atol=1e-11)


def test_following_an_input_and_losing_it():
    target = dd.Signal(np.arange(5.0), np.array([1.0, 2.0, 1.0, 10.0, 10.0]), "foh")
    trajectory = run(
        {"chase": der(v) == 5 * np.sign(u - v)},
        {v: 0.0},
        [0.0, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 3.75, 4.0],
        inputs=[u],
        signals={u: target},
        outputs={"side": np.sign(u - v)},
    )
    np.testing.assert_allclose(trajectory["v"], [0, 1, 1.5, 2, 1.5, 1, 6, 9.75, 10], atol=1e-10)
    np.testing.assert_allclose(trajectory["side"][2:6], [0.2, -0.2, -0.2, 1.0], atol=1e-10)


def test_an_input_that_jumps_over_a_border():
    level = dd.Signal(np.arange(5.0), np.array([0.5, 3.0, 1.0, 3.5, 3.5]), "zoh")
    equations = {"x": der(x) == 1, "y": der(y) == np.where(u > x, 1, 0)}
    trajectory = run(equations, {x: 0.0, y: 0.0}, np.arange(9) / 2, inputs=[u], signals={u: level})
    np.testing.assert_allclose(trajectory["y"], [0, 0.5, 0.5, 1, 1.5, 1.5, 1.5, 2, 2], atol=1e-11)


def test_a_border_touched_for_less_than_a_step():
    equations = {"x": der(x) == v, "v": der(v) == -2, "y": der(y) == np.where(x < 0.2499, 0, 1)}
    # x goes over the border at a speed of 0.02: what it is off, y is off a hundred times.
    trajectory = run(equations, {x: 0.0, v: 1.0, y: 0.0}, [0.0, 1.0], solver=dd.IDA(rtol=1e-12, atol=1e-14))
    np.testing.assert_allclose(trajectory["y"][-1], 0.02, atol=1e-11)


def test_a_start_on_a_border_at_rest():
    equations = {"x": der(x) == v, "v": der(v) == -2, "y": der(y) == np.where(x < 0, 1, 0)}
    trajectory = run(equations, {x: 0.0, v: 0.0, y: 0.0}, [0.0, 1.0])
    np.testing.assert_allclose(trajectory["y"][-1], 1.0, atol=1e-11)


def test_an_algebraic_unknown_that_jumps_with_its_own_side():
    z = dd.symbol("z")
    model = dd.Model(
        name="m",
        equations={"x": der(x) == z, "z": z == np.cos(dd.time) + 0.5 * np.sign(z)},
        unknowns=[x, z],
        initial={x: 0.0},
        guess={z: 1.0},
    )
    times = np.array([0.0, 2.0, 2.2, 4.0, 5.0, 5.3])
    trajectory = dd.simulate(model, times, solver=SOLVER)
    side = np.array([1, 1, -1, -1, -1, 1])  # until cos t = −1/2, and then until cos t = 1/2
    np.testing.assert_allclose(trajectory["z"], np.cos(times) + 0.5 * side, atol=1e-12)


def test_a_condition_on_the_rate_of_a_state_that_jumps_with_it():
    """y is −der(x), which the solver does not control between its steps."""
    equations = {"x": der(x) == -y, "y": y == x + 0.5 * np.where(y > 0.4, 1, 0)}
    model = dd.Model(name="m", equations=equations, unknowns=[x, y], initial={x: 2.0})
    times = np.r_[0.0, np.linspace(0.1, 3.9, 40)]
    exact = np.where(times < np.log(6.25), 2.5 * np.exp(-times) - 0.5, -0.1 * np.exp(np.log(6.25) - times))
    for rtol in (1e-5, 1e-8, 1e-10):
        trajectory = dd.simulate(model, times, solver=dd.IDA(rtol, rtol / 100))
        np.testing.assert_allclose(trajectory["x"], exact, atol=100 * rtol)


@pytest.mark.parametrize("rtol", [1e-5, 1e-8, 1e-10, 1e-11])
def test_the_end_of_a_slide_on_a_curved_border(rtol):
    border = v * np.cos(x) - 0.2 * x
    equations = {"x": der(x) == v, "v": der(v) == -np.sin(x) - 0.3 * np.sign(border)}
    model = dd.Model(name="m", equations=equations, unknowns=[x, v], initial={x: 0.1, v: 0.0}, outputs={"g": border})
    trajectory = dd.simulate(model, np.linspace(0, 10, 101), solver=dd.IDA(rtol, rtol / 100))
    assert trajectory.status.ok, trajectory.status
    sliding = slice(2, 53)  # from 0.1016 to 5.287
    np.testing.assert_allclose(trajectory["g"][sliding], 0.0, atol=1e-13)
    assert abs(trajectory["g"][54]) > 1e-4


def test_a_brake_that_is_released_while_a_body_sticks():
    times = np.linspace(0.0, 4.0, 41)
    exact = np.where(times < 1.25, 1 - 0.8 * times, np.where(times < 2, 0.0, 0.2 * (times - 2)))
    trajectory = run({"v": der(v) == 0.2 - np.where(dd.time < 2, np.sign(v), 0)}, {v: 1.0}, times)
    np.testing.assert_allclose(trajectory["v"], exact, atol=1e-10)
    released = {"v": der(v) == 0.2 - np.where(x < 2, np.sign(v), 0), "x": der(x) == 1}
    np.testing.assert_allclose(run(released, {v: 1.0, x: 0.0}, times)["v"], exact, atol=1e-10)


@pytest.mark.parametrize(("both", "rate"), [(True, -1.0), (False, 1.0)])
def test_a_slide_ends_when_another_condition_decides(both, rate):
    """Along x = 1 from 1 on; from 2 on y decides alone."""
    condition = (x < 1) & (y > 0) if both else (x < 1) | (y > 0)
    equations = {"x": der(x) == np.where(condition, 1, -1), "y": der(y) == rate}
    times = np.linspace(0.0, 4.0, 40)
    trajectory = run(equations, {x: 0.0, y: -2.0 * rate}, times)
    exact = np.where(times < 2, np.minimum(times, 1), 1 + rate * (times - 2))
    np.testing.assert_allclose(trajectory["x"], exact, atol=1e-10)


def stopped(equations, initial):
    model = dd.Model(name="m", equations=equations, unknowns=list(initial), initial=initial)
    trajectory = dd.simulate(model, np.linspace(0, 10, 101), solver=SOLVER)
    assert not trajectory.status.ok
    return trajectory


def test_switches_that_change_ever_faster_end_with_a_sentence(capfd):
    equations = {"x": der(x) == v, "v": der(v) == -2 * np.sign(x) - np.sign(v)}
    trajectory = stopped(equations, {x: 1.0, v: 0.0})
    # From rest at 1 it falls with −1, brakes with 3, and turns at −1/3: every swing takes 1/√3 of the one before.
    end = (np.sqrt(2) + np.sqrt(2) / 3) / (1 - 1 / np.sqrt(3))
    assert f"changes side more than 8 times at time {end:.5g}" in trajectory.status.sentence
    assert "hysteresis" in trajectory.status.remedy
    assert np.isnan(trajectory["x"][45:]).all()
    assert abs(trajectory["x"][44]) < 1e-2
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("rtol", [1e-4, 1e-6])
def test_switches_that_change_ever_faster_within_a_loose_tolerance(rtol):
    equations = {"x": der(x) == v, "v": der(v) == -2 * np.sign(x) - np.sign(v)}
    model = dd.Model(name="m", equations=equations, unknowns=[x, v], initial={x: 1.0, v: 0.0})
    trajectory = dd.simulate(model, np.linspace(0, 10, 101), solver=dd.IDA(rtol, rtol / 100))
    assert "'sign(x)' changes side more than 100 times" in trajectory.status.sentence
    assert np.nanmax(np.abs(trajectory["x"][44:])) < 1e-3


def test_a_condition_that_is_not_a_number():
    trajectory = stopped({"x": der(x) == -1, "y": der(y) == np.where(np.sqrt(x) > 0.1, 1, 0)}, {x: 1.0, y: 0.0})
    assert "what '0.1 < sqrt(x)' compares is not a number" in trajectory.status.sentence
    assert "roots" in trajectory.status.remedy


def test_a_condition_that_is_not_a_number_where_nobody_asks():
    nested = np.where(x > 0, np.where(np.sqrt(x) > 0.1, 1, 0), 0.5)
    trajectory = run({"x": der(x) == -1, "y": der(y) == nested}, {x: 1.0, y: 0.0}, [0.0, 1.0, 2.0])
    np.testing.assert_allclose(trajectory["y"], [0.0, 0.99, 1.49], atol=1e-10)


def test_a_branch_that_is_not_defined_beyond_its_border():
    equations = {"x": der(x) == v, "v": der(v) == -np.where(x > 0, 1.5 * np.sqrt(x) + 1, 0.3)}
    trajectory = run(equations, {x: 1.0, v: 0.0}, np.linspace(0, 4, 41), outputs={"x": x, "v": v})
    speed = np.abs(trajectory["v"][-1] - trajectory["v"][-11])
    np.testing.assert_allclose(speed, 0.3, atol=1e-10)
    after = trajectory["x"] < 0  # v²/2 + 0.3 x is then what x^1.5 + x was at the start
    np.testing.assert_allclose(trajectory["v"][after] ** 2 / 2 + 0.3 * trajectory["x"][after], 2.0, atol=1e-8)


def test_two_switches_that_multiply_each_other():
    equations = {
        "first": der(v1) == -np.sign(v1) * (2 + np.sign(v2)),
        "second": der(v2) == -np.sign(v2) * (2 + np.sign(v1)) + 0.1,
    }
    trajectory = stopped(equations, {v1: 1.0, v2: 1.0})
    assert "'sign(v1)' and 'sign(v2)' slide at once at time 0.35" in trajectory.status.sentence
    assert "multiply" in trajectory.status.remedy


def test_friction_under_disturbances():
    model = dd.Model(
        name="m",
        equations={"x": der(x) == v, "v": der(v) == n - x - 0.3 * np.sign(v)},
        unknowns=[x, v],
        initial={x: 0.0, v: 0.0},
        disturbances={n: dd.FilteredNoise([3.0], [1.0, 0.8, 4.0], grid=0.05, initial="rest")},
        outputs={"side": np.sign(v), "push": n - x},
    )
    times = np.linspace(0, 10, 101)
    fine, coarse = (
        dd.simulate(model, times, realizations=3, rng=1, solver=dd.IDA(rtol, rtol / 100)) for rtol in (1e-9, 1e-7)
    )
    assert fine.status.ok
    assert coarse.status.ok
    np.testing.assert_allclose(fine["x"], coarse["x"], atol=2e-5)
    stuck = fine["v"] == 0.0
    assert stuck.any()
    np.testing.assert_allclose(fine["side"][stuck], fine["push"][stuck] / 0.3, atol=1e-12)


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
def test_loose_tolerances(rtol):
    equations = {"x": der(x) == v, "v": der(v) == 1.5 * np.sin(2 * dd.time) - x - 0.4 * np.sign(v)}
    model = dd.Model(name="m", equations=equations, unknowns=[x, v], initial={x: 0.0, v: 0.0})
    times = np.linspace(0, 20, 41)
    exact = dd.simulate(model, times, solver=SOLVER)
    loose = dd.simulate(model, times, solver=dd.IDA(rtol, rtol / 100))
    assert loose.status.ok
    np.testing.assert_allclose(loose["x"], exact["x"], atol=100 * rtol)


def test_a_run_that_stops_while_something_sticks():
    trajectory = stopped({"growth": der(x) == x**2, "v": der(v) == x - 1e9 * np.sign(v)}, {x: 1.0, v: 0.0})
    assert "stopped at time 0.9999" in trajectory.status.sentence
    assert "'der(x)'" in trajectory.status.sentence
