"""Profile intervals against brute force with closed forms, against the curvature where that is exact, and open ends."""

import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import t as student

import daedal as dd
from daedal import der
from daedal.errors import STOP, EstimationError
from daedal.validation import tracing

x, y, k, a, b, c, x0, rate, asymptote = dd.symbols("x y k a b c x0 rate asymptote")

# Rooney and Biegler, AIChE J. 47 (2001): y = asymptote (1 − exp(−rate t)).
T = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 7.0])
Y = np.array([8.3, 10.3, 19.0, 16.0, 15.6, 19.8])


def oxygen(**rates):
    return dd.Model(
        name="oxygen",
        equations={"demand": der(y) == rate * (asymptote - y)},
        unknowns=[y],
        outputs={"y": y},
        parameters={asymptote: 15.0, rate: dd.Parameter(0.5, **rates)},
        initial={y: 0.0},
    )


@pytest.fixture(scope="module")
def oxygen_fit():
    return dd.fit(oxygen(), dd.Dataset(T, outputs={"y": Y}, t0=0.0), free=["asymptote", "rate"])


def squares_at_rate(value):
    """The other parameter enters linearly, so its best value is a quotient."""
    g = 1.0 - np.exp(-value * T)
    return np.sum((Y - g * (Y @ g) / (g @ g)) ** 2)


def squares_at_asymptote(value):
    return minimize_scalar(
        lambda r: np.sum((Y - value * (1.0 - np.exp(-r * T))) ** 2), bounds=(0.01, 20.0), options={"xatol": 1e-12}
    ).fun


def brute(squares, estimate, below, above, level):
    """Where the sum of squares has grown by q² s²."""
    least = squares(estimate)
    goal = least + student.ppf(0.5 + level / 2, 4) ** 2 * least / 4
    return tuple(brentq(lambda v: squares(v) - goal, *ends) for ends in ((below, estimate), (estimate, above)))


@pytest.mark.parametrize("level", [0.95, 0.8])
def test_rooney_and_biegler_by_brute_force(oxygen_fit, level):
    found = dd.profile(oxygen_fit, level=level)
    assert oxygen_fit["asymptote"].value == pytest.approx(19.1426, abs=1e-4)
    expected = brute(squares_at_rate, oxygen_fit["rate"].value, 0.05, 10.0, level)
    np.testing.assert_allclose(found.intervals["rate"], expected, rtol=1e-3)
    expected = brute(squares_at_asymptote, oxygen_fit["asymptote"].value, 13.0, 100.0, level)
    np.testing.assert_allclose(found.intervals["asymptote"], expected, rtol=1e-3)


def test_the_curve_is_the_minimum_over_the_others(oxygen_fit):
    curve = dd.profile(oxygen_fit, ["rate"])["rate"]
    assert np.all(np.diff(curve.values) > 0.0)
    assert curve.cost.min() == 0.0
    unit = oxygen_fit.scales["y"] ** 2
    expected = [0.5 * (squares_at_rate(value) - squares_at_rate(0.53109138)) / unit for value in curve.values]
    np.testing.assert_allclose(curve.cost, expected, atol=1e-5)
    g = 1.0 - np.exp(-np.outer(curve.values, T))
    np.testing.assert_allclose(curve.params["asymptote"], (g @ Y) / np.sum(g**2, axis=1), rtol=1e-4)
    np.testing.assert_array_equal(curve.params["rate"], curve.values)
    assert curve.wald == oxygen_fit.conf_int()["rate"]
    assert curve.interval[1] - curve.estimate > 1.5 * (curve.estimate - curve.interval[0])  # not symmetric


def test_an_interval_does_not_depend_on_the_scale(oxygen_fit):
    logarithmic = dd.fit(oxygen(scale="log"), dd.Dataset(T, outputs={"y": Y}, t0=0.0), free=["asymptote", "rate"])
    first, second = (dd.profile(fit, ["rate"]).intervals["rate"] for fit in (oxygen_fit, logarithmic))
    np.testing.assert_allclose(first, second, rtol=1e-3)


def decay(**parameters):
    return dd.Model(
        name="decay",
        equations={"rate": der(x) == -a * b * x},
        unknowns=[x],
        outputs={"x": x},
        parameters={a: 1.0, b: 1.5, x0: 1.0, **parameters},
        initial={x: x0},
    )


def decaying(pole=0.0):
    random, times = np.random.default_rng(1), np.arange(60) * 0.05
    noise = np.zeros(60)
    for i in range(1, 60):
        noise[i] = pole * noise[i - 1] + 0.02 * random.standard_normal()
    return dd.Dataset(times, outputs={"x": np.exp(-1.5 * times) + noise})


@pytest.mark.parametrize("pole", [0.0, 0.8])
def test_a_quadratic_criterion_gives_the_interval_of_the_curvature(pole):
    """x is linear in its start; with correlated residuals the sandwich widens both intervals alike."""
    fit = dd.fit(decay(), decaying(pole), free=["x0"])
    np.testing.assert_allclose(dd.profile(fit).intervals["x0"], fit.conf_int()["x0"], rtol=1e-4)


def test_only_a_product_matters_so_both_ends_are_open():
    fit = dd.fit(decay(), decaying(), free={"a": dd.Parameter(1.0, lower=0.2, upper=3.0), "b": 1.5, "x0": 1.0})
    found = dd.profile(fit, ["a", "x0"])
    assert found["a"].open == (True, True)
    assert found["a"].interval == (0.2, 3.0)
    assert found["x0"].open == (False, False)
    assert "OPEN below AND above" in str(found)
    assert "a: its lower bound, 0.2, is reached before the threshold" in str(found)


def test_without_bounds_an_open_end_is_infinite():
    free = {"a": dd.Parameter(1.0, scale="log"), "b": dd.Parameter(1.5, scale="log")}
    fit = dd.fit(decay(), decaying(), free=free)
    curve = dd.profile(fit, ["a"])["a"]
    assert curve.interval == (0.0, np.inf)
    assert curve.values[0] < 1e-4
    assert curve.values[-1] > 1e4
    printed = str(dd.profile(fit, ["a"]))
    assert "a: the threshold is not reached up to " in printed
    assert f"  a  {curve.estimate:.6g}  " in printed  # no zero, though it is one beside an endless interval


def test_a_bound_inside_the_interval_is_an_open_end(oxygen_fit):
    bounded = dd.fit(oxygen(upper=1.0), dd.Dataset(T, outputs={"y": Y}, t0=0.0), free=["asymptote", "rate"])
    curve = dd.profile(bounded, ["rate"])["rate"]
    assert curve.open == (False, True)
    assert curve.interval[1] == 1.0
    assert curve.interval[0] == pytest.approx(dd.profile(oxygen_fit, ["rate"]).intervals["rate"][0], rel=1e-3)


def test_a_linear_regression_has_the_exact_interval_of_the_likelihood_ratio():
    """y = a + b t: the profile of b ends at b̂ ± t s / √Σ(t − t̄)², Student's interval."""
    times = np.arange(12.0)
    values = 1.0 + 0.3 * times + 0.2 * np.random.default_rng(3).standard_normal(12)
    model = dd.Model(
        name="line", equations={"slope": der(x) == b}, unknowns=[x], outputs={"x": x}, parameters={a: 0.5, b: 0.1},
        initial={x: a},
    )  # fmt: skip
    fit = dd.fit(model, dd.Dataset(times, outputs={"x": values}), free=["a", "b"])
    slope, start = np.polyfit(times, values, 1)
    scatter = np.sqrt(np.sum((values - start - slope * times) ** 2) / 10)
    width = student.isf(0.025, 10) * scatter / np.sqrt(np.sum((times - times.mean()) ** 2))
    np.testing.assert_allclose(dd.profile(fit, ["b"]).intervals["b"], (slope - width, slope + width), rtol=1e-4)


@pytest.mark.parametrize("bounded", [True, False])
def test_the_profile_is_the_lowest_of_two_branches(bounded):
    """a ≈ 2 b with b² ≈ 1, so b ≈ 1 for large a and b ≈ −1 for small: a search from the neighbour keeps to one."""
    limits = {"lower": -3.0, "upper": 3.0} if bounded else {}
    model = dd.Model(
        name="branches",
        equations={"still": der(x) == 0.0},
        unknowns=[x],
        outputs={"square": 0.32 * (b**2 - 1.0) + x, "line": 0.16 * (a - 2.0 * b) + x, "tilt": 0.08 * b + 0.05 * a + x},
        parameters={a: 1.5, b: dd.Parameter(0.8, **limits)},
        initial={x: 0.0},
        measurement_noise={"square": 1.0, "line": 1.0, "tilt": 1.0},
    )
    noise = np.random.default_rng(1).standard_normal((3, 40))
    noise += [[0.0], [0.0], [0.19]] - noise.mean(axis=1, keepdims=True)
    data = dd.Dataset(np.arange(40.0), outputs=dict(zip(("square", "line", "tilt"), noise, strict=True)))
    starts = None if bounded else [{"a": 1.5, "b": 0.8}, {"a": -1.5, "b": -0.8}]
    fit = dd.fit(model, data, free=["a", "b"], starts=starts)
    curve = dd.profile(fit, ["a"], level=0.9995)["a"]
    grid = np.linspace(-3.0, 3.0, 20001)

    def cost(value):
        rows = [0.32 * (grid**2 - 1.0), 0.16 * (value - 2.0 * grid), 0.08 * grid + 0.05 * value]
        means = (0.0, 0.0, 0.19)
        return 20.0 * float(np.min(sum((mean - row) ** 2 for mean, row in zip(means, rows, strict=True))))

    assert np.ptp(np.sign(curve.params["b"])) == 2.0  # both branches are part of it
    least = cost(curve.estimate)
    np.testing.assert_allclose(curve.cost, [cost(value) - least for value in curve.values], atol=1e-4)
    expected = [brentq(lambda v: cost(v) - least - curve.threshold, *ends) for ends in ((-9.0, -2.0), (2.0, 9.0))]
    np.testing.assert_allclose(curve.interval, expected, rtol=1e-3)


def test_averages_over_realizations_keep_their_paths():
    w = dd.symbol("w")
    model = dd.Model(
        name="lag",
        equations={"lag": der(x) == -k * x + w**2},
        unknowns=[x],
        outputs={"x": x},
        parameters={k: 1.0, x0: 2.0},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.7, time_constant=0.5)},
        initial={x: x0},
        measurement_noise={"x": 0.05},
    )
    data = dd.simulate(model, np.arange(2000) * 0.1, realizations=1, measurement_noise=True, rng=1).to_dataset()
    fit = dd.fit(model, data, free=["k", "x0"], criterion=dd.SimulationPEM(realizations=32), rng=3)
    found = dd.profile(fit, ["k"], points=3)
    assert not found.notes  # no lower minimum: the function is that of the fit
    low, high = found.intervals["k"]
    wald = fit.conf_int()["k"]
    assert low == pytest.approx(wald[0], abs=0.3 * (wald[1] - wald[0]))
    assert high == pytest.approx(wald[1], abs=0.3 * (wald[1] - wald[0]))


def test_an_interrupt_keeps_what_is_complete(oxygen_fit, monkeypatch):
    home = sys.modules["daedal.validation.profiles"]  # the package has the verb under that name
    real, complete = home.trace, []
    both = threading.Event()

    def trace(shared, place, direction, points):
        if place > 0 or both.is_set():
            assert both.wait(60.0)  # sides are followed in threads
            raise KeyboardInterrupt
        one = real(shared, place, direction, points)
        complete.append(direction)
        if len(complete) == 2:
            both.set()
        return one

    monkeypatch.setattr(home, "trace", trace)
    found = dd.profile(oxygen_fit)
    assert not found.complete
    assert list(found.curves) == ["asymptote"]
    assert "interrupted before 'rate'" in str(found)
    with pytest.raises(KeyboardInterrupt):
        dd.profile(oxygen_fit)


def test_an_interrupt_of_one_side_ends_the_others(oxygen_fit, monkeypatch):
    home = sys.modules["daedal.validation.profiles"]
    real, below = home.trace, threading.Event()

    def trace(shared, place, direction, points):
        if (place, direction) == (0, 1.0):
            assert below.wait(60.0)
            raise KeyboardInterrupt
        if place > 0:
            assert STOP.get()._event.wait(60.0)
        one = real(shared, place, direction, points)
        below.set()
        return one

    monkeypatch.setattr(home, "trace", trace)
    found = dd.profile(oxygen_fit)
    assert "interrupted within 'asymptote'" in str(found)
    assert found["asymptote"].open[1]
    assert not found.complete


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 95, "0.95"])
def test_levels_that_are_no_probability(oxygen_fit, level):
    with pytest.raises(EstimationError, match=r"level must lie between 0 and 1, got .* Write level=0.95"):
        dd.profile(oxygen_fit, level=level)


def test_values_that_chance_or_a_corrected_slope_moves_have_no_profile(oxygen_fit, monkeypatch):
    """Those of Laplace's approximation, put right by records, are least elsewhere than at the estimate."""
    restored = tracing.restore_objective(tracing.match_fit(oxygen_fit))

    def evaluate(point):
        return replace(restored(point), rough=True, monte_carlo_error=1.0)

    monkeypatch.setattr(tracing, "restore_objective", lambda _: evaluate)
    with pytest.raises(EstimationError, match="tell no profile"):
        dd.profile(oxygen_fit)


def test_arguments_that_cannot_be_profiled(oxygen_fit):
    with pytest.raises(EstimationError, match=r"no estimate 'rat'. Did you mean 'rate'"):
        dd.profile(oxygen_fit, ["rat"])
    with pytest.raises(
        EstimationError, match=r"names of profile must be a list, got 'rate'.*Write profile\(fit, \['rate'\]\)"
    ):
        dd.profile(oxygen_fit, "rate")
    with pytest.raises(EstimationError, match="list of names of profile is empty"):
        dd.profile(oxygen_fit, [])
    with pytest.raises(EstimationError, match="points must be a whole number from 2 on, got 1"):
        dd.profile(oxygen_fit, points=1)
    with pytest.raises(EstimationError, match="profile takes a Fit, got the model 'oxygen'"):
        dd.profile(oxygen())
    with pytest.raises(EstimationError, match="no parameter 'rate'"):
        dd.profile(oxygen_fit, [asymptote], points=2)["rate"]


def test_ends_of_a_nonlinear_likelihood_are_where_it_has_fallen_by_the_quantile_with_all_others_at_their_best():
    x, w, a, s = dd.symbols("x w a s")
    model = dd.Model(
        name="cubic",
        equations={"rate": der(x) == -a * x - 0.5 * x**3 + w},
        unknowns=[x],
        outputs={"x": x},
        parameters={a: dd.Parameter(0.6, lower=0.01, upper=20.0, scale="log"), s: dd.Parameter(0.5, lower=0.01)},
        disturbances={w: dd.FilteredNoise.low_pass(std=s, time_constant=1.0)},
        measurement_noise={"x": 0.1},
        initial={x: 1.0},
    )
    times = np.arange(60) * 0.4
    data = dd.simulate(model, times, realizations=1, measurement_noise=True, rng=5).to_dataset()
    criterion = dd.Likelihood(method="laplace")
    fit = dd.fit(model, data, free=["a", "s"], criterion=criterion)
    curve = dd.profile(fit, ["s"], points=2)["s"]
    quantile = fit.quantile(0.95, "s") ** 2
    for end, is_open in zip(curve.interval, curve.open, strict=True):
        assert not is_open
        again = dd.fit(model.with_parameters({"s": end}), data, free=["a"], criterion=criterion)
        assert 2.0 * (fit.loglik - again.loglik) == pytest.approx(quantile, rel=2e-3)
