"""Matrix exponential against closed forms and scipy's."""

import numpy as np
import pytest
from scipy.linalg import expm

from daedal.linear import exponential


@pytest.mark.parametrize("size", [1e-8, 0.3, 2.0, 30.0])
def test_agrees_with_scipy(size):
    stack = size * np.random.default_rng(0).normal(size=(6, 4, 4))
    for ours, theirs in zip(exponential(stack), expm(stack), strict=True):
        assert np.allclose(ours, theirs, rtol=0, atol=1e-13 * max(size, 1) * np.abs(theirs).max())


def test_mixed_sizes_in_one_stack():
    stack = np.array([1e-3, 1.0, 50.0])[:, None, None] * np.array([[-1.0, 0.5], [0.0, -2.0]])
    assert np.allclose(exponential(stack), [exponential(matrix) for matrix in stack], rtol=1e-14, atol=0)
    assert np.allclose(exponential(stack)[:, 0, 0], np.exp([-1e-3, -1.0, -50.0]), rtol=1e-13)


def test_rotation_and_empty_stack():
    angle = 100.0
    turned = exponential(angle * np.array([[0.0, -1.0], [1.0, 0.0]]))
    assert np.allclose(turned, [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]], atol=1e-12)
    assert exponential(np.zeros((0, 3, 3))).shape == (0, 3, 3)
