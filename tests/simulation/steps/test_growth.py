"""Operations of a step, counted and not run, of networks that become twice as large: chains, grids, exchangers."""

import numpy as np
import pytest

import catalogue
import daedal as dd
from daedal import der
from daedal.kernels import scan
from daedal.simulation.ida.implicit import make_jacobian

TIMES = np.linspace(0.0, 1.0, 11)
MOST = 2.4  # times as many operations, of networks twice as large: n^1.26


class CountedError(Exception):
    """Ends what is only counted."""


def make_symbols(name, count):
    return [dd.symbols(f"{name}{i}")[0] for i in range(count)]


def make_chain(count):
    """Pendulums hanging from each other, the first one pushed by what nobody measures: index 3."""
    model, w = catalogue.chain(count).model(), dd.symbol("w")
    force = next(name for name, equation in model.equations.items() if "der(vx[0])" in str(equation))
    pushed = model.equations[force].lhs == model.equations[force].rhs + w
    return dd.Model(
        name=model.name, equations={**model.equations, force: pushed}, unknowns=model.unknowns,
        outputs={"x": model["x[0]"]}, parameters=model.parameters, initial=model.initial, guess=model.guess,
        disturbances={w: dd.FilteredNoise.low_pass(std=0.1, time_constant=1.0, grid=0.1)},
    )  # fmt: skip


def make_grid(count):
    """Swing equations at every fourth bus, balances of power at the others, on a ladder."""
    angles, generators = make_symbols("angle", 2 * count), range(0, 2 * count, 4)
    speeds = dict(zip(generators, make_symbols("speed", len(generators)), strict=True))
    line, inertia, w = dd.symbols("line inertia w")
    edges = [(i, i + 1) for i in range(2 * count - 1) if i != count - 1] + [(i, count + i) for i in range(count)]
    equations = {}
    for i, angle in enumerate(angles):
        ends = [b if a == i else a for a, b in edges if i in (a, b)]
        flow = sum(line * np.sin(angle - angles[k]) for k in ends)
        if i in speeds:
            equations[f"angle {i}"] = der(angle) == speeds[i]
            equations[f"swing {i}"] = inertia * der(speeds[i]) == (w if i == 0 else 0.0) - speeds[i] - flow
        else:
            equations[f"load {i}"] = -0.1 - flow == 0
    return dd.Model(
        name="grid", equations=equations, unknowns=[*angles, *speeds.values()], outputs={"x": speeds[0]},
        parameters={line: 5.0, inertia: 0.3},
        initial={**{angles[i]: 0.0 for i in speeds}, **dict.fromkeys(speeds.values(), 0.0)},
        disturbances={w: dd.FilteredNoise.low_pass(std=0.1, time_constant=1.0, grid=0.1)},
    )  # fmt: skip


def make_exchangers(count):
    """Counter-current exchangers in a row, the flow through each from an equation of its own."""
    hot, cold, flows = (make_symbols(name, count) for name in ("hot", "cold", "flow"))
    heat, mass, w = dd.symbols("heat mass w")
    equations = {}
    for i in range(count):
        before, behind = hot[i - 1] if i else 20.0 + w, cold[i + 1] if i < count - 1 else 10.0
        equations[f"hot {i}"] = der(hot[i]) == mass * (before - hot[i]) - heat * (hot[i] - cold[i])
        equations[f"cold {i}"] = der(cold[i]) == flows[i] * (behind - cold[i]) + heat * (hot[i] - cold[i])
        equations[f"valve {i}"] = flows[i] ** 3 + flows[i] == 1.5 + 0.01 * (cold[i] - 10.0)
    return dd.Model(
        name="exchangers", equations=equations, unknowns=[*hot, *cold, *flows], outputs={"x": hot[-1]},
        parameters={heat: 0.5, mass: 1.0}, initial=dict.fromkeys([*hot, *cold], 10.0), guess=dict.fromkeys(flows, 0.8),
        disturbances={w: dd.FilteredNoise.low_pass(std=0.1, time_constant=1.0, grid=0.1)},
    )  # fmt: skip


NETWORKS = {"chain": (make_chain, 5), "grid": (make_grid, 8), "exchangers": (make_exchangers, 8)}


def count_operations(monkeypatch, work):
    """Of what would be compiled first."""
    counted = []

    def count(*tapes):
        counted.append(sum(tape.count_operations().total() for tape in tapes))
        raise CountedError

    monkeypatch.setattr(scan, "check_room", count)
    with pytest.raises(CountedError):
        work()
    return counted[0]


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("method", ["rk4", "radau5"])
def test_steps_grow_with_the_network(name, method, monkeypatch):
    make, size = NETWORKS[name]
    solver = dd.Lanes(method=method, step=0.1)
    counts = [
        count_operations(monkeypatch, lambda: dd.simulate(make(n), TIMES, realizations=2, solver=solver))  # noqa: B023
        for n in (size, 2 * size)
    ]
    assert counts[1] < MOST * counts[0]


@pytest.mark.parametrize("name", NETWORKS)
def test_likelihoods_grow_with_the_network(name, monkeypatch):
    make, size = NETWORKS[name]
    data = dd.Dataset(TIMES, outputs={"x": np.sin(TIMES)})

    def evaluate(n):
        model = make(n)
        noisy = dd.Model(
            name=model.name, equations=model.equations, unknowns=model.unknowns, outputs=model.outputs,
            parameters=model.parameters, initial=model.initial, guess=model.guess, disturbances=model.disturbances,
            measurement_noise={"x": 0.1},
        )  # fmt: skip
        free = list(model.parameters)[:1]
        return dd.evaluate(noisy, data, free=free, criterion=dd.Likelihood(method="laplace"))

    counts = [count_operations(monkeypatch, lambda: evaluate(n)) for n in (size, 2 * size)]  # noqa: B023
    assert counts[1] < MOST * counts[0]


@pytest.mark.parametrize("name", NETWORKS)
def test_jacobians_grow_with_the_network(name):
    make, size = NETWORKS[name]
    counts = [make_jacobian(dd.build(make(n)).reduction).n_instructions() for n in (size, 2 * size)]
    assert counts[1] < MOST * counts[0]
