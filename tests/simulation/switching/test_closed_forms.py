"""Values and sensitivities of switches against closed forms: where steps are exact, at any step."""

import numpy as np
import pytest

import daedal as dd
from batteries.switching import find_slopes, make_model
from daedal import der

x, v, k, a, v1, v2, lam, F, Fc, F1, F2 = dd.symbols("x v k a v1 v2 lam F Fc F1 F2")
TIMES = np.array([0.0, 0.3, 1.0, 2.0])
STEPS = {
    "short": dd.Lanes(method="rk4", step=0.05),
    "long": dd.Lanes(method="rk4", step=0.31),
    "radau5": dd.Lanes(method="radau5", step=0.1),
    "chosen": dd.Lanes(),
}
at_any_step = pytest.mark.parametrize("solver", STEPS.values(), ids=STEPS)
slider = make_model("slider", {"force": der(v) == k - 0.5 * np.sign(v)}, {v: -1.0}, parameters={k: 1.0})


def agree(got, expected, within=1e-12) -> None:
    np.testing.assert_allclose(got, expected, rtol=0, atol=within)


@pytest.mark.parametrize("method", ["rk4", "rk6", "radau3", "radau5"])
def test_a_slider_turns_with_every_method(method):
    values, slopes = find_slopes(slider, TIMES, ["k"], dd.Lanes(method=method, step=0.3))
    agree(values[0], [-1.0, -0.55, 1 / 6, 2 / 3])
    agree(slopes[0, 0], [0.0, 0.3, 5 / 9, 14 / 9])


@at_any_step
def test_a_slider_turns(solver):
    values, slopes = find_slopes(slider, TIMES, ["k"], solver)
    agree(values[0], [-1.0, -0.55, 1 / 6, 2 / 3])
    agree(slopes[0, 0], [0.0, 0.3, 5 / 9, 14 / 9])


@at_any_step
def test_a_condition_on_a_state(solver):
    model = make_model("threshold", {"rate": der(x) == np.where(x < 1, 2 * k, 0.5)}, {x: 0.0}, parameters={k: 1.0})
    values, slopes = find_slopes(model, TIMES, ["k"], solver)
    agree(values[0], [0.0, 0.6, 1.25, 1.75])
    agree(slopes[0, 0], [0.0, 0.6, 0.25, 0.25])


@at_any_step
def test_a_free_switching_time(solver):
    model = make_model("dose", {"rate": der(x) == np.where(dd.time < a, 1, 0)}, {x: 0.0}, parameters={a: 0.77})
    values, slopes = find_slopes(model, TIMES, ["a"], solver)
    agree(values[0], [0.0, 0.3, 0.77, 0.77])
    agree(slopes[0, 0], [0.0, 0.0, 1.0, 1.0])


@at_any_step
def test_a_gear_with_a_constraint_on_speeds(solver):
    equations = {"first": der(v1) == F - Fc * np.sign(v1) + lam, "second": der(v2) == -2 * lam, "gear": v1 == 2 * v2}
    model = make_model("gear", equations, {v1: -1.0}, unknowns=[v1, v2, lam], parameters={F: 1.0, Fc: 0.5})
    times = np.array([0.0, 0.5, 0.8, 1.0, 2.0])
    values, slopes = find_slopes(model, times, ["F", "Fc"], solver)
    turn, before = 5 / 6, times < 5 / 6
    agree(values[0], np.where(before, 1.2, 0.4) * (times - turn))
    agree(values[1], np.where(before, 0.6, 0.2) * (times - turn))
    agree(values[2], np.where(before, -0.3, -0.1))
    # the turn is at 1/(0.8 (F + Fc)), and the rate 0.8 (F ± Fc)
    late = 0.4 / (0.8 * 1.5**2)
    agree(slopes[0, 0], np.where(before, 0.8 * times, 0.8 * (times - turn) + late))
    agree(slopes[1, 0], np.where(before, 0.8 * times, -0.8 * (times - turn) + late))


@at_any_step
def test_a_stack_of_two_blocks_comes_apart(solver):
    equations = {
        "lower": der(v1) == dd.time - F1 * np.sign(v1) - F2 * np.sign(v1 - v2),
        "upper": der(v2) == F2 * np.sign(v1 - v2),
    }
    model = make_model("stack", equations, {v1: 0.0, v2: 0.0}, parameters={F1: 0.3, F2: 0.2})
    times = np.array([0.0, 0.2, 0.45, 0.6, 0.85, 1.0, 1.5])
    values, slopes = find_slopes(model, times, ["F1", "F2"], solver)
    free, apart = np.clip(times, 0.3, 0.7) - 0.3, np.maximum(times - 0.7, 0.0)  # at F1, and at F1 + 2 F2
    agree(values[0], free**2 / 4 + apart**2 / 2 + 0.2 * apart)
    agree(values[1], free**2 / 4 + 0.2 * apart)
    agree(slopes[0], [-free / 2 - apart, -free / 2])
    agree(slopes[1], [-apart, apart])


def test_a_body_that_slides_along_a_free_force():
    """Stuck until the force has grown to the friction: both move the instant, and nothing moves before."""
    model = make_model(
        "rest", {"force": der(v) == k * dd.time - Fc * np.sign(v)}, {v: 0.0}, parameters={k: 0.8, Fc: 0.5},
        outputs={"v": v, "friction": Fc * np.sign(v)},
    )  # fmt: skip
    times = np.array([0.0, 0.2, 0.5, 1.0, 2.0])
    values, slopes = find_slopes(model, times, ["k", "Fc"], dd.Lanes(step=0.13))
    late = np.maximum(times - 0.625, 0.0)
    agree(values, [0.4 * late**2, np.minimum(0.8 * times, 0.5)])
    agree(slopes[0], [late**2 / 2 + 0.625 * late, np.where(late > 0, 0.0, times)])
    agree(slopes[1], [-late, np.where(late > 0, 1.0, 0.0)])


def test_a_kink_keeps_the_order():
    """x = k − (1 + k) e^{−t} below zero, k (e^{t − t*} − 1) above, with t* = log((1 + k)/k)."""
    model = make_model("kink", {"growth": der(x) == k + np.abs(x)}, {x: -1.0}, parameters={k: 2.0})
    times = np.array([0.0, 0.3, 1.0, 1.5])

    turn = np.log(1.5)
    before = times < turn
    expected = np.where(before, 2.0 - 3.0 * np.exp(-times), 2.0 * (np.exp(times - turn) - 1.0))
    slope = np.where(before, 1.0 - np.exp(-times), np.exp(times - turn) * (1 + 2.0 / 6.0) - 1.0)
    for solver in (dd.Lanes(method="rk4", step=0.01), dd.Lanes(method="radau5", step=0.05)):
        values, slopes = find_slopes(model, times, ["k"], solver)
        agree(values[0], expected, 1e-9)
        agree(slopes[0, 0], slope, 1e-8)
