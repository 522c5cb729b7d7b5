"""Sizes of variables, and the units that make a run the same whatever units the user chose.

The solver sees ŷ = y / u and r̂ = r / ρ. u are the sizes of the variables, rounded to powers of two, so that no digit
changes; its absolute tolerance is then one number, relative to the size of each variable. ρ makes the largest entry of
each row of ∂r̂/∂ŷ about one. A change of units by powers of two gives the same run to the last bit.

A size is the largest value so far. At first it is what a variable reaches in a short while, which is rather too small:
that costs steps where a variable crosses zero, but never accuracy. What is smaller than the round-off of the terms it
is made of,

    |∂r/∂y + cj ∂r/∂y'|⁻¹ ε (|∂r/∂y| |y| + |∂r/∂y'| |y'| + |∂r/∂w| |w| + |∂r/∂t| |t|),

gets that as its size as soon as the solver is held up: nobody can resolve it.
"""

from typing import Any

import numpy as np

from daedal.systems import round_to_power

SHORT = 1e-4  # of the time in which variables change by their own size: how long the first look is
GROWN = 1e3  # times its size that a variable reaches before the solver is told
UNKNOWN = 1e-3  # of what its terms would allow: the size of a variable that shows none yet
LEAST = 1e-16  # of what the whole time would allow: a size that counts as round-off of it
NEAR_ZERO, NEAR_ZERO_SOLVED = 0.01, 0.05  # of its size: below this a state, and what is solved for, is near zero
APART = 4.0  # times: units in which constraints move X that differ less are as good
LIFTED = 2.0  # times that: what such a variable is allowed
ROUNDING = 16 * 2.0**-52  # of its terms: what is lost of a variable
RESOLVED = 0.05  # of what a variable is allowed: round-off above it keeps Newton iterations from converging


def find_duration(values: np.ndarray, rates: np.ndarray, lost: np.ndarray, span: float) -> float:
    """A short while: in which no variable, round-off aside, changes by more than a small share of itself."""
    moving = (np.abs(values) > lost) & (rates != 0.0)
    natural = np.min(np.abs(values[moving] / rates[moving]), initial=np.inf)
    return SHORT * min(float(natural), span)


def balance_rows(matrix: Any) -> np.ndarray:
    """ρ: the power of two up to the largest entry of each row; one where it tells nothing."""
    largest = abs(matrix).max(axis=1)
    largest = largest if isinstance(largest, np.ndarray) else largest.toarray().ravel()
    return round_to_power(np.where(np.isfinite(largest), largest, 0.0))


def spread(matrix: Any, terms: np.ndarray) -> np.ndarray:
    """|A⁻¹| b, or a likely value of it where A is sparse; not finite where A is singular."""
    if isinstance(matrix, np.ndarray):
        try:
            return np.abs(np.linalg.inv(matrix)) @ terms
        except np.linalg.LinAlgError:
            return np.full(terms.size, np.inf)
    from scipy.sparse.linalg import splu

    try:
        factors = splu(matrix.tocsc())
    except RuntimeError:
        return np.full(terms.size, np.inf)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (terms.size, 8))
    return np.abs(factors.solve(signs * terms[:, None])).max(axis=1)
