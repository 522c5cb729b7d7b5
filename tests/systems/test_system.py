"""`build`: what is remembered, what is refused, what is linear."""

import pickle

import numpy as np
import pytest

import catalogue
import daedal as dd
from catalogue.small import model
from daedal import der
from daedal.errors import InitialValueError, ModelError, StructureError
from daedal.systems import SYSTEM_FUNCTIONS, build, describe_dead_point, find_initial_values
from daedal.systems import system as home

x, y, v, u, w = dd.symbols("x y v u w")
m, k, b = dd.symbols("m k b")


SPRING = model({"kinematics": der(x) == v, "force": m * der(v) == -k * x}, [x, v], parameters={m: 1.0, k: 2.0, b: 0.0})


def test_other_values_share_the_reduction(monkeypatch):
    first = build(SPRING)
    monkeypatch.setattr(home, "_reduce", lambda _: pytest.fail("reduced again"))
    for changed in (
        SPRING.with_parameters({m: 3.0}),
        SPRING.with_initial({x: 1.0}),
        SPRING.with_guess({x: 1.0}),
        dd.Model.from_text(SPRING.to_text()),
    ):
        assert build(changed).reduction is first.reduction
    assert (
        build(SPRING.with_parameters({m: 3.0})).parameter_vector()[build(SPRING).reduction.parameters.index("m")] == 3
    )


def test_a_system_is_pickled_as_its_model():
    system = build(SPRING)
    again = pickle.loads(pickle.dumps(system))
    assert again.model == SPRING
    assert again.reduction is system.reduction


def test_compiled_functions_are_shared():
    assert build(SPRING).function("top") is build(SPRING.with_parameters({m: 5.0})).function("top")


def test_other_outputs_and_equations_are_another_system():
    first = build(SPRING)
    assert build(SPRING.with_outputs({"energy": m * v**2 / 2})).reduction is not first.reduction
    cubic = {"kinematics": der(x) == v, "force": m * der(v) == -k * x**3}
    assert build(model(cubic, [x, v], parameters={m: 1.0, k: 2.0, b: 0.0})).reduction is not first.reduction


def test_the_name_of_the_model_is_kept_apart():
    renamed = dd.Model(name="other", equations=SPRING.equations, unknowns=SPRING.unknowns, parameters=SPRING.parameters)
    build(SPRING)
    assert build(renamed).structure.model == "other"


def test_only_so_many_are_remembered(monkeypatch):
    monkeypatch.setattr(home, "_reductions", type(home._reductions)())
    monkeypatch.setattr(home, "REMEMBERED", 2)
    for power in (2, 3, 4):
        build(model([der(x) == -(x**power)], [x]))
    assert len(home._reductions) == 2


def test_a_mass_of_zero():
    message = r"With m = 0 the equation 'force' of model 'test' no longer determines 'der\(v\)'"
    with pytest.raises(StructureError, match=message):
        build(SPRING.with_parameters({m: 0.0}))
    assert build(SPRING).structure.index == 0  # nothing is left behind


def test_a_mass_of_zero_by_values():
    with pytest.raises(InitialValueError, match=r"equation 'force' no longer determines 'der\(v\)'"):
        find_initial_values(build(SPRING), values={m: 0.0})


def test_zeros_that_do_no_harm():
    decay = model([der(x) == -k * x + y, y == k * x], [x, y], parameters={k: 0.0}, initial={x: 1.0})
    np.testing.assert_allclose(dd.simulate(decay, [0.0, 1.0])["x"], 1.0)


LINEAR = {
    "spring": (SPRING, True),
    "forced": (model([der(x) == -x + np.sin(dd.time) * 3], [x]), True),
    "input": (model([der(x) == -k * x + u], [x], inputs=[u], parameters={k: 1.0}), True),
    "constrained": (model([der(x) == y, x == 3 * np.exp(dd.time)], [x, y]), True),
    "squares of parameters": (model([der(x) == -(k**2) * x], [x], parameters={k: 1.0}), True),
    "time-varying coefficient": (model([der(x) == -dd.time * x], [x]), False),
    "time times input": (model([der(x) == -x + dd.time * u], [x], inputs=[u]), False),
    "input times unknown": (model([der(x) == -u * x], [x], inputs=[u]), False),
    "product": (model([der(x) == -x * y, y == x], [x, y]), False),
    "absolute value": (model([der(x) == -np.abs(x)], [x]), False),
    "switch": (model([der(x) == np.where(x > 0, -x, -2 * x)], [x]), False),
    "squared disturbance": (
        model([der(x) == -x + w**2], [x], disturbances={w: dd.FilteredNoise(numerator=[1.0], denominator=[1.0, 1.0])}),
        False,
    ),
    "disturbance": (
        model([der(x) == -x + w], [x], disturbances={w: dd.FilteredNoise(numerator=[1.0], denominator=[1.0, 1.0])}),
        True,
    ),
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear(name):
    example, linear = LINEAR[name]
    assert build(example).linear is linear


def test_linear_models_of_the_catalogue():
    linear = {problem.name for problem in catalogue.PROBLEMS if build(problem.model()).linear}
    assert linear == {"capacitor loop", "capacitor loop with input", "motor with gear", "rlc ladder of 5"}


def test_functions_by_name():
    system = build(SPRING)
    for name in SYSTEM_FUNCTIONS:
        assert system.function(name).n_in() == 5
    with pytest.raises(ModelError, match="no function 'tops'"):
        system.function("tops")


def test_outputs_may_contain_derivatives_of_what_is_algebraic():
    pendulum = catalogue.pendulum().model().with_outputs({"rate": der(dd.symbol("lam"))})
    times = np.linspace(0.0, 1.0, 1001)
    trajectory = dd.simulate(pendulum, times, solver=dd.IDA(1e-10, 1e-12))
    slope = np.gradient(trajectory["lam"], times, edge_order=2)
    np.testing.assert_allclose(trajectory["rate"][2:-2], slope[2:-2], atol=1e-3)


def test_names_of_states_and_tops():
    system = build(SPRING)
    assert system.states == ("x", "v")
    assert system.tops == ("der(v)",)
    assert repr(system) == "System('test': 2 states, 1 solved for, index 0)"


def test_dead_point_names_what_is_lost():
    system = build(catalogue.pendulum().model())
    place = {name: i for i, name in enumerate(system.states)}
    at = np.zeros(4)
    assert "'rod'" in describe_dead_point(system, [0.0, at, np.zeros(3), system.parameter_vector(), np.zeros(0)])
    at[place["x"]] = 1.0
    assert describe_dead_point(system, [0.0, at, np.zeros(3), system.parameter_vector(), np.zeros(0)]) == ""
