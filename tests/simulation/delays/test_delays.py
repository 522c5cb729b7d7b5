"""Simulation with delays: closed forms, published problems, slopes against differences, what is refused."""

import warnings
from dataclasses import replace
from math import factorial

import numpy as np
import pytest
from delay_cases import (
    BOTH,
    CASES,
    ECHO,
    FEEDBACK,
    GRID,
    OFF,
    a,
    b,
    c,
    held,
    make_reactor,
    single,
    tau,
    u,
    v,
    w,
    x,
    y,
    z,
)

import daedal as dd
from batteries.counting import count_calls
from catalogue.delays import PROBLEMS
from daedal import delay, der
from daedal.errors import DaedalError, SimulationError
from daedal.simulation.delays import run as delay_run
from daedal.simulation.ensemble_solver import Lanes
from daedal.simulation.prediction import make_predictor
from daedal.simulation.request import check_request

TIGHT = Lanes(tolerance=1e-11)
TIMES = 0.5 * np.arange(1, 21)
NOMINAL = """
    6.638488513455 6.026985374554 5.906419287775 5.883114409307 5.241626006099 4.785351128215 4.627673234117
    4.584088454926 4.480146179468 4.306478324224 4.206094217259 4.167348638964 4.145005341446 4.098492083469
    4.056142662864 4.033702811221 4.024439553435 4.013789483720 4.000430993980 3.990901613331"""


def predicted(model, times, values, *, inputs=None, solver=TIGHT):
    """Outputs (output, time) and their slopes (parameter, output, time)."""
    asked = check_request("test", model, times, inputs, 0.0)
    found = make_predictor(asked, tuple(model.outputs), tuple(values), values, solver, None, 0, "test")(values)
    return found.mean, found.slopes


def feedback(times, rate, lag, first=0):
    """x' = −rate x(t − lag) from 1, history 1 (or 0 with first=1), and dx/dlag: the method of steps by hand."""
    value, slope = np.ones(times.size), np.zeros(times.size)
    for k in range(1, 60):
        shift = k - 1 + first
        since = times - shift * lag
        late = since > 0.0
        value[late] += (-rate) ** k * since[late] ** k / factorial(k)
        slope[late] -= shift * (-rate) ** k * since[late] ** (k - 1) / factorial(k - 1)
    return value, slope


def test_the_reactor_at_its_nominal_point():
    model = make_reactor().with_parameters({"tau": 2.0, "z1": -2.0, "z2": -2.5})
    expected = np.array(NOMINAL.split(), dtype=float)
    found = dd.simulate(model, TIMES, t0=0.0, solver=TIGHT)
    np.testing.assert_allclose(found["y"], expected, rtol=0, atol=1e-9)
    assert found.status.ok
    np.testing.assert_allclose(dd.simulate(model, TIMES, t0=0.0)["y"], expected, rtol=1e-8)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_published_problems(problem):
    model = problem.model()
    found = dd.simulate(model, list(problem.reference), t0=0.0)
    expected = np.array(list(problem.reference.values()))
    np.testing.assert_allclose(np.stack([found[o] for o in model.outputs], axis=1), expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("meets", [True, False])
def test_feedback_and_its_slopes_are_those_of_the_method_of_steps_also_on_multiples_of_the_delay(meets):
    model = FEEDBACK if meets else single(-a * delay(x, tau), history={x: 0.0}, initial={x: 1.0})
    times = np.array([0.25, 0.5, 0.75, 1.0, 1.5, 1.7, 2.0, 2.5, 3.0, 4.0])
    first = 0 if meets else 1
    if not meets:
        times = times[times != 0.5]  # there the slope itself jumps
    value, slope = feedback(times, 0.8, 0.5, first)
    found, slopes = predicted(model, times, {"a": 0.8, "tau": 0.5})
    np.testing.assert_allclose(found[0], value, rtol=0, atol=1e-10)
    np.testing.assert_allclose(slopes[1, 0], slope, rtol=0, atol=1e-9)


def test_a_delay_far_below_any_step():
    times = np.array([0.1, 0.5005, 1.0])
    value, slope = feedback(times, 0.8, 1e-3)
    found, slopes = predicted(FEEDBACK, times, {"a": 0.8, "tau": 1e-3}, solver=Lanes(tolerance=1e-8))
    np.testing.assert_allclose(found[0], value, rtol=0, atol=1e-10)
    np.testing.assert_allclose(slopes[1, 0], slope, rtol=1e-7)


def test_a_delay_beyond_the_end_only_sees_the_history():
    found, slopes = predicted(
        single(-delay(x, tau), history={x: c * dd.time}), np.array([1.0, 2.0]), {"tau": 5.0, "c": 1.1}
    )
    times = np.array([1.0, 2.0])  # x' = −c (t − τ)
    np.testing.assert_allclose(found[0], -1.1 * (times**2 / 2 - 5.0 * times), rtol=1e-12)
    np.testing.assert_allclose(slopes[0, 0], 1.1 * times, rtol=1e-11)
    np.testing.assert_allclose(slopes[1, 0], -(times**2 / 2 - 5.0 * times), rtol=1e-11)


def test_a_neutral_system_keeps_its_kinks():
    """x' = b x'(t − τ) with history 1 + c t: the slope is c bⁿ in the n-th stretch."""
    model = single(b * delay(der(x), tau), history={x: 1.0 + c * dd.time})
    times = np.array([0.2, 0.7, 1.1, 2.3, 3.9])
    values = {"b": 0.6, "c": 1.1, "tau": 0.5}
    whole = np.floor(times / 0.5).astype(int)
    expected = [1.0 + 1.1 * (0.5 * sum(0.6 ** np.arange(1, n + 1)) + (t - 0.5 * n) * 0.6 ** (n + 1))
                for t, n in zip(times, whole, strict=True)]  # fmt: skip
    moved = [1.1 * (sum(0.6 ** np.arange(1, n + 1)) - n * 0.6 ** (n + 1)) for n in whole]
    found, slopes = predicted(model, times, values)
    np.testing.assert_allclose(found[0], expected, rtol=1e-11)
    np.testing.assert_allclose(slopes[2, 0], moved, rtol=1e-10, atol=1e-11)


def test_an_echo_is_a_staircase():
    model = dd.Model(
        name="echo", equations={"echo": y == a * delay(y, tau) + 1.0}, unknowns=[y], outputs={"o": y},
        parameters={a: 0.5, tau: 0.4}, history={y: 0.0},
    )  # fmt: skip
    times = np.array([0.1, 0.5, 0.9, 1.3, 2.9])
    whole = np.floor(times / 0.4) + 1
    found, slopes = predicted(model, times, {"a": 0.5, "tau": 0.4})
    np.testing.assert_allclose(found[0], (1 - 0.5**whole) / 0.5, rtol=1e-12)
    np.testing.assert_allclose(slopes[1, 0], 0.0, atol=1e-12)


@pytest.mark.parametrize("index", [2, 3])
def test_what_follows_a_delayed_leader_inside_a_constraint(index):
    """x(t) = z(t − τ) with z = exp(−t) also before the start; speed and force are its derivatives."""
    f = dd.symbol("f")
    speed, force = {"speed": der(x) == v}, {"force": der(v) == f}
    model = dd.Model(
        name="chase",
        equations={"leader": der(z) == -z, **speed, **(force if index == 3 else {}), "follow": x == delay(z, tau)},
        unknowns=[z, x, v] + [f] * (index == 3),
        outputs={"x": x, "v": v} | ({"f": f} if index == 3 else {}),
        parameters={tau: 0.7},
        history={z: np.exp(-dd.time)},
    )
    assert dd.analyze(model).index == index
    times = np.array([0.0, 0.3, 0.7, 1.0, 1.4, 2.9])
    found, slopes = predicted(model, times, {"tau": 0.7})
    signs = np.array([1.0, -1.0, 1.0])[:index, None]
    np.testing.assert_allclose(found, signs * np.exp(-(times - 0.7)), rtol=1e-9)
    np.testing.assert_allclose(slopes[0], signs * np.exp(-(times - 0.7)), rtol=1e-8)


def test_a_held_input_arrives_later():
    """x' = u(t − τ): the integral of a staircase; before its first sample the input is what it is there."""
    model = single(delay(u, tau), inputs=[u], history={}, initial={x: 0.0})
    values = np.array([0.5, 1.0, -2.0, 0.0])
    signal = dd.Signal(np.arange(4.0), values, "zoh")
    times = np.array([0.2, 0.9, 1.2, 1.9, 2.9])
    found, slopes = predicted(model, times, {"tau": 0.4}, inputs={"u": signal})
    edges, levels = np.array([0.4, 1.4, 2.4]), np.array([0.5, 1.0, -2.0])
    passed = np.clip(times[:, None] - edges, 0.0, 1.0)  # how long each level has been there
    reached = 0.5 * np.minimum(times, 0.4) + passed @ levels
    arrived = [0.5 - signal(t - 0.4) if t > 0.4 else 0.0 for t in times]
    np.testing.assert_allclose(found[0], reached, rtol=1e-11)
    np.testing.assert_allclose(slopes[0, 0], np.ravel(arrived), rtol=1e-10, atol=1e-11)


def test_outputs_may_be_delayed():
    model = dd.Model(
        name="late", equations={"rate": der(x) == -a * x}, unknowns=[x], outputs={"o": delay(x, tau) ** 2},
        parameters={a: 0.8, tau: 0.5}, history={x: np.exp(-a * dd.time)},
    )  # fmt: skip
    times = np.array([0.2, 0.5, 1.0, 2.2])
    found, slopes = predicted(model, times, {"a": 0.8, "tau": 0.5})
    expected = np.exp(-1.6 * (times - 0.5))
    np.testing.assert_allclose(found[0], expected, rtol=1e-9)
    np.testing.assert_allclose(slopes[:, 0], [-2 * (times - 0.5) * expected, 1.6 * expected], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:The grid of .* is coarse")
def test_slopes_agree_with_differences(name):
    case = CASES[name]
    run = case.predictor()
    slopes = run(case.values).slopes
    for number, (parameter, value) in enumerate(case.values.items()):
        step = 2e-4 * min(1.0, abs(value))

        def at(k, parameter=parameter, value=value, step=step):
            return run({**case.values, parameter: value + k * step}).mean

        difference = (8.0 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12.0 * step)
        size = max(1.0, np.abs(difference).max())
        np.testing.assert_allclose(slopes[number], difference, rtol=0, atol=1e-6 * size, err_msg=parameter)
        assert np.abs(difference).max() > 1e-3, f"{parameter} must matter"


def test_slopes_of_the_reactor_where_samples_fall_on_multiples_of_the_delay():
    """The second derivative jumps there: differences from one side, which agree from both."""
    asked = check_request("test", make_reactor(), TIMES, None, 0.0)
    values, step = {"tau": 2.0, "z1": -2.0, "z2": -2.5}, 2e-4
    run = make_predictor(asked, ("y",), ("tau",), values, TIGHT, None, 0, "test")
    slopes = run(values).slopes[0]
    for side in (1.0, -1.0):
        at = [run({**values, "tau": 2.0 + side * k * step}).mean for k in range(5)]
        difference = side * (-25 * at[0] + 48 * at[1] - 36 * at[2] + 16 * at[3] - 3 * at[4]) / (12 * step)
        np.testing.assert_allclose(slopes, difference, rtol=0, atol=1e-6)


def test_steps_between_close_break_points_are_judged_too():
    """Segments of five steps must be divided when their error is estimated, not only long ones."""
    fast = single(-a * x + delay(u, tau), inputs=[u], history={}, initial={x: 1.0})
    asked = check_request("test", fast, GRID[1:], held("foh"), 0.0)
    rough, exact = (
        make_predictor(asked, ("o",), (), {"a": 20.0}, solver, None, 0, "test") for solver in (Lanes(step=0.5), TIGHT)
    )
    truth = exact({"a": 20.0}).mean
    error = np.abs(rough({"a": 20.0}).mean - truth).max() / np.abs(truth).max()
    assert error > 1e-6
    assert 0.3 < rough.run.plan.error / error < 3.0


def test_time_may_start_anywhere():
    later = single(-a * delay(x, tau), history={x: np.cos(dd.time - 100.0)})
    shifted = single(-a * delay(x, tau), history={x: np.cos(dd.time)})
    times = np.array([0.4, 1.3, 2.9])
    found = dd.simulate(later, 100.0 + times, t0=100.0)["o"]
    np.testing.assert_allclose(found, dd.simulate(shifted, times, t0=0.0)["o"], rtol=1e-8)


@pytest.mark.filterwarnings("ignore:The grid of .* is coarse")
def test_disturbed_lanes_do_not_depend_on_their_number():
    model = CASES["disturbed"].model
    many = dd.simulate(model, GRID[:4], realizations=70, rng=1, variables=["x"])["x"]
    few = dd.simulate(model, GRID[:4], realizations=3, rng=1, variables=["x"])["x"]
    np.testing.assert_array_equal(many[:3], few)
    calm = dd.simulate(model, GRID[:4], variables=["x"])["x"]
    assert many.mean(axis=0)[-1] > calm[-1] + 3.0 * many[:, -1].std() / np.sqrt(70)  # w² pushes one way


@pytest.mark.filterwarnings("ignore:The grid of .* is coarse")
def test_records_that_do_not_fit_are_made_one_after_the_other(monkeypatch):
    model = CASES["disturbed"].model
    whole = dd.simulate(model, GRID[:4], realizations=70, rng=1, variables=["x"])["x"]
    monkeypatch.setattr(delay_run, "MEMORY", 1.0)
    np.testing.assert_array_equal(dd.simulate(model, GRID[:4], realizations=70, rng=1, variables=["x"])["x"], whole)


@pytest.mark.parametrize(("one", "two"), [(123456.1, 123456.4), (1.0, 1.0 + 1e-8)])
def test_delays_that_are_written_alike_are_two(one, two):
    """x' = x(t − one) − x(t − two) with the history t: x = (two − one) t."""
    model = single(delay(x, one) - delay(x, two), history={x: dd.time}, parameters={})
    found = dd.simulate(model, [0.5], variables=["x"], t0=0.0)["x"]
    assert found[0] == pytest.approx(0.5 * (two - one), rel=1e-6)


@pytest.mark.parametrize("delayed", [1 / x, np.sqrt(x)])
def test_what_is_not_looked_at_yet_may_be_infinite(delayed):
    """At x = 0 the value, or its slope, is infinite; the history holds all the time."""
    model = single(1.0 - b * x + delay(delayed, 10.0), initial={x: 0.0}, history={x: 1.0}, parameters={b: 0.3})
    found, slopes = predicted(model, np.array([0.5, 2.0]), {"b": 0.3})
    times = np.array([0.5, 2.0])
    np.testing.assert_allclose(found[0], 2.0 / 0.3 * (1.0 - np.exp(-0.3 * times)), rtol=1e-8)
    assert np.all(np.isfinite(slopes))


def test_a_history_gives_the_slope_of_what_is_typed_twice_differentiated():
    """x'' = −x(t − 1) with the history sin t: x'(0) = 1, x = sin(t − 1) + sin 1 + t (1 − cos 1) up to t = 1."""
    equations = {"force": der(der(x)) == -delay(x, tau)}
    model = single(0.0, equations=equations, history={x: np.sin(dd.time)}, parameters={tau: 1.0})
    found = dd.simulate(model, [0.6], variables=["x"], t0=0.0)["x"]
    assert found[0] == pytest.approx(np.sin(-0.4) + np.sin(1.0) + 0.6 * (1.0 - np.cos(1.0)), rel=1e-9)


def test_delays_of_zero_start_where_the_history_ends():
    times = np.array([0.5, 1.0])
    found = dd.simulate(FEEDBACK, times, values={"tau": 0.0}, variables=["x"], t0=0.0)["x"]
    np.testing.assert_allclose(found, np.exp(-0.8 * times), rtol=1e-6)


def test_a_jump_in_a_constraint_is_refused():
    model = dd.Model(
        name="tied",
        equations={"z": der(z) == -a * z, "x": der(x) == v - 0.1 * x, "y": der(y) == -y + z,
                   "tie": x + 0.1 * x**3 == delay(z, tau) + y},
        unknowns=[x, y, z, v], outputs={"o": x}, parameters={a: 0.8, tau: 0.5}, history={z: 1.0},
        initial={z: 0.6, y: 0.3},
    )  # fmt: skip
    with pytest.raises(SimulationError, match=r"ends at 1 in its history and starts at 0\.6"):
        dd.simulate(model, [1.0], t0=0.0)
    assert dd.simulate(replace(model, initial={y: 0.3}), [1.0], t0=0.0).status.ok


@pytest.mark.parametrize("lag", [1e-20, 1e-300])
def test_a_delay_that_takes_too_many_steps_is_refused(lag):
    with pytest.raises(SimulationError, match="steps, because a delay"):
        dd.simulate(FEEDBACK, [1.0], values={"tau": lag}, t0=0.0)


def test_a_delay_beyond_all_times():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = dd.simulate(FEEDBACK, [1.0], values={"tau": 1e300}, variables=["x"], t0=0.0)["x"]
    assert found[0] == pytest.approx(0.2)


@pytest.mark.parametrize("lanes", [1, 65])
@pytest.mark.filterwarnings("ignore:The grid of .* is coarse")
def test_a_lane_is_the_same_whatever_its_neighbours(lanes):
    model = CASES["disturbed"].model
    many, few = (dd.simulate(model, OFF[:4], realizations=n, rng=1, variables=["x"])["x"] for n in (70, lanes))
    np.testing.assert_array_equal(np.atleast_2d(few), many[:lanes])


def test_many_samples_of_an_input():
    """Break points of a delay and of samples that are multiples of each other, or not."""
    times = 0.1 * np.arange(1, 3001)
    signal = dd.Signal(times, np.sin(times), "foh")
    model = single(-a * x + b * delay(x, tau) + u, inputs=[u])
    for lag in (0.5, 0.537):
        assert dd.simulate(model, times[::500], inputs={"u": signal}, values={"tau": lag}).status.ok


def test_the_method_follows_the_size():
    """Seven stages with many sensitivities would take long to compile."""
    states = dd.symbols(" ".join(f"s{i}" for i in range(5)))
    rates = dd.symbols(" ".join(f"r{i}" for i in range(10)))
    model = dd.Model(
        name="many",
        equations={f"e{i}": der(s) == -rates[i] * s - rates[5 + i] * delay(s, 0.5) for i, s in enumerate(states)},
        unknowns=list(states),
        outputs={"o": states[0]},
        parameters=dict.fromkeys(rates, 0.4),
        history=dict.fromkeys(states, 1.0),
    )
    asked = check_request("test", model, np.array([1.0]), None, 0.0)
    values = dict.fromkeys((str(r) for r in rates), 0.4)
    chosen = [
        make_predictor(asked, ("o",), free, values, dd.Lanes(), None, 0, "test").run.plan.shape.method
        for free in (("r0",), tuple(values))
    ]
    assert chosen == ["rk6", "rk4"]


def test_cost_is_linear_in_one_over_the_delay():
    """Steps of one run, and calls: with the square of it both would be 16 times as many."""
    steps, calls = {}, {}
    for lag in (0.02, 0.005):
        asked = check_request("test", FEEDBACK, np.array([1.0]), None, 0.0)
        run = make_predictor(asked, ("o",), (), {"tau": lag}, Lanes(step=0.01), None, 0, "test")
        run({"tau": lag})
        steps[lag] = run.run.plan.lengths.size
        calls[lag] = count_calls(lambda run=run, lag=lag: run({"tau": lag}))
    assert steps[0.005] <= 5 * steps[0.02]
    assert calls[0.005] <= 5 * calls[0.02]


REFUSED = {
    "negative delay": (single(-delay(x, tau)).with_parameters({"tau": -0.5}), ("delay(x, tau)", "-0.5", "positive")),
    "no history": (single(-delay(x, tau), history={}, initial={x: 1.0}), ("'x'", "before the start", "history={x")),
    "no history of a derivative": (
        single(-x + b * delay(der(x), tau), history={}, initial={x: 1.0}),
        ("'x'", "history={x"),
    ),
    "history of one of two": (
        replace(ECHO, equations={**ECHO.equations, "rate": der(x) == -delay(x, tau) - y}),
        ("'x'", "before the start", "history={x"),
    ),
    "delayed disturbance": (
        single(-x + delay(w, tau), disturbances={w: dd.FilteredNoise.low_pass(std=1.0, time_constant=1.0)}),
        ("disturbance 'w'", "delay(w, tau)", "state of its own"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_simulated_is_said_in_the_users_names(name):
    model, words = REFUSED[name]
    with pytest.raises(DaedalError) as refused:
        dd.simulate(model, GRID)
    assert all(word in str(refused.value) for word in words), str(refused.value)
    assert refused.value.remedy


def test_a_delay_typed_as_a_negative_number_is_refused_at_once():
    with pytest.raises(DaedalError, match="not negative"):
        delay(x, -1.0)


def test_a_delay_of_zero_is_the_value_itself():
    plain, delayed = (dd.simulate(single(-a * each), GRID)["o"] for each in (x, delay(x, 0.0)))
    np.testing.assert_allclose(plain, delayed, rtol=1e-7)


def test_an_advanced_system_is_refused_by_name():
    model = single(-x + b * delay(der(der(x)), tau))
    with pytest.raises(DaedalError, match=r"(?i)advanced|ever higher derivatives"):
        dd.simulate(model, GRID)


def test_ida_says_that_it_cannot_look_back():
    with pytest.raises(SimulationError, match="IDA cannot look back"):
        dd.simulate(BOTH, GRID, solver=dd.IDA())


def test_too_many_break_points_are_refused_before_work():
    with pytest.raises(SimulationError, match=r"steps|break points"):
        dd.simulate(FEEDBACK, np.array([1000.0]), values={"tau": 1e-5}, t0=0.0)
