"""Laplace's likelihood of models with kinks: away from them as with smooth formulas, and crossing is told."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import daedal as dd
from daedal import der

h, a, u, w = dd.symbols("h a u w")
TIMES = 0.5 * np.arange(61)
LAPLACE = dd.Likelihood(method="laplace")


def make_tank(outflow) -> dd.Model:
    return dd.Model(
        name="tank",
        equations={"balance": der(h) == u + w - a * outflow},
        unknowns=[h],
        inputs=[u],
        outputs={"level": h},
        parameters={a: dd.Parameter(0.8, lower=0.1, upper=5.0, scale="log")},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.1, time_constant=3.0)},
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


def test_others_still_leave_kinks_to_simulations():
    """What chooses by itself does so as before."""
    fit = dd.fit(GUARDED, draw_data(), free=["a"], criterion=dd.SimulationPEM(realizations=20), rng=0)
    assert fit.status.ok
    with pytest.raises(dd.DaedalError, match=r"Likelihood\(method='particle'\) needs derivatives along the path"):
        dd.fit(GUARDED, draw_data(), free=["a"], criterion=dd.Likelihood(method="particle"), rng=0)
