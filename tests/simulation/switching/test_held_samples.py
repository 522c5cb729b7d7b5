"""Sampled loops against the exact flow between samples, and derivatives by all that moves, sampling times included."""

import numpy as np
import pytest

import daedal as dd
from batteries.switching import differentiate, find_slopes, make_model, prepare_run, simulate_lanes
from daedal import der

x, z, a, K, T, d = dd.symbols("x z a K T d")
TIMES = np.linspace(0.0, 3.03, 31)
NUMBERS = {"a": 1.3, "K": 2.0, "T": 0.15, "d": 0.04}


def make_loop(late) -> dd.Model:
    """x' = −a x + z, z being K (1 − x) sampled every T and delivered late."""
    equations = {"plant": der(x) == -a * x + z, "controller": z == dd.hold(K * (1 - x), every=T, delay=late)}
    numbers = {symbol: NUMBERS[str(symbol)] for symbol in (a, K, T, d)}
    return make_model("loop", equations, {x: 0.2}, unknowns=[x, z], parameters=numbers)


def follow_loop(a: float, K: float, T: float, d: float) -> np.ndarray:
    """(x, z) of the loop by exponentials from one instant to the next."""
    count = int(TIMES[-1] / T) + 2
    instants = [(k * T + d, 0) for k in range(count)] + [(k * T, 1) for k in range(count)] + [(t, 2) for t in TIMES]
    state, held, waiting, t, kept = 0.2, 0.0, 0.0, 0.0, []
    # at one instant a late sample is delivered before the next is taken, one without delay after
    for instant, kind in sorted(instants, key=lambda pair: (round(pair[0], 9), pair[1] if d else (1, 0, 2)[pair[1]])):
        decay = np.exp(-a * (instant - t))
        state, t = state * decay + held * (1 - decay) / a, instant
        if kind == 0:
            held = waiting
        elif kind == 1:
            waiting = K * (1 - state)
        else:
            kept.append((state, held))
    return np.array(kept).T


@pytest.mark.parametrize("late", [0.0, d], ids=["at once", "late"])
@pytest.mark.parametrize(("method", "step"), [("rk4", 0.01), ("radau5", 0.02)])
def test_a_sampled_loop_with_everything_free(late, method, step):
    numbers = NUMBERS if late is d else {**NUMBERS, "d": 0.0}
    free = [name for name in NUMBERS if name != "d" or late is d]
    values, slopes = find_slopes(make_loop(late), TIMES, free, dd.Lanes(method=method, step=step))
    np.testing.assert_allclose(values, follow_loop(**numbers), rtol=0, atol=1e-9)
    for name, slope in zip(free, slopes, strict=True):

        def move(number, name=name):
            return follow_loop(**{**numbers, name: number})

        np.testing.assert_allclose(slope, differentiate(move, numbers[name], 5e-5), rtol=0, atol=1e-8, err_msg=name)


def test_steps_chosen_by_themselves_keep_the_tolerance():
    values, _ = find_slopes(make_loop(d), TIMES, [], dd.Lanes(tolerance=1e-9))
    np.testing.assert_allclose(values, follow_loop(**NUMBERS), rtol=0, atol=5e-9)


def test_the_reference_solver_agrees():
    trajectory = dd.simulate(make_loop(d), TIMES, solver=dd.IDA(rtol=1e-10, atol=1e-12))
    np.testing.assert_allclose([trajectory["x"], trajectory["z"]], follow_loop(**NUMBERS), rtol=0, atol=1e-8)


def test_a_sum_of_samples():
    """z ← z + 1 every 0.25: a counter, delivered one period later."""
    model = make_model(
        "counter", {"count": z == dd.hold(z + 1, every=0.25, delay=0.25), "x": der(x) == z}, {x: 0.0}, unknowns=[x, z]
    )
    times = np.array([0.0, 0.1, 0.3, 0.6, 0.8, 1.1])
    values, _ = find_slopes(model, times, [], dd.Lanes(step=0.1))
    assert values[1].tolist() == np.floor(times / 0.25).tolist()


def test_saturation_of_what_is_held():
    """A clipped command leaves the plant to itself: both stay exact."""
    model = make_model(
        "clipped", {"plant": der(x) == np.clip(dd.hold(K * (1 - x), every=0.25), -1.0, 1.0)}, {x: -2.0},
        parameters={K: 0.83},
    )  # fmt: skip
    times = np.linspace(0.0, 6.1, 23)

    def follow(gain):
        state, t, kept = -2.0, 0.0, []
        for time in times:
            while t + 0.25 <= time + 1e-12:
                state, t = state + 0.25 * np.clip(gain * (1 - state), -1.0, 1.0), t + 0.25
            kept.append(state + (time - t) * np.clip(gain * (1 - state), -1.0, 1.0))
        return np.array(kept)

    values, slopes = find_slopes(model, times, ["K"], dd.Lanes(step=0.07))
    np.testing.assert_allclose(values[0], follow(0.83), atol=1e-12)
    np.testing.assert_allclose(slopes[0, 0], differentiate(follow, 0.83, 1e-4), atol=1e-9)


@pytest.mark.parametrize("solver", [dd.Lanes(), dd.IDA(rtol=1e-10, atol=1e-12)], ids=["lanes", "ida"])
def test_what_is_seen_at_the_instant_of_a_sample(solver):
    """What arrives at an instant is there from that instant on."""
    times = np.linspace(0.0, 2.0, 9)
    equations = {"x": der(x) == 1, "z": z == dd.hold(x, every=0.5, delay=0.25)}
    trajectory = dd.simulate(make_model("clock", equations, {x: 0.0}, unknowns=[x, z]), times, solver=solver)
    np.testing.assert_allclose(trajectory["z"], np.maximum(np.floor((times - 0.25) * 2) / 2, 0.0), atol=1e-12)


@pytest.mark.parametrize("step", [0.05, 0.025])
def test_a_disturbed_loop_does_not_disturb_what_it_does_not_touch(step):
    """Instants that cut the cells of the disturbance change where it is evaluated, not what it is."""
    y, w = dd.symbols("y w")
    noise = dd.FilteredNoise(numerator=[2.0], denominator=[1.0, 2.0, 4.0], grid=0.05)
    fields = {"outputs": {"x": x}, "disturbances": {w: noise}}
    alone = make_model("alone", {"x": der(x) == -x + w}, {x: 1.0}, **fields)
    watched = make_model(
        "watched", {"x": der(x) == -x + w, "y": der(y) == dd.hold(x, every=0.13)}, {x: 1.0, y: 0.0}, **fields
    )
    times, solver = np.linspace(0.0, 4.0, 17), dd.Lanes(method="rk4", step=step)
    rows = [simulate_lanes(prepare_run(model, times, (), solver, noisy=True), 5)[0] for model in (alone, watched)]
    np.testing.assert_allclose(rows[1], rows[0], rtol=0, atol=1e-7)
