"""Whether the residuals of an ensemble's mean are as large as its realizations make them.

The mean square of n residuals with the autocorrelations ρ_k, by the one that is expected, has about the distribution
χ²_ν/ν with ν = n / Σ_k ρ_k², k over lags of both signs, ρ from the autoregression of the residuals. Where these are not
normal, squares scatter more: with v the variance of their mean, by an autoregression of theirs, ν is 2 mean²/v if that
is less.

Reference: M. S. Bartlett, Stochastic Processes (1955), section 9.1.
"""

import numpy as np

from daedal.estimation.criteria import Evaluation, Expected, list_outputs
from daedal.estimation.problem import Autoregression, find_contiguous, fit_autoregression
from daedal.estimation.search import AKAIKE, model_residual

# Probability of a disagreement by chance. One record tells ν badly: with 1e-3, 3 of 100 right models were rejected.
SURE = 1e-5
TINY = 1e-300


def list_disagreements(evaluation: Evaluation, expected: Expected) -> dict[str, float]:
    """Outputs whose residuals are not as large as they should be, and how many times; of raw residuals."""
    from scipy.special import chdtr, chdtrc

    found = {}
    for output in list_outputs(evaluation.parts):
        ratio, freedom = expected.ratios[output], _count_independent(evaluation, output)
        if 2.0 * min(chdtrc(freedom, ratio * freedom), chdtr(freedom, ratio * freedom)) < SURE:
            found[output] = float(np.sqrt(ratio))
    return found


def _count_independent(evaluation: Evaluation, output: str) -> float:
    """ν."""
    parts = [part for part in evaluation.parts if part.series.output == output]
    stretches = [part.residual[known] for part in parts for known in find_contiguous(part.residual)]
    count, longest = sum(one.size for one in stretches), max(one.size for one in stretches)
    covariances = _list_covariances(model_residual(evaluation, output), longest)
    normal = count * covariances[0] ** 2 / max(2.0 * float(np.sum(covariances**2)) - covariances[0] ** 2, TINY)
    mean = float(np.mean(np.concatenate(stretches) ** 2))
    scatter = fit_autoregression([one**2 - mean for one in stretches], penalty=AKAIKE)
    total = sum(float(np.sum(scatter.long_run(np.ones((1, one.size))) ** 2)) for one in stretches)
    return float(np.clip(min(normal, 2.0 * (count * mean) ** 2 / max(total, TINY)), 1.0, count))


def _list_covariances(model: Autoregression, count: int) -> np.ndarray:
    """Of the stationary process, for lags from zero on."""
    unit = np.zeros((1, 2 * count))
    unit[0, -1] = 1.0
    weights = model.long_run(unit)[0]  # of innovations in the last sample, latest last
    spectrum = np.fft.rfft(weights, 4 * count)
    return np.fft.irfft(spectrum * spectrum.conj(), 4 * count)[:count]
