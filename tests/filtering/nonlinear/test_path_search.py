"""The most probable path where Gauss and Newton alone go astray: a sensor that reads two states alike."""

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.experiments import match_experiments
from daedal.filtering import Point, find_path, make_nonlinear_experiment
from daedal.filtering.nonlinear.path import Normals, rest, simulate_path
from daedal.systems import build

x, u, w, a, b = dd.symbols("x u w a b")
STEP = 0.3


def folded() -> dd.Model:
    """y = x + b x² turns back at x = −1/(2b), where samples have no slope."""
    return dd.Model(
        name="folded",
        equations={"rate": a * der(x) == -x + u + w},
        unknowns=[x],
        inputs=[u],
        outputs={"y": x + b * x**2},
        parameters={a: 1.0, b: 0.4},
        initial={x: 0.0},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.5, time_constant=1.0)},
        measurement_noise={"y": 0.05},
    )


@pytest.fixture(scope="module")
def records() -> list[dd.Dataset]:
    times = np.arange(100) * STEP
    push = np.repeat(np.random.default_rng(3).choice([-1.0, 1.0], 10), 10)
    inputs = {"u": dd.Signal(times, push, "zoh")}
    clean = dd.simulate(folded(), times, inputs=inputs, rng=5, variables=["y"], realizations=6)["y"]
    noise = 0.05 * np.random.default_rng(11).standard_normal(clean.shape)
    return [dd.Dataset(times, inputs=inputs, outputs={"y": values}) for values in clean + noise]


@pytest.mark.parametrize("number", range(6))
def test_a_path_is_found_at_wrong_values_too_and_is_a_minimum(records, number):
    """Without the curvature of the sensor searches stalled on two of these, and took minutes on long records."""
    system = build(folded())
    (experiment,) = match_experiments(system, (records[number],))
    values = {"a": 1.2, "b": 0.48}
    discrete = make_nonlinear_experiment(experiment, values, "rk6", STEP).at(Point(system.model, values, ()))
    found = find_path(discrete, rest(discrete)).path
    rng, normals = np.random.default_rng(0), found.normals
    for _ in range(5):
        other = Normals(rng.standard_normal(normals.start.shape), rng.standard_normal(normals.steps.shape))
        up, down = (simulate_path(discrete, normals.add(other, share)) for share in (1e-3, -1e-3))
        assert up is not None
        assert down is not None
        assert min(up.value, down.value) > found.value
        assert abs(up.value - down.value) < 1e-2 * (up.value + down.value - 2.0 * found.value)
