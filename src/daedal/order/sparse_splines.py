"""`SparseSplines`: order and coefficients by splines that nearly solve a differential equation.

With `terms` it is the published method (`daedal.order.penalized_splines`), which returns as many coefficients as it is
told to. Knots decide how good they are: of several numbers of knots the one is taken whose equation, solved, comes
nearest to the samples.

Without `terms` the splines only begin. Every candidate starts from the equation of its own orders, is polished by
output error, and Schwarz's criterion compares what comes out, which no longer depends on knots and weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from daedal.errors import EstimationError, as_float, check_whole_number, counted, is_real, quoted, show
from daedal.order.greedy_sparsity import solve_on_support
from daedal.order.output_error import Polished, polish, polish_best
from daedal.order.penalized_splines import SplineEquation, is_fitted, make_spline_equation, sparsify_equation
from daedal.order.record import Record
from daedal.order.refined_iv import find_starts
from daedal.order.response import Shape, compute_response, is_usable, make_monic

PRINTED_KNOTS = (20, 30, 45, 65, 95, 140)
START_KNOTS = (20, 45, 95)
STARTS = 2  # the nearest to the samples


@final
@dataclass(frozen=True)
class SparseSplines:
    """Splines with a differential equation as penalty, and sparse coefficients.

    Parameters
    ----------
    terms
        How many coefficients differ from zero, that of the input itself, which is one, not counted: the published
        method for the largest orders asked for. None: the orders are found, by output error from spline estimates.
    knots
        Number of knots, both ends included; by default chosen from the data.
    weight
        λ of the equation; by default from the variance of what the splines leave.

    Examples
    --------
    >>> SparseSplines(terms=3)
    SparseSplines(terms=3, knots=None, weight=None)
    """

    terms: int | None = None
    knots: int | None = None
    weight: float | None = None

    def __post_init__(self) -> None:
        if self.terms is not None:
            sentence = "The number of terms must be a whole number from 1 on"
            remedy = "Write terms=3, or leave it out to have the order found."
            check_whole_number(self.terms, EstimationError, sentence, remedy, least=1)
        if self.knots is not None:
            sentence = "The number of knots must be a whole number"
            remedy = "Write knots=60, or leave it out to have it chosen."
            check_whole_number(self.knots, EstimationError, sentence, remedy, least=1)
        if self.weight is not None and not _is_positive(self.weight):
            raise EstimationError(
                f"The weight of the equation must be a positive number, got {show(self.weight)}.",
                "Write weight=1.0, or leave it out to have it chosen.",
            )

    def narrow(self, shapes: Sequence[Shape], record: Record) -> tuple[list[Shape], list[str]]:
        """Which of the shapes asked for are tried, and what is to be said about them."""
        tried = list(shapes)
        notes = []
        if self.terms is not None:
            tried = [max(shapes, key=lambda shape: (shape.order, shape.input_order))]
            notes.append(f"the number of terms, {self.terms}, was given: the order follows from it, not from the data")
        for shape in tried:
            self._counts(shape, record, ())
        highest = max(shape.input_order for shape in tried)
        names = [name for name, signal in zip(record.inputs, record.signals, strict=True) if is_fitted(signal, highest)]
        if names:
            notes.append(f"derivatives of {quoted(names)}, of which samples are known, are those of fitted splines")
        return tried, notes

    def estimate(self, shape: Shape, record: Record, known: Sequence[Polished] = ()) -> Polished | None:
        """Coefficients of one shape; with `terms`, of the smaller shape that remains."""
        if self.terms is not None:
            equations = self._equations(shape, record, PRINTED_KNOTS)
            nearest = find_nearest_solution(equations, shape.start, record, self.terms, self.weight)
            return (
                None
                if nearest.begun is None
                else polish(nearest.begun.shape, nearest.begun.theta, record, evaluations=1)
            )
        begun = [
            start
            for equation in self._equations(shape, record, START_KNOTS)
            for start in self._begun(shape, record, equation)
        ]
        ranked = sorted(begun, key=lambda one: one.squares)[:STARTS]
        smaller = find_starts(shape, record, known, cutoffs=0)
        return polish_best(shape, [(theta, record) for theta in [*(one.theta for one in ranked), *smaller]])

    def _equations(self, shape: Shape, record: Record, counts: Sequence[int]) -> list[SplineEquation]:
        usable_counts = self._counts(shape, record, counts)
        return [make_spline_equation(record, shape.order, shape.input_order, knots) for knots in usable_counts]

    def _counts(self, shape: Shape, record: Record, counts: Sequence[int]) -> list[int]:
        """Numbers of knots to try; an error if the one that was given does not suit."""
        degree = shape.order + 1
        # A B-spline of degree p lies over p + 1 intervals.
        fewest, most = degree + 2, record.count - degree + 1
        if self.knots is None:
            least = min(fewest, most)
            return sorted({int(np.clip(count, least, max(most // 2, least))) for count in counts})
        if self.knots < fewest:
            raise EstimationError(
                f"Splines for order {shape.order} have degree {degree} and need {fewest} knots, got {self.knots}.",
                f"Write knots={max(60, fewest)}, or leave it out.",
            )
        if self.knots > most:
            raise EstimationError(
                f"{counted(self.knots, 'knot')} are too many for {counted(record.count, 'sample')} of "
                f"'{record.output}'.",
                f"Give at most {most}, or leave it out.",
            )
        return [int(self.knots)]

    def _begun(self, shape: Shape, record: Record, equation: SplineEquation) -> list["Begun"]:
        """Starts of output error from one equation, in two normalisations: neither suits every system."""
        y = record.y[record.known]
        theta = sparsify_equation(equation, y, None, self.weight)
        tried = [_split(theta, shape), _make_monic(equation, y, shape)]
        return [
            begun
            for a, b in tried
            if (begun := find_start(shape, _has_bounded_response(a, record), b, record)) is not None
        ]


@final
@dataclass(frozen=True, eq=False)
class Begun:
    """Coefficients where output error can begin, and their sum of squares."""

    shape: Shape
    theta: np.ndarray
    squares: float


@final
@dataclass(frozen=True, eq=False)
class SparseSolution:
    """θ = (a_0 … a_n, b_1 … b_m) in the normalisation of the paper; how it begins, None without a bounded response."""

    theta: np.ndarray
    begun: Begun | None

    @property
    def squares(self) -> float:
        """What its response leaves of the samples."""
        return np.inf if self.begun is None else self.begun.squares


def find_nearest_solution(
    equations: Sequence[SplineEquation], start: bool, record: Record, terms: int, weight: float | None = None
) -> SparseSolution:
    """The published method with several numbers of knots: the equation whose solution is nearest to the samples."""
    solutions = []
    for equation in equations:
        theta = sparsify_equation(equation, record.y[record.known], terms, weight)
        inputs, derivatives, _ = equation.inputs.shape
        whole = Shape(equation.order, derivatives - 1, inputs, start)
        solutions.append(SparseSolution(theta, _reduce(*_split(theta, whole), whole, record)))
    return min(solutions, key=lambda solution: solution.squares)


def _reduce(a: np.ndarray, b: np.ndarray, whole: Shape, record: Record) -> Begun | None:
    """Without the highest derivatives whose coefficients are zero."""
    order = int(np.max(np.flatnonzero(a), initial=0))
    input_order = int(np.max(np.flatnonzero(b.any(axis=0)), initial=0))
    if order == 0 or input_order > order:
        return None
    shape = replace(whole, order=order, input_order=input_order)
    return find_start(shape, a[: order + 1], b[:, : input_order + 1], record)


def find_start(shape: Shape, a: np.ndarray, b: np.ndarray, record: Record) -> Begun | None:
    """Rising coefficients a (n + 1,), b (input, m + 1) with the best state at the start; None if they are unbounded."""
    with np.errstate(all="ignore"):
        theta = np.concatenate([a[:-1] / a[-1], (b / a[-1]).ravel(), np.zeros(shape.size - shape.coefficients)])
    response = compute_response(shape, theta, record) if np.isfinite(theta).all() else None
    if response is None:
        return None
    left = (record.y - response.y)[record.known]
    slopes = response.slopes[record.known, shape.coefficients :]
    theta[shape.coefficients :] = solve_on_support(slopes, left, np.ones(slopes.shape[1], dtype=bool))
    return Begun(shape, theta, float(np.sum((left - slopes @ theta[shape.coefficients :]) ** 2)))


def _split(theta: np.ndarray, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """a (n + 1,) and b (input, m + 1), rising, of θ; the first input itself has the coefficient one."""
    split = shape.order + 1
    return theta[:split], np.append(1.0, theta[split:]).reshape(shape.inputs, -1)


def _make_monic(equation: SplineEquation, y: np.ndarray, shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Least squares with a_n = 1, on splines fitted without the equation: also where b_0 is zero."""
    n = shape.order
    columns = equation.columns(equation.fit(equation.reduce(y)))
    rest = np.column_stack([columns[:, :n], -equation.target, columns[:, n + 1 :]])
    coefficients = solve_on_support(rest, -columns[:, n], np.ones(rest.shape[1], dtype=bool))
    return np.append(coefficients[:n], 1.0), coefficients[n:].reshape(shape.inputs, -1)


def _has_bounded_response(a: np.ndarray, record: Record) -> np.ndarray:
    """Rising coefficients with poles that grow mirrored, where they grow beyond bounds."""
    if a[-1] == 0.0 or not np.isfinite(a).all() or is_usable(a[:-1] / a[-1], record):
        return a
    poles = np.roots(make_monic(a[:-1] / a[-1]))
    mirrored = np.where(poles.real > 0.0, -poles.conj(), poles)
    return a[-1] * np.real(np.poly(mirrored))[::-1]


def _is_positive(value: Any) -> bool:
    return is_real(value) and not isinstance(value, bool) and 0.0 < as_float(value) < np.inf
