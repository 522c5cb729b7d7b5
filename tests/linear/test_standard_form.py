"""Standard form of a pencil: transfer functions against the descriptor, derivatives against differences."""

import numpy as np
import pytest
from scipy.linalg import block_diag

from daedal.linear.standard_form import SingularPencilError, differentiate_standard_form, reduce_to_standard_form


def nilpotent(sizes) -> np.ndarray:
    return block_diag(*(np.eye(size, k=1) for size in sizes)) if sizes else np.zeros((0, 0))


def pencil(seed: int, eigenvalues, chains, spread: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """A pencil with these finite eigenvalues and chains of infinite ones, turned and scaled at random."""
    generator = np.random.default_rng(seed)
    n, k = len(eigenvalues), sum(chains)
    A = np.diag(np.array(eigenvalues, dtype=float))
    E, F = block_diag(np.eye(n), nilpotent(chains)), block_diag(A, np.eye(k))
    left, right = (np.linalg.qr(generator.normal(size=(n + k, n + k)))[0] for _ in range(2))
    rows, columns = (10.0 ** generator.uniform(-spread, spread, n + k) for _ in range(2))
    return rows[:, None] * (left @ E @ right) * columns, rows[:, None] * (left @ F @ right) * columns


CASES = {
    "index 0": ([-1.0, -2.0, 0.5], []),
    "index 1": ([-1.0, -2.0], [1, 1]),
    "index 2": ([-1.0, -3.0, 0.0], [2, 1]),
    "index 3": ([-0.5, -4.0], [3, 1]),
    "index 4": ([-0.5, 2.0, 0.0, 0.0], [4, 2]),
    "stiff": ([-1e-3, -1.0, -1e4], [2]),
    "no states": ([], [2, 1]),
}


def transfer(form, s, B, C) -> np.ndarray:
    """C Q ((s I − A)⁻¹ P₁ B; −Σ Nʲ sʲ P₂ B)."""
    n = form.evolving
    slow = np.linalg.solve(s * np.eye(n) - form.A, form.P[:n] @ B)
    fast, term = 0.0, form.P[n:] @ B
    for j in range(max(form.index, 1)):
        fast, term = fast - s**j * term, form.N @ term
    return C @ form.Q @ np.vstack([slow, fast * np.ones((len(form.P) - n, B.shape[1]))])


@pytest.mark.parametrize("spread", [0.0, 2.0])
@pytest.mark.parametrize("case", CASES)
def test_transfer_function_is_that_of_the_descriptor(case, spread):
    eigenvalues, chains = CASES[case]
    for seed in range(3):
        E, F = pencil(seed, eigenvalues, chains, spread)
        form = reduce_to_standard_form(E, F)
        assert form.evolving == len(eigenvalues)
        assert form.index == max(chains, default=0)
        generator = np.random.default_rng(seed + 100)
        rows, columns = np.abs(E) + np.abs(F), np.abs(E).T + np.abs(F).T
        B = generator.normal(size=(len(E), 2)) * rows.max(axis=1)[:, None]
        C = generator.normal(size=(2, len(E))) * columns.max(axis=1)
        for s in (0.3 + 1.1j, 2.0j):
            expected = C @ np.linalg.solve(s * E - F, B)
            assert np.max(np.abs(transfer(form, s, B, C) - expected)) < 1e-10 * np.max(np.abs(expected))


@pytest.mark.parametrize("case", CASES)
def test_parts_are_decoupled(case):
    eigenvalues, chains = CASES[case]
    E, F = pencil(7, eigenvalues, chains, 1.0)
    form = reduce_to_standard_form(E, F)
    n, k = form.evolving, len(form.N)
    for found, wanted in (
        (form.P @ E @ form.Q, block_diag(np.eye(n), form.N)),
        (form.P @ F @ form.Q, block_diag(form.A, np.eye(k))),
    ):
        assert np.allclose(found, wanted, rtol=0.0, atol=1e-10 * max(1.0, np.abs(wanted).max()))
    power = np.linalg.matrix_power(form.N, max(form.index, 1)) if k else form.N
    assert np.abs(power).max(initial=0.0) < 1e-12
    assert np.allclose(np.sort(np.linalg.eigvals(form.A).real), np.sort(eigenvalues), rtol=1e-7, atol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_motion_is_the_derivative_of_what_can_be_seen(case):
    """Bases are not unique; the transfer function is."""
    eigenvalues, chains = CASES[case]
    E, F = pencil(3, eigenvalues, chains)
    generator = np.random.default_rng(5)
    size, s = len(E), 0.4 + 0.9j
    # Directions that keep the index: similarity transforms of the whole, and a change of the finite part.
    left, right = (0.3 * generator.normal(size=(size, size)) for _ in range(2))
    n = len(eigenvalues)
    form = reduce_to_standard_form(E, F)
    inner = np.zeros((size, size))
    inner[:n, :n] = 0.1 * generator.normal(size=(n, n))
    outer = np.linalg.inv(form.P), np.linalg.inv(form.Q)
    dE = left @ E + E @ right
    dF = left @ F + F @ right + outer[0] @ inner @ outer[1]
    moved = differentiate_standard_form(form, dE, dF)
    B, C = generator.normal(size=(size, 2)), generator.normal(size=(2, size))
    h = 1e-6

    class Beside:
        def __init__(self, t: float) -> None:
            for name in ("A", "N", "P", "Q"):
                setattr(self, name, getattr(form, name) + t * getattr(moved, name))
            self.index, self.evolving = form.index, form.evolving

    found = (transfer(Beside(h), s, B, C) - transfer(Beside(-h), s, B, C)) / (2 * h)
    solve = np.linalg.solve
    exact = -C @ solve(s * E - F, (s * dE - dF) @ solve(s * E - F, B))
    assert np.max(np.abs(found - exact)) < 1e-6 * np.max(np.abs(exact))


@pytest.mark.parametrize("time", [1e-9, 1.0, 1e12])
def test_units_of_equations_variables_and_time_do_not_matter(time):
    eigenvalues, chains = CASES["index 3"]
    E, F = pencil(11, eigenvalues, chains)
    generator = np.random.default_rng(1)
    rows, columns = (2.0 ** generator.integers(-40, 40, len(E)) for _ in range(2))
    form = reduce_to_standard_form(time * rows[:, None] * E * columns, rows[:, None] * F * columns)
    assert (form.evolving, form.index) == (2, 3)
    assert np.allclose(np.sort(np.linalg.eigvals(form.A).real * time), np.sort(eigenvalues), rtol=1e-8)


@pytest.mark.parametrize("lag", [1e-3, 1e-9])
def test_a_fast_mode_stays_a_state(lag):
    form = reduce_to_standard_form(np.diag([1.0, lag]), np.array([[-1.0, 1.0], [0.0, -1.0]]))
    assert (form.evolving, form.index) == (2, 0)
    assert np.sort(np.linalg.eigvals(form.A).real) == pytest.approx([-1.0 / lag, -1.0], rel=1e-9)


def test_singular_pencils_name_the_part():
    E, F = np.zeros((4, 4)), np.eye(4)
    E[0, 0] = 1.0
    F[2:, 2:] = [[1.0, 2.0], [2.0, 4.0]]
    with pytest.raises(SingularPencilError) as caught:
        reduce_to_standard_form(E, F)
    rows, columns = caught.value.rows, caught.value.columns
    assert rows[:2].max() < 1e-12
    assert columns[:2].max() < 1e-12
    assert rows[2:].min() > 0.1
    assert columns[2:].min() > 0.1


def test_singular_for_every_frequency_although_not_at_zero_of_either():
    """λE − F with a dynamic dependency: two equations that are derivatives of each other."""
    E, F = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])
    with pytest.raises(SingularPencilError):
        reduce_to_standard_form(E, F)


def test_an_empty_pencil_has_a_form():
    form = reduce_to_standard_form(np.zeros((0, 0)), np.zeros((0, 0)))
    assert (form.evolving, form.index) == (0, 0)
