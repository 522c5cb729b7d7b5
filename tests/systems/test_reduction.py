"""The prolonged system against finite differences of the residuals along curves, and its algebra."""

import casadi as ca
import numpy as np
import pytest

import catalogue
import daedal as dd
from daedal import der
from daedal.symbolic import jet, name_derivative
from daedal.systems import build

x, y, z, lam, mu, u = dd.symbols("x y z lam mu u")


def random_semi_explicit(seed: int) -> dd.Model:
    """x'' = f(x, y, λ, t), y' = h(x, x', λ, t, u), g(x, y, t) = 0 with random smooth f, h, g."""
    a = np.random.default_rng(seed).uniform(0.2, 1.5, 12)
    t = dd.time
    return dd.Model(
        name=f"random {seed}",
        equations={
            "f": der(der(x)) == a[0] * np.sin(x) * y + a[1] * lam * np.exp(0.1 * x) + a[2] * np.cos(t),
            "h": der(y) == a[3] * x * der(x) - a[4] * y**3 + a[5] * u + a[6] * np.sin(z),
            "g": a[7] * x**2 + np.sin(a[8] * x) + a[9] * x == np.sin(t) + 0.1 * u,
            "z": z + 0.2 * np.tanh(z) == a[10] * x * y + a[11] * t,
        },
        unknowns=[x, y, lam, z],
        inputs=[u],
    )


def curves(names, rng):
    """For every symbol a sine with random amplitude, frequency and phase; its k-th derivative is known."""
    waves = {name: rng.uniform(0.5, 1.2, 3) for name in names}

    def value(name: str, order: int, t: float) -> float:
        amplitude, frequency, phase = waves[name]
        return amplitude * frequency**order * np.sin(frequency * t + phase + order * np.pi / 2)

    return value


def arguments_along(reduction, value, t):
    unknowns = reduction.equations.unknowns
    X, T = ([value(unknowns[j], k, t) for j, k in jets] for jets in (reduction.states, reduction.tops))
    return [t, X, T, [], [value(*jet(name), t) for name in reduction.exogenous]]


@pytest.mark.parametrize("seed", range(6))
def test_levels_are_derivatives_of_the_residuals_along_any_curve(seed):
    system = build(random_semi_explicit(seed))
    reduction = system.reduction
    value = curves([*reduction.equations.unknowns, "u"], np.random.default_rng(seed + 100))
    leaves = ca.symvar(reduction.equations.residuals)
    residual = ca.Function("f", [ca.vertcat(*leaves)], [reduction.equations.residuals])

    def typed(t):
        names = [leaf.name() for leaf in leaves]
        return residual([t if name == "time" else value(*jet(name), t) for name in names]).full().ravel()

    t, h = 0.7, 1e-2
    stencil = np.array([typed(t + k * h) for k in range(-3, 4)])
    derivatives = [
        stencil[3],
        np.array([-1, 9, -45, 0, 45, -9, 1]) @ stencil / (60 * h),
        np.array([2, -27, 270, -490, 270, -27, 2]) @ stencil / (180 * h**2),
    ]
    point = arguments_along(reduction, value, t)
    levels = system.function("constraints")(*point).full().ravel()
    top = system.function("top")(*point).full().ravel()
    assert reduction.offsets.equations.tolist() == [0, 0, 2, 0]
    for (i, k), found in zip(reduction.constraints, levels, strict=True):
        assert found == pytest.approx(derivatives[k][i], abs=1e-7)
    for i, found in enumerate(top):
        assert found == pytest.approx(derivatives[reduction.offsets.equations[i]][i], abs=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_jacobians_are_those_of_finite_differences(seed):
    system = build(random_semi_explicit(seed))
    value = curves([*system.reduction.equations.unknowns, "u"], np.random.default_rng(seed))
    t, X, T, p, w = arguments_along(system.reduction, value, 0.3)
    X, T = np.array(X), np.array(T)

    def difference(name, change, size, h=1e-5):
        steps = h * np.eye(size)
        columns = [
            (system.function(name)(*change(s)) - system.function(name)(*change(-s))).full().ravel() / (2 * h)
            for s in steps
        ]
        return np.array(columns).T

    J = difference("top", lambda s: (t, X, T + s, p, w), T.size)
    A = difference("constraints", lambda s: (t, X + s, T, p, w), X.size)
    np.testing.assert_allclose(system.function("top_jacobian")(t, X, T, p, w).full(), J, atol=1e-8)
    np.testing.assert_allclose(system.function("constraints_jacobian")(t, X, T, p, w).full(), A, atol=1e-8)


@pytest.mark.parametrize("problem", catalogue.PROBLEMS, ids=lambda problem: problem.name)
def test_directions_by_their_definition_and_regular(problem):
    system = build(problem.model())
    reduction = system.reduction
    rng = np.random.default_rng(1)
    sizes = [1, len(system.states), len(system.tops), 0, len(reduction.exogenous)]
    point = [rng.uniform(0.3, 0.9, size) for size in sizes]
    point[3] = system.parameter_vector()
    J, A, B = (system.function(name)(*point).full() for name in ("top_jacobian", "constraints_jacobian", "directions"))
    c, d = reduction.offsets.equations, reduction.offsets.unknowns
    expected = np.zeros_like(B)
    for row, (i, k) in enumerate(reduction.constraints):
        for j in range(d.size):
            if (j, d[j] - c[i] + k) in reduction.states and J[i, j]:
                expected[row, reduction.states.index((j, d[j] - c[i] + k))] = J[i, j]
    np.testing.assert_array_equal(B, expected)
    assert np.linalg.matrix_rank(J) == J.shape[0]
    if B.size:
        scaled = (A @ B.T) / np.linalg.norm(A @ B.T, axis=1, keepdims=True)
        assert np.linalg.cond(scaled) < 1e12


def test_constraints_do_not_contain_what_is_solved_for():
    for problem in catalogue.PROBLEMS:
        reduction = build(problem.model()).reduction
        assert ca.jacobian_sparsity(reduction.G, reduction.T).nnz() == 0


def test_the_shift_names_the_next_derivative():
    system = build(random_semi_explicit(0))
    reduction = system.reduction
    following = [name_derivative(reduction.equations.unknowns[j], k + 1) for j, k in reduction.states]
    assert [leaf.name() for leaf in ca.vertsplit(reduction.shift)] == following


def test_time_and_inputs_are_differentiated():
    model = dd.Model(
        name="driven", equations={"path": x == u * dd.time, "speed": y == 2 * der(x)}, unknowns=[x, y], inputs=[u]
    )
    system = build(model)
    assert set(system.reduction.exogenous) == {"u", "der(u)"}
    values = {"u": 3.0, "der(u)": 5.0}
    exogenous = [values[name] for name in system.reduction.exogenous]
    top = system.function("top")(2.0, [6.0], [13.0, 26.0], [], exogenous).full().ravel()
    np.testing.assert_allclose(top, [0.0, 0.0], atol=1e-14)  # x' = u + t u' = 13


def test_delayed_values_are_exogenous():
    tau = dd.symbol("tau")
    model = dd.Model(
        name="late", equations={"rate": der(x) == -dd.delay(x, 2 * tau)}, unknowns=[x], parameters={tau: 0.5},
        history={x: 1.0},
    )  # fmt: skip
    reduction = build(model).reduction
    assert reduction.exogenous == ("delay(x, 2*tau)",)
    assert str(reduction.delays["delay(x, 2*tau)"].amount) == "2*tau"
    assert str(reduction.delays["delay(x, 2*tau)"].operand) == "x"
