"""Sensitivities of the discrete step against finite differences of the same step, and constraints after it."""

from itertools import product

import numpy as np
import pytest

import daedal as dd
from daedal import der
from sizes import choose

x, y, v, z, lam, vx, vy, tension = dd.symbols("x y v z lam vx vy tension")
u, w, w2 = dd.symbols("u w w2")
a, b, c, k, g, m, L = dd.symbols("a b c k g m L")
TIMES = np.arange(11) * 0.08


def noise(**options):
    return dd.FilteredNoise(numerator=[0.6], denominator=[1.0, 0.8, 16.0], grid=0.02, **options)


def ordinary():
    """No algebra; c is a formula of k, and the start an expression of parameters."""
    return dd.Model(
        name="ordinary",
        equations={"speed": der(x) == v, "force": der(v) == -k * np.sin(x) - c * v**3 + w + u},
        unknowns=[x, v],
        inputs=[u],
        outputs={"o": x * b + 0.1 * der(v)},
        parameters={k: 4.0, c: 0.1 * k**2, a: 0.7, b: 1.3},
        disturbances={w: noise()},
        initial={x: a, v: a * b - 1},
    )


def index_one(cubic=0.4):
    """With cubic ≠ 0 the algebraic equation is not linear in what is solved for."""
    return dd.Model(
        name="index 1",
        equations={"rate": der(x) == -k * x**3 + y + w, "cube": y + cubic * c * y**3 == a * np.cos(x) + u},
        unknowns=[x, y],
        inputs=[u],
        outputs={"x": x, "y": y},
        parameters={k: 0.8, c: 1.1, a: 0.9, b: 0.5},
        disturbances={w: noise()},
        initial={x: b * a},
        guess={y: 0.5},
    )


def index_two():
    """The multiplier keeps x + z on a moving level."""
    return dd.Model(
        name="index 2",
        equations={
            "x": der(x) == -k * x + lam + w,
            "z": der(z) == -c * z * lam + x,
            "level": x + z == a + b * np.sin(dd.time),
        },
        unknowns=[x, z, lam],
        outputs={"x": x, "lam": lam},
        parameters={k: 0.8, c: 0.3, a: 1.5, b: 0.2},
        disturbances={w: noise()},
        initial={x: a * c},
    )


def pendulum():
    return dd.Model(
        name="pendulum",
        equations={
            "kinematics x": der(x) == vx,
            "kinematics y": der(y) == vy,
            "force x": m * der(vx) == tension * x - k * vx**3 + u + w**2,
            "force y": m * der(vy) == tension * y - k * vy**3 - m * g,
            "rod": x**2 + y**2 == L**2,
        },
        unknowns=[x, y, vx, vy, tension],
        inputs=[u],
        outputs={"angle": np.arctan2(x, -y), "tension": tension},
        parameters={m: 0.3, g: 9.81, L: 6.25, k: 0.5, a: 1.2},
        disturbances={w: noise()},
        initial={x: a, vx: -0.4},
        guess={y: -L},
    )


def noisy_constraint():
    """A disturbance in a constraint, which is differentiated: w' occurs."""
    return dd.Model(
        name="noisy constraint",
        equations={"x": der(x) == -k * x + lam, "z": der(z) == -c * z * lam + x, "level": x + z == a + w},
        unknowns=[x, z, lam],
        outputs={"x": x, "lam": lam, "level": x + z - w},
        parameters={k: 0.8, c: 0.3, a: 1.5, b: 0.6, L: 16.0},
        disturbances={w: dd.FilteredNoise(numerator=[b], denominator=[1.0, 0.8, L], grid=0.02)},
        initial={x: 0.5},
    )


def coloured():
    """Gain and poles of two correlated disturbances depend on parameters, one through a formula."""
    return dd.Model(
        name="coloured",
        equations={"rate": der(x) == -k * x + w * (1 + 0.2 * w2), "second": der(y) == w2 - y},
        unknowns=[x, y],
        outputs={"x": x, "y": y},
        parameters={k: 0.7, a: 1.5, b: 0.4, c: 1 / b},
        disturbances={
            (w, w2): dd.StateSpaceNoise(
                A=[[-a, 0.3], [0.0, -c]], B=[[1.0, 0.0], [b, 0.5]], C=[[1.0, 0.0], [0.2, a]], grid=0.02
            )
        },
        initial={x: 0.0, y: b},
    )


CASES = {
    "ordinary": (ordinary, ["k", "a", "b"]),
    "index 1": (index_one, ["k", "c", "a", "b"]),
    "index 1 linear": (lambda: index_one(0.0), ["k", "a"]),
    "index 2": (index_two, ["k", "c", "a", "b"]),
    "index 3": (pendulum, ["m", "g", "L", "k", "a"]),
    "noisy constraint": (noisy_constraint, ["k", "a", "b", "L"]),
    "coloured": (coloured, ["k", "a", "b"]),
}
WAVE = dd.Signal(np.linspace(0, 2, 21), np.sin(np.linspace(0, 9, 21)))


def means(model, method, step, realizations, values=None, sensitivities=()):
    inputs = {"u": WAVE} if model.inputs else None
    return dd.ensemble(
        model,
        TIMES,
        inputs=inputs,
        realizations=realizations,
        values=values,
        sensitivities=sensitivities,
        rng=5,
        solver=dd.Lanes(method=method, step=step),
    )


def slopes(model, name, method, step, realizations):
    """Central differences of order six."""
    value = model.parameters[name].value
    h = 4e-3 * abs(value)
    points = [{name: value + n * h} for n in (-3, -2, -1, 1, 2, 3)]
    found = means(model, method, step, realizations, values=points).mean
    weights = np.array([-1, 9, -45, 45, -9, 1]) / (60 * h)
    return {output: weights @ rows for output, rows in found.items()}


METHODS, CELLS = ("rk4", "radau3", "radau5"), (2, 1, 0.5)  # a step has so many cells of the grid
ALL = list(product(CASES, METHODS, CELLS))
# Every case meets every method and every length of steps, and every method every length.
SOME = [(name, method, CELLS[(i + j) % 3]) for i, name in enumerate(CASES) for j, method in enumerate(METHODS)]


@pytest.mark.parametrize(("name", "method", "cells"), choose(SOME, ALL))
def test_sensitivities_against_finite_differences(name, method, cells):
    make, free = CASES[name]
    model, step = make(), 0.02 * cells
    found = means(model, method, step, 1, sensitivities=free).sensitivities
    for parameter in free:
        wanted = slopes(model, parameter, method, step, 1)
        for output, rates in wanted.items():
            scale = np.max(np.abs(rates)) + 1e-3
            error = np.max(np.abs(found[parameter][output] - rates)) / scale
            assert error < 1e-8, (parameter, output, error)


@pytest.mark.parametrize("name", ["ordinary", "coloured", "index 3"])
def test_sensitivities_of_means(name):
    make, free = CASES[name]
    model = make()
    found = means(model, "rk4", 0.02, 70, sensitivities=free).sensitivities
    for parameter in free:
        for output, rates in slopes(model, parameter, "rk4", 0.02, 70).items():
            np.testing.assert_allclose(
                found[parameter][output], rates, atol=1e-8 * (np.abs(rates).max() + 1e-3), rtol=0, err_msg=parameter
            )


def test_every_set_of_values_has_its_own_chain_rule():
    """dc/dk = 2k is one at the first set of values and 1.8 at the second."""
    model = dd.Model(
        name="formula",
        equations={"rate": der(x) == -c * x + w},
        unknowns=[x],
        outputs={"o": x},
        parameters={k: 0.5, c: k**2, b: (k - 0.5) ** 2},
        disturbances={w: dd.FilteredNoise(numerator=[0.3 + b], denominator=[1.0, 1.0], grid=0.02)},
        initial={x: 1 + b},
    )
    sets = [{"k": 0.5}, {"k": 0.9}, {"k": 0.9, "c": 0.3}]
    together = means(model, "rk4", 0.02, 3, values=sets, sensitivities=["k"])
    for row, values in enumerate(sets):
        alone = means(model, "rk4", 0.02, 3, values=values, sensitivities=["k"])
        np.testing.assert_allclose(together.mean["o"][row], alone.mean["o"], rtol=1e-13)
        np.testing.assert_allclose(
            together.sensitivities["k"]["o"][row], alone.sensitivities["k"]["o"], rtol=1e-12, atol=1e-12
        )
        h = 1e-4
        ends = [means(model, "rk4", 0.02, 3, values=values | {"k": values["k"] + s * h}).mean["o"] for s in (-1, 1)]
        np.testing.assert_allclose(alone.sensitivities["k"]["o"], (ends[1] - ends[0]) / (2 * h), atol=1e-7)


def test_a_formula_may_be_free_itself():
    """Free are both k and c = k²: c then does not follow k."""
    model = dd.Model(
        name="decay",
        equations={"rate": der(x) == -c * x + k},
        unknowns=[x],
        outputs={"o": x},
        parameters={k: 0.5, c: k**2},
        initial={x: 1.0},
    )
    found = dd.ensemble(model, [0.0, 2.0], realizations=1, sensitivities=["k", "c"], solver=dd.Lanes(step=0.01))
    rate, level = 0.25, 2.0  # x = level + (1 − level) exp(−rate t), level = k/c
    decay = np.exp(-rate * 2)
    assert found.sensitivities["k"]["o"][1] == pytest.approx((1 - decay) / rate, rel=1e-8)
    by_rate = -level / rate * (1 - decay) - (1 - level) * 2 * decay
    assert found.sensitivities["c"]["o"][1] == pytest.approx(by_rate, rel=1e-8)


@pytest.mark.parametrize("method", ["rk4", "radau3", "radau5"])
@pytest.mark.parametrize("step", [0.125, 0.025])
def test_constraints_hold_to_rounding(method, step):
    found = dd.simulate(
        pendulum().with_disturbances({w: dd.FilteredNoise([0.6], [1.0, 0.8, 16.0], grid=0.025)}),
        np.arange(81) * 0.125,
        inputs={"u": 0.3},
        realizations=10,
        rng=2,
        solver=dd.Lanes(method=method, step=step),
    )
    assert found.status.ok
    length = found["x"] ** 2 + found["y"] ** 2
    speed = found["x"] * found["vx"] + found["y"] * found["vy"]
    # One projection is one Newton step: what it leaves is the square of what the step had left.
    limit = 1e-13 if step < 0.1 else 1e-6
    assert np.max(np.abs(length / 6.25**2 - 1)) < limit
    assert np.max(np.abs(speed)) < 100 * limit


@pytest.mark.parametrize("step", [0.1, 0.04, 0.02, 0.01])
def test_constraints_with_a_disturbance_hold_at_the_samples(step):
    """Also where a step spans several cells: the constraint is met with the value there, not a smoothed one."""
    found = dd.simulate(
        noisy_constraint(), np.arange(9) * 0.2, realizations=5, rng=3, solver=dd.Lanes(method="rk4", step=step)
    )
    np.testing.assert_allclose(found["level"], 1.5, atol=1e-13)


def test_constraints_with_a_spline_input_hold_at_the_samples():
    model = dd.Model(name="d", equations={"x": x == u, "y": der(x) + y == 0}, unknowns=[x, y], inputs=[u])
    times = np.linspace(0, 2, 401)
    drive = dd.Signal(times, np.sin(40 * times), "spline")
    found = dd.simulate(model, times[::50], inputs={"u": drive}, solver=dd.Lanes(step=0.25))
    np.testing.assert_allclose(found["x"], drive(times[::50]), atol=1e-13)
    np.testing.assert_allclose(found["y"], -drive(times[::50], 1), atol=1e-11)


@pytest.mark.parametrize("method", ["rk4", "radau5"])
def test_order_where_the_derivative_of_a_disturbance_occurs(method):
    """Inside the cells the path and its derivative must belong together, or every method has order one."""
    model = noisy_constraint()

    def end(step):
        found = dd.ensemble(model, TIMES, realizations=1, rng=1, solver=dd.Lanes(method=method, step=step))
        return found.mean["x"][-1]

    fine = end(0.02 / 32)
    errors = [abs(end(step) - fine) for step in (0.02, 0.01, 0.005)]
    assert errors[2] < 1e-9 or errors[1] / errors[2] > 6, errors
