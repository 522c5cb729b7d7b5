"""Eigenvalues of matrices whose rates are many powers of ten apart, each to its own digits.

The QR algorithm is off by ε ‖A‖, which is everything of an eigenvalue 10¹⁵ times smaller than the largest. Those of
(A − σI)⁻¹ are 1/(λ − σ), and Gaussian elimination knows it to the last digits of the entries of A: with σ as large as
an eigenvalue, none of its digits are lost. So σ descends from the largest to the smallest in steps, and each gives the
eigenvalues that are about as large as it is.
"""

import numpy as np

APART = 1e5  # times: eigenvalues that differ more are looked at one after the other
STEP = 1e4  # from one σ to the next
BESIDE = 1.37  # times a power of the step: σ, which should not be an eigenvalue
DEEPEST = 1e-36  # of the largest: what is smaller is zero


def find_eigenvalues(A: np.ndarray) -> np.ndarray:
    """All eigenvalues, the largest first where they are far apart.

    Examples
    --------
    >>> float(find_eigenvalues(np.array([[-1.0, 1.0], [1e14, -1e15]]))[1].round(9))
    -0.9
    """
    usual = np.linalg.eigvals(A)
    sizes = np.abs(usual)
    largest = float(sizes.max(initial=0.0))
    if not np.isfinite(largest) or largest <= APART * sizes.min(initial=np.inf):
        return usual
    found: list[complex] = []
    shift = BESIDE * largest
    while len(found) < len(A) and shift > DEEPEST * largest:
        try:
            values = shift + 1.0 / np.linalg.eigvals(np.linalg.inv(A - shift * np.eye(len(A))))
        except np.linalg.LinAlgError:
            return usual
        if not np.isfinite(values).all():
            return usual
        # Those found before are the largest of these too. They are counted, not cut where the last shift ended: close
        # ones, which are known to few digits, may lie below that border in one pass and above it in the next.
        left = values[np.argsort(-np.abs(values), kind="stable")][len(found) :]
        found += [complex(value) for value in left if abs(value) >= shift / STEP**0.5]
        shift /= STEP
    every = np.zeros(len(A), dtype=complex)
    every[: len(found)] = found
    return every if np.imag(every).any() else np.real(every)
