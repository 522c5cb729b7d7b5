"""Conditions on time and inputs alone: instants to the last bit, and trajectories against closed forms."""

import numpy as np
import pytest

import daedal as dd
from daedal import delay, der, time
from daedal.errors import SimulationError
from daedal.simulation import make_forcing
from daedal.simulation.steps import Schedule, tabulate_nodes
from sizes import choose

x, y, u, k, tau = dd.symbols("x y u k tau")
TIMES = np.linspace(0.0, 10.0, 101)
SOLVERS = [dd.Lanes(), dd.IDA(rtol=1e-10, atol=1e-12)]
each_solver = pytest.mark.parametrize("solver", SOLVERS, ids=["lanes", "ida"])


def collect(rate, **more) -> dd.Model:
    """x is the integral of the rate."""
    return dd.Model(name="collect", equations={"rate": der(x) == rate}, unknowns=[x], initial={x: 0.0}, **more)


def force(rate, end=10.0, start=0.0, **signals):
    """The forcing of such a model."""
    system = dd.build(collect(rate, inputs=[dd.symbol(name) for name in signals]))
    return make_forcing(system, signals, start, end)


@each_solver
def test_a_pulse_between_two_samples_is_not_stepped_over(solver):
    model = collect(np.where((time > 5.03) & (time < 5.04), 100, 0))
    np.testing.assert_allclose(dd.simulate(model, TIMES, solver=solver)[x][-1], 1.0, atol=1e-9)


@each_solver
def test_pulses_anywhere(solver):
    rng = np.random.default_rng(0)
    for _ in range(8):
        first, last = np.sort(rng.uniform(0.0, 10.0, 2))
        model = collect(np.where((time > first) & (time < last), 1.0, -0.5))
        inside = np.clip(TIMES, first, last) - first
        got = dd.simulate(model, TIMES, solver=solver)[x]
        np.testing.assert_allclose(got, 1.5 * inside - 0.5 * TIMES, atol=1e-9)


@pytest.mark.parametrize("start", [0.0, 1.3, -7.7])
@pytest.mark.parametrize(
    ("condition", "instants"),
    [
        (time < 5.03, [5.03]),
        (time <= 5.03, [5.03]),
        (time > 5.03, [5.03]),
        (5.03 - time >= 0, [5.03]),
        (2 * time > 10.06, [5.03]),
        ((time - 1.5) / 0.25 > 6, [3.0]),
        (time**2 > 2.0**4, [4.0]),
        (np.sin(time) > 0.0, [np.pi, 2 * np.pi, 3 * np.pi]),
    ],
    ids=str,
)
def test_instants_are_exact(condition, instants, start):
    got = [t for t in force(np.where(condition, 1.0, 0.0), start=start).find_jumps() if t > 1.5]
    np.testing.assert_array_max_ulp(got, instants, 1)
    if len(instants) == 1:
        assert got == instants


def test_what_touches_a_border_between_two_samples_is_found():
    got = force(np.where(np.sin(time) > 1 - 1e-8, 1.0, 0.0)).find_jumps()
    half = np.arccos(1 - 1e-8)
    np.testing.assert_allclose(got, [c + side for c in (np.pi / 2, 5 * np.pi / 2) for side in (-half, half)], rtol=1e-9)


def test_a_value_on_its_border_is_that_after_it():
    forcing = force(np.where(time <= 5.0, 1.0, 0.0) + np.where(time < 10.0, 1.0, 0.0) + np.where(time > 0.0, 1.0, 0.0))
    assert forcing.find_jumps() == [5.0]
    np.testing.assert_array_equal(forcing.at(0.0), [1, 1, 1])
    np.testing.assert_array_equal(forcing.at(np.nextafter(5.0, 0.0)), [1, 1, 1])
    np.testing.assert_array_equal(forcing.at(5.0), [-1, 1, 1])
    np.testing.assert_array_equal(forcing.at(10.0), [-1, -1, 1])
    np.testing.assert_array_equal(forcing.at_all(np.array([0.0, 5.0, 10.0])), [[1, 1, 1], [-1, 1, 1], [-1, -1, 1]])


def test_a_look_at_one_instant():
    forcing = force(np.where(time < 5.0, 1.0, 0.0), start=5.0, end=5.0)
    np.testing.assert_array_equal(forcing.at(5.0), [-1])
    assert dd.simulate(collect(np.where(time < 5.0, 1.0, 0.0)), [5.0], t0=5.0)[x] == [0.0]


def test_numbers_that_differ_in_the_last_digits_are_different():
    forcing = force(np.where(time < 5.0, 1.0, 0.0) + np.where(time < 5.0 + 1e-9, 1.0, 0.0))
    assert forcing.find_jumps() == [5.0, 5.0 + 1e-9]


@each_solver
def test_rounded_time(solver):
    got = dd.simulate(collect(np.floor(time) + np.ceil(0.5 * time)), TIMES, solver=solver)[x]
    whole, half = np.floor(TIMES), np.floor(TIMES / 2)
    floors = whole * (whole - 1) / 2 + whole * (TIMES - whole)
    ceils = half * (half + 1) + (half + 1) * (TIMES - 2 * half)
    np.testing.assert_allclose(got, floors + ceils, atol=1e-9)


@each_solver
def test_doses_and_sawtooth(solver):
    model = collect(np.where(np.fmod(time, 2.4) < 0.1, 10.0, 0.0) + np.fmod(time, 0.7))
    count, rest = np.divmod(TIMES, 2.4)
    teeth, tooth = np.divmod(TIMES, 0.7)
    exact = count + 10 * np.minimum(rest, 0.1) + teeth * 0.7**2 / 2 + tooth**2 / 2
    np.testing.assert_allclose(dd.simulate(model, TIMES, solver=solver)[x], exact, atol=1e-9)


def test_hundreds_of_periods():
    forcing = force(np.where(np.fmod(time, 24.0) < 1.0, 1.0, 0.0), end=24000.0)
    exact = np.sort(np.concatenate([24.0 * np.arange(1, 1000), 24.0 * np.arange(1000) + 1]))
    np.testing.assert_array_equal(forcing.find_jumps(), exact)


def test_a_table_of_many_conditions():
    rng, count = np.random.default_rng(1), choose(200, 1000)
    edges, heights = np.sort(rng.uniform(0.0, 10.0, count)), rng.normal(size=count + 1)
    rate = heights[-1]
    for edge, height in zip(edges[::-1], heights[-2::-1], strict=True):
        rate = np.where(time < edge, height, rate)
    system = dd.build(collect(rate))
    np.testing.assert_array_equal(make_forcing(system, {}, 0.0, 10.0).find_jumps(), edges)
    exact = np.sum(heights * np.diff(np.concatenate([[0.0], edges, [10.0]])))
    np.testing.assert_allclose(dd.simulate(system, TIMES)[x][-1], exact, atol=1e-12)


def test_more_instants_than_can_be():
    with pytest.raises(SimulationError, match=r"jumps 10000000000 times between 0 and 10"):
        force(np.floor(1e9 * time))


@each_solver
def test_conditions_on_a_held_input(solver):
    held = dd.Signal([0.0, 2.3, 4.55, 7.0, 10.0], [0.0, 1.0, 0.5, 2.0, 2.0], "zoh")
    steps = [np.where(u > 0.5, 1.0, 0.0), np.where(u >= 0.5, 1.0, 0.0), np.sign(u), np.where(u > 0, 1.0, 0.0)]
    rate = steps[0] + 10 * steps[1] + 100 * steps[2] + 1000 * steps[3]
    exact = np.interp(TIMES, [0, 2.3, 4.55, 7.0, 10.0], np.cumsum([0, 0, 1111 * 2.25, 1110 * 2.45, 1111 * 3.0]))
    got = dd.simulate(collect(rate, inputs=[u]), TIMES, inputs={u: held}, solver=solver)[x]
    np.testing.assert_allclose(got, exact, atol=1e-8)


@each_solver
def test_conditions_on_an_input_of_straight_lines(solver):
    ramps = dd.Signal([0.0, 3.0, 6.0, 10.0], [0.0, 1.5, 1.5, -0.5])
    first, last = 1.0, 8.0  # where it is 0.5
    got = dd.simulate(collect(np.where(u > 0.5, 1.0, 0.0), inputs=[u]), TIMES, inputs={u: ramps}, solver=solver)[x]
    np.testing.assert_allclose(got, np.clip(TIMES, first, last) - first, atol=1e-9)


def test_a_condition_on_a_smooth_input_and_time():
    at = np.linspace(0.0, 10.0, 41)
    smooth = dd.Signal(at, np.sin(at), "spline")
    got = force(np.where(u > time / 10, 1.0, 0.0), u=smooth).find_jumps()
    assert len(got) == 3
    for instant in got:
        assert abs(smooth(instant) - instant / 10) < 1e-14


def test_a_condition_on_a_delayed_model():
    """Between 1 and 2 the delayed value is that of the first pulse: x' = pulse(t) + x(t − 1)."""
    rate = np.where((time > 0.33) & (time < 0.37), 25.0, 0.0) + np.where(u > 0.5, 1.0, 0.0) + delay(x, 1.0)
    model = collect(rate, inputs=[u], history={x: 0.0})
    held = dd.Signal([0.0, 1.21, 2.0], [0.0, 1.0, 1.0], "zoh")
    times = np.linspace(0.0, 2.0, 21)
    first = 25 * (np.clip(times, 0.33, 0.37) - 0.33)
    back = np.maximum(times - 1, 0)
    ramp = 25 * (np.clip(back, 0.33, 0.37) - 0.33) ** 2 / 2 + np.maximum(back - 0.37, 0.0)
    exact = first + ramp + np.maximum(times - 1.21, 0.0)
    np.testing.assert_allclose(dd.simulate(model, times, inputs={u: held})[x], exact, atol=1e-8)


def test_samples_on_instants_up_to_rounding():
    """Steps do not double, and each sees the stage it lies in, whichever side rounding put the sample on."""
    times = np.arange(101) * 0.1
    model = collect(np.floor(time / 0.1) + np.where(time < 0.3, 1.0, 0.0) + np.where(time <= 0.7, 1.0, 0.0))
    for solver in SOLVERS:
        got = dd.simulate(model, times, solver=solver)
        exact = 0.1 * np.cumsum(np.append(0, np.arange(100))) + np.minimum(times, 0.3) + np.minimum(times, 0.7)
        np.testing.assert_allclose(got[x], exact, atol=1e-9)
    run = dd.simulate(model, times, solver=dd.Lanes(step=0.1))
    assert "100 steps" in run.solver


@pytest.mark.parametrize("away", [1e-16, 1e-11, 1e-8, -1e-8])
def test_a_step_has_the_stage_it_lies_in(away):
    forcing = force(np.where(time < 5.0, 1.0, 0.0))
    steps = Schedule(np.array([4.0, 5.0 + away]), np.array([1.0 + away, 1.0]), np.array([-1, -1]))
    table = tabulate_nodes(forcing, steps, np.array([0.0, 0.5, 1.0]))
    np.testing.assert_array_equal(table[:, :, 0], [[1, 1, 1], [-1, -1, -1]])


@each_solver
def test_a_pulse_shorter_than_what_steps_are_aligned_by(solver):
    first, last = 5.0 + 5e-9, 5.0 + 2e-8
    model = collect(np.where((time > first) & (time < last), 1e8, 0.0))
    np.testing.assert_allclose(dd.simulate(model, TIMES, solver=solver)[x][-1], 1e8 * (last - first), rtol=1e-9)


GRADED = {
    "dosed": {"rate": der(x) == -k * x + np.where(np.fmod(time, 2.4) < 0.13, 3 * k, 0.0) + np.where(u > 0.5, 1.0, 0)},
    "late": {"rate": der(x) == -k * delay(x, tau) + np.where((time > 1.03) & (time < 1.17), 5.0, u)},
}


@pytest.mark.parametrize("name", GRADED)
def test_gradients(name):
    parameters = {k: 0.7, tau: dd.Parameter(0.6, lower=0.1, upper=5.0)} if name == "late" else {k: 0.7}
    model = dd.Model(
        name=name, equations=GRADED[name], unknowns=[x], inputs=[u], outputs={"y": x}, initial={x: 1.0},
        parameters=parameters, measurement_noise={"y": 0.1}, history={x: 1.0} if name == "late" else {},
    )  # fmt: skip
    times = np.linspace(0.0, 6.0, 31)
    data = dd.Dataset(times, {"u": np.sin(times)}, {"y": np.cos(times)}, intersample="foh")
    free = list(map(str, parameters))
    point = {name: value for name, value in {"k": 0.8, "tau": 0.55}.items() if name in free}
    options = {"free": free, "criterion": dd.OutputError(), "solver": dd.Lanes(tolerance=1e-10)}

    def cost(**moved):
        return dd.evaluate(model, data, values=point | moved, **options)

    gradient, h = cost().gradient, 1e-4
    for place, name in enumerate(free):
        difference = (cost(**{name: point[name] + h}).value - cost(**{name: point[name] - h}).value) / (2 * h)
        np.testing.assert_allclose(gradient[place], difference, rtol=1e-6)
