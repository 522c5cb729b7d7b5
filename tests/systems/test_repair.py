"""Cancellations that fool the structure: repaired where that is possible, named where it is not."""

import numpy as np
import pytest

import catalogue
import daedal as dd
from catalogue.small import model
from daedal import der
from daedal.errors import StructureError
from daedal.systems import build

x, y, z, w, i1, i2, v1, v2, v3 = dd.symbols("x y z w i1 i2 v1 v2 v3")
p, q, R, C = dd.symbols("p q R C")
TIMES = np.linspace(0.0, 2.0, 9)
PRECISE = dd.IDA(rtol=1e-10, atol=1e-12)


def test_transistor_amplifier_takes_three_repairs():
    structure = build(catalogue.transistor_amplifier().model()).structure
    assert len(structure.repairs) == 3
    assert {sentence.split(";")[0] for sentence in structure.repairs} == {
        "terms cancel between 'node 1' and 'node 2'",
        "terms cancel between 'node 4' and 'node 5'",
        "terms cancel between 'node 7' and 'node 8'",
    }


def test_gear_petzold():
    structure = build(catalogue.gear_petzold().model()).structure
    assert (structure.index, structure.degrees_of_freedom, len(structure.repairs)) == (2, 0, 1)
    assert structure.differentiated["sum"] == 1
    assert "terms cancel between 'rate' and 'sum'" in str(structure)


def test_gear_petzold_in_its_unstable_range_of_parameters():
    trajectory = dd.simulate(catalogue.gear_petzold().model(), TIMES, values={"eta": -0.6}, solver=PRECISE)
    np.testing.assert_allclose(trajectory["y"], np.exp(-TIMES), atol=1e-9)


def test_rod_given_twice():
    with pytest.raises(StructureError, match="the equations 'rod' and 'rod again' say the same thing") as caught:
        build(catalogue.rod_twice().model())
    assert "not determined" in str(caught.value)


@pytest.mark.parametrize("size", [1.0, 1e-9, 1e9])
def test_contradiction(size):
    with pytest.raises(StructureError, match="the equations 'e0' and 'e1' contradict each other, and 'y' and 'x'"):
        build(model([x + y == size, x + y == 2 * size], [x, y]))


def test_repetition_of_a_multiple():
    with pytest.raises(StructureError, match="the equations 'e0' and 'e1' say the same thing"):
        build(model([x + y == 1, 2 * x + 2 * y == 2], [x, y]))


def test_repetition_of_a_sum():
    with pytest.raises(StructureError, match="the equations 'e0', 'e1' and 'e2' say the same thing"):
        build(model([x + y + z == 1, x - y == 2, 2 * x + z == 3], [x, y, z]))


@pytest.mark.parametrize("factor", [2.0, 7.0, 1 / 3])
def test_repetition_whose_lower_terms_cancel_only_to_round_off(factor):
    first = 0.1 * der(x) + 0.1 * der(y) + 0.1 * x * y
    second = 0.1 * factor * der(x) + 0.1 * factor * der(y) + 0.1 * factor * x * y
    with pytest.raises(StructureError, match="the equations 'e0' and 'e1' say the same thing"):
        build(model([first == 0, second == 0], [x, y]))


def test_rate_against_value():
    with pytest.raises(StructureError, match="the equations 'e0' and 'e1' contradict each other"):
        build(model([der(x) + der(y) == 1, x + y == 2], [x, y]))


def test_floating_capacitors_with_every_node_equation():
    circuit = model(
        {
            "n1": C * (der(v1) - der(v2)) + (v1 - np.sin(dd.time)) / R == 0,
            "n2": C * (der(v2) - der(v1)) + v2 / R + C * (der(v2) - der(v3)) == 0,
            "n3": C * (der(v3) - der(v2)) + v3 / R == 0,
        },
        [v1, v2, v3],
        parameters={R: 1.0, C: 1.0},
        initial={v1: 0.0, v2: 0.0},
    )
    system = build(circuit)
    assert system.structure.degrees_of_freedom == 2
    assert system.linear
    trajectory = dd.simulate(system, TIMES)
    total = trajectory["v1"] - np.sin(TIMES) + trajectory["v2"] + trajectory["v3"]
    np.testing.assert_allclose(total, 0.0, atol=1e-12)  # no net current flows into the island of capacitors


def test_island_without_ground():
    circuit = model(
        {
            "n1": C * (der(v1) - der(v2)) + (v1 - v2) / R == 0,
            "n2": C * (der(v2) - der(v1)) + (v2 - v1) / R == 0,
        },
        [v1, v2],
        parameters={R: 1.0, C: 1.0},
    )
    with pytest.raises(StructureError, match="the equations 'n1' and 'n2' say the same thing"):
        build(circuit)


def coupled(mutual, **values):
    L1, L2 = dd.symbols("L1 L2")
    return model(
        {
            "primary": R * i1 + L1 * der(i1) + mutual * der(i2) == np.sin(dd.time),
            "secondary": R * i2 + mutual * der(i1) + L2 * der(i2) == 0,
        },
        [i1, i2],
        parameters={L1: 1.0, L2: 4.0, R: 1.0, **{dd.symbol(k): v for k, v in values.items()}},
        initial={i1: 0.0},
    )


def transformer_solution(L1, L2, times):
    """With M = √(L1 L2) and n = √(L2/L1): i2 = n (i1 − sin t), (L1 + L2) i1' + i1 = sin t + L2 cos t, R = 1."""
    s = L1 + L2
    # Particular solution a sin t + b cos t: a − s b = 1, b + s a = L2.
    a, b = np.linalg.solve([[1.0, -s], [s, 1.0]], [1.0, L2])
    i = a * np.sin(times) + b * np.cos(times) - b * np.exp(-times / s)
    return i, np.sqrt(L2 / L1) * (i - np.sin(times))


def test_perfect_coupling_of_parameters_that_change_later():
    perfect = coupled(np.sqrt(dd.symbol("L1") * dd.symbol("L2")))
    first = build(perfect)
    assert first.structure.degrees_of_freedom == 1
    other = perfect.with_parameters({"L1": 2.0, "L2": 0.5})
    assert build(other).reduction is first.reduction
    for example, L1, L2 in ((perfect, 1.0, 4.0), (other, 2.0, 0.5)):
        trajectory = dd.simulate(example, TIMES, solver=PRECISE)
        expected = transformer_solution(L1, L2, TIMES)
        np.testing.assert_allclose(trajectory["i1"], expected[0], atol=1e-8)
        np.testing.assert_allclose(trajectory["i2"], expected[1], atol=1e-8)


def test_perfect_coupling_by_the_values_alone_is_named():
    with pytest.raises(StructureError, match="With the given parameter values the equations 'primary' and 'secondary'"):
        build(coupled(dd.symbol("M"), M=2.0))


def test_factor_that_depends_on_parameters():
    example = model(
        [p * der(x) + p * q * der(y) == -x, q * der(x) + q**2 * der(y) == z, z == y - x],
        [x, y, z],
        parameters={p: 2.0, q: 3.0},
        initial={x: 1.0},
    )
    for values in ((2.0, 3.0), (5.0, 3.0)):
        trajectory = dd.simulate(example, TIMES, values=dict(zip("pq", values, strict=True)), solver=PRECISE)
        a, b = values
        np.testing.assert_allclose(trajectory["x"], np.exp(-TIMES / (a * (1 + b * (1 - b / a)))), rtol=1e-7)


def test_factor_that_depends_on_states():
    # y times the first equation less the second leaves z = 0, hence y = 2 − x/10.
    example = model(
        [der(x) + x * der(y) == -x, y * der(x) + x * y * der(y) == z - x * y, z == y - 2 + 0.1 * x],
        [x, y, z],
        initial={x: 1.0},
        guess={y: 1.5},
    )
    trajectory = dd.simulate(example, TIMES, solver=PRECISE)
    np.testing.assert_allclose(trajectory["y"], 2 - 0.1 * trajectory["x"], atol=1e-12)
    np.testing.assert_allclose(np.log(trajectory["x"]) - 0.1 * trajectory["x"], -0.1 - TIMES, atol=1e-7)


def weierstrass(seed: int, slow: int, block: int):
    """P (E, A) Q of a pencil with `slow` finite eigenvalues and one nilpotent block, all entries mixed."""
    rng = np.random.default_rng(seed)
    n = slow + block
    E, A = np.diag(np.r_[np.ones(slow), np.zeros(block)]), np.eye(n)
    E[range(slow, n - 1), range(slow + 1, n)] = 1.0
    A[:slow, :slow] = rng.uniform(-1, 1, (slow, slow))
    P, Q = (rng.integers(-3, 4, (n, n)) + 5.0 * np.eye(n) for _ in range(2))
    E, A = P @ E @ Q, P @ A @ Q
    unknowns = dd.symbols("x", n)
    equations = {
        f"row {i}": sum(E[i, j] * der(unknowns[j]) + A[i, j] * unknowns[j] for j in range(n))
        == np.sin((i + 1) * dd.time)
        for i in range(n)
    }
    return dd.Model(name="pencil", equations=equations, unknowns=unknowns)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("slow", "block"), [(2, 1), (1, 2), (2, 2), (1, 3), (0, 3)])
def test_index_of_matrix_pencils_with_all_structure_hidden(slow, block, seed):
    system = build(weierstrass(seed, slow, block))
    assert (system.structure.index, system.structure.degrees_of_freedom) == (block, slow)
    assert system.linear
