"""Compiled choice of steps against the same rule as a loop of CasADi calls."""

import casadi as ca
import numpy as np
import pytest

from daedal.errors import SimulationError
from daedal.kernels import Control, Crossing, Stretches, compile_scan
from daedal.kernels.control import crossing

NODES = np.array([0.0, 0.5, 1.0])
TOLERANCE, SIZES = 1e-6, np.array([1.0, 2.0])
BEGINS, LENGTHS = np.array([100.0, 100.5, 102.5]), np.array([0.5, 2.0, 1.0])
INPUTS = np.array([[[1.0, 0.3, 0.0, 0.0]], [[-0.5, 0.0, 0.2, -0.1]], [[0.0, 0.0, 0.0, 0.0]]])  # a jump at each stop
AFTER, MARKS = np.array([[-0.5], [0.0], [0.0]]), np.array([[1.0], [2.0], [3.0]])


def make_step():
    """x₁′ = x₂, x₂′ = stiffness (u − x₁) − x₂ by Runge–Kutta's method; x₃ counts marks, x₄ tells what is unsolved."""
    x, stiffness, none = ca.SX.sym("x", 4), ca.SX.sym("stiffness"), ca.SX.sym("none", 0)
    shared = ca.SX.sym("shared", 2 + 3 + 1 + 1)
    h, u = shared[1], shared[2:5]

    def slope(at, push):
        return ca.vertcat(at[1], stiffness * (push - at[0]) - at[1])

    a = slope(x[:2], u[0])
    b = slope(x[:2] + h / 2 * a, u[1])
    c = slope(x[:2] + h / 2 * b, u[1])
    d = slope(x[:2] + h * c, u[2])
    new = x[:2] + h / 6 * (a + 2 * b + 2 * c + d) + 0 * shared[5]
    return ca.Function("step", [x, stiffness, shared, none], [ca.vertcat(new, x[2] + shared[6], x[3])])


def make_control(most=1000, unfinished=1.0):
    recent = np.array([0.1, 1e-3])
    return Control(TOLERANCE, 4, SIZES, recent, BEGINS[0], BEGINS[-1] + LENGTHS[-1], most, -1, unfinished)


def make_lane(control, stiffness=3.0, first=(0.1, 0.0, 0.0, 0.0)):
    state = np.array(first)[:, None]
    return Crossing(compile_scan(make_step()), state, np.array([[stiffness]]), NODES, control)


STRETCHES = Stretches(BEGINS, LENGTHS, INPUTS, AFTER, MARKS)


def choose_in_python(stiffness):
    """The rule of the module, written down once more; lengths of the steps, and how many were tried."""
    step, x, recent = make_step(), np.array([0.1, 0.0, 0.0, 0.0]), np.array([0.1, 1e-3])
    length, tried, crossings = 1e-4 * LENGTHS.sum(), 0, []

    def move(x, number, since, span, last):
        u = [np.polyval(INPUTS[number, 0][::-1], since + span * node) for node in NODES]
        shared = [
            BEGINS[number] + since,
            span,
            *u,
            AFTER[number, 0] if last else u[-1],
            MARKS[number, 0] if last else 0,
        ]
        return np.array(step(x, stiffness, np.array(shared), np.zeros(0))).ravel()

    for number, interval in enumerate(LENGTHS):
        done, lengths = 0.0, []
        while done < interval:
            left = interval - done
            last = length > 0.9 * left
            taken = left if last else min(length, left / 2)
            whole = move(x, number, done, taken, last)
            half = move(x, number, done, taken / 2, False)
            halves = move(half, number, done + taken / 2, taken / 2, last)
            rounding = np.spacing(BEGINS[number] + done) / taken * np.abs(halves - x)[:2]
            allowed = TOLERANCE * np.maximum(np.abs(halves[:2]), recent) + 1e-13 * SIZES + rounding
            error, tried = np.max(np.abs(whole - halves)[:2] / allowed), tried + 1
            length = taken * np.clip(0.9 * max(error, 1e-12) ** (-1 / 5), 0.1, 4.0)
            if error <= 1.0:
                x, recent = halves, np.maximum(np.abs(halves[:2]), 0.5 * recent)
                lengths.append(taken)
                done = interval if last else done + taken
        crossings.append(np.array(lengths))
    return crossings, tried, x


@pytest.mark.parametrize("stiffness", [3.0, 400.0])
@pytest.mark.parametrize("at_once", [1e8, 1.0])
def test_the_same_steps_are_tried_and_taken(stiffness, at_once, monkeypatch):
    """However many trials are made before the loop comes back to look for an interrupt."""
    monkeypatch.setattr(crossing, "PIECE", at_once)
    expected, tried, state = choose_in_python(stiffness)
    lane = make_lane(make_control(), stiffness)
    found = lane.cross(STRETCHES)
    assert [one.size for one in found] == [one.size for one in expected]
    np.testing.assert_allclose(np.concatenate(found), np.concatenate(expected), rtol=1e-6)
    assert lane.trials == tried
    np.testing.assert_allclose([one.sum() for one in found], LENGTHS, rtol=1e-14)
    np.testing.assert_allclose(lane.state, state, rtol=1e-9)
    assert lane.state[2] == MARKS.sum()  # what ends at a stop happens once


def test_too_many_steps_are_given_up():
    assert make_lane(make_control(most=100), stiffness=1e9).cross(STRETCHES) is None
    assert make_lane(make_control()).cross(STRETCHES) is not None


@pytest.mark.parametrize("first", [(0.1, 0.0, 0.0, 2.0), (np.nan, 0.0, 0.0, 0.0), (0.1, 0.0, 0.0, np.nan)])
def test_what_is_not_solved_is_never_taken(first):
    lane = make_lane(make_control(), first=first)
    assert lane.cross(STRETCHES) is None
    assert 0 < lane.trials < 400  # ever shorter ones, down to nothing


def test_inputs_that_the_steps_do_not_read_are_refused():
    two = Stretches(BEGINS, LENGTHS, np.repeat(INPUTS, 2, axis=1), np.repeat(AFTER, 2, axis=1), MARKS)
    with pytest.raises(SimulationError, match="inputs are not those"):
        make_lane(make_control()).cross(two)
