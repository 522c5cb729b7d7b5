"""Consistent initial values: what is held, what follows, what is left open."""

import numpy as np
import pytest

import catalogue
import daedal as dd
from catalogue.small import model, pendulum
from daedal import der
from daedal.systems import build, find_initial_values

x, y, z, a, b, c, p, q, T = dd.symbols("x y z a b c p q T")
L, C, k = dd.symbols("L C k")


def started(example, **more):
    """Every state and top by name, and the InitialValues."""
    system = build(example)
    start = find_initial_values(system, **more)
    return dict(zip((*system.states, *system.tops), [*start.states, *start.tops], strict=True)), start


@pytest.mark.parametrize("problem", catalogue.PROBLEMS, ids=lambda problem: problem.name)
def test_catalogue(problem):
    example = problem.model()
    system = build(example)
    drive = problem.inputs()
    exogenous = np.array([float(drive["u"](0.0, order)) for order in range(len(system.reduction.exogenous))])
    start = find_initial_values(system, exogenous=exogenous)
    point = [0.0, start.states, start.tops, system.parameter_vector(), exogenous]
    residual = system.function("consistency")(*point).full().ravel()
    slope = np.abs(system.function("consistency_jacobian")(*point).full())
    assert np.all(np.abs(residual) <= 1e-12 * (slope @ np.abs(np.r_[start.states, start.tops]) + 1))
    values = dict(zip((*system.states, *system.tops), [*start.states, *start.tops], strict=True))
    for name, held in example.initial.items():
        if name in values:
            assert values[name] == pytest.approx(float(held), abs=1e-15)
    assert len(start.open) + len(example.initial) == problem.degrees_of_freedom
    assert start.redundant == ()


@pytest.mark.parametrize("seed", range(8))
def test_andrews_from_poor_guesses(seed):
    example = catalogue.andrews().model()
    exact = find_initial_values(build(example))
    rng = np.random.default_rng(seed)
    poor = {name: float(value) + rng.uniform(-0.3, 0.3) for name, value in example.guess.items()}
    start = find_initial_values(build(example.with_guess(poor)))
    np.testing.assert_allclose(start.states, exact.states, atol=1e-9)
    np.testing.assert_allclose(start.tops, exact.tops, rtol=1e-6, atol=1e-4)


def test_what_is_held_and_what_follows():
    values, start = started(pendulum(initial={x: 0.6 * L, der(x): 1.0}, guess={y: -L}))
    assert values["x"] == 0.6 * 6.25
    assert values["y"] == pytest.approx(-0.8 * 6.25)
    assert values["der(y)"] == pytest.approx(0.75)
    speed = 1.0**2 + 0.75**2
    assert values["z"] == pytest.approx((speed - 9.81 * values["y"]) / 6.25**2)
    assert (start.open, start.redundant) == ({}, ())


def test_expressions_follow_the_parameters():
    example = pendulum(initial={x: 0.6 * L, der(x): 0.0}, guess={y: -L})
    values, _ = started(example, values={L: 2.0})
    assert (values["x"], values["y"]) == pytest.approx((1.2, -1.6))


@pytest.mark.parametrize(("guess", "expected"), [(-1.0, -5.0), (1.0, 5.0)])
def test_the_guess_chooses_the_branch(guess, expected):
    values, _ = started(pendulum(initial={x: 3.75, der(x): 0.0}, guess={y: guess}))
    assert values["y"] == pytest.approx(expected)


def test_open_freedom_is_held_at_the_guesses():
    values, start = started(pendulum(initial={x: 0.0}, guess={y: -L, der(x): 2.0}))
    assert dict(start.open) == {"der(x)": 2.0}
    assert values["der(x)"] == 2.0


def test_open_freedom_without_guess_is_held_at_zero():
    values, start = started(model([der(x) == -x + y, der(y) == -y], [x, y], initial={x: 1.0}))
    assert dict(start.open) == {"y": 0.0}
    assert values["y"] == 0.0


def test_of_guesses_that_exclude_each_other_the_first_is_kept():
    values, start = started(pendulum(guess={x: 4.0, y: -6.0}))
    assert (values["x"], values["y"]) == pytest.approx((4.0, -np.sqrt(6.25**2 - 16.0)))
    assert dict(start.open) == {"x": 4.0, "der(x)": 0.0}


def test_guesses_that_no_solution_has_give_one_nearby():
    values, start = started(pendulum(guess={x: 7.0, y: -6.0}))
    nearest = 6.25 * np.array([7.0, -6.0]) / np.hypot(7.0, 6.0)
    assert np.hypot(values["x"], values["y"]) == pytest.approx(6.25)
    assert np.hypot(*(nearest - [values["x"], values["y"]])) < 0.2
    assert start.open["x"] == values["x"]


def test_held_values_that_imply_each_other_are_listed():
    _, start = started(pendulum(initial={x: 0.6 * L, y: -0.8 * L, der(x): 0.0}))
    assert set(start.redundant) == {"x", "y"}
    _, start = started(pendulum(initial={x: 0.6 * L, y: -0.8 * L}))  # no more than the freedom, but of the wrong kind
    assert set(start.redundant) == {"x", "y"}
    assert dict(start.open) == {"der(x)": 0.0}


def test_a_derivative_may_be_held():
    values, _ = started(pendulum(initial={y: -3.75, der(y): 2.0}, guess={x: 1.0}))
    assert values["der(x)"] == pytest.approx(2.0 * 3.75 / 5.0)


def test_an_algebraic_variable_may_be_held_in_place_of_a_velocity():
    values, _ = started(pendulum(initial={x: 1.0, z: 2.0}, guess={y: -L, der(x): 1.0}))
    assert values["z"] == 2.0
    speed = values["der(x)"] ** 2 + values["der(y)"] ** 2
    assert speed == pytest.approx(2.0 * 6.25**2 + 9.81 * values["y"])
    assert values["der(x)"] > 0  # the side of the guess


def test_a_highest_derivative_may_be_held():
    values, _ = started(model([der(der(x)) == -4 * x], [x], initial={der(der(x)): 2.0, der(x): 1.0}))
    assert values["x"] == pytest.approx(-0.5)


def test_a_rod_that_happens_to_be_level_is_accepted():
    values, start = started(pendulum(initial={x: L, der(y): 1.0}, guess={y: 0.0}))
    assert (values["x"], values["y"], values["der(x)"]) == (6.25, 0.0, 0.0)
    assert start.redundant == ()


def test_a_square_root_at_its_end_is_accepted_where_it_is_held():
    values, _ = started(model([der(x) == -np.sqrt(y), y == x], [x, y], initial={x: 0.0}))
    assert values["der(x)"] == 0.0


@pytest.mark.parametrize("size", [1e-9, 1e-6, 1e6, 1e9])
def test_lengths_of_any_unit(size):
    values, _ = started(pendulum(size, initial={x: 0.6 * L, der(x): 0.0}, guess={y: -L}))
    assert values["y"] == pytest.approx(-0.8 * size, rel=1e-12)
    assert values["z"] == pytest.approx(9.81 * 0.8 / size, rel=1e-9)
    values, _ = started(pendulum(size, guess={x: 0.3 * L, y: -L}))
    assert np.hypot(values["x"], values["y"]) == pytest.approx(size, rel=1e-12)


def test_units_that_differ_by_eighteen_decades():
    values, _ = started(
        model([a * 1e9 + b == 3e9, b == 1e9 * c, der(c) == -c + a, z * 1e-9 == a], [a, b, c, z], initial={c: 1e-9})
    )
    assert values["z"] == pytest.approx(3e9, rel=1e-8)
    assert values["b"] == pytest.approx(1.0)


def test_a_coefficient_of_a_billionth_of_a_thousandth_with_open_freedom():
    example = model(
        [1e-12 * p + q == 1.0, der(q) == -q + 1e-12 * T, der(p) + der(T) == -p - T],
        [p, q, T],
        guess={p: 1e11, T: 1e12},
    )
    values, start = started(example)
    assert values["q"] == pytest.approx(0.9, rel=1e-12)
    assert dict(start.open) == {"p": 1e11, "T": 1e12}
    assert values["der(p)"] == pytest.approx(-1e11, rel=1e-9)


def test_acid_and_base_over_eleven_decades():
    H, OH, A, HA, Na = dd.symbols("H OH A HA Na")
    example = model(
        [H * OH == 1e-14, H * A == 1.8e-5 * HA, A + HA == 0.1, Na + H == A + OH, der(Na) == 0.03],
        [H, OH, A, HA, Na],
        initial={Na: 0.0},
        guess={H: 1e-3, OH: 1e-11, A: 1e-3, HA: 0.1},
    )
    values, _ = started(example)
    roots = np.roots([1.0, 1.8e-5, -(1.8e-6 + 1e-14), -1.8e-19])  # charge balance as a cubic in H
    assert values["H"] == pytest.approx(roots[np.argmax(roots.real)].real, rel=1e-9)
    assert values["OH"] * values["H"] == pytest.approx(1e-14, rel=1e-12)


def test_time_and_inputs_enter():
    u = dd.symbol("u")
    system = build(model([der(x) == y, y == u + dd.time], [x, y], inputs=[u], initial={x: 0.0}))
    start = find_initial_values(system, time=2.0, exogenous=np.array([3.0]))
    assert dict(zip(system.tops, start.tops, strict=True))["y"] == 5.0


def test_purely_algebraic():
    values, start = started(model([x**2 == 4, x * y == 1], [x, y], guess={x: -1.0}))
    assert (values["x"], values["y"]) == pytest.approx((-2.0, -0.5))
    assert start.states.size == 0


def test_large_model():
    example = catalogue.rlc_ladder(200).model()
    start = find_initial_values(build(example))
    assert np.abs(start.states).max() == 0.0
