"""Kernels that read what they observed before, against the same recursion in numpy."""

import casadi as ca
import numpy as np
import pytest

from daedal.errors import ExpressionError, SimulationError
from daedal.kernels import compile_recall

NONE = ca.SX(0, 1)
x, p, s, w, r = (ca.SX.sym(name, size) for name, size in (("x", 2), ("p", 1), ("s", 2), ("w", 1), ("r", 3)))
STEP = ca.Function("step", [x, p, s, w, r], [ca.vertcat(p * x[0] + s[0] * r[0] + r[2], ca.sin(x[1]) + w - s[1] * r[1])])
OBSERVE = ca.Function("observe", [x, p, s, w, r], [ca.vertcat(x[0] - x[1], x[0] * r[0])])
WEIGH = ca.Function("weigh", [s], [ca.vertcat(1, s[0], s[1], 2, 0, -s[0], 0, 0, 1)])
SUMS = [(0, [0]), (1, [1]), (0, [0])]
POINTS = 3


def made():
    return compile_recall(STEP, OBSERVE, WEIGH, SUMS, POINTS)


def arrays(lanes: int, steps: int = 40) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    back = np.maximum(np.arange(steps)[:, None] - [[7, 4]], 0)
    return {
        "state": rng.standard_normal((2, lanes)),
        "parameters": rng.uniform(0.3, 0.6, (1, lanes)),
        "shared": rng.uniform(-0.4, 0.4, (steps, 2)),
        "lane": rng.standard_normal((steps + 1, 1, lanes)),
        "begin": np.arange(1, steps + 1),
        "back": back,
        "out": np.zeros((steps, 2, lanes)),
    }


def expected(given: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    state, out = given["state"].copy(), np.zeros_like(given["out"])
    rows = given["lane"].reshape(-1, state.shape[1])
    for i, (one, two) in enumerate(given["back"]):
        first, second = given["shared"][i]
        past = (
            out[one, 0] + first * out[one + 1, 0] + second * out[one + 2, 0],
            2 * out[two, 1] - first * out[two + 2, 1],
            out[one + 2, 0],
        )
        state = np.stack(
            [
                given["parameters"][0] * state[0] + first * past[0] + past[2],
                np.sin(state[1]) + rows[given["begin"][i]] - second * past[1],
            ]
        )
        out[i] = state[0] - state[1], state[0] * past[0]
    return state, out


@pytest.mark.parametrize("groups", [1, 3])
def test_against_the_recursion_in_numpy(groups):
    kernel = made()
    given = arrays(groups * kernel.width)
    state, out = expected(given)
    kernel.run(**given)
    np.testing.assert_allclose(given["out"], out, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(given["state"], state, rtol=1e-10, atol=1e-12)


def test_nothing_to_recall():
    """A system that delays only inputs keeps its record, and reads nothing."""
    step = ca.Function("step", [x, p, s, w, NONE], [ca.vertcat(p * x[0] + w, x[1] + s[0])])
    observe = ca.Function("observe", [x, p, s, w, NONE], [x])
    kernel = compile_recall(step, observe, ca.Function("weigh", [s], [NONE]), [], POINTS)
    given = arrays(kernel.width) | {"back": np.zeros((40, 0), dtype=np.int64)}
    before = given["state"].copy()
    kernel.run(**given)
    np.testing.assert_allclose(given["out"][-1, 1], before[1] + given["shared"][:, 0].sum(), rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"back": np.full((40, 2), 39)}, ("back", "between 0 and 37")),
        ({"back": np.full((40, 2), -1)}, ("back", "between 0 and 37")),
        ({"back": np.zeros((40, 3), dtype=np.int64)}, ("back", "(40, 2)")),
        ({"back": np.zeros((40, 2))}, ("back", "int64")),
        ({"begin": np.full(40, 41)}, ("begin", "40")),
    ],
)
def test_tables_that_lead_outside_are_refused(change, words):
    kernel = made()
    with pytest.raises(SimulationError) as caught:
        kernel.run(**arrays(kernel.width) | change)
    assert all(word in str(caught.value) for word in words)


def test_lanes_fill_whole_vectors():
    kernel = made()
    assert kernel.pad(1) == kernel.width
    with pytest.raises(SimulationError, match="multiple"):
        kernel.run(**arrays(kernel.width + 1))


@pytest.mark.parametrize(
    ("step", "observe", "weigh", "sums", "words"),
    [
        (ca.Function("step", [x, p, s, w], [x]), OBSERVE, WEIGH, SUMS, "recalled"),
        (ca.Function("step", [x, p, s, w, r], [x[0]]), OBSERVE, WEIGH, SUMS, "state"),
        (STEP, ca.Function("observe", [x, p, s, w, NONE], [x]), WEIGH, SUMS, "same arguments"),
        (STEP, OBSERVE, WEIGH, SUMS[:2], "3 numbers, but 2"),
        (STEP, OBSERVE, WEIGH, [(0, [0]), (1, [2]), (0, [0])], "between 0 and 1"),
        (STEP, OBSERVE, WEIGH, [(0, [0, 1, 0]), (1, [])], "columns from 0 on"),
        (STEP, OBSERVE, WEIGH, [(-1, [0, 1, 0])], "columns from 0 on"),
        (STEP, OBSERVE, ca.Function("weigh", [s], [s]), SUMS, "9 weights"),
    ],
)
def test_functions_that_do_not_fit_are_refused(step, observe, weigh, sums, words):
    with pytest.raises(ExpressionError, match=words):
        compile_recall(step, observe, weigh, sums, POINTS)
