"""Data as a model would make them: the times, inputs and missing samples of data that are there, everything else drawn.

    y(t_k) = h(x(t_k)) + σ_k e_k

x is simulated with disturbances of its own, σ_k is what the data tell, or what the model declares, or, where neither
does, the size of the residuals of a fit; these are correlated as its filter says where no disturbance can be the reason
(e then is that autoregression, after a beginning that is thrown away).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from daedal.data import Dataset, Samples
from daedal.disturbances import derive_seed, draw_innovations
from daedal.errors import EstimationError, SimulationError
from daedal.estimation import Autoregression
from daedal.experiments import Accuracies
from daedal.linear import factor_semidefinite
from daedal.models import Model
from daedal.simulation import Trajectory, simulate

PURPOSE = "measurement noise of a study"
BEGINNING = 1000  # samples of an autoregression that are thrown away


def simulate_data(
    model: Model,
    data: Sequence[Dataset],
    values: Sequence[Mapping[str, float]],
    seed: int,
    scales: Mapping[str, float] | None = None,
    filters: Mapping[str, Autoregression] | None = None,
) -> tuple[Dataset, ...]:
    """Data sets like those given, from a model at values of its own in each; units and colours of residuals besides."""
    accuracies = Accuracies(model, scales=scales or {})
    colours = {} if model.disturbances else dict(filters or {})
    drawn = []
    for number, one in enumerate(data):
        own = derive_seed(seed, "experiment", number)
        path = _simulate(model, one, values[number], own)
        noise = _draw_noise(model, one, path, accuracies, colours, own)
        outputs = {name: _replace_values(samples, path, name, noise[name]) for name, samples in _list(model, one)}
        kept = {name: samples for name, samples in one.outputs.items() if name not in outputs}
        drawn.append(replace(one, outputs={**kept, **outputs}))
    return tuple(drawn)


def _list(model: Model, data: Dataset) -> list[tuple[str, Samples]]:
    return [(name, samples) for name, samples in data.outputs.items() if name in model.outputs]


def _simulate(model: Model, data: Dataset, values: Mapping[str, float], seed: int) -> Trajectory:
    wanted = [name for name, _ in _list(model, data)]
    if not wanted:
        raise EstimationError(
            f"The data '{data.name}' have no output of model '{model.name}'.", "Give the model the outputs of the data."
        )
    known = {name: value for name, value in values.items() if name in model.parameters}
    path = simulate(model, data, values=known, realizations=1, rng=seed, variables=wanted)
    if path.status.interrupted:
        raise KeyboardInterrupt
    if not path.status.ok:
        raise SimulationError(path.status.sentence, path.status.remedy)
    return path


def _replace_values(samples: Samples, path: Trajectory, name: str, noise: np.ndarray) -> Samples:
    values = _read_path(path, name, samples) + noise
    return Samples(samples.times, np.where(np.isnan(samples.values), np.nan, values), samples.noise)


def _read_path(path: Trajectory, name: str, samples: Samples) -> np.ndarray:
    return np.ravel(path[name])[np.searchsorted(path.times, samples.times)]


def _draw_noise(
    model: Model,
    data: Dataset,
    path: Trajectory,
    accuracies: Accuracies,
    colours: Mapping[str, Autoregression],
    seed: int,
) -> dict[str, np.ndarray]:
    """Output → noise of its samples."""
    vector = np.array([path.parameters[name] for name in model.parameters])
    rows = {name: _draw(seed, place, samples.times.size) for place, (name, samples) in enumerate(_list(model, data))}
    noise = {}
    for name, samples in _list(model, data):
        predicted = _read_path(path, name, samples)
        known = name in model.measurement_noise or name in accuracies.scales
        told = accuracies.at(name, vector, predicted) if known else 0.0
        colour = colours.get(name)
        row = rows[name] if colour is None else _colour(colour, _draw(seed, len(rows), BEGINNING), rows[name])
        noise[name] = (told if samples.noise is None else np.nan_to_num(samples.noise)) * row
    for key, matrix in model.measurement_noise.items():
        if isinstance(key, tuple):
            there = [name for name in key if name in rows]
            _check_together(data, there)
            places = [key.index(name) for name in there]
            factor = factor_semidefinite(np.asarray(matrix)[np.ix_(places, places)])
            noise |= zip(there, factor @ np.stack([rows[name] for name in there]), strict=True) if there else ()
    return noise


def _draw(seed: int, place: int, count: int) -> np.ndarray:
    return draw_innovations(seed, PURPOSE, place, range(1), range(count), 1)[:, 0, 0]


def _colour(colour: Autoregression, before: np.ndarray, row: np.ndarray) -> np.ndarray:
    """White noise of unit variance through 1/A, scaled to the variance of the residuals."""
    from scipy.signal import lfilter

    white = np.concatenate([before, row]) * np.sqrt(colour.variance)
    return np.asarray(lfilter([1.0], colour.polynomial, white))[before.size :]


def _check_together(data: Dataset, names: Sequence[str]) -> None:
    times = [data.outputs[name].times for name in names]
    if any(not np.array_equal(times[0], other) for other in times[1:]):
        raise EstimationError(
            f"The noise of {' and '.join(names)} is correlated, but the data '{data.name}' have them at different "
            "times: noise of such samples cannot be drawn.",
            "Give these outputs common times, with NaN where a sample is missing.",
        )
