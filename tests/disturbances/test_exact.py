"""Conditional sampling inside a cell has the law of the process, in any order of requests."""

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import expm

from daedal.disturbances import (
    ExactPath,
    FilteredNoise,
    StateSpaceNoise,
    advance,
    compute_output,
    discretize,
    draw_innovations,
    make_initial_state,
    realize,
)
from daedal.disturbances.bridge import DEPTH, list_nodes, make_bridge
from daedal.errors import ModelError, SimulationError
from daedal.linear import list_output_rows, solve_lyapunov, van_loan
from daedal.symbolic import symbol
from sizes import choose

PROBABILITY = 1e-3  # of a true law being refused; a false one is refused far beyond

OSCILLATOR = FilteredNoise(numerator=[1.0], denominator=[1.0, 0.8, 16.0])
LOW_PASS = FilteredNoise.low_pass(std=1.0, time_constant=0.4)
CORRELATED = StateSpaceNoise(
    A=[[-1.0, 0.5, 0.0], [0.0, -2.0, 1.0], [0.0, 0.0, -3.0]],
    B=[[1.0, 0.0], [0.3, 0.8], [0.5, -1.0]],
    C=[[1.0, 0.0, 1.0], [0.0, 1.0, 0.5]],
)


def rotated(noise, seed=0):
    """The same process in other coordinates, in which no entry is zero."""
    space = realize(noise)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=space.A.shape))[0]
    return StateSpaceNoise(A=turn @ space.A @ turn.T, B=turn @ space.B, C=space.C @ turn.T)


def exact_covariance(noise, times, orders=(0,)):
    space = realize(noise)
    P = solve_lyapunov(space.A, space.intensity)
    rows = list_output_rows(space.A, space.C, orders)

    def block(t, s):
        return rows @ (expm(space.A * (t - s)) @ P if t >= s else P @ expm(space.A * (s - t)).T) @ rows.T

    return np.block([[block(t, s) for s in times] for t in times])


def departure(sample, exact):
    """p-value of the likelihood ratio test that rows of `sample` are N(0, exact) (Anderson 2003, section 10.8)."""
    count, size = sample.shape
    ratio = np.linalg.solve(exact, sample.T @ sample / count)
    statistic = count * (np.trace(ratio) - np.linalg.slogdet(ratio)[1] - size)
    return stats.chi2.sf(statistic, size * (size + 1) / 2)


def drawn(noise, step, times, count, orders=(0,)):
    discrete = discretize(noise, None, step, orders)
    return np.array([ExactPath(discrete, 7, "test", 0, path).at(times).ravel() for path in range(count)])


@pytest.mark.parametrize("noise", [OSCILLATOR, CORRELATED], ids=["oscillator", "correlated"])
def test_linear_interpolation_has_another_law(noise):
    step, times, count = 0.5, [0.17, 0.33], 1000
    discrete = discretize(noise, None, step)
    normals = draw_innovations(7, "test", 0, range(count), range(2), discrete.states)
    state = make_initial_state(discrete, normals[0])
    after, _ = advance(discrete, state, normals[1:])
    values = np.concatenate([compute_output(discrete, state)[None], after])
    shares = np.array(times)[:, None, None] / step
    sample = ((1 - shares) * values[0] + shares * values[1]).reshape(-1, count).T
    exact = exact_covariance(noise, times)
    assert departure(sample, exact) < 1e-12


@pytest.mark.parametrize("gap", [1e-3, 1e-7])
@pytest.mark.parametrize("turn", [False, True], ids=["canonical", "rotated"])
def test_law_over_tiny_distances(gap, turn):
    noise = FilteredNoise(numerator=[1.0], denominator=[1.0, 3.0, 3.0, 1.0])
    discrete = discretize(rotated(noise) if turn else noise, None, 0.3, orders=(0, 1, 2))
    pairs = np.array([ExactPath(discrete, 3, "test", 0, path).at([0.1, 0.1 + gap]) for path in range(500)])
    steps = pairs[:, 1] - pairs[:, 0]
    middle = pairs.mean(axis=1)
    # The roughest row moves like a Brownian motion; the others are its integrals.
    assert departure(steps[:, 2:] / np.sqrt(gap), np.eye(1)) > PROBABILITY
    assert np.allclose(steps[:, 1], gap * middle[:, 2], rtol=0, atol=3 * gap**1.5 + 1e-13)
    assert np.allclose(steps[:, 0], gap * middle[:, 1], rtol=0, atol=3 * gap**2.5 + 1e-13)


def test_rough_noise_over_tiny_distances():
    discrete = discretize(LOW_PASS, None, 0.01)
    gap = 2.0**-40
    steps = [ExactPath(discrete, 3, "test", 0, path).at([0.003, 0.003 + gap]) for path in range(800)]
    moves = np.diff(np.array(steps)[:, :, 0], axis=1)
    assert departure(moves / np.sqrt(2 * gap / 0.4), np.eye(1)) > PROBABILITY


def test_agrees_with_the_grid_at_grid_points():
    step, count = 0.01, 500
    discrete = discretize(OSCILLATOR, None, step, orders=(0, 1))
    normals = draw_innovations(7, "test", 2, range(5), range(count + 1), 2)
    values, _ = advance(discrete, make_initial_state(discrete, normals[0]), normals[1:])
    exact = ExactPath(discrete, 7, "test", 2, 4)
    assert np.allclose(exact.at(np.arange(1, count + 1) * step), values[:, :, 4], rtol=1e-12, atol=1e-15)


def test_is_continuous_across_grid_points():
    exact = ExactPath(discretize(OSCILLATOR, None, 0.01), 7, "test")
    for point in (0.01, 3.27):
        near = exact.at([point - 1e-10, point, point + 1e-10])
        assert np.ptp(near) < 1e-9


def test_order_of_requests_does_not_matter():
    discrete = discretize(CORRELATED, None, 0.25)
    times = np.random.default_rng(0).uniform(0, 100, size=60)
    forward = ExactPath(discrete, 7, "test").at(times)
    assert np.array_equal(ExactPath(discrete, 7, "test").at(times[::-1])[::-1], forward)
    alone = np.array([ExactPath(discrete, 7, "test")(time) for time in times[:10]])
    assert np.array_equal(alone, forward[:10])


def test_paths_purposes_and_noises_differ():
    discrete = discretize(OSCILLATOR, None, 0.25)
    values = {
        float(ExactPath(discrete, *key)(0.1)[0])
        for key in [(7, "a", 0, 0), (8, "a", 0, 0), (7, "b", 0, 0), (7, "a", 1, 0), (7, "a", 0, 1)]
    }
    assert len(values) == 5


def test_path_moves_smoothly_with_the_parameters():
    omega = symbol("omega")
    noise = FilteredNoise(numerator=[1.0], denominator=[1.0, 0.2 * omega, omega**2])
    values = [ExactPath(discretize(noise, {"omega": w}, 0.2), 7, "test")(1.07).item() for w in 4 + 1e-4 * np.arange(5)]
    assert np.abs(np.diff(values, 2)).max() < 1e-7
    assert np.abs(np.diff(values, 4)).max() < 1e-12


def test_middle_of_a_cell_against_dense_conditioning():
    space, step = realize(CORRELATED), 0.4
    tree = make_bridge(space, step)
    half, P = van_loan(space.A, space.intensity, step / 2)
    whole = half @ P @ half.T + P
    gain = P @ half.T @ np.linalg.inv(whole)
    # One level down: added noise e gives spread·gain·(zoom·entrance·e) in the first half.
    assert np.allclose(tree.spread[0] @ tree.gain[0] @ (tree.zoom[0][:, None] * tree.entrance), gain, rtol=1e-10)
    root = tree.spread[0] @ tree.factor[0]
    assert np.allclose(root @ root.T, P - gain @ half @ P, rtol=1e-9, atol=1e-15)


def test_every_level_of_the_tree_is_well_scaled():
    noise = FilteredNoise(numerator=[1.0], denominator=np.poly([-1.0, -2.0, -3.0, -4.0, -5.0]).tolist())
    for process in (noise, rotated(noise)):
        tree = make_bridge(realize(process), 0.01)
        for matrices in (tree.gain, tree.flow, tree.factor):
            assert np.isfinite(matrices).all()
            assert np.abs(matrices).max() < 50
        assert (np.diagonal(tree.factor, axis1=1, axis2=2) > 1e-4).all()
        assert np.allclose(tree.gain[30], tree.gain[-1], rtol=1e-6, atol=1e-7)  # the law of pure integrators


def test_states_without_noise_follow_their_equation():
    noise = StateSpaceNoise(A=[[-1.0, 1.0], [0.0, -0.5]], B=[[1.0], [0.0]], C=[[1.0, 0.0], [0.0, 1.0]])
    exact = ExactPath(discretize(noise, None, 0.5), 7, "test")
    assert np.isfinite(exact(0.2)).all()
    assert exact(0.2)[1] == 0.0


def test_noise_that_is_switched_off():
    noise = StateSpaceNoise(A=[[-1.0]], B=[[0.0]], C=[[1.0]])
    assert not ExactPath(discretize(noise, None, 0.5), 7, "test").at([0.2, 0.5, 1.3]).any()
    assert ExactPath(discretize(noise, None, 0.5), 7, "test").at([]).shape == (0, 1)


def test_longest_chain():
    def chain(poles):
        return FilteredNoise(numerator=[1.0], denominator=np.poly(-np.linspace(1, 3, poles)).tolist())

    discrete = discretize(chain(8), None, 0.01, orders=(7,))
    gap = 1e-5
    moves = [np.diff(ExactPath(discrete, 3, "test", 0, path).at([0.003, 0.003 + gap]), axis=0) for path in range(300)]
    assert departure(np.array(moves)[:, 0] / np.sqrt(gap), np.eye(1)) > PROBABILITY
    with pytest.raises(ModelError, match=r"up to 8 poles in a row, got 9\. Interpolate .* with hermite"):
        ExactPath(discretize(chain(9), None, 0.01), 3, "test")(0.003)


def test_nodes():
    assert list_nodes(2 ** (DEPTH - 1)) == [1]
    assert list_nodes(2 ** (DEPTH - 2)) == [1, 2]
    assert list_nodes(3 * 2 ** (DEPTH - 2)) == [1, 3]
    assert len(list_nodes(1)) == DEPTH


@pytest.mark.parametrize("time", [-0.1, float("nan")])
def test_times_before_the_start_are_refused(time):
    with pytest.raises(SimulationError, match="known from time 0 on"):
        ExactPath(discretize(OSCILLATOR, None, 0.1), 7, "test")(time)


def test_sensitivities_are_refused():
    noise = FilteredNoise(numerator=[symbol("b")], denominator=[1.0, 1.0])
    with pytest.raises(SimulationError, match="has no sensitivities"):
        ExactPath(discretize(noise, {"b": 1.0}, 0.1, sensitivities=("b",)), 7, "test")


@pytest.mark.slow
@pytest.mark.parametrize("noise", [OSCILLATOR, LOW_PASS, CORRELATED], ids=["oscillator", "low pass", "correlated"])
def test_joint_law_inside_one_cell_and_in_the_next(noise):
    times = [0.0, 0.0313, 0.17, 0.33, 0.49, 0.5, 0.81]
    sample = drawn(noise, 0.5, times, choose(1000, 8000))
    assert departure(sample, exact_covariance(noise, times)) > PROBABILITY
