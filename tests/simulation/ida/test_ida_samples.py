"""Held samples in the reference solver against exact recursions."""

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.errors import SimulationError

SOLVER = dd.IDA(rtol=1e-10, atol=1e-12)
x, k, T, u = dd.symbols("x k T u")
GAIN, PERIOD = 1.5, 0.1


def recur(times, delay):
    """x' = 2 − x − GAIN z, z the sample of x that has arrived."""
    steps = round(PERIOD / 0.01)
    late = round(delay / 0.01)
    value, held, pending, values, kept = 0.3, 0.0, [], [], []
    decay = np.exp(-0.01)
    for i in range(round(times[-1] / 0.01) + 1):
        if pending and pending[0][0] == i:
            held = pending.pop(0)[1]
        if i % steps == 0:
            pending.append((i + late, value))
            if late == 0:
                held = pending.pop(0)[1]
        values.append(value)
        kept.append(held)
        rest = 2 - GAIN * held
        value = rest + (value - rest) * decay
    places = np.round(times / 0.01).astype(int)
    return np.array(values)[places], np.array(kept)[places]


@pytest.mark.parametrize("delay", [0.0, 0.03, 0.1])
def test_a_sampled_loop(delay):
    held = dd.hold(x, T, delay=delay)
    model = dd.Model(
        name="loop",
        equations={"plant": der(x) == 2 - x - k * held},
        unknowns=[x],
        parameters={k: GAIN, T: PERIOD},
        initial={x: 0.3},
        outputs={"held": held},
    )
    times = np.linspace(0, 2, 41)
    trajectory = dd.simulate(model, times, solver=SOLVER)
    values, kept = recur(times, delay)
    assert trajectory.status.ok
    np.testing.assert_allclose(trajectory["x"], values, atol=5e-9)
    np.testing.assert_allclose(trajectory["held"], kept, atol=5e-9)


def test_samples_of_samples_arrive_in_order():
    inner, late = dd.hold(x, 0.1), dd.hold(x, 0.1, 0.1)
    model = dd.Model(
        name="clock",
        equations={"time": der(x) == 1},
        unknowns=[x],
        initial={x: 0.0},
        outputs={"same": dd.hold(inner, 0.1), "late": dd.hold(late, 0.1), "slow": dd.hold(2 * inner, 0.3)},
    )
    steps = np.arange(21)
    trajectory = dd.simulate(model, steps / 20, solver=SOLVER)
    np.testing.assert_allclose(trajectory["same"], steps // 2 / 10, atol=1e-12)
    np.testing.assert_allclose(trajectory["late"], np.maximum(steps // 2 - 1, 0) / 10, atol=1e-12)
    np.testing.assert_allclose(trajectory["slow"], 2 * (steps // 6 * 0.3), atol=1e-12)


def test_a_sample_sees_an_input_that_jumps_at_its_instant():
    step = dd.Signal(np.linspace(0, 1, 11), np.arange(11.0), "zoh")
    model = dd.Model(
        name="m",
        equations={"sum": der(x) == dd.hold(u, 0.1)},
        unknowns=[x],
        inputs=[u],
        initial={x: 0.0},
    )
    trajectory = dd.simulate(model, np.linspace(0, 1, 11), inputs={u: step}, solver=SOLVER)
    np.testing.assert_allclose(trajectory["x"], 0.1 * np.r_[0, np.cumsum(np.arange(10))], atol=1e-11)


def test_a_digital_controller_moves_a_body_that_sticks():
    """The force of the samples: too weak, then strong enough."""
    v = dd.symbol("v")
    model = dd.Model(
        name="m",
        equations={"v": der(v) == dd.hold(dd.time, 0.5) - 0.7 * np.sign(v)},
        unknowns=[v],
        initial={v: 0.0},
        outputs={"side": np.sign(v)},
    )
    trajectory = dd.simulate(model, [0.0, 0.5, 1.0, 1.5, 2.0], solver=SOLVER)
    np.testing.assert_allclose(trajectory["v"], [0, 0, 0, 0.15, 0.55], atol=1e-11)
    np.testing.assert_allclose(trajectory["side"], [0, 0.5 / 0.7, 1, 1, 1], atol=1e-11)


def test_a_period_that_is_not_positive():
    model = dd.Model(
        name="m", equations={"x": der(x) == dd.hold(x, T)}, unknowns=[x], parameters={T: -0.1}, initial={x: 1.0}
    )
    with pytest.raises(SimulationError, match=r"would be sampled every -0\.1 s"):
        dd.simulate(model, [0.0, 1.0], solver=SOLVER)
