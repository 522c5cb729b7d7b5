"""Typeset formulas, read back by an XML parser and computed: they must give the numbers of the expression itself."""

import math
import re
from xml.etree import ElementTree

import casadi as ca
import numpy as np
import pytest

import daedal as dd
from daedal import delay, der, hold, hysteresis
from daedal.symbolic import write_latex, write_mathml

x, y, k = dd.symbols("x y k")
SPACE = "{http://www.w3.org/1998/Math/MathML}"
NUMBERS = {"x": 0.7, "y": -1.3, "k": 2.6}
WORDS = {"−": "-", "⋅": "*", "×": "*", "≤": "<=", "≠": "!=", "∧": " and ", "∨": " or ", "¬": " not ", "\u2061": ""}


def compute(text):
    """What a reader of presentation MathML computes: rows by the precedence of signs, fractions, powers, roots."""
    inside = " ".join(convert(one) for one in ElementTree.fromstring(text))
    functions = {name: getattr(np, name) for name in dir(np) if not name.startswith("_")}
    return float(eval(inside, {**functions, **NUMBERS}))  # a text that this test made from numbers and signs


def convert(element):
    tag = element.tag.removeprefix(SPACE)
    parts = [convert(one) for one in element]
    if tag in ("mi", "mn"):
        return (element.text or "").replace("−", "-")
    if tag == "mo":
        return WORDS.get(element.text, element.text)
    if tag == "mfrac":
        return f"(({parts[0]})/({parts[1]}))"
    if tag == "msup":
        return f"(({parts[0]})**({parts[1]}))" if not element[0].tag.endswith("mi") else f"({parts[0]}**({parts[1]}))"
    if tag == "msqrt":
        return f"sqrt({' '.join(parts)})"
    if tag == "mrow":
        signs = [one.text for one in element if one.tag == f"{SPACE}mo"]
        if signs[:1] == ["{"]:
            table = element[1]
            (yes, when), (no, _) = [[" ".join(map(convert, cell)) for cell in row] for row in table]
            return f"(({yes}) if ({when}) else ({no}))"
        if signs == ["|", "|"]:
            return f"abs({' '.join(parts[1:-1])})"
        return " ".join(parts)
    if tag == "mtext":
        return ""
    if tag in ("mtable", "mtr", "mtd"):
        return " ".join(parts)
    raise AssertionError(tag)


FORMULAS = [
    x + y * k,
    (x + y) * k,
    x - (y - k),
    x - y - k,
    x / (y / k),
    x / y / k,
    -(x**2),
    (-x) ** 2,
    (x + y) ** 3,
    k ** (x + y),
    (x / y) ** 2,
    k**x**2,
    x * (-y),
    x - (-y) * 3,
    np.sin(x) ** 2 + np.cos(x * y),
    np.exp(-k * x) / (1 + np.sqrt(k)),
    np.abs(x - y) * 2,
    np.where(x > y, x**2, -k) * 2 + 1,
    np.where((x > 0) & (y < 0), k, x),
    np.maximum(x, y) + np.minimum(k, 1.5e-7),
    np.arctan2(y, x) + np.tanh(k),
    1 / (x + 1e8 * y) - 2.5e-12,
    2 * (x + y) / (3 * k),
    np.sign(y) * np.floor(k),
    1 - (x - 1) * (y - 2) ** 2 / k,
]


@pytest.mark.parametrize("formula", FORMULAS, ids=str)
def test_mathml_says_what_the_expression_says(formula):
    exact = float(ca.Function("f", [dd.symbol(name).sx for name in NUMBERS], [formula.sx])(*NUMBERS.values()))
    assert compute(write_mathml(formula)) == pytest.approx(exact, rel=2e-6)


def test_a_long_part_that_is_used_twice_is_written_once():
    long = sum((np.sin(i * x) / (i + y) for i in range(1, 30)), start=x)
    text = write_mathml(long * (1 + long**2))
    table = ElementTree.fromstring(text)[0]
    assert table.tag == f"{SPACE}mtable"
    assert len(table) == 2
    assert text.count("<mi>sin</mi>") == 29
    deep = x
    for _ in range(200):
        deep = np.sin(deep)
    assert len(write_mathml(deep)) < 20_000


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        (der(x), "<mover accent=\"true\"><mi>x</mi><mo>˙</mo></mover>"),
        (der(der(x)), "<mo>¨</mo>"),
        (der(der(der(x))), "<msup><mi>d</mi><mn>3</mn></msup>"),
        (der(k * x), "<mfrac><mi>d</mi><mrow><mi>d</mi><mi>t</mi></mrow></mfrac><mrow><mo>(</mo>"),
        (delay(x, 2 * k), "<mi>x</mi><mrow><mo>(</mo><mrow><mi>t</mi><mo>−</mo>"),
        (delay(x + y, k), "<mo>(</mo><mrow><mi>x</mi><mo>+</mo><mi>y</mi></mrow><mo>)</mo>"),
        (hold(x, 0.1, 0.02), "<mi>hold</mi><mo>\u2061</mo>"),
        (hysteresis(x, -k, k), "<mi>hysteresis</mi>"),
        (dd.symbol("theta_0"), "<msub><mi>θ</mi><mi>0</mi></msub>"),
        (dd.symbol("shaft.c"), '<mi>shaft</mi><mo lspace="0em" rspace="0em">.</mo><mi>c</mi>'),
        (der(dd.symbol("shaft.phi")), "<mi>d</mi>"),
        (dd.time * x, "<mi>t</mi>"),
        (2 * x == y, "<mo>=</mo>"),
    ],
    ids=str,
)  # fmt: skip
def test_derivatives_delays_and_names(formula, shown):
    text = write_mathml(formula)
    again = ElementTree.tostring(ElementTree.fromstring(text), encoding="unicode", default_namespace=None)
    plain = re.sub(r"</?ns0:", lambda found: found[0].replace("ns0:", ""), again)
    assert shown in plain


def test_arguments_of_hold_that_are_silent_are_left_out():
    assert write_mathml(hold(x, 0.1)).count("<mo>,</mo>") == 1
    assert write_mathml(hold(x, 0.1, 0.02)).count("<mo>,</mo>") == 2


@pytest.mark.parametrize("formula", [*FORMULAS, der(x) == -k * x, delay(der(x), k), dd.symbol("a_b.theta")], ids=str)
def test_latex_is_read_by_another_program(formula):
    from matplotlib.mathtext import MathTextParser

    assert MathTextParser("path").parse(f"${write_latex(formula)}$").width > 0


def test_latex_of_a_fraction_with_a_derivative():
    assert write_latex(der(x) / (k + 1)) == r"\frac{\dot{x}}{k + 1}"
    assert write_latex(math.inf * x).startswith(r"\mathrm{∞}")
