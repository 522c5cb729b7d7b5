"""Responses of transfer functions to records, and their slopes."""

import numpy as np
import pytest
from recorded import recorded, switching
from scipy import signal

import daedal as dd
from daedal.order.response import Shape, bring_back, compute_response, is_usable, make_monic

COUNT = 120
TIMES = np.arange(COUNT) * 0.1
VALUES = {"u": switching(COUNT, 7), "v": np.sin(0.9 * TIMES) + 0.3}
IRREGULAR = np.sort(np.random.default_rng(3).uniform(0.0, TIMES[-1], COUNT))


def made(kind, inputs=("u",), times=TIMES, t0=None):
    drives = {name: dd.Signal(TIMES, VALUES[name], kind) for name in inputs}
    return recorded(dd.Dataset(times, inputs=drives, outputs={"y": np.sin(times)}, t0=t0))


def numbers(shape, seed=0):
    """Coefficients with poles of moderate speed, and a start."""
    rng = np.random.default_rng(seed)
    poles = [-0.3 + 2.1j, -0.3 - 2.1j, -1.5, -4.0][: shape.order]
    a = np.real(np.poly(poles if shape.order != 1 else [-1.5]))[:0:-1]
    return np.concatenate([a, rng.normal(size=shape.size - shape.order)])


@pytest.mark.parametrize(("kind", "interpolate"), [("zoh", False), ("foh", True)])
@pytest.mark.parametrize(("order", "input_order"), [(1, 0), (2, 1), (3, 0), (2, 2), (1, 1)])
def test_from_rest_it_is_that_of_scipy(kind, interpolate, order, input_order):
    shape = Shape(order, input_order, 1, False)
    theta = numbers(shape)
    a, b, _ = shape.split(theta)
    found = compute_response(shape, theta, made(kind)).y
    expected = signal.lsim((b[0][::-1], make_monic(a)), VALUES["u"], TIMES, interp=interpolate)[1]
    assert np.allclose(found, expected, atol=1e-10 * np.abs(expected).max())


def test_a_free_start_is_the_free_response_of_its_equation():
    """c(s)/a(s) with y(0) = c₁, y'(0) = c₀ − a₁ c₁ for two poles."""
    shape = Shape(2, 0, 1, True)
    theta = np.array([2.0, 3.0, 0.0, 0.7, 1.3])
    found = compute_response(shape, theta, made("zoh")).y
    rate, level = 0.7 - 3.0 * 1.3, 1.3
    slow = 2.0 * level + rate
    assert np.allclose(found, slow * np.exp(-TIMES) + (level - slow) * np.exp(-2 * TIMES), atol=1e-12)


SHAPES = [Shape(1, 0, 1, True), Shape(2, 1, 2, True), Shape(3, 2, 1, False), Shape(2, 2, 2, True), Shape(4, 1, 1, True)]


@pytest.mark.parametrize("kind", ["zoh", "foh", "spline"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("times", [TIMES, IRREGULAR], ids=["regular", "irregular"])
def test_slopes_are_derivatives(shape, kind, times):
    data = made(kind, ("u", "v")[: shape.inputs], times, t0=0.0)
    theta = numbers(shape, 1)
    found = compute_response(shape, theta, data)
    assert found.slopes.shape == (COUNT, shape.size)
    for k in range(shape.size):
        h = 1e-6 * max(abs(theta[k]), 0.1)
        ahead, behind = (compute_response(shape, theta + sign * h * np.eye(shape.size)[k], data).y for sign in (1, -1))
        difference = (ahead - behind) / (2 * h)
        assert np.allclose(found.slopes[:, k], difference, atol=1e-7 * max(np.abs(difference).max(), 1e-3)), k


@pytest.mark.parametrize("start", [True, False])
@pytest.mark.parametrize("shape", [(2, 0), (2, 1), (3, 1), (2, 2)])
def test_rates_are_derivatives_with_respect_to_delays(shape, start):
    """With straight lines between samples, at a delay that puts their corners between the samples of the output."""
    shape = Shape(*shape, 2, start)
    data, theta = made("foh", ("u", "v")), numbers(shape, 2)
    delays = np.array([0.23, 0.04])
    found = compute_response(shape, theta, data.delay(delays), delays=True)
    for k in range(2):
        h = 1e-5 * np.eye(2)[k]
        ahead, behind = (compute_response(shape, theta, data.delay(delays + sign * h)).y for sign in (1, -1))
        difference = (ahead - behind) / 2e-5
        assert np.allclose(found.rates[k], -difference, atol=1e-6 * np.abs(difference).max())


def test_rates_of_an_input_that_is_held():
    shape = Shape(2, 0, 1, True)
    data, theta = made("zoh"), numbers(shape, 2)
    found = compute_response(shape, theta, data.delay([0.25]), delays=True)
    ahead, behind = (compute_response(shape, theta, data.delay([0.25 + h])).y for h in (1e-5, -1e-5))
    assert np.allclose(found.rates[0], (behind - ahead) / 2e-5, atol=1e-6)


def test_what_cannot_be_shown_has_no_response():
    data = made("zoh")
    assert is_usable(np.array([2.0, 0.1]), data)
    assert is_usable(np.array([-0.3]), data)  # grows by e^3.6 over the record
    assert not is_usable(np.array([-1.0]), data)
    assert not is_usable(np.array([400.0]), data)
    assert not is_usable(np.poly([-0.1 + 40j, -0.1 - 40j]).real[:0:-1], data)  # six turns in ten samples
    assert is_usable(np.poly([-60 + 40j, -60 - 40j]).real[:0:-1], data)  # gone before it turns
    assert not is_usable(np.array([np.nan]), data)
    assert compute_response(Shape(1, 0, 1, False), np.array([-1.0, 1.0]), data) is None


@pytest.mark.parametrize("poles", [[2.0], [-500.0], [0.3 + 50j, 0.3 - 50j], [1.0, -900.0, -2.0]])
def test_poles_are_brought_back(poles):
    data = made("zoh")
    a = bring_back(np.poly(poles).real[:0:-1], data)
    assert is_usable(a, data)
    assert np.all(np.roots(make_monic(a)).real <= 0.0)


def test_usable_poles_stay_as_they_are():
    a = np.array([2.0, 0.1])
    assert bring_back(a, made("zoh")) is a
