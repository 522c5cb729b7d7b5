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
    Held,
    Latched,
    delay,
    der,
    differentiate,
    expand,
    find_operator,
    hold,
    hysteresis,
    intern_symbol,
    jet,
    list_plain_symbols,
    list_symbols,
    name_derivative,
    rename_symbols,
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
        if isinstance(meaning, (Held, Latched)):  # constant as long as nothing happens
            return 0.3 if isinstance(meaning, Held) else -1.0
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
    "held and latched": lambda: x * hold(y, 0.7) + hysteresis(x, -0.5, 0.5) * y + hold(der(x * y), 0.7, 0.1),
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
    assert text_after(hold(der(m * x), tau)) == "hold(m*der(x), tau)"
    assert text_after(hold(der(m), tau)) == "0"
    assert text_after(der(x * hold(x, tau))) == "hold(x, tau)*der(x)"
    assert text_after(der(hold(x, tau))) == "0"
    assert text_after(der(hysteresis(x, 0, m))) == "0"
    assert text_after(der(delay(hold(x, tau), 0.5))) == "0"
    assert text_after(hysteresis(der(m * x), der(m), der(tau * y))) == "hysteresis(m*der(x), 0, tau*der(y))"


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


def test_held_and_latched_values_are_symbols_with_a_meaning():
    held = find_operator(str(hold(m * x, 2 * tau, delay=tau)))
    assert isinstance(held, Held)
    assert list(map(str, (held.operand, *held.amounts))) == ["m*x", "2*tau", "tau"]
    assert float(find_operator(str(hold(x, 0.1))).delay) == 0.0
    assert str(hold(x, 0.1)) == "hold(x, 0.1)"
    assert str(hold(x, 0.1, 0.1)) == "hold(x, 0.1, 0.1)"
    assert str(hold(x, 0.3, 3 * 0.1)) == "hold(x, 0.3, 0.3)"  # 3 * 0.1 > 0.3 by rounding
    assert jet(str(der(hold(x, 0.1)))) == ("hold(x, 0.1)", 1)
    latched = find_operator(str(hysteresis(x, -m, y)))
    assert isinstance(latched, Latched)
    assert list(map(str, (latched.operand, *latched.amounts))) == ["x", "-m", "y"]
    assert str(hysteresis(x, 1, 1)) == "sign(x - 1)"
    assert str(hysteresis(x, m, m)) == "hysteresis(x, m, m)"


def test_symbols_are_renamed_everywhere():
    names = {"x": "a.x", "m": "a.m", "tau": "a.tau"}
    assert str(rename_symbols(hold(x * y, m, tau), names)) == "hold(a.x*y, a.m, a.tau)"
    assert str(rename_symbols(hysteresis(der(x), -m, tau), names)) == "hysteresis(der(a.x), -a.m, a.tau)"
    inside = hold(delay(hold(x, m), tau), 2 * m) + delay(hysteresis(x, 0, 1), tau)
    expected = "hold(delay(hold(a.x, a.m), a.tau), 2*a.m) + delay(hysteresis(a.x, 0, 1), a.tau)"
    assert str(rename_symbols(inside, names)) == expected
    assert rename_symbols(hold(y, 0.1), names) is hold(y, 0.1)


def test_plain_symbols_are_found_inside_of_operators():
    assert set(list_plain_symbols(hold(der(x * y), m, tau).sx)) == {"x", "y", "m", "tau"}
    assert set(list_plain_symbols((hysteresis(time, x, delay(y, tau)) + m).sx)) == {"time", "x", "y", "tau", "m"}
    assert list_plain_symbols(ca.vertcat(x.sx, der(x).sx)) == ["x"]


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
    assert float(hold(3, tau)) == float(hold(3, tau, 0.1)) == 3.0
    assert [float(hysteresis(value, 1, 2)) for value in (0, 1.5, 2, 3)] == [-1.0, -1.0, -1.0, 1.0]
    assert str(hysteresis(3, m, 4)) == "hysteresis(3, m, 4)"


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
        (lambda: hold("x", 1), "What hold samples must be an expression, got the text 'x'"),
        (lambda: hold(x == y, 1), "What hold samples must be an expression, got the equation 'x == y'"),
        (lambda: hold(x, "T"), "The time between the samples of hold must be an expression, got the text 'T'"),
        (lambda: hold(x, None), "The time between the samples of hold must be an expression or a number, got None"),
        (lambda: hold(x, 0), "samples of hold must be finite and positive, got every=0. Give the seconds from one"),
        (lambda: hold(x, -0.1), "samples of hold must be finite and positive, got every=-0.1"),
        (lambda: hold(x, float("inf")), "samples of hold must be finite and positive, got every=inf"),
        (lambda: hold(x, float("nan")), "samples of hold must be finite and positive, got every=nan"),
        (lambda: hold(3, 0), "samples of hold must be finite and positive, got every=0"),
        (lambda: hold(x, 1, -0.1), "The delay of hold must be finite and not negative, got delay=-0.1. Give the sec"),
        (lambda: hold(x, 1, float("nan")), "The delay of hold must be finite and not negative, got delay=nan"),
        (lambda: hold(x, tau, float("inf")), "The delay of hold must be finite and not negative, got delay=inf"),
        (
            lambda: hold(x, 0.1, 0.25),
            r"must not be longer than the time between its samples, got 0.25 with every=0.1. Hold the held value once "
            r"more for each whole period, hold\(hold\(x, 0.1, 0.1\), 0.1, ...\), and delay the last one by the rest",
        ),
        (lambda: hysteresis("x", 0, 1), "What hysteresis watches must be an expression, got the text 'x'"),
        (lambda: hysteresis(x, [0], 1), r"The low threshold of hysteresis must be an expression or a number, got \[0"),
        (lambda: hysteresis(x, 0, "b"), "The high threshold of hysteresis must be an expression, got the text 'b'"),
        (lambda: hysteresis(x, 2, 1), "low threshold of hysteresis must not be above the high one, got low=2 and hi"),
        (lambda: hysteresis(x, float("nan"), m), "thresholds of hysteresis must be finite, got low=nan. Where there"),
        (lambda: hysteresis(x, m, float("inf")), "The thresholds of hysteresis must be finite, got high=inf"),
        (lambda: hysteresis(float("nan"), 0, 1), "What hysteresis watches is NaN"),
    ],
)
def test_what_is_refused_and_why(form, message):
    with pytest.raises(ExpressionError, match=message):
        form()
