"""A transfer function driven by signals: exact for inputs that are held, straight or splines between samples."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from daedal.data import FrozenMapping, Signal
from daedal.experiments import match_drive
from daedal.lti import TransferFunction, signal_filter
from daedal.simulation.trajectory import Status, Trajectory


def simulate_transfer_function(
    tf: TransferFunction, times: Any, inputs: Mapping[Any, Any] | None, t0: Any
) -> Trajectory:
    """From rest; before a delayed input arrives it is zero."""
    drive = match_drive("The transfer function", dict.fromkeys(tf.inputs, "input"), times, inputs, t0, tf.delay)
    start, grid, signals = drive.start, drive.times, {name: drive.signals[name] for name in tf.inputs}
    monic = tf.monic
    y = _response(monic, signals, start, grid)
    values = {tf.output: y, **{name: signal(grid) for name, signal in signals.items()}}
    numbers = {f"a{k}": float(value) for k, value in enumerate(monic.denominator[:0:-1])}
    return Trajectory(
        model="transfer function",
        solver="exact",
        t0=start,
        times=grid,
        values=FrozenMapping(values),
        outputs=(tf.output,),
        inputs=FrozenMapping(signals),
        parameters=FrozenMapping(numbers),
        status=Status(True, "Reached the end."),
        notes=(),
    )


def _response(tf: TransferFunction, signals: Mapping[str, Signal], start: float, grid: np.ndarray) -> np.ndarray:
    """Σ b(d/dt) ψ over the inputs; the highest derivative is what its equation leaves for it."""
    delays = [tf.delay[name] for name in tf.inputs]
    rising = np.asarray(tf.denominator)[::-1]
    y = np.zeros(grid.size)
    states_of = np.zeros((len(tf.inputs), grid.size, 0))  # a plain gain has none
    if tf.order:
        filters = signal_filter([signals[name] for name in tf.inputs], start, grid, delays)
        states_of = filters(np.asarray(tf.denominator)).signals
    for k, name in enumerate(tf.inputs):
        b = tf.numerator[name][::-1]
        states = states_of[k]
        late = grid - delays[k]
        there = late >= start
        now = np.where(there, signals[name](np.maximum(late, start)), 0.0)
        top = now - states @ rising[:-1]
        y += np.column_stack([states, top])[:, : b.size] @ b
    return y
