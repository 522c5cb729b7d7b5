"""Fits by Laplace's likelihood: they find what was simulated, and everything works on them that works on others."""

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.experiments import match_experiments
from daedal.filtering import Point, Stream, find_path, make_guide, make_nonlinear_experiment, run_guided
from daedal.filtering.nonlinear.path import rest
from daedal.systems import build

x, v, u, w = dd.symbols("x v u w")
d, k3, std, tau, sigma, q, a = dd.symbols("d k3 std tau sigma q a")
LAPLACE = dd.Likelihood(method="laplace")
FREE = ["d", "k3", "std"]


def positive(value):
    return dd.Parameter(value, lower=1e-3, upper=50.0, scale="log")


OSCILLATOR = dd.Model(
    name="oscillator",
    equations={"speed": der(x) == v, "force": der(v) == -d * v - x - k3 * x**3 + u + w},
    unknowns=[x, v],
    inputs=[u],
    outputs={"position": x},
    parameters={d: positive(0.8), k3: positive(1.0), std: positive(0.4), tau: 0.7, sigma: positive(0.02)},
    disturbances={w: dd.FilteredNoise.low_pass(std=std, time_constant=tau)},
    measurement_noise={"position": sigma},
    initial={x: 0.0, v: 0.0},
)
TRUTH = {"d": 0.5, "k3": 2.0, "std": 0.6}


def draw(seed, count=151, model=OSCILLATOR):
    times = np.arange(count) * 0.2
    push = dd.Signal(times, np.sign(np.sin(0.5 * times + 0.1)), intersample="zoh")
    truth = model.with_parameters(TRUTH)
    return dd.simulate(truth, times, inputs={"u": push}, realizations=1, measurement_noise=True, rng=seed).to_dataset()


DATA = draw(5)


@pytest.fixture(scope="module")
def fit():
    return dd.fit(OSCILLATOR, DATA, free=FREE, criterion=LAPLACE)


def test_the_truth_is_found(fit):
    assert fit.status.ok
    for name, truth in TRUTH.items():
        assert abs(np.log(fit[name].value / truth)) < 3.0 * fit[name].std_error / fit[name].value
    assert any("Laplace's approximation" in note and "nothing has judged it" in note for note in fit.notes)


def test_the_gradient_vanishes_and_is_that_of_differences(fit):
    values = {"d": 0.7, "k3": 1.4, "std": 0.5, "sigma": 0.03}
    free = [*FREE, "sigma"]
    cost = dd.evaluate(OSCILLATOR, DATA, free=free, values=values, criterion=LAPLACE)
    assert cost.loglik == -cost.value
    for place, name in enumerate(free):
        step = 1e-4 * values[name]
        ends = [
            dd.evaluate(OSCILLATOR, DATA, free=free, values=values | {name: values[name] + e * step}, criterion=LAPLACE)
            for e in (1.0, -1.0)
        ]
        difference = (ends[0].value - ends[1].value) / (2.0 * step)
        assert cost.gradient[place] == pytest.approx(difference, rel=1e-5, abs=1e-4)
    best = dd.evaluate(OSCILLATOR, DATA, free=FREE, values=dict(fit.params), criterion=LAPLACE)
    assert best.loglik == pytest.approx(fit.loglik, abs=1e-6)
    scale = np.sqrt(np.diag(best.curvature))
    assert np.abs(best.gradient / scale).max() < 1e-3


def test_every_verb_takes_such_a_fit(fit, tmp_path):
    fit.save(tmp_path / "fit.nc")
    again = dd.load(tmp_path / "fit.nc")
    assert again.loglik == fit.loglik
    assert again.criterion == LAPLACE
    assert fit.aic == pytest.approx(6.0 - 2.0 * fit.loglik)
    comparison = str(dd.compare(again, draw(6)))
    assert "one step ahead" in comparison
    assert "innovations are white" in str(dd.resid(fit))
    assert "determined" in str(dd.identifiability(fit))
    states = dd.estimate_states(fit, DATA, variables=["v", "w"])
    assert states.mean["w"].shape == (151,)
    further = dd.compare(fit, DATA, horizon=[1, 5])
    assert "5 steps ahead" in str(further)


def test_experiments_are_added():
    parts = [draw(7, 61), draw(8, 81)]
    free = {"free": FREE, "values": TRUTH, "criterion": LAPLACE}
    both = dd.evaluate(OSCILLATOR, parts, **free)
    alone = [dd.evaluate(OSCILLATOR, one, **free) for one in parts]
    assert both.value == pytest.approx(sum(one.value for one in alone), abs=1e-6)
    np.testing.assert_allclose(both.gradient, sum(one.gradient for one in alone), rtol=1e-5)


def test_white_noise_on_the_right_side():
    """dX = (0.2 − a X³) dt + √q dW, simulated in steps of a thousandth: drift and intensity are found."""
    model = dd.Model(
        name="well",
        equations={"drift": der(x) == 0.2 - a * x**3 + w},
        unknowns=[x],
        outputs={"x": x},
        parameters={a: positive(0.6), q: positive(0.5)},
        disturbances={w: dd.WhiteNoise(intensity=q)},
        measurement_noise={"x": 0.1},
        initial={x: 0.5},
    )
    rng, state, samples = np.random.default_rng(0), 0.5, []
    for kick in rng.standard_normal((300, 200)) * np.sqrt(0.3e-3):
        for one in kick:
            state += 1e-3 * (0.2 - state**3) + one
        samples.append(state)
    y = np.array(samples) + 0.1 * rng.standard_normal(300)
    data = dd.Dataset(np.arange(1, 301) * 0.2, outputs={"x": y}, t0=0.0)
    fit = dd.fit(model, data, free=["a", "q"], criterion=LAPLACE)
    for name, truth in {"a": 1.0, "q": 0.3}.items():
        assert abs(fit[name].value - truth) < 3.0 * fit[name].std_error
        assert fit[name].std_error < 0.4 * truth


GROWTH = dd.Model(
    name="growth",
    equations={"rate": der(x) == a * (1 - np.exp(x) / 2) - q**2 / 2 + q * w},  # of a logarithm, by Itô's rule
    unknowns=[x],
    outputs={"size": np.exp(x)},
    parameters={a: positive(1.0), q: positive(0.3)},
    disturbances={w: dd.WhiteNoise(intensity=1.0)},
    measurement_noise={"size": 0.05},
    initial={x: np.log(0.5)},
)


def integrate_growth(sizes, rate, strength, parts=4, step=0.25):
    """log L by Chapman and Kolmogorov on a grid, with normal steps to third order: 5e-4 from those of 128 parts."""
    h = step / parts

    def drift(at):
        return rate * (1 - np.exp(at) / 2) - strength**2 / 2

    def move(at):
        bend = -0.5 * rate * np.exp(at)
        k1 = drift(at)
        k2 = drift(at + 0.5 * h * k1)
        k3 = drift(at + 0.5 * h * k2)
        mean = at + h / 6 * (k1 + 2 * k2 + 2 * k3 + drift(at + h * k3)) + 0.25 * (strength * h) ** 2 * bend
        return mean, strength**2 * h * (1 + bend * h + 2 / 3 * (bend * h) ** 2)

    grid = np.linspace(-2.2, 2.2, 501)
    width = grid[1] - grid[0]

    def weigh(at):
        mean, variance = move(at)
        return np.exp(-0.5 * (grid[:, None] - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance)

    one = weigh(grid) * width
    density, total = np.linalg.matrix_power(one, parts - 1) @ weigh(np.array([np.log(0.5)]))[:, 0], 0.0
    whole = np.linalg.matrix_power(one, parts)
    for number, size in enumerate(sizes):
        density = whole @ density if number else density
        density = density * np.exp(-0.5 * ((size - np.exp(grid)) / 0.05) ** 2) / (0.05 * np.sqrt(2 * np.pi))
        share = density.sum() * width
        total, density = total + np.log(share), density / share
    return total


def test_white_noise_on_the_right_side_against_quadrature():
    """Simulated by Itô's formula in steps of a hundredth; slopes along both parameters are those of quadrature."""
    rng, state, sizes = np.random.default_rng(3), np.log(0.5), []
    for kick in 0.3 * np.sqrt(0.0025) * rng.standard_normal((60, 100)):
        for one in kick:
            state += 0.0025 * (1 - np.exp(state) / 2 - 0.045) + one
        sizes.append(np.exp(state) + 0.05 * rng.standard_normal())
    data = dd.Dataset(np.arange(1, 61) * 0.25, outputs={"size": np.array(sizes)}, t0=0.0)
    lined = make_nonlinear_experiment(match_experiments(build(GROWTH), [data])[0], {}, "rk6", 0.25)
    for values in ({"a": 1.3, "q": 0.4}, {"a": 0.8, "q": 0.3}):
        truth = integrate_growth(sizes, *values.values())
        laplace = dd.evaluate(GROWTH, data, free=["a", "q"], values=values, criterion=LAPLACE)
        assert laplace.loglik == pytest.approx(truth, abs=0.06)
        for place, name in enumerate(values):
            step = 0.03 * values[name]
            ends = [integrate_growth(sizes, *(values | {name: values[name] + e}).values()) for e in (step, -step)]
            assert -laplace.gradient[place] == pytest.approx((ends[0] - ends[1]) / (2.0 * step), abs=0.5)
        discrete = lined.at(Point(GROWTH, values, ()))
        linear = find_path(discrete, rest(discrete))
        runs = [one.loglik for one in run_guided(linear, make_guide(linear), 500, Stream(0, "test"), range(8))]
        assert np.std(runs) < 0.1
        assert np.mean(runs) == pytest.approx(truth, abs=3.0 * np.std(runs, ddof=1) / np.sqrt(8))


FORCE = -k3 * x**3 + u + w
REFUSED = {
    "switches": (
        {"equations": {"speed": der(x) == v, "force": der(v) == FORCE - d * np.sign(v)}},
        "in equation 'force'",
    ),
    "delays": (
        {
            "equations": {"speed": der(x) == v, "force": der(v) == -d * dd.delay(v, 0.1) - k3 * x**3 + u + w},
            "history": {x: 0.0, v: 0.0},
            "initial": {},
        },
        "delays",
    ),
    "no accuracy": ({"measurement_noise": {}, "parameters": {d: 0.8, k3: 1.0, std: 0.4, tau: 0.7}}, "accurately"),
    "white noise times a state": (
        {
            "equations": {"speed": der(x) == v, "force": der(v) == -d * v - k3 * x**3 + u + x * w},
            "disturbances": {w: dd.WhiteNoise(intensity=std)},
            "parameters": {d: 0.8, k3: 1.0, std: 0.4, sigma: 0.02},
        },
        "factor that depends on the state",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_work_is_said_before_the_work(name):
    changes, words = REFUSED[name]
    given = {
        field: getattr(OSCILLATOR, field)
        for field in ("name", "equations", "outputs", "parameters", "disturbances", "measurement_noise", "initial")
    }
    model = dd.Model(**({"unknowns": [x, v], "inputs": [u]} | given | changes))
    with pytest.raises(dd.DaedalError, match=words) as caught:
        dd.fit(model, DATA, free=["d"], criterion=LAPLACE)
    assert caught.value.remedy


th, om = dd.symbols("th om")
BEND = np.arcsin(np.sin(th) / 2)
TURN = np.cos(th) / (2 * np.cos(BEND))
SLIDE = -np.sin(th) - 2 * np.sin(BEND) * TURN
BENT = -np.sin(th) / (2 * np.cos(BEND)) + np.cos(th) * np.sin(BEND) * TURN / (2 * np.cos(BEND) ** 2)
SLID = -np.cos(th) - 2 * np.cos(BEND) * TURN**2 - 2 * np.sin(BEND) * BENT
INERTIA = 1.0 + 0.1 * TURN**2 + SLIDE**2
CRANK = dd.Model(  # a crank of one, a rod of two, a slider with dry friction, of which only the place is seen
    name="crank",
    equations={
        "turn": der(th) == om,
        "torque": INERTIA * der(om)
        == 1.0 - d * om + w - 0.5 * np.tanh(SLIDE * om / 0.1) * SLIDE - om**2 * (0.1 * TURN * BENT + SLIDE * SLID),
    },
    unknowns=[th, om],
    outputs={"place": np.cos(th) + 2 * np.cos(BEND)},
    parameters={d: dd.Parameter(0.4, lower=0.04, upper=4.0, scale="log")},
    disturbances={w: dd.FilteredNoise.low_pass(std=0.5, time_constant=0.5)},
    measurement_noise={"place": 0.01},
    initial={th: 0.3, om: 2.0},
)


def test_a_crank_that_passes_its_dead_centres():
    """Where the slider does not tell the angle: its filter promises ninety times the information that log L has, and
    paths that begin at one of other parameters lead over the wrong side."""
    times = np.arange(1, 41) * 0.1
    data = dd.simulate(CRANK, times, t0=0.0, realizations=1, measurement_noise=True, rng=1).to_dataset()
    fit = dd.fit(CRANK, data, free=["d"], criterion=LAPLACE)
    best, error = fit["d"].value, fit["d"].std_error

    def evaluate(value):
        return dd.evaluate(CRANK, data, free=["d"], values={"d": value}, criterion=LAPLACE).loglik

    fallen = [fit.loglik - evaluate(best * np.exp(side * error / best)) for side in (1.0, -1.0)]
    assert np.mean(fallen) == pytest.approx(0.5, abs=0.1)
    assert evaluate(1.5 * best) > fit.loglik - 0.5 * (np.log(1.5) * best / error) ** 2 - 3.0
