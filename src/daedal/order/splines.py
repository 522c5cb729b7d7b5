"""B-splines with clamped knots, their derivatives, and integrals of squares as sums over Gauss points.

    N_{i,p}(t) = (t − u_i)/(u_{i+p} − u_i) N_{i,p−1}(t) + (u_{i+p+1} − t)/(u_{i+p+1} − u_{i+1}) N_{i+1,p−1}(t)
    N'_{i,p}   = p/(u_{i+p} − u_i) N_{i,p−1} − p/(u_{i+p+1} − u_{i+1}) N_{i+1,p−1}

Between two knots a spline of degree p is a polynomial, so that p + 1 Gauss points there integrate its square exactly:
∫ f² dt = Σ_q (√w_q f(t_q))². Functions that are not splines, such as inputs, enter by their best polynomial of degree p
between two knots, which changes no integral of a product with a spline.

C. de Boor, A Practical Guide to Splines, Springer 2001, chapters IX and X.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from daedal.data import Signal


@final
@dataclass(frozen=True, eq=False)
class SplineBasis:
    """B-splines of one degree between distinct knots (knot,), the first and last repeated until they are clamped."""

    degree: int
    knots: np.ndarray

    @property
    def size(self) -> int:
        """How many splines there are."""
        return self.knots.size - 1 + self.degree

    @cached_property
    def points(self) -> np.ndarray:
        """Gauss points between the knots, rising."""
        return _place_nodes(self.knots, self.degree + 1)[0]

    @cached_property
    def roots(self) -> np.ndarray:
        """√w_q, the roots of the Gauss weights."""
        return np.sqrt(_place_nodes(self.knots, self.degree + 1)[1])

    def values(self, times: np.ndarray, derivative: int = 0) -> np.ndarray:
        """All splines, or a derivative of them, (time, spline)."""
        from scipy.interpolate import BSpline

        clamped = np.concatenate([self.knots[:1].repeat(self.degree), self.knots, self.knots[-1:].repeat(self.degree)])
        return BSpline(clamped, np.eye(self.size), self.degree)(times, nu=derivative)

    def project(self, signal: Signal, derivative: int = 0) -> np.ndarray:
        """A signal, or a derivative of it, at the Gauss points, by its best polynomial between two knots."""
        inside = signal.times[(signal.times > self.knots[0]) & (signal.times < self.knots[-1])]
        breaks = np.union1d(self.knots, inside)
        times, weights = _place_nodes(breaks, (self.degree + 6) // 2)  # a signal is at most cubic between its samples
        of_time, of_point = (self._legendre(places) for places in (times, self.points))
        moments = np.zeros((self.knots.size - 1, self.degree + 1))
        np.add.at(moments, self._interval(times), of_time * (weights * signal(times, derivative))[:, None])
        return np.einsum("ql,ql->q", of_point, moments[self._interval(self.points)])

    def _interval(self, times: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.knots, times, side="right") - 1

    def _legendre(self, times: np.ndarray) -> np.ndarray:
        """Polynomials that are orthonormal between the two knots around each time, (time, degree)."""
        left = self._interval(times)
        width = np.diff(self.knots)[left]
        scaled = 2.0 * (times - self.knots[left]) / width - 1.0
        length = np.sqrt((2.0 * np.arange(self.degree + 1) + 1.0) / width[:, None])
        return np.polynomial.legendre.legvander(scaled, self.degree) * length


def _place_nodes(breaks: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss–Legendre points and weights, so many in each interval."""
    points, weights = np.polynomial.legendre.leggauss(count)
    half = np.diff(breaks)[:, None] / 2.0
    middle = (breaks[1:] + breaks[:-1])[:, None] / 2.0
    return (middle + half * points).ravel(), (half * weights).ravel()


def make_spline_basis(times: np.ndarray, start: float, end: float, degree: int, knots: int) -> SplineBasis:
    """Splines from start to end, with the same number of samples between any two of so many knots."""
    spaced = np.quantile(times, np.linspace(0.0, 1.0, knots))
    spaced[0], spaced[-1] = start, end
    return SplineBasis(degree, spaced)
