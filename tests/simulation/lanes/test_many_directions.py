"""Directions that share their code give what each of them gives alone, in one lane and in many."""

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.kernels import compiler
from daedal.simulation.lanes import fan, march
from daedal.simulation.steps import discretization, program

x, y, vx, vy, tension, u, w, m, g, k, L, s = dd.symbols("x y vx vy tension u w m g k L s")
TIMES = np.linspace(0, 4, 21)
FREE = ["m", "k", "L", "g"]


def make_pendulum(name):
    """Index 3, with a disturbance whose strength is free."""
    return dd.Model(
        name=name,
        equations={
            "to the right": der(x) == vx,
            "upwards": der(y) == vy,
            "force x": m * der(vx) == tension * x - k * vx + u + w**2,
            "force y": m * der(vy) == tension * y - k * vy - m * g,
            "rod": x**2 + y**2 == L**2,
        },
        unknowns=[x, y, vx, vy, tension],
        inputs=[u],
        outputs={"x": x, "pull": tension},
        parameters={m: 0.5, g: 9.81, L: 2.0, k: 0.4, s: 0.3},
        disturbances={w: dd.FilteredNoise.resonant(std=s, frequency=4.0, damping=0.3)},
        measurement_noise={"x": 0.01, "pull": 0.1},
        initial={x: 0.5, vx: 0.0},
        guess={y: -L},
    )


def make_data():
    values = {"x": 0.4 * np.cos(2 * TIMES), "pull": -2.5 + 0.1 * TIMES}
    return dd.Dataset(times=TIMES, inputs={"u": np.sin(TIMES)}, outputs=values)


@pytest.mark.parametrize("method", ["rk4", "radau5"])
@pytest.mark.parametrize(
    ("criterion", "free"),
    [
        (dd.OutputError(), FREE),
        (dd.SimulationPEM(realizations=3, whiten=False), [*FREE, "s"]),
        (dd.SimulationPEM(realizations=40, whiten=False), [*FREE, "s"]),
    ],
)
def test_repeated_code_gives_the_same_derivatives(criterion, free, method, monkeypatch):
    costs = []
    for name, threshold in (("alone", 10**9), ("together", 0)):
        monkeypatch.setattr(program, "REPEATED", threshold)
        solver = dd.Lanes(method=method, step=0.05)
        model, data = make_pendulum(name), make_data()
        costs.append(dd.evaluate(model, data, free=free, criterion=criterion, solver=solver, rng=3))
    alone, together = costs
    assert together.value == pytest.approx(alone.value, rel=1e-11)
    np.testing.assert_allclose(together.gradient, alone.gradient, rtol=1e-8, atol=1e-8 * np.abs(alone.gradient).max())
    np.testing.assert_allclose(together.curvature, alone.curvature, rtol=1e-8, atol=1e-8 * alone.curvature.max())


def make_bent(name):
    """Index 1, and not linear in what is solved for."""
    return dd.Model(
        name=name,
        equations={"rate": der(x) == -k * x**3 + y + w, "cube": y + 0.4 * m * y**3 == g * np.cos(x) + L * u},
        unknowns=[x, y],
        inputs=[u],
        outputs={"x": x, "pull": y},
        parameters={k: 0.8, m: 1.1, g: 0.9, L: 0.5, s: 0.2},
        disturbances={w: dd.FilteredNoise.resonant(std=s, frequency=4.0, damping=0.3)},
        initial={x: g * L},
        guess={y: 0.5},
    )


@pytest.mark.parametrize("repeated", [0, 10**9])
@pytest.mark.parametrize("method", ["rk4", "radau5"])
@pytest.mark.parametrize("make", [make_pendulum, make_bent])
@pytest.mark.parametrize(
    "criterion", [dd.OutputError(), dd.SimulationPEM(realizations=3, whiten=False)], ids=["one", "many"]
)
def test_functions_that_stages_call_give_the_same(criterion, make, method, repeated, monkeypatch):
    """As large systems have them; of the code written out, nothing but the last digits differ."""
    costs, texts = [], []
    load = compiler.load
    monkeypatch.setattr(compiler, "load", lambda text, *quick: texts.append(text) or load(text, *quick))
    monkeypatch.setattr(program, "REPEATED", repeated)
    for name, threshold in (("written out", 10**9), ("called", -1)):
        monkeypatch.setattr(discretization, "LARGE", threshold)
        solver = dd.Lanes(method=method, step=0.05)
        system = dd.build(make(name))
        system.reduction.compiled.clear()  # which models of one structure share
        costs.append(dd.evaluate(system, make_data(), free=FREE, criterion=criterion, solver=solver, rng=3))
    system.reduction.compiled.clear()
    assert sum("@daedal_part" in text for text in texts) in range(1, len(texts))
    plain, called = costs
    assert called.value == pytest.approx(plain.value, rel=1e-11)
    np.testing.assert_allclose(called.gradient, plain.gradient, rtol=1e-8, atol=1e-8 * np.abs(plain.gradient).max())
    np.testing.assert_allclose(called.curvature, plain.curvature, rtol=1e-8, atol=1e-8 * plain.curvature.max())


def test_one_trajectory_fills_the_lanes_of_a_vector(monkeypatch):
    """Without it, and with it: the same bits."""
    monkeypatch.setattr(program, "REPEATED", 0)
    solver = dd.Lanes(method="rk4", step=0.05)
    costs = []
    for name in ("as it is", "copied"):
        if name == "as it is":
            monkeypatch.setattr(fan.Fan, "of", lambda *_: None)
        else:
            monkeypatch.undo()
            monkeypatch.setattr(program, "REPEATED", 0)
        costs.append(
            dd.evaluate(make_pendulum(name), make_data(), free=FREE, criterion=dd.OutputError(), solver=solver)
        )
    assert costs[0].value == costs[1].value
    np.testing.assert_array_equal(costs[0].gradient, costs[1].gradient)


def test_directions_that_are_spread_need_no_sample_in_every_piece_of_the_way(monkeypatch):
    """Data that begin late, or are rare: many steps pass without one."""
    monkeypatch.setattr(program, "REPEATED", 0)
    solver = dd.Lanes(method="rk4", step=0.005)
    whole = dd.evaluate(make_pendulum("rare"), make_data(), free=FREE, criterion=dd.OutputError(), solver=solver, rng=3)
    monkeypatch.setattr(march, "CHUNK_WORK", 1.0)  # pieces of 16 steps, and a sample every 40
    parts = dd.evaluate(make_pendulum("rare"), make_data(), free=FREE, criterion=dd.OutputError(), solver=solver, rng=3)
    np.testing.assert_array_equal(parts.gradient, whole.gradient)
