"""Predictions of other data against closed forms and against the ensemble itself, and what compare refuses."""

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
