"""Functions through fixed memory against the functions themselves."""

from concurrent.futures import ThreadPoolExecutor

import casadi as ca
import numpy as np

from daedal.symbolic.evaluation import BufferedFunction


def test_values_and_matrix():
    x, p = ca.SX.sym("x", 3), ca.SX.sym("p")
    matrix = ca.vertcat(ca.horzcat(x[0] * p, 0, x[1], 0), ca.horzcat(0, ca.sin(x[2]), 0, 0))
    function = ca.Function("f", [x, p], [ca.sparsify(matrix)])
    buffered = BufferedFunction(function)
    for numbers in ([1.0, 2.0, 3.0], [-1.0, 0.5, 0.0]):
        truth = function(numbers, 2.5)
        np.testing.assert_array_equal(buffered(numbers, 2.5), truth.nonzeros())
        np.testing.assert_array_equal(buffered.matrix(numbers, 2.5), truth.full())


def test_no_result():
    x = ca.SX.sym("x", 2)
    assert BufferedFunction(ca.Function("f", [x], [ca.SX(0, 1)]))([1.0, 2.0]).size == 0


def test_several_threads():
    x = ca.SX.sym("x", 3)
    buffered = BufferedFunction(ca.Function("f", [x], [ca.horzcat(x, 2 * x)]))
    numbers = np.random.default_rng(0).standard_normal((2000, 3))
    with ThreadPoolExecutor(8) as pool:
        for row, found in zip(numbers, pool.map(buffered.matrix, numbers), strict=True):
            np.testing.assert_array_equal(found, np.column_stack([row, 2 * row]))
