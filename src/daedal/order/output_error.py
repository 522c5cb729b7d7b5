"""Output error: the coefficients whose response comes nearest to the samples, by least squares with exact slopes.

With a noise model, residual and slopes go through an autoregression of the residual first (generalised least squares,
the continuous-time counterpart of a Box–Jenkins model), which is made anew from each result until it settles.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.estimation import (
    Autoregression,
    Evaluation,
    LeastSquares,
    compute_information,
    find_contiguous,
    fit_autoregression,
    invert_squares,
)
from daedal.order.record import Record
from daedal.order.response import Response, Shape, compute_response, make_monic

EVALUATIONS = 60
A_LITTLE = 6  # evaluations that show which starts are worth more
FEW_ROUNDS = 3  # of noise model and coefficients, for the same
TOLERANCE = 1e-10  # relative, of the squares
ROUGHLY = 1e-3  # of BIC, while candidates are compared
NO_DELAY = 1e-4  # of a sample interval
EXACT = 1e-10  # residual relative to the samples that is rounding
ROUNDS = 10  # of whitening, at most
SETTLED, SETTLED_ROUGHLY = 1e-3, 0.02  # standard errors that a round of whitening moves coefficients by, at most
FEW, MANY = 2, 3  # results that are taken further, with white and with coloured noise
SAME = 1e-6  # relative difference of the squares of two starts that go the same way


@final
@dataclass(frozen=True, eq=False)
class Polished:
    """Coefficients with their covariance, the residual (time,), and what it was whitened by; `rough` ones can go on."""

    shape: Shape
    theta: np.ndarray
    covariance: np.ndarray
    residual: np.ndarray
    squares: float
    record: Record
    noise: Autoregression | None
    evaluations: int
    rough: bool

    @property
    def information(self) -> float:
        """BIC: the smallest is the best; delays and the noise model count too. Exact data have that of rounding."""
        n, rounding = self.record.count, EXACT**2 * float(np.nansum(self.record.y**2))
        loglik = -0.5 * n * (1.0 + float(np.log(2.0 * np.pi * max(self.squares, rounding) / n)))
        noise = 1 if self.noise is None else 1 + self.noise.order
        bic = compute_information(loglik, len(self.covariance) + noise - self.forgotten, n).bic
        assert bic is not None  # there is a likelihood
        return bic

    @property
    def forgotten(self) -> float:
        """How many of the numbers do not count.

        Samples tell of the state at the start only until it is forgotten. Each number of it costs the logarithm of how
        many do, at least Akaike's 2, instead of that of all.
        """
        if not self.shape.start:
            return 0.0
        decay = np.abs(np.roots(make_monic(self.shape.split(self.theta)[0])).real) * self.record.interval
        whole = max(2.0, np.log(self.record.count))
        return float(np.sum(1.0 - np.clip(-np.log(np.maximum(decay, 1e-300)), 2.0, whole) / whole))

    @property
    def free_delays(self) -> bool:
        """Whether delays were estimated too; they come last in the covariance."""
        return len(self.covariance) > self.shape.size


def polish(
    shape: Shape,
    start: np.ndarray,
    record: Record,
    noise: int | bool = False,
    free_delays: bool = False,
    evaluations: int = EVALUATIONS,
    roughly: bool = False,
) -> Polished | None:
    """The best coefficients from a start, as exactly as numbers allow or roughly; None if it has no response."""
    polished = _minimize(shape, start, record, None, free_delays, evaluations, roughly)
    if polished is None or not noise:
        return polished
    return _whiten(polished, noise, free_delays, evaluations, roughly)


def _whiten(
    polished: Polished, noise: int | bool, free_delays: bool, evaluations: int, roughly: bool, rounds: int = ROUNDS
) -> Polished:
    """Noise model and coefficients in turns, until they settle."""
    for _ in range(rounds):
        model = _fit_noise(polished.residual, _read_order(noise))
        better = _minimize(polished.shape, polished.theta, polished.record, model, free_delays, evaluations, roughly)
        if better is None:
            return polished
        moved, gained = _measure_move(polished, better), polished.information - better.information
        same = polished.noise is not None and polished.noise.order == model.order and abs(gained) < ROUGHLY
        polished = better
        if moved < (SETTLED_ROUGHLY if roughly else SETTLED) or (roughly and same):
            break
    return polished


def _measure_move(before: Polished, after: Polished) -> float:
    """How far the coefficients went, in standard errors: what the samples do not tell may go on wandering."""
    errors = np.sqrt(np.maximum(np.diag(after.covariance)[: after.theta.size], 0.0))
    sizes = np.maximum(errors, 1e-12 * np.abs(after.theta))
    return float(np.max(np.abs(after.theta - before.theta) / np.maximum(sizes, 1e-300)))


def _read_order(noise: int | bool) -> int | None:
    """None where the order is to be chosen."""
    return None if noise is True else int(noise)


def polish_on(polished: Polished) -> Polished:
    """A rough result to the end, with the noise model that it has."""
    better = _minimize(
        polished.shape, polished.theta, polished.record, polished.noise, polished.free_delays, EVALUATIONS, False
    )
    return polished if better is None else better


def polish_again(polished: Polished, record: Record, evaluations: int) -> Polished | None:
    """A result moved to other samples, roughly, with the delays and the noise model that it has."""
    return _minimize(polished.shape, polished.theta, record, polished.noise, False, evaluations, True)


def _fit_noise(residual: np.ndarray, order: int | None) -> Autoregression:
    return fit_autoregression([residual[stretch] for stretch in find_contiguous(residual)], order)


def _minimize(
    shape: Shape,
    start: np.ndarray,
    record: Record,
    noise: Autoregression | None,
    free_delays: bool,
    evaluations: int,
    roughly: bool,
) -> Polished | None:
    squares = _Squares(shape, record, noise, free_delays)
    begin = np.concatenate([start, record.delays]) if free_delays else start
    lower = np.full(begin.size, -np.inf)
    if free_delays:
        lower[shape.size :] = 0.0
        begin[shape.size :] = np.maximum(begin[shape.size :], 1e-3 * record.interval)
    minimize = LeastSquares(evaluations, ROUGHLY / record.count if roughly else TOLERANCE)
    minimum = minimize(squares, begin, (lower, np.full(begin.size, np.inf)))
    if not minimum.evaluation.ok:
        return None
    reached, best = minimum.evaluation, minimum.evaluation.point.copy()
    if free_delays:  # a bound is only approached
        best[shape.size :][best[shape.size :] < NO_DELAY * record.interval] = 0.0
        reached = reached if np.array_equal(best, reached.point) else squares(best)
    assert reached.jacobian is not None  # there is a response
    variance = 2.0 * reached.value / max(record.count - best.size, 1)
    return Polished(
        shape=shape,
        theta=best[: shape.size],
        covariance=variance * invert_squares(reached.jacobian),
        residual=squares.residual(best),
        squares=2.0 * reached.value * squares.unit**2,
        record=squares.record(best),
        noise=noise,
        evaluations=minimum.evaluations,
        rough=roughly,
    )


class _Squares:
    """Half the sum of squares of a record, whitened where there is a noise model, in units of the samples.

    A triangular decomposition (J, r) = Q R leaves p + 1 residuals and rows of slopes, the columns of R, with the same
    value, gradient and curvature as thousands of samples.
    """

    def __init__(self, shape: Shape, record: Record, noise: Autoregression | None, free_delays: bool) -> None:
        self._shape, self._record, self._noise, self._free = shape, record, noise, free_delays
        self._responses: dict[bytes, Response | None] = {}  # the residual of the best point is asked for at the end
        self.unit = float(np.linalg.norm(record.y[record.known])) or 1.0

    def record(self, point: np.ndarray) -> Record:
        """The record with the delays of a point."""
        return self._record.delay(tuple(map(float, point[self._shape.size :]))) if self._free else self._record

    def residual(self, point: np.ndarray) -> np.ndarray:
        """Samples without the response, not a number where they are missing; all of it where there is no response."""
        response = self._respond(point)
        return self._record.y - (np.nan if response is None else response.y)

    def __call__(self, point: np.ndarray) -> Evaluation:
        response, size = self._respond(point), point.size
        if response is None:
            nothing = np.full((size, size), np.nan)
            return Evaluation(point, np.inf, nothing[0], nothing, failure="The response grows beyond bounds.")
        rows = [-response.slopes.T, response.rates, (self._record.y - response.y)[None]]
        triangle = np.asarray(np.linalg.qr(self._weigh(np.concatenate(rows)).T / self.unit, mode="r"))
        jacobian, residuals = triangle[:, :size], triangle[:, size]
        value, curvature = 0.5 * float(residuals @ residuals), jacobian.T @ jacobian
        return Evaluation(point, value, jacobian.T @ residuals, curvature, residuals, jacobian)

    def _respond(self, point: np.ndarray) -> Response | None:
        key = point.tobytes()
        if key not in self._responses:
            theta, record = point[: self._shape.size], self.record(point)
            self._responses[key] = compute_response(self._shape, theta, record, self._free)
        return self._responses[key]

    def _weigh(self, rows: np.ndarray) -> np.ndarray:
        """Rows (row, time) without missing samples, whitened where there is a noise model."""
        known = self._record.known
        if self._noise is None:
            return rows[:, known]
        return self._noise.whiten(np.where(known, rows, np.nan))[:, known]


Start = tuple[np.ndarray, Record]  # coefficients, and the record with the delays that they begin from


def polish_best(
    shape: Shape, starts: Sequence[Start], noise: int | bool = False, free_delays: bool = False
) -> Polished | None:
    """The best result from several starts: a few steps from each, then the nearest to the samples to the end."""
    different = _drop_alike(shape, starts)
    tried = [begun for theta, record in different if (begun := _minimize_a_little(shape, theta, record))]
    ranked = _drop_repeated(sorted(tried, key=lambda polished: polished.squares))
    if noise:
        return _polish_whitened(shape, different, ranked[:MANY], noise, free_delays)
    ends = [
        polish(shape, polished.theta, polished.record, False, free_delays, roughly=True) for polished in ranked[:FEW]
    ]
    finished = [end for end in ends if end is not None]
    return min(finished, key=lambda polished: polished.information, default=None)


def _polish_whitened(
    shape: Shape, starts: Sequence[Start], ranked: Sequence[Polished], noise: int | bool, free_delays: bool
) -> Polished | None:
    """The best result with a noise model, made where squares are least, and at the starts themselves.

    Strong slow noise draws the minimum for white noise so far away that no noise model made there leads back.
    """
    held = [at for theta, record in starts if (at := _minimize(shape, theta, record, None, False, 1, True))]
    likely = sorted(held, key=lambda polished: _fit_noise(polished.residual, _read_order(noise)).variance)[:MANY]
    begun = [_whiten(polished, noise, False, A_LITTLE, True, FEW_ROUNDS) for polished in (*ranked, *likely)]
    best = _drop_repeated(sorted(begun, key=lambda polished: polished.information))[:FEW]
    ends = [_whiten(polished, noise, free_delays, EVALUATIONS, True) for polished in best]
    return min(ends, key=lambda polished: polished.information, default=None)


def _drop_repeated(ranked: Sequence[Polished]) -> list[Polished]:
    """Without those that go the same way as the one before them."""
    return [
        polished
        for k, polished in enumerate(ranked)
        if not k or polished.squares > (1.0 + SAME) * ranked[k - 1].squares
    ]


def _minimize_a_little(shape: Shape, theta: np.ndarray, record: Record) -> Polished | None:
    return polish(shape, theta, record, evaluations=A_LITTLE, roughly=True)


def _drop_alike(shape: Shape, starts: Sequence[Start]) -> list[Start]:
    """The starts that have a response, one of those with the same."""
    kept: list[Start] = []
    seen: list[float] = []
    for theta, record in starts:
        squares = sum_squares(shape, theta, record)
        if np.isfinite(squares) and all(abs(squares - other) > SAME * other for other in seen):
            kept.append((theta, record))
            seen.append(squares)
    return kept


def sum_squares(shape: Shape, theta: np.ndarray, record: Record) -> float:
    """The sum of squares of given coefficients, infinite where they have no response."""
    response = compute_response(shape, theta, record)
    return np.inf if response is None else float(np.nansum((record.y - response.y) ** 2))
