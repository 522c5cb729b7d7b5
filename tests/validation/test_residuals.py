"""Tests of residuals against direct formulas, their p-values against the uniform distribution, and their words."""

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import chi2, kstest

import daedal as dd
from daedal import der
from daedal.errors import EstimationError
from daedal.validation.correlation import independence, whiteness

x, u, w, k = dd.symbols("x u w k")


def coloured(random, count, pole):
    return lfilter([1.0], [1.0, -pole], random.standard_normal(count + 200))[200:]


def test_ljung_and_box_by_their_formula():
    e = coloured(np.random.default_rng(1), 120, 0.2)
    n, m = e.size, 8
    r = [np.sum(e[lag:] * e[:-lag]) / np.sum(e**2) for lag in range(1, m + 1)]
    q = n * (n + 2) * sum(value**2 / (n - lag) for lag, value in enumerate(r, start=1))
    found = whiteness([e], m)
    np.testing.assert_allclose(found.correlation, r)
    assert found.statistic == pytest.approx(q)
    assert (found.degrees_of_freedom, found.p_value) == (m, pytest.approx(chi2.sf(q, m)))
    assert whiteness([e], m, fitted=3).p_value == pytest.approx(chi2.sf(q, m - 3))


def test_gaps_and_experiments_by_counting_pairs():
    random = np.random.default_rng(2)
    series = [random.standard_normal(40), random.standard_normal(25)]
    series[0][[3, 17, 18]] = np.nan
    found = whiteness(series, 5)
    power = sum(value**2 for e in series for value in e if np.isfinite(value))
    count = sum(np.isfinite(e).sum() for e in series)
    q = 0.0
    for lag in range(1, 6):
        products = [e[i] * e[i + lag] for e in series for i in range(e.size - lag) if np.isfinite(e[i] * e[i + lag])]
        assert found.correlation[lag - 1] == pytest.approx(sum(products) / power)
        q += count * (count + 2) * (sum(products) / power) ** 2 / len(products)
    assert found.statistic == pytest.approx(q)


def test_independence_by_the_formula_of_the_book():
    """For white residuals P_ij = R_e(0) R_u(i − j)/N; ends of the record apart, which a long record does not feel."""
    random = np.random.default_rng(3)
    count, m = 20_000, 4
    e, signal = random.standard_normal(count), coloured(random, count, 0.7) + 3.0
    v = signal - signal.mean()
    r = np.array([np.sum(e[i:] * v[: count - i]) for i in range(m + 1)]) / count
    R = np.array([np.sum(v[i:] * v[: count - i]) for i in range(m + 1)]) / count
    P = np.mean(e**2) * R[np.abs(np.subtract.outer(np.arange(m + 1), np.arange(m + 1)))] / count
    found = independence([e], [signal], m)
    assert found.statistic == pytest.approx(r @ np.linalg.solve(P, r), rel=1e-2)
    assert found.degrees_of_freedom == m + 1
    np.testing.assert_allclose(found.band, 1.96 / np.sqrt(count), rtol=2e-2)


@pytest.mark.parametrize("pole", [0.0, 0.8])
def test_p_values_of_residuals_that_depend_on_nothing_are_uniform(pole):
    random = np.random.default_rng(4)
    values = []
    for _ in range(300):
        e = coloured(random, 400, pole)
        e[random.integers(400, size=8)] = np.nan
        values.append(independence([e[:250], e[250:]], np.split(coloured(random, 400, 0.9), [250]), 10).p_value)
    assert kstest(values, "uniform").pvalue > 1e-3
    assert 0.02 < np.mean(np.array(values) < 0.05) < 0.09


def test_a_short_record_raises_few_false_alarms():
    random = np.random.default_rng(7)
    tests = [independence([random.standard_normal(60)], [coloured(random, 60, 0.9)], 10) for _ in range(300)]
    assert np.mean([test.p_value < 0.05 for test in tests]) < 0.09


def test_p_values_of_white_residuals_are_uniform():
    random = np.random.default_rng(5)
    values = [whiteness([random.standard_normal(300)], 20).p_value for _ in range(400)]
    assert kstest(values, "uniform").pvalue > 1e-3


def test_an_input_that_excites_little_has_few_degrees_of_freedom():
    random, times = np.random.default_rng(6), np.arange(500)
    wave = independence([random.standard_normal(500)], [np.sin(0.1 * np.pi * times)], 10)
    assert wave.degrees_of_freedom == 2  # amplitude and phase
    still = independence([random.standard_normal(500)], [np.ones(500)], 10)
    assert (still.degrees_of_freedom, still.passed) == (0, True)
    assert np.isnan(still.p_value)
    zero = whiteness([np.zeros(50)], 5)
    assert np.isnan(zero.p_value)


TIMES = np.arange(400) * 0.1


def lag(**options):
    return dd.Model(
        name="lag",
        equations={"lag": der(x) == -k * x + u},
        unknowns=[x],
        inputs=[u],
        outputs={"x": x},
        parameters={k: 1.0},
        initial={x: 0.0},
        **options,
    )


def experiment(seed, extra=0.0, noise_pole=0.0, name="data"):
    """The lag with k = 1.5, measured with noise; `extra` adds a path from an input that the model does not have."""
    random = np.random.default_rng(seed)
    drive, other = (np.repeat(random.choice([-1.0, 1.0], 40), 10) for _ in range(2))
    inputs = {"u": dd.Signal(TIMES, drive), "v": dd.Signal(TIMES, other)}
    exact = dd.simulate(lag().with_parameters({k: 1.5}), TIMES, inputs={u: inputs["u"]})["x"]
    noise = 0.05 * coloured(random, TIMES.size, noise_pole)
    y = exact + noise + extra * lfilter([0.1], [1.0, -0.9], other)
    return dd.Dataset(TIMES, inputs=inputs, outputs={"x": y}, name=name)


@pytest.fixture(scope="module")
def right():
    return dd.fit(lag(), experiment(1), free=["k"])


def test_a_right_model_leaves_a_white_residual(right):
    found = dd.resid(right)
    assert found["x"].white
    assert found["x"].independent
    assert list(found["x"].inputs) == ["u", "v"]
    data = right.data[0]
    exact = dd.simulate(right.model, TIMES, inputs={u: data.inputs["u"]})["x"]
    np.testing.assert_allclose(found["x"].values["data"], data["x"] - exact, atol=1e-6)
    assert found["x"].rmse == pytest.approx(0.05, rel=0.1)
    assert "x: the residual is white; independent of 'u' and 'v'" in str(found)


def test_an_input_that_the_model_lacks_is_found():
    fit = dd.fit(lag(), experiment(2, extra=0.1), free=["k"])
    for found in (dd.resid(fit), dd.resid(fit, experiment(3, extra=0.1, name="other"))):
        assert found["x"].inputs["v"].p_value < 1e-6
        assert found["x"].inputs["u"].passed
        assert not found["x"].independent
        assert "depends on 'v', so the model misses part of what that does" in str(found)


def test_an_autocorrelated_residual_of_output_error():
    found = dd.resid(dd.fit(lag(), experiment(4, noise_pole=0.9), free=["k"]))
    assert not found["x"].white
    assert found["x"].independent
    assert "the residual is autocorrelated: disturbances or dynamics that the model lacks" in found["x"].sentence
    assert "< 0.0001" in str(found)


@pytest.fixture(scope="module")
def noisy():
    equations = {"lag": der(x) == -k * x + u + w**2}
    noise = dd.FilteredNoise.low_pass(std=0.6, time_constant=1.0)
    return dd.Model(
        name="noisy", equations=equations, unknowns=[x], inputs=[u], outputs={"x": x}, parameters={k: 1.0},
        disturbances={w: noise}, initial={x: 0.0},
    )  # fmt: skip


def test_disturbances_stay_in_the_residual_unless_it_is_whitened(noisy):
    signal = dd.Signal(TIMES, np.sin(TIMES))
    data = dd.simulate(noisy, TIMES, inputs={u: signal}, realizations=1, rng=1).to_dataset()
    plain, sharp = (
        dd.fit(noisy, data, free=["k"], criterion=dd.SimulationPEM(realizations=32, whiten=whiten), rng=2)
        for whiten in (False, True)
    )
    found = dd.resid(plain)
    assert not found["x"].white
    assert "as what the disturbances do beyond their mean stays in it" in found["x"].sentence
    assert "whiten=True would use it" in found["x"].sentence
    found = dd.resid(sharp)
    order = sharp.filters["x"].order
    assert found["x"].whiteness.degrees_of_freedom == found["x"].whiteness.lags.size - order
    raw, filtered = found["x"].values["noisy"], found["x"].tested["noisy"]
    expected = (
        lfilter(sharp.filters["x"].polynomial, [1.0], raw)[order:]
        / sharp.scales["x"]
        / np.sqrt(sharp.filters["x"].variance)
    )
    np.testing.assert_allclose(filtered[order:], expected, rtol=1e-9)
    assert "the whitened residual" in found["x"].sentence
    other = dd.simulate(noisy, TIMES, inputs={u: signal}, realizations=1, rng=3).to_dataset()
    held_out = dd.resid(sharp, other)["x"].whiteness
    assert held_out.degrees_of_freedom == held_out.lags.size


def test_irregular_and_few_samples_are_said():
    times = np.cumsum(np.random.default_rng(1).uniform(0.05, 0.2, 20))
    data = experiment(5)
    y = np.interp(times, TIMES, data["x"])
    fit = dd.fit(lag(), dd.Dataset(times, inputs=data.inputs, outputs={"x": y}), free=["k"])
    text = str(dd.resid(fit))
    assert "the samples of 'x' are irregular: lags count samples, not time" in text
    assert "fewer than 30 samples: p-values are rough" in text
    few = dd.Dataset(times[:2], inputs=data.inputs, outputs={"x": y[:2]})
    with pytest.raises(EstimationError, match="The residual of 'x' has 2 scored samples, too few for a test"):
        dd.resid(fit, few)


def test_arguments_without_residuals(right):
    data = right.data[0]
    with pytest.raises(EstimationError, match=r"resid takes a Fit, got the model 'lag'. Estimate first"):
        dd.resid(lag())
    with pytest.raises(EstimationError, match=r"resid takes the fit first and the data second. Exchange"):
        dd.resid(data, right)
    with pytest.raises(EstimationError, match="resid takes a Fit first, got data"):
        dd.resid(data)
    with pytest.raises(EstimationError, match="takes a Dataset, or a list of them, got int"):
        dd.resid(right, 3)
    with pytest.raises(EstimationError, match=r"no output 'X'. Did you mean 'x'"):
        dd.resid(right)["X"]
