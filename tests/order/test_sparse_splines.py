"""Splines against their recursions, sparse least squares against brute force, and orders that closed forms give."""

from itertools import combinations

import numpy as np
import pytest

from daedal.data import Dataset, Signal
from daedal.errors import EstimationError
from daedal.order import RefinedIV, SparseSplines, select_order
from daedal.order.greedy_sparsity import select_greedily, solve_on_support
from daedal.order.penalized_splines import (
    derive_inputs,
    is_fitted,
    keep_largest,
    make_spline_equation,
    sparsify_equation,
    weigh_varziri,
)
from daedal.order.record import make_record
from daedal.order.response import Shape, compute_response
from daedal.order.sparse_splines import find_nearest_solution
from daedal.order.splines import SplineBasis, make_spline_basis

TIMES = np.linspace(0.0, 60.0, 1201)
FREQUENCIES = np.arange(1, 11) / 10.0


def steady(times, a, b, shift=0.0):
    """The steady response of a(d/dt) x = b(d/dt) u, both rising, to sines; u and x."""
    s = 1j * FREQUENCIES
    gain = np.polyval(b[::-1], s) / np.polyval(a[::-1], s)
    waves = np.exp(1j * (times[:, None] * FREQUENCIES + FREQUENCIES + shift))
    return waves.imag.sum(axis=1), (waves * gain).imag.sum(axis=1)


def data_of(a, b, noise=0.0, intersample="spline", times=TIMES, seed=0):
    u, x = steady(times, a, b)
    y = x + noise * np.std(x) * np.random.default_rng(seed).standard_normal(times.size)
    return Dataset(times, inputs={"u": Signal(times, u, intersample)}, outputs={"y": y})


def made_of(*arguments, **options):
    return make_record("test", data_of(*arguments, **options), None, None)


# Splines


def recursion(knots, i, p, t):
    """N_{i,p}(t) as the paper defines it."""
    if p == 0:
        return np.where((knots[i] <= t) & (t < knots[i + 1]), 1.0, 0.0)
    left, right = knots[i + p] - knots[i], knots[i + p + 1] - knots[i + 1]
    value = np.zeros_like(t)
    if left:
        value += (t - knots[i]) / left * recursion(knots, i, p - 1, t)
    if right:
        value += (knots[i + p + 1] - t) / right * recursion(knots, i + 1, p - 1, t)
    return value


def slope(knots, i, p, t):
    """N'_{i,p}(t) with the sign that the paper has wrong."""
    left, right = knots[i + p] - knots[i], knots[i + p + 1] - knots[i + 1]
    value = np.zeros_like(t)
    if left:
        value += p / left * recursion(knots, i, p - 1, t)
    if right:
        value -= p / right * recursion(knots, i + 1, p - 1, t)
    return value


@pytest.mark.parametrize("degree", [2, 4])
def test_splines_and_slopes_follow_the_recursions(degree):
    basis = SplineBasis(degree, np.array([0.0, 0.5, 2.0, 2.5, 4.0]))
    clamped = np.r_[np.zeros(degree), basis.knots, np.full(degree, 4.0)]
    t = np.linspace(0.0, 3.999, 57)
    expected = np.stack([recursion(clamped, i, degree, t) for i in range(basis.size)], axis=1)
    slopes = np.stack([slope(clamped, i, degree, t) for i in range(basis.size)], axis=1)
    np.testing.assert_allclose(basis.values(t), expected, atol=1e-13)
    np.testing.assert_allclose(basis.values(t, 1), slopes, atol=1e-12)


def test_gauss_points_integrate_squares_of_splines_exactly():
    basis = SplineBasis(3, np.array([0.0, 1.0, 1.5, 4.0]))
    coefficients = np.random.default_rng(0).standard_normal(basis.size)
    by_points = np.sum((basis.roots * (basis.values(basis.points) @ coefficients)) ** 2)
    fine = np.linspace(0.0, 4.0, 200_001)
    assert by_points == pytest.approx(np.trapezoid((basis.values(fine) @ coefficients) ** 2, fine), rel=1e-7)


@pytest.mark.parametrize("intersample", ["zoh", "foh", "spline"])
def test_projected_inputs_keep_integrals_with_splines(intersample):
    signal = Signal(np.arange(21) * 0.2, np.random.default_rng(1).standard_normal(21), intersample)
    basis = SplineBasis(3, np.linspace(0.0, 4.0, 6))
    by_points = (basis.values(basis.points) * basis.roots[:, None]).T @ (basis.roots * basis.project(signal))
    middles = (np.arange(400_000) + 0.5) * 1e-5
    np.testing.assert_allclose(by_points, basis.values(middles).T @ signal(middles) * 1e-5, atol=1e-8)


def test_a_cubic_is_its_own_projection_with_all_derivatives():
    times = np.linspace(0.0, 3.0, 31)
    signal = Signal(times, times**3 - times, "spline")
    basis = SplineBasis(4, np.linspace(0.0, 3.0, 5))
    np.testing.assert_allclose(basis.project(signal, 1), 3 * basis.points**2 - 1, atol=1e-10)


def test_knots_share_the_samples_and_span_the_record():
    times = np.concatenate([np.linspace(1.0, 2.0, 50), np.linspace(5.0, 9.0, 50)])
    basis = make_spline_basis(times, 0.0, 10.0, 3, 11)
    assert basis.knots[[0, -1]].tolist() == [0.0, 10.0]
    counts = np.histogram(times, basis.knots)[0]
    assert counts.min() >= 9
    assert counts.max() <= 11


# Greedy sparsity


@pytest.mark.parametrize("seed", range(20))
def test_greedy_reaches_the_best_support_of_well_conditioned_problems(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((40, 7))
    truth = np.where(np.isin(np.arange(7), rng.permutation(7)[:3]), rng.uniform(1.0, 3.0, 7), 0.0)
    b = A @ truth + 0.1 * rng.standard_normal(40)
    found = select_greedily(A, b, 3)
    supports = (np.isin(np.arange(7), each) for each in combinations(range(7), 3))
    best = min((solve_on_support(A, b, each) for each in supports), key=lambda x: np.linalg.norm(A @ x - b))
    np.testing.assert_allclose(found, best, atol=1e-10)


@pytest.mark.parametrize("seed", range(20))
def test_greedy_ends_in_coordinate_wise_minima(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((12, 1)) + 0.3 * rng.standard_normal((12, 6))  # columns nearly alike
    b = rng.standard_normal(12)
    x = select_greedily(A, b, 3, start=np.array([1.0, 1.0, 0.0, 0.0, 0.0, 1.0]))
    assert np.count_nonzero(x) <= 3
    squares = np.sum((b - A @ x) ** 2)
    for i in np.flatnonzero(x):
        left = b - A @ np.where(np.arange(6) == i, 0.0, x)
        exchanged = left @ left - (A.T @ left) ** 2 / np.sum(A**2, axis=0)
        assert exchanged.min() >= squares * (1 - 1e-9)


def test_greedy_leaves_a_column_of_zeros_alone():
    A = np.column_stack([np.zeros(5), np.arange(5.0)])
    np.testing.assert_allclose(select_greedily(A, 2 * np.arange(5.0), 2), [0.0, 2.0])


# The published method


@pytest.mark.parametrize(
    ("a", "b", "order", "tolerance"),
    [
        ((2.0, 1.0), (1.0,), 5, 1e-6),
        ((2.0, 1.0), (1.0, -1.0), 3, 2e-5),  # a negative b
        ((-2.0, -1.0), (1.0,), 3, 1e-6),  # a negative gain: all a are negative
        ((1.0, 2.8, 1.0), (1.0,), 5, 1e-5),
        ((24.0, 50.0, 35.0, 10.0, 1.0), (1.0,), 6, 1e-3),
    ],
)
def test_exact_samples_give_exact_coefficients_and_zeros(a, b, order, tolerance):
    made = made_of(a, b)
    equation = make_spline_equation(made, order, len(b) - 1, 150)
    theta = sparsify_equation(equation, made.y, len(a) + len(b) - 1)
    expected = np.zeros(order + len(b))
    expected[: len(a)], expected[order + 1 :] = a, b[1:]
    np.testing.assert_array_equal(theta != 0.0, expected != 0.0)
    np.testing.assert_allclose(theta, expected, rtol=tolerance)


def test_it_returns_as_many_terms_as_it_is_told_to():
    made = made_of((1.0, 2.8, 1.0), (1.0,), noise=0.1)
    equation = make_spline_equation(made, 5, 0, 45)
    counts = [np.count_nonzero(sparsify_equation(equation, made.y, terms)) for terms in (3, 4, 5)]
    assert counts == [3, 4, 5]


def test_a_first_guess_without_small_and_contradicting_numbers():
    theta = np.array([24.0, 50.0, 0.3, -3.0, 2.0, -0.7])  # a_0 … a_4, b_1
    np.testing.assert_array_equal(keep_largest(theta, 4, 6), [24.0, 50.0, 0.0, 0.0, 2.0, -0.7])
    np.testing.assert_array_equal(keep_largest(theta, 4, 3), [24.0, 50.0, 0.0, 0.0, 2.0, 0.0])
    np.testing.assert_array_equal(keep_largest(-theta, 4, 6), [-24.0, -50.0, 0.0, 0.0, -2.0, 0.7])


def test_the_weight_is_variance_and_mean_square():
    made = made_of((2.0, 1.0), (1.0,), noise=0.2)
    equation = make_spline_equation(made, 2, 0, 12)
    splines = equation.fit(equation.reduce(made.y)) + 0.1
    left = made.y - equation.at_samples @ splines
    expected = np.var(left) + np.mean(left**2)
    assert weigh_varziri(equation, equation.reduce(made.y), splines) == pytest.approx(expected, rel=1e-9)


def test_penalized_splines_minimize_what_they_should():
    from scipy.optimize import check_grad

    made = made_of((2.0, 1.0), (1.0, 0.5), noise=0.1, times=TIMES[:81])
    equation = make_spline_equation(made, 2, 1, 8)
    theta = np.array([2.0, 1.1, 0.2, 0.4])

    def cost(splines):
        curve = [equation.derivatives[k] @ splines for k in range(3)]
        rest = theta[0] * curve[0] + theta[1] * curve[1] + theta[2] * curve[2]
        rest = rest - equation.inputs[0, 0] - theta[3] * equation.inputs[0, 1]
        return np.sum((made.y - equation.at_samples @ splines) ** 2) + 0.7 * np.sum(rest**2)

    best = equation.fit_penalized(equation.reduce(made.y), theta, 0.7)
    assert check_grad(cost, np.zeros_like, best) < 1e-4 * cost(np.zeros_like(best))


def test_inputs_known_by_samples_are_fitted_where_derivatives_are_needed():
    smooth = Signal(TIMES, np.sin(TIMES), "foh")
    basis = make_spline_basis(TIMES, 0.0, 60.0, 4, 90)
    assert [is_fitted(smooth, 0), is_fitted(smooth, 1)] == [False, True]
    assert not is_fitted(Signal(TIMES, np.sin(TIMES), "spline"), 2)
    assert is_fitted(Signal(TIMES, np.sin(TIMES), "spline"), 4)
    values, slopes = derive_inputs(smooth, 1, basis)
    np.testing.assert_allclose(values, np.sin(basis.points), atol=1e-4)
    np.testing.assert_allclose(slopes, np.cos(basis.points), atol=1e-3)


def test_of_several_numbers_of_knots_the_nearest_solution_is_taken():
    made = made_of((2.0, 1.0), (1.0,), noise=0.1)
    equations = [make_spline_equation(made, 3, 0, knots) for knots in (8, 45)]
    few, many = (find_nearest_solution([each], True, made, 2) for each in equations)
    assert many.squares < few.squares
    np.testing.assert_array_equal(find_nearest_solution(equations, True, made, 2).theta, many.theta)


def test_the_squares_of_a_solution_are_those_of_its_response():
    made = made_of((1.0, 2.8, 1.0), (1.0,), noise=0.1)
    found = find_nearest_solution([make_spline_equation(made, 5, 0, 45)], True, made, 3)
    assert found.begun is not None
    assert found.begun.shape == Shape(2, 0, 1, True)
    again = compute_response(found.begun.shape, found.begun.theta, made)
    assert found.squares == pytest.approx(np.sum((made.y - again.y) ** 2), rel=1e-9)


# As a method of `select_order`


def test_terms_give_one_candidate_whose_order_is_that_of_its_highest_coefficient():
    search = select_order(
        data_of((1.0, 2.8, 1.0), (1.0,), 0.1), orders=range(1, 6), input_orders=[0], method=SparseSplines(terms=3)
    )
    assert (len(search.candidates), search.order, search.input_order) == (1, 2, 0)
    tf = search.transfer_function
    np.testing.assert_allclose(tf.denominator, [1.0, 2.8, 1.0], rtol=0.1)
    assert any("the number of terms, 3, was given" in note for note in search.notes)


def test_terms_with_a_given_weight_and_knots_use_them():
    data = data_of((2.0, 1.0), (1.0,), noise=0.1)
    few, many = (
        select_order(data, orders=[3], input_orders=[0], method=SparseSplines(terms=2, knots=knots, weight=0.1))
        for knots in (20, 60)
    )
    assert abs(few.transfer_function.denominator[1] - 2.0) > 3 * abs(many.transfer_function.denominator[1] - 2.0)


@pytest.mark.parametrize(
    ("a", "b"),
    [((2.0, 1.0), (1.0,)), ((2.0, 1.0), (1.0, 1.0)), ((1.0, 2.8, 1.0), (1.0,)), ((1.0, 0.4, 1.0), (0.0, 1.0))],
    ids=["first order", "with u'", "second order", "without a gain"],
)
def test_without_terms_the_order_is_found_as_by_instrumental_variables(a, b):
    data = data_of(a, b, noise=0.12)
    m = len(b) - 1
    searches = [
        select_order(data, orders=range(1, 4), input_orders=[m], method=each) for each in (SparseSplines(), RefinedIV())
    ]
    assert [search.order for search in searches] == [len(a) - 1] * 2
    splines, refined = (np.array(list(search.chosen.coefficients.values())) for search in searches)
    np.testing.assert_allclose(splines, refined, rtol=1e-4, atol=1e-6)


def test_held_inputs_missing_and_irregular_samples():
    rng = np.random.default_rng(3)
    breaks = np.arange(61.0)
    drive = Signal(breaks, rng.choice([-1.0, 1.0], 61), "zoh")
    times = np.sort(rng.uniform(0.0, 60.0, 700))
    empty = Dataset(times, inputs={"u": drive}, outputs={"y": np.sin(times)}, t0=0.0)
    x = compute_response(
        Shape(2, 1, 1, False), np.array([1.0, 1.2, 1.0, 0.5]), make_record("test", empty, None, None)
    ).y
    y = x + 0.05 * rng.standard_normal(700)
    y[100:130] = np.nan
    data = Dataset(times, inputs={"u": drive}, outputs={"y": y}, t0=0.0)
    search = select_order(data, orders=[1, 2, 3], input_orders=[1], method=SparseSplines())
    assert search.order == 2
    for name, truth in {"a0": 1.0, "a1": 1.2, "b0": 1.0, "b1": 0.5}.items():
        assert abs(search.chosen.coefficients[name] - truth) < 4 * search.chosen.std_errors[name]
    assert any("fitted splines" in note for note in search.notes)


def test_several_inputs():
    rng = np.random.default_rng(5)
    u, x = steady(TIMES, (1.0, 0.8, 1.0), (1.0,))
    v, z = steady(TIMES, (1.0, 0.8, 1.0), (-2.0,), shift=FREQUENCIES**2 * 7)
    inputs = {"u": Signal(TIMES, u, "spline"), "v": Signal(TIMES, v, "spline")}
    data = Dataset(TIMES, inputs=inputs, outputs={"y": x + z + 0.3 * rng.standard_normal(TIMES.size)})
    search = select_order(data, orders=[1, 2, 3], input_orders=[0], method=SparseSplines())
    assert search.order == 2
    assert search.chosen.coefficients["b0_v"] == pytest.approx(-2.0, abs=4 * search.chosen.std_errors["b0_v"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"terms": 0}, "whole number from 1 on, got 0"),
        ({"terms": True}, "got True"),
        ({"terms": 2.5}, "got 2.5"),
        ({"knots": -3}, "number of knots must be a whole number, got -3"),
        ({"weight": 0.0}, "positive number, got 0.0"),
        ({"weight": "large"}, "positive number, got 'large'"),
    ],
)
def test_bad_choices_are_refused(options, said):
    with pytest.raises(EstimationError, match=said):
        SparseSplines(**options)


def test_knots_must_suit_the_degree_and_the_samples():
    data = data_of((2.0, 1.0), (1.0,))
    with pytest.raises(EstimationError, match="order 5 have degree 6 and need 8 knots, got 7"):
        select_order(data, orders=[1, 5], input_orders=[0], method=SparseSplines(knots=7))
    with pytest.raises(EstimationError, match="5000 knots are too many for 1201 samples of 'y'"):
        select_order(data, orders=[1], input_orders=[0], method=SparseSplines(knots=5000))
