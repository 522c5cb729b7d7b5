"""`fit`, `Fit` and `evaluate`: estimates against regression in closed form, searches, interrupts, and reports."""

import numpy as np
import pytest
from scipy.stats import t as student

import daedal as dd
from batteries.criterion import cases, first_order, push, square
from daedal import der
from daedal.estimation import cost
from daedal.estimation.criteria.mean_objective import MeanObjective

x, v, u, k, b, c, y0, omega, sigma = dd.symbols("x v u k b c y0 omega sigma")
TIMES = np.linspace(0.0, 3.0, 31)


def noisy(values, size=0.01, seed=0):
    return values + size * np.random.default_rng(seed).normal(size=values.size)


def decay(start=2.0, **changes):
    """x' = −k x from 1."""
    fields = {
        "name": "decay",
        "equations": {"rate": der(x) == -k * x},
        "unknowns": [x],
        "outputs": {"level": x},
        "parameters": {k: start},
        "initial": {x: 1.0},
    }
    return dd.Model(**fields | changes)


def line(slope=0.0, offset=0.0, **changes):
    """x' = b, y = x + c: linear regression."""
    fields = {
        "name": "line",
        "equations": {"rate": der(x) == b},
        "unknowns": [x],
        "outputs": {"y": x + c},
        "parameters": {b: slope, c: offset},
        "initial": {x: 0.0},
    }
    return dd.Model(**fields | changes)


def levels(values, times=TIMES, **options):
    return dd.Dataset(times, outputs={"level": values}, **options)


DATA = levels(noisy(np.exp(-TIMES)))
LINE = dd.Dataset(TIMES, outputs={"y": noisy(0.5 * TIMES + 2.0, 0.1, seed=3)})


@pytest.fixture(scope="module")
def regression():
    return dd.fit(line(), LINE, free=["b", "c"])


def textbook():
    """Estimates, covariance and residual of the straight line by the normal equations."""
    X = np.stack([TIMES, np.ones(TIMES.size)], axis=1)
    theta = np.linalg.lstsq(X, LINE["y"], rcond=None)[0]
    residual = LINE["y"] - X @ theta
    return theta, residual @ residual / (TIMES.size - 2) * np.linalg.inv(X.T @ X), residual


def test_a_straight_line_is_linear_regression(regression):
    theta, cov, residual = textbook()
    np.testing.assert_allclose(list(regression.params.values()), theta, rtol=1e-6)
    np.testing.assert_allclose(regression.cov, cov, rtol=1e-4)
    np.testing.assert_allclose(list(regression.std_errors.values()), np.sqrt(np.diag(cov)), rtol=1e-4)
    np.testing.assert_allclose(regression.correlation[0, 1], cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]), rtol=1e-4)
    spread = LINE["y"] - LINE["y"].mean()
    percent = 100 * (1 - np.linalg.norm(residual) / np.linalg.norm(spread))
    assert regression.fit_percent["y"] == pytest.approx(percent, rel=1e-6)
    assert regression.samples == TIMES.size


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_intervals_are_those_of_student(regression, level):
    theta, cov, _ = textbook()
    quantile = student.ppf(0.5 + level / 2, TIMES.size - 2)
    for place, (low, high) in enumerate(regression.conf_int(level).values()):
        half = quantile * np.sqrt(cov[place, place])
        assert low == pytest.approx(theta[place] - half, rel=1e-4)
        assert high == pytest.approx(theta[place] + half, rel=1e-4)


def test_likelihood_and_information_are_those_of_gaussian_regression(regression):
    _, _, residual = textbook()
    n, square_ = residual.size, np.mean(residual**2)
    loglik = -0.5 * n * (1 + np.log(2 * np.pi * square_))
    assert regression.loglik == pytest.approx(loglik, rel=1e-8)
    assert regression.aic == pytest.approx(2 * 3 - 2 * loglik, rel=1e-8)
    assert regression.bic == pytest.approx(3 * np.log(n) - 2 * loglik, rel=1e-8)


def test_declared_accuracy_makes_another_likelihood():
    found = dd.fit(line(measurement_noise={"y": 0.15}), LINE, free=["b", "c"])
    _, _, residual = textbook()
    loglik = -0.5 * np.sum((residual / 0.15) ** 2) - residual.size * (np.log(0.15) + 0.5 * np.log(2 * np.pi))
    assert found.loglik == pytest.approx(loglik, rel=1e-8)
    assert found.aic == pytest.approx(2 * 2 - 2 * loglik, rel=1e-8)


def test_estimated_accuracy_is_the_root_mean_square():
    model = line(parameters={b: 0.0, c: 0.0, sigma: dd.Parameter(1.0, scale="log")}, measurement_noise={"y": sigma})
    found = dd.fit(model, LINE, free=["b", "c", "sigma"])
    _, _, residual = textbook()
    assert found["sigma"].value == pytest.approx(np.sqrt(np.mean(residual**2)), rel=1e-6)
    spread = np.mean((residual**2 - np.mean(residual**2)) ** 2) / residual.size  # of the mean square, any distribution
    assert found["sigma"].std_error == pytest.approx(np.sqrt(spread) / (2 * found["sigma"].value), rel=0.05)
    low, high = found.conf_int()["sigma"]
    assert 0 < low < found["sigma"].value < high
    assert low * high == pytest.approx(found["sigma"].value ** 2, rel=1e-9)


def test_weights_are_those_of_the_accuracies():
    """Weighted regression, one standard deviation for each sample."""
    deviations = 0.05 + 0.2 * (np.arange(TIMES.size) % 4 == 0)
    found = dd.fit(line(measurement_noise={"y": deviations}), LINE, free=["b", "c"])
    X = np.stack([TIMES, np.ones(TIMES.size)], axis=1) / deviations[:, None]
    theta = np.linalg.lstsq(X, LINE["y"] / deviations, rcond=None)[0]
    np.testing.assert_allclose(list(found.params.values()), theta, rtol=1e-6)


def test_two_outputs_without_declared_noise_are_weighed_by_their_residuals():
    """Iterated weighted regression by hand: one slope seen by a good and a bad sensor in other units."""
    good, bad = noisy(0.5 * TIMES, 0.01, 1), 1000 * noisy(0.5 * TIMES, 0.5, 2)
    model = line(outputs={"good": x, "bad": 1000 * x}, parameters={b: 0.1, c: 0.0})
    found = dd.fit(model, dd.Dataset(TIMES, outputs={"good": good, "bad": bad}), free=["b"])
    slope = 0.1
    for _ in range(50):
        first, second = np.mean((good - slope * TIMES) ** 2), np.mean((bad - 1000 * slope * TIMES) ** 2)
        weights = np.array([1 / first, 1000**2 / second])
        products = np.array([TIMES @ good, TIMES @ bad / 1000])
        slope = weights @ products / (weights.sum() * (TIMES @ TIMES))
    assert found["b"].value == pytest.approx(slope, abs=0.02 * found["b"].std_error)


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
    wet = dd.fit(square(), cases()["mean"].data, free=["a"], rng=1)
    assert wet.criterion == dd.SimulationPEM()
    assert any("'w'" in note and "mean" in note for note in wet.notes)
    assert wet.loglik is None
    assert wet.aic is None
    assert wet.bic is None


def test_exact_data_are_fitted_exactly():
    found = dd.fit(decay(), levels(np.exp(-TIMES)), free=["k"])
    assert found["k"].value == pytest.approx(1.0, abs=1e-7)
    assert found.status.ok
    assert found.fit_percent["level"] == pytest.approx(100.0)
    assert str(found)


def test_a_start_at_the_minimum_converges():
    found = dd.fit(line(0.5, 2.0), dd.Dataset(TIMES, outputs={"y": 0.5 * TIMES + 2.0}), free=["b", "c"])
    assert found.status.ok
    assert found["b"].value == pytest.approx(0.5, abs=1e-9)


def test_one_parameter_and_one_sample():
    """x(1) = 0.3 gives k = −log 0.3; one sample alone tells no error."""
    for data in (levels([0.3], [1.0], t0=0.0), levels([np.nan, 0.3], [0.0, 1.0])):
        found = dd.fit(decay(), data, free=["k"])
        assert found["k"].value == pytest.approx(-np.log(0.3), rel=1e-6)
        assert not found["k"].std_error < 1e-6
        assert str(found)


def test_a_single_sample_of_declared_accuracy_has_its_error():
    """dk = σ / |∂x/∂k| = 0.01/0.3 at t = 1."""
    model = decay(measurement_noise={"level": 0.01})
    found = dd.fit(model, levels([np.nan, 0.3], [0.0, 1.0]), free=["k"])
    assert not found["k"].std_error < 0.9 * 0.01 / 0.3


def test_as_many_samples_as_parameters_tell_no_error():
    found = dd.fit(line(), dd.Dataset([0.0, 1.0], outputs={"y": [1.0, 3.0]}), free=["b", "c"])
    assert found["b"].value == pytest.approx(2.0)
    assert not found["b"].std_error < 1e-6


def test_a_product_is_not_determined():
    model = decay(equations={"rate": der(x) == -k * b * x}, parameters={k: 1.3, b: 2.0, c: 1.5}, outputs={"y": c * x})
    found = dd.fit(model, dd.Dataset(TIMES, outputs={"y": DATA["level"]}), free=["k", "b", "c"])
    for name in ("k", "b"):
        assert found[name].verdict == "not determined"
        assert found[name].std_error == np.inf
        assert found[name].monte_carlo_error == 0.0  # nothing was random
    assert found["k"].value * found["b"].value == pytest.approx(1.007, abs=0.03)
    assert found["c"].verdict == "determined"
    assert found["c"].std_error < 0.02
    assert any("k, b" in note for note in found.notes)
    text = str(found)
    assert "NOT DETERMINED" in text
    assert "seed" not in text
    assert np.isnan(found.correlation[0, 1])


def test_a_parameter_of_nothing_measured_is_not_determined():
    model = decay(parameters={k: 2.0, b: 1.0}, outputs={"level": x, "other": b * x})
    found = dd.fit(model, DATA, free=["k", "b"])
    assert found["b"].verdict == "not determined"
    assert found["b"].value == 1.0
    assert found["k"].verdict == "determined"


def test_an_offset_near_zero_is_determined():
    """Relative to zero every error is large; the data determine the offset all the same."""
    verdicts = []
    for seed in range(8):
        data = dd.Dataset(TIMES, outputs={"y": noisy(np.zeros(TIMES.size), 0.01, seed)})
        verdicts.append(dd.fit(line(), data, free=["c"])["c"].verdict)
    assert "not determined" not in verdicts


def bounded(true, lower, upper, start):
    model = decay(dd.Parameter(start, lower=lower, upper=upper))
    return dd.fit(model, levels(noisy(np.exp(-true * TIMES))), free=["k"])


def test_an_estimate_at_its_bound_is_flagged_and_more_starts_are_tried():
    found = bounded(1.0, 1.5, 5.0, 3.0)
    assert found["k"].at_bound
    assert found["k"].value == pytest.approx(1.5, abs=1e-5)
    assert found["k"].lower <= found["k"].value <= found["k"].upper
    assert found["k"].verdict == "at its bound"
    assert np.isnan(found["k"].std_error)
    assert any("at a bound: k" in note and "5 more starts" in note for note in found.notes)
    assert "AT BOUND" in str(found)


@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1.0, 1e6])
def test_a_small_number_above_zero_is_not_at_its_bound(unit):
    """A capacity of 1e-7 F with the bound 0 is far from it."""
    for seed in range(6):
        model = decay(equations={"rate": der(x) == -k / unit * x}, parameters={k: dd.Parameter(2 * unit, lower=0.0)})
        found = dd.fit(model, levels(noisy(np.exp(-TIMES), seed=seed)), free=["k"])
        assert not found["k"].at_bound
        assert found["k"].value == pytest.approx(unit, rel=0.05)
        assert found["k"].verdict == "determined"


def test_a_start_on_a_bound_leaves_it():
    found = bounded(1.0, 0.0, 3.0, 3.0)
    assert found["k"].value == pytest.approx(1.0, abs=0.05)
    assert not found["k"].at_bound


def sine(start):
    return dd.Model(
        name="sine",
        equations={"p": der(x) == v, "f": der(v) == -(omega**2) * x},
        unknowns=[x, v],
        outputs={"y": x},
        parameters={omega: dd.Parameter(start, lower=0.5, upper=8.0)},
        initial={x: 0.0, v: omega},
    )


SINE_TIMES = np.arange(61) * 0.1
SINE = dd.Dataset(SINE_TIMES, outputs={"y": noisy(np.sin(4.0 * SINE_TIMES), 0.05)})


def local_minima():
    """Of Σ (y − sin ω t)² on a fine grid."""
    grid = np.linspace(0.5, 8.0, 3001)
    cost = np.sum((SINE["y"] - np.sin(np.outer(grid, SINE_TIMES))) ** 2, axis=1)
    inner = (cost[1:-1] < cost[:-2]) & (cost[1:-1] < cost[2:])
    return grid[1:-1][inner]


@pytest.mark.parametrize("starts", [dd.LatinHypercube(12), dd.Grid({"omega": 12}), [{"omega": w} for w in range(1, 8)]])
def test_starts_find_the_best_of_several_minima(starts):
    found = dd.fit(sine(1.2), SINE, free=["omega"], starts=starts, rng=3)
    assert found["omega"].value == pytest.approx(4.0, abs=0.05)
    assert len(found.minima) > 1
    count = len(starts) if isinstance(starts, list) else 13
    assert sum(one.count for one in found.minima) == count
    values = [one.value for one in found.minima]
    assert values == sorted(values)
    assert found.minima[0].value == pytest.approx(found.value)
    known = np.append(local_minima(), [0.5, 8.0])
    for one in found.minima:
        assert np.min(np.abs(known - one.params["omega"])) < 0.01
    assert "minima were found" in str(found)


def test_a_single_bad_start_ends_in_another_minimum():
    found = dd.fit(sine(1.2), SINE, free=["omega"], rng=3)
    assert abs(found["omega"].value - 4.0) > 0.5


@pytest.mark.parametrize("start", [0.01, 1.0, 100.0])
def test_log_scale_keeps_estimate_and_interval_positive(start):
    model = decay(dd.Parameter(start, scale="log"))
    found = dd.fit(model, levels(noisy(np.exp(-TIMES), 0.3)), free=["k"])
    plain = dd.fit(decay(), levels(noisy(np.exp(-TIMES), 0.3)), free=["k"])
    assert found["k"].value == pytest.approx(plain["k"].value, rel=1e-4)
    assert found["k"].std_error == pytest.approx(plain["k"].std_error, rel=1e-3)
    low, high = found.conf_int(0.999)["k"]
    assert 0 < low < found["k"].value < high


def test_a_positive_parameter_that_wants_to_be_negative_is_told():
    """Growing data, x' = −k x: the logarithm of k runs to −∞, quietly."""
    found = dd.fit(decay(dd.Parameter(1.0, scale="log")), levels(1 + 0.1 * TIMES), free=["k"])
    assert 0 <= found["k"].value < 1e-3
    assert found["k"].verdict in ("not determined", "at its bound")
    assert "e+290" not in str(found)


def test_a_vanishing_disturbance_is_told():
    """Data without any disturbance: log s runs to −∞, without warnings."""
    times = np.arange(101) * 0.1
    plain = dd.simulate(square().with_parameters({"a": 1.0}), times, inputs={"u": push(times)})
    data = dd.Dataset(times, inputs={"u": push(times)}, outputs={"level": noisy(plain["level"] - 0.02, 0.05)})
    found = dd.fit(square(), data, free=["a", "s"], criterion=dd.SimulationPEM(20), rng=1)
    assert found["s"].value < 0.2
    assert found["s"].verdict in ("not determined", "at its bound", "loosely determined")
    assert found["a"].value == pytest.approx(1.0, abs=0.1)


def escape(start):
    """x' = k x² from 1 has x = 1/(1 − k t): no solution at t = 1/k."""
    return decay(start, equations={"rate": der(x) == k * x**2})


def test_points_without_solution_cost_a_step_not_the_run():
    data = levels(noisy(1 / (1 - 0.32 * TIMES), 0.05))
    found = dd.fit(escape(0.0), data, free=["k"])
    assert found["k"].value == pytest.approx(0.32, abs=0.002)
    assert found.status.ok
    assert any("could not be simulated" in note for note in found.notes)


def test_a_failed_start_is_counted_once():
    data = levels(noisy(1 / (1 - 0.2 * TIMES), 0.05))
    found = dd.fit(escape(0.1), data, free=["k"], starts=[{"k": 0.5}, {"k": 0.19}])
    assert found["k"].value == pytest.approx(0.2, abs=0.01)
    assert [note for note in found.notes if "could not be simulated" in note] == [
        "the model could not be simulated at 1 point on the way"
    ]


def test_square_root_of_a_negative_number_costs_a_step():
    model = decay(equations={"rate": der(x) == -k * x}, outputs={"y": np.sqrt(b - x)}, parameters={k: 1.0, b: 3.0})
    data = dd.Dataset(TIMES, outputs={"y": noisy(np.sqrt(1.05 - np.exp(-TIMES)), 0.01)})
    found = dd.fit(model, data, free=["b"])
    assert found["b"].value == pytest.approx(1.05, abs=0.01)


def test_no_start_with_a_solution_is_an_error_that_says_why():
    with pytest.raises(dd.DaedalError, match="cost is infinite at the start values") as caught:
        dd.fit(escape(0.5), DATA, free=["k"])
    assert "not finite" in str(caught.value)
    with pytest.raises(dd.DaedalError, match="any of the starts"):
        dd.fit(escape(0.1), DATA, free=["k"], starts=[{"k": 0.5}, {"k": 0.6}])


@pytest.fixture
def interrupt(monkeypatch):
    """Press Ctrl-C in the n-th evaluation."""

    def press(number):
        original, seen = MeanObjective.__call__, []

        def counting(self, point):
            seen.append(None)
            if len(seen) == number:
                raise KeyboardInterrupt
            return original(self, point)

        monkeypatch.setattr(MeanObjective, "__call__", counting)
        return seen

    return press


@pytest.mark.parametrize("number", [2, 3, 4, 6])
def test_an_interrupt_returns_the_best_so_far(interrupt, number):
    interrupt(number)
    found = dd.fit(decay(3.0), DATA, free=["k"])
    assert not found.status.ok
    assert "Interrupted" in str(found)
    assert found.evaluations == number - 1
    residual = DATA["level"] - np.exp(-found["k"].value * TIMES)
    assert found.value == pytest.approx(0.5 * residual @ residual / np.var(DATA["level"]), rel=1e-6)
    assert abs(found["k"].value - 1.0) <= 2.0
    assert str(found)


def test_an_interrupt_in_a_later_start_keeps_the_best_of_all(interrupt):
    seen = interrupt(10**9)
    dd.fit(sine(4.1), SINE, free=["omega"])
    first = len(seen)
    interrupt(first + 3)  # counts anew
    starts = [{"omega": 4.1}, {"omega": 7.0}]
    found = dd.fit(sine(4.1), SINE, free=["omega"], starts=starts)
    assert "Interrupted" in str(found)
    assert found["omega"].value == pytest.approx(4.0, abs=0.05)


def test_an_interrupt_of_a_later_stage_keeps_its_objective(interrupt):
    """Value, scales and estimates of an interrupted fit belong together."""
    case = cases()["output error, no noise declared"]
    seen = interrupt(10**9)
    full = case.fit()
    interrupt(len(seen) - 1)
    found = case.fit()
    assert "Interrupted" in str(found)
    assert found["a"].value == pytest.approx(full["a"].value, abs=full["a"].std_error)
    assert found.value == pytest.approx(full.value, rel=0.1)


def test_an_interrupt_of_the_very_first_evaluation_propagates(interrupt):
    interrupt(1)
    with pytest.raises(KeyboardInterrupt):
        dd.fit(decay(3.0), DATA, free=["k"])


def test_an_interrupt_while_the_errors_are_computed_keeps_the_estimates(monkeypatch):
    def press(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(MeanObjective, "scatter", press)
    case = cases()["mean"]
    found = case.fit(free=["a"])
    assert "Interrupted" in str(found)
    assert np.isnan(found["a"].monte_carlo_error)
    assert np.isfinite(found["a"].std_error)


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


def test_evaluate_prepares_once(monkeypatch):
    prepare, calls = cost.prepare_objective, []
    monkeypatch.setattr(cost, "prepare_objective", lambda *given: calls.append(given) or prepare(*given))
    case = cases()["mean"].changed(model=square())
    for number in range(5):
        case.evaluate({"a": 0.9 + 0.01 * number}, rng=77)
    assert len(calls) == 1
    case.evaluate({"a": 0.9}, rng=78)
    assert len(calls) == 2


@pytest.fixture
def two():
    model = decay(outputs={"level": x, "other": b * x}, parameters={k: 1.3, b: 2.0})
    data = dd.Dataset(TIMES, outputs={"level": noisy(np.exp(-TIMES)), "other": noisy(2 * np.exp(-TIMES), 0.05)})
    return model, data


def test_evaluate_sees_that_a_list_or_mapping_has_changed(two):
    model, data = two
    names = ["k"]
    assert dd.evaluate(model, data, free=names).names == ("k",)
    names.append("b")
    assert dd.evaluate(model, data, free=names).names == ("k", "b")
    fixed = {"b": 2.0}
    before = dd.evaluate(model, data, free=["k"], fixed=fixed).value
    fixed["b"] = 3.0
    assert dd.evaluate(model, data, free=["k"], fixed=fixed).value != before
    sets = [data]
    once = dd.evaluate(model, sets, free=["k"]).value
    sets.append(data)
    assert dd.evaluate(model, sets, free=["k"]).value == pytest.approx(2 * once)


def test_evaluate_at_the_minimum_has_no_gradient(two):
    model, data = two
    found = dd.fit(model, data, free=["k", "b"])
    loud = model.with_parameters({})
    cost = dd.evaluate(
        dd.Model(
            name="loud", equations=loud.equations, unknowns=list(loud.unknowns), outputs=loud.outputs,
            parameters=loud.parameters, initial=loud.initial, measurement_noise=dict(found.scales),
        ),
        data, free=["k", "b"], values=found.params,
    )  # fmt: skip
    assert cost.value == pytest.approx(found.value, rel=1e-6)
    step = np.linalg.solve(cost.curvature, cost.gradient)
    assert np.all(np.abs(step) < 1e-3 * np.array(list(found.std_errors.values())))


def test_evaluate_tells_where_there_is_no_solution():
    cost = dd.evaluate(escape(0.1), DATA, free=["k"], values={"k": 0.9})
    assert cost.value == np.inf
    assert "not finite" in cost.failure


def test_evaluate_beyond_a_bound_does_not_answer_for_another_point():
    """Clipped in silence, an optimiser of one's own would see a flat cost with a slope."""
    model = decay(dd.Parameter(2.0, lower=0.5, upper=3.0))
    with pytest.raises(dd.DaedalError, match=r"'k'.*bounds"):
        dd.evaluate(model, DATA, free=["k"], values={"k": 100.0})


def test_local_parameters_are_called_after_their_experiments():
    sets = [levels(noisy(y * np.exp(-TIMES)), name=name) for name, y in {"day": 1, "night": 2}.items()]
    model = decay(parameters={k: 2.0, y0: 1.5}, initial={x: y0})
    found = dd.fit(model, sets, free=["k"], local=["y0"])
    assert list(found.params) == ["k", "y0[day]", "y0[night]"]
    assert found["y0[day]"].value == pytest.approx(1.0, abs=0.05)
    assert found["y0[night]"].value == pytest.approx(2.0, abs=0.05)
    assert found.values(1)["y0"] == found["y0[night]"].value
    same = [levels(one["level"]) for one in sets]
    assert list(dd.fit(model, same, free=["k"], local=["y0"]).params) == ["k", "y0[1]", "y0[2]"]
    separate = [dd.fit(model, one, free={"k": found["k"].value, "y0": 1.5}) for one in sets]
    assert found.samples == sum(one.samples for one in separate)


def test_fixed_values_of_each_experiment():
    sets = [levels(noisy(y * np.exp(-TIMES), seed=i)) for i, y in enumerate((1.0, 2.0))]
    model = decay(parameters={k: 2.0, y0: 9.0}, initial={x: y0})
    found = dd.fit(model, sets, free=["k"], fixed=[{"y0": 1.0}, {y0: 2.0}])
    assert found["k"].value == pytest.approx(1.0, abs=0.02)
    assert found.values(1)["y0"] == 2.0


def test_free_may_be_symbols_mappings_or_any_iterable():
    expected = dd.fit(decay(), DATA, free=["k"])["k"].value
    given = [(k,), {"k": 3.0}, {k: dd.Parameter(1.2, lower=0.1, upper=9.0)}, (n for n in ["k"]), {"k": 1.5}.keys()]
    for free in given:
        assert dd.fit(decay(), DATA, free=free)["k"].value == pytest.approx(expected, rel=1e-6)
    bounds = dd.fit(decay(dd.Parameter(2.0, lower=0.5)), DATA, free={"k": 3.0})["k"]
    assert (bounds.lower, bounds.start) == (0.5, 3.0)


def test_a_system_is_as_good_as_a_model():
    system = dd.build(decay())
    assert dd.fit(system, DATA, free=["k"])["k"].value == dd.fit(decay(), DATA, free=["k"])["k"].value


def test_an_output_without_samples_is_left_aside(two):
    model, data = two
    silent = dd.Dataset(TIMES, outputs={"level": data["level"], "other": np.full(TIMES.size, np.nan)})
    found = dd.fit(model, silent, free=["k"])
    expected = dd.fit(model, levels(data["level"]), free=["k"])
    assert found["k"].value == pytest.approx(expected["k"].value, rel=1e-6)
    assert found["k"].std_error == pytest.approx(expected["k"].std_error, rel=1e-4)
    assert found.samples == TIMES.size
    assert str(found)


def test_an_output_whose_samples_are_all_in_the_transient_is_left_aside(two):
    model, data = two
    early = dd.Dataset(outputs={"level": data.outputs["level"], "other": dd.Samples(TIMES[:3], data["other"][:3])})
    found = dd.fit(model, early, free=["k"], criterion=dd.OutputError(transient=1.0))
    assert found["k"].value == pytest.approx(1.0, abs=0.1)
    assert str(found)


def test_what_is_not_compared_is_noted(two):
    model, data = two
    extra = dd.Dataset(TIMES, outputs={"level": data["level"], "room": data["level"]})
    notes = dd.fit(model, extra, free=["k"]).notes
    assert any(note.endswith("not used: room") for note in notes)
    assert any(note.endswith("not measured: other") for note in notes)


@pytest.mark.parametrize("shift", [0.0, 1e5, 1.7e9])
def test_the_transient_counts_from_the_first_sample_at_any_clock(shift):
    """Also on the clock of Unix, whose seconds have few digits left."""
    times = shift + np.arange(101) * 0.1
    data = levels(noisy(np.exp(-(times - shift))), times)
    found = dd.fit(decay(), data, free=["k"], criterion=dd.OutputError(transient=2.0))
    assert found.samples == 81


def test_whitening_takes_regular_samples_on_any_clock():
    times = 1.7e9 + np.arange(61) * 0.1
    case = cases()["mean, whitened by order"]
    plain = case.data
    moved = dd.Dataset(
        times, inputs={"u": dd.Signal(times, plain.inputs["u"](plain.times))}, outputs={"level": plain["level"]}
    )
    found = case.changed(data=moved).fit(free=["a"])
    assert found.filters["level"].order == 2


def test_initial_values_with_their_own_start_time():
    """The model starts at t0, before the first sample."""
    data = levels(noisy(np.exp(-(TIMES[5:]))), TIMES[5:], t0=0.0)
    assert dd.fit(decay(), data, free=["k"])["k"].value == pytest.approx(1.0, abs=0.02)


def test_models_without_inputs_and_static_outputs():
    model = first_order(
        equations={"rate": der(x) == 0 * x}, inputs=[], outputs={"level": b + 0 * x}, parameters={b: 0.0}
    )
    found = dd.fit(model, levels(noisy(np.full(TIMES.size, 3.0), 0.1)), free=["b"])
    assert found["b"].value == pytest.approx(np.mean(noisy(np.full(TIMES.size, 3.0), 0.1)), rel=1e-6)


def test_segments_are_not_ignored():
    """Multiple shooting finds the drag of a pendulum that single shooting cannot; at least, it is another problem."""
    plain = dd.fit(decay(), DATA, free=["k"], criterion=dd.OutputError(segments=3))
    assert plain["k"].value == pytest.approx(dd.fit(decay(), DATA, free=["k"])["k"].value, abs=1e-3)
    assert plain.criterion == dd.OutputError(segments=3)


def test_whitened_output_error_is_generalized_least_squares(tmp_path):
    """x' = b, y = x + c with noise n_k = 0.8 n_(k−1) + e_k: against the weighted regression with that noise."""
    times, rng = np.arange(400) * 0.1, np.random.default_rng(5)
    phi, innovation = 0.8, 0.05
    noise = np.zeros(times.size)
    noise[0] = rng.normal() * innovation / np.sqrt(1 - phi**2)
    for k in range(1, times.size):
        noise[k] = phi * noise[k - 1] + innovation * rng.normal()
    y = 0.3 * times + 1.0 + noise
    data = dd.Dataset(times, outputs={"y": y}, t0=0.0)
    found = dd.fit(line(), data, free=["b", "c"], criterion=dd.OutputError(whiten=1))
    X = np.column_stack([times, np.ones(times.size)])
    lags = np.abs(np.subtract.outer(np.arange(times.size), np.arange(times.size)))
    weights = np.linalg.inv(innovation**2 / (1 - phi**2) * phi**lags)
    information = X.T @ weights @ X
    expected, errors = np.linalg.solve(information, X.T @ weights @ y), np.sqrt(np.diag(np.linalg.inv(information)))
    for name, value, error in zip("bc", expected, errors, strict=True):
        assert abs(found[name].value - value) < 0.1 * error  # the filter is estimated
        assert 0.75 * error < found[name].std_error < 1.3 * error
    assert "OutputError(whiten=1)" in str(found)
    found.save(tmp_path / "white.nc")
    again = dd.load(tmp_path / "white.nc")
    assert again.std_errors == found.std_errors


@pytest.mark.parametrize(
    ("options", "words"), [({"whiten": -1}, "order of the filter"), ({"whiten": 2, "segments": 5}, "pieces")]
)
def test_wrong_whitening(options, words):
    with pytest.raises(dd.DaedalError, match=words):
        dd.OutputError(**options)


def test_pieces_have_no_past():
    late = decay(equations={"rate": der(x) == -k * dd.delay(x, 0.5)}, history={x: 1.0}, initial={})
    data = dd.Dataset(TIMES, outputs={"level": np.exp(-TIMES)}, t0=0.0)
    with pytest.raises(dd.DaedalError, match="looks back at its own past"):
        dd.fit(late, data, free=["k"], criterion=dd.OutputError(segments=3))


def test_a_cost_with_steps_is_not_at_a_bound():
    """y = u(t − d) of a held input: the cost does not change with d between samples."""
    y, u, d = dd.symbols("y u d")
    held = dd.Signal(np.arange(31.0), np.random.default_rng(3).choice([-1.0, 1.0], 31), "zoh")
    model = dd.Model(
        name="pure", equations={"late": y == dd.delay(u, d)}, unknowns=[y], inputs=[u], outputs={"y": y},
        parameters={d: dd.Parameter(2.4, lower=0.2, upper=8.0)},
    )  # fmt: skip
    times = np.arange(5.0, 30.0, 0.35)
    clean = dd.simulate(model.with_parameters({"d": 3.1}), times, inputs={"u": held}, t0=0.0)["y"]
    data = dd.Dataset(times, inputs={"u": held}, outputs={"y": clean + 0.01 * np.sin(7 * times)}, t0=0.0)
    found = dd.fit(model, data, free=["d"])
    assert not found["d"].at_bound


def test_the_start_that_was_given_is_shown():
    data = dd.Dataset(TIMES, outputs={"level": np.exp(-1.3 * TIMES)}, t0=0.0)
    assert dd.fit(decay(), data, free=["k"])["k"].start == 2.0
    assert dd.fit(decay(), data, free=["k"], starts=[{"k": 1.7}])["k"].start == pytest.approx(1.7)
