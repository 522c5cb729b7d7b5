"""MeanVariance: the table of the reactor, gradients, what it reports, and what it refuses."""

import numpy as np
import pytest
from test_measurement_moments import mixing, sources

import daedal as dd
from daedal import delay, der
from daedal.errors import DaedalError
from daedal.estimation.arguments import Arguments, prepare_objective
from daedal.papers.reactor.experiment import make_reactor

TIMES = 0.5 * np.arange(1, 21)
x, tau, a, b = dd.symbols("x tau a b")
NOMINAL = {"tau": 2.0, "z1": -2.0, "z2": -2.5}
FREE = ["tau", "z1", "z2"]
REACTOR = make_reactor()
# gamma → estimates, mean and variance of the error (found by another program)
TABLE = {
    1.0: ((1.76561, -1.73471, -2.29216), 52.280, 410.13),
    0.99: ((1.75344, -1.69881, -2.24571), 52.328, 399.57),
    0.9: ((1.71699, -1.56972, -2.08570), 53.136, 378.50),
    0.0: ((1.69920, -1.47907, -1.97504), 54.268, 374.53),
}


@pytest.fixture(scope="module")
def mean():
    nominal = dd.simulate(REACTOR, TIMES, t0=0.0, values=NOMINAL)["y"]
    return nominal + 0.5 * np.random.default_rng(0).standard_normal(20)


@pytest.fixture(scope="module")
def moments(mean):
    return dd.MeasurementMoments.mixture(mixing(20), **sources(mean))


@pytest.fixture(scope="module")
def data(mean):
    return dd.Dataset(TIMES, outputs={"y": mean}, t0=0.0)


@pytest.fixture(scope="module")
def fits(data, moments):
    made, start = {}, None
    for gamma in TABLE:
        criterion = dd.MeanVariance(gamma=gamma, measurements=moments, gradient="forward")
        made[gamma] = dd.fit(REACTOR, data, free=FREE, criterion=criterion, starts=start, solver=dd.Lanes(step=0.02))
        start = [made[gamma].params]
    return made


def predictions(fit):
    return dd.simulate(REACTOR, TIMES, t0=0.0, values=dict(fit.params))["y"]


@pytest.mark.parametrize("gamma", TABLE)
def test_the_table_of_the_reactor(fits, moments, gamma):
    estimates, expected, spread = TABLE[gamma]
    np.testing.assert_allclose([fits[gamma][name].value for name in FREE], estimates, atol=1.2e-5)
    expectation, variance = moments.error(predictions(fits[gamma]))
    assert expectation == pytest.approx(expected, abs=6e-4)
    assert variance == pytest.approx(spread, abs=6e-3)
    assert fits[gamma].status.ok


def test_differences_of_the_variance_do_not_need_fourth_moments(fits, mean):
    given = sources(mean)
    del given["fourth_raw_moment"]
    unknown = dd.MeasurementMoments.mixture(mixing(20), **given)
    found = {gamma: unknown.error(predictions(fit))[1] for gamma, fit in fits.items()}
    for gamma, (_, _, spread) in TABLE.items():
        assert found[1.0] - found[gamma] == pytest.approx(410.13 - spread, rel=1e-3, abs=1e-9)
    assert found[1.0] - found[0.0] == pytest.approx(410.13 - 374.53, rel=3e-4)


def test_gamma_one_is_least_squares(fits, data):
    model = dd.fit(REACTOR, data, free=FREE, criterion=dd.OutputError(), starts=[fits[1.0].params])
    np.testing.assert_allclose([model[n].value for n in FREE], [fits[1.0][n].value for n in FREE], atol=2e-5)


def test_mean_and_variance_of_the_error_are_reported_with_the_bias(fits):
    text = str(fits[0.9])
    assert "mean of the squared error 53.136" in text
    assert "variance 378.5" in text
    assert "skewed noise moves the estimates: tau by about -0.097" in text
    assert "moves the estimates" not in str(fits[1.0])
    shift = fits[0.9]["z1"].value - fits[1.0]["z1"].value
    assert 0.15 < shift < 0.18  # said: +0.16


@pytest.mark.parametrize(
    ("gamma", "gradient"), [(1.0, "forward"), (0.7, "forward"), (0.0, "forward"), (0.7, "adjoint")]
)
def test_gradient_and_curvature_agree_with_differences(data, moments, gamma, gradient):
    criterion = dd.MeanVariance(gamma=gamma, measurements=moments, gradient=gradient)
    asked = Arguments(REACTOR, data, FREE, (), None, criterion, dd.Lanes(step=0.0033))
    objective, _, _ = prepare_objective("test", asked, 0)
    point = np.array(list(NOMINAL.values()))
    found = objective(point)
    for k, step in enumerate(1e-4 * np.eye(3)):
        if k == 0:  # samples fall on multiples of the delay: the second derivative jumps
            at = [objective(point + n * step).value for n in range(5)]
            slope = (-25 * at[0] + 48 * at[1] - 36 * at[2] + 16 * at[3] - 3 * at[4]) / 12e-4
        else:
            at = [objective(point + n * step).value for n in (-2, -1, 1, 2)]
            slope = (8 * (at[2] - at[1]) - (at[3] - at[0])) / 12e-4
        assert found.gradient[k] == pytest.approx(slope, rel=2e-6, abs=2e-4)  # of values up to 1e4
    np.testing.assert_allclose(found.curvature, found.curvature.T, rtol=1e-10)
    assert np.linalg.eigvalsh(found.curvature).min() > 0


def test_standard_errors_are_those_of_the_noise():
    """A line through samples with a known covariance: least squares, its covariance the sandwich."""
    model = dd.Model(
        name="line", equations={"rate": der(x) == a}, unknowns=[x], outputs={"y": x},
        parameters={a: 1.0, b: 0.5}, initial={x: b},
    )  # fmt: skip
    times = np.linspace(0.0, 4.0, 9)
    variance = np.linspace(0.01, 0.2, 9)
    y = 0.4 + 0.9 * times + np.sqrt(variance) * np.random.default_rng(1).standard_normal(9)
    moments = dd.MeasurementMoments.independent(mean=y, variance=variance, third_raw_moment=y**3 + 3 * y * variance)
    fit = dd.fit(model, dd.Dataset(times, outputs={"y": y}), free=["a", "b"], criterion=dd.MeanVariance(1.0, moments))
    design = np.stack([times, np.ones(9)], axis=1)
    pseudo = np.linalg.pinv(design)
    np.testing.assert_allclose([fit["a"].value, fit["b"].value], pseudo @ y, rtol=1e-6)
    np.testing.assert_allclose(fit.cov, pseudo @ np.diag(variance) @ pseudo.T, rtol=1e-5)


def test_symmetric_noise_is_not_said_to_bias():
    times, variance = TIMES, np.full(20, 0.25)
    y = dd.simulate(REACTOR, times, t0=0.0, values=NOMINAL)["y"]
    normal = dd.MeasurementMoments.independent(mean=y, variance=variance, third_raw_moment=y**3 + 3 * y * variance)
    data = dd.Dataset(times, outputs={"y": y}, t0=0.0)
    fit = dd.fit(REACTOR, data, free=["z1"], fixed={"tau": 2.0, "z2": -2.5}, criterion=dd.MeanVariance(0.8, normal))
    assert fit["z1"].value == pytest.approx(-2.0, abs=1e-5)  # the mean is the truth, and weights do not matter
    assert "moves the estimates" not in str(fit)


def test_samples_are_taken_time_by_time_whatever_the_order_of_outputs():
    model = dd.Model(
        name="two", equations={"rate": der(x) == -a * x}, unknowns=[x], outputs={"p": x, "q": b * x},
        parameters={a: 1.0, b: 2.0}, initial={x: 1.0},
    )  # fmt: skip
    times = np.array([0.5, 1.0, 1.5])
    p, q = np.exp(-0.8 * times), 1.9 * np.exp(-0.8 * times)
    y = np.stack([p, q], axis=1).ravel()
    spread = np.array([1e-4, 1e-2] * 3)
    moments = dd.MeasurementMoments.independent(mean=y, variance=spread, third_raw_moment=y**3 + 3 * y * spread)
    data = dd.Dataset(times, outputs={"p": p, "q": q}, t0=0.0)
    fit = dd.fit(model, data, free=["a", "b"], criterion=dd.MeanVariance(1.0, moments))
    np.testing.assert_allclose([fit["a"].value, fit["b"].value], [0.8, 1.9], rtol=1e-6)


def fitted(model=REACTOR, free=FREE, **changes):
    def call(data, moments):
        options = {"criterion": dd.MeanVariance(0.9, moments), "data": data} | changes
        return dd.fit(model, options.pop("data"), free=free, **options)

    return call


def with_moments(count=20, shift=0.0):
    def call(data, _):
        mean = data["y"][:count] + shift
        moments = dd.MeasurementMoments.mixture(mixing(count), **sources(mean))
        return dd.fit(REACTOR, data, free=FREE, criterion=dd.MeanVariance(0.9, moments))

    return call


SUM = dd.Model(
    name="sum", equations={"rate": der(x) == -delay(x, a + b)}, unknowns=[x], outputs={"y": x},
    parameters={a: dd.Parameter(1.0, lower=-2.0, upper=3.0), b: dd.Parameter(0.5, lower=0.1, upper=1.0)},
    history={x: 1.0},
)  # fmt: skip
REFUSED = {
    "gamma above one": (lambda _, m: dd.MeanVariance(1.5, m), ("gamma", "between 0 and 1", "1.5")),
    "gamma below zero": (lambda _, m: dd.MeanVariance(-0.1, m), ("gamma", "-0.1")),
    "gamma not a number": (lambda _, m: dd.MeanVariance("half", m), ("gamma", "'half'")),
    "gamma NaN": (lambda _, m: dd.MeanVariance(np.nan, m), ("gamma", "nan")),
    "moments as an array": (lambda d, _: dd.MeanVariance(0.9, d["y"]), ("MeasurementMoments", "ndarray")),
    "unknown gradient": (lambda _, m: dd.MeanVariance(0.9, m, gradient="complex"), ("'forward'", "'complex'")),
    "too few moments": (with_moments(19), ("19 samples", "20")),
    "mean is not the data": (with_moments(shift=0.1), ("Sample 0", "mean", "Dataset(times")),
    "delay may become negative": (
        fitted(free={"tau": dd.Parameter(1.5, lower=-1.0, upper=4.0)}),
        ("'tau'", "delay(x1, tau)", "lower bound -1", "lower=0.15"),
    ),
    "delay may become zero": (fitted(free={"tau": dd.Parameter(1.5, lower=0.0)}), ("'tau'", "lower bound 0")),
    "delay without a bound": (fitted(free={"tau": dd.Parameter(1.5)}), ("'tau'", "no lower bound")),
    "sum of parameters may become negative": (
        fitted(SUM, ["a", "b"], criterion=dd.OutputError()),
        ("a + b", "must be positive", "a = -2", "Narrow"),
    ),
    "two experiments": (
        lambda d, m: dd.fit(REACTOR, [d, d], free=FREE, criterion=dd.MeanVariance(0.9, m)),
        ("one experiment", "2 Datasets"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_answered_with_a_sentence_and_a_remedy(name, data, moments):
    call, words = REFUSED[name]
    with pytest.raises(DaedalError) as refused:
        call(data, moments)
    assert all(word in str(refused.value) for word in words), str(refused.value)
    assert refused.value.remedy


def test_a_missing_sample_is_refused(data, moments, mean):
    gap = dd.Dataset(TIMES, outputs={"y": np.where(np.arange(20) == 3, np.nan, mean)}, t0=0.0)
    with pytest.raises(DaedalError, match="missing"):
        dd.fit(REACTOR, gap, free=FREE, criterion=dd.MeanVariance(0.9, moments))


def test_a_delay_on_a_log_scale_needs_no_bound(data):
    fit = dd.fit(
        REACTOR, data, free={"tau": dd.Parameter(1.7, scale="log")}, fixed={"z1": -1.735, "z2": -2.292},
        criterion=dd.OutputError(),
    )  # fmt: skip
    assert fit["tau"].value == pytest.approx(1.7656, abs=2e-3)


def test_a_delay_beyond_the_data_is_noted():
    model = dd.Model(
        name="history", equations={"rate": der(x) == -delay(x, tau)}, unknowns=[x], outputs={"y": x},
        parameters={tau: dd.Parameter(4.0, lower=0.5, upper=9.0)}, history={x: 1.0 - 0.1 * dd.time},
    )  # fmt: skip
    times = np.linspace(0.2, 2.0, 10)
    y = dd.simulate(model, times, t0=0.0, values={"tau": 5.0})["y"]
    fit = dd.fit(model, dd.Dataset(times, outputs={"y": y}, t0=0.0), free=["tau"], criterion=dd.OutputError())
    assert fit["tau"].value == pytest.approx(5.0, abs=1e-5)
    assert "'delay(x, tau)' is 5, longer than the data, which cover 2" in str(fit)


def test_errors_of_a_mean_are_those_of_so_many_experiments():
    """x' = −k x from 1, 40 sets of 25 repetitions: the scatter of the estimates is what each fit says."""
    x, k = dd.symbols("x k")
    decay = dd.Model(
        name="decay", equations={"rate": dd.der(x) == -k * x}, unknowns=[x], outputs={"x": x}, parameters={k: 1.0},
        initial={x: 1.0},
    )  # fmt: skip
    times, found, errors = np.linspace(0.1, 2.0, 12), [], []
    for seed in range(40):
        many = np.exp(-times) + 0.1 * np.random.default_rng(seed).standard_normal((25, times.size))
        data = dd.Dataset(times, outputs={"x": many.mean(axis=0)}, t0=0.0)
        law = dd.MeasurementMoments.from_samples(many)
        assert law.repetitions == 25
        one = dd.fit(decay, data, free=["k"], criterion=dd.MeanVariance(gamma=1.0, measurements=law))
        found.append(one["k"].value)
        errors.append(one["k"].std_error)
    assert np.std(found) == pytest.approx(np.mean(errors), rel=0.35)
