"""Splines that nearly solve a differential equation, and the few coefficients of that equation, in turns (iPDA).

    min over P and θ   Σ_k (y(t_k) − Ŷ(t_k))² + λ ∫ (a_n Ŷ⁽ⁿ⁾ + … + a_0 Ŷ − (b_m u⁽ᵐ⁾ + … + b_1 u' + u))² dt,   ‖θ‖₀ ≤ s

with Ŷ = Σ P_i N_{i,p}, p = n + 1, and θ = (a_0 … a_n, b_1 … b_m): u itself has the coefficient one. For given θ the sum
is quadratic in P, for given P quadratic in θ, where a greedy search finds the support. As published:

- λ = variance of (y − Ŷ) + mean of (y − Ŷ)² (after Varziri), made anew in each round;
- θ begins with least squares on splines fitted without the equation. Of these numbers are set to zero those below 1/100
  of the largest, those a_k that contradict stability, and the smallest beyond s;
- rounds end when no coefficient moves by more than 0.005, here of itself.

Corrected: a_k contradict stability when their sign is not that of a_0, and any b may be negative.

S. K. Varanasi, P. Jampana, Parameter estimation and model order identification of LTI systems, IFAC-PapersOnLine 49-7
(2016) 1002–1007. A. A. Poyton et al., Parameter estimation in continuous-time dynamic models using principal
differential analysis, Comput. Chem. Eng. 30 (2006) 698–708. M. S. Varziri et al., Selecting optimal weighting factors
in iPDA, Comput. Chem. Eng. 32 (2008) 3011–3022.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from daedal.data import Signal
from daedal.order.greedy_sparsity import select_greedily, solve_on_support
from daedal.order.record import Record
from daedal.order.splines import SplineBasis, make_spline_basis

ROUNDS = 40
SETTLED = 0.005
SMALL = 0.01  # of the largest coefficient


@final
@dataclass(frozen=True, eq=False)
class SplineEquation:
    """Splines and inputs of one record lined up.

    Attributes
    ----------
    at_samples
        The splines at the samples that are there, (sample, spline).
    derivatives
        √w_q times all derivatives of the splines at the Gauss points, (derivative, point, spline).
    inputs
        √w_q times all derivatives of the inputs there, (input, derivative, point).
    """

    basis: SplineBasis
    at_samples: np.ndarray
    derivatives: np.ndarray
    inputs: np.ndarray

    @property
    def order(self) -> int:
        """The highest derivative of the output."""
        return len(self.derivatives) - 1

    @property
    def target(self) -> np.ndarray:
        """The first input itself, whose coefficient is one."""
        return self.inputs[0, 0]

    @cached_property
    def means(self) -> np.ndarray:
        """Of the splines over the samples."""
        return self.at_samples.mean(axis=0)

    @cached_property
    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Q and R of the splines at the samples."""
        q, r = np.linalg.qr(self.at_samples)
        return q, r

    def columns(self, splines: np.ndarray) -> np.ndarray:
        """What each coefficient of θ multiplies: derivatives of Ŷ, then those of the inputs but for the target."""
        own = self.derivatives @ splines
        return np.concatenate([own, -self._other_inputs()]).T

    def _other_inputs(self) -> np.ndarray:
        return self.inputs.reshape(-1, self.inputs.shape[-1])[1:]

    def reduce(self, y: np.ndarray) -> "ReducedSamples":
        """What the samples y that are there mean for the splines."""
        q, _ = self.factors
        values = q.T @ y
        return ReducedSamples(values, float(np.sum((y - q @ values) ** 2)), float(y.mean()), y.size)

    def fit(self, samples: "ReducedSamples") -> np.ndarray:
        """Coefficients P of the splines nearest to the samples."""
        _, r = self.factors
        return np.linalg.lstsq(r, samples.values, rcond=None)[0]

    def fit_penalized(self, samples: "ReducedSamples", theta: np.ndarray, weight: float) -> np.ndarray:
        """Coefficients P near to the samples and to a solution of the equation."""
        from scipy.linalg import lstsq

        _, r = self.factors
        split = self.order + 1
        equation = np.tensordot(theta[:split], self.derivatives, 1)
        forced = self.target + theta[split:] @ self._other_inputs()
        root = np.sqrt(weight)
        rows, values = np.vstack([r, root * equation]), np.concatenate([samples.values, root * forced])
        return lstsq(rows, values, lapack_driver="gelsy", check_finite=False)[0]  # type: ignore[index]


@final
@dataclass(frozen=True, eq=False)
class ReducedSamples:
    """Qᵀy, the squares of y that no splines reach, the mean of y, and how many samples there are."""

    values: np.ndarray
    outside: float
    mean: float
    count: int


def make_spline_equation(record: Record, order: int, input_order: int, knots: int) -> SplineEquation:
    """Line up splines of a degree above the order with the samples and the inputs of a record."""
    times = record.times[record.known]
    basis = make_spline_basis(times, record.t0, float(record.times[-1]), order + 1, knots)
    roots = basis.roots
    inputs = [derive_inputs(signal, input_order, basis) for signal in record.signals]
    return SplineEquation(
        basis=basis,
        at_samples=basis.values(times),
        derivatives=np.stack([basis.values(basis.points, k) * roots[:, None] for k in range(order + 1)]),
        inputs=np.stack(inputs) * roots,
    )


def is_fitted(signal: Signal, input_order: int) -> bool:
    """Whether derivatives of an input are needed that what is known of it does not give."""
    return input_order > 0 and (signal.intersample != "spline" or input_order > signal.derivatives)


def derive_inputs(signal: Signal, input_order: int, basis: SplineBasis) -> np.ndarray:
    """An input and its derivatives at the Gauss points; of splines fitted to its samples where it has none itself."""
    if not is_fitted(signal, input_order):
        return np.stack([basis.project(signal, k) for k in range(input_order + 1)])
    first, last = basis.knots[[0, -1]]
    inside = np.union1d(signal.times[(signal.times > first) & (signal.times < last)], [first, last])
    fitted = np.linalg.lstsq(basis.values(inside), signal(inside), rcond=None)[0]
    return np.stack([basis.values(basis.points, k) @ fitted for k in range(input_order + 1)])


def weigh_varziri(equation: SplineEquation, samples: ReducedSamples, splines: np.ndarray) -> float:
    """λ from what the splines leave of the samples: variance and mean square."""
    _, r = equation.factors
    square = (samples.outside + float(np.sum((samples.values - r @ splines) ** 2))) / samples.count
    return max(2.0 * square - (samples.mean - float(equation.means @ splines)) ** 2, 0.0)


def sparsify_equation(
    equation: SplineEquation, y: np.ndarray, terms: int | None = None, weight: float | None = None
) -> np.ndarray:
    """Coefficients θ, at most so many of them not zero (or all), from the samples y that are there."""
    samples = equation.reduce(y)
    splines = equation.fit(samples)
    columns = equation.columns(splines)
    theta = solve_on_support(columns, equation.target, np.ones(columns.shape[1], dtype=bool))
    if terms is not None:
        theta = select_greedily(columns, equation.target, terms, keep_largest(theta, equation.order, terms))
    for _ in range(ROUNDS):
        used = weigh_varziri(equation, samples, splines) if weight is None else weight
        splines = equation.fit_penalized(samples, theta, used)
        columns = equation.columns(splines)
        new = (
            solve_on_support(columns, equation.target, theta != 0.0)
            if terms is None
            else select_greedily(columns, equation.target, terms, theta)
        )
        settled = np.all(np.abs(new - theta) <= SETTLED * np.abs(new))
        theta = new
        if settled:
            break
    return theta


def keep_largest(theta: np.ndarray, order: int, terms: int) -> np.ndarray:
    """The first guess with at most so many numbers: without small ones and those that contradict stability."""
    kept = theta.copy()
    a = kept[: order + 1]
    a[np.sign(a) != np.sign(a[0])] = 0.0
    kept[np.abs(kept) < SMALL * np.max(np.abs(kept))] = 0.0
    kept[np.argsort(np.abs(kept))[: max(kept.size - terms, 0)]] = 0.0
    return kept
