"""What a fit can be asked: estimates by name, a table, its criterion, start and seed."""

from dataclasses import replace

import numpy as np
import pytest

import daedal as dd
from batteries.criterion import cases, square
from batteries.fits import DATA, LINE, TIMES, b, decay


def test_result_is_asked_by_name_or_symbol(regression):
    assert regression["b"] is regression[b]
    assert list(regression) == ["b", "c"] == list(regression.params)
    with pytest.raises(dd.DaedalError, match="'bb'") as caught:
        regression["bb"]
    assert "'b'" in caught.value.remedy


def test_result_knows_its_model_data_and_start(regression):
    assert regression.model.parameters["b"].value == pytest.approx(regression["b"].value)
    assert regression.data == (LINE,)
    assert regression["b"].start == 0.0
    assert not regression["b"].at_bound
    assert regression["b"].monte_carlo_error == 0.0
    again = dd.fit(regression.model, LINE, free=["b", "c"])
    assert again.status.ok
    assert again["b"].value == pytest.approx(regression["b"].value, abs=1e-6)


def test_the_start_that_was_given_is_shown():
    data = dd.Dataset(TIMES, outputs={"level": np.exp(-1.3 * TIMES)}, t0=0.0)
    assert dd.fit(decay(), data, free=["k"])["k"].start == 2.0
    assert dd.fit(decay(), data, free=["k"], starts=[{"k": 1.7}])["k"].start == pytest.approx(1.7)


def test_summary_is_one_table(regression):
    text = str(regression)
    assert text == regression.summary()
    for word in ("line", "value", "std error", "95 % interval", "Converged", "AIC"):
        assert word in text
    assert "seed" not in text
    assert "MC error" not in text


@pytest.mark.parametrize("level", [0.0, 1.0, -1, 95, np.nan, "high", None])
def test_wrong_levels_are_refused(regression, level):
    with pytest.raises(dd.DaedalError, match="level"):
        regression.conf_int(level)


def test_values_of_an_experiment(regression):
    assert dict(regression.values()) == dict(regression.params)
    with pytest.raises(dd.DaedalError, match="experiment"):
        regression.values(1)


def test_default_criterion_and_its_reason():
    found = dd.fit(decay(), DATA, free=["k"])
    assert found.criterion == dd.OutputError()
    assert any("no disturbances" in note for note in found.notes)
    assert square().measurement_noise  # where Likelihood is chosen: tests/estimation/likelihood/test_auto.py
    wet = dd.fit(replace(square(), measurement_noise={}), cases()["mean"].data, free=["a"], rng=1)
    assert wet.criterion == dd.SimulationPEM(whiten=None)
    assert any("'w'" in note and "mean" in note for note in wet.notes)
    assert wet.loglik is None
    assert wet.aic is None
    assert wet.bic is None


def test_same_seed_same_fit_and_the_seed_is_in_the_result():
    case = cases()["mean"]
    first, again, other = (case.fit(free=["a"], rng=seed) for seed in (11, 11, 12))
    assert first.seed == 11
    assert first["a"] == again["a"]
    assert first.value == again.value
    assert other["a"].value != first["a"].value


def test_a_generator_gives_a_seed_that_reproduces_the_fit():
    case = cases()["mean"]
    found = case.fit(free=["a"], rng=np.random.default_rng(3))
    again = case.fit(free=["a"], rng=found.seed)
    assert again["a"] == found["a"]
    other = case.fit(free=["a"], rng=None)
    assert other.seed != found.seed


def test_the_covariance_of_all_errors_leaves_out_what_is_unknown(regression):
    size = regression.cov.shape[0]
    assert np.array_equal(replace(regression, monte_carlo_cov=np.full((size, size), np.nan)).total_cov, regression.cov)
    assert np.array_equal(replace(regression, monte_carlo_cov=regression.cov).total_cov, 2.0 * regression.cov)
