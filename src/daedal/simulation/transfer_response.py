"""The trajectory of a transfer function: its inputs checked, its response computed by `daedal.lti`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from daedal.data import Dataset, FrozenMapping, Signal, increasing, short
from daedal.errors import DataError, SimulationError, nearest, quoted
from daedal.lti import TransferFunction, compute_response
from daedal.simulation.solver import Status
from daedal.simulation.trajectory import Trajectory


def simulate_transfer_function(
    tf: TransferFunction, times: Any, inputs: Mapping[Any, Any] | None, t0: Any
) -> Trajectory:
    """From rest; before a delayed input arrives it is zero."""
    given = dict(inputs or {})
    if isinstance(times, Dataset):
        given = {**{name: signal for name, signal in times.inputs.items() if name in tf.inputs}, **given}
        t0 = times.t0 if t0 is None else t0
        times = times.sample_times
    try:
        grid = increasing(times)
    except DataError as error:
        raise SimulationError(f"The simulation cannot run: its {error.sentence}", error.remedy) from None
    start = float(grid[0]) if t0 is None else float(t0)
    if start > grid[0]:
        raise SimulationError(
            f"The start t0 = {short(start)} lies after the first time {short(float(grid[0]))}.", "Move it before."
        )
    signals = _signals(tf, given, start, float(grid[-1]))
    monic = tf.monic
    y = compute_response(monic, signals, start, grid)
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


def _signals(tf: TransferFunction, given: Mapping[Any, Any], start: float, end: float) -> dict[str, Signal]:
    named = {str(key): value for key, value in given.items()}
    missing = [name for name in tf.inputs if name not in named]
    if missing:
        raise SimulationError(
            f"The transfer function needs a signal for {quoted(missing)}.",
            f"Give inputs={{'{missing[0]}': Signal(...)}}.",
        )
    for name in named:
        if name not in tf.inputs:
            raise SimulationError(f"The transfer function has no input '{name}'.", nearest(name, tf.inputs))
    signals = {name: _signal(name, named[name], start, end) for name in tf.inputs}
    for name, signal in signals.items():
        reach = 1e-9 * (signal.end - signal.start)
        if signal.start > start + reach or signal.end < end - tf.delay[name] - reach:
            raise SimulationError(
                f"The input '{name}' is known from {short(signal.start)} to {short(signal.end)}, but is needed from "
                f"{short(start)} to {short(end)}.",
                "Give samples that cover that time.",
            )
    return signals


def _signal(name: str, value: Any, start: float, end: float) -> Signal:
    if isinstance(value, Signal):
        return value
    try:
        constant = float(value)
    except (TypeError, ValueError):
        raise SimulationError(
            f"The input '{name}' must be a Signal or a number, got {type(value).__name__}.",
            "Write Signal(times, values, intersample='zoh').",
        ) from None
    return Signal(np.array([start, max(end, np.nextafter(start, np.inf))]), np.full(2, constant), "zoh")
