"""The text of an expression reads back exactly: the same text, and the same numbers to the last bit."""

import math
import pickle

import casadi as ca
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from daedal.errors import ExpressionError
from daedal.symbolic import (
    Expression,
    delay,
    der,
    functions,
    hold,
    hysteresis,
    intern_symbol,
    list_symbols,
    read_equation,
    read_expression,
    symbol,
    symbols,
    time,
    where,
    write_number,
)

x, y = symbols("x y")
LEAVES = (x, y, symbol("motor.i"), symbol("T[0]"), symbol("ω_λ"), symbol("lambda"), symbol("sin"), time, der(x))
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9)
FOUR = st.sampled_from(["add", "subtract", "multiply", "divide", "power"])
COMPARISON = st.sampled_from(["less", "less_equal", "greater", "greater_equal", "not_equal"])


def apply_raw(name, operands):
    """The function of that name, but for the deciding ones of NaN, which are refused."""
    assume(name not in functions.DECIDING or not any(is_nan(operand) for operand in operands))
    function = {**functions.ARITHMETIC, **functions.BINARY, **functions.UNARY}[name]
    return Expression(function(*(operand.sx for operand in operands)))


def choose(condition, yes, no):
    assume(not is_nan(condition))
    return where(condition, yes, no)


def is_nan(expression):
    return expression.sx.is_constant() and math.isnan(float(expression))


def grown(inner):
    """Larger expressions from smaller ones."""
    pair = st.tuples(inner, inner)
    return st.one_of(
        st.builds(apply_raw, FOUR | COMPARISON, pair),
        st.builds(apply_raw, st.sampled_from([*functions.BINARY]), pair),
        st.builds(apply_raw, st.sampled_from([*functions.UNARY]), st.tuples(inner)),
        inner.map(lambda e: -e),
        st.builds(lambda e, n: e**n, inner, st.integers(-5, 8)),
        st.builds(lambda c, p: choose(c, *p), inner, pair),
        st.builds(lambda e: e * np.sin(e) + e, inner),
        st.builds(lambda e: der(e) + 1, inner),
        st.builds(lambda e: delay(e, 0.5) * 2, inner),
        st.builds(lambda e: hold(e, 0.5) * 2 + hold(e, 1 + x**2, 0.25), inner),
        inner.filter(lambda e: not is_nan(e)).map(lambda e: hysteresis(e, 0, 1) + hysteresis(e, x, 1 + x**2)),
    )


EXPRESSIONS = st.recursive(
    st.sampled_from(LEAVES) | NUMBERS.map(lambda value: Expression(ca.SX(float(value)))), grown, max_leaves=25
)


def bits(expression, names, points):
    function = ca.Function("f", [intern_symbol(name).sx for name in names], [expression.sx])
    values = np.array([float(function.call(list(map(ca.DM, point)))[0]) for point in points])
    values[np.isnan(values)] = math.nan  # the sign of a NaN means nothing
    return values.tobytes()


def assert_reads_back(expression, seed=0):
    text = str(expression)
    again = read_expression(text)
    assert str(again) == text
    names = list_symbols(expression.sx)
    assert set(list_symbols(again.sx)) <= set(names)
    points = np.random.default_rng(seed).normal(scale=2.0, size=(3, len(names)))
    assert bits(again, names, points) == bits(expression, names, points)


@given(EXPRESSIONS, st.integers(0, 2**32 - 1))
@settings(max_examples=300)
@example(x / 0, 0)
@example(math.nan * x, 0)
@example(x - math.inf, 0)
@example(x - -1, 0)
@example((-x) ** 3 - -(x**2), 0)
@example((x**2) ** 3 * (x * x**2), 0)
@example(-(x**y), 0)
@example((-2.0) ** x, 0)
@example(2.0 ** (-x), 0)
@example((x**y) ** x, 0)
@example(x / (y / x) / y * (x / y), 0)
@example((x < y) < (y < x), 0)
@example(~(x < y) & ~(x & y), 0)
@example(where(x > y, 0, x), 0)
@example(where(where(x > y, x, y) > 0, where(x > 0, 1, 2), 3), 0)
@example(1e22 * x + 1e-320 + 0.1 * y + 123456789012345678.0, 0)
def test_any_expression_reads_back_to_the_last_bit(expression, seed):
    assert_reads_back(expression, seed)


@given(EXPRESSIONS, EXPRESSIONS)
@settings(max_examples=50)
def test_any_equation_reads_back(left, right):
    equation = left == right
    assert read_equation(str(equation)) == equation


@given(st.floats())
def test_numbers_keep_all_their_digits(value):
    again = float(write_number(value))
    assert again == value or (math.isnan(again) and math.isnan(value))


def test_the_text_is_what_one_would_type():
    k, rod = symbols("k L")
    typed = {
        "k*sin(x)**2": k * np.sin(x) ** 2,
        "x**2 + y**2 == L**2": x**2 + y**2 == rod**2,
        "where(x < y, x, 0)": np.where(x < y, x, 0),
        "arctan2(x, -y)": np.arctan2(x, -y),
        "x - (y - k)": x - (y - k),
        "(x + y)*k": (x + y) * k,
        "1/(x*y)": 1 / (x * y),
        "delay(x, 2*k)": delay(x, 2 * k),
        "0 < x and not y < x": (x > 0) & ~(y < x),
    }
    assert {text: str(value) for text, value in typed.items()} == {text: text for text in typed}


def test_shared_parts_keep_the_text_short():
    expression = x + y
    for _ in range(60):  # written out, 2**60 terms
        expression = np.sin(expression) * expression + expression
    assert len(str(expression)) < 10_000
    assert_reads_back(expression)


def test_shared_parts_inside_derivatives_have_names_of_their_own():
    long = sum(symbol(f"a{i}") * x for i in range(20))
    inner = der(np.sin(long) * long**2 + long)
    outer = np.cos(y + long) * long + long
    for expression in (inner, inner + 1, inner * outer * outer, delay(inner * outer, 2), der(inner * outer) * inner):
        assert_reads_back(expression)


def test_sums_of_thousands_of_terms_read_back():
    terms = symbols("T", 5000)
    total = sum(k * term**2 for k, term in enumerate(terms, start=1))
    text = str(total)
    assert str(read_expression(text)) == text
    assert len(text) < 120_000
    assert text.startswith("@1 = T[0]**2 + 2*T[1]**2 + 3*T[2]**2")


@pytest.mark.parametrize("step", [lambda e: np.sin(e) + y, lambda e: y - e, lambda e: x / (1 + e), lambda e: 2.0**e])
def test_deeply_nested_formulas_read_back(step):
    expression = x
    for _ in range(1500):
        expression = step(expression)
    assert_reads_back(expression)
    assert str(pickle.loads(pickle.dumps(expression))) == str(expression)


@pytest.mark.parametrize(
    "name",
    [
        "lambda",
        "motor.i",
        "T[0]",
        "T[0,12].a_1",
        "π",
        "Ünïcode",
        "sin",
        "der",
        "where",
        "hold",
        "e5",
        "x²",
        "²",
        "_",
        "变量",
    ],
)
def test_names_survive(name):
    named = symbol(name)
    for expression in (
        named,
        2 * named,
        der(named),
        np.sin(named) ** named,
        delay(named * x, named),
        hold(named, named),
    ):
        again = read_expression(str(expression))
        assert str(again) == str(expression)
        assert set(list_symbols(again.sx)) == set(list_symbols(expression.sx))
    assert read_expression(name) is named


def test_reading_understands_what_is_typed_by_hand():
    assert float(read_expression("-2**2")) == -4
    assert float(read_expression("2**3**2")) == 512
    assert float(read_expression(" 1.5e-3*2 ")) == 0.003
    assert float(read_expression("+.5 - -1.")) == 1.5
    assert float(read_expression("8/2/2")) == 2
    assert float(read_expression("7 - 2 - 1")) == 4
    assert float(read_expression("-inf")) == -math.inf
    assert str(read_expression("x>y or x<=y and not x!=y")) == "y < x or x <= y and not x != y"
    assert str(read_expression("log10(x)")) == str(np.log10(x))
    assert str(read_expression("round(x)")) == str(np.round(x)) == str(np.rint(x)) == str(round(x)) == "floor(x + 0.5)"
    assert str(read_expression("trunc(x)")) == str(np.trunc(x)) == str(math.trunc(x)) == "sign(x)*floor(abs(x))"
    assert read_expression("hold( x , 0.10, 0)") is hold(x, 0.1)
    assert read_expression("hold(x, 0.1, y/2)") is hold(x, 0.1, y / 2)
    assert read_expression("hysteresis(x, -1, 1)") is hysteresis(x, -1, 1)
    assert str(read_expression("@1 = x + y; @2 = @1*@1; @2 + @1")) == str((x + y) ** 2 + (x + y))
    assert read_expression("der( der(x) )") is der(der(x))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it ends where a number or a name is missing"),
        ("x +", "it ends where a number or a name is missing"),
        ("(x", r"it ends where '\)' is missing"),
        ("x)", r"'\)' was not expected"),
        ("x y", "'y' was not expected"),
        ("2x", "'x' was not expected"),
        ("x = 3", "'=' was not expected"),
        ("x^2", r"the character '\^' is not understood"),
        ("sinn(x)", r"there is no function 'sinn' \(Did you mean 'sin'\?\)"),
        ("np.sin(x)", r"there is no function 'np.sin' \(Did you mean 'sin'\?\)"),
        ("__import__(x)", "there is no function '__import__' .*"),
        ("sin(x, y)", "sin takes 1 argument, got 2"),
        ("arctan2(x)", "arctan2 takes 2 arguments, got 1"),
        ("hold(x)", "hold takes 2 or 3 arguments, got 1"),
        ("hold(x, 1, 1, 1)", "hold takes 2 or 3 arguments, got 4"),
        ("hysteresis(x, 1)", "hysteresis takes 3 arguments, got 2"),
        ("sin[x]", r"the character '\[' is not understood"),
        ("@1 + x", "'@1' is used before it is defined"),
        ("@1 = x y; @1", "'y' stands where ';' belongs"),
        ("sin()", r"'\)' was not expected"),
        ("(" * 10_000 + "x" + ")" * 10_000, "its brackets nest more than 10000 deep"),
    ],
)
def test_text_that_cannot_be_read_says_why(text, reason):
    with pytest.raises(ExpressionError, match=rf"cannot be read: {reason}. Write it as in Python"):
        read_expression(text)


@pytest.mark.parametrize("text", ["x < nan", "where(nan, x, y)", "maximum(x, nan)", "x > 0 and nan"])
def test_conditions_on_nan_are_refused_in_text_too(text):
    with pytest.raises(ExpressionError, match="is NaN, which is neither above nor below anything"):
        read_expression(text)


@pytest.mark.parametrize(
    "expression",
    [
        hold(hold(x, 0.1, 0.1), 0.1, 0.05),
        hold(delay(x * y, 0.3), 0.1),
        delay(hold(x, 0.1) * y, 0.3),
        hold(hysteresis(der(x), -y, y), 1 / 3, y / 7),
        hysteresis(hold(x - time, y), delay(x, 1) - 1, delay(x, 1)),
        der(x * hold(y, 0.1)),
    ],
    ids=str,
)
def test_operators_inside_of_operators_read_back(expression):
    assert_reads_back(expression)
    assert read_expression(str(expression)) is expression
    assert pickle.loads(pickle.dumps(expression)) is expression


def test_equations_and_expressions_are_not_taken_for_each_other():
    with pytest.raises(ExpressionError, match="'x == y' is an equation where an expression belongs"):
        read_expression("x == y")
    with pytest.raises(ExpressionError, match=r"'x' is not an equation. Write it with '=='"):
        read_equation("x")
    with pytest.raises(ExpressionError, match="'==' was not expected"):
        read_equation("x == y == x")
    with pytest.raises(ExpressionError, match="A formula must be given as text, got 3"):
        read_equation(3)  # pyright: ignore
    with pytest.raises(ExpressionError, match="The name 'time' has a meaning"):
        symbol("time")
    assert read_expression("time") is time
