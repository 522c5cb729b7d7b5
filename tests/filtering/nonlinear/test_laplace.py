"""Laplace's likelihood: exact for linear models, as far off as quadrature says, with the gradient of its own value."""

import numpy as np
import pytest

import daedal as dd
from batteries.joint_gaussian import difference
from daedal import der
from daedal.experiments import match_experiments
from daedal.filtering import InitialCondition, Laplace, Point, find_path, find_paths, line_up, make_nonlinear_experiment
from daedal.filtering.nonlinear import Information, is_curved
from daedal.systems import build

x, v, u, w = dd.symbols("x v u w")
d, k, k3, std, tau, sigma = dd.symbols("d k k3 std tau sigma")
NUMBERS = {d: 0.5, k: 1.0, k3: 2.0, std: 0.6, tau: 0.7, sigma: 0.02}
LOW_PASS = dd.FilteredNoise.low_pass(std=std, time_constant=tau)


def make_oscillator(**changes):
    given = {
        "name": "oscillator",
        "equations": {"speed": der(x) == v, "force": der(v) == -d * v - k * x - k3 * x**3 + u + w},
        "unknowns": [x, v],
        "inputs": [u],
        "outputs": {"position": x},
        "parameters": NUMBERS,
        "disturbances": {w: LOW_PASS},
        "measurement_noise": {"position": sigma},
        "initial": {x: 0.0, v: 0.0},
    }
    return dd.Model(**(given | changes))


def draw(model, times, seed=3, **inputs):
    push = dd.Signal([0.0, 3.0, times[-1] + 9.0], [1.0, -1.0, -1.0], intersample="zoh")
    given = {"u": push} if model.inputs else {}
    return dd.simulate(
        model, times, inputs=given | inputs, realizations=1, measurement_noise=True, rng=seed
    ).to_dataset()


def line_up_at(model, data, step, method="rk6", spread=None):
    experiment = match_experiments(build(model), [data])[0]
    return make_nonlinear_experiment(experiment, {}, method, step, spread)


def compute(experiment, values=None, free=()):
    return Laplace(find_paths(experiment.at(Point(experiment.system.model, values, free)))[0])


LINEAR = {"speed": der(x) == v, "force": der(v) == -d * v - k * x + u + w}


SECOND_ORDER = dd.FilteredNoise(numerator=[std], denominator=[1.0, 0.8, 16.0])


@pytest.mark.parametrize(
    ("noise", "method"),
    [(LOW_PASS, "rk6"), (SECOND_ORDER, "rk6"), (dd.WhiteNoise(intensity=std), "rk6"), (LOW_PASS, "radau5")],
)
def test_linear_models_have_the_value_of_the_exact_filter(noise, method):
    model = make_oscillator(equations=LINEAR, disturbances={w: noise}, measurement_noise={"position": 0.02})
    times = np.arange(61) * 0.2
    data = draw(make_oscillator(equations=LINEAR, measurement_noise={"position": 0.02}), times)
    exact = dd.evaluate(model, data, free=["d", "std"], criterion=dd.Likelihood())
    laplace = compute(line_up_at(model, data, 0.05, method), free=("d", "std"))
    assert -laplace.value == pytest.approx(exact.loglik, abs=1e-6)
    np.testing.assert_allclose(laplace.gradient, exact.gradient, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(Information(laplace).matrix, exact.curvature, rtol=1e-4)


def test_records_of_many_steps_have_information_too():
    """Arrays of more than 256 kB: numpy makes their sums in place, and with transposed ones in another order."""
    model = make_oscillator(equations=LINEAR, measurement_noise={"position": 0.02})
    times = np.arange(12_001) * 0.05
    data = dd.Dataset(times, inputs={"u": np.sin(times)}, outputs={"position": np.sin(0.9 * times)})
    laplace = compute(line_up_at(model, data, 0.05), free=("d",))
    assert laplace.path.states.nbytes > 2**18
    exact = dd.evaluate(model, data, free=["d"], criterion=dd.Likelihood())
    np.testing.assert_allclose(Information(laplace).matrix, exact.curvature, rtol=1e-3)


def test_irregular_missing_and_several_outputs_as_the_exact_filter():
    times = np.cumsum(np.random.default_rng(1).uniform(0.05, 0.4, 40))
    model = make_oscillator(
        equations=LINEAR,
        outputs={"position": x, "speed": v + 0.2 * x},
        measurement_noise={"position": 0.02, "speed": sigma},
    )
    whole = draw(model, times)
    speed = np.where(np.arange(40) % 3 == 0, np.nan, whole.outputs["speed"].values)
    data = dd.Dataset(
        inputs=dict(whole.inputs),
        outputs={
            "position": dd.Samples(times[::2], whole.outputs["position"].values[::2]),
            "speed": dd.Samples(times, speed),
        },
        t0=0.0,
    )
    exact = dd.evaluate(model, data, free=["d", "sigma"], criterion=dd.Likelihood())
    laplace = compute(line_up_at(model, data, 0.1), free=("d", "sigma"))
    assert -laplace.value == pytest.approx(exact.loglik, abs=1e-6)
    np.testing.assert_allclose(laplace.gradient, exact.gradient, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("initial", ["diffuse", "free"])
def test_open_starts_as_the_exact_filter(initial):
    model = make_oscillator(equations=LINEAR, initial={v: 0.0})
    data = draw(make_oscillator(equations=LINEAR, initial={x: 0.7, v: 0.0}), np.arange(1, 40) * 0.2)
    exact = dd.evaluate(model, data, free=["d", "sigma"], criterion=dd.Likelihood(initial=initial))
    lined = line_up(match_experiments(build(model), [data])[0], {}, InitialCondition(initial))
    assert lined.opened == ("x",)
    laplace = compute(line_up_at(model, data, 0.1, spread=lined.spread), free=("d", "sigma"))
    assert -laplace.value == pytest.approx(exact.loglik, abs=1e-6)
    slopes = [
        difference(lambda number, name=name: value_at(model, data, initial, {name: number}), at, 1e-2 * at)
        for name, at in ((name, float(model.parameters[name].value)) for name in ("d", "sigma"))
    ]
    np.testing.assert_allclose(laplace.gradient, slopes, rtol=1e-5, atol=1e-4)


def value_at(model, data, initial, values):
    """With the flat prior alone: what an exact fit minimises has its pull taken out."""
    criterion = dd.Likelihood(initial=initial)
    return -dd.evaluate(model, data, free=["d", "sigma"], criterion=criterion, values=values).loglik


def test_a_prior_of_the_start_as_the_exact_filter():
    model = make_oscillator(equations=LINEAR, initial={x: 0.0, v: 0.0})
    data = draw(make_oscillator(equations=LINEAR, initial={x: 0.7, v: 0.0}), np.arange(1, 40) * 0.2)
    exact = dd.evaluate(model, data, free=["d"], criterion=dd.Likelihood(initial_std={"x": 0.5}))
    lined = line_up(match_experiments(build(model), [data])[0], {}, InitialCondition("diffuse", {"x": 0.5}))
    laplace = compute(line_up_at(model, data, 0.1, spread=lined.spread), free=("d",))
    assert -laplace.value == pytest.approx(exact.loglik, abs=1e-6)


# Quadrature on a grid of 2001 points, as in `integrate`, gives these; Laplace is off by this much.
SEEN = {
    "w": (lambda w: w + 0.0, -132.086194, 0.0),
    "w + 0.3 w²": (lambda w: w + 0.3 * w**2, -140.235095, -0.945),
    "w²": (lambda w: w**2, -150.080928, -14.07),
    "exp w": (lambda w: np.exp(w), -166.525147, -0.640),
}


def draw_seen(see):
    rng, a = np.random.default_rng(0), np.exp(-0.3)
    path = rng.standard_normal(100)
    for n in range(1, 100):
        path[n] = a * path[n - 1] + np.sqrt(1 - a**2) * path[n]
    return see(path) + 0.5 * rng.standard_normal(100)


def integrate(see, y):
    """log L of y = see(w) + e by quadrature over w, sample by sample."""
    a, grid = np.exp(-0.3), np.linspace(-6.0, 6.0, 1001)
    move = np.exp(-((grid[:, None] - a * grid) ** 2) / 2 / (1 - a**2)) / np.sqrt(2 * np.pi * (1 - a**2))
    density, total, width = np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi), 0.0, grid[1] - grid[0]
    for n, value in enumerate(y):
        density = move @ density * width if n else density
        density = density * np.exp(-((value - see(grid)) ** 2) / 0.5) / np.sqrt(np.pi / 2)
        share = density.sum() * width
        total, density = total + np.log(share), density / share
    return total


@pytest.mark.parametrize("name", SEEN)
def test_errors_against_quadrature(name):
    see, truth, error = SEEN[name]
    y = draw_seen(see)
    assert integrate(see, y) == pytest.approx(truth, abs=1e-6)
    model = dd.Model(
        name="seen",
        equations={"see": x == see(w)},
        unknowns=[x],
        outputs={"x": x},
        disturbances={w: dd.FilteredNoise.low_pass(std=1.0, time_constant=1.0)},
        measurement_noise={"x": 0.5},
    )
    experiment = line_up_at(model, dd.Dataset(np.arange(100) * 0.3, outputs={"x": y}), 0.3)
    assert is_curved(experiment.at(Point(model, None, ()))) == (name == "w²")
    assert -compute(experiment).value - truth == pytest.approx(error, abs=0.005)


def check_gradient(model, data, step, free, method="rk6", spread=None, atol=1e-6):
    experiment = line_up_at(model, data, step, method, spread)
    laplace = compute(experiment, free=free)
    numbers, start = Point(model, None, ()).numbers, laplace.path.normals
    for place, name in enumerate(free):
        step = 3e-4 * abs(numbers[name])
        values = [
            Laplace(find_path(experiment.at(Point(model, {name: numbers[name] + e * step}, free)), start)).value
            for e in (2.0, 1.0, -1.0, -2.0)
        ]
        difference = (-values[0] + 8.0 * values[1] - 8.0 * values[2] + values[3]) / (12.0 * step)
        assert laplace.gradient[place] == pytest.approx(difference, rel=1e-6, abs=atol), name


@pytest.mark.parametrize("method", ["rk6", "radau5"])
def test_gradient_with_all_noise_free(method):
    model = make_oscillator()
    check_gradient(model, draw(model, np.arange(41) * 0.2), 0.2, ("d", "k3", "std", "tau", "sigma"), method)


def test_gradient_where_the_start_is_open():
    model = make_oscillator(initial={v: 0.0})
    data = draw(make_oscillator(initial={x: 0.7, v: 0.0}), np.arange(1, 31) * 0.2)
    for initial in ("diffuse", "free"):
        lined = line_up(match_experiments(build(model), [data])[0], {}, InitialCondition(initial))
        check_gradient(model, data, 0.2, ("d", "k3", "tau"), spread=lined.spread, atol=1e-4)


y, vx, vy, T, L, phi, rate = dd.symbols("y vx vy T L phi rate")
CARTESIAN = {
    "x'": der(x) == vx,
    "y'": der(y) == vy,
    "force x": der(vx) == T * x - d * vx + w,
    "force y": der(vy) == T * y - d * vy - 9.81,
}
RODS = {  # the same motion with index 3, 2 and 1, and in its own coordinate
    3: CARTESIAN | {"rod": x**2 + y**2 == L**2},
    2: CARTESIAN | {"rod": x * vx + y * vy == 0},
    1: CARTESIAN | {"rod": vx**2 + vy**2 + x * (T * x - d * vx + w) + y * (T * y - d * vy - 9.81) == 0},
    0: {"phi'": der(phi) == rate, "torque": L * der(rate) == -9.81 * np.sin(phi) - d * L * rate + np.cos(phi) * w},
}


def make_pendulum(index):
    minimal = index == 0
    starts = {3: {x: 1.0, vx: 0.0}, 2: {x: 1.0, y: -(3.0**0.5), vx: 0.0}}
    starts[1] = {x: 1.0, y: -(3.0**0.5), vx: 0.0, vy: 0.0}
    return dd.Model(
        name="pendulum",
        equations=RODS[index],
        unknowns=[phi, rate] if minimal else [x, y, vx, vy, T],
        outputs={"angle": phi if minimal else np.arctan(x / -y)},
        parameters={d: 0.3, L: 2.0, std: 1.5, tau: 0.4},
        disturbances={w: LOW_PASS},
        measurement_noise={"angle": 0.02},
        initial={phi: np.pi / 6, rate: 0.0} if minimal else starts[index],
        guess={} if minimal else {y: -2.0},
    )


def test_coordinates_and_index_do_not_matter():
    data = draw(make_pendulum(0), np.arange(1, 13) * 0.1)
    values = {index: compute(line_up_at(make_pendulum(index), data, 0.0125)).value for index in RODS}
    for index in (3, 2, 1):
        assert values[index] == pytest.approx(values[0], abs=1e-8)


@pytest.mark.parametrize("index", [3, 2])
def test_gradient_on_a_manifold(index):
    check_gradient(make_pendulum(index), draw(make_pendulum(0), np.arange(1, 21) * 0.1), 0.05, ("d", "std", "tau"))


def test_gradient_where_a_disturbance_is_inside_a_constraint():
    """The start depends on the disturbance then, and its derivative is needed."""
    model = dd.Model(
        name="mirror",
        equations={"lag": der(x) == -k * x + v, "tied": x + 0.1 * x**3 == w, "seen": y == v * (1 + 0.1 * v)},
        unknowns=[x, v, y],
        outputs={"y": y},
        parameters={k: 1.0, std: 0.6, tau: 0.7},
        disturbances={w: dd.FilteredNoise(numerator=[std], denominator=[tau, 1.0, 2.0])},
        measurement_noise={"y": 0.1},
    )
    data = dd.Dataset(np.arange(20) * 0.2, outputs={"y": np.random.default_rng(0).normal(0.0, 0.3, 20)})
    check_gradient(model, data, 0.1, ("k", "std", "tau"))


def test_a_missing_sample_is_one_without_accuracy():
    model, times = make_oscillator(measurement_noise={}), np.arange(31) * 0.2
    whole = draw(make_oscillator(), times)
    position = whole.outputs["position"].values
    noise, missing = np.full(31, 0.02), position.copy()
    noise[[0, 7, 8, 30]], missing[[0, 7, 8, 30]] = 1e6, np.nan
    vague = dd.Dataset(inputs=dict(whole.inputs), outputs={"position": dd.Samples(times, position, noise=noise)})
    gone = dd.Dataset(
        inputs=dict(whole.inputs), outputs={"position": dd.Samples(times, missing, noise=np.full(31, 0.02))}
    )
    values = [compute(line_up_at(model, data, 0.2)).value for data in (vague, gone)]
    assert values[0] - 4 * np.log(1e6 * np.sqrt(2 * np.pi)) == pytest.approx(values[1], abs=1e-8)


def test_two_halves_of_an_irregular_record_are_one():
    times = np.cumsum(np.random.default_rng(1).uniform(0.1, 0.3, 30))
    model = make_oscillator()
    whole = draw(model, times)
    position = whole.outputs["position"].values
    both = make_oscillator(outputs={"a": x, "b": x}, measurement_noise={"a": sigma, "b": sigma})
    halves = dd.Dataset(
        inputs=dict(whole.inputs),
        outputs={"a": dd.Samples(times[::2], position[::2]), "b": dd.Samples(times[1::2], position[1::2])},
        t0=float(whole.t0),
    )
    one, two = compute(line_up_at(model, whole, 0.1)), compute(line_up_at(both, halves, 0.1))
    assert one.value == pytest.approx(two.value, abs=1e-9)


def test_replicates_count_each():
    """Two samples at one time are as one of their mean, with a variance of one half, but for constants."""
    model, times = make_oscillator(measurement_noise={}), np.arange(1, 21) * 0.2
    whole = draw(make_oscillator(), times)
    position = whole.outputs["position"].values
    pair = np.stack([position + 0.01, position - 0.01], axis=1).ravel()
    twice = dd.Samples(np.repeat(times, 2), pair, noise=np.full(40, 0.02))
    once = dd.Samples(times, position, noise=np.full(20, 0.02 / np.sqrt(2.0)))
    values = [
        compute(line_up_at(model, dd.Dataset(inputs=dict(whole.inputs), outputs={"position": one}, t0=0.2), 0.2)).value
        for one in (twice, once)
    ]
    constant = 20 * (0.5 * np.log(2 * np.pi) + np.log(0.02 * np.sqrt(2.0)) + 0.01**2 / 0.02**2)
    assert values[0] - values[1] == pytest.approx(constant, abs=1e-8)


def test_correlated_measurement_noise_as_the_exact_filter():
    covariance = np.array([[4e-4, 3e-4], [3e-4, 9e-4]])
    model = make_oscillator(equations=LINEAR, outputs={"a": x, "b": v}, measurement_noise={("a", "b"): covariance})
    data = draw(model, np.arange(31) * 0.2)
    exact = dd.evaluate(model, data, free=["d"], criterion=dd.Likelihood())
    laplace = compute(line_up_at(model, data, 0.1), free=("d",))
    assert -laplace.value == pytest.approx(exact.loglik, abs=1e-6)
    assert laplace.gradient[0] == pytest.approx(exact.gradient[0], rel=1e-5)
