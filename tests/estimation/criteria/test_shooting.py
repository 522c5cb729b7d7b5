"""Multiple shooting: Bock's notorious problem, and agreement with one simulation where that works."""

import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import daedal as dd
from daedal import der
from daedal.errors import EstimationError
from daedal.estimation.problem.coordinates import make_coordinates
from daedal.estimation.problem.problem import Problem
from daedal.systems import build

TIMES = np.arange(1, 11) * 0.1


def bock() -> dd.Model:
    """H. G. Bock (1983): x₁ = sin πt, x₂ = π cos πt solve it for p = π, between modes e^{±60 t}."""
    x1, x2, p, mu = dd.symbols("x1 x2 p mu")
    return dd.Model(
        name="bock",
        equations={
            "position": der(x1) == x2,
            "velocity": der(x2) == mu**2 * x1 - (mu**2 + p**2) * np.sin(p * dd.time),
        },
        unknowns=[x1, x2],
        outputs={"x1": x1, "x2": x2},
        parameters={mu: 60.0, p: dd.Parameter(1.0, lower=0.1, upper=10.0)},
        initial={x1: 0.0, x2: np.pi},
        measurement_noise={"x1": 0.05, "x2": 0.05},
    )


def bock_data(seed: int) -> dd.Dataset:
    noise = 0.05 * np.random.default_rng(seed).standard_normal((2, TIMES.size))
    exact = np.array([np.sin(np.pi * TIMES), np.pi * np.cos(np.pi * TIMES)])
    measured = exact + noise
    return dd.Dataset(TIMES, outputs={"x1": measured[0], "x2": measured[1]}, t0=0.0)


@pytest.mark.parametrize("start", [1.0, np.pi])
def test_one_simulation_is_refused_naming_the_growth(start):
    with pytest.raises(EstimationError, match=r"by e\^60, so that one simulation") as refused:
        dd.fit(bock(), bock_data(0), free={"p": start})
    assert re.search(r"criterion=OutputError\(segments=\d+\)", refused.value.remedy)


@pytest.mark.parametrize("start", [1.0, 5.0])
def test_the_remedy_works(start):
    """With x(0) known exactly the continuity determines p to many digits, wherever the noise pulls."""
    found = dd.fit(bock(), bock_data(0), free={"p": start}, criterion=dd.OutputError(segments=11))
    assert found.status.ok
    assert found["p"].value == pytest.approx(np.pi, abs=1e-6)
    assert abs(found["p"].value - np.pi) < 4 * found["p"].std_error + 1e-7
    exact = np.concatenate([np.sin(np.pi * TIMES), np.pi * np.cos(np.pi * TIMES)])
    data = bock_data(0)
    squares = np.sum((np.concatenate([data["x1"], data["x2"]]) - exact) ** 2) / 0.05**2
    # Gaps far below any accuracy, blown up by e^60, let the end follow the noise a little.
    assert 0.8 * squares < 2 * found.value <= squares


def oscillator() -> dd.Model:
    x, v, k, d, x0 = dd.symbols("x v k d x0")
    return dd.Model(
        name="oscillator",
        equations={"position": der(x) == v, "force": der(v) == -k * x - d * v},
        unknowns=[x, v],
        outputs={"x": x},
        parameters={k: 3.0, d: 0.4, x0: 0.8},
        initial={x: x0, v: 0.0},
    )


def noisy_swing() -> dd.Dataset:
    times = np.arange(60) * 0.1
    exact = dd.simulate(oscillator(), times, values={"k": 4.0, "d": 0.3, "x0": 1.0})["x"]
    return dd.Dataset(times, outputs={"x": exact + 0.02 * np.random.default_rng(3).standard_normal(60)})


def test_pieces_give_what_one_simulation_gives():
    options = {"free": ["k", "d", "x0"]}
    whole = dd.fit(oscillator(), noisy_swing(), **options, criterion=dd.OutputError())
    cut = dd.fit(oscillator(), noisy_swing(), **options, criterion=dd.OutputError(segments=4))
    for name in options["free"]:
        assert cut[name].value == pytest.approx(whole[name].value, abs=1e-3 * whole[name].std_error)
        assert cut[name].std_error == pytest.approx(whole[name].std_error, rel=1e-3)
    assert cut.value == pytest.approx(whole.value, rel=1e-6)


def test_pieces_of_a_constrained_system():
    """The index-3 pendulum: two of its four states start each piece, the others follow."""
    x, y, vx, vy, tension, m, g, L, d = dd.symbols("x y vx vy tension m g L d")
    model = dd.Model(
        name="pendulum",
        equations={
            "kinematics x": der(x) == vx,
            "kinematics y": der(y) == vy,
            "force x": m * der(vx) == tension * x - d * vx,
            "force y": m * der(vy) == tension * y - d * vy - m * g,
            "rod": x**2 + y**2 == L**2,
        },
        unknowns=[x, y, vx, vy, tension],
        outputs={"angle": np.arctan2(x, -y)},
        parameters={m: 1.0, g: 9.81, L: 1.0, d: 0.2},
        initial={x: 0.4, vx: 0.0},
        guess={y: -L},
    )
    times = np.arange(40) * 0.1
    exact = dd.simulate(model, times, values={"d": 0.3, "g": 9.5})["angle"]
    data = dd.Dataset(times, outputs={"angle": exact + 0.005 * np.random.default_rng(1).standard_normal(40)})
    whole = dd.fit(model, data, free=["d", "g"], criterion=dd.OutputError())
    cut = dd.fit(model, data, free=["d", "g"], criterion=dd.OutputError(segments=3))
    for name in ("d", "g"):
        assert cut[name].value == pytest.approx(whole[name].value, abs=0.01 * whole[name].std_error)


def test_gradient_is_that_of_the_minimum_over_the_starts():
    model, data = oscillator(), (noisy_swing(),)
    space = make_coordinates(model, data, ["k", "d"], None, None)
    objective = dd.OutputError(segments=3).objective(Problem(build(model), data, space, 0, None))
    point = np.array([3.7, 0.35])
    found = objective(point)
    for k in range(2):
        step = 1e-4 * np.eye(2)[k]
        slope = (objective(point + step).value - objective(point - step).value) / 2e-4
        assert found.gradient[k] == pytest.approx(slope, rel=1e-5, abs=1e-6 * abs(found.value))
    assert np.linalg.eigvalsh(found.curvature)[0] >= 0.0


def test_segments_must_be_a_number():
    with pytest.raises(EstimationError, match="whole number from 1 on, got 0"):
        dd.OutputError(segments=0)


def prey_and_predators() -> dd.Model:
    x, y, a, b, c, d = dd.symbols("x y a b c d")
    return dd.Model(
        name="prey and predators",
        equations={"prey": der(x) == a * x - b * x * y, "predators": der(y) == -c * y + d * x * y},
        unknowns=[x, y],
        outputs={"prey": x},
        parameters={a: 0.7, b: 0.7, c: 0.7, d: 0.7},
        initial={x: 1.0, y: 0.5},
    )


def integrate(rates, start, times):
    return solve_ivp(rates, (0.0, times[-1]), start, t_eval=times, rtol=1e-10, atol=1e-10).y


def test_pieces_that_start_at_the_data_find_lotka_volterra_over_five_cycles():
    """Only the prey are counted; scipy makes the data, over 30 s, and all rates start at one."""
    truth, times = {"a": 1.3, "b": 0.9, "c": 0.8, "d": 0.72}, np.linspace(0.0, 30.0, 121)
    a, b, c, d = truth.values()
    exact = integrate(lambda _, z: [a * z[0] - b * z[0] * z[1], -c * z[1] + d * z[0] * z[1]], [1.0, 0.5], times)[0]
    data = dd.Dataset(times, outputs={"prey": exact + 0.03 * np.random.default_rng(1).standard_normal(times.size)})
    free = dict.fromkeys(truth, 1.0)
    fit = dd.fit(prey_and_predators(), data, free=free, criterion=dd.OutputError(segments=10))
    assert fit.status.ok
    assert fit.evaluations < 60
    for name, value in truth.items():
        assert abs(fit[name].value - value) < 4 * fit[name].std_error < 0.15


def test_pieces_that_start_at_the_data_find_lorenz_from_a_wrong_start():
    """One of three states is measured over 10 s, in which errors grow by e⁹; from r = 25 a simulation ends at 24.98."""
    x, y, z, r = dd.symbols("x y z r")
    model = dd.Model(
        name="lorenz",
        equations={"x": der(x) == 10 * (y - x), "y": der(y) == x * (r - z) - y, "z": der(z) == x * y - 8 / 3 * z},
        unknowns=[x, y, z],
        outputs={"x": x},
        parameters={r: 25.0},
        initial={x: 1.0, y: 1.0, z: 1.0},
    )
    times = np.linspace(0.0, 10.0, 251)
    exact = integrate(
        lambda _, q: [10 * (q[1] - q[0]), q[0] * (28 - q[2]) - q[1], q[0] * q[1] - 8 / 3 * q[2]], [1.0] * 3, times
    )
    fit = dd.fit(model, dd.Dataset(times, outputs={"x": exact[0]}), free=["r"], criterion=dd.OutputError(segments=16))
    assert fit.status.ok
    assert fit.evaluations < 40
    assert fit["r"].value == pytest.approx(28.0, abs=1e-5)


def test_pieces_start_where_the_data_put_their_states():
    """x'' = −4 x with x alone measured, and a model that says −3 x: pieces start at cos 2t and −2 sin 2t, nearly."""
    model, times = oscillator(), np.arange(0.0, 6.0, 0.05)
    data = (dd.Dataset(times, outputs={"x": np.cos(2 * times)}),)
    space = make_coordinates(model.with_parameters({"d": 0.0, "x0": 1.0}), data, ["k"], None, None)
    problem = Problem(build(model.with_parameters({"d": 0.0, "x0": 1.0})), data, space, 0, None)
    objective = dd.OutputError(segments=12).objective(problem)
    edges = np.linspace(0.0, times[-1], 13)[1:-1]
    exact = np.column_stack([np.cos(2 * edges), -2 * np.sin(2 * edges)])
    assert objective.cut[0].states == ("x", "v")
    np.testing.assert_allclose(objective.nodes[0][:, 0], exact[:, 0], atol=0.05)
    np.testing.assert_allclose(objective.nodes[0][:, 1], exact[:, 1], atol=0.35)
