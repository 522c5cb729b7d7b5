"""The response of a transfer function to a record, with exact derivatives with respect to all its coefficients.

With ψ_i the i-th input and ψ_δ an impulse at the start, both filtered by 1/a(s)², and c(s) the polynomial of an unknown
state at the start,

    y = Σ_i a b_i ψ_i + a c ψ_δ,     ∂y/∂a_k = −sᵏ (Σ_i b_i ψ_i + c ψ_δ),  ∂y/∂b_ik = sᵏ a ψ_i,  ∂y/∂c_k = sᵏ a ψ_δ,

so that one pass over the record gives everything; powers of s are derivatives, which the filter has as its states.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from daedal.models import TransferFunction
from daedal.order.record import Record

GROWS = 5.0  # exponent over the record beyond which a response is not looked at
FASTEST = 30.0  # pole times sample interval beyond which it acts at once


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
        numerators = {name: _trimmed(row[::-1]) for name, row in zip(record.inputs, b, strict=True)}
        delays = dict(zip(record.inputs, record.delays, strict=True))
        return TransferFunction(numerators, np.append(1.0, a[::-1]), delays, output=record.output)


def _trimmed(values: np.ndarray) -> np.ndarray:
    """Without leading zeros, but for the last number."""
    first = int(np.argmax(values != 0.0)) if values.any() else values.size - 1
    return values[first:]


@final
@dataclass(frozen=True, eq=False)
class Response:
    """y (time,), its slopes (time, number), and dy/dt of what each input does (input, time)."""

    y: np.ndarray
    slopes: np.ndarray
    rates: np.ndarray


def monic(a: np.ndarray) -> np.ndarray:
    """The denominator with its highest power first, from rising coefficients without the leading one."""
    return np.append(1.0, a[::-1])


def usable(a: np.ndarray, record: Record) -> bool:
    """Whether no pole lets the response grow beyond bounds over the record, or is faster than any sample could show."""
    if not np.isfinite(a).all():
        return False
    poles = np.roots(monic(a))
    return bool(np.max(poles.real) * record.span <= GROWS and np.max(np.abs(poles)) * record.interval <= FASTEST)


def response(shape: Shape, theta: np.ndarray, record: Record) -> Response | None:
    """The response of these coefficients; None where it would grow beyond bounds."""
    a, b, c = shape.split(theta)
    if not usable(a, record):
        return None
    n, rising = shape.order, np.append(a, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        made = record.input_filter(monic(a), 2)
        square = np.convolve(rising, rising)
        top = record.inputs_now - made.signals @ square[:-1]
        psi = np.concatenate([made.signals, top[..., None]], axis=-1)  # derivatives 0 … 2n, (input, time, 2n + 1)
        start = made.impulse
        y = np.zeros(record.times.size)
        through = np.zeros((n, record.times.size))  # sᵏ (Σ b ψ + c ψ_δ)
        columns, rates = [], []
        for each, row in zip(psi, b, strict=True):
            product = np.convolve(rising, row)
            own = each[:, : product.size] @ product
            y += own
            rates.append(
                each[:, 1 : product.size + 1] @ product if product.size <= 2 * n else np.full_like(own, np.nan)
            )
            for k in range(n):
                through[k] += each[:, k : k + row.size] @ row
            columns += [each[:, k : k + n + 1] @ rising for k in range(row.size)]
        if c.size:
            product = np.convolve(rising, c)
            y += start[:, : product.size] @ product
            for k in range(n):
                through[k] += start[:, k : k + c.size] @ c
            columns += [start[:, k : k + n + 1] @ rising for k in range(c.size)]
    slopes = np.stack([*(-through), *columns], axis=1)
    if not (np.isfinite(y).all() and np.isfinite(slopes).all()):
        return None
    return Response(y, slopes, np.stack(rates))
