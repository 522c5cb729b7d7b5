"""The most probable path where Gauss and Newton alone go astray: a sensor that reads two states alike."""

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.experiments import match_experiments
from daedal.filtering import InitialCondition, Point, find_path, make_nonlinear_experiment
from daedal.filtering.nonlinear import path, path_starts
from daedal.filtering.nonlinear.extended_filter import run_extended_filter
from daedal.filtering.nonlinear.lineup import line_up
from daedal.filtering.nonlinear.path import Normals, rest, simulate_path
from daedal.systems import build

x, u, w, a, b = dd.symbols("x u w a b")
angle, speed, v, force = dd.symbols("angle speed v force")
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


def crank() -> dd.Model:
    """A driven slider-crank, of index three, with a force on the slider that nobody measures."""
    return dd.Model(
        name="crank",
        equations={
            "turn": der(angle) == speed,
            "slide": der(x) == v,
            "crank": 0.004 * der(speed) == 0.3 - 0.02 * speed + force * 0.2 * x * np.sin(angle),
            "slider": 0.8 * der(v) == -3.0 * v + w + force * 2.0 * (x - 0.1 * np.cos(angle)),
            "rod": (x - 0.1 * np.cos(angle)) ** 2 + (0.1 * np.sin(angle)) ** 2 == 0.09,
        },
        unknowns=[angle, speed, x, v, force],
        outputs={"position": x, "angle": angle},
        initial={angle: 0.5, speed: 8.0},
        guess={x: 0.38},
        disturbances={w: dd.FilteredNoise.low_pass(std=3.0, time_constant=0.15)},
        measurement_noise={"position": 0.001, "angle": 0.01},
    )


def test_a_record_that_begins_turns_away_from_the_guess_is_followed_at_once(monkeypatch):
    """The second part of a split: from the guess, two turns off, searches on ever finer steps took minutes.

    The bounds of Σ e²/S, which is χ² where the path is the one of the data, are five of its standard deviations.
    """
    model, simulations = crank(), []

    def simulate(*arguments):
        simulations.append(arguments)
        return simulate_path(*arguments)

    monkeypatch.setattr(path, "simulate_path", simulate)
    monkeypatch.setattr(path_starts, "simulate_path", simulate)
    data = dd.simulate(model, np.arange(160) * 0.02, measurement_noise=True, rng=1).to_dataset()
    system, (_, later) = build(model), data.split(0.5)
    assert later.outputs["angle"].values[0] > 0.5 + 4.0 * np.pi
    (experiment,) = match_experiments(system, (later,))
    lined = line_up(experiment, {}, InitialCondition("free", released=True))
    assert len(simulations) < 1500
    discrete = lined.experiment.at(Point(lined.experiment.system.model, {}, ()))
    best = path_starts.find_paths(discrete)[0]
    innovations = run_extended_filter(discrete, best)
    free = innovations.e.size - 2
    assert abs(np.sum(innovations.e**2 / innovations.S) - free) < 5.0 * np.sqrt(2.0 * free)
