"""How much larger the variance of an estimate is than the curvature of the criterion alone would make it."""

import numpy as np

from daedal.estimation import Fit, compute_covariance


def compute_variances(fit: Fit) -> np.ndarray:
    """Of φ, data and Monte-Carlo error together; infinite where not determined, NaN at a bound."""
    rates = fit.coordinates.rates(fit.point)
    return (np.diag(fit.cov) + np.nan_to_num(np.diag(fit.monte_carlo_cov))) / rates**2


def compute_variance_factors(fit: Fit) -> np.ndarray:
    """λ_j = cov_jj / (H⁻¹)_jj, (parameter,); what has no variance takes the median of the others.

    One for white residuals of unit size. A parameter at a bound counts as known in cov, so in H too.
    """
    variance = compute_variances(fit)
    inside = np.flatnonzero(~np.isnan(variance))
    alone = np.full(variance.size, np.nan)
    H = fit.curvature[np.ix_(inside, inside)]
    alone[inside] = np.diag(compute_covariance(H))
    usable = np.isfinite(variance) & np.isfinite(alone) & (alone > 0.0) & (variance > 0.0)
    factors = np.divide(variance, alone, out=np.ones(variance.size), where=usable)
    freedom = max(fit.samples - variance.size, 1)
    size = 2.0 * fit.value / freedom  # of the squared residuals, where nothing else tells
    instead = float(np.median(factors[usable])) if usable.any() else size if size > 0.0 else 1.0
    return np.where(usable, factors, instead)
