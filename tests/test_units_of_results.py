"""Results in a user's units, divided by the unit, are those in units of one, for every verb.

Every variable, input, disturbance, parameter and time has a unit of its own. Truth are the same equations in units of
one; how close results must come is what each verb states of its accuracy.
"""

from dataclasses import dataclass
from functools import cache

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
EXTREME = Units(1e15, 1e-15, 1e-15, 1e15, 1e15, 1e-15, 1e15, 1e-15, 1e15)
units = pytest.mark.parametrize("one", SETS.values(), ids=SETS)
both = pytest.mark.parametrize("one", [SETS["mixed"], SETS["other"]], ids=["mixed", "other"])  # where code is compiled


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


@cache
def simulate(one, solver):
    model = mass(one, -0.3 * (x / one.x) ** 3)
    return read(dd.simulate(model, TIMES * one.time, inputs=drive(one), solver=solver), one)


@units
@pytest.mark.parametrize("solver", [None, dd.Lanes(tolerance=1e-8), dd.IDA()])
def test_trajectories(one, solver):
    agree(simulate(one, solver), simulate(ONE, solver), 2e-7)


@cache
def simulate_switches(one, solver):
    extra = -0.3 * np.sign(v / one.v) - dd.where(x / one.x > 0.4, 9.0 * (x / one.x - 0.4), 0.0)
    model = mass(one, extra + 0.2 * np.clip(u / one.u, -0.5, 0.5))
    return read(dd.simulate(model, TIMES * one.time, inputs=drive(one), solver=solver), one)


@both
@pytest.mark.parametrize("solver", [dd.Lanes(tolerance=1e-8), dd.IDA()])
def test_switches(one, solver):
    """Dry friction that sticks, an end stop, and a saturated input."""
    agree(simulate_switches(one, solver), simulate_switches(ONE, solver), 1e-6)


@cache
def chatter(one, solver):
    """A relay of x and v, each in its own unit, on whose border the trajectory slides."""
    surface = x / one.x - 0.3 * v / one.v
    equations = {
        "relay": one.row * der(x) * (one.time / one.x) == one.row * (0.5 * u / one.u - np.sign(surface)),
        "lag": one.row * der(v) * (one.time / one.v) == one.row * (0.7 * x / one.x - v / one.v + 0.2),
    }
    known = {"unknowns": [x, v], "inputs": [u], "outputs": {"y": x, "z": v}}
    model = dd.Model(name="relay", equations=equations, initial={x: 1.1 * one.x, v: -0.4 * one.v}, **known)
    return read(dd.simulate(model, TIMES * one.time, inputs=drive(one), solver=solver), one)


@pytest.mark.parametrize("one", [EXTREME, SETS["other"]], ids=["extreme", "other"])
@pytest.mark.parametrize("solver", [dd.Lanes(tolerance=1e-8), dd.IDA()])
def test_sliding(one, solver):
    """It was missed where the units of what slides differ by more than 1e16."""
    agree(chatter(one, solver), chatter(ONE, solver), 1e-6)


@cache
def start_from_an_output(one):
    """Held at the start is a nonlinear function of x and v, at a parameter, and v."""
    equations = {
        "a": der(x) * (one.time / one.x) == v / one.v - k / one.k * x / one.x,
        "b": der(v) * (one.time / one.v) == -x / one.x,
        "c": f / one.u == (x / one.x) ** 2 + v / one.v + x / one.x,
    }
    model = dd.Model(
        name="implicit",
        equations=equations,
        unknowns=[x, v, f],
        outputs={"y": x, "z": f},
        parameters={k: 1.3 * one.k, d: 0.7 * one.d},
        initial={f: d / one.d * one.u, v: 0.2 * one.v},
        guess={x: one.x},
    )
    run = dd.ensemble(model, TIMES[:20] * one.time, realizations=1, sensitivities=[k, d])
    slopes = [run.sensitivities[name]["y"] * unit / one.x for name, unit in (("k", one.k), ("d", one.d))]
    return np.array([run.mean["y"] / one.x, run.mean["z"] / one.u, *slopes])


@pytest.mark.parametrize("one", [EXTREME, *SETS.values()], ids=["extreme", *SETS])
def test_sensitivities_of_starts_that_equations_decide(one):
    agree(start_from_an_output(one), start_from_an_output(ONE), 1e-6)


@cache
def draw(one):
    model = mass(one, w / one.w, disturbances={w: push(one)})
    options = {"inputs": drive(one), "rng": 3, "solver": dd.Lanes(tolerance=1e-7)}
    lanes = dd.simulate(model, TIMES * one.time, realizations=3, **options)
    many = dd.ensemble(model, TIMES * one.time, realizations=16, sensitivities=[k], **options)
    slope = many.sensitivities["k"]["y"] * one.k / one.x
    moments = [many.mean["y"] / one.x, many.variance["z"] / one.v**2, slope]
    return read(lanes, one).reshape(6, -1), np.array(moments)


@units
def test_realizations_and_ensembles(one):
    for found, truth in zip(draw(one), draw(ONE), strict=True):
        agree(found, truth, 1e-6)


@cache
def linearize(one):
    linear = dd.linearize(mass(one, -0.3 * (x / one.x) ** 3, initial={}), {u: 1.7 * one.u})
    return read(dd.simulate(linear, TIMES * one.time, inputs=drive(one)), one)


@units
def test_steady_states_and_linearization(one):
    agree(linearize(one), linearize(ONE), 1e-6)


def measure(one, make=mass):
    values = simulate_plainly(make) + NOISE
    inputs = {"u": drive(one)[u]}
    return dd.Dataset(inputs=inputs, outputs={"y": dd.Samples(TIMES * one.time, values * one.x)})


@cache
def simulate_plainly(make):
    return dd.simulate(make(ONE), TIMES, inputs=drive(ONE))["y"]


def describe(found, one, names=("k", "d", "b")):
    rows = [(found.estimates[name].value, found.estimates[name].std_error) for name in names]
    return np.array(rows) / np.array([[getattr(one, name)] for name in names])


@cache
def fit(one):
    start = {k: 1.0 * one.k, d: 0.7 * one.d, b: 1.2 * one.b}
    model = mass(one, parameters=start, outputs={"y": x})
    found = dd.fit(model, measure(one), free=[k, d, b])
    left, compared = dd.resid(found)["y"], dd.compare(found, measure(one))
    scores = [compared.fit_percent["y"], compared.rmse["y"] / one.x, left.rmse / one.x, left.whiteness.p_value]
    return describe(found, one), [*scores, *(test.p_value for test in left.inputs.values())], found.notes


@both
def test_fits(one):
    (found, scores, notes), (truth, expected, told) = fit(one), fit(ONE)
    np.testing.assert_allclose(found, truth, rtol=1e-4)
    np.testing.assert_allclose(scores, expected, rtol=1e-4)
    assert notes == told


@cache
def estimate(one):
    intensity = (0.1 * one.w) ** 2 * one.time
    start = {k: 1.0 * one.k, d: 0.7 * one.d, b: 1.2 * one.b}
    options = {"disturbances": {w: dd.WhiteNoise(intensity)}, "measurement_noise": {"y": 0.02 * one.x}}
    model = mass(one, w / one.w, parameters=start, outputs={"y": x}, **options)
    found = dd.fit(model, measure(one), free=[k, d, b], criterion=dd.Likelihood())
    states = dd.estimate_states(found, measure(one))
    rows = [(states[name] / unit, states.std[name] / unit) for name, unit in (("x", one.x), ("v", one.v))]
    return describe(found, one), np.concatenate(rows)


@units
def test_likelihoods_and_states(one):
    (found, states), (truth, right) = estimate(one), estimate(ONE)
    np.testing.assert_allclose(found, truth, rtol=1e-4)
    agree(states, right, 1e-4)


@cache
def search_widely(one):
    """A nonlinear spring: means over disturbances, pieces, profiles, priors."""
    start = {name: dd.Parameter(value * unit) for name, value, unit in ((k, 1.0, one.k), (d, 0.7, one.d))}
    start[b] = dd.Parameter(1.2 * one.b, prior=dd.Normal(0.9 * one.b, 0.2 * one.b))
    spring = {"parameters": start, "outputs": {"y": x}}
    plain = mass(one, -0.3 * (x / one.x) ** 3, **spring)
    driven = mass(one, w / one.w - 0.3 * (x / one.x) ** 3, disturbances={w: push(one)}, **spring)
    means = dd.fit(driven, measure(one), free=[k, d, b], criterion=dd.SimulationPEM(realizations=8), rng=3)
    pieces = dd.fit(plain, measure(one), free=[k, d, b], criterion=dd.OutputError(segments=3))
    interval = dd.profile(pieces, ["k"], points=2).curves["k"].interval
    return np.concatenate([*describe(means, one), *describe(pieces, one), np.array(interval) / one.k])


@pytest.mark.parametrize("one", [EXTREME], ids=["extreme"])
def test_means_pieces_priors_and_profiles(one):
    np.testing.assert_allclose(search_widely(one), search_widely(ONE), rtol=1e-4)


@cache
def look_at_information(one):
    """Of a nonlinear likelihood, in units of the parameters."""
    start = {k: 1.0 * one.k, d: 0.7 * one.d, b: 1.2 * one.b}
    noise = {"disturbances": {w: push(one)}, "measurement_noise": {"y": 0.02 * one.x}}
    model = mass(one, w / one.w - 0.3 * (x / one.x) ** 3, parameters=start, outputs={"y": x}, **noise)
    cost = dd.evaluate(model, measure(one), free=[k, d, b], criterion=dd.Likelihood(method="laplace"))
    size = np.array([one.k, one.d, one.b])
    return cost.gradient * size, cost.curvature * np.outer(size, size)


@pytest.mark.parametrize("one", [Units(k=1e-9), Units(k=1e-15, d=1e-15), Units(b=1e15)], ids=["nano", "tiny", "huge"])
def test_the_information_of_a_nonlinear_likelihood(one):
    """Its differences had steps of 1e-9 at least, so that a capacitance had the wrong standard error."""
    for found, truth in zip(look_at_information(one), look_at_information(ONE), strict=True):
        np.testing.assert_allclose(found, truth, rtol=1e-6)


def late(one):
    """x' = u − k x(t − T)."""
    rate = u / one.u - k / one.k * dd.delay(x, T) / one.x
    return dd.Model(
        name="late",
        equations={"rate": one.row * der(x) * (one.time / one.x) == one.row * rate},
        unknowns=[x],
        inputs=[u],
        outputs={"y": x},
        parameters={k: 0.9 * one.k, T: 0.7 * one.time},
        initial={x: 0.2 * one.x},
        history={x: 0.2 * one.x},
    )


@cache
def look_back(one):
    trajectory = dd.simulate(late(one), TIMES * one.time, inputs=drive(one))
    bounds = dd.Parameter(0.6 * one.time, lower=0.3 * one.time, upper=1.5 * one.time)
    found = dd.fit(late(one), measure(one, late), free={k: 0.9 * one.k, T: bounds}).estimates
    rows = [(found["k"], one.k), (found["T"], one.time)]
    return trajectory["y"] / one.x, [(estimate.value / unit, estimate.std_error / unit) for estimate, unit in rows]


@units
def test_delays(one):
    (path, found), (right, truth) = look_back(one), look_back(ONE)
    agree(path, right, 1e-7)
    np.testing.assert_allclose(found, truth, rtol=1e-4)


@cache
def find_order(one):
    found = dd.select_order(measure(one), orders=[1, 2, 3])
    answer = found.transfer_function.response(2j / one.time) * (one.u / one.x)
    return [found.order, found.input_order, found.chosen.fit_percent, answer.real, answer.imag]


@units
def test_orders(one):
    np.testing.assert_allclose(find_order(one), find_order(ONE), rtol=1e-4)


EPOCH = 1.7e9  # seconds since 1970


@pytest.mark.parametrize("solver", [None, dd.Lanes(tolerance=1e-8), dd.IDA()], ids=["chosen", "lanes", "ida"])
def test_an_instant_in_seconds_since_1970(solver):
    """A force that begins at an instant T, in closed form: x'' = 1 from there on."""
    equations = {"speed": der(x) == v, "force": der(v) == dd.where(dd.time > T, 1.0, 0.0)}
    model = dd.Model(name="begin", equations=equations, unknowns=[x, v], parameters={T: 0.0}, initial={x: 0.0, v: 0.0})
    times = np.linspace(0.0, 10.0, 11)
    for instant in (0.0625, 3.0 - 2.0**-14, 3.0, 3.25, 9.9375):
        begun = dd.simulate(model, EPOCH + times, values={T: EPOCH + instant}, solver=solver)
        truth = np.maximum(times - instant, 0.0)
        np.testing.assert_allclose(begun["v"], truth, atol=1e-6)
        np.testing.assert_allclose(begun["x"], truth**2 / 2, atol=1e-5)


@pytest.mark.parametrize("second", [1.0, 1e6], ids=["seconds", "microseconds"])
def test_pieces_since_1970(second):
    """A piece ends at its end, not at a sample that is near it compared with the time since 1970."""
    found = []
    for begin in (0.0, EPOCH * second):
        times = begin + np.arange(81) * 0.125 * second
        outputs = {"y": simulate_plainly(mass) + NOISE}
        data = dd.Dataset(times, inputs={"u": dd.Signal(times, PUSH, "zoh")}, outputs=outputs)
        one = Units(time=second)
        start = {k: 1.0, d: 0.7, b: 1.2}
        model = mass(one, parameters=start, outputs={"y": x})
        found.append(describe(dd.fit(model, data, free=[k, d, b], criterion=dd.OutputError(segments=3)), one))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4)


def tanks(h, q, s, t, e):
    """Two tanks in a row, from guesses; they end at 4 and at what the second equation says."""
    first, second = x / h, v / q
    equations = {
        "first": e * der(x) * t / h == e * (u / s - 2.0 * np.sqrt(first)),
        "second": e * der(v) * t / q == e * (2.0 * np.sqrt(first) - 0.5 * np.sqrt(second) - 0.1 * first * second),
    }
    return dd.Model(
        name="tanks", equations=equations, unknowns=[x, v], inputs=[u], outputs={"y": v}, guess={x: h, v: q}
    )


def reactor(h, q, s, t, e):
    """Without guesses."""
    equations = {
        "first": e * der(x) * t / h == e * (u / s - x / h - (x / h) ** 3),
        "second": e * der(v) * t / q == e * (x / h - v / q - 0.1 * np.tanh(v / q)),
    }
    return dd.Model(name="reactor", equations=equations, unknowns=[x, v], inputs=[u], outputs={"y": v})


@pytest.mark.parametrize("make", [tanks, reactor])
def test_steady_states_in_tiny_and_huge_units(make):
    """The response at a steady state, in units of all variables, time and equations from 1e-15 to 1e15."""
    generator = np.random.default_rng(0)
    points = np.array([0.1j, 1j, 5j])
    truth = dd.transfer_function(dd.linearize(make(*[1.0] * 5), at={u: 3.0})).response(points)
    for _ in range(20):
        units = 10.0 ** generator.choice([-15, -8, 0, 8, 15], 5)
        _, q, s, t, _ = units
        linear = dd.linearize(make(*units.tolist()), at={u: 3.0 * s})
        agree(dd.transfer_function(linear).response(points / t) * s / q, truth, 1e-7)


@pytest.mark.parametrize("unit", [1e-15, 1e15])
def test_an_estimate_at_its_bound_is_told_in_any_unit(unit):
    """A lag of rate 1.15, whose rate may be 0.8 at most: the bound is what is estimated, and the verdict says so."""
    model = dd.Model(
        name="lag",
        equations={"x": der(x) == -(k / unit) * x + u},
        unknowns=[x],
        inputs=[u],
        outputs={"y": x},
        measurement_noise={"y": 0.02},
        parameters={k: dd.Parameter(0.5 * unit, lower=0.2 * unit, upper=0.8 * unit)},
        initial={x: 1.0},
    )
    data = dd.Dataset(TIMES, outputs={"y": np.exp(-1.15 * TIMES) + NOISE}, inputs={"u": np.zeros(81)})
    found = dd.fit(model, data, free=[k], criterion=dd.Likelihood())
    assert found["k"].at_bound
    assert found["k"].value == pytest.approx(0.8 * unit, rel=1e-6)
