"""SimulationPEM against closed forms of the mean and its variance, and against the scatter of many fits.

x' = −a x + w², w stationary with E w² = s² and time constant τ, from x = 0: with c = 2/τ

    E x = (1 − e^(−a t)) s²/a,   Var x = 4 s⁴ ((1 − e^(−2 a t))/(2 a) − (1 − e^(−(a+c) t))/(a + c))/(c − a),

and s² becomes s² (2 + ρ)/3, ρ = e^(−grid/τ), where w is drawn on a grid and straight in between.
"""

import numpy as np
import pytest
from scipy.stats import chi2

import daedal as dd
from batteries.criterion import cases, first_order, push, square
from daedal import der
from daedal.estimation.criteria.mean_objective import MeanObjective
from sizes import bound_hits, bound_scatter, choose

x, w, u, a, s, c, p, q = dd.symbols("x w u a s c p q")
TAU, GRID = 0.5, 0.05
TIMES = np.arange(41) * 0.1
SOLVER = dd.Lanes(step=GRID)
SIGMA = 0.1


def wet(**changes):
    fields = {
        "name": "wet",
        "equations": {"rate": der(x) == -a * x + w**2},
        "unknowns": [x],
        "outputs": {"level": x},
        "parameters": {a: 1.0, s: dd.Parameter(1.0, lower=0.01, upper=10.0)},
        "disturbances": {w: dd.FilteredNoise.low_pass(std=s, time_constant=TAU, grid=GRID)},
        "measurement_noise": {"level": SIGMA},
        "initial": {x: 0.0},
    }
    return dd.Model(**fields | changes)


def drawn(std=1.0):
    """E w² over time, of straight lines between the points of the grid."""
    return std**2 * (2 + np.exp(-GRID / TAU)) / 3


def mean(t, rate=1.0, std=1.0):
    return drawn(std) * (1 - np.exp(-rate * t)) / rate


def variance(t, rate=1.0, std=1.0):
    fast = 2 / TAU
    slow = (1 - np.exp(-2 * rate * t)) / (2 * rate)
    return 4 * std**4 * (slow - (1 - np.exp(-(rate + fast) * t)) / (rate + fast)) / (fast - rate)


def dataset(values, times=TIMES, **inputs):
    return dd.Dataset(times, inputs=inputs, outputs={"level": values})


def test_prediction_is_the_mean():
    data = dataset(np.zeros(TIMES.size))
    found = dd.evaluate(wet(), data, free=["a"], criterion=dd.SimulationPEM(4000, debias=False), solver=SOLVER)
    error = (-SIGMA * found.residuals - mean(TIMES))[1:]
    deviation = np.sqrt(variance(TIMES) / 4000)[1:]
    assert np.max(np.abs(error) / deviation) < 4.5


def test_estimate_from_the_exact_mean_is_right_within_its_monte_carlo_error():
    data = dataset(mean(TIMES, rate=1.3, std=0.8))
    found = dd.fit(wet(), data, free=["a", "s"], criterion=dd.SimulationPEM(1500, whiten=False), rng=2, solver=SOLVER)
    for name, true in {"a": 1.3, "s": 0.8}.items():
        assert 0 < found[name].monte_carlo_error < 0.2
        assert abs(found[name].value - true) < 4 * found[name].monte_carlo_error


@pytest.mark.slow
def test_debiased_cost_has_the_expectation_of_infinitely_many_realizations():
    """½ Σ (y − E x)²/σ² in closed form; without debiasing, ½ Σ Var x/(M σ²) more."""
    data = dataset(np.full(TIMES.size, 0.6))
    truth = 0.5 * np.sum((0.6 - mean(TIMES)) ** 2) / SIGMA**2
    excess = 0.5 * np.sum(variance(TIMES)) / (3 * SIGMA**2)
    model = wet()
    for debias, expected in ((True, truth), (False, truth + excess)):
        choice = dd.SimulationPEM(3, debias=debias)
        values = [
            dd.evaluate(model, data, free=["a"], criterion=choice, rng=seed, solver=SOLVER).value
            for seed in range(choose(40, 120))
        ]
        error = np.std(values) / np.sqrt(len(values))
        assert abs(np.mean(values) - expected) < 4 * error
        assert 4 * error < 0.8 * excess  # sharp enough to tell one from the other


@pytest.mark.slow
def test_debiased_gradient_has_the_expectation_of_infinitely_many_realizations():
    """d/ds of ½ Σ (y − s² m)²/σ² is −2 Σ (y − s² m) s m/σ²."""
    data = dataset(np.full(TIMES.size, 0.6))
    truth = -2 * np.sum((0.6 - mean(TIMES)) * mean(TIMES)) / SIGMA**2
    model, choice = wet(), dd.SimulationPEM(4)
    found = [
        dd.evaluate(model, data, free=["s"], criterion=choice, rng=seed, solver=SOLVER).gradient[0]
        for seed in range(choose(30, 100))
    ]
    assert abs(np.mean(found) - truth) < 4 * np.std(found) / np.sqrt(len(found))


@pytest.mark.slow
def test_monte_carlo_error_is_the_scatter_over_seeds():
    data = dataset(mean(TIMES, rate=1.2) + 0.3 * np.sin(TIMES))
    model, choice = wet(), dd.SimulationPEM(30, whiten=False)
    found = [dd.fit(model, data, free=["a"], criterion=choice, rng=seed, solver=SOLVER)["a"] for seed in range(25)]
    reported = np.sqrt(np.mean([one.monte_carlo_error**2 for one in found]))
    scatter = np.std([one.value for one in found], ddof=1)
    low, high = bound_scatter(25)
    assert low < reported / scatter < high


def test_monte_carlo_error_falls_with_the_root_of_the_realizations():
    data = dataset(mean(TIMES, rate=1.2) + 0.3 * np.sin(TIMES))
    few, many = (
        dd.fit(wet(), data, free=["a"], criterion=dd.SimulationPEM(m, whiten=False), rng=1, solver=SOLVER)["a"]
        for m in (60, 960)
    )
    assert 2.8 < few.monte_carlo_error / many.monte_carlo_error < 5.6


def test_one_realization_without_debiasing_tells_no_monte_carlo_error():
    data = dataset(mean(TIMES))
    found = dd.fit(wet(), data, free=["a"], criterion=dd.SimulationPEM(1, debias=False), rng=1, solver=SOLVER)
    assert np.isnan(found["a"].monte_carlo_error) or np.isinf(found["a"].monte_carlo_error)
    assert str(found)


@pytest.mark.parametrize("whiten", [False, 1])
def test_debiasing_does_not_reward_infinite_disturbances(whiten):
    """The debiased cost estimates a sum of squares: where it is negative chance speaks, and that is no convergence."""
    times = np.arange(61) * 0.1
    model = wet(parameters={a: dd.Parameter(0.8, lower=0.05, upper=9.0), s: dd.Parameter(0.9, scale="log")})
    for seed in range(3):
        truth = model.with_parameters({"a": 1.0, "s": 0.8})
        data = dd.simulate(truth, times, realizations=1, measurement_noise=True, rng=seed).to_dataset()
        found = dd.fit(model, data, free=["a", "s"], criterion=dd.SimulationPEM(4, whiten=whiten), rng=5)
        assert not found.status.ok or (found["s"].value < 20 and found.value > 0)


def test_debiasing_and_whitening_of_two_outputs_do_not_run_away():
    """The true s is 0.8; unbounded above, it must not reach 10⁷ because the debiased cost has no floor."""
    found = cases()["mean, two outputs whitened"].fit()
    assert found["s"].value < 20
    assert all(percent > -1000 for percent in found.fit_percent.values())


def linear(**changes):
    """x' = −a x + u + c w: the disturbance moves no mean."""
    fields = {
        "name": "linear",
        "equations": {"rate": der(x) == -a * x + u + c * w},
        "unknowns": [x],
        "inputs": [u],
        "outputs": {"level": x},
        "parameters": {a: 1.0, c: 1.0, s: 0.4},
        "disturbances": {w: dd.FilteredNoise.low_pass(std=s, time_constant=TAU, grid=GRID)},
        "measurement_noise": {"level": 0.02},
        "initial": {x: 0.0},
    }
    return dd.Model(**fields | changes)


@pytest.mark.parametrize("free", [["s"], ["a", "s"], ["c"], ["a", "c"]])
def test_what_moves_no_mean_is_refused_before_fitting(free):
    """Also where the gain of a linear disturbance stands in an equation."""
    data = dataset(np.zeros(TIMES.size), u=push(TIMES))
    with pytest.raises(dd.DaedalError, match="cannot see") as caught:
        dd.fit(linear(), data, free=free, criterion=dd.SimulationPEM(20))
    assert "Likelihood" in str(caught.value)
    assert f"'{free[-1]}'" in str(caught.value)


def test_a_disturbance_that_moves_no_mean_is_noted():
    data = dataset(push(TIMES)(TIMES) / 2, u=push(TIMES))
    found = dd.fit(linear(), data, free=["a"], criterion=dd.SimulationPEM(20), rng=1)
    assert any("'w'" in note and "Likelihood" in note for note in found.notes)


def test_a_model_without_disturbances_is_refused():
    data = dataset(np.zeros(TIMES.size), u=push(TIMES))
    with pytest.raises(dd.DaedalError, match=r"declares no disturbances.*OutputError"):
        dd.fit(first_order(), data, free=["a"], criterion=dd.SimulationPEM(20))


def fragile():
    """√(q − w) has no value on a path that passes q; the mean does not."""
    return dd.Model(
        name="fragile",
        equations={"rate": der(x) == -a * x + np.sqrt(q - w)},
        unknowns=[x],
        outputs={"level": x},
        parameters={a: dd.Parameter(1.0, lower=0.01), q: 3.4},
        disturbances={w: dd.FilteredNoise.low_pass(std=1.0, time_constant=0.5, grid=0.05)},
        measurement_noise={"level": 0.05},
        initial={x: 0.0},
    )


def test_realizations_that_fail_at_the_start_are_left_out_for_good():
    data = dataset(1.8 / 1.3 * (1 - np.exp(-1.3 * TIMES)))
    found = dd.fit(fragile(), data, free=["a"], criterion=dd.SimulationPEM(60), rng=1, solver=SOLVER)
    assert any("left out" in note for note in found.notes)
    assert found.status.ok
    assert 1.0 < found["a"].value < 1.6
    value = dd.evaluate(fragile(), data, free=["a"], criterion=dd.SimulationPEM(60), rng=1, solver=SOLVER).value
    assert np.isfinite(value)  # as in the fit


def test_too_many_failures_are_an_error():
    data = dataset(np.ones(TIMES.size))
    with pytest.raises(dd.DaedalError, match="start") as caught:
        dd.fit(fragile().with_parameters({"q": 0.5}), data, free=["a"], criterion=dd.SimulationPEM(60), rng=1)
    assert "realizations" in str(caught.value)


def test_new_steps_keep_what_was_left_out_and_the_stages_after_them():
    """From a slow start to a fast oscillation: the steps are chosen anew, and the residual is still whitened."""
    v = dd.symbol("v")
    times = np.arange(101) * 0.05
    model = dd.Model(
        name="oscillator",
        equations={"p": der(x) == v, "q": der(v) == -(a**2) * x - 0.1 * v + 0.1 * np.sqrt(q - w)},
        unknowns=[x, v],
        outputs={"level": x},
        parameters={a: 1.0, q: 3.7},
        disturbances={w: dd.FilteredNoise.low_pass(std=1.0, time_constant=0.5)},
        measurement_noise={"level": 0.02},
        initial={x: 1.0, v: 0.0},
    )
    envelope = np.exp(-0.05 * times) * np.cos(12.0 * times)
    data = dataset(envelope + 0.02 * np.random.default_rng(0).normal(size=times.size), times)
    starts = [{"a": 1.0}, {"a": 11.8}]
    found = dd.fit(model, data, free=["a"], starts=starts, criterion=dd.SimulationPEM(60, whiten=2), rng=1)
    assert found["a"].value == pytest.approx(12.0, abs=0.05)
    assert found.filters["level"].order == 2
    assert found.samples == times.size


def ljung_box(residual, lags=20):
    """Q = n (n + 2) Σ ρ_k²/(n − k)."""
    r = residual - residual.mean()
    n = r.size
    rho = [r[k:] @ r[:-k] / (r @ r) for k in range(1, lags + 1)]
    return n * (n + 2) * sum(one**2 / (n - k) for k, one in enumerate(rho, start=1))


def test_whitening_leaves_a_white_residual():
    times = np.arange(801) * 0.1
    model = square().with_parameters({"a": 1.0, "s": 0.8, "tau": 0.4})
    data = dd.simulate(model, times, inputs={"u": push(times)}, realizations=1, measurement_noise=True, rng=3)
    data = data.to_dataset()
    choice = dd.SimulationPEM(100, whiten=True)
    found = dd.fit(model, data, free=["a"], criterion=choice, rng=1, solver=SOLVER)
    predicted = dd.ensemble(found.model, times, realizations=2000, inputs=data.inputs, rng=9, solver=SOLVER)
    raw = data["level"] - predicted.mean["level"]
    white = np.convolve(raw, found.filters["level"].polynomial, mode="valid")
    limit = chi2.ppf(0.999, 20)
    assert ljung_box(raw) > 10 * limit
    assert ljung_box(white) < limit


@pytest.fixture
def no_work(monkeypatch):
    """Let any evaluation of the criterion fail the test."""
    monkeypatch.setattr(MeanObjective, "__call__", lambda *_: pytest.fail("work was done before the refusal"))


def test_whitening_refuses_irregular_samples_before_any_work(no_work):
    times = np.sort(np.concatenate([TIMES[::2], [0.13, 0.55]]))
    with pytest.raises(dd.DaedalError, match="regular") as caught:
        dd.fit(wet(), dataset(np.ones(times.size), times), free=["a"], criterion=dd.SimulationPEM(20, whiten=True))
    assert "whiten=False" in caught.value.remedy


def test_whitening_with_an_order_beyond_the_data_is_refused_before_any_work(no_work):
    with pytest.raises(dd.DaedalError, match="order") as caught:
        dd.fit(wet(), dataset(np.ones(TIMES.size)), free=["a"], criterion=dd.SimulationPEM(20, whiten=100))
    assert "autoregression" not in str(caught.value)  # the user wrote whiten


def test_whitening_steps_over_gaps():
    """A gap costs its samples and no more: what follows it is predicted from what there is."""
    values = mean(TIMES) + 0.1 * np.sin(3 * TIMES)
    values[[10, 11, 30]] = np.nan
    found = dd.fit(wet(), dataset(values), free=["a"], criterion=dd.SimulationPEM(20, whiten=2), rng=1)
    assert found.samples == TIMES.size - 3
    assert np.isfinite(found["a"].std_error)


def test_whitened_outputs_are_weighed_by_what_the_filters_leave():
    """Another output adds knowledge: it must not make the estimate worse."""
    times = np.arange(401) * 0.1
    wave = dd.Signal(times, np.random.default_rng(0).choice([-1.0, 1.0], size=times.size), intersample="zoh")

    def pair(rate, noise):
        return dd.Model(
            name="pair",
            equations={"rate": der(x) == -a * x + 3 * u},
            unknowns=[x],
            inputs=[u],
            outputs={"slow": x + w, "white": x},
            parameters={a: rate},
            disturbances={w: dd.FilteredNoise.low_pass(std=0.5, time_constant=20.0, grid=0.1)},
            measurement_noise=noise,
            initial={x: 0.0},
        )

    truth = pair(2.0, {"slow": 0.001, "white": 0.5})
    data = dd.simulate(truth, times, inputs={"u": wave}, realizations=1, measurement_noise=True, rng=1).to_dataset()
    only = dd.Dataset(times, inputs=data.inputs, outputs={"slow": data.outputs["slow"]})
    choice = dd.SimulationPEM(50, whiten=1)
    both, one = (dd.fit(pair(1.5, {}), each, free=["a"], criterion=choice, rng=1)["a"] for each in (data, only))
    assert both.std_error < 1.02 * one.std_error


@pytest.mark.slow
@pytest.mark.parametrize("whiten", [False, 2])
def test_standard_errors_are_the_scatter_over_data_sets(whiten):
    """A linear model with a correlated disturbance; whitening makes the scatter smaller, too."""
    times = np.arange(301) * 0.1
    wave = dd.Signal(times, np.sign(np.sin(0.9 * times)), intersample="zoh")
    model, choice = linear(), dd.SimulationPEM(60, whiten=whiten)
    sets = choose(30, 100)
    data = dd.simulate(model, times, inputs={"u": wave}, realizations=sets, measurement_noise=True, rng=4)
    found = []
    for number in range(sets):
        one = dd.Dataset(times, inputs={"u": wave}, outputs={"level": data["level"][number]})
        found.append(dd.fit(model, one, free=["a"], criterion=choice, rng=number, solver=dd.Lanes(step=0.05))["a"])
    reported = np.sqrt(np.mean([one.std_error**2 + one.monte_carlo_error**2 for one in found]))
    scatter = np.std([one.value for one in found], ddof=1)
    low, high = choose(bound_scatter(sets), (0.8, 1.25))
    assert low < reported / scatter < high
    inside = [abs(one.value - 1.0) < 1.96 * np.hypot(one.std_error, one.monte_carlo_error) for one in found]
    least, most = choose(bound_hits(sets), (88, 99))
    assert least <= sum(inside) <= most


@pytest.mark.slow
def test_few_realizations_do_not_make_the_standard_error_too_small():
    """The slopes of a mean of few realizations are noisy, which adds to the curvature of the cost."""
    times = np.arange(301) * 0.1
    model = square().with_parameters({"a": 1.0, "s": 0.8, "tau": 0.4})
    data = dd.simulate(model, times, inputs={"u": push(times)}, realizations=30, measurement_noise=True, rng=4)
    found = []
    for number in range(30):
        one = dd.Dataset(times, inputs={"u": push(times)}, outputs={"level": data["level"][number]})
        choice = dd.SimulationPEM(10)
        found.append(dd.fit(model, one, free=["a"], criterion=choice, rng=number, solver=SOLVER)["a"])
    reported = np.sqrt(np.mean([one.std_error**2 + one.monte_carlo_error**2 for one in found]))
    scatter = np.std([one.value for one in found], ddof=1)
    low, high = bound_scatter(30)
    assert low < reported / scatter < high
