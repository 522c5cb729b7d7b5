"""Moments over realizations against the same taken one by one, closed forms, and many values at once."""

from importlib import import_module
from itertools import count

import numpy as np
import pytest

import daedal as dd
from daedal import der, jobs
from daedal.simulation.lanes import BLOCK, LaneRun, RunInterrupted, march, moments, noise

x, v, u, w, w2, k, c, a, b = dd.symbols("x v u w w2 k c a b")
TIMES = np.arange(21) * 0.2
STEP = dd.Lanes(step=0.05)


def duffing(**changes):
    fields = {
        "name": "duffing",
        "equations": {"speed": der(x) == v, "force": der(v) == -k * x - x**3 - c * v + a * w},
        "unknowns": [x, v],
        "outputs": {"o": x, "energy": v**2 / 2 + k * x**2 / 2},
        "parameters": {k: 4.0, c: 0.4, a: 3.0},
        "disturbances": {w: dd.FilteredNoise([0.6], [1.0, 0.8, 16.0], grid=0.05)},
        "initial": {x: 0.3, v: 0.0},
    }
    return dd.Model(**fields | changes)


@pytest.fixture
def same_paths(monkeypatch):
    """Let `simulate` draw the paths of `ensemble`."""
    monkeypatch.setattr(import_module("daedal.simulation.trajectories"), "PURPOSE", "ensemble")


@pytest.mark.parametrize("realizations", [1, 2, 63, 64, 65, 200])
def test_moments_are_those_of_the_trajectories(realizations, same_paths):
    found = dd.ensemble(duffing(), TIMES, realizations=realizations, rng=4, solver=STEP)
    single = dd.simulate(duffing(), TIMES, realizations=realizations, rng=4, solver=STEP)
    for name in ("o", "energy"):
        assert found.mean[name].shape == (21,)
        np.testing.assert_allclose(found.mean[name], single[name].mean(axis=0), rtol=1e-12, atol=1e-14)
        if realizations > 1:
            wanted = single[name].var(axis=0, ddof=1)
            np.testing.assert_allclose(found.variance[name], wanted, rtol=1e-10, atol=1e-16)
    assert found.realizations == realizations
    assert found.failures == ()
    assert found.seed == 4


def test_a_large_offset_does_not_spoil_the_variance():
    """Sums of squares would lose all digits of a variance of 1e-4 beside a mean of 1e8."""
    shifted = duffing(outputs={"o": x, "high": x + 1e8})
    found = dd.ensemble(shifted, TIMES, realizations=200, rng=4, solver=STEP)
    np.testing.assert_allclose(found.variance["high"][1:], found.variance["o"][1:], rtol=1e-4)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_matter(threads, monkeypatch):
    many = dd.ensemble(duffing(), TIMES, realizations=300, rng=4, sensitivities=["k"], solver=STEP)
    monkeypatch.setattr(jobs, "count_workers", lambda: threads)
    again = dd.ensemble(duffing(), TIMES, realizations=300, rng=4, sensitivities=["k"], solver=STEP)
    np.testing.assert_array_equal(many.mean["o"], again.mean["o"])
    np.testing.assert_array_equal(many.variance["o"], again.variance["o"])
    np.testing.assert_array_equal(many.sensitivities["k"]["o"], again.sensitivities["k"]["o"])


def test_many_values_on_the_same_paths():
    sets = [{"k": 4.0}, {"k": 5.0, "c": 0.1}, {}, {"a": 0.0}]
    found = dd.ensemble(duffing(), TIMES, realizations=70, rng=4, values=sets, sensitivities=["k", "a"], solver=STEP)
    assert found.mean["o"].shape == (4, 21)
    assert found.variance["energy"].shape == (4, 21)
    assert found.sensitivities["a"]["o"].shape == (4, 21)
    for row, values in enumerate(sets):
        alone = dd.ensemble(
            duffing(), TIMES, realizations=70, rng=4, values=values, sensitivities=["k", "a"], solver=STEP
        )
        assert alone.mean["o"].shape == (21,)
        np.testing.assert_allclose(found.mean["o"][row], alone.mean["o"], rtol=1e-12)
        np.testing.assert_allclose(found.variance["o"][row], alone.variance["o"], rtol=1e-10, atol=1e-18)
        for name in ("k", "a"):
            np.testing.assert_allclose(
                found.sensitivities[name]["o"][row], alone.sensitivities[name]["o"], rtol=1e-10, atol=1e-13
            )
    np.testing.assert_array_equal(found.mean["o"][0], found.mean["o"][2])
    assert found.variance["o"][3].max() < 1e-30  # without gain there is no variance


def test_a_list_of_one_keeps_its_dimension():
    assert dd.ensemble(duffing(), TIMES, realizations=2, values=[{}], solver=STEP).mean["o"].shape == (1, 21)


def test_the_noise_parameters_of_each_set_of_values_count():
    model = duffing(
        parameters={k: 4.0, c: 0.4, a: 1.0, b: 0.6},
        disturbances={w: dd.FilteredNoise([b], [1.0, 0.8, 16.0], grid=0.05, initial="rest")},
        equations={"speed": der(x) == v, "force": der(v) == -k * x - c * v + a * w},
        initial={x: 0.0, v: 0.0},
        outputs={"o": x},
    )
    found = dd.ensemble(model, TIMES, realizations=50, rng=4, values=[{"b": 0.6}, {"b": 1.2}], solver=STEP)
    np.testing.assert_allclose(found.variance["o"][1], 4 * found.variance["o"][0], rtol=1e-9)


def test_mean_of_a_squared_disturbance():
    """x' = w²: the mean is the variance of w times t, whatever the seed, within its band."""
    model = dd.Model(
        name="square",
        equations={"rate": der(x) == w**2},
        unknowns=[x],
        outputs={"o": x},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.5, time_constant=0.3, grid=0.01)},
        initial={x: 0.0},
    )
    count, time = 4000, 2.0
    found = dd.ensemble(model, [0.0, time], realizations=count, rng=11, solver=dd.Lanes(step=0.01))
    # Straight lines between grid points have a little less variance: 1 − (1 − ρ)/3, ρ the correlation of neighbours.
    wanted = 0.25 * time * (1 - (1 - np.exp(-0.01 / 0.3)) / 3)
    variance = found.variance["o"][1]
    assert abs(found.mean["o"][1] - wanted) < 4 * np.sqrt(variance / count)
    tau = 0.3  # Var ∫w² = 2 ∫∫ r² = 4 σ⁴ ∫₀ᵗ (t − s) exp(−2s/τ) ds
    exact = 4 * 0.25**2 * (time * tau / 2 - (tau / 2) ** 2 * (1 - np.exp(-2 * time / tau)))
    assert variance == pytest.approx(exact, rel=0.15)


def test_a_model_without_disturbances_has_no_variance():
    model = duffing(equations={"speed": der(x) == v, "force": der(v) == -k * x - c * v}, disturbances={})
    found = dd.ensemble(model.with_parameters({a: None}), TIMES, realizations=3, rng=1, sensitivities=["k"])
    assert found.variance["o"].max() < 1e-30
    damping, omega = 0.2, np.sqrt(4 - 0.04)
    wanted = 0.3 * np.exp(-damping * TIMES) * (np.cos(omega * TIMES) + damping / omega * np.sin(omega * TIMES))
    np.testing.assert_allclose(found.mean["o"], wanted, atol=1e-6)


def test_forcing_by_inputs_and_start_before_the_samples():
    model = duffing(inputs=[u], equations={"speed": der(x) == v, "force": der(v) == -k * x - x**3 - c * v + a * w + u})
    late = dd.ensemble(model, TIMES[5:], t0=0.0, inputs={"u": 0.5}, realizations=10, rng=2, solver=STEP)
    whole = dd.ensemble(model, TIMES, inputs={"u": 0.5}, realizations=10, rng=2, solver=STEP)
    np.testing.assert_allclose(late.mean["o"], whole.mean["o"][5:], rtol=1e-10)


def test_results_cannot_be_changed_and_print():
    found = dd.ensemble(duffing(), TIMES, realizations=5, rng=4, sensitivities=["k"], solver=STEP)
    with pytest.raises(ValueError, match="read-only"):
        found.mean["o"][0] = 1.0
    with pytest.raises(TypeError):
        found.mean["o"] = 1.0
    text = str(found)
    for part in ("5 realizations of 21 samples", "Lanes(rk4, 80 steps of 0.05)", "seed 4", "o: mean from"):
        assert part in text


def test_two_disturbances_do_not_move_together():
    model = dd.Model(
        name="two",
        equations={"x": der(x) == w - w2},
        unknowns=[x],
        outputs={"o": x, "product": w * w2},
        disturbances={
            w: dd.FilteredNoise.low_pass(std=1.0, time_constant=1.0, grid=0.05),
            w2: dd.FilteredNoise.low_pass(std=1.0, time_constant=1.0, grid=0.05),
        },
        initial={x: 0.0},
    )
    count = 4000
    found = dd.ensemble(model, [0.0, 1.0, 2.0], realizations=count, rng=1, solver=dd.Lanes(step=0.05))
    assert np.abs(found.mean["product"]).max() < 4.5 / np.sqrt(count)
    np.testing.assert_allclose(found.variance["product"], 1.0, rtol=0.2)


def test_disturbances_with_different_grids_keep_their_law():
    """The finest grid serves all; the variance of each is its own."""
    model = dd.Model(
        name="two grids",
        equations={"x": der(x) == w + w2 - x},
        unknowns=[x],
        outputs={"p": 1.0 * w, "q": 1.0 * w2},
        disturbances={
            w: dd.FilteredNoise.low_pass(std=1.0, time_constant=1.0, grid=0.1),
            w2: dd.FilteredNoise.low_pass(std=2.0, time_constant=0.2, grid=0.02),
        },
        initial={x: 0.0},
    )
    count = 3000
    found = dd.ensemble(model, [0.0, 0.5, 1.0], realizations=count, rng=1, solver=dd.Lanes(step=0.02))
    np.testing.assert_allclose(found.variance["p"], 1.0, rtol=5 * np.sqrt(2 / count))
    np.testing.assert_allclose(found.variance["q"], 4.0, rtol=5 * np.sqrt(2 / count))


def test_grids_that_do_not_divide_each_other():
    model = duffing(
        equations={"speed": der(x) == v, "force": der(v) == -k * x - c * v + a * w + w2},
        disturbances={
            w: dd.FilteredNoise.low_pass(std=1.0, time_constant=1.0, grid=0.05),
            w2: dd.FilteredNoise.low_pass(std=2.0, time_constant=1.0, grid=0.03),
        },
    )
    found = dd.ensemble(model, TIMES, realizations=3, rng=1)
    assert np.isfinite(found.mean["o"]).all()


def test_realizations_are_kept_whole_on_request():
    found = dd.ensemble(duffing(), TIMES, realizations=130, rng=4, keep=70, solver=STEP)
    assert found.trajectories["o"].shape == (70, TIMES.size)
    all_kept = dd.ensemble(duffing(), TIMES, realizations=130, rng=4, keep=130, solver=STEP)
    np.testing.assert_array_equal(found.trajectories["o"], all_kept.trajectories["o"][:70])
    np.testing.assert_allclose(all_kept.trajectories["o"].mean(axis=0), found.mean["o"], atol=1e-14)
    np.testing.assert_allclose(all_kept.trajectories["o"].var(axis=0, ddof=1), found.variance["o"], atol=1e-14)
    assert dd.ensemble(duffing(), TIMES, realizations=2, rng=4, solver=STEP).trajectories["o"].shape == (0, TIMES.size)
    for wrong in (-1, 3, 1.0, True):
        with pytest.raises(dd.DaedalError, match="whole number from 0 to 2"):
            dd.ensemble(duffing(), TIMES, realizations=2, rng=4, keep=wrong, solver=STEP)


def test_values_on_the_same_paths_draw_them_once(monkeypatch):
    drawn = []
    original = noise.draw_innovations

    def counted(*arguments):
        drawn.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(noise, "draw_innovations", counted)
    dd.ensemble(duffing(), TIMES, realizations=64, rng=4, solver=STEP)
    alone = len(drawn)
    drawn.clear()
    dd.ensemble(duffing(), TIMES, realizations=64, rng=4, values=[{"k": value} for value in (3, 4, 5, 6)], solver=STEP)
    assert len(drawn) == alone


def test_a_set_of_values_that_fails_does_not_spoil_the_others():
    model = dd.Model(
        name="growth",
        equations={"rate": der(x) == k * x**2 - x + w},
        unknowns=[x],
        outputs={"o": x},
        parameters={k: 0.0},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.01, time_constant=0.5, grid=0.05)},
        initial={x: 1.0},
    )
    found = dd.ensemble(model, TIMES, realizations=10, rng=4, values=[{"k": 0.0}, {"k": 80.0}], solver=STEP)
    assert np.isnan(found.mean["o"][1]).all()
    assert {failure.value for failure in found.failures} == {1}
    alone = dd.ensemble(model, TIMES, realizations=10, rng=4, values={"k": 0.0}, solver=STEP)
    np.testing.assert_array_equal(found.mean["o"][0], alone.mean["o"])
    np.testing.assert_array_equal(found.variance["o"][0], alone.variance["o"])


def test_the_grid_suits_the_fastest_disturbance_of_all_values():
    model = dd.Model(
        name="integral",
        equations={"rate": der(x) == -x + w},
        unknowns=[x],
        outputs={"w": w},
        parameters={a: 1.0},
        disturbances={w: dd.FilteredNoise([a], [1.0, a])},
        initial={x: 0.0},
    )
    found = dd.ensemble(model, TIMES, realizations=2000, rng=4, values=[{"a": 1.0}, {"a": 200.0}])
    # Stationary variance of a/(s + a) is a/2.
    assert np.mean(found.variance["w"][1]) == pytest.approx(100.0, rel=0.05)


def test_steps_that_are_far_too_long_give_no_mean():
    model = duffing(equations={"speed": der(x) == v, "force": der(v) == -900 * x - 60 * v + w + 0 * (k + c + a)})
    with pytest.raises(dd.DaedalError, match=r"steps are too long|failed"):
        dd.ensemble(model, np.arange(21) * 1.0, realizations=3, rng=4, solver=dd.Lanes("rk4", step=0.1))


def interrupt_at(monkeypatch, number):
    """Ctrl-C in place of the results of this number, of all blocks and values together."""
    receive, calls = moments._Parts.__call__, count(1)

    def press(*arguments):
        if next(calls) >= number:
            raise KeyboardInterrupt
        receive(*arguments)

    monkeypatch.setattr(moments._Parts, "__call__", press)


@pytest.mark.parametrize("realizations", [50, 128])
def test_an_interrupt_before_any_realization_ends_keeps_what_all_have(realizations, monkeypatch):
    """Two sets of values, of which one is a chunk ahead."""
    monkeypatch.setattr(march, "CHUNK", 16)
    monkeypatch.setattr(jobs, "count_workers", lambda: 1)
    options = {"realizations": realizations, "values": [{"k": 4.0}, {"k": 5.0}], "keep": 3, "rng": 4, "solver": STEP}
    whole = dd.ensemble(duffing(), TIMES, **options)
    interrupt_at(monkeypatch, 6)
    part = dd.ensemble(duffing(), TIMES, **options)
    assert part.realizations == min(realizations, BLOCK)
    assert part.status.interrupted
    assert f"{part.realizations} of {realizations} realizations came that far" in str(part)
    known = int(np.isfinite(part.mean["o"][1]).sum())
    assert f"after time {TIMES[known - 1]:g}" in part.status.sentence
    assert 0 < known < TIMES.size
    for table in (part.mean, part.variance, part.trajectories):
        assert np.isnan(table["o"][..., known:]).all()
    np.testing.assert_array_equal(part.trajectories["o"][..., :known], whole.trajectories["o"][..., :known])
    if realizations == part.realizations:
        np.testing.assert_array_equal(part.mean["o"][:, :known], whole.mean["o"][:, :known])
        np.testing.assert_array_equal(part.variance["o"][:, :known], whole.variance["o"][:, :known])


def test_an_interrupt_after_the_last_realization_is_marked(monkeypatch):
    whole = dd.ensemble(duffing(), TIMES, realizations=10, rng=4, solver=STEP)
    run = LaneRun.run

    def press(*arguments):
        raise RunInterrupted(run(*arguments))

    monkeypatch.setattr(LaneRun, "run", press)
    late = dd.ensemble(duffing(), TIMES, realizations=10, rng=4, solver=STEP)
    assert late.status.interrupted
    assert "10 of 10 realizations were finished" in late.status.sentence
    np.testing.assert_array_equal(late.mean["o"], whole.mean["o"])
