"""Simulations against closed forms, matrix exponentials and hand-reduced equations."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline, PPoly
from scipy.linalg import expm

import catalogue
import daedal as dd
from daedal import der
from daedal.errors import DaedalError, SimulationError

x, y, v, u, w, k, c = dd.symbols("x y v u w k c")
TIGHT = dd.IDA(rtol=1e-10, atol=1e-12)


def decay(rate=2.0):
    return dd.Model(
        name="decay", equations={"rate": der(x) == -k * x}, unknowns=[x], parameters={k: rate}, initial={x: 1.0}
    )


def lag():
    return dd.Model(
        name="lag",
        equations={"lag": der(x) == -k * x + u},
        unknowns=[x],
        inputs=[u],
        outputs={"twice": 2 * x},
        parameters={k: 2.0},
        initial={x: 0.0},
    )


def oscillator():
    """x'' + 0.4 x' + 9 x = 5 u + w, and an output with the acceleration in it."""
    return dd.Model(
        name="oscillator",
        equations={"speed": der(x) == v, "force": der(v) == -0.4 * v - 9 * x + 5 * u + w},
        unknowns=[x, v],
        inputs=[u, w],
        outputs={"acceleration": der(v)},
        initial={x: 0.5, v: -1.0},
    )


OSCILLATOR = np.array([[0.0, 1.0], [-9.0, -0.4]]), np.array([[0.0, 0.0], [5.0, 1.0]]), np.array([0.5, -1.0])


def polynomial(signal):
    """The signal as scipy understands it."""
    if signal.intersample == "spline":
        return CubicSpline(signal.times, signal.values)
    slopes = np.diff(signal.values) / np.diff(signal.times)
    held = signal.values[:-1]
    return PPoly(np.stack([slopes, held]) if signal.intersample == "foh" else held[None], signal.times)


def exact(A, B, start, signals, times):
    """x' = A x + B u by matrix exponentials from break to break, with u and its derivatives as states."""
    curves = [polynomial(signal) for signal in signals]
    breaks = np.unique(np.concatenate([times, *(s.times for s in signals)]))
    breaks = breaks[(breaks >= times[0]) & (breaks <= times[-1])]
    n, m = B.shape
    generator = np.zeros((n + 4 * m, n + 4 * m))
    generator[:n, :n] = A
    for i in range(m):
        generator[:n, n + 4 * i] = B[:, i]
        generator[n + 4 * i : n + 4 * i + 3, n + 4 * i + 1 : n + 4 * i + 4] = np.eye(3)
    transition = cache(lambda step: expm(generator * step))
    state, states = start, {breaks[0]: start}
    for t, following in pairwise(breaks):
        forced = [curve(t, nu=order) if order < len(curve.c) else 0.0 for curve in curves for order in range(4)]
        state = (transition(round(following - t, 14)) @ np.r_[state, forced])[:n]
        states[following] = state
    return np.array([states[t] for t in times])


def test_decay():
    times = np.linspace(0, 3, 31)
    trajectory = dd.simulate(decay(), times, solver=TIGHT)
    np.testing.assert_allclose(trajectory["x"], np.exp(-2 * times), atol=1e-9)
    assert trajectory.status.ok


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e11])
def test_time_scales(scale):
    times = np.linspace(0, 2, 11) * scale
    trajectory = dd.simulate(decay(2.0 / scale), times, solver=TIGHT)
    np.testing.assert_allclose(trajectory["x"], np.exp(-2 * times / scale), atol=1e-9)


@pytest.mark.parametrize("start", [-5.0, 1.7e9])
def test_only_the_time_since_the_start_counts(start):
    times = start + np.linspace(0, 2, 9)
    np.testing.assert_allclose(dd.simulate(decay(), times, solver=TIGHT)["x"], np.exp(-2 * (times - start)), atol=1e-9)


def test_irregular_times():
    times = np.array([0.0, 1e-6, 0.3, 0.30000001, 2.0])
    np.testing.assert_allclose(dd.simulate(decay(), times, solver=TIGHT)["x"], np.exp(-2 * times), atol=1e-9)


def test_start_before_the_first_time():
    trajectory = dd.simulate(decay(), [1.0, 2.0], t0=0, solver=TIGHT)
    np.testing.assert_allclose(trajectory["x"], np.exp([-2.0, -4.0]), atol=1e-9)
    assert trajectory.t0 == 0.0


def test_a_single_time_is_the_start_or_the_end():
    np.testing.assert_array_equal(dd.simulate(decay(), [3.0])["x"], [1.0])
    np.testing.assert_allclose(dd.simulate(decay(), [3.0], t0=2.0, solver=TIGHT)["x"], [np.exp(-2)], atol=1e-9)


def test_explicit_time():
    model = dd.Model(
        name="t", equations={"rate": der(x) == np.cos(3 * dd.time)}, unknowns=[x], initial={x: np.sin(3) / 3}
    )
    times = np.linspace(1, 6, 20)
    np.testing.assert_allclose(dd.simulate(model, times, solver=TIGHT)["x"], np.sin(3 * times) / 3, atol=1e-8)


@pytest.mark.parametrize("kind", ["zoh", "foh", "spline"])
def test_forced_oscillator(kind):
    rng = np.random.default_rng(1)
    drive = dd.Signal(np.linspace(0, 5, 26), rng.normal(size=26), kind)
    other = dd.Signal(np.r_[0, np.sort(rng.uniform(0, 6, 20)), 6], rng.normal(size=22), "zoh")
    times = np.sort(np.r_[0, rng.uniform(0, 5, 40), drive.times[5:8], other.times[3:5], 5])
    trajectory = dd.simulate(oscillator(), times, inputs={"u": drive, "w": other}, solver=TIGHT)
    truth = exact(*OSCILLATOR, [drive, other], times)
    np.testing.assert_allclose(np.stack([trajectory["x"], trajectory["v"]], axis=1), truth, atol=1e-7)
    force = 5 * drive(times) + other(times)  # right-continuous, as every value at a jump
    np.testing.assert_allclose(trajectory["acceleration"], -0.4 * truth[:, 1] - 9 * truth[:, 0] + force, atol=1e-6)


@pytest.mark.parametrize("shift", [-1e-9, 0.0, 1e-9, 0.0123, 0.05])
def test_the_error_does_not_depend_on_where_jumps_fall(shift):
    """200 jumps; the samples hit them, miss them a little, or lie in between."""
    jumps = np.r_[0.0, np.arange(1, 200) * 0.05 + shift, 20.0]
    drive = dd.Signal(jumps, np.random.default_rng(2).normal(size=jumps.size), "zoh")
    times = np.arange(201) * 0.05
    trajectory = dd.simulate(lag(), times, inputs={"u": drive})
    truth = exact(np.array([[-2.0]]), np.array([[1.0]]), np.zeros(1), [drive], times)[:, 0]
    assert np.abs(trajectory["x"] - truth).max() < 1e-7
    np.testing.assert_array_equal(trajectory["u"], drive(times))


def test_jumps_and_samples_one_rounding_apart():
    """0.1 * 3 and 0.3 differ by one bit: neither a failure nor a lost jump."""
    first = dd.Signal(np.arange(30) * 0.1, np.arange(30.0), "zoh")
    second = dd.Signal(np.linspace(0, 2.9, 30), -np.arange(30.0), "zoh")
    assert (first.times != second.times).any()
    model = oscillator().with_outputs({"acceleration": None})
    for times in (first.times, second.times, np.round(first.times, 1)):
        trajectory = dd.simulate(model, times, inputs={"u": first, "w": second}, solver=TIGHT, t0=0.0)
        truth = exact(*OSCILLATOR, [first, second], times)
        np.testing.assert_allclose(trajectory["x"], truth[:, 0], atol=1e-7)


def test_a_jump_at_the_start_and_at_the_end():
    drive = dd.Signal([-1.0, 0.0, 1.0, 2.0], [7.0, 1.0, 5.0, 3.0], "zoh")
    trajectory = dd.simulate(lag(), [0.0, 0.5, 1.0], inputs={"u": drive}, solver=TIGHT)
    np.testing.assert_allclose(trajectory["x"], (1 - np.exp([0.0, -1.0, -2.0])) / 2, atol=1e-9)
    np.testing.assert_array_equal(trajectory["u"], [1.0, 1.0, 5.0])


def test_algebraic_variables_are_right_continuous_at_jumps():
    model = dd.Model(
        name="algebra", equations={"sum": x + y == u, "cube": x == y**3}, unknowns=[x, y], inputs=[u], guess={y: 1.0}
    )
    drive = dd.Signal([0.0, 1.0, 2.0], [2.0, 10.0, 30.0], "zoh")
    trajectory = dd.simulate(model, [0.0, 0.5, 1.0, 1.5, 2.0], inputs={"u": drive})
    np.testing.assert_allclose(trajectory["y"], [1, 1, 2, 2, 3], rtol=1e-14)
    np.testing.assert_allclose(trajectory["x"], [1, 1, 8, 8, 27], rtol=1e-14)


def test_a_model_without_states_follows_time():
    model = dd.Model(name="root", equations={"root": x**3 + x == dd.time}, unknowns=[x])
    wanted = np.linspace(0, 3, 20)
    np.testing.assert_allclose(dd.simulate(model, wanted**3 + wanted)["x"], wanted, atol=1e-14)


def test_the_current_of_a_capacitor_jumps_with_the_slope_of_its_voltage():
    drive = dd.Signal([0.0, 1.0, 2.0, 4.0], [0.0, 2.0, 1.0, 1.0])
    problem = catalogue.capacitor_loop_with_input()
    times = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0])
    trajectory = dd.simulate(problem.model(), times, inputs={"u": drive}, solver=TIGHT)
    np.testing.assert_allclose(trajectory["i1"], 0.5 * np.array([2, 2, -1, -1, 0, 0, 0]), atol=1e-13)
    tau = 1.5 * 0.4
    truth = exact(np.array([[-1 / tau]]), np.array([[1 / tau]]), np.zeros(1), [drive], times)[:, 0]
    np.testing.assert_allclose(trajectory["v2"], truth, atol=1e-8)


def test_the_second_derivative_of_a_spline():
    """A cart whose position is prescribed: the force on it is m u'', and a pendulum in it feels u''."""
    force, angle, rate = dd.symbols("force angle rate")
    model = dd.Model(
        name="cart",
        equations={
            "track": x == u,
            "cart": 2 * der(der(x)) == force,
            "turn": der(angle) == rate,
            "swing": der(rate) == -4 * angle - der(der(x)),
        },
        unknowns=[x, force, angle, rate],
        inputs=[u],
        initial={angle: 0.1, rate: 0.0},
    )
    drive = dd.Signal(np.linspace(0, 3, 13), np.sin(np.linspace(0, 9, 13)), "spline")
    times = np.linspace(0, 3, 16)
    trajectory = dd.simulate(model, times, inputs={"u": drive}, solver=TIGHT)
    spline = CubicSpline(drive.times, drive.values)
    np.testing.assert_allclose(trajectory["force"], 2 * spline(times, nu=2), atol=1e-11)
    second = dd.Signal(drive.times, spline(drive.times, nu=2))  # the second derivative of a cubic spline is linear
    A, B = np.array([[0.0, 1.0], [-4.0, 0.0]]), np.array([[0.0], [-1.0]])
    truth = exact(A, B, np.array([0.1, 0.0]), [second], times)
    np.testing.assert_allclose(trajectory["angle"], truth[:, 0], atol=1e-7)


def test_the_pendulum_with_drag_against_its_angle_equation():
    tension, vx, vy = dd.symbols("tension vx vy")
    model = dd.Model(
        name="pendulum",
        equations={
            "kinematics x": der(x) == vx,
            "kinematics y": der(y) == vy,
            "force x": 0.3 * der(vx) == tension * x - k * np.abs(vx) * vx + u,
            "force y": 0.3 * der(vy) == tension * y - k * np.abs(vy) * vy - 0.3 * 9.81,
            "rod": x**2 + y**2 == 6.25**2,
        },
        unknowns=[x, y, vx, vy, tension],
        inputs=[u],
        outputs={"angle": np.arctan2(x, -y)},
        parameters={k: 0.05},
        initial={x: 1.0, vx: 0.0},
        guess={y: -6.25},
    )
    fine = np.linspace(0, 4, 41)
    drive = dd.Signal(fine, np.random.default_rng(0).normal(size=41))

    def rates(t, state):
        theta, speed = state
        across, along = np.cos(theta), np.sin(theta)
        fx = drive(t) - 0.05 * abs(6.25 * speed * across) * 6.25 * speed * across
        fy = -0.3 * 9.81 - 0.05 * abs(6.25 * speed * along) * 6.25 * speed * along
        return [speed, (fx * across + fy * along) / (0.3 * 6.25)]

    times = np.linspace(0, 4, 21)
    truth = solve_ivp(rates, (0, 4), [np.arcsin(1 / 6.25), 0], "DOP853", times, rtol=1e-11, atol=1e-13, max_step=0.05)
    for values in ({}, {"k": 0.05}, {k: 0.05}):
        trajectory = dd.simulate(model, times, inputs={"u": drive}, values=values, solver=TIGHT)
        np.testing.assert_allclose(trajectory["angle"], truth.y[0], atol=1e-8)


@pytest.mark.parametrize("stages", [5, 60])
def test_dense_and_sparse_linear_algebra_agree_with_the_matrix_exponential(stages):
    problem = catalogue.rlc_ladder(stages)
    times = np.array([0.0, 1.0, 3.0])
    trajectory = dd.simulate(problem.model(), times, solver=TIGHT)
    # States (iL, v); the source sin(t) is carried along as a rotation.
    A = np.zeros((2 * stages + 2, 2 * stages + 2))
    for j in range(stages):
        before = stages + j - 1 if j else 2 * stages
        A[j, [before, j, stages + j]] = [1, -0.1, -1]
        A[stages + j, j] = 1
        if j + 1 < stages:
            A[stages + j, j + 1] = -1
    A[2 * stages - 1, 2 * stages - 1] = -1
    A[2 * stages, 2 * stages + 1], A[2 * stages + 1, 2 * stages] = 1, -1
    start = np.r_[np.zeros(2 * stages + 1), 1.0]
    for position, t in enumerate(times):
        state = expm(A * t) @ start
        np.testing.assert_allclose(trajectory["iL[0]"][position], state[0], atol=1e-8)
        np.testing.assert_allclose(trajectory[f"v[{stages - 1}]"][position], state[2 * stages - 1], atol=1e-8)


def test_values_replace_parameters_and_those_that_depend_on_them():
    model = dd.Model(
        name="decay",
        equations={"rate": der(x) == -c * x},
        unknowns=[x],
        parameters={k: 1.0, c: 3 * k},
        initial={x: 2 * k},
    )
    trajectory = dd.simulate(model, [0.0, 1.0], values={"k": 0.5}, solver=TIGHT)
    np.testing.assert_allclose(trajectory["x"], [1.0, np.exp(-1.5)], atol=1e-9)
    assert dict(trajectory.parameters) == {"k": 0.5, "c": 1.5}
    with pytest.raises(DaedalError, match=r"no parameter 'kk'.*'k'"):
        dd.simulate(model, [0.0, 1.0], values={"kk": 1.0})


def test_a_system_in_place_of_a_model():
    system = dd.build(decay())
    np.testing.assert_array_equal(dd.simulate(system, [0, 1])["x"], dd.simulate(decay(), [0, 1])["x"])


def test_a_number_is_a_constant_input_with_all_its_derivatives():
    model = dd.Model(name="cart", equations={"track": x == u, "force": y == der(der(x))}, unknowns=[x, y], inputs=[u])
    for constant in (3, np.float64(3.0), dd.Signal([0.0, 1.0], [3.0, 3.0], "zoh")):
        trajectory = dd.simulate(model, [0.0, 1.0], inputs={u: constant})
        np.testing.assert_array_equal(trajectory["x"], [3.0, 3.0])
        np.testing.assert_array_equal(trajectory["y"], [0.0, 0.0])


def test_disturbances_are_zero_and_the_trajectory_says_so():
    model = dd.Model(
        name="pushed",
        equations={"lag": der(x) == -x + w},
        unknowns=[x],
        disturbances={w: dd.FilteredNoise([1.0], [1.0, 1.0])},
        initial={x: 1.0},
    )
    trajectory = dd.simulate(model, [0.0, 1.0], solver=TIGHT)
    np.testing.assert_allclose(trajectory["x"], np.exp([0.0, -1.0]), atol=1e-9)
    assert "disturbances are zero: w" in trajectory.notes
    assert "disturbances are zero: w" in str(trajectory)


def test_open_freedom_is_held_at_the_guess_and_listed():
    model = dd.Model(name="open", equations={"rate": der(x) == -x}, unknowns=[x], guess={x: 4.0})
    trajectory = dd.simulate(model, [0.0, 1.0])
    assert trajectory["x"][0] == 4.0
    assert any("left open" in note and "x = 4" in note for note in trajectory.notes)


def test_a_dataset_gives_inputs_start_and_times():
    drive = dd.Signal([0.0, 4.0], [1.0, 1.0])
    data = dd.Dataset([1.0, 2.0], inputs={"u": drive}, outputs={"twice": [0.0, 0.0]}, t0=0.5)
    trajectory = dd.simulate(lag(), data, solver=TIGHT)
    np.testing.assert_array_equal(trajectory.times, [1.0, 2.0])
    np.testing.assert_allclose(trajectory["twice"], 1 - np.exp([-1.0, -3.0]), atol=1e-9)
    assert trajectory.t0 == 0.5
    assert dd.simulate(lag(), data, inputs={u: 0.0})["x"][-1] == 0.0


def test_a_dataset_whose_outputs_have_times_of_their_own():
    data = dd.Dataset(
        [0.0, 1.0, 2.0],
        inputs={"u": [1.0, 1.0, 1.0]},
        outputs={"twice": dd.Samples([0.5, 1.5], [0, 0]), "other": dd.Samples([1.0, 1.5, 1.75], [0, 0, 0])},
    )
    trajectory = dd.simulate(lag(), data, solver=TIGHT)
    np.testing.assert_array_equal(trajectory.times, [0.5, 1.0, 1.5, 1.75])
    np.testing.assert_allclose(trajectory["twice"], 1 - np.exp(-2 * (trajectory.times - 0.5)), atol=1e-9)
    unmeasured = dd.Dataset([0.0, 1.0, 2.0], inputs={"u": [1.0, 1.0, 1.0]})
    np.testing.assert_array_equal(dd.simulate(lag(), unmeasured).times, [0.0, 1.0, 2.0])


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([], "times are empty"),
        ([0.0, np.nan, 2.0], r"times\[1\] is nan"),
        ([0.0, np.inf], r"times\[1\] is inf"),
        ([0.0, 2.0, 1.0], r"strictly increasing but times\[2\] = 1 follows times\[1\] = 2.*Sort"),
        ([0.0, 0.0], "strictly increasing"),
        ([[0.0, 1.0]], "one-dimensional"),
        (["a"], "real numbers"),
        (np.array(["2020-01-01"], dtype="M8[s]"), "datetime64.*seconds since"),
        (5.0, "list of numbers or a Dataset, got float.*np.arange"),
        (None, "got NoneType"),
        ("abc", "got str"),
        (dd.Signal([0, 1], [0, 1]), "got Signal"),
    ],
)
def test_times_that_cannot_be_used(times, message):
    with pytest.raises(SimulationError, match=message):
        dd.simulate(decay(), times)


@pytest.mark.parametrize("t0", [np.nan, -np.inf, "a", [0.0]])
def test_a_start_that_is_no_number(t0):
    with pytest.raises(SimulationError, match="t0 must be a finite number"):
        dd.simulate(decay(), [0.0, 1.0], t0=t0)


def test_a_start_after_the_first_time():
    with pytest.raises(SimulationError, match=r"t0 = 0.5 lies after the first time 0\."):
        dd.simulate(decay(), [0.0, 1.0], t0=0.5)


def test_arguments_in_the_wrong_place():
    data = dd.Dataset([0.0, 1.0], outputs={"y": [0.0, 0.0]})
    for first, second in (([0.0, 1.0], decay()), (data, decay()), (data, dd.build(decay()))):
        with pytest.raises(SimulationError, match=r"model first.*Exchange"):
            dd.simulate(first, second)
    with pytest.raises(SimulationError, match="Model or a System, got list"):
        dd.simulate([0.0], [0.0, 1.0])
    with pytest.raises(SimulationError, match=r"values .* mapping, got list.*values="):
        dd.simulate(decay(), [0.0, 1.0], values=[2.0])
    for solver in ("ida", dd.IDA):
        with pytest.raises(SimulationError, match=r"must be a solver, got .*Write solver=IDA"):
            dd.simulate(decay(), [0.0, 1.0], solver=solver)
