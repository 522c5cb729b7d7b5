"""Parameters: what they store, print and refuse."""

import pickle
from math import inf

import numpy as np
import pytest

import daedal as dd
from daedal.errors import ExpressionError, ModelError
from daedal.models import Parameter

k, m = dd.symbols("k m")


def test_numbers_become_floats_and_expressions_stay():
    assert Parameter(np.int64(3)).value == 3.0
    assert isinstance(Parameter(np.array(2.0)).value, float)
    assert str(Parameter(2 * m).value) == "2*m"
    assert Parameter(1, lower=0, upper=2) == Parameter(1.0, lower=0.0, upper=2.0)
    assert (Parameter(1.0).lower, Parameter(1.0).upper) == (-inf, inf)


def test_it_prints_what_differs_from_the_defaults():
    assert repr(Parameter(8.0)) == "Parameter(8.0)"
    assert repr(Parameter(2 * m, upper=3, scale="log", unit="s")) == "Parameter(2*m, upper=3.0, scale='log', unit='s')"


def test_descriptions_are_kept_by_all_that_keeps_a_unit():
    declared, x = dd.Parameter(2.0, unit="1/s", description='how "fast"'), dd.symbol("x")
    model = dd.Model(
        name="decay",
        equations={"rate": dd.der(x) == -k * x},
        unknowns=[x],
        outputs={"x": x},
        parameters={k: declared},
        initial={x: 1.0},
    )
    assert dd.Model.from_text(model.to_text()).parameters["k"] == declared
    assert model.with_parameters({"k": 3.0}).parameters["k"].description == 'how "fast"'
    assert 'k = 2.0 1/s (how "fast")' in str(model)
    data = dd.Dataset([0.0, 0.5, 1.0, 1.5], outputs={"x": [1.0, 0.61, 0.36, 0.23]})
    for free in (["k"], {"k": dd.Parameter(1.0, lower=0.1)}):
        fit = dd.fit(model, data, free=free)
        assert (fit["k"].unit, fit["k"].description) == ("1/s", 'how "fast"')
        assert list(fit.to_pandas()["description"]) == ['how "fast"']
    assert dd.fit(model, data, free={"k": dd.Parameter(1.0, description="rate")})["k"].description == "rate"


def test_parameters_are_values():
    it = Parameter(2 * m, lower=1.0, unit="N")
    assert it == Parameter(2 * m, lower=1.0, unit="N")
    assert it != Parameter(2 * m, lower=1.0)
    assert len({it, Parameter(2 * m, lower=1.0, unit="N")}) == 1
    assert pickle.loads(pickle.dumps(it)) == it
    assert it.with_value(3.0) == Parameter(3.0, lower=1.0, unit="N")
    with pytest.raises(AttributeError):
        it.lower = 0.0  # pyright: ignore


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (
            lambda: Parameter(1, lower=2, upper=1),
            "lower bound of a parameter must lie below the upper one, got 2 and 1",
        ),
        (lambda: Parameter(1, lower=1, upper=1), "must lie below the upper one, got 1 and 1"),
        (lambda: Parameter(1, lower=np.nan), "must lie below the upper one, got nan and inf"),
        (lambda: Parameter(1, lower="0"), "The lower bound of a parameter must be a number, got '0'"),  # pyright: ignore
        (lambda: Parameter(1, upper=k), "The upper bound of a parameter must be a number, got k"),  # pyright: ignore
        (lambda: Parameter(1, upper=None), "upper bound .* must be a number, got None. Leave it"),  # pyright: ignore
        (lambda: Parameter(1, scale="ln"), "scale of a parameter must be 'linear' or 'log', got 'ln'"),  # pyright: ignore
        (lambda: Parameter(-2, upper=-1, scale="log"), "on a log scale must be positive, but its upper bound is -1"),
        (lambda: Parameter(1, unit=3), "The unit of a parameter must be a text, got 3"),  # pyright: ignore
        (lambda: Parameter(1, description=3), "The description of a parameter must be a text"),  # pyright: ignore
    ],
)
def test_what_is_refused_and_why(form, message):
    with pytest.raises(ModelError, match=message):
        form()


@pytest.mark.parametrize("value", ["2", None, k == 1, [1.0], Parameter(1.0), 1j])
def test_a_value_must_be_a_number_or_an_expression(value):
    with pytest.raises(ExpressionError, match="The value of a parameter must be an expression"):
        Parameter(value)
