"""Losses for outliers: scipy's least squares with the same loss, the scatter of many estimates, what is refused."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import least_squares
from scipy.stats import norm

import daedal as dd
from daedal.errors import EstimationError
from daedal.estimation.criteria.losses import LOSSES
from sizes import bound_hits, bound_scatter, choose

ROBUST = ("huber", "soft_l1", "cauchy")
TIMES = np.linspace(0.0, 6.0, 80)
NOISE = 0.05
x, k, b, s = dd.symbols("x k b s")


def decay(**declared) -> dd.Model:
    equations = {"decay": dd.der(x) == -k * x}
    parameters = {k: 1.4, b: 1.0, s: dd.Parameter(0.1, scale="log")}
    return dd.Model(
        name="decay",
        equations=equations,
        unknowns=[x],
        outputs={"y": x},
        parameters=parameters,
        initial={x: b},
        **declared,
    )


def curve(theta: np.ndarray) -> np.ndarray:
    return theta[1] * np.exp(-theta[0] * TIMES)


def measured(seed: int, size: float = 10.0) -> np.ndarray:
    """A tenth of the samples is far off, up or down."""
    random = np.random.default_rng(seed)
    far = (random.random(TIMES.size) < 0.1) * np.sign(random.standard_normal(TIMES.size))
    return curve(np.array([1.0, 2.0])) + NOISE * random.standard_normal(TIMES.size) + far * size * NOISE


def estimate(y: np.ndarray, loss: str, **declared) -> dd.Fit:
    data = dd.Dataset(TIMES, outputs={"y": y})
    return dd.fit(decay(**declared), data, free=["k", "b"], criterion=dd.OutputError(loss=loss))


@pytest.mark.parametrize("loss", ROBUST)
@pytest.mark.parametrize("declared", [{}, {"measurement_noise": {"y": NOISE}}], ids=["found", "declared"])
def test_estimates_are_those_of_scipy_with_the_same_loss(loss, declared):
    y = measured(3)
    fit = estimate(y, loss, **declared)
    unit = fit.scales.get("y", NOISE)
    scale = LOSSES[loss].cutoff * unit
    truth = least_squares(
        lambda theta: y - curve(theta), [1.0, 2.0], loss=loss, f_scale=scale, xtol=1e-14, ftol=1e-14, gtol=1e-14
    )
    np.testing.assert_allclose([fit["k"].value, fit["b"].value], truth.x, rtol=1e-6)
    np.testing.assert_allclose(fit.value, truth.cost / unit**2, rtol=1e-8)
    assert fit.loglik is None


@pytest.mark.parametrize("loss", ROBUST)
def test_unit_is_that_of_the_better_half(loss):
    y = measured(4)
    fit = estimate(y, loss)
    half = np.median(np.abs(y - curve(np.array([fit["k"].value, fit["b"].value])))) / norm.ppf(0.75)
    assert fit.scales["y"] == pytest.approx(half, rel=0.01)
    assert 0.6 * NOISE < fit.scales["y"] < 1.5 * NOISE


@pytest.mark.parametrize("loss", ROBUST)
def test_efficiency_with_normal_noise_is_95_percent(loss):
    one = LOSSES[loss]

    def mean(function) -> float:
        cut = [-one.cutoff, one.cutoff]
        return quad(lambda z: float(function(np.array(z))) * norm.pdf(z), -10, 10, points=cut)[0]

    rate = mean(lambda z: one.bend(z / one.cutoff))
    step = mean(lambda z: one.score(z) * z)  # E d score/dz of a normal z, by Stein's lemma
    assert rate == pytest.approx(step, rel=1e-6)
    assert rate**2 / mean(lambda z: one.score(z) ** 2) == pytest.approx(0.95, abs=1e-5)


def test_intervals_hold_the_truth_with_outliers():
    sets = choose(20, 40)
    fits = [estimate(measured(100 + seed), "huber") for seed in range(sets)]
    truth = np.array([1.0, 2.0])
    values = np.array([[fit[name].value for name in ("k", "b")] for fit in fits])
    errors = np.array([[fit[name].std_error for name in ("k", "b")] for fit in fits])
    ends = np.array([[fit.conf_int()[name] for name in ("k", "b")] for fit in fits])
    inside = (ends[..., 0] < truth) & (truth < ends[..., 1])
    least, most = choose(bound_hits(2 * sets), (70, 79))  # of so many intervals
    assert least <= inside.sum() <= most
    low, high = choose(bound_scatter(sets), (0.7, 1.3))
    ratios = errors.mean(axis=0) / values.std(axis=0, ddof=1)
    assert np.all((low < ratios) & (ratios < high)), ratios
    squares = np.array([[estimate(measured(100 + seed), "linear")[n].value for n in ("k", "b")] for seed in range(5)])
    gross = np.sqrt(np.mean((squares - truth) ** 2, axis=0))
    assert np.all(gross > 2.0 * np.sqrt(np.mean((values[:5] - truth) ** 2, axis=0)))


@pytest.mark.parametrize("loss", ROBUST)
def test_size_of_outliers_hardly_matters(loss):
    fit, gross = estimate(measured(5), loss), estimate(measured(5, size=1e6), loss)
    assert abs(fit["k"].value - gross["k"].value) < fit["k"].std_error
    assert "samples of y are more than 4 deviations off" in str(fit)


def test_profile_agrees_with_the_curvature():
    fit = estimate(measured(6), "soft_l1")
    curve_of_k = dd.profile(fit, ["k"])["k"]
    np.testing.assert_allclose(curve_of_k.interval, fit.conf_int()["k"], atol=0.3 * fit["k"].std_error)


def test_a_fit_with_a_loss_is_saved_and_loaded(tmp_path):
    fit = estimate(measured(7), "cauchy")
    fit.save(tmp_path / "fit.nc")
    again = dd.load(tmp_path / "fit.nc")
    assert again.criterion == dd.OutputError(loss="cauchy")
    assert again.scales == fit.scales
    assert dict(again.params) == dict(fit.params)
    data = dd.Dataset(TIMES, outputs={"y": measured(8)})
    assert str(dd.compare(again, data)) == str(dd.compare(fit, data))


def test_declared_noise_that_is_far_too_small_is_said():
    fit = estimate(measured(9), "huber", measurement_noise={"y": NOISE / 20})
    assert "times the declared measurement noise" in " ".join(fit.notes)
    assert abs(fit["k"].value - 1.0) < 4.0 * fit["k"].std_error


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": "hubber"}, "Did you mean 'huber'?"),
        ({"loss": None}, "must be one of 'linear', 'huber', 'soft_l1' and 'cauchy', got None"),
        ({"loss": "huber", "whiten": True}, "a filter spreads one over its neighbours"),
        ({"loss": "huber", "segments": 3}, "pieces would start at them"),
    ],
)
def test_what_does_not_go_together_is_refused(options, words):
    with pytest.raises(EstimationError) as refusal:
        dd.OutputError(**options)
    assert words in str(refusal.value)


def test_accuracies_that_a_loss_does_not_tell_are_refused():
    y = measured(10)
    for noise, free in ((s, ["k", "s"]), (0.1 * dd.symbol("y") + 0.01, ["k"])):
        model = decay(measurement_noise={"y": noise})
        with pytest.raises(EstimationError, match="estimated or depends on its output"):
            dd.fit(model, dd.Dataset(TIMES, outputs={"y": y}), free=free, criterion=dd.OutputError(loss="huber"))
    two = dd.Model(
        name="two", equations={"decay": dd.der(x) == -k * x}, unknowns=[x], outputs={"y": x, "z": 2 * x},
        parameters={k: 1.0}, initial={x: 1.0}, measurement_noise={("y", "z"): np.array([[1.0, 0.5], [0.5, 1.0]])},
    )  # fmt: skip
    with pytest.raises(EstimationError, match="measurement noise of 'y' and 'z' is correlated"):
        dd.fit(two, dd.Dataset(TIMES, outputs={"y": y, "z": y}), free=["k"], criterion=dd.OutputError(loss="huber"))
