"""Laplace's likelihood of models with kinks: away from them as with smooth formulas, and crossing is told."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.filtering.nonlinear import lineup

h, a, b, u, w = dd.symbols("h a b u w")
TIMES = 0.5 * np.arange(61)
LAPLACE = dd.Likelihood(method="laplace")


def make_rain(std: float) -> dict:
    return {w: dd.FilteredNoise.low_pass(std=std, time_constant=3.0)}


def make_tank(outflow) -> dd.Model:
    return dd.Model(
        name="tank",
        equations={"balance": der(h) == u + w - a * outflow},
        unknowns=[h],
        inputs=[u],
        outputs={"level": h},
        parameters={a: dd.Parameter(0.8, lower=0.1, upper=5.0, scale="log")},
        disturbances=make_rain(0.1),
        measurement_noise={"level": 0.02},
        initial={h: 1.5},
    )


SMOOTH, GUARDED = make_tank(np.sqrt(h)), make_tank(np.sqrt(np.maximum(h, 1e-6)))


def make_data(drive) -> dd.Dataset:
    inputs = {"u": dd.Signal(TIMES, drive, intersample="zoh")}
    return dd.simulate(GUARDED, TIMES, inputs=inputs, realizations=1, measurement_noise=True, rng=1).to_dataset()


@cache
def draw_data() -> dd.Dataset:
    return make_data(1.0 + 0.3 * np.sign(np.sin(0.4 * TIMES)))


def test_a_guard_that_is_not_touched_changes_nothing():
    one, other = (dd.fit(model, draw_data(), free=["a"], criterion=LAPLACE, rng=0) for model in (SMOOTH, GUARDED))
    assert other["a"].value == pytest.approx(one["a"].value, rel=1e-7)
    assert other["a"].std_error == pytest.approx(one["a"].std_error, rel=1e-5)
    assert other.value == pytest.approx(one.value, rel=1e-9)
    assert not any("kink" in note for note in other.notes)
    assert other.model.to_text() == replace(GUARDED, parameters=other.model.parameters).to_text()
    states = [dd.estimate_states(fit, draw_data(), variables=["h", "w"]) for fit in (one, other)]
    for name in ("h", "w"):
        np.testing.assert_allclose(states[1].mean[name], states[0].mean[name], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(states[1].std[name], states[0].std[name], rtol=1e-5)


def test_a_path_that_crosses_a_kink_is_told():
    """A weir: nothing flows below its edge, which the level passes again and again."""
    weir = replace(make_tank(0.0 * h), equations={"balance": der(h) == u + w - a * np.maximum(h - 1.5, 0.0)})
    drive = 0.3 * np.sign(np.sin(0.8 * TIMES)) + 0.05
    inputs = {"u": dd.Signal(TIMES, drive, intersample="zoh")}
    data = dd.simulate(weir, TIMES, inputs=inputs, realizations=1, measurement_noise=True, rng=1).to_dataset()
    assert np.nanmin(data["level"]) < 1.4 < 1.6 < np.nanmax(data["level"])
    fit = dd.fit(weir, data, free=["a"], criterion=LAPLACE, rng=0)
    assert any("the most probable path crosses the kink of 'maximum(h - 1.5, 0)'" in note for note in fit.notes), fit


def test_what_is_chosen_takes_a_guard_for_smooth():
    """√max(h, 1e-6) of a tank that never runs dry: likelihood is chosen, with the same end as without the guard."""
    one, other = (dd.fit(model, draw_data(), free=["a"], rng=0) for model in (SMOOTH, GUARDED))
    assert isinstance(other.criterion, dd.Likelihood)
    assert other["a"].value == pytest.approx(one["a"].value, rel=1e-6)
    assert other["a"].std_error == pytest.approx(one["a"].std_error, rel=1e-4)
    assert any("judged at the estimate: particles would move a by 0.00" in note for note in other.notes), other
    assert not any("kink" in note for note in other.notes), other


def test_particles_follow_kinks():
    """Values that do not jump have a score nearly everywhere: log L and slope are those of the smooth formula."""
    particles = dd.Likelihood(method="particle", particles=200)
    values = [dd.evaluate(model, draw_data(), free=["a"], criterion=particles, rng=0) for model in (SMOOTH, GUARDED)]
    assert values[1].loglik == pytest.approx(values[0].loglik, abs=1e-6)
    assert values[1].gradient == pytest.approx(values[0].gradient, rel=1e-6)


@pytest.mark.parametrize(
    ("inflow", "kinks"),
    [
        (np.clip(u + w, -0.2, 0.4), "'minimum(maximum(u + w, -0.2), 0.4)'"),
        (u + np.maximum(w - 0.1, 0.0), "'maximum(w - 0.1, 0)'"),
        (u + w - 0.3 * np.maximum(h - 1.5, 0.0), "'maximum(h - 1.5, 0)'"),
    ],
)
def test_moments_are_taken_where_paths_cross_kinks(inflow, kinks):
    model = replace(make_tank(0.0), equations={"balance": der(h) == inflow - 0.3 * a * h})
    inputs = {"u": dd.Signal(TIMES, 0.4 + 0.3 * np.sign(np.sin(0.4 * TIMES)), intersample="zoh")}
    data = dd.simulate(model, TIMES, inputs=inputs, realizations=1, measurement_noise=True, rng=1).to_dataset()
    value = dd.evaluate(model, data, free=["a"], criterion=dd.Likelihood(realizations=100), rng=0)
    assert any(f"moments were taken by method='auto': paths cross the kink of {kinks}" in n for n in value.notes), value


def test_what_jumps_is_left_to_simulations():
    """Switches whose values jump have no derivatives along the path."""
    jumping = make_tank(np.sqrt(h) * np.where(h < 1.5, 1.0, 0.9))
    with pytest.raises(dd.DaedalError, match=r"Likelihood\(method='particle'\) needs derivatives along the path"):
        dd.fit(jumping, draw_data(), free=["a"], criterion=dd.Likelihood(method="particle"), rng=0)


def test_a_path_that_kinks_hide_is_not_looked_for_on_ever_finer_grids(monkeypatch):
    """A sensor that saturates: no path is found, at any step; particles follow the data instead."""
    model = dd.Model(
        name="lag",
        equations={"lag": der(h) == -a * h + u + w},
        unknowns=[h],
        inputs=[u],
        outputs={"y": np.minimum(b * h, 0.8)},
        parameters={a: 1.3, b: 0.7},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.3, time_constant=1.0)},
        measurement_noise={"y": 0.03},
        initial={h: 0.5},
    )
    times, levels = 0.3 * np.arange(301), np.random.default_rng(3).uniform(-1.2, 1.2, 31)
    inputs = {"u": dd.Signal(times, np.repeat(levels, 10)[:301], intersample="zoh")}
    truth = model.with_parameters({"a": 1.0, "b": 1.0})
    data = dd.simulate(truth, times, inputs=inputs, realizations=1, measurement_noise=True, rng=1).to_dataset()
    tried = []
    search = lineup.find_paths

    def find_paths(discrete):
        tried.append(discrete.experiment.grid.steps)
        return search(discrete)

    monkeypatch.setattr(lineup, "find_paths", find_paths)
    value = dd.evaluate(model, data, free=["a"], criterion=dd.Likelihood(particles=200), rng=0)
    assert np.isfinite(value.value)
    assert len(tried) > 1  # none was found, neither at the first steps
    assert max(tried) == 600  # nor at half of them
