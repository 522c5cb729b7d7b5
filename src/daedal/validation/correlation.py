"""Whiteness of a residual, and its independence of an input: correlation tests that allow for gaps.

Ljung and Box: with r_k = Σ e_t e_{t+k} / Σ e_t² over the n_k pairs of known samples among n, white e gives

    Q = n (n + 2) Σ_{k=1…m} r_k² / n_k,   χ² with m degrees of freedom (less the order of a filter fitted to e).

Ljung, section 16.6: the cross-covariances r_i = Σ_t e_t u_{t−i} / N, i = 0 … m, of a residual that does not depend on
the input have covariance

    P_ij = (1/N) Σ_k R_e(k) R_u(k + i − j),   χ² = rᵀ P⁻¹ r with m + 1 degrees of freedom.

The sum over the input as it was is taken exactly: P = U R_e Uᵀ / N² with the delayed inputs as rows of U. R_e is that
of an autoregression of what a regression on U leaves of e, the same as e if there is no dependence; with e itself, a
strong dependence would make P so large as to hide it. An input that excites few directions has a P of low rank p; the
degrees of freedom follow. Because R_e is estimated too, χ²/p is compared with F(p, N − p), which matters for small N.

G. M. Ljung, G. E. P. Box, On a measure of lack of fit in time series models, Biometrika 65 (1978) 297–303.
L. Ljung, System Identification: Theory for the User, 2nd ed., Prentice Hall (1999).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.estimation import Autoregression, find_contiguous, fit_autoregression

SIGNIFICANCE = 0.01  # p-value below which words say that a test failed
NORMAL = 1.959963984540054
RANK = 1e-10  # eigenvalue of P, relative to the largest, that counts as zero


@final
@dataclass(frozen=True, eq=False)
class CorrelationTest:
    """Correlations at all lags with their band of 95 %, and one test of them together.

    `p_value` is the probability of a larger `statistic` if there is no correlation; NaN where nothing can be told (a
    residual or an input that is zero throughout).
    """

    lags: np.ndarray
    correlation: np.ndarray
    band: np.ndarray
    statistic: float
    degrees_of_freedom: int
    p_value: float

    @property
    def passed(self) -> bool:
        """Whether the p-value is at least 1 %."""
        return not self.p_value < SIGNIFICANCE


def whiteness(residuals: Sequence[np.ndarray], lags: int, fitted: int = 0) -> CorrelationTest:
    """The test of Ljung and Box on series (time,), NaN where a sample is missing; `fitted` is the order of a filter.

    Examples
    --------
    >>> whiteness([np.array([1.0, -1.0, 1.0, -1.0])], lags=1).correlation
    array([-0.75])
    """
    steps = np.arange(1, lags + 1)
    known = [np.isfinite(e) for e in residuals]
    filled = [np.nan_to_num(e) for e in residuals]
    count, power = sum(int(k.sum()) for k in known), sum(float(e @ e) for e in filled)
    products = np.array([sum(float(e[k:] @ e[:-k]) for e in filled) for k in steps])
    pairs = np.array([sum(int(np.sum(one[k:] & one[:-k])) for one in known) for k in steps])
    usable = pairs > 0
    correlation = products / power if power > 0.0 else np.full(lags, np.nan)
    band = NORMAL * np.sqrt(pairs / (count * (count + 2.0)))
    statistic = float(count * (count + 2.0) * np.sum(correlation[usable] ** 2 / pairs[usable]))
    return CorrelationTest(steps, correlation, band, statistic, *_find_tail(statistic, int(usable.sum()) - fitted))


def independence(residuals: Sequence[np.ndarray], inputs: Sequence[np.ndarray], lags: int) -> CorrelationTest:
    """Ljung's test of the residuals against the present and past of an input, both series (time,) sample by sample.

    Examples
    --------
    >>> independence([np.array([1.0, -1.0, 1.0, -1.0])], [np.array([0.0, 0.0, 0.0, 0.0])], lags=1).degrees_of_freedom
    0
    """
    steps = np.arange(lags + 1)
    centre = float(np.mean(np.concatenate(inputs)))
    used = [np.isfinite(e) & (np.arange(e.size) >= lags) for e in residuals]  # where the input is known at all lags
    delayed = [_delay(u - centre, lags) * known for u, known in zip(inputs, used, strict=True)]
    filled = [np.where(known, e, 0.0) for e, known in zip(residuals, used, strict=True)]
    model = _model_rest(delayed, filled, used)
    r = np.sum([U @ e for U, e in zip(delayed, filled, strict=True)], axis=0)
    factors = [model.long_run(U) for U in delayed]
    P = np.sum([F @ F.T for F in factors], axis=0)
    statistic, degrees = _compute_quadratic(r, P)
    left = sum(int(known.sum()) for known in used) - degrees
    power = float(np.sqrt(sum(float(e @ e) for e in filled)))
    size = np.sqrt(np.sum([np.sum(U**2, axis=1) for U in delayed], axis=0)) * power
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation, band = r / size, NORMAL * np.sqrt(np.diag(P)) / size
    return CorrelationTest(steps, correlation, band, statistic, *_find_tail(statistic, degrees, left))


def _model_rest(
    delayed: Sequence[np.ndarray], filled: Sequence[np.ndarray], used: Sequence[np.ndarray]
) -> Autoregression:
    """The autoregression of what a regression on the delayed inputs leaves, its loss of freedom given back."""
    U, e, known = np.concatenate(delayed, axis=1), np.concatenate(filled), np.concatenate(used)
    if not known.any():
        return Autoregression(np.zeros(0), 0.0)
    gains, _, rank, _ = np.linalg.lstsq(U[:, known].T, e[known], rcond=np.sqrt(RANK))
    left = np.split(np.where(known, e - U.T @ gains, np.nan), np.cumsum([one.size for one in used])[:-1])
    model = fit_autoregression([part[stretch] for part in left for stretch in find_contiguous(part)])
    count = int(known.sum())
    return Autoregression(model.coefficients, model.variance * count / max(count - int(rank), 1))


def _delay(u: np.ndarray, lags: int) -> np.ndarray:
    """u_{t−i} as (lag, time); zero before the first sample."""
    return np.stack([np.concatenate([np.zeros(min(i, u.size)), u[: max(u.size - i, 0)]]) for i in range(lags + 1)])


def _compute_quadratic(r: np.ndarray, P: np.ndarray) -> tuple[float, int]:
    """rᵀ P⁺ r and the rank of P."""
    eigenvalues, vectors = np.linalg.eigh(P)
    kept = eigenvalues > RANK * max(float(eigenvalues[-1]), 0.0)
    if eigenvalues[-1] <= 0.0:
        return float("nan"), 0
    return float(np.sum((vectors[:, kept].T @ r) ** 2 / eigenvalues[kept])), int(kept.sum())


def _find_tail(statistic: float, degrees: int, left: int | None = None) -> tuple[int, float]:
    """Degrees of freedom (at least one, where anything was tested), and the probability of more.

    `left` counts those of an estimated variance, which a known one does not have.
    """
    from scipy.stats import chi2, f

    if not np.isfinite(statistic) or (left is not None and left < 1):
        return 0, float("nan")
    degrees = max(degrees, 1)
    if left is None:
        return degrees, float(chi2.sf(statistic, degrees))
    return degrees, float(f.sf(statistic / degrees, degrees, left))
