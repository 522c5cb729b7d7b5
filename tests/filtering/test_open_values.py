"""Open values at the start against least squares, and what cannot be told apart."""

import numpy as np
import pytest

from daedal.filtering.open_values import find_open_values
from daedal.linear.dual import Dual

GENERATOR = np.random.default_rng(6)
E, e, s = GENERATOR.normal(size=(20, 3)), GENERATOR.normal(size=20), GENERATOR.uniform(0.5, 2.0, 20)


def test_best_values_are_those_of_weighted_least_squares():
    found = find_open_values(e, E, s)
    root = np.sqrt(s)
    expected = np.linalg.lstsq(E / root[:, None], -e / root, rcond=None)[0]
    information = E.T @ (E / s[:, None])
    assert np.allclose(found.best, expected, rtol=1e-12)
    assert np.allclose(found.covariance, np.linalg.inv(information), rtol=1e-12)
    assert found.half_log_determinant == pytest.approx(0.5 * np.linalg.slogdet(information)[1], rel=1e-12)


@pytest.mark.parametrize("unit", [1.0, 1e-12, 1e9])
def test_a_value_that_repeats_others_is_left_at_zero(unit):
    columns = np.column_stack([E[:, 0], 2.0 * unit * E[:, 0], E[:, 1], unit * (E[:, 0] + E[:, 1]), 0.0 * E[:, 2]])
    found = find_open_values(e, columns, s)
    assert found.kept == (0, 2)
    alone = find_open_values(e, E[:, :2], s)
    assert np.allclose(columns @ found.best, E[:, :2] @ alone.best, rtol=1e-12)
    assert not found.best[[1, 3, 4]].any()
    assert found.half_log_determinant == pytest.approx(alone.half_log_determinant)


def test_values_that_are_hard_to_tell_apart_keep_their_digits():
    """A difference of 1e-7 between columns: normal equations would have lost it."""
    columns = np.column_stack([E[:, 0], E[:, 0] + 1e-7 * E[:, 1]])
    truth = np.array([0.3, -1.7])
    found = find_open_values(-columns @ truth, columns, np.ones(20))
    assert np.allclose(found.best, truth, rtol=1e-7)


def test_slope_of_the_determinant():
    dE, ds = GENERATOR.normal(size=(2, 20, 3)), GENERATOR.normal(size=(2, 20))
    found = find_open_values(e, E, s).half_log_determinant_slopes(Dual(E, dE), Dual(s, ds))
    for direction in range(2):
        ahead, behind = (
            find_open_values(e, E + h * dE[direction], s + h * ds[direction]).half_log_determinant
            for h in (1e-6, -1e-6)
        )
        assert found[direction] == pytest.approx((ahead - behind) / 2e-6, rel=1e-7)


def test_nothing_open():
    found = find_open_values(e, np.zeros((20, 0)), s)
    assert found.best.shape == (0,)
    assert found.covariance.shape == (0, 0)
    assert found.half_log_determinant == 0.0
