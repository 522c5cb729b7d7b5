"""Nested loops as machine code, against numpy."""

import numpy as np

from daedal.kernels import compiler
from daedal.kernels.nested_loops import LoopFunction

WIDTH = 2


def called(function: LoopFunction, name: str, *arguments) -> None:
    pointers = [argument.ctypes.data for argument in arguments if isinstance(argument, np.ndarray)]
    integers = arguments[len(pointers) :]
    compiler.load(function.text()).function(name, len(pointers), len(integers))(*pointers, *integers)


def test_product_of_matrices_whose_sizes_come_at_run_time():
    f = LoopFunction("test_product", ("A", "B", "C"), ("rows", "inner", "columns"), WIDTH)
    rows, inner, columns = (f.integer(name) for name in ("rows", "inner", "columns"))
    A, B, C = f.view("A", inner), f.view("B", columns), f.view("C", columns)
    with f.loop(rows) as i, f.loop(columns) as j:
        C[i, j] = f.sum(inner, lambda k: A[i, k] * B[k, j])
    for shape in ((2, 3, 4), (1, 5, 1), (3, 0, 2)):
        first, second = np.random.default_rng(0).normal(size=shape[:2]), np.ones(shape[1:]) * 1.5
        out = np.full((shape[0], shape[2]), np.nan)
        called(f, "test_product", first, second, out, *shape)
        assert np.allclose(out, first @ second, rtol=1e-14)


def test_conditions_integers_and_vectors():
    """Rows with a number of their own are multiplied, lane by lane; others keep what they have."""
    f = LoopFunction("test_lanes", ("number", "factor", "x"), ("count",), WIDTH)
    number, factor = f.view("number", kind="i64"), f.view("factor")
    x = f.view("x", kind=f.vector)
    with f.loop(f.integer("count")) as i:
        place = number[i]
        with f.when(place >= 0):
            x[i] = x[i] * factor[place]
        with f.when(place < 0):
            x[i] = x[i] - x[i] / factor[i] + f.zeros()
    numbers, factors = np.array([2, -1, 0], dtype=np.int64), np.array([2.0, 4.0, 10.0])
    values = np.arange(6.0).reshape(3, 2)
    expected = np.array([values[0] * 10.0, values[1] * 0.75, values[2] * 2.0])
    called(f, "test_lanes", numbers, factors, values, 3)
    assert np.allclose(values, expected, rtol=1e-15)


def test_backwards_and_sums_with_a_start():
    """x_i = 1 + Σ_{k < i} y_k from the last to the first; each writes over the y it does not need any more."""
    f = LoopFunction("test_backwards", ("x",), ("count",), WIDTH)
    x = f.view("x")
    with f.loop(f.integer("count"), backwards=True) as i:
        x[i] = f.sum(i, lambda k: x[k], f.number(1.0))
    values = np.array([3.0, 5.0, 7.0, 11.0])
    expected = 1.0 + np.concatenate([[0.0], np.cumsum(values)[:-1]])
    called(f, "test_backwards", values, 4)
    assert np.allclose(values, expected, rtol=1e-15)
