"""Elimination of names for derivatives and for other unknowns; the signs must come out right everywhere."""

import numpy as np
import pytest

import daedal as dd
from catalogue.small import model
from daedal import der
from daedal.analysis import Alias, Equations, eliminate_aliases, make_namer, substitute_aliases
from daedal.errors import InitialValueError
from daedal.systems import build, find_initial_values

x, v, w, a, b, c, y = dd.symbols("x v w a b c y")
TIMES = np.linspace(0.0, 2.0, 9)


def aliases_of(*equations, unknowns):
    return eliminate_aliases(Equations.of(model(equations, unknowns)))


def test_a_chain_of_derivatives_has_one_root():
    reduced, aliases = aliases_of(der(x) == v, der(v) == a, a == -x, unknowns=[x, v, a])
    assert reduced.unknowns == ("x",)
    assert aliases == {"x": Alias("x", 0, 1), "v": Alias("x", 1, 1), "a": Alias("x", 2, 1)}
    assert reduced.names == ("e2",)
    assert reduced.least == {"x": 2}


def test_order_of_the_equations_does_not_matter():
    _, aliases = aliases_of(der(v) == a, der(x) == v, a + x**3 == 0, unknowns=[a, v, x])
    assert aliases["a"] == Alias("x", 2, 1)
    assert aliases["v"] == Alias("x", 1, 1)


@pytest.mark.parametrize("equation", [a == -b, -a == b, a + b == 0, -b == a, -a - b == 0])
def test_opposite_signs_are_seen_however_they_are_typed(equation):
    _, aliases = aliases_of(equation, der(a) == -(a**3), unknowns=[a, b])
    assert aliases["a"].root == aliases["b"].root
    assert aliases["a"].sign == -aliases["b"].sign


def test_signs_multiply_along_a_chain():
    _, aliases = aliases_of(a == -b, b == -c, der(c) == -(c**3), unknowns=[a, b, c])
    assert aliases["a"].sign == aliases["c"].sign == -aliases["b"].sign


@pytest.mark.parametrize("equation", [der(x) == der(y), 2 * x == y, x == y + 1, x == dd.time, der(x) == x])
def test_what_is_no_alias_stays(equation):
    reduced, _ = aliases_of(equation, x + y**2 == 3, unknowns=[x, y])
    assert len(reduced.names) == 2


def test_any_expression_is_rewritten():
    _, aliases = aliases_of(v == -der(x), der(v) == x**3, unknowns=[x, v])
    rewritten = substitute_aliases((v**2 + der(v)).sx, aliases)
    assert str(dd.Expression(rewritten)) == str(dd.Expression((-der(x)).sx ** 2 + (-der(der(x))).sx))


def test_the_users_names_of_derivatives():
    aliases = {"x": Alias("x", 0, 1), "v": Alias("x", 1, 1), "back": Alias("x", 2, -1)}
    name_of = make_namer(aliases)
    assert [name_of("x", k) for k in range(4)] == ["x", "v", "der(v)", "der(der(v))"]


def test_signs_of_a_negated_velocity():
    oscillator = model([v == -der(x), der(v) == x], [x, v], initial={x: 1.0, v: 2.0})
    trajectory = dd.simulate(oscillator, TIMES, solver=dd.IDA(1e-10, 1e-12))
    np.testing.assert_allclose(trajectory["x"], np.cos(TIMES) - 2 * np.sin(TIMES), atol=1e-8)
    np.testing.assert_allclose(trajectory["v"], np.sin(TIMES) + 2 * np.cos(TIMES), atol=1e-8)


@pytest.mark.parametrize("key", [a, b])
@pytest.mark.parametrize("unknowns", [[a, b], [b, a]])
def test_signs_of_a_negated_name(key, unknowns):
    decay = model([a == -b, der(a) == -a], unknowns, initial={key: 2.0})
    trajectory = dd.simulate(decay, TIMES, solver=dd.IDA(1e-10, 1e-12))
    sign = 1.0 if key is a else -1.0
    np.testing.assert_allclose(trajectory["a"], sign * 2 * np.exp(-TIMES), atol=1e-8)
    np.testing.assert_allclose(trajectory["b"], -sign * 2 * np.exp(-TIMES), atol=1e-8)


@pytest.mark.parametrize("unknowns", [[a, b], [b, a]])
def test_open_values_are_reported_with_the_sign_of_their_name(unknowns):
    system = build(model([a == -b, der(a) == -a], unknowns, guess={a: 2.0}))
    ((name, value),) = find_initial_values(system).open.items()
    assert value == {"a": 2.0, "b": -2.0}[name]


def test_open_negated_velocity():
    system = build(model([v == -der(x), der(v) == x], [x, v], guess={x: 1.0, v: 2.0}))
    start = find_initial_values(system)
    assert system.states == ("x", "der(x)")
    assert dict(start.open) == {"x": 1.0, "der(x)": -2.0}


def test_derivative_of_a_prescribed_motion():
    prescribed = model([x == np.sin(dd.time), v == der(x), a == -der(v)], [x, v, a])
    assert dd.analyze(prescribed).degrees_of_freedom == 0
    trajectory = dd.simulate(prescribed, TIMES)
    np.testing.assert_allclose(trajectory["v"], np.cos(TIMES), atol=1e-12)
    np.testing.assert_allclose(trajectory["a"], np.sin(TIMES), atol=1e-12)


def test_derivative_of_an_input():
    u = dd.symbol("u")
    prescribed = model([x == u, v == der(x)], [x, v], inputs=[u])
    grid = np.linspace(0.0, 2.0, 201)
    signal = dd.Signal(grid, np.sin(grid), intersample="spline")
    trajectory = dd.simulate(prescribed, TIMES, inputs={u: signal})
    np.testing.assert_allclose(trajectory["v"], np.cos(TIMES), atol=1e-5)


def test_two_names_held_alike():
    decay = model([a == b, der(a) == -a], [a, b], initial={a: 0.1 * 3, b: 0.3})
    assert find_initial_values(build(decay)).states == pytest.approx([0.3])


def test_two_names_held_differently():
    decay = model([a == -b, der(a) == -a], [a, b], initial={a: 2.0, b: 2.0})
    with pytest.raises(InitialValueError, match="'a' and 'b' are the same quantity but are held at different values"):
        find_initial_values(build(decay))


def test_a_derivative_held_under_its_other_name():
    oscillator = model([a == -b, der(der(a)) == -a], [a, b], initial={b: 1.0, der(b): 2.0})
    trajectory = dd.simulate(oscillator, TIMES, solver=dd.IDA(1e-10, 1e-12))
    np.testing.assert_allclose(trajectory["b"], np.cos(TIMES) + 2 * np.sin(TIMES), atol=1e-8)
    np.testing.assert_allclose(trajectory["a"], -trajectory["b"], atol=1e-14)
