"""Noise on cells of a grid: against exact discretisation, and against moments of exact paths."""

import numpy as np
import pytest

import daedal as dd
from daedal import disturbances
from daedal.filtering import Point
from daedal.filtering.nonlinear import CellNoise

NODES = np.array([0.0, 0.5, 1.0])


def make_model(**noise):
    names = {name: dd.symbol(name) for name in noise}
    x, std, tau = dd.symbols("x std tau")
    return dd.Model(
        name="sum",
        equations={"sum": dd.der(x) == sum(names.values())},
        unknowns=[x],
        parameters={std: 0.6, tau: 0.7},
        disturbances={names[name]: one for name, one in noise.items()},
    )


SHAPED = {
    "w": dd.FilteredNoise.low_pass(std=dd.symbol("std"), time_constant=dd.symbol("tau")),
    "v": dd.FilteredNoise(numerator=[0.6], denominator=[1.0, 0.8, 16.0]),
}


def test_covariances_have_errors_of_order_six():
    model = make_model(**SHAPED)
    noise, point = CellNoise(model, (("v", 1), ("w", 0), ("v", 0))), Point(model, None, ())
    errors = []
    for step in (0.2, 0.1):
        matrices = noise.at(point, np.array([step]), NODES)
        for name, place in (("w", slice(0, 1)), ("v", slice(1, 3))):
            exact = disturbances.discretize(model.disturbances[name], point.numbers, step).matrices
            L = matrices.factor.value[0, place]
            np.testing.assert_allclose(matrices.transition.value[0, place, place], exact.transition, atol=1e-14)
            truth = exact.factor @ exact.factor.T
            errors.append(np.abs(L @ L.T - truth).max() / np.abs(truth).max())
    assert errors[0] < 1e-8
    assert errors[2] < errors[0] / 50
    assert errors[3] < errors[1] / 50


def test_values_at_nodes_keep_the_integrals_of_the_disturbance():
    """∫ w and ∫ τ w by Simpson's rule at the nodes have the covariance of the exact integrals (brute force)."""
    model, step = make_model(w=SHAPED["w"]), 0.3
    point = Point(model, None, ())
    matrices = CellNoise(model, (("w", 0),)).at(point, np.array([step]), NODES)
    weights = np.array([1.0, 4.0, 1.0]) / 6.0 * np.stack([np.ones(3), NODES])
    ours = np.einsum("mi,ij->mj", weights, matrices.by_normals.value[0, :, 0])
    t = (np.arange(4000) + 0.5) / 4000 * step
    gap, least = np.abs(t[:, None] - t), np.minimum(t[:, None], t)
    kernel = 0.36 * (np.exp(-gap / 0.7) - np.exp(-(gap + 2 * least) / 0.7))  # of what began at zero
    exact_weights = np.stack([np.ones(t.size), t / step]) / t.size
    np.testing.assert_allclose(ours @ ours.T, exact_weights @ kernel @ exact_weights.T, rtol=2e-4)


def test_derivatives_are_those_of_differences():
    model, lengths = make_model(**SHAPED), np.array([0.2, 0.31])
    noise = CellNoise(model, (("w", 0), ("v", 1)))
    at = noise.at(Point(model, None, ("std", "tau")), lengths, NODES)
    for direction, name in enumerate(("std", "tau")):
        value = Point(model, None, ()).numbers[name]
        up, down = (noise.at(Point(model, {name: value + e}, ()), lengths, NODES) for e in (1e-6, -1e-6))
        for field in ("transition", "factor", "by_state", "by_normals", "rows", "start"):
            difference = (getattr(up, field).value - getattr(down, field).value) / 2e-6
            np.testing.assert_allclose(getattr(at, field).slopes[direction], difference, atol=1e-8)


@pytest.mark.parametrize("intensity", [0.5, 0.0])
def test_white_noise_has_its_intensity(intensity):
    model = make_model(w=dd.WhiteNoise(intensity=intensity))
    matrices = CellNoise(model, (("w", 0),)).at(Point(model, None, ()), np.array([0.25]), NODES)
    weights = np.array([1.0, 4.0, 1.0]) / 6.0 * 0.25
    integral = weights @ matrices.by_normals.value[0, :, 0]
    assert integral @ integral == pytest.approx(intensity * 0.25, abs=1e-15)
