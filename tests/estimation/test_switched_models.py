"""Criteria, ensembles and profiles on a slider with dry friction under an unmeasured push."""

import numpy as np
import pytest

import daedal as dd
from batteries.switching import make_model
from daedal import der

x, v, w, F, Fc, c = dd.symbols("x v w F Fc c")
TRUTH = {"Fc": 0.5, "c": 4.0}
TIMES = np.linspace(0.0, 6.0, 61)
SOLVER = dd.Lanes(method="rk4", step=0.05)
AVERAGED = dd.SimulationPEM(realizations=16)


def make_criterion(name, data):
    if name != "MeanVariance":
        return {"SimulationPEM": AVERAGED, "OutputError": dd.OutputError()}[name]
    y = data["y"]
    spread = np.full(y.size, 1e-4)
    moments = dd.MeasurementMoments.independent(mean=y, variance=spread, third_raw_moment=y**3 + 3 * y * spread)
    return dd.MeanVariance(gamma=0.9, measurements=moments)


def make_slider(start: float = 0.5, friction=None) -> dd.Model:
    friction = Fc * np.sign(v) if friction is None else friction
    return make_model(
        "slider", {"speed": der(x) == v, "motion": der(v) == F - c * x - friction + w}, {x: 1.0, v: 0.0}, inputs=[F],
        outputs={"y": x}, measurement_noise={"y": 0.01},
        parameters={Fc: dd.Parameter(start, lower=0.1, upper=1.5), c: dd.Parameter(4.0, lower=1.0, upper=9.0)},
        disturbances={w: dd.FilteredNoise(numerator=[0.3], denominator=[1.0, 2.0, 4.0], grid=0.05)},
    )  # fmt: skip


@pytest.fixture(scope="module")
def data():
    push = dd.Signal(TIMES, 1.2 * np.sin(2.5 * TIMES), intersample="foh")
    options = {"inputs": {"F": push}, "realizations": 1, "measurement_noise": True, "rng": 5, "solver": SOLVER}
    return dd.simulate(make_slider(), TIMES, **options).to_dataset()


def evaluate(name, data, **numbers):
    criterion = make_criterion(name, data)
    return dd.evaluate(make_slider(), data, free=["Fc"], criterion=criterion, values=numbers, solver=SOLVER, rng=1)


@pytest.mark.parametrize("name", ["SimulationPEM", "OutputError", "MeanVariance"])
def test_gradients_are_slopes(name, data):
    h = 1e-6
    slope = (evaluate(name, data, Fc=0.45 + h).value - evaluate(name, data, Fc=0.45 - h).value) / (2 * h)
    assert evaluate(name, data, Fc=0.45).gradient[0] == pytest.approx(slope, rel=2e-5)


def test_intervals_of_fits_and_of_a_profile_hold_the_truth():
    """Of eight records, 95 % intervals miss two or less in all but 0.6 % of cases."""
    times = np.linspace(0.0, 40.0, 401)
    push = dd.Signal(times, 1.2 * np.sin(2.5 * times) + 0.8 * np.sin(1.1 * times), intersample="foh")
    options = {"inputs": {"F": push}, "realizations": 1, "measurement_noise": True, "solver": SOLVER}
    criterion = dd.SimulationPEM(realizations=64)
    fits = []
    for seed in range(8):
        record = dd.simulate(make_slider(), times, rng=seed, **options).to_dataset()
        fits.append(dd.fit(make_slider(0.8), record, free=["Fc", "c"], criterion=criterion, solver=SOLVER, rng=1))
    for name, truth in TRUTH.items():
        assert sum(low < truth < high for low, high in (fit.conf_int()[name] for fit in fits)) >= 6
        assert all(fit[name].std_error < 0.1 * truth for fit in fits)
    low, high = dd.profile(fits[0], ["Fc"], points=3).intervals["Fc"]
    assert low < TRUTH["Fc"] < high


@pytest.mark.parametrize("name", ["OutputError", "MeanVariance"])
def test_without_its_disturbance_the_friction_is_found(name):
    """What no disturbance touched: these criteria know of none."""
    push = dd.Signal(TIMES, 1.2 * np.sin(2.5 * TIMES), intersample="foh")
    data = dd.simulate(make_slider(), TIMES, inputs={"F": push}, solver=SOLVER).to_dataset()
    criterion = make_criterion(name, data)
    fit = dd.fit(make_slider(0.8), data, free=["Fc", "c"], criterion=criterion, solver=SOLVER, rng=1)
    assert fit["Fc"].value == pytest.approx(0.5, abs=1e-6)
    assert fit["c"].value == pytest.approx(4.0, abs=1e-6)


def test_moments_of_an_ensemble():
    push = dd.Signal(TIMES, 1.2 * np.sin(2.5 * TIMES), intersample="foh")
    options = {"inputs": {"F": push}, "rng": 2, "solver": SOLVER}
    moments = dd.ensemble(make_slider(), TIMES, realizations=64, keep=64, **options)
    kept = moments.trajectories["y"]
    np.testing.assert_allclose(moments.mean["y"], kept.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(moments.variance["y"], kept.var(axis=0, ddof=1), atol=1e-12)
    others = dd.simulate(make_slider(), TIMES, realizations=256, **options)["y"]
    spread = others.std(axis=0)
    assert np.all(np.abs(kept.mean(axis=0) - others.mean(axis=0)) <= 5 * spread * np.sqrt(1 / 64 + 1 / 256))


def test_the_cost_is_smooth_in_the_friction(data):
    """31 values 2e-4 apart: what is left about a cubic is below a thousandth of the range."""
    values = 0.45 + 2e-4 * np.arange(31)
    costs = np.array([evaluate("SimulationPEM", data, Fc=number).value for number in values])
    s = np.linspace(-1.0, 1.0, 31)
    cubic = np.polyfit(s, costs, 3)
    ripple = np.sqrt(np.mean((costs - np.polyval(cubic, s)) ** 2))
    assert ripple < 1e-3 * np.ptp(costs)
    middle = evaluate("SimulationPEM", data, Fc=values[15]).gradient[0]
    assert middle == pytest.approx(cubic[2] / 3e-3, rel=1e-2)


@pytest.mark.parametrize("method", ["laplace", "particle"])
def test_the_likelihood_says_what_it_needs(method, data):
    words = rf"^Likelihood\(method='{method}'\) .*'sign\(v\)' in equation 'motion' of model 'slider' .*method='moments'"
    with pytest.raises(dd.DaedalError, match=words):
        dd.fit(make_slider(), data, free=["Fc"], criterion=dd.Likelihood(method=method))


def test_the_likelihood_of_a_switched_model_is_that_of_moments(data):
    auto, moments = (
        dd.evaluate(make_slider(), data, free=["Fc"], criterion=dd.Likelihood(method=method, realizations=200), rng=1)
        for method in ("auto", "moments")
    )
    assert auto.value == moments.value
