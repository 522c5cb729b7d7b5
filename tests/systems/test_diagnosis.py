"""Why there are no initial values, in the user's names."""

import numpy as np
import pytest

import catalogue
import daedal as dd
from catalogue.small import model, pendulum
from daedal import der
from daedal.errors import InitialValueError
from daedal.systems import build, find_initial_values

x, y, z, v, h, q, p = dd.symbols("x y z v h q p")
L, C, k = dd.symbols("L C k")


def refused(example, message):
    with pytest.raises(InitialValueError, match=message) as caught:
        find_initial_values(build(example))
    return str(caught.value)


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_held_values_that_contradict_the_constraint(size):
    message = "The values held at the start for 'y' and 'x' contradict the equation 'rod' of model 'test'"
    text = refused(pendulum(size, initial={x: 0.6 * L, y: -0.7 * L}), message)
    assert "Release one of 'y' and 'x' by moving it from initial to guess." in text


def test_too_many_held():
    message = "contradict the equation 'rod'.* 3 values are held, but the model has 2 degrees of freedom"
    refused(pendulum(initial={x: 1.0, y: -6.25, der(x): 0.0}), message)


def test_velocities_that_contradict_each_other():
    text = refused(pendulum(initial={x: 0.6 * L, der(x): 1.0, der(y): 1.0}, guess={y: -L}), "held at the start for")
    assert "'der(x)'" in text
    assert "'der(y)'" in text
    assert "'rod'" in text


def test_everything_held():
    text = refused(model([der(x) == -x, y == 2 * x], [x, y], initial={x: 1.0, y: 1.0}), "contradict the equation 'e1'")
    assert "'x'" in text
    assert "'y'" in text


@pytest.mark.parametrize("size", [1.0, 1e-12])
def test_charges_that_contradict_voltages(size):
    # A picofarad: both values lie far below any absolute tolerance.
    capacitor = model(
        {"charge": q == C * v, "current": der(q) == -k * v},
        [q, v],
        parameters={C: size, k: 1.0},
        initial={q: size, v: 0.5},
    )
    text = refused(capacitor, "contradict the equation 'charge'")
    assert "'q' and 'v'" in text or "'v' and 'q'" in text
    consistent = capacitor.with_initial({v: 1.0})
    assert find_initial_values(build(consistent)).redundant != ()


def test_infeasible():
    message = "No initial values were found for model 'test': equation 'rod' is not satisfied near the guess"
    text = refused(pendulum(initial={x: 7.0, der(x): 0.0}, guess={y: -L}), message)
    assert "Give better guesses for 'y', or other values in initial." in text


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_infeasible_in_any_unit(size):
    refused(pendulum(size, initial={x: 1.5 * L}, guess={y: -L}), "equation 'rod' is not satisfied near the guess")


def test_no_slope_at_the_guess():
    text = refused(pendulum(initial={x: 0.0, der(x): 0.0}), "at the guess, equation 'rod' does not change with 'y'")
    assert "Give another guess for 'y', or other values in initial." in text


def test_no_slope_in_several():
    text = refused(pendulum(), "equation 'rod' does not change with 'x' and 'y'")
    assert text.endswith("Give another guess for 'x' and 'y'.")  # nothing is held that could be changed


def test_infeasible_where_the_guess_has_no_slope():
    text = refused(pendulum(1.0, initial={x: 1.5}), "equation 'rod' does not change with 'y'")
    assert text.endswith("Give another guess for 'y', or other values in initial.")


def test_no_slope_although_another_equation_has_the_larger_residual():
    tank = model(
        {"tank": der(h) == -q, "pressure": p == 9810 * h, "outflow": v**2 == 2 * p / 1000, "flow": q == 0.01 * v},
        [q, h, p, v],
        initial={h: 1.0},
    )
    refused(tank, "equation 'outflow' does not change with 'v'")
    system = build(tank.with_guess({v: 1.0}))
    tops = dict(zip(system.tops, find_initial_values(system).tops, strict=True))
    assert tops["v"] == pytest.approx(np.sqrt(2 * 9.81))


def test_not_finite_at_the_guess():
    example = model({"rate": der(x) == 1 / y, "sum": y + x == 1}, [x, y], initial={x: 0.0})
    text = refused(example, "Equation 'rate' of model 'test' is not finite at the guess")
    assert "'y'" in text
    assert "the default guess is 0" in text
    assert find_initial_values(build(example.with_guess({y: 0.5}))).tops == pytest.approx([1.0, 1.0])


def test_not_finite_at_a_held_value():
    text = refused(model({"outflow": der(x) == -np.sqrt(x)}, [x], initial={x: -1.0}), "Equation 'outflow' of model")
    assert "is not finite at the guess with x = -1 held. Give other values in initial for 'x', or guesses for" in text
    text = refused(model({"law": y == np.log(x), "x": der(x) == y}, [x, y], initial={x: 0.0, y: 0.0}), "'law'")
    assert text.endswith("Give other values in initial for 'x' and 'y', at which it can be evaluated.")


def test_what_the_model_does_not_determine_cannot_be_held():
    example = pendulum(initial={x: 1.0, der(z): 2.0}, guess={y: -L})
    refused(example, r"'der\(z\)' cannot be held at the start: the model does not determine it")


def test_what_the_model_does_not_determine_may_be_guessed():
    found = find_initial_values(build(pendulum(initial={x: 1.0}, guess={y: -L, der(z): 2.0})))
    plain = find_initial_values(build(pendulum(initial={x: 1.0}, guess={y: -L})))
    np.testing.assert_array_equal(found.states, plain.states)


def test_start_in_a_singular_position():
    # The bars of a parallelogram are parallel: its two rods say the same about the angle.
    a, l1, l2, l3 = dd.symbols("a l1 l2 l3")
    equations = {
        "fx": der(der(x)) == -l1 * x - l2 * (x - 1 + np.cos(a)),
        "fy": der(der(y)) == -l1 * y - l2 * (y + np.sin(a)) - 9.81,
        "turn": der(der(a)) == -l2 * np.sin(a) - l3,
        "left rod": x**2 + y**2 == 1,
        "right rod": (x + np.cos(a) - 1) ** 2 + (y + np.sin(a)) ** 2 == 1,
        "level": a == 0,
    }
    example = model(equations, [x, y, a, l1, l2, l3], initial={x: 0.1, der(x): 0.0}, guess={y: -1.0})
    text = refused(example, "Model 'test' is singular at its initial values")
    assert "'left rod'" in text
    assert "'right rod'" in text


def test_chain_with_one_rod_too_long():
    example = catalogue.chain(5).model().with_initial({"x[2]": 9.0})
    refused(example, "equation 'rod 2' is not satisfied near the guess|contradict the equation")
