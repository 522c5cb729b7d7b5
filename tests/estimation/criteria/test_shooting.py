"""Multiple shooting: Bock's notorious problem, and agreement with one simulation where that works."""

import re

import numpy as np
import pytest

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
