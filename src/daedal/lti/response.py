"""The response of a transfer function to signals: exact for inputs that are held, straight or splines between samples.

Each input u passes ψ = u/a(s), whose derivatives up to the order of a are the states of `filtered_signals`, and
y = Σ b(d/dt) ψ.
"""

from collections.abc import Mapping

import numpy as np

from daedal.data import Signal
from daedal.lti.filtered_signals import make_signal_filter
from daedal.lti.transfer_functions import TransferFunction


def compute_response(tf: TransferFunction, signals: Mapping[str, Signal], start: float, grid: np.ndarray) -> np.ndarray:
    """Σ b(d/dt) ψ over the inputs, from rest, with a monic denominator.

    The highest derivative is what its equation leaves for it.
    """
    delays = [tf.delay[name] for name in tf.inputs]
    rising = np.asarray(tf.denominator)[::-1]
    y = np.zeros(grid.size)
    states_of = np.zeros((len(tf.inputs), grid.size, 0))  # a plain gain has none
    if tf.order:
        filters = make_signal_filter([signals[name] for name in tf.inputs], start, grid, delays)
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
