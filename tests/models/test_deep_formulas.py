"""Formulas as deep and as long as users type them: printed, read, saved, built and simulated."""

import pickle

import numpy as np
import pytest

import daedal as dd
from daedal import delay, der, hold
from daedal.errors import ExpressionError
from daedal.symbolic import read_expression
from sizes import choose

x, y, u, k = dd.symbols("x y u k")
ENTRIES = np.sin(np.arange(1001.0))


def tabulate(argument, count):
    """Entry i where i/count ≤ argument < (i + 1)/count, as nested conditions."""
    formula = ENTRIES[count]
    for i in reversed(range(count)):
        formula = np.where(argument < (i + 1) / count, ENTRIES[i], formula)
    return formula


def make_model(formula):
    return dd.Model(
        name="table",
        equations={"rate": der(x) == formula, "seen": y == formula + k},
        unknowns=[x, y],
        inputs=[u],
        outputs={"x": x, "y": y},
        parameters={k: 0.75},
        initial={x: 0.0},
    )


@pytest.mark.parametrize("argument", [dd.time, u], ids=str)
def test_tables_of_many_entries(argument, tmp_path):
    """Of time and of an input that is equal to it: ∫₀ᵗ of the entries in closed form."""
    model = make_model(tabulate(argument, 1000))
    assert dd.Model.from_text(model.to_text()) == model
    assert pickle.loads(pickle.dumps(model)) == model
    count = choose(200, 1000)
    model = make_model(tabulate(argument, count))
    times = np.array([0.0, 0.25, 0.5 + 0.5 / count, 1.0])
    ramp = {"u": dd.Signal([0.0, 1.0], [0.0, 1.0])}
    result = dd.simulate(model, times, inputs=ramp)
    whole = np.concatenate([[0.0], np.cumsum(ENTRIES[:count])]) / count
    exact = np.interp(times, np.arange(count + 1) / count, whole)
    np.testing.assert_allclose(result["x"], exact, atol=1e-8)
    np.testing.assert_allclose(result["y"][[0, 2]], ENTRIES[[0, count // 2]] + 0.75, atol=1e-12)
    fit = dd.fit(model, dd.Dataset(times, ramp, {"y": result["y"] + 0.01}), free=["k"], criterion=dd.OutputError())
    fit.save(tmp_path / "fit.nc")
    assert dd.load(tmp_path / "fit.nc").model == fit.model


def test_a_table_of_what_is_simulated():
    """Each entry is a rate until the next border: times of crossings in closed form."""
    count = 24
    model = make_model(2 + tabulate(x, count))
    rates = 2 + ENTRIES[:count]
    borders = np.concatenate([[0.0], np.cumsum(1 / count / rates)])
    times = np.linspace(0.0, 0.9 * borders[-1], 7)
    result = dd.simulate(model, times, inputs={"u": 0.0})
    np.testing.assert_allclose(result["x"], np.interp(times, borders, np.arange(count + 1) / count), rtol=1e-6)


def test_a_table_of_a_parameter():
    formula = tabulate(k, 1000)
    result = dd.simulate(make_model(formula), [0.0, 1.0], inputs={"u": 0.0})
    np.testing.assert_allclose(result["x"][-1], ENTRIES[750], rtol=1e-9)


STEPS = {
    "functions": (1000, lambda formula: np.cos(formula) + 0.1),
    "differences": (1000, lambda formula: 0.001 - formula),
    "fractions": (1000, lambda formula: 1 / (2 + formula)),
    "powers": (1000, lambda formula: 0.5**formula),
    "larger": (100, lambda formula: np.maximum(0.2, 0.1 - formula)),
}


@pytest.mark.parametrize("name", STEPS)
def test_formulas_of_many_levels(name):
    count, step = STEPS[name]
    formula, number = u, 0.25
    for _ in range(count):
        formula, number = step(formula), step(number)
    result = dd.simulate(make_model(0 * x + formula), [0.0, 0.5], inputs={"u": 0.25})
    np.testing.assert_allclose(result["y"][-1], number + 0.75, rtol=1e-9)


def test_conditions_on_sums_of_thousands_of_terms():
    total = sum((i * k * x for i in range(1, 3000)), 0 * x) - 1e9
    system = dd.build(make_model(np.where(total > 0, 1.0, 2.0)))
    assert len(system.reduction.switching.switches) == 1


def test_brackets_are_read_as_deep_as_they_are_typed():
    assert read_expression("(" * 5000 + "x" + ")" * 5000) is x
    assert read_expression("-" * 5000 + "x") is not None
    nested = "x"
    for i in range(1000):
        nested = f"where(x < {i}, {i}, {nested})"
    formula = read_expression(nested)
    assert str(read_expression(str(formula))) == str(formula)


WRAPS = {"der": der, "delay": lambda e: delay(e, 1.0), "hold": lambda e: hold(e + 1, 0.1)}


@pytest.mark.parametrize("name", WRAPS)
def test_operators_within_operators_have_a_limit(name):
    formula = x
    for _ in range(50):
        formula = WRAPS[name](formula)
    assert read_expression(str(formula)) is formula
    with pytest.raises(ExpressionError, match=r"stand within one another more than 50 deep. Give what stands inside"):
        WRAPS[name](formula)
