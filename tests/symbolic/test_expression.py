"""Expressions behave as numbers do in numpy; `==` gives equations; what cannot work says so."""

import copy
import math
import pickle
from dataclasses import FrozenInstanceError

import casadi as ca
import numpy as np
import pytest

from daedal.errors import ExpressionError
from daedal.symbolic import Equation, Expression, der, symbol, symbols, time, where

x, y, z = symbols("x y z")
POINT = {"x": 0.37, "y": -1.9, "z": 2.6}


def at_point(formula):
    """The number of an expression, or the array of numbers of an array of them, at POINT."""
    names = ca.vertcat(*(symbol(name).sx for name in POINT))

    def number(entry):
        if not isinstance(entry, Expression):
            return float(entry)
        return float(ca.Function("f", [names], [entry.sx])(list(POINT.values())))

    return np.vectorize(number, otypes=[float])(formula)


FORMULAS = {
    "arithmetic": lambda x, y, z: -x + 2 * y - z / 3 + (1 - x) * (2 / y) - (+z),
    "powers": lambda x, y, z: x**2 + y**3 + y**-2 + z**x + 2**y + x**0.5,
    "reflected": lambda x, y, z: 3 - x + 2.5 / y + 3**x - z,
    "float64 on the left": lambda x, y, z: np.float64(2) * x + np.float64(1) / y - (np.float64(3) - z) ** np.float64(2),
    "integers of numpy": lambda x, y, z: np.int64(3) * x + y * np.float32(0.5) - z,
    "where": lambda x, y, z: np.where(x > y, x * z, -z) + np.where(x + y >= z, 1.0, y),
    "nested where": lambda x, y, z: np.where(x < 0, 1, np.where(y < 0, np.where(z < 0, 2, 3), 4)),
    "clip": lambda x, y, z: np.clip(y, -1, 1) + np.clip(x, -1, 1) * np.clip(z, None, 2) - np.clip(y, 0, None),
    "arctan2 and abs": lambda x, y, z: np.arctan2(x, -y) + np.abs(y) + abs(y * z),
    "conditions": lambda x, y, z: ((x > 0) & (y < 0)) * 2.0 + ((x < 0) | (z > 0)) * 4.0 + (x != y) * 8.0,
    "negated conditions": lambda x, y, z: np.where(np.logical_not(x > 0), x, y) + (x <= y) * z,
    "time-like products": lambda x, y, z: np.exp(-x * y) * np.cos(2 * np.pi * z) / (1 + np.square(y)),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_evaluate_as_with_numpy_floats(name):
    formula = FORMULAS[name]
    np.testing.assert_allclose(at_point(formula(x, y, z)), formula(*map(np.float64, POINT.values())), rtol=2e-15)


ARRAYS = {
    "product with a matrix": lambda v: np.array([[1.0, 2.0, 0.5], [3.0, 4.0, -1.0]]) @ v,
    "matrix of expressions": lambda v: np.outer(v, v) @ v,
    "scalar times array": lambda v: v[0] * np.array([1.0, 2.0]),
    "array times scalar": lambda v: np.array([1.0, 2.0]) * v[0] - v[1],
    "sum and mean": lambda v: np.sum(v) * np.mean(v),
    "dot": lambda v: np.dot(v, [1.0, 2.0, 3.0]),
    "norm": lambda v: np.linalg.norm(v),
    "cross product": lambda v: np.cross(v, [1.0, 0.0, -2.0]),
    "functions by element": lambda v: np.sin(v) + np.exp(v) ** 2 + np.abs(v),
    "binary functions by element": lambda v: np.arctan2(v, 2.0) + np.hypot(v, np.array([1.0, 2.0, 3.0])),
    "remainder by element": lambda v: np.fmod(v, 0.7),
    "binary function of array and scalar": lambda v: np.maximum(v, v[0]) + np.arctan2(v[1], v),
    "where over an array of numbers": lambda v: np.where(v[0] > 0, np.array([1.0, 2.0]), v[1]),
    "degrees": lambda v: np.radians(v) + np.degrees(v) + np.fabs(v),
    "rounding": lambda v: np.floor(v) + np.ceil(v) + np.round(v) + np.rint(v) + np.trunc(v),
    "polynomial": lambda v: sum(c * v[0] ** n for n, c in enumerate([1.0, 2.0, 3.0])),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_expressions_evaluate_as_arrays_of_floats(name):
    formula = ARRAYS[name]
    got = at_point(formula(np.array([x, y, z])))
    expected = formula(np.array(list(POINT.values())))
    assert got.shape == np.shape(expected)
    np.testing.assert_allclose(got, expected, rtol=2e-15)


def test_equations_keep_the_order_of_their_sides():
    assert [str(side) for side in ((x == 2 * y).lhs, (x == 2 * y).rhs)] == ["x", "2*y"]
    assert str(x == 1) == "x == 1"
    assert str(np.float64(2) == x) == "2 == x"
    assert str(2 * x == x) == "2*x == x"
    assert list(map(str, x == np.array([1.0, 2.0]))) == ["x == 1", "x == 2"]
    assert list(map(str, np.array([1.0, 2.0]) == x)) == ["1 == x", "2 == x"]
    assert list(map(str, np.equal(np.array([x, y]), np.array([1, z]), dtype=object))) == ["x == 1", "y == z"]


def test_equations_are_values():
    assert (x == y) == (x == y)
    assert (x == y) != (y == x)
    assert len({x == y, x == y, y == x}) == 2
    assert (x == y) != "x == y"
    assert str((x == y**2).residual) == "x - y**2"
    with pytest.raises(FrozenInstanceError):
        (x == y).lhs = z  # pyright: ignore


def test_symbols_are_keys():
    assert {x: 1, y: 2}[symbol("x")] == 1
    assert x in {x: 1}
    assert z not in {x: 1, y: 2}
    assert symbol("x") is x
    assert {x: 1}[Expression(x.sx)] == 1


def test_derivatives_are_keys_too():
    assert {der(x): 1}[der(x)] == 1
    assert der(der(x)) not in {x: 1, der(x): 2}


@pytest.mark.parametrize("function", [math.sin, math.exp, float, complex, lambda e: math.atan2(e, 1.0)])
def test_functions_of_math_refuse_expressions(function):
    with pytest.raises(ExpressionError, match=r"'x \+ y' is an expression, not a number. Use numpy's functions"):
        function(x + y)


def test_constant_expressions_are_numbers():
    assert float(x - x + 2) == 2.0
    assert math.sqrt(0 * x + 4) == 2.0


@pytest.mark.parametrize(
    "decide",
    [
        lambda: 1 if x > y else 2,
        lambda: (x > y) and (y > z),
        lambda: not (x > y),
        lambda: 0 < y < x,
        lambda: max(x, y),
        lambda: sorted([x, y]),
        lambda: np.sign(np.array([x, y])),
        lambda: np.maximum(np.array([x, y]), 0),
        lambda: np.where(np.array([x > 0, y > 0]), 1, 2),
        lambda: np.array([x, y]) < 0,
    ],
)
def test_a_condition_is_neither_true_nor_false_before_the_simulation(decide):
    with pytest.raises(ExpressionError, match=r"is not known before the simulation. Choose .* with np.where"):
        decide()


@pytest.mark.parametrize(
    ("decide", "equation"),
    [
        (lambda: bool(2 * x == 1), r"2\*x == 1"),
        (lambda: der(x) == y == z, r"der\(x\) == y"),
        (lambda: x == y == 2 * z, "x == y"),
        (lambda: x in [y, x], "y == x"),
        (lambda: [y, z].index(z), "y == z"),
    ],
)
def test_an_equation_is_neither_true_nor_false(decide, equation):
    with pytest.raises(ExpressionError, match=f"'{equation}' is neither true nor false. Write a == b == c as two"):
        decide()


def test_arrays_are_compared_with_equal():
    with pytest.raises(ExpressionError, match=r"'x == 1' is neither true nor false.*np.equal\(a, b, dtype=object\)"):
        np.array([x, y]) == np.array([1, 2])  # noqa: B015


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (lambda: x + "y", r"A term must be an expression, got the text 'y'. Make it a symbol first: symbol\('y'\)"),
        (lambda: x == "2.5", r"right side of '==' must be an expression, got the text '2.5'. Leave the quotes out"),
        (lambda: x == (y == z), "right side of '==' must be an expression, got the equation 'y == z'"),
        (lambda: x + None, "must be an expression or a number, got None"),
        (lambda: x + 1j, "must be an expression or a number, got 1j"),
        (lambda: x < 1j, "must be an expression or a number, got 1j. Write its real and imaginary parts apart"),
        (lambda: np.where(1j, x, y), "A part of where must be an expression or a number, got 1j"),
        (lambda: x < math.nan, "A term of less is NaN, which is neither above nor below anything. Give a number; inf"),
        (lambda: np.float64(math.nan) >= x, "A term of greater_equal is NaN"),
        (lambda: x != math.nan, "A term of not_equal is NaN"),
        (lambda: (x > 0) & math.nan, "A term of logical_and is NaN"),
        (lambda: ~(0 * symbol("x") + math.nan), "A term of logical_not is NaN"),
        (lambda: np.where(math.nan, x, y), "The condition of where is NaN"),
        (lambda: np.where(np.array([math.nan, 1.0]), x, y), "The condition of where is NaN"),
        (lambda: np.clip(x, math.nan, 1.0), "A term of maximum is NaN"),
        (lambda: np.sign(x * 0 + math.nan), "A term of sign is NaN"),
        (
            lambda: np.round(x, 2),
            r"Expressions are rounded to whole numbers, not to 2 digits. Write np.round\(x / step",
        ),
        (lambda: np.round(x, decimals=-1), "Expressions are rounded to whole numbers, not to -1 digits"),
        (lambda: round(x, 3), "Expressions are rounded to whole numbers, not to 3 digits"),
        (lambda: x * [1, 2], r"must be an expression or a number, got \[1, 2\]"),
        (lambda: np.cbrt(x), "np.cbrt has no symbolic form. Known are sin, cos"),
        (lambda: np.exp(x, dtype=float), "np.exp with dtype cannot take expressions"),
        (lambda: np.add.outer(x, y), "np.add.outer cannot take expressions. Write the operation out"),
        (lambda: np.interp(x, [0, 1], [0, 1]), "np.interp cannot take expressions"),
        (lambda: np.where(x, y), "np.where cannot take expressions"),
        (lambda: where(x > 0, x == 1, 2), "A part of where must be an expression, got the equation 'x == 1'"),
        (lambda: symbol("2x"), "name must be a word such as 'x', 'motor.i' or 'T.0.', got '2x'"),
        (lambda: symbol("x y"), "name must be a word"),
        (lambda: symbol(""), "name must be a word"),
        (lambda: symbol(3), "name must be a word .* got 3"),
        (lambda: symbol("time"), "The name 'time' has a meaning of its own. .* dd.time"),
        (lambda: symbol("not"), "The name 'not' has a meaning of its own"),
        (lambda: symbol(x), "symbol takes a name, got the expression 'x'"),
        (lambda: symbols(["x", "y"]), 'symbols takes names in one text, .* Write symbols."x y z"'),
        (lambda: symbols("x", "y"), 'symbols takes all names in one text. Write symbols."x y"'),
        (lambda: x ^ 2, r"'\^' is not defined for expressions. Write powers with \*\*"),
        (lambda: 2 ^ x, "'.' is not defined for expressions. Write powers"),
        (lambda: x % 2, r"'%' is not defined for expressions. Write np.fmod\(a, b\), with the sign of a"),
        (lambda: 2.5 % x, "'%' is not defined for expressions"),
        (lambda: symbols("x", 2.5), "count of symbols 'x' must be a whole number, got 2.5"),
        (lambda: symbols("x", -1), "count of symbols 'x' must be a whole number, got -1"),
        (lambda: symbols("x", 10**6), "count of symbols 'x' must be a whole number.*, got 1000000"),
        (lambda: Expression(3.0), "An Expression holds one scalar CasADi SX, got 3.0"),
        (lambda: Expression(ca.SX.sym("v", 2)), "An Expression holds one scalar CasADi SX"),
    ],
)
def test_what_is_refused_and_why(form, message):
    with pytest.raises(ExpressionError, match=message):
        form()


def test_symbols_come_in_tuples():
    assert symbols("x y") == (x, y)
    assert symbols("x, y") == (x, y)
    assert list(map(str, symbols("T", 3))) == ["T[0]", "T[1]", "T[2]"]
    assert symbols("T", 0) == ()


def test_expressions_are_frozen_and_give_back_their_sx():
    assert isinstance((x + 1).sx, ca.SX)
    with pytest.raises(FrozenInstanceError):
        x.sx = ca.SX(1)  # pyright: ignore


@pytest.mark.parametrize("value", [x, time, der(der(x)), der(x * y) + 1, np.sin(x) ** 2 / y, x == y**2, x * 0 + 2.5])
def test_pickle_and_deepcopy_give_the_same(value):
    for other in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value), copy.copy(value)):
        assert type(other) is type(value)
        assert str(other) == str(value)


def test_a_pickled_symbol_is_the_symbol():
    assert pickle.loads(pickle.dumps(x)) is x
    assert pickle.loads(pickle.dumps(der(x))) is der(x)


def test_equation_class_is_what_double_equals_gives():
    assert isinstance(x == y, Equation)
    assert isinstance(x + 1 == 0, Equation)
