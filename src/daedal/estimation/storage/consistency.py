"""What a fit says twice: files of daedal 0.1.0 have no digests, and damage shows where the two differ.

    θ = natural(φ),   σ = √diag Σ,   Σ = Σᵀ,   AIC = 2 p − 2 log L,   BIC = p log N − 2 log L

with one whole number p, and the estimates stand in the model too. Samples, and what is said only once, may have changed
without a trace: whoever loads such a file is told so.
"""

from collections.abc import Iterator

import numpy as np

from daedal.estimation.result import Fit

SYMMETRY = 1e-6  # relative to the diagonal: inverses are symmetric up to the digits that they lose
ROUNDING = 1e-9  # relative: another order of the same operations


def find_contradictions(fit: Fit) -> Iterator[str]:
    """Which parts of a fit do not say the same, each in words."""
    estimates, items = list(fit.estimates.values()), fit.coordinates.items
    if [one.name for one in estimates] != [item.name for item in items]:
        yield "the names of its estimates"
        return
    pairs = {
        "estimates": ([one.value for one in estimates], fit.coordinates.natural(fit.point)),
        "bounds": ([(e.lower, e.upper) for e in estimates], [(item.lower, item.upper) for item in items]),
        "starts": ([one.start for one in estimates], np.clip([one.start for one in estimates], *_list_bounds(fit))),
        "standard errors": ([one.std_error for one in estimates], _list_deviations(fit.cov)),
        "Monte Carlo errors": ([one.monte_carlo_error for one in estimates], _list_deviations(fit.monte_carlo_cov)),
        "covariances": (_compute_asymmetry(fit.cov), 0.0),
        "Monte Carlo covariances": (_compute_asymmetry(fit.monte_carlo_cov), 0.0),
        "curvature": (_compute_asymmetry(fit.curvature), 0.0),
    }
    for name, (one, other) in pairs.items():
        if not np.allclose(one, other, rtol=ROUNDING, atol=1e-300, equal_nan=True):
            yield f"its {name}"
    shared = {item.parameter: one.value for item, one in zip(items, estimates, strict=True) if item.experiment is None}
    if any(float(fit.model.parameters[name].value) != value for name, value in shared.items()):
        yield "the values in its model"
    if fit.loglik is not None and fit.aic is not None and fit.bic is not None:
        free = (fit.aic + 2.0 * fit.loglik) / 2.0
        size = abs(fit.loglik) + abs(fit.aic) + abs(fit.bic)
        apart = abs(round(free) * np.log(fit.samples) - 2.0 * fit.loglik - fit.bic)
        if abs(free - round(free)) > ROUNDING * size or apart > ROUNDING * size or round(free) < len(items):
            yield "its AIC and BIC"


def _list_bounds(fit: Fit) -> tuple[list[float], list[float]]:
    items = fit.coordinates.items
    return [item.lower for item in items], [item.upper for item in items]


def _compute_asymmetry(matrix: np.ndarray) -> np.ndarray:
    """What is not rounding of the difference to the transpose, in units of the diagonal; infinite entries have none."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        apart = np.abs(matrix - matrix.T) / np.sqrt(np.abs(np.outer(np.diag(matrix), np.diag(matrix))))
    return np.where(apart > SYMMETRY, apart, 0.0)


def _list_deviations(covariance: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.sqrt(np.diag(covariance))
