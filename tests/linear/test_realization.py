"""Canonical form and staircase against transfer functions."""

import numpy as np
import pytest

from daedal.linear import (
    count_output_derivatives,
    differentiate_output_rows,
    list_output_rows,
    make_controllable_form,
    reduce_to_staircase,
)
from daedal.symbolic import symbol

FILTERS = [([2.0], [4.0, 1.0]), ([3.0, 1.0], [2.0, 1.0, 5.0]), ([1.0, 0.0, 2.0], [1.0, 2.0, 3.0, 4.0, 5.0])]


@pytest.mark.parametrize(("numerator", "denominator"), FILTERS)
def test_transfer_function(numerator, denominator):
    A, B, C = make_controllable_form(numerator, denominator)
    for s in (0.3 + 1j, -0.2 + 4j):
        response = (C @ np.linalg.solve(s * np.eye(len(A)) - A, B)).item()
        assert np.isclose(response, np.polyval(numerator, s) / np.polyval(denominator, s))


@pytest.mark.parametrize(("numerator", "denominator"), FILTERS)
def test_derivatives_exist_up_to_the_pole_excess(numerator, denominator):
    A, B, C = make_controllable_form(numerator, denominator)
    assert count_output_derivatives(A, B, C) == (len(denominator) - len(numerator) - 1,)


def test_rows_of_derivatives():
    A, B, C = make_controllable_form([1.0, 2.0], [1.0, 3.0, 3.0, 1.0])
    s = 0.1 + 2j
    resolvent = np.linalg.solve(s * np.eye(3) - A, B)
    rows = list_output_rows(A, C, (0, 1)) @ resolvent
    assert np.allclose(rows[1], s * rows[0])


def test_entries_may_be_expressions():
    a, b = symbol("a"), symbol("b")
    A, _, C = make_controllable_form([b], [2.0, a])
    assert str(A[0, 0]) in ("-a/2", "-(a/2)", "(-a)/2", "-a/2.0")
    assert str(C[0, 0]) == "b/2"


def test_smoothness_of_rotated_states_and_of_unreached_outputs():
    A, B, C = make_controllable_form([1.0], [1.0, 4.0, 6.0, 4.0, 1.0])
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    assert count_output_derivatives(turn @ A @ turn.T, turn @ B, C @ turn.T) == (3,)
    assert count_output_derivatives(A, 0 * B, np.vstack([C, C])) == (4, 4)


def test_derivative_of_the_rows():
    generator = np.random.default_rng(1)
    A, dA, C, dC = (generator.normal(size=shape) for shape in ((3, 3), (3, 3), (2, 3), (2, 3)))
    width = 1e-6
    difference = (
        list_output_rows(A + width * dA, C + width * dC, (0, 2, 3))
        - list_output_rows(A - width * dA, C - width * dC, (0, 2, 3))
    ) / (2 * width)
    assert np.allclose(differentiate_output_rows(A, C, dA, dC, (0, 2, 3)), difference, rtol=1e-6, atol=1e-7)


def test_staircase_finds_what_the_inputs_reach():
    generator = np.random.default_rng(2)
    turn = np.linalg.qr(generator.normal(size=(6, 6)))[0]
    A, B = generator.normal(size=(6, 6)), generator.normal(size=(6, 2))
    A[4:, :4], B[4:] = 0, 0  # the last two states are driven by nothing
    form = reduce_to_staircase(turn @ A @ turn.T, turn @ B)
    T = form.T
    assert T.shape == (6, 4)
    assert np.allclose(T.T @ T, np.eye(4))
    assert np.allclose(T @ form.B, turn @ B, atol=1e-12)
    assert np.allclose(T @ form.A, turn @ A @ turn.T @ T, atol=1e-12)
    assert not form.B[2:].any()
    assert form.stairs == 2


def test_staircase_of_a_chain_has_true_zeros():
    A, B, _ = make_controllable_form([1.0], [1.0, 4.0, 6.0, 4.0, 1.0])
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    form = reduce_to_staircase(turn @ A @ turn.T, turn @ B)
    assert np.array_equal(np.tril(form.A, -2), np.zeros((4, 4)))
    assert np.allclose(np.diag(form.A, -1), 1.0)


def test_staircase_without_noise():
    assert reduce_to_staircase(-np.eye(2), np.zeros((2, 1))).T.shape == (2, 0)
