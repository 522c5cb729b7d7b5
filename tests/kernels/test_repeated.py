"""Scans that repeat a part for every direction, against a loop of CasADi calls."""

import casadi as ca
import numpy as np
import pytest

from daedal.kernels import Layout, compile_repeated, read_tape
from daedal.kernels.repeated import split_directions

STEPS, SIZE, NOISES, POINTS = 9, 3, 2, 3
STATE, PARAMETERS, SHARED = Layout(SIZE, SIZE, 1), Layout(2, 2, 1), Layout(2)
OUTPUT = Layout(2, 2, 1)


def make_functions(moves_noise, calls=False):
    """A step of Euler's method with its derivative, and what is seen of it; with calls, in functions of their own."""
    x, p, w = ca.SX.sym("x", SIZE), ca.SX.sym("p", 2), ca.SX.sym("w", NOISES, POINTS)
    dx, dp, dw = ca.SX.sym("dx", SIZE), ca.SX.sym("dp", 2), ca.SX.sym("dw", NOISES, POINTS)
    worst, size, shared = ca.SX.sym("worst"), ca.SX.sym("size"), ca.SX.sym("shared", 2)
    t, h = shared[0], shared[1]
    slope = ca.vertcat(x[1], -p[0] * ca.sin(x[0]) + w[0, 0] * x[2], p[1] * ca.exp(-x[2]) + ca.sum2(w[1, :]) - t)
    new = x + h * slope
    moving = ca.vertcat(x, p, ca.vec(w))
    along = ca.vertcat(dx, dp, ca.vec(dw if moves_noise else ca.SX(NOISES, POINTS)))
    rates = ca.jtimes(new, moving, along)
    if calls:
        new, rates, slope = move_by_calls(moving, along, t, h, new, rates, slope)
    lane = ca.vertcat(*(ca.vertcat(w[:, k], *([dw[:, k]] if moves_noise else [])) for k in range(POINTS)))
    given = [ca.vertcat(x, dx, worst), ca.vertcat(p, dp, size), shared, lane]
    step = ca.Function("step", given, [ca.vertcat(new, rates, ca.fmax(worst, ca.fabs(slope[1]) / size))])
    seen = ca.vertcat(x[0] * x[1] * p[0], ca.cos(x[2]))
    see = ca.vertcat(seen, ca.jtimes(seen, moving, along), worst * size)
    return step, ca.Function("see", given, [see])


def move_by_calls(moving, along, t, h, new, rates, slope):
    """The same, of two halves of the results in functions that call a third one."""
    power = ca.SX.sym("power", 1)
    inner = ca.Function("inner", [power], [ca.exp(-power), ca.DM(2, 1)], {"never_inline": True})  # and sparse zeros
    names = [ca.SX.sym(f"moving{k}", part.shape[0]) for k, part in enumerate((moving, along))]
    given = [ca.SX.sym("t"), ca.SX.sym("h")]
    plain = ca.Function("plain", [moving, along, t, h], [new, rates, slope])
    results = plain(*names, *given)
    decay = inner(names[0][2])[0] - ca.exp(-names[0][2])  # nothing, or what rounding leaves
    outer = ca.Function("outer", [*names, *given], [ca.densify(one) + decay for one in results], {"never_inline": True})
    return outer(moving, along, t, h)


def make_arguments(directions, lanes, path):
    rng = np.random.default_rng(directions + lanes)
    state = rng.uniform(0.5, 1.0, (STATE.count(directions), lanes))
    parameters = rng.uniform(0.5, 1.0, (PARAMETERS.count(directions), lanes))
    shared = np.stack([0.1 * np.arange(STEPS), np.full(STEPS, 0.1)], axis=1)
    lane = rng.standard_normal((STEPS + POINTS - 1, path.span(directions), lanes))
    emit = np.full(STEPS, -1, dtype=np.int64)
    emit[2::3] = np.arange(STEPS // 3)
    out = np.full((STEPS // 3, OUTPUT.count(directions), lanes), np.nan)
    return state, parameters, shared, lane, emit, out


def pick(rows, layout, directions, k):
    """The rows of a function of one direction, of the k-th."""
    groups = np.split(rows, layout.groups)
    own = layout.head + layout.own * k
    last = layout.head + layout.own * directions
    return np.concatenate([np.r_[g[: layout.head], g[own : own + layout.own], g[last:]] for g in groups])


def loop(functions, directions, path, state, parameters, shared, lane, emit, out):
    """What the scan must compute, direction by direction."""
    step, see = functions
    for j in range(state.shape[1]):
        for k in range(directions):
            x, p = pick(state[:, j], STATE, directions, k), pick(parameters[:, j], PARAMETERS, directions, k)
            for i, row in enumerate(emit):
                w = pick(lane[i : i + POINTS, :, j].ravel(), path, directions, k)
                x = step(x, p, shared[i], w).full().ravel()
                if row >= 0:
                    y = see(x, p, shared[i], w).full().ravel()
                    out[row, :2, j], out[row, 2 + 2 * k : 4 + 2 * k, j], out[row, -1, j] = y[:2], y[2:4], y[-1]


@pytest.mark.parametrize("calls", [False, True])
@pytest.mark.parametrize("moves_noise", [False, True])
@pytest.mark.parametrize(("directions", "lanes"), [(1, 1), (2, 5), (3, 16), (7, 33)])
def test_every_direction_of_every_lane(directions, lanes, moves_noise, calls):
    path = Layout(NOISES, NOISES * moves_noise, groups=POINTS)
    arguments = make_arguments(directions, lanes, path)
    expected = arguments[-1].copy()
    loop(make_functions(moves_noise), directions, path, *arguments[:-1], expected)
    functions = make_functions(moves_noise, calls)
    kernel = compile_repeated(*functions, [STATE, PARAMETERS, SHARED, path], OUTPUT).at(directions)
    kernel.run(*arguments, begin=np.arange(STEPS) * arguments[3].shape[1])
    np.testing.assert_allclose(arguments[-1], expected, rtol=1e-12, atol=1e-13)


def test_what_directions_share_is_written_once():
    """The part of one direction holds no function of the values: those are kept, not computed again."""
    path = Layout(NOISES, 0, groups=POINTS)
    halves = split_directions(read_tape(make_functions(False)[0]), [STATE, PARAMETERS, SHARED, path], STATE)
    assert {"sin", "exp"} <= {one.operation for one in halves.common.instructions}
    assert {one.operation for one in halves.own.instructions} <= {"input", "constant", "add", "sub", "mul", "neg"}
    assert halves.kept <= 12


def test_what_directions_share_of_a_called_function_stays_a_call():
    path = Layout(NOISES, 0, groups=POINTS)
    halves = split_directions(read_tape(make_functions(False, True)[0]), [STATE, PARAMETERS, SHARED, path], STATE)
    operations = {one.operation for one in halves.common.instructions}
    assert "call" in operations
    assert "sin" not in operations
    assert {one.operation for one in halves.own.instructions} <= {"input", "constant", "add", "sub", "mul", "neg"}
