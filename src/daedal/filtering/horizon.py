"""Prediction by a time rather than by samples: from those up to a horizon before each time.

With ξ the response to the inputs alone, x(t) = ξ(t) + e^{A(t − τ)} (x(τ) − ξ(τ)) + noise.
"""

from collections.abc import Callable

import numpy as np

from daedal.filtering.filter import Measured, filter_timeline
from daedal.filtering.parameter_point import Point
from daedal.filtering.state_law import FilterPass, Law
from daedal.filtering.timeline import make_timeline
from daedal.kernels import Keep
from daedal.linear import LowRank, lift, van_loan


def move_ahead(sweep: FilterPass, point: Point, origins: np.ndarray, queries: np.ndarray, horizon: float) -> Law:
    """Filtered at the origins, a horizon before each query but not before the start, and moved on without samples."""
    law = sweep.filter(origins)
    early = queries - horizon < origins - 1e-12 * np.maximum(1.0, np.abs(origins))
    law = _forget_samples(sweep, point, law, early)
    A, Q = van_loan(sweep.evolution.A.value, sweep.evolution.Q.value, queries - origins)
    response = _make_response(sweep, np.union1d(queries, origins))
    return Law(
        mean=np.einsum("kij,kj->ki", A, law.mean - response(origins)) + response(queries),
        covariance=A @ law.covariance @ A.swapaxes(1, 2) + Q,
        opened=A @ law.opened,
        inverse=law.inverse,
        hidden=law.hidden,
    )


def _forget_samples(sweep: FilterPass, point: Point, law: Law, early: np.ndarray) -> Law:
    """Times less than a horizon after the start: nothing but what is known of the start."""
    if not early.any():
        return law
    start = sweep.experiment.find_start(sweep.evolution, point)
    size = start.open.value.shape[1]
    chosen = early[:, None, None]
    return Law(
        mean=np.where(early[:, None], start.mean.value, law.mean),
        covariance=np.where(chosen, start.covariance.value, law.covariance),
        opened=np.where(chosen, start.open.value, law.opened),
        inverse=np.where(chosen, 0.0, law.inverse),
        hidden=np.where(chosen, np.eye(size), law.hidden),
    )


def _make_response(sweep: FilterPass, times: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The response of the state to the inputs from rest, as a function of the given times."""
    n = sweep.evolution.A.value.shape[0]
    line = make_timeline(sweep.signals, float(sweep.line.times[0]), (), times.tolist())
    events = line.events.row.size
    nothing = Measured(lift(np.zeros((0, n)), 0), lift(np.zeros(events), 0), lift(np.zeros(events), 0))
    still = lift(np.zeros((1, n)), 0), LowRank(lift(np.zeros((n, 0)), 0), lift(np.zeros((0, 0)), 0))
    filtered = filter_timeline(sweep.evolution, line, *still, nothing, Keep.MEANS)

    def response(asked: np.ndarray) -> np.ndarray:
        places = np.searchsorted(line.times, asked)
        last = np.searchsorted(line.break_of, places, side="right") - 1
        return filtered.x[last, 0]

    return response
