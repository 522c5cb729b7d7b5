"""Gradients of criteria across switches, free switching times, and honest errors of the steps."""

import numpy as np
import pytest

import daedal as dd
from batteries.switching import find_slopes, make_model
from daedal import der

x, v, k, a, F, Fc = dd.symbols("x v k a F Fc")
SOLVERS = [dd.Lanes(tolerance=1e-9), dd.IDA(rtol=1e-10, atol=1e-12)]
each_solver = pytest.mark.parametrize("solver", SOLVERS, ids=["lanes", "ida"])


def make_pulse(last: float) -> dd.Model:
    """A rate of one until `a`; y is ten times what has come."""
    return make_model(
        "pulse", {"rate": der(x) == np.where(dd.time < a, 1.0, 0.0)}, {x: 0.0}, outputs={"y": 10 * x},
        parameters={a: dd.Parameter(last, lower=0.05, upper=1.95)}, measurement_noise={"y": 1.0},
    )  # fmt: skip


def make_pushed() -> dd.Model:
    return make_model(
        "pushed", {"speed": der(x) == v, "motion": der(v) == F - Fc * np.sign(v)}, {x: 0.0, v: 0.0}, inputs=[F],
        outputs={"x": x}, parameters={Fc: dd.Parameter(0.5, lower=0.1, upper=0.9)}, measurement_noise={"x": 1e-3},
    )  # fmt: skip


def test_what_a_free_switching_time_does_to_a_cost():
    """One sample of 10 a, half its square: the gradient by a is −10 per unit of what is missing."""
    data = dd.Dataset(times=[0.0, 1.5], outputs={"y": [0.0, 9.0]})
    cost = dd.evaluate(make_pulse(0.8), data, free=["a"], criterion=dd.OutputError(), values={"a": 0.8})
    missing = 9.0 - 8.0
    rows = find_slopes(make_pulse(0.8), np.array([0.0, 1.5]), ["a"], dd.Lanes())[1]
    np.testing.assert_allclose(rows[0, 0], [0.0, 10.0], atol=1e-12)
    assert cost.gradient[0] / missing == pytest.approx(-10.0, rel=1e-9)


def test_a_fit_finds_the_switching_time():
    times = np.linspace(0.0, 2.0, 41)
    data = dd.Dataset(times=times, outputs={"y": 10 * np.minimum(times, 0.8)})
    fit = dd.fit(make_pulse(0.33), data, free=["a"], criterion=dd.OutputError(), rng=1)
    assert fit["a"].value == pytest.approx(0.8, abs=1e-7)


def test_a_fit_of_the_slider_finds_its_force():
    slider = make_model(
        "slider", {"force": der(v) == k - 0.5 * np.sign(v)}, {v: -1.0}, outputs={"v": v},
        parameters={k: dd.Parameter(0.7, lower=0.55, upper=3.0)}, measurement_noise={"v": 1e-3},
    )  # fmt: skip
    times = np.linspace(0.0, 2.0, 21)
    data = dd.Dataset(times=times, outputs={"v": np.where(times < 2 / 3, 1.5, 0.5) * (times - 2 / 3)})
    fit = dd.fit(slider, data, free=["k"], criterion=dd.OutputError(), rng=1)
    assert fit["k"].value == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("step", [None, 0.05])
def test_the_gradient_of_a_cost_with_dry_friction_is_its_slope(step):
    times = np.linspace(0.0, 10.0, 51)
    push = dd.Signal(times, np.sin(2 * times), intersample="foh")
    data = dd.simulate(make_pushed(), times, inputs={"F": push}, values={"Fc": 0.45}).to_dataset()

    def find_cost(number):
        solver = dd.Lanes(tolerance=1e-9) if step is None else dd.Lanes(method="rk4", step=step)
        criterion = dd.OutputError()
        return dd.evaluate(make_pushed(), data, free=["Fc"], criterion=criterion, values={"Fc": number}, solver=solver)

    h = 1e-5
    difference = (find_cost(0.5 + h).value - find_cost(0.5 - h).value) / (2 * h)
    assert abs(difference) > 1.0
    assert find_cost(0.5).gradient[0] == pytest.approx(difference, rel=1e-6)


@each_solver
def test_the_slider_is_right_and_says_so(solver):
    model = make_model("slider", {"force": der(v) == 1 - 0.5 * np.sign(v)}, {v: -1.0})
    trajectory = dd.simulate(model, np.linspace(0.0, 2.0, 21), solver=solver)
    times = trajectory.times
    error = np.abs(trajectory["v"] - np.where(times < 2 / 3, 1.5, 0.5) * (times - 2 / 3)).max()
    assert error < 1e-10
    assert not any("by IDA" in note for note in trajectory.notes)


@pytest.mark.parametrize("step", [0.1, 0.05])
def test_the_stated_error_of_the_steps_is_honest(step):
    """sin(2t) against dry friction, stuck a third of the time: within three times of what it is."""
    model = make_model(
        "shaken", {"speed": der(x) == v, "motion": der(v) == np.sin(2 * dd.time) - 0.5 * np.sign(v)}, {x: 0.0, v: 0.0}
    )
    times = np.linspace(0.0, 10.0, 26)
    exact, _ = find_slopes(model, times, [], dd.Lanes(method="radau5", step=0.01))
    trajectory = dd.simulate(model, times, solver=dd.Lanes(method="rk4", step=step))
    error = max(
        np.abs(trajectory[name] - row).max() / np.abs(row).max() for name, row in zip(("x", "v"), exact, strict=True)
    )
    (note,) = [note for note in trajectory.notes if note.startswith("estimated error")]
    stated = float(note.split(":")[1].split()[0])
    assert error / 3 < stated < 3 * error


@each_solver
def test_a_tolerance_is_kept_across_sticking(solver):
    model = make_model("shaken", {"motion": der(v) == 1.5 * np.sin(dd.time) - Fc * np.sign(v)}, {v: 0.0},
        parameters={Fc: 0.9})  # fmt: skip
    times = np.linspace(0.0, 6.0, 25)
    got = dd.simulate(model, times, solver=solver)["v"]
    free = np.arcsin(0.6)  # it comes off here, and v = 1.5 (cos free − cos t) − 0.9 (t − free) until it stops
    moving = 1.5 * (np.cos(free) - np.cos(times)) - 0.9 * (times - free)
    stop = np.flatnonzero((moving < 0) & (times > 1.5))[0]
    np.testing.assert_allclose(got[:stop], np.where(times < free, 0.0, moving)[:stop], atol=2e-9)


def test_the_reference_solver_passes_a_switch_of_time():
    model = make_model("dose", {"rate": der(x) == np.where(dd.time < a, 1, -x)}, {x: 0.0}, parameters={a: 0.8123})
    times = np.linspace(0.0, 3.0, 16)
    trajectory = dd.simulate(model, times, solver=dd.IDA(rtol=1e-10, atol=1e-12))
    assert trajectory.status.ok
    np.testing.assert_allclose(
        trajectory["x"], np.minimum(times, 0.8123) * np.exp(-np.maximum(times - 0.8123, 0)), atol=1e-9
    )
