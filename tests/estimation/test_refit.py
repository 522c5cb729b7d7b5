"""A finished fit once more: the same function, the same model, the same numbers."""

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.estimation.refit import match_fit, restore_objective

TIMES = np.arange(400) * 0.1


def shaken() -> dd.Model:
    x, z, k, c, s, w = dd.symbols("x z k c s w")
    return dd.Model(
        name="shaken",
        equations={"lag": der(x) == -k * x + w**2 + c, "second": der(z) == x - z},
        unknowns=[x, z],
        outputs={"x": x, "z": z},
        parameters={k: dd.Parameter(1.0, lower=0.1, upper=10.0, scale="log"), c: 0.0, s: 0.7},
        disturbances={w: dd.FilteredNoise.low_pass(std=s, time_constant=0.5)},
        initial={x: 0.5, z: 0.0},
        measurement_noise={"x": 0.05},
    )


@pytest.fixture(scope="module")
def data() -> dd.Dataset:
    run = dd.simulate(shaken(), TIMES, values={"k": 1.3, "c": 0.2}, realizations=1, measurement_noise=True, rng=1)
    return run.to_dataset()


CRITERIA = [
    dd.OutputError(),
    dd.OutputError(segments=2),
    dd.SimulationPEM(40),
    dd.SimulationPEM(40, whiten=True),
    dd.SimulationPEM(40, debias=False, whiten=3),
]


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
def test_the_objective_of_a_fit_is_the_one_it_was_found_with(data, criterion):
    fit = dd.fit(shaken(), data, free=["k"], fixed={"c": 0.2}, criterion=criterion, rng=2)
    value = restore_objective(match_fit(fit))(fit.point).value
    assert value == pytest.approx(fit.value, rel=1e-5 if isinstance(criterion, dd.SimulationPEM) else 1e-6)


@pytest.mark.parametrize("whiten", [False, True])
def test_a_profile_agrees_with_the_interval_where_the_cost_is_quadratic(data, whiten):
    """Errors of an ensemble's mean come from its realizations; thresholds of profiles do, too.

    The data tell so little of k that its 95 % interval spans a decade, where the cost is skew; it is quadratic nearby.
    """
    criterion = dd.SimulationPEM(40, whiten=whiten)
    fit = dd.fit(shaken(), data, free=["k"], fixed={"c": 0.2}, criterion=criterion, rng=2)
    low, high = np.log(dd.profile(fit, points=3, level=0.1).intervals["k"])
    below, above = np.log(fit.conf_int(0.1)["k"])
    assert high - low == pytest.approx(above - below, rel=0.02)
    assert 0.5 * (low + high) == pytest.approx(0.5 * (below + above), abs=0.03 * (high - low))


def test_a_profile_ends_where_the_cost_has_grown_by_the_square_of_the_interval(data):
    fit = dd.fit(shaken(), data, free=["k"], fixed={"c": 0.2}, criterion=dd.SimulationPEM(40, whiten=True), rng=2)
    followed = dd.profile(fit, points=3)
    half = 0.5 * np.diff(np.log(fit.conf_int()["k"]))[0]
    grown = restore_objective(match_fit(fit))(np.log([followed.intervals["k"][0]])).value - fit.value
    assert grown == pytest.approx(0.5 * fit.curvature[0, 0] * half**2, rel=2e-3)


def test_fixed_values_are_in_the_fitted_model(data):
    fit = dd.fit(shaken(), data, free=["k"], fixed={"c": 0.2}, criterion=dd.OutputError())
    assert fit.model.parameters["c"].value == 0.2
    assert fit.model.parameters["k"].value == fit["k"].value


def test_few_realizations_do_not_know_more_about_a_disturbance():
    """Monte-Carlo error in the slopes of the mean is no information about the size of a disturbance."""
    run = dd.simulate(shaken(), TIMES, realizations=1, measurement_noise=True, rng=5).to_dataset()
    errors = [
        dd.fit(shaken(), run, free=["s"], criterion=dd.SimulationPEM(count, whiten=True), rng=3)["s"].std_error
        for count in (20, 320)
    ]
    assert errors[0] > 0.7 * errors[1]
