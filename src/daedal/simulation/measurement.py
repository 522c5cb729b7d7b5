"""Measurement noise on simulated outputs: independent of the disturbances, as the model declares it."""

from dataclasses import replace

import numpy as np

from daedal import disturbances, experiments, linear
from daedal.data import FrozenMapping, frozen
from daedal.errors import SimulationError
from daedal.models import Model, as_tuple
from daedal.simulation.trajectory import Trajectory

PURPOSE = "measurement noise"


def add_measurement_noise(trajectory: Trajectory, model: Model, seed: int) -> Trajectory:
    """The same trajectory with noise added to every output that has a declared accuracy."""
    if not model.measurement_noise:
        raise SimulationError(
            f"Model '{model.name}' declares no measurement noise.",
            "Declare measurement_noise={'output': standard deviation}.",
        )
    accuracies = experiments.Accuracies(model)
    numbers = np.array([trajectory.parameters[name] for name in model.parameters])
    values = dict(trajectory.values)
    for number, (key, declared) in enumerate(model.measurement_noise.items()):
        names = as_tuple(key)
        if not all(name in values for name in names):
            continue
        drawn = _draw(trajectory, seed, number, len(names))
        if isinstance(key, tuple):
            noise = np.tensordot(linear.factor_semidefinite(declared), drawn, axes=1)
        else:
            experiments.check_count(model, key, trajectory.times.size, SimulationError)
            noise = accuracies.at(key, numbers, values[key]) * drawn
        for name, own in zip(names, noise, strict=True):
            values[name] = frozen(values[name] + (own[0] if values[name].ndim == 1 else own))
    return replace(trajectory, values=FrozenMapping(values), seed=seed)


def _draw(trajectory: Trajectory, seed: int, number: int, components: int) -> np.ndarray:
    """Standard normals as (component, realization, time)."""
    paths = range(trajectory.realizations or 1)
    samples = range(trajectory.times.size)
    return disturbances.draw_innovations(seed, PURPOSE, number, paths, samples, components).transpose(1, 2, 0)
