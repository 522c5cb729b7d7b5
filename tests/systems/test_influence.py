"""What disturbances reach, and whether they can move a mean: cases decided by hand, and means by simulation."""

import numpy as np
import pytest

import daedal as dd
from daedal import der
from daedal.systems import build
from daedal.systems.influence import find_influenced, moves_the_mean

x, v, y, z, f, s, u, a, b, w = dd.symbols("x v y z f s u a b w")
NOISE = dd.FilteredNoise(numerator=[1.0], denominator=[1.0, 1.0], grid=0.05)
SMOOTH = dd.FilteredNoise(numerator=[1.0], denominator=[1.0, 3.0, 3.0, 1.0], grid=0.05)


def model(equations, unknowns, outputs, disturbances=(w,), **rest):
    listed = {f"e{i}": equation for i, equation in enumerate(equations)}
    named = {f"y{i}": output for i, output in enumerate(outputs)}
    noise = disturbances if isinstance(disturbances, dict) else dict.fromkeys(disturbances, NOISE)
    return dd.Model(name="m", equations=listed, unknowns=unknowns, outputs=named, disturbances=noise, **rest)


def verdict(*arguments, **rest):
    return moves_the_mean(build(model(*arguments, **rest)))


def oscillator(force, spring=x, output=x, **rest):
    return verdict([der(x) == v, der(v) == -spring - 0.3 * v + force], [x, v], [output], inputs=[u], **rest)


@pytest.mark.parametrize(
    ("force", "moved"),
    [
        (u + w, False),
        (u + w**2, True),
        (u * w, False),
        (np.sin(dd.time) * w / (1 + u**2), False),
        (u / (2 + w), True),
        (np.exp(w), True),
        (np.sign(w), True),
        (dd.where(u > 0, w, -w), False),
        (dd.where(w > 0, u, 0.0), True),
        (np.maximum(w, u), True),
        (w * x, True),
        (u * x + w, False),
    ],
    ids=str,
)
def test_force_on_a_linear_oscillator(force, moved):
    assert oscillator(force) == {"w": moved}


def test_nonlinear_spring():
    assert oscillator(u + w, spring=x + x**3) == {"w": True}


@pytest.mark.parametrize(("output", "moved"), [(x**2, True), (np.abs(v), True), (x * u + der(v), False), (u**2, False)])
def test_outputs(output, moved):
    assert oscillator(w, output=output) == {"w": moved}


def test_nonlinear_stage_before_a_disturbed_linear_plant():
    equations = [der(z) == -(z**3) + u, der(x) == z**2 - x + np.cos(z) * w]
    assert verdict(equations, [z, x], [x, z**2], inputs=[u]) == {"w": False}


def test_coefficient_that_nothing_disturbs_may_multiply():
    equations = [der(z) == -(z**3) + u, der(x) == -z * x + w]
    assert verdict(equations, [z, x], [x], inputs=[u]) == {"w": False}


def test_product_of_two_disturbed_states_counts_for_both():
    equations = [der(x) == -x + a, der(y) == -y + b, der(z) == x * y - z]
    assert verdict(equations, [x, y, z], [z], (a, b)) == {"a": True, "b": True}


def test_each_disturbance_is_judged_for_itself():
    equations = [der(x) == -(x**3) + a, der(y) == x - y + b]
    assert verdict(equations, [x, y], [y], (a, b)) == {"a": True, "b": False}


def test_joint_disturbances_are_judged_together():
    joint = dd.StateSpaceNoise(A=[[-1.0]], B=[[1.0]], C=[[1.0], [2.0]], grid=0.05)
    equations = [der(x) == -(x**3) + a, der(y) == x - y + b]
    assert verdict(equations, [x, y], [y], {(a, b): joint, w: NOISE}) == {("a", "b"): True, "w": False}


def test_nonlinear_part_that_reaches_no_output():
    equations = [der(x) == -x + w, der(z) == -(z**3) + x**2, s == np.exp(x)]
    assert verdict(equations, [x, z, s], [x]) == {"w": False}
    assert verdict(equations, [x, z, s], [x, s]) == {"w": True}


def test_disturbance_that_reaches_no_output():
    system = build(model([der(x) == -(x**3) + w, der(y) == -y + b], [x, y], [y], (w, b)))
    assert moves_the_mean(system) == {"w": False, "b": False}
    assert find_influenced(system, ["w"]) == frozenset()
    assert find_influenced(system, ["b"])


def test_model_without_outputs():
    assert verdict([der(x) == -(x**3) + w], [x], []) == {"w": False}


def test_disturbance_straight_into_an_output():
    system = build(model([der(x) == -x], [x], [x + w, x * b], (w, b)))
    assert moves_the_mean(system) == {"w": False, "b": False}


def test_direction_through_algebraic_equations():
    equations = [der(x) == -(x**3) + s, s == u, f == x - y + w, der(y) == f]
    system = build(model(equations, [x, s, f, y], [y], inputs=[u]))
    assert find_influenced(system, ["w"]) == {"f", "der(y)", "y"} & {*system.states, *system.tops}
    assert moves_the_mean(system) == {"w": False}


def test_algebraic_loop_is_influenced_as_a_whole():
    equations = [x + y == w, x - 2 * y + np.tanh(y) == u]
    assert verdict(equations, [x, y], [x], inputs=[u]) == {"w": True}


@pytest.mark.parametrize("push", [w, w**2], ids=str)
def test_pendulum_of_index_three(push):
    x, y, vx, vy, tension = dd.symbols("x y vx vy tension")
    equations = [
        der(x) == vx,
        der(y) == vy,
        0.3 * der(vx) == tension * x - 8 * np.abs(vx) * vx + u + push,
        0.3 * der(vy) == tension * y - 8 * np.abs(vy) * vy - 0.3 * 9.81,
        x**2 + y**2 == 6.25**2,
    ]
    held = {"initial": {x: 0.0, vx: 0.0}, "guess": {y: -6.25}}
    assert verdict(equations, [x, y, vx, vy, tension], [np.arctan2(x, -y)], inputs=[u], **held) == {"w": True}


def test_pendulum_that_nothing_disturbs_drives_a_disturbed_lag():
    x, y, vx, vy, tension = dd.symbols("x y vx vy tension")
    equations = [
        der(x) == vx,
        der(y) == vy,
        der(vx) == tension * x,
        der(vy) == tension * y - 9.81,
        x**2 + y**2 == 1,
        der(z) == tension - x * z + w,
    ]
    for held in ({}, {x: 0.1, vx: 0.0, z: 0.0}, {x: 0.1, vx: 0.0, y: -0.99, z: 0.0}):
        given = {"initial": held, "guess": {y: -1.0} if y not in held else {}}
        assert verdict(equations, [x, y, vx, vy, tension, z], [z, x * y], **given) == {"w": False}


@pytest.mark.parametrize("held", [{}, {x: 0.0}])
def test_linear_drive_of_index_two(held):
    equations = [2 * der(x) == f - x + w, 3 * der(y) == -f - y, x == 4 * y]
    assert verdict(equations, [x, y, f], [x, f], initial=held) == {"w": False}


def test_constraint_with_the_disturbance_inside():
    equations = [der(x) == v, der(v) == f, x == w]
    assert verdict(equations, [x, v, f], [f], {w: SMOOTH}) == {"w": False}
    equations = [der(x) == v, der(v) == f, x**3 + x == w]
    assert verdict(equations, [x, v, f], [f], {w: SMOOTH}) == {"w": True}


def test_nonlinear_constraint_upstream_only():
    equations = [der(x) == v, der(v) == f, x**3 + x == u, der(z) == f - z + w]
    assert verdict(equations, [x, v, f, z], [z, x**2], inputs=[u]) == {"w": False}


def test_sensor_behind_the_output():
    equations = [der(x) == -x + w, 0.1 * der(s) == np.tanh(x) - s]
    assert verdict(equations, [x, s], [x]) == {"w": False}
    assert verdict(equations, [x, s], [s]) == {"w": True}


@pytest.mark.parametrize(("held", "moved"), [({x: 0.0, y: 0.0}, False), ({y: 0.0, der(y): 0.0}, True)])
def test_state_that_follows_the_disturbance_at_the_start(held, moved):
    equations = [der(x) == -(x**3), der(y) == x - y + w]
    system = build(model(equations, [x, y], [y], initial=held))
    assert moves_the_mean(system) == {"w": moved}
    assert ("x" in find_influenced(system, ["w"])) == moved


def test_start_that_holds_too_much_is_judged_carefully():
    equations = [der(x) == -(x**3), der(y) == x - y + w]
    held = {x: 0.0, der(x): 0.0, y: 0.0, der(y): 0.0}
    assert verdict(equations, [x, y], [y], initial=held) == {"w": False}


CASES = {
    "linear": (u + x - 2 * x + w, {"w": False}),
    "cubic": (u - x**3 + 2 * w, {"w": True}),
    "square": (u - x + w**2, {"w": True}),
    "modulated": (u - (1 + 0.5 * u) * x + u * w, {"w": False}),
}


@pytest.mark.parametrize("name", CASES)
def test_means_by_simulation(name):
    rate, expected = CASES[name]
    system = model([der(x) == rate], [x], [x], inputs=[u], initial={x: 0.0})
    times = np.linspace(0.0, 4.0, 41)
    signal = dd.Signal(times, 1.0 + np.sin(times))
    many = dd.simulate(system, times, inputs={"u": signal}, realizations=2000, rng=3)["y0"][:, 1:]
    quiet = dd.simulate(system, times, inputs={"u": signal})["y0"][1:]
    moved = bool(np.any(np.abs(many.mean(axis=0) - quiet) > 5 * many.std(axis=0) / np.sqrt(len(many))))
    assert {"w": moved} == moves_the_mean(build(system)) == expected
