"""Constraints kept to round-off, whatever the solver's tolerance and however long the run."""

import numpy as np
import pytest

import catalogue
import daedal as dd
from daedal.simulation.ida.projection import Projection
from daedal.systems import find_initial_values

EPS = np.finfo(float).eps


@pytest.mark.parametrize("rtol", [1e-4, 1e-8])
def test_rod_and_its_derivative_at_every_sample(rtol):
    trajectory = dd.simulate(catalogue.over_the_top().model(), np.linspace(0, 30, 301), solver=dd.IDA(rtol, rtol / 100))
    x, y, vx, vy = (trajectory[name] for name in ("x", "y", "vx", "vy"))
    assert np.abs(x**2 + y**2 - 1).max() < 4 * EPS
    assert np.abs(x * vx + y * vy).max() < 20 * EPS
    # The multiplier is that of the accelerations: lam L² = v² − g y.
    np.testing.assert_allclose(trajectory["lam"], vx**2 + vy**2 - 9.81 * y, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_energy_over_a_long_run():
    trajectory = dd.simulate(catalogue.over_the_top().model(), np.linspace(0, 100, 1001), solver=dd.IDA(1e-10, 1e-12))
    np.testing.assert_allclose(trajectory["energy"], 7.0**2 / 2 - 9.81, rtol=1e-6)
    assert np.abs(trajectory["x"] ** 2 + trajectory["y"] ** 2 - 1).max() < 4 * EPS


@pytest.mark.parametrize("problem", [catalogue.slider_crank(), catalogue.chain(20)], ids=lambda p: p.name)
def test_projection_is_idempotent(problem):
    system = dd.build(problem.model())
    start = find_initial_values(system)
    project = Projection(system, system.parameter_vector())
    w = np.zeros(len(system.reduction.exogenous))
    rng = np.random.default_rng(0)
    x = start.states + 1e-5 * rng.normal(size=start.states.size)
    once = project(0.0, x, start.tops, w)
    twice = project(0.0, *once, w)
    for before, after in zip(once, twice, strict=True):
        np.testing.assert_allclose(after, before, rtol=1e-12, atol=1e-12 * np.abs(before).max())
    constraints = system.function("constraints")(0.0, *once, system.parameter_vector(), w).full()
    assert np.abs(constraints).max() < 1e-13 * np.abs(once[0]).max()
    assert np.abs(once[0] - x).max() < 1e-3  # a small correction, not another solution


def test_a_singular_point_is_left_alone():
    x, y, vx, vy, lam = dd.symbols("x y vx vy lam")
    model = dd.Model(
        name="m",
        equations={
            "a": dd.der(x) == vx,
            "b": dd.der(y) == vy,
            "c": dd.der(vx) == lam * x,
            "d": dd.der(vy) == lam * y,
            "rod": x**2 + y**2 == 1,
        },
        unknowns=[x, y, vx, vy, lam],
        guess={x: 1.0},
    )
    system = dd.build(model)
    states, tops = np.zeros(len(system.states)), np.ones(len(system.tops))
    same_states, same_tops = Projection(system, np.zeros(0))(0.0, states, tops, np.zeros(0))
    np.testing.assert_array_equal(same_states, states)
    np.testing.assert_array_equal(same_tops, tops)
