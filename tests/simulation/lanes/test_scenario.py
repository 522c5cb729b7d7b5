"""Where the lanes start: other values of the parameters compile nothing, and give what a new system gives."""

import casadi as ca
import numpy as np
import pytest

import catalogue
import daedal as dd
from daedal import der
from daedal.simulation.ensemble_solver import Lanes
from daedal.simulation.lanes.scenario import Scenario
from daedal.simulation.prediction import make_predictor
from daedal.simulation.request import check_request
from daedal.systems import build, find_initial_values

x, y, a, b, c = dd.symbols("x y a b c")


def formulas():
    """Parameters and initial values that are formulas of others; solved for by iteration."""
    return dd.Model(
        name="formulas",
        equations={"x": der(x) == -np.tanh(x * a), "y": b * der(y) + np.exp(0.3 * der(y)) == x * a},
        unknowns=[x, y],
        outputs={"x": x},
        parameters={a: 1.3, b: a * c, c: 0.7},
        initial={x: 0.3 * c, y: a / b},
    )


MODELS = {
    "formulas": (formulas, "x", {"a": 1.2, "c": 0.8}),
    "pendulum": (lambda: catalogue.pendulum().model(), "x", {"g": 9.7}),
}


def make_scenario(model: dd.Model, output: str, values: dict[str, float]) -> Scenario:
    asked = check_request("test", model.with_outputs({output: dd.symbol(output)}), np.linspace(0.0, 0.1, 3), None, 0.0)
    run = make_predictor(asked, (output,), tuple(values), None, Lanes(step=0.05), None, 0, "test")
    return run.run.scenario


@pytest.mark.parametrize("name", MODELS)
def test_other_values(name, monkeypatch):
    make, output, values = MODELS[name]
    made = make_scenario(make(), output, values)
    fresh = find_initial_values(build(make().with_parameters(values)))
    made.initialize(made.resolve_values([None])[0], None, 1)
    monkeypatch.setattr(ca, "Function", None)
    (found,) = made.resolve_values([values])
    np.testing.assert_array_equal(found.start.states, fresh.states)
    np.testing.assert_array_equal(found.start.tops, fresh.tops)
    column = made.initialize(found, None, 1)[:, 0]
    np.testing.assert_array_equal(column[: fresh.states.size], fresh.states)
