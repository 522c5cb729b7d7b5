"""Narrow features of time: seen by the steps wherever they lie; anything else stays as it is."""

from math import erf

import numpy as np
import pytest

import daedal as dd
from daedal import delay, der, time
from daedal.simulation import make_forcing
from daedal.simulation.forcing import see_features
from sizes import choose

x, y, a, w = dd.symbols("x y a w")
TIMES = np.linspace(0.0, 10.0, 101)
PULSE = np.exp(-(((time - a) / w) ** 2)) / w


def collect(rate, **more) -> dd.Model:
    """x is the integral of the rate."""
    return dd.Model(name="collect", equations={"rate": der(x) == rate}, unknowns=[x], initial={x: 0.0}, **more)


def find(rate, count, values=None, **more):
    """Break points between so many samples."""
    system = dd.build(collect(rate, **more))
    times = np.linspace(0.0, 10.0, count)
    forcing = make_forcing(system, {}, 0.0, 10.0)
    return see_features(system, forcing, times, [system.parameter_vector(values)]).features


@pytest.mark.parametrize("count", [2, 11, 101, 1001])
@pytest.mark.parametrize("solver", [dd.Lanes(tolerance=1e-9), dd.IDA(rtol=1e-10, atol=1e-12)], ids=["lanes", "ida"])
def test_a_bell_between_two_samples(solver, count):
    model = collect(100 * np.exp(-(((time - 5.035) / 0.002) ** 2)))
    got = dd.simulate(model, np.linspace(0.0, 10.0, count), solver=solver)[x][-1]
    np.testing.assert_allclose(got, np.sqrt(np.pi) * 0.2, atol=1e-8)


def test_bells_of_any_width_anywhere():
    rng = np.random.default_rng(0)
    system = dd.build(collect(PULSE, parameters={a: 1.0, w: 0.1}))
    for _ in range(choose(10, 30)):
        values = {a: rng.uniform(0.1, 9.9), w: 10 ** rng.uniform(-4, 0)}
        times = np.linspace(0.0, 10.0, rng.choice([2, 11, 101]))
        exact = np.sqrt(np.pi) / 2 * (erf((10 - values[a]) / values[w]) + erf(values[a] / values[w]))
        for solver in (dd.Lanes(), dd.IDA()):
            got = dd.simulate(system, times, values=values, solver=solver)[x][-1]
            np.testing.assert_allclose(got, exact, atol=5e-6)


def test_several_in_one_interval_and_beside_slow_waves():
    rate = 100 * sum(np.exp(-(((time - at) / 0.002) ** 2)) for at in (5.031, 5.069)) + np.sin(2 * time)
    exact = 2 * np.sqrt(np.pi) * 0.2 + np.sin(10.0) ** 2
    got = dd.simulate(collect(rate), TIMES, solver=dd.Lanes(tolerance=1e-9))[x][-1]
    np.testing.assert_allclose(got, exact, atol=1e-7)
    features = find(rate, 101)
    assert any(abs(at - 5.031) < 1e-4 for at in features)
    assert any(abs(at - 5.069) < 1e-4 for at in features)


def test_a_pulse_of_two_smooth_steps_times_a_state():
    pulse = np.tanh((time - 5.03) / 0.001) - np.tanh((time - 5.04) / 0.001)
    model = dd.Model(name="grow", equations={"rate": der(x) == 50 * pulse * x}, unknowns=[x], initial={x: 1.0})
    got = dd.simulate(model, TIMES, solver=dd.Lanes(tolerance=1e-9))[x][-1]
    np.testing.assert_allclose(got, np.exp(1.0), rtol=1e-7)  # the integral of the pulse is 0.02


@pytest.mark.parametrize("count", [2, 11, 101, 2001])
@pytest.mark.parametrize(
    "rate",
    [
        np.sin(2 * time), 3 * time + 1, np.exp(-time), np.sin(2 * time) * np.exp(-time / 3) + time**2, np.sin(time**2),
        np.tanh(time - 5), 1 / (1 + time), np.sin(time) ** 2 + np.cos(time) ** 2, x * np.sqrt(1 + time), -x,
    ],
    ids=str,
)  # fmt: skip
def test_what_is_not_narrow_stays_as_it_is(rate, count):
    assert find(rate, count) == ()


def test_begin_and_end_enclose_it():
    for width in (1e-4, 1e-3, 1e-2, 0.1):
        features = find(PULSE, 2, parameters={a: 3.3, w: width})
        assert len(features) == 5
        np.testing.assert_allclose(features[2], 3.3, atol=width / 10)
        np.testing.assert_allclose(np.array(features)[[1, 3]] - 3.3, [-2.63 * width, 2.63 * width], atol=0.5 * width)
        np.testing.assert_allclose(np.array(features)[[0, 4]] - 3.3, [-4.55 * width, 4.55 * width], atol=0.5 * width)


def test_values_of_the_call_count():
    got = find(PULSE, 2, values={a: 7.0}, parameters={a: 3.3, w: 1e-3})
    np.testing.assert_allclose(got[2], 7.0, atol=1e-4)


def test_with_disturbances_and_many_inputs():
    u, v = dd.symbols("u v")
    dense = dd.Signal(np.linspace(0, 10, 1001), np.zeros(1001))
    model = collect(100 * np.exp(-(((time - 5.035) / 0.002) ** 2)) + u, inputs=[u])
    got = dd.simulate(model, TIMES, inputs={u: dense}, solver=dd.Lanes(tolerance=1e-8))[x][-1]
    np.testing.assert_allclose(got, np.sqrt(np.pi) * 0.2, atol=1e-7)
    noisy = collect(
        100 * np.exp(-(((time - 5.035) / 0.002) ** 2)) + v, disturbances={v: dd.FilteredNoise([1e-6], [1.0, 1.0])}
    )
    got = dd.simulate(noisy, TIMES, realizations=1, rng=1)[x]
    np.testing.assert_allclose(np.ravel(got)[-1], np.sqrt(np.pi) * 0.2, atol=1e-4)


@pytest.mark.parametrize("solver", [dd.Lanes(tolerance=1e-9), dd.IDA(rtol=1e-10, atol=1e-12)], ids=["lanes", "ida"])
def test_one_in_every_period(solver):
    since = np.fmod(time, 2.4)
    model = collect(100 * np.exp(-(((since - 1.213) / 0.002) ** 2)))
    got = dd.simulate(model, np.linspace(0.0, 10.0, 11), solver=solver)[x][-1]
    np.testing.assert_allclose(got, 4 * np.sqrt(np.pi) * 0.2, atol=1e-7)


def test_with_a_delay():
    bell = 100 * np.exp(-(((time - 5.035) / 0.002) ** 2))
    model = dd.Model(
        name="echo", equations={"rate": der(x) == bell, "echo": der(y) == delay(x, 1.0)}, unknowns=[x, y],
        initial={x: 0.0, y: 0.0}, history={x: 0.0},
    )  # fmt: skip
    got = dd.simulate(model, TIMES, solver=dd.Lanes(tolerance=1e-9))
    height = np.sqrt(np.pi) * 0.2
    np.testing.assert_allclose([got[x][-1], got[y][-1]], [height, height * (10 - 6.035)], atol=1e-8)
