"""Autoregressive models of a residual, fitted by Burg's method to several stretches without gaps.

    e_k = r_k + a₁ r_{k−1} + … + a_p r_{k−p},   E e_k² = σ²

From forward and backward errors f⁰ = b⁰ = r of every stretch, order m follows from order m − 1 by one reflection κ,
with sums over all stretches (de Waele and Broersen 2000) and Levinson's recursion:

    κ_m = −2 Σ f_k b_{k−1} / Σ (f_k² + b_{k−1}²),     σ²_m = (1 − κ_m²) σ²_{m−1},
    f_k ← f_k + κ_m b_{k−1},   b_k ← b_{k−1} + κ_m f_k,   (a₁ … a_m) = (a₁ … a_{m−1}, 0) + κ_m (a_{m−1} … a₁, 1)

|κ_m| ≤ 1, so the model is stable however short the stretches. The order minimises BIC = n log σ²_p + p log n.

Sample k of a stationary r is predicted from all k samples before it by the model of order min(k, p). With these
predictors as rows of a unit triangular B and their variances in D, B R Bᵀ = D for the autocovariance matrix R, so

    x R xᵀ = (F x)(F x)ᵀ,   F x = x B⁻¹ D^½:

x filtered backwards by 1/A as far as sample p, then a triangular system of p equations. The predictors of lower order
follow from the recursion above, solved for (a₁ … a_{m−1}).

J. P. Burg, Maximum Entropy Spectral Analysis, PhD thesis, Stanford University (1975).
S. de Waele, P. M. T. Broersen, The Burg algorithm for segments, IEEE Trans. Signal Process. 48 (2000) 2876–2880.
G. Schwarz, Estimating the dimension of a model, Ann. Statist. 6 (1978) 461–464.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from daedal.data import frozen
from daedal.errors import DataError, counted

EXACT = 1e-11  # of the mean square: a smaller error is rounding, and fitting it would put poles on the unit circle
LARGEST_REFLECTION = 1 - EXACT / 4  # reached by constant and alternating series; their error then counts as exact
SAMPLES_PER_ORDER = 10  # at least, when the order is chosen
TINY = float(np.finfo(float).tiny)


@final
@dataclass(frozen=True, eq=False)
class Autoregression:
    """The process r with e_k = r_k + a₁ r_{k−1} + … + a_p r_{k−p}, e white.

    Attributes
    ----------
    coefficients
        a₁ … a_p.
    variance
        Of e, in squared units of r.

    Examples
    --------
    >>> Autoregression(np.array([-0.5]), 1.0).whiten(np.array([0.0, 2.0, 3.0]))
    array([0., 2., 2.])
    """

    coefficients: np.ndarray
    variance: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficients", frozen(np.array(self.coefficients, dtype=float)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Autoregression):
            return NotImplemented
        return self.variance == other.variance and np.array_equal(self.coefficients, other.coefficients)

    def __hash__(self) -> int:
        return hash((self.variance, self.order))

    @property
    def order(self) -> int:
        """How many past samples count."""
        return self.coefficients.size

    @property
    def polynomial(self) -> np.ndarray:
        """1, a₁ … a_p."""
        return np.concatenate([[1.0], self.coefficients])

    def whiten(self, x: np.ndarray) -> np.ndarray:
        """e from x (…, time), NaN where x is, which all rows are at the same times.

        The first samples of a stretch have no complete past: they are predicted from what there is, and their errors
        scaled to the variance of e, so that no sample is lost.
        """
        result = np.full(x.shape, np.nan)
        head, scale = self._head
        for stretch in find_contiguous(x.reshape(-1, x.shape[-1])[0]):
            inside = x[..., stretch]
            size = min(self.order, inside.shape[-1])
            errors = self._filter(inside)
            errors[..., :size] = inside[..., :size] @ head[:size, :size].T * scale[:size]
            result[..., stretch] = errors
        return result

    def adjoint(self, x: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Wᵀ x for x (…, time), W taking the samples `known` (time,) to their e."""
        result = np.zeros(x.shape)
        head, scale = self._head
        for stretch in find_contiguous(np.where(known, 0.0, np.nan)):
            inside = np.array(x[..., stretch])
            size = min(self.order, inside.shape[-1])
            first = inside[..., :size] * scale[:size] @ head[:size, :size]
            inside[..., :size] = 0.0
            back = np.flip(self._filter(np.flip(inside, axis=-1)), axis=-1)
            back[..., :size] += first
            result[..., stretch] = back
        return result

    def _filter(self, x: np.ndarray) -> np.ndarray:
        """The moving average of x (…, time) with the polynomial, nothing before it."""
        result = np.array(x, dtype=float)
        for lag, coefficient in enumerate(self.polynomial[1 : x.shape[-1]], start=1):
            result[..., lag:] += coefficient * x[..., : x.shape[-1] - lag]
        return result

    @cached_property
    def _head(self) -> tuple[np.ndarray, np.ndarray]:
        """What predicts the first p samples from those before them, and what scales the errors to the variance of e."""
        B, D = _find_beginning(self)
        return B, np.sqrt(self.variance / np.where(D > 0.0, D, 1.0))

    def draw(self, normals: np.ndarray) -> np.ndarray:
        """Stationary series from independent normal numbers of unit variance (…, time), as many."""
        B, D = _find_beginning(self)
        p, a = min(self.order, normals.shape[-1]), self.coefficients
        first = normals[..., :p] * np.sqrt(D[:p]) @ np.linalg.inv(B[:p, :p]).T
        if p < self.order or p == normals.shape[-1]:
            return first
        past = np.flip(first, axis=-1)
        driven = normals[..., p:] * np.sqrt(self.variance)
        for k in range(min(p, driven.shape[-1])):
            driven[..., k] -= past[..., : p - k] @ a[k:]  # what the first samples pass on
        return np.concatenate([first, self._recur(driven)], axis=-1)

    def _recur(self, e: np.ndarray) -> np.ndarray:
        """x (…, time) whose moving average with the polynomial is e, nothing before it."""
        from scipy.linalg import get_lapack_funcs

        count, order = e.shape[-1], min(self.order, e.shape[-1])
        if not order or not e.size:  # without right-hand sides the routine writes beyond its arrays
            return np.array(e, dtype=float)
        band = np.repeat(self.polynomial[: order + 1, None], count, axis=1)
        (solve_banded_triangle,) = get_lapack_funcs(("tbtrs",), (band,))
        solved, _ = solve_banded_triangle(band, e.reshape(-1, count).T, uplo="L", diag="U")
        return np.ascontiguousarray(solved.T).reshape(e.shape)

    def long_run(self, x: np.ndarray) -> np.ndarray:
        """F x (…, time) with (F x)(F x)ᵀ = x R xᵀ for weights x (…, time), zero at missing samples.

        R is the autocovariance matrix of the stationary process, so (F x)(F x)ᵀ is the covariance of the sums x r.
        """
        p, none = self.order, np.zeros((*x.shape[:-1], self.order))
        padded = np.concatenate([x, none], axis=-1)  # a series may be shorter than p, and weights of zero are free
        late = self._recur(np.flip(padded[..., p:], axis=-1))
        B, D = _find_beginning(self)
        last = np.flip(np.concatenate([none, late], axis=-1)[..., late.shape[-1] :], axis=-1)
        passed = [-last[..., : p - k] @ self.coefficients[k:] for k in range(p)]  # by the later samples to the first p
        state = np.stack(passed, axis=-1) if p else none
        early = (padded[..., :p] + np.flip(state, axis=-1)) @ np.linalg.inv(B)
        both = [early * np.sqrt(D), np.flip(late, axis=-1) * np.sqrt(self.variance)]
        return np.concatenate(both, axis=-1)[..., : x.shape[-1]]


def _find_beginning(model: Autoregression) -> tuple[np.ndarray, np.ndarray]:
    """B and the diagonal of D for the first p samples, by the models of order p − 1 … 0."""
    B, D = np.eye(model.order), np.zeros(model.order)
    a, variance = model.coefficients, model.variance
    for k in reversed(range(model.order)):
        reflection = _limit(a[-1])
        left = 1.0 - reflection**2
        a, variance = (a[:-1] - reflection * a[-2::-1]) / left, variance / left
        B[k, :k], D[k] = a[::-1], variance
    return B, D


def fit_autoregression(
    stretches: Sequence[np.ndarray], order: int | None = None, most: int = 40, penalty: float | None = None
) -> Autoregression:
    """The autoregression of the stretches together, each (time,) without gaps; their mean is not subtracted.

    Without an `order`, the best up to `most` is taken, and up to one for ten samples; each coefficient has to gain the
    `penalty` in n log σ² (log n when left out, as in BIC; 2 is Akaike's).

    Examples
    --------
    >>> fit_autoregression([np.array([1.0, -1.0, 1.0]), np.array([2.0, 0.0])], order=1).coefficients
    array([0.5])
    """
    return fit_autoregressions([stretch[None] for stretch in stretches], order, most, penalty)[0]


def fit_autoregressions(
    stretches: Sequence[np.ndarray], order: int | None = None, most: int = 40, penalty: float | None = None
) -> list[Autoregression]:
    """The same for each row of stretches (row, time)."""
    count, longest = _check(stretches)
    if order is None:
        highest = min(most, count // SAMPLES_PER_ORDER, longest - 1)
        candidates = list(_run_burg(stretches, highest))
        gain = np.log(count) if penalty is None else penalty
        costs = [count * np.log(np.maximum(one.variances, TINY)) + k * gain for k, one in enumerate(candidates)]
        return [candidates[best].choose(row) for row, best in enumerate(np.argmin(costs, axis=0))]
    if not 0 <= order < longest:
        raise DataError(
            f"The order of an autoregression must be from 0 to {longest - 1} here, got {order}.",
            f"The longest stretch without gaps has {counted(longest, 'sample')}; give a lower order.",
        )
    *_, last = _run_burg(stretches, order)
    return [last.choose(row) for row in range(len(last.variances))]


def _check(stretches: Sequence[np.ndarray]) -> tuple[int, int]:
    """Number of samples, and how many the longest stretch has."""
    lengths = [stretch.shape[-1] for stretch in stretches]
    if sum(lengths) == 0:
        raise DataError("An autoregression needs samples but none were given.", "Give at least one stretch.")
    if not all(np.isfinite(stretch).all() for stretch in stretches):
        raise DataError(
            "The stretches of an autoregression must be finite but contain NaN or infinite samples.",
            "Cut the series at its gaps: [series[part] for part in find_contiguous(series)].",
        )
    return sum(lengths), max(lengths)


@dataclass(frozen=True, eq=False)
class _Models:
    """Autoregressions of one order, (row, order) and (row,)."""

    coefficients: np.ndarray
    variances: np.ndarray

    def choose(self, row: int) -> Autoregression:
        return Autoregression(self.coefficients[row], float(self.variances[row]))

    def reflect(self, reflections: np.ndarray) -> "_Models":
        """Levinson's step to the next order."""
        a, none = self.coefficients, np.zeros((len(self.variances), 1))
        longer = np.hstack([a, none]) + reflections[:, None] * np.hstack([a[:, ::-1], none + 1.0])
        return _Models(longer, self.variances * (1.0 - reflections**2))


def _run_burg(stretches: Sequence[np.ndarray], highest: int) -> Iterator[_Models]:
    """The models of order 0 … highest."""
    errors = [(stretch, stretch) for stretch in stretches]
    together = np.concatenate(stretches, axis=-1)
    models = _Models(np.zeros((len(together), 0)), np.mean(together**2, axis=-1))
    yield models
    exact = EXACT * models.variances
    for _ in range(highest):
        pairs = [(forward[:, 1:], backward[:, :-1]) for forward, backward in errors]
        reflections = np.where(models.variances > exact, _find_reflections(pairs), 0.0)
        kappa = reflections[:, None]
        errors = [(f + kappa * b, b + kappa * f) for f, b in pairs]
        models = models.reflect(reflections)
        yield models


def _find_reflections(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    power = np.sum([_multiply(f, f) + _multiply(b, b) for f, b in pairs], axis=0)
    ratio = -2.0 * np.sum([_multiply(f, b) for f, b in pairs], axis=0) / np.where(power > 0.0, power, 1.0)
    return _limit(ratio)


def _multiply(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The scalar products of rows."""
    return (one[:, None, :] @ other[:, :, None])[:, 0, 0]


def _limit(reflection: np.ndarray) -> np.ndarray:
    return np.clip(reflection, -LARGEST_REFLECTION, LARGEST_REFLECTION)


def find_contiguous(values: np.ndarray) -> list[slice]:
    """The longest stretches of values (time,) without NaN.

    Examples
    --------
    >>> find_contiguous(np.array([1.0, 2.0, np.nan, 3.0]))
    [slice(0, 2, None), slice(3, 4, None)]
    """
    known = np.concatenate([[False], ~np.isnan(values), [False]])
    edges = np.flatnonzero(known[1:] != known[:-1]).reshape(-1, 2).tolist()
    return [slice(begin, end) for begin, end in edges]
