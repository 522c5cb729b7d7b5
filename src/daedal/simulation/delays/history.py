"""Delayed values before the start: from the history of the unknowns, or from an input that is known earlier.

A delayed unknown x(t − τ) with t − τ ≤ t₀ is `history` at that time, a delayed derivative the derivative of the
history, and a delay of a delay the same further back. All are functions of time and parameters, with exact derivatives.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from daedal.data import Signal
from daedal.errors import SimulationError, quoted
from daedal.kernels import MapKernel, compile_map
from daedal.symbolic import (
    BufferedFunction,
    Delayed,
    expand,
    find_operator,
    intern_symbol,
    jet,
    list_symbols,
)
from daedal.systems import DelayedValue, System


@dataclass(frozen=True, eq=False)
class Past:
    """One delayed value: which input it is of and which derivative of it, or the law of its history."""

    name: str
    input: tuple[str, int] | None
    law: ca.Function | None  # (time, parameters) → value, rate, gradient with respect to the parameters, in a column
    constant: bool = False  # whether the law does not depend on time

    def at(self, times: np.ndarray, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Value, rate (times) and gradient (parameter, times) of a history."""
        if self.constant:
            column = self._once.matrix(0.0, parameters)
            columns = np.broadcast_to(column, (column.size, times.size))
        else:
            (columns,) = self._many(times.reshape(1, -1), np.repeat(parameters[:, None], times.size, axis=1))
        rows = columns.reshape(-1, *times.shape)
        return rows[0], rows[1], rows[2:]

    @cached_property
    def _once(self) -> BufferedFunction:
        assert self.law is not None
        return BufferedFunction(self.law)

    @cached_property
    def _many(self) -> MapKernel:
        assert self.law is not None
        return compile_map(self.law)


def find_pasts(system: System) -> Mapping[str, Past]:
    """What each delayed value of a system is before the start."""
    compiled = system.reduction.compiled
    key = f"pasts {[(name, str(value)) for name, value in system.model.history.items()]}"
    if key not in compiled:
        compiled[key] = {name: _make_past(system, name, value) for name, value in system.reduction.delays.items()}
    return compiled[key]


def _make_past(system: System, name: str, delayed: DelayedValue) -> Past:
    model = system.model
    operand = expand(delayed.typed.sx, system.reduction.equations.constants)
    leaves = [jet(leaf) for leaf in list_symbols(operand)]
    inputs = [base for base, _ in leaves if base in model.input_names]
    noisy = [base for base, _ in leaves if base in model.disturbance_names]
    if noisy:
        raise SimulationError(
            f"Model '{model.name}' delays the disturbance {quoted(noisy)} in '{name}', which cannot be simulated.",
            "Let the disturbance drive a state of its own, and delay that.",
        )
    if inputs:
        if operand.is_symbolic():
            return _make_past_input(system, name, leaves[0])
        raise SimulationError(
            f"'{name}' of model '{model.name}' delays a formula of the input {quoted(inputs)}.",
            "Delay the input itself, and write the formula around it.",
        )
    value = _express_by_history(system, name, delayed.typed.sx)
    return Past(name, None, _make_law(system, value), not ca.depends_on(value, intern_symbol("time").sx))


def _make_past_input(system: System, name: str, leaf: tuple[str, int]) -> Past:
    """Of an input, or a derivative of one, with its history where one is declared."""
    base, order = leaf
    if base not in system.model.history:
        return Past(name, leaf, None)
    time, value = intern_symbol("time").sx, system.model.history[base].sx
    for _ in range(order):
        value = ca.densify(ca.jacobian(value, time))
    return Past(name, leaf, _make_law(system, value), not ca.depends_on(value, time))


def _make_law(system: System, value: ca.SX) -> ca.Function:
    """Value, rate and gradient of an expression of time and parameters."""
    time, p = intern_symbol("time").sx, system.reduction.arguments[3]
    column = ca.vertcat(value, ca.jacobian(value, time), ca.jacobian(value, p).T)
    return ca.Function("history", [time, p], [ca.densify(column)])


def _express_by_history(system: System, name: str, operand: ca.SX) -> ca.SX:
    """An expression of unknowns as a function of time and parameters, where the history holds."""
    model, time = system.model, intern_symbol("time").sx
    expanded = expand(operand, system.reduction.equations.constants)
    old, new = [], []
    for leaf in list_symbols(expanded):
        meaning = find_operator(leaf)
        base, order = jet(leaf)
        if isinstance(meaning, Delayed):
            further = _express_by_history(system, leaf, meaning.operand.sx)
            value = ca.substitute(further, time, time - meaning.amount.sx)
        elif base in model.unknown_names:
            if base not in model.history:
                raise SimulationError(
                    f"Model '{model.name}' contains '{name}', but does not say what '{base}' was before the start.",
                    f"Declare history={{{base}: ...}}: a number, or an expression of dd.time and parameters.",
                )
            value = model.history[base].sx
            for _ in range(order):
                value = ca.densify(ca.jacobian(value, time))  # of a constant it would have no entry
        elif base in (*model.input_names, *model.disturbance_names):
            raise SimulationError(
                f"'{name}' of model '{model.name}' delays '{base}', which comes from outside, more than once.",
                f"Delay '{base}' once, by the sum of the delays.",
            )
        else:
            continue
        old.append(intern_symbol(leaf).sx)
        new.append(value)
    return ca.substitute(expanded, ca.vertcat(*old), ca.vertcat(*new)) if old else expanded


def read_pieces(signal: Signal, order: int, times: np.ndarray, middles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A derivative of a signal and its rate at times (step, node), on the piece that each step's middle lies in.

    Before its first sample a signal is taken to be what it is there.
    """
    breaks, coefficients = signal.pieces()
    piece = np.clip(np.searchsorted(breaks, middles, side="right") - 1, 0, breaks.size - 2)
    elapsed = times - breaks[piece][:, None]
    powers = range(len(coefficients) - 1, -1, -1)
    results = []
    for derivative in (order, order + 1):
        total = np.zeros(times.shape)
        for k in powers:
            if k >= derivative:
                factor = float(np.prod(np.arange(k - derivative + 1, k + 1))) if derivative else 1.0
                total += factor * coefficients[k, piece][:, None] * elapsed ** (k - derivative)
        results.append(total)
    value, rate = results
    early = middles < signal.start
    if early.any():
        value = np.where(early[:, None], float(signal.values[0]) if order == 0 else 0.0, value)
        rate = np.where(early[:, None], 0.0, rate)
    return value, rate


def evaluate_delayed_input(
    past: Past, signal: Signal, times: np.ndarray, middles: np.ndarray, parameters: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An input at times (step, node) that lie before it is used: value, rate, and gradient (parameter, step, node)."""
    assert past.input is not None
    value, rate = read_pieces(signal, past.input[1], times, middles)
    gradient = np.zeros((parameters.size, *times.shape))
    early = middles < signal.start
    if past.law is not None and early.any():
        value[early], rate[early], gradient[:, early] = past.at(times[early], parameters)
    return value, rate, gradient
