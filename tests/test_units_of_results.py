"""Results in a user's units, divided by the unit, are those in units of one, for every verb.

Every variable, input, disturbance, parameter and time has a unit of its own. Truth are the same equations in units of
one; how close results must come is what each verb states of its accuracy.
"""

from dataclasses import dataclass

import numpy as np
import pytest

import daedal as dd
from daedal import der

x, v, u, w, k, d, b, T, f = dd.symbols("x v u w k d b T f")
TIMES = np.linspace(0.0, 8.0, 81)
RANDOM = np.random.default_rng(5)
PUSH = np.repeat(RANDOM.standard_normal(21), 4)[:81]
NOISE = 0.02 * RANDOM.standard_normal(81)


@dataclass(frozen=True)
class Units:
    """What one of each is in units of the user."""

    x: float = 1.0
    v: float = 1.0
    u: float = 1.0
    w: float = 1.0
    k: float = 1.0
    d: float = 1.0
    b: float = 1.0
    time: float = 1.0
    row: float = 1.0  # what equations are multiplied by


ONE = Units()
SETS = {
    "small": Units(*[1e-12] * 9),
    "large": Units(*[1e12] * 9),
    "mixed": Units(1e12, 1e-7, 1e-12, 1e5, 1e9, 1e-10, 1e12, 1e-9, 1e8),
    "other": Units(1e-11, 1e10, 1e9, 1e-12, 1e-12, 1e4, 1e-3, 1e12, 1e-12),
}
units = pytest.mark.parametrize("one", SETS.values(), ids=SETS)


def mass(one, extra=0.0, **options):
    """x'' = −k x − d x' + b u + what is extra, with a speed of its own unit."""
    force = -k / one.k * x / one.x - d / one.d * v / one.v + b / one.b * u / one.u + extra
    equations = {
        "speed": one.row * der(x) * (one.time / one.x) == one.row * v / one.v,
        "force": one.row * der(v) * (one.time / one.v) == one.row * force,
    }
    known = {
        "unknowns": [x, v],
        "inputs": [u],
        "outputs": {"y": x, "z": v},
        "parameters": {k: 1.3 * one.k, d: 0.4 * one.d, b: 0.9 * one.b},
        "initial": {x: 0.0, v: 0.5 * one.v},
    }
    return dd.Model(name="mass", **{"equations": equations, **known, **options})


def drive(one):
    return {u: dd.Signal(TIMES * one.time, PUSH * one.u, "zoh")}


def read(trajectory, one):
    return np.array([trajectory["y"] / one.x, trajectory["z"] / one.v])


def agree(found, truth, rtol):
    """Within rtol of the largest value of each row."""
    found, truth = np.atleast_2d(found), np.atleast_2d(truth)
    size = np.max(np.abs(truth), axis=-1, keepdims=True)
    assert np.all(np.abs(found - truth) <= rtol * size), np.max(np.abs(found - truth) / size)


def push(one):
    """A disturbance of 0.7 times its unit."""
    second = one.time
    return dd.FilteredNoise([0.7 * 8.0 * one.w * second**-1.5], [1.0, 0.8 / second, 16.0 / second**2])


@units
@pytest.mark.parametrize("solver", [None, dd.Lanes(tolerance=1e-8), dd.IDA()])
def test_trajectories(one, solver):
    def run(one):
        model = mass(one, -0.3 * (x / one.x) ** 3)
        return read(dd.simulate(model, TIMES * one.time, inputs=drive(one), solver=solver), one)

    agree(run(one), run(ONE), 2e-7)


@units
@pytest.mark.parametrize("solver", [dd.Lanes(tolerance=1e-8), dd.IDA()])
def test_switches(one, solver):
    """Dry friction that sticks, an end stop, and a saturated input."""

    def run(one):
        extra = -0.3 * np.sign(v / one.v) - dd.where(x / one.x > 0.4, 9.0 * (x / one.x - 0.4), 0.0)
        model = mass(one, extra + 0.2 * np.clip(u / one.u, -0.5, 0.5))
        return read(dd.simulate(model, TIMES * one.time, inputs=drive(one), solver=solver), one)

    agree(run(one), run(ONE), 1e-6)


@units
def test_realizations_and_ensembles(one):
    def run(one):
        model = mass(one, w / one.w, disturbances={w: push(one)})
        options = {"inputs": drive(one), "rng": 3, "solver": dd.Lanes(tolerance=1e-7)}
        lanes = dd.simulate(model, TIMES * one.time, realizations=3, **options)
        many = dd.ensemble(model, TIMES * one.time, realizations=16, sensitivities=[k], **options)
        slope = np.asarray(many.sensitivities["y"]["k"] if "y" in many.sensitivities else many.sensitivities["k"]["y"])
        return read(lanes, one).reshape(6, -1), np.array(
            [many.mean["y"] / one.x, many.std["z"] / one.v, slope * one.k / one.x]
        )

    for found, truth in zip(run(one), run(ONE), strict=True):
        agree(found, truth, 1e-6)


@units
def test_steady_states_and_linearization(one):
    def run(one):
        model = linear = mass(one, -0.3 * (x / one.x) ** 3, initial={x: 0.0, v: 0.0})
        linear = dd.linearize(model, {u: 1.7 * one.u})
        trajectory = dd.simulate(linear, TIMES * one.time, inputs=drive(one))
        return read(trajectory, one)

    agree(run(one), run(ONE), 1e-6)


def measure(one):
    values = read(dd.simulate(mass(ONE), TIMES, inputs=drive(ONE)), ONE)[0] + NOISE
    inputs = {"u": dd.Signal(TIMES * one.time, PUSH * one.u, "zoh")}
    return dd.Dataset(inputs=inputs, outputs={"y": dd.Samples(TIMES * one.time, values * one.x)})


def describe(found, one, names=("k", "d", "b")):
    rows = [(found[name].value, found[name].std) for name in names]
    return np.array(rows) / np.array([[getattr(one, name)] for name in names])


@units
def test_fits(one):
    def run(one):
        start = {k: 1.0 * one.k, d: 0.7 * one.d, b: 1.2 * one.b}
        model = mass(one, parameters=start, outputs={"y": x})
        found = dd.fit(model, measure(one), free=[k, d, b])
        fits = dd.compare(found, measure(one)).fit["y"]
        return describe(found, one), fits, dd.resid(found)

    (found, fits, left), (truth, right, expected) = run(one), run(ONE)
    np.testing.assert_allclose(found, truth, rtol=1e-4)
    np.testing.assert_allclose(fits, right, rtol=1e-6)
    assert str(left).splitlines()[1:] == str(expected).splitlines()[1:]


@units
def test_likelihoods_and_states(one):
    def run(one):
        intensity = (0.1 * one.w) ** 2 * one.time
        start = {k: 1.0 * one.k, d: 0.7 * one.d, b: 1.2 * one.b}
        options = {"disturbances": {w: dd.WhiteNoise(intensity)}, "measurement_noise": {"y": 0.02 * one.x}}
        model = mass(one, w / one.w, parameters=start, outputs={"y": x}, **options)
        found = dd.fit(model, measure(one), free=[k, d, b], criterion=dd.Likelihood())
        states = dd.estimate_states(found, measure(one))
        return describe(found, one), np.array(
            [states["x"] / one.x, states["v"] / one.v, states.std["x"] / one.x, states.std["v"] / one.v]
        )

    (found, states), (truth, right) = run(one), run(ONE)
    np.testing.assert_allclose(found, truth, rtol=1e-4)
    agree(states, right, 1e-4)


@units
def test_delays(one):
    def model(one, delay):
        later = dd.delay(x, T)
        equations = {"rate": one.row * der(x) * (one.time / one.x) == one.row * (u / one.u - k / one.k * later / one.x)}
        return dd.Model(
            name="late",
            equations=equations,
            unknowns=[x],
            inputs=[u],
            outputs={"y": x},
            parameters={k: 0.9 * one.k, T: delay * one.time},
            initial={x: 0.2 * one.x},
            history={x: 0.2 * one.x},
        )

    def run(one):
        trajectory = dd.simulate(model(one, 0.7), TIMES * one.time, inputs=drive(one))
        values = dd.simulate(model(ONE, 0.7), TIMES, inputs=drive(ONE))["y"] + NOISE
        data = dd.Dataset(
            inputs={"u": dd.Signal(TIMES * one.time, PUSH * one.u, "zoh")},
            outputs={"y": dd.Samples(TIMES * one.time, values * one.x)},
        )
        free = {T: dd.Parameter(0.6 * one.time, lower=0.3 * one.time, upper=1.5 * one.time), k: None}
        found = dd.fit(model(one, 0.6), data, free=[k, T])
        return trajectory["y"] / one.x, describe(found, one, ["k"]), np.array([found["T"].value, found["T"].std]) / one.time

    (path, gain, late), (right, truth, expected) = run(one), run(ONE)
    agree(path, right, 1e-7)
    np.testing.assert_allclose(gain, truth, rtol=1e-4)
    np.testing.assert_allclose(late, expected, rtol=1e-4)


@units
def test_orders(one):
    def run(one):
        found = dd.select_order(measure(one), orders=[1, 2, 3])
        transfer = found.best.transfer_function if hasattr(found.best, "transfer_function") else None
        return found, transfer

    found, truth = run(one)[0], run(ONE)[0]
    assert found.best.order == truth.best.order == 2
