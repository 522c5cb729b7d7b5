"""Numbers for parameters, derivatives of the matrices, and what is refused."""

import numpy as np
import pytest

from daedal.disturbances import (
    FilteredNoise,
    StateSpaceNoise,
    WhiteNoise,
    count_derivatives,
    differentiate_realization,
    find_needed_orders,
    list_parameters,
    realize,
)
from daedal.errors import ModelError
from daedal.symbolic import symbols

a, b, k = symbols("a b k")
FILTER = FilteredNoise(numerator=[k, 2.0], denominator=[b, np.exp(a), 3 * a * b])
SPACE = StateSpaceNoise(A=[[-a, 0.0], [b, -2.0]], B=[[1.0, 0.0], [a * b, k]], C=[[1.0, k**2], [0.0, 1.0]])
NUMBERS = {"a": 0.7, "b": 1.3, "k": -0.4, "other": 5.0}


def test_filter_with_numbers_put_in():
    space = realize(FILTER, NUMBERS)
    assert np.allclose(space.A, [[0, 1], [-2.1, -np.exp(0.7) / 1.3]])
    assert np.allclose(space.B, [[0], [1]])
    assert np.allclose(space.C, [[2 / 1.3, -0.4 / 1.3]])
    assert set(list_parameters(FILTER)) == {"a", "b", "k"}


def test_state_space_with_numbers_put_in():
    space = realize(SPACE, NUMBERS)
    assert np.allclose(space.B, [[1, 0], [0.91, -0.4]])
    assert np.allclose(space.intensity, space.B @ space.B.T)
    assert space.fastest_pole == pytest.approx(2.0)


@pytest.mark.parametrize("noise", [FILTER, SPACE])
@pytest.mark.parametrize("name", ["a", "b", "k", "other"])
def test_derivatives_of_the_matrices(noise, name):
    width = 1e-6
    above = realize(noise, {**NUMBERS, name: NUMBERS[name] + width})
    below = realize(noise, {**NUMBERS, name: NUMBERS[name] - width})
    slope = differentiate_realization(noise, NUMBERS, name)
    for letter in "ABC":
        difference = (getattr(above, letter) - getattr(below, letter)) / (2 * width)
        assert np.allclose(getattr(slope, letter), difference, rtol=1e-8, atol=1e-8)


def test_missing_numbers_are_named():
    with pytest.raises(ModelError, match=r"contains 'k', which has no number. Known are 'a' and 'b'"):
        realize(FILTER, {"a": 1.0, "b": 1.0})
    with pytest.raises(ModelError, match="values="):
        realize(FILTER)


def test_unstable_numbers_are_refused_with_the_pole():
    with pytest.raises(ModelError, match=r"has a pole at 0.5 at a = -0.5, b = 1, k = 0, which is not stable"):
        realize(SPACE, {"a": -0.5, "b": 1.0, "k": 0.0})


@pytest.mark.parametrize("numbers", [{"a": 1.0, "b": 0.0, "k": 1.0}, {"a": float("nan"), "b": 1.0, "k": 1.0}])
def test_improper_or_non_finite_numbers_are_refused(numbers):
    with pytest.raises(ModelError, match="coefficients that are not finite at k = 1, b = "):
        realize(FILTER, numbers)


def test_white_noise_has_no_values():
    with pytest.raises(ModelError, match=r"cannot be sampled.*FilteredNoise.low_pass"):
        realize(WhiteNoise(intensity=2.0))


def test_derivatives_available():
    assert count_derivatives(FilteredNoise(numerator=[1.0], denominator=[1.0, 3.0, 3.0, 1.0])) == (2,)
    chain = StateSpaceNoise(A=[[-1.0, 1.0], [0.0, -1.0]], B=[[0.0], [1.0]], C=[[1.0, 0.0], [0.0, 1.0]])
    assert count_derivatives(chain) == (1, 0)


def test_needed_orders():
    chain = StateSpaceNoise(A=[[-1.0, 1.0], [0.0, -1.0]], B=[[0.0], [1.0]], C=[[1.0, 0.0], [0.0, 1.0]])
    smooth = FilteredNoise(numerator=[1.0], denominator=[1.0, 3.0, 3.0, 1.0])
    found = find_needed_orders({"w": smooth, ("p", "q"): chain}, {"w": 2, "p": 1})
    assert found == {"w": (0, 1, 2), ("p", "q"): (0, 1)}


def test_too_rough_noise_is_refused_with_equation_and_remedy():
    noise = FilteredNoise.low_pass(std=1.0, time_constant=1.0)
    message = (
        r"Disturbance 'w' in equation 'rod' is differentiated twice, but its noise has no derivative: it needs at "
        r"least 3 more poles than zeros\. Give the noise 2 more poles"
    )
    with pytest.raises(ModelError, match=message):
        find_needed_orders({"w": noise}, {"w": 2}, {"w": "rod"})
    with pytest.raises(ModelError, match=r"Disturbance 'w' is WhiteNoise.*low_pass"):
        find_needed_orders({"w": WhiteNoise()}, {})
