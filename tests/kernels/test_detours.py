"""Lanes that take turns of their own within a step, against a loop over single lanes."""

import casadi as ca
import numpy as np
import pytest

from daedal.kernels import Detours, Turn, compile_scan, read_tape

STEPS, PLACE, MARK = 25, 2, 0


def make_functions():
    """x grows by its rate and is turned back by a border of its own; a code says what a lane has still to do.

    Code 1: what lies beyond the border is taken off (and the lane set out from there); code 2: half of the rest of
    the step is added. A step that is marked ends with a smaller rate.
    """
    state, parameters, shared, lane = ca.SX.sym("x", 4), ca.SX.sym("border"), ca.SX.sym("marked"), ca.SX.sym("push")
    start, reached = ca.SX.sym("start", 4), ca.SX.sym("reached", 4)
    others = [parameters, shared, lane]
    x, rate, _, count = ca.vertsplit(state)
    moved = x + rate + lane
    step = ca.Function("step", [state, *others], [ca.vertcat(moved, rate, ca.if_else(moved > parameters, 1, 0), count)])
    beyond = reached[0] - parameters
    back = ca.vertcat(parameters - beyond / 3, reached[1] * 0.9, ca.if_else(beyond > 0.2, 2, 0), reached[3] + 1)
    half = start[0] + 0.5 * (reached[1] + lane)
    again = ca.vertcat(half, reached[1], ca.if_else(half > parameters, 1, 0), reached[3] + 100)
    turns = tuple(
        Turn(code, read_tape(ca.Function("turn", [start, reached, *others], [result])), restarts)
        for code, result, restarts in ((1, back, True), (2, again, False))
    )
    slower = ca.Function("sequel", [state, *others], [ca.vertcat(x, rate * 0.8 + 0.01 * lane, 0, count)])
    observe = ca.Function("observe", [state, *others], [ca.vertcat(x, count)])
    apart = ca.Function("apart", [state, *others], [ca.vertcat(-x, count)])
    return step, observe, turns, slower, apart, (back, again, start, reached, others)


def make_problem(lanes):
    rng = np.random.default_rng(4)
    state = np.zeros((4, lanes))
    state[1] = rng.uniform(0.1, 0.6, lanes)
    parameters = rng.uniform(0.5, 2.0, (1, lanes))
    shared = (np.arange(STEPS)[:, None] % 7 == 3).astype(float)
    push = 0.3 * rng.standard_normal((STEPS, 1, lanes))
    return state, parameters, shared, push, np.arange(STEPS), np.full((STEPS, 2, lanes), np.nan)


def follow(state, border, shared, push, rounds):
    """One lane by itself, in floats."""
    x, rate, code, count = state
    rows = []
    for marked, pushed in zip(shared[:, 0], push, strict=True):
        start, x = x, x + rate + pushed
        code = 1.0 if x > border else 0.0
        for _ in range(rounds):
            if code == 1.0:
                beyond = x - border
                x, rate, code, count = border - beyond / 3, rate * 0.9, 2.0 if beyond > 0.2 else 0.0, count + 1
                start = x
            if code == 2.0:
                x, count = start + 0.5 * (rate + pushed), count + 100
                code = 1.0 if x > border else 0.0
        if marked:
            rate, code = rate * 0.8 + 0.01 * pushed, 0.0
        rows.append((-x if count > 0 else x, count))
    return np.array(rows)


def compile_problem(width=None, rounds=5):
    step, observe, turns, slower, apart, _ = make_functions()
    detours = Detours(PLACE, turns, rounds, marked=MARK, sequel=read_tape(slower), apart=3, observe=read_tape(apart))
    return compile_scan(step, observe, width=width, detours=detours)


@pytest.mark.parametrize("width", [1, 4, None])
@pytest.mark.parametrize("lanes", [1, 3, 17])
def test_lanes_take_their_own_turns(width, lanes):
    arguments = make_problem(lanes)
    expected = [
        follow(arguments[0][:, i].tolist(), arguments[1][0, i], arguments[2], arguments[3][:, 0, i], 5)
        for i in range(lanes)
    ]
    compile_problem(width).run(*arguments)
    np.testing.assert_allclose(arguments[5].transpose(2, 0, 1), expected, rtol=0, atol=1e-13)
    counts = np.array(expected)[:, -1, 1]
    assert lanes == 1 or len(set(counts)) > 1  # lanes differ in what they do


def test_bits_do_not_depend_on_company_or_width():
    alone, crowd, narrow = make_problem(40), make_problem(40), make_problem(40)
    kernel = compile_problem()
    for lane in range(40):
        kernel.run(*alone, first=lane, count=1)
    kernel.run(*crowd)
    compile_problem(width=2).run(*narrow)
    for other in (crowd, narrow):
        np.testing.assert_array_equal(alone[0], other[0])
        np.testing.assert_array_equal(alone[5], other[5])


def test_rounds_are_limited():
    """A lane that would never finish keeps its code."""
    state, none = ca.SX.sym("x", 2), ca.SX.sym("none", 0)
    start, reached = ca.SX.sym("start", 2), ca.SX.sym("reached", 2)
    step = ca.Function("step", [state, none, none, none], [ca.vertcat(state[0], 1)])
    more = ca.Function("turn", [start, reached, none, none, none], [ca.vertcat(reached[0] + 1, 1)])
    kernel = compile_scan(step, detours=Detours(1, (Turn(1, read_tape(more), True),), 6))
    carried = np.zeros((2, 3))
    kernel.run(carried, np.zeros((0, 3)), np.zeros((2, 0)), np.zeros((2, 0, 3)), np.full(2, -1), np.zeros((0, 0, 3)))
    np.testing.assert_array_equal(carried, [[12.0] * 3, [1.0] * 3])
