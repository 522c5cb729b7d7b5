"""Matrices with derivatives: every operation against differences of the same operation on numbers."""

import numpy as np
import pytest
from scipy.linalg import block_diag

from daedal.linear.dual import Dual, lift, stack, stack_diagonally

GENERATOR = np.random.default_rng(2)
A, B = (Dual(GENERATOR.normal(size=(3, 3)), GENERATOR.normal(size=(2, 3, 3))) for _ in range(2))
OPERATIONS = {
    "sum": (lambda a, b: a + b, lambda a, b: a + b),
    "difference": (lambda a, b: a - b, lambda a, b: a - b),
    "negative": (lambda a, b: -a @ b, lambda a, b: -a @ b),
    "matrix product": (lambda a, b: a @ b, lambda a, b: a @ b),
    "product": (lambda a, b: a * b, lambda a, b: a * b),
    "transpose": (lambda a, b: a.T @ b, lambda a, b: a.T @ b),
    "symmetric": (lambda a, b: (a @ b).symmetric, lambda a, b: 0.5 * (a @ b + (a @ b).T)),
    "solve": (lambda a, b: a.solve(b), lambda a, b: np.linalg.solve(a, b)),
    "rows": (lambda a, b: a[1:] @ b[:, [2, 0]], lambda a, b: a[1:] @ b[:, [2, 0]]),
    "row": (lambda a, b: a[1] * b[2], lambda a, b: a[1] * b[2]),
    "below": (lambda a, b: stack([a, b]), lambda a, b: np.vstack([a, b])),
    "beside": (lambda a, b: stack([a, b], axis=1), lambda a, b: np.hstack([a, b])),
    "diagonal": (lambda a, b: stack_diagonally([a, b], 2), lambda a, b: block_diag(a, b)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation(name):
    dual, plain = OPERATIONS[name]
    found = dual(A, B)
    assert np.allclose(found.value, plain(A.value, B.value), rtol=1e-13)
    for direction in range(2):
        ahead, behind = (
            plain(A.value + h * A.slopes[direction], B.value + h * B.slopes[direction]) for h in (1e-6, -1e-6)
        )
        assert np.allclose(found.slopes[direction], (ahead - behind) / 2e-6, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation_without_directions(name):
    still = [Dual(each.value, np.zeros((0, 3, 3))) for each in (A, B)]
    found = stack_diagonally(still, 0) if name == "diagonal" else OPERATIONS[name][0](*still)
    assert found.slopes.shape == (0, *found.value.shape)


def test_a_constant_does_not_move():
    assert not lift(np.eye(2), 3).slopes.any()
    assert lift(np.eye(2), 3).slopes.shape == (3, 2, 2)
