"""Signals through 1/a(s)ʳ with all their derivatives, exactly at the samples, whatever their spacing.

    a(d/dt)ʳ ψ = u,   states ψ, ψ', …, ψ⁽ⁿʳ⁻¹⁾

The companion form runs in units of time in which its largest coefficient is one, over intervals in which the input is a
polynomial. An impulse at the start goes through the same filter: it spans what an unknown state at the start does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.data import Signal
from daedal.filtering.timeline import Timeline, timeline
from daedal.kernels.kalman import MEANS, Events, Matrices, State, Steady, pack, run_filter
from daedal.linear import exponential
from daedal.linear.dual import constant
from daedal.linear.forced_response import forced_response
from daedal.linear.many_steps import at_many_steps


@final
@dataclass(frozen=True, eq=False)
class FilteredSignals:
    """States (signal, time, derivative) of signals, and (time, derivative) of an impulse at the start."""

    signals: np.ndarray
    impulse: np.ndarray


@dataclass(frozen=True, eq=False)
class SignalFilter:
    """Signals and the times at which their filtered versions are wanted, lined up once."""

    line: Timeline
    events: Events
    places: np.ndarray  # the event of each wanted time
    moving: np.ndarray
    count: int

    def __call__(self, denominator: np.ndarray, repeat: int = 1) -> FilteredSignals:
        """Through 1/a(s)ʳ, a given monic with the highest power first."""
        polynomial = denominator / denominator[0]
        for _ in range(repeat - 1):
            polynomial = np.convolve(polynomial, denominator / denominator[0])
        n = polynomial.size - 1
        rate = float(max(np.abs(polynomial[1:]) ** (1.0 / np.arange(1, n + 1)), default=1.0)) or 1.0
        A = np.diag(np.ones(n - 1), 1)
        A[-1] = -(polynomial[1:] / rate ** np.arange(1, n + 1))[::-1]
        B = np.zeros((n, 1))
        B[-1] = 1.0
        steps = rate * self.line.steps
        transitions, gamma = self._matrices(A, B, steps)
        made = [
            self._run(transitions, gamma, rate, signal, np.vstack([np.zeros(n), rate * B.T]) if signal == 0 else None)
            for signal in range(self.count)
        ]
        # A state in units of this time is a derivative divided by a power of the rate; the input was not divided.
        units = rate ** (np.arange(n) - float(n))
        return FilteredSignals(np.stack([each[:, 0] for each in made]) * units, made[0][:, 1] * units)

    def _matrices(self, A: np.ndarray, B: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        still = constant(A, 0), constant(B, 0)

        def made(lengths: np.ndarray) -> tuple[np.ndarray, ...]:
            forced = forced_response(*still, self.line.degree, lengths).value
            empty = np.zeros((0, lengths.size))
            return exponential(lengths[:, None, None] * A), empty, forced, empty

        speed = float(np.abs(np.linalg.eigvals(A)).max(initial=0.0))
        transitions, _, gamma, _ = at_many_steps(made, steps, speed)
        return transitions, gamma[..., 0]

    def _run(
        self, transitions: np.ndarray, gamma: np.ndarray, rate: float, signal: int, start: np.ndarray | None
    ) -> np.ndarray:
        """(time, column, n) of one signal, from rest or from given columns."""
        n = transitions.shape[-1]
        powers = rate ** -np.arange(self.line.degree + 1.0)
        coefficients = self.line.inputs[self.line.break_of[self.moving] - 1][:, :, signal] * powers
        numbers = self.events.transition[self.moving]
        forcing = np.zeros((self.events.row.size, n))
        if len(gamma) <= numbers.size // 4:
            for step in range(len(gamma)):
                mine = numbers == step
                forcing[self.moving[mine]] = coefficients[mine] @ gamma[step]
        else:
            forcing[self.moving] = np.einsum("ej,ejn->en", coefficients, gamma[numbers])
        x = np.zeros((1, n)) if start is None else start
        nothing = np.zeros(self.events.row.size)
        found = run_filter(
            self.events,
            Matrices(pack(transitions), pack(np.zeros_like(transitions)), pack(np.zeros((0, n)))),
            pack(forcing),
            pack(nothing),
            pack(nothing),
            State(pack(x), pack(np.zeros((n, n)))),
            # No covariance is moved where a gain is given, and none is used because nothing is measured.
            Steady(pack(np.zeros((1, n))), pack(np.ones(1))),
            MEANS,
        )
        return found.x[self.places]


def signal_filter(signals: Sequence[Signal], start: float, times: np.ndarray) -> SignalFilter:
    """Line up signals with the times at which they are wanted filtered."""
    line = timeline(signals, start, {}, times.tolist())
    events = Events(line.events.transition, line.events.row, np.zeros_like(line.events.row))
    last = np.searchsorted(line.break_of, np.searchsorted(line.times, times), side="right") - 1
    moving = np.flatnonzero(line.events.transition >= 0)
    return SignalFilter(line, events, last, moving, len(signals))
