"""Gains that have settled change nothing; blocks of intervals change nothing; digits are kept."""

import mpmath
import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.filtering import filter as filtering

x, v, w, a, q, s = dd.symbols("x v w a q s")
COUNT, STEP = 1500, 0.1
NOISY = np.random.default_rng(3).normal(size=COUNT)


def model(slow: float = 0.8, **changes) -> dd.Model:
    fields = {
        "name": "lag",
        "equations": {"rate": der(x) == -a * x + w},
        "unknowns": [x],
        "outputs": {"y": x},
        "parameters": {a: slow, q: 0.6, s: 0.3},
        "disturbances": {w: dd.WhiteNoise(intensity=q)},
        "measurement_noise": {"y": s},
        "initial": {x: 0.0},
    }
    return dd.Model(**fields | changes)


def gaps(*missing: slice) -> dd.Dataset:
    values = NOISY.copy()
    for part in missing:
        values[part] = np.nan
    return dd.Dataset(np.arange(COUNT) * STEP, outputs={"y": values})


TWO = {
    "equations": {"rate": der(x) == -a * x + w + v, "drift": der(v) == -0.3 * v},
    "unknowns": [x, v],
    "outputs": {"y": x, "z": v},
    "measurement_noise": {"y": s, "z": 0.2},
}
RATES = dd.Dataset(
    outputs={
        "y": dd.Samples(np.arange(COUNT) * STEP, NOISY),
        "z": dd.Samples(np.arange(COUNT // 3) * 3 * STEP, NOISY[: COUNT // 3]),
    }
)
CASES = {
    "regular": (model(), gaps(), {}),
    "gaps": (model(), gaps(slice(500, 503), slice(900, 901)), {}),
    "late": (model(0.05).with_parameters({"q": 0.001}), gaps(), {}),  # some hundred cycles
    "slow pole": (model(1e-5).with_parameters({"q": 1e-8}), gaps(slice(700, 701)), {}),
    "unobservable integrator": (
        model(equations={"rate": der(x) == -a * x + w, "sum": der(v) == x}, unknowns=[x, v], initial={x: 0.0, v: 0.0}),
        gaps(slice(700, 701)),
        {},
    ),
    "unobservable and unstable": (
        model(
            equations={"rate": der(x) == -a * x + w, "flight": der(v) == 0.3 * v + x},
            unknowns=[x, v],
            initial={x: 0.0, v: 0.0},
        ),
        gaps(slice(700, 701)),
        {},
    ),
    "unstable": (model(-0.4), gaps(slice(700, 701)), {}),
    "two rates": (model(**TWO), RATES, {}),
    "two rates, open start": (model(**TWO | {"initial": {}}), RATES, {"initial": "diffuse"}),
    "averages": (
        model(outputs={"mean": x}, measurement_noise={"mean": s}).with_integrating_sampling({"mean": STEP}),
        dd.Dataset(np.arange(COUNT) * STEP, outputs={"mean": NOISY}),
        {},
    ),
}
NEVER = {"slow pole", "two rates", "two rates, open start"}  # a cycle is what happens until the next sample time


@pytest.mark.parametrize("name", CASES)
def test_settled_gains_change_nothing(name, monkeypatch):
    made, data, options = CASES[name]
    settled = []
    original = filtering._Run._advance_steadily
    monkeypatch.setattr(
        filtering._Run, "_advance_steadily", lambda self, *args: settled.append(1) or original(self, *args)
    )

    def evaluate():
        return dd.evaluate(made, data, free=["a", "q", "s"], criterion=dd.Likelihood(**options))

    quick = evaluate()
    assert settled or name in NEVER
    monkeypatch.setattr(filtering, "WORTH", 10**9)
    settled.clear()
    plain = evaluate()
    assert not settled
    assert quick.value == pytest.approx(plain.value, rel=1e-10)
    assert np.max(np.abs(quick.gradient - plain.gradient)) < 1e-10 * np.max(np.abs(plain.gradient))
    assert np.max(np.abs(quick.curvature - plain.curvature)) < 1e-10 * np.max(np.abs(plain.curvature))


def test_blocks_of_intervals_change_nothing(monkeypatch):
    times = np.cumsum(np.random.default_rng(1).uniform(0.05, 0.2, 300))
    data = dd.Dataset(times, inputs={}, outputs={"y": NOISY[:300]})
    made = model()
    whole = dd.evaluate(made, data, free=["a", "q"], criterion=dd.Likelihood())
    monkeypatch.setattr(filtering, "BLOCK", 200)
    blocks = dd.evaluate(made, data, free=["a", "q"], criterion=dd.Likelihood())
    assert blocks.value == pytest.approx(whole.value, rel=1e-12)
    assert np.allclose(blocks.gradient, whole.gradient, rtol=1e-11)


def test_one_exponential_for_intervals_that_repeat(monkeypatch):
    """Samples at one of three intervals: three matrices, however many samples."""
    asked = []
    original = filtering.van_loan_slopes
    monkeypatch.setattr(
        filtering, "van_loan_slopes", lambda A, Q, h, *rest: asked.append(np.size(h)) or original(A, Q, h, *rest)
    )
    steps = np.random.default_rng(2).choice([0.1, 0.25, 0.4], COUNT - 1)
    data = dd.Dataset(np.concatenate([[0.0], np.cumsum(steps)]), outputs={"y": NOISY})
    dd.evaluate(model(), data, free=["a"], criterion=dd.Likelihood())
    assert max(asked) <= 3


@pytest.mark.parametrize("accuracy", [1e-3, 1e-6, 1e-8])
def test_accurate_sensors_keep_digits(accuracy):
    """A double integrator sampled fast by an accurate sensor, against the same filter in fifty digits."""
    count, step, spread = 40, 1e-2, 0.5
    values = 1e-3 * np.cumsum(np.random.default_rng(5).normal(size=count))
    made = dd.Model(
        name="puck", equations={"rate": der(x) == v, "force": der(v) == w}, unknowns=[x, v], outputs={"y": x},
        parameters={q: spread, s: accuracy}, disturbances={w: dd.WhiteNoise(intensity=q)}, measurement_noise={"y": s},
        initial={x: 0.0, v: 0.0},
    )  # fmt: skip
    data = dd.Dataset(step * np.arange(1, count + 1), outputs={"y": values}, t0=0.0)
    found = dd.evaluate(made, data, free=["q", "s"], criterion=dd.Likelihood())
    with mpmath.workdps(50):
        h, r, intensity = mpmath.mpf(step), mpmath.mpf(accuracy) ** 2, mpmath.mpf(spread)
        A = mpmath.matrix([[1, h], [0, 1]])
        Q = intensity * mpmath.matrix([[h**3 / 3, h**2 / 2], [h**2 / 2, h]])
        state, P, total = mpmath.matrix([0, 0]), mpmath.zeros(2), mpmath.mpf(0)
        for y in values.tolist():
            state, P = A * state, A * P * A.T + Q
            variance, e = P[0, 0] + r, mpmath.mpf(y) - state[0]
            total += (e**2 / variance + mpmath.log(2 * mpmath.pi * variance)) / 2
            gain = P[:, 0] / variance
            state, P = state + gain * e, P - gain * P[0, :]
        expected = float(total)
    assert found.value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("rate", [1e7, 1e10, 1e13])
def test_a_mode_that_is_very_fast_is_as_good_as_algebraic(rate):
    b = dd.symbol("b")
    stiff = {
        "unknowns": [x, v], "parameters": {a: 0.8, b: 0.5, q: 0.6, s: 0.3}, "initial": {x: 0.0, v: 0.5},
    }  # fmt: skip
    equations = {"rate": der(x) == -a * x + v + w}
    data = dd.Dataset(np.arange(200) * STEP, outputs={"y": NOISY[:200]})

    def cost(law, **changes):
        made = model(**stiff | {"equations": {**equations, "law": law}} | changes)
        return dd.evaluate(made, data, free=["a", "b", "q"], criterion=dd.Likelihood())

    fast = cost(der(v) / rate == -v + b + 0.1 * x)
    limit = cost(0 * x == -v + b + 0.1 * x, initial={x: 0.0})
    assert fast.value == pytest.approx(limit.value, rel=1e-10 + 1.0 / rate)
    assert fast.gradient == pytest.approx(limit.gradient, rel=1e-8 + 10.0 / rate)
