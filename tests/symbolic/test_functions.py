"""Every function of the table gives what numpy (or math) gives, alone and in arrays, and reads back from text."""

import math

import casadi as ca
import numpy as np
import pytest

from daedal.symbolic import functions, read_expression, symbols

x, y = symbols("x y")
VALUES = np.array([-2.5, -1.0, -0.3, 0.0, 0.2, 0.9, 1.0, 1.7, 3.2])
NOT_OF_NUMPY = {"erf": math.erf}


def reference(name, *values):
    function = NOT_OF_NUMPY.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        return float(function(*map(np.float64, values)))


def numbers(expression, *points):
    function = ca.Function("f", [x.sx, y.sx], [expression.sx])
    return [float(function(*point)) for point in points]


def symbolic(name, *arguments):
    return getattr(arguments[0], name)(*arguments[1:]) if name in NOT_OF_NUMPY else getattr(np, name)(*arguments)


@pytest.mark.parametrize("name", [*functions.UNARY, "absolute", "fabs", "radians", "degrees", "negative", "positive"])
def test_functions_of_one_argument_are_those_of_numpy(name):
    got = numbers(symbolic(name, x), *((value, 0.0) for value in VALUES))
    np.testing.assert_allclose(got, [reference(name, value) for value in VALUES], rtol=4e-16 * 4, atol=1e-300)


@pytest.mark.parametrize("name", [*functions.BINARY, "fmax", "fmin", *functions.ARITHMETIC])
def test_functions_of_two_arguments_are_those_of_numpy(name):
    points = [(a, b) for a in VALUES for b in VALUES if b != 0 or name not in ("divide", "fmod")]
    got = numbers(getattr(np, name)(x, y), *points)
    np.testing.assert_allclose(got, [reference(name, *point) for point in points], rtol=2e-15)


@pytest.mark.parametrize("name", sorted({*functions.UNARY, *functions.BINARY} - set(NOT_OF_NUMPY)))
def test_functions_read_back_from_numpys_name(name):
    arguments = (x, y)[: 1 if name in functions.UNARY else 2]
    typed = f"{name}({', '.join(map(str, arguments))})"
    assert str(read_expression(typed)) == str(getattr(np, name)(*arguments))


def test_the_branch_not_taken_may_be_infinite():
    safe = np.where(x > 0, np.log(x), -1.0 / x)
    assert numbers(safe, (0.0, 0.0), (1.0, 0.0)) == [-math.inf, 0.0]
    assert numbers(np.where(x > 0, 1.0 / x, 5.0), (0.0, 0.0)) == [5.0]
