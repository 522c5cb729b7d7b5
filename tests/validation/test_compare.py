"""Predictions of other data against closed forms and against the ensemble itself, and what compare refuses."""

from dataclasses import replace

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.errors import EstimationError

x, u, w, k, x0 = dd.symbols("x u w k x0")
TIMES = np.arange(41) * 0.05


def decay(**options):
    return dd.Model(
        name="decay",
        equations={"rate": der(x) == -k * x},
        unknowns=[x],
        outputs={"x": x},
        parameters={k: 2.0, x0: 1.0},
        initial={x: x0},
        **options,
    )


def measured(rate, start, seed, name, times=TIMES):
    noise = 0.02 * np.random.default_rng(seed).standard_normal(times.size)
    return dd.Dataset(times, outputs={"x": start * np.exp(-rate * times) + noise}, name=name)


@pytest.fixture(scope="module")
def local_fit():
    sets = [measured(1.5, 1.0, 1, "first"), measured(1.5, 2.0, 2, "second")]
    return dd.fit(decay(measurement_noise={"x": 0.02}), sets, free=["k"], local=["x0"])


def percent(y, predicted):
    return 100 * (1 - np.sqrt(np.sum((y - predicted) ** 2) / np.sum((y - y.mean()) ** 2)))


def test_a_model_against_its_closed_form():
    data = measured(1.5, 1.0, 3, "held out")
    found = dd.compare(decay(), data)
    exact = np.exp(-2.0 * TIMES)
    np.testing.assert_allclose(found["x"].predicted, exact, rtol=1e-7)
    np.testing.assert_array_equal(found["x"].measured, data["x"])
    assert found.fit_percent["x"] == pytest.approx(percent(data["x"], exact), rel=1e-6)
    assert found.rmse["x"] == pytest.approx(np.sqrt(np.mean((data["x"] - exact) ** 2)), rel=1e-6)
    assert np.isnan(found.coverage["x"])
    assert "95 %" not in str(found)
    assert "comparison of 'decay' with 'held out': 41 samples" in str(found)


def test_own_data_are_predicted_as_in_the_fit(local_fit):
    found = dd.compare(local_fit, list(local_fit.data))
    assert found.fit_percent["x"] == pytest.approx(local_fit.fit_percent["x"], rel=1e-9)
    assert found.local == {name: local_fit.params[name] for name in ("x0[first]", "x0[second]")}
    assert not found.notes


def test_local_parameters_are_estimated_again_and_the_others_held(local_fit):
    data = measured(1.5, 0.5, 4, "third")
    found = dd.compare(local_fit, data)
    curve = np.exp(-local_fit["k"].value * TIMES)
    start = data["x"] @ curve / (curve @ curve)  # least squares in a parameter that enters linearly
    assert found.local == {"x0[third]": pytest.approx(start, rel=1e-6)}
    np.testing.assert_allclose(found["x"].predicted, start * curve, rtol=1e-6)
    assert "estimated again on these data: x0[third]; the others are those of the fit" in str(found)


def test_the_band_of_output_error_is_the_measurement_noise(local_fit):
    found = dd.compare(local_fit, measured(1.5, 0.5, 5, "third", np.arange(2001) * 0.001))
    np.testing.assert_allclose(found["x"].deviation, 0.02)
    assert 0.93 < found.coverage["x"] < 0.97


def test_samples_in_the_transient_and_missing_ones_do_not_count():
    fit = dd.fit(decay(), measured(1.5, 1.0, 6, "train"), free=["k"], criterion=dd.OutputError(transient=0.5))
    values = measured(1.5, 1.0, 7, "test")["x"].copy()
    values[30] = np.nan
    values[:5] = 100.0
    found = dd.compare(fit, dd.Dataset(TIMES, outputs={"x": values}))
    scored = (TIMES >= 0.5 - 1e-12) & np.isfinite(values)
    np.testing.assert_array_equal(found["x"].scored, scored)
    exact = np.exp(-fit["k"].value * TIMES)
    assert found.fit_percent["x"] == pytest.approx(percent(values[scored], exact[scored]), rel=1e-5)


def test_several_experiments_are_told_apart(local_fit):
    sets = [measured(1.5, 0.5, 8, "a"), measured(1.5, 3.0, 9, "b")]
    found = dd.compare(local_fit, sets)
    assert list(found.local) == ["x0[a]", "x0[b]"]
    assert found["x", "b"].experiment == "b"
    y, predicted = (np.concatenate([getattr(found["x", n], side) for n in "ab"]) for side in ("measured", "predicted"))
    assert found.fit_percent["x"] == pytest.approx(percent(y, predicted))
    assert found["x", "a"].rmse == pytest.approx(np.sqrt(np.mean((y - predicted)[:41] ** 2)))
    with pytest.raises(EstimationError, match=r"measured in 2 experiments. Write comparison\['x', 'a'\]"):
        found["x"]
    with pytest.raises(EstimationError, match="no experiment 'c'"):
        found["x", "c"]
    with pytest.raises(EstimationError, match=r"no output 'X'. Did you mean 'x'"):
        found["X"]


def test_values_fixed_by_experiment_belong_to_names():
    sets = [measured(1.5, 1.0, 1, "first"), measured(1.5, 2.0, 2, "second")]
    fit = dd.fit(decay(), sets, free=["k"], fixed=[{"x0": 1.0}, {"x0": 2.0}])
    again = dd.compare(fit, measured(1.5, 2.0, 3, "second"))
    assert again["x"].predicted[0] == pytest.approx(2.0)
    with pytest.raises(
        EstimationError, match="fixes 'x0' at another value in each experiment, and has none called 'z'"
    ):
        dd.compare(fit, measured(1.5, 1.0, 3, "z"))
    alike = dd.fit(decay(), sets[:1], free=["k"], fixed={"x0": 1.1})
    assert dd.compare(alike, measured(1.5, 1.0, 3, "z"))["x"].predicted[0] == pytest.approx(1.1)


@pytest.mark.parametrize("local", [[], ["x0"]])
def test_multiple_shooting_predicts_other_data_too(local):
    criterion = dd.OutputError(segments=3)
    free = ["k"] if local else ["k", "x0"]
    fit = dd.fit(decay(), measured(1.5, 1.0, 1, "train"), free=free, local=local, criterion=criterion)
    assert dd.compare(fit, fit.data).fit_percent["x"] == pytest.approx(fit.fit_percent["x"], rel=1e-6)
    found = dd.compare(fit, measured(1.5, 1.0, 2, "test"))
    assert found.fit_percent["x"] > 85.0
    assert bool(found.local) == bool(local)


@pytest.fixture(scope="module")
def disturbed():
    """Squared low-pass noise moves the mean; x has a spread that the ensemble tells."""
    noise = dd.FilteredNoise.low_pass(std=0.8, time_constant=0.2)
    model = dd.Model(
        name="lag",
        equations={"lag": der(x) == -k * x + u + w**2},
        unknowns=[x],
        inputs=[u],
        outputs={"x": x},
        parameters={k: 1.0},
        disturbances={w: noise},
        measurement_noise={"x": 0.1},
        initial={x: 0.6},
    )
    times = np.arange(1001) * 0.1
    signal = dd.Signal(times, np.sin(0.5 * times))

    def data(seed):
        drawn = dd.simulate(model, times, inputs={u: signal}, realizations=1, measurement_noise=True, rng=seed)
        return drawn.to_dataset()

    fit = dd.fit(model, data(1), free=["k"], criterion=dd.SimulationPEM(realizations=128), rng=5)
    return fit, data(2), times, signal


def test_the_band_holds_disturbances_and_noise(disturbed):
    fit, data, times, signal = disturbed
    found = dd.compare(fit, data)
    outside = dd.ensemble(fit.model, times, inputs={u: signal}, realizations=2000, rng=1)
    late = times > 5.0
    expected = np.sqrt(outside.variance["x"] + 0.1**2)[late].mean()
    assert found["x"].deviation[late].mean() == pytest.approx(expected, rel=0.05)
    np.testing.assert_allclose(found["x"].predicted[late].mean(), outside.mean["x"][late].mean(), rtol=0.05)
    assert 0.9 < found.coverage["x"] < 0.99
    assert (found.realizations, found.seed) == (128, 5)
    assert "in the 95 % band" in str(found)


def test_random_numbers_are_fresh_on_other_data_and_repeat(disturbed):
    fit, data, *_ = disturbed
    own, other = dd.compare(fit, fit.data)["x"].predicted, dd.compare(fit, data)["x"].predicted
    assert np.abs(own - other).max() > 1e-3  # the same model and input, other paths
    first, again, others = (dd.compare(fit, data, rng=seed)["x"].predicted for seed in (9, 9, 10))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - others).max() > 1e-3


def test_undeclared_noise_is_not_in_the_band(disturbed):
    fit, data, *_ = disturbed
    silent = fit.model.with_measurement_noise({"x": None})
    fit = dd.fit(silent, data, free=["k"], criterion=dd.SimulationPEM(realizations=16), rng=1)
    assert "no measurement noise is declared for 'x': the band holds the disturbances alone" in str(
        dd.compare(fit, data)
    )


def test_disturbances_of_a_model_are_zero(disturbed):
    fit, data, times, signal = disturbed
    found = dd.compare(dd.build(fit.model), data)
    np.testing.assert_allclose(found["x"].predicted, dd.simulate(fit.model, times, inputs={u: signal})["x"], atol=1e-6)
    assert "disturbances are zero" in str(found)


def test_arguments_that_cannot_be_compared(local_fit):
    data = measured(1.5, 1.0, 3, "test")
    with pytest.raises(EstimationError, match=r"compare takes the fit first and the data second. Exchange"):
        dd.compare(data, local_fit)
    with pytest.raises(EstimationError, match=r"first and the data second. Exchange"):
        dd.compare(data, decay())
    with pytest.raises(EstimationError, match="takes a Dataset, or a list of them, got int"):
        dd.compare(local_fit, 3)
    with pytest.raises(EstimationError, match="takes a Fit or a Model first, got int"):
        dd.compare(3, data)
    with pytest.raises(EstimationError, match=r"has no output of model 'decay'|have no output of model 'decay'"):
        dd.compare(local_fit, dd.Dataset(TIMES, outputs={"y": TIMES}))


def drifting(count=300, seed=1):
    """x follows a lag of u and a random walk of its own; sampled with noise."""
    a, q = dd.symbols("a q")
    model = dd.Model(
        name="drift",
        equations={"lag": der(x) == -a * x + u + w},
        unknowns=[x],
        inputs=[u],
        outputs={"x": x},
        parameters={a: 0.5, q: 0.3},
        disturbances={w: dd.WhiteNoise(intensity=q)},
        measurement_noise={"x": 0.1},
        initial={x: 0.0},
    )
    times = np.arange(count) * 0.2
    signal = dd.Signal(times, np.sin(times), intersample="zoh")
    A, Q = np.exp(-0.5 * 0.2), 0.3 * (1 - np.exp(-0.2))
    random, state, values = np.random.default_rng(seed), 0.0, []
    for held in np.sin(times):
        values.append(state + 0.1 * random.standard_normal())
        state = A * state + (1 - A) / 0.5 * held + np.sqrt(Q) * random.standard_normal()
    return model, dd.Dataset(times, inputs={"u": signal}, outputs={"x": values}, name="drift")


def kalman_ahead(data, a, q, steps):
    """Mean and deviation of x so many samples ahead, by the scalar filter written out; the start is known."""
    y, h = data["x"], 0.2
    A, B, Q = np.exp(-a * h), (1 - np.exp(-a * h)) / a, q * (1 - np.exp(-2 * a * h)) / (2 * a)
    held = data.inputs["u"](data.sample_times)
    filtered = []
    m, P = 0.0, 0.0
    for k in range(y.size):
        if k:
            m, P = A * m + B * held[k - 1], A * P * A + Q
        gain = P / (P + 0.01)
        m, P = m + gain * (y[k] - m), (1 - gain) * P
        filtered.append((m, P))
    means, deviations = [], []
    for k in range(steps, y.size):
        m, P = filtered[k - steps]
        for i in range(k - steps, k):
            m, P = A * m + B * held[i], A * P * A + Q
        means.append(m)
        deviations.append(np.sqrt(P + 0.01))
    return np.array(means), np.array(deviations)


def test_steps_ahead_by_a_filter_written_out():
    model, data = drifting()
    fit = dd.fit(model, data, free=["a", "q"], criterion=dd.Likelihood())
    found = dd.compare(fit, data, horizon=[10, 1, 3, np.inf])
    assert found.horizons == (1, 3, 10)
    for steps in (1, 3, 10):
        mean, deviation = kalman_ahead(data, fit["a"].value, fit["q"].value, steps)
        ahead = found["x"].steps_ahead[steps]
        np.testing.assert_allclose(ahead.predicted[steps:], mean, atol=1e-9)
        np.testing.assert_allclose(ahead.deviation[steps:], deviation, rtol=1e-9)
        assert 0.9 < ahead.coverage < 0.99
    assert found["x"].ahead is found["x"].steps_ahead[1]
    errors = [found["x"].steps_ahead[steps].rmse for steps in (1, 3, 10)]
    assert errors == sorted(errors)
    assert errors[-1] < found["x"].rmse  # the simulation knows no sample
    text = str(found)
    assert "with data of the fit 'drift'" in text
    for label in ("x, simulated", "one step ahead", "3 steps ahead", "10 steps ahead"):
        assert label in text
    other = dd.compare(fit, drifting(seed=2)[1], horizon=10)
    assert other.horizons == (10,)
    assert other.relation == "held-out data"
    assert 0.9 < other["x"].steps_ahead[10].coverage < 0.99


def test_a_linear_model_looks_ahead_too():
    model, data = drifting()
    found = dd.compare(model, data, horizon=5)
    mean, deviation = kalman_ahead(data, 0.5, 0.3, 5)
    late = slice(100, None)  # where the start, here estimated, has been forgotten
    np.testing.assert_allclose(found["x"].steps_ahead[5].predicted[5:][late], mean[late], atol=1e-6)
    np.testing.assert_allclose(found["x"].steps_ahead[5].deviation[5:][late], deviation[late], rtol=1e-6)
    assert "where these data begin is estimated from them" in str(found)


def test_horizons_that_cannot_be(local_fit):
    model, data = drifting(50)
    fit = dd.fit(model, data, free=["a"], criterion=dd.Likelihood())
    with pytest.raises(EstimationError, match="horizon of 50 samples is longer than the data 'drift', which have 50"):
        dd.compare(fit, data, horizon=[1, 50])
    for wrong in (0, -1, 1.5, "1", [1, None], np.nan, True):
        with pytest.raises(EstimationError, match="horizon must be a whole number of samples from 1 on"):
            dd.compare(fit, data, horizon=wrong)
    with pytest.raises(EstimationError, match=r"simulates and takes nothing from the samples before.*Likelihood"):
        dd.compare(local_fit, measured(1.5, 1.0, 3, "test"), horizon=2)
    assert dd.compare(local_fit, measured(1.5, 1.0, 3, "test"), horizon=np.inf).horizons == ()


@pytest.mark.parametrize("local", [False, True])
def test_the_second_part_of_a_split_goes_on(local):
    """A slow decay towards an input: the second part does not start where the first did."""
    model = dd.Model(
        name="slow",
        equations={"lag": der(x) == k * (u - x)},
        unknowns=[x],
        inputs=[u],
        outputs={"x": x},
        parameters={k: 0.3, x0: 0.5},
        initial={x: x0},
    )
    times = np.arange(200) * 0.1
    exact = 1.0 + 2.0 * np.exp(-0.2 * times)
    noise = 0.01 * np.random.default_rng(1).standard_normal(200)
    whole = dd.Dataset(times, inputs={"u": np.ones(200)}, outputs={"x": exact + noise})
    first, second = whole.split(0.6)
    fit = dd.fit(model, first, free=["k"] if local else ["k", "x0"], local=["x0"] if local else [])
    found = dd.compare(fit, second)
    start = fit["x0[data]" if local else "x0"].value
    going_on = 1.0 + (start - 1.0) * np.exp(-fit["k"].value * times[120:])
    if local:
        assert found.local["x0[data]"] == pytest.approx(exact[120], abs=0.01)  # estimated, not far from going on
        assert found.rmse["x"] <= np.sqrt(np.mean((second["x"] - going_on) ** 2)) + 1e-9
    else:
        np.testing.assert_allclose(found["x"].predicted, going_on, rtol=1e-6)
        assert "'data' continues data of the fit: simulated from their start on, 0" in str(found)
    other = dd.Dataset(times, inputs={"u": np.zeros(200)}, outputs={"x": 3.0 * np.exp(-0.2 * times)}, name="other")
    if not local:
        assert "'x' starts as in the fit, x0 = " in str(dd.compare(fit, other))
    assert "'data' starts at the model's initial values at 12; inputs begin before" in str(dd.compare(model, second))


def test_local_values_start_from_several_points():
    """A square is measured: the start of the fit has the wrong sign, where there is another minimum."""
    v, v0 = dd.symbols("v v0")
    model = dd.Model(
        name="bounce",
        equations={"position": der(x) == v, "spring": der(v) == -k * x},
        unknowns=[x, v],
        outputs={"square": (x + 0.1) ** 2},
        parameters={k: 4.0, v0: 1.0},
        initial={x: 0.0, v: v0},
        measurement_noise={"square": 0.01},
    )
    times = np.arange(60) * 0.1

    def square(speed):
        return (speed / 2.0 * np.sin(2.0 * times) + 0.1) ** 2

    noise = 0.01 * np.random.default_rng(2).standard_normal((2, 60))
    train, test = (
        dd.Dataset(times, outputs={"square": square(speed) + own}, name=name)
        for name, speed, own in (("train", 1.0, noise[0]), ("test", -1.2, noise[1]))
    )
    fit = dd.fit(model, train, free=["k"], local=["v0"])
    found = dd.compare(fit, test)
    assert found.local["v0[test]"] == pytest.approx(-1.2, abs=0.02)
    assert found.rmse["square"] < 0.012
    assert "minima that" in str(found)


def test_a_local_start_that_a_filter_estimates_itself_is_no_estimate():
    """On other data Likelihood opens the start, so that x0 there is a number that nothing depends on."""
    model = replace(
        decay(measurement_noise={"x": 0.02}),
        equations={"rate": der(x) == -k * x + w},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.02, time_constant=0.5)},
    )
    sets = [measured(1.5, 1.0, 1, "first"), measured(1.5, 3.0, 2, "second")]
    fit = dd.fit(model, sets, free=["k"], local=["x0"], criterion=dd.Likelihood())
    other = measured(1.5, 8.0, 3, "third")
    found = dd.compare(fit, other)
    assert dict(found.local) == {}
    assert "x0[third]" not in str(found)
    assert any("where these data begin is estimated" in note for note in found.notes)
    assert found.fit_percent["x"] > 90.0
    assert dd.resid(fit, other)["x"].white


def test_simulations_that_leave_where_the_equations_are_defined_have_no_figures():
    """A tank that disturbed runs would empty: no mean, no share of a band, and the reason."""
    h, u, d, a = dd.symbols("h u d a")
    tank = dd.Model(
        name="tank",
        equations={"balance": dd.der(h) == u + d - a * np.sqrt(h)},
        unknowns=[h],
        inputs=[u],
        outputs={"level": h},
        parameters={a: dd.Parameter(0.8, lower=0.1, upper=5.0)},
        disturbances={d: dd.FilteredNoise.low_pass(std=0.1, time_constant=2.0)},
        measurement_noise={"level": 0.01},
        initial={h: 0.05},
    )
    times = np.arange(60) * 0.5
    inflow = np.full(60, 0.2)
    data = dd.Dataset(times, inputs={"u": inflow}, outputs={"level": 0.06 + 0.01 * np.sin(times)})
    fitted = dd.fit(tank, data, free=["a"], criterion=dd.Likelihood(method="laplace"), rng=1)
    checked = dd.compare(fitted, data)
    simulated = checked["level"]
    assert not np.isfinite(simulated.predicted).all()
    assert np.isnan(checked.coverage["level"])
    assert "nan" not in str(checked)
    assert "disturbed runs leave where the equations are defined" in " ".join(checked.notes)
    assert np.isfinite(simulated.ahead.coverage)
