"""Tests of residuals against direct formulas, their p-values against the uniform distribution, and their words."""

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import chi2, kstest, norm

import daedal as dd
from daedal import der
from daedal.errors import EstimationError
from daedal.estimation.search.correlation import Spent, independence, whiteness

x, u, w, k = dd.symbols("x u w k")


def coloured(random, count, pole):
    return lfilter([1.0], [1.0, -pole], random.standard_normal(count + 200))[200:]


def sidak(count):
    """The edge, in standard deviations, that the largest of so many independent normals exceeds in 5 % of all cases."""
    return norm.isf(0.5 * (1.0 - 0.95 ** (1.0 / count)))


def test_autocorrelation_and_its_band_by_their_formulas():
    e = coloured(np.random.default_rng(1), 120, 0.2)
    n, m = e.size, 8
    r = np.array([np.sum(e[lag:] * e[:-lag]) / np.sum(e**2) for lag in range(1, m + 1)])
    deviations = np.sqrt((n - np.arange(1, m + 1)) / (n * (n + 2)))  # Ljung and Box
    found = whiteness([e], m)
    np.testing.assert_allclose(found.correlation, r)
    np.testing.assert_allclose(found.band, sidak(m) * deviations, rtol=2e-2)
    z = np.max(np.abs(r) / deviations)
    assert found.statistic == pytest.approx(z)
    assert (found.degrees_of_freedom, found.p_value) == (m, pytest.approx(1 - (1 - 2 * norm.sf(z)) ** m, rel=0.1))


def test_gaps_and_experiments_by_counting_pairs():
    random = np.random.default_rng(2)
    series = [random.standard_normal(40), random.standard_normal(25)]
    series[0][[3, 17, 18]] = np.nan
    found = whiteness(series, 5)
    power = sum(value**2 for e in series for value in e if np.isfinite(value))
    count = sum(np.isfinite(e).sum() for e in series)
    z = []
    for lag in range(1, 6):
        products = [e[i] * e[i + lag] for e in series for i in range(e.size - lag) if np.isfinite(e[i] * e[i + lag])]
        assert found.correlation[lag - 1] == pytest.approx(sum(products) / power)
        z.append(abs(sum(products) / power) / np.sqrt(len(products) / (count * (count + 2))))
    assert found.statistic == pytest.approx(max(z))


def test_correlation_with_an_input_by_its_formula():
    """For white residuals: the correlations themselves, of variance 1/N; those of a white input are independent."""
    random = np.random.default_rng(3)
    count, m = 20_000, 4
    e, signal = random.standard_normal(count), random.standard_normal(count) + 3.0
    v = signal - signal.mean()
    lagged = [np.sum(e[max(k, 0) : count + min(k, 0)] * v[max(-k, 0) : count - max(k, 0)]) for k in range(-m, m + 1)]
    found = independence([e], [signal], m)
    np.testing.assert_array_equal(found.lags, np.arange(-m, m + 1))
    np.testing.assert_allclose(found.correlation, lagged / np.sqrt(np.sum(e**2) * np.sum(v**2)), atol=1e-4)
    np.testing.assert_allclose(found.band, sidak(2 * m + 1) / np.sqrt(count), rtol=2e-2)


def draw_input(random, kind, count):
    if kind == "binary":
        return np.repeat(random.choice([-1.0, 1.0], count // 10), 10)
    return coloured(random, count, 0.95) if kind == "coloured" else np.sin(2 * np.pi * np.arange(count) / 30)


@pytest.mark.parametrize("kind", ["binary", "coloured", "sinusoidal"])
@pytest.mark.parametrize("pole", [0.0, 0.99])
def test_false_alarms_are_five_per_cent_and_verdicts_agree_with_bands(kind, pole):
    """60 data sets each; at most 5 % + 4 standard deviations of a share. `benchmarks/residuals.py` draws thousands."""
    random, alarms = np.random.default_rng(4), 0
    for _ in range(60):
        e = coloured(random, 300, pole)
        e[random.integers(300, size=5)] = np.nan
        found = independence([e[:180], e[180:]], np.split(draw_input(random, kind, 300), [180]), 10)
        inside = bool(np.all(np.abs(found.correlation) <= found.band))
        assert found.passed == inside == (found.p_value >= 0.05)
        alarms += not inside
    assert alarms / 60 < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 60)


@pytest.mark.parametrize("kind", ["binary", "coloured", "sinusoidal"])
@pytest.mark.parametrize("delay", [3, -3])
def test_a_dependence_is_found_at_both_signs_of_lag(kind, delay):
    """A share of 20 % of the power of coloured noise: power at least 95 % with 600 samples."""
    random, rejected = np.random.default_rng(5), 0
    for _ in range(20):
        signal, noise = draw_input(random, kind, 600), coloured(random, 600, 0.8)
        e = noise + 0.5 * noise.std() * np.roll(signal, delay) / signal.std()
        found = independence([e], [signal], 10)
        rejected += not found.passed
        if kind == "binary" and not found.passed:
            assert np.sign(delay) in np.sign(found.outside)
    assert rejected >= 19


def test_a_sine_left_in_the_residual_does_not_hide_in_its_filter():
    times = np.arange(500)
    e = np.random.default_rng(6).standard_normal(500) + 3.0 * np.sin(0.2 * times + 1.0)
    assert independence([e], [np.sin(0.2 * times)], 10).p_value < 1e-6


def test_what_an_estimate_took_out_is_allowed_for():
    """Least squares on the input itself: what is left cannot be correlated at those lags, so bands shrink there."""
    random = np.random.default_rng(7)
    alarms = []
    for _ in range(100):
        signal = random.standard_normal(203)
        rows = np.array([signal[k : k + 200] for k in (3, 2, 1, 0)])  # u_t … u_{t−3}
        noise = random.standard_normal(200)
        e = noise - rows.T @ np.linalg.lstsq(rows.T, noise, rcond=None)[0]
        spent = Spent([rows], rows @ rows.T)
        told = independence([e], [signal[3:]], 3, spent)
        alarms.append(not told.passed)
        assert told.band[3] < 0.5 * told.band[0]
    assert np.mean(alarms) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 100)


def test_autocorrelations_left_by_an_autoregression_have_the_variances_of_box_and_pierce():
    """After an AR(1) with pole a they are 1 − (1 − a²) a^(2k − 2), in units of 1/n."""
    random, a, n = np.random.default_rng(8), 0.7, 20_000
    y = coloured(random, n, a)
    e = y[1:] - y[1:] @ y[:-1] / (y[:-1] @ y[:-1]) * y[:-1]
    found, plain = whiteness([e], 4, Spent([y[None, :-1]], np.array([[y[:-1] @ y[:-1]]]))), whiteness([e], 4)
    assert plain.band[0] == pytest.approx(plain.band[3], rel=1e-3)
    expected = np.sqrt(1.0 - (1.0 - a**2) * a ** (2.0 * np.arange(4)))
    np.testing.assert_allclose(found.band / found.band[3] * expected[3], expected, atol=0.03)


@pytest.mark.parametrize("shared", [False, True])
def test_starts_that_were_estimated_in_many_short_experiments_are_no_autocorrelation(shared):
    """Residuals of e^(−t) δ with a δ for each of 60 experiments, or one for all: that gives lags a mean."""
    random = np.random.default_rng(10)
    U = np.exp(-0.2 * np.arange(10.0))[None]
    U /= np.linalg.norm(U)
    tests, raw = [], []
    for _ in range(300):
        runs = list(random.standard_normal((60, 10)))
        if shared:
            spent = Spent([U] * 60, np.array([[60.0]]))
            runs = spent.remove(runs)
        else:
            runs = [e - U[0] * (U[0] @ e) for e in runs]
            spent = Spent([np.zeros((0, 10))] * 60, np.zeros((0, 0)), [U] * 60)
        tests.append(whiteness(runs, 9, spent))
        raw.append(whiteness(runs, 9))
    assert np.mean([not test.passed for test in tests]) == pytest.approx(0.05, abs=0.04)
    assert kstest([test.p_value for test in tests], "uniform").pvalue > 1e-3
    means = np.mean([test.correlation for test in tests], axis=0)
    scatter = np.std([test.correlation for test in tests], axis=0) / np.sqrt(300)
    assert np.all(np.abs(means) < 4.0 * scatter)
    if not shared:
        assert np.mean([not test.passed for test in raw]) > 0.3


def test_false_alarms_of_whiteness():
    random = np.random.default_rng(5)
    tests = [whiteness([random.standard_normal(300)], 20) for _ in range(400)]
    assert kstest([test.p_value for test in tests], "uniform").pvalue > 1e-3
    assert np.mean([not test.passed for test in tests]) == pytest.approx(0.05, abs=0.04)


def test_an_input_that_excites_little_has_few_degrees_of_freedom():
    random, times = np.random.default_rng(6), np.arange(500)
    still = independence([random.standard_normal(500)], [np.ones(500)], 10)
    assert (still.degrees_of_freedom, still.passed) == (0, True)
    assert np.isnan(still.p_value)
    zero = whiteness([np.zeros(50)], 5)
    assert np.isnan(zero.p_value)
    wave = np.sin(0.1 * np.pi * times) * ((times > 50) & (times < 450))  # the ends of the record excite nothing
    found = independence([random.standard_normal(500)], [wave], 10)
    # Amplitude and phase: the largest of all lags is about the root of χ² with two degrees of freedom.
    assert found.band[10] * np.sqrt(500) == pytest.approx(np.sqrt(chi2.isf(0.05, 2)), rel=0.08)
    assert found.band[10] * np.sqrt(500) < 0.9 * sidak(21)


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


def test_whitening_is_not_advised_where_samples_are_irregular(noisy):
    times = np.cumsum(np.random.default_rng(3).uniform(0.05, 0.35, 300))
    signal = dd.Signal(times, np.sin(times))
    data = dd.simulate(noisy, times, inputs={u: signal}, realizations=1, rng=1).to_dataset()
    told = dd.resid(dd.fit(noisy, data, free=["k"], criterion=dd.SimulationPEM(realizations=32), rng=2))["x"]
    assert not told.white
    assert "Likelihood, which needs no regular samples, may use it" in told.sentence


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
    held = found["x"].whiteness
    assert held.band[0] < 0.9 * held.band[-1]  # the filter has used up what the first lags tell
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
    used, allowed = held.band[0] / held.band[-1], held_out.band[0] / held_out.band[-1]
    assert used < allowed < 1.0  # errors of a filter from as many other samples are allowed for, half of it is known


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


def follow_gain(random, count, gain=1.0, name="one"):
    """y = gain u + 0.5 and white noise, from a binary input."""
    times, held = np.arange(count) * 0.2, draw_input(random, "binary", count)
    y = gain * held + 0.5 + 0.3 * random.standard_normal(count)
    return dd.Dataset(times, inputs={"u": dd.Signal(times, held, "zoh")}, outputs={"y": y}, name=name)


def make_gain():
    y, a, c = dd.symbols("y a c")
    return dd.Model(
        name="gain", equations={"static": y == a * u + c}, unknowns=[y], inputs=[u], outputs={"y": y},
        parameters={a: 1.0, c: 0.5},
    )  # fmt: skip


def test_errors_of_estimates_from_few_samples_are_no_dependence_in_many_others():
    """40 sets; at most 5 % + 4 standard deviations of a share. Errors of estimates alone would reject seven in ten."""
    random, found = np.random.default_rng(8), []
    for _ in range(40):
        few = dd.fit(make_gain(), follow_gain(random, 30), free=["a", "c"])
        found.append(dd.resid(few, follow_gain(random, 1000, name="two"))["y"])
    limit = 40 * 0.05 + 4.0 * np.sqrt(40 * 0.05 * 0.95)
    assert sum(not one.independent for one in found) <= limit
    assert sum(not one.white for one in found) <= limit


def test_what_errors_of_estimates_do_not_explain_is_found_in_other_data():
    """A gain that has changed by a fifth, where the fit knows it to one or two per cent."""
    random = np.random.default_rng(9)
    fitted = dd.fit(make_gain(), follow_gain(random, 500), free=["a", "c"])
    left = dd.resid(fitted, follow_gain(random, 500, gain=1.2, name="two"))["y"]
    assert not left.independent
    (tested,), (values,) = left.tested.values(), left.values.values()
    scale = fitted.scales["y"]
    assert np.abs(tested * scale - values).max() < 0.1 * np.abs(values).max()
