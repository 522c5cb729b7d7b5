"""The likelihood of linear models against the joint Gaussian density of all samples, by brute force."""

from collections.abc import Mapping
from functools import cache

import numpy as np
import pytest

import daedal as dd
from batteries.joint_densities import CASES, MOTOR, motor, two_outputs
from batteries.joint_gaussian import Gaussian, difference
from batteries.oscillator import (
    IRREGULAR,
    NUMBERS,
    REGULAR,
    Case,
    a,
    b,
    d,
    oscillator,
    q,
    s,
    samples,
    signal,
    u,
    v,
    w,
    white,
    white_density,
    x,
)
from daedal import der


@cache
def evaluated(name: str) -> tuple[Case, dd.Cost]:
    case = CASES[name]()
    return case, case.evaluate()


@pytest.mark.parametrize("name", CASES)
def test_value_is_the_joint_density(name):
    case, found = evaluated(name)
    expected = case.density(case.values)
    assert not found.failure
    assert found.value == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_gradient_is_that_of_the_joint_density(name):
    case, found = evaluated(name)
    expected = [
        difference(lambda value, name=name: case.density({**case.values, name: value}), at, 1e-3 * abs(at))
        for name, at in ((name, case.values[name]) for name in found.names)
    ]
    scale = np.abs(expected) + 1e-3 * np.max(np.abs(expected))
    assert np.max(np.abs(found.gradient - expected) / scale) < 1e-6


def test_diffuse_start_of_the_motor_up_to_the_unit_of_its_angle():
    """A flat prior of what no sample shows has no size: differences between parameter values do not contain it."""
    case, other = motor("diffuse"), {"shaft.c": 2.3, "disc.J": 0.045}
    logliks = [case.evaluate(**values).loglik for values in ({}, other)]
    assert logliks[1] - logliks[0] == pytest.approx(case.density(MOTOR) - case.density(other), rel=1e-10)


@pytest.mark.parametrize("treatment", ["free", "diffuse"])
def test_open_values_that_samples_cannot_tell_apart(treatment):
    """Two equal lags of which only the sum is measured: one open value is enough."""
    model = dd.Model(
        name="pair", equations={"one": der(x) == -a * x + w, "two": der(v) == -a * v}, unknowns=[x, v],
        outputs={"y": x + b * v}, parameters={a: 0.8, b: 2.0, q: 0.6, s: 0.15},
        disturbances={w: dd.WhiteNoise(intensity=q)}, measurement_noise={"y": s},
    )  # fmt: skip
    data = dd.Dataset(IRREGULAR, outputs={"y": samples(20)})

    def describe(p: Mapping[str, float]) -> Gaussian:
        return Gaussian(np.array([[-p["a"]]]), np.array([[p["q"]]]), np.zeros(1), np.zeros((1, 1)), open=np.eye(1))

    def density(p: Mapping[str, float]) -> float:
        return white_density(describe(p), data, 0.15, treatment, describe(case.values))

    case = Case(model, data, ["a", "b", "q"], density, criterion=dd.Likelihood(initial=treatment))
    found = case.evaluate()
    assert found.value == pytest.approx(density(case.values), rel=1e-12)
    for k, name in enumerate(("a", "b", "q")):
        expected = difference(lambda value, name=name: density({**case.values, name: value}), case.values[name], 1e-3)
        assert found.gradient[k] == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_feedthrough_that_starts_at_zero_counts_once_it_is_not():
    case = two_outputs(("y", "force"), False)
    silent = Case(case.model.with_parameters({"d": 0.0}), case.data, case.free, case.density)
    assert silent.evaluate().value == pytest.approx(case.density(case.values), rel=1e-10)
    at_zero = silent.evaluate(d=0.0)
    assert at_zero.value == pytest.approx(case.density({**case.values, "d": 0.0}), rel=1e-10)
    expected = difference(lambda d: case.density({**case.values, "d": d}), 0.0, 1e-3)
    assert at_zero.gradient[at_zero.names.index("d")] == pytest.approx(expected, rel=1e-6)


def test_a_model_without_states_is_plain_least_squares():
    values, push = samples(24), samples(25)
    model = dd.Model(
        name="line", equations={"law": x == b * u + d}, unknowns=[x], inputs=[u], outputs={"y": x},
        parameters={b: 1.3, d: 0.4, s: 0.5}, measurement_noise={"y": s},
    )  # fmt: skip
    data = dd.Dataset(REGULAR, inputs={"u": push}, outputs={"y": values})
    for treatment in ("free", "diffuse", "guess"):
        found = dd.evaluate(model, data, free=["b", "d", "s"], criterion=dd.Likelihood(initial=treatment))
        r = values - 1.3 * push - 0.4
        assert found.value == pytest.approx(np.sum(r**2) / 0.5 + 4 * np.log(2 * np.pi * 0.25), rel=1e-12)
        assert found.gradient == pytest.approx([-r @ push / 0.25, -r.sum() / 0.25, 16.0 - r @ r / 0.125], rel=1e-10)


def test_one_sample():
    model = oscillator()
    data = dd.Dataset([1.0], inputs={"u": signal()}, outputs={"y": [0.3]}, t0=0.0)
    found = dd.evaluate(model, data, free=["a"], criterion=dd.Likelihood())
    assert found.value == pytest.approx(white_density(white(NUMBERS), data, NUMBERS["s"]), rel=1e-10)
