"""The chosen candidate of a search as an ordinary Fit."""

import numpy as np
import pytest
from recorded import RINGING, driven, switching
from scipy.signal import lfilter

import daedal as dd

TIMES = np.arange(600) * 0.1


def begin_at_rest(values):
    """What a delay looks back to before the first sample is then what it was: zero."""
    return np.where(TIMES < 1.2, 0.0, values)


def recorded(tf, noise, kind="zoh"):
    return driven(tf, TIMES, {"u": dd.Signal(TIMES, begin_at_rest(switching(600, 12, seed=1)), kind)}, noise)


def white(deviation=0.02):
    return deviation * np.random.default_rng(0).standard_normal(600)


def assert_same(found):
    for name, value in found.chosen.coefficients.items():
        estimate = found.fit[name]
        assert abs(estimate.value - value) < 0.1 * found.chosen.std_errors[name]
        assert np.isclose(estimate.std_error, found.chosen.std_errors[name], rtol=0.3)


@pytest.mark.parametrize("kind", ["zoh", "foh"])
def test_an_estimated_delay_is_free(kind):
    data = recorded(dd.TransferFunction([2.0], [1.0, 1.4, 2.0], 0.53), white(), kind)
    found = dd.select_order(data, orders=[2], input_orders=[0], method=dd.RefinedIV("estimated", largest_delay=1.0))
    assert_same(found)
    estimate = found.fit["delay"]
    assert np.isclose(estimate.value, found.transfer_function.delay["u"], rtol=1e-3)
    assert np.isclose(estimate.std_error, found.chosen.delay_errors["u"], rtol=0.3)


def test_a_given_delay_is_not():
    data = recorded(dd.TransferFunction([2.0], [1.0, 1.4, 2.0], 0.5), white())
    found = dd.select_order(data, orders=[2], input_orders=[0], method=dd.RefinedIV(0.5))
    assert_same(found)
    assert "delay" not in found.fit.model.parameters


def test_delays_of_two_inputs():
    rng = np.random.default_rng(3)
    values = {name: begin_at_rest(np.repeat(rng.choice([-1.0, 1.0], 100), 6)) for name in ("u", "delay_u")}
    inputs = {name: dd.Signal(TIMES, values[name], "zoh") for name in values}
    tf = dd.TransferFunction({"u": [2.0], "delay_u": [1.0]}, [1.0, 1.4, 2.0], {"u": 0.53, "delay_u": 0.2})
    method = dd.RefinedIV("estimated", largest_delay=1.0)
    found = dd.select_order(driven(tf, TIMES, inputs, white()), orders=[2], input_orders=[0], method=method)
    assert_same(found)
    for name, truth in (("delay_u_", 0.53), ("delay_delay_u", 0.2)):
        assert abs(found.fit[name].value - truth) < 4.0 * found.fit[name].std_error < 0.04


def test_coloured_noise_is_whitened():
    data = recorded(RINGING, lfilter([1.0], [1.0, -0.9], white(0.05)))
    found = dd.select_order(data, orders=[2], input_orders=[0], method=dd.RefinedIV(noise=True))
    assert_same(found)
    assert "OutputError(whiten=" in str(found.fit)


@pytest.mark.parametrize("initial", ["zero", "free"])
def test_the_search_and_its_fit_have_one_bic(initial):
    data = recorded(RINGING, white())
    plain = dd.select_order(data, orders=[1, 2, 3], initial=initial)
    assert np.isclose(plain.fit.bic, plain.chosen.bic, rtol=0.0, atol=1e-3)
    n, p = 600, len(plain.chosen.coefficients) + 1
    if initial == "zero":
        assert np.isclose(plain.fit.bic, p * np.log(n) - 2 * plain.fit.loglik)
    coloured = recorded(RINGING, lfilter([1.0], [1.0, -0.9], white(0.05)))
    whitened = dd.select_order(coloured, orders=[1, 2, 3], initial=initial, method=dd.RefinedIV(noise=True))
    assert np.isclose(whitened.fit.bic, whitened.chosen.bic, rtol=0.0, atol=0.5)  # its filter is made anew


def test_irregular_samples_are_not_whitened():
    times = np.sort(np.random.default_rng(4).uniform(0.0, 60.0, 600))
    drive = dd.Signal(np.append(TIMES, 60.0), np.append(switching(600, 12, seed=1), 0.0), "zoh")
    clean = dd.simulate(RINGING, times, inputs={"u": drive}, t0=0.0)["y"]
    data = dd.Dataset(times, inputs={"u": drive}, outputs={"y": clean + white()}, t0=0.0)
    found = dd.select_order(data, orders=[2], input_orders=[0], method=dd.RefinedIV(noise=1))
    assert "by OutputError()" in str(found.fit)


def test_a_start_that_cannot_be_told_from_zero_is_an_answer():
    """The record begins at rest: the state at the start is zero within its standard error, which is small."""
    found = dd.select_order(recorded(RINGING, white()), orders=[2], input_orders=[0])
    for name in ("x0_start", "x1_start"):
        estimate = found.fit[name]
        assert abs(estimate.value) < 3.0 * estimate.std_error < 0.3
        assert estimate.verdict == "determined"


def test_the_fit_keeps_what_its_search_says():
    coloured = recorded(RINGING, lfilter([1.0], [1.0, -0.9], white(0.05)))
    found = dd.select_order(coloured, orders=[2], input_orders=[0])
    (said,) = [note for note in found.notes if "autocorrelated" in note]
    assert said in found.fit.notes
    assert "autocorrelated" in str(found.fit)
