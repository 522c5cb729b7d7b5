"""The response of a transfer function to a record, with exact derivatives with respect to all its coefficients.

With ψ_i the i-th input and ψ_δ an impulse at the start, both filtered by 1/a(s)², and c(s) the polynomial of an unknown
state at the start,

    y = Σ_i a b_i ψ_i + a c ψ_δ,     ∂y/∂a_k = −sᵏ (Σ_i b_i ψ_i + c ψ_δ),  ∂y/∂b_ik = sᵏ a ψ_i,  ∂y/∂c_k = sᵏ a ψ_δ,

so that one pass over the record gives everything; powers of s are derivatives, which the filter has as its states. A
delay of the i-th input moves the response by −a b_i (s ψ_i − u_i(0) ψ_δ): what happens before the start stays.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.lti import TransferFunction
from daedal.order.record import Record

GROWS = 5.0  # exponent over the record beyond which a response is not looked at
FASTEST = 30.0  # pole times sample interval beyond which it acts at once
EDGE = 0.9  # of what can be shown, where poles that cannot be are put
GONE = 3.0  # exponent between samples after which a pole may oscillate as it likes


@final
@dataclass(frozen=True)
class Shape:
    """Poles, highest derivative of the inputs, how many inputs, and whether the start is free."""

    order: int
    input_order: int
    inputs: int
    start: bool

    @property
    def coefficients(self) -> int:
        """Of both polynomials: those that count as the model."""
        return self.order + self.inputs * (self.input_order + 1)

    @property
    def size(self) -> int:
        """All numbers that are estimated."""
        return self.coefficients + (self.order if self.start else 0)

    def split(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """a (n,), b (input, m + 1) and c (n or 0,), all with rising powers; a without its leading one."""
        n, end = self.order, self.coefficients
        return theta[:n], theta[n:end].reshape(self.inputs, -1), theta[end:]

    def names(self, inputs: tuple[str, ...]) -> list[str]:
        """Of all numbers, as the Model of a transfer function has them."""
        b = [f"b{k}{f'_{name}' if len(inputs) > 1 else ''}" for name in inputs for k in range(self.input_order + 1)]
        return [*(f"a{k}" for k in range(self.order)), *b, *(f"c{k}" for k in range(self.order if self.start else 0))]

    def transfer_function(self, theta: np.ndarray, record: Record) -> TransferFunction:
        """The coefficients as a TransferFunction, monic; numerators without leading zeros."""
        a, b, _ = self.split(theta)
        numerators = {name: _trim(row[::-1]) for name, row in zip(record.inputs, b, strict=True)}
        delays = dict(zip(record.inputs, record.delays, strict=True))
        return TransferFunction(numerators, np.append(1.0, a[::-1]), delays, output=record.output)


def _trim(values: np.ndarray) -> np.ndarray:
    """Without leading zeros, but for the last number."""
    first = int(np.argmax(values != 0.0)) if values.any() else values.size - 1
    return values[first:]


@final
@dataclass(frozen=True, eq=False)
class Response:
    """y (time,), its slopes (time, number), and where asked for −∂y/∂delay of each input (input, time)."""

    y: np.ndarray
    slopes: np.ndarray
    rates: np.ndarray


def make_monic(a: np.ndarray) -> np.ndarray:
    """The denominator with its highest power first, from rising coefficients without the leading one."""
    return np.append(1.0, a[::-1])


def is_usable(a: np.ndarray, record: Record) -> bool:
    """Whether no pole lets the response grow beyond bounds over the record, or is faster than any sample could show.

    A pole that oscillates more than half a turn between samples would look like a slower one.
    """
    if not np.isfinite(a).all():
        return False
    poles = np.roots(make_monic(a))
    return bool(
        np.max(poles.real) * record.span <= GROWS
        and np.max(np.abs(poles)) * record.interval <= FASTEST
        and _are_shown(poles * record.finest).all()
    )


def _are_shown(angles: np.ndarray) -> np.ndarray:
    """Whether poles times an interval turn less than half around in it, or are gone after it."""
    return (np.abs(np.imag(angles)) <= np.pi) | (np.real(angles) <= -GONE)


def bring_back(a: np.ndarray, record: Record) -> np.ndarray:
    """The same where usable and stable; else growing poles mirrored, and those beyond what samples show at its edge."""
    if not np.isfinite(a).all():
        return a
    poles = np.roots(make_monic(a))
    fastest, turning = FASTEST / record.interval, np.pi / record.finest
    inside = (np.abs(poles) <= fastest) & _are_shown(poles * record.finest) & (poles.real <= 0.0)
    if inside.all():
        return a
    slower = poles * np.minimum(1.0, EDGE * fastest / np.maximum(np.abs(poles), 1e-300))
    back = -np.abs(slower.real) + 1j * np.clip(slower.imag, -EDGE * turning, EDGE * turning)
    return np.real(np.poly(np.where(inside, poles, back)))[:0:-1]


def compute_response(shape: Shape, theta: np.ndarray, record: Record, delays: bool = False) -> Response | None:
    """The response of these coefficients; None where it would grow beyond bounds."""
    a, b, c = shape.split(theta)
    if not is_usable(a, record):
        return None
    n, rising = shape.order, np.append(a, 1.0)
    square = np.convolve(rising, rising)
    with np.errstate(over="ignore", invalid="ignore"):
        filtered = record.input_filter(make_monic(a), 2)
        psi, impulse = filtered.signals, filtered.impulse
        if shape.input_order == n or delays:
            psi = _append_highest(psi, square, record.inputs_now)
        parts = [_stack_columns(states, row, rising) for states, row in zip(psi, b, strict=True)]
        if c.size:
            parts.append(_stack_columns(impulse, c, rising))
        slopes = np.concatenate([-sum(part[:, 1 : n + 1] for part in parts), *(part[:, n + 1 :] for part in parts)], 1)
        y = np.sum([part[:, 0] for part in parts], axis=0)
        if not (np.isfinite(y).all() and np.isfinite(slopes).all()):
            return None
        rates = _compute_rates(b, rising, record, psi, impulse) if delays else np.zeros((0, y.size))
    return Response(y, slopes, rates)


def _append_highest(states: np.ndarray, square: np.ndarray, driven: np.ndarray | float) -> np.ndarray:
    """States (…, derivative) with one derivative more, which a(d/dt)² ψ = u leaves for it."""
    highest = driven - states[..., 1 - square.size :] @ square[:-1]
    return np.concatenate([states, highest[..., None]], axis=-1)


def _stack_columns(states: np.ndarray, row: np.ndarray, rising: np.ndarray) -> np.ndarray:
    """a b ψ, then sᵏ b ψ for every k < n, then sᵏ a ψ for every coefficient of b, (time, column)."""
    n = rising.size - 1
    matrix = np.zeros((states.shape[-1], 1 + n + row.size))
    product = np.convolve(rising, row)
    matrix[: product.size, 0] = product
    for k in range(n):
        matrix[k : k + row.size, 1 + k] = row
    for k in range(row.size):
        matrix[k : k + n + 1, 1 + n + k] = rising
    return states @ matrix


def _compute_rates(
    b: np.ndarray, rising: np.ndarray, record: Record, psi: np.ndarray, impulse: np.ndarray
) -> np.ndarray:
    """a b_i (s ψ_i − u_i(0) ψ_δ), from the derivatives 0 … 2n of ψ_i and 0 … 2n − 1 of ψ_δ."""
    square = np.convolve(rising, rising)
    moved = psi[..., 1:]
    if b.shape[1] == rising.size:  # a direct term needs one derivative more of both
        moved, impulse = _append_highest(moved, square, record.input_rates), _append_highest(impulse, square, 0.0)
    rates = []
    for states, row, first in zip(moved, b, record.inputs_at_start, strict=True):
        product = np.convolve(rising, row)
        rates.append((states[:, : product.size] - first * impulse[:, : product.size]) @ product)
    return np.stack(rates)
