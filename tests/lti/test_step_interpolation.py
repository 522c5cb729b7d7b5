"""Interpolated step matrices against direct ones."""

import numpy as np
import pytest

from daedal.linear.matrix_exponential import exponential
from daedal.lti.step_interpolation import evaluate_at_steps

GENERATOR = np.random.default_rng(2)
A = GENERATOR.normal(size=(4, 4)) - 2 * np.eye(4)


class Counted:
    """e^{Ah} and its derivative with respect to h, and how many were made."""

    def __init__(self):
        self.made = 0

    def __call__(self, lengths):
        self.made += lengths.size
        whole = exponential(lengths[:, None, None] * A)
        return whole, (A @ whole)[None]


SPEED = float(np.abs(np.linalg.eigvals(A)).max())


@pytest.mark.parametrize(
    "steps",
    [
        GENERATOR.uniform(0.05, 0.15, 3000),
        np.exp(GENERATOR.uniform(-12.0, 1.0, 3000)),
        np.concatenate([GENERATOR.uniform(0.1, 0.12, 900), [1e-7, 3.0, 5e-4]]),
        np.full(500, 0.1),
        np.array([0.3]),
    ],
)
def test_agrees_with_direct_matrices(steps):
    function = Counted()
    values, slopes = evaluate_at_steps(function, steps, SPEED)
    direct, direct_slopes = Counted()(steps)
    assert values.shape == (steps.size, 4, 4)
    assert slopes.shape == (1, steps.size, 4, 4)
    assert np.allclose(values, direct, rtol=0, atol=1e-12)
    assert np.allclose(slopes, direct_slopes, rtol=0, atol=1e-11)


def test_few_are_made():
    function = Counted()
    evaluate_at_steps(function, GENERATOR.uniform(0.1, 0.19, 5000), SPEED)
    assert function.made < 200


def test_small_entries_keep_their_digits():
    """h⁵ over many octaves, each with its own scale."""
    steps = np.exp(GENERATOR.uniform(-9.0, 0.0, 4000))
    values, _ = evaluate_at_steps(lambda h: (h**5, 5 * h[None] ** 4), steps, 1.0)
    assert np.max(np.abs(values / steps**5 - 1)) < 1e-10


def test_a_kink_is_noticed():
    """Not smooth, so that interpolation fails its own check and everything is made directly."""
    steps = np.linspace(0.1, 0.19, 999)

    def kinked(h):
        return np.abs(h - 0.1452), np.sign(h - 0.1452)[None]

    values, _ = evaluate_at_steps(kinked, steps, 1.0)
    assert np.max(np.abs(values - np.abs(steps - 0.1452))) < 1e-14


def test_no_steps():
    values, slopes = evaluate_at_steps(Counted(), np.zeros(0), 1.0)
    assert values.shape == (0, 4, 4)
    assert slopes.shape == (1, 0, 4, 4)
