"""Starts by instrumental variables, and what is estimated from them."""

import numpy as np
import pytest
from recorded import RINGING, driven, recorded, ringing, switching

import daedal as dd
from daedal.order.output_error import polish
from daedal.order.refined_iv import find_starts, refine
from daedal.order.response import Shape, compute_response, make_monic

RAO_GARNIER = dd.TransferFunction([-6400.0, 1600.0], [1.0, 5.0, 408.0, 416.0, 1600.0])


def theta_of(tf):
    rows = [tf.numerator[name][::-1] for name in tf.inputs]
    return np.concatenate([tf.denominator[:0:-1], *rows])


def rao_garnier(count=2000, seed=0):
    times = np.arange(count) * 0.02
    drive = dd.Signal(times, switching(count, 7, seed=5), "zoh")
    clean = dd.simulate(RAO_GARNIER, times, inputs={"u": drive})["y"]
    noise = np.random.default_rng(seed).standard_normal(count) * np.std(clean) / np.sqrt(10)
    return dd.Dataset(times, inputs={"u": drive}, outputs={"y": clean + noise})


def test_exact_data_give_exact_coefficients():
    """But for the straight lines that the output is taken for between its samples."""
    times = np.arange(3000) * 0.005
    drive = dd.Signal(times, np.sin(times) + np.sin(2.7 * times), "spline")
    data = recorded(driven(RINGING, times, {"u": drive}))
    shape = Shape(2, 0, 1, False)
    assert np.allclose(refine(shape, data, np.array([1.0, 2.0]), rounds=30), theta_of(RINGING), rtol=1e-3)


@pytest.mark.parametrize("cutoff", [0.3, 3.0, 30.0])
def test_rounds_take_the_bias_of_least_squares_away(cutoff):
    """Errors in the regressors bias one round; instruments do not have them."""
    data = recorded(ringing(4000, 0.3))
    shape = Shape(2, 0, 1, False)
    a = np.poly([-cutoff] * 2)[:0:-1]
    first, last = (refine(shape, data, a, rounds) for rounds in (1, 10))
    errors = [np.max(np.abs(each / theta_of(RINGING) - 1)) for each in (first, last)]
    assert errors[1] < 0.05
    assert errors[1] < errors[0]


def test_some_start_lies_where_output_error_ends():
    data = recorded(rao_garnier())
    shape = Shape(4, 1, 1, True)
    best = polish(shape, np.concatenate([theta_of(RAO_GARNIER), np.zeros(4)]), data)
    found = dd.RefinedIV().estimate(shape, data)
    assert np.isclose(found.squares, best.squares, rtol=1e-5)
    assert len(find_starts(shape, data)) == 4


@pytest.mark.parametrize("shape", [(3, 1), (3, 0), (2, 1), (2, 2)])
def test_a_smaller_model_is_a_start_of_a_larger_one(shape):
    """With a fast pole, with zeros, or with both in the same place: its response hardly changes."""
    data = recorded(ringing())
    small = polish(Shape(2, 0, 1, True), np.array([2.0, 1.4, 2.0, 0.0, 0.0]), data)
    larger = Shape(*shape, 1, True)
    (start,) = find_starts(larger, data, [small], cutoffs=0)
    moved = compute_response(larger, start, data).y - compute_response(small.shape, small.theta, data).y
    assert np.abs(moved).max() < (0.2 if shape == (3, 0) else 1e-10)


def test_a_known_delay():
    times = np.arange(400) * 0.1
    late = dd.TransferFunction([2.0], [1.0, 1.4, 2.0], delay=0.45)
    values = np.where(times < 1.0, 0.0, switching(400))
    data = driven(late, times, {"u": dd.Signal(times, values, "zoh")})
    found = dd.RefinedIV(delay=0.45).estimate(Shape(2, 0, 1, True), recorded(data))
    assert np.allclose(found.theta[:3], [2.0, 1.4, 2.0], rtol=1e-6)
    assert not found.free_delays


def test_delays_of_two_inputs_are_told_apart():
    times = np.arange(400) * 0.1
    late = dd.TransferFunction({"u": [2.0], "v": [1.0]}, [1.0, 1.4, 2.0], delay={"u": 0.12, "v": 0.8})
    quiet = times >= 1.0
    drives = {name: dd.Signal(times, quiet * switching(400, 8, seed), "zoh") for seed, name in enumerate("uv")}
    noise = 0.01 * np.random.default_rng(2).standard_normal(400)
    data = recorded(driven(late, times, drives, noise))
    found = dd.RefinedIV(delay="estimated", largest_delay=1.2).estimate(Shape(2, 0, 2, True), data)
    errors = np.sqrt(np.diag(found.covariance)[-2:])
    assert np.all(errors < 0.01)
    assert np.all(np.abs(np.array(found.record.delays) - [0.12, 0.8]) < 4 * errors)


def test_an_unstable_start_of_the_filter_is_mirrored():
    data = recorded(ringing(deviation=0.5, seed=3))
    for start in find_starts(Shape(3, 1, 1, True), data):
        assert np.all(np.roots(make_monic(start[:3])).real <= 0.0)
