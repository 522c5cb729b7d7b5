"""Gaussian quasi-likelihood of samples from the mean and the covariance of simulated lanes.

Lanes d_m + μ of the outputs at n samples, m = 1 … M, their sensitivities ψ_m and measurement noise of covariance R give

    μ = mean of the lanes,   S = Σ d dᵀ/(M − 1) + R,   ∂S = Σ (d ψᵀ + ψ dᵀ)/(M − 1) + ∂R.

With L the Cholesky factor of S, y the samples, z = L⁻¹(y − μ), g = L⁻¹ ∂μ and A = L⁻¹ ∂S L⁻ᵀ,

    value = Σ (½ z² + log L_kk + ½ log 2π),   gradient = ½ tr A − zᵀg − ½ zᵀA z,   curvature = gᵀg + ½ tr A A.

The gradient has the mean zero at the truth whatever the law of the samples is, as long as μ and S are theirs, and the
curvature is then the mean of the Hessian. It is not the covariance of the gradient: that is taken from lanes as samples
(with measurement noise drawn for them), which have the law that the model says.

A block holds a window of samples before those that it scores, and counts by what it exceeds the window alone: the score
of each sample is that given the samples in the window (Vecchia 1988). One block without a window is the whole.

Lanes are finite in number: the value has a bias of order n²/M, from log det S and S⁻¹. Halves of the lanes tell it, as
their bias is twice as large: 2 f(M) − (f_a + f_b)/2 has none of that order (Quenouille 1956). Half the difference of
their ∂μ, ∂S, in place of these in the curvature, is what the Monte-Carlo error adds to it.

References: A. V. Vecchia, J. R. Stat. Soc. B 50 (1988) 297–312; M. H. Quenouille, Biometrika 43 (1956) 353–360;
R. W. M. Wedderburn, Biometrika 61 (1974) 439–447; H. White, Econometrica 50 (1982) 1–25.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Block:
    """Samples first … last − 1, of which those from `scored` on count, given the ones before."""

    first: int
    scored: int
    last: int

    @property
    def window(self) -> int:
        """Samples that are given."""
        return self.scored - self.first


@dataclass(frozen=True, eq=False)
class Measured:
    """Samples y of a block, and the covariance R of their measurement noise with its slopes (parameter, ·, ·)."""

    y: np.ndarray
    R: np.ndarray
    R_slopes: np.ndarray


@dataclass(frozen=True, eq=False)
class LaneMoments:
    """Mean and covariance of lanes at the samples of a block, with slopes along the first axis."""

    count: int
    mean: np.ndarray
    covariance: np.ndarray
    mean_slopes: np.ndarray
    covariance_slopes: np.ndarray


def measure_lanes(lanes: np.ndarray) -> LaneMoments:
    """Of lanes (1 + parameter, sample, lane): values, then slopes."""
    _, samples, count = lanes.shape
    mean = lanes.mean(axis=-1)
    D = lanes[0] - mean[0][:, None]
    half = np.array([D @ psi.T for psi in lanes[1:]]).reshape(-1, samples, samples) / (count - 1)
    return LaneMoments(count, mean[0], D @ D.T / (count - 1), mean[1:], half + half.swapaxes(1, 2))


def merge_moments(a: LaneMoments, b: LaneMoments) -> LaneMoments:
    """Of two sets of lanes together."""
    count = a.count + b.count
    apart, moving = b.mean - a.mean, b.mean_slopes - a.mean_slopes
    share, between = b.count / count, a.count * b.count / count
    outer = moving[:, :, None] * apart
    return LaneMoments(
        count,
        a.mean + share * apart,
        ((a.count - 1) * a.covariance + (b.count - 1) * b.covariance + between * np.outer(apart, apart)) / (count - 1),
        a.mean_slopes + share * moving,
        ((a.count - 1) * a.covariance_slopes + (b.count - 1) * b.covariance_slopes
         + between * (outer + outer.swapaxes(1, 2))) / (count - 1),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Score:
    """Value, gradient (parameter,), curvature, what Monte-Carlo error adds to that, and what they are made of.

    z, L, g and A are those of the whole block, A as (parameter, sample, sample).
    """

    block: Block
    value: float
    gradient: np.ndarray
    curvature: np.ndarray
    noise: np.ndarray
    z: np.ndarray
    L: np.ndarray
    g: np.ndarray
    A: np.ndarray

    @property
    def slopes(self) -> np.ndarray:
        """By which z falls as predictions move, for the scored samples, (parameter, sample)."""
        w = self.block.window
        return self.g[:, w:] + (np.tril(self.A, -1) @ self.z)[:, w:]


def score_block(block: Block, halves: tuple[LaneMoments, LaneMoments], measured: Measured) -> Score:
    """Without the bias of a finite number of lanes, to first order."""
    both = merge_moments(*halves)
    L = np.linalg.cholesky(both.covariance + measured.R)
    z = solve_triangular(L, measured.y - both.mean, lower=True)
    g, A = _whiten(L, both.mean_slopes, both.covariance_slopes + measured.R_slopes)
    w = block.window
    value = 0.5 * float(z[w:] @ z[w:]) + float(np.sum(np.log(np.diag(L)[w:]))) + HALF_LOG_2PI * (z.size - w)
    gradient = _form_gradient(z, g, A, w)
    parts = [_score_half(one, measured, w) for one in halves]
    value = 2.0 * value - 0.5 * sum(part[0] for part in parts)
    gradient = 2.0 * gradient - 0.5 * np.sum([part[1] for part in parts], axis=0)
    a, b = halves
    apart = 0.5 * (a.mean_slopes - b.mean_slopes), 0.5 * (a.covariance_slopes - b.covariance_slopes)
    noise = _form_curvature(*_whiten(L, *apart), w)
    return Score(block, value, gradient, _form_curvature(g, A, w), noise, z, L, g, A)


def _whiten(L: np.ndarray, mean_slopes: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """g and A."""
    size = len(L)
    g = solve_triangular(L, mean_slopes.T, lower=True).T
    left = solve_triangular(L, slopes.transpose(1, 0, 2).reshape(size, -1), lower=True)  # L⁻¹ ∂S, all side by side
    turned = left.reshape(size, -1, size).transpose(2, 1, 0).reshape(size, -1)
    A = solve_triangular(L, turned, lower=True).reshape(size, -1, size).transpose(1, 0, 2)
    return g, A


def _form_gradient(z: np.ndarray, g: np.ndarray, A: np.ndarray, window: int) -> np.ndarray:
    whole = 0.5 * np.trace(A, axis1=1, axis2=2) - g @ z - 0.5 * (A @ z) @ z
    if not window:
        return whole
    return whole - _form_gradient(z[:window], g[:, :window], A[:, :window, :window], 0)


def _form_curvature(g: np.ndarray, A: np.ndarray, window: int) -> np.ndarray:
    flat = A.reshape(len(A), -1)
    whole = g @ g.T + 0.5 * flat @ flat.T
    return whole - _form_curvature(g[:, :window], A[:, :window, :window], 0) if window else whole


def _score_half(moments: LaneMoments, measured: Measured, window: int) -> tuple[float, np.ndarray]:
    """Value (without the constant of π twice over) and gradient, without the curvature."""
    S, slopes = moments.covariance + measured.R, moments.covariance_slopes + measured.R_slopes
    value, gradient = _score_plainly(S, slopes, measured.y - moments.mean, moments.mean_slopes)
    if window:
        w = slice(window)
        before = _score_plainly(S[w, w], slopes[:, w, w], (measured.y - moments.mean)[w], moments.mean_slopes[:, w])
        value, gradient = value - before[0], gradient - before[1]
    return value, gradient


def _score_plainly(
    S: np.ndarray, slopes: np.ndarray, r: np.ndarray, mean_slopes: np.ndarray
) -> tuple[float, np.ndarray]:
    """½ log det S + ½ rᵀS⁻¹r + ½ n log 2π, and its gradient."""
    L = np.linalg.cholesky(S)
    alpha = cho_solve((L, True), r)
    value = float(np.sum(np.log(np.diag(L)))) + 0.5 * float(r @ alpha) + HALF_LOG_2PI * r.size
    inner = cho_solve((L, True), np.eye(r.size)) - np.outer(alpha, alpha)
    return value, 0.5 * slopes.reshape(len(slopes), -1) @ inner.ravel() - mean_slopes @ alpha


def score_lanes(score: Score, deviations: np.ndarray) -> np.ndarray:
    """The gradient (less its constant) if lanes were the samples, (parameter, lane); deviations from μ, with noise."""
    Z, w = solve_triangular(score.L, deviations, lower=True), score.block.window
    return _score_whitened(score.g, score.A, Z) - _score_whitened(score.g[:, :w], score.A[:, :w, :w], Z[:w])


def _score_whitened(g: np.ndarray, A: np.ndarray, Z: np.ndarray) -> np.ndarray:
    quadratic = np.array([np.einsum("nm,nm->m", Z, one @ Z) for one in A]).reshape(len(A), Z.shape[1])
    return -g @ Z - 0.5 * quadratic


def share_value(score: Score, deviations: np.ndarray) -> np.ndarray:
    """M times what each lane moves the value by, (lane,), but for a constant; deviations of lanes from μ."""
    U, w = solve_triangular(score.L, deviations, lower=True), score.block.window
    along, before = U.T @ score.z, U[:w].T @ score.z[:w]
    return 0.5 * np.sum(U[w:] ** 2, axis=0) - (along - before) - 0.5 * (along**2 - before**2)


def share_lanes(score: Score, lanes: np.ndarray) -> np.ndarray:
    """M times what each lane moves the gradient by, (parameter, lane), but for a constant; lanes as in `measure_lanes`.

    A lane of weight 1/M moves μ by d/M, C by (d dᵀ − C)/M, and their slopes likewise; the rest is the chain rule.
    """
    centred = lanes - lanes.mean(axis=-1, keepdims=True)
    U = solve_triangular(score.L, centred[0], lower=True)
    w = score.block.window
    shares = []
    for k, psi in enumerate(centred[1:]):
        V, g, A, z = solve_triangular(score.L, psi, lower=True), score.g[k], score.A[k], score.z
        whole = _share_whitened(U, V, g, A, z)
        shares.append(whole - _share_whitened(U[:w], V[:w], g[:w], A[:w, :w], z[:w]))
    return np.array(shares).reshape(-1, lanes.shape[-1])


def _share_whitened(U: np.ndarray, V: np.ndarray, g: np.ndarray, A: np.ndarray, z: np.ndarray) -> np.ndarray:
    along = U.T @ z
    direct = np.einsum("nm,nm->m", U, V) - 0.5 * np.einsum("nm,nm->m", U, A @ U)
    return direct + (1.0 + along) * (U.T @ (g + A @ z)) - (1.0 + along) * (V.T @ z)


def plan_blocks(times: np.ndarray, window: int) -> list[Block]:
    """Blocks of `window` sample times each, given as many before; the first has twice as many and none before.

    `times` counts the sample times, (sample,), from zero on without gaps.
    """
    count = int(times[-1]) + 1
    marks = [0, *range(2 * window, count, window), count]
    edges = np.searchsorted(times, marks).tolist()
    before = np.searchsorted(times, [0, *(mark - window for mark in marks[1:-1])]).tolist()
    return [Block(*three) for three in zip(before, edges, edges[1:], strict=False)]
