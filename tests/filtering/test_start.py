"""Where the state begins: what is held, what is open, what contradicts."""

import numpy as np
import pytest

import daedal as dd
from batteries.joint_gaussian import difference
from daedal import der

x, v, z, u, w, a, b, s = dd.symbols("x v z u w a b s")
TIMES = np.arange(12) * 0.1
VALUES = np.random.default_rng(8).normal(size=12)


def model(**changes):
    fields = {
        "name": "cart",
        "equations": {"rate": der(x) == v, "force": der(v) == -a * v + u + w, "sensor": z == x + b * u},
        "unknowns": [x, v, z],
        "inputs": [u],
        "outputs": {"y": x},
        "parameters": {a: 0.7, b: 0.5},
        "disturbances": {w: dd.WhiteNoise(intensity=0.3)},
        "measurement_noise": {"y": 0.2},
        "initial": {x: 0.4, v: -0.1},
    }
    return dd.Model(**fields | changes)


DATA = dd.Dataset(TIMES, inputs={"u": np.cos(TIMES)}, outputs={"y": VALUES})


def cost(made, free=("a", "b"), values=None, **options):
    return dd.evaluate(made, DATA, free=list(free), criterion=dd.Likelihood(**options), values=values)


def test_an_algebraic_variable_held_instead_of_the_state_it_determines():
    """z = x + b u(0): holding z at 0.9 is holding x at 0.9 − b."""
    through = cost(model(initial={z: 0.9, v: -0.1}))
    direct = cost(model(initial={x: 0.9 - b, v: -0.1}))
    assert through.value == pytest.approx(direct.value, rel=1e-12)
    assert through.gradient == pytest.approx(direct.gradient, rel=1e-9)
    assert abs(through.gradient[1]) > 0.1


def test_a_value_held_twice_must_agree():
    assert cost(model(initial={x: 0.4, v: -0.1, z: 0.4 + b})).value == pytest.approx(cost(model()).value, rel=1e-12)
    found = cost(model(initial={x: 0.4, v: -0.1, z: 3.0}))
    assert not np.isfinite(found.value)
    assert "'z'" in found.failure


def test_what_a_disturbance_determines_cannot_be_held():
    made = model(
        equations={"rate": der(x) == v, "force": der(v) == -a * v + u, "sensor": z == b * w},
        disturbances={w: dd.FilteredNoise.low_pass(std=1.0, time_constant=0.5)},
        initial={x: 0.0, v: 0.0, z: 1.0},
    )
    with pytest.raises(dd.DaedalError, match=r"'z' cannot be held.*disturbance"):
        cost(made)


@pytest.mark.parametrize("opened", [("x", "v"), ("v",)])
def test_guessed_values_are_held_and_through_algebraic_variables_too(opened):
    held = {name: value for name, value in {"x": 0.4, "v": -0.1}.items() if name not in opened}
    made = model(initial=held, guess={"x": 0.4, "v": -0.1})
    assert cost(made, initial="guess").value == pytest.approx(cost(model()).value, rel=1e-12)
    assert cost(made, initial="guess").value > cost(made).value


def test_free_start_is_the_best_of_all_held_ones():
    free = cost(model(initial={}), initial="free")
    tried = [
        cost(model(initial={x: b, v: a}), values={"a": second, "b": first}).value
        for first, second in ((0.3, 0.7), (0.0, 0.7), (0.3, 0.2))
    ]
    assert min(tried) > free.value - 1e-9
    # Held at what the free start finds, by search over both values.
    x0, v0 = dd.symbols("x0 v0")
    made = model(initial={x: x0, v: v0}, parameters={a: 0.7, b: 0.5, x0: 0.0, v0: 0.0})
    first = cost(made, ("x0", "v0"))
    best = -np.linalg.solve(first.curvature, first.gradient)
    assert cost(made, ("x0", "v0"), {"x0": best[0], "v0": best[1]}).value == pytest.approx(free.value, rel=1e-12)


def test_diffuse_start_is_the_limit_of_a_wide_prior():
    """Up to a constant: the density of the prior, √(2π) deviation for each value."""
    diffuse = cost(model(initial={}), initial="diffuse")
    wide = 1e4
    prior = cost(model(initial={x: 0.0, v: 0.0}), initial_std={x: wide, v: wide})
    constant = 2.0 * np.log(wide * np.sqrt(2.0 * np.pi))
    assert prior.value - constant == pytest.approx(diffuse.value, rel=1e-6)
    slopes = [
        difference(lambda number, name=name: flat_cost({name: number}), at, 1e-3 * at)
        for name, at in (("a", 0.7), ("b", 0.5))
    ]
    assert prior.gradient == pytest.approx(slopes, rel=1e-6, abs=1e-6)


def flat_cost(values):
    """With the flat prior alone: what a fit minimises has its pull taken out."""
    return -cost(model(initial={}), values=values, initial="diffuse").loglik


def test_a_start_that_stops_determining_the_state_is_a_failure_not_a_crash():
    made = model(
        equations={"rate": der(x) == v, "force": der(v) == -a * v + u + w, "sensor": z == b * x},
        initial={z: 0.3, v: 0.0},
    )
    found = cost(made, values={"b": 0.0})
    assert not np.isfinite(found.value)
    assert "'cart'" in found.failure


def test_standard_deviation_of_what_is_not_held_is_refused():
    with pytest.raises(dd.DaedalError, match=r"'z'.*does not hold") as caught:
        cost(model(), initial_std={"z": 1.0})
    assert "'x'" in caught.value.remedy
