"""The curvature of a criterion and its inverse, where some directions do not show."""

import numpy as np

RANK = 1e-12  # eigenvalue of the curvature, scaled to a unit diagonal, that counts as zero
FACTOR_RANK = 1e-10  # singular value of slopes, scaled to unit columns, relative to the largest, that counts as zero
LARGEST_SHARE = 0.9  # of Monte-Carlo error in the curvature along a direction that still counts as known
PARTICIPATES = 1e-3  # squared share of a parameter in a direction that is not determined


def compute_covariance(curvature: np.ndarray, scores: np.ndarray | None = None) -> np.ndarray:
    """H⁻¹ S H⁻¹, or H⁻¹ without scores; infinite variance for what takes part in a direction along which H vanishes.

    Examples
    --------
    >>> compute_covariance(np.array([[4.0, 0.0], [0.0, 0.0]]))
    array([[0.25,  nan],
           [ nan,  inf]])
    """
    if not curvature.size:
        return curvature
    scale, eigenvalues, vectors, kept = decompose(curvature)
    inverse = (vectors[:, kept] / eigenvalues[kept]) @ vectors[:, kept].T * np.outer(scale, scale)
    return _open(inverse if scores is None else inverse @ scores @ inverse, vectors[:, ~kept])


def invert_squares(jacobian: np.ndarray) -> np.ndarray:
    """(JᵀJ)⁻¹ for the slopes of residuals (residual, number); infinite where they do not depend on a number.

    J itself tells directions apart that JᵀJ has lost to rounding.
    """
    norms = np.linalg.norm(jacobian, axis=0)
    scale = np.where(norms > 0.0, 1.0 / np.where(norms > 0.0, norms, 1.0), 1.0)
    _, roots, vectors = np.linalg.svd(jacobian * scale, full_matrices=False)
    kept = roots > FACTOR_RANK * roots.max(initial=0.0)
    inverse = (vectors[kept].T / roots[kept] ** 2) @ vectors[kept] * np.outer(scale, scale)
    return _open(inverse, vectors[~kept].T)


def _open(covariance: np.ndarray, lost_directions: np.ndarray) -> np.ndarray:
    """Infinite variances for what takes part in directions (number, direction) that nothing is known about."""
    lost = np.sum(lost_directions**2, axis=1) > PARTICIPATES
    covariance[lost, :] = np.nan
    covariance[:, lost] = np.nan
    covariance[lost, lost] = np.inf
    return covariance


def decompose(curvature: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Units that give a unit diagonal, eigenvalues and vectors in these, and which are more than rounding."""
    diagonal = np.diag(curvature)
    scale = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)), 1.0)
    eigenvalues, vectors = np.linalg.eigh(curvature * np.outer(scale, scale))
    return scale, eigenvalues, vectors, eigenvalues > RANK * len(eigenvalues)


def find_directions(curvature: np.ndarray) -> np.ndarray:
    """D, (coordinate, direction), with Dᵀ H D = I and D Dᵀ = H⁻¹ where H does not vanish."""
    scale, eigenvalues, vectors, kept = decompose(curvature)
    return vectors[:, kept] / np.sqrt(eigenvalues[kept]) * scale[:, None]


def remove_noise(curvature: np.ndarray, noise: np.ndarray | None) -> np.ndarray:
    """The curvature without what the Monte-Carlo error of the slopes adds to it, which is no knowledge.

    A direction in which little else is left counts as not determined.
    """
    if noise is None or not noise.any():
        return curvature
    scale, eigenvalues, vectors, usable = decompose(curvature)
    roots = np.sqrt(np.where(usable, eigenvalues, 1.0))
    whitened = (vectors / roots).T @ (noise * np.outer(scale, scale)) @ (vectors / roots)
    shares, turned = np.linalg.eigh(np.where(np.outer(usable, usable), whitened, 0.0))
    left = np.where(shares < LARGEST_SHARE, 1.0 - shares, 0.0)
    back = (vectors * np.where(usable, roots, 0.0)) @ turned
    return (back * left) @ back.T / np.outer(scale, scale)
