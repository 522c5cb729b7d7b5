"""Likelihood by particles: against quadrature and the exact filter, its errors, and what is refused."""

import numpy as np
import pytest

import daedal as dd
from batteries.quadrature import SEEN, draw_seen, integrate, make_seen
from daedal import der
from daedal.errors import OutOfMemoryError
from daedal.estimation.likelihood.particle import ParticleObjective
from daedal.experiments import match_experiments
from daedal.filtering import Point, Stream, look_ahead, make_nonlinear_experiment
from daedal.systems import build

x, v, u, w = dd.symbols("x v u w")
a, std, sigma = dd.symbols("a std sigma")
PARTICLE = dd.Likelihood(method="particle", particles=500)


def make(power=3, **changes):
    given = {
        "name": "decay",
        "equations": {"rate": der(x) == -a * x**power + w},
        "unknowns": [x],
        "outputs": {"x": x},
        "parameters": {a: dd.Parameter(1.0, lower=0.05, upper=20.0, scale="log"), std: 0.8, sigma: 0.2},
        "disturbances": {w: dd.FilteredNoise.low_pass(std=std, time_constant=1.0)},
        "measurement_noise": {"x": sigma},
        "initial": {x: 1.0},
    }
    return dd.Model(**(given | changes))


def draw(model, count=80, seed=5, start=0.0):
    times = start + np.arange(1, count + 1) * 0.4
    return dd.simulate(model, times, t0=start, realizations=1, measurement_noise=True, rng=seed).to_dataset()


def test_evaluate_has_the_absolute_value_with_its_monte_carlo_error():
    data = draw_seen(SEEN["w²"])
    cost = dd.evaluate(make_seen(SEEN["w²"]), data, free=["std", "sigma"], criterion=PARTICLE, rng=3)
    truth = integrate(SEEN["w²"], data.outputs["x"].values)
    assert cost.loglik == pytest.approx(truth, abs=3.0 * cost.monte_carlo_error)
    assert 0.05 < cost.monte_carlo_error < 1.0
    again = dd.evaluate(make_seen(SEEN["w²"]), data, free=["std", "sigma"], criterion=PARTICLE, rng=3)
    assert again.loglik == cost.loglik
    np.testing.assert_array_equal(again.gradient, cost.gradient)


def test_experiments_add_up_and_a_fit_finds_what_quadrature_finds():
    see = SEEN["w²"]
    data = draw_seen(see)
    y = data.outputs["x"].values
    grid = np.linspace(0.7, 1.5, 33)
    truth = [integrate(see, y, std=value) for value in grid]
    best, curve = grid[int(np.argmax(truth))], np.diff(truth, 2) / (grid[1] - grid[0]) ** 2
    free, many = {"std": dd.Parameter(1.6, lower=0.1, upper=5.0)}, dd.Likelihood(method="particle")
    fit = dd.fit(make_seen(see), data, free=free, criterion=many, rng=1)
    one = fit["std"]
    assert fit.status.ok
    error = 1.0 / np.sqrt(-curve[int(np.argmax(truth)) - 1])
    assert abs(one.value - best) < 3.0 * one.monte_carlo_error + 0.2 * error
    assert one.std_error == pytest.approx(error, rel=0.35)
    assert 0.0 < one.monte_carlo_error < 0.7 * one.std_error
    twice = dd.evaluate(make_seen(see), [data, data], free=["std"], values={"std": best}, criterion=many, rng=1)
    assert twice.loglik == pytest.approx(2.0 * max(truth), abs=3.0 * twice.monte_carlo_error)


def test_every_verb_takes_a_fit_by_particles(tmp_path):
    model = make()
    fit = dd.fit(model, draw(model, 80), free=["a", "sigma"], criterion=PARTICLE, rng=2)
    assert "log likelihood" in fit.summary()
    assert fit.aic is not None
    assert "innovations are white" in str(dd.resid(fit))
    other = draw(model, 30, 9)
    comparison = str(dd.compare(fit, other, horizon=[1, 4]))
    assert "simulated" in comparison
    assert "4 steps ahead" in comparison
    assert "determined" in str(dd.identifiability(fit))
    fit.save(tmp_path / "fit.nc")
    again = dd.load(tmp_path / "fit.nc")
    assert again.criterion == PARTICLE
    assert again.loglik == fit.loglik
    assert dd.plot(dd.compare(again, other)).data
    states = dd.estimate_states(fit, other, variables=["w"], kind="predicted", horizon=0.8)
    assert np.isfinite(states.mean["w"]).all()


def test_predictions_ahead_are_those_of_the_exact_filter():
    linear = make(power=1)
    data = draw(linear, 40)
    experiment = match_experiments(build(linear), [data])[0]
    lined = make_nonlinear_experiment(experiment, {}, "rk4", 0.1)
    many = 20_000
    simulated, ahead = look_ahead(lined.at(Point(linear, None, ())), many, Stream(0, "test"), (1, 3))
    for steps in (1, 3):
        horizon = 0.4 * steps - 1e-9  # the sample at its beginning counts
        exact = dd.estimate_states(linear, data, variables=["x"], kind="predicted", horizon=horizon)
        for ours, known in zip(ahead[steps], (exact.mean["x"], exact.std["x"]), strict=True):
            np.testing.assert_allclose(ours[:, 0], known, atol=6.0 / np.sqrt(many))
    assert simulated[1][-1, 0] > ahead[3][1][-1, 0] > ahead[1][1][-1, 0]


SQUARED = {"equations": {"rate": der(x) == -a * x + w**2}}  # nothing to guide by: no slope at rest


def test_particles_that_lose_the_data_say_where_and_how_many_would_do():
    model = make(measurement_noise={"x": 0.002}, **SQUARED)
    cost = dd.evaluate(model, draw(model, 40), free=["a"], criterion=dd.Likelihood(method="particle", particles=50))
    assert cost.loglik == -np.inf
    assert "The particle filter loses the data at sample" in cost.failure
    assert "of 50 particles agree with it, and about" in cost.failure


def test_runs_that_scatter_too_far_are_not_believed():
    model = make(measurement_noise={"x": 0.02}, **SQUARED)
    cost = dd.evaluate(model, draw(model, 80), free=["a"], criterion=dd.Likelihood(method="particle", particles=60))
    assert "particle" in cost.failure
    assert "would do: Likelihood(particles=...)" in cost.failure


def test_a_stage_that_was_given_up_tells_no_errors():
    """Where the second stage loses the data, estimates of the first are no more than where it stood."""
    model = make(measurement_noise={"x": 0.02}, **SQUARED)
    fit = dd.fit(model, draw(model, 40), free=["a"], criterion=dd.Likelihood(method="particle", particles=60), rng=1)
    assert not fit.status.ok
    assert "a refinement of the criterion was given up. The particle filter loses the data" in fit.status.sentence
    assert fit["a"].std_error == np.inf
    assert fit["a"].verdict == "not determined"


@pytest.mark.parametrize("later", [True, False])
def test_moments_take_over_from_particles_that_lose_the_data_and_give_back_what_they_can_follow(later, monkeypatch):
    model = make(measurement_noise={"x": 0.2 if later else 0.02}, **SQUARED)
    losses = iter(["The particles are lost."])
    if later:
        monkeypatch.setattr(ParticleObjective, "describe_loss", lambda *_: next(losses, ""))
    criterion = dd.Likelihood(particles=2000 if later else 60, realizations=400)
    fit = dd.fit(model, draw(model), free=["a"], criterion=criterion, rng=1)
    assert fit.status.ok
    assert abs(np.log(fit["a"].value)) < 3.0 * fit["a"].std_error / fit["a"].value  # the truth is one
    assert any("moments were taken by method='auto': The particle" in note for note in fit.notes)
    assert any("particles went on from where moments led" in note for note in fit.notes) is later
    assert fit.averaged == (("particles", 2000) if later else ("realizations", 400))


def test_particles_are_guided_where_sensors_are_accurate():
    model, criterion = make(measurement_noise={"x": 0.002}), dd.Likelihood(method="particle", particles=300)
    data = draw(model, 60)
    laplace, guided = (
        dd.evaluate(model, data, free=["a", "std"], criterion=one, rng=1)
        for one in (dd.Likelihood(method="laplace"), criterion)
    )
    assert 0.0 < guided.monte_carlo_error < 0.1
    assert guided.loglik == pytest.approx(laplace.loglik, abs=0.3)  # which is nearly exact there
    values = [1.0, 1.1]
    means = [
        dd.evaluate(model, data, free=["a"], values={"a": one}, criterion=criterion, rng=1).loglik for one in values
    ]
    middle = dd.evaluate(model, data, free=["a"], values={"a": np.sqrt(1.1)}, criterion=criterion, rng=1)
    assert -middle.gradient[0] == pytest.approx((means[1] - means[0]) / np.log(1.1), abs=1.0)  # a's scale is log
    fit = dd.fit(model, data, free=["a", "std"], criterion=criterion, rng=1)
    assert any("particles guided by the most probable path" in note for note in fit.notes)
    same = dd.fit(model, data, free=["a", "std"], criterion=dd.Likelihood(method="laplace"), rng=1)
    for name in ("a", "std"):
        assert abs(fit[name].value - same[name].value) < 0.2 * same[name].std_error
        assert fit[name].std_error == pytest.approx(same[name].std_error, rel=0.1)
        assert 0.0 < fit[name].monte_carlo_error < 0.3 * fit[name].std_error
    assert "white" in str(dd.resid(fit))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"measurement_noise": {}}, "how accurately 'x' is measured"),
        ({"initial": {}}, "leaves 'x' open at the start"),
        ({"equations": {"rate": der(x) == -a * dd.delay(x, 0.5) ** 3 + w}, "history": {x: 1.0}}, "contains delays"),
    ],
)
def test_what_particles_cannot_do_is_said_before_the_work(changes, sentence):
    with pytest.raises(dd.DaedalError, match=sentence):
        dd.evaluate(make(**changes), draw(make()), free=["a"], criterion=PARTICLE)


@pytest.mark.parametrize("method", ["particle", "auto"])
def test_more_particles_than_fit_into_memory_are_refused_before_work_with_bytes_and_what_to_lower(method, monkeypatch):
    monkeypatch.setattr("daedal.memory.find_available", lambda: 2.0**30)
    ran = []
    monkeypatch.setattr("daedal.estimation.likelihood.particle.run_particles", lambda *given, **_: ran.append(given))
    model = make()
    data = draw(model, 20)
    with pytest.raises(OutOfMemoryError, match=r"particles=9,000,000.* needs about .* GiB of memory.* 1 GiB") as told:
        dd.fit(model, data, free=["a"], criterion=dd.Likelihood(method=method, particles=9_000_000))
    assert "Lower particles" in str(told.value)
    assert not ran


def test_a_long_record_needs_no_more_particles_than_a_short_one():
    """The variance of log L grows with the samples, that of slopes over their memory does not."""
    see = SEEN["w²"]
    short = draw_seen(see)
    y = np.tile(short.outputs["x"].values, 12)
    long = dd.Dataset(0.3 * np.arange(y.size), outputs={"x": y})
    free = {"std": dd.Parameter(1.1, lower=0.1, upper=5.0)}
    fit = dd.fit(make_seen(see), long, free=free, criterion=PARTICLE, rng=0)
    assert fit.status.ok
    cost = dd.evaluate(make_seen(see), long, free=["std"], criterion=PARTICLE, rng=0)
    assert cost.monte_carlo_error > np.sqrt(3.0 / 6.0)  # which refused it before
