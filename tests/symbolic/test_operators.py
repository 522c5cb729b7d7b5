"""der and delay: the chain rule against closed forms and finite differences, and what is refused."""

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.errors import ExpressionError
from daedal.symbolic import (
    Delayed,
    Derivative,
    delay,
    der,
    differentiate,
    expand,
    find_operator,
    intern_symbol,
    jet,
    list_symbols,
    name_derivative,
    symbol,
    symbols,
    time,
)

x, y, m, tau = symbols("x y m tau")
CONSTANTS = {"m", "tau"}

# Functions of time with known derivatives, to replace x, y and their derivatives by numbers.
PATHS = {
    "x": lambda t, order: 1.3**order * np.sin(1.3 * t + order * np.pi / 2),
    "y": lambda t, order: 2.0 * (-0.4) ** order * np.exp(-0.4 * t),
}


def text_after(expression, constants=CONSTANTS):
    return str(type(expression)(expand(expression.sx, constants)))


def value(sx, t):
    """The number of an expanded expression along the paths at time t."""
    names = list_symbols(sx)
    function = ca.Function("f", [ca.vertcat(*(intern_symbol(name).sx for name in names))], [sx])

    def number(name):
        if name == "time":
            return t
        meaning = find_operator(name)
        if isinstance(meaning, Delayed):
            return value(meaning.operand.sx, t - float(meaning.amount))
        base, order = jet(name)
        return {"m": 0.7}[base] if base in CONSTANTS else PATHS[base](t, order)

    return float(function([number(name) for name in names]))


FORMULAS = {
    "product with a parameter": lambda: m * x * y,
    "powers": lambda: x**3 / (1 + y**2) + x**m,
    "functions": lambda: np.sin(x * y) + np.exp(-m * x) + np.arctan2(x, y),
    "time": lambda: time * x + np.cos(time) * y,
    "derivatives": lambda: m * der(x) * y + der(der(y)) ** 2,
    "derivative of a formula": lambda: der(m * x * y) * x,
    "derivative of a derivative of a formula": lambda: der(der(x * y) * time),
    "delay": lambda: x * delay(y, 0.5) + delay(x * y, 0.25),
    "delay of a derivative of a formula": lambda: delay(der(x**2), 0.5) * m,
    "derivative of a delay": lambda: der(delay(x, 0.5) ** 2),
    "nested delays": lambda: delay(delay(x, 0.5) * y, 0.25),
}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("t", [0.3, 2.1])
def test_total_derivative_agrees_with_central_differences(name, t):
    formula = FORMULAS[name]()
    plain = expand(formula.sx, CONSTANTS)
    step = 1e-4
    slope = sum(w * value(plain, t + k * step) for k, w in ((-2, 1), (-1, -8), (1, 8), (2, -1))) / (12 * step)
    for derivative in (expand(der(formula).sx, CONSTANTS), differentiate(plain, CONSTANTS)):
        np.testing.assert_allclose(value(derivative, t), slope, rtol=1e-8, atol=1e-9)


@given(st.lists(st.sampled_from("xym"), min_size=1, max_size=5), st.floats(0.1, 3.0))
@settings(max_examples=30)
def test_product_rule_holds_for_products_of_symbols(letters, t):
    factors = [symbol(letter) for letter in letters]
    product = np.prod(np.array(factors, dtype=object))

    def rate(factor):
        return 0 if str(factor) in CONSTANTS else der(factor)

    expected = sum(
        np.prod(np.array([rate(f) if i == j else f for j, f in enumerate(factors)], dtype=object))
        for i in range(len(factors))
    )
    got = value(expand(der(product).sx, CONSTANTS), t)
    assert got == pytest.approx(value((expected + 0 * x).sx, t), rel=1e-12, abs=1e-12)


def test_expansions_in_closed_form():
    assert text_after(der(m * x)) == "m*der(x)"
    assert text_after(der(x**2)) == "2*x*der(x)"
    assert text_after(der(der(m * x))) == "m*der(der(x))"
    assert text_after(der(time * m)) == "m"
    assert text_after(der(time)) == "1"
    assert text_after(der(m)) == "0"
    assert text_after(der(m * tau)) == "0"
    assert text_after(der(x)) == "der(x)"
    assert text_after(der(delay(x, tau))) == "delay(der(x), tau)"
    assert text_after(der(der(delay(x, tau)))) == "delay(der(der(x)), tau)"
    assert text_after(delay(der(m * x), tau)) == "delay(m*der(x), tau)"
    assert text_after(x + y) == "x + y"


def test_without_constants_every_symbol_moves():
    assert text_after(der(m * x), constants=()) in ("m*der(x) + der(m)*x", "der(m)*x + m*der(x)", "x*der(m) + m*der(x)")


def test_vectors_are_expanded_and_differentiated_together():
    vector = ca.vertcat(x.sx * m.sx, der(x * y).sx)
    expanded = expand(vector, CONSTANTS)
    assert expanded.shape == (2, 1)
    rates = differentiate(expanded, CONSTANTS)
    assert [value(rates[i], 0.4) for i in range(2)] == pytest.approx(
        [value(expand(der(e).sx, CONSTANTS), 0.4) for e in (x * m, der(x * y))]
    )
    assert differentiate(ca.vertcat(m.sx, 2 * tau.sx), CONSTANTS).is_zero()


def test_derivatives_are_symbols_with_a_meaning():
    assert der(x).is_symbol
    assert der(x) is der(symbol("x"))
    meaning = find_operator("der(m*x)") or find_operator(str(der(m * x)))
    assert isinstance(meaning, Derivative)
    assert str(meaning.operand) == "m*x"
    shifted = find_operator(str(delay(x, 2 * tau)))
    assert isinstance(shifted, Delayed)
    assert str(shifted.amount) == "2*tau"
    assert find_operator("x") is None


def test_jets_name_symbol_and_order():
    assert jet(str(der(der(x)))) == ("x", 2)
    assert jet("x") == ("x", 0)
    assert jet(str(der(x * y))) == ("der(x*y)", 0)
    assert name_derivative("x", 3) == "der(der(der(x)))"
    assert jet(name_derivative("x", 3)) == ("x", 3)


def test_a_name_asked_for_before_it_is_made_gets_its_meaning_later():
    assert jet("der(fresh)") == ("der(fresh)", 0)
    der(symbol("fresh"))
    assert jet("der(fresh)") == ("fresh", 1)


def test_operators_of_constants_vanish():
    assert float(der(3)) == 0.0
    assert float(delay(3, 1)) == 3.0
    assert float(der(delay(3, tau))) == 0.0


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (lambda: der(x == y), "der takes an expression, got the equation 'x == y'. Differentiate each side"),
        (lambda: der("x"), r"What der differentiates must be an expression, got the text 'x'. .*symbol\('x'\)"),
        (lambda: der([x, y]), r"What der differentiates must be an expression or a number, got \[x, y\]"),
        (lambda: delay(x, -1), "A delay must be finite and not negative, got -1. Give the time that has passed"),
        (lambda: delay(x, float("nan")), "A delay must be finite and not negative, got nan"),
        (lambda: delay(x, float("inf")), "A delay must be finite and not negative, got inf"),
        (lambda: delay(x, "tau"), "The amount of a delay must be an expression, got the text 'tau'"),
        (lambda: delay("x", 1), "What delay shifts must be an expression, got the text 'x'"),
    ],
)
def test_what_is_refused_and_why(form, message):
    with pytest.raises(ExpressionError, match=message):
        form()
