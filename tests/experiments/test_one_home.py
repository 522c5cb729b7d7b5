"""Every verb says the same of the same fault of the data, and every part knows the same accuracy of a sample."""

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.experiments import Accuracies, check_accuracies, match_experiments, sum_log_determinants
from daedal.filtering.evolution import make_stochastic_model
from daedal.filtering.parameter_point import Point
from daedal.filtering.readings import make_readings
from daedal.systems import build

x, u, w, a, s = dd.symbols("x u w a s")
TIMES = np.arange(40) * 0.25
SHORT = dd.Signal(TIMES[:30], np.sin(TIMES[:30]))
TF = dd.TransferFunction([1.0], [1.0, 1.0])


def lag(noise, **changes) -> dd.Model:
    fields = {
        "name": "lag",
        "equations": {"rate": der(x) == -a * x + u + w},
        "unknowns": [x],
        "inputs": [u],
        "outputs": {"y": x, "z": 2 * x},
        "parameters": {a: 1.0, s: 0.2},
        "disturbances": {w: dd.FilteredNoise.low_pass(std=0.5, time_constant=0.5)},
        "measurement_noise": noise,
        "initial": {x: 0.0},
    }
    return dd.Model(**fields | changes)


def data(drive, **values) -> dd.Dataset:
    rng = np.random.default_rng(1)
    outputs = {name: dd.Samples(TIMES, values.get(name, rng.normal(size=40))) for name in ("y", "z")}
    return dd.Dataset(TIMES, inputs={"u": drive}, outputs=outputs)


NOISE = {"y": s, "z": 0.3}
VERBS = {
    "simulate": lambda given: dd.simulate(lag(NOISE), given),
    "simulate a transfer function": lambda given: dd.simulate(TF, given),
    "ensemble": lambda given: dd.ensemble(lag(NOISE), given, realizations=2, rng=1),
    "OutputError": lambda given: dd.fit(lag(NOISE), given, free=["a"], criterion=dd.OutputError()),
    "Likelihood": lambda given: dd.fit(lag(NOISE), given, free=["a"], criterion=dd.Likelihood()),
    "estimate_states": lambda given: dd.estimate_states(lag(NOISE), given),
    "compare": lambda given: dd.compare(lag(NOISE), given),
    "select_order": lambda given: dd.select_order(given, output="y"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_an_input_that_ends_too_early_is_told_alike(verb):
    with pytest.raises(dd.DaedalError, match=r"^Input 'u' is known from 0 to 7.25, but is needed from 0 to 9.75\."):
        VERBS[verb](data(SHORT))


def test_rounding_at_the_ends_is_no_fault():
    almost = dd.Signal(np.append(TIMES[:-1], TIMES[-1] * (1.0 - 1e-14)), np.sin(TIMES))
    for verb in ("simulate", "simulate a transfer function", "estimate_states"):
        VERBS[verb](data(almost))


@pytest.mark.parametrize("deviation", [s, 0.2, np.linspace(0.1, 0.4, 40)], ids=["formula", "number", "by sample"])
def test_filter_criteria_and_simulation_know_the_same_accuracy(deviation):
    model = lag({"y": deviation, "z": 0.3})
    (experiment,) = match_experiments(build(model), [data(dd.Signal(TIMES, TIMES))])
    accuracies = Accuracies(model, ("s",))
    expected = np.broadcast_to(accuracies.deviation(experiment.series[0], {}, np.zeros(40)), 40)
    assert np.array_equal(accuracies.find_declared(experiment.series[0], {}, np.zeros(40)), expected)
    readings = make_readings(make_stochastic_model(model, "test", {}), experiment)
    variances = readings.compute_variances(Point(model, None, ("s",)))
    mine = readings.measuring[readings.event_outputs == 0]
    assert np.allclose(variances.value[mine], expected**2, rtol=1e-14)
    rate = accuracies.rates(experiment.series[0], {})[0]
    assert np.allclose(variances.slopes[0, mine], 2.0 * rate * expected**2, rtol=1e-12)
    assert rate == (pytest.approx(5.0) if accuracies.free else 0.0)
    clean, noisy = (
        dd.simulate(model, TIMES, inputs={"u": 0.0}, realizations=3000, rng=2, measurement_noise=on)["y"]
        for on in (False, True)
    )
    assert np.std(noisy - clean, axis=0) == pytest.approx(expected, rel=5.0 / np.sqrt(2 * 3000))


def test_correlated_samples_count_where_both_are_there():
    covariance = np.array([[0.5, 0.1], [0.1, 0.3]])
    model = lag({("y", "z"): covariance})
    missing = np.where(np.arange(40) < 10, np.nan, 1.0)
    (experiment,) = match_experiments(build(model), [data(dd.Signal(TIMES, TIMES), z=missing)])
    expected = 0.5 * (30 * np.linalg.slogdet(covariance)[1] + 10 * np.log(0.5))
    assert sum_log_determinants(model, experiment) == pytest.approx(expected, rel=1e-13)
    readings = make_readings(make_stochastic_model(model, "test", {}), experiment)
    assert readings.log_determinants == pytest.approx(expected, rel=1e-13)


def test_accuracies_for_another_number_of_samples():
    model = lag({"y": np.ones(7), "z": 0.3})
    made = match_experiments(build(model), [data(dd.Signal(TIMES, TIMES))])
    with pytest.raises(dd.DaedalError, match="'y' has 7 values for 40 samples in the data 'data'"):
        check_accuracies(model, made)
