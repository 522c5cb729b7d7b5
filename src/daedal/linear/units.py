"""Units in which the entries of a pencil λE − F are all near one.

Factors r of the rows, c of the columns and τ of time minimise, over the entries that are not zero,

    Σ (log r_i + log c_j + log τ + log |E_ij|)² + Σ (log r_i + log c_j + log |F_ij|)²

(Curtis and Reid 1972, with a unit of time besides). The solution follows every change of units of equations, variables
and time exactly, so that whatever is judged in these units does not depend on those of the user.

Entries that change nothing do not count. Without M_ij, M = λE − F, the determinant is 1 − Λ_ij times what it was, with

    Λ = M ∘ M⁻ᵀ

(Bristol 1966), which does not depend on units either; the rows and columns of Λ have sums of one, so that something is
left of each. What is smaller than rounding at rates λ over many powers of ten, a sum that has cancelled or an entry
that someone computed, would spread its smallness over all units, and true entries would be taken for zeros.

Which rates these are cannot be told from the pencil alone: an integrator that leaks at 1e-30 beside a pole of 1, and a
pole of 1 beside a time constant of 1e-30, are one pencil in two units of time, but what counts for nothing is the leak
in one and the time constant in the other. So the user's unit of time decides: rates are those around the one next to it
among the rates of the pencil, which are where the slope of the tropical determinant

    max over permutations π of Σ_i max(log λ + log |E_iπ(i)|, log |F_iπ(i)|)

changes with log λ (Gaubert and Sharify 2009): they are orders of magnitude of the eigenvalues in any units of equations
and variables. A time constant 1e21 times shorter than that counts as zero.

E. H. Bristol, On a new measure of interaction for multivariable process control, IEEE Trans. Automat. Control 11 (1966)
133–134. A. R. Curtis, J. K. Reid, On the automatic scaling of matrices for Gaussian elimination, J. Inst. Math. Appl.
10 (1972) 118–124. S. Gaubert, M. Sharify, Tropical scaling of polynomial matrices, Lect. Notes Control Inf. Sci. 389
(2009) 291–303.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment

SUSPICIOUS = 1e-5  # in the units found: an entry below it may be one that changes nothing
NOTHING = 1e-13  # of the determinant: what an entry changes that does not count
RATES = 10.0 ** np.arange(0, 9, 4)  # at which that is looked at: from the rate next to the user's unit of time on
FAR = 24.0  # powers of ten between that rate and the user's unit of time, at most
FASTEST = 1000.0  # power of ten above all rates
NEAR = 2.0  # powers of ten to which it is searched
RESOLUTION = 0.25  # powers of ten to which it is told
LOOKS = 4  # times that entries are left out


def find_natural_units(E: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """r, c and τ: τ r E c and r F c have entries near one.

    Examples
    --------
    >>> rows, columns, time = find_natural_units(np.array([[1e6]]), np.array([[-3.0]]))
    >>> round(float((time * rows * 1e6 * columns)[0]), 6), round(float((rows * 3.0 * columns)[0]), 6)
    (1.0, 1.0)
    """
    filled = [matrix != 0.0 for matrix in (E, F)]
    rows, columns, _ = _fit_units(E, F, filled)
    # Without some entries parts may have a factor that is free: what settles it must not see the user's units.
    further = _leave_out(rows[:, None] * E * columns, rows[:, None] * F * columns, filled)
    return rows * further[0], columns * further[1], further[2]


def _leave_out(E: np.ndarray, F: np.ndarray, filled: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, float]:
    """Units for the entries that count."""
    units, rates = _fit_units(E, F, filled), None
    for _ in range(LOOKS if len(E) == E.shape[1] else 0):
        scaled = _scale(E, F, units)
        balanced = all(size[there].min(initial=1.0) > SUSPICIOUS for size, there in zip(scaled, filled, strict=True))
        if balanced and abs(np.log10(units[2])) < FAR:
            break
        rates = _find_rate(E, F) * RATES if rates is None else rates
        shares = _find_shares(E, F, rates)
        needed = [there & (share > NOTHING) for there, share in zip(filled, shares, strict=True)]
        if all(np.array_equal(*pair) for pair in zip(needed, filled, strict=True)):
            break
        filled, units = _fit_needed(E, F, needed)
    return units


def list_rates(E: np.ndarray, F: np.ndarray) -> list[float]:
    """Powers of ten of the rates of a regular pencil, ascending, as all its entries tell them, however small.

    Those of integrators are −∞.
    """

    with np.errstate(divide="ignore"):
        logs = np.log10(np.abs(E)), np.log10(np.abs(F))

    def search(low: float, high: float, below: int, above: int) -> list[float]:
        if below == above:
            return []
        middle = (low + high) / 2.0
        if high - low < RESOLUTION:
            return [middle] * (above - below)
        between = _count_slope(*logs, middle)
        return search(low, middle, below, between) + search(middle, high, between, above)

    still, everything = (_count_slope(*logs, end) for end in (-FASTEST, FASTEST))
    return [-np.inf] * still + search(-FASTEST, FASTEST, still, everything)


def _fit_needed(
    E: np.ndarray, F: np.ndarray, needed: list[np.ndarray]
) -> tuple[list[np.ndarray], tuple[np.ndarray, np.ndarray, float]]:
    """Units in which no entry is much above one, whether it changes anything or not; and the entries that count."""
    while True:
        units = _fit_units(E, F, needed)
        large = [size > 1.0 for size in _scale(E, F, units)]
        if not any(np.any(above & ~there) for above, there in zip(large, needed, strict=True)):
            return needed, units
        needed = [there | above for there, above in zip(needed, large, strict=True)]


def _scale(E: np.ndarray, F: np.ndarray, units: tuple[np.ndarray, np.ndarray, float]) -> tuple[np.ndarray, np.ndarray]:
    """Sizes of the entries in some units."""
    rows, columns, time = units
    return time * (rows[:, None] * np.abs(E) * columns), rows[:, None] * np.abs(F) * columns


def _find_rate(E: np.ndarray, F: np.ndarray) -> float:
    """The rate of the pencil that is next to one in the user's unit of time, or the end of the search towards it."""
    with np.errstate(divide="ignore"):
        logs = np.log10(np.abs(E)), np.log10(np.abs(F))
    here = _count_slope(*logs, 0.0)
    beside = [side * distance for distance in np.arange(NEAR, FAR + 1.0, NEAR) for side in (1.0, -1.0)]
    last = FAR if _count_slope(*logs, FASTEST) != here else -FAR
    return 10.0 ** next((place for place in beside if _count_slope(*logs, place) != here), last)


def _count_slope(e: np.ndarray, f: np.ndarray, place: float) -> int:
    """How many entries of E are in the tropical determinant at the rate 10**place: so many rates are smaller."""
    impossible = -1e6
    rows, columns = linear_sum_assignment(np.maximum(np.maximum(place + e, f), impossible), maximize=True)
    return int(np.sum(place + e[rows, columns] > f[rows, columns]))


def _find_shares(E: np.ndarray, F: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest share that each entry has in the determinant of λE − F; 1 where that is zero at every rate."""
    largest = np.zeros_like(E), np.zeros_like(F)
    for rate in rates:
        matrix = rate * E - F
        rows, columns = equilibrate(matrix)
        try:
            inverse = rows[:, None] * np.linalg.inv(rows[:, None] * matrix * columns).T * columns
        except np.linalg.LinAlgError:
            continue
        for part, share in zip((rate * E, F), largest, strict=True):
            np.fmax(share, np.abs(part * inverse), out=share)
    told = np.isfinite(largest).all() and np.any(largest)
    return largest if told else (np.ones_like(E), np.ones_like(F))


def equilibrate(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Factors of rows and columns that bring the largest of each near one (Ruiz's iteration)."""
    rows, columns = np.ones(len(matrix)), np.ones(matrix.shape[1])
    for _ in range(8):
        size = np.abs(rows[:, None] * matrix * columns)
        highest, widest = size.max(axis=1), size.max(axis=0)
        rows = rows / np.sqrt(np.where(highest > 0.0, highest, 1.0))
        columns = columns / np.sqrt(np.where(widest > 0.0, widest, 1.0))
    return rows, columns


def _fit_units(E: np.ndarray, F: np.ndarray, filled: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, float]:
    """Least squares over the entries that count."""
    m, end = len(E), sum(E.shape)
    logs = [np.log2(np.abs(np.where(there, matrix, 1.0))) for there, matrix in zip(filled, (E, F), strict=True)]
    normal, right = np.zeros((end + 1, end + 1)), np.zeros(end + 1)
    both = filled[0].astype(float) + filled[1]
    timed = filled[0].astype(float)
    normal[:m, m:end], normal[:m, end], normal[m:end, end] = both, timed.sum(axis=1), timed.sum(axis=0)
    normal += normal.T
    normal[np.diag_indices(end + 1)] = [*both.sum(axis=1), *both.sum(axis=0), timed.sum()]
    right[:m] = -(logs[0] + logs[1]).sum(axis=1)
    right[m:end] = -(logs[0] + logs[1]).sum(axis=0)
    right[end] = -logs[0].sum()
    # Parts that are not connected have a free factor each; a little weight on the factors themselves settles it.
    factors = np.linalg.solve(normal + 1e-9 * np.eye(end + 1), right)
    return 2.0 ** factors[:m], 2.0 ** factors[m:end], float(2.0 ** factors[end])
