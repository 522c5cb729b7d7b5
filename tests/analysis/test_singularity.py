"""Dulmage–Mendelsohn against all maximum matchings of small graphs; the sentences for singular models."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import daedal as dd
from catalogue.small import model
from daedal import der
from daedal.analysis import Incidence
from daedal.analysis.singularity import dulmage_mendelsohn
from daedal.errors import StructureError

x, y, z, v, a, b, c, k = dd.symbols("x y z v a b c k")


def matchings(edges: np.ndarray, row: int = 0, used: frozenset[int] = frozenset()):
    """Every matching, as a set of (row, column)."""
    if row == len(edges):
        yield frozenset()
        return
    yield from matchings(edges, row + 1, used)
    for column in np.flatnonzero(edges[row]).tolist():
        if column not in used:
            for rest in matchings(edges, row + 1, used | {column}):
                yield rest | {(row, column)}


@settings(max_examples=80)
@given(st.integers(1, 5), st.integers(1, 5), st.data())
def test_parts_are_what_some_maximum_matching_leaves_out(rows, columns, data):
    edges = np.array(data.draw(st.lists(st.booleans(), min_size=rows * columns, max_size=rows * columns)))
    edges = edges.reshape(rows, columns)
    every = list(matchings(edges))
    largest = [m for m in every if len(m) == max(map(len, every))]
    over = sorted({i for m in largest for i in set(range(rows)) - {i for i, _ in m}})
    under = sorted({j for m in largest for j in set(range(columns)) - {j for _, j in m}})
    i, j = np.nonzero(edges)
    zeros = np.zeros(columns, dtype=int)
    parts = dulmage_mendelsohn(Incidence(i, j, np.zeros_like(i), least=zeros, equations=rows, unknowns=columns))
    assert parts.over_equations == over
    assert parts.under_unknowns == under
    assert parts.over_unknowns == np.flatnonzero(edges[over].any(axis=0)).tolist()
    assert parts.under_equations == np.flatnonzero(edges[:, under].any(axis=1)).tolist()


def test_fewer_equations_than_unknowns():
    message = "1 equation for 2 unknowns: the unknowns 'x' and 'y' occur only in 'sum'. Add 1 equation that contains"
    with pytest.raises(StructureError, match=message):
        dd.analyze(model({"sum": x + y == 1}, [x, y]))


def test_more_equations_than_unknowns():
    message = r"3 equations for 2 unknowns: the 3 equations 'p', 'q' and 'r' contain only 2 unknowns \('x' and 'y'\)"
    with pytest.raises(StructureError, match=message):
        dd.analyze(model({"p": x + y == 1, "q": x - y == 1, "r": x * y == 3}, [x, y]))


def test_no_equations():
    with pytest.raises(StructureError, match="0 equations for 1 unknown: the unknown 'x' occurs in no equation"):
        dd.analyze(model({}, [x]))


def test_over_and_under_determined_parts_are_both_named():
    message = (
        r"the 2 equations 'one' and 'two' contain only 1 unknown \('x'\); the unknowns 'y' and 'z' occur only in 'sum'"
    )
    with pytest.raises(StructureError, match=message):
        dd.analyze(model({"one": der(x) == 1, "two": x == 2, "sum": y + z == 1}, [x, y, z]))


def test_the_well_determined_part_is_not_named():
    with pytest.raises(StructureError) as caught:
        dd.analyze(model({"fine": der(v) == -v, "one": x == 1, "two": x == 2}, [v, x, y]))
    assert "'fine'" not in str(caught.value)
    assert "'y' occurs in no equation" in str(caught.value)


@pytest.mark.parametrize(
    ("equations", "unknowns", "names"),
    [
        ({"p": a == b, "q": b == a}, [a, b], "'p' and 'q'"),
        ({"p": a == -b, "q": b == -a}, [a, b], "'p' and 'q'"),
        ({"p": a == b, "q": b == c, "r": c == a}, [a, b, c], "'p', 'q' and 'r'"),
        ({"p": der(x) == der(y), "q": x == y}, [x, y], "'p' and 'q'"),
        ({"speed": der(x) == v, "same": v == der(x)}, [x, v], "'speed' and 'same'"),
    ],
)
def test_names_in_a_circle(equations, unknowns, names):
    with pytest.raises(StructureError, match=f"the equations {names} say the same thing, and '.' is not determined"):
        dd.analyze(model(equations, unknowns))


def test_a_circle_names_only_its_own_equations():
    equations = {"p": a == b, "q": b == c, "r": c == b, "s": der(x) == v, "t": der(v) == -x}
    with pytest.raises(StructureError, match="the equations 'q' and 'r' say the same thing"):
        dd.analyze(model(equations, [a, b, c, x, v]))


def test_a_circle_with_a_change_of_sign_has_a_solution():
    zero = model({"p": a == b, "q": b == -a}, [a, b])
    assert dd.analyze(zero).degrees_of_freedom == 0
    assert dd.simulate(zero, [0.0, 1.0])["b"].tolist() == [0.0, 0.0]
