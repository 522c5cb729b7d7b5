"""What the data determine: few samples, products, bounds, logarithms that run away."""

from dataclasses import replace

import numpy as np
import pytest

import daedal as dd
from batteries.criterion import push, square
from batteries.fits import DATA, TIMES, b, c, decay, k, levels, line, noisy, omega, sine, x
from daedal import der


def test_exact_data_are_fitted_exactly():
    found = dd.fit(decay(), levels(np.exp(-TIMES)), free=["k"])
    assert found["k"].value == pytest.approx(1.0, abs=1e-7)
    assert found.status.ok
    assert found.fit_percent["level"] == pytest.approx(100.0)
    assert str(found)


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


def folded(lower=0.5, upper=8.0, times=None, noise=0.02):
    """Of sin² ωt, sampled eight times in 2π, ω and 4 − ω are the same; started at both."""
    times = np.arange(8) * (2.0 * np.pi / 8.0) if times is None else times
    model = replace(sine(1.2), outputs={"y": x**2}, parameters={omega: dd.Parameter(1.5, lower=lower, upper=upper)})
    data = dd.Dataset(times, outputs={"y": noisy(np.sin(1.5 * times) ** 2, noise, 1)})
    return dd.fit(model, data, free=["omega"], starts=[{"omega": 1.497}, {"omega": 2.503}])


def test_a_verdict_follows_an_interval_that_holds_another_minimum():
    found = folded()
    one, other = sorted(minimum.params["omega"] for minimum in found.minima)
    assert other - one == pytest.approx(1.0, abs=0.05)
    assert found["omega"].std_error < 0.01
    assert found["omega"].verdict == "loosely determined"
    text = str(found)
    assert "loose" in text
    elsewhere = found.minima[1].params["omega"]
    assert f"another minimum fits as well for all that the data tell, with omega = {elsewhere:.5g}" in text
    low, high = found.conf_int()["omega"]
    assert f"95 % between {low:.4g} and {high:.4g}" in dd.identifiability(found)["omega"]


def test_a_minimum_that_the_data_exclude_leaves_the_verdict():
    found = folded(times=np.arange(40) * 0.15)
    assert found["omega"].verdict == "determined"
    assert "another minimum" not in str(found)


def test_an_interval_from_bound_to_bound_determines_nothing():
    """Both minima lie so near their bounds that nothing between these is excluded."""
    found = folded(lower=1.495, upper=2.505)
    assert found.conf_int()["omega"] == (1.495, 2.505)
    assert found["omega"].verdict == "not determined"
    assert "not determined by these data: omega" in str(found)


def test_a_parameter_at_its_bound_whose_interval_is_open_is_not_determined():
    """Ten times the offset's room between its bounds is within the noise."""
    model = line(parameters={b: 0.5, c: dd.Parameter(0.1, lower=0.0, upper=0.2)})
    data = dd.Dataset(TIMES, outputs={"y": noisy(0.5 * TIMES, 1.0, 5) - 0.6})
    found = dd.fit(model, data, free=["b", "c"])
    assert found["c"].at_bound
    assert found.conf_int()["c"] == (0.0, 0.2)
    assert found["c"].verdict == "not determined"
