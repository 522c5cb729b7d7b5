"""What an order search cannot use is refused in the user's names, with a remedy."""

import numpy as np
import pytest
from recorded import ringing, switching

import daedal as dd

TIMES = np.arange(100) * 0.1
VALUES = switching(100)
NOISE = np.random.default_rng(0).standard_normal(100)


def data(u=VALUES, y=NOISE, times=TIMES, kind="zoh", **more):
    inputs = u if isinstance(u, dict) else {"u": u}
    outputs = y if isinstance(y, dict) else {"y": y}
    return dd.Dataset(times, inputs=inputs, outputs=outputs, intersample=kind, **more)


REFUSED = {
    "constant input": (lambda: {"data": data(u=np.ones(100))}, "The input 'u' does not vary"),
    "constant output": (lambda: {"data": data(y=np.full(100, 3.3))}, "The output 'y' does not vary"),
    "output of zeros": (lambda: {"data": data(y=np.zeros(100))}, "The output 'y' does not vary"),
    "no samples": (lambda: {"data": data(y=np.full(100, np.nan))}, "'y' has 0 samples that can be used"),
    "few samples": (
        lambda: {"data": data(NOISE[:9], NOISE[:9], TIMES[:9]), "orders": [3]},
        "'y' has 9 samples, fewer than twice the numbers to estimate",
    ),
    "order zero": (lambda: {"orders": [0, 1]}, "orders must be whole numbers from 1 to 50, got 0"),
    "half an order": (lambda: {"orders": [1.5]}, "orders must be whole numbers from 1 to 50, got 1.5"),
    "too many orders": (lambda: {"orders": range(1, 10**15)}, "whole numbers from 1 to 50, got 51"),
    "one order": (lambda: {"orders": 3}, "orders must be a list of whole numbers, got 3"),
    "no orders": (lambda: {"orders": []}, "The list of orders is empty"),
    "negative input order": (lambda: {"input_orders": [-1]}, "input_orders must be whole numbers from 0 to 50"),
    "improper": (lambda: {"orders": [1, 2], "input_orders": [3]}, "An input order of 3 for 2 poles is improper"),
    "input too short": (
        lambda: {"data": data(u=dd.Signal(TIMES[:80], VALUES[:80], "zoh"))},
        "Input 'u' is known from 0 to 7.9, but is needed from 0 to 9.9",
    ),
    "input too late": (
        lambda: {"data": data(u=dd.Signal(TIMES[20:], VALUES[20:], "zoh"))},
        "Input 'u' is known from 2 to 9.9, but is needed from 0 to 9.9",
    ),
    "input that varies elsewhere": (
        lambda: {"data": data(u=dd.Signal([0.0, 50.0, 60.0], [1.0, 2.0, 1.0], "zoh"))},
        "The input 'u' does not vary",
    ),
    "same inputs": (
        lambda: {"data": data(u={"u": VALUES, "v": -2 * VALUES})},
        "The inputs 'u' and 'v' are the same up to a factor",
    ),
    "input twice": (lambda: {"inputs": ["u", "u"]}, "The input 'u' is named twice"),
    "input by one name": (lambda: {"inputs": "u"}, "The inputs must be a list of names, got 'u'"),
    "unknown input": (lambda: {"inputs": ["w"]}, "The data have no input 'w'"),
    "empty inputs": (lambda: {"inputs": []}, "The list of inputs is empty"),
    "two outputs": (
        lambda: {"data": data(y={"y": NOISE, "z": NOISE})},
        "works on one output, and the data have 2 outputs: 'y' and 'z'",
    ),
    "unknown output": (lambda: {"output": "w"}, "The data have no output 'w'"),
    "no inputs": (lambda: {"data": dd.Dataset(TIMES, outputs={"y": NOISE})}, "needs an input, and the data have none"),
    "neither stable nor not": (lambda: {"stable": "yes"}, "stable must be True or False, got 'yes'"),
    "outputs as a number": (lambda: {"output": 3}, "The output must be a name or a list of names, got 3"),
    "no outputs": (lambda: {"output": []}, r"The output must be a name or a list of names, got \[\]"),
    "an output twice": (lambda: {"output": ["y", "y"], "orders": [1]}, "The output 'y' is named twice"),
    "an unknown output in a list": (lambda: {"output": ["z"]}, "The data have no output 'z'"),
    "an array": (lambda: {"data": NOISE}, "select_order takes a Dataset, got ndarray"),
    "method as a class": (lambda: {"method": dd.RefinedIV}, "The method must be RefinedIV"),
    "method as text": (lambda: {"method": "srivc"}, "The method must be RefinedIV"),
    "initial": (lambda: {"initial": "rest"}, "initial must be 'free' or 'zero', got 'rest'"),
    "delay beyond the record": (
        lambda: {"method": dd.RefinedIV(delay=20.0)},
        "Delayed by 20, the input 'u' does not vary during the record, which lasts 9.9",
    ),
    "noise of high order": (lambda: {"method": dd.RefinedIV(noise=200), "orders": [1]}, "must be from 0 to 99 here"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    arguments, said = REFUSED[name]
    with pytest.raises(dd.DaedalError, match=said) as refused:
        dd.select_order(**{"data": data()} | arguments())
    assert refused.value.remedy


@pytest.mark.parametrize(
    "arguments",
    [{"delay": -1.0}, {"delay": np.nan}, {"delay": "yes"}, {"delay": True}, {"largest_delay": 0.0}, {"noise": 2.5}],
)
def test_a_method_refuses_its_arguments(arguments):
    with pytest.raises(dd.DaedalError, match="must be"):
        dd.RefinedIV(**arguments)


def test_unsorted_times_are_refused_by_the_data():
    with pytest.raises(dd.DaedalError, match="times must increase"):
        data(times=TIMES[::-1])


@pytest.mark.parametrize("noise", [False, True])
def test_pure_noise_gives_a_small_model_that_is_called_loose(noise):
    found = dd.select_order(data(), orders=[1, 2], method=dd.RefinedIV(noise=noise))
    assert found.order == 1
    assert "hardly in the data" in found.notes[0]


def test_candidates_for_which_samples_do_not_suffice_are_left_out():
    found = dd.select_order(data(NOISE[:12], NOISE[20:32], TIMES[:12]))
    assert {each.order for each in found.candidates} == {1, 2}
    assert "12 candidates left out: 12 samples do not suffice for so many coefficients" in found.notes


@pytest.mark.parametrize(
    "options",
    [
        {"orders": [7], "input_orders": [0], "stable": False},
        {"orders": [2], "input_orders": [2], "method": dd.RefinedIV("estimated", largest_delay=0.3)},
        {"orders": [1], "method": dd.RefinedIV("estimated", largest_delay=1e9)},
        {"orders": [1], "method": dd.RefinedIV("estimated", largest_delay=1e-9)},
    ],
)
def test_odd_wishes_are_met(options):
    found = dd.select_order(ringing(80), **options)
    assert np.isfinite(found.chosen.fit_percent)


@pytest.mark.parametrize("gaps", [slice(0, 40), slice(60, 100), slice(None, None, 2)])
def test_gaps_anywhere(gaps):
    whole = ringing(100)
    values = whole["y"].copy()
    values[gaps] = np.nan
    some = dd.Dataset(whole.sample_times, inputs=dict(whole.inputs), outputs={"y": values})
    for noise in (False, True):
        found = dd.select_order(some, orders=[2], input_orders=[0], method=dd.RefinedIV(noise=noise))
        assert abs(found.chosen.coefficients["a0"] - 2.0) < 5 * found.chosen.std_errors["a0"]


def test_output_that_grows_like_nothing_the_search_looks_at():
    grown = np.exp(TIMES) + 0.01 * NOISE
    assert dd.select_order(data(y=grown), orders=[1, 2], stable=False).chosen.transfer_function is not None


def test_fifty_thousand_samples():
    found = dd.select_order(ringing(50_000, 0.2, step=0.02), orders=[2], input_orders=[0])
    assert abs(found.chosen.coefficients["a0"] - 2.0) < 4 * found.chosen.std_errors["a0"]
