"""What is open of the estimates, in predictions: against predictions of fits that were moved by hand."""

from dataclasses import replace

import numpy as np
import pytest

import daedal as dd
import reported
from daedal.errors import EstimationError

STEP = 0.05  # of a standard error


def move(fit, name, amount):
    """The fit with one estimate moved."""
    values = dict(fit.params) | {name: fit.params[name] + amount}
    point = fit.coordinates.internal([values[one] for one in fit.estimates])
    return replace(fit, model=fit.model.with_parameters(values), point=point)


def compute_by_hand(fit, data):
    slopes = []
    for name, one in fit.estimates.items():
        ends = [dd.compare(move(fit, name, sign * STEP * one.std_error), data) for sign in (-1, 1)]
        less, more = (np.concatenate([series.predicted for series in end.series]) for end in ends)
        slopes.append((more - less) / (2 * STEP * one.std_error))
    J, C = np.array(slopes), fit.cov + fit.monte_carlo_cov
    return np.sqrt(np.einsum("kt,kl,lt->t", J, C, J))


@pytest.mark.parametrize(
    "criterion",
    [dd.Likelihood(), dd.OutputError(), dd.OutputError(whiten=True), dd.SimulationPEM(realizations=10)],
    ids=lambda one: type(one).__name__ + "whitened" * bool(getattr(one, "whiten", False)),
)
def test_the_band_is_that_of_moved_estimates(criterion):
    train, test = reported.make_data()
    fit = dd.fit(reported.make_model(), train, free=["k", "d"], criterion=criterion, rng=1)
    for data in (test, train):
        found = dd.compare(fit, data, uncertainty=True)
        wanted = compute_by_hand(fit, data)
        mine = np.concatenate([one.uncertainty for one in found.series])
        np.testing.assert_allclose(mine, wanted, atol=1e-3 * wanted.max())
        for one in found.series:
            np.testing.assert_allclose(one.band, np.hypot(one.deviation, one.uncertainty))
            inside = np.abs(one.measured - one.predicted) <= 1.959963984540054 * one.band
            assert one.coverage == pytest.approx(np.mean(inside[one.scored]))
    assert all(one.uncertainty is None for one in dd.compare(fit, test).series)


def test_a_fit_of_the_mean_has_the_error_of_a_mean():
    """y = a: the prediction is as uncertain as the mean of the samples, s/√N."""
    x, a = dd.symbols("x a")
    model = dd.Model(
        name="level", equations={"e": x == a}, unknowns=[x], outputs={"x": x}, parameters={a: 1.0},
        measurement_noise={"x": 0.3},
    )  # fmt: skip
    samples = 2.0 + 0.3 * np.random.default_rng(1).standard_normal(36)
    fit = dd.fit(model, dd.Dataset(np.arange(36.0), outputs={"x": samples}), free=["a"], criterion=dd.OutputError())
    (one,) = dd.compare(fit, fit.data, uncertainty=True).series
    np.testing.assert_allclose(one.uncertainty, samples.std(ddof=1) / 6.0, rtol=1e-4)


def test_what_cannot_be_told_is_a_note():
    x, a, b = dd.symbols("x a b")
    model = dd.Model(
        name="twins", equations={"e": dd.der(x) == -a * b * x}, unknowns=[x], outputs={"x": x},
        parameters={a: 1.0, b: 2.0}, initial={x: 1.0}, measurement_noise={"x": 0.01},
    )  # fmt: skip
    times = np.arange(40) * 0.1
    data = dd.Dataset(times, outputs={"x": np.exp(-times) + 0.01 * np.random.default_rng(1).standard_normal(40)})
    fit = dd.fit(model, data, free=["a", "b"], criterion=dd.OutputError())
    found = dd.compare(fit, data, uncertainty=True)
    assert found.series[0].uncertainty is None
    assert any("leaves the uncertainty of the estimates out" in note for note in found.notes)
    with pytest.raises(EstimationError, match="uncertainty must be True or False, got 3"):
        dd.compare(fit, data, uncertainty=3)


def test_a_comparison_keeps_what_drove_it():
    test = reported.make_data()[1]
    found = dd.compare(reported.make_fit(), test)
    assert dict(found.inputs) == {test.name: test.inputs}


def test_formulas_that_follow_estimates_move_with_them_on_other_data():
    """k is 2 s in one experiment and s² in the other; the data compared are named after one of these."""
    x, k, s = dd.symbols("x k s")
    model = dd.Model(
        name="decay", equations={"e": dd.der(x) == -k * x}, unknowns=[x], outputs={"x": x},
        parameters={k: 1.0, s: dd.Parameter(0.8, scale="log")}, initial={x: 1.0}, measurement_noise={"x": 0.02},
    )  # fmt: skip
    times, rng = np.arange(1, 41) * 0.1, np.random.default_rng(1)
    truth = {"double": np.exp(-1.4 * times), "square": np.exp(-0.49 * times)}
    data = [
        dd.Dataset(times, outputs={"x": one + 0.02 * rng.standard_normal(40)}, name=name, t0=0.0)
        for name, one in truth.items()
    ]
    fit = dd.fit(model, data, free=["s"], fixed=[{k: 2 * s}, {k: s**2}], criterion=dd.OutputError())
    later, found, error = np.arange(1, 30) * 0.2, fit["s"].value, fit["s"].std_error
    slopes = {"double": 2.0 * later * np.exp(-2.0 * found * later)}
    slopes["square"] = 2.0 * found * later * np.exp(-(found**2) * later)
    for name, slope in slopes.items():
        other = dd.Dataset(later, outputs={"x": np.zeros(29)}, name=name, t0=0.0)
        (one,) = dd.compare(fit, other, uncertainty=True).series
        np.testing.assert_allclose(one.uncertainty, slope * error, rtol=1e-3)


@pytest.mark.parametrize("criterion", [dd.OutputError(), dd.Likelihood()], ids=["OutputError", "Likelihood"])
def test_local_estimates_have_errors_and_follow_the_shared_ones(criterion):
    """Lines with one slope and levels of their own: ŷ = â u + ĉ, ĉ = mean(y − â u), var ŷ = var â (u − ū)² + σ²/n.

    On its own data it is the classical band of a regression.
    """
    x, a, c, u = dd.symbols("x a c u")
    model = dd.Model(
        name="lines", equations={"e": x == a * u + c}, unknowns=[x], inputs=[u], outputs={"x": x},
        parameters={a: 1.0, c: 0.0}, measurement_noise={"x": 0.3},
    )  # fmt: skip
    rng = np.random.default_rng(2)

    def draw(name, pushed, level):
        times = np.arange(pushed.size) * 1.0
        samples = 2.0 * pushed + level + 0.3 * rng.standard_normal(pushed.size)
        return dd.Dataset(times, inputs={"u": dd.Signal(times, pushed, "zoh")}, outputs={"x": samples}, name=name)

    train = [draw(f"run {k}", rng.uniform(-1.0, 1.0, 60), float(k)) for k in range(3)]
    other = draw("other", rng.uniform(1.0, 3.0, 25), 7.0)
    fit = dd.fit(model, train, free=["a"], local=["c"], criterion=criterion)
    (one,) = dd.compare(fit, other, uncertainty=True).series
    pushed = other.inputs["u"](other.times)
    scatter = fit["c[run 0]"].std_error ** 2 - (fit["a"].std_error * train[0].inputs["u"](train[0].times).mean()) ** 2
    wanted = np.sqrt((fit["a"].std_error * (pushed - pushed.mean())) ** 2 + scatter * 60 / 25)
    np.testing.assert_allclose(one.uncertainty, wanted, rtol=0.02)
    X = np.zeros((180, 4))
    for k, run in enumerate(train):
        X[60 * k : 60 * k + 60, 0], X[60 * k : 60 * k + 60, k + 1] = run.inputs["u"](run.times), 1.0
    mine = np.concatenate([series.uncertainty for series in dd.compare(fit, train, uncertainty=True).series])
    classical = np.sqrt(scatter * 60 * np.einsum("ij,jk,ik->i", X, np.linalg.inv(X.T @ X), X))
    np.testing.assert_allclose(mine, classical, rtol=0.02)
