"""Which objective a model gets by the method of its likelihood, and what is refused."""

import numpy as np
import pytest

import daedal as dd

x, w, a = dd.symbols("x w a")
DATA = dd.Dataset(np.arange(20) * 0.5, outputs={"x": np.sin(np.arange(20))})


def model(power=1):
    return dd.Model(
        name="decay",
        equations={"rate": dd.der(x) == -a * x**power + w},
        unknowns=[x],
        outputs={"x": x},
        parameters={a: 1.0},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.5, time_constant=1.0)},
        measurement_noise={"x": 0.1},
        initial={x: 0.0},
    )


@pytest.mark.parametrize("method", ["auto", "laplace", "moments", "particle"])
def test_a_linear_model_has_the_exact_filter_whatever_the_method(method):
    exact = dd.evaluate(model(), DATA, free=["a"], criterion=dd.Likelihood())
    assert dd.evaluate(model(), DATA, free=["a"], criterion=dd.Likelihood(method=method)).value == exact.value


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("method", "exact", "The method of Likelihood must be 'auto', 'laplace', 'moments' or 'particle', got 'exact'"),
        ("method", None, "The method of Likelihood must be"),
        ("particles", 1, "The particles of Likelihood must be a whole number from 2 on, got 1"),
        ("particles", 2.5, "The particles of Likelihood must be a whole number from 2 on, got 2.5"),
        ("realizations", 3, "The realizations of Likelihood must be a whole number from 8 on, got 3"),
        ("realizations", True, "The realizations of Likelihood must be a whole number from 8 on, got True"),
    ],
)
def test_wrong_fields_are_told(field, value, sentence):
    with pytest.raises(dd.DaedalError, match=sentence):
        dd.Likelihood(**{field: value})
