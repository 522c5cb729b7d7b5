"""Covariances in factors give what covariances as matrices do, what the joint density of all samples is, and slopes."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.stats import multivariate_normal

import daedal as dd
from daedal import der
from daedal.filtering import filter as filtering

CELLS, COUNT, STEP = 28, 60, 0.2
u, w, a, b, s = dd.symbols("u w a b s")


def make_line(cells: int = CELLS, rate: float = 1.0, **changes) -> dd.Model:
    """A diffusing chain, driven at one end and disturbed in its middle; two parameters have a half each."""
    xs = [symbol for i in range(cells) for symbol in dd.symbols(f"x{i}")]
    equations = {}
    for i in range(cells):
        flow = (xs[i - 1] if i else u) - xs[i] + (xs[i + 1] - xs[i] if i < cells - 1 else 0.0)
        equations[f"cell {i}"] = der(xs[i]) == (a if i < cells // 2 else b) * flow + (w if i == cells // 2 else 0.0)
    fields = {
        "name": "line",
        "equations": equations,
        "unknowns": xs,
        "inputs": [u],
        "outputs": {"first": xs[0], "middle": xs[cells // 2 + 1]},
        "parameters": {a: rate, b: 1.3 * rate, s: 0.05},
        "disturbances": {w: dd.FilteredNoise([0.5], [1.0, 0.8, 1.0])},
        "measurement_noise": {"first": 0.05, "middle": s},
        "initial": dict.fromkeys(xs, 0.1),
    }
    return dd.Model(**fields | changes)


def make_data(count: int = COUNT) -> dd.Dataset:
    times, generator = STEP * np.arange(1, count + 1), np.random.default_rng(4)
    values = {name: 0.1 + 0.1 * generator.normal(size=count) for name in ("first", "middle")}
    return dd.Dataset(times, inputs={"u": dd.Signal([0.0, *times], np.sin([0.0, *times]))}, outputs=values, t0=0.0)


x0, x1 = dd.symbols("x0 x1")
CASES = {
    "coloured": (make_line(), {}),
    "white": (make_line(disturbances={w: dd.WhiteNoise(intensity=b)}), {}),
    "stiff": (make_line(rate=400.0), {}),
    "unstable": (make_line(outputs={"first": x0 + x1, "middle": x1}).with_parameters({"a": -0.05}), {}),
    "two open values": (make_line(initial={f"x{i}": 0.1 for i in range(2, CELLS)}), {}),
    "one uncertain value": (make_line(), {"initial_std": {"x3": 0.5}}),
    "large and uncertain, digits are lost": (make_line(), {"initial_std": {f"x{i}": 1e4 for i in range(3)}}),
    "derivative measured": (make_line(outputs={"first": der(x0), "middle": x1}), {}),
}


def evaluate(model: dd.Model, data: dd.Dataset, **options) -> dd.Cost:
    return dd.evaluate(model, data, free=["a", "b", "s"], criterion=dd.Likelihood(**options))


@pytest.mark.parametrize("name", CASES)
def test_factors_change_nothing(name, monkeypatch):
    model, options = CASES[name]
    runs = []
    original = filtering.run_low_rank_filter
    monkeypatch.setattr(filtering, "run_low_rank_filter", lambda *given: runs.append(original(*given)) or runs[-1])
    quick = evaluate(model, make_data(), **options)
    assert runs
    assert ("lost" in name) == (runs[-1] is None)
    monkeypatch.setattr(filtering, "LARGE", 10**9)
    plain = evaluate(model, make_data(), **options)
    assert quick.value == pytest.approx(plain.value, rel=1e-11)
    for one, other in ((quick.gradient, plain.gradient), (quick.curvature, plain.curvature)):
        assert np.max(np.abs(one - other)) < 1e-10 * np.max(np.abs(other))


def test_noise_that_is_still_on_its_way_is_waited_for(monkeypatch):
    """It enters at one end of a pipe and is measured at the other, where the gain stands still until it arrives."""
    cells, count, near = 120, 400, dd.symbols("near")[0]
    xs = [symbol for i in range(cells) for symbol in dd.symbols(f"x{i}")]
    equations = {f"cell {i}": der(xs[i]) == a * ((xs[i - 1] if i else w) - xs[i]) for i in range(cells - 1)}
    equations["last"] = der(xs[-1]) == a * (xs[-2] - xs[-1]) + near
    model = make_line(
        name="pipe",
        equations=equations,
        unknowns=xs,
        inputs=[],
        outputs={"middle": xs[-1]},
        parameters={a: 2.0, s: 0.05},
        disturbances={w: dd.FilteredNoise([1.0], [1.0, 0.8, 1.0]), near: dd.WhiteNoise(intensity=0.1)},
        measurement_noise={"middle": s},
        initial=dict.fromkeys(xs, 0.0),
    )
    values = 0.3 * np.random.default_rng(7).normal(size=count)
    data = dd.Dataset(STEP * np.arange(1, count + 1), outputs={"middle": values}, t0=0.0)
    quick = dd.evaluate(model, data, free=["a", "s"], criterion=dd.Likelihood())
    monkeypatch.setattr(filtering, "LARGE", 10**9)
    plain = dd.evaluate(model, data, free=["a", "s"], criterion=dd.Likelihood())
    assert quick.value == pytest.approx(plain.value, rel=1e-9)
    assert abs(plain.gradient[0]) > 1.0
    np.testing.assert_allclose(quick.gradient, plain.gradient, rtol=1e-7)


def test_the_joint_density_of_all_samples():
    """Cov y(t_i), y(t_j) from the state space of chain and noise, by integrals of its own."""
    count = 12
    model, data = make_line(), make_data(count)
    A = np.zeros((CELLS + 2, CELLS + 2))
    for i in range(CELLS):
        rate = 1.0 if i < CELLS // 2 else 1.3
        A[i, i] = -rate * (2.0 if i < CELLS - 1 else 1.0)
        for beside in (i - 1, i + 1):
            if 0 <= beside < CELLS:
                A[i, beside] = rate
    A[CELLS // 2, CELLS], A[CELLS, CELLS + 1] = 1.0, 1.0
    A[CELLS + 1, CELLS:] = [-1.0, -0.8]
    B = np.zeros(CELLS + 2)
    B[-1] = 0.5
    nodes, weights = np.polynomial.legendre.leggauss(30)
    moved = np.array([expm(0.5 * STEP * (node + 1.0) * A) @ B for node in nodes])
    Q = 0.5 * STEP * np.einsum("k,ki,kj->ij", weights, moved, moved)
    A_d = expm(STEP * A)
    C = np.zeros((2, CELLS + 2))
    C[0, 0] = C[1, CELLS // 2 + 1] = 1.0
    P = np.zeros((CELLS + 2, CELLS + 2))
    P[CELLS:, CELLS:] = 0.5**2 / (2 * 0.8) * np.eye(2)  # of w'' + 0.8 w' + w = 0.5 v at rest, and of w'
    drive = np.zeros(CELLS + 2)
    drive[0] = 1.0
    x, means, covariances = np.concatenate([np.full(CELLS, 0.1), [0.0, 0.0]]), [], []
    inputs = np.sin(np.concatenate([[0.0], STEP * np.arange(1, count + 1)]))
    for k in range(count):
        slope = (inputs[k + 1] - inputs[k]) / STEP
        course = [
            0.5 * STEP * weight * expm(0.5 * STEP * (1.0 - node) * A) @ drive
            * (inputs[k] + slope * 0.5 * STEP * (node + 1.0))
            for node, weight in zip(nodes, weights, strict=True)
        ]  # fmt: skip
        x, P = A_d @ x + sum(course), A_d @ P @ A_d.T + Q
        means.append(C @ x)
        covariances.append(P)
    whole = np.zeros((2 * count, 2 * count))
    for i in range(count):
        for j in range(i + 1):
            block = C @ np.linalg.matrix_power(A_d, i - j) @ covariances[j] @ C.T
            whole[2 * i : 2 * i + 2, 2 * j : 2 * j + 2] = block
            whole[2 * j : 2 * j + 2, 2 * i : 2 * i + 2] = block.T
    whole += 0.05**2 * np.eye(2 * count)
    y = np.column_stack([data.outputs[name].values for name in ("first", "middle")]).ravel()
    expected = multivariate_normal(np.concatenate(means), whole).logpdf(y)
    assert evaluate(model, data).loglik == pytest.approx(expected, rel=1e-10)


def test_slopes_of_two_hundred_states_by_differences():
    model, data, free = make_line(200), make_data(40), ["a", "b"]

    def find(values):
        return dd.evaluate(model, data, free=free, values=values, criterion=dd.Likelihood())

    middle = find({})
    for k, name in enumerate(free):
        value, width = model.parameters[name].value, 1e-4
        ends = [find({name: value + sign * width}).value for sign in (1, -1)]
        wanted = (ends[0] - ends[1]) / (2 * width)
        assert middle.gradient[k] == pytest.approx(wanted, rel=1e-6, abs=1e-6 * np.abs(middle.gradient).max())
