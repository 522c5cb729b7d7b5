"""A model is a value: frozen, printable, comparable, picklable, and changed only by making another one."""

import copy
import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.errors import ModelError
from daedal.models import Model, Parameter

x, y, vx, vy, tension, u, w, w2, m, g, k, L, q = dd.symbols("x y vx vy tension u w w2 m g k L q")


def pendulum(**changes):
    arguments = {
        "name": "pendulum",
        "equations": {
            "kinematics x": der(x) == vx,
            "kinematics y": der(y) == vy,
            "force x": m * der(vx) == tension * x - k * np.abs(vx) * vx + u + w**2,
            "force y": m * der(vy) == tension * y - k * np.abs(vy) * vy - m * g,
            "rod": x**2 + y**2 == L**2,
        },
        "unknowns": [x, y, vx, vy, tension],
        "inputs": [u],
        "outputs": {"angle": np.arctan2(x, -y)},
        "parameters": {m: 0.3, g: 9.81, L: 6.25, k: Parameter(8.0, lower=3.85, upper=10.25, unit="kg/m")},
        "disturbances": {w: dd.FilteredNoise(numerator=[0.6], denominator=[1.0, 0.8, 16.0], grid=0.01, initial="rest")},
        "measurement_noise": {"angle": 0.002},
        "initial": {x: 0.0, vx: 0.0},
        "guess": {y: -L},
    }
    return Model(**{**arguments, **changes})


def test_it_is_declared_with_symbols_and_used_by_name():
    it = pendulum()
    assert it.unknowns == (x, y, vx, vy, tension)
    assert it.unknown_names == ("x", "y", "vx", "vy", "tension")
    assert it.input_names == ("u",)
    assert it.disturbance_names == ("w",)
    assert list(it.parameters) == ["m", "g", "L", "k"]
    assert it.parameters["m"] == Parameter(0.3)
    assert str(it.guess["y"]) == "-L"
    assert float(it.initial["vx"]) == 0.0
    assert it.names["w"] == "disturbance"
    assert it.names["tension"] == "unknown"
    assert it["x"] is x
    assert it[vx] is vx
    assert str(it["angle"]) == "arctan2(x, -y)"


def test_a_symbol_may_stand_for_its_name():
    it = pendulum()
    name = next(iter(it.parameters))
    assert it.parameters[dd.symbol(name)] is it.parameters[name]
    assert dd.symbol(name) in it.parameters
    assert dd.symbol("elsewhere") not in it.parameters


def test_nothing_can_be_changed():
    it = pendulum()
    with pytest.raises(dataclasses.FrozenInstanceError):
        it.name = "other"  # pyright: ignore
    with pytest.raises(TypeError, match="does not support item assignment"):
        it.parameters["m"] = Parameter(1.0)  # pyright: ignore
    accuracy = pendulum(measurement_noise={"angle": [0.1, 0.2]}).measurement_noise["angle"]
    with pytest.raises(ValueError, match="read-only"):
        accuracy[0] = 3


def test_what_was_given_can_change_without_changing_the_model():
    equations = {"rate": der(x) == -x}
    accuracy = np.array([0.1, 0.2])
    it = Model(
        name="m", equations=equations, unknowns=[x], outputs={"y": x}, measurement_noise={"y": accuracy}, initial={x: 1}
    )
    before = it.to_text()
    equations["more"] = x == 1
    accuracy[0] = 7.0
    assert it.to_text() == before


def test_it_prints_in_the_users_names():
    assert repr(pendulum()) == "Model('pendulum': 5 equations, unknowns 'x', 'y', 'vx', 'vy' and 'tension')"
    printed = str(pendulum())
    for line in (
        "model 'pendulum'",
        "  rod           x**2 + y**2 == L**2",
        "  kinematics x  der(x) == vx",
        "  unknowns: x, y, vx, vy, tension",
        "  inputs: u",
        "  outputs: angle = arctan2(x, -y)",
        "  parameters: m = 0.3, g = 9.81, L = 6.25, k = 8.0 kg/m",
        "  measurement noise: angle: 0.002",
        "  held at the start: x = 0, vx = 0",
        "  guessed: y = -L",
    ):
        assert line in printed.splitlines()
    assert "history" not in printed


def test_models_that_say_the_same_are_equal():
    assert pendulum() == pendulum()
    assert hash(pendulum()) == hash(pendulum())
    assert len({pendulum(), pendulum(), pendulum(name="other")}) == 2
    assert pendulum() != "pendulum"


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"guess": {y: L}},
        {"initial": {x: 0.0}},
        {"measurement_noise": {"angle": 0.003}},
        {"outputs": {"angle": np.arctan2(x, y)}},
        {"parameters": {m: 0.3, g: 9.81, L: 6.25, k: 8.0}},
        {"disturbances": {w: dd.WhiteNoise()}},
        {"unknowns": [y, x, vx, vy, tension]},
        {"history": {x: 1.0}},
        {"defaults": {u: 1.0}, "inputs": [u]},
    ],
)
def test_models_that_differ_are_not_equal(changes):
    assert pendulum(**changes) != pendulum()


def test_pickle_and_deepcopy_give_an_equal_model():
    it = pendulum()
    assert pickle.loads(pickle.dumps(it)) == it
    assert copy.deepcopy(it) == it
    assert copy.copy(it) == it
    assert dataclasses.replace(it, name="other").name == "other"


def test_a_pickle_opens_in_another_process(tmp_path):
    # In a fresh process no derivative has been typed yet, and der(y) stands in no equation.
    it = Model(name="m", equations={"a": y == x**2, "b": der(x) == -x}, unknowns=[x, y], initial={der(y): 1.0})
    file = tmp_path / "model.pickle"
    file.write_bytes(pickle.dumps(it))
    script = f"import pickle; print(pickle.load(open({str(file)!r}, 'rb')).to_text(), end='')"
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert process.stdout == it.to_text()


def test_a_number_keeps_the_bounds():
    it = pendulum().with_parameters({"k": 6.25, m: 0.5})
    assert it.parameters["k"] == Parameter(6.25, lower=3.85, upper=10.25, unit="kg/m")
    assert it.parameters["m"] == Parameter(0.5)
    assert it.parameters["g"] == Parameter(9.81)
    assert list(it.parameters) == ["m", "g", "L", "k"]
    assert pendulum().parameters["k"].value == 8.0


def test_an_expression_keeps_the_bounds_and_a_parameter_replaces_them():
    it = pendulum().with_parameters({"k": 20 * m})
    assert str(it.parameters["k"].value) == "20*m"
    assert it.parameters["k"].upper == 10.25
    assert pendulum().with_parameters({"k": Parameter(50.0)}).parameters["k"] == Parameter(50.0)


def test_parameters_are_added_by_symbol_and_removed_by_none():
    more = pendulum().with_parameters({q: 2.0})
    assert more.parameters["q"] == Parameter(2.0)
    assert more.with_parameters({"q": None}) == pendulum()


def test_a_misspelt_name_adds_nothing():
    with pytest.raises(ModelError, match=r"There is no parameter 'kk' to change. Did you mean 'k'\?"):
        pendulum().with_parameters({"kk": 6.25})
    with pytest.raises(ModelError, match="There is no disturbance 'wind' to change"):
        pendulum().with_disturbances({"wind": dd.WhiteNoise()})


def test_disturbances_merge_by_symbol():
    white = dd.WhiteNoise(intensity=2.0)
    it = pendulum().with_disturbances({"w": white})
    assert dict(it.disturbances) == {"w": white}
    both = it.with_disturbances({w2: white})
    assert both.disturbance_names == ("w", "w2")
    assert both.with_disturbances({w2: None}) == it
    with pytest.raises(ModelError, match="Equation 'force x' contains 'w', which is not declared"):
        it.with_disturbances({w: None})


def test_outputs_merge_by_name_and_take_their_noise_with_them():
    it = pendulum().with_outputs({"height": y})
    assert list(it.outputs) == ["angle", "height"]
    assert dict(it.measurement_noise) == {"angle": 0.002}
    less = it.with_outputs({"angle": None})
    assert list(less.outputs) == ["height"]
    assert dict(less.measurement_noise) == {}
    replaced = it.with_outputs({"angle": x})
    assert replaced["angle"] is x
    assert dict(replaced.measurement_noise) == {"angle": 0.002}
    together = it.with_measurement_noise({"angle": None, ("angle", "height"): np.eye(2)})
    assert dict(together.with_outputs({"height": None}).measurement_noise) == {}


def test_initial_values_guesses_and_accuracies_merge_too():
    it = pendulum().with_initial({"x": None, der(x): 2 * L, "y": -1.0})
    assert {name: str(value) for name, value in it.initial.items()} == {"vx": "0", "der(x)": "2*L", "y": "-1"}
    assert {name: str(value) for name, value in it.with_guess({x: 3, "y": None}).guess.items()} == {"x": "3"}
    assert it.with_measurement_noise({"angle": k}).measurement_noise["angle"] is k
    assert it.with_measurement_noise({"angle": None}).measurement_noise == {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda it: it.with_parameters({"k": 20.0}), r"value 20 of parameter 'k' lies outside its bounds 3.85 … 10.25"),
        (lambda it: it.with_parameters({"k": None}), "Equation 'force x' contains 'k', which is not declared"),
        (lambda it: it.with_parameters({"q": None}), "There is no 'q' to remove"),
        (lambda it: it.with_parameters([6.25]), r"Changes must be a mapping name → value, got \[6.25\]"),
        (lambda it: it.with_outputs([x]), "Changes must be a mapping"),
        (lambda it: it.with_outputs({"angel": None}), "There is no 'angel' to remove. Did you mean 'angle'?"),
        (lambda it: it.with_disturbances({(w, w2): None}), "There is no 'w w2' to remove. Known are 'w'"),
        (lambda it: it.with_disturbances({u: dd.WhiteNoise()}), "'u' is declared as both input and disturbance"),
        (lambda it: it.with_initial({"z": 1}), "The initial value of 'z' belongs to no unknown"),
        (lambda it: it.with_guess({u: 1}), "The guess value of 'u' cannot be given: 'u' is an input"),
        (lambda it: it.with_measurement_noise({"y": 1}), "Measurement noise is given for 'y', which is not an output"),
        (lambda it: it["angel"], "Model 'pendulum' has nothing called 'angel'. Did you mean 'angle'?"),
        (lambda it: it[3], "A symbol or a name belongs where 3 stands"),
    ],
)
def test_changes_that_contradict_are_refused(change, message):
    with pytest.raises(ModelError, match=message):
        change(pendulum())
