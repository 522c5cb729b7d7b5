"""Ports: their names, their text form, and the null space that tells which assemblies are singular."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daedal as dd
from daedal import delay, der, hold, hysteresis
from daedal.errors import ModelError
from daedal.library import electrical as el
from daedal.models import Model, Parameter, Port, make_port
from daedal.models.undetermined import find_null_vectors


def lake():
    """Ports of both kinds: from symbols of the model, and with symbols of their own; one with two potentials."""
    level, inflow, area, k = dd.symbols("level inflow A k")
    shore, spring = Port("water", level, inflow), make_port("warm water", ("h", "T"), ("q", "heat"))
    return Model(
        name="lake",
        ports={"shore": shore, "spring": spring},
        unknowns=[level],
        equations={
            "balance": der(area * level) == inflow + spring.flows[0] + delay(spring.potentials[0], k),
            "height": spring.potentials[0] == level + hold(spring.flows[0], k) + hysteresis(inflow, 0, spring.flows[0]),
            "temperature": spring.potentials[1] == 280.0,
        },
        parameters={area: Parameter(10.0, unit="m2"), k: 1.0},
        outputs={"warmth": spring.potentials[1] * level},
        initial={level: 0.5},
        guess={spring.flows[1]: 3.0, der(spring.potentials[0]): 1.0},
        history={level: 0.5},
    )


def test_variables_of_ports_are_named_after_them_and_are_unknowns():
    model = lake()
    assert model.unknown_names == ("level", "inflow", "spring.h", "spring.T", "spring.q", "spring.heat")
    assert str(model.equations["balance"]) == "der(A*level) == inflow + spring.q + delay(spring.h, k)"
    assert str(model.equations["height"].rhs) == "level + hold(spring.q, k) + hysteresis(inflow, 0, spring.q)"
    assert dict(model.guess).keys() == {"spring.heat", "der(spring.h)"}
    assert str(model["warmth"]) == "spring.T*level"
    assert repr(model.ports["spring"]) == "Port('warm water', (spring.h, spring.T), (spring.q, spring.heat))"


def test_ports_read_back_from_text_and_pickle():
    model = lake()
    for again in (Model.from_text(model.to_text()), pickle.loads(pickle.dumps(model))):
        assert again == model
        assert hash(again) == hash(model)
        assert again.to_text() == model.to_text()
        assert repr(again.ports) == repr(model.ports)
    assert isinstance(Model.from_text(model.to_text()).ports["spring"].potential, tuple)


def test_models_that_differ_in_their_ports_differ():
    model = lake()
    text = model.to_text()
    assert Model.from_text(text.replace('"warm water"', '"hot water"')) != model
    assert Model.from_text(text[: text.index("[ports]")]) != model


def test_changed_models_keep_their_ports():
    model = el.Resistor().with_parameters({"R": 3.0}).with_initial({"i": 1.0})
    assert list(model.ports) == ["p", "n"]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('domain = "water", ', "", "In the text of the model, at ports: shore: Port needs 'domain'."),
        (
            'potential = "level"',
            'potentail = "level"',
            "In the text of the model, at ports: shore: Port has no 'potent",
        ),
        ('"shore" = {', '"shore" = 3 # {', "In the text of the model, at ports: shore: A port must be a table, got 3."),
        ('potential = "level"', 'potential = "2*level"', "In the text of the model, at ports: shore: "),
        ('flow = "inflow"', 'flow = ["inflow", "q"]', "In the text of the model, at ports: shore: A port must have as"),
        ('domain = "water"', "domain = 3", "In the text of the model, at ports: shore: The domain of a port must be a"),
    ],
)
def test_wrong_ports_in_a_text(old, new, sentence):
    text = lake().to_text()
    assert old in text
    with pytest.raises(ModelError) as refused:
        Model.from_text(text.replace(old, new))
    assert refused.value.sentence.startswith(sentence)


def test_one_port_object_cannot_be_two_ports():
    pin = el.pin()
    with pytest.raises(ModelError, match="The ports 'p' and 'n' are the same object"):
        Model(name="wrong", ports={"p": pin, "n": pin}, unknowns=[], equations={"law": pin.flow == 0.0})


def test_a_port_declared_with_what_is_no_symbol():
    v, i = dd.symbols("v i")
    with pytest.raises(ModelError, match=r"The potential of a port must be a symbol or a tuple of symbols, got 2\*v"):
        Port("electrical", 2 * v, i)
    with pytest.raises(ModelError, match="as many potentials as flows, got 2 and 1"):
        Port("electrical", (v, i), i)
    with pytest.raises(ModelError, match="The domain of a port must be a text"):
        Port(3, v, i)


@settings(max_examples=60)
@given(shape=st.tuples(st.integers(1, 12), st.integers(1, 9)), rank=st.integers(0, 9), seed=st.integers(0, 2**32 - 1))
def test_null_vectors_span_the_null_space(shape, rank, seed):
    rng = np.random.default_rng(seed)
    rank = min(rank, *shape)
    matrix = rng.integers(-2, 3, (shape[0], rank)) @ rng.integers(-2, 3, (rank, shape[1])).astype(float)
    names = [f"x{j}" for j in range(shape[1])]
    rows = [{name: value for name, value in zip(names, row, strict=True) if value} for row in matrix]
    found = list(find_null_vectors(rows, names))
    vectors = np.array([[vector.get(name, 0.0) for name in names] for vector in found]).reshape(len(found), shape[1])
    assert len(found) == shape[1] - np.linalg.matrix_rank(matrix)
    assert np.linalg.matrix_rank(vectors) == len(found)
    np.testing.assert_allclose(matrix @ vectors.T, 0.0, atol=1e-7 * max(1.0, np.abs(vectors).max(initial=0.0)))
