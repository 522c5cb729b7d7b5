"""Signals through 1/a(s)ʳ with all their derivatives, exactly at given times, whatever their spacing.

    a(d/dt)ʳ ψ = u,   states ψ, ψ', …, ψ⁽ⁿʳ⁻¹⁾

The companion form runs in units of time in which its largest coefficient is one, over intervals in which the input is a
polynomial. An impulse at the start goes through the same filter: it spans what an unknown state at the start does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.data import Signal
from daedal.kernels import Events, Keep, Matrices, State, Steady, pack, run_filter
from daedal.lti.forced_response import find_step_matrices
from daedal.lti.intervals import cut_polynomials, find_distinct
from daedal.lti.step_interpolation import evaluate_at_steps


@final
@dataclass(frozen=True, eq=False)
class FilteredSignals:
    """States (signal, time, derivative) of signals, and (time, derivative) of an impulse at the start."""

    signals: np.ndarray
    impulse: np.ndarray


@dataclass(frozen=True, eq=False)
class SignalFilter:
    """Signals and the times at which their filtered versions are wanted, lined up once."""

    steps: np.ndarray
    step_of: np.ndarray
    inputs: np.ndarray  # coefficients (interval, power, signal)
    places: np.ndarray  # the break point of each wanted time

    def __call__(self, denominator: np.ndarray, repeat: int = 1) -> FilteredSignals:
        """Through 1/a(s)ʳ, a given with the highest power first."""
        once = denominator / denominator[0]
        polynomial = once
        for _ in range(repeat - 1):
            polynomial = np.convolve(polynomial, once)
        n = polynomial.size - 1
        rate = float(max(np.abs(polynomial[1:]) ** (1.0 / np.arange(1, n + 1)), default=1.0)) or 1.0
        A = np.diag(np.ones(n - 1), 1)
        A[-1] = -(polynomial[1:] / rate ** np.arange(1, n + 1))[::-1]
        B = np.zeros((n, 1))
        B[-1] = 1.0
        transitions, gamma = self._compute_matrices(A, B, rate * self.steps)
        impulse = np.vstack([np.zeros(n), rate * B.T])
        responses = [
            self._run(transitions, gamma, rate, signal, np.zeros((1, n)) if signal else impulse)
            for signal in range(self.inputs.shape[2])
        ]
        # A state in units of this time is a derivative divided by a power of the rate; the input was not divided.
        units = rate ** (np.arange(n) - float(n))
        return FilteredSignals(np.stack([response[:, 0] for response in responses]) * units, responses[0][:, 1] * units)

    def _compute_matrices(self, A: np.ndarray, B: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        degree = self.inputs.shape[1] - 1

        def compute(lengths: np.ndarray) -> tuple[np.ndarray, ...]:
            transitions, gamma = find_step_matrices(A, B, degree, lengths)
            empty = np.zeros((0, lengths.size))
            return transitions, empty, gamma, empty

        speed = float(np.abs(np.linalg.eigvals(A)).max(initial=0.0))
        transitions, _, gamma, _ = evaluate_at_steps(compute, steps, speed)
        return transitions, gamma[..., 0]

    def _run(
        self, transitions: np.ndarray, gamma: np.ndarray, rate: float, signal: int, start: np.ndarray
    ) -> np.ndarray:
        """(time, column, n) of one signal, which drives the first column."""
        n, count = transitions.shape[-1], self.step_of.size + 1
        powers = rate ** -np.arange(float(self.inputs.shape[1]))
        coefficients = self.inputs[:, :, signal] * powers
        forcing = np.zeros((count, n))
        if len(gamma) <= self.step_of.size // 4:
            for step in range(len(gamma)):
                mine = self.step_of == step
                forcing[1:][mine] = coefficients[mine] @ gamma[step]
        else:
            forcing[1:] = np.einsum("ej,ejn->en", coefficients, gamma[self.step_of])
        nothing, none = np.zeros(count), np.full(count, -1, dtype=np.int64)
        innovations = run_filter(
            Events(np.append(-1, self.step_of), none, np.zeros(count, dtype=np.int64)),
            Matrices(pack(transitions), pack(np.zeros_like(transitions)), pack(np.zeros((0, n)))),
            pack(forcing),
            pack(nothing),
            pack(nothing),
            State(pack(start), pack(np.zeros((n, n)))),
            # No covariance is moved where a gain is given, and none is used because nothing is measured.
            Steady(pack(np.zeros((1, n))), pack(np.ones(1))),
            Keep.MEANS,
        )
        return innovations.x[self.places]


def make_signal_filter(
    signals: Sequence[Signal], start: float, times: np.ndarray, delays: Sequence[float] | None = None
) -> SignalFilter:
    """Line up signals, which may come later by delays, with the times at which they are wanted filtered."""
    late = [0.0] * len(signals) if delays is None else list(delays)
    end = float(times[-1])
    breaks = [_find_breaks(signal) + delay for signal, delay in zip(signals, late, strict=True)]
    inside = [moments[(moments > start) & (moments < end)] for moments in breaks]
    points = np.unique(np.concatenate([[start], times, *inside]))
    steps, step_of = find_distinct(np.diff(points), points)
    return SignalFilter(steps, step_of, cut_polynomials(signals, points[:-1], late), np.searchsorted(points, times))


def _find_breaks(signal: Signal) -> np.ndarray:
    """Where a signal may leave its polynomial: one that is held goes on where its value stays."""
    if signal.intersample != "zoh":
        return signal.times
    return signal.times[np.append(True, np.diff(signal.values) != 0.0)]
