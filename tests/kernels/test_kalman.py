"""The compiled filter and smoother against conditional means and covariances of the joint law, and differences."""

import numpy as np
import pytest

from daedal.kernels import Events, Keep, Matrices, State, Steady, pack, run_filter, run_smoother

N, COLUMNS, DIRECTIONS, COUNT = 3, 2, 3, 9


class Problem:
    """Random events with numbers that move along a parameter t in each of three directions."""

    def __init__(self, seed: int, count: int = COUNT) -> None:
        generator = np.random.default_rng(seed)
        self.count = count
        self.transition = np.array([-1, 0, 1, -1, 0, 0, 1, 1, 0] * (count // COUNT), dtype=np.int64)
        self.row = np.array([0, 1, -1, 0, 1, 0, -1, 1, 1] * (count // COUNT), dtype=np.int64)
        shapes = {
            "A": (2, N, N), "Q": (2, N, N), "h": (2, N), "f": (count, N), "y": (count,), "r": (count,),
            "x": (COLUMNS, N), "P": (N, N),
        }  # fmt: skip
        self.value = {name: generator.normal(size=shape) for name, shape in shapes.items()}
        self.slopes = {name: 0.3 * generator.normal(size=(DIRECTIONS, *shape)) for name, shape in shapes.items()}
        self.value["A"] *= 0.5
        for name in ("Q", "P"):
            factor = self.value[name]
            self.value[name] = factor @ factor.swapaxes(-1, -2)
            self.slopes[name] = self.slopes[name] + self.slopes[name].swapaxes(-1, -2)
        self.value["r"] = 0.5 + self.value["r"] ** 2

    def at(self, direction: int, t: float) -> dict[str, np.ndarray]:
        return {name: value + t * self.slopes[name][direction] for name, value in self.value.items()}

    def run(self, directions: int = DIRECTIONS, steady: Steady | None = None, slots=None):
        p = {name: pack(value, self.slopes[name][:directions], directions) for name, value in self.value.items()}
        events = Events(self.transition, self.row, np.full(self.count, -1, dtype=np.int64) if slots is None else slots)
        state = State(p["x"], p["P"])
        found = run_filter(
            events, Matrices(p["A"], p["Q"], p["h"]), p["f"], p["y"], p["r"], state, steady, Keep.EVERYTHING
        )
        return found, state


def plain(problem: Problem, numbers: dict[str, np.ndarray]):
    """e (event, column) and s (event,) of the textbook filter with vectors and matrices of numpy."""
    x, P = numbers["x"].copy(), numbers["P"].copy()
    e, s = np.zeros((problem.count, COLUMNS)), np.zeros(problem.count)
    for k in range(problem.count):
        if problem.transition[k] >= 0:
            A, Q = numbers["A"][problem.transition[k]], numbers["Q"][problem.transition[k]]
            x, P = x @ A.T, A @ P @ A.T + Q
            x[0] += numbers["f"][k]
        if problem.row[k] >= 0:
            h = numbers["h"][problem.row[k]]
            s[k] = h @ P @ h + numbers["r"][k]
            e[k] = -x @ h
            e[k, 0] += numbers["y"][k]
            x = x + np.outer(e[k] / s[k], P @ h)
            P = P - np.outer(P @ h, P @ h) / s[k]
    return e, s, x, P


@pytest.mark.parametrize("directions", [0, 1, 3])
def test_innovations_and_their_derivatives(directions):
    problem = Problem(1)
    found, state = problem.run(directions)
    measured = problem.row >= 0
    e, s, x, P = plain(problem, problem.value)
    assert np.allclose(found.e.value[measured], e[measured], rtol=1e-12)
    assert np.allclose(found.s.value[measured], s[measured], rtol=1e-12)
    assert np.allclose(state.x.value, x, rtol=1e-12)
    assert np.allclose(state.P.value, P, rtol=1e-11, atol=1e-14)
    assert np.array_equal(state.P.value, state.P.value.T)
    for direction in range(directions):
        ahead, behind = (plain(problem, problem.at(direction, t)) for t in (1e-6, -1e-6))
        pairs = ((found.e, measured, 0), (found.s, measured, 1), (state.x, slice(None), 2), (state.P, slice(None), 3))
        for packed, part, which in pairs:
            expected = ((ahead[which] - behind[which]) / 2e-6)[part]
            assert np.allclose(packed.slope[part][..., direction], expected, rtol=1e-6, atol=1e-6)


def joint(problem: Problem):
    """Mean and covariance of the states before each event's measurement and of all samples, by a tall linear map."""
    v, count = problem.value, problem.count
    noises = [v["P"]]
    maps, mean = np.eye(N), v["x"][0].copy()
    states, means = [], []
    for k in range(count):
        if problem.transition[k] >= 0:
            A = v["A"][problem.transition[k]]
            noises.append(v["Q"][problem.transition[k]])
            maps, mean = np.hstack([A @ maps, np.eye(N)]), A @ mean + v["f"][k]
        states.append(maps)
        means.append(mean)
    width = maps.shape[1]
    tall = np.array([np.hstack([each, np.zeros((N, width - each.shape[1]))]) for each in states])
    spread = np.zeros((width, width))
    for k, noise in enumerate(noises):
        spread[k * N : (k + 1) * N, k * N : (k + 1) * N] = noise
    samples = np.flatnonzero(problem.row >= 0)
    rows = np.array([v["h"][problem.row[k]] @ tall[k] for k in samples])
    S = rows @ spread @ rows.T + np.diag(v["r"][samples])
    residual = v["y"][samples] - np.array([v["h"][problem.row[k]] @ means[k] for k in samples])
    return np.array(means), tall, spread, rows, S, residual


def test_smoothed_states_are_conditional_means_and_covariances():
    problem = Problem(2)
    found, _ = problem.run(0)
    events = Events(problem.transition, problem.row, np.full(problem.count, -1, dtype=np.int64))
    q, M = run_smoother(events, problem.value["A"], problem.value["h"], found)
    means, tall, spread, rows, S, residual = joint(problem)
    for k in range(problem.count):
        cross = tall[k] @ spread @ rows.T
        mean = means[k] + cross @ np.linalg.solve(S, residual)
        covariance = tall[k] @ spread @ tall[k].T - cross @ np.linalg.solve(S, cross.T)
        P = found.P[k]
        assert np.allclose(found.x[k, 0] + P @ q[k, 0], mean, rtol=1e-10, atol=1e-12)
        assert np.allclose(P - P @ M[k] @ P, covariance, rtol=1e-10, atol=1e-12)


def test_given_gains_are_taken_and_the_covariance_is_left_alone():
    problem = Problem(3)
    free, _ = problem.run(1)
    measured = np.flatnonzero(problem.row >= 0)
    gains = np.array([free.P[k] @ problem.value["h"][problem.row[k]] for k in measured])
    _, state = problem.run(1)
    slots = np.zeros(problem.count, dtype=np.int64)
    slots[measured] = np.arange(measured.size)
    steady = Steady(pack(gains, None, 1), pack(free.s.value[measured], None, 1))
    again, kept = problem.run(1, steady, slots)
    assert np.allclose(again.e.value[measured], free.e.value[measured], rtol=1e-12)
    assert np.array_equal(again.s.value[measured], free.s.value[measured])
    assert np.array_equal(kept.P.value, problem.value["P"])
    assert np.allclose(kept.x.value, state.x.value, rtol=1e-12)


def test_numbers_that_point_nowhere_are_refused():
    problem = Problem(4)
    for name, wrong in (("transition", 2), ("row", 2), ("transition", -2)):
        kept = getattr(problem, name).copy()
        getattr(problem, name)[1] = wrong
        with pytest.raises(AssertionError):
            problem.run()
        setattr(problem, name, kept)


def test_no_states_and_no_events():
    still = [np.zeros(shape) for shape in ((1, 0, 0), (1, 0, 0), (1, 0))]
    state = State(pack(np.zeros((1, 0))), pack(np.zeros((0, 0))))
    for count in (0, 2):
        numbers = (
            np.full(count, -1, dtype=np.int64),
            np.zeros(count, dtype=np.int64),
            np.full(count, -1, dtype=np.int64),
        )
        found = run_filter(
            Events(*numbers), Matrices(*map(pack, still)), pack(np.zeros((count, 0))), pack(np.arange(float(count))),
            pack(np.full(count, 4.0)), state,
        )  # fmt: skip
        assert np.array_equal(found.e.value[:, 0], np.arange(count))
        assert np.array_equal(found.s.value, np.full(count, 4.0))
