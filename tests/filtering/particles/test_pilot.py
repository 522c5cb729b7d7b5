"""Steps for lanes: the same noise on cells and their halves, and steps that are short enough."""

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.experiments import match_experiments
from daedal.filtering import InitialCondition, Point, line_up_lanes
from daedal.filtering.particles.pilot import _find_halves, _merge
from daedal.systems import build

x, w, rate = dd.symbols("x w rate")
CONDITION = InitialCondition("diffuse", None)


def make(value=1.0, pull=np.sin, start=1.0):
    return dd.Model(
        name="fast",
        equations={"rate": der(x) == -rate * pull(x) + 3.0 * w},
        unknowns=[x],
        outputs={"x": x},
        parameters={rate: value},
        disturbances={w: dd.FilteredNoise.low_pass(std=1.0, time_constant=0.5)},
        measurement_noise={"x": 0.05},
        initial={x: start},
    )


def line_up(model, solver=None):
    data = dd.Dataset(np.arange(1, 21) * 0.5, outputs={"x": np.zeros(20)}, t0=0.0)
    return line_up_lanes(match_experiments(build(model), [data])[0], {}, CONDITION, solver)


def test_noise_of_halves_is_noise_of_the_whole():
    a, b = _find_halves()
    np.testing.assert_allclose(a @ a.T + b @ b.T, np.eye(3), atol=1e-14)  # independent normals again
    np.testing.assert_allclose((a[0], b[0]), np.sqrt(0.5) * np.eye(3)[[0, 0]], atol=1e-14)  # the integral is the sum
    model = make()
    whole, half = (line_up(model, dd.Lanes(step=step)) for step in (0.5, 0.25))
    normals = np.random.default_rng(0).standard_normal((2, 3))
    ends = []
    for experiment, given in ((whole, _merge(normals[:, :, None])[..., 0]), (half, normals)):
        noise, state = experiment.at(Point(model, None, ())).noise, np.zeros(1)
        for z in given:
            state = noise.transition.value[0] @ state + noise.factor.value[0] @ z
        ends.append(state)
    np.testing.assert_allclose(*ends, rtol=0.02)  # but for what polynomials leave out


@pytest.mark.parametrize("value", [1.0, 6.0])
def test_steps_follow_the_solution_to_a_share_of_the_measurement_noise(value):
    model = make(value)
    experiment = line_up(model)
    discrete = experiment.at(Point(model, None, ()))
    kernel, steps = experiment.program.scan(discrete.directions), experiment.grid.steps
    out = np.zeros((steps, kernel.observed, 1))
    state = discrete.begin_lanes(np.zeros((1, 1)))
    calm = np.zeros((steps, 3, 1))
    kernel.run(state, discrete.repeat_parameters(1), discrete.table, calm, np.arange(steps), out)
    truth = 2.0 * np.arctan(np.tan(0.5) * np.exp(-value * experiment.grid.times[1:]))  # of x' = −rate sin x
    assert np.sqrt(np.mean((out[:, 0, 0] - truth) ** 2)) < 0.03 * 0.05
    assert experiment.grid.lengths.min() > 0.01


def test_a_stiff_model_gets_implicit_steps():
    assert line_up(make(1e4, lambda x: x + 0.1 * x**3, 0.0)).program.method == "radau5"
    assert line_up(make()).program.method == "rk4"


def test_given_steps_are_taken():
    experiment = line_up(make(), dd.Lanes(step=0.1, method="radau3"))
    assert experiment.program.method == "radau3"
    assert experiment.grid.lengths.max() == pytest.approx(0.1)
