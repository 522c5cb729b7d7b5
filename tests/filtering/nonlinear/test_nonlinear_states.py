"""States of nonlinear models: on linear ones those of the exact filter, on others bands that hold the truth."""

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.experiments import match_experiments
from daedal.filtering import (
    InitialCondition,
    Point,
    estimate_nonlinear_states,
    make_nonlinear_experiment,
    run_extended_filter,
)
from daedal.filtering.nonlinear import extended_filter
from daedal.systems import build

x, v, u, w = dd.symbols("x v u w")
NOISE = dd.FilteredNoise.low_pass(std=0.6, time_constant=0.7)
TIMES = np.arange(41) * 0.2
NAMES = ["v", "w", "der(v)", "position"]


def make_oscillator(hardening=0.0, **changes):
    given = {
        "name": "oscillator",
        "equations": {"speed": der(x) == v, "force": der(v) == -0.5 * v - x - hardening * x**3 + u + w},
        "unknowns": [x, v],
        "inputs": [u],
        "outputs": {"position": x},
        "disturbances": {w: NOISE},
        "measurement_noise": {"position": 0.02},
        "initial": {x: 0.0, v: 0.0},
    }
    return dd.Model(**(given | changes))


def draw(model, times, seed=3):
    push = dd.Signal([0.0, 3.0, 100.0], [1.0, -1.0, -1.0], intersample="zoh")
    return dd.simulate(model, times, inputs={"u": push}, realizations=1, measurement_noise=True, rng=seed)


@pytest.mark.parametrize(
    ("kind", "horizon"), [("smoothed", None), ("filtered", None), ("predicted", None), ("predicted", 1.0)]
)
def test_linear_models_have_the_states_of_the_exact_filter(kind, horizon):
    model, times = make_oscillator(), np.union1d(TIMES, [0.33, 1.71])
    data = draw(model, TIMES).to_dataset()
    exact = dd.estimate_states(model, data, variables=NAMES, kind=kind, horizon=horizon, times=times)
    ours = estimate_nonlinear_states(build(model), data, {}, InitialCondition(), NAMES, kind, horizon, times)
    for place, name in enumerate(NAMES):
        np.testing.assert_allclose(ours.mean[:, place], exact.mean[name], atol=3e-6)
        np.testing.assert_allclose(ours.std[:, place], exact.std[name], atol=3e-6)


def test_predictions_from_many_origins_take_each_step_together(monkeypatch):
    model = make_oscillator(2.0)
    experiment = make_nonlinear_experiment(
        match_experiments(build(model), [draw(model, TIMES).to_dataset()])[0], {}, "rk4", 0.1
    )
    extended = run_extended_filter(experiment.at(Point(model, None, ())))
    ends = np.arange(2, 81, 2)
    origins = np.where(ends > 12, ends - 12, -1)
    alone = [extended.look_ahead(np.array([a]), np.array([b])) for a, b in zip(origins, ends, strict=True)]
    taken, advance = [], extended_filter._advance
    monkeypatch.setattr(extended_filter, "_advance", lambda *given: taken.append(given[1]) or advance(*given))
    together = extended.look_ahead(origins, ends)
    assert taken == list(range(80))
    np.testing.assert_allclose(together.mean, np.concatenate([one.mean for one in alone]), rtol=1e-12)
    np.testing.assert_allclose(together.covariance, np.concatenate([one.covariance for one in alone]), atol=1e-14)


@pytest.mark.parametrize("kind", ["smoothed", "filtered"])
def test_an_open_start_is_estimated_as_by_the_exact_filter(kind):
    model = make_oscillator(initial={v: 0.0})
    data = draw(make_oscillator(), TIMES).to_dataset()
    exact = dd.estimate_states(model, data, variables=NAMES, kind=kind)
    ours = estimate_nonlinear_states(build(model), data, {}, InitialCondition(), NAMES, kind, None, TIMES)
    assert "at the start x is estimated too" in ours.notes
    for place, name in enumerate(NAMES):
        np.testing.assert_allclose(ours.mean[:, place], exact.mean[name], atol=3e-6)
        np.testing.assert_allclose(ours.std[:, place], exact.std[name], atol=3e-6)


def test_bands_hold_what_was_simulated():
    """About 95 % of what nobody measured lies within two standard deviations, smoothed and filtered."""
    model, times = make_oscillator(hardening=2.0), np.arange(301) * 0.2
    seen = model.with_outputs({"w": w, "v": v})
    path = draw(seen.with_measurement_noise({"position": 0.02}), times, seed=8)
    whole = path.to_dataset()
    data = dd.Dataset(times, inputs=dict(whole.inputs), outputs={"position": whole.outputs["position"].values})
    spread = {}
    for kind in ("smoothed", "filtered"):
        states = dd.estimate_states(model, data, variables=["v", "w"], kind=kind)
        for name in ("v", "w"):
            truth = whole.outputs[name].values
            inside = np.abs(truth - states.mean[name]) < 2.0 * states.std[name]
            assert 0.88 < inside[5:].mean() < 0.995, (kind, name)
        spread[kind] = np.median(states.std["w"])
    assert spread["smoothed"] < 0.9 * spread["filtered"]


y, vx, vy, tension = dd.symbols("y vx vy tension")
PENDULUM = dd.Model(
    name="pendulum",
    equations={
        "x'": der(x) == vx,
        "y'": der(y) == vy,
        "force x": der(vx) == tension * x - 0.3 * vx + w,
        "force y": der(vy) == tension * y - 0.3 * vy - 9.81,
        "rod": x**2 + y**2 == 4.0,
    },
    unknowns=[x, y, vx, vy, tension],
    outputs={"angle": np.arctan(x / -y)},
    disturbances={w: dd.FilteredNoise.low_pass(std=1.5, time_constant=0.4)},
    measurement_noise={"angle": 0.02},
    initial={x: 1.0, vx: 0.0},
    guess={y: -2.0},
)


@pytest.mark.parametrize("kind", ["smoothed", "filtered"])
def test_states_stay_on_constraints(kind):
    times = np.arange(1, 31) * 0.1
    data = dd.simulate(PENDULUM, times, t0=0.0, realizations=1, measurement_noise=True, rng=2).to_dataset()
    states = dd.estimate_states(PENDULUM, data, kind=kind)
    assert set(states.variables) == {"x", "y", "vx", "vy", "tension"}
    mean, std = states.mean, states.std
    np.testing.assert_allclose(mean["x"] ** 2 + mean["y"] ** 2, 4.0, atol=1e-6)
    np.testing.assert_allclose(mean["x"] * mean["vx"] + mean["y"] * mean["vy"], 0.0, atol=1e-4)
    np.testing.assert_allclose(std["y"], np.abs(mean["x"] / mean["y"]) * std["x"], atol=1e-4)  # along the circle
    assert (std["tension"] > 0.0).all()


def test_what_has_no_path_is_refused():
    data = draw(make_oscillator(), TIMES).to_dataset()
    jumping = make_oscillator(equations={"speed": der(x) == v, "force": der(v) == -0.5 * np.sign(v) - x + u + w})
    with pytest.raises(
        dd.DaedalError, match=r"estimate_states needs derivatives .*'sign\(v\)' in equation '.*' switches"
    ):
        dd.estimate_states(jumping, data)
