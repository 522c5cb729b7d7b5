"""Steps end where they must, and node values are exact inside a piece and moment-matched across kinks."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.polynomial import Polynomial, legendre
from scipy.integrate import quad

import daedal as dd
from daedal.simulation.forcing import Forcing
from daedal.simulation.steps.curves import Curve, compute_cell_weights
from daedal.simulation.steps.radau import NODES
from daedal.simulation.steps.schedule import find_stops, join_steps, make_regular_steps, tabulate_nodes

LINE = Curve("line", 0)

NODE_SETS = sorted(NODES)


def schedule(start, times, breaks, longest):
    return make_regular_steps(find_stops(start, times, breaks, 1e-6 * longest), longest)


def check(steps, start, times, breaks=()):
    """Contiguous steps that end on every stop, each sample emitted once, where it belongs."""
    later = times[times > start]
    assert np.all(steps.lengths > 0)
    np.testing.assert_allclose(steps.starts[1:], steps.ends[:-1], rtol=1e-12, atol=1e-12)
    for stop in (*later, *breaks):
        assert np.min(np.abs(steps.ends - stop)) <= 1e-9 * steps.lengths.max() + 1e-14 * abs(stop)
    emitted = steps.emit[steps.emit >= 0]
    np.testing.assert_array_equal(emitted, np.flatnonzero(times > start))
    np.testing.assert_allclose(
        steps.ends[steps.emit >= 0], later, rtol=1e-15, atol=1e-9 * steps.lengths.max(initial=1.0)
    )


def test_regular_samples():
    times = np.arange(101) * 0.1
    steps = schedule(0.0, times, np.zeros(0), 0.025)
    assert steps.starts.size == 400
    check(steps, 0.0, times)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("longest", [1e-3, 0.07, 10.0])
def test_irregular_samples_and_breaks(seed, longest):
    rng = np.random.default_rng(seed)
    times, breaks = np.sort(rng.uniform(1, 4, 30)), np.sort(rng.uniform(0.5, 3.5, 12))
    steps = schedule(0.5, times, breaks, longest)
    assert steps.lengths.max() <= longest * (1 + 1e-6)
    check(steps, 0.5, times, breaks[breaks < times[-1]])


def test_the_first_sample_at_the_start_is_not_a_step():
    times = np.array([0.0, 1.0])
    steps = schedule(0.0, times, np.zeros(0), 0.5)
    np.testing.assert_array_equal(steps.emit, [-1, 1])
    assert schedule(0.0, times[:1], np.zeros(0), 0.5).starts.size == 0


def test_breaks_beyond_the_last_sample_do_not_count():
    times = np.array([0.0, 1.0])
    check(schedule(0.0, times, np.array([-1.0, 0.0, 1.0, 7.0]), 0.5), 0.0, times)


def test_breaks_and_samples_one_rounding_apart_make_no_tiny_step():
    times = np.arange(31) * 0.1
    steps = schedule(0.0, times, np.linspace(0, 3, 31), 0.05)
    assert steps.lengths.min() > 0.04
    check(steps, 0.0, times)


@pytest.mark.parametrize("parts", [2, 3, 7])
def test_divided(parts):
    times = np.array([0.0, 0.3, 1.0, 1.1])
    steps = schedule(0.0, times, np.array([0.5]), 0.2)
    finer = steps.divide(parts)
    assert finer.starts.size == parts * steps.starts.size
    check(finer, 0.0, times, [0.5])


def test_until():
    times = np.arange(11) * 0.1
    short = schedule(0.0, times, np.zeros(0), 0.02).take_until(5)
    assert short.ends[-1] == pytest.approx(0.5)
    assert short.emit.max() == 5


def test_every_sample_is_emitted_however_close():
    times = np.array([0.0, 0.3, 0.3 + 1e-10, 1.0])
    steps = schedule(0.0, times, np.zeros(0), 0.1)
    assert set(steps.emit) - {-1} == {1, 2, 3}


@pytest.mark.parametrize("start", [0.0, -3.0, 1.7e9])
def test_given_steps_end_on_the_samples_wherever_time_starts(start):
    """Tiny steps first, then growing ones, as error control takes them."""
    times = start + np.array([0.0, 0.25, 0.5, 2.0])
    pieces = np.geomspace(1e-6, 1.0, 12)
    lengths = [interval * pieces / pieces.sum() for interval in np.diff(times)]
    steps = join_steps(find_stops(start, times, np.zeros(0), 1e-9), lengths)
    np.testing.assert_array_equal(np.flatnonzero(steps.emit >= 0), [11, 23, 35])
    np.testing.assert_array_equal(steps.emit[[11, 23, 35]], [1, 2, 3])


def test_given_steps_over_many_decades():
    times = np.r_[0.0, 10.0 ** np.arange(-3, 12)]
    lengths = [gap * np.array([1e-8, 0.1, 0.9 - 1e-8]) for gap in np.diff(times)]
    steps = join_steps(find_stops(0.0, times, np.zeros(0), 1e-9), lengths)
    np.testing.assert_array_equal(steps.emit[2::3], np.arange(1, times.size))


def table(signal, order, steps, method):
    forcing = Forcing({}, (None, (signal, order)), float(steps.starts[0]), float(steps.ends[-1]))
    values = tabulate_nodes(forcing, steps, NODES[method])
    assert not values[:, :, 0].any()  # disturbances are zero
    return values[:, :, 1]


@pytest.mark.parametrize("method", NODE_SETS)
@pytest.mark.parametrize(("kind", "order"), [("zoh", 0), ("foh", 0), ("foh", 1), ("spline", 0), ("spline", 2)])
def test_node_values_are_exact_within_a_piece(method, kind, order):
    rng = np.random.default_rng(3)
    times = np.r_[0, np.sort(rng.uniform(0.1, 2.9, 12)), 3]
    signal = dd.Signal(times, rng.normal(size=times.size), kind)
    steps = schedule(0.0, times, np.zeros(0), 0.1)
    nodes = steps.starts[:, None] + steps.lengths[:, None] * NODES[method]
    inside = np.clip(nodes, steps.starts[:, None] + 1e-12, steps.ends[:, None] - 1e-12)  # limits from inside
    np.testing.assert_allclose(table(signal, order, steps, method), signal(inside, order), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", NODE_SETS)
@pytest.mark.parametrize("kind", ["zoh", "foh", "spline"])
def test_node_values_across_kinks_match_the_moments(method, kind):
    """The least-squares quadratic over each step, by scipy's quadrature."""
    rng = np.random.default_rng(5)
    signal = dd.Signal(np.linspace(0, 2, 41), rng.normal(size=41), kind)
    times = np.array([0.0, 0.37, 1.0, 1.93])
    steps = schedule(0.0, times, np.zeros(0), 5.0)
    found = table(signal, 0, steps, method)
    for row, start, length in zip(found, steps.starts, steps.lengths, strict=True):
        kinks = (signal.times[(signal.times > start) & (signal.times < start + length)] - start) / length
        wanted = 0.0
        for degree in range(3):
            shape = legendre.Legendre.basis(degree, domain=[0, 1])
            cuts = np.r_[0, kinks, 1]
            moment = sum(
                quad(lambda s, p=shape, a=start, h=length: signal(a + h * s) * p(s), low, high)[0]
                for low, high in pairwise(cuts)
            )
            wanted = wanted + (2 * degree + 1) * moment * shape(NODES[method])
        np.testing.assert_allclose(row, wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("method", NODE_SETS)
def test_a_parabola_through_many_pieces_is_reproduced(method):
    times = np.linspace(0, 2, 21)
    signal = dd.Signal(times, 1 - 3 * times + 2 * times**2, "spline")
    steps = schedule(0.0, np.array([0.0, 1.0, 2.0]), np.zeros(0), 1.0)
    nodes = steps.starts[:, None] + NODES[method]
    np.testing.assert_allclose(table(signal, 0, steps, method), 1 - 3 * nodes + 2 * nodes**2, atol=1e-12)


@pytest.mark.parametrize("method", NODE_SETS)
def test_one_cell_is_linear_interpolation(method):
    nodes = NODES[method]
    np.testing.assert_allclose(
        compute_cell_weights(1, nodes, LINE)[0], np.stack([1 - nodes, nodes], axis=1), atol=1e-15
    )


@pytest.mark.parametrize("method", NODE_SETS)
@pytest.mark.parametrize("cells", [1, 2, 3, 5, 10, 40])
def test_lines_pass_through_cells_unchanged(cells, method):
    grid = np.arange(cells + 1) / cells
    np.testing.assert_allclose(
        compute_cell_weights(cells, NODES[method], LINE)[0] @ (2 - 3 * grid), 2 - 3 * NODES[method], atol=1e-13
    )


@pytest.mark.parametrize("cells", [2, 3, 5, 10])
def test_cell_weights_keep_the_moments_of_the_path(cells):
    """Mean, first and second moment of the piecewise-linear path, by exact integration of each cell."""
    rng = np.random.default_rng(cells)
    path = rng.normal(size=cells + 1)
    nodes = np.array([0.0, 0.5, 1.0])
    projected = Polynomial.fit(nodes, compute_cell_weights(cells, nodes, LINE)[0] @ path, 2).convert()
    for degree in range(3):
        wanted = 0.0
        for i in range(cells):
            line = Polynomial.fit([i / cells, (i + 1) / cells], path[i : i + 2], 1).convert()
            whole = (line * Polynomial.basis(degree)).integ()
            wanted += whole((i + 1) / cells) - whole(i / cells)
        whole = (projected * Polynomial.basis(degree)).integ()
        assert whole(1) - whole(0) == pytest.approx(wanted, abs=1e-13)


def test_cell_weights_reproduce_parabolas_as_the_grid_becomes_fine():
    """A parabola sampled on the grid is itself only piecewise linear there: the difference is its sagitta."""
    for cells in (4, 8, 16):
        grid = np.arange(cells + 1) / cells
        error = compute_cell_weights(cells, NODES["rk4"], LINE)[0] @ grid**2 - NODES["rk4"] ** 2
        assert np.abs(error).max() <= 1 / (4 * cells**2)


@pytest.mark.parametrize("method", NODE_SETS)
@pytest.mark.parametrize(("cells", "degree"), [(1, 3), (2, 2), (5, 2), (12, 2)])
def test_hermite_cells_reproduce_polynomials(cells, degree, method):
    """With values and slopes: cubics over one cell, parabolas over several."""
    p = Polynomial([0.3, -2.0, 1.5, 4.0][: degree + 1])
    grid = np.arange(cells + 1) / cells
    values, slopes = compute_cell_weights(cells, NODES[method], Curve("cubic", 1))
    found = values @ p(grid) + slopes @ (p.deriv()(grid) / cells)
    np.testing.assert_allclose(found, p(NODES[method]), atol=1e-13)


@pytest.mark.parametrize("method", ["rk4", "radau3", "radau5"])
@pytest.mark.parametrize(("cells", "degree"), [(1, 3), (2, 3), (5, 3)])
def test_the_slope_of_a_cubic_belongs_to_it(method, cells, degree):
    # Grid values and slopes of a polynomial that a cubic reproduces: the curve "slope" is its derivative.
    polynomial = np.polynomial.Polynomial(np.arange(1.0, degree + 2))
    grid = np.arange(cells + 1) / cells
    curve = Curve("slope", 0)
    own, companion = compute_cell_weights(cells, NODES[method], curve)
    found = own @ polynomial.deriv()(grid) + curve.scale(1 / cells) * companion @ polynomial(grid)
    np.testing.assert_allclose(found, polynomial.deriv()(NODES[method]), atol=1e-11)
