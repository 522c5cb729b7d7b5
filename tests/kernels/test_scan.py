"""Scans over steps and lanes against a loop of CasADi calls."""

from concurrent.futures import ThreadPoolExecutor

import casadi as ca
import numpy as np
import pytest
from pendulum_step import pendulum

from daedal.errors import DaedalError, ExpressionError, SimulationError
from daedal.kernels import compile_map, compile_scan, scan

STEPS = 30


def problem(lanes, steps=STEPS, every=3):
    """Arguments of a run of the pendulum, each lane with its own drag and wind."""
    rng = np.random.default_rng(1)
    state = np.zeros((4, lanes))
    state[2] = -6.25
    parameters = np.tile(np.array([[0.3], [9.81], [0.05], [6.25]]), (1, lanes))
    parameters[2] *= 1 + np.arange(lanes) / 10
    shared, lane = 0.1 * rng.standard_normal((steps, 2)), rng.standard_normal((steps, 2, lanes))
    emit = np.full(steps, -1, dtype=np.int64)
    emit[every - 1 :: every] = np.arange(steps // every)
    return state, parameters, shared, lane, emit, np.full((steps // every, 1, lanes), np.nan)


def loop(step, observe, state, parameters, shared, lane, emit, out):
    """What a scan must compute."""
    for i, row in enumerate(emit):
        inputs = [parameters, np.tile(shared[i][:, None], (1, state.shape[1])), lane[i]]
        state[:] = np.array(step(state, *inputs))
        if row >= 0:
            out[row] = np.array(observe(state, *inputs))


@pytest.fixture(scope="module")
def functions():
    return pendulum()


@pytest.mark.parametrize("lanes", [1, 3, 7, 8, 33])
@pytest.mark.parametrize("width", [2, 4, 8, None])
def test_any_number_of_lanes_and_width(functions, lanes, width):
    expected, got = problem(lanes), problem(lanes)
    loop(*functions, *expected)
    compile_scan(*functions, width=width).run(*got)
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(got[5], expected[5], rtol=1e-11, atol=1e-12)


def test_rows_not_asked_for_stay_and_the_last_of_two_wins(functions):
    arguments = problem(11)
    arguments[4][:] = -1
    arguments[4][[3, 20, 28]] = [4, 1, 4]
    expected = [a.copy() for a in arguments]
    loop(*functions, *expected)
    compile_scan(*functions).run(*arguments)
    np.testing.assert_allclose(arguments[5], expected[5], rtol=1e-11)
    assert np.isnan(arguments[5][[0, 2, 3, 5]]).all()


def test_padded_lanes_in_several_parts(functions, monkeypatch):
    monkeypatch.setattr("daedal.kernels.scan.TAIL_STEPS", 7)
    whole, parts = problem(32), problem(32)
    kernel = compile_scan(*functions)
    kernel.run(*whole)
    kernel.run(*parts, first=0, count=3)
    kernel.run(*parts, first=3)
    np.testing.assert_array_equal(whole[0], parts[0])
    np.testing.assert_array_equal(whole[5], parts[5])


def test_threads_and_blocks_give_identical_bits(functions):
    alone, together = problem(203), problem(203)
    kernel = compile_scan(*functions)
    kernel.run(*alone)
    blocks = [(first, min(13, 203 - first)) for first in range(0, 203, 13)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda block: kernel.run(*together, first=block[0], count=block[1]), blocks))
    np.testing.assert_array_equal(alone[0], together[0])
    np.testing.assert_array_equal(alone[5], together[5])


def test_empty_arguments_and_no_observation():
    x, none = ca.SX.sym("x"), ca.SX.sym("none", 0)
    kernel = compile_scan(ca.Function("halve", [x, none, none, none], [x / 2]))
    state = np.ones((1, 5))
    kernel.run(state, np.zeros((0, 5)), np.zeros((4, 0)), np.zeros((4, 0, 5)), np.full(4, -1), np.zeros((0, 0, 5)))
    np.testing.assert_array_equal(state, np.full((1, 5), 1 / 16))


def test_no_steps_change_nothing(functions):
    arguments = problem(9, steps=0)
    before = arguments[0].copy()
    compile_scan(*functions).run(*arguments)
    np.testing.assert_array_equal(arguments[0], before)


def test_infinities_and_nan_keep_to_their_lanes(functions):
    clean, dirty = problem(16), problem(16)
    dirty[3][5, 0, 6] = np.nan
    dirty[3][5, 0, 9] = np.inf
    kernel = compile_scan(*functions)
    kernel.run(*clean)
    kernel.run(*dirty)
    others = [k for k in range(16) if k not in (6, 9)]
    np.testing.assert_array_equal(clean[0][:, others], dirty[0][:, others])
    assert np.isnan(dirty[0][:, [6, 9]]).all()


@pytest.mark.parametrize(
    ("position", "change", "message"),
    [
        (0, lambda a: a.astype(np.float32), "float64"),
        (1, lambda a: a[:3], "shape"),
        (3, lambda a: a[:, :, ::-1], "contiguous"),
        (3, lambda a: a[1:], "shape"),
        (4, lambda a: a.astype(np.int32), "int64"),
        (4, lambda a: a + 100, "rows from 0 to 9"),
        (5, lambda a: a[:, :, :3], "shape"),
    ],
)
def test_wrong_arrays_are_refused(functions, position, change, message):
    arguments = list(problem(8))
    arguments[position] = change(arguments[position])
    with pytest.raises(SimulationError, match=message):
        compile_scan(*functions).run(*arguments)


def test_overlapping_and_read_only_arrays_and_wrong_blocks_are_refused(functions):
    kernel = compile_scan(*functions)
    arguments = list(problem(8))
    with pytest.raises(SimulationError, match="overlap"):
        kernel.run(arguments[1], *arguments[1:])
    with pytest.raises(SimulationError, match="within 0 to 7"):
        kernel.run(*arguments, first=4, count=5)
    arguments[0].flags.writeable = False
    with pytest.raises(SimulationError, match="writeable"):
        kernel.run(*arguments)


def test_wrong_functions_are_refused():
    x, y, *rest = (ca.SX.sym("x", 2), *(ca.SX.sym(name) for name in "yabc"))
    with pytest.raises(ExpressionError, match="'f' must have the arguments state"):
        compile_scan(ca.Function("f", [x], [x]))
    with pytest.raises(ExpressionError, match="a state of 2 numbers, got 1"):
        compile_scan(ca.Function("f", [x, *rest], [rest[0]]))
    good = ca.Function("good", [x, *rest], [x])
    with pytest.raises(ExpressionError, match="'other' must take arguments"):
        compile_scan(good, ca.Function("other", [y, *rest], [y]))


@pytest.mark.parametrize("lanes", [1, 3, 7, 8, 33])
@pytest.mark.parametrize("width", [2, 4, 8])
def test_maps_of_any_number_of_lanes(lanes, width):
    x, y = ca.SX.sym("x", 2), ca.SX.sym("y")
    function = ca.Function("f", [x, y], [x * y, ca.sin(x[0]) + y])
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((2, lanes)), rng.standard_normal((1, lanes))
    first, second = compile_map(function, width=width)(a, b)
    np.testing.assert_allclose(first, a * b, rtol=1e-15)
    np.testing.assert_allclose(second, np.sin(a[:1]) + b, rtol=1e-13)
    with pytest.raises(DaedalError, match="2 arrays"):
        compile_map(function)(a)


def test_many_functions_of_one_tape_are_called_not_inlined():
    x = ca.SX.sym("x", 40)
    kernel = compile_map(ca.Function("f", [x], [ca.sin(x) + ca.exp(x)]))
    values = np.random.default_rng(3).standard_normal((40, 5))
    np.testing.assert_allclose(kernel(values)[0], np.sin(values) + np.exp(values), rtol=1e-13)


@pytest.mark.parametrize("lanes", [1, 3, 9])
def test_code_for_a_few_lanes_is_narrow_and_has_the_same_bits(functions, lanes):
    step, observe = functions
    wide, narrow = compile_scan(step, observe), compile_scan(step, observe, lanes=lanes)
    assert narrow.width == min(wide.width, {1: 2, 3: 4, 9: 16}[lanes])
    results = []
    for kernel in (wide, narrow):
        arguments = problem(lanes)
        kernel.run(*arguments)
        results.append(arguments)
    for place in (0, 5):
        np.testing.assert_array_equal(results[0][place], results[1][place])


def test_what_is_too_large_to_compile_counts_each_function_once(monkeypatch):
    """A function that is called a hundred times is written once; all its calls are told as operations."""
    x, none = ca.SX.sym("x"), ca.SX(0, 1)
    value = x
    for _ in range(200):
        value = ca.sin(value) + x
    inner = ca.Function("inner", [x], [value], {"never_inline": True})
    called, flat = x, x
    for _ in range(100):
        called, flat = inner(called), ca.sin(flat) + 1
    asked = []
    monkeypatch.setattr(scan, "ROOMY", 0)
    monkeypatch.setattr(scan.memory, "check_memory", lambda needed, subject, _: asked.append((needed, subject)))
    compile_map(ca.Function("often", [x], [called]))
    compile_scan(ca.Function("step", [x, none, none, none], [called]))
    compile_map(ca.Function("flat", [x], [flat]))
    (often, told), (step, _), (other, _) = asked
    assert told == "Compiling a step of 4e+04 operations"
    assert often == step
    assert other < often < 5 * other
