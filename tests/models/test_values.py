"""Numbers for parameters: overrides, formulas of other parameters, bounds."""

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.errors import ExpressionError, ModelError
from daedal.models import Model, Parameter, differentiate_parameters, evaluate_expressions, evaluate_parameters

x, k, m, q, z = dd.symbols("x k m q z")


def model():
    return Model(
        name="chain",
        equations={"rate": der(x) == -k * x},
        unknowns=[x],
        parameters={k: 2 * m, m: np.sqrt(q) + z, q: Parameter(4.0, lower=1.0, upper=20.0), z: Parameter(m * 0 + 0.5)},
    )


def test_formulas_are_resolved_in_any_order():
    assert evaluate_parameters(model()) == {"k": 5.0, "m": 2.5, "q": 4.0, "z": 0.5}
    assert list(evaluate_parameters(model())) == ["k", "m", "q", "z"]


def test_overrides_pass_through_formulas():
    assert evaluate_parameters(model(), {"q": 9.0}) == {"k": 7.0, "m": 3.5, "q": 9.0, "z": 0.5}
    assert evaluate_parameters(model(), {m: 1.0, "q": 9}) == {"k": 2.0, "m": 1.0, "q": 9.0, "z": 0.5}
    assert evaluate_parameters(model(), {"k": q + 1})["k"] == 5.0
    assert evaluate_parameters(model())["q"] == 4.0


@pytest.mark.parametrize("values", [{}, {"q": 9.0}, {"m": 3.0}, {"k": q * z}, {"m": 2 * q, "z": 1.5}])
def test_directions_follow_formulas_as_differences_do(values):
    moving = ["q", "z"]
    numbers, step = evaluate_parameters(model(), values), 1e-6
    expected = np.empty((4, 2))
    for column, name in enumerate(moving):
        ends = [evaluate_parameters(model(), {**values, name: numbers[name] + h}) for h in (step, -step)]
        expected[:, column] = (np.array([*ends[0].values()]) - np.array([*ends[1].values()])) / (2 * step)
    np.testing.assert_allclose(differentiate_parameters(model(), moving, values), expected, atol=1e-8)


def test_a_long_chain_is_resolved():
    names = dd.symbols("p", 200)
    chain = {names[i]: names[i + 1] + 1 for i in range(199)} | {names[199]: 0.0}
    it = Model(name="m", equations={"a": der(x) == names[0]}, unknowns=[x], parameters=chain)
    assert evaluate_parameters(it)["p[0]"] == 199.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"qq": 1}, "Model 'chain' has no parameter 'qq'. Did you mean 'q'?"),
        ({"x": 1}, "Model 'chain' has no parameter 'x'"),
        ({"q": 0.5}, "The value 0.5 of parameter 'q' lies outside its bounds 1 … 20"),
        ({"q": np.nan}, "The value of parameter 'q' must be finite, got nan"),
        ({"m": 2 * k}, "The values of the parameters 'k' and 'm' are defined by each other"),
        ({"m": 2 * x}, r"The value of 'm', 2\*x, needs a number for 'x'"),
        ([1.0], r"Values of parameters must be a mapping name → number, got \[1.0\]"),
        ({3: 1.0}, "A symbol or a name belongs where 3 stands"),
    ],
)
def test_overrides_that_cannot_be_are_refused(values, message):
    with pytest.raises(ModelError, match=message):
        evaluate_parameters(model(), values)


def test_text_is_no_value():
    with pytest.raises(ExpressionError, match="The value of parameter 'q' must be an expression, got the text '4'"):
        evaluate_parameters(model(), {"q": "4"})  # pyright: ignore


def test_expressions_are_evaluated_with_numbers():
    numbers = {"k": 3.0, "m": -0.5}
    got = evaluate_expressions({"a": np.exp(m) * k, "b": m * 0 + 2, "c": k}, numbers)
    assert got == {"a": pytest.approx(3.0 * np.exp(-0.5)), "b": 2.0, "c": 3.0}
    assert evaluate_expressions({}, numbers) == {}
    assert evaluate_expressions({"b": m * 0 + 2}, {}) == {"b": 2.0}


def test_an_expression_without_its_numbers_is_refused():
    with pytest.raises(ModelError, match=r"The value of 'a', 2\*q, needs a number for 'q'. Known are 'k'"):
        evaluate_expressions({"a": 2 * q}, {"k": 1.0})
