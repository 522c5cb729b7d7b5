"""`analyze` on textbook systems whose index and freedom are known."""

import numpy as np
import pytest

import catalogue
import daedal as dd
from catalogue.small import model
from daedal import der
from sizes import choose

x, y, z, v, w, p, q, u, lam = dd.symbols("x y z v w p q u lam")
m, k, L = dd.symbols("m k L")


TEXTBOOK = {
    "ordinary": (model([der(x) == -x * y, der(y) == x], [x, y]), 0, 2, {}),
    "second order": (model([der(der(x)) == -x], [x]), 0, 2, {}),
    "third order": (model([der(der(der(x))) == -x * der(x)], [x]), 0, 3, {}),
    "algebraic": (model([x**2 + y == 1, x - y == 0], [x, y]), 1, 0, {}),
    "hessenberg 1": (model([der(x) == y, x + y**3 == 0], [x, y]), 1, 1, {}),
    "hessenberg 2": (model([der(x) == y * z, der(y) == z, x + y == 1], [x, y, z]), 2, 1, {"e2": 1}),
    "hessenberg 3": (
        model([der(x) == y, der(y) == x * z + 1, x == np.sin(dd.time)], [x, y, z]),
        3,
        0,
        {"e0": 1, "e2": 2},
    ),
    "hessenberg 4": (
        model([der(x) == y, der(y) == z, der(z) == w, x == 1], [x, y, z, w]),
        4,
        0,
        {"e0": 2, "e1": 1, "e3": 3},
    ),
    "momentum": (model([der(m * v) == -k * v], [v], parameters={m: 2.0, k: 1.0}), 0, 1, {}),
    "varying mass": (model([der(p * v) == -v, der(p) == -0.1], [p, v]), 0, 2, {}),
    "derivative of a product constrained": (
        model([der(x * y) == z, der(x) == 1, x * y == 3], [x, y, z]),
        2,
        1,
        {"e2": 1},
    ),
    "time": (model([der(x) == dd.time * x + y, y == np.exp(dd.time)], [x, y]), 1, 1, {}),
    "capacitor across a source": (
        model([x == u, z == k * der(x)], [x, z], inputs=[u], parameters={k: 1.0}),
        2,
        0,
        {"e0": 1},
    ),
}


@pytest.mark.parametrize("name", TEXTBOOK)
def test_textbook(name):
    example, index, freedom, differentiated = TEXTBOOK[name]
    structure = dd.analyze(example)
    assert (structure.index, structure.degrees_of_freedom) == (index, freedom)
    assert structure.differentiated == differentiated
    assert sum(choice.count for choice in structure.choices) == freedom


LONG = choose((catalogue.chain(40), catalogue.rlc_ladder(40)), catalogue.LARGE)


@pytest.mark.parametrize("problem", [*catalogue.PROBLEMS, *LONG], ids=lambda problem: problem.name)
def test_catalogue_after_repair(problem):
    structure = dd.build(problem.model()).structure
    assert (structure.index, structure.degrees_of_freedom) == (problem.index, problem.degrees_of_freedom)
    assert sum(choice.count for choice in structure.choices) == problem.degrees_of_freedom


def test_analysis_alone_agrees_where_nothing_cancels():
    for problem in catalogue.PROBLEMS:
        if problem.name not in ("transistor amplifier", "gear petzold"):
            structure = dd.analyze(problem.model())
            assert (structure.index, structure.degrees_of_freedom) == (problem.index, problem.degrees_of_freedom)


def test_orders_of_the_unknowns():
    structure = dd.analyze(catalogue.pendulum().model())
    assert structure.orders == {"x": 2, "y": 2, "u": 1, "v": 1, "lam": 0}


def test_printing_of_the_pendulum():
    text = str(dd.analyze(catalogue.pendulum().model()))
    assert text.splitlines() == [
        "structure of 'pendulum': 5 equations, index 3, 2 degrees of freedom",
        "  differentiated: kinematics x once, kinematics y once, rod twice",
        "  may be given at the start: 1 of x, y; 1 of u, v",
    ]


def test_printing_of_the_smallest_model():
    text = str(dd.analyze(model([der(x) == 1], [x])))
    assert text == "structure of 'test': 1 equation, index 0, 1 degree of freedom\n  may be given at the start: x"


def test_long_lists_are_cut():
    text = str(dd.analyze(catalogue.chain(200).model()))
    assert "and 588 more" in text
    assert len(text) < 2000


def test_separate_parts_have_separate_choices():
    equations = [der(der(x)) == -lam * x, der(der(y)) == -lam * y - 1, x**2 + y**2 == 1, der(z) == -z]
    choices = dd.analyze(model(equations, [x, y, lam, z])).choices
    assert {(choice.count, choice.variables) for choice in choices} == {
        (1, ("x", "y")),
        (1, ("der(x)", "der(y)")),
        (1, ("z",)),
    }


def test_choices_use_the_users_names():
    equations = [der(x) == v, der(v) == w, der(w) == -(x**3)]
    names = [choice.variables for choice in dd.analyze(model(equations, [x, v, w])).choices]
    assert sorted(names) == [("v",), ("w",), ("x",)]


def test_delays_count_as_known():
    structure = dd.analyze(model([der(x) == -dd.delay(x, 1.0)], [x], history={x: 1.0}))
    assert (structure.index, structure.degrees_of_freedom) == (0, 1)


@pytest.mark.parametrize("verb", [dd.analyze, dd.build], ids=["analyze", "build"])
@pytest.mark.parametrize("thing", [None, dd.Dataset([0.0, 1.0], outputs={"y": [1.0, 2.0]})], ids=["None", "Dataset"])
def test_what_is_no_model_is_told(verb, thing):
    with pytest.raises(dd.DaedalError, match=rf"{verb.__name__} takes a Model, got {type(thing).__name__}\. Build one"):
        verb(thing)
