"""Switches in company that is hard to see: each of these was wrong, silent or refused once."""

import numpy as np
import pytest

import daedal as dd
from daedal import der

x, v, y, w, u, k, a, c = dd.symbols("x v y w u k a c")
NOISE = {w: dd.FilteredNoise(numerator=[1.0], denominator=[1.0, 2.0, 4.0], grid=0.1)}


def model(equations, initial, parameters=None, **declared):
    named = {f"e{i}": equation for i, equation in enumerate(equations)}
    declared = {"outputs": {str(name): name for name in initial}, **declared}
    return dd.Model(
        name="odd", equations=named, unknowns=declared.pop("unknowns", list(initial)), initial=initial,
        parameters=parameters or {}, **declared,
    )  # fmt: skip


@pytest.mark.parametrize("times", [[0, 0.4, 0.6, 0.7], [0, 0.6, 0.8], [0, 0.6]])
def test_what_is_left_of_a_step_behind_a_switch_counts(times):
    dose = np.where((dd.time >= a) & (dd.time < a + 0.01), 100.0, 0.0)
    found = dd.simulate(model([der(x) == dose - k * x], {x: 0.0}, {a: 0.5, k: 30.0}), times)
    exact = 100 / 30 * (1 - np.exp(-0.3)) * np.exp(-30 * (np.array(times) - 0.51)) * (np.array(times) > 0.51)
    np.testing.assert_allclose(found["x"], exact, atol=1e-7 * exact.max())


def test_known_conditions_beside_free_ones_are_exact():
    def dose(start):
        return np.where((dd.time >= start) & (dd.time < start + 0.01), 100.0, 0.0)

    times = np.linspace(0, 2, 21)
    found = dd.simulate(
        model([der(x) == dose(a) + dose(1.0) - k * x], {x: 0.0}, {a: 0.5003, k: 0.7}), times, solver=dd.Lanes(step=0.1)
    )
    one = [100 / 0.7 * (1 - np.exp(-0.007)) * np.exp(-0.7 * (times - end)) * (times > end) for end in (0.5103, 1.01)]
    np.testing.assert_allclose(found["x"], sum(one), atol=1e-6)


@pytest.mark.parametrize("times", [[0, 4.0, 8.0], np.linspace(0, 8, 11)])
@pytest.mark.parametrize("solver", [None, dd.IDA(1e-10, 1e-12)])
def test_pulses_in_time_with_a_parameter_are_seen(times, solver):
    often = model([der(x) == np.where(np.sin(40 * dd.time) > a, 1.0, 0)], {x: 0.0}, {a: 0.99})
    found = dd.simulate(often, times, solver=solver)["x"][-1]
    assert found == pytest.approx(51 * (np.pi - 2 * np.arcsin(0.99)) / 40, abs=1e-9)


def test_a_needle_around_a_parameter_is_seen():
    needle = model([der(x) == np.where(np.abs(dd.time - c) < 1e-7, 1e7, 0)], {x: 0.0}, {c: 3.3333})
    assert dd.simulate(needle, [0.0, 4.0, 8.0])["x"][-1] == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize("times", [[0, 1.0], [0, 0.8, 1.0], np.linspace(0, 1, 11)])
def test_a_threshold_that_is_passed_within_one_step(times):
    above = np.where(x > 4.905 / 4 * 0.9999, 1, 0)
    thrown = model([der(x) == v, der(v) == -9.81, der(y) == above], {x: 0.0, v: 4.905, y: 0.0})
    assert dd.simulate(thrown, times)["y"][-1] == pytest.approx(0.01, abs=1e-6)


def test_a_stiff_contact_keeps_its_energy_or_is_not_believed():
    bounce = model([der(x) == v, der(v) == -9.81 + k * np.maximum(0, -x)], {x: 1.0, v: 0.0}, {k: 1e7})
    times = np.linspace(0, 2, 21)  # it hits the ground twice
    for solver in (None, dd.Lanes(method="radau5", step=0.01)):
        found = dd.simulate(bounce, times, solver=solver)
        energy = found["v"] ** 2 / 2 + 9.81 * found["x"] + 1e7 * np.minimum(found["x"], 0) ** 2 / 2
        assert not found.status.ok or np.allclose(energy / 9.81, 1.0, atol=1e-4)


def test_a_brake_that_lets_go():
    times = np.linspace(0, 4, 41) + 0.00371
    released = model([der(v) == 0.2 - np.where(dd.time < 2, np.sign(v), 0)], {v: 1.0})
    exact = np.where(times < 1.25, 1 - 0.8 * times, np.where(times < 2, 0, 0.2 * (times - 2)))
    for solver in (None, dd.IDA(1e-10, 1e-12)):
        np.testing.assert_allclose(dd.simulate(released, times, t0=0.0, solver=solver)["v"], exact, atol=1e-9)


@pytest.mark.parametrize("condition", [(x < 1) & (y > 0), (x < 1) & (dd.time < 2)])
def test_one_condition_lets_go_of_another(condition):
    times = np.linspace(0, 4, 41) + 0.00371
    found = dd.simulate(
        model([der(x) == np.where(condition, 1.0, -1.0), der(y) == -1.0], {x: 0.0, y: 2.0}), times, t0=0.0
    )
    np.testing.assert_allclose(found["x"], np.where(times < 1, times, np.where(times < 2, 1, 3 - times)), atol=1e-9)


def test_a_corner_of_two_borders():
    follows = np.where((y - x > 0) & (x < 0.5), 1.0, -0.6)
    times = np.linspace(0, 2, 41)
    found = dd.simulate(model([der(x) == -0.6 * x + follows, der(y) == 1.0 - y], {x: 0.0, y: 0.0}), times)
    np.testing.assert_allclose(found["x"], np.minimum(0.5, 1 - np.exp(-times)), atol=1e-7)


@pytest.mark.parametrize("solver", [None, dd.Lanes(method="radau5", step=0.1), dd.IDA(1e-10, 1e-12)])
def test_a_belt_that_jumps_leaves_the_body_where_it_is(solver):
    belt = dd.Signal([0.0, 1.0, 2.0, 4.0], [0.5, 0.2, 1.0, 1.0], "zoh")
    times = np.linspace(0, 3.5, 36) + 0.003
    found = dd.simulate(
        model([der(v) == -np.sign(v - u)], {v: 0.0}, inputs=[u]), times, inputs={u: belt}, t0=0.0, solver=solver
    )
    legs = [(0.5, times), (1.0, 0.5), (1.3, 1.5 - times), (2.0, 0.2), (2.8, times - 1.8)]
    exact = np.full(times.size, 1.0)
    for end, value in reversed(legs):
        exact = np.where(times < end, value, exact)
    np.testing.assert_allclose(found["v"], exact, atol=1e-9)


@pytest.mark.parametrize("solver", [dd.Lanes(), dd.IDA()])
def test_outputs_at_a_jump_are_those_behind_it(solver):
    saturated = model(
        [der(x) == -x + y, y == np.clip(k * u + 0.1 * x, -1, 1)], {x: 0.0}, {k: 1.0}, inputs=[u],
        unknowns=[x, y], outputs={"x": x, "y": y},
    )  # fmt: skip
    times, signal = np.linspace(0, 4, 41), dd.Signal(np.linspace(0, 4, 21), 3 * np.sin(np.arange(21.0)), "zoh")
    found = dd.simulate(saturated, times, inputs={u: signal}, solver=solver)
    np.testing.assert_allclose(found["y"], np.clip(signal(times) + 0.1 * found["x"], -1, 1), atol=1e-12)
    stuck = model([der(v) == u - y, y == 0.5 * np.sign(v)], {v: 0.0}, inputs=[u], unknowns=[v, y], outputs={"y": y})
    pushed = dd.simulate(
        stuck, [0.0, 0.5, 1.0], inputs={u: dd.Signal([0.0, 1.0, 2.0], [0.3, 0.8, 0.8], "zoh")}, solver=solver
    )
    np.testing.assert_allclose(pushed["y"], [0.3, 0.3, 0.5], atol=1e-9)


def test_each_lane_starts_on_the_side_of_its_own_disturbance():
    bent = model(
        [der(x) == -y, y == np.maximum(x + w, 0.1) + np.abs(w - 0.05)], {x: 0.5}, disturbances=NOISE,
        unknowns=[x, y], outputs={"x": x, "y": y, "w": w},
    )  # fmt: skip
    found = dd.simulate(bent, np.linspace(0, 2, 9), realizations=6, rng=5)
    exact = np.maximum(found["x"] + found["w"], 0.1) + np.abs(found["w"] - 0.05)
    np.testing.assert_allclose(found["y"], exact, atol=1e-12)


def test_a_held_disturbance_is_the_path():
    held = model([der(x) == -0.4 * dd.hold(x + w, 0.17)], {x: 0.2}, disturbances=NOISE, outputs={"x": x, "w": w})
    times = np.array([0.0, 0.03, 0.1, 0.17, 0.2, 0.35, 0.4])
    paths = [dd.simulate(held, times, realizations=2, rng=3, solver=solver) for solver in (dd.Lanes(), dd.IDA())]
    for name in ("x", "w"):
        np.testing.assert_allclose(paths[0][name], paths[1][name], atol=1e-5)


@pytest.mark.parametrize(
    "flow",
    [
        np.log(np.abs(x - y) + 1e-3),
        np.sqrt(np.maximum(x - y, 0.01)),
        np.sign(x - y) * np.sqrt(np.abs(x - y)),
        np.where(x > y, np.sqrt(x - y + 0.1), -np.sqrt(y - x + 0.2)),
    ],
)
def test_what_is_not_defined_beyond_a_border_is_not_asked_there(flow):
    tanks = model([der(x) == 0.3 - 0.4 * flow, der(y) == 0.4 * flow - 0.3 * y], {x: 0.1, y: 1.0})
    assert dd.simulate(tanks, np.linspace(0, 6, 61)).status.ok


def test_a_guarded_root_runs_empty():
    tank = model([der(x) == 0.5 * np.sin(2 * dd.time) - k * np.sqrt(np.maximum(x, 0))], {x: 0.1}, {k: 0.4})
    assert dd.simulate(tank, np.linspace(0, 4, 41)).status.ok


def test_copysign_jumps_with_its_sign():
    times = np.linspace(0, 10, 11)
    oscillator = model([der(x) == v, der(v) == -x - np.copysign(x * k, v)], {x: 1.0, v: 0.0}, {k: 0.1})
    data = dd.simulate(oscillator, times, values={"k": 0.12}).to_dataset()
    system = dd.build(oscillator)
    cost, up, down = (
        dd.evaluate(system, data, free=["k"], values={"k": value}, criterion=dd.OutputError())
        for value in (0.1, 0.1 + 1e-5, 0.1 - 1e-5)
    )
    assert float(np.ravel(cost.gradient)[0]) == pytest.approx((up.value - down.value) / 2e-5, rel=1e-4)


def test_names_of_the_user_in_sentences():
    with pytest.raises(dd.DaedalError, match="'time < 1' changes; impacts are not simulated"):
        dd.simulate(model([der(x) == y, x == np.where(dd.time < 1, 0, 1)], {}, unknowns=[x, y]), [0.0, 2.0])
    crossed = model([der(x) == -k * dd.hysteresis(x, a, c)], {x: 0.3}, {k: 1.0, a: 0.5, c: 0.2})
    with pytest.raises(dd.DaedalError, match=r"lower threshold of .* lies above"):
        dd.simulate(crossed, [0.0, 2.0])


def test_a_small_excursion_before_sticking_is_not_endless():
    force = dd.Signal([0.0, 0.05, 0.1], [-0.39, -0.19, -0.02], intersample="foh")
    cart = model([1.5 * der(v) == u - 0.5 * v - 0.3 * np.sign(v)], {v: k}, {k: 0.01}, inputs=[u])
    for start in np.arange(0.002, 0.0135, 0.0005):
        found = dd.simulate(
            cart, [0.0, 0.05, 0.1], inputs={u: force}, values={"k": float(start)}, solver=dd.Lanes(step=0.05)
        )
        assert found.status.ok
        assert found["v"][-1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    "diode",
    [
        (y == np.where(c < 0, c, 0.0), w == np.where(c < 0, 0.0, c)),
        (y == np.minimum(c, 0), w == np.maximum(c, 0)),
        (y == np.where(c < 0, c, 0.0), w == c - y),
    ],
)
def test_an_ideal_diode_whose_pivots_change_with_its_side(diode):
    times = np.arange(0, 0.0201, 2e-4)
    source = dd.Signal(times, 10 * np.sin(2 * np.pi * 50 * times), intersample="foh")
    rectifier = model(
        [u == w + y + x, *diode, 1e-3 * der(x) == w - x / 100.0], {x: 0.0}, inputs=[u], unknowns=[y, w, x, c]
    )
    fast, slow = (
        dd.simulate(rectifier, times, inputs={u: source}, solver=solver)["x"]
        for solver in (dd.Lanes(), dd.IDA(1e-10, 1e-12))
    )
    np.testing.assert_allclose(fast, slow, atol=1e-5)


def test_mutual_holds_and_derivatives_of_jumps_are_refused():
    loop = model(
        [der(x) == 1.0, y == dd.hold(x + w, 1.0), w == dd.hold(x + 0.5 * y, 1.0)], {x: 0.0}, unknowns=[x, y, w]
    )
    with pytest.raises(dd.DaedalError, match="sampled from what it decides itself"):
        dd.simulate(loop, [0.0, 1.0])
    impulse = model([der(v) == u - y, y == der(k * np.sign(v))], {v: -0.5}, {k: 0.3}, inputs=[u], unknowns=[v, y])
    with pytest.raises(dd.DaedalError, match="the derivative of something that jumps"):
        dd.build(impulse)


def test_a_sample_beside_an_instant_of_a_clock_is_not_taken_twice():
    late = model([der(x) == 1.0, y == dd.hold(x, 1.0, 1.0)], {x: 0.0}, unknowns=[x, y], outputs={"y": y})
    assert dd.simulate(late, [0.0, 1.5, 2 - 2e-7, 2.5])["y"].tolist() == pytest.approx([0.0, 0.0, 0.0, 1.0])


@pytest.mark.parametrize("unit", [1e-15, 1.0, 1e15])
def test_switches_are_found_in_any_unit(unit):
    slider = model([der(v) == k - a * np.sign(v)], {v: -unit}, {k: unit, a: 0.5 * unit})
    found = dd.simulate(slider, [0.0, 0.3, 1.0, 2.0])["v"] / unit
    np.testing.assert_allclose(found, [-1.0, -0.55, 1 / 6, 2 / 3], atol=1e-9)
