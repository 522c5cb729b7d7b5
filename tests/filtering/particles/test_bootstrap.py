"""The particle filter against quadrature, and on linear models against the exact filter, within its own noise."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import daedal as dd
from batteries.quadrature import SEEN, TRUTH, differentiate, draw_seen, integrate, make_seen
from daedal import der
from daedal.experiments import match_experiments
from daedal.filtering import Point, PooledRuns, Stream, make_nonlinear_experiment, run_in_groups, run_particles
from daedal.filtering.particles import streams
from daedal.filtering.particles.bootstrap import MEMORIES
from daedal.systems import build

x, v, u, w = dd.symbols("x v u w")
d, k, std, tau, sigma = dd.symbols("d k std tau sigma")
EVERYTHING = len(MEMORIES) - 1


def line_up(model, data, free, step=0.3, method="rk4"):
    experiment = make_nonlinear_experiment(match_experiments(build(model), [data])[0], {}, method, step)
    return experiment.at(Point(model, None, free))


def pool(discrete, particles, runs):
    made = run_particles(discrete, particles, Stream(1, "test"), range(runs))
    return PooledRuns(np.array([one.loglik for one in made]), np.array([one.gains for one in made])), made


@pytest.mark.parametrize("name", SEEN)
def test_value_and_score_are_those_of_quadrature(name):
    data = draw_seen(SEEN[name])
    y = data.outputs["x"].values
    pooled, _ = pool(line_up(make_seen(SEEN[name]), data, tuple(TRUTH)), 1000, 8)
    assert pooled.loglik == pytest.approx(integrate(SEEN[name], y), abs=3.0 * pooled.loglik_error)
    assert pooled.loglik_error < 0.9
    truth = differentiate(SEEN[name], y)
    error = np.sqrt(np.diag(pooled.scatter(EVERYTHING)))
    assert np.all(np.abs(pooled.score(EVERYTHING) - truth) < 3.0 * error)
    units = np.sqrt(np.diag(pooled.squares(EVERYTHING)))  # of the data
    chosen = pooled.choose_memory()
    assert np.all(np.abs(pooled.score(chosen) - truth) < 3.0 * np.sqrt(np.diag(pooled.scatter(chosen))) + 0.2 * units)
    assert np.trace(pooled.scatter(chosen)) < np.trace(pooled.scatter(EVERYTHING))


def test_missing_samples_are_those_of_quadrature():
    data = draw_seen(SEEN["w²"])
    y = np.where(np.arange(100) % 4 == 1, np.nan, data.outputs["x"].values)
    gaps = dd.Dataset(data.outputs["x"].times, outputs={"x": y})
    pooled, made = pool(line_up(make_seen(SEEN["w²"]), gaps, ()), 500, 6)
    assert made[0].counting.size == 75
    assert pooled.loglik == pytest.approx(integrate(SEEN["w²"], y), abs=3.0 * pooled.loglik_error)


OSCILLATOR = dd.Model(
    name="oscillator",
    equations={"speed": der(x) == v, "force": der(v) == -d * v - k * x + u + w},
    unknowns=[x, v],
    inputs=[u],
    outputs={"position": x, "speed": v + k * x},
    parameters={d: 0.5, k: 1.0, std: 0.6, tau: 0.7, sigma: 0.2},
    disturbances={w: dd.FilteredNoise.low_pass(std=std, time_constant=tau)},
    measurement_noise={"position": 0.15, "speed": sigma},
    initial={x: k, v: 0.0},
)
FREE = ("d", "k", "std", "tau", "sigma")


def draw_irregular(model):
    rng = np.random.default_rng(1)
    times = np.concatenate([[0.0], np.cumsum(rng.uniform(0.1, 0.6, 40))])
    push = dd.Signal([0.0, 3.0, 40.0], [1.0, -1.0, -1.0], intersample="zoh")
    whole = dd.simulate(model, times, inputs={"u": push}, realizations=1, measurement_noise=True, rng=2).to_dataset()
    seen = rng.random(41) < 0.7
    outputs = {
        "position": whole.outputs["position"],
        "speed": dd.Samples(times[seen], whole.outputs["speed"].values[seen]),
    }
    return dd.Dataset(inputs={"u": push}, outputs=outputs)


@pytest.mark.parametrize("method", ["rk4", "radau5"])
def test_several_irregular_outputs_and_a_sample_at_the_start_as_the_exact_filter(method):
    data = draw_irregular(OSCILLATOR)
    exact = dd.evaluate(OSCILLATOR, data, free=list(FREE), criterion=dd.Likelihood())
    pooled, made = pool(line_up(OSCILLATOR, data, FREE, 0.1, method), 1000, 6)
    assert pooled.loglik == pytest.approx(exact.loglik, abs=3.0 * pooled.loglik_error + 0.01)
    error = np.sqrt(np.diag(pooled.scatter(EVERYTHING)))
    assert np.all(np.abs(pooled.score(EVERYTHING) + exact.gradient) < 3.0 * error)
    e, s = (np.mean([getattr(one, kind) for one in made], axis=0) for kind in ("e", "s"))
    assert abs(np.mean(e**2 / s) - 1.0) < 3.0 * np.sqrt(2.0 / e.size)
    assert np.linalg.norm(pooled.squares(3) - exact.curvature) < 0.5 * np.linalg.norm(exact.curvature)


def test_a_filter_that_loses_the_data_says_where_and_how_many_particles_would_do():
    data = draw_seen(SEEN["w"])
    y = data.outputs["x"].values.copy()
    y[40] = 4.5
    accurate = make_seen(SEEN["w"], measurement_noise={"x": 0.02})
    far = dd.Dataset(data.outputs["x"].times, outputs={"x": y})
    lost = run_particles(line_up(accurate, far, ()), 200, Stream(1, "test"), range(4))
    assert all(one.collapse is not None for one in lost)
    plain = make_seen(SEEN["w"], measurement_noise={"x": 0.05})
    alone = dd.Dataset([0.0, 0.3, 0.6], outputs={"x": [0.0, 0.1, 2.2]})
    discrete = line_up(plain, alone, ())
    runs = run_particles(discrete, 200, Stream(1, "test"), range(40))
    told = [one.collapse for one in runs if one.collapse is not None]
    assert told
    assert {one.sample for one in told} == {2}
    assert {one.time for one in told} == {0.6}
    needed = float(np.median([one.needed for one in told]))
    enough = run_particles(discrete, round(needed), Stream(1, "test"), range(10))
    assert all(one.collapse is None for one in enough)
    assert needed < 1e6


def test_runs_side_by_side_and_in_threads_are_the_same_as_alone():
    discrete = line_up(OSCILLATOR, draw_irregular(OSCILLATOR), ("d", "sigma"), 0.1)
    together = run_particles(discrete, 101, Stream(3, "test"), range(4))
    assert len({one.loglik for one in together}) == 4

    def run(number):
        return run_particles(discrete, 101, Stream(3, "test"), range(number, number + 1))[0]

    with ThreadPoolExecutor(2) as pool:
        alone = list(pool.map(run, range(4)))
    for one, other in zip(alone, together, strict=True):
        assert one.loglik == other.loglik
        for kind in ("gains", "counting", "e", "s", "mean", "deviation"):
            np.testing.assert_array_equal(getattr(one, kind), getattr(other, kind))


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_groups_of_runs_hold_each_once_in_order_whatever_the_processors(workers, monkeypatch):
    monkeypatch.setattr("daedal.filtering.particles.streams.count_workers", lambda: workers)
    for particles, count in ((10, 6), (2000, 6), (900, 3), (10**6, 6), (2000, 1)):
        sizes = []

        def run(group, sizes=sizes):
            sizes.append(len(group))
            return list(group)

        assert run_in_groups(run, particles, count) == tuple(range(count))
        assert max(sizes) * particles <= max(30_000, particles)
        assert len(sizes) >= min(workers, count * particles // 2000, count)


def test_numbers_are_drawn_as_far_as_the_grid_goes(monkeypatch):
    """The same ones as one by one, and none for steps beyond the last."""
    drawn, draw = [], streams.draw_innovations
    monkeypatch.setattr(streams, "draw_innovations", lambda *given: drawn.append(given[4]) or draw(*given))
    name = next(iter(SEEN))
    discrete = line_up(make_seen(SEEN[name]), draw_seen(SEEN[name]), ())
    together = run_particles(discrete, 10, Stream(1, "test"), range(1))[0]
    last = discrete.experiment.grid.times.size - 1
    assert max(steps.stop for steps in drawn) == last + 1
    monkeypatch.setattr(streams, "NUMBERS", 0)
    assert run_particles(discrete, 10, Stream(1, "test"), range(1))[0].loglik == together.loglik
