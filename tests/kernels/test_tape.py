"""Tapes and kernels against CasADi's own evaluation."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.errors import ExpressionError
from daedal.kernels import compile_map, compiler
from daedal.kernels.tape import read_tape

A, B, C = ca.SX.sym("a"), ca.SX.sym("b"), ca.SX.sym("c")
UNARY = {
    "neg": lambda a: -a, "sq": lambda a: a * a, "twice": lambda a: 2 * a, "inv": lambda a: 1 / a,
    "cube": lambda a: a**3,
    "tenth": lambda a: a**10, "minus five": lambda a: a**-5, "power": lambda a: a**1.7, "ninetieth": lambda a: a**90,
    "not": ca.logic_not, "sqrt": ca.sqrt, "exp": ca.exp, "log": ca.log, "sin": ca.sin, "cos": ca.cos, "tan": ca.tan,
    "asin": ca.asin, "acos": ca.acos, "atan": ca.atan, "sinh": ca.sinh, "cosh": ca.cosh, "tanh": ca.tanh, "erf": ca.erf,
    "asinh": ca.asinh, "acosh": ca.acosh, "atanh": ca.atanh, "expm1": ca.expm1, "log1p": ca.log1p, "fabs": ca.fabs,
    "sign": ca.sign, "floor": ca.floor, "ceil": ca.ceil,
}  # fmt: skip
BINARY = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "pow": lambda a, b: a**b, "atan2": ca.atan2, "hypot": ca.hypot, "copysign": ca.copysign, "fmin": ca.fmin,
    "fmax": ca.fmax, "fmod": ca.fmod, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b, "and": ca.logic_and, "or": ca.logic_or, "if": lambda a, b: ca.if_else(a, b, 0),
    "if else": lambda a, b: ca.if_else(a < b, a, b - 1),
}  # fmt: skip
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 1e-310, -1e300, np.inf, -np.inf, np.nan, 709.9, -745.2]


def assert_same(got, expected):
    """Equal to rounding, with equal signs of zero, infinities and NaN."""
    np.testing.assert_allclose(got, expected, rtol=1e-14, atol=1e-320)
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(expected[zero]))


def evaluated(function, *rows):
    return np.array([[float(function(*point)) for point in zip(*rows, strict=True)]])


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name):
    function = ca.Function("f", [A], [UNARY[name](A)])
    x = np.concatenate([EDGES, np.random.default_rng(3).uniform(-4, 4, 60)])
    if name in ("sin", "cos", "tan"):
        x = x[~(np.abs(x) > 2.0**30) | np.isinf(x)]
    assert_same(compile_map(function)(x[None])[0], evaluated(function, x))


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers(name):
    function = ca.Function("f", [A, B], [BINARY[name](A, B)])
    pairs = np.array([(a, b) for a in EDGES for b in EDGES])
    more = np.random.default_rng(4).uniform(-4, 4, (60, 2))
    x, y = np.ascontiguousarray(np.concatenate([pairs, more]).T)
    if name == "fmod":  # beyond the stated range of the quotient
        known = ~(np.abs(x) * 2.0**-52 >= np.abs(y)) | (y == 0) | np.isinf(x)
        x, y = x[known], y[known]
    assert_same(compile_map(function)(x[None], y[None])[0], evaluated(function, x, y))


def test_derivative_of_the_absolute_value_is_zero_at_zero():
    kernel = compile_map(ca.Function("f", [A], [ca.gradient(ca.fabs(A), A)]))
    np.testing.assert_array_equal(kernel(np.array([[-2.0, 0.0, 3.0]]))[0], [[-1.0, 0.0, 1.0]])


def smooth(inner):
    """Well-conditioned combinations, so that rounding differences stay rounding differences."""
    one = st.sampled_from([ca.sin, ca.cos, ca.tanh, ca.atan, ca.fabs, lambda a: ca.sqrt(1 + a * a), lambda a: a**3])
    two = st.sampled_from([
        lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / (1 + b * b), ca.fmin, ca.fmax,
        lambda a, b: ca.exp(-a * a) * b, lambda a, b: ca.atan2(a, 2 + b * b),
    ])  # fmt: skip
    return st.builds(lambda f, a: f(a), one, inner) | st.builds(lambda f, a, b: f(a, b), two, inner, inner)


EXPRESSIONS = st.recursive(st.sampled_from([A, B, C]) | st.floats(-2, 2).map(ca.SX), smooth, max_leaves=12)


@settings(max_examples=40)
@given(EXPRESSIONS, EXPRESSIONS)
def test_random_expressions(first, second):
    function = ca.Function("f", [ca.vertcat(A, B), C], [ca.vertcat(first, second), first * second])
    rng = np.random.default_rng(5)
    x, y = rng.uniform(-1.5, 1.5, (2, 11)), rng.uniform(-1.5, 1.5, (1, 11))
    for got, expected in zip(compile_map(function)(x, y), function(x, y), strict=True):
        expected = np.broadcast_to(np.array(expected), got.shape)
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)


def test_equal_and_dead_instructions_are_removed():
    unused = ca.exp(B)
    tape = read_tape(ca.Function("f", [A, B], [A * B + B * A + ca.sin(A * B), A]))
    assert [i.operation for i in tape.instructions].count("mul") == 1
    assert "exp" not in [i.operation for i in read_tape(ca.Function("f", [A, B], [A + 0 * unused])).instructions]


def test_integer_powers_become_products():
    tape = read_tape(ca.Function("f", [A], [ca.vertcat(A**7, A**-2)]))
    assert {i.operation for i in tape.instructions} == {"input", "constant", "mul", "div"}


def test_sparse_results_and_matrix_functions():
    function = ca.Function("f", [A, B], [ca.diag(ca.vertcat(A, B))])
    got = compile_map(function)(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))[0]
    np.testing.assert_array_equal(got, [[1, 2], [0, 0], [0, 0], [3, 4]])
    x = ca.MX.sym("x", 2)
    expanded = compile_map(ca.Function("g", [x], [ca.mtimes(x.T, x)]))
    np.testing.assert_array_equal(expanded(np.array([[3.0], [4.0]]))[0], [[25.0]])


def test_what_has_no_vector_form_is_named():
    with pytest.raises(ExpressionError, match=r"'inverse'.*'erfinv'"):
        read_tape(ca.Function("inverse", [A], [ca.erfinv(A)]))
    x = ca.MX.sym("x")
    table = ca.interpolant("table", "bspline", [[0.0, 1.0, 2.0, 3.0, 4.0]], [0.0, 1.0, 4.0, 9.0, 16.0])
    with pytest.raises(ExpressionError, match="'lookup'"):
        read_tape(ca.Function("lookup", [x], [table(x)]))


def test_a_function_that_is_not_inlined_is_written_once(monkeypatch):
    """Called twenty times, with sparse arguments and results; the text hardly grows with the number of calls."""
    texts = []
    monkeypatch.setattr(compiler, "load", lambda text, load=compiler.load: texts.append(text) or load(text))
    rng = np.random.default_rng(2)
    values = rng.uniform(0.5, 1.5, (2, 5))
    for count in (1, 20):
        for inline in (False, True):
            x = ca.SX.sym("x", ca.Sparsity.diag(2))
            long = x
            for _ in range(20):
                long = ca.sqrt(long * long + 1) * 0.7
            turn = ca.Function("turn", [x], [ca.sparsify(long)], {} if inline else {"never_inline": True})
            y = z = ca.SX.sym("y", 2)
            for _ in range(count):
                z = ca.diag(turn(ca.diag(z)))
            function = ca.Function("many", [y], [z])
            (found,) = compile_map(function)(values)
            np.testing.assert_allclose(found, np.array(function(values)), rtol=1e-14)
    once, inlined_once, often, inlined_often = (len(text) for text in texts)
    assert inlined_often > 10 * inlined_once
    assert often < 3 * once
