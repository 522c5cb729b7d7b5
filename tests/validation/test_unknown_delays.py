"""Delays among the free parameters: what the data say about them, against closed forms and brute force.

Two delays in a row, x' = −k x + u(t − one − two), show only their sum; a delay of what rests shows nothing; the ends of
a profile are where the cost with the delay held there says.
"""

import numpy as np
import pytest

import daedal as dd
from daedal import delay, der

x, u, one, two, k = dd.symbols("x u one two k")
TIMES = np.arange(1, 81) * 0.1
DRIVE = dd.Signal(np.arange(0.0, 9.0), np.array([0.0, 1.0, -0.5, 2.0, 0.3, -1.0, 1.5, 0.0, 0.0]), "zoh")


def late(total) -> dd.Model:
    return dd.Model(
        name="late",
        equations={"rate": der(x) == -k * x + delay(u, total)},
        unknowns=[x],
        inputs=[u],
        outputs={"y": x},
        parameters={
            one: dd.Parameter(0.3, lower=0.05, upper=1.5),
            two: dd.Parameter(0.4, lower=0.05, upper=1.5),
            k: 1.0,
        },
        initial={x: 0.0},
    )


def recorded(signal) -> dd.Dataset:
    truth = late(one + two).with_parameters({"one": 0.25, "two": 0.37, "k": 1.2})
    clean = dd.simulate(truth, TIMES, inputs={"u": signal}, t0=0.0)["y"]
    noise = 0.02 * np.random.default_rng(0).standard_normal(TIMES.size)
    return dd.Dataset(TIMES, inputs={"u": signal}, outputs={"y": clean + noise}, t0=0.0)


def squares(data, held) -> float:
    """The least sum of squares with the delay held."""
    found = dd.fit(late(one), data, free=["k"], fixed={"one": held})
    model = late(one).with_parameters({"one": held, "k": found["k"].value})
    return float(np.sum((dd.simulate(model, TIMES, inputs={"u": DRIVE}, t0=0.0)["y"] - data["y"]) ** 2))


def test_of_two_delays_in_a_row_only_the_sum_is_determined():
    found = dd.fit(late(one + two), recorded(DRIVE), free=["one", "two", "k"], starts=[{}])
    shown = dd.identifiability(found)
    assert set(shown.not_determined) == {"one", "two"}
    worst = shown.directions[-1].weights
    sizes = {name: found[name].value for name in ("one", "two")}
    moved = [worst[name] * sizes[name] for name in ("one", "two")]
    assert moved[0] == pytest.approx(-moved[1], rel=1e-3)  # what one gains the other loses
    assert found["one"].value + found["two"].value == pytest.approx(0.62, abs=0.03)


def test_a_delay_of_a_constant_is_not_determined():
    rest = dd.Signal(np.array([-3.0, 9.0]), np.array([1.0, 1.0]))
    found = dd.fit(late(one), recorded(rest), free=["one", "k"], starts=[{}])
    assert dd.identifiability(found).not_determined == ("one",)
    assert np.isinf(found["one"].std_error)


def test_a_profile_of_a_delay_is_the_cost_where_it_is_held():
    data = recorded(DRIVE)
    found = dd.fit(late(one), data, free=["one", "k"])
    low, high = dd.profile(found, ["one"]).intervals["one"]
    assert low < found["one"].value < high
    assert low < 0.62 < high
    at_best, *at_ends = [squares(data, each) for each in (found["one"].value, low, high)]
    for at_end in at_ends:
        assert (at_end / at_best - 1.0) * (TIMES.size - 2) == pytest.approx(3.96, rel=0.1)  # F(1, 78) at 95 %


def test_standard_errors_of_a_delay_are_its_scatter():
    """Over data sets with the same drive and other noise; 40 of them know a deviation to 11 %."""
    model = late(one).with_parameters({"one": 0.62, "k": 1.2})
    clean = dd.simulate(model, TIMES, inputs={"u": DRIVE}, t0=0.0)["y"]
    ends, errors = [], []
    for seed in range(40):
        y = clean + 0.02 * np.random.default_rng(seed).standard_normal(TIMES.size)
        data = dd.Dataset(TIMES, inputs={"u": DRIVE}, outputs={"y": y}, t0=0.0)
        found = dd.fit(model, data, free=["one", "k"], starts=[{}])
        ends.append(found["one"].value)
        errors.append(found["one"].std_error)
    assert np.std(ends, ddof=1) == pytest.approx(np.mean(errors), rel=0.35)
    assert abs(np.mean(ends) - 0.62) < 4.0 * np.std(ends) / np.sqrt(40)


def test_a_search_that_starts_beyond_the_data_says_so():
    far = {"one": dd.Parameter(20.0, lower=0.05, upper=40.0), "k": dd.Parameter(1.0)}
    found = dd.fit(late(one), recorded(DRIVE), free=far)
    assert found["one"].value == pytest.approx(0.62, abs=0.03)
    assert "at the start the delay in 'delay(u, one)' is 20, longer than the data, which cover 8" in str(found)
