"""Noise declarations: values that compare and pickle, and what they refuse."""

import copy
import pickle

import numpy as np
import pytest

import daedal as dd
from daedal.disturbances import FilteredNoise, StateSpaceNoise, WhiteNoise, list_formulas
from daedal.errors import DaedalError, ExpressionError, ModelError

k, q = dd.symbols("k q")
ALL = [
    WhiteNoise(intensity=q),
    FilteredNoise(numerator=[0.6], denominator=[1.0, 0.8, 16.0], grid=0.01, initial="rest"),
    FilteredNoise([k, 1], [1, 2 * k, q]),
    StateSpaceNoise([[-1, 0], [k, -2]], [[1, 0], [0, q]], [[1, 0], [0, 1]], grid=1),
]


@pytest.mark.parametrize("declaration", ALL, ids=lambda d: type(d).__name__)
def test_declarations_are_values(declaration):
    for other in (pickle.loads(pickle.dumps(declaration)), copy.deepcopy(declaration)):
        assert other == declaration
        assert hash(other) == hash(declaration)
    assert sum(declaration == other for other in ALL) == 1
    with pytest.raises(AttributeError):
        declaration.grid = 3  # pyright: ignore


def test_numbers_become_floats_whatever_they_come_in():
    filtered = FilteredNoise(np.array([1]), (1, np.int64(2)), grid=1)
    assert filtered == FilteredNoise([1.0], [1.0, 2.0], grid=1.0)
    assert filtered.denominator == (1.0, 2.0)
    assert StateSpaceNoise(np.array([[-1]]), [[1]], ((2,),)).C == ((2.0,),)
    assert WhiteNoise().intensity == 1.0


def test_formulas_hold_every_parameter_that_occurs():
    assert {str(formula) for d in ALL for formula in list_formulas(d)} == {"q", "k", "2*k"}
    assert [d.channels for d in ALL] == [1, 1, 1, 2]
    assert [d.pole_excess for d in ALL if isinstance(d, FilteredNoise)] == [2, 1]


@pytest.mark.parametrize("roots", [[-1.0], [-0.1, -3.0], [-0.4 + 4j, -0.4 - 4j], [-1e-6, -2.0, -5.0]])
def test_stable_poles_are_accepted_and_their_mirror_images_refused(roots):
    assert FilteredNoise([1.0], np.poly(roots)).pole_excess == len(roots)
    with pytest.raises(ModelError, match=r"FilteredNoise has a pole at .*, which is not stable"):
        FilteredNoise([1.0], np.poly(-np.array(roots)))


BAD = [
    (lambda: WhiteNoise(-1), "The intensity of WhiteNoise must not be negative, got -1"),
    (lambda: WhiteNoise(np.nan), "The intensity of WhiteNoise must be finite, got nan"),
    (lambda: FilteredNoise([1], [1, -1]), "FilteredNoise has a pole at 1, which is not stable. Give it poles"),
    (lambda: FilteredNoise([1], [1, 0]), "FilteredNoise has a pole at 0, which is not stable. .* integrator"),
    (lambda: FilteredNoise([1], [1, 0, 1]), r"FilteredNoise has a pole at -?0\+1j, which is not stable"),
    (lambda: FilteredNoise([1], [1]), "denominator of higher degree than its numerator, got degrees 0 and 0"),
    (lambda: FilteredNoise([1, 1], [1, 1]), "got degrees 1 and 1. Add a pole, or declare WhiteNoise"),
    (lambda: FilteredNoise([k, 1], [1, k]), "got degrees 1 and 1"),
    (lambda: FilteredNoise([0, 1], [1, 1, 1]), r"The numerator .* must begin with a coefficient that is not zero"),
    (lambda: FilteredNoise([], [1, 1]), r"The numerator .* must begin with a coefficient that is not zero, got \[\]"),
    (lambda: FilteredNoise([1], [0, 1]), "The denominator of FilteredNoise must begin with a coefficient"),
    (lambda: FilteredNoise(1, [1, 1]), "The numerator of FilteredNoise must be a list of coefficients, got 1"),
    (lambda: FilteredNoise([1], k), "The denominator of FilteredNoise must be a list of coefficients, got k"),
    (lambda: FilteredNoise([1], "11"), "The denominator of FilteredNoise must be a list of coefficients, got '11'"),
    (lambda: FilteredNoise([np.inf], [1, 1]), "The numerator of FilteredNoise must be finite, got inf"),
    (lambda: FilteredNoise([1], [1, 1], grid=0), "grid of FilteredNoise must be a positive number of seconds, got 0"),
    (lambda: FilteredNoise([1], [1, 1], grid="a"), "must be a positive number of seconds, got 'a'"),
    (lambda: FilteredNoise([1], [1, 1], grid=k), "must be a positive number of seconds, got k"),
    (lambda: FilteredNoise([1], [1, 1], initial="still"), "initial state of .* must be 'stationary' or 'rest'"),
    (lambda: StateSpaceNoise([[1]], [[1]], [[1]]), "StateSpaceNoise has a pole at 1, which is not stable"),
    (lambda: StateSpaceNoise([[0, 1], [-1, 0]], [[0], [1]], [[1, 0]]), "StateSpaceNoise has a pole at"),
    (lambda: StateSpaceNoise([[-1]], [[1]], [[1, 2]]), "matrices A 1×1, B 1×1, C 1×2 do not fit. A must be square"),
    (lambda: StateSpaceNoise([[-1, 0]], [[1]], [[1]]), "matrices A 1×2, B 1×1, C 1×1 do not fit"),
    (lambda: StateSpaceNoise([[-1]], [1], [[1]]), r"matrix B of StateSpaceNoise must be a list of rows, got \[1\]"),
    (lambda: StateSpaceNoise([[-1, 0], [1]], [[1]], [[1]]), "matrix A of .* must have rows of equal length"),
    (lambda: StateSpaceNoise([], [], []), "matrix A of .* must have rows of equal length"),
    (lambda: StateSpaceNoise([[-1]], [[1]], [[1]], grid=-1), "grid of StateSpaceNoise must be a positive number"),
]


@pytest.mark.parametrize(("form", "message"), BAD)
def test_what_is_refused_and_why(form, message):
    with pytest.raises(ModelError, match=message):
        form()


@pytest.mark.parametrize(
    "form",
    [lambda: WhiteNoise("q"), lambda: FilteredNoise(["k"], [1, 1]), lambda: StateSpaceNoise([["a"]], [[1]], [[1]])],
)
def test_strings_where_symbols_belong_are_refused(form):
    with pytest.raises(
        ExpressionError, match=r"of \w+Noise must be an expression, got the text .* Make it a symbol first"
    ):
        form()


def test_every_refusal_is_one_of_daedal():
    for form, _ in BAD:
        with pytest.raises(DaedalError):
            form()
