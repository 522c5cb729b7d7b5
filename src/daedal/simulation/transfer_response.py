"""The trajectory of a transfer function: its inputs checked, its response computed by `daedal.lti`."""

from collections.abc import Mapping
from typing import Any

from daedal.data import Dataset, FrozenMapping
from daedal.experiments import match_drive
from daedal.lti import TransferFunction, compute_response
from daedal.simulation.solver import Status
from daedal.simulation.trajectory import Trajectory


def simulate_transfer_function(
    tf: TransferFunction, times: Any, inputs: Mapping[Any, Any] | None, t0: Any
) -> Trajectory:
    """From rest; before a delayed input arrives it is zero."""
    drive = match_drive("The transfer function", dict.fromkeys(tf.inputs, "input"), times, inputs, t0)
    start, grid, signals = drive.start, drive.times, {name: drive.signals[name] for name in tf.inputs}
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
        units=times.units if isinstance(times, Dataset) else FrozenMapping({}),
        origin=times.origin if isinstance(times, Dataset) else None,
    )
