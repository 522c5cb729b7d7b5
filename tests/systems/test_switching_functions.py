"""Which parts of equations are switches, what decides them, and which are none."""

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.systems import find_sliding
from daedal.systems.switching.borders import _Sides

x, v, y, u, k, a, px, py, vx, vy, lam = dd.symbols("x v y u k a px py vx vy lam")


def build(*rates):
    states = (x, v)[: len(rates)]
    equations = {f"of {state}": der(state) == rate for state, rate in zip(states, rates, strict=True)}
    return dd.build(
        dd.Model(
            name="m", equations=equations, unknowns=list(states), initial=dict.fromkeys(states, 1.0),
            parameters={k: 1.0, a: 0.5}, inputs=[u],
        )
    )  # fmt: skip


def list_switches(*rates):
    switching = build(*rates).reduction.switching
    return [] if switching is None else [switch.text for switch in switching.switches]


@pytest.mark.parametrize(
    ("rate", "texts"),
    [
        (-k * np.sign(x), ["sign(x)"]),
        (np.where(x < 1, 2 * k, 0.5), ["x < 1"]),
        (np.where((x < 1) & (x > -1), 1, 2), ["x < 1", "-1 < x"]),
        (k + np.abs(x), ["abs(x)"]),
        (np.maximum(x, k), ["maximum(x, k)"]),
        (np.where(dd.time < a, 1, 0), ["time < a"]),
        (-np.sign(x) - np.abs(x), ["sign(x)"]),  # one border
        (-np.sign(2 * x) + np.sign(-x) * np.exp(-np.abs(x)), ["sign(-x)"]),
        (np.clip(x, -1, 1), ["maximum(x, -1)", "minimum(maximum(x, -1), 1)"]),
        (-dd.hysteresis(x, -0.2, 0.3), ["hysteresis(x, -0.2, 0.3)"]),
    ],
    ids=str,
)
def test_switches_of_states_and_free_times(rate, texts):
    assert list_switches(rate) == texts


@pytest.mark.parametrize(
    "rate",
    [
        -k * x,
        -np.abs(x) * x,  # the slope is continuous
        np.sign(x) * np.sqrt(np.abs(x)),  # the slope is infinite
        np.where(k > 0.5, 1.0, 2.0) * x,  # of parameters alone
        np.tanh(x / 1e-3),
    ],
    ids=str,
)
def test_what_needs_no_switch(rate):
    assert list_switches(rate) == []


@pytest.mark.parametrize("rate", [-k * x, np.tanh(x), np.exp(-x) * u], ids=str)
def test_models_without_conditions_have_none(rate):
    assert build(rate).reduction.switching is None


def test_conditions_on_time_and_inputs_are_known_before():
    switching = build(np.where(dd.time < 5.03, 1, 0) - np.where(u > 0.5, x, 2 * x)).reduction.switching
    assert switching is not None
    assert not switching.switches
    assert len(switching.known) == 2


def test_held_values_are_listed():
    switching = build(-dd.hold(k * x, every=0.1)).reduction.switching
    assert switching is not None
    assert list(switching.held) == ["hold(k*x, 0.1)"]


def find_places(system):
    sliding = find_sliding(system)
    return () if sliding is None else sliding.places


def test_friction_may_slide_and_a_relay_through_a_lag_may_not():
    assert find_places(build(-np.sign(x))) == (0,)
    assert find_places(build(v, -x - np.sign(x))) == ()  # the sign does not act on the rate of x
    assert find_places(build(v, -x - np.sign(v))) == (0,)
    assert find_places(build(1 + np.abs(x))) == ()  # a kink
    assert find_places(build(np.where(dd.time < a, 1, 0))) == ()


def test_friction_at_the_pin_of_an_index_three_pendulum_may_slide():
    spin = px * vy - py * vx
    equations = {
        "a": der(px) == vx,
        "b": der(py) == vy,
        "c": der(vx) == lam * px + k * np.abs(lam) * np.sign(spin) * py,
        "d": der(vy) == lam * py - 9.81 - k * np.abs(lam) * np.sign(spin) * px,
        "rod": px**2 + py**2 == 1,
    }
    model = dd.Model(
        name="pendulum", equations=equations, unknowns=[px, py, vx, vy, lam], parameters={k: 0.1},
        initial={px: 0.5, vx: 0.0}, guess={py: -1.0},
    )  # fmt: skip
    system = dd.build(model)
    switching = system.reduction.switching
    assert switching is not None
    jumps = {switch.text: switch.jumps for switch in switching.switches}
    assert jumps["abs(lam)"] is False
    assert [switching.switches[place].jumps for place in find_places(system)] == [True]
    assert dd.analyze(model).index == 3


def nest(count, part):
    formula = x
    for number in range(count):
        formula = np.maximum(formula, part(number))
    return formula


def test_each_of_many_nested_maxima_is_written_briefly():
    """All that is inside of each made the words of a hundred a hundred times as long."""
    texts = list_switches(-nest(80, lambda i: 0.1 * i * x - 0.01 * x**2 - 0.01 * i**2))
    assert len(texts) == 80
    assert texts[0] == "maximum(x, -(0.01*x**2))"
    assert texts[-1].startswith("maximum(..., ")
    assert max(map(len, texts)) < 2000


def test_points_on_both_sides_of_many_borders_are_looked_at_at_once(monkeypatch):
    """As many calls for each of forty as for each of ten, and few."""
    calls = []
    evaluate = _Sides.evaluate
    monkeypatch.setattr(_Sides, "evaluate", lambda self, *given: calls.append(0) or evaluate(self, *given))
    counts = []
    for count in (10, 40):
        calls.clear()
        list_switches(-nest(count, lambda i: 0.1 * i * x - i * v), -v)
        counts.append(len(calls) / count)
    assert max(counts) <= 20
