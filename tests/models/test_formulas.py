"""Expressions of parameters: values and slopes against closed forms, and how often they are compiled."""

import casadi as ca
import numpy as np

import daedal as dd
from daedal import der
from daedal.models import ParameterFormulas, differentiate_parameters, evaluate_parameters

x, a, b, c = dd.symbols("x a b c")


def model(**parameters):
    given = {dd.symbol(name): value for name, value in parameters.items()}
    return dd.Model(name="m", equations={"rate": der(x) == -a * x}, unknowns=[x], parameters=given)


def test_values_and_slopes():
    made = ParameterFormulas({"first": a * np.exp(b), "second": b - 3.0, "third": b * 0 + 2}, ("a", "b"))
    at = np.array([2.0, 0.5])
    np.testing.assert_allclose(made.evaluate(at), [2 * np.exp(0.5), -2.5, 2.0], rtol=1e-15)
    np.testing.assert_allclose(made.differentiate(at), [[np.exp(0.5), 2 * np.exp(0.5)], [0, 1], [0, 0]], rtol=1e-15)


def test_numbers_and_nothing():
    plain = ParameterFormulas({"first": a * 0 + 4.0}, ("a", "b"))
    assert plain.evaluate(np.ones(2)) == [4.0]
    np.testing.assert_array_equal(plain.differentiate(np.ones(2)), np.zeros((1, 2)))
    assert ParameterFormulas({}, ("a",)).evaluate(np.ones(1)).shape == (0,)


def test_numbers_handed_out_belong_to_the_caller():
    plain = ParameterFormulas({"first": a * 0 + 4.0}, ("a",))
    plain.evaluate(np.ones(1))[:] = 0.0
    assert plain.evaluate(np.ones(1)) == [4.0]


def test_a_formula_that_a_number_replaces_is_not_differentiated():
    made = model(a=np.sqrt(b), b=0.0, c=2 * a)
    np.testing.assert_array_equal(differentiate_parameters(made, ["b"], {"a": 1.0}), [[0.0], [1.0], [0.0]])


def test_a_formula_that_is_free_moves_by_itself():
    made = model(a=2 * b, b=1.5, c=a * b)
    np.testing.assert_allclose(differentiate_parameters(made, ["a", "b"], {"b": 3.0}), [[1, 0], [0, 1], [3, 6]])


def test_other_values_compile_nothing(monkeypatch):
    made = model(a=2 * b, b=1.5, c=a * b)
    differentiate_parameters(made, ["b"])
    monkeypatch.setattr(ca, "Function", None)
    assert evaluate_parameters(made, {"b": 2.0}) == {"a": 4.0, "b": 2.0, "c": 8.0}
    assert evaluate_parameters(made, {"a": 1.0}) == {"a": 1.0, "b": 1.5, "c": 1.5}
    np.testing.assert_allclose(differentiate_parameters(made, ["b"], {"b": 2.0}), [[2], [1], [8]])
