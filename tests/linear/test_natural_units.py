"""Natural units of a pencil follow every change of units."""

import numpy as np
import pytest

from daedal.linear.standard_form import reduce_to_standard_form
from daedal.linear.units import find_natural_units


def chain(n=6):
    """Masses and springs in a row as a sparse pencil, with a constraint at the end."""
    generator = np.random.default_rng(2)
    E, F = np.diag([*generator.uniform(1.0, 9.0, n - 1), 0.0]), np.zeros((n, n))
    i = np.arange(n - 1)
    F[i, i + 1], F[i + 1, i] = generator.uniform(1.0, 9.0, n - 1), -generator.uniform(1.0, 9.0, n - 1)
    return E, F


def test_they_follow_changes_of_units():
    E, F = chain()
    generator = np.random.default_rng(3)
    rows, columns = (10.0 ** generator.integers(-9, 10, len(E)) for _ in range(2))
    changed = rows[:, None] * 1e7 * E * columns, rows[:, None] * F * columns
    (r, c, t), (R, C, T) = find_natural_units(E, F), find_natural_units(*changed)
    np.testing.assert_allclose(T * R[:, None] * changed[0] * C, t * r[:, None] * E * c, rtol=1e-5)
    np.testing.assert_allclose(R[:, None] * changed[1] * C, r[:, None] * F * c, rtol=1e-5)


def test_entries_come_near_one():
    E, F = chain()
    r, c, t = find_natural_units(1e-8 * E, 1e5 * F)
    sizes = np.abs(np.concatenate([(t * r[:, None] * 1e-8 * E * c)[E != 0], (r[:, None] * 1e5 * F * c)[F != 0]]))
    assert sizes.max() < 4
    assert sizes.min() > 0.25


def test_index_and_poles_do_not_depend_on_the_unit_of_time():
    E, F = chain()
    poles = np.sort(np.linalg.eigvals(reduce_to_standard_form(E, F).A).imag)
    for unit in (1e-12, 1e-6, 1e6, 1e12):
        form = reduce_to_standard_form(unit * E, F)
        assert form.index == reduce_to_standard_form(E, F).index
        np.testing.assert_allclose(np.sort(np.linalg.eigvals(form.A).imag) * unit, poles, rtol=1e-9)


def test_no_dynamics_and_no_entries():
    r, c, t = find_natural_units(np.zeros((2, 2)), np.diag([4.0, 0.25]))
    np.testing.assert_allclose(r * c * [4.0, 0.25], 1.0, rtol=1e-6)
    assert t == 1.0
    assert [np.size(part) for part in find_natural_units(np.zeros((0, 0)), np.zeros((0, 0)))] == [0, 0, 1]


def draw_pencil(rng):
    """E and F of index 1 or less, how many states they have, and their poles."""
    n = int(rng.integers(2, 6))
    k = int(rng.integers(1, n + 1))
    E, F = np.zeros((n, n)), np.where(rng.random((n, n)) < 0.5, rng.normal(size=(n, n)), 0.0)
    E[range(k), range(k)] = rng.uniform(0.5, 2.0, k)
    F[range(n), range(n)] += 4.0 * np.sign(rng.normal(size=n))
    A = (F[:k, :k] - F[:k, k:] @ np.linalg.solve(F[k:, k:], F[k:, :k])) / np.diag(E)[:k, None]
    truth = np.sort_complex(np.linalg.eigvals(A))
    return E, F, k, truth


def test_entries_that_change_nothing_do_not_decide_units():
    """Poles of random pencils of index 1 or less, in random units, with entries of 1e-40 to 1e-17 where zeros were."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        E, F, k, truth = draw_pencil(rng)
        n = len(E)
        nothing = np.where((F == 0.0) & (rng.random((n, n)) < 0.5), 10.0 ** rng.uniform(-40, -17, (n, n)), 0.0)
        rows, columns, time = (10.0 ** rng.uniform(-8, 8, size) for size in (n, n, 1))
        form = reduce_to_standard_form(time * rows[:, None] * E * columns, rows[:, None] * (F + nothing) * columns)
        assert form.evolving == k
        poles = np.sort_complex(np.linalg.eigvals(form.A) * time)
        np.testing.assert_allclose(poles, truth, rtol=0, atol=1e-7 * np.abs(truth).max())


def test_a_leak_and_a_tiny_time_constant_are_told_apart_by_the_unit_of_time():
    """One pencil in two units of time: what is far slower than the rate next to one is kept, far faster is zero."""
    for power in range(15, 61, 5):
        tiny = 10.0**-power
        leaking = reduce_to_standard_form(np.eye(2), np.diag([-tiny, -1.0]))
        np.testing.assert_allclose(np.sort(np.diag(leaking.A)), [-1.0, -tiny], rtol=1e-12)
        lagging = reduce_to_standard_form(np.diag([1.0, tiny]), np.diag([-1.0, -1.0]))
        np.testing.assert_allclose(np.sort(np.diag(lagging.A)), [-1.0] if power > 21 else [-1 / tiny, -1.0], rtol=1e-9)


def test_a_tiny_time_constant_beside_an_integrator_is_zero_too():
    for power, states in ((15, 2), (30, 2), (60, 1), (200, 1)):
        form = reduce_to_standard_form(np.diag([1.0, 10.0**-power]), np.array([[0.0, 1.0], [0.0, -1.0]]))
        assert form.evolving == states
        assert np.abs(np.linalg.eigvals(form.A)).min() == 0.0


def test_rubbish_in_what_multiplies_derivatives_does_not_make_states():
    """Poles of random pencils of index 1 or less, in random units, with entries of 1e-60 to 1e-25 where zeros were."""
    rng = np.random.default_rng(4)
    for _ in range(100):
        E, F, k, truth = draw_pencil(rng)
        n = len(E)
        E += np.where((E == 0.0) & (rng.random((n, n)) < 0.5), 10.0 ** rng.uniform(-60, -25, (n, n)), 0.0)
        rows, columns, time = (10.0 ** rng.uniform(-8, 8, size) for size in (n, n, 1))
        form = reduce_to_standard_form(time * rows[:, None] * E * columns, rows[:, None] * F * columns)
        assert form.evolving == k
        poles = np.sort_complex(np.linalg.eigvals(form.A) * time)
        np.testing.assert_allclose(poles, truth, rtol=0, atol=1e-7 * np.abs(truth).max())


def test_integrators_that_leak_by_rounding_keep_all_states():
    """Random pencils with integrators, in random units, with entries of 1e-60 to 1e-20 where zeros were."""
    rng = np.random.default_rng(5)
    for _ in range(100):
        n = int(rng.integers(2, 7))
        k = int(rng.integers(1, n + 1))
        E, F = np.zeros((n, n)), np.where(rng.random((n, n)) < 0.5, rng.normal(size=(n, n)), 0.0)
        E[range(k), range(k)] = rng.uniform(0.5, 2.0, k)
        F[range(n), range(n)] += 4.0 * np.sign(rng.normal(size=n))
        F[: int(rng.integers(1, k + 1))] = 0.0
        F += np.where((F == 0.0) & (rng.random((n, n)) < 0.5), 10.0 ** rng.uniform(-60, -20, (n, n)), 0.0)
        rows, columns, time = (10.0 ** rng.uniform(-8, 8, size) for size in (n, n, 1))
        form = reduce_to_standard_form(time * rows[:, None] * E * columns, rows[:, None] * F * columns)
        assert form.evolving == k


@pytest.mark.parametrize(("fast", "slow"), [(1e8, 4.05e-10), (1e6, 4.05e-10), (1e8, 1.0), (1e15, 1.0)])
def test_what_counts_does_not_depend_on_units_of_equations_and_variables(fast, slow):
    """An entry of 1e9 couples a part whose rates are far from the others'."""
    random = np.random.default_rng(0)
    E = np.array([[1.0, 0.0, 0.0], [0.0, 1.0 / fast, 1e9], [0.0, 0.0, 0.0]])
    F = np.array([[-slow, 0.0, 0.0], [1.0, -1.0, 0.0], [1.0, 0.0, 1.0]])
    R, C, time = find_natural_units(E, F)
    for _ in range(10):
        rows, columns = 2.0 ** random.integers(-27, 27, (2, 3))
        scaled = [rows[:, None] * matrix * columns for matrix in (E, F)]
        r, c, again = find_natural_units(*scaled)
        assert again == pytest.approx(time, rel=1e-9)
        for matrix, other in zip(scaled, (E, F), strict=True):
            np.testing.assert_allclose(r[:, None] * matrix * c, R[:, None] * other * C, rtol=1e-6)
