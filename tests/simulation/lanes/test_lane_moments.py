"""Moments and projections over groups of lanes against the same taken from whole trajectories."""

import numpy as np
import pytest

import daedal as dd
from daedal import der, jobs
from daedal.errors import SimulationError
from daedal.simulation.ensemble_solver import Lanes, prepare
from daedal.simulation.lanes import blocks, march
from daedal.simulation.lanes.blocks import BLOCK, UNIT
from daedal.simulation.lanes.moments import collect_moments, project_lanes
from daedal.simulation.lanes.run import Run
from daedal.simulation.request import check_request

x, v, w, k, c, q = dd.symbols("x v w k c q")
TIMES = np.arange(13) * 0.2
STEP = Lanes(step=0.05)
FREE = ("k", "c")


def duffing(**changes):
    fields = {
        "name": "duffing",
        "equations": {"speed": der(x) == v, "force": der(v) == -k * x - x**3 - c * v + 3 * w},
        "unknowns": [x, v],
        "outputs": {"o": x, "energy": v**2 / 2 + k * x**2 / 2},
        "parameters": {k: 4.0, c: 0.4},
        "disturbances": {w: dd.FilteredNoise([0.6], [1.0, 0.8, 16.0], grid=0.05)},
        "initial": {x: 0.3, v: 0.0},
    }
    return dd.Model(**fields | changes)


def fragile(limit):
    """√(q − w): a lane fails once its w has passed q."""
    return duffing(
        equations={"speed": der(x) == v, "force": der(v) == -k * x - c * v + np.sqrt(q - w)},
        parameters={k: 4.0, c: 0.4, q: limit},
        disturbances={w: dd.FilteredNoise.low_pass(std=1.0, time_constant=0.5, grid=0.05)},
    )


def prepared(model, values=(None,), free=FREE, seed=4, noisy=True) -> Run:
    asked = check_request("test", model, TIMES, None, None)
    return prepare(
        asked.system, asked.times, asked.forcing, STEP, values=list(values), wanted=tuple(model.outputs), free=free,
        seed=seed, purpose="test", noisy=noisy,
    )  # fmt: skip


def all_lanes(run, realizations):
    """Every lane whole, (values, row, lane, time), collected by a consumer of our own."""
    rows = run.plan.shape.rows
    found = np.full((len(run.values), rows, realizations, run.times.size), np.nan)

    def consume(value, lanes, samples, out):
        found[value][:, lanes.start : lanes.stop][:, :, samples] = out.transpose(1, 2, 0)

    failures = run.run(realizations, consume)
    return found, failures


@pytest.mark.parametrize("group", [1, 2, UNIT])
@pytest.mark.parametrize("realizations", [1, 2, 5, 37, BLOCK, BLOCK + 3])
def test_moments_of_groups_are_those_of_the_trajectories(realizations, group):
    run = prepared(duffing(), values=[{"k": 4.0}, {"k": 6.0}])
    lanes, _ = all_lanes(run, realizations)
    found = collect_moments(run, realizations, keep=realizations, group=group)
    groups = -(-realizations // group)
    scale = np.abs(lanes).max()
    np.testing.assert_allclose(found.mean, lanes.mean(axis=2), atol=1e-13 * scale)
    assert found.group_means.shape == (groups, 2, 2 * 3, TIMES.size)
    for number in range(groups):
        part = lanes[:, :, number * group : (number + 1) * group]
        np.testing.assert_allclose(found.group_means[number], part.mean(axis=2), atol=1e-13 * scale)
        assert np.array_equal(found.group_counts[number], np.full(2, part.shape[2]))
    assert np.array_equal(found.kept, lanes[:, :2])
    if realizations > 1:
        np.testing.assert_allclose(found.variance, lanes[:, :2].var(axis=2, ddof=1), rtol=1e-9, atol=1e-13 * scale**2)
    else:
        assert np.array_equal(found.variance, np.zeros_like(found.variance))


def test_grouping_does_not_change_mean_and_variance():
    run = prepared(duffing())
    whole, fine = (collect_moments(run, 70, group=group) for group in (UNIT, 1))
    np.testing.assert_allclose(whole.mean, fine.mean, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(whole.variance, fine.variance, rtol=1e-9, atol=1e-14)


def test_moments_repeat_to_the_last_bit():
    run = prepared(duffing())
    first, again = (collect_moments(run, 3 * BLOCK + 1, group=16) for _ in range(2))
    for name in ("mean", "variance", "group_means"):
        assert np.array_equal(getattr(first, name), getattr(again, name))


@pytest.mark.parametrize("group", [1, 4, 16])
def test_failed_lanes_are_left_out_of_their_groups(group):
    run = prepared(fragile(2.2))
    lanes, failures = all_lanes(run, 90)
    dead = sorted({failure.lane for failure in failures})
    assert 3 <= len(dead) <= 60
    found = collect_moments(run, 90, keep=90, group=group)
    assert sorted(failure.lane for failure in found.failures) == dead
    alive = np.setdiff1d(np.arange(90), dead)
    np.testing.assert_allclose(found.mean[0], lanes[0][:, alive].mean(axis=1), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.variance[0], lanes[0][:2, alive].var(axis=1, ddof=1), rtol=1e-8, atol=1e-12)
    for number in range(-(-90 // group)):
        part = np.intersect1d(alive, np.arange(number * group, (number + 1) * group))
        assert found.group_counts[number, 0] == part.size
        if part.size:
            expected = lanes[0][:, part].mean(axis=1)
            np.testing.assert_allclose(found.group_means[number, 0], expected, rtol=1e-9, atol=1e-12)
    for failure in found.failures:
        assert np.isnan(found.kept[0][:, failure.lane, failure.time <= TIMES]).all()
        assert np.isfinite(found.kept[0][:, failure.lane, failure.time > TIMES]).all()


def test_failure_of_all_lanes_is_an_error():
    with pytest.raises(SimulationError, match="All 3 realizations failed, the first at time"):
        collect_moments(prepared(fragile(0.1)), 3)


@pytest.mark.parametrize("realizations", [1, 9, BLOCK + 5])
def test_projections_are_weighted_sums(realizations):
    run = prepared(duffing())
    lanes, _ = all_lanes(run, realizations)
    weights = np.random.default_rng(2).normal(size=(3, lanes.shape[1], TIMES.size))
    expected = np.einsum("frt,rlt->fl", weights, lanes[0])
    np.testing.assert_allclose(project_lanes(run, realizations, weights), expected, rtol=1e-10, atol=1e-12)


def test_projections_of_one_functional_pick_samples():
    run = prepared(duffing())
    lanes, _ = all_lanes(run, 6)
    weights = np.zeros((1, lanes.shape[1], TIMES.size))
    weights[0, 3, 7] = 1.0
    np.testing.assert_allclose(project_lanes(run, 6, weights)[0], lanes[0, 3, :, 7], rtol=1e-14)


@pytest.mark.parametrize("workers", [2, 3, 8])
@pytest.mark.parametrize("realizations", [64, 96, 100, 128, 200, 512, 1000])
def test_usual_numbers_of_realizations_are_even_work_for_all_cores(realizations, workers, monkeypatch):
    """Each takes the next block when it has done one; whole units could not be shared out more evenly."""
    monkeypatch.setattr(jobs, "count_workers", lambda: workers)
    done = []
    blocks.run_blocks(realizations, lambda lanes, _: done.append(lanes), "work")
    done.sort(key=lambda lanes: lanes.start)
    assert [one.stop for one in done[:-1]] == [one.start for one in done[1:]]
    assert all(one.start % UNIT == 0 for one in done)
    busy = [0] * workers
    for lanes in done:
        busy[busy.index(min(busy))] += len(lanes)
    assert sum(busy) == realizations
    assert max(busy) <= UNIT * -(-(realizations // UNIT) // workers) + realizations % UNIT


@pytest.mark.parametrize("chunk", [march.CHUNK, 8])
@pytest.mark.parametrize("realizations", [33, 50, 100])
def test_bits_do_not_depend_on_the_number_of_cores(realizations, chunk, monkeypatch):
    """However many looks at the results there are, over whose samples projections are summed."""
    monkeypatch.setattr(march, "CHUNK", chunk)
    run, weights = prepared(duffing()), np.random.default_rng(2).normal(size=(2, 6, TIMES.size))
    seen = []
    for workers in (1, 2, 3, 8):
        monkeypatch.setattr(jobs, "count_workers", lambda workers=workers: workers)
        moments, (lanes, _) = collect_moments(run, realizations), all_lanes(run, realizations)
        tables = (moments.mean, moments.variance, moments.group_means, lanes)
        seen.append([table.tobytes() for table in (*tables, project_lanes(run, realizations, weights))])
    assert all(one == seen[0] for one in seen)
