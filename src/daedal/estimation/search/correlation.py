"""Whiteness of a residual, and its independence of an input: the largest of many correlations, which allows for gaps.

With ε = A e, A an autoregression that whitens the residual e, and ũ_k = A u_{−k} the input delayed by k samples and
filtered alike, k = −m … m (zero outside its record), a residual that does not depend on the input has

    r_k = Σ_t ε_t ũ_k(t),   P_kl = σ² Σ_t ũ_k(t) ũ_l(t),

whatever the input is. For whiteness r_k = Σ e_t e_{t+k} / Σ e_t², k = 1 … m, has variances n_k / (n (n + 2)) with n_k
pairs among n samples (Ljung and Box). An estimate φ̂ from the same samples, e = v − ψᵀ H⁻¹ ψ v for the noise v, takes
its part out of both, and gives the first a mean, −Σ_t Π(t, t + k)/n with Π = ψᵀ H⁻¹ ψ, which is subtracted: many short
experiments whose starts were estimated would look correlated otherwise. With L the weights of r in v,

    P = X R Xᵀ,   X = L − (L ψᵀ) H⁻¹ ψ        and        P = P₀ − D H⁻¹ Dᵀ,   D_k = Σ e_{t−k} ψ_t / Σ e².

The test is that of the largest z_k = |r_k| / √P_kk: its distribution is that of the largest of normal variables with
the correlations of P, found by drawing, so that inputs that excite few directions need no inverse. The band of 95 % is
simultaneous: the test rejects if, and only if, a correlation lies outside. With α the level of one lag at its edge, the
p-value is 1 − (1 − p_one)^M, where M = log 0.95 / log(1 − α) counts how many independent lags that would be.

What depends on the input, on one of a narrow band above all, may hide in A. So A is made of what the leading (at most
six) directions of the delayed inputs leave of e, if that has the lower BIC; without dependence it hardly ever has.

G. M. Ljung, G. E. P. Box, On a measure of lack of fit in time series models, Biometrika 65 (1978) 297–303.
L. Ljung, System Identification: Theory for the User, 2nd ed., Prentice Hall (1999), section 16.6.
G. E. P. Box, D. A. Pierce, Distribution of residual autocorrelations, J. Amer. Statist. Assoc. 65 (1970) 1509–1526.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import final

import numpy as np

from daedal.estimation.problem import Autoregression, find_contiguous, fit_autoregression
from daedal.linear import invert_semidefinite

LEVEL = 0.95  # of the band
RANK = 1e-10  # eigenvalue, relative to the largest, that counts as zero
DRAWS = 4096  # of all lags at once; the level is then right to ± 0.35 %
MOST, HELD = 6, 0.99  # leading directions of the delayed inputs: at most, and their share of them that is enough
LEAST = 0.05  # of the variance of an autocorrelation that an estimate leaves
SHORT = 200  # samples: in longer series the few that tell the start do not matter
TURNS = 3  # between filter and dependence on the input


@final
@dataclass(frozen=True, eq=False)
class CorrelationTest:
    """Correlations at all lags with their band of 95 %, and one test of them together.

    The band is that of all lags together: the test fails where a correlation lies outside it. `statistic` is the
    largest of them in standard deviations, `degrees_of_freedom` in how many directions they can vary, `p_value` the
    probability of a larger one if there is no correlation; NaN where nothing can be told (a residual or an input that
    is zero throughout).
    """

    lags: np.ndarray
    correlation: np.ndarray
    band: np.ndarray
    statistic: float
    degrees_of_freedom: int
    p_value: float

    @property
    def outside(self) -> np.ndarray:
        """The lags whose correlation lies outside the band."""
        return self.lags[np.abs(self.correlation) > self.band]

    @property
    def passed(self) -> bool:
        """Whether all correlations lie inside the band."""
        return not self.outside.size


@final
@dataclass(frozen=True, eq=False)
class Spent:
    """What an estimate from the same samples took out of residuals: their slopes ψ (number, time), and H.

    `opened` are directions U (number, time) of length one that were taken out of each series by itself.
    """

    slopes: Sequence[np.ndarray]
    curvature: np.ndarray
    opened: Sequence[np.ndarray | None] = ()

    def list_opened(self) -> list[np.ndarray]:
        """U of each series; none where nothing was taken out."""
        given = self.opened or [None] * len(self.slopes)
        return [np.zeros((0, S.shape[1])) if U is None else U for S, U in zip(self.slopes, given, strict=True)]

    @property
    def count(self) -> int:
        """How many numbers were estimated."""
        return len(self.curvature)

    def invert(self) -> np.ndarray:
        """H⁺, which numbers that nothing shows are no part of."""
        return invert_semidefinite(self.curvature, RANK)

    def add(self, more: Sequence[np.ndarray], before: float = 0.0) -> "Spent":
        """With further numbers that were estimated, by their slopes; `before` from so many times as many samples."""
        slopes = [np.vstack(pair) for pair in zip(self.slopes, more, strict=True)]
        curvature = np.sum([rows @ rows.T for rows in slopes], axis=0)
        curvature[self.count :, self.count :] *= 1.0 + before
        curvature[: self.count, : self.count] = self.curvature
        return Spent(slopes, curvature, self.opened)

    def find_step(self, residuals: Sequence[np.ndarray]) -> np.ndarray:
        """H⁺ ψ e: the most probable values of these numbers."""
        pairs = zip(self.slopes, residuals, strict=True)
        return self.invert() @ np.sum([S @ np.nan_to_num(e) for S, e in pairs], axis=0)

    def remove(self, residuals: Sequence[np.ndarray]) -> list[np.ndarray]:
        """e − ψᵀ H⁺ ψ e: the residuals without them."""
        step = self.find_step(residuals)
        return [e - step @ S for S, e in zip(self.slopes, residuals, strict=True)]


def spend_nothing(residuals: Sequence[np.ndarray]) -> Spent:
    """Where nothing was estimated."""
    return Spent([np.zeros((0, e.size)) for e in residuals], np.zeros((0, 0)))


def whiteness(residuals: Sequence[np.ndarray], lags: int, spent: Spent | None = None) -> CorrelationTest:
    """The autocorrelation of series (time,), NaN where a sample is missing.

    Examples
    --------
    >>> whiteness([np.array([1.0, -1.0, 1.0, -1.0])], lags=1).correlation
    array([-0.75])
    """
    spent = spend_nothing(residuals) if spent is None else spent
    steps = np.arange(1, lags + 1)
    known, filled = [np.isfinite(e) for e in residuals], [np.nan_to_num(e) for e in residuals]
    count, power = sum(int(k.sum()) for k in known), sum(float(e @ e) for e in filled)
    if not power > 0.0:
        return _tell_nothing(steps)
    products = np.array([sum(float(e[k:] @ e[:-k]) for e in filled) for k in steps])
    pairs = np.array([sum(int(np.sum(one[k:] & one[:-k])) for one in known) for k in steps])
    opened = spent.list_opened()
    left = count - sum(float(np.sum(U**2)) for U in opened)
    spread = np.sum([_scatter_products(one, U, steps) for one, U in zip(known, opened, strict=True)], axis=0)
    P = spread / (left * (left + 2.0))
    D = np.array([sum(S[:, k:] @ e[:-k] for S, e in zip(spent.slopes, filled, strict=True)) for k in steps]) / power
    inverse = spent.invert()
    removed = D @ inverse @ D.T * (power / count)
    scale = np.sqrt(np.maximum(np.diag(P), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh((P - removed) / np.outer(scale, scale))
    P = (vectors * np.maximum(values, LEAST)) @ vectors.T * np.outer(scale, scale)
    taken = np.sum([_sum_taken(U, np.eye(len(U)), steps) for U in opened], axis=0)
    taken = taken + np.sum([_sum_taken(S, inverse, steps) for S in spent.slopes], axis=0)
    return _judge(steps, products / power + taken / left, np.where(np.outer(pairs, pairs) > 0, P, 0.0))


def _sum_taken(slopes: np.ndarray, inverse: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Σ_t Π(t, t + k), Π = ψᵀ H⁺ ψ: what an estimate takes out of the products of residuals, by lag."""
    weighed = inverse @ slopes
    return np.array([float(np.sum(weighed[:, k:] * slopes[:, :-k])) for k in steps])


def _scatter_products(known: np.ndarray, opened: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Covariance of Σ e_t e_{t+k} over lags, for white noise of variance one without its part in the directions U.

    With S_k the shift, P = I − UᵀU and A_k = P (S_k + S_kᵀ) P / 2 that is 2 tr A_k A_l.
    """
    if not len(opened) or known.size > SHORT:
        return np.diag([float(np.sum(known[k:] & known[:-k])) for k in steps])
    P = np.diag(known.astype(float)) - opened.T @ opened
    shifts = [0.5 * P @ (np.eye(known.size, k=k) + np.eye(known.size, k=-k)) @ P for k in steps.tolist()]
    flat = np.array(shifts).reshape(steps.size, -1)
    return 2.0 * flat @ flat.T


def independence(
    residuals: Sequence[np.ndarray],
    inputs: Sequence[np.ndarray],
    lags: int,
    spent: Spent | None = None,
    whitened: Autoregression | None = None,
) -> CorrelationTest:
    """The residuals against past (positive lags), present and future of an input, series (time,) sample by sample.

    `whitened` is the filter that the residuals have gone through already.

    Examples
    --------
    >>> independence([np.array([1.0, -1.0, 1.0, -1.0])], [np.array([0.0, 0.0, 0.0, 0.0])], lags=1).degrees_of_freedom
    0
    """
    spent = spend_nothing(residuals) if spent is None else spent
    steps = np.arange(-lags, lags + 1)
    centre = float(np.mean(np.concatenate(inputs)))
    known = [np.isfinite(e) for e in residuals]
    delayed = [
        np.where(here, _delay(u - centre, lags), np.nan) for u, here in zip(inputs, known, strict=True) if here.any()
    ]
    series = [e for e, here in zip(residuals, known, strict=True) if here.any()]
    slopes = [np.where(here, S, 0.0) for S, here in zip(spent.slopes, known, strict=True) if here.any()]
    opened = [U for U, here in zip(spent.list_opened(), known, strict=True) if here.any()]
    if not series or not any(np.nanmax(np.abs(U)) > 0.0 for U in delayed) or not any(np.nansum(e**2) for e in series):
        return _tell_nothing(steps)
    if whitened is not None:
        delayed = [whitened.whiten(U) for U in delayed]
    model = _model_noise(series, delayed)
    rows = [np.nan_to_num(model.whiten(U)) for U in delayed]
    errors = [np.nan_to_num(model.whiten(e)) for e in series]
    r = np.sum([U @ e for U, e in zip(rows, errors, strict=True)], axis=0)
    weights = [model.adjoint(U, np.isfinite(e)) for U, e in zip(rows, series, strict=True)]
    count = sum(int(np.isfinite(e).sum()) for e in series)
    power = sum(float(e @ e) for e in errors)
    noise = Autoregression(model.coefficients, power / max(count - spent.count, 1))
    weights = [L - (L @ U.T) @ U for L, U in zip(weights, opened, strict=True)]
    P = _compute_covariance(weights, slopes, spent, noise)
    size = np.sqrt(np.sum([np.sum(U**2, axis=1) for U in rows], axis=0) * power)
    size = np.where(size > 0.0, size, np.inf)
    left = max(count - spent.count - model.order, 1)
    return _judge(steps, r / size, P / np.outer(size, size), left)


def _compute_covariance(
    weights: Sequence[np.ndarray], slopes: Sequence[np.ndarray], spent: Spent, noise: Autoregression
) -> np.ndarray:
    """Of r = L e; what other outputs, and variances, added to H is noise of its own."""
    G = np.sum([L @ S.T for L, S in zip(weights, slopes, strict=True)], axis=0) @ spent.invert()
    factors = [noise.long_run(L - G @ S) for L, S in zip(weights, slopes, strict=True)]
    others = spent.curvature - np.sum([S @ S.T for S in slopes], axis=0)
    return np.sum([F @ F.T for F in factors], axis=0) + G @ others @ G.T


def _model_noise(series: Sequence[np.ndarray], delayed: Sequence[np.ndarray]) -> Autoregression:
    """The autoregression of the residual, or of what the leading directions of the inputs leave of it."""
    model = _fit_stretches(series)
    U, e = np.concatenate(delayed, axis=1), np.concatenate(series)
    known = np.isfinite(e)
    values, vectors = np.linalg.eigh(U[:, known] @ U[:, known].T)
    share = np.cumsum(values[::-1]) / values.sum()
    few = min(int(np.searchsorted(share, HELD)) + 1, MOST)
    if known.sum() < 10 * few:
        return model
    rows = [vectors[:, values.size - few :].T @ one for one in delayed]
    other = model
    for _ in range(TURNS):
        filtered = np.concatenate([other.whiten(one) for one in rows], axis=1)[:, known]
        errors = np.concatenate([other.whiten(one) for one in series])[known]
        gains = np.linalg.lstsq(filtered.T, errors, rcond=np.sqrt(RANK))[0]
        other = _fit_stretches([one - gains @ mine for one, mine in zip(series, rows, strict=True)])
    n = int(known.sum())
    costs = [n * np.log(one.variance) + np.log(n) * one.order if one.variance else -np.inf for one in (model, other)]
    return other if costs[1] + few * np.log(n) < costs[0] else model


def _fit_stretches(series: Sequence[np.ndarray]) -> Autoregression:
    return fit_autoregression([one[stretch] for one in series for stretch in find_contiguous(one)])


def _delay(u: np.ndarray, lags: int) -> np.ndarray:
    """u_{t−k} as (lag, time), from the future to the past; zero outside the record."""
    around = np.concatenate([np.zeros(lags), u, np.zeros(lags)])
    return np.stack([around[lags - k : lags - k + u.size] for k in range(-lags, lags + 1)])


def _judge(lags: np.ndarray, correlation: np.ndarray, P: np.ndarray, left: int | None = None) -> CorrelationTest:
    """The largest correlation against the band of all; `left` counts what an estimated variance rests on."""
    from scipy.special import stdtr, stdtrit

    freedom = np.inf if left is None else left  # of Student's distribution
    deviation = np.sqrt(np.maximum(np.diag(P), 0.0))
    usable = deviation > np.sqrt(RANK) * deviation.max()
    if not usable.any():
        return _tell_nothing(lags)
    scale = deviation[usable]
    level, rank = _find_level(P[np.ix_(usable, usable)] / np.outer(scale, scale))
    band = np.where(usable, -stdtrit(freedom, level / 2.0) * deviation, np.inf)
    largest = float(np.max(np.abs(correlation[usable]) / scale))
    count = np.log(LEVEL) / np.log1p(-level)
    p_value = -np.expm1(count * np.log1p(-2.0 * float(stdtr(freedom, -largest))))
    return CorrelationTest(lags, correlation, band, largest, rank, float(p_value))


def _find_level(R: np.ndarray) -> tuple[float, int]:
    """The level of one lag at which all together, correlated by R, are at theirs; and the rank of R."""
    from scipy.special import ndtr

    values, vectors = np.linalg.eigh(R)
    kept = values > RANK * values[-1]
    F = vectors[:, kept] * np.sqrt(values[kept])
    largest = np.max(np.abs(_draw(len(R))[:, : F.shape[1]] @ F.T), axis=1)
    return 2.0 * float(ndtr(-np.quantile(largest, LEVEL))), int(kept.sum())


@cache
def _draw(count: int) -> np.ndarray:
    """The same numbers in every test, so that a verdict can be repeated."""
    return np.random.default_rng(0).standard_normal((DRAWS, count))


def _tell_nothing(lags: np.ndarray) -> CorrelationTest:
    nothing = np.full(lags.size, np.nan)
    return CorrelationTest(lags, nothing, nothing, float("nan"), 0, float("nan"))
