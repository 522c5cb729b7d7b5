"""Guided particles: without error on linear models, with little on others, whatever they are guided by."""

import numpy as np
import pytest

import daedal as dd
from batteries.quadrature import SEEN, TRUTH, differentiate, draw_seen, integrate, make_seen
from daedal import der
from daedal.experiments import match_experiments
from daedal.filtering import Laplace, Point, Stream, find_paths, make_guide, make_nonlinear_experiment, run_guided
from daedal.filtering.nonlinear import Spread
from daedal.systems import build

x, v, u, w = dd.symbols("x v u w")
d, k, std, tau = dd.symbols("d k std tau")
OSCILLATOR = dd.Model(
    name="oscillator",
    equations={"speed": der(x) == v, "force": der(v) == -d * v - k * x + w},
    unknowns=[x, v],
    outputs={"position": x},
    parameters={d: 0.5, k: 1.0, std: 0.6, tau: 0.7},
    disturbances={w: dd.FilteredNoise.low_pass(std=std, time_constant=tau)},
    measurement_noise={"position": 0.02},
    initial={x: 0.5, v: 0.0},
)


def find_path(model, data, step, free=(), spread=None, method="rk6"):
    experiment = make_nonlinear_experiment(match_experiments(build(model), [data])[0], {}, method, step, spread)
    return find_paths(experiment.at(Point(model, None, free)))[0]


def run(linear, particles, runs, width=1.0):
    return run_guided(linear, make_guide(linear, width), particles, Stream(2, "test"), range(runs))


@pytest.mark.parametrize("method", ["rk6", "radau5"])
def test_a_linear_model_with_an_accurate_sensor_has_no_error(method):
    times = np.concatenate([[0.0], np.cumsum(np.random.default_rng(0).uniform(0.1, 0.3, 60))])
    data = dd.simulate(OSCILLATOR, times, realizations=1, measurement_noise=True, rng=1).to_dataset()
    exact = dd.evaluate(OSCILLATOR, data, free=["d", "std"], criterion=dd.Likelihood())
    linear = find_path(OSCILLATOR, data, 0.05, ("d", "std"), method=method)
    made = run(linear, 50, 2)
    assert made[0].loglik == pytest.approx(exact.loglik, abs=1e-5)
    assert made[0].counting.min() > 49.999
    many = run(linear, 2000, 1)[0].score
    spread = np.std([one.score for one in run(linear, 200, 20)], axis=0) / np.sqrt(10)
    assert np.all(np.abs(many + exact.gradient) < 4.0 * spread)


def test_a_start_with_a_spread_or_a_flat_prior_is_drawn_where_the_samples_say():
    times = np.arange(1, 31) * 0.2
    data = dd.simulate(OSCILLATOR, times, t0=0.0, realizations=1, measurement_noise=True, rng=1).to_dataset()
    exact = dd.evaluate(OSCILLATOR, data, free=["d"], criterion=dd.Likelihood(initial_std={"x": 0.3}))
    place = match_experiments(build(OSCILLATOR), [data])[0].system.states.index("x")
    linear = find_path(OSCILLATOR, data, 0.05, spread=Spread({place: 0.3}))
    assert run(linear, 20, 1)[0].loglik == pytest.approx(exact.loglik, abs=1e-5)
    flat = find_path(OSCILLATOR, data, 0.05, spread=Spread({place: 1e3}, flat=(place,)))
    assert run(flat, 20, 1)[0].loglik == pytest.approx(-Laplace(flat).value, abs=1e-5)


@pytest.mark.parametrize(("name", "width"), [("w + 0.3 w²", 1.0), ("exp w", 1.0), ("exp w", 1.2)])
def test_value_and_score_are_those_of_quadrature(name, width):
    data = draw_seen(SEEN[name])
    y = data.outputs["x"].values
    made = run(find_path(make_seen(SEEN[name]), data, 0.3, tuple(TRUTH)), 500, 40, width)
    logliks = np.array([one.loglik for one in made])
    plain = np.exp(logliks - 0.5 * np.array([one.variance for one in made]) - integrate(SEEN[name], y))  # no bias
    assert plain.mean() == pytest.approx(1.0, abs=3.0 * plain.std() / np.sqrt(39) + 0.01)
    assert logliks.std() < 1.0
    assert np.sqrt(np.mean([one.variance for one in made])) == pytest.approx(logliks.std(), rel=0.7)
    scores = np.array([one.score for one in made])
    assert np.all(np.abs(scores.mean(axis=0) - differentiate(SEEN[name], y)) < 4.0 * scores.std(axis=0) / np.sqrt(39))


def test_runs_side_by_side_are_the_same_as_alone():
    name = "w + 0.3 w²"
    linear = find_path(make_seen(SEEN[name]), draw_seen(SEEN[name]), 0.3, tuple(TRUTH))
    guide = make_guide(linear)
    together = run_guided(linear, guide, 101, Stream(2, "test"), range(3))
    for number, one in enumerate(together):
        alone = run_guided(linear, guide, 101, Stream(2, "test"), range(number, number + 1))[0]
        assert (one.loglik, one.variance) == (alone.loglik, alone.variance)
        np.testing.assert_array_equal(one.score, alone.score)
