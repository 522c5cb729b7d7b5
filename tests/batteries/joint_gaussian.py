"""The likelihood of samples of a linear stochastic system by brute force: the joint Gaussian density of all of them.

    dx = (A x + B u(t)) dt + dv,  E dv dvᵀ = Q dt,  x(t₀) ~ N(mean + open δ, P₀),   y = Σ cᵀ x(t) + d(u) + e

Exponentials come from eigenvectors, integrals from quadrature, the density from dense algebra: nothing is shared with
the filter.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

NODES, WEIGHTS = np.polynomial.legendre.leggauss(14)


@dataclass(frozen=True)
class Reading:
    """One number y = Σ row·x(time) + known + e."""

    y: float
    terms: Sequence[tuple[float, np.ndarray]]
    known: float = 0.0


@dataclass(frozen=True)
class Gaussian:
    """A system by its matrices, with what is known of it at the start."""

    A: np.ndarray
    Q: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    B: np.ndarray | None = None
    u: Callable[[float], np.ndarray] | None = None
    breaks: Sequence[float] = ()
    open: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    start: float = 0.0

    @cached_property
    def _modes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        values, vectors = np.linalg.eig(self.A)
        assert np.linalg.cond(vectors) < 1e4
        return values, vectors, np.linalg.inv(vectors)

    def over(self, times: Any) -> np.ndarray:
        """e^{At} of a time or of an array of times."""
        values, vectors, inverse = self._modes
        return np.real((vectors * np.exp(values * np.asarray(times)[..., None])[..., None, :]) @ inverse)

    def moments(self, readings: Sequence[Reading]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean (reading,), what the open values do to it (reading, δ), and covariance (reading, reading)."""
        times = sorted({time for one in readings for time, _ in one.terms})
        means, phis, covariances = self._march(times)
        n, count = len(self.A), len(times)
        joint = np.zeros((count, n, count, n))
        for j in range(count):
            later = self.over(np.array(times[j:]) - times[j]) @ covariances[j]
            joint[j:, :, j], joint[j, :, j:] = later, later.transpose(2, 0, 1)
        rows = np.zeros((len(readings), count, n))
        for k, one in enumerate(readings):
            for time, row in one.terms:
                rows[k, times.index(time)] += row
        flat = rows.reshape(len(readings), -1)
        known = np.array([one.known for one in readings])
        opened = self.open if self.open.size else np.zeros((n, 0))
        shown = np.concatenate([phi @ opened for phi in phis]).reshape(count * n, -1)
        return flat @ np.concatenate(means) + known, flat @ shown, flat @ joint.reshape(count * n, -1) @ flat.T

    def _march(self, times):
        mean, phi, P, now = self.mean, np.eye(len(self.A)), self.covariance, self.start
        means, phis, covariances = [], [], []
        for time in times:
            stops = sorted({time, *(b for b in self.breaks if now < b < time)})
            for stop in stops:
                step = stop - now
                if step > 0.0:
                    force, spread = self._integrals(now, stop)
                    over = self.over(step)
                    mean, phi, P = over @ mean + force, over @ phi, over @ P @ over.T + spread
                now = stop
            means.append(mean)
            phis.append(phi)
            covariances.append(P)
        return means, phis, covariances

    def _integrals(self, begin: float, end: float) -> tuple[np.ndarray, np.ndarray]:
        """∫ e^{A(end − s)} B u(s) ds and ∫ e^{A(end − s)} Q e^{Aᵀ(end − s)} ds, on panels short against the modes."""
        panels = max(1, int(np.ceil(np.linalg.norm(self.A, 2) * (end - begin) / 2.0)))
        edges = np.linspace(begin, end, panels + 1)
        half = 0.5 * np.diff(edges)
        nodes = (edges[:-1] + half)[:, None] + half[:, None] * NODES
        weights = (half[:, None] * WEIGHTS).ravel()
        over = self.over(end - nodes.ravel())
        spread = np.sum(weights[:, None, None] * (over @ self.Q @ over.swapaxes(1, 2)), axis=0)
        if self.B is None or self.u is None:
            return np.zeros(len(self.A)), spread
        values = np.array([np.atleast_1d(self.u(s)) for s in nodes.ravel().tolist()])
        return weights @ (over @ self.B @ values[..., None])[..., 0], spread


def minus_log_density(
    system: Gaussian,
    readings: Sequence[Reading],
    noise: np.ndarray,
    treatment: str = "free",
    reference: Gaussian | None = None,
) -> float:
    """−log of the joint density; open values are at their best ("free") or integrated over a flat prior ("diffuse").

    What they do to the samples, as far as the prior goes, is that of `reference`.
    """
    mean, X, S = system.moments(readings)
    S = S + noise
    r = np.array([one.y for one in readings]) - mean
    value = 0.5 * np.linalg.slogdet(S)[1] + 0.5 * r.size * np.log(2.0 * np.pi)
    if X.shape[1]:
        information = X.T @ np.linalg.solve(S, X)
        r = r - X @ np.linalg.solve(information, X.T @ np.linalg.solve(S, r))
        if treatment == "diffuse":
            held = X if reference is None else reference.moments(readings)[1]
            information = held.T @ np.linalg.solve(S, held)
            value += 0.5 * np.linalg.slogdet(information)[1] - 0.5 * X.shape[1] * np.log(2.0 * np.pi)
    return float(value + 0.5 * r @ np.linalg.solve(S, r))


def difference(function: Callable[[float], float], at: float, step: float) -> float:
    """A derivative from central differences at two steps (Richardson)."""
    wide, near = ((function(at + h) - function(at - h)) / (2.0 * h) for h in (2.0 * step, step))
    return (4.0 * near - wide) / 3.0
