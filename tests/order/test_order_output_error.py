"""Output error with exact slopes, with and without a noise model."""

import numpy as np
import pytest
from recorded import RINGING, driven, recorded, ringing, switching
from scipy.optimize import least_squares
from scipy.signal import lfilter

import daedal as dd
from daedal.order.output_error import polish, polish_best, polish_on
from daedal.order.record import make_record
from daedal.order.response import Shape, compute_response

SHAPE = Shape(2, 0, 1, True)
TRUTH = np.array([2.0, 1.4, 2.0, 0.0, 0.0])


def test_it_is_the_least_sum_of_squares():
    data = recorded(ringing())
    found = polish(SHAPE, 1.2 * TRUTH, data)
    other = least_squares(lambda theta: data.y - compute_response(SHAPE, theta, data).y, TRUTH, xtol=1e-14, ftol=1e-14)
    assert np.isclose(found.squares, 2 * other.cost, rtol=1e-10)
    assert np.allclose(found.theta, other.x, rtol=1e-5, atol=1e-5)


def test_covariance_is_that_of_least_squares():
    data = recorded(ringing())
    found = polish(SHAPE, TRUTH, data)
    slopes = compute_response(SHAPE, found.theta, data).slopes
    expected = found.squares / (400 - 5) * np.linalg.inv(slopes.T @ slopes)
    assert np.allclose(found.covariance, expected, rtol=1e-6)


def test_missing_samples_do_not_count():
    whole = ringing()
    values = whole["y"].copy()
    values[::3] = np.nan
    gaps = dd.Dataset(whole.sample_times, inputs=dict(whole.inputs), outputs={"y": values})
    kept = np.isfinite(values)
    samples = dd.Samples(whole.sample_times[kept], values[kept])
    fewer = dd.Dataset(inputs=dict(whole.inputs), outputs={"y": samples}, t0=0.0)
    one, other = (polish(SHAPE, TRUTH, recorded(each)) for each in (gaps, fewer))
    assert np.allclose(one.theta, other.theta, rtol=1e-8, atol=1e-9)
    assert np.isclose(one.squares, other.squares, rtol=1e-10)
    assert np.isclose(one.information, other.information)


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_units_of_the_output_do_not_matter(factor):
    whole = ringing()
    scaled = dd.Dataset(whole.sample_times, inputs=dict(whole.inputs), outputs={"y": factor * whole["y"]})
    start = 1.3 * TRUTH
    one, other = polish(SHAPE, start, recorded(whole)), polish(SHAPE, start * [1, 1, *[factor] * 3], recorded(scaled))
    assert np.allclose(other.theta, one.theta * [1, 1, *[factor] * 3], rtol=1e-6, atol=1e-7 * factor)
    assert np.isclose(other.evaluations, one.evaluations, atol=2)


def test_roughly_and_then_on():
    data = recorded(ringing())
    rough, exact = (polish(SHAPE, 1.3 * TRUTH, data, roughly=each) for each in (True, False))
    assert abs(rough.information - exact.information) < 0.01
    assert rough.evaluations <= exact.evaluations
    assert np.isclose(polish_on(rough).squares, exact.squares, rtol=1e-9)


def test_a_start_without_a_response_is_none():
    data = recorded(ringing())
    assert polish(SHAPE, np.array([1.0, -5.0, 1.0, 0.0, 0.0]), data) is None
    assert polish_best(SHAPE, [(np.full(5, np.nan), data)]) is None
    assert polish_best(SHAPE, []) is None


def test_the_best_start_wins():
    data = recorded(ringing())
    poor = np.array([60.0, 0.1, -1.0, 0.0, 0.0])
    assert np.isclose(
        polish_best(SHAPE, [(poor, data), (TRUTH, data)]).squares, polish(SHAPE, TRUTH, data).squares, rtol=1e-6
    )


def test_delays_come_out_with_their_errors():
    times = np.arange(500) * 0.1
    late = dd.TransferFunction([2.0], [1.0, 1.4, 2.0], delay=0.37)
    noise = 0.02 * np.random.default_rng(0).standard_normal(500)
    values = np.where(times < 1.0, 0.0, switching(500))  # a delayed input is unknown before the record
    data = driven(late, times, {"u": dd.Signal(times, values, "zoh")}, noise)
    found = polish(SHAPE, TRUTH, recorded(data).delay([0.3]), free_delays=True)
    assert found.free_delays
    assert found.covariance.shape == (6, 6)
    error = np.sqrt(found.covariance[-1, -1])
    assert error < 0.01
    assert abs(found.record.delays[0] - 0.37) < 4 * error


def test_no_delay_is_exactly_none():
    found = polish(SHAPE, TRUTH, recorded(ringing(kind="foh", deviation=0.0)).delay([0.05]), free_delays=True)
    assert found.record.delays == (0.0,)


def coloured(seed, count=400):
    """The system with noise that drifts: correlated over some fifty samples."""
    times = np.arange(count) * 0.1
    noise = lfilter([0.03], [1.0, -0.98], np.random.default_rng(seed).standard_normal(count + 300))[300:]
    return driven(RINGING, times, {"u": dd.Signal(times, switching(count, seed=4), "zoh")}, noise)


def test_whitening_gives_smaller_errors_and_honest_intervals():
    shape = Shape(2, 0, 1, False)
    errors, inside = {False: [], True: []}, []
    for seed in range(16):
        for noise in (False, True):
            found = polish(shape, TRUTH[:3], recorded(coloured(seed)), noise)
            error = found.theta - TRUTH[:3]
            errors[noise].append(error)
        inside.append(np.abs(error) <= 1.96 * np.sqrt(np.diag(found.covariance)))
    plain, whitened = (np.sqrt(np.mean(np.square(errors[noise]), axis=0)) for noise in (False, True))
    assert np.all(whitened[1:] < 0.7 * plain[1:])  # a0 is the gain, which the drift hides from both
    assert np.mean(inside) > 0.88


def test_information_counts_the_noise_model():
    """With white noise the whitened criterion is the plain one, but for what some coefficients of noise cost."""
    data = recorded(ringing())
    plain, whitened = (polish(SHAPE, TRUTH, data, noise) for noise in (False, True))
    assert abs(whitened.information - plain.information) < 8.0
    fixed = polish(SHAPE, TRUTH, data, 3)
    assert fixed.noise.order == 3
    assert plain.information < fixed.information < plain.information + 3 * np.log(400) + 1.0


def test_information_is_schwarz_but_for_the_start():
    data = recorded(ringing())
    free, rest = polish(SHAPE, TRUTH, data), polish(Shape(2, 0, 1, False), TRUTH[:3], data)
    assert np.isclose(rest.information, 400 * (1 + np.log(2 * np.pi * rest.squares / 400)) + 4 * np.log(400))
    lasts = -np.log(0.1 * free.theta[1] / 2)  # both poles have the real part −a1/2
    likely = 400 * (1 + np.log(2 * np.pi * free.squares / 400))
    assert np.isclose(free.information, likely + 4 * np.log(400) + 2 * lasts)


def test_exact_data_do_not_reward_rounding():
    data = make_record("test", ringing(deviation=0.0), None, None)
    small = polish(SHAPE, 1.1 * TRUTH, data)
    large = polish(Shape(2, 1, 1, True), np.insert(1.1 * TRUTH, 3, 0.01), data)
    assert small.information < large.information
