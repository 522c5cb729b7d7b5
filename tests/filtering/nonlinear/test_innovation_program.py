"""The discrete system of a nonlinear model: its derivatives against differences, its paths against the lanes."""

import numpy as np
import pytest

import daedal as dd
from daedal.experiments import match_experiments
from daedal.filtering import Point, make_nonlinear_experiment
from daedal.systems import build

x, y, vx, vy, tension, u, w = dd.symbols("x y vx vy tension u w")
k, L, std, tau = dd.symbols("k L std tau")
PENDULUM = dd.Model(
    name="pendulum",
    equations={
        "kinematics x": dd.der(x) == vx,
        "kinematics y": dd.der(y) == vy,
        "force x": dd.der(vx) == tension * x - k * np.abs(vx) * vx + u + w**2 + w,
        "force y": dd.der(vy) == tension * y - k * np.abs(vy) * vy - 9.81,
        "rod": x**2 + y**2 == L**2,
    },
    unknowns=[x, y, vx, vy, tension],
    inputs=[u],
    outputs={"angle": np.arctan(x / -y), "tension": tension},
    parameters={k: 0.3, L: 2.0, std: 0.6, tau: 0.7},
    disturbances={w: dd.FilteredNoise.low_pass(std=std, time_constant=tau)},
    measurement_noise={"angle": 0.01, "tension": 0.1},
    initial={x: 0.3, vx: 0.0},
    guess={y: -L},
)
TIMES = np.array([0.0, 0.1, 0.2, 0.35, 0.5, 0.7])
DATA = dd.Dataset(
    TIMES,
    inputs={"u": dd.Signal([0.0, 0.25, 1.0], [1.0, 0.0, 0.5], intersample="zoh")},
    outputs={"angle": np.zeros(6), "tension": np.ones(6)},
)
FREE = ("k", "L", "std", "tau")
METHODS = ("rk4", "radau5")


def line_up(method):
    return make_nonlinear_experiment(match_experiments(build(PENDULUM), [DATA])[0], {}, method, 0.1)


def run(experiment, values, normals, first, states=False):
    """The last state of lanes with given normals, and what was emitted after each step."""
    discrete = experiment.at(Point(PENDULUM, values, FREE))
    state, lanes, steps = discrete.begin_lanes(first), normals.shape[2], experiment.grid.steps
    kernel = experiment.program.scan(discrete.directions, states)
    out = np.zeros((steps, kernel.observed, lanes))
    kernel.run(state, discrete.repeat_parameters(lanes), discrete.table, normals, np.arange(steps), out)
    return state, out


def draw(experiment, lanes=3):
    rng, sizes = np.random.default_rng(0), experiment.program.sizes
    return rng.standard_normal((experiment.grid.steps, sizes.normals, lanes)), rng.standard_normal((1, lanes))


def test_steps_end_at_samples_and_jumps():
    grid = line_up("rk4").grid
    assert set(TIMES) <= set(grid.times)
    assert 0.25 in grid.times
    np.testing.assert_array_equal(grid.times[grid.find_points(TIMES)], TIMES)


@pytest.mark.parametrize("method", METHODS)
def test_sensitivities_are_those_of_differences(method):
    experiment = line_up(method)
    sizes, (normals, first) = experiment.program.sizes, draw(experiment)
    state, out = run(experiment, {}, normals, first)
    assert out[:, 2].max() < 1e-9
    for direction, name in enumerate(FREE):
        value = Point(PENDULUM, None, ()).numbers[name]
        ends = [run(experiment, {name: value + e}, normals, first) for e in (1e-6, -1e-6)]
        begin = sizes.state + sizes.tops + 1 + direction * sizes.state
        for mine, number in ((state[begin : begin + sizes.state], 0), (out[:, 3 + 2 * direction :][:, :2], 1)):
            parts = [end[number][: sizes.state] if number == 0 else end[number][:, :2] for end in ends]
            difference = (parts[0] - parts[1]) / 2e-6
            np.testing.assert_allclose(mine, difference, atol=2e-8 * np.abs(difference).max() + 1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_constraints_hold_after_every_step(method):
    experiment = line_up(method)
    normals, first = draw(experiment)
    _, states = run(experiment, {}, normals, first, states=True)
    names = experiment.system.states
    place = {name: names.index(name) for name in ("x", "y", "vx", "vy")}
    X, Y, VX, VY = (states[:, place[name]] for name in place)
    assert np.abs(X**2 + Y**2 - 4.0).max() < 1e-5  # one projection: quadratic in what the step drifts
    assert np.abs(X * VX + Y * VY).max() < 1e-4


@pytest.mark.parametrize("method", METHODS)
def test_jacobians_and_adjoints_are_those_of_differences(method):
    experiment, rng = line_up(method), np.random.default_rng(1)
    program, n, m = experiment.program, experiment.program.sizes.state, experiment.program.sizes.normals
    normals, first = draw(experiment, 1)
    _, states = run(experiment, {}, normals, first, states=True)
    discrete, sizes = experiment.at(Point(PENDULUM, None, ())), experiment.sizes.vector
    s, top, row = states[2, :n, 0], states[2, n : n + program.sizes.tops, 0], discrete.plain_table[3]
    at = {"s": s, "z": normals[3, :, 0], "p": discrete.numbers, "noise": row[program.sizes.inputs :]}

    def step(s, z, p, noise):
        state = np.concatenate([s, top, [0.0]])[:, None]
        table = np.concatenate([row[: program.sizes.inputs], noise])[None]
        out = np.zeros((1, state.size, 1))
        kernel = program.scan(discrete.directions, states=True)
        kernel.run(state, column(np.append(p, sizes)), table, z.reshape(1, -1, 1), np.zeros(1, dtype=np.int64), out)
        return state[:n, 0]

    def jacobians(s, z, p, noise):
        table = np.concatenate([row[: program.sizes.inputs], noise])
        A, G = program.jacobians(*map(column, (s, top, np.append(p, sizes), table, z)))
        return np.hstack([A.reshape(n, n), G.reshape(n, m)])

    both = np.hstack([differentiate(step, at, name) for name in ("s", "z")])
    np.testing.assert_allclose(jacobians(**at), both, atol=1e-8)
    q, weights = rng.standard_normal(n), rng.standard_normal((n, n + m))

    def total(**at):
        return np.array([q @ step(**at) + np.sum(weights * jacobians(**at))])

    bars = (q, weights[:, :n].ravel(), weights[:, n:].ravel())
    pulled = program.pull(*map(column, (s, top, discrete.parameters, row, at["z"], *bars)))
    for name, mine in zip(at, pulled, strict=True):
        difference = differentiate(total, at, name)[0]
        np.testing.assert_allclose(mine[:, 0], difference, atol=1e-7 * np.abs(difference).max())


def test_sights_and_their_adjoints_are_those_of_differences():
    experiment, rng = line_up("rk4"), np.random.default_rng(2)
    program, n = experiment.program, experiment.program.sizes.state
    normals, first = draw(experiment, 1)
    _, states = run(experiment, {}, normals, first, states=True)
    discrete, sizes = experiment.at(Point(PENDULUM, None, ())), experiment.sizes.vector
    row, top = discrete.plain_table[2], states[2, n : n + program.sizes.tops, 0]
    at = {"s": states[2, :n, 0], "p": discrete.numbers, "noise": row[program.sizes.inputs :]}

    def see(s, p, noise):
        table = np.concatenate([row[: program.sizes.inputs], noise])
        return program.sights(*map(column, (s, top, np.append(p, sizes), table)))

    np.testing.assert_allclose(
        see(**at)[1].reshape(2, n), differentiate(lambda **at: see(**at)[0][:, 0], at, "s"), atol=1e-8
    )
    bars = rng.standard_normal(2), rng.standard_normal((2, n))
    pulled = program.pull_sights(*map(column, (at["s"], top, discrete.parameters, row, bars[0], bars[1].ravel())))

    def total(**at):
        y, slopes, _ = see(**at)
        return np.array([bars[0] @ y[:, 0] + bars[1].ravel() @ slopes[:, 0]])

    for name, mine in zip(at, pulled, strict=True):
        difference = differentiate(total, at, name)[0]
        np.testing.assert_allclose(mine[:, 0], difference, atol=1e-7 * (np.abs(difference).max() + 1e-3))


def column(vector):
    return np.array(vector, dtype=float).reshape(-1, 1)


def differentiate(function, at, name):
    """Central differences, one column for each number."""
    columns = []
    for unit in np.eye(at[name].size):
        up, down = (function(**(at | {name: at[name] + e * unit})) for e in (1e-6, -1e-6))
        columns.append((up - down) / 2e-6)
    return np.stack(columns, axis=-1)
