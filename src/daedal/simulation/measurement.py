"""Measurement noise on simulated outputs: independent of the disturbances, as the model declares it."""

from dataclasses import replace

import numpy as np

from daedal.data import FrozenMapping, frozen
from daedal.disturbances import innovations
from daedal.errors import SimulationError
from daedal.linear import semidefinite_factor
from daedal.models import Model, as_tuple, evaluate_expressions
from daedal.simulation.trajectory import Trajectory
from daedal.symbolic import Expression

PURPOSE = "measurement noise"


def with_measurement_noise(trajectory: Trajectory, model: Model, seed: int) -> Trajectory:
    """The same trajectory with noise added to every output that has a declared accuracy."""
    if not model.measurement_noise:
        raise SimulationError(
            f"Model '{model.name}' declares no measurement noise.",
            "Declare measurement_noise={'output': standard deviation}.",
        )
    values = dict(trajectory.values)
    for number, (key, accuracy) in enumerate(model.measurement_noise.items()):
        names = as_tuple(key)
        if not all(name in values for name in names):
            continue
        drawn = _drawn(trajectory, seed, number, len(names))
        for component, name in enumerate(names):
            noise = _scaled(trajectory, name, accuracy, drawn, component)
            values[name] = frozen(values[name] + (noise[0] if values[name].ndim == 1 else noise))
    return replace(trajectory, values=FrozenMapping(values), seed=seed)


def _drawn(trajectory: Trajectory, seed: int, number: int, components: int) -> np.ndarray:
    """Standard normals as (component, realization, time)."""
    paths = range(trajectory.realizations or 1)
    return innovations(seed, PURPOSE, number, paths, range(trajectory.times.size), components).transpose(1, 2, 0)


def _scaled(trajectory: Trajectory, name: str, accuracy: object, drawn: np.ndarray, component: int) -> np.ndarray:
    if isinstance(accuracy, np.ndarray) and accuracy.ndim == 2:
        return np.tensordot(semidefinite_factor(accuracy)[component], drawn, axes=1)
    if isinstance(accuracy, np.ndarray):
        if accuracy.size != trajectory.times.size:
            raise SimulationError(
                f"The measurement noise of '{name}' has {accuracy.size} values for {trajectory.times.size} times.",
                "Give one standard deviation per sample, or a single one.",
            )
        return accuracy * drawn[0]
    if isinstance(accuracy, Expression):
        accuracy = evaluate_expressions({name: accuracy}, trajectory.parameters)[name]
    deviation = float(accuracy)  # pyright: ignore[reportArgumentType]
    if not deviation > 0:
        raise SimulationError(
            f"The measurement noise of '{name}' must be positive, got {deviation:g}.", "Check its parameters."
        )
    return deviation * drawn[0]
