"""Intervals from the spread of bootstrap runs.

Percentiles: the interval of level 1 − 2α has the ends q(α), q(1 − α) of the estimates θ* of n runs, q(β) being the
order statistic of rank β (n + 1), between two of them by a straight line. Where there are fewer runs than that needs,
the ends are those of a prediction by Student's distribution, mean ± t √(1 + 1/n) s (of the logarithm on a log scale),
which are wider.

BCa (Efron 1987): α and 1 − α are replaced by

    α' = Φ(z₀ + (z₀ + z_α) / (1 − a (z₀ + z_α))),   z₀ = Φ⁻¹(share of θ* below the estimate),

with the acceleration a = skewness / 6 of the score in the least favourable direction (DiCiccio and Efron 1992, section
2; for resampled data, of the linearised estimate, which is the same to this order). That is the Newton step from the
estimate on the data of a run, −H⁻¹ g, kept with each of them.

B. Efron, Better bootstrap confidence intervals, J. Am. Stat. Assoc. 82 (1987) 171–185.
T. DiCiccio, B. Efron, More accurate confidence intervals in exponential families, Biometrika 79 (1992) 231–245.
"""

import numpy as np

TOO_FEW = 3  # steps for a skewness
ROUNDING = 1e-9  # of a rank


def find_percentiles(values: np.ndarray, level: float, logarithmic: bool) -> tuple[float, float]:
    """Both ends from the estimates of all runs, (run,)."""
    return find_quantile(values, 0.5 - level / 2.0, logarithmic), find_quantile(values, 0.5 + level / 2.0, logarithmic)


def find_quantile(values: np.ndarray, share: float, logarithmic: bool) -> float:
    """One quantile, from order statistics or, where there are too few, from mean and spread."""
    from scipy.stats import t

    count = values.size
    if count < 2 or not 0.0 < share < 1.0:
        return np.nan
    if 1.0 - ROUNDING <= share * (count + 1) <= count + ROUNDING:
        return float(np.quantile(values, share, method="weibull"))
    logarithmic = logarithmic and bool(np.all(values > 0.0))
    x = np.log(values) if logarithmic else values
    end = x.mean() + t.ppf(share, count - 1) * np.sqrt(1.0 + 1.0 / count) * x.std(ddof=1)
    return float(np.exp(min(end, 700.0)) if logarithmic else end)


def find_bca(
    values: np.ndarray, steps: np.ndarray, estimate: float, level: float, logarithmic: bool
) -> tuple[float, float]:
    """Both ends; NaN where all runs lie on one side of the estimate, or no steps are known.

    So they are of runs too few for percentiles: the share below the estimate moves the ends by more than it corrects.
    """
    from scipy.stats import norm

    if (0.5 - level / 2.0) * (values.size + 1) < 1.0 - ROUNDING:
        return np.nan, np.nan
    acceleration = compute_skewness(steps[np.isfinite(steps)]) / 6.0
    below = (np.sum(values < estimate) + 0.5 * np.sum(values == estimate)) / max(values.size, 1)
    if not np.isfinite(acceleration) or not 0.0 < below < 1.0:
        return np.nan, np.nan
    bias = norm.ppf(below)
    shifted = bias + norm.ppf([0.5 - level / 2.0, 0.5 + level / 2.0])
    curved = 1.0 - acceleration * shifted
    if np.any(curved <= 0.0):
        return np.nan, np.nan
    low, high = norm.cdf(bias + shifted / curved)
    return find_quantile(values, float(low), logarithmic), find_quantile(values, float(high), logarithmic)


def compute_skewness(x: np.ndarray) -> float:
    """E (x − E x)³ / (E (x − E x)²)^{3/2}; NaN of too few, or of what does not differ."""
    if x.size < TOO_FEW:
        return np.nan
    centred = x - x.mean()
    square = float(np.mean(centred**2))
    return float(np.mean(centred**3)) / square**1.5 if square > 0.0 else np.nan
