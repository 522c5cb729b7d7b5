"""What a lane computes does not depend on its neighbours: the same bits in any company, order and width."""

import numpy as np
import pytest

import daedal as dd
from batteries.switching import make_model, prepare_run, simulate_lanes
from daedal import der
from daedal.kernels import loops

x, v, w, Fc, K = dd.symbols("x v w Fc K")
TIMES = np.linspace(0.0, 6.0, 25)
LANES = 64


def make_crowd() -> dd.Model:
    """A slider on a spring under noise and a sampled, clipped command; friction holds it about a third of the time."""
    friction = Fc * np.sign(v)
    command = np.clip(dd.hold(K * x, every=0.13, delay=0.05), -0.3, 0.3)
    return make_model(
        "crowd", {"speed": der(x) == v, "motion": der(v) == -4 * x - friction + w - command}, {x: 1.0, v: 0.0},
        outputs={"x": x, "friction": friction}, parameters={Fc: 1.2, K: 1.5},
        disturbances={w: dd.FilteredNoise(numerator=[3.0], denominator=[1.0, 2.0, 4.0], grid=0.05)},
    )  # fmt: skip


@pytest.fixture(scope="module")
def run():
    return prepare_run(make_crowd(), TIMES, ["Fc"], dd.Lanes(method="rk4", step=0.05), noisy=True)


@pytest.fixture(scope="module")
def together(run):
    return simulate_lanes(run, LANES)[0]


def march(run, order, kernel=None) -> np.ndarray:
    """What lanes observe, placed side by side in some order."""
    values, table, program = run.values[0], run.table, run.program
    shared, row = table.read(0, table.emit.size)
    rows = int(row[-1]) + program.grid_rows
    everyone = run.scenario.make_paths(values, range(LANES)).draw_rows(0, rows)
    paths = np.ascontiguousarray(everyone[:, :, order])
    state = np.ascontiguousarray(run.scenario.initialize(values, everyone[0], LANES)[:, order])
    parameters = np.repeat(run.scenario.make_parameters(values)[:, None], len(order), axis=1)
    out = np.empty((TIMES.size, program.outputs, len(order)))
    emit = np.where(table.emit >= 0, table.emit, -1)
    (kernel or program.kernel).run(state, parameters, shared, paths, emit, out, begin=row * paths.shape[1])
    return out[1:]


def test_lanes_cross_slide_and_hold_at_the_same_time(together):
    friction = together[1]
    stuck = np.abs(friction) < 1.2 - 1e-9
    assert 0.1 < stuck.mean() < 0.7
    assert (np.diff(np.sign(friction), axis=0) != 0).mean() > 0.1
    assert all(0 < row.sum() < LANES for row in stuck[6:])  # neighbours do different things


@pytest.mark.parametrize("count", [1, 3, 8, 17])
def test_any_number_of_lanes(run, together, count):
    np.testing.assert_array_equal(simulate_lanes(run, count)[0], together[:, :, :count])


def test_any_order_of_lanes(run):
    straight = march(run, np.arange(LANES))
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(LANES)
        np.testing.assert_array_equal(march(run, order), straight[:, :, order])


def test_any_company(run):
    """Each lane among copies of another one."""
    straight = march(run, np.arange(LANES))
    for lane in (0, 7, 22):
        order = np.full(16, (lane + 31) % LANES)
        order[5] = lane
        np.testing.assert_array_equal(march(run, order)[:, :, 5], straight[:, :, lane])


@pytest.mark.parametrize("width", [4, 8])
def test_any_width_of_the_kernel(run, width, monkeypatch):
    monkeypatch.setattr("daedal.kernels.scan.choose_width", lambda *_: width)
    run.scenario.system.reduction.compiled.clear()
    other = prepare_run(make_crowd(), TIMES, ["Fc"], dd.Lanes(method="rk4", step=0.05), noisy=True)
    assert other.program.kernel.width == width
    order = np.arange(19)
    np.testing.assert_array_equal(march(other, order), march(run, order))


def test_models_without_conditions_are_what_they_were():
    """No switching, no detours, and the text of the program without either."""
    plain = make_model("plain", {"speed": der(x) == v, "motion": der(v) == -4 * x - Fc * v}, {x: 1.0, v: 0.0},
        parameters={Fc: 0.6})  # fmt: skip
    assert dd.build(plain).reduction.switching is None
    texts = []
    write = loops.write_scan

    def listen(step, observe, width, fused, detours=None):
        texts.append((detours, write(step, observe, width, fused, detours), write(step, observe, width, fused)))
        return texts[-1][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops, "write_scan", listen)
        prepare_run(plain, TIMES, ["Fc"], dd.Lanes(method="rk4", step=0.05))
    assert texts
    for detours, text, without in texts:
        assert detours is None
        assert text == without
